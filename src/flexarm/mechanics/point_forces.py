"""Forces of contacts with planes, spheres and boxes, and of springs between points of an arm.

Normal forces of contacts follow Hunt & Crossley 1975, contact friction a smoothed Coulomb law.
"""

from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from flexarm.arm import PointSpring
from flexarm.arm.forces import Box, Contact, Obstacle, Plane, Sphere
from flexarm.mechanics.constants import SMALLEST_LENGTH
from flexarm.mechanics.kinematics import (
    LinkFrames,
    base_frame,
    base_jacobian,
    end_jacobian,
    frames,
    jacobian,
    section,
)
from flexarm.model import ArmPoint, Model
from flexarm.spatial import Expr, constant, rotation_from_angles


@dataclass(frozen=True)
class Attached:
    """Point fixed to a link, the base or the world, with its Jacobian, in world axes."""

    # position, rotation: position of the point (3,) and attitude of its carrier (3, 3).
    position: Expr
    rotation: Expr
    # Vector from the section's axis point, to which the Jacobian belongs, to the point; None if
    # zero.
    lever: Expr | None
    # linear, angular: Jacobians of the axis point's velocity and of the section's angular velocity,
    # (3, n) each.
    linear: Expr
    angular: Expr

    def velocity(self, v: Expr) -> tuple[Expr, Expr]:
        """Compute the point's velocity [m/s] and angular velocity [rad/s] at rates v, (3,) each."""
        speed, spin = self.linear @ v, self.angular @ v
        return (speed if self.lever is None else speed + ca.cross(spin, self.lever)), spin

    def moved(self, away: Expr) -> "Attached":
        """Return the point of the same section at a distance (3,) [m] from this one."""
        lever = away if self.lever is None else self.lever + away
        return replace(self, position=self.position + away, lever=lever)

    def effort(self, force: Expr, torque: Expr) -> Expr:
        """Compute the generalised force (n,) of a force [N] at the point and a torque [N m]."""
        if self.lever is not None:
            torque = torque + ca.cross(self.lever, force)
        return self.linear.T @ force + self.angular.T @ torque


def place(
    model: Model, q: Expr, placed: tuple[LinkFrames, ...], point: ArmPoint
) -> tuple[Expr, Expr, Expr | None]:
    """Return position and attitude of a point fixed to an arm, in world axes.

    Returns
    -------
    rotation, position, lever
        Attitude of the link section (3, 3), position of the point (3,) [m], and the vector from the
        section's axis to the point (3,), None if the point is on the axis.
    """
    lever = None
    if point.link == -2:
        return type(q).eye(3), type(q)(constant(np.array(point.offset))), lever
    if point.link == -1:
        turned, position = base_frame(model, q)
        return turned, position + turned @ constant(np.array(point.offset)), lever
    frame, part = placed[point.link], model.links[point.link]
    if point.x == "end":
        turned = frame.R_WT @ constant(model.end_pose.rotation)
        position = frame.p_WT + frame.R_WT @ constant(model.end_pose.position)
    else:
        local = section(model, part, q, point.x)
        position, turned = frame.p_WL + frame.R_WL @ local.position, frame.R_WL @ local.rotation
    if any(point.offset):
        lever = turned @ constant(np.array(point.offset))
        position = position + lever
    return turned, position, lever


def attach(model: Model, q: Expr, placed: tuple[LinkFrames, ...], point: ArmPoint) -> Attached:
    """Compute position, attitude and Jacobian of a point fixed to an arm, in world axes."""
    turned, position, lever = place(model, q, placed, point)
    if point.link == -2:
        none = type(q)(3, model.size)
        return Attached(position, turned, None, none, none)
    if point.link == -1:
        linear, angular = base_jacobian(model, q, position)
    elif point.x == "end":
        linear, angular = end_jacobian(model, q)
    else:
        linear, angular = jacobian(model, q, point.link, point.x)
    return Attached(position, turned, lever, linear, angular)


