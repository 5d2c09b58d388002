"""Kernels do the same as C, bit for bit."""

import ctypes
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flexarm.errors import FlexarmError
from flexarm.loops.c import CLoops, print_c
from flexarm.loops.kernel import kernel
from flexarm.loops.language import Array, Record, run_equations, run_kernel
from tests.engine.kernel_programs import State, program, state
from tests.engine.test_kernel_language import main_of, outcome

STRICT = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"]


@kernel
def every_field(s: State) -> float:
    """Use all fields, so that the struct in C is the record."""
    total: float = s.inner.count + s.inner.level + s.inner.values[0] + s.n + s.x + s.marks[0]
    return total


def library(printed: CLoops, more: str, folder: Path, *options: str) -> ctypes.CDLL:
    """Compile kernels in C, with what calls them."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("there is no C compiler")
    text = f"#include <math.h>\n\n{printed.records}\n{printed.functions}\n{more}"
    (folder / "kernels.c").write_text(text)
    command = [compiler, "-ffp-contract=off", "-shared", "-fPIC", *options, "kernels.c"]
    done = subprocess.run(
        [*command, "-o", "kernels.so", "-lm"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr + text
    return ctypes.CDLL(str(folder / "kernels.so"))


@dataclass
class Counter(Record):
    calls: int
    ahead: int
    inner: State


@kernel
def add_one(s: State) -> int:
    """Add one."""
    s.n += 1
    return s.n


@kernel
def count(c: Counter, values: Array) -> float:
    """Call by address."""
    total: float = 0.0
    for k in range(3):
        run_equations(c.calls, c.inner.marks)
        total += values[k] + run_kernel(c.ahead, c.inner)
    total += every_field(c.inner)
    return total


@pytest.mark.few(4)
@pytest.mark.parametrize("seed", range(40))
def test_random_kernels_do_the_same_in_c(seed: int, tmp_path: Path) -> None:
    text, file = program(seed), tmp_path / f"program_{seed}.py"
    file.write_text(text)
    plain = main_of(text, file, lambda function: function)
    printed = print_c([main_of(text, file, kernel), every_field])
    more = (
        "double run(struct State *s, double *a, long long *b, long long i, double x)\n"
        "{\n    (void)kernel_every_field;\n    return kernel_main(s, a, b, i, x);\n}\n"
    )
    run = library(printed, more, tmp_path, "-std=c99").run
    run.restype = ctypes.c_double

    def call(s: State, a: Array, b: Any, i: int, x: float) -> float:
        s.pack()
        arrays = [ctypes.c_void_p(each.ctypes.data) for each in (a, b)]
        found = run(ctypes.c_void_p(s.place), *arrays, ctypes.c_longlong(i), ctypes.c_double(x))
        s.unpack()
        return float(found)

    for given in range(8):
        assert outcome(call, given) == outcome(plain, given), text


def test_calls_by_address_are_calls_by_name_in_c(tmp_path: Path) -> None:
    printed = print_c([count], bound={"calls": "called", "ahead": add_one})
    assert "struct Counter {\n    struct State *inner;\n};" in printed.records
    more = (
        "double run(struct State *, const double *);\n"
        "double run(struct State *s, const double *values)\n"
        "{\n    struct Counter c = {s};\n    return kernel_count(&c, values);\n}\n"
    )
    printed = printed._replace(
        records=printed.records + "static void called(struct Counter *c) { c->inner->x += 0.5; }\n"
    )
    run = library(printed, more, tmp_path, *STRICT).run
    run.restype = ctypes.c_double
    s = state(np.random.default_rng(1))
    s.n, s.x, values = 10, 0.25, np.array([1.0, 2.0, 3.0])
    s.pack()
    found = run(ctypes.c_void_p(s.place), ctypes.c_void_p(values.ctypes.data))
    s.unpack()
    assert (s.n, s.x) == (13, 1.75)
    assert found == 6.0 + 11 + 12 + 13 + every_field.python(s)


def test_an_address_to_which_nothing_is_bound_is_refused() -> None:
    with pytest.raises(FlexarmError, match=r"kernel 'count' .*: nothing is bound to this address"):
        print_c([count], bound={"ahead": add_one})
