"""Data classes of an arm's model: constant arrays, coordinate names and index ranges."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import Field, dataclass, field, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import casadi as ca
import numpy as np

from flexarm.arm import AnyActuated, Arm, FreeBase, Link
from flexarm.arm.link import QuadraticShape
from flexarm.links.base import DIRECTIONS, Shapes, Span, union
from flexarm.links.body_data import BodyData, StraightBody, along_x
from flexarm.links.collocation import Collocation
from flexarm.links.fields import Amounts
from flexarm.links.growing.fields import (
    GrowingNodes,
    SlidingMotion,
    chebyshev_series,
    exposed_stiffness,
    parent_amplitudes,
)
from flexarm.links.growing.shapes import SlidingShapes
from flexarm.links.imported.body import ReducedBody
from flexarm.links.integrals import (
    Displacements,
    Integrals,
    Points,
    Rotary,
    constant_rotary,
    integrate,
    section_tables,
)
from flexarm.links.rails.rail import Rail
from flexarm.model.constants import LOAD_POINTS, NAMED_COORDINATES, SMOOTHING
from flexarm.model.joints.base import JointMotion, Stroke
from flexarm.model.points import ArmPoint, ArmPoints
from flexarm.model.spans import single_spans, whole_name
from flexarm.spatial import Array, Expr, Inertia, Pose, constant, settled

TipRotation = Literal["cayley", "first-order"]
LinkTheory = Literal["exact", "series", "linear"]
BASE_COORDINATES = ("x", "y", "z", "rx", "ry", "rz")


class BeamData(BodyData):
    """Elastic part of a beam with m shape functions, of constant length or sliding.

    The position s along the beam is the distance from the root [m]; along a sliding beam, s is this
    distance divided by the exposed length.
    """

    # So that type checkers accept it in `dataclasses.replace`.
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    theory: ClassVar[str]  # key of the body class for beams that are not geometrically exact
    span: Span  # the flexible span, as a function of s
    shapes: Shapes | SlidingShapes
    nodes: Collocation | None  # collocation nodes of an exact beam, else None

    @cached_property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of the beam's amplitudes within the link."""
        return self.shapes.names

    @property
    def kind(self) -> str:
        """Key of the class in `flexarm.mechanics.bodies` that implements the beam's equations."""
        return self.theory if self.nodes is None else "exact"

    def linear(self) -> Self:
        """Return a copy of the beam that bends by linear theory."""
        return replace(self, nodes=None)

    @abstractmethod
    def sampled(self, own: Array) -> tuple[Array, Array]:
        """Return the amplitudes of the curves over s, (T, K), and the metres per unit of s, (T,).

        Amplitudes and lengths are evaluated at T samples of the link coordinates, (T, k).
        """

    @property
    @abstractmethod
    def parents(self) -> Shapes:
        """Curves over s whose linear combinations are displacements and section angles."""

    @property
    def tapers(self) -> tuple[Span, ...]:
        """Section properties over s, one entry per power of the exposed length in them.

        The k-th entry is multiplied by the power k of the exposed length.
        """
        return (self.span,)

    @property
    def edges(self) -> Array:
        """Positions s between which shape functions and section properties are smooth."""
        edges = np.union1d(self.span.edges, self.parents.edges)
        return edges[np.concatenate(([True], np.diff(edges) > 1e-9 * self.span.length))]

    def panels(self) -> tuple[Array, int]:
        """Return panels of the span on which its shapes are smooth, and Gauss points per panel."""
        edges = self.edges / self.span.length
        most = max(len(self.parents.moving(direction)) for direction in DIRECTIONS)
        return edges, LOAD_POINTS + most // (len(edges) - 1)

    @abstractmethod
    def angles(self, own: Expr, s: float) -> tuple[Expr, Expr]:
        """Return the first-order angles (3,) of the section at s, and their Jacobian (3, k)."""

    @abstractmethod
    def at_length(self, length: float) -> "Flexible":
        """Return a beam of constant length that equals this beam at an exposed length [m]."""


