"""Gradients of runs by numbers of the arm, starts and inputs."""
