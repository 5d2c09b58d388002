"""Bring a body into its hub frame, and check it on the way."""

from dataclasses import replace

import numpy as np

from flexarm.links.base import Array
from flexarm.links.measured.checks import (
    DEFINITE_TOLERANCE,
    LENGTHS,
    Total,
    check_frequencies,
    check_matrix,
    check_total,
    least_eigenvalue,
)
from flexarm.links.measured.report import NOTE_ABOVE, Findings, percent, triple
from flexarm.links.reduced.body import (
    ReducedBody,
    cleaned,
    gram_integrals,
    orthogonal,
    rigid_mass,
)
from flexarm.links.reduced.data import (
    BodyData,
    Integers,
    gram_of,
    rigid_columns,
    rigid_fit,
    rotary_of,
    shifted,
    spans_a_frame,
)
from flexarm.links.reduced.drawing import drawn_points
from flexarm.spatial import IDENTITY, Pose

HELD = 1e-6  # of a shape's size: below it the hub is at rest
RIGID = 1e-6  # of a shape's size: below it nothing is left of a shape
OUTSIDE = 0.5  # of the body's size: how far from its nodes an interface may be
FEWEST = 50  # nodes, from which on neighbours tell something
NEAR = 8  # neighbours that a node is compared with
FINE = 10.0  # steps between nodes over the body, from which on they tell that all are shuffled
ODD = 4.8  # times the middle of all nodes: at most 3.4 in meshes that this was tried on
SHUFFLED = 3.0  # steps in which shapes rise by their size: 9 and more in those, 2.8 if shuffled
HEAVIEST = 25_000.0  # [kg/m^3], of osmium


def examine(data: BodyData, findings: Findings) -> ReducedBody | None:
    """Check a body, and give it in its hub frame; None if refused."""
    if not _whole(data, findings):
        return None
    turn = data.hub.rotation
    places = (data.nodes - data.hub.position) @ turn
    tip = _tip_frame(data)
    _check_size(data, findings, places, tip)
    _check_order(findings, places, data.shapes)
    shapes, hub = _hub_motion(data, findings, data.shapes @ turn, places)
    tips = _tip_motion(data, findings, data.shapes @ turn, places, tip)
    if tips is None or findings.problems:
        return None
    tips = tips - shifted(hub, tip.position)
    rotations = None
    if data.rotations is not None:
        rotations = data.rotations @ turn - hub[:, None, 3:]
    kept = _deforming(data, findings, shapes, rotations)
    stiffness, mass, damping = _matrices(data, findings)
    if findings.problems:
        return None
    gram, rotary = gram_of(data, places, shapes), rotary_of(data, turn, rotations)
    integrals = gram_integrals(gram, rotary, None, stiffness)
    if np.any(hub):
        mass = None  # it is that of shapes which move the hub
    body = ReducedBody(
        data.name, data.names, integrals, tip, tips[:, :3].T.copy(), tips[:, 3:].T.copy(), damping,
        False, drawn_points(places, shapes, data.lines, tip, tips),
    )  # fmt: skip
    body = _picked(body, kept, mass)
    _check_totals(data, findings, body)
    return finished(body, findings, modal=data.squares is not None)


def finished(body: ReducedBody, findings: Findings, *, modal: bool) -> ReducedBody | None:
    """Check moments, stiffness and interfaces, and give the body as dynamics take it."""
    i = body.integrals
    if i.mass <= 0:
        findings.refuse(("mass",), f"is {i.mass:.4g} kg in all: must be > 0")
        return None
    whole = rigid_mass(i)
    least = least_eigenvalue(whole)
    findings.fact("rigid-body consistency", f"smallest eigenvalue {least:.3g}")
    if least < -DEFINITE_TOLERANCE or least_eigenvalue(i.modal_mass) <= DEFINITE_TOLERANCE:
        findings.refuse(
            ("mass",),
            f"rigid motions and shapes have together a mass matrix with the eigenvalue {least:.3g}"
            ", which must be > 0: are shapes alike, or are masses and shapes of different meshes?",
        )
        return None
    check_frequencies(findings, ("K",), i.stiffness, i.modal_mass)
    _state_effective_mass(findings, whole)
    _check_interface(findings, body, modal=modal)
    findings.note((), "the body bends by linear theory: rotation and axial load do not stiffen it")
    if body.first_order:
        findings.note(
            (),
            "the body has no nodes: how its inertia changes with its deformation is left out, "
            "about 0.7 % per 1 % of tip deflection over length",
        )
    if findings.problems:
        return None
    return cleaned(orthogonal(body))


