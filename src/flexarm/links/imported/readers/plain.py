"""The plain form of a body: arrays in an NPZ file, short values in a JSON file beside it, or both.

docs/modal-bodies.md lists the arrays.  Readers of other files return their contents in this form.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from flexarm.arm.side_files import SideFile
from flexarm.errors import ModelError
from flexarm.links.imported.data import MASS_REQUIRED, ModalData
from flexarm.links.imported.readers.arrays import (
    LENGTH,
    MOST_SHAPES,
    PLAIN,
    ArrayReader,
    Powers,
    Shape,
    is_single,
)
from flexarm.links.imported.readers.npz import read_arrays
from flexarm.links.imported.report import Findings

SETS = ("", "cb_", "clamped_")  # names of arrays start with one of these, the first that is there
TIP_NAMES = ("tip_x", "tip_y", "tip_z", "tip_rx", "tip_ry", "tip_rz")
MOTION = (LENGTH,) * 3 + (PLAIN,) * 3  # displacement and rotation of a frame
# Accelerations and angular accelerations of the hub, products xx, yy, zz, yz, zx, xy of its angular
# velocities, force and moment on the tip.
LOADS = ((1, 1, 0),) * 3 + ((2, 1, 0),) * 9 + (LENGTH,) * 3 + (PLAIN,) * 3
# By key: field of `ModalData`, shape, and powers of length, mass and time in the unit.
ARRAYS: dict[str, tuple[str, Shape, Powers | tuple[Powers, ...]]] = {
    "nodes": ("nodes", ("nodes", 3), LENGTH),
    "inertia": ("node_inertia", ("nodes", 3, 3), (2, 1, 0)),
    "inertia_per_length": ("node_inertia", ("nodes", 3, 3), (1, 1, 0)),
    "shapes": ("shapes", ("shapes", "nodes", 3), LENGTH),
    "rotations": ("rotations", ("shapes", "nodes", 3), PLAIN),
    "K": ("stiffness", ("shapes", "shapes"), (2, 1, -2)),
    "M": ("mass", ("shapes", "shapes"), (2, 1, 0)),
    "D": ("damping", ("shapes", "shapes"), (2, 1, -1)),
    "frequencies": ("hertz", ("shapes",), PLAIN),
    "damping_ratios": ("ratios", ("shapes",), PLAIN),
    "hub_shapes": ("hub_shapes", ("shapes", 6), MOTION),
    "tip_shapes": ("tip_shapes", ("shapes", 6), MOTION),
    "strains": ("strains", ("shapes", "places"), PLAIN),
    "K_sigma": ("k_sigma", (18, "shapes", "shapes"), LOADS),
    "K_u": ("k_u", (18, "shapes", "shapes"), LOADS),
}


def arrays_beside(side: SideFile) -> SideFile | None:
    """Read the NPZ file that a JSON file names, or has beside it; None where all is in one file."""
    if side.content[:2] == b"PK":
        return None
    keys = read_arrays(side.content, side.name)
    named = keys.get("arrays")
    if named is None:
        if any(f"{start}shapes" in keys for start in SETS) or "K" in keys:
            return None
        named = side.name.rpartition("/")[2].removesuffix(".json") + ".npz"
    if not isinstance(named, str):
        raise ModelError(f"{side.name}: arrays: must be the name of an NPZ file")
    return side.read_beside(named)


def read_keys(side: SideFile) -> dict[str, Any]:
    """Read the keys of a body's file, and of the arrays beside it."""
    keys, arrays = read_arrays(side.content, side.name), arrays_beside(side)
    return keys if arrays is None else {**keys, **read_arrays(arrays.content, arrays.name)}


