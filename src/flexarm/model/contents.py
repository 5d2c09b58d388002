"""Traversal of a model's contents, to make arrays read-only and to serialise them for a digest."""

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from types import BuiltinFunctionType, FunctionType, MappingProxyType, NoneType
from typing import Any

import casadi as ca
import numpy as np
from pydantic import BaseModel

from flexarm.arm import Arm, Link
from flexarm.arm.joint import Actuated, Placed
from flexarm.arm.servo import Servo

Put = Callable[[bytes], object]
# Fields of a model file that no equation depends on: names, start values, inputs and events.
NOT_IN_EQUATIONS: tuple[tuple[type | tuple[type, ...], frozenset[str]], ...] = (
    (Arm, frozenset({"name", "notes", "events", "bodies", "start"})),
    (Link, frozenset({"start", "start_speed", "start_curve"})),
    ((Placed, Actuated), frozenset({"start", "input"})),
    (Servo, frozenset({"target"})),
)
_PLAIN = frozenset({NoneType, bool, int, float, str})
_field_names: Callable[[type], tuple[str, ...]] = cache(
    lambda kind: tuple(field.name for field in fields(kind))
)
_BY_TEXT = (np.generic, slice, ca.SX, ca.MX, ca.DM)


def freeze(value: Any) -> None:
    """Set all arrays of a dataclass read-only, including the arrays of nested dataclasses."""
    for array in _arrays(value):
        array.flags.writeable = False


def is_frozen(value: Any) -> bool:
    """Return whether all arrays of a dataclass, including nested ones, are read-only."""
    return not any(array.flags.writeable for array in _arrays(value))


def _arrays(value: Any) -> Iterator[np.ndarray[Any, Any]]:
    todo, visited = [value], set[int]()
    while todo:
        item = todo.pop()
        if type(item) in _PLAIN or id(item) in visited:
            continue
        visited.add(id(item))
        if isinstance(item, np.ndarray):
            yield item
        elif isinstance(item, tuple | list):
            todo.extend(item)
        elif isinstance(item, dict | MappingProxyType):
            todo.extend(item.values())
        elif is_dataclass(item):
            todo.extend(getattr(item, name) for name in _field_names(type(item)))


def unseen_fields(value: BaseModel) -> frozenset[str]:
    """Return the names of the fields of a model-file object that no equation depends on."""
    return next(
        (names for classes, names in NOT_IN_EQUATIONS if isinstance(value, classes)), frozenset()
    )


def write(value: Any, put: Put) -> None:
    """Serialise the content of a value on which equations depend, identically in every process.

    Parameters
    ----------
    value
        Numbers, texts, arrays, pydantic models, symbols, or sequences, mappings, dataclasses and
        other objects that contain them.  Functions are serialised by name.
    put
        Function that receives each piece of the serialised bytes.
    """
    kind = type(value)
    if kind in _PLAIN:
        put(b"%a;" % (value,))
    elif kind is np.ndarray:
        put(b"%a%a:" % (value.dtype.str, value.shape))
        put(value.tobytes())
    elif kind in (tuple, list):
        put(b"(%d:" % len(value))
        for entry in value:
            write(entry, put)
    elif isinstance(value, dict | MappingProxyType):
        put(b"{%d:" % len(value))
        for key, entry in value.items():
            put(b"%a=" % (key,))
            write(entry, put)
    elif isinstance(value, BaseModel):
        # Field by field, since pydantic builds a slow serialiser per class on first use.
        unseen = unseen_fields(value)
        write({k: entry for k, entry in value.__dict__.items() if k not in unseen}, put)
    else:
        _write_object(value, put)


def _write_object(value: Any, put: Put) -> None:
    if isinstance(value, FunctionType | BuiltinFunctionType):
        put(f"{value.__module__}.{value.__qualname__};".encode())
        return
    kind = type(value)
    put(f"{kind.__module__}.{kind.__qualname__}:".encode())
    if isinstance(value, _BY_TEXT):
        put(b"%a;" % (value,))
    elif is_dataclass(value):
        for name in _field_names(kind):
            write(getattr(value, name), put)
    else:
        write(value.__getstate__(), put)
