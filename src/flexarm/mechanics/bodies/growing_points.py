"""What a sliding link weighs, seen from the mouth of its hub: the exposed part and the rest.

Columns are those of material points: a section moves out with the beam and so along the shapes
(Theodore & Ghosal 1995, eqs 19-21, with the time derivative at a fixed material point).
"""

import casadi as ca
import numpy as np

from flexarm.links.fields import AXES, Basis, Field, MovingField
from flexarm.mechanics.bodies.exact.growing_polar import grown_polar_terms
from flexarm.mechanics.bodies.growing_motion import GrowingMotion
from flexarm.mechanics.bodies.points import (
    Moments,
    bordered,
    field_moments,
    joined,
    spread,
    turning,
)
from flexarm.mechanics.bodies.terms import Terms
from flexarm.model import LinkModel
from flexarm.spatial import Expr, constant


def sliding_moments(part: LinkModel, own: Expr) -> Moments:
    """Weigh a sliding link; its own coordinates are its exposed length and its amplitudes."""
    shapes = part.sliding
    assert shapes is not None
    mu, rotary, length, k = shapes.mass_per_length, shapes.rotary, own[0], own.shape[0]
    motion = GrowingMotion.of(part, own, type(own)(k, 1))
    total = joined(
        field_moments(motion.displacement(), motion.displacement_basis(), mu * length),
        _hidden(mu, rotary, part.length - length, k),
    )
    if np.any(rotary):
        linear = motion.linear
        turned = _turned(linear.rotation(), linear.rotation_basis(), rotary * length)
        total = joined(total, turned)
    if part.grown is not None and part.grown.polar is not None:
        none = type(own)(k, 1)
        terms = grown_polar_terms(part.grown.polar, motion.linear, none, none[:3])
        total = joined(total, _beyond(terms))
    return total


def _beyond(terms: Terms) -> Moments:
    """Weigh the turning of sections by their inertia about L and with own coordinates."""
    k, new, S = terms.modal.shape[0], type(terms.modal), terms.second
    none = [new(4, 4)] * k
    spin = [turning(terms.angular[:, f]) for f in range(k)]
    G = ca.diagcat(new(1, 1), ca.trace(S) / 2 * new.eye(3) - S)
    return Moments(G, spin, [none] * k, terms.modal, new(4, 1), [new(4, 1)] * k)


def _hidden(mu: float, rotary: Expr, hidden: Expr, k: int) -> Moments:
    """Weigh the part in the hub, straight, from x = l - total length to 0 (eq. 19)."""
    new, mass = type(hidden), mu * hidden
    mean = ca.vertcat(-mass * hidden / 2, new(2, 1))
    second = ca.diagcat(mass * hidden**2 / 3, new(2, 2))
    second = second + constant(spread(np.diag(rotary))) * hidden
    none, along = new(4, 4), new(4, 4)
    along[0, 1], along[1, 1] = mass, mean[0]
    inner, eps = new(4, 4), new(4, 1)
    inner[1, 1], eps[1] = mass, mass
    rows = [[none] * k for _ in range(k)]
    rows[0][0] = inner
    return Moments(
        bordered(mass, mean, second),
        [along, *[none] * (k - 1)],
        rows,
        new(k, k),
        ca.vertcat(mass, mean),
        [eps, *[new(4, 1)] * (k - 1)],
    )


def _turned(moving: MovingField, basis: Basis, inertia: Expr) -> Moments:
    """Weigh the turning of the exposed part's sections, in link axes, by first-order angles."""
    k = len(moving.columns)
    new = type(inertia)
    none = [new(4, 4)] * k
    spin = [turning(inertia * basis.integral(c)) for c in moving.columns]
    mass = new(k, k)
    for i, a in enumerate(moving.columns):
        for j, b in enumerate(moving.columns):
            mass[i, j] = _product(basis, inertia, a, b)
    half = (inertia[0] + inertia[1] + inertia[2]) / 2
    second = ca.diag(half - inertia)
    return Moments(
        ca.diagcat(new(1, 1), second), spin, [none] * k, mass, new(4, 1), [new(4, 1)] * k
    )


def _product(basis: Basis, inertia: Expr, a: Field, b: Field) -> Expr:
    parts = [
        inertia[n] * (a.of(axis).T @ constant(basis.gram[axis, axis]) @ b.of(axis))
        for n, axis in enumerate(AXES)
    ]
    return parts[0] + parts[1] + parts[2]
