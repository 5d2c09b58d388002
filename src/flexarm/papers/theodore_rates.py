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
from flexarm.formulations.base import Formulation
from flexarm.integrate.internal import along
from flexarm.links.base import Array
from flexarm.model import Model, build
from flexarm.papers.base import Claim, Difference, Figure, Found, Missing, Table, curve, decide
from flexarm.papers.runs import changed
from flexarm.papers.theodore_loop import DT, GOALS, KINDS, MOVE, SAMPLED, TIPS, loop

Chosen = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
TIMES = np.linspace(0.0, MOVE, 51)  # [s]
FEW = tuple(range(0, len(TIMES), 5))  # of these, for what is missing
EVIDENT = 0.3  # [s] up to which the paper finds its difference clearly evident
ACCEPTABLE = 0.05  # relative error of a frequency that is taken for acceptable
CONSTANT = 0.05  # range over the mean up to which a frequency is taken for constant
ALIKE = 0.8  # two shapes with less in common are not taken for the same mode
OWN = 0.7  # share of the elastic energy from which on a mode is taken for a link's own
FINE = 8  # elements per link of the common description
STEP = 1e-3  # [m]


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


def eigenvalues(mode: int) -> Found:
    """Follow the frequencies of the flexible variables along the motion."""
    few, many = frequencies("modes"), frequencies("elements")
    branches = {n: few.of(n, mode) for n in (2, 3)}
    pairs = {n: _counterpart(few, many, k) for n, k in branches.items()}
    gaps = {n: found / few.rates[:, branches[n]] - 1 for n, (found, _) in pairs.items()}
    same = {n: alike >= ALIKE for n, (_, alike) in pairs.items()}
    known = np.concatenate([gaps[n][same[n]] for n in (2, 3)])
    claims = (
        decide("frequencies in finite elements are always higher", float(known.min()) > 0,
               f"{_percent(known)} higher; {_unmatched(same)}"),
        decide("that is clearly evident in the higher range, between 0 and 0.3 s",
               float(gaps[3][same[3] & (EVIDENT >= TIMES)].min()) > 0,
               f"of link 3 then {_percent(gaps[3][same[3] & (EVIDENT >= TIMES)])} higher"),
        decide("they converge in the lower range",
               _largest(gaps[2][same[2]]) < _largest(gaps[3][same[3]]),
               f"of link 2 at most {100 * _largest(gaps[2][same[2]]):.2g} % apart, of link 3 "
               f"{100 * _largest(gaps[3][same[3]]):.2g} %"),
        decide("they are acceptable with two elements", _largest(known) < ACCEPTABLE,
               f"at most {100 * _largest(known):.2f} % apart; {100 * ACCEPTABLE:.0f} % is taken "
               "for acceptable"),
        *(_varies(few, n, k) for n, k in branches.items()),
    )  # fmt: skip
    held = frequencies("modes", held=True, at=FEW)
    still = held.rates[:, held.of(2, mode)]
    return Found(
        claims,
        Difference(_largest(known), "largest relative difference of finite elements from modes"),
        tables=(_in_the_loop(mode, few, many),),
        figures=(_figure(mode, few, pairs, same),),
        missing=(_over_tips(mode),),
        because=f"{_beside_more(mode, many)} With link 3 held at 0.3 m those of link 2 go over "
        f"{100 * float(np.ptp(still) / still.mean()):.2g} % of their mean: they change with the "
        "inertia that link 3 has about its tip.",
    )  # fmt: skip


@cache
def frequencies(
    kind: str,
    *,
    modes: int = 2,
    tip: str | None = None,
    held: bool = False,
    at: tuple[int, ...] = tuple(range(len(TIMES))),
) -> Rates:
    """Find the modes of the flexible variables in the plane of joint 2, joints held.

    Parameters
    ----------
    kind, modes
        Modes or elements, and how many per link in that plane.
    tip
        What the modes of link 2 see at its tip, if not what the sample says.
    held
        Whether link 3 stays as far out as it begins.
    at
        Which of the times.
    """
    equation, wanted = _equation(kind, modes, None if tip == SAMPLED else tip)
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
    equation, wanted = _equation("elements", FINE, None)
    rest = _plane(equation.model)
    return [(_fields(equation.model, q), _sub(equation.mass_matrix(q), rest)) for q in wanted]


@cache
def _equation(kind: str, count: int, tip: str | None) -> tuple[Formulation, Array]:
    """Make the arm that bends in the plane of joint 2 alone, and its coordinates at the times."""
    values: dict[str, Any] = {}
    for k in (2, 3):
        values |= {f"links.{k}.shapes.bending_y": count, f"links.{k}.shapes.bending_z": 0}
    if kind == "modes":
        values["links.3.shapes.normalise"] = "mass"  # tips of higher modes may hardly move
    if tip is not None:
        values["links.2.shapes.tip"] = TIPS[tip]
    model = build(changed(KINDS[kind], values))
    wanted = joint_move(model, GOALS, Timing("cycloid", MOVE)).at(TIMES)[0]
    return formulation("composite", model), wanted


