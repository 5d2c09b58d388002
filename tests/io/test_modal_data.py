"""Files of modal data: what is read, what is checked, what is refused and where."""

import math
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.spatial.transform import Rotation

from flexarm.errors import ModelError
from flexarm.links.measured.data import ModalData, inspect_modal_data, read_modal_data
from tests.io.strips import (
    CLAMPED_FREE,
    FREE_FREE,
    LENGTH,
    MASS_PER_LENGTH,
    Array,
    ClampedFree,
    FreeFree,
    changed,
    hertz,
    strip,
    turned,
    write,
)

DOC = Path(__file__).parents[2] / "docs" / "modal-data.md"


def blocks(language: str) -> list[str]:
    """Code blocks of the page about the format."""
    return re.findall(rf"```{language}\n(.*?)```", DOC.read_text(encoding="utf-8"), re.DOTALL)


def frequencies(data: ModalData, modal: Array | None = None) -> Array:
    """Frequencies of K and M [Hz], sorted."""
    mass = data.mass if modal is None else modal
    squares = np.linalg.eigvals(np.linalg.solve(np.asarray(mass), data.stiffness))
    return np.sort(np.sqrt(squares.real)) / (2 * math.pi)


def refusal(path: Path) -> str:
    with pytest.raises(ModelError) as caught:
        read_modal_data(path)
    return str(caught.value)


def fact(path: Path, label: str) -> str:
    return dict(inspect_modal_data(path)[0].facts)[label]


def test_the_documented_example_is_read_without_a_note_and_has_the_strips_frequencies(
    tmp_path: Path,
) -> None:
    path = tmp_path / "strip.yaml"
    path.write_text(blocks("yaml")[0], encoding="utf-8")
    report, data = inspect_modal_data(path)
    assert report.notes == report.errors == ()
    assert data is not None
    assert data.names == ("z1", "z2", "twist1")
    # 50 x 5 mm aluminium, 1 m: lam^2 sqrt(EI / mu), and a quarter wave of twist.
    bending = [lam**2 * math.sqrt(7e10 * 5.208333e-10 / 0.675) for lam in CLAMPED_FREE[:2]]
    twist = math.pi / 2 * math.sqrt(52.5547 / 1.4203125e-4)
    expected = np.array([*bending, twist]) / (2 * math.pi)
    assert frequencies(data) == pytest.approx(expected, rel=3e-4)
    # The strip lies along z of the data; the link's z axis is -x of the data.
    z1 = ClampedFree(CLAMPED_FREE[0], 1.0)
    assert data.shapes.displacement[:, 2, 0] == pytest.approx(z1(data.shapes.x), abs=1e-5)
    assert data.shapes.rotation[:, 1, 0] == pytest.approx(-z1(data.shapes.x, 1), abs=1e-4)
    assert data.shapes.rotation[-1, :, 2].tolist() == [1.0, 0.0, 0.0]


def test_the_documented_station_table_is_read(tmp_path: Path) -> None:
    path = tmp_path / "strip.yaml"
    path.write_text(blocks("yaml")[1], encoding="utf-8")
    (tmp_path / "strip.csv").write_text(blocks("csv")[0], encoding="utf-8")
    report, data = inspect_modal_data(path)
    assert report.notes == report.errors == ()
    assert data is not None
    assert data.mass is None
    # Displacements of 1 mm: M = mu L / 4 of a shape of 1 m, times 1e-6.
    assert data.stiffness[0, 0] == pytest.approx(
        0.675 / 4 * 1e-6 * (2 * math.pi * 4.113) ** 2, rel=1e-4
    )
    assert data.shapes.x[-1] == 1.0


def test_the_report_prints_everything_that_was_checked(tmp_path: Path) -> None:
    report, _ = inspect_modal_data(write(tmp_path, strip()))
    text = "\n".join(report.lines())
    assert "strip: 3 modes at 9 stations" in text
    for line in (
        r"units +length m, mass kg, time s",
        r"interface +root at \(0, 0, 0\) m",
        r"stations +to 1.2 m",
        r"slopes +up to 0.\d+ %",
        r"total mass +6 kg",
        r"centre of mass +\(0.6, 0, 0\) m",
        r"modal mass +M is up to 0.0\d+ % off that of the file's masses",
        r"rigid-body consistency +smallest eigenvalue 0.00\d+ with the file's masses",
        r"frequencies +5.4957, 5.4957, 34.441 Hz",
        r"damping +not given",
    ):
        assert re.search(line, text), line


