"""Graves: Jacobians, inertia, nonlinear loads, and what makes modes without stiffening fail."""

import numpy as np
import pytest

from flexarm.formulations import formulation
from flexarm.model import build
from flexarm_papers.graves.items import EI, LENGTH, RATES, SPUN, _growth, bent, mission
from flexarm_papers.graves.loads import (
    ITERATED,
    ITS,
    LEFT_OUT,
    LEVER,
    LINKS,
    RELATIVE,
    iterated,
    lumped,
    mass_error,
    off_axis,
    tip_error,
    turned,
)
from flexarm_papers.runs import changed
from tests.papers.computed import cases, compute


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


def test_eq_27_is_right_in_a_plane_and_with_its_lever_for_rigid_links_in_space() -> None:
    for reading in ITERATED.readings():
        for k, links in enumerate(LINKS):
            right = reading[ITS] == RELATIVE and (k == 0 or (k == 1 and reading[LEVER] != LEFT_OUT))
            assert (iterated(reading, (links,)) < 1e-10) == right


def test_m_of_undeflected_links_errs_in_proportion_to_the_deflection() -> None:
    small, large = (mass_error("count-2-2-2", x) for x in (1e-3, 2e-3))
    assert large / small == pytest.approx(2.0, rel=0.05)


def test_influence_coefficients_of_eq_3_err_in_proportion_to_the_deflection() -> None:
    small, large = (max(tip_error(x, y) for x in ("count-2-2-2", "count-3-2-2"))
                    for y in (0.005, 0.01))  # fmt: skip
    assert large / small == pytest.approx(2.0, rel=0.1)
    assert large == pytest.approx(5.47, rel=0.01)  # [%], the worst of two arms and five states
    assert max(tip_error(x, 0.0) for x in ("count-2-2-2", "count-3-2-2")) < 1e-10


@pytest.mark.campaign
def test_loads_off_the_axis_do_the_work_of_their_point() -> None:
    assert off_axis((3.0, 0.3, -0.2)) < 1e-8


def test_determinants_of_chains_of_links_are_powers() -> None:
    for n in (1, 2, 3, 6):
        found = np.linalg.det(np.linalg.matrix_power(turned(0.1), n))
        assert found == pytest.approx(1.01**n, rel=1e-12)


def test_modes_fail_above_the_links_own_frequency() -> None:
    own = 20.3735  # [rad/s], the first bending frequency
    varying, constant, stiffened = SPUN
    for rate in RATES:
        expected = max(rate**2 - own**2, 0) ** 0.5
        assert _growth(rate, varying) == pytest.approx(expected, rel=1e-3)
        assert _growth(rate, constant) == _growth(rate, stiffened) == 0.0


def test_a_beam_that_bends_exactly_is_the_elastica_and_one_of_modes_is_linear() -> None:
    found = bent(0.461353)  # [rad] under a force of EI / L^2
    assert found.force == pytest.approx(EI / LENGTH**2, rel=1e-4)
    assert found.exact == pytest.approx(0.30172, abs=1e-5)
    assert found.modes == pytest.approx(1 / 3, rel=2e-4)


@pytest.mark.campaign
def test_the_shuttles_mission_runs_by_the_method_and_is_balanced() -> None:
    found = compute("graves-1989", "shuttle-arm")
    run = mission()
    assert run.energy_balance is not None
    assert run.momentum_balance is not None
    assert max(abs(run.energy_balance), abs(run.momentum_balance)) < 1e-11
    assert "deploy the satellite at 34.0 s" in found.text
    assert "capture the canister at 54.0 s" in found.text


@pytest.mark.campaign
def test_sources_of_structural_data_have_the_frequencies_of_their_booms() -> None:
    found = compute("graves-1989", "structural-data")
    off = cases(found, "finite element or")
    assert len(off) == 3
    assert max(off.values()) < 0.2  # [%]
    reduced, full = ([float(x) for x in row[1:]] for row in found.tables[0].rows[-2:])
    assert reduced == pytest.approx(full, rel=2e-3)
