"""Code for a stream of operations: how it is split, and its text in LLVM and C."""
