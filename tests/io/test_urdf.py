"""Robots of URDFs as arms: nothing is lost, links bend as by hand, hostile files refused."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import eigh

import flexarm
from flexarm.cli import main
from flexarm.errors import ModelError
from flexarm.io.urdf.convert import import_urdf
from tests.io.robots import ASIDE, PARTS, TREE, mass_matrix, poses, urdf, write

Q = np.array([0.4, -0.7, 0.15])
FLEX = """
gravity: [0, 0, 0]
links:
  upper: {section: {EIy: 900, EIz: 500, GJ: 300}, damping: 1 %}
joints:
  to_lower: {drive: {stiffness: 4000 N m/rad, gear_ratio: 100, rotor_inertia: 2.0e-5}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("urdf")
    write(path, urdf())
    write(path, FLEX, "robot.flex.yaml")
    return path


def test_a_rigid_robot_keeps_masses_frames_and_limits(folder: Path) -> None:
    arm, notes = import_urdf(folder / "robot.urdf", tip="tool")
    equation = flexarm.formulation("composite", flexarm.build(arm))
    np.testing.assert_allclose(equation.mass_matrix(Q), mass_matrix(Q), rtol=0, atol=2e-9)
    turn, place = equation.tip_pose(Q)
    np.testing.assert_allclose(turn, poses(Q)["tool"][:3, :3], atol=1e-14)
    np.testing.assert_allclose(place, poses(Q)["tool"][:3, 3], atol=1e-14)
    joint = arm.links[0].joint
    assert isinstance(joint, flexarm.arm.Revolute)
    assert joint.limits is not None
    assert joint.limits.model_dump() == {"lower": -1.5, "upper": 2, "speed": 3, "effort": 50}
    assert any("to_jaw branch off and are frozen at 0" in note for note in notes)


def test_flexible_links_and_joints_keep_the_rigid_robot(folder: Path) -> None:
    path = folder / "robot.urdf"
    arm, _ = import_urdf(path, flex=folder / "robot.flex.yaml", tip="tool")
    assert arm.links[0].flexible
    model = flexarm.build(arm)
    q = np.zeros(model.size)
    q[[model.names.index(name) for name in ("to_upper", "to_lower", "to_slide")]] = Q
    q[model.names.index("to_lower.motor")] = Q[1]
    full = flexarm.formulation("composite", model)
    rows = [model.names.index(name) for name in ("to_upper", "to_lower", "to_slide")]
    found = full.mass_matrix(q)[np.ix_(rows, rows)]
    stiff = flexarm.formulation("composite", flexarm.build(import_urdf(path, tip="tool")[0]))
    np.testing.assert_allclose(found, stiff.mass_matrix(Q), rtol=0, atol=1e-13)
    np.testing.assert_allclose(full.tip_pose(q)[1], poses(Q)["tool"][:3, 3], atol=1e-14)
    motor = full.mass_matrix(q)[model.names.index("to_lower.motor")]
    assert motor[model.names.index("to_lower.motor")] == pytest.approx(100**2 * 2e-5, rel=1e-14)


PRESCRIBED = "actuation: prescribed, motion: {kind: constant, value: 0.6},"


@pytest.mark.parametrize(
    ("limit", "side", "limits", "start"),
    [
        ('lower="-2" upper="2"', "limits: {effort: 7},", (-2, 2, 3, 7), None),
        ('lower="0.5" upper="1"', "start: {speed: 1},", (0.5, 1, 3, 5), 0.75),
        ('lower="0.5" upper="1"', "limits: {lower: -20 deg},", (-np.pi / 9, 1, 3, 5), None),
        ('lower="0.5" upper="1"', PRESCRIBED, (0.5, 1, 3, 5), None),
        ('lower="0.5" upper="10000"', "", (0.5, None, 3, 5), 0.5),
        ('lower="-10000" upper="-0.5"', "", (None, -0.5, 3, 5), -0.5),
    ],
)
def test_limits_of_a_urdf_and_a_side_file_hold_together(
    tmp_path: Path, limit: str, side: str, limits: tuple[float | None, ...], start: float | None
) -> None:
    given = f'<limit {limit} velocity="3" effort="5"/><dynamics damping="0.2"/>'
    text = (
        '<robot name="r"><link name="base"/><link name="a"><inertial><mass value="1"/><inertia '
        'ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>'
        f"{JOINT.format('revolute', 'base', 'a', given)}</robot>"
    )
    flex = write(tmp_path, f"joints: {{j: {{{side} friction: {{coulomb: 0.1}}}}}}", "f.yaml")
    arm, notes = import_urdf(write(tmp_path, text), flex=flex)
    joint = arm.links[0].joint
    assert isinstance(joint, flexarm.arm.Revolute)
    assert joint.limits is not None
    assert tuple(joint.limits.model_dump().values()) == pytest.approx(limits)
    assert joint.friction is not None
    assert (joint.friction.viscous, joint.friction.coulomb) == (0.2, 0.1)
    assert joint.start.position == start
    assert any("starts at" in note for note in notes) == (start is not None)


def stiffness(length: float, EIy: float, EIz: float, GJ: float) -> np.ndarray:
    """Stiffness of a beam's tip against displacement and rotation, the root clamped, (6, 6)."""
    stiff = np.zeros((6, 6))
    stiff[0, 0] = 1e12
    stiff[3, 3] = GJ / length
    for across, about, bending, sign in ((1, 5, EIz, -1), (2, 4, EIy, 1)):
        stiff[across, across] = 12 * bending / length**3
        stiff[about, about] = 4 * bending / length
        stiff[across, about] = stiff[about, across] = sign * 6 * bending / length**2
    return stiff


def cantilever(length: float, EIy: float, EIz: float, GJ: float, tip: np.ndarray) -> float:
    """First frequency [Hz] of a massless beam along x with a tip body, (6, 6), by hand."""
    stiff = stiffness(length, EIy, EIz, GJ)
    return float(np.sqrt(eigh(stiff, tip, eigvals_only=True)[0]) / (2 * np.pi))


def test_the_first_frequency_of_a_flexible_link_is_that_by_hand(tmp_path: Path) -> None:
    body = '<inertial><origin xyz="0 0.1 0.2"/><mass value="3"/><inertia ixx="0.1" ixy="0" ' \
        'ixz="0" iyy="0.2" iyz="0" izz="0.15"/></inertial>'  # fmt: skip
    text = (
        '<robot name="mast"><link name="ground"/>'
        '<link name="mast"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" '
        f'iyz="0" izz="1"/></inertial></link><link name="head">{body}</link>'
        '<joint name="turn" type="continuous"><parent link="ground"/><child link="mast"/>'
        '<axis xyz="0 0 1"/></joint><joint name="nod" type="revolute"><parent link="mast"/>'
        '<child link="head"/><origin xyz="0 0 1.5"/><axis xyz="0 1 0"/></joint></robot>'
    )
    flex = (
        "gravity: [0, 0, 0]\nlinks: {mast: {section: {EIy: 200, EIz: 400, GJ: 150, "
        "mass_per_length: 1.0e-6}, up: [1, 0, 0], shapes: {kind: loaded, static: true}}}"
    )
    arm, _ = import_urdf(write(tmp_path, text), flex=write(tmp_path, flex, "f.yaml"))
    # x of the beam is z of the URDF, z of the beam x of it.
    x, y, z = 0.2, 0.1, 0.0
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    inertia = np.diag([0.15, 0.2, 0.1])
    tip = np.block([[3 * np.eye(3), -3 * cross], [3 * cross, inertia - 3 * cross @ cross]])
    found = flexarm.modes(flexarm.build(arm), joints="locked", straight=True).modes[0]
    assert found.frequency_hz == pytest.approx(cantilever(1.5, 200, 400, 150, tip), rel=1e-5)


@pytest.mark.parametrize("rotary", [True, False])
def test_a_shape_with_the_mass_of_the_urdf_keeps_shear_and_rotary_inertia(
    folder: Path, rotary: bool
) -> None:
    side = (
        "links: {upper: {section: {material: {E: 70 GPa, G: 26 GPa}, shear: 0.8, rotary_inertia: "
        f"{rotary}, shape: {{kind: box, width: 60 mm, height: 80 mm, thickness: 4 mm}}}}}}}}\n"
        "stiffening: false"
    )
    flex = write(folder, side, "shape.yaml")
    arm, _ = import_urdf(folder / "robot.urdf", flex=flex, tip="tool")
    section = arm.links[0].section
    assert section is not None
    assert not arm.stiffening  # without which a link that shears is not built
    area, about_y = 1056e-6, (60 * 80**3 - 52 * 72**3) / 12e12
    about_z = (80 * 60**3 - 72 * 52**3) / 12e12
    assert (section.GAy, section.GAz) == pytest.approx((0.8 * 26e9 * area,) * 2)
    scale = rotary * (section.mass_per_length or 0.0) / area
    assert (section.Jy, section.Jz) == pytest.approx((scale * about_y, scale * about_z))


@pytest.mark.parametrize(
    ("side", "told"),
    [
        ("links: {uper: {section: {EIy: 1}}}", r"1:9: links.uper: is no moving joint of the arm. "),
        ("links: {tool: {section: {EIy: 1}}}", "is fixed to slide. Write this for that link"),
        ("links: {upper: {section: {EIy: -1}}}", "section.EIy: must be > 0, got -1"),
        ("links: {upper: {section: {EIy: 1, mass_per_length: 9}}}", "at most .* kg of the link's"),
        ("links: {upper: {section: {EIy: 1}, up: [0.05, 0.02, 0.5]}}", "be a direction across"),
        ("links: {upper: {section: {EIy: 1}, inertia: beam}}", "be urdf or section, got 'beam'"),
        ("links: {upper: {section: {EIy: 1}, inertia: section}}", "needs the mass of the section"),
        ("links: {upper: {section: {material: steel, shape: {kind: tube, diameter: 1 cm}}}}",
         "section.material: must be a mapping of E and nu or G, got 'steel'"),
        ("links: {upper: {damping: 2 %}}", "needs a section"),
        ("joints: {to_upper: {axis: [1, 0, 0]}}", "axis: is no key here"),
        ("joints: {to_upper: {drive: {gear_ratio: ten}}}", "1:41: joints.to_upper.drive.gear_rat"),
        ("name: x", "must be links, joints, gravity, stiffening or notes"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_side_file_is_told(folder: Path, side: str, told: str) -> None:
    with pytest.raises(ModelError, match=told):
        import_urdf(folder / "robot.urdf", flex=write(folder, side, "side.yaml"), tip="tool")


BOMB = '<!DOCTYPE r [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]>'
JOINT = '<joint name="j" type="{}"><parent link="{}"/><child link="{}"/>{}</joint>'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (urdf(head=BOMB), "line 1: <!DOCTYPE is not allowed"),
        (urdf(head='<!doctype r SYSTEM "file:///etc/passwd">'), "<!doctype is not allowed"),
        (urdf(extra=f"<!-- {'x' * 10_000_000} -->"), "larger than 5,000,000 bytes"),
        (urdf(extra='<link name="l"/>' * 3000), "more than 2000"),
        (urdf()[:-20], "is not XML"),
        ("<sdf/>", "root is <robot>, got <sdf>"),
        (urdf(extra='<x:if xmlns:x="http://ros.org/wiki/xacro"/>'), "Expand the file first"),
        (urdf(extra=JOINT.format("fixed", "tool", "upper", "")), "which makes a closed loop"),
        (urdf(extra=JOINT.format("fixed", "tool", "base_link", "")), "Leave one link, the base"),
        (urdf(extra='<link name="lost"/>'), "no joint carries lost"),
        (urdf(extra='<link name="tool"/>'), "link 'tool' is there twice"),
        (urdf(extra=JOINT.format("fixed", "tool", "nobody", "")), "child link 'nobody' is not in"),
        (urdf(extra=JOINT.format("ball", "tool", "jaw", "")), "type must be one of revolute"),
        (urdf().replace('rpy="0.3', 'rpy="90'), "URDF uses radians"),
        (urdf().replace('upper="2"', 'upper="-2"'), "lower must be less than upper, got -1.5 and"),
        (urdf().replace('upper="2"', 'upper="170"'), "limit upper .* URDF uses radians"),
        (urdf().replace('xyz="0.1 0 0.3"', 'xyz="100 0 300"'), "URDF uses metres"),
        (urdf().replace('ixx="0.09"', 'ixx="90000"'), "a body with a size of 150 m"),
        (urdf().replace('mass value="4.0"', 'mass value="nan"'), "must be a finite number"),
        (urdf().replace('mass value="4.0"', 'mass value="-1"'), "mass must be 0 to"),
        (urdf().replace('xyz="0.1 0 0.3"', 'xyz="0.1 0"'), "must be three numbers"),
    ],
    ids=lambda value: value[:30] if len(value) < 60 else "",
)  # fmt: skip
def test_a_hostile_file_is_refused_in_words(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ModelError, match=told):
        import_urdf(write(tmp_path, text), tip="tool")


def test_nesting_of_any_depth_does_not_exhaust_the_stack(tmp_path: Path) -> None:
    deep = write(tmp_path, urdf(extra="<a>" * 600_000 + "</a>" * 600_000))
    arm, _ = import_urdf(deep, tip="tool")
    assert arm == import_urdf(write(tmp_path, urdf()), tip="tool")[0]


def test_other_encodings_cannot_hide_entities(tmp_path: Path) -> None:
    path = tmp_path / "wide.urdf"
    path.write_bytes(urdf(head=BOMB).encode("utf-16"))
    with pytest.raises(ModelError, match="not UTF-8"):
        import_urdf(path)


@pytest.mark.parametrize("encoding", ["foo", "hex", "utf-7", "idna", "utf-32", "latin-1"])
def test_a_declared_encoding_chooses_no_codec(tmp_path: Path, encoding: str) -> None:
    """ASCII is the same in all of them; what is not is refused, since it would be a guess."""
    head = f'<?xml version="1.0" encoding="{encoding}"?>'
    assert import_urdf(write(tmp_path, urdf(head=head)), tip="tool")[0].name == "small robot"
    text = urdf(head=head).replace("small robot", "Gr\u00f6\u00dfe")
    with pytest.raises(ModelError, match=f"declares the encoding '{encoding}', but is read as UTF"):
        import_urdf(write(tmp_path, text), tip="tool")


def test_an_encoding_cannot_hide_entities_in_ascii(tmp_path: Path) -> None:
    hidden = BOMB.replace("<", r"\x3c").replace('"', r"\x22")
    text = urdf(head=f'<?xml version="1.0" encoding="unicode_escape"?>{hidden}')
    with pytest.raises(ModelError, match="is not XML"):
        import_urdf(write(tmp_path, text), tip="tool")


@pytest.mark.parametrize(("largest", "noted"), [(0.03, False), (0.03002, False), (0.04, True)])
def test_an_inertia_that_no_body_has_is_noted(tmp_path: Path, largest: float, noted: bool) -> None:
    text = (
        '<robot name="r"><link name="base"/><link name="a"><inertial><origin rpy="0.3 1 2"/><mass '
        f'value="1"/><inertia ixx="{largest}" iyy="0.01" izz="0.02" ixy="0" ixz="0" iyz="0"/>'
        f"</inertial></link>{JOINT.format('continuous', 'base', 'a', '')}</robot>"
    )
    _, notes = import_urdf(write(tmp_path, text))
    told = [note for note in notes if "No body has one larger" in note]
    assert bool(told) == noted
    assert all(note.startswith("a: its moments of inertia are 0.01, 0.02 and") for note in told)


def test_branches_are_named_and_one_is_chosen(folder: Path) -> None:
    forked = urdf(extra='<link name="fork"/>' + JOINT.format("continuous", "upper", "fork", ""))
    path = write(folder, forked, "forked.urdf")
    assert import_urdf(path)[0].link_names == ("upper", "fork", "lower", "slide", "jaw")
    with pytest.raises(ModelError, match=r"no link 'claw'. The branches end in jaw, fork"):
        import_urdf(path, tip="claw")
    assert import_urdf(path, tip="fork")[0].link_names == ("upper", "fork")
    floating = urdf().replace('name="to_upper" type="revolute"', 'name="f" type="floating"')
    with pytest.raises(ModelError, match="is floating, which in an arm only the base can be"):
        import_urdf(write(folder, floating, "floating.urdf"), tip="tool")


def test_all_branches_of_a_robot_move(folder: Path) -> None:
    path = write(folder, urdf(parts=PARTS | ASIDE), "branched.urdf")
    arm, notes = import_urdf(path)
    assert arm.link_names == TREE
    assert "branches at upper (to_lower, to_side)" in notes
    q = np.array([*Q, 0.3, -0.7, 0.2])
    for name in ("composite", "articulated"):
        matrix = flexarm.formulation(name, flexarm.build(arm)).mass_matrix(q)
        expected = mass_matrix(q, TREE, PARTS | ASIDE)
        np.testing.assert_allclose(matrix, expected, rtol=0, atol=2e-9)
    flex = "links: {upper: {to: [0, 0, 0.5], section: {EIy: 500, EIz: 500}}}"
    bent, _ = import_urdf(path, flex=write(folder, flex, "branched.yaml"))
    assert bent.links[1].parent is None
    assert bent.links[1].at == pytest.approx(0.4)
    assert (bent.links[3].parent, bent.links[3].at) == ("upper", "tip")
    model, rows = flexarm.build(bent), [f"to_{name}" for name in TREE]
    places = [model.names.index(row) for row in rows]
    straight = np.zeros(model.size)
    straight[places] = q
    matrix = flexarm.formulation("composite", model).mass_matrix(straight)
    np.testing.assert_allclose(
        matrix[np.ix_(places, places)], mass_matrix(q, TREE, PARTS | ASIDE), rtol=0, atol=2e-9
    )


def test_the_command_writes_a_model_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = folder / "arm.yaml"
    given = [str(folder / "robot.urdf"), "--flex", str(folder / "robot.flex.yaml")]
    assert main(["import-urdf", *given, "--tip", "tool", "--out", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["links"] == ["upper", "lower", "slide", "tool"]
    arm, _ = import_urdf(given[0], flex=given[2], tip="tool")
    assert flexarm.load(out) == arm
    assert main(["import-urdf", *given, "--tip", "tool", "--out", str(out)]) == 1
    assert main(["import-urdf", *given, "--out", str(folder / "other.yaml"), "--tip", "x"]) == 3


def test_control_characters_of_names_become_underscores(tmp_path: Path) -> None:
    text = urdf().replace('"upper"', '"up&#10;per"').replace('"to_upper"', '"to&#8238;upper"')
    text = text.replace('<robot name="', '<robot name="a&#9;')
    write(tmp_path, text)
    arm, notes = import_urdf(tmp_path / "robot.urdf", tip="tool")
    assert arm.name.startswith("a_")
    assert (arm.link_names[0], arm.joint_names[0]) == ("up_per", "to_upper")
    assert any("is called up_per here" in note for note in notes)
