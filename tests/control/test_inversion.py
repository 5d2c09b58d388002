"""Stable inversion: the tip of a flexible link follows, with a bounded input that begins early."""

import casadi as ca
import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import flexarm
from flexarm.control import Timing, joint_move, rigid_feedforward, stable_inversion
from flexarm.errors import FlexarmError, ModelError
from flexarm.spatial import Array
from tests.control.arms import elastic_joint, one_link, two_links

TIMING = Timing("cycloid", 0.6)


def bearing(tip: Array) -> Array:
    """Give the tip's angle in the plane."""
    return np.asarray(np.unwrap(np.arctan2(tip[:, 1], tip[:, 0])))


@pytest.mark.few(1)
@pytest.mark.parametrize(("duration", "to", "tolerance"), [(1.0, 1.0, 2e-6), (0.4, 0.5, 2e-6)])
def test_the_tip_follows_where_the_rigid_arms_input_leaves_it_behind(
    duration: float, to: float, tolerance: float
) -> None:
    """The nonlinear arm, open loop, by a table of the input."""
    arm = flexarm.example_arm("driven-link")
    model = flexarm.build(arm)
    timing = Timing("cycloid", duration)
    found = stable_inversion(model, to, timing)
    t_end = float(found.t[-1])
    run = flexarm.simulate(found.arm(arm), t_end=t_end, inputs=found.inputs(), rtol=1e-7)
    course = np.interp(run.t, found.t, found.bearing)
    assert np.abs(bearing(run.tip) - course).max() < tolerance
    motion = joint_move(model, {"joint1": to}, timing)
    times = np.linspace(0, duration, 2001)
    table = {
        "kind": "table",
        "times": [*times.tolist(), 2 * duration],
        "values": [*np.array(rigid_feedforward(motion)(times[None, :])).ravel().tolist(), 0.0],
    }
    blind = flexarm.simulate(arm, t_end=2 * duration, inputs={"joint1": table})
    assert np.abs(bearing(blind.tip) - motion.at(blind.t)[0][:, 0]).max() > 0.02


def test_the_input_is_bounded_and_begins_before_the_tip_moves() -> None:
    model = flexarm.build(one_link(modes=2))
    found = stable_inversion(model, 0.5, TIMING)
    before = found.t < found.lead
    assert np.all(found.bearing[before] == 0)
    largest = np.abs(found.u).max()
    assert 0.05 * largest < np.abs(found.u[before]).max() < largest
    assert np.abs(found.u[[0, -1]]).max() < 1e-6 * largest
    rigid = rigid_feedforward(joint_move(model, {"joint1": 0.5}, TIMING))
    assert largest < 2 * np.abs(np.array(rigid(found.t[None, :]))).max()


def test_the_input_is_the_one_that_fourier_transforms_give() -> None:
    """Bayo 1987: divide the tip's spectrum by the transfer function of the linear link."""
    model = flexarm.build(one_link(modes=2, damping=0.01))
    small = 1e-3  # so that the tip's angle is its deflection
    timing = Timing("septic", 0.6)
    found = stable_inversion(model, small, timing)
    equation = flexarm.formulation("composite", model)
    q, unit = np.zeros(3), np.eye(3)
    mass = equation.mass_matrix(q)
    stiffness, damping = (
        np.array([equation.parts(*(x * e for x in at))[part] for e in unit]).T
        for at, part in (((1e-6, 0.0), "elastic"), ((0.0, 1e-6), "dissipative"))
    )
    stiffness, damping = stiffness * 1e6, damping * 1e6
    row = equation.tip_jacobian(q)[1]
    count, step = 2**14, 1e-3
    times = np.arange(count) * step
    t = ca.SX.sym("t")
    course = ca.Function("a", [t], [timing.trace(t - 8.0)[2]])
    spectrum = np.fft.rfft(small * np.array(course(times[None, :])).ravel())
    omega = 2 * np.pi * np.fft.rfftfreq(count, step)
    ratio = np.zeros(len(omega), dtype=complex)
    for k, w in enumerate(omega[1:], start=1):
        response = np.linalg.solve(stiffness + 1j * w * damping - w**2 * mass, unit[0])
        ratio[k] = 1 / (-(w**2) * (row @ response))
    expected = np.fft.irfft(spectrum * ratio, count)
    shifted = CubicSpline(times, expected)(found.t - found.lead + 8.0)
    ends = np.array([found.lead, found.lead + 0.6])  # where the jerk's rate jumps, splines ring
    away = np.abs(found.t[:, None] - ends).min(axis=1) > 0.01
    assert np.abs(found.u - shifted)[away].max() < 1e-6 * np.abs(found.u).max()


def test_its_zeros_come_in_pairs_that_grow_and_die() -> None:
    found = stable_inversion(flexarm.build(one_link(modes=2)), 0.5, TIMING)
    assert np.sum(found.zeros.real > 0) == 2
    rates = np.sort(found.zeros.real)
    np.testing.assert_allclose(rates, -rates[::-1], rtol=1e-9)


def test_energy_put_in_comes_back_out() -> None:
    """Rest to rest without damping: the work of the input is 0."""
    found = stable_inversion(flexarm.build(one_link(modes=2)), 0.5, TIMING)
    power = found.u * found.v[:, 0]
    assert abs(float(np.trapezoid(power, found.t))) < 1e-6 * float(
        np.trapezoid(np.abs(power), found.t)
    )


def test_with_gravity_it_goes_from_equilibrium_to_equilibrium() -> None:
    arm = one_link(modes=2, gravity=-9.81)
    model = flexarm.build(arm)
    found = stable_inversion(model, 0.6, Timing("quintic", 0.8))
    equation = flexarm.formulation("composite", model)
    for k in (0, -1):
        force = equation.inverse_dynamics(found.q[k], np.zeros(3), np.zeros(3))
        np.testing.assert_allclose(force, [found.u[k], 0, 0], atol=1e-4 * abs(found.u[k]))
    run = flexarm.simulate(
        found.arm(arm), t_end=float(found.t[-1]), inputs=found.inputs(), rtol=1e-7
    )
    course = np.interp(run.t, found.t, found.bearing)
    assert np.abs(bearing(run.tip) - course).max() < 1e-4


def test_only_one_flexible_link_on_a_rigid_drive_is_taken() -> None:
    for arm in (two_links(), elastic_joint()):
        with pytest.raises(ModelError, match="for one flexible link on a driven revolute joint"):
            stable_inversion(flexarm.build(arm), 0.5, TIMING)


def test_a_course_that_jumps_is_refused() -> None:
    with pytest.raises(FlexarmError, match="the acceleration of a trapezoid jumps"):
        stable_inversion(flexarm.build(one_link()), 0.5, Timing("trapezoid", 1.0))


def test_a_motion_too_fast_to_invert_says_so() -> None:
    model = flexarm.build(flexarm.example_arm("driven-link"))
    with pytest.raises(FlexarmError, match="Move more slowly"):
        stable_inversion(model, 2.0, Timing("cycloid", 0.1), points=301)
