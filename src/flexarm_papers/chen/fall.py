"""Chen, Zhang & Liu 2012: the fall of a two-link spatial arm with rigid and elastic joints."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import NamedTuple

import numpy as np

from flexarm.arm import Arm
from flexarm.integrate.batch.many import simulate_many
from flexarm.io.overrides import change_arm
from flexarm.linear.equilibrium import Equilibrium, equilibrium
from flexarm.model import build
from flexarm.runs.run import Run
from flexarm.spatial import Array
from flexarm_papers.base import Figure, Found, Item, curve
from flexarm_papers.readings import Choice, Grid, Reading, Scope, ways
from flexarm_papers.runs import apart, changed, completed, simulate, tip_deflection
from flexarm_papers.statements import Check, Limit, Statement, search, together, undecidable

PAPER = "chen-2012"
OBVIOUS = Limit(low=1.2, unit="times")  # "increases obviously"
PRONOUNCED = Limit(low=1.05, unit="times")  # "more pronounced", as much as a figure shows
SIGNIFICANT = Limit(low=10.0, unit="%")  # of the range
SMALL = Limit(high=0.1, unit="rad")  # "a small range"; sine and angle differ by 0.2 %
COUPLED = Limit(low=0.01, unit="%")  # of the range: "there exists"; found: 0.05 or more
MIDDLE = Limit(high=25.0, unit="%")  # of the range: at the equilibrium position
GROWS = Limit(low=1.0, unit="times")
NO_LINEAR = (
    "a linear vibration to compare with (from equations that are linear about the start the fall "
    "differs by how gravity turns with the arm, stiff or not)"
)
T_END, DT = 8.0, 2e-3  # [s]; the paper does not say for how long

# Sample, and what it is called, by whether its joints are elastic.
ARMS = {False: "chen-two-link-rigid-joints", True: "chen-two-link"}
JOINTS = {False: "rigid joints", True: "elastic joints"}
START, LASTING, PLANE, EQUATIONS = "start", "duration", "direction Z", "equations"
STRAIGHT, HELD = "links straight, springs relaxed", "at rest, held by its motors"
PRINTED, INERTIA, ACROSS = "the paper's", "J_x of 15.41", "across the plane of the fall"
DURATIONS = {f"{t:g} s": t for t in (2.0, 1.0, 4.0, 8.0)}
BOTH = (1, 2)  # links
AXIS, TEN = "axis of joint 2", "ten modes: y, z, torsion, stretch"
CROSSED = (START, LASTING, PLANE, INERTIA, AXIS)  # choices whose runs are quick
GRID = Grid((
    ways(START, HELD, STRAIGHT),
    ways(LASTING, *DURATIONS),
    ways(PLANE, ACROSS, "in the plane of the fall"),
    Choice(INERTIA, {
        "of the whole link": {},
        "per length": {f"links.{k}.section.Jx": 15.41 for k in BOTH},
    }),
    Choice(AXIS, {"z": {}, "y": {"links.2.joint.axis": [0.0, 1.0, 0.0]}}),
    Choice(TEN, {
        "3, 3, 2, 2": {},
        "4, 4, 1, 1": {f"links.{k}.shapes.{name}": n for k in BOTH for name, n in (
            ("bending_y", 4), ("bending_z", 4), ("torsion", 1), ("stretch", 1))},
    }),
    ways(EQUATIONS, "complete", PRINTED),
), (CROSSED, (START, LASTING, EQUATIONS), (START, LASTING, TEN)))  # fmt: skip
RANGE, REST = "range", "equilibrium position"
SHARES = {"from least to largest": 100.0, "of the middle 99 % of the time": 99.0}
NO_TWIST, AT_REST = "no twist", "twist of the arm at rest"
INCREASES = "increases from"
PARTS = {"the first third to the last": 3, "the first half to the last": 2}


def more(choice: Choice) -> Grid:
    """Add a choice that changes no run, varied together with those that do."""
    return Grid((*GRID.choices, choice), tuple((*names, choice.name) for names in GRID.together))


RANGES, MIDDLES = more(ways(RANGE, *SHARES)), more(ways(REST, NO_TWIST, AT_REST))
GROWN = more(ways(INCREASES, *PARTS))
# Item: quantity, title, axis.
QUANTITIES = {
    "fig-4": ("twist", "Fig. 4: torsional angle of link 1", "twist [rad]"),
    "fig-5": ("z", "Fig. 5: flapwise deformation of link 2's tip", "deflection along z [m]"),
    "longitudinal": ("x", "longitudinal deformation of link 2's tip", "deflection along x [m]"),
    "chordwise": ("y", "chordwise deformation of link 2's tip", "deflection along y [m]"),
}
DEFORMATIONS = ("fig-5", "longitudinal", "chordwise")


class Pair(NamedTuple):
    """A quantity of two falls over time: with rigid and with elastic joints."""

    t: Array
    rigid: Array
    elastic: Array


RUNS: dict[tuple[bool, bool], dict[Reading, Run]] = {}  # by elastic joints, printed equations


def falls(elastic: bool, readings: Iterable[Reading], printed: bool = False) -> dict[Reading, Run]:
    """Let the arm fall, for readings that differ in more than what is looked at."""

    def compute(missing: list[Reading]) -> Sequence[Run]:
        if printed:  # one by one: many together keep parameters open, which takes longer to trace
            return [simulate(
                change_arm(changed(ARMS[elastic]), GRID.changes(x)), t_end=T_END, dt=DT, paper=True,
                start="stated" if x[START] == STRAIGHT else held(elastic, _key(x)),
                formulation="recursive-lagrange", allow_long=True,
            ) for x in missing]  # fmt: skip
        starts = [{} if x[START] == STRAIGHT else named(elastic, _key(x)) for x in missing]
        return simulate_many(
            changed(ARMS[elastic]), t_end=T_END, dt=DT, starts=starts, allow_long=True,
            parameters=[GRID.changes(reading) for reading in missing],
        )  # fmt: skip

    return completed(RUNS.setdefault((elastic, printed), {}), readings, compute)


def _key(reading: Reading) -> Reading:
    """Leave out what does not change the arm at rest."""
    return reading.without(START, LASTING, PLANE, EQUATIONS, INERTIA)


def _arm(elastic: bool, key: Reading) -> Arm:
    return change_arm(changed(ARMS[elastic]), GRID.changes(GRID.first.taking(dict(key.taken))))


@cache
def held(elastic: bool, key: Reading) -> Equilibrium:
    """Find the arm at rest, its motors held: links bent and springs wound by the weight."""
    return equilibrium(_arm(elastic, key))


def named(elastic: bool, key: Reading) -> dict[str, float]:
    """Give the coordinates of the arm at rest, by name."""
    found = held(elastic, key).point.q
    return dict(zip(build(_arm(elastic, key)).names, found.tolist(), strict=True))


def quantity(run: Run, what: str) -> Array:
    """Pick what a figure shows, (T,)."""
    if what == "twist":
        return np.asarray(run.along([1.0])["twist"].values[:, 0, 0])
    return tip_deflection(run, 1, what)


def pairs(what: str, readings: list[Reading]) -> dict[Reading, Pair]:
    """Give a quantity with rigid and elastic joints for each reading, up to its duration."""
    motions = {reading: moved(reading) for reading in readings}
    runs = {
        (elastic, printed): falls(
            elastic, [x for x in motions.values() if (x[EQUATIONS] == PRINTED) == printed], printed
        )
        for elastic in JOINTS
        for printed in (False, True)
    }
    result = {}
    for reading, key in motions.items():
        rigid, elastic_ = (runs[each, key[EQUATIONS] == PRINTED][key] for each in JOINTS)
        t = rigid.t[rigid.t <= DURATIONS[reading[LASTING]] + DT / 2]
        seen = _seen(what, reading)
        result[reading] = Pair(t, *(quantity(x, seen)[: len(t)] for x in (rigid, elastic_)))
    return result


def out_of_plane(reading: Reading) -> float:
    """Give the range of the tip out of the plane of the fall, the lesser of both arms' [m]."""
    key = moved(reading)
    printed = key[EQUATIONS] == PRINTED
    runs = [falls(elastic, [key], printed)[key] for elastic in JOINTS]
    t = runs[0].t <= DURATIONS[reading[LASTING]] + DT / 2
    return min(float(np.ptp(run.tip[t, 2])) for run in runs)