@dataclass(frozen=True)
class Flexible(BeamData):
    """Elastic part of a link of constant length, with m amplitudes."""

    span: Span  # the flexible span
    shapes: Shapes  # shape functions over the span
    integrals: Integrals  # integrals of the shape functions
    points: Points  # integration points along the span
    tip_shape: Array  # displacement of the tip per amplitude, (3, m)
    tip_angle: Array  # first-order rotation of the tip per amplitude, (3, m)
    # Quadratic displacement and rotation of the tip, ``1/2 d^T X[k] d``, (3, m, m) each.
    tip_quadratic: Array
    tip_angle_quadratic: Array
    root_angle: Array  # first-order rotation of the root per amplitude, (3, m); 0 unless pinned
    damping: Array  # damping matrix of the amplitudes, (m, m)
    # Collocation nodes of an exact beam; None for linear theory or the series theory.
    nodes: Collocation | None

    @classmethod
    def of(
        cls,
        span: Span,
        shapes: Shapes,
        *,
        stiffening: bool = False,
        extra: Sequence[QuadraticShape] = (),
    ) -> "Flexible":
        """Compute the elastic part of a link from shape functions over a span.

        The part has no damping and no collocation nodes. With ``stiffening``, displacements
        include the axial shortening due to bending; ``extra`` are quadratic shapes of the link.
        """
        integrals, points = integrate(span, shapes, stiffening=stiffening, extra=extra)
        edges, tip = union(span.edges, shapes.edges), np.array([span.length])
        tables = section_tables(shapes, tip, edges, stiffening=stiffening, extra=extra)
        tip_shape, tip_angle, tip_quadratic, angle_quadratic = (table[0] for table in tables)
        shape, angle = settled(tip_shape), settled(tip_angle)
        root_angle = shapes.rotation(np.zeros(1))[0]
        root_angle = np.where(
            np.abs(root_angle) < 1e-12 * np.abs(angle).max(initial=0.0), 0.0, root_angle
        )
        return cls(
            span, shapes, integrals, points, shape, angle, tip_quadratic, angle_quadratic,
            root_angle, np.zeros_like(shapes.stiffness), None,
        )  # fmt: skip

    @property
    def root_turn(self) -> Array:
        """First-order rotation of the root per amplitude, (3, m)."""
        return self.root_angle

    @property
    def tip_slopes(self) -> Array:
        """First-order rotations of the tip about y and z per amplitude, (2, m)."""
        return self.tip_angle[1:]

    @cached_property
    def measured(self) -> bool:
        """Whether the modal mass matrix was measured or computed by another program."""
        return self.shapes.mass is not None

    one_length = True
    theory = "modal"

    @cached_property
    def draws(self) -> bool:
        """Whether points of the span have displacements quadratic in the amplitudes."""
        return self.points.draws

    def bare(self, *, stiffening: bool = False, twists: bool = False) -> "Flexible":
        """Return a copy with linear tip motion and without the sections' rotary inertia.

        With ``stiffening``, the axial shortening of points of the span is retained. With
        ``twists``, the rotary inertia of the sections' twist is retained.
        """
        integrals, points = integrate(self.span, self.shapes, stiffening=stiffening)
        modal = np.einsum("ijaa->ij", integrals.shape_shape)
        if twists:
            per_mass = self.span.at("Jx", points.x) / self.span.at("mass_per_length", points.x)
            twist = self.shapes.rotation(points.x)[:, 0]
            modal = modal + np.einsum("g,gi,gj->ij", points.mass * per_mass, twist, twist)
        no_quadratic, no_rotary = 0 * self.tip_quadratic, 0 * integrals.rotary_shape
        integrals = replace(
            integrals, rotary=0 * integrals.rotary, rotary_shape=no_rotary, modal_mass=modal
        )
        return replace(
            self, integrals=integrals, points=points, tip_quadratic=no_quadratic,
            tip_angle_quadratic=no_quadratic, nodes=None,
        )  # fmt: skip

    def straight(self, length: float) -> StraightBody:
        """Return the undeformed beam: integrals, tip position and first-order tip Jacobians."""
        return StraightBody(self.integrals, along_x(length), self.tip_angle, self.tip_shape)

    def sampled(self, own: Array) -> tuple[Array, Array]:
        """Return the amplitudes, (T, m), and ones, (T,), because the positions s are in metres."""
        return own, np.ones(len(own))

    @property
    def parents(self) -> Shapes:
        """Shape functions of the span."""
        return self.shapes

    def damping_at(self, own: Expr) -> Expr | None:
        """Return the damping matrix of the amplitudes, (m, m); None without damping."""
        return constant(self.damping) if np.any(self.damping) else None

    def angles(self, own: Expr, s: float) -> tuple[Expr, Expr]:
        """Return the first-order angles (3,) of the section at s [m], and their Jacobian (3, m)."""
        columns = constant(self.shapes.rotation(np.array([s]))[0])
        return columns @ own, columns

    def at_length(self, length: float) -> "Flexible":
        """Return this elastic part unchanged, because its length is constant."""
        return self

    @cached_property
    def displacements(self) -> Displacements | None:
        """Displacement functions with their mass integrals; None for an exact beam."""
        return self.points.used if self.nodes is None else None

    @cached_property
    def rotary(self) -> Rotary:
        """Rotary inertia of the beam's sections that does not depend on the deformation."""
        return constant_rotary(self.integrals, self.points, self.nodes)


