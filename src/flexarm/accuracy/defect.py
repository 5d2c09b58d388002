"""Error estimates of a motion by linear theory, from residual forces in a richer model."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial

import casadi as ca
import numpy as np
import numpy.typing as npt

from flexarm.accuracy.response import Stretch, respond
from flexarm.accuracy.richer import can_grow, richer
from flexarm.accuracy.slender import section_errors
from flexarm.engine.functions import trace_recipe
from flexarm.formulations import formulation
from flexarm.links.base import Array
from flexarm.links.integrals import shortening
from flexarm.mechanics.deformed import AT_ONCE
from flexarm.mechanics.drives import hub_row, input_limit, motor_row
from flexarm.mechanics.loads import (
    input_matrix,
    prescribed_accelerations,
    wrench_factors,
    wrench_list,
)
from flexarm.model import LinkModel, Model
from flexarm.model.state import fingerprint

Indices = npt.NDArray[np.int_]
# Intervals of a motion, each with the modes of its middle.  Changes between them excite fast modes
# that the motion does not: with 16 stretches, errors were overestimated up to three times more.
STRETCHES = 64
# Factor on the estimate where servos reach their limits, which linear theory does not contain: it
# was 2.8 to 3.6 times too small with clamped-free shapes.
CUT = 5.0
NEAR = 0.7  # share of a limit beyond which a servo may reach it with other shapes
# Factor on the estimate where damping couples modes, and the damping ratio of a link from which on
# it applies: without it the estimate was 1.3 times too small.
COUPLED, STRONG = 1.6, 0.15
# Relative to a step: period below which added shapes carry no inertia; the period they get instead.
IDLE, FOLLOWING = 1e-6, 0.03


@dataclass(frozen=True)
class Motion:
    """Coordinates, rates and inputs of a model at T times."""

    t: Array  # times [s], (T,)
    q: Array  # coordinates, (T, n)
    v: Array  # rates, (T, n)
    u: Array  # inputs, (T, inputs)
    anchors: Array  # reference attitudes of a free base and of spherical joints, (T, 3 k, 3)
    push: Array | None = None  # generalised forces of drive trains beside those of inputs, (T, n)
    # Phases: index of the first sample, indices of the prescribed or fixed coordinates, and
    # jumps of the rates, (n,) or empty.  Without phases those of the model are prescribed.
    held: tuple[tuple[int, tuple[int, ...], tuple[float, ...]], ...] = ()
    # Stiffness and damping of a control law, (n, n) each; None if the model's servos act.
    feedback: tuple[Array, Array] | None = None


@dataclass(frozen=True)
class Leg:
    """A phase of a motion in which the set of held coordinates does not change."""

    first: int  # index of its first sample
    last: int  # index of its last sample, the first one of the next phase
    old: list[int]  # free coordinates shared with the given arm
    free: list[int]  # all free coordinates
    jump: tuple[float, ...]  # jumps of the rates at its beginning, (n,), or empty


@dataclass(frozen=True)
class Deviations:
    """Corrections of a link's tip position predicted by a richer model, (T, 3) each [m]."""

    shapes: Array  # by more shapes in the directions that have some
    stiffness: Array  # by shapes in elastic directions that have none
    section: Array  # by shear, and by rotary inertia that was left out
    nodes: Array  # by exact shortening of the axes of exact links


