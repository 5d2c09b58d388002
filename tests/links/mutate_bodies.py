"""Files of bodies in every form that is imported, and damage to them by chance."""

import io
import json
import random
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse

from flexarm.arm.side_files import SideFiles
from flexarm.links.imported.body import ReducedBody
from flexarm.links.imported.craig_bampton import reduced_data
from flexarm.links.imported.data import Findings
from flexarm.links.imported.file import Choices, import_body, inspect_data, read_body, write_body
from flexarm.links.imported.readers.calculix import SOLIDS
from flexarm.links.imported.readers.market import listed_nodes, market_keys
from flexarm.links.imported.readers.plain import full_data, read_keys
from tests.io.mutate import DAMAGES
from tests.links.reduced_bodies import clamped, craig_bampton, lattice
from tests.links.test_reduce_and_import import abaqus, dmig, frd, full_arrays, superelement
from tests.links.test_standard_input_data import standard, universal

Found = tuple[Findings, ReducedBody | None]
NUMBERS = (0.0, -1.0, 1e308, -1e308, np.nan, np.inf, -np.inf, 5e-324, 1e-300, 1e30, 1e31, 1e15)
WORDS = (
    "nan",
    "inf",
    "-1e308",
    "1e308",
    "null",
    "NaN",
    "Infinity",
    "1e-320",
    "0",
    "-1",
    "9" * 5000,
)


def write_npz(folder: Path) -> list[str]:
    np.savez_compressed(folder / "body.npz", **craig_bampton(2, 3))
    return ["body.npz"]


def write_written(folder: Path) -> list[str]:
    write_npz(folder)
    body = read_body(folder / "body.npz")
    write_body(folder / "body.npz", body, force=True)
    return ["body.npz"]


def write_json(folder: Path) -> list[str]:
    body = {key: np.asarray(value).tolist() for key, value in clamped(2).items()}
    (folder / "body.json").write_text(json.dumps(body | {"name": "block", "units": "m, kg, s"}))
    return ["body.json"]


def _superelement(folder: Path) -> tuple[Any, Any]:
    K, M, frames = superelement()
    (folder / "frames.json").write_text(json.dumps(frames | {"units": "m, kg, s", "mass": 0.4}))
    return K, M


def write_market(folder: Path) -> list[str]:
    K, M = _superelement(folder)
    scipy.io.mmwrite(folder / "K.mtx", K)
    scipy.io.mmwrite(folder / "M.mtx", scipy.sparse.coo_array(M))
    return ["K.mtx", "M.mtx", "frames.json"]


def write_abaqus(folder: Path) -> list[str]:
    K, M = _superelement(folder)
    for key, kind, matrix in (("K", "STIFFNESS", K), ("M", "MASS", M)):
        (folder / f"{key}.mtx").write_text(abaqus(kind, matrix))
    return ["K.mtx", "M.mtx", "frames.json"]


def write_nastran(folder: Path) -> list[str]:
    K, M = _superelement(folder)
    (folder / "body.pch").write_text(dmig("KAAX", K) + dmig("MAAX", M) + dmig("K4AAX", 0.02 * K))
    return ["body.pch", "frames.json"]


def write_calculix(folder: Path) -> list[str]:
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
    nodes = np.array([*corners, *((corners[a] + corners[b]) / 2 for a, b in SOLIDS[6].edges)])
    shape = np.where(nodes[:, 2:] > 0, [[1.0, 0, 0]], 0.0)
    (folder / "a.frd").write_text(frd(nodes, list(range(1, 11)), shape))
    (folder / "a.inp").write_text(
        "** a deck\n*NSET, NSET=HUB\n1, 2, 3,\n5, 6, 7\n*NSET, NSET=TIP, GENERATE\n8, 10, 1\n"
        "*NSET, NSET=BOTH\nHUB, TIP\n*MATERIAL, NAME=X\n*DENSITY\n6.\n"
    )
    return ["a.inp", "a.frd"]


def write_universal(folder: Path) -> list[str]:
    body = clamped(2)
    universal(folder / "body.unv", body)
    nodes, mass = body["nodes"], body["node_mass"]
    about = sum(w * (r @ r * np.eye(3) - np.outer(r, r)) for w, r in zip(mass, nodes, strict=True))
    frames = {
        "total_mass": mass.sum(), "centre": (mass @ nodes / mass.sum()).tolist(),
        "inertia_about_origin": about.tolist(), "hub_nodes": [10, 20, 30, 40],
        "tip_nodes": [170, 180, 190, 200], "tip": {"position": body["tip_position"].tolist()},
    }  # fmt: skip
    (folder / "frames.json").write_text(json.dumps(frames))
    return ["body.unv", "frames.json"]


def write_sid(folder: Path) -> list[str]:
    body = craig_bampton(0, 2)
    field, tip = np.zeros((len(body["nodes"]), 3, 6, 6)), np.zeros((6, 6, 6))
    (folder / "body.SID_FEM").write_text(standard(body, field, tip))
    return ["body.SID_FEM"]


def write_full(folder: Path) -> list[str]:
    np.savez_compressed(folder / "full.npz", **full_arrays())
    return ["full.npz"]


def write_full_market(folder: Path) -> list[str]:
    nodes, K, mass = lattice(2)
    scipy.io.mmwrite(folder / "K.mtx", scipy.sparse.csr_array(K))
    scipy.io.mmwrite(folder / "M.mtx", mass[:, None])
    np.savetxt(folder / "nodes.csv", nodes, delimiter=",", header="x, y, z", comments="")
    return ["K.mtx", "M.mtx", "nodes.csv"]


