"""Chen, Zhang & Liu 2012: the fall of a two-link spatial arm with rigid and elastic joints."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np

from flexarm.formulations import formulation
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
from flexarm.papers.chen.linear import linear_fall
from flexarm.papers.runs import apart, changed, main_frequency, tip_deflection
from flexarm.runs.run import Run

PAPER = "chen-2012"
OBVIOUS = 1.2  # times: what is taken for "increases obviously"
PRONOUNCED = 1.05  # times: what is taken for "more pronounced", as much as a figure shows
SIGNIFICANT = 0.10  # of the range: what is taken for "significant"
SMALL = 0.1  # [rad]: what is taken for "a small range"; sine and angle differ by 0.2 %
FELT = 0.01  # of the range: a change that no tolerance of the solver makes
FALL, DT = 2.0, 2e-3  # [s]; the paper does not say for how long
DURATIONS = (1.0, 2.0, 4.0, 8.0)  # [s]
STIFFNESS = 1.33e6  # [N m/rad]; printed with the unit N/m
SOFTER = (1.33e3, 1.33e4, 1.33e5)  # [N m/rad]
WINDOW = (0.5, 0.8)  # [s], in which vibrations of wound springs can be told apart in a figure
WOUND = (0.1, 0.5, 1.0)  # of what the weight winds a spring up to when the motors hold the arm

# Sample, and what it is called, by whether its joints are elastic.
ARMS = {False: "chen-two-link-rigid-joints", True: "chen-two-link"}
JOINTS = {False: "rigid joints", True: "elastic joints"}
SAMPLE = "as in the sample"
QUANTITIES = {
    "fig-4": ("twist", "Fig. 4: torsional angle of link 1", "twist [rad]"),
    "fig-5": ("z", "Fig. 5: flapwise deformation of link 2's tip", "deflection along z [m]"),
    "longitudinal": ("x", "longitudinal deformation of link 2's tip", "deflection along x [m]"),
    "chordwise": ("y", "chordwise deformation of link 2's tip", "deflection along y [m]"),
}
# Readings of what the paper shows in a figure only: changes to the sample.
READINGS: dict[str, Mapping[str, Any]] = {
    SAMPLE: {},
    "J_x = 15.41 kg m per length": {"links.1.section.Jx": 15.41, "links.2.section.Jx": 15.41},
    "joint 2 turns about y": {"links.2.joint.axis": [0.0, 1.0, 0.0]},
}


@cache
def _fall(elastic: bool, reading: str = SAMPLE) -> Run:
    t_end = max(DURATIONS) if reading == SAMPLE else FALL
    return simulate(changed(ARMS[elastic], READINGS[reading]), t_end=t_end, dt=DT)


@cache
def _fall_as_printed(elastic: bool) -> Run:
    """Let the arm fall by the equations of the paper."""
    return simulate(
        changed(ARMS[elastic]), formulation="recursive-lagrange", t_end=FALL, dt=DT, paper=True
    )


@cache
def _softer(stiffness: float) -> Run:
    """Let the arm fall with joints of another stiffness [N m/rad]."""
    values = {f"links.{k}.joint.drive.stiffness": stiffness for k in (1, 2)}
    return simulate(changed("chen-two-link", values), t_end=FALL, dt=DT)


@cache
def _weight() -> tuple[float, ...]:
    """Find what holds the joints of the straight, horizontal arm against gravity [N m]."""
    model = build(changed("chen-two-link-rigid-joints"))
    still = np.zeros(model.size)
    held = formulation("composite", model).bias(still, still)
    return tuple(float(held[model.names.index(f"joint{k}")]) for k in (1, 2))


def _turned(share: float) -> dict[str, float]:
    """Give the motors' angles [rad] at which the springs carry a share of the weight."""
    return {f"joint{k}.motor": share * x / STIFFNESS for k, x in enumerate(_weight(), 1)}


@cache
def _wound(share: float) -> Run:
    """Let the arm fall with springs that carry a share of the weight at the start."""
    values = {
        f"links.{k}.joint.start.motor_position": x for k, x in enumerate(_turned(share).values(), 1)
    }
    return simulate(changed("chen-two-link", values), t_end=FALL, dt=DT)


