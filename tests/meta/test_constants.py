"""Numbers that are choices stand in tables, one per package, each with its reason.

Tables are the files ``constants.py``.  Other modules have numbers that are no choices only: those
of `STRUCTURE`.
"""

import ast
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest

import flexarm

PACKAGE = Path(flexarm.__file__).parent
# Numbers that follow from a method, a format or the layout of data: reason, and what it covers.
STRUCTURE = {
    "coefficients, stage numbers and stability limit of a method": (
        "integrate/methods/*: *",
        "integrate/choice/halving.py: PHASE_LAG",
        "formulations/numbers.py: CENTRAL FORWARD",
    ),
    "formulas that depend on their numbers being these": (
        "closed_forms/exact.py: FUNCTIONS",
        "engine/emit/sincos.py: ROUNDER NEXT_BITS SINE COSINE",
        "engine/lower.py: SMALLEST_DIVISOR LARGEST_DIVISOR",
        "formulations/element_jacobian.py: REGULAR",
        "links/base.py: DERIVATIVES",
        "planning/problem.py: DEGREES",
    ),
    "shapes and integrals of an element": (
        "links/families/spans.py: HERMITE LINEAR",
        "links/imported/body.py: *",
        "links/imported/readers/calculix.py: _*",
        "mechanics/bodies/material.py: ROD CUBIC STIFFENED",
    ),
    "axes, and pairs and planes of them": (
        "links/imported/checks.py: PLANES",
        "links/imported/readers/superelements.py: DIRECTIONS",
        "links/imported/standard.py: SPINS",
        "mechanics/bodies/exact/*: SLOPES SHARES XYZ AROUND",
        "mechanics/bodies/reduced.py: PAIRS TWICE",
        "viewer/live/equations.py: DOWN",
    ),
    "codes of an operating system, a compiler, a library or a file format": (
        "cli/exits.py: *",
        "cli/pages/view.py: LAST_PORT",
        "cli/simulate.py: STATUSES",
        "engine/compile.py: FULL EFFORT",
        "engine/emit/keep.py: MEMORIES CONSTANT",
        "engine/gpu/*: *",
        "engine/permissions.py: READING",
        "engine/wasm.py: *",
        "io/meshes.py: RECORD",
        "links/imported/file.py: *",
        "links/imported/readers/market.py: ENTRY",
        "links/imported/readers/superelements.py: SYMMETRIC WIDE",
        "links/imported/readers/universal.py: NODES SHAPES UNITS MODAL",
        "links/imported/standard.py: SYMMETRIC UNIT SHAPES",
        "loops/walk.py: LOWEST HIGHEST",
        "planning/mpc.py: SOFT",
        "runs/contents.py: FORMAT",
        "studies/design/table.py: FORMAT",
    ),
    "states, indices and lengths of records": (
        "engine/operators.py: _users",
        "formulations/quantities.py: LOAD",
        "integrate/batch/runs.py: OBSERVED",
        "integrate/batch/gpu.py: DONE",
        "integrate/batch/cores.py: VALUE COUNTS",
        "integrate/loop.py: *",
        "integrate/mission/transitions.py: OPEN",
        "integrate/system.py: WORKS IMPULSES PRESCRIBED PIECE",
        "linear/tangent.py: ANCHOR",
        "loops/c.py: *",
        "viewer/live/page.py: ROOT",
        "viewer/scene.py: BASE_COLUMNS",
    ),
    "factors and powers of units": (
        "exports/fmu.py: UNITS",
        "links/imported/readers/plain.py: PLAIN LENGTH MASS MOTION LOADS ARRAYS",
        "runs/plot.py: LENGTHS",
        "units.py: _ONE _MILLI _DEGREE _PREFIXES",
    ),
    "layout of one drawing": ("arm/summary.py: WIDTH HEIGHT",),
}
ALLOWED = [
    (file, name)
    for patterns in STRUCTURE.values()
    for pattern in patterns
    for file, _, names in [pattern.partition(": ")]
    for name in names.split()
]


