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
from flexarm.formulations.low_rank import LowRank, low_rank
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

    ``rotation`` transforms from their axes to those of the link.
    """

    inertia: Expr
    force: Expr
    rotation: Expr


@dataclass(frozen=True)
class _Eliminated:
    """Accelerations of eliminated coordinates, affine in the acceleration A of their frame.

    Those of free coordinates are ``L^-T (start - gain A)``, with L the factor of their inertia, or
    ``start - gain A`` without factors. Prescribed coordinates need the effort ``reach^T A + size a
    - pushed``, where a contains the accelerations of all these coordinates.
    """

    indices: tuple[int, ...]  # of the coordinates
    free: tuple[Expr, Expr] | None = None  # gain and start of free ones
    factors: Factors | None = None
    reaction: tuple[Expr, Expr, Expr] | None = None  # reach, size and pushed of prescribed ones


@dataclass(frozen=True)
class _Passed:
    """Results of the inward pass for one link, which the outward pass needs."""

    turn: Expr  # axes of L from those that the motion of the tip is handed on in
    own: _Eliminated
    few: LowRank | None
    joint: _Eliminated


class Articulated(Composite):
    """Forward dynamics by eliminating each link's accelerations from tip to base."""

    name: ClassVar[str] = "articulated"
    citation: ClassVar[str] = "Jain & Rodriguez 1992, with columns for amplitudes"
    assumptions: ClassVar[str] = "none beyond the model's own; M and c are those of composite"

    def forward_expression(self, q: Expr, v: Expr, given: Expr, applied: Expr) -> tuple[Expr, Expr]:
        """Trace accelerations (n,) and the efforts (n,) that prescribed coordinates need."""
        sweep = _Sweep(self.model, q, v, given, applied)
        sweep.inward()
        sweep.outward()
        return sweep.acceleration, sweep.effort


