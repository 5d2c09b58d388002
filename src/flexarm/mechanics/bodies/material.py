"""The material of a body: points that move as a field of known functions, with their masses."""

from dataclasses import dataclass

import casadi as ca

from flexarm.links.fields import Basis, Field, MovingField
from flexarm.mechanics.bodies.terms import Terms, axial
from flexarm.spatial import Expr


@dataclass(frozen=True)
class MaterialPoints:
    """Points of a body in its root frame L, with their masses; k own coordinates."""

    moving: MovingField  # where they are, their velocity per rate of own coordinate, their bias
    basis: Basis  # functions of the place along the body, and their integrals over the mass
    scale: Expr | float  # factor of the masses of the basis

    @property
    def mass(self) -> Expr:
        """Mass of the points [kg]."""
        return self.scale * self.basis.mass

    def integral(self, field: Field) -> Expr:
        """Integrate a field over the mass, (3,)."""
        return self.scale * self.basis.integral(field)

    def moment(self, f: Field, g: Field) -> Expr:
        """Integrate ``f g^T`` over the mass, (3, 3)."""
        return self.scale * self.basis.moment(f, g)

    def terms(self, rates: Expr, omega: Expr) -> Terms:
        """Compute inertia and velocity-dependent forces of the points."""
        moving, basis, mass = self.moving, self.basis, self.scale
        place, bias, new = moving.value, moving.bias, type(omega)
        speed = moving.speed(rates)
        square = ca.skew(omega) @ ca.skew(omega)
        here, flown, pushed = (basis.weighed(each) for each in (place, speed, bias))
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
