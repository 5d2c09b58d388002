"""Theodore & Ghosal 1995: what is misprinted, run beside what is right."""

import math

import numpy as np

from flexarm.formulations import formulation
from flexarm.formulations.equation import Equation
from flexarm.io.model_file import example_arm
from flexarm_papers.beams.classical import CLAMPED_FREE, beam_roots, beam_shape, clamped_mass
from flexarm_papers.runs import simulate
from flexarm_papers.theodore import theory
from flexarm_papers.theodore.items import wrong_digits
from flexarm_papers.theodore.loop import EI
from flexarm_papers.theodore.robot import STROKE
from flexarm_papers.theodore.roots import DENSITY, PAYLOAD


def _hertz() -> str:
    first = float(beam_roots(CLAMPED_FREE, 1)[0] ** 2) * math.sqrt(EI / DENSITY)
    return f"the first is {first:.2f} rad/s, which is {first / (2 * math.pi):.3f} Hz"


def _digits() -> str:
    wrong = wrong_digits()
    right = 18 - len(wrong)
    return f"{right} of 18 are right to their last digit; the others are {', '.join(wrong)}"


def _angle(length: float) -> float:
    """Give the angle [rad] of the tip of a link that is bent by 1 cm."""
    shape = beam_shape(CLAMPED_FREE, float(beam_roots(CLAMPED_FREE, 1)[0]))
    value, slope = (float(shape.evaluate(np.ones(1), k)[0]) for k in (0, 1))
    return 0.01 * slope / value / length


def _slope() -> str:
    """Turn the tip of a link of half a metre by d psi/d eta, and by that over its length."""
    return (f"1/l_j: none in the example, whose link 2 is 1 m long; bent by 1 cm the tip of a link "
            f"of 0.5 m turns by {_angle(0.5):.4f} rad, {_angle(1.0):.4f} as printed")  # fmt: skip


def _axes() -> str:
    """Turn a link of 1 m by link 2's tip, bent in its plane by 1 cm: phi = (0, phi^v, 0)."""
    right, printed = (np.cross(_angle(1.0) * np.eye(3)[k], np.eye(3)[0]) for k in (2, 1))
    return (f"with link 2 bent by 1 cm in the plane, a link of 1 m beyond is turned by "
            f"{1e3 * abs(printed[2]):.1f} mm out of it, and not by {1e3 * right[1]:.1f} mm in "
            "it")  # fmt: skip


def _axial() -> str:
    """Weigh link 3, 1 m out, along its joint: material points, x held, eta held."""
    held = PAYLOAD + DENSITY / 3
    return (f"joint 3 moves {STROKE * DENSITY + PAYLOAD:.4f} kg (its entry of M, 1 m out); with x "
            f"held the payload's {PAYLOAD:.4f} alone, with eta held {held:.4f}")  # fmt: skip


def _constants() -> str:
    """Normalise link 3's first mode, with the payload, where the motion begins and ends."""
    x, w = np.polynomial.legendre.leggauss(40)
    found = []
    for length in (0.3, 1.0):
        mass = PAYLOAD / (DENSITY * length)
        b = float(beam_roots(clamped_mass(mass), 1)[0])
        top = math.sin(b) - math.sinh(b) + mass * b * (math.cos(b) - math.cosh(b))
        nu = top / (math.cos(b) + math.cosh(b) - mass * b * (math.sin(b) - math.sinh(b)))
        e = b * (x + 1) / 2
        shape = np.cos(e) - np.cosh(e) + nu * (np.sin(e) - np.sinh(e))
        found.append(float((w / 2 @ shape**2) ** -0.5))
    return f"C_1 of link 3 is {found[0]:.4f} at 0.3 m and {found[1]:.4f} at 1 m"


def _weight() -> str:
    """Weigh what hangs on joint 2, link 3 out by 0.3 m, with V = + m g^T r and parts left out."""
    right = 0.331 / 2 + STROKE * DENSITY + PAYLOAD
    printed = 0.331 / 2 + 0.3 * DENSITY
    return (f"none without gravity; with it, g as it pulls, the weight is upside down, and S2.2, "
            f"called g_i, without payload and hub, leaves {100 * (1 - printed / right):.0f} % of "
            "the torque of joint 2 out, link 3 across and 0.3 m out")  # fmt: skip


def _swapped() -> str:
    """Put the off-diagonal blocks of an inverse mass matrix where they are printed."""
    part = _arm().partitioned(theory.motion().path.at(0.5))
    (n, N), off = part.rf.shape, theory.inverse()[1]
    return (
        f"in the arm of section 5, the blocks printed at the upper right are {N} x {n} where {n} x "
        f"{N} is needed; at the lower left they would be {'right' if off < 1e-12 else 'wrong'}"
    )


def _arm() -> Equation:
    """Give the equations of the arm of section 5, modes normalised as there for a link 3 of 1 m."""
    return formulation("composite", theory.motion().model)


def _growing() -> str:
    """Find the force that the bent link puts on the joint that draws it in, along the motion."""
    run = simulate(example_arm("theodore-rrp-motion"), t_end=0.5, dt=5e-3, rtol=1e-4)
    equation, k = formulation("composite", run.model), run.model.names.index("joint3")
    still = np.zeros(run.model.size)
    found = [abs(float(equation.parts(q, still)["elastic"][k])) for q in run.q]
    return f"up to {max(found):.2g} N on joint 3 in the motion of section 5; 0 as printed"


def _definite() -> str:
    """Look for x with x^T H x < 0 on the arm of section 5."""
    q = np.zeros(_arm().model.size)
    q[_arm().model.names.index("joint3")] = 1.0
    part = _arm().partitioned(q)
    H = theory.stiffness_gain(part)
    least = np.linalg.eigvalsh((H + H.T) / 2).min()
    other = np.linalg.eigvalsh(np.linalg.solve(part.ff, H)).min()
    return (f"least x^T H x of unit x is {least:.2g}, of x^T M_ff^-1 H x it is {abs(other):.1f}; "
            "no eigenvalue of H is negative")  # fmt: skip


def _reduced() -> str:
    """Measure up to which alpha the lemma's matrix is definite, at the end of the motion."""
    found = theory.overestimates(_arm(), theory.motion().path.at(1.0))
    bound = found[theory.SIGNS][theory.ALIKE]
    spans = {sense: np.array(list(x.values())) / bound for sense, x in found.items()}
    return "; ".join(
        f"by {sense} alpha lambda_max(H) may be up to {x[0]:.2g} for dK = alpha K, "
        f"{x[1:].min():.2g} to {x[1:].max():.3g} for four others"
        for sense, x in spans.items()
    )
