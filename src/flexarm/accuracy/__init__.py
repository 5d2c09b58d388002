"""Estimated errors of models, shape functions and solutions; validity limits of models."""
