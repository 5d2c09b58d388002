"""LLVM constants, types and calls, for one double or for several SIMD lanes."""

import struct


def number(value: float, width: int) -> str:
    """Return a number as an LLVM constant, equal in every SIMD lane."""
    bits = f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
    return bits if width == 1 else f"<{', '.join([f'double {bits}'] * width)}>"


def vector(element: str, width: int) -> str:
    """Return the LLVM type of a scalar, or of a vector with one element per SIMD lane."""
    return element if width == 1 else f"<{width} x {element}>"


def per_lane(result: str, function: str, arguments: list[str], width: int) -> list[str]:
    """Return LLVM lines that call a C library function once for every SIMD lane."""
    if width == 1:
        typed_arguments = ", ".join(f"double {argument}" for argument in arguments)
        return [f"{result} = call double @{function}({typed_arguments})"]
    real = vector("double", width)
    lines: list[str] = []
    before = "undef"
    for lane in range(width):
        elements = []
        for k, argument in enumerate(arguments):
            piece = f"{result}.{lane}.{k}"
            lines.append(f"{piece} = extractelement {real} {argument}, i32 {lane}")
            elements.append(f"double {piece}")
        lines.append(f"{result}.{lane} = call double @{function}({', '.join(elements)})")
        after = result if lane == width - 1 else f"{result}.{lane}.v"
        lines.append(f"{after} = insertelement {real} {before}, double {result}.{lane}, i32 {lane}")
        before = after
    return lines
