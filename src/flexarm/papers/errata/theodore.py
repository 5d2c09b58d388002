"""Theodore & Ghosal 1995: what is misprinted, run beside what is right."""

import math

import numpy as np

from flexarm.control import Timing, joint_move
from flexarm.formulations import formulation
from flexarm.io.sample import sample
from flexarm.links.beams.classical import CLAMPED_FREE, beam_roots, beam_shape
from flexarm.model import build
from flexarm.papers.errata.base import Erratum
from flexarm.papers.readings import Scope
from flexarm.papers.theodore.items import table_1
from flexarm.papers.theodore.loop import EI, GOALS
from flexarm.papers.theodore.roots import DENSITY
from flexarm.papers.theodore.theory import ALIKE, SIGNS, overestimates

PAPER = "theodore-1995"


def _hertz() -> str:
    first = float(beam_roots(CLAMPED_FREE, 1)[0] ** 2) * math.sqrt(EI / DENSITY)
    return f"the first is {first:.2f} rad/s, which is {first / (2 * math.pi):.3f} Hz"


def _digits() -> str:
    return table_1(Scope()).checks[0].because


def _slope() -> str:
    """Turn the tip of a link of half a metre by d psi/d eta, and by that over its length."""
    ends = CLAMPED_FREE
    shape = beam_shape(ends, float(beam_roots(ends, 1)[0]))
    value, slope = (float(shape.evaluate(np.ones(1), k)[0]) for k in (0, 1))
    angles = [0.01 * slope / value / length for length in (1.0, 0.5)]
    return (f"re-derived, axes too; bent by 1 cm the tip of a link of 0.5 m turns by "
            f"{angles[1]:.4f} rad, {angles[0]:.4f} as printed")  # fmt: skip


def _swapped() -> str:
    """Multiply a mass matrix by its inverse with the off-diagonal blocks as printed."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((6, 6))
    M, part = X @ X.T + 6 * np.eye(6), slice(0, 3)
    inverse = np.linalg.inv(M)
    printed = inverse.copy()
    printed[part, 3:], printed[3:, part] = inverse[3:, part], inverse[part, 3:]
    off = np.abs(M @ printed - np.eye(6)).max()
    return f"n x N needs N = n to be formed at all; then M times it differs from 1 by {off:.2g}"


def _growing() -> str:
    """Compare the force that a bent link puts on the joint that draws it in with the weight."""
    model = build(sample("theodore-rrp"))
    equation = formulation("composite", model)
    q = np.zeros(model.size)
    q[model.names.index("joint3")] = 0.3
    for name in ("link3.y1", "link3.z1"):
        q[model.names.index(name)] = 0.005
    found = equation.parts(q, np.zeros(model.size))["elastic"]
    force = found[model.names.index("joint3")]
    return f"{abs(force):.0f} N on joint 3, 0.3 m out, with its tip bent by 5 mm; 0 as printed"


def _definite() -> str:
    """Look for x with x^T H x < 0 on the arm of section 5."""
    model = build(sample("theodore-rrp"))
    q = np.zeros(model.size)
    q[model.names.index("joint3")] = 1.0
    mass = formulation("composite", model).mass_matrix(q)
    joints = [model.names.index(f"joint{k}") for k in (1, 2, 3)]
    rest = [k for k in range(model.size) if k not in joints]
    m_rf, m_ff = mass[np.ix_(joints, rest)], mass[np.ix_(rest, rest)]
    pulled = m_rf.T @ np.linalg.solve(mass[np.ix_(joints, joints)], m_rf)
    H = pulled @ np.linalg.inv(m_ff - pulled)
    least = np.linalg.eigvalsh((H + H.T) / 2).min()
    return f"least x^T H x of unit x is {least:.2g}, though no eigenvalue of H is negative"


def _reduced() -> str:
    """Measure up to which alpha the lemma's matrix is definite, at the end of the motion."""
    model = build(sample("theodore-rrp"))
    found = overestimates(model, joint_move(model, GOALS, Timing("cycloid", 0.5)).path.at(1.0))
    bound = found[SIGNS][ALIKE]
    spans = {sense: np.array(list(x.values())) / bound for sense, x in found.items()}
    return "; ".join(
        f"by {sense} alpha lambda_max(H) may be up to {x[0]:.2g} for dK = alpha K, "
        f"{x[1:].min():.2g} to {x[1:].max():.3g} for four others"
        for sense, x in spans.items()
    )


ERRATA = (
    Erratum(PAPER, "eq. 8", "d psi/d eta; phi_y = u', phi_x = w'",
            "over l_j; revolute: phi_z = v', phi_y = -w'; prismatic: phi_y = u', phi_x = -v'",
            _slope),
    Erratum(PAPER, "eq. 15", "phi_z = phi^w, phi_y = phi^v, phi_x = phi^u",
            "as eq. 8, corrected", "contradicts eqs. 8 and 13"),
    Erratum(PAPER, "eqs. 19, 21, Algorithm 1", "d/dt of r",
            "the material derivative: x = s - (l0 - l), d eta/dt = (1 - eta) l'/l",
            "with x or eta held, the beam's axial momentum is lost"),
    Erratum(PAPER, "eq. 23", "EI_y with v'', EI_z with w''", "EI_z with v'', EI_y with w''",
            "none here: both are equal"),
    Erratum(PAPER, "eqs. 26-31", "no term of K in the joint rows",
            "+ 1/2 q_f^T (dK/dl) q_f for a flexible prismatic link", _growing,
            "mechanics/bodies/growing_terms.py"),
    Erratum(PAPER, "eq. 47", "m_p^i", "m_p", "read by the text around it; nothing to run"),
    Erratum(PAPER, "Table 1", "Hz", "rad/s", _hertz, "papers/theodore/items.py"),
    Erratum(PAPER, "Table 1", "2.0873e2; 2.0864e2, 1.5709e4, 3.1318e4; 1.1860e4",
            "2.0874e2 (2 elements); 2.0866e2, 1.5710e4, 3.1319e4 (3 elements); 1.1859e4 (exact)",
            _digits),
    Erratum(PAPER, "Remark 2", "the matrix H is positive semidefinite",
            "its eigenvalues are not negative; x^T H x may be, for H is not symmetric", _definite),
    Erratum(PAPER, "Lemma, proof", "'reduces to' alpha lambda_max(H) < 1: K - H dK definite",
            "by eigenvalues for dK = alpha K alone; by x^T A x it is necessary, not sufficient",
            _reduced),
    Erratum(PAPER, "Appendix, inverse of M", "off-diagonal blocks swapped",
            "upper right: - M_rr^-1 M_rf (M_ff - M_rf^T M_rr^-1 M_rf)^-1", _swapped,
            "control/laws/decoupling.py"),
)  # fmt: skip
