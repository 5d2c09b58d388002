"""Closed-form equations of motion of small arms, as polynomials that can be printed.

The equations have the form ``M q'' + h(q, q') + c(q) + K q = Gamma`` (Theodore & Ghosal 1995,
equation 26). Symbols follow Korayem & Shafei 2009 and Chen, Zhang & Liu 2012: masses ``m_i``,
amplitudes ``delta_ik``, mass integrals ``epsilon_ik`` of shapes, ``alpha_ik`` of shapes times the
distance from the root, and ``c_ikl`` of products of two shapes.
"""

import itertools
import keyword
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import casadi as ca
import numpy as np

from flexarm.arm.summary import Summary
from flexarm.closed_forms.constants import (
    COUNTED_TERM,
    LONGEST_PRODUCT,
    MOST_COORDINATES,
    PRODUCT_ROUNDING,
    WHOLE_COORDINATES,
)
from flexarm.closed_forms.exact import BentSections, joined_angles, name_angles
from flexarm.closed_forms.polynomials import (
    Generator,
    Monomial,
    Polynomial,
    Ring,
    TooLong,
    cleaned,
    evaluated,
    largest,
)
from flexarm.constants import NEGLIGIBLE
from flexarm.engine.lower import lower
from flexarm.errors import FlexarmError
from flexarm.formulations.lagrange import (
    LagrangeBody,
    bodies_of,
    closed_gravity,
    closed_mass_matrix,
)
from flexarm.mechanics.bodies import body_of
from flexarm.mechanics.bodies.points import Moments, homogeneous
from flexarm.mechanics.kinematics import tip_section
from flexarm.mechanics.loads import elastic_force
from flexarm.model import LinkModel, Model
from flexarm.spatial import Array, Expr

AXES = "1xyz"  # components of homogeneous positions
PRODUCT = r"{}^{s}c"  # letter of integrals of two shapes; c alone is the gravity force


class Name(NamedTuple):
    """Symbol of a number in printed equations, with its definition and its factors in a term."""

    latex: str  # the symbol
    about: str  # definition of the symbol, in LaTeX
    times: float = 1.0  # factor of the symbol in the term
    lengths: int = 0  # power of a sliding link's total length, a further factor in the term


@dataclass(frozen=True)
class Term:
    """A term of a matrix's entry that is a polynomial in the coordinates."""

    row: int
    column: int
    modes: list[int]  # numbers of the mode shapes in the term
    power: int  # power of the exposed length of a sliding link
    powers: Monomial
    value: float


# returns None for a term whose coefficient is printed as a number
Namer = Callable[[Term], Name | None]