def plain_data(keys: Mapping[str, Any], name: str, findings: Findings) -> ModalData:
    """Read modal data out of the keys of a file; without shapes they are those of a superelement.

    Where something is refused, which `findings` has then, the data are not to be used.
    """
    reader = ArrayReader.of(keys, findings)
    start = next((each for each in SETS if f"{each}shapes" in keys), None)
    if start is None:
        return _superelement(reader, name)
    arrays: dict[str, Any] = {}
    for key, (into, shape, powers) in ARRAYS.items():
        named = start + key if "shapes" in shape else key
        short = named.removesuffix("_shapes")  # as 'cb_tip'
        if named not in reader.keys and not is_single(reader.keys.get(short, 0)):
            named = short
        if named in reader.keys or key == "nodes":
            arrays[into] = reader.read(named, shape, powers)
        if (count := reader.sizes.get("shapes", 0)) > MOST_SHAPES:
            findings.refuse((named,), f"must be {MOST_SHAPES} shapes at most, got {count:,}")
            break
    squares = reader.optional(f"{start}w2", ("shapes",))
    if squares is not None and not {"hertz", "stiffness"} & arrays.keys():
        arrays["hertz"] = np.sign(squares) * np.sqrt(np.abs(squares)) / (2 * np.pi)
    names = tuple(f"mode{k}" for k in range(1, count + 1))
    if start == "cb_" and count >= 6:
        names = (*TIP_NAMES, *(f"fixed{k}" for k in range(1, count - 5)))
    return ModalData(
        name=reader.title(name),
        names=reader.names(f"{start}names", names),
        node_mass=reader.masses(),
        per_length="mass_per_length" in keys,
        hub=reader.frame("hub"),
        tip=reader.frame("tip"),
        hub_nodes=reader.rows("hub_nodes").ravel(),
        tip_nodes=reader.rows("tip_nodes").ravel(),
        stated=reader.stated(),
        lines=reader.lines(),
        faces=reader.faces(),
        units=reader.units,
        **arrays,
    )


def _superelement(reader: ArrayReader, name: str) -> ModalData:
    """Read K and M over the motions of hub and tip, and modes."""
    tip, unknowns = reader.frame("tip"), ("unknowns", "unknowns")
    if "K" not in reader.keys or "M" not in reader.keys:
        reader.findings.refuse(
            ("shapes",),
            "are required, (m, N, 3); or K and M of hub, tip and modes of a superelement without "
            "nodes",
        )
    elif tip is None:
        reader.findings.refuse(("tip",), "is required of a superelement: position and rotation")
    # forces over displacements; modes are counted in the unit of length
    matrices = {key: reader.read(key, unknowns, (0, 1, -power))
             for power, key in ((2, "K"), (0, "M"), (1, "D")) if key in reader.keys}  # fmt: skip
    reach = np.ones(0 if reader.findings.problems else reader.sizes["unknowns"])
    reach[3:6] = reach[9:12] = reader.units[0]
    pairs = np.outer(reach, reach)
    K, M, D = (matrices[key] * pairs if key in matrices and len(pairs) else None for key in "KMD")
    return ModalData(
        reader.title(name), (), np.zeros((0, 3)), stiffness=K, mass=M, damping=D,
        hub=reader.frame("hub"), tip=tip, stated=reader.stated(), units=reader.units,
    )  # fmt: skip


def full_data(keys: Mapping[str, Any], name: str, findings: Findings) -> ModalData:
    """Read a finite-element model that is yet to be reduced: nodes, K (3N, 3N), masses, faces."""
    reader = ArrayReader.of(keys, findings)
    nodes = reader.read("nodes", ("nodes", 3), LENGTH)
    force = (0, 1, -2)
    if hasattr(reader.keys.get("K"), "tocsr"):
        stiffness = float(np.prod(np.power(reader.units, force))) * reader.keys["K"]
    else:
        stiffness = reader.triangle("K", 3 * len(nodes), force)
    hub, tip = (reader.rows(f"{end}_nodes").ravel() for end in ("hub", "tip"))
    for end, rows in (("hub", hub), ("tip", tip)):
        if not len(rows) and not findings.problems:
            findings.refuse((f"{end}_nodes",), f"are required: the nodes of the {end}'s face")
    masses = reader.masses()
    if masses is None:
        findings.refuse(("node_mass",), MASS_REQUIRED)
    return ModalData(
        reader.title(name), (), nodes, masses, stiffness=stiffness, hub_nodes=hub,
        tip_nodes=tip, hub=reader.frame("hub"), tip=reader.frame("tip"), faces=reader.faces(),
        units=reader.units,
    )  # fmt: skip
