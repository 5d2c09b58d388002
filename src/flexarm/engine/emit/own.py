"""Functions of the C library (exp, log, pow, ...) as LLVM code, for targets without one.

Notes
-----
The functions are accurate to a few units in the last place. The exponential function is a power
series, after reduction by a power of two. The logarithm is the series of the inverse hyperbolic
tangent, and the arc tangent is a series after two argument reductions. All other functions are
computed from these three. A power x^y is computed as the exponential of y ln x, and loses as many
digits as this product has before the decimal point.
"""

import math
import struct
from itertools import count

from flexarm.engine.emit.sincos import ROUNDER

PREFIX = "flexarm.own."
LN2_HIGH = float.fromhex("0x1.62e42feep-1")  # 21 low bits are 0: exact times an exponent
LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")
TAKEN = {  # functions of this module that each function calls
    "exp": (),
    "expm1": ("exp",),
    "log": (),
    "log1p": ("log",),
    "pow": ("exp", "log"),
    "tanh": ("expm1",),
    "sinh": ("expm1", "exp"),
    "cosh": ("exp",),
    "atan": (),
    "atan2": ("atan",),
    "asin": ("atan2",),
    "acos": ("atan2",),
    "asinh": ("log1p",),
    "acosh": ("log",),
    "atanh": ("log1p",),
    "hypot": (),
}
INTRINSICS = ("fabs", "copysign", "sqrt", "floor")


def needed(names: set[str]) -> list[str]:
    """Return the named functions and all functions that they call, sorted by name."""
    required: set[str] = set()
    pending = list(names)
    while pending:
        name = pending.pop()
        if name not in required:
            required.add(name)
            pending += TAKEN[name]
    return sorted(required)


def own_function(name: str) -> str:
    """Return LLVM code for a C library function of one or two doubles."""
    body = _NativeFunction()
    arguments = ["%x", "%y"] if name in ("pow", "atan2", "hypot") else ["%x"]
    result = getattr(body, name)(*arguments)
    parameters = ", ".join(f"double {argument}" for argument in arguments)
    lines = "\n".join([*body.lines, f"ret double {result}"])
    return f"define internal double @{PREFIX}{name}({parameters}) noinline nounwind {{\n{lines}\n}}"


def _bits(value: float) -> int:
    return int(struct.unpack("<q", struct.pack("<d", value))[0])


def _text(value: float | str) -> str:
    return value if isinstance(value, str) else f"0x{_bits(value) & 0xFFFFFFFFFFFFFFFF:016X}"


Value = float | str


