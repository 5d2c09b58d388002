"""The language of compiled loops: Python functions as machine code."""
