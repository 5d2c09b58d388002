"""Conversion of a CasADi function to a list of operations without redundant ones."""

import math
import struct
from collections import Counter
from itertools import chain

import casadi

from flexarm.engine.constants import FOLDED_ROUNDING
from flexarm.engine.stream import BINARY, FUNCTIONS, Load, Port, Store, Stream, renumbered
from flexarm.errors import FlexarmError

ODD = frozenset({"sin", "tan", "asin", "atan", "sinh", "tanh", "asinh", "atanh", "erf", "sign"})
EVEN = frozenset({"cos", "cosh", "fabs"})
COMMUTATIVE = frozenset({"add", "mul", "eq", "ne", "and", "or", "fmin", "fmax", "hypot"})
# Between these divisors a reciprocal neither overflows nor loses digits.
SMALLEST_DIVISOR = 2.0**-1022
LARGEST_DIVISOR = 1 / SMALLEST_DIVISOR
NAMES: dict[int, str] = {
    getattr(casadi, f"OP_{name.upper()}"): name
    for name in BINARY | FUNCTIONS | {"neg", "not", "fabs", "sign", "floor", "ceil"}
} | {casadi.OP_CONSTPOW: "pow"}


def lower(function: casadi.Function) -> Stream:
    """Return the operations of a CasADi function as a stream of scalar operations.

    Parameters
    ----------
    function
        CasADi function of `SX` symbols without free symbols.

    Returns
    -------
    Stream
        Operations of the function, simplified: common subexpressions are computed once, negations
        become part of sums and products, divisions by the same value share one reciprocal, and
        unused operations are removed.

    Raises
    ------
    FlexarmError
        If the function is not of type `SX`, has free symbols, or contains an unknown operation.
    """
    _check(function)
    inputs = tuple(
        _port(name, function.sparsity_in(k)) for k, name in enumerate(function.name_in())
    )
    outputs = tuple(
        _port(name, function.sparsity_out(k)) for k, name in enumerate(function.name_out())
    )
    values, results = _read(function, _LoweredValues())
    is_needed = _needed(values, results)
    divisions = Counter(
        b for k, (op, _, b) in enumerate(values.defined) if op == "div" and is_needed[k]
    )
    values, results = _share_reciprocals(values, results, is_needed, divisions)
    return _finish(function.name(), inputs, outputs, values, results)


def _unsigned(reference: int) -> int:
    """Return the number of the value to which a signed reference refers."""
    return reference if reference >= 0 else ~reference


def _check(function: casadi.Function) -> None:
    if not function.is_a("SXFunction"):
        raise FlexarmError(
            f"function '{function.name()}': must be made of SX symbols, got "
            f"'{function.class_name()}'. Call its expand() first."
        )
    if function.has_free():
        free_symbols = ", ".join(str(symbol) for symbol in function.free_sx())
        raise FlexarmError(
            f"function '{function.name()}': the symbols {free_symbols} are free. Make them inputs."
        )


def _port(name: str, sparsity: casadi.Sparsity) -> Port:
    return Port(name, sparsity.size1(), sparsity.size2())


def _elements(sparsity: casadi.Sparsity) -> list[int]:
    """Return the row-major element index of each nonzero of a sparse matrix."""
    rows, columns = sparsity.get_triplet()
    return [i * sparsity.size2() + j for i, j in zip(rows, columns, strict=True)]


def _read(
    function: casadi.Function, values: "_LoweredValues"
) -> tuple["_LoweredValues", dict[tuple[int, int], int]]:
    places_in = [_elements(function.sparsity_in(k)) for k in range(function.n_in())]
    places_out = [_elements(function.sparsity_out(k)) for k in range(function.n_out())]
    zero = values.constant(0.0)
    results = {
        (port, element): zero
        for port in range(function.n_out())
        for element in range(function.numel_out(port))
    }
    work: dict[int, int] = {}
    # Methods are looked up once, since functions have tens of thousands of instructions.
    read, source_of, target_of = (
        function.instruction_id, function.instruction_input, function.instruction_output,
    )  # fmt: skip
    output, load, constant = casadi.OP_OUTPUT, casadi.OP_INPUT, casadi.OP_CONST
    product, total, difference = casadi.OP_MUL, casadi.OP_ADD, casadi.OP_SUB
    add, multiply = values.add, values.multiply
    for k in range(function.n_instructions()):
        op, target = read(k), target_of(k)
        if op == product:
            a, b = source_of(k)
            work[target[0]] = multiply(work[a], work[b])
        elif op == total:
            a, b = source_of(k)
            work[target[0]] = add(work[a], work[b])
        elif op == difference:
            a, b = source_of(k)
            work[target[0]] = add(work[a], ~work[b])
        elif op == output:
            port, nonzero = target
            results[port, places_out[port][nonzero]] = work[source_of(k)[0]]
        elif op == load:
            port, nonzero = source_of(k)
            work[target[0]] = values.define("load", port, places_in[port][nonzero])
        elif op == constant:
            work[target[0]] = values.constant(function.instruction_constant(k))
        else:
            work[target[0]] = values.apply(op, [work[place] for place in source_of(k)])
    return values, results


