"""A number of many designs at once: arithmetic on all of them, decisions where they agree.

What is computed of plain numbers is computed of such ones too, for all designs together.  Arrays
that hold some are arrays of objects.
"""

import operator
from collections.abc import Callable, Iterable
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Operator = Callable[["Varied", Any], Any]
LATER = "_later"  # where an object keeps how its parts are made, and of which design it is


class Differ(Exception):
    """Designs that lead to different decisions.

    Attributes
    ----------
    answers
        By design, (N,) of bool.
    """

    def __init__(self, answers: NDArray[np.bool_]) -> None:
        super().__init__("designs differ in what is decided by their numbers")
        self.answers = answers


def varied(values: Array) -> "Varied | float":
    """Take numbers by design, (N,); one that all have is plain."""
    first = values[0]
    if first == values[-1] and np.all(values == first):
        return float(first)
    return Varied(values)


def _both_ways(op: Callable[[Any, Any], Any]) -> tuple[Operator, Operator]:
    """Give an operation with what stands behind a number, and with what stands before it."""

    def before(self: "Varied", other: Any) -> Any:
        value = _values(other)
        return NotImplemented if value is None else varied(op(self.values, value))

    def behind(self: "Varied", other: Any) -> Any:
        value = _values(other)
        return NotImplemented if value is None else varied(op(value, self.values))

    return before, behind


def _values(other: Any) -> Any:
    """Give a number, or those of all designs; None of anything else."""
    if isinstance(other, Varied):
        return other.values
    return other if isinstance(other, int | float | np.number) else None


def _comparing(op: Callable[[Any, Any], Any]) -> Operator:
    def compare(self: "Varied", other: Any) -> Any:
        value = _values(other)
        return NotImplemented if value is None else agreed(op(self.values, value))

    return compare


def agreed(answers: NDArray[np.bool_]) -> bool:
    """Give the answer of all designs.

    Raises
    ------
    Differ
        If they have none in common.
    """
    if answers.all():
        return True
    if answers.any():
        raise Differ(answers)
    return False


class Varied:
    """A number of N designs.

    Where one plain number is needed it raises, so that none is taken for all others unnoticed.

    Attributes
    ----------
    values
        By design, (N,).
    """

    __slots__ = ("values",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, values: Array) -> None:
        self.values = values

    def __float__(self) -> float:
        """Refuse to become one number."""
        raise TypeError("a number of many designs cannot become a plain one")

    def __repr__(self) -> str:
        """Show the range."""
        return f"Varied({self.values.min():g} to {self.values.max():g})"

    def __format__(self, how: str) -> str:
        """Show the range, in whatever way."""
        return repr(self)

    __add__, __radd__ = _both_ways(operator.add)
    __sub__, __rsub__ = _both_ways(operator.sub)
    __mul__, __rmul__ = _both_ways(operator.mul)
    __truediv__, __rtruediv__ = _both_ways(operator.truediv)
    __pow__ = _both_ways(operator.pow)[0]
    __lt__, __le__ = _comparing(operator.lt), _comparing(operator.le)
    __gt__, __ge__ = _comparing(operator.gt), _comparing(operator.ge)
    __eq__, __ne__ = _comparing(operator.eq), _comparing(operator.ne)

    def __bool__(self) -> bool:
        """Tell whether it is not 0."""
        return agreed(self.values != 0.0)

    def __neg__(self) -> "Varied":
        """Change the sign."""
        return Varied(-self.values)

    def __pos__(self) -> "Varied":
        """Stay."""
        return self

    def __abs__(self) -> "Varied | float":
        """Drop the sign."""
        return varied(np.abs(self.values))

    def sqrt(self) -> "Varied | float":
        """Take the root: NumPy asks for it."""
        return varied(np.sqrt(self.values))

    def cos(self) -> "Varied | float":
        """Take the cosine: NumPy asks for it."""
        return varied(np.cos(self.values))

    def sin(self) -> "Varied | float":
        """Take the sine: NumPy asks for it."""
        return varied(np.sin(self.values))


def stacked(rows: Array) -> NDArray[Any]:
    """Put the arrays of N designs, (N, ...), into one; plain if all are the same."""
    first = rows[0]
    if np.all(rows == first):
        return np.array(first)
    found = np.empty(first.shape, dtype=object)
    found.ravel()[:] = varied_columns(rows.reshape(len(rows), -1))
    return found


def varied_columns(rows: Array) -> list["Varied | float"]:
    """Take numbers by design, one per column, (N, K); those that all have are plain."""
    columns = np.ascontiguousarray(rows.T)
    plain = np.all(columns == columns[:, :1], axis=1).tolist()
    return [
        float(each[0]) if same else Varied(each) for each, same in zip(columns, plain, strict=True)
    ]


def by_design(value: Any, count: int) -> Array:
    """Give a number's, or an array's, values by design, (N, ...)."""
    if isinstance(value, Varied):
        return value.values
    array = np.asarray(value)
    if array.dtype != object:
        return np.broadcast_to(array, (count, *array.shape))
    rows = np.empty((count, array.size))
    for k, each in enumerate(array.flat):
        rows[:, k] = each.values if isinstance(each, Varied) else each
    return rows.reshape(count, *array.shape)


def by_designs(value: Any, designs: tuple[int, ...]) -> Array:
    """Give an array's values: plain ones if there are no designs, (), or those of (N,)."""
    return by_design(value, *designs) if designs else np.array(value, dtype=float)


def least(values: Iterable[Any]) -> Any:
    """Give the least of numbers, of each design where they differ: no decision of all."""
    found, *others = values
    for each in others:
        varying = isinstance(found, Varied) or isinstance(each, Varied)
        found = varied(np.minimum(_values(found), _values(each))) if varying else min(found, each)
    return found


def plain(value: Any) -> float:
    """Give a number as a float; those of designs, (N,), as they are."""
    return float(value) if np.ndim(value) == 0 else value


def varies(value: Any) -> bool:
    """Tell whether a number, or one of an array, differs by design."""
    if isinstance(value, np.ndarray):
        return value.dtype == object and any(isinstance(each, Varied) for each in value.flat)
    return isinstance(value, Varied)


class LazyDesign:
    """A dataclass of which one may be drawn from many: parts are made when they are asked for."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Make a part."""
            plans, k = self.__dict__.get(LATER, ({}, 0))
            if name not in plans:
                raise AttributeError(f"{type(self).__name__} has no attribute '{name}'")
            found = self.__dict__[name] = plans[name](k)
            return found

    def __getstate__(self) -> dict[str, object]:
        """Give its fields alone: arrays of a copy can be written to, so that what is kept ends."""
        return {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]
