"""Spherical joints: angles that move on to another attitude before they are singular."""

from functools import cache

import numpy as np
import pytest

import flexarm
from flexarm.arm import Arm
from flexarm.formulations import formulation
from flexarm.integrate.methods import METHODS
from flexarm.io.model_file import loads
from flexarm.runs.run import Run
from flexarm.spatial import base_rotation_matrix, rotation_from_angles

TOP = """\
flexarm: 1
name: top
links:
  - joint: {kind: spherical, start: {rotation: [0, -70 deg, 0], spin: [40, 3, 2]}}
    length: 0.3
    body: {mass: 0.7, com: [0.2, 0, 0], inertia: [0.004, 0.003, 0.003]}
"""
FLAIL = """\
flexarm: 1
name: flail
links:
  - joint: {kind: spherical, start: {rotation: [20 deg, 30 deg, -40 deg], spin: [3, 4, -2]}}
    length: 1
    section: {mass_per_length: 1, EIz: 40, EIy: 60, GJ: 20, Jx: 0.001}
    shapes: {kind: clamped-free, bending_y: 1, bending_z: 1, torsion: 1}
  - joint: {kind: spherical, damping: DAMPING, start: {spin: [1, 5, 6]}}
    length: 0.5
    body: {mass: 1, com: [0.2, 0.05, 0], inertia: [0.02, 0.03, 0.04]}
"""


def flail(damping: float = 0.0) -> Arm:
    return loads(FLAIL.replace("DAMPING", str(damping)))


def reference_attitudes(run: Run) -> int:
    """Count the attitudes that angles were measured from."""
    return len({each.tobytes() for each in run.reference_attitudes})


def test_a_top_keeps_its_energy_and_both_momenta_of_lagrange() -> None:
    run = flexarm.simulate(loads(TOP), t_end=2.0, dt=0.01, energy_audit=True)
    assert run.status == "finished"
    assert reference_attitudes(run) > 10
    assert run.energy_balance < 1e-10
    equation = formulation("articulated", run.model).with_reference(run.reference_attitudes)
    momentum = equation.angular_momentum(run.q, run.v)
    along = np.einsum("ti,ti->t", momentum, run.tip_rotation[:, :, 0])
    for kept in (momentum[:, 2], along):
        assert np.ptp(kept) < 1e-9 * np.abs(kept).max()
    # Its axis nutates and precesses: other components change.
    assert np.ptp(momentum[:, 0]) > 0.1 * np.abs(momentum[:, 2]).max()


def test_a_top_turns_as_eulers_equations_about_its_pivot_say() -> None:
    run = flexarm.simulate(loads(TOP), t_end=0.5, dt=0.01, rtol=1e-8, method="dop853")
    inertia = np.diag([0.004, 0.003 + 0.7 * 0.04, 0.003 + 0.7 * 0.04])
    inverse = np.linalg.inv(inertia)
    lifted = np.cross(np.eye(3), [0.2, 0.0, 0.0])  # the lever of 0.2 m, times a force

    def rates(y: np.ndarray) -> np.ndarray:
        rotation, spin = y[:9].reshape(3, 3), y[9:]
        torque = lifted @ (rotation.T @ np.array([0.0, 0.0, -0.7 * 9.81]))
        cross = np.array([[0, -spin[2], spin[1]], [spin[2], 0, -spin[0]], [-spin[1], spin[0], 0]])
        change = inverse @ (torque - cross @ inertia @ spin)
        return np.concatenate([(rotation @ cross).ravel(), change])

    turned = rotation_from_angles((0.0, np.radians(-70), 0.0))
    y, h = np.concatenate([turned.ravel(), [40.0, 3.0, 2.0]]), 2.5e-4
    for _ in range(2000):
        a = rates(y)
        b = rates(y + h / 2 * a)
        c = rates(y + h / 2 * b)
        d = rates(y + h * c)
        y = y + h / 6 * (a + 2 * b + 2 * c + d)
    attitude = run.reference_attitudes[-1] @ base_rotation_matrix(run.q[-1])
    assert np.abs(attitude - y[:9].reshape(3, 3)).max() < 1e-6


@cache
def swung_closely() -> Run:
    """Swing the flail with more digits than any other run."""
    return flexarm.simulate(flail(), t_end=1.0, dt=0.05, method="dop853", rtol=1e-10)


@pytest.mark.few(1)
@pytest.mark.parametrize("method", METHODS)
def test_methods_agree_across_changes_of_attitude(method: str) -> None:
    truth = swung_closely()
    run = flexarm.simulate(flail(), t_end=1.0, dt=0.05, method=method, rtol=1e-6)
    assert reference_attitudes(run) > 1
    assert np.abs(run.tip - truth.tip).max() < 1e-5


def test_damping_takes_what_the_ball_loses() -> None:
    run = flexarm.simulate(flail(0.1), t_end=2.0, dt=0.01, energy_audit=True)
    assert reference_attitudes(run) > 1
    assert run.energy_balance < 1e-9
    assert run.work_integrals[-1, 3] > 0.1 * run.energy[0, 0]


def test_a_run_is_read_back_with_its_attitudes(tmp_path: object) -> None:
    run = flexarm.simulate(flail(), t_end=1.0, dt=0.05)
    path = f"{tmp_path}/flail.nc"
    run.save(path)
    again = flexarm.load_run(path)
    assert reference_attitudes(run) > 1
    assert np.array_equal(run.reference_attitudes, again.reference_attitudes)
    assert np.array_equal(run.q, again.q)


def test_changes_of_attitude_are_no_vibration_and_no_curve() -> None:
    run = flexarm.simulate(flexarm.example_arm("crossed-joints"), t_end=0.5)
    assert reference_attitudes(run) > 1
    assert run.missed == ""
    assert len(run.t) < 2000
    (joints, *_) = run.plot().axes
    assert [line.get_label() for line in joints.lines] == ["mast.first", "mast.second", "screw"]


def test_its_angles_cannot_be_locked_nor_driven_by_a_law() -> None:
    with pytest.raises(flexarm.SimulationError, match=r"joint2\.rx cannot be locked"):
        flexarm.simulate(flail(), t_end=1.0, locks={"joint2.rx": [(0.1, 0.2)]})
