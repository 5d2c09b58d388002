"""Drive trains against closed forms: motors, friction that sticks, bristles, gaps, hysteresis."""

from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.optimize import brentq, root

import flexarm
from flexarm.errors import ModelError, SimulationError
from flexarm.runs.contents import accelerations
from flexarm.runs.run import Run
from tests.integrate.mission_arms import flexible_arm, one_joint

TIGHT = (1e-3, 1e-9)
DC = {"torque_constant": 0.5, "input": "voltage", "resistance": 2.0}
ELASTIC = {"rotor_inertia": 0.5, "stiffness": 400.0}


def constant(value: float) -> dict[str, Any]:
    return {"kind": "constant", "value": value}


def lost(run: Run, name: str) -> float:
    return float(run.losses[name][-1])


@pytest.mark.parametrize("rtol", TIGHT)
@pytest.mark.parametrize("method", ["auto", "etd4", "rk4"])
def test_a_motor_with_inductance_answers_a_step_of_voltage(method: str, rtol: float) -> None:
    motor = DC | {"inductance": 0.1}
    run = flexarm.simulate(
        one_joint(drive={"motor": motor}, input=constant(10.0)), t_end=5.0, rtol=rtol, method=method
    )
    A = np.array([[0.0, 0.5], [-5.0, -20.0]])  # speed and current, 1 kg m^2
    rest = np.array([20.0, 0.0])
    wanted = np.array([rest - expm(A * t) @ rest for t in run.t])
    assert run.drives is not None
    current = run.drives.states["hinge.current"]
    assert np.abs(run.v[:, 0] - wanted[:, 0]).max() <= 20 * rtol
    assert np.abs(current - wanted[:, 1]).max() <= 5 * rtol
    heat = np.trapezoid(2.0 * wanted[:, 1] ** 2, run.t)
    assert lost(run, "hinge: winding") == pytest.approx(heat, rel=1e-3)
    assert np.allclose(run.u, 10.0)
    assert run.energy_balance <= max(10 * rtol, 1e-8)


def test_events_see_a_current() -> None:
    """Of the closed form above, 4 A on the way up."""
    arm = one_joint(
        drive={"motor": DC | {"inductance": 0.1}}, input=constant(10.0),
        events=[{"when": {"quantity": "hinge.current", "above": 4.0}, "end": True}],
    )  # fmt: skip
    run = flexarm.simulate(arm, t_end=5.0, rtol=1e-9)
    A, rest = np.array([[0.0, 0.5], [-5.0, -20.0]]), np.array([20.0, 0.0])
    wanted = brentq(lambda t: (rest - expm(A * t) @ rest)[1] - 4.0, 0.0, 0.12)
    assert run.t[-1] == pytest.approx(wanted, abs=1e-8)


@pytest.mark.parametrize("rtol", TIGHT)
def test_the_current_is_limited_until_the_motor_induces_enough(rtol: float) -> None:
    """At 2 A it gains 1 rad/s^2 until (10 - v/2)/2 < 2, at 12 rad/s; then v nears 20."""
    motor = DC | {"current_limit": 2.0}
    run = flexarm.simulate(
        one_joint(drive={"motor": motor}, input=constant(10.0)), t_end=20.0, rtol=rtol
    )
    later = 20 - 8 * np.exp(-(run.t - 12) / 8)
    wanted = np.where(run.t < 12, run.t, later)
    assert np.abs(run.v[:, 0] - wanted).max() <= 20 * rtol
    assert run.energy_balance <= max(10 * rtol, 1e-8)


@pytest.mark.parametrize("rtol", TIGHT)
def test_a_winding_with_inductance_reaches_its_limit_and_stays_there(rtol: float) -> None:
    motor = DC | {"inductance": 0.1, "current_limit": 2.0}
    drive = {"motor": motor, "rotor_inertia": 1e9}  # it stands still
    run = flexarm.simulate(one_joint(drive=drive, input=constant(10.0)), t_end=0.1, rtol=rtol)
    assert run.drives is not None
    wanted = np.minimum(5 * (1 - np.exp(-20 * run.t)), 2.0)
    assert np.abs(run.drives.states["hinge.current"] - wanted).max() <= 5 * rtol
    assert run.drives.states["hinge.current"].max() <= 2 * (1 + 1e-12)


