"""Korayem & Shafei 2009: operation counts, and the fall of a two-link arm."""

from functools import partial

import numpy as np

from flexarm.formulations import formulation
from flexarm.links.base import Array
from flexarm.model import TipRotation, build
from flexarm.papers.base import Found, Item, Limit, Table, closed, compare, search
from flexarm.papers.korayem.fall import (
    FIGURES,
    GRID,
    MODES,
    T_END,
    VIBRATION,
    distance_of_turns,
    figure,
    more_modes,
    vibration,
)
from flexarm.papers.korayem.tables import COLUMN, GENERAL, table_1, table_2
from flexarm.papers.readings import Grid, Scope, ways
from flexarm.papers.runs import changed, slopes

PAPER = "korayem-2009"
SMALL = Limit(high=1.0, unit="%")  # of the range: a change that may be neglected
EQUATIONS = "equations with E = 1 + skew"
TURNS = Grid((ways(EQUATIONS, "the paper's", "Lagrange's"),))
KINDS: dict[str, tuple[str, TipRotation]] = {
    "equations of the paper, E = exp": ("gibbs-appell", "cayley"),
    "equations of the paper, E = 1 + skew": ("gibbs-appell", "first-order"),
    "exact": ("composite", "cayley"),
    "Lagrange with E = 1 + skew": ("lagrange", "first-order"),
}


def tip_rotation(scope: Scope) -> Found:
    """Compare the fall and the frequencies with tips that turn by E = 1 + skew and exactly."""
    rates = {label: _hanging(*kind) for label, kind in KINDS.items()}
    rows = tuple((label, *(f"{x:.3f}" for x in found)) for label, found in rates.items())
    off = {label: float(np.abs(found / rates["exact"] - 1).max()) for label, found in rates.items()}
    gaps = distance_of_turns()
    head = ("equations", *(f"{k} [rad/s]" for k in ("1st", "2nd", "3rd", "4th")))
    return Found(
        (
            search("E = 1 + skew of small angles may be used for the rotation (eq. 6)",
                   TURNS.readings(scope), lambda x: gaps[x[EQUATIONS]], SMALL,
                   f"change of the tips' deflections and slopes over {T_END:g} s, of the range"),
            compare("its transpose may be used for its inverse (step 1)",
                    100 * off["equations of the paper, E = 1 + skew"], Limit(high=1e-4, unit="%"),
                    "error of frequencies about hanging"),
        ),
        tables=(Table("Frequencies about hanging straight down", head, rows),),
        because="The same E in Lagrange's equations is another model: a tip that turns by 1 + skew "
        "does not lift what it carries, so that weight does not stiffen the links; frequencies "
        f"are off by {100 * off['Lagrange with E = 1 + skew']:.2g} %.",
    )  # fmt: skip


def _hanging(kind: str, tip: TipRotation) -> Array:
    """Find frequencies about hanging from a formulation's own M and bias [rad/s]."""
    model = build(changed("korayem-two-link"), tip_rotation=tip)
    equation = formulation(kind, model, paper=kind == "gibbs-appell")
    q = np.zeros(model.size)
    q[model.names.index("joint1")] = -np.pi / 2
    stiff = slopes(equation, q, step=1e-6)
    squares = np.linalg.eigvals(np.linalg.solve(equation.mass_matrix(q), stiff))
    return np.asarray(np.sqrt(np.sort(squares.real)))


_GOOD = (
    "The simulation uses one clamped-free mode per link; the results are in good concordance with "
    "the finite elements of Usoro et al."
)
ITEMS = (
    Item(PAPER, "table-1", "Table 1: operations of the ten steps",
         "Formulas for products and sums of steps 1-10 over n, n_f and m.", closed(table_1)),
    Item(PAPER, "table-2", "Table 2: operations beside Book's method",
         "Total formulas, and their values for two arms; fewer operations than Book 1984.",
         table_2, Grid(COLUMN.choices + GENERAL.choices)),
    Item(PAPER, "tip-rotation", "eq. 6: tips that turn by 1 + skew of their angles",
         "Deflections are small: E is 1 + skew of the tip's angles, and its transpose its inverse.",
         tip_rotation, TURNS),
    *(Item(PAPER, f"fig-{k}", f"Fig. {k}: {title}", _GOOD, partial(figure, k), GRID)
      for k, (_, title, _) in FIGURES.items()),
    Item(PAPER, "more-modes", "Figs. 4-15: more mode shapes",
         "More accurate results will be obtained by using more mode shapes.", more_modes, MODES),
    Item(PAPER, "vibration", "Figs. 8-15: vibration modes",
         "The response portrays the vibration modes of the system, and is highly undesirable.",
         vibration, VIBRATION),
)  # fmt: skip
