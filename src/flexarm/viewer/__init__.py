"""Runs and mode shapes as one page that moves, with everything in it."""
