"""The flexible articulated-body recursion: accelerations in O(n), without forming M.

Inward, each link's own accelerations (its amplitudes) and its joint's are eliminated, so that what
is outboard of a tip acts on it like one body of articulated inertia P and bias force z:
``F = P A + z``.  Outward, the accelerations follow.  After Jain & Rodriguez 1992.
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
    """Articulated inertia and bias force at a tip, in axes that ``rotation`` turns to the link."""

    inertia: Expr
    force: Expr
    rotation: Expr


@dataclass(frozen=True)
class _Own:
    """Accelerations of a link's amplitudes, ``-(gain A + start)`` with A that of L.

    Without low rank they are ``-L^-T (gain A + start)`` with the factors of the amplitudes' mass
    matrix.
    """

    gain: Expr
    start: Expr
    few: LowRank | None
    factors: Factors | None


@dataclass(frozen=True)
class _Eliminated:
    """Results of a link's elimination, for the outward pass.

    ``joint``: the joint's free accelerations are ``L^-T (start - gain A_in)`` with the factors of
    their inertia; A_in is the acceleration of L before the joint's motion is added. ``reaction``:
    prescribed accelerations take the effort ``reach^T A_in + size a - pushed``, where a has all of
    the joint's accelerations.
    """

    turn: Expr
    own: _Own
    joint: tuple[Factors, Expr, Expr] | None
    reaction: tuple[Expr, Expr, Expr] | None


class Articulated(Composite):
    """Forward dynamics by eliminating each link's accelerations from tip to base."""

    name: ClassVar[str] = "articulated"
    citation: ClassVar[str] = "Jain & Rodriguez 1992, with columns for amplitudes"
    assumptions: ClassVar[str] = "none beyond the model's own; M and c are those of composite"

    def forward_expression(self, q: Expr, v: Expr, given: Expr, applied: Expr) -> tuple[Expr, Expr]:
        """Trace accelerations (n,) and the effort (n,) needed by the prescribed coordinates."""
        sweep = _Sweep(self.model, q, v, given, applied)
        sweep.inward()
        sweep.outward()
        return sweep.acceleration, sweep.effort