class RicherArm:
    """Linear-theory model with more shapes than a given model, used to estimate model errors."""

    def __init__(self, model: Model) -> None:
        self.given, self.rich = model, richer(model)
        self.model = self.rich.model
        self.kept = list(self.rich.kept)
        self.probes = set(self.rich.probes.values())
        # Of exact links: slice of their coordinates, and coupling of bending and twist.
        pairs = zip(self.given.links, self.model.links, strict=True)
        couplings = [
            (rich.modes, twisting(rich)) for part, rich in pairs if part.exact and can_grow(part)
        ]
        self.twisted = [(modes, factors) for modes, factors in couplings if np.any(factors)]

    def legs(self, motion: Motion) -> list[Leg]:
        """Split a motion into phases with constant sets of held coordinates."""
        held = motion.held or ((0, self.given.prescribed, ()),)
        ends = [first for first, _, _ in held[1:]] + [len(motion.t) - 1]
        legs = []
        for (first, listed, jump), last in zip(held, ends, strict=True):
            fixed = {self.kept[i] for i in listed}
            old = [i for i in self.kept if i not in fixed]
            free = [i for i in range(self.model.size) if i not in fixed | self.probes]
            legs.append(Leg(first, last, old, free, jump))
        return [leg for leg in legs if leg.last > leg.first]

    @cached_property
    def _functions(self) -> dict[str, ca.Function]:
        """Compiled functions ``balance`` (mass matrix, bias force) and ``smooth_matrices``."""
        equation, arm = formulation("composite", self.model), fingerprint(self.model)
        return {
            name: trace_recipe(f"{equation.name} {name} {arm}", partial(equation.function, name))
            for name in ("balance", "smooth_matrices")
        }

    def stiffness_and_damping(self, given: Array) -> tuple[Array, Array]:
        """Compute elastic stiffness and smooth damping, (n, n) each, at given coordinates."""
        q = np.zeros(self.model.size)
        q[self.kept] = given
        anchors = [self.model.start_anchors] if self.model.attitudes else []
        stiffness, damping = (
            each.full() for each in self._functions["smooth_matrices"](q, 0 * q, *anchors)
        )
        return (stiffness + stiffness.T) / 2, damping

    def mass_and_bias(self, motion: Motion, samples: Indices) -> tuple[Array, Array]:
        """Compute mass matrices (S, n, n) and bias forces (S, n) at S samples of a motion."""
        count, n = len(samples), self.model.size
        q, v = np.zeros((2, count, n))
        q[:, self.kept], v[:, self.kept] = motion.q[samples], motion.v[samples]
        w = np.zeros((count, len(wrench_list(self.model))))
        if w.size:
            w[:] = [wrench_factors(self.given, float(t)) for t in motion.t[samples]]
        anchors = [np.hstack([*motion.anchors[samples]])] if self.model.attitudes else []
        mass, bias = self._functions["balance"].map(count)(q.T, v.T, w.T, *anchors)
        return mass.full().reshape(n, count, n).transpose(1, 0, 2), bias.full().T

    def unbalanced(
        self, motion: Motion, leg: Leg, samples: Indices, mass: Array, bias: Array
    ) -> tuple[Array, Array]:
        """Compute accelerations and residual forces on the added shapes, (S, n) each."""
        a = np.zeros(bias.shape)
        given = [self.kept[i] for i in self.given.prescribed]
        if given:
            times = motion.t[samples]
            a[:, given] = [prescribed_accelerations(self.given, float(t)) for t in times]
        forces = -bias
        forces[:, self.kept] += motion.u[samples] @ input_matrix(self.given).T
        if motion.push is not None:
            forces[:, self.kept] += motion.push[samples]
        left = forces - np.einsum("tij,tj->ti", mass, a)
        block = mass[:, leg.old][:, :, leg.old]
        a[:, leg.old] = np.linalg.solve(block, left[:, leg.old, None])[..., 0]
        left -= np.einsum("tij,tj->ti", mass[:, :, leg.old], a[:, leg.old])
        return a, left

    def deviations(self, motion: Motion) -> dict[str, Deviations]:
        """Compute the corrections of the links' tip positions for a motion, by link name."""
        loads = np.zeros((len(motion.t), self.model.size, 4))
        stretches: list[Stretch] = []
        for leg in self.legs(motion):
            share = max(round(STRETCHES * (leg.last - leg.first) / (len(motion.t) - 1)), 1)
            cuts = np.unique(np.linspace(leg.first, leg.last, share + 1).round().astype(int))
            middles = {int(each) for each in (cuts[:-1] + cuts[1:]) // 2}
            masses = self._load(motion, leg, loads, middles | {leg.first})
            kick = self._kick(masses[leg.first], np.array(leg.jump)) if leg.jump else None
            stretches += self._stretches(motion, leg, cuts, masses, kick)
        servos = [axis.acts.servo for axis in self.given.axes]
        held = stretches
        if any(servos) or motion.feedback is not None:
            holding = self.feedback(motion)
            held = [each.stiffer(*holding) for each in stretches]
        x = self._respond(motion, loads, held)
        late = any(servo is not None and servo.period is not None for servo in servos)
        used = _used(self.given, motion) if any(servos) else 0.0
        if (late or used > NEAR) and motion.feedback is None:
            loose = self._respond(motion, loads, stretches)
            x = np.where(np.abs(loose) > np.abs(x), loose, x)
            x = CUT * x if used >= 1 - 1e-6 else x
        x = COUPLED * x if any(_ratio(part) > STRONG for part in self.given.links) else x
        by_link: dict[str, Deviations] = {}
        for part in self.model.links:
            if part.body.one_length:
                own = [i for i in range(part.modes.start, part.modes.stop) if i not in self.probes]
                tip = part.beam.tip_shape[:, [i - part.modes.start for i in own]]
                by_link[part.name] = Deviations(*np.einsum("ai,til->lta", tip, x[:, own]))
        return by_link

    def _respond(self, motion: Motion, loads: Array, stretches: list[Stretch]) -> Array:
        """Return the responses to loads, and to bending loads caused by twist, (T, n, 4)."""
        x = respond(motion.t, loads, iter(stretches))
        turned = np.zeros((*x.shape[:2], 2))
        size = max(AT_ONCE // self.model.size**2, 1)
        for start in range(0, len(x) if self.twisted else 0, size):
            block = slice(start, start + size)
            bent = self._own(motion.q[block])
            for modes, factors in self.twisted:
                turn = np.tensordot(factors, bent[:, modes], (2, 1)).transpose(2, 1, 0)
                turned[block, modes] = turn @ x[block, modes, :2]
        if np.any(turned):
            calm = (replace(each, kick=None) for each in stretches)  # x contains the kicks already
            x[:, :, :2] += respond(motion.t, turned, calm)
        return x

    def _own(self, given: Array) -> Array:
        """Return the given arm's coordinates as coordinates of the richer arm, (T, n)."""
        q = np.zeros((len(given), self.model.size))
        q[:, self.kept] = given
        return q

    def feedback(self, motion: Motion) -> Array:
        """Return stiffness and damping of the servos or of a control law, (2, n, n)."""
        gains = np.zeros((2, self.model.size, self.model.size))
        if motion.feedback is not None:
            for gain, given in zip(gains, motion.feedback, strict=True):
                gain[np.ix_(self.kept, self.kept)] = given
            return gains
        for axis in self.model.axes:
            servo = axis.acts.servo
            if servo is not None:
                row = (hub_row if servo.side == "link" else motor_row)(self.model, axis)
                pair = np.array([servo.stiffness or 0.0, servo.damping or 0.0])
                gains += pair[:, None, None] * np.outer(row, row)
        return gains

    def _load(self, motion: Motion, leg: Leg, loads: Array, kept: set[int]) -> dict[int, Array]:
        """Compute the loads of the four `Deviations` in a phase, and return some mass matrices.

        ``loads`` (T, n, 4) is filled in place; ``kept`` lists the samples whose mass matrices are
        returned.
        """
        size = max(AT_ONCE // self.model.size**2, 1)
        soft, heavy = section_errors(self.given)
        exact = any(part.exact is not None for part in self.given.links)
        masses: dict[int, Array] = {}
        for start in range(leg.first, leg.last + 1, size):
            block = np.arange(start, min(start + size, leg.last + 1))
            mass, bias = self.mass_and_bias(motion, block)
            # Copies, since a view would keep the whole block in memory.
            masses |= {k: mass[k - start].copy() for k in kept if start <= k < start + len(block)}
            a, left = self.unbalanced(motion, leg, block, mass, bias)
            here, q = loads[start : start + len(block)], motion.q[block]
            for modes, factors in self.twisted:
                bent = self._own(q)[:, modes]
                turn = np.tensordot(factors, bent, (2, 1))
                left[:, modes] += np.einsum("kit,ti->tk", turn, bent) / 2
            for k, group in enumerate((self.rich.more, self.rich.left_out)):
                here[:, list(group), k] = left[:, list(group)]
            here[:, self.kept, 2] = q @ soft - a[:, self.kept] @ heavy
            if exact:
                here[:, self.kept, 3] = self._drawn(q, left)
        return masses

    def _kick(self, mass: Array, jump: Array) -> Array:
        """Return the impulses on the added shapes when the rates jump, (n, 4)."""
        kick = np.zeros((self.model.size, 4))
        momenta = mass[:, self.kept] @ jump
        for k, group in enumerate((self.rich.more, self.rich.left_out)):
            kick[list(group), k] = -momenta[list(group)]
        return kick

    def _drawn(self, q: Array, left: Array) -> Array:
        """Return the loads that axial forces exert through errors of axial shortening, (S, n)."""
        loads = np.zeros(q.shape)
        for part in self.given.links:
            if part.exact is not None and part.name in self.rich.probes:
                pull = left[:, [self.rich.probes[part.name]]]
                loads[:, part.modes] = pull * (q[:, part.modes] @ shortening_error(part))
        return loads

    def _stretches(
        self, motion: Motion, leg: Leg, cuts: Indices, masses: dict[int, Array], kick: Array | None
    ) -> Iterator[Stretch]:
        free = np.ix_(leg.free, leg.free)
        for begin, end in itertools.pairwise(cuts.tolist()):
            middle = (begin + end) // 2
            stiffness, damping = self.stiffness_and_damping(motion.q[middle])
            step = float(motion.t[-1] - motion.t[0]) / (len(motion.t) - 1)
            mass, damping = self._followed(masses[middle], stiffness, damping, step)
            yield Stretch(
                begin, end, leg.free, mass[leg.free], stiffness[free], damping[free], kick
            )
            kick = None

    def _followed(
        self, mass: Array, stiffness: Array, damping: Array, step: float
    ) -> tuple[Array, Array]:
        """Return mass and damping with small additions for added shapes without inertia.

        The additions make these shapes follow quasi-statically.
        """
        added = [*self.rich.more, *self.rich.left_out]
        size = np.sqrt(np.diag(stiffness)[added])
        squares, vectors = np.linalg.eigh(mass[np.ix_(added, added)] / np.outer(size, size))
        idle = np.zeros((len(mass), int(np.sum(squares < (IDLE * step) ** 2))))
        idle[added] = size[:, None] * vectors[:, : idle.shape[1]]
        reach = FOLLOWING * step
        return mass + reach**2 * idle @ idle.T, damping + 2 * reach * idle @ idle.T


def _used(model: Model, motion: Motion) -> float:
    """Return the largest ratio of peak input to input limit among servo-driven joints."""
    driven = [axis for axis in model.axes if axis.driven]
    shares = [
        float(np.abs(motion.u[:, column]).max()) / input_limit(axis)
        for column, axis in enumerate(driven)
        if axis.acts.servo is not None
    ]
    return max(shares, default=0.0)


def _ratio(part: LinkModel) -> float:
    """Return the largest modal damping ratio of a link's own shapes."""
    if not part.body.one_length:
        return 0.0
    integrals, losses = part.beam.integrals, np.diag(part.beam.damping)
    firm = np.sqrt(np.diag(integrals.stiffness) * np.diag(integrals.modal_mass))
    return float((losses / (2 * np.maximum(firm, 1e-300))).max(initial=0.0))


def twisting(part: LinkModel) -> Array:
    """Compute the coupling of bending and twist of a link's shapes.

    Shape k is loaded by ``factors[k, i, j] q_i q_j / 2``. A beam with different bending stiffnesses
    is twisted by ``(EIy - EIz) y'' z''`` per length (the moment about the axis in Kirchhoff's
    equations); by the same energy, twist acts on bending.

    Returns
    -------
    Array
        Factors of a link's shapes [N/m], (m, m, m), symmetric in the last two indices.
    """
    span, shapes = part.beam.span, part.beam.shapes
    m = shapes.count
    if not all(span.has(name) for name in ("EIy", "EIz", "GJ")):
        return np.zeros((m, m, m))
    x, weight = span.quadrature(12 + 2 * m, shapes.edges)
    weight = weight * (span.at("EIy", x) - span.at("EIz", x))
    twist, y, z = shapes.values("twist", x), shapes.values("y", x, 2), shapes.values("z", x, 2)
    factors = np.einsum("g,gk,gi,gj->kij", weight, twist, y, z, optimize=True)
    return np.asarray(factors + factors.transpose(0, 2, 1))


def shortening_error(part: LinkModel) -> Array:
    """Compute the error of axial shortening due to a link's collocation nodes.

    It is the sum of the error at the tip and the mass average of the error along the link.

    Returns
    -------
    Array
        Error per product of two amplitudes [1/m], (m, m).
    """
    elastic, nodes = part.beam, part.exact
    assert nodes is not None
    squares = np.einsum("dgi,dgj->gij", nodes.bend, nodes.bend)
    edges = np.union1d(elastic.span.edges, elastic.shapes.edges)
    x = np.append(elastic.points.x, elastic.span.length)
    drawn = np.einsum("pg,gij->pij", nodes.reach(x)[0], squares)
    values, vectors = np.linalg.eigh(drawn - shortening(elastic.shapes, x, edges))
    sizes = np.einsum("pik,pk,pjk->pij", vectors, np.abs(values), vectors)
    mass = elastic.points.mass
    return np.asarray(sizes[-1] + np.einsum("p,pij->ij", mass / mass.sum(), sizes[:-1]))
