"""Surfaces for pictures: read exactly, closed when made coarser, refused in words."""

import json
from pathlib import Path

import numpy as np
import pytest

import flexarm
from flexarm.arm.side_files import Mesh, parts_beside
from flexarm.cli import main
from flexarm.errors import ModelError
from flexarm.io.meshes import coarser, read_mesh, solid, write_stl
from flexarm.io.urdf.convert import import_urdf
from flexarm.viewer.bundle import Arrays
from flexarm.viewer.scene import scene
from tests.io.robots import urdf, write

OBJ = b"# a pyramid\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv .5 .5 1\nf 1/1 2/2 3/3 4\nf -1 1 2\n"
TEXT = (
    b"solid one\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 2e0 0\n"
    b"endloop\nendfacet\nendsolid one\n"
)


def volume(points: np.ndarray, faces: np.ndarray) -> float:
    return float(np.linalg.det(points[faces]).sum() / 6)


def test_files_are_read_as_they_are() -> None:
    points, faces = read_mesh(OBJ, "a.OBJ")
    assert faces.tolist() == [[0, 1, 2], [0, 2, 3], [4, 0, 1]]
    assert points[4].tolist() == [0.5, 0.5, 1]
    corners, one = read_mesh(TEXT, "a.stl")
    assert corners[one].tolist() == [[[0, 0, 0], [1, 0, 0], [0, 2, 0]]]
    again, three = read_mesh(write_stl(points, faces), "b.stl")
    np.testing.assert_array_equal(again[three], points[faces])


# A box by quadrilaterals, twice: turned and moved within a node that is turned and scaled [mm].
DAE = """<?xml version="1.0" encoding="utf-8"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit name="millimeter" meter="0.001"/><up_axis>Y_UP</up_axis></asset>
<library_geometries><geometry id="box"><mesh>
<source id="p"><float_array id="a" count="24">POINTS</float_array></source>
<source id="n"><float_array id="b" count="3">0 0 1</float_array></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<lines count="1"><input semantic="VERTEX" source="#v" offset="0"/><p>0 1</p></lines>
<polylist count="6"><input semantic="VERTEX" source="#v" offset="1"/>
<input semantic="NORMAL" source="#n" offset="0"/><vcount>4 4 4 4 4 4</vcount><p>SIDES</p></polylist>
</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="s"><node><rotate>0 0 1 90</rotate><scale>2 1 1</scale>
<node><translate>0 0 5</translate><instance_geometry url="#box"/></node>
<node><matrix>0 0 1 7 1 0 0 0 0 1 0 0 0 0 0 1</matrix><instance_geometry url="#box"/></node>
</node></visual_scene></library_visual_scenes></COLLADA>"""
CORNERS = np.array([[x, y, z] for x in (0, 1) for y in (0, 2) for z in (0, 3)])
SIDES = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]


def dae() -> str:
    sides = " ".join(f"0 {k}" for side in SIDES for k in side)
    return DAE.replace("POINTS", " ".join(map(str, CORNERS.ravel()))).replace("SIDES", sides)


def test_the_scene_of_a_collada_is_placed() -> None:
    points, faces = read_mesh(dae().encode(), "a.dae")
    assert len(faces) == 24
    x, y, z = CORNERS.T  # scaled along x, then turned by 90 degrees about z
    np.testing.assert_allclose(points[:8], 1e-3 * np.array([-y, 2 * x, z + 5]).T, atol=1e-15)
    np.testing.assert_allclose(points[8:], 1e-3 * np.array([-x, 2 * (z + 7), y]).T, atol=1e-15)
    assert volume(points, faces) == pytest.approx(2 * 2 * 6e-9)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [("<COLLADA", '<!DOCTYPE a [<!ENTITY b "c">]><COLLADA', "a document type"),
     ("0 7 0 6", "0 99 0 6", "not COLLADA 1.4. Was it"), ("#p", "#q", "the file is not COLLADA"),
     ("</COLLADA>", "", "the file is not COLLADA 1.4"), ("#box", "#v", "has no triangle"),
     (' meter="0.001"', ' meter="1e9"', "a corner that is not a number, or is beyond 1e"),
     ("<instance", "<instance_geometry url='#box'/>" * 5000 + "<instance", "has over 5,000 parts")],
)  # fmt: skip
def test_a_hostile_collada_is_refused_in_words(old: str, new: str, told: str) -> None:
    assert old in dae()
    with pytest.raises(ModelError, match=rf"a\.dae: .*{told}"):
        read_mesh(dae().replace(old, new).encode(), "a.dae")


def test_solids_have_their_volumes_and_stay_closed_when_made_coarser() -> None:
    assert volume(*solid("box", np.array([1.0, 2.0, 3.0]))) == pytest.approx(6)
    sides = 24 / (2 * np.pi) * np.sin(2 * np.pi / 24)  # of a circle's area: that of its polygon
    assert volume(*solid("cylinder", np.array([0.5, 2.0]))) == pytest.approx(np.pi * 0.5 * sides)
    points, faces = solid("sphere", np.array([1.0]))
    assert volume(points, faces) == pytest.approx(4 / 3 * np.pi, rel=0.03)
    fewer = coarser(points, faces, 200)
    assert 50 < len(fewer[1]) <= 200
    assert volume(*fewer) == pytest.approx(4 / 3 * np.pi, rel=0.15)
    edges: dict[tuple[int, int], int] = {}
    for a, b in fewer[1][:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2).tolist():
        edges[a, b] = edges.get((a, b), 0) + 1
    assert all(edges.get((b, a)) == count for (a, b), count in edges.items())


