"""Gibbs-Appell equations: equal to the others, and what their paper's approximations cost."""

import json
import subprocess
import sys
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import flexarm
from flexarm.errors import FlexarmError
from flexarm.formulations.composite import Composite
from flexarm.formulations.equation import Equation
from flexarm.formulations.gibbs_appell.formulation import GibbsAppell
from flexarm.io.model_file import loads
from flexarm.model import Model, build
from flexarm.studies.compare import operation_counts
from tests.formulations.equation_values import Array, Values, exponent
from tests.physics.options import BODY, CASES, arm
from tests.physics.placement import Pose, Sections, cross_matrix
from tests.physics.reference import Reference
from tests.physics.states import compare

ROOT = Path(__file__).parents[2]
SPATIAL = arm(
    *[
        f"joint: {{kind: revolute, dh: {{convention: modified, alpha: {twist}}}}}, length: 0.7,"
        " section: {mass_per_length: 1.1, EIz: 14, EIy: 9},"
        " shapes: {kind: clamped-free, bending_y: 1, bending_z: 1}"
        for twist in (0.3, 0.8, 1.1)
    ],
    more="stiffening: false",
)
PLANAR = arm(
    *["joint: {kind: revolute}, length: 0.8, section: {mass_per_length: 1.1, EIz: 14},"
      " shapes: {kind: clamped-free, bending_y: 2}"] * 3,
    more="stiffening: false",
)  # fmt: skip
BEAM = (
    "length: 1, section: {mass_per_length: 1, EIz: 100}, shapes: {kind: clamped-free, bending_y: 2}"
)
SIZES = [0.02, 0.01, 0.005, 0.0025]  # tip angles [rad] that the convergence is measured over


class Exponential(Reference):
    """Lagrange's equations of an arm whose tip frames turn by ``exp(theta~)``."""

    def _turned(self, section: Sections) -> Pose:
        t = ca.sqrt(ca.sumsqr(section.angle) + 1e-40)
        skew = cross_matrix(section.angle)
        turned = ca.SX.eye(3) + ca.sin(t) / t * skew + 2 * (ca.sin(t / 2) / t) ** 2 * skew @ skew
        return Pose(turned, section.centre)


@cache
def sample(name: str) -> Model:
    return build(flexarm.example_arm(name))


@cache
def reference(text: str) -> Exponential:
    return Exponential(build(loads(text)))


@cache
def paper(text: str, *, first_order: bool = False, delta_squared: bool = True) -> Values:
    """The paper's equation of an arm."""
    model = build(loads(text), tip_rotation="first-order" if first_order else "cayley")
    return Values(GibbsAppell(model, paper=True, delta_squared=delta_squared))


def state(model: Model, size: float) -> tuple[Array, Array]:
    """Draw joint angles and rates, and deflections whose tip angles are of the given size."""
    random = np.random.default_rng(3)
    q, v = random.normal(size=(2, model.size))
    for part in model.links:
        slope = np.abs(part.beam.tip_angle).max(axis=0)
        q[part.modes] = size * random.choice([-1, 1], len(slope)) / slope
        v[part.modes] /= slope
    return q, v


def distance(one: Values, other: Values | Exponential, q: Array, v: Array) -> tuple[float, float]:
    """Measure how far M and the Coriolis force are apart, coordinates scaled by sqrt(diag M)."""
    if isinstance(other, Values):
        mass, coriolis = other.mass(q), other.coriolis(q, v)
    else:
        mass, coriolis = other.mass_matrix(q), other.coriolis(q, v)
    scale = np.sqrt(np.diag(mass))
    both = np.outer(scale, scale)
    return (
        compare(one.mass(q) / both, mass / both).error,
        compare(one.coriolis(q, v) / scale, coriolis / scale).error,
    )


def exponents(one: Values, other: Values | Exponential) -> tuple[float, float]:
    """Measure with which powers of the deflection two equations part."""
    model = one.equation.model
    found = [distance(one, other, *state(model, size)) for size in SIZES]
    mass, coriolis = zip(*found, strict=True)
    return exponent(SIZES, list(mass)), exponent(SIZES, list(coriolis))


def test_in_the_plane_the_paper_is_exact_at_any_deflection() -> None:
    equation = paper(PLANAR)
    q, v = state(equation.equation.model, 0.3)
    assert max(distance(equation, reference(PLANAR), q, v)) < 1e-13


