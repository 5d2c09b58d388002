"""Equations as WebAssembly and PTX: no function from outside, and the bits of the processor."""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import casadi as ca
import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest

import flexarm
from flexarm.engine.compile import (
    Compiled,
    Level,
    MachineCode,
    Signature,
    host,
    object_code,
)
from flexarm.engine.emit.llvm import BARE, Code, Dialect, emit_llvm
from flexarm.engine.emit.own import TAKEN
from flexarm.engine.lower import lower
from flexarm.engine.stream import Stream
from flexarm.engine.wasm import WasmModule, module_of, wasm_module
from flexarm.errors import FlexarmError
from flexarm.formulations.equation import Equation
from tests.engine.in_node import kept_in_node
from tests.physics.cases import LONG, SIBLINGS, campaign_if

TOGETHER = "name"
FAST = ("korayem-two-link",)  # with all of LLVM's effort; the others in campaigns
# Of no operation that others do not have, nor of more of them: for campaigns.
ALIKE = (
    "chen-rotating-link", "chen-two-link", "count-2-2-2", "count-6-6-3", "deluca-siciliano",
    "driven-link-payload", "graves-rms", "tg-rr", "tg-rr-elements", "tg-rrr", "theodore-rrp",
    "canadarm-free-base",
)  # fmt: skip
CASES = [
    pytest.param(name, level, marks=campaign_if(name in left))
    for level, left in (
        ("quick", {*SIBLINGS, *LONG, *ALIKE}),
        ("fast", {*flexarm.example_arm_names()} - {*FAST}),
    )
    for name in flexarm.example_arm_names()
]
Call = Callable[[dict[str, Any]], Any]
every_sample = pytest.mark.parametrize(("name", "level"), CASES)
RUN = """
const run = given => {
const code = new WebAssembly.Module(Buffer.from(given.code, 'base64'));
const memory = new WebAssembly.Memory({initial: Math.ceil(given.total/65536)});
const top = new WebAssembly.Global({value: 'i32', mutable: true}, given.top);
const table = new WebAssembly.Table({initial: 1, element: 'anyfunc'});
const env = {__linear_memory: memory, __stack_pointer: top, __indirect_function_table: table};
const arm = new WebAssembly.Instance(code, {env});
const numbers = new Float64Array(memory.buffer);
given.inputs.forEach((values, k) => numbers.set(values, given.places[k]/8));
arm.exports[given.entry](...given.places);
const outputs = given.sizes.map((size, k) => {
  const start = given.places[given.inputs.length + k]/8;
  return Array.from(new BigUint64Array(memory.buffer, 8*start, size), String);
});
const imports = WebAssembly.Module.imports(code).map(each => each.kind);
return {outputs, imports};
};
"""


@lru_cache(maxsize=2)
def equation(name: str) -> Equation:
    """Make the equation of a sample."""
    return flexarm.formulation("articulated", flexarm.build(flexarm.example_arm(name)))


@lru_cache(maxsize=2)
def stream(name: str) -> Stream:
    """Trace the forward dynamics of a sample."""
    return lower(equation(name).function("forward_dynamics"))


def drawn(name: str) -> list[np.ndarray]:
    """Draw inputs of the forward dynamics of a sample."""
    random, one = np.random.default_rng(3), equation(name)
    values = [random.normal(size=port.shape) * 0.05 for port in stream(name).inputs]
    if one.model.attitudes:
        values[-1] = one.reference_attitude
    for index, low, high in one.model.sliding_ranges:
        values[0][index] = (low + high) / 2
    return values


def written(made: Stream, dialect: Dialect, level: Level) -> Code:
    """Write a stream as LLVM code."""
    return emit_llvm(made, ordered=level == "fast", dialect=dialect)


def on_processor(made: Stream, code: Code, level: Level = "fast") -> Compiled:
    """Compile the code of a stream for this processor."""
    signature = Signature(
        code.entry, code.table_entry, made.inputs, made.outputs, 1, code.work_size,
        len(made.operations),
    )  # fmt: skip
    return Compiled(MachineCode(signature, object_code(code, level=level, target=host())))


@lru_cache(maxsize=2)
def bare(name: str, level: Level) -> Code:
    """Write the forward dynamics of a sample without fused operations and library."""
    return written(stream(name), BARE, level)


