"""Kinematic influence (Graves 1989)."""
