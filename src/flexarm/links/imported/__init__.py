"""Bodies whose modal data come from other programs or tests, in space or along a line."""
