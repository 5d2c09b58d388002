"""Inertia at the two ends of a link, by which loaded modes and numbers of shapes are chosen.

The rule, per link and per axis of rotation of its ends.  *Root*: an axis that the joint turns about
is free against the hub's inertia, or against hub and reflected rotor, or held, as `holds` says of
the joint; every other axis is held.  *Tip*: everything outboard as a point mass, and its inertia
``J_d`` taken about the tip with the arm's bends averaged out; along the next joint's axis only what
its rotor can hold gets through, ``I_r J_d/(I_r + J_d)``, nothing through a free joint.
What rides along a link is not at its tip: the tip of a rail carries its own body alone.
"""

import math
from collections.abc import Callable
from functools import lru_cache, wraps
from itertools import zip_longest
from typing import TypeVar

import numpy as np

from flexarm.arm import Arm, Body, Link, RigidPiece
from flexarm.arm.part import Frame
from flexarm.arm.shapes import ClampedMass
from flexarm.links.base import Array, Ends
from flexarm.links.holds import hold, reflected_rotor
from flexarm.links.imported.file import read_body
from flexarm.links.remembered import Same, remembered
from flexarm.links.span import Span
from flexarm.spatial import (
    CROSS,
    IDENTITY,
    NO_INERTIA,
    Inertia,
    Pose,
    rotation_from_angles,
    rotation_z_to,
    skew_matrix,
    turn,
)

_ALONG = math.cos(math.radians(45))
HELD = (math.inf, math.inf, math.inf)
S = TypeVar("S")
T = TypeVar("T")


def kept(make: Callable[[S], T]) -> Callable[[S], T]:
    """Cache the result for a link or an arm, since each link needs those of all links beyond it."""
    return wraps(make)(lambda part: remembered((make, Same(part)), lambda: make(part)))


def body_inertia(body: Body | None) -> Inertia:
    """Return the inertia of a body about the frame that it is given in."""
    if body is None:
        return NO_INERTIA
    com = np.array(body.com)
    cross = skew_matrix(com)
    return Inertia(body.mass, body.mass * com, central_inertia(body) - body.mass * cross @ cross)


def central_inertia(body: Body) -> Array:
    """Return a body's inertia matrix about its centre of mass [kg m^2], (3, 3)."""
    xx, yy, zz, xy, xz, yz = (*body.inertia, 0.0, 0.0, 0.0)[:6]
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def piece_inertia(piece: RigidPiece | None) -> Inertia:
    """Return the inertia of a rigid end of a link about the frame that it begins in."""
    return NO_INERTIA if piece is None else body_inertia(piece.body)


def framed(frame: Frame | None) -> Pose:
    """Return a frame; its default is the given one."""
    if frame is None:
        return IDENTITY
    return Pose(rotation_from_angles(frame.rotation), np.array(frame.position))


@kept
def joint_poses(link: Link) -> tuple[Pose, Pose, Pose]:
    """Fold a link's constant frames: joint in previous tip, root in turned joint, end in tip.

    In the joint's frame z is the axis.
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
    """Return the inertia of a joint's outboard hub about the link's root.

    The model file has it in the axes that the user gave the joint.
    """
    if link.joint.hub.outboard is None:
        return NO_INERTIA
    _, after, _ = joint_poses(link)
    root = Pose(_axis_rotation(link), np.zeros(3)) @ after
    back = Pose(root.rotation.T, -root.rotation.T @ root.position)
    return body_inertia(link.joint.hub.outboard).moved(back)


def _axis_rotation(link: Link) -> Array:
    """Return the rotation from axes in which a joint's axis is z to those of the user."""
    return _rotation_to(getattr(link.joint, "axis", (0.0, 0.0, 1.0)))


@lru_cache(maxsize=1024)
def _rotation_to(axis: tuple[float, float, float]) -> Array:
    """Return a rotation of z to an axis, cached since an arm has few axes."""
    matrix = rotation_z_to(axis)
    matrix.flags.writeable = False
    return matrix


def joint_frame(link: Link) -> Pose:
    """Place the joint frame, with the axes that the user gave it, in the previous end frame."""
    before, _, _ = joint_poses(link)
    return before @ Pose(_axis_rotation(link).T, np.zeros(3))


