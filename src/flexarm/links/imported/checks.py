"""What a body of any shape must satisfy before a link is built from it."""

import numpy as np

from flexarm.links.base import Array
from flexarm.links.imported.body import ReducedBody, cleaned, orthogonal, rigid_mass
from flexarm.links.imported.common_checks import (
    DEFINITE_TOLERANCE,
    FREQUENCIES,
    LENGTHS,
    Total,
    check_frequencies,
    check_matrix,
    check_total,
    least_eigenvalue,
)
from flexarm.links.imported.data import BodyData, Integers, Stated, Units, modal_mass
from flexarm.links.imported.report import NOTE_ABOVE, REFUSE_ABOVE, Findings, percent, triple
from flexarm.spatial import IDENTITY, Pose

OUTSIDE = 0.5  # of the body's size: how far from its nodes an interface may be
FEWEST = 50  # nodes, from which on neighbours tell something
NEAR = 8  # neighbours that a node is compared with
FINE = 10.0  # steps between nodes over the body, from which on they tell that all are shuffled
ODD = 4.8  # times the middle of all nodes: at most 3.4 in meshes that this was tried on
SHUFFLED = 3.0  # steps in which shapes rise by their size: 9 and more in those, 2.8 if shuffled
KEPT = 1e-5  # of the largest value: what single precision leaves
HEAVIEST = 25_000.0  # [kg/m^3], of osmium
GRAMS = 0.1  # [kg]: below it a body's mass is asked about; a link of 100 kg, taken for 1/1000


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
    if body.second_order is None:
        findings.note(
            (), "the body bends by linear theory: rotation and axial load do not stiffen it"
        )
    else:
        findings.note(
            (),
            "loads stiffen the body by K_sigma and K_u to first order: right while they change its "
            "frequencies by per cents",
        )
    if body.first_order:
        findings.note(
            (),
            "the body has no nodes: how its inertia changes with its deformation is left out, "
            "about 0.7 % per 1 % of tip deflection over length",
        )
    if findings.problems:
        return None
    return cleaned(orthogonal(body))


def check_whole(findings: Findings, body: ReducedBody) -> None:
    """Refuse a body whose moments, matrices and interfaces, as they were kept, do not agree."""
    i = body.integrals
    check_matrix(findings, "stiffness", i.stiffness, definite=False)
    check_matrix(findings, "modal_mass", i.modal_mass, definite=True)
    if body.damping is not None:
        check_matrix(findings, "damping", body.damping, definite=False)
    for key, x in vars(body.second_order).items() if body.second_order else ():
        if np.abs(x - x.swapaxes(-1, -2)).max() > DEFINITE_TOLERANCE * np.abs(x).max():
            findings.refuse((f"second_order_{key}",), "must be symmetric in the amplitudes")
    check_rotation(findings, "tip", body.tip)
    if findings.problems:
        return
    size = np.sqrt(np.diag(i.modal_mass))
    own = np.einsum("ijaa->ij", i.shape_shape) + i.rotary_modal
    apart = float(np.abs((own - i.modal_mass) / np.outer(size, size)).max(initial=0.0))
    if not body.first_order and apart > REFUSE_ABOVE:
        findings.refuse(("shape_shape",), f"is {percent(apart)} off modal_mass")
    last, moved = body.drawn.places[body.drawn.axis - 1], body.drawn.moved[body.drawn.axis - 1]
    reach = max(float(np.abs(body.tip_shape).max(initial=0.0)), 1e-300)
    off = float(np.abs(last - body.tip.position).max()) / max(body.length, 1e-300)
    if max(off, float(np.abs(moved - body.tip_shape).max()) / reach) > KEPT:
        findings.refuse(("tip_shape",), "and tip_position are not those of the line that is drawn")


def check_rotation(findings: Findings, key: str, pose: Pose) -> None:
    """Refuse a frame whose rotation is none."""
    off = np.abs(pose.rotation.T @ pose.rotation - np.eye(3)).max()
    if not off <= 1e-6 or np.linalg.det(pose.rotation) < 0:
        findings.refuse(
            (f"{key}_rotation",), "must be a rotation matrix: unit columns, right-handed"
        )


def require_whole(data: BodyData, findings: Findings) -> bool:
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
        "K_sigma": (data.k_sigma, (18, m, m)),
        "K_u": (data.k_u, (18, m, m)),
        "strains": (data.strains, (m, 0 if data.strains is None else data.strains.shape[-1])),
        "frequencies": (data.hertz, (m,)),
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
    named = {"hub_nodes": data.hub_nodes, "tip_nodes": data.tip_nodes, "lines": data.lines,
             "faces": data.faces}  # fmt: skip
    for key, rows in named.items():
        if len(rows) and not (rows.min() >= 0 and rows.max() < n):
            findings.refuse((key,), f"must be numbers of nodes from 1 to {n}")
    for key, pose in (("hub", data.hub), ("tip", data.tip or IDENTITY)):
        check_rotation(findings, key, pose)
    if not findings.problems and not (total := float(data.node_mass.sum())) > 0:
        findings.refuse(("node_mass",), f"is {total:.4g} kg in all: must be > 0")
    return not findings.problems


