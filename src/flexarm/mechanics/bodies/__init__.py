"""Inertia and energy of what a link is made of."""
