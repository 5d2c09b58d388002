"""Angles of geometrically exact links in closed-form equations, and sines and cosines of sums.

The angle of a section is a sum of slope shapes.  In a plane its tangent is the cosine and the sine
of that angle, so that products of tangents are functions of sums of angles.
"""

from itertools import chain

import casadi as ca
import numpy as np

from flexarm.closed_forms.polynomials import (
    ONE,
    Generator,
    Monomial,
    Polynomial,
    Ring,
    evaluated,
    merged,
)
from flexarm.engine.lower import lower
from flexarm.links.base import Array
from flexarm.links.collocation import Collocation
from flexarm.mechanics.bodies import body_of
from flexarm.model import LinkModel, Model
from flexarm.spatial import Expr, constant

Waves = dict[Monomial, complex]  # coefficients of exp(i sum n_k angle_k) by the pairs (k, n_k)
Joined = dict[tuple[Monomial, Monomial, str], float]  # by other factors, sum of angles, function
Places = dict[tuple[str, str], int]  # generators by section and angle
ROUNDING = 1e-15  # coefficient relative to the largest below which it is rounding
TURNING = ("sine", "cosine")
ANGLES = (("alpha", "angle along y"), ("beta", "angle along z"), ("phi", "twist"))


def name_angles(
    model: Model, nodes: Collocation, part: LinkModel, number: int, q: Expr, ring: Ring
) -> Places:
    """Add generators for the angles of an exact link's sections; links count from 1."""
    places: Places = {}
    amounts, unit = body_of(model, part).slope_amounts(q)
    for place, about, *rows in _sections(nodes, unit):
        for (letter, what), row in zip(ANGLES, rows, strict=True):
            if not np.any(row):
                continue
            angle = ca.Function("angle", [q], [constant(row[None, :]) @ amounts])
            of = evaluated(lower(angle), ring, [list(range(q.shape[0]))])[0][0]
            latex = rf"\{letter}_{{{number},\mathrm{{{place}}}}}"
            said = f"{what} of link {number} {about}"
            named = Generator(f"{letter}{number}_{place}", latex, "sum", of, said)
            places[place, letter] = ring.add(named)
    return places


def _sections(nodes: Collocation, unit: str) -> list[tuple[str, str, Array, Array, Array]]:
    """List an exact link's sections: name, description, slopes and twist per amplitude, (m,)."""
    sections = [("tip", "at its tip", *nodes.tip_bend, nodes.tip_twist)]
    for g, x in enumerate(nodes.x):
        about = f"at its node {g + 1}, x = {x:.4g} {unit}"
        sections.append((str(g + 1), about, *nodes.bend[:, g], nodes.twist[g]))
    if nodes.polar is not None:
        for g, twist in enumerate(nodes.polar.twist):
            about = f"at section {g + 1} of its rotary inertia"
            sections.append((f"r{g + 1}", about, *nodes.polar.bend[:, g], twist))
    return sections


def joined_angles(groups: list[list[Polynomial]], ring: Ring) -> list[list[Polynomial]]:
    """Rewrite products of sines and cosines by sums of angles, if that is shorter."""
    known: dict[Monomial, Waves] = {}
    spread = [[_spread(entry, ring, known) for entry in group] for group in groups]
    if sum(map(len, chain(*spread))) >= sum(map(len, chain(*groups))):
        return groups
    return [[_joined(entry, ring) for entry in group] for group in spread]


def _spread(entry: Polynomial, ring: Ring, known: dict[Monomial, Waves]) -> Joined:
    """Collect a polynomial by sums of angles whose first coefficient is positive."""
    total: dict[tuple[Monomial, Monomial], complex] = {}
    for powers, x in entry.items():
        turning = tuple((g, n) for g, n in powers if ring.generators[g].kind in TURNING and n > 0)
        rest = tuple(power for power in powers if power not in turning)
        if turning not in known:
            known[turning] = _waves(turning, ring)
        for angle, factor in known[turning].items():
            total[rest, angle] = total.get((rest, angle), 0.0) + x * factor
    terms: Joined = {}
    least = ROUNDING * max(map(abs, total.values()), default=0.0)
    for (rest, angle), factor in total.items():
        if angle == ONE or angle[0][1] > 0:  # terms of the opposite sign are the conjugates
            twice = factor if angle == ONE else 2 * factor
            for kind, x in (("cosine", twice.real), ("sine", -twice.imag)):
                if abs(x) > least:
                    terms[rest, angle, kind] = x
    return terms


def _joined(entry: Joined, ring: Ring) -> Polynomial:
    result: Polynomial = {}
    for (rest, angle, kind), x in entry.items():
        if angle == ONE:
            result[rest] = x
        else:
            pair = ring.sine_and_cosine({((_named(angle, ring), 1),): 1.0})
            result[merged(rest, ((pair[kind == "cosine"], 1),))] = x
    return result


def _waves(turning: Monomial, ring: Ring) -> Waves:
    """Expand a product of sines and cosines."""
    waves: Waves = {ONE: 1.0}
    for g, power in turning:
        ((((angle, _),), _),) = ring.generators[g].of.items()
        half = 0.5 + 0j if ring.generators[g].kind == "cosine" else -0.5j
        for _ in range(power):
            spread: Waves = {}
            for sign, factor in ((1, half), (-1, half.conjugate())):
                for old, x in waves.items():
                    new = merged(old, ((angle, sign),))
                    spread[new] = spread.get(new, 0.0) + factor * x
            waves = spread
    return waves


def _named(angle: Monomial, ring: Ring) -> int:
    """Return the generator of a sum of angles."""
    if len(angle) == 1 and angle[0][1] == 1:
        return angle[0][0]
    of: Polynomial = {((k, 1),): float(n) for k, n in angle}
    number = sum(g.name.startswith("psi") for g in ring.generators) + 1
    return ring.add(Generator(f"psi{number}", rf"\psi_{{{number}}}", "sum", of))
