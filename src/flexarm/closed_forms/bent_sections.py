"""Sections of exact links that bend along y and along z, in closed-form equations.

With C the cosine of ``sqrt(alpha^2 + beta^2)`` a tangent is ``(C, -dC/dalpha, -dC/dbeta)``.  It,
the rotation onto it and their derivatives by the angles have names, so that equations stay sums of
short products; they are made of ``c_k(x) = sum (-x)^n/(2n + k)!`` at ``x = alpha^2 + beta^2``.
"""

from functools import cache

import casadi as ca
import numpy as np

from flexarm.closed_forms.angles import Places
from flexarm.closed_forms.polynomials import Generator, Polynomial, Ring, evaluated
from flexarm.engine.lower import lower
from flexarm.links.base import Array
from flexarm.mechanics.bodies.exact.body import Exact
from flexarm.mechanics.bodies.exact.material import tangent_material
from flexarm.mechanics.bodies.exact.strain import strain_effort, strains
from flexarm.mechanics.bodies.exact.tangents import Entire, Tangents
from flexarm.mechanics.bodies.material import MaterialPoints
from flexarm.model import Model
from flexarm.spatial import Expr, constant

FUNCTIONS = 7  # second derivatives of a rotation contain c_0 to c_6
ANGLES = {"y": "alpha", "z": "beta"}
ENTRIES = ("ryy", "ryz", "rzz")  # entries of a rotation that are not entries of the tangent
# Derivatives by the angles, lower orders first; the first letter of a tangent's is its axis.
DERIVATIVES = ("", "y", "z", "yy", "yz", "zz", "yyy", "yyz", "yzz", "zzz")
Key = tuple[str, str]  # t, ryy, ryz or rzz, and a derivative


def _keys(lowest: int, highest: int) -> list[Key]:
    """List tangents and entries of rotations with derivatives of given orders."""
    named = [("t", d) for d in DERIVATIVES if lowest + 1 <= len(d) <= highest + 1]
    return named + [(e, d) for e in ENTRIES for d in DERIVATIVES if lowest <= len(d) <= highest]


@cache
def _formulas() -> tuple[dict[str, Expr], Expr, dict[Key, Expr]]:
    """Return formulas of tangents, rotations and their derivatives in the angles and the c_k."""
    angles = {letter: ca.SX.sym(name) for letter, name in ANGLES.items()}
    a, b, c = *angles.values(), ca.SX.sym("c", FUNCTIONS + 2)

    def by(f: Expr, letter: str) -> Expr:
        total = ca.jacobian(f, angles[letter])
        for k in range(FUNCTIONS):  # dc_k/dx = (k c_{k+2} - c_{k+1})/2
            total += ca.jacobian(f, c[k]) * (k * c[k + 2] - c[k + 1]) * angles[letter]
        return total

    formulas: dict[Key, Expr] = {("t", "y"): a * c[1], ("t", "z"): b * c[1]}
    first = (1 - a * a * c[2], -a * b * c[2], 1 - b * b * c[2])
    formulas |= {(entry, ""): f for entry, f in zip(ENTRIES, first, strict=True)}
    for base, letters in _keys(1, 2):
        formulas[base, letters] = by(formulas[base, letters[:-1]], letters[-1])
    return angles, c[:FUNCTIONS], formulas


