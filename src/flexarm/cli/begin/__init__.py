"""Commands for a first use: a new model file, and completion of words by the shell."""