def test_a_current_makes_torque_and_heat() -> None:
    drive = {"gear_ratio": 20.0, "motor": {"torque_constant": 0.05, "resistance": 0.4}}
    run = flexarm.simulate(one_joint(drive=drive, input=constant(3.0)), t_end=2.0, rtol=1e-9)
    assert run.v[-1, 0] == pytest.approx(6.0)
    assert lost(run, "hinge: winding") == pytest.approx(0.4 * 9 * 2)
    assert run.work_integrals[-1, 0] == pytest.approx(18.0 + 7.2)


@pytest.mark.parametrize("rtol", TIGHT)
def test_stick_and_slip_have_their_period(rtol: float) -> None:
    """A pull that grows by 0.4 N m/s on a spring of 4 N m/rad, held to 1 N m, sliding at 0.4."""
    stiffness, pace, holds, slides = 4.0, 0.1, 1.0, 0.4
    pull = {"kind": "table", "times": [0, 100], "values": [0, 100 * stiffness * pace]}
    arm = one_joint(
        spring={"stiffness": stiffness},
        friction={"kind": "dry", "coulomb": slides, "static": holds},
        input=pull,
    )
    run = flexarm.simulate(arm, t_end=13.0, rtol=rtol)
    begins = [each.t for each in run.event_records if each.what.endswith("begins to slip")]
    holding = [each.t for each in run.event_records if each.what.endswith("holds")]
    w, drop = 2.0, (holds - slides) / stiffness
    slip = 2 * (np.pi - np.arctan(drop * w / pace)) / w
    stuck = 2 * (holds - slides) / (stiffness * pace)
    assert begins[0] == pytest.approx(holds / (stiffness * pace), rel=1e-12)
    assert np.diff(begins) == pytest.approx(slip + stuck, rel=rtol)
    assert holding[0] - begins[0] == pytest.approx(slip, rel=rtol)
    way = run.q[-1, 0] - run.q[0, 0]
    assert lost(run, "hinge: link friction") == pytest.approx(slides * way, rel=10 * rtol)
    assert run.energy_balance <= max(10 * rtol, 1e-8)


def test_dry_friction_slides_by_stribecks_law() -> None:
    """A joint that coasts loses its energy to the friction along its way."""
    law = {"kind": "dry", "coulomb": 0.4, "static": 1.0, "stribeck_speed": 0.3, "viscous": 0.2}
    run = flexarm.simulate(
        one_joint(friction=law, start={"speed": 1.0}), t_end=2.0, dt=0.002, rtol=1e-9
    )
    v = run.v[:, 0]
    moving = v > 0
    effort = 0.4 + 0.6 * np.exp(-((v / 0.3) ** 2)) + 0.2 * v
    slowed = -np.gradient(v, run.t)
    inner = np.flatnonzero(moving)[2:-2]
    assert np.abs(slowed - effort)[inner].max() <= 1e-4
    assert v[-1] == 0.0
    assert lost(run, "hinge: link friction") == pytest.approx(0.5, rel=1e-8)
    assert np.abs(accelerations(run)[inner, 0] + effort[inner]).max() <= 1e-8


def test_a_brake_and_friction_hold_together() -> None:
    law = {"kind": "dry", "coulomb": 1.0}
    drive = {"friction": {"kind": "dry", "coulomb": 0.5}}
    for pull, moves in ((4.4, False), (4.6, True)):
        arm = one_joint(friction=law, drive=drive, brake={"effort": 3.0}, input=constant(pull))
        run = flexarm.simulate(arm, t_end=1.0)
        assert (abs(run.q[-1, 0]) > 1e-3) == moves
    accounts = ("hinge: link friction", "hinge: motor friction", "hinge: brake")
    parts = [lost(run, name) for name in accounts]
    assert parts == pytest.approx([run.q[-1, 0] * each for each in (1.0, 0.5, 3.0)])
    assert sum(parts) == pytest.approx(run.work_integrals[-1, 3])


