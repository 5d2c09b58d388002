"""Functions are traced, differentiated, compiled once, and found again."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import casadi
import numpy as np
import pytest

from flexarm.engine import functions
from flexarm.engine.cache import Cache
from flexarm.engine.compile import Level, native_width
from flexarm.engine.emit.llvm import Code, emit_llvm
from flexarm.engine.functions import (
    compile_function,
    compile_recipe,
    jacobian,
    trace,
)
from flexarm.engine.lower import lower
from flexarm.engine.stream import Stream
from flexarm.errors import FlexarmError
from tests.patience import HANGS


def spring(q: casadi.SX, k: casadi.SX) -> list[casadi.SX]:
    """Return force and energy of two springs in a row."""
    stretch = casadi.vertcat(q[0], q[1] - q[0])
    return [-k * casadi.sin(stretch), casadi.sum1(k * (1 - casadi.cos(stretch)))]


def traced(name: str = "spring") -> casadi.Function:
    """Trace the springs."""
    return trace(name, spring, {"q": 2, "k": 2}, outputs=["force", "energy"])


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Collect the names of the streams that are really compiled."""
    names: list[str] = []

    def noted(stream: Stream, **how: Any) -> Code:
        names.append(stream.name)
        return emit_llvm(stream, **how)

    monkeypatch.setattr(functions, "emit_llvm", noted)
    return names


def test_a_traced_function_has_the_names_and_sizes_it_was_given() -> None:
    function = traced()
    assert function.name_in() == ["q", "k"]
    assert function.name_out() == ["force", "energy"]
    matrix = trace("m", lambda a: a @ a.T, {"a": (2, 3)}, outputs=["b"])
    assert matrix.size_in(0) == (2, 3)
    assert matrix.size_out(0) == (2, 2)


def test_a_function_that_returns_another_number_of_outputs_is_refused() -> None:
    with pytest.raises(FlexarmError, match=r"function 'f': must return 1 outputs \(a\), got 2"):
        trace("f", spring, {"q": 2, "k": 2}, outputs=["a"])


@pytest.mark.parametrize("level", ["quick", "fast"])
def test_a_parameter_kept_symbolic_is_an_input(level: Level) -> None:
    code = compile_function(traced(), level=level)
    q, k = np.array([0.3, 0.1]), np.array([2.0, 5.0])
    force, energy = code.call(q, k)
    stretch = np.array([0.3, -0.2])
    np.testing.assert_allclose(force, -k * np.sin(stretch), rtol=1e-15)
    np.testing.assert_allclose(energy, [np.sum(k * (1 - np.cos(stretch)))], rtol=1e-14)


def test_a_jacobian_is_that_found_by_hand() -> None:
    function = jacobian(traced(), of="force", by=["q", "k"])
    assert function.name_out() == ["force", "d_force_d_q", "d_force_d_k"]
    q, k = np.array([0.3, 0.1]), np.array([2.0, 5.0])
    force, by_q, by_k = compile_function(function).call(q, k)
    np.testing.assert_allclose(force, [-2 * np.sin(0.3), -5 * np.sin(-0.2)], rtol=1e-15)
    a, b = 2 * np.cos(0.3), 5 * np.cos(-0.2)
    np.testing.assert_allclose(by_q, [[-a, 0.0], [b, -b]], rtol=1e-15)
    np.testing.assert_allclose(by_k, np.diag([-np.sin(0.3), -np.sin(-0.2)]), rtol=1e-15)


@pytest.mark.parametrize("width", [1, 2])
def test_a_jacobian_by_one_element_is_a_matrix(width: int) -> None:
    pair = trace(
        "pair",
        lambda q, p: (casadi.vertcat(q[0] * p, q[1] + p), q[0] * p),
        {"q": 2, "p": 1},
        outputs=["force", "energy"],
    )
    lanes = () if width == 1 else (width,)
    q, p = np.full((2, *lanes), 3.0), np.full((1, *lanes), 2.0)
    for of, rows in (("force", 2), ("energy", 1)):
        function = jacobian(pair, of=of, by=["p", "q"])
        value, by_p, by_q = compile_function(function, width=width).call(q, p)
        assert value.shape == (rows, *lanes)
        assert by_p.shape == (rows, 1, *lanes)
        assert by_q.shape == (rows, 2, *lanes)
        np.testing.assert_array_equal(by_p.reshape(rows, -1)[:, 0], [3.0, 1.0][:rows])


@pytest.mark.parametrize(
    ("name", "function", "outputs", "message"),
    [
        ("f", lambda q: 3.0, ["a"], "function 'f': must return a casadi.SX .*, got float"),
        ("f", lambda q: [q, "b"], ["a", "b"], "must return a casadi.SX or a sequence"),
        ("a b", lambda q: q, ["a"], "function 'a b': the name 'a b' must be letters, digits"),
        ("f", lambda q: q, ["a-b"], "function 'f': the name 'a-b' must be letters, digits"),
    ],
)
def test_what_cannot_be_traced_is_told(
    name: str, function: Any, outputs: list[str], message: str
) -> None:
    with pytest.raises(FlexarmError, match=message):
        trace(name, function, {"q": 1}, outputs=outputs)


@pytest.mark.parametrize("width", [0, 3, -1, 2.5, "2"])
def test_a_width_is_a_power_of_two(width: Any) -> None:
    with pytest.raises(FlexarmError, match=r"width: must be .* power of two, got"):
        compile_function(traced(), width=width)


