"""The points of a span of constant length as fields of known functions, with their integrals."""

import casadi as ca

from flexarm.links.fields import Basis, Field, MovingField
from flexarm.links.integrals import Points
from flexarm.mechanics.bodies.exact.material import exact_material
from flexarm.model import Flexible
from flexarm.spatial import Expr


def material(e: Flexible, d: Expr, rates: Expr) -> tuple[MovingField, Basis]:
    """See the points of a span at amplitudes d, (m,), and their rates."""
    if e.nodes is not None:
        return exact_material(e.nodes, e.integrals.mass, d, rates)
    return _series(e.points, d, rates)


def _series(points: Points, d: Expr, rates: Expr) -> tuple[MovingField, Basis]:
    """See points ``x e_x + Phi d + 1/2 d^T X d``."""
    m, used = d.shape[0], points.used
    value, bias, columns = [], [], [list[Expr]() for _ in range(m)]
    for n in range(3):
        moving, pairs = used.moving[n], used.pairs[n]
        one, none = type(d)(1), type(d)(1, 1)
        start, still = ([one], [none]) if n == 0 else ([], [])
        value.append(ca.vertcat(*start, *[d[k] for k in moving], pairs.products(d, d) / 2))
        flat = type(d)(len(moving), 1)
        bias.append(ca.vertcat(*still, flat, pairs.products(rates, rates)))
        for j, column in enumerate(columns):
            unit = _unit(type(d), m, j)
            picked = [unit[k] for k in moving]
            column.append(ca.vertcat(*still, *picked, pairs.products(d, unit)))
    return MovingField(Field(*value), tuple(Field(*c) for c in columns), Field(*bias)), used.basis


def _unit(new: type[Expr], size: int, k: int) -> Expr:
    """Column of zeros with a one at k, zeros structural."""
    column = new(size, 1)
    column[k] = 1
    return column
