"""Korayem & Shafei 2009: the ten steps as printed, run beside the corrected ones."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any

import casadi as ca
import numpy as np

from flexarm.formulations.gibbs_appell.chain import Link, paper_chain
from flexarm.formulations.gibbs_appell.steps import (
    Sums,
    Table,
    compound_rotations,
    deflection_forces,
    gathered_forces,
    generalised_forces,
    inertia_matrix,
    link_forces,
    motions,
    picked,
    positions,
    rotations,
    sums,
)
from flexarm.formulations.gibbs_appell.terms import tilde
from flexarm.links.base import Array
from flexarm.model import Model, build
from flexarm.papers.errata.base import STATES, Erratum, wrong_by
from flexarm.papers.korayem.counts import TABLE_1, book, korayem_shafei, printed_step
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


@cache
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
    pairs = [
        tuple(_number(inertia_matrix(links, R, r, x, _model().size))
              for x in (change(links, R, s), s))
        for links, R, r, s in _sums_of()
    ]  # fmt: skip
    return wrong_by(pairs, "M")


@cache
def _sums_of() -> list[tuple[list[Link], Table, Table, Sums]]:
    """Take steps 1 and 7 to 9 at every state."""
    found = []
    for q, v in _states():
        links = paper_chain(_model(), q, v, delta_squared=True)
        R = compound_rotations(rotations(links))
        r = positions(links, R)
        found.append((links, R, r, sums(links, R, r)))
    return found


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


def _forces(kind: str, *, accelerated: bool = False, what: str = "Re") -> str:
    """Say how wrong forces are with a term as printed: nonlinear ones, or with accelerations."""
    return wrong_by(
        [(_forces_at(k, kind, accelerated), _forces_at(k, "", accelerated)) for k in range(STATES)],
        what,
    )


@cache
def _forces_at(k: int, kind: str, accelerated: bool) -> Array:
    a = ca.SX(np.random.default_rng(k).uniform(-1, 1, _model().size)) if accelerated else None
    return _number(_efforts(*_states()[k], a, kind))


_all_forces = partial(_forces, accelerated=True, what="forces at given accelerations")


def _efforts(q: Expr, v: Expr, a: Expr | None, printed: str) -> Expr:
    """Evaluate steps 1 to 6 without gravity, one of them as printed.

    With accelerations a they are the derivatives of the acceleration energy, eqs. 43 and 44.
    """
    names = _model().names
    links = paper_chain(_model(), q, v, delta_squared=True)
    R, none = rotations(links), ca.SX(3, 1)
    if printed == "eq. 81" and a is not None:  # amplitudes for their accelerations
        still = ca.vertcat(*[q[k] if "." in x else a[k] for k, x in enumerate(names)])
        return _mixed(_efforts(q, v, still, ""), _efforts(q, v, a, ""))
    omega, omega_d, _ = motions(links, R, v, a, none)
    walked = links
    if printed == "step 2":  # omega x theta' is left out
        walked = _with(links, omega, lambda x, w: {"theta_v": x.theta_v - tilde(w) @ x.theta_d})
    if printed == "eq. 69":
        walked = _with(links, omega_d, lambda x, w: {"r_v": x.r_v - tilde(w) @ x.r})
    spun, spun_d, r_dd = motions(walked, R, v, a, none)
    weighed = links
    S, T = link_forces(links, spun, spun_d, r_dd, a)
    if printed == "eq. 102":  # deflections where their rates belong
        still = ca.vertcat(*[q[k] if "." in x else v[k] for k, x in enumerate(names)])
        rates = [link.body.c for link in paper_chain(_model(), q, still, delta_squared=True)]
        weighed = _with(links, rates, lambda x, c: {"body": replace(x.body, c=c)})
    Q = deflection_forces(weighed, spun, spun_d, r_dd, a)
    for j, link in enumerate(links):
        if printed == "eq. 13":
            Q[j] += 2 * link.body.c.T @ (omega_d[j] - omega[j])
        if printed == "eq. 26" and a is not None and link.variables:
            Q[j] += link.body.sc @ (picked(a, link) - picked(q, link) / 2)
    phi, chi = gathered_forces(links, R, S, T)
    right = generalised_forces(links, R, phi, chi, Q, len(names))
    if printed != "eq. 44":
        return right
    turned = [t - 2 * tilde(w) @ (link.body.B9 @ w)
              for t, w, link in zip(T, omega, links, strict=True)]  # fmt: skip
    chi = gathered_forces(links, R, S, turned)[1]
    return _mixed(right, generalised_forces(links, R, phi, chi, Q, len(names)))


def _with(
    links: list[Link], by: list[Expr], change: Callable[[Link, Expr], dict[str, Any]]
) -> list[Link]:
    """Change something of every link."""
    return [replace(link, **change(link, x)) for link, x in zip(links, by, strict=True)]


def _mixed(joints: Expr, deflections: Expr) -> Expr:
    """Take the joint equations of one, the deflection equations of the other."""
    return ca.vertcat(
        *[deflections[k] if "." in x else joints[k] for k, x in enumerate(_model().names)]
    )


def _amplitudes() -> str:
    elastic = _model().links[0].elastic
    assert elastic is not None  # all links bend
    y, z = elastic.tip_angle.sum(axis=1)[1:]
    return (
        f"tips of straight links are turned by {y:.2g} and {z:.2g} rad about y and z, whatever the "
        "amplitudes (shapes of 1 m at the tip)"
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


def _lines(step: int) -> str:
    lines, table = printed_step(step, 3, 2), TABLE_1[step](3, 3, 2)
    return (
        f"for n = n_f = 3, m = 2 the lines add up to {lines[0]:.0f} M, {lines[1]:.0f} A, Table 1 "
        f"has {table[0]:.0f} M, {table[1]:.0f} A"
    )


def _step_9_gap() -> str:
    """Say by how much the lines of step 9 are more, as formulas in n that hold for all."""
    sizes = range(3, 9)
    gaps = [np.subtract(printed_step(9, n, 1), TABLE_1[9](n, n, 1)) for n in sizes]
    (M, m), (A, a) = (np.polyfit(sizes, [gap[k] for gap in gaps], 1) for k in (0, 1))
    return (
        f"{_lines(9)}; the lines have {M:.0f} n - {-m:.0f} M and {A:.0f} n - {-a:.0f} A more, of "
        "which 27 n M and 18 n A are jU_k+ of k = n - 1, a sum without terms"
    )


def _step_10_gap() -> str:
    gap = {(n, m): printed_step(10, n, m)[0] - TABLE_1[10](n, n, m)[0]
           for n in range(3, 9) for m in range(1, 5)}  # fmt: skip
    (each,) = {x / (m**2 * (n - 1)) for (n, m), x in gap.items()}
    return (
        f"{_lines(10)}; of the products {each:.0f} m^2 (n - 1) are missing, as if the last line's "
        "48M were 24M"
    )


def _sums() -> str:
    products, sums = korayem_shafei(3, 2, 2)
    return f"the formulas give {products:g} products and {sums:g} sums"


def _garbled() -> str:
    """Evaluate Book's formulas with the factors m that stand twice in some terms."""
    n, f, m = 3, 2, 2
    more = [(x * f * m + y * n * f) * (m - 1) for x, y in ((137.5, 86), (123, 80))]
    return _beside([a + b for a, b in zip(book(n, f, m), more, strict=True)], "4922 M, 4851 A")


