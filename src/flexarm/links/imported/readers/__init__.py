"""Files of bodies with modes: each reader returns the keys of the plain form."""
