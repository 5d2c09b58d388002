"""Chen, Zhang & Liu 2012: stiffening of a rotating link, and a spatial fall with elastic joints."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import casadi as ca
import numpy as np
from scipy.optimize import brentq

from flexarm.formulations import DEFAULT
from flexarm.integrate.simulate import simulate
from flexarm.linear.equilibrium import equilibrium
from flexarm.linear.modes import modes
from flexarm.links.beams.classical import CLAMPED_FREE, beam_roots
from flexarm.mechanics.kinematics import tip_section
from flexarm.model import build
from flexarm.papers.base import (
    Claim,
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
from flexarm.papers.chen.fall import FALL_ITEMS, PAPER
from flexarm.papers.chen.ratios import EI, LENGTH, MASS, frequency_ratios
from flexarm.papers.runs import apart, changed, tip_deflection
from flexarm.runs.run import Run

EA = 2.84e7  # [N]
POLAR = 15.41  # [kg m^2], of a boom about its axis
SMALL = 0.05  # mean strain: what is taken for "small deformation"
SPIN_UPS = (1.0, 5.0, 15.0)  # [s], of the law that the paper does not give
SHOWN = 2.0  # [s] of a uniform rotation; the paper does not say for how long
DURATIONS = (0.5, 1.0, 2.0)  # [s], from one vibration and a half on
# What may set a uniformly rotating link vibrating: coordinates and rates at the start.
STARTS: dict[str, dict[str, dict[str, float]]] = {
    "tip bent by 0.05 m": {"start": {"y1": 0.05}},
    "tip bent by 0.05 m in the second mode": {"start": {"y2": 0.05}},
    "tip struck, 1 m/s": {"start_speed": {"y1": 1.0}},
}
MAIN = "tip bent by 0.05 m"
ALMOST = 0.10  # of the range: what is taken for "almost the same"


@cache
def _spin(rate: float, rise: float, *, stiffening: bool) -> Run:
    arm = changed(
        "chen-rotating-link",
        {"links.1.joint.motion.rate": rate, "links.1.joint.motion.duration": rise,
         "stiffening": stiffening},
    )  # fmt: skip
    return simulate(arm, t_end=rise + 2.0, dt=0.005)


@cache
def _uniform(
    rate: float, how: str = MAIN, *, stiffening: bool | None = None, paper: bool = False
) -> Run:
    """Rotate the link uniformly from the start, by our equations or the paper's."""
    times = [0.0, 1.0, 2.0, 3.0]
    motion = {"kind": "table", "times": times, "values": [rate * t for t in times],
              "interpolation": "cubic"}  # fmt: skip
    values: dict[str, Any] = {"links.1.joint.motion": motion, "links.1.shapes.normalise": "tip",
              **{f"links.1.{key}": value for key, value in STARTS[how].items()}}  # fmt: skip
    if stiffening is not None:
        values["stiffening"] = stiffening
    arm, kind = changed("chen-rotating-link", values), "recursive-lagrange" if paper else DEFAULT
    return simulate(arm, formulation=kind, t_end=SHOWN, dt=0.005, paper=paper)


def low_speed() -> Found:
    """Compare the chordwise deformation at 10 rad/s with and without stiffening."""
    says = "with uniform rotation at 10 rad/s almost the same with and without stiffening"
    runs = {how: [_uniform(10.0, how, stiffening=x) for x in (False, True)] for how in STARTS}
    gaps = {how: _gap(*pair) for how, pair in runs.items()}
    lasting = {t: _gap(*runs[MAIN], end=t) for t in DURATIONS}
    spun = {rise: [_spin(10.0, rise, stiffening=x) for x in (False, True)] for rise in SPIN_UPS}
    gaps |= {f"what a spin-up of {x:g} s leaves": _gap(*pair, begin=x) for x, pair in spun.items()}
    rates = {x: _lowest(10.0, stiffening=x) for x in (True, False)}
    printed = _uniform(10.0, paper=True)
    paper = _gap(printed, runs[MAIN][1])
    claims = (
        decide(says, gaps[MAIN] < ALMOST,
               f"apart by {100 * gaps[MAIN]:.2g} % of the range in {SHOWN:g} s ({MAIN}), by "
               f"{100 * min(gaps.values()):.2g} % or more whatever sets the link vibrating; "
               f"{100 * ALMOST:.0f} % is taken for almost the same"),
        decide("the dynamic stiffening effects are captured", paper < 0.01,
               f"the paper's equations are off the complete ones by {100 * paper:.2g} % of the "
               "range"),
    )  # fmt: skip
    rise = SPIN_UPS[-1]
    said = "distance between both models, of the range"
    return Found(
        claims,
        Difference(gaps[MAIN], f"rms between both models over the range, uniform rotation, {MAIN}"),
        figures=(
            Figure(f"Fig. 2(a): 10 rad/s, uniform rotation, {MAIN}", *AXES,
                   (*_both(_uniform, 10.0), _marked(printed, every=8))),
            Figure(f"While the speed rises to 10 rad/s in {rise:g} s", *AXES,
                   (*_both(_spin, 10.0, rise), _marked(_as_printed(10.0)))),
        ),
        missing=(
            Missing("what sets the uniformly rotating link vibrating", said, tuple(gaps),
                    tuple(gaps.values()), ALMOST, (says,)),
            Missing(f"duration [s] ({MAIN})", said, DURATIONS, tuple(lasting.values()), ALMOST,
                    (says,)),
        ),
        because="What sets the link vibrating is not said, but whatever does, it vibrates at "
        f"{rates[True]:.2f} rad/s with stiffening and at {rates[False]:.2f} rad/s without: after "
        f"{np.pi / abs(rates[True] - rates[False]):.2g} s the two are in opposition.",
        checks=_while_rising(spun),
    )  # fmt: skip


