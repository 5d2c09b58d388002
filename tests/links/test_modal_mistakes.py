"""Files of modal data with mistakes: what is noted, what is refused and where."""

import math
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flexarm.errors import ModelError
from flexarm.links.imported.file import inspect_stations
from tests.links.strips import SPAN, blocks, changed, read, refusal, strip, write


def flipped(axis: int, mode: int) -> Callable[[dict[str, Any]], None]:
    def change(content: dict[str, Any]) -> None:
        for row in content["modes"][mode]["rotation"]:
            row[axis] *= -1

    return change


def exchanged(content: dict[str, Any]) -> None:
    for row in content["modes"][1]["rotation"]:
        row[1], row[2] = row[2], row[1]


def in_degrees(content: dict[str, Any]) -> None:
    for row in content["modes"][0]["rotation"]:
        row[2] = math.degrees(row[2])


def without_rotation(content: dict[str, Any]) -> None:
    del content["modes"][2]["rotation"]


@pytest.mark.parametrize(
    ("change", "mode", "message"),
    [
        (flipped(1, 1), 1, "theta_y must be -z' along the link, .*theta_y has the opposite sign"),
        (flipped(1, 2), 2, "theta_y must be -z' along the link, .*theta_y has the opposite sign"),
        (flipped(2, 0), 0, "theta_z must be y' along the link, .*theta_z has the opposite sign"),
        (exchanged, 1, "theta_y must be -z' along the link, .*: theta_y is zero"),
        (in_degrees, 0, "it looks like degrees"),
        (without_rotation, 2, "theta_y is zero"),
    ],
)
def test_a_mistake_with_rotations_is_named(
    tmp_path: Path, change: Callable[[dict[str, Any]], None], mode: int, message: str
) -> None:
    content = strip()
    change(content)
    path = write(tmp_path, content)
    found = refusal(path)
    assert re.search(rf"modes\[{mode + 1}\]\.rotation: shape .*{message}", found), found
    line = int(re.match(r".*?strip.yaml:(\d+):", found)[1])  # type: ignore[index]
    near = path.read_text(encoding="utf-8").splitlines()[line - 1]
    assert near.strip() == "rotation:" or (mode == 2 and "name: z2" in near)


def test_exchanged_rotations_of_a_mode_that_bends_both_ways_are_named(tmp_path: Path) -> None:
    content = strip()
    y1, _, z2 = (content["modes"][j] for j in range(3))
    both = {
        key: (np.array(y1[key]) + np.array(z2[key])).tolist()
        for key in ("displacement", "rotation")
    }
    both["rotation"] = [[a, c, b] for a, b, c in both["rotation"]]
    content = changed(content, modes=[both], M=[3.0], frequencies=[20.0])
    assert "theta_y and theta_z look exchanged" in refusal(write(tmp_path, content))


@pytest.mark.parametrize(
    ("factor", "notes", "errors"), [(1.005, 0, 0), (1.05, 1, 0), (0.9, 1, 0), (1.3, 0, 1)]
)
def test_a_modal_mass_is_noted_when_1_percent_off_and_refused_at_20(
    tmp_path: Path, factor: float, notes: int, errors: int
) -> None:
    content = changed(strip(31), M=[1.5 * factor, 1.5, 1.5])
    report, _ = inspect_stations(write(tmp_path, content), SPAN)
    words = "off the modal mass that the shapes and the file's masses give"
    assert sum(words in note for note in report.notes) == notes
    assert sum(words in error for error in report.errors) == errors


def test_a_modal_mass_smaller_than_rigid_motion_allows_is_noted(tmp_path: Path) -> None:
    # The first mode carries 97 % of the strip's moment of inertia: M cannot be 5 % smaller.
    for modal, noted in ((1.5, False), (1.42, True)):
        report, _ = inspect_stations(write(tmp_path, changed(strip(31), M=[1.5, modal, 1.5])), SPAN)
        assert any("negative eigenvalue" in note for note in report.notes) == noted


