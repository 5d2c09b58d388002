"""Error estimates of models, shapes and solutions, and ranges of validity of models."""
