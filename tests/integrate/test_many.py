"""Many runs at once are the same runs as one by one, from one compile."""

import math
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from typing import Any

import casadi as ca
import numpy as np
import pytest

import flexarm
from flexarm.arm import Arm
from flexarm.engine.compile import native_width
from flexarm.errors import SimulationError
from flexarm.formulations import formulation
from flexarm.formulations.numbers import Structure, kernel
from flexarm.integrate.batch import cores
from flexarm.integrate.batch.cores import lane_state
from flexarm.integrate.batch.many import simulate_many
from flexarm.integrate.motion import MotionFunctions
from flexarm.io.model_file import change_arm, loads
from flexarm.model import build
from flexarm.runs.run import Run
from tests.integrate.arms import hub
from tests.patience import HANGS


@cache
def link() -> Arm:
    """Make the smallest arm that bends."""
    return change_arm(hub(1), {"stiffening": False})


def test_parameters_share_one_compile_and_give_the_runs_of_their_arms() -> None:
    masses = [{"payload.mass": mass} for mass in (0.07, 0.31)]
    runs = simulate_many(link(), t_end=0.5, parameters=masses, method="etd4")
    for run, changed in zip(runs, masses, strict=True):
        alone = flexarm.simulate(change_arm(link(), changed), t_end=0.5, method="etd4")
        assert run.q == pytest.approx(alone.q, abs=1e-13)
        assert run.energy == pytest.approx(alone.energy, abs=1e-13)
    assert np.ptp([run.q[-1, 0] for run in runs]) > 0.1


def test_a_list_may_change_in_some_runs_only() -> None:
    last = {"gravity": [0.0, 0.0, -9.81], "payload.mass": 0.2}
    turned: list[dict[str, Any]] = [{"gravity": [9.81, 0.0, 0.0]}, {}, last]
    runs = simulate_many(link(), t_end=0.1, parameters=turned, method="etd4")
    for run, changed in zip(runs, turned, strict=True):
        alone = flexarm.simulate(change_arm(link(), changed), t_end=0.1, method="etd4")
        assert run.q == pytest.approx(alone.q, abs=1e-13)
    assert list(runs.dataset()["payload.mass"].values[[2]]) == [0.2]
    assert "gravity" not in runs.dataset()


def test_equations_that_differ_in_numbers_share_machine_code() -> None:
    structures = set[Structure]()
    for mass in (0.07, 0.31):
        model = build(change_arm(link(), {"payload.mass": mass}))
        equation = formulation("composite", model)
        q = np.array([0.3, 0.01])
        plain = np.array(equation.function("mass_matrix")(q))
        assert equation.mass_matrix(q) == pytest.approx(plain)
        structures.add(equation.compiled("mass_matrix").structure)  # type: ignore[attr-defined]
    assert len(structures) == 1


@pytest.fixture
def structures(monkeypatch: pytest.MonkeyPatch) -> set[Structure]:
    """Collect the structures of all functions that are asked for."""
    found = set[Structure]()

    def limit_reached(*given: Any, **more: Any) -> Any:
        compiled = kernel(*given, **more)
        found.add(compiled.structure)
        return compiled

    monkeypatch.setattr("flexarm.formulations.equation.kernel", limit_reached)
    return found


@pytest.mark.campaign
def test_given_quadratic_shapes_carry_a_force_along_the_link_in_every_run() -> None:
    arm = loads("""
flexarm: 1
name: a link pushed half-way along
links:
  - joint: {kind: revolute}
    length: 1
    section: {mass_per_length: 1, EIz: 20, EIy: 30}
    shapes: {kind: clamped-free, bending_y: 1, bending_z: 1}
    quadratic_shapes:
      - {direction: z, amplitudes: [y1, y1], stations: [0, 0.5, 1], values: [0, 0.1, 0.3]}
    wrenches: [{at: 0.4, force: [0, 3, 1]}]
""")
    options: dict[str, Any] = {"t_end": 0.2, "dt": 0.1, "method": "rk4"}
    weights = [{"gravity": [0, -9.81, 0]}, {"gravity": [0, -1.62, 0]}]
    for run, weight in zip(simulate_many(arm, parameters=weights, **options), weights, strict=True):
        alone = flexarm.simulate(change_arm(arm, weight), **options)
        assert run.q == pytest.approx(alone.q, abs=1e-13)
        assert abs(run.q[-1, 2]) > 1e-4


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["recursive-lagrange", "gibbs-appell"])
def test_parameters_of_a_papers_equations(name: str) -> None:
    """Equations with a paper's approximations take other numbers too."""
    arm, changed = flexarm.example_arm("korayem-two-link"), {"links.1.length": 1.1}
    options: dict[str, Any] = {"t_end": 0.1, "formulation": name, "paper": True}
    _, run = simulate_many(arm, parameters=[{"links.1.length": 1.0}, changed], **options)
    alone = flexarm.simulate(change_arm(arm, changed), **options)
    assert run.q == pytest.approx(alone.q, abs=1e-12)


