"""Geometry of an arm and its surroundings for an HTML page.

The script of the page computes the pose of the arm from coordinates and shape functions. Runs
therefore need little memory, modes are drawn like runs, and deflections can be enlarged.
"""

from dataclasses import replace
from itertools import zip_longest
from typing import Any

import casadi as ca
import numpy as np

from flexarm.arm import FreeBase, Link, MovedBase
from flexarm.arm.forces import Obstacle, Plane, Sphere
from flexarm.arm.mission import PAYLOAD
from flexarm.arm.section import IBeam, Tube
from flexarm.arm.shapes import Lumped
from flexarm.arm.side_files import Mesh
from flexarm.errors import ModelError
from flexarm.integrate.mission.bodies import FreeBodyState, released_body
from flexarm.io.meshes import coarser, read_mesh
from flexarm.links.base import Span
from flexarm.links.collocation import Collocation
from flexarm.links.end_loads import end_pose
from flexarm.links.imported.body import ReducedBody
from flexarm.links.integrals import section_tables
from flexarm.links.rails.rail import Rail, stacked
from flexarm.mechanics.bodies import body_of
from flexarm.mechanics.bodies.deformed import Deformed
from flexarm.mechanics.deformed import deformed
from flexarm.mechanics.kinematics import frames
from flexarm.mechanics.point_forces import Attached, lines, place, touches
from flexarm.model import ArmPoint, LinkModel, Model
from flexarm.runs.constants import STATIONS
from flexarm.runs.contents import equation_of
from flexarm.runs.data import RunData
from flexarm.runs.plot import at_samples
from flexarm.spatial import Array, Expr, Pose, base_rotation_matrix, rotation_from_angles
from flexarm.viewer.bundle import Arrays
from flexarm.viewer.constants import BODY_TIMES

BASE_COLUMNS = 12  # columns of a base's pose: position, and rotation row by row


def scene(model: Model, arrays: Arrays) -> dict[str, Any]:
    """Return page data on the geometry of an arm, for the drawn states of `states`."""
    arm = model.arm
    is_free = isinstance(arm.base, FreeBase)
    kind = "free" if is_free else "moved" if isinstance(arm.base, MovedBase) else "fixed"
    column = BASE_COLUMNS if model.base_moves else 0
    links = []
    for part in model.links:
        links.append(_link(model, part, column, arrays))
        if part.rail:
            links[part.parent]["shape"]["rail"] = _rail(part.rail, column, arrays)
        amplitudes = body_of(model, part).drawn_amplitudes(np.ones((1, model.size)))
        column += _joint_width(part) + int(amplitudes.shape[1])
    payload = arm.payload
    return {
        "name": arm.name,
        "notes": arm.notes,
        "gravity": model.gravity.tolist(),
        "stiffening": model.stiffening,
        "firstOrder": model.tip_rotation == "first-order",
        "base": {
            "kind": kind,
            "moves": model.base_moves,
            "pose": _pose(model.base_pose),
            "mesh": _mesh(arm.base.mesh, "base", arrays),
        },
        "links": links,
        "end": _pose(model.end_pose),
        "payload": None
        if payload is None or payload.mass == 0
        else {"mass": payload.mass, "com": list(payload.com)},
    }


def states(model: Model, q: Array, reference_attitudes: Array) -> Array:
    """Return the states that the page draws: base, then joint and shapes of each link.

    Parameters
    ----------
    model
        The arm.
    q
        Coordinates at T samples, (T, n).
    reference_attitudes
        Reference attitudes of a free base and of spherical joints at T samples, (T, 3 k, 3).
    """
    columns = [np.zeros((len(q), 0))]
    attitudes = [*np.split(reference_attitudes, max(len(model.attitudes), 1), axis=1)]
    if model.base_moves:
        reference_attitude = (
            attitudes.pop(0) if model.floats else np.tile(model.base_pose.rotation, (len(q), 1, 1))
        )
        columns += [model.base_pose.position + q[:, :3], _turned(reference_attitude, q[:, 3:6])]
    for part in model.links:
        coordinates = q[:, part.coordinates]
        columns.append(
            _turned(attitudes.pop(0), coordinates) if part.motion.has_reference else coordinates
        )
        columns.append(body_of(model, part).drawn_amplitudes(q))
    return np.concatenate(columns, axis=1)


