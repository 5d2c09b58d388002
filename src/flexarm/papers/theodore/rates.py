"""Theodore & Ghosal 1995, Figs. 9 and 10: eigenvalues of links 2 and 3 along the motion.

Modes are told apart by their shape: each model's eigenvectors are written in one fine description
of the arm, where the mass matrix says how alike two of them are.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import scipy.linalg
from scipy.optimize import linear_sum_assignment

from flexarm.control import Timing, closed_loop_eigenvalues, joint_move
from flexarm.formulations import formulation
from flexarm.formulations.equation import Equation
from flexarm.links.base import Array
from flexarm.mechanics.deformed import along
from flexarm.model import Model, build
from flexarm.papers.base import Claim, Difference, Figure, Found, Missing, Table, curve, decide
from flexarm.papers.runs import changed
from flexarm.papers.theodore.loop import DT, GOALS, KINDS, MOVE, SAMPLED, TIPS, loop

TIMES = np.linspace(0.0, MOVE, 51)  # [s]
FEW = tuple(range(0, len(TIMES), 5))  # of these, for tables and what is beside
EVIDENT = 0.3  # [s] up to which the paper finds its difference clearly evident
ACCEPTABLE = 0.05  # relative error of a frequency that is taken for acceptable
CONSTANT = 0.05  # range over the mean up to which a frequency is taken for constant
OWN = 0.7  # share of the elastic energy from which on a mode is taken for a link's own
FINE = 8  # elements per link of the common description
STEP = 1e-3  # [m]
ALL = tuple(range(len(TIMES)))
HIGHER = "frequencies in finite elements are always higher"
CLEARLY = "that is clearly evident in the higher range, between 0 and 0.3 s"
WITHIN = "they are acceptable with two elements"


@dataclass(frozen=True)
class Rates:
    """Frequencies in the plane of joint 2 at P postures, each column one mode.

    Attributes
    ----------
    rates
        [rad/s], (P, k).
    second
        Link 2's share of the elastic energy, (P, k).
    shapes
        In the fine description, (P, f, k), of unit modal mass there.
    """

    rates: Array
    second: Array
    shapes: Array

    def of(self, link: int, mode: int) -> int:
        """Find a link's mode where the motion begins, where the links hardly share any."""
        mine = self.second[0] > 0.5
        return int(np.flatnonzero(mine if link == 2 else ~mine)[mode - 1])


@dataclass(frozen=True)
class Pair:
    """A mode at P postures and its counterpart in another model.

    Attributes
    ----------
    rates, other
        Frequencies of both [rad/s], (P,).
    alike
        How much of the shape both have in common, 1 if all, (P,).
    """

    rates: Array
    other: Array
    alike: Array

    @property
    def excess(self) -> Array:
        """By how much the other is higher, over the rates, (P,)."""
        return np.asarray(self.other / self.rates - 1)


def eigenvalues(mode: int) -> Found:
    """Follow the frequencies of the flexible variables along the motion."""
    few, many = frequencies("modes"), frequencies("elements")
    pairs = _pairs(few, many, mode)
    both = np.concatenate([each.excess for each in pairs.values()])
    early = pairs[3].excess[TIMES <= EVIDENT]
    ways = _pairings(few, many, mode)
    least = min(max(_largest(way[n]) for n in (2, 3)) for way in ways.values())
    claims = (
        decide(HIGHER, float(both.min()) > 0,
               f"{_percent(both)} higher in {len(TIMES)} postures of two links, paired by shape; "
               f"{_common(pairs)}"),
        decide(CLEARLY, float(early.min()) > 0, f"of link 3 then {_percent(early)} higher"),
        decide("they converge in the lower range",
               _largest(pairs[2].excess) < _largest(pairs[3].excess),
               f"of link 2 at most {100 * _largest(pairs[2].excess):.2g} % apart, of link 3 "
               f"{100 * _largest(pairs[3].excess):.2g} %"),
        decide(WITHIN, _largest(both) < ACCEPTABLE,
               f"at most {100 * _largest(both):.2f} % apart, {100 * least:.2f} % in the pairing "
               f"of the table where it is least; {100 * ACCEPTABLE:.0f} % is taken for acceptable"),
        *(_varies(few, n, few.of(n, mode)) for n in (2, 3)),
    )  # fmt: skip
    return Found(
        claims,
        Difference(_largest(both), "largest relative difference of finite elements from modes"),
        tables=(_pairing_table(ways), _in_the_loop(pairs)),
        figures=(*(_figure(mode, n, each) for n, each in pairs.items()),
                 *([_meeting(few, many)] if mode == 2 else [])),
        missing=_over_tips(mode),
        because=" ".join(
            (_beside_more(mode, pairs[3]), *([_met()] if mode == 2 else []), _held(mode))
        ),
    )  # fmt: skip