@dataclass(frozen=True)
class SlidingBeam(BeamData):
    """Elastic part of a link that slides out of its hub."""

    shapes: SlidingShapes  # functions of position and exposed length
    # Chebyshev coefficients of the damping matrix over the range of exposed lengths, (R, m, m), or
    # None.
    damping: Array | None
    nodes: GrowingNodes | None  # nodes of an exact beam, else None

    theory = "growing"

    @property
    def range(self) -> tuple[float, float]:  # type: ignore[override]
        """Smallest and largest exposed length [m]."""
        return self.shapes.range

    def bare(self, *, stiffening: bool = False, twists: bool = False) -> "SlidingBeam":
        """Return a copy that bends by linear theory, without rotary inertia of sections."""
        span = self.shapes.span
        zero_inertia = {name: 0 * span.table[name] for name in ("Jx", "Jy", "Jz")}
        shapes = replace(self.shapes, span=replace(span, table=span.table | zero_inertia))
        return replace(self, shapes=shapes, nodes=None)

    @property
    def length_terms(self) -> int:
        """Number of terms in the Chebyshev series of the shapes in the exposed length."""
        return max(len(factors) for factors in self.shapes.factors.values())

    def span_length(self, whole: float, own: Array) -> float:
        """Return the exposed length [m], which is the first link coordinate."""
        return float(own[0])

    @property
    def span(self) -> Span:  # type: ignore[override]
        """Span of unit length that has the section at the beam's tip everywhere."""
        return self.tapers[0]

    @property
    def tapers(self) -> tuple[Span, ...]:
        """Section properties over xi, one entry per power of the exposed length in them."""
        return self.shapes.span.tapers

    def sampled(self, own: Array) -> tuple[Array, Array]:
        """Return the amplitudes of the curves over xi, (T, K), and exposed lengths [m], (T,)."""
        return parent_amplitudes(self.shapes, own[:, 0], own[:, 1:]), own[:, 0]

    @property
    def parents(self) -> Shapes:
        """Curves over xi whose linear combinations are the shape functions."""
        return self.shapes.parent_shapes()

    def amounts(self, own: Expr, rates: Expr) -> Amounts:
        """Return the variables of section angles, and their rates, for the curves over xi."""
        return SlidingMotion(self.shapes, own, rates).amounts()

    def stiffness_at(self, length: Expr) -> list[tuple[Expr, Array]]:
        """Return matrices (K, K) whose sum is the stiffness of the section-angle variables.

        The exposed length is ``length`` [m]. Each matrix is paired with exponents e, (K,): its row
        i is proportional to the power e_i of the exposed length.
        """
        return exposed_stiffness(self.shapes, length)

    def damping_at(self, own: Expr) -> Expr | None:
        """Return the damping matrix of the amplitudes at an exposed length, (m, m), or None."""
        if self.damping is None:
            return None
        return chebyshev_series(self.damping, self.shapes.range, own[0])

    def angles(self, own: Expr, s: float) -> tuple[Expr, Expr]:
        """Return the first-order angles (3,) of the section at xi = s, and their Jacobian."""
        return SlidingMotion(self.shapes, own, 0 * own).angles(s)[:2]

    def at_length(self, length: float) -> Flexible:
        """Return the exposed part at a length [m] as a beam of that length, by linear theory."""
        return Flexible.of(self.shapes.span.outer(length), self.shapes.at(length))

    def straight(self, length: float) -> StraightBody:
        """Return the data of the undeformed beam at an exposed length [m].

        The data contain the exposed part and the part inside the hub.
        """
        hidden, inside = self.shapes.hidden, self.shapes.span.length - length
        mass, first, second = (
            float(hidden("mass_per_length", length, k)) * inside ** (k + 1) for k in range(3)
        )
        turned = np.diag([float(hidden(name, length)) * inside for name in ("Jx", "Jy", "Jz")])
        turned += second * np.diag([0.0, 1.0, 1.0])
        hub = Inertia(mass, np.array([-first, 0.0, 0.0]), turned)
        return replace(self.at_length(length).straight(length), retracted=hub)