class IntegralSymbols:
    """Symbols for the inertia integrals, lengths and shape values of an arm, with their values.

    Every symbol is a generator of the ring.
    """

    def __init__(self, model: Model, q: Expr, ring: Ring) -> None:
        self.model, self.q, self.ring = model, q, ring
        self.symbols: Expr = ca.SX(0, 1)
        self.places: list[int] = []
        self.values: dict[str, float] = {}

    def body(self, body: LagrangeBody) -> LagrangeBody:
        """Return a copy of a body whose moments are expressed by symbols instead of numbers."""
        coordinates = {*body.D, *body.own}
        numbers = [
            k for k, part in enumerate(self.model.links, 1)
            if coordinates & {*_modes(part), *part.carried_by}
        ]  # fmt: skip
        number = max(numbers, default=1)  # number of the last link that moves the body
        part = self.model.links[number - 1]
        if not body.own:
            at_tip = any(i in _modes(part) for i in body.D)
            return replace(body, weight=self._rigid(body.weight, number, at_tip=at_tip))
        if part.body.range is not None and set(body.own) <= set(part.own):
            if not self._is_uniform(body.weight, part.link.length):
                return body  # integrals of this link are not proportional to powers of its length
            return replace(body, weight=self._sliding(body.weight, number))
        return replace(body, weight=self._moments(body.weight, f"{number}"))

    def gravity(self) -> Expr:
        """Return the acceleration of gravity, (3,), in symbols."""
        acceleration, found = self.model.gravity, ca.SX(3, 1)
        along = np.flatnonzero(acceleration).tolist()
        for axis in along:
            if len(along) == 1:
                name = Name(
                    "g", r"\text{acceleration of gravity}", float(np.sign(acceleration[axis]))
                )
            else:
                letter = "xyz"[axis]
                name = Name(f"g_{{{letter}}}", rf"\text{{acceleration of gravity along {letter}}}")
            found[axis] = self._symbol(name, float(acceleration[axis]))
        return found

    def tip(self, number: int, position: Expr) -> Expr:
        """Return a link's tip position, (3,), with symbols for link length and shape values."""

        def name(term: Term) -> Name | None:
            axis = "xyz"[term.row]
            if term.modes:
                return Name(rf"\phi_{{{_index(number, term.modes)}}}",
                            rf"\phi_{{{_index(number, term.modes)}}}(l_{{{number}}})")  # fmt: skip
            if term.power:
                return None  # the exposed length of a sliding link is a coordinate
            index = f"{number}" if axis == "x" else f"{number}{axis}"
            return Name(rf"l_{{{index}}}", rf"\text{{length of link {number}}}")

        return self._renamed(position, name)

    def angle(self, number: int, angle: Expr) -> Expr:
        """Return a link's tip rotation angles, (3,), with symbols for the slopes of shapes."""

        def name(term: Term) -> Name:
            slope = rf"\phi_{{{_index(number, term.modes)}}}'"
            return Name(slope, rf"{slope}({'1' if term.power else f'l_{{{number}}}'})")

        return self._renamed(angle, name)

    def force(self, force: Expr) -> Expr:
        """Return the elastic generalised forces, (n,), with symbols for stiffness coefficients."""
        owners = {i: (k, i - part.modes.start + 1) for k, part in enumerate(self.model.links, 1)
                  for i in _modes(part)}  # fmt: skip
        lengths = {part.exposed: k for k, part in enumerate(self.model.links, 1)
                   if part.body.range is not None}  # fmt: skip

        def name(term: Term) -> Name:
            if term.row in owners and len(term.modes) == 1:
                number, mode = owners[term.row]
                return _stiffness(number, [mode, *term.modes])
            # derivative of E = k d^2/(2 l^3) with respect to l
            if term.row in lengths and len(term.modes) == 2:
                return _stiffness(lengths[term.row], term.modes,
                                  -1.5 * (1 + (term.modes[0] != term.modes[1])))  # fmt: skip
            return Name(rf"k_{{{self.ring.generators[term.row].latex}}}", r"\text{stiffness}")

        return self._renamed(force, name)

    def _moments(self, weight: Moments, label: str) -> Moments:
        """Return the moments of a link of constant length in symbols."""

        def square(term: Term) -> Name:
            return _integral(label, term.modes, *sorted((term.row, term.column)))

        def column(f: int) -> Namer:
            return lambda term: _integral(label, [f, *term.modes], *sorted((term.row, term.column)),
                                          single=True)  # fmt: skip

        def first(further_modes: list[int]) -> Namer:
            return lambda term: _integral(label, [*further_modes, *term.modes], 0, term.row)

        def section_rotation(term: Term) -> Name:
            index = _index(label, sorted((term.row + 1, term.column + 1)))
            return Name(rf"j_{{{index}}}", r"\text{turning of sections}")

        size = range(len(weight.H))
        return Moments(
            self._renamed(weight.G, square),
            [self._renamed(weight.H[f], column(f + 1)) for f in size],
            [[self._renamed(weight.N[f][g], _pair(label, f + 1, g + 1)) for g in range(len(row))]
             for f, row in enumerate(weight.N)],
            self._renamed(weight.T, section_rotation),
            self._renamed(weight.r, first([])),
            [self._renamed(weight.eps[f], first([f + 1])) for f in range(len(weight.eps))],
        )  # fmt: skip

    def _rigid(self, weight: Moments, number: int, *, at_tip: bool) -> Moments:
        """Return the moments of a rigid body in symbols for mass, centre and inertia."""
        G = np.array(ca.DM(weight.G))
        last = number == len(self.model.links)
        of, place = f"joint {number}, with all that is rigid beyond it", ""
        if at_tip:
            of, place = (
                ("payload", r"\mathrm{p}") if last else (f"tip of link {number}", r"\mathrm{t}")
            )
        label = place if at_tip and last else f"{number}{place}"
        second = np.trace(G[1:, 1:]) * np.eye(3) - G[1:, 1:]  # inertia about the frame's origin
        named = ca.SX(4, 4)
        if G[0, 0]:
            named[0, 0] = self._symbol(Name(f"m_{{{label}}}", rf"\text{{mass, {of}}}"), G[0, 0])
        for a in np.flatnonzero(G[0, 1:]).tolist():
            name = Name(
                f"S_{{{label}{'xyz'[a]}}}", rf"\text{{first moment along {'xyz'[a]}, {of}}}"
            )
            named[0, a + 1] = named[a + 1, 0] = self._symbol(name, G[0, a + 1])
        inertia, largest_inertia = ca.SX(3, 3), np.abs(second).max()
        single = np.count_nonzero(np.abs(second) > NEGLIGIBLE * largest_inertia) == 1
        for a, b in itertools.combinations_with_replacement(range(3), 2):
            if abs(second[a, b]) > NEGLIGIBLE * largest_inertia:
                axes = "" if single else f"{'xyz'[a]}{'xyz'[b]}"
                about = rf"\text{{inertia{f' {axes}' if axes else ''}, {of}}}"
                symbol = self._symbol(Name(f"I_{{{label}{axes}}}", about), second[a, b])
                inertia[a, b] = inertia[b, a] = symbol
        named[1:, 1:] = ca.trace(inertia) / 2 * ca.SX.eye(3) - inertia
        return weight._replace(G=named, r=named[:, 0])

    def _is_uniform(self, weight: Moments, length: float) -> bool:
        """Return whether the moments of a straight sliding link are those of a uniform one."""
        found = {(term.row, term.column, term.power): term.value
                 for term in self._terms(weight.G) if not term.modes}  # fmt: skip
        mass = found[0, 0, 0]
        expected = {(0, 0, 0): 1.0, (1, 1, 2): 1.0, (1, 1, 1): -length, (1, 1, 0): length**2 / 3}
        for place in ((0, 1), (1, 0)):
            expected |= {(*place, 1): 1.0, (*place, 0): -length / 2}
        return found.keys() == expected.keys() and all(
            abs(found[key] / mass - x) < NEGLIGIBLE * max(1.0, length**2)
            for key, x in expected.items()
        )

    def _sliding(self, weight: Moments, number: int) -> Moments:
        """Return the moments of a uniform sliding link with shapes over its length, in symbols.

        The first column of the link's own coordinates belongs to its length, the others to its
        modes.
        """

        def named(*columns: int) -> Namer:  # columns: 0 for the length, k for mode k
            return lambda term: _sliding_integral(number, term, columns)

        def vector(*columns: int) -> Namer:
            return lambda term: _sliding_integral(
                number, replace(term, row=0, column=term.row), columns
            )

        size = range(len(weight.H))
        return Moments(
            self._renamed(weight.G, named()),
            [self._renamed(weight.H[f], named(f)) for f in size],
            [[self._renamed(weight.N[f][g], named(f, g)) for g in range(len(row))]
             for f, row in enumerate(weight.N)],
            weight.T,
            self._renamed(weight.r, vector()),
            [self._renamed(weight.eps[f], vector(f)) for f in size],
        )  # fmt: skip

    def _renamed(self, matrix: Expr, name: Namer) -> Expr:
        """Return a matrix of polynomials in the coordinates with symbols for the coefficients.

        ``name`` returns the name of the symbol of each term.
        """
        result = ca.SX(*matrix.shape)
        for term in self._terms(matrix):
            found = name(term)
            product = term.value if found is None else self._symbol(found, term.value)
            for g, p in term.powers:
                product *= self.q[g] ** p
            result[term.row, term.column] += product
        return result

    def _terms(self, matrix: Expr) -> Iterator[Term]:
        """Iterate over the polynomial terms of a matrix's entries."""
        if not matrix.numel():
            return
        coordinate_ring = Ring(generators=self.ring.generators[: self.model.size])
        function = ca.Function("terms", [self.q], [ca.densify(ca.SX(matrix))])
        (polynomials,) = evaluated(lower(function), coordinate_ring, [list(range(self.model.size))])
        modes = {i: i - part.modes.start + 1 for part in self.model.links for i in _modes(part)}
        for entry, polynomial in polynomials.items():
            size = largest(polynomial)
            for powers, x in polynomial.items():
                if abs(x) > max(1e-14, NEGLIGIBLE * size):
                    numbers = [modes[g] for g, p in powers if g in modes for _ in range(p)]
                    power = sum(p for g, p in powers if g not in modes)
                    yield Term(*divmod(entry, matrix.shape[1]), numbers, power, powers, x)

    def _symbol(self, name: Name, value: float) -> Expr:
        """Return the symbol with a name, times the factors of the name; a new symbol is created.

        If a symbol of this name has another value, asterisks are added to the name.
        """
        factor: Expr = ca.SX(name.times)
        value = value / name.times
        if name.lengths:
            number = int(re.sub(r"\D", "", name.latex))
            total = self.model.links[number - 1].link.length
            about = rf"\text{{total length of link {number}}}"
            factor *= self._symbol(Name(f"l^{{0}}_{{{number}}}", about), total) ** name.lengths
            value /= total**name.lengths
        latex = name.latex
        while latex in self.values and abs(self.values[latex] - value) > NEGLIGIBLE * abs(value):
            latex += "^{*}"
        if latex not in self.values:
            self.values[latex] = value
            symbol = ca.SX.sym(latex)
            self.symbols = ca.vertcat(self.symbols, symbol)
            self.places.append(len(self.ring.generators))
            identifier = f"number{len(self.values)}"
            self.ring.generators.append(Generator(identifier, latex, "number", {}, name.about))
        return factor * self.symbols[list(self.values).index(latex)]


