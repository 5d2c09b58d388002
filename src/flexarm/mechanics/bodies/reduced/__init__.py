"""A link of any shape, reduced from finite elements to amplitudes."""
