import json
import os
import stat
from pathlib import Path

import pytest

from flexarm.arm import Arm, Fixed, FixedBase, Link, Revolute
from flexarm.errors import ModelError
from flexarm.io.constants import MOST_MODEL_BYTES
from flexarm.io.model_file import dumps, load, loads, save
from flexarm.io.source import read
from flexarm.samples import example_arm_names, sample_path
from tests.io.arms import RICH, SMALL

# Keys of what flexarm does not have, where they stand in an arm, and how the answer starts.
SCOPE = [
    (
        "branches: []",
        "",
        "branches: flexarm models links that carry each other, listed in 'links'. Name the",
    ),
    (
        "loops: []",
        "",
        "loops: flexarm models links that carry each other, listed in 'links', and no closed",
    ),
    ("constraints: []", "", "constraints: flexarm models links that carry each other"),
    ("arms: []", "", "arms: flexarm models links that carry each other"),
    (
        "parent: elbow",
        "links",
        "links[1].parent: there is no link 'elbow'. Give the base or a link that stands before",
    ),
    ("tension_only: true", "springs", "springs[1].tension_only: a spring pulls and pushes"),
]
# A piece of the rich arm, what is written in its place, and how the one complaint starts.
WRONG = [
    ("flexarm: 1\n", "flexarm: 2\n", "2:10: flexarm: must be 1, got 2"),
    ("name: rich\n", "", "2:1: name: is required"),
    ("name: rich\n", "name: [rich]\n", "3:1: name: must be text, got ['rich']"),
    (
        "length: 1.2 m",
        "lenght: 1.2 m",
        "36:5: links[1].lenght: unknown key; did you mean 'length'?",
    ),
    ("length: 1.2 m", "length: -1", "36:13: links[1].length: must be >= 0, got -1"),
    (
        "length: 1.2 m",
        "length: 1.2 kg",
        '36:13: links[1].length: "1.2 kg" is a mass [kg]; a length',
    ),
    ("length: 1.2 m", "length: 1,2 m", '36:13: links[1].length: "1,2 m": write the number with a'),
    ("length: 1.2 m", "length:1.2 m", "36:5: a ': ' is missing after this key"),
    ("length: 1.2 m", "length:", "36:5: links[1].length: an empty value is not a number; a length"),
    ("length: 1.2 m", "length: [1.2]", "36:5: links[1].length: a list is not a number; a length"),
    (
        "kind: revolute",
        "kind: revolut",
        "18:13: links[1].joint.kind: must be one of revolute, pris",
    ),
    ("      kind: revolute\n", "", "17:5: links[1].joint.kind: is required: one of revolute, pris"),
    ("kind: tube", "kind: pipe", "39:21: links[1].section.shape.kind: must be one of rectangle, "),
    (
        "E: 70 GPa",
        "E: 70 Gpa",
        '38:21: links[1].section.material.E: "70 Gpa": there is no unit \'G',
    ),
    ("diameter: 60 mm", "diameter: 60 deg", '39:37: links[1].section.shape.diameter: "60 deg" is'),
    ("thickness: 3 mm", "thickness: 40 mm", "39:55: links[1].section.shape.thickness: "),
    ("duration: 2 s", "duration: 0", "14:58: base.motion.rz.duration: must be > 0, got 0"),
    ("upper: 170 deg", "upper: -171 deg", "24:40: links[1].joint.limits.upper: the upper"),
    (
        "rotor: full",
        "rotor: half",
        "28:16: links[1].joint.drive.rotor: must be one of simple, full;",
    ),
    ("1.2e-4 kg m^2", "0", "26:24: links[1].joint.drive.rotor_inertia: "),
    ("[-80 N*m, 0, 80 N*m]", "[-80 N*m, 0]", "31:11: links[1].joint.drive.stiffness.effort: "),
    ("[-0.01, 0, 0.01]", "[-0.01, 1, 0]", "30:34: links[1].joint.drive.stiffness.deflection[3]: "),
    ("damping: [1 %, 0.02]", "damping: [1 %, 2]", "42:20: links[1].damping[2]: must be < 1, got 2"),
    (
        "at: tip",
        "at: tipp",
        "45:13: links[1].wrenches[2].at: there is no place 'tipp' on this link. Give tip, root",
    ),
    ("{at: 0.6,", "{at: 1.6,", "44:14: links[1].wrenches[1].at: "),
    ("position: 0.8", "position: 2.5", "53:25: links[2].joint.start.position: "),
    (
        "follow: true",
        "follow: yes",
        "56:88: links[2].shapes.follow: must be true or false, got 'yes'",
    ),
    (
        "bending_y: 3",
        "bending_y: 2.5",
        "41:39: links[1].shapes.bending_y: must be a whole number or",
    ),
    (
        "[0.01, 0.02, 0.02, 0, 1e-3, 0]",
        "[0, 0]",
        "59:39: links[3].body.inertia: must have 3 or 6 i",
    ),
    (
        "values: [0, 1, 0]",
        "values: [0, 1]",
        "47:49: links[1].wrenches[2].factor.values: there are 2",
    ),
    ("times: [0, 0.5 s,", "times: [0, 9 s,", "34:66: links[1].joint.input.times[3]: must be later"),
    (
        "axis: [0, 0, 1]",
        "axis: [0, 0, 0]",
        "20:7: links[1].joint.axis: the joint axis must not",
    ),
    ("axis: [0, 0, 1]", "axis: [0, 1]", "20:7: links[1].joint.axis: must have 3 items, got 2"),
    ("name: boom", "name: my boom", "48:11: links[2].name: "),
    ("mass: 3 kg", "mass: .inf", "61:17: payload.mass: must be a finite number, got .inf"),
    ("mass: 3 kg", "mass: 3, mass: 4", "61:20: payload.mass: is given twice, first on line 61"),
    ("payload: {mass: 3 kg}", "payload: {mass: 3", "62:1: the mapping that '{' opens on line 61"),
    (
        "payload: {",
        "payload: &p {",
        "61:10: payload: reference_attitudes (&) are not allowed; write the values",
    ),
    (
        "payload: {mass: 3 kg}",
        "payload: *p",
        "61:10: payload: aliases (*) are not allowed; write the",
    ),
    ("payload: {mass: 3 kg}", "payload: 3 kg", "61:10: payload: must be a mapping, got '3 kg'"),
    ("    rigid: true\n", "\trigid: true\n", "60:1: a tab is not allowed here; indent with spaces"),
    (
        "rigid: true\n",
        "rigid: true\n    EIz: 3\n",
        "61:5: links[3].EIz: unknown key; it belongs in '",
    ),
    (
        "{kind: step, value: 12 N, time: 0.2}",
        "{kind: csv, file: no.csv}",
        "52:32: links[2].joint.in",
    ),
    (
        "interpolation: hold",
        "interpolation: on",
        "47:83: links[1].wrenches[2].factor.interpolation: m",
    ),
    ("kind: bang-bang", "kind: bangbang", "34:21: links[1].joint.input.kind: must be one of const"),
]


