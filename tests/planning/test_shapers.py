"""Input shapers against their published formulas and residual-vibration curves."""

from dataclasses import replace

import numpy as np
import pytest

import flexarm
from flexarm.io.model_file import loads
from flexarm.linear.tangent import Tangent
from flexarm.model import build
from flexarm.planning import Shaper, shaper, shaper_of_modes
from flexarm.planning.shape_inputs import KINDS, ShaperKind, impulses
from flexarm.planning.vibrations import Vibrations, line_up, vibrations

W, Z = 7.0, 0.08


def insensitivity(made: Shaper, frequency: float, damping: float = 0.0) -> float:
    """Relative width of the band with at most 5 % residual vibration, from half to 1.5 times W.

    Inside the band 3 % more is accepted, as a damped mode with an EI shaper has.
    """
    shares = np.linspace(0.5, 1.5, 8001)
    left = made.residual(shares * frequency, damping)
    above = np.flatnonzero(left > 0.05 * 1.03)
    low = above[above < 4000].max(initial=-1) + 1
    high = above[above >= 4000].min(initial=8001)
    good = shares[low:high][left[low:high] <= 0.05]
    inside = len(good) and good[0] <= 1 <= good[-1]
    return float(good[-1] - good[0]) if inside else 0.0


def test_published_impulses() -> None:
    decay = np.exp(-np.pi * Z / np.sqrt(1 - Z**2))
    half = np.pi / (W * np.sqrt(1 - Z**2))
    for order, kind in enumerate(("zv", "zvd", "zvdd"), 1):
        made = shaper(kind, W, Z)  # type: ignore[arg-type]
        wanted = {
            1: [1, decay],
            2: [1, 2 * decay, decay**2],
            3: [1, 3 * decay, 3 * decay**2, decay**3],
        }[order]
        assert made.amplitudes == pytest.approx(np.array(wanted) / (1 + decay) ** order, rel=1e-12)
        assert made.times == pytest.approx(half * np.arange(order + 1), rel=1e-12)


@pytest.mark.parametrize("share", [0.7, 0.9, 1.0, 1.2, 1.4])
def test_residual_vibration_of_undamped_shapers(share: float) -> None:
    cosine = abs(np.cos(np.pi / 2 * share))
    for order, kind in enumerate(("zv", "zvd", "zvdd"), 1):
        left = shaper(kind, W).residual(share * W)  # type: ignore[arg-type]
        assert left == pytest.approx(cosine**order, abs=1e-14)
    hump = abs((1 + 0.05) / 2 * np.cos(np.pi * share) + (1 - 0.05) / 2)
    assert shaper("ei", W).residual(share * W) == pytest.approx(hump, abs=1e-14)


def test_widths_as_singhose_has_them() -> None:
    widths = {"zv": 0.06, "zvd": 0.28, "ei": 0.40, "zvdd": 0.48}
    for kind, width in widths.items():
        found = insensitivity(shaper(kind, W), W)  # type: ignore[arg-type]
        assert found == pytest.approx(width, abs=0.01)


@pytest.mark.parametrize("z", [0.02, 0.1, 0.25])
def test_width_of_a_damped_ei_shaper_is_from_where_it_falls_to_where_it_rises(z: float) -> None:
    made = shaper("ei", W, z)
    shares = np.linspace(0.5, 1.5, 4001)
    crossed = shares[np.flatnonzero(np.diff(made.residual(shares * W, z) > 0.0515))]
    low, high = crossed[crossed < 1].max(), crossed[crossed > 1].min(initial=1.5)
    assert high - low > 0.4
    assert insensitivity(made, W, z) == pytest.approx(high - low, abs=0.01)


@pytest.mark.parametrize("z", [0.02, 0.1, 0.25])
def test_ei_has_its_hump_between_two_zeros(z: float) -> None:
    made = shaper("ei", W, z, vibration=0.05)
    shares = np.linspace(0.7, 1.3, 6001)
    left = made.residual(shares * W, z)
    assert made.residual(W, z) == pytest.approx(0.05, abs=1e-10)
    inside = slice(int(np.argmin(left[:3000])), 3000 + int(np.argmin(left[3000:])))
    assert left[:3000].min() < 1e-3
    assert left[3000:].min() < 1e-3
    assert left[inside].max() < 0.0515
    assert made.amplitudes.sum() == pytest.approx(1, abs=1e-14)


def test_several_modes_are_all_taken_out() -> None:
    modes = [(7.0, 0.0), (19.0, 0.02), (21.0, 0.1)]
    made = shaper_of_modes("zvd", modes)
    assert isinstance(made, Shaper)
    assert len(made.times) == 27
    for w, z in modes:
        assert made.residual(w, z) < 1e-13


def move(kind: str, start: float, end: float, duration: float) -> dict[str, object]:
    return {"kind": kind, "start": start, "end": end, "duration": duration}


