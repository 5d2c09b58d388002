"""Files that a model file names: which are read, what is refused, and what of them is told."""

import os
from pathlib import Path

import pytest

from flexarm.arm import Arm
from flexarm.arm.constants import MOST_FILE_BYTES
from flexarm.cli import main
from flexarm.errors import ModelError
from flexarm.io.model_file import change_arm, load, loads
from flexarm.model import build
from flexarm.model.constants import MOST_ROWS
from flexarm.model.profiles import pieces
from tests.integrate.test_run_file import assert_same

ARM = """
flexarm: 1
name: driven by a table
links:
  - joint: {kind: revolute, input: {kind: csv, file: FILE, value: torque}}
    length: 1
    section: {mass_per_length: 0.5, EIz: 60}
    shapes: {kind: loaded, bending_y: 1}
"""
MODAL = """
flexarm: 1
name: shapes from a file
links:
  - {joint: {kind: revolute}, length: 1, section: {mass_per_length: 2, EIy: 60}, SHAPES}
"""
SHAPES = """
modal_data: 1
name: a strip
units: {length: m, mass: kg, time: s}
table: TABLE
modes: [{name: z1}]
K: [40]
"""
STATIONS = "x,mass_per_length,z1.z,z1.ry\n" + "".join(
    f"{x},2,{x * x},{-2 * x}\n" for x in (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
)
SECRET = "root:x:0:0:hunter2:/root:/bin/bash\ntoken=hunter2\nhunter2: hunter2\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make a folder for a model file beside another with a secret and a table."""
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "torque.csv").write_text("time,torque\n0,1\n1,2\n")
    (tmp_path / "other" / "secret").write_text(SECRET)
    (tmp_path / "own").mkdir()
    return tmp_path / "own"


def arm_with(folder: Path, name: str, text: str = ARM) -> Path:
    """Write a model file that names a file."""
    path = folder / "arm.yaml"
    path.write_text(text.replace("FILE", f'"{name}"'))
    return path


def refusal(path: Path) -> str:
    """Load an arm whose table is refused; return why."""
    with pytest.raises(ModelError) as caught:
        torques(load(path))
    return str(caught.value)


def torques(arm: Arm) -> list[list[float]]:
    """Give times and torques of the table that drives an arm."""
    found = pieces(arm.links[0].joint.input)  # type: ignore[union-attr]
    return [[float(t), float(value)] for t, value in found[1:, [0, 2]]]


def columns(folder: Path, content: str | bytes) -> list[list[float]]:
    """Read times and torques of a table of that content."""
    data = content.encode() if isinstance(content, str) else content
    (folder / "torque.csv").write_bytes(data)
    return torques(load(arm_with(folder, "torque.csv")))


def test_a_file_out_of_the_folder_needs_leave(folder: Path) -> None:
    outside = folder.parent / "other"
    (folder / "link.csv").symlink_to(outside / "torque.csv")
    (folder / "linked").symlink_to(outside)
    names = ("../other/torque.csv", str(outside / "torque.csv"), "link.csv", "linked/torque.csv")
    for name in names:
        path = arm_with(folder, name)
        why = refusal(path)
        assert why.startswith(f"{path}:5:54: links[1].joint.input.file: {name} is not in the ")
        assert "--allow-files DIR" in why
        assert load(path, files=[outside]) == load(path, files=[folder.parent])
        assert loads(path.read_text(), folder=folder, files=[outside]).name == "driven by a table"


def test_what_is_elsewhere_is_refused_alike_whether_it_is_there_or_not(folder: Path) -> None:
    there = refusal(arm_with(folder, "../other/secret"))
    absent = refusal(arm_with(folder, "../other/absent"))
    assert absent == there.replace("other/secret", "other/absent")


def test_names_within_the_folder_are_read(folder: Path) -> None:
    (folder / "data").mkdir()
    (folder / "data" / "torque.csv").write_text("time,torque\n0,1\n")
    (folder / "inner.csv").symlink_to(folder / "data" / "torque.csv")
    for name in ("data/torque.csv", "data/../inner.csv", str(folder / "inner.csv")):
        assert load(arm_with(folder, name))


@pytest.mark.parametrize("kind", ["pipe", "folder", "device"])
def test_only_regular_files_are_read_and_none_is_waited_for(folder: Path, kind: str) -> None:
    if kind == "pipe":
        os.mkfifo(folder / "odd")
    elif kind == "folder":
        (folder / "odd").mkdir()
    else:
        (folder / "odd").symlink_to("/dev/zero")
    with pytest.raises(ModelError, match="odd cannot be read: the path is a folder"):
        load(arm_with(folder, "odd"), files=["/dev"])


def test_a_file_that_is_too_large_is_refused_unread(folder: Path) -> None:
    with (folder / "long.csv").open("wb") as file:
        file.truncate(3_000_000_000)
    assert f"long.csv cannot be read: the file is larger than {MOST_FILE_BYTES:,} bytes" in refusal(
        arm_with(folder, "long.csv")
    )


def test_many_large_files_are_too_much_together(folder: Path) -> None:
    link = ARM.partition("links:\n")[2]
    for k in range(6):
        with (folder / f"{k}.csv").open("wb") as file:
            file.truncate(MOST_FILE_BYTES)
    text = ARM.replace(link, "".join(link.replace("FILE", f"{k}.csv") for k in range(6)))
    assert "more than 100,000,000 bytes together" in refusal(arm_with(folder, "", text))
    again = ARM.replace(link, link.replace("FILE", "0.csv") * 6)
    assert len(load(arm_with(folder, "", again)).links) == 6


