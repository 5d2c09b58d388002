"""Readers of CalculiX files (.frd, .inp), and the mass matrix of solid elements."""

from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from flexarm.errors import ModelError
from flexarm.links.imported.body import RING, UP, outer_faces
from flexarm.links.imported.data import Integers
from flexarm.links.imported.readers.superelements import number, whole_number
from flexarm.spatial import Array

_TETRA = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
_TETRA_EDGES = [(0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3)]
_BRICK = [(-1, -1, -1), (1, -1, -1), (1, 1, -1), (-1, 1, -1),
          (-1, -1, 1), (1, -1, 1), (1, 1, 1), (-1, 1, 1)]  # fmt: skip
# order of edges in a CalculiX result file: bottom face, vertical edges, top face
_BRICK_EDGES = [*RING, *((a, a + UP) for a, _ in RING), *((a + UP, b + UP) for a, b in RING)]


@dataclass(frozen=True)
class Solid:
    """Type of solid element: corners, edges with a midside node, and whether it is a brick."""

    corners: tuple[tuple[int, int, int], ...]
    edges: tuple[tuple[int, int], ...]
    brick: bool

    @property
    def count(self) -> int:
        """Number of nodes of the element type."""
        return len(self.corners) + len(self.edges)

    @cached_property
    def powers(self) -> Array:
        """Exponents of the n monomials that span the shape functions, (n, 3)."""
        degree = 2 if self.edges else 1
        candidates = list(product(range(degree + 1), repeat=3))
        # Serendipity monomials: at most one squared factor; without midside nodes, no squares.
        if self.brick:
            exponents = [
                p for p in candidates if sum(max(k - 1, 0) for k in p) <= 1 and sum(p) <= 4
            ]
        else:
            exponents = [p for p in candidates if sum(p) <= degree]
        return np.array(exponents, dtype=np.float64)

    @cached_property
    def inverse(self) -> Array:
        """Coefficients of the monomials in the shape functions, (n, n)."""
        corners = np.array(self.corners, dtype=np.float64)
        midpoints = [(corners[a] + corners[b]) / 2 for a, b in self.edges]
        at_nodes = _monomials(np.array([*corners, *midpoints]), self.powers)
        return np.asarray(np.linalg.inv(at_nodes), dtype=np.float64)

    @cached_property
    def rule(self) -> tuple[Array, Array, Array]:
        """Weights (g,), shape functions (g, n) and derivatives (g, n, 3) at quadrature points."""
        x, w = np.polynomial.legendre.leggauss(4)
        grid = np.array(list(product(x, repeat=3)))
        weights = np.array([a * b * c for a, b, c in product(w, repeat=3)])
        if not self.brick:  # integrate over a brick collapsed to a tetrahedron
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
    """Evaluate n monomials, or their derivatives along an axis, at points, (points, n)."""
    factor = np.ones(len(powers))
    if axis is not None:
        factor, powers = powers[:, axis].copy(), powers.copy()
        powers[:, axis] = np.maximum(powers[:, axis] - 1, 0)
    return np.asarray(factor * np.prod(points[:, None, :] ** powers, axis=2))


def consistent_mass(kind: int, elements: Integers, positions: Array, density: float) -> Any:
    """Return the sparse consistent mass matrix (N, N) of elements of one kind.

    ``elements`` (E, n) are node indices, ``positions`` (N, 3) positions of the nodes.

    Raises
    ------
    ModelError
        If an element has a nonpositive Jacobian determinant.
    """
    from scipy.sparse import coo_array

    weights, shapes, slopes = SOLIDS[kind].rule
    corners = positions[elements]
    jacobian = np.einsum("gna,enb->egab", slopes, corners, optimize=True)
    volume = np.linalg.det(jacobian)
    if np.any(volume <= 0):
        raise ModelError(
            f"elements: {int(np.any(volume <= 0, axis=1).sum())} of {len(elements)} elements "
            "are turned inside out. Check the order of their nodes, and that the file is not "
            "damaged."
        )
    blocks = density * np.einsum("g,eg,gi,gj->eij", weights, volume, shapes, shapes, optimize=True)
    n = elements.shape[1]
    rows, columns = np.repeat(elements, n, axis=1), np.tile(elements, (1, n))
    matrix = coo_array(
        (blocks.ravel(), (rows.ravel(), columns.ravel())), shape=(len(positions),) * 2
    )
    return matrix.tocsr()


@dataclass
class Results:
    """Contents of an .frd file: nodes by number, elements with type, frequencies and shapes."""

    nodes: dict[int, tuple[float, float, float]] = field(default_factory=dict)
    elements: list[tuple[int, list[int]]] = field(default_factory=list)
    hertz: list[float] = field(default_factory=list)
    shapes: list[dict[int, tuple[float, float, float]]] = field(default_factory=list)


@dataclass
class NodeSet:
    """Set of node numbers; ranges of numbers are stored by their limits."""

    nodes: set[int] = field(default_factory=set)
    ranges: set[range] = field(default_factory=set)

    def rows(self, numbers: Integers) -> Integers:
        """Return the indices, in a list of N node numbers, of the nodes that are in the set."""
        is_member = [n in self.nodes or any(n in interval for interval in self.ranges)
                  for n in numbers.tolist()]  # fmt: skip
        return np.flatnonzero(is_member).astype(np.int64)


@dataclass
class Deck:
    """Contents of an .inp file: node sets by name, and densities [mass/length^3]."""

    sets: dict[str, NodeSet] = field(default_factory=dict)
    densities: set[float] = field(default_factory=set)


