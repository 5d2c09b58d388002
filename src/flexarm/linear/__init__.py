"""Equilibria, modes, linear models and frequency sweeps of an arm."""
