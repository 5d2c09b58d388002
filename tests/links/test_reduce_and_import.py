"""Bodies out of finite-element programs: models are reduced, and what programs write is read."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse

import flexarm
from flexarm.cli import main
from flexarm.errors import ModelError
from flexarm.links.imported.file import read_body
from flexarm.links.imported.readers.calculix import (
    SOLIDS,
    consistent_mass,
    mesh_arrays,
    mesh_elements,
    read_frd,
)
from tests.links.reduced_bodies import Array, craig_bampton, lattice, rigid, said

Keys = dict[str, Any]


def full_arrays() -> Keys:
    nodes, stiffness, mass = lattice()
    upper = scipy.sparse.csr_array(np.triu(stiffness))
    parts = {"indptr": upper.indptr, "indices": upper.indices, "data": upper.data}
    return {f"K_{key}": value for key, value in parts.items()} | {
        "nodes": nodes,
        "node_mass": mass,
        "hub_nodes": np.arange(1, 5),
        "tip_nodes": np.arange(len(nodes) - 3, len(nodes) + 1),
        "hub_position": np.zeros(3),
    }


def test_reduce_makes_the_body_that_was_reduced_by_hand(tmp_path: Path) -> None:
    np.savez(tmp_path / "full.npz", **full_arrays())
    assert main(["reduce", str(tmp_path / "full.npz"), "--modes", "4", "--out",
                 str(tmp_path / "body.npz")]) == 0  # fmt: skip
    made = read_body(tmp_path / "body.npz")
    np.savez(tmp_path / "hand.npz", **craig_bampton(4))
    hand = read_body(tmp_path / "hand.npz")
    assert made.names[:7] == ("tip_x", "tip_y", "tip_z", "tip_rx", "tip_ry", "tip_rz", "fixed1")
    for one, two in (
        (made.integrals.stiffness, hand.integrals.stiffness),
        (made.integrals.position_shape[:6], hand.integrals.position_shape[:6]),
    ):
        assert np.abs(one - two).max() < 1e-8 * np.abs(two).max()


def test_reduce_refuses_matrices_that_do_not_fit(tmp_path: Path) -> None:
    nodes, K, mass = lattice()
    faces = {"hub": np.arange(4), "tip": np.arange(len(nodes) - 4, len(nodes))}
    for change, word in (
        ({"stiffness": K + 1e3 * np.eye(len(K))}, "The body may be held"),
        ({"stiffness": K[:-3, :-3]}, "three unknowns each"),
        ({"mass": np.ones(3)}, "one per node"),
        ({"mass": np.diag(np.arange(1.0, 1 + len(K)))}, "same along x, y and z"),
        ({"tip": np.arange(2)}, "not on one line"),
        ({"tip": faces["hub"]}, "in common"),
        ({"modes": 500}, "modes"),
        ({"nodes": nodes[:, :2]}, "nodes"),
    ):
        given: Keys = {"stiffness": K, "mass": mass, "nodes": nodes, **faces} | change
        with pytest.raises(ModelError, match=word):
            flexarm.reduce(given.pop("stiffness"), given.pop("mass"), given.pop("nodes"), **given)


@pytest.mark.parametrize("key", ["node_mass", "K_indptr", "hub_nodes", "nodes"])
def test_reduce_names_what_a_model_lacks(
    key: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keys = full_arrays()
    del keys[key]
    np.savez(tmp_path / "full.npz", **keys)
    assert main(["reduce", str(tmp_path / "full.npz"), "--out", str(tmp_path / "b.npz")]) == 3
    assert f"full.npz: {key}: " in capsys.readouterr().err


def superelement() -> tuple[Any, Any, Keys]:
    """K and M of the lattice over hub, tip and modes, with frames."""
    body = craig_bampton(3)
    flat = body["shapes"].reshape(9, -1)
    whole = np.concatenate([rigid(body["nodes"], np.zeros(3)).T, flat])
    mass = whole @ (np.repeat(body["node_mass"], 3) * whole).T
    stiffness = np.zeros((15, 15))
    stiffness[6:, 6:] = body["K"]
    back = np.eye(15)
    back[6:9, 3:6] = -np.cross(np.eye(3), body["tip_position"]).T
    back[6:12, :6] -= np.eye(6)
    frames = {"tip": {"position": body["tip_position"].tolist(),
                      "rotation": body["tip_rotation"].tolist()}}  # fmt: skip
    return back.T @ stiffness @ back, back.T @ mass @ back, frames


def dmig(name: str, matrix: Any) -> str:
    """Write a symmetric matrix as Nastran punches it."""
    labels = [(node, d) for node in (7, 9) for d in range(1, 7)]
    labels += [(1001 + k, 0) for k in range(len(matrix) - 12)]
    lines = [f"DMIG    {name:<8}{0:8d}{6:8d}{2:8d}{0:8d}{0:8d}        {len(matrix):8d}"]
    for j, (node, direction) in enumerate(labels):
        lines.append(f"DMIG*   {name:<16}{node:16d}{direction:16d}")
        for i in range(j, len(matrix)):
            value = f"{matrix[i, j]:16.9E}".replace("E", "D")
            lines.append(f"*       {labels[i][0]:16d}{labels[i][1]:16d}{value}")
    return "\n".join(lines) + "\n"


def abaqus(kind: str, matrix: Any) -> str:
    labels = [(node, d) for node in (7, 9) for d in range(1, 7)]
    labels += [(1001 + k, 1) for k in range(len(matrix) - 12)]
    rows = [f"*MATRIX, TYPE={kind}"]
    for i, (a, b) in enumerate(labels):
        rows += [f"{a},{b},{c},{d},{matrix[i, j]:.15e}" for j, (c, d) in enumerate(labels)]
    return "\n".join(rows) + "\n"


@pytest.mark.parametrize("form", ["market", "dmig", "abaqus"])
def test_a_superelement_is_read_in_every_form(tmp_path: Path, form: str) -> None:
    K, M, frames = superelement()
    (tmp_path / "frames.json").write_text(json.dumps(frames), encoding="utf-8")
    files = []
    if form == "dmig":
        files = ["body.pch"]
        (tmp_path / files[0]).write_text(dmig("KAAX", K) + dmig("MAAX", M), encoding="utf-8")
    for key, kind, matrix in (("K", "STIFFNESS", K), ("M", "MASS", M)):
        if form == "market":
            scipy.io.mmwrite(tmp_path / f"{key}.mtx", matrix)
        elif form == "abaqus":
            (tmp_path / f"{key}.mtx").write_text(abaqus(kind, matrix), encoding="utf-8")
    files = files or ["K.mtx", "M.mtx"]
    command = ["import-body", *(str(tmp_path / f) for f in files), "--out",
               str(tmp_path / "out.npz"), "--frames", str(tmp_path / "frames.json")]  # fmt: skip
    assert main(command) == 0
    body = read_body(tmp_path / "out.npz")
    np.savez(tmp_path / "hand.npz", **craig_bampton(3))
    hand = read_body(tmp_path / "hand.npz")
    assert body.first_order
    for one, two in (
        (body.integrals.stiffness, hand.integrals.stiffness),
        (body.integrals.first, hand.integrals.first),
        (body.integrals.shape, hand.integrals.shape),
    ):
        assert np.abs(one - two).max() < 1e-7 * np.abs(two).max()


@pytest.mark.parametrize(
    ("spoil", "word"),
    [
        (lambda text: text.replace("MAAX", "XAAX"), "has no M"),
        (lambda text: text[:3000].rpartition("\n")[0] + "\nrubbish", "not a DMIG entry"),
        (lambda text: text.replace(f"{9:16d}", f"{1009:16d}", 10**9).replace(
            f"{1009:16d}{6:16d}", f"{2009:16d}{1:16d}"), "two interface nodes"),
        (lambda text: text.replace("       6       2", "       1       2"), "symmetric and real"),
    ],
)  # fmt: skip
def test_a_wrong_punch_file_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], spoil: Any, word: str
) -> None:
    K, M, frames = superelement()
    (tmp_path / "frames.json").write_text(json.dumps(frames), encoding="utf-8")
    (tmp_path / "body.pch").write_text(spoil(dmig("KAAX", K) + dmig("MAAX", M)), encoding="utf-8")
    assert main(["import-body", str(tmp_path / "body.pch"), "--out", str(tmp_path / "out.npz"),
                 "--frames", str(tmp_path / "frames.json")]) == 3  # fmt: skip
    assert word in capsys.readouterr().err


def test_a_superelement_that_is_grounded_or_has_its_tip_elsewhere_is_refused(
    tmp_path: Path,
) -> None:
    K, M, frames = superelement()
    given = {"K": K, "M": M, "tip_position": np.array(frames["tip"]["position"])}
    assert "The body is held" in said(tmp_path, given | {"K": K + 0.1 * np.diag(np.diag(K))})
    assert "The body is held" in said(tmp_path, given | {"tip_position": [0.4, 0, 0]})
    assert "interface missing" in said(tmp_path, given | {"K": K[:9, :9], "M": M[:9, :9]})
    assert "tip: is required" in said(tmp_path, {"K": K, "M": M})
    total = float(np.trace(np.linalg.multi_dot([_whole(given).T, M, _whole(given)])) / 3)
    assert "total mass" in said(tmp_path, given | {"M": 1000 * M, "total_mass": total})
    assert said(tmp_path, given | {"total_mass": total}).startswith("noted")


def _whole(keys: Keys) -> Any:
    """Columns of the three translations of a superelement, (n, 3)."""
    columns = np.zeros((len(keys["K"]), 3))
    columns[:3] = columns[6:9] = np.eye(3)
    return columns


def frd(nodes: Any, element: list[int], shape: Any) -> str:
    """Write a result file with one element and one mode."""
    rows = [f" -1{k:10d}" + "".join(f"{x:12.5E}" for x in p) for k, p in enumerate(nodes, 1)]
    moved = [f" -1{k:10d}" + "".join(f"{x:12.5E}" for x in p) for k, p in enumerate(shape, 1)]
    return "\n".join(
        ["    1C", "    2C", *rows, " -3", "    3C", f" -1{1:10d}{6:5d}    0    1",
         " -2" + "".join(f"{n:10d}" for n in element), " -3",
         "    1PMODE                         1", "  100CL  101 12.50000000          10",
         " -4  DISP        4    1", " -5  D1          1    2    1    0", *moved, " -3", " 9999"]
    )  # fmt: skip


def test_calculix_results_are_read_and_weighed() -> None:
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
    amid = [(corners[a] + corners[b]) / 2 for a, b in SOLIDS[6].edges]
    nodes = np.array([*corners, *amid])
    results = read_frd(frd(nodes, list(range(1, 11)), 2 * nodes), "a.frd")
    numbers, places, shapes = mesh_arrays(results, "a.frd")
    assert results.hertz == [12.5]
    assert np.allclose(shapes[0], 2 * places)
    ((kind, rows),) = mesh_elements(results, numbers).items()
    mass = consistent_mass(kind, rows, places, 6.0).toarray()
    assert mass.sum() == pytest.approx(1.0)
    assert np.allclose(
        mass.sum(axis=1), [-0.05] * 4 + [0.2] * 6
    )  # row sums of a 10-node tetrahedron
    with pytest.raises(ModelError, match="cut off"):
        mesh_arrays(read_frd(frd(nodes, [1], (2 * nodes)[:7]), "a.frd"), "a.frd")
    with pytest.raises(ModelError, match="inside out"):
        consistent_mass(6, np.array([[1, 0, *range(2, 10)]]), places, 6.0)


def test_calculix_files_make_a_body(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
    nodes = np.array([*corners, *((corners[a] + corners[b]) / 2 for a, b in SOLIDS[6].edges)])
    shape = np.where(nodes[:, 2:] > 0, [[1.0, 0, 0]], 0.0)
    (tmp_path / "a.frd").write_text(frd(nodes, list(range(1, 11)), shape), encoding="utf-8")
    deck = "*NSET, NSET=HUB\n1, 2, 3,\n5, 6, 7\n*NSET, NSET=TIP, GENERATE\n8, 10, 1\n*DENSITY\n6.\n"
    (tmp_path / "a.inp").write_text(deck, encoding="utf-8")
    command = ["import-body", str(tmp_path / "a.frd"), "--out", str(tmp_path / "a.npz")]
    assert main([*command, "--hub-set", "hub", "--tip-set", "nothing"]) == 3
    assert "The node sets are HUB, TIP" in capsys.readouterr().err
    assert main([*command, "--hub-set", "hub", "--tip-set", "tip"]) == 0
    body = read_body(tmp_path / "a.npz")
    assert body.integrals.mass == pytest.approx(1.0)
    assert np.allclose(body.tip_shape[:, 0], [1, 0, 0])
    assert np.allclose(body.tip.position, nodes[[7, 8, 9]].mean(axis=0))


def test_reduce_takes_matrix_market_files_and_lists_of_nodes(tmp_path: Path) -> None:
    nodes, K, mass = lattice()
    scipy.io.mmwrite(tmp_path / "K.mtx", scipy.sparse.csr_array(K))
    scipy.io.mmwrite(tmp_path / "M.mtx", scipy.sparse.csr_array(np.diag(np.repeat(mass, 3))))
    np.savetxt(tmp_path / "nodes.csv", nodes, delimiter=",", header="x, y, z", comments="")
    frames = {"hub": {"position": [0, 0, 0]}, "units": "m, kg, s"}
    (tmp_path / "frames.json").write_text(json.dumps(frames), encoding="utf-8")
    files = {"stiffness": "K.mtx", "mass": "M.mtx", "nodes": "nodes.csv", "frames": "frames.json"}
    options = [word for key, name in files.items() for word in (f"--{key}", str(tmp_path / name))]
    command = ["reduce", *options, "--hub-nodes", "1-4", "--tip-nodes", "17,18-20", "--modes", "2"]
    assert main([*command, "--out", str(tmp_path / "body.npz")]) == 0
    made = read_body(tmp_path / "body.npz")
    np.savez(tmp_path / "hand.npz", **craig_bampton(2))
    hand = read_body(tmp_path / "hand.npz")
    assert np.allclose(made.integrals.stiffness, hand.integrals.stiffness, rtol=1e-6, atol=1e-3)
    assert main(["reduce", "--out", str(tmp_path / "other.npz")]) == 2


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["reduce", "--tip-nodes", "20-17", "--out", "b.npz"], 3,
         "tip_nodes: the range 20-17 runs backwards. Write 17-20"),
        (["reduce", "--tip-nodes", "1-4000000000", "--out", "b.npz"], 3,
         "nodes, got 1-4000000000"),
        (["reduce", "--out", "b.txt"], 2, "--out: must end in .npz"),
        (["import-body", "--out", "b.txt"], 2, "--out: must end in .npz"),
    ],
)  # fmt: skip
def test_lists_that_run_backwards_and_other_endings_are_refused(
    words: list[str], status: int, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    np.savez("full.npz", **full_arrays())
    assert main([words[0], "full.npz", *words[1:]]) == status
    assert message in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["full.npz"]


@pytest.mark.parametrize("kind", SOLIDS)
def test_solid_elements_weigh_a_linear_field_exactly(kind: int) -> None:
    solid = SOLIDS[kind]
    corners = np.array(solid.corners, dtype=float)
    nodes = np.array([*corners, *((corners[a] + corners[b]) / 2 for a, b in solid.edges)])
    nodes = nodes @ np.array([[1, 0.2, 0], [0, 1, 0.1], [0.3, 0, 1]])
    mass = consistent_mass(kind, np.arange(len(nodes))[None], nodes, 2.0)
    volume = abs(np.linalg.det(nodes[1:4] - nodes[0])) / 6 if not solid.brick else None
    first = mass @ np.ones(len(nodes)) @ nodes
    assert volume is None or mass.sum() == pytest.approx(2 * volume)
    assert np.allclose(first / mass.sum(), nodes[: len(corners)].mean(axis=0))


def spring_block(sizes: tuple[int, int, int]) -> tuple[Any, Array, Array]:
    """Mesh a block of springs between each node and its 26 neighbours: K, masses, nodes."""
    grid = np.stack(np.meshgrid(*map(np.arange, sizes), indexing="ij"), axis=-1).reshape(-1, 3)
    number = np.arange(len(grid)).reshape(sizes)
    K = scipy.sparse.csr_array((3 * len(grid), 3 * len(grid)))
    for way in np.stack(np.meshgrid(*[[-1, 0, 1]] * 3, indexing="ij"), axis=-1).reshape(-1, 3)[14:]:
        there = grid + way
        inside = np.all((there >= 0) & (there < sizes), axis=1)
        a, b = np.flatnonzero(inside), number[tuple(there[inside].T)]
        block = 1e6 / (way @ way) ** 1.5 * np.outer(way, way)
        pairs = scipy.sparse.coo_array(
            (np.repeat([1.0, 1.0, -1.0, -1.0], len(a)),
             (np.concatenate([a, b, a, b]), np.concatenate([a, b, b, a]))),
            shape=(len(grid),) * 2,
        )  # fmt: skip
        K = K + scipy.sparse.kron(pairs, block, format="csr")
    return K, np.full(len(grid), 1e-3, dtype=np.float64), 0.01 * grid.astype(np.float64)


@pytest.mark.parametrize(
    "sizes",
    [(9, 4, 3), *(pytest.param(each, marks=pytest.mark.campaign)
                  for each in ((65, 16, 16), (26, 26, 25)))],
)  # fmt: skip
def test_a_block_is_reduced(sizes: tuple[int, int, int], tmp_path: Path) -> None:
    K, mass, nodes = spring_block(sizes)
    mass = mass * np.random.default_rng(0).uniform(0.5, 1.5, len(mass))
    x = nodes[:, 0]
    upper = scipy.sparse.csr_array(scipy.sparse.triu(K))
    parts = {f"K_{key}": getattr(upper, key) for key in ("indptr", "indices", "data")}
    hub, tip = (np.flatnonzero(x == end) + 1 for end in (0, x.max()))
    side = np.arange(1, len(nodes) + 1).reshape(sizes)[:, :, 0]
    faces = np.stack([side[:-1, :-1], side[1:, :-1], side[1:, 1:], side[:-1, 1:]], axis=-1)
    keys: Keys = {"nodes": nodes, "node_mass": mass, "hub_nodes": hub, "tip_nodes": tip}
    np.savez(tmp_path / "block.npz", **keys, **parts, faces=faces.reshape(-1, 4))
    assert main(["reduce", str(tmp_path / "block.npz"), "--out", str(tmp_path / "out.npz")]) == 0
    body = read_body(tmp_path / "out.npz")
    assert body.integrals.mass == pytest.approx(mass.sum())
    assert len(body.drawn.faces) == 2 * faces.size // 4
    assert len(body.names) == 14
    pull = x / x.max()  # its energy is not the least of all
    assert body.integrals.stiffness[0, 0] <= pull @ (K[::3][:, ::3] @ pull) * (1 + 1e-9)


def test_a_surface_goes_with_a_reduced_body(tmp_path: Path) -> None:
    corners = np.array([0, 1, 3, 2, 4, 5, 7, 6])
    elements = corners + 4 * np.arange(4)[:, None] + 1
    np.savez(tmp_path / "full.npz", **full_arrays())
    (tmp_path / "frames.json").write_text(json.dumps({"elements": elements.tolist()}))
    command = ["reduce", str(tmp_path / "full.npz"), "--frames", str(tmp_path / "frames.json")]
    assert main([*command, "--out", str(tmp_path / "body.npz")]) == 0
    assert len(read_body(tmp_path / "body.npz").drawn.faces) == 36
    nodes, K, mass = lattice()
    ends: Keys = {"hub": np.arange(4), "tip": np.arange(len(nodes) - 4, len(nodes))}
    assert len(flexarm.reduce(K, mass, nodes, faces=[[0, 1, 2]], **ends).drawn.faces) == 1
    for faces, word in (([[0, 1]], "nodes of triangles"), ([[0, 1, 99]], "0 to 19")):
        with pytest.raises(ModelError, match=word):
            flexarm.reduce(K, mass, nodes, faces=faces, **ends)
