"""Rods and rotating beams from their balance equations, by spectral collocation.

Strong form throughout: forces and moments are in balance at every Gauss point.  Nothing is shared
with the energies of `exact_reference` but the rule of quadrature.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

import casadi as ca
import numpy as np

from tests.physics.placement import Array, Expr, running, unit_rule

POINTS = 30
STEPS = 6  # in which loads are raised


def collocate(
    rate: Callable[[Expr, Expr], Expr],
    ends: Callable[[Expr, Expr, Expr], Expr],
    start: Array,
    *,
    length: float,
    points: int = POINTS,
) -> Array:
    """Solve y' = rate(y, p), ends(y(0), y(L), p) = 0 for p raised from 0 to 1; return y(L).

    ``start`` is y at p = 0, which is constant or near it, (k,).
    """
    y, tip, p = (ca.SX.sym(name, k) for name, k in (("y", len(start)), ("z", len(start)), ("p", 1)))
    slope, gap = rate(y, p), ends(y, tip, p)
    inside = ca.Function("rate", [y, p], [slope, ca.jacobian(slope, y)]).map(points)
    outside = ca.Function("gap", [y, tip, p], [gap, ca.jacobian(gap, y), ca.jacobian(gap, tip)])
    root, nodes = start, np.tile(start, (points, 1))
    for load in np.linspace(0, 1, STEPS + 1)[1:]:
        for _ in range(30):
            root, nodes, end, change = _newton(inside, outside, root, nodes, load, length)
            if change < 1e-11 * max(1.0, np.abs(nodes).max()):
                break
        else:
            raise AssertionError(f"no equilibrium at {load:.2f} of the load")
    return end


def _newton(
    inside: ca.Function, outside: ca.Function, root: Array, nodes: Array, load: float, length: float
) -> tuple[Array, Array, Array, float]:
    """Take a step; return y at root, nodes and tip (before the step) and the largest change."""
    n, k = nodes.shape
    weight, within = unit_rule(n)[1] * length / 2, running(n) * length / 2
    values, jacobians = inside(nodes.T, load)
    slopes = np.array(values).T
    turned = np.array(jacobians).T.reshape(n, k, k)  # [h, j, i]: of slope i by y j at node h
    tip = root + weight @ slopes
    gap, by_root, by_tip = (np.array(part) for part in outside(root, tip, load))
    wanted = root + within @ slopes - nodes
    system = np.zeros((k * (n + 1), k * (n + 1)))
    system[:k, :k] = by_root + by_tip
    system[:k, k:] = np.einsum("ai,h,hji->ahj", by_tip, weight, turned).reshape(k, n * k)
    system[k:, :k] = -np.tile(np.eye(k), (n, 1))
    through = np.einsum("gh,hji->gihj", within, turned).reshape(n * k, n * k)
    system[k:, k:] = np.eye(n * k) - through
    step = np.linalg.solve(system, np.concatenate([-gap.ravel(), wanted.ravel()]))
    return root + step[:k], nodes + step[k:].reshape(n, k), tip, float(np.abs(step).max())


def elastica(load: float) -> tuple[float, float]:
    """Give deflection and shortening of a cantilever's tip by its length, w/L and u/L.

    ``load`` is P L^2 / EI of a dead force across the undeformed axis.
    """

    def rate(y: Expr, p: Expr) -> Expr:
        angle, curvature = y[0], y[1]
        return ca.vertcat(curvature, -p * load * ca.cos(angle), ca.cos(angle), ca.sin(angle))

    def ends(root: Expr, tip: Expr, p: Expr) -> Expr:
        return ca.vertcat(root[0], root[2], root[3], tip[1])

    tip = collocate(rate, ends, np.zeros(4), length=1.0)
    return float(tip[3]), float(1 - tip[2])


@dataclass(frozen=True)
class Rod:
    """A straight Cosserat rod along x, clamped at its root.

    Attributes
    ----------
    length
        [m]
    EIy, EIz, GJ
        Stiffness against bending about the section's y and z, and against twist [N m^2].
    EA, GA
        Against stretch, and against shear along the section's y and z [N].
    """

    length: float
    EIy: float
    EIz: float
    GJ: float
    EA: float = inf
    GA: tuple[float, float] = (inf, inf)

    def held(self, force: Array, offset: Array | None = None) -> tuple[Array, Array]:
        """Give the tip's rotation (3, 3) and position [m] under a dead force [N].

        It acts at ``offset`` [m] from the tip, which turns with it.
        """
        arm = ca.DM(np.zeros(3) if offset is None else offset)
        compliance = ca.DM([1 / self.GJ, 1 / self.EIy, 1 / self.EIz])

        give = ca.DM([1 / self.EA, 1 / self.GA[0], 1 / self.GA[1]])

        def rate(y: Expr, p: Expr) -> Expr:
            rotation, moment, pull = versor_rotation(y[3:7]), y[7:], ca.DM(force) * p
            axis = rotation @ (ca.DM([1, 0, 0]) + give * (rotation.T @ pull))
            turn = versor_rate(y[3:7], compliance * (rotation.T @ moment))
            return ca.vertcat(axis, turn, -ca.cross(axis, pull))

        def ends(root: Expr, tip: Expr, p: Expr) -> Expr:
            moment = ca.cross(versor_rotation(tip[3:7]) @ arm, ca.DM(force) * p)
            return ca.vertcat(root[:7] - ca.DM([0, 0, 0, 1, 0, 0, 0]), tip[7:] - moment)

        start = np.zeros(10)
        start[3] = 1.0
        tip = collocate(rate, ends, start, length=self.length)
        return np.array(ca.DM(versor_rotation(ca.DM(tip[3:7])))), tip[:3]


def versor_rotation(e: Expr) -> Expr:
    """Rotation of a unit quaternion, real part first."""
    w, x, y, z = (e[k] for k in range(4))
    return ca.vertcat(
        ca.horzcat(w**2 + x**2 - y**2 - z**2, 2 * (x * y - w * z), 2 * (x * z + w * y)),
        ca.horzcat(2 * (x * y + w * z), w**2 - x**2 + y**2 - z**2, 2 * (y * z - w * x)),
        ca.horzcat(2 * (x * z - w * y), 2 * (y * z + w * x), w**2 - x**2 - y**2 + z**2),
    )


def versor_rate(e: Expr, turn: Expr) -> Expr:
    """Derivative of a unit quaternion that turns at a rate given in its own axes."""
    real, vector = e[0], e[1:]
    return ca.vertcat(-ca.dot(vector, turn), real * turn + ca.cross(vector, turn)) / 2


@dataclass(frozen=True)
class RotatingBeam:
    """A uniform extensible beam without shear and rotary inertia that rotates about z.

    Attributes
    ----------
    length, hub
        Of the beam and from the axis of rotation to its root [m].
    density
        Mass per length [kg/m].
    EI, EA
        Stiffness against bending in the plane of rotation [N m^2] and against stretch [N].
    """

    length: float
    density: float
    EI: float
    EA: float
    hub: float = 0.0

    def stretched(self, speed: float, s: Array) -> tuple[Array, Array]:
        """Place [m] and stretch (1 when unstrained) of material points s [m] in steady rotation."""
        k = speed * np.sqrt(self.density / self.EA)
        angle = k * self.length
        sine = (1 + self.hub * k * np.sin(angle)) / (k * np.cos(angle))
        place = self.hub * np.cos(k * s) + sine * np.sin(k * s)
        return place, k * (sine * np.cos(k * s) - self.hub * np.sin(k * s))

    def frequencies(self, speed: float, points: int = POINTS) -> Array:
        """Frequencies of small vibration in the plane of rotation [rad/s], ascending.

        Forces f per length make u and v about the stretched axis; of vibration they are
        f_u = mu (W^2 u + 2 W dv/dt - d2u/dt2) and f_v = mu (W^2 v - 2 W du/dt - d2v/dt2).
        """
        compliance = self.density * self._compliance(speed, points)
        one, zero = np.eye(points), np.zeros((points, points))
        coriolis = 2 * speed * compliance @ np.block([[zero, one], [-one, zero]])
        both = np.eye(2 * points)
        own = np.linalg.inv(both - speed**2 * compliance)
        # z e^(t/p): p^2 (1 - W^2 C) z - p coriolis z + C z = 0
        companion = np.block([[0 * both, both], [-own @ compliance, own @ coriolis]])
        period = np.linalg.eigvals(companion)
        rates = 1 / period[np.abs(period) > 1e-9 * np.abs(period).max()]
        return np.sort(rates.imag[rates.imag > 0])

    def _compliance(self, speed: float, points: int) -> Array:
        """Displacements u, v at the nodes per force per length there, (2 n, 2 n)."""
        node, weight = unit_rule(points)
        half = self.length / 2
        inboard = half * running(points)  # integrals from the root
        outboard = half * weight - inboard  # and to the tip
        stretch = np.diag(self.stretched(speed, half * (node + 1))[1])
        tension = self.EA * (stretch - np.eye(points))
        along = inboard @ outboard / self.EA
        # EI angle'' = -stretch (force across - tension angle), v' = stretch angle
        bending = inboard @ outboard @ stretch / self.EI
        angle = np.linalg.solve(np.eye(points) + bending @ tension, bending @ outboard)
        zero = np.zeros((points, points))
        return np.block([[along, zero], [zero, inboard @ stretch @ angle]])
