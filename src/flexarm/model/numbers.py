"""The numbers of a model that its equations depend on: in one vector, and as symbols."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property, partial
from types import BuiltinFunctionType, FunctionType, MappingProxyType, NoneType
from typing import Any

import casadi as ca
import numpy as np
from pydantic import BaseModel

from flexarm.arm import Arm, Link, MovedBase
from flexarm.arm.forces import Box
from flexarm.arm.joint import Actuated
from flexarm.arm.link import QuadraticShape
from flexarm.arm.servo import Stops
from flexarm.engine.numbers import Array, Ints, Number, Pattern
from flexarm.links.collocation import Collocation
from flexarm.links.growing.shapes import SlidingShapes
from flexarm.model.contents import unseen_fields, write
from flexarm.model.parts import Flexible, Model
from flexarm.model.points import ArmPoint
from flexarm.spatial import NO_INERTIA

_PLAIN = (NoneType, bool, int, str, bytes, slice, type, np.bool_, np.integer,
          FunctionType, BuiltinFunctionType)  # fmt: skip
# What equations take as it is, if at all: functions along a link, the places they are taken at.
_WHOLE = (SlidingShapes, QuadraticShape, ArmPoint, Box)
# Fields that equations hardly read, and take as they are.
_WHOLE_FIELDS: tuple[tuple[type, frozenset[str]], ...] = (
    (Arm, frozenset(Arm.model_fields) - {"base", "contacts", "springs"}),
    (Link, frozenset(Link.model_fields) - {"wrenches", "elastic_energy", "elastic_force"}),
    (Actuated, frozenset({"motion"})),
    (Flexible, frozenset({"span", "shapes", "points"})),
    (Collocation, frozenset({"edges", "series"})),
    (MovedBase, frozenset({"motion"})),
)
_CONSTANTS = frozenset({"restitution"})  # of stops: an equation is solved with it by numbers
KEPT = "_numbers"  # where a model keeps them
NUMBERS = "numbers"  # the last input of what is traced with symbols for them
Path = tuple[Any, ...]
Take = Callable[[Any, int, Path], Any]


class Whole:
    """A part of a model that equations take as it is: whoever reads it has it written down."""

    def __init__(self, value: Any, note: Callable[[], object]) -> None:
        vars(self).update(_value=value, _note=note)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """The class of the part, for `isinstance`."""
        self._note()
        return type(self._value)

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the part."""
        if name.startswith("__"):
            raise AttributeError(name)
        self._note()
        return getattr(self._value, name)

    def __array__(self, *how: Any, **more: Any) -> Array:
        """Become the array that it is: NumPy asks for it."""
        self._note()
        return np.array(self._value, *how, **more)

    def __len__(self) -> int:
        """Return the number of entries of the part."""
        self._note()
        return len(self._value)

    def __getitem__(self, key: Any) -> Any:
        """Return an entry of the part."""
        self._note()
        return self._value[key]


class _NumberWalk:
    """A walk through a model that takes its numbers, and makes a copy with others in their places.

    Parameters
    ----------
    take
        Takes a number, or an array of some, the group that it belongs to, which is a part of the
        model such as a link, and its path.  Returns what stands in its place.
    put
        Takes what else the model is, as bytes.
    note
        Takes the path of a part that is read as it is.
    """

    def __init__(self, take: Take, put: Callable[[bytes], object],
                 note: Callable[[Path], object]) -> None:  # fmt: skip
        self._take, self._put, self._note = take, put, note
        self._open: dict[int, Any] = {}  # copies under way, by object
        self._groups: dict[Path, int] = {}

    def read(self, value: Any, path: Path = (), *, whole: bool = False) -> Any:
        """Read a value at a path."""
        if isinstance(value, _PLAIN):
            write(value, self._put)
            return value
        if isinstance(value, tuple | list):
            self._put(b"(%d:" % len(value))
            found = [self.read(each, (*path, k), whole=whole) for k, each in enumerate(value)]
            return tuple(found) if isinstance(value, tuple) else found
        if isinstance(value, dict | MappingProxyType):
            self._put(b"{%a:" % (list(value),))
            return {k: self.read(each, (*path, k), whole=whole) for k, each in value.items()}
        if whole or isinstance(value, _WHOLE):
            self._put(b"whole;")
            return Whole(value, lambda: self._note(path))
        if isinstance(value, float | np.ndarray):
            return self._number(value, path)
        if isinstance(value, ca.SX | ca.DM):
            write(value, self._put)
            return value
        return self._object(value, path)

    def _number(self, value: Any, path: Path) -> Any:
        if isinstance(value, np.ndarray):
            self._put(b"%a%a:" % (value.dtype.kind in "fO", value.shape))
            if value.dtype.kind not in "fO":
                write(value, self._put)
                return value
        else:
            self._put(b"number;")
        return self._take(value, self._groups.setdefault(path[:2], len(self._groups)), path)

    def _object(self, value: Any, path: Path) -> Any:
        kind = type(value)
        if id(value) in self._open:
            self._put(b"again;")
            return self._open[id(value)]
        self._put(f"{kind.__module__}.{kind.__qualname__}:".encode())
        if isinstance(value, BaseModel):
            made: Any = value.model_copy()
            own, unseen = dict(value.__dict__), unseen_fields(value)
        else:
            made, unseen = object.__new__(kind), frozenset[str]()
            named = [each.name for each in fields(value)] if is_dataclass(value) else [*vars(value)]
            derived = [] if isinstance(value, Model) else _derived(kind)
            own = {name: getattr(value, name) for name in (*named, *derived)}
        self._open[id(value)] = made
        wholes = next((names for each, names in _WHOLE_FIELDS if isinstance(value, each)), ())
        parts = made.__dict__
        for name, part in own.items():
            if name in unseen:
                continue
            if isinstance(value, Stops) and name in _CONSTANTS:
                write(part, self._put)
                parts[name] = part
            else:
                parts[name] = self.read(part, (*path, name), whole=name in wholes)
        del self._open[id(value)]
        return made


