"""Families of shape functions, grouped by module."""