def _whole(data: BodyData, findings: Findings) -> bool:
    """Refuse data whose numbers are none, or whose counts differ."""
    n, m = len(data.nodes), len(data.shapes)
    wanted = {
        "nodes": (data.nodes, (n, 3)),
        "mass": (data.node_mass if isinstance(data.node_mass, np.ndarray) else None, (n,)),
        "inertia": (data.node_inertia, (n, 3, 3)),
        "shapes": (data.shapes, (m, n, 3)),
        "rotations": (data.rotations, (m, n, 3)),
        "hub_shapes": (data.hub_shapes, (m, 6)),
        "tip_shapes": (data.tip_shapes, (m, 6)),
        "K": (data.stiffness, (m, m)),
        "M": (data.mass, (m, m)),
        "D": (data.damping, (m, m)),
        "frequencies": (data.squares, (m,)),
        "damping_ratios": (data.ratios, (m,)),
    }
    for key, (array, shape) in wanted.items():
        if array is None:
            continue
        if array.shape != shape:
            findings.refuse((key,), f"must have the shape {shape}, got {array.shape}")
        elif not np.all(np.isfinite(array)):
            findings.refuse((key,), "must be finite numbers: was the file cut off?")
    if n < 1 or m < 1:
        findings.refuse(("shapes",), f"must be one shape and one node at least, got {m} and {n}")
    for key, rows in (("hub_nodes", data.hub_nodes), ("tip_nodes", data.tip_nodes)):
        if len(rows) and not (rows.min() >= 0 and rows.max() < n):
            findings.refuse((key,), f"must be numbers of nodes from 1 to {n}")
    for key, pose in (("hub", data.hub), ("tip", data.tip or IDENTITY)):
        off = np.abs(pose.rotation.T @ pose.rotation - np.eye(3)).max()
        if not off <= 1e-6 or np.linalg.det(pose.rotation) < 0:
            findings.refuse(
                (f"{key}_rotation",), "must be a rotation matrix: unit columns, right-handed"
            )
    return not findings.problems


def _tip_frame(data: BodyData) -> Pose:
    """Place the tip frame in the hub frame; by the tip's nodes where it is not given."""
    if data.tip is None:
        centre = data.nodes[data.tip_nodes].mean(axis=0) if len(data.tip_nodes) else np.zeros(3)
        given = Pose(data.hub.rotation, centre)
    else:
        given = data.tip
    back = data.hub.rotation.T
    return Pose(back @ given.rotation, back @ (given.position - data.hub.position))


def _check_size(data: BodyData, findings: Findings, places: Array, tip: Pose) -> None:
    low, high = places.min(axis=0), places.max(axis=0)
    size = float((high - low).max())
    findings.fact("nodes", f"{len(places)}, over {triple(high - low)} m")
    if not LENGTHS[0] <= size <= LENGTHS[1]:
        findings.note(("nodes",), f"the body is {size:.4g} m large: are the units right?")
    for key, at in (("hub", np.zeros(3)), ("tip", tip.position)):
        gap = float(np.maximum(np.maximum(low - at, at - high), 0.0).max())
        if gap > OUTSIDE * size:
            findings.refuse(
                (f"{key}_position",),
                f"is {gap:.4g} m away from a body of {size:.4g} m: are both in the same units and "
                "axes?",
            )
    if float(np.linalg.norm(tip.position)) < 1e-6 * size:
        findings.refuse(
            ("tip_position",), "is where the hub is: give the tip frame, or the tip's nodes"
        )
    total, volume = float(data.node_mass.sum()), float(np.prod(high - low))
    if volume > 1e-6 * size**3 and total > HEAVIEST * volume:
        findings.refuse(
            ("mass",),
            f"{total:.4g} kg in a box of {volume:.4g} m^3 is denser than any metal: are the units "
            "right?",
        )


def _check_order(findings: Findings, places: Array, shapes: Array) -> None:
    """Note a node that moves unlike its neighbours, or a mesh in which nearly all do.

    How steeply shapes rise from a node to those near it is compared with the middle of all nodes,
    and with the size of shapes over that of the body.
    """
    from scipy.spatial import cKDTree

    if len(places) < FEWEST:
        return
    apart, near = (np.asarray(each) for each in cKDTree(places).query(places, k=NEAR + 1))
    ways = np.maximum(apart[:, 1:], 1e-12)
    steep = np.stack(
        [
            np.median(np.linalg.norm(p[near[:, 1:]] - p[:, None], axis=2) / ways, axis=1)
            for p in shapes
        ]
    )
    middle = np.maximum(np.median(steep, axis=1), 1e-300)
    size = np.abs(shapes).max(axis=(1, 2))
    reach, step = float(np.ptp(places, axis=0).max()), float(np.median(ways[:, 0]))
    if reach > FINE * step and float(np.median(size / middle)) < SHUFFLED * step:
        findings.note(
            ("shapes",),
            "move nearly every node unlike its neighbours: are nodes and shapes in another order?",
        )
    elif float(np.quantile(steep.max(axis=1) / middle, 0.75)) > ODD:
        worst = int(np.argmax(np.quantile(steep / middle[:, None], 0.75, axis=0)))
        findings.note(
            ("shapes",),
            f"move node {worst + 1} unlike its neighbours: are nodes in another order?",
        )


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