def test_in_space_the_paper_is_exact_at_zero_deflection_whatever_the_rates() -> None:
    equation = paper(SPATIAL)
    q, v = state(equation.equation.model, 0.0)
    assert np.abs(v).min() > 0.01
    assert max(distance(equation, reference(SPATIAL), q, v)) < 1e-13
    composite = Values(Composite(equation.equation.model))
    assert max(distance(equation, composite, q, v)) < 1e-13


def test_in_space_the_paper_is_wrong_in_proportion_to_the_deflection() -> None:
    equation, exact = paper(SPATIAL), reference(SPATIAL)
    assert exponents(equation, exact) == pytest.approx((1, 1), abs=0.05)
    mass, coriolis = distance(equation, exact, *state(equation.equation.model, 0.01))
    assert 1e-4 < mass < 1e-2
    assert 1e-4 < coriolis < 1e-1


def test_in_space_the_papers_coriolis_force_does_work() -> None:
    def work(text: str, size: float) -> float:
        """Relative to its parts, v^T (1/2 dM/dt v - coriolis), which is zero of a true equation."""
        equation = paper(text)
        q, v = state(equation.equation.model, size)
        x, y = ca.SX.sym("q", len(q)), ca.SX.sym("v", len(v))
        kinetic = ca.bilin(equation.equation.function("mass_matrix")(x), y, y) / 2
        gain = float(ca.Function("gain", [x, y], [ca.jtimes(kinetic, x, y)])(q, v))
        given = float(v @ equation.coriolis(q, v))
        return abs(gain - given) / (abs(gain) + abs(given))

    assert work(PLANAR, 0.1) < 1e-12
    assert work(SPATIAL, 0.0) < 1e-12
    assert exponent(SIZES, [work(SPATIAL, size) for size in SIZES]) == pytest.approx(1, abs=0.1)


def test_in_the_plane_exponential_and_cayley_tips_part_with_the_square_of_the_deflection() -> None:
    equation = paper(PLANAR)
    composite = Values(Composite(equation.equation.model))
    mass, coriolis = exponents(equation, composite)
    assert mass == pytest.approx(2, abs=0.05)
    assert coriolis == pytest.approx(2, abs=0.2)


@pytest.mark.parametrize("text", [PLANAR, SPATIAL], ids=["plane", "space"])
def test_the_transpose_of_a_first_order_rotation_is_its_inverse_to_second_order(text: str) -> None:
    found = exponents(paper(text, first_order=True), paper(text))
    assert found == pytest.approx((2, 2), abs=0.05)


@pytest.mark.parametrize("text", [PLANAR, SPATIAL], ids=["plane", "space"])
def test_dropping_the_second_order_of_b9_costs_the_square_of_the_deflection(text: str) -> None:
    less, whole = paper(text, delta_squared=False), paper(text)
    model = whole.equation.model
    errors = [distance(less, whole, *state(model, size)) for size in SIZES]
    assert exponent(SIZES, [mass for mass, _ in errors]) == pytest.approx(2, abs=0.05)
    if text == SPATIAL:
        assert exponent(SIZES, [force for _, force in errors]) == pytest.approx(2, abs=0.1)
    else:  # omega is along z and so is B9 omega
        assert max(force for _, force in errors) == 0
    mass, _ = distance(less, whole, *state(model, 0.1))
    assert 1e-3 < mass < 1e-2


def test_dropping_the_second_order_of_b9_saves_operations() -> None:
    model = sample("count-3-2-2")
    counted = [
        operation_counts(
            Equation.of(GibbsAppell(model, paper=True, delta_squared=keep)), "mass_matrix"
        )
        for keep in (True, False)
    ]
    whole, less = (found.multiplications + found.additions for found in counted)
    assert 0.9 * whole < less < 0.97 * whole


def test_the_papers_arm_has_the_frequencies_of_an_exact_rotation_about_its_hanging_position() -> (
    None
):
    # both rotations: gravity is an acceleration turned by E, whose first order is the same
    for rotation in ("cayley", "first-order"):
        model = build(flexarm.example_arm("korayem-two-link"), tip_rotation=rotation)
        equation = Equation.of(GibbsAppell(model, paper=True))
        q, still = ca.SX.sym("q", 4), ca.SX.zeros(4)
        stiffness = ca.Function("K", [q], [ca.jacobian(equation.function("bias")(q, still), q)])
        hanging = np.array([-np.pi / 2, 0, 0, 0])
        matrix = np.linalg.solve(Values(equation).mass(hanging), np.array(stiffness(hanging)))
        found = np.sqrt(np.sort(np.linalg.eigvals(matrix).real))
        assert found[:2] == pytest.approx([2.680, 7.187], abs=5e-4)
        assert found[2:] == pytest.approx([227.44, 397.57], abs=5e-3)


