"""Korayem & Shafei 2009: operation counts, and the fall of a two-link arm."""

from functools import cache, partial
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from flexarm.analysis.modes import modes
from flexarm.formulations import formulation
from flexarm.integrate.run import Run
from flexarm.links.base import Array
from flexarm.model import TipRotation, build
from flexarm.papers.base import (
    Claim,
    Difference,
    Figure,
    Found,
    Item,
    Missing,
    Table,
    curve,
    decide,
)
from flexarm.papers.korayem_tables import table_1, table_2
from flexarm.papers.runs import apart, changed, column, main_frequency, run_by

PAPER = "korayem-2009"
T_END, DT = 2.0, 1e-3  # [s]; the paper's figures have no numbers in the text
WINDOW = round(0.1 / DT) | 1  # samples of a moving mean: a tenth of a second
CONCORDANT = 0.10  # of the range: what is taken for "good concordance"
# Directions of gravity, which the paper shows in a figure only; the arm starts along -y.
DOWN = {"-y, as in the sample": [0.0, -9.81, 0.0], "+x": [9.81, 0.0, 0.0],
        "-x": [-9.81, 0.0, 0.0], "+y": [0.0, 9.81, 0.0]}  # fmt: skip
SAMPLE = next(iter(DOWN))
MORE = {"modes-2": "2 modes", "modes-3": "3 modes", "converged": "converged"}


class Fall(NamedTuple):
    """One motion of the two-link arm: what it is called, and the run."""

    label: str
    run: Run


@cache
def falls() -> dict[str, Fall]:
    """Simulate the fall: as in the paper, exactly, with more shapes, in finite elements."""
    found = {
        "paper": Fall("one mode, equations of the paper", _fall("clamped-free", 1, paper=True)),
        "exact": Fall("one mode, exact", _fall("clamped-free", 1)),
        "first-order": Fall("one mode, Lagrange with E = 1 + skew", _first_order("lagrange")),
    }
    for count in (2, 3):
        found[f"modes-{count}"] = Fall(f"{count} modes", _fall("clamped-free", count))
    found["converged"] = Fall("converged: 4 loaded modes", _fall("loaded", 4))
    found["elements"] = Fall("2 finite elements per link", _fall("elements", 2))
    return found


@cache
def _fall(
    kind: str, count: int, *, paper: bool = False, stiffening: bool = False, down: str = SAMPLE
) -> Run:
    shapes = {"kind": kind, "bending_y": count}
    values = {"links.1.shapes": shapes, "links.2.shapes": shapes, "gravity": DOWN[down]}
    arm = changed("korayem-two-link", values)
    name = "gibbs-appell" if paper else "articulated"
    return run_by(
        arm, name, t_end=T_END, dt=DT, paper=paper, stiffening=stiffening, method="dop853"
    )


@cache
def _first_order(kind: str) -> Run:
    """Simulate the fall with tips that turn by 1 + skew of their angles."""
    return run_by(
        changed("korayem-two-link"), kind, t_end=T_END, dt=DT, paper=kind == "gibbs-appell",
        stiffening=False, tip_rotation="first-order", method="dop853",
    )  # fmt: skip


def _history(run: Run, what: str) -> Array:
    """Give what a figure shows, by the name of its quantity."""
    if what in ("joint1", "joint2"):
        return np.degrees(column(run, what))
    if what in ("tip x", "tip y"):
        return run.tip[:, "xy".index(what[-1])]
    link, kind, place = what.split()
    along = run.along([float(place)])
    values = along["deflection" if kind == "flexural" else "slope"].sel(link=link)
    return np.asarray(values.values[:, 0, 1])


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


