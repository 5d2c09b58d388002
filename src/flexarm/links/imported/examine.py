"""Checks and conversion of modal data of bodies in space, along a line, or superelements."""

from dataclasses import replace

import numpy as np
from numpy.polynomial import legendre, polynomial

from flexarm.arm.constants import MOST_AMPLITUDES
from flexarm.constants import NEGLIGIBLE
from flexarm.io.source import Path
from flexarm.links.base import Direction, Shapes, Span, SpanCurves, gauss_points, panel_points
from flexarm.links.basis import own_stiffness
from flexarm.links.imported.body import (
    BodyFrame,
    ReducedBody,
    check_second_order,
    cleaned,
    drawn_points,
    examine_loads,
    orthogonal,
    rigid_mass,
    straight_axis,
)
from flexarm.links.imported.checks import (
    check_frequencies,
    check_hertz,
    check_length,
    check_line,
    check_matrices,
    check_matrix,
    check_modal_mass,
    check_order,
    check_size,
    check_slopes,
    check_stiffness,
    check_totals,
    check_units,
    coupled,
    least_eigenvalue,
    modal_difference,
    state_conventions,
)
from flexarm.links.imported.constants import (
    DIGITS,
    INTERFACES,
    NOTE_ABOVE,
    REFUSE_ABOVE,
    SUM_DIGITS,
)
from flexarm.links.imported.data import (
    MASS_REQUIRED,
    Findings,
    FrameData,
    Integers,
    ModalData,
    percent,
    rigid_columns,
    rigid_fit,
    shifted,
    spans_a_frame,
)
from flexarm.links.imported.readers.plain import TIP_NAMES
from flexarm.links.integrals import Integrals, integrate
from flexarm.spatial import IDENTITY, Array, Pose, axial_vectors


def examine(data_of_file: ModalData, findings: Findings) -> ReducedBody | None:
    """Check the modal data of a body in space; return it in its hub frame, or None if refused."""
    if not _has_mass(data_of_file, findings):
        return None
    state_conventions(findings, data_of_file)
    data = data_of_file.in_hub_frame()
    tip = data.tip or IDENTITY
    check_size(findings, data, tip)
    check_order(findings, data.nodes, data.shapes)
    hub, hub_moves = hub_motion(data, findings)
    tips = _tip_motion(data, findings, tip)
    frames = {name: _frame_motion(data, findings, name) for name in data.frames}
    if tips is None or findings.problems:
        return None
    hub_fixed = data
    if hub_moves:
        hub_fixed, tips = without_hub(data, hub), tips - shifted(hub, tip.position)
        frames = {
            name: (pose, motion - shifted(hub, pose.position))
            for name, (pose, motion) in frames.items()
        }
    deforming = _deforming(data, hub_fixed, findings)
    integrals = data.integrals()
    data = check_matrices(findings, data)
    check_hertz(findings, data, deforming, integrals.modal_mass)
    loads = examine_loads(data_of_file, findings, held=not hub_moves)
    if findings.problems:
        return None
    stiffness, damping = complete_matrices(data, integrals.modal_mass, deforming)
    integrals = replace(hub_fixed.integrals() if hub_moves else integrals, stiffness=stiffness)
    body = ReducedBody(
        data.name, data.names, integrals, tip, tips[:, :3].T.copy(), tips[:, 3:].T.copy(), damping,
        False,
        drawn_points(hub_fixed.nodes, hub_fixed.shapes, data.lines, data.faces, tip, tips),
        None if data.strains is None else data.strains.T.copy(), loads,
        {name: BodyFrame(pose, motion[:, :3].T.copy(), motion[:, 3:].T.copy())
         for name, (pose, motion) in frames.items()},
    )  # fmt: skip
    if len(deforming) < len(data.names):
        names = tuple(data.names[k] for k in deforming)
        body = body.changed(np.eye(len(data.names))[:, deforming], names)
    i, length = body.integrals, max(body.length, 1e-9)
    check_totals(findings, [("the masses", ("mass",), i)], data.stated, length)
    if data.mass is not None and hub_moves:
        findings.note(
            ("M",), "is that of the masses, since the hub's motion was subtracted from the shapes"
        )
    elif data.mass is not None:
        body = _with_mass(findings, body, data.mass[np.ix_(deforming, deforming)])
    if loads is not None and body.second_order is not None:
        check_second_order(findings, body.second_order, i, tip, complete=data.k_u is not None)
    modal = data.stiffness is None
    return finished(body, findings, ("frequencies" if modal else "K",), modal=modal)


