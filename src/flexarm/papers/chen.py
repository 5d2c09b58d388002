"""Chen, Zhang & Liu 2012: stiffening of a rotating link, and a spatial fall with elastic joints."""

import math
from collections.abc import Callable
from functools import cache

import casadi as ca
import numpy as np
from scipy.optimize import brentq

from flexarm.analysis.equilibrium import equilibrium
from flexarm.analysis.modes import modes
from flexarm.integrate.run import Run
from flexarm.kinematics import tip_section
from flexarm.links.classical import BeamEnds, beam_roots
from flexarm.model import build
from flexarm.papers.base import (
    Curve,
    Difference,
    Figure,
    Found,
    Item,
    Missing,
    Table,
    curve,
    decide,
)
from flexarm.papers.chen_fall import FALL_ITEMS, PAPER
from flexarm.papers.chen_ratios import EI, LENGTH, MASS, frequency_ratios
from flexarm.papers.runs import apart, changed, run_by, tip_deflection

EA = 2.84e7  # [N]
POLAR = 15.41  # [kg m^2], of a boom about its axis
SMALL = 0.01  # mean strain that is taken for small
SPIN_UPS = (1.0, 5.0, 15.0)  # [s], of the law that the paper does not give
BENT = 0.05  # [m], by which the tip is bent at the start of a uniform rotation
ALMOST = 0.10  # of the range: what is taken for "almost the same"


@cache
def _spin(rate: float, rise: float, *, stiffening: bool) -> Run:
    arm = changed(
        "chen-rotating-link",
        {"links.1.joint.motion.rate": rate, "links.1.joint.motion.duration": rise},
    )
    return run_by(arm, "articulated", t_end=rise + 2.0, dt=0.005, stiffening=stiffening)


@cache
def _uniform(rate: float, *, stiffening: bool) -> Run:
    """Rotate the link uniformly from the start, its tip bent."""
    times = [0.0, 1.0, 2.0, 3.0]
    motion = {"kind": "table", "times": times, "values": [rate * t for t in times],
              "interpolation": "cubic"}  # fmt: skip
    values = {"links.1.joint.motion": motion, "links.1.start": {"y1": BENT},
              "links.1.shapes.normalise": "tip"}  # fmt: skip
    arm = changed("chen-rotating-link", values)
    return run_by(arm, "articulated", t_end=2.0, dt=0.005, stiffening=stiffening)


def low_speed() -> Found:
    """Compare the chordwise deformation at 10 rad/s with and without stiffening."""
    gaps = {
        f"spin-up of {rise:g} s": apart(
            *(tip_deflection(_spin(10.0, rise, stiffening=x)) for x in (False, True))
        )
        for rise in SPIN_UPS
    }
    uniform = f"uniform rotation, tip bent by {BENT:g} m"
    gaps[uniform] = apart(*(tip_deflection(_uniform(10.0, stiffening=x)) for x in (False, True)))
    rates = {s: _lowest(10.0, stiffening=s) for s in (True, False)}
    printed = _as_printed(10.0)
    paper = apart(tip_deflection(printed), tip_deflection(_spin(10.0, 15.0, stiffening=True)))
    claims = (
        decide(
            "almost the same with and without stiffening at 10 rad/s",
            all(gap < ALMOST for gap in gaps.values()),
            "apart by "
            + ", ".join(f"{100 * gap:.2g} % of the range ({how})" for how, gap in gaps.items())
            + f"; {100 * ALMOST:.0f} % is taken for almost the same; the frequencies are "
            f"{rates[True]:.2f} and {rates[False]:.2f} rad/s",
        ),
        decide(
            "the paper's equations capture dynamic stiffening",
            paper < 0.01,
            f"they are off the complete ones by {100 * paper:.2g} % of the range",
        ),
    )
    return Found(
        claims,
        Difference(gaps["spin-up of 15 s"],
                   "rms between both models over the range, spin-up of 15 s"),
        figures=(
            Figure("Fig. 2(a): 10 rad/s, reached in 15 s", *AXES,
                   (*_both(_spin, 10.0, 15.0), _marked(printed))),
            Figure(f"Fig. 2(a): 10 rad/s, {uniform}", *AXES, _both(_uniform, 10.0)),
        ),
        missing=(
            Missing("what sets the link going", "distance between both models, of the range",
                    tuple(gaps), tuple(gaps.values()), ALMOST),
        ),
        because="How the link was set going is not said. While speed rises slowly the link bends "
        "quasi-statically; rotating uniformly it vibrates, at two frequencies whose phases part.",
    )  # fmt: skip


AXES = ("time [s]", "chordwise tip deflection [m]")


def _both(motion: Callable[..., Run], *values: float) -> tuple[Curve, ...]:
    """Give the tip's deflection with and without stiffening."""
    labels = {True: "with stiffening", False: "without stiffening"}
    runs = {x: motion(*values, stiffening=x) for x in labels}
    return tuple(curve(labels[x], run.t, tip_deflection(run)) for x, run in runs.items())


def _marked(run: Run) -> Curve:
    y = tip_deflection(run)
    return curve("equations of the paper", run.t, y, points=True, every=40)


