"""Korayem & Shafei 2009: Tables 1 and 2, operations by their formulas and counted."""

from itertools import product

import numpy as np

from flexarm.formulations import formulation
from flexarm.model import build
from flexarm.papers.base import Found, Limit, Table, compare, search, undecidable
from flexarm.papers.korayem.counts import (
    TABLE_1,
    Pair,
    added,
    book,
    counted_steps,
    korayem_shafei,
    printed_step,
)
from flexarm.papers.readings import Grid, Reading, Scope, ways
from flexarm.papers.runs import changed
from flexarm.studies.operations import operation_counts

Size = tuple[int, int, int]
SIZES = ((3, 2, 2), (6, 6, 2), (6, 6, 3))  # links, flexible links, modes
# Table 2 under n = 3, n_f = 2, m = 2 and n = 6, n_f = 6, m = 3 (erratum: m = 2): products, sums.
PRINTED = {
    ("Book", (3, 2, 2)): (4922, 4851),
    ("this work", (3, 2, 2)): (2706, 2134),
    ("Book", (6, 6, 3)): (25251, 24569),
    ("this work", (6, 6, 3)): (19557, 18332),
}
FORMULAS = {"Book": book, "this work": korayem_shafei}
HEADED = "number of modes of the column headed m = 3"
COLUMN = Grid((ways(HEADED, "3", "2"),))
ARMS, BOTH = "arms of the general comparison", "the table's"
ALL, SIX = "2 to 12 links, 1 to 4 modes", "up to 6 links, 1 to 4 modes"
BENDING = "up to 7 links, all flexible, 1 to 4 modes"
GENERAL = Grid((ways(ARMS, BOTH, BENDING, SIX, ALL),))
COUNTED, RUN, LINES = "operations are counted", "as run", "as printed beside the lines"
STEPS = Grid((ways(COUNTED, RUN, LINES),))
BUILT = "arm whose equations are generated"
SPEED = Grid((ways(BUILT, "count-3-2-2", "count-2-2-2"),))
SAME = Limit(high=0.01, unit="%")
NO_GAP = Limit(high=0.5, unit="operations")


def table_1(scope: Scope) -> Found:
    """Count the operations of each step beside the printed formulas."""
    counted = {size: counted_steps(*size) for size in SIZES}
    rows = []
    for step, formula in TABLE_1.items():
        cells = [_pair(x) for s in SIZES for x in (formula(*s), counted[s][step])]
        rows.append((str(step), *cells))
    head = ("step", *[x for s in SIZES for x in (f"printed, {_size(s)}", "counted")])
    grid = [(n, f, m) for n, m in product(range(2, 8), range(1, 5)) for f in range(1, n + 1)]
    gaps = [np.abs(np.subtract(_total(size), korayem_shafei(*size))).max() for size in grid]
    equal = [step for step in TABLE_1 if all(TABLE_1[step](*s) == counted[s][step] for s in SIZES)]
    times = max(
        max(a / b, b / a)
        for s in SIZES for step in TABLE_1
        for a, b in zip(counted[s][step], TABLE_1[step](*s), strict=True) if a and b
    )  # fmt: skip
    sizes = list(product(range(3, 8), range(1, 5)))  # V's loop needs three links
    lines = {k: max(np.abs(np.subtract(TABLE_1[k](n, n, m), printed_step(k, n, m))).max()
                    for n, m in sizes) for k in TABLE_1}  # fmt: skip
    taken = {RUN: equal, LINES: [k for k, x in lines.items() if x < 1e-9]}
    whole = [x for s in SIZES for x in (_total(s), added(counted[s].values()))]
    rows.append(("all", *map(_pair, whole)))
    statements = (
        compare("the steps add up to the formulas of Table 2", float(max(gaps)), NO_GAP,
                f"largest gap over {len(grid)} sizes of arm"),
        *(search(f"each of steps {some[0]} to {some[-1]} takes the operations printed",
                 STEPS.readings(scope),
                 lambda x, some=some: sum(k not in taken[x[COUNTED]] for k in some),  # type: ignore[misc]
                 Limit(high=0.5, unit="steps"), "steps that do not", printed="Table 1")
          for some in (range(1, 9), range(9, 11))),
    )  # fmt: skip
    short = ", ".join(f"{x:.0f} in step {k}" for k, x in lines.items() if x >= 1)
    return Found(
        statements,
        tables=(Table("Operations of the steps: products M, sums A", head, tuple(rows)),),
        because=f"As run, steps {', '.join(map(str, equal))} take exactly what is printed, others "
        f"up to {times:.1f} times as many or as few.  Products are formed once per mode, not per "
        "pair of modes, zeros, ones and equal subexpressions are used, and the printed steps leave "
        "some operations out; the page of the formulation has the reasons, which leave no "
        "operation unexplained.  Table 1 is the sum of what is printed beside the lines but for "
        f"two steps, largest gaps over {len(sizes)} sizes of arm with n_f = n: {short}.  "
        "The paper prints one table: the cut between steps 8 and 9 is ours.",
    )


