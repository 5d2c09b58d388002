"""Designs of experiments: variations of an arm, and chosen quantities of each on disk."""
