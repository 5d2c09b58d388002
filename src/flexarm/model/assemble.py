"""Assembly of a model from an arm and the shape functions of its links."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from flexarm.arm import Arm, FreeBase, Link, MovedBase
from flexarm.arm.shapes import CraigBampton, Lumped
from flexarm.errors import ModelError
from flexarm.links.base import Shapes, Span
from flexarm.links.body_data import BodyData, RigidData
from flexarm.links.end_loads import (
    body_inertia,
    end_pose,
    hub_inertia,
    inboard_hub,
    joint_poses,
    link_length,
    mount_pose,
    own_inertia,
    reflected_rotor,
    tip_inertia,
)
from flexarm.links.rails.rail import Rail
from flexarm.links.tree import tree
from flexarm.model.elastic import (
    Theory,
    check_amplitudes,
    flexible_part,
    naming_link,
    reduced_part,
    sliding_beam,
)
from flexarm.model.joints import JointMotion, motion_of
from flexarm.model.parts import (
    BASE_COORDINATES,
    Axis,
    LinkModel,
    Model,
    Rotor,
    TipRotation,
)
from flexarm.model.points import ArmPoint, ArmPoints, require_frames
from flexarm.model.spans import item, number_in_file, single_spans
from flexarm.spatial import IDENTITY, NO_INERTIA, Array, Inertia, Pose, rotation_from_angles

TURNS = ("tip_rx", "tip_ry", "tip_rz")  # names of rotational amplitudes of a reduced body's tip
ShapesOf = Callable[[int, Span], Shapes]
BodyOf = Callable[[Arm, int, Theory, ShapesOf], BodyData]


def body_data(arm: Arm, index: int, theory: Theory, shapes_of: ShapesOf) -> BodyData:
    """Build the data of a link's body, which may be reduced, rigid, sliding or of fixed length."""
    link = arm.links[index]
    if link.modal is not None:
        return reduced_part(arm, index)
    if not link.flexible:
        return RigidData()
    build_part = sliding_beam if motion_of(link.joint).deforming((0,)) else flexible_part
    return build_part(arm, index, theory, shapes_of)


def assemble(
    arm: Arm,
    theory: Theory,
    tip_rotation: TipRotation,
    shapes_of: ShapesOf,
    body_of: BodyOf = body_data,
) -> Model:
    """Build the model of an arm with given shape functions.

    Parameters
    ----------
    arm
        The arm.
    theory
        Beam theory of its flexible links.
    tip_rotation
        Parametrisation of the tip rotation of each link.
    shapes_of
        Function that returns the shape functions of a link, from the link's index and span. A link
        of several spans has one index per span.
    body_of
        Function that builds the data of a link's body from its shape functions.

    Raises
    ------
    ModelError
        If the arm has no coordinates, or a link, joint or shape is invalid.
    """
    names: list[str] = []
    units: list[str] = []
    base_moves = isinstance(arm.base, FreeBase | MovedBase)
    if base_moves:
        names += [f"base.{c}" for c in BASE_COORDINATES]
        units += ["m"] * 3 + ["rad"] * 3
    links: list[LinkModel] = []
    require_frames(arm)
    chain = single_spans(arm)
    for i, parent in enumerate(tree(chain).parents):
        rail = None
        if i in tree(chain).riders and links[parent].flexible:
            rail = _rail(chain, i, links[parent], theory)
        mount = _mount(chain, i, rail is not None)
        link = _build_link(chain, i, mount, theory, names, units, shapes_of, body_of)
        links.append(replace(link, rail=rail))
    if not names:
        raise ModelError(
            "links: nothing in this arm can move, since every joint is fixed and every link "
            "rigid. Give a joint another kind, or a link a section and shapes."
        )
    base_body = body_inertia(arm.base.body) if isinstance(arm.base, FreeBase) else NO_INERTIA
    for i in tree(chain).children[-1]:
        base_body = base_body + inboard_hub(chain, i)
    prescribed = list(range(6)) if isinstance(arm.base, MovedBase) else []
    prescribed += [axis.index for part in links for axis in part.axes if axis.prescribed]
    return Model(
        arm=arm,
        stiffening=theory.stiffening,
        tip_rotation=tip_rotation,
        names=tuple(names),
        units=tuple(units),
        base_pose=Pose(rotation_from_angles(arm.base.rotation), np.array(arm.base.position)),
        base_body=base_body,
        base_moves=base_moves,
        links=tuple(links),
        end_pose=end_pose(chain.links[-1]),
        gravity=np.array(arm.gravity),
        prescribed=tuple(prescribed),
        points=ArmPoints.of(arm, lambda index: links[index].body.panels()),
        nodes=theory.nodes,
        orbit=arm.base.mean_motion if isinstance(arm.base, FreeBase) else 0.0,
    )


