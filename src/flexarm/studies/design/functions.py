"""Functions of Python that a study asks: found by name, and told from others by all they use."""

import builtins
import hashlib
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

from flexarm.errors import ModelError

PLAIN = (type(None), type(...), bool, int, float, complex, str, bytes)
PARTS = (tuple, list, dict, CodeType)  # which may be one object or equal ones


def imported(name: str, folder: Path) -> Any:
    """Find ``FILE.py:NAME`` beside the study file, or ``MODULE:NAME``."""
    place, _, attribute = name.rpartition(":")
    try:
        if place.endswith(".py"):
            path = folder / place
            scope: dict[str, Any] = {"__name__": path.stem, "__file__": str(path)}
            exec(compile(path.read_bytes(), str(path), "exec"), scope)
            found = scope[attribute]
        else:
            found = getattr(import_module(place), attribute)
    except Exception as error:  # whatever the user's file raises
        raise ModelError(f"'{name}' cannot be taken: {type(error).__name__}: {error}") from None
    if not callable(found):
        raise ModelError(f"'{name}' is no function")
    return found


def identity(function: Any, folder: Path) -> str:
    """Tell a function from others: a digest of the text or of the code and all that it holds.

    Parameters
    ----------
    function
        ``FILE.py:NAME`` or ``MODULE:NAME``, whose whole file counts, or the function itself.
    folder
        Where files lie.

    Raises
    ------
    ModelError
        If it holds what cannot be told from others of its kind, such as an open file.
    """
    if not isinstance(function, str):
        try:
            return hashlib.sha256("\n".join(_told(function, {})).encode()).hexdigest()
        except Exception as error:  # whatever foreign objects raise
            raise ModelError(f"{type(error).__name__}: {error}") from None
    place, _, attribute = function.rpartition(":")
    text = _text(folder / place) if place.endswith(".py") else _module(import_module(place))
    return f"{attribute} {text}"


def _text(path: str | Path) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def _module(module: ModuleType) -> str:
    """Tell a module by its file; those without are Python's own."""
    file = getattr(module, "__file__", None)
    return f"{module.__name__} {_text(file) if file else sys.version}"


def _told(value: Any, seen: dict[int, Any]) -> Iterator[str]:
    """Tell all that a value holds, part by part; what was told already by its place."""
    kind = type(value)
    if kind in PLAIN:
        yield repr(value)
        return
    yield kind.__qualname__
    if kind in (set, frozenset):
        yield from sorted(repr([*_told(each, {})]) for each in value)
        return
    if kind not in PARTS:
        if id(value) in seen:
            yield f"again {list(seen).index(id(value))}"
            return
        seen[id(value)] = value
    if isinstance(value, ModuleType):
        yield _module(value)
    elif isinstance(value, type | BuiltinFunctionType):
        yield _named(value)
    else:
        for part in _parts(value):
            yield from _told(part, seen)


def _named(value: Any) -> str:
    """Tell a class, or a function that is not of Python."""
    name = getattr(value, "__module__", None) or "builtins"
    if name == "__main__" and not hasattr(sys.modules[name], "__file__"):
        raise ModelError(f"{value.__qualname__} is in no file")
    return f"{value.__qualname__} {_module(sys.modules[name]) if name in sys.modules else name}"


def _parts(value: Any) -> list[Any]:
    """List what a value consists of."""
    if isinstance(value, FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        return [value.__code__, value.__defaults__, value.__kwdefaults__, *cells, *_used(value)]
    if isinstance(value, CodeType):
        return [value.co_code, value.co_names, *value.co_consts]
    if type(value) in PARTS:
        return [*value.items()] if isinstance(value, dict) else list(value)
    reduced = value.__reduce_ex__(4)
    if isinstance(reduced, str):
        return [type(value), reduced]
    return [list(each) if isinstance(each, Iterator) else each for each in reduced]


def _used(function: FunctionType) -> list[Any]:
    """List what a function uses of its module: all of a file, or what it names in a program."""
    module = sys.modules.get(function.__module__)
    if module is not None and module.__name__ != "__main__" and hasattr(module, "__file__"):
        return [module]
    return [(name, function.__globals__.get(name, getattr(builtins, name, None)))
            for name in sorted(_names(function.__code__))]  # fmt: skip


def _names(code: CodeType) -> set[str]:
    inner = (each for each in code.co_consts if isinstance(each, CodeType))
    return set(code.co_names).union(*map(_names, inner))