def _turned(reference_attitudes: Array, angles: Array) -> Array:
    """Return rotation matrices, (T, 9), from reference attitudes (T, 3, 3) and angles (T, 3)."""
    rotations = [
        a @ base_rotation_matrix(row) for a, row in zip(reference_attitudes, angles, strict=True)
    ]
    return np.array(rotations).reshape(len(angles), 9)


def shows_strain(part: LinkModel) -> bool:
    """Return whether the page can show the strain of a link.

    The strain is known if the link's section has an outline and its shapes have a curvature, which
    lumped shapes do not have.
    """
    section = part.link.section
    has_outline = section is not None and section.shape is not None
    return part.flexible and has_outline and not isinstance(part.link.shapes, Lumped)


def _joint_width(part: LinkModel) -> int:
    return 9 if part.motion.has_reference else len(part.axes)


def _bent(model: Model, part: LinkModel) -> Deformed:
    """Return the shape functions of a flexible link, over x, or over x/l if the link slides."""
    return deformed(model, part, np.ones((1, model.size)))


def _link(model: Model, part: LinkModel, column: int, arrays: Arrays) -> dict[str, Any]:
    mounted = _body_frame(model, part, arrays)
    data: dict[str, Any] = {
        "name": part.name,
        "joint": part.joint_name,
        "moves": _moves(part),
        "attitude": part.motion.has_reference,
        "rides": part.on_rail,
        "parent": part.parent,
        "at": None if part.place is None or mounted else part.place.x,
        "frame": mounted,
        "before": _pose(part.pose_FJ),
        "after": _pose(part.pose_JL),
        "length": part.length,
        "column": column if part.axes else None,
        "section": _section(part, arrays),
        "strain": shows_strain(part),
        "payload": _payload(part.link),
        "mesh": _mesh(part.link.mesh, part.name, arrays),
        "shape": None,
    }
    if not part.body.sectioned:
        data["shape"] = _body(model, part.imported, column + _joint_width(part), arrays)
    elif part.flexible:
        data["shape"] = _shape(model, part, column + _joint_width(part), arrays)
    return data


def _body_frame(model: Model, part: LinkModel, arrays: Arrays) -> dict[str, Any] | None:
    """Return page data on the frame of a modal body that carries a link; None for other places."""
    if part.place is None or not isinstance(part.place.x, str):
        return None
    frame = model.links[part.parent].imported.frame(part.place.x)
    tables = {"moved": arrays.add(frame.shape), "turned": arrays.add(frame.angle)}
    return {"pose": _pose(frame.pose), **tables}


def _payload(link: Link) -> dict[str, Any] | None:
    """Return page data on a link's payload and its place in the tip frame; None if none."""
    if link.payload is None or link.payload.mass == 0:
        return None
    centre = end_pose(link) @ Pose(np.eye(3), np.array(link.payload.com))
    return {"mass": link.payload.mass, "com": centre.position.tolist()}


def _mesh(mesh: Mesh | None, name: str, arrays: Arrays) -> dict[str, Any] | None:
    """Return page data on the mesh of a body, coarsened; None without a mesh."""
    if mesh is None:
        return None
    try:
        points, faces = coarser(*read_mesh(mesh.side_file.content, mesh.file))
    except ModelError as error:
        raise ModelError(f"{name}: mesh: {error}") from None
    return {"points": arrays.add(points * mesh.scale), "faces": arrays.add(faces.astype(float))}


def _moves(part: LinkModel) -> list[dict[str, Any]]:
    """Return page data on the motion of a joint: axes of rotation, or travel along z."""
    axes = () if part.range is not None else part.axes
    return [
        {"about": about, "travel": part.link.joint.travel if axis.turns else 1.0}
        for axis, about in zip_longest(axes, part.link.joint.turns_about[: len(axes)])
    ]


def _shape(model: Model, part: LinkModel, column: int, arrays: Arrays) -> dict[str, Any]:
    """Return page data on shape functions at points along a link."""
    link = _bent(model, part)
    shapes, points = link.shapes, np.linspace(0.0, link.beam.span.length, STATIONS)
    curvatures = np.stack([shapes.values("y", points, 2), shapes.values("z", points, 2)], axis=1)
    data = {
        "column": column,
        "count": shapes.count,
        "sliding": part.range is not None,
        "rigidPieces": isinstance(part.link.shapes, Lumped),
        "turned": arrays.add(shapes.rotation(points)),
        "stretch": arrays.add(shapes.values("x", points, 1)),
        "bend": arrays.add(curvatures),
        "rigidity": arrays.add(rigidity(link, points)),
    }
    if part.exact is not None:
        return data | {"nodes": _nodes(part.exact, points, arrays)}
    return data | _series(model, part, points, arrays)


