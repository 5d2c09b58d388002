"""Operations of the steps of Korayem & Shafei (2009), counted on their generic model.

Every constant is a symbol, so that no zero and no one can be saved on; each step is counted from
symbols for what it takes to what it gives.
"""

from dataclasses import fields

import casadi as ca

from flexarm.engine.lower import lower
from flexarm.engine.stream import counts
from flexarm.formulations.gibbs_appell import steps
from flexarm.formulations.gibbs_appell.chain import (
    AccelerationEnergy,
    ChainLink,
    Hinge,
    nothing,
    tilde,
)
from flexarm.spatial import Expr
from flexarm_papers.korayem.counts import Pair


def counted_steps(n: int, flexible: int, m: int) -> dict[int, Pair]:
    """Count products and sums of every step for one size of arm."""
    links = generic_chain(n, flexible, m)
    size = sum(1 + len(link.variables) for link in links[1:])
    v = symbols("v", size)
    R = [ca.SX.eye(3), *[symbols("R", 3, 3) for _ in range(n)]]
    omega, omega_d, r_dd, S, T, phi, chi = (
        [ca.SX(3, 1), *[symbols("x", 3) for _ in range(n)]] for _ in range(7)
    )
    Q = [symbols("Q", len(link.variables)) for link in links]
    tables, places, summed = generic_tables(links, R)
    forces = steps.link_forces(links, omega, omega_d, r_dd, None)
    gathered = steps.gathered_forces(links, R, S, T)
    step_9 = steps.sums(links, tables, places)
    matrices = [_links_only(getattr(step_9, field.name)) for field in fields(steps.Sums)]
    rows = symbols("given", size) - steps.generalised_forces(links, R, phi, chi, Q, size)
    results: dict[int, list[Expr]] = {
        1: steps.rotations(links)[1:],
        2: [x for y in steps.motions(links, R, v, None, symbols("g", 3)) for x in y[1:]],
        3: [*forces[0][2:], *forces[1][1:]],
        4: [*gathered[0][1:], *gathered[1][1:]],
        5: steps.deflection_forces(links, omega, omega_d, r_dd, None)[1:],
        6: [rows],
        7: [x for row in steps.compound_rotations(R)[1:] for x in row[1:]],
        8: [x for row in steps.positions(links, tables)[1:] for x in row[1:]],
        9: [x for matrix in matrices for x in matrix],
        10: [ca.triu(steps.inertia_matrix(links, tables, places, summed, size))],
    }
    return {k: operations(result) for k, result in results.items()}


def generic_chain(n: int, flexible: int, m: int) -> list[ChainLink]:
    """Make the paper's chain with a symbol for every number: the base, then links 1 to n.

    The last links are the flexible ones; coordinates are numbered link by link.
    """
    none, no_columns = ca.SX(3, 1), ca.SX(3, 0)
    eye = ca.SX.eye(3)
    links = [ChainLink(eye, eye, None, (), none, none, none, none, none, no_columns, no_columns,
                  nothing(0))]  # fmt: skip
    size = 0
    for i in range(1, n + 1):
        modes = m if i > n - flexible else 0
        theta = symbols("theta", 3) if modes else none
        axis = ca.SX(ca.sparsify(ca.DM([0, 0, 1])))
        links.append(
            ChainLink(
                A=symbols("A", 3, 3),
                E=eye + tilde(theta),
                hinge=Hinge(axis, size),
                variables=tuple(range(size + 1, size + 1 + modes)),
                r=symbols("r", 3),
                r_d=symbols("r_d", 3) if modes else none,
                r_v=none,
                theta_d=symbols("theta_d", 3) if modes else none,
                theta_v=none,
                r_f=symbols("r_f", 3, modes),
                theta_f=symbols("theta_f", 3, modes),
                body=_generic_body(modes),
            )
        )
        size += 1 + modes
    return links


def _generic_body(m: int) -> AccelerationEnergy:
    none = ca.SX(3, 1)
    return AccelerationEnergy(
        M=symbols("M", 1),
        B2=tilde(symbols("B2", 3)) if m else ca.SX(3, 3),
        B3=tilde(symbols("B3", 3)),
        B8=symbols("B8", 3, 3) if m else ca.SX(3, 3),
        B9=symbols("B9", 3, 3),
        eps=symbols("eps", 3, m),
        alpha=symbols("alpha", 3, m),
        beta=tuple(symbols("beta", 3, 3) for _ in range(m)),
        sc=symbols("sc", m, m),
        c=symbols("c", 3, m),
        s=none,
        t=none,
        w=ca.SX(m, 1),
    )


def generic_tables(
    links: list[ChainLink], R: list[Expr]
) -> tuple[list[list[Expr]], list[list[Expr]], steps.Sums]:
    """Give symbols for what steps 7, 8 and 9 hand on: jR_k, jr_Ok/Oj and the sums."""
    n = len(links)
    tables: steps.Table = [[ca.SX.eye(3) for _ in range(n)] for _ in range(n)]
    places: steps.Table = [[ca.SX(3, 1) for _ in range(n)] for _ in range(n)]
    for j in range(n):
        for k in range(j + 1, n):
            tables[j][k] = R[k] if k == j + 1 else symbols("R", 3, 3)
            tables[k][j] = tables[j][k].T
            if j:
                places[j][k] = links[j].r if k == j + 1 else symbols("r", 3)
    known = steps.sums(links, tables, places)
    # a matrix that is structurally zero stays so
    names = [field.name for field in fields(steps.Sums)]
    matrices = [[[_like(x) for x in row] for row in getattr(known, name)] for name in names]
    return tables, places, steps.Sums(**dict(zip(names, matrices, strict=True)))


def operations(results: list[Expr]) -> tuple[int, int]:
    """Count products and sums that take the symbols to the results."""
    outputs = [result for result in results if result.nnz()]
    function = ca.Function("step", [ca.vertcat(*ca.symvar(ca.veccat(*outputs)))], outputs)
    found = counts(lower(function))
    assert not found.divisions and not found.functions
    return found.multiplications, found.additions


def symbols(name: str, *shape: int) -> Expr:
    """Make a matrix of symbols."""
    return ca.SX.sym(name, *shape)


def _like(matrix: Expr) -> Expr:
    return symbols("X", 3, 3) if matrix.nnz() else ca.SX(3, 3)


def _links_only(matrix: list[list[Expr]]) -> list[Expr]:
    """List the entries of a table by links, without the base's row and column."""
    return [x for row in matrix[1:] for x in row[1:]]