def _has_mass(data: ModalData, findings: Findings) -> bool:
    """Return whether a body has shapes, nodes and mass; add an error if not."""
    (m, n), mass = data.shapes.shape[:2], data.node_mass
    if not 1 <= m <= MOST_AMPLITUDES or n < 1:
        findings.refuse(
            ("shapes",),
            f"must be 1 to {MOST_AMPLITUDES} shapes and one node at least, got {m}, {n}",
        )
    elif mass is None or data.per_length:
        findings.refuse(("node_mass",), MASS_REQUIRED)
    elif not (total := float(mass.sum())) > 0:
        findings.refuse(("node_mass",), f"is {total:.4g} kg in all: must be > 0")
    return not findings.problems


def _with_mass(findings: Findings, body: ReducedBody, mass: Array) -> ReducedBody:
    """Return a body with the modal mass matrix of its file.

    If this mass matrix contradicts the masses of the nodes, the body is returned unchanged.
    """
    if check_modal_mass(findings, mass, body.integrals, "the nodes") < -NEGLIGIBLE:
        findings.note(
            ("M",),
            "is not used. With the masses of the nodes it makes a mass matrix with a "
            "negative eigenvalue, as lumped masses may. The inertia of nodes and shapes "
            "is used.",
        )
        return body
    return replace(body, integrals=replace(body.integrals, modal_mass=mass))


def hub_motion(data: ModalData, findings: Findings) -> tuple[Array, bool]:
    """Return the motion of the hub in each shape, (m, 6), and whether any shape moves the hub."""
    rows, reach = data.hub_nodes, float(np.ptp(data.nodes, axis=0).max())
    size = np.abs(data.shapes).max(axis=(1, 2))
    if data.rotations is not None:
        size = np.maximum(size, reach * np.abs(data.rotations).max(axis=(1, 2)))
    size = np.maximum(size, 1e-300)
    hub = np.zeros((len(data.shapes), 6))
    if data.hub_shapes is not None:
        hub = data.hub_shapes
    elif not len(rows):
        findings.note(("hub_nodes",), "are not given: the hub is taken to be at rest in all shapes")
    elif not spans_a_frame(data.nodes[rows]):
        findings.refuse(("hub_nodes",), "must be three nodes at least, not on one line")
    else:
        hub, residuals = rigid_fit(data.nodes[rows], np.zeros(3), data.shapes[:, rows])
        _judge_face(findings, "hub", float((residuals / size).max()))
    motion = np.abs(hub * np.array([1.0] * 3 + [reach] * 3)).max(axis=1)
    if len(rows):
        rigid_motion = np.einsum("naj,mj->mna", rigid_columns(data.nodes[rows]), hub, optimize=True)
        motion = np.abs(rigid_motion).max(axis=(1, 2))
    is_moving = motion > DIGITS * size
    if is_moving.any():
        findings.note(
            ("shapes",),
            f"{int(is_moving.sum())} of {len(is_moving)} move the hub, by up to "
            f"{percent(float((motion / size).max()))} of their size. That rigid motion "
            "was subtracted.",
        )
    return hub, bool(is_moving.any())


def without_hub(data: ModalData, hub: Array) -> ModalData:
    """Return modal data whose shapes do not contain the rigid motions (m, 6) of the hub."""
    rigid_motion = np.einsum("naj,mj->mna", rigid_columns(data.nodes), hub, optimize=True)
    rotations = None if data.rotations is None else data.rotations - hub[:, None, 3:]
    return replace(data, shapes=data.shapes - rigid_motion, rotations=rotations)


