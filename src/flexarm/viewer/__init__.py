"""Runs and mode shapes as one animated page, and arms that run in a page, each self-contained."""
