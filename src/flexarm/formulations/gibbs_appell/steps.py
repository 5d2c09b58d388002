"""Steps 1-10 of Korayem & Shafei 2009: Gibbs-Appell equations by recursions of 3 x 3 matrices.

The docstring of `gibbs_appell.formulation` lists the symbols. Every vector and matrix is in the
axes of some link.
"""

from dataclasses import dataclass
from itertools import pairwise

import casadi as ca

from flexarm.formulations.gibbs_appell.chain import ChainLink, tilde
from flexarm.spatial import Expr

Table = list[list[Expr]]  # (3, 3) matrices jX_k at [j][k]


def rotations(links: list[ChainLink]) -> list[Expr]:
    """Return the rotations i-1R_i between neighbouring links, (3, 3) each (step 1).

    The inverse of a rotation is its transpose, contrary to the equation printed in the paper.
    """
    return [ca.SX.eye(3)] + [previous.E @ link.A for previous, link in pairwise(links)]  # (eq. 4)


def motions(
    links: list[ChainLink], R: list[Expr], v: Expr, a: Expr | None, lift: Expr
) -> tuple[list[Expr], list[Expr], list[Expr]]:
    """Return angular velocities, angular accelerations and accelerations of the link origins.

    Each result is a list with a vector (3,) per link (step 2).

    Korayem & Shafei call angular velocity, angular acceleration and acceleration of the origin of
    link i omega_i, omega'_i and r''_Oi. Without accelerations a, the accelerations are the parts
    due to velocities, omega'_v,i and r''_Ov,i. ``lift`` is the acceleration of the base.
    """
    omega: list[Expr] = [ca.SX(3, 1)]
    omega_d: list[Expr] = [ca.SX(3, 1)]
    r_dd = [lift]
    for previous, link, rotation in zip(links[:-1], links[1:], R[1:], strict=True):
        w, w_d, inverse = omega[-1], omega_d[-1], rotation.T
        spin = w + previous.theta_d
        spin_d = w_d + tilde(w) @ previous.theta_d + previous.theta_v  # (eq. 65, erratum)
        place_d = tilde(w_d) @ previous.r + tilde(w) @ (tilde(w) @ previous.r)  # (eq. 59)
        place_d = r_dd[-1] + 2 * tilde(w) @ previous.r_d + place_d + previous.r_v  # (eq. 59)
        if a is not None and previous.variables:
            delta_dd = picked(a, previous)
            spin_d = spin_d + previous.theta_f @ delta_dd  # (eq. 66)
            place_d = place_d + previous.r_f @ delta_dd  # (eq. 62)
        if link.hinge is None:
            omega.append(inverse @ spin)
            omega_d.append(inverse @ spin_d)
        else:
            z, joint = link.hinge.z, link.hinge.coordinate
            omega.append(inverse @ spin + z * v[joint])  # (eq. 63)
            spin_d = spin_d + tilde(spin) @ (rotation @ z * v[joint])  # (eq. 65)
            joint_acceleration = 0 if a is None else z * a[joint]
            omega_d.append(inverse @ spin_d + joint_acceleration)  # (eqs. 65, 70)
        r_dd.append(inverse @ place_d)  # (eqs. 59, 69)
    return omega, omega_d, r_dd


def link_forces(
    links: list[ChainLink], omega: list[Expr], omega_d: list[Expr], r_dd: list[Expr], a: Expr | None
) -> tuple[list[Expr], list[Expr]]:
    """Return the force S_i and torque T_i of each link, (3,) each (step 3).

    With accelerations a, forces and torques are the brackets of equations 43 and 44, corrected
    (erratum).
    """
    S, T = [], []
    for link, w, w_d, r in zip(links, omega, omega_d, r_dd, strict=True):
        b, w_ = link.body, tilde(w)
        s = b.M * r - 2 * (b.B2 @ w) - b.B3 @ w_d - w_ @ (b.B3 @ w) + b.s  # (eq. 96)
        t = b.B3 @ r + 2 * (b.B8 @ w) + b.B9 @ w_d + w_ @ (b.B9 @ w) + b.t  # (eq. 97)
        if a is not None and link.variables:
            delta_dd = picked(a, link)
            s, t = s + b.eps @ delta_dd, t + b.alpha @ delta_dd  # (eqs. 23, 28)
        S.append(s)
        T.append(t)
    return S, T