@dataclass(frozen=True)
class Rotor:
    """Rotor of a joint's drive, mounted on the section that carries the joint."""

    inertia: float  # moment of inertia about the spin axis [kg m^2]
    ratio: float  # turns of the rotor per turn of its coordinate
    coordinate: int  # index in q of the coordinate that spins the rotor: motor or joint
    # Spin axis in the frame F of the joint, (3,), if gyroscopic torque acts there; else None.
    axis: Array | None


@dataclass(frozen=True)
class Axis:
    """Coordinate of a joint, with the drive, springs and friction that act on it."""

    name: str  # name of the coordinate and of its input
    label: str  # label in the model file; empty for the only axis of a joint
    link: int  # index of the link that the joint carries
    number: int  # number of that link in the model file, from 1
    acts: AnyActuated  # drive, springs, friction and so on, from the model file
    index: int  # index in q of the joint coordinate
    motor: int | None  # index in q of the motor coordinate; None without motor
    unit: str  # unit of the coordinate
    turns: bool = field(init=False)  # whether the coordinate is an angle
    driven: bool = field(init=False)  # whether the axis has an input
    prescribed: bool = field(init=False)  # whether the coordinate is a given function of time

    def __post_init__(self) -> None:
        """Set the flags ``turns``, ``driven`` and ``prescribed``."""
        object.__setattr__(self, "turns", self.unit == "rad")
        object.__setattr__(self, "driven", self.acts.actuation == "torque")
        object.__setattr__(self, "prescribed", self.acts.actuation == "prescribed")

    @property
    def smoothing(self) -> float:
        """Default rate [unit/s] over which smoothed Coulomb friction changes sign."""
        return SMOOTHING[self.unit]

    @property
    def effort_unit(self) -> str:
        """Unit of the generalised force along the axis: N m or N."""
        return "N m" if self.turns else "N"

    @property
    def input_unit(self) -> str:
        """Unit of the axis's input: V, A, N m or N."""
        drive = self.acts.drive
        if drive is not None and drive.motor is not None:
            return "V" if drive.motor.input == "voltage" else "A"
        return "N m" if drive is not None and drive.motor_torque else self.effort_unit

    @property
    def is_braked(self) -> bool:
        """Whether the axis has a brake that is closed at the start."""
        return self.acts.brake is not None and self.acts.brake.closed


