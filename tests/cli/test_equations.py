"""`flexarm equations`: what is printed is the equation of the arm."""

import json
import re
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
import pytest

import flexarm
from flexarm.cli import main
from flexarm.closed_forms.equations import Equations, closed_form
from flexarm.closed_forms.polynomials import Ring
from flexarm.closed_forms.text import as_document, as_latex, as_python, as_text
from flexarm.formulations.composite import Composite
from flexarm.formulations.lagrange import Lagrange
from flexarm.formulations.quantities import trace
from flexarm.io.model_file import loads
from flexarm.model import Model, build
from tests.physics.states import random_state

Array = npt.NDArray[np.float64]

PENDULUM = """
flexarm: 1
name: pendulum
gravity: [0, -9.81, 0]
links:
  - joint: {kind: revolute, spring: {stiffness: 3, rest: 0.5}}
    length: 1
    body: {mass: 2, com: [0.5, 0, 0], inertia: [0, 0.2, 0.2]}
"""

ODD_NAMES = """
flexarm: 1
name: 'odd "names" \\'
gravity: [0, -9.81, 0]
links:
  - joint: {kind: revolute, name: q}
    name: link-a
    length: 1
    section: {mass_per_length: 5, EIz: 1000}
    shapes: {kind: clamped-free, bending_y: 1}
  - joint: {kind: revolute, name: lambda}
    name: link_a
    length: 1
    section: {mass_per_length: 5, EIz: 1000}
    shapes: {kind: clamped-free, bending_y: 1}
"""

SHEARING = """flexarm: 1
name: shearing
links:
  - joint: {kind: revolute}
    length: 1
    section: {mass_per_length: 2, EIz: 300, GAy: 4000, Jz: 0.01}
    shapes: {kind: loaded, bending_y: 2}
"""
TWISTED = """
flexarm: 1
name: bent along z, twisted and stretched, with names that angles have
gravity: [0, -9.81, 0]
links:
  - joint: {kind: revolute, name: psi1}
    length: 1
    section: {mass_per_length: 5, EIz: 1000, EIy: 1500, GJ: 300, EA: 100000, Jx: 0.01}
    shapes: {kind: clamped-free, bending_y: 0, bending_z: 1, torsion: 1, stretch: 1}
  - joint: {kind: revolute, axis: [0, 1, 0], name: alpha2_1}
    length: 1
    section: {mass_per_length: 5, EIz: 1000}
    shapes: {kind: clamped-free, bending_y: 1}
"""

SPATIAL = """
flexarm: 1
name: one link, bent in space
gravity: [1, 2, -9.81]
links:
  - joint: {kind: revolute}
    length: 1
    section: {mass_per_length: 5, EIz: 1000, EIy: 1500, GJ: 300, EA: 100000, Jx: 0.01}
    shapes: {kind: clamped-free, bending_y: 1, bending_z: 1, torsion: 1, stretch: 1}
  - joint: {kind: fixed, before: {rotation: [0.3, 0.2, 0.1]}}
    length: 0.1
    body: {mass: 2, com: [0.02, 0.01, 0], inertia: [0.01, 0.02, 0.02]}
"""

TABLE = """
flexarm: 1
name: tabulated spring
links:
  - joint:
      kind: revolute
      spring: {stiffness: {deflection: [-1, 0, 1], effort: [-2, 0, 5]}}
    length: 1
    body: {mass: 2, com: [0.5, 0, 0]}
"""


