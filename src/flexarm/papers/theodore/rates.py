"""Theodore & Ghosal 1995, Figs. 9 and 10: eigenvalues of links 2 and 3 along the motion.

Modes are told apart by their shape, through veerings too: each model's eigenvectors are written in
one fine description of the arm, where the mass matrix says how alike two of them are.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import scipy.linalg
from scipy.optimize import linear_sum_assignment

from flexarm.control import Timing, joint_move
from flexarm.formulations import formulation
from flexarm.formulations.equation import Equation
from flexarm.links.base import Array
from flexarm.mechanics.deformed import along
from flexarm.model import Model, build
from flexarm.papers.base import Figure, Found, Limit, curve, search, undecidable
from flexarm.papers.readings import Choice, Grid, Reading, Scope, ways
from flexarm.papers.runs import changed, slopes
from flexarm.papers.theodore.loop import DIRECTION, GOALS, KINDS, MOVE, TIP

TIMES = np.linspace(0.0, MOVE, 26)  # [s]
EVIDENT = 0.3  # [s] up to which the paper finds its difference clearly evident
ACCEPTABLE = Limit(high=5.0, unit="%")  # of a frequency
HIGHER = Limit(low=0.0, unit="%")  # "always higher"
CLEAR = Limit(low=0.5, unit="%")  # "clearly evident": more than the width of a line
CONSTANT, VARYING = Limit(high=5.0, unit="%"), Limit(low=5.0, unit="%")  # range over the mean
CONVERGING = Limit(high=1.0, unit="times")
FINE = 4  # elements per link of the common description
STEP = 1e-3  # [m]
QUANTITY, PLANE, LOWER, WHERE = "eigenvalues of", "plane", "lower range", "evident"
RANGES = ("link 2, in %", "link 2, in rad/s", "link 3 after 0.3 s, in %",
          "link 3 after 0.3 s, in rad/s")  # fmt: skip
WHOLE, OWN = "all flexible variables together", "each link's own block, the other link held"
PLANES = {"of joint 2": "y", "out of that of joint 2": "z"}
# Parallel to the axis of joint 2, link 3 bends in that joint's plane both ways.
FLAT = Choice(DIRECTION.name, dict(list(DIRECTION.ways.items())[:2]))
EIGENVALUES = Grid(
    (ways(QUANTITY, WHOLE, OWN), ways(PLANE, *PLANES), TIP, FLAT),
    ((QUANTITY, PLANE, TIP.name),),
)
SEEN = {"all the time until 0.3 s": np.min, "at its largest until 0.3 s": np.max}
EVIDENCE = Grid((*EIGENVALUES.choices, ways(WHERE, *SEEN)),
                ((QUANTITY, PLANE, TIP.name, WHERE), (DIRECTION.name, WHERE)))  # fmt: skip
CONVERGENCE = Grid((*EIGENVALUES.choices, ways(LOWER, *RANGES)),
                   ((QUANTITY, PLANE, TIP.name, LOWER), (DIRECTION.name, LOWER)))  # fmt: skip
OPEN = Grid((*CONVERGENCE.choices, EVIDENCE.choices[-1]))


@dataclass(frozen=True)
class Rates:
    """Frequencies in a plane at P postures, each column one mode.

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
    """Frequencies [rad/s] of a mode at P postures, in modes and in elements, (P,) each."""

    rates: Array
    other: Array

    @property
    def excess(self) -> Array:
        """By how much elements are higher [%], (P,)."""
        return np.asarray(100 * (self.other / self.rates - 1))

    @property
    def spread(self) -> float:
        """Range of the rates over their mean [%]."""
        return float(100 * np.ptp(self.rates) / self.rates.mean())


