"""Code for a stream of operations: its division into functions, and its text in LLVM and C."""