def is_number(node: ast.expr) -> bool:
    """Return whether an expression is a number, or a collection of some or of functions of them."""
    parts: list[ast.expr] = []
    match node:
        case ast.Constant(value=value):
            return isinstance(value, int | float | complex) and not isinstance(value, bool)
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
            pass
        case ast.Dict(values=parts):
            pass
        case ast.BinOp(left=left, right=right):
            parts = [] if any(is_text(side) for side in (left, right)) else [left, right]
        case ast.UnaryOp(operand=part) | ast.Starred(value=part) | ast.DictComp(value=part):
            parts = [part]
        case ast.GeneratorExp(elt=part) | ast.ListComp(elt=part) | ast.SetComp(elt=part):
            parts = [part]
        case ast.Call(func=function, args=arguments):
            # classes, which have capitals, make records
            called = ast.unparse(function).rpartition(".")[2].lstrip("_")
            parts = arguments if called[:1].islower() else []
        case _:
            return False
    return any(is_number(part) for part in parts)


def is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def assignments(tree: ast.Module) -> Iterator[tuple[ast.stmt, list[str], ast.expr]]:
    """Yield the assignments of a module with the names and the value that they assign."""
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=targets, value=value):
                pass
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                targets = [target]
            case _:
                continue
        names = [n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)]
        yield statement, names, value


def numbers_elsewhere(package: Path) -> Iterator[tuple[str, str]]:
    """Yield file and name of the module-level numbers outside tables."""
    for path in sorted(package.rglob("*.py")):
        if path.name != "constants.py":
            for _, names, value in assignments(ast.parse(path.read_text(encoding="utf-8"))):
                if is_number(value):
                    yield from ((path.relative_to(package).as_posix(), name) for name in names)


def is_allowed(file: str, name: str) -> bool:
    return any(fnmatch(file, place) and fnmatch(name, names) for place, names in ALLOWED)


def without_reason(package: Path) -> Iterator[str]:
    """Yield the names in tables with no comment on their line, nor directly above their group."""
    for path in sorted(package.rglob("constants.py")):
        text = path.read_text(encoding="utf-8")
        lines, explained = text.splitlines(), dict[int, bool]()  # by the last line of a statement
        for statement, names, _ in assignments(ast.parse(text)):
            first, last = statement.lineno - 1, (statement.end_lineno or statement.lineno) - 1
            above = lines[first - 1].startswith("#") or explained.get(first - 1, False)
            # a comment on a line is of that line: the next statement needs its own
            explained[last] = above and " #" not in lines[last]
            if not above and " #" not in "".join(lines[first : last + 1]):
                yield f"{path.relative_to(package).as_posix()}: {', '.join(names)}"


def test_numbers_that_are_choices_stand_in_tables() -> None:
    assert [
        f"{file}: {x}" for file, x in numbers_elsewhere(PACKAGE) if not is_allowed(file, x)
    ] == []


def test_numbers_of_tables_have_a_reason() -> None:
    assert list(without_reason(PACKAGE)) == []


def test_every_exception_is_needed() -> None:
    found = list(numbers_elsewhere(PACKAGE))
    unused = [
        f"{place}: {names}"
        for place, names in ALLOWED
        if not any(fnmatch(file, place) and fnmatch(name, names) for file, name in found)
    ]
    assert unused == []


@pytest.mark.parametrize(
    "line",
    [
        "X = 1e-9",
        "X: int = -3",
        "X, Y = 2, 'two'",
        "X = {'rad': 1e-3, 'm': 1e-4}",
        "X = 2 * math.pi * 25.0",
        "X = np.array([0.0, 1.0]) / 12",
        "X = tuple(2**k + 1 for k in range(3, 7))",
    ],
)
def test_checker_finds_a_number(line: str, tmp_path: Path) -> None:
    (tmp_path / "check").mkdir()
    (tmp_path / "check" / "held.py").write_text(f"{line}\n")
    assert ("check/held.py", "X") in list(numbers_elsewhere(tmp_path))
    assert not is_allowed("check/held.py", "X")


def test_checker_lets_other_constants_pass(tmp_path: Path) -> None:
    text = "A = 'x' * 3\nB = True\nC = ('a', 'b')\nD = Record(1)\nE = len(NAMES)\n"
    (tmp_path / "held.py").write_text(text)
    (tmp_path / "constants.py").write_text("X = 1\n")
    assert list(numbers_elsewhere(tmp_path)) == []


def test_checker_finds_a_number_without_a_reason(tmp_path: Path) -> None:
    (tmp_path / "constants.py").write_text(
        "# Lengths\nA, B = 1, 2\nC = 3\n\nD = 4  # [m]\nE = 5\n\n# Heading\n\nF = 6\n"
    )
    assert list(without_reason(tmp_path)) == ["constants.py: E", "constants.py: F"]
