"""When an exact tangent is worth compiling, when at full effort, and what steps take it from."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import casadi as ca
import numpy as np
import pytest

import flexarm
from flexarm.engine.compile import Compiled, Level
from flexarm.formulations import FORMULATIONS, formulation
from flexarm.integrate import solve
from flexarm.integrate.motion import MotionFunctions
from flexarm.integrate.task import tangent_pays
from flexarm.model import Model, build, fingerprint
from flexarm.runs.run import Run
from flexarm.spatial import Inertia
from tests.integrate.arms import stepped
from tests.integrate.mission_arms import flexible_arm, one_joint

BASE = {"kind": "free", "body": {"mass": 20.0, "inertia": [2.0, 3.0, 4.0]}}
LOAD = Inertia(2.0, np.array([0.2, -0.1, 0.3]), np.diag([0.3, 0.4, 0.5]) + 0.02)


def motion(size: int, operations: int) -> Any:
    compiled = SimpleNamespace(operations=operations)
    return SimpleNamespace(
        equation=SimpleNamespace(model=SimpleNamespace(size=size)),
        motion=SimpleNamespace(compiled=lambda: compiled),
    )


def test_a_tangent_that_takes_minutes_to_compile_is_not_tried() -> None:
    assert tangent_pays(motion(5, 3_577))  # a rail that bends in one plane
    assert not tangent_pays(motion(15, 22_792))  # one that bends in space, twists and stretches
    assert not tangent_pays(motion(30, 3_000))


def test_a_long_run_goes_on_with_a_tangent_of_full_effort(monkeypatch: pytest.MonkeyPatch) -> None:
    levels: list[str] = []
    compiled = MotionFunctions.slopes

    def spied(self: MotionFunctions, level: Level = "quick") -> Compiled:
        levels.append(level)
        return compiled(self, level)

    def run() -> Run:
        return flexarm.simulate(stepped(), t_end=0.5, method="rodas4")

    monkeypatch.setattr(MotionFunctions, "slopes", spied)
    short = run()
    assert set(levels) == {"quick"}
    assert short.statistics.steps > 60
    monkeypatch.setattr(solve, "RECOMPILED_AFTER", 30)
    long, again = run(), run()
    assert levels.count("fast") == 2  # once in each of them
    assert long.q.tobytes() == again.q.tobytes()
    assert long.statistics.steps == short.statistics.steps
    # They round otherwise, which hardly moves them: as little as 1e-10 of the tolerance.
    nudged = flexarm.simulate(stepped(), t_end=0.5, method="rodas4", rtol=1e-3 * (1 + 1e-10))
    assert np.abs(long.q - short.q).max() < np.abs(nudged.q - short.q).max()


def state(model: Model) -> list[Any]:
    """Give q, v, and what every function takes."""
    random = np.random.default_rng(5)
    return [*random.uniform(-0.1, 0.1, (2, model.size))]


def test_slopes_are_those_of_the_force_that_accelerations_require() -> None:
    """Differences of accelerations, times the mass matrix, are the slopes of the force."""
    model = build(flexible_arm())
    n, (q, v) = model.size, state(model)
    symbols = [ca.SX.sym(name, size) for name, size in (("t", 1), ("q", n), ("v", n))]
    law = ca.Function("law", symbols, [ca.sin(symbols[1][0]) * symbols[2][:1]])
    both = MotionFunctions(formulation("articulated", model), law)
    given: dict[str, Any] = {"t": 0.0, "w": np.zeros(0), "prescribed_a": np.zeros(0)}

    def found(compiled: Any, **more: Any) -> list[Any]:
        inputs = compiled.inputs[: len(compiled.inputs) - len(compiled.constants)]
        return list(compiled.call(*[np.atleast_1d((given | more)[x.name]) for x in inputs]))

    a = found(both.compiled(), q=q, v=v)[0]
    by_q, by_v, mass = (matrix.T for matrix in found(both.slopes(), q=q, v=v, a=a)[:3])
    for slope, moved in ((by_q, "q"), (by_v, "v")):
        for k, step in enumerate(1e-5 * np.eye(n)):
            ahead, back = (
                found(both.compiled(), **({"q": q, "v": v} | {moved: at}))[0]
                for at in ({"q": q, "v": v}[moved] + way for way in (step, -step))
            )
            change = -mass @ (ahead - back) / 2e-5
            np.testing.assert_allclose(change, slope[:, k], atol=1e-5 * np.abs(slope).max())


def test_machine_code_is_that_of_any_start_input_and_target() -> None:
    other: dict[str, Any] = {
        "start": {"position": 0.2, "speed": 1.0},
        "input": {"kind": "constant", "value": 2.0},
        "servo": {"stiffness": 4.0, "target": {"kind": "constant", "value": 0.3}},
    }
    servo = {"stiffness": 4.0}
    plain, driven = (build(one_joint(**each)) for each in ({"servo": servo}, other))
    assert fingerprint(plain) == fingerprint(driven)
    assert fingerprint(build(one_joint(servo={"stiffness": 5.0}))) != fingerprint(plain)
    crossed = [one_joint(kind="universal", first=each) for each in ({"servo": servo}, other)]
    assert len({fingerprint(build(each)) for each in crossed}) == 1
    arm = flexible_arm()
    bent = flexarm.change_arm(arm, {"links.1.start": {"y1": 0.1}, "links.1.start_speed": {"y1": 1}})
    assert fingerprint(build(bent)) == fingerprint(build(arm))


@pytest.mark.few(3)
@pytest.mark.parametrize("name", FORMULATIONS)
def test_machine_code_of_a_given_load_is_that_of_any(name: str) -> None:
    model = build(one_joint(base=BASE))
    given = [replace(each, load_given=True) for each in (model, model.loaded(LOAD))]
    assert fingerprint(given[0]) == fingerprint(given[1]) != fingerprint(model)
    q, v = state(model)
    plain, shared = (formulation(name, each) for each in (model.loaded(LOAD), given[1]))
    u = np.array([0.4])
    one, other = (each.forward_dynamics(q, v, u) for each in (plain, shared))
    np.testing.assert_allclose(other, one, rtol=1e-11)
    np.testing.assert_allclose(shared.energy(q, v), plain.energy(q, v), rtol=1e-11, atol=1e-14)
