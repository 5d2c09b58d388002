"""Chu et al.: motions by a mass matrix of element centres, beside those by the consistent one."""

import math
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np

from flexarm.formulations import DEFAULT
from flexarm.integrate.batch.many import simulate_many
from flexarm.runs.run import Run
from flexarm.spatial import Array
from flexarm_papers.base import Figure, Found, Item, closed, curve
from flexarm_papers.chu.cost import ARMS
from flexarm_papers.chu.matrix import MATRIX_ITEMS, PAPER
from flexarm_papers.readings import Choice, Grid, Reading, Scope, over, ways
from flexarm_papers.runs import bounds, changed, column, completed, discord, farthest
from flexarm_papers.statements import EVERY, Check, Limit, Statement, search, together, undecidable

DT, T_END = 5e-3, 3.0  # [s]: the text has no time axis
WINDOW = round(0.5 / DT) | 1  # samples that see the slowest vibration of both examples whole
UNTIL, WHOLE, INPUT = "compared", "over 3 s", "while there is an input"
CLOSE = Limit(high=20.0, unit="%")  # "close resemblance", "closely match"; a flat line has 100 %
VERY_SMALL = Limit(high=3.5, unit="%")  # what section 4 calls so, of joints in the experiment
LENGTH = 0.3  # [m], of link 2 of example 2
SECOND_NODE = 0.4  # of the link's length: the far node of element 2 of 5
RMS, LARGEST, SIZE = ("rms over the spread", "largest over half the range",
                      "largest and least within 0.5 s")  # fmt: skip
DAMPING, INPUTS, MEASURE = "damping of the links", "inputs begin, switch, end", "difference"
GRAVITY, MATERIAL, THICKNESS = "gravity", "material", "thickness, area as given"
SLIDE = "slide, and gravity in the plane"
HUB, NO_MOTOR = "links.{}.joint.hub.outboard.inertia", [0.0, 0.0, 0.0]
MOTOR, MOTORS = "motor inertia at joint 2", "motor inertia and start of joint 2"
FORCE, TORQUES = "force and torque", "torques"
BENT, ALL_BENT = "deflection of the end effector", "of both links"
TIMES = {", ".join(f"{t:g}" for t in times) + " s": times
         for times in ([0.0, 1.0, 2.0], [0.0, 0.5, 1.0], [0.0, 0.3, 0.6])}  # fmt: skip


def _shared(links: tuple[int, ...]) -> tuple[Choice, ...]:
    """Give what both examples leave open alike: input times, measure; and damping."""
    damped = {f"links.{k}.damping": 0.01 for k in links}
    return (
        Choice(DAMPING, {"none": {}, "1 %": damped}, {"1 %": "eq. 7 has no damping"}),
        Choice(INPUTS, {name: {f"links.{k}.joint.input.times": times for k in (1, 2)}
                        for name, times in TIMES.items()}),
        ways(MEASURE, RMS, LARGEST, SIZE),
        ways(UNTIL, WHOLE, INPUT),
    )  # fmt: skip


def _sizes(name: str, first: str, *torques: float) -> Choice:
    """Choose the second input, the first being what it is."""
    key = "links.2.joint.input.amplitude"
    return Choice(name, {f"{first}, {x:g} N m": {key: x} for x in torques})


