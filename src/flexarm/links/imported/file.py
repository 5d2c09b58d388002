"""Reading, checking and writing of files of bodies with modes, in all supported formats."""

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from flexarm.arguments import require_path
from flexarm.arm.side_files import SideFile, SideFiles
from flexarm.errors import ModelError
from flexarm.io.whole_file import write_whole
from flexarm.links.base import Shapes, Span
from flexarm.links.imported.body import BodyFrame, Drawn, ReducedBody, SecondOrder
from flexarm.links.imported.constants import BODIES_IN_MEMORY, LARGEST
from flexarm.links.imported.data import Findings, Integers, ModalData
from flexarm.links.imported.examine import (
    check_whole,
    examine,
    examine_line,
    examine_superelement,
    finished,
)
from flexarm.links.imported.readers.calculix import (
    Deck,
    consistent_mass,
    mesh_arrays,
    mesh_elements,
    mesh_faces,
    read_frd,
    read_inp,
)
from flexarm.links.imported.readers.market import dense, is_market, market_head, read_market
from flexarm.links.imported.readers.plain import (
    ArrayReader,
    Shape,
    arrays_beside,
    content_of,
    plain_data,
    read_arrays,
    read_keys,
)
from flexarm.links.imported.readers.stations import read_stations
from flexarm.links.imported.readers.superelements import (
    Matrices,
    interface_order,
    read_abaqus,
    read_dmig,
    require_superelement,
)
from flexarm.links.imported.readers.universal import read_universal
from flexarm.links.imported.standard import examine_sid, read_sid
from flexarm.links.integrals import Integrals
from flexarm.spatial import IDENTITY

VERSION = 1
MODAL: Shape = ("shapes", "shapes")
# Arrays of a body in a file written by `write_body`: the mass integrals,
MOMENTS: dict[str, Shape] = {
    "mass": (), "first": (3,), "second": (3, 3), "shape": (3, "shapes"),
    "position_shape": ("shapes", 3, 3), "shape_shape": (*MODAL, 3, 3), "rotary": (3, 3),
    "rotary_shape": (3, "shapes"), "rotary_modal": MODAL, "modal_mass": MODAL, "stiffness": MODAL,
}  # fmt: skip
# second-order displacements, if any, with the prefix ``second_order_``,
SECOND_ORDER: dict[str, Shape] = {
    "first": (3, *MODAL), "second": (3, 3, *MODAL), "tip": (3, *MODAL), "tip_angle": (3, *MODAL),
}  # fmt: skip
# and display points, with the prefix ``drawn_``.
DRAWN: dict[str, Shape] = {
    "places": ("points", 3), "moved": ("points", 3, "shapes"), "lines": ("lines", 2), "axis": (),
    "faces": ("faces", 3),
}  # fmt: skip


def read_body(file: str | Path | SideFile) -> ReducedBody:
    """Read a body from an NPZ or JSON file, and check it completely.

    Parameters
    ----------
    file
        An NPZ or JSON file, or its path.

    Raises
    ------
    ModelError
        If a check fails, with one line per error.
    """
    findings, body = inspect_body(file)
    if body is None:
        raise findings.refusal()
    return body


def inspect_body(file: str | Path | SideFile) -> tuple[Findings, ReducedBody | None]:
    """Read a body like `read_body`, but report errors instead of raising them.

    The body is None if the file is refused.
    """
    side = open_side(file)
    arrays = arrays_beside(side)
    return _inspected(str(side.path), side.content, None if arrays is None else arrays.content)


def open_side(file: str | Path | SideFile) -> SideFile:
    """Return a side file with its contents; a file given by its path is read."""
    if isinstance(file, SideFile):
        return file
    path = require_path("file", file, ModelError)
    try:
        return SideFiles(path.parent).read(path.name)
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from None