def figure(number: int) -> Found:
    """Compare one quantity of the fall between modes and finite elements."""
    what, title, axis = FIGURES[number]
    runs = falls()
    t = runs["paper"].run.t
    histories = {name: _history(fall.run, what) for name, fall in runs.items()}
    reference = histories["elements"]
    gap = apart(histories["paper"], reference)
    names = ("paper", "modes-2", "modes-3")
    more = [apart(histories[name], histories["converged"]) for name in names]
    claims = [
        decide(
            "in good concordance with finite elements (Usoro et al.)",
            gap < CONCORDANT,
            f"one mode is off by {100 * gap:.2g} % of the range (rms over {T_END:g} s; "
            f"{100 * CONCORDANT:.0f} % is taken for good)",
        ),
        decide(
            "more mode shapes give more accurate results",
            more[2] < more[0],
            "1, 2, 3 modes are off the converged motion by "
            + ", ".join(f"{100 * x:.2g}" for x in more)
            + " % of the range",
        ),
    ]
    if number >= 8:
        claims.append(_vibrates(t, histories))
        claims.append(_alike(histories))
    shown = [
        curve(runs[name].label, t, histories[name])
        for name in ("paper", "first-order", "converged", "elements")
    ]
    parts = (Figure(f"Fig. {number}: {title}", "time [s]", axis, tuple(shown)),)
    differs = gap >= CONCORDANT
    return Found(
        tuple(claims),
        Difference(gap, "rms difference of the one-mode run from finite elements over its range"),
        figures=parts if number < 8 else _close_up(parts[0]),
        tables=(_comparison(histories),),
        missing=(_by_gravity(what),) if differs else (),
        because=_why(histories) if differs else "",
    )


