"""Equations in the papers' letters: what is printed is evaluated, and compiled where TeX is."""

import re
import shutil
import subprocess
from math import atan, cos, sin
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import flexarm
from flexarm.cli import main
from flexarm.closed_forms.equations import Equations, closed_form
from flexarm.closed_forms.text import as_latex, as_latex_document
from flexarm.errors import FlexarmError
from flexarm.formulations import formulation
from flexarm.model import Model, build
from flexarm_papers.runs import changed

Array = npt.NDArray[np.float64]


def evaluated(equations: Equations, q: Array, v: Array) -> dict[str, float]:
    """Evaluate every line of the printed LaTeX, by its left side."""
    n, generators = len(equations.names), equations.generators
    known = {
        g.latex: x for g, x in zip(generators[: 2 * n], [*q.tolist(), *v.tolist()], strict=True)
    }
    known |= equations.values
    for line in as_latex(equations, digits=17).splitlines()[1:-1]:
        left, _, right = line.removesuffix(r" \\").partition(" &= ")
        known[left] = value(right, known)
    return known


def value(text: str, known: dict[str, float]) -> float:
    """Evaluate a printed sum."""
    text = re.sub(r"\\[bB]ig[lr]", "", text)
    for symbol in sorted(known, key=len, reverse=True):
        number = f"({float(known[symbol])!r})"
        plain = re.escape(symbol)
        text = re.sub(rf"\{{{plain}(?:\{{\}})?\}}\^\{{(-?\d+)\}}", rf"{number}**(\1)", text)
        text = re.sub(rf"\\(sin|cos)\^\{{(\d+)\}} {plain}", rf"\1{number}**(\2)", text)
        text = re.sub(rf"\\(sin|cos) {plain}", rf"\1{number}", text)
        text = text.replace(symbol, number)
    text = re.sub(r"\\(sin|cos)\^\{(\d+)\} (\([^*]*?\)\))", r"\1\3**(\2)", text)  # sums of angles
    text = re.sub(r"\\(sin|cos) \(", r"\1(", text).replace(r"\arctan", "*atan")
    text = re.sub(r"\\tfrac\{(\d+)\}\{(\d+)\}", r"(\1/\2)", text)
    text = text.replace(r"\,", "*").replace(r"\cdot 10", "*10")
    text = re.sub(r"\^\{(-?\d+)\}", r"**(\1)", text)
    assert not re.search(r"[\\{}]", text), text
    text = re.sub(r"(?<=\d)\(", "*(", text)  # an angle that counts twice
    return float(eval(text.replace("2 *atan", "2*atan"), {"sin": sin, "cos": cos, "atan": atan}))


def entries(found: dict[str, float], letter: str, n: int) -> Array:
    """Collect the entries of a matrix, or of a vector, that are printed."""
    if letter in "hcf":
        return np.array([found.get(f"{letter}_{{{i + 1}}}", 0.0) for i in range(n)])
    upper = [[found.get(f"{letter}_{{{min(i, j) + 1},{max(i, j) + 1}}}", 0.0) for j in range(n)]
             for i in range(n)]  # fmt: skip
    return np.array(upper)


def gaps(model: Model) -> list[float]:
    """Compare M, h, c and elastic forces of printed LaTeX with composite's, relatively."""
    equations, equation, n = (
        closed_form(model, named=True),
        formulation("composite", model),
        model.size,
    )
    rng = np.random.default_rng(0)
    q, v = 0.3 * rng.standard_normal(n), rng.standard_normal(n)
    for index, low, high in model.sliding_ranges:
        q[index] = 0.4 * low + 0.6 * high
    found, parts = evaluated(equations, q, v), equation.parts(q, v)
    M, h, c, K, k = (entries(found, letter, n) for letter in "MhcKf")
    pairs = ((M, equation.mass_matrix(q)), (h, parts["coriolis"]), (c, parts["gravity"]),
             (K @ q + k, parts["elastic"]))  # fmt: skip
    return [float(np.abs(a - b).max() / (np.abs(b).max() or 1.0)) for a, b in pairs]


@pytest.mark.parametrize(
    "name",
    ["korayem-two-link", "driven-link-payload",
     *(pytest.param(x, marks=pytest.mark.campaign)
       for x in ("deluca-siciliano", "tg-rr-payload", "tg-rr-elements", "tg-rp", "tg-rrp",
                 "tg-rp-elements", "puma-560", "chu-example-1"))],
)  # fmt: skip
def test_printed_latex_has_the_values_of_composite(name: str) -> None:
    assert max(gaps(build(flexarm.example_arm(name), stiffening=False))) < 1e-11


def test_integrals_have_the_names_of_the_papers() -> None:
    model = build(flexarm.example_arm("korayem-two-link"), stiffening=False)
    equations = closed_form(model, named=True)
    text = as_latex(equations)
    assert r"M_{3,3} &= J_{2xx} + {}^{s}c_{211}\, {\delta_{21}}^{2} \\" in text
    # the tip of link 1 turns what is beyond it by an angle that adds to joint 2's
    assert r"M_{1,4} &= \alpha_{21} + l_{1}\, \varepsilon_{21}\, \cos (q_{2}+\gamma_{1})" in text
    assert r"c_{4} &= \varepsilon_{21}\, g\, \cos (q_{1}+q_{2}+\gamma_{1}) \\" in text
    assert equations.terms < 150
    assert r"\dot q_{1}\, \dot \delta_{11}" in text
    assert equations.values["m_{2}"] == pytest.approx(5.0)
    # int mu phi dx of a clamped-free beam of 5 kg/m, scaled to 1 at its tip
    assert equations.values[r"\varepsilon_{21}"] == pytest.approx(5 * 0.3914959, rel=1e-6)