@pytest.mark.parametrize(("line", "home", "told"), SCOPE)
def test_a_key_of_what_flexarm_does_not_have_is_answered(line: str, home: str, told: str) -> None:
    key, value = line.split(": ")
    data = json.loads(
        '{"flexarm": 1, "name": "one", "links": [{"joint": {"kind": "revolute"}, "length": 1, '
        '"body": {"mass": 1}}], "springs": [{"between": ["tip", {"world": [0, 0, 0]}], '
        '"stiffness": 1}]}'
    )
    (data[home][0] if home else data)[key] = {"[]": [], "true": True}.get(value, value)
    with pytest.raises(ModelError) as caught:
        loads(json.dumps(data), "arm.yaml")
    (said,) = str(caught.value).splitlines()
    assert told in said
    assert "did you mean" not in said


@pytest.mark.parametrize(("old", "new", "complaint"), WRONG)
def test_a_wrong_file_is_refused_with_one_line_at_the_mistake(
    tmp_path: Path, old: str, new: str, complaint: str
) -> None:
    assert RICH.count(old) == 1
    path = tmp_path / "arm.yaml"
    path.write_text(RICH.replace(old, new), encoding="utf-8")
    with pytest.raises(ModelError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}:{complaint}")
    assert "\n" not in str(caught.value)


def test_all_mistakes_of_a_file_are_told_at_once() -> None:
    text = RICH
    changed = [WRONG[0], WRONG[3], WRONG[12], WRONG[22], WRONG[35]]
    for old, new, _ in changed:
        text = text.replace(old, new)
    with pytest.raises(ModelError) as caught:
        loads(text, "arm.yaml")
    lines = str(caught.value).splitlines()
    assert len(lines) == len(changed)
    for line, (_, _, complaint) in zip(lines, changed, strict=True):
        assert line.startswith(f"arm.yaml:{complaint}")


def test_quantities_come_out_in_si_units() -> None:
    arm = loads(RICH)
    joint = arm.links[0].joint
    assert isinstance(joint, Revolute)
    assert arm.base.position == (0.0, 0.0, 0.25)
    assert joint.limits is not None
    assert joint.limits.speed == pytest.approx(3.141592653589793, rel=1e-15)
    assert arm.links[0].damping == (0.01, 0.02)


