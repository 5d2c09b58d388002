"""Graves: compensation, and what makes modes without stiffening fail."""

import pytest

from flexarm.papers.base import verdict
from flexarm.papers.graves.items import (
    EI,
    LENGTH,
    bent,
    cantilever,
    compensation,
    rotation_limit,
    shuttle,
)


def test_coriolis_forces_are_those_of_another_formulation() -> None:
    found = compensation()
    assert verdict(found) == "reproduced"
    assert found.difference.value is not None
    assert found.difference.value < 1e-12


def test_compensating_torques_give_the_motors_what_is_wanted() -> None:
    found = compensation()
    assert [claim.measured for claim in found.claims] == [False, False, True]
    assert float(found.tables[0].rows[-1][-1]) < 1e-12


def test_a_cantilever_has_its_exact_frequencies_and_sources_of_data_are_scope_only() -> None:
    found = cantilever()
    assert verdict(found) == "reproduced"
    assert [claim.measured for claim in found.claims] == [True, False]


@pytest.mark.campaign
def test_modes_fail_above_the_links_own_frequency_and_at_large_deflections() -> None:
    found = rotation_limit()
    assert verdict(found) == "reproduced"
    assert all(claim.measured for claim in found.claims)
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
    assert check.outcome == "holds"
    assert "inertial variations" in check.says


@pytest.mark.campaign
def test_one_run_has_free_base_file_modes_hardening_spring_and_tip_force() -> None:
    found = shuttle()
    assert verdict(found) == "reproduced"
    assert [claim.measured for claim in found.claims] == [True, False, False, False, False]
    assert found.difference.value is not None
    assert found.difference.value < 1e-9
    assert [row[1] for row in found.tables[0].rows] == ["finished"] * 4
