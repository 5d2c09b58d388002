"""Chu et al.: a mass matrix from Jacobians of element centres, beside the consistent one."""

from collections.abc import Mapping
from functools import cache, partial
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np
import scipy.linalg

from flexarm.arm import Arm
from flexarm.errors import FlexarmError
from flexarm.formulations import formulation
from flexarm.formulations.base import Formulation
from flexarm.formulations.element_jacobian import ElementJacobian
from flexarm.integrate.run import Run
from flexarm.links.base import Array
from flexarm.links.classical import beam_roots, clamped_mass
from flexarm.model import Model, build
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
    undecidable,
)
from flexarm.papers.chu_experiment import ARM, DT, EXPERIMENT_ITEMS, PAPER, T_END
from flexarm.papers.runs import apart, changed, column, run_by

ARMS = {1: ARM, 2: "chu-example-2"}
CLOSE = 0.10  # of the range: what is taken for "close resemblance"
MANY = 20  # elements per link: what is taken for "a large number"
EXACT = 4  # Gauss points by which an element's inertia is integrated exactly
SHAPES = "links.2.shapes.bending_y"  # number of elements of the link of example 1
CHAINS = {2: "count-2-2-2", 3: "count-3-2-2", 6: "count-6-6-3"}  # by number of links
# What the paper does not give, and values to try, by example.
OPEN: dict[int, dict[str, dict[str, Mapping[str, Any]]]] = {
    1: {
        "bending stiffness EI of link 2 [N m^2]": {
            str(x): {"links.2.section.EIz": x} for x in (6.75, 13.5, 27.0)
        },
        "motor inertia at joint 2 [kg m^2]": {
            str(x): {"links.2.joint.hub": {"outboard": {"inertia": [0.0, 0.0, x]}}}
            for x in (0.005, 0.01, 0.05)
        },
    },
    2: {
        "motor inertia at joint 2 [kg m^2]": {
            str(x): {"links.2.joint.hub": {"outboard": {"inertia": [0.0, 0.0, x]}}}
            for x in (0.005, 0.01, 0.05)
        },
        "material of both links": {
            name: {f"links.{k}.section.material": {"E": E, "density": density} for k in (1, 2)}
            for name, E, density in (("aluminium", 70e9, 2700.0), ("steel", 200e9, 7850.0))
        },
        "thickness of both strips [mm], area as given": {
            f"{1e3 * x:g}": {
                f"links.{k}.section.shape": {"kind": "rectangle", "width": x, "height": 3e-5 / x}
                for k in (1, 2)
            }
            for x in (5e-4, 1e-3, 2e-3)
        },
    },
}
# Figure: example, quantity, title, axis.
FIGURES = {
    6: (1, "joint1", "displacement of the prismatic joint", "position [m]"),
    7: (1, "joint2", "displacement of the revolute joint", "angle [rad]"),
    8: (1, "deflection", "deflection at the end effector", "deflection [m]"),
    12: (2, "joint1", "displacement of joint 1", "angle [rad]"),
    13: (2, "joint2", "displacement of joint 2", "angle [rad]"),
    14: (2, "deflection", "deflection at the end effector", "deflection [m]"),
    15: (2, "slope", "slope at the end effector", "slope [rad]"),
}


@cache
def _run(example: int, paper: bool, datum: str = "", value: str = "") -> Run:
    """Simulate an example with the paper's mass matrix, or with the consistent one."""
    values = OPEN[example][datum][value] if datum else {}
    arm = changed(ARMS[example], values)
    kind = "element-jacobian" if paper else "articulated"
    return run_by(arm, kind, t_end=T_END, dt=DT, paper=paper)


def _history(run: Run, what: str) -> Array:
    if what.startswith("joint"):
        return column(run, what)
    return np.asarray(run.along([1.0])[what].sel(link="link2").values[:, 0, 1])


