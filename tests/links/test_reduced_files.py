"""Bodies from files: what is wrong is refused, or noted, in words; what programs write is read."""

import json
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse

import flexarm
from flexarm.cli import main
from flexarm.errors import ModelError
from flexarm.links.reduced.file import inspect_body, read_body, write_body
from flexarm.links.reduced.formats.calculix import mesh_arrays, mesh_mass, read_frd
from flexarm.links.reduced.formats.solids import SOLIDS, consistent_mass
from tests.links.reduced_bodies import clamped, craig_bampton, lattice, rigid

Keys = dict[str, Any]


def said(folder: Path, keys: Keys) -> str:
    """Give what is said about a body: why it is refused, or what is noted."""
    path = folder / "body.npz"
    np.savez(path, **keys)
    try:
        report, body = inspect_body(path)
    except ModelError as error:
        return f"refused: {error}"
    if body is None:
        return "refused: " + " ".join(report.errors)
    return "noted: " + " ".join(report.notes)


def swapped(keys: Keys) -> Keys:
    """Exchange the values of two nodes far from each other in all shapes."""
    order = np.arange(len(keys["nodes"]))
    order[[4, -5]] = order[[-5, 4]]
    return keys | {"shapes": keys["shapes"][:, order]}


def shuffled(keys: Keys) -> Keys:
    """Give shapes in another order of nodes, but for the faces."""
    order = np.arange(len(keys["nodes"]))
    order[4:-4] = np.random.default_rng(0).permutation(order[4:-4])
    return keys | {"shapes": keys["shapes"][:, order]}


def lopsided(keys: Keys) -> Keys:
    K = keys["K"].copy()
    K[0, 1] += 0.1 * abs(K[0, 0])
    return keys | {"K": K}


def stuck(keys: Keys) -> Keys:
    return keys | {"K": keys["K"] - 2 * np.diag(np.diag(keys["K"]))}


def with_nan(keys: Keys) -> Keys:
    shapes = keys["shapes"].copy()
    shapes[0, 3, 1] = np.nan
    return keys | {"shapes": shapes}


def without(*names: str) -> Any:
    return lambda keys: {k: v for k, v in keys.items() if k not in names}


def mixed(keys: Keys) -> Keys:
    """Modes that are none: sums of neighbours."""
    shapes = keys["shapes"]
    return keys | {"shapes": shapes + np.roll(shapes, 1, axis=0)}


def modal_mass(keys: Keys) -> Any:
    flat = keys["shapes"].reshape(len(keys["shapes"]), -1)
    return flat @ (np.repeat(keys["node_mass"], 3) * flat).T


