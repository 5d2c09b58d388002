"""Derivatives of runs across events."""
