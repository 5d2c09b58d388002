"""Modes and static shapes of single beams: exact ones, and high-order finite elements."""
