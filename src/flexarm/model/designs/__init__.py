"""Models of many designs at once: arms that differ in their numbers alone."""
