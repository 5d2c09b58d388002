"""High-order finite elements (panels) along a span, with strains as unknowns.

The strain (curvature of a beam, first derivative of a rod) is a Legendre series on each panel and
may jump between panels. Displacements are integrals of the strain from the root, so that
displacements (and slopes of a beam) are continuous, and the stiffness matrix couples only strains
of the same panel. Strains scaled to unit stiffness are coordinates z with the strain energy ``1/2
z^T z``, so that no ill-conditioned stiffness matrix is needed.
"""

import itertools
import math

import numpy as np
from numpy.polynomial import legendre

from flexarm.constants import ROUNDING
from flexarm.links.base import Span, SpanCurves, gauss_points, integrate_strain, panel_points
from flexarm.links.basis import BeamDirection
from flexarm.links.constants import FEW_PANELS, PANEL_RATIO
from flexarm.spatial import Array


def mesh_for(span: Span, motion: BeamDirection, waves: int, *, refine: float = 1.0) -> "PanelMesh":
    """Build a mesh on which the modes of lowest frequency converge to rounding.

    Parameters
    ----------
    span, motion
        The span and the direction in which it deforms.
    waves
        Number of half waves of the shortest mode to resolve; 0 for static shapes.
    refine
        Factor on the number of Legendre polynomials per panel.

    Notes
    -----
    A panel lies between two stations, and the stiffness changes at most threefold along it. The
    strain is singular at the point where the linearly extrapolated stiffness reaches zero. A
    threefold change keeps this point far from the panel, so that the Legendre series converges
    fast. Oscillations cos(a t) on -1 <= t <= 1 have Legendre coefficients below ``a^k / (2k +
    1)!!``.
    """
    edges = panel_edges(span, motion)
    left, half = edges[:-1], np.diff(edges) / 2
    middle = left + half
    stiffness, start_stiffness = span.at(motion.stiffness, middle), span.at(motion.stiffness, left)
    inertia = np.maximum(span.at(motion.inertia, middle), span.at(motion.inertia, left))
    rate = (inertia / np.minimum(start_stiffness, 2 * stiffness - start_stiffness)) ** (
        0.5 / motion.order
    )
    phase = float(np.sum(2 * half * rate))
    oscillation = waves * math.pi / phase * float(np.max(half * rate)) if phase > 0 else 0.0
    size, term = 1, 1.0
    while term > ROUNDING:
        term *= oscillation / (2 * size + 1)
        size += 1
    variation = float(np.max(np.abs(1 - start_stiffness / stiffness)))
    if variation > 0:
        # By Bernstein's theorem, a pole at 1/spread makes coefficients fall by this factor per
        # degree.
        decay = 1 / variation + math.sqrt(1 / variation**2 - 1)
        size = max(size, 1 + math.ceil(-math.log(ROUNDING) / math.log(decay)))
    size = max(size + 1, math.ceil(2 * waves / len(half)), 3)
    return PanelMesh(span, motion, edges, math.ceil(refine * size))


def panel_edges(span: Span, motion: BeamDirection) -> Array:
    """Return panel edges [m]: the stations of a span, and divisions between stations.

    Divisions are added where the stiffness changes more than threefold or a panel is too long.
    """
    stations = span.edges
    stations = stations[np.concatenate(([True], np.diff(stations) > 1e-12 * span.length))]
    stations[-1] = span.length
    panels = len(stations) - 1
    longest = span.length if panels <= FEW_PANELS else span.length * FEW_PANELS / panels
    edges = [0.0]
    for left, right in itertools.pairwise(stations):
        start, middle = span.at(motion.stiffness, np.array([left, (left + right) / 2]))
        ratio = 2 * middle / start - 1
        pieces = max(1, math.ceil(abs(math.log(ratio)) / math.log(PANEL_RATIO)))
        fractions = np.arange(1, pieces + 1) / pieces
        if pieces > 1:
            fractions = (ratio**fractions - 1) / (ratio - 1)
        for edge in left + (right - left) * fractions:
            pieces_of_panel = math.ceil((edge - edges[-1]) / longest * (1 - 1e-9))
            edges.extend(np.linspace(edges[-1], edge, pieces_of_panel + 1)[1:])
        edges[-1] = float(right)
    return np.array(edges)


def _before(values: Array) -> Array:
    """Return, for each panel, the sum of the values on all preceding panels."""
    return np.asarray(np.cumsum(values, axis=0) - values)


def _integrated_polynomials(nodes: Array, size: int, order: int) -> list[Array]:
    """Return Legendre polynomials at g nodes, integrated 0 to ``order`` times, (g, size) each."""
    table = np.asarray(legendre.legvander(nodes, size + order - 1), float)
    tables = [table[:, :size]]
    for _ in range(order):
        divisors = np.arange(3.0, 2 * table.shape[1] - 2, 2)
        integrals = (table[:, 2:] - table[:, :-2]) / divisors
        table = np.concatenate((table[:, :1] + table[:, 1:2], integrals), axis=1)
        tables.append(table[:, :size])
    return tables


