"""Gibbs-Appell equations (Korayem & Shafei 2009).

The acceleration energy is differentiated with respect to the accelerations; their coefficients are
recursive sums of 3 x 3 matrices over the links. The paper's steps 1-10 are in
`flexarm.formulations.gibbs_appell.steps`, its integrals in ``gibbs_appell_terms``, what it does not
have in ``gibbs_appell_chain`` and ``gibbs_appell_bodies``.

paper symbol              | eq.        | code name
--------------------------|------------|---------------------------------------------------
delta_if, r_if, theta_if  | 2, 8       | ``link.variables``, ``link.r_f``, ``link.theta_f``
i-1R_i = E A              | 4, 5, 6    | ``R[i]`` in steps 1-6, ``R[j][k]`` (jR_k) from 7 on
B1-B9                     | 14-31      | ``body.B2``, ...; B1 = eps delta'', B6 = alpha delta''
alpha_ij, beta_ij         | 32, 33     | ``body.alpha``, ``body.beta``
eps, sc, c of a link      | 34-42      | `Constants`, ``body.eps``, ``body.sc``, ``body.c``
r_{O(i+1)/Oi}, its rate   | 60, 61     | ``link.r``, ``link.r_d``
omega_i, omega'_i, r''_Oi | 63, 65, 59 | ``omega``, ``omega_d``, ``r_dd``
z_i, theta'_i             | 63, 64     | ``link.hinge.z``, ``link.theta_d``
jr_{Oi/Oj}                | 73         | ``r[j][i]``
sigma, psi, U, gamma      | 76-79      | `Sums.sigma`, ..., ``[j][k]``
xi_k+; lambda, V          | 80; 93, 88 | `Sums.xi_k`; `Sums.lamda`, `Sums.V`
X_k+, j+X_k+              | 80-92      | ``X_k``, ``X_jk`` of `Sums`
I, Re                     | 94         | mass matrix, less the inertial force
S_i, T_i, Q_jf            | 96-97, 102 | ``S``, ``T``, ``Q``
chi_j, phi_j              | 99, 100    | ``chi``, ``phi``

Links count from 0, the base; a base that moves has one more before it.
"""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import casadi as ca
import numpy as np

from flexarm.engine.once import once
from flexarm.errors import FlexarmError
from flexarm.formulations.base import Formulation, recursions_only, unstiffened
from flexarm.formulations.gibbs_appell.chain import ChainLink, exact_chain, paper_chain
from flexarm.formulations.gibbs_appell.steps import (
    compound_rotations,
    deflection_forces,
    gathered_forces,
    generalised_forces,
    inertia_matrix,
    link_forces,
    motions,
    positions,
    rotations,
    sums,
)
from flexarm.mechanics.kinematics import frames
from flexarm.mechanics.loads import outer_loads
from flexarm.model import LinkModel, Model
from flexarm.spatial import Expr, constant


