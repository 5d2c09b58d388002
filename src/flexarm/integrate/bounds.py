"""Bounds and default value of the tolerance of a run."""

# Error of the deflections over their range: the tightest tolerance, the loosest and the default.
TIGHTEST, LOOSEST, RTOL = 1e-12, 0.1, 1e-3
