"""Chen, Zhang & Liu 2012: frequencies of a link behind a spring and a rotor, over two ratios."""

import numpy as np

from flexarm.formulations import formulation
from flexarm.linear.modes import modes
from flexarm.links.base import Array
from flexarm.links.beams.classical import BeamEnds, beam_roots
from flexarm.model import build
from flexarm.papers.base import Check, Figure, Found, Limit, Table, compare, curve, decide
from flexarm.papers.runs import changed, plain_link, slopes

LENGTH, MASS, EI = 7.11, 314.88, 3.8e6  # [m], [kg], [N m^2] of a boom


def frequency_ratios() -> Found:
    """Find the frequencies of link, joint spring and rotor over the two ratios."""
    rotors, joints = (0.1, 0.5, 1.0, 5.0), (0.01, 0.1, 1.0, 10.0)
    table = {(r, k): _ratios(r, k) for r in rotors for k in joints}
    scaled = max(
        abs(_ratios(r, k, scale=3.0) / table[r, k] - 1).max() for r, k in ((0.5, 0.1), (5.0, 10.0))
    )
    exact = max(
        abs(table[r, k][:2] / _exact_ratios(r, k) - 1).max() for r in rotors for k in joints
    )
    by_rotor = np.ptp([table[r, 0.1][0] for r in rotors]) / table[1.0, 0.1][0]
    by_joint = np.ptp([table[1.0, k][0] for k in joints]) / table[1.0, 0.1][0]
    statements = (
        decide("frequencies are parameterised by two ratios alone", scaled < 1e-8,
               "length, mass and stiffness scaled by 3, 9 and 27 at equal ratios change "
               f"omega/sqrt(EI/(m L^3)) by {scaled:.1e}"),
        compare("the ratio of link to rotor inertia matters", 100 * float(by_rotor),
                Limit(low=5.0, unit="%"), "the first frequency goes over, of itself"),
        compare("the ratio of link to joint stiffness matters", 100 * float(by_joint),
                Limit(low=5.0, unit="%"), "the first frequency goes over, of itself"),
    )  # fmt: skip
    check = Check("elements give the roots of the frequency equation", exact < 1e-3,
                  f"off by at most {exact:.1e}")  # fmt: skip
    rows = tuple(
        (f"{r:g}", f"{k:g}", *(f"{x:.5f}" for x in table[r, k][:3])) for r in rotors for k in joints
    )
    head = ("link / rotor inertia", "link / joint stiffness", "1st", "2nd", "3rd")
    fine = np.geomspace(joints[0], joints[-1], 41)
    shown = [
        curve(f"frequency equation, link / rotor inertia {r:g}", fine,
              [_exact_ratios(r, float(k))[0] for k in fine])
        for r in rotors
    ]  # fmt: skip
    shown += [
        curve(f"elements, {r:g}", joints, [table[r, k][0] for k in joints], points=True)
        for r in rotors
    ]
    return Found(
        statements,
        checks=(check,),
        tables=(Table("omega / sqrt(EI/(m L^3)), motor free", head, rows),),
        figures=(Figure("First frequency, motor free", "link / joint stiffness EI/(L K) [1]",
                        "omega / sqrt(EI/(m L^3)) [1]", tuple(shown), log_x=True),),
    )  # fmt: skip


def _ratios(rotor: float, joint: float, scale: float = 1.0) -> Array:
    """Find the lowest frequencies over sqrt(EI/(m L^3)), for ratios of inertia and stiffness."""
    length, density, stiffness = LENGTH * scale, MASS / LENGTH * scale**2, EI * scale**3
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

    Right, by the paper's equations and without stiffening; a link 2 beyond is held straight.
    """
    name = "chen-rotating-link" if links == 1 else "chen-two-link-rigid-joints"
    values: dict[str, object] = {"gravity": [0.0] * 3, "links.1.joint": {"kind": "revolute"}}
    for k in range(1, links + 1):
        values[f"links.{k}.shapes"] = {"kind": "clamped-free", "bending_y": 1}
    found = []
    for kind, paper, stiffening in (("composite", False, True), ("recursive-lagrange", True, True),
                                    ("composite", False, False)):  # fmt: skip
        model = build(changed(name, values), stiffening=stiffening)
        equation = formulation(kind, model, paper=paper)
        q, v = np.zeros((2, model.size))
        v[model.names.index("joint1")] = rate
        k = model.names.index("link1.y1")
        found.append(float(slopes(equation, q, v)[k, k] / equation.mass_matrix(q)[k, k]))
    return found
