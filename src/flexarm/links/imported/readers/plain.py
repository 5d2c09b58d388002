"""Reader of the plain form of a body: arrays (NPZ) and short values (JSON).

The readers of all other formats return the keys of this form.
"""

import io
import json
import math
import re
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np

from flexarm.arm.constants import NAME_LENGTH
from flexarm.arm.part import control_character, name_fault
from flexarm.arm.side_files import SideFile, read_at_most
from flexarm.errors import ModelError
from flexarm.links.imported.body import SOLID_CORNERS, outer_faces, triangles
from flexarm.links.imported.constants import (
    DIGITS,
    LARGEST,
    LARGEST_FILE,
    MOST_ARRAY_BYTES,
    MOST_SHAPES,
)
from flexarm.links.imported.data import (
    MASS_REQUIRED,
    Findings,
    FrameData,
    Integers,
    Matrix,
    ModalData,
    Stated,
    Units,
    no_nodes,
)
from flexarm.spatial import Array, Pose
from flexarm.units import quantity


def content_of(path: Path) -> bytes:
    """Return the bytes of a file; raise ModelError if the file is too large."""
    content = read_at_most(path, LARGEST_FILE)
    if len(content) > LARGEST_FILE:
        raise ModelError(f"{path}: is larger than {LARGEST_FILE:,} bytes")
    return content


def read_arrays(content: bytes, name: str) -> dict[str, Any]:
    """Return the arrays of an NPZ file or the keys of a JSON file; no content is executed.

    Raises
    ------
    ModelError
        If the file is neither, is truncated, contains Python objects, or is too large.
    """
    if content[:2] == b"PK":
        return _npz(content, name)
    try:
        keys = json.loads(content.decode("utf-8"))
    except (UnicodeDecodeError, ValueError, RecursionError):
        raise ModelError(
            f"{name}: is not a body. Give an NPZ file or a JSON object; 'flexarm import-body' "
            "converts files of other programs."
        ) from None
    if not isinstance(keys, dict):
        raise ModelError(f"{name}: must be a JSON object, got {type(keys).__name__}")
    return keys


def _npz(content: bytes, name: str) -> dict[str, Any]:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            total = sum(member.file_size for member in archive.infolist())
            if total > MOST_ARRAY_BYTES:
                raise ModelError(
                    f"{name}: has {total:,} bytes of arrays, more than {MOST_ARRAY_BYTES:,}"
                )
            return {
                member.filename.removesuffix(".npy"): _member(archive, member, name)
                for member in archive.infolist()
            }
    except (ValueError, SyntaxError, TokenError, TypeError) as error:
        raise ModelError(f"{name}: cannot be read: {error}") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, KeyError, RuntimeError) as error:
        raise ModelError(f"{name}: is cut off or damaged: {error}") from None


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str) -> Any:
    """Return an array of an NPZ file, after comparing its header with the bytes present."""
    with archive.open(member) as file:
        version = np.lib.format.read_magic(file)
        heads = np.lib.format.read_array_header_1_0, np.lib.format.read_array_header_2_0
        shape, _, dtype = heads[version > (1, 0)](file)
        if dtype.hasobject:
            raise ModelError(
                f"{name}: contains Python objects, which are not read. Save plain arrays of "
                "numbers."
            )
        stated_bytes, remaining_bytes = (
            math.prod(shape) * dtype.itemsize,
            member.file_size - file.tell(),
        )
        if stated_bytes > remaining_bytes:
            raise ModelError(
                f"{name}: {member.filename} announces {stated_bytes:,} bytes, but "
                f"{remaining_bytes:,} bytes are left in the file. Was it cut off?"
            )
    with archive.open(member) as file:
        return np.lib.format.read_array(file, allow_pickle=False)


Shape = tuple[int | str, ...]  # sizes; a text is the name of a count that several arrays share
Powers = tuple[int, int, int]  # exponents of length, mass and time in a unit
PLAIN: Powers = (0, 0, 0)
LENGTH: Powers = (1, 0, 0)
MASS: Powers = (0, 1, 0)
MOTION = (LENGTH,) * 3 + (PLAIN,) * 3  # displacement and rotation of a frame
_FRAME_KEY = re.compile("frame_(.+)_(position|rotation|nodes|shapes|shape|angle)$")