def _modes(part: LinkModel) -> range:
    return range(part.modes.start, part.modes.stop)


def _index(label: object, modes: Sequence[int]) -> str:
    """Return the LaTeX subscript that consists of a link's number and mode numbers."""
    return ("," if max((0, *modes)) > 9 else "").join(map(str, (label, *modes)))


def _pair(label: str, f: int, g: int) -> Namer:
    return lambda term: _integral(label, [f, g, *term.modes], 2, 2, single=True)


def _stiffness(number: int, modes: list[int], times: float = 1.0) -> Name:
    index = _index(number, sorted(modes))
    return Name(rf"k_{{{index}}}", rf"\text{{stiffness of link {number}}}", times)


def _integral(label: str, modes: list[int], a: int, b: int, *, single: bool = False) -> Name:
    """Return the symbol and definition of an inertia integral over a link.

    ``a`` and ``b`` are the row and column in the 4x4 moment matrix (0 for mass, then x, y, z),
    ``modes`` the mode shapes in the integrand. The factor is 2 if two equal products add up to one
    term, unless ``single``.
    """
    index = _index(label, sorted(modes))
    shapes = r"\, ".join(rf"\phi_{{{_index(label, [k])}}}" for k in sorted(modes))
    if not modes:
        if a == b == 0:
            return Name(f"m_{{{label}}}", r"\int \mu\, dx")
        if a == 0:
            return Name(rf"S_{{{label}{AXES[b]}}}", rf"\int \mu\, {AXES[b]}\, dx")
        product = f"{AXES[a]}^{{2}}" if a == b else f"{AXES[a]} {AXES[b]}"
        return Name(rf"J_{{{label}{AXES[a]}{AXES[b]}}}", rf"\int \mu\, {product}\, dx")
    if len(modes) == 1 and a == 0:
        return Name(rf"\varepsilon_{{{index}}}", rf"\int \mu\, {shapes}\, dx")
    if len(modes) == 1:
        return Name(rf"\alpha_{{{index}}}", rf"\int \mu\, x\, {shapes}\, dx",
                    2.0 if a == b and not single else 1.0)  # fmt: skip
    doubled = len(modes) == 2 and modes[0] != modes[1] and a == b and not single
    return Name(rf"{PRODUCT}_{{{index}}}", rf"\int \mu\, {shapes}\, dx", 2.0 if doubled else 1.0)