def _mount(arm: Arm, index: int, is_on_rail: bool) -> tuple[Pose, ArmPoint | None]:
    """Return where a joint is on the link that carries it.

    The first result is the constant pose of the frame before the joint in frame F of the carrying
    section. The second result is the place of F, or None if F is the flexible tip: sections beyond
    the tip, and all sections of a rigid link, move with the tip.
    """
    connections = tree(arm)
    parent, place = connections.parents[index], connections.places[index]
    if parent < 0 or is_on_rail:
        return IDENTITY, None
    link = arm.links[parent]
    if index in connections.riders:  # on a rigid link, the station is measured from the root
        return Pose.along(link.tip_length - link.length), None
    if place is None:
        return mount_pose(arm, index), None
    return IDENTITY, ArmPoint.on(arm, parent, place)


def _rail(arm: Arm, index: int, carrier: LinkModel, theory: Theory) -> Rail:
    """Return the shape functions of the flexible link along which another link rides."""
    beam = carrier.beam
    if theory.stiffening and beam.nodes is None:
        raise ModelError(
            f"{item(arm, index)}.joint: the rail of a carriage must be an exact or a linear "
            "link. Build the model without series=True."
        )
    parent = tree(arm).parents[index]
    with naming_link(arm, parent):
        return Rail.of(beam.span, beam.shapes, beam.nodes, arm.links[parent].root_length)


def _build_link(
    arm: Arm,
    index: int,
    mount: tuple[Pose, ArmPoint | None],
    theory: Theory,
    names: list[str],
    units: list[str],
    shapes_of: ShapesOf,
    body_of: BodyOf,
) -> LinkModel:
    link, name = arm.links[index], arm.link_names[index]
    pose_to_joint, pose_to_root, _ = joint_poses(link)
    root = Pose.along(link.root_length)
    parent, (before, place) = tree(arm).parents[index], mount
    rail = arm.links[parent] if parent >= 0 else None
    motion, pose_to_joint, pose_to_root = motion_of(link.joint).mounted(
        link, rail, pose_to_joint, pose_to_root
    )
    axes = _axes(arm, index, motion, names, units)
    data = body_of(arm, index, theory, shapes_of)
    labels = data.names
    if link.flexible and not labels:
        raise ModelError(
            f"{item(arm, index)}.shapes: {name} has no shape in any direction. Give at least "
            "one, or write 'rigid: true'."
        )
    first = len(names)
    for label in labels:
        _append_coordinate(names, units, f"{name}.{label}", _unit(link, label))
    check_amplitudes(arm, index, labels)
    root_turns = bool(np.any(data.root_turn))
    if root_turns:
        _check_hub_axis(arm, index, data.root_turn, pose_to_root, motion)
    body = _root_body(link, with_hub=not root_turns)
    return LinkModel(
        name=name,
        number=number_in_file(arm, index),
        joint_name=arm.joint_names[index],
        link=link,
        motion=motion,
        parent=parent,
        place=place,
        mount_body=NO_INERTIA if place is None else inboard_hub(arm, index),
        pose_FJ=before @ pose_to_joint,
        pose_JL=pose_to_root @ root,
        root_body=body.moved(Pose(np.eye(3), -root.position)),
        hub_body=hub_inertia(link).moved(pose_to_root) if root_turns else NO_INERTIA,
        tip_body=tip_inertia(arm, index),
        length=link_length(link) - link.root_length - link.tip_length,
        axes=axes,
        modes=slice(first, len(names)),
        body=data,
        rotor=_rotor(axes[0], before @ pose_to_joint, motion) if axes else None,
    )


