"""Conversion of closed-form equations into plain text, LaTeX and Python code."""

import re
from collections.abc import Callable, Iterator
from fractions import Fraction

from flexarm.arguments import refused
from flexarm.closed_forms.constants import (
    COUNTED_TERM,
    DENOMINATOR,
    LATEX_WIDTH,
    PRINTED_DIGITS,
    PRINTED_TERM,
    ROUNDING_UP,
    SHORT_ENTRY,
    TEXT_WIDTH,
    WIDEST_MATRIX,
)
from flexarm.closed_forms.equations import Equations, Matrix, Vector, rounded
from flexarm.closed_forms.polynomials import Generator, Monomial, Polynomial
from flexarm.errors import FlexarmError
from flexarm.io.titles import plain_title

PLAIN = (" * (", ")")
ENTIRE = (
    "",
    "",
    "def entire(k, x):",
    '    """Sum (-x)**n / (2 n + k)! over n, up to x = 10."""',
    "    return sum((-x) ** n / factorial(2 * n + k) for n in range(20))",
)
# Letters of other papers; replacements of the letters of Korayem & Shafei 2009, in this order.
OTHERS = {
    "korayem": {},
    "theodore": {r"\psi": r"\vartheta", r"\phi": r"\psi", r"\delta": r"\xi", r"\mu\,": r"\rho A\,"},
    "chu": {},
}
HEADINGS = {"M": "Mass matrix", "h": "Coriolis and centrifugal forces", "c": "Gravity",
            "K": "Stiffness matrix", "k": "Nonlinear elastic forces"}  # fmt: skip
NODAL = re.compile(r"\.node(\d+)\.(slope_)?([yz])$")
Write = Callable[[Polynomial], str]


def as_text(equations: Equations, *, digits: int = PRINTED_DIGITS) -> str:
    """Return equations as plain text, one entry of each matrix and vector per line."""
    equations = rounded(equations, PRINTED_TERM / 10**digits)
    write = _plain(equations.generators, digits=digits)
    lines = [f"{equations.arm}: M a + h + c + K q + k = B u", ""]
    lines += [f"q = ({', '.join(g.name for g in equations.generators[: len(equations.names)])})"]
    definitions, meaning = dict(_definitions(equations, write)), _meanings(equations)
    if definitions:
        lines += ["", "where"]
    if _has_entire(equations, definitions):
        lines.append("  entire(k, x) = sum of (-x)**n / (2*n + k)! over n = 0, 1, 2, ...")
    for name, text in definitions.items():
        lines += _text_lines(f"  {name} = ", text)
        if name in meaning:
            lines.append(f"      ({meaning[name]})")
    for symbol, entries in _entries(equations, write):
        lines += ["", f"{symbol}, where not zero:" if entries else f"{symbol} = 0"]
        for place, text in entries:
            lines += _text_lines(f"  {symbol}[{place}] = ", text)
    return "\n".join(lines) + "\n"


def as_latex(equations: Equations, *, digits: int = PRINTED_DIGITS) -> str:
    """Return equations as a LaTeX ``align*`` display, one line per definition and matrix entry."""
    lines = [rf"{left} &= {text} \\" for left, text in _latex_lines(equations, digits)]
    return "\n".join([r"\begin{align*}", *lines, r"\end{align*}"]) + "\n"


