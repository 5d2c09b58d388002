"""Commands that compare many arms or models: `compare`, `converge`, `study` and `optimise`."""
