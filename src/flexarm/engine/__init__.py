"""Tracing of equations, compilation with LLVM, caching of machine code, and calls of the code."""