def test_starts_and_inputs_vary() -> None:
    starts = [{"joint1": 0.1 * k, "joint1.rate": -0.2 * k} for k in range(5)]
    inputs = [{"joint1": 0.05 * k} for k in range(5)]
    runs = simulate_many(link(), t_end=0.3, starts=starts, inputs=inputs, method="dop853")
    for k, run in enumerate(runs):
        assert run.q[0, 0] == pytest.approx(0.1 * k)
        assert run.v[0, 0] == pytest.approx(-0.2 * k)
        assert run.u[:, 0].tolist() == [0.05 * k] * len(run.t)
        assert run.status == "finished"


def test_lists_must_fit_together() -> None:
    with pytest.raises(flexarm.SimulationError, match="have the same length"):
        simulate_many(link(), t_end=0.3, starts=[{}], inputs=[{}, {}])
    with pytest.raises(flexarm.SimulationError, match="at least one must be a list"):
        simulate_many(link(), t_end=0.3)


def test_what_is_no_list_of_mappings_is_refused() -> None:
    wrong: list[Any] = [[1.0], ({} for _ in range(2)), "joint1"]
    for given in wrong:
        with pytest.raises(flexarm.SimulationError, match="starts: must be a list of mappings"):
            simulate_many(link(), t_end=0.3, starts=given)
    with pytest.raises(flexarm.SimulationError, match="workers: must be"):
        simulate_many(link(), t_end=0.3, starts=[{}], workers=-1)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(flexarm.SimulationError, match="no coordinate 'elbow'"):
        simulate_many(link(), t_end=0.3, starts=[{"elbow": 1.0}])
    with pytest.raises(flexarm.SimulationError, match=r"^run 2 of 2: starts: joint1.rate: must be"):
        simulate_many(link(), t_end=0.3, starts=[{}, {"joint1.rate": math.nan}])
    with pytest.raises(
        flexarm.ModelError, match=r"^run 2 of 2: links.7.length=1.0: there is no '7' in links"
    ):
        simulate_many(link(), t_end=0.3, parameters=[{}, {"links.7.length": 1.0}])
    with pytest.raises(flexarm.ModelError, match=r"payload\.mass: must be >=? 0, got -1"):
        simulate_many(link(), t_end=0.3, parameters=[{"payload.mass": -1.0}])
    with pytest.raises(flexarm.ModelError, match=r"links\[1\]\.section\.EIq: unknown key; did you"):
        simulate_many(link(), t_end=0.3, parameters=[{"links.1.section.EIq": 10}])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"t_end": 1.0, "method": "euler"}, "method: must be one of auto, etd4"),
        ({"t_end": None}, "t_end: must be between 1e-12 and 1e"),
        ({"t_end": 1.0, "dt": 1e-9}, "samples, more than"),
        ({"t_end": 1.0, "rtol": 0.0}, "rtol: must be between"),
    ],
)
def test_options_are_those_of_one_run(options: dict[str, Any], said: str) -> None:
    with pytest.raises(flexarm.SimulationError, match=said):
        simulate_many(link(), starts=[{}], **options)


def stepped_at(time: float) -> dict[str, dict[str, Any]]:
    """Push the joint from a time on."""
    return {"joint1": {"kind": "step", "value": 0.1, "time": time}}


@cache
def alone_with(mass: float, time: float) -> Run:
    """Simulate one of many runs closely by itself."""
    arm = change_arm(link(), {"payload.mass": mass})
    return flexarm.simulate(arm, t_end=0.5, inputs=stepped_at(time), method="dop853", rtol=1e-9)


