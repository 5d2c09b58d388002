"""Rotations, frames and rigid-body inertia against SciPy's rotations, differences and points."""

import casadi as ca
import numpy as np
import numpy.typing as npt
import pytest
from scipy.spatial.transform import Rotation

from flexarm.spatial import (
    NO_INERTIA,
    Inertia,
    Pose,
    base_rotation,
    base_rotation_matrix,
    cayley,
    constant,
    rotation_from_angles,
    rotation_z_to,
    settled,
    skew_matrix,
    turn,
    turn_z,
)

Array = npt.NDArray[np.float64]
RANDOM = np.random.default_rng(11)
VECTORS = [RANDOM.normal(size=3) * size for size in (1e-8, 1e-3, 0.3, 1.0, 4.0)]
POINTS = RANDOM.normal(size=(9, 3))
MASSES = RANDOM.uniform(0.1, 2.0, size=9)


def weigh(masses: Array, points: Array) -> Inertia:
    """Weigh point masses about the origin."""
    squares = np.einsum("k,ki,kj->ij", masses, points, points)
    return Inertia(
        float(masses.sum()), masses @ points, np.trace(squares) * np.eye(3) - squares
    )  # fmt: skip


def rotation_of(c: Array) -> Array:
    """Turn by a Cayley vector."""
    return np.array(cayley(ca.DM(c))[0])


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("angle", [-2.1, -0.3, 0.0, 0.7, 4.0])
def test_turn_is_the_right_handed_rotation(axis: int, angle: float) -> None:
    expected = Rotation.from_rotvec(angle * np.eye(3)[axis]).as_matrix()
    assert turn(axis, angle) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("quarters", [-3, -2, -1, 0, 1, 2, 3, 4])
def test_right_angles_are_exact(axis: int, quarters: int) -> None:
    matrix = turn(axis, quarters * np.pi / 2)
    assert np.array_equal(np.abs(matrix), np.abs(np.round(matrix)))


def test_half_a_right_angle_has_equal_sides() -> None:
    for eighth in range(8):
        matrix = turn(2, eighth * np.pi / 4)
        assert len(np.unique(np.abs(matrix[:2, :2]))) == 1 + (eighth % 2 == 0)


def test_numbers_that_rounding_keeps_apart_are_settled_by_their_natural_size() -> None:
    values = np.array([[1 / 3, -(1 / 3) * (1 + 3e-14), 1e-14], [2 - 1e-13, 0.7, 0.7 + 1e-9]])
    found = settled(values)
    assert found[0].tolist() == [1 / 3, -1 / 3, 0.0]
    assert found[1].tolist() == [2.0, 0.7, 0.7 + 1e-9]
    assert settled(values, 1e-3).tolist() == values.tolist()
    assert settled(np.array([1e9, 1.0, 1.0 + 1e-8])).tolist() == [1e9, 1.0, 1.0 + 1e-8]
    assert np.isnan(settled(np.array([1.0, np.nan, 0.5]))).tolist() == [False, True, False]
    symbols = np.array([1e-20, "a"], dtype=object)  # as arms have whose numbers are inputs
    assert settled(symbols) is symbols
    chain = np.linspace(1.0, 1.0 + 1.8e-10, 2000)
    assert np.abs(settled(chain) - chain).max() <= 1e-12


def test_angles_turn_about_fixed_axes_x_then_y_then_z() -> None:
    angles = (0.3, -1.1, 2.4)
    expected = Rotation.from_euler("xyz", angles).as_matrix()
    assert rotation_from_angles(angles) == pytest.approx(expected, abs=1e-15)


def test_base_turns_about_its_own_axes_x_then_y_then_z() -> None:
    angles = [0.3, -1.1, 2.4]
    expected = Rotation.from_euler("XYZ", angles).as_matrix()
    assert np.array(base_rotation(ca.DM(angles))) == pytest.approx(expected, abs=1e-15)
    assert base_rotation_matrix(np.array(angles)) == pytest.approx(expected, abs=1e-15)


def test_turn_about_z() -> None:
    expected = Rotation.from_euler("z", -2.7).as_matrix()
    assert np.array(turn_z(ca.DM(-2.7))) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("axis", [*VECTORS, (0, 0, 5), (1, 1, 0), (-1, 1, 1), (0, -2, 1e-9)])
def test_rotation_takes_z_to_any_axis(axis: tuple[float, float, float]) -> None:
    matrix = rotation_z_to(axis)
    assert matrix[:, 2] == pytest.approx(np.array(axis) / np.linalg.norm(axis), abs=1e-14)
    assert matrix.T @ matrix == pytest.approx(np.eye(3), abs=1e-14)
    assert np.linalg.det(matrix) == pytest.approx(1, abs=1e-14)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("k", [0, 1, 2])
def test_rotation_to_a_coordinate_axis_permutes_the_axes(k: int, sign: int) -> None:
    axis = tuple((0.3 * sign * np.eye(3)[k]).tolist())
    matrix = rotation_z_to(axis)
    assert np.array_equal(np.sort(np.abs(matrix), axis=0), np.diag([0, 0, 1])[:, [2, 2, 2]])
    assert matrix[k, 2] == sign


