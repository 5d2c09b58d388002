"""How long is the closed-form inertia matrix of Theodore & Ghosal's arms?

Counts Algorithm 1 of Theodore & Ghosal (1995) with the paper's kinematics (links bend, tips turn by
I + skew), as it is compiled and with every entry multiplied out, beside the counts of its Table 2.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from flexarm.analysis.equations import closed_form
from flexarm.analysis.operations import operation_counts
from flexarm.analysis.polynomials import Polynomial
from flexarm.errors import FlexarmError
from flexarm.formulations.composite import Composite
from flexarm.formulations.lagrange import Lagrange, paper_model
from flexarm.io.sample import sample
from flexarm.model import Model, build
from flexarm.papers.theodore import PRINTED_2
from report import table, write


def main() -> None:
    """Count, print the page, and write it where that was asked for."""
    parser = argparse.ArgumentParser(description="Count closed-form inertia matrices.")
    parser.add_argument("--quick", action="store_true", help="the smallest case only")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the numbers as JSON")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the page")
    args = parser.parse_args()
    rows = [_row(robot, kind) for robot, kind in list(PRINTED_2)[: 1 if args.quick else None]]
    page = "\n\n".join(["# Closed-form inertia matrices", _ABOUT, _table(rows), _WHY]) + "\n"
    print(page)
    if args.out is not None:
        write(args.out, json.dumps({"mass_matrix": rows}, indent=2) + "\n")
    if args.markdown is not None:
        write(args.markdown, page)


def written_out(entries: list[Polynomial]) -> tuple[int, int]:
    """Count multiplications and additions of polynomials term by term, nothing shared.

    A power is repeated multiplication, a negative one a division, which counts as one.
    """
    multiplications = additions = 0
    for entry in entries:
        additions += max(len(entry) - 1, 0)
        for powers, x in entry.items():
            factors = sum(abs(power) for _, power in powers)
            if factors:
                multiplications += factors - 1 + (abs(x) != 1.0)
    return multiplications, additions


def _row(robot: str, kind: str) -> dict[str, Any]:
    base = f"tg-{robot.lower().replace(' with ', '-')}"
    name = base + ("" if kind == "modes" else "-elements")
    model = build(sample(name))
    return {
        "robot": robot,
        "kind": kind,
        "published": PRINTED_2[robot, kind],
        "written_out": _written_out(paper_model(model)),
        "compiled": _compiled(Lagrange(model, paper=True)),
        "exact": _compiled(Lagrange(model)),
        "composite": _compiled(Composite(model)),
    }


def _written_out(model: Model) -> tuple[int, int] | None:
    try:
        equations = closed_form(model)
    except FlexarmError:
        return None
    angles = [g.of for g in equations.generators if g.kind == "sum"]
    entries = [row[j] for i, row in enumerate(equations.M) for j in range(i, len(row))]
    return written_out(angles + entries)


def _compiled(eq: Lagrange | Composite) -> tuple[int, int]:
    found = operation_counts(eq, "mass_matrix")
    return found.multiplications + found.divisions, found.additions


def _table(rows: list[dict[str, Any]]) -> str:
    keys = ("published", "written_out", "compiled", "exact", "composite")
    head = ["robot", "links of", "Theodore & Ghosal", "written out", "compiled", "exact tips"]
    cells = [
        [row["robot"], row["kind"], *["-" if row[k] is None else "{} M, {} A".format(*row[k])
                                      for k in keys]]
        for row in rows
    ]  # fmt: skip
    return table([*head, "composite"], cells)


_ABOUT = """Made by `python benchmarks/closed_form_counts.py --markdown docs/closed-form-counts.md`;
do not edit. Multiplications and additions of the upper triangle of M for the arms of Theodore &
Ghosal (1995), Table 2 and section 4.4, links of two modes or two elements, bending in one plane. A
division counts as a multiplication; sines and cosines are left out.

- *Theodore & Ghosal*: what the paper prints.
- *written out*: the paper's kinematics; every entry a sum of products in sines, cosines, tip angles
  and amplitudes, like terms joined, squares of sines rewritten, nothing shared between entries
  (`flexarm equations ARM --tip-rotation first-order`).
- *compiled*: the same matrix by `lagrange` with `paper=True`, as Algorithm 1 builds it from
  transformations and their derivatives, equal subexpressions shared.
- *exact tips*: as *compiled*, with exact rotations of the tips.
- *composite*: the recursion that does not write anything out."""

_WHY = """Where they differ:

- *Written out* is the column to compare with modes: Algorithm 1 asks for sums of products. How far
  the paper's program joined like terms is not said. Joined less far, RR takes 415 multiplications
  and 169 additions (see [operation counts](operation-counts.md)), the paper's 405 and 168. With a
  payload the paper's count for RR more than doubles; with like terms joined, a payload changes
  coefficients and adds the terms of its own tip only.
- Elements: the paper has fewer operations than for modes, since the tip's place and slope are
  coordinates there. Here it is the other way: two elements have twice the coordinates of two modes,
  and so more entries. The paper does not say how its entries are written; nested instead of
  multiplied out they can be as short as `composite` shows.
- RP and RRP: the paper's counts for RP are below those of its own Algorithm 1, which takes 345
  multiplications and 111 additions for modes if the beam slides across link 1 in the plane of
  turning. Counted here are also the part of the beam in the hub and the motion of its points along
  the shapes, which a derivative at a fixed place misses. Elements on a sliding link stretch with
  its length, so every integral is a polynomial of the length.
- *Compiled* keeps the products of transformations as they are, in world axes with the first joint's
  angle, which drops out of *written out* when terms are joined; on the other hand entries share
  factors.
- *Exact tips* take fewer operations than first-order ones in most rows: I + skew is no rotation, so
  the world axes do not drop out of the points' own part of M."""


if __name__ == "__main__":
    main()
