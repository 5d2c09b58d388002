"""Method of kinematic influence: ``M = sum J^T Pi J``, with bias accelerations by link.

The method is that of Graves 1989 (V-Sim), with the corrections that docs/papers/graves.md lists.
All vectors in this module are in world axes; vectors (6,) stack translation over rotation.

paper symbol | eq. | code name
------------------------|---------|---------------------------------------------------- phi, q | 7 |
joints and modes together: ``q`` ("j-m space") d, theta = psi(q) | 1, 2 | `Local.position`,
`Local.rotation` of a link's tip iT_i+1, hT_i | 3, 4 | ``T``, link's axes in the world S, R | 8, 9 |
``part.motion.columns``; ``offset`` of `MovingFrame` psi_t, psi_r | 10, 11 | `Local.linear`,
`Local.angular` of an amplitude g | 8-12 | a column of ``J`` J_i | 7 | ``J``, (6, n), of the link's
frame v_rel, omega_rel | 27 | relative velocities across a joint or a deflected link a, alpha
nonlinear | 21, 27 | ``Rate.a``, ``Rate.alpha`` iPi_i | 24, 25 | ``inertia``, (6 + k, 6 + k), from
the link's `Terms` Pi* | 24 | the mass matrix (tau, Q) nonlinear | 22, 28 | `inertial_expression`
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import casadi as ca

from flexarm.engine.once import once
from flexarm.formulations.base import Formulation, unstiffened
from flexarm.formulations.moving_frames import MovingFrame
from flexarm.mechanics.bodies import body_of
from flexarm.mechanics.kinematics import LinkFrames, frames, tip_section
from flexarm.mechanics.sections import (
    Local,
    SectionMotion,
    Terms,
    attach,
    no_terms,
    own_values,
    picked,
    rigid_terms,
    selection,
    still_motion,
    with_rotor,
)
from flexarm.model import LinkModel, Model, Rotor
from flexarm.spatial import Expr, constant


class KinematicInfluence(Formulation):
    """Equation of motion from Jacobians of link frames and generalised link inertias."""

    name: ClassVar[str] = "kinematic-influence"
    citation: ClassVar[str] = "Graves 1989, Dynamical modeling of serial manipulators"
    assumptions: ClassVar[str] = (
        "none beyond the model's own; with paper=True inertia is that of undeflected "
        "links, tips turn by I + skew(theta) with its transpose for inverse, and axial "
        "shortening is left out"
    )

    @classmethod
    def own_refusal(cls, model: Model, *, paper: bool) -> str | None:
        """Return the reason why this formulation cannot treat a model, or None if it can."""
        if not paper:
            return super().own_refusal(model, paper=False)
        for part in model.links:
            if part.coordinates and not part.carried_by:
                return (
                    "Graves's translational joint carries its whole link, and "
                    f"{part.joint_name} lets a flexible beam out of its hub. Make the joint "
                    "prismatic, or use paper=False."
                )
        return None

    @staticmethod
    def paper_model(model: Model) -> Model:
        """Return the model without axial shortening, which Graves 1989 neglects."""
        return unstiffened(model, "cayley")

    def mass_expression(self, q: Expr) -> Expr:
        """Build the expression of the mass matrix M(q), (n, n)."""
        matrix = ca.SX(self.model.size, self.model.size)
        for body in self._bodies(q, ca.SX(self.model.size, 1), lift=ca.SX(3, 1)):
            T: Expr = ca.diagcat(body.T, body.T, ca.SX.eye(len(body.own)))
            Pi = T @ body.inertia @ T.T  # (eq. 26)
            K = ca.vertcat(body.J, selection(body.own, self.model.size))  # (eq. 23: [0][I])
            matrix = matrix + ca.triu(K.T @ Pi @ K)  # (eq. 24)
        return ca.triu2symm(matrix)

    def inertial_expression(self, q: Expr, v: Expr, a: Expr | None, *, gravity: bool) -> Expr:
        """Build the expression of the generalised inertial force at accelerations a, (n,).

        If ``a`` is None, accelerations are 0. With ``gravity``, the gravity force is included.
        """
        lift = ca.SX(constant(-self.model.gravity)) if gravity else ca.SX(3, 1)
        result = ca.SX(self.model.size, 1)
        for body in self._bodies(q, v, lift=lift):
            load = body.load(a)
            result = result + body.J.T @ load[:6]  # (eq. 13)
            result = result + selection(body.own, self.model.size).T @ load[6:]  # (eq. 23)
        return result

    def inertial_wrenches(self, q: Expr, v: Expr, a: Expr) -> list[tuple[Expr, Expr, Expr]]:
        """Build the inertial and gravity wrenches of all bodies outboard of each joint.

        Each wrench is in world axes.
        """
        bodies = self._bodies(q, v, lift=ca.SX(constant(-self.model.gravity)))
        loads = [(body.link, body.point, body.load(a)) for body in bodies]
        wrenches = []
        for i, frame in enumerate(frames(self.model, q)):
            total: Expr = ca.SX(6, 1)
            for point, load in (entry[1:] for entry in loads if entry[0] >= i):
                lever = ca.cross(point - frame.p_WJ, load[:3])
                total += ca.vertcat(load[:3], load[3:6] + lever)
            wrenches.append((frame.p_WJ, total[:3], total[3:]))
        return wrenches

    def _bodies(self, q: Expr, v: Expr, *, lift: Expr) -> list["InfluenceBody"]:
        """Return all bodies from base to tip with their Jacobians and inertia terms.

        ``lift`` is the acceleration of the base, (3,).
        """
        key = (type(self), self.paper)
        return once(self.model, key, (q, v, lift), lambda: self._walk(q, v, lift))

    def _walk(self, q: Expr, v: Expr, lift: Expr) -> list["InfluenceBody"]:
        if self.paper:
            model = replace(self.model, tip_rotation="first-order")
            inertia_q: Expr = ca.SX(model.size, 1)  # eq. 25 (erratum): undeflected
        else:
            model, inertia_q = self.model, q
        walk = Walk(model, q, v, lift)
        bodies = [walk.base()] if model.base_moves else []
        for index, (part, frame) in enumerate(zip(model.links, frames(model, q), strict=True)):
            if part.rotor is not None:
                bodies.append(walk.rotor(part.rotor, index - 1))
            walk.cross_joint(part, frame)
            tip = frame.tip if inertia_q is q else tip_section(model, part, inertia_q)
            drift = walk.drift(part, frame.tip)
            terms = body_of(model, part).terms(inertia_q, v, walk.omega)
            if part.tip_body.weighs:
                rates = own_values(part, v)
                spin, speed = tip.angular @ rates, tip.linear @ rates
                motion = SectionMotion(tip, spin, speed, drift[3:], drift[:3])
                terms = attach(terms, part.tip_body, motion, walk.omega)
            bodies.append(walk.body(terms, part.own, index))
            walk.cross_link(part, frame, drift)
        return bodies


@dataclass(frozen=True)
class Rate:
    """Angular velocity of a frame, and its accelerations due to velocities alone, in world axes.

    ``a`` is the acceleration of the frame's origin and ``alpha`` the angular acceleration of the
    frame, (3,) each.
    """

    omega: Expr
    a: Expr
    alpha: Expr

    def across(self, r: Expr, v_rel: Expr, omega_rel: Expr, drift: Expr | None = None) -> "Rate":
        """Return angular velocity and accelerations of a frame that moves relative to this one.

        The moving frame is at position r. ``v_rel`` and ``omega_rel`` are its relative velocity and
        angular velocity, (3,) each, and ``drift`` is its relative acceleration at zero second
        derivatives of the coordinates, (6,).
        """
        relative = ca.cross(self.omega, r) + v_rel
        a = self.a + ca.cross(self.alpha, r)
        a = a + ca.cross(self.omega, relative) + ca.cross(self.omega, v_rel)  # (eq. 27)
        omega = self.omega + omega_rel
        alpha = self.alpha + ca.cross(self.omega, omega)  # (eq. 27)
        if drift is not None:
            a, alpha = a + drift[:3], alpha + drift[3:]
        return Rate(omega, a, alpha)


@dataclass(frozen=True)
class InfluenceBody:
    """Link, base or rotor: its frame with Jacobian and velocity, and its inertia terms.

    ``own`` are the indices of the coordinates, other than those of the frame's motion, on which the
    inertia depends. ``link`` is the index of the link that carries the body, -1 for the base.
    """

    T: Expr
    point: Expr
    J: Expr
    rate: Rate
    terms: Terms
    own: tuple[int, ...]
    link: int

    @property
    def inertia(self) -> Expr:
        """Inertia matrix of translation, rotation and the body's k coordinates, (6 + k, 6 + k)."""
        terms, lever = self.terms, ca.skew(self.terms.first)
        return ca.vertcat(
            ca.horzcat(terms.mass * ca.SX.eye(3), lever.T, terms.linear),  # (eqs. 25a-25c)
            ca.horzcat(lever, terms.second, terms.angular),  # (eqs. 25b, 25d, 25f)
            ca.horzcat(terms.linear.T, terms.angular.T, terms.modal),  # (eqs. 25c, 25f, 25g)
        )

    def load(self, a: Expr | None) -> Expr:
        """Return force, torque and generalised forces of inertia at accelerations a, (6 + k,).

        Force and torque are in world axes.
        """
        acceleration: Expr = ca.vertcat(self.rate.a, self.rate.alpha)
        own_accelerations: Expr = ca.SX(len(self.own), 1)
        if a is not None:
            acceleration = acceleration + self.J @ a  # (eq. 21)
            own_accelerations = selection(self.own, a.shape[0]) @ a
        rotations: Expr = ca.diagcat(self.T, self.T)
        acceleration = ca.vertcat(rotations.T @ acceleration, own_accelerations)  # (eq. 5)
        load = ca.vertcat(self.terms.force, self.terms.torque, self.terms.effort)
        load = self.inertia @ acceleration + load  # (eq. 20)
        return ca.vertcat(rotations @ load[:6], load[6:])


