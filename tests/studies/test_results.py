"""Results of a study: their folder, progress, labelled figures, and Pareto fronts."""

import itertools
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flexarm
from flexarm.cli import main
from flexarm.errors import FlexarmError
from flexarm.studies.design.read import read_study
from tests.studies.designs import EIZ, plan


def cost(design: Mapping[str, float]) -> float:
    """Return the square of the distance from (0, 1)."""
    return float(design["x"] ** 2 + (design["y"] - 1) ** 2)


def gain(design: Mapping[str, float]) -> float:
    """Return a number that is greatest at (1, 0); none far from there."""
    found = 1 - (design["x"] - 1) ** 2 - design["y"] ** 2
    return found if found > 0 else float("nan")


def of_functions(**other: Any) -> dict[str, Any]:
    """Describe a study of two functions of two numbers."""
    return {
        "parameters": {"x": [0, 1], "y": {"low": 1e-3, "high": 1, "scale": "log"}},
        "sampling": {"kind": "sobol", "count": 64, "seed": 1},
        "quantities": {
            "cost": {"function": cost, "takes": "design"},
            "gain": {"function": gain, "takes": "design"},
        },
        "workers": 1,
        "chunk": 8,
        **other,
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Compute the study of functions, and return its folder."""
    flexarm.study(of_functions(), out=tmp_path / "out")
    return tmp_path / "out"


def test_units_of_keys_starts_curves_and_reductions_are_known() -> None:
    given = plan(
        parameters={
            EIZ: [40, 60],
            "links.1.length": [1, 2],
            "start.joint1.rate": [-1, 1],
            "links.1.section.mass_per_length": [1, 2],
            "gravity.2": [-9, 0],
        },
        quantities={
            "peak": "link1 tip deflection y: peak",
            "done": "joint1: settling time",
            "area": "tip x: integral",
            "over": "joint1: overshoot",
            "energy": "total energy: last",
            "speed": "joint1 rate: max",
            "weight": "mass",
            "first": {"frequency": 1},
        },
    )
    assert list(read_study(given).units.values()) == [
        "N m^2", "m", "rad/s", "kg/m", "m/s^2",
        "m", "s", "m s", "1", "J", "rad/s", "kg", "Hz",
    ]  # fmt: skip


def test_figures_have_units_logarithmic_axes_and_short_lines(folder: Path, tmp_path: Path) -> None:
    given = plan(
        parameters={"stiffness of the link in bending": {"low": 40, "high": 60, "keys": [EIZ]}}
    )
    drawn = flexarm.study(given, out=tmp_path / "arm").plot(kind="effects")
    labels = [panel.get_xlabel() for panel in drawn.axes]
    assert labels[-1] == "stiffness of the link in\nbending [N m^2]"
    assert drawn.axes[0].get_ylabel() == "peak [m]"
    panels = flexarm.load_study(folder).plot(kind="scatter").axes
    names = ["x", "y", "cost", "gain"]
    for k, panel in enumerate(panels[:16]):
        for name, scale in (
            (names[k % 4], panel.get_xscale()),
            (names[k // 4], panel.get_yscale()),
        ):
            assert scale == ("log" if name == "y" else "linear")


def test_words_at_the_axes_of_figures_do_not_overlap(tmp_path: Path) -> None:
    given = plan(
        parameters={
            "links.1.shapes.kind": {"values": ["clamped-free", "polynomials"]},
            "links.1.shapes.bending_y": {"values": [1, 2]},
            EIZ: [40, 60],
        },
        sampling={"kind": "saltelli", "count": 8},
    )
    found = flexarm.study(given, out=tmp_path / "words")
    effects = found.plot(kind="effects")
    assert [x.get_text() for x in effects.axes[-3].get_xticklabels()] == [
        "clamped-free",
        "polynomials",
    ]
    assert all(x == round(x) for x in effects.axes[-2].get_xticks())
    figure = found.plot(tmp_path / "sobol.png", kind="sobol")
    boxes = [x.get_window_extent() for x in figure.axes[0].get_yticklabels()]
    assert len(boxes) == 3
    assert all(above.y0 > below.y1 for above, below in itertools.pairwise(boxes))


def test_a_pareto_front_has_no_design_that_another_beats(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = flexarm.load_study(folder)
    rows, front = found.columns, found.pareto(minimise=["cost"], maximise=["gain"])
    aims = np.stack([rows["cost"], -rows["gain"]], axis=1)
    aims = aims[np.isfinite(aims).all(axis=1)]
    assert len(aims) < len(rows["cost"])
    beaten = [
        ((aims <= each).all(axis=1) & (aims < each).any(axis=1)).any() for each in aims.tolist()
    ]
    assert sorted(front["cost"]) == front["cost"].tolist()
    assert front["cost"].tolist() == sorted(aims[~np.array(beaten), 0])
    assert len(found.plot(kind="pareto", minimise=["cost"], maximise=["gain"]).axes[0].lines) == 2
    assert main(["study", str(folder), "--minimise", "cost", "--maximise", "gain"]) == 0
    said = capsys.readouterr().out
    assert "Pareto front" in said
    assert f"{front['cost'][0]:.6g}" in said
    with pytest.raises(FlexarmError, match="one of x, y, cost, gain"):
        found.pareto(minimise=["cost", "weight"])
    for aims_too_few in [{"minimise": ["cost"]}, {"minimise": ["cost"], "maximise": ["cost"]}]:
        with pytest.raises(FlexarmError, match="name two or more different quantities"):
            found.pareto(**aims_too_few)


def test_a_folder_says_how_far_a_study_is(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert flexarm.load_study(folder).progress.done == 64
    begun = 1e9
    os.utime(folder / "study.json", (begun, begun))
    for number, file in enumerate(sorted(folder.glob("chunk-*"))):
        if number < 5:  # two before this call, three since then
            time = begun + 4.0 * (number - 1)
            os.utime(file, (time, time))
        else:
            file.unlink()
    found = flexarm.load_study(folder).progress
    assert (found.done, found.total, found.rate, found.remaining) == (40, 64, 2.0, 12.0)
    assert main(["study", str(folder), "--status"]) == 0
    assert "40 of 64 designs, 2/s, 0:00:12 left" in capsys.readouterr().out
    assert flexarm.study(of_functions(), out=folder).progress.done == 64


def test_a_path_changes_all_parameters_together(tmp_path: Path) -> None:
    given = of_functions(
        parameters={"x": [0, 1], "y": {"values": [0.8, 0.4, 0.2]}},
        sampling={"kind": "path", "count": 3},
    )
    rows = flexarm.study(given, out=tmp_path / "out").columns
    assert rows["x"].tolist() == [0.0, 0.5, 1.0]
    assert rows["y"].tolist() == [0.8, 0.4, 0.2]