def test_the_document_has_values_where_they_are_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "arm.tex"
    asked = ["equations", "korayem-two-link", "--stiffening", "off", "--latex", str(file)]
    assert main(asked) == 0
    plain = file.read_text()
    assert r"\alpha_{11} &\quad \int \mu\, x\, \phi_{11}\, dx \\" in plain
    assert main([*asked, "--numbers", "--letters", "theodore", "--force"]) == 0
    theirs = r"\alpha_{11} &\quad \int \rho A\, x\, \psi_{11}\, dx = 1.42206 \\"
    assert theirs in file.read_text()
    assert r"\dot \xi_{11}" in file.read_text()
    assert r"\section*{Korayem \& Shafei two-link arm}" in plain
    for one, other in ("{}", ("\\bigl", "\\bigr"), ("\\begin", "\\end")):
        assert plain.count(one) == plain.count(other)


@pytest.mark.campaign
def test_nodes_of_elements_have_the_letters_of_the_papers_that_have_elements() -> None:
    equations = closed_form(
        build(flexarm.example_arm("chu-example-2"), stiffening=False), named=True
    )
    theirs = as_latex_document(equations, letters="chu")
    # nodes 2 and 3 of link 2, deflection and slope each; those of node 1 are clamped
    assert r"p_{2},\ u_{(2)3},\ u_{(2)4},\ u_{(2)5},\ u_{(2)6})^T" in theirs
    assert r"u_{(2)6} &\quad \text{link2.node2.slope\_y}" in theirs
    text = as_latex_document(equations, letters="theodore")
    assert r"\phi^{v_{2}}_{3} &\quad \text{link2.node2.slope\_y}" in text
    assert r"\dot \delta^{v_{1}}_{2}" in text
    for each in (theirs, text):
        assert r"\delta_{1" not in each
        assert r"\xi_{1" not in each


def test_letters_that_no_paper_has_are_refused() -> None:
    equations = closed_form(build(flexarm.example_arm("korayem-two-link"), stiffening=False))
    with pytest.raises(FlexarmError, match="letters: must be one of korayem, theodore, chu, got"):
        as_latex_document(equations, letters="foo")
    with pytest.raises(
        FlexarmError, match=r"Chu's paper have none for link1\.y1. They cover planar links"
    ):
        as_latex_document(equations, letters="chu")
    drive = {"stiffness": 100, "rotor_inertia": 0.01}
    wound = changed("driven-link", {
        "links.1.joint.drive": drive, "links.1.shapes": {"kind": "elements", "bending_y": 1},
    })  # fmt: skip
    equations = closed_form(build(wound, stiffening=False), named=True)
    with pytest.raises(FlexarmError, match=r"none for joint1\.motor. .* on rigid joints\.$"):
        as_latex_document(equations, letters="chu")


def test_a_hub_is_one_inertia_and_a_sliding_link_has_letters() -> None:
    equations = closed_form(build(flexarm.example_arm("tg-rp"), stiffening=False), named=True)
    text = as_latex(equations)
    assert equations.values["I_{1}"] == pytest.approx(0.352)
    assert equations.values["m_{2}"] == pytest.approx(0.4303)
    assert equations.values["l^{0}_{2}"] == pytest.approx(1.3)
    assert r"M_{4,4} &= m_{2} + \tfrac" not in text
    assert not re.search(r"0\.\d", text)  # every number has a letter
    assert r"f_{4} &= - \tfrac{3}{2}\, k_{211}\, {q_{2}}^{-4}" in text


@pytest.mark.campaign
@pytest.mark.parametrize("name", ["tg-rrr-2planes-elements", "tg-rrp-2planes"])
def test_equations_of_up_to_20_coordinates_are_printed_by_parts(name: str) -> None:
    model = build(flexarm.example_arm(name), stiffening=False)
    assert 12 < model.size <= 20 or name == "tg-rrp-2planes"
    assert max(gaps(model)) < 1e-10


@pytest.mark.campaign
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
@pytest.mark.parametrize(
    ("name", "letters"),
    [("korayem-two-link", "korayem"), ("deluca-siciliano", "korayem"), ("tg-rrp", "theodore"),
     ("tg-rr-elements", "theodore"), ("chu-example-1", "chu"), ("driven-link-payload", "korayem")],
)  # fmt: skip
def test_the_document_compiles(name: str, letters: str, tmp_path: Path) -> None:
    model = build(flexarm.example_arm(name), stiffening=False)
    text = as_latex_document(closed_form(model, named=True), numbers=True, letters=letters)
    (tmp_path / "arm.tex").write_text(text)
    command = ["pdflatex", "-interaction=batchmode", "-halt-on-error", "arm.tex"]
    assert subprocess.run(command, cwd=tmp_path, check=False).returncode == 0
    assert "Overfull" not in (tmp_path / "arm.log").read_text(errors="replace")
