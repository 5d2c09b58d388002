"""Chen, Zhang & Liu 2012: the fall of a two-link spatial arm, by the paper's equations."""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from flexarm.arm import Arm
from flexarm.formulations import formulation
from flexarm.integrate.batch.many import simulate_many
from flexarm.io.model_file import change_arm
from flexarm.linear.equilibrium import equilibrium
from flexarm.model import build
from flexarm.runs.run import Run
from flexarm.spatial import Array
from flexarm_papers.base import Figure, Found, curve
from flexarm_papers.chen.link import least
from flexarm_papers.readings import Choice, Grid, Reading, every, ways
from flexarm_papers.runs import asymmetry, changed, completed, discord, tip_deflection
from flexarm_papers.verdicts import HISTORY, claim, measured, search, untested

TEXT_3, TEXT_4, TEXT_5 = "text of Fig. 3", "text of Fig. 4", "text of Fig. 5"
T_END, DT = 8.0, 2e-3  # [s]; the paper does not say for how long
# Sample, and its name in the figures, by whether its joints are elastic.
ARMS = {False: "chen-two-link-rigid-joints", True: "chen-two-link"}
JOINTS = {False: "rigid joints", True: "flexible joints"}
START, LASTING, INERTIA, AXIS, TEN = (
    "start", "duration", "J_x of 15.41", "axis of joint 2", "ten modes: y, z, torsion, stretch",
)  # fmt: skip
STRAIGHT, HELD = "links straight, springs relaxed", "at rest, held by its motors"
DURATIONS = {f"{t:g} s": t for t in (2.0, 1.0, 4.0, 8.0)}
BOTH = (1, 2)  # links
MOTIONS = (
    ways(START, HELD, STRAIGHT),
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
)  # fmt: skip


def _grid(*more: Choice) -> Grid:
    """Return the grid of all motions but those of other modes of an arm with another inertia."""
    names = [LASTING, *(each.name for each in more)]
    choices = (*MOTIONS, ways(LASTING, *DURATIONS), *more)
    return Grid(choices, ((START, INERTIA, AXIS, *names), (START, TEN, *names)))


GRID = _grid()
REST, NO_TWIST, AT_REST = "equilibrium position", "no twist", "twist of the arm at rest"
RESTS = _grid(ways(REST, NO_TWIST, AT_REST))
JOINT, PERFORMANCE = "joints", "dynamic performance"
ORDERS = {"place of the tip": 0, "its velocity": 1, "its acceleration": 2}  # derivatives
PERFORMED = every(ways(JOINT, *JOINTS.values()), ways(PERFORMANCE, *ORDERS), MOTIONS[0],
                  ways(LASTING, *DURATIONS))  # fmt: skip
LARGER = claim("range over that with rigid joints", low=1.1, unit="times")
DIFFERENT = claim(HISTORY.number, low=HISTORY.limit.high, unit="%")
GROWS = claim("range in the last third over that in the first", low=1.0, unit="times")
LACKS = claim("torsional inertia that is left out without eq. 11", low=5.0, unit="%")
# Item: axis of the deflection, title.
DEFORMATIONS = {"flapwise": "z", "longitudinal": "x", "chordwise": "y"}


class Pair(NamedTuple):
    """Time and a quantity of two falls: with rigid and with elastic joints."""

    t: Array
    rigid: Array
    elastic: Array


RUNS: dict[bool, dict[Reading, Run]] = {False: {}, True: {}}  # by elastic joints


def falls(elastic: bool, readings: Iterable[Reading]) -> dict[Reading, Run]:
    """Simulate the fall by the paper's equations, for readings that differ in motion."""

    def compute(missing: list[Reading]) -> Sequence[Run]:
        return simulate_many(
            changed(ARMS[elastic]), t_end=T_END, dt=DT, allow_long=True, paper=True,
            formulation="recursive-lagrange", parameters=[_changes(x) for x in missing],
            starts=[{} if x[START] == STRAIGHT else held(elastic, x) for x in missing],
        )  # fmt: skip

    return completed(RUNS[elastic], readings, compute)


