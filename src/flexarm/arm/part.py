"""Base classes, field types and validation functions of the data classes of an arm."""

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from flexarm.arm.constants import NAME_LENGTH, REPR_LENGTH
from flexarm.units import Angle, Inertia, Length, Mass

# Characters that names may not contain: control characters, line breaks, overrides of the text
# direction, surrogates and characters that XML does not permit.
CONTROL = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]"
)

# Message for an invalid single value, by the type of pydantic's error.
SENTENCES = {
    "greater_than": "must be > {gt:g}",
    "greater_than_equal": "must be >= {ge:g}",
    "less_than": "must be < {lt:g}",
    "less_than_equal": "must be <= {le:g}",
    "finite_number": "must be a finite number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_parsing_size": "must be a smaller number",
    "int_from_float": "must be a whole number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "string_type": "must be text",
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
    "string_pattern_mismatch": "must match the pattern {pattern}",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "dict_type": "must be a mapping",
    "mapping_type": "must be a mapping",
    "model_type": "must be a mapping",
    "model_attributes_type": "must be a mapping",
    "too_short": "must have at least {min_length} items",
    "too_long": "must have at most {max_length} items",
}


def control_character(name: str) -> str:
    """Return the reason to refuse a name with a control character, or "" if it has none."""
    match = CONTROL.search(name)
    if match is None:
        return ""
    return f"must have no control characters, got U+{ord(match[0]):04X}. Remove it."


def name_fault(name: str) -> str:
    """Return the reason why a text is no valid name of a link, joint or shape, or ""."""
    if any(c.isspace() or c in ".[]=,:" for c in name):
        return "must be one word without . [ ] = , : (they structure coordinate names)"
    return control_character(name)


def _without_fault(rule: Callable[[str], str], text: str) -> str:
    """Return a text unchanged; raise a validation error if ``rule`` returns a reason against it."""
    if reason := rule(text):
        raise fault("{reason}", reason=reason)
    return text


def fault(message: str, *path: str | int, **values: Any) -> PydanticCustomError:
    """Return a validation error about several fields of a part.

    ``path`` leads from the part to the field at which the error is reported.
    """
    return PydanticCustomError("rule", message, {"path": path, **values})


def require_increasing(values: Sequence[float], name: str, than: str) -> None:
    """Raise a validation error at the first value of a field that is not above the one before."""
    for i in range(1, len(values)):
        if values[i] <= values[i - 1]:
            raise fault(f"must be {than} before it", name, i)


def require_table(part: BaseModel, places: str, values: str, than: str) -> None:
    """Raise an error unless one field is an increasing list and another has as many entries."""
    positions, column = getattr(part, places), getattr(part, values)
    require_increasing(positions, places, than)
    if len(positions) != len(column):
        raise fault("there are {count} {values} for {entries} {places}. Give one of the {values} "
                    "for each of the {places}.", values,
                    count=len(column), values=values, entries=len(positions),
                    places=places)  # fmt: skip


def require_one(part: BaseModel, names: Sequence[str], message: str, place: str = "") -> None:
    """Raise a validation error unless exactly one of several optional fields is given."""
    if sum(getattr(part, name) is not None for name in names) != 1:
        raise fault(message, *filter(None, [place]))


def require_distinct(names: Sequence[str], key: str, *below: str) -> None:
    """Raise a validation error at the first list item that has the name of an earlier item."""
    for i, name in enumerate(names):
        if name in names[:i]:
            raise fault(
                "the name '{name}' is used twice. Names must differ.",
                key,
                i,
                *below,
                "name",
                name=name,
            )


Name = Annotated[
    str,
    Field(min_length=1, max_length=NAME_LENGTH),
    AfterValidator(partial(_without_fault, name_fault)),
]
# Validator for names of arms and events, which may have several words.
ONE_LINE = AfterValidator(partial(_without_fault, control_character))
T = TypeVar("T")
Positive = Annotated[T, Field(gt=0)]
NotNegative = Annotated[T, Field(ge=0)]
Number = Annotated[float, Field(strict=True)]
Flag = StrictBool
Count = Annotated[StrictInt, Field(ge=0, le=100)]
Vector = tuple[Length, Length, Length]
Angles = tuple[Angle, Angle, Angle]


