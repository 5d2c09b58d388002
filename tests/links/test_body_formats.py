"""Files of finite-element programs: what is given twice, too large or no number is refused."""

import io
import json
import resource
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from flexarm.cli import main
from flexarm.errors import ModelError
from flexarm.links.imported.constants import MOST_UNKNOWNS
from flexarm.links.imported.file import Choices, import_body, read_body
from flexarm.links.imported.readers.calculix import read_inp
from flexarm.links.imported.readers.market import dense, listed_nodes, market_keys, read_market
from flexarm.spatial import Array
from tests.links.mutate_bodies import write_calculix
from tests.links.reduced_bodies import clamped, craig_bampton, lattice, said
from tests.links.test_reduce_and_import import abaqus, dmig, superelement


@pytest.fixture
def little_memory() -> Iterator[None]:
    """Let no more be taken than 1 GB beside what is taken already."""
    if not Path("/proc/self/statm").exists():
        pytest.skip("how much memory is taken is read from /proc")
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 10**9, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


def framed(folder: Path, **more: Any) -> tuple[Array, Array, Choices]:
    K, M, frames = superelement()
    (folder / "frames.json").write_text(json.dumps(frames | more))
    return K, M, Choices(folder / "frames.json")


def first_frequency(folder: Path, text: str, choices: Choices) -> tuple[float, str]:
    """Import a punch file; return the first frequency [Hz] and what is noted."""
    (folder / "body.pch").write_text(text)
    report, body = import_body([folder / "body.pch"], choices)
    assert body is not None, report.errors
    return float(dict(report.facts)["frequencies"].split(",")[0]), " ".join(report.notes)


def test_structural_damping_of_nastran_is_no_stiffness(tmp_path: Path) -> None:
    K, M, choices = framed(tmp_path)
    plain = dmig("KAAX", K) + dmig("MAAX", M)
    alone, noted = first_frequency(tmp_path, plain, choices)
    assert "structural" not in noted
    for text in (plain + dmig("K4AAX", 0.02 * K), dmig("K4AAX", 0.02 * K) + plain):
        found, noted = first_frequency(tmp_path, text, choices)
        assert found == alone
        assert "K4AAX: structural damping is not used. Give the link's damping." in noted


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("KBBX", "KBBX: is a second stiffness matrix, after KAAX. Keep one of them"),
        ("KAAX", "KAAX: is a second stiffness matrix, after KAAX"),
        ("MUGX", "MUGX: is a second mass matrix, after MAAX"),
    ],
)
def test_two_matrices_of_a_kind_in_a_punch_file_are_refused(
    more: str, words: str, tmp_path: Path
) -> None:
    K, M, choices = framed(tmp_path)
    with pytest.raises(ModelError, match=rf"body\.pch:\d+: {words}"):
        first_frequency(tmp_path, dmig("KAAX", K) + dmig("MAAX", M) + dmig(more, 0.02 * K), choices)


def test_two_matrices_of_a_kind_of_abaqus_are_refused(tmp_path: Path) -> None:
    K, M, choices = framed(tmp_path)
    one, two = abaqus("STIFFNESS", K), abaqus("MASS", M)
    paths = [tmp_path / "K.mtx", tmp_path / "M.mtx"]

    def imported(first: str, second: str) -> str:
        for path, text in zip(paths, (first, second), strict=True):
            path.write_text(text)
        report, body = import_body(paths, choices)
        assert body is not None, report.errors
        return " ".join(report.notes)

    assert "structural" not in imported(one, two)
    assert "STRUCTURALDAMPING: structural damping is not used" in imported(
        one, two + abaqus("STRUCTURAL DAMPING", K)
    )
    for first, second in ((one, two + abaqus("STIFFNESS", 2 * K)), (one + one, two),
                          (one, abaqus("STIFFNESS", K))):  # fmt: skip
        with pytest.raises(
            ModelError, match=r"mtx:\d+: TYPE=STIFFNESS: is a second stiffness matrix"
        ):
            imported(first, second)
    line = two.splitlines()[5]
    with pytest.raises(ModelError, match=r"M.mtx:\d+: this entry of TYPE=MASS is given twice"):
        imported(one, two + line)


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_matrix_market_files_are_read_as_scipy_writes_them(sparse: bool, symmetric: bool) -> None:
    matrix = np.random.default_rng(1).normal(size=(5, 5))
    matrix = matrix + matrix.T if symmetric else matrix[:, :3]
    file = io.BytesIO()
    scipy.io.mmwrite(file, scipy.sparse.coo_array(matrix) if sparse else matrix, comment="x\ny")
    assert (b"symmetric" in file.getvalue()) == symmetric
    np.testing.assert_array_equal(dense(read_market(file.getvalue(), "a")), matrix)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("array real general\n0 0\n", "rows and columns, both >= 1, got '0 0'"),
        ("array real general\n", "rows and columns, both >= 1, got ''"),
        ("coordinate real general\n3 3 999999999999\n1 1 1\n", "more than .* bytes can contain"),
        ("array real general\n99999 99999\n1\n", "more than .* bytes can contain"),
        ("coordinate real general\n2 2 1\n3 1 1\n", "whole numbers of 1 to 2"),
        ("coordinate real general\n2 2 2\n1 1 1\n1 2 1E-", "not a complete Matrix Market file"),
        ("coordinate real general\n2 2 2\n1 1 1\n\n     ", "must have 2 lines of 3 numbers, got 1"),
        ("coordinate real general\n2 2 1\n1 1 nan\n", "finite numbers"),
        ("coordinate real general\n2 2 1\n1 1 1e308\n", "finite numbers"),
        ("coordinate complex general\n2 2 1\n1 1 1 1\n", "got 'complex general'"),
        ("coordinate pattern general\n2 2 1\n1 1\n", "got 'pattern general'"),
        ("coordinate real symmetric\n2 3 1\n1 1 1\n", "must be square"),
        ("vector coordinate real general\n2 1\n1 1\n", "must begin with"),
        ("coordinate real symmetric\n2 2 4\n1 1 1\n2 2 1\n1 2 5\n2 1 5\n", "one triangle"),
    ],
)
def test_matrix_market_files_that_are_not_whole_are_refused(text: str, words: str) -> None:
    with pytest.raises(ModelError, match=rf"^a.mtx: .*{words}"):
        read_market(f"%%MatrixMarket matrix {text}".encode(), "a.mtx")


