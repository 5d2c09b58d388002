"""Chu et al.: motions by a mass matrix of element centres, beside those by the consistent one."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np

from flexarm.formulations import DEFAULT
from flexarm.integrate.batch.many import simulate_many
from flexarm.runs.run import Run
from flexarm.spatial import Array
from flexarm_papers.base import Figure, Found, Item, curve
from flexarm_papers.chu.cost import ARMS, cost
from flexarm_papers.chu.matrix import eq_18, joint_types, table_1
from flexarm_papers.readings import Choice, Grid, Reading, over, ways
from flexarm_papers.runs import changed, column, completed, discord
from flexarm_papers.verdicts import HISTORY, Kind, Statement, general, search, untested

PAPER = "chu"
DT, T_END = 5e-3, 3.0  # [s]: the text has no time axis
LENGTH = 0.3  # [m], of link 2 of example 2
HUB, NO_MOTOR = "links.{}.joint.hub.outboard.inertia", [0.0, 0.0, 0.0]
MOTOR, MOTORS = "motor inertia at joint 2", "motor inertia and start of joint 2"
TIMES, BENT, CHANGE = "inputs begin, switch, end", "deflection of the end effector", "changed"
OF_LINK, OF_BOTH = "of link 2", "of both links"
MASSES: dict[str, Mapping[str, Any]] = {
    f"{x:g} kg m^2": {HUB.format(2): [0.0, 0.0, x]} for x in (0.01, 0.05)
}
TURNED = {"links.2.joint.start.position": 1.0}


def _times() -> Choice:
    """Return the choice of the inputs' times, which only a figure shows."""
    some = ([0.0, 1.0, 2.0], [0.0, 0.5, 1.0], [0.0, 0.3, 0.6])
    return Choice(TIMES, {
        ", ".join(f"{t:g}" for t in x) + " s":
        {f"links.{k}.joint.input.times": x for k in (1, 2)} for x in some
    })  # fmt: skip


STIFFNESS = over(  # a strip of 3 by 30 mm, one half as stiff, a square
    "bending stiffness of link 2", "links.2.section.EIz", (13.5, 6.75, 135.0), "{:g} N m^2"
)
GRIDS = {
    1: Grid((
        _times(),
        over("force and torque", "links.2.joint.input.amplitude", (0.1, -1.0), "1 N, {:g} N m"),
        Choice(MOTOR, {**MASSES, "none, 50 g at the tip": {
            HUB.format(2): NO_MOTOR, "payload": {"mass": 0.05},
        }}),
        STIFFNESS,
        # gravity along a slide that is free would let the arm fall as it is
        Choice("slide, and gravity in the plane", {
            "across link 2, none": {},
            "across link 2, along it": {"gravity": [9.81, 0.0, 0.0]},
            "along link 2, none": {"links.1.joint.axis": [1.0, 0.0, 0.0]},
            "along link 2, across it": {
                "links.1.joint.axis": [1.0, 0.0, 0.0], "gravity": [0.0, -9.81, 0.0],
            },
        }),
    ), ((MOTOR, TIMES, STIFFNESS.name),)),
    2: Grid((
        _times(),
        over("torques", "links.2.joint.input.amplitude", (0.005, -0.05), "0.05, {:g} N m"),
        Choice(MOTORS, {
            **{f"{name}, 0 rad": x for name, x in MASSES.items()},
            "0.01 kg m^2, 1 rad": TURNED,
            # M is regular where the arm is not straight; none at joint 1 either
            "none, 1 rad": {**TURNED, **{HUB.format(k): NO_MOTOR for k in (1, 2)}},
        }),
        Choice("gravity", {
            "none, a horizontal plane": {}, "in the plane": {"gravity": [0.0, -9.81, 0.0]},
        }),
        Choice("material", {
            name: {f"links.{k}.section.material": {"E": E, "density": density} for k in (1, 2)}
            for name, E, density in (("steel", 200e9, 7850.0), ("aluminium", 70e9, 2700.0))
        }),
        Choice("thickness, area as given", {
            f"{1e3 * x:.3g} mm": {
                f"links.{k}.section.shape": {"kind": "rectangle", "width": x, "height": 3e-5 / x}
                for k in (1, 2)
            }
            for x in (1e-3, 5e-4, 2e-3, 3e-5**0.5)
        }),
    ), ((MOTORS, TIMES), ("material", "thickness, area as given"))),
}  # fmt: skip
# Of example 2's end effector link 1 has a part, too.
TIPS = Grid((*GRIDS[2].choices, ways(BENT, OF_LINK, OF_BOTH)),
            (*GRIDS[2].together, (BENT, MOTORS, TIMES)))  # fmt: skip
PARAMETERS: dict[str, dict[str, Any]] = {
    "link 2 of 0.8 m": {"links.2.length": 0.8},
    "link 2 of 1 kg/m": {"links.2.section.mass_per_length": 1.0},
    "link 1 of 4 kg": {"links.1.section.mass_per_length": 20.0},
    "4 elements": {"links.2.shapes.bending_y": 4},
}
# Figure: quantity, title, axis.
FIGURES = {
    6: ("joint1", "displacement of the prismatic joint", "position [m]"),
    7: ("joint2", "displacement of the revolute joint", "angle [rad]"),
    8: ("deflection", "deflection at the end effector", "deflection [m]"),
    12: ("joint1", "displacement of joint 1", "angle [rad]"),
    13: ("joint2", "displacement of joint 2", "angle [rad]"),
    14: ("deflection", "deflection at the end effector", "deflection [m]"),
    15: ("slope", "slope at the end effector", "slope [rad]"),
}
EXAMPLES = {1: (6, 7, 8), 2: (12, 13, 14, 15)}
LABELS = {True: "one point per element", False: "consistent mass matrix"}
DRAWN = (7, 8, 12, 14)
RUNS: dict[int, dict[Reading, tuple[Run, Run]]] = {1: {}, 2: {}}  # by example


