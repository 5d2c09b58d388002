"""Triangle meshes for display: reading of STL, OBJ and COLLADA, writing of STL, coarsening."""

import re
from collections.abc import Iterator
from itertools import pairwise, product
from xml.etree import ElementTree as ET

import numpy as np
import numpy.typing as npt

from flexarm.errors import ModelError
from flexarm.io.constants import (
    CIRCLE_SIDES,
    DRAWN_TRIANGLES,
    LARGEST_CORNER,
    MOST_MESH_PARTS,
    MOST_TRIANGLES,
)
from flexarm.io.source import shorten
from flexarm.spatial import Array

RECORD = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("more", "<u2")])
Integers = npt.NDArray[np.int64]
Surface = tuple[Array, Integers]  # points (N, 3) and triangles (F, 3)


def read_mesh(content: bytes, name: str) -> Surface:
    """Read an STL (binary or text), OBJ or COLLADA file as points (N, 3) and triangles (F, 3).

    Raises
    ------
    ModelError
        If the file is of another kind, broken, too large, or without triangles. The error message
        names the file.
    """
    ending = name.rpartition(".")[2].lower()
    kinds = {"stl": _stl, "obj": _obj, "dae": _dae}
    if ending not in kinds:
        raise ModelError(
            f"a mesh must be an STL, OBJ or DAE file, got .{shorten(ending)}. Convert it."
        )
    try:
        points, faces = kinds[ending](content)
        if not len(faces):
            raise ModelError("the mesh has no triangle")
        if len(faces) > MOST_TRIANGLES:
            raise ModelError(
                f"the mesh has {len(faces):,} triangles, more than {MOST_TRIANGLES:,}. Decimate it."
            )
        # the comparison is false for NaN coordinates too
        if not (np.abs(points) < LARGEST_CORNER).all():
            raise ModelError(
                f"the mesh has a corner that is not a number, or is beyond {LARGEST_CORNER:g}"
            )
    except ModelError as error:
        raise ModelError(f"{shorten(name)}: {error}") from None
    return points, faces


def _stl(content: bytes) -> Surface:
    count = int.from_bytes(content[80:84], "little")
    size = 84 + RECORD.itemsize * count
    if len(content) >= 84 and size == len(content):
        corners = np.frombuffer(content, RECORD, count, 84)["corners"].reshape(-1, 3).astype(float)
    elif content[:5] == b"solid" and b"facet" in content[:2000]:
        rows = [
            line.split()[1:] for line in content.splitlines() if line.split()[:1] == [b"vertex"]
        ]
        corners = _numbers(rows)
        if len(corners) % 3:
            raise ModelError("the file ends within a triangle. Was it cut off?")
    else:
        raise ModelError(
            f"the file is not an STL: {count:,} triangles take {size:,} bytes, and it has "
            f"{len(content):,}. Was it cut off, or is it of another kind?"
        )
    return corners, np.arange(len(corners)).reshape(-1, 3)


def _obj(content: bytes) -> Surface:
    rows, faces = [], []
    for line in content.splitlines():
        words = line.split()
        if words[:1] == [b"v"]:
            rows.append(words[1:4])
        elif words[:1] == [b"f"]:
            try:
                indices = [int(word.partition(b"/")[0]) for word in words[1:]]
            except ValueError:
                raise ModelError(
                    f"the mesh has a face that cannot be read: {shorten(repr(line))}"
                ) from None
            indices = [k - 1 if k > 0 else len(rows) + k for k in indices]
            faces += [[indices[0], a, b] for a, b in pairwise(indices[1:])]
    points, is_broken = _numbers(rows), False
    try:
        corners = np.array(faces, dtype=np.int64).reshape(-1, 3)
        is_broken = bool(len(corners)) and not 0 <= corners.min() <= corners.max() < len(points)
    except OverflowError:
        is_broken = True
    if is_broken:
        raise ModelError(
            "the mesh has a face with a point that is not in the file. Was the file cut off?"
        )
    return points, corners


def _dae(content: bytes) -> Surface:
    """Return the mesh of a COLLADA scene in metres.

    The up axis of the file is ignored, as URDF programs do.
    """
    text = content.decode("utf-8-sig", errors="replace")
    if re.search(r"<!\s*(DOCTYPE|ENTITY)", text, re.IGNORECASE):
        raise ModelError(
            "the file declares a document type, which is refused because its entities may "
            "expand without end"
        )
    points, faces, count = [np.zeros((0, 3))], [np.zeros((0, 3), dtype=np.int64)], 0
    try:
        root = ET.fromstring(re.sub(r'\sxmlns="[^"]*"', "", text, count=1))
        elements = {element.get("id", ""): element for element in root.iter()}
        unit = root.find("asset/unit")
        scale = np.eye(4) * float("1" if unit is None else unit.get("meter", "1"))
        for scene in root.findall("library_visual_scenes/visual_scene")[:1]:
            for transform, part in _placed(scene, scale, elements, 0):
                corners, triangles = _polygons(part, elements)
                points.append(corners @ transform[:3, :3].T + transform[:3, 3])
                faces.append(triangles + count)
                count += len(corners)
                if len(points) > MOST_MESH_PARTS or count > 3 * MOST_TRIANGLES:
                    raise ModelError(
                        f"the mesh has over {MOST_MESH_PARTS:,} parts or {MOST_TRIANGLES:,} "
                        "triangles"
                    )
    except (ET.ParseError, ValueError, LookupError, TypeError, AttributeError, OverflowError):
        raise ModelError("the file is not COLLADA 1.4. Was it cut off?") from None
    return np.concatenate(points), np.concatenate(faces)


