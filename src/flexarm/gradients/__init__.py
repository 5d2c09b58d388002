"""Derivatives of simulated motions with respect to parameters, initial states and inputs."""
