"""Symbols in place of the numbers of an arm, so that equations are traced only once.

Two arms share traced equations if they differ only in their numbers, have 0, 1 and -1 at the same
places, and have equal or opposite numbers at the same places; they then have equal `Pattern`.
"""

import hashlib
import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import partialmethod
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from flexarm.engine.constants import EQUAL_NUMBERS, UNIT_ROUNDING

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


class Number:
    """A symbol that stands for a number other than 0.

    Conversion of the symbol to float raises an error, so that traced equations never depend
    unnoticed on the present value.

    Parameters
    ----------
    expr
        CasADi symbol, or expression of symbols.
    value
        Function that returns the present value and records that it was used; None for a number that
        must not be compared.
    """

    __slots__ = ("_value", "expr")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, expr: ca.SX, value: Callable[[], float] | None = None) -> None:
        self.expr, self._value = expr, value

    def __SX__(self) -> ca.SX:
        """Return the CasADi expression; CasADi calls this method to convert the number."""
        return self.expr

    def __float__(self) -> float:
        """Raise a TypeError, since a symbol has no fixed value."""
        raise TypeError("a symbolic number cannot be converted to a float")

    def __repr__(self) -> str:
        """Return the number's CasADi expression as text."""
        return f"Number({self.expr})"

    def _with(self, op: Callable[[Any, Any], Any], other: Any) -> Any:
        if isinstance(other, ca.SX | ca.DM):
            return op(self.expr, other)
        own_value, expression = self._value, other
        if isinstance(other, Number):
            other_value, expression = other._value, other.expr
            if own_value is None or other_value is None:
                return number(op(self.expr, expression))
            return number(op(self.expr, expression), lambda: op(own_value(), other_value()))
        if isinstance(other, int | float | np.number):
            constant = float(other)
            value = None if own_value is None else lambda: op(own_value(), constant)
            return number(op(self.expr, constant), value)
        return NotImplemented

    __add__ = partialmethod(_with, operator.add)
    __sub__ = partialmethod(_with, operator.sub)
    __mul__ = partialmethod(_with, operator.mul)
    __truediv__ = partialmethod(_with, operator.truediv)
    __pow__ = partialmethod(_with, operator.pow)
    __radd__ = partialmethod(_with, lambda own, other: other + own)
    __rsub__ = partialmethod(_with, lambda own, other: other - own)
    __rmul__ = partialmethod(_with, lambda own, other: other * own)
    __rtruediv__ = partialmethod(_with, lambda own, other: other / own)

    def __neg__(self) -> Any:
        """Return the number with opposite sign."""
        value = self._value
        return number(-self.expr, None if value is None else lambda: -value())

    def __pos__(self) -> "Number":
        """Return the number itself (unary plus)."""
        return self

    def __abs__(self) -> Any:
        """Return the absolute value of the number as a symbolic expression."""
        value = self._value
        return number(ca.fabs(self.expr), None if value is None else lambda: abs(value()))

    def sqrt(self) -> Any:
        """Return the square root of the number; NumPy calls this method."""
        value = self._value
        return number(ca.sqrt(self.expr), None if value is None else lambda: value() ** 0.5)

    def _compare(self, op: Callable[[Any, Any], bool], other: object) -> Any:
        if self._value is None:
            return NotImplemented
        if isinstance(other, Number) and other._value is not None:
            return op(self._value(), other._value())
        return op(self._value(), other) if isinstance(other, int | float) else NotImplemented

    def __lt__(self, other: object) -> Any:
        """Return whether the present value is less than another number."""
        return self._compare(operator.lt, other)

    def __le__(self, other: object) -> Any:
        """Return whether the present value is at most another number."""
        return self._compare(operator.le, other)

    def __gt__(self, other: object) -> Any:
        """Return whether the present value is greater than another number."""
        return self._compare(operator.gt, other)

    def __ge__(self, other: object) -> Any:
        """Return whether the present value is at least another number."""
        return self._compare(operator.ge, other)

    def __bool__(self) -> bool:
        """Return True, since a symbol stands for a number that is not 0."""
        return True

    def __eq__(self, other: object) -> bool:
        """Return whether two numbers have equal expressions; equal values do not suffice."""
        return isinstance(other, Number) and isinstance(self - other, float)


def as_numbers(symbols: ca.SX) -> list[Number]:
    """Return the elements of a column of n symbols as n `Number` objects."""
    return [Number(symbols[k]) for k in range(symbols.shape[0])]


def number(expression: ca.SX, value: Callable[[], float] | None = None) -> Number | float:
    """Return a scalar expression as a `Number`, or as a float if the expression is constant."""
    return float(expression) if expression.is_constant() else Number(expression, value)


