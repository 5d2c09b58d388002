"""The flexible articulated-body recursion: accelerations in O(n), without forming M.

The inward pass eliminates each link's amplitudes and its joint's coordinates, so that all bodies
outboard of a tip act on the link like one body of articulated inertia P and bias force z: ``F = P A
+ z``. The outward pass computes the accelerations. After Jain & Rodriguez 1992.
"""

from dataclasses import dataclass
from typing import ClassVar

import casadi as ca
import numpy as np

from flexarm.formulations.base import Factors, ldl_solve
from flexarm.formulations.composite import Composite
from flexarm.formulations.recursion import (
    BaseState,
    LinkState,
    base_state,
    body_matrix,
    link_states,
    rotate,
    rotate_inertia,
    shift_force,
    shift_inertia,
    shift_motion,
    spatial_inertia,
    symmetric,
    tip_bias,
    tip_columns,
)
from flexarm.mechanics.orbit.hill import rotor_gradient
from flexarm.mechanics.sections import picked
from flexarm.model import Model, Rotor
from flexarm.spatial import Expr, constant


@dataclass(frozen=True)
class _Outboard:
    """Articulated inertia (6, 6) and bias force (6,) of all bodies outboard of a tip.

    ``rotation`` transforms from their axes to the axes of the link.
    """

    inertia: Expr
    force: Expr
    rotation: Expr


@dataclass(frozen=True)
class _Eliminated:
    """Accelerations of eliminated coordinates as affine functions of their frame's acceleration A.

    Those of free coordinates are ``L^-T (start - gain A)``, with L the factor of their inertia.
    Prescribed coordinates need the effort ``coupling^T A
    + block a - effort``, where a contains the accelerations of all these coordinates.
    """

    indices: tuple[int, ...]  # indices of the coordinates in q
    # Gain and start of the free coordinates, and the factors of their inertia.
    free: tuple[Expr, Expr, Factors] | None = None
    # Coupling, block and effort of prescribed coordinates.
    reaction: tuple[Expr, Expr, Expr] | None = None


@dataclass(frozen=True)
class _Passed:
    """Results for one link of the inward pass, for use in the outward pass."""

    rotation: Expr  # axes of L from the axes in which the tip's motion is passed on
    amplitudes: _Eliminated
    joint: _Eliminated


class Articulated(Composite):
    """Forward dynamics by eliminating each link's accelerations from tip to base."""

    name: ClassVar[str] = "articulated"
    citation: ClassVar[str] = "Jain & Rodriguez 1992, with columns for amplitudes"
    assumptions: ClassVar[str] = "none beyond the model's own; M and c are those of composite"

    def forward_expression(
        self, q: Expr, v: Expr, prescribed_a: Expr, applied: Expr
    ) -> tuple[Expr, Expr]:
        """Trace accelerations (n,) and the efforts (n,) that prescribed coordinates need."""
        sweep = _Sweep(self.model, q, v, prescribed_a, applied)
        sweep.inward()
        sweep.outward()
        return sweep.acceleration, sweep.effort


