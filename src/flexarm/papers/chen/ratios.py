"""Chen, Zhang & Liu 2012: frequencies of a link behind a spring and a rotor, over two ratios."""

import numpy as np

from flexarm.formulations import formulation
from flexarm.linear.modes import modes
from flexarm.links.base import Array
from flexarm.links.beams.classical import BeamEnds, beam_roots
from flexarm.model import build
from flexarm.papers.base import Check, Found, Limit, Table, compare, decide
from flexarm.papers.runs import asymmetry, changed, plain_link, slopes

LENGTH, MASS, EI = 7.11, 314.88, 3.8e6  # [m], [kg], [N m^2] of a boom
# What a link on a spring and a rotor is made of, in powers of kg, m and s; the ratios in theirs.
DIMENSIONS = {"length": (0, 1, 0), "mass per length": (1, -1, 0), "bending stiffness": (1, 3, -2),
              "rotor inertia": (1, 2, 0), "joint stiffness": (1, 2, -2)}  # fmt: skip
RATIOS = {"link to rotor inertia": (3, 1, 0, -1, 0), "link to joint stiffness": (-1, 0, 1, 0, -1)}


def frequency_ratios() -> Found:
    """Find the frequencies of link, joint spring and rotor over the two ratios."""
    rotors, joints = (0.1, 1.0, 5.0), (0.01, 0.1, 10.0)
    table = {(r, k): _ratios(r, k) for r in rotors for k in joints if r == 1.0 or k == 0.1}
    exact = max(abs(x[:2] / _exact_ratios(*key) - 1).max() for key, x in table.items())
    by_rotor, by_joint = (
        np.ptp([table[key][0] for key in keys]) / table[1.0, 0.1][0]
        for keys in ([(r, 0.1) for r in rotors], [(1.0, k) for k in joints])
    )
    left = len(DIMENSIONS) - np.linalg.matrix_rank(list(DIMENSIONS.values()))
    named = np.array(list(RATIOS.values()))
    pure = not np.any(named @ np.array(list(DIMENSIONS.values())))
    statements = (
        decide("frequencies and mode shapes are parameterised in two ratios (Ref. 1)",
               bool(pure and np.linalg.matrix_rank(named) == left),
               f"{', '.join(DIMENSIONS)} have {left} numbers without a dimension, and the two "
               "ratios are such and independent"),
    )  # fmt: skip
    checks = (
        Check("elements give the roots of the frequency equation", exact < 1e-3,
              f"off by at most {exact:.1e}"),
        *(Check(f"the ratio of {name} matters", x > 0.05,
                f"the first frequency goes over {100 * x:.3g} % of itself")
          for name, x in zip(RATIOS, (float(by_rotor), float(by_joint)), strict=True)),
    )  # fmt: skip
    rows = tuple((*(f"{x:g}" for x in key), *(f"{x:.5f}" for x in y)) for key, y in table.items())
    head = ("link / rotor inertia", "link / joint stiffness EI/(L K)", "1st", "2nd", "3rd")
    shown = Table("omega / sqrt(EI/(m L^3)), motor free", head, rows)
    return Found(statements, checks=checks, tables=(shown,))


def inertia_coefficients() -> Found:
    """Compare inertia coefficients of deflections in joint equations with those the other way."""
    model = build(changed("chen-two-link"))
    q = np.random.default_rng(0).uniform(-0.02, 0.02, model.size)
    off = asymmetry(formulation("recursive-lagrange", model, paper=True), q)
    says = "the inertia coefficient for the deflection variable in the joint equation is the same "
    says += "as that for the joint variable in the deflection equation (eq. 37)"
    return Found((compare(says, off, Limit(high=1e-12), "largest difference, both equations by "
                          "themselves, of the largest coefficient"),))  # fmt: skip


def _ratios(rotor: float, joint: float) -> Array:
    """Find the lowest frequencies over sqrt(EI/(m L^3)), for ratios of inertia and stiffness."""
    length, density, stiffness = LENGTH, MASS / LENGTH, EI
    drive = {
        "rotor_inertia": density * length**3 / 3 / rotor,
        "gear_ratio": 1.0,
        "stiffness": stiffness / length / joint,
    }
    shapes = {"kind": "elements", "bending_y": 8}
    arm = plain_link(shapes, length, density, stiffness, **{"links.1.joint.drive": drive})
    found = modes(arm, joints="free")
    unit = np.sqrt(stiffness / (density * length**4))
    rates = [m.frequency_rad_s for m in found.modes if m.kind == "vibration"]
    return np.asarray(np.sort(np.array(rates))[:3] / unit)


def _exact_ratios(rotor: float, joint: float) -> Array:
    """Solve the frequency equation of a beam on a spring and a rotor that is free to turn."""
    ends = BeamEnds(spring=1 / joint, rotor=1 / (3 * rotor))
    return np.asarray(np.square(beam_roots(ends, 2)))


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