LUGRE = {
    "kind": "lugre", "coulomb": 0.4, "static": 0.9, "stribeck_speed": 0.2, "viscous": 0.3,
    "bristle_stiffness": 50.0, "bristle_damping": 1.0,
}  # fmt: skip


@pytest.mark.parametrize("rtol", TIGHT)
@pytest.mark.parametrize("speed", [0.05, 0.5])
def test_bristles_bend_and_slide_at_a_given_speed(speed: float, rtol: float) -> None:
    """They bend as a spring at first; then friction is Stribeck's: z = g/k (1 - exp(-k s/g))."""
    motion = {"kind": "table", "times": [0, 10], "values": [0, 10 * speed]}
    arm = one_joint(actuation="prescribed", motion=motion, friction=LUGRE)
    run = flexarm.simulate(arm, t_end=10.0, rtol=rtol)
    g = 0.4 + 0.5 * np.exp(-((speed / 0.2) ** 2))
    z = g / 50 * (1 - np.exp(-50 * speed * run.t / g))
    assert run.drives is not None
    assert np.abs(run.drives.states["hinge.bristle"] - z).max() <= 5 * rtol * g / 50
    taken = run.losses["hinge: link friction"]
    effort = (taken[-1] - taken[250]) / (run.q[-1, 0] - run.q[250, 0])
    assert effort == pytest.approx(g + 0.3 * speed, rel=max(2 * rtol, 1e-7))
    assert run.energy_balance <= max(10 * rtol, 1e-8)


def test_bristles_hold_as_a_spring_before_they_slide() -> None:
    run = flexarm.simulate(one_joint(friction=LUGRE, input=constant(1e-4)), t_end=60.0, rtol=1e-6)
    assert run.q[-1, 0] == pytest.approx(1e-4 / 50, rel=1e-3)


GAP, HALF = 0.2, 0.1


def piece(side: int) -> np.ndarray:
    """Give the matrix of (motor, link, their rates, 1): a servo of 20 and 2 that sees the link."""
    A = np.zeros((5, 5))
    A[0, 2] = A[1, 3] = 1.0
    A[2] = np.array([0, -20, -3, -2, 0]) / 0.5
    if side:
        wound = np.array([400, -400, 0, 0, -400 * HALF * side])
        A[2] -= wound / 0.5
        A[3] += wound
    return A


def through_a_gap(speed: float, times: np.ndarray) -> np.ndarray:
    """Follow motor and link piece by piece: each ends where the gap opens or closes."""
    y, begin, side = np.array([0.0, 0.0, 0.0, speed, 1.0]), 0.0, 0
    found: list[np.ndarray] = []
    while len(found) < len(times):

        def at(t: float, side: int = side, y: Any = y, begin: float = begin) -> np.ndarray:
            return np.asarray(expm(piece(side) * (t - begin)) @ y)

        def room(t: float, side: int = side, at: Any = at) -> float:
            wound = at(t)[0] - at(t)[1]
            return float(side * wound - HALF if side else HALF - abs(wound))

        early = begin + 1e-9
        late = begin + 1e-3
        while room(late) > 0:
            early, late = late, late + 1e-3
        end = float(brentq(room, early, late, xtol=1e-15))
        found += [at(t) for t in times[len(found) :] if t <= end]
        y, begin = at(end), end
        side = 0 if side else int(np.sign(y[0] - y[1]))
    return np.array(found)


@pytest.mark.few(1)
@pytest.mark.parametrize("rtol", TIGHT)
def test_a_servo_swings_through_backlash(rtol: float) -> None:
    arm = one_joint(
        drive=ELASTIC | {"backlash": GAP, "friction": {"viscous": 3.0}},
        servo={"stiffness": 20.0, "damping": 2.0, "side": "link"},
        start={"speed": 1.0, "motor_speed": 0.0},
    )
    run = flexarm.simulate(arm, t_end=4.0, dt=0.01, rtol=rtol)
    wanted = through_a_gap(1.0, run.t)
    assert np.abs(run.q - wanted[:, :2]).max() <= rtol
    assert run.energy_balance <= max(10 * rtol, 1e-8)


