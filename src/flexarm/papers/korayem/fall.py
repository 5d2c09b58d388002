"""Korayem & Shafei 2009: the fall of a two-link arm, beside finite elements (Figs 4-15)."""

from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from flexarm.formulations import DEFAULT
from flexarm.integrate.simulate import simulate
from flexarm.linear.modes import modes
from flexarm.links.base import Array
from flexarm.papers.base import (
    Claim,
    Curve,
    Difference,
    Figure,
    Found,
    Missing,
    Table,
    curve,
    decide,
)
from flexarm.papers.runs import apart, changed, column, main_frequency, rms
from flexarm.runs.run import Run

T_END, DT = 2.0, 1e-3  # [s]; the paper's figures have no numbers in the text
WINDOW = round(0.1 / DT) | 1  # samples of a moving mean: a tenth of a second
EDGE = WINDOW // 2  # samples at either end that have no whole window around them
PERIODS = 2  # of the lowest vibration, over which deflections are compared
GOOD_SLOW, GOOD_FAST = 0.01, 0.20  # of the range: "good concordance" of joints, of deflections
ALIKE = 0.10  # of the range: sizes and slow parts that agree
# Directions of gravity, which the paper shows in a figure only; the arm starts along -y.
DOWN = {"-y, as in the sample": [0.0, -9.81, 0.0], "+x": [9.81, 0.0, 0.0],
        "-x": [-9.81, 0.0, 0.0], "+y": [0.0, 9.81, 0.0]}  # fmt: skip
SAMPLE = next(iter(DOWN))
CONCORDANT = "the results are in good concordance with the finite elements of Usoro et al."


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
        "first-order": Fall("one mode, Lagrange with E = 1 + skew", first_order("lagrange")),
    }
    for count in (2, 3):
        found[f"modes-{count}"] = Fall(f"{count} modes", _fall("clamped-free", count))
    found["converged"] = Fall("converged: 4 loaded modes", _fall("loaded", 4))
    found["elements"] = Fall("2 finite elements per link", _fall("elements", 2))
    return found


@cache
def _fall(
    kind: str, count: int, *, paper: bool = False, down: str = SAMPLE, t_end: float = T_END
) -> Run:
    shapes = {"kind": kind, "bending_y": count}
    values = {"links.1.shapes": shapes, "links.2.shapes": shapes, "gravity": DOWN[down],
              "stiffening": False}  # fmt: skip
    return simulate(
        changed("korayem-two-link", values), t_end=t_end, dt=DT, method="dop853",
        formulation="gibbs-appell" if paper else DEFAULT, paper=paper,
    )  # fmt: skip


@cache
def first_order(kind: str) -> Run:
    """Simulate the fall with tips that turn by 1 + skew of their angles."""
    return simulate(
        changed("korayem-two-link", {"stiffening": False}), t_end=T_END, dt=DT, method="dop853",
        formulation=kind, paper=kind == "gibbs-appell", tip_rotation="first-order",
    )  # fmt: skip


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
def _frequencies(kind: str, count: int) -> tuple[float, ...]:
    """Find the arm's elastic frequencies [Hz] about hanging straight down."""
    shapes = {"kind": kind, "bending_y": count}
    arm = changed("korayem-two-link", {"links.1.shapes": shapes, "links.2.shapes": shapes})
    found = modes(arm, joints="free", at={"joint1": -np.pi / 2, "joint2": 0.0})
    return tuple(sorted(f for m in found.modes if (f := m.frequency_hz) > 5.0)[:2])


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


class Reading(NamedTuple):
    """How "good concordance" is read: an rms distance over the first samples, and its limit.

    Notes
    -----
    Over many periods a frequency that is off by a per cent adds up to a phase, and two right
    vibrations are as far apart as any two.
    """

    samples: int
    limit: float
    span: str

    def off(self, one: Array, other: Array) -> float:
        """Measure how far two histories are apart, over the other's range."""
        return apart(one[: self.samples], other[: self.samples])


def reading(number: int) -> Reading:
    """Say how a figure is compared: joints and tip all along, deflections before phases count."""
    if number < 8:
        return Reading(round(T_END / DT) + 1, GOOD_SLOW, f"all {T_END:g} s")
    end = PERIODS / _frequencies("elements", 2)[0]
    span = f"the first {PERIODS} periods of the lowest vibration ({end:.3f} s)"
    return Reading(int(end / DT) + 1, GOOD_FAST, span)