@dataclass(frozen=True)
class Pattern:
    """Which numbers of an object are constants, equal, or equal with opposite sign.

    A pattern may belong to several objects: a number is then a constant if it is 0 in every object,
    or 1 in every one, or -1, and two numbers share a symbol if they are equal or opposite in every
    object.
    """

    constant: Array  # value of each constant, (n,); NaN for a number with a symbol
    symbol: Ints  # index of each number's symbol, (n,); -1 for a constant
    sign: Array  # sign of each number relative to its symbol, (n,)
    first: Ints  # index of the number that each symbol represents, (k,)
    zero: NDArray[np.bool_]  # whether a number with a symbol may be 0, (n,)
    tolerance: Array  # relative difference up to which two numbers count as equal, (n,)

    @classmethod
    def of(
        cls, numbers: Array, groups: Ints, tolerance: Array | float = EQUAL_NUMBERS
    ) -> "Pattern":
        """Return the pattern that the numbers of K objects have in common.

        Parameters
        ----------
        numbers
            Numbers of the objects, one column per object, (n, K).
        groups
            Group of each number, (n,); only numbers of the same group are compared.
        tolerance
            Relative difference up to which a number counts as equal to another one, (n,).
        """
        numbers, tolerance = snapped(numbers), np.broadcast_to(tolerance, len(numbers))
        value = numbers[:, 0]
        is_equal = np.all((numbers == value[:, None]) | np.isnan(numbers), axis=1)
        fixed = is_equal & (np.isin(value, (0.0, 1.0, -1.0)) | ~np.isfinite(value))
        open_indices = np.flatnonzero(~fixed)
        open_numbers = numbers[open_indices]
        nonzero = open_numbers[np.arange(len(open_indices)), (open_numbers != 0.0).argmax(axis=1)]
        sign = np.where(nonzero < 0.0, -1.0, 1.0)
        group, order = groups[open_indices], np.arange(len(open_indices))
        for column in (open_numbers * sign[:, None]).T:
            order = np.lexsort((column, group))
            near = tolerance[open_indices][order]
            near = np.minimum(near[1:], near[:-1]) * np.abs(column[order][1:])
            rises = np.diff(column[order]) > near
            new_group = (np.diff(group[order]) != 0) | rises
            group = np.empty_like(group)
            group[order] = np.concatenate([[0], np.cumsum(new_group)])[: len(order)]
        # Symbols are ordered by the first number that each represents.
        _, first, index = np.unique(group, return_index=True, return_inverse=True)
        rank = np.argsort(np.argsort(first))
        symbol, signs = np.full(len(value), -1), np.ones(len(value))
        symbol[open_indices] = rank[index]
        first_numbers = open_indices[np.sort(first)]
        signs[open_indices] = sign * sign[np.sort(first)][rank[index]]
        zero = np.any(numbers == 0.0, axis=1)
        return cls(
            np.where(fixed, value + 0.0, np.nan),
            symbol,
            signs,
            first_numbers,
            zero & ~fixed,
            tolerance,
        )

    @property
    def key(self) -> str:
        """Hash of the pattern; objects with equal patterns have equal hashes."""
        sha = hashlib.sha256()
        for array in (self.constant, self.symbol, self.sign, self.zero):
            sha.update(array.tobytes())
        return sha.hexdigest()

    def values(self, numbers: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Return the values of the k symbols for N objects, (k, N), and whether each object fits.

        Parameters
        ----------
        numbers
            Numbers of the objects, one column per object, (n, N).
        """
        if len(numbers) != len(self.symbol):
            return np.zeros((len(self.first), numbers.shape[1])), np.zeros(numbers.shape[1], bool)
        numbers, is_open = snapped(numbers), self.symbol >= 0
        symbol_values, open_values, constant = (
            numbers[self.first],
            numbers[is_open],
            self.constant[~is_open, None],
        )
        fixed_values = numbers[~is_open]
        fits = np.all(
            (fixed_values == constant) | (np.isnan(fixed_values) & np.isnan(constant)), axis=0
        )
        fits &= ~np.any((open_values == 0.0) & ~self.zero[is_open, None], axis=0)
        expected = self.sign[is_open, None] * symbol_values[self.symbol[is_open]]
        near = self.tolerance[is_open, None] * np.abs(expected)
        fits &= np.all(np.abs(open_values - expected) <= near, axis=0)
        return symbol_values, np.asarray(fits)

    def opened(self, symbols: ca.SX) -> list[Number | float]:
        """Return the n numbers of an object as constants or signed symbols, from the k symbols."""
        positives = as_numbers(symbols)
        negatives = [-positive for positive in positives]
        return [
            value if k < 0 else (positives if sign > 0 else negatives)[k]
            for value, k, sign in zip(
                self.constant.tolist(), self.symbol.tolist(), self.sign.tolist(), strict=True
            )
        ]


def snapped(numbers: Array) -> Array:
    """Return numbers of which those equal to 1 or -1 by rounding are replaced by 1 or -1."""
    is_near = np.abs(np.abs(numbers) - 1.0) <= UNIT_ROUNDING
    return np.where(is_near, np.sign(numbers), numbers) if is_near.any() else numbers
