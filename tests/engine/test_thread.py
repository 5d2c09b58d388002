"""Quotients of a GPU's thread are right to the last places, or what those of a division are."""

import ctypes
import functools
import itertools
from collections.abc import Callable

import llvmlite.binding as llvm
import numpy as np
import pytest

from flexarm.engine.compile import host, load_object, machine
from flexarm.engine.emit.thread import RECIPROCAL, quotient
from tests.engine.emulated_gpu import on_processors

ONE = "0x3FF0000000000000"
SPECIAL = (0.0, -0.0, 1.0, -3.0, 1e-300, -1e300, np.inf, -np.inf, np.nan)


@functools.cache
def compiled() -> tuple[object, tuple[Callable[[float, float], float], ...]]:
    """Compile a quotient and a reciprocal for this processor; they go with what comes first."""
    lines: list[str] = []

    def write(expression: str) -> str:
        lines.append(f"%t{len(lines)} = {expression}")
        return f"%t{len(lines) - 1}"

    function = "define double @{}(double %a, double %b) {{\n{}\nret double {}\n}}"
    texts = []
    for name, a in (("ratio", "%a"), ("inverse", ONE)):
        lines.clear()
        result = write(quotient(a, "%b", ONE, write))
        texts.append(function.format(name, "\n".join(lines), result))
    # On a GPU all are fused.
    text = on_processors("\n".join([RECIPROCAL, *texts])).replace("fmuladd", "fma")
    llvm.initialize_native_target()
    target = machine(host(), 2)
    engine = load_object(bytes(target.emit_object(llvm.parse_assembly(text))))
    kind = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_double)
    return engine, tuple(kind(engine.get_function_address(each)) for each in ("ratio", "inverse"))


def test_quotients_are_right_within_two_units_of_the_last_place() -> None:
    _, (ratio, inverse) = compiled()
    random = np.random.default_rng(1)
    a, b = random.uniform(-2, 2, (2, 20_000)) * 10.0 ** random.integers(-100, 100, (2, 20_000))
    found = np.array([(ratio(x, y), inverse(x, y)) for x, y in zip(a, b, strict=True)])
    right = np.stack([a / b, 1 / b], axis=1)
    off = np.abs(found - right) / np.spacing(np.abs(right))
    assert off[:, 0].max() <= 1
    assert off[:, 1].max() <= 2


@pytest.mark.parametrize(("a", "b"), [*itertools.product(SPECIAL, SPECIAL)])
def test_quotients_of_what_is_0_or_infinite_are_those_of_a_division(a: float, b: float) -> None:
    _, (ratio, inverse) = compiled()
    with np.errstate(all="ignore"):
        right, turned = np.float64(a) / np.float64(b), 1.0 / np.float64(b)
    assert ratio(a, b) == pytest.approx(right, rel=1e-15, abs=0, nan_ok=True)
    assert inverse(a, b) == pytest.approx(turned, rel=1e-15, abs=0, nan_ok=True)


@pytest.mark.parametrize("tiny", [5e-324, -1e-308])
def test_a_denominator_that_has_few_digits_is_0(tiny: float) -> None:
    _, (ratio, inverse) = compiled()
    assert ratio(2.0, tiny) == inverse(0.0, tiny) == np.copysign(np.inf, tiny)
