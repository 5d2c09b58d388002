"""Chen, Zhang & Liu 2012: stiffening of a rotating link, and a spatial fall with elastic joints."""

import math
from functools import cache
from typing import Any

import numpy as np
from scipy.optimize import brentq

from flexarm.formulations import DEFAULT
from flexarm.linear.modes import modes
from flexarm.model import build
from flexarm.runs.run import Run
from flexarm.spatial import Array
from flexarm_papers.base import Figure, Found, Item, Table, closed, curve
from flexarm_papers.beams.classical import CLAMPED_FREE, beam_roots
from flexarm_papers.chen.fall import FALL_ITEMS, PAPER
from flexarm_papers.chen.offset import OFFSET_ITEM
from flexarm_papers.chen.ratios import (
    EI,
    LENGTH,
    MASS,
    chordwise_squares,
    frequency_ratios,
    inertia_coefficients,
)
from flexarm_papers.readings import Choice, Grid, Reading, Scope, ways
from flexarm_papers.runs import apart, bounds, changed, simulate, tip_deflection
from flexarm_papers.statements import Check, Limit, Statement, compare, search, together

EA = 2.84e7  # [N]
POLAR = 15.41  # [kg m^2], of a boom about its axis
SMALL = Limit(high=5.0, unit="%")  # mean strain: "small deformation"
ALMOST = Limit(high=10.0, unit="%")  # of the range: "almost the same"
CAPTURED = Limit(low=90.0, unit="%")  # of the stiffening
# "convergent", "divergent": growth at constant speed; at 0.7 1/s a vibration doubles in a second,
# beats do less, and what has left its equilibrium grows a hundred times as fast
BOUNDED, DIVERGED = Limit(high=0.7, unit="1/s"), Limit(low=0.7, unit="1/s")
GROWTH = "rate at which the size grows (0.7 1/s: twofold in 1 s)"
DURATIONS = {f"{x:g} s": x for x in (2.0, 0.5, 1.0, 4.0)}  # the paper does not say for how long
AFTER, DT = max(DURATIONS.values()), 0.005  # [s] at constant speed
WINDOW = round(0.315 / DT)  # samples of a little more than a period of the lowest vibration
MOTION, STRETCH, EQUATIONS, LASTING = "vibration", "stretch", "equations", "time shown"
SEEN, SIZE = "compared", "largest and least within a period"
PRINTED, UNDEFORMED = "the paper's", "of a link that begins undeformed"
# The rotation is uniform, as the paper says.  What may have set the link vibrating: a spin-up
# before, or coordinates and rates at the start.
SPIN_UPS = {f"left by a spin-up from rest in {x:g} s": x for x in (1.0, 5.0, 15.0)}
STARTS: dict[str, dict[str, dict[str, float]]] = {
    UNDEFORMED: {},
    "of a tip bent by 0.05 m": {"links.1.start": {"y1": 0.05}},
    "of a tip struck with 1 m/s": {"links.1.start_speed": {"y1": 1.0}},
}
GRID = Grid((
    ways(MOTION, *STARTS, *SPIN_UPS),
    Choice(STRETCH, {"3 shapes": {"links.1.shapes.stretch": 3}, "none": {}}),
    ways(EQUATIONS, "exact beam", PRINTED),
), ((MOTION, STRETCH, EQUATIONS),))  # fmt: skip
FROM, CONSTANT, BEGUN = "shown from", "constant speed", "the start of the spin-up"
LOW = Grid((*GRID.choices, ways(LASTING, *DURATIONS), ways(SEEN, "history", SIZE),
            ways(FROM, CONSTANT, BEGUN, against={BEGUN: 'text of Fig. 2: "uniform rotation"'})),
           ((MOTION, STRETCH, EQUATIONS, LASTING, SEEN, FROM),))  # fmt: skip
LINKS = "stiffening of"
BY_LINKS = {"a link alone": 1, "link 1 of two": 2}
INCLUDED = Grid((ways(LINKS, *BY_LINKS),))


