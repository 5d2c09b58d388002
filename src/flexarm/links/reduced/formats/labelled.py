"""Matrices over labelled unknowns, (node, direction), as superelement files have them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from flexarm.errors import ModelError
from flexarm.links.base import Array

Label = tuple[int, int]  # node; direction 1 to 6, or 0 of a scalar point
DIRECTIONS = (1, 2, 3, 4, 5, 6)
MOST_UNKNOWNS = 112  # two interfaces and 100 modes


@dataclass
class Entries:
    """Entries of a symmetric matrix, of which one triangle may be given."""

    values: dict[tuple[Label, Label], float] = field(default_factory=dict)

    def add(self, row: Label, column: Label, value: float) -> None:
        """Take an entry; its mirror image, if it is given too, must be the same."""
        self.values[row, column] = value

    def labels(self) -> set[Label]:
        """List the unknowns."""
        return {label for pair in self.values for label in pair}

    def matrix(self, order: Mapping[Label, int]) -> Array:
        """Arrange the entries in an order of unknowns."""
        found = np.zeros((len(order),) * 2)
        for (row, column), value in self.values.items():
            i, j = order[row], order[column]
            found[i, j] = value
            if (column, row) not in self.values:
                found[j, i] = value
        return found


def interface_order(
    labels: Iterable[Label], name: str, hub: int | None, tip: int | None
) -> dict[Label, int]:
    """Put unknowns in the order hub, tip, modes.

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
    known = set(labels)
    whole = sorted({node for node, _ in known if all((node, d) in known for d in DIRECTIONS)})
    for key, node in (("hub", hub), ("tip", tip)):
        if node is not None and node not in whole:
            raise ModelError(
                f"{name}: {key}: node {node} has not all of six directions: the interfaces are "
                f"{', '.join(map(str, whole)) or 'none'}"
            )
    left = [node for node in whole if node not in (hub, tip)]
    given = [node if node is not None else left.pop(0) if left else None for node in (hub, tip)]
    if None in given or (left and (hub is None or tip is None)):
        raise ModelError(
            f"{name}: must have two interface nodes with six directions each, hub and tip, got "
            f"{len(whole)}: {', '.join(map(str, whole)) or 'none'}: reduce to both flanges' "
            "frames, or say which by --hub-node and --tip-node"
        )
    ends = [(int(node or 0), d) for node in given for d in DIRECTIONS]
    order = [*ends, *sorted(known - set(ends))]
    if len(order) > MOST_UNKNOWNS:
        raise ModelError(
            f"{name}: has {len(order)} unknowns, at most {MOST_UNKNOWNS}: it is no superelement; "
            "flexarm reduce takes full matrices"
        )
    return {label: k for k, label in enumerate(order)}


def number(text: str, where: str) -> float:
    """Read a number, with the D of Fortran for its exponent too."""
    try:
        return float(text.strip().upper().replace("D", "E"))
    except ValueError:
        raise ModelError(f"{where}: expected a number, got {text.strip()[:30]!r}") from None


def whole_number(text: str, where: str) -> int:
    """Read a whole number."""
    try:
        return int(text)
    except ValueError:
        raise ModelError(f"{where}: expected a whole number, got {text.strip()[:30]!r}") from None
