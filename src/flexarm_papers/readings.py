"""Readings: what the text of a paper leaves open, and the ways in which each of it may be read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any


@dataclass(frozen=True)
class Choice:
    """Something that a paper leaves open."""

    name: str
    # Values of the model file by the name of each way to read it; the first way is the sample's.
    ways: Mapping[str, Mapping[str, Any]]


def ways(name: str, *labels: str) -> Choice:
    """Return a choice that changes nothing of the arm."""
    return Choice(name, {label: {} for label in labels})


def over(name: str, key: str, values: Sequence[Any], form: str = "{}") -> Choice:
    """Return a choice among values of one key of the model file."""
    return Choice(name, {form.format(value): {key: value} for value in values})


@dataclass(frozen=True)
class Reading:
    """One way to read everything that is open: pairs of a choice's name and the way."""

    taken: tuple[tuple[str, str], ...] = ()

    def __getitem__(self, name: str) -> str:
        """Return the way in which a choice is read."""
        return dict(self.taken)[name]

    def __str__(self) -> str:
        """Return all ways in words."""
        return ", ".join(f"{name}: {way}" for name, way in self.taken) or "as printed"

    def taking(self, ways: Mapping[str, str]) -> "Reading":
        """Return the reading with some choices changed or added."""
        return Reading(tuple((dict(self.taken) | dict(ways)).items()))

    def without(self, *names: str) -> "Reading":
        """Return the reading without some choices."""
        return Reading(tuple(pair for pair in self.taken if pair[0] not in names))


@dataclass(frozen=True)
class Grid:
    """All that a paper leaves open for some statements."""

    choices: tuple[Choice, ...] = ()
    # Names of choices that are varied together; all others are varied one at a time.
    together: tuple[tuple[str, ...], ...] = ()

    def readings(self) -> list[Reading]:
        """Return all readings: one change at a time from the first, and groups together."""
        names = [each.name for each in self.choices]
        found: dict[Reading, None] = {}
        for group in [*((name,) for name in names), *self.together] or [()]:
            lists = [list(x.ways)[: None if x.name in group else 1] for x in self.choices]
            for row in product(*lists):
                found[Reading(tuple(zip(names, row, strict=True)))] = None
        return list(found)

    @property
    def first(self) -> Reading:
        """The reading of the sample."""
        return Reading(tuple((each.name, next(iter(each.ways))) for each in self.choices))

    def changes(self, reading: Reading) -> dict[str, Any]:
        """Return the values of the model file that a reading changes."""
        return {
            key: value
            for choice in self.choices
            for key, value in choice.ways[reading[choice.name]].items()
        }


def every(*choices: Choice) -> Grid:
    """Return the grid of all combinations of some choices."""
    return Grid(choices, (tuple(each.name for each in choices),))
