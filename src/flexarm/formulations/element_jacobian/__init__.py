"""Element mass matrices from Jacobians (Chu et al.)."""