def _judge_face(findings: Findings, key: str, worst: float) -> None:
    """Add a note or an error if a hub, tip or frame face deforms too much for a rigid face."""
    findings.judge(
        worst,
        (f"{key}_nodes",),
        f"deform by {percent(worst)} of the shapes' size where they must move as one rigid face: "
        "tie them to one frame (RBE2), or are nodes numbered otherwise?",
    )


def _tip_motion(data: ModalData, findings: Findings, tip: Pose) -> Array | None:
    """Return the motion of the tip frame in each shape, (m, 6); None if it is undetermined."""
    return _face_motion(data, findings, "tip", FrameData(tip, data.tip_nodes, data.tip_shapes))


def _frame_motion(data: ModalData, findings: Findings, name: str) -> tuple[Pose, Array]:
    """Return the pose of a named frame, and its motion in each shape, (m, 6).

    Errors are added to the findings.
    """
    frame, key = data.frames[name], f"frame_{name}"
    if frame.pose is None:
        findings.refuse((f"{key}_position",), "or nodes of the frame are required")
    pose = frame.pose or IDENTITY
    motion = _face_motion(data, findings, key, replace(frame, pose=pose))
    return pose, np.zeros((len(data.shapes), 6)) if motion is None else motion


def _face_motion(data: ModalData, findings: Findings, key: str, frame: FrameData) -> Array | None:
    """Return the motion of a frame in each shape, (m, 6), by its shapes or a fit to its nodes.

    The motion is None if neither determines it. ``key`` is the start of the frame's keys in the
    file.
    """
    rows, stated = frame.nodes, frame.shapes
    assert frame.pose is not None
    if not spans_a_frame(data.nodes[rows]):
        if stated is None:
            findings.refuse(
                (f"{key}_nodes",),
                "must be three nodes at least, not on one line"
                if len(rows)
                else f"or {key}_shapes are required: what follows is carried by this frame's "
                "motion",
            )
        return stated
    fit, residuals = rigid_fit(data.nodes[rows], frame.pose.position, data.shapes[:, rows])
    size = np.maximum(np.abs(data.shapes).max(axis=(1, 2)), 1e-300)
    worst = float((residuals / size).max())
    label = key.replace("frame_", "frame ")
    findings.fact(f"{label} face", f"rigid to {percent(worst)} of the shapes' size")
    _judge_face(findings, key, worst)
    if stated is None:
        return fit
    reach = float(np.linalg.norm(np.ptp(data.nodes, axis=0)))
    scale = size[:, None] * np.array([1.0] * 3 + [1 / reach] * 3)
    difference = float((np.abs(stated - fit) / scale).max())
    findings.judge(
        difference,
        (f"{key}_shapes",),
        f"are {percent(difference)} off the motion of the nodes of {label}. Are axes, signs and "
        "units (radians) the same?",
    )
    return stated


def _deforming(data_of_file: ModalData, hub_fixed: ModalData, findings: Findings) -> Integers:
    """Return the indices of the shapes that deform the body, without rigid-body motions."""
    reach = float(np.ptp(data_of_file.nodes, axis=0).max())
    sizes, sizes_without_hub = (
        np.abs(data.shapes).max(axis=(1, 2))
        + (0.0 if data.rotations is None else reach * np.abs(data.rotations).max(axis=(1, 2)))
        for data in (data_of_file, hub_fixed)
    )
    deforming = np.flatnonzero(sizes_without_hub > DIGITS * sizes).astype(np.int64)
    if count := len(sizes) - len(deforming):
        findings.note(("shapes",), f"{count} are rigid motions of the hub and were left out")
    if not len(deforming):
        findings.refuse(("shapes",), "deform nothing: all are zero, or rigid motions")
    return deforming


