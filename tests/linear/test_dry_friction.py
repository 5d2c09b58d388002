"""Coulomb friction in linear models: what it becomes, and that every result says so."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from flexarm.arm import Arm
from flexarm.errors import FlexarmError
from flexarm.io.model_file import loads
from flexarm.linear.modes import modes
from flexarm.linear.state_space import linearise, start_point
from flexarm.linear.tangent import DryFriction, OperatingPoint
from flexarm.linear.tracks import sweep

COULOMB, SMOOTHING = 0.2, 1e-3


def rigid(joint: str = "", friction: str = f"coulomb: {COULOMB}") -> Arm:
    """Make a rigid arm of inertia 2 kg m^2 about its joint."""
    return loads(
        "flexarm: 1\nname: arm\nlinks:\n"
        f"  - joint: {{kind: revolute, friction: {{{friction}}}{joint}}}\n"
        "    length: 1\n    rigid: true\n    body: {mass: 2, com: [1, 0, 0]}\n"
    )


ELASTIC = ", drive: {rotor_inertia: 0.1, stiffness: 100}"


@pytest.mark.parametrize(
    ("friction", "speed", "coefficient"),
    [
        ("off", None, 0.0),
        ("tangent", None, COULOMB / SMOOTHING),
        ("secant", None, 4 * COULOMB / (math.pi * 0.1)),
        ("secant", 2.5, 4 * COULOMB / (math.pi * 2.5)),
    ],
)
def test_at_rest(friction: str, speed: float | None, coefficient: float) -> None:
    found = linearise(rigid(), friction=friction, friction_speed=speed)  # type: ignore[arg-type]
    assert found.A[1, 1] == pytest.approx(-coefficient / 2, rel=1e-12, abs=0)
    viscous = linearise(
        rigid(friction=f"coulomb: {COULOMB}, viscous: 3"),
        friction=friction,  # type: ignore[arg-type]
        friction_speed=speed,
    )
    assert viscous.A[1, 1] == pytest.approx(-(coefficient + 3) / 2, rel=1e-12)


@pytest.mark.parametrize("mean", [0.0, 0.3, -0.55, 0.6, 2.0])
def test_secant_is_the_first_harmonic_of_dry_friction(mean: float) -> None:
    amplitude = 0.6
    phase = (np.arange(200_000) + 0.5) * 2 * math.pi / 200_000
    force = COULOMB * np.sign(mean + amplitude * np.sin(phase))
    first = 2 * float(np.mean(force * np.sin(phase)))
    about = OperatingPoint(np.zeros(1), np.array([mean]), np.zeros(1))
    found = linearise(rigid(), about=about, friction="secant", friction_speed=amplitude)
    assert -2 * found.A[1, 1] == pytest.approx(first / amplitude, abs=1e-4)


def test_force_of_the_friction_stays_in_the_state() -> None:
    about = OperatingPoint(np.zeros(1), np.array([0.5]), np.zeros(1))
    found = linearise(rigid(), about=about)
    assert found.rate[1] == pytest.approx(-COULOMB / 2)
    assert found.A[1, 1] == 0


def lists_of_notices(arm: Arm, friction: str) -> dict[str, tuple[str, ...]]:
    """Ask every linear result about Coulomb friction."""
    choice: dict[str, str] = {"friction": friction}
    return {
        "linearise": linearise(arm, **choice).notices,  # type: ignore[arg-type]
        "modes": modes(arm, **choice).notices,  # type: ignore[arg-type]
        "sweep": sweep(arm, at={"joint1": [0, 1]}, joints="free", **choice).notices,  # type: ignore[arg-type]
    }


@pytest.mark.parametrize(
    ("friction", "says"),
    [("off", "left out"), ("secant", "2.546 N m s/rad"), ("tangent", "200 N m s/rad")],
)
def test_every_result_says_what_became_of_it(friction: str, says: str) -> None:
    for name, notices in lists_of_notices(rigid(), friction).items():
        assert len(notices) == 1, name
        assert notices[0].startswith("joint1: Coulomb friction of 0.2 N m")
        assert says in notices[0]


def test_nothing_is_said_without_it() -> None:
    assert not any(lists_of_notices(rigid(friction="viscous: 1"), "off").values())


@pytest.mark.parametrize(("joint", "said"), [("", 0), (ELASTIC, 1)])
def test_locked_joint_rubs_only_behind_its_transmission(joint: str, said: int) -> None:
    found = modes(rigid(joint), joints="locked")
    assert len(found.notices) == said


def test_prescribed_joint_is_not_spoken_of() -> None:
    motion = ", actuation: prescribed, motion: {kind: constant, value: 0}"
    assert linearise(rigid(motion), about=start_point(rigid(motion))).notices == ()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DryFriction("on"), "one of off, secant, tangent"),  # type: ignore[arg-type]
        (lambda: DryFriction("tangent", 0.1), "only with friction 'secant'"),
        (lambda: DryFriction("secant", 0.0), "must be > 0"),
        (lambda: DryFriction("secant", math.nan), "must be > 0"),
    ],
)
def test_what_is_no_choice_is_refused(make: Callable[[], DryFriction], message: str) -> None:
    with pytest.raises(FlexarmError, match=message):
        make()
