"""Chu et al., section 4: the experiment, of which the text has one number and no data.

The arm of example 1 stands in for the prototype, which has the same joints.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from flexarm.arm import Arm
from flexarm.arm.profile import BangBang
from flexarm.formulations import DEFAULT
from flexarm.integrate.simulate import simulate
from flexarm.links.base import Array
from flexarm.model.profiles import breakpoints, evaluate
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
from flexarm.papers.runs import apart, changed, column
from flexarm.runs.run import Run

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
    "motor inertia at joint 2": "links.2.joint.hub.outboard.inertia",
}
_MATCH_EACH = "the curves by the proposed and the previous method both match, and so each other"
MORE = {"motor inertia at joint 2": (0.5, 1.0, 2.0, 5.0)}  # factors, where not FACTORS


@cache
def _run(datum: str, factor: float, paper: bool = False) -> Run:
    """Simulate the stand-in with one datum changed, by the consistent or the paper's M."""
    values: Mapping[str, Any] = {}
    if datum:
        key = TRIED[datum]
        value = given(changed(ARM), key)
        values = {key: [factor * x for x in value] if isinstance(value, list | tuple)
                  else factor * value}  # fmt: skip
    kind = "element-jacobian" if paper else DEFAULT
    return simulate(changed(ARM, values), formulation=kind, t_end=T_END, dt=DT, paper=paper)


def given(arm: Arm, key: str) -> Any:
    """Pick a value of an arm by its key, such as ``links.1.joint.input``."""
    _, link, *inside = key.split(".")
    value = arm.model_dump()["links"][int(link) - 1]
    for name in inside:
        value = value[name]
    return value


def bang_bang(arm: Arm, link: int) -> tuple[Array, Array]:
    """Give the corners of a joint's bang-bang input: times [s] and values."""
    profile = getattr(arm.links[link - 1].joint, "input", None)
    assert isinstance(profile, BangBang)
    t = np.repeat([0.0, *breakpoints(profile), T_END], 2)
    y = [evaluate(profile, float(x))[0] for x in t[1:-1:2]]
    return t[1:-1], np.repeat(y, 2)


def input_figure(title: str, axis: str, arm: Arm, link: int) -> Figure:
    """Draw an input as it is used, and with the amplitudes that are tried."""
    t, y = bang_bang(arm, link)
    shown = tuple(curve(f"{factor:g} times the sample's", t, factor * y) for factor in FACTORS)
    return Figure(f"{title}; amplitudes are ours", "time [s]", axis, shown)


def input_table(arm: Arm, units: Mapping[int, str]) -> Table:
    """List the inputs as they are used, by link and unit."""
    rows = []
    for link, unit in units.items():
        profile = given(arm, f"links.{link}.joint.input")
        rows.append((f"joint {link} [{unit}]", f"{profile['amplitude']:g}",
                     ", ".join(f"{t:g}" for t in profile["times"]), "not in the text"))  # fmt: skip
    head = ("input", "amplitude", "begins, switches, ends [s]", "the paper's")
    return Table("Bang-bang inputs as used", head, tuple(rows))


def two_valued(arm: Arm, links: Sequence[int]) -> Claim:
    """Decide that inputs follow the bang-bang rule: one size, either sign."""
    sizes = [set(np.abs(bang_bang(arm, link)[1]).tolist()) - {0.0} for link in links]
    return decide(
        "bang-bang rule",
        all(len(each) == 1 for each in sizes),
        "the inputs used have one size each, " + ", ".join(f"{max(each):g}" for each in sizes),
        measured=False,
    )


def inputs(number: int) -> Found:
    """Draw an input of the experiment, and show how far the motion depends on its size."""
    datum, link, unit, axis = {
        17: ("amplitude of the force", 1, "m", "force [N]"),
        18: ("amplitude of the torque", 2, "rad", "torque [N m]"),
    }[number]
    ranges = [float(np.ptp(column(_run(datum, factor), f"joint{link}"))) for factor in FACTORS]
    arm = changed(ARM)
    name, _, rest = axis.partition(" ")
    return Found(
        (
            two_valued(arm, [link]),
            undecidable("the values of the input, turned into voltage and pulses for the motors",
                        "amplitude, switching times, data of motors and lead screw"),
        ),
        Difference(None, "no numbers in the paper's text"),
        tables=(input_table(arm, {link: rest.strip("[]")}),),
        figures=(input_figure(f"Fig. {number}: applied {name}", axis, arm, link),),
        missing=(_missing(datum, f"range of joint {link} [{unit}]", ranges),),
        because="The input is in a figure only; ours is that of the arm of example 1.",
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

    gaps = {name: [_methods_apart(history, name, x) for x in _factors(name)] for name in TRIED}
    size = [float(np.abs(history(_run("", 1.0, paper=x))).max()) for x in (True, False)]
    gap = _methods_apart(history, "", 1.0)
    return Found(
        (
            decide(_MATCH_EACH, gap < CLOSE,
                   f"on the arm of example 1 they are {100 * gap:.2g} % of the range apart; "
                   f"{100 * CLOSE:.0f} % is taken for a close match"),
            undecidable("shape and value of both closely match the experimental readings", DATA),
        ),
        Difference(gap, "rms difference of both methods over the range, arm of example 1; "
                   "readings are in a figure only"),
        tables=(Table("Largest deflection", ("method", "ours [m]", "the paper's"),
                      tuple((name, f"{x:.4g}", "not in the text") for name, x in
                            zip(("proposed", "previous"), size, strict=True))),),
        figures=(_figure(number, f"deflection {where}", "deflection [m]",
                         "bending stiffness of the link", history),),
        missing=tuple(
            _missing(name, "distance of both methods, of the range", found, CLOSE, (_MATCH_EACH,))
            for name, found in gaps.items()
        ),
    )  # fmt: skip


def _factors(datum: str) -> tuple[float, ...]:
    return MORE.get(datum, FACTORS)


def _methods_apart(history: History, datum: str, factor: float) -> float:
    """Measure how far both methods are apart on the stand-in, of the range."""
    if factor == 1.0:
        datum = ""
    return apart(*(history(_run(datum, factor, paper=paper)) for paper in (True, False)))


def _figure(number: int, title: str, axis: str, datum: str, history: History) -> Figure:
    shown = [
        curve(f"{datum} {factor:g} times", _run(datum, factor).t, history(_run(datum, factor)))
        for factor in FACTORS
    ]
    printed = _run("", 1.0, paper=True)
    shown.append(curve("one point per element", printed.t, history(printed)))
    return Figure(f"Fig. {number}: {title}, arm of example 1", "time [s]", axis, tuple(shown))


def _missing(
    datum: str,
    outcome: str,
    outcomes: list[float],
    limit: float | None = None,
    decides: tuple[str, ...] = (),
) -> Missing:
    return Missing(f"{datum}, of the sample's", outcome, _factors(datum), tuple(outcomes), limit,
                   decides)  # fmt: skip


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
