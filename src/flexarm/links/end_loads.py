"""Boundary conditions of a link, imposed by its joints and by the inertia at its two ends.

The following rule applies per link and per axis of rotation. *Root*: about an axis of the joint's
rotation the root is clamped, or the root rotates together with the hub, or together with hub and
reflected rotor inertia; `hold` decides which. About every axis that is no joint axis the root is
clamped. *Tip*: all outboard bodies count as a point mass with an inertia ``J_d`` about the tip,
averaged over the postures of the arm. About the axis of the next joint, only the inertia ``I_r
J_d/(I_r + J_d)`` that is coupled through the rotor inertia I_r loads the tip; a free joint
transmits no inertia. A carriage riding along a link does not load the tip of the link: the tip of a
rail carries only its own tip bodies.

For these modes a joint is *free* (only the hub's inertia resists), *geared* (hub and reflected
rotor inertia resist) or *held*. Held joints are prescribed, position-controlled, torque-driven
without a rotor inertia, or have a spring (in the joint or the drive) that is stiff relative to the
adjacent link.
"""

import math
from bisect import bisect_right
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

import numpy as np

from flexarm.arm import AnyActuated, Arm, Body, Link, RigidPiece
from flexarm.arm.drive import SpringTable
from flexarm.arm.part import Frame
from flexarm.arm.shapes import ClampedMass, Loaded
from flexarm.links.base import Ends, Span
from flexarm.links.constants import SOFT_SPRING
from flexarm.links.imported.file import read_body
from flexarm.links.remembered import kept
from flexarm.links.tree import place_along, tree
from flexarm.spatial import (
    CROSS,
    IDENTITY,
    NO_INERTIA,
    Array,
    Inertia,
    Pose,
    rotation_from_angles,
    rotation_z_to,
    skew_matrix,
    turn,
)


@dataclass(frozen=True)
class Hold:
    """Boundary condition that a joint imposes on a link, and the reason for it."""

    state: Literal["free", "geared", "held"]  # ``free``, ``geared`` or ``held``
    reason: str  # reason for the state, as text
    known: bool = False  # whether the joint is held independently of its inputs


def hold(arm: Arm, index: int, which: int = 0, *, inboard: bool = False) -> Hold:
    """Return the boundary condition that a joint imposes on a link.

    The condition follows from the joint's model-file entry, actuation, spring and drive.

    Parameters
    ----------
    arm, index
        The arm and the index of the joint.
    which
        Index of the axis within the joint.
    inboard
        Whether the condition applies to the tip of the link that carries the joint, rather than to
        the root of the link after the joint.
    """
    link = arm.links[index]
    axes = [*link.joint.axes.values()]
    known = not axes or axes[which].actuation == "prescribed"
    if isinstance(link.shapes, Loaded) and link.shapes.root != "auto":
        return Hold(link.shapes.root, f"the file says root: {link.shapes.root}", known)
    if not axes:
        return Hold("held", "a rigid attachment", known)
    if known:
        return Hold("held", "the joint's motion is prescribed", known)
    if not link.joint.turns_about:
        return Hold("held", "the joint slides and does not turn")
    joint = axes[which]
    if joint.actuation == "torque" and reflected_rotor(link) == 0:
        return Hold("held", "torque-driven without a rotor inertia, taken as position-controlled")
    if joint.spring is not None or joint.elastic:
        bending = arm.links[tree(arm).parents[index]] if inboard else link
        soft = _spring_ratio(joint, bending) < SOFT_SPRING
        if not soft:
            return Hold(
                "held", f"the joint's spring is not softer than {SOFT_SPRING} EI/L of the link"
            )
        if joint.elastic:
            return Hold("free", f"the joint's spring is softer than {SOFT_SPRING} EI/L of the link")
    if reflected_rotor(link) > 0:
        return Hold("geared", "the inertia of hub and reflected rotor acts at the root")
    return Hold("free", "the joint is free, the hub alone resists")


def reflected_rotor(link: Link) -> float:
    """Return the rotor inertia of a link's drives reflected to the joint [kg m^2]."""
    drives = [acts.drive for acts in link.joint.axes.values() if acts.drive is not None]
    return sum(drive.gear_ratio**2 * drive.rotor_inertia for drive in drives)


def _spring_ratio(joint: AnyActuated, link: Link) -> float:
    """Return the stiffness of a joint's spring and drive divided by the link's EI/L."""
    if link.section is None:
        return math.inf
    span = Span.of(link.section, link.span)
    bending: list[float] = [span.table[n][0] for n in ("EIy", "EIz") if span.has(n)]
    if not bending:
        return math.inf
    springs = [part.stiffness for part in (joint.drive, joint.spring) if part is not None]
    return sum(relaxed_stiffness(k) for k in springs) * link.span / min(bending)


