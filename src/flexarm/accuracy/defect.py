"""What a motion leaves unbalanced in shapes and stiffnesses that its model does not have."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial

import casadi as ca
import numpy as np
import numpy.typing as npt

from flexarm.accuracy.response import Stretch, respond
from flexarm.accuracy.richer import can_grow, richer
from flexarm.accuracy.slender import shear_flexibility
from flexarm.engine.functions import trace_recipe
from flexarm.formulations import formulation
from flexarm.links.base import Array
from flexarm.links.integrals import shortening
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
# Of a motion, in each of which the modes are those of its middle.  Where they change, fast modes
# are excited that are not so in truth: 16 of them overstated errors up to three times more.
STRETCHES = 64
# Times what linear theory sees where servos come to their limits: those of other shapes do so at
# other times, which it does not see (2.8 to 3.6 times too little with clamped-free shapes).
CUT = 5.0
NEAR = 0.7  # of a limit: from there on with other shapes a servo may come to it
# Times where damping of links, by ratios above this, couples modes (1.3 times too little else).
COUPLED, STRONG = 1.6, 0.15
# Of a step: shapes whose vibrations are shorter move nothing, and how long they are taken to be.
IDLE, FOLLOWING = 1e-6, 0.03
AT_ONCE = 2_000_000  # numbers: long motions are gone through in blocks of samples


@dataclass(frozen=True)
class Motion:
    """A motion of a model at T times."""

    t: Array  # times [s], (T,)
    # q, v, u: coordinates, rates and inputs, (T, n), (T, n), (T, inputs).
    q: Array
    v: Array
    u: Array
    # Attitudes that angles of a free base and of spherical joints are relative to, (T, 3 k, 3).
    anchors: Array
    # Generalised forces of drive trains beside those of inputs, (T, n), or None.
    push: Array | None = None
    # From which sample on which coordinates are prescribed or held, and how speeds jump there,
    # (n,), empty if they do not; as the model says if empty.
    held: tuple[tuple[int, tuple[int, ...], tuple[float, ...]], ...] = ()
    # Stiffness and damping of a control law, (n, n) each; None if servos are as the model says.
    feedback: tuple[Array, Array] | None = None


@dataclass(frozen=True)
class Leg:
    """Samples of a motion in which the same coordinates of a richer arm are held."""

    # first, last: the samples; the last one is the first of the next leg, or the end.
    first: int
    last: int
    # old, free: coordinates of the model that are neither prescribed nor held; all that are not.
    old: list[int]
    free: list[int]
    jump: tuple[float, ...]  # of speeds where it begins, (n,), or empty


@dataclass(frozen=True)
class Deviations:
    """How far a link's tip would move more in a richer model, at T times [m], (T, 3) each."""

    shapes: Array  # with more shapes in the directions that have some
    # With shapes in the directions that have none, though the section has a stiffness there.
    stiffness: Array
    section: Array  # with shear, and with rotary inertia where it was left out
    nodes: Array  # with nodes enough that the axis of exact links draws in as it should


