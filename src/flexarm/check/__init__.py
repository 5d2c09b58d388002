"""Checks of an arm before it is used, for `flexarm check`."""