@cache
def limit_cycle() -> tuple[np.ndarray, float]:
    """Find where motor and link open the gap in their cycle, (5,), and its period.

    By symmetry half a cycle, over the gap and against its other side, turns the signs.
    """

    def half(y: np.ndarray) -> tuple[np.ndarray, float]:
        y, passed = np.append(y, 1.0), 0.0
        for side in (0, -1):

            def wound(t: float, side: int = side, y: np.ndarray = y) -> float:
                moved = expm(piece(side) * t) @ y
                return float(moved[0] - moved[1] + HALF)

            late = 0.01
            while wound(late) * (1 if side == 0 else -1) > 0:
                late += 0.01
            t = float(brentq(wound, late - 0.01 if late > 0.011 else 1e-9, late, xtol=1e-15))
            y, passed = expm(piece(side) * t) @ y, passed + t
        return y[:4], passed

    def missed(x: np.ndarray) -> np.ndarray:
        y = np.array([x[0] + HALF, x[0], x[1], x[2]])
        return np.asarray((half(y)[0] + y)[1:])

    x = root(missed, (-0.0628, -0.29, 0.2253), tol=1e-13).x  # as runs come to
    y = np.array([x[0] + HALF, x[0], x[1], x[2]])
    return y, 2 * half(y)[1]


@pytest.mark.parametrize("rtol", TIGHT)
def test_backlash_has_its_limit_cycle(rtol: float) -> None:
    """Begun on it, the arm comes back after each period."""
    y, period = limit_cycle()
    arm = one_joint(
        drive=ELASTIC | {"backlash": GAP, "friction": {"viscous": 3.0}},
        servo={"stiffness": 20.0, "damping": 2.0, "side": "link",
               "target": {"kind": "constant", "value": 0.0}},
        start={"position": y[1], "speed": y[3], "motor_position": y[0], "motor_speed": y[2]},
    )  # fmt: skip
    run = flexarm.simulate(arm, t_end=5 * period, dt=period, rtol=rtol)
    assert np.ptp(run.q[:, 1]) <= rtol
    assert np.abs(run.v - run.v[0]).max() <= 5 * rtol


@pytest.mark.campaign
def test_backlash_leaves_a_limit_cycle_whatever_the_start() -> None:
    ranges = []
    for speed in (0.3, 1.0):
        arm = one_joint(
            drive=ELASTIC | {"backlash": GAP, "friction": {"viscous": 3.0}},
            servo={"stiffness": 20.0, "damping": 2.0, "side": "link"},
            start={"speed": speed, "motor_speed": 0.0},
        )
        run = flexarm.simulate(arm, t_end=20.0, dt=0.005)
        ranges.append(np.ptp(run.q[run.t > 12, 1]))
    assert ranges[0] > 0.1
    assert ranges[1] == pytest.approx(ranges[0], rel=2e-3)


def test_a_link_rattles_in_the_gap_of_a_motor_that_is_held() -> None:
    """Free flight over the gap and half a vibration at each end."""
    arm = one_joint(
        drive=ELASTIC | {"backlash": GAP, "damping": 0.0}, brake={}, start={"speed": 1.0}
    )
    period = 2 * GAP / 1.0 + 2 * np.pi / 20
    for method in ("etd4", "rodas4", "auto"):
        run = flexarm.simulate(arm, t_end=3 * period, rtol=1e-6, method=method)
        assert run.q[-1, 1] == pytest.approx(0.0, abs=1e-5)
        assert run.v[-1, 1] == pytest.approx(1.0, abs=1e-5)


def test_a_damper_in_a_gap_never_pulls() -> None:
    arm = one_joint(
        drive=ELASTIC | {"backlash": GAP, "damping": 20.0}, brake={}, start={"speed": 1.0}
    )
    run = flexarm.simulate(arm, t_end=2.0, rtol=1e-8)
    a, wound = accelerations(run)[:, 1], run.q[:, 1]
    assert np.all(a[wound > HALF] <= 0)
    assert np.all(np.abs(a[np.abs(wound) < HALF]) < 1e-12)
    assert run.energy_balance <= 1e-8


