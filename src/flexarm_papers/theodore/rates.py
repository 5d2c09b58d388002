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
from flexarm.mechanics.deformed import along
from flexarm.model import Model, build
from flexarm.spatial import Array
from flexarm_papers.base import Figure, Found, curve
from flexarm_papers.readings import Choice, Grid, Reading, Scope, ways
from flexarm_papers.runs import changed, slopes
from flexarm_papers.statements import Limit, Statement, search, together
from flexarm_papers.theodore.loop import DIRECTION, GOALS, KINDS, MOVE, TIP

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
WHOLE, OWN = "all flexible variables together", "each link's own block of the jacobian"
LOOP = "the closed loop's jacobian along the motion, both planes"
PLANES = {"of joint 2": "y", "out of that of joint 2": "z"}
# Parallel to the axis of joint 2, link 3 bends in that joint's plane both ways.
FLAT = Choice(DIRECTION.name, dict(list(DIRECTION.ways.items())[:2]))
EIGENVALUES = Grid(
    (ways(QUANTITY, WHOLE, OWN, LOOP), ways(PLANE, *PLANES), TIP, FLAT),
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
    """Frequencies in one plane or both at P postures, each column one mode."""

    rates: Array  # [rad/s], (P, k)
    second: Array  # link 2's share of the elastic energy, (P, k)
    shapes: Array  # in the fine description, (P, f, k), of unit modal mass there

    def of(self, link: int, mode: int, axis: str = "") -> int:
        """Find a link's mode where the motion begins, where links and planes share hardly any."""
        mine = (self.second[0] > 0.5) == (link == 2)
        if axis:
            y, z = (np.abs(x).max(axis=0) for x in np.split(self.shapes[0], 2))
            mine &= (y > z) == (axis == "y")
        return int(np.flatnonzero(mine)[mode - 1])


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
    statements = said(mode, scope)
    always = statements[1].tried
    chosen = dict.fromkeys(max(some, key=lambda x: x.value).reading for some in (
        [x for x in always if x.reading[QUANTITY] != OWN], always) if some)  # fmt: skip
    return Found(
        statements,
        because="Eigenvalues are those of eq. 36's jacobian, imaginary parts, joints left out: "
        "about rest where the motion has the joints, one plane at a time (M_ff and K), of all "
        "flexible variables or of those of one link, the other's held; or with rates and "
        "accelerations of the joints.  The caption has eigenvalues of flexible variables "
        "corresponding to links 2 and 3, the text those of the manipulator system.  Pictures are "
        "where elements are lower by least, or higher by most.",
        figures=tuple(
            Figure(f"Fig. {8 + mode}: mode {mode} of links 2 and 3", "time [s]",
                   "imaginary eigenvalue [rad/s]",
                   tuple(each for n, pair in _pairs(x, mode).items() for each in
                         (curve(f"link {n}, modes", TIMES, pair.rates),
                          curve(f"link {n}, elements", TIMES, pair.other, points=True))),
                   reading=str(x))
            for x in chosen
        ),
    )  # fmt: skip


def said(mode: int, scope: Scope) -> tuple[Statement, ...]:
    """Decide what the text says of the figure of a mode."""
    readings = EIGENVALUES.readings(scope)
    found = {reading: _pairs(reading, mode) for reading in readings}

    def excess(reading: Reading) -> Array:
        return np.concatenate([each.excess for each in found[reading].values()])

    def evidence(reading: Reading) -> float:
        early = found[reading.without(WHERE)][3].excess[TIMES <= EVIDENT]
        return float(SEEN[reading[WHERE]](early))

    return (
        search(f"frequencies of mode {mode} are within acceptable accuracy with two elements",
               readings, lambda x: float(np.abs(excess(x)).max()), ACCEPTABLE,
               "largest distance of elements from modes"),
        search("frequencies in finite elements are always higher than those in modes", readings,
               lambda x: float(excess(x).min()), HIGHER, "least excess over modes"),
        search("that they are higher is clearly evident in the high range, between 0 and 0.3 s",
               EVIDENCE.readings(scope), evidence, CLEAR, "excess of link 3 then"),
        search("frequencies in finite elements and in modes converge in the lower range",
               CONVERGENCE.readings(scope),
               lambda x: _convergence(found[x.without(LOWER)], x[LOWER]), CONVERGING,
               "largest distance there over that of link 3 in all the time, or before 0.3 s"),
        search("frequencies of the revolute link 2 are constant", readings,
               lambda x: found[x][2].spread, CONSTANT, "range over the mean"),
        search("frequencies of the prismatic link 3 vary", readings, lambda x: found[x][3].spread,
               VARYING, "range over the mean"),
    )  # fmt: skip


def _convergence(found: dict[int, Pair], lower: str) -> float:
    """Compare the largest distance in the lower range with that in the higher."""
    size = {n: np.abs(x.excess if lower.endswith("%") else x.other - x.rates)
            for n, x in found.items()}  # fmt: skip
    late = TIMES > EVIDENT
    low, high = (size[2], size[3]) if "link 2" in lower else (size[3][late], size[3][~late])
    return float(low.max() / high.max())


def both(scope: Scope) -> tuple[Statement, ...]:
    """Judge as one what is said in one sentence of Figs. 9 and 10."""
    one, two = (said(mode, scope) for mode in (1, 2))
    return (
        together("frequencies in elements are always higher; this is clearly evident (Figs. 9, "
                 "10)", (*one[1:3], *two[1:3])),
        together("frequencies of link 2 are constant, those of link 3 vary (Figs. 9, 10)",
                 (*one[4:], *two[4:])),
        together("all that is said of Figs. 9 and 10", one + two),
    )  # fmt: skip


def _pairs(reading: Reading, mode: int) -> dict[int, Pair]:
    """Pair a mode of links 2 and 3 with that of the elements."""
    axis, direction = PLANES[reading[PLANE]], reading[DIRECTION.name]
    if reading[QUANTITY] == OWN:
        both = [_own(kind, tip, axis, direction) for kind, tip in _models(reading)]
        return {n: Pair(both[0][n][:, mode - 1], both[1][n][:, mode - 1]) for n in (2, 3)}
    moving = reading[QUANTITY] == LOOP
    seen = "yz" if moving else axis
    few, many = (frequencies(kind, tip=tip, axis=seen, direction=direction)
                 for kind, tip in _models(reading))  # fmt: skip
    found = {n: few.of(n, mode, axis if moving else "") for n in (2, 3)}
    return {n: _counterpart(few, many, k, seen, direction) for n, k in found.items()}


def _models(reading: Reading) -> tuple[tuple[str, str], tuple[str, str]]:
    return ("modes", reading[TIP.name]), ("elements", next(iter(TIP.ways)))


@cache
def _own(kind: str, tip: str, axis: str, direction: str) -> dict[int, Array]:
    """Find the frequencies of each link's own block of M and K [rad/s], (P, k)."""
    equation, (wanted, *_) = _equation(kind, 2, tip, direction)
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
    tip: str = next(iter(TIP.ways)),
    axis: str = "y",
    direction: str = next(iter(DIRECTION.ways)),
) -> Rates:
    """Find the modes of the flexible variables, of two shapes or elements per link and plane.

    Parameters
    ----------
    kind
        Modes or elements.
    tip, direction
        How the modes of link 2, and the direction of link 3, are read.
    axis
        Along which the links bend, joints held; "yz": both, joints as they move.
    """
    equation, motion = _equation(kind, 2, tip, direction)
    found: list[tuple[Array, Array, Array]] = []
    for q, v, a, (fields, inner) in zip(*motion, _fine(axis, direction), strict=True):
        moving = _moving(equation, q, v, a) if axis == "yz" else None
        rates, vectors, share = _modes(equation, q, axis, moving)
        shapes = np.asarray(np.linalg.solve(fields, _fields(equation.model, q, axis) @ vectors))
        shapes = np.asarray(shapes / np.sqrt(_product(shapes, inner, shapes).diagonal().real))
        order = np.arange(len(rates))
        if found:  # a mode is the one that has most in common with what it was just before
            order = linear_sum_assignment(-_alike(found[-1][2], inner, shapes))[1]
        found.append((rates[order], share[order], shapes[:, order]))
    return Rates(*(np.array(each) for each in zip(*found, strict=True)))


