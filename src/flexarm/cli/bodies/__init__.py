"""Commands that convert finite-element models to flexible bodies."""
