"""A receding horizon: what a law that looks ahead is made of."""