def _matrices(data: BodyData, findings: Findings) -> tuple[Array, Array | None, Array | None]:
    """Give K, M and D, made of frequencies and ratios where those are given."""
    stiffness, mass, damping = data.stiffness, data.mass, data.damping
    if mass is not None:
        mass = check_matrix(findings, "M", mass, definite=True)
    if data.squares is not None:
        own = np.einsum("ijaa->ij", gram_integrals(
            gram_of(data, data.nodes, data.shapes), rotary_of(data, np.eye(3), data.rotations),
            None, np.zeros((len(data.shapes),) * 2)).shape_shape)  # fmt: skip
        own = own + rotary_of(data, np.eye(3), data.rotations)[2]
        _check_orthogonal(findings, own)
        size = np.diag(own if mass is None else mass)
        stiffness = np.diag(data.squares * size)
        if data.ratios is not None:
            damping = np.diag(2 * data.ratios * np.sqrt(np.maximum(data.squares, 0.0)) * size)
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
    )  # fmt: skip


def _check_totals(data: BodyData, findings: Findings, body: ReducedBody) -> None:
    """Compare mass, centre, inertia and modal mass with what the program tells."""
    i = body.integrals
    told, centre, inertia = data.stated
    nan = np.full(3, np.nan)
    totals = [Total("the nodes", ("mass",), i.mass, i.first / i.mass)]
    if told is not None:
        totals.append(Total("total_mass", ("total_mass",), told, nan))
    if centre is not None:
        at = (centre - data.hub.position) @ data.hub.rotation
        totals.append(Total("centre", ("centre",), np.nan, at))
    check_total(findings, totals, max(body.length, 1e-9))
    if inertia is not None and not np.any(data.hub.position):
        turn = data.hub.rotation
        other = turn.T @ inertia @ turn
        apart = float(np.abs(other - body.inertia.second).max() / np.abs(other).max())
        findings.fact("inertia", f"{percent(apart)} off what is stated")
        if apart > NOTE_ABOVE:
            findings.judge(apart, ("inertia",), f"is {percent(apart)} off that of the nodes")
    pairs = np.einsum("ijaa->ij", i.shape_shape) + i.rotary_modal
    size = np.sqrt(np.maximum(np.diag(i.modal_mass), 1e-300))
    apart = float(np.abs((pairs - i.modal_mass) / np.outer(size, size)).max(initial=0.0))
    if data.mass is not None and not np.any(pairs != i.modal_mass):
        findings.note(("M",), "is that of the masses: shapes were held at the hub")
    elif data.mass is not None:
        findings.fact("modal mass", f"M is up to {percent(apart)} off that of the nodes")
        if apart > NOTE_ABOVE:
            findings.judge(
                apart,
                ("M",),
                f"is {percent(apart)} off the modal mass that shapes and nodes give: are they of "
                "one model, in the stated units, and in the same order of nodes?",
            )


def _check_orthogonal(findings: Findings, mass: Array) -> None:
    """Refuse modes that are not orthogonal by the masses of the nodes."""
    size = np.sqrt(np.maximum(np.diag(mass), 1e-300))
    off = np.abs(mass / np.outer(size, size) - np.eye(len(mass)))
    worst = float(off.max(initial=0.0))
    findings.fact("orthogonality", f"of the modes to {percent(worst)}")
    if worst > NOTE_ABOVE:
        i, j = np.unravel_index(int(np.argmax(off)), off.shape)
        findings.judge(
            worst,
            ("shapes", int(i)),
            f"is not orthogonal to shape {int(j) + 1} ({percent(worst)}), as modes with "
            "frequencies are: nodes in another order, masses of another mesh, or no modes? else "
            "give K",
        )


def _state_effective_mass(findings: Findings, whole: Array) -> None:
    """Say how much of the body's mass its shapes move along x, y, z."""
    linear, modal, total = whole[3:6, 6:], whole[6:, 6:], whole[3, 3]
    share = np.diag(linear @ np.linalg.solve(modal, linear.T)) / total
    text = ", ".join(f"{axis} {percent(float(s))}" for axis, s in zip("xyz", share, strict=True))
    findings.fact("effective mass", f"{text} of the body's")


def _check_interface(findings: Findings, body: ReducedBody, *, modal: bool) -> None:
    """Say what loads at the tip do not bend, and what modes alone leave out."""
    reach = max(body.length, 1e-9)
    rows = np.vstack([body.tip_shape, reach * body.tip_angle])
    size = np.sqrt(np.diag(body.integrals.modal_mass))
    sizes = np.linalg.svd(rows / size, compute_uv=False)
    rank = int(np.sum(sizes > 1e-6 * max(float(sizes.max(initial=0.0)), 1e-300)))
    if rank == 0:
        findings.refuse(("tip_shapes",), "are zero in every shape: which nodes are the tip's?")
    elif rank < 6:
        findings.note(
            ("tip_shapes",),
            f"the shapes move the tip in {rank} of 6 ways: it is rigid in the others",
        )
    if modal:
        findings.note(
            ("shapes",),
            "modes alone make the body some per cent too stiff under loads at its tip: add the six "
            "static shapes of the tip (flexarm reduce does)",
        )