@dataclass(frozen=True, eq=False)
class GibbsAppell(Formulation):
    """Gibbs-Appell equations of a chain of links, recursively.

    Parameters
    ----------
    model, paper
        As for every formulation.
    delta_squared
        Keep the term of B9 that is of second order in the amplitudes; only with the paper's
        approximations can it be left out, as the paper proposes after eq. 42.
    """

    name: ClassVar[str] = "gibbs-appell"
    citation: ClassVar[str] = "Korayem & Shafei 2009, Scientia Iranica B 16, 479-495"
    assumptions: ClassVar[str] = (
        "none beyond the model's own; with the paper's approximations the rates of the tip's"
        " angles are taken as its angular velocity (eq. 63) and points move linearly (eq. 2)"
    )

    delta_squared: bool = True

    def __post_init__(self) -> None:
        """Raise an error for options that the paper does not cover."""
        if not self.paper and not self.delta_squared:
            raise FlexarmError(
                "gibbs-appell: delta_squared=False leaves a term of the equations out, "
                "which belongs to the paper's approximations. Set paper=True."
            )
        reason = _paper_lacks(self.model) if self.paper else None
        if reason is not None:
            raise FlexarmError(f"formulation 'gibbs-appell' refuses this: {reason}")
        Formulation.__post_init__(self)

    @staticmethod
    def paper_model(model: Model) -> Model:
        """Return the model without axial shortening, which the paper does not have."""
        return unstiffened(model, model.tip_rotation)

    @classmethod
    def refusal(cls, model: Model, *, paper: bool) -> str | None:
        """Return why the formulation cannot treat a model, or None if it can."""
        if (reason := recursions_only(model)) is not None:
            return reason
        return _paper_lacks(model) if paper else Formulation.refusal(model, paper=False)

    def mass_expression(self, q: Expr) -> Expr:
        """Form the inertia matrix I(Theta) of eq. 94 by steps 1 and 7-10, (n, n)."""
        links = self._links(q, ca.SX(self.model.size, 1))
        R = compound_rotations(rotations(links))
        r = positions(links, R)
        return inertia_matrix(links, R, r, sums(links, R, r), self.model.size)

    def inertial_expression(self, q: Expr, v: Expr, a: Expr | None, *, gravity: bool) -> Expr:
        """Differentiate the acceleration energy by the accelerations (eqs. 43, 44), (n,)."""
        links = self._links(q, v)
        R = rotations(links)
        S, T, Q = self._forces(links, R, v, a, gravity=gravity)
        phi, chi = gathered_forces(links, R, S, T)
        return generalised_forces(links, R, phi, chi, Q, self.model.size)

    def joint_wrench_expression(self, q: Expr, v: Expr, a: Expr, factors: Expr) -> Expr:
        """Trace the wrench that each joint transmits to its link, force over torque, (6, links)."""
        links = self._links(q, v)
        R = rotations(links)
        S, T, _ = self._forces(links, R, v, a, gravity=True)
        phi, chi = gathered_forces(links, R, S, T)
        placed = frames(self.model, q)
        loads = outer_loads(self.model, q, v, placed, factors)
        result, first = ca.SX(6, len(placed)), len(links) - len(placed)
        for i, frame in enumerate(placed):
            force = frame.R_WL @ (S[first + i] + phi[first + i])
            torque = frame.R_WL @ chi[first + i]
            if links[first + i].hinge is None:  # O is L then, and on the joint's axis otherwise
                torque = torque + ca.cross(frame.p_WL - frame.p_WJ, force)
            for index, point, pull, twist in loads:
                if index >= i:
                    force = force - pull
                    torque = torque - twist - ca.cross(point - frame.p_WJ, pull)
            result[:3, i], result[3:, i] = force, torque
        return result

    def _links(self, q: Expr, v: Expr) -> list[ChainLink]:
        make = partial(paper_chain, delta_squared=self.delta_squared) if self.paper else exact_chain
        what = (type(self), self.options())
        return once(self.model, what, (q, v), lambda: make(self.model, q, v))

    def _forces(
        self, links: list[ChainLink], R: list[Expr], v: Expr, a: Expr | None, *, gravity: bool
    ) -> tuple[list[Expr], list[Expr], list[Expr]]:
        lift = ca.SX(constant(-self.model.gravity)) if gravity else ca.SX(3, 1)
        if not self.model.base_moves:
            lift = self.model.base_anchor.T @ lift
        omega, omega_d, r_dd = motions(links, R, v, a, lift)
        S, T = link_forces(links, omega, omega_d, r_dd, a)
        return S, T, deflection_forces(links, omega, omega_d, r_dd, a)


def _paper_lacks(model: Model) -> str | None:
    """Return a property of the arm that the paper does not cover, or None."""
    if model.base_moves:
        return _reason("a base that moves", "fix the base")
    for i, part in enumerate(model.links):
        found = _joint_lacks(part, first=i == 0) or _link_lacks(part)
        if found is not None:
            return found
    return None


def _joint_lacks(part: LinkModel, *, first: bool) -> str | None:
    name, hub = part.joint_name, part.link.joint.hub
    if not part.motion.hinge:
        return _reason(f"{name}, a {part.kind} joint", "use revolute joints")
    if hub.inboard is not None or hub.outboard is not None:
        return _reason(f"{name}'s hub", "leave out the hub's bodies")
    if part.rotor is not None:
        return _reason(f"{name}'s rotor", "leave out the drive")
    offset = np.any(part.pose_JL.position) or (not first and np.any(part.pose_FJ.position))
    if offset:
        return _reason(
            f"{name}'s offset",
            "let each link begin on its joint's axis, at the tip before (eq. 60)",
        )
    return None


def _link_lacks(part: LinkModel) -> str | None:
    name = part.name
    if part.tip_body.weighs:
        return _reason(f"a body at the tip of {name} (payload, hub or tip piece)", "take it out")
    if not part.flexible:
        return None
    e = part.beam
    if np.any(e.integrals.rotary):
        return _reason(f"rotary inertia of {name}'s sections", "leave out Jx, Jy, Jz")
    if np.any(e.tip_shape[0]) or np.any(e.points.shape[:, 0]):
        return _reason(f"stretch of {name}", "ask for no stretch, whose energy eq. 48 leaves out")
    if part.link.quadratic_shapes:
        return _reason(f"quadratic shapes of {name}", "take them out")
    return None


def _reason(what: str, remedy: str) -> str:
    return f"Korayem & Shafei 2009 do not have {what}: {remedy}, or set paper=False"
