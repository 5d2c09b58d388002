"""The differential frequency equation against complex steps, root finding and its printed form."""

import cmath
import math

import numpy as np
import pytest

from flexarm.errors import ShapeError
from flexarm_papers.beams.classical import beam_roots, clamped_mass
from flexarm_papers.beams.frequency import (
    TipBody,
    extension_rates,
    follow_root,
    frequency_equation,
    frequency_partials,
    frequency_rate,
)

LINE_MASS, PAYLOAD, BENDING = 0.4303 / 1.3, 0.0828, 1165.4916
BODIES = [(0.0, 0.0, 0.0), (0.8, 0.0, 0.0), (1.2, 0.4, 0.5), (3.0, 0.02, -0.2), (1e4, 30.0, 500.0)]


def printed_equation(lam: complex, mass: complex, inertia: complex, offset: complex) -> complex:
    """Evaluate eq. 11 of Theodore & Ghosal as printed."""
    c, s, ch, sh = cmath.cos(lam), cmath.sin(lam), cmath.cosh(lam), cmath.sinh(lam)
    return (
        (1 + ch * c)
        - mass * lam * (ch * s - sh * c)
        - inertia * lam**3 * (ch * s + sh * c)
        + mass * inertia * lam**4 * (1 - ch * c)
        - offset**2 * lam**4 * (1 - ch * c)
        - 2 * offset * lam**2 * sh * s
    )


def extension(time: float) -> tuple[float, float]:
    """Slide from 0.3 to 1 m in 0.5 s on a cycloid: length [m] and speed [m/s]."""
    phase = 2 * math.pi * time / 0.5
    length = 0.3 + 0.7 * (time / 0.5 - math.sin(phase) / (2 * math.pi))
    return length, 0.7 / 0.5 * (1 - math.cos(phase))


def sliding_body(time: float) -> TipBody:
    """Hold the payload 4 cm beyond the tip with an inertia of its own."""
    length, _ = extension(time)
    inertia = 2e-4 + PAYLOAD * 0.04**2
    return (
        PAYLOAD / (LINE_MASS * length),
        inertia / (LINE_MASS * length**3),
        PAYLOAD * 0.04 / (LINE_MASS * length**2),
    )


def sliding_rate(time: float) -> TipBody:
    return extension_rates(sliding_body(time), *extension(time))


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("lam", [1.3, 1.99, 2.01, 4.4, 17.3, 60.0])
def test_equation_is_the_printed_one(body: TipBody, lam: float) -> None:
    size = 1 + body[0] * lam + body[1] * lam**3 + (body[0] * body[1] + body[2] ** 2) * lam**4
    printed = printed_equation(lam, *body).real / math.cosh(lam)
    assert frequency_equation(lam, *body) == pytest.approx(printed, abs=1e-14 * size)


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("lam", [0.4, 1.99, 2.01, 4.4, 17.3, 60.0])
def test_partials_agree_with_complex_steps(body: TipBody, lam: float) -> None:
    partials = frequency_partials(lam, *body)
    # Size of the largest term of each derivative: what rounding is relative to.
    bulk = (1 + body[0] + abs(body[2]) + body[1]) * (1 + lam**4) * (1 + body[0] + body[1])
    for index, value in enumerate(partials):
        point = [complex(lam), *(complex(v) for v in body)]
        point[index] += 1e-30j
        step = printed_equation(*point).imag / 1e-30 / math.cosh(lam)
        assert value == pytest.approx(step, rel=1e-11, abs=1e-14 * bulk)


@pytest.mark.parametrize("body", BODIES)
def test_equation_vanishes_at_the_eigenvalues(body: TipBody) -> None:
    for lam in beam_roots(clamped_mass(*body), 12).tolist():
        slope = frequency_partials(lam, *body).lam
        assert abs(frequency_equation(lam, *body) / (lam * slope)) < 2e-15


