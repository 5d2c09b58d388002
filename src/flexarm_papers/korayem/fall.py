"""Korayem & Shafei 2009: the fall of a two-link arm, beside finite elements (Figs 4-15)."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from flexarm.formulations import DEFAULT
from flexarm.linear.modes import modes
from flexarm.runs.run import Run
from flexarm.spatial import Array
from flexarm_papers.base import Figure, Found, Table, curve
from flexarm_papers.readings import Choice, Grid, Reading, Scope, over, ways
from flexarm_papers.runs import apart, bounds, changed, column, discord, main_frequency, simulate
from flexarm_papers.statements import Limit, Statement, search, together, undecidable

DURATIONS = {f"{t:g} s": t for t in (2.0, 1.0, 4.0)}  # the figures have no numbers in the text
T_END, DT = max(DURATIONS.values()), 1e-3  # [s]
WINDOW = round(0.1 / DT) | 1  # samples of a moving mean: a tenth of a second
PERIODS = 2  # of the lowest vibration, after which errors of frequencies become phases
GOOD = Limit(high=20.0, unit="%")  # "good concordance", of the spread: a flat line has 100 %
FEWER = Limit(high=1.0, unit="times")
NEAR = Limit(high=3.0, unit="%")  # of a frequency
GRAVITY, ANGLE, LASTING, SEEN = "gravity along", "theta_2", "duration", "compared"
WHOLE, BEGINNING, SIZE, MEAN, PLOTTED = (
    "whole history",
    f"history, first {PERIODS} periods",
    "largest and least within 0.1 s",
    "mean over 0.1 s",
    "mean over 0.1 s and spread, of the whole curve's",
)
SPREAD = (WHOLE, BEGINNING, SIZE, MEAN, PLOTTED)
# As curves of Theodore & Ghosal and Chen et al. are compared: 10 % of the range.
RANGED = {f"{seen}, of half the range": seen for seen in (WHOLE, SIZE)}
MORE, JUDGED, TOGETHER = "modes", "figures are judged", "all together"
DOWN = {"-y": [0.0, -9.81, 0.0], "+x": [9.81, 0.0, 0.0], "-x": [-9.81, 0.0, 0.0],
        "+y": [0.0, 9.81, 0.0]}  # fmt: skip
GRID = Grid((
    Choice(GRAVITY, {name: {"gravity": g} for name, g in DOWN.items()}),
    over(ANGLE, "links.2.joint.start.position", ("5 deg", "95 deg"), "{} from link 1"),
    ways(LASTING, *DURATIONS),
    ways(SEEN, *SPREAD, *RANGED),
), ((GRAVITY, ANGLE, LASTING, SEEN),))  # fmt: skip
MODES = Grid((*GRID.choices[:3], ways(SEEN, *SPREAD), ways(MORE, "2", "3"),
              ways(JUDGED, TOGETHER, "each")),
             ((GRAVITY, ANGLE, LASTING, SEEN, MORE, JUDGED),))  # fmt: skip
VIBRATION = Grid(GRID.choices[:3], ((GRAVITY, ANGLE, LASTING),))
ONE, ELEMENTS, CONVERGED = ("clamped-free", 1), ("elements", 2), ("loaded", 12)
PAPERS = "one mode, equations of the paper"
FEM = "2 finite elements per link, as Usoro et al."

# Figure: quantity, title, axis.
FIGURES = {
    4: ("joint1", "angle of the first joint", "angle [deg]"),
    5: ("joint2", "angle of the second joint", "angle [deg]"),
    6: ("tip x", "x of the end effector", "x [m]"),
    7: ("tip y", "y of the end effector", "y [m]"),
    8: ("link1 flexural 0.5", "deflection in the middle of link 1", "deflection [m]"),
    9: ("link1 flexural 1", "deflection at the end of link 1", "deflection [m]"),
    10: ("link1 angular 0.5", "slope in the middle of link 1", "slope [rad]"),
    11: ("link1 angular 1", "slope at the end of link 1", "slope [rad]"),
    12: ("link2 flexural 0.5", "deflection in the middle of link 2", "deflection [m]"),
    13: ("link2 flexural 1", "deflection at the end of link 2", "deflection [m]"),
    14: ("link2 angular 0.5", "slope in the middle of link 2", "slope [rad]"),
    15: ("link2 angular 1", "slope at the end of link 2", "slope [rad]"),
}
FAST = tuple(number for number in FIGURES if number >= 8)


@cache
def fall(
    shapes: tuple[str, int], gravity: str = "-y", angle: str = "5 deg from link 1", *,
    paper: bool = False, exact_tips: bool = False, t_end: float = T_END,
) -> Run:  # fmt: skip
    """Simulate the fall: by the paper's equations, with E = 1 + skew, or exactly; modes, elements.

    `exact_tips` lets the tips of the paper's equations turn exactly instead.
    """
    kind, count = shapes
    values = {f"links.{k}.shapes": {"kind": kind, "bending_y": count} for k in (1, 2)}
    chosen = GRID.choices[0].ways[gravity], GRID.choices[1].ways[angle]
    return simulate(
        changed("korayem-two-link", {**values, **chosen[0], **chosen[1], "stiffening": False}),
        t_end=t_end, dt=DT, method="dop853", formulation="gibbs-appell" if paper else DEFAULT,
        paper=paper, tip_rotation="first-order" if paper and not exact_tips else "cayley",
    )  # fmt: skip


@cache
def first_order() -> Run:
    """Simulate the fall by Lagrange's equations with tips that turn by 1 + skew."""
    arm = changed("korayem-two-link", {"stiffening": False})
    return simulate(arm, t_end=T_END, dt=DT, method="dop853", formulation="lagrange",
                    tip_rotation="first-order")  # fmt: skip


