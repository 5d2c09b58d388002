"""Machine code: where it can run, how it is called, and what it needs from outside."""

import ctypes
import functools
import threading

import casadi
import numpy as np
import pytest

from flexarm.engine.compile import (
    Level,
    Target,
    chunk_size,
    host,
    native_width,
    object_code,
)
from flexarm.engine.emit.llvm import emit_llvm
from flexarm.engine.lower import lower
from flexarm.engine.stream import FUNCTIONS, Stream
from flexarm.errors import FlexarmError
from tests.engine.expressions import EXACT, SMOOTH, compiled
from tests.engine.object_files import undefined_symbols

LIBRARY = FUNCTIONS | {"floor", "ceil", "fmin", "fmax"}
# The first form of Windows is that of its own files, the second the one that is loaded there.
MACHINES = [
    (Target("x86_64-unknown-linux-gnu", "x86-64", ""), 1),
    (Target("x86_64-unknown-linux-gnu", "x86-64-v4", ""), 8),
    (Target("aarch64-unknown-linux-gnu", "generic", ""), 2),
    (Target("arm64-apple-darwin", "apple-m1", ""), 2),
    (Target("x86_64-pc-windows-msvc", "x86-64-v3", ""), 1),
    (Target("x86_64-pc-windows-msvc-elf", "x86-64", ""), 1),
    (Target("x86_64-pc-windows-msvc-elf", "x86-64-v3", ""), 4),
    (Target("x86_64-pc-windows-msvc-elf", "x86-64-v4", ""), 8),
]


@functools.cache
def everything() -> Stream:
    """Return a stream with every operation, and 350 values that are all alive at one time."""
    x = casadi.SX.sym("x", 350)
    cases = (EXACT | SMOOTH).values()
    outputs = [case.function(*casadi.vertsplit(x[: case.operands])) for case in cases]
    early = [x[k] * x[(7 * k + 1) % 350] + x[(k + 3) % 350] for k in range(350)]
    total, late = casadi.SX(0), casadi.SX(0)
    for value in early:
        total += value
    for value in reversed(early):
        late = late * value + x[0]
    outputs += [total, late, casadi.SX(50, 1)]
    return lower(casadi.Function("f", [x], [casadi.vertcat(*outputs)]))


@pytest.mark.few(3)
@pytest.mark.parametrize("level", ["quick", "fast"])
@pytest.mark.parametrize(("target", "width"), MACHINES, ids=str)
def test_code_for_any_machine_needs_the_mathematics_of_the_c_library_and_nothing_else(
    target: Target, width: int, level: Level
) -> None:
    chunk = chunk_size(target, width)
    ordered = level == "fast"
    code = emit_llvm(everything(), width=width, chunk=chunk, ordered=ordered)
    needed = undefined_symbols(object_code(code, level=level, target=target))
    # Every file of Windows that computes with doubles is marked by it; it is no function.
    needed -= {"_fltused"} if target.triple.endswith("msvc") else set()
    assert "tanh" in needed
    assert needed <= LIBRARY


def test_the_check_for_undefined_symbols_sees_a_large_frame_on_windows() -> None:
    target, width = MACHINES[-1]
    code = emit_llvm(everything(), width=width, chunk=1000)
    assert "__chkstk" in undefined_symbols(object_code(code, level="fast", target=target))


def test_an_unknown_level_is_refused() -> None:
    code = emit_llvm(everything())
    with pytest.raises(FlexarmError, match="level: must be one of quick, fast, got 'slow'"):
        object_code(code, level="slow", target=host())  # type: ignore[arg-type]


def scaled() -> casadi.Function:
    """Make a function of a vector and a matrix."""
    a, b = casadi.SX.sym("a", 3), casadi.SX.sym("b", 2, 3)
    return casadi.Function("f", [a, b], [b @ a, b.T], ["a", "b"], ["c", "d"])


def test_a_call_takes_whatever_numpy_can_read_and_returns_new_arrays() -> None:
    code = compiled(scaled())
    b = np.array([[1, 2, 3], [4, 5, 6]])
    first = code.call([1, 2, 3], b)
    second = code.call(np.array([1.0, 0.0, 0.0]), np.asfortranarray(b, dtype=float))
    np.testing.assert_array_equal(first[0], [14.0, 32.0])
    np.testing.assert_array_equal(first[1], b.T)
    np.testing.assert_array_equal(second[0], [1.0, 4.0])


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (([1, 2, 3],), r"inputs: must be 2 \(a, b\), got 1"),
        (([1, 2], np.eye(2, 3)), r"input 'a': must have the shape \(3,\), got \(2,\)"),
        ((5.0, np.eye(2, 3)), r"input 'a': must have the shape \(3,\), got \(\)"),
        ((np.ones(1), np.eye(2, 3)), r"input 'a': must have the shape \(3,\), got \(1,\)"),
        (([1, 2, 3], np.eye(3, 2)), r"input 'b': must have the shape \(2, 3\), got \(3, 2\)"),
    ],
)
def test_inputs_of_another_shape_are_refused_by_name(
    arrays: tuple[object, ...], message: str
) -> None:
    with pytest.raises(FlexarmError, match=message):
        compiled(scaled()).call(*arrays)  # type: ignore[arg-type]


def test_threads_that_call_at_the_same_time_do_not_mix_their_numbers() -> None:
    x = casadi.SX.sym("x", 50)
    y = x
    for _ in range(40):
        y = casadi.sin(y) + x[0] * y
    function = casadi.Function("f", [x], [y])
    code = compiled(function)
    wrong = []

    def work(seed: int) -> None:
        numbers = np.random.default_rng(seed).uniform(-0.5, 0.5, 50)
        expected = code.call(numbers)[0]
        for _ in range(300):
            if not np.array_equal(code.call(numbers)[0], expected):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_code_goes_on_working_when_other_code_has_been_thrown_away() -> None:
    kept = compiled(scaled())
    for _ in range(20):
        compiled(scaled()).call([1, 2, 3], np.ones((2, 3)))
    np.testing.assert_array_equal(kept.call([1, 2, 3], np.ones((2, 3)))[0], [6.0, 6.0])


@pytest.mark.parametrize("width", [1, native_width()])
def test_it_is_called_by_its_address(width: int) -> None:
    x = casadi.SX.sym("x", 3)
    function = casadi.Function("f", [x], [casadi.cos(x) * x[[1, 2, 0]] + 0.1])
    code = compiled(function, width=width, chunk=2)
    assert code.work_size > 0
    start = np.random.default_rng(0).uniform(size=(3,) if width == 1 else (3, width))
    expected = start
    for _ in range(10):
        (expected,) = code.call(expected)
    call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(code.address)
    found, other, work = start.ravel().copy(), np.empty(start.size), np.empty(code.work_size)
    for _ in range(10):
        call(found.ctypes.data, other.ctypes.data, work.ctypes.data)
        found, other = other, found
    np.testing.assert_array_equal(found, expected.ravel())
