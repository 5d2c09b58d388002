"""Bodies with modal data from other programs, experiment or theory, in space or along a line."""
