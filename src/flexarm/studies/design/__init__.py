"""Parametric studies: sampling of arm variants, and storage of their computed quantities."""
