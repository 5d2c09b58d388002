"""Graves: compensation, and what makes modes without stiffening fail."""

import pytest

from flexarm.papers.base import EVERY, Found
from flexarm.papers.graves.items import (
    EI,
    LENGTH,
    bent,
    cantilever,
    compensation,
    rotation_limit,
    shuttle,
)
from flexarm.papers.readings import Scope


def all_hold(found: Found) -> bool:
    return all(each.verdict == EVERY for each in found.statements if each.tried)


def test_coriolis_forces_are_those_of_another_formulation() -> None:
    found = compensation(Scope())
    for each, most in zip(found.statements, (1e-10, 1e-8, 1e-6, 1e-6), strict=True):  # [%]
        assert max(x.value for x in each.tried if x.reading["equations"] == "complete") < most
    for each in found.statements:  # links that are weighed undeflected
        assert {"equations": ("complete",)} in each.conditions
        assert max(x.value for x in each.tried) > 10


def test_a_cantilever_has_its_exact_frequencies() -> None:
    assert all_hold(cantilever())


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
    found = shuttle()
    assert all_hold(found)
    assert len(found.statements) == 5
    assert [row[1] for row in found.tables[0].rows] == ["finished"] * 4