@dataclass
class ArrayReader:
    """Reader of arrays by key from the plain form of a body, with conversion to SI units.

    For an invalid array, an error is added to the findings, and zeros are returned. The array of
    zeros takes no memory, whatever shape the file states.
    """

    keys: Mapping[str, Any]
    findings: Findings
    units: Units = (1.0, 1.0, 1.0)  # units of length, mass and time, in SI units
    # Counts known so far, such as the number of nodes.
    sizes: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, keys: Mapping[str, Any], findings: Findings) -> "ArrayReader":
        """Build a reader of a file's keys; units are parsed, and each frame becomes two keys."""
        flat_keys = dict(keys)
        for key in ("hub", "tip"):
            if isinstance(flat_keys.get(key), dict):
                frame = flat_keys.pop(key)
                flat_keys |= {f"{key}_{part}": frame[part] for part in ("position", "rotation")
                           if part in frame}  # fmt: skip
        named = flat_keys.pop("frames", {})
        if not isinstance(named, dict) or not all(isinstance(x, dict) for x in named.values()):
            findings.refuse(("frames",), "must be a mapping of names to nodes, position, rotation")
            named = {}
        for name, frame in named.items():
            flat_keys |= {f"frame_{name}_{part}": value for part, value in frame.items()}
        try:
            return cls(flat_keys, findings, read_units(flat_keys.get("units", "m, kg, s")))
        except ModelError as error:
            findings.refuse(("units",), str(error))
            return cls(flat_keys, findings)

    def read(
        self,
        key: str,
        shape: Shape,
        powers: Powers | tuple[Powers, ...] = PLAIN,
        *,
        largest: float = LARGEST,
    ) -> Array:
        """Return a required array in SI units.

        Parameters
        ----------
        key, shape
            Key and expected shape. A text in the shape names a count, such as the number of nodes,
            which the first array with this name determines.
        powers
            Powers of length, mass and time in the unit; or one such triple per entry along the axis
            that has this number of entries.
        largest
            Upper limit of the magnitude of the numbers.
        """
        numbers = self._numbers(key, largest)
        if numbers is not None and numbers.ndim == len(shape):
            for size, count in zip(shape, numbers.shape, strict=True):
                if isinstance(size, str):
                    self.sizes.setdefault(size, count)
        expected = tuple(self.sizes.get(n, 0) if isinstance(n, str) else n for n in shape)
        if numbers is None:
            return np.broadcast_to(0.0, expected)
        if shape == ("shapes", "shapes") and numbers.shape == expected[:1] <= (MOST_SHAPES,):
            numbers = np.diag(numbers)  # a list of numbers is a diagonal matrix
        if numbers.shape != expected:
            labels = [self.findings.keys.get(str(n), str(n)) for n in shape]
            words = "(" + ", ".join(labels) + ")"
            description = (
                f"{words} = {expected}" if any(isinstance(n, str) for n in shape) else words
            )
            self.findings.refuse((key,), f"must have the shape {description}, got {numbers.shape}")
            return np.broadcast_to(0.0, expected)
        unit = np.prod(np.power(self.units, powers), axis=-1)
        if unit.ndim:
            unit = unit.reshape([-1 if n == len(powers) else 1 for n in shape])
        return np.asarray(unit * numbers)

    def optional(
        self, key: str, shape: Shape, powers: Powers | tuple[Powers, ...] = PLAIN
    ) -> Array | None:
        """Return an array in SI units; None if the file does not contain it."""
        return self.read(key, shape, powers) if key in self.keys else None

    def _numbers(self, key: str, largest: float = LARGEST) -> Array | None:
        """Return the finite numbers of a key as an array; None, with an error added, if invalid."""
        if key not in self.keys:
            self.findings.refuse((key,), "is required. Was the file cut off?")
            return None
        try:
            values = np.asarray(self.keys[key])
            if values.dtype.kind not in "fiubO":
                raise TypeError
            numbers = values.astype(np.float64)
        except (TypeError, ValueError, OverflowError):
            self.findings.refuse((key,), "must be an array of numbers")
            return None
        if np.all(np.abs(numbers) <= largest):
            return numbers
        message = f"must be finite numbers of at most {largest:.2g}. Was the file cut off?"
        self.findings.refuse((key,), message)
        return None

    def rows(self, key: str) -> Integers:
        """Return node indices from 0 for node numbers from 1; empty if the key is absent."""
        numbers = self._numbers(key) if key in self.keys else None
        if numbers is None or not numbers.size:
            return no_nodes()
        count = self.sizes.get("nodes", 0)
        in_range = np.all((numbers >= 1) & (numbers <= count))
        if not in_range or np.any(numbers != np.round(numbers)):
            self.findings.refuse((key,), f"must be numbers of nodes from 1 to {count}")
            return no_nodes()
        return numbers.astype(np.int64) - 1

    def lines(self) -> Integers:
        """Return the lines between nodes as pairs of node indices, (k, 2)."""
        rows = self.rows("lines")
        if rows.size and rows.shape != (len(rows), 2):
            self.findings.refuse(("lines",), f"must be pairs of nodes (k, 2), got {rows.shape}")
        return rows if rows.shape == (len(rows), 2) else np.zeros((0, 2), dtype=np.int64)

    def faces(self) -> Integers:
        """Return surface triangles (f, 3), from given faces or from solid elements."""
        rows, elements = self.rows("faces"), self.rows("elements")
        if rows.ndim == 2 and rows.shape[1] in (3, 4):
            return triangles(rows)
        if rows.size:
            self.findings.refuse(
                ("faces",),
                f"must be nodes of triangles or quadrangles, (f, 3) or (f, 4), got {rows.shape}",
            )
        elif elements.ndim == 2 and elements.shape[1] in SOLID_CORNERS:
            return outer_faces(elements)
        return np.zeros((0, 3), dtype=np.int64)

    def frame(self, key: str) -> Pose | None:
        """Return the pose of the hub or tip frame; None if the file does not contain it."""
        position = self.optional(f"{key}_position", (3,), LENGTH)
        rotation = self.optional(f"{key}_rotation", (3, 3))
        if rotation is None:
            return None if position is None else Pose(np.eye(3), position)
        if position is None:
            self.findings.refuse((f"{key}_position",), f"is required with {key}_rotation")
        error = np.abs(rotation.T @ rotation - np.eye(3)).max()
        if not error <= DIGITS or np.linalg.det(rotation) < 0:
            self.findings.refuse(
                (f"{key}_rotation",), "must be a rotation matrix: unit columns, right-handed"
            )
        return Pose(rotation, np.zeros(3) if position is None else position)

    def frame_names(self) -> list[str]:
        """Return the names of the body's frames beside hub and tip; add errors for invalid ones."""
        matches = [_FRAME_KEY.match(key) for key in self.keys]
        names = list(dict.fromkeys(match[1] for match in matches if match))
        for name in names:
            if name in ("hub", "root", "tip") or len(name) > NAME_LENGTH or name_fault(name):
                self.findings.refuse(
                    ("frames", name),
                    "must be one word without . [ ] = , : and not hub, root or tip",
                )
        return names

    def frames(self) -> dict[str, FrameData]:
        """Return the body's frames beside hub and tip, by name."""
        return {
            name: FrameData(
                self.frame(f"frame_{name}"),
                self.rows(f"frame_{name}_nodes").ravel(),
                self.optional(f"frame_{name}_shapes", ("shapes", 6), MOTION),
            )
            for name in self.frame_names()
        }

    def masses(self) -> Matrix:
        """Return the nodes' masses (N,) or consistent mass matrix (N, N); None if absent."""
        if hasattr(self.keys.get("node_mass"), "tocsr"):
            return self.units[1] * self.keys["node_mass"]
        if "mass_per_length" in self.keys:
            return self.read("mass_per_length", ("nodes",), (-1, 1, 0))
        if "mass_indptr" in self.keys:
            from scipy.sparse import triu

            upper = self.triangle("mass", self.sizes.get("nodes", 0), MASS)
            return (upper + triu(upper, 1).T).tocsr()
        for key in ("node_mass", "mass_lumped", "mass"):
            if key in self.keys and not is_single(self.keys[key]):
                return self.read(key, ("nodes",), MASS)
        return None

    def triangle(self, key: str, n: int, powers: Powers) -> Matrix:
        """Return the upper triangle of a symmetric matrix (n, n) as a compressed sparse matrix."""
        from scipy.sparse import csr_array

        data = self.read(f"{key}_data", (f"entries of {key}",), powers)
        columns = self.read(f"{key}_indices", (f"entries of {key}",))
        pointers = self.read(f"{key}_indptr", (n + 1,))
        counts_match = pointers[0] == 0 and pointers[-1] == len(data) == len(columns)
        fits = counts_match and np.all(np.diff(pointers) >= 0)
        are_integers = np.all(columns == np.round(columns)) and np.all(
            pointers == np.round(pointers)
        )
        if not fits or not are_integers or not np.all((columns >= 0) & (columns < n)):
            self.findings.refuse(
                (f"{key}_indptr",),
                f"does not fit a matrix ({n}, {n}) with {len(data)} entries. Was the "
                "file cut off, or are nodes missing?",
            )
            return csr_array((n, n))
        indices = columns.astype(np.int64), pointers.astype(np.int64)
        return csr_array((data, *indices), shape=(n, n))

    def stated(self) -> Stated:
        """Return mass, centre, and inertia about the origin as stated in the file.

        Values that the file does not state are None.
        """
        key = "total_mass" if "total_mass" in self.keys else "mass"
        is_stated = key in self.keys and is_single(self.keys[key])
        return (
            float(self.read(key, (), MASS)) if is_stated else None,
            self.optional("centre", (3,), LENGTH),
            self.optional("inertia_about_origin", (3, 3), (2, 1, 0)),
        )

    def names(self, key: str, default: tuple[str, ...]) -> tuple[str, ...]:
        """Return the names of the shapes; add an error for duplicate or invalid names."""
        if key not in self.keys:
            return default
        words = tuple(str(name) for name in np.ravel(np.asarray(self.keys[key], dtype=object)))
        invalid = [word for word in words if not 0 < len(word) <= NAME_LENGTH or name_fault(word)]
        count = self.sizes.setdefault("shapes", len(words))
        if len(words) != count or len(set(words)) < count or invalid:
            message = f"must be {count} different words without . [ ] = , : or control characters"
            self.findings.refuse((key,), message)
        return words

    def title(self, name: str) -> str:
        """Return the name of the body, or the file name if none is given."""
        title = str(self.keys.get("name", name))[:NAME_LENGTH]
        if reason := control_character(title):
            self.findings.refuse(("name",), reason)
        return title


