"""Arguments of the wrong kind are refused where users give them.

Every message says the name of the argument, what is expected and what it got.
"""

import math
import operator
import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from inspect import signature
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar

from flexarm.errors import FlexarmError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[np.float64]

P = ParamSpec("P")
T = TypeVar("T")
Kind = type[FlexarmError]
WithUnit = float | str  # a number in SI units, or text such as "5 ms"
# Names that editors and shells complete: those of METHODS and FORMULATIONS.
MethodName = Literal["auto", "etd4", "dop853", "rodas4", "rk4"]
FormulationName = Literal[
    "articulated", "composite", "gibbs-appell", "kinematic-influence", "lagrange",
    "element-jacobian", "recursive-lagrange",
]  # fmt: skip
LONGEST = 80  # characters of a value that a message shows
# Endings that a file of a run must not have.
OTHERS = (".csv", ".mat", ".xlsx", ".parquet", ".npz", ".html", ".json", ".yaml", ".png")


def renamed(
    meant: Mapping[str, str] | None = None, **names: str
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Let a function take arguments by old names too, old to new, with a warning.

    Where ``meant`` is given, an argument that the function does not have is answered by the one
    that is meant, wrong to right.
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        places = list(signature(function).parameters)

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            for old, new in names.items() if kwargs else ():
                if old not in kwargs:
                    continue
                value = kwargs.pop(old)
                given = new in kwargs or new in places[: len(args)]
                if given and value is not None:
                    raise FlexarmError(f"{old}: is the old name of '{new}': give one of them")
                told = f"{function.__name__}: '{old}' is '{new}' now"
                warnings.warn(told, DeprecationWarning, stacklevel=2)
                if not given:
                    kwargs[new] = value
            for wrong in kwargs if meant else ():
                if wrong not in places:
                    from difflib import get_close_matches

                    right = (meant or {}).get(wrong) or next(
                        iter(get_close_matches(wrong, places)), ""
                    )
                    hint = f"did you mean {right}=?" if right else f"there are {', '.join(places)}"
                    raise FlexarmError(f"{wrong}: is no argument of {function.__name__}: {hint}")
            return function(*args, **kwargs)

        return call

    return decorate


def refused(name: str, value: object, expected: str, error: Kind = FlexarmError) -> FlexarmError:
    """Make the error that refuses an argument."""
    return error(f"{name}: must be {expected}, got {shown(value)}")


def shown(value: object) -> str:
    """Show a value in a message; by its type if that is long, or cannot be done."""
    try:
        text = " ".join(repr(value).split())
    except Exception:
        text = ""
    return text if 0 < len(text) <= LONGEST else f"a value of type {type(value).__name__}"


def is_number(value: object, *, finite: bool = True) -> bool:
    """Tell whether a value is one real number; truth values are none."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    try:
        number = float(value)
    except Exception:  # beyond all floats, and what a foreign object raises
        return False
    return math.isfinite(number) if finite else not math.isnan(number)


def in_unit(name: str, value: object, unit: str, error: Kind = FlexarmError) -> Any:
    """Read text such as "5 ms" as a number in an SI unit, also in lists; the rest stays as it is.

    Of units apart by "|" the first that fits is taken: "rad/s|m/s".
    """
    if isinstance(value, list | tuple):
        return [in_unit(name, each, unit, error) for each in value]
    if not isinstance(value, str):
        return value
    from flexarm.units import quantity

    said: list[str] = []
    for each in unit.split("|"):
        try:
            return quantity(value, each)
        except FlexarmError as failure:
            said.append(str(failure))
    raise error(f"{name}: {said[0]}")


def require_number(
    name: str,
    value: object,
    error: Kind = FlexarmError,
    least: float = -math.inf,
    largest: float = math.inf,
    *,
    unit: str = "1",
) -> float:
    """Refuse what is no finite number in a range, or text with a unit, and give it as a float."""
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
    """Refuse what is no finite number > 0, or text with a unit, and give it as a float."""
    value = in_unit(name, value, unit, error)
    if not is_number(value) or float(value) <= 0:  # type: ignore[arg-type]
        raise refused(name, value, "> 0 and a finite number", error)
    return float(value)  # type: ignore[arg-type]


def require_count(
    name: str, value: object, least: int, error: Kind = FlexarmError, most: float = math.inf
) -> None:
    """Refuse what is no whole number from a least one on, up to a largest one if there is one."""
    try:
        whole = not isinstance(value, bool) and least <= operator.index(value) <= most  # type: ignore[arg-type]
    except Exception:  # no whole number, and what a foreign object raises
        whole = False
    if not whole:
        upper = "or more" if most == math.inf else f"to {most:,}"
        raise refused(name, value, f"a whole number, {least} {upper}", error)


def is_word(value: object, words: Iterable[str]) -> bool:
    """Tell whether a value is one of some words; of an array ``in`` would not."""
    return isinstance(value, str) and value in words


def require_word(
    name: str, value: object, words: Iterable[str], error: Kind = FlexarmError
) -> None:
    """Refuse what is none of some words."""
    known = list(words)
    if not is_word(value, known):
        raise refused(name, value, f"one of {', '.join(known)}", error)


def require_flag(name: str, value: object, error: Kind = FlexarmError) -> None:
    """Refuse what is neither true nor false."""
    if not isinstance(value, bool) and type(value).__name__ not in ("bool", "bool_"):
        raise refused(name, value, "True or False", error)


def require_function(name: str, value: object, what: str, error: Kind = FlexarmError) -> None:
    """Refuse what cannot be called, and is not None."""
    if value is not None and not callable(value):
        raise refused(name, value, f"a function {what}, or None", error)


def require_mapping(
    name: str, value: object, what: str, error: Kind = FlexarmError, *, optional: bool = True
) -> Mapping[str, Any]:
    """Refuse what is no mapping by names; None, where it may be that, gives an empty one."""
    if value is None and optional:
        return {}
    if not isinstance(value, Mapping):
        raise refused(name, value, f"a mapping: {what}", error)
    try:
        found = {key: value[key] for key in value}
    except Exception:
        raise refused(name, value, f"a mapping: {what}, that can be listed", error) from None
    for key in found:
        if not isinstance(key, str):
            raise refused(name, key, f"a mapping: {what}, whose names are text", error)
    return found


def require_numbers(
    name: str,
    value: object,
    what: str,
    error: Kind = FlexarmError,
    *,
    units: Mapping[str, str] | None = None,
) -> dict[str, float]:
    """Refuse what is no mapping from names to finite numbers, and is not None.

    Texts are read in units by name; those of other names are plain numbers.
    """
    found, units = require_mapping(name, value, what, error), units or {}
    return {
        key: require_number(f"{name}: {key}", each, error, unit=units.get(key, "1"))
        for key, each in found.items()
    }


def require_names(name: str, value: object, what: str) -> list[str]:
    """Refuse what is no list of texts."""
    found = listed(value)
    if found is None or not all(isinstance(each, str) for each in found):
        raise refused(name, value, f"a list of {what}")
    return found


def listed(value: object) -> list[Any] | None:
    """Give the items of a sequence that is no text, or None."""
    try:
        return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else None
    except Exception:
        return None


def require_array(name: str, value: object, error: Kind = FlexarmError) -> "Array":
    """Refuse what is no array of finite numbers, and give it as one."""
    import numpy as np

    try:
        found = np.asarray(value)
        numbers = found.dtype.kind in "iuf" and bool(np.all(np.isfinite(found)))
        numbers = numbers and not np.ma.is_masked(value)
    except Exception:  # rows of different length, and what a foreign object raises
        numbers = False
    if not numbers:
        raise refused(name, value, "finite numbers", error)
    return found.astype(float)


def require_path(name: str, value: object, error: Kind = FlexarmError) -> Path:
    """Refuse what names no file, and give it as a path."""
    try:
        text = os.fspath(value)  # type: ignore[call-overload]
        possible = isinstance(text, str) and bool(text) and b"\0" not in os.fsencode(text)
    except Exception:
        possible = False
    if not possible:
        raise refused(name, value, "the path of a file", error)
    return Path(text)


def require_run_file(path: str | Path) -> None:
    """Refuse to keep a run under the ending of another kind of file, which programs go by."""
    if require_path("path", path).suffix.lower() in OTHERS:
        raise FlexarmError(
            f"'{path}': runs are kept as NetCDF: end it in .nc, or export the run (run.export, "
            "--export) to get a file of this kind"
        )


def require_kind(
    name: str, value: object, kinds: type | tuple[type, ...], what: str, error: Kind = FlexarmError
) -> None:
    """Refuse what is of none of some kinds."""
    if not isinstance(value, kinds):
        raise refused(name, value, what, error)


def require_shaped(name: str, value: object, shape: tuple[int, ...]) -> "Array":
    """Refuse what is no array of finite numbers of a shape, and give it as one."""
    found = require_array(name, value)
    if found.shape != shape:
        size = " x ".join(str(each) for each in shape)
        raise FlexarmError(f"{name}: must be {size} finite numbers, got shape {found.shape}")
    return found
