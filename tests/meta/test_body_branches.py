"""Nothing but a body's own files asks which kind of body a link has."""

import ast
import re
from pathlib import Path

import pytest

import flexarm
from flexarm.links.body_data import BodyData
from flexarm.mechanics.bodies import BODIES, LinkBody
from tests.meta.test_joint_branches import names

PACKAGE = Path(flexarm.__file__).parent
# Their equations, and the record that names the class of their numbers.
OWN = ("mechanics/bodies/", "model/parts.py")
KINDS = BODIES.keys()


def subclasses(of: type) -> set[str]:
    """Collect the names of the classes made of a class."""
    below: list[type] = of.__subclasses__()
    return {name for kind in below for name in {kind.__name__} | subclasses(kind)}


CLASSES = subclasses(BodyData) | subclasses(LinkBody)
NAMED = re.compile(rf"body\.kind|\b({'|'.join(sorted(CLASSES))})\b")  # in every such decision


def branches(package: Path) -> list[str]:
    """List the places outside the bodies' own that decide by a body's class or kind."""
    found = []
    for path in sorted(package.rglob("*.py")):
        name, text = path.relative_to(package).as_posix(), path.read_text(encoding="utf-8")
        if not name.startswith(OWN) and NAMED.search(text):
            tree = ast.parse(text)
            lines = {node.lineno for node in ast.walk(tree) if decides(node)}  # type: ignore[attr-defined]
            found += [f"{name}:{line}" for line in sorted(lines)]
    return found


def decides(node: ast.AST) -> bool:
    """Tell whether an expression or a statement decides by a body's class or kind."""
    parts: list[ast.AST]
    match node:
        case ast.Call(func=ast.Name("isinstance" | "issubclass"), args=[_, of]):
            parts = [of]
        case ast.Compare(left=left, comparators=others):
            parts = [left, *others]
        case ast.Match(subject=subject, cases=cases):
            parts = [subject, *(each.pattern for each in cases)]
        case ast.Subscript(value=ast.Dict(), slice=key):
            parts = [key]
        case _:
            return False
    return any(names(part) & CLASSES or asks_kind(part) for part in parts)


def asks_kind(tree: ast.AST) -> bool:
    """Tell whether an expression is the kind of a body."""
    return any(
        isinstance(each, ast.Attribute) and ast.unparse(each).endswith("body.kind")
        for each in ast.walk(tree)
    )


def test_nothing_asks_which_body_it_is() -> None:
    assert {"Flexible", "SlidingBeam", "ReducedBody", "Exact", "Growing"} <= CLASSES
    assert branches(PACKAGE) == []


@pytest.mark.parametrize(
    "line",
    [
        "x = isinstance(part.body, Flexible)",
        "x = isinstance(body_of(model, part), (Exact, Modal))",
        "x = type(part.body) is SlidingBeam",
        "x = part.body.kind == 'rigid'",
        "x = part.body.kind in ('exact', 'modal')",
        "x = {'rigid': 0, 'modal': 1}[part.body.kind]",
        "match part.body:\n    case ReducedBody():\n        pass",
        "match part.body.kind:\n    case 'growing':\n        pass",
    ],
)
def test_checker_finds_a_branch_on_a_body(line: str, tmp_path: Path) -> None:
    (tmp_path / "check.py").write_text(line)
    assert branches(tmp_path) == ["check.py:1"]


def test_checker_lets_facts_and_the_bodies_own_files_pass(tmp_path: Path) -> None:
    (tmp_path / "mechanics" / "bodies").mkdir(parents=True)
    (tmp_path / "mechanics" / "bodies" / "exact.py").write_text("x = body.kind == 'exact'")
    (tmp_path / "check.py").write_text("x = part.body.measured\ny = base.kind == 'fixed'")
    assert branches(tmp_path) == []
