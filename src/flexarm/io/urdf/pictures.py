"""Surfaces of a URDF's links for pictures, in files beside the model file."""

import os
from pathlib import Path
from urllib.parse import unquote

import numpy as np

from flexarm.arm.side_files import read_regular
from flexarm.errors import ModelError
from flexarm.io.meshes import Surface, coarser, read_mesh, solid, write_stl
from flexarm.io.source import shorten
from flexarm.io.urdf.chain import Segment
from flexarm.io.urdf.document import Geometry, Robot, UrdfLink
from flexarm.spatial import Pose

LEVELS = 8  # folders above the URDF's that are searched for a package


def picture(
    robot: Robot, segment: Segment, root: Pose, urdf: Path, reasons: dict[str, list[str]]
) -> bytes | None:
    """Return the surface of a segment's links as an STL in a frame [m], None without geometry.

    The visual geometries of a link are drawn, or its collision geometries where a visual one cannot
    be read.  ``said`` collects the reasons, with the names of the links.
    """
    points, faces, count = [], [], 0
    for member in segment.members:
        pose = root.inverse() @ member.pose
        for places, corners in _seen(robot.links[member.name], urdf, reasons):
            points.append(places @ pose.rotation.T + pose.position)
            faces.append(corners + count)
            count += len(places)
    if not points:
        return None
    surface = coarser(np.concatenate(points), np.concatenate(faces))
    if not len(surface[1]):
        reasons.setdefault("not drawn, since it is too small", []).append(segment.name)
        return None
    return write_stl(*surface)


def _seen(link: UrdfLink, urdf: Path, reasons: dict[str, list[str]]) -> list[Surface]:
    """Return the visual surfaces of a link, or its collision surfaces if one cannot be read."""
    why: list[str] = []
    for role in ("visual", "collision"):
        surfaces, wrong = [], []
        for each in (each for each in link.looks if each.role == role):
            try:
                points, faces = _surface(each, urdf)
                surfaces.append((points @ each.pose.rotation.T + each.pose.position, faces))
            except ModelError as error:
                wrong.append(str(error))
        why += wrong
        if surfaces and not wrong:
            break
        surfaces = []
    if why:
        outcome = "drawn by what collides" if surfaces else "not drawn"
        reasons.setdefault(f"{outcome}, since {why[0]}", []).append(link.name)
    return surfaces


def _surface(geometry: Geometry, urdf: Path) -> Surface:
    """Return the surface of a geometry in its own frame."""
    if geometry.wrong:
        raise ModelError(geometry.wrong)
    sizes = np.array(geometry.sizes)
    if geometry.kind == "mesh":
        path = _found(geometry.file, urdf)
        try:
            points, faces = read_mesh(read_regular(path), path.name)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise ModelError(f"{shorten(geometry.file)} cannot be read: {reason}") from None
        return points * sizes, faces
    if not (sizes > 0).all():
        raise ModelError(f"its {geometry.kind} has no size")
    return solid(geometry.kind, sizes)


def _found(name: str, urdf: Path) -> Path:
    """Find a mesh: beside the URDF, at a path, or in a package above it; nothing is fetched."""
    kind, mark, rest = name.partition("://")
    above = [urdf.resolve().parent, *urdf.resolve().parent.parents][:LEVELS]
    if not mark:
        tried = [above[0] / kind]
    elif kind == "file":
        tried = [Path(unquote(rest))]
    elif kind in ("package", "model"):
        tried = [folder / part for part in (rest, rest.partition("/")[2]) for folder in above]
    else:
        raise ModelError(f"{shorten(name)} is not fetched: give a file")
    path = next((each for each in tried if os.path.isfile(each)), None)
    if path is None:
        raise ModelError(f"there is no file {shorten(name)}")
    return path
