"""Theodore & Ghosal 1995, sections 2.2 and 4.1: what modes and elements do to the matrices."""

from functools import cache
from typing import Any

import numpy as np
import scipy.linalg

from flexarm.formulations import formulation
from flexarm.mechanics.loads import input_matrix
from flexarm.model import Model, build
from flexarm.spatial import Array
from flexarm_papers.base import Found, Table
from flexarm_papers.beams.classical import CLAMPED_FREE, PINNED_FREE, beam_roots, hub_mass
from flexarm_papers.readings import Grid, Reading, Scope, ways
from flexarm_papers.runs import changed, plain_link, slopes
from flexarm_papers.statements import Limit, compare, decide, search, undecidable
from flexarm_papers.theodore.loop import EI
from flexarm_papers.theodore.roots import DENSITY, PAYLOAD

ZERO = Limit(high=1e-9)  # of an entry over the diagonal
NEARLY = Limit(high=10.0, unit="%")  # "nearly orthogonal"
NEARER = Limit(high=1.0, unit="times")
CONVERGED = Limit(high=0.1, unit="%")
BAND = 3  # places beside the diagonal that two nodes of two coordinates each fill
STEP = 1e-3  # [m], [rad]
BEND = 0.5  # [rad] of joint 2 where matrices of the arm are taken
WHOSE, TIP, MEANT, COUNT = ("matrices of", "modes see at the tip", "nearly orthogonal",
                            "number of elements")  # fmt: skip
ALONE, LOADED, ARM = "a clamped link", "a clamped link with the payload", "an arm of two links"
PAIRS, SHARE = "any two of them", "most of the pairs"
BEYOND, THERE = "those of elements that are not neighbours", "what is there"
MODES = Grid((ways(WHOSE, ALONE, LOADED, ARM), ways(TIP, THERE, "nothing")),
             ((WHOSE, TIP),))  # fmt: skip
BANDED = Grid(MODES.choices[:1])
# Of two elements all functions are neighbours.
NEAR = Grid((ways(MEANT, PAIRS, SHARE, BEYOND), ways(COUNT, "3", "8", "20")), ((MEANT, COUNT),))
REFERENCE = 20  # elements of a link whose first frequency is taken as exact: 1e-8 too high
COUNTS = range(1, 9)  # shapes of a link, for convergence
END, NUMBER = "clamped with", "modes per link"
DISTAL = Grid((ways(END, "the payload", "another link"), ways(NUMBER, "2", "1", "3")),
              ((END, NUMBER),))  # fmt: skip
STIFF, UNDER = "stiffness of", "a force at the tip"
STIFFNESS = Grid((ways(STIFF, "frequencies", UNDER),))
EASE = Grid(MODES.choices + NEAR.choices + DISTAL.choices + STIFFNESS.choices)
# Of beam to hub, "very small (0.1 or less)"; the beam's inertia is a third of rhoA L^3.
RATIOS = (0.1, 0.05, 0.01)


def ease(scope: Scope) -> Found:
    """Look at the matrices in modes and in elements, and at how both converge."""
    errors = {kind: _hinged(kind) for kind in ("clamped-free", "elements")}
    head = ("shapes", *(f"{name} [%]" for name in errors))
    rows = tuple((str(n), *(f"{x[k]:.2g}" for x in errors.values())) for k, n in enumerate(COUNTS))
    zero, other = (_forces(kind) for kind in ("clamped-free", "pinned-free"))
    hubs = [float(beam_roots(hub_mass(1 / (3 * r)), 1)[0]) ** 2 for r in RATIOS]
    clamped, pinned = (float(beam_roots(x, 1)[0]) ** 2 for x in (CLAMPED_FREE, PINNED_FREE))
    return Found(
        (
            search("orthogonal modes result in diagonal mass and stiffness matrices",
                   MODES.readings(scope), lambda x: _beside(_modal(x[WHOSE], x[TIP]), 0),
                   ZERO,
                   "largest entry beside the diagonal, of a unit diagonal"),
            search("local functions lead to banded mass and stiffness matrices",
                   BANDED.readings(scope), lambda x: _beside(_local(x[WHOSE]), BAND), ZERO,
                   f"largest entry more than {BAND} places beside the diagonal"),
            search("functions of elements are nearly orthogonal", NEAR.readings(scope), _nearly,
                   NEARLY, "largest product of two of them, or share of products that are not 0"),
            compare("modes are a complete set: convergence to the actual solution",
                    errors["clamped-free"][-1], CONVERGED,
                    f"error of the first frequency of a hinged link with {COUNTS[-1]} modes"),
            undecidable("two or three modes are sufficient to represent the flexible dynamics",
                        "of what motion, and how well"),
            undecidable("local functions are no complete set: monotonic convergence cannot always "
                        "be guaranteed", "a link for which it fails (of a uniform one the error of "
                        f"the first frequency falls from {errors['elements'][0]:.0f} % with each "
                        f"of {COUNTS[-1]} elements)"),
            decide("generalised forces on flexible variables are zero for a clamped controlled "
                   "end, not so for a pinned one", zero == 0 and other > 0,
                   f"per unit torque {zero:g} with clamped modes, {other:.2g} with pinned ones"),
            compare("for a beam-to-hub inertia of 0.1 or less, a clamped end is better than a "
                    "pinned one", max(abs(clamped - x) / abs(pinned - x) for x in hubs), NEARER,
                    "error of the first frequency, clamped over pinned", printed="0.1"),
            search("mass conditions at the distal end are more correct than a free one",
                   DISTAL.readings(scope), _distal, NEARER,
                   "error of the first frequency, joints held, with modes that see what is there, "
                   "over that with modes that do not"),
            search("finite elements usually give rise to overestimation of the structure stiffness "
                   "matrix (section 4.3)", STIFFNESS.readings(scope),
                   lambda x: _firmer() if x[STIFF] == UNDER else errors["elements"][1],
                   Limit(low=1e-3, unit="%"), "excess of a uniform link of two elements"),
        ),
        tables=(Table("First frequency of a hinged link, above the exact one", head, rows),),
        because="Modes that see what is at the tip are orthogonal with it.  In an arm the links "
        "beyond couple every amplitude with every other in M; K is diagonal, or banded, always.",
    )  # fmt: skip


