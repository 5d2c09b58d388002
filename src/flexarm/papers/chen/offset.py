"""Chen, Zhang & Liu 2012: what the offset between the links does, and what flexible joints do."""

from functools import cache

import numpy as np

from flexarm.papers.base import Found, Item, Limit, search, undecidable
from flexarm.papers.chen import fall
from flexarm.papers.readings import Grid, Reading, Scope, ways
from flexarm.papers.runs import apart, changed, simulate
from flexarm.runs.run import Run

TWISTED = Limit(low=1.0, unit="mrad")  # "will perform torsion"
SPATIAL = Limit(low=1.0, unit="mm")  # "will conduct a spatial motion"
NECESSARY = Limit(low=5.0, unit="%")  # of the range, as much as a figure shows
OF_IT, CAUSED = "caused", Limit(high=1.0, unit="times")
LEFT = {"most of it": 50.0, "some of it": 95.0}  # [%] that may be left without the cause
CAUSE, PLANES = fall.more(ways(OF_IT, *LEFT)), Grid(fall.GRID.choices[2:3])
SPAN = 2.0  # [s] of the fall without torsion


def offset(scope: Scope) -> Found:
    """Decide what the paper says of the offset, of torsion, and of flexible joints at large."""
    readings = fall.GRID.readings(scope)
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
            search("that is why the torsional deformation is necessary", PLANES.readings(scope),
                   _without_torsion, NECESSARY,
                   "change of the flapwise deformation by shapes of torsion, of the range"),
            search("the flapwise deformation is caused by the torsional effect of the flexible "
                   "joint", CAUSE.readings(scope),
                   lambda x: _left(seen["fig-5"][x.without(OF_IT)]) / LEFT[x[OF_IT]], CAUSED,
                   "range with rigid joints, of that with flexible ones, over what may be left"),
            undecidable("when the joints are flexible, the system appears significantly nonlinear",
                        fall.NO_LINEAR),
            undecidable("which will have a significant influence on the system control",
                        "a system that is controlled"),
            search("there is a significant difference between rigid and flexible joints", readings,
                   lambda x: 100 * max(apart(y[x].elastic, y[x].rigid) for y in seen.values()),
                   fall.SIGNIFICANT, "largest distance of four quantities, of the range"),
        ),
    )  # fmt: skip


def _left(pair: fall.Pair) -> float:
    """Give what is left of a range without flexible joints [%]."""
    return 100 * float(np.ptp(pair.rigid) / np.ptp(pair.elastic))


@cache
def _stiff_in_torsion() -> Run:
    """Let the arm with rigid joints fall without shapes of torsion."""
    arm = changed(fall.ARMS[False], {f"links.{k}.shapes.torsion": 0 for k in fall.BOTH})
    return simulate(arm, t_end=SPAN, dt=fall.DT)


def _without_torsion(reading: Reading) -> float:
    """Measure how torsion changes the flapwise deformation of link 2's tip, of the range [%]."""
    full = fall.GRID.first.taking({fall.START: fall.STRAIGHT})
    axis = "z" if reading[fall.PLANE] == full[fall.PLANE] else "y"
    with_ = fall.pairs(axis, [full])[full]
    return 100 * apart(fall.quantity(_stiff_in_torsion(), axis)[: len(with_.t)], with_.rigid)


OFFSET_ITEM = Item(
    fall.PAPER, "offset", "offset of the links, and flexible joints at large", offset,
    CAUSE,
)  # fmt: skip
