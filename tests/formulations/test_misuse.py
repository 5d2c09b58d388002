"""What the public methods of a formulation refuse, with what to do instead."""

from typing import Any

import casadi as ca
import numpy as np
import pytest

import flexarm
from flexarm.errors import FlexarmError
from flexarm.formulations.equation import Equation

SIZE = 6
STILL = np.zeros(SIZE)


@pytest.fixture(scope="module")
def arm() -> Equation:
    """Make the equation of two links with two modes each."""
    return flexarm.formulation("articulated", flexarm.build(flexarm.example_arm("count-2-2-2")))


@pytest.fixture(scope="module")
def telescope() -> Equation:
    """Make the equation of an arm that slides out of its hub."""
    return flexarm.formulation("composite", flexarm.build(flexarm.example_arm("telescope")))


@pytest.fixture(scope="module")
def floating() -> Equation:
    """Make the equation of an arm on a free base."""
    return flexarm.formulation(
        "composite", flexarm.build(flexarm.example_arm("canadarm-free-base"))
    )


MODEL = flexarm.build(flexarm.example_arm("count-2-2-2"))


@pytest.mark.parametrize(
    ("name", "model", "message"),
    [
        (
            "articulated",
            MODEL.arm,
            r"must be given a Model, got an Arm. Build one with flexarm\.build",
        ),
        ("articulated", "count-2-2-2", "must be given a Model, got a value of type str"),
        (MODEL, "articulated", r"the name comes first, then the model"),
        (["articulated"], MODEL, "no formulation"),
    ],
)
def test_a_formulation_takes_a_name_and_a_model(name: Any, model: Any, message: str) -> None:
    with pytest.raises(FlexarmError, match=message):
        flexarm.formulation(name, model)


def test_an_unknown_function_is_refused(arm: Equation) -> None:
    with pytest.raises(
        FlexarmError, match=r"no function 'bogus'\. The functions are mass_matrix, bias"
    ):
        arm.function("bogus")
    with pytest.raises(
        FlexarmError, match=r"no function 'bogus'\. The functions are mass_matrix, bias"
    ):
        arm.compiled("bogus")


@pytest.mark.parametrize(
    ("q", "message"),
    [
        (np.zeros(SIZE, dtype=complex), "got complex ones"),
        (np.full(SIZE, 1j), "got complex ones"),
        (["a"] * SIZE, "got text"),
        (np.array(["0"] * SIZE), "got text"),
        ([None] * SIZE, r"got \[None"),
        (None, "got None"),
        (np.array([0.0] * SIZE, dtype=object), "got Python objects"),
        (np.ma.array(STILL, mask=STILL == 0), "got masked elements"),
        (ca.SX.sym("q", SIZE), "must be real numbers"),
    ],
)
def test_coordinates_are_real_numbers(arm: Equation, q: Any, message: str) -> None:
    for call in (
        lambda: arm.forward_dynamics(q, STILL, np.zeros(2)),
        lambda: arm.mass_matrix(q),
        lambda: arm.energy(STILL, q),
    ):
        with pytest.raises(FlexarmError, match=message):
            call()


def test_numbers_of_any_real_kind_will_do(arm: Equation) -> None:
    expected = arm.mass_matrix(STILL)
    for q in ([0] * SIZE, (0.0,) * SIZE, np.zeros(SIZE, dtype=np.int32), np.zeros(SIZE, "f4")):
        np.testing.assert_array_equal(arm.mass_matrix(q), expected)  # type: ignore[arg-type]
    unmasked: Any = np.ma.array(STILL)
    np.testing.assert_array_equal(arm.mass_matrix(unmasked), expected)


@pytest.mark.parametrize(
    "t", ["x", "0.1", None, np.nan, np.inf, -np.inf, np.zeros(3), [0.1], 1j, np.float32(np.nan)]
)
def test_a_time_is_one_finite_number(arm: Equation, t: Any) -> None:
    u = np.zeros(2)
    for call in (
        lambda: arm.bias(STILL, STILL, t),
        lambda: arm.forward_dynamics(STILL, STILL, u, t),
        lambda: arm.reaction(STILL, STILL, u, t),
        lambda: arm.motion(STILL, STILL, u, t),
        lambda: arm.inverse_dynamics(STILL, STILL, STILL, t),
    ):
        with pytest.raises(FlexarmError, match=r"^t: must be a (finite )?time in seconds"):
            call()


@pytest.mark.parametrize("t", [0, -1.5, np.float32(0.5), np.int64(2), np.array(0.5)])
def test_times_of_any_real_kind_will_do(arm: Equation, t: Any) -> None:
    np.testing.assert_array_equal(arm.bias(STILL, STILL, t), arm.bias(STILL, STILL))


@pytest.mark.parametrize("length", [-1.0, 0.0, 5.0, 0.124, 2.51])
def test_a_length_outside_the_range_of_a_sliding_link_is_refused(
    telescope: Equation, length: float
) -> None:
    q, u = np.zeros(telescope.model.size), np.zeros(len(telescope.input_names))
    still = np.zeros_like(q)
    q[0] = length
    for call in (
        lambda: telescope.mass_matrix(q),
        lambda: telescope.mass_matrix(q.tolist()),  # type: ignore[arg-type]
        lambda: telescope.forward_dynamics(q, still, u),
        lambda: telescope.parts(q, still),
        lambda: telescope.tip_jacobian(q),
        lambda: telescope.joint_wrench(q, still, still),
    ):
        with pytest.raises(FlexarmError, match=r"q\[0\]: the exposed length joint1 must be 0.125"):
            call()


@pytest.mark.parametrize("length", [0.125, 1.0, 2.5, 2.5 * (1 + 1e-8)])
def test_the_ends_of_a_sliding_links_range_will_do(telescope: Equation, length: float) -> None:
    q = np.zeros(telescope.model.size)
    q[0] = length
    listed: Any = q.tolist()
    for given in (q, listed):
        assert np.all(np.isfinite(telescope.mass_matrix(given)))


@pytest.mark.parametrize(
    "reference_attitude",
    [
        2 * np.eye(3),
        [0, 0, 0],
        np.eye(2),
        -np.eye(3),
        np.full((3, 3), np.nan),
        np.array([[1, 0.01, 0], [0, 1, 0], [0, 0, 1]]),
    ],
)
def test_an_anchor_is_a_rotation(floating: Equation, reference_attitude: Any) -> None:
    with pytest.raises(FlexarmError, match="reference_attitude"):
        floating.with_reference(reference_attitude)


def test_an_anchor_is_copied(floating: Equation) -> None:
    turned = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    other = floating.with_reference(turned)
    turned[0, 0] = 5.0
    assert other.reference_attitude[0, 0] == 0.0
