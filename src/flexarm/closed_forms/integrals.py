r"""Symbols for the numbers in an arm's equations: integrals over links, values of shapes at tips.

Letters are those of Korayem & Shafei 2009 and Chen, Zhang & Liu 2012: masses ``m_i``, amplitudes
``\delta_ik``, first moments of shapes ``\varepsilon_ik``, ``\alpha_ik`` with the distance from the
root, and ``c_ikl`` of two shapes.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import casadi as ca

from flexarm.closed_forms.polynomials import Generator, Monomial, Ring, evaluated
from flexarm.engine.lower import lower
from flexarm.formulations.lagrange import LagrangeBody
from flexarm.mechanics.bodies.points import Moments
from flexarm.model import LinkModel, Model
from flexarm.spatial import NEGLIGIBLE, Expr

AXES = "1xyz"  # of homogeneous positions


class Name(NamedTuple):
    """Symbol of a number, with its definition and its factor in a term."""

    latex: str  # the symbol
    about: str  # its definition, in LaTeX
    times: float = 1.0  # factor with which it stands in the term


Namer = Callable[[int, list[int]], Name]  # function of the place in a matrix, and of mode numbers


class IntegralSymbols:
    """Symbols for the numbers of an arm's bodies, each a generator with a value."""

    def __init__(self, model: Model, q: Expr, ring: Ring) -> None:
        self.model, self.q, self.ring = model, q, ring
        self.symbols: Expr = ca.SX(0, 1)
        self.places: list[int] = []
        self.values: dict[str, float] = {}

    def body(self, body: LagrangeBody) -> LagrangeBody:
        """Return a body with symbols for the numbers of its moments."""
        moving = {*body.D, *body.own}
        movers = [
            k for k, part in enumerate(self.model.links, 1)
            if moving & {*_modes(part), *part.carried_by}
        ]  # fmt: skip
        number = max(movers, default=1)  # of the link that it belongs to: the last that moves it
        modes, label = _modes(self.model.links[number - 1]), f"{number}"
        if modes and not body.own:  # at the tip of a flexible link, or in its hub
            label += r"\mathrm{t}" if any(i in modes for i in body.D) else r"\mathrm{h}"
        return LagrangeBody(body.T, body.D, self._moments(body.weight, label), body.own)

    def tip(self, number: int, position: Expr) -> Expr:
        """Return a tip position with symbols for the length and the values of shapes, (3,)."""

        def named(place: int, modes: list[int]) -> Name:
            axis = "xyz"[place]
            if modes:
                return Name(rf"\phi_{{{_index(number, modes)}}}",
                            rf"\phi_{{{_index(number, modes)}}}(l_{{{number}}})")  # fmt: skip
            index = f"{number}" if axis == "x" else f"{number}{axis}"
            return Name(rf"l_{{{index}}}", rf"\text{{length of link {number}}}")

        return self._renamed(position, named)

    def angle(self, number: int, angle: Expr) -> Expr:
        """Return tip angles with symbols for the slopes of shapes, (3,)."""

        def named(place: int, modes: list[int]) -> Name:
            slope = rf"\phi_{{{_index(number, modes)}}}'"
            return Name(slope, rf"{slope}(l_{{{number}}})")

        return self._renamed(angle, named)

    def force(self, force: Expr) -> Expr:
        """Return the elastic forces with symbols for the stiffnesses, (n,)."""
        owners = {i: (k, i - part.modes.start + 1) for k, part in enumerate(self.model.links, 1)
                  for i in _modes(part)}  # fmt: skip

        def named(place: int, modes: list[int]) -> Name:
            if place in owners and len(modes) == 1:
                number, mode = owners[place]
                index = _index(number, sorted([mode, *modes]))
                return Name(rf"k_{{{index}}}", rf"\text{{stiffness of link {number}}}")
            return Name(rf"k_{{{self.ring.generators[place].latex}}}", r"\text{stiffness}")

        return self._renamed(force, named)

    def _moments(self, weight: Moments, label: str) -> Moments:
        def square(place: int, modes: list[int]) -> Name:
            a, b = sorted(divmod(place, 4))
            return _integral(label, modes, a, b)

        def column(f: int) -> Namer:
            return lambda place, modes: _integral(label, [f, *modes], *sorted(divmod(place, 4)),
                                                  once=True)  # fmt: skip

        def first(more: list[int]) -> Namer:
            return lambda place, modes: _integral(label, [*more, *modes], 0, place)

        def turned(place: int, modes: list[int]) -> Name:
            f, g = sorted(divmod(place, max(len(weight.H), 1)))
            return Name(rf"j_{{{_index(label, [f + 1, g + 1])}}}", r"\text{turning of sections}")

        size = range(len(weight.H))
        return Moments(
            self._renamed(weight.G, square),
            [self._renamed(weight.H[f], column(f + 1)) for f in size],
            [[self._renamed(weight.N[f][g], _pair(label, f + 1, g + 1)) for g in range(len(row))]
             for f, row in enumerate(weight.N)],
            self._renamed(weight.T, turned),
            self._renamed(weight.r, first([])),
            [self._renamed(weight.eps[f], first([f + 1])) for f in range(len(weight.eps))],
        )  # fmt: skip

    def _renamed(self, matrix: Expr, name: Namer) -> Expr:
        """Return a matrix of polynomials in the coordinates with symbols for its coefficients."""
        result = ca.SX(*matrix.shape)
        for place, modes, powers, x in self._terms(matrix):
            row, column = divmod(place, matrix.shape[1])
            symbol = self._symbol(name(place, modes), x)
            product = ca.SX(1)
            for g, p in powers:
                product *= self.q[g] ** p
            result[row, column] += symbol * product
        return result

    def _terms(self, matrix: Expr) -> Iterator[tuple[int, list[int], Monomial, float]]:
        """Iterate over the terms of a matrix: place, mode numbers in it, powers, coefficient."""
        if not matrix.numel():
            return
        own = Ring(generators=self.ring.generators[: self.model.size])
        function = ca.Function("terms", [self.q], [ca.densify(ca.SX(matrix))])
        (found,) = evaluated(lower(function), own, [list(range(self.model.size))])
        modes = {i: i - part.modes.start + 1 for part in self.model.links for i in _modes(part)}
        for place, polynomial in found.items():
            for powers, x in polynomial.items():
                if abs(x) > 1e-14:
                    yield place, [modes.get(g, 0) for g, p in powers for _ in range(p)], powers, x

    def _symbol(self, name: Name, value: float) -> Expr:
        """Return the symbol of a name; stars are added to the name of another value."""
        latex, value = name.latex, value / name.times
        while latex in self.values and abs(self.values[latex] - value) > NEGLIGIBLE * abs(value):
            latex += "^{*}"
        if latex not in self.values:
            self.values[latex] = value
            symbol = ca.SX.sym(latex)
            self.symbols = ca.vertcat(self.symbols, symbol)
            self.places.append(len(self.ring.generators))
            plain = f"number{len(self.values)}"
            self.ring.generators.append(Generator(plain, latex, "number", {}, name.about))
        at = list(self.values).index(latex)
        return name.times * self.symbols[at]


