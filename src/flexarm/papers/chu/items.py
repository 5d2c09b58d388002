"""Chu et al.: a mass matrix from Jacobians of element centres, beside the consistent one."""

from collections.abc import Mapping
from functools import cache, partial
from typing import Any

import numpy as np
import scipy.linalg

from flexarm.formulations import DEFAULT
from flexarm.integrate.simulate import simulate
from flexarm.links.base import Array
from flexarm.model import build
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
from flexarm.papers.chu.experiment import (
    DT,
    EXPERIMENT_ITEMS,
    FACTORS,
    PAPER,
    T_END,
    given,
    input_figure,
    input_table,
    two_valued,
)
from flexarm.papers.chu.matrix import ARMS, MATRIX_ITEMS, matrices
from flexarm.papers.runs import apart, changed, column
from flexarm.runs.run import Run

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
# Example: title and axis of both inputs.
INPUTS = {
    1: (("Fig. 4: force on the prismatic joint", "force [N]"),
        ("Fig. 5: torque on the revolute joint", "torque [N m]")),
    2: (("Fig. 10: torque at joint 1", "torque [N m]"),
        ("Fig. 11: torque at joint 2", "torque [N m]")),
}  # fmt: skip
_RESEMBLES = "close resemblance to the curve of the previous methods"
_CONTINUES = "the curves continue to match well even when the parameters of the robot are changed"
SAMPLE = "as in the sample"


@cache
def _run(example: int, paper: bool, datum: str = "", value: str = "") -> Run:
    """Simulate an example with the paper's mass matrix, or with the consistent one."""
    values = OPEN[example][datum][value] if datum else {}
    arm = changed(ARMS[example], values)
    kind = "element-jacobian" if paper else DEFAULT
    return simulate(arm, formulation=kind, t_end=T_END, dt=DT, paper=paper)


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
    gaps = {
        datum: {
            value: apart(*(_history(_run(example, p, datum, value), what) for p in (True, False)))
            for value in values
        }
        for datum, values in OPEN[example].items()
    }
    others = {
        f"{datum.partition(' [')[0]} {value}": x
        for datum, found in gaps.items() for value, x in found.items()
        if changed(ARMS[example], OPEN[example][datum][value]) != changed(ARMS[example])
    }  # fmt: skip
    claims = [
        decide(_RESEMBLES, gap < CLOSE,
               f"off by {100 * gap:.2g} % of the range over {T_END:g} s; {100 * CLOSE:.0f} % is "
               "taken for close"),
        undecidable("the values of the curve", ", ".join(OPEN[example]) + ", inputs' values"),
    ]  # fmt: skip
    said = "distance of both curves, of the range"
    missing = [
        Missing(datum, said, tuple(found), tuple(found.values()), CLOSE, (_RESEMBLES,))
        for datum, found in gaps.items()
    ]
    if example == 1:
        claims.insert(1, _still_close(others))
        missing.append(
            Missing("which parameters were changed, and to what", said, tuple(others),
                    tuple(others.values()), CLOSE, (_CONTINUES,))
        )  # fmt: skip
    labels = {True: "one point per element", False: "consistent mass matrix"}
    rows = tuple((name, f"{100 * x:.3g}") for name, x in {SAMPLE: gap, **others}.items())
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
    mass, stiff = matrices(build(changed(ARMS[example])), paper)
    rigid = 2  # joints, which no spring holds
    squares = scipy.linalg.eigh((stiff + stiff.T) / 2, mass, eigvals_only=True)
    return tuple(float(x) for x in np.sqrt(squares[rigid : rigid + 2]) / (2 * np.pi))


def _still_close(others: dict[str, float]) -> Claim:
    return decide(
        _CONTINUES,
        max(others.values()) < CLOSE,
        f"off by at most {100 * max(others.values()):.2g} % of the range in {len(others)} cases; "
        f"{100 * CLOSE:.0f} % is taken for a match",
    )


def inputs(example: int) -> Found:
    """Draw the inputs, and show how far the motion depends on what is in figures only."""
    arm = changed(ARMS[example])
    first, second = INPUTS[example]
    units = {1: "m" if example == 1 else "rad", 2: "rad"}
    missing = []
    for link, unit in units.items():
        key = f"links.{link}.joint.input"
        profile = given(arm, key)
        tried = {
            "amplitude": {f: {f"{key}.amplitude": f * profile["amplitude"]} for f in FACTORS},
            "switching times": {
                f: {f"{key}.times": [f * t for t in profile["times"]]} for f in (0.5, 1.0, 1.5)
            },
        }
        missing += [
            Missing(f"{datum} of the input of joint {link}, of the sample's",
                    f"range of joint {link} [{unit}]", tuple(values),
                    tuple(_travel(example, link, change) for change in values.values()))
            for datum, values in tried.items()
        ]  # fmt: skip
    rest = {k: axis.partition(" ")[2].strip("[]") for k, (_, axis) in enumerate((first, second), 1)}
    return Found(
        (two_valued(arm, (1, 2)),
         undecidable("the values of the inputs", "amplitudes and switching times")),
        Difference(None, "no numbers in the paper's text"),
        tables=(input_table(arm, rest),),
        figures=tuple(input_figure(title, axis, arm, k)
                      for k, (title, axis) in enumerate((first, second), 1)),
        missing=tuple(missing),
        because="The inputs are in figures only, the text has no values.",
    )  # fmt: skip


def _travel(example: int, link: int, values: Mapping[str, Any]) -> float:
    """Measure the range of a joint with an input changed [m or rad]."""
    run = simulate(changed(ARMS[example], values), t_end=T_END, dt=DT)
    return float(np.ptp(column(run, f"joint{link}")))


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
    *MATRIX_ITEMS,
)  # fmt: skip
