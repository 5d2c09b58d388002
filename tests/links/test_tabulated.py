"""Links from files of modal data: what is written comes back, at the order of the curves."""

import math
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flexarm.arm.section import Section
from flexarm.arm.shapes import Loaded
from flexarm.errors import ModelError, ShapeError
from flexarm.links.base import Direction, Shapes, Span, SpanCurves
from flexarm.links.families.tabulated import TabulatedShapes, write_modal_data
from flexarm.links.imported.file import inspect_stations
from flexarm.links.integrals import integrate
from tests.links.spans import curves_of, fitted
from tests.links.strips import (
    BENDING,
    CLAMPED_FREE,
    COUNTS,
    ENDS,
    LENGTH,
    MASS_PER_LENGTH,
    SPAN,
    Array,
    ClampedFree,
    changed,
    read,
    strip,
    write,
)


class Rod:
    """Shape of a clamped-free rod: sin(b x), or a derivative."""

    def __init__(self, wave: float) -> None:
        self.b = wave / LENGTH

    def __call__(self, x: Array, nu: int = 0) -> Array:
        return np.asarray(self.b**nu * np.sin(self.b * x + nu * math.pi / 2))


def closed_form() -> Shapes:
    """Two modes along y, one along z, one twist, one stretch, of known K, and a full D."""
    y1, y2 = (ClampedFree(lam) for lam in CLAMPED_FREE[:2])
    quarter = math.pi / 2
    edges, place = np.linspace(0, LENGTH, 7), np.eye(5)
    curves: dict[Direction, tuple[SpanCurves, ...]] = {
        "y": (fitted(edges, [y1, y2]).times(place[:2]),),
        "z": (fitted(edges, [y1]).times(place[2:3]),),
        "twist": (fitted(edges, [Rod(quarter)]).times(place[3:4]),),
        "x": (fitted(edges, [Rod(quarter)]).times(place[4:]),),
    }
    names = ("y1", "y2", "z1", "twist1", "stretch1")
    bending = [BENDING * lam**4 / (4 * LENGTH**3) for lam in CLAMPED_FREE[:2]]
    rods = [stiffness * quarter**2 / (2 * LENGTH) for stiffness in (50.0, 1e6)]
    stiffness = np.diag([*bending, bending[0], *rods])
    damping = np.diag(np.arange(1.0, 6.0)) + 0.1
    return Shapes(names, curves, edges, stiffness, damping=damping)


def exact_mass() -> Array:
    beam = MASS_PER_LENGTH * LENGTH / 4
    return np.diag([beam, beam, beam, 0.01 * LENGTH / 2, MASS_PER_LENGTH * LENGTH / 2])


def test_matrices_come_back_to_rounding(tmp_path: Path) -> None:
    given = closed_form()
    path = tmp_path / "link.yaml"
    write_modal_data(path, given, SPAN, stations=41)
    back = read(path)
    assert back.names == given.names
    assert back.stiffness == pytest.approx(given.stiffness, rel=1e-12, abs=1e-12)
    assert back.mass is not None
    assert back.mass == pytest.approx(exact_mass(), rel=1e-12, abs=1e-12)
    assert back.damping == pytest.approx(given.damping, rel=1e-12, abs=1e-12)
    assert inspect_stations(path, SPAN)[0].notes == []


@pytest.mark.few(1)
@pytest.mark.parametrize("direction", ["y", "z", "twist", "x"])
def test_curves_converge_to_the_shapes_with_order_4(tmp_path: Path, direction: Direction) -> None:
    given = closed_form()
    x = np.linspace(0.0, LENGTH, 1001)
    errors = []
    for stations in (17, 33, 65):  # the second mode along y is not yet asymptotic at 9
        path = tmp_path / f"link{stations}.yaml"
        write_modal_data(path, given, SPAN, stations=stations)
        back = read(path)
        error = back.values(direction, x) - given.values(direction, x)
        errors.append(float(np.abs(error).max()))
    orders = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    assert orders == pytest.approx(4.0, abs=0.25)
    assert errors[-1] < 1e-6


