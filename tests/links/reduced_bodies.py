"""Small bodies for tests: a bent block of springs and point masses, made here, nothing read."""

from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from flexarm.arm import Arm
from flexarm.arm.side_files import SideFiles
from flexarm.errors import ModelError
from flexarm.links.imported.file import inspect_body

Array = NDArray[np.float64]


def lattice(cells: int = 4) -> tuple[Array, Array, Array]:
    """Make a bent square bar of point masses joined by springs.

    Returns
    -------
    nodes, stiffness, mass
        Places (N, 3), K (3N, 3N) with six rigid motions free, masses (N,).
    """
    side = 0.2 / cells
    corners = [(x, y, z) for x in range(cells + 1) for y in range(2) for z in range(2)]
    nodes = side * np.array(corners, dtype=float)
    along = nodes[:, 0].copy()
    nodes[:, 1] += 1.5 * along**2  # it is bent, and its tip is off the x axis
    nodes[:, 2] -= 0.8 * along
    nodes[:, 1:] -= nodes[:4, 1:].mean(axis=0)
    stiffness = np.zeros((3 * len(nodes),) * 2)
    for a in range(len(nodes)):
        for b in range(a):
            way = nodes[a] - nodes[b]
            length = float(np.linalg.norm(way))
            if length < 2.1 * side:
                block = 4e4 / length * np.outer(way, way) / length**2
                for i, j, sign in ((a, a, 1), (b, b, 1), (a, b, -1), (b, a, -1)):
                    stiffness[3 * i : 3 * i + 3, 3 * j : 3 * j + 3] += sign * block
    return nodes, stiffness, 0.02 + 0.01 * np.cos(np.arange(len(nodes)))


def rigid(nodes: Array, origin: Array) -> Array:
    """Displace nodes by unit motions of a frame, (3N, 6)."""
    columns = [np.tile(axis, len(nodes)) for axis in np.eye(3)]
    columns += [np.cross(axis, nodes - origin).ravel() for axis in np.eye(3)]
    return np.stack(columns, axis=1)


def craig_bampton(fixed: int = 4, cells: int = 4) -> dict[str, Any]:
    """Reduce the lattice by hand: hub face held, tip face rigid; a body in the plain form."""
    nodes, stiffness, mass = lattice(cells)
    hub, tip = np.arange(4), np.arange(len(nodes) - 4, len(nodes))
    origin = nodes[tip].mean(axis=0)
    inner = np.setdiff1d(np.arange(len(nodes)), np.concatenate([hub, tip]))
    rows = (3 * inner[:, None] + np.arange(3)).ravel()
    ends = (3 * tip[:, None] + np.arange(3)).ravel()
    moved = np.zeros((len(stiffness), 6 + fixed))
    moved[ends, :6] = rigid(nodes[tip], origin)
    inside = stiffness[np.ix_(rows, rows)]
    moved[rows, :6] = -np.linalg.solve(inside, stiffness[np.ix_(rows, ends)] @ moved[ends, :6])
    weights = np.repeat(mass, 3)
    moved[rows, 6:] = scipy.linalg.eigh(inside, np.diag(weights[rows]))[1][:, :fixed]
    turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    tips = np.zeros((6 + fixed, 6))
    tips[:6] = np.eye(6)
    return {
        "nodes": nodes,
        "node_mass": mass,
        "shapes": moved.T.reshape(6 + fixed, -1, 3),
        "K": moved.T @ stiffness @ moved,
        "tip_shapes": tips,
        "tip_position": origin,
        "tip_rotation": turn,
        "hub_nodes": hub + 1,
        "tip_nodes": tip + 1,
        "total_mass": mass.sum(),
    }


def clamped(count: int = 5) -> dict[str, Any]:
    """Give the lattice by modes with its hub held and its tip free, from the reduced body."""
    body = craig_bampton(8)
    flat = body["shapes"].reshape(14, -1)
    mass = flat @ (np.repeat(body["node_mass"], 3) * flat).T
    squares, modes = scipy.linalg.eigh(body["K"], mass)
    modes = modes[:, :count]
    given = {key: body[key] for key in ("nodes", "node_mass", "tip_position", "hub_nodes")}
    return given | {
        "shapes": (modes.T @ flat).reshape(count, -1, 3),
        "frequencies": np.sqrt(squares[:count]) / (2 * np.pi),
        "tip_nodes": body["tip_nodes"],
    }


def arm_with(folder: Path, *bodies: dict[str, Any], **keys: Any) -> Arm:
    """Make an arm of revolute joints about turning axes, one body each."""
    axes = ([0, 0, 1], [0, 1, 0.3])
    links = []
    for k, body in enumerate(bodies):
        np.savez(folder / f"body{k}.npz", **body)
        joint = {"kind": "revolute", "axis": axes[k % 2]}
        links.append({"joint": joint, "body": {"kind": "modal", "file": f"body{k}.npz"}})
    data = {"flexarm": 1, "name": "bodies", "links": links, **keys}
    return Arm.model_validate(data, context={"files": SideFiles.beside(folder)})


def said(folder: Path, keys: dict[str, Any]) -> str:
    """Give what is said about a body: why it is refused, or what is noted."""
    path = folder / "body.npz"
    np.savez(path, **keys)
    try:
        report, body = inspect_body(path)
    except ModelError as error:
        return f"refused: {error}"
    if body is None:
        return "refused: " + " ".join(report.errors)
    return "noted: " + " ".join(report.notes)
