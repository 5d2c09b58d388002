"""Derivatives of runs by parameters, initial states and inputs."""
