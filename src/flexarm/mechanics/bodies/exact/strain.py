"""What bending out of a plane, and bending of a twisted section, add to the elastic energy.

With ``w = a b' - b a'`` the curvatures of the section that bending turns are
``k_a = a' + G w b`` and ``k_b = b' - G w a``, its torsion ``f' - w T``; the twist turns the
curvatures into the axes of the section.  In a plane the energy is that of the linear theory.  A
link without twist shapes gives way in torsion.
"""

from collections.abc import Sequence
from functools import cache

import casadi as ca
import numpy as np

from flexarm.links.base import Array
from flexarm.links.collocation import Collocation
from flexarm.mechanics.bodies.exact.tangents import Entire
from flexarm.spatial import Expr, constant


def strains(nodes: Collocation) -> bool:
    """Whether the energy is more than the linear theory's: two planes, or a plane and twist."""
    return bool(_used(nodes))


def strain_energy(nodes: Collocation, d: Expr) -> Expr:
    """Sum the energy beyond the linear theory's [J]."""
    used, alike = _used(nodes), _alike(nodes)
    total = type(d)(0)
    for g in range(nodes.count):
        measures = [constant(rows[g][None, :]) @ d for rows in _rows(nodes)]
        values = Entire.of(measures[0] * measures[0] + measures[1] * measures[1]).values
        total += _node(used, alike)[0](*measures, *nodes.stiffness[:, g].tolist(), *values)
    return total


def strain_effort(nodes: Collocation, d: Expr, known: Sequence[Entire] = ()) -> Expr:
    """Differentiate `strain_energy` by the amplitudes, (m,); functions at nodes if known."""
    used, alike, rows = _used(nodes), _alike(nodes), _rows(nodes)
    measures = [constant(row) @ d for row in rows]
    slopes: list[list[Expr]] = [[] for _ in rows]
    for g in range(nodes.count):
        at = [measure[g] for measure in measures]
        f = known[g] if known else Entire.of(at[0] * at[0] + at[1] * at[1])
        found = _node(used, alike)[1](*at, *nodes.stiffness[:, g].tolist(), *f.values)
        for column, value in zip(slopes, found, strict=True):
            column.append(value)
    effort = type(d)(d.shape[0], 1)
    for row, column in zip(rows, slopes, strict=True):
        effort += constant(row.T) @ ca.vertcat(*column)
    return effort


def _rows(nodes: Collocation) -> tuple[Array, ...]:
    """List a, b, f, a', b', f' of the nodes, (G, m) each."""
    return (*nodes.bend, nodes.twist, *nodes.curve, nodes.torsion)


def _used(nodes: Collocation) -> tuple[bool, ...]:
    """Tell which of the six measures any shape moves; nothing if they do not interact."""
    both, one = all(nodes.bends), any(nodes.bends)
    if not (both or (one and nodes.twists and not _alike(nodes))):
        return ()
    if not any(np.any(rows) for rows in (*nodes.curve, nodes.torsion)):
        return ()
    return tuple(bool(np.any(rows)) for rows in _rows(nodes))


def _alike(nodes: Collocation) -> bool:
    """Whether sections are as stiff along y as along z."""
    return bool(np.all(nodes.stiffness[0] == nodes.stiffness[1]))


@cache
def _node(used: tuple[bool, ...], alike: bool) -> tuple[ca.Function, ca.Function]:
    """Trace the energy of a node, and its derivatives, by the six measures.

    Functions of ``a^2 + b^2`` are inputs, with their derivatives.
    """
    symbols = [ca.SX.sym(name) for name in ("a", "b", "f", "da", "db", "df")]
    a, b, f, da, db, df = (s if on else ca.SX(1, 1) for s, on in zip(symbols, used, strict=True))
    EIz, EIy, GJ = (ca.SX.sym(name) for name in ("EIz", "EIy", "GJ"))
    known = [ca.SX.sym(name) for name in ("G", "T", "S", "G1", "T1", "S1")]
    G, T, S = known[:3]
    k_a, k_b, extra = da, db, ca.SX(0)
    if used[0] and used[1]:
        w = a * db - b * da
        turn = G * w
        if alike:
            extra -= EIz * turn * w * (1 + S) / 2
        else:
            k_a, k_b = da + turn * b, db - turn * a
            extra += (EIz * (k_a + da) * turn * b - EIy * (k_b + db) * turn * a) / 2
        if used[2]:
            torsion = w * T
            extra += GJ * torsion * (torsion - 2 * df) / 2
    if used[2] and not alike:
        sine, cosine = ca.sin(f), ca.cos(f)
        # EIz (k_z^2 - k_a^2) + EIy (k_y^2 - k_b^2) with the curvatures turned by the twist
        extra += (EIz - EIy) * sine * (sine * (k_b * k_b - k_a * k_a) + 2 * cosine * k_a * k_b) / 2
    slopes = [
        ca.gradient(extra, s) if on else ca.SX(1, 1) for s, on in zip(symbols, used, strict=True)
    ]
    if used[0] and used[1]:
        steep = sum(ca.gradient(extra, s) * r for s, r in zip(known[:3], known[3:], strict=True))
        slopes[0] += a * steep
        slopes[1] += b * steep
    inputs = [*symbols, EIz, EIy, GJ, *known]
    return (
        ca.Function("energy", inputs, [extra], {"always_inline": True}),
        ca.Function("effort", inputs, slopes, {"always_inline": True}),
    )