class _NativeFunction:
    """LLVM lines of one elementary function; methods such as ``exp`` append lines."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._numbers = count()

    def _write(self, expression: str) -> str:
        name = f"%t{next(self._numbers)}"
        self.lines.append(f"{name} = {expression}")
        return name

    def _real(self, op: str, a: Value, b: Value) -> str:
        return self._write(f"{op} double {_text(a)}, {_text(b)}")

    def _add(self, a: Value, b: Value) -> str:
        return self._real("fadd", a, b)

    def _sub(self, a: Value, b: Value) -> str:
        return self._real("fsub", a, b)

    def _mul(self, a: Value, b: Value) -> str:
        return self._real("fmul", a, b)

    def _div(self, a: Value, b: Value) -> str:
        return self._real("fdiv", a, b)

    def _intrinsic(self, name: str, *values: Value) -> str:
        arguments = ", ".join(f"double {_text(value)}" for value in values)
        return self._write(f"call double @llvm.{name}.f64({arguments})")

    def _call(self, name: str, *values: Value) -> str:
        arguments = ", ".join(f"double {_text(value)}" for value in values)
        return self._write(f"call double @{PREFIX}{name}({arguments})")

    def _if(self, a: Value, predicate: str, b: Value, yes: Value, no: Value) -> str:
        truth = self._write(f"fcmp {predicate} double {_text(a)}, {_text(b)}")
        return self._write(f"select i1 {truth}, double {_text(yes)}, double {_text(no)}")

    def _whole(self, op: str, a: str, b: int | str) -> str:
        return self._write(f"{op} i64 {a}, {b}")

    def _to_bits(self, value: Value) -> str:
        return self._write(f"bitcast double {_text(value)} to i64")

    def _to_real(self, bits: str) -> str:
        return self._write(f"bitcast i64 {bits} to double")

    def _polynomial(self, x: Value, coefficients: list[float]) -> str:
        """Emit the sum ``c_0 + c_1 x + ...`` by Horner's rule; return the name of the result."""
        total = _text(coefficients[-1])
        for coefficient in coefficients[-2::-1]:
            total = self._add(self._mul(total, x), coefficient)
        return total

    def exp(self, x: str) -> str:
        """Emit code for exp(x): reduce by n ln 2, sum the series, multiply by 2^n in two steps."""
        low = self._if(x, "olt", -760.0, -760.0, x)
        x = self._if(low, "ogt", 720.0, 720.0, low)
        marked = self._add(self._mul(x, 1 / math.log(2)), ROUNDER)
        n = self._sub(marked, ROUNDER)
        remainder = self._sub(self._sub(x, self._mul(n, LN2_HIGH)), self._mul(n, LN2_LOW))
        series = self._polynomial(remainder, [1 / math.factorial(k) for k in range(15)])
        power = self._whole("sub", self._to_bits(marked), _bits(ROUNDER))
        half = self._whole("ashr", power, 1)
        for exponent in (half, self._whole("sub", power, half)):
            scale = self._whole("shl", self._whole("add", exponent, 1023), 52)
            series = self._mul(series, self._to_real(scale))
        return series

    def expm1(self, x: str) -> str:
        """Emit code for exp(x) - 1, near 0 by the series without the leading 1."""
        small_x = self._mul(x, self._polynomial(x, [1 / math.factorial(k + 1) for k in range(15)]))
        large_x = self._sub(self._call("exp", x), 1.0)
        return self._if(self._intrinsic("fabs", x), "olt", 0.4, small_x, large_x)

    def log(self, x: str) -> str:
        """Emit code for ln(x): reduce by n ln 2, sum the series of 2 artanh((m - 1)/(m + 1))."""
        tiny = self._write(f"fcmp olt double {x}, {_text(2.0**-1022)}")
        scaled = self._mul(x, 2.0**54)
        y = self._write(f"select i1 {tiny}, double {scaled}, double {x}")
        bits = self._to_bits(y)
        # Scale the mantissa to between sqrt(1/2) and sqrt(2).
        shifted = self._whole("sub", bits, _bits(math.sqrt(0.5)))
        n = self._whole("ashr", shifted, 52)
        mantissa = self._to_real(self._whole("sub", bits, self._whole("shl", n, 52)))
        offset = self._write(f"select i1 {tiny}, i64 -54, i64 0")
        power = self._write(f"sitofp i64 {self._whole('add', n, offset)} to double")
        s = self._div(self._sub(mantissa, 1.0), self._add(mantissa, 1.0))
        z = self._mul(s, s)
        tail = self._mul(self._mul(s, z), self._polynomial(z, [2 / (2 * k + 3) for k in range(11)]))
        low_part = self._add(tail, self._mul(power, LN2_LOW))
        result = self._add(self._mul(power, LN2_HIGH), self._add(self._mul(s, 2.0), low_part))
        result = self._if(x, "oeq", math.inf, math.inf, result)
        result = self._if(x, "oeq", 0.0, -math.inf, result)
        result = self._if(x, "olt", 0.0, math.nan, result)
        return self._if(x, "uno", x, x, result)

    def log1p(self, x: str) -> str:
        """Emit code for ln(1 + x): the logarithm of the rounded sum, corrected for the rounding."""
        u = self._add(x, 1.0)
        result = self._mul(self._call("log", u), self._div(x, self._sub(u, 1.0)))
        result = self._if(u, "oeq", 1.0, x, result)
        return self._if(x, "oeq", math.inf, math.inf, self._if(x, "oeq", -1.0, -math.inf, result))

    def pow(self, x: str, y: str) -> str:
        """Emit code for x^y as exp(y ln |x|), negative if x is negative and y an odd integer."""
        size = self._call("exp", self._mul(y, self._call("log", self._intrinsic("fabs", x))))
        floor_y = self._intrinsic("floor", y)
        halved = self._mul(floor_y, 0.5)
        odd = self._sub(halved, self._intrinsic("floor", halved))
        signed = self._if(odd, "ogt", 0.25, self._intrinsic("copysign", size, x), size)
        negative = self._if(floor_y, "oeq", y, signed, math.nan)
        result = self._if(x, "olt", 0.0, negative, size)
        return self._if(y, "oeq", 0.0, 1.0, self._if(x, "oeq", 1.0, 1.0, result))

    def tanh(self, x: str) -> str:
        """Emit code for the hyperbolic tangent, computed from expm1(2 |x|)."""
        size = self._intrinsic("fabs", x)
        t = self._call("expm1", self._add(size, size))
        result = self._if(size, "ogt", 22.0, 1.0, self._div(t, self._add(t, 2.0)))
        return self._intrinsic("copysign", result, x)

    def sinh(self, x: str) -> str:
        """Emit code for the hyperbolic sine: half the difference of exp(x) and exp(-x)."""
        size = self._intrinsic("fabs", x)
        t = self._call("expm1", size)
        small_x = self._mul(self._add(t, self._div(t, self._add(t, 1.0))), 0.5)
        half = self._call("exp", self._mul(size, 0.5))
        large_x = self._mul(self._mul(half, 0.5), half)
        return self._intrinsic("copysign", self._if(size, "ogt", 40.0, large_x, small_x), x)

    def cosh(self, x: str) -> str:
        """Emit code for the hyperbolic cosine: the mean of exp(x) and exp(-x)."""
        size = self._intrinsic("fabs", x)
        e = self._call("exp", size)
        small_x = self._mul(self._add(e, self._div(1.0, e)), 0.5)
        half = self._call("exp", self._mul(size, 0.5))
        return self._if(size, "ogt", 40.0, self._mul(self._mul(half, 0.5), half), small_x)

    def atan(self, x: str) -> str:
        """Emit code for the arc tangent: argument reduction below tan(pi/8), then the series."""
        size = self._intrinsic("fabs", x)
        large = self._write(f"fcmp ogt double {size}, {_text(1.0)}")
        inverse = self._div(1.0, size)
        t = self._write(f"select i1 {large}, double {inverse}, double {size}")
        turned = self._div(self._sub(t, 1.0), self._add(t, 1.0))
        wide = self._write(f"fcmp ogt double {t}, {_text(math.sqrt(2) - 1)}")
        s = self._write(f"select i1 {wide}, double {turned}, double {t}")
        z = self._mul(s, s)
        terms = [(-1) ** k / (2 * k + 1) for k in range(1, 24)]
        series = self._add(s, self._mul(self._mul(s, z), self._polynomial(z, terms)))
        eighth = self._add(series, math.pi / 4)
        first = self._write(f"select i1 {wide}, double {eighth}, double {series}")
        quarter = self._sub(math.pi / 2, first)
        return self._intrinsic(
            "copysign", self._write(f"select i1 {large}, double {quarter}, double {first}"), x
        )

    def atan2(self, y: str, x: str) -> str:
        """Emit code for the angle of the point (x, y): an arc tangent, then the quadrant."""
        height, width = self._intrinsic("fabs", y), self._intrinsic("fabs", x)
        steep = self._write(f"fcmp ogt double {height}, {width}")
        low = self._write(f"select i1 {steep}, double {width}, double {height}")
        high = self._write(f"select i1 {steep}, double {height}, double {width}")
        ratio = self._if(high, "oeq", 0.0, 0.0, self._div(low, high))
        angle = self._call("atan", self._if(low, "oeq", math.inf, 1.0, ratio))
        angle = self._write(
            f"select i1 {steep}, double {self._sub(math.pi / 2, angle)}, double {angle}"
        )
        sign = self._intrinsic("copysign", 1.0, x)
        angle_in_quadrant = self._if(sign, "olt", 0.0, self._sub(math.pi, angle), angle)
        return self._intrinsic("copysign", angle_in_quadrant, y)

    def asin(self, x: str) -> str:
        """Emit code for the arc sine as the angle of the point (sqrt(1 - x^2), x)."""
        cosine = self._intrinsic("sqrt", self._mul(self._sub(1.0, x), self._add(1.0, x)))
        return self._call("atan2", x, cosine)

    def acos(self, x: str) -> str:
        """Emit code for the arc cosine as the angle of the point (x, sqrt(1 - x^2))."""
        sine = self._intrinsic("sqrt", self._mul(self._sub(1.0, x), self._add(1.0, x)))
        return self._call("atan2", sine, x)

    def asinh(self, x: str) -> str:
        """Emit code for the inverse hyperbolic sine by log1p, which is accurate near 0."""
        size = self._intrinsic("fabs", x)
        square = self._mul(size, size)
        root = self._intrinsic("sqrt", self._add(square, 1.0))
        result = self._call("log1p", self._add(size, self._div(square, self._add(root, 1.0))))
        return self._intrinsic("copysign", result, x)

    def acosh(self, x: str) -> str:
        """Emit code for the inverse hyperbolic cosine as ln(x + sqrt(x^2 - 1))."""
        root = self._intrinsic("sqrt", self._mul(self._sub(x, 1.0), self._add(x, 1.0)))
        return self._call("log", self._add(x, root))

    def atanh(self, x: str) -> str:
        """Emit code for the inverse hyperbolic tangent as log1p(2 |x| / (1 - |x|)) / 2."""
        size = self._intrinsic("fabs", x)
        ratio = self._div(self._add(size, size), self._sub(1.0, size))
        return self._intrinsic("copysign", self._mul(self._call("log1p", ratio), 0.5), x)

    def hypot(self, x: str, y: str) -> str:
        """Emit code for sqrt(x^2 + y^2), the larger argument factored out to avoid overflow."""
        a, b = self._intrinsic("fabs", x), self._intrinsic("fabs", y)
        large = self._if(a, "ogt", b, a, b)
        small = self._if(a, "ogt", b, b, a)
        ratio = self._if(large, "oeq", 0.0, 0.0, self._div(small, large))
        return self._mul(large, self._intrinsic("sqrt", self._add(self._mul(ratio, ratio), 1.0)))
