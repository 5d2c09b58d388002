"""Angles and sections of geometrically exact links in closed-form equations.

The angle of a section is a sum of slope shapes times amplitudes. In plane bending, the components
of its tangent are the cosine and the sine of this angle, so that products of tangents are functions
of sums of angles. In space a section has the bending angles alpha and beta. With C the cosine of
``sqrt(alpha^2 + beta^2)``, its tangent is ``(C, -dC/dalpha, -dC/dbeta)``. The tangent, the rotation
onto it and their derivatives with respect to the angles have names, so that equations are sums of
short products. All are combinations of ``c_k(x) = sum (-x)^n/(2n + k)!`` at ``x = alpha^2 +
beta^2``.
"""

from functools import cache
from itertools import chain

import casadi as ca
import numpy as np

from flexarm.closed_forms.constants import LONGEST_ANGLE
from flexarm.closed_forms.polynomials import (
    ONE,
    Generator,
    Monomial,
    Polynomial,
    Ring,
    evaluated,
    merged,
)
from flexarm.constants import DIGITS
from flexarm.engine.lower import lower
from flexarm.links.collocation import Collocation
from flexarm.links.fields import Amounts
from flexarm.mechanics.bodies import body_of
from flexarm.mechanics.bodies.exact.body import Exact, material_basis
from flexarm.mechanics.bodies.exact.motion import AxisMotion
from flexarm.mechanics.bodies.exact.strain import strain_effort
from flexarm.mechanics.bodies.exact.tangents import Entire, Tangents
from flexarm.mechanics.bodies.material import MaterialPoints
from flexarm.model import LinkModel, Model
from flexarm.spatial import Array, Expr, constant

# Coefficients of exp(i sum n_k angle_k); keys are the pairs (k, n_k).
Waves = dict[Monomial, complex]
# Coefficients of a Fourier sum; keys are other factors, sum of angles, and sine or cosine.
Joined = dict[tuple[Monomial, Monomial, str], float]
Places = dict[tuple[str, str], int]  # indices of generators; keys are section and angle
TURNING = ("sine", "cosine")
NAMED = (("alpha", "angle along y"), ("beta", "angle along z"), ("phi", "twist"))


def name_angles(
    model: Model, nodes: Collocation, part: LinkModel, number: int, q: Expr, ring: Ring
) -> Places:
    """Add polynomial variables for an exact link's section angles, and return their indices.

    Keys of the result are section and angle; ``number`` is the link's number, counted from 1.
    """
    places: Places = {}
    amplitudes, unit_of_position = body_of(model, part).slope_amounts(q)
    for section, section_text, *rows in _sections(nodes, unit_of_position):
        for (letter, angle_name), row in zip(NAMED, rows, strict=True):
            if not np.any(row):
                continue
            angle = ca.Function("angle", [q], [constant(row[None, :]) @ amplitudes])
            definition = evaluated(lower(angle), ring, [list(range(q.shape[0]))])[0][0]
            latex = rf"\{letter}_{{{number},\mathrm{{{section}}}}}"
            description = f"{angle_name} of link {number} {section_text}"
            generator = Generator(
                f"{letter}{number}_{section}", latex, "sum", definition, description
            )
            places[section, letter] = ring.add(generator)
    return places


def _sections(nodes: Collocation, unit: str) -> list[tuple[str, str, Array, Array, Array]]:
    """Return each section's name, description, and shapes of slope (y, z) and twist, (m,) each.

    The sections are at the tip and at the collocation nodes of an exact link.
    """
    sections = [("tip", "at its tip", *nodes.tip_bend, nodes.tip_twist)]
    for g, x in enumerate(nodes.x):
        description = f"at its node {g + 1}, x = {x:.4g} {unit}"
        sections.append((str(g + 1), description, *nodes.bend[:, g], nodes.twist[g]))
    return sections


def joined_angles(groups: list[list[Polynomial]], ring: Ring) -> list[list[Polynomial]]:
    """Rewrite products of sines and cosines as functions of angle sums, if that is shorter."""
    waves: dict[Monomial, Waves] = {}
    expanded = [[_as_waves(entry, ring, waves) for entry in group] for group in groups]
    if sum(map(len, chain(*expanded))) >= sum(map(len, chain(*groups))):
        return groups
    return [[_as_polynomial(entry, ring) for entry in group] for group in expanded]


