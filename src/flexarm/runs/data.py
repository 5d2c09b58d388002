"""What a simulation leaves, as arrays: times, states, inputs, energies, and what it took."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from flexarm.accuracy.momentum import MomentumBalance, compare_momenta
from flexarm.arm.summary import Summary
from flexarm.formulations import DEFAULT
from flexarm.links.base import Array
from flexarm.model import Model
from flexarm.runs.curves import unseen, what_is_missed
from flexarm.spatial import ACCUMULATED, Inertia

if TYPE_CHECKING:
    from flexarm.accuracy.stated import RestErrors, RunErrors
    from flexarm.accuracy.validity import Validity

CARRIED = "the tip captures or lets go of a body: compare with a run of an arm with more shapes"


@dataclass(frozen=True)
class Statistics:
    """What a run took: accepted and rejected steps, evaluations, CPU time of the solver [s]."""

    steps: int
    rejections: int
    evaluations: int
    cpu_seconds: float


@dataclass(frozen=True)
class Happening:
    """Something that happened during a run.

    Attributes
    ----------
    t
        When [s].
    what
        What.
    lost
        Energy [J] that an impact took.
    """

    t: float
    what: str
    lost: float = 0.0


@dataclass(frozen=True)
class PendingEvent:
    """An event of the model file that did not happen."""

    what: str  # its name
    why: str  # why not
    # value, t: the nearest that its quantity came at a sample, in SI units, and when [s]; None if
    # it was never looked for.
    value: float | None = None
    t: float | None = None


@dataclass(frozen=True)
class RunLeg:
    """A part of a run in which the same coordinates are held and the tip carries the same."""

    first: int  # index of its first sample
    held: tuple[int, ...]  # coordinates that are prescribed or held
    # What the last link's tip carries, in its frame; None if it is what the model has.
    tip: Inertia | None = None
    # By how much each speed jumped where it begins, (n,); empty if none did.
    jump: tuple[float, ...] = ()

    def as_list(self) -> list[Any]:
        """Give it as lists of plain numbers."""
        body = None
        if self.tip is not None:
            body = [self.tip.mass, self.tip.first.tolist(), self.tip.second.tolist()]
        return [self.first, list(self.held), body, list(self.jump)]

    @classmethod
    def of_list(cls, given: Any, model: Model, samples: int) -> "RunLeg":
        """Read it from lists; a ValueError or TypeError if they are none of this arm."""
        first, held, body, *jump = given  # files of before had no jumps
        held, jump = tuple(int(i) for i in held), [float(x) for each in jump for x in each]
        if len(jump) not in (0, model.size):
            raise ValueError
        if not 0 <= first < samples or not all(0 <= i < model.size for i in held):
            raise ValueError
        tip = None
        if body is not None:
            mass, moment, second = body
            tip = Inertia(float(mass), np.array(moment, float), np.array(second, float))
            if tip.first.shape != (3,) or tip.second.shape != (3, 3):
                raise ValueError
        return cls(int(first), held, tip, tuple(jump))

    def model(self, model: Model) -> Model:
        """Give the arm's model in this part."""
        model = replace(model, prescribed=self.held)
        return model if self.tip is None else model.loaded(self.tip)


@dataclass(frozen=True)
class DriveData:
    """What drive trains did at T instants."""

    push: Array  # generalised forces beside those of inputs and of the arm's own equations, (T, n)
    stored: Array  # energy in bristles and windings [J], (T,)
    # By name: deflections of bristles, currents [A], (T,) each; 0 of a joint that is locked.
    states: dict[str, Array]

    def joined(self, other: "DriveData") -> "DriveData":
        """Go on with other instants, the first of which is the last one of these."""
        names = dict.fromkeys([*self.states, *other.states])
        parts = [
            (each.push, each.stored, [each.states.get(k, 0 * each.stored) for k in names])
            for each in (self.at(slice(0, -1)), other)
        ]
        push, stored, rows = (np.concatenate(pair, axis=-1 - (k == 0))
                              for k, pair in enumerate(zip(*parts, strict=True)))  # fmt: skip
        return DriveData(push, stored, dict(zip(names, rows, strict=True)))

    def at(self, rows: Any) -> "DriveData":
        """Take some of the instants."""
        states = {name: values[rows] for name, values in self.states.items()}
        return DriveData(self.push[rows], self.stored[rows], states)