@cache
def rotation(rate: float, reading: Reading, *, stiffening: bool) -> Run:
    """Rotate the link, by our equations or the paper's."""
    motion = reading[MOTION]
    rise = SPIN_UPS.get(motion, 0.0)
    values: dict[str, Any] = {"stiffening": stiffening, "links.1.shapes.normalise": "tip"}
    if rise:
        values |= {"links.1.joint.motion.rate": rate, "links.1.joint.motion.duration": rise}
    else:
        times = np.arange(AFTER + 2).tolist()
        values |= STARTS[motion]
        values["links.1.joint.motion"] = {
            "kind": "table", "times": times, "values": [rate * t for t in times],
            "interpolation": "cubic",
        }  # fmt: skip
    printed = stiffening and reading[EQUATIONS] == PRINTED
    arm = changed("chen-rotating-link", {**GRID.changes(reading), **values})
    kind = "recursive-lagrange" if printed else DEFAULT
    return simulate(arm, formulation=kind, t_end=rise + AFTER, dt=DT, paper=printed)


def _uniform(run: Run, reading: Reading) -> Array:
    """Pick the tip's chordwise deflection at constant speed."""
    return tip_deflection(run)[run.t >= SPIN_UPS.get(reading[MOTION], 0.0) - DT / 2]


def _gap(reading: Reading) -> float:
    """Measure how far the link at 10 rad/s is without stiffening from with it, of the range [%]."""
    rise = SPIN_UPS.get(reading[MOTION], 0.0)
    end = rise + DURATIONS[reading[LASTING]] + DT / 2
    begin = 0.0 if reading[FROM] == BEGUN else rise - DT / 2
    pair = _pair(10.0, reading.without(LASTING, SEEN, FROM))
    seen = [tip_deflection(run)[(run.t >= begin) & (run.t <= end)] for run in pair]
    return 100 * apart(*(bounds(y, WINDOW) if reading[SEEN] == SIZE else y for y in seen))


def _pair(rate: float, reading: Reading) -> tuple[Run, Run]:
    """Rotate the link without and with stiffening; without, a link alone is the same by both."""
    off = rotation(rate, reading.taking({EQUATIONS: "exact beam"}), stiffening=False)
    return off, rotation(rate, reading, stiffening=True)


def _moving(readings: list[Reading]) -> list[Reading]:
    """Leave out what has nothing to show: a link at rest, the spin-up of one that has none."""
    return [
        x for x in readings if (x[MOTION], x[STRETCH]) != (UNDEFORMED, "none")
        and (x[MOTION] in SPIN_UPS or dict(x.taken).get(FROM) != BEGUN)
    ]  # fmt: skip


def _same(readings: list[Reading]) -> Statement:
    return search(
        "at 10 rad/s the chordwise deformations are almost the same with and without stiffening",
        readings, _gap, ALMOST, "distance of both, of the range",
    )  # fmt: skip


def low_speed(scope: Scope) -> Found:
    """Compare the chordwise deformation at 10 rad/s with and without stiffening."""
    readings = _moving(LOW.readings(scope))
    same = _same(readings)
    rates = [_lowest(10.0, stiffening=x) for x in (True, False)]
    motions = list(dict.fromkeys(x.without(LASTING, SEEN, FROM) for x in readings))
    return Found(
        (same,), figures=_figures("Fig. 2(a): 10 rad/s", 10.0, motions),
        because=f"At constant speed the link vibrates at {rates[0]:.2f} rad/s with stiffening and "
        f"at {rates[1]:.2f} rad/s without: after {np.pi / abs(rates[0] - rates[1]):.2g} s the two "
        "are in opposition.  The paper says uniform rotation: a spin-up may come before it; "
        "what is shown from its start stands beside the verdict.",
    )  # fmt: skip


