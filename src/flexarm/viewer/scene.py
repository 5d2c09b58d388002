"""Geometry of an arm for a page: frames, bodies, and shape functions at stations of each link.

The page itself computes the pose of the arm from coordinates, so that runs need little memory,
modes are drawn like runs, and deflections can be enlarged.
"""

from itertools import zip_longest
from typing import Any

import numpy as np

from flexarm.arm import FreeBase, MovedBase
from flexarm.arm.section import IBeam, Tube
from flexarm.arm.shapes import Lumped
from flexarm.arm.side_files import Mesh
from flexarm.errors import ModelError
from flexarm.io.meshes import coarser, read_mesh
from flexarm.links.collocation import Collocation
from flexarm.links.imported.body import ReducedBody
from flexarm.links.integrals import section_tables
from flexarm.links.rails.rail import Rail, stacked
from flexarm.links.span import Span
from flexarm.mechanics.bodies import body_of
from flexarm.mechanics.bodies.deformed import Deformed
from flexarm.mechanics.deformed import deformed
from flexarm.model import LinkModel, Model
from flexarm.runs.constants import STATIONS
from flexarm.spatial import Array, Pose, base_rotation_matrix
from flexarm.viewer.bundle import Arrays

BASE_COLUMNS = 12  # columns of a base's pose: position, and rotation row by row


def scene(model: Model, arrays: Arrays) -> dict[str, Any]:
    """Return JSON data for the page on an arm's geometry; `states` returns the drawn states."""
    arm = model.arm
    free = isinstance(arm.base, FreeBase)
    kind = "free" if free else "moved" if isinstance(arm.base, MovedBase) else "fixed"
    column = BASE_COLUMNS if model.base_moves else 0
    links = []
    for part in model.links:
        links.append(_link(model, part, column, arrays))
        if part.rail:
            links[-2]["shape"]["rail"] = _rail(part.rail, column, arrays)
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
    """Return the states that the page draws, (T, columns): base, then joint and shapes per link.

    Parameters
    ----------
    model
        The arm.
    q
        Coordinates, (T, n).
    reference_attitudes
        Reference attitudes of a free base's and spherical joints' angles, (T, 3 k, 3).
    """
    columns = [np.zeros((len(q), 0))]
    left = [*np.split(reference_attitudes, max(len(model.attitudes), 1), axis=1)]
    if model.base_moves:
        reference_attitude = (
            left.pop(0) if model.floats else np.tile(model.base_pose.rotation, (len(q), 1, 1))
        )
        columns += [model.base_pose.position + q[:, :3], _turned(reference_attitude, q[:, 3:6])]
    for part in model.links:
        own = q[:, part.coordinates]
        columns.append(_turned(left.pop(0), own) if part.motion.has_reference else own)
        columns.append(body_of(model, part).drawn_amplitudes(q))
    return np.concatenate(columns, axis=1)


def _turned(reference_attitudes: Array, angles: Array) -> Array:
    """Return rotations row by row, (T, 9), from reference attitudes (T, 3, 3) and angles (T, 3)."""
    rotations = [
        a @ base_rotation_matrix(row) for a, row in zip(reference_attitudes, angles, strict=True)
    ]
    return np.array(rotations).reshape(len(angles), 9)


def shows_strain(part: LinkModel) -> bool:
    """Return whether the strain of a link can be computed.

    The link's section must have an outline, and its shapes curvature, unlike lumped shapes.
    """
    section = part.link.section
    outlined = section is not None and section.shape is not None
    return part.flexible and outlined and not isinstance(part.link.shapes, Lumped)


def _joint_width(part: LinkModel) -> int:
    return 9 if part.motion.has_reference else len(part.axes)


def _bent(model: Model, part: LinkModel) -> Deformed:
    """Return a flexible link's shape functions, for a sliding link over the fraction xi = x/l."""
    return deformed(model, part, np.ones((1, model.size)))


def _link(model: Model, part: LinkModel, column: int, arrays: Arrays) -> dict[str, Any]:
    described: dict[str, Any] = {
        "name": part.name,
        "joint": part.joint_name,
        "moves": _moves(part),
        "attitude": part.motion.has_reference,
        "rides": part.on_rail,
        "before": _pose(part.pose_FJ),
        "after": _pose(part.pose_JL),
        "length": part.length,
        "column": column if part.axes else None,
        "section": _section(part, arrays),
        "strain": shows_strain(part),
        "mesh": _mesh(part.link.mesh, part.name, arrays),
        "shape": None,
    }
    if not part.body.sectioned:
        described["shape"] = _body(model, part.imported, column + _joint_width(part), arrays)
    elif part.flexible:
        described["shape"] = _shape(model, part, column + _joint_width(part), arrays)
    return described


def _mesh(mesh: Mesh | None, name: str, arrays: Arrays) -> dict[str, Any] | None:
    """Return JSON data for the page on a part's mesh, coarsened; None without a mesh."""
    if mesh is None:
        return None
    try:
        points, faces = coarser(*read_mesh(mesh.side_file.content, mesh.file))
    except ModelError as error:
        raise ModelError(f"{name}: mesh: {error}") from None
    return {"points": arrays.add(points * mesh.scale), "faces": arrays.add(faces.astype(float))}


def _moves(part: LinkModel) -> list[dict[str, Any]]:
    """Return JSON data for the page on a joint's motion: axes of rotation, travel along z."""
    axes = () if part.range is not None else part.axes
    return [
        {"about": about, "travel": part.link.joint.travel if axis.turns else 1.0}
        for axis, about in zip_longest(axes, part.link.joint.turns_about[: len(axes)])
    ]


