"""Chu et al.: what one point per element costs and leaves out."""

from functools import cache

import numpy as np
import pytest

from flexarm.formulations import formulation
from flexarm.formulations.element_jacobian import ElementJacobian
from flexarm.model import build
from flexarm.papers import choose_items
from flexarm.papers.base import Found
from flexarm.papers.chu import EXACT
from flexarm.papers.runs import changed


@cache
def compute(name: str) -> Found:
    (item,) = choose_items("chu", [name])
    return item.compute()


def test_elements_are_integrated_exactly_where_their_cost_is_compared() -> None:
    model = build(changed("chu-example-2"), stiffening=False)
    q = np.random.default_rng(1).uniform(-0.02, 0.02, model.size)
    ours = ElementJacobian(model, points=EXACT).mass_matrix(q)
    exact = formulation("composite", model).mass_matrix(q)
    assert np.abs(ours - exact).max() < 1e-12 * np.abs(exact).max()


def test_the_expression_of_m_grows_with_the_number_of_elements_integrals_or_not() -> None:
    rows = [row for row in compute("cost").tables[0].rows if row[0] == "example 2"]
    for column in (3, 4):
        coarse, fine = (int(row[column]) for row in rows[-2:])
        assert fine / coarse == pytest.approx(2.0, rel=0.05)


def test_one_point_per_element_gives_wrong_cantilever_frequencies() -> None:
    rows = compute("deficiency").tables[0].rows
    assert [float(x) for x in rows[0][1:]] == pytest.approx([1.010, 0.924, 0.903], abs=5e-4)
    assert [float(x) for x in rows[1][1:]] == pytest.approx([1.0015, 0.980, 0.940], abs=5e-4)


def test_the_least_eigenvalue_falls_by_the_square_of_five_and_root_24_per_element() -> None:
    found = compute("deficiency")
    (claim,) = [each for each in found.claims if "large number" in each.says]
    factor = f"{(5 + np.sqrt(24)) ** 2:.0f}"
    assert f"falls by {factor} and {factor} times" in claim.because
    assert claim.outcome == "fails"


def test_the_mass_matrix_of_example_1_as_printed_lacks_one_rank() -> None:
    # slide, joint and two values at each of five nodes
    assert "rank 11 of 12" in compute("deficiency").because


def test_what_the_experiment_omits_moves_the_joint_by_more_than_the_deviation_it_reports() -> None:
    for each in compute("fig-19").missing:
        assert each.spread > 0.035
