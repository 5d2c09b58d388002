"""What an item of a paper is: its statements, ours beside them, and how a verdict follows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from flexarm.errors import FlexarmError
from flexarm.links.base import Array

Outcome = Literal["holds", "fails", "undecidable"]
Verdict = Literal["reproduced", "differs", "not-reproducible"]
DEPENDS = 0.05  # relative spread of an outcome from which on it depends on a datum


@dataclass(frozen=True)
class Claim:
    """A statement of a paper, decided by a computation.

    Attributes
    ----------
    says
        The statement.
    outcome
        What the computation says of it.
    because
        The numbers that decide it; of an undecidable one, what is missing.
    measured
        Whether it is a number or an inequality, not only that something can be done.
    """

    says: str
    outcome: Outcome
    because: str
    measured: bool = True


def decide(says: str, holds: bool, because: str, *, measured: bool = True) -> Claim:
    """Decide a statement."""
    return Claim(says, "holds" if holds else "fails", because, measured)


def undecidable(says: str, missing: str) -> Claim:
    """Leave a statement open, since something is missing."""
    return Claim(says, "undecidable", f"missing: {missing}", measured=False)


@dataclass(frozen=True)
class Missing:
    """A datum that a paper omits, and what becomes of an outcome over its plausible range.

    Attributes
    ----------
    datum
        What is missing, with its unit.
    outcome
        What was computed for each value, with its unit.
    values, outcomes
        The range, and what came out.
    limit
        The outcome from which on the statement is decided otherwise; None where there is none.
    decides
        The statements, as their claims say them, that the outcome against the limit decides; none
        if it is an undecidable one.
    """

    datum: str
    outcome: str
    values: tuple[float | str, ...]
    outcomes: tuple[float, ...]
    limit: float | None = None
    decides: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a decision without the limit that it is taken at."""
        if self.decides and self.limit is None:
            raise FlexarmError(f"{self.datum}: decides a statement, but no limit is given")

    @property
    def spread(self) -> float:
        """Range of the outcomes over the largest of them."""
        found = np.array(self.outcomes)
        size = float(np.abs(found).max())
        return float(np.ptp(found)) / size if size else 0.0

    @property
    def matters(self) -> bool:
        """Whether the datum decides: outcomes on both sides of the limit, or far apart."""
        if self.limit is None:
            return self.spread > DEPENDS
        return min(self.outcomes) < self.limit < max(self.outcomes)


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
    """Curves over one axis, labelled with units; either axis may be logarithmic."""

    title: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
    log: bool = False
    log_x: bool = False


@dataclass(frozen=True)
class Difference:
    """How far ours is from the paper's: a number where there is one, and what it is of."""

    value: float | None
    of: str


@dataclass(frozen=True)
class Found:
    """What the computation of an item gives.

    Attributes
    ----------
    claims
        The paper's statements, decided: its words, or what they come to.
    checks
        What we looked at besides, which the paper does not say: no verdict rests on it.
    difference
        How far ours is from the paper's.
    tables, figures
        Ours, beside the paper's where it has numbers.
    missing
        Data that the paper omits, each with a run over its range.
    because
        Why it differs, in words; numbers are in the claims.
    """

    claims: tuple[Claim, ...]
    difference: Difference
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    missing: tuple[Missing, ...] = ()
    because: str = ""
    checks: tuple[Claim, ...] = ()


@dataclass(frozen=True)
class Item:
    """A table, figure or claim of a paper, and how it is computed.

    Attributes
    ----------
    paper, name
        What it is called on the command line.
    title
        What it is.
    says
        What the paper has, or says of it.
    compute
        Computes ours.
    """

    paper: str
    name: str
    title: str
    says: str
    compute: Callable[[], Found]


@dataclass(frozen=True)
class Result:
    """An item, what was computed, and the time it took [s]."""

    item: Item
    found: Found
    seconds: float = field(compare=False)

    @property
    def verdict(self) -> Verdict:
        """The verdict that follows from the claims."""
        return verdict(self.found)

    @property
    def reason(self) -> str:
        """Why the verdict is what it is."""
        return reason(self.found)


def verdict(found: Found) -> Verdict:
    """Decide an item: all decidable claims must hold, and one of them be a number.

    A claim that fails is no difference where a missing datum decides it.

    Raises
    ------
    FlexarmError
        If nothing can be decided and no missing datum was shown to matter, or a missing datum is
        said to decide what is no claim.
    """
    says = {claim.says for claim in found.claims}
    unknown = [text for each in found.missing for text in each.decides if text not in says]
    if unknown:
        raise FlexarmError(f"a missing datum decides what is no claim: {'; '.join(unknown)}")
    open_ = {text for each in found.missing if each.matters for text in each.decides}
    failed = [claim for claim in found.claims if claim.outcome == "fails"]
    if failed:
        excused = all(claim.says in open_ for claim in failed)
        return "not-reproducible" if excused else "differs"
    if any(claim.measured and claim.outcome == "holds" for claim in found.claims):
        return "reproduced"
    if not any(each.matters for each in found.missing):
        raise FlexarmError(
            "an item decides nothing: expected a claim with a number, or a missing datum with a "
            "run that shows that the outcome depends on it"
        )
    return "not-reproducible"


def reason(found: Found) -> str:
    """Say why the verdict is what it is, with the numbers that decide it."""
    kind = verdict(found)
    held = [claim for claim in found.claims if claim.outcome == "holds"]
    failed = [claim for claim in found.claims if claim.outcome == "fails"]
    left = [claim for claim in found.claims if claim.outcome == "undecidable"]
    if kind == "reproduced":
        rest = f"; {len(left)} cannot be decided ({_listed(left)})" if left else ""
        why = f". {found.because}" if found.because else ""
        return f"all {len(held)} decidable statements hold{rest}{why}"
    if kind == "differs":
        why = f"{found.because} " if found.because else ""
        return f"{why}Fails: {_listed(failed)}"
    shown = "; ".join(
        f"{each.outcome} goes from {min(each.outcomes):.4g} to {max(each.outcomes):.4g} over "
        f"{each.datum} = {_span(each.values)}"
        for each in found.missing
        if each.matters
    )
    open_ = f" Not met or not decidable: {_listed([*failed, *left])}." if failed or left else ""
    why = f" {found.because}" if found.because else ""
    return f"the paper omits data that matter: {shown}.{open_}{why}"


def _listed(claims: Sequence[Claim]) -> str:
    return "; ".join(f"{claim.says}: {claim.because}" for claim in claims)


def _span(values: tuple[float | str, ...]) -> str:
    return "; ".join(f"{each:g}" if isinstance(each, float | int) else each for each in values)
