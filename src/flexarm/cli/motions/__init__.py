"""Commands that generate motions: `shape-inputs` and `plan`."""
