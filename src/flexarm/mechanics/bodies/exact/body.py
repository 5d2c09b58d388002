"""Geometrically exact beam of constant length.

The bending rotation vector of a section is the sum of slope shapes times amplitudes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import casadi as ca
import numpy as np

from flexarm.links.base import Array
from flexarm.links.collocation import Collocation
from flexarm.links.fields import AXES, evaluate
from flexarm.mechanics.bodies.base import given_energy
from flexarm.mechanics.bodies.elements import CUBIC, Vector
from flexarm.mechanics.bodies.exact.material import exact_material, vector_masses
from flexarm.mechanics.bodies.exact.plane import plane_terms
from flexarm.mechanics.bodies.exact.rotary import rotary_terms
from flexarm.mechanics.bodies.exact.space import XYZ, NodeMotion, space_terms
from flexarm.mechanics.bodies.exact.strain import strain_effort, strain_energy, strains
from flexarm.mechanics.bodies.exact.tangents import Angles, angular_columns, node_tangents, turned
from flexarm.mechanics.bodies.material import MaterialPoints
from flexarm.mechanics.bodies.shaped import Shaped
from flexarm.mechanics.bodies.terms import SectionMotion, Terms, add, rigid_terms
from flexarm.mechanics.sections import Local, own_values, rigid_section
from flexarm.spatial import Expr, constant


@final
@dataclass(frozen=True)
class Exact(Shaped):
    """Geometrically exact beam: ``r' = (1 + eps) t(angles)``, angles linear in the amplitudes.

    If ``combined``, Jacobians and generalised forces refer to the combined amplitudes of `basis`.
    """

    @property
    def nodes(self) -> Collocation:
        """Collocation nodes at which the tangents are evaluated."""
        assert self.span.nodes is not None
        return self.span.nodes

    @property
    def _moved(self) -> Collocation:
        """Collocation nodes whose shape functions refer to the (combined) amplitudes."""
        return self.nodes.combined if self.combined else self.nodes

    @property
    def basis(self) -> Expr | None:
        """Matrix (m, m) from combined amplitudes to amplitudes, or None if they are the same."""
        basis = self.nodes.basis if self.combined else None
        return None if basis is None else constant(basis)

    def tip(self, q: Expr) -> Local:
        """Compute the flexible tip's pose in the root frame."""
        return self.tip_motion(q, 0 * q).local

    def section(self, q: Expr, x: float) -> Local:
        """Compute a section's pose in the root frame; for x < 0 it is on the rigid root piece."""
        if x < 0:
            return rigid_section(q, x, len(self.part.own))
        shapes, where = self.span.shapes, np.array([x])
        bend = np.stack([shapes.values("y", where, 1), shapes.values("z", where, 1)])
        reach = self.nodes.reach(where)[:, 0]
        d, rows = self.amplitudes(q), (bend, shapes.values("twist", where))
        basis = self.nodes.basis if self.combined else None
        per = rows if basis is None else (rows[0] @ basis, rows[1] @ basis)
        return self._motion(d, 0 * d, reach, rows, per).local

    def tip_motion(self, q: Expr, v: Expr) -> SectionMotion:
        """Compute the pose, velocity and acceleration bias of the tip relative to the root."""
        nodes, moved = self.nodes, self._moved
        d, rates = self.amplitudes(q), own_values(self.part, v)
        bend, twist = nodes.tip_bend[:, None], nodes.tip_twist[None]
        per = moved.tip_bend[:, None], moved.tip_twist[None]
        return self._motion(d, rates, nodes.tip, (bend, twist), per)

    def terms(self, q: Expr, v: Expr, omega: Expr) -> Terms:
        """Compute the inertia terms of the span, the rigid bodies at the root and a turning hub."""
        nodes, d, rates = self.nodes, self.amplitudes(q), own_values(self.part, v)
        mass, moved = self.span.integrals.mass, self._moved
        if nodes.common and not all(nodes.bends) and not nodes.stretches:
            at, turning = Angles.of(nodes, d), Angles.of(nodes, rates)
            terms = plane_terms(moved, mass, at, turning, omega)
        else:
            motion = NodeMotion.of(moved, node_tangents(nodes, d, rates))
            terms = space_terms(moved, mass, motion, omega)
        if np.any(nodes.rotary):
            terms = add(terms, rotary_terms(nodes, moved, d, rates, omega))
        terms = add(terms, self.turning(d, rates, omega))
        terms = add(terms, rigid_terms(self.part.root_body, omega, len(self.part.own)))
        return self.with_hub(terms, q, v, omega)

    def points(self, own: Expr, rates: Expr) -> list[MaterialPoints]:
        """Return the mass points of the span, and unit vectors for the sections' rotary inertia."""
        field = exact_material(self.nodes, self.span.integrals.mass, own, rates)
        return [MaterialPoints(*field, 1.0)]

    def placed(self, x: Array, edges: Array, d: Expr) -> Iterator[tuple[Expr, Expr]]:
        """Yield position (3,) and Jacobian (3, m) of the points ``sum_g reach_g P_g``."""
        (points,), reach = self.points(d, 0 * d), self.nodes.reach(x)
        rest = np.zeros(len(points.basis.mean["x"]) - reach.shape[2])
        for g in range(len(x)):
            at = {a: np.concatenate([reach[k, g], rest])[:, None] for k, a in enumerate(AXES)}
            place, columns, _ = evaluate(points.moving, at)
            yield place, columns

    @property
    def points_per_element(self) -> int:
        """Number of Gauss points per element that integrate products of tangents over the mass."""
        return max(CUBIC, (self.nodes.degree + 3) // 2)

    def vectors(self, own: Expr) -> list[Vector]:
        """Return the tangents at the nodes and the sections' unit vectors that have masses."""
        (points,), found = self.points(own, 0 * own), list[Vector]()
        value, columns = points.moving.value, points.moving.columns
        masses = vector_masses(self.nodes)
        for g in np.flatnonzero(masses).tolist():
            turned = [ca.vertcat(*[c.of(a)[g] for a in AXES]) for c in columns]
            place = ca.vertcat(*[value.of(a)[g] for a in AXES])
            found.append(Vector(float(masses[g]), place, ca.horzcat(*turned)))
        return found

    def energy(self, q: Expr) -> Expr:
        """Compute the elastic energy [J]."""
        d = self.amplitudes(q)
        energy = ca.dot(d, constant(self.span.integrals.stiffness) @ d) / 2
        if strains(self.nodes):
            energy = energy + strain_energy(self.nodes, d)
        return energy + given_energy(self.part, self.span.names, d)

    def effort(self, q: Expr) -> Expr:
        """Compute the gradient (m,) of the elastic energy in the amplitudes."""
        effort = self.linear_effort(q)
        if strains(self.nodes):
            effort = effort + strain_effort(self.nodes, self.amplitudes(q))
        return effort

    def _motion(
        self,
        d: Expr,
        rates: Expr,
        reach: Array,
        shapes: tuple[Array, Array],
        per: tuple[Array, Array],
    ) -> SectionMotion:
        """Return the pose, velocity and acceleration bias of a section at ``sum_g reach_g P_g``.

        ``shapes`` are the section's slope (2, 1, m) and twist (1, m) shapes per amplitude, ``per``
        the same per combined amplitude.
        """
        rows = *shapes, 0 * shapes[1]
        t = node_tangents(self.nodes, d, rates)
        at = turned(Angles.at(*rows, d), Angles.at(*rows, rates))
        weights = constant(reach)
        moved = NodeMotion.of(self._moved, t)
        linear = ca.vertcat(*[moved.columns(a, reach[a][None]) for a in XYZ])
        angular = angular_columns(at, *per)
        place = ca.sum2(weights * t.place)
        local = Local(place, at.rotation, linear, angular)
        few = self.basis is None and len(self.part.own) < self.nodes.count
        speed = linear @ rates if few else ca.sum2(weights * t.rate)
        return SectionMotion(local, at.spin, speed, at.bias, ca.sum2(weights * t.bias))
