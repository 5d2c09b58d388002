"""Functions that differ in their numbers share machine code, however the numbers are rounded."""

import math
from collections.abc import Callable

import casadi
import numpy as np
import pytest

import flexarm
from flexarm.engine.family import Family
from flexarm.engine.functions import compile_function
from flexarm.engine.lower import ALIKE, lower
from flexarm.formulations import formulation
from flexarm.io.overrides import change_arm
from flexarm.model import build

X = casadi.SX.sym("x", 4)
POINT = np.array([0.7, -1.3, 0.4, 2.1])
Recipe = Callable[[float, float], list[casadi.SX]]


def above(number: float) -> float:
    """Return the next number."""
    return math.nextafter(number, math.inf)


def traced(*outputs: casadi.SX) -> casadi.Function:
    """Trace a function of x, a vector of 4."""
    return casadi.Function("f", [X], [casadi.vertcat(*outputs)], ["x"], ["y"])


RECIPES: dict[str, Recipe] = {
    "equal factors": lambda a, b: [a * X[0] + X[1], casadi.sin(b * X[0] + X[1])],
    "equal terms": lambda a, b: [casadi.sin(X[0] + a) + casadi.cos(X[0] + b)],
    "opposite factors": lambda a, b: [a * X[0] + X[1], casadi.sin(X[1] - b * X[0])],
    "products of equal ones": lambda a, b: [3 * a * X[2] * X[1], casadi.exp(3 * b * X[2] * X[1])],
    "quotients": lambda a, b: [X[0] / (X[1] + a), X[2] / (X[1] + b)],
    "a difference": lambda a, b: [(X[0] * X[1] + a * X[2]) - b * X[2], a * X[3]],
    "what cancels": lambda a, b: [a * X[2] - b * X[2] + X[0], b * X[3]],
    "a double": lambda a, b: [(a * X[0] + a * X[0]) - b * X[0] + X[1]],
    "a square": lambda a, b: [(a * X[0]) * (b * X[0])],
    "a ratio that is 1": lambda a, b: [(a / b) * X[0] + X[1], casadi.sin(X[0] + X[1])],
    "stored alone": lambda a, b: [casadi.SX(a), casadi.SX(-b), X[0]],
}


@pytest.mark.parametrize("what", RECIPES)
def test_rounding_decides_nothing(what: str) -> None:
    family = Family("quick")
    pairs = [(0.3, 0.3), (0.7, above(0.7)), (above(1.9), 1.9), (5.3, 5.3)]
    for a, b in pairs:
        function = traced(*RECIPES[what](a, b))
        (mine,) = family.member(function).call(POINT)
        (alone,) = compile_function(function, level="quick").call(POINT)
        assert mine == pytest.approx(alone, rel=1e-13, abs=1e-13)
    assert family.compiles == 1


def test_a_number_may_change_its_sign() -> None:
    family = Family("quick")
    for a in (0.3, -0.4, 1.7):
        function = traced(a * X[0], X[1] - a, casadi.atan2(X[2], -a), -a + X[1] * X[2], a / X[3])
        (mine,) = family.member(function).call(POINT)
        (alone,) = compile_function(function, level="quick").call(POINT)
        assert mine == pytest.approx(alone, rel=1e-14)
    assert family.compiles == 1


def test_a_number_may_happen_to_equal_another() -> None:
    family = Family("quick")
    for a in (0.3, 0.5, 2.7):
        function = traced(a * X[0] + X[1], casadi.sin(0.5 * X[2]) + 0.5, X[1] * X[2] + a)
        (mine,) = family.member(function).call(POINT)
        (alone,) = compile_function(function, level="quick").call(POINT)
        assert mine == pytest.approx(alone, rel=1e-14)
    assert family.compiles == 1


def test_numbers_that_make_other_operations_get_their_own_code() -> None:
    family = Family("quick")
    for count, a in enumerate((0.3, 0.0, 1.0), start=1):
        member = family.member(traced(a * X[0] + X[1]))
        assert member.call(POINT)[0] == pytest.approx([a * POINT[0] + POINT[1]])
        assert family.compiles == count


def test_numbers_that_differ_stay_apart() -> None:
    near = 0.3 * (1 + 10 * ALIKE)
    stream = lower(traced(0.3 * X[0], near * X[0]), alike=True)
    assert sorted(stream.constants) == [0.3, near]
    tiny = lower(traced(-1e-300 * X[0], 3e-300 * X[0], 1e-300 * X[1]), alike=True)
    assert sorted(tiny.constants, key=abs)[:2] in ([-1e-300, 3e-300], [1e-300, 3e-300])


def test_alone_a_function_keeps_every_bit() -> None:
    stream = lower(traced(0.3 * X[0], above(0.3) * X[0], -above(1.0) * X[1]))
    assert set(stream.constants) == {0.3, above(0.3), above(1.0)}


def test_members_go_abreast() -> None:
    family = Family("quick")
    functions = [traced(*RECIPES["a difference"](a, b)) for a, b in ((0.3, 0.3), (0.7, above(0.7)))]
    both = family.abreast([family.member(each) for each in functions])
    assert both is not None
    (found,) = both.call(np.ascontiguousarray(np.stack([POINT, 2 * POINT], axis=1)))
    for lane, each in enumerate(functions):
        (alone,) = compile_function(each, level="quick").call((1 + lane) * POINT)
        assert found[:, lane] == pytest.approx(alone, rel=1e-14)
    other = family.member(traced(0.3 * X[0]))
    assert family.abreast([family.member(functions[0]), other]) is None


@pytest.mark.parametrize(
    ("name", "key", "low", "high"),
    [
        ("driven-link-payload", "payload.mass", 0.1, 0.5),
        ("deluca-siciliano", "payload.mass", 0.1, 0.3),
        ("tg-rr", "links.2.length", 0.8, 1.2),
    ],
)
def test_arms_with_any_value_of_a_parameter_have_the_same_operations(
    name: str, key: str, low: float, high: float
) -> None:
    found = []
    for value in np.random.default_rng(1).uniform(low, high, 6):
        arm = change_arm(flexarm.sample(name), {key: float(value)})
        function = formulation("articulated", build(arm)).function("motion")
        shared, alone = lower(function, alike=True), lower(function)
        assert len(shared.operations) <= 1.1 * len(alone.operations)
        found.append((shared.operations, shared.stores, len(shared.constants)))
    assert all(each == found[0] for each in found)
