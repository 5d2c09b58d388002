"""Kernels run the same in Python and compiled, and refuse what they cannot translate."""

import math
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest

from flexarm.engine.compile import host, machine
from flexarm.errors import FlexarmError
from flexarm.loops.kernel import Kernel, kernel, optimise
from flexarm.loops.language import Array, Ints, Record, run_kernel
from flexarm.loops.translate import translate

THIRD = 1.0 / 3.0


@dataclass
class Inner(Record):
    size: int
    values: Array


@dataclass
class Outer(Record):
    inner: Inner
    total: float
    count: int
    order: Ints
    callback: int


@kernel
def dot(n: int, x: Array, y: Array) -> float:
    """Sum products."""
    total = 0.0
    for i in range(n):
        total += x[i] * y[i]
    return total


@kernel
def halve(record: Inner) -> int:
    """Halve all values."""
    for i in range(record.size):
        record.values[i] *= 0.5
    return record.size


@kernel
def everything(o: Outer) -> int:
    """Use every part of the language once."""
    n = o.inner.size
    o.total = dot(n - 1, o.inner.values, o.inner.values[1:])
    steps = 0
    for i in range(n - 1, -1, -2):
        if i % 2 == 0 and not o.order[i] > 3:
            continue
        elif i == 15 or o.order[i] < 0:
            break
        steps += int(2.9)
    while steps < 100:
        steps = steps * 2 + 1
        if steps >= 90:
            break
    first = o.inner.values[0]
    o.inner.values[0] = o.inner.values[1]
    o.inner.values[1] = first
    o.count = run_kernel(o.callback, o.inner)
    o.total += math.sin(THIRD) - abs(-0.25) + max(1.0, o.total, 2.0) / 3 + min(1, 2)
    o.total += math.sqrt(2.0) * math.exp(-0.5) if -1.0 < o.total <= 1e9 else -math.cos(2.0)
    o.total += math.pow(1.5, 2.5) + math.floor(2.7) + float(steps)
    return 1 if math.isfinite(o.total) and o.total != 0.0 else 0


def example() -> Outer:
    values = np.array([0.3, -1.2, 2.5, 0.7, 1.1])
    order = np.array([5, 1, 9, 2, 4], dtype=np.int64)
    return Outer(Inner(5, values), 0.0, 0, order, halve.address)


def test_compiled_and_python_give_the_same_numbers() -> None:
    one, other = example(), example()
    assert everything(one) == everything.python(other) == 1
    assert one.count == other.count == 5
    assert one.total == pytest.approx(other.total, rel=1e-15)
    assert one.inner.values.tolist() == other.inner.values.tolist()
    assert one.inner.values[:2].tolist() == [-0.6, 0.15]


def test_a_second_process_would_find_it_in_the_cache() -> None:
    assert dot._object_code() == Kernel(dot.python)._object_code()


def test_threads_that_ask_at_once_share_the_machine_code() -> None:
    @kernel
    def twice(x: float) -> float:
        return 2.0 * x

    # What each of two threads would compute, the second before the first has kept its answer.
    asked = type(twice).__dict__["address"].func
    assert asked(twice) == asked(twice) == twice.address
    assert twice(3.0) == 6.0


def test_arrays_of_the_wrong_kind_are_refused() -> None:
    with pytest.raises(FlexarmError, match="'x': must be a contiguous array of float64"):
        dot(2, np.arange(2), np.zeros(2))
    with pytest.raises(FlexarmError, match="contiguous"):
        dot(2, np.zeros((4, 2))[:, 0], np.zeros(2))


def unannotated(x, y: float) -> float:  # type: ignore[no-untyped-def]
    return float(x + y)


def without_result(x: float):  # type: ignore[no-untyped-def]
    return x


def with_default(x: float, y: float = 1.0) -> float:
    return x + y


def by_keyword(*, x: float) -> float:
    return x


@pytest.mark.parametrize("function", [unannotated, without_result, with_default, by_keyword])
def test_a_kernel_says_what_it_takes_and_gives(function: Callable[..., float]) -> None:
    with pytest.raises(FlexarmError, match="every parameter and the result must be annotated"):
        Kernel(function)(1.0)


@dataclass
class Flagged(Record):
    flag: bool


@kernel
def flagged(record: Flagged) -> int:
    """Take a record that cannot be laid out."""
    return 1 if record.flag else 0


@kernel
def doubtful(x: float) -> bool:
    """Give a bool, which other kernels may ask for."""
    return x > 0.0


def test_arguments_of_the_wrong_kind_are_refused() -> None:
    inner = Inner(1, np.zeros(1))
    with pytest.raises(FlexarmError, match="'record': must be a Inner, got ndarray"):
        halve(np.zeros(2, dtype=np.int64))
    with pytest.raises(FlexarmError, match="'o': must be a Outer, got Inner"):
        everything(inner)
    with pytest.raises(FlexarmError, match="'n': must be an int of 64 bits"):
        dot(2**63, np.zeros(1), np.zeros(1))
    with pytest.raises(FlexarmError, match=r"takes n, x, y.* got 1 arguments"):
        dot(2)
    with pytest.raises(FlexarmError, match="record field 'flag': must be int, float, Array"):
        flagged(Flagged(flag=True))
    with pytest.raises(FlexarmError, match="without bools as arguments or result"):
        doubtful(1.0)


@kernel
def rests(i: int, j: int, out: Ints) -> None:
    """Take rests of a division."""
    out[0] = i % j
    out[1] = i % 8


