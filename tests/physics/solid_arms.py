"""Arms of solid bodies with every unknown of their meshes, for small motions about any posture.

Nothing of the package is used.  Faces are rigid; the first hub is held, each further one sits on
the tip before it, turned by the posture, and may have a hinge there.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import eigsh, splu

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Solid:
    """K (3N, 3N), mass per direction (N, N), nodes (N, 3), rows of the faces, the tip's place."""

    stiffness: Any
    mass: Any
    nodes: Array
    hub: NDArray[np.int64]
    tip: NDArray[np.int64]
    place: Array
    elements: NDArray[np.int64]


@dataclass(frozen=True)
class Assembled:
    """K and M of all unknowns, and motions of the tips in world axes, (6, n) each."""

    stiffness: Any
    mass: Any
    tips: list[Any]

    def modes(self, count: int) -> tuple[Array, Array]:
        """Find the slowest modes: squares of frequencies, and shapes of unit mass."""
        if count == self.stiffness.shape[0]:
            squares, shapes = scipy.linalg.eigh(self.stiffness.toarray(), self.mass.toarray())
            return squares, shapes
        shift = -((2 * np.pi) ** 2)  # released hinges move freely
        whole = sp.csc_array(self.stiffness - shift * self.mass)
        factor = splu(whole, permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True})
        solve = sp.linalg.LinearOperator(whole.shape, matvec=factor.solve, dtype=np.float64)
        start = np.cos(np.arange(whole.shape[0]))
        found = eigsh(self.stiffness, count, self.mass, sigma=shift, OPinv=solve, v0=start)
        return found[0], found[1]

    def static(self, load: Array) -> Array:
        """Find displacements under a load (n,)."""
        return np.asarray(splu(sp.csc_array(self.stiffness)).solve(load))

    def stepped(self, load: Array, times: Array, modes: int) -> Array:
        """Let a load step up at rest: displacements (T, n), modes beyond so many following it."""
        squares, shapes = self.modes(modes)
        swing = (shapes.T @ load / squares) * np.cos(np.sqrt(squares) * times[:, None])
        return np.asarray(self.static(load) - swing @ shapes.T)

    def projected(self, basis: Any) -> "Assembled":
        """Leave motions out but those of a basis (n, k)."""
        K, M = (np.asarray(basis.T @ (x @ basis)) for x in (self.stiffness, self.mass))
        return Assembled(sp.csc_array(K), sp.csc_array(M), [tip @ basis for tip in self.tips])


def rigid(places: Array) -> Array:
    """Displace places by unit motions of the origin, (3N, 6)."""
    columns = [np.tile(axis, len(places)) for axis in np.eye(3)]
    columns += [np.cross(axis, places).ravel() for axis in np.eye(3)]
    return np.stack(columns, axis=1)


def turn_about(axis: int, angle: float) -> Array:
    """Turn about x, y or z."""
    c, s = np.cos(angle), np.sin(angle)
    one = np.eye(3)
    b, d = (axis + 1) % 3, (axis + 2) % 3
    one[b, b] = one[d, d] = c
    one[b, d], one[d, b] = -s, s
    return one


def assembled(
    bodies: list[Solid], turns: list[Array], hinges: list[Array | None], payload: float
) -> Assembled:
    """Join bodies, each turned against the one before; hinges are axes in the frame turned."""
    sizes = [3 * len(b.nodes) - 3 * len(b.hub) - 3 * len(b.tip) + 6 for b in bodies]
    free = [k for k, hinge in enumerate(hinges) if hinge is not None]
    total = sum(sizes) + len(free)
    K, M = sp.csc_array((total, total)), sp.csc_array((total, total))
    R, at, tips = np.eye(3), 0, []
    moved: Any = sp.csc_array((6, total))  # the hub's, in world axes
    for k, (body, turn, hinge) in enumerate(zip(bodies, turns, hinges, strict=True)):
        R = R @ turn
        if hinge is not None:
            column = sum(sizes) + free.index(k)
            about = np.concatenate([np.zeros(3), R @ hinge])[:, None]
            moved = moved + sp.csc_array(about) @ unit_rows([column], total)
        both = np.kron(np.eye(2), R)
        hub, tip = ((3 * rows[:, None] + np.arange(3)).ravel() for rows in (body.hub, body.tip))
        inner = np.setdiff1d(np.arange(3 * len(body.nodes)), np.concatenate([hub, tip]))
        own = unit_rows(list(range(at, at + len(inner))), total)
        ends = unit_rows(list(range(at + len(inner), at + sizes[k])), total)
        size = 3 * len(body.nodes)
        T = unit_rows(inner.tolist(), size).T @ own
        T = (
            T
            + unit_rows(hub.tolist(), size).T
            @ sp.csc_array(rigid(body.nodes[body.hub]) @ both.T)
            @ moved
        )
        T = (
            T
            + unit_rows(tip.tolist(), size).T
            @ sp.csc_array(rigid(body.nodes[body.tip] - body.place))
            @ ends
        )
        K = K + T.T @ body.stiffness @ T
        M = M + T.T @ sp.kron(body.mass, np.eye(3), format="csc") @ T
        moved = sp.csc_array(both) @ ends
        tips.append(moved)
        at += sizes[k]
    return Assembled(sp.csc_array(K), sp.csc_array(M + payload * moved[:3].T @ moved[:3]), tips)


