"""What a kernel cannot say is refused, with its file and line."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flexarm.errors import FlexarmError
from flexarm.loops.kernel import Kernel, kernel
from flexarm.loops.language import Array, Ints, floats
from tests.engine.test_kernels import dot, halve

GIVEN = {
    "math": math,
    "np": np,
    "kernel": kernel,
    "Array": Array,
    "Ints": Ints,
    "LIMIT": 2,
    "floats": floats,
}
REFUSED = {
    "x**2": "Pow of floats is not part",
    "x // 2.0": "FloorDiv of floats is not part",
    "x % 2.0": "Mod of floats is not part",
    "float(i // 2)": "FloorDiv is not part",
    "i**2": "Pow is not part",
    "float(i & 1)": "BitAnd is not part",
    "x + missing": "'missing' has no value",
    "x if 'a' else 0.0": "'a' is no number",
    "x if x else 0.0": "a condition must be a comparison or an int",
    "x if i else 1": "must be float, got int: write float",
    "max(x, 1)": "must be float, got int: write float",
    "float(x > 0.0 and i)": "must be bool, got int",
    "x + (i < 3)": "must be float, got bool",
    "float(i == (i < 3))": "must be float, got bool",
    "-(i < 3)": "must be float, got bool",
    "float(i is 3)": "Is is not part",
    "float(i in (1, 2))": "not part",
    "i": "must be float, got int",
    "float(9223372036854775808)": "is no int of 64 bits",
    "a[-1]": "an index must not be negative",
    "a[i - 1 :][-LIMIT]": "an index must not be negative",
    "a[x]": "must be int, got float",
    "a[i < 3]": "must be int, got bool",
    "a[::2]": "views are",
    "a[1:2]": "views are",
    "x[1:]": "only arrays have views",
    "x[1]": "only arrays have elements",
    "x.real": "no field 'real'",
    "np.sin(x)": "'np.sin' is no kernel",
    "x.sin()": "'x.sin' is no kernel",
    "math.atan(x)": "math.atan is not part",
    "math.sqrt(x, 2.0)": "math.sqrt takes 1 arguments, got 2",
    "max(x)": "max takes at least 2 arguments, got 1",
    "abs(x, x)": "abs takes 1 arguments, got 2",
    "max(x, 1.0, key=abs)": "arguments are given by position",
    "dot(i, a)": "takes 3 arguments, got 2",
    "dot(i, a, b)": "must be Array, got Ints",
    "(y := x)": "NamedExpr is not part",
    "halve(a)": "must be Inner, got Array",
}
REFUSED_LINES = {
    "if i > 0:\n        y = x\n    return y": "'y' may have no value here",
    "for k in range(i):\n        y = x\n    return y": "'y' may have no value here",
    "for k in range(i):\n        pass\n    return float(k)": "'k' may have no value here",
    "x = LIMIT * x\n    LIMIT = 1.0\n    return x": "'LIMIT' may have no value here",
    "if i > 0:\n        return x": "may end without a result",
    "while i > 0:\n        return x": "may end without a result",
    "return": "may end without a result",
    "y = 0\n    y = x\n    return x": "must be int, got float",
    "y = 0.0\n    y = i\n    return x": "must be float, got int",
    "for k in range(0, i, 0):\n        x += 1.0\n    return x": "must not be zero",
    "for k in a:\n        x += k\n    return x": "loops are over range",
    "for a[0] in range(i):\n        x += 1.0\n    return x": "loops count with a name",
    "while i > 0:\n        i -= 1\n    else:\n        x = 0.0\n    return x": "else of a loop",
    "i, x = 1, 2.0, 3.0\n    return x": "as many values as names",
    "i = y = 1\n    return x": "one assignment at a time",
    "y = floats(i)\n    return x": "must be name = floats",
    "x = floats(3)\n    return x": "must be float, got Array",
    "for k in range(0, i, i):\n        x += 1.0\n    return x": "a literal int",
    "for i in range(3):\n        x += 1.0\n    return x": "a name of their own",
    "for k in range(i):\n        k += 1\n    return x": "'k' counts rounds",
    "y = spread(a)\n    return x": "result of a kernel that has none",
    "y = a\n    y = b\n    return x": "must be Array, got Ints",
    "assert x > 0.0\n    return x": "Assert is not part",
}


def written(folder: Path, body: str) -> Kernel:
    """Write a kernel into a file."""
    text = f"@kernel\ndef wrong(i: int, x: float, a: Array, b: Ints) -> float:\n    {body}\n"
    file = folder / "wrong.py"
    file.write_text(text)
    space: dict[str, Any] = {**GIVEN, "dot": dot, "halve": halve, "spread": spread}
    exec(compile(text, str(file), "exec"), space)
    found: Kernel = space["wrong"]
    return found


@kernel
def spread(a: Array) -> None:
    """Set a number."""
    a[0] = 1.0


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.parametrize(
    ("body", "message"),
    [*((f"return {value}", said) for value, said in REFUSED.items()), *REFUSED_LINES.items()],
)
def test_what_a_kernel_cannot_say_is_refused_with_its_line(
    tmp_path: Path, body: str, message: str
) -> None:
    with pytest.raises(FlexarmError, match=rf"'wrong' \(.*wrong.py, line \d+\): .*({message})"):
        written(tmp_path, body)(1, 1.0, np.zeros(3), np.zeros(3, dtype=np.int64))
