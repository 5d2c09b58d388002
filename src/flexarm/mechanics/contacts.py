"""Contact of points with planes, spheres and boxes: penetration depth, normal and forces.

Normal forces follow Hunt & Crossley 1975, friction a smoothed Coulomb law.
"""

from dataclasses import dataclass

import casadi as ca
import numpy as np

from flexarm.arm.forces import Box, Contact, Obstacle, Plane, Sphere
from flexarm.mechanics.attached import Attached, attach
from flexarm.mechanics.constants import SMALLEST_LENGTH
from flexarm.mechanics.kinematics import LinkFrames
from flexarm.model import Model
from flexarm.spatial import Expr, constant, rotation_from_angles


@dataclass(frozen=True)
class Touch:
    """Contact of a point with an obstacle at a given state; forces are 0 without penetration."""

    # contact, attached: entry of the model file, and the arm's point in contact.
    contact: Contact
    attached: Attached
    depth: Expr  # penetration of the ball around the point [m], negative outside
    normal: Expr  # outward unit normal of the obstacle, (3,)

    @property
    def elastic(self) -> Expr:
        """Elastic part of the normal force [N]."""
        return self.contact.stiffness * _power(self.depth, self.contact.exponent)

    @property
    def energy(self) -> Expr:
        """Stored elastic energy [J]."""
        exponent = self.contact.exponent
        return self.contact.stiffness * _power(self.depth, exponent + 1) / (exponent + 1)

    def forces(
        self, v: Expr, *, friction: bool = True, moved: tuple[Expr, Expr] | None = None
    ) -> tuple[Expr, Expr]:
        """Compute the normal force [N], at least 0, and the friction force [N], (3,), at rates v.

        ``moved`` is the pair of the point's velocity and angular velocity, if already computed.
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
        """Vector from the point to the contact on the surface of the ball around it [m], (3,)."""
        return -self.contact.radius * self.normal


def touches(model: Model, q: Expr, placed: tuple[LinkFrames, ...]) -> list[Touch]:
    """Compute point, depth and normal of all contacts of an arm at coordinates q."""
    touching = []
    for contact, point in zip(model.arm.contacts, model.points.contacts, strict=True):
        attached = attach(model, q, placed, point)
        distance, normal = distance_from(contact.obstacle, attached.position)
        touching.append(Touch(contact, attached, contact.radius - distance, normal))
    return touching


def distance_from(obstacle: Obstacle, point: Expr) -> tuple[Expr, Expr]:
    """Compute the distance [m] of a point from an obstacle's surface, and the outward normal (3,).

    The distance is negative inside the obstacle.
    """
    if isinstance(obstacle, Plane):
        normal = constant(np.array(obstacle.normal))
        normal = normal / ca.norm_2(normal)
        return ca.dot(normal, point - constant(np.array(obstacle.point))), type(point)(normal)
    out = point - constant(np.array(obstacle.centre))
    if isinstance(obstacle, Sphere):
        distance = ca.sqrt(ca.fmax(ca.sumsqr(out), SMALLEST_LENGTH))
        sign = -1 if obstacle.inside else 1
        return sign * (distance - obstacle.radius), sign * out / distance
    return _distance_from_box(obstacle, out)


def _distance_from_box(box: Box, out: Expr) -> tuple[Expr, Expr]:
    """Return the signed distance [m] of a point from a box's surface, and the outward normal (3,).

    The closest point is on a face, edge or corner for a point outside, on the nearest face for a
    point inside.
    """
    turned = constant(rotation_from_angles(box.rotation))
    local = turned.T @ out
    beyond = ca.fabs(local) - constant(np.array(box.size)) / 2
    nearest = ca.mmax(beyond)
    apart = ca.fmax(beyond, 0)
    distance = ca.sqrt(ca.fmax(ca.sumsqr(apart), SMALLEST_LENGTH))
    through = ca.vertcat(*_first_of(beyond, nearest))
    inside = ca.sumsqr(apart) <= SMALLEST_LENGTH
    normal = ca.if_else(local < 0, -1, 1) * ca.if_else(inside, through, apart / distance)
    return ca.if_else(inside, nearest, distance), turned @ normal


def _first_of(values: Expr, largest: Expr) -> tuple[Expr, Expr, Expr]:
    """Return three indicators, 1 for the first value that equals the largest and 0 otherwise."""
    x = values[0] >= largest
    y = ca.logic_and(ca.logic_not(x), values[1] >= largest)
    return x, y, ca.logic_not(ca.logic_or(x, y))


def _power(depth: Expr, exponent: float) -> Expr:
    """Return the penetration depth to a power, 0 for negative depths."""
    return ca.if_else(depth > 0, ca.fmax(depth, SMALLEST_LENGTH) ** exponent, 0)
