"""Files of bodies: read with every check, and written so that they are small."""

import io
from collections.abc import Mapping
from dataclasses import fields
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from flexarm.arguments import require_path
from flexarm.arm.side_files import SideFile, SideFiles
from flexarm.errors import ModelError
from flexarm.io.source import show_path
from flexarm.io.whole_file import write_whole
from flexarm.links.base import Array
from flexarm.links.imported.body import Drawn, ReducedBody
from flexarm.links.imported.checks import check_whole, finished
from flexarm.links.imported.data import BodyData, Superelement
from flexarm.links.imported.examine import examine
from flexarm.links.imported.readers.labelled import LARGEST
from flexarm.links.imported.readers.npz import read_arrays
from flexarm.links.imported.readers.plain import (
    arrays_beside,
    body_name,
    numbers_of,
    plain_data,
    shape_names,
)
from flexarm.links.imported.report import Findings, Report
from flexarm.links.imported.second_order import SecondOrder
from flexarm.links.imported.superelement import examine_superelement
from flexarm.links.integrals import Integrals
from flexarm.spatial import Pose

VERSION = 1
REMEMBERED = 16


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
    report, body = inspect_body(file)
    if body is None:
        raise ModelError("\n".join(report.errors))
    return body


def inspect_body(file: str | Path | SideFile) -> tuple[Report, ReducedBody | None]:
    """Check a body; as `read_body`, but faults are told in the report."""
    if not isinstance(file, SideFile):
        path = require_path("file", file, ModelError)
        file = SideFiles(path.parent).read(path.name)
    arrays = arrays_beside(file)
    return _inspected(str(file.path), file.content, None if arrays is None else arrays.content)


@lru_cache(maxsize=REMEMBERED)
def _inspected(
    name: str, content: bytes, arrays: bytes | None
) -> tuple[Report, ReducedBody | None]:
    keys = read_arrays(content, name)
    if arrays is not None:
        keys = {**keys, **read_arrays(arrays, name)}
    if "flexarm_body" in keys:
        findings = Findings()
        body = _unpacked(keys, name)
        check_whole(findings, body)
        checked = None if findings.problems else finished(body, findings, modal=False)
        return report_of(name, body.name, findings), checked
    return inspect_data(plain_data(keys, name), name)


def inspect_data(data: BodyData | Superelement, name: str) -> tuple[Report, ReducedBody | None]:
    """Check what a program gave of a body, by the name of its file."""
    findings = Findings()
    if isinstance(data, Superelement):
        body = examine_superelement(data, findings)
    else:
        body = examine(data, findings)
    return report_of(name, data.name, findings), body


def report_of(name: str, title: str, findings: Findings) -> Report:
    """Put together what was found in a file, and what its body is called."""
    errors = [f"{name}: {show_path(where)}: {why}" for where, why in findings.problems]
    return Report(f"{name}: {title}", tuple(findings.facts), tuple(findings.notes), tuple(errors))


def write_body(path: str | Path, body: ReducedBody, *, force: bool = False) -> None:
    """Write a body as an NPZ file: its moments, matrices and interfaces, and points to draw."""
    i, drawn = body.integrals, body.drawn
    packed: dict[str, Any] = {
        field.name: getattr(i, field.name)
        for field in fields(Integrals)
        if "quadratic" not in field.name
    }
    packed |= {
        "flexarm_body": VERSION,
        "name": body.name,
        "names": np.array(body.names),
        "tip_position": body.tip.position,
        "tip_rotation": body.tip.rotation,
        "tip_shape": body.tip_shape,
        "tip_angle": body.tip_angle,
        "first_order": body.first_order,
        "drawn_places": drawn.places,
        "drawn_moved": drawn.moved.astype(np.float32),
        "drawn_lines": drawn.lines,
        "drawn_axis": drawn.axis,
        "drawn_faces": drawn.faces,
    }
    optional = {"damping": body.damping, "strains": body.strains}
    if body.second_order is not None:
        optional |= {f"second_order_{key}": x for key, x in vars(body.second_order).items()}
    packed |= {key: value for key, value in optional.items() if value is not None}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **packed)
    write_whole(path, buffer.getvalue(), force=force)


