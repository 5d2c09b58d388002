"""Theodore & Ghosal 1995: assumed modes beside finite elements, counted and computed."""

import math
from functools import partial

import numpy as np

from flexarm.linear.modes import modes
from flexarm.spatial import Array
from flexarm_papers.base import Found, Item, Table
from flexarm_papers.beams.classical import CLAMPED_FREE, beam_roots
from flexarm_papers.runs import plain_link
from flexarm_papers.theodore import counts, loop, theory
from flexarm_papers.theodore.rates import eigenvalues
from flexarm_papers.theodore.roots import DENSITY, frequency_equation
from flexarm_papers.verdicts import FREQUENCY, claim, corrected, general

PAPER = loop.PAPER
# Table 1, headed Hz (erratum: rad/s): modes 1.. with 1, 2 and 3 elements, and exact.
PRINTED_1 = {
    1: (2.0963e2, 2.0654e3),
    2: (2.0873e2, 1.3186e3, 4.4597e3, 1.2944e4),
    3: (2.0864e2, 1.3118e3, 3.7067e3, 8.3473e3, 1.5709e4, 3.1318e4),
    0: (2.0864e2, 1.3075e3, 3.6611e3, 7.1742e3, 1.1860e4, 1.7716e4),
}


def table_1() -> Found:
    """Compute the frequencies of a clamped link exactly and in 1, 2 and 3 elements."""
    ours = {count: _clamped(count) for count in (1, 2, 3)}
    ours[0] = np.square(beam_roots(CLAMPED_FREE, 6)) * math.sqrt(loop.EI / DENSITY)
    wrong = wrong_digits(ours)

    def distance(count: int, unit: float = 1.0) -> float:
        return 100 * max(
            abs(float(ours[count][k]) / unit / x - 1) for k, x in enumerate(PRINTED_1[count])
        )

    excess = {f"mode {k + 1}, {m} elements": 100 * float(ours[m][k] / ours[0][k] - 1)
              for m in (1, 2, 3) for k in range(2 * m)}  # fmt: skip
    first = {name: x for name, x in excess.items() if int(name[5]) <= int(name.split()[2])}
    head = ("mode", *[f"{x} {c} elements" for c in (1, 2, 3) for x in ("printed", "ours")],
            "printed exact", "ours exact")  # fmt: skip
    rows = tuple(
        (str(k + 1), *[_cell(x, c, k, ours) for c in (1, 2, 3, 0) for x in ("printed", "ours")])
        for k in range(6)
    )
    return Found(
        (
            corrected("the frequencies of a clamped link, exact and by 1, 2 and 3 elements",
                      "Table 1", FREQUENCY, "the unit of the column from Hz to rad/s",
                      as_printed=max(distance(c, 2 * math.pi) for c in PRINTED_1),
                      right=max(map(distance, PRINTED_1)), printed="18 numbers"),
            general("the first m modes are acceptable with m elements", "section 4", FREQUENCY,
                    first),
            general("finite elements overestimate every frequency", "section 4",
                    claim("excess", low=0.0, unit="%"), excess),
        ),
        tables=(Table("Frequencies of link 2, clamped [rad/s]", head, rows),),
        text=f"In rad/s {18 - len(wrong)} of 18 numbers are right to their last digit.",
    )  # fmt: skip


def wrong_digits(ours: dict[int, Array] | None = None) -> list[str]:
    """Return the numbers of Table 1 that are wrong in their last digit, read in rad/s."""
    found = ours or {count: _clamped(count) for count in (1, 2, 3)}
    found[0] = np.square(beam_roots(CLAMPED_FREE, 6)) * math.sqrt(loop.EI / DENSITY)
    return [f"{f'mode {k + 1} in {count} elements' if count else f'the exact mode {k + 1}'} "
            f"({found[count][k]:.7g})"
            for count, printed in PRINTED_1.items() for k, value in enumerate(printed)
            if f"{found[count][k]:.4e}" != f"{value:.4e}"]  # fmt: skip


def _clamped(count: int) -> Array:
    arm = plain_link({"kind": "elements", "bending_y": count}, 1.0, DENSITY, loop.EI)
    found = modes(arm, joints="locked", straight=True)
    return np.sort([mode.frequency_rad_s for mode in found.modes])


def _cell(which: str, count: int, k: int, ours: dict[int, Array]) -> str:
    if k >= len(PRINTED_1[count]):
        return ""
    return f"{PRINTED_1[count][k]:.5g}" if which == "printed" else f"{ours[count][k]:.2f}"


ITEMS = (
    Item(PAPER, "table-1", "Table 1: frequencies of a clamped link", table_1),
    Item(PAPER, "table-2", "Table 2: operations of the inertia matrix", counts.table_2, "counts"),
    Item(PAPER, "li-sankar", "Section 4.4: efficiency and numbers of equations",
         counts.efficiency, "counts"),
    Item(PAPER, "frequency-equation", "Section 4.2: time-dependent frequency equation",
         frequency_equation),
    Item(PAPER, "ranks", "Section 4.3: ranks and definiteness", theory.ranks),
    Item(PAPER, "lemma", "Section 4.3: lemma on overestimated stiffness", theory.lemma),
    Item(PAPER, "closed-loop", "Figs. 4-6: the closed loop", loop.closed_loop, "motion"),
    *(
        Item(PAPER, f"fig-{5 + link}", f"Fig. {5 + link}: deflection and rotation of link {link}",
             partial(loop.deflections, link), "motion")
        for link in (2, 3)
    ),
    *(
        Item(PAPER, f"fig-{8 + mode}", f"Fig. {8 + mode}: frequencies of mode {mode}",
             partial(eigenvalues, mode), "rates")
        for mode in (1, 2)
    ),
)  # fmt: skip