def table_2(scope: Scope) -> Found:
    """Evaluate the formulas beside the printed numbers, and count our own equations."""
    rows = [
        (who, _size(size), _pair(printed), _pair(FORMULAS[who](*size)),
         _pair(FORMULAS[who](size[0], size[1], 2)))
        for (who, size), printed in PRINTED.items()
    ]  # fmt: skip
    every = [(n, f, m) for n, m in product(range(2, 13), range(1, 5)) for f in range(1, n + 1)]
    arms = {BOTH: [(3, 2, 2), (6, 6, 3)], BENDING: [s for s in every if s[0] == s[1] < 8],
            SIX: [s for s in every if s[0] <= 6], ALL: every}  # fmt: skip
    over = {s: sum(korayem_shafei(*s)) / sum(book(*s)) for sizes in arms.values() for s in sizes}
    losing = {name: [s for s in sizes if over[s] >= 1] for name, sizes in arms.items()}
    flexible = next(s for s in losing[ALL] if s[0] == s[1])

    def gap(reading: Reading) -> float:
        m = 2 if reading[HEADED] == "2" else 3
        return 100 * max(_gap(who, (6, 6, m), PRINTED[who, (6, 6, 3)]) for who in FORMULAS)

    small = 100 * max(_gap(who, (3, 2, 2), PRINTED[who, (3, 2, 2)]) for who in FORMULAS)
    statements = (
        compare("the formulas, repaired, for n = 3, n_f = 2, m = 2", small, SAME,
                "largest difference", printed="2706 M, 2134 A; Book 4922 M, 4851 A"),
        search("the formulas, repaired, for n = 6, n_f = 6, m = 3", COLUMN.readings(scope), gap,
               SAME, "largest difference", printed="19557 M, 18332 A; Book 25251 M, 24569 A"),
        search("as a general comparison, the number of operations is less than that of Book's "
               "method", GENERAL.readings(scope), lambda x: max(over[s] for s in arms[x[ARMS]]),
               Limit(high=1.0, unit="times"), "operations over Book's, the most"),
        search("which increases the speed of generating the equations of motion",
               SPEED.readings(scope), _generated, Limit(high=1.0, unit="times"),
               "operations of M and forces as compiled, over those by Book's recursion"),
        undecidable("the cost of O(N) routines for flexible bodies is O(n_f^2 m^2)",
                    "these routines, which are in other papers"),
    )  # fmt: skip
    head = ("method", "size", "printed", "formula", "formula for m = 2")
    return Found(
        statements,
        tables=(Table("Printed and evaluated", head, tuple(rows)),),
        because="More operations than by Book's method take "
        + ", ".join(f"{len(losing[x])} of {len(arms[x])} ({x})" for x in (BENDING, SIX, ALL))
        + f" sizes of arm: those of many rigid links, for step 9 does not depend on n_f.  The "
        f"smallest is {_size(losing[ALL][0])}; with all links flexible it is {_size(flexible)}.  "
        "Formulas are repaired: as printed, with a factor m too many in four terms of each row, "
        "they do not give the numbers beside them (errata).",
    )


def _generated(reading: Reading) -> float:
    """Compare the compiled equations of the paper with those of Book's method."""
    model, found = build(changed(reading[BUILT]), stiffening=False), []
    for kind in ("gibbs-appell", "recursive-lagrange"):
        equation = formulation(kind, model, paper=True)
        both = [operation_counts(equation, name) for name in ("mass_matrix", "bias")]
        found.append(sum(x.multiplications + x.additions for x in both))
    return found[0] / found[1]


def _gap(who: str, size: Size, printed: Pair) -> float:
    """Compare a formula with printed numbers, relatively."""
    return max(abs(a - b) / b for a, b in zip(FORMULAS[who](*size), printed, strict=True))


def _total(size: tuple[int, int, int]) -> Pair:
    return added(formula(*size) for formula in TABLE_1.values())


def _pair(pair: tuple[float, float]) -> str:
    return f"{pair[0]:.0f} M, {pair[1]:.0f} A"


def _size(size: tuple[int, int, int]) -> str:
    return f"n = {size[0]}, n_f = {size[1]}, m = {size[2]}"
