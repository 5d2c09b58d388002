"""Chunks of a study on disk: one that is damaged, exchanged or changed is noticed."""

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flexarm
from flexarm.errors import FlexarmError
from flexarm.studies.design import table
from flexarm.studies.design.table import StudyTable, of_file, to_bytes

REMEDY = "delete this chunk, and the same study computes it again"


def halved(design: dict[str, float]) -> float:
    """Return half of the parameter."""
    return design["x"] / 2


def given(**other: Any) -> dict[str, Any]:
    """Describe a study of eight designs in four chunks."""
    return {
        "parameters": {"x": [0, 1], "word": {"values": ["a", "b"]}},
        "sampling": {"kind": "random", "count": 8},
        "quantities": {"f": {"function": halved, "takes": "design"}},
        "chunk": 2,
        "workers": 1,
        **other,
    }


@pytest.fixture(params=["npz", "parquet"])
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    """Compute the study, and give its folder."""
    if request.param == "parquet":
        pytest.importorskip("pyarrow.parquet")
    else:
        monkeypatch.setattr(table, "find_spec", lambda name: None)
    flexarm.study(given(), out=tmp_path / "out")
    return tmp_path / "out"


def chunk(folder: Path, number: int) -> Path:
    """Return the file of a chunk."""
    (path,) = folder.glob(f"chunk-{number:06d}.*")
    return path


def rewritten(change: Callable[[dict[str, Any]], None]) -> Callable[[Path], None]:
    """Return what changes the columns of a chunk, and leaves its checksum as it was."""

    def write(folder: Path) -> None:
        path = chunk(folder, 1)
        columns, stated = of_file(path)
        change(columns)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(table, "checksum_of", lambda _: stated)
            path.write_bytes(to_bytes(columns, path.suffix[1:]))

    return write


def copied(folder: Path) -> None:
    shutil.copy(chunk(folder, 0), chunk(folder, 1))


def shortened(columns: dict[str, Any]) -> None:
    for name, values in columns.items():
        columns[name] = values[:1]


def number_changed(columns: dict[str, Any]) -> None:
    columns["f"] = columns["f"] + 1e-9


def value_changed(columns: dict[str, Any]) -> None:
    columns["x"] = columns["x"] + 1e-9


def key_changed(columns: dict[str, Any]) -> None:
    columns["key"] = columns["key"][::-1]


def column_lost(columns: dict[str, Any]) -> None:
    del columns["status"]


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (copied, "has other rows than 2 to 3"),
        (rewritten(shortened), "has 1 rows instead of 2"),
        (rewritten(number_changed), "was changed since it was written"),
        (rewritten(value_changed), "has rows of another study, or changed ones"),
        (rewritten(key_changed), "has rows of another study, or changed ones"),
        (rewritten(column_lost), "has other columns than the study"),
    ],
)
def test_a_chunk_that_is_not_the_one_that_was_written_is_noticed(
    folder: Path, damage: Callable[[Path], None], said: str
) -> None:
    before = flexarm.load_study(folder).columns
    damage(folder)
    with pytest.raises(FlexarmError, match=f"{said}: {REMEDY}"):
        _ = flexarm.load_study(folder).columns
    chunk(folder, 1).unlink()
    again = flexarm.study(given(), out=folder).columns
    assert all(np.array_equal(again[name], values) for name, values in before.items())


def test_a_chunk_without_its_checksum_is_noticed_but_in_folders_of_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "find_spec", lambda name: None)
    flexarm.study(given(), out=tmp_path)
    path = tmp_path / "chunk-000001.npz"
    columns, _ = of_file(path)
    np.savez(
        path, allow_pickle=False, **{f"column:{name}": values for name, values in columns.items()}
    )
    with pytest.raises(FlexarmError, match="was changed since it was written"):
        _ = flexarm.load_study(tmp_path).columns
    about = {**StudyTable.open(tmp_path).about, "format": 1}
    del about["checksum"]
    (tmp_path / "study.json").write_text(json.dumps(about), encoding="utf-8")
    assert len(flexarm.load_study(tmp_path).columns["f"]) == 8


def test_rows_of_another_study_are_noticed(folder: Path, tmp_path: Path) -> None:
    other = given(quantities={"f": {"function": abs_x, "takes": "design"}})
    flexarm.study(other, out=tmp_path / "other")
    shutil.copy(chunk(tmp_path / "other", 1), chunk(folder, 1))
    with pytest.raises(FlexarmError, match="has rows of another study, or changed ones"):
        _ = flexarm.load_study(folder).columns


def abs_x(design: dict[str, float]) -> float:
    """Return the size of the parameter."""
    return abs(design["x"])


def test_a_chunk_beyond_the_last_is_noticed_and_other_names_are_none_of_ours(folder: Path) -> None:
    first = chunk(folder, 0)
    shutil.copy(first, folder / f"chunk-0000001{first.suffix}")
    assert flexarm.load_study(folder).progress.done == 8
    shutil.copy(first, folder / f"chunk-000004{first.suffix}")
    for use in (
        lambda: flexarm.load_study(folder).progress.done,
        lambda: flexarm.study(given(), out=folder),
    ):
        with pytest.raises(
            FlexarmError, match=r"does not belong to this study, which has 4 chunks. Del"
        ):
            use()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("chunk", 0), ("chunk", -1), ("chunk", "2"), ("count", 0), ("count", 2.5), ("chunk", True),
        ("parts", 1), ("parameters", "x"), ("sampling", None), ("format", 3), ("kind", "zip"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("old", [False, True])
def test_a_description_that_no_study_has_is_refused(
    folder: Path, key: str, value: Any, old: bool
) -> None:
    path = folder / "study.json"
    about = json.loads(path.read_bytes()) | ({"format": 1} if old else {}) | {key: value}
    path.write_text(json.dumps(about), encoding="utf-8")
    with pytest.raises(
        FlexarmError, match=r"study\.json: cannot be read as the description of a study"
    ):
        flexarm.load_study(folder)
    with pytest.raises(
        FlexarmError, match=r"study\.json: cannot be read as the description of a study"
    ):
        flexarm.study(given(), out=folder)


@pytest.mark.parametrize(
    ("key", "value"), [("chunk", 4), ("count", 6), ("parameters", ["word", "x"]), ("name", "mine")]
)
def test_a_description_that_was_changed_is_noticed(folder: Path, key: str, value: Any) -> None:
    path = folder / "study.json"
    about = json.loads(path.read_bytes()) | {key: value}
    path.write_text(json.dumps(about), encoding="utf-8")
    with pytest.raises(FlexarmError, match=r"study\.json: was changed since flexarm wrote it"):
        flexarm.load_study(folder)


def test_bytes_that_change_in_a_chunk_are_noticed_or_change_no_number(folder: Path) -> None:
    before = flexarm.load_study(folder).columns
    path = chunk(folder, 1)
    whole, chance, refused = path.read_bytes(), random.Random(1), 0
    for _ in range(100):
        data = bytearray(whole)
        for _ in range(chance.choice((1, 1, 8))):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        path.write_bytes(data[: chance.randrange(len(data))] if chance.random() < 0.2 else data)
        try:
            columns = flexarm.load_study(folder).columns
        except FlexarmError as error:
            refused += REMEDY in str(error)
        else:
            assert all(np.array_equal(columns[name], values) for name, values in before.items())
    assert refused > 50