def test_values_and_slopes_at_the_stations_are_those_of_the_file(tmp_path: Path) -> None:
    given = closed_form()
    path = tmp_path / "link.yaml"
    write_modal_data(path, given, SPAN, stations=9)
    back = read(path)
    assert len(back.edges) == 9
    assert back.displacement(back.edges) == pytest.approx(given.displacement(back.edges), abs=1e-14)
    assert back.rotation(back.edges) == pytest.approx(given.rotation(back.edges), abs=1e-13)


def test_second_and_third_derivatives_are_those_of_the_curve(tmp_path: Path) -> None:
    path = tmp_path / "link.yaml"
    write_modal_data(path, closed_form(), SPAN, stations=9)
    back = read(path)
    middle = (back.edges[1:] + back.edges[:-1]) / 2
    h = 1e-3
    for nu in (0, 1, 2):
        difference = back.displacement(middle + h, nu) - back.displacement(middle - h, nu)
        # cubic: the central difference is exact but for the third derivative of a value
        exact = back.displacement(middle, nu + 1)
        third = back.displacement(middle, 3) * h**2 / 6 if nu == 0 else 0.0
        assert difference / (2 * h) == pytest.approx(exact + third, rel=1e-9, abs=1e-9)


def test_a_coordinate_moves_only_where_its_file_says(tmp_path: Path) -> None:
    path = tmp_path / "link.yaml"
    write_modal_data(path, closed_form(), SPAN)
    moved = [set(each) for each in curves_of(read(path))]
    assert moved == [{"y"}, {"y"}, {"z"}, {"twist"}, {"x"}]


def test_integrals_use_the_given_modal_mass_or_integrate_the_section(tmp_path: Path) -> None:
    content = changed(strip(31), M=[1.53, 1.53, 1.53])
    given, _ = integrate(SPAN, read(write(tmp_path, content)), stiffening=False)
    assert given.modal_mass.tolist() == np.diag([1.53, 1.53, 1.53]).tolist()
    shapes = read(write(tmp_path, changed(strip(31), M=None)))
    assert shapes.mass is None
    free, _ = integrate(SPAN, shapes, stiffening=False)
    assert free.modal_mass == pytest.approx(1.5 * np.eye(3), abs=1e-4)


def test_a_section_that_jumps_is_written_as_lumps_of_exact_mass_and_centre(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"at": at, "mass_per_length": mass, "EIz": BENDING, "EIy": BENDING}
        for at, mass in ((0.0, 8.0), (0.5, 8.0), (0.5, 2.0), (LENGTH, 2.0))
    ]
    span = Span.of(Section.model_validate({"stations": rows}), LENGTH)
    shapes = replace(closed_form().some([0, 1, 2]), edges=SPAN.edges, damping=None)
    path = tmp_path / "link.yaml"
    write_modal_data(path, shapes, span, stations=24)
    assert "station_mass" in path.read_text(encoding="utf-8")
    report, _ = inspect_stations(path, span)
    centre = (4.0 * 0.25 + 1.4 * 0.85) / 5.4
    assert report.errors == []
    facts = dict(report.facts)
    assert facts["total mass"] == "5.4 kg (the link's section), 5.4 kg (the file's masses)"
    assert facts["centre of mass"].count(f"({centre:.6g}, 0, 0) m") == 2


def test_a_tapered_section_is_written_per_length_and_fits_itself(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"at": at, "mass_per_length": mass, "EIz": BENDING, "EIy": BENDING}
        for at, mass in ((0.0, 8.0), (0.31, 5.0), (LENGTH, 2.0))
    ]
    span = Span.of(Section.model_validate({"stations": rows}), LENGTH)
    shapes = replace(closed_form().some([0, 1, 2]), edges=SPAN.edges, damping=None)
    path = tmp_path / "link.yaml"
    write_modal_data(path, shapes, span, stations=31)
    report, _ = inspect_stations(path, span)
    by_file, by_section = (text for label, text in report.facts if label == "modal mass")
    assert by_file.split(" off")[0] == by_section.split(" off")[0]
    assert float(re.findall(r"([\d.e-]+) %", by_file)[0]) < 0.01