def _motion(reading: Reading) -> Reading:
    """Return the choices on which the motion depends."""
    return Reading(tuple((x.name, reading[x.name]) for x in MOTIONS))


def _changes(motion: Reading) -> dict[str, Any]:
    return Grid(MOTIONS).changes(motion)


@cache
def held(elastic: bool, motion: Reading) -> dict[str, float]:
    """Return the coordinates of the arm at rest, its motors held, by name."""
    arm = change_arm(changed(ARMS[elastic]), _changes(motion))
    return dict(zip(build(arm).names, equilibrium(arm).point.q.tolist(), strict=True))


def _quantity(run: Run, what: str) -> Array:
    if what == "twist":
        return np.asarray(run.along([1.0])["twist"].values[:, 0, 0])
    return tip_deflection(run, 1, what)


def pairs(what: str, readings: Iterable[Reading]) -> dict[Reading, Pair]:
    """Return a quantity with rigid and with elastic joints for each reading."""
    motions = {reading: _motion(reading) for reading in readings}
    runs = {elastic: falls(elastic, motions.values()) for elastic in JOINTS}
    result = {}
    for reading, key in motions.items():
        rigid, elastic = (runs[x][key] for x in JOINTS)
        count = round(DURATIONS[reading[LASTING]] / DT) + 1
        result[reading] = Pair(rigid.t[:count], *(_quantity(x, what)[:count]
                                                  for x in (rigid, elastic)))  # fmt: skip
    return result


def _ratio(pair: Pair) -> float:
    return float(np.ptp(pair.elastic) / np.ptp(pair.rigid))


def _most_of_the_time(pair: Pair) -> float:
    """Return the ratio of ranges in 99 % of the time: one spike does not count."""
    rigid, elastic = (float(np.ptp(np.percentile(y, [0.5, 99.5]))) for y in pair[1:])
    return elastic / rigid


def _later(pair: Pair, parts: int) -> float:
    """Return the range in the last part of the time over that in the first, the lesser."""
    part = len(pair.t) // parts
    return min(float(np.ptp(y[-part:]) / np.ptp(y[:part])) for y in pair[1:])


def torsion() -> Found:
    """Judge the statements about the torsional angle of link 1."""
    found = pairs("twist", GRID.readings())
    rest = pairs("twist", RESTS.readings())

    def off_middle(reading: Reading) -> float:
        off = []
        for elastic, y in zip(JOINTS, rest[reading][1:], strict=True):
            twist = sum(x for name, x in held(elastic, _motion(reading)).items()
                        if name.startswith("link1.twist")) * (reading[REST] == AT_REST)  # fmt: skip
            off.append(abs(float(y.mean()) - twist) / float(np.ptp(y)))
        return 100 * max(off)

    more = [100 * (_ratio(pair) - 1) for pair in found.values()]
    ranges = [1e3 * float(np.ptp(pair.rigid)) for pair in found.values()]
    return Found(
        (
            search("the torsional angle is lingering at the equilibrium position", TEXT_4,
                   claim("distance of its mean from there, of the range", high=25.0, unit="%"),
                   RESTS.readings(), off_middle),
            untested("with rigid joints the torsional angle changes in a small range", TEXT_4,
                     "a number for a small range"),
            search("with flexible joints the range of the torsional angle increases obviously",
                   TEXT_4, LARGER, list(found), lambda x: _ratio(found[x]),
                   beside={"in 99 % of the time": lambda x: _most_of_the_time(found[x])}),
        ),
        figures=_figures("Fig. 4: torsional angle of link 1", "twist [rad]", "twist"),
        text="The paper does not print duration, start, axis of joint 2 or modes. Flexible joints "
        f"change the range of the twist by {min(more):.0f} to {max(more):.0f} %; with rigid joints "
        f"the range is {min(ranges):.0f} to {max(ranges):.0f} mrad.",
    )  # fmt: skip