def moved(reading: Reading) -> Reading:
    """Take the reading of which the motion is, whatever is looked at."""
    return reading.taking({LASTING: next(iter(DURATIONS)), PLANE: ACROSS})


def _seen(what: str, reading: Reading) -> str:
    """Swap y and z where Z is in the plane of the fall."""
    return what if reading[PLANE] == ACROSS else {"y": "z", "z": "y"}.get(what, what)


def distinct(what: str, readings: list[Reading]) -> list[Reading]:
    """Leave readings out that differ by what y and z are, where neither is looked at."""
    return [x for x in readings if what in "yz" or x[PLANE] == readings[0][PLANE]]


def _ratio(found: dict[Reading, Pair], reading: Reading) -> float:
    """Compare the range with elastic joints to that with rigid ones; one spike is not all."""
    pair, out = found[reading.without(RANGE)], (100 - SHARES[reading[RANGE]]) / 2
    rigid, elastic = (float(np.ptp(np.percentile(y, [out, 100 - out]))) for y in pair[1:])
    return elastic / rigid


def _later(found: dict[Reading, Pair], reading: Reading) -> float:
    """Compare the range in the last part of the time with that in the first, the lesser."""
    pair = found[reading.without(INCREASES)]
    part = len(pair.t) // PARTS[reading[INCREASES]]
    return min(float(np.ptp(y[-part:]) / np.ptp(y[:part])) for y in pair[1:])


