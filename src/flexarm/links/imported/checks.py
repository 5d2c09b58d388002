"""Consistency checks of modal data from files, for bodies in space and along a line."""

import math
from dataclasses import replace

import numpy as np

from flexarm.constants import NEGLIGIBLE
from flexarm.io.source import Path
from flexarm.linear_model import undamped
from flexarm.links.imported.body import rigid_mass
from flexarm.links.imported.constants import (
    DIGITS,
    DOUBTFUL_MASS,
    FARTHEST_INTERFACE,
    FEWEST_NODES,
    FINE_MESH,
    FREQUENCIES,
    LARGEST_DENSITY,
    LARGEST_GRADIENT,
    LENGTHS,
    NEIGHBOURS,
    REFUSE_ABOVE,
    SHORTEST_CHANGE,
    STIFFNESS_FACTOR,
)
from flexarm.links.imported.data import (
    Findings,
    Integers,
    ModalData,
    Stated,
    Units,
    percent,
    triple,
)
from flexarm.links.integrals import Integrals
from flexarm.spatial import IDENTITY, Array, Pose, angles_from_rotation
from flexarm.units import quantity

# Relation between rotation and slope: text, axis of displacement, axis of rotation, sign.
PLANES = (("theta_z must be y'", 1, 2, 1.0), ("theta_y must be -z'", 2, 1, -1.0))


def least_eigenvalue(matrix: Array) -> float:
    """Return the smallest eigenvalue of a symmetric matrix that is scaled to a unit diagonal.

    Zero rows of the matrix are omitted.

    Returns
    -------
    float
        The eigenvalue, from 0 to 1 for a mass matrix; ``-inf`` if a diagonal entry is negative, or
        if it is 0 in a nonzero row.
    """
    nonzero = np.any(matrix != 0, axis=1)
    matrix = matrix[np.ix_(nonzero, nonzero)]
    diagonal = np.diag(matrix)
    if np.any(diagonal <= 0):
        return -math.inf
    size = np.sqrt(diagonal)
    return float(np.linalg.eigvalsh(matrix / np.outer(size, size)).min(initial=1.0))


def check_matrix(findings: Findings, name: str, matrix: Array, *, definite: bool) -> Array:
    """Return a matrix made exactly symmetric; add an error if it is asymmetric or indefinite.

    With ``definite`` the matrix must be positive definite, otherwise positive semidefinite.
    """
    size = np.sqrt(np.abs(np.diag(matrix)))
    scale = np.maximum(np.outer(size, size), np.maximum(np.abs(matrix), np.abs(matrix.T)))
    asymmetry = np.abs(matrix - matrix.T) / np.where(scale > 0, scale, 1.0)
    i, j = np.unravel_index(int(np.argmax(asymmetry)), asymmetry.shape)
    if asymmetry[i, j] > DIGITS:
        findings.refuse(
            (name, int(i), int(j)),
            f"must be symmetric: {matrix[i, j]:.6g} here, but {matrix[j, i]:.6g} "
            f"in row {j + 1}, column {i + 1} (SI units)",
        )
        return matrix
    matrix = (matrix + matrix.T) / 2
    smallest = least_eigenvalue(matrix)
    zero_row = bool(np.any(np.all(matrix == 0, axis=1)))
    value = f"scaled to a unit diagonal its smallest eigenvalue is {smallest:.3g}"
    value = "its diagonal has an entry <= 0" if math.isinf(smallest) else value
    if definite and (zero_row or smallest < NEGLIGIBLE):
        value = "a row is zero" if zero_row else value
        findings.refuse((name,), f"must be positive definite, but {value}: a shape has no mass")
    elif smallest < -NEGLIGIBLE:
        reason = "damping would feed energy" if name == "D" else "a shape would drive itself"
        findings.refuse((name,), f"must have no negative eigenvalue, but {value}: {reason}")
    return matrix


def check_matrices(findings: Findings, data: ModalData) -> ModalData:
    """Check M, K, D, frequencies and damping ratios of a body; return symmetric matrices."""
    M, K, D = (
        None if matrix is None else check_matrix(findings, key, matrix, definite=key == "M")
        for key, matrix in (("M", data.mass), ("K", data.stiffness), ("D", data.damping))
    )
    if K is None and data.hertz is None:
        findings.refuse(("K",), "or frequencies are required")
    matrices = [matrix for matrix in (M, K) if matrix is not None]
    if data.ratios is not None and K is not None and any(map(coupled, matrices)):
        findings.refuse(
            ("damping_ratios",),
            "needs diagonal M and K. Give D, or the link's damping in the arm's file.",
        )
    return replace(data, mass=M, stiffness=K, damping=D)


