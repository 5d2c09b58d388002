"""The rigid Puma 560: its data against published inertia and gravity, by frames and Jacobians."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest

from flexarm.arm import Arm, Link, Revolute
from flexarm.io.model_file import load
from flexarm.samples import sample_path

Array = npt.NDArray[np.float64]

# Gravity torques and inertia at (0, 45, 180, 0, 45, 0) degrees, as printed.
GRAVITY = ("0", "31.63988", "6.035138", "0", ".028253", "0")
INERTIA = {
    (1, 1): "3.659375", (1, 2): "-.404361", (1, 3): ".100614", (2, 2): "4.413742",
    (2, 3): ".350891", (3, 3): ".937842", (4, 4): ".192532", (5, 5): ".171348",
    (6, 6): ".194105",
}  # fmt: skip


@dataclass(frozen=True)
class Placed:
    """A link in the world: joint axis and a point of it, centre of mass, inertia in world axes."""

    axis: Array
    origin: Array
    mass: float
    centre: Array
    inertia: Array


def agrees(value: float, printed: str) -> bool:
    """Say whether a value rounds to the printed digits."""
    decimals = len(printed.partition(".")[2]) or 6
    return abs(value - float(printed)) <= 0.5001 * 10.0**-decimals


def about_x(angle: float) -> Array:
    """Rotation matrix about x."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[1, 0, 0], [0, c, -s], [0, s, c]])


def about_z(angle: float) -> Array:
    """Rotation matrix about z."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])


def joint_of(link: Link) -> Revolute:
    """Give a link's joint, a revolute one."""
    assert isinstance(link.joint, Revolute)
    return link.joint


def start_of(arm: Arm) -> Array:
    """Give the joint angles at which the arm starts."""
    return np.array([joint_of(link).start.position or 0.0 for link in arm.links])


def place(arm: Arm, q: Array) -> list[Placed]:
    """Walk along the arm by standard Denavit-Hartenberg frames."""
    rotation, position, placed = np.eye(3), np.zeros(3), []
    for link, angle in zip(arm.links, q, strict=True):
        dh = joint_of(link).dh
        assert dh is not None
        assert dh.convention == "standard"
        axis, origin = rotation[:, 2].copy(), position.copy()
        rotation = rotation @ about_z(dh.theta + float(angle))
        position = position + dh.d * axis
        body = link.rigid_body
        assert body is not None
        placed.append(
            Placed(
                axis,
                origin,
                body.mass,
                position + rotation @ np.array(body.com),
                rotation @ np.diag(body.inertia[:3]) @ rotation.T,
            )
        )
        position = position + link.length * rotation[:, 0]
        rotation = rotation @ about_x(dh.alpha)
    return placed


def jacobians(placed: list[Placed], index: int) -> tuple[Array, Array]:
    """Velocity of a link's centre of mass and its angular velocity per joint rate."""
    size = len(placed)
    linear, angular = np.zeros((3, size)), np.zeros((3, size))
    for j, joint in enumerate(placed[: index + 1]):
        linear[:, j] = np.cross(joint.axis, placed[index].centre - joint.origin)
        angular[:, j] = joint.axis
    return linear, angular


def inertia_matrix(arm: Arm, q: Array) -> Array:
    """Sum m Jv^T Jv + Jw^T I Jw over the links, plus the reflected rotors."""
    placed = place(arm, q)
    total = np.zeros((len(placed), len(placed)))
    for i, body in enumerate(placed):
        linear, angular = jacobians(placed, i)
        total += body.mass * linear.T @ linear + angular.T @ body.inertia @ angular
        drive = joint_of(arm.links[i]).drive
        assert drive is not None
        total[i, i] += drive.gear_ratio**2 * drive.rotor_inertia
    return total


def gravity_torques(arm: Arm, q: Array) -> Array:
    """Torques that hold the arm against gravity."""
    placed = place(arm, q)
    weights = [
        -body.mass * np.array(arm.gravity) @ jacobians(placed, i)[0]
        for i, body in enumerate(placed)
    ]
    return np.asarray(np.sum(weights, axis=0))


@pytest.fixture(scope="module")
def puma() -> Arm:
    """Load the sample."""
    return load(sample_path("puma-560"))


def test_it_starts_at_the_nominal_pose(puma: Arm) -> None:
    assert np.degrees(start_of(puma)) == pytest.approx([0, 45, 180, 0, 45, 0])


@pytest.mark.parametrize("entry", INERTIA, ids=str)
def test_inertia_matrix_has_the_published_digits(puma: Arm, entry: tuple[int, int]) -> None:
    row, column = entry
    value = float(inertia_matrix(puma, start_of(puma))[row - 1, column - 1])
    assert agrees(value, INERTIA[entry]), value


@pytest.mark.parametrize("joint", range(6))
def test_gravity_torque_has_the_published_digits(puma: Arm, joint: int) -> None:
    value = float(gravity_torques(puma, start_of(puma))[joint])
    assert agrees(value, GRAVITY[joint]), value


def test_tip_stands_where_the_published_geometry_puts_it(puma: Arm) -> None:
    # Elbow at 45 degrees, the forearm turned by 225 degrees: hanging down and back by sqrt(1/2).
    elbow = 0.4318 * math.sqrt(0.5)
    offset, forearm = 0.0203, 0.4318
    wrist = place(puma, start_of(puma))[4].origin
    x = elbow - offset * math.sqrt(0.5) + forearm * math.sqrt(0.5)
    z = 0.672 + elbow - offset * math.sqrt(0.5) - forearm * math.sqrt(0.5)
    assert wrist == pytest.approx([x, -0.15005, z], abs=1e-12)