def _needed(values: "_LoweredValues", results: dict[tuple[int, int], int]) -> list[bool]:
    is_needed = [False] * len(values.defined)
    for reference in results.values():
        is_needed[_unsigned(reference)] = True
    for k in range(len(is_needed) - 1, -1, -1):
        if is_needed[k]:
            op, a, b = values.defined[k]
            if op not in ("constant", "load"):
                is_needed[a] = True
                if op in BINARY:
                    is_needed[b] = True
    return is_needed


def _share_reciprocals(
    values: "_LoweredValues",
    results: dict[tuple[int, int], int],
    is_needed: list[bool],
    divisions: Counter[int],
) -> tuple["_LoweredValues", dict[tuple[int, int], int]]:
    """Return the operations with x/d replaced by x*(1/d) where several values are divided by d.

    Notes
    -----
    CasADi converts (1/d)*x to x/d, even if the author of the equations wrote (1/d)*x. A division
    takes as long as several multiplications. A single division by d is not changed, since x*(1/d)
    would be two operations with two rounding errors.
    """
    rebuilt = _LoweredValues()
    references: list[int] = []
    for k, (op, a, b) in enumerate(values.defined):
        if not is_needed[k]:
            references.append(-1)
        elif op == "mul":  # most operations are products or sums
            references.append(rebuilt.multiply(references[a], references[b]))
        elif op == "add":
            references.append(rebuilt.add(references[a], references[b]))
        elif op == "constant":
            references.append(rebuilt.constant(values.constants[a]))
        elif op == "load":
            references.append(rebuilt.define("load", a, b))
        elif op == "div" and divisions[b] > 1:
            reciprocal = rebuilt.divide(rebuilt.one, references[b])
            references.append(rebuilt.multiply(references[a], reciprocal))
        else:
            references.append(
                rebuilt.combine(
                    op, [references[a], references[b]] if op in BINARY else [references[a]]
                )
            )
    return rebuilt, {
        output: references[reference] if reference >= 0 else ~references[~reference]
        for output, reference in results.items()
    }


def _finish(
    name: str,
    inputs: tuple[Port, ...],
    outputs: tuple[Port, ...],
    values: "_LoweredValues",
    results: dict[tuple[int, int], int],
) -> Stream:
    """Return the needed values as a stream: constants, then loads of inputs, then operations."""
    results = {index: values.positive(reference) for index, reference in results.items()}
    is_needed = _needed(values, results)
    kinds: dict[str, list[int]] = {"constant": [], "load": [], "operation": []}
    for k, (op, _, _) in enumerate(values.defined):
        if is_needed[k]:
            kinds.get(op, kinds["operation"]).append(k)
    number = [-1] * (len(values.defined) + 1)  # the last for a missing operand
    for new_number, old_number in enumerate(chain.from_iterable(kinds.values())):
        number[old_number] = new_number
    constants, loads, operations = (
        [values.defined[k] for k in places] for places in kinds.values()
    )
    return Stream(
        name,
        inputs,
        outputs,
        tuple(values.constants[index] for _, index, _ in constants),
        tuple(Load(port, element) for _, port, element in loads),
        renumbered(operations, number),
        tuple(Store(*index, number[reference]) for index, reference in results.items()),
    )