def _sliding_integral(number: int, term: Term, columns: tuple[int, ...]) -> Name | None:
    """Return the name of a moment of a uniform sliding link; None for a moment without a name.

    The link lies along x and bends by shapes that are functions of ``eta = x/l``, with the exposed
    length l. A material point keeps its distance from the tip, so that its eta changes by
    ``(1 - eta)/l`` per unit of exposed length. ``columns`` are the columns in the moment: 0 belongs
    to the length, k to mode k.
    """
    sides = ((None, None), (None, *columns), columns[::-1])[len(columns)]
    # Factors of the integrand: 1; position x; deflection u and its column w; columns i and v of the
    # length.
    factors = "".join(sorted(
        ("1xuu" if side is None else " ivv" if side == 0 else "  ww")[axis]
        for side, axis in zip(sides, (term.row, term.column), strict=True)
    ))  # fmt: skip
    modes = [*(k for k in columns if k), *term.modes]
    if not modes:
        name = Name(f"m_{{{number}}}", rf"\text{{mass of link {number}}}")
        order = factors.count("x"), term.power
        factors_of_mass = {
            (0, 0): 1.0,
            (1, 1): 1.0,
            (1, 0): -0.5,
            (2, 2): 1.0,
            (2, 1): -1.0,
            (2, 0): 1 / 3,
        }
        return name._replace(times=factors_of_mass[order], lengths=order[0] - order[1])
    shapes = [rf"\phi_{{{_index(number, [k])}}}" for k in modes]
    if len(modes) == 1 and "x" not in factors:
        return _unit_integral(r"\varepsilon", number, modes, shapes[0])
    if len(modes) == 1 and "v" not in factors:
        return _unit_integral(r"\alpha", number, modes, rf"\eta\, {shapes[0]}")
    if len(modes) == 1:
        return _unit_integral(r"\beta", number, modes, rf"\eta\, (1 - \eta)\, {shapes[0]}'")
    equal = modes[0] == modes[1]
    if factors == "vv":
        integrand = rf"(1 - \eta)^{{2}}\, {shapes[0]}'\, {shapes[1]}'"
        return _unit_integral("d", number, sorted(modes), integrand, 1.0 if equal else 2.0)
    if factors == "vw" and not equal:
        return _unit_integral("e", number, modes, rf"(1 - \eta)\, {shapes[0]}\, {shapes[1]}'")
    # int (1 - eta) (phi_k phi_l' + phi_l phi_k') d eta = int phi_k phi_l d eta
    double = {"uu": 2.0, "uv": 1.0}.get(factors)
    factor = 0.5 if factors == "vw" else 1.0 if double is None else double / (1 + equal)
    return _unit_integral(PRODUCT, number, sorted(modes), r"\, ".join(sorted(shapes)), factor)


