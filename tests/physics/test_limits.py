"""Limits in which a flexible arm becomes something known: a rigid robot, a beam, a rigid joint."""

import casadi as ca
import numpy as np
import numpy.typing as npt
import pytest
import scipy.linalg

import flexarm
from flexarm.arm import Arm
from flexarm.arm.shapes import Elements, Loaded, ShapeChoice
from flexarm.formulations import FORMULATIONS, formulation
from flexarm.io.model_file import loads
from flexarm.model import build
from tests.physics.states import Array
from tests.physics.stepping import free_motion, integrate

# Two uniform rods of 1 kg and 1 m that hang on pins: rigid, bending, or on an elastic joint.
PENDULUM = """
flexarm: 1
name: double pendulum
gravity: [0, -9.81, 0]
links:
  - {{joint: {{kind: revolute{first}}}, length: 1, section: {{mass_per_length: 1{bends}}}{more}}}
  - {{joint: {{kind: revolute}}, length: 1, section: {{mass_per_length: 1{bends}}}{more}}}
"""
HANGING = [-np.pi / 2, 0.0]  # joint angles, counted from the x axis


def pendulum(*, EI: float | None = None, drive: str = "") -> Arm:
    """Double pendulum of rigid rods, or of bending ones."""
    more = ", rigid: true" if EI is None else ", shapes: {kind: loaded, bending_y: 3}"
    bends = "" if EI is None else f", EIz: {EI}"
    first = f", drive: {{{drive}}}" if drive else ""
    return loads(PENDULUM.format(first=first, bends=bends, more=more))


def frequencies(arm: Arm, angles: npt.ArrayLike, *, locked: bool = False) -> Array:
    """Natural frequencies [rad/s] at rest at given joint angles, motors along with their joints."""
    model = build(arm)
    equation = formulation("composite", model)
    q = np.zeros(model.size)
    joints = [axis.index for axis in model.axes]
    q[joints] = np.asarray(angles)
    for axis in model.axes:
        if axis.motor is not None:
            q[axis.motor] = q[axis.index]
    bias = equation.function("bias")
    symbols = bias.sx_in()
    stiffness = ca.jacobian(bias.call(symbols, True, False)[0], symbols[0])
    K = np.array(ca.Function("stiffness", symbols, [stiffness])(q, np.zeros(model.size)))
    M = equation.mass_matrix(q)
    kept = [i for i in range(model.size) if not (locked and i in joints)]
    squares = scipy.linalg.eigh(K[np.ix_(kept, kept)], M[np.ix_(kept, kept)], eigvals_only=True)
    return np.asarray(np.sqrt(np.abs(squares)))


def rate_of(errors: npt.ArrayLike, growth: float) -> Array:
    """Exponents with which errors shrink while something grows by a factor."""
    sizes = np.abs(errors)
    return np.asarray(np.log(sizes[:-1] / sizes[1:]) / np.log(growth))


@pytest.mark.parametrize("name", FORMULATIONS)
def test_rigid_links_make_the_double_pendulum(name: str) -> None:
    equation = formulation(name, build(pendulum()))
    times, rows = integrate(free_motion(equation), np.zeros(4), [0.0, 0.5, 1.0])
    # angles from the downward vertical and their rates, both rods horizontal at rest to begin with
    expected = {
        0.5: (0.448142625932, 1.041962887304, -2.414308312648, -5.949104936118),
        1.0: (-1.207716238191, -0.814391023091, -3.406517532972, -0.516045472105),
    }
    for t, values in expected.items():
        (y,) = rows[times == t]
        got = (y[0] + np.pi / 2, y[0] + y[1] + np.pi / 2, y[2], y[2] + y[3])
        assert np.abs(np.subtract(got, values)).max() <= 1e-11


def test_rigid_double_pendulum_swings_at_its_frequencies() -> None:
    found = frequencies(pendulum(), HANGING)
    assert np.abs(found - [2.68011401, 7.18867087]).max() <= 0.5e-8


def test_stiff_links_make_a_rigid_robot_in_proportion_to_their_compliance() -> None:
    rigid = frequencies(pendulum(), HANGING)
    errors = [frequencies(pendulum(EI=EI), HANGING)[:2] - rigid for EI in (1e3, 1e4, 1e5)]
    for mode in range(2):
        exponents = rate_of([error[mode] for error in errors], 10.0)
        assert np.abs(exponents - 1).max() <= 0.01
    assert np.abs(errors[-1]).max() <= 1e-4


def test_stiff_joints_are_rigid_ones_in_proportion_to_their_compliance() -> None:
    rotor = "rotor_inertia: 0.002, gear_ratio: 10"
    rigid = frequencies(pendulum(drive=rotor), HANGING)
    errors = []
    for stiffness in (1e4, 1e5, 1e6):
        arm = pendulum(drive=f"{rotor}, stiffness: {stiffness}")
        errors.append(frequencies(arm, HANGING)[:2] - rigid)
    for mode in range(2):
        exponents = rate_of([error[mode] for error in errors], 10.0)
        assert np.abs(exponents - 1).max() <= 0.01
    assert np.abs(errors[-1]).max() <= 1e-4