class _LoweredValues:
    """Values of a stream under construction; equal operations are stored once.

    The methods take and return signed references to values: k stands for value k, and ~k (its
    bitwise complement) for minus value k.
    """

    def __init__(self) -> None:
        self.defined: list[tuple[str, int, int]] = []
        self.constants: list[float] = []
        self._numbers: dict[int, float] = {}  # constants by index of the value
        self._known: dict[tuple[str, int, int], int] = {}
        self._constant: dict[int, tuple[int, int]] = {}  # bits and value of a constant, by group
        self.one = self._plain_constant(1.0)
        self._plain_constant(2.0)  # constants within rounding of 2 then become 2

    def define(self, op: str, a: int, b: int = -1) -> int:
        """Return the index of the value that an operation computes; add the value if it is new."""
        key = (op, a, b)
        value = self._known.get(key)
        if value is None:
            value = len(self.defined)
            self._known[key] = value
            self.defined.append(key)
        return value

    def constant(self, number: float) -> int:
        """Return a signed reference to a constant; only its magnitude is stored."""
        if math.copysign(1.0, number) < 0.0:
            return ~self._plain_constant(-number)
        return self._plain_constant(number)

    def _plain_constant(self, number: float) -> int:
        """Return the index of a non-negative constant; equal constants are stored once."""
        (bits,) = struct.unpack("q", struct.pack("d", number))
        group, tolerance = bits // FOLDED_ROUNDING, 1
        if SMALLEST_DIVISOR < number < LARGEST_DIVISOR:
            tolerance = FOLDED_ROUNDING
        for candidate in (group, group - 1, group + 1):
            known_bits, value = self._constant.get(candidate, (-FOLDED_ROUNDING, -1))
            if abs(bits - known_bits) < tolerance:
                return value
        value = self.define("constant", len(self.constants))
        self._constant[group] = bits, value
        self._numbers[value] = number
        self.constants.append(number)
        return value

    def number(self, reference: int) -> float | None:
        """Return the number that a reference stands for; None if it is not a constant."""
        if reference >= 0:
            return self._numbers.get(reference)
        number = self._numbers.get(~reference)
        return None if number is None else -number

    def positive(self, reference: int) -> int:
        """Return an unsigned reference to a value; add an operation that negates it if needed."""
        if reference >= 0:
            return reference
        number = self.number(reference)
        return self.define("neg", ~reference) if number is None else self._plain_constant(number)

    def apply(self, op: int, arguments: list[int]) -> int:
        """Return a signed reference to the result of a CasADi operation."""
        name = NAMES.get(op)
        if name is not None:
            return self.combine(name, arguments)
        if op == casadi.OP_SQ:
            return self.multiply(arguments[0], arguments[0])
        if op == casadi.OP_TWICE:
            return self.add(arguments[0], arguments[0])
        if op == casadi.OP_INV:
            return self.divide(self.one, arguments[0])
        if op in (casadi.OP_ASSIGN, casadi.OP_LIFT):
            return arguments[0]
        names = [name for name in dir(casadi) if name.startswith("OP_")]
        (unknown,) = [name for name in names if getattr(casadi, name) == op]
        raise FlexarmError(
            f"operation {unknown[3:]} of CasADi cannot be compiled. Write the expression "
            "with other operations."
        )

    def combine(self, op: str, arguments: list[int]) -> int:
        """Return a signed reference to the result of an operation on signed references."""
        if op == "mul":
            return self.multiply(arguments[0], arguments[1])
        if op == "add":
            return self.add(arguments[0], arguments[1])
        if op == "sub":
            return self.add(arguments[0], ~arguments[1])
        if op == "div":
            return self.divide(arguments[0], arguments[1])
        if op == "neg":
            return ~arguments[0]
        if op in ODD and arguments[0] < 0:
            return ~self.define(op, ~arguments[0])
        if op in EVEN:
            arguments = [_unsigned(arguments[0])]
        if op == "if_else_zero" and arguments[1] < 0:
            return ~self.define(op, self.positive(arguments[0]), ~arguments[1])
        arguments = [self.positive(reference) for reference in arguments]
        if op in COMMUTATIVE:
            arguments.sort()
        return self.define(op, *arguments)

    def add(self, a: int, b: int) -> int:
        """Return a signed reference to a + b, computed as a sum or difference."""
        p, q = a if a >= 0 else ~a, b if b >= 0 else ~b
        if p in self._numbers or q in self._numbers:  # few operands are constants
            x, y = self.number(a), self.number(b)
            if x is not None and y is not None:
                return self.constant(x + y)
            if x == 0.0:
                return b
            if y == 0.0:
                return a
        # Simplify (c + d) - c to d.
        for term, value, negated_other in ((a, p, ~b), (b, q, ~a)):
            op, c, d = self.defined[value]
            if op == "add" or op == "sub":
                if op == "sub":
                    d = ~d
                if term < 0:
                    c, d = ~c, ~d
                if negated_other == c:
                    return d
                if negated_other == d:
                    return c
        if (a < 0) == (b < 0):
            total = self.define("add", p, q) if p <= q else self.define("add", q, p)
            return ~total if a < 0 else total
        positive, negated_other = (p, q) if a >= 0 else (q, p)
        if positive == negated_other:
            return self.constant(0.0)
        if ("sub", negated_other, positive) in self._known:
            return ~self._known["sub", negated_other, positive]
        return self.define("sub", positive, negated_other)

    def multiply(self, a: int, b: int) -> int:
        """Return a signed reference to a * b, computed as a product of unsigned values."""
        p, q = a if a >= 0 else ~a, b if b >= 0 else ~b
        product = -1
        if p in self._numbers or q in self._numbers:  # few operands are constants
            x, y = self.number(a), self.number(b)
            if x is not None and y is not None:
                return self.constant(x * y)
            factor, zero_factor, other_factor = (
                (abs(x), p, q) if x is not None else (abs(y or 0.0), q, p)
            )
            if factor == 2.0:
                product = self.add(other_factor, other_factor)
            else:
                product = other_factor if factor == 1.0 else zero_factor if factor == 0.0 else -1
        if product < 0:
            product = self.define("mul", p, q) if p <= q else self.define("mul", q, p)
        return ~product if (a < 0) != (b < 0) else product

    def divide(self, a: int, b: int) -> int:
        """Return a signed reference to a / b, computed as a product if b is a constant."""
        divisor = self.number(b)
        if divisor is not None and SMALLEST_DIVISOR < abs(divisor) < LARGEST_DIVISOR:
            return self.multiply(a, self.constant(1.0 / divisor))
        negative = (a < 0) != (b < 0)
        quotient = self.define("div", _unsigned(a), _unsigned(b))
        return ~quotient if negative else quotient