def as_latex_document(
    equations: Equations,
    *,
    numbers: bool = False,
    digits: int = PRINTED_DIGITS,
    letters: str = "korayem",
) -> str:
    """Return equations as a complete LaTeX document with a list of symbols.

    Parameters
    ----------
    equations
        The equations; with ``named`` in `closed_form`, they contain symbols for integrals.
    numbers
        Whether the list includes the numerical values of symbols for numbers.
    digits
        Significant digits of values and coefficients.
    letters
        Notation of the symbols. ``korayem`` writes amplitudes as delta, shapes as phi, and the mass
        per length as mu; ``theodore`` writes them as xi, psi and rho A, and nodal coordinates of
        finite elements as delta and phi; ``chu`` writes joint coordinates as p, and nodal
        coordinates of planar finite elements as u.

    Raises
    ------
    FlexarmError
        If ``letters`` is unknown, or has no symbol for a coordinate.
    """
    if not isinstance(letters, str) or letters not in OTHERS:
        raise refused("letters", letters, f"one of {', '.join(OTHERS)}")
    coordinates = equations.generators[: len(equations.names)]
    symbols = [
        rf"{generator.latex} &\quad \text{{{_escaped(name)}}} \\"
        for generator, name in zip(coordinates, equations.names, strict=True)
    ]
    used_indices = _generators_in(equations, [entry for row in _rows(equations) for entry in row])
    for place, generator in enumerate(equations.generators):
        if generator.kind == "number" and place in used_indices:
            value = rf" = {_latex_number(equations.values[generator.latex], digits)}" * numbers
            symbols.append(rf"{generator.latex} &\quad {generator.about}{value} \\")
    sections: dict[str, dict[str, str]] = {"": {}}
    for left, text in _latex_lines(equations, digits):
        letter = next((x for x in HEADINGS if left.startswith(f"{_vector(x)}_{{")), "")
        sections.setdefault(letter, {})[left] = text
    shown = [x for x in HEADINGS if x in sections]
    vector = ",\\ ".join(generator.latex for generator in coordinates)
    total = " + ".join({"M": r"M \ddot q", "K": "K q"}.get(x, _vector(x)) for x in shown)
    parts = [
        r"\documentclass{article}", r"\usepackage{amsmath}", r"\usepackage[margin=2cm]{geometry}",
        r"\allowdisplaybreaks", r"\begin{document}", rf"\section*{{{_escaped(equations.arm)}}}",
        rf"\[ {total} = B u, \qquad", rf"q = ({vector})^T \]",
        r"\subsection*{Symbols}", *_aligned([*symbols, *_lines(sections[""])]),
    ]  # fmt: skip
    for letter in shown:
        entries = sections[letter]
        parts.append(rf"\subsection*{{{HEADINGS[letter]}}}")
        if letter in "MK" and len(coordinates) <= WIDEST_MATRIX:
            short = {left for left, text in entries.items() if _width(text) <= SHORT_ENTRY}
            parts += _matrix(len(coordinates), letter, entries, short)
            entries = {left: text for left, text in entries.items() if left not in short}
        parts += _aligned(_lines(entries))
    text = "\n".join([*parts, r"\end{document}", ""])
    for letter, replacement in OTHERS[letters].items():
        text = text.replace(letter, replacement)
    if letters != "korayem":
        for generator, name in zip(coordinates, equations.names, strict=True):
            text = text.replace(*_at_nodes(generator.latex, name, letters))
    return text


def _vector(letter: str) -> str:
    """Return the LaTeX letter of a matrix or vector; k is reserved for stiffness coefficients."""
    return "f" if letter == "k" else letter


def _lines(entries: dict[str, str]) -> list[str]:
    """Return left and right sides as lines of an aligned display."""
    return [rf"{left} &= {_latex_rows(text)} \\" for left, text in entries.items()]


def _aligned(lines: list[str]) -> list[str]:
    """Return lines as a display aligned at ``&``; an empty list without lines."""
    if not lines:
        return []
    return [r"\begin{align*}", *lines[:-1], lines[-1].removesuffix(r" \\"), r"\end{align*}"]


def _matrix(n: int, letter: str, entries: dict[str, str], short: set[str]) -> list[str]:
    """Return a symmetric matrix as a display that shows short entries and names of long ones."""

    def cell(i: int, j: int) -> str:
        left = f"{letter}_{{{min(i, j) + 1},{max(i, j) + 1}}}"
        return entries[left] if left in short else left if left in entries else "0"

    rows = [" & ".join(cell(i, j) for j in range(n)) for i in range(n)]
    return [rf"\[ {letter} = \begin{{pmatrix}}", " \\\\\n".join(rows), r"\end{pmatrix} \]"]


def _width(text: str) -> float:
    """Return the width of LaTeX text in letters, digits of indices counting less."""
    letters = re.sub(r"\\[a-zA-Z]+", "x", re.sub(r"\\(sin|cos)", "xxx", text))
    return sum(0.7 if x.isdigit() else 1.0 for x in letters if x.isalnum())


