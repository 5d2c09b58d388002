"""Korayem & Shafei 2009: operation counts, and the fall of a two-link arm."""

from collections.abc import Mapping
from functools import cache, partial
from itertools import product
from typing import NamedTuple

import numpy as np

from flexarm.analysis.modes import modes
from flexarm.analysis.operations import operation_counts
from flexarm.formulations import formulation
from flexarm.integrate.run import Run
from flexarm.io.sample import sample
from flexarm.links.base import Array
from flexarm.model import build
from flexarm.papers.base import (
    Claim,
    Difference,
    Figure,
    Found,
    Item,
    Table,
    curve,
    decide,
)
from flexarm.papers.korayem_counts import TABLE_1, Pair, book, counted_steps, korayem_shafei
from flexarm.papers.runs import apart, changed, column, main_frequency, run_by

PAPER = "korayem-2009"
SIZES = ((3, 2, 2), (6, 6, 2), (6, 6, 3))  # links, flexible links, modes
# Table 2 under n = 3, n_f = 2, m = 2 and n = 6, n_f = 6, m = 3: products, sums.
PRINTED = {
    ("Book", (3, 2, 2)): (4922, 4851),
    ("this work", (3, 2, 2)): (2706, 2134),
    ("Book", (6, 6, 3)): (25251, 24569),
    ("this work", (6, 6, 3)): (19557, 18332),
}
FORMULAS = {"Book": book, "this work": korayem_shafei}
T_END, DT = 2.0, 1e-3  # [s]; the paper's figures have no numbers in the text
CONCORDANT = 0.10  # of the range: what is taken for "good concordance"


def table_1() -> Found:
    """Count the operations of each step beside the printed formulas."""
    counted = {size: counted_steps(*size) for size in SIZES}
    rows = []
    for step, formula in TABLE_1.items():
        cells = [_pair(x) for s in SIZES for x in (formula(*s), counted[s][step])]
        rows.append((str(step), *cells))
    head = ("step", *[x for s in SIZES for x in (f"printed, {_size(s)}", "counted")])
    grid = [(n, f, m) for n, m in product(range(2, 8), range(1, 5)) for f in range(1, n + 1)]
    gaps = [np.abs(np.subtract(_total(size), korayem_shafei(*size))).max() for size in grid]
    equal = [step for step in TABLE_1 if all(TABLE_1[step](*s) == counted[s][step] for s in SIZES)]
    worst = max(
        abs(a - b) / b
        for s in SIZES for step in TABLE_1
        for a, b in zip(counted[s][step], TABLE_1[step](*s), strict=True)
    )  # fmt: skip
    whole = [x for s in SIZES for x in (_total(s), _added(counted[s]))]
    rows.append(("all", *map(_pair, whole)))
    claims = (
        decide(
            "the steps add up to the formulas of Table 2",
            max(gaps) < 1e-9,
            f"largest gap over {len(grid)} sizes of arm: {max(gaps):.2g} operations",
        ),
        decide(
            "each step takes the operations printed",
            len(equal) == len(TABLE_1),
            f"steps {', '.join(map(str, equal))} take exactly these, others up to "
            f"{100 * worst:.0f} % more or less",
        ),
    )
    return Found(
        claims,
        Difference(worst, "largest relative difference of a step's counted operations"),
        tables=(Table("Operations of the steps: products M, sums A", head, tuple(rows)),),
        because="Equal subexpressions are counted once here and zeros of skew and symmetric "
        "matrices are used, which the paper does in part; steps 1 and 3 leave products and sums "
        "out of the printed count.",
    )


def table_2() -> Found:
    """Evaluate the formulas beside the printed numbers, and count our own equations."""
    rows, off = [], {}
    for (who, size), printed in PRINTED.items():
        ours = FORMULAS[who](*size)
        off[who, size] = max(abs(a - b) / b for a, b in zip(ours, printed, strict=True))
        as_two = FORMULAS[who](size[0], size[1], 2)
        rows.append((who, _size(size), _pair(printed), _pair(ours), _pair(as_two)))
    small = max(off[who, (3, 2, 2)] for who in FORMULAS)
    large = max(off[who, (6, 6, 3)] for who in FORMULAS)
    m_two = all(FORMULAS[who](6, 6, 2) == PRINTED[who, (6, 6, 3)] for who in FORMULAS)
    losing = [
        (n, f, m) for n, m in product(range(2, 13), range(1, 5)) for f in range(1, n + 1)
        if sum(korayem_shafei(n, f, m)) >= sum(book(n, f, m))
    ]  # fmt: skip
    sizes = 4 * sum(range(2, 13))
    own = _own_counts()
    claims = (
        decide(
            "n = 3, n_f = 2, m = 2: 2706 M, 2134 A; Book 4922 M, 4851 A",
            small == 0,
            f"the formulas give the printed numbers, largest difference {100 * small:.2g} %",
        ),
        decide(
            "n = 6, n_f = 6, m = 3: 19557 M, 18332 A; Book 25251 M, 24569 A",
            large == 0,
            f"the formulas differ by up to {100 * large:.1f} %; for m = 2 they give exactly the "
            f"printed numbers: {'yes' if m_two else 'no'}",
        ),
        decide(
            "fewer operations than Book's method",
            not losing,
            f"{sizes - len(losing)} of {sizes} sizes of arm (2 to 12 links, 1 to 4 modes) take "
            "fewer" + (f"; the smallest that does not is {_size(losing[0])}" if losing else ""),
        ),
    )
    head = ("method", "size", "printed", "formula", "formula for m = 2")
    return Found(
        claims,
        Difference(large, "largest relative difference of a printed number from its formula"),
        tables=(Table("Printed and evaluated", head, tuple(rows)), own),
        because="The column headed m = 3 is for m = 2.",
    )


