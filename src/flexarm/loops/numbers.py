"""Whole numbers and loops over them as Python has them, in LLVM code."""

from typing import Any

from llvmlite import ir

I64, F64, BIT = ir.IntType(64), ir.DoubleType(), ir.IntType(1)
ZERO, ONE = ir.Constant(I64, 0), ir.Constant(I64, 1)
LOWEST, HIGHEST = -(2**63), 2**63 - 1


def divide(b: ir.IRBuilder, number: Any, divisor: Any) -> tuple[Any, Any]:
    """Divide ints, rounding down: quotient, and a remainder of the divisor's sign.

    By zero, both are zero; the lowest int by -1 wraps round, where the processor would stop.
    """
    if isinstance(divisor, ir.Constant) and divisor.constant not in (-1, 0):
        return _divide_safely(b, number, divisor)
    special = b.icmp_unsigned("<=", b.add(divisor, ONE), ONE)
    quotient, remainder = _divide_safely(b, number, b.select(special, ONE, divisor))
    return b.select(special, b.mul(number, divisor), quotient), remainder


def _divide_safely(b: ir.IRBuilder, number: Any, divisor: Any) -> tuple[Any, Any]:
    size = divisor.constant if isinstance(divisor, ir.Constant) else 0
    if size > 0 and size & (size - 1) == 0:
        shift = ir.Constant(I64, size.bit_length() - 1)
        return b.ashr(number, shift), b.and_(number, ir.Constant(I64, size - 1))
    quotient, remainder = b.sdiv(number, divisor), b.srem(number, divisor)
    opposite = b.icmp_signed("<", b.xor(remainder, divisor), ZERO)
    down = b.and_(opposite, b.icmp_signed("!=", remainder, ZERO))
    lower, moved = b.sub(quotient, ONE), b.add(remainder, divisor)
    return b.select(down, lower, quotient), b.select(down, moved, remainder)


def magnitude(b: ir.IRBuilder, number: Any) -> Any:
    """Take an int without its sign."""
    return b.select(b.icmp_signed("<", number, ZERO), b.neg(number), number)


def rounds(b: ir.IRBuilder, first: Any, stop: Any, step: Any) -> Any:
    """Count how often ``range(first, stop, step)`` goes round; never if the step is zero.

    Counting first, an end near the largest int cannot make the counter wrap round.
    """
    up = b.icmp_signed(">", step, ZERO)
    low, high = b.select(up, first, stop), b.select(up, stop, first)
    some = b.and_(b.icmp_signed("<", low, high), b.icmp_signed("!=", step, ZERO))
    stride = b.select(some, b.select(up, step, b.neg(step)), ONE)
    count = b.add(b.udiv(b.sub(b.sub(high, low), ONE), stride), ONE)
    return b.select(some, count, ZERO)
