"""Inertia and energy of a flexible span due to displacements quadratic in the amplitudes.

The sums are computed in two ways: by constant tensors over products of amplitudes, which is cheap
for few amplitudes and axial shortening alone; and by a loop over points for everything else, with
few amplitudes over the points that represent all quadrature points.
"""

from dataclasses import dataclass

import casadi as ca
import numpy as np

from flexarm.links.base import Array
from flexarm.links.integrals import Points
from flexarm.links.pairs import Pairs
from flexarm.model import Flexible
from flexarm.spatial import Expr, constant

FEW = 8  # bending amplitudes up to which tensors cost less than points


@dataclass(frozen=True)
class Quadratic:
    """Terms due to the quadratic displacements ``1/2 d^T X d``; k amplitudes."""

    # moments, flow: added to ``int mu r N_j^T`` and, without its (x, x) entry, to ``int mu r'
    # N_j^T``, (3, 3) each, per amplitude.
    moments: list[Expr]
    flow: list[Expr]
    # first, second: added to the first moment (3,) and to ``int mu r r^T`` (3, 3).
    first: Expr
    second: Expr
    # linear, modal: added to ``int mu N`` (3, k) and ``int mu N^T N`` (k, k).
    linear: Expr
    modal: Expr
    # torque, force, effort: what the acceleration ``d'^T X d'`` of the points takes.
    torque: Expr
    force: Expr
    effort: Expr


def quadratic_terms(e: Flexible, d: Expr, rates: Expr) -> Quadratic:
    """Sum what the quadratic displacements of a span add."""
    few = _bending(e) <= FEW
    if few and not np.any(e.points.quadratic[:, 1:]):
        return _by_tensors(e, d, rates)
    return _by_points(e, e.points.condensed if few else e.points, d, rates)


def quartic_energy(e: Flexible, d: Expr) -> Expr:
    """Sum the fourth order of the bending energy, ``1/2 int [EIz v'' v' p + EIy w'' w' p]``."""
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
    """Differentiate `quartic_energy` by the amplitudes, (k,)."""
    if _bending(e) <= FEW:
        return _quartic_by_tensors(e, d)
    return _quartic_by_points(e, d)


def _by_tensors(e: Flexible, d: Expr, rates: Expr) -> Quadratic:
    p, i, k, new = e.points, e.integrals, d.shape[0], type(d)
    drawn = p.quadratic[:, 0]
    pairs = Pairs.of_form(np.any(drawn != 0, axis=0))
    still, mixed, moving = (pairs.products(*z) for z in ((d, d), (d, rates), (rates, rates)))
    # int mu phi_a X, one row per amplitude and axis; int mu X X
    weighed = [_clean(pairs.of(np.einsum("g,gi,gkl->ikl", p.mass, p.shape[:, a], drawn)))
               for a in range(3)]  # fmt: skip
    square = np.einsum("g,gij,gkl->ijkl", p.mass, drawn, drawn)
    # columns X d of two amplitudes multiply, whichever plane they bend in
    active = np.any(drawn != 0, axis=(0, 1))
    every = Pairs.of_form(np.outer(active, active))
    crossed = (square.transpose(0, 2, 1, 3) + square.transpose(0, 2, 3, 1)) / 2
    crossed = every.of(np.moveaxis(every.of(crossed), -1, 0)).T
    both = every.matrix(constant(_clean(crossed)) @ every.products(d, d))
    pull = pairs.matrix(constant(_clean(pairs.of(pairs.of(square).transpose(2, 0, 1)).T)) @ moving)
    pushed = [constant(w) @ still for w in weighed]  # 2 int mu rho phi
    carried = [pairs.matrix(constant(w.T) @ d) for w in weighed]  # int mu (phi d) X
    flowing = [pairs.matrix(constant(w.T) @ rates) for w in weighed]
    pushed_rate = [constant(w) @ mixed for w in weighed]
    mean = constant(i.quadratic[0])
    lever = constant(i.position_quadratic[0])
    reach = lever @ d + both @ d / 2
    swept = [m @ d for m in carried]
    swept_rate = [m @ d for m in flowing]
    moments, flow = [], []
    for j in range(k):
        moment, stream = new(3, 3), new(3, 3)
        for a in range(3):
            moment[0, a] += pushed[a][j] / 2
            moment[a, 0] += swept[a][j]
            if a:
                stream[0, a] += pushed_rate[a][j]
                stream[a, 0] += swept_rate[a][j]
        moment[0, 0] += reach[j]
        moments.append(moment)
        flow.append(stream)
    second = new(3, 3)
    for a in range(3):
        shared = ca.dot(d, pushed[a]) / 2
        second[0, a] += shared
        second[a, 0] += shared
    second[0, 0] += ca.dot(d, lever @ d) + ca.dot(d, both @ d) / 4
    along = ca.vertcat(*[(pairs.matrix(new(constant(row))) @ d).T for row in weighed[0]])
    torque = new(3, 1)
    torque[1] = ca.dot(rates, carried[2] @ rates)
    torque[2] = -ca.dot(rates, carried[1] @ rates)
    row = (mean @ d).T
    below = new(2, k)
    force = ca.vertcat(ca.dot(rates, mean @ rates), new(2, 1))
    return Quadratic(
        moments=moments,
        flow=flow,
        first=ca.vertcat(row @ d / 2, new(2, 1)),
        second=second,
        linear=ca.vertcat(row, below),
        modal=along + along.T + both,
        torque=torque,
        force=force,
        effort=constant(weighed[0]) @ moving + pull @ d,
    )


