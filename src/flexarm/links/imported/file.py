"""Files of bodies with modes: read with every check, and written so that they are small."""

import io
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from flexarm.arguments import require_path
from flexarm.arm.side_files import SideFile, SideFiles
from flexarm.errors import ModelError
from flexarm.io.whole_file import write_whole
from flexarm.links.base import Shapes
from flexarm.links.imported.body import Drawn, ReducedBody
from flexarm.links.imported.data import ModalData
from flexarm.links.imported.examine import check_whole, examine, finished
from flexarm.links.imported.line import examine_line
from flexarm.links.imported.readers.plain import (
    ArrayReader,
    Shape,
    arrays_beside,
    plain_data,
    read_arrays,
)
from flexarm.links.imported.readers.stations import read_stations
from flexarm.links.imported.readers.superelements import LARGEST
from flexarm.links.imported.report import Findings
from flexarm.links.imported.second_order import SecondOrder
from flexarm.links.imported.superelement import examine_superelement
from flexarm.links.integrals import Integrals
from flexarm.links.span import Span

VERSION = 1
REMEMBERED = 16
MODAL: Shape = ("shapes", "shapes")
MOMENTS: dict[str, Shape] = {
    "mass": (), "first": (3,), "second": (3, 3), "shape": (3, "shapes"),
    "position_shape": ("shapes", 3, 3), "shape_shape": (*MODAL, 3, 3), "rotary": (3, 3),
    "rotary_shape": (3, "shapes"), "rotary_modal": MODAL, "modal_mass": MODAL, "stiffness": MODAL,
}  # fmt: skip
SECOND_ORDER: dict[str, Shape] = {
    "first": (3, *MODAL), "second": (3, 3, *MODAL), "tip": (3, *MODAL), "tip_angle": (3, *MODAL),
}  # fmt: skip


def read_body(file: str | Path | SideFile) -> ReducedBody:
    """Read a body that passes every check.

    Parameters
    ----------
    file
        An NPZ or JSON file, or where it is.

    Raises
    ------
    ModelError
        With one line per mistake.
    """
    findings, body = inspect_body(file)
    if body is None:
        raise findings.refusal()
    return body


def inspect_body(file: str | Path | SideFile) -> tuple[Findings, ReducedBody | None]:
    """Check a body; as `read_body`, but faults are in the report."""
    side = open_side(file)
    arrays = arrays_beside(side)
    return _inspected(str(side.path), side.content, None if arrays is None else arrays.content)


def open_side(file: str | Path | SideFile) -> SideFile:
    """Read a file by its name, unless it is read already."""
    if isinstance(file, SideFile):
        return file
    path = require_path("file", file, ModelError)
    try:
        return SideFiles(path.parent).read(path.name)
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from None


@lru_cache(maxsize=REMEMBERED)
def _inspected(
    name: str, content: bytes, arrays: bytes | None
) -> tuple[Findings, ReducedBody | None]:
    keys = read_arrays(content, name)
    if arrays is not None:
        keys = {**keys, **read_arrays(arrays, name)}
    findings = Findings(name, name)
    if "flexarm_body" not in keys:
        return inspect_data(plain_data(keys, name, findings), findings)
    body = _unpacked(ArrayReader(keys, findings), name)
    if body is None:
        return findings, None
    findings.title = body.name
    check_whole(findings, body)
    if findings.problems:
        return findings, None
    return findings, finished(body, findings, ("stiffness",), modal=False)


def inspect_data(data: ModalData, findings: Findings) -> tuple[Findings, ReducedBody | None]:
    """Check modal data of a body, unless something is wrong with them already."""
    findings.title, body = data.name, None
    if not findings.problems:
        body = (examine if len(data.nodes) else examine_superelement)(data, findings)
    return findings, body


