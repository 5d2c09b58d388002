"""Display geometry of a body: a selection of its points, and an axis from hub to tip."""

import numpy as np

from flexarm.links.imported.body import Drawn
from flexarm.links.imported.constants import AVERAGED, AXIS_POINTS, INNER_POINTS, SURFACE_POINTS
from flexarm.links.imported.data import Integers, no_lines
from flexarm.spatial import Array, Pose

_TETRA = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]]
# Nodes 0 to 3 of a brick are the corners of its bottom, with these edges; 4 to 7 are above them.
RING = [(0, 1), (1, 2), (2, 3), (3, 0)]
_BRICK = [[0, 3, 2, 1], [a + 4 for a, _ in RING], *([a, b, b + 4, a + 4] for a, b in RING)]
SOLID_CORNERS = {4: _TETRA, 10: _TETRA, 8: _BRICK, 20: _BRICK}  # faces by the count of nodes


def drawn_points(
    places: Array, shapes: Array, lines: Integers, faces: Integers, tip: Pose, tips: Array
) -> Drawn:
    """Select display points of a mesh (N, 3) with shapes (m, N, 3) and tip motions (m, 6).

    With surface faces, if not too many, the surface is displayed; otherwise a selection of nodes,
    with the lines between them or the triangles of their convex hull.
    """
    axis, moved = _axis(places, shapes, tip, tips)
    used = np.unique(faces)
    if 0 < len(used) <= SURFACE_POINTS:
        edges, skin = no_lines(), np.searchsorted(used, faces)
    else:
        used, edges = _some(len(places), lines)
        skin = no_lines(3) if len(edges) else _hull(places[used])
    return Drawn(
        np.vstack([axis, places[used]]),
        np.concatenate([moved, shapes[:, used].transpose(1, 2, 0)]),
        edges + AXIS_POINTS,
        AXIS_POINTS,
        skin + AXIS_POINTS,
    )


def triangles(faces: Integers) -> Integers:
    """Return triangles (., 3), with each quadrangle of faces (f, 4) divided into two triangles."""
    if faces.shape[1] == 3:
        return faces
    return np.concatenate([faces[:, [0, 1, 2]], faces[:, [0, 2, 3]]])


def outer_faces(elements: Integers) -> Integers:
    """Return the surface triangles of solid elements (E, n), from faces of one element only."""
    sides = SOLID_CORNERS[elements.shape[1]]
    every = elements[:, sides].reshape(-1, len(sides[0]))
    _, first, count = np.unique(
        np.sort(every, axis=1), axis=0, return_index=True, return_counts=True
    )
    return triangles(every[first[count == 1]])


def _hull(places: Array) -> Integers:
    """Return the triangles of the convex hull of points (n, 3), none if coplanar or too few."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        return np.asarray(ConvexHull(places).simplices, dtype=np.int64)
    except (QhullError, ValueError):
        return no_lines(3)


def straight_axis(tip: Pose, tips: Array) -> Drawn:
    """Return the display axis of a body without nodes: a cubic from hub to tip."""
    s = np.linspace(0.0, 1.0, AXIS_POINTS)[:, None]
    length = float(np.linalg.norm(tip.position))
    along = tip.position / length
    turned = np.cross(tips[:, 3:], along) * length
    rise, bend = 3 * s**2 - 2 * s**3, s**3 - s**2
    moved = [rise * tips[j, :3] + bend * turned[j] for j in range(len(tips))]
    none = np.zeros((0, 2), dtype=np.int64)
    return Drawn(s * tip.position, np.stack(moved, axis=2), none, AXIS_POINTS)


def _axis(places: Array, shapes: Array, tip: Pose, tips: Array) -> tuple[Array, Array]:
    """Return S points on the axis from hub to tip, (S, 3), and their shapes, (S, 3, m).

    Each inner point is a weighted mean of the nodes near a cross-section.
    """
    length = float(np.linalg.norm(tip.position))
    along = places @ tip.position / length**2
    points, moved = [np.zeros(3)], [np.zeros((3, len(shapes)))]
    width = AVERAGED / (AXIS_POINTS - 1)
    for s in np.linspace(0.0, 1.0, AXIS_POINTS)[1:-1]:
        near = np.exp(-(((along - s) / width) ** 2)) + 1e-30
        near = near / near.sum()
        points.append(near @ places)
        moved.append(np.einsum("n,jna->aj", near, shapes, optimize=True))
    return np.array([*points, tip.position]), np.stack([*moved, tips[:, :3].T])


def _some(count: int, lines: Integers) -> tuple[Integers, Integers]:
    """Return indices of at most INNER_POINTS of ``count`` nodes, and the lines between them."""
    used = np.linspace(0, count - 1, min(count, INNER_POINTS)).astype(np.int64)
    place = np.full(count, -1)
    place[used] = np.arange(len(used))
    pairs = place[lines] if len(lines) else np.zeros((0, 2), dtype=np.int64)
    return used, pairs[(pairs >= 0).all(axis=1)].astype(np.int64)