def _at_nodes(latex: str, name: str, letters: str) -> tuple[str, str]:
    """Return a coordinate's LaTeX symbol, and its replacement in a paper's nodal notation."""
    node, joint = NODAL.search(name), re.fullmatch(r"q_\{(\d+)\}", latex)
    elastic = re.fullmatch(r"\\delta_\{(\d+?)(?:,\d+|\d)\}", latex)
    if letters == "theodore":
        symbol = latex.replace(r"\delta", r"\xi")
        if node is None or elastic is None:
            return symbol, symbol
        letter, direction = r"\phi" if node[2] else r"\delta", "v" if node[3] == "y" else "w"
        return symbol, rf"{letter}^{{{direction}_{{{elastic[1]}}}}}_{{{int(node[1]) + 1}}}"
    if joint is not None:
        return latex, rf"p_{{{joint[1]}}}"
    if node is None or node[3] != "y" or elastic is None:
        raise FlexarmError(
            f"letters: the letters of Chu's paper have none for {name}. They cover planar links "
            "of elements on rigid joints."
        )
    return latex, rf"u_{{({elastic[1]}){2 * int(node[1]) + (2 if node[2] else 1)}}}"


def _latex_lines(equations: Equations, digits: int) -> Iterator[tuple[str, str]]:
    """Iterate over left and right sides in LaTeX: definitions, then matrix and vector entries."""
    equations = rounded(equations, PRINTED_TERM / 10**digits)
    generators = equations.generators

    def write(polynomial: Polynomial) -> str:
        terms = [_latex_term(generators, powers, x, digits, fractions=bool(equations.values))
                 for powers, x in polynomial.items()]  # fmt: skip
        return " ".join(terms).removeprefix("+ ") or "0"

    definitions = dict(_definitions(equations, write))
    if _has_entire(equations, definitions):
        yield r"\mathsf{c}_k(x)", r"\sum_{n \ge 0} \frac{(-x)^n}{(2n + k)!}"
    for generator in generators:
        if generator.name not in definitions or generator.latex.startswith("("):
            continue
        if generator.kind == "arctangent":
            yield generator.latex, rf"2 \arctan\bigl({write(generator.of)}\bigr)"
        elif generator.kind == "inverse":
            yield generator.latex, rf"\Bigl({write(generator.of)}\Bigr)^{{-1}}"
        elif generator.kind == "entire":
            yield (
                generator.latex,
                rf"\mathsf{{c}}_{generator.order}\bigl({write(generator.of)}\bigr)",
            )
        elif generator.kind in ("sum", "part"):
            meaning = rf" \quad \text{{({generator.about})}}" if generator.about else ""
            yield generator.latex, f"{write(generator.of)}{meaning}"
    for symbol, entries in _entries(equations, write, (r"\, \bigl(", r"\bigr)")):
        for place, text in entries:
            yield rf"{_vector(symbol)}_{{{place}}}", text


def _escaped(text: str) -> str:
    """Return a name as ASCII text with the special characters of TeX escaped."""
    escapes = {character: f"\\{character}{{}}" for character in "^~"} | {
        character: f"\\{character}" for character in "&%$#_{}"
    }
    return "".join(escapes.get(character, character) for character in plain_title(text))


def _latex_rows(text: str) -> str:
    """Return a LaTeX sum broken before plus and minus signs into lines of limited width."""
    rows, room = [""], float(LATEX_WIDTH)
    for word in text.replace(" + ", "\n+ ").replace(" - ", "\n- ").split("\n"):
        width = 1.0 + _width(word)
        if width > room and rows[-1]:
            rows, room = [*rows, ""], float(LATEX_WIDTH)
        rows[-1], room = f"{rows[-1]} {word}".lstrip(), room - width
    return "\n  \\\\ &\\quad ".join(rows)