def high_speed(scope: Scope) -> Found:
    """Compare the chordwise deformation at 80 rad/s with and without stiffening."""
    readings = _moving(GRID.readings(scope))
    growth = _fastest_growth(80.0, stiffening=False)
    theory = float(np.sqrt(80.0**2 - _own_frequency() ** 2))
    exact = [each for each in readings if each[EQUATIONS] != PRINTED] or readings
    stopped = [each for each in readings if _pair(80.0, each)[1].status != "finished"]
    most = max((_most(_pair(80.0, x)[1]) for x in readings if x not in stopped), default=0.0)
    convergent = search("with stiffening it is still convergent", readings,
                        lambda x: _growth(x, stiffening=True), BOUNDED, GROWTH)  # fmt: skip
    low = _moving(LOW.readings(scope))
    statements = (
        search("at 80 rad/s the result without stiffening is divergent", exact,
               lambda x: _growth(x, stiffening=False), DIVERGED, GROWTH),
        convergent,
        together("Figs. 2(a) and 2(b) are of one model: almost the same at 10 rad/s, convergent at "
                 "80 rad/s with stiffening", (_same(low), convergent)),
    )  # fmt: skip
    rows = tuple((*(way for _, way in each.taken), *map(_ending, _pair(80.0, each)))
                 for each in readings)  # fmt: skip
    head = (MOTION, STRETCH, EQUATIONS, "without stiffening", "with stiffening")
    check = Check(
        "it grows as one mode does",
        abs(growth / theory - 1) < 1e-3,
        f"by {growth:.2f} 1/s; sqrt(80^2 - omega_1^2) = {theory:.2f}",
    )
    return Found(
        statements,
        tables=(Table("How runs end, and their largest deflection, of the length", head, rows),),
        figures=_figures("Fig. 2(b): 80 rad/s", 80.0, readings),
        checks=(check, *_small_deformation()),
        because="A run is stopped where slopes leave what its equations are good for.  Without "
        "stiffening such a run is told by its eigenvalues; with stiffening it does not count as "
        f"convergent: {len(stopped)} of {len(readings)}.  Convergent is what "
        "does not grow: with stiffening a link that stretches swings by up to "
        f"{100 * most:.0f} % of its length, which is strained by {mean_strain(80.0):.0f} % in the "
        "mean.",
    )  # fmt: skip


def _growth(reading: Reading, *, stiffening: bool) -> float:
    """Measure how fast the tip's deflection grows at constant speed [1/s].

    A run that is stopped with stiffening has left what its equations are good for: infinite.
    """
    run = _pair(80.0, reading)[stiffening]
    if run.status != "finished":
        left = _fastest_growth(80.0, stiffening=False, stretch=reading[STRETCH])
        return math.inf if stiffening else left
    y = np.abs(_uniform(run, reading))
    half = len(y) // 2
    return float(np.log(y[half:].max() / y[:half].max()) / (AFTER / 2))


def _most(run: Run) -> float:
    return float(np.abs(tip_deflection(run)).max()) / LENGTH


def _ending(run: Run) -> str:
    size = f"{100 * _most(run):.1f} %"
    return size if run.status == "finished" else f"stopped at {run.t[-1]:.3g} s, {size}"


def _figures(title: str, rate: float, readings: list[Reading]) -> tuple[Figure, ...]:
    """Draw the tip's deflection with and without stiffening, with a spin-up and without."""
    chosen = [x for x in readings if x[EQUATIONS] != PRINTED]
    shown = [x for kind in (STARTS, SPIN_UPS) for x in [y for y in chosen if y[MOTION] in kind][:1]]
    figures = []
    for reading in shown:
        off, on = _pair(rate, reading)
        pair = (("without stiffening", off), ("with stiffening", on))
        curves = tuple(curve(label, run.t, tip_deflection(run)) for label, run in pair)
        figures.append(Figure(f"{title}, {reading[MOTION]}", *AXES, curves, reading=str(reading)))
    return tuple(figures)


AXES = ("time [s]", "chordwise tip deflection [m]")


@cache
def _eigenvalues(rate: float, *, stiffening: bool, stretch: str = "none") -> tuple[complex, ...]:
    arm = changed("chen-rotating-link", GRID.choices[1].ways[stretch])
    model = build(arm, stiffening=stiffening)
    found = modes(model, joints="locked", speeds={"joint1": rate}, straight=True)
    return tuple(complex(mode.eigenvalue) for mode in found.modes)


def _fastest_growth(rate: float, *, stiffening: bool, stretch: str = "none") -> float:
    found = _eigenvalues(rate, stiffening=stiffening, stretch=stretch)
    real = max(value.real for value in found)
    return real if real > 1e-6 else 0.0


def _lowest(rate: float, *, stiffening: bool) -> float:
    return min(abs(value) for value in _eigenvalues(rate, stiffening=stiffening))


def _own_frequency() -> float:
    """First bending frequency of the link clamped at its root [rad/s], from its data."""
    lam = float(beam_roots(CLAMPED_FREE, 1)[0])
    return lam**2 * float(np.sqrt(EI * LENGTH / MASS)) / LENGTH**2