def _as_waves(entry: Polynomial, ring: Ring, waves: dict[Monomial, Waves]) -> Joined:
    """Return a polynomial as a Fourier sum: coefficients by factor, angle sum, sine or cosine.

    Of two angle sums that are opposite to each other, only the one with a positive first
    coefficient is used.
    """
    total: dict[tuple[Monomial, Monomial], complex] = {}
    for powers, x in entry.items():
        angle_powers = tuple(
            (g, n) for g, n in powers if ring.generators[g].kind in TURNING and n > 0
        )
        factors = tuple(power for power in powers if power not in angle_powers)
        if angle_powers not in waves:
            waves[angle_powers] = _waves(angle_powers, ring)
        for angle, factor in waves[angle_powers].items():
            total[factors, angle] = total.get((factors, angle), 0.0) + x * factor
    terms: Joined = {}
    smallest = DIGITS * max(map(abs, total.values()), default=0.0)
    for (factors, angle), factor in total.items():
        # Terms of opposite angle sums are their complex conjugates.
        if angle == ONE or angle[0][1] > 0:
            doubled = factor if angle == ONE else 2 * factor
            for kind, x in (("cosine", doubled.real), ("sine", -doubled.imag)):
                if abs(x) > smallest:
                    terms[factors, angle, kind] = x
    return terms


def _as_polynomial(entry: Joined, ring: Ring) -> Polynomial:
    result: Polynomial = {}
    for (factors, angle, kind), x in entry.items():
        if angle == ONE:
            result[factors] = x
        else:
            pair = ring.sine_and_cosine({((_angle_sum(angle, ring), 1),): 1.0})
            result[merged(factors, ((pair[kind == "cosine"], 1),))] = x
    return result


def _waves(turning: Monomial, ring: Ring) -> Waves:
    """Return a product of sines and cosines as a sum of complex exponentials of angle sums."""
    waves: Waves = {ONE: 1.0}
    for g, power in turning:
        ((((angle, _),), _),) = ring.generators[g].of.items()
        exponential_factor = 0.5 + 0j if ring.generators[g].kind == "cosine" else -0.5j
        for _ in range(power):
            product: Waves = {}
            for sign, factor in ((1, exponential_factor), (-1, exponential_factor.conjugate())):
                for old_sum, x in waves.items():
                    new_sum = merged(old_sum, ((angle, sign),))
                    product[new_sum] = product.get(new_sum, 0.0) + factor * x
            waves = product
    return waves


def _angle_sum(angle: Monomial, ring: Ring) -> int:
    """Return the generator of a sum of angles, added to the ring if it is new."""
    if len(angle) == 1 and angle[0][1] == 1:
        return angle[0][0]
    definition: Polynomial = {((k, 1),): float(n) for k, n in angle}
    number = sum(g.name.startswith("psi") for g in ring.generators) + 1
    latex = rf"\psi_{{{number}}}"
    if len(angle) <= LONGEST_ANGLE:  # the sum is written out in LaTeX
        terms = [f"{'-' if n < 0 else '+'}{abs(n) if abs(n) > 1 else ''}{ring.generators[k].latex}"
                 for k, n in angle]  # fmt: skip
        latex = f"({''.join(terms).removeprefix('+')})"
    return ring.add(Generator(f"psi{number}", latex, "sum", definition))


FUNCTIONS = 7  # second derivatives of a rotation contain c_0 to c_6
ANGLES = {"y": "alpha", "z": "beta"}
ENTRIES = ("ryy", "ryz", "rzz")  # entries of the rotation that are not components of the tangent
# Derivatives with respect to the angles, lower orders first; for a tangent the first letter is its
# component.
DERIVATIVES = ("", "y", "z", "yy", "yz", "zz", "yyy", "yyz", "yzz", "zzz")
Key = tuple[str, str]  # function (t, ryy, ryz or rzz) and its derivative


def _keys(lowest: int, highest: int) -> list[Key]:
    """Return the keys of tangents, rotation entries and their derivatives of given orders."""
    named = [("t", d) for d in DERIVATIVES if lowest + 1 <= len(d) <= highest + 1]
    return named + [(e, d) for e in ENTRIES for d in DERIVATIVES if lowest <= len(d) <= highest]


@cache
def _formulas() -> tuple[dict[str, Expr], Expr, dict[Key, Expr]]:
    """Return formulas of tangents, rotation entries, and derivatives with respect to the angles.

    Returned are the angle symbols by axis, the symbols of the functions c_k, and the formula of
    each key.
    """
    angles: dict[str, Expr] = {letter: ca.SX.sym(name) for letter, name in ANGLES.items()}
    a, b, c = *angles.values(), ca.SX.sym("c", FUNCTIONS + 2)

    def derivative(f: Expr, letter: str) -> Expr:
        total = ca.jacobian(f, angles[letter])
        for k in range(FUNCTIONS):  # dc_k/dx = (k c_{k+2} - c_{k+1})/2
            total += ca.jacobian(f, c[k]) * (k * c[k + 2] - c[k + 1]) * angles[letter]
        return total

    formulas: dict[Key, Expr] = {("t", "y"): a * c[1], ("t", "z"): b * c[1]}
    entries = (1 - a * a * c[2], -a * b * c[2], 1 - b * b * c[2])
    formulas |= {(entry, ""): f for entry, f in zip(ENTRIES, entries, strict=True)}
    for base, letters in _keys(1, 2):
        formulas[base, letters] = derivative(formulas[base, letters[:-1]], letters[-1])
    return angles, c[:FUNCTIONS], formulas