@pytest.fixture(scope="module")
def elbow() -> flexarm.Arm:
    """Prescribe the motion of an arm whose first frequency changes by a tenth on the way."""
    arm = flexarm.example_arm("deluca-siciliano")
    hub = {"outboard": {"mass": 1, "inertia": [0, 0, 0.1]}}
    return flexarm.change_arm(arm, {
        "links.1.joint.actuation": "prescribed",
        "links.1.joint.motion": move("cycloid", 0.0, 0.4, 3.0),
        "links.2.joint": {"kind": "revolute", "hub": hub, "actuation": "prescribed",
                          "motion": move("cycloid", 1.57, 2.8, 3.0)},
    })  # fmt: skip


def test_shaped_motion_of_an_arm_rings_less_and_least_if_shapers_follow(elbow: flexarm.Arm) -> None:
    still = flexarm.shape_inputs(elbow, kind="zv", modes=2)
    followed = flexarm.shape_inputs(elbow, kind="zv", modes=2, follow_posture=True)
    unshaped, left = still.residuals
    assert left < 0.15 * unshaped
    assert followed.residuals[1] < 0.5 * left
    assert len(followed.shapers) == 9
    assert "motions shaped by ZV * ZV" in repr(still)


@pytest.fixture(scope="module")
def served() -> flexarm.Arm:
    return flexarm.change_arm(
        flexarm.example_arm("driven-link"),
        {"links.1.joint.servo": {"stiffness": 5, "damping": 0.4,
                                 "target": {"kind": "step", "value": 0.01}},
         "links.1.joint.input": {"kind": "constant", "value": 0},
         "links.1.shapes": {"kind": "loaded", "root": "free", "bending_y": 1}},
    )  # fmt: skip


def test_step_of_a_servo_becomes_a_staircase_and_the_mode_under_it_is_gone(
    served: flexarm.Arm,
) -> None:
    found = flexarm.shape_inputs(served, kind="zv", modes=2)
    servo = found.arm.links[0].joint.servo  # type: ignore[union-attr]
    assert servo.target.interpolation == "hold"  # type: ignore[union-attr]
    assert servo.target.values[-1] == pytest.approx(0.01, rel=1e-12)  # type: ignore[union-attr]
    unshaped, left = found.residuals
    assert left < 2e-3 * unshaped


def test_shaping_that_does_not_pay_is_refused_or_warned_of(served: flexarm.Arm) -> None:
    found = flexarm.shape_inputs(served, kind="zv")
    (_, z), *_ = found.vibrations[0].first(1)
    alone = float(np.exp(-2 * np.pi * z / np.sqrt(1 - z**2)))  # after a period
    flexarm.shape_inputs(served, kind="ei", vibration=0.45 * alone)
    with pytest.raises(flexarm.FlexarmError, match=f"damping alone leaves {100 * alone:.3g} %"):
        flexarm.shape_inputs(served, kind="ei", vibration=0.55 * alone)
    swapped = replace(found, arm=found.unshaped, unshaped=found.arm)
    with pytest.warns(
        UserWarning, match="unshaped by .* m: most of it is .* for which it is shaped"
    ):
        assert swapped.residuals[1] > swapped.residuals[0]


SOFT_SIDEWAYS = """
flexarm: 1
name: a blade on a servo
gravity: [0, 0, 0]
stiffening: false
links:
  - joint:
      kind: revolute
      hub: {outboard: {inertia: [0, 0, 0.1]}}
      servo: {stiffness: 60, damping: 0.3, target: {kind: step, value: 1.0e-3}}
    length: 1
    section: {mass_per_length: 0.5, EIz: 100, EIy: 5}
    shapes: {kind: loaded, bending_y: 2, bending_z: 1}
    damping: 0.005
payload: {mass: 0.3}
"""


@pytest.fixture(scope="module")
def blade() -> flexarm.planning.ShapedInputs:
    return flexarm.shape_inputs(loads(SOFT_SIDEWAYS), kind="zv")


def test_what_the_motion_does_not_excite_is_not_shaped_for(
    blade: flexarm.planning.ShapedInputs,
) -> None:
    found = blade.vibrations[0]
    assert found.names[0] == "link 1 bending z 1"  # the slowest, across the motion
    assert found.swing[0] < 1e-9 * found.swing[1]
    assert blade.shapers[0].residual(*found.first(1)[0]) < 1e-12
    assert blade.shapers[0].residual(found.frequency[0]) > 0.1
    assert f"for {found.names[1]} ({found.frequency[1] / (2 * np.pi):.5g} Hz)" in repr(blade)
    rows = {row[0]: row for row in blade._summary().rows}
    across, along = (rows[name] for name in found.names[:2])
    assert [across[3], along[5]] == ["0", "0"]  # what is rounding is printed as nothing
    assert float(across[5]) > 10
    every = len(found.frequency)
    assert every > len(found.excited)
    more = flexarm.shape_inputs(blade.unshaped, kind="zv", modes=every)
    assert more.shapers[0].residual(found.frequency, found.damping).max() < 1e-12
    with pytest.raises(flexarm.FlexarmError, match=f"at most {every}, the number of vibrations"):
        flexarm.shape_inputs(blade.unshaped, modes=every + 1)


