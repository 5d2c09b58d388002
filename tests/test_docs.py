"""What the pages in docs/ say is so: their examples run, their messages are real."""

import re
import shlex
from pathlib import Path

import pytest

from docs.make_gallery import PAGE as GALLERY
from docs.make_gallery import SHOWN
from docs.make_gallery import page as gallery
from docs.make_images import FIGURES
from docs.make_viewer_image import PICTURES
from flexarm import build
from flexarm.cli import main
from flexarm.errors import ModelError
from flexarm.io.model_file import load, loads
from flexarm_papers import PAPERS, choose_items
from tests.docs_blocks import (
    ROOT,
    Block,
    assert_printed,
    blocks,
    commands,
    links,
    write_files,
)
from tests.physics.cases import campaign_if

DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
MODEL_FILE = DOCS / "model-file.md"
MORE = DOCS / "model-file-more.md"
REFUSED = MORE.read_text(encoding="utf-8").partition("## What is refused")[2] + (
    ROOT / "tests/refusals.md"
).read_text(encoding="utf-8")
REFUSAL = re.compile(r"^\| `(.+?)` \| (?:`(.+?)`|nothing) \| `(.+)` \|$", re.MULTILINE)
NAMED_TEST = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")


def numbered(language: str) -> list[tuple[str, int]]:
    """List the blocks of one language by page and number, as names of tests."""
    return [
        (page.relative_to(DOCS).as_posix(), number)
        for page in PAGES
        for number in range(len(blocks(page, language)))
    ]


def folder_of(page: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Go where the files of a page are; return the page."""
    write_files(DOCS / page, folder)
    monkeypatch.chdir(folder)
    return DOCS / page


def model_text(block: Block) -> str:
    """Complete the text of a model file."""
    if block.kind == "links":
        return "flexarm: 1\nname: links of an example\nlinks:\n" + block.content
    return block.content


def make_targets() -> set[str]:
    """List what `make` can make."""
    return set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


@pytest.mark.parametrize(("page", "number"), numbered("yaml"))
def test_every_arm_loads_and_builds(
    page: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    block = blocks(folder_of(page, tmp_path, monkeypatch), "yaml")[number]
    if block.name.endswith(".flex.yaml"):  # read by a command of the page
        return
    if block.content.startswith("study: 1"):  # run by the page's commands
        assert block.kind == "file"
        return
    if block.content.startswith("modal_data: 1"):
        # Read by the page's arm, or by tests/io/test_modal_data.py.
        assert block.kind == "file" or page == "modal-data.md"
        return
    assert block.kind in ("arm", "links")
    build(loads(model_text(block)))


# Pages whose examples take seconds: for campaigns.
LONG_EXAMPLES = (
    "control.md", "gradients.md", "live.md", "how-to/choose-a-basis.md",
    "how-to/design-a-controller.md", "how-to/drive-trains.md", "how-to/fit-a-model.md",
    "how-to/free-base.md", "how-to/from-measurement-to-motion.md", "how-to/hold-joints.md",
    "how-to/mission.md",
    "how-to/moving-bases.md", "how-to/plan-a-motion.md", "how-to/riding-links.md",
    "how-to/shape-inputs.md", "how-to/telescoping-links.md", "how-to/touch-things.md",
    "papers/chu.md", "papers/theodore.md",
    # single blocks
    "errors.md-0", "examples.md-4", "examples.md-8", "how-to/read-a-run.md-1", "papers/graves.md-2",
    "simulate.md-0", "simulate.md-1",
)  # fmt: skip


@pytest.mark.few(28)
@pytest.mark.parametrize(
    ("page", "number"),
    [
        pytest.param(
            page,
            number,
            marks=campaign_if(page in LONG_EXAMPLES or f"{page}-{number}" in LONG_EXAMPLES),
        )
        for page, number in numbered("python")
    ],
)
def test_every_python_block_runs_and_prints_what_the_page_shows(
    page: str,
    number: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    block = blocks(folder_of(page, tmp_path, monkeypatch), "python")[number]
    exec(compile(block.content, f"{page}, block {number + 1}", "exec"), {"__name__": "__main__"})
    assert_printed(capsys.readouterr().out, block.output)


# Pages whose commands other tests run on smaller arms.
SLOW = (
    "compare.md", "converge.md", "engine.md", "live.md", "papers/reproduce.md", "start.md",
    "study.md", "viewer.md",
    "how-to/choose-a-basis.md", "how-to/lighter-arm.md", "how-to/other-programs.md",
    "how-to/plan-a-motion.md",
)  # fmt: skip


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=campaign_if(page in SLOW))
        for page, number in numbered("sh")
        if number == 0
    ],
)
def test_every_command_runs_and_prints_what_the_page_shows(
    page: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for line, shown in commands(folder_of(page, tmp_path, monkeypatch)):
        program, *arguments = shlex.split(line)
        if program == "make":  # run for real, in a fresh clone, by .ci/run
            assert set(arguments) <= make_targets()
            continue
        assert program == "flexarm", line
        assert main(arguments) == 0
        assert_printed(capsys.readouterr().out, shown)


@pytest.mark.parametrize(("before", "after", "message"), REFUSAL.findall(REFUSED))
def test_every_message_in_the_tables_is_what_is_said(
    before: str, after: str, message: str, tmp_path: Path
) -> None:
    write_files(MODEL_FILE, tmp_path)
    crane = tmp_path / "crane.yaml"
    text = crane.read_text(encoding="utf-8")
    assert before in text
    crane.write_text(text.replace(before, after, 1), encoding="utf-8")
    with pytest.raises(ModelError) as error:
        build(load(crane))
    said = str(error.value)
    assert re.sub(rf"^{re.escape(str(crane))}:\d+:\d+: ", "", said) == message


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_test_that_a_page_names_is_there(page: Path) -> None:
    for path, name in NAMED_TEST.findall(page.read_text(encoding="utf-8")):
        source = (ROOT / path).read_text(encoding="utf-8")
        assert not name or f"\ndef {name}(" in source, f"{path}::{name}"


def test_scripts_draw_every_picture_that_pages_show() -> None:
    shown = {Path(target) for page in PAGES for target in links(page)}
    of_papers = {path for path in shown if path.parent.name == "papers" and path.suffix == ".png"}
    items = {f"{paper}-{item.name}" for paper in PAPERS for item in choose_items(paper, None)}
    assert {path.stem.rpartition("-")[0] for path in of_papers} <= items
    shown -= of_papers
    drawn = {path.stem for path in shown if path.suffix == ".png"}
    assert drawn - PICTURES.keys() == set(FIGURES)
    assert {path.stem for path in shown if path.suffix == ".jpg"} == set(SHOWN)


def test_the_gallery_is_as_the_samples_say() -> None:
    assert GALLERY.read_text(encoding="utf-8") == gallery()


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=campaign_if(name != "profiles")) for name in FIGURES]
)
def test_every_picture_can_be_drawn_again(name: str, tmp_path: Path) -> None:
    FIGURES[name]().savefig(tmp_path / "picture.png", dpi=40)
