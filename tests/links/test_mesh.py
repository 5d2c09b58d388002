"""Modes of tapered and stepped spans against solutions that share none of their code."""

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from scipy.special import iv, jv, jvp, kv, yv, yvp

from flexarm.links.base import Span
from flexarm.links.basis import MOTIONS
from flexarm.links.beams.finite import Conditions, modes
from flexarm.links.beams.mesh import mesh_for
from tests.links.spans import (
    Array,
    ended,
    measured_order,
    sign_changes,
    stationed,
    tapered,
)

Y, TWIST, STRETCH = (MOTIONS[d] for d in ("y", "twist", "x"))


def shoot(span: Span, omega: float, conditions: Conditions) -> float:
    """Integrate the beam equation from the root and return the determinant at the tip."""
    state = np.array([[0, 0], [0, 0], [1, 0], [0, 1]], float)
    if conditions.support == "pinned-free":
        state[:, 0] = [0, 1, -(omega**2) * conditions.hub, 0]
    for left, right in itertools.pairwise(span.edges):
        names = ("EIz", "Jz", "mass_per_length")
        at = np.array([span.at(n, np.array([left, (left + right) / 2])) for n in names])
        start, rate = at[:, 0], 2 * (at[:, 1] - at[:, 0]) / (right - left)

        def slope(
            x: float, y: Array, left: float = left, start: Array = start, rate: Array = rate
        ) -> Array:
            w, turn, moment, shear = y.reshape(4, 2)
            stiffness, rotary, mass = start + rate * (x - left)
            return np.concatenate(
                [turn, moment / stiffness, shear - omega**2 * rotary * turn, omega**2 * mass * w]
            )

        solution = solve_ivp(slope, (left, right), state.ravel(), "DOP853", rtol=1e-11, atol=1e-13)
        state = solution.y[:, -1].reshape(4, 2)
    w, turn, moment, shear = state
    lever = conditions.tip_mass * conditions.tip_offset
    end_moment = moment - omega**2 * (conditions.tip_inertia * turn + lever * w)
    end_shear = shear + omega**2 * (conditions.tip_mass * w + lever * turn)
    return float(end_moment[0] * end_shear[1] - end_moment[1] * end_shear[0])


def twice(values: Sequence[float]) -> list[float]:
    """Give both ends of each panel its value."""
    return [v for pair in zip(values, values, strict=True) for v in pair]


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "conditions",
    [Conditions(), ended(math.inf, 0.4, 0.08, 0.3), ended(0.0), ended(0.25, 0.4, 0.08, -0.2)],
)
def test_tapered_span_agrees_with_numerical_integration_of_the_beam_equation(
    conditions: Conditions,
) -> None:
    span = tapered()
    for omega in modes(span, Y, conditions, 3).frequencies:
        root = brentq(
            lambda w: shoot(span, w, conditions), omega * (1 - 1e-5), omega * (1 + 1e-5), rtol=1e-13
        )
        assert omega == pytest.approx(root, rel=1e-9)


@pytest.mark.campaign
def test_tapered_span_has_no_mode_between_those_found() -> None:
    span, conditions = tapered(), ended(0.25, 0.4, 0.08, -0.2)
    last = modes(span, Y, conditions, 4).frequencies[-1]
    assert sign_changes(lambda w: shoot(span, w, conditions), 0.5, last * 1.01, 60) == 4


def test_rod_of_linear_taper_has_bessel_functions() -> None:
    # (A u')' + b^2 A u = 0 with A = 1 - c x has u = J0, Y0 of b (1 - c x) / c.
    c = 0.9
    span = stationed([0.0, 1.0], EA=[1.0, 1 - c], mass_per_length=[1.0, 1 - c])

    def determinant(b: float) -> float:
        root, tip = b / c, b * (1 - c) / c
        return float(jv(0, root) * yvp(0, tip) - yv(0, root) * jvp(0, tip))

    found = modes(span, STRETCH, Conditions(), 4).frequencies
    exact = [brentq(determinant, f * 0.99, f * 1.01, rtol=1e-14) for f in found]
    assert found == pytest.approx(np.array(exact), rel=1e-11)
    assert sign_changes(determinant, 0.05, found[-1] * 1.001, 1000) == 4


