"""The same motions in Exudyn: planar ANCF cable elements and its time integrators.

Everything is set up as favourably for it as was found: the build without range checks, constraints
on single coordinates in place of joints, hub and payload as masses on coordinates of a node, no
files, one thread, and only the steps are timed.
"""

import contextlib
import itertools
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np

from beam_problems import HUB, PAYLOAD, STRETCH, SWITCHES, Array, Problem

DEFAULTS = "defaults"  # generalized-alpha, full Newton iterations
IMPLICIT = ("generalized-alpha", "trapezoidal")
EXPLICIT = {"Verlet": "VelocityVerlet", "RK4": "RK44"}
# Constraints are springs for explicit integrators, by the stretching stiffness of a link: where
# Exudyn eliminates constrained coordinates instead, runs were seen to converge to another motion
# than implicit ones, with springs to the same.
HELD = 30.0


def load() -> Any:
    """Import Exudyn, the build without range checks where the processor allows it."""
    sys.exudynFast = True  # type: ignore[attr-defined]  # what Exudyn looks for
    try:
        with contextlib.redirect_stdout(sys.stderr):  # it says which build it is
            exudyn: Any = import_module("exudyn")
    except ImportError as error:
        raise SystemExit(
            "exudyn cannot be imported: install it with pip install 'flexarm[bench]', or run "
            "with --quick"
        ) from error
    exudyn.config.printToConsole = False
    return exudyn


def versions() -> dict[str, str]:
    """Return the version of Exudyn."""
    return {"exudyn": version("exudyn")}


def reference_settings(problem: Problem) -> list["Setting"]:
    """List the reference, then what shows that it has converged: step, mesh, at last EA."""
    if problem.torque is None:
        fine = Setting(32, 1e-5, "generalized-alpha", sparse=True, rigid_hub=True, newton=1e-4)
        stretch = 100.0
    else:
        fine = Setting(32, 5e-5, "trapezoidal", sparse=True, rigid_hub=True, newton=1e-5)
        stretch = 0.01  # stiffer ones make Newton's iteration fail
    coarse = replace(fine, elements=16, reduced=True)
    return [fine, replace(fine, step=2 * fine.step), coarse, replace(coarse, stretch=stretch)]


def scanned_settings(problem: Problem) -> list["Setting"]:
    """List the settings among which Exudyn's cheapest is looked for."""
    if problem.torque is None:
        meshes: Sequence[int] = (2, 3, 4, 6, 8)
        steps: Sequence[float] = (1.25e-3, 1e-3, 5e-4, 2.5e-4, 1.25e-4)
        stretches: Sequence[float] = (1.0,)
        explicit = [
            Setting(2, 5e-6, "Verlet", reduced=True),
            Setting(4, 2.5e-6, "Verlet", reduced=True),
            Setting(2, 1e-5, "RK4", reduced=True),
        ]
    else:
        meshes, steps = (1, 2, 3, 4, 6), (1e-2, 5e-3, 2.5e-3, 1e-3, 5e-4, 2.5e-4)
        stretches = (1.0, 0.01)
        explicit = [
            Setting(n, step, name, reduced=True, stretch=0.01)
            for name in EXPLICIT
            for n, step in ((2, 1e-4), (4, 5e-5), (6, 2.5e-5))
        ]
    every = itertools.product(meshes, steps, IMPLICIT, (False, True), stretches, (1e-2, 1e-3, 1e-4))
    implicit = [
        Setting(n, step, solver, reduced=reduced, stretch=stretch, newton=newton, sparse=n > 4)
        for n, step, solver, reduced, stretch, newton in every
    ]
    return implicit + explicit


def default_settings(problem: Problem) -> list["Setting"]:
    """List what somebody would run who changes little but elements and step.

    Newton's iteration does not come to its default tolerance, 1e-8, with these stiffnesses.
    """
    steps = (1e-3, 5e-4, 2.5e-4) if problem.torque is None else (5e-3, 2e-3, 1e-3, 5e-4)
    return [
        Setting(n, step, DEFAULTS, sparse=n > 4, rigid_hub=True, newton=1e-5)
        for n in (2, 4, 8, 16)
        for step in steps
    ]