def as_python(equations: Equations) -> str:
    """Return equations as source code of a Python module over NumPy, with all digits."""
    generators, n = equations.generators, len(equations.names)
    write, meaning = _plain(generators, digits=17), _meanings(equations)
    lines = ['"""Equation of motion of an arm: M a + h + c + K q + k = B u."""', ""]
    spatial = any(g.kind == "entire" for g in generators)
    bent = any(g.kind == "arctangent" for g in generators)
    lines += [f"from math import {'atan, ' if bent else ''}cos, "
              f"{'factorial, ' if spatial else ''}sin", ""]  # fmt: skip
    lines += ["import numpy as np", ""]
    lines += [f"ARM = {equations.arm!a}", f"NAMES = {list(equations.names)!a}"]
    lines += ENTIRE if spatial else ()
    functions = (
        ("M", "mass_matrix", "Mass matrix", ["q"], [p for row in equations.M for p in row]),
        ("h", "coriolis", "Coriolis and centrifugal forces", ["q", "v"], list(equations.h)),
        ("c", "gravity", "Forces of gravity", ["q"], list(equations.c)),
        ("K", "stiffness", "Stiffness matrix", ["q"], [p for row in equations.K for p in row]),
        ("k", "further", "Elastic forces that K q leaves out", ["q"], list(equations.k)),
    )
    for symbol, name, description, arguments, entries in functions:
        shape = f"({n}, {n})" if len(entries) == n * n and symbol in "MK" else str(n)
        lines += [
            "",
            "",
            f"def {name}({', '.join(arguments)}):",
            f'    """{description} {symbol}."""',
        ]
        for argument in arguments:
            start = 0 if argument == "q" else n
            names = ", ".join(g.name for g in generators[start : start + n])
            lines.append(f"    {names}{',' if n == 1 else ''} = {argument}")
        for left, right in _definitions_for(equations, entries, write):
            comment = f"  # {meaning[left]}" if left in meaning else ""
            lines.append(f"    {left} = {right}{comment}")
        lines.append(f"    {symbol} = np.zeros({shape})")
        for place, entry in enumerate(entries):
            if not entry:
                continue
            position = f"{place // n}, {place % n}" if symbol in "MK" else str(place)
            if symbol in "MK" and place % n < place // n:
                lines.append(f"    {symbol}[{position}] = {symbol}[{place % n}, {place // n}]")
            else:
                lines.append(f"    {symbol}[{position}] = {_by_rates(equations, entry, write)}")
        lines.append(f"    return {symbol}")
    return "\n".join(lines) + "\n"


def as_document(equations: Equations) -> dict[str, object]:
    """Return equations as a JSON-like dictionary with expressions in Python syntax."""
    write = _plain(equations.generators, digits=17)
    definitions, meaning = dict(_definitions(equations, write)), _meanings(equations)
    return {
        "arm": equations.arm,
        "coordinates": list(equations.names),
        "symbols": [g.name for g in equations.generators[: len(equations.names)]],
        "definitions": definitions,
        "meanings": {name: meaning[name] for name in definitions if name in meaning},
        "terms": equations.terms,
        "M": [[write(entry) for entry in row] for row in equations.M],
        "h": [_by_rates(equations, entry, write) for entry in equations.h],
        "c": [write(entry) for entry in equations.c],
        "K": [[write(entry) for entry in row] for row in equations.K],
        "k": [write(entry) for entry in equations.k],
    }


