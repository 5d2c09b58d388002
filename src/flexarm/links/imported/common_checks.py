"""What modal data must satisfy before a link is built from them."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from flexarm.io.source import Path
from flexarm.links.imported.line_shapes import Array
from flexarm.links.imported.report import (
    NOTE_ABOVE,
    REFUSE_ABOVE,
    Findings,
    Reference,
    percent,
    triple,
)
from flexarm.units import quantity

PLACE_TOLERANCE = 1e-6  # of the length: how far off a station may lie
SYMMETRY_TOLERANCE = 1e-6  # programs print matrices with six digits or more
DEFINITE_TOLERANCE = 1e-9  # of the unit diagonal
FREQUENCIES = (0.01, 1e5)  # [Hz]
LENGTHS = (1e-3, 100.0)  # [m]
STIFFNESS_FACTOR = 100.0  # between a link and its section, which only wrong units explain
# Rule, axis of the displacement, axis of the rotation, sign.
PLANES = (("theta_z must be y'", 1, 2, 1.0), ("theta_y must be -z'", 2, 1, -1.0))


def least_eigenvalue(matrix: Array) -> float:
    """Smallest eigenvalue of a symmetric matrix scaled to a unit diagonal, rows of zeros left out.

    Returns
    -------
    float
        0 to 1 for a mass matrix; ``-inf`` if a diagonal entry is negative, or 0 in a row that is
        not.
    """
    kept = np.any(matrix != 0, axis=1)
    matrix = matrix[np.ix_(kept, kept)]
    diagonal = np.diag(matrix)
    if np.any(diagonal <= 0):
        return -math.inf
    size = np.sqrt(diagonal)
    return float(np.linalg.eigvalsh(matrix / np.outer(size, size)).min(initial=1.0))


def check_matrix(findings: Findings, name: str, matrix: Array, *, definite: bool) -> Array:
    """Refuse a matrix that is not symmetric and positive (semi)definite; return it symmetric."""
    size = np.sqrt(np.abs(np.diag(matrix)))
    scale = np.maximum(np.outer(size, size), np.maximum(np.abs(matrix), np.abs(matrix.T)))
    odd = np.abs(matrix - matrix.T) / np.where(scale > 0, scale, 1.0)
    i, j = np.unravel_index(int(np.argmax(odd)), odd.shape)
    if odd[i, j] > SYMMETRY_TOLERANCE:
        findings.refuse(
            (name, int(i), int(j)),
            f"must be symmetric: {matrix[i, j]:.6g} here, but {matrix[j, i]:.6g} "
            f"in row {j + 1}, column {i + 1} (SI units)",
        )
        return matrix
    matrix = (matrix + matrix.T) / 2
    least = least_eigenvalue(matrix)
    zero_row = bool(np.any(np.all(matrix == 0, axis=1)))
    if definite and (zero_row or least < DEFINITE_TOLERANCE):
        found = "a row is zero" if zero_row else _found(least)
        findings.refuse((name,), f"must be positive definite, but {found}: a shape has no mass")
    elif least < -DEFINITE_TOLERANCE:
        why = "damping would feed energy" if name == "D" else "a shape would drive itself"
        findings.refuse((name,), f"must have no negative eigenvalue, but {_found(least)}: {why}")
    return matrix


def _found(least: float) -> str:
    if math.isinf(least):
        return "its diagonal has an entry <= 0"
    return f"scaled to a unit diagonal its smallest eigenvalue is {least:.3g}"


def check_places(findings: Findings, places: Array, reference: Reference | None, unit: str) -> bool:
    """Refuse stations that do not run along the link's x axis, from its root to its end.

    Parameters
    ----------
    findings
        What to add to.
    places
        Stations in the link's root frame [m], (n, 3).
    reference
        The link, if it is known.
    unit
        The file's unit of length, for advice.

    Returns
    -------
    bool
        Whether they do.
    """
    before = len(findings.problems)
    size = float(np.abs(places).max()) or 1.0
    off = np.hypot(places[:, 1], places[:, 2])
    if off.max() > PLACE_TOLERANCE * size:
        k = int(np.argmax(off))
        findings.refuse(
            ("stations", k),
            f"lies {off[k]:.6g} m off the link's x axis, at {triple(places[k])} m in its root "
            "frame: place and turn the interface frame so that its x axis runs along the stations",
        )
        return False
    x = places[:, 0]
    back = np.flatnonzero(np.diff(x) <= 0)
    if len(back):
        k = int(back[0]) + 1
        findings.refuse(
            ("stations", k),
            f"must lie beyond the station before it, got {x[k]:.6g} m after {x[k - 1]:.6g} m "
            "along the link's x axis",
        )
        return False
    if abs(x[0]) > PLACE_TOLERANCE * size:
        findings.refuse(
            ("stations", 0),
            f"must be at the root of the link, got x = {x[0]:.6g} m: "
            "set interface.position to where the root is",
        )
    if reference is not None and abs(x[-1] / reference.length - 1) > PLACE_TOLERANCE:
        findings.refuse(
            ("stations", len(x) - 1),
            f"must be at the end of the link's flexible span, {reference.length:.9g} m, "
            f"got {x[-1]:.9g} m{_fitting_unit(x[-1] / reference.length, unit)}",
        )
    elif not LENGTHS[0] <= x[-1] <= LENGTHS[1]:
        findings.note(("stations",), f"the last is at {x[-1]:.6g} m: is units.length right?")
    return len(findings.problems) == before


def _fitting_unit(ratio: float, unit: str) -> str:
    """Advise the unit of length that would make the ratio 1."""
    declared = quantity(f"1 {unit}", "m")
    for other in ("m", "mm", "cm", "in", "ft"):
        if other != unit and abs(ratio * quantity(f"1 {other}", "m") / declared - 1) < 1e-3:
            return f"; units.length: {other} would fit"
    return ""


def check_slopes(
    findings: Findings, x: Array, displacement: Array, rotation: Array, names: tuple[str, ...]
) -> None:
    """Refuse shapes that are zero, and rotations that are not the slopes of the displacements.

    ``theta_z = y'`` and ``theta_y = -z'``: what a shape rises from station to station is compared
    with the integral of a cubic spline through its rotations.
    """
    from scipy.interpolate import CubicSpline

    worst = 0.0
    for j, name in enumerate(names):
        u, theta = displacement[:, :, j], rotation[:, :, j]
        size = max(float(np.abs(u).max()), x[-1] * float(np.abs(theta).max()))
        if size == 0:
            findings.refuse(("modes", j), f"shape '{name}' is zero at every station: leave it out")
            continue
        turned = np.diff(CubicSpline(x, theta).antiderivative()(x), axis=0)
        for text, axis, about, sign in PLANES:
            wanted, got = sign * np.diff(u[:, axis]), turned[:, about]
            larger = max(float(np.linalg.norm(wanted)), float(np.linalg.norm(got)))
            if larger <= 1e-3 * size:
                continue  # the shape has next to nothing in this plane
            difference = float(np.linalg.norm(wanted - got)) / larger
            worst = max(worst, difference)
            findings.judge(
                difference,
                ("modes", j, "rotation"),
                f"shape '{name}': {text} along the link, but they are {percent(difference)} apart"
                f"{_slope_mistake(wanted, got, turned[:, 3 - about], text[:7])}",
            )
    findings.fact("slopes", f"up to {percent(worst)} off those of the displacements")


def _slope_mistake(wanted: Array, got: Array, other: Array, name: str) -> str:
    """Guess what was done wrong with a rotation, from what would make it fit."""
    if not np.any(got):
        return f": {name} is zero"
    causes = (
        (-got, f"{name} has the opposite sign"),
        (other, "theta_y and theta_z look exchanged"),
        (-other, "theta_y and theta_z look exchanged"),
        (got * math.pi / 180, "it looks like degrees, but must be in rad"),
        (got * 1000, "it looks like rad/m, with displacements in mm"),
        (got / 1000, "it looks like rad/mm, with displacements in m"),
    )
    for fitting, cause in causes:
        if np.linalg.norm(wanted - fitting) <= REFUSE_ABOVE * np.linalg.norm(wanted):
            return f": {cause}"
    return ": shear, noise, or too few stations for this shape"


def check_total(findings: Findings, totals: Sequence["Total"], length: float) -> None:
    """Compare total mass and centre of mass as told by different sources.

    Parameters
    ----------
    findings
        What to add to.
    totals
        What the sources tell; the others are compared with the first.
    length
        Of the span [m].
    """
    masses = [f"{t.mass:.6g} kg ({t.source})" for t in totals if not math.isnan(t.mass)]
    centres = [f"{triple(t.centre)} m ({t.source})" for t in totals if not np.isnan(t.centre).any()]
    findings.fact("total mass", ", ".join(masses) or "not given")
    findings.fact("centre of mass", ", ".join(centres) or "not given")
    for other in totals[1:]:
        first = totals[0]
        difference = abs(other.mass / first.mass - 1)
        if difference > NOTE_ABOVE:
            findings.judge(
                difference,
                other.path,
                f"the total mass is {other.mass:.6g} kg, but {first.mass:.6g} kg by "
                f"{first.source}: is units.mass right?",
            )
        difference = float(np.linalg.norm(other.centre - first.centre)) / length
        if difference > NOTE_ABOVE:
            findings.judge(
                difference,
                other.path,
                f"the centre of mass is at {triple(other.centre)} m in the root frame, but at "
                f"{triple(first.centre)} m by {first.source}",
            )


def check_modal_mass(
    findings: Findings, matrix: Array, modal: Array, source: str, *, used: bool
) -> None:
    """Compare a modal mass matrix with the masses that it should come from.

    Parameters
    ----------
    findings
        What to add to.
    matrix
        Mass matrix of rigid motions and shapes by the masses, (6 + m, 6 + m).
    modal
        The modal mass matrix (m, m) that is given.
    source
        Whose masses.
    used
        Whether dynamics join this modal mass with these masses: a mass matrix that is not positive
        definite is then refused.
    """
    size = np.sqrt(np.diag(modal))
    difference = float(np.abs((matrix[6:, 6:] - modal) / np.outer(size, size)).max())
    findings.fact("modal mass", f"M is up to {percent(difference)} off that of {source}")
    findings.judge(
        difference,
        ("M",),
        f"is {percent(difference)} off the modal mass that the shapes and {source} give: "
        "are they of one model, in the stated units?",
    )
    joined = matrix.copy()
    joined[6:, 6:] = modal
    least = least_eigenvalue(joined)
    findings.fact("rigid-body consistency", f"smallest eigenvalue {least:.3g} with {source}")
    if least < -DEFINITE_TOLERANCE:
        message = (
            f"makes with {source} a mass matrix of rigid motions and shapes that has a negative "
            f"eigenvalue, {least:.3g}"
        )
        if used:
            findings.refuse(("M",), f"{message}: leave M out, so that the section is integrated")
        else:
            findings.note(("M",), f"{message}: was it made with other masses?")


def check_stiffness(findings: Findings, path: Path, given: Array, section: Array) -> None:
    """Compare stiffnesses with those that the link's section gives the shapes, where it does."""
    bends = np.diag(section) > 0
    ratio = np.diag(given)[bends] / np.diag(section)[bends]
    if not ratio.size:
        return
    worst = float(np.abs(ratio - 1).max())
    findings.fact("stiffness", f"K is up to {percent(worst)} off that of the link's section")
    if not 1 / STIFFNESS_FACTOR <= ratio.min() <= ratio.max() <= STIFFNESS_FACTOR:
        message = f"the stiffness is {ratio.max():.3g} times that of the link's section"
        findings.refuse(path, f"{message}: is units.time right?")
    elif worst > REFUSE_ABOVE:
        message = f"the stiffness is up to {percent(worst)} off that of the link's section"
        findings.note(path, f"{message}: the file's counts")


