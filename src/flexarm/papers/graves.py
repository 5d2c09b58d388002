"""Graves 1989: what V-Sim is said to do, run end to end.

The paper prints no data and no results, so that its statements are about scope.
"""

import math
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg

from flexarm.arm import Arm
from flexarm.formulations import formulation
from flexarm.integrate.run import Run
from flexarm.links.base import Array
from flexarm.links.classical import BeamEnds, beam_roots
from flexarm.links.tabulated import write_modal_data
from flexarm.model import build
from flexarm.papers.base import (
    Difference,
    Figure,
    Found,
    Item,
    Table,
    curve,
    decide,
    undecidable,
)
from flexarm.papers.runs import apart, changed, column, run_by, tip_deflection

PAPER = "graves-1989"
LENGTH, DENSITY, EI = 7.11, 314.88 / 7.11, 3.8e6  # [m], [kg/m], [N m^2] of a boom
FORCE, T_END = 10.0, 1.0  # [N] at the tip, [s]
# A spring of the elbow that is soft up to a small angle and hardens beyond, and a soft one.
SOFT, BREAK = 1.5e5, 2e-5  # [N m/rad], [rad]
HARDENING = {
    "deflection": [-0.01, -BREAK, BREAK, 0.01],
    "effort": [-SOFT * (0.02 - BREAK), -SOFT * BREAK, SOFT * BREAK, SOFT * (0.02 - BREAK)],
}
SPRINGS: dict[str, Any] = {"soft": SOFT, "hardening": HARDENING}
LOADED = {"links.6.wrenches": [{"at": "tip", "force": [0.0, 0.0, FORCE]}]}