def _pairs(few: Rates, many: Rates, mode: int) -> dict[int, Pair]:
    """Pair a mode of links 2 and 3 with the element mode of most nearly its shape."""
    return {n: _counterpart(few, many, few.of(n, mode)) for n in (2, 3)}


def _pairings(few: Rates, many: Rates, mode: int) -> dict[str, dict[int, Array]]:
    """Give by how much elements are higher, for each link, by four ways to pair modes."""
    found: dict[str, dict[int, Array]] = {
        "shape": {n: each.excess for n, each in _pairs(few, many, mode).items()}
    }
    for n in (2, 3):
        rates = few.rates[:, few.of(n, mode)]
        ratios = many.rates / rates[:, None]
        near = np.argmin(np.abs(np.log(ratios)), axis=1)
        place = np.count_nonzero(few.rates < rates[:, None], axis=1)
        each = {
            "nearest frequency": np.take_along_axis(ratios, near[:, None], axis=1)[:, 0],
            "order of frequency": np.take_along_axis(
                np.sort(ratios, axis=1), place[:, None], axis=1)[:, 0],
            "link at the start, both followed": ratios[:, many.of(n, mode)],
        }  # fmt: skip
        for name, ratio in each.items():
            found.setdefault(name, {})[n] = ratio - 1
    return found


def _pairing_table(ways: dict[str, dict[int, Array]]) -> Table:
    rows = tuple(
        (name, str(n), f"{100 * x.min():.4g}", f"{100 * x.max():.4g}")
        for name, way in ways.items()
        for n, x in way.items()
    )
    title = f"Elements over modes in all {len(TIMES)} postures [%]"
    return Table(title, ("paired by", "link", "least", "largest"), rows)


@cache
def frequencies(
    kind: str,
    *,
    counts: tuple[int, int] = (2, 2),
    tip: str | None = None,
    held: bool = False,
    at: tuple[int, ...] = ALL,
) -> Rates:
    """Find the modes of the flexible variables in the plane of joint 2, joints held.

    Parameters
    ----------
    kind, counts
        Modes or elements, and how many of links 2 and 3 in that plane.
    tip
        What the modes of link 2 see at its tip, if not what the sample has.
    held
        Whether link 3 stays as far out as it begins.
    at
        Which of the times.
    """
    equation, wanted = _equation(kind, counts, tip)
    found: list[tuple[Array, Array, Array]] = []
    for p in at:
        q = wanted[0 if held else p]
        squares, vectors, share = _modes(equation, q)
        fields, inner = _fine()[0 if held else p]
        shapes = np.linalg.solve(fields, _fields(equation.model, q) @ vectors)
        shapes /= np.sqrt(np.einsum("ij,ik,kj->j", shapes, inner, shapes))
        order = np.arange(len(squares))
        if found:  # a mode is the one that has most in common with what it was just before
            alike = np.square(found[-1][2].T @ inner @ shapes)
            order = linear_sum_assignment(-alike)[1]
        rates = np.asarray(np.sqrt(squares)[order])
        found.append((rates, share[order], np.asarray(shapes[:, order], dtype=float)))
    return Rates(*(np.array(each) for each in zip(*found, strict=True)))


