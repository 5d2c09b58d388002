"""`recursive-lagrange` against `composite`, Lagrange's equations and what its paper leaves out."""

from functools import cache

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import flexarm
from flexarm.formulations.composite import Composite
from flexarm.formulations.lagrange import Lagrange
from flexarm.formulations.quantities import trace
from flexarm.formulations.recursive_lagrange import RecursiveLagrange
from flexarm.io.model_file import loads
from flexarm.model import build
from tests.formulations.agreement import Traced, differences, exponent, verdicts
from tests.physics.options import CASES
from tests.physics.states import Array


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("sample", "stiffening"),
    [("count-3-2-2", False), ("count-3-2-2", True), ("tg-rr-payload-2planes", True)],
)
def test_first_order_tips_give_the_equation_of_their_energies(
    sample: str, stiffening: bool
) -> None:
    model = build(flexarm.example_arm(sample), stiffening=stiffening, tip_rotation="first-order")
    for name, verdict in verdicts(
        Traced(RecursiveLagrange(model)), Traced(Lagrange(model)), 0
    ).items():
        assert verdict.good, f"{name}: {verdict}"


@pytest.mark.few(1)
@pytest.mark.parametrize("sample", ["chen-two-link", "driven-link-payload"])
def test_the_paper_s_equation_is_that_of_its_energies(sample: str) -> None:
    model = build(flexarm.example_arm(sample))
    paper = Traced(RecursiveLagrange(model, paper=True))
    energies = Traced(Lagrange(RecursiveLagrange.paper_model(model)))
    for name, verdict in verdicts(paper, energies, 0).items():
        assert verdict.good, f"{name}: {verdict}"


def test_first_order_tips_fall_as_the_known_trajectory() -> None:
    model = build(flexarm.example_arm("korayem-two-link"), tip_rotation="first-order")
    assert not model.stiffening
    function = trace(RecursiveLagrange(model), "forward_dynamics")

    def rate(t: float, y: Array) -> Array:
        a = function(y[:4], y[4:], np.zeros(2), np.zeros(0), np.zeros(0))[0]
        return np.concatenate([y[4:], np.array(ca.densify(a)).ravel()])

    start = np.zeros(8)
    order = [model.names.index(n) for n in ("joint1", "joint2", "link1.y1", "link2.y1")]
    start[order[:2]] = np.deg2rad([-90, 5])
    end = solve_ivp(rate, (0, 0.5), start, method="DOP853", rtol=1e-9, atol=1e-13).y[:4, -1]
    end[order[0]] += np.pi / 2
    expected = [0.02802778, -0.06679272, -2.66202e-5, 4.83269e-5]
    assert np.abs(end[order] - expected) == pytest.approx(0, abs=6e-9)


@cache
def paper_and_exact(sample: str) -> tuple[Traced, Traced]:
    """A sample with stiffening, by the paper and by the series, of which the paper has a part."""
    model = build(flexarm.example_arm(sample), stiffening=True, series=True)
    return Traced(RecursiveLagrange(model, paper=True)), Traced(Composite(model))


def test_missing_tip_shortening_shows_in_proportion_to_the_deflection() -> None:
    both = paper_and_exact("count-2-2-2")
    large, small = (differences(*both, size, still=True) for size in (1e-2, 1e-3))
    for name, power in (("mass matrix", 1), ("coriolis", 1), ("gravity", 1), ("elastic", 3)):
        assert exponent(large[name], small[name], 10) == pytest.approx(power, abs=0.01), name
    none = differences(*both, 0.0, still=True)
    assert max(none.values()) < 1e-12


def test_first_order_tips_have_no_centripetal_force_even_undeflected() -> None:
    none = differences(*paper_and_exact("count-2-2-2"), 0.0, still=False)
    assert none["mass matrix"] < 1e-12
    assert none["coriolis"] > 1e-3


