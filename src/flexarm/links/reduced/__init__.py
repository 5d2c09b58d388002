"""Bodies of any shape, reduced from finite elements: read, checked, written, made."""
