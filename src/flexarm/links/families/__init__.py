"""Families of shape functions, one module each."""