@pytest.mark.parametrize("text", [RICH, SMALL])
def test_an_arm_survives_saving_and_loading(tmp_path: Path, text: str) -> None:
    arm = loads(text)
    save(arm, tmp_path / "arm.yaml")
    again = load(tmp_path / "arm.yaml")
    assert again == arm
    assert dumps(again) == dumps(arm)


@pytest.mark.few(10)
@pytest.mark.parametrize("name", example_arm_names())
def test_a_sample_survives_writing_and_reading(name: str) -> None:
    arm = load(sample_path(name))
    assert loads(dumps(arm), folder=sample_path(name).parent) == arm


@pytest.mark.parametrize("text", [RICH, SMALL])
def test_json_gives_the_same_arm(tmp_path: Path, text: str) -> None:
    path = tmp_path / "arm.json"
    path.write_text(json.dumps(read(text, "").data, indent="\t"), encoding="utf-8")
    assert load(path) == loads(text)


def test_an_arm_made_in_python_is_written_with_its_kinds_and_without_its_defaults() -> None:
    arm = Arm(
        flexarm=1, name="made", base=FixedBase(), links=(Link(joint=Fixed(kind="fixed"), length=1),)
    )
    assert dumps(arm) == (
        "flexarm: 1\nname: made\nbase:\n  kind: fixed\n"
        "links:\n  - joint:\n      kind: fixed\n    length: 1.0\n"
    )
    assert loads(dumps(arm)) == arm


def test_text_that_a_file_cannot_hold_is_refused() -> None:
    arm = loads(SMALL).model_copy(update={"name": "a\x00b"})
    with pytest.raises(
        ModelError, match=r"'a\\x00b': a model file cannot contain the character U\+0000"
    ):
        dumps(arm)


def test_nothing_is_overwritten_unless_forced(tmp_path: Path) -> None:
    path = tmp_path / "arm.yaml"
    path.write_text("mine", encoding="utf-8")
    with pytest.raises(ModelError, match=r"Use force \(--force\) to overwrite"):
        save(loads(SMALL), path)
    assert path.read_text(encoding="utf-8") == "mine"
    save(loads(SMALL), path, force=True)
    assert load(path) == loads(SMALL)


def test_a_failed_save_leaves_the_old_file_and_no_litter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "arm.yaml"
    path.write_text("mine", encoding="utf-8")

    def disk_full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", disk_full)
    with pytest.raises(ModelError, match="cannot be written: No space left on device"):
        save(loads(SMALL), path, force=True)
    assert path.read_text(encoding="utf-8") == "mine"
    assert [p.name for p in tmp_path.iterdir()] == ["arm.yaml"]


def test_overwriting_keeps_permissions_and_links(tmp_path: Path) -> None:
    path, link = tmp_path / "arm.yaml", tmp_path / "link.yaml"
    path.write_text("mine", encoding="utf-8")
    path.chmod(0o640)
    link.symlink_to(path)
    save(loads(SMALL), link, force=True)
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert load(path) == loads(SMALL)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: None, "no such file"),
        (lambda path: path.mkdir(), "cannot be read: the path is a folder"),
        (lambda path: path.write_bytes(b"\xff\xfe"), "byte 0xff is not UTF-8"),
        (
            lambda path: path.write_bytes(b"#" * (MOST_MODEL_BYTES + 1)),
            "Put long tables into CSV files",
        ),
    ],
)
def test_what_is_no_readable_file_is_refused(tmp_path: Path, make: object, message: str) -> None:
    path = tmp_path / "arm.yaml"
    make(path)  # type: ignore[operator]
    with pytest.raises(ModelError, match=message):
        load(path)


def test_a_path_that_cannot_be_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="path: must be the path of a file"):
        load("a\x00b")
    with pytest.raises(ModelError, match="there is no folder"):
        save(loads(SMALL), tmp_path / "missing" / "arm.yaml")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelError, match="is a device or pipe, not a regular file"):
        save(loads(SMALL), tmp_path / "pipe", force=True)


