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
    line
        Of the model file, if the arm is read from one by `flexarm check`: the place, or what of it
        the file has.
    """

    severity: Severity
    code: str
    place: str
    message: str
    remedy: str
    line: int | None = None


@dataclass(frozen=True)
class Frequency:
    """A frequency in both units."""

    hz: float
    rad_s: float


@dataclass(frozen=True)
class JointReport:
    """The joint that carries a link."""

    name: str
    kind: str
    axis: Vector | None  # in the joint's frame, unit length; None for a rigid attachment
    # Whether it turns the link, about the axis if it has one, rather than moves it along.
    turns: bool
    actuation: str | None  # ``torque``, ``free``, ``prescribed``, or None for a rigid attachment
    elastic: bool
    reflected_inertia: float  # of the rotor, at the joint [kg m^2] (of a sliding joint [kg])


@dataclass(frozen=True)
class DirectionReport:
    """A flexible span in one direction."""

    direction: str  # ``bending_y``, ``bending_z``, ``torsion`` or ``stretch``
    stiffness: str  # the section's property that resists it
    count: int  # number of shapes (elements, springs) that the link has in it
    coordinates: tuple[str, ...]  # their names, none where the direction is left rigid
    why: str  # where the number comes from
    # The span's own frequencies, root clamped, with what its tip carries rigidly.
    clamped: tuple[Frequency, ...]
    # Its frequencies between what the rule of the default modes hangs on both ends.
    loaded: tuple[Frequency, ...]


@dataclass(frozen=True)
class ShapeMode:
    """A mode of the link in its chosen coordinates, joint at rest, with what its tip carries."""

    frequency: Frequency
    damping: float  # damping ratio
    coordinate: str  # amplitude with the largest share in the strain energy


@dataclass(frozen=True)
class FlexibleReport:
    """The flexible part of a link."""

    # Length of the flexible span [m]; of a sliding link the exposed length at the start.
    span: float
    shapes: str  # kind of the shape functions, and what that is
    summary: str
    # root, why_root: what the rule of the loaded modes lets through at the root, ``free``,
    # ``geared``, ``held``.
    root: str
    why_root: str
    # tip_mass, tip_inertia: what that rule hangs on the tip [kg], [kg m^2] about x, y, z.
    tip_mass: float
    tip_inertia: Vector
    # Every direction that the section gives a stiffness for.
    directions: tuple[DirectionReport, ...]
    modes: tuple[ShapeMode, ...]  # modes of the chosen coordinates
    modal_data: tuple[str, ...]  # lines of the report on tabulated shapes, else none


@dataclass(frozen=True)
class LinkReport:
    """One link with its joint."""

    name: str
    joint: JointReport
    length: float  # along x, rigid ends included [m]
    mass: float  # of the link: span or body, and rigid ends [kg]
    hub_mass: float  # of the bodies at its joint, both sides [kg]
    flexible: FlexibleReport | None  # the flexible part, or None


@dataclass(frozen=True)
class CoordinateReport:
    """A coordinate of the arm."""

    name: str
    kind: str  # ``base``, ``motor``, ``joint`` or ``amplitude``
    unit: str
    prescribed: bool
    # start, start_speed: initial value and rate.
    start: float
    start_speed: float


@dataclass(frozen=True)
class ArmMode:
    """A mode of the whole arm."""

    frequency: Frequency
    # coordinate, share: the coordinate with the largest share in the strain energy, and that share.
    coordinate: str
    share: float


@dataclass(frozen=True)
class StepReport:
    """The step that a fixed-step Runge-Kutta method of order 4 can take."""

    rk4: float  # recommended step [s]
    rate: float  # fastest rate of the linearised arm, oscillation or decay [rad/s]
    limited_by: Literal["mode", "damping"]  # ``mode`` or ``damping``
    coordinate: str  # the coordinate that has most of it


@dataclass(frozen=True)
class CostReport:
    """Cost of 1 s of a run at the default tolerance, by a trial of its steps."""

    coordinates: int
    method: str  # integrator
    steps: float
    seconds: float  # CPU time [s]
    # Relative change of the slowest frequency, joints free, by these shapes instead of the arm's.
    frequency_change: float
    # Numbers of shapes by link and direction, where they are not those of the arm.
    shapes: dict[str, dict[str, int]]


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
    costs
        Of 1 s of a run: with the arm's shapes, and with half of them where links have several;
        empty if a coordinate has no inertia.
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
    costs: tuple[CostReport, ...]
    notices: tuple[Notice, ...]