@dataclass(frozen=True)
class Touch:
    """Contact of a ball around a point of the arm with an obstacle, at given coordinates."""

    # contact, attached: contact in the model file, and the arm's point in contact.
    contact: Contact
    attached: Attached
    depth: Expr  # penetration of the ball around the point [m], negative outside
    normal: Expr  # outward unit normal of the obstacle, (3,)
    # Point of the obstacle where the ball's centre is; None if the obstacle is fixed in the world.
    carrier: Attached | None = None

    @property
    def elastic(self) -> Expr:
        """Elastic part of the contact's normal force [N]; 0 without penetration."""
        return self.contact.stiffness * _power(self.depth, self.contact.exponent)

    @property
    def energy(self) -> Expr:
        """Elastic energy stored in the contact [J]; 0 without penetration."""
        exponent = self.contact.exponent
        return self.contact.stiffness * _power(self.depth, exponent + 1) / (exponent + 1)

    def forces(
        self, v: Expr, *, friction: bool = True, moved: tuple[Expr, Expr] | None = None
    ) -> tuple[Expr, Expr]:
        """Compute the normal force [N], at least 0, and the friction force [N], (3,), at rates v.

        ``moved`` is the pair of the point's velocity and angular velocity relative to the obstacle,
        if already computed.
        """
        speed, spin = self.velocity(v) if moved is None else moved
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

    def velocity(self, v: Expr) -> tuple[Expr, Expr]:
        """Compute velocity and angular velocity of the ball relative to the obstacle, (3,) each."""
        speed, spin = self.attached.velocity(v)
        if self.carrier is None:
            return speed, spin
        carried, turned = self.carrier.velocity(v)
        return speed - carried, spin - turned

    @property
    def lever(self) -> Expr:
        """Vector (3,) [m] from the ball's centre to the point of contact on its surface."""
        return -self.contact.radius * self.normal


def touches(model: Model, q: Expr, placed: tuple[LinkFrames, ...]) -> list[Touch]:
    """Compute the points, penetrations and normals of all contacts of an arm at coordinates q."""
    touching = []
    points = zip(model.points.contacts, model.points.obstacles, strict=True)
    for contact, (point, on) in zip(model.arm.contacts, points, strict=True):
        attached = attach(model, q, placed, point)
        if on is None:
            distance, normal = distance_from(contact.obstacle, attached.position)
            touching.append(Touch(contact, attached, contact.radius - distance, normal))
            continue
        carrier = attach(model, q, placed, on)
        away = attached.position - carrier.position
        distance, normal = distance_from(contact.obstacle, carrier.rotation.T @ away)
        carrier = carrier.moved(away)
        normal = carrier.rotation @ normal
        touching.append(Touch(contact, attached, contact.radius - distance, normal, carrier))
    return touching


def distance_from(obstacle: Obstacle, point: Expr) -> tuple[Expr, Expr]:
    """Compute a point's distance [m] from an obstacle's surface, and the outward normal (3,).

    The distance of a point inside the obstacle is negative.
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
    """Return a point's signed distance [m] from a box's surface, and the outward normal (3,).

    The point's position ``out`` is in axes of the box, from its centre. The nearest point of the
    surface is on a face, edge or corner if the point is outside, and on a face if it is inside.
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
    """Return three indicators: 1 for the first of three values that is at least ``largest``.

    The indicators of the two other values are 0.
    """
    x = values[0] >= largest
    y = ca.logic_and(ca.logic_not(x), values[1] >= largest)
    return x, y, ca.logic_not(ca.logic_or(x, y))


def _power(depth: Expr, exponent: float) -> Expr:
    """Return the penetration depth to a power, 0 for negative depths."""
    return ca.if_else(depth > 0, ca.fmax(depth, SMALLEST_LENGTH) ** exponent, 0)


@dataclass(frozen=True)
class PointForce:
    """Force of a contact or point spring at a point of an arm, in world axes."""

    link: int  # index of the link that carries the point; -1 is the base
    attached: Attached  # the point
    elastic: Expr  # elastic force along ``direction`` [N]
    direction: Expr  # unit vector of the elastic force, (3,)
    lost: Expr  # force of damping and friction [N], (3,)
    torque: Expr  # torque of friction about the point [N m], (3,)

    @property
    def stored(self) -> Expr:
        """Elastic part of the force [N], (3,)."""
        return self.elastic * self.direction