@kept
def own_inertia(link: Link) -> Inertia:
    """Return the inertia of a link between joint and flexible tip, undeformed, about its root.

    A sliding link counts as fully extended.
    """
    total = hub_inertia(link)
    if link.modal is not None:
        return total + read_body(link.modal.side_file).integrals.inertia
    total = total + body_inertia(link.rigid_body) + piece_inertia(link.root_piece)
    if link.section is None:
        return total
    span = _span_inertia(Span.of(link.section, link.span))
    return total + span.moved(Pose.along(link.root_length))


def end_pose(link: Link) -> Pose:
    """Place a link's end, where the next joint's frames begin, in its flexible tip's frame."""
    if link.modal is not None:
        tip = read_body(link.modal.side_file).tip
        return Pose(tip.rotation, np.zeros(3)) @ joint_poses(link)[2]
    _, _, end = joint_poses(link)
    return Pose.along(link.tip_length) @ end


def tip_inertia(arm: Arm, index: int) -> Inertia:
    """Return the inertia that a flexible tip carries rigidly.

    Tip piece, inboard side of the next hub, payload.
    """
    link = arm.links[index]
    total = piece_inertia(link.tip_piece)
    if rides(arm, index + 1):
        return total
    if index + 1 < len(arm.links):
        following = arm.links[index + 1]
        inboard = body_inertia(following.joint.hub.inboard)
        return total + inboard.moved(end_pose(link) @ joint_frame(following))
    if arm.payload is not None:
        total = total + body_inertia(arm.payload).moved(end_pose(link))
    return total


def rides(arm: Arm, index: int) -> bool:
    """Whether a link rides along the one before it."""
    return index < len(arm.links) and arm.links[index].joint.rides


def ridden_at(arm: Arm, index: int) -> float:
    """Return the station of a riding link at the start [m]: by default the rail's middle."""
    start: float | None = next(iter(arm.links[index].joint.axes.values())).start.position
    return arm.links[index - 1].length / 2 if start is None else start


def outboard_inertia(arm: Arm, index: int, configuration: dict[str, float]) -> Inertia:
    """Return the inertia outboard of a flexible tip as one rigid body, at given joint values.

    Sliding links count as fully extended, joints not named stand at 0.  What rides along the link
    is not at its tip.
    """
    total = tip_inertia(arm, index)
    if index + 1 >= len(arm.links) or rides(arm, index + 1):
        return total
    return total + _carried(arm, index + 1, configuration).moved(end_pose(arm.links[index]))


def _carried(arm: Arm, index: int, configuration: dict[str, float]) -> Inertia:
    """Return the inertia of a link and all beyond it about the frame that its joint is in."""
    link = arm.links[index]
    pose, after, _ = joint_poses(link)
    values = [configuration.get(name, 0.0) for name in arm.axis_names(index)]
    for about, value in zip_longest(link.joint.turns_about, values):
        along = np.array([0.0, 0.0, link.joint.travel * value])
        pose = pose @ Pose(np.eye(3) if about is None else turn(about, value), along)
    root = pose @ after
    beyond = outboard_inertia(arm, index, configuration).moved(root @ _flexible_end(link))
    if rides(arm, index + 1):
        station = Pose.along(ridden_at(arm, index + 1))
        beyond = beyond + _carried(arm, index + 1, configuration).moved(root @ station)
    return own_inertia(link).moved(root) + beyond


def clamped_mass_ends(arm: Arm, index: int, choice: ClampedMass) -> Ends:
    """Return the ends of clamped-mass modes: the tip body given, or all that is outboard."""
    if not isinstance(choice.tip, str):
        tip = choice.tip
        about_axis = tip.inertia - tip.mass * tip.offset**2
        return Ends(HELD, tip.mass, (about_axis, tip.inertia, tip.inertia), tip.offset)
    return clamped_ends(outboard_inertia(arm, index, choice.configuration))


def clamped_ends(body: Inertia) -> Ends:
    """Clamp the root of a link and put a body at its tip."""
    xx, yy, zz = np.diag(body.second).tolist()
    offset = body.first[0] / body.mass if body.mass > 0 else 0.0
    return Ends(HELD, body.mass, (xx, yy, zz), offset)