def _quantity(run: Run, what: str) -> Array:
    if what == "twist":
        return np.asarray(run.along([1.0])["twist"].values[:, 0, 0])
    return tip_deflection(run, 1, what)


@cache
def _linear(elastic: bool, frozen: bool) -> Run:
    """Let the arm fall by linear equations, its springs relaxed."""
    t, x = linear_fall(ARMS[elastic], FALL, frozen=frozen)
    return replace(_fall(elastic), t=t, q=x, v=x)


def _beyond(what: str, elastic: bool, *, frozen: bool) -> float:
    """Measure what a fall has that linear equations do not give, of its range."""
    run, linear = _fall(elastic), _linear(elastic, frozen)
    y = np.interp(linear.t, run.t, _quantity(run, what))
    return apart(_quantity(linear, what), y)


def torsion() -> Found:
    """Decide what the paper says of the torsional angle of link 1."""
    what = "twist"
    runs = {e: _fall(e) for e in JOINTS}
    angle = {e: _quantity(run, what) for e, run in runs.items()}
    early = runs[True].t <= FALL
    stiff = float(np.ptp(angle[False]))
    moved = {x: apart(_quantity(_wound(x), what), angle[True][early]) for x in WOUND}
    larger = (
        "when the joints are flexible, the changing range of the torsional angle increases "
        "obviously"
    )
    claims = (
        _swings(runs[False].t, angle[False]),
        decide("when the joints are rigid, the torsional angle is changing in a small range",
               stiff < SMALL,
               f"{stiff:.3g} rad in {max(DURATIONS):g} s, {np.ptp(angle[False][early]):.3g} rad in "
               f"{FALL:g} s; {SMALL:g} rad is taken for small"),
        decide(larger, *_compared(what, OBVIOUS, "obvious")),
        _nonlinear("which shows the effect of nonlinearity", what),
        undecidable("and instability", "what is meant by it"),
        decide("there exists the dynamic coupling between the torsional flexibility of the link "
               "and the flexibility of the joint", max(moved.values()) > FELT,
               "winding the joints' springs by "
               + ", ".join(f"{x:g}" for x in moved) + " times what the weight does changes the "
               "torsional angle by " + ", ".join(f"{100 * x:.2g}" for x in moved.values())
               + f" % of its range; {100 * FELT:.0f} % is taken for coupled"),
    )  # fmt: skip
    return _found("fig-4", claims, larger, OBVIOUS)


def deformation(name: str) -> Found:
    """Decide what the paper says of the deformation of link 2's tip in a direction."""
    what = QUANTITIES[name][0]
    grows = "the tip deformation of the flexible link increases as the time changes"
    larger = "the phenomenon is more pronounced when the joints are flexible"
    later = {t: min(_later(what, e, t) for e in JOINTS) for t in DURATIONS}
    shown = ", ".join(f"{y:.2f} in {t:g} s" for t, y in later.items())
    claims = (
        decide(grows, later[FALL] > 1.0,
               "the range in the last third of the time is, with rigid or elastic joints, at least "
               f"so many times that in the first: {shown}"),
        _nonlinear("and presents significant nonlinear vibration", what),
        decide(larger, *_compared(what, PRONOUNCED, "more pronounced")),
    )  # fmt: skip
    growth = Missing("duration [s], for the growth", "range in the last third over the first",
                     DURATIONS, tuple(later.values()), 1.0, (grows,))  # fmt: skip
    return _found(name, claims, larger, PRONOUNCED, growth)


