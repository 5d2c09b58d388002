"""Arrays out of the keys of a file, with checks of their shapes, units and numbers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from flexarm.arm.part import MAX_NAME, control_character, name_fault
from flexarm.errors import ModelError
from flexarm.links.base import Array
from flexarm.links.imported.data import Integers, Matrix, Stated, Units, no_nodes
from flexarm.links.imported.drawing import SOLID_CORNERS, outer_faces, triangles
from flexarm.links.imported.readers.labelled import LARGEST
from flexarm.links.imported.report import Findings
from flexarm.spatial import Pose
from flexarm.units import quantity

MOST_SHAPES = 200  # of a table; bodies of any shape have fewer
LONGEST_TITLE = 200  # characters of a body's name
SQUARE = 1e-6  # how far the columns of a rotation may be from unit and perpendicular ones
Shape = tuple[int | str, ...]  # sizes; a word stands for a count that arrays have in common
Powers = tuple[int, int, int]  # of length, mass and time in a unit
PLAIN: Powers = (0, 0, 0)
LENGTH: Powers = (1, 0, 0)
MASS: Powers = (0, 1, 0)


@dataclass
class ArrayReader:
    """Reads arrays in SI units; a wrong array is refused and replaced by zeros.

    The zeros take no memory, whatever shape the file claims.
    """

    keys: Mapping[str, Any]
    findings: Findings
    units: Units = (1.0, 1.0, 1.0)  # of length, mass and time, in SI units
    sizes: dict[str, int] = field(default_factory=dict)  # counts so far, such as of the nodes

    @classmethod
    def of(cls, keys: Mapping[str, Any], findings: Findings) -> "ArrayReader":
        """Read units, and spread frames that are given as objects with position and rotation."""
        spread = dict(keys)
        for key in ("hub", "tip"):
            if isinstance(spread.get(key), dict):
                frame = spread.pop(key)
                spread |= {f"{key}_{part}": frame[part] for part in ("position", "rotation")
                           if part in frame}  # fmt: skip
        try:
            return cls(spread, findings, read_units(spread.get("units", "m, kg, s")))
        except ModelError as error:
            findings.refuse(("units",), str(error))
            return cls(spread, findings)

    def read(
        self,
        key: str,
        shape: Shape,
        powers: Powers | tuple[Powers, ...] = PLAIN,
        *,
        largest: float = LARGEST,
    ) -> Array:
        """Read an array that must be there.

        Parameters
        ----------
        key, shape
            Its key, and its sizes; a count that is met for the first time is that of this array.
        powers
            Of length, mass and time in its unit; or one such triple per row along the axis of that
            size.
        largest
            Magnitude that no number exceeds.
        """
        numbers = self._numbers(key, largest)
        if numbers is not None and numbers.ndim == len(shape):
            for size, count in zip(shape, numbers.shape, strict=True):
                if isinstance(size, str):
                    self.sizes.setdefault(size, count)
        full = tuple(self.sizes.get(n, 0) if isinstance(n, str) else n for n in shape)
        if numbers is None:
            return np.broadcast_to(0.0, full)
        if shape == ("shapes", "shapes") and numbers.shape == full[:1] <= (MOST_SHAPES,):
            numbers = np.diag(numbers)  # a list stands for a diagonal matrix
        if numbers.shape != full:
            named = [self.findings.keys.get(str(n), str(n)) for n in shape]
            words = "(" + ", ".join(named) + ")"
            here = f"{words} = {full}" if any(isinstance(n, str) for n in shape) else words
            self.findings.refuse((key,), f"must have the shape {here}, got {numbers.shape}")
            return np.broadcast_to(0.0, full)
        unit = np.prod(np.power(self.units, powers), axis=-1)
        if unit.ndim:
            unit = unit.reshape([-1 if n == len(powers) else 1 for n in shape])
        return np.asarray(unit * numbers)

    def optional(
        self, key: str, shape: Shape, powers: Powers | tuple[Powers, ...] = PLAIN
    ) -> Array | None:
        """Read an array, None where it is not given."""
        return self.read(key, shape, powers) if key in self.keys else None

    def _numbers(self, key: str, largest: float = LARGEST) -> Array | None:
        """Read finite numbers; None where they are refused."""
        if key not in self.keys:
            self.findings.refuse((key,), "is required: was the file cut off?")
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
        message = f"must be finite numbers of at most {largest:.2g}: was the file cut off?"
        self.findings.refuse((key,), message)
        return None

    def rows(self, key: str) -> Integers:
        """Read numbers of nodes, which count from 1, as rows; none where they are not given."""
        numbers = self._numbers(key) if key in self.keys else None
        if numbers is None or not numbers.size:
            return no_nodes()
        count = self.sizes.get("nodes", 0)
        inside = np.all((numbers >= 1) & (numbers <= count))
        if not inside or np.any(numbers != np.round(numbers)):
            self.findings.refuse((key,), f"must be numbers of nodes from 1 to {count}")
            return no_nodes()
        return numbers.astype(np.int64) - 1

    def lines(self) -> Integers:
        """Read lines between nodes, pairs of rows (k, 2)."""
        rows = self.rows("lines")
        if rows.size and rows.shape != (len(rows), 2):
            self.findings.refuse(("lines",), f"must be pairs of nodes (k, 2), got {rows.shape}")
        return rows if rows.shape == (len(rows), 2) else np.zeros((0, 2), dtype=np.int64)

    def faces(self) -> Integers:
        """Read triangles of the surface, (f, 3): the faces given, or those of solid elements."""
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
        """Read an interface frame, None where it is not given."""
        position = self.optional(f"{key}_position", (3,), LENGTH)
        rotation = self.optional(f"{key}_rotation", (3, 3))
        if rotation is None:
            return None if position is None else Pose(np.eye(3), position)
        if position is None:
            self.findings.refuse((f"{key}_position",), f"is required with {key}_rotation")
        off = np.abs(rotation.T @ rotation - np.eye(3)).max()
        if not off <= SQUARE or np.linalg.det(rotation) < 0:
            self.findings.refuse(
                (f"{key}_rotation",), "must be a rotation matrix: unit columns, right-handed"
            )
        return Pose(rotation, np.zeros(3) if position is None else position)

    def masses(self) -> Matrix:
        """Read masses of the nodes (N,), or their consistent mass (N, N); None if not given."""
        if hasattr(self.keys.get("node_mass"), "tocsr"):
            return self.units[1] * self.keys["node_mass"]
        if "mass_per_length" in self.keys:
            return self.read("mass_per_length", ("nodes",), (-1, 1, 0))
        if "mass_indptr" in self.keys:
            from scipy.sparse import triu

            whole = self.triangle("mass", self.sizes.get("nodes", 0), MASS)
            return (whole + triu(whole, 1).T).tocsr()
        for key in ("node_mass", "mass_lumped", "mass"):
            if key in self.keys and not is_single(self.keys[key]):
                return self.read(key, ("nodes",), MASS)
        return None

    def triangle(self, key: str, n: int, powers: Powers) -> Matrix:
        """Read the upper triangle of a symmetric matrix (n, n) in compressed rows."""
        from scipy.sparse import csr_array

        data = self.read(f"{key}_data", (f"entries of {key}",), powers)
        columns = self.read(f"{key}_indices", (f"entries of {key}",))
        pointers = self.read(f"{key}_indptr", (n + 1,))
        fits = pointers[0] == 0 and pointers[-1] == len(data) and np.all(np.diff(pointers) >= 0)
        whole = np.all(columns == np.round(columns)) and np.all(pointers == np.round(pointers))
        if not fits or not whole or not np.all((columns >= 0) & (columns < n)):
            self.findings.refuse(
                (f"{key}_indptr",),
                f"does not fit a matrix ({n}, {n}) with {len(data)} entries: was the file cut off, "
                "or are nodes missing?",
            )
            return csr_array((n, n))
        places = columns.astype(np.int64), pointers.astype(np.int64)
        return csr_array((data, *places), shape=(n, n))

    def stated(self) -> Stated:
        """Read mass, centre and inertia about the origin as a program states them."""
        key = "total_mass" if "total_mass" in self.keys else "mass"
        single = key in self.keys and is_single(self.keys[key])
        return (
            float(self.read(key, (), MASS)) if single else None,
            self.optional("centre", (3,), LENGTH),
            self.optional("inertia_about_origin", (3, 3), (2, 1, 0)),
        )

    def names(self, key: str, default: tuple[str, ...]) -> tuple[str, ...]:
        """Read the names of the shapes: different words that coordinates may have."""
        if key not in self.keys:
            return default
        words = tuple(str(each) for each in np.ravel(np.asarray(self.keys[key], dtype=object)))
        odd = [word for word in words if not 0 < len(word) <= MAX_NAME or name_fault(word)]
        count = self.sizes.setdefault("shapes", len(words))
        if len(words) != count or len(set(words)) < count or odd:
            message = f"must be {count} different words without . [ ] = , : or control characters"
            self.findings.refuse((key,), message)
        return words

    def title(self, name: str) -> str:
        """Read the name of the body; that of its file if there is none."""
        title = str(self.keys.get("name", name))[:LONGEST_TITLE]
        if reason := control_character(title):
            self.findings.refuse(("name",), reason)
        return title


def is_single(value: Any) -> bool:
    """Return whether a value is one number or text, not a list of them, however ragged."""
    return not isinstance(value, list) and np.ndim(value) == 0


def read_units(given: Any) -> Units:
    """Return units of length, mass and time, such as 'mm, t, s', in SI units."""
    if isinstance(given, np.ndarray):
        given = ", ".join(str(each) for each in np.atleast_1d(given))
    if isinstance(given, dict):
        given = ", ".join(str(given.get(key, "")) for key in ("length", "mass", "time"))
    words = [word.strip() for word in str(given).split(",")][:3]
    if len(words) != 3:
        raise ModelError("must be length, mass, time such as 'mm, t, s'")
    length, mass, time = (
        quantity(f"1 {word}", unit) for word, unit in zip(words, ("m", "kg", "s"), strict=True)
    )
    return length, mass, time