class _Section:
    """Symbols and generators for functions of the two bending angles of one section of a link."""

    def __init__(self, link: str, section: str, ring: Ring, places: Places) -> None:
        angle_indices = {letter: places.get((section, name)) for letter, name in ANGLES.items()}
        self.symbols, self.places = dict[Key, Expr](), dict[Key, int]()
        square: Polynomial = {((g, 2),): 1.0 for g in angle_indices.values() if g is not None}
        superscript = rf"^{{{link},\mathrm{{{section}}}}}"
        for k in range(FUNCTIONS):
            generator = Generator(
                f"c{k}_{link}_{section}",
                rf"\mathsf{{c}}_{k}{superscript}",
                "entire",
                square,
                order=k,
            )
            self._add(("c", str(k)), generator, ring)
        angles, c, formulas = _formulas()
        functions = [self.places["c", str(k)] for k in range(FUNCTIONS)]
        # The angle along an axis without shape functions is zero.
        zero = ca.vertcat(*[z for letter, z in angles.items() if angle_indices[letter] is None])
        angle_symbols = [z for letter, z in angles.items() if angle_indices[letter] is not None]
        inputs = [[g] for g in angle_indices.values() if g is not None]
        for (base, letters), formula in formulas.items():
            formula_here = ca.substitute(formula, zero, 0 * zero) if zero.numel() else formula
            stream = lower(ca.Function("section", [*angle_symbols, c], [formula_here]))
            definition = evaluated(stream, ring, [*inputs, functions])[0].get(0, {})
            name = f"{base}{link}_{section}_{letters}".removesuffix("_")
            subscript = letters if base == "t" else f"{base[1:]},{letters}".removesuffix(",")
            latex = rf"{base[0]}_{{{subscript}}}{superscript}"
            description = (
                ""
                if letters
                else f"entry {base[1:]} of the rotation onto the tangent at {link}_{section}"
            )
            if base == "t" and len(letters) == 1:
                description = f"tangent along {letters}, its derivatives follow"
            self._add((base, letters), Generator(name, latex, "sum", definition, description), ring)

    def _add(self, key: Key, generator: Generator, ring: Ring) -> None:
        self.symbols[key], self.places[key] = ca.SX.sym(generator.name), ring.add(generator)

    def derivative(self, key: Key, letter: str) -> Expr:
        """Return the symbol of a function's derivative with respect to the angle along y or z."""
        base, letters = key
        if key == ("c", "0"):
            return -self.symbols["t", letter]
        return self.symbols[base, "".join(sorted(letters + letter))]

    def rotation(self, letter: str = "") -> Expr:
        """Return the rotation onto the section's tangent, or d rotation / d angle, (3, 3)."""
        cosine: Key = ("c", "0")
        keys: list[Key] = [("t", "y"), ("t", "z"), ("ryy", ""), ("ryz", ""), ("rzz", "")]
        values = [
            self.derivative(k, letter) if letter else self.symbols[k] for k in (cosine, *keys)
        ]
        C, y, z, yy, yz, zz = values
        rows = ((C, -y, -z), (y, yy, yz), (z, yz, zz))
        return ca.vertcat(*[ca.horzcat(*row) for row in rows])

    def entire(self) -> Entire[Expr]:
        """Return the symbols of the entire functions c_0 to c_5 at this section's angle."""
        return Entire(*[self.symbols["c", str(k)] for k in range(6)])


