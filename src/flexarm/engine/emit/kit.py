"""Features of a target that LLVM code may use, and the support functions that the code calls."""

from dataclasses import dataclass

from flexarm.engine.emit import own
from flexarm.engine.emit.keep import ThreadMemory
from flexarm.engine.emit.llvm_text import number, vector
from flexarm.engine.emit.sincos import NAME as SINCOS
from flexarm.engine.emit.sincos import sincos
from flexarm.engine.emit.thread import RECIPROCAL
from flexarm.engine.stream import BINARY
from flexarm.errors import FlexarmError

INTRINSICS = {
    "sqrt": "sqrt",
    "fabs": "fabs",
    "floor": "floor",
    "ceil": "ceil",
    "copysign": "copysign",
    "fmin": "min",
    "fmax": "max",
}


@dataclass(frozen=True)
class Dialect:
    """Features of a target that emitted code may use."""

    # Whether products and sums may become fused multiply-adds, rounded once.
    fused: bool = True
    libm: bool = True  # whether the target has a C library; else its functions are emitted
    # Suffix of LLVM's names of fmin and fmax: "num" for those of the C library, "imum" for a target
    # that instead has instructions for them, which return NaN if an operand is NaN.
    extremes: str = "num"
    # On a GPU: registers and memory for values; if None, LLVM or the driver allocates registers.
    room: ThreadMemory | None = None


PROCESSOR = Dialect()
BARE = Dialect(fused=False, libm=False, extremes="imum")


class SupportCode:
    """LLVM types and constants for a number of lanes, and the support functions in use."""

    def __init__(self, width: int, dialect: Dialect) -> None:
        self.width = width
        self.dialect = dialect
        self.real = vector("double", width)
        contract = " contract" if dialect.fused else ""
        self.arithmetic = {
            op: f"f{op}{contract} {self.real}" for op in ("add", "sub", "mul", "div")
        }
        self.truth = vector("i1", width)
        self.zero, self.one, self.minus_one = (number(x, width) for x in (0.0, 1.0, -1.0))
        self._needed = {"fabs"}

    def intrinsic(self, op: str) -> str:
        """Return the name of the LLVM intrinsic function of an operation."""
        self._needed.add(op)
        name = INTRINSICS[op] + (self.dialect.extremes if op in ("fmin", "fmax") else "")
        return f"llvm.{name}.{'f64' if self.width == 1 else f'v{self.width}f64'}"

    def need(self, name: str) -> None:
        """Record that a C library function or a support function is called."""
        self._needed.add(name)

    def call_of(self, name: str) -> str:
        """Return the name of the function to call, lane by lane, for a C library function.

        Raises
        ------
        FlexarmError
            If neither the target nor flexarm has the function.
        """
        if not self.dialect.libm and name not in own.TAKEN:
            raise FlexarmError(
                f"function '{name}': this target has no mathematical library, and flexarm has "
                f"code of its own only for {', '.join(own.TAKEN)}, sin, cos and tan"
            )
        self._needed.add(name)
        return name if self.dialect.libm else f"{own.PREFIX}{name}"

    def support(self) -> str:
        """Return the LLVM code of the recorded functions."""
        lines = []
        names = self._needed
        if "sincos" in names and self.dialect.libm:
            names = names | {"sin", "cos"}
        emitted = own.needed(names & own.TAKEN.keys()) if not self.dialect.libm else []
        if emitted:
            for name in own.INTRINSICS:
                if self.width > 1 or name not in names:
                    types = ", ".join(["double"] * (2 if name in BINARY else 1))
                    lines.append(f"declare double @llvm.{name}.f64({types})")
            lines += [own.own_function(name) for name in emitted]
        for name in sorted(names - {"sincos", "fill", "reciprocal", *emitted}):
            arguments = 2 if name in BINARY else 1
            if name in INTRINSICS:
                types = ", ".join([self.real] * arguments)
                lines.append(f"declare {self.real} @{self.intrinsic(name)}({types})")
            else:
                lines.append(f"declare double @{name}({', '.join(['double'] * arguments)})")
        if "sincos" in names:
            lines.append(sincos(self.width, libm=self.dialect.libm, fused=self.dialect.fused))
        if "reciprocal" in names:
            lines.append(RECIPROCAL)
        if "fill" in names:
            lines.append(self._fill())
        return "\n".join(lines)

    def _fill(self) -> str:
        # An explicit loop, since LLVM's memset would call the C library.
        return f"""define internal void @flexarm.fill(ptr %to, i64 %n, {self.real} %x) nounwind {{
entry:
br label %loop
loop:
%k = phi i64 [0, %entry], [%next, %loop]
%place = getelementptr {self.real}, ptr %to, i64 %k
store {self.real} %x, ptr %place, align 8
%next = add i64 %k, 1
%more = icmp ult i64 %next, %n
br i1 %more, label %loop, label %done
done:
ret void
}}"""


def library(names: tuple[str, ...]) -> str:
    """Return LLVM definitions of the C library's functions, under the library's names.

    Targets without a C library need these definitions.
    """
    kit, lines = SupportCode(1, BARE), []
    for name in names:
        count = 2 if name in BINARY else 1
        parameters = ", ".join(f"double %x{k}" for k in range(count))
        lines.append(f"define double @{name}({parameters}) nounwind {{")
        if name in ("sin", "cos"):
            kit.need("sincos")
            lines.append(f"%both = call {{ double, double }} @{SINCOS}({parameters})")
            lines.append(
                f"%y = extractvalue {{ double, double }} %both, {('sin', 'cos').index(name)}"
            )
        else:
            lines.append(f"%y = call double @{kit.call_of(name)}({parameters})")
        lines.append("ret double %y\n}")
    return "\n".join([kit.support(), *lines])
