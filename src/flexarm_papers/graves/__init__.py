"""Graves 1989."""