WRONG: list[tuple[str, dict[str, Any], str, str]] = [
    # what, changes, text that the named line starts with, message
    ("version", {"modal_data": 2}, "modal_data", "modal_data: must be 1, got 2"),
    ("unknown key", {"dampings": [1]}, "dampings", "dampings: unknown key"),
    ("no units", {"units": None}, "modal_data", "units: is required"),
    ("no unit of time", {"units": {"length": "m", "mass": "kg"}}, "units", "units.time: is req"),
    (
        "unit of another quantity",
        {"units": {"length": "m", "mass": "N", "time": "s"}},
        "units",
        r'units.mass: "N" is a force \[N\]; a mass \[kg\] is expected',
    ),
    ("one station", {"stations": [0.0]}, "stations", "stations: must be 2 to 5000 stations, got 1"),
    (
        "text among numbers",
        {"stations": [0.0, "15 cm", *strip()["stations"][2:]]},
        "stations",
        r"stations\[2\]: must be a number, got '15 cm'",
    ),
    (
        "stations out of order",
        {"stations": [0.0, 0.3, 0.15, *strip()["stations"][3:]]},
        "stations",
        r"stations\[3\]: must lie beyond the station before it, got 0.15 m after 0.3 m",
    ),
    (
        "root elsewhere",
        {"stations": [x + 1 for x in strip()["stations"]]},
        "stations",
        r"stations\[1\]: must be at the root of the link, got x = 1 m. Set interface.position",
    ),
    (
        "too few rows",
        {"stations": strip(8)["stations"]},
        "  displacement:",
        r"modes\[1\].displacement: must have one row per station, 8, got 9",
    ),
    (
        "masses per station",
        {"station_mass": [1, 2], "mass_per_length": None},
        "station_mass",
        r"station_mass: must have the shape \(stations\) = \(9,\), got \(2,\)",
    ),
    (
        "two kinds of mass",
        {"station_mass": [1] * 9},
        "mass_per_length",
        "station_mass or mass_per_length, not both",
    ),
    ("no stiffness", {"frequencies": None}, "modal_data", "K: is required, or frequencies"),
    (
        "M too small",
        {"M": [1.5, 1.5]},
        "M:",
        r"M: must have the shape \(modes, modes\) = \(3, 3\), got \(2,\)",
    ),
    (
        "row of K too short",
        {"K": [[1, 0, 0], [0, 1], [0, 0, 1]], "frequencies": None},
        "- [0, 1]",
        r"K\[2\]: must have one entry per mode, 3, got 2",
    ),
    (
        "K not symmetric",
        {"K": [[1e3, 0, 7.5], [0, 1e3, 0], [0, 0, 1e5]], "frequencies": None},
        "- [1000.0, 0, 7.5]",
        r"K\[1\]\[3\]: must be symmetric: 7.5 here, but 0 in row 3, column 1",
    ),
    ("negative damping", {"D": [0.1, -0.1, 0.1]}, "D:", "D: must have no neg.*feed energy"),
    (
        "frequencies with a full M",
        {"M": [[1.5, 0.1, 0], [0.1, 1.5, 0], [0, 0, 1.5]]},
        "frequencies",
        "frequencies: needs a diagonal M. Give K instead",
    ),
    (
        "frequencies in MHz",
        {"frequencies": [5e6, 5e6, 34e6]},
        "frequencies",
        r"frequencies\[1\]: must be 0.01 to 100000 Hz, got 5e\+06. Are the units right",
    ),
    ("critical damping", {"damping_ratios": [0.1, 2, 0]}, "damping_ratios", "must be < 1, got 2"),
    (
        "name twice",
        {"modes": [*strip()["modes"][:2], strip()["modes"][2] | {"name": "y1"}]},
        "- name: y1",
        r"modes\[3\].name: the name 'y1' is used twice",
    ),
    (
        "zero shape",
        {"modes": [*strip()["modes"][:2], {"rotation": [[0, 0, 0] for _ in range(9)]}]},
        "- rotation",
        r"modes\[3\]: shape 'mode3' is zero at every station",
    ),
    (
        "no shape",
        {"modes": [*strip()["modes"][:2], {"name": "z2"}]},
        "- {name: z2}",
        r"modes\[3\].displacement: is required",
    ),
    ("mass off", {"total_mass": 8}, "total_mass", "total_mass: the total mass is 8 kg, but 6 kg"),
    (
        "centre off",
        {"centre": [0.6, 0.0, 0.4]},
        "centre",
        r"centre: the centre of mass is at \(0.6, 0, 0.4\) m in the root frame, but at",
    ),
    (
        "shapes beside a table",
        {"table": "x.csv", "stations": None},
        "  displacement:",
        r"modes\[1\].displacement: is in the station table",
    ),
]


