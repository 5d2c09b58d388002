"""Commands that generate motions: `shape` and `plan`."""
