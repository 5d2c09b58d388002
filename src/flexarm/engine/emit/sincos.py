"""Sine and cosine of an angle, computed together as LLVM code in one or several SIMD lanes.

Notes
-----
The angle is reduced to [-pi/4, pi/4] by subtraction of a multiple of pi/2, where pi/2 is the sum of
three doubles (Cody & Waite 1980). The first two of these have 33 bits, so that their products with
an integer of up to 20 bits are exact. The rounding error of the reduced angle is a separate value,
the tail. The polynomials for sine and cosine are minimax approximations with relative errors
2^-57.9 and 2^-63.9. Angles above 1e5 rad, infinities and NaN are passed to the C library; without a
library, an angle of up to 1e9 rad has an error as large as the angle's own rounding, and a larger
angle gives NaN.

With fused multiply-add, as on a GPU, half as many operations suffice for the reduction: a multiple
of the first 53 bits of pi/2 is subtracted without rounding, then a multiple of the next 53 bits.
Errors are then below 1.5 units in the last place, plus 1e-33 of the angle.
"""

import math
import struct

from flexarm.engine.constants import LARGEST_ANGLE, LARGEST_ANGLE_ALONE
from flexarm.engine.emit.llvm_text import number, per_lane, vector

NAME = "flexarm.sincos"
ROUNDER = 1.5 * 2.0**52  # x + ROUNDER has the rounded x in its low bits
HALF_PI = tuple(
    map(float.fromhex, ("0x1.921fb544p+0", "0x1.0b4611a6p-34", "0x1.3198a2e037073p-69"))
)
NEXT_BITS = (math.pi / 2, float.fromhex("0x1.1a62633145c07p-54"))
# sin r = r + r^3 S(r^2), cos r = 1 - r^2/2 + r^4 C(r^2)
SINE = (
    -0.1666666666666663,
    0.008333333333322005,
    -0.0001984126982949548,
    2.7557313587615523e-06,
    -2.5050742307459087e-08,
    1.5895904721029902e-10,
)
COSINE = (
    0.041666666666666595,
    -0.0013888888888872895,
    2.4801587288748176e-05,
    -2.7557314148620007e-07,
    2.0875696572124292e-09,
    -1.1358310466951263e-11,
)


def sincos(width: int, *, libm: bool = True, fused: bool = True) -> str:
    """Return LLVM code for a function of the sine and the cosine of an angle [rad]."""
    if fused and not libm:
        return _fused(width)
    text = _with_library(width) if libm else _alone(width)
    return text if fused else text.replace(" contract ", " ")


def c_sine() -> str:
    """Return the C99 function sin(x + k pi/2) of an angle x [rad] and an integer k.

    The C function performs the same operations as `sincos` without fused multiply-add, so that
    their results are bitwise equal.
    """
    first, second, third = HALF_PI
    return f"""#ifndef FLEXARM_SINE
#define FLEXARM_SINE
/* Sine of x [rad] and a number of quarter turns, 0 or 1: by the operations of flexarm itself. */
static double flexarm_sine(double x, int quarter)
{{
    const double marked = x * {2.0 / math.pi!r} + {ROUNDER!r}, n = marked - {ROUNDER!r};
    const double t = x - n * {first!r}, n2 = n * {second!r}, r = t - n2, back = r - t;
    const double tail = ((t - (r - back)) - (n2 + back)) - n * {third!r};
    const double z = r * r, zz = z * z, hz = z * 0.5, w = 1.0 - hz;
    const double s = {_c_polynomial(SINE)};
    const double c = {_c_polynomial(COSINE)};
    const double sine = r + ((r * z) * s + tail * w);
    const double cosine = w + (zz * c + (((1.0 - w) - hz) - r * tail));
    if (!(fabs(x) < {LARGEST_ANGLE!r}))
        return quarter ? cos(x) : sin(x);
    {{
        const long turns = (long)n + quarter + 1048576L;
        const double value = turns & 1 ? cosine : sine;
        return turns & 2 ? -value : value;
    }}
}}
#endif
"""


def _c_polynomial(coefficients: tuple[float, ...]) -> str:
    pairs = [f"(z * {coefficients[2 * k + 1]!r} + {coefficients[2 * k]!r})" for k in range(3)]
    return f"zz * (zz * {pairs[2]} + {pairs[1]}) + {pairs[0]}"


