"""Chen, Zhang & Liu 2012: what is said of equations and dimensions, and how links stiffen."""

import numpy as np

from flexarm.formulations import formulation
from flexarm.model import build
from flexarm_papers.base import Found
from flexarm_papers.runs import asymmetry, changed, slopes
from flexarm_papers.statements import Limit, compare, decide

LENGTH, MASS, EI = 7.11, 314.88, 3.8e6  # [m], [kg], [N m^2] of a boom
# What a link on a spring and a rotor is made of, in powers of kg, m and s; the ratios in theirs.
DIMENSIONS = {"length": (0, 1, 0), "mass per length": (1, -1, 0), "bending stiffness": (1, 3, -2),
              "rotor inertia": (1, 2, 0), "joint stiffness": (1, 2, -2)}  # fmt: skip
RATIOS = {"link to rotor inertia": (3, 1, 0, -1, 0), "link to joint stiffness": (-1, 0, 1, 0, -1)}


def frequency_ratios() -> Found:
    """Count the numbers without a dimension that a link, a joint spring and a rotor have."""
    left = len(DIMENSIONS) - np.linalg.matrix_rank(list(DIMENSIONS.values()))
    named = np.array(list(RATIOS.values()))
    pure = not np.any(named @ np.array(list(DIMENSIONS.values())))
    return Found((
        decide("frequencies and mode shapes are parameterised in two ratios (Ref. 1)",
               bool(pure and np.linalg.matrix_rank(named) == left),
               f"{', '.join(DIMENSIONS)} have {left} numbers without a dimension, and the two "
               "ratios are such and independent"),
    ))  # fmt: skip


def inertia_coefficients() -> Found:
    """Compare inertia coefficients of deflections in joint equations with those the other way."""
    model = build(changed("chen-two-link"))
    q = np.random.default_rng(0).uniform(-0.02, 0.02, model.size)
    off = asymmetry(formulation("recursive-lagrange", model, paper=True), q)
    says = "the inertia coefficient for the deflection variable in the joint equation is the same "
    says += "as that for the joint variable in the deflection equation (eq. 37)"
    return Found((compare(says, off, Limit(high=1e-12), "largest difference, both equations by "
                          "themselves, of the largest coefficient"),))  # fmt: skip


def chordwise_squares(links: int, rate: float) -> list[float]:
    """Give the first squared frequency of link 1 [1/s^2] in one mode at a speed [rad/s].

    Right, by the paper's equations with stiffening and by them without; a link 2 beyond is held
    straight.
    """
    name = "chen-rotating-link" if links == 1 else "chen-two-link-rigid-joints"
    values: dict[str, object] = {"gravity": [0.0] * 3, "links.1.joint": {"kind": "revolute"}}
    for k in range(1, links + 1):
        values[f"links.{k}.shapes"] = {"kind": "clamped-free", "bending_y": 1}
    found = []
    for kind, paper, stiffening in (("composite", False, True), ("recursive-lagrange", True, True),
                                    ("recursive-lagrange", True, False)):  # fmt: skip
        model = build(changed(name, values), stiffening=stiffening)
        equation = formulation(kind, model, paper=paper)
        q, v = np.zeros((2, model.size))
        v[model.names.index("joint1")] = rate
        k = model.names.index("link1.y1")
        found.append(float(slopes(equation, q, v)[k, k] / equation.mass_matrix(q)[k, k]))
    return found
