"""Quantities that a run looks out for: what happens when one crosses a value."""

from dataclasses import dataclass

import casadi as ca

from flexarm.links.base import Array
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
        ``NAME`` of a coordinate, ``NAME.speed``, ``tip.x``, ``tip.speed``, and for brakes
        ``NAME.effort``, what holds a coordinate that stands still.
    """

    quantity: str

    def trace(self, seen: Seen) -> Expr:
        """Trace the quantity."""
        model = seen.model
        if self.quantity == "tip.speed":
            return ca.norm_2(end_jacobian(model, seen.q)[0] @ seen.v)
        name, _, what = self.quantity.rpartition(".")
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
    return (*places, *(f"{name}.speed" for name in places), *tip, "tip.speed")


def unit_of(model: Model, quantity: str) -> str:
    """Give the unit of a quantity."""
    if quantity.startswith("tip."):
        return "m/s" if quantity == "tip.speed" else "m"
    name, _, what = quantity.rpartition(".")
    if what == "speed":
        return f"{model.units[model.names.index(name)]}/s"
    return model.units[model.names.index(quantity)]


def beyond(values: Array, low: Array, high: Array) -> int:
    """Find the first quantity that is out of its bounds, or -1."""
    for k, value in enumerate(values):
        if value < low[k] or value > high[k]:
            return k
    return -1