def test_joint_along_z_leaves_the_frame_alone() -> None:
    assert np.array_equal(rotation_z_to((0.0, 0.0, 2.0)), np.eye(3))


@pytest.mark.parametrize("size", [1e-320, 1e-160, 1.0, 1e160, 1e307])
def test_an_axis_may_have_any_length(size: float) -> None:
    found = rotation_z_to((size, -size, 0.0))[:, 2]
    assert found == pytest.approx([0.5**0.5, -(0.5**0.5), 0.0], abs=1e-15)


def test_skew_matrix_is_the_cross_product() -> None:
    a, b = VECTORS[2], VECTORS[3]
    assert skew_matrix(a) @ b == pytest.approx(np.cross(a, b), abs=1e-15)


@pytest.mark.parametrize("c", VECTORS)
def test_cayley_rotation_is_a_rotation(c: Array) -> None:
    matrix = rotation_of(c)
    assert matrix.T @ matrix == pytest.approx(np.eye(3), abs=2e-15)
    assert np.linalg.det(matrix) == pytest.approx(1, abs=2e-15)


@pytest.mark.parametrize("c", VECTORS)
def test_cayley_rotation_is_cayleys_quotient(c: Array) -> None:
    half = skew_matrix(c) / 2
    expected = np.linalg.solve(np.eye(3) - half, np.eye(3) + half)
    assert rotation_of(c) == pytest.approx(expected, abs=2e-15)


@pytest.mark.parametrize("c", VECTORS)
def test_cayley_vector_is_twice_the_tangent_of_half_the_angle(c: Array) -> None:
    size = float(np.linalg.norm(c))
    expected = Rotation.from_rotvec(c / size * 2 * np.arctan(size / 2)).as_matrix()
    assert rotation_of(c) == pytest.approx(expected, abs=2e-15)


@pytest.mark.parametrize("c", VECTORS[1:])
def test_angular_velocity_of_the_cayley_rotation(c: Array) -> None:
    rate, h = np.array([0.7, -1.3, 0.4]), 1e-3
    near, far = (
        rotation_of(c + k * h * rate) - rotation_of(c - k * h * rate) for k in (1, 2)
    )  # fmt: skip
    spin = (8 * near - far) / (12 * h) @ rotation_of(c).T
    assert spin == pytest.approx(-spin.T, abs=1e-10)
    omega = np.array(cayley(ca.DM(c))[1]) @ rate
    assert omega == pytest.approx([spin[2, 1], spin[0, 2], spin[1, 0]], abs=1e-10)


def test_cayley_rotation_at_rest_is_the_identity() -> None:
    E, H = cayley(ca.DM.zeros(3))
    assert np.array_equal(np.array(E), np.eye(3))
    assert np.array_equal(np.array(H), np.eye(3))


def test_cayley_rotation_traces_to_the_same_numbers() -> None:
    c = ca.SX.sym("c", 3)
    E, H = ca.Function("f", [c], list(cayley(c)))(VECTORS[3])
    numbers = cayley(ca.DM(VECTORS[3]))
    assert np.array(E) == pytest.approx(np.array(numbers[0]), abs=1e-15)
    assert np.array(H) == pytest.approx(np.array(numbers[1]), abs=1e-15)


def some_pose(seed: int) -> Pose:
    """Place a frame at random."""
    random = np.random.default_rng(seed)
    return Pose(Rotation.from_rotvec(2 * random.normal(size=3)).as_matrix(), random.normal(size=3))


def test_poses_chain() -> None:
    first, second = some_pose(1), some_pose(2)
    both = first @ second
    x = VECTORS[3]
    there = first.rotation @ (second.rotation @ x + second.position) + first.position
    assert both.rotation @ x + both.position == pytest.approx(there, abs=1e-14)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_inertia_moves_with_its_points(seed: int) -> None:
    pose = some_pose(seed)
    moved = weigh(MASSES, POINTS).moved(pose)
    expected = weigh(MASSES, POINTS @ pose.rotation.T + pose.position)
    assert moved.mass == pytest.approx(expected.mass, rel=1e-15)
    assert moved.first == pytest.approx(expected.first, abs=1e-13)
    assert moved.second == pytest.approx(expected.second, abs=1e-13)


def test_bodies_add_up() -> None:
    total = weigh(MASSES[:4], POINTS[:4]) + weigh(MASSES[4:], POINTS[4:]) + NO_INERTIA
    expected = weigh(MASSES, POINTS)
    assert total.mass == pytest.approx(expected.mass, rel=1e-15)
    assert total.first == pytest.approx(expected.first, abs=1e-14)
    assert total.second == pytest.approx(expected.second, abs=1e-13)


def test_zeros_of_a_constant_are_structural() -> None:
    made = constant(np.array([[1.0, 0.0], [0.0, -2.0]]))
    assert made.nnz() == 2
    assert np.array_equal(np.array(made), [[1, 0], [0, -2]])
