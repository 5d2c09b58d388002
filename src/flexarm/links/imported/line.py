"""Modal data of a link from measurement or another program: read, checked, in SI units.

The file is described in docs/modal-data.md.
"""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from flexarm.arguments import require_path
from flexarm.arm.side_files import SideFile, SideFiles
from flexarm.errors import ModelError
from flexarm.io.source import Diagnostic, report
from flexarm.io.source import Path as Where
from flexarm.links.imported.common_checks import (
    DEFINITE_TOLERANCE,
    Total,
    check_frequencies,
    check_matrix,
    check_modal_mass,
    check_places,
    check_slopes,
    check_stiffness,
    check_total,
    least_eigenvalue,
)
from flexarm.links.imported.line_shapes import ROOT_AT_REST, Array, HeldShapes, Masses, ShapeTable
from flexarm.links.imported.readers.stations import ModalFile, load_modal_file, locate
from flexarm.links.imported.report import Findings, Reference, Report, percent, triple
from flexarm.spatial import rotation_from_angles

LEAST_MASS = 1e-60  # [kg m^2]: keeps what is divided by it finite
DUST = 1e-14  # of a shape's size: what turning the axes leaves of a zero


def read_modal_data(
    file: str | Path | SideFile, *, reference: Reference | None = None
) -> "ModalData":
    """Read modal data that pass every check.

    Parameters
    ----------
    file
        The file; or where it is, with its station table beside it or below.
    reference
        The link that they are for, if it is known.

    Raises
    ------
    ModelError
        With one line ``file:line:column: what: why`` per mistake.
    """
    findings, data = inspect_modal_data(file, reference=reference)
    if data is None:
        raise ModelError("\n".join(findings.errors))
    return data


def inspect_modal_data(
    file: str | Path | SideFile, *, reference: Reference | None = None
) -> "tuple[Report, ModalData | None]":
    """Check modal data.

    Parameters
    ----------
    file
        The file; or where it is, with its station table beside it or below.
    reference
        The link that they are for, if it is known.

    Returns
    -------
    report, data
        What was found, and the data; None if they are refused.

    Raises
    ------
    ModelError
        If the file cannot be read, or its keys and counts do not fit.
    """
    side = file if isinstance(file, SideFile) else _open(require_path("file", file, ModelError))
    path = side.path
    content, source = load_modal_file(side)
    findings = Findings()
    data = _examine(content, findings, reference)
    problems = [Diagnostic(locate(source, where), where, why) for where, why in findings.problems]
    errors = report(str(path), problems).splitlines()
    assert content.stations is not None
    found = Report(
        title=f"{path}: {content.name}: {len(content.modes)} modes at {len(content.stations)} "
        "stations",
        facts=tuple(findings.facts),
        notes=tuple(findings.notes),
        errors=tuple(errors),
    )
    return found, None if errors else data


def _open(path: Path) -> SideFile:
    try:
        return SideFiles(path.parent).read(path.name)
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from None


def _examine(
    file: ModalFile, findings: Findings, reference: Reference | None
) -> "ModalData | None":
    """Bring the data into SI units and the link's root frame, checking all the way."""
    names = file.mode_names
    places, displacement, rotation = _in_root_frame(file)
    _state_conventions(file, findings, float(places[-1, 0]))
    placed = check_places(findings, places, reference, file.units.length)
    modal, stiffness, damping = _matrices(file, findings)
    if placed:
        x = places[:, 0].copy()
        x[0], x[-1] = 0.0, x[-1] if reference is None else reference.length
        check_slopes(findings, x, displacement, rotation, names)
    if findings.problems:
        return None
    section = None if reference is None else reference.masses(x)
    held = HeldShapes(ShapeTable(x, displacement, rotation), _own_masses(file, x), section)
    _compare_totals(file, findings, held)
    if not held.weighed and (modal is None or held.moved):
        why = "to integrate it from" if modal is None else "to hold the moving root with"
        findings.refuse(("M",), f"needs station_mass or mass_per_length {why}")
        return None
    stiffness, damping = _filled_in(
        file, held.whole if modal is None else modal, stiffness, damping
    )
    _note_moved_root(findings, names, held)
    modal = None if modal is None else modal - held.carried
    if _has_mass(findings, held.integrated if modal is None else modal, given=modal is not None):
        _compare_modal_mass(findings, modal, held)
        dynamic = held.integrated if modal is None else modal
        path = ("frequencies" if file.K is None else "K",)
        _state_frequencies(findings, path, stiffness, dynamic, damping)
        if reference is not None:
            check_stiffness(findings, path, stiffness, reference.stiffness(held.shapes))
    return ModalData(names, held.shapes, stiffness, modal, damping)