def relaxed_stiffness(stiffness: "float | SpringTable[float, float] | None") -> float:
    """Return the stiffness of a spring at zero deflection [N m/rad]; 0 without a spring."""
    if not isinstance(stiffness, SpringTable):
        return stiffness or 0.0
    x, y = stiffness.deflection, stiffness.effort
    right = min(max(bisect_right(x, 0.0), 1), len(x) - 1)
    return (y[right] - y[right - 1]) / (x[right] - x[right - 1])


HELD = (math.inf, math.inf, math.inf)


def body_inertia(part: Body | RigidPiece | None) -> Inertia:
    """Return the inertia of a body about the origin of its frame in the model file.

    For a rigid end piece of a link, the frame is at the inboard end of the piece.
    """
    body = part.body if isinstance(part, RigidPiece) else part
    if body is None:
        return NO_INERTIA
    com = np.array(body.com)
    cross = skew_matrix(com)
    return Inertia(body.mass, body.mass * com, central_inertia(body) - body.mass * cross @ cross)


def central_inertia(body: Body) -> Array:
    """Return the inertia matrix of a body about its centre of mass [kg m^2], shape (3, 3)."""
    xx, yy, zz, xy, xz, yz = (*body.inertia, 0.0, 0.0, 0.0)[:6]
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def framed(frame: Frame | None) -> Pose:
    """Return the pose of a frame in its parent frame; the identity if no frame is given."""
    if frame is None:
        return IDENTITY
    return Pose(rotation_from_angles(frame.rotation), np.array(frame.position))


@kept
def joint_poses(link: Link) -> tuple[Pose, Pose, Pose]:
    """Compute the three constant poses of a link; the z axis of the joint frame is the joint axis.

    The three poses are that of the joint in the previous link's end frame, that of the link's root
    in the joint frame after the joint has moved, and that of the link's end in its tip frame.
    """
    joint = link.joint
    before, after, end = (Pose(np.eye(3), np.zeros(3)) for _ in range(3))
    if joint.dh is not None:
        slide = Pose(turn(2, joint.dh.theta), np.array([0.0, 0.0, joint.dh.d]))
        twist = Pose(turn(0, joint.dh.alpha), np.zeros(3))
        if joint.dh.convention == "standard":
            after, end = slide, twist
        else:
            before, after = twist, slide
    if joint.dh is None:
        before, after = framed(joint.before), framed(joint.after)
    to_axis = Pose(_axis_rotation(link), np.zeros(3))
    return before @ to_axis, Pose(to_axis.rotation.T, np.zeros(3)) @ after, end


def hub_inertia(link: Link) -> Inertia:
    """Return the inertia of a joint's outboard hub about the root of the link.

    The hub's frame in the model file has the axes of the joint as the user defined them.
    """
    if link.joint.hub.outboard is None:
        return NO_INERTIA
    _, after, _ = joint_poses(link)
    root = Pose(_axis_rotation(link), np.zeros(3)) @ after
    back = Pose(root.rotation.T, -root.rotation.T @ root.position)
    return body_inertia(link.joint.hub.outboard).moved(back)


def _axis_rotation(link: Link) -> Array:
    """Return the rotation (3, 3) from the internal joint axes to the user's joint axes.

    The z axis of the internal joint axes is the axis of the joint.
    """
    return rotation_z_to(getattr(link.joint, "axis", (0.0, 0.0, 1.0)))


@kept
def own_inertia(link: Link) -> Inertia:
    """Return the inertia of an undeformed link, between joint and flexible tip, about its root.

    A sliding link has its full length outside the hub.
    """
    total = hub_inertia(link)
    if link.modal is not None:
        return total + read_body(link.modal.side_file).integrals.inertia
    total = total + body_inertia(link.rigid_body) + body_inertia(link.root_piece)
    if link.section is None:
        return total
    span = _span_inertia(Span.of(link.section, link.span))
    return total + span.moved(Pose.along(link.root_length))


def end_pose(link: Link) -> Pose:
    """Return the pose of a link's end frame, where the next joint attaches, in its tip frame."""
    if link.modal is not None:
        tip = read_body(link.modal.side_file).tip
        return Pose(tip.rotation, np.zeros(3)) @ joint_poses(link)[2]
    _, _, end = joint_poses(link)
    return Pose.along(link.tip_length) @ end


def tip_inertia(arm: Arm, index: int) -> Inertia:
    """Return the inertia of the bodies rigidly attached to a link's flexible tip.

    These bodies are the rigid tip piece, the link's payload, on the last link also the payload of
    the arm, and the inboard parts of the hubs of joints at the tip.
    """
    link = arm.links[index]
    total = body_inertia(link.tip_piece)
    for following in tree(arm).at_tip[index]:
        total = total + inboard_hub(arm, following).moved(mount_pose(arm, following))
    is_last = index == len(arm.links) - 1
    for payload in (link.payload, arm.payload if is_last else None):
        if payload is not None:
            total = total + body_inertia(payload).moved(end_pose(link))
    return total


