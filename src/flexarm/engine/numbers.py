"""Numbers of an object as symbols: what is computed of them can be computed of others later.

A `Book` opens an object: read through it, its numbers are symbols that know their values.  Whatever
is decided by a value on the way is written down, with all that was read, so that the book can tell
of another object whether it would have led to the same operations, and with which numbers.
"""

import bisect
import functools
import math
import operator
from collections.abc import Callable, Sequence
from types import BuiltinFunctionType, FunctionType, MappingProxyType, MethodType
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from flexarm.engine.matching import ALIKE, SIGNS, Closed, Page, answers_to, equal, rounded

_PLAIN = (
    *(type(None), bool, int, str, bytes, slice, type, np.bool_, np.integer),
    *(FunctionType, BuiltinFunctionType),
)
Array = NDArray[np.float64]
Values = tuple[Any, ...]  # of the objects, at one place
Path = tuple[Any, ...]
Operator = Callable[["Number", Any], Any]


def _both_ways(op: Callable[[Any, Any], Any]) -> tuple[Operator, Operator]:
    """Give an operation of a number with what stands behind it, and with what stands before."""

    def before(self: "Number", other: Any) -> Any:
        return self._with(op, other)

    def behind(self: "Number", other: Any) -> Any:
        return self._with(op, other, swapped=True)

    return before, behind


class Number:
    """A number that is a symbol too: arithmetic on symbols, decisions by values.

    Where a plain number is needed it raises, so that none is taken for all others unnoticed.
    """

    __slots__ = ("book", "expr", "value")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: float, expr: ca.SX, book: "Book") -> None:
        self.value, self.expr, self.book = value, expr, book

    def __SX__(self) -> ca.SX:
        """Become an expression: CasADi asks for it."""
        return self.expr

    def __float__(self) -> float:
        """Refuse to become one number."""
        raise TypeError("a number that is kept as a symbol cannot become a plain one")

    def __repr__(self) -> str:
        """Show the value."""
        return f"Number({self.value!r})"

    def _new(self, value: float, expr: ca.SX) -> "Number | float":
        return float(expr) if expr.is_constant() else Number(value, expr, self.book)

    def _with(self, op: Callable[[Any, Any], Any], other: Any, *, swapped: bool = False) -> Any:
        if isinstance(other, ca.SX | ca.DM):
            return op(other, self.expr) if swapped else op(self.expr, other)
        value: Any
        expr: Any
        if isinstance(other, Number):
            value, expr = other.value, other.expr
        elif isinstance(other, int | float | np.number):
            value = expr = float(other)
        else:
            return NotImplemented
        if swapped:
            return self._new(op(value, self.value), op(expr, self.expr))
        return self._new(op(self.value, value), op(self.expr, expr))

    __add__, __radd__ = _both_ways(operator.add)
    __sub__, __rsub__ = _both_ways(operator.sub)
    __mul__, __rmul__ = _both_ways(operator.mul)
    __truediv__, __rtruediv__ = _both_ways(operator.truediv)
    __pow__ = _both_ways(operator.pow)[0]

    def __neg__(self) -> Any:
        """Change the sign."""
        return self._new(-self.value, -self.expr)

    def __pos__(self) -> "Number":
        """Stay."""
        return self

    def __abs__(self) -> Any:
        """Drop the sign, which is a decision."""
        return -self if self < 0.0 else self

    def sqrt(self) -> Any:
        """Take the root: NumPy asks for it."""
        return self._new(math.sqrt(self.value), ca.sqrt(self.expr))

    def _decided(self, sign: str, other: Any) -> bool:
        less = self - other
        if isinstance(less, float):
            return bool(SIGNS[sign](less, 0.0))
        return self.book.decide(less, sign)

    def __bool__(self) -> bool:
        """Count as a number that is not 0, whatever it is now."""
        return True

    def __eq__(self, other: object) -> bool:
        """Tell whether it is the same symbol: two numbers that are equal now need not stay so."""
        return isinstance(other, Number) and isinstance(self - other, float)

    def __lt__(self, other: Any) -> bool:
        """Compare."""
        return self._decided("lt", other)

    def __le__(self, other: Any) -> bool:
        """Compare."""
        return self._decided("le", other)

    def __gt__(self, other: Any) -> bool:
        """Compare."""
        return not self._decided("le", other)

    def __ge__(self, other: Any) -> bool:
        """Compare."""
        return not self._decided("lt", other)