@pytest.mark.parametrize(
    ("changes", "start", "message"), [row[1:] for row in WRONG], ids=[row[0] for row in WRONG]
)
def test_a_wrong_file_is_refused_at_the_right_line(
    tmp_path: Path, changes: dict[str, Any], start: str, message: str
) -> None:
    path = write(tmp_path, changed(strip(), **changes))
    found = refusal(path)
    assert re.search(message, found), found
    lines = path.read_text(encoding="utf-8").splitlines()
    first = next(text for text in found.splitlines() if re.search(message, text))
    place = re.match(rf"{re.escape(str(path))}:(\d+):\d+: ", first)
    assert place is not None
    assert lines[int(place[1]) - 1].startswith(start)


def test_all_mistakes_are_reported_at_once(tmp_path: Path) -> None:
    wrong = changed(strip(), M=[1.5, -1.5, 1.5], D=[1, -1, 1], stations=strip()["stations"][::-1])
    text = refusal(write(tmp_path, wrong))
    assert [line.split(": ")[1] for line in text.splitlines()] == ["stations[2]", "M", "D"]


TABLE = """\
# made by hand
x, station_mass, z1.z, z1.ry
0, 0.5, 0, 0
0.5, 1, 0.3, -1
1.0, 0.5, 1, -1.5
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("z1.ry", "z1.rj", "strip.csv:2:24: 'column 4': unknown name; did you mean 'z1.r"),
        ("z1.ry", "z1.z", "strip.csv:2:24: 'z1.z': is given twice"),
        ("x, ", "a, ", "strip.csv:2:1: x: is required"),
        ("0.3, -1", "0.3", "strip.csv:4:1: must have 4 cells like the header, got 3"),
        ("0.3, -1", "3 mm, -1", "strip.csv:4:9: 'z1.z': must be a number .*, got '3 mm'"),
        ("0.3, -1", "nan, -1", "strip.csv:4:9: 'z1.z': must be a number .*, got 'nan'"),
        ("1.0, 0.5", "1.0, -0.5", "strip.csv:5:6: station_mass: must be >= 0, got '-0.5'"),
        ("z1.z, z1.ry", "z2.z, z2.ry", "strip.csv:2:1: z1: no column for this mode"),
    ],
)
def test_a_wrong_station_table_is_refused_at_the_right_place(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    path = tmp_path / "strip.yaml"
    path.write_text(blocks("yaml")[0], encoding="utf-8")
    (tmp_path / "strip.csv").write_text(TABLE.replace(old, new), encoding="utf-8")
    found = refusal(path)
    assert re.search(re.escape(str(tmp_path)) + "/" + message, found), found


def test_a_missing_file_or_table_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"strip\.yaml: there is no file strip\.yaml"):
        inspect_stations(tmp_path / "strip.yaml", SPAN)
    (tmp_path / "strip.yaml").write_text(blocks("yaml")[0], encoding="utf-8")
    with pytest.raises(
        ModelError, match=r"strip\.yaml:\d+:\d+: table: there is no file strip\.csv"
    ):
        read(tmp_path / "strip.yaml")


def test_mutated_files_are_read_or_refused_but_never_crash(tmp_path: Path) -> None:
    rng = random.Random(1)
    pieces = ["0", "-1", "1e300", "1e-300", ".nan", "[]", "{}", "null", "true", "a: b", "1e15", ""]
    text = write(tmp_path, strip(3)).read_text(encoding="utf-8")
    numbers = [match.span() for match in re.finditer(r"[-\w.]+", text)]
    path = tmp_path / "mutated.yaml"
    refused = 0
    for _ in range(60):
        start, end = rng.choice(numbers)
        path.write_text(text[:start] + rng.choice(pieces) + text[end:], encoding="utf-8")
        try:
            report, data = inspect_stations(path, SPAN)
            errors = "\n".join(report.errors)
            assert (data is None) == bool(errors)
        except ModelError as error:
            errors = str(error)
        refused += bool(errors)
        assert not errors or errors.startswith(f"{path}:")
    assert refused > 30
