"""What an arm stands on: a base at rest, one that is moved, or one that floats."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from flexarm.arm.forces import Wrench
from flexarm.arm.part import Body, Frame, Part, fault
from flexarm.arm.profile import AngleProfile, LengthProfile
from flexarm.units import AngularSpeed, Speed


class FixedBase(Frame):
    """A base at rest."""

    kind: Literal["fixed"] = "fixed"


class BaseMotion(Part):
    """How a base moves: profiles of its three coordinates [m] and angles [rad] (0 if left out).

    The base frame is at ``position + (x, y, z)``, turned from ``rotation`` by
    ``Rx(rx) Ry(ry) Rz(rz)``.
    """

    x: LengthProfile | None = None
    y: LengthProfile | None = None
    z: LengthProfile | None = None
    rx: AngleProfile | None = None
    ry: AngleProfile | None = None
    rz: AngleProfile | None = None


class MovedBase(Frame):
    """A base that moves as a given function of time."""

    kind: Literal["moved"]
    motion: BaseMotion


class FreeBase(Frame):
    """A floating base with its own body, velocity [m/s] and spin [rad/s] in the base frame."""

    kind: Literal["free"]
    body: Body
    velocity: tuple[Speed, Speed, Speed] = (0.0, 0.0, 0.0)
    spin: tuple[AngularSpeed, AngularSpeed, AngularSpeed] = (0.0, 0.0, 0.0)
    wrenches: tuple[Wrench, ...] = ()

    @model_validator(mode="after")
    def _has_mass(self) -> Self:
        if self.body.mass == 0:
            raise fault("a free base needs a mass", "body", "mass")
        return self


Base = Annotated[FixedBase | MovedBase | FreeBase, Field(discriminator="kind")]
