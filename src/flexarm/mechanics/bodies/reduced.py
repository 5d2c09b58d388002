"""Body of any shape, reduced from a finite-element model to modal amplitudes.

The deformation is a sum of nodal mode shapes times amplitudes. With stiffening, second-order
displacements from the body's file add geometric stiffness.

The moment matrix ``R_j = int r phi_j^T`` of each amplitude, linear in all amplitudes, is split into
its symmetric part (6 numbers) and antisymmetric part (3 numbers). The symmetric part gives
centrifugal forces and the inertia matrix, the antisymmetric part angular momentum and Coriolis
forces.
"""

from dataclasses import replace
from typing import final

import casadi as ca
import numpy as np

from flexarm.arm import Arm
from flexarm.links.imported.body import ReducedBody, SecondOrder
from flexarm.links.imported.file import inspect_body
from flexarm.links.integrals import Integrals
from flexarm.mechanics.bodies.base import LinkBody
from flexarm.mechanics.bodies.deformed import Along
from flexarm.mechanics.sections import (
    Local,
    SectionMotion,
    Terms,
    add,
    own_values,
    quadratic_section,
    rigid_terms,
    second_rates,
    turned_section,
)
from flexarm.model.elastic import reduced_part
from flexarm.spatial import Array, Expr, constant

PAIRS = ((0, 0), (1, 1), (2, 2), (1, 2), (2, 0), (0, 1))
# Weight of each pair of axes in the trace of a product of symmetric matrices.
TWICE = (1, 1, 1, 2, 2, 2)


def reduced_terms(i: Integrals, x: SecondOrder | None, d: Expr, rates: Expr, omega: Expr) -> Terms:
    """Compute the inertia terms of a body at amplitudes d and their rates, (m,) each.

    Notes
    -----
    With second-order displacements, the kinetic energy includes all terms up to second order in the
    amplitudes and their rates; terms of third and higher order are omitted.
    """
    new = type(d)
    pairs = i.shape_shape if x is None else i.shape_shape + x.pairs
    even = [constant(_even(i.position_shape, a, b)) for a, b in PAIRS]  # (m,) each
    moments = [  # even part of each R_j, per pair of axes
        start + constant(_even(pairs, a, b)) @ d for start, (a, b) in zip(even, PAIRS, strict=True)
    ]
    turned = [constant(_odd(i.shape_shape, axis).T) for axis in range(3)]
    angular = ca.vertcat(
        *[
            (constant(_odd(i.position_shape, axis)) + constant(_odd(pairs, axis).T) @ d).T
            + constant(i.rotary_shape[axis][None])
            for axis in range(3)
        ]
    )
    second = [
        i.second[a, b] + ca.dot(d, start + moment)
        for (a, b), start, moment in zip(PAIRS, even, moments, strict=True)
    ]
    moved, linear = (
        (constant(i.shape) @ d, new(constant(i.shape)))
        if x is None
        else quadratic_section(d, i.shape, x.first)
    )
    first = constant(i.first) + moved
    spread = _inertia(second)
    inertia = spread + constant(i.rotary)
    flow = _inertia([ca.dot(rates, moment) for moment in moments])
    square = ca.skew(omega) @ ca.skew(omega)
    effort = new.zeros(d.shape[0], 1)
    for (a, b), twice, moment in zip(PAIRS, TWICE, moments, strict=True):
        effort += (twice * square[a, b]) * moment
    for axis in range(3):
        effort += (2 * omega[axis]) * (turned[axis] @ rates)
    torque = ca.cross(omega, inertia @ omega + angular @ rates) + 2 * (flow @ omega)
    force = square @ first + 2 * ca.cross(omega, linear @ rates)
    modal = new(constant(i.modal_mass))
    if x is not None:
        torque += second_rates([_odd(x.pairs, axis) for axis in range(3)], rates)
        force += second_rates(list(x.first), rates)
    return Terms(i.mass, first, inertia, angular, linear, modal, torque, force, effort)


def _inertia(second: list[Expr]) -> Expr:
    """Return ``tr(G) 1 - G`` (3, 3) for a symmetric matrix G with the six entries ``second``."""
    xx, yy, zz, yz, zx, xy = second
    rows = ((yy + zz, -xy, -zx), (-xy, zz + xx, -yz), (-zx, -yz, xx + yy))
    return ca.vertcat(*[ca.horzcat(*row) for row in rows])


def _even(moments: Array, a: int, b: int) -> Array:
    """Return the entries (a, b) of the symmetric part of moments (.., 3, 3)."""
    return np.asarray((moments[..., a, b] + moments[..., b, a]) / 2)


def _odd(moments: Array, axis: int) -> Array:
    """Return the antisymmetric part of moments (.., 3, 3), as a vector component about an axis."""
    a, b = (axis + 1) % 3, (axis + 2) % 3
    return np.asarray(moments[..., a, b] - moments[..., b, a])