@lru_cache(maxsize=BODIES_IN_MEMORY)
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
    """Check modal data of a body; return the report, and the body or None if refused."""
    findings.title, body = data.name, None
    if not findings.problems:
        body = (examine if len(data.nodes) else examine_superelement)(data, findings)
    return findings, body


def inspect_stations(file: str | Path | SideFile, span: Span) -> tuple[Findings, Shapes | None]:
    """Check modal data at stations of a flexible span.

    Parameters
    ----------
    file
        The file, or its path; a station table is beside the file or in a folder below.
    span
        The flexible span to which the data apply.

    Returns
    -------
    findings, shapes
        The report, including errors; and the shapes, or None if the file is refused.

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
    """Write a body as an NPZ file: mass moments, matrices, hub and tip, and displayed points."""
    arrays: dict[str, Any] = {key: getattr(body.integrals, key) for key in MOMENTS}
    arrays |= {
        "flexarm_body": VERSION,
        "names": np.array(body.names),
        "tip_position": body.tip.position,
        "tip_rotation": body.tip.rotation,
    }
    for name, frame in body.frames.items():
        arrays |= {
            f"frame_{name}_position": frame.pose.position,
            f"frame_{name}_rotation": frame.pose.rotation,
            f"frame_{name}_shape": frame.shape,
            f"frame_{name}_angle": frame.angle,
        }
    for key in ("name", "tip_shape", "tip_angle", "first_order", "damping", "strains"):
        arrays[key] = getattr(body, key)
    arrays |= {f"drawn_{key}": getattr(body.drawn, key) for key in DRAWN}
    arrays["drawn_moved"] = arrays["drawn_moved"].astype(np.float32)
    if body.second_order is not None:
        arrays |= {f"second_order_{key}": getattr(body.second_order, key) for key in SECOND_ORDER}
    arrays = {key: value for key, value in arrays.items() if value is not None}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    write_whole(path, buffer.getvalue(), force=force)


def _unpacked(reader: ArrayReader, name: str) -> ReducedBody | None:
    """Return a body from the arrays of an NPZ file; None if an array is invalid."""
    findings, keys = reader.findings, reader.keys
    if not np.array_equal(keys["flexarm_body"], VERSION):
        findings.refuse(("flexarm_body",), f"must be {VERSION}, the version of this form")
    names = reader.names("names", ())

    def read(key: str, *shape: int | str) -> Any:
        # largest magnitude, for products of masses and squared lengths
        return reader.read(key, shape, largest=LARGEST**3)

    moments = {key: read(key, *shape) for key, shape in MOMENTS.items()}
    display = {key: read(f"drawn_{key}", *shape) for key, shape in DRAWN.items()
             if key != "faces" or "drawn_faces" in keys}  # fmt: skip
    axis, count = int(display.pop("axis")), len(display["places"])
    connections = {key: display[key] for key in ("lines", "faces") if key in display}
    rows = np.concatenate([index_rows.ravel() for index_rows in connections.values()])
    is_valid = np.all((rows >= 0) & (rows < count) & (rows == np.round(rows)))
    if not 2 <= axis <= count or not is_valid:
        findings.refuse(("drawn_axis",), f"must be 2 to {count} points, and lines between them")
    second = None
    if any(key.startswith("second_order") for key in keys):
        second = SecondOrder(*(read(f"second_order_{k}", *s) for k, s in SECOND_ORDER.items()))
    tip = reader.frame("tip")
    ends = read("tip_shape", 3, "shapes"), read("tip_angle", 3, "shapes")
    frames = {
        name: BodyFrame(
            reader.frame(f"frame_{name}") or IDENTITY,
            read(f"frame_{name}_shape", 3, "shapes"),
            read(f"frame_{name}_angle", 3, "shapes"),
        )
        for name in reader.frame_names()
    }
    damping = read("damping", *MODAL) if "damping" in keys else None
    strains = read("strains", "places", "shapes") if "strains" in keys else None
    title, first_order = reader.title(name), bool(read("first_order"))
    if "names" not in keys:
        findings.refuse(("names",), "are required. Was the file cut off?")
    if tip is None:
        findings.refuse(("tip_position",), "is required. Was the file cut off?")
    if tip is None or findings.problems:
        return None
    integrals = Integrals(float(moments.pop("mass")), **moments)
    display |= {key: index_rows.astype(np.int64) for key, index_rows in connections.items()}
    return ReducedBody(
        title, names, integrals, tip, *ends, damping, first_order, Drawn(axis=axis, **display),
        strains, second, frames,
    )  # fmt: skip


@dataclass(frozen=True)
class Choices:
    """Options of an import that supplement a body's file; None means not given."""

    frames: Path | None = None  # JSON file with hub, tip, units, mass, centre
    hub_node: int | None = None  # interface node of a superelement's hub
    tip_node: int | None = None  # interface node of a superelement's tip
    hub_set: str | None = None  # name of the node set of the hub's face in an .inp file
    tip_set: str | None = None  # name of the node set of the tip's face in an .inp file
    density: float | None = None  # density of the elements, in the file's units


