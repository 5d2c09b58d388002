"""Consistent mass of solid elements, by their isoparametric shape functions."""

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from flexarm.errors import ModelError
from flexarm.links.base import Array
from flexarm.links.imported.data import Integers

_TETRA = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
_TETRA_EDGES = [(0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3)]
_BRICK = [(-1, -1, -1), (1, -1, -1), (1, 1, -1), (-1, 1, -1),
          (-1, -1, 1), (1, -1, 1), (1, 1, 1), (-1, 1, 1)]  # fmt: skip
# of a CalculiX result file: edges below, upright ones, edges above
_BRICK_EDGES = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (1, 5), (2, 6), (3, 7),
                (4, 5), (5, 6), (6, 7), (7, 4)]  # fmt: skip
POINTS = 4  # of Gauss's rule per direction


@dataclass(frozen=True)
class Solid:
    """A kind of element: its corners, edges with a node amid, and whether it is a brick."""

    corners: tuple[tuple[int, int, int], ...]
    edges: tuple[tuple[int, int], ...]
    brick: bool

    @property
    def count(self) -> int:
        """Number of nodes."""
        return len(self.corners) + len(self.edges)

    @cached_property
    def powers(self) -> Array:
        """Powers of the monomials that its shape functions are made of, (n, 3)."""
        most = 2 if self.edges else 1
        every = list(product(range(most + 1), repeat=3))
        if self.brick:  # serendipity: not more than one square, and degree 1 in all without edges
            exponents = [p for p in every if sum(max(k - 1, 0) for k in p) <= 1 and sum(p) <= 4]
        else:
            exponents = [p for p in every if sum(p) <= most]
        return np.array(exponents, dtype=np.float64)

    @cached_property
    def inverse(self) -> Array:
        """Coefficients of the shape functions, (n, n)."""
        corners = np.array(self.corners, dtype=np.float64)
        amid = [(corners[a] + corners[b]) / 2 for a, b in self.edges]
        at_nodes = _monomials(np.array([*corners, *amid]), self.powers)
        return np.asarray(np.linalg.inv(at_nodes), dtype=np.float64)

    @cached_property
    def rule(self) -> tuple[Array, Array, Array]:
        """Weights (g,), shape functions (g, n) and their derivatives (g, n, 3) at points."""
        x, w = np.polynomial.legendre.leggauss(POINTS)
        grid = np.array(list(product(x, repeat=3)))
        weights = np.array([a * b * c for a, b, c in product(w, repeat=3)])
        if not self.brick:  # a brick collapsed to a tetrahedron
            u, v, t = ((grid + 1) / 2).T
            grid = np.stack([u, v * (1 - u), t * (1 - u) * (1 - v)], axis=1)
            weights = weights / 8 * (1 - u) ** 2 * (1 - v)
        slopes = [_monomials(grid, self.powers, axis) @ self.inverse for axis in range(3)]
        return weights, _monomials(grid, self.powers) @ self.inverse, np.stack(slopes, axis=2)


SOLIDS = {
    1: Solid(tuple(_BRICK), (), True),
    3: Solid(tuple(_TETRA), (), False),
    4: Solid(tuple(_BRICK), tuple(_BRICK_EDGES), True),
    6: Solid(tuple(_TETRA), tuple(_TETRA_EDGES), False),
}


def _monomials(points: Array, powers: Array, axis: int | None = None) -> Array:
    """Evaluate monomials, or their derivatives along an axis, (points, n)."""
    factor = np.ones(len(powers))
    if axis is not None:
        factor, powers = powers[:, axis].copy(), powers.copy()
        powers[:, axis] = np.maximum(powers[:, axis] - 1, 0)
    return np.asarray(factor * np.prod(points[:, None, :] ** powers, axis=2))


def consistent_mass(kind: int, elements: Integers, places: Array, density: float) -> Any:
    """Assemble the mass of elements of one kind (E, n), rows of nodes, as a sparse (N, N).

    Raises
    ------
    ModelError
        If the elements are turned inside out.
    """
    from scipy.sparse import coo_array

    weights, shapes, slopes = SOLIDS[kind].rule
    at = places[elements]
    jacobian = np.einsum("gna,enb->egab", slopes, at, optimize=True)
    volume = np.linalg.det(jacobian)
    if np.any(volume <= 0):
        raise ModelError(
            f"elements: {int(np.any(volume <= 0, axis=1).sum())} of {len(elements)} are turned "
            "inside out: are nodes in another order, or the file damaged?"
        )
    blocks = density * np.einsum("g,eg,gi,gj->eij", weights, volume, shapes, shapes, optimize=True)
    n = elements.shape[1]
    rows, columns = np.repeat(elements, n, axis=1), np.tile(elements, (1, n))
    whole = coo_array((blocks.ravel(), (rows.ravel(), columns.ravel())), shape=(len(places),) * 2)
    return whole.tocsr()
