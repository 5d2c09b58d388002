"""The arm made ready for equations: constant arrays, coordinate names and slices."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.linalg

from flexarm.arm import Arm, FreeBase, Link, MovedBase, Moving, Prismatic, Revolute, Sliding
from flexarm.arm.shapes import ClampedMass, Counted, Elements, Lumped
from flexarm.errors import ModelError, ShapeError
from flexarm.links import discretisation
from flexarm.links.base import Array, Counts, Ends, Shapes
from flexarm.links.ends import (
    body_inertia,
    clamped_mass_ends,
    counts,
    end_pose,
    joint_frame,
    joint_poses,
    loaded_ends,
    own_inertia,
    tip_inertia,
)
from flexarm.links.integrals import Integrals, Points, integrate, quadratic_displacement
from flexarm.links.sliding import SlidingShapes, fixed_shapes, follow_length
from flexarm.links.span import Span
from flexarm.spatial import (
    IDENTITY,
    NO_INERTIA,
    Inertia,
    Pose,
    rotation_from_angles,
    rotation_z_to,
    skew_matrix,
)

TipRotation = Literal["cayley", "first-order"]
JointKind = Literal["revolute", "prismatic", "sliding", "fixed"]
BASE_COORDINATES = ("x", "y", "z", "rx", "ry", "rz")


@dataclass(frozen=True)
class Flexible:
    """The elastic part of a link of constant length, with m amplitudes.

    Attributes
    ----------
    span, shapes, integrals, points
        The flexible span, its shape functions and their integrals.
    tip_shape, tip_angle
        Displacement and first-order rotation of the tip per amplitude, (3, m) each.
    tip_quadratic, tip_angle_quadratic
        Quadratic displacement and rotation of the tip, ``1/2 d^T X[k] d``, (3, m, m) each.
    root_angle
        First-order rotation of the root per amplitude, (3, m): not 0 for pinned shapes.
    damping
        Damping matrix of the amplitudes, (m, m).
    """

    span: Span
    shapes: Shapes
    integrals: Integrals
    points: Points
    tip_shape: Array
    tip_angle: Array
    tip_quadratic: Array
    tip_angle_quadratic: Array
    root_angle: Array
    damping: Array


@dataclass(frozen=True)
class Rotor:
    """A joint's rotor, carried by the previous tip.

    Attributes
    ----------
    inertia
        About its spin axis [kg m^2].
    ratio
        Turns of the rotor per turn of its coordinate.
    coordinate
        Index in q of the coordinate that spins it: motor or joint.
    axis
        Spin axis in the previous tip frame, (3,), where its momentum acts on that; else None.
    """

    inertia: float
    ratio: float
    coordinate: int
    axis: Array | None


@dataclass(frozen=True)
class LinkModel:
    """One link: constant frames, bodies, shapes and where its coordinates stand in q.

    Frames: F the previous link's flexible tip (or the base), J the joint with its axis along z,
    L the root of the flexible span (of a rigid link: its root), T the flexible tip.

    Attributes
    ----------
    pose_FJ, pose_JL
        Joint in the previous tip frame, root in the turned joint frame.
    root_body, tip_body
        Rigid bodies fixed in L and in T, about their origins.
    hub_body
        The outboard hub in J, kept apart from ``root_body`` where shapes turn the hub.
    length
        Distance from L to T, undeformed [m]; of a sliding link the whole beam.
    motor, joint
        Index of the motor's and the joint's coordinate in q, or None.
    modes
        Slice of the amplitudes in q.
    elastic
        The elastic part of a link of constant length; None for rigid and sliding ones.
    sliding
        Shapes of a sliding link, else None.
    rotor
        The joint's rotor, or None.
    """

    name: str
    joint_name: str
    link: Link
    kind: JointKind
    pose_FJ: Pose
    pose_JL: Pose
    root_body: Inertia
    hub_body: Inertia
    tip_body: Inertia
    length: float
    motor: int | None
    joint: int | None
    modes: slice
    elastic: Flexible | None
    sliding: SlidingShapes | None
    rotor: Rotor | None


@dataclass(frozen=True)
class Model:
    """An arm made ready for equations.

    Coordinates in order: base x, y, z, rx, ry, rz if it moves; per link: motor, joint, amplitudes.

    Attributes
    ----------
    names, units
        Name and unit of every coordinate.
    base_pose, base_body
        The base's reference frame and its body.
    end_pose
        The arm's tip frame in the last link's flexible tip frame.
    prescribed
        Indices of coordinates that are given functions of time.
    """

    arm: Arm
    stiffening: bool
    tip_rotation: TipRotation
    names: tuple[str, ...]
    units: tuple[str, ...]
    base_pose: Pose
    base_body: Inertia
    base_moves: bool
    links: tuple[LinkModel, ...]
    end_pose: Pose
    gravity: Array
    prescribed: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return len(self.names)


def build(
    arm: Arm, *, stiffening: bool | None = None, tip_rotation: TipRotation = "cayley"
) -> Model:
    """Make an arm ready for equations: shapes, integrals, frames, coordinate names.

    Parameters
    ----------
    arm
        The arm.
    stiffening
        Whether bending draws a link in, which brings dynamic stiffening; the arm's own choice
        if None.
    tip_rotation
        ``cayley``, an exact rotation of each link's tip, or ``first-order``.

    Raises
    ------
    ModelError
        If shapes cannot be built or a start value names no coordinate.
    """
    stiff = arm.stiffening if stiffening is None else stiffening
    names: list[str] = []
    units: list[str] = []
    base_moves = isinstance(arm.base, FreeBase | MovedBase)
    if base_moves:
        names += [f"base.{c}" for c in BASE_COORDINATES]
        units += ["m"] * 3 + ["rad"] * 3
    links: list[LinkModel] = []
    before = IDENTITY
    for i in range(len(arm.links)):
        built = _build_link(arm, i, before, stiff, names, units)
        links.append(built)
        before = end_pose(arm.links[i])
    base_body = body_inertia(arm.base.body) if isinstance(arm.base, FreeBase) else NO_INERTIA
    hub = body_inertia(arm.links[0].joint.hub.inboard)
    return Model(
        arm=arm,
        stiffening=stiff,
        tip_rotation=tip_rotation,
        names=tuple(names),
        units=tuple(units),
        base_pose=Pose(rotation_from_angles(arm.base.rotation), np.array(arm.base.position)),
        base_body=base_body + hub.moved(joint_frame(arm.links[0])),
        base_moves=base_moves,
        links=tuple(links),
        end_pose=before,
        gravity=np.array(arm.gravity),
        prescribed=_prescribed(arm, links),
    )


def start_state(model: Model) -> tuple[Array, Array]:
    """Read the initial coordinates and speeds off the model file, (n,) each.

    Prescribed coordinates are left at 0: their motion says where they start.
    """
    q, v = np.zeros(model.size), np.zeros(model.size)
    base = model.arm.base
    if isinstance(base, FreeBase):
        rotation = model.base_pose.rotation
        v[:3], v[3:6] = rotation @ np.array(base.velocity), base.spin
    for part in model.links:
        joint, link = part.link.joint, part.link
        if isinstance(joint, Moving) and part.joint is not None:
            q[part.joint], v[part.joint] = joint.start.position or 0.0, joint.start.speed or 0.0
            if part.motor is not None:
                first, second = joint.start.motor_position, joint.start.motor_speed
                q[part.motor] = q[part.joint] if first is None else first
                v[part.motor] = v[part.joint] if second is None else second
        for values, target in ((link.start, q), (link.start_speed, v)):
            for name, value in values.items():
                target[model.names.index(f"{part.name}.{name}")] = value
    return q, v


def link_shapes(arm: Arm, index: int, span: Span) -> Shapes:
    """Build the shapes of a link over a span (of a sliding link: over an exposed length)."""
    link = arm.links[index]
    choice = link.shapes
    ends: Ends = (
        clamped_mass_ends(arm, index, choice)
        if isinstance(choice, ClampedMass)
        else loaded_ends(arm, index)
    )
    number = counts(arm, index, choice) if isinstance(choice, Counted) else Counts(0, 0, 0, 0)
    try:
        return discretisation(choice.kind).shapes(choice, span, ends, number)
    except ShapeError as error:
        raise ModelError(f"links[{index}] ({arm.link_names[index]}): shapes: {error}") from error


def _build_link(
    arm: Arm, index: int, before: Pose, stiffening: bool, names: list[str], units: list[str]
) -> LinkModel:
    link = arm.links[index]
    pose_to_joint, pose_to_root, _ = joint_poses(link)
    root = Pose(np.eye(3), np.array([_root_length(link), 0.0, 0.0]))
    kind = _kind(link)
    if kind == "sliding" and not link.flexible:
        # a rigid beam that slides out is carried whole, from its inner end, along its own axis
        kind = "prismatic"
        along = Pose(rotation_z_to((1.0, 0.0, 0.0)), np.zeros(3))
        inner = Pose(np.eye(3), np.array([-link.length, 0.0, 0.0]))
        pose_to_joint = pose_to_joint @ along
        pose_to_root = Pose(along.rotation.T, np.zeros(3)) @ inner
    motor = joint = None
    if isinstance(link.joint, Moving):
        unit = "rad" if kind == "revolute" else "m"
        name = arm.joint_names[index]
        if link.joint.elastic:
            motor = _add(names, units, f"{name}.motor", unit)
        joint = _add(names, units, name, unit)
    elastic, sliding = None, None
    if link.flexible and kind == "sliding":
        sliding = _sliding_shapes(arm, index)
        labels: tuple[str, ...] = sliding.names
    elif link.flexible:
        elastic = _flexible(arm, index, stiffening)
        labels = elastic.shapes.names
    else:
        labels = ()
    first = len(names)
    for label in labels:
        _add(names, units, f"{arm.link_names[index]}.{label}", _unit(link, label))
    _check_amplitudes(arm, index, labels)
    turned = elastic is not None and bool(np.any(elastic.root_angle))
    if turned:
        _check_hub_axis(arm, index, elastic, pose_to_root)
    hub = body_inertia(link.joint.hub.outboard)
    body = _root_body(link, pose_to_root, with_hub=not turned)
    return LinkModel(
        name=arm.link_names[index],
        joint_name=arm.joint_names[index],
        link=link,
        kind=kind,
        pose_FJ=before @ pose_to_joint,
        pose_JL=pose_to_root @ root,
        root_body=body.moved(Pose(np.eye(3), -root.position)),
        hub_body=hub if turned else NO_INERTIA,
        tip_body=tip_inertia(arm, index),
        length=link.length - _root_length(link) - _tip_length(link),
        motor=motor,
        joint=joint,
        modes=slice(first, len(names)),
        elastic=elastic,
        sliding=sliding,
        rotor=_rotor(link, motor if motor is not None else joint, before @ pose_to_joint),
    )


def _rotor(link: Link, coordinate: int | None, pose: Pose) -> Rotor | None:
    drive = link.joint.drive if isinstance(link.joint, Moving) else None
    if drive is None or coordinate is None or drive.rotor_inertia == 0:
        return None
    axis = pose.rotation[:, 2] if drive.rotor == "full" else None
    return Rotor(drive.rotor_inertia, drive.gear_ratio, coordinate, axis)


def _root_body(link: Link, pose_to_root: Pose, *, with_hub: bool) -> Inertia:
    """Bodies rigidly in the root frame, without the flexible span itself."""
    if not link.flexible:
        return own_inertia(link)
    total = NO_INERTIA
    if link.root_piece is not None:
        total = total + body_inertia(link.root_piece.body)
    if with_hub:
        back = Pose(pose_to_root.rotation.T, -pose_to_root.rotation.T @ pose_to_root.position)
        total = total + body_inertia(link.joint.hub.outboard).moved(back)
    return total


def _flexible(arm: Arm, index: int, stiffening: bool) -> Flexible:
    link = arm.links[index]
    assert link.section is not None
    span = Span.of(link.section, link.span)
    shapes = link_shapes(arm, index, span)
    extra = link.quadratic_shapes
    integrals, points = integrate(span, shapes, stiffening=stiffening, extra=extra)
    tip = np.array([span.length])
    edges = np.union1d(span.edges, shapes.edges)
    quadratic = quadratic_displacement(shapes, tip, edges, stiffening=stiffening, extra=extra)[0]
    slopes = quadratic_displacement(
        shapes, tip, edges, stiffening=False, extra=extra, derivative=1
    )[0]
    tip_shape, tip_angle = shapes.displacement(tip)[0], shapes.rotation(tip)[0]
    angle_quadratic = np.stack([0 * slopes[0], -slopes[2], slopes[1]])
    root_angle = shapes.rotation(np.zeros(1))[0]
    root_angle[np.abs(root_angle) < 1e-12 * np.abs(tip_angle).max(initial=0.0)] = 0.0
    damping = shapes.damping
    if damping is None:
        damping = _damping(link, integrals, tip_shape, tip_angle, tip_inertia(arm, index))
    return Flexible(
        span, shapes, integrals, points, tip_shape, tip_angle, quadratic, angle_quadratic,
        root_angle, damping,
    )  # fmt: skip


def _damping(
    link: Link, integrals: Integrals, tip_shape: Array, tip_angle: Array, body: Inertia
) -> Array:
    """Damping matrix with the given ratio in each mode of the link clamped with its tip body."""
    m = len(integrals.stiffness)
    ratios = np.zeros(m)
    given = np.atleast_1d(np.array(link.damping, dtype=float))
    if len(given) == 1:
        ratios[:] = given[0]
    else:
        ratios[: min(m, len(given))] = given[:m]
    if not np.any(ratios):
        return np.zeros((m, m))
    coupling = tip_angle.T @ skew_matrix(body.first) @ tip_shape
    mass = (
        integrals.modal_mass
        + body.mass * tip_shape.T @ tip_shape
        + tip_angle.T @ body.second @ tip_angle
        + coupling
        + coupling.T
    )
    squares, modes = scipy.linalg.eigh(integrals.stiffness, mass)
    weighted = mass @ modes
    return np.asarray(weighted * (2 * ratios * np.sqrt(np.abs(squares))) @ weighted.T)


def _sliding_shapes(arm: Arm, index: int) -> SlidingShapes:
    link = arm.links[index]
    section = link.section
    assert section is not None and isinstance(link.joint, Sliding)
    whole = Span.of(section, link.span)
    limits = link.joint.limits
    low = 0.05 * link.span if limits is None or limits.lower is None else limits.lower
    high = link.span if limits is None or limits.upper is None else limits.upper
    low = max(low, 1e-3 * link.span)

    def at(length: float) -> Shapes:
        return link_shapes(arm, index, Span.of(section, length))

    if isinstance(link.shapes, Elements) or (
        isinstance(link.shapes, ClampedMass) and link.shapes.follow
    ):
        return follow_length(at, whole, (low, high))
    length = link.joint.start.position or (low + high) / 2
    return fixed_shapes(at(length), length, whole, (low, high))


def _kind(link: Link) -> JointKind:
    if isinstance(link.joint, Revolute):
        return "revolute"
    if isinstance(link.joint, Prismatic):
        return "prismatic"
    return "sliding" if isinstance(link.joint, Sliding) else "fixed"


def _root_length(link: Link) -> float:
    return link.root_piece.length if link.root_piece is not None else 0.0


def _tip_length(link: Link) -> float:
    return link.tip_piece.length if link.tip_piece is not None else 0.0


def _unit(link: Link, label: str) -> str:
    if isinstance(link.shapes, Lumped) and "stretch" not in label:
        return "rad"
    return "rad" if "twist" in label or "slope" in label else "m"


def _add(names: list[str], units: list[str], name: str, unit: str) -> int:
    names.append(name)
    units.append(unit)
    return len(names) - 1


def _prescribed(arm: Arm, links: list[LinkModel]) -> tuple[int, ...]:
    indices = list(range(6)) if isinstance(arm.base, MovedBase) else []
    for part in links:
        joint = part.link.joint
        if isinstance(joint, Moving) and joint.actuation == "prescribed" and part.joint is not None:
            indices.append(part.joint)
    return tuple(indices)


def _check_amplitudes(arm: Arm, index: int, labels: tuple[str, ...]) -> None:
    link = arm.links[index]
    used = [("start", n) for n in link.start] + [("start_speed", n) for n in link.start_speed]
    used += [("elastic_energy", n) for t in link.elastic_energy for n in t.powers]
    used += [("elastic_force", t.coordinate) for t in link.elastic_force]
    used += [("quadratic_shapes", n) for t in link.quadratic_shapes for n in t.amplitudes]
    for where, name in used:
        if name not in labels:
            raise ModelError(
                f"links[{index}].{where}: no amplitude '{name}': "
                f"{arm.link_names[index]} has {', '.join(labels) or 'none'}"
            )


def _check_hub_axis(arm: Arm, index: int, elastic: Flexible | None, after: Pose) -> None:
    """Refuse shapes that turn the root about an axis which the joint does not let turn."""
    assert elastic is not None
    axis = after.rotation.T @ np.array([0.0, 0.0, 1.0])
    off_axis = elastic.root_angle - np.outer(axis, axis @ elastic.root_angle)
    size = np.abs(elastic.root_angle).max()
    if not isinstance(arm.links[index].joint, Revolute) or np.abs(off_axis).max() > 1e-9 * size:
        raise ModelError(
            f"links[{index}].shapes: {arm.links[index].shapes.kind} shapes turn the root about an "
            "axis that the joint holds: use them in the plane that a revolute joint turns in only"
        )
