"""Numbers of a model as a vector or as symbols; digests of models; read-only arrays."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache, cached_property, partial
from types import BuiltinFunctionType, FunctionType, MappingProxyType, NoneType
from typing import Any

import casadi as ca
import numpy as np
from pydantic import BaseModel

from flexarm.arm import Arm, Link, MovedBase
from flexarm.arm.forces import Box
from flexarm.arm.joint import Actuated, Placed
from flexarm.arm.link import QuadraticShape
from flexarm.arm.servo import Servo, Stops
from flexarm.constants import ROUNDING
from flexarm.engine.constants import EQUAL_NUMBERS
from flexarm.engine.numbers import Array, Ints, Number, Pattern
from flexarm.links.collocation import Collocation
from flexarm.links.growing.shapes import SlidingShapes
from flexarm.model.parts import Flexible, Model
from flexarm.model.points import ArmPoint
from flexarm.spatial import NO_INERTIA

Put = Callable[[bytes], object]
# Fields of a model file that no equation depends on: names, start values, inputs and events.
NOT_IN_EQUATIONS: tuple[tuple[type | tuple[type, ...], frozenset[str]], ...] = (
    (Arm, frozenset({"name", "notes", "events", "bodies", "start"})),
    (Link, frozenset({"start", "start_speed", "start_curve"})),
    ((Placed, Actuated), frozenset({"start", "input"})),
    (Servo, frozenset({"target"})),
)
_UNCHANGED = frozenset({NoneType, bool, int, float, str})
_field_names: Callable[[type], tuple[str, ...]] = cache(
    lambda kind: tuple(member.name for member in fields(kind))
)
# Names of all cached properties of a class and its base classes.
_derived_names: Callable[[type], tuple[str, ...]] = cache(
    lambda kind: tuple(
        name
        for cls in reversed(kind.__mro__)
        for name, value in vars(cls).items()
        if isinstance(value, cached_property)
    )
)
_BY_TEXT = (np.generic, slice, ca.SX, ca.MX, ca.DM)


def freeze(value: Any) -> None:
    """Protect all arrays of a dataclass, and of nested dataclasses, against writing."""
    for array in _arrays(value):
        array.flags.writeable = False


def is_frozen(value: Any) -> bool:
    """Return whether all arrays of a dataclass, including nested ones, are read-only."""
    return not any(array.flags.writeable for array in _arrays(value))


def _arrays(value: Any) -> Iterator[np.ndarray[Any, Any]]:
    todo, visited = [value], set[int]()
    while todo:
        item = todo.pop()
        if type(item) in _UNCHANGED or id(item) in visited:
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
    """Return the field names of a model-file object that have no influence on the equations."""
    return next(
        (names for classes, names in NOT_IN_EQUATIONS if isinstance(value, classes)), frozenset()
    )


def write(value: Any, put: Put) -> None:
    """Serialise all content of a value on which equations depend, identically in every process.

    Parameters
    ----------
    value
        Numbers, texts, arrays, pydantic models, symbols, or sequences, mappings, dataclasses and
        other objects that contain them. Functions are serialised by name.
    put
        Function that receives each piece of the serialised bytes.
    """
    kind = type(value)
    if kind in _UNCHANGED:
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
        # Fields are written one by one, because pydantic's serialisers are slow to build on first
        # use.
        unseen = unseen_fields(value)
        write({k: entry for k, entry in value.__dict__.items() if k not in unseen}, put)
    elif isinstance(value, FunctionType | BuiltinFunctionType):
        put(f"{value.__module__}.{value.__qualname__};".encode())
    else:
        put(f"{kind.__module__}.{kind.__qualname__}:".encode())
        if isinstance(value, _BY_TEXT):
            put(b"%a;" % (value,))
        elif is_dataclass(value):
            for name in _field_names(kind):
                write(getattr(value, name), put)
        else:
            write(value.__getstate__(), put)


_PLAIN = (NoneType, bool, int, str, bytes, slice, type, np.bool_, np.integer,
          FunctionType, BuiltinFunctionType)  # fmt: skip
# Types that are constants in symbolic equations: functions along a link, points of evaluation.
_NUMBERS, _SEQUENCES, _MAPPINGS = (float, np.ndarray), (tuple, list), (dict, MappingProxyType)
_WHOLE = (SlidingShapes, QuadraticShape, ArmPoint, Box)
# Fields that few equations contain; they are constants in symbolic equations.
_WHOLE_FIELDS: tuple[tuple[type, frozenset[str]], ...] = (
    (Arm, frozenset(Arm.model_fields) - {"base", "contacts", "springs"}),
    (Link, frozenset(Link.model_fields) - {"wrenches", "elastic_energy", "elastic_force"}),
    (Actuated, frozenset({"motion"})),
    (Flexible, frozenset({"span", "shapes", "points"})),
    (Collocation, frozenset({"curves"})),
    (MovedBase, frozenset({"motion"})),
)
# Restitution of stops: a numerical root search needs its value.
_CONSTANTS = frozenset({"restitution"})
KEPT = "_numbers"  # attribute of a model that holds its cached numbers
NUMBERS = "numbers"  # name of the last input of CasADi functions of a model with symbols
Path = tuple[Any, ...]


class Whole:
    """Proxy of a part of a model that is constant in equations; accesses to it are recorded."""

    def __init__(self, value: Any, note: Callable[[], object]) -> None:
        vars(self).update(_value=value, _note=note)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """Class of the represented part, for `isinstance`; the access is recorded."""
        self._note()
        return type(self._value)

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the represented part and record the access."""
        if name.startswith("__"):
            raise AttributeError(name)
        self._note()
        return getattr(self._value, name)

    def __array__(self, *args: Any, **options: Any) -> Array:
        """Return the represented part as a NumPy array and record the access."""
        self._note()
        return np.array(self._value, *args, **options)

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Call the represented part and record the access."""
        self._note()
        return self._value(*args, **options)

    def __len__(self) -> int:
        """Return the number of entries of the represented part and record the access."""
        self._note()
        return len(self._value)

    def __getitem__(self, key: Any) -> Any:
        """Return an entry of the represented part and record the access."""
        self._note()
        return self._value[key]


@dataclass(frozen=True)
class _NumberWalk:
    """Traversal of a model that returns a copy of it with other numbers."""

    # Function of a number or array, the index of its group (a part of the model such as a link) and
    # its path. The function returns the replacement.
    take: Callable[[Any, int, Path], Any]
    put: Put  # function that receives all other content of the model, serialised to bytes
    # Function that receives the path of a part whenever the part is read as a constant.
    note: Callable[[Path], object]
    unfinished: dict[int, Any] = field(default_factory=dict)  # unfinished copies, by object id
    groups: dict[Path, int] = field(default_factory=dict)

    def read(self, value: Any, path: Path = (), *, whole: bool = False) -> Any:
        """Return a copy of a model part with its numbers replaced by the function ``take``.

        Parameters
        ----------
        value
            The part.
        path
            Attribute names, keys and indices that lead from the model to the part.
        whole
            Whether the part is a constant in the equations instead of being traversed.
        """
        if not whole and isinstance(value, _NUMBERS):
            is_real = not isinstance(value, np.ndarray) or value.dtype.kind in "fO"
            shape = b"%a%a:" % (is_real, value.shape) if isinstance(value, np.ndarray) else None
            self.put(shape or b"number;")
            if is_real:
                return self.take(value, self.groups.setdefault(path[:2], len(self.groups)), path)
            write(value, self.put)
            return value
        if isinstance(value, _PLAIN):
            write(value, self.put)
            return value
        if isinstance(value, _SEQUENCES):
            self.put(b"(%d:" % len(value))
            entries = [self.read(entry, (*path, k), whole=whole) for k, entry in enumerate(value)]
            return tuple(entries) if isinstance(value, tuple) else entries
        if isinstance(value, _MAPPINGS):
            self.put(b"{%a:" % (list(value),))
            return {k: self.read(entry, (*path, k), whole=whole) for k, entry in value.items()}
        if whole or isinstance(value, _WHOLE):
            self.put(b"whole;")
            return Whole(value, lambda: self.note(path))
        if isinstance(value, ca.SX | ca.DM):
            write(value, self.put)
            return value
        return self._object(value, path)

    def _object(self, value: Any, path: Path) -> Any:
        kind = type(value)
        if id(value) in self.unfinished:
            self.put(b"again;")
            return self.unfinished[id(value)]
        self.put(f"{kind.__module__}.{kind.__qualname__}:".encode())
        if isinstance(value, BaseModel):
            replacement: Any = value.model_copy()
            contents, unseen = dict(value.__dict__), unseen_fields(value)
        else:
            replacement, unseen = object.__new__(kind), frozenset[str]()
            field_names = _field_names(kind) if is_dataclass(value) else [*vars(value)]
            derived = () if isinstance(value, Model) else _derived_names(kind)
            contents = {name: getattr(value, name) for name in (*field_names, *derived)}
        self.unfinished[id(value)] = replacement
        constants = next((names for entry, names in _WHOLE_FIELDS if isinstance(value, entry)), ())
        parts = replacement.__dict__
        for name, part in contents.items():
            if name in unseen:
                continue
            if isinstance(value, Stops) and name in _CONSTANTS:
                write(part, self.put)
                parts[name] = part
            else:
                parts[name] = self.read(part, (*path, name), whole=name in constants)
        del self.unfinished[id(value)]
        return replacement


@dataclass(frozen=True)
class ModelNumbers:
    """Numbers of a model, and a digest of all other content on which its equations depend."""

    values: Array  # numbers of the model, (n, 1)
    groups: Ints  # index of the model part that contains each number, (n,)
    # Relative difference up to which a number counts as equal to another one, (n,): rotations by
    # 90 deg and by 1.5708 rad differ, integrals that are equal in theory do not.
    tolerance: Array
    rest: str  # digest of all other content: types, counts, names

    @classmethod
    def of(cls, model: Model) -> "ModelNumbers":
        """Collect all numbers of a model on which its equations depend."""
        digest, rows, groups = hashlib.sha256(), list[Array](), list[int]()
        tolerance = list[float]()

        def take(value: Any, group: int, path: Path) -> Any:
            rows.append(np.ravel(value))
            groups.extend([group] * len(rows[-1]))
            tolerance.extend(
                [ROUNDING if path[-1] == "rotation" else EQUAL_NUMBERS] * len(rows[-1])
            )
            return value

        _NumberWalk(take, digest.update, lambda path: None).read(_bare(model))
        values = np.concatenate([np.zeros(0), *rows])[:, None]
        return cls(
            values, np.array(groups, dtype=np.int64), np.array(tolerance), digest.hexdigest()
        )

    @cached_property
    def pattern(self) -> Pattern:
        """Pattern of the model's numbers: constants, and groups of equal or opposite numbers."""
        return Pattern.of(self.values, self.groups, self.tolerance)