def test_swing_of_each_vibration_after_a_step_is_what_the_simulation_has(
    blade: flexarm.planning.ShapedInputs,
) -> None:
    """From the begin on, half the range of a vibration is less by half a period's decay."""
    stepped = replace(blade, arm=blade.unshaped, end=0.0)
    found = blade.vibrations[0]
    seen = found.excited[found.frequency[found.excited] < 100]  # samples are too far apart for more
    assert len(seen) == 2
    for k in seen:
        z = found.damping[k]
        half = (1 + np.exp(-np.pi * z / np.sqrt(1 - z**2))) / 2
        assert stepped.left[found.names[k]] == pytest.approx(half * found.swing[k], rel=0.02)


def test_swing_after_a_prescribed_jump_is_what_the_simulation_has(
    blade: flexarm.planning.ShapedInputs,
) -> None:
    """A cycloid of 2 ms leaves 1 % less of 38 Hz, of which 11 samples per period miss up to 4 %."""
    joint = {
        "kind": "revolute",
        "actuation": "prescribed",
        "motion": move("cycloid", 0, 1e-3, 2e-3),
    }
    told = flexarm.shape_inputs(flexarm.change_arm(blade.unshaped, {"links.1.joint": joint}))
    found, left = told.vibrations[0], replace(told, arm=told.unshaped, end=2e-3).left
    slow, fast = (left[found.names[k]] / found.swing[k] for k in found.excited)
    assert slow == pytest.approx(
        (1 + np.exp(-0.005 * np.pi)) / 2, abs=2e-3
    )  # half a period's decay
    assert 0.95 < fast < 1


def test_lag_of_a_servo_is_told_from_a_mode_that_is_not_shaped_for(
    blade: flexarm.planning.ShapedInputs,
) -> None:
    slow = {"links.1.joint.servo.stiffness": 20, "links.1.joint.servo.damping": 20}
    lagging = flexarm.shape_inputs(flexarm.change_arm(blade.unshaped, slow), kind="zv")
    lags = lagging.vibrations[0].lags
    name = min(lags, key=lambda each: abs(lags[each]))
    assert -1 / lags[name].real == pytest.approx(1, abs=0.1)  # damping over stiffness [s]
    assert lagging.left[name] > 0.9 * lagging.runs[1].settling(lagging.end).swing
    with pytest.warns(
        UserWarning, match=f"is {name}, which comes to rest .* constant of [0-9.]+ s"
    ):
        before, after = lagging.residuals
    assert after > before
    assert "modes=" not in lagging.cause
    assert "modes=2 (--modes 2)" in blade.cause


def test_table_that_ends_where_it_rises_is_held_there(served: flexarm.Arm) -> None:
    table = {"kind": "table", "times": [0, 0.1, 0.3], "values": [0, 0.004, 0.01]}
    rising = flexarm.change_arm(served, {"links.1.joint.servo.target": table})
    before, after = flexarm.shape_inputs(rising, kind="zv").residuals
    assert after < 0.05 * before


ROLLING = """
flexarm: 1
name: a blade that is rolled by a right angle while it is swung
gravity: [0, 0, 0]
stiffening: false
links:
  - joint:
      kind: revolute
      hub: {outboard: {inertia: [0.05, 0.05, 0.1]}}
      servo:
        stiffness: 2000
        damping: 40
        target: {kind: cycloid, start: 0, end: 0.5, duration: 1}
    length: 0.2
    body: {mass: 0.5, com: [0.1, 0, 0], inertia: [0.001, 0.002, 0.002]}
  - joint:
      kind: revolute
      axis: [1, 0, 0]
      hub: {outboard: {inertia: [0.02, 0.02, 0.02]}}
      servo:
        stiffness: 500
        damping: 10
        target: {kind: cycloid, start: 0, end: 90 deg, duration: 1}
    length: 1
    section: {mass_per_length: 0.5, EIz: 5, EIy: 100, GJ: 50, Jx: 1.0e-4}
    shapes: {kind: loaded, bending_y: 1, bending_z: 1, torsion: 0}
    damping: 0.005
payload: {mass: 0.3}
"""
SOFT = "link 2 bending y 1"  # excited where the motion starts, not where it ends


@pytest.fixture(scope="module")
def rolled() -> flexarm.planning.ShapedInputs:
    return flexarm.shape_inputs(loads(ROLLING), kind="zv")