def simulate(problem: Problem, setting: "Setting") -> tuple[Array, float]:
    """Return tip deflections [m], (links, T), and the CPU time of the steps [s].

    There are fewer than T where a solver gave up.
    """
    arm = _Arm(problem, setting)
    options = _options(arm.exu, problem, setting)
    times = options.timeIntegration
    spent = 0.0
    pieces: list[Array] = []
    ends = [problem.t_end] if problem.torque is None else [*SWITCHES, problem.t_end]
    torques = [0.0] if problem.torque is None else [problem.torque, -problem.torque, 0.0]
    for start, end, torque in zip([0.0, *ends], ends, torques, strict=False):
        arm.push(torque, first=start == 0)
        times.startTime, times.endTime = start, end
        times.numberOfSteps = round((end - start) / setting.step)
        solver = (
            arm.exu.MainSolverExplicit()
            if setting.explicit
            else arm.exu.MainSolverImplicitSecondOrder()
        )
        solver.InitializeSolver(arm.system, options)
        begun = time.process_time()
        with contextlib.suppress(arm.exu.SolverError):
            solver.SolveSteps(arm.system, options)
        spent += time.process_time() - begun
        solver.FinalizeSolver(arm.system, options)
        found = arm.deflections()
        pieces.append(found if not pieces else found[:, 1:])
    return np.hstack(pieces), spent


def _options(exu: Any, problem: Problem, setting: "Setting") -> Any:
    options = exu.SimulationSettings()
    options.solution.file.write = False
    options.solution.sensors.writePeriod = problem.sample
    options.parallel.numberOfThreads = 1
    kinds = exu.LinearSolverType
    options.linearSolver.solverType = kinds.EigenSparse if setting.sparse else kinds.EXUdense
    times = options.timeIntegration
    times.verboseMode = 0
    times.adaptiveStep = False
    times.automaticStepSize = False
    times.newton.relativeTolerance = setting.newton
    if setting.solver == DEFAULTS:
        return options
    times.newton.useModifiedNewton = True
    times.explicit.computeEndOfStepAccelerations = False
    solvers = exu.DynamicSolverType
    if setting.explicit:
        times.solverType = getattr(solvers, EXPLICIT[setting.solver])
    elif setting.solver == "trapezoidal":
        times.solverType = solvers.TrapezoidalIndex2
        times.generalizedAlpha.useNewmark = True
        times.generalizedAlpha.useIndex2Constraints = True
    else:
        times.solverType = solvers.GeneralizedAlpha
        times.generalizedAlpha.spectralRadius = 0.9
    return options


@dataclass(frozen=True)
class Setting:
    """How Exudyn solves a motion.

    Attributes
    ----------
    elements
        Cable elements per link.
    step
        Step [s].
    solver
        Time integrator.
    reduced
        Whether elements are integrated with fewer points, which keeps coarse ones from locking.
    stretch
        Factor on the stretching stiffness.
    newton
        Tolerance of Newton's iteration, relative.
    sparse
        Whether linear equations are solved as sparse ones.
    rigid_hub
        Whether the hub is a rigid body on a joint, not a mass on a slope.
    """

    elements: int
    step: float
    solver: str
    reduced: bool = False
    stretch: float = 1.0
    newton: float = 1e-4
    sparse: bool = False
    rigid_hub: bool = False

    @property
    def explicit(self) -> bool:
        """Whether the integrator is explicit."""
        return self.solver in EXPLICIT

    @property
    def family(self) -> str:
        """Return what finer runs have in common with this one."""
        return f"{self.solver} {self.reduced} {self.stretch} {self.newton}"

    @property
    def fineness(self) -> tuple[float, float]:
        """Return what grows in finer runs."""
        return self.elements, -self.step

    def __str__(self) -> str:
        """Say it shortly."""
        more = "" if self.explicit else f" {self.newton:g}"
        more += ", reduced" if self.reduced else ""
        more += "" if self.stretch == 1 else f", EA x {self.stretch:g}"
        count = f"{self.elements} element{'s' if self.elements > 1 else ''}"
        return f"{count}, {1e3 * self.step:g} ms, {self.solver}{more}"


