"""Result of a simulation as arrays: times, states, inputs, energies and statistics."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from flexarm.accuracy.momentum import MomentumBalance, compare_momenta
from flexarm.arguments import Renamed
from flexarm.arm.summary import Summary
from flexarm.constants import ACCUMULATED
from flexarm.engine.functions import keep_note, noted
from flexarm.formulations import DEFAULT
from flexarm.model import Model
from flexarm.runs.constants import COMPARED_RATIO, COMPARED_SECONDS
from flexarm.runs.curves import undersampling_note
from flexarm.spatial import Array, Inertia

if TYPE_CHECKING:
    from flexarm.accuracy.defect import Motion
    from flexarm.accuracy.integration import IntegrationError
    from flexarm.accuracy.stated import RestErrors, RicherRuns, RunErrors
    from flexarm.accuracy.validity import Validity

CARRIED = "the tip captures or lets go of a body. Compare with a run of an arm with more shapes."


@dataclass(frozen=True)
class Statistics:
    """Computational cost of a run: steps, evaluations and CPU time."""

    steps: int  # accepted steps
    rejections: int  # rejected steps
    evaluations: int  # evaluations of the equations
    cpu_seconds: float  # CPU time of the solver [s]


class EventRecord(NamedTuple):
    """An event that occurred during a run."""

    t: float  # time [s]
    what: str  # description
    lost: float = 0.0  # energy that an impact dissipated [J]


class PendingEvent(NamedTuple):
    """An event of the model file that did not occur during a run."""

    what: str  # name of the event
    why: str  # why it did not happen
    # Value of the event's quantity, in SI units, at the sample nearest to its threshold; None if
    # the event was never armed.
    value: float | None = None
    t: float | None = None  # time of that sample [s]


@dataclass(frozen=True)
class RunPhase:
    """A phase of a run with constant locked coordinates and a constant body at the tip."""

    first: int  # index of the phase's first sample
    held: tuple[int, ...]  # indices of the coordinates that are prescribed or held
    tip: Inertia | None = None  # inertia at the tip of the last link; None for the model's inertia
    jump: tuple[float, ...] = ()  # jumps of the rates at the phase's start, (n,); empty if none

    def model(self, model: Model) -> Model:
        """Return the arm's model with the locked coordinates and tip body of the phase."""
        model = replace(model, prescribed=self.held)
        return model if self.tip is None else model.loaded(self.tip)


@dataclass(frozen=True)
class DriveData:
    """Forces, stored energy and states of drive trains at T instants."""

    push: Array  # generalised forces in addition to inputs and the arm's own equations, (T, n)
    stored: Array  # energy in bristles and windings [J], (T,)
    states: dict[str, Array]  # bristle deflections, currents [A] by name, (T,); 0 if locked

    def joined(self, other: "DriveData") -> "DriveData":
        """Join the data with data at later instants, without repeating the common instant.

        The first instant of ``other`` is the last instant of these data.
        """
        parts = self.at(slice(0, -1)), other
        states = {
            name: np.concatenate([part.states.get(name, 0 * part.stored) for part in parts])
            for name in dict.fromkeys([*self.states, *other.states])
        }
        push, stored = zip(*((part.push, part.stored) for part in parts), strict=True)
        return DriveData(np.concatenate(push), np.concatenate(stored), states)

    def at(self, rows: Any) -> "DriveData":
        """Return the data at selected instants."""
        states = {name: values[rows] for name, values in self.states.items()}
        return DriveData(self.push[rows], self.stored[rows], states)


@dataclass(frozen=True)
class Repetition:
    """A recipe for repeating the simulation of a run, with another tolerance or arm."""

    closer: "Callable[[], RunData]"  # simulates at a 30th of the tolerance
    # Function that simulates an arm with other shapes; None if not possible.
    other: "Callable[[Model], RunData] | None"
    order: int  # least order with which errors fall with the step length
    seconds: float  # CPU time of the run by counted operations [s], equal on all machines
    recipe: str  # text that identifies equations, structure of the arm, and method

    @property
    def is_cheap(self) -> bool:
        """Whether runs of richer arms are compiled, and expected to take little CPU time."""
        cost = noted(self.recipe)
        limit = max(COMPARED_SECONDS, COMPARED_RATIO * self.seconds)
        return cost is not None and float(cost) * self.seconds <= limit


