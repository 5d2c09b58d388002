"""Bodies with modes from elsewhere: finite elements, experiment, theory; a table is a line."""
