"""Chu et al.: the mass matrix itself, and what it leaves out."""

import math
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np
import scipy.linalg

from flexarm.arm import Arm
from flexarm.errors import FlexarmError
from flexarm.formulations import formulation
from flexarm.formulations.composite import Composite
from flexarm.formulations.element_jacobian import ElementJacobian
from flexarm.formulations.equation import Equation
from flexarm.io.overrides import change_arm
from flexarm.mechanics.kinematics import frames
from flexarm.mechanics.sections import picked
from flexarm.model import Model, build
from flexarm.spatial import Array
from flexarm_papers.base import Found, Item, Table
from flexarm_papers.beams.classical import beam_roots, clamped_mass
from flexarm_papers.chu.cost import ARMS, CHAINS, COST_GRID, EXACT, chain, cost
from flexarm_papers.readings import Grid, Reading, Scope, ways
from flexarm_papers.runs import changed, difference, slopes
from flexarm_papers.statements import Check, Limit, compare, decide, search, undecidable

PAPER = "chu"
MANY = 20  # elements per link: what is taken for "a large number"
SHAPES = "links.2.shapes.bending_y"  # number of elements of the link of example 1
BEND = 0.5  # [rad], of joint 2 where matrices are compared
NUMBER = "elements of a link"
NEARLY = Limit(high=5.0, unit="%")
LOOKED = {"the first three": 3, "the first": 1}
TURNED, THIN = "I_ij of eq. 18", "of its sections alone"
SMALL = Grid((ways(NUMBER, "5", "2", "8", "12", "16"), ways("frequencies", *LOOKED),
              ways(TURNED, "of the whole element", THIN,
                   against={THIN: 'section 6: "the mass and all the moment of inertia"'})),
             ((NUMBER, "frequencies"), (NUMBER, TURNED)))  # fmt: skip
OVER, TIP = "distance over", "the deflection of the link's tip"
CENTRE = Grid((ways(OVER, "what the element itself bends", TIP),))
ROBOT = "robot"
RIGID = Grid((ways(ROBOT, "example 2, of two flexible links", "example 1, of one"),))
MOVING = "inertia at the last joint or the tip"
CARRIED: dict[str, dict[str, Any]] = {
    "none, as in the text": {},
    "a motor of 0.01 kg m^2": {"hub": {"outboard": {"inertia": [0.0, 0.0, 0.01]}}},
    "a payload of 50 g": {"payload": {"mass": 0.05}},
}
HYBRID = Grid((ways(MOVING, *CARRIED),))
PLACE, AXIS = "r of Table 1", "on the axis, as in eq. 2"
PLACES = Grid((ways(PLACE, AXIS, "of every point of V_ij"),))
COLUMNS = ("previous methods", "proposed method", "rigid robots")
FORMS = (
    ("M_ij", "integral of m_i (dr/dq)^T (dr/dq) dV over the element",
     "m_i l_ie J_T^T J_T + J_R^T I_ij J_R", "m_li J_T^T J_T + J_R^T I_i J_R per link"),
    ("M", "complex and implicit transformations", "sum of M_ij over links and elements",
     "sum of M_i over links"),
)  # fmt: skip


def _apart(*, paper: bool) -> float:
    """Compare M with that of link frames and deformations relative to them, of the largest."""
    model = build(changed(ARMS[2]), stiffening=False)
    q = np.random.default_rng(0).uniform(-0.02, 0.02, model.size)
    both = ElementJacobian(model, paper=paper), Composite(model)
    return difference(*(Equation.of(x).mass_matrix(q) for x in both))


