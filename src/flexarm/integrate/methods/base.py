"""The contract of an integrator: facts, and how a run by it begins."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from flexarm.engine.compile import Compiled, Level
from flexarm.engine.interpret import Interpreted
from flexarm.formulations.base import Formulation
from flexarm.formulations.equation import Equation
from flexarm.integrate.actuators import NO_ACTUATORS, Actuators, matrices_of, motion_of
from flexarm.integrate.choice.vibration import Vibration
from flexarm.integrate.march import March, obstacles_of
from flexarm.integrate.problem import Measures, Watch
from flexarm.integrate.system import System
from flexarm.links.base import Array
from flexarm.loops.kernel import Kernel
from flexarm.model import Model

SMALLEST_STEP = 1e-12  # of the run's duration
FEWEST_STEPS = 50


@dataclass(frozen=True)
class Method:
    """An integrator.

    Attributes
    ----------
    name
        As users give it.
    order
        Of the error at the end of a run.
    adaptive
        Whether it chooses its steps from an error estimate.
    citation
        Where it comes from.
    summary
        What it is for, in a few words.
    per_step
        The tolerance per step that keeps a run of some fifty vibrations within the tolerance that
        a user gives; whether the arm's vibrations die away is the second argument.
    step, sample
        Kernels: one trial step; the state within the last step (None: steps end at samples).
    begin
        Makes the record of a run from the common fields.
    work
        Operations of a trial step, about; loops count by the time that they take.
    renewal
        Operations of a renewal of what it keeps for many steps, if it does (``renewals`` counts
        them).
    renewed_after
        Steps for which that is kept.
    vibration_steps
        Steps per second that it takes to follow vibrations at a tolerance of 1e-3; whether they
        die away is the second argument.
    input_steps
        Steps that it takes per radian of an input or of a turn, likewise.
    under_law, under_friction, under_contact, under_bounces, on_rails
        What it takes of the tolerance where a control law is part of the equations, with dry
        friction, strong dampers or tables of springs, where contacts or stops are, whose impacts
        magnify errors, of that where they give most back, so that there are many, and on rails.
    implicit
        Whether steps solve for the state, so that what is stiff and dies away makes none smaller.
    solves_vibrations
        Whether vibrations of fast modes add up no errors, because each mode is solved exactly.
    carries_states
        Whether it can solve for states of servos too.
    abreast
        Whether several motions can go in common steps, each in its lane of a vector register.
    on_gpu
        Whether its kernels run on a GPU too.
    restart
        Forgets what it keeps of the equations, which have changed (None: nothing).
    proven
        Takes at full effort what it had compiled quickly, since the run has proven long (None:
        nothing).
    stable
        Largest product of a step and an eigenvalue's size, whatever its damping, of a method in
        equal steps.
    reach
        Largest product of a step and an eigenvalue's size.  Beyond its stability an explicit method
        goes on as long as its error estimate lets it, which does not see the states within a step.
    """

    name: str
    order: int
    adaptive: bool
    citation: str
    summary: str
    per_step: Callable[[float, bool], float]
    step: Kernel
    sample: Kernel | None
    begin: Callable[["Beginning"], Any]
    work: Callable[["Operations"], float]
    vibration_steps: Callable[[Vibration, bool], float]
    input_steps: float = 1.5
    renewal: Callable[["Operations"], float] | None = None
    renewed_after: int = 1
    under_law: float = 1.0
    under_friction: float = 1.0
    under_contact: float = 1.0
    under_bounces: float = 1.0
    on_rails: float = 1.0
    implicit: bool = False
    solves_vibrations: bool = False
    carries_states: bool = True
    abreast: bool = False
    on_gpu: bool = False
    restart: Callable[[Any], None] | None = None
    proven: Callable[[Any, "Beginning"], None] | None = None
    stable: float = math.inf
    reach: float = math.inf


@dataclass(frozen=True)
class Operations:
    """What the pieces of a step cost."""

    n: int  # number of coordinates
    motion: "MotionFunctions"  # the equations and their derivatives

    @property
    def equations(self) -> int:
        """Operations of one evaluation."""
        return self.motion.compiled().operations

    @property
    def tangent(self) -> int:
        """Operations of the derivatives."""
        return self.motion.slopes().operations

    @property
    def matrices(self) -> int:
        """Operations of mass, elastic and damping matrices."""
        return self.motion.matrices().operations


@dataclass(frozen=True)
class Beginning:
    """Where a run begins: the arm's equations, what is measured and watched, the first state."""

    # equation, motion: the formulation, and its function ``motion`` (with a control law in it, if
    # there is one).
    equation: Equation
    motion: "MotionFunctions"
    # system, buffers: the equations joined to their channels, and the arrays that they read and
    # write, by name.
    system: System
    buffers: dict[str, Array]
    # measures, watched: what errors are measured in, and what ends a run.
    measures: Measures
    watched: tuple[Watch, ...]
    # times, breaks: times to keep states at, the first being the begin; times at which channels
    # jump.
    times: Array
    breaks: Array
    # The state: coordinates, rates, works, accounts and impulses, states of servos and drives.
    y: Array
    method: Method  # the integrator
    tolerance: float  # per step
    h: float  # first trial step, or the step [s]
    largest: float = math.inf  # bound of the step [s]
    # Of the quantities that are looked out for, low and high; corners come after them.
    bounds: tuple[Array, Array] = (np.zeros(0), np.zeros(0))
    peeks: bool = False  # whether they are looked at within steps too
    memory: Mapping[str, Any] = field(default_factory=dict)  # what sampled servos know, by joint
    # Of what errors are measured in, in the legs before.
    ranges: Mapping[str, Array] = field(default_factory=dict)
    strict: float = 1.0  # what part of the tolerance is allowed where it touches something

    @property
    def fields(self) -> dict[str, Any]:
        """Fields of the record of the run that all methods share."""
        size, measured = len(self.y), self.measures
        found = measured.frequencies.T
        count, groups = len(measured.rows), len(measured.floor)
        begin, end = float(self.times[0]), float(self.times[-1])
        watched = [watch.row for watch in self.watched]
        lookouts = len(self.motion.actuators.lookouts)
        low, high = np.full(lookouts, -np.inf), np.full(lookouts, np.inf)
        low[: len(self.bounds[0])], high[: len(self.bounds[1])] = self.bounds
        m = March(
            system=self.system,
            obstacles=obstacles_of(self.equation, self.buffers),
            step=self.method.step.address,
            sample=0 if self.method.sample is None else self.method.sample.address,
            size=size,
            t=begin,
            wish=self.h,
            t_end=end,
            t_old=begin,
            largest=min((end - begin) / FEWEST_STEPS, self.largest),
            smallest=SMALLEST_STEP * (end - begin),
            uneven=int(self.method.adaptive and math.isinf(self.method.reach)),
            adaptive=int(self.method.adaptive),
            order=self.method.order,
            y=self.y.copy(),
            y_old=self.y.copy(),
            **zeros(dict.fromkeys(("f", "y_new", "f_new", "f_old", "sampled"), size)),
            tolerance=self.tolerance,
            strict=self.strict,
            touched=np.zeros(1),
            functionals=count,
            rows=measured.rows.ravel(),
            rate_rows=measured.rate_rows.ravel(),
            to_modes=measured.to_modes.ravel(),
            lanes=len(measured.to_modes),
            modes_per_lane=measured.to_modes.shape[1],
            **zeros(dict.fromkeys(("modal_places", "modal_rates", "rounded"), self.system.n)),
            # Modes that it solves exactly are apart, held or not.
            frequencies=(np.abs(found) if self.method.solves_vibrations else found).ravel(),
            groups=groups,
            group_of=measured.group,
            low=np.full(count, np.inf),
            high=np.full(count, -np.inf),
            top=np.zeros(count),
            floor=measured.floor,
            top_floor=measured.rate_floor,
            pace=measured.pace,
            scale=np.zeros(groups),
            top_scale=np.zeros(groups),
            least=np.full(size - 2 * self.system.n, np.inf),
            most=np.full(size - 2 * self.system.n, -np.inf),
            energy=measured.energy_floor.copy(),
            state_floor=measured.state_floor,
            watches=len(self.watched),
            watch_rows=np.concatenate(watched) if watched else np.zeros(1),
            watch_low=np.array([watch.low for watch in self.watched]),
            watch_high=np.array([watch.high for watch in self.watched]),
            lookouts=lookouts,
            seen=self.buffers["seen"],
            seen_rate=self.buffers["seen_rate"],
            seen_here=np.zeros(lookouts),
            rate_here=np.zeros(lookouts),
            peeks=int(self.peeks),
            peeked=np.zeros(6 * lookouts),
            aside=np.zeros(size),
            seen_low=low,
            seen_high=high,
            times=self.times,
            samples=np.zeros(len(self.times) * size),
            wanted=len(self.times),
            breaks=self.breaks if len(self.breaks) else np.zeros(1),
            break_count=len(self.breaks),
            next_break=int(np.searchsorted(self.breaks, begin, side="right")),
            sample_time=begin,
        )
        for name, known in self.ranges.items():
            if known.shape == getattr(m, name).shape:  # servos may have other states now
                getattr(m, name)[:] = known
        if m.touched[0] != 0.0:  # in a leg before
            m.tolerance *= self.strict
        return vars(m)