NOT_A_NUMBER = write_stl(np.full((3, 3), np.nan), np.array([[0, 1, 2]]))


@pytest.mark.parametrize(
    ("content", "name", "told"),
    [
        (write_stl(*read_mesh(OBJ, "a.obj"))[:-7], "a.stl", "the file is not an STL: 3 tri"),
        (b" " * 80 + b"\xff\xff\xff\x7f", "a.stl", "2,147,483,647 triangles take 107,374,182,434"),
        (NOT_A_NUMBER, "a.stl", "a corner that is not a number, or is beyond 1e"),
        (TEXT.replace(b"2e0", b"two"), "a.stl", "has a corner that is not three numbers"),
        (TEXT.replace(b"vertex 0 0 0\n", b""), "a.stl", "ends within a triangle"),
        (b"", "a.stl", "is not an STL"),
        (b"v 0 0 0\nf 1 2 3", "a.obj", "a point that is not in the file"),
        (b"v 0 0 0\nf 1 1 " + b"9" * 30, "a.obj", "a point that is not in the file"),
        (b"v 0 0 0\nf 1 1 -" + b"9" * 30, "a.obj", "a point that is not in the file"),
        (b"v 0 0 0\nf 1 x 3", "a.obj", "has a face that cannot be read"),
        (b"v 0 0 0\n", "a.obj", "a.obj: the mesh has no triangle"),
        (b"<mesh/>", "a.ply", r"an STL, OBJ or DAE file, got \.ply. Convert it"),
    ],
)  # fmt: skip
def test_a_hostile_mesh_is_refused_in_words(content: bytes, name: str, told: str) -> None:
    with pytest.raises(ModelError, match=told):
        read_mesh(content, name)


LOOKS = """<link name="seen">
  <visual><geometry><mesh filename="{file}" scale="0.1 0.1 0.2"/></geometry></visual>
  <collision><origin xyz="0 0 1" rpy="0 0 0"/><geometry>{solid}</geometry></collision>
</link><joint name="holds" type="fixed"><parent link="upper"/><child link="seen"/>
<origin xyz="1 0 0"/></joint>"""


@pytest.mark.parametrize(
    ("file", "solid", "told", "low", "high"),
    [
        ("a.obj", "<box/>", None, [1, 0, 0], [1.1, 0.1, 0.2]),
        ("package://robots/sub/a.obj", "<box/>", None, [1, 0, 0], [1.1, 0.1, 0.2]),
        ("package://gone/b.obj", '<box size="1 1 1"/>', "drawn by what collides, since there is no "
         "file package://gone/b.obj", [0.5, -0.5, 0.5], [1.5, 0.5, 1.5]),
        ("a.dae", '<sphere radius="1"/>', "since there is no file a.dae", [0, -1, 0], [2, 1, 2]),
        ("http://x/a.stl", '<cylinder radius="1" length="nan"/>', "seen: not drawn, since http://x/"
         "a.stl is an address on the network, which is not downloaded", None, None),
        ("a.obj", "<cone/>", None, [1, 0, 0], [1.1, 0.1, 0.2]),
    ],
)  # fmt: skip
def test_what_a_link_looks_like_is_found_placed_and_drawn(
    tmp_path: Path, file: str, solid: str, told: str | None,
    low: list[float] | None, high: list[float] | None,
) -> None:  # fmt: skip
    folder = tmp_path / "robots" / "sub"
    folder.mkdir(parents=True)
    (folder / "a.obj").write_bytes(OBJ)
    path = write(folder, urdf(extra=LOOKS.format(file=file, solid=solid)))
    arm, notes = import_urdf(path, tip="tool", meshes="arm.meshes")
    assert any(told in note for note in notes) if told else not any("drawn" in n for n in notes)
    mesh = arm.links[0].mesh
    if low is None or high is None:
        assert mesh is None
        return
    assert mesh is not None
    points, faces = read_mesh(mesh.side_file.content, mesh.file)
    seen = points[np.unique(faces)]
    np.testing.assert_allclose(seen.min(axis=0), low, atol=0.01)
    np.testing.assert_allclose(seen.max(axis=0), high, atol=0.01)


def test_the_command_writes_meshes_that_pages_draw(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.obj").write_bytes(OBJ)
    path = write(tmp_path, urdf(extra=LOOKS.format(file="a.obj", solid="<box/>")))
    out = tmp_path / "small arm.yaml"
    given = ["import-urdf", str(path), "--tip", "tool", "--out", str(out)]
    assert main([*given, "--no-meshes"]) == 0
    assert not list(parts_beside(flexarm.load(out)))
    assert main([*given, "--force"]) == 0
    assert (tmp_path / "small arm.meshes" / "upper.stl").stat().st_size == 84 + 3 * 50
    arm = flexarm.load(out)
    drawn = scene(flexarm.build(arm), Arrays())["links"]
    assert [link["mesh"] is not None for link in drawn] == [True, False, False, False]
    assert drawn[0]["mesh"]["points"]["shape"] == [5, 3]
    assert json.dumps(drawn)
    (tmp_path / "small arm.meshes" / "upper.stl").write_bytes(b"broken")
    with pytest.raises(
        ModelError, match=r"upper: mesh: small arm.meshes/upper.stl: the file is not an STL"
    ):
        scene(flexarm.build(flexarm.load(out)), Arrays())
    capsys.readouterr()
    assert main([*given, "--force"]) == 0
    assert isinstance(next(parts_beside(flexarm.load(out))), Mesh)