def figure(number: int) -> Found:
    """Compare one quantity between the paper's mass matrix and the consistent one."""
    example, what, title, axis = FIGURES[number]
    runs = {paper: _run(example, paper) for paper in (True, False)}
    y = {paper: _history(run, what) for paper, run in runs.items()}
    gap = apart(y[True], y[False])
    others, missing = {"as in the sample": gap}, []
    for datum, values in OPEN[example].items():
        gaps = []
        for value in values:
            pair = [_history(_run(example, p, datum, value), what) for p in (True, False)]
            others[f"{datum.partition(' [')[0]} {value}"] = apart(*pair)
            gaps.append(apart(*pair))
        said = "distance of both curves, of the range"
        missing.append(Missing(datum, said, tuple(values), tuple(gaps), CLOSE))
    claims = [
        decide("close resemblance to the curve of the previous method", gap < CLOSE,
               f"off by {100 * gap:.2g} % of the range over {T_END:g} s; {100 * CLOSE:.0f} % is "
               "taken for close"),
        undecidable("the values of the curve", ", ".join(OPEN[example]) + ", inputs' values"),
    ]  # fmt: skip
    if example == 1:
        claims.insert(1, _still_close(others))
    labels = {True: "one point per element", False: "consistent mass matrix"}
    rows = tuple((name, f"{100 * x:.3g}") for name, x in others.items())
    return Found(
        tuple(claims),
        Difference(gap, "rms difference of both mass matrices over the range"),
        tables=(Table("Difference of both mass matrices", ("case", "% of the range"), rows),),
        figures=(
            Figure(f"Fig. {number}: {title}", "time [s]", axis,
                   tuple(curve(labels[p], runs[p].t, y[p]) for p in (True, False))),
        ),
        missing=tuple(missing) if gap >= CLOSE else (),
        because="" if gap < CLOSE else _why(example),
    )  # fmt: skip


def _why(example: int) -> str:
    """Compare the arm's first two vibrations by both mass matrices."""
    one, whole = (_frequencies(example, paper) for paper in (True, False))
    listed = [", ".join(f"{x:.2f}" for x in each) for each in (one, whole)]
    periods = ", ".join(f"{abs(a - b) * T_END:.1f}" for a, b in zip(one, whole, strict=True))
    return (
        f"One point per element puts the arm's vibrations at {listed[0]} Hz, the consistent matrix "
        f"at {listed[1]} Hz: in {T_END:g} s they part by {periods} periods."
    )


def _frequencies(example: int, paper: bool) -> tuple[float, ...]:
    """Find the first two elastic frequencies [Hz] of the straight arm, joints free."""
    mass, stiff = _matrices(build(changed(ARMS[example])), paper)
    rigid = 2  # joints, which no spring holds
    squares = scipy.linalg.eigh((stiff + stiff.T) / 2, mass, eigvals_only=True)
    return tuple(float(x) for x in np.sqrt(squares[rigid : rigid + 2]) / (2 * np.pi))


def _still_close(others: dict[str, float]) -> Claim:
    return decide(
        "the curves continue to match when parameters are changed",
        max(others.values()) < CLOSE,
        f"off by at most {100 * max(others.values()):.2g} % of the range in {len(others)} cases",
    )


def inputs(example: int) -> Found:
    """Show how far the motion depends on the inputs, which are in figures only."""
    factors = (0.5, 1.0, 2.0)
    sizes = []
    for factor in factors:
        joint = changed(ARMS[example]).model_dump()["links"][0]["joint"]
        amplitude = factor * joint["input"]["amplitude"]
        arm = changed(ARMS[example], {"links.1.joint.input.amplitude": amplitude})
        run = run_by(arm, "articulated", t_end=T_END, dt=DT)
        sizes.append(float(np.ptp(column(run, "joint1"))))
    figures = "4 and 5" if example == 1 else "10 and 11"
    return Found(
        (undecidable("the bang-bang inputs", "amplitudes and switching times"),),
        Difference(None, "no numbers in the paper's text"),
        missing=(
            Missing("amplitude of the input of joint 1, of the sample's",
                    "range of joint 1 [m or rad]", factors, tuple(sizes)),
        ),
        because=f"Figs. {figures} have the inputs, the text has no values.",
    )  # fmt: skip


