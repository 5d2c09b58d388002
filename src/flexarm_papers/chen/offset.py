"""Chen, Zhang & Liu 2012: what the offset between the links does, and what flexible joints do."""

from collections.abc import Callable
from functools import cache

import numpy as np

from flexarm.arm import Arm
from flexarm.formulations import formulation
from flexarm.integrate.batch.many import simulate_many
from flexarm.linear.equilibrium import equilibrium
from flexarm.model import build
from flexarm.runs.run import Run
from flexarm_papers.base import Found, Item
from flexarm_papers.chen import fall
from flexarm_papers.chen.ratios import chordwise_squares
from flexarm_papers.readings import Grid, Reading, Scope, ways
from flexarm_papers.runs import apart, changed, rms
from flexarm_papers.statements import Limit, compare, search, undecidable

TWISTED = Limit(low=1.0, unit="mrad")  # "will perform torsion"
SPATIAL = Limit(low=1.0, unit="mm")  # "will conduct a spatial motion"
NECESSARY = Limit(low=5.0, unit="%")  # of the range, as much as a figure shows
LEFT_OUT = Limit(low=5.0, unit="%")  # "not accurately"
OF_IT, CAUSED = "caused", Limit(low=1.0, unit="times as much")
MEANT = {"most of it": 50.0, "some of it": 5.0}  # [%] of the range
SHARE, CHANGED = "share of the joints", "range of what they change"
CAUSE = Grid((*fall.GRID.choices, ways(OF_IT, *MEANT),
              ways(SHARE, "what they add to the range", CHANGED)),
             tuple((*names, OF_IT, SHARE) for names in fall.GRID.together))  # fmt: skip
MOVED = Grid(fall.GRID.choices[:3], (fall.CROSSED[:3],))
JOINT, PERFORMANCE = "joints", "dynamic performance"
ORDERS = {"place of the tip": 0, "its velocity": 1, "its acceleration": 2}  # derivatives in time
LINKS = Grid((ways(JOINT, *fall.JOINTS.values()), ways(PERFORMANCE, *ORDERS), *MOVED.choices[:2]),
             ((JOINT, PERFORMANCE, *fall.CROSSED[:2]),))  # fmt: skip
STIFFENS = "dynamic stiffening has a great influence on the dynamic performance"
TWISTS = "torsion of"
TORSION = Grid((ways(TWISTS, "link 2", "link 1"), fall.GRID.choices[3]),
               ((TWISTS, fall.INERTIA),))  # fmt: skip


def offset(scope: Scope) -> Found:
    """Decide what the paper says of the offset, of torsion, and of flexible joints at large."""
    readings = fall.GRID.readings(scope)
    stiff, _, loose = chordwise_squares(1, 80.0)
    seen = {name: fall.pairs(what, readings) for name, (what, *_) in fall.QUANTITIES.items()}
    return Found(
        (
            search("a torque acts on link 1 in the fall, and link 1 performs torsion about its "
                   "axis", readings, lambda x: 1e3 * min(np.ptp(y) for y in seen["fig-4"][x][1:]),
                   TWISTED, "range of the torsional angle, the lesser of rigid and flexible "
                   "joints", printed="0.475 m"),
            search("in this case the manipulator conducts a spatial motion", readings,
                   lambda x: 1e3 * fall.out_of_plane(x), SPATIAL,
                   "range of the tip out of the plane of the fall, the lesser"),
            search("that is why the torsional deformation is necessary", MOVED.readings(scope),
                   _without_torsion, NECESSARY,
                   "change of the flapwise deformation by shapes of torsion, of the range, with "
                   "rigid joints and complete equations"),
            search("the flapwise deformation is caused by the torsional effect of the flexible "
                   "joint", CAUSE.readings(scope),
                   lambda x: _share(x, seen["fig-5"][x.without(OF_IT, SHARE)]) / MEANT[x[OF_IT]],
                   CAUSED, "share of the range that is from flexible joints, over the share that "
                   "is meant, half of it or 5 %"),
            undecidable("the mass of the joint is considered (lumped to the link before it)",
                        "the mass of a joint: the tables have none"),
            undecidable("when the joints are flexible, the system appears significantly nonlinear",
                        fall.NO_LINEAR),
            undecidable("which will have a significant influence on the system control",
                        "a system that is controlled"),
            search("there is a significant difference between rigid and flexible joints", readings,
                   lambda x: 100 * max(apart(y[x].elastic, y[x].rigid) for y in seen.values()),
                   fall.SIGNIFICANT, "largest distance of four quantities, of the range"),
            search("the flexibility of the structure has significant influence on the dynamic "
                   "performance", LINKS.readings(scope), lambda x: _apart(x, _rigid_links),
                   fall.SIGNIFICANT, "rms distance from an arm of rigid links, of the range"),
            compare(f"{STIFFENS} of the link of Fig. 2", 100 * (stiff - loose) / stiff,
                    fall.SIGNIFICANT, "change of its first squared frequency at 80 rad/s, of it"),
            search(f"{STIFFENS} of the manipulators: of the one that falls",
                   LINKS.readings(scope), lambda x: _apart(x, _unstiffened), fall.SIGNIFICANT,
                   "rms distance from an arm without it, of the range"),
            search("the model of Ref. 9 cannot be accurately used for simulation considering the "
                   "torsion of the link", TORSION.readings(scope), _without_eq_11, LEFT_OUT,
                   "what it leaves out of the inertia of shapes of torsion, the most"),
        ),
        because="Ref. 9 (Book) is taken for the paper's equations without eq. 11, the kinetic "
        "energy of torsion: points are on the axis there.",
    )  # fmt: skip