class Unlike(Exception):
    """Objects that cannot be read side by side, by the place where they differ."""


class Book:
    """What was read of an object whose numbers are symbols, and what was decided by them.

    Parameters
    ----------
    value
        The object: dataclasses, sequences, mappings, arrays, whatever has fields.
    others
        Objects that must lead to the same operations: what is 0 in one and not in another is a
        symbol, and so are two numbers that are equal in one alone.
    whole
        Digests an object of a class that is not to be opened: another one must be the same.
        None of all others.

    Reading raises `Unlike` where the others differ from the object in more than their numbers.
    """

    def __init__(
        self,
        value: Any,
        others: Sequence[Any] = (),
        *,
        whole: Callable[[Any], str | None] = lambda value: None,
    ) -> None:
        self._whole = whole
        self._symbols: list[ca.SX] = []
        self._numbers: list[Array] = []  # of all objects
        self._same: list[tuple[int, float]] = []  # symbol of each number, and its sign
        self._own: list[int] = []  # number of each symbol
        self._sizes: dict[object, list[tuple[float, int]]] = {}  # in order, with their symbols
        self._decided: dict[tuple[int, str], tuple[ca.SX, str, bool]] = {}
        self._page = self._read((value, *others), ())

    @property
    def opened(self) -> Any:
        """The object with symbols for its numbers."""
        return self._page.seen

    @property
    def symbols(self) -> ca.SX:
        """All symbols so far, (n,)."""
        return ca.vertcat(*self._symbols) if self._symbols else ca.SX(0, 1)

    def decide(self, difference: Number, sign: str) -> bool:
        """Compare a number with 0, and remember the answer."""
        answer = bool(SIGNS[sign](difference.value, 0.0))
        expression = difference.expr
        self._decided[expression.element_hash(), sign] = (expression, sign, answer)
        return answer

    def close(self) -> "Closed":
        """End reading."""
        decided = list(self._decided.values())
        expressions = ca.vertcat(*[each for each, _, _ in decided]) if decided else ca.SX(0, 1)
        same = np.array([symbol for symbol, _ in self._same], dtype=int)
        own = np.array(self._own, dtype=int)
        every = np.array(self._numbers).reshape(len(same), -1)
        function = ca.Function("decided", [self.symbols], [expressions])
        differences = np.array(function(every[own, 0])).ravel()
        signs = [sign for _, sign, _ in decided]
        answers = np.array([answer for _, _, answer in decided], dtype=bool)
        # Rounding decided what comes out otherwise when it is computed again.
        close = answers_to(signs, differences) != answers
        return Closed(
            self._page,
            self._whole,
            np.where(same < 0, every[:, 0], np.nan),
            np.any(every == 0.0, axis=1),
            same,
            np.array([sign for _, sign in self._same]),
            own,
            function,
            signs,
            answers,
            np.where(close, 2 * np.abs(differences), -1.0),
        )

    def read(self, page: Page, step: Any, values: Values, path: Path) -> Any:
        """Read a part of what a page is about."""
        if step not in page.pages:
            page.pages[step] = self._read(values, (*path, step))
        return page.pages[step].seen

    def _read(self, values: Values, path: Path) -> Page:
        value = values[0]
        numbers = all(isinstance(each, float) for each in values)  # NumPy's or Python's
        if not numbers and any(type(other) is not type(value) for other in values):
            raise Unlike(path)
        if isinstance(value, _PLAIN):
            if not all(equal(value, other) for other in values):
                raise Unlike(path)
            return Page("plain", value, seen=value)
        if isinstance(value, ca.SX):
            return Page("symbols", value.shape, seen=value)
        if isinstance(value, float):
            page = Page("number", None, len(self._numbers))
            page.seen = self._number(np.array(values, dtype=float), path[:2])
            return page
        if isinstance(value, np.ndarray):
            return self._array(values, path)
        digest = self._whole(value)
        if digest is not None:
            if any(self._whole(other) != digest for other in values[1:]):
                raise Unlike(path)
            return Page("whole", digest, seen=value)
        if isinstance(value, tuple | list):
            if any(len(other) != len(value) for other in values):
                raise Unlike(path)
            page = Page("sequence", (type(value), len(value)))
            found = [
                self.read(page, k, each, path) for k, each in enumerate(zip(*values, strict=True))
            ]
            page.seen = found if isinstance(value, list) else tuple(found)
            return page
        if isinstance(value, dict | MappingProxyType):
            if any(tuple(other) != tuple(value) for other in values):
                raise Unlike(path)
            page = Page("mapping", tuple(value))
            page.seen = {
                key: self.read(page, key, tuple(each[key] for each in values), path)
                for key in value
            }
            return page
        page = Page("object", type(value))
        page.seen = _Opened(self, page, values, path)
        return page

    def _array(self, values: Values, path: Path) -> Page:
        value = values[0]
        if any(other.shape != value.shape for other in values):
            raise Unlike(path)
        if value.dtype.kind != "f":
            return Page("plain", value, seen=value)
        page = Page("array", value.shape, len(self._numbers))
        page.seen = np.empty(value.shape, dtype=object)
        columns = np.stack([each.ravel() for each in values], axis=1)
        page.seen.ravel()[:] = [self._number(each, path[:2]) for each in columns]
        return page

    def _number(self, values: Array, scope: object) -> Number | float:
        """Take in a number: 0, 1 and -1 stay, and so do those that are none."""
        values = rounded(values)
        value, place = float(values[0]), len(self._numbers)
        self._numbers.append(values)
        if np.all(values == value) and (value in (0.0, 1.0, -1.0) or not math.isfinite(value)):
            self._same.append((-1, value))
            return value
        symbol, sign = self._alike(values, scope)
        if symbol < 0:
            symbol = len(self._symbols)
            self._symbols.append(ca.SX.sym(f"n{symbol}"))
            self._own.append(place)
            bisect.insort(self._sizes.setdefault(scope, []), (abs(value), symbol))
        self._same.append((symbol, sign))
        return Number(value, sign * self._symbols[symbol], self)

    def _alike(self, values: Array, scope: object) -> tuple[int, float]:
        """Find a symbol that has the same values, or the opposite ones; -1 if there is none."""
        size, sizes = abs(float(values[0])), self._sizes.get(scope, [])
        at = bisect.bisect_left(sizes, (size * (1 - ALIKE), -1))
        for other, symbol in sizes[at:]:
            if other > size * (1 + ALIKE):
                break
            known = self._numbers[self._own[symbol]]
            for sign in (1.0, -1.0):
                if np.all(np.abs(values - sign * known) <= ALIKE * np.abs(known)):
                    return symbol, sign
        return -1, 1.0


