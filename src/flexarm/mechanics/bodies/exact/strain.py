"""Elastic energy of an exact beam beyond linear theory: bending in two planes, and with twist.

A section has the bending angles a and b and the twist f; primes are derivatives along the span, and
T and G are functions of `tangents.Entire`. With ``w = a b' - b a'``, the curvatures in axes rotated
by bending are ``k_a = a' + G w b`` and ``k_b = b' - G w a``, and the torsion is ``f' - w T``. The
twist rotates the curvatures into the axes of the section. In plane bending without twist, the
elastic energy of the exact beam equals that of linear theory. A link without twist shapes has no
torsional strain. If sections shear, the axis is inclined to the section normals by the shear angles
``(l_a, l_b)``. These shear angles are rotated into the axes of the section like the curvatures.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import casadi as ca
import numpy as np

from flexarm.links.collocation import Collocation
from flexarm.mechanics.bodies.exact.tangents import Entire
from flexarm.spatial import Array, Expr, constant


@dataclass(frozen=True)
class Measured:
    """Strains of the sections at G nodes, and the section stiffnesses that belong to them."""

    # Angles a, b, f and their derivatives a', b', f' per amplitude, (G, m) each. For shear, the
    # shear angles along y and z, and 0, replace the derivatives.
    rows: tuple[Array, ...]
    stiffness: Array  # section stiffnesses for the three strains in `rows`, (3, G)

    @classmethod
    def of(cls, nodes: Collocation) -> "list[Measured]":
        """Return the strains, of bending and of shear, whose energy differs from linear theory."""
        turn = nodes.bend - nodes.shear_slope if nodes.shears else nodes.bend
        measures = [cls((*turn, nodes.twist, *nodes.curve, nodes.torsion), nodes.stiffness[:3])]
        if nodes.shears:
            none = 0 * nodes.torsion
            shear = np.concatenate([nodes.stiffness[3:], none[:, :1].T])
            measures.append(cls((*turn, nodes.twist, *nodes.shear_slope, none), shear))
        return [measure for measure in measures if measure.used]

    @property
    def used(self) -> tuple[bool, ...]:
        """Whether the amplitudes change each of six angles and strains, in the order of ``rows``.

        The tuple is empty if the energy of these strains is that of linear theory.
        """
        a, b, f, *strained = (bool(np.any(rows)) for rows in self.rows)
        if not ((a and b) or ((a or b) and f and not self.alike)) or not any(strained):
            return ()
        return (a, b, f, *strained)

    @property
    def alike(self) -> bool:
        """Whether each section has the same stiffness along y as along z."""
        return bool(np.all(self.stiffness[0] == self.stiffness[1]))


def strains(nodes: Collocation) -> bool:
    """Return whether the elastic energy differs from the quadratic form of linear theory.

    The energy differs if the link bends in two planes, or bends and twists with unequal
    stiffnesses.
    """
    return bool(Measured.of(nodes))


def strain_energy(nodes: Collocation, d: Expr) -> Expr:
    """Compute the elastic energy [J] beyond linear theory at amplitudes d, (m,)."""
    total = type(d)(0)
    for measured in Measured.of(nodes):
        for g in range(nodes.count):
            measures = [constant(rows[g][None, :]) @ d for rows in measured.rows]
            values = Entire.of(measures[0] * measures[0] + measures[1] * measures[1]).values
            node = _node(measured.used, measured.alike)[0]
            total += node(*measures, *measured.stiffness[:, g].tolist(), *values)
    return total


def strain_effort(nodes: Collocation, d: Expr, functions: Sequence[Entire[Expr]] = ()) -> Expr:
    """Compute the gradient (m,) of `strain_energy` in the m amplitudes d.

    ``functions`` are the trigonometric functions at the nodes, if already computed.
    """
    effort = type(d)(d.shape[0], 1)
    for measured in Measured.of(nodes):
        measures = [constant(row) @ d for row in measured.rows]
        slopes: list[list[Expr]] = [[] for _ in measured.rows]
        for g in range(nodes.count):
            at = [measure[g] for measure in measures]
            f = functions[g] if functions else Entire.of(at[0] * at[0] + at[1] * at[1])
            node = _node(measured.used, measured.alike)[1]
            efforts = node(*at, *measured.stiffness[:, g].tolist(), *f.values)
            for column, value in zip(slopes, efforts, strict=True):
                column.append(value)
        for row, column in zip(measured.rows, slopes, strict=True):
            effort += constant(row.T) @ ca.vertcat(*column)
    return effort


@cache
def _node(used: tuple[bool, ...], alike: bool) -> tuple[ca.Function, ca.Function]:
    """Return two CasADi functions: the strain energy of a node, and its gradient (6,).

    The gradient is with respect to the three angles and the three strains of `Measured.rows`.
    Inputs of both functions are these six values, the stiffnesses, and the functions in
    `Entire.values`.
    """
    symbols = [ca.SX.sym(name) for name in ("a", "b", "f", "da", "db", "df")]
    a, b, f, da, db, df = (s if on else ca.SX(1, 1) for s, on in zip(symbols, used, strict=True))
    EIz, EIy, GJ = (ca.SX.sym(name) for name in ("EIz", "EIy", "GJ"))
    functions = [ca.SX.sym(name) for name in ("G", "T", "S", "G1", "T1", "S1")]
    G, T, S = functions[:3]
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
    slopes = ca.gradient(extra, ca.vertcat(*symbols))
    by_functions = ca.gradient(extra, ca.vertcat(*functions[:3]))
    # derivative with respect to (a^2 + b^2)/2
    steep = ca.dot(by_functions, ca.vertcat(*functions[3:]))
    efforts = [slopes[0] + a * steep, slopes[1] + b * steep, *(slopes[k] for k in range(2, 6))]
    inputs = [*symbols, EIz, EIy, GJ, *functions]
    return (
        ca.Function("energy", inputs, [extra], {"always_inline": True}),
        ca.Function("effort", inputs, efforts, {"always_inline": True}),
    )
