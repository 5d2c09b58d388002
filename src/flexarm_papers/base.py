"""Items of a paper: tables, figures and claims, and what their computation returns."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from flexarm.spatial import Array
from flexarm_papers.verdicts import Statement


@dataclass(frozen=True)
class Table:
    """A table with a title, heads and rows of text."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Curve:
    """A named curve, or marked points such as a paper's numbers."""

    label: str
    x: Array
    y: Array
    points: bool = False


def curve(label: str, x: ArrayLike, y: ArrayLike, *, points: bool = False, every: int = 1) -> Curve:
    """Return a curve through arrays, or through one of so many of their values."""
    both = [np.asarray(each, dtype=float)[::every] for each in (x, y)]
    return Curve(label, both[0], both[1], points)


@dataclass(frozen=True)
class Figure:
    """Curves over one axis, labelled with units; either axis may be logarithmic."""

    title: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
    log: bool = False
    reading: str = ""  # caption: the reading that is drawn


@dataclass(frozen=True)
class Found:
    """What the computation of an item returns."""

    statements: tuple[Statement, ...]
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    text: str = ""  # up to three sentences that explain the numbers
    finding: str = ""  # the sentence that explains a paper's other results, if this item has it


@dataclass(frozen=True)
class Item:
    """A table, figure or claim of a paper, and its computation."""

    paper: str
    name: str  # on the command line
    title: str
    compute: Callable[[], Found]
    group: str = ""  # items of one group share motions, and are computed one after the other


@dataclass(frozen=True)
class Result:
    """An item with what its computation returned, and the time it took [s]."""

    item: Item
    found: Found
    seconds: float = field(compare=False)

    @property
    def key(self) -> str:
        """Name of the item among those of all papers."""
        return f"{self.item.paper}-{self.item.name}"

    def figures(self) -> Iterator[tuple[str, Figure]]:
        """Yield the figures with the names of their files."""
        for k, figure in enumerate(self.found.figures, 1):
            yield f"{self.key}-{k}", figure

    def tables(self) -> Iterator[tuple[str, Table]]:
        """Yield the item's tables and those of the readings, with the names of their files."""
        searched = [trials(x) for x in self.found.statements if len(x.trials) > 1]
        for k, table in enumerate((*self.found.tables, *searched), 1):
            yield f"{self.key}-table-{k}", table


def trials(statement: Statement) -> Table:
    """Return the table of a statement's trials: readings, main measure, others beside it."""
    assert statement.kind is not None  # only numbers are searched
    limit, tried = statement.kind.limit, statement.trials
    names = [name for name, _ in tried[0].reading.taken]
    varied = [name for name in names if len({x.reading[name] for x in tried}) > 1]
    rows = tuple(
        (*(x.reading[name] for name in varied), limit.text(x.value),
         "failed" if np.isnan(x.value) else "holds" if statement.holds(x) else "does not hold",
         *(f"{value:.3g}" for _, value in x.beside))
        for x in tried
    )  # fmt: skip
    head = (*varied, statement.kind.number, str(limit), *(name for name, _ in tried[0].beside))
    title = "Cases" if statement.general else "Readings"
    return Table(f"{title}: {statement.says}", head, rows)