def read_frd(text: str, name: str) -> Results:
    """Return the nodes, elements and modes of an .frd file.

    Raises
    ------
    ModelError
        If a line cannot be read, or there are no modes.
    """
    results, block, hertz = Results(), "", 0.0
    for k, line in enumerate(text.splitlines(), 1):
        location, key = f"{name}:{k}", line[:3].strip()
        if not key.startswith("-"):
            head = (line.split() or [""])[0]
            block = head[:4] if head[:4] in ("2C", "3C", "100C") else ""
            if block == "100C":
                hertz = number(line[12:24], location)
        elif key == "-4":
            block = "DISP" if "DISP" in line.split() else ""
            if block:
                results.hertz.append(hertz)
                results.shapes.append({})
        elif key == "-3":
            block = ""
        elif block == "2C":
            results.nodes[whole_number(line[3:13], location)] = _vector(line, location)
        elif block == "3C" and key == "-1":
            results.elements.append((whole_number(line[13:18], location), []))
        elif block == "3C" and results.elements:
            results.elements[-1][1].extend(
                whole_number(word, location) for word in line[3:].split()
            )
        elif block == "DISP" and key == "-1":
            results.shapes[-1][whole_number(line[3:13], location)] = _vector(line, location)
    if not text.rstrip().endswith("9999"):
        raise ModelError(f"{name}: does not end with the line 9999. Was the file cut off?")
    if not results.nodes or not results.shapes:
        raise ModelError(f"{name}: has no modes. Request 'U' by *NODE FILE in a *FREQUENCY step.")
    return results


def _vector(line: str, location: str) -> tuple[float, float, float]:
    x, y, z = (number(line[13 + 12 * i : 25 + 12 * i], location) for i in range(3))
    return x, y, z


def read_inp(text: str, name: str) -> Deck:
    """Return the node sets and densities of an .inp file; files that it includes are not read.

    Raises
    ------
    ModelError
        If a line of a set is neither a list of nodes or earlier sets, nor a range.
    """
    deck, block, members = Deck(), "", NodeSet()
    generated = False
    for k, line in enumerate(text.splitlines(), 1):
        if line.startswith("**") or not line.strip():
            continue
        words = [word.strip() for word in line.split(",")]
        if line.startswith("*"):
            block = words[0].upper()
            options = dict(w.upper().replace(" ", "").split("=", 1) for w in words if "=" in w)
            generated = any(word.upper() == "GENERATE" for word in words)
            if block == "*NSET":
                members = deck.sets.setdefault(options.get("NSET", ""), NodeSet())
        elif block == "*NSET" and generated:
            members.ranges.add(_range(list(filter(None, words)), f"{name}:{k}"))
        elif block == "*NSET":
            for word in filter(None, words):
                if other_set := deck.sets.get(word.upper()):
                    members.nodes |= other_set.nodes
                    members.ranges |= other_set.ranges
                else:
                    members.nodes.add(whole_number(word, f"{name}:{k}"))
        elif block == "*DENSITY":
            deck.densities.add(number(words[0], f"{name}:{k}"))
    return deck


def _range(words: list[str], location: str) -> range:
    """Return a range of node numbers from the words first, last and optional step."""
    first, last, step = ([whole_number(word, location) for word in words] + [1, 1, 1])[:3]
    if len(words) not in (2, 3) or step < 1 or last < first:
        raise ModelError(
            f"{location}: a generated set must be 'first, last' or 'first, last, step' with a step "
            f">= 1, got {', '.join(words)[:40]!r}"
        )
    return range(first, last + 1, step)


def mesh_arrays(results: Results, name: str) -> tuple[Integers, Array, Array]:
    """Return node numbers (N,), positions (N, 3) and shapes (m, N, 3) of a mesh.

    Raises
    ------
    ModelError
        If a mode lacks nodes, as in a truncated file.
    """
    numbers = np.array(sorted(results.nodes), dtype=np.int64)
    for k, shape in enumerate(results.shapes, 1):
        if shape.keys() != results.nodes.keys():
            raise ModelError(
                f"{name}: mode {k} has displacements at {len(shape)} of {len(numbers)} nodes. "
                "Write all nodes, and check that the file is not cut off."
            )
    positions = np.array([results.nodes[n] for n in numbers.tolist()])
    shapes = np.array([[shape[n] for n in numbers.tolist()] for shape in results.shapes])
    return numbers, positions, shapes


def mesh_elements(results: Results, numbers: Integers) -> dict[int, Integers]:
    """Return the solid elements of a mesh by kind, as node indices (E, n).

    Raises
    ------
    ModelError
        If there are no elements, or elements of other types.
    """
    row = {int(n): k for k, n in enumerate(numbers)}
    kinds: dict[int, list[list[int]]] = {}
    for kind, nodes in results.elements:
        if kind not in SOLIDS or len(nodes) != SOLIDS[kind].count or not set(nodes) <= row.keys():
            raise ModelError(
                f"elements: the mass of elements of type {kind} with {len(nodes)} nodes cannot "
                "be computed. Use solid elements (4 and 10-node tetrahedra, 8 and 20-node "
                "bricks)."
            )
        kinds.setdefault(kind, []).append([row[n] for n in nodes])
    if not kinds:
        raise ModelError(
            "elements: the file has no elements to compute a mass from. Was it cut off?"
        )
    return {kind: np.array(rows, dtype=np.int64) for kind, rows in kinds.items()}


def mesh_faces(elements: dict[int, Integers]) -> Integers:
    """Return the triangles of the surface of solid elements, as node indices (f, 3)."""
    by_corners: dict[int, list[Integers]] = {}
    for kind, rows in elements.items():
        corners = len(SOLIDS[kind].corners)
        by_corners.setdefault(corners, []).append(rows[:, :corners])
    return np.concatenate([outer_faces(np.concatenate(faces)) for faces in by_corners.values()])
