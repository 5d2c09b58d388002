"""Mass points of a link: continuous mass distributions, or points of finite elements."""

from dataclasses import dataclass

import casadi as ca
import numpy as np

from flexarm.links.fields import Basis, Field, MovingField
from flexarm.mechanics.sections import Terms, axial
from flexarm.spatial import Expr, Scalar

# Inertia of a rod about its centre, divided by mass times length^2.
ROD = np.array([0.0, 1.0, 1.0]) / 12
# Numbers of Gauss points that integrate the inertia of cubic shapes exactly, without and with
# stiffening.
CUBIC, STIFFENED = 4, 6


@dataclass(frozen=True)
class ElementSection:
    """Section of a finite element, as a point mass with inertia, position and section angles.

    Jacobians of position and angles have one column per link coordinate; components are in link
    axes.
    """

    mass: Scalar  # mass of the point [kg]
    # Rotary inertia about the section axes [kg m^2], (3,): that of the whole element if the element
    # has only this point.
    inertia: Expr
    # place, columns: position (3,), and velocity per rate of link coordinate (3, k).
    place: Expr
    columns: Expr
    # angle, angle_columns: first-order angles of the section (3,), and their rates per rate of link
    # coordinate (3, k).
    angle: Expr
    angle_columns: Expr


@dataclass(frozen=True)
class MaterialPoints:
    """A link's mass distribution with the positions of its points, in the root frame L."""

    moving: MovingField  # positions, Jacobian with respect to link coordinates, acceleration bias
    basis: Basis  # functions of position along the body, with integrals over the mass
    scale: Scalar  # factor of the masses of the basis

    @property
    def mass(self) -> Scalar:
        """Total mass of the material points [kg]."""
        return self.scale * self.basis.mass

    def integral(self, field: Field) -> Expr:
        """Compute the integral (3,) of a vector field over the mass."""
        return self.scale * self.basis.integral(field)

    def moment(self, f: Field, g: Field) -> Expr:
        """Compute the integral of ``f g^T`` over the mass, (3, 3), for two vector fields."""
        return self.scale * self.basis.moment(f, g)

    def terms(self, rates: Expr, omega: Expr) -> Terms:
        """Compute the inertia terms of the mass points: mass matrix and velocity-dependent forces.

        ``rates`` are the rates of the k link coordinates, ``omega`` is the angular velocity of L,
        (3,).
        """
        moving, basis, mass = self.moving, self.basis, self.scale
        place, bias, new = moving.value, moving.bias, type(omega)
        speed = moving.speed(rates)
        square = ca.skew(omega) @ ca.skew(omega)
        here, flown, pushed = (basis.weighed(field) for field in (place, speed, bias))
        second = mass * here.moment(place)
        inertia = ca.triu2symm(ca.triu(ca.trace(second) * new.eye(3) - second))
        moments = [mass * here.moment(c) for c in moving.columns]
        flow = mass * here.moment(speed)
        first = mass * basis.integral(place)
        force = square @ first + 2 * ca.cross(omega, mass * basis.integral(speed))
        force = force + mass * basis.integral(bias)
        torque = ca.cross(omega, inertia @ omega) + axial(mass * here.moment(bias))
        torque = torque + 2 * (ca.trace(flow) * omega - flow.T @ omega)
        effort, modal = [], new(len(moments), len(moments))
        for c, moment in zip(moving.columns, moments, strict=True):
            turned = 2 * ca.dot(omega, axial(mass * flown.moment(c)))
            effort.append(ca.trace(square @ moment) + turned + mass * pushed.product(c))
        for i, a in enumerate(moving.columns):
            own = basis.weighed(a)
            for j, b in enumerate(moving.columns[: i + 1]):
                modal[i, j] = modal[j, i] = mass * own.product(b)
        angular = ca.horzcat(*[axial(m) for m in moments])
        linear = ca.horzcat(*[mass * basis.integral(c) for c in moving.columns])
        efforts = ca.vertcat(*effort)
        return Terms(self.mass, first, inertia, angular, linear, modal, torque, force, efforts)
