"""Model files in and out; positions of lines, tables and whole writes for all files."""