def _unit_strains(half: Array, middle: Array, start: Array, size: int) -> Array:
    """Return q strains of unit stiffness on each panel, as Legendre coefficients, (p, q, q).

    Panels have half lengths [m], and stiffnesses in the middle and at the start, (p, 1) each.
    """
    # Computed in closed form, since stiffness is linear on a panel. Quadrature would leave rounding
    # errors in zero entries, which differentiation of the modes would amplify.
    k = np.arange(size)
    off_diagonal = 2 * k[1:] / ((2 * k[1:] - 1) * (2 * k[1:] + 1))
    constant, linear = (
        np.diag(2 / (2 * k + 1)),
        np.diag(off_diagonal, 1) + np.diag(off_diagonal, -1),
    )
    constant_part, linear_part = half * middle, half * (middle - start)
    matrix = constant_part[..., None] * constant + linear_part[..., None] * linear
    inverse = np.linalg.inv(np.linalg.cholesky(matrix))
    return np.ascontiguousarray(np.swapaxes(inverse, 1, 2))


class PanelMesh:
    """Strains of unit stiffness on p panels, q Legendre polynomials each.

    Fields along the span are arrays (p, g, k) of k columns at g quadrature points per panel;
    coordinates z are (p q, k).

    Parameters
    ----------
    span, motion
        The span and the direction in which it deforms.
    edges
        Ends of the panels [m], (p + 1,).
    size
        Legendre polynomials per panel, q.

    Attributes
    ----------
    half, middle
        Half the length, and the centre, of each panel [m], (p, 1) each.
    x, weights
        Distance of the quadrature points from the root, and quadrature weights [m], (p, g) each;
        they integrate all products exactly.
    tables
        Legendre polynomials integrated 0 to ``order`` times from -1, (g, q) each.
    unit
        Matrices (p, q, q) from coordinates z to Legendre coefficients of strains per panel.
    tip
        Tip displacement and, for a beam, tip slope per coordinate z, (order, p q).
    """

    def __init__(self, span: Span, motion: BeamDirection, edges: Array, size: int) -> None:
        self.span, self.motion, self.edges, self.size = span, motion, edges, size
        self.half = half = np.diff(edges)[:, None] / 2
        self.middle = middle = edges[:-1, None] + half
        count = size + motion.order + 1
        self.x, self.weights = panel_points(edges, count)
        self.tables = _integrated_polynomials(gauss_points(count)[0], size, motion.order)
        middle_stiffness, start_stiffness = (
            span.at(motion.stiffness, x) for x in (middle, edges[:-1, None])
        )
        self.unit = _unit_strains(half, middle_stiffness, start_stiffness, size)
        rows = np.zeros((motion.order, len(half), size))
        rows[-1, :, :1] = 2 * half
        if motion.order == 2:
            rows[0, :, :1] = 2 * half * (span.length - middle)
            rows[0, :, 1:2] = -(2 / 3) * half**2
        tip = np.einsum("apq,pqz->apz", rows, self.unit)
        self.tip: Array = np.asarray(tip.reshape(len(rows), -1))

    def strains(self, z: Array) -> Array:
        """Return the strains at coordinates z as Legendre coefficients, (p, q, k)."""
        return np.asarray(self.unit @ z.reshape(len(self.half), self.size, -1))

    def fields(self, z: Array) -> list[Array]:
        """Evaluate displacement and, for a beam, slope at the quadrature points, (p, g, k) each."""
        c = self.strains(z)
        half, middle = self.half, self.middle
        panel_turn = 2 * half * c[:, 0]
        before = _before(panel_turn)[:, None]
        slope_field = before + half[:, :, None] * (self.tables[1] @ c)
        if self.motion.order == 1:
            return [slope_field]
        # A panel of half length h with strain c0 + c1 t rotates the rest of the span by 2 h c0
        # about the middle of the panel, and lowers the rest by 2/3 h^2 c1.
        offset = _before(panel_turn * middle + (2 / 3) * half**2 * c[:, 1])[:, None]
        displacement = before * self.x[..., None] - offset
        return [displacement + half[:, :, None] ** 2 * (self.tables[2] @ c), slope_field]

    def adjoint(self, loads: list[Array]) -> Array:
        """Apply the transpose of `fields` to loads (p, g, k); the result has shape (p q, k).

        The loads act on the displacement and, for a beam, on the slope; the load on the slope may
        be omitted.
        """
        half, middle, beam = self.half, self.middle, self.motion.order == 2
        c = np.zeros((len(half), self.size, loads[0].shape[2]))
        turn_loads = np.zeros((len(half), loads[0].shape[2]))
        if beam:
            displacement_load, loads = loads[0], loads[1:]
            c += half[:, :, None] ** 2 * (self.tables[2].T @ displacement_load)
            turn_loads += np.einsum("pg,pgk->pk", self.x, displacement_load)
            outboard = -_before(displacement_load.sum(axis=1)[::-1])[::-1]
            c[:, 0] += 2 * half * middle * outboard
            c[:, 1] += (2 / 3) * half**2 * outboard
        for slope_load in loads:
            c += half[:, :, None] * (self.tables[1].T @ slope_load)
            turn_loads += slope_load.sum(axis=1)
        c[:, 0] += 2 * half * _before(turn_loads[::-1])[::-1]
        return np.asarray((np.swapaxes(self.unit, 1, 2) @ c).reshape(-1, c.shape[2]))

    def curves(self, z: Array, root: Array) -> SpanCurves:
        """Integrate strains z (p q, k), and root displacements and slopes (order, k), to curves."""
        return integrate_strain(self.edges, self.strains(z), root)