@pytest.mark.parametrize("i", [0, 1, 5, 16, 2**62])
@pytest.mark.parametrize("j", [1, 2, 7, 16, 2**40])
def test_rests_are_those_of_python(i: int, j: int) -> None:
    found, expected = np.zeros(2, dtype=np.int64), np.zeros(2, dtype=np.int64)
    rests(i, j, found)
    rests.python(i, j, expected)
    assert found.tolist() == expected.tolist()


@kernel
def counted(first: int, stop: int, seen: Ints) -> int:
    """Count the rounds of loops and keep their last counters."""
    n = 0
    for k in range(first, stop, 3):
        seen[0] = k
        n += 1
    for k in range(stop, first, -2):
        seen[1] = k
        n += 100
    return n


@pytest.mark.parametrize(("first", "stop"), [(5, 0), (0, 5), (0, 7), (-7, 7), (3, 3), (-8, -2)])
def test_loops_go_round_as_in_python(first: int, stop: int) -> None:
    found, expected = np.zeros(2, dtype=np.int64), np.zeros(2, dtype=np.int64)
    assert counted(first, stop, found) == counted.python(first, stop, expected)
    assert found.tolist() == expected.tolist()


@kernel
def whole(x: float, y: float, out: Ints) -> float:
    """Make ints of floats and take extremes."""
    out[0] = int(x)
    out[1] = math.floor(x)
    return min(x, y, 1.0) - max(y, x)


@pytest.mark.parametrize(
    ("x", "first", "second"),
    [(-2.5, -2, -3), (-0.0, 0, 0), (1e300, 2**63 - 1, 2**63 - 1), (-1e300, -(2**63), -(2**63))],
)
def test_floats_become_ints_as_far_as_there_are(x: float, first: int, second: int) -> None:
    found = np.zeros(2, dtype=np.int64)
    whole(x, 0.0, found)
    assert found.tolist() == [first, second]
    whole(math.nan, 0.0, found)
    assert found.tolist() == [0, 0]


@pytest.mark.parametrize("x", [math.nan, 0.0, -0.0, 2.0, math.inf])
@pytest.mark.parametrize("y", [math.nan, 0.0, -0.0, 1.0])
def test_extremes_with_nan_are_those_of_python(x: float, y: float) -> None:
    out = np.zeros(2, dtype=np.int64)
    python = min(x, y, 1.0) - max(y, x)
    assert np.float64(whole(x, y, out)).tobytes() == np.float64(python).tobytes()


GUARDED = """
import ctypes, mmap
import numpy as np
from flexarm.loops.kernel import kernel
from flexarm.loops.language import Array

@kernel
def padded(n: int, count: int, a: Array, out: Array) -> None:
    for k in range(count):
        out[k] = 2.0 * a[k] if k < n else 1.0 if k > n or a[k - 1] > 2.0 < a[k] else 0.0

pages = mmap.mmap(-1, 2 * mmap.PAGESIZE)
after = ctypes.addressof(ctypes.c_char.from_buffer(pages)) + mmap.PAGESIZE
assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(after), mmap.PAGESIZE, 0) == 0
a = np.frombuffer(pages, count=3, offset=mmap.PAGESIZE - 24)
out = np.zeros(64)
padded(3, 64, a, out)
print(out.sum())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="pages are protected otherwise there")
def test_nothing_is_read_that_a_condition_guards(tmp_path: Path) -> None:
    """The array ends where the next page must not be touched."""
    file = tmp_path / "guarded.py"
    file.write_text(GUARDED)
    done = subprocess.run([sys.executable, file], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "60.0\n"), done.stderr


@kernel
def clipped(n: int, a: Array, b: Array, out: Array) -> None:
    """Choose between two numbers in a loop."""
    for k in range(n):
        low = b[k]
        high = a[k]
        out[k] = 2.0 * high if high > low else low - 1.0


def test_loops_with_choices_fill_vector_registers() -> None:
    with llvm.parse_assembly(translate(clipped)) as module:
        optimise(module, machine(host(), 2))
        assert re.search(r"select <\d+ x i1>", str(module))


CALLER = """
@kernel
def caller(pair: Pair) -> float:
    return FACTOR * helper(pair.one) + pair.other
"""
HELPER = """
@dataclass
class Pair(Record):
    {fields}

@kernel
def helper(x: float) -> float:
    return {value}
"""


def test_machine_code_follows_constants_callees_and_records(tmp_path: Path) -> None:
    """The text of the kernel itself is the same each time, and so is the cache."""
    fields = ("one: float\n    other: float", "other: float\n    one: float")
    found = []
    for k, (factor, order, value) in enumerate(
        [(2.0, 0, "x"), (3.0, 0, "x"), (3.0, 0, "-x"), (3.0, 1, "-x")]
    ):
        space: dict[str, Any] = {**globals(), "FACTOR": factor}
        helper = HELPER.format(fields=fields[order], value=value)
        for name, text in ((f"helper{k}.py", helper), ("caller.py", CALLER)):
            (tmp_path / name).write_text(text)
            exec(compile(text, str(tmp_path / name), "exec"), space)
        found.append(space["caller"](space["Pair"](one=5.0, other=1.0)))
    assert found == [11.0, 16.0, -14.0, -14.0]


def test_a_kernel_without_a_file_is_refused() -> None:
    space: dict[str, object] = {"kernel": kernel}
    exec("@kernel\ndef lost(x: float) -> float:\n    return x\n", space)
    with pytest.raises(FlexarmError, match="'lost': must be written in a file"):
        space["lost"](1.0)  # type: ignore[operator]