def coupled(matrix: Array) -> bool:
    """Return whether a matrix has off-diagonal entries above rounding."""
    size = np.sqrt(np.abs(np.diag(matrix)))
    off_diagonal = np.abs(matrix - np.diag(np.diag(matrix)))
    return bool(np.any(off_diagonal > DIGITS * np.outer(size, size)))


def state_conventions(findings: Findings, data: ModalData) -> None:
    """Add the units of the data and the pose of the hub frame to the report."""
    (length, mass, time), hub = data.units, data.hub or IDENTITY
    findings.fact("units", f"length {length:g} m, mass {mass:g} kg, time {time:g} s; below in SI")
    angles = triple(math.degrees(angle) for angle in angles_from_rotation(hub.rotation))
    findings.fact(
        "hub",
        f"at {triple(hub.position)} m in the data, turned by {angles} deg about x, y, z",
    )


def check_units(findings: Findings, units: Units, mass: float) -> None:
    """Add a note if a mass [kg] is so small that the file's unit is probably the tonne."""
    if units == (1e-3, 1.0, 1.0) and mass < DOUBTFUL_MASS:
        findings.note(
            ("mass",),
            f"the mass of the body is {1e3 * mass:.3g} g with units 'mm, kg, s'. "
            "Programs that use N and mm give masses in tonnes, 'mm, t, s'.",
        )


def check_length(findings: Findings, path: Path, length: float) -> None:
    """Add a note if a body's length [m] is outside the usual range of robot links."""
    if not LENGTHS[0] <= length <= LENGTHS[1]:
        findings.note(path, f"the body is {length:.4g} m long. Are the units right?")


def check_line(findings: Findings, data: ModalData, length: float) -> Array | None:
    """Check that nodes lie on the hub's x axis, from 0 to the length of a span [m].

    Returns
    -------
    x
        Distances from the root [m], (N,); None if an error was added.
    """
    error_count, positions = len(findings.problems), data.nodes
    size = float(np.abs(positions).max()) or 1.0
    offsets = np.hypot(positions[:, 1], positions[:, 2])
    x = positions[:, 0].copy()
    reversed_nodes = np.flatnonzero(np.diff(x) <= 0) + 1
    if offsets.max() > DIGITS * size:
        k = int(np.argmax(offsets))
        findings.refuse(
            ("nodes", k),
            f"lies {offsets[k]:.6g} m off the link's x axis, at {triple(positions[k])} m in its "
            "root frame. Place and turn the interface frame so that its x axis runs "
            "along the stations.",
        )
    elif len(reversed_nodes):
        k = int(reversed_nodes[0])
        findings.refuse(
            ("nodes", k),
            f"must lie beyond the station before it, got {x[k]:.6g} m after {x[k - 1]:.6g} m "
            "along the link's x axis",
        )
    else:
        if abs(x[0]) > DIGITS * size:
            findings.refuse(
                ("nodes", 0),
                f"must be at the root of the link, got x = {x[0]:.6g} m. Set "
                "interface.position to where the root is.",
            )
        if abs(x[-1] / length - 1) > DIGITS:
            findings.refuse(
                ("nodes", len(x) - 1),
                f"must be at the end of the link's flexible span, {length:.9g} m, "
                f"got {x[-1]:.9g} m{_fitting_unit(x[-1] / length, data.units[0])}",
            )
    findings.fact("nodes", f"{len(x)}, to {x[-1]:.6g} m from the root")
    x[0], x[-1] = 0.0, length
    return x if len(findings.problems) == error_count else None


def _fitting_unit(ratio: float, unit: float) -> str:
    """Return a hint that names the unit of length that would correct a length ratio, or ""."""
    for unit_name in ("m", "mm", "cm", "in", "ft"):
        if abs(ratio * quantity(f"1 {unit_name}", "m") / unit - 1) < 1e-3:
            return f"; units.length: {unit_name} would fit"
    return ""


