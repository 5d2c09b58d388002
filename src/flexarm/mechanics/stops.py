"""Hard stops of joints: stiff springs at the limits that dissipate part of the impact energy."""

import math
from collections.abc import Iterator

import casadi as ca

from flexarm.model import Axis
from flexarm.spatial import Expr, Scalar


def stop_energy(axis: Axis, place: Expr) -> Scalar:
    """Return the elastic energy [J] of a joint's stops at the hub's position ``place``."""
    stops = axis.acts.stops
    return sum(stops.stiffness * deep**2 / 2 for deep, _ in _ends(axis, place)) if stops else 0.0


def stop_loss(axis: Axis, place: Expr, rate: Expr) -> Scalar:
    """Return the dissipative force or torque of a joint's stops at a hub position and rate.

    Notes
    -----
    A stop pushes with ``k d (1 + c d')`` at penetration d, and never pulls (Hunt & Crossley 1975).
    """
    stops = axis.acts.stops
    if stops is None or stops.restitution == 1:
        return 0.0
    assert stops.speed is not None
    loss = crossley(stops.restitution) / stops.speed
    force: Scalar = sum(
        way * stops.stiffness * deep * (ca.fmax(0, 1 + loss * way * rate) - 1)
        for deep, way in _ends(axis, place)
    )
    return force


def crossley(restitution: float) -> float:
    """Compute Hunt and Crossley's damping times impact speed for a restitution coefficient.

    Notes
    -----
    From ``m v dv/dx = -k x^n (1 + c v)``, the integral of ``v/(1 + c v)`` over v is the same during
    compression as during restitution. With the impact speed v, this means ``z - ln(1 + z) = -e z -
    ln(1 - e z)``, where z = c v and e is the coefficient of restitution.
    """
    if restitution == 1:
        return 0.0
    from scipy.optimize import brentq  # imported here, because the import takes long

    def off(z: float) -> float:
        return z + restitution * z - math.log1p(z) + math.log1p(-restitution * z)

    # The function is -infinite at 1/e; for small e its root is close to 1/e.
    most = (1 - 1e-15) / restitution
    return most if off(most) > 0 else float(brentq(off, 0.5 * (1 - restitution), most, xtol=1e-15))


def _ends(axis: Axis, place: Expr) -> Iterator[tuple[Expr, float]]:
    """Yield the penetration of each stop and its direction: 1 for the upper, -1 for the lower."""
    limits = axis.acts.limits
    if limits is not None and limits.upper is not None:
        yield ca.fmax(0, place - limits.upper), 1.0
    if limits is not None and limits.lower is not None:
        yield ca.fmax(0, limits.lower - place), -1.0
