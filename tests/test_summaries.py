"""What `print` and notebooks show: a few lines, and HTML in which names are only text."""

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

import flexarm
from flexarm import control
from flexarm.arm.constants import REPR_LENGTH, TEXT_ROWS
from flexarm.arm.part import _terse
from flexarm.arm.summary import Summary
from flexarm.integrate.laws import Sampled
from flexarm.io.model_file import loads
from tests.links.reduced_bodies import arm_with, clamped

ARM = """\
flexarm: 1
name: "<b>two</b> & one"
links:
  - {joint: {kind: revolute}, length: 1, section: {mass_per_length: 1, EIz: 50},
     shapes: {kind: loaded, bending_y: 1}}
  - {name: tool, joint: {kind: prismatic}, length: 0.5, body: {mass: 1}}
"""


@pytest.fixture(scope="module")
def shown() -> dict[str, object]:
    arm = loads(ARM, "arm")
    return {
        "arm": arm,
        "model": flexarm.build(arm),
        "run": flexarm.simulate(arm, t_end=0.1),
        "modes": flexarm.modes(arm),
        "linear": flexarm.linearise(arm),
        "sweep": flexarm.sweep(arm, at={"joint2": [0.0, 0.1]}),
        "rest": flexarm.equilibrium(arm, at={"joint1": 0.0, "joint2": 0.0}),
    }


SAID = {
    "arm": (
        "Arm: <b>two</b> & one",
        "link1  joint1 revolute",
        "tool   joint2 prismatic  0.5 m   rig",
    ),
    "model": ("Model of <b>two</b> & one: 3 coordinates, joint1, link1.y1, joint2",),
    "run": ("Run of <b>two</b> & one: finished at t = 0.1 s", "samples of 3 coordinates"),
    "modes": ("3 modes of <b>two</b> & one", "joints: joint1 free", "link 1 bending y 1"),
    "linear": ("6 states, 2 inputs", "inputs: joint1 [N m], joint2 [N]"),
    "sweep": ("over the position of joint2 0 to 0.1 m, 2 points", "link 1 bending y 1"),
    "rest": ("Equilibrium of <b>two</b> & one", "held by joint1"),
}


@pytest.mark.parametrize("name", SAID)
def test_what_is_printed_is_short_and_says_what_it_is(name: str, shown: dict[str, object]) -> None:
    text = repr(shown[name])
    assert str(shown[name]) == text
    assert len(text.splitlines()) < 16
    for part in SAID[name]:
        assert part in text


@pytest.mark.parametrize("name", [name for name in SAID if name != "model"])
def test_notebooks_get_whole_html_in_which_names_are_text(
    name: str, shown: dict[str, object]
) -> None:
    html = shown[name]._repr_html_()  # type: ignore[attr-defined]
    root = ElementTree.fromstring(html)
    title = root.find("b")
    assert title is not None
    assert "<b>two</b> & one" in "".join(title.itertext())
    assert {"arm": "svg", "run": "iframe"}.get(name, "table") in {each.tag for each in root.iter()}


def test_laws_are_printed_in_ten_lines() -> None:
    arm = flexarm.example_arm("deluca-siciliano")
    space = flexarm.linearise(arm)
    move = control.joint_move(space.model, {"joint1": 0.5}, control.Timing("quintic", 1.0))
    said = {
        "Trajectory of De Luca": move,
        "residual of the Riccati equations: ": control.lqr(move),
        "at 9 postures of a motion from 0 to 1 s": control.lqr(move, points=9),
        "sees joint1, joint2, tip.x": control.lqg_law(space, 1e-3).law,
        "Sampled law, called every 0.001 s": control.lqg_law(space, 1e-3),
        "delay 0.02 s, limits 3.0": Sampled(lambda t, q, v: [0, 0], 0.01, delay=0.02, limits=3.0),
        "Sensors: joint1, joint2": control.sensors(space.model),
    }
    for part, law in said.items():
        assert part in str(law)
        assert len(str(law).splitlines()) <= 10
        assert len(str(law)) < 1000


def test_shaped_inputs_are_printed_in_ten_lines_with_what_is_left() -> None:
    link = flexarm.change_arm(flexarm.example_arm("driven-link"), {
        "links.1.shapes": {"kind": "craig-bampton", "bending_y": 4}, "links.1.joint.input": None,
        "links.1.joint.servo": {"stiffness": 50, "damping": 3, "target": {
            "kind": "step", "value": 0.2}},
    })  # fmt: skip
    shaped = flexarm.shape_inputs(link, kind="zv")
    assert "tip vibration after" not in repr(shaped)  # which simulates nothing
    text = str(shaped)
    before, after = shaped.residuals
    assert f": {1e3 * after:.4g} mm, unshaped {1e3 * before:.4g} mm" in text
    assert len(text.splitlines()) <= 10
    assert text.splitlines()[-1].strip().startswith("... ")
    assert " yes " in text  # what is shaped for is never left out


def test_pieces_are_told_in_a_line_of_what_is_given(shown: dict[str, object]) -> None:
    arm = shown["arm"]
    assert isinstance(arm, flexarm.Arm)
    assert repr(arm.links[0].joint) == str(arm.links[0].joint) == "Revolute(kind='revolute')"
    assert repr(arm.links[1]).startswith("Link(name='tool', joint=Prismatic(kind='prismatic'), ")
    long = repr(flexarm.example_arm("graves-rms").links[1])
    assert 200 < len(long) <= REPR_LENGTH + 5
    assert long.endswith(", ...")
    assert long.removesuffix(", ...") in _terse(flexarm.example_arm("graves-rms").links[1])
    equation = flexarm.formulation("gibbs-appell", flexarm.build(arm))
    assert repr(equation) == "Equation of <b>two</b> & one by gibbs-appell: 3 coordinates"
    assert repr(flexarm.batch(arm, 2, dt=0.01)).startswith(
        "Batch of 2 times <b>two</b> & one: 0.01"
    )
    many = replace(shown["sweep"], notices=tuple("abcdef"), notes=())  # type: ignore[type-var]
    assert "a\n  b\n  c\n  ... 3 more\n" in repr(many)


def test_a_run_whose_page_is_large_is_a_picture_in_a_notebook(
    shown: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flexarm.runs.run.PAGE_CHARACTERS", 1000)
    html = shown["run"]._repr_html_()  # type: ignore[attr-defined]
    assert "data:image/png" in html
    assert "srcdoc" not in html


def test_bodies_with_modes_name_their_file_and_are_drawn_apart(tmp_path: Path) -> None:
    arm = arm_with(tmp_path, clamped(1), clamped(1))
    assert "link2  joint2 revolute  of body1.npz  flexible" in repr(arm)
    circles = ElementTree.fromstring(arm._repr_html_()).iter("circle")
    assert [each.get("cx") for each in circles] == ["20.0", "320.0", "620.0"]


def test_long_tables_are_counted() -> None:
    long = Summary("many", (), ("a",), [(str(k),) for k in range(TEXT_ROWS + 5)])
    assert long.text().splitlines()[-1] == "  ... 5 more"
