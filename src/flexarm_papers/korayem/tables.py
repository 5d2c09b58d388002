"""Korayem & Shafei 2009: Tables 1 and 2, operations by their formulas and counted."""

from itertools import product

import numpy as np

from flexarm.formulations import formulation
from flexarm.model import build
from flexarm.studies.compare import operation_counts
from flexarm_papers.base import Found, Table
from flexarm_papers.korayem.counts import (
    TABLE_1,
    Pair,
    added,
    book,
    korayem_shafei,
    needless,
    printed_step,
)
from flexarm_papers.readings import Grid, Reading, Scope, ways
from flexarm_papers.runs import changed
from flexarm_papers.statements import Check, Limit, search, undecidable

Size = tuple[int, int, int]  # links, flexible links, modes
# Table 2 under n = 3, n_f = 2, m = 2 and n = 6, n_f = 6, m = 3 (erratum: m = 2): products, sums.
PRINTED = {
    ("Book", (3, 2, 2)): (4922, 4851),
    ("this work", (3, 2, 2)): (2706, 2134),
    ("Book", (6, 6, 3)): (25251, 24569),
    ("this work", (6, 6, 3)): (19557, 18332),
}
FORMULAS = {"Book": book, "this work": korayem_shafei}
HEADED = "number of modes of the column headed m = 3"
WRITTEN, DAMAGED = "formulas of Table 2", "as transcribed"
REPAIRED = Grid((ways(WRITTEN, DAMAGED, "a factor m less in two terms of each formula"),))
COLUMN = Grid((*REPAIRED.choices, ways(HEADED, "3", "2")), ((WRITTEN, HEADED),))
ARMS, ONE, BOTH = "arms of the general comparison", "the table's first", "the table's"
ALL, SIX = "2 to 12 links, 1 to 4 modes", "up to 6 links, 1 to 4 modes"
BENDING = "up to 6 links, all flexible, 1 to 4 modes"
GENERAL = Grid((ways(ARMS, BOTH, ONE, BENDING, SIX, ALL),))
# Arms whose equations are compiled: samples.
BUILT = {"three links, two of them flexible": "count-3-2-2", "two links": "count-2-2-2"}
SAME = Limit(high=0.01, unit="%")
FEWER = Limit(high=1.0, unit="times")
AMOUNT, LARGE = "a large amount is", {"a third": 1 / 3, "a fifth": 1 / 5}
SAVED = Limit(low=1.0, unit="times what is large")
MUCH = Grid((*GENERAL.choices, ways(AMOUNT, *LARGE)), ((ARMS, AMOUNT),))
LINES, PRINTED_LINES = "operations of a step", "those printed beside its lines"
WITH_SUMS, NEEDED = "with sums over modes of eqs. 102 and 103", "without what is zero or known"
STEPS = Grid((ways(LINES, PRINTED_LINES, WITH_SUMS, NEEDED),))
NO_GAP = Limit(high=0.5, unit="operations")


def table_1(scope: Scope) -> Found:
    """Add up the operations beside the lines of each step."""
    grid = [(n, f, m) for n, m in product(range(2, 8), range(1, 5)) for f in range(1, n + 1)]

    def unequal(reading: Reading) -> float:
        damaged = reading[WRITTEN] == DAMAGED
        formulas = [korayem_shafei(*size, printed=damaged) for size in grid]
        return max(float(np.abs(np.subtract(_total(size), x)).max())
                   for size, x in zip(grid, formulas, strict=True))  # fmt: skip

    sizes = list(product(range(3, 8), range(1, 5)))  # V's loop needs three links

    def gap(step: int, lines: str = PRINTED_LINES) -> float:
        off = [np.subtract(TABLE_1[step](n, n, m),
                           printed_step(step, n, m, whole=lines == WITH_SUMS))
               + np.multiply(needless(step, n, m), lines == NEEDED) for n, m in sizes]  # fmt: skip
        return float(np.abs(off).max())

    lines = {k: gap(k) for k in TABLE_1}
    costs = {k: (TABLE_1[k](6, 6, 2), printed_step(k, 6, 2), needless(k, 6, 2)) for k in TABLE_1}
    rows = [(str(k), *map(_pair, each)) for k, each in costs.items()]
    rows.append(("all", *(_pair(added(x)) for x in zip(*costs.values(), strict=True))))
    head = ("step", "Table 1", "beside the lines", "of that, zero or known")
    statements = (
        search("the steps add up to the formulas of Table 2", REPAIRED.readings(scope), unequal,
               NO_GAP, f"largest gap over {len(grid)} sizes of arm"),
        *(search(f"Table 1 lists the required operations of {name}", STEPS.readings(scope),
                 lambda x, some=some: max(gap(k, x[LINES]) for k in some),  # type: ignore[misc]
                 NO_GAP, f"largest gap, over {len(sizes)} sizes of arm with n_f = n",
                 printed="Table 1")
          for name, some in (("each of steps 1 to 8", range(1, 9)), ("step 9", (9,)),
                             ("step 10", (10,)))),
    )  # fmt: skip
    short = ", ".join(f"{x:.0f} in step {k}" for k, x in lines.items() if x >= 1)
    return Found(
        statements,
        tables=(Table(f"Operations of the steps, {_size((6, 6, 2))}", head, tuple(rows)),),
        because="Table 1 is the sum of what is printed beside the lines but for two steps, largest "
        f"gaps: {short}.  Step 10 is that less sums with blocks that are zero (jU_n, V_n-1, "
        "npsi_k, ngamma_k) and, for k = n, less vectors that joint equations have made already; "
        "step 9, less products with such blocks, is not.  The paper prints one table: the cuts are "
        "ours.  No step counts the sums of delta_jk K_jkf and delta'_jk c_jfk, nor B_2 to B_9, "
        "alpha and beta of eqs. 24 to 33, which change with delta.",
    )  # fmt: skip


