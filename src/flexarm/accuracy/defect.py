"""Error estimates of a motion from its residual forces in the equations of a richer arm."""

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from flexarm.accuracy.constants import ADDED_SHAPES, FOLLOWING_PERIOD, IDLE_PERIOD, STRETCHES
from flexarm.accuracy.richer import can_grow, enriched
from flexarm.accuracy.slender import section_errors
from flexarm.constants import ACCUMULATED
from flexarm.formulations import formulation
from flexarm.formulations.equation import Equation, at_times
from flexarm.linear_model import integral_of_exponential, undamped
from flexarm.links.base import DIRECTIONS, Direction
from flexarm.loops.rows import call_rows
from flexarm.mechanics.constants import BLOCK_VALUES
from flexarm.mechanics.loads import (
    hub_row,
    input_matrix,
    motor_row,
    prescribed_accelerations,
    wrench_factors,
)
from flexarm.model import Model
from flexarm.spatial import Array


@dataclass(frozen=True)
class Stretch:
    """Time interval of a motion in which the matrices of the linear model are constant."""

    first: int  # index of the first sample
    last: int  # index of the last sample
    free: list[int]  # coordinates that move, (m,); the others do not move
    mass: Array  # rows of the mass matrix of moving coordinates, at the interval's middle, (m, n)
    stiffness: Array  # stiffness matrix at the interval's middle, (m, m)
    damping: Array  # damping matrix at the interval's middle, (m, m)
    kick: Array | None = None  # impulses on all coordinates at the start, (n, L), or None


def respond(t: Array, loads: Array, stretches: Iterable[Stretch]) -> Array:
    """Integrate ``M x'' + D x' + K x = f`` from rest, with constant matrices in each interval.

    Parameters
    ----------
    t
        Times [s], (T,).
    loads
        Loads f of L load cases, linear between the times, (T, n, L).
    stretches
        Consecutive intervals that cover all times.

    Returns
    -------
    Array
        Displacements x of the L load cases, (T, n, L).

    Notes
    -----
    The solution is exact in the modes of each interval; damping that couples modes is neglected. A
    coordinate stops at once when a brake or lock holds it, and starts from rest when released.
    """
    x, rate = np.zeros(loads.shape[1:]), np.zeros(loads.shape[1:])
    result = np.zeros(loads.shape)
    for stretch in stretches:
        mass = stretch.mass[:, stretch.free]
        squares, vectors = undamped(mass, stretch.stiffness)
        loss = np.einsum("im,ij,jm->m", vectors, stretch.damping, vectors)
        y, dy = vectors.T @ mass @ x[stretch.free], vectors.T @ stretch.mass @ rate
        if stretch.kick is not None:
            dy += vectors.T @ stretch.kick[stretch.free]
        modal_loads = vectors.T @ loads[stretch.first : stretch.last + 1, stretch.free]
        steps = {}
        for k in range(stretch.first, stretch.last):
            h = float(t[k + 1] - t[k])
            length = round(h / (t[-1] - t[0]), 12)
            if length not in steps:
                steps[length] = _step(squares, loss, h)
            ends = modal_loads[k - stretch.first : k - stretch.first + 2]
            y, dy = np.einsum("miv,vml->iml", steps[length], np.stack([y, dy, *ends]))
            x[stretch.free] = vectors @ y
            result[k + 1] = x
        rate[:] = 0.0
        rate[stretch.free] = vectors @ dy
    return result


def _step(squares: Array, loss: Array, h: float) -> Array:
    """Return the matrices that advance each mode by a step of length h, (modes, 2, 4).

    Each matrix multiplies the vector of position and rate of the mode at the start of the step,
    load at its start, and load at its end; the product is position and rate at the end.
    """
    # Time derivatives of displacement, velocity, load, and change of the load per step.
    rates = np.zeros((len(squares), 4, 4))
    rates[:, [0, 1, 2], [1, 2, 3]] = 1.0, 1.0, 1 / h
    rates[:, 1, :2] = -np.column_stack([np.maximum(squares, 0.0), np.maximum(loss, 0.0)])
    fastest = float(np.abs(np.linalg.eigvals(rates[:, :2, :2])).max(initial=0.0))
    propagator = np.eye(4) + rates @ integral_of_exponential(rates, h, fastest)
    ends = np.array([[1.0, 0.0], [-1.0, 1.0]])  # loads at both ends to load and its change
    return np.asarray(np.concatenate([propagator[:, :2, :2], propagator[:, :2, 2:] @ ends], axis=2))


