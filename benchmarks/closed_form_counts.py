"""How long is the closed-form inertia matrix of Theodore & Ghosal's arms?

Counts Algorithm 1 of Theodore & Ghosal (1995) with the paper's kinematics (links bend, tips turn by
I + skew), as it is compiled and with every entry multiplied out, beside the counts of its Table 2.
"""

import argparse
import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from flexarm.closed_forms.equations import closed_form
from flexarm.errors import FlexarmError
from flexarm.formulations.composite import Composite
from flexarm.formulations.equation import Equation
from flexarm.formulations.lagrange import Lagrange
from flexarm.io.sample import sample
from flexarm.model import Model, build
from flexarm.studies.compare import operation_counts
from flexarm_papers.theodore.counts import PRINTED_2
from flexarm_papers.theodore.robot import inertia_count
from flexarm_papers.theodore.ways import TURNS, Way
from flexarm_papers.theodore.written import written_out
from report import table, write
from sliding_terms import DROPPED, count_without


def main() -> None:
    """Count, print the page, and write it where that was asked for."""
    parser = argparse.ArgumentParser(description="Count closed-form inertia matrices.")
    parser.add_argument("--quick", action="store_true", help="the smallest case only")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the numbers as JSON")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the page")
    args = parser.parse_args()
    rows = [_row(robot, kind) for robot, kind in list(PRINTED_2)[: 1 if args.quick else None]]
    dropped = [_without(*each) for each in list(NOT_BEATEN)[: 1 if args.quick else None]]
    parts = ["# Closed-form inertia matrices", _ABOUT, _table(rows)]
    parts += ["## How entries were written", _READINGS, _ways_table(rows), _NEAREST]
    parts += [_nearest_table(rows), _SHOWN, "## What a sliding link costs", _SLIDING]
    page = "\n\n".join([*parts, _dropped_table(dropped), _DROPPED, _REST]) + "\n"
    print(page)
    if args.out is not None:
        write(args.out, json.dumps({"mass_matrix": rows, "dropped": dropped}, indent=2) + "\n")
    if args.markdown is not None:
        write(args.markdown, page)


def _row(robot: str, kind: str) -> dict[str, Any]:
    base = f"tg-{robot.lower().replace(' with ', '-')}"
    name = base + ("" if kind == "modes" else "-elements")
    model = build(sample(name))
    return {
        "robot": robot,
        "kind": kind,
        "published": PRINTED_2[robot, kind],
        "written_out": _written_out(Lagrange.paper_model(model)),
        "compiled": _compiled(Lagrange(model, paper=True)),
        "exact": _compiled(Lagrange(model)),
        "composite": _compiled(Composite(model)),
        "named_ways": {name: inertia_count(robot, kind, way) for name, way in NAMED.items()},
        "nearest": _nearest(robot, kind),
    }


# Readings that are tried for every cell.
NAMED = {
    "multiplied out": Way(),
    "tip angles too": Way(named=False),
    "and bodies apart": Way(named=False, joined="body"),
    "and elements apart": Way(named=False, joined="element"),
    "that to first order": Way(named=False, joined="element", order=1),
    "factored": Way(nested=True),
}
NOT_BEATEN = (("RP", "modes"), ("RP", "elements"), ("RRP", "elements"))


def ways(robot: str, kind: str) -> Iterator[Way]:
    """List the readings that are tried for a cell of Table 2."""
    arm = robot.partition(" ")[0]
    slides = arm.endswith("P")
    for name, terms, joined, order, factored, named in product(
        [reading for each, reading in TURNS if each == arm],
        list(product((True, False), repeat=2)) if slides else [(True, True)],
        ("entry", "body", "element") if kind == "elements" else ("entry", "body"),
        (9, 1),
        (False, True),
        (True, False) if kind == "modes" else (True,),
    ):
        yield Way(arm=name, hub=terms[0], material=terms[1], joined=joined, order=order,
                  nested=factored, named=named)  # fmt: skip
    if arm == "RR":
        for named, order in product((True, False), (9, 1)):
            yield Way(planes=2, named=named, order=order)
            yield Way(identities=False, named=named, order=order)


def _nearest(robot: str, kind: str) -> dict[str, Any]:
    """Find the reading whose counts come nearest to the printed ones."""
    printed = PRINTED_2[robot, kind]
    tried = {way: inertia_count(robot, kind, way) for way in ways(robot, kind)}

    def off(way: Way) -> float:
        return max(abs(a / b - 1) for a, b in zip(tried[way], printed, strict=True))

    best = min(tried, key=off)
    return {"tried": len(tried), "count": tried[best], "off": off(best), "how": _words(best)}


def _words(way: Way) -> str:
    """Say what a reading has that the first one has not."""
    said = {
        way.arm: {"axis": "slides parallel to the joint axis", "parallel": "parallel axes",
                  "crossed": "axes crossed twice"}.get(way.arm, ""),
        "hub": "" if way.hub else "no part in the hub",
        "material": "" if way.material else "points at fixed places",
        "identities": "" if way.identities else "sines squared stay",
        "joined": "" if way.joined == "entry" else f"terms joined per {way.joined}",
        "order": "" if way.order > 1 else "first order in deflections",
        "nested": "factored" if way.nested else "",
        "named": "" if way.named else "tip angles multiplied out",
        "planes": "" if way.planes == 1 else "two planes",
    }  # fmt: skip
    return ", ".join(filter(None, said.values())) or "multiplied out"


