"""Links that bend: their elastic parts, damping, and those that slide."""