def eigenvalues(mode: int, scope: Scope) -> Found:
    """Follow the frequencies of the flexible variables along the motion."""
    readings = EIGENVALUES.readings(scope)
    found = {reading: _pairs(reading, mode) for reading in readings}

    def excess(reading: Reading) -> Array:
        return np.concatenate([each.excess for each in found[reading].values()])

    def evidence(reading: Reading) -> float:
        early = found[reading.without(WHERE)][3].excess[TIMES <= EVIDENT]
        return float(SEEN[reading[WHERE]](early))

    statements = (
        search("they are acceptable with two elements", readings,
               lambda x: float(np.abs(excess(x)).max()), ACCEPTABLE,
               "largest distance of elements from modes"),
        search("frequencies in finite elements are always higher", readings,
               lambda x: float(excess(x).min()), HIGHER, "least excess over modes"),
        undecidable("natural frequencies are proportional to the closed-loop eigenvalues",
                    "whose they are (with joints held they are the same, with free ones not)"),
        search("that is clearly evident in the higher range, between 0 and 0.3 s",
               EVIDENCE.readings(scope), evidence, CLEAR, "excess of link 3 then"),
        search("they converge in the lower range", CONVERGENCE.readings(scope),
               lambda x: _convergence(found[x.without(LOWER)], x[LOWER]), CONVERGING,
               "largest distance there over that of link 3 in all the time, or before 0.3 s"),
        search("those of the revolute link 2 are constant", readings,
               lambda x: found[x][2].spread, CONSTANT, "range over the mean"),
        search("those of the prismatic link 3 vary", readings, lambda x: found[x][3].spread,
               VARYING, "range over the mean"),
    )  # fmt: skip
    best = max(readings, key=lambda x: float(excess(x).min()))
    return Found(
        statements,
        because="Eigenvalues are those of M_ff and K, joints held where the motion has them, one "
        "plane at a time: the paper's are of the closed loop's jacobian, which has the rates of "
        "the joints too, and the terms of these are left out here.  Where frequencies of elements "
        f"are highest of all readings, the least excess is {excess(best).min():.1g} %: not lower, "
        "and in a figure equal, if that is below 0.5 %.",
        figures=(
            Figure(f"Fig. {8 + mode}: mode {mode} of links 2 and 3", "time [s]",
                   "imaginary eigenvalue [rad/s]",
                   tuple(each for n, pair in found[best].items() for each in
                         (curve(f"link {n}, modes", TIMES, pair.rates),
                          curve(f"link {n}, elements", TIMES, pair.other, points=True))),
                   reading=str(best)),
        ),
    )  # fmt: skip


def _convergence(found: dict[int, Pair], lower: str) -> float:
    """Compare the largest distance in the lower range with that in the higher."""
    size = {n: np.abs(x.excess if lower.endswith("%") else x.other - x.rates)
            for n, x in found.items()}  # fmt: skip
    late = TIMES > EVIDENT
    low, high = (size[2], size[3]) if "link 2" in lower else (size[3][late], size[3][~late])
    return float(low.max() / high.max())


def _pairs(reading: Reading, mode: int) -> dict[int, Pair]:
    """Pair a mode of links 2 and 3 with that of the elements."""
    axis, direction = PLANES[reading[PLANE]], reading[DIRECTION.name]
    if reading[QUANTITY] == OWN:
        both = [_own(kind, tip, axis, direction) for kind, tip in _models(reading)]
        return {n: Pair(both[0][n][:, mode - 1], both[1][n][:, mode - 1]) for n in (2, 3)}
    few, many = (
        frequencies(kind, tip=tip, axis=axis, direction=direction) for kind, tip in _models(reading)
    )
    return {n: _counterpart(few, many, few.of(n, mode), axis, direction) for n in (2, 3)}


def _models(reading: Reading) -> tuple[tuple[str, str], tuple[str, str]]:
    return ("modes", reading[TIP.name]), ("elements", next(iter(TIP.ways)))


@cache
def _own(kind: str, tip: str, axis: str, direction: str) -> dict[int, Array]:
    """Find the frequencies of each link's own block of M and K [rad/s], (P, k)."""
    equation, wanted = _equation(kind, (2, 2), tip, axis, direction)
    result = {}
    for n in (2, 3):
        rest = _plane(equation.model, axis)
        mine = [k for k, c in enumerate(rest) if equation.model.names[c].startswith(f"link{n}")]
        rows = []
        for q in wanted:
            stiff = _stiffness(equation, q, axis)
            mass = _sub(equation.mass_matrix(q), rest)
            rows.append(scipy.linalg.eigh(_sub(stiff, mine), _sub(mass, mine), eigvals_only=True))
        result[n] = np.sqrt(np.array(rows))
    return result


