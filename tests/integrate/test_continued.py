"""Runs that begin where another ended."""

from pathlib import Path

import numpy as np
import pytest

import flexarm
from flexarm.cli import main
from flexarm.errors import SimulationError
from tests.integrate.mission_arms import flexible_arm, one_joint

FREE = {"kind": "free", "body": {"mass": 4.0, "inertia": [0.6, 0.7, 0.8]}, "spin": [0.5, 2.0, 1.0]}


@pytest.mark.campaign
@pytest.mark.parametrize("base", [pytest.param(None, marks=pytest.mark.campaign), FREE])
def test_two_runs_are_one(base: dict[str, object] | None) -> None:
    """On a free base too, whose angles are counted from where it was."""
    arm = flexible_arm(base=base, start={"speed": 1.0})
    whole = flexarm.simulate(arm, t_end=1.0, dt=0.1, rtol=1e-9)
    first = flexarm.simulate(arm, t_end=0.6, dt=0.1, rtol=1e-9)
    second = flexarm.simulate(arm, t_end=0.4, dt=0.1, rtol=1e-9, start=first)
    assert np.abs(second.tip - whole.tip[6:]).max() < 1e-8
    assert second.energy[0] == pytest.approx(first.energy[-1])


def test_a_run_goes_on_from_its_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arm = one_joint(start={"speed": 1.0})
    flexarm.save(arm, tmp_path / "arm.yaml")
    flexarm.simulate(arm, t_end=1.0).save(tmp_path / "run.nc")
    asked = ["simulate", str(tmp_path / "arm.yaml"), "--start", str(tmp_path / "run.nc"), "--json"]
    assert main(asked) == 0
    assert '"hinge": 2.0' in capsys.readouterr().out


def test_what_does_not_go_on_is_refused() -> None:
    run = flexarm.simulate(one_joint(), t_end=0.1)
    with pytest.raises(SimulationError, match="coordinates that differ from this arm's, hinge"):
        flexarm.simulate(flexible_arm(), t_end=0.1, start=run)
    with pytest.raises(SimulationError, match=r"start: .* a Run"):
        flexarm.simulate(one_joint(), t_end=0.1, start=3)  # type: ignore[arg-type]
    ball = {"name": "ball", "body": {"mass": 2.0}, "position": [1, 0, 0]}
    caught = flexarm.simulate(
        one_joint(bodies=[ball], events=[{"at": 0.05, "capture": "ball"}]), t_end=0.1
    )
    with pytest.raises(SimulationError, match="the tip holds bodies that are not"):
        flexarm.simulate(one_joint(), t_end=0.1, start=caught)
    assert flexarm.simulate(
        one_joint().model_copy(update={"payload": flexarm.arm.Payload(mass=2.0)}), t_end=0.1,
        start=caught,
    ).status == "finished"  # fmt: skip


@pytest.mark.parametrize("sampled", [{}, {"period": 0.05}])
def test_integrals_of_servos_go_on(sampled: dict[str, float]) -> None:
    """A motor pushes against the servo: without its integral the joint would fall back."""
    servo = {"stiffness": 40.0, "damping": 12.0, "integral_time": 0.5, **sampled,
             "target": {"kind": "constant", "value": 0.0}}  # fmt: skip
    arm = one_joint(servo=servo, input={"kind": "constant", "value": 3.0})
    whole = flexarm.simulate(arm, t_end=2.0, dt=0.05, rtol=1e-8, method="dop853")
    first = flexarm.simulate(arm, t_end=1.0, dt=0.05, rtol=1e-8, method="dop853")
    second = flexarm.simulate(arm, t_end=1.0, dt=0.05, rtol=1e-8, method="dop853", start=first)
    assert first.drives is not None
    assert abs(first.drives.states["hinge.integral"][-1]) > 1.0
    assert np.abs(second.q - whole.q[20:]).max() < 1e-6
