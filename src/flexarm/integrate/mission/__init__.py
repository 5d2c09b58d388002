"""What changes during a run: joints that are locked and braked, bodies captured and let go."""
