"""A class name stands once in the package, so that a word means one thing."""

import re
from collections import defaultdict
from pathlib import Path

import flexarm

PACKAGE = Path(flexarm.__file__).parent
CLASS = re.compile(r"^ *class (\w+)[(:\[]", re.MULTILINE)


def class_names(package: Path) -> dict[str, list[str]]:
    """Return the places of each class, by its name."""
    places = defaultdict(list)
    for path in sorted(package.rglob("*.py")):
        text, name = path.read_text(encoding="utf-8"), path.relative_to(package).as_posix()
        for found in CLASS.finditer(text):
            line = text.count("\n", 0, found.start()) + 1
            places[found[1]].append(f"{name}:{line}")
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
