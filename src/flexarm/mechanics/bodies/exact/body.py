"""Geometrically exact beam, of constant length or sliding out of its hub.

The bending rotation vector of a section is the sum of slope shapes times amplitudes.

The rotary inertia (Jx, Jy, Jz) of a section about its own axes equals that of masses ``(Jy + Jz -
Jx)/2``, ... at the ends of unit vectors along the section's x, y and z axes. These vectors rotate
with the section; translation of the section does not change them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import final

import casadi as ca
import numpy as np

from flexarm.links.base import Direction
from flexarm.links.collocation import Collocation
from flexarm.links.fields import AXES, Amounts, Basis
from flexarm.links.growing.fields import GrowingNodes
from flexarm.mechanics.bodies.beam import BeamBody
from flexarm.mechanics.bodies.exact.motion import AxisMotion, AxisPoint, section_motion
from flexarm.mechanics.bodies.exact.rotary import grown_rotary_terms, rotary_terms
from flexarm.mechanics.bodies.exact.space import plane_terms, space_terms
from flexarm.mechanics.bodies.exact.strain import strain_effort, strain_energy
from flexarm.mechanics.bodies.exact.tangents import Angles, turned
from flexarm.mechanics.bodies.material import CUBIC, MaterialPoints
from flexarm.mechanics.sections import Local, SectionMotion, Terms, add, own_values, scaled
from flexarm.spatial import Array, Expr, constant, settled

# Matrix from rotary inertia about three axes to masses at the ends of three unit vectors.
SHARES = np.array([[-1.0, 1.0, 1.0], [1.0, -1.0, 1.0], [1.0, 1.0, -1.0]]) / 2


def material_basis(nodes: Collocation, mass: float) -> Basis:
    """Return the mass integrals [kg] of the functions in a span's displacement field."""
    weights = vector_masses(nodes)[nodes.count :]
    gram = {
        (p, q): _joined(nodes.gram[a, b], weights)
        for a, p in enumerate(AXES)
        for b, q in enumerate(AXES)
    }
    mean = {p: np.concatenate([nodes.mean[a], 0 * weights]) for a, p in enumerate(AXES)}
    return Basis(gram, mean, mass)


def section_vectors(nodes: Collocation, d: Expr, rates: Expr) -> list[tuple[Expr, Expr, Expr]]:
    """Return the three unit vectors fixed in each node's section, for `AxisMotion.field`."""
    places, gains, sweeps = list[Expr](), list[Expr](), list[Expr]()
    for g in range(nodes.count):
        bend, twist = nodes.turn[:, g : g + 1], nodes.twist[g : g + 1]
        rows = bend, twist, 0 * twist
        at = turned(Angles.at(*rows, d), Angles.at(*rows, rates))
        turns = at.columns([constant(row) for row in (*bend, twist)])
        for k in range(3):
            vector = at.rotation[:, k]
            places.append(vector)
            gains.append(ca.cross(at.bias, vector) + ca.cross(at.spin, ca.cross(at.spin, vector)))
            sweeps.append(-ca.skew(vector) @ turns)
    return [
        (
            ca.vertcat(*[place[a] for place in places]),
            ca.vertcat(*[gain[a] for gain in gains]),
            ca.vertcat(*[sweep[a, :] for sweep in sweeps]),
        )
        for a in range(3)
    ]


def vector_masses(nodes: Collocation) -> Array:
    """Return masses [kg m^2] at the ends of tangents, (G,), and of sections' unit vectors, (3G,).

    Without rotary inertia of the sections the second part is absent.
    """
    units = (SHARES @ nodes.rotary).T.ravel() if np.any(nodes.rotary) else np.zeros(0)
    return np.concatenate([nodes.point, units])


def _joined(gram: Array, weights: Array) -> Array:
    """Return the block-diagonal matrix of a Gram matrix and a diagonal matrix of masses."""
    none = np.zeros((len(gram), len(weights)))
    return np.block([[gram, none], [none.T, np.diag(weights)]])


SLOPES: tuple[tuple[Direction, int], ...] = (("y", 1), ("z", 1), ("twist", 0))  # section angles