def critical_speed(scope: Scope) -> Found:
    """Find the speed from which the unstiffened link is unstable, and what stiffens it."""

    def least(rate: float, stiffening: bool = False) -> float:
        return -float(np.square(_eigenvalues(rate, stiffening=stiffening)).real.max())

    speed, own = float(brentq(least, 10.0, 80.0, xtol=1e-9)), _own_frequency()
    rates = np.linspace(0.0, 80.0, 33)
    curves = [curve(f"with{'' if s else 'out'} stiffening", rates, [least(x, s) for x in rates])
              for s in (True, False)]  # fmt: skip
    marked = [least(10.0), least(80.0)]
    curves.append(curve("speeds of Fig. 2", [10.0, 80.0], marked, points=True))
    statements = (
        compare("stable at 10 rad/s, divergent at 80 rad/s without stiffening", speed,
                Limit(10.0, 80.0, "rad/s"), "unstable above", printed="10 and 80 rad/s"),
        search("the dynamic stiffening effects are included", INCLUDED.readings(scope), _included,
               CAPTURED, "what stiffening adds to the first squared frequency in the paper's "
               "equations, of what it adds in the exact beam's to the same"),
    )  # fmt: skip
    checks = (
        Check("the critical speed is the link's first frequency", abs(speed / own - 1) < 1e-4,
              f"{speed:.4f} and {own:.4f} rad/s"),
        Check("a stiffened link that cannot stretch has no critical speed up to 80 rad/s",
              bool(np.all(curves[0].y > 0)),
              f"the least squared frequency is {curves[0].y.min():.1f} 1/s^2 or more"),
    )  # fmt: skip
    return Found(
        statements,
        figures=(
            Figure("Stability of the rotating link", "speed [rad/s]",
                   "least squared frequency [1/s^2]", tuple(curves)),
        ),
        checks=checks,
    )  # fmt: skip


def _included(reading: Reading) -> float:
    """Compare how a straight arm stiffens, by the paper's equations and in all [%].

    Without stiffening both are the paper's, whose tips turn to the first order.
    """
    right, printed, without = chordwise_squares(BY_LINKS[reading[LINKS]], 80.0)
    return 100 * (printed - without) / (right - without)


def _small_deformation() -> tuple[Check, ...]:
    """Look at how far the printed EA lets the link stretch."""
    # of one material, a section with equal EI has the radii EI/EA + EI/EA = J_x/m
    suits = 2 * EI * MASS / POLAR
    radii = f"{np.sqrt(2 * EI / EA):.3f} m against {np.sqrt(POLAR / MASS):.3f} m"
    return (
        *(Check("the link is within the assumption of small deformation (before eq. 2) at "
                f"{rate:g} rad/s, with the printed EA", SMALL.holds(mean_strain(rate)),
                f"mean strain {mean_strain(rate):.2g} %") for rate in (10.0, 80.0)),
        Check("EI and EA suit J_x, for a section of one material", abs(suits / EA - 1) < 0.1,
              f"their polar radius of gyration is {radii}; an EA {suits / EA:.1f} times as large, "
              f"{suits:.3g} N, would suit, with a mean strain of {mean_strain(80.0, suits):.1f} % "
              "at 80 rad/s"),
    )  # fmt: skip


def mean_strain(rate: float, stiffness: float = EA) -> float:
    """Give the mean strain of an elastic bar that rotates steadily [%].

    EA u'' = -mu rate^2 (x + u) has the tip at L tan(k)/k, k^2 = mu rate^2 L^2/EA.
    """
    k = rate * math.sqrt(MASS * LENGTH / stiffness)
    return 100 * (math.tan(k) / k - 1)


ITEMS = (
    Item(PAPER, "fig-2a", "Fig. 2(a): rotating link at 10 rad/s", low_speed, LOW),
    Item(PAPER, "fig-2b", "Fig. 2(b): rotating link at 80 rad/s", high_speed, LOW),
    Item(PAPER, "critical-speed", "speed at which the unstiffened link becomes unstable",
         critical_speed, INCLUDED),
    *FALL_ITEMS,
    OFFSET_ITEM,
    Item(PAPER, "symmetry", "eq. 37: inertia coefficients", closed(inertia_coefficients)),
    Item(PAPER, "frequency-ratios", "frequencies over the two ratios", closed(frequency_ratios)),
)  # fmt: skip