def deficiency(scope: Scope) -> Found:
    """Show where the one-point mass matrix is singular, and what it does to frequencies."""
    bare: Mapping[str, Any] = {"links.2.joint.hub": {}}
    refused = _refusal(bare)
    printed = Equation.of(ElementJacobian(build(changed(ARMS[1], bare)), paper=True))
    size = printed.model.size
    rank = np.linalg.matrix_rank(printed.mass_matrix(np.zeros(size)))
    ratios = {(n, paper): _cantilever(n, paper) for n in (2, 5) for paper in (True, False)}
    falls = [_least_eigenvalue(n) for n in (2, 3, 4)]
    factors = [a / b for a, b in pairwise(falls)]
    most = next(n - 1 for n in range(2, MANY + 2) if n > MANY or _refusal({SHAPES: n}))
    at_joints, in_all = _errors()
    statements = (
        compare("the mass and all the moment of inertia of all elements are taken into account",
                at_joints, Limit(high=1.0, unit="%"),
                "error of the joints' part of M of example 2, of a unit diagonal, the largest"),
        search("if the size of an element is small, its kinetic energy is that of its centre and "
               "of its turning (eq. 18)", SMALL.readings(scope), _at_centres, NEARLY,
               "error of frequencies of a cantilever"),
        search("the centre of mass of any element can be determined with eq. 6",
               CENTRE.readings(scope), _off_centre, NEARLY,
               "distance of that point from it, in example 2, link 2 bent to an arc"),
    )  # fmt: skip
    worse = [float(np.abs(ratios[5, paper] - 1).max()) for paper in (True, False)]
    checks = (
        Check("all of M is that of elements weighed all along", in_all < 1.0,
              f"entries of example 2, of a unit diagonal, are off by up to {in_all:.0f} %"),
        Check("M by element centres is more accurate than the integrated one", worse[0] < worse[1],
              "of five elements the first three frequencies are off by up to "
              f"{100 * worse[0]:.2g} % and {100 * worse[1]:.2g} %"),
        Check(f"example 1 can be run with a large number of elements ({MANY})", most >= MANY,
              f"its link can have {most}; with one more M is singular to double "
              "precision: the least eigenvalue of the clamped link's scaled M falls by "
              f"{' and '.join(f'{x:.0f}' for x in factors)} times from 2 to 4"),
        Check("example 1 with the data in the text alone (no payload, no motor inertia) can be "
              "simulated", not refused,
              f"M is singular: {refused.partition(':')[2].strip() or refused}"),
    )  # fmt: skip
    names = {True: "one point per element", False: "integrated"}
    rows = tuple(
        (str(n), names[paper], *(f"{x:.6f}" for x in r)) for (n, paper), r in ratios.items()
    )
    return Found(
        statements,
        tables=(Table("Cantilever frequencies over the exact ones",
                      ("elements", "mass matrix", "mode 1", "mode 2", "mode 3"), rows),),
        because=f"The mass matrix of example 1 without motor inertia has the rank {rank} of "
        f"{size}: a motion of the nodes that no element's centre takes part in has no inertia. "
        f"With a motor's the fastest mode of the arm has {_fastest(True):.1e} rad/s, beside "
        f"{_fastest(False):.1e} rad/s by the consistent matrix.",
        checks=checks,
    )  # fmt: skip


