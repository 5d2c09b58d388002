"""Robots of other programs: convert a URDF to an arm with flexible links and joints."""