def inboard_hub(arm: Arm, index: int) -> Inertia:
    """Return the inertia of the inboard part of a joint's hub, in the frame before the joint."""
    link = arm.links[index]
    # The hub's frame in the model file has the axes of the joint as the user defined them.
    frame = joint_poses(link)[0] @ Pose(_axis_rotation(link).T, np.zeros(3))
    return body_inertia(link.joint.hub.inboard).moved(frame)


def mount_pose(arm: Arm, index: int) -> Pose:
    """Return the pose of the frame before a joint in the flexible tip frame of its parent."""
    parent = arm.links[tree(arm).parents[index]]
    place = place_along(arm.links[index].at, parent)
    return Pose.along(place - parent.span_ends[1]) if isinstance(place, float) else end_pose(parent)


def pose_on_parent(arm: Arm, index: int) -> Pose:
    """Return the pose of the frame before a joint in the root frame of the link that carries it.

    The joint is within the link, which is undeformed. A carriage is at its initial station on the
    rail, by default in the middle.
    """
    connections = tree(arm)
    place, parent = connections.places[index], arm.links[connections.parents[index]]
    if isinstance(place, str):
        assert parent.modal is not None
        return read_body(parent.modal.side_file).frame(place).pose
    if place is not None:
        return Pose.along(place)
    start: float | None = next(iter(arm.links[index].joint.axes.values())).start.position
    return Pose.along(parent.length / 2 if start is None else start)


def outboard_inertia(arm: Arm, index: int, configuration: dict[str, float]) -> Inertia:
    """Return the inertia of all bodies outboard of a flexible tip as one rigid body.

    ``configuration`` contains joint values by name; joints that it does not name are at 0. Sliding
    links are fully extended. Links whose joints are not at this tip are excluded.
    """
    total = tip_inertia(arm, index)
    for following in tree(arm).at_tip[index]:
        carried = _carried(arm, following, configuration)
        total = total + carried.moved(mount_pose(arm, following))
    return total


def _carried(arm: Arm, index: int, configuration: dict[str, float]) -> Inertia:
    """Return the inertia of a link and all links that it carries, in the frame before its joint."""
    link = arm.links[index]
    pose, after, _ = joint_poses(link)
    values = [configuration.get(name, 0.0) for name in arm.axis_names(index)]
    for about, value in zip_longest(link.joint.turns_about, values):
        along = np.array([0.0, 0.0, link.joint.travel * value])
        pose = pose @ Pose(np.eye(3) if about is None else turn(about, value), along)
    root = pose @ after
    beyond = outboard_inertia(arm, index, configuration).moved(root @ _flexible_end(link))
    for within in tree(arm).within[index]:
        station = root @ pose_on_parent(arm, within)
        beyond = beyond + _carried(arm, within, configuration).moved(station)
        if within not in tree(arm).riders:
            beyond = beyond + inboard_hub(arm, within).moved(station)
    return own_inertia(link).moved(root) + beyond


def clamped_mass_ends(arm: Arm, index: int, choice: ClampedMass) -> Ends:
    """Return root and tip inertia for clamped-mass modes of a link.

    The tip body is given by the shape choice; by default it has the inertia of all outboard bodies.
    """
    if not isinstance(choice.tip, str):
        tip = choice.tip
        about_axis = tip.inertia - tip.mass * tip.offset**2
        return Ends(HELD, tip.mass, (about_axis, tip.inertia, tip.inertia), tip.offset)
    return clamped_ends(outboard_inertia(arm, index, choice.configuration))


def clamped_ends(body: Inertia) -> Ends:
    """Return the boundary conditions of a clamped root and a rigid body attached at the tip."""
    xx, yy, zz = np.diag(body.second).tolist()
    offset = body.first[0] / body.mass if body.mass > 0 else 0.0
    return Ends(HELD, body.mass, (xx, yy, zz), offset)


def loaded_ends(arm: Arm, index: int) -> Ends:
    """Return root and tip inertia for a link's loaded modes.

    The docstring of this module states the rule.
    """
    link = arm.links[index]
    tip = tip_inertia(arm, index)
    distal = {following: _from_link_on(arm)[following] for following in tree(arm).at_tip[index]}
    mass = sum(outboard for outboard, _ in distal.values())
    piece = link.tip_length
    through = [
        sum(_transmitted_inertia(arm, k, axis, inertia) for k, (_, inertia) in distal.items())
        for axis in range(3)
    ]
    lever = np.array([0.0, 1.0, 1.0]) * mass * piece**2
    total = tip.mass + mass
    offset = (tip.first[0] + mass * piece) / total if total > 0 else 0.0
    own = np.diag(tip.second)
    return Ends(
        root_inertia=_root_inertia(arm, index),
        tip_mass=total,
        tip_inertia=tuple((own + through + lever).tolist()),
        tip_offset=offset,
    )


