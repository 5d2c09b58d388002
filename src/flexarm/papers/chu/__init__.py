"""Chu et al."""
