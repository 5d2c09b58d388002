"""Theodore & Ghosal 1995, section 4.2: the time-dependent frequency equation."""

import math
import time
from collections.abc import Callable

import numpy as np
import scipy.linalg

from flexarm.arm.profile import Cycloid
from flexarm.model.profiles import evaluate
from flexarm.spatial import Array
from flexarm_papers.base import Figure, Found, Table, curve
from flexarm_papers.beams.classical import BeamShape, beam_roots, beam_shape, clamped_mass
from flexarm_papers.beams.frequency import (
    extension_rates,
    follow_root,
    frequency_partials,
    frequency_rate,
)
from flexarm_papers.beams.frequency import frequency_equation as beam_equation
from flexarm_papers.readings import Grid, Reading, Scope, ways
from flexarm_papers.statements import Limit, compare, decide, search, undecidable
from flexarm_papers.theodore.loop import EI

DENSITY = 0.331  # [kg/m] of links 2 and 3
PAYLOAD = 0.0828  # [kg]
MOTION: Cycloid[float] = Cycloid(kind="cycloid", start=0.3, end=1.0, duration=0.5)  # of link 3
ROOTS, FOLLOWED, LOOKED_UP = "root finding", "differential equation", "table look-up"
NODES = 30  # of the table
TERMS, WHOSE, FOUND = "time-dependent terms are taken", "eigen frequencies", "roots are found"
FROZEN = {"as where the motion begins": 0.3, "as where it ends": 1.0, "as of no payload": math.inf}
OF_SHAPES = "of the link in such shapes"
NEGLECTED = Grid((ways(TERMS, *FROZEN), ways(WHOSE, "roots of the frequency equation", OF_SHAPES)),
                 ((TERMS, WHOSE),))  # fmt: skip
SHAPES = Grid(NEGLECTED.choices[:1])
MASSES = Grid((ways("masses of links", "at their ends", "spread evenly"),))
COUNTED, ANEW, NEWTON = "compared", "anew", "from the last ones, by Newton's steps"
EACH = "each time that the equations of motion are evaluated"
DEARER = Grid((ways(FOUND, ANEW, NEWTON), ways(COUNTED, EACH, "for the motion alone")),
              ((FOUND, COUNTED),))  # fmt: skip
ROOT_GRID = Grid(NEGLECTED.choices + MASSES.choices + DEARER.choices)
OVER = Limit(low=0.5, unit="%")  # "over-estimated", as much as a figure shows
INACCURATE = Limit(low=5.0, unit="%")  # of a mode's root mean square
SAME = Limit(high=1e-9)
DEAR = Limit(low=1.5, unit="times")  # "considerable increase"
BODIES = 100  # random ones at the tip
GAUSS, WEIGHTS = np.polynomial.legendre.leggauss(40)


def frequency_equation(scope: Scope) -> Found:
    """Follow the frequencies of the growing link: differential equation, roots, table."""
    times = np.linspace(0.0, 0.5, 101)
    ways = _three_ways(times)
    lengths = np.array([evaluate(MOTION, t)[0] for t in times])
    scale = np.sqrt(EI / DENSITY) / lengths[:, None] ** 2 / (2 * math.pi)
    hertz = {name: np.square(found) * scale for name, (found, _) in ways.items()}
    off = {name: _distance(times, found) for name, (found, _) in ways.items()}
    exact = ways[ROOTS][0]
    ode, table = (float(np.abs(ways[x][0] / exact - 1).max()) for x in (FOLLOWED, LOOKED_UP))
    first = hertz[ROOTS][:, 0]
    searched = {ANEW: ways[ROOTS][1], NEWTON: _newton(times)[1]}
    followed = {EACH: _rates(times, exact)[1], "for the motion alone": ways[FOLLOWED][1]}
    two, three = _configured()
    statements = (
        compare("the differential equation gives the roots of the frequency equation", ode,
                Limit(high=1e-8), f"largest error (linear look-up in {NODES} nodes: {table:.1e})"),
        compare("frequencies of the prismatic link vary with time", float(np.ptp(first)),
                Limit(low=1.0, unit="Hz"), "range of the first"),
        compare("the roots of the frequency equation are all distinct", _least_gap(),
                Limit(low=0.01), f"least relative distance of five roots, {BODIES} tip bodies"),
        search("neglecting the time-dependent terms may lead to over-estimated eigen frequencies",
               NEGLECTED.readings(scope), _overestimate, OVER, "largest excess of two modes",
               may=True),
        search("neglecting the time-dependent terms may lead to inaccurate mode shapes",
               SHAPES.readings(scope), _misshapen, INACCURATE,
               "largest distance of two modes from the exact ones, of their size", may=True),
        search("for a planar 3R robot J_L = I_2 + I_3 + m_2 l_2^2 + m_3 (l_2^2 + l_3^2 + 2 l_2 l_3 "
               "cos theta_3)", MASSES.readings(scope), _outboard, SAME,
               "relative error of this formula"),
        decide("M_DL depends on the configuration of two revolute links, J_L of more than two only",
               two[0] > 0 == two[1] and three > 0,
               f"of two uniform links M_DL varies by {two[0]:.2g} kg m and J_L not at all, J_L of "
               f"three by {three:.2g} kg m^2"),
        search("root finding at each step may lead to considerable increase in computational time",
               DEARER.readings(scope), lambda x: searched[x[FOUND]] / followed[x[COUNTED]], DEAR,
               "CPU time over that of the differential equation", may=True),
        undecidable("table look-up requires a large storage space for the specified accuracy",
                    f"an accuracy, and what is large ({NODES} numbers per mode give {table:.1e})"),
    )  # fmt: skip
    rows = tuple(
        (name, f"{off[name].max():.1e}", f"{1e3 * seconds:.3f}")
        for name, (_, seconds) in ways.items()
    )
    head = ("method", "largest relative error", f"CPU for {len(times)} times, 2 modes [ms]")
    return Found(
        statements,
        tables=(Table("Three ways to the frequencies", head, rows),),
        figures=(
            Figure("Frequencies of link 3 along the motion", "time [s]", "frequency [Hz]",
                   tuple(curve(f"mode {k + 1}, {name}", times, found[:, k], points=name != ROOTS,
                               every=1 if name == ROOTS else 8 if name == FOLLOWED else 5)
                         for k in range(2) for name, found in hertz.items()), log=True),
            Figure("Error of a root along the motion, the larger of two modes", "time [s]",
                   "relative distance from the exact root",
                   tuple(curve(name, times, found) for name, found in off.items()), log=True),
        ),
    )  # fmt: skip


