"""What do the terms of a sliding link cost that Theodore & Ghosal (1995) leave out?

Counts the inertia matrix by `composite` with terms dropped: the counts are of arms that do not
exist, for comparison with published counts only.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import casadi as ca

from flexarm.engine.lower import lower
from flexarm.engine.stream import counts
from flexarm.formulations.composite import Composite
from flexarm.formulations.quantities import trace
from flexarm.io.sample import sample
from flexarm.links.growing.fields import SlidingMotion
from flexarm.mechanics.bodies import growing_terms as sliding
from flexarm.mechanics.bodies.terms import Terms
from flexarm.mechanics.sections import own_values
from flexarm.model import LinkModel, build
from flexarm.spatial import Expr

HUB, MATERIAL, LENGTH, STRAIGHT = (
    "part in the hub", "motion along the shapes", "length in the integrals", "deflections in M"
)  # fmt: skip
DROPPED = (
    (),
    (HUB,),
    (MATERIAL,),
    (LENGTH,),
    (STRAIGHT,),
    (MATERIAL, LENGTH),
    (HUB, MATERIAL, LENGTH),
    (HUB, MATERIAL, STRAIGHT),
)


def count_without(name: str, dropped: tuple[str, ...]) -> tuple[int, int]:
    """Count the inertia matrix of a sample by `composite`, some terms of a sliding link dropped."""
    model = build(sample(name), stiffening=False)
    with _dropped(dropped):
        function = trace(Composite(model), "mass_matrix")
    symbols = function.sx_in()
    (mass,) = function.call(symbols, True, False)
    if STRAIGHT in dropped:
        bent = [k for k, each in enumerate(model.names) if "." in each]
        mass = ca.sparsify(ca.substitute(mass, symbols[0][bent], ca.SX.zeros(len(bent), 1)))
    found = counts(lower(ca.Function("M", symbols, [ca.triu(mass)])))
    return found.multiplications + found.divisions, found.additions


@contextmanager
def _dropped(names: tuple[str, ...]) -> Iterator[None]:
    replaced: dict[str, tuple[Any, str, Any]] = {
        HUB: (sliding, "_inside", _nothing_inside),
        MATERIAL: (SlidingMotion, "_direction", _at_fixed_place),
        LENGTH: (sliding, "own_values", _middle_length),
    }
    with ExitStack() as stack:
        for name in replaced.keys() & set(names):
            stack.enter_context(patch.object(*replaced[name]))
        yield


def _nothing_inside(shapes: Any, whole: float, own: Expr, rates: Expr, omega: Expr) -> Terms:
    k = own.shape[0]
    none = ca.SX(3, k)
    return Terms(0.0, ca.SX(3, 1), ca.SX(3, 3), none, none, ca.SX(k, k), ca.SX(3, 1), ca.SX(3, 1),
                 ca.SX(k, 1))  # fmt: skip


_direction = SlidingMotion._direction


def _at_fixed_place(self: SlidingMotion, f: Any) -> tuple[Expr, list[Expr], Expr]:
    value, columns, bias = _direction(self, f)
    first = ca.vertcat(f.slope, 0 * f.value, 0 * f.value)
    return value, [ca.sparsify(first), *columns[1:]], bias


def _middle_length(part: LinkModel, q: Expr) -> Expr:
    own = ca.SX(own_values(part, q))
    own[0] = part.length / 2
    return own