def deformation(name: str) -> Found:
    """Judge the statements about the deformation of link 2's tip in a direction."""
    axis = DEFORMATIONS[name]
    found = pairs(axis, GRID.readings())
    drawn = f"{'Fig. 5: ' if axis == 'z' else ''}{name} deformation of link 2's tip"
    return Found(
        (
            search(f"the {name} tip deformation increases as the time changes", TEXT_5, GROWS,
                   list(found), lambda x: _later(found[x], 3),
                   beside={"by halves": lambda x: _later(found[x], 2)}),
            search(f"the {name} vibration is more pronounced when the joints are flexible", TEXT_5,
                   LARGER, list(found), lambda x: _ratio(found[x]),
                   beside={"in 99 % of the time": lambda x: _most_of_the_time(found[x])}),
        ),
        figures=_figures(drawn, f"deflection along {axis} [m]", axis),
    )  # fmt: skip


def _figures(title: str, label: str, what: str) -> tuple[Figure, ...]:
    """Draw the fall of the first reading, for 4 s."""
    shown = GRID.first.taking({LASTING: "4 s"})
    pair = pairs(what, [shown])[shown]
    curves = (curve(JOINTS[True], pair.t, pair.elastic), curve(JOINTS[False], pair.t, pair.rigid))
    return (Figure(title, "time [s]", label, curves, reading=str(shown)),)


def offset() -> Found:
    """Judge the statements about the offset of the links, and the influence of flexibility."""
    readings = GRID.readings()
    seen = {what: pairs(what, readings) for what in ("twist", *DEFORMATIONS.values())}
    loose, stiff = (least(80.0, stiffening=x) for x in (False, True))

    def away(reading: Reading) -> float:
        runs = [falls(x, [_motion(reading)])[_motion(reading)] for x in JOINTS]
        count = len(seen["z"][reading].t)
        return min(1e3 * float(np.ptp(run.tip[:count, 2])) for run in runs)

    def apart(reading: Reading) -> float:
        return 100 * max(discord(y[reading].elastic, y[reading].rigid) for y in seen.values())

    def caused(reading: Reading) -> float:
        pair = seen["z"][reading]
        return 100 * (1 - float(np.ptp(pair.rigid) / np.ptp(pair.elastic)))

    twisted = last_torsion()
    return Found(
        (
            search("a torque acts on link 1, which performs torsion about its axis", TEXT_3,
                   claim("range of the twist, the lesser of both arms", low=1.0, unit="mrad"),
                   readings, lambda x: 1e3 * min(float(np.ptp(y)) for y in seen["twist"][x][1:]),
                   printed="an offset of 0.475 m"),
            search("the manipulator conducts a spatial motion", TEXT_3,
                   claim("range of the tip out of the plane", low=1.0, unit="mm"), readings, away),
            search("that is why the torsional deformation is necessary", TEXT_3, DIFFERENT,
                   [x for x in PERFORMED.readings() if x[JOINT] == JOINTS[False]
                    and x[PERFORMANCE] == "place of the tip"],
                   _flapwise_distance),
            search("there is a significant difference between rigid and flexible joints", TEXT_5,
                   DIFFERENT, readings, apart),
            search("the flapwise deformation is caused by the torsional effect of the flexible "
                   "joint", TEXT_5,
                   claim("share of its range that rigid joints do not have", low=50.0, unit="%"),
                   readings, caused),
            search("the flexibility of the structure has significant influence on the dynamic "
                   "performance", "abstract, conclusion", DIFFERENT, PERFORMED.readings(),
                   _distance),
            measured("dynamic stiffening has a great influence on the link of Fig. 2",
                     "text of Fig. 2",
                     claim("change of its squared frequency at 80 rad/s", low=20.0, unit="%"),
                     100 * abs((stiff - loose) / loose)),
            search("the model of Ref. 9 is not accurate with torsion of the links", "introduction",
                   LACKS, every(ways("torsion of", "link 2", "link 1"), MOTIONS[1]).readings(),
                   _without_eq_11),
            measured("all of the torsional deformation is included", "abstract, eq. 11",
                     claim("coupling of the last link's torsion with all else in M, of the "
                           "complete one", low=90.0, unit="%"), 100 * twisted[0] / twisted[1]),
            measured("inertia coefficients of joints and deflections are symmetric", "eq. 37",
                     claim("largest difference", high=1e-12), _asymmetry()),
        ),
        text="The offset twists link 1, and the motion is spatial in every reading. Ref. 9 is "
        "taken for the paper's equations without the kinetic energy of torsion. Eq. 11 has the "
        "twist rate relative to the root of the link: the torsion of the last link is never "
        "excited.",
    )  # fmt: skip


