"""Small robots as URDFs, and what they should weigh, from the numbers themselves."""

from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from flexarm.spatial import Array

Parts = dict[str, tuple[Any, ...]]
# name: parent link, xyz, rpy, axis (None: fixed), mass, com, rpy of the inertia, its six numbers
PARTS: Parts = {
    "upper": ("base_link", (0.1, 0, 0.3), (0.3, -0.2, 0.5), (0, 0, 1), 4.0, (0.05, 0.02, 0.2),
              (0.4, 0, 0.1), (0.09, 0.002, 0.001, 0.08, 0.003, 0.02)),
    "lower": ("upper", (0.05, 0.02, 0.5), (1.2, 0.1, -0.7), (0, 1, 1), 2.5, (0.2, 0.01, 0.0),
              (0, 0.3, 0), (0.01, 0.001, 0.0, 0.06, 0.0, 0.06)),
    "flange": ("lower", (0.4, 0, 0), (0, 0.4, 0), None, 0.5, (0, 0, 0.05), (0, 0, 0),
               (0.002, 0, 0, 0.002, 0, 0.001)),
    "slide": ("flange", (0, 0, 0.1), (0, 0, 0.2), (0, 0, 1), 0.8, (0, 0.03, 0.1), (0.1, 0.2, 0.3),
              (0.004, 0, 0, 0.003, 0, 0.002)),
    "tool": ("slide", (0, 0, 0.2), (0.1, 0, 0), None, 0.3, (0, 0, 0.02), (0, 0, 0),
             (0.001, 0, 0, 0.001, 0, 0.001)),
    "jaw": ("slide", (0.02, 0, 0.25), (0, 0, 0.1), (1, 0, 0), 0.1, (0, 0.01, 0.02), (0, 0, 0),
            (1e-4, 0, 0, 1e-4, 0, 1e-4)),
}  # fmt: skip
SLIDES = ("slide", "jaw")
KEYS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
CHAIN = ("upper", "lower", "slide")
# An arm aside, on the upper link, and the order of all joints: those towards the tip are last.
ASIDE: Parts = {
    "side": ("upper", (0, 0.1, 0.2), (0.2, 0.4, 0), (0, 1, 0), 1.5, (0.1, 0, 0.05), (0, 0, 0),
             (0.01, 0, 0, 0.02, 0, 0.03)),
    "hand": ("side", (0.3, 0, 0), (0, 0, 0.3), (1, 0, 1), 0.4, (0, 0.02, 0.1), (0, 0, 0),
             (0.001, 0, 0, 0.002, 0, 0.003)),
}  # fmt: skip
TREE = ("upper", "side", "hand", "lower", "slide", "jaw")


def urdf(extra: str = "", head: str = "", parts: Parts = PARTS) -> str:
    """Write the robot: three joints in a chain, a fixed flange and tool, a jaw aside."""
    lines = [f'{head}<robot name="small robot">', '<link name="base_link"/>']
    for name, (parent, xyz, rpy, axis, mass, com, turn, inertia) in parts.items():
        numbers = " ".join(f'{k}="{v}"' for k, v in zip(KEYS, inertia, strict=True))
        kind = "fixed" if axis is None else "prismatic" if name in SLIDES else "revolute"
        lines += [
            f'<link name="{name}"><inertial><origin xyz="{_text(com)}" rpy="{_text(turn)}"/>'
            f'<mass value="{mass}"/><inertia {numbers}/></inertial></link>',
            f'<joint name="to_{name}" type="{kind}"><parent link="{parent}"/>'
            f'<child link="{name}"/><origin xyz="{_text(xyz)}" rpy="{_text(rpy)}"/>'
            + ("" if axis is None else f'<axis xyz="{_text(axis)}"/>'
               '<limit lower="-1.5" upper="2" velocity="3" effort="50"/>') + "</joint>",
        ]  # fmt: skip
    return "\n".join([*lines, extra, "</robot>"])


def _text(values: tuple[float, ...]) -> str:
    return " ".join(map(str, values))


def write(folder: Path, text: str, name: str = "robot.urdf") -> Path:
    """Write a file and give its path."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def poses(q: Array, chain: tuple[str, ...] = CHAIN, parts: Parts = PARTS) -> dict[str, Array]:
    """Place all links of the robot at coordinates of its joints, by the table: matrices (4, 4)."""
    found = {"base_link": np.eye(4)}
    at = dict(zip(chain, q, strict=True))
    for name, (parent, xyz, rpy, axis, *_) in parts.items():
        placed, moved = np.eye(4), np.eye(4)
        placed[:3, :3] = Rotation.from_euler("xyz", rpy).as_matrix()
        placed[:3, 3] = xyz
        if name in at and name in SLIDES:
            moved[:3, 3] = np.array(axis) / np.linalg.norm(axis) * at[name]
        elif name in at:
            way = np.array(axis) / np.linalg.norm(axis) * at[name]
            moved[:3, :3] = Rotation.from_rotvec(way).as_matrix()
        found[name] = found[parent] @ placed @ moved
    return found


def mass_matrix(q: Array, chain: tuple[str, ...] = CHAIN, parts: Parts = PARTS) -> Array:
    """Sum J^T m J over the links of the table; J by differences that are exact to rounding."""
    step, n = 1e-5, len(q)
    total = np.zeros((n, n))
    ahead = [[poses(q + s * step * e, chain, parts) for s in (1, -1, 2, -2)] for e in np.eye(n)]
    for name, (*_, mass, com, turn, inertia) in parts.items():
        xx, xy, xz, yy, yz, zz = inertia
        own = Rotation.from_euler("xyz", turn).as_matrix()
        here = poses(q, chain, parts)[name]
        world = here[:3, :3] @ own
        matrix = world @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ world.T
        linear, angular = np.zeros((3, n)), np.zeros((3, n))
        for k, four in enumerate(ahead):
            plus, minus, far, back = (each[name] for each in four)
            rate = (8 * (plus - minus) - (far - back)) / (12 * step)
            linear[:, k] = (rate @ np.array([*com, 1.0]))[:3]
            spin = rate[:3, :3] @ here[:3, :3].T
            angular[:, k] = spin[2, 1], spin[0, 2], spin[1, 0]
        total += mass * linear.T @ linear + angular.T @ matrix @ angular
    return total
