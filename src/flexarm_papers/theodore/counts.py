"""Theodore & Ghosal 1995, section 4.4: operations and numbers of equations."""

import math
from functools import cache

import numpy as np

from flexarm.formulations import formulation
from flexarm.io.model_file import example_arm
from flexarm.model import Model, build
from flexarm.studies.compare import operation_counts
from flexarm_papers.base import Found, Table
from flexarm_papers.korayem.counts import book
from flexarm_papers.readings import Choice, Grid, Reading, Scope, ways
from flexarm_papers.runs import changed
from flexarm_papers.statements import Limit, Statement, decide, search, undecidable
from flexarm_papers.theodore.robot import inertia_count
from flexarm_papers.theodore.ways import SPHERICAL, TURNS, Way
from flexarm_papers.theodore.written import Count

# Table 2 and section 4.4: multiplications and additions of the inertia matrix.
PRINTED_2 = {
    ("RR", "modes"): (405, 168),
    ("RRR", "modes"): (878, 376),
    ("RP", "modes"): (103, 42),
    ("RRP", "modes"): (743, 284),
    ("RR with payload", "modes"): (909, 366),
    ("RR", "elements"): (156, 80),
    ("RRR", "elements"): (592, 237),
    ("RP", "elements"): (88, 33),
    ("RRP", "elements"): (376, 128),
    ("RR with payload", "elements"): (178, 98),
}
LI_SANKAR = {"RR": (44, 49), "RRR": (92, 102)}
BOOK = {"RR": ((2, 2, 2), (3755, 3665)), "RRR": ((3, 2, 2), (4922, 4851))}
ALMOST = Limit(math.sqrt(10.0), 10.0, "times")  # half an order to an order: "almost an order"
CLOSE = Limit(high=5.0, unit="%")  # of a count: the same
FEWER, MORE = Limit(high=1.0, unit="times"), Limit(low=1.0, unit="times")
LOWER = Limit(high=2 / 3, unit="times")  # "significantly lower": by a third
JOINED, POWERS, TIPS = "like terms joined within", "powers of deflections", "angles of tips"
ENTRIES, ARM, HUB, POINTS = "entries", "arm", "part of the beam in the hub", "points of the beam"
BEND, PLANES = "links bend in", {"one plane": 1, "two planes": 2}
MIXED = "all of modes, the first of elements"
ARMS = {
    "as in the sample": "",
    "all axes parallel": "parallel",
    "axes crossed twice": "crossed",
    "slides parallel to the joint's axis": "axis",
}
WRITTEN = (
    ways(JOINED, "an entry", "a body", "an element"),
    ways(POWERS, "all", "the first"),
    ways(TIPS, "worked out once", "multiplied out"),
    ways(ENTRIES, "multiplied out", "factored"),
    ways(BEND, *PLANES),
)
SLIDING = (ways(HUB, "counts", "does not"), ways(POINTS, "along the shapes", "at fixed places"))
FORMULAS, AS_PRINTED = "Book's formulas in Korayem & Shafei 2009", "as they stand there"
BOOKS = Grid((ways(FORMULAS, AS_PRINTED, "a factor m less in two terms of each"),))
ROOTS, COUNTED = "equations of the roots (section 4.2)", "count"
ROOTED = Grid((ways(ROOTS, COUNTED, "do not"),))


def _all(*choices: Choice) -> Grid:
    """Vary everything together: counting takes little time."""
    return Grid(choices, (tuple(each.name for each in choices),))


LI_SANKAR_GRID = _all(*WRITTEN[1:3], WRITTEN[-1])
BOTH = _all(WRITTEN[0], ways(POWERS, "all", "the first", MIXED), *WRITTEN[2:])
SHAPES, KINDS = "links of", {"modes": "", "elements": "-elements"}
ROBOTS = ("RR", "RRR", "RP", "RRP", "RR with payload")
EFFICIENT = _all(ways(SHAPES, *KINDS), WRITTEN[-1])
# All that is open in some statement.
TABLE_2 = Grid((*BOTH.choices, ways(ARM, *ARMS), *SLIDING, *BOOKS.choices))


def cell_grid(robot: str, kind: str) -> Grid:
    """List what is open in a cell of Table 2."""
    arm = robot.partition(" ")[0]
    open_ = list(WRITTEN)
    if kind == "modes":
        open_[0] = ways(JOINED, "an entry", "a body")
    else:
        open_.pop(2)  # a tip's angle is a coordinate
    known = [name for name, turned in ARMS.items() if (arm, turned) in TURNS]
    if len(known) > 1:
        against = {"slides parallel to the joint's axis": SPHERICAL} if arm == "RRP" else {}
        open_.append(ways(ARM, *known, against=against))
    if arm.endswith("P"):
        open_ += SLIDING
    return _all(*open_)