def point_forces(
    model: Model, q: Expr, v: Expr | None = None, *, friction: bool = True, ends: bool = True
) -> list[PointForce]:
    """Compute the forces of all contacts and point springs; without v, elastic forces only.

    With ``ends`` false, contacts of the arm's tip with the world are omitted.
    """
    if not model.arm.contacts and not model.arm.springs:
        return []
    return [*_contact_forces(model, q, v, friction, ends), *_spring_forces(model, q, v)]


def point_energy(model: Model, q: Expr) -> Expr:
    """Compute the elastic energy [J] of contacts and point springs."""
    if not model.arm.contacts and not model.arm.springs:
        return type(q)(0)
    energy = sum((touch.energy for touch in touches(model, q, frames(model, q))), type(q)(0))
    for line in lines(model, q):
        stretched = line.length - line.spring.length
        energy += line.spring.stiffness * stretched**2 / 2
    return energy


def tip_contacts(model: Model) -> tuple[bool, ...]:
    """Return for each contact whether it is of the arm's tip with an obstacle in the world."""
    pairs = zip(model.points.contacts, model.points.obstacles, strict=True)
    return tuple(point.x == "end" and on is None for point, on in pairs)


def _contact_forces(
    model: Model, q: Expr, v: Expr | None, friction: bool, ends: bool
) -> list[PointForce]:
    forces, none = [], type(q)(3, 1)
    points = zip(model.points.contacts, model.points.obstacles, strict=True)
    for touch, (point, on), is_end in zip(
        touches(model, q, frames(model, q)), points, tip_contacts(model), strict=True
    ):
        if is_end and not ends:
            continue
        lost, torque = none, none
        if v is not None:
            normal, rubbed = touch.forces(v, friction=friction)
            lost = (normal - touch.elastic) * touch.normal + rubbed
            torque = ca.cross(touch.lever, rubbed) if touch.contact.radius else none
        forces.append(
            PointForce(point.link, touch.attached, touch.elastic, touch.normal, lost, torque)
        )
        if on is not None and touch.carrier is not None:
            forces.append(
                PointForce(on.link, touch.carrier, touch.elastic, -touch.normal, -lost, -torque)
            )
    return forces


@dataclass(frozen=True)
class Line:
    """Spring between two points at given coordinates: ends, unit direction (3,) and length [m]."""

    spring: PointSpring
    ends: tuple[Attached, Attached]
    direction: Expr
    length: Expr

    @property
    def tension(self) -> Expr:
        """Elastic force [N] with which the spring pulls its ends together."""
        return self.spring.stiffness * (self.length - self.spring.length)

    def drag(self, v: Expr) -> Expr:
        """Compute the damping force [N] that pulls the spring's ends together at rates v."""
        first, second = (end.velocity(v)[0] for end in self.ends)
        return self.spring.damping * ca.dot(self.direction, second - first)


def lines(model: Model, q: Expr) -> list[Line]:
    """Compute ends, direction and length of all point springs at coordinates q."""
    placed, lines_of_springs = frames(model, q), []
    for spring, (a, b) in zip(model.arm.springs, model.points.springs, strict=True):
        first, second = attach(model, q, placed, a), attach(model, q, placed, b)
        between = second.position - first.position
        length = ca.sqrt(ca.fmax(ca.sumsqr(between), SMALLEST_LENGTH))
        lines_of_springs.append(Line(spring, (first, second), between / length, length))
    return lines_of_springs


def _spring_forces(model: Model, q: Expr, v: Expr | None) -> list[PointForce]:
    forces, none = [], type(q)(3, 1)
    for line, points in zip(lines(model, q), model.points.springs, strict=True):
        lost = none if v is None else line.drag(v) * line.direction
        for sign, point, end in zip((1, -1), points, line.ends, strict=True):
            if point.link > -2:
                direction = sign * line.direction
                forces.append(
                    PointForce(point.link, end, line.tension, direction, sign * lost, none)
                )
    return forces
