"""Theodore & Ghosal 1995: assumed modes beside finite elements, counted and computed."""

import math
from functools import partial

import numpy as np

from flexarm.linear.modes import modes
from flexarm.spatial import Array
from flexarm_papers.base import Found, Item, Table, closed
from flexarm_papers.beams.classical import CLAMPED_FREE, beam_roots
from flexarm_papers.readings import Grid, Scope, ways
from flexarm_papers.runs import plain_link
from flexarm_papers.statements import Check, Limit, compare, search
from flexarm_papers.theodore import counts, loop
from flexarm_papers.theodore.admissible import EASE, ease
from flexarm_papers.theodore.rates import OPEN, eigenvalues
from flexarm_papers.theodore.response import HELD, OBSERVED, closed_loop, deflections, one_run
from flexarm_papers.theodore.roots import DENSITY, ROOT_GRID, frequency_equation
from flexarm_papers.theodore.theory import LEMMA_GRID, RANK_GRID, lemma, ranks

PAPER = loop.PAPER
# Table 1, headed Hz (erratum: rad/s): modes 1.. with 1, 2 and 3 elements, and exact.
PRINTED_1 = {
    1: (2.0963e2, 2.0654e3),
    2: (2.0873e2, 1.3186e3, 4.4597e3, 1.2944e4),
    3: (2.0864e2, 1.3118e3, 3.7067e3, 8.3473e3, 1.5709e4, 3.1318e4),
    0: (2.0864e2, 1.3075e3, 3.6611e3, 7.1742e3, 1.1860e4, 1.7716e4),
}
UNIT = "unit of the column headed Hz"
UNITS = Grid((ways(UNIT, "Hz", "rad/s"),))
DIGITS = Limit(high=0.02, unit="%")  # of five printed digits, one and a half of the last but one
ACCEPTABLE = Limit(high=5.0, unit="%")  # "within acceptable accuracy"


def _named(count: int) -> str:
    return f"the {count}-element" if count else "the exact"


def table_1(scope: Scope) -> Found:
    """Compute the frequencies of a clamped link exactly and in 1, 2 and 3 elements."""
    ours = {count: _clamped(count) for count in (1, 2, 3)}
    lam = beam_roots(CLAMPED_FREE, 6)
    ours[0] = np.square(lam) * math.sqrt(loop.EI / DENSITY)
    off = []
    for count, printed in PRINTED_1.items():
        for k, value in enumerate(printed):
            if f"{ours[count][k]:.4e}" != f"{value:.4e}":
                off.append(f"mode {k + 1} with {count or 'no'} elements: {ours[count][k]:.7g}")
    errors = [float(ours[m][k] / ours[0][k] - 1) for m in (1, 2, 3) for k in range(m)]
    every = [float(ours[m][k] / ours[0][k] - 1) for m in (1, 2, 3) for k in range(2 * m)]
    statements = (
        *(search(f"{_named(c)} frequencies", UNITS.readings(scope),
                 lambda x, c=c: 100 * max(  # type: ignore[misc]
                     abs(ours[c][k] / (2 * math.pi if x[UNIT] == "Hz" else 1) / value - 1)
                     for k, value in enumerate(PRINTED_1[c])),
                 DIGITS, "largest difference",
                 printed=", ".join(f"{value:.5g}" for value in PRINTED_1[c])) for c in PRINTED_1),
        compare("the first m modes are acceptable with m elements", 100 * max(errors), ACCEPTABLE,
                "largest difference from the exact ones"),
        compare("finite elements overestimate every frequency", 100 * min(every),
                Limit(low=0.0, unit="%"), "least excess"),
    )  # fmt: skip
    checks = (
        Check("the printed numbers, read in rad/s, are right to their last digit", not off,
               f"{18 - len(off)} of 18 are; not: {', '.join(off) or 'none'}"),
    )  # fmt: skip
    head = ("mode", *[f"{x} {c} elements" for c in (1, 2, 3) for x in ("printed", "ours")],
            "printed exact", "ours exact")  # fmt: skip
    rows = tuple(
        (str(k + 1), *[_cell(x, c, k, ours) for c in (1, 2, 3, 0) for x in ("printed", "ours")])
        for k in range(6)
    )
    return Found(
        statements,
        tables=(Table("Frequencies of link 2, clamped [rad/s]", head, rows),),
        because="The heading is wrong by 2 pi, and five entries in their last digit.",
        checks=checks,
    )


def _clamped(count: int) -> Array:
    arm = plain_link({"kind": "elements", "bending_y": count}, 1.0, DENSITY, loop.EI)
    found = modes(arm, joints="locked", straight=True)
    return np.sort([mode.frequency_rad_s for mode in found.modes])


def _cell(which: str, count: int, k: int, ours: dict[int, Array]) -> str:
    if k >= len(PRINTED_1[count]):
        return ""
    return f"{PRINTED_1[count][k]:.5g}" if which == "printed" else f"{ours[count][k]:.2f}"


# What is open in some figure of the simulation, but for link 1: see `upright`.
ALL = Grid(tuple({each.name: each for each in (*OPEN.choices, *loop.TIP_ERROR.choices,
                                               *OBSERVED.choices)
                  if each is not loop.LINK_1}.values()))  # fmt: skip
ITEMS = (
    Item(PAPER, "table-1", "Table 1: frequencies of a clamped link", table_1, UNITS),
    Item(PAPER, "table-2", "Table 2: operations of the inertia matrix", counts.table_2,
         counts.TABLE_2),
    Item(PAPER, "equation-numbers", "numbers of equations, section 4.4",
         counts.equation_numbers, counts.ROOTED),
    Item(PAPER, "li-sankar", "Li & Sankar's count of -48", counts.li_sankar,
         Grid(counts.LI_SANKAR_GRID.choices + counts.EFFICIENT.choices[:1])),
    Item(PAPER, "frequency-equation", "time-dependent frequency equation, section 4.2",
         frequency_equation, ROOT_GRID),
    Item(PAPER, "ease-of-modelling", "matrices of modes and of elements, sections 2.2 and 4.1",
         ease, EASE),
    Item(PAPER, "ranks", "ranks and definiteness, section 4.3", ranks, RANK_GRID),
    Item(PAPER, "lemma", "lemma on overestimated stiffness, section 4.3", lemma,
         LEMMA_GRID),
    Item(PAPER, "fig-4", "Fig. 4: joint trajectories", closed(loop.joints)),
    Item(PAPER, "fig-5", "Fig. 5: joint errors", closed(loop.joint_errors)),
    Item(PAPER, "closed-loop", "what the law does to joints and flexible variables, section 3",
         closed_loop, HELD),
    Item(PAPER, "fig-6", "Fig. 6: end-effector errors", loop.tip_errors,
         Grid(loop.TIP_ERROR.choices + loop.SECOND_LOOP.choices)),
    *(
        Item(PAPER, f"fig-{5 + link}", f"Fig. {5 + link}: deflection and rotation of link {link}",
             partial(deflections, link), OBSERVED)
        for link in (2, 3)
    ),
    *(
        Item(PAPER, f"fig-{8 + mode}", f"Fig. {8 + mode}: eigenvalues, mode {mode}",
             partial(eigenvalues, mode), OPEN)
        for mode in (1, 2)
    ),
    Item(PAPER, "one-run", "Figs. 6-10: what is said of one simulation, together", one_run, ALL),
    Item(PAPER, "cpu", "CPU time of both models", loop.cpu, loop.DRIVE),
)  # fmt: skip
