"""Data of a body as a finite-element program gives it: nodes, masses, shapes, K, M, interfaces."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from flexarm.links.base import Array
from flexarm.spatial import IDENTITY, Pose, skew_matrix

Integers = npt.NDArray[np.int64]
Units = tuple[float, float, float]  # of length, mass and time, in SI units
Stated = tuple[float | None, Array | None, Array | None]  # mass, centre, inertia about the origin
Mass = Any  # (N,) or a SciPy sparse matrix (N, N), which ships no types


def no_nodes() -> Integers:
    """Give no rows of nodes."""
    return np.zeros(0, dtype=np.int64)


def no_lines(corners: int = 2) -> Integers:
    """Give no pairs of nodes, or no triangles."""
    return np.zeros((0, corners), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class BodyData:
    """Data of a body in SI units, in axes of their own."""

    # name, names: of the body and of its m shapes.
    name: str
    names: tuple[str, ...]
    # nodes, node_mass, node_inertia: places (N, 3), mass (N,) or consistent (N, N), rotary inertia
    # (N, 3, 3) or None.
    nodes: Array
    node_mass: Mass
    # shapes, rotations: displacement and rotation of the nodes, (m, N, 3); rotations may be None.
    shapes: Array
    # stiffness, mass, damping: K, M, D of the amplitudes, (m, m), each None where it is not given.
    stiffness: Array | None = None
    mass: Array | None = None
    damping: Array | None = None
    # hertz, ratios: of shapes that are modes: frequencies [Hz] in place of K, or to compare with
    # it, (m,), and damping ratios in place of D, (m,) or None.
    hertz: Array | None = None
    ratios: Array | None = None
    # hub, tip: the interface frames; a tip that is None is amid its nodes.
    hub: Pose = IDENTITY
    tip: Pose | None = None
    node_inertia: Array | None = None
    rotations: Array | None = None
    # hub_shapes, tip_shapes: displacement and rotation of the interface frames, (m, 6) each, or
    # None.
    hub_shapes: Array | None = None
    tip_shapes: Array | None = None
    # hub_nodes, tip_nodes: rows of the nodes that move rigidly with the frames; empty where they
    # are not known.
    hub_nodes: Integers = field(default_factory=no_nodes)
    tip_nodes: Integers = field(default_factory=no_nodes)
    # Total mass, centre (3,) and inertia about the origin (3, 3) that the program tells.
    stated: Stated = (None, None, None)
    # lines, faces: pairs of nodes to draw a line between, (k, 2), and triangles of the surface, (f,
    # 3).
    lines: Integers = field(default_factory=no_lines)
    faces: Integers = field(default_factory=lambda: no_lines(3))
    strains: Array | None = None  # strains at P places in the shapes, (m, P), or None
    # k_sigma, k_u: stiffness of the amplitudes per unit load, by the stress and by the displacement
    # that it brings, (18, m, m) each, or None.
    k_sigma: Array | None = None
    k_u: Array | None = None
    units: Units = (1.0, 1.0, 1.0)  # that the file is in; the numbers above are in SI units


@dataclass(frozen=True, eq=False)
class Superelement:
    """K and M of a body with nothing held, and no nodes."""

    name: str  # of the body
    # stiffness, mass, damping: over hub ux uy uz rx ry rz, tip the same, then fixed-interface
    # modes, (12 + k, 12 + k).
    stiffness: Array
    mass: Array
    damping: Array | None
    # hub, tip: the interface frames; unknowns are in the axes of the data.
    hub: Pose
    tip: Pose
    # stated, units: as of `BodyData`.
    stated: Stated = (None, None, None)
    units: Units = (1.0, 1.0, 1.0)


def rigid_columns(places: Array) -> Array:
    """Displacement of places (N, 3) per translation and rotation about the origin, (N, 3, 6)."""
    columns = np.zeros((len(places), 3, 6))
    columns[:, :, :3] = np.eye(3)
    for axis, unit in enumerate(np.eye(3)):
        columns[:, :, 3 + axis] = np.cross(unit, places)
    return columns


def rigid_fit(places: Array, origin: Array, moved: Array) -> tuple[Array, Array]:
    """Fit rigid motions of a frame to displacements (m, n, 3) of places (n, 3).

    Returns
    -------
    motions, residuals
        Displacement of the origin and rotation, (m, 6); the largest that is left, (m,).
    """
    columns = rigid_columns(places - origin).reshape(-1, 6)
    flat = moved.reshape(len(moved), -1)
    found = np.linalg.lstsq(columns, flat.T, rcond=1e-10)[0]
    left = flat - (columns @ found).T
    return np.asarray(found.T, dtype=np.float64), np.abs(left).max(axis=1, initial=0.0)


def spans_a_frame(places: Array) -> bool:
    """Whether places fix a rotation: three of them at least, and not on one line."""
    if len(places) < 3:
        return False
    sizes = np.linalg.svd(places - places.mean(axis=0), compute_uv=False)
    return bool(sizes[1] > 1e-6 * max(float(sizes[0]), 1e-300))


def weigh(mass: Mass, columns: Array) -> Array:
    """Integrate products of columns (N, k) over nodal or consistent masses, (k, k)."""
    if isinstance(mass, np.ndarray):
        return np.asarray(columns.T @ (mass[:, None] * columns))
    return np.asarray(columns.T @ (mass @ columns))


def gram_of(data: BodyData, places: Array, shapes: Array) -> Array:
    """Weigh ``[1, X, phi_1 ..]`` at places (N, 3) with shapes (m, N, 3), (4 + 3m, 4 + 3m)."""
    flat = shapes.transpose(1, 0, 2).reshape(len(places), -1)
    return weigh(data.node_mass, np.hstack([np.ones((len(places), 1)), places, flat]))


def rotary_of(data: BodyData, turn: Array, rotations: Array | None) -> tuple[Array, Array, Array]:
    """Weigh the nodes' rotary inertia, with rotations (m, N, 3) in axes that ``turn`` leads to."""
    m = len(data.shapes)
    if data.node_inertia is None:
        return np.zeros((3, 3)), np.zeros((3, m)), np.zeros((m, m))
    inertia = np.einsum("ka,nkl,lb->nab", turn, data.node_inertia, turn, optimize=True)
    theta = np.zeros((m, len(inertia), 3)) if rotations is None else rotations
    return (
        inertia.sum(axis=0),
        np.einsum("nab,jnb->aj", inertia, theta, optimize=True),
        np.einsum("ina,nab,jnb->ij", theta, inertia, theta, optimize=True),
    )


def modal_mass(data: BodyData) -> Array:
    """Weigh the shapes as they are given, (m, m)."""
    moved = sum(weigh(data.node_mass, data.shapes[:, :, axis].T) for axis in range(3))
    return np.asarray(moved + rotary_of(data, np.eye(3), data.rotations)[2])


def shifted(motions: Array, offset: Array) -> Array:
    """Take motions (m, 6) of a frame over to a point at an offset in it."""
    moved = motions[:, :3] - motions[:, 3:] @ skew_matrix(offset).T
    return np.hstack([moved, motions[:, 3:]])