def import_body(paths: Sequence[Path], choices: Choices) -> tuple[Findings, ReducedBody | None]:
    """Read a body from one or more files of any supported format, and check it.

    Parameters
    ----------
    paths
        An NPZ or JSON file in the plain form; K and M as Matrix Market or Abaqus .mtx files; a
        Nastran .pch file; a CalculiX .frd file, with its .inp beside it; a universal file .unv of a
        modal test; or standard input data .SID_FEM.
    choices
        Options that supplement the files.

    Raises
    ------
    ModelError
        If a file cannot be read, or required data are missing.
    """
    path = paths[0]
    keys, findings = dict(read_frames(choices.frames)), Findings(str(path), path.stem)
    if path.suffix in (".npz", ".json"):
        if not keys:
            return inspect_body(path)
        keys = {**read_keys(SideFiles(path.parent).read(path.name)), **keys}
    elif path.suffix == ".frd":
        keys |= _calculix(path, choices)
    elif path.suffix == ".pch":
        keys |= _superelement(read_dmig(_text(path), path.name), path, choices, findings)
    elif path.suffix == ".mtx":
        keys |= _matrices(paths, choices, findings)
    elif path.suffix in (".unv", ".uff"):
        content_of(path)  # raises an error if the file is not regular, or too large
        keys |= read_universal(path, keys)
    elif path.suffix.lower() in (".sid", ".sid_fem"):
        sid = read_sid(_text(path), str(path))
        body = examine_sid(sid, path.stem, findings, choices.hub_node, choices.tip_node)
        return findings, body
    else:
        raise ModelError(
            f"{path}: must end in .npz, .json, .mtx, .pch, .frd, .unv or .SID_FEM, got "
            f"'{path.suffix}'"
        )
    return inspect_data(plain_data(keys, str(path), findings), findings)


def read_frames(path: Path | None) -> dict[str, Any]:
    """Return the keys of a JSON file of frames that an import accepts.

    Arrays beside the file are ignored.
    """
    if path is None:
        return {}
    try:
        frames = json.loads(_text(path))
    except (ValueError, RecursionError):
        raise ModelError(f"{path}: must be a JSON object with the keys hub and tip") from None
    if not isinstance(frames, dict):
        raise ModelError(f"{path}: must be a JSON object with the keys hub and tip")
    allowed = ("hub", "tip", "units", "name", "total_mass", "centre", "inertia_about_origin",
             "hub_nodes", "tip_nodes", "frames", "faces", "elements")  # fmt: skip
    if "mass" in frames:
        frames.setdefault("total_mass", frames["mass"])
    return {key: frames[key] for key in allowed if key in frames}


def _text(path: Path) -> str:
    return content_of(path).decode("utf-8", errors="replace")


