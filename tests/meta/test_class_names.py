"""A class name stands once in the package, so that a word means one thing."""

import ast
from collections import defaultdict
from pathlib import Path

import flexarm

PACKAGE = Path(flexarm.__file__).parent


def class_names(package: Path) -> dict[str, list[str]]:
    """Return the places of each class, by its name."""
    places = defaultdict(list)
    for path in sorted(package.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{path.relative_to(package).as_posix()}:{node.lineno}")
    return places


def repeated(package: Path) -> dict[str, list[str]]:
    """Return the class names that stand more than once, with their places."""
    return {name: places for name, places in class_names(package).items() if len(places) > 1}


def test_a_class_name_stands_once() -> None:
    assert repeated(PACKAGE) == {}


def test_checker_finds_a_name_that_stands_twice(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("class Plan:\n    pass\n")
    (tmp_path / "two.py").write_text("def made():\n    class Plan:\n        pass\n")
    assert repeated(tmp_path) == {"Plan": ["one.py:1", "two.py:2"]}