class _Opened:
    """An object read through a book.  Its class is that of the object, for whoever asks."""

    def __init__(self, book: Book, page: Page, values: Values, path: Path) -> None:
        self.__dict__.update(_book=book, _page=page, _values=values, _path=path)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return type(self._values[0])

    @property
    def __dataclass_fields__(self) -> Any:
        return self._values[0].__dataclass_fields__

    def __getattr__(self, name: str) -> Any:
        value = self._values[0]
        found = getattr(type(value), name, None)
        if name not in vars(value):
            if isinstance(found, property) and found.fget is not None:
                return found.fget(self)
            if callable(found) and not isinstance(found, type):
                static = isinstance(vars(type(value)).get(name), staticmethod | classmethod)
                return found if static else MethodType(found, self)
            if found is not None and not isinstance(found, functools.cached_property):
                return found  # of the class
        parts = tuple(getattr(each, name) for each in self._values)
        return self._book.read(self._page, name, parts, self._path)


def positive(symbols: ca.SX) -> list[Any]:
    """Give numbers that are symbols, (n,), and count as positive wherever that decides."""
    book = Book(None)
    return [Number(1.0, symbols[k], book) for k in range(symbols.shape[0])]


def book_of(value: Any) -> Book | None:
    """Give the book through which an object is read, None of one that is as it is."""
    return value._book if type(value) is _Opened else None
