"""Emission of LLVM and C code from a stream of operations, divided into functions."""
