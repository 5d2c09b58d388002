"""A wrench of the state in an arm's equations."""

from dataclasses import dataclass

import casadi as ca

from flexarm.spatial import Expr

UNITS = tuple(
    {name: tuple(float(i == k) for i in range(3))} for name in ("force", "torque") for k in range(3)
)


@dataclass(frozen=True)
class Acting:
    """A wrench of the state in an arm's equations: its law, and where its factors are in w."""

    law: ca.Function
    first: int

    def __repr__(self) -> str:
        """Tell all that determines its expressions."""
        return f"wrench {self.first} {self.law.serialize()}"

    def put(self, w: Expr, t: Expr, q: Expr, v: Expr) -> Expr:
        """Trace the factors of all wrenches with its own."""
        after = self.first + len(UNITS)
        return ca.vertcat(w[: self.first], ca.densify(ca.vec(self.law(t, q, v))), w[after:])