def _found(
    name: str, claims: tuple[Claim, ...], larger: str, limit: float, *more: Missing
) -> Found:
    """Put an item together: its claims, what decides that ranges are larger, and figures."""
    what = QUANTITIES[name][0]
    missing = _larger(what, larger, limit)
    ratios = missing[-1].outcomes
    winds = " and ".join(f"{1e3 * x:.1f}" for x in _turned(1.0).values()) + " mrad"
    soft = max(abs(x - 1) for x in missing[2].outcomes)
    rows = tuple(
        (f"{t:g}", *(f"{np.ptp(_quantity(_fall(e), what)[_fall(e).t <= t]):.4g}" for e in JOINTS))
        for t in DURATIONS
    )
    unit = QUANTITIES[name][2].rpartition("[")[2].rstrip("]")
    head = ("time [s]", *(f"{label} [{unit}]" for label in JOINTS.values()))
    return Found(
        claims,
        Difference(ratios[0] - 1, "range with elastic over rigid joints, less 1: springs relaxed"),
        tables=(Table("Range up to a time", head, rows),),
        figures=_drawn(name),
        missing=(*missing, *more),
        because="With springs relaxed at the start, even joints a thousand times softer change "
        f"the range by at most {100 * soft:.1g} %. With springs that carry the weight when the "
        f"motors are let go, wound by {winds}, it is {ratios[-1]:.2f} times that of rigid joints.",
        checks=(_linear_enough(what),),
    )


def _compared(what: str, limit: float, called: str) -> tuple[bool, str]:
    """Compare ranges with elastic and rigid joints, springs relaxed: larger or not, and why."""
    lasting = {t: _ratio(what, SAMPLE, t) for t in DURATIONS}
    printed = [float(np.ptp(_quantity(_fall_as_printed(e), what))) for e in JOINTS]
    return lasting[FALL] > limit, (
        f"with springs relaxed at the start the range is {lasting[FALL]:.3f} times that of rigid "
        f"joints in {FALL:g} s ({limit:g} is taken for {called}); over "
        + ", ".join(f"{x:g} s {y:.3f}" for x, y in lasting.items())
        + f"; by the paper's equations {printed[1] / printed[0]:.3f} times"
    )


def _larger(what: str, says: str, limit: float) -> tuple[Missing, ...]:
    """Vary what the paper leaves out: the range with elastic over that with rigid joints."""
    rigid = _fall(False)
    stiff = float(np.ptp(_quantity(rigid, what)[rigid.t <= FALL]))
    ratio = _ratio(what, SAMPLE, FALL)
    softer = [float(np.ptp(_quantity(_softer(k), what))) / stiff for k in SOFTER]
    wound = [float(np.ptp(_quantity(_wound(x), what))) / stiff for x in WOUND]
    tried: dict[str, dict[float | str, float]] = {
        "duration [s]": {t: _ratio(what, SAMPLE, t) for t in DURATIONS},
        "joint axes, J_x": {reading: _ratio(what, reading, FALL) for reading in READINGS},
        "joint stiffness, its unit misprinted [N m/rad]": dict(
            zip((*SOFTER, STIFFNESS), (*softer, ratio), strict=True)
        ),
        "motor angles at the start, of the static wind-up": dict(
            zip((0.0, *WOUND), (ratio, *wound), strict=True)
        ),
    }
    return tuple(
        Missing(datum, "range with elastic over rigid joints", tuple(values),
                tuple(values.values()), limit, (says,))
        for datum, values in tried.items()
    )  # fmt: skip


def _drawn(name: str) -> tuple[Figure, ...]:
    """Draw the fall with rigid and elastic joints, springs relaxed and wound, and for longer."""
    what, title, axis = QUANTITIES[name]
    t = _fall(True).t
    early = t <= FALL
    y = {e: _quantity(_fall(e), what) for e in JOINTS}
    printed = [
        curve(f"{label}, equations of the paper", t[early], _quantity(_fall_as_printed(e), what),
              points=True, every=10)
        for e, label in JOINTS.items()
    ]  # fmt: skip
    relaxed = [curve(label, t[early], y[e][early]) for e, label in JOINTS.items()]
    shown = (t[early] >= WINDOW[0]) & (t[early] <= WINDOW[1])
    wound = [
        curve(label, t[early][shown], values[shown])
        for label, values in (
            ("rigid joints", y[False][early]),
            ("elastic joints, springs wound", _quantity(_wound(WOUND[-1]), what)),
        )
    ]
    longer = tuple(curve(label, t, y[e]) for e, label in JOINTS.items())
    linear = [
        curve(f"elastic joints, linear about {about}", run.t, _quantity(run, what))
        for about, run in (("the moving arm", _linear(True, False)),
                           ("the arm at its start", _linear(True, True)))
    ]  # fmt: skip
    return (
        Figure(title, "time [s]", axis, (*relaxed, *printed)),
        Figure(f"{title}, springs wound by the weight", "time [s]", axis, tuple(wound)),
        Figure(f"{title}, longer", "time [s]", axis, longer),
        Figure(f"{title}, by linear equations", "time [s]", axis, (*relaxed, *linear)),
    )


