"""Commands that compare many arms or models: `compare`, `converge` and `study`."""