def _off_middle(found: dict[Reading, Pair], reading: Reading) -> float:
    """Measure how far the mean is from the equilibrium, of the range, the larger [%]."""
    pair, off = found[reading.without(REST)], []
    for elastic, y in zip(JOINTS, pair[1:], strict=True):
        at = 0.0
        if reading[REST] == AT_REST:
            rest = named(elastic, _key(reading.without(REST)))
            at = sum(x for name, x in rest.items() if name.startswith("link1.twist"))
        off.append(abs(float(y.mean()) - at) / float(np.ptp(y)))
    return 100 * max(off)


@cache
def torsion(scope: Scope) -> Found:
    """Decide what the paper says of the torsional angle of link 1."""
    readings, middles, ranges = (
        distinct("twist", x.readings(scope)) for x in (GRID, MIDDLES, RANGES)
    )
    found = pairs("twist", readings)
    statements = (
        search("as the arm falls, the torsional angle is lingering at the equilibrium position",
               middles, lambda x: _off_middle(found, x), MIDDLE,
               "distance of the mean from it, of the range"),
        search("when the joints are rigid, the torsional angle is changing in a small range",
               readings, lambda x: float(np.ptp(found[x].rigid)), SMALL, "range"),
        search("when the joints are flexible, the range of the torsional angle increases obviously",
               ranges, lambda x: _ratio(found, x), OBVIOUS, "range over that of rigid joints"),
        undecidable("which shows the effect of nonlinearity", NO_LINEAR),
        undecidable("and instability", "what is meant by it"),
        search("there exists the dynamic coupling between the torsional flexibility of the link "
               "and the flexibility of the joint", readings,
               lambda x: 100 * apart(found[x].elastic, found[x].rigid), COUPLED,
               "change by elastic joints, of the range"),
    )  # fmt: skip
    return Found(statements, figures=_figures("fig-4", found), checks=_checks())


