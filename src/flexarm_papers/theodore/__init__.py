"""Theodore & Ghosal 1995."""