def _by_points(e: Flexible, p: Points, d: Expr, rates: Expr) -> Quadratic:
    k, new = d.shape[0], type(d)
    moments, flow = ([new(3, 3) for _ in range(k)] for _ in range(2))
    second, modal = new(3, 3), new(k, k)
    torque, effort = new(3, 1), new(k, 1)
    bends, wholes, streams, pulls = [], [], [], []
    for g in range(len(p.x)):
        mu, phi = p.mass[g], constant(p.shape[g])
        bent = ca.vertcat(*[(constant(p.quadratic[g, a]) @ d).T for a in range(3)])
        drawn = bent @ d / 2
        pull = ca.vertcat(*[ca.dot(rates, constant(p.quadratic[g, a]) @ rates) for a in range(3)])
        place = constant(np.array([p.x[g], 0.0, 0.0])) + phi @ d
        whole, speed = mu * (place + drawn), mu * (phi @ rates)
        drawn_rate = mu * (bent @ rates)
        heavy = mu * drawn
        for j in range(k):
            moments[j] += heavy @ phi[:, j].T
            flow[j] += drawn_rate @ phi[:, j].T
        cross = heavy @ place.T
        second += cross + cross.T + heavy @ drawn.T
        mixed = (mu * bent).T @ phi
        modal += mixed + mixed.T
        torque += ca.cross(whole, pull)
        effort += phi.T @ (mu * pull)
        bends.append(bent)
        wholes.append(whole)
        streams.append(speed + drawn_rate)
        pulls.append(mu * pull)
    for a in range(3):
        done = [_settled(p.quadratic[:, a, :, j]) for j in range(k)]
        rows = [bent[a, :] for bent in bends]
        modal += _squares(p.mass, rows, done)
        for j in range(k):
            moments[j][:, a] += _swept(wholes, rows, done[j], j)
            flow[j][:, a] += _swept(streams, rows, done[j], j)
            effort[j] += _swept([pull[a] for pull in pulls], rows, done[j], j)
    i = e.integrals
    linear = ca.vertcat(*[(constant(i.quadratic[a]) @ d).T for a in range(3)])
    force = ca.vertcat(*[ca.dot(rates, constant(i.quadratic[a]) @ rates) for a in range(3)])
    return Quadratic(moments, flow, linear @ d / 2, second, linear, modal, torque, force, effort)


def _squares(mass: Array, rows: list[Expr], done: list[int]) -> Expr:
    """Sum ``mu (X d) (X d)^T`` over the points, (k, k), from rows ``(X d)^T``.

    Notes
    -----
    Of elements, a column of X is 0 inboard of its own elements and stays what it is outboard of
    them, from the point `done` on: there, the points stand for one mass.
    """
    k = len(done)
    beyond = np.cumsum(mass[::-1])[::-1]  # mass from a point on
    heavy = [mu * row for mu, row in zip(mass, rows, strict=True)]
    total = type(rows[0])(k, k)
    for i in range(k):
        for j in range(i, k):
            last = max(done[i], done[j])
            entry = beyond[last] * (rows[last][i] * rows[last][j])
            for g in range(last):
                entry += heavy[g][i] * rows[g][j]
            total[i, j] = total[j, i] = entry
    return total


def _swept(vectors: list[Expr], rows: list[Expr], last: int, j: int) -> Expr:
    """Sum vectors at the points times entry j of the rows, which stays the same from a point on."""
    tail = vectors[-1]
    for vector in reversed(vectors[last:-1]):
        tail = tail + vector
    total = tail * rows[last][j]
    for g in range(last):
        total += vectors[g] * rows[g][j]
    return total


def _settled(columns: Array) -> int:
    """Find the first point from which on a column of the forms does not change, (points, k)."""
    size = np.abs(columns).max(initial=0.0)
    changes = np.flatnonzero(np.abs(np.diff(columns, axis=0)).max(axis=1) > 1e-15 * size)
    return int(changes[-1]) + 1 if len(changes) else 0


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


def _quartic_by_points(e: Flexible, d: Expr) -> Expr:
    p = e.points
    total = type(d)(d.shape[0], 1)
    for g in range(len(p.x)):
        slope = [constant(p.slope[n, g][None, :]) for n in range(2)]
        curve = [constant(p.curvature[n, g][None, :]) for n in range(2)]
        s = [row @ d for row in slope]
        c = [row @ d for row in curve]
        ky, kz = p.bending[0, g], p.bending[1, g]
        a, b = s[0] * c[0], s[1] * c[1]
        by_a = ky * a + (ky + kz) / 2 * b
        by_b = kz * b + (ky + kz) / 2 * a
        total += slope[0].T @ (by_a * c[0]) + curve[0].T @ (by_a * s[0])
        total += slope[1].T @ (by_b * c[1]) + curve[1].T @ (by_b * s[1])
    return total


def _bending(e: Flexible) -> int:
    """Count the amplitudes that bend the span."""
    return int(np.sum(np.any(e.points.slope != 0, axis=(0, 1))))


def _clean(values: Array) -> Array:
    """Set quadrature dust to zero, so that traced equations skip it."""
    size = np.abs(values).max(initial=0.0)
    return np.where(np.abs(values) <= 1e-15 * size, 0.0, values)
