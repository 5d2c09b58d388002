"""Layout: packages import upwards only, and no files import each other in a circle."""

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

import flexarm

PACKAGE = Path(flexarm.__file__).parent

# `FRONT` is `flexarm` itself: it re-exports from the rooms above it, and is for users.
FRONT = "flexarm"
ROOMS = (
    "errors",
    "constants",
    "interrupts",
    "figures",
    "threads",
    "engine",
    "loops",
    "spatial",
    "linear_model",
    "units",
    "arguments",
    "arm",
    "samples",
    "io",
    "links",
    "model",
    "mechanics",
    "formulations",
    "accuracy",
    "runs",
    "linear",
    "integrate",
    "gradients",
    "check",
    "closed_forms",
    "studies",
    "control",
    "exports",
    "planning",
    "fitting",
    "viewer",
    FRONT,
    "cli",
)

# A run writes its own page, when it is asked to.
EXCEPTIONS = {("runs/run", "viewer")}

# What is given to `import_module`, or kept in a table for it.
MODULE_IN_TEXT = rf"flexarm\.({'|'.join(ROOMS)})(\.\w+)*$"


def violations(package: Path) -> list[str]:
    """Describe every import in a package tree that points down the list of rooms, or out of it."""
    found = []
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).with_suffix("").parts
        room = {"__init__": FRONT, "__main__": "cli"}.get(parts[0], parts[0])
        for line, module in imported_modules(path, inside=("flexarm", *parts[:-1])):
            target = room_of(module, package)
            why = forbidden(room, target)
            if why and ("/".join(parts), target) not in EXCEPTIONS:
                found.append(f"{'/'.join(parts)}.py:{line}: {why}")
    return found


def forbidden(room: str, target: str) -> str | None:
    """Say why a room may not import another, or None if it may."""
    for name in (room, target):
        if name not in ROOMS:
            return f"'{name}' is not a known room"
    if room == target:
        return None
    if room == "engine" and target != "errors":
        return f"'engine' imports '{target}', but may import 'errors' only"
    if ROOMS.index(target) > ROOMS.index(room):
        return f"'{room}' imports '{target}', which is listed below it"
    return None


@cache
def nodes_of(text: str) -> tuple[ast.AST, ...]:
    """List all that a file may import by: statements, and texts where there are any."""
    kinds = ast.Import | ast.ImportFrom | ast.Constant
    holds = ast.stmt | ast.excepthandler | ast.match_case  # statements; texts stand anywhere
    within = ast.AST if re.search("[\"']flexarm[.]", text) else holds
    found, pending = list[ast.AST](), list[ast.AST]([ast.parse(text)])
    while pending:
        inside = [each for each in ast.iter_child_nodes(pending.pop()) if isinstance(each, within)]
        found += [each for each in inside if isinstance(each, kinds)]
        pending += inside
    return tuple(sorted(found, key=lambda each: int(getattr(each, "lineno", 0))))


