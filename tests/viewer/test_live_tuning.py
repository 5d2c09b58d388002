"""Numbers of live arms that nobody gives: servos let nothing grow, steps are short enough."""

import itertools
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from scipy.linalg import eigh

import flexarm
from flexarm.viewer.constants import LEAST_STIFFNESS, MOST_DAMPING
from flexarm.viewer.live.module import hold_jacobians, prepare_live
from flexarm.viewer.live.page import live_page
from tests.engine.in_node import run_in_node
from tests.viewer.test_page import document


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["korayem-two-link", "count-6-6-3"])
def test_servos_of_a_page_let_nothing_grow(name: str) -> None:
    """Their integral parts too: by the roots of the arm that they hold."""
    live = prepare_live(flexarm.build(flexarm.example_arm(name)), all_shapes=False)
    arm, task, tuned = live.arm, live.task, live.tuned
    found = task.equation.compiled("matrices").call(task.start.q, task.start.v)
    M, K, D = (matrix.reshape(arm.model.size, -1) for matrix in found)
    n, rows = arm.model.size, arm.rows
    firm, lossy = (rows.T @ (tuned.servo[:, k : k + 1] * rows) for k in (1, 2))
    top = np.hstack([np.zeros((n, n)), np.eye(n), np.zeros((n, len(rows)))])
    middle = np.linalg.solve(M, np.hstack([-K - firm, -D - lossy, rows.T]))
    below = np.hstack([-tuned.integral[:, None] * rows, np.zeros((len(rows), n + len(rows)))])
    assert np.all(tuned.integral > 0)
    assert np.linalg.eigvals(np.vstack([top, middle, below])).real.max() < -1e-3


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["korayem-two-link", "count-6-6-3", "chen-two-link"])
def test_steps_are_as_long_as_the_fastest_mode_allows(name: str) -> None:
    """With servos or without, in every setting, pulled anywhere: and hardly shorter.

    Of arms with few shapes as long as follows the slowest vibration.
    """
    live = prepare_live(flexarm.build(flexarm.example_arm(name)), all_shapes=False)
    arm, task, tuned = live.arm, live.task, live.tuned
    found = task.equation.compiled("matrices").call(task.start.q, task.start.v)
    M, K, D = (matrix.reshape(arm.model.size, -1) for matrix in found)
    firm, drag = tuned.grip
    pulls = [J.T @ J for J in hold_jacobians(arm, task)[:: len(arm.holds) // 4]]
    servos = [arm.rows.T @ (tuned.servo[:, k : k + 1] * arm.rows) for k in (1, 2)]
    for stiffness, damping, held in itertools.product(
        (LEAST_STIFFNESS, 1.0, 5.0), (0.0, MOST_DAMPING), (0, 1)
    ):
        soft = tuned.laden.soft_decay if stiffness < 1 else tuned.laden.decay
        allowed = max(np.sqrt(tuned.laden.square * max(stiffness, 1.0)), soft)
        for pull in [np.zeros_like(M), *pulls]:
            stiff = stiffness * K + held * servos[0] + firm * pull
            lossy = D + damping * arm.critical + held * servos[1] + drag * pull
            assert fastest(M, stiff, lossy) <= allowed * (1 + 1e-9)
    here = fastest(M, K + servos[0], D + servos[1])
    squares = eigh(K, M, eigvals_only=True)
    slowest = np.sqrt(squares[squares > 1e-9 * squares[-1]][0])
    assert tuned.step == pytest.approx(min(0.7 * 2.6 / here, 0.5 / slowest), rel=0.08)


LADEN = {
    "flexarm": 1, "name": "laden", "gravity": [0, 0, 0], "payload": {"mass": 5.0},
    "links": [{
        "joint": {"kind": "fixed"}, "length": 1.0,
        "section": {"mass_per_length": 0.5, "EIz": 2e5},
        "shapes": {"kind": "loaded", "bending_y": 1},
    }],
}  # fmt: skip
SIMULATION = Path(__file__).parents[2] / "viewer/src/simulation.js"
SWING = f"""
import fs from 'fs';
import {{ advance, makeSimulation, observe, setInput, stateOf }} from '{SIMULATION.as_uri()}';
const {{ simulation, kick, settings, lasts }} = JSON.parse(fs.readFileSync(0));
const energies = [];
for (const each of settings) {{
  const arm = await makeSimulation(simulation);
  setInput(arm, 'settings', each);
  stateOf(arm).set(kick, simulation.n);
  const energy = () => observe(arm).energy[0] + observe(arm).energy[1];
  const first = energy();
  energies.push([first, advance(arm, lasts) ? Infinity : energy()]);
}}
console.log(JSON.stringify({{ energies }}));
"""


def energies(
    page: dict[str, Any], kick: list[float], settings: list[list[float]], lasts: float, folder: Path
) -> list[list[float]]:
    """Kick an arm in some settings; give its energies without gravity's then and a while later."""
    given = {"simulation": page["simulation"], "kick": kick, "settings": settings, "lasts": lasts}
    found: list[list[float]] = run_in_node(SWING, given, folder)["energies"]
    return found


def test_an_arm_whose_payload_is_taken_away_swings_on(tmp_path: Path) -> None:
    """Six times as fast: steps for what it carried would let its motion grow without bound.

    Its only vibration is the slowest too, which steps follow: they do not damp it away.
    """
    live = prepare_live(flexarm.build(flexarm.Arm.model_validate(LADEN)), all_shapes=False)
    page = cast(dict[str, Any], document(live_page(live)))
    payloads, stiffnesses = (0.0, 1.0, 5.0, 15.0), (0.2, 1.0, 5.0)
    settings = [[0.0, m, k, 0.0] for m, k in itertools.product(payloads, stiffnesses)]
    for first, last in energies(page, page["modes"][0]["kick"], settings, 0.2, tmp_path):
        assert first > 0
        assert 0.6 * first < last < 1.001 * first
    assert live.tuned.unladen.square > 20 * live.tuned.laden.square


@pytest.mark.campaign
def test_of_a_payload_that_is_all_that_has_mass_a_hundredth_stays(tmp_path: Path) -> None:
    link = {"joint": {"kind": "revolute"}, "length": 1.0, "body": {"mass": 0.0}}
    whole = {"flexarm": 1, "name": "stick", "payload": {"mass": 2.0}, "links": [link]}
    live = prepare_live(flexarm.build(flexarm.Arm.model_validate(whole)), all_shapes=False)
    page = cast(dict[str, Any], document(live_page(live)))
    slider = next(each for each in page["settings"] if each["key"] == "payload")
    assert slider["low"] == pytest.approx(0.02)
    ((first, last),) = energies(page, [1.0], [[0.0, slider["low"], 1.0, 0.0]], 10.0, tmp_path)
    assert first == pytest.approx(0.01)
    assert last == pytest.approx(first)


@pytest.mark.campaign
@pytest.mark.few(1)
@pytest.mark.parametrize(("exponent", "damping"), [(1.0, 0.5), (1.0, 5.0), (1.5, 0.5)])
def test_steps_are_short_enough_for_contacts(
    exponent: float, damping: float, tmp_path: Path
) -> None:
    """A link without its payload falls on a hard floor: it never moves faster than it fell."""
    joint = {"kind": "revolute", "axis": [0, 1, 0], "actuation": "free"}
    section = {"mass_per_length": 0.5, "EIy": 100.0}
    link = {"joint": joint, "length": 1.0, "section": section,
            "shapes": {"kind": "loaded", "bending_z": 2}}  # fmt: skip
    floor = {"obstacle": {"kind": "plane", "point": [0, 0, -0.4]}, "damping": damping,
             "stiffness": 1e7, "exponent": exponent}  # fmt: skip
    whole = {"flexarm": 1, "name": "drops", "payload": {"mass": 1.0}, "links": [link],
             "contacts": [floor]}  # fmt: skip
    live = prepare_live(flexarm.build(flexarm.Arm.model_validate(whole)), all_shapes=False)
    page = cast(dict[str, Any], document(live_page(live)))
    gravity = 2 * 9.81
    for lasts in (0.5, 1.0, 2.0):
        ((_, last),) = energies(page, [0.0] * 3, [[gravity, 0.0, 1.0, 0.0]], lasts, tmp_path)
        assert last < 0.5 * gravity * 0.4 / 2


def fastest(M: np.ndarray, K: np.ndarray, D: np.ndarray) -> float:
    """Find the largest size of an eigenvalue [1/s]."""
    n = len(M)
    lower = np.linalg.solve(M, np.hstack([-K, -D]))
    upper = np.hstack([np.zeros((n, n)), np.eye(n)])
    return float(np.abs(np.linalg.eigvals(np.vstack([upper, lower]))).max())