def cost() -> Found:
    """Measure how the formulation of the mass matrix grows with elements and links."""
    elements = (2, 4, 8, 16)
    arms = {(2, n): changed(ARMS[2], {f"links.{k}.shapes.bending_y": n for k in (1, 2)})
            for n in elements}  # fmt: skip
    chains = {(links, 4): _chain(name, links) for links, name in CHAINS.items()}
    grown, chained = ([_formed(arm) for arm in each.values()] for each in (arms, chains))
    saved, by_links = ([x[1] - x[0] for x in each] for each in (grown, chained))
    powers = [float(np.log2(grown[3][k] / grown[2][k])) for k in (0, 1)]
    power = float(np.log2(saved[3] / saved[2])) if min(saved) > 0 else 0.0
    ratios = [", ".join(f"{x[1] / x[0]:.2f}" for x in each) for each in (grown, chained)]
    claims = (
        decide("without integrals the formulation is reduced by O(eta), the number of elements "
               "(read as: by an amount in proportion to eta)",
               min(saved) > 0 and abs(power - 1) < 0.2,
               f"the expression of M is smaller by {', '.join(map(str, saved))} operations for "
               f"{', '.join(map(str, elements))} elements per link than with integrals over the "
               f"elements, from 8 to 16 with the power {power:.2f}; each grows with the powers "
               f"{powers[0]:.2f} and {powers[1]:.2f}, so that it is no lower order of growth"),
        decide("the formulation is more efficient than the previous, more so with many links and "
               "elements",
               all(0 < a < b for each in (saved, by_links) for a, b in pairwise(each)),
               f"with integrals it is {ratios[0]} times as large for "
               f"{', '.join(map(str, elements))} elements per link, and {ratios[1]} times for "
               f"{', '.join(map(str, CHAINS))} links of 4; the operations saved grow with both"),
    )  # fmt: skip
    rows = tuple(
        (name, *map(str, size), *map(str, found))
        for name, sizes, each in (("example 2", arms, grown), ("plane chain", chains, chained))
        for size, found in zip(sizes, each, strict=True)
    )
    head = ("arm", "links", "elements per link", "one point per element",
            "integrated over each element", "by recursion, integrals of links")  # fmt: skip
    return Found(
        claims,
        Difference(abs(power - 1), "power of eta with which the saving grows, less 1"),
        tables=(Table("Operations in the symbolic expression of M, as it is formed", head, rows),),
        because="What is compared is the formulation, as in the paper: M as a symbolic expression, "
        f"elements integrated exactly by {EXACT} points. With the integrals of whole links worked "
        f"out beforehand and a recursion it is {grown[3][0] / grown[3][2]:.1f} times smaller than "
        "with one point per element (16 elements per link).",
    )  # fmt: skip


def _chain(name: str, links: int) -> Arm:
    """Make a plane chain of equal flexible links out of a sample."""
    link = {"joint": {"kind": "revolute"}, "rigid": False,
            "section": {"mass_per_length": 5.0, "EIz": 1000.0},
            "shapes": {"kind": "elements", "bending_y": 4}}  # fmt: skip
    values = {f"links.{k}.{key}": x for k in range(1, links + 1) for key, x in link.items()}
    return changed(name, values)


def _formed(arm: Arm) -> tuple[int, int, int]:
    """Count operations of M's expression: one point, integrated per element, by recursion."""
    model = build(arm, stiffening=False)
    one, whole = ElementJacobian(model, paper=True), ElementJacobian(model, points=EXACT)
    return _size(one), _size(whole), _size(formulation("composite", model))


def _size(equation: Formulation) -> int:
    """Count the operations of the upper triangle of M, as they are traced."""
    q = ca.SX.sym("q", equation.model.size)
    function = ca.Function("M", [q], [ca.triu(equation.mass_expression(q))])
    given = (ca.OP_INPUT, ca.OP_OUTPUT, ca.OP_CONST)
    kinds = [function.instruction_id(k) for k in range(function.n_instructions())]
    return sum(kind not in given for kind in kinds)


def deficiency() -> Found:
    """Show where the one-point mass matrix is singular, and what it does to frequencies."""
    bare: Mapping[str, Any] = {"links.2.joint.hub": {}}
    refused = _refusal(bare)
    printed = ElementJacobian(build(changed(ARMS[1], bare)), paper=True)
    size = printed.model.size
    rank = np.linalg.matrix_rank(printed.mass_matrix(np.zeros(size)))
    ratios = {n: _cantilever(n) for n in (2, 5)}
    falls = [_least_eigenvalue(n) for n in (2, 3, 4)]
    factors = [a / b for a, b in pairwise(falls)]
    most = next(n - 1 for n in range(2, MANY + 2) if n > MANY or _refusal({SHAPES: n}))
    worst = max(abs(x - 1) for r in ratios.values() for x in r)
    claims = (
        decide("example 1 as printed (no payload, no motor inertia) can be simulated",
               not refused, f"M is singular: {refused.partition(':')[2].strip() or refused}"),
        decide("mass and moments of inertia of all elements are taken into account", worst < 0.01,
               f"the first three frequencies of a cantilever are off by up to {100 * worst:.1f} %"),
        decide("a large number of elements can be used", most >= MANY,
               f"the link of example 1 can have {most}, where {MANY} is taken for many; with one "
               "more M is singular to double precision: the least eigenvalue of the clamped link's "
               f"scaled M falls by {' and '.join(f'{x:.0f}' for x in factors)} times from 2 to 4"),
    )  # fmt: skip
    rows = tuple((str(n), *(f"{x:.6f}" for x in r)) for n, r in ratios.items())
    return Found(
        claims,
        Difference(worst, "largest relative error of the first three cantilever frequencies"),
        tables=(Table("Cantilever frequencies over the exact ones",
                      ("elements", "mode 1", "mode 2", "mode 3"), rows),),
        because=f"The mass matrix of example 1 as printed has the rank {rank} of {size}: a motion "
        "of the nodes that no element's centre takes part in has no inertia.",
    )  # fmt: skip