class RicherArm:
    """A model's arm by linear theory, with more shapes than the model has."""

    def __init__(self, model: Model) -> None:
        self.given, self.rich = model, richer(model)
        self.model = self.rich.model
        self.kept = list(self.rich.kept)
        self.probes = set(self.rich.probes.values())
        # Of links that bend as exact beams: where their coordinates stand, and how bending twists.
        pairs = zip(self.given.links, self.model.links, strict=True)
        found = [
            (rich.modes, twisting(rich)) for part, rich in pairs if part.exact and can_grow(part)
        ]
        self.twisted = [(modes, factors) for modes, factors in found if np.any(factors)]

    def legs(self, motion: Motion) -> list[Leg]:
        """Split a motion where other coordinates are held."""
        held = motion.held or ((0, self.given.prescribed, ()),)
        ends = [first for first, _, _ in held[1:]] + [len(motion.t) - 1]
        found = []
        for (first, listed, jump), last in zip(held, ends, strict=True):
            known = {self.kept[i] for i in listed}
            old = [i for i in self.kept if i not in known]
            free = [i for i in range(self.model.size) if i not in known | self.probes]
            found.append(Leg(first, last, old, free, jump))
        return [leg for leg in found if leg.last > leg.first]

    @cached_property
    def _functions(self) -> dict[str, ca.Function]:
        """Mass matrix and forces at no acceleration, inputs left out; stiffness and damping."""
        equation, arm = formulation("composite", self.model), fingerprint(self.model)
        return {
            name: trace_recipe(f"{equation.name} {name} {arm}", partial(equation.function, name))
            for name in ("balance", "smooth_matrices")
        }

    def stiffness_and_damping(self, given: Array) -> tuple[Array, Array]:
        """Evaluate elastic stiffness and smooth damping at the coordinates given, (n, n) each."""
        q = np.zeros(self.model.size)
        q[self.kept] = given
        anchors = [self.model.start_anchors] if self.model.attitudes else []
        stiffness, damping = (
            each.full() for each in self._functions["smooth_matrices"](q, 0 * q, *anchors)
        )
        return (stiffness + stiffness.T) / 2, damping

    def mass_and_bias(self, motion: Motion, samples: Indices) -> tuple[Array, Array]:
        """Evaluate both at samples of a motion, (S, n, n) and (S, n)."""
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
        """Find accelerations, and the forces that they leave in the added shapes, (S, n) each."""
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
        """Find how far tips of links would move more than in a motion, by link."""
        loads = np.zeros((len(motion.t), self.model.size, 4))
        stretches: list[Stretch] = []
        for leg in self.legs(motion):
            share = max(round(STRETCHES * (leg.last - leg.first) / (len(motion.t) - 1)), 1)
            cuts = np.unique(np.linspace(leg.first, leg.last, share + 1).round().astype(int))
            middles = {int(each) for each in (cuts[:-1] + cuts[1:]) // 2}
            masses = self._load(motion, leg, loads, middles | {leg.first})
            kick = self._kick(masses[leg.first], np.array(leg.jump)) if leg.jump else None
            stretches += self._stretches(motion, leg, cuts, masses, kick)
        holding = self.feedback(motion)
        held = [each.stiffer(*holding) for each in stretches]
        x = self._respond(motion, loads, held)
        servos = [axis.acts.servo for axis in self.given.axes]
        late = any(servo is not None and servo.period is not None for servo in servos)
        used = _used(self.given, motion) if any(servos) else 0.0
        if (late or used > NEAR) and motion.feedback is None:
            loose = self._respond(motion, loads, stretches)
            x = np.where(np.abs(loose) > np.abs(x), loose, x)
            x = CUT * x if used >= 1 - 1e-6 else x
        x = COUPLED * x if any(_ratio(part) > STRONG for part in self.given.links) else x
        found: dict[str, Deviations] = {}
        for part in self.model.links:
            if part.elastic is not None:
                own = [i for i in range(part.modes.start, part.modes.stop) if i not in self.probes]
                tip = part.elastic.tip_shape[:, [i - part.modes.start for i in own]]
                found[part.name] = Deviations(*np.einsum("ai,til->lta", tip, x[:, own]))
        return found

    def _respond(self, motion: Motion, loads: Array, stretches: list[Stretch]) -> Array:
        """Let the arm answer to loads, and to what its twist then makes of its bending."""
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
            calm = (replace(each, kick=None) for each in stretches)  # x has what kicks do
            x[:, :, :2] += respond(motion.t, turned, calm)
        return x

    def _own(self, given: Array) -> Array:
        """Put coordinates of the arm as given among those of the richer one, (T, n)."""
        found = np.zeros((len(given), self.model.size))
        found[:, self.kept] = given
        return found

    def feedback(self, motion: Motion) -> Array:
        """Give stiffness and damping by which servos or a law hold the arm, (2, n, n)."""
        found = np.zeros((2, self.model.size, self.model.size))
        if motion.feedback is not None:
            for each, given in zip(found, motion.feedback, strict=True):
                each[np.ix_(self.kept, self.kept)] = given
            return found
        for axis in self.model.axes:
            servo = axis.acts.servo
            if servo is not None:
                row = (hub_row if servo.side == "link" else motor_row)(self.model, axis)
                gains = np.array([servo.stiffness or 0.0, servo.damping or 0.0])
                found += gains[:, None, None] * np.outer(row, row)
        return found

    def _load(self, motion: Motion, leg: Leg, loads: Array, kept: set[int]) -> dict[int, Array]:
        """Find what is unbalanced in a leg, as `Deviations` has it, (T, n, 4), and some masses."""
        size = max(AT_ONCE // self.model.size**2, 1)
        soft, heavy = self.section()
        masses: dict[int, Array] = {}
        for start in range(leg.first, leg.last + 1, size):
            block = np.arange(start, min(start + size, leg.last + 1))
            mass, bias = self.mass_and_bias(motion, block)
            # Copies: what points into a block keeps all of it.
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
            here[:, self.kept, 3] = self._drawn(q, left)
        return masses

    def _kick(self, mass: Array, jump: Array) -> Array:
        """Find the impulses that a jump of speeds leaves in the added shapes, (n, 4)."""
        kick = np.zeros((self.model.size, 4))
        momenta = mass[:, self.kept] @ jump
        for k, group in enumerate((self.rich.more, self.rich.left_out)):
            kick[list(group), k] = -momenta[list(group)]
        return kick

    def _drawn(self, q: Array, left: Array) -> Array:
        """Find what axial loads do by the error of the nodes in how far axes draw in, (S, n)."""
        found = np.zeros(q.shape)
        for part in self.given.links:
            if part.exact is not None and part.name in self.rich.probes:
                pull = left[:, [self.rich.probes[part.name]]]
                found[:, part.modes] = pull * (q[:, part.modes] @ shortening_error(part))
        return found

    def section(self) -> tuple[Array, Array]:
        """Give what shear takes and rotary inertia adds, in the given coordinates, (n, n)."""
        n = self.given.size
        soft, heavy = np.zeros((n, n)), np.zeros((n, n))
        for part in self.given.links:
            if can_grow(part):
                modes = (part.modes, part.modes)
                soft[modes], heavy[modes] = shear_flexibility(part)
        return soft, heavy

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
        """Give added shapes that move nothing so little mass that they follow loads at once."""
        added = [*self.rich.more, *self.rich.left_out]
        size = np.sqrt(np.diag(stiffness)[added])
        squares, vectors = np.linalg.eigh(mass[np.ix_(added, added)] / np.outer(size, size))
        idle = np.zeros((len(mass), int(np.sum(squares < (IDLE * step) ** 2))))
        idle[added] = size[:, None] * vectors[:, : idle.shape[1]]
        reach = FOLLOWING * step
        return mass + reach**2 * idle @ idle.T, damping + 2 * reach * idle @ idle.T


def _used(model: Model, motion: Motion) -> float:
    """Give the most that a servo takes of its limit of effort or current; there it lets go."""
    driven = [axis for axis in model.axes if axis.driven]
    shares = [
        float(np.abs(motion.u[:, column]).max()) / input_limit(axis)
        for column, axis in enumerate(driven)
        if axis.acts.servo is not None
    ]
    return max(shares, default=0.0)


def _ratio(part: LinkModel) -> float:
    """Give the largest damping ratio of a link's own shapes."""
    if part.elastic is None:
        return 0.0
    integrals, losses = part.elastic.integrals, np.diag(part.elastic.damping)
    firm = np.sqrt(np.diag(integrals.stiffness) * np.diag(integrals.modal_mass))
    return float((losses / (2 * np.maximum(firm, 1e-300))).max(initial=0.0))


def twisting(part: LinkModel) -> Array:
    """Find what bending both ways does to twist: ``factors[k, i, j] q_i q_j / 2`` pushes shape k.

    A beam whose stiffnesses differ is twisted by ``(EIy - EIz) y'' z''`` per length (the moment
    about the axis in Kirchhoff's equations); by the same energy twist turns its bending.

    Returns
    -------
    Array
        Of a link's shapes [N/m], (m, m, m), the last two in either order.
    """
    assert part.elastic is not None
    span, shapes = part.elastic.span, part.elastic.shapes
    found = np.zeros((len(shapes.shapes),) * 3)
    if not all(span.has(name) for name in ("EIy", "EIz", "GJ")):
        return found
    x, weight = span.quadrature(12 + 2 * len(found), shapes.edges)
    weight = weight * (span.at("EIy", x) - span.at("EIz", x))
    twist, y, z = shapes.values("twist", x), shapes.values("y", x, 2), shapes.values("z", x, 2)
    found = np.einsum("g,gk,gi,gj->kij", weight, twist, y, z, optimize=True)
    return np.asarray(found + found.transpose(0, 2, 1))


def shortening_error(part: LinkModel) -> Array:
    """Sum by how much nodes misjudge how far bending draws the axis in, at the tip and on average.

    Returns
    -------
    Array
        Per product of amplitudes [1/m], (m, m).
    """
    elastic, nodes = part.elastic, part.exact
    assert elastic is not None and nodes is not None
    squares = np.einsum("dgi,dgj->gij", nodes.bend, nodes.bend)
    edges = np.union1d(elastic.span.edges, elastic.shapes.edges)
    x = np.append(elastic.points.x, elastic.span.length)
    drawn = np.einsum("pg,gij->pij", nodes.reach(x)[0], squares)
    values, vectors = np.linalg.eigh(drawn - shortening(elastic.shapes, x, edges))
    sizes = np.einsum("pik,pk,pjk->pij", vectors, np.abs(values), vectors)
    mass = elastic.points.mass
    return np.asarray(sizes[-1] + np.einsum("p,pij->ij", mass / mass.sum(), sizes[:-1]))
