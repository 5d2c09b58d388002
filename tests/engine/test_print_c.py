"""Kernels do the same as C, bit for bit."""

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from flexarm.errors import FlexarmError
from flexarm.loops.c import CLoops, print_c
from flexarm.loops.kernel import Kernel, kernel
from flexarm.loops.language import Array, run_kernel
from tests.engine.kernel_programs import State, program
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
    text = (
        f"#include <math.h>\n#include <string.h>\n\n{printed.records}\n{printed.functions}\n{more}"
    )
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


@kernel
def add_one(s: State) -> int:
    """Add one."""
    s.n += 1
    return s.n


@kernel
def add_twice(s: State) -> int:
    """Add calls up that change what they are of."""
    total: int = add_one(s) + add_one(s)
    return total


@kernel
def ahead(s: State) -> int:
    """Call by an address."""
    code: int = run_kernel(s.n, s)
    return code


@kernel
def named(a: Array) -> float:
    """Name a part of an array."""
    rest = a[1:]
    first: float = rest[0]
    return first


@pytest.mark.few(2)
@pytest.mark.parametrize("seed", range(40))
def test_random_kernels_do_the_same_in_c(seed: int, tmp_path: Path) -> None:
    text, file = program(seed, plain=True), tmp_path / f"program_{seed}.py"
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
        arrays = [ctypes.c_void_p(each.ctypes.data) for each in (a, b)]
        found = run(ctypes.c_void_p(s.pack()), *arrays, ctypes.c_longlong(i), ctypes.c_double(x))
        s.unpack()
        return float(found)

    for given in range(8):
        assert outcome(call, given) == outcome(plain, given), text


def test_printed_kernels_compile_without_warnings(tmp_path: Path) -> None:
    printed = print_c([every_field, add_one])
    more = "long long run(struct State *s);\nlong long run(struct State *s)\n"
    more += "{\n    return kernel_every_field(s) > 0.0 ? kernel_add_one(s) : 0;\n}\n"
    library(printed, more, tmp_path, *STRICT)


def test_a_kernel_whose_address_is_known_is_called_by_name(tmp_path: Path) -> None:
    printed = print_c([every_field, ahead], called_by_field={"n": add_one})
    more = "long long run(struct State *s);\nlong long run(struct State *s)\n"
    more += "{\n    return kernel_every_field(s) > 0.0 ? kernel_ahead(s) : 0;\n}\n"
    library(printed, more, tmp_path, *STRICT)
    assert "code = kernel_add_one(s);" in printed.functions


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (add_twice, r"'kernel_add_one\(s\)' and .* are operands of one expression"),
        (ahead, "calls by an unknown address are not for C"),
        (named, "'rest' must be a number"),
    ],
)
def test_what_c_leaves_open_is_refused(wrong: Kernel, message: str) -> None:
    with pytest.raises(FlexarmError, match=rf"kernel '{wrong.name}' .*{message}"):
        print_c([wrong])