def swung(side: str, inertia: float, rtol: float) -> tuple[float, float]:
    """Let a link swing to its first (above) or second turning; give its place and what was lost."""
    turning = {"quantity": "hinge.speed", "below" if side == "first" else "above": 0.0}
    after = 0.01 if side == "first" else 2.5 * np.sqrt(inertia / 400)
    arm = one_joint(
        drive=ELASTIC | {"hysteresis": {"effort": 3.0, "stiffness": 60.0}},
        brake={},
        hub={"outboard": {"mass": 0, "inertia": [0, 0, inertia - 1]}},
        start={"speed": 2.0 / np.sqrt(inertia)},
        events=[{"when": turning, "after": after, "end": True}],
    )
    run = flexarm.simulate(arm, t_end=10 * np.sqrt(inertia / 400), rtol=rtol)
    assert run.energy_balance <= max(10 * rtol, 1e-8)
    return float(run.q[-1, 1]), lost(run, "hinge: hysteresis")


@pytest.mark.parametrize("rtol", TIGHT)
@pytest.mark.parametrize("inertia", [4.0, 400.0])
def test_hysteresis_loses_the_area_of_its_loop_however_slow(inertia: float, rtol: float) -> None:
    """Its effort nears 3 N m along each branch: f' = 60 (1 - f/3)."""
    (top, first), (bottom, second) = (swung(which, inertia, rtol) for which in ("first", "second"))
    decay = np.exp(-60 * top / 3)
    work, effort = 3 * top - 9 / 60 * (1 - decay), 3 * (1 - decay)
    assert first == pytest.approx(work - effort**2 / 120, rel=20 * rtol)
    way = top - bottom
    decay = np.exp(-60 * way / 3)
    work = 3 * way - (3 + effort) * 3 / 60 * (1 - decay)
    last = -3 + (effort + 3) * decay
    area = work - (last**2 - effort**2) / 120
    assert second - first == pytest.approx(area, rel=40 * rtol)


@pytest.mark.parametrize("backwards", [False, True])
def test_a_gear_takes_its_share_of_what_goes_through(backwards: bool) -> None:
    efficiency = 0.8
    start = {"speed": -2.0, "motor_speed": -2.0} if backwards else {"motor_speed": 0.1}
    arm = one_joint(drive=ELASTIC | {"efficiency": efficiency}, input=constant(5.0), start=start)
    run = flexarm.simulate(arm, t_end=0.12, rtol=1e-9)
    through = run.v[:, 1] ** 2 / 2 + 400 * (run.q[:, 0] - run.q[:, 1]) ** 2 / 2
    share = 1 - efficiency if backwards else 1 / efficiency - 1
    assert np.all(run.v[:, 0] * (run.q[:, 0] - run.q[:, 1]) * (-1) ** backwards > -1e-6)
    passed = (through - through[0]) * (-1) ** backwards
    assert run.losses["hinge: gear"] == pytest.approx(share * passed, abs=2e-5)
    assert run.energy_balance <= 1e-8


def test_a_gear_turns_too_far_twice_per_turn_of_its_rotor() -> None:
    """The spring is relaxed where the link is ahead by the gear's error: nothing moves there."""
    error = {"amplitude": 0.01, "per_turn": 2, "phase": 0.5}
    motor = 0.03
    ahead = motor + 0.01 * np.sin(2 * 50 * motor + 0.5)
    drive = ELASTIC | {"gear_ratio": 50.0, "kinematic_error": error, "damping": 5.0}
    arm = one_joint(drive=drive, start={"position": ahead, "motor_position": motor})
    assert np.abs(flexarm.simulate(arm, t_end=1.0).v).max() <= 1e-12
    moved = flexarm.change_arm(arm, {"links.1.joint.start.position": 0.0})
    run = flexarm.simulate(moved, t_end=0.2, energy_audit=True)
    assert run.work_integrals[-1, 3] > 0
    assert run.energy_balance <= 1e-8


