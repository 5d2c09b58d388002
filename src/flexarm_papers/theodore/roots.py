"""Theodore & Ghosal 1995, sections 2 and 4.2: the time-dependent frequency equation."""

import math

import numpy as np
import scipy.linalg

from flexarm.arm.profile import Cycloid
from flexarm.model.profiles import evaluate
from flexarm.spatial import Array
from flexarm_papers.base import Figure, Found, curve
from flexarm_papers.beams.classical import BeamShape, beam_roots, beam_shape, clamped_mass
from flexarm_papers.beams.frequency import extension_rates, follow_root
from flexarm_papers.readings import Reading, every, ways
from flexarm_papers.theodore.loop import EI
from flexarm_papers.verdicts import claim, measured, search

AT = "section 4.2"
DENSITY = 0.331  # [kg/m] of links 2 and 3
PAYLOAD = 0.0828  # [kg]
MOTION: Cycloid[float] = Cycloid(kind="cycloid", start=0.3, end=1.0, duration=0.5)  # of link 3
NODES = 30  # of the table
FROZEN = {"as where the motion begins": 0.3, "as where it ends": 1.0, "as of no payload": math.inf}
MASSES = "masses of links"
BODIES = 100  # random ones at the tip
GAUSS, GAUSS_WEIGHTS = np.polynomial.legendre.leggauss(40)
X, W = (GAUSS + 1) / 2, GAUSS_WEIGHTS / 2


def frequency_equation() -> Found:
    """Follow the frequencies of the growing link: differential equation, roots, table."""
    times = np.linspace(0.0, 0.5, 51)
    lengths = np.array([evaluate(MOTION, t)[0] for t in times])
    exact = np.array([beam_roots(clamped_mass(_body(t)[0]), 2) for t in times])
    followed = np.array([follow_root(float(x), _body, _rate, times) for x in exact[0]]).T
    nodes = np.linspace(MOTION.start, MOTION.end, NODES)
    known = np.array([beam_roots(clamped_mass(PAYLOAD / (DENSITY * x)), 2) for x in nodes])
    table = np.array([np.interp(lengths, nodes, known[:, k]) for k in range(2)]).T
    error, other = (float(np.abs(x / exact - 1).max()) for x in (followed, table))
    hertz = np.square(exact) * (np.sqrt(EI / DENSITY) / lengths[:, None] ** 2 / (2 * math.pi))
    excess, away = ({f"terms taken {name} [%]": f(x) for name, x in FROZEN.items()}
                    for f in (_overestimate, _misshapen))  # fmt: skip
    return Found(
        (
            measured("the differential equation gives the roots of the frequency equation",
                     f"{AT}, eqs. 40, 45", claim("largest relative error", high=1e-8), error,
                     beside={f"linear look-up in {NODES} nodes": other}),
            measured("the roots of the frequency equation are all distinct", AT,
                     claim(f"least relative distance of five roots, {BODIES} tip bodies",
                           low=0.01), _least_gap()),
            measured("neglecting the time-dependent terms may lead to over-estimated frequencies",
                     AT, claim("largest excess of two modes", low=0.5, unit="%"),
                     max(excess.values()), beside=excess),
            measured("neglecting the time-dependent terms may lead to inaccurate mode shapes", AT,
                     claim("largest distance of two modes", low=5.0, unit="%"),
                     max(away.values()), beside=away),
            search("for a planar 3R robot J_L = I_2 + I_3 + m_2 l_2^2 + m_3 (l_2^2 + l_3^2 + 2 l_2 "
                   "l_3 cos theta_3)", "section 2.1.1", claim("relative error", high=1e-9),
                   every(ways(MASSES, "at their ends", "spread evenly")).readings(), _outboard),
        ),
        figures=(
            Figure("Frequencies of link 3 along the motion", "time [s]", "frequency [Hz]",
                   tuple(curve(f"mode {k + 1}", times, hertz[:, k]) for k in range(2)), log=True),
        ),
        text=f"The differential form follows both roots to {error:.0e}, a look-up to {other:.0e}.",
    )  # fmt: skip


def _body(t: float) -> tuple[float, float, float]:
    """Return the payload at the tip of link 3, over the mass that is out."""
    return PAYLOAD / (DENSITY * evaluate(MOTION, t)[0]), 0.0, 0.0


def _rate(t: float) -> tuple[float, float, float]:
    length, speed = evaluate(MOTION, t)[:2]
    return extension_rates(_body(t), length, speed)


def _least_gap() -> float:
    """Return the least relative distance of two of five roots, for random tip bodies."""
    rng, gaps = np.random.default_rng(0), []
    for _ in range(BODIES):
        mass, inertia = 10.0 ** rng.uniform((-2.0, -3.0), (2.0, 1.0))
        offset = rng.uniform(-0.99, 0.99) * math.sqrt(mass * inertia)
        roots = beam_roots(clamped_mass(float(mass), float(inertia), float(offset)), 5)
        gaps.append(float((np.diff(roots) / roots[:-1]).min()))
    return min(gaps)


def _modes_at(length: float) -> tuple[Array, list[BeamShape]]:
    """Return two roots and shapes of link 3 with the payload when it is out by a length [m]."""
    ends = clamped_mass(PAYLOAD / (DENSITY * length))
    roots = beam_roots(ends, 2)
    return roots, [beam_shape(ends, float(x)) for x in roots]


def _overestimate(frozen: float) -> float:
    """Return the largest excess of two frequencies in the shapes of one length [%]."""
    _, shapes = _modes_at(frozen)
    value, curvature = (np.array([each.evaluate(X, k) for each in shapes]) for k in (0, 2))
    tip = np.array([each.evaluate(np.ones(1))[0] for each in shapes])
    found = []
    for length in np.linspace(MOTION.start, MOTION.end, 15).tolist():
        mass = (value * W) @ value.T + PAYLOAD / (DENSITY * length) * np.outer(tip, tip)
        squares = scipy.linalg.eigh((curvature * W) @ curvature.T, mass, eigvals_only=True)
        found.append(100 * (np.sqrt(squares) / np.square(_modes_at(length)[0]) - 1).max())
    return float(max(found))


def _misshapen(length: float) -> float:
    """Return the distance of the shapes of one length from the exact ones, of their size [%]."""
    frozen, found = _modes_at(length)[1], []
    for now in (MOTION.start, MOTION.end):
        for one, other in zip(frozen, _modes_at(now)[1], strict=True):
            a, b = (each.evaluate(X) for each in (one, other))
            alike = (W @ (a * b)) ** 2 / ((W @ a**2) * (W @ b**2))
            found.append(100 * math.sqrt(2 * max(1 - math.sqrt(alike), 0.0)))
    return max(found)


def _outboard(reading: Reading) -> float:
    """Return the largest error of the printed J_L of a planar 3R robot."""
    (l2, l3), (m2, m3), (i2, i3) = (1.0, 0.7), (0.5, 0.3), (0.1, 0.05)
    x, w = (np.ones(1), np.ones(1)) if reading[MASSES] == "at their ends" else (X, W)
    worst = 0.0
    for theta in (0.0, 1.0, 2.0, 3.0):
        beyond = np.array([l2 + l3 * x * math.cos(theta), l3 * x * math.sin(theta)])
        true = i2 + i3 + m2 * w @ np.square(l2 * x) + m3 * w @ np.square(beyond).sum(axis=0)
        printed = i2 + i3 + m2 * l2**2 + m3 * (l2**2 + l3**2 + 2 * l2 * l3 * math.cos(theta))
        worst = max(worst, abs(printed / true - 1))
    return worst