def test_files_are_looked_for_beside_the_model_file(tmp_path: Path) -> None:
    text = RICH.replace("{kind: step, value: 12 N, time: 0.2}", "{kind: csv, file: push.csv}")
    (tmp_path / "arm.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "push.csv").write_text("time,value\n0,1\n", encoding="utf-8")
    arm = load(tmp_path / "arm.yaml")
    assert loads(dumps(arm), folder=tmp_path) == arm


BOX = """
flexarm: 1
name: d
links:
- joint: {kind: revolute}
  length: 1
  section:
    material: {E: 206 GPa, density: 7850, nu: 0.29}
    shape: {kind: box, width: 40 mm, height: 60 mm, thickness: 3 mm}
    rotary_inertia: false
"""
STATIONS = """
flexarm: 1
name: d
links:
- joint: {kind: revolute}
  length: 2
  section:
    stations:
    - {at: 0, mass_per_length: 2, EIz: 4000}
    - {at: 2, mass_per_length: 1, EIz: 2000}
"""
COUNTED = """
flexarm: 1
name: d
links:
- joint: JOINT
  length: 1
  section: {mass_per_length: 1, EIz: 9, EIy: 9}
  shapes: SHAPES
"""


def counted(shapes: str, joint: str = "{kind: revolute}") -> str:
    """Write an arm whose link has shapes by number."""
    return COUNTED.replace("JOINT", joint).replace("SHAPES", shapes)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (BOX.replace("60 mm", "28645912082366.613"), "9:5: links[1].section.shape: the shape"),
        (BOX.replace("60 mm", "5.9e33"), "give EIy = 2.1154e+109, which is beyond"),
        (
            BOX.replace("box", "tube").replace("width: 40 mm, height: 60 mm", "diameter: 1")
            .replace("3 mm", "1e-18"), "give mass_per_length = 0, which is beyond"
        ),
        (STATIONS.replace("EIz: 2000", "EIz: ~"), "10:7: links[1].section.stations[2]"),
        (STATIONS.replace("2000", "9.9e39"), "EIz: 'EIz' is more than 1e+08"),
        (STATIONS.replace("EIz: 4000", "EIz: 1e-9"), "EIz: 'EIz' is more than 1e+08"),
        (counted("{kind: clamped-free, bending_y: 200}"), "8:43: links[1].shapes.bending_y: must"),
        (
            counted("{kind: clamped-free, bending_y: 60, bending_z: 41}"),
            "make 101 amplitudes of this link together, and at most 100",
        ),
        (counted("{kind: elements, bending_y: 51}"), "shapes make 102 amplitudes"),
        (
            counted("{kind: elements, bending_y: 31, reduce: 2}", "{kind: sliding, start: "
            "{position: 0.5}}"), "bending_y: a sliding link takes at most 30 elements"
        ),
    ],
)  # fmt: skip
def test_numbers_that_no_computation_survives_are_refused_with_their_place(
    text: str, why: str
) -> None:
    with pytest.raises(ModelError) as caught:
        loads(text)
    assert why in str(caught.value)
    assert str(caught.value).count("\n") == 0


def test_large_counts_that_can_be_computed_are_accepted() -> None:
    for text in (BOX, STATIONS, counted("{kind: elements, bending_y: 90, reduce: 9}")):
        assert loads(text).links[0].length > 0
    assert loads(counted("{kind: elements, bending_y: 50, bending_z: 0}"))


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "arm.yaml"
    os.mkfifo(pipe)
    with pytest.raises(ModelError, match=r"cannot be read: the path is a folder"):
        load(pipe)


BAR = """
flexarm: 1
name: bar
links:
  - joint: {kind: revolute}
    length: 1 m
    section: {material: %s, shape: {kind: tube, diameter: 0.1, thickness: 0.01}}
    tip_piece: {length: 0.1, body: {mass: 1, inertia: %s}}
"""


@pytest.mark.parametrize(
    ("material", "inertia", "told"),
    [
        (
            "steel",
            "[1, 1, 1]",
            r"material: a material is given by its numbers.*for steel {E: 210 GPa, dens",
        ),
        (
            "wood",
            "[1, 1, 1]",
            r"material: a material is given by its numbers, not by a name: {E: 69 GPa",
        ),
        (
            "{E: 7e10, density: 2700}",
            "0.02",
            r"inertia: an inertia is \[xx, yy, zz\].*\[0.02, 0.02, 0.02\]",
        ),
    ],
)
def test_names_of_materials_and_single_inertias_are_told_what_to_write(
    material: str, inertia: str, told: str
) -> None:
    with pytest.raises(ModelError, match=told):
        loads(BAR % (material, inertia), "bar")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('inertia: "\\ud800"', "inertia: the character U+D800 is not allowed; remove it"),
        ('"\\ud800": 3', "body.?: a key must be a word; put it in quotes if it is one"),
    ],
)
def test_half_a_character_is_told_once(line: str, told: str) -> None:
    text = (
        f"flexarm: 1\nname: a\nlinks: [{{joint: {{kind: revolute}}, body: {{mass: 1, {line}}}}}]\n"
    )
    with pytest.raises(ModelError) as caught:
        loads(text)
    assert str(caught.value).count("\n") == 0
    assert str(caught.value).endswith(told)