def _axes(
    arm: Arm, index: int, motion: JointMotion, names: list[str], units: list[str]
) -> tuple[Axis, ...]:
    """Return the axes of a joint, and append their coordinates' names and units to two lists.

    The motor coordinate of an elastic drive precedes the joint coordinate.
    """
    axes, number = [], number_in_file(arm, index)
    axes_of, axis_names = arm.links[index].joint.axes, arm.axis_names(index)
    for name, (label, actuation), unit in zip(
        axis_names, axes_of.items(), motion.units, strict=True
    ):
        motor = (
            _append_coordinate(names, units, f"{name}.motor", unit) if actuation.elastic else None
        )
        coordinate = _append_coordinate(names, units, name, unit)
        axes.append(Axis(name, label, index, number, actuation, coordinate, motor, unit))
    return tuple(axes)


def _rotor(axis: Axis, pose: Pose, motion: JointMotion) -> Rotor | None:
    """Return the rotor on the first axis of a joint; None without a drive or rotor inertia."""
    drive = axis.acts.drive
    if drive is None or drive.rotor_inertia == 0:
        return None
    direction = pose.rotation[:, motion.rotor_axis] if drive.rotor == "full" else None
    coordinate = axis.index if axis.motor is None else axis.motor
    return Rotor(drive.rotor_inertia, drive.gear_ratio, coordinate, direction)


def _root_body(link: Link, *, with_hub: bool) -> Inertia:
    """Return the inertia of the rigid bodies fixed in a link's root frame.

    The flexible span is not included.
    """
    if not link.flexible:
        return own_inertia(link)
    total = body_inertia(link.root_piece)
    return total + hub_inertia(link) if with_hub else total


def _unit(link: Link, label: str) -> str:
    if link.modal is not None:
        return "rad" if label in TURNS else "m"
    if isinstance(link.shapes, Lumped) and "stretch" not in label:
        return "rad"
    if isinstance(link.shapes, CraigBampton) and label in ("y2", "z2"):
        return "rad"
    return "rad" if "twist" in label or "slope" in label else "m"


def _append_coordinate(names: list[str], units: list[str], name: str, unit: str) -> int:
    names.append(name)
    units.append(unit)
    return len(names) - 1


def _check_hub_axis(
    arm: Arm, index: int, root_turn: Array, root_pose: Pose, motion: JointMotion
) -> None:
    """Raise an error for shapes whose root rotation is incompatible with the joint.

    Incompatible shapes rotate the root about an axis that the joint constrains, or rotate a hub
    that a rigid transmission connects to a rotor.
    """
    axis = root_pose.rotation.T @ np.array([0.0, 0.0, 1.0])
    off_axis = root_turn - np.outer(axis, axis @ root_turn)
    largest = np.abs(root_turn).max()
    if not motion.hinge or np.abs(off_axis).max() > 1e-9 * largest:
        raise ModelError(
            f"{item(arm, index)}.shapes: {arm.links[index].shapes.kind} shapes turn the root of "
            "the link about an axis that the joint holds. Use them only in the plane in which a "
            "revolute joint turns."
        )
    elastic_drives = (acts.elastic for acts in arm.links[index].joint.axes.values())
    if reflected_rotor(arm.links[index]) > 0 and not all(elastic_drives):
        raise ModelError(
            f"{item(arm, index)}.shapes: {arm.links[index].shapes.kind} shapes turn the "
            "hub, and with it a rotor behind a rigid transmission, which is not "
            "modelled. Use loaded shapes, or give the drive a stiffness."
        )
