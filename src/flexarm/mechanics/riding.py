"""Kinematics of a link that rides along a flexible link at a variable station.

The rail's section at station s has position ``r(d, s)`` and rotation ``R(d, s)``, with d the rail's
amplitudes.  The section that carries the rider has velocity ``r_d d' + r_s s'`` and, at zero second
rates, acceleration ``(r_d d')_d d' + 2 s' r_sd d' + s'^2 r_ss``; angles follow the same formulas.
"""

from dataclasses import dataclass

import casadi as ca
import numpy as np

from flexarm.links.amounts import Amounts
from flexarm.links.rails.rail import Rail
from flexarm.mechanics.bodies.base import section_spin
from flexarm.mechanics.bodies.exact.motion import AxisMotion, AxisPoint, section_motion
from flexarm.mechanics.sections import Local, SectionMotion, own_values, picked, section_rotation
from flexarm.model import LinkModel, Model
from flexarm.spatial import Array, Expr, constant


@dataclass(frozen=True)
class RailStation:
    """Section of a rail at the station of the carriage."""

    # Its motion relative to the rail's root, the station's rate among the rates; its columns are
    # those of the rail's own coordinates.
    motion: SectionMotion
    # Angular and linear velocity per rate of the station, in axes of the rail's root, (6,).
    along: Expr


def station(model: Model, index: int, q: Expr, v: Expr) -> RailStation:
    """Compute the rail section on which link ``index`` rides."""
    part, rail_part = model.links[index], model.links[index - 1]
    rail = part.rail
    assert rail is not None
    (s,), (rate,) = ([values[k] for k in part.coordinates] for values in (q, v))
    at = _Curves(rail, s - rail.root)
    d, rates = own_values(rail_part, q), own_values(rail_part, v)
    if rail_part.exact is None:
        return _linear(model, at, d, rates, rate)
    return _exact(rail_part, at, d, rates, rate)


def joint_columns(model: Model, index: int, q: Expr) -> Expr:
    """Return the Jacobian (6, k) of a link's frame K by joint coordinates, in axes of K."""
    part = model.links[index]
    if part.rail is None:
        return part.motion.columns(picked(q, part.carried_by))
    return riding_columns(part, station(model, index, q, 0 * q))


def riding_columns(part: LinkModel, at: RailStation) -> Expr:
    """Return the Jacobian (6, 1) of a riding link's frame K by its station, in axes of K."""
    back = at.motion.local.rotation.T
    spin, speed = back @ at.along[:3], back @ at.along[3:]
    pose = part.pose_FJ
    speed = speed + ca.cross(spin, constant(pose.position))
    turn = constant(pose.rotation.T)
    return ca.vertcat(turn @ spin, turn @ speed)


def mount(model: Model, index: int, q: Expr) -> Local:
    """Return the pose of the rail section that carries the next link, in the rail's root frame."""
    return station(model, index + 1, q, 0 * q).motion.local


class _Curves:
    """Legendre series along a rail, evaluated at a distance x [m] from its root."""

    def __init__(self, rail: Rail, x: Expr) -> None:
        self.rail, self.x = rail, x
        self.beyond = [x >= edge for edge in rail.edges[1:-1]]
        low, high = rail.edges[:-1], rail.edges[1:]
        scale = self._panel((2 / (high - low))[:, None])
        self.t = scale * x - self._panel(((high + low) / (high - low))[:, None])
        self.basis = [type(x)(1), self.t]

    def row(self, series: Array) -> Expr:
        """Return the value (1, m) of m series with coefficients (panels, terms, m)."""
        total = type(self.x)(1, series.shape[2])
        for k in range(series.shape[1]):
            if np.any(series[:, k]):
                total += self._polynomial(k) * self._panel(series[:, k])
        return total

    def rows(self, series: Array) -> list[Expr]:
        """Return a curve and its derivatives at x, (1, m) each.

        Coefficients have shape (orders, panels, terms, m).
        """
        return [self.row(coefficients) for coefficients in series]

    def _polynomial(self, k: int) -> Expr:
        while len(self.basis) <= k:
            n = len(self.basis)
            up = (2 * n - 1) / n * self.t * self.basis[-1]
            self.basis.append(up - (n - 1) / n * self.basis[-2])
        return self.basis[k]

    def _panel(self, values: Array) -> Expr:
        """Return the row of values (panels, m) for the panel that contains x, (1, m)."""
        total = type(self.x)(constant(values[:1]))
        for here, step in zip(self.beyond, values[1:] - values[:-1], strict=True):
            if np.any(step):
                total += here * constant(step[None])
        return total


def _linear(model: Model, at: _Curves, d: Expr, rates: Expr, rate: Expr) -> RailStation:
    """Return the rail section at a station by linear theory, rotated by first-order angles."""
    rail = at.rail
    x, y, z, twist = (at.rows(series) for series in (rail.x, rail.y, rail.z, rail.twist))
    shape = [ca.vertcat(x[n], y[n], z[n]) for n in range(3)]
    turn = [ca.vertcat(twist[n], -z[n + 1], y[n + 1]) for n in range(3)]
    straight = type(d)(constant(np.array([1.0, 0.0, 0.0])))
    along = straight + shape[1] @ d
    speed = shape[0] @ rates + along * rate
    speed_bias = 2 * rate * (shape[1] @ rates) + rate**2 * (shape[2] @ d)
    angle, bend = turn[0] @ d, turn[1] @ d
    angle_bias = 2 * rate * (turn[1] @ rates) + rate**2 * (turn[2] @ d)
    spin, spin_bias = section_spin(model, angle, turn[0] @ rates + bend * rate, angle_bias)
    rotation, per = section_rotation(model, angle)
    local = Local(straight * at.x + shape[0] @ d, rotation, shape[0], per @ turn[0])
    motion = SectionMotion(local, spin, speed, spin_bias, speed_bias)
    return RailStation(motion, ca.vertcat(per @ bend, along))


def _exact(part: LinkModel, at: _Curves, d: Expr, rates: Expr, rate: Expr) -> RailStation:
    """Return the rail section at a station of an exact beam, at position ``sum_g I_g(x) P_g``.

    The section rotates by the sum of the rail's slope shapes.
    """
    rail, nodes = at.rail, part.exact
    assert rail.reach is not None and nodes is not None
    reach = [ca.vertcat(*at.rows(series)) for series in rail.reach]
    y, z, twist = (at.rows(series) for series in (rail.y, rail.z, rail.twist))
    slopes = [(y[n + 1], z[n + 1], twist[n]) for n in range(3)]
    m = AxisMotion.at(nodes, Amounts.fixed(d, rates))
    return RailStation(*section_motion(m, AxisPoint(reach, slopes, rate), rates))