@dataclass(frozen=True, eq=False)
class RunData(Renamed):
    """A simulated motion at T instants, as arrays."""

    _former_names: ClassVar = {
        "works": "work_integrals", "anchors": "reference_attitudes",
        "happenings": "event_records", "legs": "phases",
    }  # fmt: skip
    model: Model  # the arm
    t: Array  # time [s], (T,)
    q: Array  # coordinates in the order of ``model.names``, (T, n)
    v: Array  # rates of the coordinates, (T, n)
    u: Array  # inputs in the order of the driven joints, (T, inputs)
    tip: Array  # position of the arm's tip in the world [m], (T, 3)
    tip_rotation: Array  # rotation of the arm's tip, world from tip axes, (T, 3, 3)
    energy: Array  # kinetic, elastic and gravitational energy [J], (T, 3)
    # Work done so far by inputs, wrenches and prescribed coordinates; energy dissipated so far; and
    # energy of bodies captured so far, less that of bodies released [J], (T, 5).
    work_integrals: Array
    # Reference attitudes of a free base and of spherical joints, world from reference axes,
    # (T, 3, 3 k).
    reference_attitudes: Array
    status: str  # ``finished``, ``stopped``, ``interrupted``, or ``running`` before the end
    reason: str  # time and cause of an early end, with a remedy; empty if the run finished
    method: str  # the integrator
    why: str  # reason for the choice of the integrator
    rtol: float  # requested tolerance
    statistics: Statistics  # computational cost
    formulation: str = DEFAULT  # formulation of the equations
    paper: bool = False  # whether the formulation keeps its paper's approximations
    # For an arm on a free base, (T, 15) in inertial axes: momentum [N s] and angular momentum [N m
    # s] of all moving bodies about the world's origin, momentum and angular momentum of the base
    # relative to the centre of mass, and position of the centre of mass [m]; (T, 0) for other arms.
    momentum: Array = field(default_factory=lambda: np.zeros((0, 0)))
    # For an arm on a free base: impulse [N s] and angular impulse [N m s] of all outer forces so
    # far, plus the momenta of captured bodies, less those of released bodies, (T, 6).
    impulse: Array = field(default_factory=lambda: np.zeros((0, 0)))
    event_records: tuple[EventRecord, ...] = ()  # events that happened, and brakes that slipped
    pending: tuple[PendingEvent, ...] = ()  # events of the model file that did not happen
    phases: tuple[RunPhase, ...] = ()  # phases of the run, if events, locks or brakes change it
    # Energy dissipated so far [J] by name, (T,) each: ``JOINT: motor friction``, ``link friction``,
    # ``gear``, ``winding``, ``hysteresis``, ``brake``; empty without such drive trains.
    losses: Mapping[str, Array] = field(default_factory=dict)
    # data of drive trains; None without drive-train states, stiction and slip
    drives: DriveData | None = None
    kept: bool = True  # whether the solver controlled its error; False for steps set by the user
    own: bool = True  # whether all inputs came from the model file, without a law
    # Stiffness and damping matrices of a control law about the last state, (n, n) each; None
    # without a law.
    feedback: tuple[Array, Array] | None = field(default=None, repr=False, compare=False)
    # How errors are determined: ``auto``, ``computed``, ``estimated`` or ``off``.
    judged: str = field(default="estimated", repr=False, compare=False)
    # Recipe to simulate the motion again; None if this is not possible.
    repetition: "Repetition | None" = field(default=None, repr=False, compare=False)
    # Function that computes the errors of a run in which nothing moves.
    at_rest: "Callable[[RunData], RestErrors] | None" = field(
        default=None, repr=False, compare=False
    )

    def __repr__(self) -> str:
        """Return a summary of the run in a few lines."""
        return self._summary().text()

    def _summary(self) -> Summary:
        statistics = self.statistics
        lines = [
            f"{len(self.t)} samples of {self.model.size} coordinates, {self.model.names[0]} to "
            f"{self.model.names[-1]}",
            f"{self.method} in {statistics.steps} steps, rtol {self.rtol:g}, "
            f"energy balance closed to {self.energy_balance:.0e}"
            + "".join(f", momentum to {x:.0e}" for x in [self.momentum_balance] if x is not None),
            *filter(None, (self.reason, self.unbalanced)),
            *(f"{event.what} did not happen: {event.why}" for event in self.pending),
        ]
        rows = [(f"{event.t:.6g} s", event.what) for event in self.event_records]
        title = f"Run of {self.model.arm.name}: {self.status} at t = {self.t[-1]:.6g} s"
        return Summary(title, tuple(lines), ("time", "event"), rows)

    @property
    def work(self) -> Array:
        """Work and energy of captured bodies so far, less dissipated energy [J], (T,)."""
        return np.asarray(self.work_integrals @ np.array([1.0, 1.0, 1.0, -1.0, 1.0]))

    @property
    def balance(self) -> Array:
        """Change of energy less work since the start [J], (T,); 0 without solver errors."""
        error = self.energy.sum(axis=1) - self.energy[0].sum() - (self.work - self.work[0])
        if self.drives is not None:
            error = error + (self.drives.stored - self.drives.stored[0])
        return np.asarray(error)

    @property
    def energy_balance(self) -> float:
        """Largest error of the energy balance, relative to the energy exchanged.

        If no energy is exchanged, the error is relative to the largest energy.
        """
        error = float(np.abs(self.balance).max())
        size, largest = self.exchanged, float(np.abs(self.energy).max())
        if size <= ACCUMULATED * largest:
            size = largest
        return error / size if error else 0.0

    @cached_property
    def momentum_errors(self) -> MomentumBalance | None:
        """Errors of the momentum balance (change less impulse); None unless the base is free."""
        if not self.momentum.shape[1]:
            return None
        return compare_momenta(self.momentum, self.impulse, self.model.reach)

    @property
    def momentum_balance(self) -> float | None:
        """Largest error of the momentum balance, relative to the momentum exchanged.

        The error is None without a free base, or if the run's file does not store momenta.
        """
        return None if self.momentum_errors is None else self.momentum_errors.error

    @property
    def balance_errors(self) -> dict[str, float]:
        """Largest errors of the energy and momentum balances, relative to the exchanged amount."""
        errors = {"energy": self.energy_balance, "momentum": self.momentum_balance}
        return {name: error for name, error in errors.items() if error is not None}

    @property
    def unbalanced(self) -> str:
        """Sentence on balances whose errors exceed the tolerance; empty if there are none."""
        errors_beyond = [
            f"the {name} balance is off by {error:.1e} of the {name} exchanged"
            for name, error in self.balance_errors.items()
            if error > self.rtol
        ]
        if not errors_beyond:
            return ""
        return (
            f"{' and '.join(errors_beyond)}, beyond the tolerance of {self.rtol:g}. The motion is "
            "wrong by about that, and by more where errors grow. Use a smaller rtol."
        )

    @property
    def exchanged(self) -> float:
        """Largest energy that is transferred in the run [J], as far as the samples resolve it.

        The energy exchanged is the largest of the kinetic energy, the ranges of elastic and
        gravitational energy, and the ranges of all work integrals.
        """
        energies = np.hstack([self.energy[:, 1:], self.work_integrals])
        return max(float(self.energy[:, 0].max()), float(np.ptp(energies, axis=0).max()))

    @cached_property
    def validity(self) -> "Validity":
        """Largest slopes, strains and deflections, compared with the model's range of validity."""
        from flexarm.accuracy.validity import validity

        return validity(self.model, self.t, self.q, self.u)

    @property
    def motion(self) -> "Motion":
        """Coordinates, rates and inputs over time, for estimates of errors."""
        from flexarm.accuracy.defect import Motion

        push = None if self.drives is None else self.drives.push
        phases = tuple((phase.first, phase.held, phase.jump) for phase in self.phases)
        return Motion(
            self.t, self.q, self.v, self.u, self.reference_attitudes, push, phases, self.feedback
        )

    @cached_property
    def errors(self) -> "RunErrors":
        """Errors of model, shapes and integration, by the method of the option ``errors``."""
        from flexarm.accuracy.stated import errors_off, run_errors

        if self.judged == "off":
            return errors_off()
        why = CARRIED if any(phase.tip is not None for phase in self.phases) else self.missed
        repetition = self.repetition
        compares = repetition is not None and repetition.other is not None
        if repetition is not None and self.judged != "computed":
            compares = compares and self.judged == "auto" and repetition.is_cheap
        estimates = run_errors(
            self.model, self.motion, self.validity, solved=self._solved(),
            at_rest=None if self.at_rest is None else partial(self.at_rest, self),
            compare=self._compare if compares else None, why=why,
        )  # fmt: skip
        if self.paper or self.model.tip_rotation == "first-order":
            return replace(estimates, model=None, parts=estimates.parts | {"theory": None})
        return estimates

    def _solved(self) -> "IntegrationError":
        """Compute the integration error by repeating the run at a tighter tolerance."""
        from flexarm.accuracy.constants import REPEATED_SECONDS
        from flexarm.accuracy.integration import IntegrationError, integration_error

        if not self.kept:
            return IntegrationError(None)
        closer_motion, error_ratio, repetition = None, 1.0, self.repetition
        if repetition is not None and (
            self.judged == "computed" or repetition.seconds <= REPEATED_SECONDS
        ):
            closer_run = repetition.closer()
            step_ratio = closer_run.statistics.steps / max(self.statistics.steps, 1)
            closer_motion, error_ratio = closer_run.motion, step_ratio**repetition.order
        return integration_error(
            self.model, self.motion, closer_motion, rtol=self.rtol, falls=error_ratio,
            steps=self.statistics.steps, balance=max(self.balance_errors.values()),
        )  # fmt: skip

    def _compare(self) -> "RicherRuns":
        """Compute the errors of shapes and of the links' theory by runs of more accurate arms."""
        from flexarm.accuracy.stated import compare

        repetition, richer = self.repetition, list[RunData]()
        assert repetition is not None
        simulate_other = repetition.other
        assert simulate_other is not None

        def simulate(model: Model) -> "tuple[Motion, Array]":
            richer.append(simulate_other(model))
            return richer[-1].motion, richer[-1].tip

        errors = compare(self.model, self.motion, self.tip, self.rtol, simulate)
        seconds = [run.repetition.seconds for run in richer if run.repetition is not None]
        if repetition.seconds and len(seconds) == len(richer):
            keep_note(repetition.recipe, str(sum(seconds) / repetition.seconds))
        return errors

    @cached_property
    def missed(self) -> str:
        """Sentence on vibrations that the samples do not resolve; empty if there are none."""
        return undersampling_note(self.model, self.t, self.q, self.v)
