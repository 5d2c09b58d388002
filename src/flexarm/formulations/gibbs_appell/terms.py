"""Inertia integrals of a link in the acceleration energy of the Gibbs-Appell formulation.

Part of `gibbs_appell`, which has the table of symbols: eqs. 14-42 (erratum: tildes are lost in
15-22). The paper's links are beams whose points move linearly with the amplitudes. All other
features of a link (axial shortening, rigid bodies on sections, rotary inertia, rotors, a beam that
slides out of its hub) are expressed in the same symbols, with the shape columns at the current
deflection, ``r_ij -> dr/d delta_ij``.
"""

from dataclasses import dataclass, fields, replace
from typing import Any

import casadi as ca
import numpy as np

from flexarm.links.integrals import Integrals
from flexarm.spatial import Array, Expr, Scalar, constant

_LEVI_CIVITA = np.array([[np.cross(b, c) for c in np.eye(3)] for b in np.eye(3)]).transpose(2, 0, 1)


@dataclass(frozen=True)
class Constants:
    """Constant inertia integrals of a link's shapes (eqs. 34-42), with m amplitudes."""

    M: Expr  # mass
    Mr: Expr  # first moment of the undeformed link ``M r_r``, (3,) (eq. 36)
    eps: Expr  # ``eps_ij``, (3, m) (eqs. 34, 35)
    sc: Expr  # ``sc_ijk``, (m, m) (eq. 37)
    c_jk: Expr  # vectors ``c_ijk``, rows ``3 j`` to ``3 j + 2`` of column k, (3 m, m) (eq. 38)
    c_j: Expr  # vectors ``c_ij``, (3, m) (eq. 39)
    C_j: tuple[Expr, ...]  # m matrices ``c_ij``, (3, 3) each (eq. 40)
    # Matrices ``mc_ijk``, rows ``9 j`` to ``9 j + 8`` of column k, (9 m, m) (eq. 41).
    mC: Expr
    C: Expr  # ``c_i``, (3, 3) (eq. 42)


@dataclass(frozen=True)
class AccelerationEnergy:
    """Coefficients of a link's acceleration energy (eq. 13) at its deflection and rates.

    The link has m deflection variables.
    """

    M: Scalar  # mass
    B2: Expr  # (3, 3) (eq. 24)
    B3: Expr  # (3, 3) (eq. 25)
    B8: Expr  # (3, 3) (eq. 30)
    B9: Expr  # (3, 3) (eq. 31)
    eps: Expr  # ``eps_ij``, (3, m) (eq. 34)
    alpha: Expr  # ``alpha_ij``, (3, m) (eq. 32)
    beta: tuple[Expr, ...]  # ``beta_ij``, (3, 3) each (eq. 33)
    sc: Expr  # ``sc_ijk``, (m, m) (eq. 37)
    c: Expr  # ``sum_k delta'_ik c_ijk``, (3, m) (eqs. 44, 102)
    # Not in the paper, whose points move linearly with the amplitudes: angular momentum of sections
    # and rotors relative to the link, (3,); force (3,), torque (3,) and efforts (m,) that are
    # quadratic in the rates.
    h: Expr
    s: Expr
    t: Expr
    w: Expr

    def __add__(self, other: "AccelerationEnergy") -> "AccelerationEnergy":
        """Return the sum of the coefficients of two parts of one link."""
        own_terms, other_terms = (
            [getattr(body, f.name) for f in fields(AccelerationEnergy)] for body in (self, other)
        )
        sums: list[Any] = [
            tuple(x + y for x, y in zip(a, b, strict=True)) if isinstance(a, tuple) else a + b
            for a, b in zip(own_terms, other_terms, strict=True)
        ]
        return AccelerationEnergy(*sums)


def tilde(a: Expr) -> Expr:
    """Return the matrix a~ with a~ b = a x b, (3, 3); its diagonal is structurally zero."""
    return ca.sparsify(ca.skew(a))