EVERYTHING = {
    "motor": DC | {"inductance": 0.02, "current_limit": 9.0}, "backlash": 0.01, "efficiency": 0.9,
    "friction": {"kind": "dry", "coulomb": 0.3, "static": 0.5, "stribeck_speed": 0.1},
    "hysteresis": {"effort": 0.5, "stiffness": 100.0}, "kinematic_error": {"amplitude": 1e-3},
}  # fmt: skip


def test_every_formulation_and_a_file_keep_it_all(tmp_path: Any) -> None:
    elastic = {"rotor_inertia": 0.002, "gear_ratio": 20.0, "stiffness": 900.0, "damping": 2.0}
    arm = flexible_arm(friction=LUGRE, input=constant(8.0), drive=elastic | EVERYTHING)
    run, other = (
        flexarm.simulate(arm, t_end=0.1, rtol=1e-9, formulation=name)
        for name in ("articulated", "composite")
    )
    assert run.energy_balance <= 1e-8
    both = np.intersect1d(run.t, other.t, return_indices=True)[1:]
    assert np.abs(run.q[both[0]] - other.q[both[1]]).max() <= 1e-7
    accounts = ("link friction", "motor friction", "gear", "hysteresis", "winding")
    assert set(run.losses) == {f"hinge: {name}" for name in accounts}
    assert all(values[-1] > 0 for values in run.losses.values())
    assert sum(values[-1] for values in run.losses.values()) <= run.work_integrals[-1, 3]
    run.save(tmp_path / "run.nc")
    read = flexarm.load_run(tmp_path / "run.nc")
    assert read.energy_balance == run.energy_balance
    assert read.drives is not None
    assert run.drives is not None
    assert np.array_equal(read.drives.push, run.drives.push)
    assert list(read.losses) == list(run.losses)
    assert np.array_equal(read.drives.states["hinge.current"], run.drives.states["hinge.current"])
    slope = np.gradient(run.v[:, 1], run.t)
    assert np.abs(accelerations(run)[5:-5, 1] - slope[5:-5]).mean() <= 0.05 * np.ptp(slope)


@pytest.mark.parametrize(
    ("joint", "said"),
    [
        ({"friction": {"kind": "dry"}}, "dry friction needs coulomb"),
        ({"friction": {"coulomb": 1, "static": 2}}, "kind: dry or lugre"),
        (
            {"friction": {"static": 2, "bristle_stiffness": 1, "bristle_damping": 1}},
            "bristle_damping: 'bristle_damping' is for friction of 'kind: lugre'",
        ),
        ({"friction": {"kind": "dry", "coulomb": 2, "static": 1}}, "must be >= coulomb"),
        ({"friction": {"kind": "lugre", "coulomb": 2}}, "needs a bristle_stiffness"),
        ({"drive": {"backlash": 0.1}}, "only an elastic transmission"),
        ({"drive": {"efficiency": 0.9}}, "needs an elastic transmission"),
        ({"drive": {"gear_ratio": 1e160}}, r"gear_ratio: must be <= 1e\+09"),
        (
            {"drive": ELASTIC | {"kinematic_error": {"amplitude": 1, "per_turn": 1e9}}},
            "per_turn: must be <= 10000",
        ),
        ({"drive": {"motor": {"torque_constant": 1, "input": "voltage"}}}, "a resistance"),
        ({"drive": {"motor": {"torque_constant": 1, "inductance": 1}}}, "input: voltage"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(joint: dict[str, Any], said: str) -> None:
    with pytest.raises(ModelError, match=said):
        one_joint(**joint)


def test_runs_that_cannot_are_refused_in_words() -> None:
    with pytest.raises(SimulationError, match="bristles, hysteresis or inductance"):
        flexarm.simulate(one_joint(friction=LUGRE), t_end=1.0, method="rodas4")
    dry = one_joint(friction={"kind": "dry", "coulomb": 1.0})
    with pytest.raises(SimulationError, match="dry friction"):
        flexarm.simulate_many(dry, starts=[{}], t_end=1.0)
