"""Bodies from files of finite-element programs, by the kind of file."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from flexarm.arm.side_files import SideFiles
from flexarm.errors import ModelError
from flexarm.links.imported.body import ReducedBody
from flexarm.links.imported.data import Integers
from flexarm.links.imported.file import inspect_body, inspect_data
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
from flexarm.links.imported.readers.plain import content_of, plain_data, read_keys
from flexarm.links.imported.readers.sid import read_sid
from flexarm.links.imported.readers.superelements import LARGEST as LARGEST_NUMBER
from flexarm.links.imported.readers.superelements import (
    Matrices,
    interface_order,
    read_abaqus,
    read_dmig,
    require_superelement,
)
from flexarm.links.imported.readers.universal import read_universal
from flexarm.links.imported.report import Findings
from flexarm.links.imported.standard import examine_sid


@dataclass(frozen=True)
class Choices:
    """Values that the file of a body lacks; None where they are not given."""

    frames: Path | None = None  # JSON file with hub, tip, units, mass, centre
    hub_node: int | None = None  # interface node of a superelement's hub
    tip_node: int | None = None  # interface node of a superelement's tip
    hub_set: str | None = None  # name of the node set of the hub's face in an .inp file
    tip_set: str | None = None  # name of the node set of the tip's face in an .inp file
    density: float | None = None  # density of the elements, in the file's units


def import_body(paths: Sequence[Path], choices: Choices) -> tuple[Findings, ReducedBody | None]:
    """Read a body, and check it.

    Parameters
    ----------
    paths
        An NPZ or JSON file in the plain form; K and M as Matrix Market or Abaqus .mtx files; a
        Nastran .pch file; a CalculiX .frd file, with its .inp beside it; a universal file .unv of a
        modal test; or standard input data .SID_FEM.
    choices
        What the files do not say.

    Raises
    ------
    ModelError
        If a file cannot be read, or something is missing.
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
        content_of(path)  # raises an error if it is no regular file, or too large
        keys |= read_universal(path, keys)
    elif path.suffix.lower() in (".sid", ".sid_fem"):
        sid = read_sid(_text(path), str(path))
        body = examine_sid(sid, path.stem, findings, choices.hub_node, choices.tip_node)
        return findings, body
    else:
        raise ModelError(
            f"{path}: expected a file .npz, .json, .mtx, .pch, .frd, .unv or .SID_FEM, got "
            f"'{path.suffix}'"
        )
    return inspect_data(plain_data(keys, str(path), findings), findings)


def read_frames(path: Path | None) -> dict[str, Any]:
    """Read a JSON file of frames; arrays beside it are not looked for."""
    if path is None:
        return {}
    try:
        frames = json.loads(_text(path))
    except (ValueError, RecursionError):
        raise ModelError(f"{path}: must be a JSON object with hub and tip") from None
    if not isinstance(frames, dict):
        raise ModelError(f"{path}: must be a JSON object with hub and tip")
    allowed = ("hub", "tip", "units", "name", "total_mass", "centre", "inertia_about_origin",
             "hub_nodes", "tip_nodes", "faces", "elements")  # fmt: skip
    if "mass" in frames:
        frames.setdefault("total_mass", frames["mass"])
    return {key: frames[key] for key in allowed if key in frames}


def _text(path: Path) -> str:
    return content_of(path).decode("utf-8", errors="replace")


def _matrices(paths: Sequence[Path], choices: Choices, findings: Findings) -> dict[str, Any]:
    """Read K and M, each from a Matrix Market file, or from Abaqus files."""
    contents = {path: content_of(path) for path in paths}
    if not is_market(contents[paths[0]]):
        matrices = Matrices()
        for path, content in contents.items():
            read_abaqus(content.decode("utf-8", errors="replace"), path.name, matrices)
        return _superelement(matrices, paths[0], choices, findings)
    if len(paths) != 2:
        raise ModelError(f"{paths[0]}: give two Matrix Market files, K then M, got {len(paths)}")
    for path, content in contents.items():
        require_superelement(max(market_head(content, str(path)).shape), str(path))
    return {
        key: dense(read_market(contents[path], str(path)))
        for key, path in zip("KM", paths, strict=True)
    }


def _superelement(
    matrices: Matrices, path: Path, choices: Choices, findings: Findings
) -> dict[str, Any]:
    """Return K, M and D in the order hub, tip, modes; note that structural damping is not used."""
    missing = [key for key in ("K", "M") if key not in matrices]
    if missing:
        titles = ", ".join(each.title for each in matrices.values()) or "nothing"
        raise ModelError(
            f"{path}: has no {' and no '.join(missing)}, only {titles}: stiffness and mass of the "
            "superelement are both needed"
        )
    if "K4" in matrices:
        findings.note(
            (matrices["K4"].title,), "structural damping is not used: give the link's damping"
        )
    used = {key: matrices[key] for key in ("K", "M", "D") if key in matrices}
    labels = set().union(*(entries.labels() for entries in used.values()))
    order = interface_order(labels, path.name, choices.hub_node, choices.tip_node)
    return {key: entries.matrix(order) for key, entries in used.items()}


def _calculix(path: Path, choices: Choices) -> dict[str, Any]:
    results, beside = read_frd(_text(path), path.name), path.with_suffix(".inp")
    deck = read_inp(_text(beside), beside.name) if beside.exists() else Deck()
    densities = sorted(deck.densities) if choices.density is None else [choices.density]
    if len(densities) > 1:
        raise ModelError(
            f"{beside}: density: there are {', '.join(f'{each:g}' for each in densities)}, and one "
            "is taken for all elements: say which by --density"
        )
    if not densities:
        raise ModelError(f"{path}: density: is required (--density), or {beside.name} beside it")
    density = densities[0]
    if not 0 < density <= LARGEST_NUMBER:
        raise ModelError(f"{path}: density: must be > 0 and finite, got {density:g}")
    numbers, places, shapes = mesh_arrays(results, path.name)
    elements = mesh_elements(results, numbers)
    return {
        "name": path.stem,
        "nodes": places,
        "node_mass": sum(consistent_mass(kind, rows, places, density)
                         for kind, rows in elements.items()),
        "shapes": shapes,
        "frequencies": np.array(results.hertz),
        "hub_nodes": _set(deck, choices.hub_set, numbers, "hub", beside) + 1,
        "tip_nodes": _set(deck, choices.tip_set, numbers, "tip", beside) + 1,
        "faces": mesh_faces(elements) + 1,
    }  # fmt: skip


def _set(deck: Deck, name: str | None, numbers: Integers, key: str, path: Path) -> Integers:
    """Return the rows of a set's nodes."""
    names = ", ".join(filter(None, deck.sets)) or "none"
    if name is None or name.upper() not in deck.sets:
        raise ModelError(
            f"--{key}-set: must be a node set of {path.name}, got {name or 'nothing'}: there are "
            f"{names}"
        )
    return deck.sets[name.upper()].rows(numbers)
