"""Craig-Bampton reduction of a finite-element model between two rigid faces.

The shapes are six static shapes, for unit motions of the tip face with the hub face fixed, and the
modes of lowest frequency with both faces fixed (Craig & Bampton 1968).
"""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from flexarm.arguments import require_array
from flexarm.errors import ModelError
from flexarm.links.imported.body import ReducedBody
from flexarm.links.imported.constants import DIGITS, MOST_MODES, SMALL_PART, SUM_DIGITS
from flexarm.links.imported.data import Integers, ModalData, no_lines, rigid_columns, spans_a_frame
from flexarm.links.imported.drawing import triangles
from flexarm.links.imported.file import inspect_data
from flexarm.links.imported.readers.plain import TIP_NAMES
from flexarm.links.imported.report import Findings
from flexarm.spatial import Array, Pose

Sparse = Any  # SciPy's matrices ship no types


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
    faces: npt.ArrayLike | None = None,
    name: str = "reduced body",
) -> ReducedBody:
    """Reduce a finite-element model to a checked body with 6 + `modes` amplitudes.

    Parameters
    ----------
    stiffness
        Stiffness matrix K of the unconstrained body, (3N, 3N), unknown 3k + direction; full, or its
        upper triangle.
    mass
        Mass matrix M: (3N, 3N) or, if equal in all directions, (N, N); full or upper triangle; or
        masses of the nodes, (N,) [kg].
    nodes
        Positions [m], (N, 3).
    hub, tip
        Indices from 0 of the nodes of the two faces; each face moves as one rigid body.
    modes
        Number of modes with both faces fixed.
    hub_frame, tip_frame
        Interface frames; None: at the mean of the face's nodes, the hub frame parallel to the axes
        of the nodes, the tip frame parallel to the hub frame.
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
    places = require_array("nodes", nodes, ModelError)
    for key, matrix in (("stiffness", stiffness), ("mass", mass)):
        if not hasattr(matrix, "tocsr"):
            require_array(key, matrix, ModelError)
    surface = no_lines(3) if faces is None else _rows("faces", faces, len(places))
    if surface.size and (surface.ndim != 2 or surface.shape[1] not in (3, 4)):
        raise ModelError(
            "faces: must be rows of the nodes of triangles (f, 3) or quadrangles (f, 4), got "
            f"{surface.shape}"
        )
    model = ModalData(
        name, (), places, mass, stiffness=stiffness, hub=hub_frame, tip=tip_frame,
        hub_nodes=_rows("hub", hub, len(places)), tip_nodes=_rows("tip", tip, len(places)),
        faces=triangles(surface) if surface.size else no_lines(3),
    )  # fmt: skip
    findings, body = inspect_data(reduced_data(model, modes), Findings(name))
    if body is None:
        raise findings.refusal()
    return body


def reduced_data(model: ModalData, modes: int) -> ModalData:
    """Return modal data of a finite-element model reduced as by `reduce`, still unchecked."""
    places = model.nodes
    if places.ndim != 2 or places.shape[1] != 3 or not np.all(np.isfinite(places)):
        raise ModelError(
            f"nodes: must be an (N, 3) array of finite coordinates, got shape {places.shape}"
        )
    if type(modes) is not int or not 0 <= modes <= MOST_MODES:
        raise ModelError(f"modes: must be a number from 0 to {MOST_MODES}, got {modes}")
    ends = [_face("hub", model.hub_nodes, places), _face("tip", model.tip_nodes, places)]
    if np.intersect1d(ends[0], ends[1]).size:
        raise ModelError(
            "hub, tip: the two faces have nodes in common. Choose faces without a common node."
        )
    K = _whole("stiffness", model.stiffness, 3 * len(places))
    m = _scalar_mass(model.node_mass, len(places))
    _refuse_grounded(K, places)
    hub = model.hub or Pose(np.eye(3), places[ends[0]].mean(axis=0))
    tip = model.tip or Pose(hub.rotation, places[ends[1]].mean(axis=0))
    shapes, reduced = _shapes(K, m, places, ends, hub, tip, modes)
    if not np.all(np.isfinite(shapes)):
        raise ModelError(
            "stiffness: the shapes computed from it are not finite. Check that its units match "
            "the mass."
        )
    tips = np.zeros((6 + modes, 6))
    tips[:6] = np.kron(np.eye(2), hub.rotation.T)
    return replace(
        model, names=(*TIP_NAMES, *(f"fixed{k}" for k in range(1, modes + 1))), node_mass=m,
        shapes=shapes, stiffness=reduced, hub=hub, tip=tip, tip_shapes=tips, hub_nodes=ends[0],
        tip_nodes=ends[1],
    )  # fmt: skip


def _shapes(
    K: Sparse, m: Sparse, places: Array, faces: list[Integers], hub: Pose, tip: Pose, modes: int
) -> tuple[Array, Array]:
    """Compute static shapes and fixed-interface modes, (6 + k, N, 3), and their stiffness."""
    from scipy.sparse import csc_array, kron
    from scipy.sparse.linalg import LinearOperator, eigsh, splu

    rows = [(3 * face[:, None] + np.arange(3)).ravel() for face in faces]
    between = np.setdiff1d(np.arange(len(places)), np.concatenate(faces))
    inner = (3 * _dissected(K, places, between)[:, None] + np.arange(3)).ravel()
    if modes >= len(inner):
        raise ModelError(
            f"modes: must be fewer than the {len(inner)} unknowns between the two faces"
        )
    inside = csc_array(K[inner][:, inner])
    try:
        factor = splu(inside, permc_spec="NATURAL", options={"SymmetricMode": True},
                      diag_pivot_thresh=0.0)  # fmt: skip
    except RuntimeError:
        raise ModelError(
            "stiffness: is singular with both faces held. Check that all parts of the mesh are "
            "joined."
        ) from None
    turn = np.kron(np.eye(2), hub.rotation)
    unit = rigid_columns(places[faces[1]] - tip.position).reshape(-1, 6) @ turn
    moved = np.zeros((3 * len(places), 6 + modes))
    moved[rows[1], :6] = unit
    moved[inner, :6] = -factor.solve(np.ascontiguousarray(K[inner][:, rows[1]] @ unit))
    if modes:
        weights = csc_array(kron(m, np.eye(3), format="csc")[inner][:, inner])
        solve = LinearOperator(inside.shape, matvec=factor.solve, dtype=np.float64)
        start = np.cos(np.arange(len(inner)))  # the same every time
        try:
            moved[inner, 6:] = eigsh(inside, modes, weights, sigma=0.0, OPinv=solve, v0=start)[1]
        except RuntimeError as error:  # of ARPACK
            raise ModelError(
                "mass: the modes with both faces held cannot be computed "
                f"({str(error).partition(':')[0]}). Check that all masses between the faces are "
                "> 0, in units that match K."
            ) from None
    reduced = moved.T @ (K @ moved)
    reduced[:6, 6:] = reduced[6:, :6] = 0.0  # static shapes and modes with faces held
    return moved.T.reshape(6 + modes, -1, 3), (reduced + reduced.T) / 2


def _dissected(K: Sparse, places: Array, rows: Integers) -> Integers:
    """Return node indices in nested-dissection order, so that factors of K have little fill-in.

    The two halves of the mesh across its longest side come first, then the nodes in between.
    """
    from scipy.sparse import coo_array, csr_array

    pairs = coo_array(K)
    near = (np.ones(pairs.nnz, dtype=np.float32), (pairs.row // 3, pairs.col // 3))
    graph = csr_array(coo_array(near, shape=(len(places),) * 2))
    mark = np.zeros(len(places), dtype=np.float32)

    def ordered(part: Integers) -> list[Integers]:
        at = places[part]
        along = at[:, np.argmax(np.ptp(at, axis=0))] if len(part) > SMALL_PART else at[:0, 0]
        low = along < np.median(along) if len(along) else along > 0
        if not low.any():
            return [part]
        half, rest = part[low], part[~low]
        mark[half] = 1.0
        touching = graph[rest] @ mark > 0
        mark[half] = 0.0
        return [*ordered(half), *ordered(rest[~touching]), rest[touching]]

    return np.concatenate(ordered(rows))


def _rows(key: str, numbers: npt.ArrayLike, count: int) -> Integers:
    """Return node indices from 0 as integers; raise ModelError for indices out of range."""
    rows = require_array(key, numbers, ModelError)
    if np.any(rows != np.floor(rows)) or np.any((rows < 0) | (rows >= count)):
        raise ModelError(f"{key}: must be rows of nodes from 0 to {count - 1}")
    return rows.astype(np.int64)


def _face(key: str, rows: Integers, places: Array) -> Integers:
    """Return the unique node indices of a face; raise ModelError for nodes that fix no frame."""
    if not spans_a_frame(places[rows]):
        raise ModelError(f"{key}: must be at least three nodes that are not on one line")
    return np.unique(rows)


def _whole(key: str, matrix: Sparse, size: int) -> Sparse:
    """Return a full symmetric sparse matrix, given in full or as its upper triangle.

    Raise ModelError for a wrong shape, infinite entries or asymmetry.
    """
    from scipy.sparse import csr_array, tril, triu

    whole = csr_array(matrix)
    if whole.shape != (size, size):
        raise ModelError(
            f"{key}: must have the shape ({size}, {size}) for these nodes with three unknowns "
            f"each, got {whole.shape}. Nodes with rotations (shells, beams) are not reduced "
            "here."
        )
    if not np.all(np.isfinite(whole.data)):
        raise ModelError(f"{key}: must be finite numbers")
    if tril(whole, -1).nnz == 0:
        return csr_array(whole + triu(whole, 1).T)
    apart = abs(whole - whole.T).max()
    if apart > 1e-6 * abs(whole).max():
        raise ModelError(
            f"{key}: must be symmetric, but entries differ by {apart:.3g} from their mirrored ones"
        )
    return csr_array((whole + whole.T) / 2)


def _scalar_mass(mass: Sparse, count: int) -> Sparse:
    """Return the mass matrix of one direction, (N, N); raise ModelError if directions differ."""
    from scipy.sparse import csr_array, diags_array

    if isinstance(mass, np.ndarray) and mass.ndim == 1:
        if len(mass) != count or not np.all(np.isfinite(mass)):
            raise ModelError(f"mass: must be {count} finite numbers, one per node")
        return csr_array(diags_array(mass))
    if mass.shape == (count, count):
        return _whole("mass", mass, count)
    whole = _whole("mass", mass, 3 * count)
    first = whole[0::3][:, 0::3]
    size = abs(first).max()
    for a in range(3):
        for b in range(3):
            block = whole[a::3][:, b::3]
            apart = abs(block - first).max() if a == b else abs(block).max()
            if apart > DIGITS * size:
                raise ModelError(
                    "mass: must be the same along x, y and z without coupling them, as for "
                    f"solid elements, but entries differ by {apart / size:.2g} of the largest "
                    "entry"
                )
    return csr_array(first)


def _refuse_grounded(K: Sparse, places: Array) -> None:
    """Raise ModelError for a stiffness matrix that resists rigid-body motion."""
    largest = float(abs(K).max())
    if largest == 0:
        raise ModelError("stiffness: is zero. Give the stiffness matrix K of the elements.")
    moved = rigid_columns(places - places.mean(axis=0)).reshape(-1, 6)
    moved = moved / np.abs(moved).max(axis=0)
    worst = float(np.abs(K @ moved).max() / largest)
    if worst > SUM_DIGITS:
        raise ModelError(
            f"stiffness: must let the body move rigidly, but forces of {worst:.2g} of its "
            "largest entry resist. The body may be held, or the nodes may be in another order. "
            "Give K of the free body."
        )
