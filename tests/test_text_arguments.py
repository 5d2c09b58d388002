"""Numbers of arguments may be texts with units; they are the same numbers."""

import argparse

import numpy as np
import pytest

import flexarm
from flexarm.cli.console import seconds
from flexarm.control import Timing, decoupling_law, hold, joint_move, pd_law
from flexarm.control.statics import Statics
from flexarm.errors import FlexarmError, SimulationError

ARM = flexarm.example_arm("driven-link")


@pytest.fixture(scope="module")
def model() -> flexarm.model.Model:
    return flexarm.build(ARM)


def test_times_of_a_run_and_its_start() -> None:
    run = flexarm.simulate(ARM, t_end="20 ms", dt="0.01 s")
    assert run.t.tolist() == [0.0, 0.01, 0.02]
    starts = [{"joint1": "30 deg"}, {"joint1.rate": "60 rpm"}]
    first, second = flexarm.simulate_many(ARM, starts=starts, t_end="1 ms")
    assert first.q[0, 0] == pytest.approx(np.pi / 6)
    assert second.v[0, 0] == pytest.approx(2 * np.pi)


def test_places_and_gains(model: flexarm.model.Model) -> None:
    held = flexarm.equilibrium(model, at={"joint1": "90 deg"}, t="1 ms").point
    assert held.q[0] == pytest.approx(np.pi / 2)
    timing = Timing("quintic", "500 ms")  # type: ignore[arg-type]
    move = joint_move(model, {"joint1": "90 deg"}, timing)
    law = pd_law(move, kp="2 kN m/rad", kd=["30 N m s/rad"])
    same = pd_law(move, kp=2000.0, kd=30.0)
    q = np.full(model.size, 1e-3)
    assert np.array(law(0.1, q, q)) == pytest.approx(np.array(same(0.1, q, q)), rel=1e-14)


def test_another_quantity_is_refused_by_name(model: flexarm.model.Model) -> None:
    with pytest.raises(SimulationError, match=r"^dt: .*mass"):
        flexarm.simulate(ARM, t_end=1.0, dt="1 g")
    with pytest.raises(FlexarmError, match=r"^at: joint1: .*length"):
        flexarm.modes(model, at={"joint1": "1 m"})


def test_arguments_are_known_by_their_old_names_too(model: flexarm.model.Model) -> None:
    now = flexarm.equilibrium(model, at={"joint1": 0.5})
    with pytest.warns(DeprecationWarning, match="^equilibrium: 'joints' is 'at' now$") as said:
        before = flexarm.equilibrium(model, joints={"joint1": 0.5})  # type: ignore[call-arg]
    assert said[0].filename == __file__
    assert np.array_equal(before.point.q, now.point.q)
    with pytest.raises(FlexarmError, match="'joints' and 'at' are the same argument"):
        flexarm.equilibrium(model, at={}, joints={})  # type: ignore[call-arg]
    with pytest.raises(FlexarmError, match="'joints' and 'at' are the same argument"):
        Statics(model).at_joints({}, joints={})  # type: ignore[call-arg]
    with pytest.raises(FlexarmError, match="'at' and 'about' are the same argument"):
        hold(now, at=now)  # type: ignore[call-arg]
    with pytest.warns(DeprecationWarning, match="^equilibrium: 'joints' is 'at' now$"):
        before = flexarm.equilibrium(model, at={"joint1": 0.5}, joints=None)  # type: ignore[call-arg]
    assert np.array_equal(before.point.q, now.point.q)
    motion, q = hold(now), np.full(model.size, 1e-3)
    for law in (pd_law, decoupling_law):
        with pytest.warns(DeprecationWarning, match="'(stiffness|damping)' is 'k[pd]' now"):
            old = law(motion, stiffness=7.0, damping=2.0)  # type: ignore[call-arg]
        assert np.array_equal(
            np.array(old(0.1, q, q)), np.array(law(motion, kp=7, kd=2)(0.1, q, q))
        )


def test_attributes_are_known_by_their_old_names_too() -> None:
    run = flexarm.simulate(ARM, t_end="1 ms", dt="1 ms")
    names = {"works": "work_integrals", "legs": "phases", "happenings": "event_records"}
    for old, name in names.items():
        with pytest.warns(DeprecationWarning, match=f"^Run.{old} is Run.{name} now$"):
            assert getattr(run, old) is getattr(run, name)
    with pytest.raises(AttributeError, match="'Run' object has no attribute 'worked'"):
        getattr(run, "worked")  # noqa: B009


def test_times_on_the_command_line() -> None:
    assert seconds("20 ms") == 0.02
    assert seconds("3") == 3.0
    with pytest.raises(argparse.ArgumentTypeError, match=r"mass.*time \[s\] is expected"):
        seconds("1 kg")
