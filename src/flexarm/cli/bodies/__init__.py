"""Commands that convert finite-element models to bodies."""
