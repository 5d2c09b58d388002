"""Which points of a body are drawn, and one line from hub to tip that stands for it."""

import numpy as np

from flexarm.links.base import Array
from flexarm.links.imported.body import Drawn
from flexarm.links.imported.data import Integers, no_lines
from flexarm.spatial import Pose

AXIS = 13  # points of the line, both ends included
MOST = 400  # points beside it
MOST_SURFACE = 3000  # points of a surface
_TETRA = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]]
_BRICK = [[0, 3, 2, 1], [4, 5, 6, 7], [0, 1, 5, 4], [1, 2, 6, 5], [2, 3, 7, 6], [3, 0, 4, 7]]
SOLID_CORNERS = {4: _TETRA, 10: _TETRA, 8: _BRICK, 20: _BRICK}  # faces by the count of nodes
WEIGHT = 0.75  # of a piece of the line: how wide the neighbourhood of a point is


def drawn_points(
    places: Array, shapes: Array, lines: Integers, faces: Integers, tip: Pose, tips: Array
) -> Drawn:
    """Choose points of a mesh (N, 3) with shapes (m, N, 3) and its tip's motions (m, 6).

    Its surface is drawn where faces are given and are not too many; else some nodes with lines
    between them, or within their hull.
    """
    axis, moved = _axis(places, shapes, tip, tips)
    used = np.unique(faces)
    if 0 < len(used) <= MOST_SURFACE:
        edges, skin = no_lines(), np.searchsorted(used, faces)
    else:
        used, edges = _some(len(places), lines)
        skin = no_lines(3) if len(edges) else _hull(places[used])
    return Drawn(
        np.vstack([axis, places[used]]),
        np.concatenate([moved, shapes[:, used].transpose(1, 2, 0)]),
        edges + AXIS,
        AXIS,
        skin + AXIS,
    )


def triangles(faces: Integers) -> Integers:
    """Cut quadrangles (f, 4) in two; triangles stay."""
    if faces.shape[1] == 3:
        return faces
    return np.concatenate([faces[:, [0, 1, 2]], faces[:, [0, 2, 3]]])


def outer_faces(elements: Integers) -> Integers:
    """List the faces of solid elements (E, n) that one element alone has, between corners."""
    sides = SOLID_CORNERS[elements.shape[1]]
    every = elements[:, sides].reshape(-1, len(sides[0]))
    _, first, count = np.unique(
        np.sort(every, axis=1), axis=0, return_index=True, return_counts=True
    )
    return triangles(every[first[count == 1]])


def _hull(places: Array) -> Integers:
    """Wrap points (n, 3); points of a plane, or few, have no hull."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        return np.asarray(ConvexHull(places).simplices, dtype=np.int64)
    except (QhullError, ValueError):
        return no_lines(3)


def straight_axis(tip: Pose, tips: Array) -> Drawn:
    """Draw a body without nodes: a cubic from hub to tip."""
    s = np.linspace(0.0, 1.0, AXIS)[:, None]
    length = float(np.linalg.norm(tip.position))
    along = tip.position / length
    turned = np.cross(tips[:, 3:], along) * length
    rise, bend = 3 * s**2 - 2 * s**3, s**3 - s**2
    moved = [rise * tips[j, :3] + bend * turned[j] for j in range(len(tips))]
    none = np.zeros((0, 2), dtype=np.int64)
    return Drawn(s * tip.position, np.stack(moved, axis=2), none, AXIS)


def _axis(places: Array, shapes: Array, tip: Pose, tips: Array) -> tuple[Array, Array]:
    """Follow the middles of slices across the way from hub to tip, (S, 3) and (S, 3, m)."""
    length = float(np.linalg.norm(tip.position))
    along = places @ tip.position / length**2
    points, moved = [np.zeros(3)], [np.zeros((3, len(shapes)))]
    width = WEIGHT / (AXIS - 1)
    for s in np.linspace(0.0, 1.0, AXIS)[1:-1]:
        near = np.exp(-(((along - s) / width) ** 2)) + 1e-30
        near = near / near.sum()
        points.append(near @ places)
        moved.append(np.einsum("n,jna->aj", near, shapes, optimize=True))
    return np.array([*points, tip.position]), np.stack([*moved, tips[:, :3].T])


def _some(count: int, lines: Integers) -> tuple[Integers, Integers]:
    """Choose some of so many nodes, and the lines between them."""
    used = np.arange(count) if count <= MOST else np.linspace(0, count - 1, MOST).astype(np.int64)
    place = np.full(count, -1)
    place[used] = np.arange(len(used))
    pairs = place[lines] if len(lines) else np.zeros((0, 2), dtype=np.int64)
    return used, pairs[(pairs >= 0).all(axis=1)].astype(np.int64)