class Walk:
    """Pass along an arm from base to tip, with the current frame and its velocity as state.

    Attributes
    ----------
    frame
        The current frame with its Jacobian.
    rate
        Angular velocity of the current frame, and its accelerations due to velocities alone.
    """

    def __init__(self, model: Model, q: Expr, v: Expr, lift: Expr) -> None:
        self.model, self.q, self.v = model, q, v
        self.frame = MovingFrame.of_base(model, q)
        zeros = ca.SX(3, 1)
        self.rate = Rate(zeros, lift, zeros)
        for k in range(6 * model.base_moves):  # three translational, three rotational joints
            self.rate = self.rate.across(zeros, zeros, self.frame.J_R[:, k] * v[k])

    def jacobian(self) -> Expr:
        """Return the Jacobian of the current frame, (6, n): its influence coefficients."""
        return ca.vertcat(self.frame.J_T, self.frame.J_R)  # (eqs. 7-12)

    @property
    def omega(self) -> Expr:
        """Angular velocity of the current frame, in the axes of this frame, (3,)."""
        return self.frame.A.T @ self.rate.omega

    def body(self, terms: Terms, indices: tuple[int, ...], link: int) -> InfluenceBody:
        """Return a body with the given inertia terms whose frame is the current frame."""
        frame, jacobian = self.frame, self.jacobian()
        return InfluenceBody(frame.A, frame.r, jacobian, self.rate, terms, indices, link)

    def base(self) -> InfluenceBody:
        """Return the base as a body whose frame is the current frame."""
        return self.body(rigid_terms(self.model.base_body, self.omega, 0), (), -1)

    def rotor(self, rotor: Rotor, carrier: int) -> InfluenceBody:
        """Return a rotor on the previous link's tip, as a body that one coordinate spins."""
        speed, still = self.v[rotor.coordinate], still_motion()
        terms = with_rotor(no_terms(ca.SX(0, 1)), rotor, still, speed, self.omega)
        return self.body(terms, (rotor.coordinate,), carrier)

    def cross_joint(self, part: LinkModel, frame: LinkFrames) -> None:
        """Advance the current frame across a joint: from the previous tip to a link's root."""
        zeros = ca.SX(3, 1)
        self.rate = self.rate.across(frame.p_WJ - self.frame.r, zeros, zeros)
        coordinates, rates = picked(self.q, part.carried_by), picked(self.v, part.carried_by)
        rotations: Expr = ca.diagcat(frame.R_WK, frame.R_WK)
        S = rotations @ part.motion.columns(coordinates)
        relative, drift = S @ rates, rotations @ part.motion.bias(coordinates, rates)
        drift = ca.vertcat(drift[3:], drift[:3])
        self.rate = self.rate.across(frame.p_WK - frame.p_WJ, relative[3:], relative[:3], drift)
        self.rate = self.rate.across(frame.p_WL - frame.p_WK, zeros, zeros)
        self.frame = self.frame.through_joint(part, self.q)  # (eqs. 4, 6, 8, 9)

    def drift(self, part: LinkModel, tip: Local) -> Expr:
        """Return the acceleration (6,) of a link's tip in L at zero acceleration of amplitudes."""
        indices = part.own
        if not indices or not self.v.nnz():
            return ca.SX(6, 1)
        velocity = ca.vertcat(tip.linear, tip.angular) @ own_values(part, self.v)
        return ca.sparsify(ca.jtimes(velocity, self.q, self.v))

    def cross_link(self, part: LinkModel, frame: LinkFrames, drift: Expr) -> None:
        """Advance the current frame from a link's root to its deflected tip."""
        rotations: Expr = ca.diagcat(self.frame.A, self.frame.A)
        psi = rotations @ ca.vertcat(frame.tip.linear, frame.tip.angular)
        relative = psi @ own_values(part, self.v)
        r = frame.p_WT - frame.p_WL
        self.rate = self.rate.across(r, relative[:3], relative[3:], rotations @ drift)
        self.frame = self.frame.through(frame.tip, part.own)  # (eqs. 4, 6, 10)
