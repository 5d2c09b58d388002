"""Readers of superelement matrices of Abaqus and Nastran.

An unknown of a superelement is labelled by its node and its direction.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from flexarm.errors import ModelError
from flexarm.io.csv_table import read_number
from flexarm.links.imported.constants import FRAME, LARGEST, MOST_UNKNOWNS
from flexarm.spatial import Array

Label = tuple[int, int]  # node; direction 1 to 6, or 0 for a scalar point
DIRECTIONS = range(1, FRAME + 1)
KINDS = {
    "K": "stiffness",
    "M": "mass",
    "D": "viscous damping",
    "K4": "structural damping",
}


@dataclass
class Entries:
    """Entries of a symmetric matrix by pair of unknowns; one triangle is enough."""

    title: str  # name of the matrix in the file
    values: dict[tuple[Label, Label], float] = field(default_factory=dict)

    def add(self, row: Label, column: Label, value: float, location: str) -> None:
        """Add an entry to the matrix.

        Raises
        ------
        ModelError
            If the entry is a duplicate, or there are more entries than a superelement has.
        """
        if (row, column) in self.values:
            raise ModelError(
                f"{location}: this entry of {self.title} is given twice. Keep one of them."
            )
        if len(self.values) == MOST_UNKNOWNS**2:
            raise _too_large(location, f"more than {MOST_UNKNOWNS**2} entries")
        self.values[row, column] = value

    def labels(self) -> set[Label]:
        """Return the (node, direction) labels of all rows and columns that have matrix entries."""
        return {label for pair in self.values for label in pair}

    def matrix(self, order: Mapping[Label, int]) -> Array:
        """Return the symmetric matrix, with its unknowns in a given order."""
        matrix = np.zeros((len(order),) * 2)
        for (row, column), value in self.values.items():
            i, j = order[row], order[column]
            matrix[i, j] = value
            if (column, row) not in self.values:
                matrix[j, i] = value
        return matrix


class Matrices(dict[str, Entries]):
    """Matrices of a superelement, at most one of each kind in `KINDS`."""

    def begin(self, kind: str, title: str, location: str) -> Entries:
        """Add an empty matrix of a kind and return it.

        Raises
        ------
        ModelError
            If the kind already has a matrix.
        """
        if kind in self:
            raise ModelError(
                f"{location}: {title}: is a second {KINDS[kind]} matrix, after {self[kind].title}. "
                "Keep one of them."
            )
        return self.setdefault(kind, Entries(title))


def interface_order(
    labels: Iterable[Label], name: str, hub: int | None, tip: int | None
) -> dict[Label, int]:
    """Return the row of each unknown of a superelement, in the order hub, tip, modes.

    Parameters
    ----------
    labels
        The unknowns.
    name
        Name of the file, for messages.
    hub, tip
        Numbers of the interface nodes; None selects the two nodes with six directions, hub first.

    Raises
    ------
    ModelError
        If the hub node or the tip node is missing.
    """
    unknowns = set(labels)
    complete = sorted(
        {node for node, _ in unknowns if all((node, d) in unknowns for d in DIRECTIONS)}
    )
    for key, node in (("hub", hub), ("tip", tip)):
        if node is not None and node not in complete:
            raise ModelError(
                f"{name}: {key}: node {node} does not have all six directions. The interface "
                f"nodes are {', '.join(map(str, complete)) or 'none'}."
            )
    remaining = [node for node in complete if node not in (hub, tip)]
    nodes = [
        node if node is not None else remaining.pop(0) if remaining else None for node in (hub, tip)
    ]
    if None in nodes or (remaining and (hub is None or tip is None)):
        raise ModelError(
            f"{name}: must have two interface nodes with six directions each, hub and tip, got "
            f"{len(complete)} ({', '.join(map(str, complete)) or 'none'}). Reduce the body to the "
            "frames of both flanges, or name the nodes by --hub-node and --tip-node."
        )
    ends = [(int(node or 0), d) for node in nodes for d in DIRECTIONS]
    order = [*ends, *sorted(unknowns - set(ends))]
    if len(order) > MOST_UNKNOWNS:
        raise _too_large(name, f"{len(order)} unknowns")
    return {label: k for k, label in enumerate(order)}


def _too_large(location: str, size: str) -> ModelError:
    return ModelError(
        f"{location}: has {size}. A superelement has at most {MOST_UNKNOWNS} unknowns: 'flexarm "
        "reduce' takes full matrices"
    )


def require_superelement(size: int, location: str) -> None:
    """Raise ModelError if a matrix has more rows than a superelement can have."""
    if size > MOST_UNKNOWNS:
        raise _too_large(location, f"{size} unknowns")


def number(text: str, location: str) -> float:
    """Return the finite number in a text, which may have a Fortran D exponent."""
    value = read_number(text.upper().replace("D", "E"))
    if not abs(value) <= LARGEST:
        raise ModelError(
            f"{location}: must be a finite number of at most {LARGEST:.2g}, got "
            f"{text.strip()[:30]!r}"
        )
    return value


def whole_number(text: str, location: str) -> int:
    """Return the integer in a text, of at most 18 digits."""
    word = text.strip()
    if not re.fullmatch(r"[-+]?[0-9]{1,18}", word):
        raise ModelError(f"{location}: must be a whole number, got {word[:30]!r}")
    return int(word)


TYPES = {"STIFFNESS": "K", "MASS": "M", "VISCOUSDAMPING": "D", "DAMPING": "D",
         "STRUCTURALDAMPING": "K4"}  # fmt: skip


def read_abaqus(text: str, name: str, matrices: Matrices) -> None:
    """Add the matrices of an Abaqus file in `MATRIX INPUT` format to ``matrices``.

    A line ``*MATRIX, TYPE=`` states the kind of the matrix that follows.

    Raises
    ------
    ModelError
        If a line has fewer than five fields, a matrix has no type, or a type occurs twice.
    """
    current: Entries | None = None
    for k, line in enumerate(text.splitlines(), 1):
        location, words = f"{name}:{k}", [word.strip() for word in line.split(",")]
        if line.startswith("**") or not line.strip():
            continue
        if line.startswith("*"):
            options = dict(w.upper().replace(" ", "").split("=", 1) for w in words if "=" in w)
            kind = TYPES.get(options.get("TYPE", ""))
            current = matrices.begin(kind, f"TYPE={options['TYPE']}", location) if kind else None
            continue
        if current is None:
            raise ModelError(
                f"{location}: the line must come after '*MATRIX, TYPE=STIFFNESS' or "
                "'*MATRIX, TYPE=MASS'"
            )
        if len(words) < 5:
            raise ModelError(
                f"{location}: the line must have node, direction, node, direction and value "
                "(MATRIX INPUT format)"
            )
        a, b, c, d = (whole_number(word, location) for word in words[:4])
        current.add((a, b), (c, d), number(words[4], location), location)


# First letters of matrix names, such as KAAX, MAAX, BAAX, and K4AAX for structural damping.
NAMES = {"K4": "K4", "K": "K", "M": "M", "B": "D"}
SYMMETRIC = 6
WIDE = 16  # characters per field of an entry with a star


def read_dmig(text: str, name: str) -> Matrices:
    """Return the symmetric matrices of a Nastran punch file; other matrices are ignored.

    Raises
    ------
    ModelError
        If a line is no DMIG entry, a matrix is not symmetric and real, or a kind occurs twice.
    """
    matrices, by_title = Matrices(), dict[str, Entries | None]()
    current, column = "", (0, 0)
    for k, line in enumerate(text.splitlines(), 1):
        location = f"{name}:{k}"
        if not line.strip() or line.startswith("$"):
            continue
        fields = _fields(line)
        if line.startswith("DMIG") and not line.startswith("DMIG*"):
            if fields[2].strip() == "0":
                if fields[3].strip() != str(SYMMETRIC) or fields[4].strip() not in ("1", "2"):
                    raise ModelError(
                        f"{location}: the matrix must be symmetric and real (form 6, type 1 or 2)"
                    )
                title = fields[1].strip()
                kind = next((NAMES[key] for key in NAMES if title.startswith(key)), None)
                by_title[title] = matrices.begin(kind, title, location) if kind else None
                continue
            raise ModelError(f"{location}: the line must be DMIG* with fields of {WIDE} characters")
        if line.startswith("DMIG*"):
            current, column = fields[1].strip(), _label(fields[2], fields[3], location)
        elif line.startswith("*"):
            if current not in by_title:
                raise ModelError(f"{location}: this entry comes before the head of its matrix")
            if (entries := by_title[current]) is not None:
                row = _label(fields[1], fields[2], location)
                entries.add(row, column, number(fields[3], location), location)
        else:
            raise ModelError(f"{location}: the line is not a DMIG entry: {line[:40]!r}")
    if not by_title:
        raise ModelError(f"{name}: has no DMIG matrices")
    return matrices


def _fields(line: str) -> list[str]:
    """Split a line into name and fields of 16 characters after a star, otherwise of 8."""
    size = WIDE if "*" in line[:8] else 8
    body = line[8:72]
    return [
        line[:8],
        *(body[i : i + size] for i in range(0, max(len(body), 4 * size), size)),
        *[""] * 4,
    ]


def _label(node: str, direction: str, location: str) -> Label:
    return whole_number(node, location), whole_number(direction.strip() or "0", location)
