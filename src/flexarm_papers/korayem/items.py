"""Korayem & Shafei 2009: operation counts, the method's matrices, the fall of a two-link arm."""

from dataclasses import fields

import casadi as ca
import numpy as np

from flexarm.formulations import formulation
from flexarm.formulations.equation import Equation
from flexarm.formulations.gibbs_appell import steps
from flexarm.formulations.gibbs_appell.chain import link_constants, paper_chain
from flexarm.formulations.gibbs_appell.formulation import GibbsAppell
from flexarm.model import build
from flexarm.spatial import Array
from flexarm_papers.base import Found, Item
from flexarm_papers.errata import korayem as errata
from flexarm_papers.korayem import fall
from flexarm_papers.korayem.tables import table_1, table_2
from flexarm_papers.runs import (
    asymmetry,
    by_columns,
    changed,
    difference,
    discord,
    simulate,
    slopes,
)
from flexarm_papers.verdicts import HISTORY, claim, corrected, general, measured

PAPER = "korayem-2009"
BENT = {"amplitudes of 2e-4 m": 2e-4, "of 1 cm": 0.01}  # of links of 1 m; the fall has 3e-4 m
RECURSION = "after eqs. 80, 93"
EXACTLY = claim("largest error", high=1e-9, unit="%")


def matrices() -> Found:
    """Check the text's statements about its integrals, its sums and the inertia matrix."""
    model = build(changed("count-3-2-2"), stiffening=False)
    first_order = build(changed("count-3-2-2"), stiffening=False, tip_rotation="first-order")
    equation, exact = (formulation("gibbs-appell", model, paper=True),
                       formulation("composite", model))  # fmt: skip
    printed = formulation("gibbs-appell", first_order, paper=True)
    where = np.random.default_rng(0).uniform(-1, 1, model.size)
    states = {name: np.array([x if "." in n else 1.0 for n in model.names]) * where
              for name, x in BENT.items()}  # fmt: skip
    K = slopes(equation, states["of 1 cm"], part="elastic")
    inertia, forces = _algorithm()
    return Found(
        (
            corrected("steps 7 to 10 give the inertia matrix", "Proposed algorithm", EXACTLY,
                      "step 9, where U needs xi_k+ for xi_k+1 (other misprints: errata)",
                      as_printed=inertia[0], right=inertia[1]),
            corrected("steps 1 to 6 give the other forces", "Proposed algorithm", EXACTLY,
                      "step 2, which lacks omega x theta' of eq. 65 (other misprints: errata)",
                      as_printed=forces[0], right=forces[1]),
            measured("mc_ijk is the transpose of mc_ikj, and sc_ijk = sc_ikj",
                     "after eqs. 42, 44", claim("largest difference", high=1e-12), _transposes()),
            measured("K_ikl = K_ilk", "after eq. 54", claim("largest difference", high=1e-9),
                     difference(K.T, K)),
            general("the inertia matrix is symmetric", "after eqs. 80, 84, 93",
                    claim("largest difference of both triangles", high=1e-12),
                    {name: asymmetry(printed, q) for name, q in states.items()}),
            general("all expressions in summation form can be calculated recursively", RECURSION,
                    claim("distance of M by step 9 from eqs. 43 and 44", high=1.0, unit="%"),
                    {name: 100 * difference(printed.mass_matrix(q), by_columns(printed, q))
                     for name, q in states.items()}),
            general("the effect of gravity can be considered by an acceleration of the base",
                    "before eq. 45",
                    claim("distance of its forces from weights", high=1.0, unit="%"),
                    {name: 100 * difference(equation.parts(q, 0 * q)["gravity"],
                                            exact.parts(q, 0 * q)["gravity"])
                     for name, q in states.items()}),
            measured("all mathematical operations are done by only 3x3 and 3x1 matrices",
                     "abstract", claim("largest number of rows", high=3.5), _rows()),
            general("the term of order delta^2 of B9 is small, a candidate for elimination",
                    "after eq. 42", claim("change of M without it", high=1.0, unit="%"),
                    {name: 100 * _without_square(q) for name, q in states.items()}),
            measured("E = 1 + skew of small angles may be used for the rotation of tips", "eq. 6",
                     HISTORY, 100 * _first_order_tips()),
        ),
        text="With its misprints corrected the algorithm is exact for links that are straight and "
        "vibrate. The statements are tested on a spatial arm of three links, eq. 6 on the fall. "
        "With E = 1 + skew the recursion of step 9 differs from the sums of eqs. 43 and 44 by the "
        "square of the tip angles; with exact rotations both agree to rounding.",
    )  # fmt: skip