def check_slopes(findings: Findings, x: Array, data: ModalData) -> None:
    """Check that shapes are nonzero and that rotations are the slopes of the displacements.

    Rotations must be ``theta_z = y'`` and ``theta_y = -z'``. The displacement increments between
    stations are compared with the integral of a cubic spline through the rotations.
    """
    from scipy.interpolate import CubicSpline

    assert data.rotations is not None
    worst = 0.0
    for j, (name, u, theta) in enumerate(zip(data.names, data.shapes, data.rotations, strict=True)):
        size = max(float(np.abs(u).max()), x[-1] * float(np.abs(theta).max()))
        if size == 0:
            findings.refuse(
                ("shapes", j), f"shape '{name}' is zero at every station. Leave it out."
            )
            continue
        integrals = np.diff(CubicSpline(x, theta).antiderivative()(x), axis=0)
        for text, axis, about, sign in PLANES:
            increment, integral = sign * np.diff(u[:, axis]), integrals[:, about]
            largest = max(float(np.linalg.norm(increment)), float(np.linalg.norm(integral)))
            if largest <= 1e-3 * size:
                continue  # the shape has only negligible values in this plane
            difference = float(np.linalg.norm(increment - integral)) / largest
            worst = max(worst, difference)
            findings.judge(
                difference,
                ("shapes", j, "rotation"),
                f"shape '{name}': {text} along the link, but they are {percent(difference)} apart"
                f"{_slope_mistake(increment, integral, integrals[:, 3 - about], text[:7])}",
            )
    findings.fact("slopes", f"up to {percent(worst)} off those of the displacements")


def _slope_mistake(rise: Array, integral: Array, other: Array, name: str) -> str:
    """Return the probable cause of rotations that do not match the slopes, as text."""
    if not np.any(integral):
        return f": {name} is zero"
    causes = (
        (-integral, f"{name} has the opposite sign"),
        (other, "theta_y and theta_z look exchanged"),
        (-other, "theta_y and theta_z look exchanged"),
        (integral * math.pi / 180, "it looks like degrees, but must be in rad"),
        (integral * 1000, "it looks like rad/m, with displacements in mm"),
        (integral / 1000, "it looks like rad/mm, with displacements in m"),
    )
    for candidate, cause in causes:
        if np.linalg.norm(rise - candidate) <= REFUSE_ABOVE * np.linalg.norm(rise):
            return f": {cause}"
    return ": shear, noise, or too few stations for this shape"


def check_size(findings: Findings, data: ModalData, tip: Pose) -> None:
    """Check that hub and tip are near the nodes, and that the density is below that of metals."""
    low, high = data.nodes.min(axis=0), data.nodes.max(axis=0)
    size = float((high - low).max())
    findings.fact("nodes", f"{len(data.nodes)}, over {triple(high - low)} m")
    check_length(findings, ("nodes",), size)
    ends = (("hub", np.zeros(3), data.hub_nodes), ("tip", tip.position, data.tip_nodes))
    for key, origin, rows in ends:
        distance = float(np.maximum(np.maximum(low - origin, origin - high), 0.0).max())
        if distance > FARTHEST_INTERFACE * size:
            findings.refuse(
                (f"{key}_position",),
                f"is {distance:.4g} m away from a body of {size:.4g} m. Are both in the same "
                "units and axes?",
            )
        nearest = float(np.linalg.norm(data.nodes[rows] - origin, axis=1).min(initial=np.inf))
        if len(rows) and nearest > FARTHEST_INTERFACE * size:
            findings.refuse(
                (f"{key}_nodes",),
                f"are {nearest:.4g} m from the {key} frame, of a body of {size:.4g} m. Are "
                "hub and tip exchanged, or nodes in another order?",
            )
    if float(np.linalg.norm(tip.position)) < 1e-6 * size:
        findings.refuse(
            ("tip_position",), "is where the hub is. Give the tip frame, or the tip's nodes."
        )
    total, volume = float(data.node_mass.sum()), float(np.prod(high - low))
    check_units(findings, data.units, total)
    if volume > 1e-6 * size**3 and total > LARGEST_DENSITY * volume:
        findings.refuse(
            ("mass",),
            f"{total:.4g} kg in a box of {volume:.4g} m^3 is denser than any metal. Are "
            "the units right?",
        )