Indices = npt.NDArray[np.int_]
CAUSES = ("shapes", "stiffness", "section", "theory")


@dataclass(frozen=True)
class Motion:
    """Motion of an arm: coordinates, rates and inputs at T times."""

    t: Array  # times [s], (T,)
    q: Array  # coordinates, (T, n)
    v: Array  # rates, (T, n)
    u: Array  # inputs, (T, inputs)
    # Reference attitudes of a free base and of spherical joints, (T, 3 k, 3).
    reference_attitudes: Array
    push: Array | None = None  # generalised forces of drive trains besides inputs, (T, n)
    # Per phase: index of the first sample, indices of the prescribed or locked coordinates, and
    # jumps of the rates, (n,) or empty.  If empty, there is one phase.
    phases: tuple[tuple[int, tuple[int, ...], tuple[float, ...]], ...] = ()
    # Stiffness and damping of a control law, (n, n) each; None if the model's servos act.
    feedback: tuple[Array, Array] | None = None


@dataclass(frozen=True)
class MotionPhase:
    """Part of a motion in which the same coordinates are prescribed or locked throughout."""

    first: int  # index of the first sample
    last: int  # index of the phase's last sample, the first of the next phase
    shared: list[int]  # free coordinates shared with the given arm
    free: list[int]  # all free coordinates
    jump: tuple[float, ...]  # jumps of the rates at the phase's start, (n,), or empty


