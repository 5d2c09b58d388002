"""Fourth-order bending energy of a span with inextensible axis, in the series theory."""

import casadi as ca
import numpy as np

from flexarm.links.pairs import Pairs
from flexarm.mechanics.constants import TENSOR_AMPLITUDES
from flexarm.model import Flexible
from flexarm.spatial import Array, Expr, constant


def quartic_energy(e: Flexible, d: Expr) -> Expr:
    """Compute the fourth-order bending energy [J], ``1/2 int [EIz v'' v' p + EIy w'' w' p]``.

    Here ``p = v' v'' + w' w''``.
    """
    p = e.points
    energy = type(d)(0)
    for g in range(len(p.x)):
        a, b = (
            (constant(p.slope[n, g][None, :]) @ d) * (constant(p.curvature[n, g][None, :]) @ d)
            for n in range(2)
        )
        ky, kz = p.bending[0, g], p.bending[1, g]
        energy += (ky * a * a + (ky + kz) * a * b + kz * b * b) / 2
    return energy


def quartic_gradient(e: Flexible, d: Expr) -> Expr:
    """Compute the gradient (k,) of `quartic_energy` in the amplitudes."""
    if _bending(e) <= TENSOR_AMPLITUDES:
        return _quartic_by_tensors(e, d)
    at = ca.SX.sym("d", d.shape[0])
    return ca.Function("quartic", [at], [ca.gradient(quartic_energy(e, at), at)])(d)


def _quartic_by_tensors(e: Flexible, d: Expr) -> Expr:
    p, k = e.points, d.shape[0]
    form = np.einsum("ngi,ngj->ngij", p.slope, p.curvature)
    form = (form + form.transpose(0, 1, 3, 2)) / 2
    pairs = Pairs.of_form(np.any(form != 0, axis=(0, 1)))
    entries = pairs.of(form)
    ky, kz = p.bending
    stiffness = (
        np.einsum("g,gi,gj->ij", ky, entries[0], entries[0])
        + np.einsum("g,gi,gj->ij", kz, entries[1], entries[1])
        + np.einsum("g,gi,gj->ij", (ky + kz) / 2, entries[0], entries[1])
        + np.einsum("g,gi,gj->ij", (ky + kz) / 2, entries[1], entries[0])
    )
    effort = pairs.matrix(constant(_clean(stiffness)) @ pairs.products(d, d))
    return 2 * (effort @ d) if k else type(d)(0, 1)


def _bending(e: Flexible) -> int:
    """Return the number of amplitudes that bend the span."""
    return int(np.sum(np.any(e.points.slope != 0, axis=(0, 1))))


def _clean(values: Array) -> Array:
    """Return values with rounding errors set to 0, so that traced equations omit those terms."""
    size = np.abs(values).max(initial=0.0)
    return np.where(np.abs(values) <= 1e-15 * size, 0.0, values)
