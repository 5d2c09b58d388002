"""Theodore & Ghosal 1995, sections 4.2 and 4.3: the frequency equation, and the lemma."""

import math
import time
from collections.abc import Callable

import numpy as np

from flexarm.arm.profile import Cycloid
from flexarm.control import Timing, joint_move, stiffness_error_along
from flexarm.formulations import formulation
from flexarm.io.sample import sample
from flexarm.links.base import Array
from flexarm.links.beams.classical import beam_roots, clamped_mass
from flexarm.links.beams.frequency import extension_rates, follow_root, frequency_partials
from flexarm.links.beams.frequency import frequency_equation as beam_equation
from flexarm.model import Model, build
from flexarm.model.profiles import evaluate
from flexarm.papers.base import Figure, Found, Limit, Table, compare, curve, decide, search
from flexarm.papers.readings import Grid, Scope, ways
from flexarm.papers.theodore.loop import GOALS

EI, DENSITY = 1165.4916, 0.331  # [N m^2], [kg/m] of links 2 and 3
PAYLOAD = 0.0828  # [kg]
ALIKE = "all alike"
STIFFER, DEFINITE = "overestimated stiffness", "positive definite by"
SIGNS, FORM = "its eigenvalues", "x^T A x"  # of a matrix A that is not symmetric
LEMMA = Grid((ways(STIFFER, ALIKE, "link 2 alone", "link 3 alone", "first modes alone",
                   "second modes alone"), ways(DEFINITE, SIGNS, FORM)),
             ((STIFFER, DEFINITE),))  # fmt: skip
MOTION: Cycloid[float] = Cycloid(kind="cycloid", start=0.3, end=1.0, duration=0.5)  # of link 3
ROOTS, FOLLOWED, LOOKED_UP = "root finding", "differential equation", "table look-up"
NODES = 30  # of the table


def frequency_equation() -> Found:
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
    statements = (
        compare("the differential equation gives the roots of the frequency equation", ode,
                Limit(high=1e-8), f"largest error (linear look-up in {NODES} nodes: {table:.1e})"),
        compare("frequencies of the prismatic link vary with time", float(np.ptp(first)),
                Limit(low=1.0, unit="Hz"), "range of the first"),
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


def lemma(scope: Scope) -> Found:
    """Decide the lemma, for stiffness that is overestimated alike everywhere and otherwise."""
    model = build(sample("theodore-rrp"))
    motion = joint_move(model, GOALS, Timing("cycloid", 0.5))
    found = stiffness_error_along(
        motion, stiffness=400, damping=40, stiffness_error=0.01, points=3, allowed=0.1
    )
    limits = overestimates(model, motion.path.at(1.0))
    bound = float(found.bound[-1])
    statements = (
        search("K - H dK is positive definite only if alpha lambda_max(H) < 1, alpha the ratio of "
               "the largest eigenvalues of dK and K", LEMMA.readings(scope),
               lambda x: limits[x[DEFINITE]][x[STIFFER]] / bound,
               Limit(high=1.0 + 1e-6, unit="times"),
               "largest alpha with K - H dK definite, over 1/lambda_max(H)"),
        compare("overestimated stiffness may destabilise the closed loop",
                float(found.growth.max()), Limit(low=0.0, unit="1/s"), "growth at 1 % too much"),
        decide("if the condition holds, the closed loop is stable",
               bool(np.all(found.largest >= found.bound)),
               f"undamped, no more than {100 * found.largest.min():.2f} % is allowed for growth "
               f"below 0.1 1/s, the condition allows {100 * found.bound.min():.0f} %"),
    )  # fmt: skip
    rows = tuple(
        (f"{s:g}", f"{b:.4f}", f"{x:.4f}", f"{g:.3f}")
        for s, b, x, g in zip(found.progress, found.bound, found.largest, found.growth, strict=True)
    )
    head = ("progress", "1/lambda_max(H)", "largest alpha by eigenvalues", "growth at 1 % [1/s]")
    ends = tuple(
        (
            name,
            *(f"{x:.4g}" for sense in limits.values() for x in (sense[name], sense[name] / bound)),
        )
        for name in limits[SIGNS]
    )
    return Found(
        statements,
        tables=(Table("Along the motion, G_p = 400, G_v = 40", head, rows),
                Table("Largest alpha with K - H dK positive definite, at the end of the motion",
                      ("overestimated", *(y for x in limits
                                          for y in (f"alpha, by {x}", "over 1/lambda_max(H)"))),
                      ends)),
        because="By eigenvalues the condition is exact for dK = alpha K, and for another dK the "
        "ratio of largest eigenvalues says little.  By x^T A x, which depends on how modes are "
        "scaled, it is necessary for each dK that was tried, and sufficient for none.",
    )  # fmt: skip


def overestimates(model: Model, q: Array) -> dict[str, dict[str, float]]:
    """Find up to which alpha K - H dK is positive definite in two senses, for different dK.

    Alpha is the largest eigenvalue of dK over that of K, as in the lemma's proof.
    """
    equation = formulation("composite", model)
    joints = [model.names.index(name) for name in GOALS]
    rest = [k for k in range(model.size) if k not in joints]
    names = [model.names[k] for k in rest]
    mass = equation.mass_matrix(q)
    m_rf, m_ff = mass[np.ix_(joints, rest)], mass[np.ix_(rest, rest)]
    pulled = m_rf.T @ np.linalg.solve(mass[np.ix_(joints, joints)], m_rf)
    H = pulled @ np.linalg.inv(m_ff - pulled)
    still, unit = np.zeros(model.size), np.eye(model.size)[rest]
    K = np.array([(equation.parts(q + 1e-3 * e, still)["elastic"]
                   - equation.parts(q, still)["elastic"])[rest] for e in unit]) / 1e-3  # fmt: skip
    chosen = {
        ALIKE: np.ones(len(rest)),
        "link 2 alone": np.array([name.startswith("link2") for name in names], dtype=float),
        "link 3 alone": np.array([name.startswith("link3") for name in names], dtype=float),
        "first modes alone": np.array([name.endswith("1") for name in names], dtype=float),
        "second modes alone": np.array([name.endswith("2") for name in names], dtype=float),
    }
    found: dict[str, dict[str, float]] = {SIGNS: {}, FORM: {}}
    for name, part in chosen.items():
        extra = part[:, None] * K * part
        share = np.linalg.eigvalsh(extra).max() / np.linalg.eigvalsh(K).max()
        lost = H @ extra
        for sense, matrix in ((SIGNS, lost), (FORM, (lost + lost.T) / 2)):
            # det(K - x matrix) = 0 first where 1/x is the largest real eigenvalue of K^-1 matrix
            values = np.linalg.eigvals(np.linalg.solve(K, matrix))
            found[sense][name] = float(share / values.real.max())
    return found
