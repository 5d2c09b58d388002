"""Kinematics, loads and geometry of deformed links, used by all formulations."""