def _gap(one: Run, other: Run, *, begin: float = 0.0, end: float = np.inf) -> float:
    """Measure how far the tip's deflections of two runs are apart within a time."""
    within = (one.t >= begin) & (one.t <= end)
    return apart(tip_deflection(one)[within], tip_deflection(other)[within])


def _while_rising(spun: Mapping[float, Sequence[Run]]) -> tuple[Claim, ...]:
    """Check what holds while the speed rises from rest, which is no uniform rotation."""
    gaps = {rise: _gap(*pair) for rise, pair in spun.items()}
    shown = ", ".join(f"{100 * gap:.2g} % of the range ({x:g} s)" for x, gap in gaps.items())
    return (
        decide("almost the same while the speed rises to 10 rad/s from rest",
               max(gaps.values()) < ALMOST, f"apart by {shown}, from rest on"),
    )  # fmt: skip


AXES = ("time [s]", "chordwise tip deflection [m]")


def _both(motion: Callable[..., Run], *values: float) -> tuple[Curve, ...]:
    """Give the tip's deflection with and without stiffening."""
    labels = {True: "with stiffening", False: "without stiffening"}
    runs = {x: motion(*values, stiffening=x) for x in labels}
    return tuple(curve(labels[x], run.t, tip_deflection(run)) for x, run in runs.items())


def _marked(run: Run, *, every: int = 40) -> Curve:
    return curve("equations of the paper", run.t, tip_deflection(run), points=True, every=every)


@cache
def _as_printed(rate: float) -> Run:
    """Spin the link up in 15 s by the equations of the paper, which have stiffening."""
    arm = changed(
        "chen-rotating-link",
        {"links.1.joint.motion.rate": rate, "links.1.joint.motion.duration": 15.0},
    )
    return simulate(arm, formulation="recursive-lagrange", t_end=17.0, dt=0.005, paper=True)


def high_speed() -> Found:
    """Compare the chordwise deformation at 80 rad/s with and without stiffening."""
    runs = {f"uniform, {MAIN}": [_uniform(80.0, stiffening=s) for s in (True, False)]}
    runs |= {f"spin-up of {x:g} s": [_spin(80.0, x, stiffening=s) for s in (True, False)]
             for x in SPIN_UPS}  # fmt: skip
    rows = tuple(
        (how, f"{np.abs(tip_deflection(on)).max():.4g}", on.status, f"{off.t[-1]:.3f}", off.status)
        for how, (on, off) in runs.items()
    )
    growth = _fastest_growth(80.0, stiffening=False)
    theory = float(np.sqrt(80.0**2 - _own_frequency() ** 2))
    printed = _uniform(80.0, paper=True)
    largest = float(np.abs(tip_deflection(printed)).max())
    claims = (
        decide("without stiffening the result is divergent at 80 rad/s",
               growth > 0 and all(row[4] == "stopped" for row in rows),
               "ends at " + ", ".join(f"{row[3]} s ({row[0]})" for row in rows)
               + f"; it grows by {growth:.2f} 1/s, sqrt(80^2 - omega_1^2) = {theory:.2f}"),
        decide("with stiffening it is still convergent",
               all(row[2] == "finished" for row in rows)
               and _fastest_growth(80.0, stiffening=True) <= 0,
               "largest tip deflection " + ", ".join(f"{row[1]} m ({row[0]})" for row in rows)),
        decide("the dynamic stiffening effects are captured", printed.status == "finished",
               f"largest tip deflection {largest:.4g} m by the paper's equations, {MAIN}"),
    )  # fmt: skip
    rise = SPIN_UPS[-1]
    head = ("motion", "largest with stiffening [m]", "it", "without: end [s]", "it")
    return Found(
        claims,
        Difference(abs(growth / theory - 1), "growth rate, relative to that of one mode"),
        tables=(Table("Runs at 80 rad/s", head, rows),),
        figures=(
            Figure(f"Fig. 2(b): 80 rad/s, uniform rotation, {MAIN}", *AXES,
                   (*_both(_uniform, 80.0), _marked(printed, every=8))),
            Figure(f"80 rad/s, reached in {rise:g} s", *AXES,
                   (*_both(_spin, 80.0, rise), _marked(_as_printed(80.0)))),
        ),
    )  # fmt: skip


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
    lam = float(beam_roots(CLAMPED_FREE, 1)[0])
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
        decide("stable at 10 rad/s, divergent at 80 rad/s without stiffening",
               10.0 < speed < 80.0,
               f"unstable above {speed:.4f} rad/s, the link's first frequency ({own:.4f} rad/s)"),
        decide("with stiffening still convergent at 80 rad/s", bool(curves[0].y[-1] > 0),
               f"the least squared frequency is {curves[0].y[-1]:.1f} 1/s^2"),
    )  # fmt: skip
    checks = (
        decide("with stiffening there is no critical speed up to 80 rad/s",
               bool(np.all(curves[0].y > 0)),
               f"the least squared frequency is {curves[0].y.min():.1f} 1/s^2 or more"),
    )  # fmt: skip
    return Found(
        claims,
        Difference(abs(speed / own - 1), "critical speed, relative to the first frequency"),
        figures=(
            Figure("Stability of the rotating link", "speed [rad/s]",
                   "least squared frequency [1/s^2]", tuple(curves)),
        ),
        checks=checks,
    )  # fmt: skip


