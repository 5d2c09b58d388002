"""Designs of experiments: many variations of an arm, what is wanted of each, kept on disk."""
