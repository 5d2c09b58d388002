"""Derivatives of simulated motions by parameters, initial states and inputs."""