def complete_matrices(
    data: ModalData, modal_mass: Array, deforming: Integers
) -> tuple[Array, Array | None]:
    """Return stiffness K and damping D, computed from frequencies and ratios if not given.

    Parameters
    ----------
    data
        The data, with matrices checked.
    modal_mass
        Modal mass from masses and shapes, (m, m), used where M is not given.
    deforming
        Indices of the shapes that deform the body.
    """
    size = np.diag(modal_mass if data.mass is None else data.mass)
    stiffness, damping = data.stiffness, data.damping
    if stiffness is None and data.hertz is not None:
        omega = np.zeros(len(size))
        omega[deforming] = 2 * np.pi * data.hertz[deforming]
        stiffness = np.diag(omega**2 * size)
    if data.ratios is not None:
        damping = np.diag(2 * data.ratios * np.sqrt(np.abs(size * np.diag(stiffness))))
    return stiffness, damping


def finished(
    body: ReducedBody, findings: Findings, path: Path, *, modal: bool
) -> ReducedBody | None:
    """Check mass, stiffness and tip motions of a body; return the body, or None if refused.

    The argument ``modal`` states that all shapes are modes, without static shapes of the tip.
    """
    i = body.integrals
    if i.mass <= 0:
        findings.refuse(("mass",), f"is {i.mass:.4g} kg in all: must be > 0")
        return None
    rigid_and_modal = rigid_mass(i)
    smallest = least_eigenvalue(rigid_and_modal)
    findings.fact("rigid-body consistency", f"smallest eigenvalue {smallest:.3g}")
    if smallest < -NEGLIGIBLE or least_eigenvalue(i.modal_mass) <= NEGLIGIBLE:
        findings.refuse(
            ("mass",),
            "rigid motions and shapes together have a mass matrix with the eigenvalue "
            f"{smallest:.3g}, which must be > 0. Are shapes alike, or are masses and shapes "
            "of different meshes?",
        )
        return None
    check_frequencies(findings, path, i.stiffness, i.modal_mass, body.damping)
    _state_effective_mass(findings, rigid_and_modal)
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
            "the body has no nodes, so the change of its inertia with its deformation "
            "is left out, about 0.7 % per 1 % of tip deflection over length",
        )
    if findings.problems:
        return None
    return cleaned(orthogonal(body))


def check_whole(findings: Findings, body: ReducedBody) -> None:
    """Check that moments, matrices, hub and tip of a stored body are consistent."""
    i = body.integrals
    check_matrix(findings, "stiffness", i.stiffness, definite=False)
    check_matrix(findings, "modal_mass", i.modal_mass, definite=True)
    if body.damping is not None:
        check_matrix(findings, "damping", body.damping, definite=False)
    for key, x in vars(body.second_order).items() if body.second_order else ():
        if np.abs(x - x.swapaxes(-1, -2)).max() > NEGLIGIBLE * np.abs(x).max():
            findings.refuse((f"second_order_{key}",), "must be symmetric in the amplitudes")
    if findings.problems:
        return
    difference = modal_difference(i, i.modal_mass)
    if not body.first_order and difference > REFUSE_ABOVE:
        findings.refuse(("shape_shape",), f"is {percent(difference)} off modal_mass")
    last_point, last_shapes = (
        body.drawn.places[body.drawn.axis - 1],
        body.drawn.moved[body.drawn.axis - 1],
    )
    reach = max(float(np.abs(body.tip_shape).max(initial=0.0)), 1e-300)
    position_error = float(np.abs(last_point - body.tip.position).max()) / max(body.length, 1e-300)
    if max(position_error, float(np.abs(last_shapes - body.tip_shape).max()) / reach) > SUM_DIGITS:
        findings.refuse(("tip_shape",), "and tip_position are not those of the line that is drawn")


def _state_effective_mass(findings: Findings, rigid_and_modal: Array) -> None:
    """Report the effective modal mass along x, y, z as fractions of the body's mass."""
    linear, modal, total = rigid_and_modal[3:6, 6:], rigid_and_modal[6:, 6:], rigid_and_modal[3, 3]
    share = np.diag(linear @ np.linalg.solve(modal, linear.T)) / total
    text = ", ".join(f"{axis} {percent(float(s))}" for axis, s in zip("xyz", share, strict=True))
    findings.fact("effective mass", f"{text} of the body's")


