"""Equations as machine code: tracing, compilation with LLVM, and a cache on disk."""