def read_import(folder: Path, files: list[str]) -> Found:
    frames = folder / "frames.json"
    choices = Choices(frames if frames.exists() else None, hub_set="hub", tip_set="tip")
    main = [folder / name for name in files if Path(name).suffix not in (".json", ".inp")]
    return import_body(main or [folder / files[0]], choices)


def read_reduce(folder: Path, files: list[str]) -> Found:
    if files == ["full.npz"]:
        keys = read_keys(SideFiles(folder).read(files[0]))
    else:
        keys = market_keys(*(folder / name for name in files))
        for key, text in (("hub", "1-4"), ("tip", "9-12")):
            keys[f"{key}_nodes"] = listed_nodes(text, key, len(keys["nodes"])) + 1
    findings = Findings("full")
    model = full_data(keys, "full", findings)
    if findings.problems:
        return findings, None
    return inspect_data(reduced_data(model, 1), findings)


Write = Callable[[Path], list[str]]
Read = Callable[[Path, list[str]], Found]
FORMATS: Mapping[str, tuple[Write, Read]] = {
    "npz": (write_npz, read_import),
    "written": (write_written, read_import),
    "json": (write_json, read_import),
    "market": (write_market, read_import),
    "abaqus": (write_abaqus, read_import),
    "nastran": (write_nastran, read_import),
    "calculix": (write_calculix, read_import),
    "universal": (write_universal, read_import),
    "sid": (write_sid, read_import),
    "full": (write_full, read_reduce),
    "full-market": (write_full_market, read_reduce),
}


def damage_file(path: Path, rng: random.Random) -> None:
    """Damage a file in one to three ways."""
    if path.suffix == ".npz":
        path.write_bytes(_damaged_npz(path, rng))
        return
    text = path.read_text()
    for _ in range(rng.randint(1, 3)):
        text = _other_number(text, rng) if rng.random() < 0.3 else rng.choice(DAMAGES)(text, rng)
    content = bytearray(text.encode("utf-8", "surrogatepass"))
    if rng.random() < 0.05:
        content.insert(rng.randrange(len(content) + 1), rng.randrange(256))
    path.write_bytes(bytes(content))


def _other_number(text: str, rng: random.Random) -> str:
    """Put a word for one of the numbers, which are found by chance and not listed: it is quick."""
    for _ in range(20):
        at = rng.randrange(len(text) + 1)
        end = at
        while at > 0 and text[at - 1] in "0123456789.+-eED":
            at -= 1
        while end < len(text) and text[end] in "0123456789.+-eED":
            end += 1
        if end > at:
            return text[:at] + rng.choice(WORDS) + text[end:]
    return text


def _damaged_npz(path: Path, rng: random.Random) -> bytes:
    with np.load(path) as found:
        arrays = dict(found)
    heads: dict[str, tuple[int, ...]] = {}
    for _ in range(rng.randint(1, 2)):
        key = rng.choice(sorted(arrays))
        array = arrays[key]
        way = rng.randrange(9)
        plain = array.dtype.kind in "fiu"
        if way == 0:
            del arrays[key]
        elif way == 1 and array.size and plain:
            changed = np.array(array, dtype=float)
            changed.flat[rng.randrange(changed.size)] = rng.choice(NUMBERS)
            arrays[key] = changed
        elif way == 2:
            arrays[key] = np.full(array.shape, rng.choice(NUMBERS))
        elif way == 3 and plain:
            with np.errstate(over="ignore"):
                arrays[key] = array * 10.0 ** rng.uniform(-40, 40)
        elif way == 4:
            arrays[key] = rng.choice([array.T, array.ravel(), array[:0], array[None], array[:1]]
                                     if array.ndim else [array[None]])  # fmt: skip
        elif way == 5 and plain:
            kind = rng.choice(["f4", "i4", "c16", "U8", "S8", "?", "O", "u8"])
            with np.errstate(all="ignore"):
                arrays[key] = np.real(array).astype(kind)
        elif way == 6:
            heads[key] = tuple(
                rng.choice([0, 1, 3, 10**6, 10**12, 2**62]) for _ in range(rng.randint(1, 3))
            )
        elif way == 7:
            arrays[rng.choice(("units", "name", "names", "flexarm_body", "elements", "x"))] = array
        else:
            arrays[key] = np.array(rng.choice(("mm, t, s", "", "\n", "x" * 300)))
        if not arrays:
            break
    content = bytearray(_packed(arrays, heads))
    if rng.random() < 0.2:
        for _ in range(rng.randint(1, 3)):
            content[rng.randrange(len(content))] = rng.randrange(256)
    return bytes(content[: rng.randrange(len(content))] if rng.random() < 0.05 else content)


def _packed(arrays: Mapping[str, Any], heads: Mapping[str, tuple[int, ...]]) -> bytes:
    """Pack arrays as an NPZ file; some heads say other shapes than their arrays have."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for key, array in arrays.items():
            member = io.BytesIO()
            if key in heads:
                head = {"descr": "<f8", "fortran_order": False, "shape": heads[key]}
                np.lib.format.write_array_header_1_0(member, head)
                member.write(np.asarray(array).tobytes())
            else:
                np.lib.format.write_array(member, np.asarray(array))
            archive.writestr(f"{key}.npy", member.getvalue())
    return packed.getvalue()
