"""Hybrid simulation: event functions, discrete states, and transitions between them."""