@pytest.mark.usefixtures("little_memory")
def test_huge_matrices_are_refused_before_memory_is_taken(tmp_path: Path) -> None:
    head = "%%MatrixMarket matrix coordinate real general\n"
    (tmp_path / "K.mtx").write_text(f"{head}100000 100000 1\n1 1 1.0\n")
    with pytest.raises(ModelError, match=f"has 100000 unknowns.*at most {MOST_UNKNOWNS} unknowns"):
        import_body([tmp_path / "K.mtx"] * 2, Choices())
    (tmp_path / "K.mtx").write_text(f"{head}3000000000 3000000000 1\n1 1 1.0\n")
    np.savetxt(tmp_path / "nodes.csv", lattice(2)[0])
    with pytest.raises(ModelError, match=r"must have the shape \(36, 36\) for 12 nodes"):
        market_keys(tmp_path / "K.mtx", tmp_path / "K.mtx", tmp_path / "nodes.csv")


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("shape", [(10**12,), (10**6, 10**6), (2**62, 4)])
def test_arrays_that_say_they_are_huge_are_refused(shape: tuple[int, ...], tmp_path: Path) -> None:
    member = io.BytesIO()
    head = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(member, head)
    with zipfile.ZipFile(tmp_path / "body.npz", "w") as archive:
        archive.writestr("nodes.npy", member.getvalue() + bytes(80))
    with pytest.raises(ModelError, match=r"nodes.npy announces .* bytes, but 80 bytes are left"):
        import_body([tmp_path / "body.npz"], Choices())


@pytest.mark.usefixtures("little_memory")
def test_shapes_that_are_many_and_empty_take_no_memory(tmp_path: Path) -> None:
    many = {"nodes": np.zeros((0, 3)), "shapes": np.zeros((10**6, 0, 3)), "K": np.ones(10**6)}
    assert "shapes: must be 200 shapes at most, got 1,000,000" in said(tmp_path, many)
    flat = {"K": np.zeros((10**6, 0)), "M": np.eye(2), "tip_position": [1, 0, 0]}
    assert "K: must have the shape (unknowns, unknowns)" in said(tmp_path, flat)


@pytest.mark.parametrize("number", [np.nan, np.inf, 1e308, -1e31])
@pytest.mark.parametrize("key", ["tip_position", "K", "nodes", "total_mass", "tip_shapes"])
def test_numbers_that_are_none_are_refused(key: str, number: float, tmp_path: Path) -> None:
    body = craig_bampton(1, 2)
    changed = np.array(body[key], dtype=float)
    changed.flat[0] = number
    words = f"{key}: must be finite numbers of at most 1.3e+30"
    assert words in said(tmp_path, body | {key: changed})


@pytest.mark.parametrize("word", ["null", "NaN", "1e308", '"1"', "1e999"])
def test_json_numbers_that_are_none_are_refused(word: str, tmp_path: Path) -> None:
    body = {key: np.asarray(value).tolist() for key, value in clamped(1).items()}
    text = json.dumps(body | {"tip_position": [0.2, "X", 0.0]})
    (tmp_path / "body.json").write_text(text.replace('"X"', word))
    with pytest.raises(ModelError, match=r"tip_position: must be (finite|an array of) numbers"):
        read_body(tmp_path / "body.json")


