"""Korayem & Shafei 2009: the ten steps as printed, run beside the corrected ones."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any

import casadi as ca
import numpy as np

from flexarm.formulations.gibbs_appell import steps
from flexarm.formulations.gibbs_appell.chain import ChainLink, paper_chain, tilde
from flexarm.model import Model, build
from flexarm.spatial import Array, Expr
from flexarm_papers.errata.base import STATES, wrong_by
from flexarm_papers.korayem.counts import (
    TABLE_1,
    Pair,
    book,
    korayem_shafei,
    needless,
    printed_step,
)
from flexarm_papers.runs import changed

Change = Callable[[list[ChainLink], list[list[Expr]], steps.Sums], steps.Sums]
DEFLECTION = 0.05  # [m] of the amplitudes, as large as their rates are in m/s


@cache
def arm() -> Model:
    """Make the spatial arm of three links, two modes each."""
    bends = {"kind": "clamped-free", "bending_y": 1, "bending_z": 1}
    section = {"mass_per_length": 5.0, "EIy": 1000.0, "EIz": 1000.0}
    values = {"links.1.rigid": False, "links.1.shapes": bends, "links.1.section": section}
    return build(changed("count-3-2-2", values), stiffening=False)


@cache
def _states() -> list[tuple[Expr, Expr]]:
    rng = np.random.default_rng(2)
    model, found = arm(), list[tuple[Expr, Expr]]()
    small = np.array([DEFLECTION if "." in name else 1.0 for name in model.names])
    for _ in range(STATES):
        q, v = rng.uniform(-1, 1, (2, model.size))
        found.append((ca.SX(small * q), ca.SX(v)))
    return found


def _number(expression: Expr) -> Array:
    return np.asarray(ca.DM(expression), dtype=float)


def _inertia(change: str) -> str:
    """Say how wrong M is with sums that are changed."""
    pairs = [(inertia_at(q, v, change), inertia_at(q, v)) for q, v in _states()]
    return wrong_by(pairs, "M")


def inertia_at(q: Expr, v: Expr, change: str = "") -> Array:
    """Return M of the spatial arm by steps 1 and 7 to 10, with one of the sums as printed."""
    links = paper_chain(arm(), q, v, delta_squared=True)
    R = steps.compound_rotations(steps.rotations(links))
    r = steps.positions(links, R)
    sums = steps.sums(links, R, r)
    if change:
        sums = CHANGES[change](links, R, sums)
    return _number(steps.inertia_matrix(links, R, r, sums, arm().size))


def forces_at(q: Expr, v: Expr, printed: str = "") -> Array:
    """Return Coriolis and centrifugal forces by steps 1 to 6, one of them as printed."""
    return _number(_efforts(q, v, None, printed)).ravel()


def _step_10(links: list[ChainLink], R: list[list[Expr]], s: steps.Sums) -> steps.Sums:
    return replace(s, psi_jk=s.psi_k, U_jk=s.U_k, gamma_j=s.gamma)


def _eq_86(links: list[ChainLink], R: list[list[Expr]], s: steps.Sums) -> steps.Sums:
    thin = [replace(link, body=replace(link.body, B9=link.body.B3)) for link in links]
    return replace(s, sigma_jk=steps.sums(thin, R, steps.positions(thin, R)).sigma_jk)


def _step_9(links: list[ChainLink], R: list[list[Expr]], s: steps.Sums) -> steps.Sums:
    n = len(links)
    U: steps.Table = [[ca.SX(3, 3) for _ in range(n)] for _ in range(n)]
    for j in range(n):
        for k in range(n - 2, -1, -1):
            xi = s.xi[j][n - 2 if k == n - 2 else k + 1]  # the base case has xi_n-1
            U[j][k] = (s.gamma[j][k] + xi) @ tilde(links[k].r)
            U[j][k] += U[j][k + 1] @ R[k + 1][k]
    U_k = [[U[j][k + 1] @ R[k + 1][k] for k in range(n - 1)] for j in range(n)]
    U_jk = [[R[j][j + 1] @ x for x in U_k[j + 1]] for j in range(n - 1)]
    return replace(s, U=U, U_k=U_k, U_jk=U_jk)


CHANGES: dict[str, Change] = {"step 10": _step_10, "eq. 86": _eq_86, "step 9": _step_9}


def _forces(kind: str, what: str = "Re", *, accelerated: bool = False) -> str:
    """Say how wrong forces are with a term as printed: nonlinear ones, or with accelerations."""
    return wrong_by(
        [(_forces_at(k, kind, accelerated), _forces_at(k, "", accelerated)) for k in range(STATES)],
        what,
    )


@cache
def _forces_at(k: int, kind: str, accelerated: bool) -> Array:
    a = ca.SX(np.random.default_rng(k).uniform(-1, 1, arm().size)) if accelerated else None
    return _number(_efforts(*_states()[k], a, kind))


_all_forces = partial(_forces, accelerated=True, what="forces at given accelerations")


def _efforts(q: Expr, v: Expr, a: Expr | None, printed: str) -> Expr:
    """Evaluate steps 1 to 6 without gravity, one of them as printed.

    With accelerations a they are the derivatives of the acceleration energy, eqs. 43 and 44.
    """
    names = arm().names
    links = paper_chain(arm(), q, v, delta_squared=True)
    R, none = steps.rotations(links), ca.SX(3, 1)
    if printed == "eq. 81" and a is not None:  # amplitudes for their accelerations
        still = ca.vertcat(*[q[k] if "." in x else a[k] for k, x in enumerate(names)])
        return _mixed(_efforts(q, v, still, ""), _efforts(q, v, a, ""))
    omega, omega_d, _ = steps.motions(links, R, v, a, none)
    walked = links
    if printed == "step 2":  # omega x theta' is left out
        walked = _with(links, omega, lambda x, w: {"theta_v": x.theta_v - tilde(w) @ x.theta_d})
    if printed == "eq. 69":
        walked = _with(links, omega_d, lambda x, w: {"r_v": x.r_v - tilde(w) @ x.r})
    spun, spun_d, r_dd = steps.motions(walked, R, v, a, none)
    weighed = links
    S, T = steps.link_forces(links, spun, spun_d, r_dd, a)
    if printed == "eq. 102":  # deflections where their rates belong
        still = ca.vertcat(*[q[k] if "." in x else v[k] for k, x in enumerate(names)])
        rates = [link.body.c for link in paper_chain(arm(), q, still, delta_squared=True)]
        weighed = _with(links, rates, lambda x, c: {"body": replace(x.body, c=c)})
    Q = steps.deflection_forces(weighed, spun, spun_d, r_dd, a)
    for j, link in enumerate(links):
        if printed == "eq. 26" and a is not None and link.variables:
            Q[j] += link.body.sc @ (steps.picked(a, link) - steps.picked(q, link) / 2)
    phi, chi = steps.gathered_forces(links, R, S, T)
    right = steps.generalised_forces(links, R, phi, chi, Q, len(names))
    if printed != "eq. 44":
        return right
    turned = [t - 2 * tilde(w) @ (link.body.B9 @ w)
              for t, w, link in zip(T, omega, links, strict=True)]  # fmt: skip
    chi = steps.gathered_forces(links, R, S, turned)[1]
    return _mixed(right, steps.generalised_forces(links, R, phi, chi, Q, len(names)))


def _with(
    links: list[ChainLink], by: list[Expr], change: Callable[[ChainLink, Expr], dict[str, Any]]
) -> list[ChainLink]:
    """Change something of every link."""
    return [replace(link, **change(link, x)) for link, x in zip(links, by, strict=True)]


def _mixed(joints: Expr, deflections: Expr) -> Expr:
    """Take the joint equations of one, the deflection equations of the other."""
    return ca.vertcat(
        *[deflections[k] if "." in x else joints[k] for k, x in enumerate(arm().names)]
    )


def _amplitudes() -> str:
    elastic = arm().links[0].beam
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
    n = len(arm().links)
    whole = sum(i for i in range(1, n + 1))
    printed = sum(n - max(k + 1, 1) + 1 for k in range(1, n))
    return (f"for {n} links and j = 1 it has {whole} terms, {printed} as printed, which are those "
            "of the third interchange")  # fmt: skip


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


def _turning() -> str:
    """Count E A of step 1 for rotations A with ever more zeros."""
    turn, A = ca.SX.sym("theta", 3), ca.SX.sym("A", 3, 3)
    twisted, parallel, costs = ca.SX(A), ca.SX.eye(3), []
    twisted[2, 0], parallel[:2, :2] = 0, A[:2, :2]
    for each in (A, twisted, parallel):
        f = ca.Function("f", [turn, A], [(ca.SX.eye(3) + tilde(turn)) @ ca.sparsify(each)])
        kinds = [f.instruction_id(k) for k in range(f.n_instructions())]
        costs.append(f"{kinds.count(ca.OP_MUL)}M "
                     f"{kinds.count(ca.OP_ADD) + kinds.count(ca.OP_SUB)}A")  # fmt: skip
    return (f"E A takes {costs[0]}, {costs[1]} with the zero in Denavit and Hartenberg's A, "
            f"{costs[2]} where axes are parallel")  # fmt: skip


def _step_9_gap() -> str:
    """Say by how much the lines of step 9 are more, as formulas in n that hold for all."""
    sizes = range(3, 9)
    gaps = np.array([np.subtract(printed_step(9, n, 1), TABLE_1[9](n, n, 1)) for n in sizes])
    net = gaps - [needless(9, n, 1) for n in sizes]
    (M, m), (A, a) = (np.polyfit(sizes, gap, 1) for gap in gaps.T)
    (N, _), (B, _) = (np.polyfit([n - 1 for n in sizes], gap, 1) for gap in net.T)
    return (
        f"{_lines(9)}; the lines have {M:.0f} n - {-m:.0f} M and {A:.0f} n - {-a:.0f} A more; less "
        "sums without terms (jU_k+ and j+U_k+ of k = n - 1, npsi_k+, (n-1)+psi_k+, (n-1)+gamma_k), "
        f"with V_n-2 whole, {-N:.0f} (n - 1) M and {-B:.0f} (n - 1) A fewer than the table"
    )


def _step_10_gap() -> str:
    left = {printed_step(10, n, m)[k] - needless(10, n, m)[k] - TABLE_1[10](n, n, m)[k]
            for n in range(3, 9) for m in range(1, 5) for k in (0, 1)}  # fmt: skip
    return f"{_lines(10)}; less what is zero or known the lines have {max(left):g} more, n_f = n"


def _sums() -> str:
    products, added = korayem_shafei(3, 2, 2)
    return f"the formulas give {products:g} products and {added:g} sums"


def _garbled() -> str:
    """Evaluate Book's formulas with the factors m that stand twice in some terms."""
    return _beside(book(3, 2, 2, printed=True), "4922 M, 4851 A")


def _garbled_own() -> str:
    """Evaluate the paper's own formulas with the factors m that stand twice in some terms."""
    return _beside(korayem_shafei(3, 2, 2, printed=True), "2706 M, 2134 A")


def _beside(found: Pair, printed: str) -> str:
    return (
        f"for n = 3, n_f = 2, m = 2 they give {found[0]:.0f} M, {found[1]:.0f} A beside the "
        f"printed {printed}"
    )
