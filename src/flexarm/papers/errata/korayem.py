"""Korayem & Shafei 2009: the ten steps as printed, run beside the corrected ones."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial

import casadi as ca
import numpy as np

from flexarm.formulations.gibbs_appell.chain import Link, paper_chain
from flexarm.formulations.gibbs_appell.steps import (
    Sums,
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
from flexarm.formulations.gibbs_appell.terms import tilde
from flexarm.links.base import Array
from flexarm.model import Model, build
from flexarm.papers.errata.base import STATES, Erratum, wrong_by
from flexarm.papers.korayem.counts import TABLE_1, korayem_shafei
from flexarm.papers.korayem.reasons import printed_step_10
from flexarm.papers.runs import changed
from flexarm.spatial import Expr

PAPER, STEPS = "korayem-2009", "formulations/gibbs_appell/steps.py"
Change = Callable[[list[Link], list[list[Expr]], Sums], Sums]
DEFLECTION = 0.05  # [m] of the amplitudes, as large as their rates are in m/s


@cache
def _model() -> Model:
    """Make the spatial arm of three links, two modes each."""
    bends = {"kind": "clamped-free", "bending_y": 1, "bending_z": 1}
    section = {"mass_per_length": 5.0, "EIy": 1000.0, "EIz": 1000.0}
    values = {"links.1.rigid": False, "links.1.shapes": bends, "links.1.section": section}
    return build(changed("count-3-2-2", values), stiffening=False)


def _states() -> list[tuple[Expr, Expr]]:
    rng = np.random.default_rng(2)
    model, found = _model(), []
    small = np.array([DEFLECTION if "." in name else 1.0 for name in model.names])
    for _ in range(STATES):
        q, v = rng.uniform(-1, 1, (2, model.size))
        found.append((ca.SX(small * q), ca.SX(v)))
    return found


def _number(expression: Expr) -> Array:
    return np.asarray(ca.DM(expression), dtype=float)


def _inertia(change: Change) -> str:
    """Say how wrong M is with sums that are changed."""
    pairs = []
    for q, v in _states():
        links = paper_chain(_model(), q, v, delta_squared=True)
        R = compound_rotations(rotations(links))
        r = positions(links, R)
        s = sums(links, R, r)
        bad, good = (
            inertia_matrix(links, R, r, x, _model().size) for x in (change(links, R, s), s)
        )
        pairs.append((_number(bad), _number(good)))
    return wrong_by(pairs, "M")


def _step_10(links: list[Link], R: list[list[Expr]], s: Sums) -> Sums:
    return replace(s, sigma_jk=s.sigma_k, psi_jk=s.psi_k, U_jk=s.U_k, gamma_j=s.gamma,
                   xi_jk=s.xi_k)  # fmt: skip


def _eq_86(links: list[Link], R: list[list[Expr]], s: Sums) -> Sums:
    thin = [replace(link, body=replace(link.body, B9=link.body.B3)) for link in links]
    return replace(s, sigma_jk=sums(thin, R, positions(thin, R)).sigma_jk)


def _step_9(links: list[Link], R: list[list[Expr]], s: Sums) -> Sums:
    n = len(links)
    U = [[ca.SX(3, 3) for _ in range(n)] for _ in range(n)]
    for j in range(n):
        for k in range(n - 2, -1, -1):
            xi = s.xi[j][n - 2 if k == n - 2 else k + 1]  # the base case has xi_n-1
            U[j][k] = (s.gamma[j][k] + xi) @ tilde(links[k].r)
            U[j][k] += U[j][k + 1] @ R[k + 1][k]
    U_k = [[U[j][k + 1] @ R[k + 1][k] for k in range(n - 1)] for j in range(n)]
    U_jk = [[R[j][j + 1] @ x for x in U_k[j + 1]] for j in range(n - 1)]
    return replace(s, U=U, U_k=U_k, U_jk=U_jk)


def _forces(kind: str) -> str:
    """Say how wrong the nonlinear forces are with a term as printed."""
    pairs = []
    for q, v in _states():
        bad, good = (_number(_nonlinear(q, v, which)) for which in (kind, ""))
        pairs.append((bad, good))
    return wrong_by(pairs, "Re")


def _nonlinear(q: Expr, v: Expr, printed: str) -> Expr:
    """Evaluate steps 1 to 6 without gravity, one of them as printed."""
    links = paper_chain(_model(), q, v, delta_squared=True)
    R, size, none = rotations(links), _model().size, ca.SX(3, 1)
    omega = motions(links, R, v, None, none)[0]
    if printed == "step 2":  # omega x theta' is left out
        links = [
            replace(link, theta_v=link.theta_v - tilde(w) @ link.theta_d)
            for link, w in zip(links, omega, strict=True)
        ]
    moved = motions(links, R, v, None, none)
    S, T = link_forces(links, *moved, None)
    if printed == "eq. 102":  # deflections where their rates belong
        still = ca.vertcat(*[q[k] if "." in x else v[k] for k, x in enumerate(_model().names)])
        rates = [link.body.c for link in paper_chain(_model(), q, still, delta_squared=True)]
        links = [
            replace(link, body=replace(link.body, c=c))
            for link, c in zip(links, rates, strict=True)
        ]
    Q = deflection_forces(links, *moved, None)
    phi, chi = gathered_forces(links, R, S, T)
    right = generalised_forces(links, R, phi, chi, Q, size)
    if printed != "eq. 44":
        return right
    turned = [t - 2 * tilde(w) @ (link.body.B9 @ w)
              for t, w, link in zip(T, omega, links, strict=True)]  # fmt: skip
    other = generalised_forces(links, R, phi, gathered_forces(links, R, S, turned)[1], Q, size)
    return ca.vertcat(
        *[other[k] if "." in name else right[k] for k, name in enumerate(_model().names)]
    )


def _transposed() -> str:
    """Say how far the transpose of 1 + skew is from its inverse."""
    E = np.eye(3) + 0.1 * np.array([[0, -1, 0], [1, 0, 0], [0, 0, 0]])
    off = np.abs(E.T @ E - np.eye(3)).max()
    return f"E^T E differs from 1 by {100 * off:.2g} % at 0.1 rad, as the square of the angle"


def _interchanged() -> str:
    """Count the terms of the double sum, as it is and as printed, for three links."""
    n = len(_model().links)
    whole = sum(i for i in range(1, n + 1))
    printed = sum(n - max(k + 1, 1) + 1 for k in range(1, n))
    return f"for {n} links and j = 1 it has {whole} terms, {printed} as printed: those of the third"


def _column() -> str:
    two, three = (korayem_shafei(6, 6, m) for m in (2, 3))
    return (
        f"for m = 2 the formulas give the printed {two[0]:.0f} M, {two[1]:.0f} A, for m = 3 "
        f"{three[0]:.0f} M, {three[1]:.0f} A"
    )


def _lines() -> str:
    lines, table, one = printed_step_10(2, 2), TABLE_1[10](2, 2, 2), korayem_shafei(1, 1, 1)[1]
    return (
        f"for n = n_f = m = 2 the lines add up to {lines[0]:.0f} M, {lines[1]:.0f} A, Table 1 has "
        f"{table[0]:.0f} M, {table[1]:.0f} A; for one link with one mode it has "
        f"{TABLE_1[10](1, 1, 1)[1]:.0f} sums, and Table 2 {one:.0f} in all"
    )


_LOST = "read by the text around it; nothing to run"


def _sums() -> str:
    products, sums = korayem_shafei(3, 2, 2)
    return f"the formulas give {products:g} products and {sums:g} sums"


ERRATA = (
    Erratum(PAPER, "eq. 13", "-2 omega'^T B5", "-2 omega^T B5", "re-derived: r'' . (2 omega x r')"),
    Erratum(PAPER, "eqs. 15, 16, 18-22", "plain vectors; B3 = int mu r''; 20-22 all the same",
            "skew matrices: B2 = int mu r'~, B3 = int mu r~, B5 = int mu r''~ r', B6 = int mu r~ "
            "r'', B7 = int mu r~^T r''~, B8 = int mu r~^T r'~, B9 = int mu r~^T r~", _LOST,
            "formulations/gibbs_appell/terms.py"),
    Erratum(PAPER, "eqs. 26, 27, 36-39", "d''_ij d_ik sC; tildes everywhere",
            "d''_ij d''_ik sc_ijk; 36 a matrix, 37 a scalar, 38 and 39 vectors", _LOST),
    Erratum(PAPER, "eq. 44", "- omega~ B9 omega in the second sum", "+ omega~ B9 omega",
            partial(_forces, "eq. 44"), STEPS),
    Erratum(PAPER, "eqs. 43, 44", "omega' where B2, B3, B8, B9, beta and c multiply velocities",
            "omega in all of these; omega'_j^T alpha_jf is right",
            "not of the dimension of a force"),
    Erratum(PAPER, "eqs. 46, 47", "sum dy_ij/d eta",
            "sum delta_ij dy_ij/d eta; eq. 47 likewise",
            "the amplitudes are missing: nothing to run"),
    Erratum(PAPER, "eq. 68", "iR_k omega''_k in the first sum", "iR_k z_k q''_k",
            "omega'_i would be made of itself, and no acceleration of a joint be in it"),
    Erratum(PAPER, "eq. 69", "no term with omega'_v,k", "+ iR_k (omega'_v,k x r_k)",
            "it has no second derivative either; step 2 has it"),
    Erratum(PAPER, "first interchange of sums, i from j, k to i",
            "sum over k to n - 1, i from max(k + 1, j)", "sum over k to n, i from max(k, j)",
            _interchanged),
    Erratum(PAPER, "eq. 70, step 2", "omega x theta' of eq. 65 left out", "it is part of omega'_v",
            partial(_forces, "step 2"), STEPS),
    Erratum(PAPER, "eqs. 81, 85", "delta_kt; sc_jft outside",
            "delta''_kt multiplies all; sc_jft for k = j", _LOST, STEPS),
    Erratum(PAPER, "eq. 86", "j+sigma_k+ with B3", "with B9", partial(_inertia, _eq_86), STEPS),
    Erratum(PAPER, "step 8", "for j = 2:1:n-1; j = i-1:-1:1", "for i = 2:1:n-1; j = i-1:-1:1",
            "j is given twice, i never"),
    Erratum(PAPER, "step 9, U", "gamma_k + xi_k+1; gamma_n-1 + xi_n-1 to begin with",
            "gamma_k + xi_k+, xi_k+ = xi_k+1 k+1R_k",
            partial(_inertia, _step_9), STEPS),
    Erratum(PAPER, "step 10, last block", "jgamma, jxi_k+, jsigma_k+, jpsi_k+, jU_k+",
            "j+gamma, j+xi_k+, j+sigma_k+, j+psi_k+, j+U_k+", partial(_inertia, _step_10), STEPS),
    Erratum(PAPER, "eq. 102", "delta_jk c_jk", "2 omega_j^T sum delta'_jk c_jfk",
            partial(_forces, "eq. 102"), STEPS),
    Erratum(PAPER, "step 1", "(E A)^T for the inverse of E A", "only if E is orthogonal",
            _transposed, STEPS),
    Erratum(PAPER, "Table 1, step 10", "formulas of products and sums",
            "the sum of what is printed beside the lines of step 10", _lines),
    Erratum(PAPER, "Table 2", "column headed n = 6, n_f = 6, m = 3", "is for m = 2", _column,
            "papers/korayem/tables.py"),
    Erratum(PAPER, "Table 2", "2134M", "2134 A", _sums),
    Erratum(PAPER, "simulation", "delta_12(0), delta_22(0)", "only delta_11 and delta_21 exist",
            "one mode per link"),
)  # fmt: skip
