"""Full matrices of a finite-element model with its nodes and faces, from files."""

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from flexarm.arm.side_files import SideFiles
from flexarm.errors import ModelError
from flexarm.links.base import Array
from flexarm.links.imported.data import Integers, Units, no_lines, no_nodes
from flexarm.links.imported.imports import content_of, read_frames
from flexarm.links.imported.readers.market import dense, market_head, read_market
from flexarm.links.imported.readers.plain import (
    body_name,
    element_faces,
    frame_of,
    node_rows,
    numbers_of,
    read_keys,
    read_masses,
    read_units,
    upper_triangle,
    with_frames,
)
from flexarm.spatial import Pose

NODE = re.compile(r"0*[1-9][0-9]{0,17}")  # number of a node


@dataclass(frozen=True, eq=False)
class FullModel:
    """A finite-element model: K (3N, 3N) and M in their own units until frames are known."""

    name: str  # of the model
    # stiffness, mass, nodes: as `flexarm.reduce` takes them.
    stiffness: Any
    mass: Any
    nodes: Array
    # hub_nodes, tip_nodes: rows of the faces.
    hub_nodes: Integers
    tip_nodes: Integers
    # hub, tip: interface frames, or None.
    hub: Pose | None = None
    tip: Pose | None = None
    units: Units = (1.0, 1.0, 1.0)  # that the files are in
    # Rows of the nodes of triangles of the surface, (f, 3).
    faces: Integers = field(default_factory=lambda: no_lines(3))

    def with_frames(self, path: Path | None) -> "FullModel":
        """Take frames and units from a JSON file; as it is if there is none."""
        if path is None:
            return self
        keys = with_frames(read_frames(path))
        given = "faces" in keys or "elements" in keys
        length, mass, time = read_units(keys, str(path))
        return replace(
            self,
            name=body_name(keys, self.name),
            stiffness=mass / time**2 * self.stiffness,
            mass=mass * self.mass,
            nodes=length * self.nodes,
            hub=frame_of(keys, "hub", str(path), length) or self.hub,
            tip=frame_of(keys, "tip", str(path), length) or self.tip,
            faces=element_faces(keys, str(path)) if given else self.faces,
            units=(length, mass, time) if "units" in keys else self.units,
        )

    def with_faces(self, hub: str | None, tip: str | None) -> "FullModel":
        """Take lists of nodes, such as ``1-12,40``, for the faces."""
        faces = {
            key: rows if text is None else listed_nodes(text, key, len(self.nodes))
            for key, text, rows in (("hub", hub, self.hub_nodes), ("tip", tip, self.tip_nodes))
        }
        for key, rows in faces.items():
            if not len(rows):
                raise ModelError(f"{key}_nodes: are required: the nodes of the {key}'s face")
        return replace(self, hub_nodes=faces["hub"], tip_nodes=faces["tip"])


def full_model(path: Path) -> FullModel:
    """Read a model in the plain form: nodes, K_indptr .. of the upper triangle, masses, faces."""
    keys, name = with_frames(read_keys(SideFiles(path.parent).read(path.name))), str(path)
    length, mass, time = read_units(keys, name)
    nodes = numbers_of(keys, "nodes", name)
    return FullModel(
        body_name(keys, name),
        mass / time**2 * upper_triangle(keys, "K", 3 * len(nodes), name),
        read_masses(keys, name, mass),
        length * nodes,
        node_rows(keys, "hub_nodes", name).ravel(),
        node_rows(keys, "tip_nodes", name).ravel(),
        frame_of(keys, "hub", name, length),
        frame_of(keys, "tip", name, length),
        (length, mass, time),
        element_faces(keys, name),
    )


def market_model(stiffness: Path, mass: Path, nodes: Path) -> FullModel:
    """Read K and M from Matrix Market files, and nodes from a table."""
    try:
        text = content_of(nodes).decode("utf-8").splitlines()
        rows = [line.replace(",", " ").split() for line in text if line.strip()]
        if rows and not _is_number(rows[0][0]):
            rows = rows[1:]
        places = np.array([[float(word) for word in row[:3]] for row in rows])
        if places.ndim != 2 or places.shape[1] != 3:
            raise ValueError
    except ValueError:
        raise ModelError(f"{nodes}: must be three numbers per line, x, y, z") from None
    n = len(places)
    K = _market_of(stiffness, n, (3 * n, 3 * n))
    M = _market_of(mass, n, (3 * n, 3 * n), (n, n), (n, 1))
    M = dense(M).ravel() if M.shape[1] == 1 else M
    return FullModel(stiffness.stem, K, M, places, no_nodes(), no_nodes())


def _market_of(path: Path, nodes: int, *shapes: tuple[int, int]) -> Any:
    """Read a Matrix Market file of one of some shapes; its head is read first."""
    content = content_of(path)
    shape = market_head(content, str(path)).shape
    if shape not in shapes:
        raise ModelError(
            f"{path}: must be {' or '.join(map(str, shapes))} for {nodes} nodes with three "
            f"unknowns each, got {shape}: nodes with rotations (shells, beams) are not reduced here"
        )
    return read_market(content, str(path))


def listed_nodes(text: str, key: str, count: int) -> Integers:
    """Read a list of so many nodes, which count from 1, such as ``1-12,40``, as rows."""
    found: list[int] = []
    for word in text.split(","):
        first, _, last = word.strip().partition("-")
        if not NODE.fullmatch(first) or not NODE.fullmatch(last or "1"):
            raise ModelError(f"{key}_nodes: must be numbers of nodes such as 1-12,40, got {word!r}")
        if last and int(last) < int(first):
            raise ModelError(f"{key}_nodes: {word.strip()} runs backwards: write {last}-{first}")
        if int(last or first) > count:
            raise ModelError(f"{key}_nodes: must be among the {count} nodes, got {word.strip()}")
        found.extend(range(int(first) - 1, int(last or first)))
    return np.array(found, dtype=np.int64)


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