def seen_of(
    reading: Reading, what: str, shapes: tuple[str, int] = ONE, *, paper: bool = True,
    exact_tips: bool = False,
) -> Array:  # fmt: skip
    """Give what a figure shows, by the paper's equations or others, for as long as it is read."""
    found = _whole(what, shapes, reading[GRAVITY], reading[ANGLE], paper, exact_tips)
    return found[: round(DURATIONS[reading[LASTING]] / DT) + 1]


@cache
def _whole(what: str, shapes: tuple[str, int], *how: Any) -> Array:
    gravity, angle, paper, exact_tips = how
    return history(fall(shapes, gravity, angle, paper=paper, exact_tips=exact_tips), what)


def history(run: Run, what: str) -> Array:
    """Give what a figure shows, by the name of its quantity."""
    if what in ("joint1", "joint2"):
        return np.degrees(column(run, what))
    if what in ("tip x", "tip y"):
        return run.tip[:, "xy".index(what[-1])]
    link, kind, place = what.split()
    along = run.along([float(place)])
    values = along["deflection" if kind == "flexural" else "slope"].sel(link=link)
    return np.asarray(values.values[:, 0, 1])


@cache
def _frequencies(shapes: tuple[str, int], angle: float = 0.0) -> tuple[float, ...]:
    """Find the arm's elastic frequencies [Hz] about hanging, joint 2 at an angle [rad]."""
    each = {"kind": shapes[0], "bending_y": shapes[1]}
    arm = changed("korayem-two-link", {"links.1.shapes": each, "links.2.shapes": each})
    found = modes(arm, joints="free", at={"joint1": -np.pi / 2, "joint2": angle}, straight=True)
    return tuple(sorted(f for m in found.modes if (f := m.frequency_hz) > 5.0)[:2])


def _smooth(y: Array, width: int = WINDOW) -> Array:
    """Take the slow part: a moving mean, but for the edges."""
    return np.convolve(y, np.ones(width) / width, mode="valid")


def _beginning(y: Array) -> Array:
    return y[: int(PERIODS / _frequencies(ELEMENTS)[0] / DT) + 1]


LOOKS: dict[str, Callable[[Array], Array]] = {
    WHOLE: lambda y: y, BEGINNING: _beginning, SIZE: lambda y: bounds(y, WINDOW), MEAN: _smooth,
    PLOTTED: _smooth,
}  # fmt: skip


