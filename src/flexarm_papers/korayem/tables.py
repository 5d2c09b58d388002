"""Korayem & Shafei 2009: Tables 1 and 2, operations by their formulas and beside their lines."""

from itertools import product

import numpy as np

from flexarm_papers.base import Figure, Found, Table, curve
from flexarm_papers.korayem.counts import (
    TABLE_1,
    Pair,
    added,
    book,
    korayem_shafei,
    needless,
    printed_step,
)
from flexarm_papers.readings import Grid, Reading, ways
from flexarm_papers.verdicts import COUNT, claim, corrected, general, measured, search

Size = tuple[int, int, int]  # links, flexible links, modes
# Table 2: products, sums; the last column is for m = 2 (erratum).
PRINTED = {
    ("Book", (3, 2, 2)): (4922, 4851),
    ("this work", (3, 2, 2)): (2706, 2134),
    ("Book", (6, 6, 3)): (25251, 24569),
    ("this work", (6, 6, 3)): (19557, 18332),
}
FORMULAS = {"Book": book, "this work": korayem_shafei}
FACTOR = "a factor m too many in two terms of each formula"
LINES, ALL = "operations of a step", "all that are printed beside its lines"
STEPS = Grid((ways(LINES, ALL, "less sums and products with blocks that are 0 or known"),))
LARGEST = 12  # links of the arms of the general comparison
GAP = claim("largest gap between Table 1 and the lines", high=0.5, unit="operations")


def table_1() -> Found:
    """Compare Table 1 with the operations printed beside the lines of each step."""
    sizes = [(n, f, m) for n, m in product(range(2, 8), range(1, 5)) for f in range(1, n + 1)]

    def unequal(*, printed: bool) -> float:
        return max(float(np.abs(np.subtract(_total(x), korayem_shafei(*x, printed=printed))).max())
                   for x in sizes)  # fmt: skip

    def gap(steps: range, reading: Reading = STEPS.first) -> float:
        return max(
            float(np.abs(np.subtract(TABLE_1[k](n, n, m), printed_step(k, n, m))
                         + np.multiply(needless(k, n, m), reading[LINES] != ALL)).max())
            for k in steps for n, m in product(range(3, 8), range(1, 5))
        )  # fmt: skip

    costs = {k: (TABLE_1[k](6, 6, 2), printed_step(k, 6, 2), needless(k, 6, 2)) for k in TABLE_1}
    rows = [(str(k), *map(_pair, each)) for k, each in costs.items()]
    rows.append(("all", *(_pair(added(x)) for x in zip(*costs.values(), strict=True))))
    title = "Operations of the steps, n = n_f = 6, m = 2"
    return Found(
        (
            corrected("Table 1 adds up to the formulas of Table 2", "end of Proposed algorithm",
                      claim("largest gap", high=0.5, unit="operations"), FACTOR,
                      as_printed=unequal(printed=True), right=unequal(printed=False)),
            measured("Table 1 lists the operations of steps 1 to 8", "Table 1", GAP,
                     gap(range(1, 9))),
            *(search(f"Table 1 lists the operations of step {k}", "Table 1", GAP, STEPS.readings(),
                     lambda x, k=k: gap(range(k, k + 1), x))  # type: ignore[misc]
              for k in (9, 10)),
        ),
        tables=(Table(title, ("step", "Table 1", "beside the lines", "of these 0 or known"),
                      tuple(rows)),),
        text="Table 1 is the sum of the operations printed beside the lines, apart from two steps. "
        "Step 10 leaves out sums with blocks that are 0 and vectors that joint equations have "
        "formed; step 9 leaves out neither all nor none of them.",
    )  # fmt: skip


def table_2() -> Found:
    """Evaluate the formulas beside the printed numbers, and for other arms."""
    rows = tuple(
        (who, _size(size), _pair(printed), _pair(FORMULAS[who](*size)),
         _pair(FORMULAS[who](size[0], size[1], 2)))
        for (who, size), printed in PRINTED.items()
    )  # fmt: skip

    def gap(n: int, m: int, *, printed: bool) -> float:
        return 100 * max(
            abs(a / b - 1) for (who, size), both in PRINTED.items() if size[0] == n
            for a, b in zip(FORMULAS[who](*size[:2], m, printed=printed), both, strict=True)
        )  # fmt: skip

    sizes = [(n, f, m) for n, m in product(range(2, LARGEST + 1), range(1, 5))
             for f in range(1, n + 1)]  # fmt: skip
    over = {_size(x): sum(korayem_shafei(*x)) / sum(book(*x)) for x in sizes}
    links = range(2, LARGEST + 1)
    return Found(
        (
            corrected("the numbers for n = 3, n_f = 2, m = 2", "Table 2", COUNT, FACTOR,
                      as_printed=gap(3, 2, printed=True), right=gap(3, 2, printed=False),
                      printed="2706 M, 2134 A; Book 4922 M, 4851 A"),
            corrected("the numbers for n = 6, n_f = 6, m = 3", "Table 2", COUNT,
                      f"{FACTOR}, and m = 3 to m = 2", as_printed=gap(6, 3, printed=True),
                      right=gap(6, 2, printed=False),
                      printed="19557 M, 18332 A; Book 25251 M, 24569 A"),
            general("as a general comparison, the method takes fewer operations than Book's",
                    "end of Proposed algorithm",
                    claim("operations over Book's", high=1.0, unit="times"), over),
        ),
        figures=(
            Figure("Operations over Book's, two modes per link", "links", "ratio",
                   tuple(curve(f"{f if f else 'all'} flexible", links,
                               [sum(korayem_shafei(n, f or n, 2)) / sum(book(n, f or n, 2))
                                for n in links]) for f in (0, 2, 1))),
        ),
        tables=(Table("Printed and evaluated", ("method", "size", "printed", "formula",
                                                "formula for m = 2"), rows),),
        text="The method takes fewer operations than Book's where most links are flexible. For "
        "many rigid links it takes more, since the cost of step 9 does not depend on n_f.",
    )  # fmt: skip


def _total(size: Size) -> Pair:
    return added(formula(*size) for formula in TABLE_1.values())


def _pair(pair: Pair) -> str:
    return f"{pair[0]:.0f} M, {pair[1]:.0f} A"


def _size(size: Size) -> str:
    return f"n = {size[0]}, n_f = {size[1]}, m = {size[2]}"