class _Sweep:
    """One forward-dynamics sweep over an arm, inward and outward."""

    def __init__(self, model: Model, q: Expr, v: Expr, given: Expr, applied: Expr) -> None:
        self.model, self.q, self.v, self.applied = model, q, v, applied
        self.given = dict(zip(model.prescribed, ca.vertsplit(given), strict=True))
        self.base: BaseState = base_state(model, q, v)
        self.states = link_states(model, q, v, combined=True)
        self.kept: list[_Eliminated] = []
        self.known: dict[str, tuple[Expr, Expr, Expr]] = {}
        self.acceleration, self.effort = ca.SX(model.size, 1), ca.SX(model.size, 1)
        for k, value in self.given.items():
            self.acceleration[k] = value
        none = ca.SX(6, 6), ca.SX(6, 1), ca.SX.eye(3)
        self.outboard = _Outboard(*none)

    def inward(self) -> None:
        """Eliminate links from tip to base."""
        for state in reversed(self.states):
            self.kept.insert(0, self._eliminate(state))

    def _eliminate(self, state: LinkState) -> _Eliminated:
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
        force = ca.vertcat(t.torque, t.force) + shift_force(pull, local.position)
        momentum, rest = shift_force(push, local.position), frame.T @ pull
        if few is not None:
            momentum, rest = momentum @ constant(few.rows), constant(few.rows.T) @ rest
        own = list(part.own)
        momentum = ca.vertcat(t.angular, t.linear) + momentum
        applied = self.applied[own] if own else ca.SX(0, 1)
        rest = t.effort + rest - (applied if state.basis is None else state.basis.T @ applied)
        along = symmetric(frame.T @ push)
        if few is None:
            modal = ca.sparsify(t.modal + along)
            modal, momentum, force, rest = self._split(state, modal, momentum, force, rest)
        right, factors = ca.horzcat(momentum.T, rest), None
        if few is not None:
            solved = few.solve(along, right)
        else:
            factors = Factors.of(modal, shortest=True)
            right = factors.forward(right)
            solved = factors.scaled(right)
        gain, start = solved[:, :6], solved[:, 6]
        inertia = symmetric(inertia - right[:, :6].T @ gain)
        force = force - right[:, :6].T @ start
        return self._pass_joint(state, turned, inertia, force, _Own(gain, start, few, factors))

    def _split(
        self, state: LinkState, modal: Expr, momentum: Expr, force: Expr, rest: Expr
    ) -> tuple[Expr, Expr, Expr, Expr]:
        """Add a sliding joint's rotor; a prescribed exposed length becomes a load."""
        part, own = state.part, list(state.part.own)
        if part.rotor is not None and part.rotor.coordinate in own:
            # the rotor of a sliding joint spins with the exposed length
            k = own.index(part.rotor.coordinate)
            modal[k, k] += part.rotor.ratio**2 * part.rotor.inertia
            momentum[:, k] += self._rotor_reach(state, part.rotor)
        known = [i for i, k in enumerate(own) if k in self.given]
        if known:
            self.known[part.name] = (momentum[:, known], modal[known, :], rest[known])
            moved = ca.vertcat(*[self.given[own[i]] for i in known])
            force = force + momentum[:, known] @ moved
            rest = rest + modal[:, known] @ moved
            free = [i for i in range(len(own)) if i not in known]
            modal, momentum, rest = modal[free, free], momentum[:, free], rest[free]
        return modal, momentum, force, rest

    def _at_tip(self, state: LinkState) -> tuple[Expr, _Outboard]:
        """Transform outboard inertia and force into the link's axes, and add the tip's body."""
        E, body, out = state.tip.local.rotation, state.part.tip_body, self.outboard
        if not body.weighs:
            turned = E @ out.rotation
            return turned, _Outboard(
                rotate_inertia(turned, out.inertia), rotate(turned, out.force), turned
            )
        inertia = rotate_inertia(out.rotation, out.inertia) + body_matrix(body)
        force = rotate(out.rotation, out.force) + state.tip_force
        return E @ out.rotation, _Outboard(rotate_inertia(E, inertia), rotate(E, force), E)

    def _pass_joint(
        self, state: LinkState, turned: Expr, inertia: Expr, force: Expr, own: _Own
    ) -> _Eliminated:
        """Eliminate the joint, and pass the remaining inertia and force to the previous tip."""
        part, rotor = state.part, state.part.rotor
        force = force + inertia @ state.bias
        joint = reaction = None
        joints = part.carried_by
        spun = rotor if rotor is not None and rotor.coordinate in joints else None
        if joints:
            axes, applied = state.columns, picked(self.applied, joints)
            reach = inertia @ axes
            size = symmetric(axes.T @ reach)
            if spun is not None:
                size = size + spun.ratio**2 * spun.inertia
                reach = reach + self._rotor_reach(state, spun)
            pushed = applied - axes.T @ force
            known = [i for i, k in enumerate(joints) if k in self.given]
            free = [i for i in range(len(joints)) if i not in known]
            if known:
                moved = picked(self.acceleration, tuple(joints[i] for i in known))
                reaction = (reach[:, known], size[known, :], pushed[known])
                pushed = pushed - size[:, known] @ moved
                force = force + reach[:, known] @ moved
            if free:
                factors = Factors.of(size[free, free])
                right = factors.forward(ca.horzcat(reach[:, free].T, pushed[free]))
                solved = factors.scaled(right)
                joint = factors, solved[:, :6], solved[:, 6]
                inertia = symmetric(inertia - right[:, :6].T @ solved[:, :6])
                force = force + right[:, :6].T @ solved[:, 6]
                if spun is None and not known:
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
        return _Eliminated(turned, own, joint, reaction)

    def _rotor_axis(self, state: LinkState, rotor: Rotor) -> Expr:
        """Rotate the spin axis into L, as an angular spatial vector, (6,)."""
        axis = state.rotation.T @ constant(np.asarray(rotor.axis))
        stacked: Expr = ca.vertcat(axis, ca.SX(3, 1))
        return stacked

    def _rotor_reach(self, state: LinkState, rotor: Rotor) -> Expr:
        if rotor.axis is None:
            return ca.SX(6, 1)
        return rotor.ratio * rotor.inertia * self._rotor_axis(state, rotor)

    def _rotor_load(self, state: LinkState, rotor: Rotor) -> tuple[Expr, Expr]:
        """Inertia and force that a rotor with full spin momentum exerts on its carrier, in L."""
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
            current = self._move_joint(state, kept, current) + state.bias
            own = list(state.part.own)
            tip = shift_motion(current, state.tip.local.position) + tip_bias(state)
            if own:
                moved, few = self._move_own(state, kept, current), kept.own.few
                if few is None:
                    tip = tip + tip_columns(state) @ moved
                else:
                    tip = tip + few.frame @ (constant(few.rows) @ moved)
            current = tip

    def _move_joint(self, state: LinkState, kept: _Eliminated, current: Expr) -> Expr:
        joints = state.part.carried_by
        if kept.joint is not None:
            factors, gain, start = kept.joint
            solved = factors.back(start - gain @ current)
            for i, joint in enumerate(k for k in joints if k not in self.given):
                self.acceleration[joint] = solved[i]
        moved = picked(self.acceleration, joints)
        if kept.reaction is not None:
            reach, size, pushed = kept.reaction
            pulled = reach.T @ current + size @ moved - pushed
            for i, joint in enumerate(k for k in joints if k in self.given):
                self.effort[joint] = pulled[i]
        return current + state.columns @ moved if joints else current

    def _move_own(self, state: LinkState, kept: _Eliminated, current: Expr) -> Expr:
        own = state.part.own
        solved = -(kept.own.gain @ current + kept.own.start)
        if kept.own.factors is not None:
            solved = kept.own.factors.back(solved)
        moved = solved if state.basis is None else state.basis @ solved
        for i, k in enumerate(k for k in own if k not in self.given):
            self.acceleration[k] = moved[i]
        if state.basis is not None:
            return solved
        moved = ca.vertcat(*[self.acceleration[k] for k in own])
        if state.part.name in self.known:
            momentum, modal, rest = self.known[state.part.name]
            pulled = momentum.T @ current + modal @ moved + rest
            for i, k in enumerate(k for k in own if k in self.given):
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
        """Acceleration of the base in its axes, including minus gravity."""
        base, lift = self.base, self.base.swept - ca.SX(constant(self.model.gravity))
        if base.angular is None or base.angular_inverse is None:
            return ca.vertcat(ca.SX(3, 1), base.rotation.T @ lift)
        out, body = self.outboard, self.model.base_body
        inertia = rotate_inertia(out.rotation, out.inertia) + body_matrix(body)
        force = rotate(out.rotation, out.force) + base.force
        if 0 in self.given:
            a: Expr = ca.vertcat(*[self.given[k] for k in range(6)])
            current = ca.vertcat(
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
    """Set inertia and force along free joint axes exactly: 0, and the applied force."""
    if not ca.SX(axes).is_constant():
        return
    for i, column in enumerate(np.array(ca.DM(axes)).T):
        along = np.flatnonzero(column)
        if len(along) == 1 and abs(column[along[0]]) == 1.0:
            k = int(along[0])
            inertia[k, :] = 0
            inertia[:, k] = 0
            force[k] = applied[i] * column[k]
