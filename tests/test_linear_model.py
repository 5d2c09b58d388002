"""Linear models: modes of masses and springs by hand, damping, rotation, and many designs."""

import numpy as np
import pytest

from flexarm.linear_model import LinearModel, StateMatrices, undamped

NAMES = ("a", "b")
CHAIN = np.array([[2.0, -1.0], [-1.0, 1.0]])  # a wall, a spring, a mass, a spring, a mass


def model(stiffness: np.ndarray, damping: np.ndarray | float = 0.0) -> LinearModel:
    """Two unit masses."""
    drag = np.zeros((2, 2)) + damping * np.eye(2) if np.ndim(damping) == 0 else damping
    return LinearModel(np.eye(2), stiffness, np.asarray(drag), NAMES, np.array([[0.0], [1.0]]))


def test_two_masses_on_springs_have_the_golden_frequencies() -> None:
    golden = (1 + 5**0.5) / 2
    assert model(CHAIN).elastic_modes().frequencies == pytest.approx([1 / golden, golden])
    assert np.abs(model(CHAIN).modes().values) == pytest.approx([1 / golden, golden], rel=1e-14)


def test_damping_in_proportion_to_mass_moves_eigenvalues_along_a_line() -> None:
    found = model(CHAIN, 0.1).modes()
    assert found.values.real == pytest.approx([-0.05, -0.05], rel=1e-13)
    assert found.rigid.shape == (2, 0)


def test_a_free_pair_has_one_rigid_motion_and_friction_turns_it_into_a_decay() -> None:
    free = np.array([[1.0, -1.0], [-1.0, 1.0]])
    assert model(free).elastic_modes().rigid == 1
    assert np.ptp(model(free).modes().rigid) == pytest.approx(0.0, abs=1e-14)
    slowed = model(free, 0.1).modes()
    assert slowed.rigid.shape == (2, 0)
    assert slowed.values[0] == pytest.approx(-0.1)


def test_a_spinning_mass_on_equal_springs_splits_into_two_whirls() -> None:
    gyroscopic = np.array([[0.0, 2.0], [-2.0, 0.0]])
    found = np.abs(model(np.eye(2), gyroscopic).modes().values)
    assert found == pytest.approx([2**0.5 - 1, 2**0.5 + 1], rel=1e-13)


def test_a_locked_coordinate_takes_its_mass_and_springs_along() -> None:
    locked = model(CHAIN).along([0], np.array([[1.0], [1.0]]))  # both move as one
    assert locked.names == ("a",)
    assert locked.elastic_modes().frequencies == pytest.approx([0.5**0.5])
    assert locked.inputs == pytest.approx(np.array([[1.0]]))


def test_state_matrices_have_the_eigenvalues_of_the_modes() -> None:
    found = model(CHAIN, 0.3)
    A, B = found.state_space()
    assert isinstance(found.state_space(), StateMatrices)
    above = sorted((s for s in np.linalg.eigvals(A) if s.imag > 0), key=abs)
    assert np.array(above) == pytest.approx(found.modes().values)
    assert B.ravel() == pytest.approx([0, 0, 0, 1])


def test_the_fastest_rate_is_that_of_a_strong_damper_and_names_its_coordinate() -> None:
    assert model(CHAIN).fastest_rate()[1] is None
    rate, index = model(CHAIN, np.diag([0.0, 50.0])).fastest_rate()
    assert rate == pytest.approx(50.0, rel=1e-3)
    assert index == 1


def test_a_coordinate_without_mass_is_an_error() -> None:
    with pytest.raises(np.linalg.LinAlgError):
        undamped(np.diag([1.0, 0.0]), np.eye(2))
