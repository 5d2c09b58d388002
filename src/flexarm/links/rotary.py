"""Rotary inertia of a span's sections that does not change with its shape."""

from dataclasses import dataclass

import numpy as np

from flexarm.links.base import Array
from flexarm.links.collocation import Polar
from flexarm.links.integrals import Integrals, Points

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
    modal = i.modal_mass - np.einsum("g,gai,gaj->ij", points.mass, points.shape, points.shape)
    if polar is not None:
        J, twist = polar.inertia, polar.twist
        inertia[0, 0] -= J.sum()
        shape[0] -= J @ twist
        modal -= np.einsum("g,gi,gj->ij", J, twist, twist)
        inertia, shape = _less_dust(inertia, i.rotary), _less_dust(shape, i.rotary_shape)
    size = np.sqrt(np.diag(i.modal_mass))
    return Rotary(
        inertia, shape, np.where(np.abs(modal) <= DUST * np.outer(size, size), 0.0, modal)
    )


def _less_dust(rest: Array, whole: Array) -> Array:
    """Take for zero what rounding left of a whole."""
    return np.where(np.abs(rest) <= DUST * np.abs(whole).max(initial=0.0), 0.0, rest)
