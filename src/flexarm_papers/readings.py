"""Readings: what a paper leaves open, as data, and the ways in which each of it may be read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any


@dataclass(frozen=True)
class Choice:
    """Something that a paper leaves open."""

    name: str  # what it is
    # By the name of each way to read it, the values of the model file that it changes; none where
    # it is about what is plotted or how it is measured.  The first is the sample's.
    ways: Mapping[str, Mapping[str, Any]]
    # By the name of a way that the paper rules out, how: such readings decide nothing, and are
    # tried beside the others.
    against: Mapping[str, str] = field(default_factory=dict)


def ways(name: str, *labels: str, against: Mapping[str, str] | None = None) -> Choice:
    """Make a choice that changes nothing of the arm, such as what is plotted."""
    return Choice(name, {label: {} for label in labels}, against or {})


def over(name: str, key: str, values: Sequence[Any], form: str = "{}") -> Choice:
    """Make a choice among values of one key of the model file."""
    return Choice(name, {form.format(value): {key: value} for value in values})


@dataclass(frozen=True)
class Reading:
    """One way to read everything that is open: pairs of a choice's name and the way taken."""

    taken: tuple[tuple[str, str], ...] = ()
    against: tuple[str, ...] = field(default=(), compare=False)  # what of the paper rules it out

    def __getitem__(self, name: str) -> str:
        """Give the way in which a choice is read."""
        return dict(self.taken)[name]

    def __str__(self) -> str:
        """Name all that is read."""
        return ", ".join(f"{name}: {way}" for name, way in self.taken) or "as printed"

    def taking(self, ways: Mapping[str, str]) -> "Reading":
        """Read some choices in other ways, or more of them."""
        return Reading(tuple((dict(self.taken) | dict(ways)).items()))

    def without(self, *names: str) -> "Reading":
        """Leave some choices open, such as those that change no run."""
        return Reading(tuple(pair for pair in self.taken if pair[0] not in names))


@dataclass(frozen=True)
class Scope:
    """Which readings are tried: a sample or all of them, and those with some choices taken."""

    full: bool = False
    only: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Grid:
    """All that a paper leaves open for some statements."""

    choices: tuple[Choice, ...]  # what is open
    # Names of choices that are varied together in the sample of readings too; all others are varied
    # there one at a time.
    together: tuple[tuple[str, ...], ...] = ()

    def readings(self, scope: Scope) -> list[Reading]:
        """List the readings of a scope: all, or one change at a time from the first."""
        tried = [(each.name, self._ways(each, scope.only)) for each in self.choices]
        if scope.full:
            kinds: list[tuple[str, ...]] = [tuple(name for name, _ in tried)]
        else:
            kinds = [(name,) for name, _ in tried] + list(self.together) or [()]
        found: dict[Reading, None] = {}
        for names in kinds:
            lists = [labels if name in names else labels[:1] for name, labels in tried]
            for row in product(*lists):
                taken = tuple(zip((name for name, _ in tried), row, strict=True))
                # who asks for a reading has it decide
                against = tuple(
                    each.against[way] for each, (name, way) in zip(self.choices, taken, strict=True)
                    if way in each.against and (name, way) not in scope.only
                )  # fmt: skip
                found[Reading(taken, against)] = None
        return list(found)

    @property
    def first(self) -> Reading:
        """The first reading: everything as in the sample."""
        return Reading(tuple((each.name, next(iter(each.ways))) for each in self.choices))

    def changes(self, reading: Reading) -> dict[str, Any]:
        """Give the values of the model file that a reading changes."""
        return {
            key: value
            for choice in self.choices
            for key, value in choice.ways[reading[choice.name]].items()
        }

    def _ways(self, choice: Choice, only: tuple[tuple[str, str], ...]) -> list[str]:
        """List the ways of a choice that are tried: all where it has no such way."""
        for name, way in only:
            if name == choice.name and way in choice.ways:
                return [way]
        return list(choice.ways)
