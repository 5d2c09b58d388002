"""Craig-Bampton reduction of a finite-element model between rigid faces.

The shapes are six static shapes for each face but the hub's, for its unit motions with the other
faces fixed, and the modes of lowest frequency with all faces fixed (Craig & Bampton 1968).
"""

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from flexarm.arguments import require_array
from flexarm.errors import ModelError
from flexarm.links.imported.body import ReducedBody, triangles
from flexarm.links.imported.constants import DIGITS, MOST_MODES, MOST_NODES_UNDIVIDED, SUM_DIGITS
from flexarm.links.imported.data import (
    Findings,
    FrameData,
    Integers,
    ModalData,
    no_lines,
    rigid_columns,
    spans_a_frame,
)
from flexarm.links.imported.file import inspect_data
from flexarm.links.imported.readers.plain import WAYS
from flexarm.spatial import Array, Pose

Sparse = Any  # SciPy's sparse matrices have no type information


def reduce(
    stiffness: Sparse,
    mass: Sparse,
    nodes: npt.ArrayLike,
    *,
    hub: npt.ArrayLike,
    tip: npt.ArrayLike,
    modes: int = 8,
    hub_frame: Pose | None = None,
    tip_frame: Pose | None = None,
    frames: Mapping[str, npt.ArrayLike] | None = None,
    faces: npt.ArrayLike | None = None,
    name: str = "reduced body",
) -> ReducedBody:
    """Reduce a finite-element model to a checked body with 6 + `modes` amplitudes.

    Each of ``frames`` adds six amplitudes.

    Parameters
    ----------
    stiffness
        Stiffness matrix K of the unconstrained body, (3N, 3N), full or as upper triangle. Row 3k +
        d is direction d (0 to 2) of node k.
    mass
        Mass matrix M, (3N, 3N) or, if equal in all directions, (N, N), full or as upper triangle;
        or masses of the nodes [kg], (N,).
    nodes
        Positions [m], (N, 3).
    hub, tip
        Indices from 0 of the nodes of the two faces; each face moves as one rigid body.
    modes
        Number of modes with both faces fixed.
    hub_frame, tip_frame
        Interface frames. By default a frame is at the mean of its face's nodes; the default hub
        frame has the axes of the node positions, and the default tip frame those of the hub frame.
    frames
        Node indices of further faces, by name; each moves as one rigid body and can carry a link
        (``at: NAME``). The frame of a face is at the mean of the nodes, in the axes of the hub.
    faces
        Node indices of surface triangles (f, 3) or quadrangles (f, 4), for display.
    name
        Name of the body.

    Returns
    -------
    ReducedBody
        The body, which `write_body` writes to a file that a link can refer to.

    Raises
    ------
    ModelError
        If matrices and nodes do not fit, the body is constrained somewhere, or a check fails.
    """
    positions = require_array("nodes", nodes, ModelError)
    for key, matrix in (("stiffness", stiffness), ("mass", mass)):
        if not hasattr(matrix, "tocsr"):
            require_array(key, matrix, ModelError)
    surface = no_lines(3) if faces is None else _rows("faces", faces, len(positions))
    if surface.size and (surface.ndim != 2 or surface.shape[1] not in (3, 4)):
        raise ModelError(
            "faces: must be rows of the nodes of triangles (f, 3) or quadrangles (f, 4), got "
            f"{surface.shape}"
        )
    model = ModalData(
        name, (), positions, mass, stiffness=stiffness, hub=hub_frame, tip=tip_frame,
        hub_nodes=_rows("hub", hub, len(positions)), tip_nodes=_rows("tip", tip, len(positions)),
        faces=triangles(surface) if surface.size else no_lines(3),
        frames={key: FrameData(nodes=_rows(f"frames[{key}]", rows, len(positions)))
                for key, rows in (frames or {}).items()},
    )  # fmt: skip
    findings, body = inspect_data(reduced_data(model, modes), Findings(name))
    if body is None:
        raise findings.refusal()
    return body


