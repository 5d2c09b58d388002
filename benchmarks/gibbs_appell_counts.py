"""How many operations do the steps of Korayem & Shafei (2009) take, counted on their generic model?

Every constant is a symbol, so that no zero and no one can be saved on; each step is counted from
symbols for what it takes to what it gives, and stands beside the formulas of their Table 1.
"""

import argparse
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import casadi as ca

from flexarm.analysis.operations import operation_counts
from flexarm.formulations.gibbs_appell import GibbsAppell
from flexarm.formulations.gibbs_appell_steps import Table, inertia_matrix, sums
from flexarm.formulations.gibbs_appell_terms import Constants, beam
from flexarm.io.sample import sample
from flexarm.model import build
from flexarm.papers.korayem_counts import (
    TABLE_1,
    counted_steps,
    generic_chain,
    generic_tables,
    links_only,
    operations,
    symbols,
)
from flexarm.spatial import Expr
from report import table, write

CASES = ((3, 2, 2), (6, 6, 2), (6, 6, 3))  # links, flexible links, modes
DROPPED = ("count-2-2-2", "count-3-2-2", "count-6-6-3")
START, END = "<!-- counted -->", "<!-- end of counted -->"


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


def _counted(n: int, flexible: int, m: int) -> dict[str, Any]:
    """Count every step for one size of arm."""
    steps = counted_steps(n, flexible, m)
    printed = {k: TABLE_1[k](n, flexible, m) for k in TABLE_1}
    sizes = {"links": n, "flexible": flexible, "modes": m}
    return sizes | {
        "counted": steps, "printed": printed, "integrals": _integrals(flexible, m),
        "counted_total": _total(steps), "printed_total": _total(printed),
    }  # fmt: skip


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
    R = [ca.SX.eye(3), *[symbols("R", 3, 3) for _ in range(n)]]
    tables, places, summed = generic_tables(links, R)
    s = sums(links, tables, places)
    groups: dict[str, tuple[Table, ...]] = {
        "sigma": (s.sigma,), "xi": (s.xi,), "psi": (s.psi,), "lambda": (s.lamda,),
        "gamma": (s.gamma,), "k+ of xi": (s.xi_k,), "U": (s.U,), "V": (s.V,),
        "k+ of sigma, psi, U": (s.sigma_k, s.psi_k, s.U_k),
        "j+ of these and gamma": (s.sigma_jk, s.xi_jk, s.psi_jk, s.U_jk, s.gamma_j),
    }  # fmt: skip
    step_9 = {name: [x for y in group for x in links_only(y)] for name, group in groups.items()}
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
        now = operations(done)
        found[name] = (now[0] - before[0], now[1] - before[1])
        before = now
    return found


def _integrals(flexible: int, m: int) -> tuple[int, int]:
    """Count eqs 24, 25 and 30-33 of all flexible links, which Table 1 leaves out."""
    constants = Constants(
        M=symbols("M", 1), Mr=symbols("Mr", 3), eps=symbols("eps", 3, m),
        sc=symbols("sc", m, m), c_jk=symbols("c_jk", 3 * m, m), c_j=symbols("c_j", 3, m),
        C_j=tuple(symbols("C_j", 3, 3) for _ in range(m)), mC=symbols("mC", 9 * m, m),
        C=symbols("C", 3, 3),
    )  # fmt: skip
    body = beam(constants, symbols("delta", m), symbols("rate", m), delta_squared=True)
    found = operations([body.B2, body.B3, body.B8, body.B9, body.alpha, *body.beta, body.c])
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