def _check_interface(findings: Findings, body: ReducedBody, *, modal: bool) -> None:
    """Check how many of the six tip motions the shapes represent; note missing static shapes."""
    reach = max(body.length, 1e-9)
    rows = np.vstack([body.tip_shape, reach * body.tip_angle])
    size = np.sqrt(np.diag(body.integrals.modal_mass))
    sizes = np.linalg.svd(rows / size, compute_uv=False)
    rank = int(np.sum(sizes > 1e-6 * max(float(sizes.max(initial=0.0)), 1e-300)))
    if rank == 0:
        findings.refuse(("tip_shapes",), "are zero in every shape. Which nodes are the tip's?")
    elif rank < 6:
        findings.note(
            ("tip_shapes",),
            f"the shapes move the tip in {rank} of 6 ways: it is rigid in the others",
        )
    if modal:
        findings.note(
            ("shapes",),
            "modes alone make the body some per cent too stiff under loads at its tip. "
            "Add the six static shapes of the tip (flexarm reduce does).",
        )


def examine_superelement(given: ModalData, findings: Findings) -> ReducedBody | None:
    """Check a superelement; return a body without second-order terms, or None if refused."""
    n = len(given.stiffness)
    if n < INTERFACES:
        findings.refuse(
            ("K",),
            f"must be over hub (6), tip (6) and modes, got {given.stiffness.shape}. Is "
            "an interface missing, or the file cut off?",
        )
        return None
    state_conventions(findings, given)
    data = check_matrices(findings, given)
    tip = data.in_hub_frame().tip or IDENTITY
    transform = _relative(n, (data.hub or IDENTITY).rotation, tip.position)
    K, M, D = (
        None if matrix is None else transform.T @ matrix @ transform
        for matrix in (data.stiffness, data.mass, data.damping)
    )
    assert K is not None and M is not None
    _check_free(findings, K)
    integrals = _integrals(findings, K[6:, 6:], M)
    check_units(findings, data.units, integrals.mass)
    if findings.problems:
        return None
    tips = np.zeros((n - 6, 6))
    tips[:6] = np.eye(6)
    body = ReducedBody(
        data.name, (*TIP_NAMES, *(f"fixed{k}" for k in range(1, n - 11))), integrals, tip,
        tips[:, :3].T.copy(), tips[:, 3:].T.copy(), None if D is None else D[6:, 6:], True,
        straight_axis(tip, tips),
    )  # fmt: skip
    check_length(findings, ("tip",), body.length)
    stated = data.in_hub_frame().stated
    check_totals(findings, [("the masses", ("M",), integrals)], stated, max(body.length, 1e-9))
    return finished(body, findings, ("K",), modal=False)


def _relative(n: int, rotation: Array, tip: Array) -> Array:
    """Return the matrix (n, n) from relative unknowns to the unknowns of a superelement.

    The relative unknowns are the hub motion, which the tip follows as if the body were rigid, the
    tip motion relative to the hub, and the modes.
    """
    transform = np.eye(n)
    transform[6:12, :6] = shifted(np.eye(6), tip).T
    rotations = np.kron(np.eye(4), rotation)
    transform[:12, :12] = rotations @ transform[:12, :12]
    return transform


def _check_free(findings: Findings, stiffness: Array) -> None:
    """Check that the stiffness matrix of a superelement does not resist rigid-body motions."""
    size = np.sqrt(np.maximum(np.abs(np.diag(stiffness)), 1e-300))
    size[:6] = size[6:12]
    scaled = np.abs(stiffness[:, :6]) / np.outer(size, size[:6])
    worst = float(np.nan_to_num(scaled).max())
    findings.fact("rigid motions", f"meet {worst:.2g} of the stiffness of the tip")
    if worst > NOTE_ABOVE:
        findings.refuse(
            ("K",),
            f"must let the body move rigidly, but {percent(worst)} of the tip's "
            "stiffness resists. The body is held or grounded, or the tip frame is not "
            "where the tip is (units, axes).",
        )
    elif worst > DIGITS:
        findings.note(("K",), f"rigid motions meet {worst:.2g} of the tip's stiffness")


