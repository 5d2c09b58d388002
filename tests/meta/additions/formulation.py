"""A formulation that is put into a copy of the package: Lagrange's equations by differentiation."""

import casadi as ca

from flexarm.formulations.base import Formulation
from flexarm.formulations.composite import Composite
from flexarm.mechanics.loads import potential_energy
from flexarm.spatial import Expr


class Differentiated(Formulation):
    """Lagrange's equations from the mass matrix and the potential energy."""

    name = "differentiated"
    citation = "Lagrange 1788"
    assumptions = "none beyond the model's own"

    def mass_expression(self, q: Expr) -> Expr:
        """Trace the mass matrix, (n, n)."""
        return Composite(self.model).mass_expression(q)

    def inertial_expression(self, q: Expr, v: Expr, a: Expr | None, *, gravity: bool) -> Expr:
        """Trace what inertia and gravity need at accelerations a (0 if None), (n,)."""
        momentum = self.mass_expression(q) @ v
        force = ca.jtimes(momentum, q, v) - ca.gradient(ca.dot(v, momentum), q) / 2
        if a is not None:
            force = force + self.mass_expression(q) @ a
        if gravity:
            force = force + ca.gradient(potential_energy(self.model, q)[1], q)
        return force
