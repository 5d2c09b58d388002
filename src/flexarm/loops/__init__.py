"""Kernels: typed Python functions with loops, compiled to machine code or printed as C."""