@lru_cache(maxsize=2)
def plain(name: str, level: Level) -> tuple[np.ndarray, ...]:
    """Evaluate it on this processor."""
    return on_processor(stream(name), bare(name, level), level).call(*drawn(name))


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Call]:
    """Keep a process that runs modules."""
    with kept_in_node(RUN, tmp_path_factory.mktemp("node")) as call:
        yield call


def in_node(module: WasmModule, values: Sequence[np.ndarray], node: Call) -> Any:
    """Run a module in Node."""
    from base64 import b64encode

    at, places = module.reserved, []
    for size in [port.size for port in (*module.inputs, *module.outputs)] + [module.work_size]:
        places.append(at)
        at += 8 * max(size, 1)
    given = {
        "code": b64encode(module.code).decode(),
        "entry": module.entry,
        "top": module.reserved,
        "total": at,
        "places": places,
        "inputs": [np.ravel(each).tolist() for each in values],
        "sizes": [port.size for port in module.outputs],
    }
    return node(given)


@pytest.mark.few(4)
@every_sample
def test_wasm_has_the_bits_of_the_processor(name: str, level: Level, node: Call) -> None:
    module = (
        wasm_module(stream(name))
        if level == "fast"
        else module_of(stream(name), bare(name, level), level)
    )
    found = in_node(module, drawn(name), node)
    for mine, other in zip(found["outputs"], plain(name, level), strict=True):
        bits = [str(each) for each in np.ravel(other).view(np.uint64).tolist()]
        assert mine == bits
    assert "function" not in found["imports"]


RANGES = {
    "exp": (-700, 700),
    "expm1": (-30, 30),
    "log": (1e-300, 1e300),
    "log1p": (-0.999, 1e6),
    "tanh": (-25, 25),
    "sinh": (-600, 600),
    "cosh": (-600, 600),
    "atan": (-1e4, 1e4),
    "asin": (-1, 1),
    "acos": (-1, 1),
    "asinh": (-1e6, 1e6),
    "acosh": (1, 1e6),
    "atanh": (-0.9999, 0.9999),
    "sin": (-900, 900),
    "cos": (-900, 900),
    "tan": (-900, 900),
}
PRECISE = {"asin": mpmath.asin, "acos": mpmath.acos, "atan": mpmath.atan} | {
    name: getattr(mpmath, name) for name in RANGES if hasattr(mpmath, name)
}


def points(low: float, high: float) -> np.ndarray:
    """Spread points over a range, many of them near 0 and the ends."""
    random = np.random.default_rng(7)
    spread = random.uniform(max(low, -50), min(high, 50), 60)
    small = np.geomspace(1e-12, 1, 30)
    large = np.geomspace(max(abs(low), 1e-8), max(abs(high), 1e-8), 20)
    every = np.concatenate([spread, small, -small, large, [low, high]])
    return np.unique(every[(every >= low) & (every <= high)])


def own(name: str, dialect: Dialect = BARE) -> Compiled:
    """Compile a function of our own."""
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    two = name in ("pow", "atan2", "hypot")
    function: Any = ca.power if name == "pow" else getattr(ca, name)
    made = function(x, y) if two else function(x)
    names = ["x", "y"][: 1 + two]
    found = lower(ca.Function("f", [x, y][: 1 + two], [made], names, ["z"]))
    return on_processor(found, written(found, dialect, "fast"))


