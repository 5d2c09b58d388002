"""Full matrices of a finite-element model with its nodes and faces, from files."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from flexarm.arm.side_files import SideFiles
from flexarm.errors import ModelError
from flexarm.links.base import Array
from flexarm.links.reduced.data import Integers, no_lines, no_nodes
from flexarm.links.reduced.imports import content_of, read_frames, read_market
from flexarm.links.reduced.plain import (
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
            name=str(keys.get("name", self.name)),
            stiffness=mass / time**2 * self.stiffness,
            mass=mass * self.mass,
            nodes=length * self.nodes,
            hub=frame_of(keys, "hub", str(path), length) or self.hub,
            tip=frame_of(keys, "tip", str(path), length) or self.tip,
            faces=element_faces(keys, str(path)) if given else self.faces,
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
        str(keys.get("name", name)),
        mass / time**2 * upper_triangle(keys, "K", 3 * len(nodes), name),
        read_masses(keys, name, mass),
        length * nodes,
        node_rows(keys, "hub_nodes", name),
        node_rows(keys, "tip_nodes", name),
        frame_of(keys, "hub", name, length),
        frame_of(keys, "tip", name, length),
        element_faces(keys, name),
    )


def market_model(stiffness: Path, mass: Path, nodes: Path) -> FullModel:
    """Read K and M from Matrix Market files, and nodes from a table."""
    K, M = (read_market(path, sparse=True) for path in (stiffness, mass))
    try:
        text = content_of(nodes).decode("utf-8").splitlines()
        rows = [line.replace(",", " ").split() for line in text if line.strip()]
        if rows and not _is_number(rows[0][0]):
            rows = rows[1:]
        places = np.array([[float(word) for word in row[:3]] for row in rows])
    except ValueError:
        raise ModelError(f"{nodes}: must be three numbers per line, x, y, z") from None
    if M.shape[1] == 1:
        M = np.asarray(M).ravel()
    return FullModel(stiffness.stem, K, M, places, no_nodes(), no_nodes())


def listed_nodes(text: str, key: str, count: int) -> Integers:
    """Read a list of so many nodes, which count from 1, such as ``1-12,40``, as rows."""
    found: list[int] = []
    for word in text.split(","):
        first, _, last = word.strip().partition("-")
        if not first.isdecimal() or not (last or "1").isdecimal() or int(first) < 1:
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
