"""`compare` shows what one formulation gets wrong at the size that it has."""

import math

import pytest

import flexarm
from flexarm.formulations import FORMULATIONS
from flexarm.formulations.base import Formulation
from flexarm.formulations.kinematic_influence import KinematicInfluence
from flexarm.spatial import Expr
from flexarm.studies.compare import Compared, compare

NEEDED = ("articulated", "composite")  # for the short run, and to compare with


def planted(error: float) -> type[Formulation]:
    """Make a formulation whose Coriolis forces, quadratic in the rates, are wrong by a factor."""

    class Planted(KinematicInfluence):
        def inertial_expression(self, q: Expr, v: Expr, a: Expr | None, *, gravity: bool) -> Expr:
            return super().inertial_expression(q, math.sqrt(1 + error) * v, a, gravity=gravity)

        def options(self) -> str:
            return f"planted {error}"

    return Planted


def found(name: str, error: float) -> Compared:
    """Compare an arm under a formulation with a planted error."""
    kept = dict(FORMULATIONS)  # in an order that single ones put back would not have
    for other in [other for other in FORMULATIONS if other not in NEEDED]:
        del FORMULATIONS[other]
    FORMULATIONS["kinematic-influence"] = planted(error)
    try:
        return compare(flexarm.example_arm(name)).formulations["kinematic-influence"]
    finally:
        FORMULATIONS.clear()
        FORMULATIONS.update(kept)


@pytest.mark.campaign  # with gravity below
@pytest.mark.parametrize("error", [1e-6, 1e-2, -1.0])
def test_an_error_of_the_coriolis_force_shows_as_large_as_it_is(
    error: float,
) -> None:
    # stiff and without gravity: elastic forces at the states are 1e5 times the Coriolis forces
    row = found("chu-example-1", error)
    assert row.errors is not None
    assert row.errors.bias == pytest.approx(abs(error), rel=1e-6)
    assert row.errors.acceleration == pytest.approx(abs(error), rel=1e-6)
    assert row.errors.mass_matrix is not None
    assert row.errors.mass_matrix < 1e-12


def test_gravity_does_not_hide_an_error_of_the_coriolis_force() -> None:
    row = found("korayem-two-link", 1e-2)
    assert row.errors is not None
    assert row.errors.mass_matrix is not None
    assert row.errors.mass_matrix < 1e-12
    assert row.errors.acceleration is not None
    assert row.errors.acceleration > 1e-3
    assert row.errors.bias == pytest.approx(1e-2, rel=1e-6)  # the states make both equally large
