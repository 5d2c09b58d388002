"""Nothing but a joint's own file and its description asks which kind of joint it is."""

import ast
import re
from pathlib import Path
from typing import get_args

import pytest

import flexarm
from flexarm.arm import Joint
from flexarm.model.joints import JOINTS

PACKAGE = Path(flexarm.__file__).parent
OWN = ("arm/", "model/joints/")
DESCRIBED = get_args(get_args(Joint)[0])
CLASSES = {each.__name__ for each in (*DESCRIBED, *JOINTS.values())}
DECIDING = (ast.Call, ast.Compare, ast.Match, ast.Subscript)
PACKAGES = ("flexarm.arm", "flexarm.model.joints")
# In every such decision: a class, or the kind of a joint as a text.
NAMED = re.compile(rf"\b({'|'.join(sorted(CLASSES))})\b|[\"']({'|'.join(JOINTS)})[\"']")


def branches(package: Path) -> list[str]:
    """List the places outside the joints' own that decide by a joint's class or kind."""
    found = []
    for path in sorted(package.rglob("*.py")):
        name, text = path.relative_to(package).as_posix(), path.read_text(encoding="utf-8")
        if not name.startswith(OWN) and NAMED.search(text):
            tree = ast.parse(text)
            known = joint_classes(tree)
            lines = {
                node.lineno
                for node in ast.walk(tree)
                if isinstance(node, DECIDING) and decides(node, known)
            }
            found += [f"{name}:{line}" for line in sorted(lines)]
    return found


def joint_classes(tree: ast.Module) -> set[str]:
    """Collect the names under which a file imports classes of joints."""
    return {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGES)
        for alias in node.names
        if alias.name in CLASSES
    }


def decides(node: ast.stmt | ast.expr, known: set[str]) -> bool:
    """Tell whether an expression or a statement decides by a joint's class or kind."""
    parts: list[ast.AST]
    match node:
        case ast.Call(func=ast.Name("isinstance" | "issubclass"), args=[_, of]):
            parts, by_kind = [of], False
        case ast.Compare(left=left, comparators=others):
            parts, by_kind = [left, *others], any(map(is_kind, [left, *others]))
        case ast.Match(subject=subject, cases=cases):
            parts, by_kind = [each.pattern for each in cases], is_kind(subject)
        case ast.Subscript(value=ast.Dict() as table, slice=key):
            parts, by_kind = [table], is_kind(key)
        case _:
            return False
    by_class = any(names(part) & known for part in parts)
    return by_class or (by_kind and any(words(part) & JOINTS.keys() for part in parts))


def names(tree: ast.AST) -> set[str]:
    """Collect the names in an expression."""
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def words(tree: ast.AST) -> set[str]:
    """Collect the texts in an expression."""
    return {str(node.value) for node in ast.walk(tree) if isinstance(node, ast.Constant)}


def is_kind(tree: ast.AST) -> bool:
    """Tell whether an expression is a kind; that of the arm's base is no joint's."""
    if not isinstance(tree, ast.Name | ast.Attribute):
        return False
    return ast.unparse(tree).endswith("kind") and not ast.unparse(tree).endswith("base.kind")


def test_nothing_asks_which_joint_it_is() -> None:
    assert branches(PACKAGE) == []


@pytest.mark.parametrize(
    "line",
    [
        "x = isinstance(link.joint, Spherical)",
        "x = isinstance(link.joint, (Moved, Spherical))",
        "x = type(link.motion) is Spherical",
        "x = link.joint.kind == 'revolute'",
        "x = part.kind in ('prismatic', 'sliding')",
        "x = {'revolute': 'rad', 'prismatic': 'm'}[joint.kind]",
        "match link.joint:\n    case Spherical():\n        pass",
        "match link.joint.kind:\n    case 'screw' | 'fixed':\n        pass",
    ],
)
@pytest.mark.parametrize(
    ("package", "name"),
    [("flexarm.arm", "Spherical"), ("flexarm.model.joints.spherical", "SphericalKinematics")],
)
def test_checker_finds_a_branch(line: str, package: str, name: str, tmp_path: Path) -> None:
    line = line.replace("Spherical", name)
    (tmp_path / "mechanics.py").write_text(f"from {package} import {name}\n{line}\n")
    assert branches(tmp_path) == ["mechanics.py:2"]


def test_checker_lets_other_kinds_and_the_joints_own_files_pass(tmp_path: Path) -> None:
    (tmp_path / "arm").mkdir()
    (tmp_path / "arm" / "joint.py").write_text("x = joint.kind == 'revolute'")
    (tmp_path / "check.py").write_text("x = base.kind == 'fixed'\ny = shapes.kind == 'loaded'")
    assert branches(tmp_path) == []