def test_the_papers_arm_falls_as_its_sample_says() -> None:
    model = sample("korayem-two-link")
    run = Equation.of(GibbsAppell(model, paper=True)).function("forward_dynamics")

    def rates(_: float, x: Array) -> Array:
        a = np.array(run(x[:4], x[4:], np.zeros(2), [], [])[0]).ravel()
        return np.concatenate([x[4:], a])

    start = np.zeros(8)
    start[0], start[2] = -np.pi / 2, np.deg2rad(5)
    end = solve_ivp(rates, (0, 0.25), start, method="DOP853", rtol=1e-9, atol=1e-12).y[:4, -1]
    assert end[0] + np.pi / 2 == pytest.approx(0.02482359, abs=2e-8)
    assert end[2] == pytest.approx(-0.00839291, abs=2e-8)
    assert end[[1, 3]] == pytest.approx([-2.29662e-5, -5.18977e-6], abs=2e-9)


def test_the_paper_has_no_stiffening_whatever_the_arm_says() -> None:
    stiff = paper(PLANAR.replace("stiffening: false", "stiffening: true"))
    plain = paper(PLANAR)
    q, v = state(plain.equation.model, 0.1)
    for name in ("mass_matrix", "bias", "tip_pose"):
        arrays = (q, v) if name == "bias" else (q,)
        for x, y in zip(stiff.call(name, *arrays), plain.call(name, *arrays), strict=True):
            assert np.array_equal(x, y)


@pytest.mark.few(1)
@pytest.mark.parametrize("as_paper", [False, True])
def test_inverse_dynamics_costs_the_same_for_every_further_link(as_paper: bool) -> None:
    def operations(links: int, name: str) -> int:
        link = f"joint: {{kind: revolute, dh: {{alpha: 0.7}}}}, {BEAM}"
        model = build(loads(arm(*[link] * links, more="stiffening: false")))
        found = operation_counts(Equation.of(GibbsAppell(model, paper=as_paper)), name)
        return found.multiplications + found.additions

    inverse, mass = (
        np.diff([operations(n, name) for n in (3, 4, 5)])
        for name in ("inverse_dynamics", "mass_matrix")
    )
    assert inverse[0] == inverse[1]
    assert mass[1] > 1.1 * mass[0]