def _in_root_frame(file: ModalFile) -> tuple[Array, Array, Array]:
    """Stations [m] (n, 3), displacement [m] and rotation [rad] (n, 3, m) in the root frame."""
    length = file.units.si()[0]
    stations = np.array(file.stations, dtype=float)
    if stations.ndim == 1:
        stations = np.stack([stations, 0 * stations, 0 * stations], axis=1)
    R_DL = rotation_from_angles(file.interface.rotation)
    places = length * (stations - np.array(file.interface.position)) @ R_DL
    displacement, rotation = np.zeros((2, len(stations), 3, len(file.modes)))
    for j, mode in enumerate(file.modes):
        for rows, values in ((mode.displacement, displacement), (mode.rotation, rotation)):
            if rows is not None:
                turned = np.array(rows) @ R_DL
                dust = np.abs(turned) <= DUST * np.abs(turned).max()
                values[:, :, j] = np.where(dust, 0.0, turned)
    return places, length * displacement, rotation


def _state_conventions(file: ModalFile, findings: Findings, end: float) -> None:
    units, interface = file.units, file.interface
    findings.fact(
        "units", f"length {units.length}, mass {units.mass}, time {units.time}; below in SI"
    )
    findings.fact(
        "interface",
        f"root at {triple(interface.position)} {units.length} in the data, turned by "
        f"{triple(math.degrees(angle) for angle in interface.rotation)} deg about x, y, z",
    )
    findings.fact("stations", f"to {end:.6g} m from the root")


def _matrices(
    file: ModalFile, findings: Findings
) -> tuple[Array | None, Array | None, Array | None]:
    """M [kg m^2], K [N m] and D [N m s] of amplitudes without unit, where they are given."""
    length, mass, time = file.units.si()
    energy = mass * length**2
    checked = []
    for key, unit in (("M", energy), ("K", energy / time**2), ("D", energy / time)):
        matrix = file.matrix(key)
        if matrix is not None:
            matrix = check_matrix(findings, key, unit * matrix, definite=key == "M")
        checked.append(matrix)
    modal, stiffness, damping = checked
    coupled = modal is not None and _coupled(modal)
    if file.frequencies is not None and coupled:
        findings.refuse(("frequencies",), "needs a diagonal M: give K instead")
    if file.damping_ratios is not None and (
        coupled or (stiffness is not None and _coupled(stiffness))
    ):
        message = "needs diagonal M and K: give D, or the link's damping in the arm's file"
        findings.refuse(("damping_ratios",), message)
    return modal, stiffness, damping


def _coupled(matrix: Array) -> bool:
    return bool(np.any(matrix != np.diag(np.diag(matrix))))


def _filled_in(
    file: ModalFile, modal: Array, stiffness: Array | None, damping: Array | None
) -> tuple[Array, Array | None]:
    """Make K of frequencies and D of damping ratios, for the modal mass of the file's shapes."""
    mass = np.diag(modal)
    if stiffness is None:
        stiffness = np.diag(mass * (2 * math.pi * np.array(file.frequencies)) ** 2)
    if file.damping_ratios is not None:
        damping = np.diag(2 * np.array(file.damping_ratios) * np.sqrt(mass * np.diag(stiffness)))
    return stiffness, damping


