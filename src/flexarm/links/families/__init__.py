"""Families of shape functions, one file each."""
