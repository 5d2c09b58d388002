"""NVIDIA GPUs: the driver, programs for it, and arrays that others may use in place."""