@dataclass(frozen=True)
class MotionFunctions:
    """The function that gives accelerations and powers, and its compiled derivatives."""

    equation: Equation  # the formulation
    # A function (t, q, v) to u that is part of the equations, or None.
    law: ca.Function | None = None
    actuators: Actuators = NO_ACTUATORS  # servos, brakes and lookouts that are part of them
    # Machine code lives as long as its object: a run has only its address.
    kept: dict[tuple[str, Level], Compiled] = field(default_factory=dict, repr=False)

    @property
    def ruled(self) -> bool:
        """Whether a law of time and state is part of the equations: of inputs, or of a wrench."""
        return self.law is not None or bool(self.actuators.wrenches)

    @property
    def timely(self) -> bool:
        """Whether time is part of the equations: in a law, or in the axes of impulses in orbit."""
        return self.ruled or bool(self.actuators.impulses and self.equation.model.orbit)

    def trace(self, formulation: Formulation | None = None) -> ca.Function:
        """Trace it: see `motion_of`."""
        return self._of(formulation or self.equation.formulation)

    def compiled(self) -> Compiled:
        """Compile it."""
        return self._compile("motion", self.trace, "fast")

    def tangent(self) -> Compiled:
        """Compile the derivatives of accelerations and powers by coordinates and rates."""
        return self._compile("tangent", lambda f: _tangent(self.trace(f)), "quick")

    def slopes(self, level: Level = "quick") -> Compiled:
        """Compile the derivatives of the force that accelerations take, and of powers.

        They take half the operations of those of accelerations, which need M inverted.  Those of
        the force come column after column, as they are solved with.
        """

        def make(formulation: Formulation) -> ca.Function:
            return _slopes(self._of(formulation, accelerated=True))

        return self._compile("slopes", make, level)

    def matrices(self) -> Compiled:
        """Compile mass, elastic and damping matrices, servos included."""
        if not self.actuators.servos:
            return self.equation.compiled("matrices")
        return self._compile("matrices", lambda f: matrices_of(f, self._acting(f)), "quick")

    def _of(self, formulation: Formulation, *, accelerated: bool = False) -> ca.Function:
        return motion_of(formulation, self.law, self._acting(formulation), accelerated=accelerated)

    @cached_property
    def _own(self) -> dict[str, Callable[[Model], Any]]:
        """What drives the arm with numbers of its model, in equations that others share."""
        return self.actuators.own(self.equation.model)

    def _acting(self, formulation: Formulation) -> Actuators:
        """Give what drives an arm, with its numbers as symbols where they are."""
        read = {kind: made(formulation.model) for kind, made in self._own.items()}
        return replace(self.actuators, **read)

    def _compile(
        self, name: str, make: Callable[[Formulation], ca.Function], level: Level
    ) -> Compiled:
        found = self.kept.get((name, level))
        if found is None:
            law = "" if self.law is None else self.law.serialize()
            left_out: dict[str, Any] = dict.fromkeys(self._own, ())
            rest = replace(self.actuators, **left_out)
            key = f"integrate {name} {law}{rest.key} {', '.join(self._own)}"
            found = self.equation.compile(key, make, level=level)
        return self.kept.setdefault((name, level), found)  # threads that compile at once share one


