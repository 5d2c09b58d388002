"""What every piece of an arm's description shares."""

import operator
import re
from collections.abc import Callable, Iterable
from typing import Annotated, Any, Self

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

from flexarm.units import Angle, Inertia, Length, Mass

# Control characters, line breaks, overrides of the text's direction, surrogates and characters that
# XML cannot hold.
CONTROL = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]"
)


def control_character(name: str) -> str:
    """Return why a name is refused for a control character, empty if it has none."""
    match = CONTROL.search(name)
    if match is None:
        return ""
    return f"must have no control characters, got U+{ord(match[0]):04X}: remove it"


def name_fault(name: str) -> str:
    """Return why a text cannot be the name of a link or joint, or of a shape; empty if it can."""
    if any(c.isspace() or c in ".[]=,:" for c in name):
        return "must be one word without . [ ] = , : (they build coordinate names)"
    return control_character(name)


def _checked(rule: Callable[[str], str]) -> AfterValidator:
    """Return the validator that refuses a text for the reason that a rule returns."""

    def check(text: str) -> str:
        if reason := rule(text):
            raise fault("{reason}", reason=reason)
        return text

    return AfterValidator(check)


def fault(message: str, *path: str | int, **values: Any) -> PydanticCustomError:
    """Make the error of a rule between fields, at the given path below the model that raises it."""
    return PydanticCustomError("rule", message, {"path": path, **values})


def require_signs(part: BaseModel, positive: Iterable[str], others: Iterable[str] = ()) -> None:
    """Refuse numbers that are not > 0, and others that are < 0; tables and None pass."""
    for names, least, wrong in ((others, ">= 0", operator.lt), (positive, "> 0", operator.le)):
        for name in names:
            value = getattr(part, name)
            if value is not None and not isinstance(value, BaseModel) and wrong(value, 0):
                raise fault(f"must be {least}", name)


SHOWN = 300  # characters of a piece that is printed
MAX_NAME = 60
Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME), _checked(name_fault)]
ONE_LINE = _checked(control_character)  # of the name of an arm or event, which may be several words
Number = Annotated[float, Field(strict=True)]
Flag = StrictBool
Count = Annotated[StrictInt, Field(ge=0, le=100)]
Vector = tuple[Length, Length, Length]
Angles = tuple[Angle, Angle, Angle]


def _unpickled(kind: Any, args: tuple[Any, ...]) -> BaseModel:
    """Make an empty piece of an arm, of a class with given units."""
    found = kind[args] if args else kind
    empty: BaseModel = found.__new__(found)
    return empty


class Part(BaseModel):
    """A frozen piece of an arm; unknown keys are errors.

    A piece that is made part of another, or validated again, is checked whole: copies with other
    values (``model_copy``) are not checked when they are made.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        revalidate_instances="always",
        defer_build=True,
    )

    def __reduce__(self) -> tuple[Any, ...]:
        """Be pickled: a class that was given its units is not found by name."""
        made = type(self).__pydantic_generic_metadata__
        given = (made["origin"], made["args"]) if made["origin"] else (type(self), ())
        return _unpickled, given, self.__getstate__()


class Terse(Part):
    """A piece that is shown in a line or two: without what is as by default, in its pieces too."""

    def __repr__(self) -> str:
        """Say what is given."""
        text = _terse(self)
        return text if len(text) <= SHOWN else f"{text[:SHOWN].rpartition(', ')[0]}, ..."

    __str__ = __repr__


def _terse(value: object) -> str:
    if not isinstance(value, BaseModel):
        return repr(value)
    fields = type(value).model_fields
    given = [(name, _terse(x)) for name, x in value if x != fields[name].default]
    told = ", ".join(f"{name}={text}" for name, text in given if not text.endswith("()"))
    return f"{type(value).__name__.partition('[')[0]}({told})"


class Frame(Part):
    """A frame B placed in a frame A.

    ``rotation`` holds the angles [rad] about A's fixed x, then y, then z axis:
    ``R_AB = Rz(c) Ry(b) Rx(a)``.
    """

    position: Vector = (0.0, 0.0, 0.0)
    rotation: Angles = (0.0, 0.0, 0.0)


class Body(Part):
    """A rigid body: mass [kg], centre of mass [m], inertia about it [kg m^2].

    ``inertia`` is ``[xx, yy, zz]`` or ``[xx, yy, zz, xy, xz, yz]``, the last three being the
    off-diagonal entries of the inertia matrix itself.
    """

    mass: Annotated[Mass, Field(ge=0)] = 0.0
    com: Vector = (0.0, 0.0, 0.0)
    inertia: (
        tuple[Inertia, Inertia, Inertia]
        | tuple[Inertia, Inertia, Inertia, Inertia, Inertia, Inertia]
    ) = (0.0, 0.0, 0.0)

    @field_validator("inertia", mode="before")
    @classmethod
    def _is_about_three_axes(cls, given: Any) -> Any:
        if isinstance(given, int | float | str):
            said = f"[{given}, {given}, {given}]"
            raise fault(
                "is [xx, yy, zz] about the centre of mass, of a ball {said}; what a motor adds is "
                "'rotor_inertia' of the joint's 'drive'", said=said,
            )  # fmt: skip
        return given

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
            raise fault("must be the inertia matrix of a body (no negative eigenvalue)", "inertia")
        return self
