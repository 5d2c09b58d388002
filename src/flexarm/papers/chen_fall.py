"""Chen, Zhang & Liu 2012: the fall of a two-link spatial arm with rigid and elastic joints."""

from collections.abc import Mapping
from functools import cache, partial
from typing import Any

import numpy as np

from flexarm.formulations import formulation
from flexarm.integrate.run import Run
from flexarm.links.base import Array
from flexarm.model import build
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
from flexarm.papers.runs import changed, main_frequency, run_by, tip_deflection

PAPER = "chen-2012"
OBVIOUS = 1.2  # times: what is taken for "increases obviously"
FALL, DT = 2.0, 2e-3  # [s]; the paper does not say for how long
DURATIONS = (1.0, 2.0, 4.0, 8.0)  # [s]
STIFFNESS = 1.33e6  # [N m/rad]; printed with the unit N/m
SOFTER = (1.33e3, 1.33e4, 1.33e5)  # [N m/rad]
WOUND = (0.1, 0.5, 1.0)  # of what the weight winds a spring up to when the motors hold the arm

QUANTITIES = {
    "fig-4": ("twist", "Fig. 4: torsional angle of link 1", "twist [rad]"),
    "fig-5": ("z", "Fig. 5: flapwise deformation of link 2's tip", "deflection along z [m]"),
    "longitudinal": ("x", "longitudinal deformation of link 2's tip", "deflection along x [m]"),
    "chordwise": ("y", "chordwise deformation of link 2's tip", "deflection along y [m]"),
}
# Readings of what the paper shows in a figure only: changes to the sample.
READINGS: dict[str, Mapping[str, Any]] = {
    "as in the sample": {},
    "J_x = 15.41 kg m per length": {"links.1.section.Jx": 15.41, "links.2.section.Jx": 15.41},
    "joint 2 turns about y": {"links.2.joint.axis": [0.0, 1.0, 0.0]},
}


@cache
def _fall(elastic: bool, reading: str) -> Run:
    name = "chen-two-link" if elastic else "chen-two-link-rigid-joints"
    t_end = max(DURATIONS) if reading == "as in the sample" else FALL
    return run_by(changed(name, READINGS[reading]), "articulated", t_end=t_end, dt=DT)


@cache
def _fall_as_printed(elastic: bool) -> Run:
    """Let the arm fall by the equations of the paper."""
    name = "chen-two-link" if elastic else "chen-two-link-rigid-joints"
    return run_by(changed(name), "recursive-lagrange", t_end=FALL, dt=DT, paper=True)


@cache
def _softer(stiffness: float) -> Run:
    """Let the arm fall with joints of another stiffness [N m/rad]."""
    values = {f"links.{k}.joint.drive.stiffness": stiffness for k in (1, 2)}
    return run_by(changed("chen-two-link", values), "articulated", t_end=FALL, dt=DT)


@cache
def _weight() -> tuple[float, ...]:
    """Find what holds the joints of the straight, horizontal arm against gravity [N m]."""
    model = build(changed("chen-two-link-rigid-joints"))
    still = np.zeros(model.size)
    held = formulation("composite", model).bias(still, still)
    return tuple(float(held[model.names.index(f"joint{k}")]) for k in (1, 2))


@cache
def _wound(share: float) -> Run:
    """Let the arm fall with springs that carry a share of the weight at the start."""
    values = {
        f"links.{k}.joint.start.motor_position": share * torque / STIFFNESS
        for k, torque in enumerate(_weight(), 1)
    }
    return run_by(changed("chen-two-link", values), "articulated", t_end=FALL, dt=DT)


def _quantity(run: Run, what: str) -> Array:
    if what == "twist":
        return np.asarray(run.along([1.0])["twist"].values[:, 0, 0])
    return tip_deflection(run, 1, what)


