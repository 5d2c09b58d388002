"""Articulated-body algorithm for flexible links: accelerations in O(n) operations, without M.

The inward pass, from the tips to the base, eliminates each link's amplitudes and its joint's
coordinates, so that all bodies outboard of a tip act on the link like one body. If the tip has the
acceleration A, the force on this body is ``F = P A + z``, with articulated inertia P and bias force
z. The outward pass computes the accelerations from base to tips (Jain & Rodriguez 1992).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import casadi as ca
import numpy as np

from flexarm.formulations.base import Factors, ldl_solve
from flexarm.formulations.composite import Composite
from flexarm.formulations.recursion import (
    BaseState,
    LinkState,
    Mount,
    base_state,
    body_matrix,
    link_states,
    mount_bias,
    mount_columns,
    rotate,
    rotate_inertia,
    shift_force,
    shift_inertia,
    shift_motion,
    spatial_inertia,
    symmetric,
)
from flexarm.mechanics.orbit.hill import rotor_gradient
from flexarm.mechanics.sections import picked
from flexarm.model import Model, Rotor
from flexarm.spatial import Expr, constant


@dataclass(frozen=True)
class _Outboard:
    """Articulated inertia (6, 6) and bias force (6,) of all bodies that a section carries.

    ``rotation`` (3, 3) transforms from the axes of inertia and force to the axes of the section.
    """

    inertia: Expr
    force: Expr
    rotation: Expr


@dataclass(frozen=True)
class _Eliminated:
    """Accelerations of some coordinates as affine functions of the acceleration A of their frame.

    Free coordinates have the accelerations ``L^-T (start - gain A)``, with L the Cholesky factor of
    their inertia. Prescribed coordinates need the generalised force ``coupling^T A + block a -
    effort``, where a contains the accelerations of all eliminated coordinates.
    """

    indices: tuple[int, ...]  # indices of the coordinates in q
    # Matrix gain, vector start and inertia factors of the free coordinates; None without any.
    free: tuple[Expr, Expr, Factors] | None = None
    # Coupling, block and effort: rows of prescribed coordinates in momentum, inertia matrix and
    # generalised force; None without any.
    reaction: tuple[Expr, Expr, Expr] | None = None


@dataclass(frozen=True)
class _Passed:
    """Equations of one link's accelerations, found in the inward pass for the outward pass."""

    amplitudes: _Eliminated
    joint: _Eliminated


class Articulated(Composite):
    """Forward dynamics by the articulated-body algorithm, with amplitudes as coordinates."""

    name: ClassVar[str] = "articulated"
    citation: ClassVar[str] = "Jain & Rodriguez 1992, with columns for amplitudes"
    assumptions: ClassVar[str] = "none beyond the model's own; M and c are those of composite"

    def forward_expression(
        self, q: Expr, v: Expr, prescribed_a: Expr, applied: Expr
    ) -> tuple[Expr, Expr]:
        """Build expressions of the accelerations and of the forces on prescribed coordinates.

        Accelerations and forces have shape (n,).
        """
        sweep = _Sweep(self.model, q, v, prescribed_a, applied)
        sweep.inward()
        sweep.outward()
        return sweep.acceleration, sweep.effort