def test_motion_on_a_stiff_joint_is_that_on_a_rigid_one() -> None:
    rotor = "rotor_inertia: 0.002, gear_ratio: 10"
    times = np.linspace(0.0, 0.2, 11)

    def fall(drive: str) -> Array:
        equation = formulation("articulated", build(pendulum(drive=drive)))
        n = equation.model.size
        start = np.zeros(2 * n)
        steps, rows = integrate(free_motion(equation), start, list(times), rtol=1e-10, atol=1e-12)
        return np.asarray(rows[np.isin(steps, times)][:, n - 2 : n])

    rigid = fall(rotor)
    errors = [np.abs(fall(f"{rotor}, stiffness: {k}") - rigid).max() for k in (1e4, 1e5, 1e6)]
    # the spring is wound by the weight: at most about twice the torque over its stiffness
    assert np.abs(rate_of(errors, 10.0) - 1).max() <= 0.1
    assert errors[-1] <= 1e-4


def shaped(shapes: ShapeChoice) -> Arm:
    """The two-link arm of Usoro, Nadira & Mahil without gravity, with given shapes."""
    arm = flexarm.example_arm("korayem-two-link")
    links = tuple(link.model_copy(update={"shapes": shapes}) for link in arm.links)
    return arm.model_copy(update={"gravity": (0.0, 0.0, 0.0), "links": links})


# Frequencies [Hz] of the beam assembly itself, joints locked or free.
LOCKED = {
    0.0: (1.9784537, 12.3987577, 34.7168805),
    90.0: (2.6374331, 7.1821061, 35.4602947),
}
FREE = {5.0: (25.8932471, 44.5525003, 96.3077584)}


@pytest.mark.campaign
@pytest.mark.few(1)
@pytest.mark.parametrize(("angle", "expected"), LOCKED.items())
def test_elements_converge_to_the_locked_arm(angle: float, expected: tuple[float, ...]) -> None:
    errors = []
    for count in (4, 8, 16):
        arm = shaped(Elements(kind="elements", bending_y=count))
        found = frequencies(arm, [0.0, np.radians(angle)], locked=True) / (2 * np.pi)
        errors.append(found[:3] - expected)
    # the first frequency soon reaches its printed digits
    assert np.abs(rate_of(np.array(errors)[:, 1:], 2.0) - 4).max() <= 0.35
    assert np.abs(np.divide(errors[-1], expected)).max() <= 5e-6


@pytest.mark.campaign
@pytest.mark.parametrize(("angle", "expected"), FREE.items())
def test_elements_converge_to_the_free_arm(angle: float, expected: tuple[float, ...]) -> None:
    errors = []
    for count in (4, 8, 16):
        arm = shaped(Elements(kind="elements", bending_y=count))
        found = frequencies(arm, [0.0, np.radians(angle)]) / (2 * np.pi)
        errors.append(found[2:5] - expected)
    assert np.abs(rate_of(errors, 2.0) - 4).max() <= 0.35
    assert np.abs(np.divide(errors[-1], expected)).max() <= 3e-5


@pytest.mark.few(1)
@pytest.mark.parametrize(("angle", "expected"), LOCKED.items())
def test_modes_and_elements_describe_one_arm(angle: float, expected: tuple[float, ...]) -> None:
    modes = frequencies(shaped(Loaded(bending_y=8)), [0.0, np.radians(angle)], locked=True)
    assert np.abs(modes[:3] / (2 * np.pi) / expected - 1).max() <= 2e-6


@pytest.mark.parametrize("name", FORMULATIONS)
def test_puma_is_the_rigid_robot_that_is_printed(name: str) -> None:
    equation = formulation(name, build(flexarm.example_arm("puma-560")))
    q = np.radians([0.0, 45.0, 180.0, 0.0, 45.0, 0.0])
    gravity, mass = equation.gravity(q), equation.mass_matrix(q)
    assert np.abs(gravity - [0, 31.63988, 6.035138, 0, 0.028253, 0]).max() <= 0.5e-5
    assert np.abs(gravity[2:] - [6.035138, 0, 0.028253, 0]).max() <= 0.501e-6
    printed = {
        (0, 0): 3.659375, (0, 1): -0.404361, (0, 2): 0.100614, (1, 1): 4.413742,
        (1, 2): 0.350891, (2, 2): 0.937842, (3, 3): 0.192532, (4, 4): 0.171348, (5, 5): 0.194105,
    }  # fmt: skip
    for place, value in printed.items():
        assert abs(mass[place] - value) <= 0.501e-6