def _integrals(findings: Findings, stiffness: Array, mass: Array) -> Integrals:
    """Return mass integrals from the mass matrix of a superelement in relative unknowns."""
    total = float(np.trace(mass[:3, :3]) / 3)
    first_moment = mass[3:6, :3]  # skew-symmetric matrix of the first moment
    first = -axial_vectors(first_moment) / 2
    difference = float(np.abs(mass[:3, :3] - total * np.eye(3)).max()) / max(total, 1e-300)
    findings.judge(
        difference,
        ("M",),
        f"rigid translations along x, y, z have masses {percent(difference)} apart. Is the "
        "tip frame where the tip is, in the units of M?",
    )
    second = mass[3:6, 3:6]
    m = len(stiffness)
    return Integrals(
        total, first, np.trace(second) / 2 * np.eye(3) - second, mass[:3, 6:],
        np.zeros((m, 3, 3)), np.zeros((m, m, 3, 3)), np.zeros((3, 3)), mass[3:6, 6:],
        np.zeros((m, m)), mass[6:, 6:], stiffness,
    )  # fmt: skip


SECTION, FILE = "the link's section", "the file's masses"


# Columns are the Legendre series of 1, (1 + t), (1 + t)^2 and (1 + t)^3.
CUBIC = np.array([
    np.pad(legendre.poly2leg(polynomial.polypow([1, 1], k)), (0, 3 - k)) for k in range(4)
]).T  # fmt: skip


def curves_through(data: ModalData) -> Shapes:
    """Return piecewise cubic shapes through nodes on the x axis.

    Shapes along y and z are Hermite cubics that match displacements and slopes. Stretch and twist,
    whose slopes are not given, are cubic splines with a continuous second derivative.
    """
    from scipy.interpolate import CubicHermiteSpline, CubicSpline, PPoly

    assert data.rotations is not None
    x, u, theta = data.nodes[:, 0], data.shapes, data.rotations
    splines: dict[Direction, PPoly] = {
        "y": CubicHermiteSpline(x, u[:, :, 1].T, theta[:, :, 2].T),
        "z": CubicHermiteSpline(x, u[:, :, 2].T, -theta[:, :, 1].T),
        "twist": CubicSpline(x, theta[:, :, 0].T),
        "x": CubicSpline(x, u[:, :, 0].T),
    }
    powers = (np.diff(x)[:, None] / 2) ** np.arange(4)
    curves: dict[Direction, tuple[SpanCurves, ...]] = {}
    for direction, spline in splines.items():
        terms = spline.c[::-1]  # ascending powers of the distance from each panel's start
        coefficients = np.zeros((4, *terms.shape[1:]))
        coefficients[: len(terms)] = terms
        values = np.einsum("dk,pk,kpm->pdm", CUBIC, powers, coefficients)
        is_present = np.diag(np.where(np.any(values, axis=(0, 1)), 1.0, 0.0))
        curves[direction] = (SpanCurves.from_values(x, values).times(is_present),)
    return Shapes(data.names, curves, x, np.zeros((len(data.names),) * 2))


