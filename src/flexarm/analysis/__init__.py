"""What can be said about an arm: checks before a run, and analyses of the equation."""