def _close_up(whole: Figure) -> tuple[Figure, ...]:
    """Show a vibration that would fill its figure: beginning, end, and how its size goes."""
    spans = {"the first 0.4 s": (0.0, 0.4), "the last 0.4 s": (T_END - 0.4, T_END)}
    parts = []
    for name, (start, end) in spans.items():
        cut = [(c, (c.x >= start) & (c.x <= end)) for c in whole.curves]
        curves = tuple(curve(c.label, c.x[part], c.y[part]) for c, part in cut)
        parts.append(Figure(f"{whole.title}, {name}", whole.x_label, whole.y_label, curves))
    means, bounds = [], []
    for c in (whole.curves[0], whole.curves[-1]):
        means.append(curve(f"{c.label}: mean", c.x, _smooth(c.y)))
        for name, of in (("largest", np.max), ("least", np.min)):
            windows = sliding_window_view(np.pad(c.y, WINDOW // 2, mode="edge"), WINDOW)
            bounds.append(curve(f"{c.label}: {name}", c.x, of(windows, axis=1)))
    title = f"{whole.title}: mean, largest, least within {WINDOW * DT:.1f} s"
    size = Figure(title, whole.x_label, whole.y_label, (*means, *bounds))
    return (*parts, size)


def _by_gravity(what: str) -> Missing:
    """Find how far one mode is from finite elements for every direction of gravity."""
    gaps = [
        apart(_history(_fall("clamped-free", 1, paper=True, down=down), what),
              _history(_fall("elements", 2, down=down), what))
        for down in DOWN
    ]  # fmt: skip
    said = "distance of one mode from finite elements, of the range"
    return Missing("direction of gravity", said, tuple(DOWN), tuple(gaps), CONCORDANT)


def _vibrates(t: Array, histories: dict[str, Array]) -> Claim:
    """Decide whether a deflection shows the vibration modes of the arm."""
    own = _frequencies("clamped-free", 1)
    fast = histories["paper"] - _smooth(histories["paper"])
    seen = main_frequency(t, fast)
    nearest = min(own, key=lambda f: abs(f - seen))
    share = float(np.std(fast) / np.std(histories["paper"]))
    return decide(
        "the response portrays the vibration modes of the system",
        abs(seen / nearest - 1) < 0.03,
        f"it vibrates at {seen:.2f} Hz, with {100 * share:.0f} % of its size; the arm's mode is at "
        f"{nearest:.2f} Hz",
    )


def _alike(histories: dict[str, Array]) -> Claim:
    """Decide whether sizes and the slow part agree, whatever the phases of the vibration do."""
    size, slow = _sizes(histories["paper"], histories["elements"])
    return decide(
        "in good concordance, as we read it: sizes and the slow part agree, phases apart",
        abs(size - 1) < CONCORDANT and slow < CONCORDANT,
        f"the range is {size:.2f} times that of finite elements, the moving mean is off by "
        f"{100 * slow:.2g} % of its range",
    )


def _sizes(one: Array, other: Array) -> tuple[float, float]:
    """Compare ranges, and the slow parts by their distance over the other's range."""
    return float(np.ptp(one) / np.ptp(other)), apart(_smooth(one), _smooth(other))


def _smooth(y: Array) -> Array:
    """Take the slow part: a moving mean over a tenth of a second."""
    padded = np.pad(y, WINDOW // 2, mode="edge")
    return np.convolve(padded, np.ones(WINDOW) / WINDOW, mode="valid")


@cache
def _frequencies(kind: str, count: int) -> tuple[float, ...]:
    """Find the arm's elastic frequencies [Hz] about hanging straight down."""
    shapes = {"kind": kind, "bending_y": count}
    arm = changed("korayem-two-link", {"links.1.shapes": shapes, "links.2.shapes": shapes})
    found = modes(arm, joints="free", at={"joint1": -np.pi / 2, "joint2": 0.0})
    return tuple(sorted(f for m in found.modes if (f := m.frequency_hz) > 5.0)[:2])


def _comparison(histories: dict[str, Array]) -> Table:
    names = list(histories)
    rows = tuple(
        (
            falls()[name].label,
            f"{histories[name].min():.6g}",
            f"{histories[name].max():.6g}",
            f"{100 * apart(histories[name], histories['elements']):.3g}",
            f"{100 * apart(histories[name], histories['converged']):.3g}",
        )
        for name in names
    )
    head = ("run", "least", "largest", "off elements [% of range]", "off converged [% of range]")
    return Table(f"Over {T_END:g} s", head, rows)


def _why(histories: dict[str, Array]) -> str:
    """Compare frequencies, distances and sizes of one, more and converged modes."""
    kinds = (("clamped-free", 1), ("clamped-free", 2), ("loaded", 4), ("elements", 2))
    rates = [" and ".join(f"{x:.2f}" for x in _frequencies(*kind)) for kind in kinds]
    elements = histories["elements"]
    found = {name: _sizes(histories[name], elements) for name in MORE}
    off = ", ".join(f"{100 * apart(histories[name], elements):.2g}" for name in MORE)
    ranges = ", ".join(f"{size:.2f}" for size, _ in found.values())
    slow = ", ".join(f"{100 * x:.2g}" for _, x in found.values())
    return (
        f"One clamped-free mode per link puts the arm's vibration at {rates[0]} Hz, two modes at "
        f"{rates[1]}, converged ones at {rates[2]}, two finite elements at {rates[3]}. For "
        f"{', '.join(MORE.values())} the distance from finite elements is {off} % of the range, "
        f"the range {ranges} times theirs, and the moving mean is off by {slow} %."
    )


def tip_rotation() -> Found:
    """Compare the fall and the frequencies with tips that turn by E = 1 + skew and exactly."""
    rows, rates = [], {}
    kinds: tuple[tuple[str, str, TipRotation], ...] = (
        ("equations of the paper, E = exp", "gibbs-appell", "cayley"),
        ("equations of the paper, E = 1 + skew", "gibbs-appell", "first-order"),
        ("exact", "composite", "cayley"),
        ("Lagrange with E = 1 + skew", "lagrange", "first-order"),
    )
    for label, kind, tip in kinds:
        rates[label] = _hanging(kind, tip)
        rows.append((label, *(f"{x:.3f}" for x in rates[label])))
    exact = rates["exact"]
    off = {label: float(np.abs(found / exact - 1).max()) for label, found in rates.items()}
    run, linear = falls()["paper"].run, _first_order("gibbs-appell")
    gaps = {
        f"{name} of link {k}": apart(*(_history(x, f"link{k} {name} 1") for x in (linear, run)))
        for k in (1, 2)
        for name in ("flexural", "angular")
    }
    lagrange = apart(*(_history(falls()[x].run, "link2 flexural 1") for x in
                       ("first-order", "paper")))  # fmt: skip
    claims = (
        decide("E = 1 + skew of small angles may be used for the rotation (eq. 6)",
               max(gaps.values()) < CONCORDANT,
               "in the paper's equations it changes the tips' deflections by at most "
               f"{100 * max(gaps.values()):.2g} % of the range over {T_END:g} s"),
        decide("its transpose may be used for its inverse (step 1)",
               off["equations of the paper, E = 1 + skew"] < 1e-6,
               "frequencies about hanging are the exact ones to "
               f"{off['equations of the paper, E = 1 + skew']:.0e}"),
    )  # fmt: skip
    head = ("equations", *(f"{k} [rad/s]" for k in ("1st", "2nd", "3rd", "4th")))
    late = run.t >= T_END - 0.25
    shown = [
        curve(label, run.t[late], _history(x, "link2 flexural 1")[late])
        for label, x in (
            ("equations of the paper, E = exp", run),
            ("equations of the paper, E = 1 + skew", linear),
            ("Lagrange with E = 1 + skew", falls()["first-order"].run),
        )
    ]
    return Found(
        claims,
        Difference(off["Lagrange with E = 1 + skew"],
                   "largest relative difference of a frequency, Lagrange with E = 1 + skew"),
        tables=(Table("Frequencies about hanging straight down", head, tuple(rows)),),
        figures=(Figure("Deflection at the end of link 2, the last 0.25 s", "time [s]",
                        "deflection [m]", tuple(shown)),),
        because="The same E in Lagrange's equations is another model: a tip that turns by 1 + skew "
        "does not lift what it carries, so that weight does not stiffen the links; frequencies "
        f"are off by {100 * off['Lagrange with E = 1 + skew']:.2g} % and the deflection by "
        f"{100 * lagrange:.2g} % of the range.",
    )  # fmt: skip


def _hanging(kind: str, tip: TipRotation) -> Array:
    """Find frequencies about hanging from a formulation's own M and bias [rad/s]."""
    model = build(changed("korayem-two-link"), tip_rotation=tip)
    equation = formulation(kind, model, paper=kind == "gibbs-appell")
    q, still, step = np.zeros(model.size), np.zeros(model.size), 1e-6
    q[model.names.index("joint1")] = -np.pi / 2
    rows = [
        (equation.bias(q + step * e, still) - equation.bias(q - step * e, still)) / (2 * step)
        for e in np.eye(model.size)
    ]
    squares = np.linalg.eigvals(np.linalg.solve(equation.mass_matrix(q), np.array(rows).T))
    return np.asarray(np.sqrt(np.sort(squares.real)))


def _says(number: int) -> str:
    about = (
        "The simulation uses one clamped-free mode per link; the results are in good concordance "
        "with the finite elements of Usoro et al., and more mode shapes would be more accurate."
    )
    if number < 8:
        return about
    return about + " The flexural response portrays the vibration modes and is highly undesirable."


ITEMS = (
    Item(
        PAPER, "table-1", "Table 1: operations of the ten steps",
        "Formulas for products and sums of steps 1-10 over n, n_f and m.", table_1,
    ),
    Item(
        PAPER, "table-2", "Table 2: operations beside Book's method",
        "Total formulas, and their values for two arms; fewer operations than Book 1984.", table_2,
    ),
    Item(
        PAPER, "tip-rotation", "eq. 6: tips that turn by 1 + skew of their angles",
        "Deflections are small: E is 1 + skew of the tip's angles, and its transpose its inverse.",
        tip_rotation,
    ),
    *(
        Item(PAPER, f"fig-{k}", f"Fig. {k}: {title}", _says(k), partial(figure, k))
        for k, (_, title, _) in FIGURES.items()
    ),
)  # fmt: skip