@pytest.mark.parametrize("mode", [0, 1, 5, 19])
def test_rate_agrees_with_differences_of_the_eigenvalues(mode: int) -> None:
    body, change, h = (1.2, 0.4, 0.5), (0.3, -0.2, 0.1), 1e-4
    lams = [
        beam_roots(clamped_mass(*(b + k * h * r for b, r in zip(body, change, strict=True))), 20)
        for k in (-2, -1, 0, 1, 2)
    ]
    before2, before, here, after, after2 = (float(lam[mode]) for lam in lams)
    slope = (8 * (after - before) - (after2 - before2)) / (12 * h)
    assert frequency_rate(here, body, change) == pytest.approx(slope, rel=1e-7, abs=1e-10)


@pytest.mark.parametrize("length", [0.3, 0.65, 1.0])
def test_payload_on_a_sliding_link_follows_equations_45_to_47(length: float) -> None:
    mass, speed = PAYLOAD / (LINE_MASS * length), 1.7
    rates = extension_rates((mass, 0.0, 0.0), length, speed)
    for lam in beam_roots(clamped_mass(mass), 3).tolist():
        c, s, ch, sh = math.cos(lam), math.sin(lam), math.cosh(lam), math.sinh(lam)
        f1 = PAYLOAD / (LINE_MASS * length**2) * lam * (sh * c - ch * s)
        f2 = (1 + mass) * (sh * c - ch * s) - 2 * mass * lam * sh * s
        rate = frequency_rate(lam, (mass, 0.0, 0.0), rates)
        assert rate == pytest.approx(f1 / f2 * speed, rel=1e-11)


def test_extension_rates_are_the_derivatives_of_the_scaled_body() -> None:
    time, h = 0.2, 1e-5
    differences = (np.array(sliding_body(time + h)) - np.array(sliding_body(time - h))) / (2 * h)
    np.testing.assert_allclose(sliding_rate(time), differences, rtol=1e-7)


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_following_the_third_link_of_theodore_ghosal_ends_at_the_roots(mode: int) -> None:
    times = np.linspace(0, 0.5, 11)
    found = [beam_roots(clamped_mass(*sliding_body(t)), 3)[mode] for t in times.tolist()]
    followed = follow_root(float(found[0]), sliding_body, sliding_rate, times)
    np.testing.assert_allclose(followed, found, rtol=1e-10)


def test_following_a_point_payload_gives_the_frequencies_at_full_extension() -> None:
    def body(time: float) -> TipBody:
        return PAYLOAD / (LINE_MASS * extension(time)[0]), 0.0, 0.0

    def rate(time: float) -> TipBody:
        return extension_rates(body(time), *extension(time))

    start = beam_roots(clamped_mass(*body(0.0)), 2).tolist()
    lams = np.array([follow_root(lam, body, rate, [0.0, 0.5])[-1] for lam in start])
    hertz = lams**2 * math.sqrt(BENDING / LINE_MASS) / (2 * math.pi)
    assert [round(hertz[0], 5), round(hertz[1], 4)] == [23.38656, 168.5833]


def test_following_a_folding_elbow_agrees_with_root_finding() -> None:
    # De Luca & Siciliano 1991: the elbow angle turns the offset of the outboard arm.
    length, rho = 0.5, 0.2
    mass, inertia = 1.2 / (rho * length), (0.1005 + 0.1 * 0.25 * 4 / 3) / (rho * length**3)
    reach = (0.1 * 0.25 + 0.1 * 0.5) / (rho * length**2)

    def body(time: float) -> TipBody:
        return mass, inertia, reach * math.cos(time)

    def rate(time: float) -> TipBody:
        return 0.0, 0.0, -reach * math.sin(time)

    times = np.linspace(0, math.pi, 7)
    for mode in (0, 1):
        found = [beam_roots(clamped_mass(*body(t)), 2)[mode] for t in times.tolist()]
        followed = follow_root(float(found[0]), body, rate, times)
        np.testing.assert_allclose(followed, found, rtol=1e-10)


@pytest.mark.parametrize("times", [[0.0], [0.0, 0.0], [1.0, 0.5]])
def test_times_that_do_not_increase_are_refused(times: list[float]) -> None:
    with pytest.raises(ShapeError, match="times: expected two or more increasing times"):
        follow_root(1.9, sliding_body, sliding_rate, times)
