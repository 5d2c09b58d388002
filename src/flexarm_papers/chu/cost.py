"""Chu et al.: what it costs to form the mass matrix, beside formulations before it."""

from itertools import pairwise, product

import casadi as ca
import numpy as np

from flexarm.arm import Arm
from flexarm.formulations.composite import Composite
from flexarm.formulations.element_jacobian import ElementJacobian
from flexarm.mechanics.kinematics import frames
from flexarm.mechanics.sections import picked
from flexarm.model import Model, build
from flexarm_papers.base import Figure, Found, Table, curve
from flexarm_papers.readings import Reading, every, ways
from flexarm_papers.runs import changed, operations
from flexarm_papers.verdicts import claim, general, search

ARMS = {1: "chu-example-1", 2: "chu-example-2"}
EXACT = 4  # Gauss points by which an element's inertia is integrated exactly
CHAINS = {2: "count-2-2-2", 3: "count-3-2-2", 6: "count-6-6-3"}  # by number of links
MEANT, AMOUNT, ORDER = ("reduced by O(eta)", "the difference of operations grows with eta",
                        "the ratio of operations grows with eta")  # fmt: skip
ELEMENTS = (2, 4, 8, 16)


def cost() -> Found:
    """Measure how the formulation of the mass matrix grows with elements and links."""
    arms = {(2, n): changed(ARMS[2], {f"links.{k}.shapes.bending_y": n for k in (1, 2)})
            for n in ELEMENTS}  # fmt: skip
    chains = {(links, 4): chain(name, links) for links, name in CHAINS.items()}
    grown, chained = ([_formed(arm) for arm in each.values()] for each in (arms, chains))

    def power(reading: Reading) -> float:
        """Return the power of eta with which difference or ratio of the operations grows."""
        before, after = grown[2:]
        if reading[MEANT] == ORDER:
            return float(np.log2(after[2] / after[0]) - np.log2(before[2] / before[0]))
        saved = [x[2] - x[0] for x in (before, after)]
        return float(np.log2(saved[1] / saved[0]))

    growth = {
        f"from {a} to {b} {what}": (y[2] - y[0]) / (x[2] - x[0])
        for some, sizes, what in ((grown, ELEMENTS, "elements"), (chained, CHAINS, "links"))
        for (x, y), (a, b) in zip(pairwise(some), pairwise(sizes), strict=True)
    }
    rows = tuple(
        (name, *map(str, size), *map(str, found))
        for name, sizes, each in (("example 2", arms, grown), ("plane chain", chains, chained))
        for size, found in zip(sizes, each, strict=True)
    )
    head = ("arm", "links", "elements per link", "one point per element",
            "recursion, integrals of links", "symbolic integrals of elements")  # fmt: skip
    return Found(
        (
            search("the formulation is reduced by O(eta), the number of elements", "section 1",
                   claim("power of eta with which it grows, from 8 to 16 elements", 0.8, 1.2),
                   every(ways(MEANT, AMOUNT, ORDER)).readings(), power),
            general("it is the more efficient, the more links and elements there are", "section 6",
                    claim("growth of the operations that are saved", low=1.0, unit="times"),
                    growth),
        ),
        figures=(
            Figure("Operations in the symbolic M of example 2", "elements per link", "operations",
                   tuple(curve(name, ELEMENTS, [x[k] for x in grown])
                         for k, name in enumerate(head[3:])), log=True),
        ),
        tables=(Table("Operations in the symbolic expression of M", head, rows),),
        text="The previous formulation is another paper's; it is formed as this one describes it. "
        "With integrals of whole links computed beforehand and a recursion M takes "
        f"{grown[3][0] / grown[3][1]:.1f} times fewer operations than with one point per element "
        "(16 elements per link), and is exact.",
    )  # fmt: skip


def chain(name: str, links: int) -> Arm:
    """Return a plane chain of equal flexible links, made of a sample."""
    link = {"joint": {"kind": "revolute"}, "rigid": False,
            "section": {"mass_per_length": 5.0, "EIz": 1000.0},
            "shapes": {"kind": "elements", "bending_y": 4}}  # fmt: skip
    return changed(name, {f"links.{k}.{key}": x for k in range(1, links + 1)
                          for key, x in link.items()})  # fmt: skip


def _formed(arm: Arm) -> list[int]:
    """Return the operations of the upper triangle of M: by one point, recursion, integrals.

    Motors and payloads, which all have alike, are left out of the last.
    """
    model = build(arm, stiffening=False)
    q = ca.SX.sym("q", model.size)
    found = [x.mass_expression(q) for x in (ElementJacobian(model, paper=True), Composite(model))]
    return [operations([q], ca.triu(M)) for M in (*found, assembled(model, q))]


def assembled(model: Model, q: ca.SX) -> ca.SX:
    """Integrate m (dr/dq)^T (dr/dq) over each element, r a polynomial in x, and add them up."""
    total = ca.SX(model.size, model.size)
    for part, frame in zip(model.links, frames(model, q), strict=True):
        shapes, span = part.beam.shapes, part.beam.span
        size = span.length / (len(part.own) // 2)
        density = float(span.table["mass_per_length"][0])
        for start in size * np.arange(len(part.own) // 2):
            x = size * np.arange(4) / 3
            fitted = np.linalg.solve(np.vander(x, increasing=True), shapes.values("y", start + x))
            fitted[np.abs(fitted) < 1e-9 * np.abs(fitted).max()] = 0.0
            parts = []
            for k, row in enumerate(fitted):
                along = [frame.p_WL + start * frame.R_WL[:, 0], frame.R_WL[:, 0]][k : k + 1]
                bent = ca.sparsify(ca.DM(row)).T @ picked(q, part.own)
                parts.append(ca.jacobian(sum(along, frame.R_WL[:, 1] * bent), q))
            for i, j in product(range(4), repeat=2):
                weight = density * size ** (i + j + 1) / (i + j + 1)
                total += weight * parts[i].T @ parts[j]
    return total