def test_millimetres_taken_for_metres_are_recognised_by_the_span(tmp_path: Path) -> None:
    content = strip()
    content["stations"] = [1000 * x for x in content["stations"]]
    path = write(tmp_path, content)
    with pytest.raises(ModelError) as caught:
        read(path)
    found = re.search(
        r"strip.yaml:(\d+):(\d+): stations\[9\]: must be at the end of the link's flexible span, "
        r"1.2 m, got 1200 m; units.length: mm would fit",
        str(caught.value),
    )
    assert found is not None
    line = path.read_text(encoding="utf-8").splitlines()[int(found[1]) - 1]
    assert line[int(found[2]) - 1 :] == "1200.0]"


def test_seconds_taken_for_milliseconds_are_recognised_by_the_section(tmp_path: Path) -> None:
    units = {"length": "m", "mass": "kg", "time": "ms"}
    stiff = [BENDING * lam**4 / (4 * LENGTH**3) for lam in CLAMPED_FREE[:2]]
    content = changed(strip(), units=units, frequencies=None, K=[stiff[0], *stiff])
    with pytest.raises(ModelError, match=r"K: the stiffness is 1e\+06 times that of the link's"):
        read(write(tmp_path, content))


def test_a_mass_unlike_that_of_the_section_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError) as caught:
        read(write(tmp_path, changed(strip(), mass_per_length=0.5, M=[0.15] * 3)))
    assert "mass_per_length: the total mass is 0.6 kg, but 6 kg by the link's" in str(caught.value)
    assert "M: is 900 % off the modal mass that the shapes and the link's" in str(caught.value)


def test_a_modal_mass_that_makes_the_arms_mass_matrix_indefinite_is_refused(tmp_path: Path) -> None:
    read(write(tmp_path, changed(strip(31), M=[1.5, 1.5, 1.5])))
    with pytest.raises(ModelError, match=r"M: makes with the link's section .* Leave M out"):
        read(write(tmp_path, changed(strip(31), M=[1.5, 1.42, 1.5])))


def test_a_stiffness_unlike_that_of_the_section_is_noted(tmp_path: Path) -> None:
    # K of 0.8^2 times: the measured frequencies are 20 % lower, as those of a loose clamp.
    lower = [0.8 * f for f in strip()["frequencies"]]
    path = write(tmp_path, changed(strip(31), frequencies=lower))
    (note,) = inspect_stations(path, SPAN)[0].notes
    assert note.startswith(
        "frequencies: the stiffness is up to 36 % off that of the link's section"
    )


def test_a_file_is_not_overwritten_unless_forced(tmp_path: Path) -> None:
    path = tmp_path / "link.yaml"
    write_modal_data(path, closed_form(), SPAN, name="first")
    with pytest.raises(ModelError, match="the file exists already"):
        write_modal_data(path, closed_form(), SPAN, name="second")
    write_modal_data(path, closed_form(), SPAN, name="third", force=True)
    assert "name: third" in path.read_text(encoding="utf-8")


def test_a_failed_writing_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "link.yaml"
    path.write_text("mine", encoding="utf-8")

    def disk_full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", disk_full)
    with pytest.raises(ModelError, match="cannot be written: No space left on device"):
        write_modal_data(path, closed_form(), SPAN, force=True)
    assert path.read_text(encoding="utf-8") == "mine"


def test_another_choice_than_a_table_is_refused() -> None:
    with pytest.raises(ShapeError, match="must be of kind 'table' with a file, got kind 'loaded'"):
        TabulatedShapes().shapes(Loaded(), SPAN, ENDS, COUNTS)
