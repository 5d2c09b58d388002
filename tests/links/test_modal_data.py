"""Files of modal data: what is read and what is checked."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.spatial.transform import Rotation

from flexarm.arm.section import Section
from flexarm.links.base import Shapes, Span
from flexarm.links.imported.file import inspect_stations
from tests.links.spans import curves_of
from tests.links.strips import (
    CLAMPED_FREE,
    EXAMPLE,
    FREE_FREE,
    LENGTH,
    MASS_PER_LENGTH,
    SPAN,
    Array,
    ClampedFree,
    FreeFree,
    blocks,
    changed,
    hertz,
    read,
    refusal,
    strip,
    turned,
    write,
)

# 50 x 5 mm of aluminium, as in the documentation.
STRIP = Span.of(Section(mass_per_length=0.675, EIy=36.4583, GJ=52.5547, Jx=1.42e-4), 1.0)


def frequencies(data: Shapes, modal: Array | None = None) -> Array:
    """Frequencies of K and M [Hz], sorted."""
    mass = data.mass if modal is None else modal
    squares = np.linalg.eigvals(np.linalg.solve(np.asarray(mass), data.stiffness))
    return np.sort(np.sqrt(squares.real)) / (2 * math.pi)


def fact(path: Path, label: str) -> str:
    """Return the first line of a report with this label."""
    return next(text for name, text in inspect_stations(path, SPAN)[0].facts if name == label)


def station_values(data: Shapes) -> tuple[Array, Array]:
    """Return displacement and rotation at the stations, (n, 3, m) each."""
    return data.displacement(data.edges), data.rotation(data.edges)


def test_an_example_in_axes_of_its_own_is_read_without_a_note_and_has_the_strips_frequencies(
    tmp_path: Path,
) -> None:
    path = tmp_path / "strip.yaml"
    path.write_text(EXAMPLE.read_text(encoding="utf-8"), encoding="utf-8")
    report, data = inspect_stations(path, STRIP)
    assert report.notes == report.errors == []
    assert data is not None
    assert data.names == ("z1", "z2", "twist1")
    # 50 x 5 mm aluminium, 1 m: lam^2 sqrt(EI / mu), and a quarter wave of twist.
    bending = [lam**2 * math.sqrt(7e10 * 5.208333e-10 / 0.675) for lam in CLAMPED_FREE[:2]]
    twist = math.pi / 2 * math.sqrt(52.5547 / 1.4203125e-4)
    expected = np.array([*bending, twist]) / (2 * math.pi)
    assert frequencies(data) == pytest.approx(expected, rel=3e-4)
    # The strip lies along z of the data; the link's z axis is -x of the data.
    z1 = ClampedFree(CLAMPED_FREE[0], 1.0)
    displacement, rotation = station_values(data)
    assert displacement[:, 2, 0] == pytest.approx(z1(data.edges), abs=1e-5)
    assert rotation[:, 1, 0] == pytest.approx(-z1(data.edges, 1), abs=1e-4)
    assert rotation[-1, :, 2] == pytest.approx([1, 0, 0], abs=1e-15)  # the spline rounds


def test_the_documented_station_table_is_read(tmp_path: Path) -> None:
    path = tmp_path / "strip.yaml"
    path.write_text(blocks("yaml")[0], encoding="utf-8")
    (tmp_path / "strip.csv").write_text(blocks("csv")[0], encoding="utf-8")
    report, data = inspect_stations(path, STRIP)
    assert report.notes == report.errors == []
    assert data is not None
    assert data.mass is None
    # Displacements of 1 mm: M = mu L / 4 of a shape of 1 m, times 1e-6.
    assert data.stiffness[0, 0] == pytest.approx(
        0.675 / 4 * 1e-6 * (2 * math.pi * 4.113) ** 2, rel=1e-4
    )
    assert data.edges[-1] == 1.0


def test_the_report_prints_everything_that_was_checked(tmp_path: Path) -> None:
    report, _ = inspect_stations(write(tmp_path, strip()), SPAN)
    text = "\n".join(report.lines())
    assert "strip: 3 modes at 9 stations" in text
    for line in (
        r"units +length 1 m, mass 1 kg, time 1 s",
        r"hub +at \(0, 0, 0\) m in the data, turned by \(0, 0, 0\) deg",
        r"nodes +9, to 1.2 m",
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
    plain = read(write(tmp_path, strip()))
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
    scaled = read(write(tmp_path, in_mm))
    for one, two in zip(station_values(scaled), station_values(plain), strict=True):
        assert one == pytest.approx(two, rel=1e-15)
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
    data = read(write(tmp_path, given))
    assert np.diag(data.stiffness) == pytest.approx([1800, 1800, 71000], rel=1e-14)
    assert data.damping is not None
    assert np.diag(data.damping) == pytest.approx([0.5, 0.5, 0.7], rel=1e-14)


def test_us_customary_units_are_read(tmp_path: Path) -> None:
    units = {"length": "in", "mass": "lbf s^2/in", "time": "s"}
    pound = 175.126835  # [kg] of 1 lbf s^2/in
    section = Section(mass_per_length=MASS_PER_LENGTH * pound / 0.0254)
    span = Span.of(section, LENGTH * 0.0254)
    data = read(write(tmp_path, changed(strip(), units=units)), span)
    assert data.edges[-1] == pytest.approx(LENGTH * 0.0254)
    assert np.asarray(data.mass)[0, 0] == pytest.approx(1.5 * pound * 0.0254**2, rel=1e-7)


def test_damping_ratios_become_the_damping_of_each_mode(tmp_path: Path) -> None:
    path = write(tmp_path, changed(strip(), damping_ratios=[0.01, 0.02, "0.5 %"]))
    data = read(path)
    omega = 2 * math.pi * np.array([hertz(lam) for lam in (*CLAMPED_FREE[:1], *CLAMPED_FREE[:2])])
    assert data.damping == pytest.approx(np.diag(2 * np.array([0.01, 0.02, 0.005]) * 1.5 * omega))
    assert fact(path, "damping") == "1 %, 2 %, 0.5 % of critical"


@pytest.mark.parametrize("angles", [(90, 0, 0), (0, -90, 0), (0, 0, 180), (20, -35, 70)])
def test_data_in_other_axes_give_the_same_link(
    tmp_path: Path, angles: tuple[float, float, float]
) -> None:
    plain = read(write(tmp_path, strip()))
    turn = Rotation.from_euler("xyz", angles, degrees=True).as_matrix()
    origin = np.array([0.3, -2.0, 0.7])
    content = turned(strip(), turn, origin)
    interface = {"position": origin.tolist(), "rotation": [f"{angle} deg" for angle in angles]}
    path = write(tmp_path, changed(content, interface=interface))
    report, data = inspect_stations(path, SPAN)
    assert report.notes == []
    assert data is not None
    assert data.edges == pytest.approx(plain.edges, abs=1e-14)
    for one, two in zip(station_values(data), station_values(plain), strict=True):
        assert one == pytest.approx(two, abs=1e-14)
    assert [set(each) for each in curves_of(data)] == [{"y"}, {"z"}, {"z"}]


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
    report, data = inspect_stations(path, SPAN)
    assert data is not None
    assert data.names == ("mode1", "mode2")
    assert any("2 of 2 move the hub, by up to 100 %" in note for note in report.notes)

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
    for values in station_values(data):
        assert np.abs(values[0]).max() < 1e-15
    # Without masses of its own the section's count.
    again = read(write(tmp_path, changed(content, mass_per_length=None)))
    assert np.asarray(again.mass) == pytest.approx(np.asarray(data.mass), rel=1e-9)


def test_lumped_masses_are_weighed_at_the_stations(tmp_path: Path) -> None:
    masses = [0.375, *[0.75] * 7, 0.375]  # the trapezoidal rule for 6 kg
    path = write(tmp_path, changed(strip(), mass_per_length=None, station_mass=masses))
    assert fact(path, "total mass") == "6 kg (the link's section), 6 kg (the file's masses)"
    z2 = ClampedFree(CLAMPED_FREE[1])(np.linspace(0.0, LENGTH, 9))
    difference = abs(float(masses @ z2**2) / 1.5 - 1)
    assert fact(path, "modal mass") == (
        f"M is up to {100 * difference:.2g} % off that of the file's masses"
    )


def test_without_modal_mass_it_is_integrated_and_frequencies_stay(tmp_path: Path) -> None:
    data = read(write(tmp_path, changed(strip(31), M=None)))
    assert data.mass is None
    assert frequencies(data, 1.5 * np.eye(3)) == pytest.approx(
        [hertz(CLAMPED_FREE[0])] * 2 + [hertz(CLAMPED_FREE[1])], rel=1e-5
    )
