"""`flexarm cache`: where it is, what is in it, and clearing it."""

import json
import os
from pathlib import Path

import pytest

from flexarm.cli import main
from flexarm.engine.cache import VARIABLE, Cache, cache_folder


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Put two entries into a cache of our own."""
    folder = tmp_path / "cache"
    monkeypatch.setenv(VARIABLE, str(folder))
    Cache(folder).put("one", bytes(1_000_000))
    Cache(folder).put("two", bytes(500_000))
    return folder


def test_folder_entries_and_size_are_shown(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cache"]) == 0
    assert capsys.readouterr().out == f"folder   {folder}\nentries  2\nsize     1.5 MB\n"


def test_clearing_says_how_many_entries_went(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cache", "--clear"]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "entries  0",
        "size     0.0 MB",
        "deleted  2",
    ]
    assert list(folder.iterdir()) == []


def test_the_report_as_json_is_one_document(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cache", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    size = sum(file.stat().st_size for file in folder.iterdir())
    assert report == {"folder": str(folder), "entries": 2, "bytes": size, "deleted": 0}


def test_a_cache_that_is_not_there_is_empty(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "none"))
    assert main(["cache", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["entries"] == 0
    assert not (tmp_path / "none").exists()


def test_the_null_device_turns_the_cache_off(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(VARIABLE, os.devnull)
    cache = Cache(cache_folder())
    cache.put("key", b"data")
    assert cache.get("key") is None
    said = f"folder   {os.devnull}: the cache is off\nentries  0\nsize     0.0 MB\n"
    assert main(["cache"]) == 0
    assert capsys.readouterr().out == said
    assert main(["cache", "--clear"]) == 0
    assert capsys.readouterr().out == f"{said}deleted  0\n"
    assert main(["simulate", "driven-link", "--t-end", "0.01"]) == 0