def _garbled_own() -> str:
    """Evaluate the paper's own formulas with the factors m that stand twice in some terms."""
    n, f, m = 3, 2, 2
    more = [(x * m * f + y * m**2 * f) * (m - 1) for x, y in ((6, -60), (-49.5, -89.5))]
    own = korayem_shafei(n, f, m)
    return _beside([a + b for a, b in zip(own, more, strict=True)], "2706 M, 2134 A")


def _beside(found: list[float], printed: str) -> str:
    return (
        f"for n = 3, n_f = 2, m = 2 they give {found[0]:.0f} M, {found[1]:.0f} A beside the "
        f"printed {printed}"
    )


ERRATA = (
    Erratum(PAPER, "eq. 13", "-2 omega'^T B5", "-2 omega^T B5: r'' . (2 omega x r')",
            partial(_all_forces, "eq. 13")),
    Erratum(PAPER, "eqs. 15, 16, 18-22", "plain vectors, some with dots too many; 20 and 22 the "
            "same", "skew matrices: B2 = int mu r'~, B3 = int mu r~, B5 = int mu r''~ r', B6 = int "
            "mu r~ r'', B7 = int mu r~^T r''~, B8 = int mu r~^T r'~, B9 = int mu r~^T r~",
            "none: the text after eq. 22 says that they are skew-symmetric tensors, and eqs. 24 to "
            "31, which follow from them, are right", "formulations/gibbs_appell/terms.py",
            kind="transcription"),
    Erratum(PAPER, "eq. 26", "d''_ij d_ik sC", "d''_ij d''_ik sc_ijk",
            partial(_all_forces, "eq. 26")),
    Erratum(PAPER, "eqs. 27, 36-39", "the scalar's letter sC; tildes in 37-39",
            "27 with the vector c_ijk; 36 with a tilde on eta, which has an arrow, 37 a scalar, 38 "
            "and 39 vectors", "none: the list before eq. 34 has arrows on c_ijk and c_ij, a tilde "
            "on M r, and none on sc_ijk", kind="transcription"),
    Erratum(PAPER, "eq. 44", "- omega~ B9 omega in the second sum", "+ omega~ B9 omega",
            partial(_forces, "eq. 44"), STEPS),
    Erratum(PAPER, "eqs. 43, 44", "omega' where B2, B3, B8, B9, beta and c multiply velocities",
            "omega in all of these; omega'_j^T alpha_jf is right", "none: eqs. 96, 97 and 102 have "
            "the same terms with omega", kind="transcription"),
    Erratum(PAPER, "eqs. 46, 47", "sum dy_ij/d eta", "sum delta_ij dy_ij/d eta; eq. 47 likewise",
            _amplitudes),
    Erratum(PAPER, "eqs. 59-66", "a dot too many: r' for r in 59 and 60, omega' for omega in 63",
            "as in eq. 10: omega' x r + omega x (omega x r), r of eq. 60 without a dot",
            "none: l_i and z_i, which are constant, have the same dot, so that it is an arrow; eq. "
            "10 and step 2 are right", STEPS, kind="transcription"),
    Erratum(PAPER, "eqs. 67, 69", "sums over links 1 to i - 1 alone", "+ iR_0 r''_O0, the base's",
            "none: step 2 begins with it"),
    Erratum(PAPER, "gravity, step 2", "r''_O0 = g, 'the acceleration of gravity'",
            "g upwards, as '1 g to the top' says: less the vector along which weights pull",
            "a vector that points down would let the arm fall up", kind="remark"),
    Erratum(PAPER, "eq. 68", "iR_k omega'_k in the first sum", "iR_k z_k q''_k",
            "omega'_i stands on both sides and cancels, and no acceleration of a joint is in it: "
            "it gives nothing that could be run"),
    Erratum(PAPER, "eqs. 69, 96", "r''_v without omega'_v,k x r_k, which eq. 67 has in its second "
            "sum: both together are eq. 59",
            "+ iR_k (omega'_v,k x r_k) in r''_v, for it is to be all terms 'that do not contain "
            "the second derivatives', and eq. 96 takes it for that; step 2 has it",
            partial(_forces, "eq. 69", what="r''_v of eq. 69 put into eq. 96: Re"), STEPS),
    Erratum(PAPER, "first interchange of sums, i from j, k to i",
            "sum over k to n - 1, i from max(k + 1, j)", "sum over k to n, i from max(k, j)",
            _interchanged),
    Erratum(PAPER, "eq. 70, step 2", "omega x theta' of eq. 65 left out", "it is part of omega'_v",
            partial(_forces, "step 2"), STEPS),
    Erratum(PAPER, "eq. 74", "derivative by delta^2_jf", "by delta''_jf",
            "none: eq. 72 has delta''_jf, and the right side is that by it", kind="transcription"),
    Erratum(PAPER, "eq. 81", "times delta_kt", "times delta''_kt",
            partial(_all_forces, "eq. 81"), STEPS),
    Erratum(PAPER, "eq. 85", "sc_jft of no k", "for k = j",
            "the sum over t alone, of link j, has no other k", STEPS),
    Erratum(PAPER, "eq. 86", "j+sigma_k+ with B3", "with B9", partial(_inertia, _eq_86), STEPS),
    Erratum(PAPER, "step 1", "(E A)^T for the inverse of E A, of the small angles of eq. 6",
            "only if E is orthogonal", _transposed, STEPS, kind="approximation"),
    Erratum(PAPER, "step 8", "for j = 2:1:n-1; j = i-1:-1:1", "for i = 2:1:n-1; j = i-1:-1:1",
            "j is given twice, i never: cannot be run"),
    Erratum(PAPER, "step 9, U", "gamma_k + xi_k+1; gamma_n-1 + xi_n-1 to begin with",
            "gamma_k + xi_k+, xi_k+ = xi_k+1 k+1R_k",
            partial(_inertia, _step_9), STEPS),
    Erratum(PAPER, "step 9, beginnings", "ngamma_k, npsi_k, jU_n and V_n-1 used, never given",
            "all 0: their sums (eqs. 77-79, 88) have no terms",
            "values that are not there cannot be run", STEPS),
    Erratum(PAPER, "step 10, last block", "jgamma, jxi_k+, jsigma_k+, jpsi_k+, jU_k+",
            "j+gamma, j+xi_k+, j+sigma_k+, j+psi_k+, j+U_k+", partial(_inertia, _step_10), STEPS),
    Erratum(PAPER, "step 10, last block, k = j", "- r_jf^T (...) within the bracket behind "
            "theta_jf^T", "the bracket closes before it, as for k > j",
            "a number among vectors: cannot be formed"),
    Erratum(PAPER, "eq. 102", "delta_jk c_jk", "2 omega_j^T sum delta'_jk c_jfk",
            partial(_forces, "eq. 102"), STEPS),
    Erratum(PAPER, "Table 1, step 9", "formulas of products and sums",
            "the sum of what is printed beside the lines, less jU_k+ of k = n - 1",
            _step_9_gap),
    Erratum(PAPER, "step 9, V_n-2", "18M 9A", "45M 27A: lambda r~ R are two products, 18M 9A and "
            "27M 18A", "27M 18A too few for each of n - 1 links"),
    Erratum(PAPER, "Table 1, step 10", "formulas of products and sums",
            "the sum of what is printed beside the lines of step 10", _step_10_gap),
    Erratum(PAPER, "Table 2", "column headed n = 6, n_f = 6, m = 3", "is for m = 2", _column,
            "papers/korayem/tables.py"),
    Erratum(PAPER, "Table 2", "2134M", "2134 A", _sums),
    Erratum(PAPER, "Table 2, Book", "137.5 m n_f m, 86 n n_f m; 123 m n_f m, 80 n n_f m",
            "137.5 n_f m, 86 n n_f; 123 n_f m, 80 n n_f", _garbled, "papers/korayem/counts.py"),
    Erratum(PAPER, "Table 2, this work", "6 m n_f m, -60 m^2 n_f m; -49.5 m n_f m, -89.5 m^2 n_f m",
            "6 m n_f, -60 m^2 n_f; -49.5 m n_f, -89.5 m^2 n_f, as in Table 1", _garbled_own,
            "papers/korayem/counts.py"),
    Erratum(PAPER, "simulation", "delta_12(0), delta_22(0)", "only delta_11 and delta_21 exist",
            "one mode per link: there is no such variable to begin with"),
)  # fmt: skip
