"""What an item of a paper is: its statements, searched over readings, and how they are decided."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from flexarm.links.base import Array
from flexarm.papers.readings import Grid, Reading, Scope

Verdict = Literal[
    "holds for every reading",
    "holds if",
    "contradicted by every reading",
    "nothing stated that can be decided",
]
EVERY: Verdict = "holds for every reading"
SOME: Verdict = "holds if"
NEVER: Verdict = "contradicted by every reading"
NOTHING: Verdict = "nothing stated that can be decided"
VERDICTS: tuple[Verdict, ...] = (EVERY, SOME, NEVER, NOTHING)
NOTHING_OPEN = Grid(())
SHOWN = 2  # conditions that are named in a sentence
ALONE = 4  # readings that are, where each is the only one of its kind


@dataclass(frozen=True)
class Limit:
    """What a number has to lie between for a statement to hold, and the unit of all three."""

    low: float = -math.inf
    high: float = math.inf
    unit: str = ""

    def holds(self, value: float) -> bool:
        """Say whether a number is within; what is no number is not."""
        return bool(self.low < value < self.high)

    def miss(self, value: float) -> float:
        """Measure by how much a number is outside, over the limit; less than 0 inside."""
        if math.isnan(value):
            return math.inf
        sides = [
            side / (abs(limit) or 1.0)
            for limit, side in ((self.low, self.low - value), (self.high, value - self.high))
            if math.isfinite(limit)
        ]
        return max(sides)

    def text(self, value: float) -> str:
        """Write a number with the unit; counts whole."""
        count = abs(value) < 1e6 and value == round(value)
        return f"{value:.0f} {self.unit}".strip() if count else f"{value:.3g} {self.unit}".strip()

    def __str__(self) -> str:
        """Say what is needed."""
        if math.isinf(self.low):
            return f"below {self.text(self.high)}"
        if math.isinf(self.high):
            return f"above {self.text(self.low)}"
        return f"between {self.low:g} and {self.text(self.high)}"


@dataclass(frozen=True)
class Tried:
    """A reading, the number that came out, and whether the statement holds then."""

    reading: Reading
    value: float
    holds: bool


@dataclass(frozen=True)
class Statement:
    """A statement of a paper, decided by what came out for each reading."""

    says: str  # the statement: the paper's words, or what they come to
    tried: tuple[Tried, ...] = ()  # what came out, by reading; empty if nothing can be decided
    of: str = ""  # what the numbers are
    limit: Limit | None = None  # where they have to be; None for a statement without a number
    printed: str = ""  # the number that the paper prints, "" if there is none
    # What decides a statement without a number; of one that is not decided, what is missing.
    because: str = ""
    beside: tuple[Tried, ...] = ()  # what decides nothing: ruled out by the paper, or no number

    @property
    def note(self) -> str:
        """What came out for readings that decide nothing."""
        out = [x for x in self.beside if x.reading.against and not math.isnan(x.value)]
        held, number = [each for each in out if each.holds], len(self.beside) - len(out)
        why = "; ".join(dict.fromkeys(x for each in out for x in each.reading.against))
        text = f"Not as the paper has it ({why}): {len(held)} of {len(out)} hold" if out else ""
        if 0 < len(held) < len(out):
            found = _conditions(out)[:2]  # more make it no clearer
            text += ", if " + " or if ".join(
                condition_text(dict(zip(names, way, strict=True))) for names, way, _ in found
            )
        left = f"{number} run{'s' * (number > 1)} failed, which decides nothing." if number else ""
        return " ".join(x for x in (text and f"{text}.", left) if x)

    @property
    def verdict(self) -> Verdict:
        """The verdict: the same rule for what holds and what does not."""
        if not self.tried:
            return NOTHING
        holds = {each.holds for each in self.tried}
        return SOME if len(holds) == 2 else EVERY if holds == {True} else NEVER

    @property
    def ours(self) -> str:
        """What came out, least to largest; nothing where nothing was tried."""
        if self.limit is None or not self.tried:
            return self.because if self.tried else ""
        values = [each.value for each in self.tried if not math.isnan(each.value)]
        if not values:
            return "no number"
        low, high = min(values), max(values)
        span = self.limit.text(high) if low == high else f"{low:.3g} to {self.limit.text(high)}"
        return f"{self.of}: {span}" if self.of else span

    @property
    def conditions(self) -> list[dict[str, tuple[str, ...]]]:
        """What has to be read how for the statement to hold, the least first.

        Each names a way, or some, of as few choices as do: whatever else was tried beside them
        holds.  Those that leave more readings come first.
        """
        found = _conditions(self.tried) if self.verdict == SOME else []
        return [dict(zip(names, way, strict=True)) for names, way, _ in found]

    @property
    def sentence(self) -> str:
        """The verdict in one sentence."""
        count = len(self.tried)
        number = f"{count} tried" if count > 1 else "nothing that matters is left open"
        if self.verdict == NOTHING:
            return f"Nothing stated that can be decided; not given: {self.because}."
        if self.verdict == EVERY:
            return f"Holds for every reading ({number})."
        if self.verdict == SOME:
            held = sum(each.holds for each in self.tried)
            found = _conditions(self.tried)
            named = " or if ".join(
                f"{condition_text(dict(zip(names, way, strict=True)))} ({n} of {n} tried)"
                for names, way, n in found[: SHOWN if found[0][2] > 1 else ALONE]
            )
            return f"Holds if {named}; {held} of {count} readings in all."
        if self.limit is None:
            return f"Contradicted by every reading ({number})."
        limit = self.limit
        near = min(self.tried, key=lambda each: limit.miss(each.value))
        where = f", nearest with {near.reading}" if count > 1 else ""
        return (
            f"Contradicted by every reading ({number}{where}): {limit.text(near.value)}, "
            f"{limit} needed."
        )


@dataclass(frozen=True)
class Check:
    """What we looked at besides, which the paper does not say: no verdict rests on it."""

    says: str
    holds: bool
    because: str


def condition_text(condition: dict[str, tuple[str, ...]]) -> str:
    """Write what has to be read how."""
    return " and ".join(f"{name} = {' or '.join(ways)}" for name, ways in condition.items())


def _conditions(
    tried: Sequence[Tried],
) -> list[tuple[tuple[str, ...], tuple[tuple[str, ...], ...], int]]:
    """Find the fewest choices whose ways decide that a statement holds.

    Where no way was tried beside others, every reading that holds is named whole: what else it
    could be read with is not known.
    """
    names = [
        name for k, (name, _) in enumerate(tried[0].reading.taken)
        if len({each.reading.taken[k] for each in tried}) > 1
    ]  # fmt: skip
    for size in range(1, len(names) + 1):
        found: list[tuple[tuple[str, ...], tuple[tuple[str, ...], ...], int]] = []
        for chosen in combinations(names, size):
            groups: dict[tuple[str, ...], list[bool]] = {}
            for each in tried:
                key = tuple(each.reading[name] for name in chosen)
                groups.setdefault(key, []).append(each.holds)
            more = {key: len(held) for key, held in groups.items() if all(held) and len(held) > 1}
            if size == 1 and more:
                found.append((chosen, (tuple(key[0] for key in more),), sum(more.values())))
            else:
                found += [(chosen, tuple((way,) for way in k), n) for k, n in more.items()]
        if found:
            return sorted(found, key=lambda each: -each[2])
    whole = [tuple(each.reading[name] for name in names) for each in tried if each.holds]
    if len(names) == 1:
        return [((names[0],), (tuple(way for (way,) in whole),), len(whole))]
    return [(tuple(names), tuple((way,) for way in key), 1) for key in whole]


def decide(says: str, holds: bool, because: str, *, printed: str = "") -> Statement:
    """Decide a statement for which nothing is left open."""
    return Statement(
        says, (Tried(Reading(), float(holds), bool(holds)),), because=because, printed=printed
    )


def compare(says: str, value: float, limit: Limit, of: str, *, printed: str = "") -> Statement:
    """Decide a statement by one number, where nothing is left open."""
    return Statement(says, (Tried(Reading(), value, limit.holds(value)),), of, limit, printed)


def undecidable(says: str, missing: str, *, printed: str = "") -> Statement:
    """Leave a statement open, since something is missing."""
    return Statement(says, because=missing, printed=printed)


def search(
    says: str,
    readings: Sequence[Reading],
    measure: Callable[[Reading], float],
    limit: Limit,
    of: str,
    *,
    printed: str = "",
) -> Statement:
    """Decide a statement by a number for every reading that the paper does not rule out."""
    values = [(reading, float(measure(reading))) for reading in readings]
    every = [Tried(reading, value, limit.holds(value)) for reading, value in values]
    decides = [not (each.reading.against or math.isnan(each.value)) for each in every]
    tried, beside = (tuple(x for x, good in zip(every, decides, strict=True) if good is side)
                     for side in (True, False))  # fmt: skip
    return Statement(says, tried, of, limit, printed, "" if tried else "a run that ends", beside)


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


def totals(results: Sequence[Result]) -> dict[Verdict, int]:
    """Count the statements of results by verdict."""
    found = [each.verdict for result in results for each in result.found.statements]
    return {verdict: found.count(verdict) for verdict in VERDICTS}