@pytest.mark.parametrize("method", ["dop853", "rk4"])
def test_runs_go_abreast_in_lanes_and_stay_within_the_tolerance(method: str) -> None:
    count = 2 * native_width() + 1
    masses = [{"payload.mass": 0.05 + 0.01 * k} for k in range(count)]
    inputs = [stepped_at(0.1 + 0.01 * k) for k in range(count)]
    runs = simulate_many(
        link(), t_end=0.5, parameters=masses, inputs=inputs, method=method, rtol=1e-6
    )
    assert {run.status for run in runs} == {"finished"}
    for k in (native_width() - 1, native_width() + 1, count - 1):  # in every group of lanes
        alone = alone_with(masses[k]["payload.mass"], float(inputs[k]["joint1"]["time"]))
        assert runs[k].q == pytest.approx(alone.q, abs=1e-6 * np.ptp(alone.q))
        assert runs[k].u.tolist() == alone.u.tolist()


def test_a_run_that_stops_does_not_stop_its_neighbours() -> None:
    arm = change_arm(link(), {"links.1.joint.limits": {"upper": 0.3}})
    starts = [{"joint1.rate": 0.1 * k} for k in range(native_width())]
    runs = simulate_many(arm, t_end=0.5, starts=starts, inputs=[{"joint1": 0.0}] * len(starts),
                         method="dop853")  # fmt: skip
    ends = [run.status for run in runs]
    assert ends[0] == "finished"
    if 0.1 * (len(starts) - 1) * 0.5 > 0.3:
        assert ends[-1] == "stopped"


