"""Chu et al.: a mass matrix from Jacobians of element centres, beside the consistent one."""

from collections.abc import Mapping
from functools import cache, partial
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.linalg

from flexarm.analysis.operations import operation_counts
from flexarm.errors import FlexarmError
from flexarm.formulations import formulation
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
        because="" if gap < CLOSE else "The centres of elements miss part of the inertia, so that "
        "vibrations have other frequencies and the phases part.",
    )  # fmt: skip


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
    """Count how the operations of the mass matrix grow with the number of elements."""
    elements = (2, 4, 8)
    kinds = {
        "one point per element": ("element-jacobian", True),
        "integrated per element": ("element-jacobian", False),
        "composite, consistent": ("composite", False),
    }
    counted = {}
    for name, (kind, paper) in kinds.items():
        for count in elements:
            arm = changed(ARMS[2], {f"links.{k}.shapes.bending_y": count for k in (1, 2)})
            equation = formulation(kind, build(arm, stiffening=False), paper=paper)
            found = operation_counts(equation, "mass_matrix")
            counted[name, count] = found.multiplications + found.additions + found.divisions
    one, integrated, recursive = kinds
    saved = [counted[integrated, n] - counted[one, n] for n in elements]
    power = float(np.log2(saved[2] / saved[1])) if min(saved) > 0 else 0.0
    claims = (
        decide("without integrals the cost is reduced by O(eta), the number of elements",
               min(saved) > 0 and abs(power - 1) < 0.2,
               f"beside elements integrated at three points it saves {saved[0]}, {saved[1]} and "
               f"{saved[2]} operations: from 4 to 8 elements with the power {power:.2f}"),
        decide("more efficient than the previous methods, more so with many elements",
               counted[one, 8] < counted[recursive, 8],
               f"8 elements take {counted[one, 8]} operations, by recursion with integrals worked "
               f"out once {counted[recursive, 8]}"),
    )  # fmt: skip
    rows = tuple((str(n), *(str(counted[name, n]) for name in kinds)) for n in elements)
    return Found(
        claims,
        Difference(counted[one, 8] / counted[recursive, 8] - 1,
                   "operations for 8 elements over those of composite, less 1"),
        tables=(Table("Operations of the mass matrix, two links",
                      ("elements per link", *kinds), rows),),
        because="Integrals over an element are constants of the arm, worked out once: integrating "
        "costs nothing when the matrix is evaluated.",
    )  # fmt: skip


def deficiency() -> Found:
    """Show where the one-point mass matrix is singular, and what it does to frequencies."""
    refused = _refusal()
    ratios = {n: _cantilever(n) for n in (2, 5)}
    falls = [_least_eigenvalue(n) for n in (2, 3, 4)]
    factors = [a / b for a, b in pairwise(falls)]
    worst = max(abs(x - 1) for r in ratios.values() for x in r)
    claims = (
        decide("example 1 as printed (no payload, no motor inertia) can be simulated",
               not refused, f"M is singular: {refused.partition(':')[2].strip() or refused}"),
        decide("mass and moments of inertia of all elements are taken into account", worst < 0.01,
               f"the first three frequencies of a cantilever are off by up to {100 * worst:.1f} %"),
        decide("many elements can be used", min(factors) < 10,
               "the least eigenvalue of the clamped link's scaled M falls by "
               + ", ".join(f"{x:.0f}" for x in factors) + " times with each further element"),
    )  # fmt: skip
    rows = tuple((str(n), *(f"{x:.6f}" for x in r)) for n, r in ratios.items())
    return Found(
        claims,
        Difference(worst, "largest relative error of the first three cantilever frequencies"),
        tables=(Table("Cantilever frequencies over the exact ones",
                      ("elements", "mode 1", "mode 2", "mode 3"), rows),),
        because="One point per element leaves motions of the nodes without any inertia.",
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


def _cantilever_model(count: int) -> Model:
    values = {"links.2.shapes.bending_y": count}
    return build(changed(ARMS[1], values))


def _flexible(model: Model, paper: bool) -> tuple[Array, Array]:
    """Give M and K of link 2 clamped, undeformed."""
    rest = [k for k, name in enumerate(model.names) if not name.startswith("joint")]
    equation = formulation("element-jacobian" if paper else "composite", model, paper=paper)
    zero = np.zeros(model.size)
    mass = equation.mass_matrix(zero)[np.ix_(rest, rest)]
    rows = [equation.parts(row, zero)["elastic"][rest] for row in np.eye(model.size)[rest]]
    return mass, np.array(rows)


def _cantilever(count: int) -> Array:
    mass, stiff = _flexible(_cantilever_model(count), paper=True)
    squares = scipy.linalg.eigh((stiff + stiff.T) / 2, mass, eigvals_only=True)[:3]
    exact = np.square(beam_roots(clamped_mass(0.0), 3)) * np.sqrt(13.5 / 0.706)
    return np.asarray(np.sqrt(squares) / exact)


def _scaled(mass: Array) -> float:
    scale = np.sqrt(np.diag(mass))
    return float(np.linalg.eigvalsh(mass / np.outer(scale, scale))[0])


def _least_eigenvalue(count: int) -> float:
    return _scaled(_flexible(_cantilever_model(count), paper=True)[0])


def _refusal() -> str:
    model = build(changed(ARMS[1], {"links.2.joint.hub": {}}))
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
    Item(PAPER, "cost", "cost of the mass matrix",
         "More efficient, more so for many links and elements.", cost),
    Item(PAPER, "deficiency", "what one point per element leaves out",
         "Mass and all moments of inertia of all elements are taken into account.", deficiency),
    Item(PAPER, "table-1", "Table 1: forms of the mass matrix",
         "The form is that of a rigid robot.", table_1),
)  # fmt: skip
