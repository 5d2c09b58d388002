"""The plain form of a body: arrays in an NPZ file, what is short in a JSON file beside it, or both.

docs/modal-bodies.md lists the arrays.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from flexarm.arm.part import MAX_NAME, control_character, name_fault
from flexarm.arm.side_files import SideFile
from flexarm.errors import ModelError
from flexarm.links.base import Array
from flexarm.links.imported.data import (
    BodyData,
    Integers,
    Stated,
    Superelement,
    Units,
    no_lines,
    no_nodes,
)
from flexarm.links.imported.drawing import SOLID_CORNERS, outer_faces, triangles
from flexarm.links.imported.readers.labelled import LARGEST
from flexarm.links.imported.readers.npz import read_arrays
from flexarm.spatial import Pose
from flexarm.units import quantity

MOST_SHAPES = 100
LONGEST_TITLE = 200  # characters of a body's name
SETS = ("", "cb_", "clamped_")  # names of arrays start with one of these, the first that is there
LOADS = 18  # unit loads that K_sigma and K_u are given for
TIP_NAMES = ("tip_x", "tip_y", "tip_z", "tip_rx", "tip_ry", "tip_rz")


def arrays_beside(side: SideFile) -> SideFile | None:
    """Read the NPZ file that a JSON file names, or has beside it; None where all is in one file."""
    if side.content[:2] == b"PK":
        return None
    found = read_arrays(side.content, side.name)
    named = found.get("arrays")
    if named is None:
        if any(f"{start}shapes" in found for start in SETS) or "K" in found:
            return None
        named = side.name.rpartition("/")[2].removesuffix(".json") + ".npz"
    if not isinstance(named, str):
        raise ModelError(f"{side.name}: arrays: must be the name of an NPZ file")
    return side.read_beside(named)


def read_keys(side: SideFile) -> dict[str, Any]:
    """Read the keys of a body's file, and of the arrays beside it."""
    found, arrays = read_arrays(side.content, side.name), arrays_beside(side)
    return found if arrays is None else {**found, **read_arrays(arrays.content, arrays.name)}


def plain_data(keys: Mapping[str, Any], name: str) -> BodyData | Superelement:
    """Take a body out of the keys of its file, in SI units.

    Raises
    ------
    ModelError
        If something is missing, or is no array of numbers.
    """
    keys = with_frames(keys)
    length, mass, time = read_units(keys, name)
    start = next((s for s in SETS if f"{s}shapes" in keys), None)
    frames = {key: frame_of(keys, key, name, length) for key in ("hub", "tip")}
    energy = mass * length**2
    title = body_name(keys, name)
    if start is None:
        return _superelement(keys, name, title, frames, (length, mass, time))
    if "nodes" not in keys:
        raise ModelError(f"{name}: nodes: is required with shapes, (N, 3)")

    def matrix(key: str, unit: float) -> Array | None:
        found = _optional(keys, start + key, name)
        return None if found is None else unit * (np.diag(found) if found.ndim == 1 else found)

    shapes = numbers_of(keys, start + "shapes", name)
    if shapes.ndim != 3 or len(shapes) > MOST_SHAPES:
        raise ModelError(
            f"{name}: {start}shapes: must have the shape (m, N, 3) with m at most {MOST_SHAPES}, "
            f"got {shapes.shape}"
        )
    hub_shapes, tip_shapes = (
        _motions(keys, start + end, (len(shapes), 6), name, length) for end in ("hub", "tip")
    )
    stiffness = matrix("K", energy / time**2)
    hertz = _optional(keys, start + "frequencies", name)
    squares = _optional(keys, start + "w2", name)
    if hertz is None and stiffness is None and squares is not None:
        hertz = np.sign(squares) * np.sqrt(np.abs(squares)) / (2 * np.pi)
    inertia = _optional(keys, "inertia", name)
    return BodyData(
        name=title,
        names=_names(keys, start, len(shapes), name),
        nodes=length * numbers_of(keys, "nodes", name),
        node_mass=read_masses(keys, name, mass),
        shapes=length * shapes,
        stiffness=stiffness,
        mass=matrix("M", energy),
        damping=matrix("D", energy / time),
        hertz=hertz,
        ratios=_optional(keys, start + "damping_ratios", name),
        hub=frames["hub"] or Pose(np.eye(3), np.zeros(3)),
        tip=frames["tip"],
        node_inertia=None if inertia is None else mass * length**2 * inertia,
        rotations=_optional(keys, start + "rotations", name),
        hub_shapes=hub_shapes,
        tip_shapes=tip_shapes,
        hub_nodes=node_rows(keys, "hub_nodes", name).ravel(),
        tip_nodes=node_rows(keys, "tip_nodes", name).ravel(),
        stated=stated_mass(keys, name, mass, length),
        lines=element_lines(keys, name),
        faces=element_faces(keys, name),
        strains=_optional(keys, start + "strains", name),
        k_sigma=_per_load(keys, start + "K_sigma", name, length, mass),
        k_u=_per_load(keys, start + "K_u", name, length, mass),
        units=(length, mass, time),
    )