class _Section:
    """A section of a bending link: symbols for functions of its angles, and their generators."""

    def __init__(self, who: str, place: str, ring: Ring, places: Places) -> None:
        at = {letter: places.get((place, name)) for letter, name in ANGLES.items()}
        self.symbols, self.places = dict[Key, Expr](), dict[Key, int]()
        square: Polynomial = {((g, 2),): 1.0 for g in at.values() if g is not None}
        above = rf"^{{{who},\mathrm{{{place}}}}}"
        for k in range(FUNCTIONS):
            named = Generator(f"c{k}_{who}_{place}", f"c_{k}{above}", "entire", square, order=k)
            self._put(("c", str(k)), named, ring)
        angles, c, formulas = _formulas()
        functions = [self.places["c", str(k)] for k in range(FUNCTIONS)]
        # an angle that no shape has there is zero
        zero = ca.vertcat(*[z for letter, z in angles.items() if at[letter] is None])
        given = [z for letter, z in angles.items() if at[letter] is not None]
        loads = [[g] for g in at.values() if g is not None]
        for (base, letters), formula in formulas.items():
            here = ca.substitute(formula, zero, 0 * zero) if zero.numel() else formula
            stream = lower(ca.Function("section", [*given, c], [here]))
            of = evaluated(stream, ring, [*loads, functions])[0].get(0, {})
            name = f"{base}{who}_{place}_{letters}".removesuffix("_")
            below = letters if base == "t" else f"{base[1:]},{letters}".removesuffix(",")
            latex = rf"{base[0]}_{{{below}}}{above}"
            about = _about(base, letters, f"{who}_{place}")
            self._put((base, letters), Generator(name, latex, "sum", of, about), ring)

    def _put(self, key: Key, generator: Generator, ring: Ring) -> None:
        self.symbols[key], self.places[key] = ca.SX.sym(generator.name), ring.add(generator)

    def derivative(self, key: Key, letter: str) -> Expr:
        """Differentiate a function by an angle."""
        base, letters = key
        if key == ("c", "0"):
            return -self.symbols["t", letter]
        return self.symbols[base, "".join(sorted(letters + letter))]

    def rotation(self, letter: str = "") -> Expr:
        """Return the rotation onto the tangent, or its derivative by an angle, (3, 3)."""
        cosine: Key = ("c", "0")
        keys: list[Key] = [("t", "y"), ("t", "z"), ("ryy", ""), ("ryz", ""), ("rzz", "")]
        values = [
            self.derivative(k, letter) if letter else self.symbols[k] for k in (cosine, *keys)
        ]
        C, y, z, yy, yz, zz = values
        rows = ((C, -y, -z), (y, yy, yz), (z, yz, zz))
        return ca.vertcat(*[ca.horzcat(*row) for row in rows])

    def entire(self) -> Entire:
        """Return the symbols of the functions c_k."""
        return Entire(*[self.symbols["c", str(k)] for k in range(6)])


def _about(base: str, letters: str, where: str) -> str:
    """Return the description of a function of a section; empty of a derivative."""
    if base == "t":
        return f"tangent along {letters}, its derivatives follow" if len(letters) == 1 else ""
    return "" if letters else f"entry {base[1:]} of the rotation onto the tangent at {where}"