@cache
def _fine() -> list[tuple[Array, Array]]:
    """Give what nodes of the fine description do, and its mass matrix, at every time."""
    equation, wanted = _equation("elements", (FINE, FINE), None)
    rest = _plane(equation.model)
    return [(_fields(equation.model, q), _sub(equation.mass_matrix(q), rest)) for q in wanted]


@cache
def _equation(kind: str, counts: tuple[int, int], tip: str | None) -> tuple[Equation, Array]:
    """Make the arm that bends in the plane of joint 2 alone, and its coordinates at the times."""
    values: dict[str, Any] = {}
    for k, count in zip((2, 3), counts, strict=True):
        values |= {f"links.{k}.shapes.bending_y": count, f"links.{k}.shapes.bending_z": 0}
    if kind == "modes":
        values["links.3.shapes.normalise"] = "mass"  # tips of higher modes may hardly move
    if tip is not None:
        values["links.2.shapes.tip"] = TIPS[tip]
    model = build(changed(KINDS[kind], values))
    wanted = joint_move(model, GOALS, Timing("cycloid", MOVE)).at(TIMES)[0]
    return formulation("composite", model), wanted


def _modes(equation: Equation, q: Array) -> tuple[Array, Array, Array]:
    """Give squares of frequencies, vectors, and link 2's shares of the elastic energy."""
    model = equation.model
    rest, still = _plane(model), np.zeros(model.size)
    base = equation.parts(q, still)["elastic"]
    # elastic forces are linear in the amplitudes here, so that a difference is exact
    moved = [equation.parts(q + STEP * e, still)["elastic"] for e in np.eye(model.size)[rest]]
    stiff = (np.array(moved) - base)[:, rest] / STEP
    squares, vectors = scipy.linalg.eigh((stiff + stiff.T) / 2, _sub(equation.mass_matrix(q), rest))
    second = np.array([model.names[k].startswith("link2") for k in rest])
    own = vectors[second]
    share = np.einsum("ij,ik,kj->j", own, stiff[np.ix_(second, second)], own) / squares
    return np.asarray(squares), np.asarray(vectors), np.asarray(share)


def _plane(model: Model) -> list[int]:
    """List the amplitudes that bend links in the plane of joint 2."""
    return [k for k, name in enumerate(model.names) if name.rstrip("0123456789").endswith("y")]


def _sub(matrix: Array, rest: list[int]) -> Array:
    return np.asarray(matrix[np.ix_(rest, rest)])


def _fields(model: Model, q: Array) -> Array:
    """Give deflection and slope at the nodes of the fine description per amplitude, (f, k)."""
    rest = _plane(model)
    stations = np.arange(1, FINE + 1) / FINE
    unit = q + np.eye(model.size)[rest]
    rows = []
    for part in model.links[1:]:
        found = along(model, part, unit, stations)
        rows += [found.deflection[:, :, 1].T, found.slope[:, :, 1].T]
    return np.concatenate(rows)


