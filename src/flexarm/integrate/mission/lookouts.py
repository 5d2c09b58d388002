"""Quantities that a run looks out for: what happens when one crosses a value."""

from dataclasses import dataclass

import casadi as ca

from flexarm.mechanics.kinematics import end_frame, end_jacobian
from flexarm.model import Model
from flexarm.spatial import Expr

XYZ = ("x", "y", "z")


@dataclass(frozen=True)
class Seen:
    """What a quantity may be made of: the arm, time, coordinates, rates, efforts that hold."""

    model: Model
    t: Expr
    q: Expr
    v: Expr
    effort: Expr


@dataclass(frozen=True)
class Lookout:
    """A quantity by its name: it is looked for below a value, above one, or both.

    Attributes
    ----------
    quantity
        ``NAME`` of a coordinate, ``NAME.speed``, ``tip.x``, ``tip.speed``, ``distance.BODY`` of the
        tip from the fixture of a free body, and for brakes ``NAME.effort``, what holds a coordinate
        that stands still.
    path
        Of a body's fixture: c0, c1, c2 of its place ``c0 + c1 t + c2 t^2``.
    """

    quantity: str
    path: tuple[tuple[float, ...], ...] = ()

    @property
    def squared(self) -> bool:
        """Whether it is looked out for by its square, which is smooth where it is 0."""
        return self.quantity == "tip.speed" or self.quantity.startswith("distance.")

    @property
    def smooth(self) -> bool:
        """Whether its rate follows from accelerations."""
        return not self.quantity.endswith(".effort")

    def trace(self, seen: Seen) -> Expr:
        """Trace the quantity, or its square."""
        model = seen.model
        if self.quantity == "tip.speed":
            return ca.sumsqr(end_jacobian(model, seen.q)[0] @ seen.v)
        if self.path:
            start, rate, bend = (ca.DM(each) for each in self.path)
            place = start + seen.t * (rate + seen.t * bend)
            return ca.sumsqr(end_frame(model, seen.q)[1] - place)
        name, _, what = self.quantity.rpartition(".")
        if name == "distance":
            return ca.SX(0)
        if name == "tip" and what in XYZ:
            return end_frame(model, seen.q)[1][XYZ.index(what)]
        if what == "effort":
            return seen.effort[model.names.index(name)]
        if what == "speed":
            return seen.v[model.names.index(name)]
        return seen.q[model.names.index(self.quantity)]


def quantities(model: Model) -> tuple[str, ...]:
    """List the quantities that events may look out for."""
    turned = {model.names[k + i] for k in model.attitudes for i in range(3)}  # from an anchor
    places = [name for name in model.names if name not in turned]
    tip = [f"tip.{axis}" for axis in XYZ]
    tip += [f"distance.{body.name}" for body in model.arm.bodies]
    return (*places, *(f"{name}.speed" for name in places), *tip, "tip.speed")


def unit_of(model: Model, quantity: str) -> str:
    """Give the unit of a quantity."""
    if quantity.startswith(("tip.", "distance.")):
        return "m/s" if quantity == "tip.speed" else "m"
    name, _, what = quantity.rpartition(".")
    if what == "speed":
        return f"{model.units[model.names.index(name)]}/s"
    return model.units[model.names.index(quantity)]