def last_torsion() -> tuple[float, float]:
    """Return the coupling of link 2's torsion in M, of a unit diagonal: the paper's, complete."""
    model = build(changed(ARMS[False]))
    row, q = model.names.index("link2.twist1"), np.zeros(model.size)
    sizes = []
    for kind, paper in (("recursive-lagrange", True), ("composite", False)):
        M = formulation(kind, model, paper=paper).mass_matrix(q)
        scale = np.sqrt(np.diag(M))
        sizes.append(float(np.abs(np.delete((M / np.outer(scale, scale))[row], row)).max()))
    return sizes[0], sizes[1]


def _asymmetry() -> float:
    """Return the largest difference of M from its transpose, by columns of inverse dynamics."""
    model = build(changed("chen-two-link"))
    q = np.random.default_rng(0).uniform(-0.02, 0.02, model.size)
    return asymmetry(formulation("recursive-lagrange", model, paper=True), q)


def _falls_of(arm: Arm) -> dict[str, Run]:
    """Simulate the fall of another arm from straight links and from rest."""
    found = equilibrium(arm).point.q.tolist()
    starts = {STRAIGHT: {}, HELD: dict(zip(build(arm).names, found, strict=True))}
    runs = simulate_many(arm, t_end=T_END, dt=DT, starts=list(starts.values()), allow_long=True,
                         paper=True, formulation="recursive-lagrange")  # fmt: skip
    return dict(zip(starts, runs, strict=True))


@cache
def _rigid_links(elastic: bool) -> dict[str, Run]:
    links = changed(ARMS[elastic]).links
    bare = [x.model_dump(exclude_unset=True, exclude={"shapes"}) | {"rigid": True} for x in links]
    return _falls_of(changed(ARMS[elastic], {"links": bare}))


@cache
def _without_torsion() -> dict[str, Run]:
    return _falls_of(changed(ARMS[False], {f"links.{k}.shapes.torsion": 0 for k in BOTH}))


def _flapwise_distance(reading: Reading) -> float:
    """Return the change of the flapwise deformation with rigid joints without torsion [%]."""
    shown = GRID.first.taking({x: reading[x] for x in (START, LASTING)})
    pair = pairs("z", [shown])[shown]
    other = _without_torsion()[reading[START]]
    return 100 * discord(tip_deflection(other, 1, "z")[: len(pair.t)], pair.rigid)


def _distance(reading: Reading) -> float:
    """Return the distance of the tip's motion from that of the arm with rigid links [%]."""
    elastic = reading[JOINT] == JOINTS[True]
    motion = _motion(GRID.first.taking({START: reading[START]}))
    run, count = falls(elastic, [motion])[motion], round(DURATIONS[reading[LASTING]] / DT) + 1
    one, other = run.tip, _rigid_links(elastic)[reading[START]].tip
    for _ in range(ORDERS[reading[PERFORMANCE]]):
        one, other = (np.gradient(y, DT, axis=0) for y in (one, other))
    away = np.linalg.norm(one - other, axis=1)[:count]
    spread = np.linalg.norm(np.std(other[:count], axis=0))
    return 100 * float(np.sqrt(np.mean(np.square(away))) / spread)


def _without_eq_11(reading: Reading) -> float:
    """Return the inertia of a link's torsional shapes that is left out without eq. 11 [%]."""
    found = []
    for eq_11 in (True, False):
        values = {} if eq_11 else {f"links.{k}.section.Jx": 1e-9 for k in BOTH}
        arm = changed(ARMS[False], dict(MOTIONS[1].ways[reading[INERTIA]]) | values)
        equation = formulation("recursive-lagrange", build(arm), paper=True)
        own = [f"link{reading['torsion of'][-1]}.twist" in x for x in equation.model.names]
        found.append(np.diag(equation.mass_matrix(np.zeros(len(own))))[own])
    return 100 * float((1 - found[1] / found[0]).max())
