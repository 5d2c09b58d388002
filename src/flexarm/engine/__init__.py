"""Trace equations once, compile them with LLVM, keep the machine code, call it from anywhere."""