class BentSections:
    """An exact link that bends along y and z, in symbols for functions of its sections' angles.

    Attributes
    ----------
    symbols, slopes, places
        Symbols, their derivatives by the coordinates, and their generators.
    further, further_places
        Symbols that only those derivatives and elastic forces contain, and their generators.
    """

    def __init__(self, model: Model, index: int, q: Expr, ring: Ring, places: Places) -> None:
        body = Exact(model, model.links[index])
        self.body, self.part, self.q = body, body.part, q
        self.nodes = nodes = body.nodes
        self.d = body.amplitudes(q)
        polar = 0 if nodes.polar is None else len(nodes.polar.inertia)

        def section(place: str) -> _Section:
            return _Section(str(index + 1), place, ring, places)

        self.tip = section("tip")
        self.at_nodes = [section(str(g + 1)) for g in range(nodes.count)]
        self.turning = [section(f"r{g + 1}") for g in range(polar)]
        bends = [nodes.tip_bend, *nodes.bend.transpose(1, 0, 2)]
        bends += [] if nodes.polar is None else [*nodes.polar.bend.transpose(1, 0, 2)]
        moving: list[Key] = [("c", "0"), *_keys(0, 1)]
        final: list[Key] = [*_keys(2, 2), *[("c", str(k)) for k in range(1, FUNCTIONS)]]
        symbols, slopes, further = list[Expr](), list[Expr](), list[Expr]()
        self.places, self.further_places = list[int](), list[int]()
        for each, bend in zip([self.tip, *self.at_nodes, *self.turning], bends, strict=True):
            rows = dict(zip("yz", (self._row(row) for row in bend), strict=True))
            symbols += [each.symbols[key] for key in moving]
            slopes += [
                sum(each.derivative(key, letter) * row for letter, row in rows.items())
                for key in moving
            ]
            self.places += [each.places[key] for key in moving]
            further += [each.symbols[key] for key in final]
            self.further_places += [each.places[key] for key in final]
        self.symbols: Expr = ca.vertcat(*symbols)
        self.slopes: Expr = ca.vertcat(*slopes)
        self.further: Expr = ca.vertcat(*further)

    def _row(self, row: Array) -> Expr:
        whole = np.zeros((1, self.q.shape[0]))
        whole[0, self.part.modes] = row
        return constant(whole)

    def tip_frame(self) -> tuple[Expr, Expr]:
        """Return rotation (3, 3) and position (3,) of the tip."""
        about, _ = _twisted(constant(self.nodes.tip_twist[None]) @ self.d)
        return self.tip.rotation() @ about, ca.sum2(
            constant(self.nodes.tip) * self._tangents().place
        )

    def points(self) -> MaterialPoints:
        """Return the points of the span and the unit vectors of its sections."""
        mass = self.body.span.integrals.mass
        field = tangent_material(self.nodes, mass, self._tangents(), self._vectors())
        return MaterialPoints(*field, 1.0)

    def effort(self, q: Expr) -> Expr:
        """Differentiate the elastic energy by the amplitudes, (m,)."""
        linear = self.body.linear_effort(q)
        if not strains(self.nodes):
            return linear
        return linear + strain_effort(self.nodes, self.d, [s.entire() for s in self.at_nodes])

    def _tangents(self) -> Tangents:
        turned = [each.rotation()[:, 0] for each in self.at_nodes]
        by = [[each.rotation(x)[:, 0] for each in self.at_nodes] for x in "yz"]
        unit, by_a, by_b = (ca.horzcat(*columns) for columns in (turned, *by))
        none = ca.SX(3, self.nodes.count)
        if not self.nodes.stretches:
            return Tangents(unit, unit, by_a, by_b, none, none)
        straight = constant(self.nodes.straight) + constant(self.nodes.stretch) @ self.d
        long = ca.repmat(straight.T, 3, 1)
        return Tangents(unit, unit * long, by_a * long, by_b * long, none, none)

    def _vectors(self) -> list[tuple[Expr, Expr, Expr]]:
        """Return unit vectors of the sections with rotary inertia, for `tangent_material`."""
        places, sweeps = list[Expr](), list[Expr]()
        for g, each in enumerate(self.turning):
            assert self.nodes.polar is not None
            twist = constant(self.nodes.polar.twist[g][None])
            about, by_twist = _twisted(twist @ self.d)
            turns = [each.rotation(x) @ about for x in "yz"] + [each.rotation() @ by_twist]
            rows = [*(constant(row[None]) for row in self.nodes.polar.bend[:, g]), twist]
            for k in range(3):
                places.append(each.rotation() @ about[:, k])
                sweeps.append(sum(t[:, k] @ row for t, row in zip(turns, rows, strict=True)))
        return [
            (
                ca.vertcat(*[place[a] for place in places]),
                ca.SX(len(places), 1),
                ca.vertcat(*[sweep[a, :] for sweep in sweeps]),
            )
            for a in range(3)
        ]


def _twisted(f: Expr) -> tuple[Expr, Expr]:
    """Return the rotation about x by a twist, and its derivative, (3, 3) each."""
    about, slope = ca.SX.eye(3), ca.SX(3, 3)
    if f.nnz():
        c, s = ca.cos(f), ca.sin(f)
        about[1, 1], about[1, 2], about[2, 1], about[2, 2] = c, -s, s, c
        slope[1, 1], slope[1, 2], slope[2, 1], slope[2, 2] = -s, -c, c, -s
    return about, slope
