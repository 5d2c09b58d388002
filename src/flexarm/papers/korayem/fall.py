"""Korayem & Shafei 2009: the fall of a two-link arm, beside finite elements (Figs 4-15)."""

from collections.abc import Callable
from functools import cache
from itertools import pairwise

import numpy as np

from flexarm.formulations import DEFAULT
from flexarm.linear.modes import modes
from flexarm.links.base import Array
from flexarm.papers.base import Figure, Found, Limit, Table, curve, search, undecidable
from flexarm.papers.readings import Choice, Grid, Reading, Scope, over, ways
from flexarm.papers.runs import apart, bounds, changed, column, main_frequency, rms
from flexarm.papers.whole import simulate
from flexarm.runs.run import Run

T_END, DT = 2.0, 1e-3  # [s]; the paper's figures have no numbers in the text
WINDOW = round(0.1 / DT) | 1  # samples of a moving mean: a tenth of a second
EDGE = WINDOW // 2  # samples at either end that have no whole window around them
PERIODS = 2  # of the lowest vibration, after which errors of frequencies become phases
GOOD = Limit(high=10.0, unit="%")  # of the range: "good concordance"
FEWER = Limit(high=1.0, unit="times")
NEAR = Limit(high=3.0, unit="%")  # of a frequency
GRAVITY, ANGLE, TURN, SEEN = "gravity along", "theta_2", "E of the tips", "compared"
WHOLE, BEGINNING, SIZE, MEAN = (
    f"history, all {T_END:g} s",
    f"history, first {PERIODS} periods",
    "largest and least within 0.1 s",
    "mean over 0.1 s",
)
DOWN = {"-y": [0.0, -9.81, 0.0], "+x": [9.81, 0.0, 0.0], "-x": [-9.81, 0.0, 0.0],
        "+y": [0.0, 9.81, 0.0]}  # fmt: skip
SKEW = "1 + skew"
GRID = Grid((
    Choice(GRAVITY, {name: {"gravity": g} for name, g in DOWN.items()}),
    over(ANGLE, "links.2.joint.start.position", ("5 deg", "95 deg"), "{} from link 1"),
    ways(TURN, "exp", SKEW),
    ways(SEEN, WHOLE, BEGINNING, SIZE, MEAN),
), ((GRAVITY, SEEN), (ANGLE, SEEN)))  # fmt: skip
MODES = Grid((GRID.choices[0], GRID.choices[1], GRID.choices[3]), ((GRAVITY, SEEN), (ANGLE, SEEN)))
VIBRATION = Grid(GRID.choices[:2])
ONE, ELEMENTS, CONVERGED = ("clamped-free", 1), ("elements", 2), ("loaded", 4)
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
    paper: bool = False, turn: str = "exp",
) -> Run:  # fmt: skip
    """Simulate the fall: by the paper's equations or exactly, with modes or elements."""
    kind, count = shapes
    values = {f"links.{k}.shapes": {"kind": kind, "bending_y": count} for k in (1, 2)}
    chosen = GRID.choices[0].ways[gravity], GRID.choices[1].ways[angle]
    return simulate(
        changed("korayem-two-link", {**values, **chosen[0], **chosen[1], "stiffening": False}),
        t_end=T_END, dt=DT, method="dop853", formulation="gibbs-appell" if paper else DEFAULT,
        paper=paper, tip_rotation="first-order" if turn == SKEW else "cayley",
    )  # fmt: skip


@cache
def first_order() -> Run:
    """Simulate the fall by Lagrange's equations with tips that turn by 1 + skew."""
    arm = changed("korayem-two-link", {"stiffening": False})
    return simulate(arm, t_end=T_END, dt=DT, method="dop853", formulation="lagrange",
                    tip_rotation="first-order")  # fmt: skip


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


def _smooth(y: Array) -> Array:
    """Take the slow part: a moving mean, but for the edges."""
    return np.convolve(y, np.ones(WINDOW) / WINDOW, mode="valid")


def _beginning(y: Array) -> Array:
    return y[: int(PERIODS / _frequencies(ELEMENTS)[0] / DT) + 1]


LOOKS: dict[str, Callable[[Array], Array]] = {
    WHOLE: lambda y: y, BEGINNING: _beginning, SIZE: lambda y: bounds(y, WINDOW), MEAN: _smooth,
}  # fmt: skip