def test_units_change_the_numbers_but_not_the_link(tmp_path: Path) -> None:
    plain = read_modal_data(write(tmp_path, strip()))
    content = strip()
    lengths = {"stations": (1000 * np.array(content["stations"])).tolist()}
    modes = [
        mode | {"displacement": (1000 * np.array(mode["displacement"])).tolist()}
        for mode in content["modes"]
    ]
    # t mm^2 and t/mm
    in_mm = changed(
        content,
        units={"length": "mm", "mass": "t", "time": "s"},
        mass_per_length=MASS_PER_LENGTH * 1e-6,
        M=[1.5e3] * 3,
        modes=modes,
        **lengths,
    )
    scaled = read_modal_data(write(tmp_path, in_mm))
    assert scaled.shapes.displacement == pytest.approx(plain.shapes.displacement, rel=1e-15)
    assert scaled.shapes.rotation == pytest.approx(plain.shapes.rotation, rel=1e-15)
    assert scaled.mass == pytest.approx(plain.mass, rel=1e-14)
    assert scaled.stiffness == pytest.approx(plain.stiffness, rel=1e-14)
    assert fact(tmp_path / "strip.yaml", "total mass").startswith("6 kg")


@pytest.mark.parametrize("unit", ["s", "ms", "min"])
def test_stiffness_and_damping_scale_with_the_unit_of_time(tmp_path: Path, unit: str) -> None:
    seconds = {"s": 1.0, "ms": 1e-3, "min": 60.0}[unit]
    given = changed(
        strip(),
        frequencies=None,
        K=[1800 * seconds**2, 1800 * seconds**2, 71000 * seconds**2],
        D=[0.5 * seconds, 0.5 * seconds, 0.7 * seconds],
        units={"length": "m", "mass": "kg", "time": unit},
    )
    data = read_modal_data(write(tmp_path, given))
    assert np.diag(data.stiffness) == pytest.approx([1800, 1800, 71000], rel=1e-14)
    assert data.damping is not None
    assert np.diag(data.damping) == pytest.approx([0.5, 0.5, 0.7], rel=1e-14)


def test_us_customary_units_are_read(tmp_path: Path) -> None:
    units = {"length": "in", "mass": "lbf s^2/in", "time": "s"}
    data = read_modal_data(write(tmp_path, changed(strip(), units=units)))
    assert data.shapes.x[-1] == pytest.approx(LENGTH * 0.0254)
    # 1 lbf s^2/in is 175.12683 kg
    assert np.asarray(data.mass)[0, 0] == pytest.approx(1.5 * 175.126835 * 0.0254**2, rel=1e-7)


def test_damping_ratios_become_the_damping_of_each_mode(tmp_path: Path) -> None:
    path = write(tmp_path, changed(strip(), damping_ratios=[0.01, 0.02, "0.5 %"]))
    data = read_modal_data(path)
    omega = 2 * math.pi * np.array([hertz(lam) for lam in (*CLAMPED_FREE[:1], *CLAMPED_FREE[:2])])
    assert data.damping == pytest.approx(np.diag(2 * np.array([0.01, 0.02, 0.005]) * 1.5 * omega))
    assert fact(path, "damping") == "1 %, 2 %, 0.5 % of critical"


@pytest.mark.parametrize("angles", [(90, 0, 0), (0, -90, 0), (0, 0, 180), (20, -35, 70)])
def test_data_in_other_axes_give_the_same_link(
    tmp_path: Path, angles: tuple[float, float, float]
) -> None:
    plain = read_modal_data(write(tmp_path, strip()))
    turn = Rotation.from_euler("xyz", angles, degrees=True).as_matrix()
    origin = np.array([0.3, -2.0, 0.7])
    content = turned(strip(), turn, origin)
    interface = {"position": origin.tolist(), "rotation": [f"{angle} deg" for angle in angles]}
    path = write(tmp_path, changed(content, interface=interface))
    report, data = inspect_modal_data(path)
    assert report.notes == ()
    assert data is not None
    assert data.shapes.x == pytest.approx(plain.shapes.x, abs=1e-14)
    assert data.shapes.displacement == pytest.approx(plain.shapes.displacement, abs=1e-14)
    assert data.shapes.rotation == pytest.approx(plain.shapes.rotation, abs=1e-14)
    assert np.count_nonzero(data.shapes.displacement[:, 0]) == 0