def _unpickled(kind: Any, args: tuple[Any, ...]) -> BaseModel:
    """Return an empty instance of a class, for unpickling, which then sets its fields.

    ``args`` are the units of a generic class.
    """
    cls = kind[args] if args else kind
    instance: BaseModel = cls.__new__(cls)
    return instance


class Part(BaseModel):
    """Base class of the parts of an arm in a model file: immutable; unknown keys are errors.

    A part is validated again when it becomes a field of another part. Copies by ``model_copy`` are
    not validated until then.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        revalidate_instances="always",
        defer_build=True,
    )

    def __reduce__(self) -> tuple[Any, ...]:
        """Return data for pickling, in which a generic class and its units are separate."""
        generic = type(self).__pydantic_generic_metadata__
        kind = (generic["origin"], generic["args"]) if generic["origin"] else (type(self), ())
        return _unpickled, kind, self.__getstate__()


class Terse(Part):
    """Base class of parts whose printed form omits fields with default values."""

    def __repr__(self) -> str:
        """Return the class name and the fields that differ from their defaults, as short text."""
        text = _terse(self)
        fits = len(text) <= REPR_LENGTH
        return text if fits else f"{text[:REPR_LENGTH].rpartition(', ')[0]}, ..."

    __str__ = __repr__


def _terse(value: object) -> str:
    if not isinstance(value, BaseModel):
        return repr(value)
    fields = type(value).model_fields
    texts = [(name, _terse(x)) for name, x in value if x != fields[name].default]
    arguments = ", ".join(f"{name}={text}" for name, text in texts if not text.endswith("()"))
    return f"{type(value).__name__.partition('[')[0]}({arguments})"


class Frame(Part):
    """Pose of a frame in another frame: position [m] and rotation [rad].

    ``rotation`` contains the angles a, b, c [rad] about the fixed x, then y, then z axis of the
    other frame: the rotation matrix is ``Rz(c) Ry(b) Rx(a)``.
    """

    position: Vector = (0.0, 0.0, 0.0)
    rotation: Angles = (0.0, 0.0, 0.0)


class Body(Part):
    """A rigid body: mass [kg], centre of mass [m], inertia about the centre of mass [kg m^2].

    ``inertia`` is ``[xx, yy, zz]`` or ``[xx, yy, zz, xy, xz, yz]``; xy, xz and yz are the
    off-diagonal entries of the inertia matrix, with their sign.
    """

    mass: NotNegative[Mass] = 0.0
    com: Vector = (0.0, 0.0, 0.0)
    inertia: (
        tuple[Inertia, Inertia, Inertia]
        | tuple[Inertia, Inertia, Inertia, Inertia, Inertia, Inertia]
    ) = (0.0, 0.0, 0.0)

    @field_validator("inertia", mode="before")
    @classmethod
    def _is_about_three_axes(cls, value: Any) -> Any:
        if isinstance(value, int | float | str):
            raise fault(
                "an inertia is [xx, yy, zz] about the centre of mass, {ball} for a ball. For "
                "the inertia of a motor use 'rotor_inertia' of the joint's 'drive'.",
                ball=f"[{value}, {value}, {value}]",
            )
        return value

    @model_validator(mode="after")
    def _inertia_is_physical(self) -> Self:
        size = max(abs(value) for value in self.inertia) or 1.0
        xx, yy, zz, xy, xz, yz = (*(value / size for value in self.inertia), 0.0, 0.0, 0.0)[:6]
        minors = (
            xx * yy - xy * xy,
            xx * zz - xz * xz,
            yy * zz - yz * yz,
            xx * (yy * zz - yz * yz) - xy * (xy * zz - yz * xz) + xz * (xy * yz - yy * xz),
        )
        if min(xx, yy, zz) < 0 or min(minors) < -1e-12:
            raise fault(
                "the inertia must be that of a body, a matrix without negative eigenvalues",
                "inertia",
            )
        return self
