"""Chu et al., section 4: the experiment, of which the text has one number and no data.

The arm of example 1 stands in for the prototype, which has the same joints.
"""

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

import numpy as np

from flexarm.integrate.run import Run
from flexarm.links.base import Array
from flexarm.papers.base import (
    Claim,
    Difference,
    Figure,
    Found,
    Item,
    Missing,
    curve,
    decide,
    undecidable,
)
from flexarm.papers.runs import apart, changed, column, run_by

History = Callable[[Run], Array]
PAPER = "chu"
ARM = "chu-example-1"
T_END, DT = 3.0, 5e-3  # [s]
DEVIATION = 0.035  # between experiment and simulation in the steady state
CLOSE = 0.10  # of the range: what is taken for "closely match"
SECOND_NODE = 0.4  # of the link's length: the far node of element 2 of 5
DATA = "dimensions and material of the link, gear and lead-screw data, inputs, readings"
# What is missing, and values to try: of the sample's, 1 being the sample itself.
FACTORS = (0.5, 1.0, 2.0)
TRIED = {
    "mass per length of the link": "links.2.section.mass_per_length",
    "bending stiffness of the link": "links.2.section.EIz",
    "amplitude of the force": "links.1.joint.input.amplitude",
    "amplitude of the torque": "links.2.joint.input.amplitude",
}


@cache
def _run(datum: str, factor: float, paper: bool = False) -> Run:
    """Simulate the stand-in with one datum changed, by the consistent or the paper's M."""
    values: Mapping[str, Any] = {}
    if datum:
        key = TRIED[datum]
        _, link, *inside = key.split(".")
        value = changed(ARM).model_dump()["links"][int(link) - 1]
        for name in inside:
            value = value[name]
        values = {key: factor * value}
    kind = "element-jacobian" if paper else "articulated"
    return run_by(changed(ARM, values), kind, t_end=T_END, dt=DT, paper=paper)


def inputs(number: int) -> Found:
    """Show how far the motion depends on an input of the experiment, which is in a figure only."""
    datum, joint, unit = {
        17: ("amplitude of the force", "joint1", "m"),
        18: ("amplitude of the torque", "joint2", "rad"),
    }[number]
    runs = {factor: _run(datum, factor) for factor in FACTORS}
    missing = _missing(datum, f"range of {joint} [{unit}]",
                       [float(np.ptp(column(run, joint))) for run in runs.values()])  # fmt: skip
    return Found(
        (undecidable("bang-bang, turned into voltage and pulses for the motors",
                     "amplitude, switching times, data of motors and lead screw"),),
        Difference(None, "no numbers in the paper's text"),
        figures=(
            Figure(f"Fig. {number}: {joint} by the {datum}", "time [s]", f"{joint} [{unit}]",
                   tuple(curve(f"{f:g} times the sample's", run.t, column(run, joint))
                         for f, run in runs.items())),
        ),
        missing=(missing,),
    )  # fmt: skip


def joints(number: int) -> Found:
    """Show what the displacement of a joint at the end depends on, beside the printed 3.5 %."""
    joint, unit, data = {
        19: ("joint1", "m", ("amplitude of the force", "mass per length of the link")),
        20: ("joint2", "rad", ("amplitude of the torque", "mass per length of the link")),
    }[number]
    missing, known = [], []
    for datum in data:
        ends = [float(column(_run(datum, factor), joint)[-1]) for factor in FACTORS]
        missing.append(_missing(datum, f"{joint} at {T_END:g} s [{unit}]", ends))
        rate = abs(ends[2] - ends[0]) / abs(ends[1]) / (FACTORS[2] - FACTORS[0])
        known.append(f"the {datum} to {100 * DEVIATION / rate:.2g} %")
    return Found(
        (
            undecidable("experiment and simulation are about 3.5 % apart in the steady state",
                        DATA),
        ),
        Difference(None, f"{100 * DEVIATION:g} % is printed; readings are in a figure only"),
        figures=(_figure(number, f"displacement of {joint}", f"{joint} [{unit}]", data[1],
                         lambda run: column(run, joint)),),
        missing=tuple(missing),
        because="For a deviation of 3.5 % to mean something one would have to know "
        + " and ".join(known) + ".",
    )  # fmt: skip


def deflection(number: int) -> Found:
    """Show what a deflection of the link depends on, and whether both methods agree on it."""
    place, where = {
        21: (SECOND_NODE, "at the second node of element 2"),
        22: (1.0, "at the end effector"),
    }[number]

    def history(run: Run) -> Array:
        return np.asarray(run.along([place])["deflection"].sel(link="link2").values[:, 0, 1])

    missing = [
        _missing(datum, "largest deflection [m]",
                 [float(np.abs(history(_run(datum, f))).max()) for f in FACTORS])
        for datum in ("bending stiffness of the link", "mass per length of the link")
    ]  # fmt: skip
    return Found(
        (
            _both_methods(history),
            undecidable("shape and value closely match the readings", DATA),
        ),
        Difference(None, "readings are in a figure only"),
        figures=(_figure(number, f"deflection {where}", "deflection [m]",
                         "bending stiffness of the link", history),),
        missing=tuple(missing),
    )  # fmt: skip


def _both_methods(history: History) -> Claim:
    gap = apart(history(_run("", 1.0, paper=True)), history(_run("", 1.0)))
    return decide(
        "the proposed and the previous method both match, and so each other",
        gap < CLOSE,
        f"on the arm of example 1 they are {100 * gap:.2g} % of the range apart; "
        f"{100 * CLOSE:.0f} % is taken for a close match",
    )


def _figure(number: int, title: str, axis: str, datum: str, history: History) -> Figure:
    shown = [
        curve(f"{datum} {factor:g} times", _run(datum, factor).t, history(_run(datum, factor)))
        for factor in FACTORS
    ]
    printed = _run("", 1.0, paper=True)
    shown.append(curve("one point per element", printed.t, history(printed)))
    return Figure(f"Fig. {number}: {title}, arm of example 1", "time [s]", axis, tuple(shown))


def _missing(datum: str, outcome: str, outcomes: list[float]) -> Missing:
    return Missing(f"{datum}, of the sample's", outcome, FACTORS, tuple(outcomes))


_BANG = "Bang-bang inputs, turned into voltage and pulses for the motors."
_STEADY = "In the steady state experiment and simulation are about 3.5 % apart in magnitude."
_MATCH = "Shape and value of both simulations closely match the readings."
EXPERIMENT_ITEMS = (
    Item(PAPER, "fig-17", "Fig. 17: force of the experiment", _BANG, partial(inputs, 17)),
    Item(PAPER, "fig-18", "Fig. 18: torque of the experiment", _BANG, partial(inputs, 18)),
    Item(PAPER, "fig-19", "Fig. 19: prismatic joint in the experiment", _STEADY,
         partial(joints, 19)),
    Item(PAPER, "fig-20", "Fig. 20: revolute joint in the experiment", _STEADY,
         partial(joints, 20)),
    Item(PAPER, "fig-21", "Fig. 21: deflection at the second node of element 2", _MATCH,
         partial(deflection, 21)),
    Item(PAPER, "fig-22", "Fig. 22: deflection at the end effector", _MATCH,
         partial(deflection, 22)),
)  # fmt: skip