def test_rotary_inertia_is_turned_with_the_axes(tmp_path: Path) -> None:
    # Along z of the data: the inertia about the link's x axis is the third of the data.
    turn = Rotation.from_euler("xyz", (0, -90, 0), degrees=True).as_matrix()
    x = np.array(strip()["stations"])
    twist = np.zeros((len(x), 3))
    twist[:, 0] = np.sin(math.pi / 2 * x / LENGTH)
    only_twist = changed(
        strip(),
        modes=[
            {"name": "twist1", "displacement": (0 * twist).tolist(), "rotation": twist.tolist()}
        ],
        frequencies=[100.0],
        M=[0.02 * LENGTH / 2],
    )
    content = turned(only_twist, turn, np.zeros(3)) | {
        "interface": {"rotation": [0, "-90 deg", 0]},
        "inertia": [0.0, 0.0, 0.02],
    }
    assert fact(write(tmp_path, content), "modal mass").startswith("M is up to 0.0")
    assert "100 % off the modal mass" in refusal(
        write(tmp_path, content | {"inertia": [0.02, 0.0, 0.0]})
    )


def test_stations_that_run_another_way_are_refused_with_the_remedy(tmp_path: Path) -> None:
    turn = Rotation.from_euler("xyz", (0, 0, 90), degrees=True).as_matrix()
    message = refusal(write(tmp_path, turned(strip(), turn, np.zeros(3))))
    assert "stations[9]: lies 1.2 m off the link's x axis" in message
    assert "turn the interface frame" in message


def test_free_modes_are_held_at_the_root_and_their_mass_with_them(tmp_path: Path) -> None:
    x = np.linspace(0.0, LENGTH, 41)
    zero = 0 * x
    shapes = [FreeFree(lam) for lam in FREE_FREE[:2]]
    modes = [
        {
            "displacement": np.stack([zero, shape(x), zero], axis=1).tolist(),
            "rotation": np.stack([zero, zero, shape(x, 1)], axis=1).tolist(),
        }
        for shape in shapes
    ]
    content = changed(
        strip(),
        stations=x.tolist(),
        modes=modes,
        M=[MASS_PER_LENGTH * LENGTH] * 2,  # of this form a free-free mode has the beam's mass
        frequencies=[hertz(lam) for lam in FREE_FREE[:2]],
    )
    path = write(tmp_path, content)
    report, data = inspect_modal_data(path)
    assert data is not None
    assert data.names == ("mode1", "mode2")
    assert sum("moves the root" in note for note in report.notes) == 2

    def held(shape: FreeFree, s: float) -> float:
        at, root = np.array([s]), np.array([0.0])
        return float((shape(at) - shape(root) - shape(root, 1) * s)[0])

    for i, first in enumerate(shapes):
        for j, second in enumerate(shapes):
            exact = (
                MASS_PER_LENGTH
                * quad(
                    lambda s, a=first, b=second: held(a, s) * held(b, s), 0, LENGTH, epsabs=1e-12
                )[0]
            )
            assert np.asarray(data.mass)[i, j] == pytest.approx(exact, rel=1e-4)
    elastic = MASS_PER_LENGTH * LENGTH * (2 * math.pi * hertz(FREE_FREE[1])) ** 2
    assert data.stiffness[1, 1] == pytest.approx(elastic)
    assert np.all(data.shapes.displacement[0] == 0)
    assert np.all(data.shapes.rotation[0] == 0)
    message = refusal(write(tmp_path, changed(content, mass_per_length=None)))
    assert "M: needs station_mass or mass_per_length to hold the moving root with" in message


def test_lumped_masses_are_weighed_at_the_stations(tmp_path: Path) -> None:
    masses = [0.375, *[0.75] * 7, 0.375]  # the trapezoidal rule for 6 kg
    path = write(tmp_path, changed(strip(), mass_per_length=None, station_mass=masses))
    assert fact(path, "total mass") == "6 kg (the file's masses)"
    z2 = ClampedFree(CLAMPED_FREE[1])(np.linspace(0.0, LENGTH, 9))
    difference = abs(float(masses @ z2**2) / 1.5 - 1)
    assert fact(path, "modal mass") == (
        f"M is up to {100 * difference:.2g} % off that of the file's masses"
    )


def test_without_modal_mass_it_is_integrated_and_frequencies_stay(tmp_path: Path) -> None:
    data = read_modal_data(write(tmp_path, changed(strip(31), M=None)))
    assert data.mass is None
    assert frequencies(data, 1.5 * np.eye(3)) == pytest.approx(
        [hertz(CLAMPED_FREE[0])] * 2 + [hertz(CLAMPED_FREE[1])], rel=1e-5
    )
    message = refusal(write(tmp_path, changed(strip(), M=None, mass_per_length=None)))
    assert "M: needs station_mass or mass_per_length to integrate it from" in message


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
    report, _ = inspect_modal_data(write(tmp_path, content))
    assert sum("off the modal mass" in note for note in report.notes) == notes
    assert sum("off the modal mass" in error for error in report.errors) == errors


