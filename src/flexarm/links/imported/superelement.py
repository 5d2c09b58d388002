"""A superelement: a body of which only K and M over its interfaces and modes are known."""

import numpy as np

from flexarm.links.base import Array
from flexarm.links.imported.body import ReducedBody
from flexarm.links.imported.checks import (
    check_length,
    check_matrices,
    check_totals,
    check_units,
    state_conventions,
)
from flexarm.links.imported.data import ModalData, shifted
from flexarm.links.imported.drawing import straight_axis
from flexarm.links.imported.examine import finished
from flexarm.links.imported.readers.plain import TIP_NAMES
from flexarm.links.imported.report import Findings, percent
from flexarm.links.integrals import Integrals
from flexarm.spatial import IDENTITY

# Stiffness against rigid motions, over that of the tip: with more it is noted, or refused.
GROUNDED, HELD = 1e-6, 1e-2
INTERFACES = 12  # unknowns of hub and tip


def examine_superelement(given: ModalData, findings: Findings) -> ReducedBody | None:
    """Check a superelement, and return it as a body to first order; None if refused."""
    n = len(given.stiffness)
    if n < INTERFACES:
        findings.refuse(
            ("K",),
            f"must be over hub (6), tip (6) and modes, got {given.stiffness.shape}: is an "
            "interface missing, or the file cut off?",
        )
        return None
    state_conventions(findings, given)
    data = check_matrices(findings, given)
    tip = data.in_hub_frame().tip or IDENTITY
    change = _relative(n, (data.hub or IDENTITY).rotation, tip.position)
    K, M, D = (
        None if each is None else change.T @ each @ change
        for each in (data.stiffness, data.mass, data.damping)
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


def _relative(n: int, turn: Array, tip: Array) -> Array:
    """Columns (n, n) of the hub's motion, which takes the tip along, the tip's own, and modes."""
    change = np.eye(n)
    change[6:12, :6] = shifted(np.eye(6), tip).T
    both = np.kron(np.eye(4), turn)
    change[:12, :12] = both @ change[:12, :12]
    return change


def _check_free(findings: Findings, stiffness: Array) -> None:
    """Note or refuse a stiffness against motions of the whole body."""
    size = np.sqrt(np.maximum(np.abs(np.diag(stiffness)), 1e-300))
    size[:6] = size[6:12]
    scaled = np.abs(stiffness[:, :6]) / np.outer(size, size[:6])
    worst = float(np.nan_to_num(scaled).max())
    findings.fact("rigid motions", f"meet {worst:.2g} of the stiffness of the tip")
    if worst > HELD:
        findings.refuse(
            ("K",),
            f"rigid motions meet {percent(worst)} of the tip's stiffness: the body is held or "
            "grounded, or the tip frame is not where the tip is (units, axes)",
        )
    elif worst > GROUNDED:
        findings.note(("K",), f"rigid motions meet {worst:.2g} of the tip's stiffness")


def _integrals(findings: Findings, stiffness: Array, mass: Array) -> Integrals:
    """Read mass, first moment, inertia and momenta of the shapes off M."""
    total = float(np.trace(mass[:3, :3]) / 3)
    odd = mass[3:6, :3]  # the first moment's skew matrix
    first = np.array([odd[2, 1] - odd[1, 2], odd[0, 2] - odd[2, 0], odd[1, 0] - odd[0, 1]]) / 2
    apart = float(np.abs(mass[:3, :3] - total * np.eye(3)).max()) / max(total, 1e-300)
    findings.judge(
        apart,
        ("M",),
        f"rigid translations along x, y, z have masses {percent(apart)} apart: is the tip frame "
        "where the tip is, in the units of M?",
    )
    second = mass[3:6, 3:6]
    m = len(stiffness)
    none = np.zeros((3, m, m))
    return Integrals(
        total, first, np.trace(second) / 2 * np.eye(3) - second, mass[:3, 6:],
        np.zeros((m, 3, 3)), np.zeros((m, m, 3, 3)), np.zeros((3, 3)), mass[3:6, 6:],
        np.zeros((m, m)), none, none, mass[6:, 6:], stiffness,
    )  # fmt: skip
