"""Designs of an arm that differ in some numbers, as one arm whose numbers are vectors."""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from flexarm.arm import Arm
from flexarm.io.overrides import change_arm, find_place
from flexarm.varied import Array, varied

Path = tuple[str | int, ...]


@dataclass(frozen=True)
class ArmDesigns:
    """N designs of an arm that differ in some numbers."""

    first: Arm  # first design
    paths: tuple[Path, ...]  # places of the numbers that differ
    columns: tuple[Array, ...]  # values of each of these numbers by design, (N,)
    arm: Arm  # arm with the vectors in place of the numbers; it was not validated as a whole

    @classmethod
    def of(cls, arm: Arm, sets: Sequence[Mapping[str, Any]]) -> "ArmDesigns | None":
        """Build the designs from one set of values by key each.

        Return None if a value is no plain number, or a key is not in all sets.

        Raises
        ------
        ModelError
            If an arm with the least or largest of the values is not valid.
        Exception
            Of whatever kind, if rules of the model file cannot be checked of all at once.
        """
        keys = list(sets[0])
        if not keys or any(list(each) != keys for each in sets):
            return None
        listed = [[each[key] for each in sets] for key in keys]
        if not all(_is_plain(kind) for values in listed for kind in set(map(type, values))):
            return None
        columns = [np.array(values, dtype=float) for values in listed]
        ends = {k: change_arm(arm, sets[k]) for k in _extremes(columns)}
        first = change_arm(arm, sets[0])
        paths = [find_place(first, key) for key in keys]
        if len(set(paths)) < len(paths) or any(not _is_number(first, path) for path in paths):
            return None
        whole = first
        for path, column in zip(paths, columns, strict=True):
            whole = _placed(whole, path, varied(column))
        designs = cls(first, tuple(paths), tuple(columns), whole)
        if any(designs.at(k) != each for k, each in ends.items()):
            return None  # validation changed a number, so that it is not that of the set
        for path in paths:
            _check(whole, path)
        return designs

    @property
    def count(self) -> int:
        """Number of designs."""
        return len(self.columns[0])

    def some(self, which: NDArray[np.int64]) -> "ArmDesigns":
        """Return some of the designs, by their indices."""
        columns = tuple(column[which] for column in self.columns)
        whole = first = self.first
        for path, column in zip(self.paths, columns, strict=True):
            whole = _placed(whole, path, varied(column))
            first = _placed(first, path, float(column[0]))
        return ArmDesigns(first, self.paths, columns, whole)

    def at(self, k: int) -> Arm:
        """Return the arm of one design."""
        arm = self.first
        for path, column in zip(self.paths, self.columns, strict=True):
            arm = _placed(arm, path, float(column[k]))
        return arm


def _is_plain(kind: type) -> bool:
    return issubclass(kind, int | float | np.integer) and kind is not bool


def _extremes(columns: Sequence[Array]) -> list[int]:
    """List the designs with the extreme values: if they are valid, those in between are too.

    Rules of a single number are bounds of its value, and of the magnitude of one that is not 0.
    """
    indices = []
    for column in columns:
        sizes = np.where(column == 0.0, np.inf, np.abs(column))
        indices += [int(column.argmin()), int(column.argmax()), int(sizes.argmin())]
    return sorted(set(indices))


def _step(part: Any, step: str | int) -> Any:
    """Return the field or item of a part of an arm; None if it has none."""
    if isinstance(part, tuple):
        return part[int(step)]
    return getattr(part, str(step)) if isinstance(part, BaseModel) else None


def _is_number(part: Any, path: Path) -> bool:
    """Return whether a path leads to a number, a field or an item of a tuple."""
    for step in path:
        part = _step(part, step)
    return isinstance(part, float)


def _placed(part: Any, path: Path, value: Any) -> Any:
    """Return a copy of a part of an arm with another value at a path, not validated."""
    if not path:
        return value
    step, inner = path[0], _placed(_step(part, path[0]), path[1:], value)
    if isinstance(part, tuple):
        return (*part[: int(step)], inner, *part[int(step) + 1 :])
    return part.model_copy(update={step: inner})


def _check(part: Any, path: Path) -> None:
    """Run the validators between fields of all parts of an arm on a path."""
    if isinstance(part, BaseModel):
        for name, rule in type(part).__pydantic_decorators__.model_validators.items():
            if rule.info.mode == "after":
                method = getattr(part, name)
                asks = inspect.signature(method).parameters
                method(*([SimpleNamespace(context=None)] if asks else []))
    if path:
        _check(_step(part, path[0]), path[1:])