@dataclass(frozen=True)
class RunData:
    """A simulated motion at T instants, as arrays."""

    model: Model  # the arm
    t: Array  # time [s], (T,)
    # q, v: coordinates and rates in the order of ``model.names``, (T, n).
    q: Array
    v: Array
    u: Array  # inputs in the order of the driven joints, (T, inputs)
    # tip, tip_rotation: position (T, 3) [m] and rotation (T, 3, 3) of the arm's tip in the world.
    tip: Array
    tip_rotation: Array
    energy: Array  # kinetic, elastic and gravitational energy [J], (T, 3)
    # Work done so far by inputs, wrenches and prescribed coordinates, what was dissipated, and what
    # bodies brought that were captured, less what they took when let go [J], (T, 5).
    works: Array
    # Attitude that a free base's angles are relative to, world from anchor axes, (T, 3, 3).
    anchors: Array
    # status, reason: ``finished``, ``stopped``, ``interrupted``, or ``running`` if it is not the
    # end; when, why and what to try.
    status: str
    reason: str
    # method, why: the integrator, and why it was chosen.
    method: str
    why: str
    rtol: float  # the tolerance asked for
    statistics: Statistics  # what it took
    # formulation, paper: by which formulation, and whether with its paper's approximations.
    formulation: str = DEFAULT
    paper: bool = False
    # Of an arm on a free base, in inertial axes: momentum [N s] over angular momentum [N m s] about
    # the world's origin of all that moves, the same of the base relative to the centre of mass and
    # about it, and that centre [m], (T, 15); (T, 0) of other arms.
    momentum: Array = field(default_factory=lambda: np.zeros((0, 0)))
    # Likewise: impulse [N s] of all outer forces so far over their angular impulse [N m s], with
    # the momenta of bodies captured, less those of bodies let go, (T, 6).
    impulse: Array = field(default_factory=lambda: np.zeros((0, 0)))
    # What happened during it: events of the model file, and brakes that slipped.
    happenings: tuple[Happening, ...] = ()
    pending: tuple[PendingEvent, ...] = ()  # events of the model file that did not happen
    # Its parts, where events, locks or brakes made several, or hold the arm.
    legs: tuple[RunLeg, ...] = ()
    # Parts of what was dissipated so far [J], (T,) each, by name: ``JOINT: motor friction``, ``link
    # friction``, ``gear``, ``winding``, ``hysteresis``, ``brake``; empty of an arm whose drive
    # trains have none of these.
    losses: Mapping[str, Array] = field(default_factory=dict)
    # What drive trains did, if they have states or stick, or brakes slip.
    drives: DriveData | None = None
    kept: bool = True  # whether the solver kept the tolerance: not where its steps were given
    own: bool = True  # whether inputs were those of the model file: no others, and no law
    # Stiffness and damping by which a control law holds the arm, (n, n) each, if there is one.
    feedback: tuple[Array, Array] | None = field(default=None, repr=False, compare=False)
    # Solves the same motion at a 30th of the tolerance and gives q, (T, n), where that can be done
    # and costs little.
    closer: Callable[[], Array] | None = field(default=None, repr=False, compare=False)
    # Computes the errors of the state of a run in which nothing moves.
    at_rest: "Callable[[RunData], RestErrors] | None" = field(
        default=None, repr=False, compare=False
    )

    def __repr__(self) -> str:
        """Say in a few lines how it went."""
        return self._summary().text()

    def _summary(self) -> Summary:
        taken = self.statistics
        lines = [
            f"{len(self.t)} samples of {self.model.size} coordinates, {self.model.names[0]} to "
            f"{self.model.names[-1]}",
            f"{self.method} in {taken.steps} steps, rtol {self.rtol:g}, "
            f"energy balance closed to {self.energy_balance:.0e}"
            + "".join(f", momentum to {x:.0e}" for x in [self.momentum_balance] if x is not None),
            *filter(None, (self.reason, self.unbalanced)),
            *(f"{each.what} did not happen: {each.why}" for each in self.pending),
        ]
        rows = [(f"{each.t:.6g} s", each.what) for each in self.happenings]
        title = f"Run of {self.model.arm.name}: {self.status} at t = {self.t[-1]:.6g} s"
        return Summary(title, tuple(lines), ("time", "event"), rows)

    @property
    def work(self) -> Array:
        """What was put in, bodies captured included, less what was lost [J], (T,)."""
        return np.asarray(self.works @ np.array([1.0, 1.0, 1.0, -1.0, 1.0]))

    @property
    def balance(self) -> Array:
        """Energy less what was put in, from the start on [J], (T,): 0 but for the solver."""
        error = self.energy.sum(axis=1) - self.energy[0].sum() - (self.work - self.work[0])
        if self.drives is not None:
            error = error + (self.drives.stored - self.drives.stored[0])
        return np.asarray(error)

    @property
    def energy_balance(self) -> float:
        """Largest error of the energy balance over the energy exchanged.

        Of an arm that exchanges none: over its largest energy.
        """
        error = float(np.abs(self.balance).max())
        size, largest = self.exchanged, float(np.abs(self.energy).max())
        if size <= ACCUMULATED * largest:
            size = largest
        return error / size if error else 0.0

    @cached_property
    def momentum_errors(self) -> MomentumBalance | None:
        """Changes of momentum that no impulse accounts for; None of an arm on no free base."""
        if not self.momentum.shape[1]:
            return None
        length = max(sum(part.length for part in self.model.links), 1e-3)
        return compare_momenta(self.momentum, self.impulse, length)

    @property
    def momentum_balance(self) -> float | None:
        """Largest error of the momentum balance over the momentum exchanged.

        None of an arm whose base is not free, or of a file that does not have it.
        """
        return None if self.momentum_errors is None else self.momentum_errors.error

    @property
    def balance_errors(self) -> dict[str, float]:
        """Largest errors of the balances of energy and momentum, over what was exchanged."""
        found = {"energy": self.energy_balance, "momentum": self.momentum_balance}
        return {name: error for name, error in found.items() if error is not None}

    @property
    def unbalanced(self) -> str:
        """Which balances are off by more than the tolerance, and what to do; empty if none is."""
        off = [
            f"the {name} balance is off by {error:.1e} of the {name} exchanged"
            for name, error in self.balance_errors.items()
            if error > self.rtol
        ]
        if not off:
            return ""
        return (
            f"{' and '.join(off)}, beyond the tolerance of {self.rtol:g}. The motion is wrong by "
            "about that, and by more where errors grow. Ask for a smaller rtol."
        )

    @property
    def exchanged(self) -> float:
        """Energy that moved or changed its form [J], at the samples.

        The largest kinetic energy, range of the elastic or gravitational one, or change of a work.
        """
        forms = np.hstack([self.energy[:, 1:], self.works])
        return max(float(self.energy[:, 0].max()), float(np.ptp(forms, axis=0).max()))

    @cached_property
    def validity(self) -> "Validity":
        """How far the run went in the range in which its model holds."""
        from flexarm.accuracy.validity import validity

        return validity(self.model, self.t, self.q, self.u)

    @cached_property
    def errors(self) -> "RunErrors":
        """Errors of the model, of the shapes and of the integration: upper estimates."""
        from flexarm.accuracy.defect import Motion
        from flexarm.accuracy.stated import run_errors

        push = None if self.drives is None else self.drives.push
        held = tuple((leg.first, leg.held, leg.jump) for leg in self.legs)
        motion = Motion(self.t, self.q, self.v, self.u, self.anchors, push, held, self.feedback)
        rtol = self.rtol if self.kept else None
        why = CARRIED if any(leg.tip is not None for leg in self.legs) else ""
        found = run_errors(
            self.model, motion, self.validity, rtol=rtol, closer=self.closer,
            at_rest=None if self.at_rest is None else partial(self.at_rest, self), why=why,
            unseen=unseen(self.model, self.t, self.q, self.v), steps=self.statistics.steps,
            balance=max(self.balance_errors.values()),
        )  # fmt: skip
        if self.paper or self.model.tip_rotation == "first-order":
            return replace(found, model=None, parts=found.parts | {"theory": None})
        return found

    @cached_property
    def missed(self) -> str:
        """What moves faster than the samples show, and which ``dt`` would; empty if nothing."""
        return what_is_missed(self.model, self.t, self.q, self.v)