def check_order(findings: Findings, places: Array, shapes: Array) -> None:
    """Add a note if neighbouring nodes move very differently, as if nodes were shuffled.

    The displacement gradients between neighbours are compared with the median of all nodes, and
    with the largest displacement divided by the size of the body.
    """
    from scipy.spatial import cKDTree

    if len(places) < FEWEST_NODES:
        return
    distances, neighbours = (
        np.asarray(array) for array in cKDTree(places).query(places, k=NEIGHBOURS + 1)
    )
    spacing = np.maximum(distances[:, 1:], 1e-12)
    gradients = np.stack(
        [
            np.median(np.linalg.norm(p[neighbours[:, 1:]] - p[:, None], axis=2) / spacing, axis=1)
            for p in shapes
        ]
    )
    medians = np.maximum(np.median(gradients, axis=1), 1e-300)
    size = np.abs(shapes).max(axis=(1, 2))
    reach, step = float(np.ptp(places, axis=0).max()), float(np.median(spacing[:, 0]))
    if reach > FINE_MESH * step and float(np.median(size / medians)) < SHORTEST_CHANGE * step:
        findings.note(
            ("shapes",),
            "move nearly every node unlike its neighbours. Are nodes and shapes in another order?",
        )
    elif float(np.quantile(gradients.max(axis=1) / medians, 0.75)) > LARGEST_GRADIENT:
        worst = int(np.argmax(np.quantile(gradients / medians[:, None], 0.75, axis=0)))
        findings.note(
            ("shapes",), f"move node {worst + 1} unlike its neighbours. Are nodes in another order?"
        )


def check_totals(
    findings: Findings, sources: list[tuple[str, Path, Integrals]], stated: Stated, length: float
) -> None:
    """Compare total mass, centre of mass and inertia of a body from different sources.

    Parameters
    ----------
    findings
        Report to which facts, notes and errors are added.
    sources
        Name of each source, key of the source in the file, and mass integrals. The first source is
        the reference for the others and for the stated values.
    stated
        Mass, centre and inertia about the origin stated in the file.
    length
        Length of the body [m].
    """
    mass, centre, inertia = stated
    (first, _, i), *other_sources = sources
    masses = [(source, path, integrals.mass) for source, path, integrals in other_sources]
    masses += [] if mass is None else [("total_mass", ("total_mass",), mass)]
    centres = [
        (source, path, integrals.first / integrals.mass)
        for source, path, integrals in other_sources
    ]
    centres += [] if centre is None else [("centre", ("centre",), centre)]
    centre_of_first = i.first / i.mass
    texts = [f"{m:.6g} kg ({source})" for source, _, m in [(first, (), i.mass), *masses]]
    findings.fact("total mass", ", ".join(texts))
    texts = [
        f"{triple(c)} m ({source})" for source, _, c in [(first, (), centre_of_first), *centres]
    ]
    findings.fact("centre of mass", ", ".join(texts))
    for _, path, other_mass in masses:
        findings.judge(
            abs(other_mass / i.mass - 1),
            path,
            f"the total mass is {other_mass:.6g} kg, but {i.mass:.6g} kg by {first}. Is "
            "units.mass right?",
        )
    for _, path, other_centre in centres:
        findings.judge(
            float(np.linalg.norm(other_centre - centre_of_first)) / length,
            path,
            f"the centre of mass is at {triple(other_centre)} m in the root frame, but at "
            f"{triple(centre_of_first)} m by {first}",
        )
    if inertia is not None:
        size = max(float(np.abs(inertia).max()), 1e-300)
        difference = float(np.abs(inertia - i.inertia.second).max()) / size
        findings.fact("inertia", f"{percent(difference)} off what is stated")
        findings.judge(
            difference, ("inertia_about_origin",), f"is {percent(difference)} off that of {first}"
        )


def modal_difference(i: Integrals, modal: Array) -> float:
    """Return the largest relative difference between a modal mass matrix and integrated mass."""
    computed = np.einsum("ijaa->ij", i.shape_shape) + i.rotary_modal
    size = np.sqrt(np.maximum(np.diag(modal), 1e-300))
    return float(np.abs((computed - modal) / np.outer(size, size)).max(initial=0.0))


def check_modal_mass(findings: Findings, modal: Array, i: Integrals, source: str) -> float:
    """Compare a given modal mass matrix with one computed from masses and shapes.

    Returns
    -------
    float
        Smallest eigenvalue of the mass matrix of rigid motions and shapes, scaled to a unit
        diagonal, with the given modal mass.
    """
    difference = modal_difference(i, modal)
    findings.fact("modal mass", f"M is up to {percent(difference)} off that of {source}")
    findings.judge(
        difference,
        ("M",),
        f"is {percent(difference)} off the modal mass that the shapes and {source} give. Are "
        "they of one model, in the stated units, and in the same order of nodes?",
    )
    return least_eigenvalue(rigid_mass(replace(i, modal_mass=modal)))


