"""Gibbs-Appell equations of motion (Korayem & Shafei 2009).

The equations are derivatives of the acceleration energy with respect to the accelerations.
Coefficients of the accelerations are recursive sums of 3 x 3 matrices over the links. The module
``steps`` contains steps 1 to 10 of the paper, ``chain`` the paper's integrals and the extensions
beyond the paper.

paper symbol | eq. | code name
--------------------------|------------|---------------------------------------------------
delta_if, r_if, theta_if | 2, 8 | ``link.variables``, ``link.r_f``, ``link.theta_f`` i-1R_i = E A |
4, 5, 6 | ``R[i]`` in steps 1-6, ``R[j][k]`` (jR_k) from 7 on B1-B9 | 14-31 | ``body.B2``, ...; B1 =
eps delta'', B6 = alpha delta'' alpha_ij, beta_ij | 32, 33 | ``body.alpha``, ``body.beta`` eps, sc,
c of a link | 34-42 | `Constants`, ``body.eps``, ``body.sc``, ``body.c`` r_{O(i+1)/Oi}, its rate |
60, 61 | ``link.r``, ``link.r_d`` omega_i, omega'_i, r''_Oi | 63, 65, 59 | ``omega``, ``omega_d``,
``r_dd`` z_i, theta'_i | 63, 64 | ``link.hinge.z``, ``link.theta_d`` jr_{Oi/Oj} | 73 | ``r[j][i]``
sigma, psi, U, gamma | 76-79 | `Sums.sigma`, ..., ``[j][k]`` xi_k+; lambda, V | 80; 93, 88 |
`Sums.xi_k`; `Sums.lamda`, `Sums.V` X_k+, j+X_k+ | 80-92 | ``X_k``, ``X_jk`` of `Sums` I, Re | 94 |
mass matrix, less the inertial force S_i, T_i, Q_jf | 96-97, 102 | ``S``, ``T``, ``Q`` chi_j, phi_j
| 99, 100 | ``chi``, ``phi``

The base is link 0; a massless link before it represents the motion of a base that moves.
"""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import casadi as ca

from flexarm.engine.once import once
from flexarm.errors import FlexarmError
from flexarm.formulations.base import Formulation, unstiffened
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
from flexarm.formulations.paper_arms import paper_refusal
from flexarm.mechanics.kinematics import frames
from flexarm.model import Model
from flexarm.spatial import Expr, constant

PAPER = "Korayem & Shafei 2009"
LACKING = (
    "joint", "hub", "rotor", "offset", "tip body", "rotary inertia", "stretch", "quadratic shapes",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class GibbsAppell(Formulation):
    """Gibbs-Appell equations of a chain of links, by recursion.

    Parameters
    ----------
    model, paper
        As for every formulation.
    delta_squared
        Whether to keep the term of B9 of second order in the amplitudes. Only with ``paper`` it may
        be omitted, as Korayem & Shafei propose after their equation 42.
    """

    name: ClassVar[str] = "gibbs-appell"
    citation: ClassVar[str] = f"{PAPER}, Scientia Iranica B 16, 479-495"
    assumptions: ClassVar[str] = (
        "none beyond the model's own; with the paper's approximations the rates of the tip's"
        " angles are taken as its angular velocity (eq. 63) and points move linearly (eq. 2)"
    )

    delta_squared: bool = True

    def __post_init__(self) -> None:
        """Raise an error for options or arms that the paper does not cover."""
        if not self.paper and not self.delta_squared:
            raise FlexarmError(
                "gibbs-appell: delta_squared=False leaves out a term of the equations, as the "
                "approximations of the paper do. Set paper=True too."
            )
        reason = paper_refusal(self.model, PAPER, LACKING) if self.paper else None
        if reason is not None:
            raise FlexarmError(f"formulation 'gibbs-appell' cannot be used for this arm: {reason}")
        Formulation.__post_init__(self)

    @staticmethod
    def paper_model(model: Model) -> Model:
        """Return the model without axial shortening, which Korayem & Shafei neglect."""
        return unstiffened(model, model.tip_rotation)

    @classmethod
    def own_refusal(cls, model: Model, *, paper: bool) -> str | None:
        """Return the reason why this formulation cannot treat a model, or None if it can."""
        if paper:
            return paper_refusal(model, PAPER, LACKING)
        return super().own_refusal(model, paper=False)

    def mass_expression(self, q: Expr) -> Expr:
        """Build the inertia matrix I(Theta) of eq. 94, (n, n), by steps 1 and 7-10."""
        links = self._links(q, ca.SX(self.model.size, 1))
        R = compound_rotations(rotations(links))
        r = positions(links, R)
        return inertia_matrix(links, R, r, sums(links, R, r), self.model.size)

    def inertial_expression(self, q: Expr, v: Expr, a: Expr | None, *, gravity: bool) -> Expr:
        """Build the inertial and gravity force, (n,), by steps 1-6 (eqs. 43, 44)."""
        links = self._links(q, v)
        R = rotations(links)
        S, T, Q = self._forces(links, R, v, a, gravity=gravity)
        phi, chi = gathered_forces(links, R, S, T)
        return generalised_forces(links, R, phi, chi, Q, self.model.size)

    def inertial_wrenches(self, q: Expr, v: Expr, a: Expr) -> list[tuple[Expr, Expr, Expr]]:
        """Build the inertial and gravity wrenches of all bodies outboard of each joint.

        Each wrench is in world axes.
        """
        links, link_frames = self._links(q, v), frames(self.model, q)
        R, first = rotations(links), len(links) - len(link_frames)
        S, T, _ = self._forces(links, R, v, a, gravity=True)
        phi, chi = gathered_forces(links, R, S, T)
        wrenches = []
        for frame, link, s, p, c in zip(
            link_frames, links[first:], S[first:], phi[first:], chi[first:], strict=True
        ):
            point = frame.p_WL if link.hinge is None else frame.p_WJ  # O, where the torque acts
            wrenches.append((point, frame.R_WL @ (s + p), frame.R_WL @ c))
        return wrenches

    def _links(self, q: Expr, v: Expr) -> list[ChainLink]:
        build_chain = (
            partial(paper_chain, delta_squared=self.delta_squared) if self.paper else exact_chain
        )
        key = (type(self), self.options())
        return once(self.model, key, (q, v), lambda: build_chain(self.model, q, v))

    def _forces(
        self, links: list[ChainLink], R: list[Expr], v: Expr, a: Expr | None, *, gravity: bool
    ) -> tuple[list[Expr], list[Expr], list[Expr]]:
        lift = ca.SX(constant(-self.model.gravity)) if gravity else ca.SX(3, 1)
        if not self.model.base_moves:
            lift = self.model.base_reference.T @ lift
        omega, omega_d, r_dd = motions(links, R, v, a, lift)
        S, T = link_forces(links, omega, omega_d, r_dd, a)
        return S, T, deflection_forces(links, omega, omega_d, r_dd, a)