def _link(shapes: dict[str, Any], payload: float = 0.0) -> Model:
    """Build link 2 of the paper on a hinge, with a payload [kg]."""
    arm = plain_link(shapes, 1.0, DENSITY, EI, payload={"mass": payload})
    return build(arm, stiffening=False)


def _matrices(model: Model, *, joints: bool = False) -> tuple[Array, Array]:
    """Give M and K, of flexible variables alone or with the joints', links straight."""
    equation = formulation("composite", model)
    q = np.array([BEND if name == "joint2" else 0.0 for name in model.names])
    K = slopes(equation, q, part="elastic", step=STEP)
    mine = [k for k, name in enumerate(model.names) if joints or "." in name]
    chosen = np.ix_(mine, mine)
    return equation.mass_matrix(q)[chosen], ((K + K.T) / 2)[chosen]


def _beside(model: Model, places: int) -> float:
    """Find the largest entry more than some places beside the diagonals of M and K."""
    found = []
    for matrix in _matrices(model):
        far = np.subtract.outer(np.arange(len(matrix)), np.arange(len(matrix)))
        found.append(float(np.abs(_scaled(matrix))[np.abs(far) > places].max()))
    return max(found)


def _scaled(matrix: Array) -> Array:
    size = np.sqrt(np.diag(matrix))
    return np.asarray(matrix / np.outer(size, size))


def _built(whose: str, shapes: dict[str, Any]) -> Model:
    """Build a link, or the arm, all links of the same shapes."""
    if whose == ARM:
        return build(changed("tg-rr", {f"links.{k}.shapes": shapes for k in (1, 2)}))
    return _link(shapes, PAYLOAD if whose == LOADED else 0.0)


def _modal(whose: str, tip: str, count: int = 3) -> Model:
    """Build a link, or the arm, in modes that see what is at the tip, or nothing."""
    kind = {"kind": "clamped-mass", "tip": "auto"} if tip == THERE else {"kind": "clamped-free"}
    return _built(whose, {**kind, "bending_y": count})


def _local(whose: str, count: int = 4) -> Model:
    """Build a link, or the arm, in elements."""
    return _built(whose, {"kind": "elements", "bending_y": count})


def _distal(reading: Reading) -> float:
    """Compare errors of the first frequency by modes that see what is at the tip, or nothing."""
    whose = LOADED if reading[END] == "the payload" else ARM
    seen = (_modal(whose, x, int(reading[NUMBER])) for x in (THERE, ""))
    models = _local(whose, REFERENCE), *seen
    exact, *ours = (
        np.sqrt(scipy.linalg.eigh(K, M, eigvals_only=True)[0]) for M, K in map(_matrices, models)
    )
    return float(abs(ours[0] - exact) / abs(ours[1] - exact))


def _nearly(reading: Reading) -> float:
    """Measure how far the functions of elements are from being orthogonal [%]."""
    model = _link({"kind": "elements", "bending_y": int(reading[COUNT])})
    if reading[MEANT] == BEYOND:
        return 100 * _beside(model, BAND)
    mass = _matrices(model)[0]
    products = np.abs(_scaled(mass))[np.triu_indices(len(mass), 1)]
    found = products.max() if reading[MEANT] == PAIRS else np.mean(products > 1e-12)
    return 100 * float(found)


@cache
def _hinged(kind: str) -> list[float]:
    """Find by how much the first frequency of a hinged link is above the exact one [%]."""
    exact = float(beam_roots(PINNED_FREE, 1)[0]) ** 2 * np.sqrt(EI / DENSITY)
    found = []
    for n in COUNTS:
        mass, stiff = _matrices(_link({"kind": kind, "bending_y": n}), joints=True)
        square = scipy.linalg.eigh(stiff, mass, eigvals_only=True)[1]
        found.append(100 * (float(np.sqrt(square)) / exact - 1))
    return found


def _firmer() -> float:
    """Find by how much a clamped link of two elements is stiffer at its tip than it is [%]."""
    mass, stiff = _matrices(_link({"kind": "elements", "bending_y": 2}))
    tip = np.eye(len(mass))[-2]  # each node has a deflection and a slope
    return 100 * float(1 / (3 * EI * (tip @ np.linalg.solve(stiff, tip))) - 1)


def _forces(kind: str) -> float:
    """Find the largest generalised force on an amplitude per unit torque of the joint."""
    return float(np.abs(input_matrix(_link({"kind": kind, "bending_y": 2}))[1:]).max())
