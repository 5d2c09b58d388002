"""Robots of other programs: a URDF and what makes it flexible, as an arm."""