@pytest.mark.parametrize("what", ["quantity", "motion"])
def test_threads_that_compile_at_once_get_the_same_machine_code(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Machine code that only one of them kept would be gone while the other still runs it."""
    both = threading.Barrier(2)
    real = kernel

    def at_once(*given: Any, **more: Any) -> Any:
        compiled = real(*given, **more)
        both.wait(timeout=HANGS)  # nobody returns before the other has compiled too
        return compiled

    equation = formulation("articulated", build(link()))
    ask = (
        MotionFunctions(equation).compiled
        if what == "motion"
        else lambda: equation.compiled("energy")
    )
    monkeypatch.setattr("flexarm.formulations.equation.kernel", at_once)
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda _: ask(), range(2))
    assert first is second
    assert first is ask()


def test_any_values_of_a_parameter_compile_once_and_go_abreast(
    structures: set[Structure], monkeypatch: pytest.MonkeyPatch
) -> None:
    lanes = []

    def limit_reached(*given: Any) -> Any:
        found = lane_state(*given)
        lanes.append(found is not None)
        return found

    monkeypatch.setattr(cores, "lane_state", limit_reached)
    rng = np.random.default_rng(1)
    masses = [
        {"payload.mass": float(mass)} for mass in rng.uniform(0.1, 0.3, 2 * native_width())
    ]  # fmt: skip
    runs = simulate_many(link(), t_end=0.02, method="dop853", parameters=masses, workers=1)
    assert len(structures) == 2  # motion, matrices
    assert runs.energy.shape == (len(masses), 501, 3)
    assert len(structures) == 3  # observation too
    assert lanes == ([True, True] if native_width() > 1 else [])


def test_an_interrupt_ends_the_runs_that_are_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    endings: list[str] = []
    under_way, stopping = threading.Event(), threading.Event()
    real = cores.RunBlock.run

    def limit_reached(*given: Any) -> Any:
        if endings:  # the second run is under way when the end of the first is reported
            under_way.set()
            stopping.wait()
            with suppress(KeyboardInterrupt):  # which its progress raises from now on
                while True:
                    given[-1](0.0)
        try:
            found = real(*given)
        except KeyboardInterrupt:
            endings.append("interrupted")
            raise
        endings.append("finished")
        return found

    def stop(done: int) -> None:
        under_way.wait()
        stopping.set()
        raise KeyboardInterrupt

    monkeypatch.setattr(cores.RunBlock, "run", limit_reached)
    monkeypatch.setattr(cores, "JOB_GROUPS", 1)
    starts: list[dict[str, float]] = [{}] * 6
    with pytest.raises(KeyboardInterrupt):
        simulate_many(link(), t_end=0.5, method="etd4", starts=starts, workers=1, progress=stop)
    assert endings == ["finished", "interrupted"]


def test_a_copy_with_wrong_links_is_refused() -> None:
    wrong = link().model_copy(update={"links": "none"})
    with pytest.raises(flexarm.ModelError, match="links"):
        simulate_many(wrong, t_end=0.1, starts=[{}])


def test_laws_and_tolerances_vary() -> None:
    t, q, v = ca.SX.sym("t"), ca.SX.sym("q", 2), ca.SX.sym("v", 2)
    laws = [ca.Function("law", [t, q, v], [-k * q[0] - 0.1 * v[0]]) for k in (0.5, 2.0)]
    starts, rtol = [{"joint1": 0.3}] * 2, [1e-3, 1e-10]
    runs = simulate_many(link(), t_end=0.4, starts=starts, control=laws, rtol=rtol, method="dop853")
    for run, law, wanted in zip(runs, laws, rtol, strict=True):
        arm = change_arm(link(), {"links.1.joint.start.position": 0.3})
        alone = flexarm.simulate(arm, t_end=0.4, control=law, rtol=wanted, method="dop853")
        assert run.q == pytest.approx(alone.q, abs=1e-12)
        assert run.u == pytest.approx(alone.u, abs=1e-10)
        assert run.rtol == wanted
    assert runs[1].statistics.steps > runs[0].statistics.steps


def test_one_law_for_all_arms_is_traced_once(structures: set[Structure]) -> None:
    t, q, v = ca.SX.sym("t"), ca.SX.sym("q", 2), ca.SX.sym("v", 2)
    law = ca.Function("law", [t, q, v], [-q[0]])
    masses = [{"payload.mass": mass} for mass in (0.07, 0.31)]
    runs = simulate_many(link(), t_end=0.2, parameters=masses, control=law, method="dop853")
    assert [run.status for run in runs] == ["finished"] * 2
    assert len(structures) == 3  # motion, matrices, observation


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"control": flexarm.Sampled(lambda t, q, v: [0.0], 0.1)},
            "Sampled law is called from Python",
        ),
        ({"rtol": [1e-3]}, "all lists must have the same length"),
        ({"rtol": "small"}, "rtol"),
        ({"control": ["law", "law"]}, "control: must be a CasADi function"),
    ],
)
def test_laws_that_do_not_fit_are_told(given: dict[str, Any], message: str) -> None:
    with pytest.raises(SimulationError, match=message):
        simulate_many(link(), t_end=0.1, starts=[{"joint1": 0.1}] * 2, **given)


@pytest.mark.campaign
def test_a_sliding_link_that_twists_is_one_of_many() -> None:
    arm = loads(
        "flexarm: 1\nname: twisting\ngravity: [0, 0, -9.81]\nlinks:\n"
        "  - joint: {kind: sliding, start: {position: 0.5}, limits: {lower: 0.2, upper: 0.9}}\n"
        "    length: 1\n    section: {mass_per_length: 1, EIy: 20, GJ: 5, Jx: 0.01}\n"
        "    shapes: {kind: clamped-free, bending_z: 1, torsion: 1}\n"
        "payload: {mass: 0.1, com: [0, 0.1, 0]}\n"
    )
    (run,) = flexarm.simulate_many(arm, t_end=0.05, dt=0.05, method="dop853", rtol=[1e-6])
    alone = flexarm.simulate(arm, t_end=0.05, dt=0.05, method="dop853", rtol=1e-6)
    assert np.abs(run.q - alone.q).max() < 1e-12


ONE = (
    "flexarm: 1\nname: one\ngravity: [0, -9.81, 0]\nlinks:\n  - joint: {{kind: revolute, {}}}\n"
    "    length: 1\n    body: {{mass: 2, com: [0.5, 0, 0], inertia: [0.01, 0.2, 0.2]}}\n"
)


@pytest.mark.parametrize(
    ("joint", "key"),
    [
        ("drive: {rotor_inertia: 2e-5, gear_ratio: 100, efficiency: 0.8, stiffness: 3000}", "mass"),
        ("friction: {kind: lugre, coulomb: 1, bristle_stiffness: 100}", "coulomb"),
    ],
)
def test_losses_of_drives_follow_each_run_s_numbers(joint: str, key: str) -> None:
    arm = loads(ONE.format(joint))
    where = "links.1.body.mass" if key == "mass" else "links.1.joint.friction.coulomb"
    options: dict[str, Any] = {"t_end": 0.05, "dt": 0.05, "method": "dop853"}
    runs = flexarm.simulate_many(arm, parameters=[{where: 1.0}, {where: 2.0}], **options)
    for run, value in zip(runs, (1.0, 2.0), strict=True):
        alone = flexarm.simulate(flexarm.change_arm(arm, {where: value}), **options)
        assert np.abs(run.q - alone.q).max() < 1e-6
        for name, lost in alone.losses.items():
            assert np.allclose(run.losses[name], lost, rtol=1e-3)


@pytest.mark.parametrize("device", ["cpu", "gpu"])
@pytest.mark.parametrize(
    "change",
    [
        {"links.1.joint.brake": {"effort": 3.0}},
        {"links.1.joint.friction": {"kind": "dry", "coulomb": 5.0}},
        {"events": [{"name": "stop", "at": 0.1, "end": True}]},
        {"start": "equilibrium"},
    ],
)
def test_what_needs_runs_one_by_one_is_refused_in_any_run(change: Any, device: Any) -> None:
    arm = loads(ONE.format(""))
    with pytest.raises(SimulationError, match=r"run 2 of 2: arm: .* in a batch"):
        flexarm.simulate_many(arm, t_end=0.1, parameters=[{}, change], device=device)


def test_servos_without_a_target_hold_where_each_run_starts() -> None:
    arm = flexarm.change_arm(loads(ONE.format("servo: {stiffness: 50, damping: 5}")),
                             {"gravity": [0, 0, 0]})  # fmt: skip
    runs = flexarm.simulate_many(arm, t_end=0.2, starts=[{"joint1": 0.3}, {"joint1": -0.2}])
    assert [float(run.q[-1, 0]) for run in runs] == pytest.approx([0.3, -0.2], abs=1e-12)


SERVED = ONE.format(
    "drive: {gear_ratio: 20, rotor_inertia: 1e-3, stiffness: 500, damping: 1,"
    " motor: {input: current, torque_constant: 0.4, resistance: 1, current_limit: 3}},"
    " servo: {stiffness: 40, damping: 4, speed: 5, effort: 3, integral_time: 0.4, side: link,"
    " target: {kind: constant, value: 0.4}}"
)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "varied",
    [
        {"servo.stiffness": (40.0, 60.0), "servo.integral_time": (0.1, 0.3)},
        {"servo.speed": (0.3, 0.9), "servo.damping": (4.0, 6.0)},
        {"servo.effort": (0.3, 0.6), "drive.motor.torque_constant": (0.3, 0.5)},
    ],
    ids=["gains", "speed", "limit"],
)
def test_gains_of_servos_and_constants_of_motors_are_inputs_of_one_trace(
    varied: dict[str, tuple[float, float]], structures: set[Structure]
) -> None:
    arm, options = loads(SERVED), {"t_end": 0.2, "dt": 0.1, "rtol": 1e-8}
    sets = [
        {f"links.1.joint.{key}": low + share * (high - low) for key, (low, high) in varied.items()}
        for share in (0.1, 0.4, 0.9)
    ]
    runs = simulate_many(arm, parameters=sets, method="dop853", **options)  # type: ignore[arg-type]
    assert runs.energy.shape == (len(sets), 3, 3)
    assert len(structures) == 3  # one of each function, whatever the numbers
    for run, values in zip(runs, sets, strict=True):
        alone = flexarm.simulate(change_arm(arm, values), method="dop853", **options)  # type: ignore[arg-type]
        assert run.q == pytest.approx(alone.q, abs=1e-6)
    for key, value in sets[0].items():  # and each of them counts
        other = {**sets[2], key: value}
        alone = flexarm.simulate(change_arm(arm, other), method="dop853", **options)  # type: ignore[arg-type]
        assert np.abs(alone.q - runs[2].q).max() > 1e-4, key
    with pytest.raises(SimulationError, match="method: rodas4 cannot integrate integral_time"):
        simulate_many(arm, parameters=sets, method="rodas4", **options)  # type: ignore[arg-type]


def test_starts_replace_an_equilibrium_where_they_name_all_coordinates() -> None:
    changes = {"start": "equilibrium", "links.1.joint.spring": {"stiffness": 20}}
    arm = flexarm.change_arm(loads(ONE.format("")), changes)
    names = flexarm.build(arm).names
    whole = [dict.fromkeys(names, 0.0) | {"joint1": angle} for angle in (0.3, -0.2)]
    runs = flexarm.simulate_many(arm, t_end=0.02, starts=whole)
    assert [float(run.q[0, 0]) for run in runs] == [0.3, -0.2]
    with pytest.raises(SimulationError, match=r"starts: must name all .* none for joint1"):
        flexarm.simulate_many(arm, t_end=0.02, starts=[{"joint1.rate": 0.3}])


def test_a_parameter_that_states_the_start_replaces_an_equilibrium() -> None:
    arm = flexarm.change_arm(loads(ONE.format("")), {"start": "equilibrium"})
    (run,) = flexarm.simulate_many(arm, t_end=0.02, parameters=[{"start": "stated"}])
    assert run.status == "finished"