def off(seen: str, one: Array, other: Array) -> float:
    """Measure how far a history is from another, over the spread of what is compared [%].

    Over half the range, half the size has less than 50 %.  Means of the whole curve's spread say
    nothing of what vibrates about them: there both spreads have to be as near as the means.
    """
    a, b = (LOOKS[RANGED.get(seen, seen)](y) for y in (one, other))
    if seen in RANGED:
        return 200 * apart(a, b)
    if seen != PLOTTED:
        return 100 * discord(a, b)
    whole = float(np.std(other))
    return 100 * max(float(np.std(b)) * discord(a, b), abs(float(np.std(one)) - whole)) / whole


def _both(reading: Reading, what: str) -> tuple[Array, Array]:
    """Give the paper's curve and that in finite elements."""
    return seen_of(reading, what), seen_of(reading, what, ELEMENTS, paper=False)


def figure(number: int, scope: Scope) -> Found:
    """Compare one quantity of the fall between the paper's equations and finite elements."""
    what, title, axis = FIGURES[number]
    readings, decided = GRID.readings(scope), concordance(number, scope)
    best = min(decided.tried, key=lambda each: each.value).reading
    shown = {readings[0].without(SEEN): "", best.without(SEEN): "; the nearest of all"}
    figures = tuple(
        Figure(f"Fig. {number}: {title}", "time [s]", axis,
               tuple(curve(label, DT * np.arange(len(y)), y)
                     for label, y in zip((PAPERS, FEM), _both(each, what), strict=True)),
               reading=f"{each}{more}")
        for each, more in shown.items()
    )  # fmt: skip
    rows = []
    for each in {reading.without(SEEN): reading for reading in readings}.values():
        y, reference = _both(each, what)
        rows.append((str(each.without(SEEN)), f"{np.ptp(y) / np.ptp(reference):.2f}",
                     f"{np.std(y) / np.std(reference):.2f}",
                     f"{200 * np.std(reference) / np.ptp(reference):.0f} %"))  # fmt: skip
    head = ("", "range over theirs", "spread over theirs", "flat line, of half the range")
    title = "Sizes of both curves; of the spread a flat line has 100 %, half the size 50 %"
    return Found((decided,), tables=(Table(title, head, tuple(rows)),), figures=figures)


def concordance(number: int, scope: Scope) -> Statement:
    """Decide whether the curves of a figure agree."""
    what = FIGURES[number][0]
    return search("the results are in good concordance with the finite elements of Usoro et al.",
                  GRID.readings(scope), lambda x: off(x[SEEN], *_both(x, what)), GOOD,
                  "rms of the difference, of the spread or of half the range")  # fmt: skip


def all_figures(scope: Scope) -> Found:
    """Judge as one sentence what the paper says of all figures."""
    parts = [concordance(k, scope) for k in FIGURES]
    figures = [replace(x, says=f"Fig. {k}") for k, x in zip(FIGURES, parts, strict=True)]
    decided = together(f"{parts[0].says}, all of Figs. 4-15", figures)
    passing = [_both(each.reading, FIGURES[11][0]) for each in decided.tried if each.holds]
    sizes = [f"{np.std(one) / np.std(other):.2f}" for one, other in passing]
    same = undecidable("parameters and initial conditions are those of Usoro et al.", "their paper")
    told = "The paper has one sentence for twelve figures, and names no torque: none acts."
    if sizes:
        told += ("  Of half the range, as other papers' curves are compared, half the size may "
                 f"pass: Fig. 11 has {min(sizes)} to {max(sizes)} times their spread where all "
                 "figures do.")  # fmt: skip
    return Found((decided, same), because=told)


