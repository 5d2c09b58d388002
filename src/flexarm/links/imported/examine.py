"""Bring a body into its hub frame, and check it on the way."""

from dataclasses import replace

import numpy as np

from flexarm.links.base import Array
from flexarm.links.imported.body import ReducedBody, gram_integrals, rigid_mass
from flexarm.links.imported.checks import (
    check_faces,
    check_modal_mass,
    check_modes,
    check_order,
    check_orthogonal,
    check_size,
    check_stated,
    finished,
    require_whole,
)
from flexarm.links.imported.common_checks import DEFINITE_TOLERANCE, check_matrix, least_eigenvalue
from flexarm.links.imported.data import (
    BodyData,
    Integers,
    gram_of,
    modal_mass,
    rigid_columns,
    rigid_fit,
    rotary_of,
    shifted,
    spans_a_frame,
)
from flexarm.links.imported.drawing import drawn_points
from flexarm.links.imported.report import NOTE_ABOVE, Findings, percent
from flexarm.links.imported.second_order import check_second_order, examine_loads
from flexarm.spatial import Pose

HELD = 1e-6  # of a shape's size: below it the hub is at rest
RIGID = 1e-6  # of a shape's size: below it nothing is left of a shape


def examine(data: BodyData, findings: Findings) -> ReducedBody | None:
    """Check a body, and give it in its hub frame; None if refused."""
    if not require_whole(data, findings):
        return None
    turn = data.hub.rotation
    places = (data.nodes - data.hub.position) @ turn
    tip = _tip_frame(data)
    check_size(data, findings, places, tip)
    check_faces(data, findings, places, tip)
    check_order(findings, places, data.shapes)
    shapes, hub = _hub_motion(data, findings, data.shapes @ turn, places)
    tips = _tip_motion(data, findings, data.shapes @ turn, places, tip)
    if tips is None or findings.problems:
        return None
    tips = tips - shifted(hub, tip.position)
    rotations = None
    if data.rotations is not None:
        rotations = data.rotations @ turn - hub[:, None, 3:]
    kept = _deforming(data, findings, shapes, rotations)
    check_modes(data, findings, kept)
    if findings.problems:
        return None
    stiffness, mass, damping = _matrices(data, findings, kept)
    loads = examine_loads(data, findings, held=not np.any(hub))
    if findings.problems:
        return None
    gram, rotary = gram_of(data, places, shapes), rotary_of(data, turn, rotations)
    integrals = gram_integrals(gram, rotary, None, stiffness)
    if np.any(hub):
        mass = None  # it is that of shapes which move the hub
    whole = ReducedBody(
        data.name, data.names, integrals, tip, tips[:, :3].T.copy(), tips[:, 3:].T.copy(), damping,
        False, drawn_points(places, shapes, data.lines, data.faces, tip, tips),
        None if data.strains is None else data.strains.T.copy(), loads,
    )  # fmt: skip
    body = _picked(whole, kept, mass)
    check_stated(findings, data.stated, data.hub, body)
    check_modal_mass(data, findings, body)
    if body.second_order is not None:
        check_second_order(
            findings, body.second_order, body.integrals, tip, complete=data.k_u is not None
        )
    if mass is not None and least_eigenvalue(rigid_mass(body.integrals)) < -DEFINITE_TOLERANCE:
        body = _picked(whole, kept, None)
        findings.note(
            ("M",),
            "is not used: with the masses of the nodes it makes a mass matrix with a negative "
            "eigenvalue, as lumped masses may; that of nodes and shapes is",
        )
    return finished(body, findings, modal=data.stiffness is None)


def _tip_frame(data: BodyData) -> Pose:
    """Place the tip frame in the hub frame; by the tip's nodes where it is not given."""
    if data.tip is None:
        centre = data.nodes[data.tip_nodes].mean(axis=0) if len(data.tip_nodes) else np.zeros(3)
        given = Pose(data.hub.rotation, centre)
    else:
        given = data.tip
    back = data.hub.rotation.T
    return Pose(back @ given.rotation, back @ (given.position - data.hub.position))


def _hub_motion(
    data: BodyData, findings: Findings, shapes: Array, places: Array
) -> tuple[Array, Array]:
    """Take the hub's rigid motion out of shapes (m, N, 3); gives it too, (m, 6)."""
    size = np.abs(shapes).max(axis=(1, 2), initial=0.0)
    rows = data.hub_nodes
    if data.hub_shapes is not None:
        turn = data.hub.rotation
        hub = np.hstack([data.hub_shapes[:, :3] @ turn, data.hub_shapes[:, 3:] @ turn])
    elif len(rows):
        if not spans_a_frame(places[rows]):
            findings.refuse(("hub_nodes",), "must be three nodes at least, not on one line")
            return shapes, np.zeros((len(shapes), 6))
        hub, left = rigid_fit(places[rows], np.zeros(3), shapes[:, rows])
        worst = float((left / np.maximum(size, 1e-300)).max())
        if worst > NOTE_ABOVE:
            findings.judge(
                worst,
                ("hub_nodes",),
                f"deform by {percent(worst)} of the shapes' size where they must move as one rigid "
                "face: tie them to one frame (RBE2), or are nodes numbered otherwise?",
            )
    else:
        findings.note(("hub_nodes",), "are not given: the hub is taken to be at rest in all shapes")
        return shapes, np.zeros((len(shapes), 6))
    columns = rigid_columns(places)
    swept = np.einsum("naj,mj->mna", columns, hub, optimize=True)
    motion = np.abs(swept[:, rows] if len(rows) else hub[:, None, :3]).max(axis=(1, 2))
    loose = motion > HELD * np.maximum(size, 1e-300)
    if not loose.any():
        return shapes, np.zeros_like(hub)
    findings.note(
        ("shapes",),
        f"{int(loose.sum())} of {len(loose)} move the hub: that rigid motion was taken out of them",
    )
    return shapes - swept, hub