def is_single(value: Any) -> bool:
    """Return whether a value is a single number or text, not a list or array."""
    return not isinstance(value, list) and np.ndim(value) == 0


def read_units(units: Any) -> Units:
    """Return units of length, mass and time, such as 'mm, t, s', as multiples of SI units."""
    if isinstance(units, np.ndarray):
        units = ", ".join(str(word_part) for word_part in np.atleast_1d(units))
    if isinstance(units, dict):
        units = ", ".join(str(units.get(key, "")) for key in ("length", "mass", "time"))
    words = [word.strip() for word in str(units).split(",")][:3]
    if len(words) != 3:
        raise ModelError("units must be those of length, mass and time, such as 'mm, t, s'")
    length, mass, time = (
        quantity(f"1 {word}", unit) for word, unit in zip(words, ("m", "kg", "s"), strict=True)
    )
    return length, mass, time


SETS = ("", "cb_", "clamped_")  # prefixes of array names; the first one that occurs is used
WAYS = ("x", "y", "z", "rx", "ry", "rz")  # unit motions of a face
TIP_NAMES = tuple(f"tip_{way}" for way in WAYS)
# Units of the unit loads: accelerations and angular accelerations of the hub, products xx, yy, zz,
# yz, zx, xy of its angular velocities, force and moment on the tip.
LOADS = ((1, 1, 0),) * 3 + ((2, 1, 0),) * 9 + (LENGTH,) * 3 + (PLAIN,) * 3
# For each key, the field of `ModalData`, the shape, and the powers of length, mass and time in the
# unit.
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
    "hub_shapes": ("hub_shapes", ("shapes", len(WAYS)), MOTION),
    "tip_shapes": ("tip_shapes", ("shapes", len(WAYS)), MOTION),
    "strains": ("strains", ("shapes", "places"), PLAIN),
    "K_sigma": ("k_sigma", (len(LOADS), "shapes", "shapes"), LOADS),
    "K_u": ("k_u", (len(LOADS), "shapes", "shapes"), LOADS),
}