def rigidity(link: Deformed, points: Array) -> Array:
    """Return EIz and EIy [N m^2] at S points along a link, (S, 2); 0 in rigid directions."""
    span, names = link.beam.span, ("EIz", "EIy")
    return np.stack([span.at(k, points) if span.has(k) else 0 * points for k in names], axis=1)


def _rail(rail: Rail, column: int, arrays: Arrays) -> dict[str, Any]:
    """Return tables of a rail's shape functions, and the carriage's column in the drawn state."""
    data: dict[str, Any] = {
        "column": column,
        "root": rail.root,
        "edges": rail.edges.tolist(),
        "moved": arrays.add(stacked([rail.x[0], rail.y[0], rail.z[0]])),
        "turned": arrays.add(stacked([rail.twist[0], -rail.z[1], rail.y[1]])),
    }
    if rail.reach is not None:
        data["reach"] = arrays.add(rail.reach[0])
    return data


def _body(model: Model, body: ReducedBody, column: int, arrays: Arrays) -> dict[str, Any]:
    """Return page data on a general flexible body: centre line, and points beside this line."""
    fractions, drawing = np.linspace(0.0, 1.0, STATIONS), body.drawn
    centre_line, displacements = drawing.line(fractions)
    rotations = fractions[:, None, None] * body.tip_angle
    tables = () if body.second_order is None or not model.stiffening else (
        body.second_order.tip, body.second_order.tip_angle)  # fmt: skip
    quadratic = [
        [{"axis": k, "table": arrays.add(fractions[:, None, None] * table[k])} for k in range(3)]
        for table in tables
    ] or [[], []]
    return {
        "column": column,
        "count": len(body.names),
        "sliding": False,
        "rigidPieces": True,  # has no curvature to colour
        "turned": arrays.add(rotations),
        "stretch": arrays.add(np.zeros((STATIONS, len(body.names)))),
        "bend": arrays.add(np.zeros((STATIONS, 2, len(body.names)))),
        "rigidity": arrays.add(np.zeros((STATIONS, 2))),
        "moved": arrays.add(displacements),
        "quadratic": quadratic[0],
        "quadraticTurn": quadratic[1],
        "rest": arrays.add(centre_line),
        "points": arrays.add(drawing.places[drawing.axis :]),
        "pointsMoved": arrays.add(drawing.moved[drawing.axis :]),
        "lines": (drawing.lines - drawing.axis).tolist(),
        "faces": (drawing.faces - drawing.axis).tolist(),
    }


def _nodes(nodes: Collocation, points: Array, arrays: Arrays) -> dict[str, Any]:
    """Return slopes and stretch at the nodes of an exact beam, and its tangent length."""
    return {
        "bend": arrays.add(nodes.bend),
        "stretch": arrays.add(nodes.stretch),
        "straight": arrays.add(nodes.straight),
        "reach": arrays.add(nodes.reach(points)),
    }


def _series(model: Model, part: LinkModel, points: Array, arrays: Arrays) -> dict[str, Any]:
    """Return linear and quadratic displacements and quadratic rotations along a link."""
    link, quadratic_shapes = _bent(model, part), part.link.quadratic_shapes
    shapes, edges = link.shapes, link.beam.edges
    tables = section_tables(
        shapes, points, edges, stiffening=model.stiffening, extra=quadratic_shapes
    )
    displacements, _, second_order, second_order_turn = tables
    data: dict[str, Any] = {"moved": arrays.add(displacements)}
    for name, table in (("quadratic", second_order), ("quadraticTurn", second_order_turn)):
        axes = [k for k in range(3) if np.any(table[:, k])]
        data[name] = [{"axis": k, "table": arrays.add(table[:, k])} for k in axes]
    return data


def _section(part: LinkModel, arrays: Arrays) -> dict[str, Any] | None:
    """Return the outline of a link's section, width along y, height along z; None if unknown."""
    section = part.link.section
    if section is None:
        return None
    if section.stations is not None:
        return _tapered(Span.of(section, part.link.span), part, arrays)
    shape = section.shape
    if shape is None:
        return None
    if isinstance(shape, Tube):
        return {"kind": "tube", "width": shape.diameter, "height": shape.diameter}
    outline = {"kind": shape.kind, "width": shape.width, "height": shape.height}
    if isinstance(shape, IBeam):
        outline |= {"flange": shape.flange, "web": shape.web}
    return outline