def _root_inertia(arm: Arm, index: int) -> tuple[float, float, float]:
    link = arm.links[index]
    _, after, _ = joint_poses(link)
    hub = hub_inertia(link) + body_inertia(link.root_piece)
    result = [math.inf] * 3
    for which, about in enumerate(link.joint.turns_about):
        state = hold(arm, index, which).state
        rotor = reflected_rotor(link) if state == "geared" else 0.0
        direction = after.rotation.T @ np.eye(3)[about]
        for axis in range(3):
            if state != "held" and 2 * direction[axis] ** 2 > 1:  # within 45 degrees
                result[axis] = hub.second[axis, axis] + rotor
    return result[0], result[1], result[2]


def _transmitted_inertia(arm: Arm, following: int, axis: int, inertia: float) -> float:
    """Return the outboard inertia [kg m^2] about one tip axis that a joint transmits."""
    link = arm.links[following]
    _, _, end = joint_poses(arm.links[tree(arm).parents[following]])
    before, _, _ = joint_poses(link)
    for which, about in enumerate(link.joint.turns_about):
        direction = end.rotation @ before.rotation @ np.eye(3)[about]
        state = hold(arm, following, which, inboard=True).state
        if 2 * direction[axis] ** 2 > 1 and state != "held":  # within 45 degrees
            rotor = reflected_rotor(link) if state == "geared" else 0.0
            return rotor * inertia / (rotor + inertia) if rotor + inertia > 0 else 0.0
    return inertia


def outboard_mass(arm: Arm, index: int) -> float:
    """Return the total mass [kg] of all bodies outboard of a flexible tip."""
    distal = (_from_link_on(arm)[following][0] for following in tree(arm).at_tip[index])
    return tip_inertia(arm, index).mass + sum(distal)


@kept
def _from_link_on(arm: Arm) -> list[tuple[float, float]]:
    """Return mass [kg] and inertia about the joint [kg m^2] of each link and all links it carries.

    The inertia is averaged over the postures of the arm.
    """
    found = [(0.0, 0.0)] * len(arm.links)
    for index in reversed(range(len(arm.links))):
        link, tip, at_tip = arm.links[index], tip_inertia(arm, index), tree(arm).at_tip[index]
        mass, inertia = (sum(found[k][part] for k in at_tip) for part in range(2))
        own = own_inertia(link)
        carried = mass + tip.mass
        # planar arms give the inertia of a hub or payload as [0, 0, J]; the largest moment is used
        transverse = max(own.second[1, 1], own.second[2, 2])
        tip_part = np.diag(tip.second).max() + inertia
        mass, inertia = own.mass + carried, transverse + tip_part + carried * link_length(link) ** 2
        for within in tree(arm).within[index]:
            at, (outboard, further) = pose_on_parent(arm, within).position, found[within]
            mass, inertia = mass + outboard, inertia + further + outboard * (at @ at)
        found[index] = mass, inertia
    return found


def with_tip_body(modal: Array, shape: Array, angle: Array, body: Inertia) -> Array:
    """Return a modal mass matrix (m, m) plus the inertia of a rigid body at the tip.

    The tip displacement ``shape`` and rotation ``angle`` per amplitude have shape (3, m) each.
    """
    back, across = angle.swapaxes(-1, -2), np.tensordot(body.first, CROSS, axes=1)
    coupling = back @ across @ shape
    mass = np.asarray(body.mass)[..., None, None]
    own = mass * (shape.swapaxes(-1, -2) @ shape) + back @ body.second @ angle
    return np.asarray(modal + own + coupling + coupling.swapaxes(-1, -2))


def _flexible_end(link: Link) -> Pose:
    if link.modal is not None:
        return Pose(np.eye(3), read_body(link.modal.side_file).tip.position)
    return Pose.along(link.length - link.tip_length)


def link_length(link: Link) -> float:
    """Return the length of a link [m]; for an imported modal body, the distance from hub to tip."""
    return link.length if link.modal is None else read_body(link.modal.side_file).length


def _span_inertia(span: Span) -> Inertia:
    x, weight = span.quadrature(4)
    mu = weight * span.at("mass_per_length", x)
    first = np.array([mu @ x, 0.0, 0.0])
    rotary: Array = np.diag([weight @ span.at(n, x) for n in ("Jx", "Jy", "Jz")])
    return Inertia(mu.sum(), first, rotary + (mu @ x**2) * np.diag([0.0, 1.0, 1.0]))