def _unit_integral(
    letter: str, number: int, modes: list[int], integrand: str, times: float = 1.0
) -> Name:
    """Return the name of an integral over a sliding link's relative position eta."""
    return Name(rf"{letter}_{{{_index(number, modes)}}}",
                rf"\mu\, \int_0^1 {integrand}\, d\eta", times)  # fmt: skip


Vector = tuple[Polynomial, ...]
Matrix = tuple[Vector, ...]
# Names that have a meaning in generated Python modules.
RESERVED = re.compile(
    r"[qvMhcKk]|np|entire|(sin|cos|c\d)(_\w+)?|(alpha|beta|phi|theta|t|r[yz]{2})\d+_\w+"
    r"|(psi|kappa|gamma|angle|inverse|s)\d+"
)


@dataclass(frozen=True)
class Equations:
    """Equation of motion ``M a + h + c + K q + k = B u`` of an arm, entry by entry.

    Attributes
    ----------
    arm
        Name of the arm.
    names
        Names of the coordinates, as in the model.
    generators
        Variables of the polynomials: coordinates, rates, and definitions in order.
    M, K
        Mass and stiffness matrix; K contains the elastic forces linear in angles and amplitudes.
    h, c, k
        Coriolis and centrifugal forces, gravity, and the nonlinear elastic forces.
    values
        Values of the generators that represent numbers, by LaTeX symbol.
    """

    arm: str
    names: tuple[str, ...]
    generators: tuple[Generator, ...]
    M: Matrix
    h: Vector
    c: Vector
    K: Matrix
    k: Vector
    values: dict[str, float] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Return a one-line summary; `flexarm equations` prints the equations."""
        size = f"{len(self.names)} coordinates, {self.terms} terms"
        return Summary(f"M a + h + c + K q + k = B u of {self.arm}: {size}").text()

    @property
    def terms(self) -> int:
        """Number of terms of all entries and named subexpressions.

        Entries of M and K below the diagonal do not count.
        """
        equations = rounded(self, COUNTED_TERM)
        symmetric = (equations.M, equations.K)
        upper = [
            row[j]
            for matrix in symmetric
            for i, row in enumerate(matrix)
            for j in range(i, len(row))
        ]
        definitions = [generator.of for generator in self.generators if generator.kind == "part"]
        return sum(
            len(entry) for entry in (*upper, *equations.h, *equations.c, *equations.k, *definitions)
        )


def closed_form(model: Model, *, named: bool = False) -> Equations:
    """Return an arm's equations of motion as polynomials in its coordinates and rates.

    Long factors of products are replaced by named subexpressions.

    Parameters
    ----------
    model
        The arm.
    named
        Whether integrals over links, lengths, and values of shapes at tips are printed as symbols
        instead of numbers; in arms with exact links they are always numbers.

    Raises
    ------
    FlexarmError
        If the arm is too large, or its equations are not polynomials in the permitted generators.
    """
    _check(model)
    short = model.size <= WHOLE_COORDINATES
    if short and sum(part.exact is not None and all(part.exact.bends) for part in model.links) < 2:
        try:
            return _closed_form(model, named, None)
        except TooLong:
            pass
    return _closed_form(model, named, LONGEST_PRODUCT)


def _closed_form(model: Model, named: bool, longest: int | None) -> Equations:
    """Return an arm's equations; factors of products with more than ``longest`` terms get names."""
    n, ring = model.size, Ring()
    q, v = ca.SX.sym("q", n), ca.SX.sym("v", n)
    notations = [_notation(name, model.links, model.names) for name in model.names]
    used = set[str]()
    for i, (name, latex) in enumerate(notations, 1):
        identifier = name
        # Names of coordinates and of their rates must be unique.
        while used & {identifier, f"{identifier}_dot"}:
            identifier = f"{identifier}_{i}"
        used |= {identifier, f"{identifier}_dot"}
        ring.add(Generator(identifier, latex, "coordinate", {}))
    for i in range(n):
        coordinate = ring.generators[i]
        rate = Generator(f"{coordinate.name}_dot", rf"\dot {coordinate.latex}", "rate", {})
        ring.add(rate)
    has_integrals = all(part.exact is None for part in model.links)
    integrals = IntegralSymbols(model, q, ring) if named and has_integrals else None
    tips = [_Tip(model, index, q, ring, integrals) for index in range(len(model.links))]
    symbols = ca.vertcat(*[tip.symbols for tip in tips])
    slopes = ca.vertcat(*[tip.slopes for tip in tips])
    by_name = {part.name: tip for part, tip in zip(model.links, tips, strict=True)}
    bent_sections = {name: tip.bent for name, tip in by_name.items() if tip.bent is not None}
    bodies = bodies_of(
        model,
        q,
        lambda part: by_name[part.name].transform,
        lambda part: bent_sections[part.name].points() if part.name in bent_sections else None,
    )
    force = elastic_force(
        model, q, {name: sections.effort(q) for name, sections in bent_sections.items()}
    )
    derived_symbols: Expr = ca.vertcat(*[sections.further for sections in bent_sections.values()])
    derived_indices = [i for sections in bent_sections.values() for i in sections.further_places]
    if integrals is not None:  # true only if no link is exact
        bodies, force = [integrals.body(body) for body in bodies], integrals.force(force)
    M = closed_mass_matrix(model, bodies)
    momentum = M @ v
    # Algorithm 3, step S2.1 of Theodore & Ghosal, by the chain rule with the symbols of tips
    h = ca.jtimes(momentum, q, v) + ca.jtimes(momentum, symbols, slopes @ v)
    energy = ca.dot(v, momentum) / 2
    h = h - ca.gradient(energy, q) - slopes.T @ ca.gradient(energy, symbols)
    c = closed_gravity(model, bodies, None if integrals is None else integrals.gravity())
    if integrals is not None:
        derived_symbols, derived_indices = integrals.symbols, integrals.places
    function = ca.Function("equations", [q, v, symbols, derived_symbols], [M, h, c, force])
    places = [list(range(n)), list(range(n, 2 * n)), [i for tip in tips for i in tip.places],
              derived_indices]  # fmt: skip
    ring.longest = longest
    outputs = evaluated(lower(function), ring, places)
    entries = [[entry[i] for i in range(len(entry))] for entry in outputs]
    entries = joined_angles(entries, ring)
    equations = _equations(model, ring, *entries)
    return equations if integrals is None else replace(equations, values=integrals.values)