LOOKED = (MEASURE, UNTIL)  # what changes no run
# a strip of 3 by 30 mm, one half as stiff, a square
STIFFNESS = over(
    "bending stiffness of link 2", "links.2.section.EIz", (13.5, 6.75, 135.0), "{:g} N m^2"
)
TURNED = {"links.2.joint.start.position": 1.0}
MASSES: dict[str, Mapping[str, Any]] = {
    f"{x:g} kg m^2": {HUB.format(2): [0.0, 0.0, x]} for x in (0.01, 0.05)
}
GRIDS = {
    1: Grid((
        *_shared((2,)),
        _sizes(FORCE, "1 N", 0.1, -1.0),
        Choice(MOTOR, MASSES | {
            "none, 50 g at the tip": {HUB.format(2): NO_MOTOR, "payload": {"mass": 0.05}},
        }),
        STIFFNESS,
        # gravity along a slide that is free would let the arm fall as it is
        Choice(SLIDE, {
            "across link 2, none": {},
            "across link 2, along it": {"gravity": [9.81, 0.0, 0.0]},
            "along link 2, none": {"links.1.joint.axis": [1.0, 0.0, 0.0]},
            "along link 2, across it": {
                "links.1.joint.axis": [1.0, 0.0, 0.0], "gravity": [0.0, -9.81, 0.0],
            },
        }),
    ), ((DAMPING, MEASURE), (*LOOKED, FORCE),
        *((MOTOR, *LOOKED, name) for name in (INPUTS, STIFFNESS.name, SLIDE)))),
    2: Grid((
        *_shared((1, 2)),
        _sizes(TORQUES, "0.05", 0.005, -0.05),
        Choice(MOTORS, {f"{name}, 0 rad": x for name, x in MASSES.items()} | {
            "0.01 kg m^2, 1 rad": TURNED,
            # M is regular where the arm is not straight; none at joint 1 either
            "none, 1 rad": TURNED | {HUB.format(k): NO_MOTOR for k in (1, 2)},
        }),
        Choice(GRAVITY, {
            "none, a horizontal plane": {}, "in the plane": {"gravity": [0.0, -9.81, 0.0]},
        }),
        Choice(MATERIAL, {
            name: {f"links.{k}.section.material": {"E": E, "density": density} for k in (1, 2)}
            for name, E, density in (("steel", 200e9, 7850.0), ("aluminium", 70e9, 2700.0))
        }),
        Choice(THICKNESS, {
            f"{1e3 * x:.3g} mm": {
                f"links.{k}.section.shape": {"kind": "rectangle", "width": x, "height": 3e-5 / x}
                for k in (1, 2)
            }
            for x in (1e-3, 5e-4, 2e-3, 3e-5**0.5)
        }),
    ), ((DAMPING, MEASURE), (*LOOKED, TORQUES), (MOTORS, *LOOKED, INPUTS), (GRAVITY, THICKNESS),
        (MATERIAL, THICKNESS, *LOOKED), (DAMPING, MATERIAL, THICKNESS))),
}  # fmt: skip
# Of example 2's end effector link 1 has a part, too.
TIPS = Grid((*GRIDS[2].choices, ways(BENT, "of link 2", ALL_BENT)),
            (*GRIDS[2].together, (BENT, MOTORS, *LOOKED)))  # fmt: skip
# What the paper lists as parameters of example 1: these are changed, and are no readings.
PARAMETERS: dict[str, dict[str, Any]] = {
    "link 2 of 0.8 m": {"links.2.length": 0.8},
    "link 2 of 1 kg/m": {"links.2.section.mass_per_length": 1.0},
    "link 1 of 4 kg": {"links.1.section.mass_per_length": 20.0},
    "4 elements": {"links.2.shapes.bending_y": 4},
    # of a section that keeps its form EI goes with the square of the area
    "section of 1.2e-4 m^2": {"links.2.section.EIz": 13.5 * (12 / 9) ** 2},
}
CHANGE = "parameter changed"
CHANGED = Grid((*GRIDS[1].choices[:4], GRIDS[1].choices[5]),
               ((DAMPING, MEASURE), (MOTOR, *LOOKED)))  # fmt: skip