class _Sweep:
    """Inward and outward pass of the articulated-body algorithm over one arm."""

    def __init__(self, model: Model, q: Expr, v: Expr, prescribed: Expr, applied: Expr) -> None:
        self.model, self.q, self.v, self.applied = model, q, v, applied
        self.prescribed = dict(zip(model.prescribed, ca.vertsplit(prescribed), strict=True))
        self.base: BaseState = base_state(model, q, v)
        self.states = link_states(model, q, v, combined=True)
        self.passed: list[_Passed] = []
        self.acceleration, self.effort = ca.SX(model.size, 1), ca.SX(model.size, 1)
        for k, value in self.prescribed.items():
            self.acceleration[k] = value
        # inertia and force by link, about the section that carries the link
        self.carried: dict[int, _Outboard] = {}
        # rotation by link, from the link's root axes to those of its parent
        self.rotations: dict[int, Expr] = {}

    def inward(self) -> None:
        """Eliminate the accelerations of all links and joints, from tips to base."""
        for index, state in reversed([*enumerate(self.states)]):
            self.passed.insert(0, self._pass_link(index, state))

    def _eliminate(
        self,
        indices: tuple[int, ...],
        block: Expr,
        coupling: Expr,
        effort: Expr,
        outboard: tuple[Expr, Expr],
    ) -> tuple[_Eliminated, Expr, Expr]:
        """Eliminate the accelerations of given coordinates from the motion of their frame.

        Parameters
        ----------
        indices
            The coordinates, k of them.
        block, coupling, effort
            Inertia of the coordinates (k, k), momentum in the frame per coordinate rate (6, k), and
            generalised force at zero acceleration of the frame, (k,).
        outboard
            Inertia (6, 6) and force (6,) on the frame while the coordinates do not accelerate.

        Returns
        -------
        eliminated, inertia, force
            The accelerations as a function of the frame's acceleration, the articulated inertia
            (6, 6), and the bias force (6,).
        """
        inertia, force = outboard
        prescribed = [i for i, k in enumerate(indices) if k in self.prescribed]
        free = [i for i in range(len(indices)) if i not in prescribed]
        reaction = affine = None
        if prescribed:
            accelerations = ca.vertcat(*[self.prescribed[indices[i]] for i in prescribed])
            reaction = (coupling[:, prescribed], block[prescribed, :], effort[prescribed])
            effort = effort - block[:, prescribed] @ accelerations
            force = force + coupling[:, prescribed] @ accelerations
        if free:
            factors = Factors.of(block[free, free], shortest=True)
            reduced = factors.forward(ca.horzcat(coupling[:, free].T, effort[free]))
            solution = factors.scaled(reduced)
            gain = solution[:, :6]
            affine = gain, solution[:, 6], factors
            inertia = symmetric(inertia - gain.T @ reduced[:, :6])
            force = force + gain.T @ reduced[:, 6]
        return _Eliminated(indices, affine, reaction), inertia, force

    def _pass_link(self, index: int, state: LinkState) -> _Passed:
        """Eliminate the accelerations of a link's amplitudes and of its joint's coordinates."""
        t, part = state.terms, state.part
        inertia: Expr = spatial_inertia(t.mass, t.first, t.second)
        force: Expr = ca.vertcat(t.torque, t.force)
        momentum: Expr = ca.vertcat(t.angular, t.linear)
        modal, effort = t.modal, t.effort
        for mount in state.mounts:
            position, frame = mount.motion.local.position, mount_columns(mount)
            P, z = self._outboard_at(mount)
            mount_force = P @ mount_bias(state, mount) + z
            mount_momentum = P @ frame
            inertia = inertia + shift_inertia(P, position)
            force = force + shift_force(mount_force, position)
            momentum = momentum + shift_force(mount_momentum, position)
            effort = effort + frame.T @ mount_force
            modal = modal + symmetric(frame.T @ mount_momentum)
        applied = picked(self.applied, part.own)
        effort = (applied if state.basis is None else state.basis.T @ applied) - effort
        modal, momentum = self._with_rotor(state, part.own, ca.sparsify(modal), momentum)
        amplitudes, inertia, force = self._eliminate(
            part.own, modal, momentum, effort, (inertia, force)
        )
        return _Passed(amplitudes, self._pass_joint(index, state, inertia, force))

    def _with_rotor(
        self, state: LinkState, indices: tuple[int, ...], block: Expr, coupling: Expr
    ) -> tuple[Expr, Expr]:
        """Add a geared rotor to the inertia and momentum matrices of given coordinates.

        The rotor contributes only if it spins with one of these coordinates.
        """
        rotor = state.part.rotor
        if rotor is not None and rotor.coordinate in indices:
            k = indices.index(rotor.coordinate)
            block[k, k] += rotor.ratio**2 * rotor.inertia
            coupling[:, k] += self._rotor_coupling(state, rotor)
        return block, coupling

    def _outboard_on(self, links: Sequence[int]) -> _Outboard:
        """Return articulated inertia and bias force of links about the section carrying them."""
        if len(links) == 1:
            return self.carried[links[0]]
        inertia, force = ca.SX(6, 6), ca.SX(6, 1)
        for one in (self.carried[k] for k in links):
            inertia = inertia + rotate_inertia(one.rotation, one.inertia)
            force = force + rotate(one.rotation, one.force)
        return _Outboard(inertia, force, ca.SX.eye(3))

    def _outboard_at(self, mount: Mount) -> tuple[Expr, Expr]:
        """Return articulated inertia and bias force of all bodies on a section, in link axes."""
        E, outboard = mount.motion.local.rotation, self._outboard_on(mount.links)
        for k in mount.links:
            self.rotations[k] = E @ self.carried[k].rotation
        if not mount.body.weighs:
            rotation = self.rotations[mount.links[0]] if len(mount.links) == 1 else E
            return rotate_inertia(rotation, outboard.inertia), rotate(rotation, outboard.force)
        inertia = rotate_inertia(outboard.rotation, outboard.inertia) + body_matrix(mount.body)
        force = rotate(outboard.rotation, outboard.force) + mount.force
        return rotate_inertia(E, inertia), rotate(E, force)

    def _pass_joint(self, index: int, state: LinkState, inertia: Expr, force: Expr) -> _Eliminated:
        """Eliminate a joint's accelerations; pass inertia and bias force to the link before it."""
        joints, rotor, axes = state.part.carried_by, state.part.rotor, state.columns
        force = force + inertia @ state.bias
        joint = _Eliminated(joints)
        if joints:
            applied, coupling = picked(self.applied, joints), inertia @ axes
            block = symmetric(axes.T @ coupling)
            block, coupling = self._with_rotor(state, joints, block, coupling)
            effort = applied - axes.T @ force
            joint, inertia, force = self._eliminate(
                joints, block, coupling, effort, (inertia, force)
            )
            if joint.reaction is None and (rotor is None or rotor.coordinate not in joints):
                _set_axes_exactly(axes, inertia, force, applied)
        if rotor is not None:
            rotor_load = self._rotor_load(state, rotor)
            inertia, force = inertia + rotor_load[0], force + rotor_load[1]
        if state.offset is not None:
            inertia, force = (
                shift_inertia(inertia, state.offset),
                shift_force(force, state.offset),
            )
        self.carried[index] = _Outboard(inertia, force, state.rotation)
        return joint

    def _rotor_axis(self, state: LinkState, rotor: Rotor) -> Expr:
        """Return a rotor's spin axis in link root axes, as an angular spatial vector (6,)."""
        axis = state.rotation.T @ constant(np.asarray(rotor.axis))
        spatial_axis: Expr = ca.vertcat(axis, ca.SX(3, 1))
        return spatial_axis

    def _rotor_coupling(self, state: LinkState, rotor: Rotor) -> Expr:
        if rotor.axis is None:
            return ca.SX(6, 1)
        return rotor.ratio * rotor.inertia * self._rotor_axis(state, rotor)

    def _rotor_load(self, state: LinkState, rotor: Rotor) -> tuple[Expr, Expr]:
        """Return inertia (6, 6) and force (6,) of a rotor on its carrier, in link root axes."""
        if rotor.axis is None:
            return ca.SX(6, 6), ca.SX(6, 1)
        axis = self._rotor_axis(state, rotor)
        spin = ca.dot(axis[:3], state.carrier)
        momentum = rotor.inertia * (rotor.ratio * self.v[rotor.coordinate] + spin)
        torque = ca.cross(state.carrier, axis[:3]) * momentum
        if state.away is not None:
            torque += rotor_gradient(self.model.orbit, state.away, axis[:3], rotor.inertia)
        force = ca.vertcat(torque, ca.SX(3, 1))
        k = rotor.coordinate
        if k in state.part.carried_by or k in state.part.own:
            return rotor.inertia * (axis @ axis.T), force
        if k in self.prescribed:
            force = force + self._rotor_coupling(state, rotor) * self.prescribed[k]
            return rotor.inertia * (axis @ axis.T), force
        # a free rotor does not rotate with its carrier, so only its torque acts on the carrier
        return ca.SX(6, 6), force + self.applied[k] / rotor.ratio * axis

    def outward(self) -> None:
        """Compute the accelerations of all coordinates, from base to tips."""
        # Accelerations of the sections that carry the links, in root axes of their parents.
        carriers: dict[int, Expr] = dict.fromkeys(self.model.carried_by_base, self._base())
        for index, (state, passed) in enumerate(zip(self.states, self.passed, strict=True)):
            current = rotate(self.rotations.get(index, state.rotation).T, carriers[index])
            self._spin_rotor(state, current)
            if state.offset is not None:
                current = shift_motion(current, state.offset)
            rates_change = self._solve_accelerations(passed.joint, current)
            current = (
                current + state.columns @ rates_change if rates_change.numel() else current
            ) + state.bias
            if state.part.own:
                rates_change = self._solve_accelerations(passed.amplitudes, current, state.basis)
            for mount in state.mounts:
                moved = shift_motion(current, mount.motion.local.position)
                moved = moved + mount_bias(state, mount)
                if state.part.own:
                    moved = moved + mount_columns(mount) @ rates_change
                carriers.update(dict.fromkeys(mount.links, moved))

    def _solve_accelerations(
        self, eliminated: _Eliminated, current: Expr, basis: Expr | None = None
    ) -> Expr:
        """Return accelerations of eliminated coordinates from the acceleration of their frame.

        The accelerations, and the generalised forces on prescribed coordinates, are also stored in
        ``acceleration`` and ``effort`` of the sweep.
        """
        if eliminated.free is not None:
            gain, start, factors = eliminated.free
            solution = factors.back(start - gain @ current)
            accelerations = solution if basis is None else basis @ solution
            for i, k in enumerate(k for k in eliminated.indices if k not in self.prescribed):
                self.acceleration[k] = accelerations[i]
            if basis is not None:
                return solution
        accelerations = picked(self.acceleration, eliminated.indices)
        if eliminated.reaction is not None:
            coupling, block, effort = eliminated.reaction
            efforts = coupling.T @ current + block @ accelerations - effort
            for i, k in enumerate(k for k in eliminated.indices if k in self.prescribed):
                self.effort[k] = efforts[i]
        return accelerations

    def _spin_rotor(self, state: LinkState, current: Expr) -> None:
        rotor = state.part.rotor
        if rotor is None or rotor.coordinate in state.part.coordinates:
            return
        k = rotor.coordinate
        carrier_spin: Expr = ca.SX(0)
        if rotor.axis is not None:
            carrier_spin = ca.dot(self._rotor_axis(state, rotor), current) / rotor.ratio
        block = rotor.ratio**2 * rotor.inertia
        if k in self.prescribed:
            self.effort[k] = block * (self.prescribed[k] + carrier_spin) - self.applied[k]
        else:
            self.acceleration[k] = self.applied[k] / block - carrier_spin

    def _base(self) -> Expr:
        """Return the spatial acceleration (6,) of the base minus gravity, in base axes."""
        base, lift = self.base, self.base.swept - ca.SX(constant(self.model.gravity))
        if base.angular is None or base.angular_inverse is None:
            return ca.vertcat(ca.SX(3, 1), base.rotation.T @ lift)
        outboard, body = self._outboard_on(self.model.carried_by_base), self.model.base_body
        inertia = rotate_inertia(outboard.rotation, outboard.inertia) + body_matrix(body)
        force = rotate(outboard.rotation, outboard.force) + base.force
        if 0 in self.prescribed:
            a: Expr = ca.vertcat(*[self.prescribed[k] for k in range(6)])
            current: Expr = ca.vertcat(
                base.angular @ a[3:6] + base.turning_bias, base.rotation.T @ (a[0:3] + lift)
            )
            total = inertia @ current + force
            efforts = ca.vertcat(base.rotation @ total[3:], base.angular.T @ total[:3])
            self.effort[0:6] = efforts - self.applied[0:6]
            return current
        applied_force = ca.vertcat(
            base.angular_inverse.T @ self.applied[3:6], base.rotation.T @ self.applied[0:3]
        )
        current = ldl_solve(inertia, applied_force - force)
        self.acceleration[0:3] = base.rotation @ current[3:] - lift
        self.acceleration[3:6] = base.angular_inverse @ (current[:3] - base.turning_bias)
        return current


def _set_axes_exactly(axes: Expr, inertia: Expr, force: Expr, applied: Expr) -> None:
    """Set the inertia along free joint axes to exactly 0, and the force to the applied force.

    After the elimination of the joint's coordinates both are exact except for rounding errors.
    """
    if not ca.SX(axes).is_constant():
        return
    for i, column in enumerate(np.array(ca.DM(axes)).T):
        nonzero = np.flatnonzero(column)
        if len(nonzero) == 1 and abs(column[nonzero[0]]) == 1.0:
            k = int(nonzero[0])
            inertia[k, :] = 0
            inertia[:, k] = 0
            force[k] = applied[i] * column[k]
