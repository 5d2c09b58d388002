"""State-dependent forces at points of an arm: contacts, and springs between two points."""

from dataclasses import dataclass

import casadi as ca

from flexarm.arm import PointSpring
from flexarm.mechanics.attached import Attached, attach
from flexarm.mechanics.constants import SMALLEST_LENGTH
from flexarm.mechanics.contacts import touches
from flexarm.mechanics.kinematics import frames
from flexarm.model import Model
from flexarm.spatial import Expr


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
        """Elastic force [N], (3,)."""
        return self.elastic * self.direction


def point_forces(
    model: Model, q: Expr, v: Expr | None = None, *, friction: bool = True, ends: bool = True
) -> list[PointForce]:
    """Compute the forces of contacts and point springs; elastic forces only, if v is None.

    With ``ends`` false, contacts of the arm's tip are omitted.
    """
    if not model.arm.contacts and not model.arm.springs:
        return []
    contacts = zip(_contact_forces(model, q, v, friction), model.points.contacts, strict=True)
    touched = [force for force, point in contacts if ends or point.x != "end"]
    return [*touched, *_spring_forces(model, q, v)]


def point_energy(model: Model, q: Expr) -> Expr:
    """Compute the elastic energy [J] of contacts and point springs."""
    if not model.arm.contacts and not model.arm.springs:
        return type(q)(0)
    energy = sum((touch.energy for touch in touches(model, q, frames(model, q))), type(q)(0))
    for line in lines(model, q):
        stretched = line.length - line.spring.length
        energy += line.spring.stiffness * stretched**2 / 2
    return energy


def _contact_forces(model: Model, q: Expr, v: Expr | None, friction: bool) -> list[PointForce]:
    forces, none = [], type(q)(3, 1)
    for touch, point in zip(
        touches(model, q, frames(model, q)), model.points.contacts, strict=True
    ):
        lost, torque = none, none
        if v is not None:
            normal, rubbed = touch.forces(v, friction=friction)
            lost = (normal - touch.elastic) * touch.normal + rubbed
            torque = ca.cross(touch.lever, rubbed) if touch.contact.radius else none
        forces.append(
            PointForce(point.link, touch.attached, touch.elastic, touch.normal, lost, torque)
        )
    return forces


@dataclass(frozen=True)
class Line:
    """Spring between two points at a given state: its ends, direction (3,) and length [m]."""

    spring: PointSpring
    ends: tuple[Attached, Attached]
    direction: Expr
    length: Expr

    @property
    def tension(self) -> Expr:
        """Elastic force that pulls the ends together [N]."""
        return self.spring.stiffness * (self.length - self.spring.length)

    def drag(self, v: Expr) -> Expr:
        """Compute the damping force [N] that pulls the ends together at rates v."""
        first, second = (end.velocity(v)[0] for end in self.ends)
        return self.spring.damping * ca.dot(self.direction, second - first)


def lines(model: Model, q: Expr) -> list[Line]:
    """Compute the ends, direction and length of all point springs at coordinates q."""
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
