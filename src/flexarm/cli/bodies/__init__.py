"""The commands that make bodies of finite-element models."""
