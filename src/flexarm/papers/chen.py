"""Chen, Zhang & Liu 2012: stiffening of a rotating link, and a spatial fall with elastic joints."""

import math
from collections.abc import Mapping
from functools import cache, partial
from typing import Any

import casadi as ca
import numpy as np
from scipy.optimize import brentq

from flexarm.analysis.equilibrium import equilibrium
from flexarm.analysis.modes import modes
from flexarm.integrate.run import Run
from flexarm.kinematics import tip_section
from flexarm.links.base import Array
from flexarm.links.classical import BeamEnds, beam_roots
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
from flexarm.papers.chen_ratios import EI, LENGTH, MASS, frequency_ratios
from flexarm.papers.runs import apart, changed, main_frequency, run_by

PAPER = "chen-2012"
EA = 2.84e7  # [N]
SPIN_UPS = (1.0, 5.0, 15.0)  # [s], of the law that the paper does not give
ALMOST = 0.05  # of the range: what is taken for "almost the same"
OBVIOUS = 1.2  # times: what is taken for "increases obviously"
FALL, DT = 2.0, 2e-3  # [s]; the paper does not say for how long
DURATIONS = (1.0, 2.0, 4.0, 8.0)  # [s]


@cache
def _spin(rate: float, rise: float, *, stiffening: bool) -> Run:
    arm = changed(
        "chen-rotating-link",
        {"links.1.joint.motion.rate": rate, "links.1.joint.motion.duration": rise},
    )
    return run_by(arm, "articulated", t_end=rise + 2.0, dt=0.005, stiffening=stiffening)


def _tip(run: Run, link: int = 0, axis: str = "y") -> Array:
    return np.asarray(run.along([1.0])["deflection"].values[:, link, 0, "xyz".index(axis)])


def low_speed() -> Found:
    """Compare the chordwise deformation at 10 rad/s with and without stiffening."""
    gaps = {}
    for rise in SPIN_UPS:
        on, off = (_tip(_spin(10.0, rise, stiffening=s)) for s in (True, False))
        gaps[rise] = apart(off, on)
    rates = {s: _lowest(10.0, stiffening=s) for s in (True, False)}
    shown = _spin(10.0, 15.0, stiffening=True).t
    both = [_tip(_spin(10.0, 15.0, stiffening=s)) for s in (True, False)]
    claims = (
        decide(
            "almost the same with and without stiffening at 10 rad/s",
            all(gap < ALMOST for gap in gaps.values()),
            "apart by "
            + ", ".join(
                f"{100 * gap:.2g} % of the range ({rise:g} s)" for rise, gap in gaps.items()
            )
            + f" for spin-ups of that long; {100 * ALMOST:.0f} % is taken for almost the same; the "
            f"frequencies are {rates[True]:.2f} and {rates[False]:.2f} rad/s",
        ),
    )
    return Found(
        claims,
        Difference(max(gaps.values()), "rms between both models over the range, at worst"),
        figures=(
            Figure(
                "Fig. 2(a): 10 rad/s, reached in 15 s", "time [s]", "chordwise tip deflection [m]",
                (curve("with stiffening", shown, both[0]),
                 curve("without stiffening", shown, both[1])),
            ),
        ),
        missing=(
            Missing("duration of the spin-up [s]", "distance between both models, of the range",
                    SPIN_UPS, tuple(gaps.values()), ALMOST),
        ),
        because="How the link was set going is not said, but no spin-up brings the models closer: "
        "while speed rises, the link bends quasi-statically, and stiffening is part of what holds "
        "it.",
    )  # fmt: skip