def _tapered(span: Span, part: LinkModel, arrays: Arrays) -> dict[str, Any]:
    """Return width and height along a link whose section is a table of stations.

    Notes
    -----
    A table of section properties has no outline. The page draws a solid ellipse with the same radii
    of gyration; its axes are 4 times these radii. The radii of gyration are sqrt(EI/EA), or
    sqrt(J/m) if EA is not given. If neither EA nor J is given, sqrt(EI/m) is used, which has the
    right proportions along the link but an unknown factor sqrt(E/density).
    """
    points = np.linspace(0.0, part.length, STATIONS if part.flexible else 2)
    root_length = 0.0 if part.link.root_piece is None else part.link.root_piece.length
    sides, metric = _gyration(span, np.clip(points - root_length, 0.0, span.length))
    largest = sides.max(axis=0)
    width, height = 4 * largest if metric else largest / largest.max()
    return {
        "kind": "tube",
        "width": float(width),
        "height": float(height),
        "relative": not metric,
        "profile": arrays.add(sides / largest),
    }


def _gyration(span: Span, x: Array) -> tuple[Array, bool]:
    """Return radii of gyration along y and z, (S, 2), and whether these are in metres."""
    mass = span.at("mass_per_length", x)
    bending = [name for name in ("EIz", "EIy") if span.has(name)]
    rotary = [name for name in ("Jz", "Jy") if np.all(span.table[name] > 0)]
    if bending and span.has("EA"):
        names, divisor, metric = bending, span.at("EA", x), True
    elif rotary:
        names, divisor, metric = rotary, mass, True
    elif bending:
        names, divisor, metric = bending, mass, False
    else:
        names, divisor, metric = ["mass_per_length"], np.ones_like(mass), False
    radii = [np.sqrt(span.at(name, x) / divisor) for name in names]
    return np.stack([radii[0], radii[-1]], axis=1), metric


def _pose(pose: Pose) -> dict[str, list[float]]:
    return {"R": pose.rotation.ravel().tolist(), "p": pose.position.tolist()}


def obstacles(model: Model) -> list[dict[str, Any]]:
    """Return page data on the obstacles in the world, without duplicates."""
    arm, data_of_obstacle = model.arm, {}
    for name, contact in zip(arm.contact_names, arm.contacts, strict=True):
        if contact.obstacle.on is None and contact.obstacle not in data_of_obstacle:
            data_of_obstacle[contact.obstacle] = {"name": name, **_solid(contact.obstacle)}
    return list(data_of_obstacle.values())


def _solid(shape: Obstacle) -> dict[str, Any]:
    """Return page data on the form of an obstacle and its place in the frame that carries it."""
    if isinstance(shape, Plane):
        geometry: dict[str, Any] = {"point": list(shape.point), "normal": list(shape.normal)}
    elif isinstance(shape, Sphere):
        geometry = {"point": list(shape.centre), "radius": shape.radius, "inside": shape.inside}
    else:
        rotation = rotation_from_angles(shape.rotation)
        geometry = {
            "point": list(shape.centre),
            "size": list(shape.size),
            "R": rotation.ravel().tolist(),
        }
    return {"kind": shape.kind, **geometry}


def free_bodies(run: RunData, arrays: Arrays) -> list[dict[str, Any]]:
    """Return page data on the free bodies: name, mass and positions at the samples."""
    return [
        {"name": name, "mass": mass, "places": arrays.add(positions.T)}
        for name, mass, positions in body_places(run)
    ]


def body_places(run: RunData) -> list[tuple[str, float, Array]]:
    """Return name, mass [kg] and positions (T, 7) of all free bodies.

    The columns of the positions are the fixture (3), the centre of mass (3) [m], and 1 while the
    tip holds the body, else 0. While the tip holds the body, its positions are in the tip frame,
    otherwise in the world.
    """
    arm = run.model.arm
    names = [body.name for body in arm.bodies]
    if arm.payload is not None and any(event.let_go == PAYLOAD for event in arm.events):
        names.append(PAYLOAD)
    bodies = []
    for name in names:
        body = FreeBodyState.named(name, run.model)
        bodies.append((name, body.inertia.mass, _follow(run, name, body, held=name == PAYLOAD)))
    return bodies


