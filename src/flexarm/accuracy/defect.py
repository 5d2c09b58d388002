"""What a motion leaves unbalanced in shapes and stiffnesses that its model does not have."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np
import numpy.typing as npt

from flexarm.accuracy.response import Stretch, respond
from flexarm.accuracy.richer import can_grow, richer
from flexarm.accuracy.slender import shear_flexibility
from flexarm.formulations import formulation
from flexarm.formulations.quantities import trace
from flexarm.links.base import Array
from flexarm.links.integrals import shortening
from flexarm.mechanics.loads import (
    input_matrix,
    prescribed_accelerations,
    wrench_factors,
    wrench_list,
)
from flexarm.model import LinkModel, Model

Indices = npt.NDArray[np.int_]
STRETCHES = 16  # of a motion, in each of which the modes are those of its middle
AT_ONCE = 2_000_000  # numbers: long motions are gone through in blocks of samples


@dataclass(frozen=True)
class Motion:
    """A motion of a model at T times.

    Attributes
    ----------
    t
        Times [s], (T,).
    q, v, u
        Coordinates, rates and inputs, (T, n), (T, n), (T, inputs).
    anchors
        Attitudes that angles of a free base and of spherical joints are relative to, (T, 3 k, 3).
    """

    t: Array
    q: Array
    v: Array
    u: Array
    anchors: Array


@dataclass(frozen=True)
class Deviations:
    """How far a link's tip would move more in a richer model, at T times [m], (T, 3) each.

    Attributes
    ----------
    shapes
        With more shapes in the directions that have some.
    stiffness
        With shapes in the directions that have none, though the section has a stiffness there.
    section
        With shear, and with rotary inertia where it was left out.
    nodes
        With nodes enough that the axis of exact links draws in as it should.
    """

    shapes: Array
    stiffness: Array
    section: Array
    nodes: Array


class RicherArm:
    """A model's arm by linear theory, with more shapes than the model has."""

    def __init__(self, model: Model) -> None:
        self.given, self.rich = model, richer(model)
        self.model = self.rich.model
        self.kept = list(self.rich.kept)
        known = {self.kept[i] for i in model.prescribed}
        self.known = sorted(known)
        self.old = [i for i in self.kept if i not in known]
        known |= set(self.rich.probes.values())
        self.free = [i for i in range(self.model.size) if i not in known]

    @cached_property
    def balance(self) -> ca.Function:
        """Mass matrix and what forces there are at no acceleration, inputs left out."""
        return trace(formulation("composite", self.model).formulation, "balance")

    @cached_property
    def _tangent(self) -> ca.Function:
        return trace(formulation("composite", self.model).formulation, "smooth_matrices")

    def stiffness_and_damping(self, given: Array) -> tuple[Array, Array]:
        """Evaluate elastic stiffness and smooth damping at the coordinates given, (n, n) each."""
        q = np.zeros(self.model.size)
        q[self.kept] = given
        anchors = [self.model.start_anchors] if self.model.attitudes else []
        stiffness, damping = (each.full() for each in self._tangent(q, 0 * q, *anchors))
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
        mass, bias = self.balance.map(count)(q.T, v.T, w.T, *anchors)
        return mass.full().reshape(n, count, n).transpose(1, 0, 2), bias.full().T

    def unbalanced(
        self, motion: Motion, samples: Indices, mass: Array, bias: Array
    ) -> tuple[Array, Array]:
        """Find accelerations, and the forces that they leave in the added shapes, (S, n) each."""
        a = np.zeros(bias.shape)
        if self.known:
            times = motion.t[samples]
            a[:, self.known] = [prescribed_accelerations(self.given, float(t)) for t in times]
        forces = -bias
        forces[:, self.kept] += motion.u[samples] @ input_matrix(self.given).T
        left = forces - np.einsum("tij,tj->ti", mass, a)
        block = mass[:, self.old][:, :, self.old]
        a[:, self.old] = np.linalg.solve(block, left[:, self.old, None])[..., 0]
        left -= np.einsum("tij,tj->ti", mass[:, :, self.old], a[:, self.old])
        return a, left

    def deviations(self, motion: Motion) -> dict[str, Deviations]:
        """Find how far tips of links would move more than in a motion, by link."""
        last = len(motion.t) - 1
        cuts = np.unique(np.linspace(0, last, min(STRETCHES, last) + 1).round().astype(int))
        middles = (cuts[:-1] + cuts[1:]) // 2
        loads, masses = self._loads(motion, middles)
        x = respond(motion.t, loads, self._stretches(motion, cuts, masses))
        found = {}
        for part in self.model.links:
            if part.elastic is not None:
                own = [i for i in range(part.modes.start, part.modes.stop) if i in self.free]
                tip = part.elastic.tip_shape[:, [i - part.modes.start for i in own]]
                moved = x[:, [self.free.index(i) for i in own]]
                found[part.name] = Deviations(*np.einsum("ai,til->lta", tip, moved))
        return found

    def _loads(self, motion: Motion, middles: Indices) -> tuple[Array, dict[int, Array]]:
        """Find what is unbalanced, as `Deviations` has it, (T, n, 4), and masses at samples."""
        loads = np.zeros((len(motion.t), self.model.size, 4))
        size = max(AT_ONCE // self.model.size**2, 1)
        soft, heavy = self.section()
        masses: dict[int, Array] = {}
        for start in range(0, len(motion.t), size):
            block = np.arange(start, min(start + size, len(motion.t)))
            mass, bias = self.mass_and_bias(motion, block)
            masses |= {int(k): mass[k - start] for k in middles if k in block}
            a, left = self.unbalanced(motion, block, mass, bias)
            here, q = loads[start : start + size], motion.q[block]
            for k, group in enumerate((self.rich.more, self.rich.left_out)):
                here[:, list(group), k] = left[:, list(group)]
            here[:, self.kept, 2] = q @ soft - a[:, self.kept] @ heavy
            here[:, self.kept, 3] = self._drawn(q, left)
        return loads[:, self.free], masses

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
            if part.elastic is not None and can_grow(part):
                modes = (part.modes, part.modes)
                soft[modes], heavy[modes] = shear_flexibility(part)
        return soft, heavy

    def _stretches(
        self, motion: Motion, cuts: Indices, masses: dict[int, Array]
    ) -> Iterator[Stretch]:
        free = np.ix_(self.free, self.free)
        for begin, end, (middle, mass) in zip(cuts[:-1], cuts[1:], masses.items(), strict=True):
            pair = (each[free] for each in self.stiffness_and_damping(motion.q[middle]))
            yield Stretch(int(begin), int(end), mass[free], *pair)


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