def _counterpart(few: Rates, many: Rates, column: int) -> Pair:
    """Pair a mode with another model's of most nearly its shape, at every posture."""
    rates, likeness = [], []
    for p, (_, inner) in enumerate(_fine()[:: len(TIMES) // (len(few.rates) - 1)]):
        alike = np.square(few.shapes[p].T @ inner @ many.shapes[p])
        chosen = linear_sum_assignment(-alike)[1][column]
        rates.append(many.rates[p, chosen])
        likeness.append(alike[column, chosen])
    return Pair(few.rates[:, column], np.array(rates), np.array(likeness))


def _common(pairs: dict[int, Pair]) -> str:
    """Say how much of their shapes pairs have in common at least, and when."""
    return "they have in common at least " + ", ".join(
        f"{100 * each.alike.min():.0f} % of their shape (link {n}, {TIMES[least]:.2f} s)"
        for n, each in pairs.items()
        for least in [np.argmin(each.alike)]
    )


def _varies(few: Rates, link: int, column: int) -> Claim:
    """Decide whether a link's frequency is constant or varies along the motion."""
    share = few.second[:, column] if link == 2 else 1 - few.second[:, column]
    y, own = few.rates[:, column], few.rates[share >= OWN, column]
    spread = float(np.ptp(y) / y.mean())
    says, holds = (
        ("those of the revolute link 2 are constant", spread < CONSTANT)
        if link == 2
        else ("those of the prismatic link 3 vary", spread > CONSTANT)
    )
    return decide(says, holds, f"they go over {100 * spread:.1f} % of their mean; over "
                  f"{100 * float(np.ptp(own) / own.mean()):.1f} % in the {len(own)} postures where "
                  f"{100 * OWN:.0f} % of the elastic energy and more is in link {link}; "
                  f"{100 * CONSTANT:.0f} % is taken for constant")  # fmt: skip


def _over_tips(mode: int) -> tuple[Missing, ...]:
    """Vary what the modes of link 2 see at its tip, and find what decides the statements."""
    many = frequencies("elements")
    least, early, most = [], [], []
    for tip in TIPS:
        few = frequencies("modes") if tip == SAMPLED else frequencies("modes", tip=tip)
        pairs = _pairs(few, many, mode)
        both = np.concatenate([each.excess for each in pairs.values()])
        least.append(100 * float(both.min()))
        early.append(100 * float(pairs[3].excess[TIMES <= EVIDENT].min()))
        most.append(100 * _largest(both))
    datum = "mass and inertia at the tip of link 2 in its modes"
    return tuple(
        Missing(datum, outcome, tuple(TIPS), tuple(found), limit, (says,))
        for outcome, found, limit, says in (
            ("least excess of finite elements over modes [%]", least, 0.0, HIGHER),
            ("the same of link 3 until 0.3 s [%]", early, 0.0, CLEARLY),
            ("largest distance of finite elements from modes [%]", most, 100 * ACCEPTABLE, WITHIN),
        )
    )


def _beside_more(mode: int, pair: Pair) -> str:
    """Say what two modes lack: compare with more of them, and with a converged arm."""
    p = int(np.argmin(pair.excess))
    place = int(np.count_nonzero(frequencies("modes").rates[p] < pair.rates[p]))
    exact, two, four = (
        np.sort(frequencies(kind, counts=counts, at=(p,)).rates[0])[place]
        for kind, counts in (("elements", (FINE, FINE)), ("modes", (2, 2)), ("elements", (2, 2)))
    )
    many = frequencies("elements", at=FEW)
    third, more = (frequencies("modes", counts=counts, at=FEW) for counts in ((3, 2), (4, 4)))
    gaps = [np.concatenate([each.excess for each in _pairs(few, many, mode).values()])
            for few in (third, more)]  # fmt: skip
    return (
        f"At {TIMES[p]:.2f} s, where elements are lowest beside modes, frequency {place + 1} of "
        f"the arm converges to {exact:.1f} rad/s ({FINE} elements per link): two elements are "
        f"{100 * (four / exact - 1):.2g} % above it, two modes {100 * (two / exact - 1):.2g} %. "
        "Two modes per link lack link 2's third mode, "
        f"{third.rates[0, third.of(2, 3)]:.0f} rad/s at the start, which two elements have. With "
        f"it elements are {_percent(gaps[0])} higher than modes, beside four modes per link, as "
        f"many coordinates as two elements have, {_percent(gaps[1])}."
    )


def _met() -> str:
    """Say when link 3's second mode meets link 2's third in elements."""
    low, high = np.sort(frequencies("elements").rates, axis=1)[:, 3:5].T
    p = int(np.argmin(high / low))
    mine = frequencies("modes").rates[[0, p, -1], frequencies("modes").of(3, 2)]
    return (
        f"Link 3's second mode, {mine[0]:.0f} rad/s at the start, comes down to that third one: at "
        f"{TIMES[p]:.2f} s elements have {low[p]:.0f} and {high[p]:.0f} rad/s, two modes "
        f"{mine[1]:.0f}. From then on both modes share their shapes: elements end at {low[-1]:.0f} "
        f"and {high[-1]:.0f} rad/s, two modes between them at {mine[2]:.0f}."
    )


def _held(mode: int) -> str:
    """Say what link 2's frequencies do while link 3 is held."""
    held = frequencies("modes", held=True, at=FEW)
    still = held.rates[:, held.of(2, mode)]
    return (
        "With link 3 held at 0.3 m those of link 2 go over "
        f"{100 * float(np.ptp(still) / still.mean()):.2g} % of their mean: they change with the "
        "inertia that link 3 has about its tip."
    )


def _in_the_loop(pairs: dict[int, Pair]) -> Table:
    """List pairs at rest beside the imaginary eigenvalues of the closed loop's Jacobian."""
    every = round(TIMES[FEW[1]] / DT)
    values = {kind: closed_loop_eigenvalues(loop(kind).law, loop(kind).run, every=every).imag
              for kind in KINDS}  # fmt: skip
    rows = []
    for n, each in pairs.items():
        for k, p in enumerate(FEW[:-1]):  # at the end the second loop takes over
            row = []
            for kind, rest in (("modes", each.rates[p]), ("elements", each.other[p])):
                moving = values[kind][k]
                row += [f"{rest:.2f}", f"{moving[np.argmin(np.abs(moving - rest))]:.2f}"]
            rows.append((str(n), f"{TIMES[p]:.2f}", *row, f"{100 * each.excess[p]:.3g}",
                         f"{100 * each.alike[p]:.0f}"))  # fmt: skip
    head = ("link", "time [s]", "modes, at rest", "nearest of the closed loop, moving",
            "elements, at rest", "nearest of the closed loop, moving",
            "elements over modes [%]", "shape in common [%]")  # fmt: skip
    return Table("Imaginary eigenvalues [rad/s], paired by shape", head, tuple(rows))


def _figure(mode: int, link: int, pair: Pair) -> Figure:
    curves = (
        curve("modes", TIMES, pair.rates),
        curve("elements, of most nearly that shape", TIMES, pair.other, points=True, every=2),
    )
    return Figure(f"Fig. {8 + mode}: mode {mode} of link {link}, in the plane of joint 2",
                  "time [s]", "imaginary eigenvalue [rad/s]", curves)  # fmt: skip


def _meeting(few: Rates, many: Rates) -> Figure:
    """Show how link 3's second mode meets link 2's third, which two modes per link lack."""
    late = np.array([p for p in FEW if TIMES[p] >= EVIDENT - 0.1])
    third = frequencies("modes", counts=(3, 2), at=FEW).rates[late // FEW[1]]
    more = np.sort(many.rates, axis=1)
    curves = [curve("link 3's second, two modes per link", TIMES[late[0] :],
                    few.rates[late[0] :, few.of(3, 2)])]  # fmt: skip
    for k in (3, 4):
        curves += [
            curve(f"frequency {k + 1}, three modes of link 2", TIMES[late],
                  np.sort(third, axis=1)[:, k]),
            curve(f"frequency {k + 1}, elements", TIMES[late[0] :], more[late[0] :, k],
                  points=True),
        ]  # fmt: skip
    return Figure("Link 3's second mode meets link 2's third", "time [s]",
                  "imaginary eigenvalue [rad/s]", tuple(curves))  # fmt: skip


def _largest(gaps: Array) -> float:
    return float(np.abs(gaps).max())


def _percent(gaps: Array) -> str:
    return f"{100 * gaps.min():.3g} to {100 * gaps.max():.3g} %"
