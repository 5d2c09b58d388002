"""`flexarm arms`: the list, one model file, and a name that is not there."""

import json
from pathlib import Path

import pytest

from flexarm import samples
from flexarm.cli import main


@pytest.fixture
def two_samples(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Put two small files in the place of the samples."""
    (tmp_path / "two-link.yaml").write_text("notes: |\n  Two links.\n  More.\nlinks: []\n")
    (tmp_path / "beam.yaml").write_text("# no notes\nlinks: []\n")
    (tmp_path / "beam.csv").write_text("0, 1\n")
    monkeypatch.setattr(samples, "FOLDER", tmp_path)
    return tmp_path


@pytest.mark.usefixtures("two_samples")
def test_the_list_gives_each_name_with_the_first_line_of_its_notes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["arms"]) == 0
    assert capsys.readouterr() == ("beam\ntwo-link  Two links.\n", "")


@pytest.mark.usefixtures("two_samples")
def test_the_list_as_json_is_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["arms", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [
        {"name": "beam", "notes": ""},
        {"name": "two-link", "notes": "Two links."},
    ]


def test_one_sample_is_printed_as_its_file_reads(
    two_samples: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["arms", "two-link"]) == 0
    text = (two_samples / "two-link.yaml").read_text()
    assert capsys.readouterr() == (text, "")
    assert main(["arms", "two-link", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"name": "two-link", "text": text}


@pytest.mark.usefixtures("two_samples")
def test_an_unknown_sample_is_an_invalid_model_and_the_message_names_the_near_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["arms", "two-links"]) == 3
    assert capsys.readouterr() == (
        "",
        "flexarm: error: there is no sample arm 'two-links'. Did you mean 'two-link'? "
        "The sample arms are beam, two-link.\n",
    )


def names_listed(capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, str]:
    assert main(["arms", "--json", *options]) == 0
    return {entry["name"]: entry["notes"] for entry in json.loads(capsys.readouterr().out)}


def test_every_sample_that_is_shipped_is_listed_with_notes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    listed = names_listed(capsys, "--all")
    folder = Path(samples.__file__).parent
    assert listed
    assert set(listed) == {path.stem for path in folder.glob("*.yaml")}
    assert [name for name, notes in listed.items() if not notes] == []


def test_the_plain_list_leaves_out_the_arms_to_count_on_and_says_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    plain, everything = names_listed(capsys), names_listed(capsys, "--all")
    left = set(everything) - set(plain)
    assert {name.partition("-")[0] for name in left} == {"count", "tg"}
    assert not any(name.startswith(("count-", "tg-")) for name in plain)
    assert main(["arms"]) == 0
    *lines, empty, more = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(plain)
    assert (empty, more.split()[1]) == ("", str(len(left)))
    assert main(["arms", "--all"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(everything)
    assert main(["arms", sorted(left)[0]]) == 0