LACKING = {
    "a base that moves": arm(
        f"joint: {{kind: revolute}}, {BEAM}", more=f"base: {{kind: free, body: {BODY}}}"
    ),
    "joint1, a prismatic joint": arm(f"joint: {{kind: prismatic}}, {BEAM}"),
    "joint1, a sliding joint": CASES["sliding"],
    "joint2, a fixed joint": arm(
        f"joint: {{kind: revolute}}, {BEAM}", f"joint: {{kind: fixed}}, {BEAM}"
    ),
    "joint1's hub": arm(f"joint: {{kind: revolute, hub: {{outboard: {BODY}}}}}, {BEAM}"),
    "joint1's rotor": arm(
        f"joint: {{kind: revolute, drive: {{rotor_inertia: 0.1, gear_ratio: 2}}}}, {BEAM}"
    ),
    "joint2's offset": arm(
        f"joint: {{kind: revolute}}, {BEAM}", f"joint: {{kind: revolute, dh: {{d: 0.2}}}}, {BEAM}",
        f"joint: {{kind: revolute}}, {BEAM}",
    ),
    "a body at the tip of link1": arm(
        f"joint: {{kind: revolute}}, {BEAM}", more=f"payload: {BODY}"
    ),
    "rotary inertia of link1's sections": arm(
        "joint: {kind: revolute}, length: 1, section: {mass_per_length: 1, EIz: 100, Jz: 0.01}"
    ),
    "stretch of link1": arm(
        "joint: {kind: revolute}, length: 1, section: {mass_per_length: 1, EIz: 100, EA: 1e4},"
        " shapes: {kind: clamped-free, bending_y: 1, stretch: 1}"
    ),
    "quadratic shapes of link1": arm(
        f"joint: {{kind: revolute}}, {BEAM}, quadratic_shapes: [{{direction: y,"
        " amplitudes: [y1, y1], stations: [0, 0.3, 0.6, 1], values: [0, 0.1, 0.2, 0.4]}]"
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", LACKING)
def test_the_paper_refuses_an_arm_that_it_does_not_have(what: str) -> None:
    model = build(loads(LACKING[what]))
    assert GibbsAppell.refusal(model, paper=False) is None
    reason = GibbsAppell.refusal(model, paper=True)
    assert reason is not None
    assert reason.startswith(f"Korayem & Shafei 2009 do not have {what}")
    assert reason.endswith(", or set paper=False.")
    with pytest.raises(
        FlexarmError, match="formulation 'gibbs-appell' cannot be used for this arm: Korayem"
    ):
        GibbsAppell(model, paper=True)


def test_first_order_rotation_needs_the_paper_and_so_does_dropping_a_term() -> None:
    model = build(loads(PLANAR), tip_rotation="first-order")
    assert "tip_rotation='cayley'" in str(GibbsAppell.refusal(model, paper=False))
    assert GibbsAppell.refusal(model, paper=True) is None
    with pytest.raises(FlexarmError, match=r"delta_squared=False .* Set paper=True"):
        GibbsAppell(build(loads(PLANAR)), delta_squared=False)


def test_the_second_order_of_b9_is_dropped_by_the_name_of_the_formulation() -> None:
    model = build(loads(PLANAR))
    less = flexarm.formulation("gibbs-appell", model, paper=True, delta_squared=False)
    q = 0.02 * np.arange(1.0, model.size + 1)
    M = Values(GibbsAppell(model, paper=True, delta_squared=False)).equation.mass_matrix(q)
    assert np.array_equal(less.mass_matrix(q), M)
    whole = flexarm.formulation("gibbs-appell", model, paper=True)
    assert not np.allclose(whole.mass_matrix(q), M, rtol=1e-9)


def test_formulations_without_that_term_refuse_to_drop_it() -> None:
    model = build(loads(PLANAR))
    with pytest.raises(FlexarmError, match=r"delta_squared=False .* Set paper=True"):
        flexarm.formulation("gibbs-appell", model, delta_squared=False)
    for name in ("composite", "lagrange"):
        expected = rf"delta_squared=False: formulation '{name}' has no term of .* gibbs-appell"
        with pytest.raises(FlexarmError, match=expected):
            flexarm.formulation(name, model, delta_squared=False)


def test_options_are_handed_on_and_kept_apart_in_the_cache() -> None:
    model = build(loads(PLANAR))
    kinds = [
        GibbsAppell(model),
        GibbsAppell(model, paper=True),
        GibbsAppell(model, paper=True, delta_squared=False),
    ]
    assert len({kind.options() for kind in kinds}) == 3
    again = [replace(kind, model=model).options() for kind in kinds]
    assert [kind.options() for kind in kinds] == again


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the script counts in its quick form."""
    folder = tmp_path_factory.mktemp("counts")
    script = ROOT / "benchmarks" / "gibbs_appell_counts.py"
    options = ["--quick", "--out", str(folder / "out.json"), "--markdown", str(folder / "page.md")]
    subprocess.run([sys.executable, str(script), *options], check=True, stdout=subprocess.DEVNULL)
    found: dict[str, Any] = json.loads((folder / "out.json").read_text())
    return found | {"page": (folder / "page.md").read_text()}


@pytest.mark.campaign
def test_steps_are_counted_beside_the_papers_table(counted: dict[str, Any]) -> None:
    (row,) = counted["steps"]
    assert (row["links"], row["flexible"], row["modes"]) == (3, 2, 2)
    assert row["printed_total"] == [2706, 2134]
    for step in "78":
        assert row["counted"][step] == row["printed"][step]
    # step 3: no B8 of the rigid link, and twice a vector counts as three sums
    assert row["counted"]["3"] == [171 - 9, 141 - 12 + 3 * 5]
    assert row["counted"]["5"] == [84, 68 + 4]


@pytest.mark.campaign
def test_the_page_shows_what_the_script_counts(counted: dict[str, Any]) -> None:
    page = (ROOT / "docs" / "gibbs-appell-counts.md").read_text(encoding="utf-8")
    tables = page.partition("<!-- counted -->")[2]
    for step, (products, sums) in counted["steps"][0]["counted"].items():
        assert f"| {products} M, {sums} A" in next(
            line for line in tables.splitlines() if line.startswith(f"| {step} ")
        )
    assert "| count-2-2-2 | 165 " in counted["page"]
    assert "| count-2-2-2 | 165 " in tables


def test_the_formulas_of_table_1_add_up_to_the_numbers_of_table_2(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    table = import_module("gibbs_appell_counts").TABLE_1
    for sizes, published in (((3, 2, 2), (2706, 2134)), ((6, 6, 2), (19557, 18332))):
        steps = [formula(*sizes) for formula in table.values()]
        assert tuple(sum(column) for column in zip(*steps, strict=True)) == published