def inspect_stations(file: str | Path | SideFile, span: Span) -> tuple[Findings, Shapes | None]:
    """Check modal data at stations of a flexible span.

    Parameters
    ----------
    file
        The file; or where it is, with its station table beside it or below.
    span
        The flexible span that they are for.

    Returns
    -------
    findings, shapes
        The report, its faults included; None for the shapes if they are refused.

    Raises
    ------
    ModelError
        If the file cannot be read, or its keys do not fit.
    """
    data, findings = read_stations(open_side(file))
    shapes = None if findings.problems else examine_line(data, findings, span)
    findings.title = f"{data.name}: {len(data.names)} modes at {len(data.nodes)} stations"
    return findings, None if findings.problems else shapes


def write_body(path: str | Path, body: ReducedBody, *, force: bool = False) -> None:
    """Write a body as an NPZ file: its moments, matrices and interfaces, and points to draw."""
    drawn = body.drawn
    packed: dict[str, Any] = {key: getattr(body.integrals, key) for key in MOMENTS}
    packed |= {
        "flexarm_body": VERSION,
        "name": body.name,
        "names": np.array(body.names),
        "tip_position": body.tip.position,
        "tip_rotation": body.tip.rotation,
        "tip_shape": body.tip_shape,
        "tip_angle": body.tip_angle,
        "first_order": body.first_order,
        "drawn_moved": drawn.moved.astype(np.float32),
    }
    packed |= {f"drawn_{key}": getattr(drawn, key) for key in ("places", "lines", "axis", "faces")}
    optional = {"damping": body.damping, "strains": body.strains}
    if body.second_order is not None:
        optional |= {f"second_order_{key}": x for key, x in vars(body.second_order).items()}
    packed |= {key: value for key, value in optional.items() if value is not None}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **packed)
    write_whole(path, buffer.getvalue(), force=force)


def _unpacked(reader: ArrayReader, name: str) -> ReducedBody | None:
    """Read a body that `write_body` wrote; None if something is wrong with it."""
    findings, keys = reader.findings, reader.keys
    if not np.array_equal(keys["flexarm_body"], VERSION):
        findings.refuse(("flexarm_body",), f"must be {VERSION}, the version of this form")
    names = reader.names("names", ())

    def read(key: str, *shape: int | str) -> Any:
        # masses times squares of lengths
        return reader.read(key, shape, largest=LARGEST**3)

    moments = {key: read(key, *shape) for key, shape in MOMENTS.items()}
    places, axis = read("drawn_places", "points", 3), int(read("drawn_axis"))
    faces = read("drawn_faces", "faces", 3) if "drawn_faces" in keys else np.zeros((0, 3))
    between = [read("drawn_lines", "lines", 2), faces]
    rows = np.concatenate([each.ravel() for each in between])
    inside = np.all((rows >= 0) & (rows < len(places)) & (rows == np.round(rows)))
    if not 2 <= axis <= len(places) or not inside:
        findings.refuse(
            ("drawn_axis",), f"must be 2 to {len(places)} points, and lines between them"
        )
    second = None
    if any(key.startswith("second_order") for key in keys):
        second = SecondOrder(*(read(f"second_order_{k}", *s) for k, s in SECOND_ORDER.items()))
    tip = reader.frame("tip")
    ends = read("tip_shape", 3, "shapes"), read("tip_angle", 3, "shapes")
    moved = read("drawn_moved", "points", 3, "shapes")
    damping = read("damping", *MODAL) if "damping" in keys else None
    strains = read("strains", "places", "shapes") if "strains" in keys else None
    title, first_order = reader.title(name), bool(read("first_order"))
    if tip is None:
        findings.refuse(("tip_position",), "is required: was the file cut off?")
    if tip is None or findings.problems:
        return None
    lines, skin = (each.astype(np.int64) for each in between)
    none = np.zeros((3, len(names), len(names)))
    integrals = Integrals(
        float(moments.pop("mass")), **moments, quadratic=none, position_quadratic=none
    )
    drawn = Drawn(places, moved, lines, axis, skin)
    return ReducedBody(
        title, names, integrals, tip, *ends, damping, first_order, drawn, strains, second
    )
