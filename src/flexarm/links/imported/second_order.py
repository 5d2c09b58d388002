"""Stiffness of a body under load, represented by second-order displacements of its points.

Points move by ``Phi q + 1/2 q^T X q``.  The work of a load f on the second term is a stiffness
``K_f = -int f X`` of the amplitudes: the sum of K_sigma, due to the stress caused by the load, and
K_u, due to the displacement caused by the load.  The 18 matrices per unit load, of inertia forces
and tip loads, are the first moments of X and its values at the tip, and nothing else of X is needed
to second order in the amplitudes (Wallrapp & Schwertassek 1991).
"""

from dataclasses import dataclass

import numpy as np

from flexarm.linear_model import undamped
from flexarm.links.imported.constants import NOTE_ABOVE, SPIN_STIFFENING, SPIN_SYMMETRY
from flexarm.links.imported.data import ModalData
from flexarm.links.imported.report import Findings
from flexarm.links.integrals import Integrals
from flexarm.spatial import IDENTITY, Array, Pose


@dataclass(frozen=True, eq=False)
class SecondOrder:
    """Mass moments and tip values of second-order displacements X, m amplitudes, in hub axes."""

    first: Array  # ``int X dm``, (3, m, m)
    second: Array  # ``int X_a r_b dm`` at ``[a, b]``, (3, 3, m, m)
    tip: Array  # X of the tip's origin, (3, m, m)
    tip_angle: Array  # X of the tip's angles, (3, m, m)

    def changed(self, transform: Array) -> "SecondOrder":
        """Return the matrices for new amplitudes, ``d = transform d_new`` with transform (m, k)."""
        return SecondOrder(
            *(transform.T @ matrices @ transform for matrices in vars(self).values())
        )

    def cleaned(self, threshold: float) -> "SecondOrder":
        """Return a copy with entries up to ``threshold`` times their array's largest set to 0."""
        arrays = vars(self).values()
        return SecondOrder(
            *(np.where(np.abs(x) <= threshold * np.abs(x).max(), 0.0, x) for x in arrays)
        )

    @property
    def pairs(self) -> Array:
        """Moments ``int r_a X_b dm`` in the layout of `Integrals.shape_shape`, (m, m, 3, 3)."""
        return self.second.transpose(2, 3, 1, 0)

    def spin_stiffness(self, axis: int) -> Array:
        """Return the stiffness (m, m) per squared angular velocity about an axis of the hub."""
        a, b = (axis + 1) % 3, (axis + 2) % 3
        return np.asarray(-(self.second[a, a] + self.second[b, b]))


def of_unit_loads(loads: Array, hub: Array) -> SecondOrder:
    """Convert stiffness per unit load, (18, m, m), to second-order displacements in hub axes.

    Parameters
    ----------
    loads
        Stiffness in axes of the data per unit of: acceleration and angular acceleration of the hub,
        products of its angular velocities ``xx, yy, zz, yz, zx, xy``, force and moment on the tip.
    hub
        Axes of the hub as columns, (3, 3).
    """
    first, angular, spin, tip, moment = np.split(loads, (3, 6, 12, 15))
    second = np.zeros((3, 3, *loads.shape[1:]))
    for a in range(3):
        b, c = (a + 1) % 3, (a + 2) % 3
        # int X_a r_b is weighted by w~ w~ and alpha~
        second[a, a] = (spin[a] - spin[b] - spin[c]) / 2
        second[b, c] = (spin[3 + a] - angular[a]) / 2
        second[c, b] = (spin[3 + a] + angular[a]) / 2
    second = np.einsum("ka,lb,klij->abij", hub, hub, second)
    return SecondOrder(
        np.tensordot(hub.T, first, 1), second, -np.tensordot(hub.T, tip, 1),
        -np.tensordot(hub.T, moment, 1),
    )  # fmt: skip


def examine_loads(data: ModalData, findings: Findings, *, held: bool) -> SecondOrder | None:
    """Check K_sigma and K_u; return second-order displacements, None if K_sigma is not given.

    Errors are added to the findings.
    """
    if data.k_sigma is None:
        if data.k_u is not None:
            findings.refuse(("K_u",), "is of use beside K_sigma alone. Give that too.")
        return None
    for key, matrices in (("K_sigma", data.k_sigma), ("K_u", data.k_u)):
        if matrices is None:
            continue
        asymmetry = np.abs(matrices - matrices.transpose(0, 2, 1)).max(axis=(1, 2))
        worst = int(np.argmax(asymmetry / np.maximum(np.abs(matrices).max(axis=(1, 2)), 1e-300)))
        if asymmetry[worst] > SPIN_SYMMETRY * np.abs(matrices[worst]).max():
            findings.refuse(
                (key, worst),
                "must be symmetric. Give its symmetric part, which is the stiffness of "
                "forces that have an energy.",
            )
    if not held:
        findings.refuse(
            ("K_sigma",), "needs shapes in which the hub is at rest. Hold the hub and reduce again."
        )
    loads = data.k_sigma + (0.0 if data.k_u is None else data.k_u)
    return of_unit_loads((loads + loads.transpose(0, 2, 1)) / 2, (data.hub or IDENTITY).rotation)


def check_second_order(
    findings: Findings, x: SecondOrder, i: Integrals, tip: Pose, *, complete: bool
) -> None:
    """Report how spin changes the first frequency; add errors for implausible values.

    Parameters
    ----------
    x, i, tip
        Second-order displacements, mass integrals and tip frame of the body.
    complete
        Whether K_u is included in x.
    """
    direction = tip.position / max(float(np.linalg.norm(tip.position)), 1e-300)
    centre = i.first / i.mass
    offset = float(np.linalg.norm(np.cross(centre, direction)))
    if not complete and offset > NOTE_ABOVE * float(np.linalg.norm(tip.position)):
        findings.refuse(
            ("K_u",),
            f"is required, since the centre of mass is {offset:.3g} m off the line from hub "
            "to tip. Off the axis K_sigma alone is wrong, even in sign. Give the "
            "stiffness of the preload's displacement (K_u) too, or leave K_sigma out.",
        )
    slopes = [_slope(x, i, axis) for axis in range(3)]
    text = ", ".join(f"{axis} {slope:.3g}" for axis, slope in zip("xyz", slopes, strict=True))
    findings.fact("spin", f"changes the first squared frequency by its square times {text}")
    if max(map(abs, slopes)) > SPIN_STIFFENING:
        findings.refuse(
            ("K_sigma",),
            f"changes the first squared frequency by {max(slopes, key=abs):.3g} times "
            "the squared spin, where about 1 is usual for a link. Is it per unit load, "
            "in the units of the file?",
        )


def _slope(x: SecondOrder, i: Integrals, axis: int) -> float:
    """Return the change of the first mode's squared frequency per squared spin about an axis."""
    a, b = (axis + 1) % 3, (axis + 2) % 3
    shape = undamped(i.modal_mass, i.stiffness)[1][:, 0]
    softening = i.shape_shape[:, :, a, a] + i.shape_shape[:, :, b, b]
    return float(shape @ (x.spin_stiffness(axis) - softening) @ shape)
