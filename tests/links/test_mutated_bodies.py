"""Damaged files of bodies: a body or a readable refusal, within time and memory."""

import io
import random
import shutil
import warnings
import zipfile
from collections import Counter
from dataclasses import fields
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from flexarm.errors import ModelError
from flexarm.links.imported.file import inspect_body, read_body, write_body
from flexarm.links.integrals import Integrals
from tests.apart import outcome_apart
from tests.links.mutate_bodies import FORMATS, damage_file

MOST_CPU, MOST_MEMORY = 20, 3_000_000_000  # [s], [bytes] of address space that a mutant may take
SAMPLE, CAMPAIGN = 6, 2000  # mutants of each format


def mutant(form: str, seed: int, original: Path, folder: Path) -> str:
    """Damage a file of a body and import it; return what came of it."""
    rng = random.Random(f"{form} {seed}")
    shutil.copytree(original, folder, dirs_exist_ok=True)
    files = (original / "files").read_text().split()
    damage_file(folder / rng.choice([*files, files[0]]), rng)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            report, body = FORMATS[form][1](folder, files)
        except ModelError as error:
            return "refused" if str(error).strip() else "refused without a word"
    if body is None:
        return "refused" if any(each.strip() for each in report.errors) else "no reason"
    for each in fields(Integrals):
        assert np.all(np.isfinite(getattr(body.integrals, each.name))), each.name
    assert np.all(np.isfinite(body.tip_shape))
    assert np.all(np.isfinite(body.tip_angle))
    assert body.integrals.mass > 0
    assert np.any(body.integrals.stiffness)
    write_body(folder / "out.npz", body, force=True)
    assert read_body(folder / "out.npz").names == body.names
    return "accepted"


def mutant_apart(form: str, seed: int, original: Path, folder: Path) -> str:
    """Import a damaged file in a process of its own, its time and memory limited."""
    return outcome_apart(
        partial(mutant, form, seed, original, folder), cpu=MOST_CPU, memory=MOST_MEMORY
    )


def outcomes(form: str, seeds: range, folder: Path) -> Counter[str]:
    """Count the outcomes of the mutants of a format; raise for those that went wrong."""
    original = folder / "original"
    original.mkdir()
    (original / "files").write_text(" ".join(FORMATS[form][0](original)))
    report, body = FORMATS[form][1](original, (original / "files").read_text().split())
    assert body is not None, report.errors
    found: dict[int, str] = {}
    for seed in seeds:
        own = folder / str(seed)
        found[seed] = mutant_apart(form, seed, original, own)
        shutil.rmtree(own, ignore_errors=True)
    wrong = {k: said for k, said in found.items() if said not in ("accepted", "refused")}
    assert wrong == {}, f"{len(wrong)} of {len(found)}"
    return Counter(found.values())


@pytest.mark.few(5)
@pytest.mark.parametrize("form", FORMATS)
def test_damaged_files_of_bodies_are_imported_or_refused(form: str, tmp_path: Path) -> None:
    found = outcomes(form, range(SAMPLE), tmp_path)
    assert found["refused"] > 0


def test_a_billion_shapes_at_no_nodes_are_refused_before_they_are_named(tmp_path: Path) -> None:
    np.savez(tmp_path / "empty.npz", nodes=np.zeros((0, 3)), shapes=np.zeros((10**9, 0, 3)))
    refuse = partial(refusal, tmp_path / "empty.npz")
    said = outcome_apart(refuse, cpu=MOST_CPU, memory=MOST_MEMORY)
    assert "shapes at most, got 1,000,000,000" in said


def test_a_body_without_names_of_its_shapes_is_refused(tmp_path: Path) -> None:
    original = tmp_path / "original"
    original.mkdir()
    files = FORMATS["written"][0](original)
    with np.load(original / files[0]) as arrays:
        np.savez(tmp_path / "body.npz", **{k: arrays[k] for k in arrays if k != "names"})
    assert "names: are required" in refusal(tmp_path / "body.npz")


def test_an_array_whose_header_is_cut_off_is_refused(tmp_path: Path) -> None:
    content = io.BytesIO()
    np.save(content, np.zeros(3))
    damaged = content.getvalue().replace(b"}", b" ")
    with zipfile.ZipFile(tmp_path / "body.npz", "w") as file:
        file.writestr("K.npy", damaged)
    with pytest.raises(ModelError, match="cannot be read"):
        inspect_body(tmp_path / "body.npz")


def refusal(path: Path) -> str:
    """Import a file that is refused; return the reasons."""
    report, body = inspect_body(path)
    assert body is None
    return "; ".join(report.errors)


@pytest.mark.campaign
@pytest.mark.parametrize("form", FORMATS)
def test_thousands_of_damaged_files_of_bodies(form: str, tmp_path: Path) -> None:
    found = outcomes(form, range(CAMPAIGN), tmp_path)
    print(form, dict(found))
    assert found["accepted"] > CAMPAIGN / 50
