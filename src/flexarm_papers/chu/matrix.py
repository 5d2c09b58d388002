"""Chu et al.: the mass matrix of eq. 25, its joint types, and what one point leaves out."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import casadi as ca
import numpy as np
import scipy.linalg

from flexarm.formulations.composite import Composite
from flexarm.formulations.element_jacobian import ElementJacobian
from flexarm.formulations.equation import Equation
from flexarm.mechanics.kinematics import frames
from flexarm.model import Model, build
from flexarm.spatial import Array
from flexarm_papers.base import Figure, Found, Table, curve
from flexarm_papers.beams.classical import beam_roots, clamped_mass
from flexarm_papers.chu.cost import ARMS, EXACT
from flexarm_papers.chu.planar import (
    FIXED,
    REVOLUTE,
    SLIDING,
    PlanarLink,
    coordinates,
    mass_matrix,
)
from flexarm_papers.readings import Reading, every, ways
from flexarm_papers.runs import changed, difference, slopes
from flexarm_papers.verdicts import FREQUENCY, claim, general, measured, search

STRIP = 7850.0 * 3e-5  # [kg/m] of the links of example 2
LINKS_1 = (PlanarLink(FIXED, 0.2, 10.0), PlanarLink(REVOLUTE, 1.0, 0.706, 5))
LINKS_2 = (PlanarLink(REVOLUTE, 0.8, STRIP, 2), PlanarLink(REVOLUTE, 0.3, STRIP, 2))
PAYLOAD_2 = 0.05  # [kg]
# The text gives neither a motor inertia [kg m^2] nor, in example 1, a body at the tip [kg].
MOTOR, TIP = "motor inertia", "body at the tip of example 1"
MISSING = every(ways(MOTOR, "0 kg m^2", "0.01 kg m^2"), ways(TIP, "0 kg", "0.05 kg"))
BEND = 0.5  # [rad] of joint 2
# flexarm's joint, with its value, by the paper's name of the joint of link 2.
JOINTS: dict[str, tuple[dict[str, Any], float]] = {
    REVOLUTE: ({"kind": "revolute"}, BEND),
    FIXED: ({"kind": "prismatic", "axis": [0, 1, 0]}, 0.2),
    SLIDING: ({"kind": "carriage", "actuation": "free"}, 0.55),
}
COUNTS, SMALL = (5, 2), 16  # elements per link of the paper's examples, and small ones
EQUAL = claim("distance from the consistent mass matrix, elements integrated", high=1e-8)
ROBOT = "difference from the rigid robot's, of its largest entry"


def joint_types() -> Found:
    """Check the mass matrix for the three joint types of section 2."""
    off, rows = {}, []
    for name, (_, value) in JOINTS.items():
        links = (LINKS_2[0], PlanarLink(name, 0.3, STRIP, 2))
        q = np.zeros(coordinates(links))
        q[5] = value
        exact = _consistent(name, q)
        off[name] = difference(mass_matrix(links, q, payload=PAYLOAD_2, points=4), exact)
        one = mass_matrix(links, q, payload=PAYLOAD_2)
        scale = np.sqrt(np.diag(exact))
        wrong = 100 * np.abs((one - exact) / np.outer(scale, scale)).max()
        rows.append((name, f"{off[name]:.1e}", f"{wrong:.0f} %", f"{_rank(one)} of {len(one)}"))
    return Found(
        (
            general("joint i can be a revolute, a sliding prismatic or a fixed prismatic joint",
                    "section 2, eq. 3", EQUAL, off),
        ),
        tables=(Table("Two flexible links of example 2 with each joint between them",
                      ("joint 2", "elements integrated: distance from M of flexarm",
                       "one point: error of M, of a unit diagonal", "rank of M"), tuple(rows)),),
        text="Eqs. 1 to 25 were written out for a planar robot, independent of flexarm. With "
        "integrated elements they give flexarm's consistent M for all three joints; the sliding "
        "prismatic joint is one that rides along the flexible link, flexarm's carriage.",
    )  # fmt: skip


def _consistent(name: str, q: Array) -> Array:
    """Return the consistent M of example 2 with another joint 2, links undeformed."""
    joint = {**JOINTS[name][0], "start": {"position": float(q[5])}}
    values: dict[str, Any] = {"links.1.joint.hub": {}, "links.2.joint": joint}
    model = build(changed(ARMS[2], values), stiffening=False)
    return Equation.of(Composite(model)).mass_matrix(q)


def _rank(M: Array) -> int:
    scale = np.sqrt(np.diag(M))
    return int(np.linalg.matrix_rank(M / np.outer(scale, scale), tol=1e-12))


def eq_18() -> Found:
    """Compare eq. 18, one point per element, with elements weighed all along."""
    model = build(changed(ARMS[2]), stiffening=False)
    one, other = (matrices(model, paper=paper)[0] for paper in (True, False))
    scale = np.sqrt(np.diag(other))
    off = 100 * np.abs((one - other) / np.outer(scale, scale))
    ratios = {(n, paper): cantilever(n, paper)
              for n in (SMALL, *COUNTS) for paper in (True, False)}  # fmt: skip
    errors = {n: [100 * abs(float(x) - 1) for x in ratios[n, True][:n]] for n in (SMALL, *COUNTS)}
    rows = tuple((str(n), "one point" if paper else "integrated", *(f"{x:.4f}" for x in r))
                 for (n, paper), r in ratios.items())  # fmt: skip
    counts = np.arange(2, 17)
    return Found(
        (
            measured("the mass and all the moment of inertia of all elements are taken into "
                     "account", "section 6",
                     claim("difference of the joints' entries of M from those of rigid links",
                           high=1e-10), difference(_joint_rows(2), _rigid_rows()),
                     beside={"largest error of M, of a unit diagonal [%]": float(off.max())}),
            general("if elements are small, their kinetic energy is that of their centres and of "
                    "their turning", "before eq. 18", FREQUENCY,
                    {f"{SMALL} elements, mode {k + 1}": x for k, x in enumerate(errors[SMALL])}),
            search("M of the examples is regular, as simulations need", "section 3",
                   claim("motions without inertia (rank lost by M)", high=0.5),
                   MISSING.readings(), _lost),
        ),
        figures=(
            Figure("Frequencies of a cantilever by eq. 18, over the exact ones", "elements",
                   "ratio", tuple(curve(f"mode {k + 1}", counts, [cantilever(int(n), True)[k]
                                        for n in counts]) for k in range(3))),
        ),
        tables=(Table("Cantilever frequencies over the exact ones",
                      ("elements", "mass matrix", "mode 1", "mode 2", "mode 3"), rows),),
        finding="One point per element needs many elements. With the 2 elements per link of "
        f"example 2 entries of M are wrong by up to {off.max():.0f} % of the diagonal. Without "
        "motor inertia, which the text does not give, M of example 1 is singular while link 2 is "
        "straight, and M of example 2 while the arm is straight, in spite of its payload.",
        text=f"With {SMALL} elements three frequencies of a cantilever are off by up to "
        f"{max(errors[SMALL]):.1f} %, with the {COUNTS[0]} and {COUNTS[1]} elements of the "
        f"examples by up to {max(errors[COUNTS[0]]):.1f} and {max(errors[COUNTS[1]]):.1f} %. A "
        "pattern of deflections and slopes leaves all centres of elements at rest and has no "
        "inertia. The rank is the same by independent code and by flexarm.",
    )  # fmt: skip


def _lost(reading: Reading) -> float:
    """Return the number of motions without inertia of the straight arms, the larger of both."""
    hub, tip = (float(reading[x].split()[0]) for x in (MOTOR, TIP))
    found = [
        mass_matrix([replace(link, hub=hub) for link in links], np.zeros(n), payload=payload)
        for links, n, payload in ((LINKS_1, 12, tip), (LINKS_2, 10, PAYLOAD_2))
    ]
    return float(max(len(M) - _rank(M) for M in found))


def table_1() -> Found:
    """Compare the mass matrices of Table 1 where the paper says that they are the same."""
    rigid = _rigid_rows()
    gaps = {f"{n} elements per link": difference(_joint_rows(n), rigid) for n in (1, 2, 4, 8)}
    axis = every(ways("r of Table 1", "on the axis, as in eq. 2", "of every point of V_ij"))
    thin = _joint_rows(2, sections=False, points=EXACT)
    whole = _joint_rows(2, points=EXACT)
    return Found(
        (
            general("the rigid robot's mass matrix is left when all elastic displacements are "
                    "eliminated", "sections 1, 6", claim(ROBOT, high=1e-10), gaps),
            general("the rigid robot's mass matrix is left when all J^f of eqs. 20 and 21 are "
                    "eliminated", "after eq. 25",
                    claim("elastic rows that stay in M, of its largest entry", high=1e-10),
                    {f"example {k}": _left(k) for k in ARMS}),
            search("in the previous methods not all the moment of inertia is included",
                   "section 6", claim(ROBOT, low=1e-10), axis.readings(),
                   lambda x: difference(thin if "axis" in x["r of Table 1"] else whole, rigid)),
            measured("the velocity of an element's centre is (J_T^r - u~ J_R^r + A J^f) q'",
                     "eqs. 8-17", claim("largest error, example 2 deformed", high=1e-10),
                     _speeds()),
        ),
        tables=(Table("Table 1, as in the paper", ("", "previous methods", "proposed", "rigid"),
                      (("M_ij", "integral of m_i (dr/dq)^T (dr/dq) dV over the element",
                        "m_i l_ie J_T^T J_T + J_R^T I_ij J_R",
                        "m_li J_T^T J_T + J_R^T I_i J_R per link"),)),),
        text="Without J^f alone, the displacement and slope of link 1's tip stay in M of example "
        "2, since J^r of link 2 contains them (eq. 4). An integral along the axis lacks only the "
        "inertia of the sections themselves, a millionth of M.",
    )  # fmt: skip


def matrices(model: Model, *, paper: bool) -> tuple[Array, Array]:
    """Return M and K of the straight arm, undeformed."""
    kind = ElementJacobian(model, paper=True) if paper else Composite(model)
    equation, zero = Equation.of(kind), np.zeros(model.size)
    return equation.mass_matrix(zero), slopes(equation, zero, part="elastic")


@cache
def cantilever(count: int, paper: bool) -> Array:
    """Return three frequencies of the link of example 1, its root clamped, over the exact ones."""
    model = build(changed(ARMS[1], {"links.2.shapes.bending_y": count}))
    rest = [k for k, name in enumerate(model.names) if not name.startswith("joint")]
    mass, stiff = (x[np.ix_(rest, rest)] for x in matrices(model, paper=paper))
    # M may be singular to double precision: massless motions have 0 here, no frequency
    inverse = scipy.linalg.eigh(mass, (stiff + stiff.T) / 2, eigvals_only=True)[:-4:-1]
    link = changed(ARMS[1]).model_dump()["links"][1]
    bending, density = (link["section"][key] for key in ("EIz", "mass_per_length"))
    exact = np.square(beam_roots(clamped_mass(0.0), 3) / link["length"]) * np.sqrt(
        bending / density
    )
    return np.asarray(1 / np.sqrt(inverse) / exact)


def _left(example: int) -> float:
    """Return the largest entry of elastic rows of M by J^r alone, of the largest entry."""
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
    """Return the error of eq. 10 against the derivative of the place, links deformed."""
    model = build(changed(ARMS[2]), stiffening=False)
    q, found = ca.SX.sym("q", model.size), []
    for part, frame in zip(model.links, frames(model, q), strict=True):
        x = part.beam.span.length / 4  # the centre of the first of two elements
        bent = ca.DM(part.beam.shapes.values("y", np.array([x]))) @ q[list(part.own)]
        along, relative = frame.R_WL[:, 0], ca.vertcat(0, bent, 0)
        place, off = frame.p_WL + x * along, frame.R_WL @ relative
        rate = along[0] * ca.jacobian(along[1], q) - along[1] * ca.jacobian(along[0], q)
        turning = ca.vertcat(ca.SX(2, model.size), rate)
        speed = ca.jacobian(place, q) - ca.skew(off) @ turning
        found.append(speed + frame.R_WL @ ca.jacobian(relative, q) - ca.jacobian(place + off, q))
    gap = ca.Function("gap", [q], [ca.vertcat(*found)])
    at = np.random.default_rng(0).uniform(-0.3, 0.3, model.size)
    return float(np.abs(np.array(gap(at).full())).max())


def _joint_rows(count: int, *, sections: bool = True, points: int | None = None) -> Array:
    """Return the joints' part of M of example 2, undeformed; by one point, or integrated."""
    values: Mapping[str, Any] = {
        **{f"links.{k}.section.rotary_inertia": sections for k in (1, 2)},
        **{f"links.{k}.shapes.bending_y": count for k in (1, 2)},
    }
    model = build(changed(ARMS[2], values))
    joints = [model.names.index(f"joint{k}") for k in (1, 2)]
    q = np.zeros(model.size)
    q[joints[1]] = BEND
    equation = Equation.of(ElementJacobian(model, paper=points is None, points=points))
    return equation.mass_matrix(q)[np.ix_(joints, joints)]


def _rigid_rows() -> Array:
    """Return M of example 2 with rigid links by the last column of Table 1."""
    arm = changed(ARMS[2]).model_dump()
    M, turned, columns = np.zeros((2, 2)), np.zeros(2), np.zeros((2, 2))
    for k, (link, angle) in enumerate(zip(arm["links"], (0.0, BEND), strict=True)):
        shape, length = link["section"]["shape"], link["length"]
        mass = link["section"]["material"]["density"] * shape["width"] * shape["height"] * length
        inertia = mass * (length**2 + shape["width"] ** 2) / 12
        across = np.array([-np.sin(angle), np.cos(angle)])
        turned[k] = 1.0
        centre = columns + length / 2 * np.outer(across, turned)
        M += mass * centre.T @ centre + inertia * np.outer(turned, turned)
        M += link["joint"]["hub"]["outboard"]["inertia"][2] * np.outer(turned, turned)
        columns = columns + length * np.outer(across, turned)
    return np.asarray(M + arm["payload"]["mass"] * columns.T @ columns)
