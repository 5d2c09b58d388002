"""How much the tip still swings after a motion, and when that is over."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flexarm
from flexarm.errors import FlexarmError
from flexarm.io.model_file import loads

SERVED = """
flexarm: 1
name: rod on a servo
gravity: [0, 0, 0]
links:
  - joint:
      kind: revolute
      servo: {stiffness: 100, damping: 2, target: {kind: step, time: 0.1, value: 0.01}}
    length: 1
    body: {inertia: [0, 0, 1]}
"""


def test_tip_swings_and_settles_as_a_damped_oscillator_does() -> None:
    """Its frequency is 10 rad/s, its damping ratio 0.1."""
    run = flexarm.simulate(loads(SERVED), t_end=8, dt=0.002, rtol=1e-8)
    found = run.settling()
    t = np.maximum(run.t - 0.1, 0.0)
    wd = 10 * np.sqrt(1 - 0.01)
    q = 0.01 * (1 - np.exp(-t) * (np.cos(wd * t) + np.sin(wd * t) / wd))
    outside = run.t[np.abs(q - q[-1]) > 0.02 * np.abs(q - q[-1]).max()]
    assert found.after == 0.1
    assert found.swing == pytest.approx(q.max() / 2, rel=1e-4)
    assert found.time == pytest.approx(outside[-1], abs=0.003)
    assert found.band == pytest.approx(2e-4, rel=1e-3)
    assert run.settling("2 s").swing == pytest.approx(np.ptp(q[run.t >= 2]) / 2, rel=1e-4)
    assert run.settling(5).time == 5
    assert run.settling(band=1e-3).time is None
    with pytest.raises(
        flexarm.FlexarmError, match="after: must be at most 8 s, the end of the run"
    ):
        run.settling(9)


def test_settling_times_are_those_of_the_distances_to_the_last_place() -> None:
    """Counted sample by sample, from the end of the run back."""
    run = flexarm.simulate(loads(SERVED), t_end=8, dt=0.002, rtol=1e-8)
    found = run.settling()
    distances = [float(np.sqrt(((p - run.tip[-1]) ** 2).sum())) for p in run.tip]
    bands = {"5 % of the swing": 0.05 * found.swing, "1 mm": 1e-3, "0.1 mm": 1e-4}
    assert list(found.times) == list(bands)
    for name, band in bands.items():
        k = len(distances)
        while distances[k - 1] <= band:
            k -= 1
        assert found.times[name] == run.t[k]
        assert f"to {name} at {run.t[k]:.4g} s" in str(found)
    short = flexarm.simulate(loads(SERVED), t_end=1, dt=0.002).settling()
    assert set(short.times.values()) == {None}
    assert str(short).endswith("not within this run to 5 % of the swing or 1 mm or 0.1 mm")


@pytest.mark.parametrize(
    ("servo", "said"),
    [
        (
            "target: {kind: sine, amplitude: 1, frequency: 1 Hz}",
            "since the motion of joint1 never ends",
        ),
        ("rate: {kind: constant, value: 1}", "since the motion of joint1 never ends"),
        ("target: {kind: constant, value: 0.1}", "no motion in the arm's file ends"),
    ],
)
def test_end_of_a_motion_that_has_none_is_asked_for(servo: str, said: str) -> None:
    arm = SERVED.replace("target: {kind: step, time: 0.1, value: 0.01}", servo)
    arm = arm.replace("stiffness: 100, ", "" if "rate" in servo else "stiffness: 100, ")
    run = flexarm.simulate(loads(arm), t_end=0.1)
    with pytest.raises(flexarm.FlexarmError, match=f"after: must be given.*{said}"):
        run.settling()
    assert run.settling(0).after == 0


TURN = {"kind": "cycloid", "start": 0, "end": 0.1, "duration": 0.2}
NO_MOTION = {"kind": "constant", "value": 0}
ENDLESS = {"kind": "sine", "amplitude": 0.01, "frequency": 1}
STAYS_ON = {"kind": "step", "time": 0.1, "value": 1}
PULSE = {"kind": "bang-bang", "amplitude": 1, "times": [0, 0.1, 0.2]}


def tie(path: object) -> dict[str, object]:
    across = [NO_MOTION, path, NO_MOTION]
    return {"at": 0.2, "attach": {"name": "rope", "stiffness": 1, "path": across}}


def commanded(target: object) -> dict[str, object]:
    return {"at": 0.2, "servo": {"joint1": {"target": target}}}


@pytest.mark.parametrize(
    ("changes", "end"),
    [
        ({"events": [commanded(TURN)]}, 0.4),
        ({"events": [commanded(ENDLESS)]}, None),
        ({"events": [commanded(ENDLESS), {"at": 0.3, "servo": {"joint1": {"target": TURN}}}]}, 0.5),
        ({"events": [tie(TURN)]}, 0.4),
        ({"events": [tie(ENDLESS)]}, None),
        ({"events": [tie(ENDLESS), {"at": 0.3, "detach": "rope"}]}, 0.3),
        ({"links.1.wrenches": [{"force": [0, 1, 0], "factor": PULSE}]}, 0.2),
        ({"links.1.wrenches": [{"force": [0, 1, 0], "factor": ENDLESS}]}, None),
        ({"links.1.wrenches": [{"force": [0, 1, 0]}]}, 0.1),
        ({"links.1.joint": {"kind": "revolute", "input": PULSE}}, 0.2),
        ({"links.1.joint": {"kind": "revolute", "input": STAYS_ON}}, None),
    ],
)
def test_motion_ends_with_all_that_drives_the_arm(
    changes: dict[str, Any], end: float | None
) -> None:
    run = flexarm.simulate(flexarm.change_arm(loads(SERVED), changes), t_end=0.7)
    if end is None:
        with pytest.raises(FlexarmError, match=r"after: must be given, since .* never ends"):
            run.settling()
    else:
        assert run.settling().after == pytest.approx(end, rel=1e-12)


def test_end_of_a_motion_by_other_inputs_is_asked_for(tmp_path: Path) -> None:
    arm = loads(SERVED)
    own = flexarm.simulate(arm, t_end=0.7)
    others = [
        flexarm.simulate(arm, t_end=0.7, inputs={"joint1": PULSE}),
        flexarm.simulate(arm, t_end=0.7, control=flexarm.Sampled(lambda t, q, v: [0.0], 0.1)),
        *flexarm.simulate_many(arm, t_end=0.7, inputs=[{"joint1": PULSE}]),
    ]
    for run in (own, others[0]):
        run.save(tmp_path / "run.nc", force=True)
        others.append(flexarm.load_run(tmp_path / "run.nc"))
    assert own.settling() == others.pop(-2).settling()
    for run in others:
        with pytest.raises(FlexarmError, match="after: give the time"):
            run.settling()
        assert run.settling(0.3).after == 0.3


@pytest.mark.parametrize("after", [0.7, 0.699])
def test_settling_is_not_judged_by_a_sample_or_two(after: float) -> None:
    run = flexarm.simulate(loads(SERVED), t_end=0.7, dt=0.01)
    with pytest.raises(FlexarmError, match=r"after: must leave 5 samples .* leaves 1\. Take"):
        run.settling(after)
    assert run.settling(0.66).after == 0.66