def _shape(model: Model, part: LinkModel, column: int, arrays: Arrays) -> dict[str, Any]:
    """Return tables of shape functions at stations: over x [m], or xi = x/l for a sliding link."""
    link = _bent(model, part)
    shapes, places = link.shapes, np.linspace(0.0, link.end, STATIONS)
    bend = np.stack([shapes.values("y", places, 2), shapes.values("z", places, 2)], axis=1)
    described = {
        "column": column,
        "count": shapes.count,
        "sliding": part.range is not None,
        "rigidPieces": isinstance(part.link.shapes, Lumped),
        "turned": arrays.add(shapes.rotation(places)),
        "stretch": arrays.add(shapes.values("x", places, 1)),
        "bend": arrays.add(bend),
        "rigidity": arrays.add(rigidity(link, places)),
    }
    if part.exact is not None:
        return described | {"nodes": _nodes(part.exact, places, arrays)}
    return described | _series(model, part, places, arrays)


def rigidity(link: Deformed, places: Array) -> Array:
    """Return EIz and EIy [N m^2] at points along a link, (S, 2); 0 where it does not bend."""
    known, names = link.span, ("EIz", "EIy")
    return np.stack([known.at(k, places) if known.has(k) else 0 * places for k in names], axis=1)


def _rail(rail: Rail, column: int, arrays: Arrays) -> dict[str, Any]:
    """Return tables of the shape series of a rail, and the column of its carriage's position."""
    described: dict[str, Any] = {
        "column": column,
        "root": rail.root,
        "edges": rail.edges.tolist(),
        "moved": arrays.add(stacked([rail.x[0], rail.y[0], rail.z[0]])),
        "turned": arrays.add(stacked([rail.twist[0], -rail.z[1], rail.y[1]])),
    }
    if rail.reach is not None:
        described["reach"] = arrays.add(rail.reach[0])
    return described


def _body(model: Model, body: ReducedBody, column: int, arrays: Arrays) -> dict[str, Any]:
    """Return tables of a general flexible body: its centre line, and its nodes off this line."""
    fractions, drawn = np.linspace(0.0, 1.0, STATIONS), body.drawn
    places, moved = drawn.line(fractions)
    turned = fractions[:, None, None] * body.tip_angle
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
        "rigidPieces": True,  # it has no curvature to colour
        "turned": arrays.add(turned),
        "stretch": arrays.add(np.zeros((STATIONS, len(body.names)))),
        "bend": arrays.add(np.zeros((STATIONS, 2, len(body.names)))),
        "rigidity": arrays.add(np.zeros((STATIONS, 2))),
        "moved": arrays.add(moved),
        "quadratic": quadratic[0],
        "quadraticTurn": quadratic[1],
        "rest": arrays.add(places),
        "points": arrays.add(drawn.places[drawn.axis :]),
        "pointsMoved": arrays.add(drawn.moved[drawn.axis :]),
        "lines": (drawn.lines - drawn.axis).tolist(),
        "faces": (drawn.faces - drawn.axis).tolist(),
    }


def _nodes(nodes: Collocation, places: Array, arrays: Arrays) -> dict[str, Any]:
    """Return slopes and stretch at the nodes of an exact link, and the length of its tangents."""
    return {
        "bend": arrays.add(nodes.bend),
        "stretch": arrays.add(nodes.stretch),
        "straight": arrays.add(nodes.straight),
        "reach": arrays.add(nodes.reach(places)),
    }


def _series(model: Model, part: LinkModel, places: Array, arrays: Arrays) -> dict[str, Any]:
    """Return tables at stations: linear and quadratic displacements, quadratic rotations."""
    link, extra = _bent(model, part), part.link.quadratic_shapes
    shapes, edges = link.shapes, link.beam.edges
    tables = section_tables(shapes, places, edges, stiffening=model.stiffening, extra=extra)
    moved, _, drawn, turned = tables
    described: dict[str, Any] = {"moved": arrays.add(moved)}
    for name, table in (("quadratic", drawn), ("quadraticTurn", turned)):
        axes = [k for k in range(3) if np.any(table[:, k])]
        described[name] = [{"axis": k, "table": arrays.add(table[:, k])} for k in axes]
    return described


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
    A table has no outline. Drawn is the solid ellipse of the same radii of gyration, whose axes
    are 4 times the radii: sqrt(EI/EA), else sqrt(J/m). Without EA and J, sqrt(EI/m) has the right
    proportions along the link, but an unknown factor sqrt(E/density).
    """
    places = np.linspace(0.0, part.length, STATIONS if part.flexible else 2)
    begin = 0.0 if part.link.root_piece is None else part.link.root_piece.length
    sides, metric = _gyration(span, np.clip(places - begin, 0.0, span.length))
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
    """Return radii of gyration along y and z, (S, 2), and whether they are in metres."""
    mass = span.at("mass_per_length", x)
    bending = [name for name in ("EIz", "EIy") if span.has(name)]
    turning = [name for name in ("Jz", "Jy") if np.all(span.table[name] > 0)]
    if bending and span.has("EA"):
        names, per, metric = bending, span.at("EA", x), True
    elif turning:
        names, per, metric = turning, mass, True
    elif bending:
        names, per, metric = bending, mass, False
    else:
        names, per, metric = ["mass_per_length"], np.ones_like(mass), False
    radii = [np.sqrt(span.at(name, x) / per) for name in names]
    return np.stack([radii[0], radii[-1]], axis=1), metric


def _pose(pose: Pose) -> dict[str, list[float]]:
    return {"R": pose.rotation.ravel().tolist(), "p": pose.position.tolist()}
