"""From a tree of links to one chain: links on fixed joints merged, branches frozen."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from flexarm.arm.part import CONTROL, MAX_NAME
from flexarm.errors import ModelError
from flexarm.io.urdf.document import Robot, UrdfJoint
from flexarm.spatial import IDENTITY, NO_INERTIA, Inertia, Pose

ONE_AXIS = ("revolute", "continuous", "prismatic")


def chain_of(robot: Robot, tip: str | None) -> "Chain":
    """Choose the chain from the root of a robot to a link.

    Parameters
    ----------
    robot
        The tree.
    tip
        The link at the chain's end; None where there is one chain alone.

    Raises
    ------
    ModelError
        If the tree branches and no tip is chosen, there is no such link, or a joint on the way is
        of another kind than a serial arm has.
    """
    ends = robot.ends()
    if not ends:
        raise ModelError(f"{robot.name}: nothing moves: all of its joints are fixed")
    if tip is None and len(ends) > 1:
        raise ModelError(
            f"{robot.name}: branches, which a serial arm cannot: its branches end in "
            f"{some(ends)}; choose one (--tip LINK), the others are frozen at 0"
        )
    tip = ends[0] if tip is None else tip
    if tip not in robot.links:
        raise ModelError(f"--tip: there is no link '{tip}': branches end in {some(ends)}")
    path = robot.path_to(tip)
    moving = [joint for joint in path if joint.moves]
    if not moving:
        raise ModelError(f"--tip: no joint moves '{tip}': branches end in {some(ends)}")
    for joint in moving:
        _require_plain(joint)
    starts = [robot.root, *(joint.child for joint in moving)]
    segments = [_segment(robot, start, path) for start in starts]
    return Chain(tip, tuple(moving), tuple(segments), tuple(_notes(robot, moving, segments, tip)))


def some(names: list[str]) -> str:
    """Return up to twelve names as text, and the number of the others."""
    shown = ", ".join(names[:12])
    return shown if len(names) <= 12 else f"{shown} and {len(names) - 12} more"


def _require_plain(joint: UrdfJoint) -> None:
    if joint.urdf_type not in ONE_AXIS:
        raise ModelError(
            f"joint '{joint.name}': is {joint.urdf_type}, which a serial arm has at most as its "
            "base: make it fixed, and say 'base: {kind: free}' in the model file"
        )
    if joint.mimic:
        raise ModelError(
            f"joint '{joint.name}': follows another joint (mimic), which no joint of an arm can: "
            "choose another tip (--tip), or make it fixed"
        )


def _segment(robot: Robot, start: str, path: list[UrdfJoint]) -> "Segment":
    """Collect all links below a link, up to the chain's next moving joint."""
    onward = {joint.name for joint in path if joint.moves}
    end, frozen = IDENTITY, []
    members: list[SegmentMember] = []
    waiting: list[tuple[str, Pose, int | None]] = [(start, IDENTITY, None)]
    while waiting:
        name, pose, carrier = waiting.pop()
        members.append(SegmentMember(name, pose, robot.links[name].body.moved(pose), carrier))
        here = len(members) - 1
        if name == path[-1].child:
            end = pose
        for joint in robot.carried[name]:
            if joint.name in onward:
                end = pose @ joint.pose
                continue
            if joint.moves:
                frozen.append(joint.name)
            waiting.append((joint.child, pose @ joint.pose, here))
    return Segment(start, end, tuple(members), tuple(frozen))


def _notes(
    robot: Robot, moving: list[UrdfJoint], segments: list["Segment"], tip: str
) -> Iterator[str]:
    yield f"{len(moving)} joint{'s' * (len(moving) != 1)} from {robot.root} to {tip}"
    for segment in segments:
        if segment.merged:
            yield f"{segment.name}: with {some(list(segment.merged))}, fixed to it"
        if segment.frozen:
            yield f"{segment.name}: joints {some(list(segment.frozen))} branch off: frozen at 0"
    for segment in segments[1:]:
        for member in segment.members:
            if wrong := robot.links[member.name].no_body:
                yield f"{member.name}: {wrong}"


def plain_names(names: list[str]) -> list[str]:
    """Convert names of a URDF to names of a model file: different words of limited length."""
    result: list[str] = []
    for name in names:
        word = re.sub(r"[\s.\[\]=,:]", "_", CONTROL.sub("_", name))[: MAX_NAME - 4]
        tried, k = word, 2
        while tried in (*result, "base"):
            tried, k = f"{word}_{k}", k + 1
        result.append(tried)
    return result


@dataclass(frozen=True)
class SegmentMember:
    """A link of the URDF that is part of a segment; all in the segment's frame."""

    name: str
    pose: Pose  # the frame of the joint that carries it
    body: Inertia
    carrier: int | None  # index of the member that carries it, None of the first


@dataclass(frozen=True)
class Segment:
    """Links of a URDF that move as one rigid body: one that a joint moves, and all fixed to it."""

    name: str  # the link that its joint carries; its frame is that joint's, moved
    end: Pose  # the next joint's frame, or the tip's, in it
    members: tuple[SegmentMember, ...]  # its links, its own first, carriers before what they carry
    frozen: tuple[str, ...]  # joints that branch off and do not move

    @property
    def body(self) -> Inertia:
        """Inertia of all members in the segment's frame."""
        return sum((member.body for member in self.members), NO_INERTIA)

    @property
    def merged(self) -> tuple[str, ...]:
        """Names of the links that are fixed to it."""
        return tuple(member.name for member in self.members[1:])


@dataclass(frozen=True)
class Chain:
    """Joints from base to tip, and the segment on each; the first segment is the base."""

    tip: str
    joints: tuple[UrdfJoint, ...]
    segments: tuple[Segment, ...]
    notes: tuple[str, ...]