def _alone(width: int) -> str:
    real, whole, truth = (vector(element, width) for element in ("double", "i64", "i1"))
    suffix = "f64" if width == 1 else f"v{width}f64"
    return f"""define internal {{ {real}, {real} }} @{NAME}({real} %given) noinline nounwind {{
%size = call {real} @llvm.fabs.{suffix}({real} %given)
%small = fcmp olt {real} %size, {number(LARGEST_ANGLE_ALONE, width)}
%x = select {truth} %small, {real} %given, {real} {number(math.nan, width)}
{_reduce(real, width)}
{_polynomials(real, width)}
{_turn(real, whole, truth, width)}
}}
"""


def _fused(width: int) -> str:
    """Return LLVM code for the sine and the cosine of an angle with fused multiply-add."""
    real, whole, truth = (vector(element, width) for element in ("double", "i64", "i1"))
    name = f"@llvm.fma.{'f64' if width == 1 else f'v{width}f64'}"
    one, half, rounder = (number(x, width) for x in (1.0, -0.5, ROUNDER))

    def fma(result: str, a: str, b: str, c: str) -> str:
        return f"{result} = call {real} {name}({real} {a}, {real} {b}, {real} {c})"

    lines = [
        fma("%marked", "%x", number(2.0 / math.pi, width), rounder),
        f"%n = fsub {real} %marked, {rounder}",
        fma("%t", "%n", number(-NEXT_BITS[0], width), "%x"),
        fma("%r", "%n", number(-NEXT_BITS[1], width), "%t"),
        f"%z = fmul {real} %r, %r",
    ]
    for part, coefficients in (("s", SINE), ("c", COSINE)):
        *lower, last = (number(x, width) for x in coefficients)
        for k, coefficient in reversed([*enumerate(lower)]):
            lines.append(fma(f"%{part}{k}", "%z", last, coefficient))
            last = f"%{part}{k}"
    lines += [
        f"%rz = fmul {real} %r, %z",
        fma("%sine", "%rz", "%s0", "%r"),
        fma("%w", "%z", "%c0", half),
        fma("%cosine", "%z", "%w", one),
    ]
    return f"""declare {real} {name}({real}, {real}, {real})
define internal {{ {real}, {real} }} @{NAME}({real} %given) noinline nounwind {{
{_small(real, whole, truth, width)}
{chr(10).join(lines)}
{_turn(real, whole, truth, width)}
}}
"""


def _small(real: str, whole: str, truth: str, width: int) -> str:
    """Return LLVM lines that set %x to the angle, or to NaN if the angle is too large.

    The comparison uses integer instructions, which are cheap on GPUs.
    """
    (top,) = struct.unpack("q", struct.pack("d", LARGEST_ANGLE_ALONE))
    return f"""%bits = bitcast {real} %given to {whole}
%size = and {whole} %bits, {_each(2**63 - 1, width)}
%small = icmp ult {whole} %size, {_each(top, width)}
%x = select {truth} %small, {real} %given, {real} {number(math.nan, width)}"""


def _with_library(width: int) -> str:
    real, whole, truth = (vector(element, width) for element in ("double", "i64", "i1"))
    suffix = "f64" if width == 1 else f"v{width}f64"
    reduce = "" if width == 1 else f"declare i1 @llvm.vector.reduce.and.v{width}i1({truth})\n"
    reduced = f"%all = call i1 @llvm.vector.reduce.and.v{width}i1({truth} %small)"
    return f"""{reduce}define internal {{ {real}, {real} }} @{NAME}({real} %x) noinline nounwind {{
%size = call {real} @llvm.fabs.{suffix}({real} %x)
%small = fcmp olt {real} %size, {number(LARGEST_ANGLE, width)}
{"" if width == 1 else reduced}
br i1 {"%small" if width == 1 else "%all"}, label %fast, label %slow
fast:
{_reduce(real, width)}
{_polynomials(real, width)}
{_turn(real, whole, truth, width)}
slow:
{_library(real, width)}
}}
"""


def _reduce(real: str, width: int) -> str:
    """Return LLVM lines that reduce the angle %x to a quadrant and a remainder."""
    first, second, third = (number(part, width) for part in HALF_PI)
    rounder = number(ROUNDER, width)
    return f"""%turns = fmul {real} %x, {number(2.0 / math.pi, width)}
%marked = fadd {real} %turns, {rounder}
%n = fsub {real} %marked, {rounder}
%n1 = fmul {real} %n, {first}
%t = fsub {real} %x, %n1
%n2 = fmul {real} %n, {second}
%r = fsub {real} %t, %n2
%back = fsub {real} %r, %t
%part = fsub {real} %r, %back
%lost1 = fsub {real} %t, %part
%lost2 = fadd {real} %n2, %back
%lost = fsub {real} %lost1, %lost2
%n3 = fmul {real} %n, {third}
%tail = fsub {real} %lost, %n3"""


