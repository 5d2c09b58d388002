"""Modal data from finite elements or experiment."""
