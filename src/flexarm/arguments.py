"""Validation of arguments of public functions.

Every error message states the name of the argument, the expected values and the given value.
"""

import math
import operator
import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Context
from functools import wraps
from inspect import signature
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, ParamSpec, TypeVar

from flexarm.constants import VALUE_LENGTH
from flexarm.errors import FlexarmError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[np.float64]

P = ParamSpec("P")
T = TypeVar("T")
Kind = type[FlexarmError]
WithUnit = float | str  # a number in SI units, or text such as "5 ms"
# The names in METHODS and FORMULATIONS as literal types, so that editors and shells complete them.
MethodName = Literal["auto", "etd4", "dop853", "rodas4", "rk4"]
FormulationName = Literal[
    "articulated", "composite", "gibbs-appell", "kinematic-influence", "lagrange",
    "element-jacobian", "recursive-lagrange",
]  # fmt: skip
# File endings of other kinds of files, which are refused for the file of a run.
OTHERS = (".csv", ".mat", ".xlsx", ".parquet", ".npz", ".html", ".json", ".yaml", ".png")


class Renamed:
    """Base class of classes with renamed attributes, whose old names work with a warning."""

    _former_names: ClassVar[Mapping[str, str]]  # new names by old names

    if not TYPE_CHECKING:  # a checker that saw it would accept any name

        def __getattr__(self, name: str) -> Any:
            """Return the attribute that had this name formerly."""
            owner, new = type(self).__name__, type(self)._former_names.get(name)
            if new is None:
                raise AttributeError(f"'{owner}' object has no attribute '{name}'")
            message = f"{owner}.{name} is {owner}.{new} now"
            warnings.warn(message, DeprecationWarning, stacklevel=2)
            return getattr(self, new)


