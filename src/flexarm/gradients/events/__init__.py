"""Derivatives of simulations across events."""
