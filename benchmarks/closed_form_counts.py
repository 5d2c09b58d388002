"""How long is the closed-form inertia matrix of Theodore & Ghosal's arms?

Counts Algorithm 1 of Theodore & Ghosal (1995) with the paper's kinematics (links bend, tips turn by
I + skew), as it is compiled and with every entry multiplied out, beside the counts of its Table 2.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from flexarm.closed_forms.equations import closed_form
from flexarm.errors import FlexarmError
from flexarm.formulations.composite import Composite
from flexarm.formulations.equation import Equation
from flexarm.formulations.lagrange import Lagrange
from flexarm.io.model_file import example_arm
from flexarm.model import Model, build
from flexarm.studies.compare import operation_counts
from flexarm_papers.theodore.counts import PRINTED_2, cell_grid, count, off
from flexarm_papers.theodore.written import written_out
from report import table, write


def main() -> None:
    """Count, print the page, and write it where that was asked for."""
    parser = argparse.ArgumentParser(description="Count closed-form inertia matrices.")
    parser.add_argument("--quick", action="store_true", help="the smallest case only")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the numbers as JSON")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the page")
    args = parser.parse_args()
    rows = [_row(robot, kind) for robot, kind in list(PRINTED_2)[: 1 if args.quick else None]]
    parts = ["# Closed-form inertia matrices", _ABOUT, _table(rows)]
    parts += ["## How entries were written", _NEAREST, _nearest_table(rows), _SHOWN]
    page = "\n\n".join(parts) + "\n"
    print(page)
    if args.out is not None:
        write(args.out, json.dumps({"mass_matrix": rows}, indent=2) + "\n")
    if args.markdown is not None:
        write(args.markdown, page)


def _row(robot: str, kind: str) -> dict[str, Any]:
    base = f"tg-{robot.lower().replace(' with ', '-')}"
    name = base + ("" if kind == "modes" else "-elements")
    model = build(example_arm(name))
    return {
        "robot": robot,
        "kind": kind,
        "published": PRINTED_2[robot, kind],
        "written_out": _written_out(Lagrange.paper_model(model)),
        "compiled": _compiled(Lagrange(model, paper=True)),
        "exact": _compiled(Lagrange(model)),
        "composite": _compiled(Composite(model)),
        "nearest": _nearest(robot, kind),
    }


def _nearest(robot: str, kind: str) -> dict[str, Any]:
    """Return the reading whose counts come nearest to the printed ones."""
    tried = cell_grid(robot, kind).readings()
    best = min(tried, key=lambda x: off(robot, kind, x))
    first = dict(tried[0].taken)
    how = ", ".join(f"{name}: {way}" for name, way in best.taken if way != first[name])
    return {"tried": len(tried), "count": count(robot, kind, best),
            "off": off(robot, kind, best) / 100, "how": how or "multiplied out"}  # fmt: skip


def _nearest_table(rows: list[dict[str, Any]]) -> str:
    cells = [
        [row["robot"], row["kind"], _pair(row["published"]), _pair(row["nearest"]["count"]),
         f"{100 * row['nearest']['off']:.0f} %", str(row["nearest"]["tried"]),
         row["nearest"]["how"]]
        for row in rows
    ]  # fmt: skip
    return table(
        ["robot", "links of", "Theodore & Ghosal", "nearest", "off", "tried", "how"], cells
    )


def _pair(count: tuple[int, int]) -> str:
    return "{} M, {} A".format(*count)


def _written_out(model: Model) -> tuple[int, int] | None:
    try:
        equations = closed_form(model)
    except FlexarmError:
        return None
    angles = [g.of for g in equations.generators if g.kind == "sum"]
    entries = [row[j] for i, row in enumerate(equations.M) for j in range(i, len(row))]
    return written_out(angles + entries)


def _compiled(form: Lagrange | Composite) -> tuple[int, int]:
    found = operation_counts(Equation.of(form), "mass_matrix")
    return found.multiplications + found.divisions, found.additions


def _table(rows: list[dict[str, Any]]) -> str:
    keys = ("published", "written_out", "compiled", "exact", "composite")
    head = ["robot", "links of", "Theodore & Ghosal", "written out", "compiled", "exact tips"]
    cells = [
        [row["robot"], row["kind"], *["-" if row[k] is None else _pair(row[k]) for k in keys]]
        for row in rows
    ]  # fmt: skip
    return table([*head, "composite"], cells)


_ABOUT = """Made by `python benchmarks/closed_form_counts.py --markdown docs/closed-form-counts.md`;
do not edit. The tables count operations of the upper triangle of M for the arms of Theodore &
Ghosal (1995), Table 2 and section 4.4, whose links have two modes or two elements and bend in one
plane. A division counts as a multiplication; sines and cosines do not count.

- *Theodore & Ghosal*: the counts that the paper prints.
- *written out*: the paper's kinematics. Every entry is a sum of products, like terms joined,
  nothing shared between entries (`flexarm equations ARM --tip-rotation first-order`).
- *compiled*: the same matrix by `lagrange` with `paper=True`, as Algorithm 1 builds it, equal
  subexpressions shared.
- *exact tips*: as *compiled*, with exact tip rotations.
- *composite*: the recursion, without closed-form expressions."""

_NEAREST = """The paper says that numbers are inserted before entries are formed, and that matrices
of elements are summed. The paper does not say how terms were joined, factored or truncated. So the
integrals of the paper's Algorithm 1 are computed again, by independent code
(`flexarm_papers.theodore.robot`), under all combinations of these choices: terms joined per entry,
body or element; first or all orders in the deflections; factored or not; tip angles named or
multiplied out. RRR is tried with three arrangements of its axes, RP and RRP with and without the
part in the hub, and with points that move along the shapes or stay. *Off* is the larger of the
relative differences of multiplications and additions. The readings are those of `flexarm reproduce
theodore-1995 --item table-2`, where counts within 5 % agree: two of the paper's ten counts agree in
some reading, eight in none. Modes are clamped-mass modes with the outboard masses at the tip; two
such modes are not orthogonal."""

_SHOWN = """Counts of elements come near the paper's only to first order in the deflections, counts
of modes mostly with all orders. A truncation to first order explains the paper's lower counts for
elements. `composite` takes more operations for RP, since it includes the motion of points along the
shapes and the change of the integrals with the length."""


if __name__ == "__main__":
    main()