def count(robot: str, kind: str, reading: Reading) -> Count:
    """Count the inertia matrix of a robot under a reading."""
    taken = dict(reading.taken)
    powers = taken.get(POWERS, "all")
    if powers == MIXED:
        powers = "the first" if kind == "elements" else "all"
    return _counted(robot, kind, Way(
        arm=ARMS[taken.get(ARM, "as in the sample")],
        hub=taken.get(HUB) != "does not",
        material=taken.get(POINTS) != "at fixed places",
        joined=taken.get(JOINED, "an entry").rpartition(" ")[2],
        order=9 if powers == "all" else 1,
        nested=taken.get(ENTRIES) == "factored",
        named=taken.get(TIPS) != "multiplied out",
        planes=PLANES[taken.get(BEND, "one plane")],
    ))  # fmt: skip


_counted = cache(inertia_count)


def table_2(scope: Scope) -> Found:
    """Count inertia matrices, written in every way that the paper leaves open."""
    cells = tuple(_cell(robot, kind, scope) for robot, kind in PRINTED_2)

    def books(reading: Reading) -> float:
        ours = [book(*size, printed=reading[FORMULAS] == AS_PRINTED) for size, _ in BOOK.values()]
        pairs = zip(ours, (printed for _, printed in BOOK.values()), strict=True)
        return 100 * max(abs(a / b - 1) for x, y in pairs for a, b in zip(x, y, strict=True))

    def share(reading: Reading) -> float:
        return max(_total(x, "elements", reading) / _total(x, "modes", reading) for x in ROBOTS)

    shares = [sum(PRINTED_2[x, "elements"]) / sum(PRINTED_2[x, "modes"]) for x in ROBOTS]
    head = ("robot", "links of", "printed", "multiplied out")
    rows = tuple((*key, _pair(x), _pair(count(*key, Reading()))) for key, x in PRINTED_2.items())
    return Found(
        (
            search("the counts of Book 1984", BOOKS.readings(scope), books, CLOSE,
                   "largest difference from Book's formulas there",
                   printed="3755 M, 3665 A; 4922 M, 4851 A"),
            *cells,
            *(search(f"finite elements take {says} operations than modes", BOTH.readings(scope),
                     share, limit, "operations over those of modes, largest of 5 arms",
                     printed=f"{min(shares):.2f} to {max(shares):.2f} times")
              for says, limit in (("fewer", FEWER), ("significantly fewer", LOWER))),
            undecidable("this is mainly due to the transformation matrix that describes the link "
                        "deformations", "which operations of an entry are this matrix's"),
            search("modes take even more operations when a payload is considered",
                   cell_grid("RR", "modes").readings(scope),
                   lambda x: _total("RR with payload", "modes", x) / _total("RR", "modes", x),
                   MORE, "operations of RR with a payload over those without",
                   printed="909 M, 366 A over 405 M, 168 A"),
        ),
        tables=(Table("Inertia matrix: multiplications M, additions A", head, rows),),
        because="Written alike, elements take more operations than modes but in few readings, for "
        "they have twice the coordinates; fewer if entries of elements alone are cut to first "
        "order.  The paper gives no rule of writing entries, and there is no end of rules: that "
        "none of those tried gives a printed count does not contradict it, and among so many one "
        "may come near by chance.",
    )  # fmt: skip


def _cell(robot: str, kind: str, scope: Scope) -> Statement:
    """Tell which way of writing comes nearest to a printed count."""
    printed = PRINTED_2[robot, kind]

    def off(reading: Reading) -> float:
        ours = count(robot, kind, reading)
        return 100 * max(abs(a / b - 1) for a, b in zip(ours, printed, strict=True))

    tried = [x for x in cell_grid(robot, kind).readings(scope) if not x.against]
    near = min(tried, key=off)
    return undecidable(f"the count of {robot}, {kind}",
                       f"how entries are written; of {len(tried)} ways that were tried the nearest "
                       f"is off by {off(near):.3g} % ({near})", printed=_pair(printed))  # fmt: skip


def _total(robot: str, kind: str, reading: Reading) -> int:
    return sum(count(robot, kind, reading))


def _over_recursion(reading: Reading) -> float:
    """Compare printed closed forms with the same matrices by a compiled recursion, at worst."""
    kind, planes = reading[SHAPES], "-2planes" * (PLANES[reading[BEND]] - 1)

    def share(robot: str) -> float:
        name = f"tg-{robot.lower().replace(' with ', '-')}{planes}{KINDS[kind]}"
        return sum(PRINTED_2[robot, kind]) / sum(_compiled(build(example_arm(name))))

    return max(map(share, ROBOTS))


def _compiled(model: Model) -> Count:
    found = operation_counts(formulation("composite", model), "mass_matrix")
    return found.multiplications + found.divisions, found.additions