class BentSections:
    """A geometrically exact link that bends along y and z, written with symbols for its sections.

    Attributes
    ----------
    symbols, slopes, places Symbols, their derivatives with respect to the coordinates, and their
    generators. further, further_places
        Symbols that occur only in ``slopes`` and in elastic forces, and their generators.
    """

    def __init__(self, model: Model, index: int, q: Expr, ring: Ring, places: Places) -> None:
        body = Exact(model, model.links[index])
        self.body, self.part, self.q = body, body.part, q
        self.nodes = nodes = body.nodes
        self.d = body.amplitudes(q)

        def section(place: str) -> _Section:
            return _Section(str(index + 1), place, ring, places)

        self.tip = section("tip")
        self.at_nodes = [section(str(g + 1)) for g in range(nodes.count)]
        bends = [nodes.tip_bend, *nodes.bend.transpose(1, 0, 2)]
        moving_keys: list[Key] = [("c", "0"), *_keys(0, 1)]
        derived_keys: list[Key] = [*_keys(2, 2), *[("c", str(k)) for k in range(1, FUNCTIONS)]]
        symbols, slopes, derived = list[Expr](), list[Expr](), list[Expr]()
        self.places, self.further_places = list[int](), list[int]()
        for section_symbols, bend in zip([self.tip, *self.at_nodes], bends, strict=True):
            slopes_of_all = np.zeros((2, 1, q.shape[0]))
            slopes_of_all[:, 0, self.part.modes] = bend
            rows = dict(zip("yz", map(constant, slopes_of_all), strict=True))
            symbols += [section_symbols.symbols[key] for key in moving_keys]
            slopes += [
                sum((section_symbols.derivative(key, x) * row for x, row in rows.items()), ca.SX(0))
                for key in moving_keys
            ]
            self.places += [section_symbols.places[key] for key in moving_keys]
            derived += [section_symbols.symbols[key] for key in derived_keys]
            self.further_places += [section_symbols.places[key] for key in derived_keys]
        self.symbols: Expr = ca.vertcat(*symbols)
        self.slopes: Expr = ca.vertcat(*slopes)
        self.further: Expr = ca.vertcat(*derived)

    def tip_frame(self) -> tuple[Expr, Expr]:
        """Return rotation (3, 3) and position (3,) of the tip relative to the root."""
        twist, _ = _twist_rotation(constant(self.nodes.tip_twist[None]) @ self.d)
        return self.tip.rotation() @ twist, ca.sum2(
            constant(self.nodes.tip) * self._tangents().place
        )

    def points(self) -> MaterialPoints:
        """Return the span's mass points, with the unit vectors that represent rotary inertia."""
        mass = self.part.beam.integrals.mass
        no_motion = Amounts.fixed(self.d, 0 * self.d)
        field = AxisMotion.of(self.nodes, self._tangents(), no_motion).field(self._vectors())
        return MaterialPoints(field, material_basis(self.nodes, mass), 1.0)

    def effort(self, q: Expr) -> Expr:
        """Return the derivative of the elastic energy with respect to the amplitudes, (m,)."""
        strain_effort_at_nodes = strain_effort(
            self.nodes, self.d, [s.entire() for s in self.at_nodes]
        )
        return self.body.chained(
            self.body.amounts(q, 0 * q), strain_effort_at_nodes
        ) + self.body.given_effort(q)

    def _tangents(self) -> Tangents:
        tangents = [section.rotation()[:, 0] for section in self.at_nodes]
        derivatives = [[section.rotation(x)[:, 0] for section in self.at_nodes] for x in "yz"]
        unit, by_a, by_b = (ca.horzcat(*columns) for columns in (tangents, *derivatives))
        zeros = ca.SX(3, self.nodes.count)
        if not self.nodes.stretches:
            return Tangents(unit, unit, by_a, by_b, zeros, zeros)
        axial = constant(self.nodes.straight) + constant(self.nodes.stretch) @ self.d
        axial_rows = ca.repmat(axial.T, 3, 1)
        return Tangents(unit, unit * axial_rows, by_a * axial_rows, by_b * axial_rows, zeros, zeros)

    def _vectors(self) -> list[tuple[Expr, Expr, Expr]]:
        """Return position, bias and Jacobian of the sections' unit vectors, per axis of the link.

        Each entry has the format of `AxisMotion.field`; without rotary inertia no entries are
        returned.
        """
        places, sweeps = list[Expr](), list[Expr]()
        if not np.any(self.nodes.rotary):
            return []
        for g, section in enumerate(self.at_nodes):
            twist = constant(self.nodes.twist[g][None])
            twist_rotation, by_twist = _twist_rotation(twist @ self.d)
            derivatives = [section.rotation(x) @ twist_rotation for x in "yz"] + [
                section.rotation() @ by_twist
            ]
            rows = [*(constant(row[None]) for row in self.nodes.turn[:, g]), twist]
            for k in range(3):
                places.append(section.rotation() @ twist_rotation[:, k])
                pairs = zip(derivatives, rows, strict=True)
                sweeps.append(sum((t[:, k] @ row for t, row in pairs), ca.SX(0)))
        return [
            (
                ca.vertcat(*[place[a] for place in places]),
                ca.SX(len(places), 1),
                ca.vertcat(*[sweep[a, :] for sweep in sweeps]),
            )
            for a in range(3)
        ]


def _twist_rotation(f: Expr) -> tuple[Expr, Expr]:
    """Return the rotation about x by a twist angle, and its derivative, (3, 3) each."""
    rotation, derivative = ca.SX.eye(3), ca.SX(3, 3)
    if f.nnz():
        c, s = ca.cos(f), ca.sin(f)
        rotation[1, 1], rotation[1, 2], rotation[2, 1], rotation[2, 2] = c, -s, s, c
        derivative[1, 1], derivative[1, 2], derivative[2, 1], derivative[2, 2] = -s, -c, c, -s
    return rotation, derivative