def _motions(
    keys: Mapping[str, Any], end: str, shape: tuple[int, int], name: str, length: float
) -> Array | None:
    """Read displacement and rotation of an interface frame in the shapes, (m, 6), in SI units."""
    found = _any(keys, (f"{end}_shapes", end), name)
    if found is None:
        return None
    if found.shape != shape:
        raise ModelError(f"{name}: {end}_shapes: must have the shape {shape}, got {found.shape}")
    return np.asarray(found * np.array([length] * 3 + [1.0] * 3))


def _per_load(
    keys: Mapping[str, Any], key: str, name: str, length: float, mass: float
) -> Array | None:
    """Read stiffness per unit load, (18, m, m), in SI units."""
    found = _optional(keys, key, name)
    if found is None:
        return None
    if found.ndim != 3 or len(found) != LOADS:
        raise ModelError(
            f"{name}: {key}: must have the shape ({LOADS}, m, m): per acceleration and angular "
            "acceleration of the hub, products xx, yy, zz, yz, zx, xy of its angular velocities, "
            f"force and moment on the tip; got {found.shape}"
        )
    units = [mass * length] * 3 + [mass * length**2] * 9 + [length] * 3 + [1.0] * 3
    return np.asarray(np.array(units)[:, None, None] * found)


def _superelement(
    keys: Mapping[str, Any],
    name: str,
    title: str,
    frames: Mapping[str, Pose | None],
    units: Units,
) -> Superelement:
    length, mass, time = units
    if "K" not in keys or "M" not in keys:
        raise ModelError(
            f"{name}: shapes: are required, (m, N, 3); or K and M of hub, tip and modes of a "
            "superelement without nodes"
        )
    if frames["tip"] is None:
        raise ModelError(f"{name}: tip: is required of a superelement: position and rotation")
    K, M = numbers_of(keys, "K", name), numbers_of(keys, "M", name)
    D = _optional(keys, "D", name)
    # forces over displacements; modes are counted in the unit of length
    force = mass / time**2
    reach = np.ones(len(K))
    reach[3:6] = reach[9:12] = length
    pairs = np.outer(reach, reach) if K.shape == (len(K), len(K)) else 1.0
    return Superelement(
        title, force * pairs * K, mass * pairs * M if M.shape == K.shape else M,
        None if D is None else mass / time * pairs * D,
        frames["hub"] or Pose(np.eye(3), np.zeros(3)), frames["tip"],
        stated_mass(keys, name, mass, length), units,
    )  # fmt: skip


def stated_mass(keys: Mapping[str, Any], name: str, mass: float, length: float) -> Stated:
    """Read mass, centre and inertia about the origin as a program states them, in SI units."""
    total = keys.get("total_mass", keys.get("mass"))
    single = total is not None and _is_single(total)
    given = numbers_of({"mass": total}, "mass", name) if single else None
    centre = _optional(keys, "centre", name)
    inertia = _optional(keys, "inertia_about_origin", name)
    for key, array, shape in (("centre", centre, (3,)), ("inertia_about_origin", inertia, (3, 3))):
        if array is not None and array.shape != shape:
            raise ModelError(f"{name}: {key}: must have the shape {shape}, got {array.shape}")
    return (
        None if given is None else mass * float(given),
        None if centre is None else length * centre,
        None if inertia is None else mass * length**2 * inertia,
    )


