"""Animated HTML pages of runs, mode shapes and live simulations, each a single file."""
