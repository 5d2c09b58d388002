"""An arm in which some motion has no inertia is refused in a line, wherever it is used."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flexarm
from flexarm.arm import Arm
from flexarm.check.check import check
from flexarm.cli import main
from flexarm.control import FrozenLoop, Timing, decoupling_law, joint_move, lqr, stable_inversion
from flexarm.io.model_file import loads
from flexarm.linear.state_space import start_point
from flexarm.studies.compare import compare
from tests.physics.cases import campaign_if

BODY = "body: {mass: 1, com: [0.5, 0, 0]}"
BEAM = "section: {mass_per_length: 1, EIz: 100}, shapes: {kind: clamped-free, bending_y: 1}"
SMALL = "body: {mass: 2, com: [0.1, 0.2, 0.3]}"
SKEW = "axis: [1, 2, 3]"  # through a point mass that is off it by rounding alone

ARMS = {
    "a link whose mass was forgotten": ("joint1, joint2", "",
        "{joint: {kind: revolute}, length: 1}",
        f"{{joint: {{kind: revolute}}, length: 1, {BODY}}}"),
    "a point mass on the axis": ("joint2", "", f"{{joint: {{kind: revolute}}, length: 1, {BODY}}}",
        f"{{joint: {{kind: revolute, axis: [1, 0, 0]}}, length: 0.2, {BODY}}}"),
    "a point mass on a skew axis": ("joint2", "",
        "{joint: {kind: revolute}, length: 1, body: {mass: 1, inertia: [1, 1, 1]}}",
        f"{{joint: {{kind: revolute, {SKEW}}}, {SMALL}}}"),
    "one joint on a skew axis": ("joint1", "",
        f"{{joint: {{kind: revolute, {SKEW}}}, length: 1, {SMALL}}}"),
    "no mass anywhere": ("joint1", "", "{joint: {kind: revolute}, length: 1}"),
    "a slide without mass": ("joint2", "",
        f"{{joint: {{kind: revolute}}, length: 1, {BODY}}}",
        "{joint: {kind: prismatic}, length: 1}"),
    "two joints on one axis": ("joint1, joint2", "", "{joint: {kind: revolute}}",
        f"{{joint: {{kind: revolute}}, length: 1, {BODY}}}"),
    "a payload on the wrist's axis": ("joint2", "payload: {mass: 3}\n",
        f"{{joint: {{kind: revolute}}, length: 1, {BODY}}}",
        "{joint: {kind: revolute, axis: [1, 0, 0]}, length: 0.2}"),
    "a flexible arm with an empty hand": ("joint2", "",
        f"{{joint: {{kind: revolute}}, length: 1, {BEAM}}}",
        "{joint: {kind: revolute}, length: 0.1}"),
    "a free base with an empty hand": ("joint1",
        "base: {kind: free, body: {mass: 9, inertia: [1, 1, 1]}}\n",
        "{joint: {kind: revolute}, length: 0.1}"),
}  # fmt: skip
FLEXIBLE = "a flexible arm with an empty hand"


def text(name: str) -> str:
    _, top, *links = ARMS[name]
    lines = "".join(f"  - {link}\n" for link in links)
    return f"flexarm: 1\nname: {name}\ngravity: [0, 0, 0]\n{top}links:\n{lines}"


def follow(arm: Arm) -> Any:
    return joint_move(flexarm.build(arm), {"joint1": 0.5}, Timing("quintic", 1.0))


def loop(arm: Arm) -> object:
    law = decoupling_law(follow(arm), kp=9.0, kd=6.0)
    return flexarm.simulate(arm, t_end=0.1, control=law)


USES: dict[str, Callable[[Arm], object]] = {
    "simulate": lambda arm: flexarm.simulate(arm, t_end=0.1),
    "simulate by rk4": lambda arm: flexarm.simulate(arm, t_end=0.1, method="rk4", step=1e-3),
    "simulate_many": lambda arm: flexarm.simulate_many(arm, t_end=0.1, inputs=[{}]),
    "modes": flexarm.modes,
    "linearise": flexarm.linearise,
    "linearise the start": lambda arm: flexarm.linearise(arm, about=start_point(arm)),
    "compare": compare,
}
LAWS: dict[str, Callable[[Arm], object]] = {
    "decoupling": loop,
    "lqr": lambda arm: lqr(follow(arm)),
    "coupling": lambda arm: FrozenLoop(flexarm.build(arm)).coupling(
        np.zeros(flexarm.build(arm).size)
    ),
    "eigenvalues": lambda arm: FrozenLoop(flexarm.build(arm)).eigenvalues(
        np.zeros(flexarm.build(arm).size), kp=9.0, kd=6.0
    ),
}


def require_line(use: Callable[[Arm], object], name: str) -> None:
    with pytest.raises(flexarm.SimulationError) as caught:
        use(loads(text(name)))
    said = str(caught.value)
    assert all(each in said for each in ARMS[name][0].split(", ")), said
    assert "has no inertia" in said
    assert "Give the parts that move a mass or inertia" in said
    assert "\n" not in said


def crossed(uses: Iterable[str], arms: Iterable[str]) -> list[object]:
    """List uses with arms: every use of one arm and one use of every arm; campaigns take the rest.

    Which motion has no inertia is found in one place, whatever asks for it.
    """
    listed, names = list(uses), list(arms)
    return [
        pytest.param(use, name, marks=campaign_if(use != listed[0] and name != FLEXIBLE))
        for use in listed
        for name in names
    ]


@pytest.mark.few(8)
@pytest.mark.parametrize(("use", "name"), crossed(USES, ARMS))
def test_every_use_says_what_has_no_inertia(name: str, use: str) -> None:
    require_line(USES[use], name)


@pytest.mark.parametrize(
    ("use", "name"), crossed(LAWS, [name for name in ARMS if "free base" not in name])
)
def test_every_law_says_it_too(name: str, use: str) -> None:
    require_line(LAWS[use], name)


@pytest.mark.usefixtures("without_costs")
@pytest.mark.parametrize("name", ARMS)
def test_check_says_the_same(name: str) -> None:
    arm = loads(text(name))
    notice = next(each for each in check(arm).notices if each.code == "no-inertia")
    with pytest.raises(flexarm.SimulationError) as caught:
        flexarm.simulate(arm, t_end=0.1)
    assert str(caught.value) == f"{notice.place}: {notice.message}. {notice.remedy}"


def test_converge_and_sweep_say_it() -> None:
    require_line(flexarm.converge, FLEXIBLE)
    require_line(lambda arm: flexarm.sweep(arm, at={"joint1": [0.0, 1.0]}, joints="free"), FLEXIBLE)


@pytest.mark.few(2)
@pytest.mark.parametrize("command", ["simulate", "modes", "compare", "converge"])
def test_every_command_says_it_in_a_line(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "arm.yaml"
    path.write_text(text(FLEXIBLE))
    assert main([command, str(path)]) == 4
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("flexarm: error: links[2]: joint2 has no inertia")
    assert printed.err.count("\n") == 1


def test_a_joint_without_inertia_that_is_held_moves_with_the_rest() -> None:
    """A wrist with a point mass on its axis is as good as none while it is locked."""
    name = "a point mass on the axis"
    whole = {"joint2": [(0.0, 1.0)]}
    run = flexarm.simulate(loads(text(name)), t_end=0.5, inputs={"joint1": 1.0}, locks=whole)
    assert run.status == "finished"
    inertia = 0.25 + 1.5**2
    assert run.q[-1, 0] == pytest.approx(0.5 * 0.25 / inertia, rel=1e-6)


def test_a_joint_without_inertia_that_is_released_stops_the_run() -> None:
    run = flexarm.simulate(
        loads(text("a point mass on the axis")), t_end=0.5, locks={"joint2": [(0.0, 0.25)]}
    )
    assert (run.status, run.t[-1]) == ("stopped", 0.25)
    assert run.reason.startswith("at t = 0.25 s: links[2]: joint2 has no inertia here")


def test_a_small_wrist_on_a_large_arm_is_no_joint_without_inertia() -> None:
    arm = loads(
        "flexarm: 1\nname: crane\ngravity: [0, 0, 0]\nlinks:\n"
        "  - {joint: {kind: revolute}, length: 20, body: {mass: 5e3, com: [10, 0, 0]}}\n"
        "  - {joint: {kind: revolute, axis: [1, 0, 0]}, body: {inertia: [1e-9, 1e-9, 1e-9]}}\n"
    )
    run = flexarm.simulate(arm, t_end=0.1, inputs={"joint2": 1e-9})
    assert run.v[-1, 1] == pytest.approx(0.1, rel=1e-6)


def test_stable_inversion_says_it() -> None:
    arm = loads(
        "flexarm: 1\nname: twist\ngravity: [0, 0, 0]\nlinks:\n"
        "  - joint: {kind: revolute, axis: [1, 0, 0]}\n    length: 1\n"
        "    section: {mass_per_length: 1, EIz: 100}\n"
        "    shapes: {kind: clamped-free, bending_y: 1}\n"
    )
    with pytest.raises(flexarm.SimulationError, match="joint1 has no inertia"):
        stable_inversion(flexarm.build(arm), 0.5, Timing("quintic", 1.0))
