"""Geometrically exact beams: section rotations are sums of slope shapes times amplitudes."""