def table_1(scope: Scope) -> Found:
    """Compare the three mass matrices of Table 1 where they should be the same: at the joints."""
    counts = (1, 2, 4, 8)
    full, thin = (_rigid_rows(sections=x) for x in (True, False))
    blocks = {n: (_joint_rows(n, sections=False), _joint_rows(n, sections=True)) for n in counts}
    gaps = [difference(own, full) for _, own in blocks.values()]
    rods = max(difference(old, thin) for old, _ in blocks.values())
    listed = ", ".join(map(str, counts))
    joints = {f"links.{k}.joint": {"kind": x} for k, x in ((1, "revolute"), (2, "fixed"))}
    half = change_arm(chain(CHAINS[3], 3, first=2), joints)
    half = change_arm(half, {f"links.{k}.shapes.bending_y": 2 for k in (2, 3)})
    hybrid, partly = (_rows_apart(build(arm)) for arm in (changed(ARMS[1]), half))
    speed = _speeds()
    statements = (
        compare("the global mass matrices for a flexible robot and a rigid robot are similar: that "
                "of the rigid robot is left when all elastic displacements are eliminated",
                max(gaps), Limit(high=1e-10), "what M has that the rigid robot's has not, of the "
                f"largest, {listed} elements per link"),
        search("that of the rigid robot is left when all J^f of eqs. 20 and 21 are eliminated",
               RIGID.readings(scope), _left, Limit(high=1e-10),
               "elastic rows that stay in M, of its largest entry"),
        search("in the previous methods not all the moment of inertia of an element and a link "
               "are included", PLACES.readings(scope),
               lambda x: difference(blocks[2][0] if x[PLACE] == AXIS else _joint_rows(
                   2, sections=True, paper=False), full), Limit(low=1e-10),
               "what joint rows lack of the rigid robot's, of the largest"),
        search("the approach is applicable to hybrid robots of rigid and flexible links",
               HYBRID.readings(scope), lambda x: _without_inertia(changed(ARMS[1]), x),
               Limit(high=0.5), "motions of example 1, whose link 1 is rigid, that have no inertia "
               "in M"),
        search("it is also applicable when a part of some rigid links is flexible (section 2)",
               HYBRID.readings(scope), lambda x: _without_inertia(half, x), Limit(high=0.5),
               "motions of a plane arm whose first link is rigid up to its middle that have no "
               "inertia in M"),
        decide("the velocity of an element's centre is (J_T^r - u~ J_R^r + A J^f) q', its turning "
               "(J_R^r + J_R^f) q' (eqs. 8 to 17)", speed < 1e-10, "in the plane both are "
               f"derivatives of place and angle, to {speed:.1e}, in example 2"),
        undecidable("the modelling is different from the floating frame of reference formulations "
                    "(element frames, Jacobian matrices)", "a number or motion that would differ: "
                    "what is said is how M is set up"),
        undecidable("all the steps of the modelling are similar to those commonly used for rigid "
                    "robots", "what makes steps similar"),
    )  # fmt: skip
    centres, along = _apart(paper=True), _apart(paper=False)
    checks = (
        Check("M is that of a floating frame of reference if elements are weighed all along",
              along < 1e-10, f"to {along:.1e} of the largest entry; weighed at their centres it is "
              f"{100 * centres:.2g} % off"),
        Check("joint rows of M of both hybrid robots are those integrated",
              max(hybrid, partly) < 1e-10, f"to {max(hybrid, partly):.1e}"),
    )  # fmt: skip
    places = ((0, 0, "M11"), (0, 1, "M12"), (1, 1, "M22"))
    rows = tuple(
        (name, str(n), *(f"{block[i, j]:.10f}" for block in (*pair, full)))
        for n, pair in blocks.items() for i, j, name in places
    )  # fmt: skip
    return Found(
        statements,
        tables=(
            Table("Table 1, the paper's", ("", *COLUMNS), FORMS),
            Table(f"Ours: joint rows of M of example 2, joint 2 at {BEND:g} rad, no deflection "
                  "[kg m^2]", ("entry", "elements per link", *COLUMNS), rows),
        ),
        because="What an integral along the axis lacks is the sections' own inertia, too little to "
        f"matter here; but for it joint rows agree with the rigid robot's to {rods:.1e}.  Without "
        "J^f alone the displacement and slope of link 1's tip stay in M: J^r of link 2 has them "
        "(eq. 4).",
        checks=checks,
    )  # fmt: skip


def _rows_apart(model: Model) -> float:
    """Compare the joints' part of M, links straight, with that by integrals."""
    joints = [k for k, name in enumerate(model.names) if name.startswith("joint")]
    both = (matrices(model, paper)[0][np.ix_(joints, joints)] for paper in (True, False))
    return difference(*both)


def _without_inertia(arm: Arm, reading: Reading) -> float:
    """Count the motions of an arm, straight, that M by element centres gives no inertia."""
    carried = {"hub": {}} | CARRIED[reading[MOVING]]
    carried[f"links.{len(arm.links)}.joint.hub"] = carried.pop("hub")
    M = matrices(build(change_arm(arm, carried)), paper=True)[0]
    scale = np.sqrt(np.diag(M))
    return float(len(M) - np.linalg.matrix_rank(M / np.outer(scale, scale), tol=1e-12))


def _left(reading: Reading) -> float:
    """Give the largest entry of elastic rows of M of an example, of the largest, J^r alone."""
    example = next(k for k in ARMS if reading[ROBOT].startswith(f"example {k}"))
    model = build(changed(ARMS[example]), stiffening=False)
    q, M = ca.SX.sym("q", model.size), ca.SX(model.size, model.size)
    for part, frame in zip(model.links, frames(model, q), strict=True):
        if not part.body.one_length:
            continue
        along, count = frame.R_WL[:, 0], len(part.own) // 2
        size = part.beam.span.length / count
        mass = float(part.beam.span.table["mass_per_length"][0]) * size
        turned = along[0] * ca.jacobian(along[1], q) - along[1] * ca.jacobian(along[0], q)
        for x in size * (np.arange(count) + 0.5):
            moved = ca.jacobian(frame.p_WL + x * along, q)
            M += mass * (moved.T @ moved + size**2 / 12 * turned.T @ turned)
    found = np.array(ca.Function("M", [q], [M])(np.zeros(model.size)))
    elastic = [k for k, name in enumerate(model.names) if not name.startswith("joint")]
    return float(np.abs(found[elastic]).max() / np.abs(found).max())