def loaded_ends(arm: Arm, index: int) -> Ends:
    """Return the ends of a link's loaded modes, by the rule of this module."""
    link = arm.links[index]
    tip = tip_inertia(arm, index)
    mass, inertia = _distal(arm, index)
    piece = link.tip_length
    through = [_let_through(arm, index + 1, axis, inertia) for axis in range(3)]
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
    hub = hub_inertia(link) + piece_inertia(link.root_piece)
    result = [math.inf] * 3
    for which, about in enumerate(link.joint.turns_about):
        state = hold(arm, index, which).state
        rotor = reflected_rotor(link) if state == "geared" else 0.0
        direction = after.rotation.T @ np.eye(3)[about]
        for axis in range(3):
            if state != "held" and abs(direction[axis]) > _ALONG:
                result[axis] = hub.second[axis, axis] + rotor
    return result[0], result[1], result[2]


def _let_through(arm: Arm, following: int, axis: int, inertia: float) -> float:
    """Return the part of the outboard inertia that acts on a link's tip about one of its axes."""
    if following >= len(arm.links):
        return 0.0
    link = arm.links[following]
    _, _, end = joint_poses(arm.links[following - 1])
    before, _, _ = joint_poses(link)
    for which, about in enumerate(link.joint.turns_about):
        direction = end.rotation @ before.rotation @ np.eye(3)[about]
        state = hold(arm, following, which, inboard=True).state
        if abs(direction[axis]) > _ALONG and state != "held":
            rotor = reflected_rotor(link) if state == "geared" else 0.0
            return rotor * inertia / (rotor + inertia) if rotor + inertia > 0 else 0.0
    return inertia


def _distal(arm: Arm, index: int) -> tuple[float, float]:
    """Mass [kg] and bend-averaged inertia about the tip [kg m^2] of all links outboard of one."""
    return (0.0, 0.0) if rides(arm, index + 1) else _from_link_on(arm)[index + 1]


def outboard_mass(arm: Arm, index: int) -> float:
    """Return the mass of all that is outboard of a flexible tip [kg]."""
    return tip_inertia(arm, index).mass + _distal(arm, index)[0]


@kept
def _from_link_on(arm: Arm) -> list[tuple[float, float]]:
    """Return mass and bend-averaged inertia about its joint of each link with all it carries."""
    found = [(0.0, 0.0)] * (len(arm.links) + 1)
    for index in reversed(range(len(arm.links))):
        link, tip, beyond = arm.links[index], tip_inertia(arm, index), found[index + 1]
        riding = rides(arm, index + 1)
        mass, inertia = (0.0, 0.0) if riding else beyond
        own = own_inertia(link)
        carried = mass + tip.mass
        # planar arms give a hub or a payload as [0, 0, J]: the largest moment is what counts
        transverse = max(own.second[1, 1], own.second[2, 2])
        tip_part = np.diag(tip.second).max() + inertia
        mass, inertia = own.mass + carried, transverse + tip_part + carried * link_length(link) ** 2
        if riding:
            at = ridden_at(arm, index + 1)
            mass, inertia = mass + beyond[0], inertia + beyond[1] + beyond[0] * at**2
        found[index] = mass, inertia
    return found


def with_tip_body(modal: Array, shape: Array, angle: Array, body: Inertia) -> Array:
    """Add a body at the tip, which moves by (3, m) and turns by (3, m), to a modal mass (m, m)."""
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
    """Return the length of a link [m]; of a body with modes from hub to tip."""
    return link.length if link.modal is None else read_body(link.modal.side_file).length


def _span_inertia(span: Span) -> Inertia:
    x, weight = span.quadrature(4)
    mu = weight * span.at("mass_per_length", x)
    first = np.array([mu @ x, 0.0, 0.0])
    rotary: Array = np.diag([weight @ span.at(n, x) for n in ("Jx", "Jy", "Jz")])
    return Inertia(mu.sum(), first, rotary + (mu @ x**2) * np.diag([0.0, 1.0, 1.0]))