def rounded(equations: Equations, negligible: float) -> Equations:
    """Return the equations sorted, without coefficients small against their row and column.

    ``negligible`` is the largest omitted coefficient, relative to the sizes of its row and column.
    """
    sizes = np.sqrt([largest(row[i]) for i, row in enumerate(equations.M)])
    stiffness_sizes = np.sqrt([largest(row[i]) for i, row in enumerate(equations.K)])

    def matrix(entries: Matrix, size: Array) -> Matrix:
        return tuple(
            tuple(cleaned(x, negligible * float(size[i] * size[j])) for j, x in enumerate(row))
            for i, row in enumerate(entries)
        )

    def vector(entries: Vector) -> Vector:
        size = max(largest(entry) for entry in entries)
        return tuple(cleaned(entry, negligible * size) for entry in entries)

    largest_size = float(sizes.max())
    return replace(
        equations,
        M=matrix(equations.M, sizes),
        h=tuple(
            cleaned(x, negligible * float(sizes[i]) * largest_size)
            for i, x in enumerate(equations.h)
        ),
        c=vector(equations.c),
        K=matrix(equations.K, stiffness_sizes),
        k=vector(equations.k),
    )


class _Tip:
    """Symbols and definitions for the rotation angles of a link's tip and its Cayley factor.

    Attributes
    ----------
    symbols, slopes, places
        The symbols, their derivatives with respect to the coordinates, their generators. transform
        Transformation from the link's root to its tip, and its derivatives with respect to the
        link's own coordinates, in these symbols.
    bent
        Sections of an exact link that bends along both y and z; None for other links.
    """

    def __init__(
        self, model: Model, index: int, q: Expr, ring: Ring, integrals: IntegralSymbols | None
    ) -> None:
        part, n = model.links[index], model.size
        self.symbols: Expr = ca.SX(0, 1)
        self.slopes: Expr = ca.SX(0, n)
        self.places: list[int] = []
        is_bare_end = index == len(model.links) - 1 and not part.tip_body.weighs
        self.bent: BentSections | None = None
        if part.exact is not None:
            angle_indices = name_angles(model, part.exact, part, index + 1, q, ring)
            if all(part.exact.bends):
                self.bent = BentSections(model, index, q, ring, angle_indices)
                self.symbols, self.slopes = self.bent.symbols, self.bent.slopes
                self.places = self.bent.places
        angle = ca.SX(3, 1) if is_bare_end else body_of(model, part).cayley_angles(q)
        constants: Expr = ca.SX(0, 1)
        places: list[int] = []
        if self.bent is None:
            section = tip_section(model, part, q)
            tip_rotation, position = section.rotation, section.position
        else:
            tip_rotation, position = self.bent.tip_frame()
        if integrals is not None:
            position = integrals.tip(index + 1, position)
            angle = integrals.angle(index + 1, angle)
            constants, places = integrals.symbols, integrals.places
        rotation: Expr = ca.SX.eye(3) if is_bare_end else tip_rotation
        if angle.nnz():
            rotation = self._name(model, part, angle, q, ring, (constants, places))
        E: Expr = homogeneous(rotation, position)
        slope: Expr = ca.jacobian(ca.vec(ca.densify(E)), q)
        if self.symbols.numel():
            slope = slope + ca.jacobian(ca.vec(ca.densify(E)), self.symbols) @ self.slopes
        columns: dict[int, Expr] = {i: ca.sparsify(ca.reshape(slope[:, i], 4, 4)) for i in part.own}
        self.transform = (E, columns)

    def _name(
        self,
        model: Model,
        part: LinkModel,
        angle: Expr,
        q: Expr,
        ring: Ring,
        numbers: tuple[Expr, list[int]],
    ) -> Expr:
        """Return the tip's rotation matrix in symbols for its angles and Cayley factor, (3, 3).

        Each symbol is added to the ring as a generator.
        """
        axes = [a for a in range(3) if angle[a].nnz()]
        number = model.links.index(part) + 1
        theta = ca.SX(3, 1)
        inputs = [list(range(model.size)), numbers[1]]
        for a in axes:
            theta[a] = ca.SX.sym(f"theta{number}{'xyz'[a]}")
            function = ca.Function("angle", [q, numbers[0]], [angle[a]])
            definition = evaluated(lower(function), ring, inputs)[0][0]
            notation = f"theta{number}_{'xyz'[a]}", rf"\theta_{{{number}{'xyz'[a]}}}"
            self.places.append(ring.add(Generator(*notation, "sum", definition)))
        angles = ca.vertcat(*[theta[a] for a in axes])
        by_q = ca.vertcat(*[ca.jacobian(angle[a], q) for a in axes])
        self.symbols, self.slopes = angles, by_q
        if model.tip_rotation == "first-order":
            return ca.SX.eye(3) + ca.skew(theta)
        vector = theta * (1 + (theta[1] ** 2 + theta[2] ** 2) / 4) if model.stiffening else theta
        if len(axes) == 1:  # one rotation about an axis; its angle can be added to joint angles
            return self._turned(axes[0], vector, number, ring)
        size = 1 + ca.dot(vector, vector) / 4
        kappa = ca.SX.sym(f"kappa{number}")
        definition = evaluated(
            lower(ca.Function("size", [angles], [size])), ring, [list(self.places)]
        )[0][0]
        place = ring.add(
            Generator(f"kappa{number}", rf"\kappa_{{{number}}}", "inverse", definition)
        )
        if not model.stiffening:
            _add_relation(ring, place, self.places)
        self.places.append(place)
        change = -(kappa**2) * (ca.jacobian(size, angles) @ by_q)
        self.symbols, self.slopes = ca.vertcat(angles, kappa), ca.vertcat(by_q, change)
        matrix = ca.skew(vector)
        return ca.SX.eye(3) + kappa * (matrix + matrix @ matrix / 2)

    def _turned(self, axis: int, vector: Expr, number: int, ring: Ring) -> Expr:
        """Return the rotation by ``gamma = 2 arctan(vector/2)`` about an axis, (3, 3)."""
        theta, by_q = self.symbols, self.slopes
        half, size = vector[axis] / 2, 1 + vector[axis] ** 2 / 4
        tangent, inverse = (
            evaluated(lower(ca.Function("f", [theta], [x])), ring, [list(self.places)])[0][0]
            for x in (half, size)
        )
        about = f"angle of the tip of link {number}"
        angle = Generator(f"gamma{number}", rf"\gamma_{{{number}}}", "arctangent", tangent, about)
        kappa_name = f"kappa{number}", rf"\kappa_{{{number}}}"
        places = [ring.add(angle), ring.add(Generator(*kappa_name, "inverse", inverse))]
        if len(tangent) == 1:  # kappa (1 + theta^2/4) = 1
            _add_relation(ring, places[1], self.places)
        self.places += places
        gamma, kappa = ca.SX.sym(f"gamma{number}"), ca.SX.sym(f"kappa{number}")
        slope = kappa * ca.jacobian(vector[axis], theta) @ by_q
        self.symbols = ca.vertcat(theta, gamma, kappa)
        self.slopes = ca.vertcat(by_q, slope, -kappa * half * slope)
        c, s = ca.cos(gamma), ca.sin(gamma)
        rotation, (a, b) = ca.SX.eye(3), ((1, 2), (2, 0), (0, 1))[axis]
        rotation[a, a], rotation[a, b], rotation[b, a], rotation[b, b] = c, -s, s, c
        return rotation