def link_constants(i: Integrals) -> Constants:
    """Convert the inertia integrals of a flexible span to the paper's symbols (eqs. 34-42)."""
    m = i.shape.shape[1]

    def crossed(moment: Array) -> Array:
        trace = np.asarray(np.trace(moment, axis1=-2, axis2=-1))[..., None, None]
        return np.asarray(trace * np.eye(3) - np.swapaxes(moment, -1, -2))

    def axial_vector(moment: Array) -> Array:
        return np.asarray(np.einsum("abc,...bc->...a", _LEVI_CIVITA, moment))

    pairs = crossed(i.shape_shape.swapaxes(0, 1))  # mc_ikj at [j, k]
    return Constants(
        M=ca.SX(i.mass),
        Mr=ca.SX(constant(i.first)),  # (eq. 36)
        eps=ca.SX(constant(i.shape)),  # (eq. 34)
        sc=ca.SX(constant(i.modal_mass)),  # (eq. 37)
        # (eq. 38).
        c_jk=ca.SX(constant(axial_vector(i.shape_shape).swapaxes(1, 2).reshape(3 * m, m))),
        c_j=ca.SX(constant(axial_vector(i.position_shape).T)),  # (eq. 39)
        C_j=tuple(ca.SX(constant(p)) for p in crossed(i.position_shape)),  # (eq. 40)
        mC=ca.SX(constant(pairs.transpose(0, 3, 2, 1).reshape(9 * m, m))),  # (eq. 41)
        C=ca.SX(constant(crossed(i.second))),  # (eq. 42)
    )


def beam(k: Constants, delta: Expr, rate: Expr, *, delta_squared: bool) -> AccelerationEnergy:
    """Return the acceleration energy of a link with points linear in amplitudes (eqs. 23-33).

    Parameters
    ----------
    k
        The link's constants.
    delta, rate
        Amplitudes and their rates, (m,) each.
    delta_squared
        Keep the term of B9 that is of second order in the amplitudes, which the paper proposes to
        leave out.
    """
    m = delta.shape[0]
    eps_rate = k.eps @ rate
    second_order = ca.reshape(k.mC @ delta, 9, m)
    beta = tuple(k.C_j[j] + ca.reshape(second_order[:, j], 3, 3) for j in range(m))  # (eq. 33)
    # c_ikj = -c_ijk
    alpha = k.c_j - ca.reshape(k.c_jk @ delta, 3, m)  # (eq. 32)
    B3 = tilde(k.Mr + k.eps @ delta)  # (eq. 25)
    B8, B9 = ca.SX(3, 3), k.C
    for j in range(m):
        B8 = B8 + rate[j] * beta[j]  # (eq. 30)
        B9 = B9 + delta[j] * (k.C_j[j].T + (beta[j] if delta_squared else k.C_j[j]))  # (eq. 31)
    return AccelerationEnergy(
        M=k.M,
        B2=tilde(eps_rate),  # (eq. 24)
        B3=B3,
        B8=B8,
        B9=B9,
        eps=k.eps,
        alpha=alpha,
        beta=beta,
        sc=k.sc,
        c=ca.reshape(k.c_jk @ rate, 3, m),  # (eq. 102)
        h=ca.SX(3, 1),
        s=ca.SX(3, 1),
        t=ca.SX(3, 1),
        w=ca.SX(m, 1),
    )


def nothing(m: int) -> AccelerationEnergy:
    """Return the acceleration energy of a massless link with m deflection variables: zeros."""
    vector, matrix, columns = ca.SX(3, 1), ca.SX(3, 3), ca.SX(3, m)
    return AccelerationEnergy(
        M=ca.SX(0), B2=matrix, B3=matrix, B8=matrix, B9=matrix, eps=columns, alpha=columns,
        beta=tuple(matrix for _ in range(m)), sc=ca.SX(m, m), c=columns, h=vector, s=vector,
        t=vector, w=ca.SX(m, 1),
    )  # fmt: skip


def widened(body: AccelerationEnergy, added: int) -> AccelerationEnergy:
    """Return an acceleration energy with zeros added for variables that do not move the link."""
    if not added:
        return body
    eps, alpha, c = (ca.horzcat(x, ca.SX(3, added)) for x in (body.eps, body.alpha, body.c))
    return replace(
        body, eps=eps, alpha=alpha, c=c, beta=(*body.beta, *[ca.SX(3, 3)] * added),
        sc=ca.diagcat(body.sc, ca.SX(added, added)), w=ca.vertcat(body.w, ca.SX(added, 1)),
    )  # fmt: skip


def shifted(body: AccelerationEnergy, offset: Expr) -> AccelerationEnergy:
    """Return an acceleration energy about a new origin O; ``place`` points from O to the old."""
    cross_transpose = tilde(offset).T
    return replace(
        body,
        B3=body.B3 + body.M * tilde(offset),
        B8=body.B8 + cross_transpose @ body.B2,
        B9=body.B9
        + cross_transpose @ body.B3
        + body.B3.T @ cross_transpose.T
        + body.M * cross_transpose @ cross_transpose.T,
        alpha=body.alpha + tilde(offset) @ body.eps,
        beta=tuple(b + cross_transpose @ tilde(body.eps[:, j]) for j, b in enumerate(body.beta)),
        t=body.t + tilde(offset) @ body.s,
    )