def _product(one: Array, inner: Array, other: Array) -> Array:
    return np.asarray(one.conj().T @ inner @ other)


def _alike(one: Array, inner: Array, other: Array) -> Array:
    """Say how alike shapes are, each with each, 1 if equal."""
    return np.asarray(np.square(np.abs(_product(one, inner, other))))


@cache
def _fine(axis: str, direction: str) -> list[tuple[Array, Array]]:
    """Give what nodes of the fine description do, and its mass matrix, at every time.

    Of both planes what couples them is left out: it is a measure of how alike two shapes are.
    """
    if axis == "yz":
        both = zip(*(_fine(x, direction) for x in axis), strict=True)
        return [tuple(scipy.linalg.block_diag(*x) for x in zip(*each, strict=True))  # type: ignore[misc]
                for each in both]  # fmt: skip
    equation, (wanted, *_) = _equation("elements", FINE, next(iter(TIP.ways)), direction, axis)
    model = equation.model
    rest = _plane(model, axis)
    return [(_fields(model, q, axis), _sub(equation.mass_matrix(q), rest)) for q in wanted]


@cache
def _equation(
    kind: str, count: int, tip: str, direction: str, axes: str = "yz"
) -> tuple[Equation, tuple[Array, Array, Array]]:
    """Make the arm that bends along some axes, and its coordinates, rates and accelerations."""
    values: dict[str, Any] = dict(DIRECTION.ways[direction])
    for k in (2, 3):
        values |= {f"links.{k}.shapes.bending_{x}": count if x in axes else 0 for x in "yz"}
    if kind == "modes":
        values |= TIP.ways[tip]
        values["links.3.shapes.normalise"] = "mass"  # tips of higher modes may hardly move
    model = build(changed(KINDS[kind], values))
    motion = joint_move(model, GOALS, Timing("cycloid", MOVE)).at(TIMES)
    return formulation("composite", model), motion


