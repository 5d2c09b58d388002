"""Every formulation simulates: the registry binds the cases."""

import json
from pathlib import Path
from typing import Any

import h5py  # type: ignore[import-untyped]
import numpy as np
import pytest

import flexarm
from flexarm.cli import main
from flexarm.errors import SimulationError
from flexarm.formulations import DEFAULT, FORMULATIONS
from flexarm.io.model_file import loads
from flexarm.model import build
from flexarm.runs.run import Run
from tests.physics.test_conservation import TUMBLER

CLOSE: dict[str, Any] = {"t_end": 0.2, "dt": 0.05, "method": "dop853", "rtol": 1e-8}
SAME = 1e-6  # of the largest coordinate, at that tolerance
ARM = "korayem-two-link"
ELEMENTS = "tg-rr-elements"  # for what refuses the first


def apart(one: Run, other: Run) -> float:
    """Largest difference of coordinates over their ranges, those at rest aside."""
    size = np.ptp(other.q, axis=0)
    moves = size > 1e-9
    return float((np.abs(one.q - other.q)[:, moves] / size[moves]).max())


@pytest.mark.few(4)
@pytest.mark.parametrize("name", FORMULATIONS)
def test_every_formulation_simulates_the_same_motion(name: str) -> None:
    refused = FORMULATIONS[name].refusal(build(flexarm.example_arm(ARM)), paper=False)
    given = flexarm.change_arm(
        flexarm.example_arm(ELEMENTS if refused else ARM), {"gravity": [0, -9.81, 0]}
    )
    run = flexarm.simulate(given, formulation=name, **CLOSE)
    assert (run.status, run.formulation, run.paper) == ("finished", name, False)
    assert apart(run, flexarm.simulate(given, **CLOSE)) < SAME
    assert run.energy_balance < 1e-6


@pytest.mark.parametrize("name", FORMULATIONS)
def test_papers_approximations_simulate_and_differ_or_are_refused_in_words(name: str) -> None:
    given = flexarm.example_arm(ARM)
    reason = FORMULATIONS[name].refusal(build(given), paper=True)
    if reason is not None:
        with pytest.raises(SimulationError) as told:
            flexarm.simulate(given, formulation=name, paper=True, **CLOSE)
        assert str(told.value) == f"formulation '{name}' cannot be used for this arm: {reason}"
        return
    run = flexarm.simulate(given, formulation=name, paper=True, **CLOSE)
    assert (run.status, run.formulation, run.paper) == ("finished", name, True)
    exact = flexarm.simulate(given, **CLOSE)
    joints = [given_name.startswith("joint") for given_name in run.model.names]
    assert np.abs(run.q - exact.q)[:, joints].max() < 1e-3 * np.ptp(exact.q[:, joints])


def test_tips_may_turn_by_the_first_order() -> None:
    given = flexarm.example_arm(ARM)
    with pytest.raises(
        SimulationError,
        match="'articulated' cannot be used for this arm: outboard bodies are not rigid",
    ):
        flexarm.simulate(given, tip_rotation="first-order", t_end=0.1)
    one, other = (
        flexarm.simulate(given, formulation=name, tip_rotation="first-order", **CLOSE)
        for name in ("lagrange", "recursive-lagrange")
    )
    assert one.model.tip_rotation == "first-order"
    assert apart(one, other) < SAME
    assert apart(one, flexarm.simulate(given, **CLOSE)) > 1e-7


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"formulation": "newton"}, "formulation: must be one of articulated, composite"),
        ({"formulation": ["composite"]}, "formulation: must be one of"),
        ({"paper": "yes"}, "paper: must be True or False, got 'yes'"),
    ],
)
def test_what_is_no_formulation_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(SimulationError, match=message):
        flexarm.simulate(flexarm.example_arm(ARM), t_end=0.1, **options)


def test_many_runs_are_by_the_formulation_too() -> None:
    masses = [{"links.1.length": 1.1, "links.2.section.mass_per_length": mass} for mass in (5, 6)]
    given = flexarm.example_arm(ARM)
    how: dict[str, Any] = {"formulation": "gibbs-appell", "paper": True, **CLOSE}
    one, other = flexarm.simulate_many(given, parameters=masses, **how)
    assert (one.formulation, one.paper) == ("gibbs-appell", True)
    assert apart(other, flexarm.simulate(flexarm.change_arm(given, masses[1]), **how)) < SAME
    assert apart(one, other) > 1e-3
    with pytest.raises(
        SimulationError, match=r"run 1 of 2: formulation 'composite' cannot be used"
    ):
        flexarm.simulate_many(given, t_end=0.1, parameters=masses, formulation="composite",
                              paper=True)  # fmt: skip