def _without(robot: str, kind: str) -> dict[str, Any]:
    name = f"tg-{robot.lower()}" + ("" if kind == "modes" else "-elements")
    counts = {" and ".join(each) or "nothing": count_without(name, each) for each in DROPPED}
    return {"robot": robot, "kind": kind, "published": PRINTED_2[robot, kind], "counts": counts}


def _ways_table(rows: list[dict[str, Any]]) -> str:
    cells = [
        [row["robot"], row["kind"], _pair(row["published"]),
         *[_pair(count) for count in row["named_ways"].values()]]
        for row in rows
    ]  # fmt: skip
    return table(["robot", "links of", "Theodore & Ghosal", *NAMED], cells)


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


def _dropped_table(rows: list[dict[str, Any]]) -> str:
    cells = [
        [without, *[_pair(row["counts"][without]) for row in rows]] for without in rows[0]["counts"]
    ]
    cells.append(["Theodore & Ghosal", *[_pair(row["published"]) for row in rows]])
    return table(["without", *[f"{row['robot']}, {row['kind']}" for row in rows]], cells)


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

_READINGS = """The paper says that numbers are put in before entries are formed, and that
matrices of elements are summed; not how terms were joined, factored or cut off. So the integrals
of its Algorithm 1 are formed once more (`flexarm_papers.theodore.robot`, no code shared with
the columns above), under readings that go one step further from column to column:

- *multiplied out*: as *written out* above, without the hubs of revolute joints, which add
  numbers;
- *tip angles too*: the angle of a tip is not worked out once, its terms are multiplied into
  entries;
- *and bodies apart*: like terms are joined within the matrix of a link, of the part in a hub or
  of the payload; these matrices are then added as they are;
- *and elements apart*: the same for every element;
- *that to first order*: and terms of second and higher order in the deflections are left out;
- *factored*: as the first, each entry factored by its most frequent factor, and so on inside."""

_NEAREST = """For every cell all combinations of these were tried: joining per entry, body or
element, first or all orders, factored or not, tip angles named or not; for RR also two planes and
squares of sines left as they are; for RRR three arrangements of its axes; for RP and RRP a beam
that slides across link 1 or 2 in its plane of turning or parallel to its joint's axis (not along
it: by eqs. 1 and 6 a revolute link lies along x and the next one slides along z), with and without
the part in the hub, with points that move along the shapes or stay at fixed places. *Off* is the
larger of both relative differences. Among so many combinations one may come near by chance."""

_SHOWN = """What this shows, and what not:

- **RR of modes, with and without payload.** One reading gives both within 5 %: tip angles
  multiplied out, bodies apart (425 M, 174 A and 924 M, 376 A). In that reading the payload more
  than doubles the count because its matrix is not joined with that of link 2; joined, RR with a
  payload takes 499 M and 202 A.
- **Elements.** To all orders in the deflections RR takes at least 291 M and 197 A (factored),
  printed are 156 and 80. To first order, with elements apart, it takes 160 M and 87 A, RR with a
  payload 200 and 111, RRP with bodies apart 393 and 126. Within a column elements take more
  operations than modes, since they have twice the coordinates, RR with a payload excepted where
  tip angles are multiplied out. That they take less than half as many, as the paper finds for RR,
  comes out among these readings only if modes are written to all orders and elements to the first.
- **RRR** is not reached by any of these: 20 % off for modes, 19 % for elements, whatever the
  axes. RRP of modes is 14 % off.
- **RP.** Elements are met within 6 % by a beam parallel to the axis of link 1's joint, to first
  order: an arm in which most couplings vanish. For a beam across link 1 in its plane of turning, as
  in the samples, the nearest are 22 % off for modes and 18 % for elements. The paper does not say
  which of both it is."""

_SLIDING = """RP is not beaten by `composite`, and RRP of elements in multiplications and in total
but not in additions. Counted here is the same matrix with terms of the sliding link left out, one
at a time and together: the part in the hub; the motion of points along the shapes as the beam
slides out; the change of the integrals with the length, which is held at half the beam's; and all
deflections."""

_DROPPED = """RP of modes takes fewer multiplications than the paper prints without the motion
along the shapes, or without the length in the integrals; additions stay above until the
deflections are left out. RRP of elements is below in additions too without the motion along the
shapes. RP of elements is below only without the deflections: they couple four amplitudes, the
length and the turning of the link before with one another, and even with the length held and
points at fixed places these products take more than the paper prints."""

_REST = """*Compiled* keeps the products of transformations as they are, in world axes with the
first joint's angle, which drops out of *written out* when terms are joined; on the other hand
entries share factors. *Exact tips* take fewer operations than first-order ones in most rows: I +
skew is no rotation, so the world axes do not drop out of the points' own part of M."""


if __name__ == "__main__":
    main()
