"""A body of which only K and M over its interfaces and modes are known: no nodes."""

import numpy as np

from flexarm.links.base import Array
from flexarm.links.imported.body import ReducedBody
from flexarm.links.imported.checks import check_rotation, check_stated, check_units, finished
from flexarm.links.imported.common_checks import LENGTHS, check_matrix
from flexarm.links.imported.data import Superelement, shifted
from flexarm.links.imported.drawing import straight_axis
from flexarm.links.imported.report import NOTE_ABOVE, Findings, percent
from flexarm.links.integrals import Integrals
from flexarm.spatial import Pose

GROUNDED = 1e-6  # of the largest stiffness: what rigid motions may meet
HELD = 1e-2
INTERFACES = 12


def examine_superelement(data: Superelement, findings: Findings) -> ReducedBody | None:
    """Check a superelement, and give it as a body to first order; None if refused."""
    n = len(data.stiffness)
    for key, matrix in (("K", data.stiffness), ("M", data.mass)):
        if matrix.shape != (n, n) or n < INTERFACES or not np.all(np.isfinite(matrix)):
            findings.refuse(
                (key,),
                f"must be finite numbers over hub (6), tip (6) and modes, got {matrix.shape}: is "
                "an interface missing, or the file cut off?",
            )
            return None
    for key, pose in (("hub", data.hub), ("tip", data.tip)):
        check_rotation(findings, key, pose)
    K = check_matrix(findings, "K", data.stiffness, definite=False)
    M = check_matrix(findings, "M", data.mass, definite=True)
    tip, turn = _tip_frame(data), data.hub.rotation
    change = _relative(n, turn, tip.position)
    K, M = change.T @ K @ change, change.T @ M @ change
    _check_free(findings, K)
    integrals = _integrals(findings, K[6:, 6:], M)
    check_units(findings, data.units, integrals.mass)
    if findings.problems:
        return None
    tips = np.zeros((n - 6, 6))
    tips[:6] = np.eye(6)
    names = ("tip_x", "tip_y", "tip_z", "tip_rx", "tip_ry", "tip_rz")
    body = ReducedBody(
        data.name, (*names, *(f"fixed{k}" for k in range(1, n - 11))), integrals, tip,
        tips[:, :3].T.copy(), tips[:, 3:].T.copy(), _damping(data, findings, change), True,
        straight_axis(tip, tips),
    )  # fmt: skip
    if not LENGTHS[0] <= body.length <= LENGTHS[1]:
        findings.note(("tip",), f"is {body.length:.4g} m from the hub: are the units right?")
    check_stated(findings, data.stated, data.hub, body)
    return finished(body, findings, modal=False)


def _tip_frame(data: Superelement) -> Pose:
    back = data.hub.rotation.T
    return Pose(back @ data.tip.rotation, back @ (data.tip.position - data.hub.position))


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
    if apart > NOTE_ABOVE:
        findings.judge(
            apart,
            ("M",),
            f"rigid translations along x, y, z have masses {percent(apart)} apart: is the tip "
            "frame where the tip is, in the units of M?",
        )
    second = mass[3:6, 3:6]
    m = len(stiffness)
    none = np.zeros((3, m, m))
    return Integrals(
        total, first, np.trace(second) / 2 * np.eye(3) - second, mass[:3, 6:],
        np.zeros((m, 3, 3)), np.zeros((m, m, 3, 3)), np.zeros((3, 3)), mass[3:6, 6:],
        np.zeros((m, m)), none, none, mass[6:, 6:], stiffness,
    )  # fmt: skip


def _damping(data: Superelement, findings: Findings, change: Array) -> Array | None:
    if data.damping is None:
        return None
    full = check_matrix(findings, "D", data.damping, definite=False)
    return np.asarray((change.T @ full @ change)[6:, 6:])
