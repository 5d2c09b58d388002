"""Korayem & Shafei 2009: operation counts, and the fall of a two-link arm."""

from dataclasses import fields
from functools import partial

import casadi as ca
import numpy as np

from flexarm.formulations import formulation
from flexarm.formulations.equation import Equation
from flexarm.formulations.gibbs_appell import steps
from flexarm.formulations.gibbs_appell.chain import link_constants, paper_chain
from flexarm.formulations.gibbs_appell.formulation import GibbsAppell
from flexarm.model import TipRotation, build
from flexarm.spatial import Array
from flexarm_papers.base import Found, Item, Table
from flexarm_papers.korayem import fall
from flexarm_papers.korayem.counts import korayem_shafei
from flexarm_papers.korayem.tables import COLUMN, MUCH, REPAIRED, STEPS, table_1, table_2
from flexarm_papers.readings import Grid, Reading, Scope, ways
from flexarm_papers.runs import asymmetry, by_columns, changed, difference, operations, slopes
from flexarm_papers.statements import Check, Limit, compare, search, undecidable

PAPER = "korayem-2009"
SMALL = Limit(high=1.0, unit="%")  # a change that may be neglected
ROUNDING = Limit(high=1e-12)
BENT = "deflections of links of 1 m"
DEFLECTED = {"2e-4 m": 2e-4, "0.01 m": 0.01, "0.05 m": 0.05}
NOT_SMALL = {"0.05 m": 'eq. 6: "because of the small angles"'}  # 0.07 rad; in the fall 0.03 at most
TURN = "tips turn"
TIPS: dict[str, TipRotation] = {"by E = 1 + skew": "first-order", "exactly": "cayley"}
SMALL_TERM = Grid((ways(BENT, *DEFLECTED, against=NOT_SMALL),))
DEFORMED = Grid((*SMALL_TERM.choices, ways(TURN, *TIPS)), ((BENT, TURN),))
ALONG = "along the axis of joint 1"
OPERATIONS, SOLVED = "mathematical operations", "with the inverse of the state form"
SOLVING = Grid((ways(OPERATIONS, "up to the inertia matrix", SOLVED),))
ADDED = "additional is"
MORE = {"one operation": 1.0, "1 % of Table 2's for n = 3": 0.01 * sum(korayem_shafei(3, 2, 2))}
WEIGHT = Grid((ways("gravity", "along any direction", "along an axis of the base", ALONG),
               ways(ADDED, *MORE)), (("gravity", ADDED),))  # fmt: skip