def figure(number: int) -> Found:
    """Compare one quantity of the fall between modes and finite elements."""
    what, title, axis = FIGURES[number]
    histories = {name: history(fall.run, what) for name, fall in falls().items()}
    how, fast = reading(number), number >= 8
    missing = (_by_gravity(what, how),) if fast else ()
    gap, best = (how.off(histories[x], histories["elements"]) for x in ("paper", "converged"))
    claims = [
        decide(
            CONCORDANT,
            gap < how.limit,
            f"read as: over {how.span} the rms difference is below {_percent(how.limit)} of the "
            f"range; one mode is off by {_percent(gap)}, converged modes by {_percent(best)}",
        ),
        _more_modes(how, histories),
    ]
    if fast:
        claims.append(_vibrates(histories["paper"]))
    shown = _close_up if fast else _with_differences
    return Found(
        tuple(claims),
        Difference(gap, f"rms difference of the one-mode run from finite elements, of the range, "
                        f"over {how.span}"),
        figures=shown(f"Fig. {number}: {title}", axis, histories),
        tables=(_comparison(how, axis.split()[-1], histories),),
        missing=missing,
        because=_why(how, histories, missing) if gap >= how.limit else "",
        checks=_checks(histories) if fast else (),
    )  # fmt: skip


def _more_modes(how: Reading, histories: dict[str, Array]) -> Claim:
    """Decide whether each further mode comes closer to the converged motion."""
    names, best = ("paper", "modes-2", "modes-3"), histories["converged"]
    off = [how.off(histories[name], best) for name in names]
    whole = [apart(histories[name], best) for name in names]
    because = f"over {how.span} 1, 2, 3 modes are off the converged motion by {_listed(off)}"
    if how.samples < len(best):
        because += (
            f"; over {T_END:g} s, where a vibration out of step counts in full, by {_listed(whole)}"
        )
    return decide(
        "more accurate results will be obtained by using more mode shapes",
        all(more < fewer for fewer, more in pairwise(off)),
        f"{because} of the range",
    )


def _vibrates(y: Array) -> Claim:
    """Decide whether a deflection shows the vibration modes of the arm."""
    own = _frequencies("clamped-free", 1)
    fast = y[EDGE:-EDGE] - _smooth(y)
    seen = main_frequency(DT * np.arange(len(fast), dtype=float), fast)
    nearest = min(own, key=lambda f: abs(f - seen))
    share = float(np.std(fast) / np.std(y[EDGE:-EDGE]))
    return decide(
        "the response portrays the vibration modes of the system",
        abs(seen / nearest - 1) < 0.03,
        f"with one mode per link it vibrates at {seen:.2f} Hz, with {100 * share:.0f} % of its "
        f"size; the arm's mode is then at {nearest:.2f} Hz",
    )


def _by_gravity(what: str, how: Reading) -> Missing:
    """Find how far one mode is from finite elements for every direction of gravity."""
    t_end = (how.samples - 1) * DT
    gaps = [
        how.off(history(_fall("clamped-free", 1, paper=True, down=down, t_end=t_end), what),
                history(_fall("elements", 2, down=down, t_end=t_end), what))
        for down in DOWN
    ]  # fmt: skip
    said = f"distance of one mode from finite elements over {t_end:.3f} s, of the range"
    return Missing("direction of gravity", said, tuple(DOWN), tuple(gaps), how.limit, (CONCORDANT,))


def _checks(histories: dict[str, Array]) -> tuple[Claim, ...]:
    """Compare sizes, slow parts and phases, for one mode and converged ones."""
    both = [(histories[name], histories["elements"]) for name in ("paper", "converged")]
    found = {
        f"the size of the vibration agrees: largest and least within {WINDOW * DT:.1f} s": [
            rms(np.stack(_bounds(one)) - np.stack(_bounds(other))) / float(np.ptp(other))
            for one, other in both
        ],
        f"the slow part agrees: the mean over {WINDOW * DT:.1f} s": [
            apart(_smooth(one), _smooth(other)) for one, other in both
        ],
        f"the vibration stays in step for {T_END:g} s": [apart(*pair) for pair in both],
    }
    return tuple(
        decide(
            f"{says}, to {_percent(ALIKE)} of its range",
            one < ALIKE,
            f"one mode is off by {_percent(one)}, converged modes by {_percent(best)}",
        )
        for says, (one, best) in found.items()
    )


def _smooth(y: Array) -> Array:
    """Take the slow part: a moving mean, but for the edges."""
    return np.convolve(y, np.ones(WINDOW) / WINDOW, mode="valid")


