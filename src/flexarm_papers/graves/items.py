"""Graves 1989: what V-Sim is said to do, run end to end.

The paper prints no data and no results: most of its statements are about scope, and what is a
number is what they imply.
"""

import math
import tempfile
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from scipy.integrate import solve_ivp
from scipy.special import ellipe, ellipeinc, ellipk, ellipkinc

from flexarm.formulations import DEFAULT, formulation
from flexarm.formulations.equation import Equation
from flexarm.io.overrides import change_arm
from flexarm.links.families.tabulated import write_modal_data
from flexarm.model import Model, build
from flexarm.runs.run import Run
from flexarm.spatial import Array
from flexarm_papers.base import Figure, Found, Item, Table, closed, curve
from flexarm_papers.beams.classical import CLAMPED_FREE, beam_roots
from flexarm_papers.graves.loads import (
    CHAINS,
    EQUATIONS,
    LOAD_ITEMS,
    METHOD,
    PAPER,
    SEEN,
    compared,
)
from flexarm_papers.readings import Grid, Reading, Scope, ways
from flexarm_papers.runs import apart, changed, column, plain_link, simulate, slopes, tip_deflection
from flexarm_papers.statements import Check, Limit, decide, search, undecidable

BOOM = LENGTH, DENSITY, EI = 7.11, 314.88 / 7.11, 3.8e6  # [m], [kg/m], [N m^2]
PUSH, T_END = "force at the tip", 1.0  # [s]
FORCES = {"10 N": 10.0, "1 kN": 1000.0}
PUSHED = Grid((METHOD.choices[0], ways(PUSH, *FORCES)), ((EQUATIONS, PUSH),))
# What is simulated: the Shuttle-like arm, and a chain that falls, by loads as stated too.
ARM, FALLING, PLACE, STATED_TOO = (
    "arm",
    "two links that fall",
    "looked at",
    "the paper's, as stated",
)
PUSHED_BY = {f"Shuttle-like, pushed by {push} from rest": push for push in FORCES}
SIMULATED = Grid((ways(ARM, *PUSHED_BY, FALLING), ways(PLACE, "its place", "deflections"),
                  ways(EQUATIONS, *PUSHED.choices[0].ways, STATED_TOO)),
                 ((ARM, PLACE, EQUATIONS),))  # fmt: skip
SECOND = "angle of the second rotational joint"
BASE = Grid((ways(SECOND, "0 deg", "30 deg", "60 deg", "90 deg"),))
TURN, LASTS = 0.5, 0.5  # [rad/s] of both joints, [s]
# A spring of the elbow that is soft up to a small angle and hardens beyond, and a soft one.
SOFT, BREAK = 1.5e5, 2e-5  # [N m/rad], [rad]
HARDENING = {
    "deflection": [-0.01, -BREAK, BREAK, 0.01],
    "effort": [-SOFT * (0.02 - BREAK), -SOFT * BREAK, SOFT * BREAK, SOFT * (0.02 - BREAK)],
}
SPRINGS: dict[str, Any] = {"soft": SOFT, "hardening": HARDENING}
# How a spinning link is modelled: formulation, as in its paper, stiffening.
SPUN = {
    "varying": (DEFAULT, False, False),
    "constant": ("kinematic-influence", True, False),
    "stiffened": (DEFAULT, False, True),
}
RATES = (10.0, 20.0, 40.0, 80.0)  # [rad/s]
BENT = (0.02, 0.1, 0.3, 0.6, 1.0)  # [rad] of a tip that is pushed aside
SAME = Limit(high=1.0, unit="%")  # as good as the same