# Figure: example, quantity, place on link 2, title, axis.
FIGURES = {
    6: (1, "joint1", 1.0, "displacement of the prismatic joint", "position [m]"),
    7: (1, "joint2", 1.0, "displacement of the revolute joint", "angle [rad]"),
    8: (1, "deflection", 1.0, "deflection at the end effector", "deflection [m]"),
    12: (2, "joint1", 1.0, "displacement of joint 1", "angle [rad]"),
    13: (2, "joint2", 1.0, "displacement of joint 2", "angle [rad]"),
    14: (2, "deflection", 1.0, "deflection at the end effector", "deflection [m]"),
    15: (2, "slope", 1.0, "slope at the end effector", "slope [rad]"),
    21: (1, "deflection", SECOND_NODE, "deflection at the second node of element 2",
         "deflection [m]"),
    22: (1, "deflection", 1.0, "deflection at the end effector, experiment", "deflection [m]"),
}  # fmt: skip
LABELS = {True: "one point per element", False: "consistent mass matrix"}
ADDED = {
    1: "The text has no motor inertia and no payload; without either M by one point per element is "
    "singular while link 2 is straight (item `deficiency`): both mass matrices are run with one "
    "that is ours.",
    2: "The text has no motor inertia; without it M by one point per element is singular while the "
    "arm is straight: both mass matrices are run with one that is ours, or with none and joint 2 "
    "bent from the start.",
}
DATA = "dimensions, material, gear and lead-screw data, inputs and readings of the experiment"


RUNS: dict[int, dict[Reading, tuple[Run, Run]]] = {1: {}, 2: {}}  # by example


def _runs(example: int, readings: list[Reading]) -> Iterable[tuple[Run, Run]]:
    """Simulate an example by the paper's mass matrix and by the consistent one, for readings."""
    arm = changed(ARMS[example])
    parameters = [
        GRIDS[example].changes(reading) | PARAMETERS.get(dict(reading.taken).get(CHANGE, ""), {})
        for reading in readings
    ]
    both = [
        simulate_many(arm, t_end=T_END, dt=DT, parameters=parameters, paper=paper,
                      allow_long=True, formulation="element-jacobian" if paper else DEFAULT)
        for paper in (True, False)
    ]  # fmt: skip
    return zip(*both, strict=True)


def _found(example: int, readings: list[Reading]) -> dict[Reading, tuple[Run, Run]]:
    """Simulate readings, each motion once however it is measured."""
    moved = {reading: _moved(example, reading) for reading in readings}
    once = completed(RUNS[example], moved.values(), partial(_runs, example))
    return {reading: once[key] for reading, key in moved.items()}


def _moved(example: int, reading: Reading) -> Reading:
    first = GRIDS[example].first
    return first.taking(dict(reading.taken) | {x: first[x] for x in LOOKED}).without(BENT)


def history(run: Run, what: str, place: float = 1.0, *, reading: Reading | None = None) -> Array:
    """Pick what a figure shows, (T,); of a deflection or slope also what link 1 adds to it."""
    if what.startswith("joint"):
        return column(run, what)
    along = run.along([place])
    own = np.asarray(along[what].sel(link="link2").values[:, 0, 1])
    if reading is None or (BENT, ALL_BENT) not in reading.taken:
        return own
    moved, turned = (along[x].sel(link="link1").values[:, 0, 1] for x in ("deflection", "slope"))
    carried = moved * np.cos(column(run, "joint2")) + LENGTH * turned
    return np.asarray(own + (turned if what == "slope" else carried))


def difference(reading: Reading, both: tuple[Run, Run], what: str, place: float = 1.0) -> float:
    """Measure how far both mass matrices are apart [%]; no number if one did not go on."""
    if any(run.status != "finished" for run in both):
        return math.nan
    end = TIMES[reading[INPUTS]][-1] if reading[UNTIL] == INPUT else T_END
    pair = [history(x, what, place, reading=reading)[x.t < end + DT / 2] for x in both]
    if reading[MEASURE] == SIZE:
        pair = [bounds(y, WINDOW) for y in pair]
    return 100 * (farthest if reading[MEASURE] == LARGEST else discord)(*pair)


def _grid(number: int) -> Grid:
    return TIPS if number in (14, 15) else GRIDS[FIGURES[number][0]]


def resemblance(number: int, scope: Scope) -> Statement:
    """Decide whether both curves of a figure are close."""
    example, what, place, _, _ = FIGURES[number]
    readings = _grid(number).readings(scope)
    found = _found(example, readings)
    return search("close resemblance to the curve of the previous methods", readings,
                  lambda x: difference(x, found[x], what, place), CLOSE,
                  "distance of the curves by both mass matrices")  # fmt: skip