@dataclass(frozen=True)
class InterpretedMotion(MotionFunctions):
    """Equations of motion for a short trial: CasADi evaluates them, nothing is compiled."""

    def matrices(self) -> Compiled:
        """Trace mass, elastic and damping matrices, servos included."""
        return self._compile("matrices", lambda f: matrices_of(f, self._acting(f)), "quick")

    def _compile(
        self, name: str, make: Callable[[Formulation], ca.Function], level: Level
    ) -> Compiled:
        if (name, level) not in self.kept:
            self.kept[name, level] = Interpreted(make(self.equation.formulation))
        return self.kept[name, level]


def _tangent(motion: ca.Function) -> ca.Function:
    symbols = motion.sx_in()
    a, power = motion.call(symbols, True, False)[:2]
    q, v = (symbols[motion.index_in(name)] for name in ("q", "v"))
    results = [ca.densify(ca.jacobian(of, by)) for of in (a, power) for by in (q, v)]
    names = ["by_q", "by_v", "power_by_q", "power_by_v"]
    return ca.Function("tangent", symbols, results, motion.name_in(), names)


def _slopes(motion: ca.Function) -> ca.Function:
    symbols = motion.sx_in()
    values = dict(zip(("force", "power"), motion.call(symbols, True, False)[:2], strict=True))
    by = {name: symbols[motion.index_in(name)] for name in "qva"}
    found = {
        f"{of}_by_{name}": ca.densify(ca.jacobian(value, each))
        for of, value in values.items()
        for name, each in by.items()
    }
    found |= {name: each.T for name, each in found.items() if name.startswith("force")}
    return ca.Function("slopes", symbols, list(found.values()), motion.name_in(), list(found))


def zeros(sizes: Mapping[str, int]) -> dict[str, Any]:
    """Make arrays by name, for the fields of a record."""
    return {name: np.zeros(size) for name, size in sizes.items()}
