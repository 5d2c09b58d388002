"""Emitted C compiles without a warning and gives what CasADi gives."""

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import casadi
import numpy as np
import pytest
from numpy.typing import NDArray

from flexarm.engine.emit.c import CSource, emit_c
from flexarm.engine.lower import lower
from tests.engine.expressions import EXACT, SMOOTH

# A machine without any of them cannot check C: there, the tests below have no cases.
COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]
STRICT = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wmissing-prototypes", "-Werror"]


def library(source: CSource, folder: Path, compiler: str) -> ctypes.CDLL:
    """Compile C to a shared library and load it."""
    (folder / "f.c").write_text(source.source)
    target = folder / "f.so"
    command = [compiler, *STRICT, "-O1", "-shared", "-fPIC", "-o", str(target)]
    subprocess.run([*command, str(folder / "f.c"), "-lm"], check=True)
    return ctypes.CDLL(str(target))


def work_size(source: CSource) -> int:
    """Read the size of the work array where a C programmer would read it."""
    found = re.search(rf"#define {source.name.upper()}_WORK_SIZE (\d+)", source.header)
    assert found
    return int(found[1])


def call(
    source: CSource, loaded: ctypes.CDLL, inputs: list[NDArray[np.float64]], sizes: list[int]
) -> list[NDArray[np.float64]]:
    """Call the C function, with outputs full of something else."""
    outputs = [np.full(size, np.nan) for size in sizes]
    arrays = [*inputs, *outputs, np.full(work_size(source), np.nan)]
    loaded[source.name](*(ctypes.c_void_p(array.ctypes.data) for array in arrays))
    return outputs


def every_operation() -> casadi.Function:
    """Make a function of all operations, half of which see values of others."""
    x = casadi.SX.sym("x", 2)
    smooth = [
        case.function(
            *(
                case.low + (case.high - case.low) * (1 + casadi.sin(x[k])) / 2
                for k in range(case.operands)
            )
        )
        for case in SMOOTH.values()
    ]
    whole = casadi.floor(4 * x)
    exact = [case.function(*casadi.vertsplit(whole[: case.operands])) for case in EXACT.values()]
    numbers = [1e-300, -2.5, np.inf, -np.inf, np.nan, 0.1]
    constants = casadi.vertcat(*map(casadi.SX, numbers), casadi.SX(20, 1))
    return casadi.Function(
        "all_ops", [x], [casadi.vertcat(*smooth), casadi.vertcat(*exact), constants, x[1]]
    )


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("chunk", [1, 7, 500])
def test_every_operation_in_c_is_that_of_casadi(tmp_path: Path, chunk: int, compiler: str) -> None:
    function = every_operation()
    source = emit_c(lower(function), chunk=chunk)
    loaded = library(source, tmp_path, compiler)
    sizes = [function.numel_out(k) for k in range(4)]
    for x in np.random.default_rng(0).uniform(-2.0, 2.0, size=(20, 2)):
        smooth, *others = call(source, loaded, [x], sizes)
        expected = [np.array(output).ravel() for output in function(x)]
        np.testing.assert_allclose(smooth, expected[0], rtol=1e-13, atol=0.0)
        for found, wanted in zip(others, expected[1:], strict=True):
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_large_function_of_matrices_in_c_is_that_of_casadi(tmp_path: Path, compiler: str) -> None:
    a, b = casadi.SX.sym("a", 8, 8), casadi.SX.sym("b", 8, 2)
    function = casadi.Function(
        "solve", [a, b], [casadi.solve(a.T @ a + casadi.SX.eye(8), b), a.T], ["a", "b"], ["x", "t"]
    )
    stream = lower(function)
    assert len(stream.operations) > 1000
    source = emit_c(stream)
    generator = np.random.default_rng(0)
    inputs = [generator.normal(size=(8, 8)), generator.normal(size=(8, 2))]
    solved, transposed = call(source, library(source, tmp_path, compiler), inputs, [16, 64])
    expected = np.array(function(*inputs)[0])
    np.testing.assert_allclose(solved.reshape(8, 2), expected, rtol=1e-12)
    np.testing.assert_array_equal(transposed.reshape(8, 8), inputs[0].T)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_the_header_serves_c_and_cpp_and_agrees_with_the_source(
    tmp_path: Path, compiler: str
) -> None:
    source = emit_c(lower(every_operation()))
    (tmp_path / "f.h").write_text(source.header)
    (tmp_path / "f.c").write_text('#include "f.h"\n' + source.source)
    caller = '#include "f.h"\nvoid *p = (void *)&flexarm_all_ops;\n'
    for language, text in (("c", '#include "f.c"\n'), ("c", caller), ("c++", caller)):
        (tmp_path / "user").write_text(text)
        flags = ["-Wall", "-Werror", "-fsyntax-only", "-x", language, str(tmp_path / "user")]
        if language == "c" or compiler == "clang" or shutil.which("g++"):
            subprocess.run([compiler, *flags], check=True)


def test_the_only_include_is_math_h() -> None:
    source = emit_c(lower(every_operation())).source
    assert re.findall(r"#include.*", source) == ["#include <math.h>"]


def test_the_header_names_every_array_with_its_size() -> None:
    a, b = casadi.SX.sym("a", 2, 3), casadi.SX.sym("b", 3)
    function = casadi.Function("product", [a, b], [a @ b], ["a", "b"], ["c"])
    source = emit_c(lower(function))
    assert source.name == "flexarm_product"
    for line in (
        "in_a: 2 x 3 doubles, read",
        "in_b: 3 doubles, read",
        "out_c: 2 doubles, written",
        "work: FLEXARM_PRODUCT_WORK_SIZE doubles of scratch",
        "void flexarm_product(const double *in_a, const double *in_b, double *out_c, ",
    ):
        assert line in source.header
