"""Motion in time: simulate an arm and keep the run."""
