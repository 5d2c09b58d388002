"""Which method and step suit a run, and what it will take."""
