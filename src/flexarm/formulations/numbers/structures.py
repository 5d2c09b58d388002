"""One trace and one compile for equations that differ in their numbers alone."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import final
from weakref import ref

import casadi as ca
import numpy as np

from flexarm.arm.forces import Box
from flexarm.arm.link import QuadraticShape
from flexarm.engine.compile import Compiled, Level
from flexarm.engine.functions import compile_stream
from flexarm.engine.lower import lower
from flexarm.engine.matching import Closed
from flexarm.engine.numbers import Book, Unlike
from flexarm.engine.split import split
from flexarm.engine.stream import Stream
from flexarm.formulations.base import Formulation
from flexarm.links.base import Array, Shapes
from flexarm.links.growing.shapes import SlidingShapes
from flexarm.links.span import Span
from flexarm.loops.rows import call_rows
from flexarm.model import ArmPoint, Model
from flexarm.model.contents import write

NUMBERS = "numbers"
Make = Callable[[Formulation], ca.Function]
_WHOLE = Shapes | Span | SlidingShapes | QuadraticShape | ArmPoint | Box


@final
class BoundKernel(Compiled):
    """A function of one arm: machine code that others share, with constants of its own."""

    def __init__(self, shared: Compiled, constants: Array, structure: "Structure") -> None:
        super().__init__(shared.machine_code, (constants,))
        self.structure = structure


@dataclass(eq=False)
class Structure:
    """A function traced with an arm's numbers as symbols."""

    book: Closed  # what the trace has read of the arm, and so which others it holds for
    # prologue, body: what depends on the numbers alone, computed once per arm, and what is
    # evaluated.
    prologue: Compiled
    body: Stream
    level: Level
    _compiled: dict[int, Compiled] = field(default_factory=dict)

    @classmethod
    def of(cls, function: ca.Function, book: Closed, level: Level) -> "Structure":
        """Compile a function whose last input are the numbers."""
        prologue, body = split(lower(function), NUMBERS)
        return cls(book, compile_stream(prologue, level="quick"), body, level)

    def member(self, model: Model) -> BoundKernel | None:
        """Give the function of an arm, or None if it is of another structure."""
        numbers = self.book.numbers(model)
        if numbers is None:
            return None
        return BoundKernel(self.compiled(), self.prologue.call(numbers)[0], self)

    def constants(self, numbers: Array) -> Array:
        """Compute what evaluations take, (N, constants), of the numbers of N arms, (n, N)."""
        return call_rows(self.prologue, numbers.shape[1], [numbers.T])[0]

    def compiled(self, width: int = 1) -> Compiled:
        """Compile the body for so many arms abreast."""
        if width not in self._compiled:
            found = compile_stream(self.body, level=self.level, width=width)
            self._compiled.setdefault(width, found)  # of two threads both take the first one's
        return self._compiled[width]


class Structures:
    """Functions that were traced with numbers as symbols.

    Numbers that are 0, 1 or -1 in one arm alone, or two that are equal in one alone, make another
    structure: the operations differ.
    """

    def __init__(self) -> None:
        self._known: dict[str, list[Structure]] = {}
        self._last: dict[str, tuple[ref[Model], BoundKernel]] = {}  # by name

    @property
    def traces(self) -> int:
        """Number of structures so far."""
        return sum(len(found) for found in self._known.values())

    def member(
        self,
        name: str,
        formulation: Formulation,
        make: Make,
        others: Callable[[], Sequence[Model]] = tuple,
        *,
        level: Level = "fast",
    ) -> BoundKernel:
        """Give a function of an arm.

        Parameters
        ----------
        name
            Tells the function, beside formulation and options.
        formulation
            Of the arm.
        make
            Traces the function of a formulation.
        others
            Gives arms that a new trace must hold for too.
        level
            Of the machine code.
        """
        key = f"{formulation.name} {formulation.options()} {name} {level}"
        model, (of, last) = formulation.model, self._last.get(key, (None, None))
        if of is not None and last is not None and of() is model:
            return last
        known = self._known.setdefault(key, [])
        found = next(filter(None, (structure.member(model) for structure in known)), None)
        if found is None:
            structure = _traced(formulation, make, others(), level)
            known.append(structure)
            # One that was drawn from many may differ from them in what rounding makes 0.
            found = structure.member(model) or structure.member(replace(model))
        assert found is not None
        self._last[key] = (ref(model), found)
        return found


def _traced(
    formulation: Formulation, make: Make, others: Sequence[Model], level: Level
) -> Structure:
    """Trace a function with the numbers of an arm as symbols; it holds for others too."""
    book = Book(formulation.model, others, whole=digest_whole)
    try:
        function = make(formulation.of(book.opened))
    except Unlike:  # the others are of another structure
        return _traced(formulation, make, (), level)
    return Structure.of(function, book.close(), level)


def abreast(members: Sequence[BoundKernel]) -> BoundKernel | None:
    """Put members into the lanes of one function, or None if their operations differ."""
    structure = members[0].structure
    if any(member.structure is not structure for member in members):
        return None
    lanes = np.ascontiguousarray(np.stack([each.constants[0] for each in members], axis=1))
    return BoundKernel(structure.compiled(len(members)), lanes, structure)


def digest_whole(value: object) -> str | None:
    """Digest what is taken as it is: functions along a link, the places they are at, boxes."""
    if not isinstance(value, _WHOLE):
        return None
    digest = hashlib.sha256()
    write(value, digest.update)
    return digest.hexdigest()