def _body(t: float) -> tuple[float, float, float]:
    """Give the payload at the tip of link 3, over the mass that is out."""
    return PAYLOAD / (DENSITY * evaluate(MOTION, t)[0]), 0.0, 0.0


def _rate(t: float) -> tuple[float, float, float]:
    length, speed = evaluate(MOTION, t)[:2]
    return extension_rates(_body(t), length, speed)


def _three_ways(times: Array) -> dict[str, tuple[Array, float]]:
    """Find two roots at every time by three methods, (T, 2), and the CPU time of each [s]."""
    lengths = np.array([evaluate(MOTION, t)[0] for t in times])
    first = beam_roots(clamped_mass(_body(0.0)[0]), 2)
    nodes = np.linspace(MOTION.start, MOTION.end, NODES)
    known = np.array([beam_roots(clamped_mass(PAYLOAD / (DENSITY * x)), 2) for x in nodes])
    return {
        ROOTS: _timed(lambda: np.array([beam_roots(clamped_mass(_body(t)[0]), 2) for t in times])),
        FOLLOWED: _timed(
            lambda: np.array([follow_root(float(x), _body, _rate, times) for x in first]).T
        ),
        LOOKED_UP: _timed(
            lambda: np.array([np.interp(lengths, nodes, known[:, k]) for k in range(2)]).T
        ),
    }


def _newton(times: Array) -> tuple[Array, float]:
    """Find two roots at every time by Newton's steps from the last, (T, 2), and CPU time [s]."""

    def compute() -> Array:
        rows = [beam_roots(clamped_mass(_body(0.0)[0]), 2).tolist()]
        for t in times[1:].tolist():
            row, body = list(rows[-1]), _body(t)
            for k in range(len(row)):
                step = 1.0
                while abs(step) > 1e-9:
                    step = beam_equation(row[k], *body) / frequency_partials(row[k], *body).lam
                    row[k] -= step
            rows.append(row)
        return np.array(rows)

    return _timed(compute)


def _rates(times: Array, roots: Array) -> tuple[Array, float]:
    """Evaluate the rates of two roots once at every time, (T, 2), and take the CPU time [s]."""

    def compute() -> Array:
        return np.array([
            [frequency_rate(x, _body(t), _rate(t)) for x in row]
            for t, row in zip(times.tolist(), roots.tolist(), strict=True)
        ])  # fmt: skip

    return _timed(compute)


def _least_gap() -> float:
    """Find how near two of the first five roots come, relatively, for random tip bodies."""
    rng, gaps = np.random.default_rng(0), []
    for _ in range(BODIES):
        mass, inertia = 10.0 ** rng.uniform((-2.0, -3.0), (2.0, 1.0))
        offset = rng.uniform(-0.99, 0.99) * math.sqrt(mass * inertia)
        roots = beam_roots(clamped_mass(float(mass), float(inertia), float(offset)), 5)
        gaps.append(float((np.diff(roots) / roots[:-1]).min()))
    return min(gaps)


