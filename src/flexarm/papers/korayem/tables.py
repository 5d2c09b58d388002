"""Korayem & Shafei 2009: Tables 1 and 2, operations by their formulas and counted."""

from collections.abc import Mapping
from itertools import product

import numpy as np

from flexarm.formulations import DEFAULT, formulation
from flexarm.io.sample import sample
from flexarm.model import build
from flexarm.papers.base import Difference, Found, Table, decide
from flexarm.papers.korayem.counts import TABLE_1, Pair, book, counted_steps, korayem_shafei
from flexarm.papers.korayem.reasons import added, differences
from flexarm.studies.operations import operation_counts

Size = tuple[int, int, int]
SIZES = ((3, 2, 2), (6, 6, 2), (6, 6, 3))  # links, flexible links, modes
# Table 2 under n = 3, n_f = 2, m = 2 and n = 6, n_f = 6, m = 3: products, sums.
PRINTED = {
    ("Book", (3, 2, 2)): (4922, 4851),
    ("this work", (3, 2, 2)): (2706, 2134),
    ("Book", (6, 6, 3)): (25251, 24569),
    ("this work", (6, 6, 3)): (19557, 18332),
}
FORMULAS = {"Book": book, "this work": korayem_shafei}


def table_1() -> Found:
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
    worst = max(
        abs(a - b) / b
        for s in SIZES for step in TABLE_1
        for a, b in zip(counted[s][step], TABLE_1[step](*s), strict=True)
    )  # fmt: skip
    whole = [x for s in SIZES for x in (_total(s), _added(counted[s]))]
    rows.append(("all", *map(_pair, whole)))
    claims = (
        decide(
            "the steps add up to the formulas of Table 2",
            max(gaps) < 1e-9,
            f"largest gap over {len(grid)} sizes of arm: {max(gaps):.2g} operations",
        ),
        decide(
            "each step takes the operations printed",
            len(equal) == len(TABLE_1),
            f"steps {', '.join(map(str, equal))} take exactly these, others up to "
            f"{100 * worst:.0f} % more or less",
        ),
    )
    why, left = _reasons(counted)
    return Found(
        claims,
        Difference(worst, "largest relative difference of a step's counted operations"),
        tables=(Table("Operations of the steps: products M, sums A", head, tuple(rows)), why),
        because="Products are formed once per mode, not per pair of modes, zeros, ones and equal "
        "subexpressions are used, and the printed steps leave some operations out: reasons taken "
        f"together leave {left:.0f} operations unexplained.",
    )


def _reasons(counted: Mapping[Size, Mapping[int, Pair]]) -> tuple[Table, float]:
    """Tabulate what takes Table 1 to the counts, and add up what is left over."""
    found = {size: differences(*size) for size in SIZES}
    rows = []
    for step in TABLE_1:
        for why in found[SIZES[0]][step]:
            cells = [found[size][step][why] for size in SIZES]
            if any(any(cell) for cell in cells):
                rows.append((str(step), why, *(f"{m:+.0f} M, {a:+.0f} A" for m, a in cells)))
    left = 0.0
    for size, steps in counted.items():
        for step, cost in steps.items():
            known = added([TABLE_1[step](*size), *found[size][step].values()])
            left += abs(cost[0] - known[0]) + abs(cost[1] - known[1])
    head = ("step", "why", *map(_size, SIZES))
    return Table("From the printed to the counted operations", head, tuple(rows)), left


def table_2() -> Found:
    """Evaluate the formulas beside the printed numbers, and count our own equations."""
    rows, off = [], {}
    for (who, size), printed in PRINTED.items():
        ours = FORMULAS[who](*size)
        off[who, size] = max(abs(a - b) / b for a, b in zip(ours, printed, strict=True))
        as_two = FORMULAS[who](size[0], size[1], 2)
        rows.append((who, _size(size), _pair(printed), _pair(ours), _pair(as_two)))
    small = max(off[who, (3, 2, 2)] for who in FORMULAS)
    large = max(off[who, (6, 6, 3)] for who in FORMULAS)
    m_two = all(FORMULAS[who](6, 6, 2) == PRINTED[who, (6, 6, 3)] for who in FORMULAS)
    losing = [
        (n, f, m) for n, m in product(range(2, 13), range(1, 5)) for f in range(1, n + 1)
        if sum(korayem_shafei(n, f, m)) >= sum(book(n, f, m))
    ]  # fmt: skip
    sizes = 4 * sum(range(2, 13))
    own = _own_counts()
    claims = (
        decide(
            "n = 3, n_f = 2, m = 2: 2706 M, 2134 A; Book 4922 M, 4851 A",
            small == 0,
            f"the formulas give the printed numbers, largest difference {100 * small:.2g} %",
        ),
        decide(
            "n = 6, n_f = 6, m = 3: 19557 M, 18332 A; Book 25251 M, 24569 A",
            large == 0,
            f"the formulas differ by up to {100 * large:.1f} %; for m = 2 they give exactly the "
            f"printed numbers: {'yes' if m_two else 'no'}",
        ),
        decide(
            "fewer operations than Book's method",
            not losing,
            f"{sizes - len(losing)} of {sizes} sizes of arm (2 to 12 links, 1 to 4 modes) take "
            "fewer" + (f"; the smallest that does not is {_size(losing[0])}" if losing else ""),
        ),
    )
    head = ("method", "size", "printed", "formula", "formula for m = 2")
    return Found(
        claims,
        Difference(large, "largest relative difference of a printed number from its formula"),
        tables=(Table("Printed and evaluated", head, tuple(rows)), own),
        because="The column headed m = 3 is for m = 2.",
    )


def _own_counts() -> Table:
    rows = []
    for size in ((2, 2, 2), (3, 2, 2), (6, 6, 3)):
        name = "count-" + "-".join(map(str, size))
        ks = korayem_shafei(*size)
        cells = []
        for kind, paper in (("gibbs-appell", True), (DEFAULT, False)):
            model = build(sample(name), stiffening=False)
            found = operation_counts(formulation(kind, model, paper=paper), "forward_dynamics")
            products = found.multiplications + found.divisions
            cells.append(_pair((products, found.additions)))
        rows.append((name, _pair(ks), *cells, f"{sum(ks) / (products + found.additions):.1f}"))
    head = ("arm", "formula", "gibbs-appell as in the paper, solved", "articulated", "times fewer")
    return Table("Our equations, compiled", head, tuple(rows))


def _total(size: tuple[int, int, int]) -> Pair:
    return _added({step: formula(*size) for step, formula in TABLE_1.items()})


def _added(steps: Mapping[int, Pair]) -> Pair:
    return sum(x for x, _ in steps.values()), sum(x for _, x in steps.values())


def _pair(pair: tuple[float, float]) -> str:
    return f"{pair[0]:.0f} M, {pair[1]:.0f} A"


def _size(size: tuple[int, int, int]) -> str:
    return f"n = {size[0]}, n_f = {size[1]}, m = {size[2]}"
