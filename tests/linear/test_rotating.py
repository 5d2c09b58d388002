"""Frequencies of rotating links, about steady rotation, to the published digits."""

import math
from functools import cache

import numpy as np
import pytest
import scipy.linalg

from flexarm import build, modes
from flexarm.arm import Arm
from flexarm.model import Model
from flexarm.spatial import Array
from tests.linear.linear_arms import one_link, rotor
from tests.physics.rods import RotatingBeam

COUNT = 14  # polynomials, of degrees 2 to 15
DIGITS = 5.1e-7  # half of the last printed one
# Frequency times sqrt(rhoA L^4/EI) by speed times the same; a column per plane, hub radius over
# length, and mode.
COLUMNS = [
    ("z", 0, 1), ("z", 0, 2), ("y", 0, 1), ("y", 0, 2), ("z", 1, 1), ("z", 1, 2), ("y", 1, 1),
    ("y", 1, 2), ("z", 2, 1), ("y", 2, 1),
]  # fmt: skip
TABLE = {
    0: (3.516015, 22.034492, 3.516015, 22.034492, 3.516015,
        22.034492, 3.516015, 22.034492, 3.516015, 3.516015),
    2: (4.137320, 22.614922, 3.621797, 22.526311, 4.833689,
        23.366042, 4.400517, 23.280290, 5.439949, 5.058956),
    4: (5.585001, 24.273349, 3.897723, 23.941501, 7.475048,
        26.957262, 6.314772, 26.658844, 8.966379, 8.024709),
    6: (7.360373, 26.809082, 4.263225, 26.129042, 10.443866,
        32.027244, 8.548353, 31.460203, 12.788142, 11.293210),
    8: (9.256838, 29.995382, 4.657150, 28.908873, 13.507389,
        37.953793, 10.883454, 37.101084, 16.685899, 14.643060),
    10: (11.202328, 33.640366, 5.048975, 32.119686, 16.606363,
         44.368224, 13.257876, 43.226604, 20.611190, 18.022796),
    12: (13.170150, 37.603112, 5.427049, 35.636976, 19.721542,
         51.070134, 15.650534, 49.640292, 24.549082, 21.416289),
}  # fmt: skip
TIP_MASS = {
    "z": {2: 2.669637, 6: 6.509056, 12: 12.481373},
    "y": {2: 1.768321, 6: 2.523452, 12: 3.432880},
}


@cache
def turning(plane: str, hub: float, rest: str = "", count: int = COUNT) -> Model:
    stiff = {"y": "EIz", "z": "EIy"}[plane]
    after = f", after: {{position: [{hub}, 0, 0]}}" if hub else ""
    arm = one_link(
        joint=f"{{kind: revolute{after}}}",
        section=f"mass_per_length: 1, {stiff}: 1",
        shapes=f"{{kind: polynomials, bending_{plane}: {count}}}",
        rest=rest,
    )
    return build(arm)


CI = {("y", 0, 12), ("z", 1, 12), ("y", 2, 12)}
CASES = [(*pair, s) for pair in sorted({column[:2] for column in COLUMNS}) for s in TABLE]


@pytest.mark.parametrize(
    ("plane", "hub", "speed"),
    [case if case in CI else pytest.param(*case, marks=pytest.mark.campaign) for case in CASES],
)
def test_a_rotating_link_stiffens_as_published(plane: str, hub: int, speed: int) -> None:
    """Out of the plane of rotation (z) and in it (y), to the six decimals that are printed."""
    found = modes(turning(plane, hub), speeds={"joint1": float(speed)}).modes
    for column, expected in zip(COLUMNS, TABLE[speed], strict=True):
        if column[:2] == (plane, hub):
            assert found[column[2] - 1].frequency_rad_s == pytest.approx(expected, abs=DIGITS)


