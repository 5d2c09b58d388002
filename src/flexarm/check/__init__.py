"""Checks of an arm's description for likely mistakes, as `flexarm check` reports them."""
