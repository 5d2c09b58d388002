"""Random programs in the language of kernels.

Indices, divisors and what functions of `math` take are guarded where Python would raise; ints stay
small, so that Python's unbounded ones are those of 64 bits.  Plain programs are those that can be
printed in C: a call that changes something stands alone, and views have no names.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

import numpy as np

from flexarm.loops.language import Array, Ints, Record

LENGTH = 8
INTS, FLOATS = ("i0", "i1", "i2", "i"), ("x0", "x1", "x2", "x")
NUMBERS = ("0.0", "-0.0", "1.5", "-2.25", "1e-310", "1e300", "-1e9", "0.1", "3.0", "RATIO")
PRELUDE = """\
@kernel
def tick(s: State, i: int) -> int:
    s.inner.count = max(-9999, min(s.inner.count + 3 * i, 9999))
    return i


@kernel
def tock(s: State, x: float, sign: int) -> float:
    s.inner.count = max(-9999, min(s.inner.count - 5 * sign, 9999))
    if sign < 0:
        return -x
    return x


@kernel
def spread(s: State, values: Array, i: int) -> None:
    for k in range(3, -1, -1):
        if not values[k] <= s.x:
            continue
        values[k] += i if k > 1 else -i
"""


@dataclass
class Inner(Record):
    """A record within another."""

    count: int
    level: float
    values: Array


@dataclass
class State(Record):
    """What every program reads and writes."""

    inner: Inner
    n: int
    x: float
    marks: Ints


def state(rng: np.random.Generator) -> State:
    """Make a random state."""
    inner = Inner(int(rng.integers(-9, 9)), float(rng.normal()), numbers(rng))
    marks = rng.integers(-20, 20, LENGTH)
    return State(inner, int(rng.integers(-9, 9)), float(rng.normal()), marks)


def numbers(rng: np.random.Generator) -> Array:
    """Make a random array, not all of it ordinary."""
    values = np.round(rng.normal(size=LENGTH) * 4.0, 1)
    odd = rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e308], LENGTH)
    return np.where(rng.random(LENGTH) < 0.2, odd, values)


def program(seed: int, *, plain: bool = False) -> str:
    """Write a program: `main`, two kernels that it calls, and the prelude."""
    rng = Random(seed)
    parts = [PRELUDE]
    for name, result in (("helped", "int"), ("weighed", "float"), ("main", "float")):
        calls = ("helped", "weighed") if name == "main" else ()
        parts.append(_Writer(rng, calls, result, plain).kernel(name))
    return "\n\n".join(parts)


@dataclass
class _Writer:
    rng: Random
    calls: tuple[str, ...]
    result: str
    plain: bool
    lines: list[str] = field(default_factory=list)
    loops: int = 0

    def kernel(self, name: str) -> str:
        self.lines += [
            "@kernel",
            f"def {name}(s: State, a: Array, b: Ints, i: int, x: float) -> {self.result}:",
        ]
        for k in range(3):
            self.line(1, f"i{k} = {self.rng.randint(-9, 9)}")
            self.line(1, f"x{k} = {self.rng.choice(NUMBERS)}")
        self.line(1, "p = i < 0")
        if not self.plain:
            self.line(1, f"w = a[{self.rng.randrange(4)}:]")
        self.block(1, self.rng.randint(4, 7))
        self.line(1, f"return {self.returned()}")
        return "\n".join(self.lines) + "\n"

    def returned(self) -> str:
        return clamped(self.whole(2), -1009, 1009) if self.result == "int" else self.real(2)

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def block(self, depth: int, count: int) -> None:
        kinds: list[Callable[[int], None]] = [
            self.assign, self.assign, self.augment, self.element, self.exchange, self.array,
            self.call, self.branch, self.branch, self.count, self.repeat,
        ]  # fmt: skip
        for _ in range(count):
            self.rng.choice(kinds if depth < 4 else kinds[:7])(depth)

    def assign(self, depth: int) -> None:
        kind = self.rng.randrange(5)
        if kind < 2:
            self.line(depth, f"{self.rng.choice(INTS)} = {self.small()}")
        elif kind < 4:
            self.line(depth, f"{self.rng.choice(FLOATS)} = {self.real(3)}")
        else:
            self.line(depth, f"p = {self.condition(2)}")

    def augment(self, depth: int) -> None:
        if self.rng.random() < 0.5:
            change = clamped(self.whole(1), -89, 97)
            self.line(depth, f"{self.rng.choice(INTS)} {self.rng.choice('+-')}= {change}")
        else:
            self.line(depth, f"{self.rng.choice(FLOATS)} {self.rng.choice('+-*')}= {self.real(2)}")

    def element(self, depth: int) -> None:
        view = "a" if self.plain else "w"
        places = (f"a[{self.index()}]", f"{view}[{clamped(self.whole(1), 0, 3)}]", "s.x")
        place = self.rng.choice(places)
        if self.rng.random() < 0.3:
            self.line(depth, f"b[{self.index()}] = {self.small()}")
        elif self.rng.random() < 0.4:
            self.line(depth, f"{place} {self.rng.choice('+-*')}= {self.real(2)}")
        else:
            self.line(depth, f"{place} = {self.real(3)}")

    def exchange(self, depth: int) -> None:
        one, other = f"a[{self.index()}]", f"s.inner.values[{self.index()}]"
        self.line(depth, f"{one}, {other} = {other}, {one}")

    def array(self, depth: int) -> None:
        name = f"few{depth}"
        self.line(depth, f"{name} = floats(3)")
        self.line(depth, f"for j{depth} in range(3):")
        self.line(depth + 1, f"{name}[j{depth}] += {self.real(1)}")
        self.line(depth, f"a[{self.index()}] = {name}[2]")

    def call(self, depth: int) -> None:
        name, number = self.rng.choice(INTS[:3]), self.rng.choice(FLOATS[:3])
        start, what = self.rng.randrange(5), self.rng.choice(("a", "s.inner.values"))
        if not self.plain:
            what = self.rng.choice((what, "(a if p else s.inner.values)"))
        calls = [
            f"spread(s, {what}[{start}:], {self.small()})",
            f"{name} = tick(s, {self.small()})", f"{number} = tock(s, {self.real(2)}, -1)",
            *(f"{name} = {each}" for each in self.help("helped", 2)),
            *(f"{number} = {each}" for each in self.help("weighed", 2)),
        ]  # fmt: skip
        self.line(depth, self.rng.choice(calls))

    def branch(self, depth: int) -> None:
        self.line(depth, f"if {self.condition(3)}:")
        self.block(depth + 1, self.rng.randint(1, 2))
        if self.rng.random() < 0.4:
            self.line(depth, f"elif {self.condition(2)}:")
            self.block(depth + 1, 1)
            if self.rng.random() < 0.2:
                self.line(depth + 1, f"return {self.returned()}")
        if self.rng.random() < 0.6:
            self.line(depth, "else:")
            self.block(depth + 1, 1)
            if self.loops and self.rng.random() < 0.5:
                self.line(depth + 1, self.rng.choice(("break", "continue")))

    def count(self, depth: int) -> None:
        name = f"k{depth}"
        step = self.rng.choice(("1", "2", "-1", "-3", "5"))
        limits = f"{clamped(self.whole(1), -7, 7)}, {clamped(self.whole(1), -7, 7)}"
        one = clamped(self.whole(1), 0, 5)
        text = self.rng.choice((one, limits, f"{limits}, {step}", f"{limits}, {step}"))
        self.line(depth, f"for {name} in range({text}):")
        self.inside(depth)

    def repeat(self, depth: int) -> None:
        counter = f"r{depth}"
        self.line(depth, f"{counter} = 0")
        start = self.rng.choice(
            ("while {c} < 8 and a[{c}] {o} {x}:", "while {c} < 5:", "while True:", "while 6 - {c}:")
        )
        less = self.rng.choice(("<", "<=", "!=", ">"))
        self.line(depth, start.format(c=counter, x=self.real(1), o=less))
        self.line(depth + 1, f"{counter} += 1")
        if start == "while True:":
            self.line(depth + 1, f"if {counter} > 5 or {self.condition(1)}:")
            self.line(depth + 2, "break")
        self.inside(depth)

    def inside(self, depth: int) -> None:
        self.loops += 1
        self.block(depth + 1, self.rng.randint(1, 2))
        self.loops -= 1

    def index(self) -> str:
        if not self.plain and self.rng.random() < 0.5:
            return clamped(f"tick(s, {self.whole(1)})", 0, 7)
        return clamped(self.whole(1), 0, 7)

    def small(self) -> str:
        low, high = self.rng.choice(((-4, 8), (-4, 6), (-500, 500)))
        kind = self.rng.choice(("{}", "{}", "max({}, 0) % 17"))
        return clamped(kind.format(self.whole(3)), low, high)

    def whole(self, depth: int) -> str:
        """Write an int."""
        leaves = (
            self.rng.choice(INTS), self.rng.choice(INTS), str(self.rng.randint(-9, 9)), "LIMIT",
            "s.n", "s.inner.count", f"s.marks[{self.rng.randrange(LENGTH)}]",
        )  # fmt: skip
        if depth == 0 or self.rng.random() < 0.25:
            return self.rng.choice(leaves)
        one, other = self.whole(depth - 1), self.whole(depth - 1)
        name, divisor = self.rng.choice(INTS), self.rng.choice((1, 2, 3, 8, 10))
        forms = [
            f"({one} + {other})", f"({one} - {other})", f"(-({one}))",
            f"({clamped(one, -1009, 1009)} * {clamped(other, -1013, 1013)})",
            f"(max({one}, 0) % {divisor})",
            f"(max({one}, 0) % {name} if {name} > 0 else {other})",
            f"(b[{name}] if 0 <= {name} < {LENGTH} else {other})",
            f"({one} if {self.condition(depth - 1)} else {other})",
            f"min({one}, {other})", f"max({one}, {other}, 3)",
            self.truncated("int", depth), self.truncated("math.floor", depth),
            *self.acting(
                f"({one} if {self.condition(depth - 1)} else tick(s, {other}))",
                f"(tick(s, {one}) if {self.condition(depth - 1)} else {other})",
                f"tick(s, {one})", *self.help("helped", depth),
            ),
        ]  # fmt: skip
        return self.rng.choice(forms)

    def acting(self, *forms: str) -> list[str]:
        """List expressions that change something, if they may stand beside others."""
        return [] if self.plain else [*forms]

    def truncated(self, function: str, depth: int) -> str:
        name = self.rng.choice(FLOATS)
        factor = self.rng.choice(("", " * 0.3", " - 0.5"))
        return f"({function}({name}{factor}) if abs({name}) < 1e6 else {self.whole(depth - 1)})"

    def help(self, name: str, depth: int) -> list[str]:
        if name not in self.calls:
            return []
        given = f"{clamped(self.whole(depth - 1), -5, 5)}, {self.real(depth - 1)}"
        array = self.rng.choice(("a", "s.inner.values"))
        return [f"{name}(s, {array}, s.marks, {given})"]

    def real(self, depth: int) -> str:
        """Write a float."""
        leaves = (
            self.rng.choice(FLOATS), self.rng.choice(FLOATS), self.rng.choice(NUMBERS),
            "s.x", "s.inner.level", f"a[{self.rng.randrange(LENGTH)}]",
        )  # fmt: skip
        if depth == 0 or self.rng.random() < 0.2:
            return self.rng.choice(leaves)
        one, other = self.real(depth - 1), self.real(depth - 1)
        name, whole = self.rng.choice(FLOATS), self.rng.choice(INTS)
        forms = [
            f"({one} + {other})", f"({one} - {other})", f"({one} * {other})", f"(-({one}))",
            f"({one} * {self.whole(depth - 1)})", f"({self.whole(depth - 1)} - {one})",
            f"({one} / {name} if {name} != 0.0 else {other})", f"({one} / (abs({other}) + 1.0))",
            f"({self.whole(depth - 1)} / {whole} if {whole} != 0 else {other})",
            f"(a[{whole}] if 0 <= {whole} < {LENGTH} else {other})",
            f"({one} if {self.condition(depth - 1)} else {other})",
            f"abs({one})", f"min({one}, {other})", f"max({one}, {other}, 1.0)",
            f"float({self.whole(depth - 1)})",
            f"math.sqrt(abs({one}))", f"math.sin({name} if math.isfinite({name}) else 0.5)",
            f"math.exp(min({one}, 9.0))",
            f"math.pow(min(abs({one}), 9.0), {self.rng.choice(('2.0', '0.5', '1.5'))})",
            f"math.pow(2.0, min({one}, 9.0))",
            *self.acting(
                f"({one} if {self.condition(depth - 1)} else tock(s, {other}, 1))",
                f"(tock(s, {one}, 2) if {self.condition(depth - 1)} else {other})",
                f"tock(s, {one}, {self.rng.choice((-1, 1))})", *self.help("weighed", depth),
            ),
        ]  # fmt: skip
        return self.rng.choice(forms)

    def condition(self, depth: int) -> str:
        """Write a bool."""
        less, equal = self.rng.choice(("<", "<=", ">", ">=")), self.rng.choice(("==", "!="))
        below = max(depth - 1, 0)
        one, other, third = (self.whole(below) for _ in range(3))
        forms = [
            f"{one} {less} {other}", f"{one} {equal} {other}",
            f"{self.real(below)} {less} {self.real(below)}",
            f"{self.real(below)} {equal} {self.real(below)}",
            f"{one} {less} {self.real(below)}", f"{one} {less} {other} {equal} {third}",
            f"-1.0 < {self.real(below)} {less} {self.real(below)} <= 2.5",
            f"math.isfinite({self.real(below)})", "True", "p",
            *self.acting(f"{one} {less} tick(s, {other}) {equal} {third}"),
        ]  # fmt: skip
        if depth > 0:
            first, second = self.condition(below), self.condition(below)
            forms += [f"{first} and {second}", f"{first} or {second}", f"not {first}"] * 2
        return f"({self.rng.choice(forms)})"


def clamped(value: str, low: int, high: int) -> str:
    """Write an int within bounds."""
    return f"max({low}, min({value}, {high}))"