def _unpacked(keys: Mapping[str, Any], name: str) -> ReducedBody:
    """Take a body that `write_body` wrote out of its keys."""
    if not np.array_equal(keys["flexarm_body"], VERSION):
        raise ModelError(f"{name}: flexarm_body: must be {VERSION}, the version of this form")
    names = shape_names(_key(keys, "names", name), None, f"{name}: names")
    m, points, lines = (
        len(names),
        _size(keys, "drawn_places", name),
        _size(keys, "drawn_lines", name),
    )
    places, faces = (_size(keys, key, name) if key in keys else 0
                     for key in ("strains", "drawn_faces"))  # fmt: skip
    shapes: dict[str, tuple[int, ...]] = {
        "mass": (), "first": (3,), "second": (3, 3), "shape": (3, m), "position_shape": (m, 3, 3),
        "shape_shape": (m, m, 3, 3), "rotary": (3, 3), "rotary_shape": (3, m),
        "rotary_modal": (m, m), "modal_mass": (m, m), "stiffness": (m, m), "damping": (m, m),
        "tip_position": (3,), "tip_rotation": (3, 3), "tip_shape": (3, m), "tip_angle": (3, m),
        "drawn_places": (points, 3), "drawn_moved": (points, 3, m), "drawn_lines": (lines, 2),
        "drawn_axis": (), "first_order": (), "strains": (places, m),
        "drawn_faces": (faces, 3),
        "second_order_first": (3, m, m), "second_order_second": (3, 3, m, m),
        "second_order_tip": (3, m, m), "second_order_tip_angle": (3, m, m),
    }  # fmt: skip
    found = {
        key: _array(keys, key, shape, name)
        for key, shape in shapes.items()
        if key in keys or not key.startswith(("damping", "strains", "second_order", "drawn_faces"))
    }
    drawn_in = [value for key, value in found.items() if key.startswith("second_order")]
    if len(drawn_in) not in (0, 4):
        raise ModelError(f"{name}: second_order_first: and the others belong together, 4 arrays")
    between = [found["drawn_lines"], found.get("drawn_faces", np.zeros((0, 3)))]
    rows = np.concatenate([each.ravel() for each in between])
    inside = np.all((rows >= 0) & (rows < points) & (rows == np.round(rows)))
    if not 2 <= found["drawn_axis"] <= points or not inside:
        raise ModelError(
            f"{name}: drawn_axis: must be 2 to {points} points, and lines between them"
        )
    drawn = Drawn(
        found["drawn_places"], found["drawn_moved"], between[0].astype(np.int64),
        int(found["drawn_axis"]), between[1].astype(np.int64),
    )  # fmt: skip
    none = np.zeros((3, m, m))
    kept = [each.name for each in fields(Integrals) if "quadratic" not in each.name]
    moments = {key: found[key] for key in kept if key != "mass"}
    integrals = Integrals(float(found["mass"]), **moments, quadratic=none, position_quadratic=none)
    return ReducedBody(
        body_name(keys, name), names, integrals,
        Pose(found["tip_rotation"], found["tip_position"]), found["tip_shape"],
        found["tip_angle"], found.get("damping"), bool(found["first_order"]), drawn,
        found.get("strains"), SecondOrder(*drawn_in) if drawn_in else None,
    )  # fmt: skip


def _array(keys: Mapping[str, Any], key: str, shape: tuple[int, ...], name: str) -> Array:
    _key(keys, key, name)
    value = numbers_of(keys, key, name, largest=LARGEST**3)  # masses times squares of lengths
    if value.shape != shape:
        raise ModelError(f"{name}: {key}: must have the shape {shape}, got {value.shape}")
    return value


def _size(keys: Mapping[str, Any], key: str, name: str) -> int:
    _key(keys, key, name)
    return len(np.atleast_1d(numbers_of(keys, key, name)))


def _key(keys: Mapping[str, Any], key: str, name: str) -> Any:
    if key not in keys:
        raise ModelError(f"{name}: {key}: is missing: was the file cut off?")
    return keys[key]
