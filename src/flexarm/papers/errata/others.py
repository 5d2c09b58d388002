"""Graves 1989, Chu et al. and Chen, Zhang & Liu 2012: what is misprinted or wrong, run."""

import math
from functools import partial

import numpy as np

from flexarm.formulations import formulation
from flexarm.formulations.element_jacobian.formulation import ElementJacobian
from flexarm.formulations.equation import Equation
from flexarm.io.sample import sample
from flexarm.links.base import Array
from flexarm.model import build
from flexarm.papers.chen.ratios import LENGTH, MASS
from flexarm.papers.errata.base import Erratum, wrong_by
from flexarm.papers.runs import changed

GRAVES, CHU, CHEN = "graves-1989", "chu", "chen-2012"
CHU_FILE = "formulations/element_jacobian/formulation.py"
GJ, POLAR = 1.93e6, 15.41  # [N m^2], [kg m^2] of a boom of Chen et al.


def _undeflected(size: float) -> str:
    """Compare M of eq. 25, links weighed undeflected, with the complete one."""
    model = build(sample("count-3-2-2"), stiffening=False)
    rng, pairs = np.random.default_rng(3), []
    small = np.array([size if "." in name else 1.0 for name in model.names])
    for _ in range(5):
        q = small * rng.uniform(-1, 1, model.size)
        pairs.append((formulation("kinematic-influence", model, paper=True).mass_matrix(q),
                      formulation("composite", model).mass_matrix(q)))  # fmt: skip
    return wrong_by(pairs, f"M, at tips bent by {size:g} m,")


def _transposed() -> str:
    """Multiply rotations of small angles by their transposes."""
    found = []
    for angle in (0.01, 0.1, 0.3):
        x, y, z = angle * np.array([1.0, 2.0, 2.0]) / 3
        T = np.array([[1.0, -z, y], [z, 1.0, -x], [-y, x, 1.0]])
        found.append(f"{100 * np.abs(T @ T.T - np.eye(3)).max():.2g} % at {angle:g} rad")
    return f"T T^T is off 1 by {', '.join(found)}"


def _nonlinear_acceleration() -> str:
    """Compare eq. 27 with the acceleration of the tip of spatial chains of three rigid links."""
    rng, pairs = np.random.default_rng(2), []
    for _ in range(5):
        omega, alpha, a, printed = np.zeros((4, 3))
        for _ in range(3):
            turn, r = rng.standard_normal((2, 3))
            alpha = alpha + np.cross(omega, turn)
            omega = omega + turn
            moved = np.cross(omega, r)
            printed = printed + np.cross(omega, moved)
            a = a + np.cross(alpha, r) + np.cross(omega, moved)
        pairs.append((printed, a))
    return "right for planar chains of rigid links, if v_b is relative to a; in space " + wrong_by(
        pairs, "the tip's nonlinear acceleration, three such links, is"
    )


def _one_point(name: str, hubs: tuple[int, ...]) -> Array:
    """Give M of the straight arm with one point per element, without motor inertia."""
    model = build(changed(name, {f"links.{k}.joint.hub": {} for k in hubs}))
    return Equation.of(ElementJacobian(model, paper=True)).mass_matrix(np.zeros(model.size))


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


def _torsion() -> str:
    """Look at what couples the last link's torsion to the rest of M."""
    model = build(sample("chen-two-link-rigid-joints"))
    row, q = model.names.index("link2.twist1"), np.zeros(model.size)
    sizes = []
    for kind, paper in (("recursive-lagrange", True), ("composite", False)):
        M = formulation(kind, model, paper=paper).mass_matrix(q)
        scale = np.sqrt(np.diag(M))
        rest = [k for k in range(len(M)) if k != row]
        sizes.append(float(np.abs((M / np.outer(scale, scale))[row, rest]).max()))
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


