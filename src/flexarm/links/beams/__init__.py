"""Modes and static shapes of single beams by high-order finite elements."""
