"""Commands that make motions: `shape` and `plan`."""
