"""Part of a span's rotary inertia of sections that is independent of the deformation."""

from dataclasses import dataclass

import numpy as np

from flexarm.constants import ROUNDING
from flexarm.links.collocation import Collocation
from flexarm.links.integrals import Integrals, Points, pair_sizes
from flexarm.spatial import Array


@dataclass(frozen=True)
class Rotary:
    """Constant rotary inertia of a span: rigid (3, 3), rigid-modal (3, m) and modal (m, m)."""

    inertia: Array
    shape: Array
    modal: Array


def constant_rotary(i: Integrals, points: Points, nodes: Collocation | None) -> Rotary:
    """Compute the rotary inertia of a span's sections that is independent of the deformation.

    For an exact beam it is the integral over the straight link minus the sum over the sections at
    the collocation nodes, which rotate with the deformation.
    """
    inertia, shape = i.rotary.copy(), i.rotary_shape.copy()
    root = np.sqrt(points.mass)[:, None, None] * points.shape
    root = root.reshape(-1, root.shape[2])
    modal, sizes = i.modal_mass - root.T @ root, pair_sizes(i.modal_mass)
    if nodes is not None and (np.any(nodes.rotary) or np.any(nodes.point)):
        J, angle = _sections(nodes)
        inertia -= np.diag(J.sum(axis=1))
        shape -= np.einsum("ag,agm->am", J, angle)
        # Scales of the whole mass matrix, of which the remainder is a part (Schwarz).
        rotation_scale, amplitude_scale = (
            np.sqrt(np.diag(i.inertia.second)),
            np.sqrt(np.diag(i.modal_mass)),
        )
        inertia = _snap_difference(inertia, np.outer(rotation_scale, rotation_scale))
        shape = _snap_difference(shape, np.outer(rotation_scale, amplitude_scale))
        # Same summation order as in the equations of motion, so that cancelling terms give exactly
        # 0.
        node_sum = sum(
            np.cumsum((w[:, None] * rows)[:, :, None] * rows[:, None], axis=0)[-1]
            for w, rows in zip(J, angle, strict=True)
        )
        node_sum = np.triu(node_sum) + np.triu(node_sum, 1).T
        modal = _snap_difference(modal, sizes) - node_sum
    return Rotary(inertia, shape, _snap_difference(modal, sizes))


def rotary_error(i: Integrals, nodes: Collocation, length: float = 1.0) -> float:
    """Return the largest relative error of the nodes' sum of rotary inertia in the modal mass.

    ``length`` is the exposed length [m] of a sliding link.
    The error is relative to the modal mass of the amplitudes concerned.  It is 0 for deformation in
    one plane, where a constant rotary inertia is exact.
    """
    if sum(nodes.bends) + nodes.twists < 2:
        return 0.0
    J, angle = _sections(nodes, length)
    error = i.rotary_modal - np.einsum("ag,agm,agn->mn", J, angle, angle)
    size = np.sqrt(np.diag(i.modal_mass))
    size = np.outer(size, size)
    return float(np.abs(np.divide(error, size, out=0 * error, where=size > 0)).max())


def _sections(nodes: Collocation, length: float = 1.0) -> tuple[Array, Array]:
    """Return rotary inertia (3, G) and first-order angles (3, G, m) of sections at the nodes."""
    rotary = [length**k * each.rotary for k, each in enumerate(nodes.powers)]
    return np.sum(rotary, axis=0) + np.outer([0, 1, 1], nodes.point), np.stack(
        [nodes.twist, -nodes.turn[1], nodes.turn[0]]
    )


def _snap_difference(difference: Array, size: Array) -> Array:
    """Return the difference of two sums, each snapped, with rounding errors set to 0."""
    return np.where(np.abs(difference) <= 3 * ROUNDING * size, 0.0, difference)
