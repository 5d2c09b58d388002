"""Graves 1989, Chu et al. and Chen, Zhang & Liu 2012: what is misprinted or wrong, run."""

import math

import numpy as np

from flexarm.formulations import formulation
from flexarm.formulations.element_jacobian import ElementJacobian
from flexarm.formulations.equation import Equation
from flexarm.model import build
from flexarm.spatial import Array
from flexarm_papers.beams.classical import CLAMPED_FREE, beam_roots, beam_shape
from flexarm_papers.chen.fall import BOTH, last_torsion
from flexarm_papers.chen.link import LENGTH, MASS, POLAR, chordwise_squares
from flexarm_papers.errata.base import wrong_by
from flexarm_papers.graves.loads import CHAINS, ITERATED, LINKS, accelerations, mass_error, turned
from flexarm_papers.runs import changed

GJ = 1.93e6  # [N m^2] of a boom of Chen et al.


def _undeflected() -> str:
    """Compare M of eq. 25, links weighed undeflected, with the complete one."""
    found = [f"{max(mass_error(name, size) for name in CHAINS):.2g} % at amplitudes of {text}"
             for text, size in (("1 cm", 0.01), ("10 cm", 0.1))]  # fmt: skip
    return (
        f"M, of a unit diagonal, wrong by up to {' and '.join(found)} (chains of flexible links of "
        "1 m)"
    )


def _shape(x: Array, derivative: int = 0) -> Array:
    """Evaluate the first clamped-free mode of a link of 1 m, 1 at the tip."""
    shape = beam_shape(CLAMPED_FREE, float(beam_roots(CLAMPED_FREE, 1)[0]))
    return np.asarray(shape.evaluate(x, derivative) / shape.evaluate(np.ones(1))[0])


def _modal_row() -> str:
    """Load a mode by the acceleration of points of a turning link, and by that of its centre."""
    x, w = np.polynomial.legendre.leggauss(20)
    whole = float(w / 2 @ (_shape((x + 1) / 2) * (x + 1) / 2))
    centre = 0.5 * float(_shape(np.array([0.5]))[0])
    return (
        "the load of a link's own mode is left out, if J_cm does not see it, or too small by "
        f"{100 * (1 - centre / whole):.0f} % (first mode, accelerations in proportion to x)"
    )


def _transposed() -> str:
    """Multiply rotations of small angles by their transposes."""
    found = []
    for angle in (0.01, 0.1, 0.3):
        T = turned(angle)
        found.append(f"{100 * np.abs(T @ T.T - np.eye(3)).max():.2g} % at {angle:g} rad")
    return f"T T^T is off 1 by {', '.join(found)}"


def _nonlinear_acceleration() -> str:
    """Compare eq. 27 with the acceleration of the tip of spatial chains of three rigid links."""
    pairs = accelerations(ITERATED.first, LINKS[1])
    return "right for planar chains of rigid links, if v_b is relative to a; in space " + wrong_by(
        pairs, "the tip's nonlinear acceleration, three such links, is"
    )


def _one_point(name: str, hubs: tuple[int, ...]) -> Array:
    """Give M of the straight arm with one point per element, without motor inertia."""
    model = build(changed(name, {f"links.{k}.joint.hub": {} for k in hubs}))
    return Equation.of(ElementJacobian(model, paper=True)).mass_matrix(np.zeros(model.size))


def _clamped_node() -> str:
    """Give the rank of M of a straight hinged link, u_1 and u_2 of its root among q."""
    count, size = 3, 1.0
    m = size / 420 * np.array([[156, 22 * size, 54, -13 * size],
                               [22 * size, 4 * size**2, 13 * size, -3 * size**2],
                               [54, 13 * size, 156, -22 * size],
                               [-13 * size, -3 * size**2, -22 * size, 4 * size**2]])  # fmt: skip
    nodes = np.zeros((2 * count + 2, 2 * count + 2))
    for k in range(count):
        nodes[2 * k : 2 * k + 4, 2 * k : 2 * k + 4] += m
    turned = np.array([x for k in range(count + 1) for x in (k * size, 1.0)])
    columns = np.column_stack([turned, np.eye(2 * count + 2)])  # joint, then nodes
    M = columns.T @ nodes @ columns
    return (
        f"M of a straight hinged link of {count} elements has the rank {np.linalg.matrix_rank(M)} "
        f"of {len(M)}: its nodes can turn as the joint does"
    )