def _modes_at(length: float) -> tuple[Array, list[BeamShape]]:
    """Find two roots and shapes of link 3 with the payload when it is out by a length [m]."""
    ends = clamped_mass(PAYLOAD / (DENSITY * length))
    roots = beam_roots(ends, 2)
    return roots, [beam_shape(ends, float(x)) for x in roots]


def _overestimate(reading: Reading) -> float:
    """Find the largest excess of two frequencies by terms that are frozen [%]."""
    roots, shapes = _modes_at(FROZEN[reading[TERMS]])
    x, w = (GAUSS + 1) / 2, WEIGHTS / 2
    value, curvature = (np.array([each.evaluate(x, k) for each in shapes]) for k in (0, 2))
    tip = np.array([each.evaluate(np.ones(1))[0] for each in shapes])
    found = []
    for length in np.linspace(MOTION.start, MOTION.end, 15).tolist():
        ours, load = np.square(roots), PAYLOAD / (DENSITY * length)
        if reading[WHOSE] == OF_SHAPES:
            mass = (value * w) @ value.T + load * np.outer(tip, tip)
            ours = np.sqrt(
                scipy.linalg.eigh((curvature * w) @ curvature.T, mass, eigvals_only=True)
            )
        found.append(100 * (ours / np.square(_modes_at(length)[0]) - 1).max())
    return float(max(found))


def _misshapen(reading: Reading) -> float:
    """Find how far shapes by frozen terms are from the exact ones, of their size [%]."""
    x, w = (GAUSS + 1) / 2, WEIGHTS / 2
    frozen = _modes_at(FROZEN[reading[TERMS]])[1]
    found = []
    for length in (MOTION.start, MOTION.end):
        for one, other in zip(frozen, _modes_at(length)[1], strict=True):
            a, b = (each.evaluate(x) for each in (one, other))
            alike = (w @ (a * b)) ** 2 / ((w @ a**2) * (w @ b**2))
            found.append(100 * math.sqrt(2 * max(1 - math.sqrt(alike), 0.0)))
    return max(found)


def _outboard(reading: Reading) -> float:
    """Compare the printed J_L of a planar 3R robot with the inertia that is there, the worst."""
    (l2, l3), (m2, m3), (i2, i3) = (1.0, 0.7), (0.5, 0.3), (0.1, 0.05)
    x, w = (GAUSS + 1) / 2, WEIGHTS / 2
    if reading[MASSES.choices[0].name] == "at their ends":
        x, w = np.ones(1), np.ones(1)
    worst = 0.0
    for theta in (0.0, 1.0, 2.0, 3.0):
        beyond = np.array([l2 + l3 * x * math.cos(theta), l3 * x * math.sin(theta)])
        true = i2 + i3 + m2 * w @ np.square(l2 * x) + m3 * w @ np.square(beyond).sum(axis=0)
        printed = i2 + i3 + m2 * l2**2 + m3 * (l2**2 + l3**2 + 2 * l2 * l3 * math.cos(theta))
        worst = max(worst, abs(printed / true - 1))
    return worst


def _configured() -> tuple[tuple[float, float], float]:
    """Give the ranges of M_DL and J_L beyond link 1 of two equal links, and of J_L of three."""
    x, w, angles = (GAUSS + 1) / 2, WEIGHTS / 2, np.linspace(0.0, math.pi, 7)
    points = [np.stack([x * math.cos(t), x * math.sin(t)]) for t in angles]
    beyond = [p + np.array([[1.0], [0.0]]) for p in points]  # link 3 on a straight link 2
    ahead, about, further = (
        [float(w @ y) for y in each]
        for each in ([p[0] for p in points], [np.square(p).sum(axis=0) for p in points],
                     [np.square(p).sum(axis=0) for p in beyond])
    )  # fmt: skip
    return (DENSITY * np.ptp(ahead), float(np.round(np.ptp(about), 12))), DENSITY * np.ptp(further)


def _distance(times: Array, roots: Array) -> Array:
    """Estimate how far roots are from the exact ones, relatively, the larger of two modes, (T,).

    Notes
    -----
    By Newton's step; no less than rounding, which has no logarithm where it is 0.
    """
    steps = [
        max(
            abs(beam_equation(x, *_body(t)) / frequency_partials(x, *_body(t)).lam) / x for x in row
        )
        for t, row in zip(times.tolist(), roots.tolist(), strict=True)
    ]
    return np.maximum(steps, float(np.finfo(float).eps) / 2)


def _timed(compute: Callable[[], Array]) -> tuple[Array, float]:
    begun = time.process_time()
    found = compute()
    return found, time.process_time() - begun