def test_truncated_wedge_converges_to_its_bessel_functions_as_stations_are_added() -> None:
    # X from the apex, EI = X^3, mu = X: (X^3 w'')'' = k^4 X w has w = C1(2 k sqrt X) / sqrt X with
    # C1 any of J1, Y1, I1, K1 (Kirchhoff 1879); its derivatives follow from the recurrences.
    apex = 0.2

    def rows(k: float, x: float) -> Array:
        z = 2 * k * math.sqrt(x)
        c1, c2, c3 = (np.array([f(n, z) for f in (jv, yv, iv, kv)]) for n in (1, 2, 3))
        turn, shear = np.array([-1, -1, 1, -1]) * c2, np.array([1, 1, 1, -1]) * c2
        return np.array([c1 / math.sqrt(x), k * turn / x, k**2 * x**1.5 * c3, k**3 * x * shear])

    def determinant(k: float) -> float:
        matrix = np.concatenate([rows(k, 1.0)[:2], rows(k, apex)[2:]])
        return float(np.linalg.det(matrix / np.abs(matrix).max(axis=0)))

    def found(panels: int) -> Array:
        x = np.linspace(0, 1 - apex, panels + 1)
        span = stationed(x, EIz=(1 - x) ** 3, mass_per_length=1 - x)
        return modes(span, Y, Conditions(), 3).frequencies

    coarse, fine = found(64), found(128)
    limit = (4 * fine - coarse) / 3
    exact = [brentq(determinant, f**0.5 * 0.99, f**0.5 * 1.01, rtol=1e-14) ** 2 for f in fine]
    assert limit == pytest.approx(np.array(exact), rel=1e-7)
    errors = [float(abs(f[0] - exact[0])) for f in (coarse, fine)]
    assert measured_order(errors, 2) == pytest.approx(2, abs=0.02)


def test_stepped_beam_agrees_with_transfer_matrices() -> None:
    edges, mu, stiff = [0.0, 0.3, 0.75, 1.2], [4.0, 1.0, 2.5], [6.0, 0.5, 2.0]
    span = stationed([0.0, 0.3, 0.3, 0.75, 0.75, 1.2], mass_per_length=twice(mu), EIz=twice(stiff))
    conditions = ended(0.4, 0.8, 0.1, 0.25)

    def determinant(omega: float) -> float:
        state = np.array([[0, 0], [1, 0], [-(omega**2) * conditions.hub, 0], [0, 1]], float)
        for i in range(3):
            h, b = edges[i + 1] - edges[i], (omega**2 * mu[i] / stiff[i]) ** 0.25
            waves = np.array([[1, 0, 1, 0], [0, 1, 0, 1], [-1, 0, 1, 0], [0, -1, 0, 1]], float)
            waves *= np.array([1, b, stiff[i] * b**2, stiff[i] * b**3])[:, None]
            c, s, ch, sh = math.cos(b * h), math.sin(b * h), math.cosh(b * h), math.sinh(b * h)
            carry = np.array([[c, s, 0, 0], [-s, c, 0, 0], [0, 0, ch, sh], [0, 0, sh, ch]])
            state = waves @ carry @ np.linalg.solve(waves, state)
        w, turn, moment, shear = state
        lever = conditions.tip_mass * conditions.tip_offset
        end_moment = moment - omega**2 * (conditions.tip_inertia * turn + lever * w)
        end_shear = shear + omega**2 * (conditions.tip_mass * w + lever * turn)
        return float(end_moment[0] * end_shear[1] - end_moment[1] * end_shear[0])

    found = modes(span, Y, conditions, 6).frequencies
    for omega in found:
        assert determinant(omega * (1 - 1e-9)) * determinant(omega * (1 + 1e-9)) < 0
    assert sign_changes(determinant, 0.1, found[-1] * 1.001, 3000) == 6


def test_hundreds_of_stations_on_one_taper_change_nothing() -> None:
    x = np.linspace(0, 1.5, 701)
    conditions = ended(0.3, 0.5, 0.2, 0.1)
    for motion in (Y, TWIST):
        few = stationed([0, 1.5], EIz=[2.0, 0.5], Jz=[0.01, 0.02], GJ=[1.0, 0.4], Jx=[1.0, 0.1])
        many = stationed(
            x, **{n: np.interp(x, [0, 1.5], few.table[n]) for n in ("EIz", "Jz", "GJ", "Jx")}
        )
        assert mesh_for(many, motion, 7).tip.shape[1] > 2000
        a, b = (modes(span, motion, conditions, 6) for span in (few, many))
        assert b.frequencies == pytest.approx(a.frequencies, rel=1e-11)
        place = np.array([0.2, 0.77, 1.5])
        assert b.curves(place) == pytest.approx(a.curves(place), rel=1e-8)


@pytest.mark.parametrize("tip", [0.5, 1e-2, 1e-4, 1e-6])
def test_slim_tips_keep_their_digits(tip: float) -> None:
    whole = stationed([0, 1], EIz=[1, tip], mass_per_length=[1, math.sqrt(tip)])
    x = np.array([0, 0.3, 0.62, 0.9, 0.97, 0.99, 0.999, 0.9999, 1])
    cut = stationed(x, EIz=1 + (tip - 1) * x, mass_per_length=1 + (math.sqrt(tip) - 1) * x)
    a, b = (modes(span, Y, Conditions(), 8).frequencies for span in (whole, cut))
    assert a == pytest.approx(b, rel=1e-11)
