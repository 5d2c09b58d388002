"""Chu et al.: the mass matrix of element centres, its rank, joints and cost."""

import casadi as ca
import numpy as np
import pytest

from flexarm.formulations import formulation
from flexarm.formulations.element_jacobian import ElementJacobian
from flexarm.formulations.equation import Equation
from flexarm.model import build
from flexarm_papers.chu.cost import EXACT, assembled, chain
from flexarm_papers.chu.items import BENT, GRIDS, OF_BOTH, history
from flexarm_papers.chu.matrix import LINKS_1, LINKS_2, PAYLOAD_2, STRIP, _rank, cantilever
from flexarm_papers.chu.planar import PlanarLink, mass_matrix
from flexarm_papers.readings import Reading
from flexarm_papers.runs import changed, column, simulate
from tests.papers.computed import cases, compute, statement


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
    rows = [row for row in compute("chu", "cost").tables[0].rows if row[0] == "example 2"]
    for at in (3, 5):
        coarse, fine = (int(row[at]) for row in rows[-2:])
        assert fine / coarse == pytest.approx(2.0, rel=0.05)


def test_one_point_per_element_gives_wrong_cantilever_frequencies() -> None:
    assert cantilever(2, True) == pytest.approx([1.010, 0.924, 0.903], abs=5e-4)
    assert cantilever(5, True) == pytest.approx([1.0015, 0.980, 0.940], abs=5e-4)
    assert cantilever(5, False) == pytest.approx([1.0000, 1.0005, 1.0036], abs=5e-5)
    coarse, fine = (cantilever(n, True) - 1 for n in (12, 16))
    assert coarse / fine == pytest.approx((16 / 12) ** 2, rel=0.03)
    assert 100 * fine == pytest.approx([0.014, -0.214, -0.728], abs=1e-3)


def test_the_least_eigenvalue_falls_by_the_square_of_five_and_root_24_per_element() -> None:
    least = []
    for count in (2, 3, 4):
        M = mass_matrix((PlanarLink("revolute", 1.0, 0.706, count),), np.zeros(1 + 2 * count))
        scale = np.sqrt(np.diag(M)[1:])
        least.append(np.linalg.eigvalsh(M[1:, 1:] / np.outer(scale, scale))[0])
    assert least[1] / least[2] == pytest.approx((5 + np.sqrt(24)) ** 2, rel=0.02)


@pytest.mark.parametrize(
    ("example", "bend", "rank"), [(1, 0.0, 11), (2, 0.0, 9), (2, 0.5, 10), (2, 1.0, 10)]
)
def test_m_without_motor_inertia_lacks_ranks(example: int, bend: float, rank: int) -> None:
    links, payload = (LINKS_1, 0.0) if example == 1 else (LINKS_2, PAYLOAD_2)
    hubs: dict[str, object] = {
        f"links.{k}.joint.hub": {} for k in ((2,) if example == 1 else (1, 2))
    }
    model = build(changed(f"chu-example-{example}", hubs))
    q = np.zeros(model.size)
    q[model.names.index("joint2")] = bend
    by_hand = mass_matrix(links, q, payload=payload)
    flexarms = Equation.of(ElementJacobian(model, paper=True)).mass_matrix(q)
    assert np.abs(by_hand - flexarms).max() < 1e-14
    assert _rank(by_hand) == _rank(flexarms) == rank


def test_the_three_joint_types_have_the_consistent_mass_matrix_of_flexarm() -> None:
    found = cases(compute("chu", "joint-types"), "sliding prismatic")
    assert len(found) == 3
    assert max(found.values()) < 1e-14


@pytest.mark.campaign
def test_two_elements_leave_entries_of_m_wrong_though_no_inertia_is_left_out() -> None:
    said = statement(compute("chu", "eq-18"), "all the moment of inertia")
    ((_, worst),) = said.trials[0].beside
    assert worst == pytest.approx(119, abs=1)
    assert said.trials[0].value < 1e-12


@pytest.mark.campaign
def test_a_tip_body_alone_does_not_make_m_of_both_examples_regular() -> None:
    lost = cases(compute("chu", "eq-18"), "is regular")
    assert lost == {"0 kg m^2, 0 kg": 1.0, "0 kg m^2, 0.05 kg": 1.0,
                    "0.01 kg m^2, 0 kg": 0.0, "0.01 kg m^2, 0.05 kg": 0.0}  # fmt: skip


@pytest.mark.campaign
def test_the_deflection_of_both_links_is_that_of_the_end_effector_from_rigid_ones() -> None:
    run = simulate(changed("chu-example-2"), t_end=0.3, dt=5e-3)
    q1, q2 = column(run, "joint1"), column(run, "joint1") + column(run, "joint2")
    rigid = 0.8 * np.array([np.cos(q1), np.sin(q1)]) + 0.3 * np.array([np.cos(q2), np.sin(q2)])
    off = run.tip[:, :2].T - rigid
    across = -np.sin(q2) * off[0] + np.cos(q2) * off[1]
    ours = history(run, "deflection", Reading(((BENT, OF_BOTH),)))
    assert np.abs(across).max() > 1e-3
    assert np.abs(ours - across).max() < 1e-2 * np.abs(across).max()


@pytest.mark.campaign
def test_without_j_f_alone_the_tip_of_link_1_stays_in_the_mass_matrix() -> None:
    alone, kept = cases(compute("chu", "table-1"), "J^f of").values()
    assert alone == 0  # one flexible link is carried by none
    # all of link 2 moves with the tip of link 1
    m, n, a, b = STRIP * 0.8, STRIP * 0.3, 0.8, 0.3
    first = m * a**2 / 3 + n * (a**2 + a * b + b**2 / 3)
    assert kept == pytest.approx(n / first, rel=1e-9)
    # a strip of 1 mm: the sections' own is a twelfth of a square millimetre
    axis, volume = cases(compute("chu", "table-1"), "not all the moment").values()
    assert axis == pytest.approx((m + n) * 1e-6 / 12 / 0.1799697930, rel=1e-3)
    assert volume < 1e-14


def test_gravity_across_the_slide_moves_the_arm_otherwise_than_it_falls() -> None:
    name = "slide, and gravity in the plane"
    for each in [x for x in GRIDS[1].readings() if x[name] != GRIDS[1].first[name]]:
        changes = GRIDS[1].changes(each)
        axis = changes.get("links.1.joint.axis", [0.0, 1.0, 0.0])
        assert np.dot(changes.get("gravity", np.zeros(3)), axis) == 0