def _matrices(paths: Sequence[Path], choices: Choices, findings: Findings) -> dict[str, Any]:
    """Return K and M from two Matrix Market files, or a superelement from Abaqus files."""
    contents = {path: content_of(path) for path in paths}
    if not is_market(contents[paths[0]]):
        matrices = Matrices()
        for path, content in contents.items():
            read_abaqus(content.decode("utf-8", errors="replace"), path.name, matrices)
        return _superelement(matrices, paths[0], choices, findings)
    if len(paths) != 2:
        raise ModelError(
            f"{paths[0]}: K and M must be two Matrix Market files, K first, got {len(paths)}"
        )
    for path, content in contents.items():
        require_superelement(max(market_head(content, str(path)).shape), str(path))
    return {
        key: dense(read_market(contents[path], str(path)))
        for key, path in zip("KM", paths, strict=True)
    }


def _superelement(
    matrices: Matrices, path: Path, choices: Choices, findings: Findings
) -> dict[str, Any]:
    """Return the matrices K, M and D of a superelement in the order hub, tip, modes.

    Structural damping is not used; a note is added if the file contains it.
    """
    missing_keys = [key for key in ("K", "M") if key not in matrices]
    if missing_keys:
        titles = ", ".join(matrix_read.title for matrix_read in matrices.values()) or "nothing"
        raise ModelError(
            f"{path}: has no {' and no '.join(missing_keys)}, only {titles}. Write both stiffness "
            "and mass of the superelement into the file."
        )
    if "K4" in matrices:
        findings.note(
            (matrices["K4"].title,), "structural damping is not used. Give the link's damping."
        )
    matrices_used = {key: matrices[key] for key in ("K", "M", "D") if key in matrices}
    labels = set().union(*(entries.labels() for entries in matrices_used.values()))
    order = interface_order(labels, path.name, choices.hub_node, choices.tip_node)
    return {key: entries.matrix(order) for key, entries in matrices_used.items()}


def _calculix(path: Path, choices: Choices) -> dict[str, Any]:
    results, input_path = read_frd(_text(path), path.name), path.with_suffix(".inp")
    deck = read_inp(_text(input_path), input_path.name) if input_path.exists() else Deck()
    densities = sorted(deck.densities) if choices.density is None else [choices.density]
    if len(densities) > 1:
        raise ModelError(
            f"{input_path}: density: the file has several densities, "
            f"{', '.join(f'{value:g}' for value in densities)}, but one is used for all "
            "elements. Choose one by --density."
        )
    if not densities:
        raise ModelError(
            f"{path}: density: is required. Give --density, or put the file {input_path.name} into "
            "the same folder."
        )
    density = densities[0]
    if not 0 < density <= LARGEST:
        raise ModelError(f"{path}: density: must be > 0 and finite, got {density:g}")
    numbers, positions, shapes = mesh_arrays(results, path.name)
    elements = mesh_elements(results, numbers)
    return {
        "name": path.stem,
        "nodes": positions,
        "node_mass": sum(consistent_mass(kind, rows, positions, density)
                         for kind, rows in elements.items()),
        "shapes": shapes,
        "frequencies": np.array(results.hertz),
        "hub_nodes": _set(deck, choices.hub_set, numbers, "hub", input_path) + 1,
        "tip_nodes": _set(deck, choices.tip_set, numbers, "tip", input_path) + 1,
        "faces": mesh_faces(elements) + 1,
    }  # fmt: skip


def _set(deck: Deck, name: str | None, numbers: Integers, key: str, path: Path) -> Integers:
    """Return the indices of the nodes in a named node set of an .inp file."""
    names = ", ".join(filter(None, deck.sets)) or "none"
    if name is None or name.upper() not in deck.sets:
        raise ModelError(
            f"--{key}-set: must be a node set of {path.name}, got {name or 'nothing'}. The node "
            f"sets are {names}."
        )
    return deck.sets[name.upper()].rows(numbers)
