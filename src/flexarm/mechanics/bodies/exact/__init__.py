"""Geometrically exact beams: links whose sections turn by the sum of their slope shapes."""