def reduced_data(model: ModalData, modes: int) -> ModalData:
    """Return the modal data of a finite-element model that is reduced as by `reduce`.

    The returned data are not checked yet.
    """
    positions = model.nodes
    if positions.ndim != 2 or positions.shape[1] != 3 or not np.all(np.isfinite(positions)):
        raise ModelError(
            f"nodes: must be an (N, 3) array of finite coordinates, got shape {positions.shape}"
        )
    if type(modes) is not int or not 0 <= modes <= MOST_MODES:
        raise ModelError(f"modes: must be a number from 0 to {MOST_MODES}, got {modes}")
    faces = {"hub": model.hub_nodes, "tip": model.tip_nodes}
    faces |= {name: frame.nodes for name, frame in model.frames.items()}
    ends = {key: _face(key, rows, positions) for key, rows in faces.items()}
    for one, other in combinations(ends, 2):
        if np.intersect1d(ends[one], ends[other]).size:
            raise ModelError(
                f"{one}, {other}: the two faces have nodes in common. Choose faces without a "
                "common node."
            )
    K = _full_matrix("stiffness", model.stiffness, 3 * len(positions))
    m = _scalar_mass(model.node_mass, len(positions))
    _refuse_grounded(K, positions)
    hub = model.hub or Pose(np.eye(3), positions[ends["hub"]].mean(axis=0))
    given = {"tip": model.tip} | {name: frame.pose for name, frame in model.frames.items()}
    poses = {
        key: pose or Pose(hub.rotation, positions[ends[key]].mean(axis=0))
        for key, pose in given.items()
    }
    shapes, modal_stiffness = _shapes(K, m, positions, list(ends.values()), hub, poses, modes)
    if not np.all(np.isfinite(shapes)):
        raise ModelError(
            "stiffness: the shapes computed from it are not finite. Check that its units match "
            "the mass."
        )
    motions = np.zeros((len(poses), len(shapes), 6))
    for k, motion in enumerate(motions):
        motion[6 * k : 6 * k + 6] = np.kron(np.eye(2), hub.rotation.T)
    statics = [f"{key}_{way}" for key in poses for way in WAYS]
    frames = {
        name: FrameData(poses[name], ends[name], motion)
        for name, motion in zip(model.frames, motions[1:], strict=True)
    }
    return replace(
        model, names=(*statics, *(f"fixed{k}" for k in range(1, modes + 1))), node_mass=m,
        shapes=shapes, stiffness=modal_stiffness, hub=hub, tip=poses["tip"], tip_shapes=motions[0],
        hub_nodes=ends["hub"], tip_nodes=ends["tip"], frames=frames,
    )  # fmt: skip


def _shapes(
    K: Sparse,
    m: Sparse,
    positions: Array,
    faces: list[Integers],
    hub: Pose,
    poses: Mapping[str, Pose],
    modes: int,
) -> tuple[Array, Array]:
    """Compute static shapes and modes with all faces fixed, (6 f + k, N, 3), and their stiffness.

    The first of the faces is that of the hub; ``poses`` are the frames of the f others.
    """
    from scipy.sparse import csc_array, kron
    from scipy.sparse.linalg import LinearOperator, eigsh, splu

    rows = [(3 * face[:, None] + np.arange(3)).ravel() for face in faces]
    free_nodes = np.setdiff1d(np.arange(len(positions)), np.concatenate(faces))
    free_rows = (3 * _elimination_order(K, positions, free_nodes)[:, None] + np.arange(3)).ravel()
    if modes >= len(free_rows):
        raise ModelError(
            f"modes: must be fewer than the {len(free_rows)} unknowns between the faces"
        )
    free_stiffness = csc_array(K[free_rows][:, free_rows])
    try:
        factor = splu(free_stiffness, permc_spec="NATURAL", options={"SymmetricMode": True},
                      diag_pivot_thresh=0.0)  # fmt: skip
    except RuntimeError:
        raise ModelError(
            "stiffness: is singular with all faces held. Check that all parts of the mesh are "
            "joined."
        ) from None
    rotation = np.kron(np.eye(2), hub.rotation)
    count = 6 * len(poses)
    shapes = np.zeros((3 * len(positions), count + modes))
    for k, (face, pose) in enumerate(zip(faces[1:], poses.values(), strict=True)):
        face_motion = rigid_columns(positions[face] - pose.position).reshape(-1, 6) @ rotation
        shapes[rows[k + 1], 6 * k : 6 * k + 6] = face_motion
        shapes[free_rows, 6 * k : 6 * k + 6] = -factor.solve(
            np.ascontiguousarray(K[free_rows][:, rows[k + 1]] @ face_motion)
        )
    if modes:
        weights = csc_array(kron(m, np.eye(3), format="csc")[free_rows][:, free_rows])
        solve = LinearOperator(free_stiffness.shape, matvec=factor.solve, dtype=np.float64)
        # The start vector is always the same, so that results are reproducible.
        start = np.cos(np.arange(len(free_rows)))
        try:
            shapes[free_rows, count:] = eigsh(
                free_stiffness, modes, weights, sigma=0.0, OPinv=solve, v0=start
            )[1]
        except RuntimeError as error:  # raised by ARPACK
            raise ModelError(
                "mass: the modes with both faces held cannot be computed "
                f"({str(error).partition(':')[0]}). Check that all masses between the faces are "
                "> 0, in units that match K."
            ) from None
    modal_stiffness = shapes.T @ (K @ shapes)
    # By theory, static shapes and modes with fixed faces are not coupled in stiffness.
    modal_stiffness[:count, count:] = modal_stiffness[count:, :count] = 0.0
    return shapes.T.reshape(count + modes, -1, 3), (modal_stiffness + modal_stiffness.T) / 2