def examine_line(data_of_file: ModalData, findings: Findings, span: Span) -> Shapes | None:
    """Check modal data at stations of a span; return its shapes, or None if refused."""
    state_conventions(findings, data_of_file)
    data = data_of_file.in_hub_frame()
    x = check_line(findings, data, span.length)
    data, all_shapes = check_matrices(findings, data), np.arange(len(data.shapes))
    if x is not None:
        check_slopes(findings, x, data)
    if data.hertz is not None and data.mass is not None and coupled(data.mass):
        findings.refuse(("frequencies",), "needs a diagonal M. Give K instead.")
    check_hertz(findings, data, all_shapes, None)
    if x is None or findings.problems:
        return None
    assert data.rotations is not None
    nodes, root = np.stack([x, 0 * x, 0 * x], axis=1), [data.shapes[:, 0], data.rotations[:, 0]]
    data = replace(data, nodes=nodes, hub_shapes=np.hstack(root))
    hub, root_moves = hub_motion(data, findings)
    root_fixed = without_hub(data, hub)
    moving_shapes, shapes = curves_through(data), curves_through(root_fixed)
    section, by_masses = integrate(span, shapes, stiffening=False)[0], by_file(root_fixed, shapes)
    sources: list[tuple[str, Path, Integrals]] = [(SECTION, (), section)]
    if by_masses is not None:
        sources.append((FILE, ("node_mass",), by_masses))
    check_totals(findings, sources, data.stated, span.length)
    modal_with_root, mass = (
        integrate(span, moving_shapes, stiffening=False)[0].modal_mass,
        data.mass,
    )
    stiffness, damping = complete_matrices(data, modal_with_root, all_shapes)
    if mass is not None and root_moves:
        moving_by_masses = by_file(data, moving_shapes)
        mass = mass - (
            modal_with_root - section.modal_mass
            if by_masses is None or moving_by_masses is None
            else moving_by_masses.modal_mass - by_masses.modal_mass
        )
    modal = section.modal_mass if mass is None else mass
    if _has_modal_mass(findings, modal, given=mass is not None):
        _compare_mass(findings, mass, sources)
        path = ("frequencies" if data_of_file.stiffness is None else "K",)
        check_frequencies(findings, path, stiffness, modal, damping)
        check_stiffness(findings, path, stiffness, own_stiffness(shapes, span))
    return replace(shapes, stiffness=stiffness, mass=mass, damping=damping)


def by_file(data: ModalData, shapes: Shapes) -> Integrals | None:
    """Return mass integrals from the masses in a file; None if the file has no masses."""
    if data.node_mass is None or not data.per_length:
        return None if data.node_mass is None else data.integrals()
    node, _ = gauss_points(4)  # exact for a squared cubic times a linear function
    x, shares = data.nodes[:, 0], np.stack([(1 - node) / 2, (1 + node) / 2])

    def interpolate(values: Array) -> Array:
        pairs = np.stack([values[:-1], values[1:]])
        values_at_points = np.einsum("kg,kp...->pg...", shares, pairs)
        return np.asarray(values_at_points.reshape(-1, *values.shape[1:]))

    weights = panel_points(x, 4)[1].ravel()
    inertia = np.zeros((len(x), 3, 3)) if data.node_inertia is None else data.node_inertia
    points = interpolate(x)
    return replace(
        data, nodes=np.stack([points, 0 * points, 0 * points], axis=1),
        node_mass=weights * interpolate(data.node_mass),
        node_inertia=weights[:, None, None] * interpolate(inertia),
        shapes=shapes.displacement(points).transpose(2, 0, 1),
        rotations=shapes.rotation(points).transpose(2, 0, 1),
    ).integrals()  # fmt: skip


def _has_modal_mass(findings: Findings, modal: Array, *, given: bool) -> bool:
    """Return whether the modal mass with fixed root is positive definite; add an error if not."""
    if np.all(np.diag(modal) > 0.0) and least_eigenvalue(modal) > NEGLIGIBLE:
        return True
    reason = "when integrated. Are shapes alike, or is inertia missing?"
    if given:
        reason = "with the root's motion taken out. Do the masses belong to M?"
    findings.refuse(("M",), f"is not positive definite {reason}")
    return False


def _compare_mass(
    findings: Findings, mass: Array | None, sources: list[tuple[str, Path, Integrals]]
) -> None:
    """Compare the mass matrix M of the file with the modal mass from each other source.

    M must also be consistent with each source's rigid-body inertia.
    """
    if mass is None:
        findings.fact("modal mass", "M is not given: integrated over the section")
        return
    for source, _, integrals in reversed(sources):
        smallest = check_modal_mass(findings, mass, integrals, source)
        findings.fact("rigid-body consistency", f"smallest eigenvalue {smallest:.3g} with {source}")
        message = (
            f"makes with {source} a mass matrix of rigid motions and shapes that has a negative "
            f"eigenvalue, {smallest:.3g}"
        )
        # the dynamics combine masses of the section with M
        if smallest < -NEGLIGIBLE and source == SECTION:
            findings.refuse(("M",), f"{message}. Leave M out, so that the section is integrated.")
        elif smallest < -NEGLIGIBLE:
            findings.note(("M",), f"{message}. Was it made with other masses?")
