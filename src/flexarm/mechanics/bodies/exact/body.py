"""A link of constant length whose sections turn by the sum of its slope shapes."""

from typing import final

import casadi as ca
import numpy as np

from flexarm.links.base import Array
from flexarm.links.collocation import Collocation
from flexarm.links.rotary import Rotary
from flexarm.mechanics.bodies.base import given_energy
from flexarm.mechanics.bodies.exact.plane import plane_terms
from flexarm.mechanics.bodies.exact.polar import polar_terms
from flexarm.mechanics.bodies.exact.space import columns, space_terms
from flexarm.mechanics.bodies.exact.strain import strain_effort, strain_energy, strains
from flexarm.mechanics.bodies.exact.tangents import Angles, angular_columns, node_tangents, turned
from flexarm.mechanics.bodies.shaped import Shaped
from flexarm.mechanics.bodies.terms import Motion, Terms, add, rigid_terms, turning_terms
from flexarm.mechanics.sections import Local, own_values, rigid_section
from flexarm.spatial import Expr, constant


@final
class Exact(Shaped):
    """A geometrically exact beam: ``r' = (1 + eps) t(angles)``, angles linear in the amplitudes."""

    @property
    def nodes(self) -> Collocation:
        """Where the tangents are taken."""
        assert self.span.nodes is not None
        return self.span.nodes

    def tip(self, q: Expr) -> Local:
        """See the flexible tip."""
        return self.tip_motion(q, 0 * q).local

    def section(self, q: Expr, x: float) -> Local:
        """See a section; below 0 it is on the rigid root piece."""
        if x < 0:
            return rigid_section(q, x, len(self.part.own))
        shapes, where = self.span.shapes, np.array([x])
        bend = np.stack([shapes.values("y", where, 1), shapes.values("z", where, 1)])
        reach = self.nodes.reach(where)[:, 0]
        d = self.amplitudes(q)
        return self._motion(d, 0 * d, reach, bend, shapes.values("twist", where)).local

    def tip_motion(self, q: Expr, v: Expr) -> Motion:
        """Follow the flexible tip."""
        nodes = self.nodes
        d, rates = self.amplitudes(q), own_values(self.part, v)
        bend, twist = nodes.tip_bend[:, None], nodes.tip_twist[None]
        return self._motion(d, rates, nodes.tip, bend, twist)

    def terms(self, q: Expr, v: Expr, omega: Expr) -> Terms:
        """Weigh the span, the root's body and a hub that turns with the root."""
        nodes, d, rates = self.nodes, self.amplitudes(q), own_values(self.part, v)
        flat = nodes.common and not all(nodes.bends) and not nodes.stretches
        weigh = plane_terms if flat else space_terms
        terms = weigh(nodes, self.span.integrals.mass, d, rates, omega)
        if nodes.polar is not None:
            terms = add(terms, polar_terms(nodes.polar, d, rates, omega))
        terms = add(terms, _constant_rotary(self.span.rotary, rates, omega))
        terms = add(terms, rigid_terms(self.part.root_body, omega, len(self.part.own)))
        return self.with_hub(terms, q, v, omega)

    def energy(self, q: Expr) -> Expr:
        """Give the elastic energy [J]."""
        d = self.amplitudes(q)
        energy = ca.dot(d, constant(self.span.integrals.stiffness) @ d) / 2
        if strains(self.nodes):
            energy = energy + strain_energy(self.nodes, d)
        return energy + given_energy(self.part, self.span.names, d)

    def effort(self, q: Expr) -> Expr:
        """Differentiate the elastic energy by the amplitudes, (m,)."""
        effort = self.linear_effort(q)
        if strains(self.nodes):
            effort = effort + strain_effort(self.nodes, self.amplitudes(q))
        return effort

    def _motion(self, d: Expr, rates: Expr, reach: Array, bend: Array, twist: Array) -> Motion:
        """Follow a section with its shapes (2, 1, m), (1, m), at ``sum reach_g P_g``."""
        none = 0 * twist
        t = node_tangents(self.nodes, d, rates)
        at = turned(Angles.at(bend, twist, none, d), Angles.at(bend, twist, none, rates))
        weights = constant(reach)
        linear = ca.vertcat(
            *[
                columns(self.nodes, (t.by_a[a, :], t.by_b[a, :], t.unit[a, :]), reach[a][None])
                for a in range(3)
            ]
        )
        angular = angular_columns(at, bend, twist)
        place = ca.sum2(weights * t.place)
        local = Local(place, at.rotation, linear, angular)
        return Motion(local, at.spin, linear @ rates, at.bias, ca.sum2(weights * t.bias))


def _constant_rotary(rotary: Rotary, rates: Expr, omega: Expr) -> Terms:
    """Weigh sections that turn by ``omega + shape rates`` about axes of the link."""
    k, new = rates.shape[0], type(rates)
    inertia, shape = constant(rotary.inertia), constant(rotary.shape)
    torque = ca.cross(omega, inertia @ omega + shape @ rates)
    modal = new(constant(rotary.modal))
    return turning_terms(new(inertia), new(shape), modal, torque, new(k, 1))