def test_a_locked_joint_is_held_by_any_formulation() -> None:
    given = flexarm.example_arm(ARM)
    locks = {"joint2": [(0.05, 0.1)]}
    one, other = (
        flexarm.simulate(given, locks=locks, formulation=name, **CLOSE)
        for name in ("kinematic-influence", DEFAULT)
    )
    assert apart(one, other) < SAME
    printed = flexarm.simulate(given, locks=locks, formulation="kinematic-influence", paper=True,
                               **CLOSE)  # fmt: skip
    assert printed.status == "finished"
    assert 1e-7 < apart(printed, other) < 0.1


@pytest.mark.campaign
def test_a_file_keeps_by_which_equations_a_run_was_computed(tmp_path: Path) -> None:
    given = flexarm.change_arm(flexarm.example_arm(ARM), {"stiffening": True})
    ways: list[dict[str, Any]] = [
        {"formulation": "gibbs-appell", "paper": True},
        {"formulation": "lagrange", "tip_rotation": "first-order"},
        {"formulation": "recursive-lagrange", "paper": True},
        {},
    ]
    for k, how in enumerate(ways):
        run = flexarm.simulate(given, t_end=0.05, dt=0.01, **how)
        run.save(tmp_path / f"{k}.nc")
        back = flexarm.load_run(tmp_path / f"{k}.nc")
        assert (back.formulation, back.paper) == (run.formulation, run.paper)
        assert back.model.tip_rotation == run.model.tip_rotation
        assert back.model.stiffening == run.model.stiffening == (not run.paper)
        assert np.array_equal(back.energy, run.energy)
        assert back.dataset.attrs["formulation"] == run.formulation


def test_a_file_must_state_a_formulation_that_there_is(tmp_path: Path) -> None:
    path = tmp_path / "run.nc"
    flexarm.simulate(flexarm.example_arm(ARM), t_end=0.05, dt=0.01).save(path)
    with h5py.File(path, "a") as file:
        file.attrs["formulation"] = "newton"
    with pytest.raises(flexarm.FlexarmError, match="'formulation' must be one of articulated"):
        flexarm.load_run(path)


def test_the_command_line_takes_a_formulation(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["simulate", ARM, "--t-end", "0.05", "--json"]
    assert main([*command, "--formulation", "gibbs-appell", "--paper"]) == 0
    document = json.loads(capsys.readouterr().out)
    told = (document["formulation"], document["paper"], document["tip_rotation"])
    assert told == ("gibbs-appell", True, "cayley")
    assert main([*command, "--formulation", "lagrange", "--tip-rotation", "first-order"]) == 0
    assert json.loads(capsys.readouterr().out)["tip_rotation"] == "first-order"
    assert main([*command, "--paper"]) == 4
    assert (
        "formulation 'articulated' cannot be used for this arm: no paper" in capsys.readouterr().err
    )
    assert main([*command, "--formulation", "newton"]) == 2


def test_a_tumbling_run_keeps_both_momenta() -> None:
    run = flexarm.simulate(loads(TUMBLER), t_end=2.5, dt=0.05, method="dop853", rtol=1e-9)
    assert (
        len({reference_attitude.tobytes() for reference_attitude in run.reference_attitudes}) > 10
    )
    found = run.momenta()
    for name in ("linear_momentum", "angular_momentum", "angular_momentum_about_centre"):
        values = found[name].values
        assert np.abs(values - values[0]).max() < 1e-7 * np.abs(values).max(), name
    centre, mass = found["centre_of_mass"].values, 4 + 0.6 * 0.8 + 0.3
    flown = np.outer(run.t, found["linear_momentum"].values[0] / mass)
    assert centre - centre[0] == pytest.approx(flown, abs=1e-7)
    assert found["angular_momentum"].attrs["units"] == "kg m^2/s"


def test_the_tip_of_a_run_moves_as_it_says() -> None:
    run = flexarm.simulate(flexarm.example_arm(ARM), t_end=0.1, dt=1e-4, method="dop853", rtol=1e-9)
    found, inside = run.tip_motion(), slice(1, -1)
    speed = (run.tip[2:] - run.tip[:-2]) / 2e-4
    velocity = found["velocity"].values
    assert speed == pytest.approx(velocity[inside], abs=1e-5 * np.abs(velocity).max())
    change = (velocity[2:] - velocity[:-2]) / 2e-4
    acceleration = found["acceleration"].values
    assert change == pytest.approx(acceleration[inside], abs=1e-3 * np.abs(acceleration).max())
    frames = run.link_frames()
    assert frames["tip_position"].values[:, -1] == pytest.approx(run.tip, abs=1e-12)
    assert frames["root_rotation"].dims == ("time", "link", "axis", "link_axis")