def more_modes(scope: Scope) -> Found:
    """Compare 1, 2 and 3 modes with the converged motion, in all twelve figures."""

    @cache
    def errors(motion: Reading, what: str) -> list[float]:
        kinds = (CONVERGED, *(("clamped-free", n) for n in (1, 2, 3)))
        found = [seen_of(motion, what, shapes, paper=False) for shapes in kinds]
        return [off(motion[SEEN], y, found[0]) for y in found[1:]]

    def ratio(reading: Reading) -> float:
        motion = reading.without(MORE, JUDGED)
        found = [errors(motion, what) for what, _, _ in FIGURES.values()]
        pairs = [(each[int(reading[MORE]) - 1], each[0]) for each in found]
        if reading[JUDGED] == TOGETHER:
            return sum(more for more, _ in pairs) / sum(one for _, one in pairs)
        return max(more / one for more, one in pairs)

    readings = MODES.readings(scope)
    first = readings[0].without(MORE, JUDGED)
    rows = tuple((f"Fig. {k}", *(f"{x:.3g}" for x in errors(first, FIGURES[k][0])))
                 for k in FIGURES)  # fmt: skip
    steps = [
        more / fewer
        for reading in readings if reading[MORE] == "2" and reading[JUDGED] == TOGETHER
        for what, _, _ in FIGURES.values()
        for fewer, more in pairwise(errors(reading.without(MORE, JUDGED), what))
    ]  # fmt: skip
    title = f"Distance from the converged motion, of the spread [%] ({first})"
    return Found(
        (search("more accurate results will be obtained by using more mode shapes than one",
                readings, ratio, FEWER, "error over that with one mode, the sum or the largest of "
                "12"),),
        tables=(Table(title, ("", "1 mode", "2 modes", "3 modes"), rows),),
        because=f"Of {len(steps)} steps from one mode to two and to three, all figures and ways to "
        f"compare, {sum(x < 1 for x in steps)} make a figure more accurate.",
    )  # fmt: skip


def vibration(scope: Scope) -> Found:
    """Find at which frequencies deflections and slopes vibrate, beside the arm's own."""
    rows = []

    def worst(reading: Reading) -> float:
        bands = _bands(np.radians(seen_of(reading, "joint2")))
        found = []
        for k in FAST:
            y = seen_of(reading, FIGURES[k][0])
            period = round(1 / bands[0][0] / DT) | 1  # samples: what is slower is no vibration
            fast = y[period // 2 : -(period // 2)] - _smooth(y, period)
            t = DT * np.arange(len(fast), dtype=float)
            seen = main_frequency(t, fast, above=bands[0][0] / 2)
            gap = min(max(low / seen - 1, seen / high - 1, 0.0) for low, high in bands)
            found.append((100 * gap, seen))
        rows.append((str(reading), *(f"{low:.1f} to {high:.1f}" for low, high in bands),
                     ", ".join(f"{seen:.1f}" for _, seen in found)))  # fmt: skip
        return max(gap for gap, _ in found)

    decided = search(
        "the response portrays the vibration modes of the system", VIBRATION.readings(scope), worst,
        NEAR, "distance of the strongest frequency from the arm's own at the angles that joint 2 "
        "passes, largest of 8",
    )  # fmt: skip
    head = ("", "first mode", "second mode", "strongest, Figs. 8 to 15")
    poor = "the response is highly undesirable, and very effective controls are needed"
    return Found((decided, undecidable(poor, "what would be acceptable")),
                 tables=(Table("Frequencies [Hz]", head, tuple(rows)),))  # fmt: skip


def _bands(angles: Array) -> list[tuple[float, float]]:
    """Find between what the arm's frequencies lie at the angles that joint 2 passes [Hz]."""
    low, high = float(angles.min()), float(angles.max())
    between = np.arange(np.ceil(low / (np.pi / 2)), high / (np.pi / 2)) * np.pi / 2
    folded = {round(float(abs(np.angle(np.exp(1j * x)))), 6) for x in (low, high, *between)}
    found = np.array([_frequencies(ONE, x) for x in sorted(folded)])
    return [(float(each.min()), float(each.max())) for each in found.T]


def distance_of_turns(reading: Reading, other: Run | None = None) -> float:
    """Measure how far E = 1 + skew takes the tips from E = exp, of the spread [%].

    Taken is the paper's motion, or another of the full time.
    """
    found = []
    for what in (f"link{k} {kind} 1" for k in (1, 2) for kind in ("flexural", "angular")):
        exact = seen_of(reading, what, exact_tips=True)
        one = history(other, what)[: len(exact)] if other else seen_of(reading, what)
        found.append(discord(one, exact))
    return 100 * max(found)


def largest_turn(reading: Reading) -> float:
    """Find by how much E^T E is off 1 in the fall, at most [%]."""
    ends = [seen_of(reading, f"link{k} angular 1") for k in (1, 2)]
    return 100 * max(float(np.square(y).max()) for y in ends)
