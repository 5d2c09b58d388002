"""Whether an object leads to the operations of a trace, and with which numbers."""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from flexarm.varied import Varied, by_design

# Integrals that are equal in theory differ by some 1e-15 of the largest, so by more of themselves
# where they are small; numbers that are not equal differ by far more than this.
ALIKE = 1e-10
ROUNDING = 1e-14
SIGNS = {"lt": operator.lt, "le": operator.le}
DRAWN = "_drawn"  # where an object keeps from which designs, and as which of them, it was drawn
Array = NDArray[np.float64]


@dataclass
class Page:
    """What was read of one value: its kind, its plain contents, where its numbers stand."""

    kind: str
    plain: Any
    first: int = 0
    pages: dict[Any, "Page"] = field(default_factory=dict)
    seen: Any = None


def answers_to(signs: Sequence[str], differences: Array) -> NDArray[np.bool_]:
    """Compare differences with 0, each row in its way."""
    found = [SIGNS[sign](each, 0.0) for sign, each in zip(signs, differences, strict=True)]
    return np.array(found, dtype=bool)


def rounded(numbers: Array) -> Array:
    """Take what rounding keeps from being 1 or -1 for that."""
    near = np.abs(np.abs(numbers) - 1.0) <= ROUNDING
    return np.where(near, np.sign(numbers), numbers) if near.any() else numbers


@dataclass(frozen=True)
class Closed:
    """A book that has been read to its end."""

    _page: Page
    _whole: Callable[[Any], str | None]
    _fixed: Array  # NaN where there is a symbol
    _zero: NDArray[np.bool_]  # whether a number may be 0
    _same: NDArray[np.int64]
    _sign: Array
    _own: NDArray[np.int64]
    _decided: ca.Function
    _signs: list[str]
    _answers: NDArray[np.bool_]
    _slack: Array  # differences up to which an answer may be either

    def numbers(self, value: Any) -> Array | None:
        """Give the numbers of another object, (n,), or None if it leads to other operations."""
        drawn, k = getattr(value, "__dict__", {}).get(DRAWN, (None, 0))
        found = None if drawn is None else drawn.match(self)
        if found is None:  # it was not drawn, or its like cannot be read together
            found, k = self.match(value, 1), 0
        return found.numbers[:, k].copy() if found is not None and found.fits[k] else None

    def match(self, value: Any, count: int) -> "Matched | None":
        """Give the numbers of so many designs at once, or None if they cannot be read so."""
        flat = np.zeros((len(self._same), count))
        if not self._collect(self._page, value, flat):
            return None
        moves = np.any(flat != flat[:, :1], axis=1)  # NaN moves too
        flat[~moves] = rounded(flat[~moves, :1])
        flat[moves] = rounded(flat[moves])
        found, open_ = flat[self._own], self._same >= 0
        moves[open_] |= moves[self._own[self._same[open_]]]
        fits = self._fit(flat[~moves, :1], found[:, :1], ~moves)  # of all, or of none
        fits = fits & self._fit(flat[moves], found, moves)
        if len(self._signs):
            decided = np.array(self._decided(found))
            same = answers_to(self._signs, decided) == self._answers[:, None]
            fits &= np.all(same | (np.abs(decided) <= self._slack[:, None]), axis=0)
        return Matched(found, fits)

    def _fit(self, flat: Array, found: Array, rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Tell which designs have, in some rows, the zeros and equal numbers of the trace."""
        same, zero = self._same[rows], self._zero[rows]
        open_ = same >= 0
        fits = ~np.any((flat[open_] == 0.0) & ~zero[open_, None], axis=0)
        fixed = self._fixed[rows][~open_, None]
        fits &= np.all((flat[~open_] == fixed) | np.isnan(flat[~open_]) & np.isnan(fixed), axis=0)
        expected = self._sign[rows][open_, None] * found[same[open_]]
        fits &= np.all(np.abs(flat[open_] - expected) <= ALIKE * np.abs(expected), axis=0)
        return np.asarray(fits)

    def _collect(self, page: Page, value: Any, flat: Array) -> bool:
        """Take the numbers of a page out of another object; False if it does not fit."""
        kind = page.kind
        if kind == "object":
            return type(value) is page.plain and all(
                self._collect(part, getattr(value, step), flat) for step, part in page.pages.items()
            )
        if kind == "number":
            if not isinstance(value, float | Varied):
                return False
            flat[page.first] = by_design(value, flat.shape[1])
        elif kind == "array":
            if getattr(value, "shape", None) != page.plain or value.dtype.kind not in "fO":
                return False
            columns = by_design(value, flat.shape[1]).reshape(flat.shape[1], -1).T
            flat[page.first : page.first + value.size] = columns
        elif kind in ("sequence", "mapping"):
            alike = (type(value), len(value)) if kind == "sequence" else tuple(value)
            return alike == page.plain and all(
                self._collect(part, value[step], flat) for step, part in page.pages.items()
            )
        elif kind == "whole":
            return bool(self._whole(value) == page.plain)
        elif kind == "plain":
            return equal(page.plain, value)
        return True


@dataclass(frozen=True)
class Matched:
    """Numbers of N designs, (n, N), and which of them lead to the same operations, (N,)."""

    numbers: Array
    fits: NDArray[np.bool_]


def equal(a: Any, b: Any) -> bool:
    """Tell whether two plain values are the same."""
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and bool(a.dtype == b.dtype) and np.array_equal(a, b)
    return bool(type(a) is type(b) and a == b)