def _own_masses(file: ModalFile, x: Array) -> Masses | None:
    """Masses that the file gives: at its stations, or per length and linear between them."""
    length, mass, _ = file.units.si()
    R_DL = rotation_from_angles(file.interface.rotation)
    n = len(x)
    moments = np.zeros((n, 3)) if file.inertia is None else np.array(file.inertia, dtype=float)
    inertia = mass * length**2 * np.einsum("ka,pk,kb->pab", R_DL, moments + np.zeros((n, 3)), R_DL)
    if file.station_mass is not None:
        return Masses(x, mass * np.array(file.station_mass), inertia)
    if file.mass_per_length is None:
        return None
    density = mass / length * (np.array(file.mass_per_length) + np.zeros(n))
    node, weight = np.polynomial.legendre.leggauss(4)  # exact for a cubic squared times a line
    half = np.diff(x) / 2
    left, right = (1 - node) / 2, (1 + node) / 2

    def between(values: Array) -> Array:
        tail = values.shape[1:]
        pairs = np.einsum("g,p...->pg...", left, values[:-1])
        pairs = pairs + np.einsum("g,p...->pg...", right, values[1:])
        return np.asarray(pairs.reshape(-1, *tail))

    weights = (half[:, None] * weight).ravel()
    return Masses(
        between(x), weights * between(density), weights[:, None, None] * between(inertia / length)
    )


def _note_moved_root(findings: Findings, names: tuple[str, ...], held: HeldShapes) -> None:
    for j, (name, motion) in enumerate(zip(names, held.motion, strict=True)):
        if motion > ROOT_AT_REST:
            findings.note(
                ("modes", j),
                f"shape '{name}' moves the root by {percent(motion)} of its size: "
                "that rigid motion was taken out of it, and out of M",
            )


def _has_mass(findings: Findings, modal: Array, *, given: bool) -> bool:
    """Refuse a modal mass, the root at rest, that is not positive definite."""
    if np.all(np.diag(modal) > LEAST_MASS) and least_eigenvalue(modal) > DEFINITE_TOLERANCE:
        return True
    if given:
        why = (
            "is not positive definite with the root's motion taken out: do the masses belong to M?"
        )
    else:
        why = "is not positive definite when integrated: are shapes alike, or is inertia missing?"
    findings.refuse(("M",), why)
    return False


def _compare_totals(file: ModalFile, findings: Findings, held: HeldShapes) -> None:
    own, section = held.own, held.section
    unit_length, unit_mass, _ = file.units.si()
    totals = []
    if section is not None:
        totals.append(Total("the link's section", (), section.total, section.centre))
    if own is not None:
        key = "mass_per_length" if file.station_mass is None else "station_mass"
        totals.append(Total("the file's masses", (key,), own.total, own.centre))
    if file.total_mass is not None:
        mass = unit_mass * file.total_mass
        totals.append(Total("total_mass", ("total_mass",), mass, np.full(3, math.nan)))
    if file.centre is not None:
        offset = np.array(file.centre) - np.array(file.interface.position)
        centre = unit_length * offset @ rotation_from_angles(file.interface.rotation)
        totals.append(Total("centre", ("centre",), math.nan, centre))
    check_total(findings, totals, float(held.given.x[-1]))


def _compare_modal_mass(findings: Findings, modal: Array | None, held: HeldShapes) -> None:
    if modal is None:
        findings.fact("modal mass", "M is not given: integrated over the masses")
        return
    if held.by_own is not None:
        check_modal_mass(findings, held.by_own, modal, "the file's masses", used=False)
    if held.by_section is not None:
        check_modal_mass(findings, held.by_section, modal, "the link's section", used=True)
    if not held.weighed:
        findings.note(("M",), "there are no masses to check it against")


def _state_frequencies(
    findings: Findings, path: Where, stiffness: Array, modal: Array, damping: Array | None
) -> None:
    omega, vectors = check_frequencies(findings, path, stiffness, modal)
    if damping is None:
        findings.fact("damping", "not given: the link's own counts")
        return
    rates = np.einsum("im,ij,jm->m", vectors, damping, vectors)
    ratios = rates / (2 * np.where(omega > 0, omega, math.inf))
    findings.fact("damping", ", ".join(percent(ratio) for ratio in ratios) + " of critical")


@dataclass(frozen=True, eq=False)
class ModalData:
    """Modal data of one link in SI units, in its root frame, the root at rest.

    An amplitude has no unit: 1 is the shape as the file gives it.
    """

    names: tuple[str, ...]  # names of the modes
    shapes: ShapeTable  # their shapes
    stiffness: Array  # K [N m], (m, m)
    mass: Array | None  # M [kg m^2], (m, m); None where the link's section is to be integrated
    damping: Array | None  # D [N m s], (m, m), or None
