"""What CONTRIBUTING.md says is so: rooms, commands, files to touch."""

import re
import shlex
from pathlib import Path

import pytest

import flexarm
from tests.docs_blocks import ROOT, commands
from tests.meta.test_files_to_touch import ADDITIONS
from tests.test_imports import ROOMS

PAGE = ROOT / "CONTRIBUTING.md"
TEXT = PAGE.read_text(encoding="utf-8")
PACKAGE = Path(flexarm.__file__).parent
TOUCHED = re.findall(r"^\| ([\w ]+) \| (\d) \| (.+) \|$", TEXT, re.MULTILINE)


def test_the_rooms_are_those_that_imports_are_held_to_and_in_their_order() -> None:
    table = TEXT.partition("\n## Rooms\n")[2].partition("\n## ")[0]
    assert tuple(re.findall(r"^\| `(\w+)` \| .+ \|$", table, re.MULTILINE)) == ROOMS


@pytest.mark.parametrize("line", [line for line, _ in commands(PAGE)])
def test_every_command_is_a_target_or_names_a_test(line: str) -> None:
    program, *arguments = shlex.split(line)
    if program == "make":
        assert f"\n{arguments[0]}: " in (ROOT / "Makefile").read_text(encoding="utf-8")
        return
    assert program == ".venv/bin/python"
    source = (ROOT / next(part for part in arguments if part.endswith(".py"))).read_text()
    word = arguments[-1] if "-k" in arguments else ""
    assert re.search(rf"^def test_\w*{word}", source, re.MULTILINE), word


def test_the_gate_and_the_other_commands_in_sentences_are_targets() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = {target for line in re.findall(r"`make ([\w ]+)`", TEXT) for target in line.split()}
    assert {"setup", "lint", "types", "docs", "test"} <= named
    assert [target for target in named if f"\n{target}: " not in makefile] == []


@pytest.mark.parametrize(("what", "count", "which"), TOUCHED)
def test_the_files_to_touch_are_there(what: str, count: str, which: str) -> None:
    files = re.findall(r"`([\w/]+\.\w+)`", which)
    assert len(files) == int(count)
    for file in files:
        known = file.replace("NAME", "*").replace("PAPER", "*")
        package = PACKAGE.parent if known.startswith("flexarm_papers/") else PACKAGE
        assert any(package.glob(known)), file
        if what in ADDITIONS and "NAME" not in file:
            assert file in {edit[0] for edit in ADDITIONS[what].edits}


def test_the_numbers_are_those_that_are_measured() -> None:
    said = {what: int(count) for what, count, _ in TOUCHED}
    assert {what: said[what] for what in ADDITIONS} == {
        what: addition.files for what, addition in ADDITIONS.items()
    }
