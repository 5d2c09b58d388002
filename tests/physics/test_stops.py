"""Hard stops: restitution by its first integral, energy, refusals."""

import numpy as np
import pytest

import flexarm
from flexarm.errors import ModelError
from flexarm.mechanics.stops import crossley
from tests.integrate.mission_arms import flexible_arm, one_joint


@pytest.mark.parametrize("rtol", [1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("restitution", [1.0, 0.8, 0.3])
def test_a_joint_leaves_its_stop_with_the_restitution_given(
    rtol: float, restitution: float
) -> None:
    arm = one_joint(
        start={"speed": 2.0}, limits={"lower": -0.5, "upper": 0.5},
        stops={"stiffness": 4e3, "restitution": restitution, "speed": 2.0},
    )  # fmt: skip
    run = flexarm.simulate(arm, t_end=0.45, rtol=rtol)
    assert run.v[-1, 0] == pytest.approx(-2.0 * restitution, rel=2 * rtol)
    assert run.work_integrals[-1, 3] == pytest.approx(2.0 * (1 - restitution**2), abs=4 * rtol)


def test_the_lower_stop_is_the_upper_ones_mirror() -> None:
    runs = []
    for sign in (1.0, -1.0):
        arm = one_joint(
            start={"speed": 2.0 * sign}, limits={"lower": -0.5, "upper": 0.5},
            stops={"stiffness": 4e3, "restitution": 0.5, "speed": 1.0},
        )  # fmt: skip
        runs.append(sign * flexarm.simulate(arm, t_end=1.5, rtol=1e-9, dt=0.1).q)
    assert np.abs(runs[0] - runs[1]).max() < 1e-9


@pytest.mark.parametrize("restitution", [0.999, 0.9, 0.5, 0.1])
def test_the_loss_solves_the_first_integral(restitution: float) -> None:
    z = crossley(restitution)
    assert z - np.log1p(z) == pytest.approx(-restitution * z - np.log1p(-restitution * z), rel=1e-9)


@pytest.mark.parametrize(
    "method", ["etd4", "dop853", pytest.param("rodas4", marks=pytest.mark.campaign)]
)
def test_a_flexible_arm_bounces_with_a_closed_balance(method: str) -> None:
    arm = flexible_arm(
        limits={"lower": -0.3}, stops={"stiffness": 5e3, "restitution": 0.6, "speed": 0.5}
    )
    run = flexarm.simulate(arm, t_end=1.0, rtol=1e-6, method=method)
    assert run.status == "finished"
    assert run.energy_balance < 1e-5
    assert run.q[:, run.model.names.index("hinge")].min() > -0.4


def test_stops_that_are_none_are_refused() -> None:
    with pytest.raises(ModelError, match=r"limits.lower and limits.upper"):
        one_joint(stops={"stiffness": 1.0})
    with pytest.raises(ModelError, match="Give the speed that it was measured at"):
        one_joint(limits={"upper": 1.0}, stops={"stiffness": 1.0, "restitution": 0.5})
