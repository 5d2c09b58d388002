"""Tracing of equations, compilation with LLVM, storage of machine code, and calls to it."""