def _simulated(example: int, readings: list[Reading]) -> Iterable[tuple[Run, Run]]:
    """Simulate an example by the paper's mass matrix and by the consistent one."""
    arm = changed(ARMS[example])
    parameters = [
        GRIDS[example].changes(x) | PARAMETERS.get(dict(x.taken).get(CHANGE, ""), {})
        for x in readings
    ]
    both = [
        simulate_many(arm, t_end=T_END, dt=DT, parameters=parameters, paper=paper,
                      allow_long=True, formulation="element-jacobian" if paper else DEFAULT)
        for paper in (True, False)
    ]  # fmt: skip
    return zip(*both, strict=True)


def _runs(example: int, reading: Reading) -> tuple[Run, Run]:
    return RUNS[example][reading.without(BENT)]


def history(run: Run, what: str, reading: Reading) -> Array:
    """Return what a figure shows, (T,); of a deflection or slope also what link 1 adds to it."""
    if what.startswith("joint"):
        return column(run, what)
    along = run.along([1.0])
    own = np.asarray(along[what].sel(link="link2").values[:, 0, 1])
    if (BENT, OF_BOTH) not in reading.taken:
        return own
    moved, turned = (along[x].sel(link="link1").values[:, 0, 1] for x in ("deflection", "slope"))
    carried = moved * np.cos(column(run, "joint2")) + LENGTH * turned
    return np.asarray(own + (turned if what == "slope" else carried))


def distance(example: int, number: int, reading: Reading) -> float:
    """Return the distance of the curves by both mass matrices [%]; NaN if one did not go on."""
    both = _runs(example, reading)
    if any(run.status != "finished" for run in both):
        return np.nan
    one, other = (history(run, FIGURES[number][0], reading) for run in both)
    return 100 * discord(one, other)


def resemblance(example: int) -> Found:
    """Compare the figures of an example between both mass matrices."""
    readings = GRIDS[example].readings()
    completed(RUNS[example], readings, partial(_simulated, example))
    statements: list[Statement] = []
    figures = []
    for k in EXAMPLES[example]:
        what, title, axis = FIGURES[k]
        seen = TIPS.readings() if k in (14, 15) else readings
        statements.append(search(
            f"Fig. {k}: the curve of the {title} closely resembles that of the previous methods",
            f"section 3.{example}", HISTORY, seen, partial(distance, example, k),
        ))  # fmt: skip
        if k in DRAWN:
            pair = zip((True, False), _runs(example, readings[0]), strict=True)
            figures.append(Figure(
                f"Fig. {k}: {title}", "time [s]", axis,
                tuple(curve(LABELS[paper], run.t, history(run, what, readings[0]))
                      for paper, run in pair), reading=str(readings[0]),
            ))  # fmt: skip
    added = {
        1: "The text has no motor inertia or payload, without which M of eq. 25 is singular while "
        "link 2 is straight.",
        2: "The text has no motor inertia, without which M of eq. 25 is singular while the arm is "
        "straight.",
    }
    text = f"{added[example]} Both mass matrices are run with an added one. Joints agree for " \
        "longer than deflections, whose frequencies differ."  # fmt: skip
    if example == 1:
        statements.append(_other_parameters())
        text += f" Changed parameters: {', '.join(PARAMETERS)}."
    return Found(tuple(statements), figures=tuple(figures), text=text)


def _other_parameters() -> Statement:
    """Compare the figures of example 1 with each of some parameters changed."""
    first = GRIDS[1].first
    cases = {}
    for reading in GRIDS[1].readings():
        if reading[TIMES] == first[TIMES]:
            varied = [f"{name} = {way}" for name, way in reading.taken if way != first[name]]
            for change in PARAMETERS:
                cases["; ".join([change, *varied])] = reading.taking({CHANGE: change})
    completed(RUNS[1], cases.values(), partial(_simulated, 1))
    return general(
        "the curves of Figs. 6 to 8 match well even when the parameters of the robot are changed",
        "section 3.1", Kind(HISTORY.name, f"largest {HISTORY.number} of the three", HISTORY.limit),
        {name: max(distance(1, k, x) for k in EXAMPLES[1]) for name, x in cases.items()},
    )  # fmt: skip


def experiment() -> Found:
    """Return the statements about the experiment, whose data the text does not have."""
    data = "dimensions, material, drives, inputs and readings of the experiment"
    return Found((
        untested("experiment and simulation are about 3.5 % apart in the steady state",
                 "section 4", data, printed="3.5 %"),
        untested("the curves by both methods closely match the experimental readings",
                 "section 4", data),
    ))  # fmt: skip


ITEMS = (
    Item(PAPER, "eq-18", "Eq. 18: one point per element", eq_18),
    Item(PAPER, "joint-types", "Section 2: three types of joint", joint_types),
    Item(PAPER, "example-1", "Figs. 6-8: a slide and a flexible link", partial(resemblance, 1),
         "example 1"),
    Item(PAPER, "example-2", "Figs. 12-15: two flexible links", partial(resemblance, 2),
         "example 2"),
    Item(PAPER, "table-1", "Table 1: forms of the mass matrix", table_1),
    Item(PAPER, "cost", "Cost of forming the mass matrix", cost),
    Item(PAPER, "experiment", "Figs. 19-22: the experiment", experiment),
)  # fmt: skip