@cache
def deformation(name: str, scope: Scope) -> Found:
    """Decide what the paper says of the deformation of link 2's tip in a direction."""
    what = QUANTITIES[name][0]
    readings, ranges, grown = (distinct(what, x.readings(scope)) for x in (GRID, RANGES, GROWN))
    found = pairs(what, readings)
    statements = (
        search("the tip deformation of the flexible link increases as the time changes", grown,
               lambda x: _later(found, x), GROWS, "range in the last part over that in the first"),
        undecidable("and presents significant nonlinear vibration", NO_LINEAR),
        search("the phenomenon is more pronounced when the joints are flexible", ranges,
               lambda x: _ratio(found, x), PRONOUNCED, "range over that of rigid joints"),
    )  # fmt: skip
    return Found(statements, figures=_figures(name, found), checks=_checks())


def figures(scope: Scope) -> Found:
    """Judge Figs. 4 and 5, and what is said of X and Y beside them, as one run."""
    parts = list(torsion(scope).statements)
    for name in DEFORMATIONS:
        parts += [replace(x, says=f"{name}: {x.says}") for x in deformation(name, scope).statements]
    open_ = [_whatever_plane(each) for each in parts if each.tried]
    says = "all that is said of Figs. 4 and 5, and of the same on X and Y, in one reading"
    return Found((together(says, open_),))


def _whatever_plane(statement: Statement) -> Statement:
    """Leave open what y and z are where neither is looked at."""
    planes = {each.reading[PLANE] for each in statement.tried}
    if len(planes) > 1:
        return statement
    tried = tuple(replace(x, reading=x.reading.without(PLANE)) for x in statement.tried)
    return replace(statement, tried=tried)


def _checks() -> tuple[Check, ...]:
    """Look at the weight that winds the springs up: 4 and 1 times m g L/2 over the stiffness."""
    at_rest = named(True, _key(GRID.first))
    wound = [at_rest[f"joint{k}.motor"] - at_rest[f"joint{k}"] for k in BOTH]
    half = 314.88 * 9.81 * 7.11 / 2 / 1.33e6
    return (
        Check("at rest the springs carry the weight", abs(wound[0] / (4 * half) - 1) < 0.02,
              f"they are wound by {1e3 * wound[0]:.1f} and {1e3 * wound[1]:.1f} mrad, a straight "
              f"arm by {4e3 * half:.1f} and {1e3 * half:.1f}"),
    )  # fmt: skip


def _figures(name: str, found: dict[Reading, Pair]) -> tuple[Figure, ...]:
    """Draw the fall from rest and from straight links, for as long as it was run."""
    _, title, axis = QUANTITIES[name]
    first, last = next(iter(found)), max(DURATIONS[each[LASTING]] for each in found)
    longest = [each for each in found if DURATIONS[each[LASTING]] == last
               and each.without(START, LASTING) == first.without(START, LASTING)]  # fmt: skip
    return tuple(
        Figure(f"{title}, {each[START]}", "time [s]", axis,
               (curve("elastic joints", pair.t, pair.elastic),
                curve("rigid joints", pair.t, pair.rigid)),
               reading=str(each))
        for each, pair in ((x, found[x]) for x in longest)
    )  # fmt: skip


FALL_ITEMS = (
    Item(PAPER, "fig-4", QUANTITIES["fig-4"][1], torsion,
         Grid((*RANGES.choices, MIDDLES.choices[-1]))),
    *(Item(PAPER, name, QUANTITIES[name][1], partial(deformation, name),
           Grid((*RANGES.choices, GROWN.choices[-1]))) for name in DEFORMATIONS),
    Item(PAPER, "figures", "Figs. 4 and 5, X and Y together", figures,
         Grid((*RANGES.choices, MIDDLES.choices[-1], GROWN.choices[-1]))),
)  # fmt: skip