def cantilever() -> Found:
    """Find the frequencies of a cantilever by the method of kinematic influence."""
    exact = np.square(beam_roots(CLAMPED_FREE, 3)) * math.sqrt(EI / DENSITY) / LENGTH**2
    rows, gaps = [], {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "boom.yaml"
        three = {"kind": "clamped-free", "bending_y": 3}
        elastic = build(plain_link(three, *BOOM)).links[0].beam
        assert elastic is not None  # the boom is flexible
        write_modal_data(file, elastic.shapes, elastic.span, stations=81)
        sources: dict[str, Mapping[str, Any]] = {
            "analytical": three,
            "finite elements": {"kind": "elements", "bending_y": 8},
            "a file of modal data": {"kind": "table", "file": str(file)},
        }
        for name, shapes in sources.items():
            found = _locked(shapes)[:3]
            gaps[name] = float(np.abs(found / exact - 1).max())
            rows.append((name, *(f"{x:.5f}" for x in found)))
    rows.append(("exact", *(f"{x:.5f}" for x in exact)))
    statements = (
        decide("structural data may be obtained from finite element or analytical methods",
               max(gaps.values()) < 2e-3, "frequencies are off by "
               + ", ".join(f"{gap:.1e} ({name})" for name, gap in gaps.items())),
        undecidable("or from experimental methods", "modes that were measured"),
    )  # fmt: skip
    checks = (
        Check("modes may come in a file, as measured ones would",
              gaps["a file of modal data"] < 2e-3, "analytical ones, written at 81 stations, read "
              f"back, give frequencies off by {gaps['a file of modal data']:.1e}"),
    )  # fmt: skip
    return Found(
        statements,
        tables=(Table("Cantilever [rad/s]", ("structural data", "1st", "2nd", "3rd"),
                      tuple(rows)),),
        checks=checks,
    )  # fmt: skip


def _locked(shapes: Mapping[str, Any]) -> Array:
    """Find frequencies of the clamped boom from M and K of the formulation [rad/s]."""
    model = build(plain_link(shapes, *BOOM), stiffening=False)
    mass = formulation("kinematic-influence", model).mass_matrix(np.zeros(model.size))[1:, 1:]
    squares = scipy.linalg.eigh(_stiffness(model), mass, eigvals_only=True)
    return np.asarray(np.sqrt(squares))


def _stiffness(model: Model) -> Array:
    """Find K of the boom's elastic coordinates by the method."""
    equation = formulation("kinematic-influence", model)
    stiff = slopes(equation, np.zeros(model.size), part="elastic")[1:, 1:]
    return np.asarray((stiff + stiff.T) / 2)


@cache
def _shuttle(spring: str, push: str, kind: str = DEFAULT, *, paper: bool = False) -> Run:
    """Simulate the Shuttle-like arm on its free base, pushed at the tip, modes from a file."""
    values: dict[str, Any] = {
        "links.6.wrenches": [{"at": "tip", "force": [0.0, 0.0, FORCES[push]]}],
        "links.3.joint.drive.stiffness": SPRINGS[spring], "contacts": [], "events": [],
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "upper-arm.yaml"
        elastic = build(changed("graves-rms")).links[1].beam
        assert elastic is not None  # the boom is flexible
        write_modal_data(file, elastic.shapes, elastic.span, stations=41)
        values["links.2.shapes"] = {"kind": "table", "file": str(file)}
        arm = change_arm(changed("graves-rms"), values)
        return simulate(arm, formulation=kind, t_end=T_END, dt=0.01, rtol=1e-6, paper=paper)


def shuttle(scope: Scope) -> Found:
    """Run the Shuttle-like arm by the method: free base, modes from a file, nonlinear spring."""
    readings = PUSHED.readings(scope)
    runs = {x: _shuttle("hardening", x[PUSH], "kinematic-influence",
                        paper=x[EQUATIONS] != "complete") for x in readings}  # fmt: skip

    def wound(reading: Reading, spring: str) -> float:
        return 100 * apart(_winding(runs[reading]), _winding(_shuttle(spring, reading[PUSH])))

    statements = (
        search("motion of links and base, and their coupling, are in the model", readings,
               lambda x: 100 * _momentum_off(runs[x], FORCES[x[PUSH]]), SAME,
               "distance of the momentum of arm and base from the impulse of the force, of it"),
        search("base motion is modelled as three rotational and three translational joints",
               BASE.readings(scope), _immobile, Limit(high=0.5),
               "motions of the base that these joints cannot make (eqs. 8 and 9)"),
        search("the equations of motion may be used in simulations",
               [x for x in SIMULATED.readings(scope)
                if x[ARM] == FALLING or x[EQUATIONS] != STATED_TOO], _strayed, SAME,
               "distance from what other equations give, of the tip's or joints' way, or of the "
               "range of deflections"),
        search("nonlinear flexibilities may be included", readings,
               lambda x: wound(x, "hardening"), SAME, "distance of the wind-up of an elbow whose "
               "spring hardens from that by the articulated-body recursion, of the range"),
        undecidable("results of V-Sim for the Shuttle's arm", "data and results"),
    )  # fmt: skip
    rows = tuple((str(x), run.status, f"{run.energy_balance:.1e}",
                  f"{np.abs(_winding(run)).max() / BREAK:.1f}",
                  f"{np.abs(run.q[-1, :3]).max():.1e}") for x, run in runs.items())  # fmt: skip
    first, whole = next(iter(runs.items()))
    least = min(wound(x, "soft") for x in readings)
    check = Check("the spring that hardens matters", least > SAME.high,
                  f"it changes the wind-up by {least:.2g} % of the range or more")  # fmt: skip
    winding = {"soft": _winding(_shuttle("soft", first[PUSH])), "hardening": _winding(whole)}
    return Found(
        statements,
        tables=(Table("Runs by the method: free base, tip force, modes from a file",
                      ("arm", "status", "energy balance", "wind-up of the elbow, of where it "
                       "hardens", "base has moved by [m]"), rows),),
        figures=(
            Figure("Wind-up of the elbow", "time [s]", "angle [rad]",
                   tuple(curve(name, whole.t, y) for name, y in winding.items()),
                   reading=str(first)),
            Figure("Orbiter, pushed through the arm", "time [s]", "displacement [m]",
                   tuple(curve(axis, whole.t, column(whole, f"base.{axis}")) for axis in "xyz"),
                   reading=str(first)),
        ),
        checks=(check,),
        because="The arm is pushed from rest for 1 s, so that nonlinear loads are small; as the "
        f"paper states them they are run on two links that fall from {TURN:g} rad/s.  The other "
        "equations are the articulated-body recursion there, composite inertias here.",
    )  # fmt: skip


def _immobile(reading: Reading) -> float:
    """Count motions of a base that six joints in a row do not make, the second turn given."""
    angle = math.radians(float(reading[SECOND].split()[0]))
    axes = [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [math.cos(angle), 0.0, -math.sin(angle)]]
    return 3.0 - float(np.linalg.matrix_rank(axes))  # the slides make all places


def _strayed(reading: Reading) -> float:
    """Measure how far a simulation strays from that by other equations [%]."""
    bent = reading[PLACE] == "deflections"
    if reading[ARM] == FALLING:
        modes = np.array(["." in x for x in build(changed(CHAINS[0])).names])
        ours, right = (_falls(x)[modes if bent else ~modes] for x in (reading[EQUATIONS], ""))
    else:
        push, paper = PUSHED_BY[reading[ARM]], reading[EQUATIONS] != "complete"
        both = (_shuttle("hardening", push, "kinematic-influence", paper=paper),
                _shuttle("hardening", push))  # fmt: skip
        own = [k for part in both[0].model.links if part.body.one_length for k in part.own]
        ours, right = (x.q[:, own].T if bent else x.tip.T for x in both)
    return 100 * float(np.abs(ours - right).max() / np.ptp(right, axis=1).max())


@cache
def _falls(how: str) -> Array:
    """Let two flexible links fall, by the method, or by composite inertias for "", (n, T)."""
    kind = {STATED_TOO: SEEN, "": "complete"}.get(how, how)
    model, ours, exact, stated = compared(CHAINS[0], kind)
    equation, n = ours if how else exact, model.size

    def rates(_: float, y: Array) -> Array:
        q, v = y[:n], y[n:]
        loads = equation.bias(q, v)
        if stated is not None:
            loads = loads - equation.parts(q, v)["coriolis"] + stated(q, v).full().ravel()
        return np.concatenate([v, np.linalg.solve(equation.mass_matrix(q), -loads)])

    joints = np.array(["." not in x for x in model.names])
    start = np.concatenate([TURN * joints, TURN * joints])  # [rad], [rad/s]
    t = np.linspace(0.0, LASTS, 51)
    return np.asarray(solve_ivp(rates, (0.0, LASTS), start, "DOP853", t, rtol=1e-6).y[:n])


def _winding(run: Run) -> Array:
    return column(run, "elbow-pitch") - column(run, "elbow-pitch.motor")


def _momentum_off(run: Run, force: float) -> float:
    """Compare the momentum of arm and base at the end with the impulse of the tip force."""
    equation = formulation("composite", run.model).with_reference(run.reference_attitudes[-1])
    momentum = (equation.mass_matrix(run.q[-1]) @ run.v[-1])[:3]
    return float(np.abs(momentum - [0.0, 0.0, force * T_END]).max() / (force * T_END))


def rotation_limit() -> Found:
    """Show when modes without stiffening fail: at high rates, and at large deflections."""
    spins = {
        (rate, name): _spun(rate, kind, paper=paper, stiffening=stiffening)
        for rate in RATES
        for name, (kind, paper, stiffening) in SPUN.items()
    }
    ends = {rate: {name: spins[rate, name] for name in SPUN} for rate in RATES}
    own = float(_locked({"kind": "clamped-free", "bending_y": 3})[0])
    fast, slow = ([x for r, x in ends.items() if (r > own) == above] for above in (True, False))
    far, near = ([x["varying"].most / LENGTH for x in part] for part in (fast, slow))
    bends = [bent(angle) for angle in BENT]
    grows = all(one.error < other.error for one, other in pairwise(bends))
    small, large = bends[0], bends[-1]
    statements = (
        decide("if inertial variations due to flexibility are included, modes without stiffening "
               "predict extremely large deflections and become unstable at high rotation rates",
               all(x["varying"].growth > 0 and not x["stiffened"].growth for x in fast)
               and not any(x["varying"].growth for x in slow) and min(far) > 0.5,
               f"above {own:.1f} rad/s, the link's own frequency, deflections grow like exp(s t), "
               + ", ".join(f"s = {x['varying'].growth:.1f}" for x in fast)
               + f" 1/s, and reach {min(far):.2f} of the length or more before the run stops; "
               f"below it the largest is {max(near):.2f}. With stiffening none grows"),
        decide("in general, these models are valid only for small link deflections",
               grows and small.error < 0.01 and large.error > 0.1,
               "pushed aside at its tip, the link of modes is off a beam that bends exactly by "
               + ", ".join(f"{100 * x.error:.2g} %" for x in bends) + " at deflections of "
               + ", ".join(f"{x.exact:.2g}" for x in bends) + " of the length"),
    )  # fmt: skip
    steady = [x["constant"].most / LENGTH for x in fast]
    checks = (
        Check("it is the inertial variations that do it",
               not any(x["constant"].growth for x in fast),
               "by the equations of the paper, whose inertias (eq. 25) do not vary, nothing grows; "
               f"the largest deflection is {max(steady):.2f} of the length"),
    )  # fmt: skip
    head = ["rate [rad/s]"]
    for name in SPUN:
        head += [f"{name}: largest deflection [m]", "growth [1/s]", "run"]
    spun = tuple(
        (f"{rate:g}",
         *(cell for x in found.values() for cell in (f"{x.most:.3g}", f"{x.growth:.4g}", x.status)))
        for rate, found in ends.items()
    )  # fmt: skip
    forced = tuple((f"{x.force:.4g}", f"{x.exact:.3g}", f"{x.modes:.3g}", f"{100 * x.error:.3g}")
                   for x in bends)  # fmt: skip
    tables = (
        Table(f"A link of {LENGTH:g} m spun up in 1 s; the paper: unstable at high rates",
              tuple(head), spun),
        Table("The link clamped and bent, deflections of its length; the paper: valid for small",
              ("tip force [N]", "exact", "by modes", "error [%]"), forced),
    )  # fmt: skip
    return Found(statements, tables=tables, checks=checks)


class Spun(NamedTuple):
    """A link that is spun up: how its run ends, its largest deflection [m], its growth [1/s]."""

    status: str
    most: float
    growth: float


class Bent(NamedTuple):
    """A cantilever under a tip force: deflections over the length, exact and by modes."""

    force: float
    exact: float
    modes: float

    @property
    def error(self) -> float:
        """Relative error of the modes."""
        return abs(self.modes / self.exact - 1)


def _spun(rate: float, kind: str, *, paper: bool, stiffening: bool) -> Spun:
    """Spin a link up in 1 s."""
    values = {"links.1.joint.motion.rate": rate, "links.1.joint.motion.duration": 1.0,
              "stiffening": stiffening}  # fmt: skip
    arm = changed("chen-rotating-link", values)
    run = simulate(arm, formulation=kind, t_end=2.0, dt=0.01, paper=paper)
    growth = _growth(rate, _link(kind, paper=paper, stiffening=stiffening))
    return Spun(run.status, float(np.abs(tip_deflection(run)).max()), growth)


@cache
def _link(kind: str, *, paper: bool, stiffening: bool) -> Equation:
    model = build(changed("chen-rotating-link"), stiffening=stiffening)
    return formulation(kind, model, paper=paper)


def _growth(rate: float, equation: Equation) -> float:
    """Find how fast deflections grow at a steady rate [1/s]; 0 if they do not."""
    q, v = np.zeros(equation.model.size), np.zeros(equation.model.size)
    v[0] = rate
    stiff, mass = slopes(equation, q, v)[1:, 1:], equation.mass_matrix(q)[1:, 1:]
    least = float(np.linalg.eigvals(np.linalg.solve(mass, stiff)).real.min())
    return math.sqrt(max(-least, 0.0))


def bent(angle: float) -> Bent:
    """Push a cantilever's tip aside until it turns by an angle [rad], exactly and by modes.

    Notes
    -----
    The exact one is the elastica under a force that keeps its direction (Bisshopp & Drucker 1945).
    """
    m = (1 + math.sin(angle)) / 2
    start = math.asin(1 / math.sqrt(2 * m))
    load = float(ellipk(m) - ellipkinc(start, m))
    exact = 1 - 2 * float(ellipe(m) - ellipeinc(start, m)) / load
    force = load**2 * EI / LENGTH**2
    return Bent(force, exact, force * _tip_compliance() / LENGTH)


@cache
def _tip_compliance() -> float:
    """Find the deflection of the clamped boom's tip per force, by ten modes [m/N]."""
    model = build(plain_link({"kind": "clamped-free", "bending_y": 10}, *BOOM), stiffening=False)
    elastic = model.links[0].beam
    assert elastic is not None  # the boom is flexible
    tip = elastic.shapes.values("y", np.array([LENGTH]))[0]
    return float(tip @ np.linalg.solve(_stiffness(model), tip))


ITEMS = (
    Item(PAPER, "cantilever", "frequencies of a cantilever", closed(cantilever)),
    Item(PAPER, "shuttle-arm", "a Shuttle-like arm on a free base", shuttle,
         Grid((*SIMULATED.choices, PUSHED.choices[1], *BASE.choices))),
    *LOAD_ITEMS,
    Item(PAPER, "rotation-limit", "modes without stiffening at high rates", closed(rotation_limit)),
)  # fmt: skip