def _modes(
    equation: Equation, q: Array, axis: str, moving: Array | None
) -> tuple[Array, Array, Array]:
    """Give frequencies, vectors, and link 2's shares of the elastic energy.

    `moving` is the jacobian of the flexible variables, if joints are not held.
    """
    rest = _plane(equation.model, axis)
    stiff = _stiffness(equation, q, axis)
    if moving is None:
        squares, vectors = scipy.linalg.eigh(stiff, _sub(equation.mass_matrix(q), rest))
        rates = np.sqrt(squares)
    else:
        values, both = np.linalg.eig(moving)
        order = np.argsort(values.imag)[len(rest) :]  # one of each pair
        rates, vectors = values.imag[order], both[: len(rest), order]
    own = np.array([equation.model.names[k].startswith("link2") for k in rest])
    energy, part = (_product(x, k, x).diagonal().real for x, k in (
        (vectors, stiff), (vectors[own], stiff[np.ix_(own, own)])))  # fmt: skip
    return np.asarray(rates), np.asarray(vectors), np.asarray(part / energy)


def _moving(equation: Equation, q: Array, v: Array, a: Array) -> Array:
    """Give the jacobian of eq. 36 by flexible variables and their rates, joints as they move."""
    rest = _plane(equation.model, "yz")
    size, found = len(rest), []

    def forced(x: Array) -> Array:
        at, rates, wanted = (np.array(each) for each in (q, v, a))
        at[rest] += x[:size]
        rates[rest] += x[size:]
        wanted[rest] = 0.0
        mass = equation.mass_matrix(at)
        force = (mass @ wanted + equation.bias(at, rates))[rest]
        return np.asarray(-np.linalg.solve(_sub(mass, rest), force))

    for e in np.eye(2 * size):
        found.append((forced(STEP * e) - forced(-STEP * e)) / (2 * STEP))
    above = np.hstack([np.zeros((size, size)), np.eye(size)])
    return np.vstack([above, np.array(found).T])


def _stiffness(equation: Equation, q: Array, axis: str) -> Array:
    """Give K of the amplitudes in a plane; elastic forces are linear in them here."""
    stiff = _sub(slopes(equation, q, part="elastic", step=STEP), _plane(equation.model, axis))
    return np.asarray((stiff + stiff.T) / 2)


def _plane(model: Model, axis: str) -> list[int]:
    """List the amplitudes that bend links along an axis, or along some."""
    return [k for k, x in enumerate(model.names) if x.rstrip("0123456789").endswith(tuple(axis))]


def _sub(matrix: Array, rest: list[int]) -> Array:
    return np.asarray(matrix[np.ix_(rest, rest)])


def _fields(model: Model, q: Array, axis: str) -> Array:
    """Give deflection and slope at the nodes of the fine description per amplitude, (f, k)."""
    stations = np.arange(1, FINE + 1) / FINE
    unit = q + np.eye(model.size)[_plane(model, axis)]
    seen = [along(model, part, unit, stations) for part in model.links[1:]]
    return np.concatenate([
        each[:, :, "xyz".index(x)].T
        for x in axis for found in seen for each in (found.deflection, found.slope)
    ])  # fmt: skip


def _counterpart(few: Rates, many: Rates, column: int, axis: str, direction: str) -> Pair:
    """Pair a mode with another model's of most nearly its shape, at every posture."""
    rates = []
    for p, (_, inner) in enumerate(_fine(axis, direction)):
        alike = _alike(few.shapes[p], inner, many.shapes[p])
        rates.append(many.rates[p, linear_sum_assignment(-alike)[1][column]])
    return Pair(few.rates[:, column], np.array(rates))
