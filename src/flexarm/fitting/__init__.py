"""Identification of arm parameters from measurements: data, sensors, least squares, statistics."""
