"""Graves 1989: the Shuttle's mission, structural data, and the limits of modes.

The paper prints no data and no results: most of its statements are about scope, and numbers are
those that the statements imply.
"""

import math
import tempfile
from functools import cache
from itertools import combinations, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse
from scipy.special import ellipe, ellipeinc, ellipk, ellipkinc

import flexarm
from flexarm.formulations import DEFAULT, formulation
from flexarm.formulations.equation import Equation
from flexarm.links.families.tabulated import write_modal_data
from flexarm.links.imported.file import write_body
from flexarm.model import Model, build
from flexarm.runs.run import Run
from flexarm.spatial import Array
from flexarm_papers.base import Figure, Found, Item, Table, curve
from flexarm_papers.beams.classical import CLAMPED_FREE, beam_roots
from flexarm_papers.graves.loads import christoffel, inertia, influence
from flexarm_papers.runs import changed, column, discord, plain_link, simulate, slopes
from flexarm_papers.verdicts import FREQUENCY, HISTORY, claim, general, measured, untested

PAPER = "graves-1989"
BOOM = LENGTH, DENSITY, EI = 7.11, 314.88 / 7.11, 3.8e6  # [m], [kg/m], [N m^2]
MISSION, PERIOD = 60.0, 0.1  # [s]: slew, release of a satellite, brakes, capture of a canister
PUSH, PUSHED = 1000.0, 1.0  # [N], [s]
# A spring of the elbow that is soft up to a small angle and hardens beyond.
SOFT, BREAK = 1.5e5, 2e-5  # [N m/rad], [rad]
HARDENING = {
    "deflection": [-0.01, -BREAK, BREAK, 0.01],
    "effort": [-SOFT * (0.02 - BREAK), -SOFT * BREAK, SOFT * BREAK, SOFT * (0.02 - BREAK)],
}
# How a spinning link is modelled: formulation, as in its paper, stiffening.
SPUN = {
    "varying inertia, no stiffening": (DEFAULT, False, False),
    "constant inertia (eq. 25)": ("kinematic-influence", True, False),
    "stiffening": (DEFAULT, False, True),
}
RATES = (10.0, 20.0, 40.0, 80.0)  # [rad/s]
BENT = (0.02, 0.1, 0.3, 0.6, 1.0)  # [rad] of a tip that is pushed aside
REVIEW = "Review of previous work"


@cache
def mission() -> Run:
    """Simulate the Shuttle-like arm's mission by the method of kinematic influence."""
    return simulate(changed("graves-rms"), formulation="kinematic-influence", t_end=MISSION,
                    dt=PERIOD, allow_long=True)  # fmt: skip


@cache
def _pushed(spring: str, kind: str = "kinematic-influence") -> Run:
    """Push the tip of the Shuttle-like arm on its free base, its elbow's spring soft or hard."""
    values: dict[str, Any] = {
        "links.6.wrenches": [{"at": "tip", "force": [0.0, 0.0, PUSH]}],
        "links.3.joint.drive.stiffness": HARDENING if spring == "hardening" else SOFT,
        "contacts": [], "events": [],
    }  # fmt: skip
    arm = changed("graves-rms", values)
    return simulate(arm, formulation=kind, t_end=PUSHED, dt=0.01, rtol=1e-6)


def shuttle() -> Found:
    """Run the Shuttle's mission, and a push with a nonlinear spring, by the method."""
    run = mission()
    assert run.status == "finished"
    assert run.energy_balance is not None  # the run has finished
    assert run.momentum_balance is not None
    energy, momentum = abs(run.energy_balance), abs(run.momentum_balance)
    happened = ", ".join(f"{x.what} at {x.t:.1f} s" for x in run.event_records)
    winding, other, soft = (_winding(_pushed(*x)) for x in
                            (("hardening",), ("hardening", DEFAULT), ("soft",)))  # fmt: skip
    pushed = _pushed("hardening")
    joints = [x for x in run.model.names if x in ("shoulder-yaw", "shoulder-pitch", "elbow-pitch")]
    return Found(
        (
            measured("motion of links and base, and their coupling, are in the model", "abstract",
                     claim("momentum of arm and base, off the impulse", high=1.0, unit="%"),
                     100 * _momentum_off(pushed)),
            measured("base motion is modelled as three rotational and three translational joints",
                     "before eq. 8", claim("motions of the base without a joint", high=0.5),
                     _immobile(0.0), beside={"second angle at 90 deg": _immobile(math.pi / 2)}),
            measured("nonlinear flexibilities may be included", "abstract, eq. 16",
                     claim("distance of a hardening spring's winding from that by another "
                           "formulation", high=HISTORY.limit.high, unit="%"),
                     100 * discord(winding, other),
                     beside={"change by the hardening [%]": 100 * discord(soft, other)}),
            untested("V-Sim simulates the Shuttle's arm", "V-Sim", "its data and results"),
        ),
        figures=(
            Figure("Mission of the Shuttle-like arm by kinematic influence", "time [s]",
                   "joint angle [rad]", tuple(curve(x, run.t, column(run, x)) for x in joints)),
            Figure("Orbiter during the mission", "time [s]", "displacement [m]",
                   tuple(curve(x, run.t, column(run, f"base.{x}")) for x in "xyz")),
        ),
        text=f"The mission is flexarm's: {MISSION:g} of the 90 s of the sample graves-rms by the "
        "method, with all terms that eq. 25 and the paper's nonlinear loads leave out: "
        f"{happened}. Energy is conserved to {energy:.1e} and momentum to {momentum:.1e}.",
    )  # fmt: skip