def _tip_motion(
    data: BodyData, findings: Findings, shapes: Array, places: Array, tip: Pose
) -> Array | None:
    """Give the motion of the tip's frame, in axes of the hub, (m, 6)."""
    turn, rows, given = data.hub.rotation, data.tip_nodes, data.tip_shapes
    told = None if given is None else np.hstack([given[:, :3] @ turn, given[:, 3:] @ turn])
    if not len(rows):
        if told is None:
            findings.refuse(
                ("tip_nodes",),
                "or tip_shapes are required: what follows is carried by the tip's motion",
            )
        return told
    if not spans_a_frame(places[rows]):
        if told is None:
            findings.refuse(("tip_nodes",), "must be three nodes at least, not on one line")
        return told
    fitted, left = rigid_fit(places[rows], tip.position, shapes[:, rows])
    size = np.maximum(np.abs(shapes).max(axis=(1, 2)), 1e-300)
    worst = float((left / size).max())
    findings.fact("tip face", f"rigid to {percent(worst)} of the shapes' size")
    if worst > NOTE_ABOVE:
        findings.judge(
            worst,
            ("tip_nodes",),
            f"deform by {percent(worst)} of the shapes' size where they must move as one rigid "
            "face: tie them to one frame (RBE2), or are nodes numbered otherwise?",
        )
    if told is None:
        return fitted
    reach = float(np.linalg.norm(places.max(axis=0) - places.min(axis=0)))
    scale = size[:, None] * np.array([1.0] * 3 + [1 / reach] * 3)
    apart = float((np.abs(told - fitted) / scale).max())
    if apart > NOTE_ABOVE:
        findings.judge(
            apart,
            ("tip_shapes",),
            f"are {percent(apart)} off the motion of the tip's nodes: same axes, signs, radians?",
        )
    return told


def _deforming(
    data: BodyData, findings: Findings, shapes: Array, rotations: Array | None
) -> Integers:
    """Pick the shapes that more is left of than the rigid motion of the hub."""
    before, after = np.abs(data.shapes).max(axis=(1, 2)), np.abs(shapes).max(axis=(1, 2))
    if data.rotations is not None and rotations is not None:
        reach = float(np.ptp(data.nodes, axis=0).max())
        before = before + reach * np.abs(data.rotations).max(axis=(1, 2))
        after = after + reach * np.abs(rotations).max(axis=(1, 2))
    kept = np.flatnonzero(after > RIGID * before).astype(np.int64)
    if count := len(before) - len(kept):
        findings.note(("shapes",), f"{count} are rigid motions of the hub: left out")
    if not len(kept):
        findings.refuse(("shapes",), "deform nothing: all are zero, or rigid motions")
    return kept


def _matrices(
    data: BodyData, findings: Findings, kept: Integers
) -> tuple[Array, Array | None, Array | None]:
    """Give K, M and D, made of frequencies and ratios where those are given."""
    stiffness, mass, damping = data.stiffness, data.mass, data.damping
    if mass is not None:
        mass = check_matrix(findings, "M", mass, definite=True)
    if data.hertz is not None and stiffness is None:
        own = modal_mass(data)
        check_orthogonal(findings, own)
        size = np.diag(own if mass is None else mass)
        omega = np.zeros(len(size))
        omega[kept] = 2 * np.pi * data.hertz[kept]
        stiffness = np.diag(omega**2 * size)
        if data.ratios is not None:
            damping = np.diag(2 * data.ratios * omega * size)
    if stiffness is None:
        findings.refuse(("K",), "or frequencies are required")
        return np.zeros((0, 0)), mass, damping
    stiffness = check_matrix(findings, "K", stiffness, definite=False)
    if damping is not None:
        damping = check_matrix(findings, "D", damping, definite=False)
    return stiffness, mass, damping


def _picked(body: ReducedBody, kept: Integers, mass: Array | None) -> ReducedBody:
    """Keep some amplitudes, and the modal mass that is given."""
    i, square = body.integrals, np.ix_(kept, kept)
    keeping = np.eye(len(body.names))[:, kept]
    integrals = replace(
        i, shape=i.shape[:, kept], position_shape=i.position_shape[kept],
        shape_shape=i.shape_shape[square], rotary_shape=i.rotary_shape[:, kept],
        rotary_modal=i.rotary_modal[square], quadratic=i.quadratic[:, square[0], square[1]],
        position_quadratic=i.position_quadratic[:, square[0], square[1]],
        modal_mass=(i.modal_mass if mass is None else mass)[square], stiffness=i.stiffness[square],
    )  # fmt: skip
    return replace(
        body, names=tuple(body.names[k] for k in kept), integrals=integrals,
        tip_shape=body.tip_shape[:, kept], tip_angle=body.tip_angle[:, kept],
        damping=None if body.damping is None else body.damping[square],
        drawn=replace(body.drawn, moved=body.drawn.moved[:, :, kept]),
        strains=None if body.strains is None else body.strains[:, kept],
        second_order=body.second_order and body.second_order.changed(keeping),
    )  # fmt: skip