def figure(number: int, scope: Scope) -> Found:
    """Compare one quantity between the paper's mass matrix and the consistent one."""
    example, what, place, title, axis = FIGURES[number]
    readings, decided = _grid(number).readings(scope), resemblance(number, scope)
    found = _found(example, readings)
    near = min(decided.tried, key=lambda each: CLOSE.miss(each.value))
    shown = {readings[0]: "", near.reading: "; the nearest of all"}
    figures = tuple(
        Figure(f"Fig. {number}: {title}", "time [s]", axis,
               tuple(curve(LABELS[paper], run.t, history(run, what, place, reading=each))
                     for paper, run in zip((True, False), found[each], strict=True)),
               reading=f"{each}{more}")
        for each, more in shown.items()
    )  # fmt: skip
    if number < 20:
        small = sum(VERY_SMALL.holds(each.value) for each in decided.tried)
        return Found((decided,), figures=figures, because=f"{ADDED[example]} {small} of "
                     f"{len(decided.tried)} readings are within the 3.5 % that section 4 "
                     "calls very small.")  # fmt: skip
    measured = undecidable("shape and value of the curves by both methods closely match the "
                           "experimental readings", DATA)  # fmt: skip
    check = Check(
        "both methods closely match each other for every reading, on the arm of example 1",
        decided.verdict == EVERY,
        f"{decided.sentence} {decided.note} {decided.ours}",
    )
    return Found((measured,), figures=figures, checks=(check,))


def figures(scope: Scope) -> Found:
    """Judge as one what the paper says in one sentence of the figures of each example."""
    some = {"Figs. 6-8": (6, 7, 8), "Figs. 12-15": (12, 13, 14, 15)}
    return Found(tuple(together(f"close resemblance to the curves of the previous methods, {name}",
                                [resemblance(k, scope) for k in numbers])
                       for name, numbers in some.items()),
                 because=" ".join(ADDED.values()))  # fmt: skip


def parameters(scope: Scope) -> Found:
    """Compare all three quantities of example 1 with its parameters changed."""
    readings = CHANGED.readings(scope)
    cases = {x: [Reading((*x.taken, (CHANGE, way))) for way in PARAMETERS] for x in readings}
    found = _found(1, [case for some in cases.values() for case in some])

    def worst(reading: Reading) -> float:
        each = [difference(x, found[x], FIGURES[k][1]) for x in cases[reading] for k in (6, 7, 8)]
        return float(np.max(each))  # no number if one is none

    said = "the curves continue to match well even when the parameters of the robot are changed"
    of = "largest distance in Figs. 6 to 8, with each of five changes"
    because = f"Changed, one at a time: {', '.join(PARAMETERS)}.  {ADDED[1]}"
    return Found((search(said, readings, worst, CLOSE, of),), because=because)


def steady() -> Found:
    """Leave the 3.5 % of the experiment open: nothing of it is at hand."""
    says = "experiment and simulation are about 3.5 % apart in the steady state"
    return Found((undecidable(says, DATA, printed="3.5 %"),))


def _item(number: int) -> Item:
    title = FIGURES[number][3]
    return Item(PAPER, f"fig-{number}", f"Fig. {number}: {title}", partial(figure, number),
                _grid(number))  # fmt: skip


ITEMS = (
    *(_item(k) for k in (6, 7, 8)),
    Item(PAPER, "parameters", "Figs. 6-8 with other parameters", parameters, CHANGED),
    *(_item(k) for k in (12, 13, 14, 15)),
    Item(PAPER, "figures", "Figs. 6-8, and 12-15, together", figures,
         Grid(tuple({x.name: x for x in (*GRIDS[1].choices, *TIPS.choices)}.values()))),
    Item(PAPER, "fig-19", "Fig. 19: prismatic joint in the experiment", closed(steady)),
    Item(PAPER, "fig-20", "Fig. 20: revolute joint in the experiment", closed(steady)),
    *(_item(k) for k in (21, 22)),
    *MATRIX_ITEMS,
)  # fmt: skip