def printed(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    """Run the command and return what it prints."""
    assert main(["equations", *argv]) == 0
    return capsys.readouterr().out


def executed(text: str) -> dict[str, Callable[..., Array]]:
    """Execute printed Python."""
    names: dict[str, Any] = {}
    exec(compile(text, "printed", "exec"), names)
    return names


def values(function: ca.Function, *arrays: Array) -> list[Array]:
    """Evaluate a traced function."""
    return [np.array(ca.densify(x)) for x in function.call([ca.DM(a) for a in arrays])]


def worst(python: dict[str, Callable[..., Array]], model: Model, formulation: Composite) -> float:
    """Largest difference of M and every part of c, in scaled coordinates, relative."""
    mass, parts = trace(formulation, "mass_matrix"), trace(formulation, "parts")
    errors = []
    for seed in range(2):
        s = random_state(model, seed, inputs=0, wrenches=0)
        (M,) = values(mass, s.q)
        scale = np.sqrt(np.diag(M))
        coriolis, gravity, elastic, _ = (x.ravel() for x in values(parts, s.q, s.v))
        size = np.outer(scale, scale)
        pairs = [
            (python["mass_matrix"](s.q) / size, M / size),
            (python["coriolis"](s.q, s.v) / scale, coriolis / scale),
            (python["gravity"](s.q) / scale, gravity / scale),
            ((python["stiffness"](s.q) @ s.q + python["further"](s.q)) / scale, elastic / scale),
        ]
        for got, expected in pairs:
            measure = np.abs(expected).max() or 1.0
            errors.append(np.abs(got - expected).max() / measure)
    return float(max(errors))


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("sample", "stiffening"),
    [
        ("korayem-two-link", "off"),
        pytest.param("tg-rr", "as-given", marks=pytest.mark.campaign),
        pytest.param("tg-rrp", "as-given", marks=pytest.mark.campaign),
        pytest.param("tg-rp", "as-given", marks=pytest.mark.campaign),
        ("tg-rr-elements", "as-given"),
        pytest.param("puma-560", "as-given", marks=pytest.mark.campaign),
        pytest.param("driven-link-payload", "on", marks=pytest.mark.campaign),
        pytest.param("chen-rotating-link", "on", marks=pytest.mark.campaign),
        ("telescope", "on"),
    ],
)
def test_printed_python_returns_the_values_of_composite(
    sample: str, stiffening: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = printed(capsys, sample, "--format", "python", "--stiffening", stiffening)
    choice = {"on": True, "off": False, "as-given": None}[stiffening]
    model = build(flexarm.example_arm(sample), stiffening=choice)
    assert worst(executed(text), model, Composite(model)) < 1e-12


@pytest.mark.campaign
@pytest.mark.few(1)
@pytest.mark.parametrize(
    "arm",
    [
        flexarm.example_arm("driven-link-payload"),
        pytest.param(flexarm.example_arm("korayem-two-link"), marks=pytest.mark.campaign),
        pytest.param(flexarm.example_arm("tg-rr"), marks=pytest.mark.campaign),
        loads(TWISTED, "twisted"),
        loads(SHEARING, "shearing"),
    ],
    ids=lambda arm: arm.name,
)
def test_printed_equations_of_exact_links_have_their_values(arm: flexarm.Arm) -> None:
    model = build(arm, stiffening=True, nodes=1)
    python = executed(as_python(closed_form(model)))
    assert worst(python, model, Composite(model)) < 1e-12


@cache
def exact_two_link() -> tuple[Model, Equations]:
    model = build(flexarm.example_arm("korayem-two-link"), stiffening=True, nodes=1)
    return model, closed_form(model)


def test_text_of_exact_links_evaluates_to_the_mass_matrix_and_says_what_angles_are() -> None:
    model, equations = exact_two_link()
    text = as_text(equations, digits=17)
    assert "      (angle along y of link 1 at its node 2, x = 0.7887 m)" in text.splitlines()
    q = random_state(model, 0, inputs=0, wrenches=0).q
    symbols = re.search(r"^q = \((.*)\)$", text, re.MULTILINE)
    assert symbols is not None
    values_of: dict[str, Any] = dict(zip(symbols[1].split(", "), q, strict=True))
    values_of |= {"sin": np.sin, "cos": np.cos}
    found = np.zeros((model.size, model.size))
    joined = re.sub(r"\n {6}(?=[+-])", " ", text[text.index("where\n") : text.index("\nh, ")])
    for name, expression in re.findall(r"^  (\S+) = (.*)$", joined, re.MULTILINE):
        value = eval(expression, values_of)
        if name.startswith("M["):
            i, j = (int(k) - 1 for k in name[2:-1].split(","))
            found[i, j] = found[j, i] = value
        values_of[name] = value
    (M,) = values(trace(Composite(model), "mass_matrix"), q)
    assert found == pytest.approx(M, rel=1e-10, abs=1e-10)


def test_products_of_sines_and_cosines_of_exact_planar_links_are_joined() -> None:
    equations = exact_two_link()[1]
    found = as_document(equations)
    entries = [entry for row in equations.M for entry in row] + [*equations.h, *equations.c]
    kinds = [g.kind for g in equations.generators]
    for entry in entries:
        for powers in entry:
            assert sum(n for g, n in powers if kinds[g] in ("sine", "cosine")) <= 1
    assert found["meanings"]["alpha1_tip"] == "angle along y of link 1 at its tip"  # type: ignore[index]
    assert set(found["meanings"]) <= set(found["definitions"])  # type: ignore[call-overload]
    latex = as_latex(equations)
    assert latex.count("{") == latex.count("}")
    assert r"\text{(angle along y of link 1 at its tip)} \\" in latex


@pytest.mark.campaign
def test_equations_of_a_link_that_bends_in_two_planes_have_their_values_and_named_tangents() -> (
    None
):
    model = build(loads(SPATIAL), nodes=1)
    equations = closed_form(model)
    text, latex = as_text(equations), as_latex(equations)
    assert "  entire(k, x) = sum of (-x)**n / (2*n + k)! over n = 0, 1, 2, ..." in text
    assert "  c1_1_2 = entire(1, alpha1_2**2 + beta1_2**2)" in text
    assert "  t1_2_y = alpha1_2*c1_1_2" in text
    assert r"c_{k}" not in latex
    assert r"c_1^{1,\mathrm{2}} &= c_1\bigl(" in latex
    assert latex.count("{") == latex.count("}")
    assert worst(executed(as_python(equations)), model, Composite(model)) < 1e-12


@pytest.mark.campaign
def test_equations_of_two_links_that_bend_in_two_planes_have_their_values_in_named_parts() -> None:
    model = build(flexarm.example_arm("count-3-2-2"), stiffening=True, nodes=1)
    equations = closed_form(model)
    parts = [each for each in equations.generators if each.kind == "part"]
    assert all(max(map(abs, each.of.values())) == 1 for each in parts)
    assert sum(len(each.of) for each in parts) < equations.terms < 9000
    assert "\n  s1 = " in as_text(equations)
    assert "\ns_{1} &= " in as_latex(equations)
    assert worst(executed(as_python(equations)), model, Composite(model)) < 1e-12


@pytest.mark.campaign
def test_equations_that_are_too_long_for_one_sum_each_are_written_in_named_parts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = build(flexarm.example_arm("tg-rr-2planes"), stiffening=False)
    hasty = partial(Ring, patience=50_000)
    monkeypatch.setattr("flexarm.closed_forms.equations.Ring", hasty)
    equations = closed_form(model)
    assert any(each.kind == "part" for each in equations.generators)
    assert worst(executed(as_python(equations)), model, Composite(model)) < 1e-12


def test_a_sliding_exact_link_that_bends_in_two_planes_is_refused() -> None:
    model = build(flexarm.example_arm("tg-rp-2planes"), stiffening=True, nodes=1)
    with pytest.raises(
        flexarm.FlexarmError,
        match=r"link2 is an exact beam that slides and bends along y and z.* off'",
    ):
        closed_form(model)


def test_first_order_equations_are_those_of_the_paper(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "tg-rr", "--format", "python", "--tip-rotation", "first-order")
    model = build(flexarm.example_arm("tg-rr"))
    python = executed(text)
    s = random_state(model, 0, inputs=0, wrenches=0)
    paper = Lagrange(model, paper=True)
    (M,) = values(trace(paper, "mass_matrix"), s.q)
    coriolis = values(trace(paper, "parts"), s.q, s.v)[0].ravel()
    assert python["mass_matrix"](s.q) == pytest.approx(M, rel=1e-12, abs=1e-12)
    assert python["coriolis"](s.q, s.v) == pytest.approx(coriolis, rel=1e-11, abs=1e-11)


def test_a_pendulum_reads_as_in_a_book(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "pendulum.yaml"
    path.write_text(PENDULUM)
    assert printed(capsys, str(path)).splitlines() == [
        "pendulum: M a + h + c + K q + k = B u",
        "",
        "q = (joint1)",
        "",
        "where",
        "  cos_joint1 = cos(joint1)",
        "",
        "M, where not zero:",
        "  M[1,1] = 0.7",
        "",
        "h = 0",
        "",
        "c, where not zero:",
        "  c[1] = 9.81*cos_joint1",
        "",
        "K, where not zero:",
        "  K[1,1] = 3",
        "",
        "k, where not zero:",
        "  k[1] = -1.5",
    ]


def test_latex_has_an_entry_per_line_and_balanced_braces(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = printed(capsys, "korayem-two-link", "--format", "latex")
    lines = text.splitlines()
    assert (lines[0], lines[-1]) == (r"\begin{align*}", r"\end{align*}")
    assert all(line.count("&=") == 1 and line.endswith(r" \\") for line in lines[1:-1])
    assert text.count("{") == text.count("}")
    assert r"M_{3,3} &= 1.66667 + 1.25\, {\delta_{21}}^{2} \\" in lines
    assert r"\kappa_{1} &= \Bigl(1 + 0.25\, {\theta_{1z}}^{2}\Bigr)^{-1} \\" in lines


def test_text_and_document_have_the_same_entries(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(printed(capsys, "korayem-two-link", "--json"))
    assert set(found) == {
        "arm", "coordinates", "symbols", "definitions", "meanings", "terms",
        "M", "h", "c", "K", "k"
    }  # fmt: skip
    assert found["coordinates"] == ["joint1", "link1.y1", "joint2", "link2.y1"]
    text = printed(capsys, "korayem-two-link")
    given = {
        f"M[{i + 1},{j + 1}]"
        for i, row in enumerate(found["M"])
        for j, entry in enumerate(row)
        if j >= i and entry != "0"
    }
    assert set(re.findall(r"^  (M\[\d,\d\]) =", text, re.MULTILINE)) == given
    assert eval(found["M"][2][3]) == pytest.approx(1.42206, abs=5e-6)


@pytest.mark.campaign
def test_no_entry_keeps_the_square_of_a_sine_or_the_first_joint_s_angle_in_the_mass_matrix(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = json.loads(printed(capsys, "tg-rr", "--json"))
    entries = [entry for row in found["M"] for entry in row]
    assert not any(re.search(r"sin_\w+\*\*", entry) for entry in entries)
    assert not any("joint1" in entry for entry in entries)


def test_names_that_python_does_not_take_are_changed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "odd.yaml"
    path.write_text(ODD_NAMES)
    text = printed(capsys, str(path), "--format", "python", "--stiffening", "off")
    model = build(flexarm.load(path), stiffening=False)
    assert worst(executed(text), model, Composite(model)) < 1e-12


def test_a_file_is_written_once_and_overwritten_when_forced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "arm.py"
    argv = ["equations", "driven-link", "--stiffening", "off", "--format", "python"]
    assert main([*argv, "--out", str(path)]) == 0
    assert capsys.readouterr().out == ""
    text = path.read_text()
    assert executed(text)["mass_matrix"](np.zeros(5)).shape == (5, 5)
    path.write_text("mine")
    assert main([*argv, "--out", str(path)]) == 1
    assert "the file exists already. Use force (--force)" in capsys.readouterr().err
    assert path.read_text() == "mine"
    assert main([*argv, "--out", str(path), "--force"]) == 0
    assert path.read_text() == text


@pytest.mark.parametrize(
    ("arm", "message"),
    [
        ("chen-two-link", "has 24 coordinates, and equations are printed for at most 20"),
        ("theodore-rrp", "the shapes of this link depend on its changing length"),
    ],
)
def test_arms_whose_equations_are_too_long_are_refused(
    arm: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["equations", arm]) == 1
    assert message in capsys.readouterr().err


def test_tables_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "table.yaml"
    path.write_text(TABLE)
    assert main(["equations", str(path)]) == 1
    assert "Leave out springs and elastic forces" in capsys.readouterr().err


def test_a_carriage_on_a_rail_that_bends_is_refused_by_that_reason() -> None:
    with pytest.raises(flexarm.FlexarmError, match=r"carriage rides on rail, whose shapes"):
        closed_form(build(flexarm.example_arm("carriage-on-rail")))
