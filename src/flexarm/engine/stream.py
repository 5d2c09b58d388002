"""The stream: straight-line operations of one function, and counts of the operations by kind."""

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
    Emitted operations are counted: a square is a multiplication, twice a value an addition, and a
    negation is not counted, since it is folded into the sum or product that uses it.
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
    """A named input or output: a dense matrix stored row by row."""

    name: str
    rows: int
    columns: int

    @property
    def size(self) -> int:
        """Return the number of elements of the port's matrix."""
        return self.rows * self.columns

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the NumPy shape; a matrix with one column is a vector, shape (rows,)."""
        return (self.rows,) if self.columns == 1 else (self.rows, self.columns)


class Load(NamedTuple):
    """Reading of one element of an input: the input's index and the element's row-major index."""

    port: int
    element: int


class Operation(NamedTuple):
    """An operation on one or two values, given by their numbers; b is -1 for one value."""

    op: str
    a: int
    b: int

    @property
    def operands(self) -> tuple[int, ...]:
        """Return the numbers of the one or two values that the operation uses."""
        return (self.a,) if self.b < 0 else (self.a, self.b)


def renumbered(
    operations: Sequence[tuple[str, int, int]], number: Sequence[int]
) -> tuple[Operation, ...]:
    """Return operations with renumbered operands; ``number[-1]`` must be -1."""
    place = number.__getitem__
    names, first, second = zip(*operations, strict=True) if operations else ((), (), ())
    triples = zip(names, map(place, first), map(place, second), strict=True)
    return tuple(map(partial(tuple.__new__, Operation), triples))


class Store(NamedTuple):
    """An assignment of a value, given by number, to an element of an output."""

    port: int
    element: int
    value: int


@dataclass(frozen=True)
class Stream:
    """A function as a list of operations, each of which defines a new value.

    Values are numbered consecutively: constants, loads, operations. An operation uses values of
    lower numbers only. The stores assign every element of every output.
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
        """Return the number of the first value that is read from an input."""
        return len(self.constants)

    @property
    def first_operation(self) -> int:
        """Return the number of the first value that an operation computes."""
        return len(self.constants) + len(self.loads)


@dataclass(frozen=True)
class OperationCounts:
    """Numbers of operations by kind; `selections` are comparisons, minima, signs and similar."""

    multiplications: int
    additions: int
    divisions: int
    functions: dict[str, int]
    selections: int