def _share(reading: Reading, pair: fall.Pair) -> float:
    """Give what flexible joints add to a range, or the range of what they change, of it [%]."""
    if reading[SHARE] == CHANGED:
        return 100 * float(np.ptp(pair.elastic - pair.rigid) / np.ptp(pair.elastic))
    return 100 * (1 - float(np.ptp(pair.rigid) / np.ptp(pair.elastic)))


def _falls(arm: Arm) -> dict[str, Run]:
    """Let an arm fall from straight links and from rest."""
    found = equilibrium(arm).point.q.tolist()
    starts = {fall.STRAIGHT: {}, fall.HELD: dict(zip(build(arm).names, found, strict=True))}
    runs = simulate_many(arm, t_end=fall.T_END, dt=fall.DT, starts=list(starts.values()),
                         allow_long=True)  # fmt: skip
    return dict(zip(starts, runs, strict=True))


@cache
def _stiff_in_torsion() -> dict[str, Run]:
    """Let the arm with rigid joints fall without shapes of torsion."""
    return _falls(changed(fall.ARMS[False], {f"links.{k}.shapes.torsion": 0 for k in fall.BOTH}))


@cache
def _rigid_links(elastic: bool) -> dict[str, Run]:
    """Let the arm fall with rigid links."""
    links = changed(fall.ARMS[elastic]).links
    bare = [x.model_dump(exclude_unset=True, exclude={"shapes"}) | {"rigid": True} for x in links]
    return _falls(changed(fall.ARMS[elastic], {"links": bare}))


def _without_torsion(reading: Reading) -> float:
    """Measure how torsion changes the flapwise deformation of link 2's tip, of the range [%]."""
    full = fall.GRID.first.taking(dict(reading.taken))
    with_ = fall.pairs("z", [full])[full]
    axis = "z" if reading[fall.PLANE] == fall.ACROSS else "y"
    without = fall.quantity(_stiff_in_torsion()[reading[fall.START]], axis)[: len(with_.t)]
    return 100 * apart(without, with_.rigid)


@cache
def _unstiffened(elastic: bool) -> dict[str, Run]:
    """Let the arm fall without stiffening."""
    return _falls(changed(fall.ARMS[elastic], {"stiffening": False}))


def _without_eq_11(reading: Reading) -> float:
    """Find what the inertia of a link's shapes of torsion lacks without eq. 11, the most [%]."""
    both = []
    for eq_11 in (True, False):
        none = {} if eq_11 else {f"links.{k}.section.Jx": 1e-9 for k in fall.BOTH}
        arm = changed(fall.ARMS[False], TORSION.changes(reading) | none)
        equation = formulation("recursive-lagrange", build(arm), paper=True)
        own = [f"link{reading[TWISTS][-1]}.twist" in name for name in equation.model.names]
        both.append(np.diag(equation.mass_matrix(np.zeros(len(own))))[own])
    return 100 * float((1 - both[1] / both[0]).max())


def _apart(reading: Reading, others: Callable[[bool], dict[str, Run]]) -> float:
    """Measure how far the tip falls from that of another arm, of the range [%]."""
    elastic = reading[JOINT] == fall.JOINTS[True]
    taken = {name: reading[name] for name in fall.CROSSED[:2]}
    key = fall.moved(fall.GRID.first.taking(taken))
    runs = fall.falls(elastic, [key])[key], others(elastic)[reading[fall.START]]
    one, other = (run.tip for run in runs)
    for _ in range(ORDERS[reading[PERFORMANCE]]):
        one, other = (np.gradient(y, fall.DT, axis=0) for y in (one, other))
    t = runs[0].t <= fall.DURATIONS[reading[fall.LASTING]] + fall.DT / 2
    range_ = float(np.linalg.norm(np.ptp(other[t], axis=0)))
    return 100 * rms(np.linalg.norm(one - other, axis=1)[t]) / range_


OFFSET_ITEM = Item(
    fall.PAPER, "offset", "offset of the links, and flexible joints at large", offset,
    Grid((*CAUSE.choices, *LINKS.choices[:2], TORSION.choices[0])),
)  # fmt: skip