def _speeds() -> float:
    """Compare eqs. 10 and 16 with derivatives of place and angle, at random coordinates."""
    model = build(changed(ARMS[2]), stiffening=False)
    q, found = ca.SX.sym("q", model.size), []
    for part, frame in zip(model.links, frames(model, q), strict=True):
        x = part.beam.span.length / 4  # the centre of the first of two elements
        shapes, own = part.beam.shapes, picked(q, part.own)
        bent, slope = (ca.DM(shapes.values("y", np.array([x]), k)) @ own for k in (0, 1))
        along, relative = frame.R_WL[:, 0], ca.vertcat(0, bent, 0)
        place, off = frame.p_WL + x * along, frame.R_WL @ relative
        rate = along[0] * ca.jacobian(along[1], q) - along[1] * ca.jacobian(along[0], q)
        turning = ca.vertcat(ca.SX(2, model.size), rate)
        speed = ca.jacobian(place, q) - ca.skew(off) @ turning
        speed += frame.R_WL @ ca.jacobian(relative, q)
        angle = ca.atan2(along[1], along[0]) + slope
        found += [speed - ca.jacobian(place + off, q),
                  rate + ca.jacobian(slope, q) - ca.jacobian(angle, q)]  # fmt: skip
    gap = ca.Function("gap", [q], [ca.vertcat(*found)])
    at = np.random.default_rng(0).uniform(-0.3, 0.3, model.size)
    return float(np.abs(np.array(gap(at).full())).max())


def _joint_rows(count: int, *, sections: bool, paper: bool | None = None) -> Array:
    """Give the joints' part of M of example 2, deformed by nothing.

    Parameters
    ----------
    count
        Elements per link.
    sections
        Whether sections have an inertia of their own.
    paper
        Whether by the proposed method, else by integrals over the elements; as `sections` if not
        given.
    """
    inertia = {f"links.{k}.section.rotary_inertia": sections for k in (1, 2)}
    shapes = {f"links.{k}.shapes.bending_y": count for k in (1, 2)}
    model = build(changed(ARMS[2], {**inertia, **shapes}))
    joints = [model.names.index(f"joint{k}") for k in (1, 2)]
    q = np.zeros(model.size)
    q[joints[1]] = BEND
    paper = sections if paper is None else paper
    points = None if paper else EXACT
    equation = Equation.of(ElementJacobian(model, paper=paper, points=points))
    return equation.mass_matrix(q)[np.ix_(joints, joints)]


def _rigid_rows(*, sections: bool) -> Array:
    """Add up M of example 2 with rigid links by the last column of Table 1."""
    arm = changed(ARMS[2]).model_dump()
    M, turned, columns = np.zeros((2, 2)), np.zeros(2), np.zeros((2, 2))
    for k, (link, angle) in enumerate(zip(arm["links"], (0.0, BEND), strict=True)):
        shape, length = link["section"]["shape"], link["length"]
        mass = link["section"]["material"]["density"] * shape["width"] * shape["height"] * length
        inertia = mass * (length**2 + (shape["width"] ** 2 if sections else 0.0)) / 12
        across = np.array([-np.sin(angle), np.cos(angle)])
        turned[k] = 1.0
        centre = columns + length / 2 * np.outer(across, turned)
        M += mass * centre.T @ centre + inertia * np.outer(turned, turned)
        M += link["joint"]["hub"]["outboard"]["inertia"][2] * np.outer(turned, turned)
        columns = columns + length * np.outer(across, turned)
    return np.asarray(M + arm["payload"]["mass"] * columns.T @ columns)


def matrices(model: Model, paper: bool) -> tuple[Array, Array]:
    """Give M and K of the straight arm, undeformed."""
    kind = ElementJacobian(model, paper=True) if paper else Composite(model)
    equation, zero = Equation.of(kind), np.zeros(model.size)
    return equation.mass_matrix(zero), slopes(equation, zero, part="elastic")