def gathered_forces(
    links: list[ChainLink], R: list[Expr], S: list[Expr], T: list[Expr]
) -> tuple[list[Expr], list[Expr]]:
    """Return the forces phi_i and torques chi_i summed over all outboard links (step 4)."""
    phi: list[Expr] = [ca.SX(3, 1)]
    chi = [T[-1]]
    for j in range(len(links) - 2, -1, -1):
        phi.insert(0, R[j + 1] @ (S[j + 1] + phi[0]))  # (eq. 100)
        chi.insert(0, T[j] + tilde(links[j].r) @ phi[0] + R[j + 1] @ chi[0])  # (eq. 99)
    return phi, chi


def deflection_forces(
    links: list[ChainLink], omega: list[Expr], omega_d: list[Expr], r_dd: list[Expr], a: Expr | None
) -> list[Expr]:
    """Return the forces Q_jf on the deflection variables of each link, (m,) (step 5).

    With accelerations a, these forces include the last terms of equation 44, with the opposite
    sign.
    """
    result: list[Expr] = []
    for link, w, w_d, r in zip(links, omega, omega_d, r_dd, strict=True):
        b = link.body
        rows = [
            2 * ca.dot(w, b.c[:, f])
            + ca.dot(w, b.beta[f] @ w)
            - ca.dot(r, b.eps[:, f])
            - ca.dot(w_d, b.alpha[:, f])
            - b.w[f]
            for f in range(len(link.variables))
        ]  # (eq. 102, erratum)
        Q = ca.vertcat(*rows) if rows else ca.SX(0, 1)
        result.append(Q if a is None or not rows else Q - b.sc @ picked(a, link))  # (eq. 44)
    return result


def generalised_forces(
    links: list[ChainLink],
    R: list[Expr],
    phi: list[Expr],
    chi: list[Expr],
    Q: list[Expr],
    size: int,
) -> Expr:
    """Return the inertial and gravity forces on all coordinates, (n,) (step 6).

    In the paper's symbols these forces are -Re_j and -Re_jf without joint torques and springs.
    """
    result = ca.SX(size, 1)
    for j, link in enumerate(links):
        if link.hinge is not None:
            result[link.hinge.coordinate] += ca.dot(link.hinge.z, chi[j])  # (eq. 98)
        rows = -Q[j]
        if j < len(links) - 1 and link.variables:
            rows = rows + link.r_f.T @ phi[j]  # (eq. 103)
            rows = rows + link.theta_f.T @ (R[j + 1] @ chi[j + 1])  # (eq. 103)
        for f, k in enumerate(link.variables):
            result[k] += rows[f]
    return result


def compound_rotations(R: list[Expr]) -> Table:
    """Return the rotations jR_k between all pairs of links (step 7), (3, 3) each."""
    n = len(R)
    table: Table = [[ca.SX.eye(3) for _ in range(n)] for _ in range(n)]
    for j in range(n):
        for k in range(j + 1, n):
            table[j][k] = table[j][k - 1] @ R[k]  # (eq. 4)
            table[k][j] = table[j][k].T
    return table


def positions(links: list[ChainLink], R: Table) -> Table:
    """Return the vectors between the origins of all pairs of links (step 8), (3,) each.

    The vector jr_{Oi/Oj}, from origin j to origin i in the axes of link j, is at [j][i].
    """
    n = len(links)
    step: Table = [[ca.SX(3, 1) for _ in range(n)] for _ in range(n)]  # jr_{O(i+1)/Oi} at [j][i]
    for i in range(n - 1):
        step[i][i] = links[i].r  # (eq. 60)
        for j in range(i - 1, -1, -1):
            step[j][i] = R[j][j + 1] @ step[j + 1][i]  # (eq. 3)
    r: Table = [[ca.SX(3, 1) for _ in range(n)] for _ in range(n)]
    for i in range(n):
        for j in range(i + 1, n):
            r[i][j] = r[i][j - 1] + step[i][j - 1]  # (step 8)
    return r


@dataclass(frozen=True)
class Sums:
    """Sums of inertia terms over the links outboard of links j and k (eqs. 76-93), (3, 3) each.

    For each of the paper's symbols X, the sum jX_k is at ``X[j][k]``; the sums jX_k+ and j+X_k+ are
    in ``X_k`` and ``X_jk``.
    """

    sigma: Table
    sigma_k: Table
    sigma_jk: Table
    xi: Table
    xi_k: Table
    xi_jk: Table
    psi: Table
    psi_k: Table
    psi_jk: Table
    U: Table
    U_k: Table
    U_jk: Table
    gamma: Table
    gamma_j: Table
    lamda: Table
    V: Table


