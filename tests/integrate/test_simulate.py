"""Simulated motions against published and re-derived numbers, energy and momentum."""

from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import flexarm
from flexarm.engine import functions
from flexarm.engine.cache import VARIABLE
from flexarm.engine.emit.llvm import Code, emit_llvm
from flexarm.engine.stream import Stream
from flexarm.formulations import formulation
from flexarm.formulations import numbers as shared
from flexarm.integrate.methods import METHODS
from flexarm.integrate.solve import new_state, solve
from flexarm.integrate.task import prepare
from flexarm.io.model_file import loads
from flexarm.mechanics.deformed import tip_deflection
from flexarm.model import build, start_state
from flexarm.runs.run import Run
from flexarm.spatial import Array

RTOL, ATOL = 1e-10, 1e-13

LOSSY = """
flexarm: 1
name: damped, rubbing, driven and pushed
gravity: [0, -9.81, 0]
links:
  - joint:
      kind: revolute
      friction: {viscous: 0.2, coulomb: 0.3, smoothing: 0.05}
      input: {kind: sine, amplitude: 3, frequency: 1}
    length: 1
    section: {mass_per_length: 1, EIz: 40}
    damping: 0.02
    shapes: {kind: loaded, bending_y: 2}
    wrenches: [{at: 0.6, frame: link, force: [0, 2, 0]}]
  - joint:
      kind: revolute
      actuation: prescribed
      motion: {kind: sine, amplitude: 0.3, frequency: 1}
    length: 0.5
    body: {mass: 1, com: [0.2, 0, 0], inertia: [0, 0, 0.02]}
"""

TUMBLING = """
flexarm: 1
name: a tumbling satellite with a boom
gravity: [0, 0, 0]
base:
  kind: free
  rotation: [10 deg, 20 deg, 30 deg]
  body: {mass: 50, inertia: [4, 9, 6]}
  velocity: [0.1, 0, -0.2]
  spin: [0.05, 2.5, 0.02]
links:
  - joint: {kind: revolute, actuation: free, before: {position: [0.5, 0, 0]}, start: {speed: 0.3}}
    length: 2
    section: {mass_per_length: 1, EIz: 300, EIy: 200}
    shapes: {kind: loaded, bending_y: 1, bending_z: 1, torsion: 0}
payload: {mass: 1}
"""


def swing(sample: str, times: list[float], *, stiffening: bool | None = None) -> Run:
    """Simulate a sample and keep what happens at the end of every quarter second."""
    arm = flexarm.example_arm(sample)
    if stiffening is not None:
        arm = arm.model_copy(update={"stiffening": stiffening})
    run = flexarm.simulate(arm, t_end=times[-1], dt=0.25, method="dop853", rtol=RTOL)
    assert run.t.tolist() == [0.0, *times]
    return run


def test_the_two_link_arm_of_korayem_and_shafei_swings_as_derived() -> None:
    run = swing("korayem-two-link", [0.25, 0.5, 0.75, 1.0])
    swung = run.q - [-np.pi / 2, 0, 0, 0]
    expected = {
        1: (0.02482359, -2.29662e-5, -0.00839291, -5.18977e-6),
        2: (0.02801982, -1.80845e-5, -0.06679578, 4.64080e-5),
        4: (-0.03770010, -5.12707e-5, 0.03885381, -5.48509e-5),
    }
    for k, values in expected.items():
        assert swung[k, [0, 2]] == pytest.approx([values[0], values[2]], abs=5e-9)
        assert swung[k, [1, 3]] == pytest.approx([values[1], values[3]], abs=6e-11)


def test_stiffening_by_the_series_shifts_its_vibration() -> None:
    model = build(flexarm.example_arm("korayem-two-link"), stiffening=True, series=True)
    equation, n = flexarm.formulation("articulated", model), model.size
    none = np.zeros(2)

    def rates(_: float, y: Array) -> Array:
        return np.concatenate([y[n:], equation.forward_dynamics(y[:n], y[n:], none)])

    start = np.concatenate(start_state(model))
    q = solve_ivp(rates, (0, 0.5), start, method="DOP853", rtol=1e-11, atol=1e-14).y[:n, -1]
    assert q[[0, 2]] - [-np.pi / 2, 0] == pytest.approx([0.02800680, -0.06672539], abs=1e-8)
    # the amplitudes' phase is 8e-6 of a vibration from the printed -8.8683e-6, -2.90860e-5
    assert q[[1, 3]] == pytest.approx([-8.86837e-6, -2.908623e-5], abs=6e-11)


