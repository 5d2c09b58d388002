"""How many operations do flexarm's equations take, and how does that compare with published counts?

Counts forward dynamics on the arms that Korayem & Shafei (2009) and Book (1984) have formulas for,
the mass matrix on the arms of Theodore & Ghosal (1995), Table 2, and how both grow.
"""

import argparse
import json
import math
from pathlib import Path
from typing import Any

from chains import flexible_chain
from flexarm.arm import Arm
from flexarm.engine.stream import OperationCounts
from flexarm.formulations import formulation
from flexarm.io.model_file import example_arm
from flexarm.model import build
from flexarm.studies.compare import operation_counts
from flexarm_papers.korayem.counts import book, korayem_shafei
from flexarm_papers.theodore.counts import PRINTED_2
from report import table, write

# Links, flexible links and modes of the arms; what forward dynamics is to take at most.
COUNTED = {
    "count-2-2-2": (2, 2, 2, 300),
    "count-3-2-2": (3, 2, 2, 1450),
    "count-6-6-3": (6, 6, 3, 6600),
}
LINKS = (4, 10, 20, 100)
ELEMENTS = (5, 10, 20)  # per link, two coordinates each


def main() -> None:
    """Count, print the tables, and write them where that was asked for."""
    parser = argparse.ArgumentParser(description="Count operations against published counts.")
    parser.add_argument("--quick", action="store_true", help="the smallest case of each table")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the numbers as JSON")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the page")
    args = parser.parse_args()

    found = {
        "forward_dynamics": _forward(list(COUNTED)[: 1 if args.quick else None]),
        "mass_matrix": _mass(list(PRINTED_2)[: 1 if args.quick else None]),
        "links": _links(LINKS[: 1 if args.quick else None]),
        "coordinates": _coordinates(ELEMENTS[: 1 if args.quick else None], quick=args.quick),
    }
    page = _page(found)
    print(page)
    if args.out is not None:
        write(args.out, json.dumps(found, indent=2) + "\n")
    if args.markdown is not None:
        write(args.markdown, page)


def _count(arm: Arm, name: str, what: str, *, stiffening: bool) -> OperationCounts:
    return operation_counts(formulation(name, build(arm, stiffening=stiffening)), what)


def _total(found: OperationCounts) -> int:
    return found.multiplications + found.additions + found.divisions


def _numbers(found: OperationCounts) -> dict[str, int]:
    return {
        "multiplications": found.multiplications,
        "additions": found.additions,
        "divisions": found.divisions,
        "functions": sum(found.functions.values()),
        "total": _total(found),
    }


def _forward(names: list[str]) -> list[dict[str, Any]]:
    rows = []
    for name in names:
        n, nf, m, aim = COUNTED[name]
        for stiffening in (False, True):
            both = {
                kind: _numbers(
                    _count(example_arm(name), kind, "forward_dynamics", stiffening=stiffening)
                )
                for kind in ("articulated", "composite")
            }
            published = {"korayem_shafei": korayem_shafei(n, nf, m), "book": book(n, nf, m)}
            about = {"arm": name, "stiffening": stiffening, "aim": None if stiffening else aim}
            rows.append(about | both | published)
    return rows


def _mass(cells: list[tuple[str, str]]) -> list[dict[str, Any]]:
    rows = []
    for robot, kind in cells:
        base = f"tg-{robot.lower().replace(' with ', '-')}"
        suffix = "" if kind == "modes" else "-elements"
        one, two = (
            _numbers(
                _count(
                    example_arm(base + planes + suffix),
                    "composite",
                    "mass_matrix",
                    stiffening=False,
                )
            )
            for planes in ("", "-2planes")
        )
        cell = {"robot": robot, "kind": kind, "published": PRINTED_2[robot, kind]}
        rows.append(cell | {"one_plane": one, "two_planes": two})
    return rows


def _links(numbers: tuple[int, ...]) -> list[dict[str, Any]]:
    return [
        {
            "links": n,
            "stiffening": stiffening,
            "payload": payload,
            "total": _total(
                _count(
                    flexible_chain(n, payload=payload),
                    "articulated",
                    "forward_dynamics",
                    stiffening=stiffening,
                )
            ),
        }
        for stiffening, payload in ((False, False), (False, True), (True, False))
        for n in numbers
    ]


def _coordinates(elements: tuple[int, ...], *, quick: bool) -> list[dict[str, Any]]:
    rows = []
    for stiffening in (False,) if quick else (False, True):
        for count in elements:
            shapes = {"kind": "elements", "bending_y": count, "bending_z": 0}
            arm = flexible_chain(2, shapes=shapes)
            found = _count(arm, "articulated", "forward_dynamics", stiffening=stiffening)
            rows.append(
                {"coordinates": 2 * count, "stiffening": stiffening, "total": _total(found)}
            )
    return rows


def _page(found: dict[str, list[dict[str, Any]]]) -> str:
    parts = [
        "# Operation counts",
        _ABOUT,
        "## Forward dynamics",
        _FORWARD,
        _forward_table(found["forward_dynamics"]),
        "## Mass matrix",
        _MASS,
        _mass_table(found["mass_matrix"]),
        _WHY_NOT,
        "## Growth with the number of links",
        "The table is for chains of flexible links with three modes each, with joint axes turned "
        "by 0 and 90 degrees alternately, by `articulated`. Every further link takes the same "
        "number of operations. The first link takes fewer operations than the links between, and "
        "so does the last link unless it carries a payload. With stiffening, links that carry more "
        "have more nodes, so operations per link grow with the chain.",
        _link_table(found["links"]),
        "## Growth with the number of coordinates per link",
        "The table is for two links of finite elements that bend in one plane, by `articulated`. "
        "The exponent p means that operations grow like the number of coordinates per link to the "
        "power p.",
        _coordinate_table(found["coordinates"]),
    ]
    return "\n\n".join(parts) + "\n"