def _pair(pair: tuple[float, float]) -> str:
    return f"{pair[0]:.0f} M, {pair[1]:.0f} A"


def equation_numbers(scope: Scope) -> Found:
    """Compare the numbers of equations with what our models have."""
    rows, gaps, more, equations, roots, shares = [], [], [], [], [], []
    for name, n, flexible in (("tg-rr", 2, 2), ("tg-rrr", 3, 2), ("tg-rp", 2, 2), ("tg-rrp", 3, 2)):
        for planes in (1, 2):
            full = name + ("-2planes" if planes == 2 else "")
            modes_, elements = build(example_arm(full)), build(example_arm(full + "-elements"))
            for model, factor in ((modes_, 1), (elements, 2)):
                says = factor * planes * 2 * flexible + n
                gaps.append(abs(says - model.size))
                shares.append(model.size / n - 1)
                rows.append((model.arm.name, str(says), str(model.size)))
            # a name such as link2.y1 says link, plane and mode: an equation each, with its roots
            shapes = [each for each in modes_.names if "." in each]
            equations.append((len({each.rstrip("0123456789") for each in shapes}),
                              planes * flexible))  # fmt: skip
            roots.append((len(shapes), planes * 2 * flexible))
            more.append((2 * elements.size - 2 * modes_.size, len(shapes), 2 * planes * flexible))
    statements = (
        decide("4 m n_f + n second-order equations with elements and 2 m n_f + n with modes in "
               "space, half the flexible ones in the plane", max(gaps) == 0,
               f"{len(gaps) - np.count_nonzero(gaps)} of {len(gaps)} arms have these numbers"),
        decide("modes need 2 n_f transcendental equations in space, n_f in the plane",
               all(a == b for a, b in equations),
               "one per flexible link and plane: " + _beside(equations)),
        decide("or, with the method of section 4.2, 2 m n_f first-order equations, m n_f in the "
               "plane", all(a == b for a, b in roots), "one per root: " + _beside(roots)),
        search("in first-order equations finite elements have 2 m n_f more, m n_f in the plane",
               ROOTED.readings(scope), lambda x: max(
                   abs((a - b * (x[ROOTS] == COUNTED)) / c - 1) for a, b, c in more),
               Limit(high=1e-9), "relative error of this number, the largest of 8 arms"),
        undecidable("usually N >> n, flexible variables over joints",
                    "'Usually' is of arms in general, and '>>' has no number: of RR, RRR, RP and "
                    f"RRP N is up to {max(shares):.3g} n"),
    )  # fmt: skip
    return Found(
        statements,
        tables=(Table("Second-order equations, m = 2", ("arm", "the paper", "ours"), tuple(rows)),),
    )


def _beside(pairs: list[tuple[int, int]]) -> str:
    return ", ".join(f"{ours} ({says})" for ours, says in pairs)


def li_sankar(scope: Scope) -> Found:
    """Count the inertia matrices beside what Li & Sankar's formula gives for them."""
    arm = changed("chen-rotating-link", {"links.1.joint": {"kind": "revolute"},
                                         "links.1.shapes.bending_y": 1})  # fmt: skip
    ours = _compiled(build(arm, stiffening=False))
    printed = [sum(PRINTED_2[robot, "modes"]) / sum(x) for robot, x in LI_SANKAR.items()]

    def less(reading: Reading) -> float:
        return min(_total(robot, "modes", reading) / sum(x) for robot, x in LI_SANKAR.items())

    statements = (
        decide("-48 multiplications and -48 additions for one link with one mode are erroneous",
               min(ours) >= 0, f"the matrix takes {_pair(ours)}", printed="-48 M, -48 A"),
        search("their counts are almost an order less than those of the closed form",
               LI_SANKAR_GRID.readings(scope), less, ALMOST,
               "our closed form's operations over theirs, the lesser of RR and RRR",
               printed=" and ".join(f"{x:.1f}" for x in printed) + " times"),
        search("computer algebra yields the most computationally efficient form of the equations",
               EFFICIENT.readings(scope), _over_recursion, FEWER,
               "the closed form's operations, as printed, over those of a compiled recursion, "
               "largest of 5 arms",
               printed="Table 2"),
        undecidable("the formula gives -48, and 44/49 and 92/102 for RR and RRR",
                    "the formula of Li & Sankar 1993, which the paper does not print"),
    )  # fmt: skip
    rows = (("one link, one mode", "-48 M, -48 A", "", _pair(ours)),
            *((robot, _pair(theirs), _pair(PRINTED_2[robot, "modes"]),
               _pair(count(robot, "modes", Reading())))
              for robot, theirs in LI_SANKAR.items()))  # fmt: skip
    head = ("arm", "Li & Sankar, as printed", "the paper's closed form", "multiplied out")
    return Found(statements, tables=(Table("Inertia matrix", head, rows),))