def _elimination_order(K: Sparse, positions: Array, rows: Integers) -> Integers:
    """Return node indices in nested-dissection order, so that factors of K have little fill-in.

    The two halves of the mesh across its longest side come first, then the nodes between them.
    """
    from scipy.sparse import coo_array, csr_array

    pairs = coo_array(K)
    adjacency = (np.ones(pairs.nnz, dtype=np.float32), (pairs.row // 3, pairs.col // 3))
    graph = csr_array(coo_array(adjacency, shape=(len(positions),) * 2))
    mark = np.zeros(len(positions), dtype=np.float32)

    def order_part(part: Integers) -> list[Integers]:
        part_positions = positions[part]
        coordinate = (
            part_positions[:, np.argmax(np.ptp(part_positions, axis=0))]
            if len(part) > MOST_NODES_UNDIVIDED
            else part_positions[:0, 0]
        )
        is_low = coordinate < np.median(coordinate) if len(coordinate) else coordinate > 0
        if not is_low.any():
            return [part]
        lower_half, upper_half = part[is_low], part[~is_low]
        mark[lower_half] = 1.0
        is_interface = graph[upper_half] @ mark > 0
        mark[lower_half] = 0.0
        return [
            *order_part(lower_half),
            *order_part(upper_half[~is_interface]),
            upper_half[is_interface],
        ]

    return np.concatenate(order_part(rows))


def _rows(key: str, numbers: npt.ArrayLike, count: int) -> Integers:
    """Return node indices from 0 as integers; raise ModelError for indices out of range."""
    rows = require_array(key, numbers, ModelError)
    if np.any(rows != np.floor(rows)) or np.any((rows < 0) | (rows >= count)):
        raise ModelError(f"{key}: must be rows of nodes from 0 to {count - 1}")
    return rows.astype(np.int64)


def _face(key: str, rows: Integers, positions: Array) -> Integers:
    """Return the unique node indices of a face; raise ModelError if the nodes define no frame."""
    if not spans_a_frame(positions[rows]):
        raise ModelError(f"{key}: must be at least three nodes that are not on one line")
    return np.unique(rows)


def _full_matrix(key: str, matrix: Sparse, size: int) -> Sparse:
    """Return a symmetric sparse matrix in full, from a full matrix or an upper triangle.

    A ModelError is raised for a wrong shape, infinite entries or asymmetry.
    """
    from scipy.sparse import csr_array, tril, triu

    full = csr_array(matrix)
    if full.shape != (size, size):
        raise ModelError(
            f"{key}: must have the shape ({size}, {size}) for these nodes with three unknowns "
            f"each, got {full.shape}. Nodes with rotations (shells, beams) are not reduced "
            "here."
        )
    if not np.all(np.isfinite(full.data)):
        raise ModelError(f"{key}: must be finite numbers")
    if tril(full, -1).nnz == 0:
        return csr_array(full + triu(full, 1).T)
    difference = abs(full - full.T).max()
    if difference > 1e-6 * abs(full).max():
        raise ModelError(
            f"{key}: must be symmetric, but entries differ by {difference:.3g} from "
            "their mirrored ones"
        )
    return csr_array((full + full.T) / 2)


def _scalar_mass(mass: Sparse, count: int) -> Sparse:
    """Return the mass matrix of one direction, (N, N); raise ModelError if directions differ."""
    from scipy.sparse import csr_array, diags_array

    if isinstance(mass, np.ndarray) and mass.ndim == 1:
        if len(mass) != count or not np.all(np.isfinite(mass)):
            raise ModelError(f"mass: must be {count} finite numbers, one per node")
        return csr_array(diags_array(mass))
    if mass.shape == (count, count):
        return _full_matrix("mass", mass, count)
    full = _full_matrix("mass", mass, 3 * count)
    first = full[0::3][:, 0::3]
    size = abs(first).max()
    for a in range(3):
        for b in range(3):
            block = full[a::3][:, b::3]
            difference = abs(block - first).max() if a == b else abs(block).max()
            if difference > DIGITS * size:
                raise ModelError(
                    "mass: must be the same along x, y and z without coupling them, as for "
                    f"solid elements, but entries differ by {difference / size:.2g} of the largest "
                    "entry"
                )
    return csr_array(first)


def _refuse_grounded(K: Sparse, positions: Array) -> None:
    """Raise ModelError for a stiffness matrix that resists rigid-body motion."""
    largest = float(abs(K).max())
    if largest == 0:
        raise ModelError("stiffness: is zero. Give the stiffness matrix K of the elements.")
    rigid_motions = rigid_columns(positions - positions.mean(axis=0)).reshape(-1, 6)
    rigid_motions = rigid_motions / np.abs(rigid_motions).max(axis=0)
    worst = float(np.abs(K @ rigid_motions).max() / largest)
    if worst > SUM_DIGITS:
        raise ModelError(
            f"stiffness: must let the body move rigidly, but forces of {worst:.2g} of its "
            "largest entry resist. The body may be held, or the nodes may be in another order. "
            "Give K of the free body."
        )
