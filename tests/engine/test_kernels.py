"""Kernels run the same in Python and compiled, and refuse what they cannot translate."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

from flexarm.engine.kernels import Array, Ints, Kernel, Record, kernel, run_kernel
from flexarm.errors import FlexarmError

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
        elif i // 2 == 7 or o.order[i] < 0:
            break
        steps += int(2.9)
    while steps < 100:
        steps = steps * 2 + 1
        if steps >= 90:
            break
    o.inner.values[0], o.inner.values[1] = o.inner.values[1], o.inner.values[0]
    o.count = run_kernel(o.callback, o.inner)
    o.total += math.sin(THIRD) - abs(-0.25) + max(1.0, o.total, 2.0) / 3 + min(1, 2)
    o.total += math.sqrt(2.0) * math.exp(-0.5) if -1.0 < o.total <= 1e9 else -math.log(2.0)
    o.total += math.pow(1.5, 2.5) + math.floor(2.7) + math.cosh(0.1) + float(steps)
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


def test_arrays_of_the_wrong_kind_are_refused() -> None:
    with pytest.raises(FlexarmError, match="'x': must be a contiguous array of float64"):
        dot(2, np.arange(2), np.zeros(2))
    with pytest.raises(FlexarmError, match="contiguous"):
        dot(2, np.zeros((4, 2))[:, 0], np.zeros(2))


@kernel
def powers(x: float) -> float:
    """Use what is not part of the language."""
    return x**2


@kernel
def unknown_name(x: float) -> float:
    """Use a name that has no value."""
    return float(x + missing)  # type: ignore[name-defined]  # noqa: F821


@kernel
def text(x: float) -> float:
    """Use a text."""
    y = "a"
    return x if y else 0.0


@pytest.mark.parametrize(
    ("wrong", "message"),
    [(powers, "Pow is not part"), (unknown_name, "'missing' has no value"), (text, "no number")],
)
def test_what_a_kernel_cannot_say_is_refused_with_its_line(wrong: Kernel, message: str) -> None:
    with pytest.raises(FlexarmError, match=rf"kernel '{wrong.name}', line \d+: .*{message}"):
        wrong(1.0)


def test_a_kernel_without_a_file_is_refused() -> None:
    space: dict[str, object] = {"kernel": kernel}
    exec("@kernel\ndef lost(x: float) -> float:\n    return x\n", space)
    with pytest.raises(FlexarmError, match="'lost': must be written in a file"):
        space["lost"](1.0)  # type: ignore[operator]
