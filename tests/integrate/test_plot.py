"""Figures of a run: what is in them can be seen, whatever its names are."""

import warnings
from pathlib import Path

import pytest

import flexarm
from flexarm.figures import drawable
from flexarm.io.model_file import loads
from flexarm.runs.run import Run

ARM = """
flexarm: 1
name: "🤖 $a_1$ \u05d6\u05e8\u05d5\u05e2"
gravity: [0, -9.81, 0]
links:
  - name: "arm🦾"
    joint: {kind: revolute}
    length: 1
    section: {mass_per_length: 1, EIz: 100}
    shapes: {kind: loaded, bending_y: 1}
  - joint: {kind: prismatic, start: {position: 0.2}}
    length: 0.5
    body: {mass: 1}
"""


@pytest.fixture(scope="module")
def run() -> Run:
    return flexarm.simulate(loads(ARM, "arm"), t_end=0.1, dt=0.01)


def test_names_that_the_font_lacks_are_squares_and_legends_cover_nothing(
    run: Run, tmp_path: Path
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = run.plot(tmp_path / "run.png")
        flexarm.modes(run.model).plot().savefig(tmp_path / "modes.png")
    assert figure.get_suptitle() == "\u25a1 \\$a_1\\$ \u05d6\u05e8\u05d5\u05e2"  # no formula
    assert drawable("link 2, µm") == "link 2, µm"
    legends = [panel.get_legend() for panel in figure.axes]
    covered = [legend.get_window_extent() for legend in legends if legend is not None]
    assert len(covered) == 5
    for legend in covered:
        for other in figure.axes:
            assert not legend.overlaps(other.get_window_extent())
            for label in (other.xaxis.label, other.yaxis.label, other.title):
                assert not (label.get_text() and legend.overlaps(label.get_window_extent()))