def _modes(equation: Formulation, q: Array) -> tuple[Array, Array, Array]:
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


def _counterpart(few: Rates, many: Rates, column: int) -> tuple[Array, Array]:
    """Find a mode's counterpart in another model at every posture, and how alike both are."""
    rates, likeness = [], []
    for p, (_, inner) in enumerate(_fine()[:: len(TIMES) // (len(few.rates) - 1)]):
        alike = np.square(few.shapes[p].T @ inner @ many.shapes[p])
        chosen = linear_sum_assignment(-alike)[1][column]
        rates.append(many.rates[p, chosen])
        likeness.append(alike[column, chosen])
    return np.array(rates), np.array(likeness)


def _varies(few: Rates, link: int, column: int) -> Claim:
    """Decide whether a link's frequency is constant or varies while the mode is the link's own."""
    share = few.second[:, column] if link == 2 else 1 - few.second[:, column]
    own = share >= OWN
    y = few.rates[own, column]
    spread = float(np.ptp(y) / y.mean())
    where = f"over {100 * spread:.1f} % of their mean in the {own.sum()} of {len(own)} postures "
    says, holds = (
        ("those of the revolute link 2 are constant", spread < CONSTANT)
        if link == 2
        else ("those of the prismatic link 3 vary", spread > CONSTANT)
    )
    return decide(says, holds, f"they go {where}where {100 * OWN:.0f} % of the elastic energy and "
                  f"more is in link {link}")  # fmt: skip


def _over_tips(mode: int) -> Missing:
    """Vary what the modes of link 2 see at its tip, and find the least excess of elements."""
    many = frequencies("elements", at=FEW)
    least = []
    for tip in TIPS:
        few = frequencies("modes", tip=tip, at=FEW)
        gaps = []
        for n in (2, 3):
            column = few.of(n, mode)
            found, alike = _counterpart(few, many, column)
            gaps.append((found / few.rates[:, column] - 1)[alike >= ALIKE])
        least.append(100 * float(np.concatenate(gaps).min()))
    return Missing(
        "mass and inertia at the tip of link 2 in its modes",
        "least excess of finite elements over modes [%]",
        tuple(TIPS), tuple(least), 0.0,
    )  # fmt: skip


def _beside_more(mode: int, many: Rates) -> str:
    """Compare elements with as many modes as they have coordinates."""
    more = frequencies("modes", modes=4)
    gaps = []
    for n in (2, 3):
        column = more.of(n, mode)
        found, alike = _counterpart(more, many, column)
        gaps.append((found / more.rates[:, column] - 1)[alike >= ALIKE])
    both = np.concatenate(gaps)
    return (
        "Two elements have as many coordinates as four modes: beside four modes per link they are "
        f"{_percent(both)} higher."
    )


def _in_the_loop(mode: int, few: Rates, many: Rates) -> Table:
    """List the imaginary eigenvalues of the closed loop's Jacobian beside those at rest."""
    rows = []
    every = round(TIMES[1] / DT)
    for kind, found in (("modes", few), ("elements", many)):
        each = loop(kind)
        values = closed_loop_eigenvalues(each.law, each.run, every=every).imag
        for n in (2, 3):
            column = found.of(n, mode)
            for p in FEW[:-1]:  # at the end the second loop takes over
                rest = found.rates[p, column]
                moving = values[p][np.argmin(np.abs(values[p] - rest))]
                rows.append((kind, str(n), f"{TIMES[p]:.2f}", f"{rest:.2f}", f"{moving:.2f}"))
    head = ("links of", "link", "time [s]", "at rest", "nearest of the closed loop, moving")
    return Table("Imaginary eigenvalues [rad/s]", head, tuple(rows))


def _figure(
    mode: int, few: Rates, pairs: dict[int, tuple[Array, Array]], same: dict[int, Chosen]
) -> Figure:
    curves = [curve(f"link {n}, modes", TIMES, few.rates[:, few.of(n, mode)]) for n in (2, 3)]
    for n, (found, _) in pairs.items():
        curves.append(
            curve(f"link {n}, elements", TIMES[same[n]], found[same[n]], points=True, every=2)
        )
    return Figure(f"Fig. {8 + mode}: mode {mode} of links 2 and 3, in the plane of joint 2",
                  "time [s]", "imaginary eigenvalue [rad/s]", tuple(curves), log=True)  # fmt: skip


def _unmatched(same: dict[int, Chosen]) -> str:
    lost = {n: int(np.count_nonzero(~each)) for n, each in same.items()}
    return (
        "; ".join(
            f"in {count} of {len(TIMES)} postures elements have no mode of the shape of link {n}'s"
            for n, count in lost.items()
            if count
        )
        or "each mode has its like in the elements, by shape"
    )


def _largest(gaps: Array) -> float:
    return float(np.abs(gaps).max())


def _percent(gaps: Array) -> str:
    return f"{100 * gaps.min():.3g} to {100 * gaps.max():.3g} %"
