"""Quotients of a GPU's thread are right to the last places."""

import ctypes
import math

import llvmlite.binding as llvm
import numpy as np

from flexarm.engine.compile import host, load_object, machine
from flexarm.engine.emit.thread import RECIPROCAL, quotient
from tests.engine.emulated_gpu import on_processors

ONE = "0x3FF0000000000000"


def quotients() -> tuple[np.ndarray, np.ndarray]:
    """Divide random numbers, and 1 by them, as a GPU does; in units of the last place."""
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
    ratio, inverse = (kind(engine.get_function_address(name)) for name in ("ratio", "inverse"))
    random = np.random.default_rng(1)
    a, b = random.uniform(-2, 2, (2, 20_000)) * 10.0 ** random.integers(-100, 100, (2, 20_000))
    found = [(ratio(x, y), inverse(x, y)) for x, y in zip(a, b, strict=True)]
    right = np.stack([a / b, 1 / b], axis=1)
    assert not math.isfinite(inverse(1.0, 0.0))
    off = np.abs(np.array(found) - right) / np.spacing(np.abs(right))
    return off[:, 0], off[:, 1]


def test_quotients_are_right_within_two_units_of_the_last_place() -> None:
    ratios, inverses = quotients()
    assert ratios.max() <= 1
    assert inverses.max() <= 2
