"""Matrices over labelled unknowns, (node, direction), as superelement files have them."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from flexarm.errors import ModelError
from flexarm.links.base import Array

Label = tuple[int, int]  # node; direction 1 to 6, or 0 of a scalar point
DIRECTIONS = (1, 2, 3, 4, 5, 6)
MOST_UNKNOWNS = 112  # two interfaces and 100 modes
# Of a number, 1.3e30: a product of ten such numbers does not overflow, and single precision has it.
LARGEST = 2.0**100
KINDS = {
    "K": "stiffness",
    "M": "mass",
    "D": "viscous damping",
    "K4": "structural damping",
}


@dataclass
class Entries:
    """Entries of a symmetric matrix, of which one triangle may be given."""

    title: str  # name in the file
    values: dict[tuple[Label, Label], float] = field(default_factory=dict)

    def add(self, row: Label, column: Label, value: float, where: str) -> None:
        """Add an entry.

        Raises
        ------
        ModelError
            If it is given twice, or there are more than a superelement has.
        """
        if (row, column) in self.values:
            raise ModelError(f"{where}: this entry of {self.title} is given twice: keep one")
        if len(self.values) == MOST_UNKNOWNS**2:
            raise _too_large(where, f"more than {MOST_UNKNOWNS**2} entries")
        self.values[row, column] = value

    def labels(self) -> set[Label]:
        """List the unknowns."""
        return {label for pair in self.values for label in pair}

    def matrix(self, order: Mapping[Label, int]) -> Array:
        """Arrange the entries in an order of unknowns."""
        matrix = np.zeros((len(order),) * 2)
        for (row, column), value in self.values.items():
            i, j = order[row], order[column]
            matrix[i, j] = value
            if (column, row) not in self.values:
                matrix[j, i] = value
        return matrix


class Matrices(dict[str, Entries]):
    """Matrices of a superelement by kind, a key of `KINDS`, one of each."""

    def begin(self, kind: str, title: str, where: str) -> Entries:
        """Add a matrix of a kind.

        Raises
        ------
        ModelError
            If there is one already.
        """
        if kind in self:
            raise ModelError(
                f"{where}: {title}: a second {KINDS[kind]} matrix, after {self[kind].title}: keep "
                "one of them"
            )
        return self.setdefault(kind, Entries(title))


def interface_order(
    labels: Iterable[Label], name: str, hub: int | None, tip: int | None
) -> dict[Label, int]:
    """Return the rows of unknowns in the order hub, tip, modes.

    Parameters
    ----------
    labels
        The unknowns.
    name
        Of the file, for messages.
    hub, tip
        Numbers of the interface nodes; the two with six directions, hub first, where None.

    Raises
    ------
    ModelError
        If an interface is missing.
    """
    unknowns = set(labels)
    whole = sorted({node for node, _ in unknowns if all((node, d) in unknowns for d in DIRECTIONS)})
    for key, node in (("hub", hub), ("tip", tip)):
        if node is not None and node not in whole:
            raise ModelError(
                f"{name}: {key}: node {node} has not all of six directions: the interfaces are "
                f"{', '.join(map(str, whole)) or 'none'}"
            )
    left = [node for node in whole if node not in (hub, tip)]
    nodes = [node if node is not None else left.pop(0) if left else None for node in (hub, tip)]
    if None in nodes or (left and (hub is None or tip is None)):
        raise ModelError(
            f"{name}: must have two interface nodes with six directions each, hub and tip, got "
            f"{len(whole)}: {', '.join(map(str, whole)) or 'none'}: reduce to both flanges' "
            "frames, or say which by --hub-node and --tip-node"
        )
    ends = [(int(node or 0), d) for node in nodes for d in DIRECTIONS]
    order = [*ends, *sorted(unknowns - set(ends))]
    if len(order) > MOST_UNKNOWNS:
        raise _too_large(name, f"{len(order)} unknowns")
    return {label: k for k, label in enumerate(order)}


def _too_large(where: str, what: str) -> ModelError:
    return ModelError(
        f"{where}: has {what}. A superelement has at most {MOST_UNKNOWNS} unknowns: 'flexarm "
        "reduce' takes full matrices"
    )


def require_superelement(size: int, where: str) -> None:
    """Raise ModelError where a matrix has more rows than a superelement."""
    if size > MOST_UNKNOWNS:
        raise _too_large(where, f"{size} unknowns")


def number(text: str, where: str) -> float:
    """Read a finite number, with the D of Fortran for its exponent too."""
    try:
        value = float(text.strip().upper().replace("D", "E"))
    except ValueError:
        value = math.nan
    if not abs(value) <= LARGEST:
        raise ModelError(
            f"{where}: expected a finite number of at most {LARGEST:.2g}, got {text.strip()[:30]!r}"
        )
    return value


def whole_number(text: str, where: str) -> int:
    """Read a whole number of at most 18 digits."""
    word = text.strip()
    if not re.fullmatch(r"[-+]?[0-9]{1,18}", word):
        raise ModelError(f"{where}: expected a whole number, got {word[:30]!r}")
    return int(word)