def numbers_of(model: Model) -> ModelNumbers:
    """Return the numbers of a model on which its equations depend; they are cached on the model."""
    numbers = vars(model).get(KEPT)
    if numbers is None:
        numbers = vars(model)[KEPT] = ModelNumbers.of(model)
    return numbers


def common_pattern(models: Sequence[Model]) -> Pattern | None:
    """Return the pattern of constant, equal and opposite numbers common to several models.

    Return None if the models differ in more than the values of their numbers.
    """
    first, *rest = (numbers_of(model) for model in models)
    if any(other.rest != first.rest for other in rest):
        return None
    return Pattern.of(np.concatenate([first.values, *(other.values for other in rest)], axis=1),
                      first.groups, first.tolerance)  # fmt: skip


def opened(model: Model, pattern: Pattern) -> tuple[Model, set[Path]]:
    """Replace a model's numbers by CasADi symbols, except the constants of a pattern.

    Returns
    -------
    opened, read
        The model with its ``symbols``, and a set with the paths of parts that were read as
        constants. The set grows while equations are built from the model.
    """
    symbols, read = ca.SX.sym(NUMBERS, len(pattern.first)), set[Path]()

    def read_constant(value: float, path: Path) -> float:
        read.add(path)
        return value

    replacements, position = pattern.opened(symbols), 0

    def take(value: Any, group: int, path: Path) -> Any:
        nonlocal position
        if not isinstance(value, np.ndarray):
            position += 1
            replacement = replacements[position - 1]
            return (
                replacement
                if isinstance(replacement, float)
                else Number(replacement.expr, partial(read_constant, value, path))
            )
        entries = replacements[position : position + value.size]
        position += value.size
        kind = float if all(isinstance(entry, float) for entry in entries) else object
        array = np.empty(value.size, dtype=kind)
        array[:] = entries
        return array.reshape(value.shape)

    symbolic = _NumberWalk(take, lambda piece: None, read.add).read(_bare(model))
    return replace(symbolic, symbols=symbols), read


def _bare(model: Model) -> Model:
    """Return a model without its tip load if the tip load is an input of the equations."""
    return model.loaded(NO_INERTIA) if model.load_given else model


def part_at(model: Model, path: Path) -> Any:
    """Return the part of a model at a path of attribute names, keys and indices."""
    value: Any = model
    for step in path:
        inside = isinstance(value, tuple | list | dict | MappingProxyType)
        value = value[step] if inside else getattr(value, step)
    return value


def digest_at(model: Model, path: Path) -> str:
    """Compute the SHA-256 digest, in hexadecimal, of the part of a model at a path."""
    digest = hashlib.sha256()
    write(part_at(model, path), digest.update)
    return digest.hexdigest()