def test_vibration_that_is_excited_only_on_the_way_is_shaped_for(
    rolled: flexarm.planning.ShapedInputs,
) -> None:
    found, model = rolled.vibrations[0], build(rolled.unshaped)
    end = vibrations(Tangent(model), {"joint1": 0.5, "joint2": np.pi / 2}, {"joint1": 0.5})
    assert end.swing[end.names.index(SOFT)] < 1e-3 * end.swing.max()
    assert found.names[found.order[0]] == SOFT
    assert len(found.excited) == 2
    unshaped, left = rolled.residuals
    assert left < 0.45 * unshaped
    assert f"{SOFT} ({found.frequency[0] / (2 * np.pi):.4g} Hz), for which it is" in rolled.cause
    assert flexarm.shape_inputs(rolled.unshaped, kind="zv", modes=2).modes == 2


@pytest.mark.parametrize("modes", [1, 2])
def test_shapers_follow_the_same_vibrations_all_along_the_motion(
    rolled: flexarm.planning.ShapedInputs, modes: int
) -> None:
    followed = flexarm.shape_inputs(rolled.unshaped, kind="zv", modes=modes, follow_posture=True)
    assert {each.names for each in followed.vibrations} == {rolled.vibrations[0].names}
    kept = followed.vibrations[-1].order[:modes]
    for each, shaper_there in zip(followed.vibrations, followed.shapers, strict=True):
        assert shaper_there.residual(each.frequency[kept], each.damping[kept]).max() < 1e-12
    rates = np.array([each.frequency for each in followed.vibrations])
    assert (rates.max(0) / rates.min(0)).max() < 2  # the two are apart by a factor of 4


def test_vibrations_are_lined_up_by_their_shapes_and_one_that_is_missing_stays() -> None:
    def made(*each: tuple[float, float, list[complex]]) -> Vibrations:
        rate, swing, shapes = zip(*each, strict=True)
        names = tuple(f"at {x:g}" for x in rate)
        zeros, turned = np.zeros(len(rate)), np.array(shapes, dtype=complex).T
        return Vibrations(np.array(rate), zeros, names, np.array(swing), {}, turned)

    slow, fast = [0.8 + 0j, 0.6], [-0.6 + 0j, 0.8]
    postures = [
        made((3.0, 0.4, fast)), made((4.0, 0.1, fast), (5.0, 0.5, slow)),
        made((1.0, 0.2, [1, 0]), (2.0, 0.3, [0, 1])),
    ]  # fmt: skip
    lined = line_up(postures)
    assert [each.frequency.tolist() for each in lined] == [[5, 3], [5, 4], [1, 2]]
    assert all(each.swing.tolist() == [0.5, 0.4] for each in lined)
    assert all(each.names == ("at 1", "at 2") for each in lined)


@pytest.mark.parametrize("kind", KINDS)
def test_impulses_of_two_modes_stay_the_same_where_they_meet(kind: ShaperKind) -> None:
    before, there, after = (impulses(kind, [(W, 0.02), (x * W, 0.01)]) for x in (1.999, 2, 2.001))
    assert np.abs(before.amplitudes - after.amplitudes).max() < 1e-12
    assert np.abs((before.times + after.times) / 2 - there.times).max() < 1e-5
    assert there.residual([W, 2 * W], [0.02, 0.01]) == pytest.approx(
        shaper_of_modes(kind, [(W, 0.02), (2 * W, 0.01)]).residual([W, 2 * W], [0.02, 0.01]),
        abs=1e-12,
    )


def test_what_is_in_use_already_is_not_advised(
    rolled: flexarm.planning.ShapedInputs,
) -> None:
    assert rolled.cause.endswith("try 'zvdd', or follow_posture (--follow-posture)")
    several = rolled.shapers * 2
    assert replace(rolled, kind="zvdd").cause.endswith("try follow_posture (--follow-posture)")
    assert replace(rolled, shapers=several).cause.endswith("try 'zvdd'")
    assert replace(rolled, shapers=several, kind="zvdd").cause.endswith("try a slower motion")


def test_joint_that_no_servo_holds_is_named(blade: flexarm.planning.ShapedInputs) -> None:
    arm = blade.unshaped.model_dump(exclude_unset=True, mode="json")
    free = {
        "joint": {"kind": "revolute", "actuation": "free"}, "length": 0.3,
        "body": {"mass": 0.2, "com": [0.15, 0, 0], "inertia": [0, 0.001, 0.001]},
    }  # fmt: skip
    dangling = flexarm.Arm.model_validate(arm | {"links": [*arm["links"], free]})
    cause = flexarm.shape_inputs(dangling).cause
    assert "beyond the linear model, which holds joint2 for want of a servo: give it one" in cause
