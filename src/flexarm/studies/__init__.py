"""Convergence, comparison of formulations, closed-form equations, counts of operations."""