def test_a_driven_link_bends_and_turns_as_the_exact_inextensible_beam() -> None:
    run = swing("driven-link", [0.25, 0.5, 0.75, 1.0])
    tip = tip_deflection(run.model, run.model.links[0], run.q)[:, 1]
    assert run.q[4, 0] == pytest.approx(1.156089, abs=2e-6)
    assert tip[2] == pytest.approx(-0.040752, abs=3e-6)
    assert run.energy[4].sum() == pytest.approx(0.10354, abs=2e-5)


def test_a_driven_link_without_stiffening_differs_as_derived() -> None:
    run = swing("driven-link", [0.25, 0.5], stiffening=False)
    tip = tip_deflection(run.model, run.model.links[0], run.q)[2, 1]
    assert run.q[2, 0] == pytest.approx(0.606926, abs=2e-6)
    assert tip == pytest.approx(-0.047550, abs=5e-6)


def test_the_energy_balance_closes_with_inputs_losses_and_prescribed_motion() -> None:
    run = flexarm.simulate(loads(LOSSY), t_end=1.0, dt=0.1, method="dop853", rtol=RTOL)
    assert np.ptp(run.work) > 1.0
    assert run.energy_balance < 1e-8


def momentum(run: Run, k: int) -> Array:
    """Find linear and angular momentum about the world's origin at a sample."""
    equation = formulation("composite", run.model).with_reference(run.reference_attitudes[k])
    q = run.q[k]
    p = equation.mass_matrix(q) @ run.v[k]
    # world axes that the base's three angles turn about: x, then y, then z of the turned frame
    cx, sx, cy, sy = np.cos(q[3]), np.sin(q[3]), np.cos(q[4]), np.sin(q[4])
    axes = run.reference_attitudes[k] @ np.array([[1, 0, sy], [0, cx, -sx * cy], [0, sx, cx * cy]])
    about_base = np.linalg.solve(axes.T, p[3:6])
    centre = run.model.base_pose.position + q[:3]
    return np.concatenate([p[:3], about_base + np.cross(centre, p[:3])])


def test_a_tumbling_free_base_keeps_momentum_and_energy_through_its_angles_singularity() -> None:
    arm = loads(TUMBLING)
    run = flexarm.simulate(arm, t_end=6.0, dt=0.5, method="dop853", rtol=RTOL)
    turns = len({reference_attitude.tobytes() for reference_attitude in run.reference_attitudes})
    assert turns > 5  # the angles were measured anew several times: 15 rad of tumbling
    start = momentum(run, 0)
    for k in range(len(run.t)):
        assert momentum(run, k) == pytest.approx(start, rel=1e-9, abs=1e-8)
    assert run.energy_balance < 1e-9


def test_paper_and_exact_equations_of_one_model_are_not_mixed_up() -> None:
    model = flexarm.build(flexarm.example_arm("count-3-2-2"), stiffening=False)
    times = np.linspace(0.0, 0.1, 3)
    ends = []
    for paper in (True, False):
        equation = flexarm.formulation("kinematic-influence", model, paper=paper)
        task = prepare(model, times, equation=equation)
        ends.append(solve(new_state(task, METHODS["dop853"], 1e-6)).states[-1])
    assert not np.array_equal(ends[0], ends[1])


@pytest.mark.few(1)
@pytest.mark.parametrize("method", ["etd4", "rodas4"])
def test_an_arm_with_other_numbers_is_not_compiled_again(
    method: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    names: list[str] = []

    def noted(stream: Stream, **how: Any) -> Code:
        names.append(stream.name)
        return emit_llvm(stream, **how)

    def swung(folder: str, **numbers: float) -> Run:
        monkeypatch.setenv(VARIABLE, str(tmp_path / folder))
        monkeypatch.setattr(functions, "_LOADED", WeakValueDictionary())
        monkeypatch.setattr(shared, "_STRUCTURES", WeakValueDictionary())
        arm = flexarm.change_arm(flexarm.example_arm("driven-link-payload"), numbers)
        return flexarm.simulate(arm, t_end=0.02, method=method)

    monkeypatch.setattr(functions, "emit_llvm", noted)
    other = {"payload.mass": 0.4, "links.1.length": 1.1, "links.1.section.mass_per_length": 0.7}
    light = swung("one", **dict(zip(other, (0.25, 0.9, 0.8), strict=True)))
    first = names.copy()
    heavy = swung("one", **other)
    assert {"motion", "matrices", "observation"} <= set(first)
    assert names == first
    assert abs(heavy.q[-1] - light.q[-1]).max() > 1e-6
    alone = swung("two", **other)  # whatever the cache holds, the run is the same
    assert names == [*first, *first]
    np.testing.assert_array_equal(heavy.q, alone.q)
    np.testing.assert_array_equal(heavy.v, alone.v)
