"""Rotary inertia of a span's sections that does not change with its shape."""

from dataclasses import dataclass

import numpy as np

from flexarm.links.base import Array
from flexarm.links.collocation import Polar
from flexarm.links.integrals import Integrals, Points, settled_pairs

DUST = 1e-14


@dataclass(frozen=True)
class Rotary:
    """Constant rotary inertia of a span: about L (3, 3), with amplitudes (3, m), of them (m, m)."""

    inertia: Array
    shape: Array
    modal: Array


def constant_rotary(i: Integrals, points: Points, polar: Polar | None) -> Rotary:
    """Give the rotary inertia of a span that does not change with its shape.

    All of a span that does not twist or is no exact beam; else all but what the turning of its
    sections about their axes comes to in a straight link.
    """
    inertia, shape = i.rotary.copy(), i.rotary_shape.copy()
    root = np.sqrt(points.mass)[..., None, None] * points.shape
    root = root.reshape(*root.shape[:-3], -1, root.shape[-1])
    modal = i.modal_mass - root.swapaxes(-1, -2) @ root
    if polar is not None:
        J, twist = polar.inertia[..., None], polar.twist
        inertia[..., 0, 0] -= J.sum(axis=(-2, -1))
        shape[..., 0, :] -= np.sum(J * twist, axis=-2)
        modal -= (J * twist).swapaxes(-1, -2) @ twist
        inertia, shape = _less_dust(inertia, i.rotary), _less_dust(shape, i.rotary_shape)
    return Rotary(inertia, shape, settled_pairs(modal, i.modal_mass))


def _less_dust(rest: Array, whole: Array) -> Array:
    """Take for zero what rounding left of a whole."""
    size = np.abs(whole).max(axis=(-2, -1), initial=0.0, keepdims=True)
    return np.where(np.abs(rest) <= DUST * size, 0.0, rest)