def check_orthogonal(findings: Findings, mass: Array) -> None:
    """Check that modes are orthogonal with respect to the modal mass matrix (m, m) of the nodes."""
    size = np.sqrt(np.maximum(np.diag(mass), 1e-300))
    errors = np.abs(mass / np.outer(size, size) - np.eye(len(mass)))
    worst = float(errors.max(initial=0.0))
    findings.fact("orthogonality", f"of the modes to {percent(worst)}")
    i, j = np.unravel_index(int(np.argmax(errors)), errors.shape)
    findings.judge(
        worst,
        ("shapes", int(i)),
        f"is not orthogonal to shape {int(j) + 1} ({percent(worst)}), as modes with "
        "frequencies are. Are nodes in another order, are masses of another mesh, or "
        "are these no modes? If they are no modes, give K.",
    )


def check_hertz(
    findings: Findings, data: ModalData, deforming: Integers, mass: Array | None
) -> None:
    """Check that the frequencies of shapes that deform the body are plausible.

    If a modal mass matrix (m, m) is computed from the nodes, also check that frequencies agree with
    the stiffness matrix K or, without K, that the modes are orthogonal.
    """
    if data.hertz is None:
        return
    low, high = FREQUENCIES
    for j in deforming:
        if not low <= data.hertz[j] <= high:
            findings.refuse(
                ("frequencies", int(j)),
                f"must be {low:g} to {high:g} Hz, got {data.hertz[j]:.4g}. Are the units right?",
            )
    if mass is None or findings.problems:
        return
    if data.stiffness is None:
        check_orthogonal(findings, mass)
        return
    mass = mass if data.mass is None else data.mass
    if least_eigenvalue(mass) <= NEGLIGIBLE:
        return
    frequencies = check_frequencies(Findings(findings.file), ("K",), data.stiffness, mass, None) / (
        2 * np.pi
    )
    hertz = np.sort(data.hertz)
    difference = float((np.abs(frequencies - hertz) / np.maximum(hertz, 1e-3 * hertz[-1])).max())
    message = f"are up to {percent(difference)} off those of K. Leave one of the two out."
    findings.judge(difference, ("frequencies",), message)


def check_stiffness(findings: Findings, path: Path, given: Array, section: Array) -> None:
    """Compare the stiffness matrix of a file with one computed from the link's section."""
    has_stiffness = np.diag(section) > 0
    ratio = np.diag(given)[has_stiffness] / np.diag(section)[has_stiffness]
    if not ratio.size:
        return
    worst = float(np.abs(ratio - 1).max())
    findings.fact("stiffness", f"K is up to {percent(worst)} off that of the link's section")
    if not 1 / STIFFNESS_FACTOR <= ratio.min() <= ratio.max() <= STIFFNESS_FACTOR:
        message = f"the stiffness is {ratio.max():.3g} times that of the link's section"
        findings.refuse(path, f"{message}. Is units.time right?")
    elif worst > REFUSE_ABOVE:
        message = f"the stiffness is up to {percent(worst)} off that of the link's section"
        findings.note(path, f"{message}: the file's stiffness is used")


def check_frequencies(
    findings: Findings, path: Path, stiffness: Array, modal: Array, damping: Array | None
) -> Array:
    """Report natural frequencies and damping ratios; add errors for implausible frequencies.

    Returns
    -------
    frequencies
        Angular frequencies of the body with fixed root [rad/s], (m,).
    """
    squares, vectors = undamped(modal, stiffness)
    omega: Array = np.sqrt(np.clip(squares, 0.0, None))
    hertz = omega / (2 * math.pi)
    findings.fact("frequencies", ", ".join(f"{f:.6g}" for f in hertz) + " Hz (root held)")
    is_loose = hertz <= 1e-6 * hertz.max()
    if is_loose.all():
        findings.refuse(
            path, "is zero, so that no shape has stiffness. Give K, or write 'rigid: true'"
        )
    elif is_loose.any():
        findings.note(path, f"{int(is_loose.sum())} of the shapes' motions have no stiffness")
    low, high = FREQUENCIES
    for f in hertz[~is_loose]:
        if not low <= f <= high:
            message = f"gives a frequency of {f:.4g} Hz, outside {low:g} to {high:g} Hz"
            findings.refuse(path, f"{message}. Are the units right?")
    if damping is None:
        findings.fact("damping", "not given: the link's own damping is used")
        return omega
    rates = np.einsum("im,ij,jm->m", vectors, damping, vectors)
    ratios = rates / (2 * np.where(omega > 0, omega, math.inf))
    findings.fact("damping", ", ".join(percent(ratio) for ratio in ratios) + " of critical")
    return omega
