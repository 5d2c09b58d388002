"""Readers of what finite-element programs write, one file each."""
