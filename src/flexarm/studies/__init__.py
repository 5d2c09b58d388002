"""Convergence, comparison of formulations, counts of operations; many designs, and the best one."""
