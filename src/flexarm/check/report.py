"""Report of `flexarm check` as dataclasses, whose field names are the keys of the JSON output."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from flexarm.model import Axis

Severity = Literal["warning", "note"]
Vector = tuple[float, float, float]


def axis_place(axis: "Axis") -> str:
    """Return the path of a joint's axis in the model file, such as ``links[1].joint``."""
    return ".".join(filter(None, (f"links[{axis.number}].joint", axis.label)))


@dataclass(frozen=True)
class Notice:
    """A fact about the arm that the user should know, check or change.

    Attributes
    ----------
    severity
        ``warning``: likely a mistake, or a model outside its range of validity; ``note``: correct
        but unusual.
    code
        Name of the check, which does not change between versions.
    place
        Path in the model file, such as ``links[1].section``, with indices from 1.
    message
        The fact, with numbers.
    remedy
        What to do about it.
    line
        Line number of ``place``, or of its nearest parent, in the model file; None if the arm was
        not read from a file.
    """

    severity: Severity
    code: str
    place: str
    message: str
    remedy: str
    line: int | None = None


@dataclass(frozen=True)
class Frequency:
    """A frequency in Hz and in rad/s."""

    hz: float  # [Hz]
    rad_s: float  # [rad/s]


@dataclass(frozen=True)
class JointReport:
    """Properties of the joint that carries a link."""

    name: str
    kind: str
    on: str  # link that carries the joint, such as 'boom at 0.5'; empty at the previous tip
    axis: Vector | None  # unit vector in the joint's frame; None for a rigid attachment
    turns: bool  # whether the joint rotates the link; else it slides
    actuation: str | None  # ``torque``, ``free``, ``prescribed``, or None for a rigid attachment
    elastic: bool  # whether the joint's transmission is elastic
    reflected_inertia: float  # rotor inertia at the joint [kg m^2] (of a sliding joint [kg])


@dataclass(frozen=True)
class DirectionReport:
    """Shapes and frequencies of a flexible link in one direction (bending, torsion, stretch)."""

    direction: str  # ``bending_y``, ``bending_z``, ``torsion`` or ``stretch``
    stiffness: str  # name of the section's stiffness
    count: int  # number of shapes (or elements, springs) of the link in this direction
    # names of the coordinates of these shapes; empty for a rigid direction
    coordinates: tuple[str, ...]
    why: str  # reason for the number of shapes
    # frequencies of the link with clamped root and the body at its tip
    clamped: tuple[Frequency, ...]
    # frequencies of the link between the root and tip inertias that loaded modes assume
    loaded: tuple[Frequency, ...]


@dataclass(frozen=True)
class ShapeMode:
    """A mode of one link in its shapes, with the joint at rest and the body at the tip attached."""

    frequency: Frequency
    damping: float  # damping ratio
    coordinate: str  # amplitude with the largest share in the strain energy


@dataclass(frozen=True)
class FlexibleReport:
    """The flexible part of a link: its boundary conditions, shapes and modes."""

    span: float  # flexible length [m]; for a sliding link the length exposed at the start
    shapes: str  # kind of the shape functions
    summary: str  # description of this kind of shape functions
    root: str  # boundary condition of loaded modes at the root: ``free``, ``geared`` or ``held``
    why_root: str  # reason for this boundary condition
    tip_mass: float  # tip mass assumed in loaded modes [kg]
    tip_inertia: Vector  # tip inertia assumed in loaded modes, about x, y, z [kg m^2]
    directions: tuple[DirectionReport, ...]  # elastic directions of the section
    modes: tuple[ShapeMode, ...]  # modes of the chosen coordinates
    modal_data: tuple[str, ...]  # lines of the report on tabulated shapes, else none


@dataclass(frozen=True)
class LinkReport:
    """Properties of a link and its joint."""

    name: str
    joint: JointReport
    length: float  # length along x, including rigid ends [m]
    mass: float  # mass of the beam or body, including rigid ends [kg]
    hub_mass: float  # mass of the bodies on both sides of the link's joint [kg]
    flexible: FlexibleReport | None  # the flexible part, or None


@dataclass(frozen=True)
class CoordinateReport:
    """Name, kind, unit and initial values of a coordinate of the arm."""

    name: str
    kind: str  # ``base``, ``motor``, ``joint`` or ``amplitude``
    unit: str
    prescribed: bool
    start: float  # initial value
    start_speed: float  # initial rate


@dataclass(frozen=True)
class ArmMode:
    """A mode of the whole arm, with the coordinate that dominates it."""

    frequency: Frequency
    coordinate: str  # coordinate with the largest share in the strain energy
    share: float  # share of this coordinate in the strain energy


@dataclass(frozen=True)
class StepReport:
    """Largest stable step of the Runge-Kutta method of order 4, and its limiting coordinate."""

    rk4: float  # recommended step [s]
    rate: float  # fastest rate of the linearised arm, oscillation or decay [rad/s]
    limited_by: Literal["mode", "damping"]  # ``mode`` or ``damping``
    coordinate: str  # coordinate with the largest share in the limiting rate


@dataclass(frozen=True)
class CostReport:
    """Cost of 1 s of a run at the default tolerance, estimated from trial steps."""

    coordinates: int  # number of coordinates
    method: str  # integrator
    steps: float  # number of steps
    seconds: float  # CPU time [s]
    # relative change of the slowest frequency with free joints, due to the changed shapes
    frequency_change: float
    shapes: dict[str, dict[str, int]]  # changed numbers of shapes by link and direction


@dataclass(frozen=True)
class Report:
    """Facts about an arm, and notices.

    Attributes
    ----------
    degrees_of_freedom
        Numbers of coordinates by kind; ``free`` is the number of coordinates that are not
        prescribed.
    mass
        Mass of links, hubs and payload [kg].
    base_mass
        Mass of the free base [kg].
    centre_of_mass
        Centre of mass of all bodies at the start, in world axes [m].
    rigid_motions
        Number of rigid-body motions with free joints.
    modes_free, modes_held
        Modes of the arm in its initial posture with undeformed links: with free joints, and with
        driven joints locked (elastic joints at their motor). Only elastic stiffness is included.
        None if a coordinate has no inertia.
    step
        Largest stable step; None if the arm neither vibrates nor decays, or if a coordinate has no
        inertia.
    costs
        Cost of 1 s of a run: with the arm's shapes, and with half of them if links have several;
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
