"""Theodore & Ghosal 1995, section 4.4: operations and numbers of equations."""

from functools import cache

from flexarm.formulations import formulation
from flexarm.io.model_file import example_arm
from flexarm.model import Model, build
from flexarm.studies.compare import operation_counts
from flexarm_papers.base import Figure, Found, Table, curve
from flexarm_papers.readings import Grid, Reading, every, ways
from flexarm_papers.theodore.robot import inertia_count
from flexarm_papers.theodore.ways import TURNS, Way
from flexarm_papers.theodore.written import Count
from flexarm_papers.verdicts import (
    COUNT,
    Statement,
    claim,
    general,
    measured,
    search,
    untested,
)

AT = "section 4.4"
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
ROBOTS = ("RR", "RRR", "RP", "RRP", "RR with payload")
JOINED, POWERS, TIPS = "like terms joined within", "powers of deflections", "angles of tips"
ENTRIES, ARM, HUB, POINTS = "entries", "arm", "part of the beam in the hub", "points of the beam"
ARMS = {"as in the sample": "", "all axes parallel": "parallel", "axes crossed twice": "crossed"}
WRITTEN = (
    ways(JOINED, "an entry", "a body", "an element"),
    ways(POWERS, "all", "the first"),
    ways(TIPS, "worked out once", "multiplied out"),
    ways(ENTRIES, "multiplied out", "factored"),
)
SLIDING = (ways(HUB, "counts", "does not"), ways(POINTS, "along the shapes", "at fixed places"))
BOTH = every(*WRITTEN)


def cell_grid(robot: str, kind: str) -> Grid:
    """Return the readings of a cell of Table 2: which arm, and how its entries are written."""
    arm = robot.partition(" ")[0]
    open_ = list(WRITTEN)
    if kind == "modes":
        open_[0] = ways(JOINED, "an entry", "a body")
    else:
        open_.pop(2)  # a tip's angle is a coordinate
    known = [name for name, turned in ARMS.items() if (arm, turned) in TURNS]
    if len(known) > 1:
        open_.append(ways(ARM, *known))
    if arm.endswith("P"):
        open_ += SLIDING
    return every(*open_)


def count(robot: str, kind: str, reading: Reading) -> Count:
    """Count the inertia matrix of a robot under a reading."""
    taken = dict(reading.taken)
    return _counted(robot, kind, Way(
        arm=ARMS[taken.get(ARM, "as in the sample")],
        hub=taken.get(HUB) != "does not",
        material=taken.get(POINTS) != "at fixed places",
        joined=taken.get(JOINED, "an entry").rpartition(" ")[2],
        order=9 if taken.get(POWERS, "all") == "all" else 1,
        nested=taken.get(ENTRIES) == "factored",
        named=taken.get(TIPS) != "multiplied out",
    ))  # fmt: skip


_counted = cache(inertia_count)


def off(robot: str, kind: str, reading: Reading) -> float:
    """Return the larger relative difference of a count from the printed one [%]."""
    ours, printed = count(robot, kind, reading), PRINTED_2[robot, kind]
    return 100 * max(abs(a / b - 1) for a, b in zip(ours, printed, strict=True))


