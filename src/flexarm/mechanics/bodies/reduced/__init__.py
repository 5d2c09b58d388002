"""Body of any shape, reduced from a finite-element model to modal amplitudes."""
