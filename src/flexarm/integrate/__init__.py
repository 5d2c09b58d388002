"""Time integration: simulate the motion of an arm, and record it as a run."""