def _add_relation(ring: Ring, kappa: int, angles: list[int]) -> None:
    """Add the relation ``kappa (1 + theta^T theta/4) = 1`` to a ring.

    By the relation, kappa times the square of the last angle is replaced.
    """
    *first_angles, last_angle = angles
    replacement: Polynomial = {(): 4.0, ((kappa, 1),): -4.0}
    for angle in first_angles:
        replacement[tuple(sorted([(kappa, 1), (angle, 2)]))] = -1.0
    ring.relations[kappa, last_angle] = replacement


def _equations(
    model: Model,
    ring: Ring,
    M: list[Polynomial],
    h: list[Polynomial],
    c: list[Polynomial],
    force: list[Polynomial],
) -> Equations:
    """Return the equations without rounding errors, and elastic forces as ``K q + k``."""
    n = model.size
    lengths = {part.exposed for part in model.links if part.body.range is not None}
    lengths |= {i for i, generator in enumerate(ring.generators) if generator.kind == "number"}
    parts = [_linear_and_nonlinear(entry, lengths, n) for entry in force]
    equations = Equations(
        model.arm.name,
        model.names,
        tuple(ring.generators),
        tuple(tuple(M[min(i, j) * n + max(i, j)] for j in range(n)) for i in range(n)),
        tuple(h),
        tuple(c),
        tuple(tuple(row.get(j, {}) for j in range(n)) for row, _ in parts),
        tuple(rest for _, rest in parts),
    )
    return rounded(equations, PRODUCT_ROUNDING)


