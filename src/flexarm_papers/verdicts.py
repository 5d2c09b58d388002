"""Verdicts on statements of a paper, computed from one number per reading of the text."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from flexarm_papers.readings import Reading

AS_PRINTED = Reading()


class Verdict(Enum):
    """The five verdicts, in the words of the report."""

    REPRODUCED = "reproduced"
    CORRECTED = "reproduced after correcting a misprint"
    DEPENDS = "depends on what the paper leaves open"
    REFUTED = "not reproduced"
    UNTESTED = "cannot be tested"


@dataclass(frozen=True)
class Limit:
    """Range in which a number must lie for a statement to hold, with its unit."""

    low: float = -math.inf
    high: float = math.inf
    unit: str = ""

    def holds(self, value: float) -> bool:
        """Return whether a number is inside the range; NaN is not."""
        return bool(self.low < value and (value < self.high or math.isinf(self.high)))

    def miss(self, value: float) -> float:
        """Return the distance of a number from the range, relative to the limit; < 0 inside."""
        if math.isnan(value):
            return math.inf
        return max(
            side / (abs(limit) or 1.0)
            for limit, side in ((self.low, self.low - value), (self.high, value - self.high))
            if math.isfinite(limit)
        )

    def text(self, value: float) -> str:
        """Return a number with its unit, in as many digits as tell it from the limits."""
        if not math.isfinite(value):
            return "no number" if math.isnan(value) else "infinite"
        if abs(value) < 1e6 and value == round(value):
            return f"{value:.0f} {self.unit}".strip()
        limits = {self.low, self.high} - {value}
        if 1e3 <= abs(value) < 1e6 and round(value) not in limits:
            return f"{value:.0f} {self.unit}".strip()
        digits = next(k for k in range(3, 18) if float(f"{value:.{k}g}") not in limits)
        return f"{value:.{digits}g} {self.unit}".strip()

    def __str__(self) -> str:
        """Return the requirement in words."""
        if math.isinf(self.low):
            return f"below {self.text(self.high)}"
        if math.isinf(self.high):
            return f"above {self.text(self.low)}"
        return f"between {self.low:g} and {self.text(self.high)}"


@dataclass(frozen=True)
class Kind:
    """Kind of statement: the measure that decides it, and the limit of the measure."""

    name: str
    number: str  # what is measured
    limit: Limit


# One measure per kind of statement, the same for all papers.
HISTORY = Kind("history", "distance (rms over standard deviation)", Limit(high=20.0, unit="%"))
PEAK = Kind("peak", "ranges off by", Limit(high=10.0, unit="%"))
FREQUENCY = Kind("frequency", "frequencies off by", Limit(high=5.0, unit="%"))
COUNT = Kind("count", "off by", Limit(high=5.0, unit="%"))


def claim(number: str, low: float = -math.inf, high: float = math.inf, unit: str = "") -> Kind:
    """Return the kind of a claim that is neither of these: its own number and limit."""
    return Kind("claim", number, Limit(low, high, unit))


@dataclass(frozen=True)
class Trial:
    """A reading or a case, the number that it gives, and other measures beside that number."""

    reading: Reading
    value: float
    beside: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class Statement:
    """A statement of a paper with the numbers that decide it."""

    says: str
    at: str  # section, equation or figure
    kind: Kind | None = None  # None where nothing can be measured
    trials: tuple[Trial, ...] = ()
    printed: str = ""  # number in the paper
    missing: str = ""  # information that a test would need
    misprint: str = ""  # correction that all trials contain
    as_printed: float = math.nan  # number without the correction
    general: bool = False  # whether trials are cases of one claim, of which none may fail

    def holds(self, trial: Trial) -> bool:
        """Return whether the statement holds in a trial."""
        assert self.kind is not None
        return self.kind.limit.holds(trial.value)

    @cached_property
    def decided(self) -> list[Trial]:
        """The trials with a number: a run that failed decides nothing."""
        return [each for each in self.trials if not math.isnan(each.value)]

    @property
    def share(self) -> tuple[int, int]:
        """Number of trials in which the statement holds, and of all."""
        return sum(map(self.holds, self.decided)), len(self.decided)

    @property
    def verdict(self) -> Verdict:
        """The verdict, by the share of trials in which the statement holds."""
        held, tried = self.share
        if not tried:
            return Verdict.UNTESTED
        if held == tried:
            wrong = self.misprint and not self.kind.limit.holds(self.as_printed)  # type: ignore[union-attr]
            return Verdict.CORRECTED if wrong else Verdict.REPRODUCED
        return Verdict.REFUTED if self.general or not held else Verdict.DEPENDS

    @property
    def ours(self) -> str:
        """Range of the numbers."""
        values = [x.value for x in self.decided]
        if not values or self.kind is None:
            return ""
        limit = self.kind.limit
        low, high = map(limit.text, (min(values), max(values)))
        if low == high:
            return high
        return f"{low.removesuffix(limit.unit).strip() if limit.unit in high else low} to {high}"

    @cached_property
    def decisive(self) -> tuple[str, dict[str, tuple[int, int]]] | None:
        """The choice that decides most: its best way has the highest share of trials that hold."""
        best: tuple[tuple[float, float], str, dict[str, tuple[int, int]]] | None = None
        names = [name for name, _ in self.decided[0].reading.taken] if self.decided else []
        for name in names:
            ways: dict[str, tuple[int, int]] = {}
            for each in self.decided:
                held, tried = ways.get(each.reading[name], (0, 0))
                ways[each.reading[name]] = held + self.holds(each), tried + 1
            shares = [_succession(*x) for x in ways.values()]
            rank = max(shares), -min(shares)
            if len(ways) > 1 and (best is None or rank > best[0]):
                best = rank, name, ways
        return best and best[1:]

    @property
    def _by(self) -> str:
        """The readings that hold: the choice that decides, or the one exception, or the shares."""
        if self.decisive is None:
            return ""
        name, ways = self.decisive
        order = sorted(ways, key=lambda way: -_succession(*ways[way]))
        (most, (held, tried)), (least, (few, others)) = (
            (x, ways[x]) for x in (order[0], order[-1])
        )
        if all(x in (0, n) for x, n in ways.values()):
            return f", those with {name} = {' or '.join(x for x in order if ways[x][0])}"
        alone = [[x for x in self.decided if self.holds(x) is holds] for holds in (True, False)]
        for some, word in zip(alone, ("only with", "not with"), strict=True):
            if len(some) == 1:
                return f", {word} {some[0].reading}"
        return (
            f", most often with {name} = {most} ({held} of {tried}), least with {least} "
            f"({few} of {others})"
        )

    @property
    def short(self) -> str:
        """The verdict, with its share of readings or cases, and on what it depends."""
        (held, tried), verdict = self.share, self.verdict.value
        if self.verdict is Verdict.CORRECTED:
            return f"{verdict}: {self.misprint}"
        cases, most = "cases" if self.general else "readings", ""
        if self.verdict is Verdict.DEPENDS and self.decisive is not None:
            name, ways = self.decisive
            most = f", most with {name} = {max(ways, key=lambda x: _succession(*ways[x]))}"
        return f"{verdict} ({held} of {tried} {cases}{most})" if tried > 1 else verdict

    @property
    def sentence(self) -> str:
        """The verdict with its numbers, and the number of runs that failed."""
        failed = len(self.trials) - len(self.decided)
        return self._judged + (f" In {failed} more a run failed." if failed else "")

    @property
    def _judged(self) -> str:
        verdict, (held, tried) = self.verdict, self.share
        if verdict is Verdict.UNTESTED or self.kind is None:
            missing = self.missing or "a run that ends"
            return f"Cannot be tested: the paper does not give {missing}."
        limit, number = self.kind.limit, self.kind.number
        cases = "cases" if self.general else "readings"
        every = f" in {held} of {tried} {cases}" if tried > 1 else ""
        found = f"{number} {self.ours}, {limit} needed"
        if verdict is Verdict.REPRODUCED:
            return f"Reproduced{every}: {found}."
        if verdict is Verdict.CORRECTED:
            before = limit.text(self.as_printed)
            return f"Reproduced after correcting {self.misprint}: {found}; as printed {before}."
        if verdict is Verdict.DEPENDS:
            return f"Holds in {held} of {tried} readings{self._by}. Found: {found}."
        if self.general:
            worst = max(self.decided, key=lambda x: limit.miss(x.value))
            shown = f"{number} {limit.text(worst.value)}, {limit} needed"
            count = f"{tried - held} of {tried}"
            return (
                f"Not reproduced: fails in {count} cases, such as {worst.reading['case']}: {shown}."
            )
        near = min(self.decided, key=lambda x: limit.miss(x.value))
        where = f" in any of {tried} readings, nearest" if tried > 1 else ""
        return f"Not reproduced{where}: {number} {limit.text(near.value)}, {limit} needed."


def _succession(held: int, tried: int) -> float:
    """Return Laplace's share: 1 of 1 says less than 11 of 12."""
    return (held + 1) / (tried + 2)


