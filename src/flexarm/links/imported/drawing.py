"""Display geometry of a body: a selection of its points, and an axis from hub to tip."""

import numpy as np

from flexarm.links.imported.body import Drawn
from flexarm.links.imported.constants import AXIS_POINTS, AXIS_WINDOW, INNER_POINTS, SURFACE_POINTS
from flexarm.links.imported.data import Integers, no_lines
from flexarm.spatial import Array, Pose

_TETRA = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]]
# Nodes 0 to 3 of a brick are the corners of its bottom, with these edges; 4 to 7 are above them.
RING = [(0, 1), (1, 2), (2, 3), (3, 0)]
_BRICK = [[0, 3, 2, 1], [a + 4 for a, _ in RING], *([a, b, b + 4, a + 4] for a, b in RING)]
SOLID_CORNERS = {4: _TETRA, 10: _TETRA, 8: _BRICK, 20: _BRICK}  # faces by the count of nodes


def drawn_points(
    positions: Array, shapes: Array, lines: Integers, faces: Integers, tip: Pose, tips: Array
) -> Drawn:
    """Select display points of a mesh (N, 3) with shapes (m, N, 3) and tip motions (m, 6).

    With surface faces, if not too many, the surface is displayed; otherwise a selection of nodes,
    with the lines between them or the triangles of their convex hull.
    """
    axis, axis_shapes = _axis(positions, shapes, tip, tips)
    nodes = np.unique(faces)
    if 0 < len(nodes) <= SURFACE_POINTS:
        edges, surface = no_lines(), np.searchsorted(nodes, faces)
    else:
        nodes, edges = _selected_nodes(len(positions), lines)
        surface = no_lines(3) if len(edges) else _hull_triangles(positions[nodes])
    return Drawn(
        np.vstack([axis, positions[nodes]]),
        np.concatenate([axis_shapes, shapes[:, nodes].transpose(1, 2, 0)]),
        edges + AXIS_POINTS,
        AXIS_POINTS,
        surface + AXIS_POINTS,
    )


def triangles(faces: Integers) -> Integers:
    """Return triangles (., 3), with each quadrangle of faces (f, 4) divided into two triangles."""
    if faces.shape[1] == 3:
        return faces
    return np.concatenate([faces[:, [0, 1, 2]], faces[:, [0, 2, 3]]])


def outer_faces(elements: Integers) -> Integers:
    """Return the surface triangles of solid elements (E, n), from faces of one element only."""
    sides = SOLID_CORNERS[elements.shape[1]]
    all_faces = elements[:, sides].reshape(-1, len(sides[0]))
    _, first_index, count = np.unique(
        np.sort(all_faces, axis=1), axis=0, return_index=True, return_counts=True
    )
    return triangles(all_faces[first_index[count == 1]])


def _hull_triangles(positions: Array) -> Integers:
    """Return the triangles of the convex hull of points (n, 3), none if coplanar or too few."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        return np.asarray(ConvexHull(positions).simplices, dtype=np.int64)
    except (QhullError, ValueError):
        return no_lines(3)


def straight_axis(tip: Pose, tips: Array) -> Drawn:
    """Return the display axis of a body without nodes: a cubic from hub to tip."""
    s = np.linspace(0.0, 1.0, AXIS_POINTS)[:, None]
    length = float(np.linalg.norm(tip.position))
    direction = tip.position / length
    rotations = np.cross(tips[:, 3:], direction) * length
    displacement_share, slope_share = 3 * s**2 - 2 * s**3, s**3 - s**2
    shapes = [
        displacement_share * tips[j, :3] + slope_share * rotations[j] for j in range(len(tips))
    ]
    no_line = np.zeros((0, 2), dtype=np.int64)
    return Drawn(s * tip.position, np.stack(shapes, axis=2), no_line, AXIS_POINTS)


def _axis(positions: Array, shapes: Array, tip: Pose, tips: Array) -> tuple[Array, Array]:
    """Return S points on the axis from hub to tip, (S, 3), and their shapes, (S, 3, m).

    Each inner point is a weighted mean of the nodes near a cross-section.
    """
    length = float(np.linalg.norm(tip.position))
    fraction = positions @ tip.position / length**2
    points, axis_shapes = [np.zeros(3)], [np.zeros((3, len(shapes)))]
    width = AXIS_WINDOW / (AXIS_POINTS - 1)
    for s in np.linspace(0.0, 1.0, AXIS_POINTS)[1:-1]:
        weights = np.exp(-(((fraction - s) / width) ** 2)) + 1e-30
        weights = weights / weights.sum()
        points.append(weights @ positions)
        axis_shapes.append(np.einsum("n,jna->aj", weights, shapes, optimize=True))
    return np.array([*points, tip.position]), np.stack([*axis_shapes, tips[:, :3].T])


def _selected_nodes(count: int, lines: Integers) -> tuple[Integers, Integers]:
    """Return indices of at most INNER_POINTS of ``count`` nodes, and the lines between them."""
    nodes = np.linspace(0, count - 1, min(count, INNER_POINTS)).astype(np.int64)
    index = np.full(count, -1)
    index[nodes] = np.arange(len(nodes))
    pairs = index[lines] if len(lines) else np.zeros((0, 2), dtype=np.int64)
    return nodes, pairs[(pairs >= 0).all(axis=1)].astype(np.int64)