@pytest.mark.parametrize(("given", "notes", "errors"), [(6.03, 0, 0), (6.6, 1, 0), (6000.0, 0, 1)])
def test_a_stated_total_mass_is_compared(
    tmp_path: Path, given: float, notes: int, errors: int
) -> None:
    report, _ = inspect_modal_data(write(tmp_path, changed(strip(31), total_mass=given)))
    assert sum("the total mass is" in note for note in report.notes) == notes
    assert sum("the total mass is" in error for error in report.errors) == errors


def test_a_modal_mass_smaller_than_rigid_motion_allows_is_noted(tmp_path: Path) -> None:
    # The first mode carries 97 % of the strip's moment of inertia: M cannot be 5 % smaller.
    for modal, noted in ((1.5, False), (1.42, True)):
        report, _ = inspect_modal_data(write(tmp_path, changed(strip(31), M=[1.5, modal, 1.5])))
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
        r"stations\[1\]: must be at the root of the link, got x = 1 m: set interface.position",
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
        "station_mass: must have one item per station, 9, got 2",
    ),
    (
        "two kinds of mass",
        {"station_mass": [1] * 9},
        "mass_per_length",
        "station_mass or mass_per_length, not both",
    ),
    ("no stiffness", {"frequencies": None}, "modal_data", "K: is required, or frequencies"),
    ("M too small", {"M": [1.5, 1.5]}, "M:", "M: must have one row per mode, 3, got 2"),
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
    (
        "K negative",
        {"K": [[1, 2, 0], [2, 1, 0], [0, 0, 1]], "frequencies": None},
        "K:",
        "K: must have no negative eigenvalue, .* is -1: a shape would drive itself",
    ),
    (
        "M indefinite",
        {"M": [[1.5, 1.5, 0], [1.5, 1.5, 0], [0, 0, 1.5]], "frequencies": None, "K": [1, 1, 1]},
        "M:",
        "M: must be positive definite",
    ),
    ("negative damping", {"D": [0.1, -0.1, 0.1]}, "D:", "D: must have no neg.*feed energy"),
    (
        "frequencies with a full M",
        {"M": [[1.5, 0.1, 0], [0.1, 1.5, 0], [0, 0, 1.5]]},
        "frequencies",
        "frequencies: needs a diagonal M: give K instead",
    ),
    (
        "frequencies in MHz",
        {"frequencies": [5e6, 5e6, 34e6]},
        "frequencies",
        r"frequencies: gives a frequency of 5e\+06 Hz, outside 0.01 to 100000 Hz: are the units",
    ),
    ("critical damping", {"damping_ratios": [0.1, 2, 0]}, "damping_ratios", "must be < 1, got 2"),
    (
        "name twice",
        {"modes": [*strip()["modes"][:2], strip()["modes"][2] | {"name": "y1"}]},
        "- name: y1",
        r"modes\[3\].name: the name 'y1' is taken",
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
    path.write_text(blocks("yaml")[1], encoding="utf-8")
    (tmp_path / "strip.csv").write_text(TABLE.replace(old, new), encoding="utf-8")
    found = refusal(path)
    assert re.search(re.escape(str(tmp_path)) + "/" + message, found), found


def test_a_missing_file_or_table_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"strip\.yaml: no such file"):
        read_modal_data(tmp_path / "strip.yaml")
    (tmp_path / "strip.yaml").write_text(blocks("yaml")[1], encoding="utf-8")
    with pytest.raises(ModelError, match=r"strip\.yaml:\d+:\d+: table: no such file: strip\.csv"):
        read_modal_data(tmp_path / "strip.yaml")


def test_mutated_files_are_read_or_refused_but_never_crash(tmp_path: Path) -> None:
    rng = random.Random(1)
    pieces = ["0", "-1", "1e300", "1e-300", ".nan", "[]", "{}", "null", "true", "a: b", "1e15", ""]
    text = write(tmp_path, strip(3)).read_text(encoding="utf-8")
    numbers = [match.span() for match in re.finditer(r"[-\w.]+", text)]
    path = tmp_path / "mutated.yaml"
    refused = 0
    for _ in range(100):
        start, end = rng.choice(numbers)
        path.write_text(text[:start] + rng.choice(pieces) + text[end:], encoding="utf-8")
        try:
            report, data = inspect_modal_data(path)
            errors = "\n".join(report.errors)
            assert (data is None) == bool(errors)
        except ModelError as error:
            errors = str(error)
        refused += bool(errors)
        assert not errors or errors.startswith(f"{path}:")
    assert refused > 50
