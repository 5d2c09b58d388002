"""Multivariate polynomials in named generators, into which CasADi expressions are converted.

A generator is a coordinate, a rate, a sine or cosine, an inverse, an entire function, or another
quantity with a definition. Two relations shorten polynomials. ``sin^2`` is replaced by
``1 - cos^2``. For an inverse ``k = 1/(1 + c^T c/4)``, the product of k and the square of one
component of c is expressed by the other components.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from flexarm.closed_forms.constants import PRODUCT_ROUNDING
from flexarm.engine.stream import Stream
from flexarm.errors import FlexarmError

Monomial = tuple[tuple[int, int], ...]  # (generator, power), by generator
Polynomial = dict[Monomial, float]
Kind = Literal[
    "coordinate", "rate", "sine", "cosine", "arctangent", "inverse", "sum", "part", "entire",
    "number",
]  # fmt: skip
ONE: Monomial = ()


class TooLong(FlexarmError):
    """Error raised when the equations have too many terms to be printed."""


class Generator(NamedTuple):
    """A variable of polynomials, with the expression that defines it, if any."""

    name: str  # Python identifier
    latex: str  # LaTeX symbol
    kind: Kind  # coordinates, rates and numbers have no definition; all other kinds have one
    of: Polynomial  # polynomial that is the argument of the definition
    about: str = ""  # description, if the definition does not suffice
    order: int = 0  # k of an entire function ``c_k(x) = sum (-x)^n/(2n + k)!``


@dataclass
class Ring:
    """Polynomial ring: its generators and the algebraic relations between them."""

    generators: list[Generator] = field(default_factory=list)  # in the order of their definitions
    # Polynomials that replace products. The key (a, b) stands for a b^2, the key (a, a) for the
    # square of a sine a.
    relations: dict[tuple[int, int], Polynomial] = field(default_factory=dict)
    # Number of products of terms that may still be formed before the equations count as too long;
    # the initial number takes some seconds.
    patience: int = 1_500_000
    # Largest number of terms of a product whose factors are written out; None for no limit.
    longest: int | None = None
    _reduced_monomials: dict[Monomial, Polynomial] = field(default_factory=dict)

    def add(self, generator: Generator) -> int:
        """Add a generator unless the ring has an equal definition, and return its index."""
        for i, existing in enumerate(self.generators):
            same_kind = (existing.kind, existing.order) == (generator.kind, generator.order)
            if existing.of and same_kind and existing.of == generator.of:
                return i
        self.generators.append(generator)
        return len(self.generators) - 1

    def sine_and_cosine(self, angle: Polynomial) -> tuple[int, int]:
        """Return the generators of the sine and the cosine of an angle, adding them if new."""
        ((powers, factor),) = angle.items() if len(angle) == 1 else (((), 0.0),)
        if factor != 1.0 or len(powers) != 1 or powers[0][1] != 1:
            number = sum(g.kind == "sum" for g in self.generators) + 1
            generator = Generator(f"angle{number}", rf"\chi_{{{number}}}", "sum", angle)
            powers = ((self.add(generator), 1),)
        angle_generator = self.generators[powers[0][0]]
        argument: Polynomial = {powers: 1.0}
        s = self.add(
            Generator(
                f"sin_{angle_generator.name}", rf"\sin {angle_generator.latex}", "sine", argument
            )
        )
        c = self.add(
            Generator(
                f"cos_{angle_generator.name}", rf"\cos {angle_generator.latex}", "cosine", argument
            )
        )
        self.relations[s, s] = {ONE: 1.0, ((c, 2),): -1.0}
        return s, c

    def inverse(self, polynomial: Polynomial) -> Polynomial:
        """Return the reciprocal of a polynomial as a polynomial in the ring.

        A single term is inverted by negative powers; the inverse of a sum of terms is a new
        generator.
        """
        if len(polynomial) == 1:
            ((powers, factor),) = polynomial.items()
            return {tuple((g, -n) for g, n in powers): 1 / factor}
        number = sum(g.kind == "inverse" for g in self.generators) + 1
        generator = Generator(f"inverse{number}", rf"\nu_{{{number}}}", "inverse", polynomial)
        return {((self.add(generator), 1),): 1.0}

    def product(self, a: Polynomial, b: Polynomial) -> Polynomial:
        """Return the product of two polynomials, reduced by the ring's relations."""
        if self.longest is not None and len(a) * len(b) > self.longest:
            a, b = (self.named(factor) for factor in (a, b))
        self.patience -= len(a) * len(b)
        if self.patience < 0:
            raise TooLong(
                "the equations are too long to print. Take fewer shapes, planar links or linear "
                "theory (--stiffening off). Use 'flexarm count' to count the operations."
            )
        result: Polynomial = {}
        for powers_a, x in a.items():
            for powers_b, y in b.items():
                _add_terms(result, self._reduced(merged(powers_a, powers_b)), x * y)
        return result

    def named(self, polynomial: Polynomial) -> Polynomial:
        """Return a new generator, times a coefficient, that replaces a long polynomial.

        A polynomial of a single term is returned unchanged.
        """
        if len(polynomial) <= 1:
            return polynomial
        size = max(polynomial.values(), key=abs)
        number = sum(g.kind == "part" for g in self.generators) + 1
        scaled = {
            powers: x / size
            for powers, x in cleaned(polynomial, PRODUCT_ROUNDING * abs(size)).items()
        }
        place = self.add(Generator(f"s{number}", f"s_{{{number}}}", "part", scaled))
        return {((place, 1),): size}

    def _reduced(self, powers: Monomial) -> Polynomial:
        """Return a monomial rewritten as a polynomial to which no relation of the ring applies."""
        if powers in self._reduced_monomials:
            return self._reduced_monomials[powers]
        self._reduced_monomials[powers] = result = self._rewrite(powers)
        return result

    def _rewrite(self, powers: Monomial) -> Polynomial:
        exponents = dict(powers)
        for (a, b), replacement in self.relations.items():
            if a == b and exponents.get(a, 0) >= 2:
                remaining = merged(powers, ((a, -2),))
            elif a != b and exponents.get(a, 0) >= 1 and exponents.get(b, 0) >= 2:
                remaining = merged(merged(powers, ((a, -1),)), ((b, -2),))
            else:
                continue
            result: Polynomial = {}
            for factor, x in replacement.items():
                _add_terms(result, self._reduced(merged(remaining, factor)), x)
            return result
        return {powers: 1.0}