def _polynomials(real: str, width: int) -> str:
    """Return LLVM lines that compute sine and cosine of the reduced angle %r + %tail."""
    one, half = number(1.0, width), number(0.5, width)
    return f"""%z = fmul {real} %r, %r
%zz = fmul {real} %z, %z
{_polynomial("s", SINE, real, width)}
{_polynomial("c", COSINE, real, width)}
%hz = fmul {real} %z, {half}
%w = fsub {real} {one}, %hz
%rz = fmul {real} %r, %z
%tilt = fmul contract {real} %tail, %w
%cube = fmul contract {real} %rz, %s
%bend = fadd contract {real} %cube, %tilt
%sine = fadd {real} %r, %bend
%w1 = fsub {real} {one}, %w
%w2 = fsub {real} %w1, %hz
%lean = fmul {real} %r, %tail
%w3 = fsub {real} %w2, %lean
%fourth = fmul contract {real} %zz, %c
%more = fadd contract {real} %fourth, %w3
%cosine = fadd {real} %w, %more"""


def _polynomial(name: str, coefficients: tuple[float, ...], real: str, width: int) -> str:
    """Return LLVM lines that sum a polynomial of six terms in pairs.

    Summation in pairs has shorter chains of dependent operations than Horner's rule.
    """
    lines = []
    for k in range(3):
        even, odd = (number(coefficients[2 * k + i], width) for i in (0, 1))
        lines.append(f"%{name}m{k} = fmul contract {real} %z, {odd}")
        lines.append(f"%{name}p{k} = fadd contract {real} %{name}m{k}, {even}")
    return (
        "\n".join(lines)
        + f"""
%{name}h = fmul contract {real} %zz, %{name}p2
%{name}u = fadd contract {real} %{name}h, %{name}p1
%{name}l = fmul contract {real} %zz, %{name}u
%{name} = fadd contract {real} %{name}l, %{name}p0"""
    )


def _turn(real: str, whole: str, truth: str, width: int) -> str:
    """Return LLVM lines from sine and cosine of the reduced angle to those of the angle."""

    def each(value: int) -> str:
        return _each(value, width)

    return f"""%q = bitcast {real} %marked to {whole}
%low = and {whole} %q, {each(1)}
%odd = icmp ne {whole} %low, {each(0)}
%s_plain = select {truth} %odd, {real} %cosine, {real} %sine
%c_plain = select {truth} %odd, {real} %sine, {real} %cosine
%s_two = and {whole} %q, {each(2)}
%s_sign = shl {whole} %s_two, {each(62)}
%q1 = add {whole} %q, {each(1)}
%c_two = and {whole} %q1, {each(2)}
%c_sign = shl {whole} %c_two, {each(62)}
%s_bits = bitcast {real} %s_plain to {whole}
%c_bits = bitcast {real} %c_plain to {whole}
%s_done = xor {whole} %s_bits, %s_sign
%c_done = xor {whole} %c_bits, %c_sign
%s_out = bitcast {whole} %s_done to {real}
%c_out = bitcast {whole} %c_done to {real}
%half = insertvalue {{ {real}, {real} }} undef, {real} %s_out, 0
%both = insertvalue {{ {real}, {real} }} %half, {real} %c_out, 1
ret {{ {real}, {real} }} %both"""


def _each(value: int, width: int) -> str:
    """Return an integer as an LLVM constant, equal in every SIMD lane."""
    return str(value) if width == 1 else f"<{', '.join([f'i64 {value}'] * width)}>"


def _library(real: str, width: int) -> str:
    lines = []
    for name in ("sin", "cos"):
        lines += per_lane(f"%l{name}", name, ["%x"], width)
    return (
        "\n".join(lines)
        + f"""
%lhalf = insertvalue {{ {real}, {real} }} undef, {real} %lsin, 0
%lboth = insertvalue {{ {real}, {real} }} %lhalf, {real} %lcos, 1
ret {{ {real}, {real} }} %lboth"""
    )
