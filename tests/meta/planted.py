"""Wrong things, entered into the registries: a plugin of pytest for runs that must fail.

Each is wrong in one way only; what is right of it, it has from a sound one.
"""

from dataclasses import replace
from typing import ClassVar, cast

from flexarm.arm.shapes import ShapeChoice
from flexarm.formulations import FORMULATIONS
from flexarm.formulations.kinematic_influence import KinematicInfluence
from flexarm.integrate.methods import METHODS
from flexarm.integrate.mission.transitions import EFFECTS, Effect, Transition
from flexarm.integrate.tolerance import RULES
from flexarm.links import DISCRETISATIONS
from flexarm.links.base import Counts, Discretisation, Ends, Shapes, Span
from flexarm.links.families.spans import PolynomialShapes
from flexarm.mechanics.bodies import BODIES
from flexarm.mechanics.bodies.reduced import Reduced
from flexarm.mechanics.sections import Terms
from flexarm.model.joints import JOINTS
from flexarm.model.joints.prismatic import PrismaticKinematics
from flexarm.spatial import Expr


class Heavy(KinematicInfluence):
    """A mass matrix that is 1 % too large."""

    name: ClassVar[str] = "planted-heavy"

    def mass_expression(self, q: Expr) -> Expr:
        return 1.01 * super().mass_expression(q)


class Swirling(KinematicInfluence):
    """Coriolis forces twice too large."""

    name: ClassVar[str] = "planted-swirling"

    def inertial_expression(self, q: Expr, v: Expr, a: Expr | None, *, gravity: bool) -> Expr:
        return super().inertial_expression(q, 2**0.5 * v, a, gravity=gravity)


class Weighty(KinematicInfluence):
    """Gravity three times too large."""

    name: ClassVar[str] = "planted-weighty"

    def inertial_expression(self, q: Expr, v: Expr, a: Expr | None, *, gravity: bool) -> Expr:
        right = super().inertial_expression(q, v, a, gravity=gravity)
        if not gravity:
            return right
        weight = super().inertial_expression(q, 0 * v, None, gravity=True)
        return right + 2 * weight


class Stiff(PolynomialShapes):
    """Polynomials whose stiffness is 5 % too large, in place of the sound ones."""

    def shapes(self, choice: ShapeChoice, span: Span, ends: Ends, counts: Counts) -> Shapes:
        right = super().shapes(choice, span, ends, counts)
        return replace(right, stiffness=1.05 * right.stiffness)


class Hasty(PrismaticKinematics):
    """A joint whose column is 1 % longer than the way that it makes, in place of the sound one."""

    def columns(self, q: Expr) -> Expr:
        return 1.01 * super().columns(q)


class Sluggish(Reduced):  # type: ignore[misc]  # a final class
    """A body whose amplitudes move 1 % too much mass, in place of the sound one."""

    def terms(self, q: Expr, v: Expr, omega: Expr) -> Terms:
        right = super().terms(q, v, omega)
        return replace(right, modal=1.01 * right.modal)


def capture(transition: Transition, event: int, name: str) -> None:
    """Capture a body with rates that are 1 % too large after it, in place of the sound effect."""
    transition.capture(event, name)
    transition.v = 1.01 * transition.v


for wrong in (Heavy, Swirling, Weighty):
    FORMULATIONS[wrong.name] = wrong
JOINTS[Hasty.name] = Hasty
BODIES["reduced"] = Sluggish
cast(dict[str, Effect], EFFECTS)["capture"] = capture
cast(dict[str, Discretisation], DISCRETISATIONS)[Stiff.name] = Stiff()
METHODS["planted-trusting"] = replace(
    METHODS["etd4"],
    name="planted-trusting",
    rule=replace(RULES["etd4"], share=100 * RULES["etd4"].share),
)
METHODS["planted-order"] = replace(METHODS["rk4"], name="planted-order", order=5)