_ABOUT = """Made by `python benchmarks/operation_counts.py --markdown docs/operation-counts.md`;
do not edit. The counts are of the operations that flexarm compiles, with equal subexpressions
computed once: a square is a multiplication, twice a value an addition, a change of sign nothing.
Numbers of the arm are constants; numbers that differ from 0, 1 or each other only by rounding are
made equal. `flexarm count ARM` counts the operations of any arm."""

_FORWARD = """The table has the multiplications, additions, divisions and functions (sines and
cosines) that compute accelerations from coordinates, rates and torques; the total leaves the
functions out. The arms are samples of flexarm, named by their numbers of links, flexible links and
modes per flexible link. Joint twists are 20 to 70 degrees (`count-2-2-2` is planar), modes are
clamped-free. Arms have gravity and no payload.

The formulas of Korayem & Shafei (2009) and of Book (1984, as Korayem & Shafei print them) hold for
any arm, but do not count the solution of the equations of motion for the accelerations.
Neither method has stiffening. Under n = 6, n_f = 6, m = 3 Korayem & Shafei print what the formulas
give for m = 2 (19557 and 18332; Book 25251 and 24569); this table evaluates the formulas
for m = 3."""

_MASS = """Multiplications and additions of the upper triangle of M by `composite`, against Table 2
and section 4.4 of Theodore & Ghosal (1995): links of two modes or two elements, no stiffening. A
division counts as a multiplication.

The paper does not say whether its links bend in one plane or in two. Algorithm 1 of the paper,
written out for RR with every entry multiplied out, takes 421 multiplications and 172 additions in
one plane and 1754 and 578 in two; the paper prints 405 and 168. Therefore arms that bend in one
plane are compared with the paper, beside arms that bend in two. The paper's tip rotation is I +
skew(angles); flexarm's is exact, which takes a division and a few products more."""

_WHY_NOT = """For some arms with a sliding link flexarm takes more operations than the paper prints:
points of the beam move along the shapes as it slides out, the part inside the hub has inertia, and
amplitudes, length and the previous link's rotation are coupled. [Closed-form
counts](closed-form-counts.md) has the cost of each term and the readings that lead to the paper's
counts."""


def _forward_table(rows: list[dict[str, Any]]) -> str:
    head = [
        "arm", "stiffening", "articulated", "total", "aim", "composite, total",
        "Korayem & Shafei", "Book", "Korayem & Shafei / articulated",
    ]  # fmt: skip
    cells = []
    for row in rows:
        own = row["articulated"]
        aim = row["aim"]
        reached = "" if aim is None else f"{aim}: {'reached' if own['total'] <= aim else 'missed'}"
        ks, other = row["korayem_shafei"], row["book"]
        cells.append(
            [
                row["arm"],
                "on" if row["stiffening"] else "off",
                f"{own['multiplications']} M, {own['additions']} A, {own['divisions']} D, "
                f"{own['functions']} F",
                str(own["total"]),
                reached,
                str(row["composite"]["total"]),
                f"{ks[0]:.0f} M, {ks[1]:.0f} A",
                f"{other[0]:.0f} M, {other[1]:.0f} A",
                f"{sum(ks) / own['total']:.1f}",
            ]
        )
    return table(head, cells)


def _mass_table(rows: list[dict[str, Any]]) -> str:
    head = ["robot", "links of", "Theodore & Ghosal", "one plane", "beaten", "two planes"]
    cells = []
    for row in rows:
        one, two = row["one_plane"], row["two_planes"]
        m, a = row["published"]
        mine = (one["multiplications"] + one["divisions"], one["additions"])
        verdict = "yes" if mine[0] < m and mine[1] < a else "no"
        if verdict == "no" and sum(mine) < m + a:
            verdict = "in total only"
        if verdict != "yes" and "P" in row["robot"].partition(" ")[0]:
            verdict += ": sliding link, see below"
        cells.append(
            [
                row["robot"],
                row["kind"],
                f"{m} M, {a} A",
                f"{mine[0]} M, {mine[1]} A",
                verdict,
                f"{two['multiplications'] + two['divisions']} M, {two['additions']} A",
            ]
        )
    return table(head, cells)


def _link_table(rows: list[dict[str, Any]]) -> str:
    few = {(row["stiffening"], row["payload"]): row for row in rows if row["links"] == 10}
    cells = []
    for row in rows:
        ten = few.get((row["stiffening"], row["payload"]))
        more = ["", ""]
        if ten is not None and row["links"] > 10:
            further = (row["total"] - ten["total"]) / (row["links"] - 10)
            more = [f"{further:.1f}", f"{row['total'] / ten['total']:.2f}"]
        words = ("on" if row["stiffening"] else "off", "yes" if row["payload"] else "no")
        cells.append([str(row["links"]), *words, str(row["total"]), *more])
    head = ["links", "stiffening", "payload", "operations", "per further link", "times those of 10"]
    return table(head, cells)


def _coordinate_table(rows: list[dict[str, Any]]) -> str:
    cells = []
    before: dict[bool, dict[str, Any]] = {}
    for row in rows:
        stiffening, size, total = row["stiffening"], row["coordinates"], row["total"]
        power = ""
        if stiffening in before:
            last, aim = before[stiffening], 2.1 if stiffening else 1.3
            p = math.log(total / last["total"]) / math.log(size / last["coordinates"])
            power = f"{p:.2f} (below {aim}: {'reached' if p < aim else 'missed'})"
        cells.append([str(size), "on" if stiffening else "off", str(total), power])
        before[stiffening] = row
    return table(["coordinates per link", "stiffening", "operations", "exponent"], cells)


if __name__ == "__main__":
    main()