def _entries(
    equations: Equations, write: Write, bracket: tuple[str, str] = PLAIN
) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Iterate over M, h, c, K and k with their nonzero entries: index, counted from 1, and text."""

    def matrix(entries: Matrix) -> list[tuple[str, str]]:
        return [
            (f"{i + 1},{j + 1}", write(row[j]))
            for i, row in enumerate(entries)
            for j in range(i, len(row))
            if row[j]
        ]

    def vector(entries: Vector) -> list[tuple[str, str]]:
        return [
            (str(i + 1), _by_rates(equations, entry, write, bracket))
            for i, entry in enumerate(entries)
            if entry
        ]

    yield "M", matrix(equations.M)
    yield "h", vector(equations.h)
    yield "c", vector(equations.c)
    yield "K", matrix(equations.K)
    if any(equations.k):
        yield "k", vector(equations.k)


def _by_rates(
    equations: Equations, entry: Polynomial, write: Write, bracket: tuple[str, str] = PLAIN
) -> str:
    """Return a polynomial as text, with terms grouped by their products of coordinate rates."""
    n = len(equations.names)
    groups: dict[Monomial, Polynomial] = {}
    for powers, x in entry.items():
        rates = tuple(p for p in powers if n <= p[0] < 2 * n)
        groups.setdefault(rates, {})[tuple(p for p in powers if p not in rates)] = x
    parts = []
    for rates, factor in groups.items():
        if len(factor) == 1 or not rates:
            parts.append(write({tuple(sorted(rates + powers)): x for powers, x in factor.items()}))
        else:
            parts.append(write({rates: 1.0}) + bracket[0] + write(factor) + bracket[1])
    return " + ".join(parts).replace("+ -", "- ") or "0"


def _has_entire(equations: Equations, definitions: dict[str, str]) -> bool:
    """Return whether any definition in use is an entire function c_k."""
    return any(g.kind == "entire" and g.name in definitions for g in equations.generators)


def _meanings(equations: Equations) -> dict[str, str]:
    """Return descriptions by name, for generators that have a description."""
    return {g.name: g.about for g in equations.generators if g.about}


def _definitions(equations: Equations, write: Write) -> Iterator[tuple[str, str]]:
    """Iterate over names and formatted definitions of all generators that the equations use."""
    yield from _definitions_for(
        equations, [entry for row in _rows(equations) for entry in row], write
    )


def _rows(equations: Equations) -> tuple[Vector, ...]:
    return (*equations.M, equations.h, equations.c, *equations.K, equations.k)


def _generators_in(equations: Equations, entries: list[Polynomial]) -> set[int]:
    """Return the indices of the generators that occur in entries, directly or in definitions."""
    used = {g for entry in entries for powers in entry for g, _ in powers}
    for place in range(len(equations.generators) - 1, -1, -1):
        if place in used:
            used |= {g for powers in equations.generators[place].of for g, _ in powers}
    return used


def _definitions_for(
    equations: Equations, entries: list[Polynomial], write: Write
) -> Iterator[tuple[str, str]]:
    """Iterate over names and formatted definitions of the generators in given entries."""
    used_indices = _generators_in(equations, entries)
    for place, generator in enumerate(equations.generators):
        if place not in used_indices:
            continue
        if generator.kind in ("sine", "cosine"):
            yield generator.name, f"{generator.kind[:3]}({write(generator.of)})"
        elif generator.kind == "arctangent":
            yield generator.name, f"2 * atan({write(generator.of)})"
        elif generator.kind == "inverse":
            yield generator.name, f"1 / ({write(generator.of)})"
        elif generator.kind == "entire":
            yield generator.name, f"entire({generator.order}, {write(generator.of)})"
        elif generator.kind in ("sum", "part"):
            yield generator.name, write(generator.of)


def _plain(generators: tuple[Generator, ...], *, digits: int) -> Write:
    def write(polynomial: Polynomial) -> str:
        text = ""
        for powers, x in polynomial.items():
            number = _number(abs(x), digits)
            factors = [_power(generators[g].name, p) for g, p in powers]
            if number != "1" or not factors:
                factors.insert(0, number)
            sign = " - " if x < 0 else " + "
            text += sign + "*".join(factors)
        return (text[3:] if text.startswith(" + ") else text.replace(" - ", "-", 1)) or "0"

    return write


def _number(x: float, digits: int) -> str:
    return repr(x).removesuffix(".0") if digits >= 17 else f"{x * (1 + ROUNDING_UP):.{digits}g}"


def _power(name: str, power: int) -> str:
    return name if power == 1 else f"{name}**{power}" if power > 0 else f"{name}**({power})"


def _latex_term(
    generators: tuple[Generator, ...], powers: Monomial, x: float, digits: int, *, fractions: bool
) -> str:
    number, factors = _latex_number(abs(x), digits), []
    fraction = Fraction(abs(x)).limit_denominator(DENOMINATOR)
    if fractions and fraction.denominator > 1 and abs(abs(x) / fraction - 1) < COUNTED_TERM:
        number = rf"\tfrac{{{fraction.numerator}}}{{{fraction.denominator}}}"
    for g, p in sorted(powers, key=lambda power: generators[power[0]].kind != "number"):
        symbol = generators[g].latex
        if p != 1:
            is_trigonometric = generators[g].kind in ("sine", "cosine")
            symbol = (
                symbol.replace(" ", f"^{{{p}}} ", 1)
                if is_trigonometric
                # an empty group separates an accented letter from its superscript
                else rf"{{{symbol}{'{}' * (generators[g].kind == 'rate')}}}^{{{p}}}"
            )
        factors.append(symbol)
    if number != "1" or not factors:
        factors.insert(0, number)
    return ("- " if x < 0 else "+ ") + r"\, ".join(factors)


def _latex_number(x: float, digits: int) -> str:
    number, _, exponent = _number(x, digits).partition("e")
    return number + rf" \cdot 10^{{{int(exponent)}}}" if exponent else number


def _text_lines(head: str, text: str) -> Iterator[str]:
    """Iterate over lines of at most ``TEXT_WIDTH`` characters, with a sum broken before signs."""
    line = head
    for word in text.replace(" + ", "\n+ ").replace(" - ", "\n- ").split("\n"):
        if len(line) + len(word) + 1 > TEXT_WIDTH and line != head:
            yield line.rstrip()
            line = "      "
        line += word + " "
    yield line.rstrip()