_DERIVED: dict[type, list[str]] = {}


def _derived(kind: type) -> list[str]:
    """List what objects of a class compute of themselves once."""
    if kind not in _DERIVED:
        _DERIVED[kind] = [
            name
            for each in reversed(kind.__mro__)
            for name, value in vars(each).items()
            if isinstance(value, cached_property)
        ]
    return _DERIVED[kind]


@dataclass(frozen=True)
class ModelNumbers:
    """The numbers of a model that its equations depend on, and what else they depend on."""

    values: Array  # (n, 1)
    groups: Ints  # part of the model that each belongs to, (n,)
    rest: str  # a digest of all else: kinds, counts, names

    @classmethod
    def of(cls, model: Model) -> "ModelNumbers":
        """Read the numbers of a model."""
        digest, rows, groups = hashlib.sha256(), list[Array](), list[int]()

        def take(value: Any, group: int, path: Path) -> Any:
            rows.append(np.ravel(value))
            groups.extend([group] * len(rows[-1]))
            return value

        _NumberWalk(take, digest.update, lambda path: None).read(_bare(model))
        values = np.concatenate([np.zeros(0), *rows])[:, None]
        return cls(values, np.array(groups, dtype=np.int64),
                   digest.hexdigest())  # fmt: skip

    @cached_property
    def pattern(self) -> Pattern:
        """The pattern of a model's numbers."""
        return Pattern.of(self.values, self.groups)


def numbers_of(model: Model) -> ModelNumbers:
    """Return the numbers of a model, which are kept with it."""
    known = vars(model).get(KEPT)
    if known is None:
        known = vars(model)[KEPT] = ModelNumbers.of(model)
    return known


def common_pattern(models: Sequence[Model]) -> Pattern | None:
    """Return a pattern that holds for several models; None if they differ in more than numbers."""
    first, *others = (numbers_of(model) for model in models)
    if any(each.rest != first.rest for each in others):
        return None
    return Pattern.of(np.concatenate([first.values, *(e.values for e in others)], axis=1),
                      first.groups)  # fmt: skip


def opened(model: Model, pattern: Pattern) -> tuple[Model, set[Path]]:
    """Replace a model's numbers by symbols, as a pattern has them.

    Returns
    -------
    opened, read
        The model with ``symbols``, and the paths of parts that are read as they are, which grow
        while equations are traced.
    """
    symbols, read = ca.SX.sym(NUMBERS, len(pattern.first)), set[Path]()

    def plain(value: float, path: Path) -> float:
        read.add(path)
        return value

    every, place = pattern.opened(symbols), 0

    def take(value: Any, group: int, path: Path) -> Any:
        nonlocal place
        if not isinstance(value, np.ndarray):
            place += 1
            found = every[place - 1]
            return (
                found
                if isinstance(found, float)
                else Number(found.expr, partial(plain, value, path))
            )
        some = every[place : place + value.size]
        place += value.size
        kind = float if all(isinstance(each, float) for each in some) else object
        made = np.empty(value.size, dtype=kind)
        made[:] = some
        return made.reshape(value.shape)

    found = _NumberWalk(take, lambda piece: None, read.add).read(_bare(model))
    return replace(found, symbols=symbols), read


def _bare(model: Model) -> Model:
    """Return a model without the load that its equations take as an input."""
    return model.loaded(NO_INERTIA) if model.load_given else model


def part_at(model: Model, path: Path) -> Any:
    """Return a part of a model."""
    value: Any = model
    for step in path:
        inside = isinstance(value, tuple | list | dict | MappingProxyType)
        value = value[step] if inside else getattr(value, step)
    return value


def digest_at(model: Model, path: Path) -> str:
    """Digest a part of a model."""
    digest = hashlib.sha256()
    write(part_at(model, path), digest.update)
    return digest.hexdigest()
