"""What a paper states, judged under every reading: limits, verdicts, conditions."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Literal

from flexarm_papers.readings import Grid, Reading

Verdict = Literal[
    "holds for every reading",
    "may be, and is for some",
    "holds if",
    "hangs on our limit",
    "contradicted by every reading",
    "nothing stated that can be decided",
]
EVERY: Verdict = "holds for every reading"
MAY: Verdict = "may be, and is for some"
SOME: Verdict = "holds if"
HANGS: Verdict = "hangs on our limit"
NEVER: Verdict = "contradicted by every reading"
NOTHING: Verdict = "nothing stated that can be decided"
VERDICTS: tuple[Verdict, ...] = (EVERY, MAY, SOME, HANGS, NEVER, NOTHING)

NOTHING_OPEN = Grid(())
SHOWN = 4  # conditions that are named in a sentence
MOST = 3  # choices that a condition names, unless those with so few name less than half
MARGIN = 0.1  # by which a limit may be moved, either way, without changing a verdict


@dataclass(frozen=True)
class Limit:
    """What a number has to lie between for a statement to hold, and the unit of all three."""

    low: float = -math.inf
    high: float = math.inf
    unit: str = ""

    def holds(self, value: float) -> bool:
        """Say whether a number is within; what is no number is not."""
        return bool(self.low < value < self.high)

    def moved(self, share: float) -> "Limit":
        """Make it looser by a share of itself, or stricter by one below 0.

        Ratios are measured from 1, so that more or less than 1 times stays what it is.
        """
        none = 1.0 if self.unit == "times" else 0.0
        low, high = (side * share * abs(limit - none) if math.isfinite(limit) else 0.0
                     for side, limit in ((-1, self.low), (1, self.high)))  # fmt: skip
        return Limit(self.low + low, self.high + high, self.unit)

    def tried(self, reading: Reading, value: float) -> "Tried":
        """Decide by a number, and say whether a limit that is moved a little decides otherwise."""
        strict, loose = (self.moved(x).holds(value) for x in (-MARGIN, MARGIN))
        return Tried(reading, value, self.holds(value), strict != loose)

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
        """Write a number with the unit; counts whole, others so that they differ from a limit."""
        if not math.isfinite(value):
            return "no number" if math.isnan(value) else "infinite"
        if abs(value) < 1e6 and value == round(value):
            return f"{value:.0f} {self.unit}".strip()
        limits = {self.low, self.high} - {value}
        for digits in range(3, 17):
            text = f"{value:.{digits}g}"
            if float(text) not in limits:
                break
        return f"{text} {self.unit}".strip()

    def __str__(self) -> str:
        """Say what is needed."""
        if math.isinf(self.low):
            return f"below {self.text(self.high)}"
        if math.isinf(self.high):
            return f"above {self.text(self.low)}"
        return f"between {self.low:g} and {self.text(self.high)}"


@dataclass(frozen=True)
class Tried:
    """A reading, the number that came out, and whether the statement holds then.

    What is no number decides nothing; what is infinite does not hold.
    """

    reading: Reading
    value: float
    holds: bool
    near: bool = False  # whether a limit that is a tenth looser or stricter decides otherwise

    @property
    def outcome(self) -> str:
        """What it says of the statement, in words."""
        if math.isnan(self.value):
            return "not decided"
        return "holds" if self.holds else "does not hold"


@dataclass(frozen=True)
class Statement:
    """A statement of a paper, decided by what came out for each reading."""

    says: str  # the statement: the paper's words, or what they come to
    tried: tuple[Tried, ...] = ()  # what came out, by reading; empty if nothing can be decided
    of: str = ""  # what the numbers are
    limit: Limit | None = None  # where they have to be; None for a statement without a number
    printed: str = ""  # the number that the paper prints, "" if there is none
    # What decides a statement without a number; of one that is not decided, what is missing; of one
    # of several parts, which fail in the nearest reading.
    because: str = ""
    beside: tuple[Tried, ...] = ()  # what decides nothing: ruled out by the paper, or no number
    may: bool = False  # whether it says that something may be, not that it is

    @cached_property
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
        """The verdict: the same rule for what holds and what does not.

        One that another limit, a tenth looser or stricter, would change hangs on ours.
        """
        loose = self._judged([each.holds or each.near for each in self.tried])
        strict = self._judged([each.holds and not each.near for each in self.tried])
        return self._plain if loose == strict else HANGS

    @property
    def _plain(self) -> Verdict:
        """The verdict by our limit as it is."""
        return self._judged([each.holds for each in self.tried])

    def _judged(self, holds: Sequence[bool]) -> Verdict:
        if not holds:
            return NOTHING
        if all(holds) or not any(holds):
            return EVERY if holds[0] else NEVER
        return MAY if self.may else SOME

    @property
    def ours(self) -> str:
        """What came out, least to largest; nothing where nothing was tried."""
        if self.limit is None or not self.tried:
            return self.because if self.tried else ""
        values = [each.value for each in self.tried if math.isfinite(each.value)]
        if not values:
            return self.limit.text(self.tried[0].value)
        low, high = min(values), max(values)
        span = self.limit.text(high) if low == high else f"{low:.3g} to {self.limit.text(high)}"
        return f"{self.of}: {span}" if self.of else span

    @cached_property
    def conditions(self) -> list[dict[str, tuple[str, ...]]]:
        """What has to be read how for the statement to hold, the least first.

        Each names a way, or some, of as few choices as do: whatever else was tried beside them
        holds.  Those that add most to the ones before come first.
        """
        found = _conditions(self.tried) if self._plain in (SOME, MAY) else []
        return [dict(zip(names, way, strict=True)) for names, way, _ in found]

    @property
    def _combinations(self) -> int:
        """How many readings there are of all ways that were tried."""
        taken = (each.reading.taken for each in self.tried)
        return math.prod(len(set(pairs)) for pairs in zip(*taken, strict=True))

    @cached_property
    def sentence(self) -> str:
        """The verdict in one sentence."""
        if self.verdict != HANGS:
            return f"{self._said}."
        count = len(self.tried)
        moved = [(word, sum(map(held, self.tried))) for word, held in (
            ("looser", lambda x: x.holds or x.near), ("stricter", lambda x: x.holds and not x.near),
        )]  # fmt: skip
        held = sum(each.holds for each in self.tried)
        other = " and ".join(f"for {n} of {count} by a limit a tenth {word}" for word, n in moved
                             if n != held)  # fmt: skip
        return f"Hangs on our limit: {self._said[0].lower()}{self._said[1:]}; it holds {other}."

    @cached_property
    def _said(self) -> str:
        """The verdict by our limit as it is, without a full stop."""
        count, of = len(self.tried), self._combinations
        number = f"{count} of {of} combinations tried" if count < of else f"{count} tried"
        number = number if count > 1 else "nothing that matters is left open"
        if self._plain == NOTHING:
            return f"Nothing stated that can be decided; not given: {self.because}"
        if self._plain == EVERY:
            return f"Holds for every reading ({number})"
        if self._plain in (SOME, MAY):
            held = sum(each.holds for each in self.tried)
            named, rest = _named(self.tried)
            against, more = _named([replace(x, holds=not x.holds) for x in self.tried])
            unless = 3 * held > 2 * count and not more and len(against) < len(named)
            told = f"unless {against}" if unless else f"if {named}"
            all_ = f" ({of} combinations)" if count < of else ""
            also = f", {rest} of them under other conditions, not named here"
            begin = "May be, and is" if self.may else "Holds"
            told += f"; {held} of {count} readings in all{all_}{also * bool(rest and not unless)}"
            return f"{begin} {told}"
        if self.limit is None:
            return f"Contradicted by every reading ({number})"
        limit = self.limit
        near = min(self.tried, key=lambda each: limit.miss(each.value))
        where = f", nearest with {near.reading}" if count > 1 else ""
        fails = f" ({self.because})" if self.because else ""
        return (
            f"Contradicted by every reading ({number}{where}): {limit.text(near.value)}{fails}, "
            f"{limit} needed"
        )


@dataclass(frozen=True)
class Check:
    """What we looked at besides, which the paper does not say: no verdict rests on it."""

    says: str
    holds: bool
    because: str


def condition_text(condition: dict[str, tuple[str, ...]]) -> str:
    """Write what has to be read how; of ways that are several, a comma says where they end."""
    parts = [f"{name} = {' or '.join(ways)}" for name, ways in condition.items()]
    return (", and " if max(map(len, condition.values())) > 1 else " and ").join(parts)


_Condition = tuple[tuple[str, ...], tuple[tuple[str, ...], ...], frozenset[int]]


def _conditions(tried: Sequence[Tried]) -> list[_Condition]:
    """Find few choices whose ways decide that a statement holds, and where they do.

    Where no way was tried beside others, a reading that holds is named whole: what else it could
    be read with is not known.
    """
    names = [
        name for k, (name, _) in enumerate(tried[0].reading.taken)
        if len({each.reading.taken[k] for each in tried}) > 1
    ]  # fmt: skip
    ways = {name: [each.reading[name] for each in tried] for name in names}
    fails = {k for k, each in enumerate(tried) if not each.holds}
    found: list[_Condition] = []
    for size in range(1, len(names) + 1):
        for chosen in combinations(names, size):
            groups: dict[tuple[str, ...], list[int]] = {}
            for k, way in enumerate(zip(*(ways[name] for name in chosen), strict=True)):
                groups.setdefault(way, []).append(k)
            good = {way: frozenset(at) for way, at in groups.items() if fails.isdisjoint(at)}
            found += [(chosen, *each) for each in _merged(good, size)]
        known = frozenset[int]().union(*(where for *_, where in found))
        if size >= MOST and 2 * len(known) >= sum(each.holds for each in tried):
            break
    result, covered = list[_Condition](), frozenset[int]()
    while found and not (best := max(found, key=lambda x: len(x[2] - covered)))[2] <= covered:
        result.append(best)
        covered |= best[2]
    alone = [k for k, each in enumerate(tried) if each.holds and k not in covered]
    whole = [tuple(ways[name][k] for name in names) for k in alone]
    if len(names) == 1 and alone:
        return [((names[0],), (tuple(way for (way,) in whole),), frozenset(alone))]
    return result + [(tuple(names), tuple((way,) for way in key), frozenset({k}))
                     for k, key in zip(alone, whole, strict=True)]  # fmt: skip


def _merged(
    good: Mapping[tuple[str, ...], frozenset[int]], size: int
) -> list[tuple[tuple[tuple[str, ...], ...], frozenset[int]]]:
    """Join ways of some choices where they differ in one; one of them was tried beside others."""
    found: dict[tuple[tuple[str, ...], ...], frozenset[int]] = {}
    for at in range(size):
        lines: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
        for key in good:
            lines.setdefault(key[:at] + key[at + 1 :], []).append(key)
        for keys in lines.values():
            if any(len(good[key]) > 1 for key in keys):
                ways = tuple(tuple(dict.fromkeys(each)) for each in zip(*keys, strict=True))
                found[ways] = frozenset[int]().union(*(good[key] for key in keys))
    return list(found.items())


def _named(tried: Sequence[Tried]) -> tuple[str, int]:
    """Write the conditions under which something holds, and how many readings they leave out."""
    found = _conditions(tried)
    if len(found) > SHOWN:  # readings that are named whole make it no clearer then
        found = ([x for x in found if len(x[2]) > 1] or found)[:SHOWN]
    parts = [
        f"{condition_text(dict(zip(names, way, strict=True)))} ({len(x)} of {len(x)} tried)"
        for names, way, x in found
    ]
    covered = frozenset[int]().union(*(where for *_, where in found))
    return " or if ".join(parts), sum(each.holds for each in tried) - len(covered)


def decide(says: str, holds: bool, because: str, *, printed: str = "") -> Statement:
    """Decide a statement for which nothing is left open."""
    return Statement(
        says, (Tried(Reading(), float(holds), bool(holds)),), because=because, printed=printed
    )


def compare(says: str, value: float, limit: Limit, of: str, *, printed: str = "") -> Statement:
    """Decide a statement by one number, where nothing is left open."""
    return Statement(says, (limit.tried(Reading(), value),), of, limit, printed)


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
    may: bool = False,
) -> Statement:
    """Decide a statement by a number for every reading that the paper does not rule out.

    What `may` be so is not contradicted by readings that do not have it, as long as one has.
    """
    every = [limit.tried(reading, float(measure(reading))) for reading in readings]
    decides = [not (each.reading.against or math.isnan(each.value)) for each in every]
    tried, beside = (tuple(x for x, good in zip(every, decides, strict=True) if good is side)
                     for side in (True, False))  # fmt: skip
    failed = any(not each.reading.against for each in every)  # where nothing was tried
    ruled_out = "a reading that the paper does not rule out" if every else "a reading that shows it"
    missing = "a run that ends" if failed else ruled_out
    return Statement(says, tried, of, limit, printed, "" if tried else missing, beside, may)


def together(says: str, parts: Sequence[Statement]) -> Statement:
    """Judge as one what a paper says in one sentence or of one run: every part, in one reading.

    What parts have open in common is read alike in all of them.
    """
    joined: list[tuple[dict[str, str], tuple[Tried, ...]]] = [({}, ())]
    for part in parts:
        own = [(dict(each.reading.taken), each) for each in part.tried]
        joined = [(read | more, (*found, each)) for read, found in joined for more, each in own
                  if all(read.get(name, way) == way for name, way in more.items())]  # fmt: skip
    count, tried = f"failing parts of {len(parts)}", list[Tried]()
    least, failing = math.inf, ""
    for read, found in joined:
        fails = [part.says for part, each in zip(parts, found, strict=True) if not each.holds]
        near = any(each.near for each in found) and all(each.holds or each.near for each in found)
        tried.append(Tried(Reading(tuple(read.items())), float(len(fails)), not fails, near))
        if len(fails) < least:
            least, failing = len(fails), "; ".join(dict.fromkeys(fails))
    because = failing if tried else "a reading that all its parts have"
    return Statement(says, tuple(tried), "", Limit(high=1.0, unit=count), because=because)
