"""`lagrange` against `composite`, Lagrange's equations of material points, and its paper."""

import numpy as np
import pytest

import flexarm
from flexarm.formulations.composite import Composite
from flexarm.formulations.constants import CLOSED_FORM_SIZE
from flexarm.formulations.lagrange import Lagrange
from flexarm.io.model_file import loads
from flexarm.model import build
from tests.formulations.agreement import Traced, differences, exponent
from tests.physics.options import CASES


def test_blocks_of_the_mass_matrix_are_by_joints_and_amplitudes() -> None:
    model = build(flexarm.example_arm("tg-rr"))
    equation = flexarm.formulation("lagrange", model)
    assert [model.names[i] for i in equation.rigid] == ["joint1", "joint2"]
    assert all("link" in model.names[i] for i in equation.flexible)
    q = np.linspace(0.3, -0.02, model.size)
    M, blocks = equation.mass_matrix(q), equation.partitioned(q)
    assert blocks.rr.shape == (2, 2)
    assert blocks.rf.shape == (2, 4)
    order = [*equation.rigid, *equation.flexible]
    whole = np.block([[blocks.rr, blocks.rf], [blocks.rf.T, blocks.ff]])
    assert np.array_equal(whole, M[np.ix_(order, order)])
    # the appendix's inverse, its off-diagonal blocks put right
    schur = np.linalg.inv(blocks.ff - blocks.rf.T @ np.linalg.inv(blocks.rr) @ blocks.rf)
    corner = -np.linalg.inv(blocks.rr) @ blocks.rf @ schur
    assert np.linalg.inv(whole)[:2, 2:] == pytest.approx(corner, rel=1e-9, abs=1e-12)


@pytest.mark.few(1)
@pytest.mark.parametrize("sample", ["tg-rr-2planes", "tg-rrp-2planes"])
def test_first_order_tips_differ_in_proportion_to_the_deflection(sample: str) -> None:
    model = build(flexarm.example_arm(sample))
    both = Traced(Lagrange(model, paper=True)), Traced(Composite(model))
    large, small = (differences(*both, size, still=True) for size in (1e-2, 1e-3))
    for name in ("mass matrix", "coriolis"):
        assert exponent(large[name], small[name], 10) == pytest.approx(1, abs=0.02), name
    none = differences(*both, 0.0, still=True)
    assert max(none.values()) < 1e-12
    moving = differences(*both, 0.0, still=False)
    assert moving["mass matrix"] < 1e-12
    assert moving["coriolis"] > 1e-4  # no centripetal force of the tip's turning


def test_the_paper_leaves_shortening_and_rotary_inertia_out_whatever_the_arm_says() -> None:
    text = CASES["bending y and z"]
    stiff, plain = (build(loads(text), stiffening=choice) for choice in (True, False))
    one, other = (Traced(Lagrange(model, paper=True)) for model in (stiff, plain))
    s = one.state(0)
    assert np.array_equal(one.M(s.q), other.M(s.q))
    assert np.array_equal(one.springs(s.q, s.v), other.springs(s.q, s.v))


@pytest.mark.parametrize(
    ("case", "paper", "message"),
    [
        ("torsion", True, "Theodore & Ghosal 1995 do not have twist of link"),
        ("stretch", True, "stretch of link"),
        ("free base", True, "do not have a base that moves"),
        ("elastic joint, simple rotor", True, "joint2's elastic transmission"),
        ("quadratic shapes", True, "quadratic shapes of link"),
        ("prismatic", True, "which bends on a prismatic joint"),
        ("pinned-free", True, "that turn its root"),
        ("wrench in world axes", True, "first-order tips are no rotations"),
    ],
)
def test_refuses_what_its_paper_does_not_have(case: str, paper: bool, message: str) -> None:
    text = (
        CASES[case]
        if case == "stretch"
        else CASES[case].replace("sion: 0}", "sion: 0, stretch: 0}")
    )
    model = build(loads(text))
    reason = Lagrange.refusal(model, paper=paper)
    assert reason is not None
    assert message in reason
    assert Lagrange.refusal(model, paper=False) is None


def test_refuses_arms_whose_closed_form_is_too_long() -> None:
    link = "{joint: {kind: revolute}, length: 0.1, body: {mass: 1}}"
    model = build(loads(f"flexarm: 1\nname: chain\nlinks: [{', '.join([link] * 61)}]\n"))
    assert model.size > CLOSED_FORM_SIZE
    reason = Lagrange.refusal(model, paper=False)
    assert reason is not None
    assert "61 coordinates is too long, the limit is 60. Use 'articulated'" in reason