def off(seen: str, one: Array, other: Array) -> float:
    """Measure how far a history is from another, over the range of what is compared [%]."""
    a, b = (LOOKS[seen](y) for y in (one, other))
    return 100 * rms(a - b) / float(np.ptp(b))


def _both(reading: Reading) -> tuple[Run, Run]:
    """Simulate the paper's motion and that in finite elements."""
    where = reading[GRAVITY], reading[ANGLE]
    return fall(ONE, *where, paper=True, turn=reading[TURN]), fall(ELEMENTS, *where)


def figure(number: int, scope: Scope) -> Found:
    """Compare one quantity of the fall between the paper's equations and finite elements."""
    what, title, axis = FIGURES[number]
    readings = GRID.readings(scope)

    def distance(reading: Reading) -> float:
        return off(reading[SEEN], *(history(run, what) for run in _both(reading)))

    decided = search("the results are in good concordance with the finite elements of Usoro et al.",
                     readings, distance, GOOD, "distance of both, of the range")  # fmt: skip
    best = next((each.reading for each in decided.tried if each.holds), readings[0])
    figures = tuple(
        Figure(f"Fig. {number}: {title}", "time [s]", axis,
               tuple(curve(label, run.t, history(run, what))
                     for label, run in zip((PAPERS, FEM), _both(each), strict=True)),
               reading=str(each))
        for each in dict.fromkeys(each.without(SEEN) for each in (readings[0], best))
    )  # fmt: skip
    return Found((decided,), figures=figures)


@cache
def _exact(shapes: tuple[str, int], gravity: str, angle: str, what: str) -> Array:
    return history(fall(shapes, gravity, angle), what)


def more_modes(scope: Scope) -> Found:
    """Compare 1, 2 and 3 modes with the converged motion, in all twelve figures."""

    def errors(reading: Reading, what: str) -> list[float]:
        where = reading[GRAVITY], reading[ANGLE], what
        best = _exact(CONVERGED, *where)
        found = [_exact(("clamped-free", n), *where) for n in (1, 2, 3)]
        return [off(reading[SEEN], y, best) for y in found]

    def worst(reading: Reading) -> float:
        return max(
            more / fewer
            for what, _, _ in FIGURES.values()
            for fewer, more in pairwise(errors(reading, what))
        )

    readings = MODES.readings(scope)
    rows = tuple(
        (f"Fig. {k}", *(f"{x:.3g}" for x in errors(readings[0], FIGURES[k][0]))) for k in FIGURES
    )
    title = f"Distance from the converged motion, of the range [%] ({readings[0]})"
    return Found(
        (search("more accurate results will be obtained by using more mode shapes", readings, worst,
                FEWER, "error with a mode more over that with one less, largest of 24"),),
        tables=(Table(title, ("", "1 mode", "2 modes", "3 modes"), rows),),
    )  # fmt: skip


def vibration(scope: Scope) -> Found:
    """Find at which frequencies deflections and slopes vibrate, beside the arm's own."""

    def worst(reading: Reading) -> float:
        run = fall(ONE, reading[GRAVITY], reading[ANGLE], paper=True)
        own = _frequencies(ONE, float(np.mean(column(run, "joint2"))))
        found = []
        for k in FAST:
            y = history(run, FIGURES[k][0])
            fast = y[EDGE:-EDGE] - _smooth(y)
            seen = main_frequency(DT * np.arange(len(fast), dtype=float), fast)
            found.append(100 * min(abs(seen / f - 1) for f in own))
        return max(found)

    return Found((
        search("the response portrays the vibration modes of the system", VIBRATION.readings(scope),
               worst, NEAR, "distance of the strongest frequency from the arm's own, largest of 8"),
        undecidable("the response is highly undesirable", "what would be desirable"),
    ))  # fmt: skip


def distance_of_turns() -> dict[str, float]:
    """Measure how far E = 1 + skew takes the tips from E = exp, in per cent of the range."""
    exact = fall(ONE, paper=True)
    runs = {"the paper's": fall(ONE, paper=True, turn=SKEW), "Lagrange's": first_order()}
    ends = [f"link{k} {kind} 1" for k in (1, 2) for kind in ("flexural", "angular")]
    return {
        name: 100 * max(apart(history(run, what), history(exact, what)) for what in ends)
        for name, run in runs.items()
    }