def _own_counts() -> Table:
    rows = []
    for size in ((2, 2, 2), (3, 2, 2), (6, 6, 3)):
        name = "count-" + "-".join(map(str, size))
        ks = korayem_shafei(*size)
        cells = []
        for kind, paper in (("gibbs-appell", True), ("articulated", False)):
            model = build(sample(name), stiffening=False)
            found = operation_counts(formulation(kind, model, paper=paper), "forward_dynamics")
            products = found.multiplications + found.divisions
            cells.append(_pair((products, found.additions)))
        rows.append((name, _pair(ks), *cells, f"{sum(ks) / (products + found.additions):.1f}"))
    head = ("arm", "formula", "gibbs-appell as in the paper, solved", "articulated", "times fewer")
    return Table("Our equations, compiled", head, tuple(rows))


def _total(size: tuple[int, int, int]) -> Pair:
    return _added({step: formula(*size) for step, formula in TABLE_1.items()})


def _added(steps: Mapping[int, Pair]) -> Pair:
    return sum(x for x, _ in steps.values()), sum(x for _, x in steps.values())


def _pair(pair: tuple[float, float]) -> str:
    return f"{pair[0]:.0f} M, {pair[1]:.0f} A"


def _size(size: tuple[int, int, int]) -> str:
    return f"n = {size[0]}, n_f = {size[1]}, m = {size[2]}"


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
    }
    for count in (2, 3):
        found[f"modes-{count}"] = Fall(f"{count} modes", _fall("clamped-free", count))
    found["converged"] = Fall("converged: 4 loaded modes", _fall("loaded", 4))
    found["elements"] = Fall("2 finite elements per link", _fall("elements", 2))
    return found


@cache
def _fall(kind: str, count: int, *, paper: bool = False, stiffening: bool = False) -> Run:
    shapes = {"kind": kind, "bending_y": count}
    arm = changed("korayem-two-link", {"links.1.shapes": shapes, "links.2.shapes": shapes})
    name = "gibbs-appell" if paper else "articulated"
    return run_by(
        arm, name, t_end=T_END, dt=DT, paper=paper, stiffening=stiffening, method="dop853"
    )


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
    more = [apart(histories[name], reference) for name in ("paper", "modes-2", "modes-3")]
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
            "1, 2, 3 modes are off by " + ", ".join(f"{100 * x:.2g}" for x in more) + " %",
        ),
    ]
    if number >= 8:
        claims.append(_vibrates(t, histories))
    shown = [
        curve(runs[name].label, t, histories[name])
        for name in ("paper", "exact", "converged", "elements")
    ]
    zoom = t <= 0.5
    parts = [Figure(f"Fig. {number}: {title}", "time [s]", axis, tuple(shown))]
    if number >= 8:
        near = tuple(curve(c.label, c.x[zoom], c.y[zoom]) for c in shown)
        parts.append(Figure(f"Fig. {number}, the first 0.5 s", "time [s]", axis, near))
    return Found(
        tuple(claims),
        Difference(gap, "rms difference of the one-mode run from finite elements over its range"),
        figures=tuple(parts),
        tables=(_comparison(histories),),
        because="" if gap < CONCORDANT else _why(),
    )


def _vibrates(t: Array, histories: dict[str, Array]) -> Claim:
    """Decide whether a deflection shows the vibration modes of the arm."""
    own = _frequencies("clamped-free", 1)
    fast = histories["paper"] - _smooth(histories["paper"], t)
    seen = main_frequency(t, fast)
    nearest = min(own, key=lambda f: abs(f - seen))
    share = float(np.std(fast) / np.std(histories["paper"]))
    return decide(
        "the response portrays the vibration modes of the system",
        abs(seen / nearest - 1) < 0.03,
        f"it vibrates at {seen:.2f} Hz, with {100 * share:.0f} % of its size; the arm's mode is at "
        f"{nearest:.2f} Hz",
    )


def _smooth(y: Array, t: Array) -> Array:
    """Take the slow part: a moving mean over a tenth of a second."""
    width = round(0.1 / (t[1] - t[0])) | 1
    padded = np.pad(y, width // 2, mode="edge")
    return np.convolve(padded, np.ones(width) / width, mode="valid")


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


def _why() -> str:
    one, two = _frequencies("clamped-free", 1), _frequencies("elements", 2)
    listed = [", ".join(f"{x:.2f}" for x in each) for each in (one, two)]
    return (
        f"One clamped-free mode per link puts the arm's vibration at {listed[0]} Hz, two finite "
        f"elements at {listed[1]} Hz: the phases part within a few periods."
    )


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
    *(
        Item(PAPER, f"fig-{k}", f"Fig. {k}: {title}", _says(k), partial(figure, k))
        for k, (_, title, _) in FIGURES.items()
    ),
)  # fmt: skip