def high_speed() -> Found:
    """Compare the chordwise deformation at 80 rad/s with and without stiffening."""
    rows, claims, figures = [], [], []
    for rise in SPIN_UPS:
        on, off = (_spin(80.0, rise, stiffening=s) for s in (True, False))
        rows.append((f"{rise:g}", f"{np.abs(_tip(on)).max():.4g}", on.status,
                     f"{off.t[-1]:.3f}", off.status))  # fmt: skip
    finished = all(row[2] == "finished" for row in rows)
    stopped = all(row[4] == "stopped" for row in rows)
    growth = _fastest_growth(80.0, stiffening=False)
    theory = float(np.sqrt(80.0**2 - _own_frequency() ** 2))
    claims = [
        decide(
            "without stiffening the result diverges at 80 rad/s",
            stopped and growth > 0,
            "ends at " + ", ".join(row[3] for row in rows) + f" s; it grows by {growth:.2f} 1/s, "
            f"sqrt(80^2 - omega_1^2) = {theory:.2f}",
        ),
        decide(
            "with stiffening it stays bounded",
            finished and _fastest_growth(80.0, stiffening=True) <= 0,
            "largest tip deflection " + ", ".join(f"{row[1]} m" for row in rows) + " for spin-ups "
            "of " + ", ".join(f"{rise:g} s" for rise in SPIN_UPS),
        ),
    ]
    on, off = (_spin(80.0, 15.0, stiffening=s) for s in (True, False))
    figures.append(
        Figure(
            "Fig. 2(b): 80 rad/s, reached in 15 s", "time [s]", "chordwise tip deflection [m]",
            (curve("with stiffening", on.t, _tip(on)),
             curve("without stiffening", off.t, _tip(off))),
        )
    )  # fmt: skip
    head = ("spin-up [s]", "largest with stiffening [m]", "it", "without: end [s]", "it")
    return Found(
        tuple(claims),
        Difference(abs(growth / theory - 1), "growth rate, relative to that of one mode"),
        tables=(Table("Runs to 80 rad/s", head, tuple(rows)),),
        figures=tuple(figures),
    )


@cache
def _eigenvalues(rate: float, *, stiffening: bool) -> tuple[complex, ...]:
    model = build(changed("chen-rotating-link"), stiffening=stiffening)
    found = modes(model, joints="locked", speeds={"joint1": rate}, straight=True)
    return tuple(complex(mode.eigenvalue) for mode in found.modes)


def _fastest_growth(rate: float, *, stiffening: bool) -> float:
    real = max(value.real for value in _eigenvalues(rate, stiffening=stiffening))
    return real if real > 1e-6 else 0.0


def _lowest(rate: float, *, stiffening: bool) -> float:
    return min(abs(value) for value in _eigenvalues(rate, stiffening=stiffening))


def _own_frequency() -> float:
    """First bending frequency of the link clamped at its root [rad/s], from its data."""
    lam = float(beam_roots(BeamEnds(hub=math.inf), 1)[0])
    return lam**2 * float(np.sqrt(EI * LENGTH / MASS)) / LENGTH**2


def critical_speed() -> Found:
    """Find the speed from which on the model without stiffening is unstable."""

    def lowest_square(rate: float) -> float:
        values = np.square(_eigenvalues(rate, stiffening=False))
        return float(-values.real.max())

    speed = float(brentq(lowest_square, 10.0, 80.0, xtol=1e-9))
    own = _own_frequency()
    grid = np.linspace(0.0, 80.0, 33)
    curves = [
        curve(
            "with stiffening" if s else "without stiffening",
            grid,
            [-float(np.square(_eigenvalues(x, stiffening=s)).real.max()) for x in grid],
        )
        for s in (True, False)
    ]
    claims = (
        decide(
            "stable at 10 rad/s, divergent at 80 rad/s without stiffening",
            10.0 < speed < 80.0,
            f"unstable above {speed:.4f} rad/s, the link's first frequency ({own:.4f} rad/s)",
        ),
        decide(
            "with stiffening there is no such speed",
            bool(np.all(curves[0].y > 0)),
            f"the least squared frequency up to 80 rad/s is {curves[0].y.min():.1f} 1/s^2",
        ),
    )
    return Found(
        claims,
        Difference(abs(speed / own - 1), "critical speed, relative to the first frequency"),
        figures=(
            Figure("Stability of the rotating link", "speed [rad/s]",
                   "least squared frequency [1/s^2]", tuple(curves)),
        ),
    )  # fmt: skip


def axial_stiffness() -> Found:
    """Find how far the printed EA lets the link stretch."""
    rates = (10.0, 80.0)
    stretch = {(rate, factor): _stretch(rate, factor * EA) for rate in rates for factor in (1, 10)}
    linear = {rate: MASS / LENGTH * rate**2 * LENGTH**2 / (2 * EA) for rate in rates}
    claims = (
        decide(
            "the stretch at 10 rad/s is small",
            stretch[10.0, 1] / LENGTH < 0.01,
            f"mean strain {100 * stretch[10.0, 1] / LENGTH:.2f} %, at the root "
            f"{100 * linear[10.0]:.2f} %",
        ),
        decide(
            "the stretch at 80 rad/s is small, as linear elasticity needs",
            stretch[80.0, 1] / LENGTH < 0.01,
            f"the tip moves out by {stretch[80.0, 1]:.2f} m ({100 * stretch[80.0, 1] / LENGTH:.0f} "
            f"%); undeformed, the root would be strained by {100 * linear[80.0]:.0f} %",
        ),
    )
    rows = tuple(
        (f"{rate:g}", f"{factor * EA:.3g}", f"{x:.4f}", f"{100 * x / LENGTH:.2f}")
        for (rate, factor), x in stretch.items()
    )
    radii = f"{np.sqrt(EI / EA):.3f} m against {np.sqrt(15.41 / MASS):.3f} m"
    return Found(
        claims,
        Difference(stretch[80.0, 1] / LENGTH, "mean strain at 80 rad/s with the printed EA"),
        tables=(Table("Steady stretch", ("speed [rad/s]", "EA [N]", "tip [m]", "mean strain [%]"),
                      rows),),
        because="EI and EA make a radius of gyration of the section that is larger than its polar "
        f"one ({radii}); ten times the EA would suit both.",
    )  # fmt: skip