def search(
    says: str, at: str, kind: Kind, readings: Sequence[Reading],
    measure: Callable[[Reading], float], *,
    beside: Mapping[str, Callable[[Reading], float]] | None = None, printed: str = "",
) -> Statement:  # fmt: skip
    """Return a statement with the number of every reading, and other measures beside it."""
    columns = (beside or {}).items()
    trials = tuple(
        Trial(x, float(measure(x)), tuple((name, float(f(x))) for name, f in columns))
        for x in readings
    )
    return Statement(says, at, kind, trials, printed)


def measured(
    says: str, at: str, kind: Kind, value: float, *, printed: str = "",
    beside: Mapping[str, float] | None = None,
) -> Statement:  # fmt: skip
    """Return a statement for which the paper leaves nothing open, with its number."""
    columns = tuple((name, float(x)) for name, x in (beside or {}).items())
    return Statement(says, at, kind, (Trial(AS_PRINTED, float(value), columns),), printed)


def general(
    says: str, at: str, kind: Kind, cases: Mapping[str, float], *, printed: str = ""
) -> Statement:
    """Return a general claim with the number of every case; one that fails refutes it."""
    trials = tuple(Trial(Reading((("case", x),)), float(y)) for x, y in cases.items())
    return Statement(says, at, kind, trials, printed, general=True)


def corrected(
    says: str, at: str, kind: Kind, misprint: str, *, as_printed: float, right: float,
    printed: str = "", beside: Mapping[str, float] | None = None,
) -> Statement:  # fmt: skip
    """Return a statement with its number as printed, and with a misprint corrected."""
    columns = tuple((name, float(x)) for name, x in (beside or {}).items())
    return Statement(says, at, kind, (Trial(AS_PRINTED, float(right), columns),), printed,
                     misprint=misprint, as_printed=float(as_printed))  # fmt: skip


def untested(says: str, at: str, missing: str, *, printed: str = "") -> Statement:
    """Return a statement that cannot be tested, with the missing information."""
    return Statement(says, at, printed=printed, missing=missing)