def total(a: Polynomial, b: Polynomial, sign: float = 1.0) -> Polynomial:
    """Return the sum of the polynomial a and the polynomial b times a sign."""
    result = dict(a)
    _add_terms(result, b, sign)
    return result


def evaluated(stream: Stream, ring: Ring, loads: list[list[int]]) -> list[dict[int, Polynomial]]:
    """Evaluate the operations of an expression on polynomials; return the output polynomials.

    Parameters
    ----------
    stream, ring
        The operations, and the ring that new generators are added to.
    loads
        Generator of each element of each input.

    Returns
    -------
    list of dict
        Polynomials of each output; keys are the positions of the elements in the matrix, row by
        row.

    Raises
    ------
    FlexarmError
        If an operation is not addition, multiplication, division, sine or cosine.
    """
    values: list[Polynomial] = [{ONE: x} if x else {} for x in stream.constants]
    values += [{((loads[port][element], 1),): 1.0} for port, element in stream.loads]
    uses = Counter(operand for operation in stream.operations for operand in operation.operands)
    for op, a, b in stream.operations:
        if ring.longest is not None:
            for operand in {a, b} - {-1}:
                if uses[operand] > 1:
                    values[operand] = ring.named(values[operand])
        x = values[a]
        if op in ("add", "sub"):
            values.append(total(x, values[b], 1.0 if op == "add" else -1.0))
        elif op == "mul":
            values.append(ring.product(x, values[b]))
        elif op == "div":
            values.append(ring.product(x, ring.inverse(values[b])))
        elif op == "neg":
            values.append(total({}, x, -1.0))
        elif op in ("sin", "cos"):
            values.append({((ring.sine_and_cosine(x)[op == "cos"], 1),): 1.0})
        else:
            raise FlexarmError(
                f"the equations contain the operation '{op}', which cannot be printed. Leave "
                "out springs and elastic forces that are given by tables."
            )
    results: list[dict[int, Polynomial]] = [{} for _ in stream.outputs]
    for port, element, value in stream.stores:
        results[port][element] = values[value]
    return results


def largest(polynomial: Polynomial) -> float:
    """Return the magnitude of a polynomial's largest coefficient."""
    return max((abs(x) for x in polynomial.values()), default=0.0)


def cleaned(polynomial: Polynomial, size: float) -> Polynomial:
    """Return a polynomial without coefficients of magnitude up to ``size``, sorted by degree."""
    terms = [(powers, x) for powers, x in polynomial.items() if abs(x) > size]
    return dict(sorted(terms, key=lambda term: (sum(abs(n) for _, n in term[0]), term[0])))


def _add_terms(target: Polynomial, terms: Polynomial, factor: float) -> None:
    for powers, x in terms.items():
        value = target.get(powers, 0.0) + factor * x
        if value:
            target[powers] = value
        else:
            target.pop(powers, None)


def merged(a: Monomial, b: Monomial) -> Monomial:
    """Return the product of two monomials as a monomial."""
    if not a or not b:
        return a or b
    powers = dict(a)
    for g, n in b:
        powers[g] = powers.get(g, 0) + n
    if 0 in powers.values():
        powers = {g: n for g, n in powers.items() if n}
    return tuple(sorted(powers.items()))
