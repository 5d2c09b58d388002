"""CasADi functions to compile: one per operation, and random graphs of them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import casadi
import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from flexarm.engine.compile import Compiled, Level, MachineCode, Signature, host, object_code
from flexarm.engine.constants import PIECE_OPERATIONS
from flexarm.engine.emit.llvm import emit_llvm
from flexarm.engine.lower import lower


@dataclass(frozen=True)
class Case:
    """An operation, and between what numbers its operands lie."""

    # Its arguments and result are SX; CasADi declares some of its functions for numbers only.
    function: Callable[..., Any]
    low: float = -3.0
    high: float = 3.0
    operands: int = 1


# By name in the stream. Those that a rounded operand may throw off get small whole numbers, below.
SMOOTH: dict[str, Case] = {
    "add": Case(lambda x, y: x + y, operands=2),
    "sub": Case(lambda x, y: x - y, operands=2),
    "mul": Case(lambda x, y: x * y, operands=2),
    "div": Case(lambda x, y: x / y, operands=2),
    "neg": Case(lambda x: -x),
    "sqrt": Case(casadi.sqrt, low=0.0, high=100.0),
    "exp": Case(casadi.exp),
    "expm1": Case(casadi.expm1, low=-0.1, high=0.1),
    "log": Case(casadi.log, low=1e-3, high=1e3),
    "log1p": Case(casadi.log1p, low=-0.1, high=0.1),
    "pow": Case(lambda x, y: x**y, low=0.1, operands=2),
    "hypot": Case(casadi.hypot, operands=2),
    "sin": Case(casadi.sin, low=-50.0, high=50.0),
    "cos": Case(casadi.cos, low=-50.0, high=50.0),
    "tan": Case(casadi.tan, low=-1.5, high=1.5),
    "asin": Case(casadi.asin, low=-1.0, high=1.0),
    "acos": Case(casadi.acos, low=-1.0, high=1.0),
    "atan": Case(casadi.atan),
    "atan2": Case(casadi.atan2, operands=2),
    "sinh": Case(casadi.sinh),
    "cosh": Case(casadi.cosh),
    "tanh": Case(casadi.tanh),
    "asinh": Case(casadi.asinh),
    "acosh": Case(casadi.acosh, low=1.0, high=9.0),
    "atanh": Case(casadi.atanh, low=-0.99, high=0.99),
    "erf": Case(casadi.erf),
}
EXACT: dict[str, Case] = {
    "lt": Case(lambda x, y: x < y, operands=2),
    "le": Case(lambda x, y: x <= y, operands=2),
    "eq": Case(lambda x, y: x == y, operands=2),
    "ne": Case(lambda x, y: x != y, operands=2),
    "and": Case(casadi.logic_and, operands=2),
    "or": Case(casadi.logic_or, operands=2),
    "not": Case(casadi.logic_not),
    "if_else_zero": Case(lambda x, y: casadi.if_else(x, y, 0), operands=2),
    "fabs": Case(casadi.fabs),
    "sign": Case(casadi.sign),
    # Folding may turn the sign of a zero, which copysign would tell.
    "copysign": Case(lambda x, y: casadi.copysign(x, y + (y == 0)), operands=2),
    "fmin": Case(casadi.fmin, operands=2),
    "fmax": Case(casadi.fmax, operands=2),
    "floor": Case(lambda x: casadi.floor(x / 2)),
    "ceil": Case(lambda x: casadi.ceil(x / 2)),
    "fmod": Case(lambda x, y: casadi.fmod(x, casadi.fabs(y) + 1), operands=2),
    "remainder": Case(lambda x, y: casadi.remainder(x, casadi.fabs(y) + 1), operands=2),
    "sub": Case(lambda x, y: x - y, operands=2),
    "add": Case(lambda x, y: x + y, operands=2),
    "neg": Case(lambda x: -x),
    # Kept small, so that sums of products are exact and it does not matter how they are fused.
    "mul": Case(lambda x, y: casadi.fmod(x * y, 64), operands=2),
}
# Between -1 and 1 when their operands are, and no operand's error is more than doubled.
BOUNDED: list[Case] = [
    Case(casadi.sin),
    Case(casadi.cos),
    Case(casadi.tanh),
    Case(lambda x: -x),
    Case(lambda x: 1 / (2 + x)),
    Case(lambda x: x * x),
    Case(lambda x: casadi.sqrt(1 + x) - 1),
    Case(lambda x, y: x / (2 + y), operands=2),
    Case(lambda x, y: x * y, operands=2),
    Case(lambda x, y: (x + y) / 2, operands=2),
    Case(lambda x, y: (x - y) / 2, operands=2),
    Case(lambda x, y: casadi.atan2(x, 2 + y) / 2, operands=2),
]


@st.composite
def graphs(
    draw: st.DrawFn, cases: list[Case], *, inputs: int = 4, largest: int = 40
) -> casadi.Function:
    """Draw a function whose operations use earlier values at will."""
    x = casadi.SX.sym("x", inputs)
    values = [x[k] for k in range(inputs)]
    for case in draw(st.lists(st.sampled_from(cases), min_size=1, max_size=largest)):
        picked = [draw(st.sampled_from(values)) for _ in range(case.operands)]
        values.append(case.function(*picked))
    return casadi.Function("graph", [x], [casadi.vertcat(*values[-6:])], ["x"], ["y"])


def compiled(
    function: casadi.Function,
    *,
    width: int = 1,
    chunk: int = PIECE_OPERATIONS,
    level: Level = "fast",
) -> Compiled:
    """Compile a function, without a cache."""
    stream = lower(function)
    code = emit_llvm(stream, width=width, chunk=chunk)
    signature = Signature(
        code.entry, code.table_entry, stream.inputs, stream.outputs, width, code.work_size,
        len(stream.operations),
    )  # fmt: skip
    return Compiled(MachineCode(signature, object_code(code, level=level, target=host())))


def evaluate(function: casadi.Function, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Let CasADi evaluate a function of one vector, for each column."""
    return np.column_stack([np.array(function(column)).ravel() for column in x.T])


def run(code: Compiled, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Evaluate compiled code of one vector for each column, as many at once as it has lanes."""
    if code.width == 1:
        return np.column_stack([code.call(column)[0] for column in x.T])
    blocks = np.split(x, range(code.width, x.shape[1], code.width), axis=1)
    return np.hstack([code.call(block)[0] for block in blocks])