@dataclass(frozen=True)
class LinkModel:
    """Model of a link: constant frames, rigid bodies, elastic part and indices of coordinates in q.

    A link has these frames. F is the section that carries the joint: the parent's flexible tip, a
    section within the parent, or the base. J is the joint frame with the joint axis along z, and K
    the frame that the joint moves. L is the root of the flexible span (or of a rigid link), T the
    flexible tip.
    """

    name: str
    # Number in the model file, from 1, of this link or of the link that this span is part of.
    number: int
    joint_name: str
    link: Link
    motion: JointMotion  # kinematics of the joint
    parent: int  # index of the link that carries the joint; -1 is the base
    # Section of the parent at F; None if F is the parent's flexible tip, the base or on a rail.
    place: ArmPoint | None
    # Inboard hub, if F is within the parent; at a tip it is part of ``tip_body``.
    mount_body: Inertia
    pose_FJ: Pose  # pose of the joint in F
    pose_JL: Pose  # pose of the root in the moved joint frame K
    root_body: Inertia  # rigid bodies fixed in L, about its origin
    hub_body: Inertia  # outboard hub in J, separate from ``root_body`` if shapes rotate the hub
    tip_body: Inertia  # rigid bodies fixed in T, about its origin
    # Undeformed distance from L to T [m]; for a sliding link, the length of the whole beam. The
    # undeformed T has the axes of L.
    length: float
    axes: tuple[Axis, ...]  # the joint's coordinates
    modes: slice  # slice of the amplitudes in q
    body: BodyData  # elastic part of the link
    rotor: Rotor | None  # the joint's rotor, or None
    rail: Rail | None = None  # shape functions of the parent if this link rides on it, else None

    @property
    def kind(self) -> str:
        """Name of the joint's kind, such as ``revolute``."""
        return self.motion.name

    @property
    def spans(self) -> "tuple[LinkModel, ...]":
        """Spans of the link: the link itself, as a link of one span."""
        return (self,)

    @property
    def flexible(self) -> bool:
        """Whether the link bends, twists or stretches."""
        return bool(self.body.names)

    @property
    def exact(self) -> Collocation | None:
        """Collocation nodes of a geometrically exact link; None for other links."""
        return self.body.nodes

    @property
    def beam(self) -> Flexible:
        """Elastic part of a beam of constant length; raises an error for other bodies."""
        if not isinstance(self.body, Flexible):
            raise TypeError(f"{self.name} is not a beam of constant length")
        return self.body

    @property
    def imported(self) -> ReducedBody:
        """Flexible body imported from a file; raises an error for other bodies."""
        if not isinstance(self.body, ReducedBody):
            raise TypeError(f"{self.name} is not an imported body")
        return self.body

    @property
    def sliding_beam(self) -> SlidingBeam:
        """Elastic part of a sliding beam; raises an error for other bodies."""
        if not isinstance(self.body, SlidingBeam):
            raise TypeError(f"{self.name} is not a sliding beam")
        return self.body

    @property
    def carried_by(self) -> tuple[int, ...]:
        """Indices in q of the joint coordinates that move the link as a rigid body."""
        return () if self.motion.deforming(self.coordinates) else self.coordinates

    @property
    def own(self) -> tuple[int, ...]:
        """Indices in q of the coordinates that deform the link.

        The amplitudes deform the link, and so does the exposed length of a sliding link, which
        comes first.
        """
        modes = range(self.modes.start, self.modes.stop)
        return (*self.motion.deforming(self.coordinates), *modes)

    @property
    def coordinates(self) -> tuple[int, ...]:
        """Indices in q of the joint's coordinates."""
        return tuple(axis.index for axis in self.axes)

    @property
    def on_rail(self) -> bool:
        """Whether the link rides along a flexible link."""
        return self.rail is not None

    @property
    def rail_jumps(self) -> tuple[float, ...]:
        """Stations [m] of the rail at which the riding link's velocity may jump."""
        return () if self.rail is None else tuple(self.rail.jumps.tolist())

    @property
    def range(self) -> tuple[float, float] | None:
        """Range of the joint coordinate [m] within which shape functions exist, or None."""
        return (self.rail or self.body).range

    @property
    def stroke(self) -> Stroke | None:
        """Travel limits of the joint coordinate; None without limits."""
        if self.body.range is None:
            return self.motion.stroke
        return Stroke(self.body.range, "exposed length", "its shapes hold in that range")

    def span_length(self, q: Array) -> float:
        """Return the length [m] of the (exposed) span at coordinates q, shape (n,)."""
        return self.body.span_length(self.length, q[list(self.own)])

    @property
    def exposed(self) -> int:
        """Index in q of the only coordinate of the joint.

        The coordinate is the exposed length of a sliding link, or the station of a riding link.
        """
        (axis,) = self.axes
        return axis.index


