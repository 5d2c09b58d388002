"""Rotary inertia of a span's sections that does not change with its shape."""

from dataclasses import dataclass

import numpy as np

from flexarm.links.base import Array
from flexarm.links.collocation import Polar
from flexarm.links.integrals import Integrals, Points, pair_sizes
from flexarm.spatial import ROUNDING


@dataclass(frozen=True)
class Rotary:
    """Constant rotary inertia of a span: about L (3, 3), with amplitudes (3, m), of them (m, m)."""

    inertia: Array
    shape: Array
    modal: Array


def constant_rotary(i: Integrals, points: Points, polar: Polar | None) -> Rotary:
    """Return the rotary inertia of a span that does not change with its shape.

    All of a span that does not twist or is no exact beam; else all but what the turning of its
    sections about their axes comes to in a straight link.
    """
    inertia, shape = i.rotary.copy(), i.rotary_shape.copy()
    root = np.sqrt(points.mass)[:, None, None] * points.shape
    root = root.reshape(-1, root.shape[2])
    modal, sizes = i.modal_mass - root.T @ root, pair_sizes(i.modal_mass)
    if polar is not None:
        J, twist = polar.inertia[:, None], polar.twist
        inertia[0, 0] -= J.sum()
        shape[0] -= np.sum(J * twist, axis=0)
        inertia = _less_dust(inertia, np.abs(i.rotary).max())
        shape = _less_dust(shape, np.abs(i.rotary_shape).max(initial=0.0))
        # in the order in which equations sum it, so that they have nothing left of nothing
        products = (J * twist)[:, :, None] * twist[:, None, :]
        turning = np.triu(np.cumsum(products, axis=0)[-1])
        turning = turning + np.triu(turning, 1).T
        modal = _less_dust(modal, sizes) - turning
    return Rotary(inertia, shape, _less_dust(modal, sizes))


def _less_dust(rest: Array, size: Array) -> Array:
    """Set differences of numbers of some size to zero where they are rounding."""
    return np.where(np.abs(rest) <= ROUNDING * size, 0.0, rest)
