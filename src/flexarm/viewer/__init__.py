"""Runs and mode shapes as one page that moves, and arms that run in one, with everything in it."""
