"""The method of kinematic influence: equal to the others, and what its paper leaves out."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import flexarm
from flexarm.formulations.composite import Composite
from flexarm.formulations.kinematic_influence import KinematicInfluence
from flexarm.io.model_file import load, loads
from flexarm.model import Model, build
from tests.formulations.equation_values import Array, Values, exponent, states
from tests.links.strips import strip, write
from tests.physics.cases import campaign_if
from tests.physics.options import CASES
from tests.physics.states import Verdict, compare


def verdicts(model: Model) -> dict[str, Verdict]:
    """Compare with composite at two states, scaled by sqrt(diag M): the worst of each kind."""
    ours, theirs = Values(KinematicInfluence(model)), Values(Composite(model))
    found: dict[str, list[Verdict]] = {}
    for s in states(model):
        mass = theirs.mass(s.q)
        scale = np.sqrt(np.diag(mass))
        both = np.outer(scale, scale)
        parts = zip(ours.call("parts", s.q, s.v), theirs.call("parts", s.q, s.v), strict=True)
        coriolis, gravity, _, _ = (_scaled(x.ravel(), y.ravel(), scale) for x, y in parts)
        pairs = {
            "M": compare(ours.mass(s.q) / both, mass / both),
            "coriolis": coriolis,
            "gravity": gravity,
            "accelerations": compare(
                ours.forward(s)[: model.size] * scale,
                theirs.forward(s)[: model.size] * scale,
                condition=theirs.condition(s.q),
            ),
        }
        for kind, verdict in pairs.items():
            found.setdefault(kind, []).append(verdict)
    return {kind: max(each, key=lambda v: v.error) for kind, each in found.items()}


def _scaled(got: Array, expected: Array, scale: Array) -> Verdict:
    return compare(got / scale, expected / scale)


def test_measured_modes_have_the_equation_that_composite_gives(tmp_path: Path) -> None:
    content = strip()
    content["M"] = [[1.6, 0.01, 0.0], [0.01, 1.7, 0.02], [0.0, 0.02, 1.65]]
    del content["frequencies"]
    content["K"] = [4e3, 4e3, 1.6e5]
    write(tmp_path, content)
    path = tmp_path / "arm.yaml"
    path.write_text(
        "flexarm: 1\nname: measured\ngravity: [1, -9, 2]\nlinks:\n"
        "  - joint: {kind: revolute, axis: [0, 1, 0]}\n    length: 1.2\n"
        "    section: {mass_per_length: 5, EIz: 1000, EIy: 1000}\n"
        "    shapes: {kind: table, file: strip.yaml}\n"
        "  - joint: {kind: revolute, axis: [1, 0, 1]}\n    length: 0.4\n"
        "    body: {mass: 0.7, com: [0.1, -0.05, 0.08], inertia: [0.02, 0.03, 0.025]}\n",
        encoding="utf-8",
    )
    model = build(load(path))
    for kind, verdict in verdicts(model).items():
        assert verdict.good, f"{kind}: {verdict}"
    alone = build(model.arm.model_copy(update={"links": model.arm.links[:1]}))
    mass = Values(KinematicInfluence(alone)).mass(np.zeros(alone.size))
    assert np.allclose(mass[1:, 1:], content["M"], rtol=1e-12)


@cache
def pair(name: str, *, stiffening: bool = False) -> tuple[Values, Values]:
    """A sample or a case as the paper has it, and with all its terms."""
    arm = loads(CASES[name]) if name in CASES else flexarm.example_arm(name)
    model = build(arm, stiffening=stiffening)
    return Values(KinematicInfluence(model, paper=True)), Values(Composite(model))


def paper_errors(name: str, factor: float) -> tuple[float, float]:
    """Relative errors of M and of the Coriolis force at deflections times a factor."""
    paper, whole = pair(name)
    s = states(whole.equation.model)[1]
    q = deflected(whole.equation.model, s.q, factor)
    mass = whole.mass(q)
    scale = np.sqrt(np.diag(mass))
    both = np.outer(scale, scale)
    return (
        compare(paper.mass(q) / both, mass / both).error,
        _scaled(paper.coriolis(q, s.v), whole.coriolis(q, s.v), scale).error,
    )


def deflected(model: Model, q: Array, factor: float) -> Array:
    q = q.copy()
    for part in model.links:
        q[part.modes] *= factor
    return q


PAPER_ARMS = ["count-3-2-2", "chen-two-link", "graves-rms", "quadratic shapes", "prismatic"]


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=campaign_if(n != PAPER_ARMS[0])) for n in PAPER_ARMS],
)
def test_paper_is_right_at_zero_deflection_and_wrong_in_proportion_to_it(name: str) -> None:
    assert max(paper_errors(name, 0.0)) < 1e-13
    sizes = [1e-3, 1e-2, 1e-1]
    errors = [paper_errors(name, size) for size in sizes]
    assert exponent(sizes, [e[0] for e in errors]) == pytest.approx(1.0, abs=0.03)
    assert exponent(sizes, [e[1] for e in errors]) == pytest.approx(1.0, abs=0.03)


def test_paper_has_no_shortening_which_shows_in_the_square_of_modal_rates() -> None:
    paper, whole = pair("chen-two-link", stiffening=True)
    model = whole.equation.model
    s = states(model)[0]
    q = deflected(model, s.q, 0.0)
    assert np.allclose(paper.mass(q), whole.mass(q), rtol=1e-12)
    sizes = [1e-2, 1e-1, 1.0]
    errors = []
    for size in sizes:
        v = size * (s.v - deflected(model, s.v, 0.0))
        errors.append(float(np.abs(paper.coriolis(q, v) - whole.coriolis(q, v)).max()))
    assert exponent(sizes, errors) == pytest.approx(2.0, abs=0.01)


def test_paper_does_not_keep_energy_and_the_complete_equation_does() -> None:
    """Compare v^T (dM/dt v / 2 - coriolis), dM/dt by central differences."""
    model = pair("count-3-2-2")[0].equation.model
    s, step = states(model)[0], 1e-5
    lost = {}
    for values in pair("count-3-2-2"):
        for size in (1e-1, 1.0):
            q = deflected(model, s.q, size)
            later, before = (s.v @ values.mass(q + sign * step * s.v) @ s.v for sign in (1, -1))
            work = (later - before) / (4 * step) - s.v @ values.coriolis(q, s.v)
            lost[values.equation.paper, size] = (
                abs(work) / np.abs(s.v * values.coriolis(q, s.v)).sum()
            )
    assert lost[False, 1.0] < 1e-8
    assert lost[True, 1.0] > 1e-3
    assert lost[True, 0.1] > 1e-4


def test_paper_refuses_a_beam_that_slides_out_of_its_hub() -> None:
    model = build(flexarm.example_arm("telescope"))
    reason = KinematicInfluence.refusal(model, paper=True)
    assert reason is not None
    assert "lets a flexible beam out of its hub" in reason
    assert "paper=False" in reason
    assert KinematicInfluence.refusal(model, paper=False) is None


def test_first_order_tips_are_refused_but_by_the_paper() -> None:
    model = build(flexarm.example_arm("tg-rr"), tip_rotation="first-order")
    reason = KinematicInfluence.refusal(model, paper=False)
    assert reason is not None
    assert "tip_rotation='cayley'" in reason
    assert KinematicInfluence.refusal(model, paper=True) is None
    exact = replace(model, tip_rotation="cayley")
    s = states(model)[0]
    one, other = (Values(KinematicInfluence(m, paper=True)) for m in (model, exact))
    assert np.array_equal(one.mass(s.q), other.mass(s.q))