def arrays_beside(side: SideFile) -> SideFile | None:
    """Return the NPZ file that belongs to a JSON file; None if the JSON file is complete."""
    if side.content[:2] == b"PK":
        return None
    keys = read_arrays(side.content, side.name)
    arrays_name = keys.get("arrays")
    if arrays_name is None:
        if any(f"{start}shapes" in keys for start in SETS) or "K" in keys:
            return None
        arrays_name = side.name.rpartition("/")[2].removesuffix(".json") + ".npz"
    if not isinstance(arrays_name, str):
        raise ModelError(f"{side.name}: arrays: must be the name of an NPZ file")
    return side.read_beside(arrays_name)


def read_keys(side: SideFile) -> dict[str, Any]:
    """Return the keys of a body's file, including the arrays of the NPZ file beside it."""
    keys, arrays = read_arrays(side.content, side.name), arrays_beside(side)
    return keys if arrays is None else {**keys, **read_arrays(arrays.content, arrays.name)}


def plain_data(keys: Mapping[str, Any], name: str, findings: Findings) -> ModalData:
    """Return modal data from the keys of a file; without shapes, data of a superelement.

    The returned data are invalid if errors were added to ``findings``.
    """
    reader = ArrayReader.of(keys, findings)
    start = next((prefix for prefix in SETS if f"{prefix}shapes" in keys), None)
    if start is None:
        return _superelement(reader, name)
    arrays: dict[str, Any] = {}
    for key, (field_name, shape, powers) in ARRAYS.items():
        array_name = start + key if "shapes" in shape else key
        short_name = array_name.removesuffix("_shapes")  # prefix and interface, such as 'cb_tip'
        if array_name not in reader.keys and not is_single(reader.keys.get(short_name, 0)):
            array_name = short_name
        if array_name in reader.keys or key == "nodes":
            arrays[field_name] = reader.read(array_name, shape, powers)
        if (count := reader.sizes.get("shapes", 0)) > MOST_SHAPES:
            findings.refuse((array_name,), f"must be {MOST_SHAPES} shapes at most, got {count:,}")
            count = MOST_SHAPES
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
        frames=reader.frames(),
        stated=reader.stated(),
        lines=reader.lines(),
        faces=reader.faces(),
        units=reader.units,
        **arrays,
    )


def _superelement(reader: ArrayReader, name: str) -> ModalData:
    """Return the modal data of a superelement: matrices over motions of hub, tip and modes."""
    tip, unknowns = reader.frame("tip"), ("unknowns", "unknowns")
    if reader.frame_names():
        reader.findings.refuse(("frames",), "are of bodies with nodes. Leave them out.")
    if "K" not in reader.keys or "M" not in reader.keys:
        reader.findings.refuse(
            ("shapes",),
            "are required, (m, N, 3); or K and M of hub, tip and modes of a superelement without "
            "nodes",
        )
    elif tip is None:
        reader.findings.refuse(("tip",), "is required of a superelement: position and rotation")
    # K is force over displacement; amplitudes of modes have the unit of length
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
    """Return the data of an unreduced finite-element model: nodes, K (3N, 3N), masses, faces."""
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
        tip_nodes=tip, hub=reader.frame("hub"), tip=reader.frame("tip"), frames=reader.frames(),
        faces=reader.faces(),
        units=reader.units,
    )  # fmt: skip
