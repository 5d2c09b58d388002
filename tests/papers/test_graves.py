"""Graves: compensation, and what makes modes without stiffening fail."""

import pytest

from flexarm.papers.base import verdict
from flexarm.papers.graves import compensation, rotation_limit, shuttle


def test_coriolis_forces_are_those_of_another_formulation() -> None:
    found = compensation()
    assert verdict(found) == "reproduced"
    assert found.difference.value is not None
    assert found.difference.value < 1e-12


@pytest.mark.campaign
def test_only_inertias_that_vary_with_the_deflection_make_the_spinning_link_unstable() -> None:
    found = rotation_limit()
    assert verdict(found) == "reproduced"
    assert [claim.outcome for claim in found.claims] == ["holds"] * 3


@pytest.mark.campaign
def test_one_run_has_free_base_file_modes_hardening_spring_and_tip_force() -> None:
    found = shuttle()
    assert verdict(found) == "reproduced"
    assert found.difference.value is not None
    assert found.difference.value < 1e-9
    assert [row[1] for row in found.tables[0].rows] == ["finished"] * 4
