"""Readers of file formats of bodies with modes; all return the keys of the plain form."""