def fall_figure(name: str) -> Found:
    """Compare the fall with rigid and with elastic joints."""
    what = QUANTITIES[name][0]
    ratios = {reading: _growth(what, reading, FALL) for reading in READINGS}
    lasting = {t: _growth(what, "as in the sample", t) for t in DURATIONS}
    t = _fall(True, "as in the sample").t
    rigid, elastic = (_quantity(_fall(e, "as in the sample"), what) for e in (False, True))
    early = t <= FALL
    ratio = ratios["as in the sample"]
    stiff = float(np.ptp(rigid[early]))
    softer = tuple(float(np.ptp(_quantity(_softer(k), what))) / stiff for k in SOFTER)
    wound = tuple(float(np.ptp(_quantity(_wound(x), what))) / stiff for x in WOUND)
    printed = [float(np.ptp(_quantity(_fall_as_printed(e), what))) for e in (True, False)]
    theirs = printed[0] / printed[1]
    claims = [
        decide(
            "the range is obviously larger with elastic joints (springs relaxed at the start)",
            ratio > OBVIOUS,
            f"{np.ptp(elastic[early]):.4g} against {np.ptp(rigid[early]):.4g} in {FALL:g} s, "
            f"{ratio:.3f} times ({OBVIOUS:g} is taken for obvious); over "
            + ", ".join(f"{x:g} s {y:.3f}" for x, y in lasting.items())
            + f"; by the paper's equations {theirs:.3f} times",
        ),
        _swings(t, rigid) if what == "twist" else _grows(t[early], elastic[early]),
    ]
    if what == "twist":
        claims.append(undecidable("nonlinearity and instability", "what is meant by them"))
    said = "range with elastic over rigid joints"
    winds = " and ".join(f"{1e3 * x / STIFFNESS:.1f}" for x in _weight()) + " mrad"
    return Found(
        tuple(claims),
        Difference(ratio - 1, f"{said}, less 1"),
        figures=_drawn(name),
        missing=(
            Missing("duration [s]", said, DURATIONS, tuple(lasting.values()), OBVIOUS),
            Missing("joint axes, J_x", said, tuple(ratios), tuple(ratios.values()), OBVIOUS),
            Missing("joint stiffness, its unit misprinted [N m/rad]", said,
                    (*SOFTER, STIFFNESS), (*softer, ratio), OBVIOUS),
            Missing("motor angles at the start, of the static wind-up", said,
                    (0.0, *WOUND), (ratio, *wound), OBVIOUS),
        ),
        because="With springs relaxed at the start, even joints a thousand times softer change "
        f"the range by at most {100 * max(abs(x - 1) for x in softer):.1g} %. With springs that "
        f"carry the weight when the motors are let go, wound by {winds}, it is {wound[-1]:.2f} "
        "times that of rigid joints.",
    )  # fmt: skip


def _drawn(name: str) -> tuple[Figure, ...]:
    """Draw the fall with rigid and elastic joints, springs relaxed and wound, and for longer."""
    what, title, axis = QUANTITIES[name]
    joints = {False: "rigid joints", True: "elastic joints"}
    t = _fall(True, "as in the sample").t
    early = t <= FALL
    y = {e: _quantity(_fall(e, "as in the sample"), what) for e in joints}
    printed = [
        curve(f"{label}, equations of the paper", t[early], _quantity(_fall_as_printed(e), what),
              points=True, every=10)
        for e, label in joints.items()
    ]  # fmt: skip
    relaxed = [curve(label, t[early], y[e][early]) for e, label in joints.items()]
    wound = curve("elastic joints, springs wound", t[early], _quantity(_wound(WOUND[-1]), what))
    longer = tuple(curve(label, t, y[e]) for e, label in joints.items())
    return (
        Figure(title, "time [s]", axis, (*relaxed, *printed)),
        Figure(f"{title}, springs wound by the weight", "time [s]", axis, (wound, relaxed[0])),
        Figure(f"{title}, longer", "time [s]", axis, longer),
    )


def _growth(what: str, reading: str, lasting: float) -> float:
    """Compare the ranges of a quantity: elastic over rigid joints, up to a time [s]."""
    runs = [_fall(elastic, reading) for elastic in (True, False)]
    first, second = (float(np.ptp(_quantity(run, what)[run.t <= lasting])) for run in runs)
    return first / second


def _swings(t: Array, twist: Array) -> Claim:
    mean, spread = float(twist.mean()), float(np.ptp(twist))
    return decide(
        "the twist lingers about its equilibrium",
        abs(mean) < spread,
        f"mean {mean:.3g} rad, range {spread:.3g} rad, at {main_frequency(t, twist):.2f} Hz",
    )


def _grows(t: Array, y: Array) -> Claim:
    first, second = (float(np.ptp(y[part])) for part in (t < FALL / 2, t >= FALL / 2))
    return decide(
        "the deformation increases as time goes on",
        second > first,
        f"range {first:.3g} m in the first half, {second:.3g} m in the second",
    )


_FALLS = (
    "The arm falls from the horizontal; ranges grow obviously when joints are flexible, and the "
    "same is said of all directions."
)
FALL_ITEMS = tuple(
    Item(PAPER, name, title, _FALLS, partial(fall_figure, name))
    for name, (_, title, _) in QUANTITIES.items()
)
