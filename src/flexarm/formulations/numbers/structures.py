"""Shared traces and machine code for equations that differ in their numbers only."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import final
from weakref import WeakValueDictionary

import casadi as ca
import numpy as np

from flexarm.engine.compile import Compiled, Level
from flexarm.engine.functions import compile_stream_recipe, keep_note, noted
from flexarm.engine.lower import lower
from flexarm.engine.numbers import Pattern
from flexarm.engine.once import once
from flexarm.engine.operators import direct_operators
from flexarm.engine.split import split
from flexarm.engine.stream import Stream
from flexarm.formulations.base import Formulation
from flexarm.loops.rows import call_rows
from flexarm.model.numbers import NUMBERS, Path, digest_at, numbers_of, opened
from flexarm.spatial import Array

Make = Callable[[Formulation], ca.Function]
# Functions of this process by the text that determines them, while they are in use.
_STRUCTURES = WeakValueDictionary[str, "Structure"]()
# Paths of the model parts that functions contain as constants.
_PATHS_READ: dict[str, tuple[Path, ...]] = {}


class _MoreReadError(Exception):
    """Error of a trace that reads more parts of the model as constants than were declared."""

    def __init__(self, read: tuple[Path, ...], streams: tuple[Stream, Stream]) -> None:
        super().__init__()
        self.read, self.streams = read, streams


@final
class BoundKernel(Compiled):
    """Compiled function of one arm: machine code shared by equal arms, and this arm's constants."""

    def __init__(self, shared: Compiled, constants: Array, structure: "Structure") -> None:
        super().__init__(shared.machine_code, (constants,))
        self.structure = structure


@dataclass(eq=False)
class Structure:
    """A function traced with an arm's numbers as symbols, valid for all arms of equal structure.

    Attributes
    ----------
    recipe
        Text that identifies the function.
    read
        Paths of model parts that the function contains as constants.
    """

    recipe: str
    read: tuple[Path, ...]
    pattern: Pattern
    level: Level
    # Returns the trace, numbers as the last input, and the paths of parts read as constants.
    make: Callable[[], tuple[ca.Function, frozenset[Path]]] = field(repr=False)
    _compiled: dict[int, Compiled] = field(default_factory=dict, repr=False)

    @cached_property
    def streams(self) -> tuple[Stream, Stream]:
        """Two streams: operations that depend on the arm's numbers alone, and the others."""
        with direct_operators():
            function, read = self.make()
            streams = split(lower(function), NUMBERS)
        if not read <= set(self.read):
            raise _MoreReadError(tuple(sorted(read | set(self.read), key=str)), streams)
        return streams

    @property
    def body(self) -> Stream:
        """Operations evaluated at each call; constants from the prologue are the last input."""
        return self.streams[1]

    @cached_property
    def prologue(self) -> Compiled:
        """Compiled prologue: the operations that depend on the numbers alone, run once per arm."""
        recipe = f"{self.recipe}, prologue"
        return compile_stream_recipe(recipe, lambda: self.streams[0], level="quick")

    def constants(self, numbers: Array) -> Array:
        """Compute the constants that the body needs, (N, constants), for N arms, (k, N)."""
        return call_rows(self.prologue, numbers.shape[1], [numbers.T])[0]

    def compiled(self, width: int = 1) -> Compiled:
        """Compile the body for ``width`` arms evaluated in parallel lanes."""
        if width not in self._compiled:
            compiled = compile_stream_recipe(
                self.recipe, lambda: self.streams[1], level=self.level, width=width
            )
            self._compiled.setdefault(width, compiled)  # two threads both use the first result
        return self._compiled[width]


def kernel(
    name: str,
    formulation: Formulation,
    make: Make,
    pattern: Pattern | None = None,
    *,
    level: Level = "fast",
) -> BoundKernel:
    """Return a compiled function of an arm, traced and compiled once per structure.

    Parameters
    ----------
    name
        Identifies the function, together with formulation and options.
    formulation
        Formulation, with the arm.
    make
        Returns the trace of the function for a formulation.
    pattern
        Pattern of numbers, to be valid for other arms too; the arm's own if None, or if it does not
        fit.
    level
        Optimisation level of the machine code.
    """
    numbers = numbers_of(formulation.model)
    values, fits = (pattern or numbers.pattern).values(numbers.values)
    if pattern is None or not fits[0]:
        pattern = numbers.pattern
        values, _ = pattern.values(numbers.values)
    structure = _structure(name, formulation, make, pattern, level)
    constants = structure.prologue.call(values[:, 0])[0]
    return BoundKernel(structure.compiled(), constants, structure)


def _structure(
    name: str, formulation: Formulation, make: Make, pattern: Pattern, level: Level
) -> Structure:
    model = formulation.model
    own_recipe = f"{formulation.name} {formulation.options()} {name} {level}"
    recipe = f"{own_recipe} {numbers_of(model).rest} {pattern.key}"

    def make_traced() -> tuple[ca.Function, frozenset[Path]]:
        # Functions of one arm share the expressions of its links, and with them the parts read.
        symbolic, paths_read = once(
            model, f"opened {pattern.key}", (), lambda: opened(model, pattern)
        )
        function = make(formulation.of(symbolic))
        return function, frozenset(paths_read)

    paths_read, streams = _parts_read(recipe), None
    while True:
        full_recipe = (
            f"{recipe} {' '.join(f'{path} {digest_at(model, path)}' for path in paths_read)}"
        )
        structure = _STRUCTURES.get(full_recipe)
        if structure is None:
            structure = Structure(full_recipe, paths_read, pattern, level, make_traced)
            if streams is not None:
                structure.__dict__["streams"] = streams
        try:
            structure.compiled()
        except _MoreReadError as error:
            paths_read, streams = error.read, error.streams
            _PATHS_READ[recipe] = paths_read
            keep_note(recipe, json.dumps(paths_read))
        else:
            return _STRUCTURES.setdefault(full_recipe, structure)


def _parts_read(recipe: str) -> tuple[Path, ...]:
    """Return the paths of model parts that the traced function reads as constants, if known."""
    if recipe not in _PATHS_READ:
        _PATHS_READ[recipe] = tuple(tuple(path) for path in json.loads(noted(recipe) or "[]"))
    return _PATHS_READ[recipe]


def abreast(members: Sequence[BoundKernel]) -> BoundKernel | None:
    """Return one function that evaluates several arms in parallel lanes; None if they differ."""
    structure = members[0].structure
    if any(member.structure is not structure for member in members):
        return None
    lanes = np.ascontiguousarray(
        np.stack([one_member.constants[0] for one_member in members], axis=1)
    )
    return BoundKernel(structure.compiled(len(members)), lanes, structure)
