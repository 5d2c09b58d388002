"""LLVM and C code for a list of operations (a stream), divided into functions."""