class _Arm:
    """A system of cables: two that fall from the horizontal, or one on a driven hub."""

    def __init__(self, problem: Problem, setting: Setting) -> None:
        self.exu = load()
        self.items: Any = import_module("exudyn.itemInterface")
        self.setting = setting
        self.container = self.exu.SystemContainer()  # the system lives as long as this
        self.system = self.container.AddSystem()
        ground = self.system.AddNode(self.items.NodePointGround())
        self.ground = self._coordinate(ground, 0)
        falls = problem.torque is None
        self.mass, self.bending = (5.0, 1000.0) if falls else (1.0, 10.0)
        self.stretch = setting.stretch * STRETCH * self.mass
        self.links = [self._cable(float(k)) for k in range(2 if falls else 1)]
        self._hold(self.ground, self.links[0][0][0])
        self.load: int | None = None
        if falls:
            self._hinge()
            self._weigh()
        else:
            self.load = self._drive()
        sensed = [node for nodes, _ in self.links for node in (nodes[0], nodes[-1])]
        kind = self.exu.OutputVariableType.Coordinates
        self.sensors = [
            self.system.AddSensor(
                self.items.SensorNode(
                    nodeNumber=node, storeInternal=True, writeToFile=False, outputVariableType=kind
                )
            )
            for node in sensed
        ]
        self.system.Assemble()

    def push(self, torque: float, *, first: bool) -> None:
        """Set the torque on the hub, and go on from where the system is."""
        if self.load is not None:
            self.system.SetLoadParameter(self.load, "loadVector", [0, 0, torque])
        if not first:
            data, state = self.system.systemData, self.exu.ConfigurationType
            data.SetODE2Coordinates(data.GetODE2Coordinates(state.Current), state.Initial)
            data.SetODE2Coordinates_t(data.GetODE2Coordinates_t(state.Current), state.Initial)

    def deflections(self) -> Array:
        """Return the tip deflections that sensors kept [m], (links, T)."""
        rows = [np.array(self.system.GetSensorStoredData(sensor)) for sensor in self.sensors]
        found = []
        for root, tip in zip(rows[::2], rows[1::2], strict=True):
            slope = np.array([1.0, 0.0]) + root[:, 3:5]
            chord = np.array([1.0, 0.0]) + tip[:, 1:3] - root[:, 1:3]
            across = chord[:, 1] * slope[:, 0] - chord[:, 0] * slope[:, 1]
            found.append(across / np.hypot(slope[:, 0], slope[:, 1]))
        return np.array(found)

    def _cable(self, start: float) -> tuple[list[int], list[int]]:
        count = self.setting.elements
        nodes = [
            self.system.AddNode(
                self.items.NodePoint2DSlope1(referenceCoordinates=[start + k / count, 0, 1, 0])
            )
            for k in range(count + 1)
        ]
        elements = [
            self.system.AddObject(
                self.items.ObjectANCFCable2D(
                    length=1 / count,
                    massPerLength=self.mass,
                    bendingStiffness=self.bending,
                    axialStiffness=self.stretch,
                    useReducedOrderIntegration=2 if self.setting.reduced else 0,
                    nodeNumbers=list(pair),
                )
            )
            for pair in itertools.pairwise(nodes)
        ]
        return nodes, elements

    def _hold(self, ground: int, node: int) -> None:
        for k in (0, 1):
            self._tie(ground, self._coordinate(node, k))

    def _hinge(self) -> None:
        for k in (0, 1):
            first, second = self.links[0][0][-1], self.links[1][0][0]
            self._tie(self._coordinate(first, k), self._coordinate(second, k))

    def _tie(self, first: int, second: int) -> None:
        if self.setting.explicit:
            tie = self.items.ObjectConnectorCoordinateSpringDamper(
                markerNumbers=[first, second], stiffness=HELD * self.stretch
            )
        else:
            tie = self.items.ObjectConnectorCoordinate(markerNumbers=[first, second])
        self.system.AddObject(tie)

    def _coordinate(self, node: int, k: int) -> int:
        marker = self.items.MarkerNodeCoordinate(nodeNumber=node, coordinate=k)
        return int(self.system.AddMarker(marker))

    def _weigh(self) -> None:
        for element in (element for _, elements in self.links for element in elements):
            marker = self.system.AddMarker(self.items.MarkerBodyMass(bodyNumber=element))
            self.system.AddLoad(
                self.items.LoadMassProportional(markerNumber=marker, loadVector=[0, -9.81, 0])
            )

    def _drive(self) -> int:
        nodes, elements = self.links[0]
        turned = self.system.AddMarker(
            self.items.MarkerBodyRigid(bodyNumber=elements[0], localPosition=[0, 0, 0])
        )
        if self.setting.rigid_hub:
            node = self.system.AddNode(self.items.NodeRigidBody2D(referenceCoordinates=[0, 0, 0]))
            self.system.AddObject(
                self.items.ObjectRigidBody2D(mass=1, inertia=HUB, nodeNumber=node)
            )
            self._hold(self.ground, node)
            hub = self.system.AddMarker(self.items.MarkerNodeRigid(nodeNumber=node))
            self.system.AddObject(
                self.items.ObjectJointGeneric(
                    markerNumbers=[hub, turned], constrainedAxes=[0, 0, 0, 0, 0, 1]
                )
            )
        else:
            hub = turned
            self._load_node(nodes[0], [0, 0, HUB, HUB])
        self._load_node(nodes[-1], [PAYLOAD, PAYLOAD, 0, 0])
        torque = self.items.LoadTorqueVector(markerNumber=hub, loadVector=[0, 0, 0])
        return int(self.system.AddLoad(torque))

    def _load_node(self, node: int, masses: list[float]) -> None:
        body = self.items.ObjectGenericODE2(nodeNumbers=[node], massMatrix=np.diag(masses))
        self.system.AddObject(body)