@cache
def _clamped(count: int, paper: bool = True, thin: bool = False) -> tuple[Array, Array]:
    """Give M and K of the link of example 1, its joints held; elements may turn like points."""
    model = build(changed(ARMS[1], {SHAPES: count}))
    rest = [k for k, name in enumerate(model.names) if not name.startswith("joint")]
    mass, stiff = (x[np.ix_(rest, rest)] for x in matrices(model, paper))
    if thin and (elastic := model.links[1].beam):
        size = elastic.span.length / count
        slope = elastic.shapes.values("y", np.asarray(size * (np.arange(count) + 0.5)), 1)
        mass = (
            mass - float(elastic.span.table["mass_per_length"][0]) * size**3 / 12 * slope.T @ slope
        )
    return mass, (stiff + stiff.T) / 2


def _cantilever(count: int, paper: bool, thin: bool = False) -> Array:
    # M may be singular to double precision: massless motions have 0 here, no frequency
    inverse = scipy.linalg.eigh(*_clamped(count, paper, thin), eigvals_only=True)[:-4:-1]
    link = changed(ARMS[1]).model_dump()["links"][1]
    bending, mass = (link["section"][key] for key in ("EIz", "mass_per_length"))
    exact = np.square(beam_roots(clamped_mass(0.0), 3) / link["length"]) * np.sqrt(bending / mass)
    return np.asarray(1 / np.sqrt(inverse) / exact)


def _errors() -> tuple[float, float]:
    """Find errors of M of example 2, straight: at its joints, and in all; unit diagonal [%]."""
    model = build(changed(ARMS[2]), stiffening=False)
    one, other = (matrices(model, paper)[0] for paper in (True, False))
    joints = [name.startswith("joint") for name in model.names]
    scale = np.sqrt(np.diag(other))
    off = 100 * np.abs((one - other) / np.outer(scale, scale))
    return float(off[np.ix_(joints, joints)].max()), float(off.max())


def _off_centre(reading: Reading) -> float:
    """Find how far the middle of an element, bent to w = x^2/2, is from its centre of mass [%]."""
    elastic = build(changed(ARMS[2])).links[1].beam
    assert elastic is not None  # it bends
    size = elastic.span.length / 2  # of two elements
    nodes = np.array([w for x in (size, 2 * size) for w in (x**2 / 2, x)])
    x, weights = np.polynomial.legendre.leggauss(4)
    middle, *bent = elastic.shapes.values("y", size / 2 * np.array([1.0, *(1 + x)])) @ nodes
    over = nodes[2] if reading[OVER] == TIP else nodes[0] / 2 - middle  # from the chord
    return float(100 * (weights / 2 @ np.array(bent) - middle) / over)


def _at_centres(reading: Reading) -> float:
    """Find the error of frequencies by element centres [%]; motions without inertia have none."""
    found = _cantilever(int(reading[NUMBER]), True, reading[TURNED] == THIN)
    off = float(np.abs(found[: LOOKED[reading["frequencies"]]] - 1).max())
    return 100 * off if off < 1e3 else math.nan


def _fastest(paper: bool) -> float:
    """Find the highest frequency of example 1 [rad/s]."""
    mass, stiff = matrices(build(changed(ARMS[1])), paper)
    return float(np.sqrt(scipy.linalg.eigh((stiff + stiff.T) / 2, mass, eigvals_only=True)[-1]))


def _least_eigenvalue(count: int) -> float:
    mass = _clamped(count)[0]
    scale = np.sqrt(np.diag(mass))
    return float(np.linalg.eigvalsh(mass / np.outer(scale, scale))[0])


def _refusal(values: Mapping[str, Any]) -> str:
    """Tell in words why example 1 cannot be simulated by the paper's matrix, "" if it can."""
    model = build(changed(ARMS[1], values))
    try:
        formulation("element-jacobian", model, paper=True)
    except FlexarmError as error:
        return str(error)
    return ""


MATRIX_ITEMS = (
    Item(PAPER, "cost", "cost of formulating the mass matrix", cost, COST_GRID),
    Item(PAPER, "deficiency", "what one point per element leaves out", deficiency,
         Grid(SMALL.choices + CENTRE.choices)),
    Item(PAPER, "table-1", "Table 1: forms of the mass matrix", table_1,
         Grid(RIGID.choices + HYBRID.choices + PLACES.choices)),
)  # fmt: skip
