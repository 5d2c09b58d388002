"""Geometrically exact beams, whose section angles are sums of slope shapes times amplitudes."""