def _linear_and_nonlinear(
    force: Polynomial, lengths: set[int], n: int
) -> tuple[dict[int, Polynomial], Polynomial]:
    """Split an elastic force into terms linear in one coordinate, and all other terms.

    Coordinates and generators listed in ``lengths`` count as parameters. The linear terms are
    returned as coefficients by coordinate, the others as a polynomial.
    """
    row: dict[int, Polynomial] = {}
    nonlinear: Polynomial = {}
    for powers, x in force.items():
        variables = [(g, p) for g, p in powers if g not in lengths]
        if len(variables) == 1 and variables[0][1] == 1 and variables[0][0] < n:
            key = tuple((g, p) for g, p in powers if g in lengths)
            row.setdefault(variables[0][0], {})[key] = x
        else:
            nonlinear[powers] = x
    return row, nonlinear


def _notation(name: str, links: tuple[LinkModel, ...], names: tuple[str, ...]) -> tuple[str, str]:
    """Return a coordinate's name as a Python identifier and as a LaTeX symbol."""
    identifier = re.sub(r"\W", "_", name, flags=re.ASCII)
    is_reserved = RESERVED.fullmatch(identifier) or keyword.iskeyword(identifier)
    if is_reserved or not identifier.isidentifier():
        identifier = f"x_{identifier}"
    for number, part in enumerate(links, 1):
        if name == part.joint_name:
            return identifier, rf"q_{{{number}}}"
        if name == f"{part.joint_name}.motor":
            return identifier, rf"q_{{{number}\mathrm{{m}}}}"
        owner, _, label = name.partition(".")
        shapes = names[part.modes] if part.flexible else ()
        if name in shapes:
            mode = shapes.index(name) + 1
            return identifier, rf"\delta_{{{number}{',' if mode > 9 else ''}{mode}}}"
        if owner in (part.name, part.joint_name):
            label = label.replace("_", r"\_")
            return identifier, rf"\mathit{{{label}}}_{{{number}}}"
    return identifier, rf"\mathit{{{name.removeprefix('base.')}}}_{{0}}"


def _check(model: Model) -> None:
    for part in model.links:
        if not part.body.sectioned:
            raise FlexarmError(
                f"{part.name} is a body with modes, which has no short closed form. Use "
                "'flexarm count' to count its operations."
            )
    for before, part in enumerate(model.links, -1):
        if part.parent != before or part.place is not None:
            raise FlexarmError(
                f"{part.name} is on a branch, and equations are printed for chains of links. Use "
                "'flexarm count' to count the operations."
            )
        if part.on_rail:
            raise FlexarmError(
                f"{part.name} rides on {model.links[before].name}, whose shapes are sums over "
                "pieces and have no short closed form. Make the rail rigid."
            )
    joints_with_stops = [axis.name for axis in model.axes if axis.acts.stops is not None]
    if joints_with_stops:
        raise FlexarmError(
            f"the stops of {joints_with_stops[0]} begin to push at a position, which no closed "
            "form expresses. Leave the stops out."
        )
    if model.size > MOST_COORDINATES:
        raise FlexarmError(
            f"{model.arm.name} has {model.size} coordinates, and equations are printed for at "
            f"most {MOST_COORDINATES}. Use 'flexarm count' to count the operations."
        )
    if model.points.contacts or model.points.springs:
        raise FlexarmError(
            f"{model.arm.name} has contacts or springs between points, which have no short "
            "closed form. Leave them out."
        )
    for part in model.links:
        if part.exact is not None and part.exact.shears and all(part.exact.bends):
            raise FlexarmError(
                f"{part.name} is an exact beam that shears along y and z, which has no short "
                "closed form. Use linear theory ('--stiffening off', stiffening=False), or "
                "leave its shear stiffness out."
            )
    for part in model.links:
        if part.body.range is not None and part.exact is not None and all(part.exact.bends):
            raise FlexarmError(
                f"{part.name} is an exact beam that slides and bends along y and z, which has "
                "no closed form. Use linear theory ('--stiffening off', stiffening=False), or "
                "let it bend in one plane."
            )
        if part.body.length_terms > 2:
            raise FlexarmError(
                f"{part.name}: the shapes of this link depend on its changing length, which "
                "makes the equations too long. Use shapes without 'follow'."
            )