def test_the_payload_s_centrifugal_stiffness_is_what_the_missing_tip_shortening_takes() -> None:
    paper, exact = paper_and_exact("driven-link-payload")
    part = exact.equation.model.links[0]
    size, spin = 1e-4, 3.0
    q, v = np.zeros(5), np.zeros(5)
    q[part.modes], v[part.axes[0].index] = size * np.array([1.0, -0.3, 0.2, 0.1]), spin
    lost = (exact.coriolis(q, v) - paper.coriolis(q, v))[part.modes]
    drawn = -part.beam.tip_quadratic[0] @ q[part.modes]  # slope of the shortening at the tip
    carried = part.tip_body.mass * part.length * spin**2
    assert lost == pytest.approx(carried * drawn, rel=1e-6)


def test_of_one_link_without_payload_only_the_elastic_force_differs() -> None:
    both = paper_and_exact("chen-rotating-link")
    large, small = (differences(*both, size, still=False) for size in (1e-1, 1e-2))
    assert exponent(large["elastic"], small["elastic"], 10) == pytest.approx(3, abs=0.01)
    assert max(large["mass matrix"], large["coriolis"], large["gravity"]) < 1e-12


@pytest.mark.campaign
def test_relative_rates_alone_never_excite_the_torsion_of_the_last_link() -> None:
    paper, exact = paper_and_exact("chen-two-link")
    model = exact.equation.model
    twist = [model.names.index(f"link2.twist{k}") for k in (1, 2)]
    others = [i for i in range(model.size) if i not in twist]
    s = exact.state(0)
    q = s.q.copy()
    q[twist] = 0
    assert not np.any(paper.M(q)[np.ix_(twist, others)])
    assert not np.any(paper.inertial(q, s.v, 0 * q)[twist])
    assert not np.any(paper.springs(q, 0 * q)[twist])
    assert np.abs(exact.M(q)[np.ix_(twist, others)]).max() > 1


@pytest.mark.parametrize("paper", [False, True])
@pytest.mark.parametrize(("stiffening", "factor"), [(True, 1.1933 - 1), (False, -1.0)])
def test_rotation_stiffens_the_first_chordwise_mode_as_known(
    stiffening: bool, factor: float, paper: bool
) -> None:
    model = build(flexarm.example_arm("chen-rotating-link"), stiffening=stiffening)
    if paper:  # what is made as the paper has it stays as it is
        model = RecursiveLagrange.paper_model(model)
    arm = Traced(RecursiveLagrange(model, paper=paper))
    spin, size = 80.0, 1e-6
    mode = model.names.index("link1.y1")
    q, v = np.zeros(model.size), np.zeros(model.size)
    q[mode], v[model.names.index("joint1")] = size, spin
    stiffness = arm.coriolis(q, v)[mode] / size
    assert stiffness / arm.M(q)[mode, mode] == pytest.approx(factor * spin**2, abs=5e-5 * spin**2)


@pytest.mark.parametrize(
    ("case", "paper", "message"),
    [
        ("sliding", False, "link1 slides out of its hub"),
        ("prismatic", True, "Chen, Zhang & Liu 2012 do not have joint2, a prismatic joint"),
        ("free base", True, "Chen, Zhang & Liu 2012 do not have a base that moves"),
        ("elastic joint, full rotor", True, "joint2's rotor, whose momentum acts on its carrier"),
        ("quadratic shapes", True, "quadratic shapes of link"),
        ("pinned-free", True, "that turn its root"),
        ("wrench in world axes", True, "first-order tips are no rotations"),
    ],
)
def test_refuses_what_it_cannot_treat(case: str, paper: bool, message: str) -> None:
    reason = RecursiveLagrange.refusal(build(loads(CASES[case])), paper=paper)
    assert reason is not None
    assert message in reason
    if paper:
        assert (
            "wrench" in case
            or RecursiveLagrange.refusal(build(loads(CASES[case])), paper=False) is None
        )