class RicherArm:
    """An arm with additional shapes, in whose equations a given motion leaves residual forces.

    If the links of the given arm are linear beams, those of the richer arm are geometrically exact
    beams with shear and rotary inertia.
    """

    def __init__(self, model: Model) -> None:
        self.complete = model.link_theory != "exact"
        self.original, self.rich = model, enriched(model, ADDED_SHAPES, complete=self.complete)
        self.model, self.kept = self.rich.model, self.rich.kept
        self.richer, self.own = (
            formulation("lagrange" if arm.tip_rotation == "first-order" else "composite", arm)
            for arm in (self.model, self.original)
        )

    def phases(self, motion: Motion) -> list[MotionPhase]:
        """Divide a motion into phases, in each of which the same coordinates are locked."""
        starts = motion.phases or ((0, self.original.prescribed, ()),)
        ends = [first for first, _, _ in starts[1:]] + [len(motion.t) - 1]
        phases = []
        for (first, fixed_indices, jump), last in zip(starts, ends, strict=True):
            fixed = {self.kept[i] for i in fixed_indices}
            shared = [i for i in self.kept if i not in fixed]
            free = [i for i in range(self.model.size) if i not in fixed]
            phases.append(MotionPhase(first, last, shared, free, jump))
        return [phase for phase in phases if phase.last > phase.first]

    def stiffness_and_damping(self, coordinates: Array) -> tuple[Array, Array]:
        """Compute stiffness and damping matrices of elastic and smooth forces, (n, n) each."""
        q = self._own(coordinates)
        attitudes = [self.model.start_references] if self.model.attitudes else []
        matrices = self.richer.compiled("smooth_matrices").call(q, 0 * q, *attitudes)
        stiffness, damping = (matrix.reshape(len(q), -1) for matrix in matrices)
        return (stiffness + stiffness.T) / 2, damping

    def mass_and_bias(
        self, equation: Equation, motion: Motion, samples: Indices
    ) -> tuple[Array, Array]:
        """Compute mass matrices (S, n, n) and bias forces (S, n) at S samples of a motion.

        The arm is the original or the richer one, in the motion of the original arm.
        """
        model, q, v = equation.model, motion.q[samples], motion.v[samples]
        if model is self.model:
            q, v = self._own(q), self._own(v)
        factors = at_times(wrench_factors, self.original, motion.t[samples])
        attitudes = [motion.reference_attitudes[samples]] if model.attitudes else []
        arrays = (q, v, factors, *attitudes)
        mass, bias = call_rows(equation.compiled("balance"), len(samples), arrays)
        return mass.reshape(len(samples), model.size, -1), bias

    def accelerations(
        self, motion: Motion, phase: MotionPhase, samples: Indices, forces: Array
    ) -> Array:
        """Compute the accelerations of the original arm at S samples, (S, n)."""
        a = np.zeros(forces.shape)
        prescribed = list(self.original.prescribed)
        if prescribed:
            times = motion.t[samples]
            a[:, prescribed] = at_times(prescribed_accelerations, self.original, times)
        mass, bias = self.mass_and_bias(self.own, motion, samples)
        residual = forces - bias - np.einsum("tij,tj->ti", mass, a)
        free = [self.kept.index(i) for i in phase.shared]
        block = mass[:, free][:, :, free]
        a[:, free] = np.linalg.solve(block, residual[:, free, None])[..., 0]
        return a

    def deviations(self, motion: Motion) -> dict[str, dict[str, Array]]:
        """Compute the estimated error of each link's tip position in a motion, (T, 3) [m].

        The errors are listed by link name and by cause. The causes are ``shapes`` (too few shapes
        in a direction), ``stiffness`` (elastic directions without any shape), ``section`` (no shear
        and rotary inertia) and ``theory`` (linear instead of exact beams).
        """
        loads = np.zeros((len(motion.t), self.model.size, len(CAUSES)))
        feedback, stretches = self.feedback(motion), list[Stretch]()
        for phase in self.phases(motion):
            count = max(round(STRETCHES * (phase.last - phase.first) / (len(motion.t) - 1)), 1)
            cuts = np.unique(np.linspace(phase.first, phase.last, count + 1).round().astype(int))
            middles = {int(middle) for middle in (cuts[:-1] + cuts[1:]) // 2}
            masses = self._load(motion, phase, loads, middles | {phase.first})
            kick = self._kick(masses[phase.first], np.array(phase.jump)) if phase.jump else None
            stretches += self._intervals(motion, phase, cuts, masses, kick, feedback)
        response = respond(motion.t, loads, stretches)
        q, corrections = self._own(motion.q), dict[str, dict[str, Array]]()
        for part in self.model.links:
            if part.body.one_length:
                beam, amplitudes = part.beam, response[:, part.modes]
                deflection = np.einsum("ai,ti->ta", beam.tip_shape, q[:, part.modes])
                displacements = np.einsum("ai,til->lta", beam.tip_shape, amplitudes, optimize=True)
                twist = np.einsum("i,til->lt", beam.tip_angle[0], amplitudes, optimize=True)
                # A bent link rotates with its twist.
                displacements[..., 1] -= twist * deflection[:, 2]
                displacements[..., 2] += twist * deflection[:, 1]
                corrections[part.name] = dict(zip(CAUSES, displacements, strict=True))
        return corrections

    def _own(self, coordinates: Array) -> Array:
        """Convert coordinates of the original arm to coordinates of the richer arm, (T, n)."""
        q = np.zeros((*coordinates.shape[:-1], self.model.size))
        q[..., self.kept] = coordinates
        return q

    def unloaded_directions(self, motion: Motion, threshold: float) -> set[tuple[str, Direction]]:
        """Return the links and deformation directions in which loads are negligible.

        Loads are negligible if they would deflect the link by less than a given fraction of its
        deflections in the motion.
        """
        loads = np.zeros((len(motion.t), self.model.size, len(CAUSES)))
        for phase in self.phases(motion):
            self._load(motion, phase, loads, set())
        stiffness = np.diag(self.stiffness_and_damping(motion.q[0])[0])
        deflections = np.abs(loads).max(axis=(0, 2)) / np.where(stiffness > 0, stiffness, np.inf)
        deflections[self.kept] = np.ptp(motion.q, axis=0)
        unloaded = set[tuple[str, Direction]]()
        for own_link, part in zip(self.original.links, self.model.links, strict=True):
            if not can_grow(own_link):
                continue
            own_range = float(np.ptp(motion.q[:, own_link.modes], axis=0).max(initial=0.0))
            negligible = max(threshold * own_range, ACCUMULATED * max(part.length, 1e-3))
            loaded = {
                d: deflections[part.modes][added_shapes].max() > negligible
                for d in DIRECTIONS
                if (added_shapes := part.beam.shapes.moving(d))
            }
            # Bending along both y and z also twists a link, by a nonlinear term that a linear
            # response omits.
            loaded["twist"] = loaded.get("twist") or (loaded.get("y") and loaded.get("z"))
            unloaded |= {(part.name, d) for d, is_loaded in loaded.items() if not is_loaded}
        return unloaded

    def feedback(self, motion: Motion) -> Array:
        """Return stiffness and damping matrices of the servos or of a control law, (2, n, n)."""
        gains = np.zeros((2, self.model.size, self.model.size))
        if motion.feedback is not None:
            for gain, matrix in zip(gains, motion.feedback, strict=True):
                gain[np.ix_(self.kept, self.kept)] = matrix
            return gains
        for axis in self.model.axes:
            servo = axis.acts.servo
            if servo is not None:
                row = (hub_row if servo.side == "link" else motor_row)(self.model, axis)
                pair = np.array([servo.stiffness or 0.0, servo.damping or 0.0])
                gains += pair[:, None, None] * np.outer(row, row)
        return gains

    def _load(
        self, motion: Motion, phase: MotionPhase, loads: Array, stored: set[int]
    ) -> dict[int, Array]:
        """Compute the residual forces of a phase by cause, and mass matrices at samples ``stored``.

        The residual forces are written to the array ``loads``, (T, n, causes).
        """
        size = max(BLOCK_VALUES // self.model.size**2, 1)
        grown = (part for part in self.original.links if can_grow(part) and not self.complete)
        shear_stiffness, rotary_inertia = section_errors(self.original, grown)
        # Rows of the richer equations, and the cause of the residual force in each row.
        groups = (self.rich.more, 0), (self.rich.left_out, 1), (self.kept, 3 * self.complete)
        masses: dict[int, Array] = {}
        for start in range(phase.first, phase.last + 1, size):
            block = np.arange(start, min(start + size, phase.last + 1))
            forces = motion.u[block] @ input_matrix(self.original).T
            forces += 0.0 if motion.push is None else motion.push[block]
            a = self.accelerations(motion, phase, block, forces)
            mass, bias = self.mass_and_bias(self.richer, motion, block)
            # Arrays are copied, since views would keep the whole block in memory.
            masses |= {k: mass[k - start].copy() for k in stored if start <= k < start + len(block)}
            residual = self._own(forces) - bias - np.einsum("tij,tj->ti", mass, self._own(a))
            block_loads = loads[start : start + len(block)]
            for group, cause in groups:
                block_loads[:, group, cause] = residual[:, group]
            block_loads[:, self.kept, 2] = motion.q[block] @ shear_stiffness - a @ rotary_inertia
        return masses

    def _kick(self, mass: Array, jump: Array) -> Array:
        """Return the impulses on the added shapes at a jump of the rates, (n, causes)."""
        kick = np.zeros((self.model.size, len(CAUSES)))
        momenta = mass[:, self.kept] @ jump
        for k, group in enumerate((self.rich.more, self.rich.left_out)):
            kick[group, k] = -momenta[group]
        return kick

    def _intervals(
        self,
        motion: Motion,
        phase: MotionPhase,
        cuts: Indices,
        masses: dict[int, Array],
        kick: Array | None,
        feedback: Array,
    ) -> Iterator[Stretch]:
        """Yield the intervals between the samples ``cuts``, with matrices at their middles.

        ``feedback`` is the stiffness and the damping of servos or of a control law, (2, n, n).
        """
        free = np.ix_(phase.free, phase.free)
        for begin, end in itertools.pairwise(cuts.tolist()):
            middle = (begin + end) // 2
            stiffness, damping = self.stiffness_and_damping(motion.q[middle])
            step = float(motion.t[-1] - motion.t[0]) / (len(motion.t) - 1)
            mass, damping = self._followed(masses[middle], stiffness, damping, step)
            stiffness, damping = stiffness + feedback[0], damping + feedback[1]
            yield Stretch(
                begin, end, phase.free, mass[phase.free], stiffness[free], damping[free], kick
            )
            kick = None

    def _followed(
        self, mass: Array, stiffness: Array, damping: Array, step: float
    ) -> tuple[Array, Array]:
        """Return mass and damping matrices in which every added shape has inertia and damping.

        Added shapes without inertia get a small one, so that they deflect as under static loads.
        """
        added = [*self.rich.more, *self.rich.left_out]
        scale = np.sqrt(np.diag(stiffness)[added])
        squares, vectors = np.linalg.eigh(mass[np.ix_(added, added)] / np.outer(scale, scale))
        massless = np.zeros((len(mass), int(np.sum(squares < (IDLE_PERIOD * step) ** 2))))
        massless[added] = scale[:, None] * vectors[:, : massless.shape[1]]
        time_constant = FOLLOWING_PERIOD * step
        return (
            mass + time_constant**2 * massless @ massless.T,
            damping + 2 * time_constant * massless @ massless.T,
        )