@dataclass(frozen=True)
class JoinedSpans:
    """Link of the model file that consists of several flexible spans, from root to tip."""

    name: str
    spans: tuple[LinkModel, ...]

    @property
    def joint_name(self) -> str:
        """Name of the joint that carries the link."""
        return self.spans[0].joint_name

    @property
    def length(self) -> float:
        """Length [m] of all flexible spans of the link together."""
        return sum(span.length for span in self.spans)

    @property
    def modes(self) -> slice:
        """Slice in q of the amplitudes of all spans."""
        return slice(self.spans[0].modes.start, self.spans[-1].modes.stop)

    @property
    def flexible(self) -> bool:
        """Whether the link bends, twists or stretches; true for every link of several spans."""
        return True


WholeLink = LinkModel | JoinedSpans


@dataclass(frozen=True)
class Model:
    """Model of an arm, from which equations are built; `flexarm.build` returns one.

    The order of the coordinates q is: x, y, z, rx, ry, rz of the base if the base moves, then of
    each link the coordinates of motor and joint and the amplitudes.
    """

    arm: Arm  # arm as the model file describes it
    stiffening: bool  # whether flexible links include dynamic stiffening
    tip_rotation: TipRotation
    names: tuple[str, ...]  # name of every coordinate
    units: tuple[str, ...]  # unit of every coordinate
    base_pose: Pose  # reference frame of the base in the world
    base_body: Inertia  # rigid bodies fixed to the base
    base_moves: bool  # whether the base has coordinates
    links: tuple[LinkModel, ...]
    end_pose: Pose  # the arm's tip frame in the last link's flexible tip frame
    gravity: Array  # gravitational acceleration in world axes [m/s^2], (3,)
    prescribed: tuple[int, ...]  # indices of coordinates that are given functions of time
    points: ArmPoints  # points of application of wrenches, contacts and springs
    # Symbols of the reference attitudes of a free base and of spherical joints, stacked, (3 k, 3);
    # None if the reference attitudes are those at the start.
    reference_attitude: Expr | None = None
    # Requested number of nodes of exact links in excess of shape functions, or None.
    nodes: int | None = None
    # Whether stiffened links use the series theory in place of exact beams.
    series: bool = False
    # Mean motion [rad/s] of the orbit whose Hill frame is the world; 0 without orbit.
    orbit: float = 0.0
    # Whether the inertia of the tip load is an input of the equations.
    load_given: bool = False
    # Symbols that replace the model's numbers, (k,), so that models can share equations; None in a
    # model with numerical values.
    symbols: ca.SX | None = None

    def __getstate__(self) -> dict[str, object]:
        """Return the fields of the model, without cached values, for pickling."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __repr__(self) -> str:
        """Return a line with the arm's name, the number of coordinates and some of their names."""
        names = ", ".join(self.names[:NAMED_COORDINATES]) + (
            ", ..." if len(self.names) > NAMED_COORDINATES else ""
        )
        return f"Model of {self.arm.name}: {self.size} coordinates, {names}"

    @cached_property
    def chain(self) -> Arm:
        """The arm with each link of several spans divided into links of one span, as in `links`."""
        return single_spans(self.arm)

    @cached_property
    def whole_links(self) -> tuple[WholeLink, ...]:
        """Links of the model file; a link of several spans consists of several of `links`."""
        by_name: dict[str, list[LinkModel]] = {}
        for part in self.links:
            by_name.setdefault(whole_name(part.name), []).append(part)
        return tuple(
            spans[0] if len(spans) == 1 else JoinedSpans(name, tuple(spans))
            for name, spans in by_name.items()
        )

    @property
    def link_theory(self) -> LinkTheory:
        """Theory of flexible links: ``exact``, ``series`` (second order) or ``linear``.

        Links with quadratic shapes use the second-order series even if the theory is ``exact``.
        Sliding links never use the second-order series.
        """
        if not self.stiffening:
            return "linear"
        return "series" if self.series else "exact"

    @property
    def base_reference(self) -> Expr:
        """Reference attitude of the base's angles: rotation to world axes, (3, 3)."""
        if self.reference_attitude is None or not self.floats:
            return constant(self.base_pose.rotation)
        return self.reference_attitude[:3, :]

    @cached_property
    def attitudes(self) -> tuple[int, ...]:
        """Indices in q of the first angle of a free base and of each spherical joint."""
        first_angles = [part.coordinates[0] for part in self.links if part.motion.has_reference]
        return (3, *first_angles) if self.floats else tuple(first_angles)

    @cached_property
    def start_references(self) -> Array:
        """Reference attitudes at the start, stacked, (3 k, 3).

        If neither the base is free nor a joint is spherical, the attitude of the base is the only
        entry.
        """
        joint_attitudes = [part.motion.attitude for part in self.links if part.motion.has_reference]
        base_attitude = [self.base_pose.rotation] if self.floats or not joint_attitudes else []
        return np.vstack(base_attitude + joint_attitudes)

    def with_reference(self, reference_attitude: Expr) -> "Model":
        """Return a copy of the model with other reference attitudes of its angles, (3 k, 3)."""
        first, links = 3 if self.floats else 0, []
        for part in self.links:
            if part.motion.has_reference:
                motion = part.motion.with_reference(reference_attitude[first : first + 3, :])
                part, first = replace(part, motion=motion), first + 3
            links.append(part)
        return replace(self, reference_attitude=reference_attitude, links=tuple(links))

    def loaded(self, body: Inertia) -> "Model":
        """Return a copy with another rigid body at the arm's tip."""
        return replace(self, links=(*self.links[:-1], replace(self.links[-1], tip_body=body)))

    @cached_property
    def floats(self) -> bool:
        """Whether the arm's base is free."""
        return isinstance(self.arm.base, FreeBase)

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """Axes of all joints, one per joint coordinate."""
        return tuple(axis for part in self.links for axis in part.axes)

    @property
    def reach(self) -> float:
        """Sum of the link lengths [m], at least 1 mm."""
        return max(sum(part.length for part in self.links), 1e-3)

    @cached_property
    def scales(self) -> dict[int, float]:
        """Sizes to which tolerances of base and joint coordinates are relative, by index in q.

        The sizes are the arm's length [m] for a base position, 1 rad for an angle, and the length
        of the link [m] for a joint that slides.
        """
        result = dict(enumerate([self.reach] * 3 + [1.0] * 3)) if self.base_moves else {}
        for axis in self.axes:
            result[axis.index] = 1.0 if axis.turns else max(self.links[axis.link].length, 0.1)
        return result

    @cached_property
    def driveless(self) -> bool:
        """Whether no joint has a drive, servo, brake or friction."""
        actuations = [axis.acts for axis in self.axes]
        parts = (
            (actuation.drive, actuation.servo, actuation.brake, actuation.friction)
            for actuation in actuations
        )
        return all(part is None for actuation in parts for part in actuation)

    @property
    def axis_units(self) -> dict[str, str]:
        """Units of the joint coordinates, by name of the coordinate."""
        return {axis.name: axis.unit for axis in self.axes}

    @cached_property
    def drawn_axes(self) -> tuple[Axis, ...]:
        """Joint coordinates that are continuous in time, without the angles of spherical joints."""
        return tuple(axis for axis in self.axes if not self.links[axis.link].motion.has_reference)

    @property
    def size(self) -> int:
        """Number of coordinates of the arm."""
        return len(self.names)

    @cached_property
    def mounts(self) -> tuple[dict[object, list[int]], ...]:
        """Indices of the links that each link carries, by section; the last entry is the base.

        The key of a section is its distance from L [m], the name of a modal body's frame, None for
        the flexible tip, or the name of a link that rides along the carrying link.
        """
        mounts: list[dict[object, list[int]]] = [{} for _ in range(len(self.links) + 1)]
        for index, part in enumerate(self.links):
            section: object = part.name if part.on_rail else None
            if part.place is not None:
                section = part.place.x
            mounts[part.parent].setdefault(section, []).append(index)
        return tuple(mounts)

    @property
    def carried_by_base(self) -> list[int]:
        """Indices of the links whose joints are on the base."""
        return self.mounts[-1].get(None, [])

    def path(self, index: int) -> list[int]:
        """Return the indices of the links from the base to a link."""
        path: list[int] = []
        while index >= 0:
            path.insert(0, index)
            index = self.links[index].parent
        return path

    @cached_property
    def sliding_ranges(self) -> tuple[tuple[int, float, float], ...]:
        """Index in q, minimum and maximum [m] of each exposed length and each rail station."""
        return tuple((part.exposed, *part.range) for part in self.links if part.range is not None)