@cache
def frequencies(
    kind: str,
    *,
    counts: tuple[int, int] = (2, 2),
    tip: str = next(iter(TIP.ways)),
    axis: str = "y",
    direction: str = next(iter(DIRECTION.ways)),
) -> Rates:
    """Find the modes of the flexible variables in a plane, joints held.

    Parameters
    ----------
    kind, counts
        Modes or elements, and how many of links 2 and 3 in that plane.
    tip, direction
        How the modes of link 2, and the direction of link 3, are read.
    axis
        Along which the links bend.
    """
    equation, wanted = _equation(kind, counts, tip, axis, direction)
    found: list[tuple[Array, Array, Array]] = []
    for q, (fields, inner) in zip(wanted, _fine(axis, direction), strict=True):
        squares, vectors, share = _modes(equation, q, axis)
        shapes = np.linalg.solve(fields, _fields(equation.model, q, axis) @ vectors)
        shapes /= np.sqrt(np.einsum("ij,ik,kj->j", shapes, inner, shapes))
        order = np.arange(len(squares))
        if found:  # a mode is the one that has most in common with what it was just before
            alike = np.square(found[-1][2].T @ inner @ shapes)
            order = linear_sum_assignment(-alike)[1]
        rates = np.asarray(np.sqrt(squares)[order])
        found.append((rates, share[order], np.asarray(shapes[:, order], dtype=float)))
    return Rates(*(np.array(each) for each in zip(*found, strict=True)))


@cache
def _fine(axis: str, direction: str) -> list[tuple[Array, Array]]:
    """Give what nodes of the fine description do, and its mass matrix, at every time."""
    first = next(iter(TIP.ways))
    equation, wanted = _equation("elements", (FINE, FINE), first, axis, direction)
    model = equation.model
    rest = _plane(model, axis)
    return [(_fields(model, q, axis), _sub(equation.mass_matrix(q), rest)) for q in wanted]


@cache
def _equation(
    kind: str, counts: tuple[int, int], tip: str, axis: str, direction: str
) -> tuple[Equation, Array]:
    """Make the arm that bends in one plane alone, and its coordinates at the times."""
    values: dict[str, Any] = dict(DIRECTION.ways[direction])
    for k, count in zip((2, 3), counts, strict=True):
        values |= {f"links.{k}.shapes.bending_{x}": count if x == axis else 0 for x in "yz"}
    if kind == "modes":
        values |= TIP.ways[tip]
        values["links.3.shapes.normalise"] = "mass"  # tips of higher modes may hardly move
    model = build(changed(KINDS[kind], values))
    wanted = joint_move(model, GOALS, Timing("cycloid", MOVE)).at(TIMES)[0]
    return formulation("composite", model), wanted


def _modes(equation: Equation, q: Array, axis: str) -> tuple[Array, Array, Array]:
    """Give squares of frequencies, vectors, and link 2's shares of the elastic energy."""
    rest = _plane(equation.model, axis)
    stiff = _stiffness(equation, q, axis)
    squares, vectors = scipy.linalg.eigh(stiff, _sub(equation.mass_matrix(q), rest))
    second = np.array([equation.model.names[k].startswith("link2") for k in rest])
    own = vectors[second]
    share = np.einsum("ij,ik,kj->j", own, stiff[np.ix_(second, second)], own) / squares
    return np.asarray(squares), np.asarray(vectors), np.asarray(share)


def _stiffness(equation: Equation, q: Array, axis: str) -> Array:
    """Give K of the amplitudes in a plane; elastic forces are linear in them here."""
    stiff = _sub(slopes(equation, q, part="elastic", step=STEP), _plane(equation.model, axis))
    return np.asarray((stiff + stiff.T) / 2)


def _plane(model: Model, axis: str) -> list[int]:
    """List the amplitudes that bend links along an axis."""
    return [k for k, name in enumerate(model.names) if name.rstrip("0123456789").endswith(axis)]


def _sub(matrix: Array, rest: list[int]) -> Array:
    return np.asarray(matrix[np.ix_(rest, rest)])


def _fields(model: Model, q: Array, axis: str) -> Array:
    """Give deflection and slope at the nodes of the fine description per amplitude, (f, k)."""
    stations = np.arange(1, FINE + 1) / FINE
    unit = q + np.eye(model.size)[_plane(model, axis)]
    k, rows = "xyz".index(axis), []
    for part in model.links[1:]:
        found = along(model, part, unit, stations)
        rows += [found.deflection[:, :, k].T, found.slope[:, :, k].T]
    return np.concatenate(rows)


def _counterpart(few: Rates, many: Rates, column: int, axis: str, direction: str) -> Pair:
    """Pair a mode with another model's of most nearly its shape, at every posture."""
    rates = []
    for p, (_, inner) in enumerate(_fine(axis, direction)):
        alike = np.square(few.shapes[p].T @ inner @ many.shapes[p])
        rates.append(many.rates[p, linear_sum_assignment(-alike)[1][column]])
    return Pair(few.rates[:, column], np.array(rates))