class _Sweep:
    """Inward and outward pass of the forward dynamics over one arm."""

    def __init__(self, model: Model, q: Expr, v: Expr, prescribed: Expr, applied: Expr) -> None:
        self.model, self.q, self.v, self.applied = model, q, v, applied
        self.prescribed = dict(zip(model.prescribed, ca.vertsplit(prescribed), strict=True))
        self.base: BaseState = base_state(model, q, v)
        self.states = link_states(model, q, v, combined=True)
        self.passed: list[_Passed] = []
        self.acceleration, self.effort = ca.SX(model.size, 1), ca.SX(model.size, 1)
        for k, value in self.prescribed.items():
            self.acceleration[k] = value
        zeros = ca.SX(6, 6), ca.SX(6, 1), ca.SX.eye(3)
        self.outboard = _Outboard(*zeros)

    def inward(self) -> None:
        """Eliminate the accelerations of all links and joints, from tip to base."""
        for state in reversed(self.states):
            self.passed.insert(0, self._pass_link(state))

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
            Their inertia (k, k), momentum in the frame per rate (6, k), and generalised force
            while the frame has no acceleration, (k,).
        outboard
            Inertia (6, 6) and force (6,) on the frame while the coordinates do not accelerate.

        Returns
        -------
        eliminated, inertia, force
            The accelerations as a function of the frame's; articulated inertia (6, 6), force (6,).
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

    def _pass_link(self, state: LinkState) -> _Passed:
        """Eliminate the accelerations of a link's amplitudes and of its joint's coordinates."""
        t, part = state.terms, state.part
        local = state.tip.local
        rotation, outboard = self._outboard_at_tip(state)
        P = outboard.inertia
        tip_force = P @ tip_bias(state) + outboard.force
        frame = tip_columns(state)
        tip_momentum = P @ frame
        inertia = spatial_inertia(t.mass, t.first, t.second) + shift_inertia(P, local.position)
        force: Expr = ca.vertcat(t.torque, t.force) + shift_force(tip_force, local.position)
        momentum, tip_effort = shift_force(tip_momentum, local.position), frame.T @ tip_force
        momentum = ca.vertcat(t.angular, t.linear) + momentum
        applied = picked(self.applied, part.own)
        effort = applied if state.basis is None else state.basis.T @ applied
        effort = effort - (t.effort + tip_effort)
        tip_block = symmetric(frame.T @ tip_momentum)
        modal: Expr = ca.sparsify(t.modal + tip_block)
        modal, momentum = self._with_rotor(state, part.own, modal, momentum)
        amplitudes, inertia, force = self._eliminate(
            part.own, modal, momentum, effort, (inertia, force)
        )
        return _Passed(rotation, amplitudes, self._pass_joint(state, inertia, force))

    def _with_rotor(
        self, state: LinkState, indices: tuple[int, ...], block: Expr, coupling: Expr
    ) -> tuple[Expr, Expr]:
        """Add a geared rotor to the inertia and momentum matrices of coordinates.

        The rotor contributes only if it spins with one of the coordinates.
        """
        rotor = state.part.rotor
        if rotor is not None and rotor.coordinate in indices:
            k = indices.index(rotor.coordinate)
            block[k, k] += rotor.ratio**2 * rotor.inertia
            coupling[:, k] += self._rotor_coupling(state, rotor)
        return block, coupling

    def _outboard_at_tip(self, state: LinkState) -> tuple[Expr, _Outboard]:
        """Return the rotation into outboard axes, and outboard inertia and force with tip body.

        Inertia and force are in the link's axes.
        """
        E, body, outboard = state.tip.local.rotation, state.part.tip_body, self.outboard
        if not body.weighs:
            rotation = E @ outboard.rotation
            return rotation, _Outboard(
                rotate_inertia(rotation, outboard.inertia),
                rotate(rotation, outboard.force),
                rotation,
            )
        inertia = rotate_inertia(outboard.rotation, outboard.inertia) + body_matrix(body)
        force = rotate(outboard.rotation, outboard.force) + state.tip_force
        return E @ outboard.rotation, _Outboard(rotate_inertia(E, inertia), rotate(E, force), E)

    def _pass_joint(self, state: LinkState, inertia: Expr, force: Expr) -> _Eliminated:
        """Eliminate the joint's accelerations and pass the remaining inertia and force inward."""
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
        self.outboard = _Outboard(inertia, force, state.rotation)
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
        # a free rotor does not turn with its carrier: only its torque acts on the carrier
        return ca.SX(6, 6), force + self.applied[k] / rotor.ratio * axis

    def outward(self) -> None:
        """Compute the accelerations from base to tip."""
        current, rotation = self._base(), None
        for state, passed in zip(self.states, self.passed, strict=True):
            # accelerations are in the axes of the previous link's root, or of the base
            current = rotate((state.rotation if rotation is None else rotation).T, current)
            rotation = passed.rotation
            self._spin_rotor(state, current)
            if state.offset is not None:
                current = shift_motion(current, state.offset)
            rates_change = self._solve_accelerations(passed.joint, current)
            current = (
                current + state.columns @ rates_change if rates_change.numel() else current
            ) + state.bias
            tip = shift_motion(current, state.tip.local.position) + tip_bias(state)
            if state.part.own:
                rates_change = self._solve_accelerations(passed.amplitudes, current, state.basis)
                tip = tip + tip_columns(state) @ rates_change
            current = tip

    def _solve_accelerations(
        self, eliminated: _Eliminated, current: Expr, basis: Expr | None = None
    ) -> Expr:
        """Return accelerations of eliminated coordinates from the acceleration of their frame.

        Stores the accelerations, and the efforts of prescribed coordinates, in the results of the
        sweep.
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
        """Return the spatial acceleration of the base minus gravity, in base axes, (6,)."""
        base, lift = self.base, self.base.swept - ca.SX(constant(self.model.gravity))
        if base.angular is None or base.angular_inverse is None:
            return ca.vertcat(ca.SX(3, 1), base.rotation.T @ lift)
        outboard, body = self.outboard, self.model.base_body
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
    """Set the inertia along free joint axes to exactly 0, and the force to the applied force."""
    if not ca.SX(axes).is_constant():
        return
    for i, column in enumerate(np.array(ca.DM(axes)).T):
        nonzero = np.flatnonzero(column)
        if len(nonzero) == 1 and abs(column[nonzero[0]]) == 1.0:
            k = int(nonzero[0])
            inertia[k, :] = 0
            inertia[:, k] = 0
            force[k] = applied[i] * column[k]