def _modes(part: LinkModel) -> range:
    return range(part.modes.start, part.modes.stop)


def _index(label: object, modes: Sequence[int]) -> str:
    """Return the numbers of a link and its modes as an index."""
    return ("," if max((0, *modes)) > 9 else "").join(map(str, (label, *modes)))


def _pair(label: str, f: int, g: int) -> Namer:
    return lambda place, modes: _integral(label, [f, g, *modes], 2, 2, once=True)


def _integral(label: str, modes: list[int], a: int, b: int, *, once: bool = False) -> Name:
    """Return the name of an integral over a link by its place in the moments and its shapes.

    Off the diagonal two equal products add up in one term unless ``once``.
    """
    index, number = _index(label, sorted(modes)), label.partition("\\")[0]
    shapes = r"\, ".join(rf"\phi_{{{_index(number, [k])}}}" for k in sorted(modes))
    if not modes:
        if a == b == 0:
            return Name(f"m_{{{label}}}", r"\int \mu\, dx")
        if a == 0:
            return Name(rf"S_{{{label}{AXES[b]}}}", rf"\int \mu\, {AXES[b]}\, dx")
        return Name(rf"J_{{{label}{AXES[a]}{AXES[b]}}}",
                    rf"\int \mu\, {AXES[a]} {AXES[b]}\, dx")  # fmt: skip
    if len(modes) == 1 and a == 0:
        return Name(rf"\varepsilon_{{{index}}}", rf"\int \mu\, {shapes}\, dx")
    if len(modes) == 1:
        return Name(rf"\alpha_{{{index}}}", rf"\int \mu\, x\, {shapes}\, dx",
                    2.0 if a == b and not once else 1.0)  # fmt: skip
    twice = len(modes) == 2 and modes[0] != modes[1] and a == b and not once
    return Name(rf"c_{{{index}}}", rf"\int \mu\, {shapes}\, dx", 2.0 if twice else 1.0)