def test_a_stiffness_of_zero_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = craig_bampton(1, 2)
    assert "K: is zero, so that no shape has stiffness" in said(
        tmp_path, body | {"K": 0 * body["K"]}
    )
    K, M, choices = framed(tmp_path)
    for key, matrix in (("K", 0 * K), ("M", M)):
        scipy.io.mmwrite(tmp_path / f"{key}.mtx", matrix)
    files = [str(tmp_path / f"{key}.mtx") for key in "KM"]
    assert choices.frames is not None
    assert main(["import-body", *files, "--out", str(tmp_path / "out.npz"), "--frames",
                 str(choices.frames)]) == 3  # fmt: skip
    assert "K: is zero" in capsys.readouterr().err


def test_a_body_of_grams_in_mm_and_kg_is_asked_about(tmp_path: Path) -> None:
    body = craig_bampton(1, 2)
    scaled = body | {key: 1e3 * body[key] for key in ("nodes", "shapes", "tip_position", "K")}
    scaled["tip_shapes"] = body["tip_shapes"] * [1e3, 1e3, 1e3, 1, 1, 1]
    scaled |= {"node_mass": 1e-3 * body["node_mass"], "total_mass": 1e-3 * body["total_mass"]}
    words = f"the mass of the body is {body['total_mass']:.3g} g with units 'mm, kg, s'"
    assert words in said(tmp_path, scaled | {"units": "mm, kg, s"})
    right = said(tmp_path, scaled | {"units": "mm, t, s"})
    assert right.startswith("noted")
    assert "weighs" not in right


DECK = "*NSET, NSET=A\n1, 2,\n*NSET, NSET=B, GENERATE\n{}\n*NSET, NSET=C\nA, b, 20\n"


def test_node_sets_are_lists_ranges_and_other_sets() -> None:
    numbers = np.arange(1, 31)
    deck = read_inp(DECK.format("4, 10, 3"), "a.inp")
    found = {name: numbers[each.rows(numbers)].tolist() for name, each in deck.sets.items()}
    assert found == {"A": [1, 2], "B": [4, 7, 10], "C": [1, 2, 4, 7, 10, 20]}
    assert read_inp(DECK.format("4, 5"), "a.inp").sets["B"].rows(numbers).tolist() == [3, 4]


@pytest.mark.usefixtures("little_memory")
def test_a_generated_set_takes_no_memory() -> None:
    deck = read_inp(DECK.format("1, 999999999999999"), "a.inp")
    assert len(deck.sets["B"].rows(np.arange(1, 11))) == 10


@pytest.mark.parametrize("line", ["4", "1, 9, 0", "1, 9, -1", "9, 1", "1, x", ",", "1, 2, 3, 4"])
def test_a_range_that_is_none_is_refused_with_its_line(line: str) -> None:
    with pytest.raises(ModelError, match=r"a\.inp:4: (a generated set must be|must be a whole)"):
        read_inp(DECK.format(line), "a.inp")
    with pytest.raises(ModelError, match=r"a\.inp:2: must be a whole number, got 'X'"):
        read_inp("*NSET, NSET=A\n1, X\n", "a.inp")


def test_several_densities_are_refused(tmp_path: Path) -> None:
    write_calculix(tmp_path)
    deck = tmp_path / "a.inp"
    sets = Choices(hub_set="HUB", tip_set="TIP")
    deck.write_text(deck.read_text() + "*DENSITY\n6.0\n")  # the same again
    assert import_body([tmp_path / "a.frd"], sets)[1] is not None
    deck.write_text(deck.read_text() + "*DENSITY\n2.7\n")
    with pytest.raises(
        ModelError,
        match=r"a\.inp: density: the file has several densities, 2.7, 6, .* by --density",
    ):
        import_body([tmp_path / "a.frd"], sets)
    assert import_body([tmp_path / "a.frd"], replace(sets, density=6.0))[1] is not None


@pytest.mark.parametrize("text", ["9" * 5000, "1-" + "9" * 5000, "٣", "0", "1--2", "-1"])
def test_a_list_of_nodes_of_other_words_is_refused(text: str) -> None:
    with pytest.raises(ModelError, match="hub_nodes: must be"):
        listed_nodes(text, "hub", 10)


@pytest.mark.parametrize("name", ["a\nb", "a b", "a.b", ""])
def test_names_of_shapes_that_are_no_words_are_refused(name: str, tmp_path: Path) -> None:
    body = craig_bampton(0, 2)
    names = ["a", "b", "c", "d", "e", name]
    assert "names: must be 6 different words" in said(tmp_path, body | {"names": names})
    assert "name: must have no control characters" in said(tmp_path, body | {"name": "a\x1b[31m"})