def axial_stiffness() -> Found:
    """Find how far the printed EA lets the link stretch."""
    rates = (10.0, 80.0)
    # of one material, a section with equal EI has the radii EI/EA + EI/EA = J_x/m
    suits = 2 * EI * MASS / POLAR
    stretch = {(rate, stiff): _stretch(rate, stiff) for rate in rates for stiff in (EA, suits)}
    strain = {key: x / LENGTH for key, x in stretch.items()}
    linear = {rate: MASS / LENGTH * rate**2 * LENGTH**2 / (2 * EA) for rate in rates}
    claims = tuple(
        decide(f"'the assumption of small deformation of the links', at {rate:g} rad/s with the "
               "printed EA", strain[rate, EA] < SMALL,
               f"the tip moves out by {stretch[rate, EA]:.2g} m, a mean strain of "
               f"{100 * strain[rate, EA]:.2g} %; undeformed, the root would be strained by "
               f"{100 * linear[rate]:.2g} %; {100 * SMALL:.0f} % is taken for small")
        for rate in rates
    )  # fmt: skip
    rows = tuple(
        (f"{rate:g}", f"{stiff:.3g}", f"{x:.4f}", f"{100 * x / LENGTH:.2f}")
        for (rate, stiff), x in stretch.items()
    )
    radii = f"{np.sqrt(2 * EI / EA):.3f} m against {np.sqrt(POLAR / MASS):.3f} m"
    checks = (
        decide("EI and EA suit J_x, for a section of one material",
               abs(suits / EA - 1) < 0.1,
               f"their polar radius of gyration is {radii}; an EA {suits / EA:.1f} times as large, "
               f"{suits:.3g} N, would suit"),
        decide("with an EA that suits J_x deformations are small at 80 rad/s",
               strain[80.0, suits] < SMALL, f"mean strain {100 * strain[80.0, suits]:.1f} %"),
    )  # fmt: skip
    return Found(
        claims,
        Difference(strain[80.0, EA], "mean strain at 80 rad/s with the printed EA"),
        tables=(Table("Steady stretch", ("speed [rad/s]", "EA [N]", "tip [m]", "mean strain [%]"),
                      rows),),
        because="The model is written for small deformations (before eq. 2), includes stretching "
        "and is used with this EA at 80 rad/s, where the link is out of its own assumption.",
        checks=checks,
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
         "With uniform rotation at low speed, the chordwise deformations of the link tip are "
         "almost the same wherever the dynamic stiffening effects are considered or ignored.",
         low_speed),
    Item(PAPER, "fig-2b", "Fig. 2(b): rotating link at 80 rad/s",
         "With uniform rotation at high speed, the result without stiffening will be divergent, "
         "that with stiffening is still convergent.", high_speed),
    Item(PAPER, "critical-speed", "speed at which the unstiffened link becomes unstable",
         "Low speed is harmless, high speed diverges; where is not said.", critical_speed),
    Item(PAPER, "axial-stiffness", "the printed EA and the small-strain model",
         "The model is written 'according to the assumption of small deformation of the links', "
         "stretching included; the link has EA = 2.84e7 N and rotates at up to 80 rad/s.",
         axial_stiffness),
    *FALL_ITEMS,
    Item(PAPER, "frequency-ratios", "frequencies over the two ratios",
         "Frequencies are parameterised by the ratio of link to rotor inertia and of link to joint "
         "stiffness.", frequency_ratios),
)  # fmt: skip