def unit_rows(columns: list[int], width: int) -> Any:
    """Pick columns, (k, width)."""
    rows = np.arange(len(columns))
    return sp.csc_array((np.ones(len(columns)), (rows, columns)), shape=(len(columns), width))


NATURAL = np.array(
    [[-1, -1, -1], [1, -1, -1], [1, 1, -1], [-1, 1, -1], [-1, -1, 1], [1, -1, 1], [1, 1, 1],
     [-1, 1, 1], [0, -1, -1], [1, 0, -1], [0, 1, -1], [-1, 0, -1], [0, -1, 1], [1, 0, 1],
     [0, 1, 1], [-1, 0, 1], [-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]], dtype=float,
)  # fmt: skip


def brick_shapes(at: Array) -> tuple[Array, Array]:
    """Evaluate the 20 functions of a serendipity brick and their derivatives, (20,), (20, 3)."""
    value, slope = np.zeros(20), np.zeros((20, 3))
    for k, node in enumerate(NATURAL):
        zero = np.flatnonzero(node == 0)
        f = np.where(node == 0, 1 - at**2, 1 + node * at)
        df = np.where(node == 0, -2 * at, node)
        each = np.array([df[a] * np.prod(np.delete(f, a)) for a in range(3)])
        if len(zero):
            value[k], slope[k] = f.prod() / 4, each / 4
        else:
            sum_ = node @ at - 2
            value[k], slope[k] = f.prod() * sum_ / 8, (each * sum_ + f.prod() * node) / 8
    return value, slope


def brick_matrices(
    nodes: Array, elements: NDArray[np.int64], E: float, nu: float, rho: float
) -> tuple[Any, Any]:
    """Assemble bricks with 20 nodes by 3 x 3 x 3 points: K, and the mass per direction."""
    lame, shear = E * nu / (1 + nu) / (1 - 2 * nu), E / 2 / (1 + nu)
    law = np.diag([2 * shear] * 3 + [shear] * 3)
    law[:3, :3] += lame
    corners, count = nodes[elements], len(elements)
    stiffness, mass = np.zeros((count, 60, 60)), np.zeros((count, 20, 20))
    x, w = np.polynomial.legendre.leggauss(3)
    for i, j, k in np.ndindex(3, 3, 3):
        value, slope = brick_shapes(np.array([x[i], x[j], x[k]]))
        jacobian = np.einsum("nk,ena->eka", slope, corners)
        volume = (w[i] * w[j] * w[k] * np.linalg.det(jacobian))[:, None, None]
        grad = np.linalg.solve(jacobian, np.broadcast_to(slope.T, (count, 3, 20)))
        B = np.zeros((count, 6, 20, 3))
        for row, (a, b) in enumerate(((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0))):
            B[:, row, :, a] += grad[:, b]
            if a != b:
                B[:, row, :, b] += grad[:, a]
        strain = B.reshape(count, 6, 60)
        stiffness += volume * (strain.transpose(0, 2, 1) @ (law @ strain))
        mass += rho * volume * np.outer(value, value)
    unknowns = (3 * elements[:, :, None] + np.arange(3)).reshape(count, 60)
    return gathered(unknowns, stiffness, 3 * len(nodes)), gathered(elements, mass, len(nodes))


def gathered(rows: NDArray[np.int64], blocks: Array, size: int) -> Any:
    """Sum blocks (E, k, k) of rows (E, k) into a matrix."""
    k = rows.shape[1]
    i, j = np.repeat(rows, k, axis=1).ravel(), np.tile(rows, (1, k)).ravel()
    return sp.csr_array(sp.coo_array((blocks.ravel(), (i, j)), shape=(size, size)))


def bent_bar(cells: tuple[int, int, int], size: tuple[float, float, float], bend: float) -> Solid:
    """Mesh an aluminium bar that is bent along y and falls along z, its hub's centre at 0."""
    base = np.stack(np.meshgrid(*map(np.arange, cells), indexing="ij"), axis=-1).reshape(-1, 1, 3)
    corners = 2 * base + (NATURAL + 1)  # in halves of cells
    grid, rows = np.unique(corners.reshape(-1, 3), axis=0, return_inverse=True)
    elements = rows.reshape(-1, 20)
    nodes = (grid / (2 * np.array(cells)) - np.array([0, 0.5, 0.5])) * size
    x = nodes[:, 0] / size[0]
    nodes[:, 1] += bend * x**2
    nodes[:, 2] -= 0.6 * bend * x**3
    K, mass = brick_matrices(nodes, elements, 70e9, 0.33, 2700.0)
    tip = np.flatnonzero(x == 1)
    return Solid(K, mass, nodes, np.flatnonzero(x == 0), tip, nodes[tip].mean(axis=0), elements)
