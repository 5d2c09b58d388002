"""The stream: the straight-line operations of one function, and how many there are of each kind."""

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

ADDITIONS = frozenset({"add", "sub"})
COMPARISONS = frozenset({"lt", "le", "eq", "ne"})
SELECTIONS = (
    COMPARISONS
    | {"not", "and", "or", "if_else_zero"}
    | {"fabs", "sign", "copysign", "fmin", "fmax", "floor", "ceil"}
)
# By their names in the C library.
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
    """Count the operations of a stream by kind.

    Notes
    -----
    Counted is what is emitted: a square is a multiplication, twice a value an addition, a
    negation nothing, since it is folded into the sum or product that uses it.
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
    """A named dense matrix that goes in or comes out, its elements stored row by row."""

    name: str
    rows: int
    columns: int

    @property
    def size(self) -> int:
        """Return the number of elements."""
        return self.rows * self.columns

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the NumPy shape: a column is a vector, also when it has one element."""
        return (self.rows,) if self.columns == 1 else (self.rows, self.columns)


class Load(NamedTuple):
    """An element of an input."""

    port: int
    element: int


class Operation(NamedTuple):
    """An operation on one or two values, given by their numbers; b is -1 where there is one."""

    op: str
    a: int
    b: int

    @property
    def operands(self) -> tuple[int, ...]:
        """Return the numbers of the one or two values that are used."""
        return (self.a,) if self.b < 0 else (self.a, self.b)


class Store(NamedTuple):
    """A value put into an element of an output."""

    port: int
    element: int
    value: int


@dataclass(frozen=True)
class Stream:
    """A function as a list of operations, each of which names a new value.

    Values are numbered through: first the constants, then the loads, then the operations. An
    operation uses values of lower numbers only. The stores fill every element of every output.
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
        """Return the number of the first value that is an element of an input."""
        return len(self.constants)

    @property
    def first_operation(self) -> int:
        """Return the number of the first value that is computed."""
        return len(self.constants) + len(self.loads)


@dataclass(frozen=True)
class OperationCounts:
    """Numbers of operations; `functions` by name, `selections` are comparisons and the like."""

    multiplications: int
    additions: int
    divisions: int
    functions: dict[str, int]
    selections: int