def table_2(scope: Scope) -> Found:
    """Evaluate the formulas beside the printed numbers, and count our own equations."""
    rows = [
        (who, _size(size), _pair(printed), _pair(FORMULAS[who](*size)),
         _pair(FORMULAS[who](size[0], size[1], 2)))
        for (who, size), printed in PRINTED.items()
    ]  # fmt: skip
    every = [(n, f, m) for n, m in product(range(2, 13), range(1, 5)) for f in range(1, n + 1)]
    compiled = {says: _generated(name) for says, name in BUILT.items()}
    arms = {BOTH: [(3, 2, 2), (6, 6, 3)], ONE: [(3, 2, 2)],
            BENDING: [s for s in every if s[0] == s[1] <= 6],
            SIX: [s for s in every if s[0] <= 6], ALL: every}  # fmt: skip
    over = {s: sum(korayem_shafei(*s)) / sum(book(*s)) for sizes in arms.values() for s in sizes}
    losing = {name: [s for s in sizes if over[s] >= 1] for name, sizes in arms.items()}
    flexible = next(s for s in losing[ALL] if s[0] == s[1])

    def gap(reading: Reading, n: int = 6, f: int = 6) -> float:
        m = int(dict(reading.taken).get(HEADED, "2"))
        return 100 * max(_gap(who, (n, f, m), printed, damaged=reading[WRITTEN] == DAMAGED)
                         for (who, size), printed in PRINTED.items() if size[0] == n)  # fmt: skip

    def most(reading: Reading) -> float:
        return max(over[s] for s in arms[reading[ARMS]])

    statements = (
        search("the formulas for n = 3, n_f = 2, m = 2", REPAIRED.readings(scope),
               lambda x: gap(x, 3, 2), SAME, "largest difference",
               printed="products 2706M, sums 2134M; Book 4922M, 4851A"),
        search("the formulas for n = 6, n_f = 6, m = 3", COLUMN.readings(scope), gap,
               SAME, "largest difference", printed="19557M, 18332A; Book 25251M, 24569A"),
        search("as a general comparison, the number of operations is less than that of Book's "
               "method", GENERAL.readings(scope), most, FEWER, "operations over Book's, the most"),
        search("the method reduces a large amount of computational complexity",
               MUCH.readings(scope), lambda x: (1 - most(x)) / LARGE[x[AMOUNT]], SAVED,
               "share of Book's operations that is saved, the least"),
        search("the speed of generating the equations of motion increases by reducing the number "
               "of additions and multiplications, as shown in Table 2", GENERAL.readings(scope),
               most, FEWER, "operations over Book's by the table's formulas, the most",
               printed="2706M, 2134M of 4922M, 4851A; 19557M, 18332A of 25251M, 24569A"),
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
        "As transcribed, the formulas have a factor m too many in two terms each; "
        "without it they give the numbers beside them.",
        checks=(
            Check("compiled, the paper's equations take fewer operations than Book's",
                  max(compiled.values()) < 1,
                  ", ".join(f"{x:.2f} of them for M and forces of {name}"
                            for name, x in compiled.items())),
        ),
    )  # fmt: skip


def _generated(name: str) -> float:
    """Compare the compiled equations of the paper with those of Book's method."""
    model, found = build(changed(name), stiffening=False), []
    for kind in ("gibbs-appell", "recursive-lagrange"):
        equation = formulation(kind, model, paper=True)
        both = [operation_counts(equation, name) for name in ("mass_matrix", "bias")]
        found.append(sum(x.multiplications + x.additions for x in both))
    return found[0] / found[1]


def _gap(who: str, size: Size, printed: Pair, *, damaged: bool) -> float:
    """Compare a formula with printed numbers, relatively."""
    found = FORMULAS[who](*size, printed=damaged)
    return max(abs(a - b) / b for a, b in zip(found, printed, strict=True))


def _total(size: tuple[int, int, int]) -> Pair:
    return added(formula(*size) for formula in TABLE_1.values())


def _pair(pair: tuple[float, float]) -> str:
    return f"{pair[0]:.0f} M, {pair[1]:.0f} A"


def _size(size: tuple[int, int, int]) -> str:
    return f"n = {size[0]}, n_f = {size[1]}, m = {size[2]}"
