"""How many operations do the steps of Korayem & Shafei (2009) take, counted on their generic model?

Every constant is a symbol, so that no zero and no one can be saved on; each step is counted from
symbols for what it takes to what it gives, and stands beside the formulas of their Table 1.
"""

import argparse
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import casadi as ca

from flexarm.analysis.operations import operation_counts
from flexarm.engine.lower import lower
from flexarm.engine.stream import counts
from flexarm.formulations.gibbs_appell import GibbsAppell
from flexarm.formulations.gibbs_appell_chain import Hinge, Link
from flexarm.formulations.gibbs_appell_steps import (
    Sums,
    Table,
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
from flexarm.formulations.gibbs_appell_terms import Body, Constants, beam, nothing, tilde
from flexarm.io.sample import sample
from flexarm.model import build
from flexarm.spatial import Expr
from report import table, write

CASES = ((3, 2, 2), (6, 6, 2), (6, 6, 3))  # links, flexible links, modes
DROPPED = ("count-2-2-2", "count-3-2-2", "count-6-6-3")
START, END = "<!-- counted -->", "<!-- end of counted -->"

# Korayem & Shafei, Table 1: products and sums of each step.
Formula = Callable[[int, int, int], tuple[float, float]]
TABLE_1: dict[int, Formula] = {
    1: lambda n, f, m: (15 * n - 15, 6 * n - 6),
    2: lambda n, f, m: (60 * n - 60, 55 * n - 55),
    3: lambda n, f, m: (66 * n - 27, 54 * n - 21),
    4: lambda n, f, m: (24 * n - 24, 24 * n - 24),
    5: lambda n, f, m: (21 * f * m, 17 * f * m),
    6: lambda n, f, m: (15 * m * f - 15 * m, n - 12 * m + 13 * m * f),
    7: lambda n, f, m: (13.5 * n**2 - 40.5 * n + 27, 9 * n**2 - 27 * n + 18),
    8: lambda n, f, m: (4.5 * n**2 - 13.5 * n + 9, 4.5 * n**2 - 13.5 * n + 9),
    9: lambda n, f, m: (390 - 901.5 * n + 457.5 * n**2, 276 - 652.5 * n + 328.5 * n**2),
    10: lambda n, f, m: (
        30 * m * f**2 - 30 * m * f - 60 * m**2 * f + 18 * m**2 + 42 * m**2 * f**2,
        9 * n**2 - 9 + 52.5 * m * f**2 - 79.5 * m * f + 18 * m - 89.5 * m**2 * f + 18 * m**2
        + 53.5 * m**2 * f**2,
    ),
}  # fmt: skip


def main() -> None:
    """Count, print the tables, and write them where that was asked for."""
    parser = argparse.ArgumentParser(description="Count the steps of Korayem & Shafei (2009).")
    parser.add_argument("--quick", action="store_true", help="the smallest case of each table")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the numbers as JSON")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="renew the page's tables")
    args = parser.parse_args()

    cases, arms = (CASES[:1], DROPPED[:1]) if args.quick else (CASES, DROPPED)
    found: dict[str, Any] = {
        "steps": [_counted(*case) for case in cases],
        "lines": _counted_lines(*((3, 3, 2) if args.quick else cases[-1])),
        "delta_squared": [_dropped(name) for name in arms],
    }
    parts = (_steps_table(found["steps"]), _lines_table(found["lines"]))
    text = "\n\n".join((*parts, _dropped_table(found["delta_squared"])))
    print(text)
    if args.out is not None:
        write(args.out, json.dumps(found, indent=2) + "\n")
    if args.markdown is not None:
        page = args.markdown.read_text("utf-8") if args.markdown.exists() else f"{START}\n{END}\n"
        part = re.compile(f"{re.escape(START)}.*{re.escape(END)}", re.DOTALL)
        write(args.markdown, part.sub(lambda _: f"{START}\n{text}\n\n{END}", page))


def generic_chain(n: int, flexible: int, m: int) -> list[Link]:
    """Make the paper's chain with a symbol for every number: the base, then links 1 to n.

    The last links are the flexible ones; coordinates are numbered link by link.
    """
    none, no_columns = ca.SX(3, 1), ca.SX(3, 0)
    eye = ca.SX.eye(3)
    links = [Link(eye, eye, None, (), none, none, none, none, none, no_columns, no_columns,
                  nothing(0))]  # fmt: skip
    size = 0
    for i in range(1, n + 1):
        modes = m if i > n - flexible else 0
        theta = _symbols("theta", 3) if modes else none
        axis = ca.SX(ca.sparsify(ca.DM([0, 0, 1])))
        links.append(
            Link(
                A=_symbols("A", 3, 3),
                E=eye + tilde(theta),
                hinge=Hinge(axis, size),
                variables=tuple(range(size + 1, size + 1 + modes)),
                r=_symbols("r", 3),
                r_d=_symbols("r_d", 3) if modes else none,
                r_v=none,
                theta_d=_symbols("theta_d", 3) if modes else none,
                theta_v=none,
                r_f=_symbols("r_f", 3, modes),
                theta_f=_symbols("theta_f", 3, modes),
                body=_generic_body(modes),
            )
        )
        size += 1 + modes
    return links


def _generic_body(m: int) -> Body:
    none = ca.SX(3, 1)
    return Body(
        M=_symbols("M", 1),
        B2=tilde(_symbols("B2", 3)) if m else ca.SX(3, 3),
        B3=tilde(_symbols("B3", 3)),
        B8=_symbols("B8", 3, 3) if m else ca.SX(3, 3),
        B9=_symbols("B9", 3, 3),
        eps=_symbols("eps", 3, m),
        alpha=_symbols("alpha", 3, m),
        beta=tuple(_symbols("beta", 3, 3) for _ in range(m)),
        sc=_symbols("sc", m, m),
        c=_symbols("c", 3, m),
        h=none,
        s=none,
        t=none,
        w=ca.SX(m, 1),
    )


def _counted(n: int, flexible: int, m: int) -> dict[str, Any]:
    """Count every step for one size of arm."""
    links = generic_chain(n, flexible, m)
    size = sum(1 + len(link.variables) for link in links[1:])
    v = _symbols("v", size)
    R = [ca.SX.eye(3), *[_symbols("R", 3, 3) for _ in range(n)]]
    omega, omega_d, r_dd, S, T, phi, chi = (
        [ca.SX(3, 1), *[_symbols("x", 3) for _ in range(n)]] for _ in range(7)
    )
    Q = [_symbols("Q", len(link.variables)) for link in links]
    tables, places, summed = _generic_tables(links, R)
    forces = link_forces(links, omega, omega_d, r_dd, None)
    gathered = gathered_forces(links, R, S, T)
    step_9 = sums(links, tables, places)
    matrices = [_links_only(getattr(step_9, field.name)) for field in fields(Sums)]
    rows = _symbols("given", size) - generalised_forces(links, R, phi, chi, Q, size)
    results = {
        1: rotations(links)[1:],
        2: [x for y in motions(links, R, v, None, _symbols("g", 3)) for x in y[1:]],
        3: [*forces[0][2:], *forces[1][1:]],
        4: [*gathered[0][1:], *gathered[1][1:]],
        5: deflection_forces(links, omega, omega_d, r_dd, None)[1:],
        6: [rows],
        7: [x for row in compound_rotations(R)[1:] for x in row[1:]],
        8: [x for row in positions(links, tables)[1:] for x in row[1:]],
        9: [x for matrix in matrices for x in matrix],
        10: [ca.triu(inertia_matrix(links, tables, places, summed, size))],
    }
    steps = {k: _operations(result) for k, result in results.items()}
    printed = {k: TABLE_1[k](n, flexible, m) for k in TABLE_1}
    sizes = {"links": n, "flexible": flexible, "modes": m}
    return sizes | {
        "counted": steps, "printed": printed, "integrals": _integrals(flexible, m),
        "counted_total": _total(steps), "printed_total": _total(printed),
    }  # fmt: skip


def _generic_tables(
    links: list[Link], R: list[Expr]
) -> tuple[list[list[Expr]], list[list[Expr]], Sums]:
    """Give symbols for what steps 7, 8 and 9 hand on: jR_k, jr_Ok/Oj and the sums."""
    n = len(links)
    tables = [[ca.SX.eye(3) for _ in range(n)] for _ in range(n)]
    places = [[ca.SX(3, 1) for _ in range(n)] for _ in range(n)]
    for j in range(n):
        for k in range(j + 1, n):
            tables[j][k] = R[k] if k == j + 1 else _symbols("R", 3, 3)
            tables[k][j] = tables[j][k].T
            if j:
                places[j][k] = links[j].r if k == j + 1 else _symbols("r", 3)
    known = sums(links, tables, places)
    # a matrix that is structurally zero stays so
    names = [field.name for field in fields(Sums)]
    matrices = [[[_like(x) for x in row] for row in getattr(known, name)] for name in names]
    return tables, places, Sums(**dict(zip(names, matrices, strict=True)))


def printed_lines(n: int, m: int) -> dict[str, tuple[float, float]]:
    """Add up the operations that the paper prints beside each line of steps 9 and 10 (n_f = n)."""
    pairs, inner = n * (n - 1) / 2, (n - 1) * (n - 2) / 2  # j < k up to n, up to n - 1
    lines: dict[str, list[tuple[float, int, int]]] = {
        "sigma or xi": [(n - 1, 27, 27), (pairs, 27, 18)],
        "psi": [(n - 1, 18, 9), (inner, 63, 45), (pairs, 27, 18)],
        "lambda": [(1, 3, 0), (n - 2, 3, 3), (inner, 27, 18)],
        "gamma": [(n - 1, 18, 9), (inner, 27, 18), (inner, 51, 36)],
        "k+ of xi": [(n * (n - 1), 27, 18)],
        "U": [(n, 18, 18), (n * (n - 2), 45, 45)],
        "V": [(n - 1, 18, 9), ((n - 1) * (n - 3), 45, 36)],
        "k+ of sigma, psi, U": [(3 * n * (n - 1), 27, 18)],
        "j+ of these and gamma": [(5 * (n - 1) ** 2, 27, 18)],
        "joint in joint": [(pairs, 0, 18), (n - 1, 0, 9)],
        "deflection in joint": [
            (pairs * m, 18, 42), ((n - 1) * m, 18, 45), (inner * m, 42, 63), ((n - 1) * m, 24, 18)
        ],
        "deflection in deflection": [
            ((n - 1) * m**2, 42, 72), (inner * m**2, 84, 107), ((n - 1) * m**2, 48, 35)
        ],
    }  # fmt: skip
    return {
        name: (sum(x * M for x, M, _ in parts), sum(x * A for x, _, A in parts))
        for name, parts in lines.items()
    }


def _counted_lines(n: int, flexible: int, m: int) -> dict[str, Any]:
    """Count steps 9 and 10 line by line, each with what those before it have left to compute."""
    links = generic_chain(n, flexible, m)
    size = sum(1 + len(link.variables) for link in links[1:])
    R = [ca.SX.eye(3), *[_symbols("R", 3, 3) for _ in range(n)]]
    tables, places, summed = _generic_tables(links, R)
    s = sums(links, tables, places)
    groups: dict[str, tuple[Table, ...]] = {
        "sigma": (s.sigma,), "xi": (s.xi,), "psi": (s.psi,), "lambda": (s.lamda,),
        "gamma": (s.gamma,), "k+ of xi": (s.xi_k,), "U": (s.U,), "V": (s.V,),
        "k+ of sigma, psi, U": (s.sigma_k, s.psi_k, s.U_k),
        "j+ of these and gamma": (s.sigma_jk, s.xi_jk, s.psi_jk, s.U_jk, s.gamma_j),
    }  # fmt: skip
    step_9 = {name: [x for y in group for x in _links_only(y)] for name, group in groups.items()}
    I = inertia_matrix(links, tables, places, summed, size)
    joints = [link.hinge.coordinate for link in links[1:] if link.hinge is not None]
    others = [k for k in range(size) if k not in joints]
    step_10 = {
        "joint in joint": [ca.triu(I[joints, joints])],
        "deflection in joint": [I[joints, others]],
        "deflection in deflection": [ca.triu(I[others, others])],
    }
    printed = printed_lines(n, m)
    both = printed.pop("sigma or xi")
    counted = _increments(step_9) | _increments(step_10)
    return {
        "modes": m, "links": n, "counted": counted,
        "printed": {"sigma": both, "xi": both} | printed,
    }  # fmt: skip


def _increments(groups: dict[str, list[Expr]]) -> dict[str, tuple[int, int]]:
    """Count groups of results one after the other, what is shared with earlier ones once."""
    done: list[Expr] = []
    before, found = (0, 0), {}
    for name, group in groups.items():
        done = done + group
        now = _operations(done)
        found[name] = (now[0] - before[0], now[1] - before[1])
        before = now
    return found


def _integrals(flexible: int, m: int) -> tuple[int, int]:
    """Count eqs 24, 25 and 30-33 of all flexible links, which Table 1 leaves out."""
    constants = Constants(
        M=_symbols("M", 1), Mr=_symbols("Mr", 3), eps=_symbols("eps", 3, m),
        sc=_symbols("sc", m, m), c_jk=_symbols("c_jk", 3 * m, m), c_j=_symbols("c_j", 3, m),
        C_j=tuple(_symbols("C_j", 3, 3) for _ in range(m)), mC=_symbols("mC", 9 * m, m),
        C=_symbols("C", 3, 3),
    )  # fmt: skip
    body = beam(constants, _symbols("delta", m), _symbols("rate", m), delta_squared=True)
    found = _operations([body.B2, body.B3, body.B8, body.B9, body.alpha, *body.beta, body.c])
    return flexible * found[0], flexible * found[1]


def _dropped(name: str) -> dict[str, Any]:
    """Count the equations of a sample with and without the second order of B9."""
    model = build(sample(name))
    found = {}
    for what in ("mass_matrix", "bias"):
        both = [
            operation_counts(GibbsAppell(model, paper=True, delta_squared=keep), what)
            for keep in (True, False)
        ]
        found[what] = [x.multiplications + x.additions + x.divisions for x in both]
    return {"arm": name} | found


def _operations(results: list[Expr]) -> tuple[int, int]:
    """Count products and sums that take the symbols to the results."""
    outputs = [result for result in results if result.nnz()]
    function = ca.Function("step", [ca.vertcat(*ca.symvar(ca.veccat(*outputs)))], outputs)
    found = counts(lower(function))
    assert not found.divisions and not found.functions
    return found.multiplications, found.additions


def _symbols(name: str, *shape: int) -> Expr:
    return ca.SX.sym(name, *shape)


def _like(matrix: Expr) -> Expr:
    return _symbols("X", 3, 3) if matrix.nnz() else ca.SX(3, 3)


def _links_only(matrix: list[list[Expr]]) -> list[Expr]:
    return [x for row in matrix[1:] for x in row[1:]]


def _total(steps: Mapping[int, tuple[float, float]]) -> tuple[float, float]:
    return sum(x for x, _ in steps.values()), sum(x for _, x in steps.values())


def _pair(pair: tuple[float, float]) -> str:
    return f"{pair[0]:.0f} M, {pair[1]:.0f} A"


def _steps_table(rows: list[dict[str, Any]]) -> str:
    head = ["step"]
    for row in rows:
        size = f"n = {row['links']}, n_f = {row['flexible']}, m = {row['modes']}"
        head += [f"Table 1, {size}", "counted"]
    cells = [
        [str(k), *[_pair(x) for row in rows for x in (row["printed"][k], row["counted"][k])]]
        for k in TABLE_1
    ]
    totals = [_pair(x) for row in rows for x in (row["printed_total"], row["counted_total"])]
    cells.append(["all", *totals])
    cells.append(["eqs 24-33", *[x for row in rows for x in ("-", _pair(row["integrals"]))]])
    return table(head, cells)


def _lines_table(found: dict[str, Any]) -> str:
    head = [f"line, n = {found['links']}, m = {found['modes']}", "as printed", "counted"]
    cells = [
        [name, _pair(found["printed"][name]), _pair(pair)]
        for name, pair in found["counted"].items()
    ]
    return table(head, cells)


def _dropped_table(rows: list[dict[str, Any]]) -> str:
    cells = []
    for row in rows:
        cell = [row["arm"]]
        for what in ("mass_matrix", "bias"):
            whole, less = row[what]
            cell += [f"{whole}", f"{less}", f"{100 * (whole - less) / whole:.1f} %"]
        cells.append(cell)
    head = ["arm", "M", "M without", "saved", "c", "c without", "saved"]
    return table(head, cells)


if __name__ == "__main__":
    main()