def _per_volume() -> str:
    link = changed("chu-example-1").model_dump()["links"][1]
    mass, area = link["section"]["mass_per_length"] * link["length"], 9e-5
    return f"link 2 of example 1 has {mass * area:.3g} kg m^2 where {mass:.3g} kg are meant"


def _ranks() -> str:
    found = []
    for name, hubs in (("chu-example-1", (2,)), ("chu-example-2", (1, 2))):
        M = _one_point(name, hubs)
        scale = np.sqrt(np.diag(M))
        rank = np.linalg.matrix_rank(M / np.outer(scale, scale), tol=1e-12)
        found.append(f"{rank} of {len(M)}")
    return (
        f"without motor inertia M of examples 1 and 2, straight, has the rank {found[0]} and "
        f"{found[1]}: the payload of example 2 does not cure it, a hub at each joint does"
    )


def _drawn_in() -> str:
    """Find the first chordwise frequency of link 1 at 10 rad/s, link 2 beyond it held straight."""
    (right, _, printed, _), (still, *_) = (chordwise_squares(2, rate) for rate in (10.0, 0.0))
    return (
        f"at 10 rad/s the square of link 1's first frequency, link 2 held straight beyond it, "
        f"changes by {right - still:.1f} 1/s^2, and by {printed - still:.1f} as printed: what is "
        "beyond does not stiffen it"
    )


def _torsion() -> str:
    """Look at what couples the last link's torsion to the rest of M."""
    sizes = last_torsion()
    return (
        f"its coupling to all else in M is {sizes[0]:.1g} as printed, {sizes[1]:.2g} complete "
        "(unit diagonal): nothing twists the last link"
    )


def _polar() -> str:
    per_length = POLAR / LENGTH
    rates = [math.pi / 2 * math.sqrt(GJ / x) / LENGTH for x in (per_length, POLAR)]
    return (
        f"the first torsional frequency is {rates[0]:.0f} rad/s for a link's total, "
        f"{rates[1]:.0f} rad/s if read per length"
    )


def _torsion_constant() -> str:
    """Compare the polar moment of area with the torsion constant of a thin open and a square bar.

    Saint-Venant's constant of a square of side 1 is 0.1406, its polar moment 1/6.
    """
    odd = np.arange(1, 40, 2)
    square = 1 / 3 * (1 - 192 / math.pi**5 * float(np.sum(np.tanh(odd * math.pi / 2) / odd**5)))
    return (
        f"of a square section the polar moment is {1 / 6:.4f} a^4, the torsion constant "
        f"{square:.4f} a^4: {100 * (1 / 6 / square - 1):.0f} % too stiff; of a round one they are "
        "equal"
    )


def _unturned() -> str:
    """Weigh link 2's first mode behind a bent link 1, whose tip turns by E = 1 + skew."""
    shapes = {f"links.{k}.shapes": {"kind": "clamped-free", "bending_y": 1} for k in BOTH}
    model = build(changed("chen-two-link-rigid-joints", shapes))
    equation = formulation("recursive-lagrange", model, paper=True)
    tip, k = model.names.index("link1.y1"), model.names.index("link2.y1")
    bent = 0.1 / float(_shape(np.ones(1), 1)[0]) * LENGTH  # [m], for a tip turned by 0.1 rad
    straight, turned = (equation.mass_matrix(x * np.eye(model.size)[tip])[k, k] for x in (0, bent))
    return (
        "none if W_j turns only; of E = 1 + skew (eq. 2) it also stretches, and with link 1's tip "
        f"turned by 0.1 rad the mass of link 2's mode is {100 * (turned / straight - 1):.1f} % more"
    )


def _stretched() -> str:
    strain = MASS / LENGTH * 80.0**2 * LENGTH**2 / (2 * 2.84e7)
    return (
        f"at 80 rad/s the root of an undeformed link would be strained by {100 * strain:.0f} %; an "
        "undeformed link at constant speed is at rest only if it cannot stretch"
    )