def table_2() -> Found:
    """Count inertia matrices, written in every way that the paper leaves open."""
    cells: list[Statement] = []
    rows = []
    for (robot, kind), printed in PRINTED_2.items():
        readings = cell_grid(robot, kind).readings()
        cells.append(search(f"the count of {robot}, {kind}", "Table 2", COUNT, readings,
                            lambda x, a=robot, b=kind: off(a, b, x),  # type: ignore[misc]
                            printed=_pair(printed)))  # fmt: skip
        near = min(readings, key=lambda x, a=robot, b=kind: off(a, b, x))  # type: ignore[misc]
        rows.append((robot, kind, _pair(printed), _pair(count(robot, kind, near)),
                     f"{off(robot, kind, near):.1f} %", str(len(readings)), str(near)))  # fmt: skip
    near_ones = sum(float(row[4][:-2]) < COUNT.limit.high for row in rows)
    shares = [sum(PRINTED_2[x, "elements"]) / sum(PRINTED_2[x, "modes"]) for x in ROBOTS]
    plain = [[sum(count(x, kind, BOTH.first)) for x in ROBOTS] for kind in ("modes", "elements")]
    numbers = range(1, len(ROBOTS) + 1)
    fewer = search(
        "finite elements take fewer operations than modes", AT,
        claim("operations over those of modes, largest of 5 arms", high=1.0, unit="times"),
        BOTH.readings(),
        lambda x: max(_total(y, "elements", x) / _total(y, "modes", x) for y in ROBOTS),
        printed=f"{min(shares):.2f} to {max(shares):.2f} times",
    )  # fmt: skip
    held, tried = fewer.share
    return Found(
        (
            *cells,
            fewer,
            search("modes take even more operations when a payload is considered", AT,
                   claim("operations with the payload over those without", low=1.0, unit="times"),
                   cell_grid("RR", "modes").readings(),
                   lambda x: _total("RR with payload", "modes", x) / _total("RR", "modes", x),
                   printed="909 M, 366 A over 405 M, 168 A"),
        ),
        figures=(
            Figure(f"Operations of the inertia matrix: {', '.join(ROBOTS)}", "arm",
                   "multiplications and additions",
                   tuple(curve(f"{kind}, {who}", numbers, y, points=who == "printed")
                         for kind, ours in zip(("modes", "elements"), plain, strict=True)
                         for who, y in (("printed", [sum(PRINTED_2[x, kind]) for x in ROBOTS]),
                                        ("multiplied out", ours))), log=True),
        ),
        tables=(Table("Nearest readings of Table 2", ("robot", "links of", "printed", "nearest",
                                                      "off", "tried", "how"), tuple(rows)),),
        finding="Finite elements take fewer operations than modes for all five arms in only "
        f"{held} of {tried} ways of writing the entries of M. The printed counts come nearest if "
        "modes keep all powers of the deflections and elements the first power alone, which "
        "compares unlike forms.",
        text=f"In {near_ones} of 10 cells some reading gives multiplications and additions within "
        "5 % of the printed ones. Modes are of a clamped link with the outboard mass at its tip, "
        "so that two of them are not orthogonal.",
    )  # fmt: skip


def _total(robot: str, kind: str, reading: Reading) -> int:
    return sum(count(robot, kind, reading))


def _pair(pair: tuple[float, float]) -> str:
    return f"{pair[0]:.0f} M, {pair[1]:.0f} A"


def compiled(model: Model) -> Count:
    """Count the operations of the mass matrix by the compiled recursion."""
    found = operation_counts(formulation("composite", model), "mass_matrix")
    return found.multiplications + found.divisions, found.additions


def efficiency() -> Found:
    """Compare the printed counts with a recursion, and the numbers of equations with models'."""
    over, gaps, more = {}, {}, {}
    for robot in ROBOTS:
        for kind, suffix in (("modes", ""), ("elements", "-elements")):
            name = f"tg-{robot.lower().replace(' with ', '-')}{suffix}"
            over[f"{robot}, {kind}"] = sum(PRINTED_2[robot, kind]) / sum(
                compiled(build(example_arm(name)))
            )
    for name, n, flexible in (("tg-rr", 2, 2), ("tg-rrr", 3, 2), ("tg-rp", 2, 2), ("tg-rrp", 3, 2)):
        for planes in (1, 2):
            full = name + ("-2planes" if planes == 2 else "")
            modes, elements = build(example_arm(full)), build(example_arm(full + "-elements"))
            for model, factor in ((modes, 1), (elements, 2)):
                says = factor * planes * 2 * flexible + n
                gaps[model.arm.name] = float(abs(says - model.size))
            # first-order equations beyond the modes', which count a root each, or not
            extra, said = 2 * (elements.size - modes.size), 2 * planes * flexible
            more[full] = extra, planes * 2 * flexible, said

    def away(roots: int) -> float:
        return max(abs((a - roots * b) / c - 1) for a, b, c in more.values())

    return Found(
        (
            general("4 m n_f + n second-order equations with elements and 2 m n_f + n with modes "
                    "in space, half the flexible ones in the plane", AT,
                    claim("difference from the models", high=0.5), gaps),
            measured("in first-order equations finite elements have 2 m n_f more, m n_f in the "
                     "plane (equations of section 4.2 for the roots count as the modes')", AT,
                     claim("largest relative error of 8 arms", high=1e-9), away(1),
                     beside={"without equations for the roots": away(0)}),
            untested("Li & Sankar's expression gives -48 operations for one link with one mode",
                     AT, "this expression, Table II of Li and Sankar", printed="-48 M, -48 A"),
            general("computer algebra yields the most computationally efficient form", "section 6",
                    claim("printed operations over those of a compiled recursion", high=1.0,
                          unit="times"), over),
        ),
        tables=(Table("Printed operations over those of the recursion", ("arm", "ratio"),
                      tuple((x, f"{y:.2f}") for x, y in over.items())),),
        text=f"A compiled recursion takes up to {max(over.values()):.1f} times fewer operations "
        "than the printed closed forms.",
    )  # fmt: skip