def test_rows_are_counted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOST_ROWS == 1_000_000
    monkeypatch.setattr("flexarm.model.profiles.MOST_ROWS", 2)
    rows = "time,torque\n0,1\n1,1\n"
    assert len(columns(folder, rows)) == 2
    with pytest.raises(ModelError, match=r"torque\.csv:4: the table has more than 2 rows"):
        columns(folder, rows + "2,1\n")


@pytest.mark.parametrize(
    "content",
    [
        "time,torque\n0,1.5\n2,-3\n",
        "\ufefftime,torque\n0,1.5\n2,-3\n",
        "time;torque\n0;1.5\n2;-3\n",
        "# of a test\r\ntime, other ,torque\r\n\r\n0,x,1.5\r\n2,y,-3.0e0\r\n",
        '"time","torque"\n"0","1.5"\n"2","-3"\n',
        '"a;b","say ""x"", y",time,torque\n1,2,0,1.5\n1,2,2,-3\n',
    ],
)
def test_what_programs_write_is_read(folder: Path, content: str) -> None:
    assert columns(folder, content) == [[0.0, 1.5], [2.0, -3.0]]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("time,torque,torque\n0,0,5\n", "csv:1: the column 'torque' is there twice. Keep one"),
        ("time,torque\n0,1_0\n", "csv:2:3: is not a number"),
        ("time,torque\n0,\n", "csv:2:3: is not a number"),
        ("time,torque\n0,inf\n", "csv:2:3: is not a number"),
        ("time,torque\n0,1e999\n", "csv:2:3: is not a number"),
        ("time,torque\n0,\u0661\n", "csv:2:3: is not a number"),
        ("time;torque\n0,5;1\n", "csv:2:1: is not a number. Write it like 0.5"),
        ("time,torque\n0,5,1,5\n", "csv:2: must have 2 cells like the header, got 4. Numbers"),
        ("time,torque\n0\n", "csv:2: must have 2 cells like the header, got 1"),
        ("time,torque\n0,1\n0,1\n", "csv:3: times must increase"),
        (
            "time,value\n0,1\n",
            "csv:1: there is no column 'torque' among 2 columns. The first line names",
        ),
        ("time,torque\n", "csv: has no rows of numbers"),
        ("", "csv:1: there is no column 'time' among 0"),
        ("," * 20_000, "csv:1: has more than 10,000 cells"),
        ("time,torque\n0,1\n".encode("utf-16"), "csv: is not UTF-8 text. Save it as CSV in UTF-8"),
    ],
)
def test_what_is_no_table_is_refused_with_its_place(
    folder: Path, content: str | bytes, why: str
) -> None:
    with pytest.raises(ModelError) as caught:
        columns(folder, content)
    assert why in str(caught.value)


def test_no_message_tells_what_is_in_a_file_that_is_no_table(folder: Path) -> None:
    (folder / "secret").write_text(SECRET)
    (folder / "cells").write_text("time,torque\n0,hunter2\n")
    (folder / "shapes.yaml").write_text(SHAPES.replace("TABLE", "secret"))
    for name in ("secret", "cells"):
        assert "hunter2" not in refusal(arm_with(folder, name))
    for name in ("secret", "shapes.yaml"):
        text = MODAL.replace("SHAPES", f"shapes: {{kind: table, file: {name}}}")
        with pytest.raises(ModelError) as caught:
            build(load(arm_with(folder, name, text)))
        assert "secret" in str(caught.value)
        assert "hunter2" not in str(caught.value)


def modal_arm(folder: Path, table: str) -> Arm:
    """Load an arm whose shapes are in a file in a folder below, and name a table."""
    (folder / "data").mkdir(exist_ok=True)
    (folder / "data" / "shapes.yaml").write_text(SHAPES.replace("TABLE", table))
    text = MODAL.replace("SHAPES", "shapes: {kind: table, file: data/shapes.yaml}")
    return load(arm_with(folder, "", text))


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ("/dev/zero", "/dev/zero is not in the folder of this file"),
        ("../../other/torque.csv", "../../other/torque.csv is not in the folder of this file"),
        ("pipe", "pipe cannot be read: the path is a folder"),
        ("absent.csv", "there is no file absent.csv"),
    ],
)
def test_a_station_table_obeys_the_same_rules(folder: Path, table: str, why: str) -> None:
    arm = modal_arm(folder, table)
    os.mkfifo(folder / "data" / "pipe")
    with pytest.raises(ModelError) as caught:
        build(arm)
    assert str(caught.value).count("\n") == 0
    assert f"shapes.yaml:5:8: table: {why}" in str(caught.value)


def test_a_run_holds_the_station_table_too(folder: Path) -> None:
    import flexarm

    (folder / "data").mkdir()
    (folder / "data" / "stations.csv").write_text(STATIONS)
    run = flexarm.simulate(modal_arm(folder, "stations.csv"), t_end=0.02, dt=0.01)
    (folder / "data" / "stations.csv").unlink()
    (folder / "data" / "shapes.yaml").unlink()
    run.save(folder.parent / "run.nc")
    assert_same(flexarm.load_run(folder.parent / "run.nc"), run)


def test_a_changed_arm_keeps_its_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "torque.csv").write_text("time,torque\n0,1\n")
    arm = load(arm_with(folder, "torque.csv"))
    monkeypatch.chdir("/")
    changed = change_arm(arm, {"links.1.length": 2})
    assert changed.links[0].joint.input.side_file.content == b"time,torque\n0,1\n"  # type: ignore[union-attr]


def test_leave_is_given_on_the_command_line(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(arm_with(folder, "../other/torque.csv"))
    assert main(["check", path]) == 3
    assert "--allow-files DIR" in capsys.readouterr().err
    assert main(["check", path, "--allow-files", str(folder.parent / "other")]) == 0