def _stretched() -> str:
    strain = MASS / LENGTH * 80.0**2 * LENGTH**2 / (2 * 2.84e7)
    return (
        f"at 80 rad/s the root of an undeformed link would be strained by {100 * strain:.0f} %; an "
        "undeformed link at constant speed is at rest only if it cannot stretch"
    )


ERRATA = (
    Erratum(GRAVES, "eq. 11", "psi x R + psi", "psi_r x R + psi_t over psi_r",
            "subscripts are lost; read by the text around it"),
    Erratum(GRAVES, "eq. 5", "inverse = transpose, 'may be approximated'",
            "exact to the first order of the angles, wrong by their squares",
            _transposed),
    Erratum(GRAVES, "eqs. 25c, f, g", "stacked blocks",
            "int rho psi_t; int rho x~ psi_t + (I/V) psi_r; int rho psi_t^T psi_t + psi_r^T (I/V) "
            "psi_r", "of a shape that does not fit M"),
    Erratum(GRAVES, "eq. 25", "links weighed undeflected", "all terms in the deflection",
            partial(_undeflected, 0.1), "formulations/kinematic_influence/formulation.py"),
    Erratum(GRAVES, "eq. 27", "omega_a x v_b",
            "alpha_a x r + omega_a x (v_b - v_a) + omega_a x v_rel",
            _nonlinear_acceleration),
    Erratum(GRAVES, "nonlinear force", "accelerations on the left", "generalised forces",
            "not of the dimension of an acceleration"),
    Erratum(CHU, "section 2, sliding prismatic joint", "not defined here",
            "that of the authors' earlier paper: the next link runs along the flexible one before",
            "flexarm's joint `carriage`, and not `sliding`, where a beam grows out of a hub "
            "(Theodore & Ghosal's prismatic link)"),
    Erratum(CHU, "eqs. 2, 7", "u_1, u_2 of the clamped node in q", "left out", "M is singular"),
    Erratum(CHU, "eqs. 14, 15", "omega^r + omega^f", "omega^r + A omega^f", "none in the plane"),
    Erratum(CHU, "text after eq. 18", "14 and 17 into 19", "13 and 16 into 18", "nothing to run"),
    Erratum(CHU, "eqs. 18, 25", "one point per element", "three Gauss points or more", _ranks,
            CHU_FILE),
    Erratum(CHU, "eq. 24", "inner sum to n_j", "to n_i", "read by the text around it"),
    Erratum(CHU, "Table 1", "m_i ... dV", "mass per length over dx, or density over dV",
            "not of the dimension of a mass"),
    Erratum(CHU, "figures", "two numbered 15", "slope of example 2, and a photograph",
            "nothing to run"),
    Erratum(CHEN, "eqs. 2, 3", "tip without shortening", "x = L + ... - 1/2 sum sum delta delta x",
            "the next link is not drawn in: stiffening by what is beyond is lost"),
    Erratum(CHEN, "eq. 11", "torsional energy of the relative rate",
            "1/2 int J_x (omega_x + theta_x')^2", _torsion, "formulations/recursive_lagrange.py"),
    Erratum(CHEN, "Table 1", "J_x in kg m^2, per length in the text", "of the whole link", _polar,
            "samples/chen-two-link.yaml"),
    Erratum(CHEN, "Kt", "N/m", "N m/rad", "its torque is Kt times an angle (eq. 43)"),
    Erratum(CHEN, "eqs. 34-37, 46", "J_jkk; a scalar transposed; a bracket missing",
            "J_jhk; no transpose; bracket of eq. 35 as in eq. 41", "read by the lines around it"),
    Erratum(CHEN, "eq. 43", "F_j, not defined", "F_j = -n_j tau_j, tau_j the motor's torque",
            "a remark: eq. 14, phi = -n q_1, gives it by virtual work"),
    Erratum(CHEN, "first example", "EA = 2.84e7 N", "EA = 1.55e8 N would suit J_x", _stretched,
            "samples/chen-rotating-link.yaml"),
)  # fmt: skip