def _winding(run: Run) -> Array:
    return column(run, "elbow-pitch") - column(run, "elbow-pitch.motor")


def _momentum_off(run: Run) -> float:
    """Return the distance of the momentum of arm and base from the impulse of the tip force."""
    equation = formulation("composite", run.model).with_reference(run.reference_attitudes[-1])
    momentum = (equation.mass_matrix(run.q[-1]) @ run.v[-1])[:3]
    return float(np.abs(momentum - [0.0, 0.0, PUSH * PUSHED]).max() / (PUSH * PUSHED))


def _immobile(angle: float) -> float:
    """Return the motions of a base that six joints in a row do not make, the second turned."""
    axes = [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [math.cos(angle), 0.0, -math.sin(angle)]]
    return 3.0 - float(np.linalg.matrix_rank(axes))  # the slides make all places


def structural_data() -> Found:
    """Compare frequencies of a boom with shapes from four sources of structural data."""
    exact = np.square(beam_roots(CLAMPED_FREE, 3)) * math.sqrt(EI / DENSITY) / LENGTH**2
    three = {"kind": "clamped-free", "bending_y": 3}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "boom.yaml"
        beam = build(plain_link(three, *BOOM)).links[0].beam
        assert beam is not None  # the boom is flexible
        write_modal_data(file, beam.shapes, beam.span, stations=81)
        found = {
            "analytical modes": _locked(three),
            "beam elements": _locked({"kind": "elements", "bending_y": 8}),
            "a file of modal data": _locked({"kind": "table", "file": str(file)}),
        }
        own, full = _lattice(Path(folder) / "lattice.npz")
    off = {name: 100 * float(np.abs(x[:3] / exact - 1).max()) for name, x in found.items()}
    rows = [(name, *(f"{x:.4f}" for x in each[:3])) for name, each in found.items()]
    rows += [("exact beam", *(f"{x:.4f}" for x in exact)),
             ("lattice, reduced to 4 modes", *(f"{x:.4f}" for x in own)),
             ("lattice, all unknowns", *(f"{x:.4f}" for x in full))]  # fmt: skip
    return Found(
        (
            general("structural data may be obtained from finite element or analytical methods",
                    "abstract", FREQUENCY, off),
            untested("structural data may be obtained from experimental methods", "abstract",
                     "modes that were measured"),
        ),
        tables=(Table("Clamped booms [rad/s]", ("structural data", "1st", "2nd", "3rd"),
                      tuple(rows)),),
        text="The three sources give M and K of the method for a beam of known frequencies. The "
        "table also has a lattice boom of 132 unknowns, which flexarm.reduce makes a modal body; "
        "composite and articulated accept it, the method does not.",
    )  # fmt: skip


def _locked(shapes: dict[str, Any]) -> Array:
    """Return frequencies of the clamped boom from M and K of the method [rad/s]."""
    model = build(plain_link(shapes, *BOOM), stiffening=False)
    mass = formulation("kinematic-influence", model).mass_matrix(np.zeros(model.size))[1:, 1:]
    return np.asarray(np.sqrt(scipy.linalg.eigh(_stiffness(model), mass, eigvals_only=True)))


def _stiffness(model: Model) -> Array:
    """Return K of the boom's elastic coordinates by the method."""
    equation = formulation("kinematic-influence", model)
    stiff = slopes(equation, np.zeros(model.size), part="elastic")[1:, 1:]
    return np.asarray((stiff + stiff.T) / 2)


