"""Kinematics, loads, and geometry of bent links, which all formulations use."""
