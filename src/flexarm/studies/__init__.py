"""Convergence of bases, comparison of formulations, parametric studies and optimisation."""