@cache
def _stretch(rate: float, stiffness: float) -> float:
    arm = changed(
        "chen-rotating-link",
        {
            "links.1.joint": {"kind": "revolute"},
            "links.1.section.EA": stiffness,
            "links.1.shapes.stretch": 3,
        },
    )
    state = equilibrium(arm, speeds={"joint1": rate}).point.q
    model = build(arm)
    part = model.links[0]
    return float(tip_section(model, part, ca.DM(state)).position[0]) - LENGTH


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


def _quantity(run: Run, what: str) -> Array:
    if what == "twist":
        return np.asarray(run.along([1.0])["twist"].values[:, 0, 0])
    return _tip(run, 1, what)


def fall_figure(name: str) -> Found:
    """Compare the fall with rigid and with elastic joints."""
    what, title, axis = QUANTITIES[name]
    ratios = {reading: _growth(what, reading, FALL) for reading in READINGS}
    lasting = {t: _growth(what, "as in the sample", t) for t in DURATIONS}
    t = _fall(True, "as in the sample").t
    rigid, elastic = (_quantity(_fall(e, "as in the sample"), what) for e in (False, True))
    early = t <= FALL
    ratio = ratios["as in the sample"]
    claims = [
        decide(
            "the range is obviously larger with elastic joints",
            ratio > OBVIOUS,
            f"{np.ptp(elastic[early]):.4g} against {np.ptp(rigid[early]):.4g} in {FALL:g} s, "
            f"{ratio:.3f} times ({OBVIOUS:g} is taken for obvious); over "
            + ", ".join(f"{x:g} s {y:.3f}" for x, y in lasting.items()),
        ),
        _swings(t, rigid) if what == "twist" else _grows(t[early], elastic[early]),
    ]
    if what == "twist":
        claims.append(undecidable("nonlinearity and instability", "what is meant by them"))
    both = (("rigid joints", rigid), ("elastic joints", elastic))
    said = "range with elastic over rigid joints"
    return Found(
        tuple(claims),
        Difference(ratio - 1, f"{said}, less 1"),
        figures=(
            Figure(title, "time [s]", axis,
                   tuple(curve(label, t[early], y[early]) for label, y in both)),
            Figure(f"{title}, longer", "time [s]", axis,
                   tuple(curve(label, t, y) for label, y in both)),
        ),
        missing=(
            Missing("duration [s]", said, DURATIONS, tuple(lasting.values()), OBVIOUS),
            Missing("joint axes, J_x", said, tuple(ratios), tuple(ratios.values()), OBVIOUS),
        ),
        because="The springs of the joints are stiff beside links and gravity, and the joints fall "
        "freely: little torque passes through them.",
    )  # fmt: skip


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
ITEMS = (
    Item(PAPER, "fig-2a", "Fig. 2(a): rotating link at 10 rad/s",
         "Chordwise deformations are almost the same with and without stiffening.", low_speed),
    Item(PAPER, "fig-2b", "Fig. 2(b): rotating link at 80 rad/s",
         "Without stiffening the result diverges, with it it converges.", high_speed),
    Item(PAPER, "critical-speed", "speed at which the unstiffened link becomes unstable",
         "Low speed is harmless, high speed diverges; where is not said.", critical_speed),
    Item(PAPER, "axial-stiffness", "the printed EA and the small-strain model",
         "EA = 2.84e7 N, rotation at up to 80 rad/s.", axial_stiffness),
    *(
        Item(PAPER, name, title, _FALLS, partial(fall_figure, name))
        for name, (_, title, _) in QUANTITIES.items()
    ),
    Item(PAPER, "frequency-ratios", "frequencies over the two ratios",
         "Frequencies are parameterised by the ratio of link to rotor inertia and of link to joint "
         "stiffness.", frequency_ratios),
)  # fmt: skip