def check_frequencies(
    findings: Findings, path: Path, stiffness: Array, modal: Array
) -> tuple[Array, Array]:
    """Refuse frequencies that no link has.

    Returns
    -------
    frequencies, vectors
        Of the link held at its root [rad/s] (m,), and its modes of unit modal mass (m, m).
    """
    size = np.sqrt(np.diag(modal))
    scale = np.outer(size, size)
    mass = np.linalg.cholesky(modal / scale)
    half = np.linalg.solve(mass, stiffness / scale)
    squares, vectors = np.linalg.eigh(np.linalg.solve(mass, half.T))
    omega = np.sqrt(np.clip(squares, 0.0, None))
    hertz = omega / (2 * math.pi)
    findings.fact("frequencies", ", ".join(f"{f:.6g}" for f in hertz) + " Hz (root held)")
    loose = hertz <= 1e-6 * hertz.max()
    if loose.all():
        findings.refuse(path, "is zero: no shape has stiffness. Give K, or say 'rigid: true'")
    elif loose.any():
        findings.note(path, f"{int(loose.sum())} of the shapes' motions have no stiffness")
    for f in hertz[~loose]:
        if not FREQUENCIES[0] <= f <= FREQUENCIES[1]:
            low, high = FREQUENCIES
            message = f"gives a frequency of {f:.4g} Hz, outside {low:g} to {high:g} Hz"
            findings.refuse(path, f"{message}: are the units right?")
    return omega, np.linalg.solve(mass.T, vectors) / size[:, None]


class Total(NamedTuple):
    """Total mass and its centre as told by one source."""

    source: str  # who tells it
    path: Path  # where it stands in the file
    mass: float  # [kg], NaN if not told
    centre: Array  # in the root frame [m], (3,), NaN if not told