def _follow(run: RunData, name: str, body: FreeBodyState, *, held: bool) -> Array:
    """Return the positions of a free body, (T, 7), before and after capture and release."""
    rows = np.zeros((len(run.t), 7))
    titles = {e.title for e in run.model.arm.events if name in (e.capture, e.let_go)}
    times = [event.t for event in run.event_records if event.what in titles]
    changed_rows = np.minimum(np.searchsorted(run.t, times), len(run.t) - 1).tolist()
    ends = zip([0, *changed_rows], [*changed_rows, len(run.t)], strict=True)
    for part, (first, last) in enumerate(ends):
        if part:
            tip, t = Pose(run.tip_rotation[first], run.tip[first]), float(run.t[first])
            if held:
                twist = equation_of(run).tip_velocity(run.q, run.v)[first]
                body = released_body(body, tip, twist, body.pose, t)
            else:
                body = replace(body, pose=tip.inverse() @ body.at(t).pose)
            held = not held
        if first == last:
            continue
        rows_ = np.unique(np.linspace(first, last - 1, BODY_TIMES).astype(int))
        positions = []
        for t in run.t[rows_].tolist():
            body = body if held else body.at(t)
            positions.append([*body.pose.position, *body.centre, float(held)])
        for column, values in enumerate(np.transpose(positions)):
            rows[first:last, column] = np.interp(run.t[first:last], run.t[rows_], values)
    return rows


def point_marks(run: RunData, arrays: Arrays) -> dict[str, list[dict[str, Any]]]:
    """Return page data on contacts and springs, with offsets from their links.

    The ``walls`` are obstacles that move, with the pose of the frame that carries each of them.
    """
    model, arm = run.model, run.model.arm
    if not (arm.contacts or arm.springs):
        return {"touches": [], "coils": [], "walls": []}
    traced = at_samples(model, run.reference_attitudes, _traced, run.q, run.v)
    values = (value[..., 0].T for value in traced)
    contacts = [
        {
            "name": name,
            "holder": _holder(model, point),
            "offset": arrays.add(next(values)),
            "force": arrays.add(next(values)),
        }
        for name, point in zip(arm.contact_names, model.points.contacts, strict=True)
    ]
    springs = [
        {
            "name": name,
            "holders": [_holder(model, point) for point in pair],
            "offsets": [arrays.add(next(values)) for _ in pair],
        }
        for name, pair in zip(arm.spring_names, model.points.springs, strict=True)
    ]
    walls = [
        {"name": name, **_solid(contact.obstacle), "pose": arrays.add(next(values))}
        for name, contact in zip(arm.contact_names, arm.contacts, strict=True)
        if contact.obstacle.on is not None
    ]
    return {"touches": contacts, "coils": springs, "walls": walls}


def _holder(model: Model, point: ArmPoint) -> dict[str, Any] | None:
    """Return the link that has a point, and the point's fraction of the link's length.

    Return None for a point of the base, of the world, or at a named frame of a body.
    """
    if _is_placed(point):
        return None
    if point.x == "end":
        return {"link": None, "along": 1.0}
    part = model.links[point.link]
    along = point.x / (part.length or 1.0) if isinstance(point.x, float) else 1.0
    return {"link": point.link, "along": min(along, 1.0)}


def _traced(model: Model, q: Expr, v: Expr) -> list[Expr]:
    """Return expressions of points and forces, in the order of `point_marks`.

    They are point and force of each contact, both ends of each spring, and position and rotation,
    (12,), of the frame of each obstacle that moves.
    """
    expressions: list[Expr] = []
    for touch, point in zip(
        touches(model, q, frames(model, q)), model.points.contacts, strict=True
    ):
        normal, friction = touch.forces(v)
        expressions += [
            _offset(touch.attached, point) + touch.lever,
            normal * touch.normal + friction,
        ]
    for line, pair in zip(lines(model, q), model.points.springs, strict=True):
        expressions += [_offset(end, point) for end, point in zip(line.ends, pair, strict=True)]
    placed = frames(model, q)
    for on in filter(None, model.points.obstacles):
        turned, position, _ = place(model, q, placed, on)
        expressions.append(ca.vertcat(position, ca.vec(turned.T)))
    return expressions


def _is_placed(point: ArmPoint) -> bool:
    """Return whether a point is given by its position in the world, not relative to a link."""
    return point.link < 0 or (isinstance(point.x, str) and point.x not in ("tip", "end"))


def _offset(attached: Attached, point: ArmPoint) -> Expr:
    """Return a point's offset from the axis of its link [m], or its position in the world."""
    if _is_placed(point):
        return attached.position
    return type(attached.position)(3, 1) if attached.lever is None else attached.lever
