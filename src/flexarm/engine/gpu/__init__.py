"""NVIDIA GPUs: the driver, compiled programs, and arrays shared in place with other packages."""
