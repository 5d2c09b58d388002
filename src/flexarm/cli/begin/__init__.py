"""Commands to begin with: a model file to change, a shell that completes words."""
