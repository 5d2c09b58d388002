"""Kinematics, loads and geometry of deformed links, shared by all formulations."""