def table_1() -> Found:
    """Check that the three mass matrices of Table 1 are the same where they should be."""
    gaps = []
    for count in (1, 2, 4, 8):
        model = build(changed(ARMS[2], {f"links.{k}.shapes.bending_y": count for k in (1, 2)}))
        pair = [
            formulation(kind, model, paper=paper).mass_matrix(np.zeros(model.size))
            for kind, paper in (("element-jacobian", True), ("composite", False))
        ]
        joints = [model.names.index("joint1"), model.names.index("joint2")]
        rigid = [matrix[np.ix_(joints, joints)] for matrix in pair]
        gaps.append(float(np.abs(rigid[0] - rigid[1]).max() / np.abs(rigid[1]).max()))
    claims = (
        decide("without deflection the matrix is that of a rigid robot", max(gaps) < 1e-10,
               f"joint rows agree to {max(gaps):.1e} for 1, 2, 4 and 8 elements"),
    )  # fmt: skip
    return Found(claims, Difference(max(gaps), "joint rows of M, relative"))


def _matrices(model: Model, paper: bool) -> tuple[Array, Array]:
    """Give M and K of the straight arm, undeformed."""
    equation = formulation("element-jacobian" if paper else "composite", model, paper=paper)
    zero = np.zeros(model.size)
    rows = [equation.parts(row, zero)["elastic"] for row in np.eye(model.size)]
    return equation.mass_matrix(zero), np.array(rows)


def _clamped(count: int) -> tuple[Array, Array]:
    """Give M and K of the link of example 1 with one point per element, its joints held."""
    model = build(changed(ARMS[1], {SHAPES: count}))
    rest = [k for k, name in enumerate(model.names) if not name.startswith("joint")]
    mass, stiff = (x[np.ix_(rest, rest)] for x in _matrices(model, paper=True))
    return mass, (stiff + stiff.T) / 2


def _cantilever(count: int) -> Array:
    squares = scipy.linalg.eigh(*reversed(_clamped(count)), eigvals_only=True)[:3]
    link = changed(ARMS[1]).model_dump()["links"][1]
    bending, mass = (link["section"][key] for key in ("EIz", "mass_per_length"))
    exact = np.square(beam_roots(clamped_mass(0.0), 3) / link["length"]) * np.sqrt(bending / mass)
    return np.asarray(np.sqrt(squares) / exact)


def _least_eigenvalue(count: int) -> float:
    mass = _clamped(count)[0]
    scale = np.sqrt(np.diag(mass))
    return float(np.linalg.eigvalsh(mass / np.outer(scale, scale))[0])


def _refusal(values: Mapping[str, Any]) -> str:
    """Tell in words why example 1 cannot be simulated by the paper's matrix, "" if it can."""
    model = build(changed(ARMS[1], values))
    try:
        formulation("element-jacobian", model, paper=True)
    except FlexarmError as error:
        return str(error)
    return ""


_CLOSE = "The curve of the proposed method has a close resemblance to that of the previous methods."
ITEMS = (
    Item(PAPER, "fig-4-5", "Figs. 4, 5: inputs of example 1", "Bang-bang force and torque.",
         partial(inputs, 1)),
    *(Item(PAPER, f"fig-{k}", f"Fig. {k}: {FIGURES[k][2]}", _CLOSE, partial(figure, k))
      for k in (6, 7, 8)),
    Item(PAPER, "fig-10-11", "Figs. 10, 11: inputs of example 2", "Bang-bang torques.",
         partial(inputs, 2)),
    *(Item(PAPER, f"fig-{k}", f"Fig. {k}: {FIGURES[k][2]}", _CLOSE, partial(figure, k))
      for k in (12, 13, 14, 15)),
    *EXPERIMENT_ITEMS,
    Item(PAPER, "cost", "cost of formulating the mass matrix",
         "Without symbolic integrals the time complexity of the formulation is reduced by O(eta); "
         "more efficient, more so for many links and elements.", cost),
    Item(PAPER, "deficiency", "what one point per element leaves out",
         "Mass and all moments of inertia of all elements are taken into account.", deficiency),
    Item(PAPER, "table-1", "Table 1: forms of the mass matrix",
         "The form is that of a rigid robot.", table_1),
)  # fmt: skip