def imported_modules(path: Path, *, inside: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """Yield line and dotted name of each import of flexarm, wherever in the file it stands."""
    for node in nodes_of(path.read_text(encoding="utf-8")):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = inside[: len(inside) - node.level + 1] if node.level else ()
            start = ".".join([*above, *filter(None, [node.module])])
            names = [f"{start}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Constant) and re.match(MODULE_IN_TEXT, str(node.value)):
            names = [str(node.value)]
        else:
            continue
        yield from ((node.lineno, name) for name in names if name.partition(".")[0] == "flexarm")


@cache
def room_of(module: str, package: Path) -> str:
    """Name the room of a dotted name: the front, unless it goes through a file or a known room."""
    name = module.split(".")[1] if "." in module else ""
    on_disk = (package / f"{name}.py").is_file() or any((package / name).glob("*.py"))
    return name if name in ROOMS or (name and on_disk) else FRONT


def top_level_rooms(package: Path) -> set[str]:
    """Collect the rooms that hold Python files."""
    files = (path.relative_to(package) for path in package.rglob("*.py"))
    return {file.parts[0].removesuffix(".py") for file in files} - {"__init__", "__main__"}


def write_tree(package: Path, files: dict[str, str]) -> Path:
    """Write a small package tree."""
    for name, text in files.items():
        path = package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return package


def test_every_room_of_the_package_is_in_the_list() -> None:
    assert top_level_rooms(PACKAGE) <= set(ROOMS)


def test_every_folder_of_the_package_has_an_init_file() -> None:
    folders = {path.parent for path in PACKAGE.rglob("*.py")}
    assert [folder.name for folder in folders if not (folder / "__init__.py").is_file()] == []


def test_no_module_imports_a_room_listed_below_its_own() -> None:
    assert violations(PACKAGE) == []


@pytest.mark.parametrize(
    ("file", "text", "line", "target"),
    [
        ("arm.py", "import flexarm.model", 1, "model"),
        ("arm/link.py", "from flexarm.io.model_file import load", 1, "io"),
        ("arm.py", "def f():\n    from flexarm.links import base", 2, "links"),
        (
            "arm.py",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import flexarm.io",
            3,
            "io",
        ),
        ("links/modes.py", "from ..formulations import base", 1, "formulations"),
        ("links/__init__.py", "from .. import model", 1, "model"),
        ("io/run.py", "from flexarm import build", 1, "flexarm"),
        ("io/run.py", "import flexarm", 1, "flexarm"),
        ("io/run.py", "from flexarm import linear", 1, "linear"),
        ("model.py", "from importlib import import_module\nimport_module('flexarm.cli')", 2, "cli"),
        ("control/laws/pd.py", "import flexarm.viewer", 1, "viewer"),
        ("viewer/page.py", "from flexarm.cli import main", 1, "cli"),
        ("__init__.py", "from flexarm.cli import main", 1, "cli"),
        ("viewer/page.py", "import flexarm", 1, "flexarm"),
    ],
)
def test_checker_catches_an_import_that_points_down_the_list(
    tmp_path: Path, file: str, text: str, line: int, target: str
) -> None:
    (found,) = violations(write_tree(tmp_path, {file: text}))
    assert found.startswith(f"{file}:{line}: ")
    assert f"imports '{target}', which is listed below it" in found


@pytest.mark.parametrize("target", ["spatial", "arm", "io"])
def test_checker_lets_engine_import_errors_only(tmp_path: Path, target: str) -> None:
    text = f"import flexarm.errors\nimport flexarm.{target}"
    (found,) = violations(write_tree(tmp_path, {"engine/trace.py": text}))
    assert found.startswith("engine/trace.py:2: 'engine' imports")


def test_checker_catches_a_room_that_is_not_in_the_list(tmp_path: Path) -> None:
    files = {"utils.py": "", "cli/run.py": "from flexarm import utils"}
    package = write_tree(tmp_path, files)
    assert top_level_rooms(package) - set(ROOMS) == {"utils"}
    assert violations(package) == ["cli/run.py:1: 'utils' is not a known room"]


def test_checker_lets_imports_up_the_list_and_within_a_room_pass(tmp_path: Path) -> None:
    files = {
        "arm/link.py": "import numpy\nfrom flexarm.errors import ModelError\nfrom . import joint",
        "links/modes.py": "from .base import Shape\nfrom ..arm import Link\nimport flexarm.spatial",
        "cli/check.py": "from flexarm import load\nimport flexarm.viewer",
        "__init__.py": "'flexarm.errors'\n'flexarm is a word in a sentence. flexarm.cli is not.'",
    }
    assert violations(write_tree(tmp_path, files)) == []


def test_only_the_command_line_imports_the_papers() -> None:
    users = [
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if re.search("^ *(from|import) flexarm_papers", path.read_text("utf-8"), re.MULTILINE)
    ]
    assert users == ["cli/reproduce.py"]


def circles(package: Path) -> list[list[str]]:
    """Find files that import each other in a circle, at the top, in functions or for types."""
    files = {
        ".".join(("flexarm", *path.relative_to(package).with_suffix("").parts)): path
        for path in package.rglob("*.py")
    }
    modules = {name.removesuffix(".__init__"): path for name, path in files.items()}
    imports = {}
    for name, path in modules.items():
        inside = ("flexarm", *path.relative_to(package).parts[:-1])
        wanted = (module for _, module in imported_modules(path, inside=inside))
        imports[name] = {found for each in wanted if (found := nearest(each, modules)) != name}
    while free := {name for name, needed in imports.items() if not needed & imports.keys()}:
        imports = {name: needed for name, needed in imports.items() if name not in free}
    while free := imports.keys() - set().union(*imports.values()):  # needed by none that is left
        imports = {name: needed for name, needed in imports.items() if name not in free}
    return [sorted(imports)] if imports else []


def nearest(module: str, modules: Mapping[str, Path]) -> str:
    """Name the file that a dotted name is imported from."""
    while module not in modules:
        module = module.rpartition(".")[0]
    return module


def test_no_files_import_each_other_in_a_circle() -> None:
    assert circles(PACKAGE) == []


def test_checker_finds_a_circle_of_lazy_imports_and_names_no_other_file(tmp_path: Path) -> None:
    files = {
        "__init__.py": "",
        "runs/__init__.py": "",
        "runs/run.py": "def page():\n    from flexarm.viewer import page",
        "viewer/__init__.py": "",
        "viewer/page.py": "if TYPE_CHECKING:\n    from flexarm.runs.run import Run",
        "cli/__init__.py": "from flexarm.runs import run",
    }
    found = circles(write_tree(tmp_path, files))
    assert found == [["flexarm.runs.run", "flexarm.viewer.page"]]


def test_every_public_name_is_what_the_type_checker_sees_and_can_be_imported() -> None:
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    seen = {
        alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("flexarm.")
        for alias in node.names
    }
    assert seen == flexarm._HOMES
    assert sorted(flexarm.__all__) == sorted(seen)
    for name in flexarm.__all__:
        assert getattr(flexarm, name).__name__ == name
    assert set(flexarm.__all__) <= set(dir(flexarm))


def test_an_unknown_public_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'lode'"):
        getattr(flexarm, "lode")  # noqa: B009 (the type checker knows it is not there)
