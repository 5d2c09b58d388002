"""`flexarm view`: the page it writes, and what it refuses."""

import re
from pathlib import Path

import pytest

from flexarm.cli import main
from flexarm.io.model_file import loads
from flexarm.viewer import movie
from flexarm.viewer.serve import Server
from tests.viewer.poses import random_run
from tests.viewer.test_drawing import TUBE


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("run") / "fall.nc"
    random_run(loads(TUBE, "tube"), 3).save(path)
    return path.read_bytes()


@pytest.fixture
def run(kept: bytes, tmp_path: Path) -> Path:
    path = tmp_path / "fall.nc"
    path.write_bytes(kept)
    return path


def test_view_writes_a_page_beside_the_run_and_says_where(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["view", str(run)]) == 0
    page = run.with_suffix(".html")
    assert capsys.readouterr().out == f"page: {page}\n"
    assert "<title>bent tube (flexarm)</title>" in page.read_text(encoding="utf-8")


def test_view_overwrites_a_page_only_when_forced(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = run.with_name("page.html")
    out.write_text("mine", encoding="utf-8")
    assert main(["view", str(run), "--out", str(out)]) == 1
    assert "--force" in capsys.readouterr().err
    assert out.read_text(encoding="utf-8") == "mine"
    assert main(["view", str(run), "--out", str(out), "--force"]) == 0
    assert out.read_text(encoding="utf-8") != "mine"


@pytest.mark.campaign
def test_view_compares_runs_by_the_names_of_their_files(run: Path) -> None:
    others = [run.with_name(f"{name}.nc") for name in ("rise", "stand")]
    for other in others:
        other.write_bytes(run.read_bytes())
    assert main(["view", str(run), *map(str, others)]) == 0
    page = run.with_suffix(".html").read_text(encoding="utf-8")
    for name in ("fall", "rise", "stand"):
        assert f'"label":"{name}"' in page


@pytest.mark.campaign
def test_view_writes_a_film(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(movie, "PICTURE_RATE", 1)
    film = run.with_suffix(".gif")
    assert main(["view", str(run), "--movie", str(film)]) == 0
    assert capsys.readouterr().out == f"film: {film}\n"
    assert film.read_bytes().startswith(b"GIF89a")
    assert main(["view", str(run), "--movie", str(run.with_suffix(".avi"))]) == 1
    assert "ends in one of .gif, .webm, .mp4" in capsys.readouterr().err


def test_view_writes_a_picture_of_a_run_or_an_arm(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for given, size in ((str(run), 2e3), ("driven-link", 2e3)):
        out = run.with_name("still.png")
        assert main(["view", given, "--picture", str(out), "--force"]) == 0
        assert capsys.readouterr().out == f"picture: {out}\n"
        assert out.stat().st_size > size
    assert main(["view", str(run), "--picture", "run.gif"]) == 2
    assert "--picture: must end in .png" in capsys.readouterr().err
    still = ["--picture", str(run.with_name("other.png"))]
    assert main(["view", "driven-link", *still, "--at", "0.2"]) == 2
    assert "--at is a time of a run, and driven-link is an arm" in capsys.readouterr().err
    assert main(["view", str(run), *still, "--at", "99"]) == 1
    assert "at: must be between 0 and" in capsys.readouterr().err


def test_view_serves_until_it_is_interrupted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Server, "serve_forever", stop)
    path = tmp_path / "later.nc"
    assert main(["view", str(path), "--serve"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert re.match(r"page: http://127\.0\.0\.1:\d+/ \(on this machine only; ctrl-C", first)
    assert second.startswith(f"waiting for {path}: 'flexarm simulate ARM")


def test_view_of_a_missing_run_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["view", str(tmp_path / "none.nc")]) == 1
    assert "no such file" in capsys.readouterr().err


def test_view_of_what_is_no_run_says_so_even_if_its_page_is_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "k.csv").write_text("time\n0\n")
    (tmp_path / "k.html").write_text("mine")
    assert main(["view", str(tmp_path / "k.csv")]) == 1
    assert "k.csv: cannot be read as a NetCDF file" in capsys.readouterr().err
    assert (tmp_path / "k.html").read_text() == "mine"


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (
            ["--serve", "--out", "z.html"],
            "--serve writes no file. Leave --serve out, or leave out --out, --movie",
        ),
        (["--serve", "--force"], "or leave out --out, --movie, --picture and --force"),
        (["--movie", "z.gif", "--open"], "--movie writes no page. Leave out --out and --open"),
        (["--picture", "z.png", "--open"], "--picture writes no page. Leave out --picture, or"),
        (
            ["--picture", "z.png", "--movie", "z.gif"],
            "--movie and --picture exclude each other. Give one of them",
        ),
        (["--at", "1"], "--at is used only with --picture"),
        (["--port", "80"], "--port is used only with --serve"),
        (["--serve", "--port", "99999"], "must be a number from 0 to 65535, got 99999"),
        (["--serve", "--port=-5"], "must be a number from 0 to 65535, got -5"),
        (["--serve", "--port", "http"], "must be a number from 0 to 65535, got http"),
    ],
)
def test_view_refuses_options_that_it_would_not_heed(
    run: Path, capsys: pytest.CaptureFixture[str], argv: list[str], message: str
) -> None:
    try:
        code = main(["view", str(run), *argv])
    except SystemExit as ended:
        code = int(str(ended.code))
    assert code == 2
    assert message in capsys.readouterr().err
    assert not run.with_suffix(".html").exists()


def test_view_does_not_write_over_a_run_that_it_shows(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, link = run.read_bytes(), run.with_name("link.html")
    link.symlink_to(run)
    for out in (run, link):
        assert main(["view", str(run), "--out", str(out), "--force"]) == 1
        assert "is the input file" in capsys.readouterr().err
    assert run.read_bytes() == before
