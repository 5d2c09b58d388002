"""Random kernels do the same compiled and in Python, bit for bit."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flexarm.engine.compile import load_object
from flexarm.loops.kernel import Kernel, kernel, object_of
from flexarm.loops.language import Array, Ints, floats
from flexarm.loops.translate import translate
from tests.engine.kernel_programs import LENGTH, State, numbers, program, state

GIVEN = {
    "math": math,
    "State": State,
    "Array": Array,
    "Ints": Ints,
    "LIMIT": 7,
    "RATIO": 0.75,
    "floats": floats,
}


def main_of(text: str, file: Path, decorate: Callable[..., Any]) -> Any:
    """Run a program's text and return its main function."""
    space: dict[str, Any] = {**GIVEN, "kernel": decorate}
    exec(compile(text, str(file), "exec"), space)
    return space["main"]


def without_fusing(compiled: Kernel) -> Kernel:
    """Compile a kernel such that sums of products are rounded as often as in Python."""
    text = translate(compiled).replace(" contract ", " ")
    engine = compiled._engine = load_object(object_of(text))
    compiled.__dict__["address"] = engine.get_function_address(f"kernel_{compiled.name}")
    return compiled


@dataclass
class Outcome:
    """Bits of all numbers after a call; all NaN are one."""

    numbers: list[bytes]


def outcome(main: Any, seed: int) -> Outcome:
    """Call a program with random numbers."""
    rng = np.random.default_rng(seed)
    s, a, b = state(rng), numbers(rng), rng.integers(-9, 9, LENGTH)
    with np.errstate(all="ignore"):
        result = main(s, a, b, int(rng.integers(-9, 9)), float(rng.normal()))
    reals = [*a, *s.inner.values, result, s.x, s.inner.level]
    ints = [*b, *s.marks, s.n, s.inner.count]
    bits = [np.float64("nan" if x != x else x).tobytes() for x in reals]
    return Outcome(bits + [np.int64(i).tobytes() for i in ints])


def check(seed: int, folder: Path) -> None:
    """Compare a program in Python and compiled, on eight inputs."""
    text = program(seed)
    file = folder / f"program_{seed}.py"
    file.write_text(text)
    plain = main_of(text, file, lambda function: function)
    compiled = without_fusing(main_of(text, file, kernel))
    for given in range(8):
        assert outcome(compiled, given) == outcome(plain, given), f"seed {seed}, input {given}"


@pytest.mark.few(1)
@pytest.mark.parametrize("block", range(4))
def test_random_kernels_do_what_python_does(block: int, tmp_path: Path) -> None:
    for seed in range(3 * block, 3 * block + 3):
        check(seed, tmp_path)


@pytest.mark.campaign
@pytest.mark.parametrize("block", range(40))
def test_many_random_kernels_do_what_python_does(block: int, tmp_path: Path) -> None:
    for seed in range(1000 + 50 * block, 1050 + 50 * block):
        check(seed, tmp_path)
