"""What `check` finds out about an arm, as plain data: the fields are the names in its JSON."""

from dataclasses import dataclass
from typing import Literal

Severity = Literal["warning", "note"]
Vector = tuple[float, float, float]


@dataclass(frozen=True)
class Notice:
    """Something the user should know, look into or change.

    Attributes
    ----------
    severity
        ``warning``: likely a mistake, or a model outside its range; ``note``: right, but unusual.
    code
        Name of the check, the same in every version.
    place
        Where in the model file, ``links[1].section``, counting from 1.
    message
        What was found, in numbers.
    remedy
        What to do about it.
    """

    severity: Severity
    code: str
    place: str
    message: str
    remedy: str


@dataclass(frozen=True)
class Frequency:
    """A frequency in both units."""

    hz: float
    rad_s: float


@dataclass(frozen=True)
class JointReport:
    """The joint that carries a link.

    Attributes
    ----------
    axis
        In the joint's frame, unit length; None for a rigid attachment.
    turns
        Whether it turns the link, about the axis if it has one, rather than moves it along.
    actuation
        ``torque``, ``free``, ``prescribed``, or None for a rigid attachment.
    reflected_inertia
        Of the rotor, at the joint [kg m^2] (of a sliding joint [kg]).
    """

    name: str
    kind: str
    axis: Vector | None
    turns: bool
    actuation: str | None
    elastic: bool
    reflected_inertia: float


@dataclass(frozen=True)
class DirectionReport:
    """A flexible span in one direction.

    Attributes
    ----------
    direction
        ``bending_y``, ``bending_z``, ``torsion`` or ``stretch``.
    stiffness
        The section's property that resists it.
    count
        Number of shapes (elements, springs) that the link has in it.
    coordinates
        Their names, none where the direction is left rigid.
    why
        Where the number comes from.
    clamped
        The span's own frequencies, root clamped, with what its tip carries rigidly.
    loaded
        Its frequencies between what the rule of the default modes hangs on both ends.
    """

    direction: str
    stiffness: str
    count: int
    coordinates: tuple[str, ...]
    why: str
    clamped: tuple[Frequency, ...]
    loaded: tuple[Frequency, ...]


@dataclass(frozen=True)
class ShapeMode:
    """A mode of the link in its chosen coordinates, joint at rest, with what its tip carries.

    Attributes
    ----------
    damping
        Damping ratio.
    coordinate
        Amplitude with the largest share in the strain energy.
    """

    frequency: Frequency
    damping: float
    coordinate: str


@dataclass(frozen=True)
class FlexibleReport:
    """The flexible part of a link.

    Attributes
    ----------
    span
        Length of the flexible span [m]; of a sliding link the exposed length at the start.
    shapes
        Kind of the shape functions, and what that is.
    root, why_root
        What the rule of the loaded modes lets through at the root, ``free``, ``geared``, ``held``.
    tip_mass, tip_inertia
        What that rule hangs on the tip [kg], [kg m^2] about x, y, z.
    directions
        Every direction that the section gives a stiffness for.
    modes
        Modes of the chosen coordinates.
    modal_data
        Lines of the report on tabulated shapes, else none.
    """

    span: float
    shapes: str
    summary: str
    root: str
    why_root: str
    tip_mass: float
    tip_inertia: Vector
    directions: tuple[DirectionReport, ...]
    modes: tuple[ShapeMode, ...]
    modal_data: tuple[str, ...]


@dataclass(frozen=True)
class LinkReport:
    """One link with its joint.

    Attributes
    ----------
    length
        Along x, rigid ends included [m].
    mass
        Of the link: span or body, and rigid ends [kg].
    hub_mass
        Of the bodies at its joint, both sides [kg].
    flexible
        The flexible part, or None.
    """

    name: str
    joint: JointReport
    length: float
    mass: float
    hub_mass: float
    flexible: FlexibleReport | None


@dataclass(frozen=True)
class CoordinateReport:
    """A coordinate of the arm.

    Attributes
    ----------
    kind
        ``base``, ``motor``, ``joint`` or ``amplitude``.
    start, start_speed
        Initial value and rate.
    """

    name: str
    kind: str
    unit: str
    prescribed: bool
    start: float
    start_speed: float


@dataclass(frozen=True)
class ArmMode:
    """A mode of the whole arm.

    Attributes
    ----------
    coordinate, share
        The coordinate with the largest share in the strain energy, and that share.
    """

    frequency: Frequency
    coordinate: str
    share: float


@dataclass(frozen=True)
class StepReport:
    """The step that a fixed-step Runge-Kutta method of order 4 can take.

    Attributes
    ----------
    rk4
        Recommended step [s].
    rate
        Fastest rate of the linearised arm, oscillation or decay [rad/s].
    limited_by
        ``mode`` or ``damping``.
    coordinate
        The coordinate that has most of it.
    """

    rk4: float
    rate: float
    limited_by: Literal["mode", "damping"]
    coordinate: str


@dataclass(frozen=True)
class Report:
    """What `check` finds out about an arm.

    Attributes
    ----------
    degrees_of_freedom
        How many coordinates of each kind; ``free`` is the total less the prescribed ones.
    mass
        Of links, hubs and payload [kg].
    base_mass
        Of a free base's body [kg].
    centre_of_mass
        Of everything, at the start, in the world [m].
    rigid_motions
        Number of motions that strain nothing, joints free.
    modes_free, modes_held
        Modes of the arm in its start pose, links undeformed: with the joints as they are, and
        with the driven hubs (of elastic joints: their motors) locked.  Elastic stiffness only;
        None if a coordinate has no inertia.
    step
        None if there is nothing fast, or a coordinate has no inertia.
    """

    check: int
    arm: str
    gravity: Vector
    stiffening: bool
    base: str
    links: tuple[LinkReport, ...]
    coordinates: tuple[CoordinateReport, ...]
    degrees_of_freedom: dict[str, int]
    mass: float
    base_mass: float
    payload_mass: float
    centre_of_mass: Vector
    rigid_motions: int | None
    modes_free: tuple[ArmMode, ...] | None
    modes_held: tuple[ArmMode, ...] | None
    step: StepReport | None
    notices: tuple[Notice, ...]