@pytest.mark.parametrize("name", RANGES)
def test_functions_of_our_own_are_right_to_a_few_units(name: str) -> None:
    mpmath.mp.prec = 120
    compiled = own(name)
    for x in points(*RANGES[name]):
        (found,) = compiled.call(np.array([x]))
        exact = PRECISE[name](mpmath.mpf(float(x)))
        unit = np.spacing(abs(float(exact)))
        # of a small result of a function that is not small nearby, units of the argument count
        near = 2.3e-16 if name in ("acos", "sin", "cos", "tan", "acosh", "log", "atanh") else 0.0
        assert abs(mpmath.mpf(float(found[0])) - exact) <= 6 * unit + near, (name, x)


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_where_products_join_sums_angles_are_right_to_a_unit_and_a_half(name: str) -> None:
    mpmath.mp.prec = 160
    compiled = own(name, Dialect(fused=True, libm=False))
    random = np.random.default_rng(4)
    quarters = random.integers(-400, 400, 60) * (np.pi / 4)
    wide = random.uniform(-1e5, 1e5, 60)
    for x in [*points(-900, 900), *quarters, *np.nextafter(quarters, np.inf), *wide]:
        (found,) = compiled.call(np.array([x]))
        exact = PRECISE[name](mpmath.mpf(float(x)))
        error = abs(mpmath.mpf(float(found[0])) - exact)
        # pi/2 has 106 bits there: 1.5e-33 are left of it at each quarter turn
        assert error <= 1.5 * np.spacing(abs(float(exact))) + 1e-33 * abs(x), (name, x)
    for x, expected in ((np.inf, np.nan), (1.1e9, np.nan), (-0.0, {"sin": -0.0, "cos": 1.0}[name])):
        (found,) = compiled.call(np.array([x]))
        np.testing.assert_array_equal(found, [expected])


def test_functions_of_two_numbers() -> None:
    mpmath.mp.prec = 120
    random = np.random.default_rng(2)
    cases = {
        "pow": (random.uniform(0.01, 30, (60, 1)), random.uniform(-9, 9, (60, 1)), mpmath.power),
        "atan2": (random.normal(size=(60, 1)), random.normal(size=(60, 1)), mpmath.atan2),
        "hypot": (random.normal(size=(60, 1)) * 1e150, random.normal(size=(60, 1)), mpmath.hypot),
    }
    for name, (a, b, exact) in cases.items():
        compiled = own(name)
        for x, y in zip(a, b, strict=True):
            (found,) = compiled.call(x, y)
            expected = exact(mpmath.mpf(float(x[0])), mpmath.mpf(float(y[0])))
            units = 40 if name == "pow" else 4
            error = abs(mpmath.mpf(float(found[0])) - expected)
            assert error <= units * np.spacing(abs(float(expected))), (name, x, y)


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("exp", (1000.0,), np.inf),
        ("exp", (-1000.0,), 0.0),
        ("exp", (np.nan,), np.nan),
        ("log", (0.0,), -np.inf),
        ("log", (-1.0,), np.nan),
        ("log", (np.inf,), np.inf),
        ("log", (5e-324,), np.log(5e-324)),
        ("log1p", (-1.0,), -np.inf),
        ("pow", (-2.0, 3.0), -8.0),
        ("pow", (-2.0, 2.0), 4.0),
        ("pow", (-2.0, 0.5), np.nan),
        ("pow", (0.0, 2.0), 0.0),
        ("pow", (0.0, 0.0), 1.0),
        ("tanh", (1000.0,), 1.0),
        ("sinh", (-709.9,), np.sinh(-709.9)),
        ("atan", (np.inf,), np.pi / 2),
        ("atan2", (0.0, -1.0), np.pi),
        ("atan2", (-0.0, -1.0), -np.pi),
        ("atan2", (1.0, 0.0), np.pi / 2),
        ("atan2", (0.0, 0.0), 0.0),
        ("hypot", (0.0, 0.0), 0.0),
        ("sin", (np.inf,), np.nan),
        ("cos", (1e12,), np.nan),
    ],
)
def test_ends_of_their_ranges(name: str, given: tuple[float, ...], expected: float) -> None:
    (found,) = own(name).call(*[np.array([each]) for each in given])
    np.testing.assert_allclose(found[0], expected, rtol=1e-14)
    assert np.signbit(found[0]) == np.signbit(expected) or np.isnan(expected)


def test_what_has_no_code_is_told() -> None:
    assert "erf" not in TAKEN
    with pytest.raises(
        FlexarmError, match="function 'erf': this target has no mathematical library"
    ):
        own("erf")


def test_without_the_target_one_sentence_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: object) -> None:
        raise RuntimeError("No available targets are compatible")

    monkeypatch.setattr("flexarm.engine.compile.machine", refuse)
    with pytest.raises(FlexarmError, match="WebAssembly: the installed llvmlite was built without"):
        wasm_module(stream("korayem-two-link"))