@final
class Reduced(LinkBody):
    """Flexible body of any shape, with its hub at the root and the next joint at its tip.

    The root frame L and the tip frame T both have the axes of the hub. The constant rotation of the
    body's tip frame is included in the frames of the next link.
    """

    @property
    def of(self) -> ReducedBody:
        """Mass integrals, mass and stiffness matrices, and root and tip data of the body."""
        return self.part.imported

    @property
    def drawn_in(self) -> SecondOrder | None:
        """Second-order displacements of the body; None without stiffening or without file data."""
        return self.of.second_order if self.model.stiffening else None

    def turned(self, angle: Expr, rate: Expr, bias: Expr) -> tuple[Expr, Expr, Expr, Expr]:
        """Return a section's exact rotation matrix, angular velocity and acceleration bias.

        The rotation is given by the tip's angles, their rates and their bias, (3,) each. The
        angular velocity is returned per rate of the angles, (3, 3).
        """
        return turned_section(angle, rate, bias, tangent=False, first_order=False)

    def tip_motion(self, q: Expr, v: Expr) -> SectionMotion:
        """Compute pose, velocity and acceleration bias of the tip T relative to the root L."""
        of, x = self.of, self.drawn_in
        none = np.zeros((3, len(of.names), len(of.names)))
        quadratic = (none, none) if x is None else (x.tip, x.tip_angle)
        d, rates = own_values(self.part, q), own_values(self.part, v)
        return self.tabled(d, rates, of.tip.position, (of.tip_shape, of.tip_angle), quadratic)

    def section(self, q: Expr, x: float) -> Local:
        """Compute the point at x [m] from the hub on the straight line from hub to tip."""
        return self.at_fraction(q, x / self.part.length)

    def within(self, q: Expr, x: float | str) -> Local:
        """Compute pose and Jacobian, in the root frame L, of a frame of the body, by its name."""
        assert isinstance(x, str)
        d, frame = self.amplitudes(q), self.of.frame(x)
        none = np.zeros((3, len(self.of.names), len(self.of.names)))
        ways, pose = (frame.shape, frame.angle), frame.pose
        local = self.tabled(d, 0 * d, pose.position, ways, (none, none)).local
        return replace(local, rotation=local.rotation @ constant(pose.rotation))

    def at_fraction(self, q: Expr, fraction: float) -> Local:
        """Compute the point at a fraction of the straight line from hub to tip; 1 is the tip."""
        if fraction >= 1:
            return self.tip(q)
        (place,), (shape,) = self.of.drawn.line(np.array([fraction]))
        x, m = self.drawn_in, shape.shape[1]
        drawn = np.zeros((3, m, m)) if x is None else fraction * x.tip
        moved, columns = quadratic_section(self.amplitudes(q), shape, drawn)
        return Local(constant(place) + moved, type(q).eye(3), columns, type(q)(3, m))

    def terms(self, q: Expr, v: Expr, omega: Expr) -> Terms:
        """Compute the inertia terms of the body and of rigid bodies at its root."""
        terms = rigid_terms(self.part.root_body, omega, len(self.part.own))
        d, rates = self.amplitudes(q), own_values(self.part, v)
        return add(terms, reduced_terms(self.of.integrals, self.drawn_in, d, rates, omega))

    def along(self, q: Array, stations: Array) -> Along:
        """Compute the deformed line from hub to tip at T states q, (T, n).

        Slopes are NaN, because the body has no axis; the twist is NaN except at the tip.
        """
        d, drawn = q[:, self.part.modes], self.drawn_in
        moved = np.einsum("saj,tj->tsa", self.of.drawn.line(stations)[1], d, optimize=True)
        turned = d @ self.of.tip_angle[0]
        if drawn is not None:
            tip = np.einsum("aij,ti,tj->ta", drawn.tip, d, d, optimize=True) / 2
            moved = moved + stations[:, None] * tip[:, None]
            turned = turned + np.einsum("ij,ti,tj->t", drawn.tip_angle[0], d, d, optimize=True) / 2
        twist = np.where(stations >= 1, turned[:, None], np.nan)
        return Along(moved, np.full_like(moved, np.nan), twist)

    def tip_angles(self, q: Array) -> Array:
        """Return the rotation angle of the body's tip [rad], (T,), at T states q, (T, n)."""
        return np.asarray(np.linalg.norm(q[:, self.part.modes] @ self.of.tip_angle.T, axis=1))

    def largest_strain(self, q: Array) -> Array:
        """Return the largest strain that the body's file defines, (T,), at T states q, (T, n).

        Without such data the strain is NaN.
        """
        return self.of.largest_strain(q[:, self.part.modes])

    def ratio_damping(self, q: Array, arm: Arm, index: int) -> Array:
        """Return the damping matrix, (m, m), by the damping of link ``index`` of ``arm``."""
        damping = reduced_part(arm, index).damping
        assert damping is not None
        return damping

    def mode_names(self, q: Array, strains: Array) -> list[str]:
        """Return the names of the body's modes, one per amplitude."""
        return [*self.of.names]

    def described(self) -> tuple[str, str]:
        """Return the name of the kind of shape functions, and a one-line description."""
        first = " to first order" if self.of.first_order else ""
        return "modal body", f"a body of any shape{first}, by the modes of its file"

    def file_report(self) -> list[str]:
        """Return report lines on the body's file; an empty list without a file."""
        modal = self.part.link.modal
        return [] if modal is None else list(inspect_body(modal.side_file)[0].lines())
