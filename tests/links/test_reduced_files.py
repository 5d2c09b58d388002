"""Bodies in files: what is wrong with one is refused, or noted, in words."""

import json
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flexarm
from flexarm.errors import ModelError
from flexarm.links.imported.file import inspect_body, read_body, write_body
from tests.links.reduced_bodies import clamped, craig_bampton, rigid, said

Keys = dict[str, Any]


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
        "shapes": 1e3 * k["shapes"]}, "m long. Are the units right"),
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
        "tip_shapes": k["tip_shapes"][:, [1, 2, 0, 4, 5, 3]]}, "refused: .*Are axes, signs"),
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
                       r"refused: .*frequencies\[1\]: must be 0.01 to 100000 Hz, got 0\."),
    "frequency negative": (clamped, lambda k: k | {"frequencies": [1, 2, 3, 4, -5]},
                           r"refused: .*frequencies\[5\]: must be .* got -5\."),
    "frequency too large to be squared": (clamped, lambda k: k | {"frequencies": [1e200] * 5},
                                          "refused: .*finite numbers of at most 1.3e.30"),
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
        monkeypatch.setattr("flexarm.links.imported.readers.plain.MOST_ARRAY_BYTES", 1_000_000)
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
        ("drawn_lines", [[0, -1]]), ("drawn_lines", [[0, 1e30]]),
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


@pytest.mark.parametrize("size", [1.0, 1e-3])
def test_free_shapes_make_the_same_body_as_held_ones(tmp_path: Path, size: float) -> None:
    held = craig_bampton(2)
    columns = rigid(held["nodes"], np.zeros(3))
    motions = size * np.random.default_rng(0).normal(size=(6, 8))
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
    with pytest.raises(ModelError, match=rf"links\[1\].{key}: .*a? ?body with modes"):
        flexarm.load(path)


def test_a_surface_is_drawn_by_faces_elements_or_a_hull(tmp_path: Path) -> None:
    body = craig_bampton()
    corners = np.array([0, 1, 3, 2, 4, 5, 7, 6])
    elements = corners + 4 * np.arange(4)[:, None] + 1
    for given, points, faces in (
        ({"elements": elements}, 20, 36),
        ({"faces": np.array([[1, 2, 4, 3], [5, 6, 8, 7]])}, 8, 4),
        ({}, 20, None),
        ({"lines": np.array([[1, 2]])}, 20, 0),
    ):
        np.savez(tmp_path / "body.npz", **body, **given)
        drawn = read_body(tmp_path / "body.npz").drawn
        assert len(drawn.places) - drawn.axis == points
        assert len(drawn.faces) == faces if faces is not None else len(drawn.faces) > 12
        a, b, c = (drawn.places[drawn.faces[:, k]] for k in range(3))
        assert np.all(np.linalg.norm(np.cross(b - a, c - a), axis=1) > 1e-4)
    assert "faces: must be numbers of nodes" in said(tmp_path, body | {"faces": [[1, 2, 99]]})
    assert "nodes of triangles" in said(tmp_path, body | {"faces": [[1, 2]]})


def test_a_body_with_a_far_node_keeps_its_inertia(tmp_path: Path) -> None:
    keys = clamped(2)
    keys["nodes"] = keys["nodes"].copy()
    keys["nodes"][6, 0] = 11_500.0  # [m]; the others are within 0.3 m
    np.savez(tmp_path / "body.npz", **keys)
    body = read_body(tmp_path / "body.npz")
    second = np.einsum("n,na,nb->ab", keys["node_mass"], keys["nodes"], keys["nodes"])
    np.testing.assert_allclose(np.diag(body.integrals.second), np.diag(second), rtol=1e-12)
    write_body(tmp_path / "again.npz", body)
    assert read_body(tmp_path / "again.npz").names == body.names


def test_a_body_whose_shapes_are_in_a_tiny_unit_is_read_again(tmp_path: Path) -> None:
    keys = clamped(2)
    np.savez(tmp_path / "body.npz", **keys | {"shapes": 1e20 * keys["shapes"]})
    body = read_body(tmp_path / "body.npz")
    assert np.abs(body.integrals.shape_shape).max() > 1e35
    write_body(tmp_path / "again.npz", body)
    again = read_body(tmp_path / "again.npz")
    np.testing.assert_array_equal(again.integrals.modal_mass, body.integrals.modal_mass)