MISTAKES: dict[str, tuple[Any, Any, str]] = {
    "masses of another unit": (craig_bampton, lambda k: k | {"node_mass": 1000 * k["node_mass"]},
                               "refused: .*denser"),
    "half of the mass": (craig_bampton, lambda k: k | {"node_mass": k["node_mass"] / 2},
                         "refused: .*total mass"),
    "nodes exchanged": (lambda: craig_bampton(4, 14), swapped, "noted: .*node .*another order"),
    "nodes shuffled": (lambda: craig_bampton(4, 30), shuffled, "noted: .*every.*another order"),
    "nodes in mm": (craig_bampton, lambda k: k | {"nodes": 1000 * k["nodes"]},
                    "refused: .*tip"),
    "all in mm": (craig_bampton, lambda k: without("tip_shapes")(k) | {
        "nodes": 1e3 * k["nodes"], "tip_position": 1e3 * k["tip_position"],
        "shapes": 1e3 * k["shapes"]}, "m large: are the units right"),
    "tip frame in mm": (craig_bampton, lambda k: k | {"tip_position": 1000 * k["tip_position"]},
                        "refused: .*tip_position.*same units"),
    "no tip": (craig_bampton, without("tip_shapes", "tip_nodes"), "refused: .*tip_nodes"),
    "tip at the hub": (craig_bampton, lambda k: k | {"tip_position": np.zeros(3)},
                       "refused: .*where the hub is"),
    "tip that never moves": (craig_bampton, lambda k: without("tip_nodes")(k)
                             | {"tip_shapes": 0 * k["tip_shapes"]}, "refused: .*zero in every"),
    "two nodes for a tip": (craig_bampton, lambda k: without("tip_shapes")(k)
                            | {"tip_nodes": k["tip_nodes"][:2]}, "refused: .*not on one line"),
    "another face for the tip": (craig_bampton, lambda k: without("tip_shapes")(k)
                                 | {"tip_nodes": np.array([3, 9, 14, 18])},
                                 "(refused|noted): .*rigid face"),
    "tip's rotation in degrees": (craig_bampton, lambda k: k | {
        "tip_shapes": k["tip_shapes"] * np.array([1, 1, 1, 57.3, 57.3, 57.3])},
        "refused: .*radians"),
    "tip's axes turned": (craig_bampton, lambda k: k | {
        "tip_shapes": k["tip_shapes"][:, [1, 2, 0, 4, 5, 3]]}, "refused: .*same axes"),
    "no such nodes": (craig_bampton, lambda k: k | {"tip_nodes": np.array([1, 2, 999])},
                      "refused: .*numbers of nodes"),
    "hub and tip exchanged": (craig_bampton, lambda k: k | {
        "hub_nodes": k["tip_nodes"], "tip_nodes": k["hub_nodes"]}, "refused: .*exchanged"),
    "hub that deforms": (craig_bampton, lambda k: k | {"hub_nodes": np.array([1, 9, 14, 18])},
                         "(refused|noted): .*rigid face"),
    "a mirror for a frame": (craig_bampton, lambda k: k | {"tip_rotation": np.diag([1, 1, -1.0])},
                             "refused: .*right-handed"),
    "a sheared frame": (craig_bampton, lambda k: k | {"tip_rotation": np.ones((3, 3))},
                        "refused: .*rotation matrix"),
    "K not symmetric": (craig_bampton, lopsided, "refused: .*symmetric"),
    "K negative": (craig_bampton, stuck, "refused: .*negative"),
    "K missing": (craig_bampton, without("K"), "refused: .*K.*required"),
    "K of fewer shapes": (craig_bampton, lambda k: k | {"K": k["K"][:-1, :-1]},
                          "refused: .*must have the shape"),
    "K in other units": (craig_bampton, lambda k: k | {"K": 1e12 * k["K"]}, "refused: .*units"),
    "M of other modes": (craig_bampton, lambda k: k | {"M": 3 * modal_mass(k)},
                         "refused: .*modal mass"),
    "M slightly off": (craig_bampton, lambda k: k | {"M": 1.05 * modal_mass(k)},
                       "noted: .*modal mass"),
    "no modes but frequencies": (clamped, mixed, "refused: .*not orthogonal"),
    "the same shape twice": (clamped, lambda k: k | {
        "shapes": k["shapes"][[0, 0, 2, 3, 4]]}, "refused: .*orthogonal"),
    "not a number": (craig_bampton, with_nan, "refused: .*finite"),
    "nodes missing": (craig_bampton, lambda k: k | {"nodes": k["nodes"][:-1]},
                      "refused: .*must have the shape"),
    "text for numbers": (craig_bampton, lambda k: k | {"nodes": np.array([["a", "b", "c"]])},
                         "refused: .*array of numbers"),
    "names twice": (clamped, lambda k: k | {"names": np.array(["a"] * 5)}, "refused: .*names"),
    "unknown units": (craig_bampton, lambda k: k | {"units": "furlong, kg, s"},
                      "refused: .*units"),
    "shapes that are zero": (clamped, lambda k: k | {"shapes": 0 * k["shapes"]}, "refused"),
    "negative mass in all": (craig_bampton, lambda k: without("total_mass")(k)
                             | {"node_mass": -k["node_mass"]},
                             "refused: .*node_mass: is -.{,8} kg in all: must be > 0$"),
    "frequency zero": (clamped, lambda k: k | {"frequencies": [0, 1, 2, 3, 4]},
                       r"refused: .*frequencies\[1\]: must be 0.01 to 100000 Hz, got 0:"),
    "frequency negative": (clamped, lambda k: k | {"frequencies": [1, 2, 3, 4, -5]},
                           r"refused: .*frequencies\[5\]: must be .* got -5:"),
    "frequency too large to be squared": (clamped, lambda k: k | {"frequencies": [1e200] * 5},
                                          "refused: .* got 1e.200:"),
    "K and other frequencies": (craig_bampton, lambda k: k | {"frequencies": np.arange(1, 11)},
                                "refused: .*frequencies: are up to .* off those of K"),
    "lines from node 0": (craig_bampton, lambda k: k | {"lines": [[0, 1]]},
                          "refused: .*lines: must be numbers of nodes from 1 to 20"),
    "lines to no node": (craig_bampton, lambda k: k | {"lines": [[1, 21]]},
                         "refused: .*lines: must be numbers of nodes from 1 to 20"),
    "lines of three nodes": (craig_bampton, lambda k: k | {"lines": [[1, 2, 3]]},
                             "refused: .*lines: must be pairs"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_wrong_body_is_refused_or_noted_in_words(tmp_path: Path, mistake: str) -> None:
    make, spoil, expected = MISTAKES[mistake]
    found = said(tmp_path, spoil(make()))
    assert re.search(expected, found), found


@pytest.mark.parametrize("make", [craig_bampton, clamped])
def test_a_right_body_is_not_refused(tmp_path: Path, make: Any) -> None:
    assert said(tmp_path, make()).startswith("noted: ")


def test_negative_masses_of_single_nodes_are_right(tmp_path: Path) -> None:
    body = without("total_mass")(craig_bampton())
    body["node_mass"][np.argmin(body["node_mass"])] = -0.005
    assert said(tmp_path, body).startswith("noted: ")


def test_modal_masses_that_lumped_nodes_cannot_have_give_way_to_theirs(tmp_path: Path) -> None:
    body = craig_bampton(0)
    assert "is not used" in said(tmp_path, body | {"M": 0.9 * modal_mass(body)})


class Harmful:
    """What would run a command if it were unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.write_text, (Path("harmed"), "yes"))


@pytest.mark.parametrize("kind", ["object array", "pickle", "cut off", "text", "bomb", "nested"])
def test_a_hostile_or_damaged_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "body.npz"
    if kind == "object array":
        np.savez(path, nodes=np.array([Harmful()], dtype=object), shapes=np.zeros((1, 1, 3)))
    elif kind == "pickle":
        path.write_bytes(pickle.dumps(Harmful()))
    elif kind == "cut off":
        np.savez(path, **craig_bampton())
        path.write_bytes(path.read_bytes()[:-300])
    elif kind == "text":
        path.write_text("%PDF-1.4 not a body", encoding="utf-8")
    elif kind == "bomb":
        monkeypatch.setattr("flexarm.links.reduced.plain.MOST_BYTES", 1_000_000)
        np.savez_compressed(path, nodes=np.zeros(1_000_000))
    else:
        path.write_text("[" * 100_000, encoding="utf-8")
    with pytest.raises(ModelError):
        read_body(path)
    assert not (tmp_path / "harmed").exists()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("stiffness", None), ("flexarm_body", 2), ("modal_mass", -1), ("tip_rotation", -1),
        ("tip_position", -1), ("shape_shape", -1), ("drawn_axis", 1), ("drawn_lines", 7),
        ("drawn_lines", [[0, -1]]),
        ("mass", np.nan), ("names", "x"),
    ],
)  # fmt: skip
def test_a_kept_body_that_was_changed_is_refused(tmp_path: Path, key: str, value: Any) -> None:
    np.savez(tmp_path / "body.npz", **craig_bampton(1))
    write_body(tmp_path / "kept.npz", read_body(tmp_path / "body.npz"))
    kept = dict(np.load(tmp_path / "kept.npz"))
    if value is None:
        del kept[key]
    elif np.array_equal(value, -1):
        kept[key] = -kept[key]
    else:
        kept[key] = np.array(value)
    np.savez(tmp_path / "other.npz", **kept)
    with pytest.raises(ModelError):
        read_body(tmp_path / "other.npz")


def test_free_shapes_make_the_same_body_as_held_ones(tmp_path: Path) -> None:
    held = craig_bampton(2)
    columns = rigid(held["nodes"], np.zeros(3))
    motions = np.random.default_rng(0).normal(size=(6, 8))
    free = held | {"shapes": held["shapes"] + (columns @ motions).T.reshape(8, -1, 3)}
    for name, keys in (("held", held), ("free", without("tip_shapes")(free))):
        np.savez(tmp_path / f"{name}.npz", **keys)
    one, two = (read_body(tmp_path / f"{name}.npz") for name in ("held", "free"))
    assert np.allclose(one.integrals.shape_shape, two.integrals.shape_shape, atol=1e-10)
    assert np.allclose(one.tip_angle, two.tip_angle, atol=1e-10)
    assert any("move the hub" in note for note in inspect_body(tmp_path / "free.npz")[0].notes)


def test_axes_and_units_of_the_data_do_not_matter(tmp_path: Path) -> None:
    body = craig_bampton(2)
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    turn *= np.sign(np.linalg.det(turn))
    place = np.array([0.3, -0.2, 0.5])
    scale = np.array([1e3] * 3 + [1.0] * 3)
    other = {
        "units": "mm, t, s",
        "nodes": 1e3 * (body["nodes"] @ turn.T + place),
        "node_mass": body["node_mass"] / 1e3,
        "shapes": 1e3 * body["shapes"] @ turn.T,
        "tip_shapes": scale * (body["tip_shapes"] @ np.kron(np.eye(2), turn).T),
        "K": body["K"] * 1e3,
        "hub_position": 1e3 * place,
        "hub_rotation": turn,
        "tip_position": 1e3 * (turn @ body["tip_position"] + place),
        "tip_rotation": turn @ body["tip_rotation"],
    }
    for name, keys in (("plain", body), ("turned", other)):
        np.savez(tmp_path / f"{name}.npz", **keys)
    one, two = (read_body(tmp_path / f"{name}.npz") for name in ("plain", "turned"))
    for name in ("first", "second", "position_shape", "shape_shape", "stiffness", "modal_mass"):
        a, b = getattr(one.integrals, name), getattr(two.integrals, name)
        assert np.abs(a - b).max() < 1e-9 * np.abs(a).max(), name
    assert np.allclose(one.tip_shape, two.tip_shape, atol=1e-9)
    assert np.allclose(one.tip.rotation, two.tip.rotation, atol=1e-12)


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
        ({"stiffness": K + 1e3 * np.eye(len(K))}, "held or grounded"),
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
        (lambda text: text[:3000].rpartition("\n")[0] + "\nrubbish", "no DMIG entry"),
        (lambda text: text.replace(f"{9:16d}", f"{1009:16d}", 10**9).replace(
            f"{1009:16d}{6:16d}", f"{2009:16d}{1:16d}"), "two interface nodes"),
        (lambda text: text.replace("       6       2", "       1       2"), "symmetric real"),
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
    assert "held or grounded" in said(tmp_path, given | {"K": K + 0.1 * np.diag(np.diag(K))})
    assert "held or grounded" in said(tmp_path, given | {"tip_position": [0.4, 0, 0]})
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
    mass = mesh_mass(results, numbers, places, 6.0).toarray()
    assert mass.sum() == pytest.approx(1.0)
    rows = mass.sum(axis=1)
    assert np.allclose(rows, [-0.05] * 4 + [0.2] * 6)  # row sums of a 10-node tetrahedron
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
    assert "there are HUB, TIP" in capsys.readouterr().err
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
         "tip_nodes: 20-17 runs backwards: write 17-20"),
        (["reduce", "--out", "b.txt"], 2, "--out: a body is written as .npz, got b.txt"),
        (["import-body", "--out", "b.txt"], 2, "--out: a body is written as .npz, got b.txt"),
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


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("root_piece", {"length": 0.1}),
        ("start_curve", {"stations": [0.1, 0.2], "y": [0, 0.01]}),
        ("shapes", {"kind": "loaded"}),
        ("section", {"mass_per_length": 1, "EIz": 50}),
    ],
)
def test_keys_of_beams_are_not_for_bodies(tmp_path: Path, key: str, value: Any) -> None:
    np.savez(tmp_path / "body.npz", **clamped(1))
    link = {"joint": {"kind": "revolute"}, "body": {"kind": "modal", "file": "body.npz"}}
    path = tmp_path / "arm.yaml"
    path.write_text(json.dumps({"flexarm": 1, "name": "a", "links": [link | {key: value}]}))
    with pytest.raises(ModelError, match=rf"links\[1\].{key}: is not for a body with modes"):
        flexarm.load(path)


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
