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
from flexarm_papers.base import Found, Table
from flexarm_papers.readings import Grid, Reading, Scope, ways
from flexarm_papers.runs import changed, operations
from flexarm_papers.statements import Limit, search

ARMS = {1: "chu-example-1", 2: "chu-example-2"}
EXACT = 4  # Gauss points by which an element's inertia is integrated exactly
CHAINS = {2: "count-2-2-2", 3: "count-3-2-2", 6: "count-6-6-3"}  # by number of links
MEANT, PREVIOUS = "reduced by O(eta)", "the previous formulation"
AMOUNT, ORDER = "by an amount in proportion to eta", "to a lower order of growth"
SYMBOLIC = "symbolic integrals of each element, added up"
BY_POINTS, BEFOREHAND = f"{EXACT} Gauss points per element", "links integrated beforehand"
OTHERS = dict.fromkeys((BY_POINTS, BEFOREHAND), 'section 1: "a symbolic integration"')
COST = Grid((ways(PREVIOUS, SYMBOLIC, *OTHERS, against=OTHERS), ways(MEANT, AMOUNT, ORDER)),
            ((PREVIOUS, MEANT),))  # fmt: skip
BY, SAVED = "more efficient by", "operations that are saved"
LESS = Grid((COST.choices[0], ways(BY, SAVED, "the ratio of operations")),
            ((PREVIOUS, BY),))  # fmt: skip
COST_GRID = Grid((*COST.choices, LESS.choices[1]))
LOWER = Limit(0.8, 1.2)  # power of eta, within a fifth of 1


def cost(scope: Scope) -> Found:
    """Measure how the formulation of the mass matrix grows with elements and links."""
    elements = (2, 4, 8, 16)
    arms = {(2, n): changed(ARMS[2], {f"links.{k}.shapes.bending_y": n for k in (1, 2)})
            for n in elements}  # fmt: skip
    chains = {(links, 4): chain(name, links) for links, name in CHAINS.items()}
    grown, chained = ([_formed(arm) for arm in each.values()] for each in (arms, chains))
    column = {BY_POINTS: 1, BEFOREHAND: 2, SYMBOLIC: 3}

    def power(reading: Reading) -> float:
        """Find the power of eta that is saved: of the difference, or of the ratio, 8 to 16."""
        k, (before, after) = column[reading[PREVIOUS]], grown[2:]
        if reading[MEANT] == ORDER:
            return float(np.log2(after[k] / after[0]) - np.log2(before[k] / before[0]))
        saved = [x[k] - x[0] for x in (before, after)]
        return float(np.log2(saved[1] / saved[0])) if min(saved) > 0 else 0.0

    def growth(reading: Reading) -> float:
        """Find how what is gained over the previous formulation grows, the least; 0 if nothing."""
        k, saved = column[reading[PREVIOUS]], reading[BY] == SAVED
        if any(x[k] <= x[0] for x in (*grown, *chained)):
            return 0.0
        gained = [[x[k] - x[0] if saved else x[k] / x[0] for x in y] for y in (grown, chained)]
        return min(b / a for each in gained for a, b in pairwise(each))

    statements = (
        search("without integrals the formulation is reduced by O(eta), the number of elements",
               COST.readings(scope), power, LOWER, "power of eta of what is saved"),
        search("the formulation is more efficient than the previous, more so with many links and "
               "elements", LESS.readings(scope), growth, Limit(low=1.0, unit="times"),
               "by how much that grows from one size to the next, the least; 0 if nothing is "
               "gained"),
    )  # fmt: skip
    rows = tuple(
        (name, *map(str, size), *map(str, found))
        for name, sizes, each in (("example 2", arms, grown), ("plane chain", chains, chained))
        for size, found in zip(sizes, each, strict=True)
    )
    head = ("arm", "links", "elements per link", "one point per element",
            "by points of each element", "by recursion, integrals of links", SYMBOLIC)  # fmt: skip
    return Found(
        statements,
        tables=(Table("Operations in the symbolic expression of M, as it is formed", head, rows),),
        because="The previous formulation is in another paper: it is run as this one describes it, "
        "dr/dq of an element integrated as a polynomial in x and all elements added up; two others "
        "stand beside. What is compared is the formulation: M as a symbolic expression. "
        "With the integrals of whole links worked "
        f"out beforehand and a recursion it is {grown[3][0] / grown[3][2]:.1f} times smaller than "
        "with one point per element (16 elements per link).  It is formed more cheaply with many "
        "elements, and cannot be simulated with them (item `deficiency`).",
    )  # fmt: skip


def chain(name: str, links: int, first: int = 1) -> Arm:
    """Make a plane chain of equal flexible links, from one on, out of a sample."""
    link = {"joint": {"kind": "revolute"}, "rigid": False,
            "section": {"mass_per_length": 5.0, "EIz": 1000.0},
            "shapes": {"kind": "elements", "bending_y": 4}}  # fmt: skip
    values = {f"links.{k}.{key}": x for k in range(first, links + 1) for key, x in link.items()}
    return changed(name, values)


def _formed(arm: Arm) -> list[int]:
    """Count the upper triangle of M as traced: by one point, by some, by recursion, by integrals.

    Motors and payloads, which all have alike, are left out of the last.
    """
    model = build(arm, stiffening=False)
    one, whole = ElementJacobian(model, paper=True), ElementJacobian(model, points=EXACT)
    q = ca.SX.sym("q", model.size)
    found = [each.mass_expression(q) for each in (one, whole, Composite(model))]
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