def with_frames(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Spread frames that are given as objects with position and rotation."""
    found = dict(keys)
    for key in ("hub", "tip"):
        if isinstance(found.get(key), dict):
            frame = found.pop(key)
            found |= {f"{key}_{part}": frame[part] for part in ("position", "rotation")
                      if part in frame}  # fmt: skip
    return found


def frame_of(keys: Mapping[str, Any], key: str, name: str, length: float) -> Pose | None:
    """Read an interface frame, or None where it is not given."""
    position = _optional(keys, f"{key}_position", name)
    rotation = _optional(keys, f"{key}_rotation", name)
    if position is None:
        if rotation is not None:
            raise ModelError(f"{name}: {key}_position: is required with {key}_rotation")
        return None
    rotation = np.eye(3) if rotation is None else rotation
    if position.shape != (3,) or rotation.shape != (3, 3):
        raise ModelError(f"{name}: {key}: must be a position (3,) and a rotation matrix (3, 3)")
    return Pose(rotation, length * position)


def read_units(keys: Mapping[str, Any], name: str) -> Units:
    """Return the file's units of length, mass and time in SI units."""
    given = keys.get("units", "m, kg, s")
    if isinstance(given, np.ndarray):
        given = ", ".join(str(each) for each in np.atleast_1d(given))
    if isinstance(given, dict):
        given = ", ".join(str(given.get(key, "")) for key in ("length", "mass", "time"))
    words = [word.strip() for word in str(given).split(",")][:3]
    if len(words) != 3:
        raise ModelError(f"{name}: units: must be length, mass, time such as 'mm, t, s'")
    try:
        length, mass, time = (
            quantity(f"1 {word}", unit) for word, unit in zip(words, ("m", "kg", "s"), strict=True)
        )
    except ModelError as error:
        raise ModelError(f"{name}: units: {error}") from None
    return length, mass, time


def read_masses(keys: Mapping[str, Any], name: str, unit: float) -> Any:
    """Give nodal masses (N,), or the consistent mass (N, N) of its upper triangle."""
    if hasattr(keys.get("node_mass"), "tocsr"):
        return unit * keys["node_mass"]
    if "mass_indptr" not in keys:
        plain = _any(keys, ("node_mass", "mass_lumped", "mass"), name)
        if plain is None or plain.ndim != 1:
            raise ModelError(
                f"{name}: node_mass: is required, (N,), or mass_indptr, mass_indices, mass_data of "
                "the upper triangle of the consistent mass"
            )
        return unit * plain
    whole = upper_triangle(keys, "mass", len(numbers_of(keys, "nodes", name)), name)
    from scipy.sparse import triu

    return unit * (whole + triu(whole, 1).T).tocsr()


def upper_triangle(keys: Mapping[str, Any], key: str, n: int, name: str) -> Any:
    """Read the upper triangle of a symmetric matrix (n, n) in compressed rows.

    Raises
    ------
    ModelError
        If its arrays are missing, or do not fit each other.
    """
    from scipy.sparse import csr_array

    for part in ("indptr", "indices", "data"):
        if f"{key}_{part}" not in keys:
            raise ModelError(f"{name}: {key}_{part}: is required")
    pointers, columns = (
        node_rows(keys, f"{key}_{part}", name) + 1 for part in ("indptr", "indices")
    )
    data = numbers_of(keys, f"{key}_data", name)
    fits = len(pointers) == n + 1 and pointers[0] == 0
    fits = fits and len(columns) == len(data) == pointers[-1]
    if not fits or not np.all(np.diff(pointers) >= 0) or not np.all((columns >= 0) & (columns < n)):
        raise ModelError(
            f"{name}: {key}_indptr: does not fit a matrix ({n}, {n}) with {len(data)} entries: was "
            "the file cut off, or are nodes missing?"
        )
    return csr_array((data, columns, pointers), shape=(n, n))


def _names(keys: Mapping[str, Any], start: str, m: int, name: str) -> tuple[str, ...]:
    given = keys.get(start + "names")
    if given is not None:
        return shape_names(given, m, f"{name}: {start}names")
    if start == "cb_" and m >= 6:
        return (*TIP_NAMES, *(f"fixed{k}" for k in range(1, m - 5)))
    return tuple(f"mode{k}" for k in range(1, m + 1))


def shape_names(given: Any, m: int | None, where: str) -> tuple[str, ...]:
    """Read the names of so many shapes, or of any number.

    Raises
    ------
    ModelError
        If they are not different words that coordinates may have.
    """
    words = tuple(str(each) for each in np.ravel(np.asarray(given, dtype=object)))
    odd = [word for word in words if not 0 < len(word) <= MAX_NAME or name_fault(word)]
    count = len(words) if m is None else m
    if len(words) != count or len(set(words)) < count or odd:
        raise ModelError(
            f"{where}: must be {count} different words without . [ ] = , : or control characters"
        )
    return words


def body_name(keys: Mapping[str, Any], name: str) -> str:
    """Return what a file calls its body; its own name if it says nothing."""
    title = str(keys.get("name", name))[:LONGEST_TITLE]
    if reason := control_character(title):
        raise ModelError(f"{name}: name: {reason}")
    return title


def element_lines(keys: Mapping[str, Any], name: str) -> Integers:
    """Give lines between corners of elements, pairs of rows (k, 2); none where none are given."""
    rows = node_rows(keys, "lines", name)
    if not rows.size:
        return no_lines()
    if rows.shape != (len(rows), 2):
        raise ModelError(f"{name}: lines: must be pairs of nodes (k, 2), got {rows.shape}")
    return rows


def element_faces(keys: Mapping[str, Any], name: str) -> Integers:
    """Give triangles of the surface, rows (f, 3): the faces given, or those of solid elements."""
    rows = node_rows(keys, "faces", name)
    if rows.size:
        if rows.ndim != 2 or rows.shape[1] not in (3, 4):
            raise ModelError(
                f"{name}: faces: must be nodes of triangles or quadrangles, (f, 3) or (f, 4), got "
                f"{rows.shape}"
            )
        return triangles(rows)
    elements = node_rows(keys, "elements", name)
    if elements.ndim != 2 or elements.shape[1] not in SOLID_CORNERS:
        return no_lines(3)
    return outer_faces(elements)


def _any(keys: Mapping[str, Any], names: tuple[str, ...], name: str) -> Array | None:
    for each in names:
        if each in keys and not _is_single(keys[each]):
            return numbers_of(keys, each, name)
    return None


def _is_single(value: Any) -> bool:
    """Return whether a value is one number or text, not a list of them, however ragged."""
    return not isinstance(value, list) and np.ndim(value) == 0


def _optional(keys: Mapping[str, Any], key: str, name: str) -> Array | None:
    return numbers_of(keys, key, name) if key in keys else None


def numbers_of(keys: Mapping[str, Any], key: str, name: str, *, largest: float = LARGEST) -> Array:
    """Read an array of finite numbers, at most so large, that must be there."""
    if key not in keys:
        raise ModelError(f"{name}: {key}: is required")
    try:
        given = np.asarray(keys[key])
        if given.dtype.kind not in "fiubO":
            raise TypeError
        found = given.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"{name}: {key}: must be an array of numbers") from None
    if not np.all(np.abs(found) <= largest):
        raise ModelError(
            f"{name}: {key}: must be finite numbers of at most {largest:.2g}: was the file cut off?"
        )
    return found


def node_rows(keys: Mapping[str, Any], key: str, name: str) -> Integers:
    """Give numbers of nodes, which count from 1, as rows."""
    if key not in keys:
        return no_nodes()
    found = numbers_of(keys, key, name)
    if not np.all(np.abs(found) < 2**53) or np.any(found != np.round(found)):
        raise ModelError(f"{name}: {key}: must be whole numbers")
    return found.astype(np.int64) - 1
