"""Korayem & Shafei 2009: operation counts, and the fall of a two-link arm."""

from functools import partial

import numpy as np

from flexarm.formulations import formulation
from flexarm.links.base import Array
from flexarm.model import TipRotation, build
from flexarm.papers.base import Difference, Figure, Found, Item, Table, curve, decide
from flexarm.papers.korayem.fall import FIGURES, T_END, falls, figure, first_order, history
from flexarm.papers.korayem.tables import table_1, table_2
from flexarm.papers.runs import apart, changed

PAPER = "korayem-2009"
SMALL = 0.01  # of the range: a change of the motion that may be neglected
EXP, SKEW = "equations of the paper, E = exp", "equations of the paper, E = 1 + skew"
LAGRANGE = "Lagrange with E = 1 + skew"


def tip_rotation() -> Found:
    """Compare the fall and the frequencies with tips that turn by E = 1 + skew and exactly."""
    kinds: dict[str, tuple[str, TipRotation]] = {
        EXP: ("gibbs-appell", "cayley"),
        SKEW: ("gibbs-appell", "first-order"),
        "exact": ("composite", "cayley"),
        LAGRANGE: ("lagrange", "first-order"),
    }
    rates = {label: _hanging(*kind) for label, kind in kinds.items()}
    rows = tuple((label, *(f"{x:.3f}" for x in found)) for label, found in rates.items())
    off = {label: float(np.abs(found / rates["exact"] - 1).max()) for label, found in rates.items()}
    runs = {EXP: falls()["paper"].run, SKEW: first_order("gibbs-appell"),
            LAGRANGE: falls()["first-order"].run}  # fmt: skip
    gaps = {
        (label, what): apart(history(run, what), history(runs[EXP], what))
        for label, run in runs.items()
        for what in (f"link{k} {kind} 1" for k in (1, 2) for kind in ("flexural", "angular"))
    }
    most = max(gap for (label, _), gap in gaps.items() if label == SKEW)
    claims = (
        decide("E = 1 + skew of small angles may be used for the rotation (eq. 6)", most < SMALL,
               "in the paper's equations it changes the tips' deflections and slopes by at most "
               f"{100 * most:.2g} % of the range over {T_END:g} s"),
        decide("its transpose may be used for its inverse (step 1)", off[SKEW] < 1e-6,
               f"frequencies about hanging are the exact ones to {off[SKEW]:.0e}"),
    )  # fmt: skip
    head = ("equations", *(f"{k} [rad/s]" for k in ("1st", "2nd", "3rd", "4th")))
    late = runs[EXP].t >= T_END - 0.25
    shown = [
        curve(label, run.t[late], history(run, "link2 flexural 1")[late])
        for label, run in runs.items()
    ]
    return Found(
        claims,
        Difference(off[LAGRANGE], f"largest relative difference of a frequency, {LAGRANGE}"),
        tables=(Table("Frequencies about hanging straight down", head, rows),),
        figures=(Figure("Deflection at the end of link 2, the last 0.25 s", "time [s]",
                        "deflection [m]", tuple(shown)),),
        because="The same E in Lagrange's equations is another model: a tip that turns by 1 + skew "
        "does not lift what it carries, so that weight does not stiffen the links; frequencies "
        f"are off by {100 * off[LAGRANGE]:.2g} % and the deflection by "
        f"{100 * gaps[LAGRANGE, 'link2 flexural 1']:.2g} % of the range.",
    )  # fmt: skip


def _hanging(kind: str, tip: TipRotation) -> Array:
    """Find frequencies about hanging from a formulation's own M and bias [rad/s]."""
    model = build(changed("korayem-two-link"), tip_rotation=tip)
    equation = formulation(kind, model, paper=kind == "gibbs-appell")
    q, still, step = np.zeros(model.size), np.zeros(model.size), 1e-6
    q[model.names.index("joint1")] = -np.pi / 2
    rows = [
        (equation.bias(q + step * e, still) - equation.bias(q - step * e, still)) / (2 * step)
        for e in np.eye(model.size)
    ]
    squares = np.linalg.eigvals(np.linalg.solve(equation.mass_matrix(q), np.array(rows).T))
    return np.asarray(np.sqrt(np.sort(squares.real)))


def _says(number: int) -> str:
    about = (
        "The simulation uses one clamped-free mode per link; the results are in good concordance "
        "with the finite elements of Usoro et al., and more mode shapes would be more accurate."
    )
    if number < 8:
        return about
    return about + " The flexural response portrays the vibration modes and is highly undesirable."


ITEMS = (
    Item(
        PAPER, "table-1", "Table 1: operations of the ten steps",
        "Formulas for products and sums of steps 1-10 over n, n_f and m.", table_1,
    ),
    Item(
        PAPER, "table-2", "Table 2: operations beside Book's method",
        "Total formulas, and their values for two arms; fewer operations than Book 1984.", table_2,
    ),
    Item(
        PAPER, "tip-rotation", "eq. 6: tips that turn by 1 + skew of their angles",
        "Deflections are small: E is 1 + skew of the tip's angles, and its transpose its inverse.",
        tip_rotation,
    ),
    *(
        Item(PAPER, f"fig-{k}", f"Fig. {k}: {title}", _says(k), partial(figure, k))
        for k, (_, title, _) in FIGURES.items()
    ),
)  # fmt: skip
