"""Graves: compensation, and what makes modes without stiffening fail."""

import numpy as np
import pytest

from flexarm.formulations import formulation
from flexarm.model import build
from flexarm_papers.base import Found
from flexarm_papers.graves.items import (
    EI,
    LENGTH,
    bent,
    cantilever,
    rotation_limit,
    shuttle,
)
from flexarm_papers.graves.loads import compensation, influence, lumped, transposes
from flexarm_papers.readings import Scope
from flexarm_papers.runs import changed
from flexarm_papers.statements import EVERY, HANGS


def all_hold(found: Found) -> bool:
    return all(each.verdict == EVERY for each in found.statements if each.tried)


@pytest.mark.campaign
def test_coriolis_forces_are_those_of_another_formulation() -> None:
    found = compensation(Scope())
    mass, torques, loads, stated, eq_27, prismatic = found.statements
    for each, most in zip((mass, torques, loads, prismatic), (1e-10, 1e-8, 1e-8, 1e-10),
                          strict=True):  # [%]  # fmt: skip
        assert max(x.value for x in each.tried if x.reading["equations"] == "complete") < most
    for each in (mass, torques, loads):  # beside stand deflections that are not small
        assert max(x.value for x in each.beside) > 10
    assert {mass.verdict, loads.verdict} == {EVERY}
    assert {"equations": ("complete",)} in torques.conditions
    assert stated.conditions == [{"nonlinear torques": ("of joints",), "rates of modes": ("none",)}]
    whole = [x for x in stated.tried if x.reading["nonlinear torques"] != "of joints"]
    assert min(x.value for x in whole) > 50
    for trial in eq_27.tried:  # rotations alone need no more than its lever
        relative, lever, links = (way for _, way in trial.reading.taken)
        right = relative == "relative to a" and (
            links == "rigid, in a plane" or (lever == "understood" and links == "rigid, in space")
        )
        assert trial.holds == right


@pytest.mark.parametrize("name", ["count-2-2-2", "count-3-2-2"])
def test_loads_of_centres_are_right_for_joints_and_wrong_for_the_last_links_modes(
    name: str,
) -> None:
    model = build(changed(name), stiffening=False)
    rng, joints = np.random.default_rng(1), np.array(["." not in x for x in model.names])
    q, v = rng.standard_normal((2, model.size)) * joints  # links that are straight, and stay so
    stated = lumped(model, own=True)(q, v).full().ravel()
    exact = formulation("composite", model).parts(q, v)["coriolis"]
    assert stated[joints] == pytest.approx(exact[joints], rel=1e-10)
    assert np.abs(stated / exact - 1)[-2:].min() > 0.05


def test_a_cantilever_has_its_exact_frequencies() -> None:
    found = cantilever()
    assert all_hold(found)
    assert found.checks[0].holds


@pytest.mark.campaign
def test_modes_fail_above_the_links_own_frequency_and_at_large_deflections() -> None:
    found = rotation_limit()
    assert all_hold(found)
    spins, bends = found.tables
    growth = {float(row[0]): float(row[2]) for row in spins.rows}
    own = 20.3735  # [rad/s], the first bending frequency
    for rate, found_growth in growth.items():
        assert found_growth == pytest.approx(max(rate**2 - own**2, 0) ** 0.5, rel=1e-3)
    errors = [float(row[-1]) for row in bends.rows]
    assert errors == sorted(errors)
    assert errors[0] < 0.1
    assert errors[-1] > 50


def test_a_beam_that_bends_exactly_is_the_elastica_and_one_of_modes_is_linear() -> None:
    found = bent(0.461353)  # [rad] under a force of EI / L^2
    assert found.force == pytest.approx(EI / LENGTH**2, rel=1e-4)
    assert found.exact == pytest.approx(0.30172, abs=1e-5)
    assert found.modes == pytest.approx(1 / 3, rel=2e-4)


@pytest.mark.campaign
def test_only_inertias_that_vary_with_the_deflection_make_the_spinning_link_unstable() -> None:
    (check,) = rotation_limit().checks
    assert check.holds
    assert "inertial variations" in check.says


@pytest.mark.campaign
def test_one_run_has_free_base_file_modes_hardening_spring_and_tip_force() -> None:
    found = shuttle(Scope())
    base, joints, simulated, spring, _ = found.statements
    turned = [each.reading.taken[0][1] for each in joints.tried if not each.holds]
    assert turned == ["90 deg"]  # where the first and the third turn about one axis
    assert {base.verdict, spring.verdict} == {EVERY}
    (wrong,) = [each.reading for each in simulated.tried if not each.holds]
    assert wrong.taken == (
        ("arm", "two links that fall"), ("looked at", "deflections"),
        ("equations", "the paper's, as stated"),
    )  # fmt: skip
    assert [row[1] for row in found.tables[0].rows] == ["finished"] * 4


def test_determinants_of_chains_of_links_are_powers() -> None:
    by = {tuple(way for _, way in x.reading.taken): x.value
          for x in transposes(Scope()).statements[0].tried}  # fmt: skip
    for n in (1, 2, 3, 6):
        assert by["0.1 rad", str(n)] == pytest.approx(100 * (1.01**n - 1), rel=1e-9)


def test_a_transpose_is_no_farther_from_the_inverse_than_the_determinant_from_one() -> None:
    since = transposes(Scope()).statements[2]
    assert since.verdict == EVERY
    for each in since.tried:  # a link stretches what is across its axis; for two, one line is
        few = each.reading["links between the frames"] in ("1", "2")
        assert (abs(each.value - 1) < 1e-9) == few


def test_influence_coefficients_of_eq_3_err_as_the_deflection() -> None:
    found = influence(Scope()).statements[0]
    values = {tuple(way for _, way in each.reading.taken): each.value for each in found.tried}
    assert max(x for (equations, _), x in values.items() if equations == "complete") < 1e-10
    assert values["the paper's", "none"] < 1e-10
    small, large = (values["the paper's", x] for x in ("5 mm", "1 cm"))
    assert large / small == pytest.approx(2.0, rel=0.1)
    assert large == pytest.approx(5.47, rel=0.01)  # [%], the worst of two arms and five states
    assert found.verdict == HANGS  # 5 % is our limit
