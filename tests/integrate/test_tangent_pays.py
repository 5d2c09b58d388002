"""When an exact tangent is worth compiling."""

from types import SimpleNamespace
from typing import Any

from flexarm.integrate.task import tangent_pays


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