@pytest.mark.parametrize("plane", ["y", pytest.param("z", marks=pytest.mark.campaign)])
def test_a_tip_mass_on_a_rotating_link_changes_it_as_published(plane: str) -> None:
    model = turning(plane, 0, "payload: {mass: 1}\n")
    for speed, expected in TIP_MASS[plane].items():
        found = modes(model, speeds={"joint1": float(speed)}).modes[0]
        assert found.frequency_rad_s == pytest.approx(expected, abs=DIGITS)


def test_without_stiffening_rotation_softens_a_link_until_it_diverges() -> None:
    model = build(rotor("y", stiffening=False, hub=1.0))
    critical = 3.5160152685
    below = modes(model, speeds={"joint1": 2.0}).modes[0]
    assert below.frequency_rad_s == pytest.approx(math.sqrt(critical**2 - 4), rel=1e-8)
    assert modes(model, speeds={"joint1": critical - 1e-6}).modes[0].kind == "vibration"
    beyond = modes(model, speeds={"joint1": critical + 1e-6}).modes[0]
    assert beyond.kind == "growth"
    assert beyond.damping_ratio == -1


SLENDERNESS = 70.0  # sqrt(EA L^2/EI)


def stretching() -> Arm:
    return one_link(
        section=f"mass_per_length: 1, EIz: 1, EA: {SLENDERNESS**2}",
        shapes="{kind: polynomials, bending_y: 9, stretch: 9}",
    )


def slowest(speed: float, tension: Array, x: Array, weight: Array) -> float:
    """Find the lowest frequency of a rotating beam that stretches, by Ritz in powers of x.

    Second-order theory: ``u_tt - 2 W v_t - W^2 u - EA u'' = 0`` along the beam and
    ``v_tt + 2 W u_t - W^2 v + EI v'''' - (T v')' = 0`` across, under a tension T(x).
    """
    n = 9
    k = np.arange(1, n + 1)[:, None]
    u, strain = x**k, k * x ** (k - 1)
    v, slope, bend = x ** (k + 1), (k + 1) * x**k, k * (k + 1) * x ** (k - 1)
    gram = [(f * weight) @ g.T for f, g in ((u, u), (v, v), (u, v))]
    mass = scipy.linalg.block_diag(gram[0], gram[1])
    along = SLENDERNESS**2 * (strain * weight) @ strain.T
    across = (bend * weight) @ bend.T + (slope * weight * tension) @ slope.T
    stiffness = scipy.linalg.block_diag(along, across) - speed**2 * mass
    gyro = np.zeros_like(mass)
    gyro[:n, n:], gyro[n:, :n] = -2 * speed * gram[2], 2 * speed * gram[2].T
    zero, unit = np.zeros_like(mass), np.eye(2 * n)
    right = scipy.linalg.block_diag(unit, mass)
    values = scipy.linalg.eigvals(np.block([[zero, unit], [-stiffness, -gyro]]), right)
    return float(min(value.imag for value in values if value.imag > 0.1))


@pytest.mark.parametrize(
    ("speed", "published"),
    [pytest.param(2.0, 3.619566, marks=pytest.mark.campaign), (10.0, 4.970022)],
)
def test_coriolis_forces_couple_stretch_and_bending_as_published(
    speed: float, published: float
) -> None:
    """About the unstretched link as published; about the stretched one by a Ritz method."""
    found = modes(stretching(), speeds={"joint1": speed}, straight=True).modes[0]
    assert found.frequency_rad_s == pytest.approx(published, abs=DIGITS)
    node, weight = np.polynomial.legendre.leggauss(40)
    x, weight = (node + 1) / 2, weight / 2
    assert slowest(speed, speed**2 * (1 - x**2) / 2, x, weight) == pytest.approx(
        published, abs=DIGITS
    )
    settled = modes(stretching(), speeds={"joint1": speed}).modes[0].frequency_rad_s
    beam = RotatingBeam(length=1.0, density=1.0, EI=1.0, EA=SLENDERNESS**2)
    assert settled == pytest.approx(beam.frequencies(speed)[0], abs=DIGITS)