@final
@dataclass(frozen=True)
class Exact(BeamBody):
    """Geometrically exact beam: the axis r(x) has the derivative ``(1 + eps) t``.

    Here eps is the stretch and t the unit tangent, given by angles that are linear in the
    amplitudes. If ``combined``, Jacobians and generalised forces refer to the combined amplitudes
    of `basis`.
    """

    @property
    def nodes(self) -> Collocation:
        """Collocation nodes at which the tangents are evaluated."""
        assert self.beam.nodes is not None
        return self.beam.nodes

    @property
    def _moved(self) -> Collocation:
        """Collocation nodes with shapes per combined amplitude, else the nodes themselves."""
        return self.nodes.combined if self.combined else self.nodes

    @property
    def basis(self) -> Expr | None:
        """Matrix (m, m) from combined amplitudes to amplitudes; None if not ``combined``."""
        basis = self.nodes.basis if self.combined else None
        return None if basis is None else constant(basis)

    def motion(self, own: Expr, rates: Expr) -> AxisMotion:
        """Return the motion of the beam's axis at link coordinates and rates, (k,) each."""
        return AxisMotion.at(self.nodes, self.beam.amounts(own, rates), self._moved)

    def tip_motion(self, q: Expr, v: Expr) -> SectionMotion:
        """Compute the pose, velocity and acceleration bias of the tip relative to the root."""
        nodes, own, rates = self.nodes, own_values(self.part, q), own_values(self.part, v)
        rows, per = (
            [constant(row[None]) for row in (*points.tip_bend, points.tip_twist)]
            for points in (nodes, self._moved)
        )
        plain = self.basis is None
        at = AxisPoint([nodes.tip], [rows])
        motion = self.motion(own, rates)
        return section_motion(motion, at, rates if plain else None, None if plain else per)[0]

    def stations(self, own: Expr, s: Array) -> Iterator[Local]:
        """Yield poses and Jacobians of the sections at positions s, in the root frame."""
        m, functions, parents = (
            self.motion(own, 0 * own),
            self.nodes.functions(s),
            self.beam.parents,
        )
        reach = np.stack([functions[a].reshape(-1, self.nodes.count, len(s)) for a in AXES], axis=1)
        slopes = [
            [(1 - s)[:, None] ** n * parents.values(axis, s, order + n) for axis, order in SLOPES]
            for n in range(len(reach))
        ]
        rate = per = None
        if self.slides:
            rate, per = type(own)(1, 1), type(own)(1, m.e.k)
            per[0] = 1 / m.e.length
        for g in range(len(s)):
            rows = [[constant(row[g : g + 1]) for row in slope_rows] for slope_rows in slopes]
            at = AxisPoint(list(settled(reach[..., g])), rows, rate, per=per)
            combined = None if self.basis is None else [row @ self.basis for row in rows[0]]
            yield section_motion(m, at, None, combined)[0].local

    def span_terms(self, own: Expr, rates: Expr, omega: Expr) -> Terms:
        """Compute the inertia terms of the span, with the rotary inertia of its sections."""
        nodes, moved, rotary = self.nodes, self._moved, self.rotary(own, rates, omega)
        if self.slides:
            motion, masses = self.motion(own, rates), self.part.sliding_beam.shapes.masses(own[0])
            parts = [
                scaled(space_terms(nodes.powers[k], 1 / (1 + k), motion, omega), mass)
                for k, mass in masses
            ]
            return add(reduce(add, parts), rotary)
        mass = self.part.beam.integrals.mass
        if nodes.common and not all(nodes.bends) and not nodes.stretches:
            at, turning = Angles.of(nodes, own), Angles.of(nodes, rates)
            terms = plane_terms(moved, mass, at, turning, omega)
        else:
            terms = space_terms(moved, mass, self.motion(own, rates), omega)
        if np.any(nodes.rotary):
            terms = add(terms, rotary_terms(nodes, moved, own, rates, omega))
        return add(terms, rotary)

    def rotary(self, own: Expr, rates: Expr, omega: Expr) -> Terms:
        """Compute the inertia terms of rotating sections that are not yet part of `material`."""
        total, amounts = super().rotary(own, rates, omega), self.beam.amounts(own, rates)
        powers = enumerate(self.nodes.powers if self.slides else (), 1)
        turned = (grown_rotary_terms(nodes, k, amounts, rates, omega)
                  for k, nodes in powers if np.any(nodes.rotary))  # fmt: skip
        return reduce(add, turned, total)

    def material(self, own: Expr, rates: Expr) -> list[MaterialPoints]:
        """Return the mass points of the (exposed) span.

        For a span of constant length, the mass points include those at the ends of sections' unit
        vectors, which represent the rotary inertia of sections.
        """
        nodes, m = self.nodes, AxisMotion.at(self.nodes, self.beam.amounts(own, rates))
        if isinstance(nodes, GrowingNodes):
            bases = [each.integrals() for each in nodes.powers]
            masses = self.part.sliding_beam.shapes.masses(own[0])
            return [MaterialPoints(m.field(), bases[k], mass) for k, mass in masses]
        vectors = section_vectors(nodes, own, rates) if np.any(nodes.rotary) else []
        basis = material_basis(nodes, self.part.beam.integrals.mass)
        return [MaterialPoints(m.field(vectors), basis, 1.0)]

    @property
    def points_per_element(self) -> int:
        """Number of Gauss points per finite element that integrate the element's inertia exactly.

        Integrands are products of two interpolated tangents.
        """
        return max(CUBIC, (self.nodes.degree + 3) // 2)

    def turning_material(self, own: Expr) -> Terms:
        """Compute the inertia terms of masses on tangents and on sections' unit vectors.

        All rates are zero.
        """
        masses = np.zeros(0) if self.slides else vector_masses(self.nodes)
        if not np.any(masses):
            return super().turning_material(own)
        gram = {(a, b): np.diag(masses) for a in AXES for b in AXES}
        basis = Basis(gram, dict.fromkeys(AXES, 0 * masses), 0.0)
        moving = self.material(own, 0 * own)[0].moving
        return MaterialPoints(moving, basis, 1.0).terms(0 * own, type(own)(3, 1))

    def strain_energy(self, e: Amounts) -> list[Expr]:
        """Compute the elastic energy [J] beyond linear theory, per power of the exposed length."""
        return [
            e.length**k * strain_energy(nodes, e.value) / e.length
            for k, nodes in enumerate(self.nodes.powers)
        ]

    def strain_effort(self, e: Amounts) -> Expr:
        """Compute the gradient (K,) of `strain_energy` in the K section-angle variables."""
        first, *rest = (
            e.length**k * strain_effort(nodes, e.value) / e.length
            for k, nodes in enumerate(self.nodes.powers)
        )
        return sum(rest, first)