LINKS, CHAINS = "links", {"2": range(2, 3), "3 to 12": range(3, 13)}
KEEPING, KEPT = "eq. 76", "with jR_i B_9i formed once"
CHAIN = Grid((ways(LINKS, *CHAINS), ways(KEEPING, "as it stands", KEPT)), ((LINKS, KEEPING),))
OPEN = Grid((*DEFORMED.choices, *SOLVING.choices, *WEIGHT.choices, *CHAIN.choices))
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
    readings = fall.VIBRATION.readings(scope)
    lagrange = fall.distance_of_turns(fall.GRID.first, fall.first_order())
    head = ("equations", *(f"{k} [rad/s]" for k in ("1st", "2nd", "3rd", "4th")))
    return Found(
        (
            search("E = 1 + skew of small angles may be used for the rotation (eq. 6)", readings,
                   fall.distance_of_turns, SMALL, "change of the tips' deflections and slopes, of "
                   "the spread"),
            search("its transpose may be used for its inverse (step 1)", readings,
                   fall.largest_turn, SMALL,
                   "largest entry of E^T E - 1 in the fall"),
        ),
        tables=(Table("Frequencies about hanging straight down", head, rows),),
        checks=(
            Check("E = 1 + skew may be put into Lagrange's equations", SMALL.holds(lagrange),
                  f"tips' deflections and slopes change by {lagrange:.2g} % of the "
                  "spread: a tip that turns by 1 + skew does not lift what it carries, so that "
                  "weight does not stiffen the links; frequencies are off by "
                  f"{100 * off['Lagrange with E = 1 + skew']:.2g} %"),
        ),
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


def identities(scope: Scope) -> Found:
    """Decide what the text says of its integrals, its matrices and the inertia matrix."""
    model = build(changed("count-3-2-2"), stiffening=False)
    pairs, rods = [], []
    for part in model.links:
        if not part.body.one_length or part.link.section is None:
            continue
        each = link_constants(part.beam.integrals)
        m = each.eps.shape[1]
        mc = np.array(ca.DM(each.mC)).reshape(m, 3, 3, m)  # mc_ikj, columns by rows
        sc = np.array(ca.DM(each.sc))
        pairs += [np.abs(mc - mc.transpose(3, 2, 1, 0)).max(), np.abs(sc - sc.T).max()]
        rod = float(part.link.section.mass_per_length or 0.0) * part.link.length**3 / 3
        rods.append(np.abs(np.array(ca.DM(each.C)) - rod * np.diag([0.0, 1.0, 1.0])).max() / rod)

    def off(reading: Reading) -> float:
        size = DEFLECTED[reading[BENT]]
        q = np.array([size if "." in name else 0.5 for name in model.names])
        M, without = (Equation.of(GibbsAppell(model, paper=True, delta_squared=x)).mass_matrix(q)
                      for x in (True, False))  # fmt: skip
        return 100 * difference(without, M)

    equation, rng = formulation("gibbs-appell", model, paper=True), np.random.default_rng(0)
    where = rng.uniform(-1, 1, model.size)
    q = np.array([0.02 if "." in name else 1.0 for name in model.names]) * where
    exact = formulation("composite", model)

    def deformed(reading: Reading) -> tuple[Equation, Array]:
        same = build(changed("count-3-2-2"), stiffening=False, tip_rotation=TIPS[reading[TURN]])
        size = DEFLECTED[reading[BENT]]
        at = np.array([size if "." in name else 1.0 for name in model.names]) * where
        return formulation("gibbs-appell", same, paper=True), at

    def summed(reading: Reading) -> float:
        own, at = deformed(reading)
        return 100 * difference(own.mass_matrix(at), by_columns(own, at))

    def weighed(reading: Reading) -> float:
        own, at = deformed(reading)
        return 100 * difference(*(x.parts(at, 0 * at)["gravity"] for x in (own, exact)))

    K = slopes(equation, q, part="elastic")
    links = paper_chain(model, ca.SX(q), ca.SX(0 * q), delta_squared=True)
    R = steps.compound_rotations(steps.rotations(links))
    step_9 = steps.sums(links, R, steps.positions(links, R))
    matrices = [x for each in fields(step_9) for row in getattr(step_9, each.name)[1:]
                for x in row[1:]]  # fmt: skip
    matrices += [getattr(y, name) for link in links[1:] for y, names in (
        (link, ("A", "E")), (link.body, ("B2", "B3", "B8", "B9"))) for name in names]  # fmt: skip
    vectors = [x for link in links[1:] for x in (link.r, link.r_d, link.theta_d)]
    vectors += [x[:, k] for link in links[1:] for x in (link.r_f, link.theta_f, link.body.eps)
                for k in range(x.shape[1])]  # fmt: skip

    def rows(reading: Reading) -> float:
        shapes = {x.shape for x in matrices} | {(*x.shape[:1], 3) for x in vectors}
        sizes = {size for shape in shapes for size in shape}
        return float(max(sizes | ({model.size} if reading[OPERATIONS] == SOLVED else set())))

    def weight(reading: Reading) -> float:
        symbols = [ca.SX.sym("A", 3, 3), ca.SX.sym("g", 3)]
        A, g = (ca.SX(x) for x in symbols)
        if reading["gravity"] != "along any direction":
            g[:2] = 0
        if reading["gravity"] == ALONG:  # which A_1 leaves as it is
            A[2, :], A[:, 2] = 0, ca.vertcat(0, 0, 1)
        return operations(symbols, ca.sparsify(A).T @ ca.sparsify(g)) / MORE[reading[ADDED]]

    return Found(
        (
            compare("mc_ijk is the transpose of mc_ikj, and sc_ijk = sc_ikj", float(max(pairs)),
                    ROUNDING, "largest difference"),
            compare("c_i, the first term of B9, represents rigid-body inertia", float(max(rods)),
                    ROUNDING, "distance from that of a rod about its end, of it"),
            compare("K_ikl = K_ilk", difference(K.T, K), Limit(high=1e-9),
                    "largest difference of slopes of the elastic forces"),
            search("the inertia matrix is symmetric, that of joints, that of deflections and what "
                   "couples both", DEFORMED.readings(scope), lambda x: asymmetry(*deformed(x)),
                   ROUNDING, "largest difference of eqs. 43 and 44, both sides by themselves"),
            search("all the expressions in summation form can be calculated recursively",
                   DEFORMED.readings(scope), summed, SMALL,
                   "distance of M by step 9 from that of eqs. 43 and 44"),
            search("that they can causes the reduction of necessary computations",
                   CHAIN.readings(scope), _products, Limit(high=1.0, unit="times"),
                   "3x3 products of sigma by step 9 over those of eq. 76, the most"),
            search("the effect of gravity can be considered by an acceleration of the base",
                   DEFORMED.readings(scope), weighed, SMALL,
                   "distance of its forces from those of weights"),
            undecidable("strain energy of axial deformation is ignored beside that of bending and "
                        "torsion", "the area of a section"),
            search("gravity is considered without additional computations",
                   WEIGHT.readings(scope), weight, Limit(high=1.0, unit="times what is additional"),
                   "operations of A_1^T g in step 2, which are counted nowhere"),
            search("all mathematical operations are done by only 3x3 and 3x1 matrices",
                   SOLVING.readings(scope), rows, Limit(high=3.5, unit="rows"),
                   f"largest of {len(matrices)} rotations, inertias and sums of step 9 and "
                   f"{len(vectors)} places, rates and shapes of an arm of three links, or of its "
                   "inertia matrix"),
            undecidable("doing so reduces computations", "the same method in other matrices"),
            undecidable("all dynamic expressions of a link are in its own coordinate system",
                        "which are those of a link: sums of step 9 lead from one to another"),
            undecidable("it is easy to understand, as it uses primitive dynamic concepts",
                        "for whom, and beside what"),
            undecidable("the inverse of the inertia matrix can only be evaluated numerically",
                        "from what complexity on"),
            search("the term of order delta^2 of B9 is small, a candidate for elimination",
                   SMALL_TERM.readings(scope), off, SMALL, "change of M without it"),
        ),
    )  # fmt: skip


def _products(reading: Reading) -> float:
    """Count 3x3 products of sigma by step 9 over those of eq. 76, the most."""

    def share(n: int) -> float:
        left = {(j, i) if reading[KEEPING] == KEPT else (j, k, i)
                for k in range(n) for j in range(k + 1) for i in range(k, n) if i > j}  # fmt: skip
        right = [(j, k, i) for k in range(n) for j in range(k + 1) for i in range(k + 1, n)]
        return (n - 1 + n * (n - 1) / 2) / (len(left) + len(right))

    return max(map(share, CHAINS[reading[LINKS]]))


ITEMS = (
    Item(PAPER, "table-1", "Table 1: operations of the ten steps", table_1,
         Grid(REPAIRED.choices + STEPS.choices)),
    Item(PAPER, "table-2", "Table 2: operations beside Book's method", table_2,
         Grid(COLUMN.choices + MUCH.choices)),
    Item(PAPER, "identities", "symmetries, sizes of matrices, the term of second order",
         identities, OPEN),
    Item(PAPER, "tip-rotation", "eq. 6: tips that turn by 1 + skew of their angles", tip_rotation,
         fall.VIBRATION),
    *(Item(PAPER, f"fig-{k}", f"Fig. {k}: {title}", partial(fall.figure, k), fall.GRID)
      for k, (_, title, _) in fall.FIGURES.items()),
    Item(PAPER, "figures", "Figs. 4-15: concordance of all of them", fall.all_figures, fall.GRID),
    Item(PAPER, "more-modes", "Figs. 4-15: more mode shapes", fall.more_modes, fall.MODES),
    Item(PAPER, "vibration", "Figs. 8-15: vibration modes", fall.vibration, fall.VIBRATION),
)  # fmt: skip
