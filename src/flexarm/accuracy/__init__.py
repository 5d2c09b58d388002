"""How far results are from the truth: errors of the model, of the shapes and of the solution."""