def _lattice(file: Path) -> tuple[Array, Array]:
    """Return three frequencies of a clamped lattice: reduced and imported, and of all unknowns."""
    side, spring, mass = 0.05, 2.0e6, 0.01  # [m], [N/m], [kg] per node
    nodes = side * np.array(list(product(range(11), range(2), range(2))), dtype=float)
    K = np.zeros((3 * len(nodes), 3 * len(nodes)))
    for i, j in combinations(range(len(nodes)), 2):  # along edges and diagonals of cubes
        along = nodes[j] - nodes[i]
        if np.linalg.norm(along) < 1.8 * side:
            rows = [3 * i, 3 * i + 1, 3 * i + 2, 3 * j, 3 * j + 1, 3 * j + 2]
            end = np.concatenate([-along, along]) / np.linalg.norm(along)
            K[np.ix_(rows, rows)] += spring * np.outer(end, end)
    hub = np.flatnonzero(nodes[:, 0] == 0)
    tip = np.flatnonzero(nodes[:, 0] == nodes[:, 0].max())
    body = flexarm.reduce(scipy.sparse.csr_array(K), np.full(len(nodes), mass), nodes, hub=hub,
                          tip=tip, modes=4)  # fmt: skip
    write_body(file, body)
    link = {"joint": {"kind": "revolute"}, "body": {"kind": "modal", "file": str(file)}}
    arm = flexarm.Arm(flexarm=1, name="lattice", links=[link])
    found = flexarm.modes(arm, joints="locked", straight=True)
    own = np.array([mode.frequency_rad_s for mode in found.modes][:3])
    # by all unknowns: faces move as rigid bodies, that of the hub not at all
    columns = np.zeros((3 * len(nodes), 3 * (len(nodes) - len(hub) - len(tip)) + 6))
    free = [k for k in range(len(nodes)) if k not in {*hub.tolist(), *tip.tolist()}]
    for place, k in enumerate(free):
        columns[3 * k : 3 * k + 3, 3 * place : 3 * place + 3] = np.eye(3)
    for k in tip.tolist():
        x, y, z = nodes[k] - nodes[tip].mean(axis=0)
        turn = np.array([[0, z, -y], [-z, 0, x], [y, -x, 0]])
        columns[3 * k : 3 * k + 3, -6:] = np.hstack([np.eye(3), turn])
    squares = scipy.linalg.eigh(columns.T @ K @ columns, mass * columns.T @ columns,
                                eigvals_only=True)  # fmt: skip
    return own, np.sqrt(squares[:3])


class Bent(NamedTuple):
    """A cantilever under a tip force: deflections over the length, exact and by modes."""

    force: float
    exact: float
    modes: float

    @property
    def error(self) -> float:
        """Relative error of the modes."""
        return abs(self.modes / self.exact - 1)


def rotation_limit() -> Found:
    """Find when modes without stiffening fail: at high rates, and at large deflections."""
    own = float(_locked({"kind": "clamped-free", "bending_y": 3})[0])
    growth = {(rate, name): _growth(rate, name) for rate in RATES for name in SPUN}
    bends = [bent(angle) for angle in BENT]
    fast = [rate for rate in RATES if rate > own]
    varying = next(iter(SPUN))
    rows = tuple((f"{rate:g}", *(f"{growth[rate, name]:.4g}" for name in SPUN)) for rate in RATES)
    curves = np.linspace(0.0, 80.0, 33)
    return Found(
        (
            general("modes without stiffening become unstable at high rotation rates, if inertial "
                    "variations are included", REVIEW, claim("growth", low=0.0, unit="1/s"),
                    {f"{rate:g} rad/s": growth[rate, varying] for rate in fast}),
            general("they predict extremely large deflections then", REVIEW,
                    claim("deflection after 1 s at this rate over that before", low=1e3,
                          unit="times"),
                    {f"{rate:g} rad/s": math.exp(growth[rate, varying]) for rate in fast}),
            measured("these models are valid only for small link deflections", REVIEW,
                     claim("error at a deflection as large as "
                           f"{bends[-1].exact:.2g} of the length", low=5.0, unit="%"),
                     100 * bends[-1].error,
                     beside={f"at {x.exact:.2g} of the length [%]": 100 * x.error for x in bends}),
        ),
        figures=(
            Figure("Growth of the deflections of a rotating link", "speed [rad/s]", "growth [1/s]",
                   tuple(curve(name, curves, [_growth(float(x), name) for x in curves])
                         for name in SPUN)),
        ),
        tables=(
            Table("Growth [1/s]", ("rate [rad/s]", *SPUN), rows),
        ),
        text=f"Above the link's own frequency, {own:.1f} rad/s, deflections grow without "
        "stiffening if inertias vary with them. With the paper's constant inertias nothing grows, "
        "nor with stiffening.",
    )  # fmt: skip


@cache
def _link(name: str) -> Equation:
    kind, paper, stiffening = SPUN[name]
    model = build(changed("chen-rotating-link"), stiffening=stiffening)
    return formulation(kind, model, paper=paper)


def _growth(rate: float, name: str) -> float:
    """Return how fast deflections grow at a steady rate [1/s]; 0 if they do not."""
    equation = _link(name)
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
    """Return the deflection of the clamped boom's tip per force, by ten modes [m/N]."""
    model = build(plain_link({"kind": "clamped-free", "bending_y": 10}, *BOOM), stiffening=False)
    beam = model.links[0].beam
    assert beam is not None  # the boom is flexible
    tip = beam.shapes.values("y", np.array([LENGTH]))[0]
    return float(tip @ np.linalg.solve(_stiffness(model), tip))


ITEMS = (
    Item(PAPER, "inertia", "Inertia matrix and nonlinear loads as stated", inertia),
    Item(PAPER, "shuttle-arm", "The Shuttle-like arm on a free base", shuttle, "mission"),
    Item(PAPER, "structural-data", "Sources of structural data", structural_data),
    Item(PAPER, "jacobian", "Influence coefficients and loads at any point", influence),
    Item(PAPER, "rotation-limit", "Modes without stiffening at high rates", rotation_limit),
    Item(PAPER, "christoffel", "Cost of the nonlinear loads", christoffel),
)