def sums(links: list[ChainLink], R: Table, r: Table) -> Sums:
    """Return the sums over links from which the inertia matrix is assembled (step 9)."""
    n = len(links)
    last = n - 1
    sigma = _summed([link.body.B9 for link in links], R, 1)  # (eq. 76)
    xi = _summed([link.body.B3 for link in links], R, -1)  # (step 9)
    psi, lamda, gamma, U, V = (_zeros(n) for _ in range(5))
    for j in range(last):
        psi[j][last] = tilde(r[j][last]) @ xi[j][last]  # (eq. 77)
        for k in range(last - 1, -1, -1):
            psi[j][k] = psi[j][k + 1] @ R[k + 1][k]  # (eq. 77)
            if k > j:
                psi[j][k] += tilde(r[j][k]) @ (R[j][k] @ links[k].body.B3)  # (eq. 77)
    for k in range(last - 1, -1, -1):
        lamda[k][k] = links[k + 1].body.M * ca.SX.eye(3) + lamda[k + 1][k + 1]  # (eq. 93)
        for j in range(k - 1, -1, -1):
            lamda[j][k] = R[j][j + 1] @ lamda[j + 1][k]  # (eq. 93)
            lamda[k][j] = lamda[j][k].T
    for j in range(last):
        gamma[j][last - 1] = tilde(r[j][last]) @ lamda[j][last - 1]  # (eq. 79)
        for k in range(last - 2, -1, -1):
            gamma[j][k] = gamma[j][k + 1] @ R[k + 1][k]  # (eq. 79)
            if k >= j:
                gamma[j][k] += links[k + 1].body.M * tilde(r[j][k + 1]) @ R[j][k]  # (eq. 79)
    xi_k = _next_columns(xi, R)  # (eq. 80)
    for j in range(n):
        for k in range(last - 1, -1, -1):
            U[j][k] = (gamma[j][k] + xi_k[j][k]) @ tilde(links[k].r)  # (eq. 78, erratum)
            U[j][k] += U[j][k + 1] @ R[k + 1][k]  # (eq. 78)
    for j in range(last):
        for k in range(last - 2, -1, -1):
            V[j][k] = lamda[j][k + 1] @ tilde(links[k + 1].r) + V[j][k + 1]  # (eq. 88)
            V[j][k] = V[j][k] @ R[k + 1][k]  # (eq. 88)
    sigma_k, psi_k, U_k = (_next_columns(X, R) for X in (sigma, psi, U))  # (eqs. 82-84)
    sigma_jk, xi_jk, psi_jk, U_jk, gamma_j = (
        _next_rows(X, R) for X in (sigma_k, xi_k, psi_k, U_k, gamma)
    )  # (eqs. 86, 87, 89, 92, 90; erratum)
    return Sums(
        sigma, sigma_k, sigma_jk, xi, xi_k, xi_jk, psi, psi_k, psi_jk, U, U_k, U_jk,
        gamma, gamma_j, lamda, V,
    )  # fmt: skip


def inertia_matrix(links: list[ChainLink], R: Table, r: Table, s: Sums, size: int) -> Expr:
    """Assemble the inertia matrix I, (n, n), from the sums over links (step 10)."""
    entries: dict[tuple[int, int], Expr] = {}
    _joint_equations(entries, links, R, r, s)
    _deflection_equations(entries, links, R, r, s)
    return _dense(entries, size)


def _joint_equations(
    entries: dict[tuple[int, int], Expr], links: list[ChainLink], R: Table, r: Table, s: Sums
) -> None:
    """Add the coefficients of all variables in the joint equations to ``entries`` (eqs. 75, 81)."""
    n = len(links)
    for j, link in enumerate(links):
        if link.hinge is None:
            continue
        z, joint = link.hinge.z, link.hinge.coordinate
        for k in range(j, n):
            hinge = links[k].hinge
            if hinge is not None:
                column = (s.sigma[j][k] - s.psi[j][k] - s.U[j][k]) @ hinge.z  # (eq. 75)
                _add_entry(entries, joint, hinge.coordinate, ca.dot(z, column), single=j == k)
        for k, other in enumerate(links):
            if not other.variables:
                continue
            row: Expr = ca.SX(3, len(other.variables))
            if k < n - 1:
                row = (s.sigma_k[j][k] - s.psi_k[j][k] - s.U_k[j][k]) @ other.theta_f  # (eq. 81)
                row = row + (s.xi_k[j][k] + s.gamma[j][k]) @ other.r_f  # (eq. 81)
            if k >= j:
                row = row + _own(other, R[j][k], r[j][k])  # (eq. 81)
            row = z.T @ row
            for t, index in enumerate(other.variables):
                _add_entry(entries, joint, index, row[t])


