"""What an item of a paper is: its statements, searched over readings, and how they are decided."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from flexarm.spatial import Array
from flexarm_papers.places import PLACES
from flexarm_papers.readings import Grid, Scope
from flexarm_papers.statements import NOTHING_OPEN, VERDICTS, Check, Statement, Verdict


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
    """Make a curve from anything like arrays, or of every so many of their values."""
    both = [np.asarray(each, dtype=float)[::every] for each in (x, y)]
    return Curve(label, both[0], both[1], points)


@dataclass(frozen=True)
class Figure:
    """Curves over one axis, labelled with units; either axis may be logarithmic.

    The reading that they are of stands under the figure.
    """

    title: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
    log: bool = False
    log_x: bool = False
    reading: str = ""


@dataclass(frozen=True)
class Found:
    """What the computation of an item gives."""

    statements: tuple[Statement, ...]  # what the paper says, decided
    # tables, figures: ours, beside the paper's where it has numbers.
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    because: str = ""  # what explains it
    # What we looked at besides, which the paper does not say: no verdict rests on it.
    checks: tuple[Check, ...] = ()


@dataclass(frozen=True)
class Item:
    """A table, figure or claim of a paper, and how it is computed."""

    # paper, name: what it is called on the command line.
    paper: str
    name: str
    title: str  # what it is
    # Computes ours, for the readings of a scope where something is open.
    compute: Callable[[Scope], Found]
    grid: Grid = field(default=NOTHING_OPEN)  # what is open


def closed(compute: Callable[[], Found]) -> Callable[[Scope], Found]:
    """Make an item's computation of one for which nothing is left open."""
    return lambda scope: compute()


@dataclass(frozen=True)
class Result:
    """An item, what was computed, and the time it took [s]."""

    item: Item
    found: Found
    seconds: float = field(compare=False)

    @property
    def said(self) -> list[tuple[str, Statement]]:
        """The statements, each with where the paper says it."""
        said = self.found.statements
        at = PLACES[self.item.paper].get(self.item.name, ("",))
        return list(zip(at if len(at) > 1 else at * len(said), said, strict=True))


def totals(results: Sequence[Result]) -> dict[Verdict, int]:
    """Count the statements of results by verdict."""
    found = [each.verdict for result in results for each in result.found.statements]
    return {verdict: found.count(verdict) for verdict in VERDICTS}