def _ratio(what: str, reading: str, lasting: float) -> float:
    """Compare the ranges of a quantity: elastic over rigid joints, up to a time [s]."""
    runs = [_fall(elastic, reading) for elastic in (True, False)]
    first, second = (float(np.ptp(_quantity(run, what)[run.t <= lasting])) for run in runs)
    return first / second


def _later(what: str, elastic: bool, lasting: float) -> float:
    """Compare the range in the last third of a time [s] with that in the first."""
    run = _fall(elastic)
    y = _quantity(run, what)
    first, last = (run.t <= lasting / 3), (run.t >= lasting * 2 / 3) & (run.t <= lasting)
    return float(np.ptp(y[last]) / np.ptp(y[first]))


def _swings(t: Array, twist: Array) -> Claim:
    mean, spread = float(twist.mean()), float(np.ptp(twist))
    return decide(
        "as the arm falls, the torsional angle is lingering at the equilibrium position",
        abs(mean) < spread / 4,
        f"mean {mean:.3g} rad, range {spread:.3g} rad, at {main_frequency(t, twist):.2f} Hz; "
        "within the middle half of its range is taken for at it",
    )


def _nonlinear(says: str, what: str) -> Claim:
    """Decide that a vibration is not that of linear equations with constant coefficients."""
    beyond = {e: _beyond(what, e, frozen=True) for e in JOINTS}
    return decide(
        says,
        min(beyond.values()) > SIGNIFICANT,
        "the linear equations of the arm at its start are off by "
        + " and ".join(f"{100 * x:.0f} % of the range with {JOINTS[e]}" for e, x in beyond.items())
        + f"; {100 * SIGNIFICANT:.0f} % is taken for significant",
    )


def _linear_enough(what: str) -> Claim:
    """Check that the vibration is linear once the arm's large motion is allowed for."""
    beyond = {label: _beyond(what, e, frozen=False) for e, label in JOINTS.items()}
    return decide(
        "what is nonlinear is the motion of the arm: about the moving arm the vibration is linear",
        max(beyond.values()) < SIGNIFICANT,
        "linear equations about the fall of the arm with rigid links are off by "
        + ", ".join(f"{100 * x:.2g} % of the range ({which})" for which, x in beyond.items()),
    )


_FIG_4 = (
    "As the arm falls, the torsional angle is lingering at the equilibrium position. When the "
    "joints are rigid, it is changing in a small range; when they are flexible, the range "
    "increases obviously, which shows the effect of nonlinearity and instability. There exists the "
    "dynamic coupling between the torsional flexibility of the link and the flexibility of the "
    "joint."
)
_FIG_5 = (
    "The tip deformation increases as the time changes, and presents significant nonlinear "
    "vibration. Also, the phenomenon is more pronounced when the joints are flexible."
)
_SAME = "Certainly, we can get the same phenomenon (as in Fig. 5): "
FALL_ITEMS = (
    Item(PAPER, "fig-4", QUANTITIES["fig-4"][1], _FIG_4, torsion),
    Item(PAPER, "fig-5", QUANTITIES["fig-5"][1], _FIG_5, partial(deformation, "fig-5")),
    *(Item(PAPER, name, QUANTITIES[name][1], _SAME + _FIG_5[0].lower() + _FIG_5[1:],
           partial(deformation, name)) for name in ("longitudinal", "chordwise")),
)  # fmt: skip