@pytest.mark.parametrize(
    ("of", "by", "message"),
    [
        ("torque", ["q"], "function 'spring': has no output 'torque'. There are force, energy"),
        ("force", ["q", "m"], "function 'spring': has no input 'm'. There are q, k"),
    ],
)
def test_a_jacobian_by_an_unknown_name_is_refused(of: str, by: list[str], message: str) -> None:
    with pytest.raises(FlexarmError, match=message):
        jacobian(traced(), of=of, by=by)


def test_the_second_compilation_comes_from_the_cache(compilations: list[str]) -> None:
    first, second = compile_function(traced()), compile_function(traced())
    assert compilations == ["spring"]
    inputs = ([0.3, 0.1], [2.0, 5.0])
    for a, b in zip(first.call(*inputs), second.call(*inputs), strict=True):
        np.testing.assert_array_equal(a, b)
    assert (first.inputs, first.outputs) == (second.inputs, second.outputs)


def test_another_function_level_width_or_name_is_compiled_anew(
    compilations: list[str],
) -> None:
    compile_function(traced())
    compile_function(traced(), level="quick")
    compile_function(traced(), width=2)
    compile_function(traced("other"))
    assert compilations == ["spring", "spring", "spring", "other"]


def test_other_constants_are_compiled_anew(compilations: list[str]) -> None:
    pairs = ((1.5, 5.0), (1.0, 5.0), (2.0, 5.0), (0.0, 5.0), (-1.5, 5.0))
    for pair in (*pairs, *pairs):
        a, b = pair
        function = trace("c", lambda x, a=a, b=b: a * x + b, {"x": 1}, outputs=["y"])
        assert compile_function(function).call([3.0])[0] == 3.0 * a + b
    assert compilations == ["c"] * len(pairs)


def test_a_broken_entry_is_compiled_again(compilations: list[str], own_cache: Path) -> None:
    compile_function(traced())
    for file in Cache(own_cache).entries():
        Path(file.path).write_bytes(b"not machine code")
    force, _ = compile_function(traced()).call([0.3, 0.1], [2.0, 5.0])
    assert compilations == ["spring", "spring"]
    np.testing.assert_allclose(force, [-2 * np.sin(0.3), 5 * np.sin(0.2)], rtol=1e-15)


def test_a_known_recipe_is_not_traced_again(compilations: list[str]) -> None:
    made = []

    def make() -> Stream:
        made.append(1)
        return lower(traced())

    levels: list[Level] = ["quick", "fast", "quick", "fast"]
    for level in levels:
        code = compile_recipe("two springs", make, level=level)
        assert code.call([0.0, 0.0], [1.0, 1.0])[1] == 0.0
    assert len(made) == len(compilations) == 2
    compile_recipe("the same springs by another name", make)
    assert len(made) == 3
    assert len(compilations) == 2


def test_a_recipe_is_traced_again_when_its_code_is_gone_or_the_source_has_changed(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []

    def make() -> Stream:
        made.append(1)
        return lower(traced())

    compile_recipe("two springs", make)
    largest = max(Cache(own_cache).entries(), key=lambda file: file.stat().st_size)
    Path(largest.path).unlink()
    compile_recipe("two springs", make)
    assert len(made) == 2
    monkeypatch.setattr(functions, "source_version", lambda folder: "edited")
    compile_recipe("two springs", make)
    assert len(made) == 3


def test_any_edit_of_a_source_file_changes_the_version_of_the_source(tmp_path: Path) -> None:
    versions = []
    (tmp_path / "a").mkdir()
    for text in ("x = 1\n", "x = 2\n", ""):
        (tmp_path / "a" / "b.py").write_text(text)
        functions.source_version.cache_clear()
        versions.append(functions.source_version(tmp_path))
    (tmp_path / "a" / "b.py").rename(tmp_path / "a" / "c.py")
    functions.source_version.cache_clear()
    versions.append(functions.source_version(tmp_path))
    assert len(set(versions)) == 4


def test_everything_works_where_nothing_can_be_cached(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    nowhere = Cache(tmp_path / "file" / "cache")
    for _ in range(2):
        code = compile_recipe("two springs", lambda: lower(traced()), cache=nowhere)
        assert code.call([0.0, 0.0], [1.0, 1.0])[1] == 0.0


def test_lanes_are_as_many_as_asked_for() -> None:
    width = native_width()
    code = compile_function(traced(), width=width)
    q = np.random.default_rng(0).normal(size=(2, width))
    k = np.ones((2, width))
    force, energy = code.call(q, k)
    assert (force.shape, energy.shape) == ((2, width), (1, width))
    np.testing.assert_allclose(force, -np.sin([q[0], q[1] - q[0]]), rtol=1e-14)


COMPILER = """
from flexarm.engine.functions import compile_function, trace
code = compile_function(trace("f", lambda x: x * x + 3, {"x": 1}, outputs=["y"]))
assert code.call([2.0])[0] == 7.0
"""


def test_processes_may_compile_the_same_function_at_once(own_cache: Path) -> None:
    environment = {**os.environ, "FLEXARM_CACHE": str(own_cache)}
    running = [
        subprocess.Popen([sys.executable, "-c", COMPILER], env=environment, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    for process in running:
        _, errors = process.communicate(timeout=HANGS)
        assert (process.returncode, errors) == (0, b"")
    assert len(Cache(own_cache).entries()) == 1
