"""Bodies with modal data from other programs or tests, with nodes in space or on a line."""