def cantilever() -> Found:
    """Find the frequencies of a cantilever by the method of kinematic influence."""
    exact = np.square(beam_roots(BeamEnds(hub=math.inf), 3)) * math.sqrt(EI / DENSITY) / LENGTH**2
    rows, gaps = [], {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "boom.yaml"
        elastic = build(_boom({"kind": "clamped-free", "bending_y": 3})).links[0].elastic
        assert elastic is not None  # the boom is flexible
        write_modal_data(file, elastic.shapes, elastic.span, stations=81)
        sources: dict[str, dict[str, Any]] = {
            "analytical": {"kind": "clamped-free", "bending_y": 3},
            "finite elements": {"kind": "elements", "bending_y": 8},
            "a file of modal data": {"kind": "table", "file": str(file)},
        }
        for name, shapes in sources.items():
            found = _locked(shapes)[:3]
            gaps[name] = float(np.abs(found / exact - 1).max())
            rows.append((name, *(f"{x:.5f}" for x in found)))
    rows.append(("exact", *(f"{x:.5f}" for x in exact)))
    claims = (
        decide("V-Sim simulates cantilever beams by a finite number of modes",
               gaps["analytical"] < 1e-6, f"three frequencies to {gaps['analytical']:.1e}"),
        decide("structural data may come from finite elements, analysis or other sources",
               max(gaps.values()) < 2e-3,
               ", ".join(f"{name}: {gap:.1e}" for name, gap in gaps.items())),
    )  # fmt: skip
    return Found(
        claims,
        Difference(max(gaps.values()), "largest relative difference from the exact frequencies"),
        tables=(Table("Cantilever [rad/s]", ("structural data", "1st", "2nd", "3rd"),
                      tuple(rows)),),
    )  # fmt: skip


def _boom(shapes: dict[str, Any]) -> Arm:
    return changed(
        "chen-rotating-link",
        {"links.1.joint": {"kind": "revolute"}, "links.1.shapes": shapes},
    )


def _locked(shapes: dict[str, Any]) -> Array:
    """Find frequencies of the clamped boom from M and K of the formulation [rad/s]."""
    model = build(_boom(shapes), stiffening=False)
    equation = formulation("kinematic-influence", model)
    rest = list(range(1, model.size))
    zero = np.zeros(model.size)
    mass = equation.mass_matrix(zero)[np.ix_(rest, rest)]
    rows = [equation.parts(row, zero)["elastic"][rest] for row in np.eye(model.size)[rest]]
    stiff = np.array(rows)
    squares = scipy.linalg.eigh((stiff + stiff.T) / 2, mass, eigvals_only=True)
    return np.asarray(np.sqrt(squares))


@cache
def _shuttle(spring: str, kind: str = "articulated", *, from_file: bool = True) -> Run:
    """Simulate the Shuttle-like arm on its free base, pushed at the tip."""
    values: dict[str, Any] = dict(LOADED)
    values["links.3.joint.drive.stiffness"] = SPRINGS[spring]
    with tempfile.TemporaryDirectory() as folder:
        if from_file:
            file = Path(folder) / "upper-arm.yaml"
            elastic = build(changed("graves-rms")).links[1].elastic
            assert elastic is not None  # the boom is flexible
            write_modal_data(file, elastic.shapes, elastic.span, stations=41)
            values["links.2.shapes"] = {"kind": "table", "file": str(file)}
        arm = changed("graves-rms", values)
        return run_by(arm, kind, t_end=T_END, dt=0.01, method="dop853", rtol=1e-8)


def shuttle() -> Found:
    """Run the Shuttle-like arm by the method: free base, modes from a file, nonlinear spring."""
    whole = _shuttle("hardening", "kinematic-influence")
    runs = {
        "all of it, kinematic influence": whole,
        "all of it, articulated": _shuttle("hardening"),
        "its own modes, articulated": _shuttle("hardening", from_file=False),
        "a spring that stays soft, articulated": _shuttle("soft"),
    }
    # the same coordinates, and a model whose file is still there
    model = runs["its own modes, articulated"].model
    equation = formulation("kinematic-influence", model).anchored(whole.anchors[-1])
    momentum = (equation.mass_matrix(whole.q[-1]) @ whole.v[-1])[:3]
    off = float(np.abs(momentum - [0.0, 0.0, FORCE * T_END]).max() / (FORCE * T_END))
    way = float(np.abs(whole.tip - whole.tip[0]).max())
    apart_by = {name: float(np.abs(run.tip - whole.tip).max()) / way for name, run in runs.items()}
    winding = {
        name: column(run, "elbow-pitch") - column(run, "elbow-pitch.motor")
        for name, run in (("soft", _shuttle("soft")), ("hardening", whole))
    }
    changed_by = apart(winding["hardening"], winding["soft"])
    beyond = float(np.abs(winding["hardening"]).max() / BREAK)
    base = float(np.abs(whole.q[-1, :3]).max())
    claims = (
        decide("motion of links and base, and their coupling, are in the model",
               off < 1e-6 and base > 0,
               f"the base has moved by {base:.2e} m; momentum is the impulse to {off:.1e}"),
        decide("the method gives the equations of motion for simulation",
               apart_by["all of it, articulated"] < 1e-6,
               "the tip moves as by the articulated-body recursion to "
               f"{apart_by['all of it, articulated']:.1e}"),
        decide("structural data may be read from elsewhere",
               apart_by["its own modes, articulated"] < 1e-3,
               "with the boom's own modes the tip moves the same to "
               f"{apart_by['its own modes, articulated']:.1e}"),
        decide("nonlinear flexibilities may be included", beyond > 1 and changed_by > 0.01,
               f"an elbow that hardens winds up {beyond:.1f} times as far as where it does, and by "
               f"{100 * changed_by:.0f} % of the range differently from one that stays soft"),
        undecidable("results of V-Sim for the Shuttle's arm", "data and results"),
    )  # fmt: skip
    rows = tuple(
        (name, run.status, f"{run.energy_balance:.1e}", run.method) for name, run in runs.items()
    )
    return Found(
        claims,
        Difference(off, "momentum of arm and base against the impulse, relative"),
        tables=(Table("Runs: free base, tip force, modes from a file, hardening spring",
                      ("arm", "status", "energy balance", "method"), rows),),
        figures=(
            Figure("Wind-up of the elbow", "time [s]", "angle [rad]",
                   tuple(curve(name, whole.t, y) for name, y in winding.items())),
            Figure("Orbiter, pushed through the arm", "time [s]", "displacement [m]",
                   tuple(curve(axis, whole.t, column(whole, f"base.{axis}")) for axis in "xyz")),
        ),
    )  # fmt: skip


def compensation() -> Found:
    """Find inertia matrix and nonlinear torques, as control laws need them."""
    model = build(changed("graves-rms"))
    rng = np.random.default_rng(0)
    q, v = 0.1 * rng.standard_normal(model.size), 0.05 * rng.standard_normal(model.size)
    ours, other = (formulation(name, model) for name in ("kinematic-influence", "composite"))
    mass, expected = ours.mass_matrix(q), other.mass_matrix(q)
    scale = np.sqrt(np.diag(expected))
    off_mass = float(np.abs((mass - expected) / np.outer(scale, scale)).max())
    # elastic forces are the same code in both, and much larger
    bias, wanted = (each.parts(q, v)["coriolis"] / scale for each in (ours, other))
    off_bias = float(np.abs(bias - wanted).max() / np.abs(wanted).max())
    a = rng.standard_normal(model.size)
    effort = mass @ a + ours.bias(q, v)
    back = np.linalg.solve(mass, effort - other.bias(q, v))
    off_a = float(np.abs((back - a) * scale).max() / np.abs(a * scale).max())
    claims = (
        decide("the system inertia matrix can be obtained", off_mass < 1e-10,
               f"that of composite to {off_mass:.1e}"),
        decide("the nonlinear torques can be obtained", off_bias < 1e-8,
               f"those of composite to {off_bias:.1e}"),
        decide("together they compensate: wanted accelerations come out", off_a < 1e-6,
               f"to {off_a:.1e}"),
    )  # fmt: skip
    return Found(claims, Difference(max(off_mass, off_bias), "largest scaled difference"))


def rotation_limit() -> Found:
    """Show when modes without stiffening fail at high rates of rotation."""
    ends = {
        (rate, name): _spun(rate, kind, paper=paper, stiffening=stiffening)
        for rate in (10.0, 80.0)
        for name, kind, paper, stiffening in (
            ("varying", "articulated", False, False),
            ("constant", "kinematic-influence", True, False),
            ("stiffened", "articulated", False, True),
        )
    }
    fast = {name: end for (rate, name), end in ends.items() if rate > 10}
    claims = (
        decide("if inertial variations due to flexibility are included, modes without stiffening "
               "predict extremely large deflections and become unstable at high rotation rates",
               fast["varying"][0] == "stopped" and fast["stiffened"][0] == "finished",
               f"at 80 rad/s the run ends at a tip deflection of {fast['varying'][1]:.2g} m; with "
               f"stiffening the largest is {fast['stiffened'][1]:.2g} m"),
        decide("it is these variations that do it", fast["constant"][0] == "finished",
               "by the equations of the paper, whose inertias (eq. 25) do not vary, the run at 80 "
               f"rad/s goes to its end; the largest is {fast['constant'][1]:.2g} m"),
        decide("such models are valid for small deflections",
               ends[10.0, "varying"][0] == "finished",
               "at 10 rad/s the largest is "
               + ", ".join(f"{end[1]:.2g} m ({name})" for (rate, name), end in ends.items()
                           if rate == 10)),
    )  # fmt: skip
    return Found(claims, Difference(None, "the paper has no numbers"))


def _spun(rate: float, kind: str, *, paper: bool, stiffening: bool) -> tuple[str, float]:
    """Spin a link up in 1 s; tell how the run ends and its largest tip deflection [m]."""
    motion = {"links.1.joint.motion.rate": rate, "links.1.joint.motion.duration": 1.0}
    run = run_by(changed("chen-rotating-link", motion), kind, t_end=2.0, dt=0.01, paper=paper,
                 stiffening=stiffening)  # fmt: skip
    return run.status, float(np.abs(tip_deflection(run)).max())


ITEMS = (
    Item(PAPER, "cantilever", "frequencies of a cantilever",
         "V-Sim is used from cantilever beams to the Shuttle's arm; structural data come from "
         "experiments, finite elements or analysis.", cantilever),
    Item(PAPER, "shuttle-arm", "a Shuttle-like arm on a free base",
         "Links and joints bend, the base moves, nonlinear flexibilities may be included.",
         shuttle),
    Item(PAPER, "compensation", "inertia matrix and nonlinear torques",
         "The method gives both, as control with dynamical compensation needs.", compensation),
    Item(PAPER, "rotation-limit", "modes without stiffening at high rates",
         "If inertial variations due to flexibility are included, such models predict extremely "
         "large deflections and become unstable at high rotation rates.", rotation_limit),
)  # fmt: skip
