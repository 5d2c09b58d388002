"""Readers of file formats of bodies with modes; each returns the keys of the plain form."""
