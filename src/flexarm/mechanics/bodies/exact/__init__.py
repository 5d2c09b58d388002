"""Geometrically exact beams, whose section rotations are sums of slope shapes times amplitudes."""