def _deflection_equations(
    entries: dict[tuple[int, int], Expr], links: list[ChainLink], R: Table, r: Table, s: Sums
) -> None:
    """Add the coefficients of deflection variables in the deflection equations (eq. 85).

    As a correction of the paper, the sums with index j+ are used.
    """
    n = len(links)
    for j, link in enumerate(links):
        for k in range(j, n):
            other = links[k]
            if not link.variables or not other.variables:
                continue
            rotation_columns: Expr = ca.SX(3, len(other.variables))
            force_columns: Expr = ca.SX(3, len(other.variables))
            if k < n - 1:
                rotation_sum = s.sigma_jk[j][k] - s.psi_jk[j][k] - s.U_jk[j][k]
                rotation_columns = (
                    s.gamma_j[j][k] + s.xi_jk[j][k]
                ) @ other.r_f + rotation_sum @ other.theta_f
                force_columns = (
                    s.lamda[j][k] @ other.r_f - (s.V[j][k] + s.xi_jk[j][k]) @ other.theta_f
                )
            if k > j:
                rotation_columns = rotation_columns + R[j][j + 1] @ _own(
                    other, R[j + 1][k], r[j + 1][k]
                )
                force_columns = force_columns + R[j][k] @ other.body.eps
            block = link.theta_f.T @ rotation_columns + link.r_f.T @ force_columns  # (eq. 85)
            block = block + other.body.sc if k == j else block  # (eq. 85)
            _add_block(entries, link, other, block)


def picked(a: Expr, link: ChainLink) -> Expr:
    """Return the components of a vector (n,) that belong to a link's deflection variables, (m,)."""
    return ca.vertcat(*[a[i] for i in link.variables])


def _summed(B: list[Expr], R: Table, sign: int) -> Table:
    """Return the sums ``sum jR_i B_i iR_k`` over links i >= max(j, k), at index [j][k].

    An entry below the diagonal is the transpose of the entry above it, times ``sign``.
    """
    n = len(B)
    X = _zeros(n)
    for k in range(n - 1, -1, -1):
        X[k][k] = B[k] if k == n - 1 else B[k] + X[k][k + 1] @ R[k + 1][k]
        for j in range(k - 1, -1, -1):
            X[j][k] = R[j][j + 1] @ X[j + 1][k]
            X[k][j] = sign * X[j][k].T
    return X


def _next_columns(X: Table, R: Table) -> Table:
    """Return the sums jX_k+ at [j][k], over links from k+1 on, in axes of link k on the right."""
    n = len(X)
    return [[X[j][k + 1] @ R[k + 1][k] for k in range(n - 1)] for j in range(n)]


def _next_rows(X: Table, R: Table) -> Table:
    """Return the sums j+X_k at [j][k], over links from j+1 on, in axes of link j on the left."""
    return [[R[j][j + 1] @ x for x in X[j + 1]] for j in range(len(X) - 1)]


def _own(link: ChainLink, R: Expr, r: Expr) -> Expr:
    """Return the angular momentum of a link about a point per deflection rate, (3, m).

    ``r`` is the vector from the point to the link's origin O.
    """
    return R @ link.body.alpha + tilde(r) @ (R @ link.body.eps)


def _zeros(n: int) -> Table:
    return [[ca.SX(3, 3) for _ in range(n)] for _ in range(n)]


def _add_entry(
    entries: dict[tuple[int, int], Expr], i: int, k: int, value: Expr, *, single: bool = False
) -> None:
    """Add a coefficient to a matrix entry, and to its transposed entry unless ``single``.

    A coordinate may have two variables, of a joint and of its rotor, so that entries are added.
    """
    if not value.nnz():
        return
    for key in ((i, k),) if single else ((i, k), (k, i)):
        entries[key] = entries[key] + value if key in entries else value


def _add_block(
    entries: dict[tuple[int, int], Expr], a: ChainLink, b: ChainLink, block: Expr
) -> None:
    for f, i in enumerate(a.variables):
        for t, k in enumerate(b.variables):
            if a is not b or f <= t:
                _add_entry(entries, i, k, block[f, t], single=a is b and f == t)


def _dense(entries: dict[tuple[int, int], Expr], size: int) -> Expr:
    rows = [
        ca.horzcat(*[entries.get((i, k), ca.SX(1, 1)) for k in range(size)]) for i in range(size)
    ]
    return ca.vertcat(*rows)
