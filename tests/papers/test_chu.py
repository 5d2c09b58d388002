"""Chu et al.: what one point per element costs and leaves out."""

import casadi as ca
import numpy as np
import pytest

from flexarm.formulations import formulation
from flexarm.model import build
from flexarm_papers.base import Found
from flexarm_papers.chu.cost import EXACT, assembled, chain
from flexarm_papers.chu.items import ALL_BENT, BENT, GRIDS, SLIDE, history
from flexarm_papers.chu.matrix import _cantilever
from flexarm_papers.readings import Reading, Scope
from flexarm_papers.runs import changed, column, simulate
from tests.papers import computed
from tests.papers.computed import check


def compute(name: str) -> Found:
    return computed.compute("chu", name)


def test_elements_are_integrated_exactly_where_their_cost_is_compared() -> None:
    model = build(changed("chu-example-2"), stiffening=False)
    q = np.random.default_rng(1).uniform(-0.02, 0.02, model.size)
    ours = formulation("element-jacobian", model, points=EXACT).mass_matrix(q)
    exact = formulation("composite", model).mass_matrix(q)
    assert np.abs(ours - exact).max() < 1e-12 * np.abs(exact).max()


def test_integrals_of_elements_that_are_added_up_give_the_consistent_mass_matrix() -> None:
    model = build(chain("count-2-2-2", 2), stiffening=False)
    symbols = ca.SX.sym("q", model.size)
    q = np.random.default_rng(1).uniform(-0.1, 0.1, model.size)
    ours = np.array(ca.Function("M", [symbols], [assembled(model, symbols)])(q))
    exact = formulation("composite", model).mass_matrix(q)
    assert np.abs(ours - exact).max() < 1e-12 * np.abs(exact).max()


@pytest.mark.campaign
def test_the_expression_of_m_grows_with_the_number_of_elements_integrals_or_not() -> None:
    rows = [row for row in compute("cost").tables[0].rows if row[0] == "example 2"]
    for at in (3, 4):
        coarse, fine = (int(row[at]) for row in rows[-2:])
        assert fine / coarse == pytest.approx(2.0, rel=0.05)


@pytest.mark.campaign
def test_one_point_per_element_gives_wrong_cantilever_frequencies() -> None:
    rows = compute("deficiency").tables[0].rows
    found = {row[:2]: [float(x) for x in row[2:]] for row in rows}
    one = "one point per element"
    assert found["2", one] == pytest.approx([1.010, 0.924, 0.903], abs=5e-4)
    assert found["5", one] == pytest.approx([1.0015, 0.980, 0.940], abs=5e-4)
    assert found["5", "integrated"] == pytest.approx([1.0000, 1.0005, 1.0036], abs=5e-5)


def test_errors_of_frequencies_by_element_centres_fall_with_the_square_of_their_size() -> None:
    coarse, fine = (_cantilever(n, paper=True) - 1 for n in (12, 16))
    assert coarse / fine == pytest.approx((16 / 12) ** 2, rel=0.03)
    assert 100 * fine == pytest.approx([0.014, -0.214, -0.728], abs=1e-3)


def test_the_least_eigenvalue_falls_by_the_square_of_five_and_root_24_per_element() -> None:
    factor = f"{(5 + np.sqrt(24)) ** 2:.0f}"
    found = check(compute("deficiency"), "(20)")
    assert f"falls by {factor} and {factor} times" in found.because
    assert not found.holds


def test_the_mass_matrix_of_example_1_as_printed_lacks_one_rank() -> None:
    # slide, joint and two values at each of five nodes
    assert "rank 11 of 12" in compute("deficiency").because


def test_the_middle_of_a_bent_element_is_not_its_centre_of_mass() -> None:
    # w = x^2/2 over an element of size h: mean h^2/6, in the middle h^2/8, and h^2/4 of its chord
    itself, tip = computed.statement(compute("deficiency"), "eq. 6").tried
    assert itself.value == pytest.approx(100 / 3, rel=1e-9)
    assert tip.value == pytest.approx(100 / 48, rel=1e-9)  # two elements: the tip is at 2 h^2


