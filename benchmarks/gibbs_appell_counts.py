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

from flexarm.formulations.equation import Equation
from flexarm.formulations.gibbs_appell.chain import Constants, beam
from flexarm.formulations.gibbs_appell.formulation import GibbsAppell
from flexarm.io.model_file import example_arm
from flexarm.model import build
from flexarm.studies.compare import operation_counts
from flexarm_papers.korayem.counts import TABLE_1, added
from gibbs_appell_ledger import Cost, differences, ledger_9, ledger_10, less
from gibbs_appell_steps import counted_steps, operations, symbols
from report import table, write

CASES = ((3, 2, 2), (6, 6, 2), (6, 6, 3))  # links, flexible links, modes
DROPPED = ("count-2-2-2", "count-3-2-2", "count-6-6-3")
START, END = "<!-- counted -->", "<!-- end of counted -->"


SHOWN = 2  # sizes of arms on the page, which the paper's Table 2 prints; JSON has all


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
        "lines": ledger_9(*cases[-1]).costs() | ledger_10(*cases[-1]).costs(),
        "delta_squared": [_dropped(name) for name in arms],
    }
    parts = [
        _steps_table(found["steps"][:SHOWN]),
        _differences_table(found["steps"][:SHOWN]),
        _dropped_table(found["delta_squared"]),
    ]
    text = "\n\n".join(parts)
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
    why = differences(n, flexible, m)
    left = [less(steps[k], added([printed[k], *why[k].values()])) for k in steps]
    return {
        "links": n, "flexible": flexible, "modes": m, "counted": steps, "printed": printed,
        "differences": why, "left": added([(abs(x), abs(y)) for x, y in left]),
        "integrals": _integrals(flexible, m),
        "counted_total": added(steps.values()), "printed_total": added(printed.values()),
    }  # fmt: skip


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
    model = build(example_arm(name))
    found = {}
    for what in ("mass_matrix", "bias"):
        both = [
            operation_counts(Equation.of(GibbsAppell(model, paper=True, delta_squared=keep)), what)
            for keep in (True, False)
        ]
        found[what] = [x.multiplications + x.additions + x.divisions for x in both]
    return {"arm": name} | found


def _pair(pair: Cost, sign: str = "") -> str:
    if sign and not any(pair):
        return NOTHING
    return f"{pair[0]:{sign}.0f} M, {pair[1]:{sign}.0f} A"


def _size(row: Mapping[str, Any]) -> str:
    return f"n = {row['links']}, n_f = {row['flexible']}, m = {row['modes']}"


def _steps_table(rows: list[dict[str, Any]]) -> str:
    head = ["step"]
    for row in rows:
        head += [f"Table 1, {_size(row)}", "counted"]
    cells = [
        [str(k), *[_pair(x) for row in rows for x in (row["printed"][k], row["counted"][k])]]
        for k in TABLE_1
    ]
    totals = [_pair(x) for row in rows for x in (row["printed_total"], row["counted_total"])]
    cells.append(["all", *totals])
    cells.append(["eqs 24-33", *[x for row in rows for x in ("-", _pair(row["integrals"]))]])
    return table(head, cells)


def _differences_table(rows: list[dict[str, Any]]) -> str:
    """Tabulate what takes Table 1 to the count; what is left over comes last."""
    cells = []
    for step in TABLE_1:
        for why in rows[0]["differences"][step]:
            found = [_pair(row["differences"][step][why], "+") for row in rows]
            if any(each != NOTHING for each in found):
                cells.append([str(step), why, *found])
    left = [_pair(row["left"], "+") for row in rows]
    cells.append(["all", "not explained", *left])
    return table(["step", "why", *[_size(row) for row in rows]], cells)


NOTHING = "-"


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