class _Sweep:
    """Inward and outward pass of the forward dynamics over one arm."""

    def __init__(self, model: Model, q: Expr, v: Expr, given: Expr, applied: Expr) -> None:
        self.model, self.q, self.v, self.applied = model, q, v, applied
        self.given = dict(zip(model.prescribed, ca.vertsplit(given), strict=True))
        self.base: BaseState = base_state(model, q, v)
        self.states = link_states(model, q, v, combined=True)
        self.kept: list[_Passed] = []
        self.acceleration, self.effort = ca.SX(model.size, 1), ca.SX(model.size, 1)
        for k, value in self.given.items():
            self.acceleration[k] = value
        none = ca.SX(6, 6), ca.SX(6, 1), ca.SX.eye(3)
        self.outboard = _Outboard(*none)

    def inward(self) -> None:
        """Eliminate the accelerations of all links and joints, from tip to base."""
        for state in reversed(self.states):
            self.kept.insert(0, self._pass_link(state))

    def _eliminate(
        self,
        indices: tuple[int, ...],
        size: Expr,
        reach: Expr,
        pushed: Expr,
        outboard: tuple[Expr, Expr],
    ) -> tuple[_Eliminated, Expr, Expr]:
        """Eliminate the accelerations of some coordinates, given the motion of their frame.

        Parameters
        ----------
        indices
            The coordinates, k of them.
        size, reach, pushed
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
        known = [i for i, k in enumerate(indices) if k in self.given]
        free = [i for i in range(len(indices)) if i not in known]
        reaction = factors = affine = None
        if known:
            moved = ca.vertcat(*[self.given[indices[i]] for i in known])
            reaction = (reach[:, known], size[known, :], pushed[known])
            pushed = pushed - size[:, known] @ moved
            force = force + reach[:, known] @ moved
        if free:
            factors = Factors.of(size[free, free], shortest=True)
            right = factors.forward(ca.horzcat(reach[:, free].T, pushed[free]))
            solved = factors.scaled(right)
            gain, start = affine = solved[:, :6], solved[:, 6]
            inertia = symmetric(inertia - right[:, :6].T @ gain)
            force = force + right[:, :6].T @ start
        return _Eliminated(indices, affine, factors, reaction), inertia, force

    def _pass_link(self, state: LinkState) -> _Passed:
        """Eliminate the accelerations of a link's amplitudes and of its joint's coordinates."""
        t, part = state.terms, state.part
        local = state.tip.local
        turned, outboard = self._at_tip(state)
        P = outboard.inertia
        pull = P @ tip_bias(state) + outboard.force
        few = None if state.ridden else low_rank(self.model, part, self.q, t.modal)
        # the tip's motion is `frame rows`; what acts at the tip is brought to L along the frame
        frame = tip_columns(state) if few is None else few.frame
        push = P @ frame
        inertia = spatial_inertia(t.mass, t.first, t.second) + shift_inertia(P, local.position)
        force: Expr = ca.vertcat(t.torque, t.force) + shift_force(pull, local.position)
        momentum, rest = shift_force(push, local.position), frame.T @ pull
        if few is not None:
            momentum, rest = momentum @ constant(few.rows), constant(few.rows.T) @ rest
        momentum = ca.vertcat(t.angular, t.linear) + momentum
        applied = picked(self.applied, part.own)
        pushed = applied if state.basis is None else state.basis.T @ applied
        pushed = pushed - (t.effort + rest)
        along = symmetric(frame.T @ push)
        if few is not None:
            solved = few.solve(along, ca.horzcat(momentum.T, pushed))
            gain, start = solved[:, :6], solved[:, 6]
            own = _Eliminated(part.own, (gain, start))
            inertia = symmetric(inertia - momentum @ gain)
            force = force + momentum @ start
        else:
            modal: Expr = ca.sparsify(t.modal + along)
            modal, momentum = self._with_rotor(state, part.own, modal, momentum)
            own, inertia, force = self._eliminate(
                part.own, modal, momentum, pushed, (inertia, force)
            )
        return _Passed(turned, own, few, self._pass_joint(state, inertia, force))

    def _with_rotor(
        self, state: LinkState, indices: tuple[int, ...], size: Expr, reach: Expr
    ) -> tuple[Expr, Expr]:
        """Add the contribution of a geared rotor to inertia and momentum of coordinates.

        The rotor contributes only if it spins with one of the coordinates.
        """
        rotor = state.part.rotor
        if rotor is not None and rotor.coordinate in indices:
            k = indices.index(rotor.coordinate)
            size[k, k] += rotor.ratio**2 * rotor.inertia
            reach[:, k] += self._rotor_reach(state, rotor)
        return size, reach

    def _at_tip(self, state: LinkState) -> tuple[Expr, _Outboard]:
        """Return the rotation to outboard axes, and outboard inertia and force with the tip's body.

        Inertia and force are in the link's axes.
        """
        E, body, out = state.tip.local.rotation, state.part.tip_body, self.outboard
        if not body.weighs:
            turned = E @ out.rotation
            return turned, _Outboard(
                rotate_inertia(turned, out.inertia), rotate(turned, out.force), turned
            )
        inertia = rotate_inertia(out.rotation, out.inertia) + body_matrix(body)
        force = rotate(out.rotation, out.force) + state.tip_force
        return E @ out.rotation, _Outboard(rotate_inertia(E, inertia), rotate(E, force), E)

    def _pass_joint(self, state: LinkState, inertia: Expr, force: Expr) -> _Eliminated:
        """Eliminate the joint's accelerations and pass the remaining inertia and force inward."""
        joints, rotor, axes = state.part.carried_by, state.part.rotor, state.columns
        force = force + inertia @ state.bias
        joint = _Eliminated(joints)
        if joints:
            applied, reach = picked(self.applied, joints), inertia @ axes
            size = symmetric(axes.T @ reach)
            size, reach = self._with_rotor(state, joints, size, reach)
            pushed = applied - axes.T @ force
            joint, inertia, force = self._eliminate(joints, size, reach, pushed, (inertia, force))
            if joint.reaction is None and (rotor is None or rotor.coordinate not in joints):
                _clear_axes(axes, inertia, force, applied)
        if rotor is not None:
            extra = self._rotor_load(state, rotor)
            inertia, force = inertia + extra[0], force + extra[1]
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
        stacked: Expr = ca.vertcat(axis, ca.SX(3, 1))
        return stacked

    def _rotor_reach(self, state: LinkState, rotor: Rotor) -> Expr:
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
        if k in self.given:
            force = force + self._rotor_reach(state, rotor) * self.given[k]
            return rotor.inertia * (axis @ axis.T), force
        # a free rotor takes no part in the carrier's turning: only its torque comes back
        return ca.SX(6, 6), force + self.applied[k] / rotor.ratio * axis

    def outward(self) -> None:
        """Compute the accelerations from base to tip."""
        current, turn = self._base(), None
        for state, kept in zip(self.states, self.kept, strict=True):
            # they come in the axes of the previous link's root, or of the base
            current = rotate((state.rotation if turn is None else turn).T, current)
            turn = kept.turn
            self._spin_rotor(state, current)
            if state.offset is not None:
                current = shift_motion(current, state.offset)
            moved = self._move(kept.joint, current)
            current = (current + state.columns @ moved if moved.numel() else current) + state.bias
            tip = shift_motion(current, state.tip.local.position) + tip_bias(state)
            if state.part.own:
                moved = self._move(kept.own, current, state.basis)
                if kept.few is None:
                    tip = tip + tip_columns(state) @ moved
                else:
                    tip = tip + kept.few.frame @ (constant(kept.few.rows) @ moved)
            current = tip

    def _move(self, kept: _Eliminated, current: Expr, basis: Expr | None = None) -> Expr:
        """Return accelerations of eliminated coordinates, given the acceleration of their frame.

        Stores the accelerations, and the efforts of prescribed coordinates, in the results of the
        sweep.
        """
        if kept.free is not None:
            gain, start = kept.free
            solved = start - gain @ current
            solved = solved if kept.factors is None else kept.factors.back(solved)
            moved = solved if basis is None else basis @ solved
            for i, k in enumerate(k for k in kept.indices if k not in self.given):
                self.acceleration[k] = moved[i]
            if basis is not None:
                return solved
        moved = picked(self.acceleration, kept.indices)
        if kept.reaction is not None:
            reach, size, pushed = kept.reaction
            pulled = reach.T @ current + size @ moved - pushed
            for i, k in enumerate(k for k in kept.indices if k in self.given):
                self.effort[k] = pulled[i]
        return moved

    def _spin_rotor(self, state: LinkState, current: Expr) -> None:
        rotor = state.part.rotor
        if rotor is None or rotor.coordinate in state.part.coordinates:
            return
        k = rotor.coordinate
        carried: Expr = ca.SX(0)
        if rotor.axis is not None:
            carried = ca.dot(self._rotor_axis(state, rotor), current) / rotor.ratio
        size = rotor.ratio**2 * rotor.inertia
        if k in self.given:
            self.effort[k] = size * (self.given[k] + carried) - self.applied[k]
        else:
            self.acceleration[k] = self.applied[k] / size - carried

    def _base(self) -> Expr:
        """Return the spatial acceleration of the base minus gravity, in base axes, (6,)."""
        base, lift = self.base, self.base.swept - ca.SX(constant(self.model.gravity))
        if base.angular is None or base.angular_inverse is None:
            return ca.vertcat(ca.SX(3, 1), base.rotation.T @ lift)
        out, body = self.outboard, self.model.base_body
        inertia = rotate_inertia(out.rotation, out.inertia) + body_matrix(body)
        force = rotate(out.rotation, out.force) + base.force
        if 0 in self.given:
            a: Expr = ca.vertcat(*[self.given[k] for k in range(6)])
            current: Expr = ca.vertcat(
                base.angular @ a[3:6] + base.turning_bias, base.rotation.T @ (a[0:3] + lift)
            )
            total = inertia @ current + force
            pulled = ca.vertcat(base.rotation @ total[3:], base.angular.T @ total[:3])
            self.effort[0:6] = pulled - self.applied[0:6]
            return current
        pushed = ca.vertcat(
            base.angular_inverse.T @ self.applied[3:6], base.rotation.T @ self.applied[0:3]
        )
        current = ldl_solve(inertia, pushed - force)
        self.acceleration[0:3] = base.rotation @ current[3:] - lift
        self.acceleration[3:6] = base.angular_inverse @ (current[:3] - base.turning_bias)
        return current


def _clear_axes(axes: Expr, inertia: Expr, force: Expr, applied: Expr) -> None:
    """Set inertia along free joint axes to exactly 0, and force to the applied force."""
    if not ca.SX(axes).is_constant():
        return
    for i, column in enumerate(np.array(ca.DM(axes)).T):
        along = np.flatnonzero(column)
        if len(along) == 1 and abs(column[along[0]]) == 1.0:
            k = int(along[0])
            inertia[k, :] = 0
            inertia[:, k] = 0
            force[k] = applied[i] * column[k]