def check_size(data: BodyData, findings: Findings, places: Array, tip: Pose) -> None:
    """Refuse interfaces away from the nodes, and a body denser than any metal."""
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
    check_units(findings, data.units, total)
    if volume > 1e-6 * size**3 and total > HEAVIEST * volume:
        findings.refuse(
            ("mass",),
            f"{total:.4g} kg in a box of {volume:.4g} m^3 is denser than any metal: are the units "
            "right?",
        )


def check_units(findings: Findings, units: Units, mass: float) -> None:
    """Note a body that weighs grams where a file in mm says kg: its masses may be tonnes."""
    if units == (1e-3, 1.0, 1.0) and mass < GRAMS:
        findings.note(
            ("mass",),
            f"the body weighs {1e3 * mass:.3g} g by units 'mm, kg, s': programs that have N and mm "
            "give masses in tonnes, 'mm, t, s'",
        )


def check_faces(data: BodyData, findings: Findings, places: Array, tip: Pose) -> None:
    """Refuse faces that are away from their frames."""
    size = float(np.ptp(places, axis=0).max())
    faces = (("hub", data.hub_nodes, np.zeros(3)), ("tip", data.tip_nodes, tip.position))
    for key, rows, origin in faces:
        if not len(rows):
            continue
        away = float(np.linalg.norm(places[rows] - origin, axis=1).min())
        if away > OUTSIDE * size:
            findings.refuse(
                (f"{key}_nodes",),
                f"are {away:.4g} m from the {key} frame, of a body of {size:.4g} m: are hub and "
                "tip exchanged, or nodes in another order?",
            )


def check_order(findings: Findings, places: Array, shapes: Array) -> None:
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
            ("shapes",), f"move node {worst + 1} unlike its neighbours: are nodes in another order?"
        )


def check_stated(findings: Findings, stated: Stated, hub: Pose, body: ReducedBody) -> None:
    """Compare mass, centre and inertia with what the program tells, in the axes of the data."""
    i = body.integrals
    told, centre, inertia = stated
    nan = np.full(3, np.nan)
    totals = [Total("the masses", ("mass",), i.mass, i.first / i.mass)]
    if told is not None:
        totals.append(Total("total_mass", ("total_mass",), told, nan))
    if centre is not None:
        at = (centre - hub.position) @ hub.rotation
        totals.append(Total("centre", ("centre",), np.nan, at))
    check_total(findings, totals, max(body.length, 1e-9))
    if inertia is not None and not np.any(hub.position):
        other = hub.rotation.T @ inertia @ hub.rotation
        apart = float(np.abs(other - body.inertia.second).max() / np.abs(other).max())
        findings.fact("inertia", f"{percent(apart)} off what is stated")
        if apart > NOTE_ABOVE:
            findings.judge(apart, ("inertia",), f"is {percent(apart)} off that of the masses")


def check_modal_mass(data: BodyData, findings: Findings, body: ReducedBody) -> None:
    """Compare the modal mass that is given with that of nodes and shapes."""
    i = body.integrals
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


def check_orthogonal(findings: Findings, mass: Array) -> None:
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


def check_modes(data: BodyData, findings: Findings, kept: Integers) -> None:
    """Refuse frequencies that no shape which deforms has, or that are not those of K."""
    if data.hertz is None:
        return
    low, high = FREQUENCIES
    for j in kept:
        if not low <= data.hertz[j] <= high:
            findings.refuse(
                ("frequencies", int(j)),
                f"must be {low:g} to {high:g} Hz, got {data.hertz[j]:.4g}: are the units right?",
            )
    mass = modal_mass(data) if data.mass is None else data.mass
    if data.stiffness is None or findings.problems or least_eigenvalue(mass) <= DEFINITE_TOLERANCE:
        return
    own = check_frequencies(Findings(), ("K",), data.stiffness, mass)[0] / (2 * np.pi)
    told = np.sort(data.hertz)
    apart = float((np.abs(own - told) / np.maximum(told, 1e-3 * told[-1])).max())
    if apart > NOTE_ABOVE:
        why = f"are up to {percent(apart)} off those of K: leave one of the two out"
        findings.judge(apart, ("frequencies",), why)


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