def renamed(
    meant: Mapping[str, str] | None = None, **names: str
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return a decorator that accepts deprecated argument names (old to new), with a warning.

    ``meant`` maps likely mistakes to correct names; the error for an unknown argument suggests the
    correct name.
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        places = list(signature(function).parameters)

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            for old, new in names.items() if kwargs else ():
                if old not in kwargs:
                    continue
                value = kwargs.pop(old)
                both = new in kwargs or new in places[: len(args)]
                if both and value is not None:
                    raise FlexarmError(
                        f"'{old}' and '{new}' are the same argument, and both were given. Give "
                        f"'{new}' alone."
                    )
                message = f"{function.__name__}: '{old}' is '{new}' now"
                warnings.warn(message, DeprecationWarning, stacklevel=2)
                if not both:
                    kwargs[new] = value
            for wrong in kwargs if meant else ():
                if wrong not in places:
                    from difflib import get_close_matches

                    right = (meant or {}).get(wrong) or next(
                        iter(get_close_matches(wrong, places)), ""
                    )
                    hint = f"Did you mean {right}=?" if right else f"There are {', '.join(places)}."
                    raise FlexarmError(
                        f"{wrong}: is not an argument of {function.__name__}. {hint}"
                    )
            return function(*args, **kwargs)

        return call

    return decorate


def refused(name: str, value: object, expected: str, error: Kind = FlexarmError) -> FlexarmError:
    """Return the error for an argument whose value is not as expected."""
    return error(f"{name}: must be {expected}, got {shown(value)}")


def shown(value: object) -> str:
    """Return a value as text for a message; its type if the text is long or unavailable."""
    try:
        text = " ".join(repr(value).split())
    except Exception:
        text = ""
    return text if 0 < len(text) <= VALUE_LENGTH else f"a value of type {type(value).__name__}"


def digits(value: float, count: int = 2, *, up: bool = False) -> str:
    """Return a number as text with few significant digits, rounded up if it is a bound.

    Numbers of 10 or more have no exponent.
    """
    rounding = ROUND_CEILING if up else ROUND_HALF_EVEN
    rounded = float(Context(prec=count, rounding=rounding).create_decimal(repr(float(value))))
    return f"{rounded:,.0f}" if rounded >= 10 else f"{rounded:g}"


def is_number(value: object, *, finite: bool = True) -> bool:
    """Return whether a value is a real number; booleans are not."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    try:
        number = float(value)
    except Exception:  # an integer beyond all floats, or any error of a foreign object
        return False
    return math.isfinite(number) if finite else not math.isnan(number)


def in_unit(name: str, value: object, unit: str, error: Kind = FlexarmError) -> Any:
    """Convert text such as "5 ms" to a number in an SI unit, also within lists.

    If ``unit`` lists several units, as in "rad/s|m/s", the first one of the text's dimension is
    used. Values other than text are returned unchanged.
    """
    if isinstance(value, list | tuple):
        return [in_unit(name, item, unit, error) for item in value]
    if not isinstance(value, str):
        return value
    from flexarm.units import quantity

    reasons: list[str] = []
    for symbol in unit.split("|"):
        try:
            return quantity(value, symbol)
        except FlexarmError as failure:
            reasons.append(str(failure))
    raise error(f"{name}: {reasons[0]}")


def require_number(
    name: str,
    value: object,
    error: Kind = FlexarmError,
    least: float = -math.inf,
    largest: float = math.inf,
    *,
    unit: str = "1",
) -> float:
    """Return a number, or text with a unit, as a float within bounds, else raise an error."""
    value = in_unit(name, value, unit, error)
    expected = "a finite number"
    if math.isfinite(least) or math.isfinite(largest):
        expected = f"between {least:g} and {largest:g}"
    if not is_number(value) or not least <= float(value) <= largest:  # type: ignore[arg-type]
        raise refused(name, value, expected, error)
    return float(value)  # type: ignore[arg-type]


def require_positive(
    name: str, value: object, error: Kind = FlexarmError, *, unit: str = "1"
) -> float:
    """Return a number, or text with a unit, as a positive float, else raise an error."""
    value = in_unit(name, value, unit, error)
    if not is_number(value) or float(value) <= 0:  # type: ignore[arg-type]
        raise refused(name, value, "> 0 and a finite number", error)
    return float(value)  # type: ignore[arg-type]


def require_count(
    name: str, value: object, least: int, error: Kind = FlexarmError, most: float = math.inf
) -> None:
    """Raise an error unless a value is a whole number from ``least`` to ``most``."""
    try:
        whole = not isinstance(value, bool) and least <= operator.index(value) <= most  # type: ignore[arg-type]
    except Exception:  # no whole number, or any error of a foreign object
        whole = False
    if not whole:
        upper = "or more" if most == math.inf else f"to {most:,}"
        raise refused(name, value, f"a whole number, {least} {upper}", error)


def is_word(value: object, words: Iterable[str]) -> bool:
    """Return whether a value is a string among given words; arrays and other types are not."""
    return isinstance(value, str) and value in words


def require_word(
    name: str, value: object, words: Iterable[str], error: Kind = FlexarmError
) -> None:
    """Raise an error unless a value is one of given strings."""
    choices = list(words)
    if not is_word(value, choices):
        raise refused(name, value, f"one of {', '.join(choices)}", error)


def require_known(
    name: object,
    names: Iterable[str],
    kind: str = "joint",
    *,
    where: str = "",
    error: Kind = FlexarmError,
) -> None:
    """Raise an error unless a name is one of the known names of a kind of object.

    ``where`` is text at the beginning of the message, such as ``inputs: ``.
    """
    choices = list(names)
    if name not in choices:
        text = name if isinstance(name, str) else shown(name)
        raise error(
            f"{where}there is no {kind} '{text}'. The {kind}s are {', '.join(choices) or 'none'}."
        )


def require_flag(name: str, value: object, error: Kind = FlexarmError) -> None:
    """Raise an error unless a value is True or False."""
    if not isinstance(value, bool) and type(value).__name__ not in ("bool", "bool_"):
        raise refused(name, value, "True or False", error)


def require_function(name: str, value: object, what: str, error: Kind = FlexarmError) -> None:
    """Raise an error unless a value is a function or None."""
    if value is not None and not callable(value):
        raise refused(name, value, f"a function {what}, or None", error)


def require_mapping(
    name: str, value: object, what: str, error: Kind = FlexarmError, *, optional: bool = True
) -> Mapping[str, Any]:
    """Return a mapping with string keys (empty for None if optional), else raise an error."""
    if value is None and optional:
        return {}
    if not isinstance(value, Mapping):
        raise refused(name, value, f"a mapping: {what}", error)
    try:
        items = {key: value[key] for key in value}
    except Exception:
        raise refused(name, value, f"a mapping: {what}, that can be listed", error) from None
    for key in items:
        if not isinstance(key, str):
            raise refused(name, key, f"a mapping: {what}, whose names are text", error)
    return items


def require_numbers(
    name: str,
    value: object,
    what: str,
    error: Kind = FlexarmError,
    *,
    units: Mapping[str, str] | None = None,
) -> dict[str, float]:
    """Return a mapping from names to finite numbers (empty for None), else raise an error.

    Text is converted to the unit that belongs to its name; numbers of other names are
    dimensionless.
    """
    items, units = require_mapping(name, value, what, error), units or {}
    return {
        key: require_number(f"{name}: {key}", number, error, unit=units.get(key, "1"))
        for key, number in items.items()
    }


def require_names(name: str, value: object, what: str) -> list[str]:
    """Return a list of strings; raise an error if the value is not a list of strings."""
    names = listed(value)
    if names is None or not all(isinstance(item, str) for item in names):
        raise refused(name, value, f"a list of {what}")
    return names


def listed(value: object) -> list[Any] | None:
    """Return the items of a sequence as a list; None for strings and other values."""
    try:
        return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else None
    except Exception:
        return None


def require_array(name: str, value: object, error: Kind = FlexarmError) -> "Array":
    """Return an array of finite numbers; raise an error if the value is not one."""
    import numpy as np

    try:
        array = np.asarray(value)
        finite = array.dtype.kind in "iuf" and bool(np.all(np.isfinite(array)))
        finite = finite and not np.ma.is_masked(value)
    except Exception:  # rows of different length, or any error of a foreign object
        finite = False
    if not finite:
        raise refused(name, value, "finite numbers", error)
    return array.astype(float)


def require_path(name: str, value: object, error: Kind = FlexarmError) -> Path:
    """Return the path of a file; raise an error if the value is not a path."""
    try:
        text = os.fspath(value)  # type: ignore[call-overload]
        possible = isinstance(text, str) and bool(text) and b"\0" not in os.fsencode(text)
    except Exception:
        possible = False
    if not possible:
        raise refused(name, value, "the path of a file", error)
    return Path(text)


def require_run_file(path: str | Path) -> None:
    """Raise an error if the file name of a run has the ending of another kind of file."""
    if require_path("path", path).suffix.lower() in OTHERS:
        raise FlexarmError(
            f"'{path}': runs are stored as NetCDF. Let the name end in .nc, or export "
            "the run (run.export, --export) to get a file of this kind."
        )


def require_kind(
    name: str, value: object, kinds: type | tuple[type, ...], what: str, error: Kind = FlexarmError
) -> None:
    """Raise an error unless a value is an instance of given types."""
    if not isinstance(value, kinds):
        raise refused(name, value, what, error)


def require_shaped(name: str, value: object, shape: tuple[int, ...]) -> "Array":
    """Return an array of finite numbers with a given shape; raise an error for any other value."""
    array = require_array(name, value)
    if array.shape != shape:
        size = " x ".join(map(str, shape))
        raise FlexarmError(f"{name}: must be {size} finite numbers, got shape {array.shape}")
    return array
