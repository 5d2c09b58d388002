"""The equations about a state: equilibria, modes, linear models, sweeps."""
