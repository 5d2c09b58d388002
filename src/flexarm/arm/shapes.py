"""Choice of the shape functions of a flexible link in a model file.

The package `flexarm.links` computes the shape functions.
"""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from flexarm.arm.constants import MOST_AMPLITUDES
from flexarm.arm.part import Count, Flag, NotNegative, Part, fault
from flexarm.arm.side_files import BesideModel
from flexarm.units import Angle, Inertia, Length, Mass

Automatic = Literal["auto"]
Normalise = Literal["tip", "mass", "none"]


class Counted(Part):
    """Number of shapes in each direction; ``auto`` means by rule, whose result `check` prints.

    ``static: true`` adds, in every direction, the static shapes under tip forces and moments.
    """

    bending_y: Count | Automatic = "auto"
    bending_z: Count | Automatic = "auto"
    torsion: Count | Automatic = "auto"
    stretch: Count | Automatic = "auto"
    normalise: Normalise = "tip"
    static: Flag = False

    @model_validator(mode="after")
    def _not_too_many(self) -> Self:
        amplitudes = self._amplitudes()
        if sum(amplitudes.values()) > MOST_AMPLITUDES:
            raise fault(
                "the counts of shapes make {total} amplitudes of this link together, and at "
                "most {most} are possible. Take fewer.",
                max(amplitudes, key=lambda name: amplitudes[name]),
                total=sum(amplitudes.values()),
                most=MOST_AMPLITUDES,
            )
        return self

    def _amplitudes(self) -> dict[str, int]:
        """Return the number of amplitudes by direction; 0 for ``auto``."""
        names = ("bending_y", "bending_z", "torsion", "stretch")
        counts = {name: getattr(self, name) for name in names}
        return {name: 0 if count == "auto" else count for name, count in counts.items()}


class ArmModes(Counted):
    """Shapes from the link's deflections in the arm's modes at the start (the default)."""

    kind: Literal["arm-modes"] = "arm-modes"


class Loaded(Counted):
    """Modes of the link with the inertia at its root and tip.

    ``root`` is the boundary condition at the joint: ``free`` (hub inertia alone), ``geared`` (hub
    and reflected rotor), ``held`` (position-controlled or locked); ``auto`` follows the joint.
    """

    kind: Literal["loaded"] = "loaded"
    root: Literal["auto", "free", "geared", "held"] = "auto"


class ClampedFree(Counted):
    """Clamped-free modes of the link without other bodies."""

    kind: Literal["clamped-free"]


class TipLoad(Part):
    """Body at the tip as boundary condition: mass, inertia about the tip, offset beyond the tip."""

    mass: NotNegative[Mass] = 0.0
    inertia: NotNegative[Inertia] = 0.0
    offset: Length = 0.0

    @model_validator(mode="after")
    def _inertia_covers_offset(self) -> Self:
        if self.mass * self.offset * self.offset > self.inertia * (1 + 1e-12):
            raise fault(
                "the tip inertia is less than mass x offset^2. Give it about the tip of the "
                "link, not about the body's centre.",
                "inertia",
            )
        return self


class ClampedMass(Counted):
    """Clamped modes with a tip body; by default (``auto``) the outboard arm at ``configuration``.

    ``configuration`` gives angles of outboard joints by joint name; omitted angles are 0. With
    ``follow: true`` the shapes of a sliding link are recomputed for each exposed length.
    """

    kind: Literal["clamped-mass"]
    tip: TipLoad | Automatic = "auto"
    configuration: dict[str, Angle] = {}
    follow: Flag = False


class PinnedFree(Counted):
    """Pinned-free modes, with a slope at the root, so that the hub rotates with the bent link."""

    kind: Literal["pinned-free"]


class PinnedPinned(Counted):
    """Pinned-pinned modes: the x axis is the chord from joint to tip."""

    kind: Literal["pinned-pinned"]


class FreeFree(Counted):
    """Free-free modes with the rigid-body part removed, so that the root stays at the joint."""

    kind: Literal["free-free"]


class Elements(Counted):
    """Finite elements: counts are numbers of elements; ``reduce`` is the number of modes used."""

    kind: Literal["elements"]
    reduce: Annotated[Count, Field(ge=1)] | None = None

    def _amplitudes(self) -> dict[str, int]:
        """Return the number of amplitudes by direction: two per element in bending, else one."""
        counts = super()._amplitudes()
        if self.reduce is not None:
            return {name: min(count, self.reduce) for name, count in counts.items()}
        return {name: count * (1 + name.startswith("bending")) for name, count in counts.items()}


class CraigBampton(Counted):
    """Craig-Bampton shapes: static shapes of unit tip motions, and fixed-interface modes."""

    kind: Literal["craig-bampton"]


class Polynomials(Counted):
    """Polynomials clamped at the root, combined into modes.

    The n shapes have degrees 2 to n + 1 in bending, and 1 to n in torsion and stretch.
    """

    kind: Literal["polynomials"]


class Lumped(Counted):
    """Rigid pieces connected by springs; counts are numbers of springs."""

    kind: Literal["lumped"]


class Tabulated(BesideModel):
    """Shapes, mass and stiffness from measurements or another program."""

    kind: Literal["table"]


class ModalBody(BesideModel):
    """A flexible body of any shape, given by modes that a finite-element program computed."""

    kind: Literal["modal"]


ShapeChoice = Annotated[
    ArmModes
    | Loaded
    | ClampedFree
    | ClampedMass
    | PinnedFree
    | PinnedPinned
    | FreeFree
    | Elements
    | CraigBampton
    | Polynomials
    | Lumped
    | Tabulated,
    Field(discriminator="kind"),
]


class StartCurve(Part):
    """Initial deflections [m] and twist [rad] of a link at stations along its span."""

    stations: Annotated[tuple[Length, ...], Field(min_length=2, max_length=2000)]
    y: Annotated[tuple[Length, ...], Field(max_length=2000)] | None = None
    z: Annotated[tuple[Length, ...], Field(max_length=2000)] | None = None
    twist: Annotated[tuple[Angle, ...], Field(max_length=2000)] | None = None

    @property
    def given(self) -> dict[Literal["y", "z", "twist"], tuple[float, ...]]:
        """Values at the stations, by direction; directions that the model file omits are absent."""
        columns: dict[Literal["y", "z", "twist"], tuple[float, ...] | None]
        columns = {"y": self.y, "z": self.z, "twist": self.twist}
        return {name: values for name, values in columns.items() if values is not None}

    @model_validator(mode="after")
    def _columns_match(self) -> Self:
        if not self.given:
            raise fault("a start curve needs a deflection. Give y, z or twist.")
        for name, values in self.given.items():
            if len(values) != len(self.stations):
                raise fault("there must be one value per station", name)
        return self