def test_the_deflection_of_both_links_is_that_of_the_end_effector_from_rigid_ones() -> None:
    run = simulate(changed("chu-example-2"), t_end=0.3, dt=5e-3)
    q1, q2 = column(run, "joint1"), column(run, "joint1") + column(run, "joint2")
    rigid = 0.8 * np.array([np.cos(q1), np.sin(q1)]) + 0.3 * np.array([np.cos(q2), np.sin(q2)])
    off = run.tip[:, :2].T - rigid
    across = -np.sin(q2) * off[0] + np.cos(q2) * off[1]
    ours = history(run, "deflection", reading=Reading(((BENT, ALL_BENT),)))
    assert np.abs(across).max() > 1e-3
    assert np.abs(ours - across).max() < 1e-2 * np.abs(across).max()


def test_the_rigid_robot_of_table_1_is_a_plane_arm_in_closed_form() -> None:
    # strips of 30 mm by 1 mm, motors of 0.01 kg m^2, a payload of 50 g
    a, b, load, motor = 0.8, 0.3, 0.05, 0.01
    m, n = (7850.0 * 3e-5 * length for length in (a, b))
    thin = 1e-6 / 12
    own = n * (b**2 / 3 + thin) + load * b**2 + motor
    mixed = a * b * np.cos(0.5) * (n / 2 + load)
    first = m * (a**2 / 3 + thin) + (n + load) * a**2 + motor + own + 2 * mixed
    rows = compute("table-1").tables[1].rows
    for k, value in enumerate((first, own + mixed, own)):
        assert [float(x) for x in rows[k][3:]] == pytest.approx([value] * 2, abs=1e-9)


def test_integrals_over_the_volume_have_all_the_inertia_of_a_link() -> None:
    axis, volume = computed.statement(compute("table-1"), "not all the moment of inertia").tried
    # of a strip of 1 mm its sections' own is a twelfth of a square millimetre
    M = 0.1799697930
    sections = (7850 * 3e-5 * 0.8 + 7850 * 3e-5 * 0.3) * 1e-6 / 12
    assert axis.value == pytest.approx(sections / M, rel=1e-3)
    assert volume.value < 1e-14


def test_without_j_f_alone_the_tip_of_link_1_stays_in_the_mass_matrix() -> None:
    kept, alone = computed.statement(compute("table-1"), "J^f of").tried
    assert alone.value == 0  # one flexible link is carried by none
    # all of link 2 moves with the tip of link 1
    m, n, a, b = 7850 * 3e-5 * 0.8, 7850 * 3e-5 * 0.3, 0.8, 0.3
    first = m * a**2 / 3 + n * (a**2 + a * b + b**2 / 3)
    assert kept.value == pytest.approx(n / first, rel=1e-9)


def test_gravity_across_the_slide_moves_the_arm_otherwise_than_it_falls() -> None:
    readings = [x for x in GRIDS[1].readings(Scope()) if x[SLIDE] != GRIDS[1].first[SLIDE]]
    for each in readings:
        changes = GRIDS[1].changes(each)
        axis = changes.get("links.1.joint.axis", [0.0, 1.0, 0.0])
        assert np.dot(changes.get("gravity", np.zeros(3)), axis) == 0


@pytest.mark.campaign
def test_both_mass_matrices_agree_on_the_experiments_figures_as_our_own_check_alone() -> None:
    for name in ("fig-21", "fig-22"):
        found = compute(name)
        assert not found.statements[0].tried
        assert "each other" in found.checks[0].says


@pytest.mark.campaign
def test_undamped_readings_decide_and_damped_ones_stand_beside() -> None:
    said = compute("fig-8").statements[0]
    damping = "damping of the links"
    assert {each.reading[damping] for each in said.tried} == {"none"}
    strips = {"motor inertia at joint 2": ("0.05 kg m^2",),
              "bending stiffness of link 2": ("13.5 N m^2", "6.75 N m^2")}  # fmt: skip
    assert said.conditions[0] == strips
    assert all(each.holds for each in said.beside)


@pytest.mark.campaign
def test_example_2_runs_with_the_data_in_the_text_alone_where_it_is_not_straight() -> None:
    for name in ("fig-12", "fig-13"):
        found = compute(name).statements[0].tried
        bare = [
            x for x in found if x.reading["motor inertia and start of joint 2"] == "none, 1 rad"
        ]
        assert len(bare) == 18
        assert 0 < sum(x.holds for x in bare) < 9
        assert max(x.value for x in bare) > 70