@cache
def _as_printed(rate: float) -> Run:
    """Spin the link up in 15 s by the equations of the paper, which have stiffening."""
    arm = changed(
        "chen-rotating-link",
        {"links.1.joint.motion.rate": rate, "links.1.joint.motion.duration": 15.0},
    )
    return run_by(arm, "recursive-lagrange", t_end=17.0, dt=0.005, paper=True)


def high_speed() -> Found:
    """Compare the chordwise deformation at 80 rad/s with and without stiffening."""
    rows, claims = [], []
    for rise in SPIN_UPS:
        on, off = (_spin(80.0, rise, stiffening=s) for s in (True, False))
        rows.append((f"{rise:g}", f"{np.abs(tip_deflection(on)).max():.4g}", on.status,
                     f"{off.t[-1]:.3f}", off.status))  # fmt: skip
    finished = all(row[2] == "finished" for row in rows)
    stopped = all(row[4] == "stopped" for row in rows)
    growth = _fastest_growth(80.0, stiffening=False)
    theory = float(np.sqrt(80.0**2 - _own_frequency() ** 2))
    printed = _as_printed(80.0)
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
        decide(
            "the paper's equations capture dynamic stiffening",
            printed.status == "finished",
            f"largest tip deflection {np.abs(tip_deflection(printed)).max():.4g} m for a spin-up "
            "of 15 s",
        ),
    ]
    figure = Figure("Fig. 2(b): 80 rad/s, reached in 15 s", *AXES,
                    (*_both(_spin, 80.0, 15.0), _marked(printed)))  # fmt: skip
    head = ("spin-up [s]", "largest with stiffening [m]", "it", "without: end [s]", "it")
    return Found(
        tuple(claims),
        Difference(abs(growth / theory - 1), "growth rate, relative to that of one mode"),
        tables=(Table("Runs to 80 rad/s", head, tuple(rows)),),
        figures=(figure,),
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
    marked = [-float(np.square(_eigenvalues(x, stiffening=False)).real.max()) for x in (10.0, 80.0)]
    curves.append(curve("speeds of Fig. 2", [10.0, 80.0], marked, points=True))
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
    # of one material, a section with equal EI has the radii EI/EA + EI/EA = J_x/m
    suits = 2 * EI * MASS / POLAR
    stretch = {(rate, stiff): _stretch(rate, stiff) for rate in rates for stiff in (EA, suits)}
    linear = {rate: MASS / LENGTH * rate**2 * LENGTH**2 / (2 * EA) for rate in rates}
    claims = (
        decide(
            "the stretch at 10 rad/s is small",
            stretch[10.0, EA] / LENGTH < SMALL,
            f"mean strain {100 * stretch[10.0, EA] / LENGTH:.2f} %, at the root "
            f"{100 * linear[10.0]:.2f} %",
        ),
        decide(
            "the stretch at 80 rad/s is small, as linear elasticity needs",
            stretch[80.0, EA] / LENGTH < SMALL,
            f"the tip moves out by {stretch[80.0, EA]:.2f} m, a mean strain of "
            f"{100 * stretch[80.0, EA] / LENGTH:.0f} %; undeformed, the root would be strained by "
            f"{100 * linear[80.0]:.0f} %",
        ),
    )
    rows = tuple(
        (f"{rate:g}", f"{stiff:.3g}", f"{x:.4f}", f"{100 * x / LENGTH:.2f}")
        for (rate, stiff), x in stretch.items()
    )
    radii = f"{np.sqrt(2 * EI / EA):.3f} m against {np.sqrt(POLAR / MASS):.3f} m"
    return Found(
        claims,
        Difference(stretch[80.0, EA] / LENGTH, "mean strain at 80 rad/s with the printed EA"),
        tables=(Table("Steady stretch", ("speed [rad/s]", "EA [N]", "tip [m]", "mean strain [%]"),
                      rows),),
        because="For a section of one material EI and EA make a polar radius of gyration that is "
        f"larger than the one of J_x ({radii}). An EA {suits / EA:.1f} times as large, {suits:.3g} "
        "N, would suit both; the mean strain at 80 rad/s is "
        f"{100 * stretch[80.0, suits] / LENGTH:.1f} % even then, and {100 * SMALL:.0f} % is taken "
        "for small.",
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


ITEMS = (
    Item(PAPER, "fig-2a", "Fig. 2(a): rotating link at 10 rad/s",
         "Chordwise deformations are almost the same with and without stiffening.", low_speed),
    Item(PAPER, "fig-2b", "Fig. 2(b): rotating link at 80 rad/s",
         "Without stiffening the result diverges, with it it converges.", high_speed),
    Item(PAPER, "critical-speed", "speed at which the unstiffened link becomes unstable",
         "Low speed is harmless, high speed diverges; where is not said.", critical_speed),
    Item(PAPER, "axial-stiffness", "the printed EA and the small-strain model",
         "EA = 2.84e7 N, rotation at up to 80 rad/s.", axial_stiffness),
    *FALL_ITEMS,
    Item(PAPER, "frequency-ratios", "frequencies over the two ratios",
         "Frequencies are parameterised by the ratio of link to rotor inertia and of link to joint "
         "stiffness.", frequency_ratios),
)  # fmt: skip