def _algorithm() -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the errors of M and of the forces by the ten steps, as printed and corrected [%].

    Beside an independent recursion, for links that are straight and vibrate.
    """
    model, rng = errata.arm(), np.random.default_rng(3)
    v = rng.uniform(-1, 1, model.size)
    q = rng.uniform(-1, 1, model.size) * np.array(["." not in x for x in model.names])
    exact = formulation("composite", model)
    M, h = exact.mass_matrix(q), exact.parts(q, v)["coriolis"]
    return (
        tuple(100 * difference(errata.inertia_at(ca.SX(q), ca.SX(v), x), M)
              for x in ("step 9", "")),
        tuple(100 * difference(errata.forces_at(ca.SX(q), ca.SX(v), x), h)
              for x in ("step 2", "")),
    )  # type: ignore[return-value]  # fmt: skip


def _transposes() -> float:
    """Return the largest difference of the integrals from their transposes."""
    found = []
    for part in build(changed("count-3-2-2"), stiffening=False).links:
        if part.body.one_length:
            each = link_constants(part.beam.integrals)
            m = each.eps.shape[1]
            mc = np.array(ca.DM(each.mC)).reshape(m, 3, 3, m)  # mc_ikj, columns by rows
            sc = np.array(ca.DM(each.sc))
            found += [np.abs(mc - mc.transpose(3, 2, 1, 0)).max(), np.abs(sc - sc.T).max()]
    return float(max(found))


def _rows() -> float:
    """Return the most rows of a rotation, inertia, sum, place, rate or shape of three links."""
    model = build(changed("count-3-2-2"), stiffening=False)
    q = ca.SX.sym("q", model.size)
    links = paper_chain(model, q, 0 * q, delta_squared=True)
    R = steps.compound_rotations(steps.rotations(links))
    sums = steps.sums(links, R, steps.positions(links, R))
    found = [x for each in fields(sums) for row in getattr(sums, each.name)[1:] for x in row[1:]]
    for link in links[1:]:
        found += [link.A, link.E, link.r, link.r_d, link.theta_d]
        found += [link.body.B2, link.body.B3, link.body.B8, link.body.B9]
    return float(max(x.shape[0] for x in found))


def _without_square(q: Array) -> float:
    """Return the change of M without the second-order term of B9, over the largest entry."""
    model = build(changed("count-3-2-2"), stiffening=False)
    M, without = (Equation.of(GibbsAppell(model, paper=True, delta_squared=x)).mass_matrix(q)
                  for x in (True, False))  # fmt: skip
    return difference(without, M)


def _first_order_tips() -> float:
    """Return the largest distance of deflections and slopes by E = 1 + skew from those by exp."""
    exact = changed("korayem-two-link", {"stiffening": False})
    run = simulate(exact, t_end=fall.T_END, dt=fall.DT, method="dop853",
                   formulation="gibbs-appell", paper=True)  # fmt: skip
    along, printed = (x.along([1.0]) for x in (run, fall.fall(fall.ONE, paper=True)))
    return max(
        discord(printed[kind].values[:, k, 0, 1], along[kind].values[:, k, 0, 1])
        for kind in ("deflection", "slope") for k in (0, 1)
    )  # fmt: skip


ITEMS = (
    Item(PAPER, "vibration", "Frequencies of the arm of Figs. 4-15", fall.vibration, "fall"),
    Item(PAPER, "figures", "Figs. 4-15: the fall, beside finite elements", fall.figures, "fall"),
    Item(PAPER, "more-modes", "Figs. 4-15: more mode shapes", fall.more_modes, "fall"),
    Item(PAPER, "table-1", "Table 1: operations of the ten steps", table_1),
    Item(PAPER, "table-2", "Table 2: operations beside Book's method", table_2),
    Item(PAPER, "matrices", "The algorithm, its integrals and matrices", matrices),
)