def _placed(
    node: ET.Element, transform: Array, elements: dict[str, ET.Element], depth: int
) -> Iterator[tuple[Array, ET.Element]]:
    """Yield the polygon lists of a scene node and its children, with 4 x 4 transformations."""
    for child in node if depth < 64 else ():
        if child.tag in ("matrix", "translate", "scale", "rotate"):
            values, step = np.array((child.text or "").split()[:16], dtype=float), np.eye(4)
            if child.tag == "translate":
                step[:3, 3] = values
            elif child.tag == "rotate":
                cross, angle = np.cross(values[:3], np.eye(3)).T, np.radians(values[3])
                step[:3, :3] += np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross
            transform = transform @ (values.reshape(4, 4) if child.tag == "matrix" else step)
            transform = transform * [*values, 1.0] if child.tag == "scale" else transform
        elif child.tag == "instance_geometry":
            mesh = elements[child.get("url", "")[1:]].iterfind("mesh/*")
            yield from ((transform, part) for part in mesh if part.tag in ("triangles", "polylist"))
        elif child.tag == "node":
            yield from _placed(child, transform, elements, depth + 1)


def _polygons(part: ET.Element, elements: dict[str, ET.Element]) -> Surface:
    inputs = {entry.get("semantic"): dict(entry.items()) for entry in part.iterfind("input")}
    width = 1 + max(int(entry["offset"]) for entry in inputs.values())
    (position_input,) = elements[inputs["VERTEX"]["source"][1:]].iterfind(
        "input[@semantic='POSITION']"
    )
    words = elements[position_input.get("source", "")[1:]].findtext("float_array", "").split()
    table = np.array(part.findtext("p", "").split(), dtype=np.int64).reshape(-1, width)
    indices = table[:, int(inputs["VERTEX"]["offset"])]
    points = np.array(words, dtype=float).reshape(-1, 3)
    counts = part.findtext("vcount", "").split() or ["3"] * (len(indices) // 3)
    ends = [0, *np.cumsum([int(entry) for entry in counts]).tolist()]
    faces = [
        (indices[a], indices[k], indices[k + 1])
        for a, b in pairwise(ends)
        for k in range(a + 1, b - 1)
    ]
    if len(indices) and not (0 <= indices.min() <= indices.max() < len(points)):
        raise ValueError
    return points, np.array(faces, dtype=np.int64).reshape(-1, 3)


def _numbers(rows: list[list[bytes]]) -> Array:
    try:
        return np.array(rows, dtype=float).reshape(-1, 3)
    except (ValueError, OverflowError):
        raise ModelError("the mesh has a corner that is not three numbers") from None


def write_stl(points: Array, faces: Integers) -> bytes:
    """Return a mesh, points (N, 3) and triangles (F, 3), as the bytes of a binary STL file."""
    records = np.zeros(len(faces), RECORD)
    records["corners"] = points[faces]
    return b"flexarm".ljust(80) + len(faces).to_bytes(4, "little") + records.tobytes()


def coarser(points: Array, faces: Integers, most: int = DRAWN_TRIANGLES) -> Surface:
    """Return a mesh with at most ``most`` triangles, by merging points within grid cells."""
    corner, size = points.min(axis=0), float(np.ptp(points, axis=0).max()) or 1.0
    cell = 1e-7 * size
    while True:
        keys = np.floor((points - corner) / cell).astype(np.int64)
        _, first_points, cells = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        counts = np.bincount(cells.ravel())
        centres = np.stack([np.bincount(cells.ravel(), points[:, k]) / counts for k in range(3)], 1)
        merged = cells.ravel()[faces]
        degenerate = (merged == np.roll(merged, 1, axis=1)).any(axis=1)
        merged = merged[~degenerate]
        _, first_triangles = np.unique(np.sort(merged, axis=1), axis=0, return_index=True)
        merged = merged[np.sort(first_triangles)]
        if len(merged) <= most or len(first_points) <= 4:
            return centres, merged
        cell = max(1.25 * cell, size / 250)


def solid(kind: str, sizes: Array) -> Surface:
    """Return the surface mesh of a box, cylinder or sphere centred at the origin.

    Parameters
    ----------
    kind
        ``box``, ``cylinder`` (along z) or ``sphere``.
    sizes
        Three sides of a box; radius and length of a cylinder; radius of a sphere [m].
    """
    from scipy.spatial import ConvexHull

    angles = np.linspace(0, 2 * np.pi, CIRCLE_SIDES, endpoint=False)
    latitudes = np.linspace(-np.pi / 2, np.pi / 2, CIRCLE_SIDES // 2 + 1)
    rings = {
        "sphere": zip(np.cos(latitudes), np.sin(latitudes), strict=True),
        "cylinder": [(1, -0.5), (1, 0.5)],
    }
    if kind == "box":
        points = np.array(list(product((-0.5, 0.5), repeat=3)))
    else:
        points = np.array(
            [(r * np.cos(a), r * np.sin(a), z) for r, z in rings[kind] for a in angles]
        )
        sizes = np.array([sizes[0], sizes[0], sizes[-1]])
    faces = ConvexHull(points).simplices.astype(np.int64)
    inverted = np.linalg.det(points[faces]) < 0
    return points * sizes, np.where(inverted[:, None], faces[:, ::-1], faces)