def _bounds(y: Array) -> tuple[Array, Array]:
    """Take the largest and the least within a moving window, but for the edges."""
    windows = sliding_window_view(y, WINDOW)
    return windows.max(axis=1), windows.min(axis=1)


def _close_up(title: str, axis: str, histories: dict[str, Array]) -> tuple[Figure, ...]:
    """Show a vibration that would fill its figure: beginning, end, and how its size goes."""
    t = falls()["paper"].run.t
    inner = t[EDGE:-EDGE]
    spans = {"the first 0.2 s": (0.0, 0.2), "the last 0.4 s": (T_END - 0.4, T_END)}
    names = ("paper", "converged", "elements")
    parts: dict[str, list[Curve]] = {}
    for name in names:
        label, y = falls()[name].label, histories[name]
        for span, (start, end) in spans.items():
            cut = (t >= start - DT / 2) & (t <= end + DT / 2)
            parts.setdefault(span, []).append(curve(label, t[cut], y[cut]))
        # one line out along the largest and back along the least
        most, least = _bounds(y)
        outline = np.append(inner, inner[::-1]), np.append(most, least[::-1])
        name = f"outline of largest and least within {WINDOW * DT:.1f} s"
        parts.setdefault(name, []).append(curve(label, *outline, every=4))
        name = f"mean over {WINDOW * DT:.1f} s"
        parts.setdefault(name, []).append(curve(label, inner, _smooth(y), every=2))
    return tuple(
        Figure(f"{title}, {name}", "time [s]", axis, tuple(curves))
        for name, curves in parts.items()
    )


def _with_differences(title: str, axis: str, histories: dict[str, Array]) -> tuple[Figure, ...]:
    """Show a motion that all runs share, and how far they are from finite elements."""
    runs = falls()
    t, reference = runs["paper"].run.t, histories["elements"]
    whole = (
        curve(runs["paper"].label, t, histories["paper"]),
        curve(runs["elements"].label, t, reference, points=True, every=50),
    )
    apart_by = tuple(
        curve(runs[name].label, t, histories[name] - reference)
        for name in ("paper", "modes-2", "converged")
    )
    return (
        Figure(title, "time [s]", axis, whole),
        Figure(f"{title}, less that of 2 finite elements per link", "time [s]",
               f"difference of {axis}", apart_by),
    )  # fmt: skip


def _comparison(how: Reading, unit: str, histories: dict[str, Array]) -> Table:
    """Tabulate extremes and distances of all runs."""
    long = how.samples == len(histories["paper"])
    spans = {f"{T_END:g} s": len(histories["paper"])}
    if not long:
        spans[f"{(how.samples - 1) * DT:.3f} s"] = how.samples
    head, columns = ["run", f"least {unit}", f"largest {unit}"], []
    for other in ("elements", "converged"):
        for span, samples in spans.items():
            head.append(f"off {other} over {span} [% of range]")
            columns.append((samples, histories[other]))
    rows = tuple(
        (falls()[name].label, f"{y.min():.6g}", f"{y.max():.6g}",
         *(f"{100 * apart(y[:end], other[:end]):.3g}" for end, other in columns))
        for name, y in histories.items()
    )  # fmt: skip
    return Table(f"Ours over {T_END:g} s: extremes, and rms distances", tuple(head), rows)


def _why(how: Reading, histories: dict[str, Array], missing: tuple[Missing, ...]) -> str:
    """Compare frequencies and distances of one, more and converged modes."""
    kinds = (("clamped-free", 1), ("clamped-free", 2), ("loaded", 4), ("elements", 2))
    rates = [" and ".join(f"{x:.2f}" for x in _frequencies(*kind)) for kind in kinds]
    names = ("paper", "modes-2", "modes-3", "converged")
    off = _listed([how.off(histories[name], histories["elements"]) for name in names])
    least = "".join(
        f"; one mode by {_percent(min(each.outcomes))} or more for every {each.datum}"
        for each in missing
    )
    return (
        f"One clamped-free mode per link puts the arm's vibration at {rates[0]} Hz, two modes at "
        f"{rates[1]}, converged ones at {rates[2]}, two finite elements at {rates[3]}, so that one "
        "mode is a different vibration from its first period on. 1, 2, 3 and converged modes are "
        f"off finite elements by {off} of the range{least}."
    )


def _percent(value: float) -> str:
    return f"{100 * value:.3g} %"


def _listed(values: list[float]) -> str:
    return ", ".join(f"{100 * value:.3g}" for value in values) + " %"
