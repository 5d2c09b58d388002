"""When an exact tangent is worth compiling, and when at full effort."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import flexarm
from flexarm.engine.compile import Compiled, Level
from flexarm.integrate import solve
from flexarm.integrate.methods.base import Motion
from flexarm.integrate.task import tangent_pays
from flexarm.runs.run import Run
from tests.integrate.arms import stepped


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
    compiled = Motion.tangent

    def spied(self: Motion, level: Level = "quick") -> Compiled:
        levels.append(level)
        return compiled(self, level)

    def run() -> Run:
        return flexarm.simulate(stepped(), t_end=0.5, method="rodas4")

    monkeypatch.setattr(Motion, "tangent", spied)
    short = run()
    assert set(levels) == {"quick"}
    assert short.statistics.steps > 60
    monkeypatch.setattr(solve, "PROVEN", 30)
    long, again = run(), run()
    assert levels.count("fast") == 2  # once in each of them
    assert long.q.tobytes() == again.q.tobytes()
    assert long.statistics.steps == short.statistics.steps
    assert np.abs(long.q - short.q).max() < 1e-10 * np.abs(short.q).max()  # they round otherwise
