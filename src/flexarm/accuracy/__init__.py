"""Errors of the model, of the shapes and of the solution, and the range in which models hold."""
