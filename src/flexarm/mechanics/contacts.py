"""Contact of points with planes, spheres and boxes: how far, which way out, how hard.

Normal forces go by Hunt & Crossley 1975, friction by Coulomb's law with a smooth change of sign.
"""

from dataclasses import dataclass

import casadi as ca
import numpy as np

from flexarm.arm.forces import Box, Contact, Obstacle, Plane, Sphere
from flexarm.mechanics.attached import Attached, attach
from flexarm.mechanics.kinematics import LinkFrames
from flexarm.model import Model
from flexarm.spatial import Expr, constant, rotation_from_angles

TINY = 1e-30  # [m], [m^2]: below, a length counts as this, so that derivatives stay finite


@dataclass(frozen=True)
class Touch:
    """A contact at a state; its forces are 0 where the two do not touch."""

    # contact, attached: as the model file has it, and its point of the arm.
    contact: Contact
    attached: Attached
    depth: Expr  # how far the ball about the point is inside the obstacle [m], negative outside
    normal: Expr  # direction out of the obstacle, (3,)

    @property
    def elastic(self) -> Expr:
        """Normal force of stored energy [N]."""
        return self.contact.stiffness * _power(self.depth, self.contact.exponent)

    @property
    def energy(self) -> Expr:
        """Stored energy [J]."""
        exponent = self.contact.exponent
        return self.contact.stiffness * _power(self.depth, exponent + 1) / (exponent + 1)

    def forces(
        self, v: Expr, *, friction: bool = True, moved: tuple[Expr, Expr] | None = None
    ) -> tuple[Expr, Expr]:
        """Compute normal force [N], at least 0, and friction [N], (3,), at rates v.

        ``moved`` are the point's velocity and angular velocity, if they are known.
        """
        speed, spin = self.attached.velocity(v) if moved is None else moved
        closing = -ca.dot(self.normal, speed)
        normal = self.elastic
        if self.contact.damping:
            normal = ca.fmax(normal * (1 + self.contact.damping * closing), 0)
        if self.contact.friction is None or not friction:
            return normal, type(speed)(3, 1)
        slip = speed + self.normal * closing + ca.cross(spin, self.lever)
        law = self.contact.friction
        size = ca.sqrt(ca.sumsqr(slip) + law.smoothing * law.smoothing)
        return normal, -(law.coefficient * normal / size) * slip

    @property
    def lever(self) -> Expr:
        """From the point to where the ball about it touches [m], (3,)."""
        return -self.contact.radius * self.normal


def touches(model: Model, q: Expr, placed: tuple[LinkFrames, ...]) -> list[Touch]:
    """Place all contacts of an arm at coordinates q."""
    found = []
    for contact, point in zip(model.arm.contacts, model.points.contacts, strict=True):
        attached = attach(model, q, placed, point)
        distance, normal = distance_from(contact.obstacle, attached.position)
        found.append(Touch(contact, attached, contact.radius - distance, normal))
    return found


def distance_from(obstacle: Obstacle, point: Expr) -> tuple[Expr, Expr]:
    """Find how far a point is outside an obstacle [m], and the direction out, (3,)."""
    if isinstance(obstacle, Plane):
        normal = constant(np.array(obstacle.normal))
        normal = normal / ca.norm_2(normal)
        return ca.dot(normal, point - constant(np.array(obstacle.point))), type(point)(normal)
    out = point - constant(np.array(obstacle.centre))
    if isinstance(obstacle, Sphere):
        distance = ca.sqrt(ca.fmax(ca.sumsqr(out), TINY))
        sign = -1 if obstacle.inside else 1
        return sign * (distance - obstacle.radius), sign * out / distance
    return _distance_from_box(obstacle, out)


def _distance_from_box(box: Box, out: Expr) -> tuple[Expr, Expr]:
    """Outside: from the nearest face, edge or corner; inside: through the nearest face."""
    turned = constant(rotation_from_angles(box.rotation))
    local = turned.T @ out
    beyond = ca.fabs(local) - constant(np.array(box.size)) / 2
    nearest = ca.mmax(beyond)
    apart = ca.fmax(beyond, 0)
    distance = ca.sqrt(ca.fmax(ca.sumsqr(apart), TINY))
    through = ca.vertcat(*_first_of(beyond, nearest))
    inside = ca.sumsqr(apart) <= TINY
    normal = ca.if_else(local < 0, -1, 1) * ca.if_else(inside, through, apart / distance)
    return ca.if_else(inside, nearest, distance), turned @ normal


def _first_of(values: Expr, largest: Expr) -> tuple[Expr, Expr, Expr]:
    """Mark the first of three values that is the largest by 1, the others by 0."""
    x = values[0] >= largest
    y = ca.logic_and(ca.logic_not(x), values[1] >= largest)
    return x, y, ca.logic_not(ca.logic_or(x, y))


def _power(depth: Expr, exponent: float) -> Expr:
    """Raise a depth to a power, 0 of one that is not above 0."""
    return ca.if_else(depth > 0, ca.fmax(depth, TINY) ** exponent, 0)
