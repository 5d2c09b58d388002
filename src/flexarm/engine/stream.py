"""The stream: a function as a list of scalar operations, with operation counts by kind."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

ADDITIONS = frozenset({"add", "sub"})
COMPARISONS = frozenset({"lt", "le", "eq", "ne"})
SELECTIONS = (
    COMPARISONS
    | {"not", "and", "or", "if_else_zero"}
    | {"fabs", "sign", "copysign", "fmin", "fmax", "floor", "ceil"}
)
# Functions by their names in the C library.
FUNCTIONS = (
    frozenset({"sqrt", "exp", "expm1", "log", "log1p", "pow", "hypot", "fmod", "remainder", "erf"})
    | {"sin", "cos", "tan", "asin", "acos", "atan", "atan2"}
    | {"sinh", "cosh", "tanh", "asinh", "acosh", "atanh"}
)
BINARY = (
    ADDITIONS
    | COMPARISONS
    | {"mul", "div", "and", "or", "if_else_zero", "copysign", "fmin", "fmax"}
    | {"atan2", "pow", "hypot", "fmod", "remainder"}
)


def counts(stream: "Stream") -> "OperationCounts":
    """Return the numbers of operations of a stream by kind.

    Notes
    -----
    The counted operations are those of the machine code: a square counts as a multiplication, twice
    a value as an addition, and a negation is not counted, since it is part of the sum or product
    that uses it.
    """
    ops = Counter(operation.op for operation in stream.operations)
    return OperationCounts(
        multiplications=ops["mul"],
        additions=sum(ops[op] for op in ADDITIONS),
        divisions=ops["div"],
        functions={op: ops[op] for op in sorted(FUNCTIONS) if ops[op]},
        selections=sum(ops[op] for op in SELECTIONS),
    )


class Port(NamedTuple):
    """A named input or output of a function: a dense matrix in row-major order."""

    name: str
    rows: int
    columns: int

    @property
    def size(self) -> int:
        """Return the number of elements of the input or output."""
        return self.rows * self.columns

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the NumPy shape of the input or output; a column has the shape (rows,)."""
        return (self.rows,) if self.columns == 1 else (self.rows, self.columns)


class Load(NamedTuple):
    """Read access to one element of an input: index of the input, row-major index in it."""

    port: int
    element: int


class Operation(NamedTuple):
    """A scalar operation on one or two values, given by their indices; -1 for no second value."""

    op: str
    a: int
    b: int

    @property
    def operands(self) -> tuple[int, ...]:
        """Return the indices of the one or two values that the operation uses."""
        return (self.a,) if self.b < 0 else (self.a, self.b)


def renumbered(
    operations: Sequence[tuple[str, int, int]], number: Sequence[int]
) -> tuple[Operation, ...]:
    """Return operations whose operands have new indices; ``number[-1]`` must be -1."""
    place = number.__getitem__
    names, first, second = zip(*operations, strict=True) if operations else ((), (), ())
    triples = zip(names, map(place, first), map(place, second), strict=True)
    return tuple(map(partial(tuple.__new__, Operation), triples))


class Store(NamedTuple):
    """Assignment of a value, given by its index, to an element of an output."""

    port: int
    element: int
    value: int


@dataclass(frozen=True)
class Stream:
    """A function as a list of scalar operations, each of which computes a new value.

    The values of a stream are numbered consecutively: first constants, then elements of the inputs,
    then results of operations. An operation uses only values with lower indices. Every element of
    every output is assigned a value.
    """

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    constants: tuple[float, ...]
    loads: tuple[Load, ...]
    operations: tuple[Operation, ...]
    stores: tuple[Store, ...]

    @property
    def first_load(self) -> int:
        """Return the index of the first value that is read from an input."""
        return len(self.constants)

    @property
    def first_operation(self) -> int:
        """Return the index of the first value that an operation computes."""
        return len(self.constants) + len(self.loads)


@dataclass(frozen=True)
class OperationCounts:
    """Numbers of operations by kind; `selections` are comparisons, minima, signs and similar."""

    multiplications: int
    additions: int
    divisions: int
    functions: dict[str, int]
    selections: int
