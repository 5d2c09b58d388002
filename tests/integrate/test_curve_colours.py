"""Curves can be told apart, in figures and pages, by the colour-blind too."""

import itertools
import re
from dataclasses import replace

import numpy as np
import pytest

import flexarm
from flexarm.figures import COLOURS, curve_look
from flexarm.linear.tracks import plot_sweep
from flexarm.runs.plot import plot_run
from flexarm.spatial import Array
from tests.docs_blocks import ROOT
from tests.viewer.poses import random_run

# Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB.
SIGHTS = {
    "all colours": np.eye(3),
    "no long waves": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
         [-0.003882, -0.048116, 1.051998]]),
    "no medium waves": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
         [-0.011820, 0.042940, 0.968881]]),
    "no short waves": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
         [0.004733, 0.691367, 0.303900]]),
}  # fmt: skip
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = XYZ.sum(axis=1)
APART = 15.0  # in CIELAB, where 2.3 is just noticed side by side
CONTRAST = 2.2


def page_colours() -> list[tuple[str, ...]]:
    """Read the colours of curves from the page's style: light, dark, dark."""
    style = (ROOT / "viewer/src/style.css").read_text(encoding="utf-8")
    found = re.findall(r"--curve\d: (#\w{6})", style)
    return [tuple(found[k : k + 8]) for k in range(0, len(found), 8)]


def linear(colour: str) -> Array:
    values = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def lab(rgb: Array) -> Array:
    x = XYZ @ np.clip(rgb, 0, 1) / WHITE
    f = np.where(x > 0.008856, np.cbrt(x), 7.787 * x + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def contrast(colour: str, ground: str) -> float:
    bright = sorted(float(XYZ[1] @ linear(each)) for each in (colour, ground))
    return (bright[1] + 0.05) / (bright[0] + 0.05)


def test_the_page_has_the_colours_of_the_figures() -> None:
    light, dark, wished = page_colours()
    assert light == COLOURS
    assert dark == wished


@pytest.mark.parametrize("sight", SIGHTS)
@pytest.mark.parametrize("colours", [COLOURS, page_colours()[1]], ids=["light", "dark"])
def test_no_two_colours_look_alike(colours: tuple[str, ...], sight: str) -> None:
    seen = {colour: lab(SIGHTS[sight] @ linear(colour)) for colour in colours}
    for one, other in itertools.combinations(colours, 2):
        assert np.linalg.norm(seen[one] - seen[other]) > APART, (one, other)


@pytest.mark.parametrize("colour", COLOURS)
def test_colours_stand_out_from_white(colour: str) -> None:
    assert contrast(colour, "#ffffff") > CONTRAST


@pytest.mark.parametrize("colour", page_colours()[1])
def test_colours_stand_out_from_the_dark(colour: str) -> None:
    assert contrast(colour, "#161d24") > CONTRAST


def test_no_two_of_many_curves_look_alike() -> None:
    looks = [str(curve_look(k, dashed=dashed)) for k in range(48) for dashed in (False, True)]
    assert len(set(looks)) == 96


@pytest.mark.campaign
@pytest.mark.parametrize(
    "name", [pytest.param("canadarm-free-base", marks=pytest.mark.campaign), "chain-30"]
)
def test_every_curve_of_a_figure_has_a_look_of_its_own_and_is_seen(name: str) -> None:
    arm = flexarm.example_arm(name)
    # ten joints and flexible links: more than there are colours
    arm = arm.model_copy(update={"links": arm.links[:10], "stiffening": False})
    figure = plot_run(random_run(arm, 20))
    for panel in figure.axes:
        if panel.get_title().startswith("the arm"):
            continue
        looks = [(line.get_color(), str(line._dash_pattern)) for line in panel.lines]  # type: ignore[attr-defined]
        assert len(set(looks)) == len(looks), panel.get_title()
        legend = panel.get_legend()
        assert legend is not None
        assert len(legend.get_texts()) == len(panel.lines)


def test_a_legend_names_only_what_is_drawn() -> None:
    run = flexarm.simulate(flexarm.example_arm("driven-link"), t_end=0.1, dt=0.01)
    energy = plot_run(run).axes[3].get_legend()
    assert energy is not None
    assert "gravitational" not in [text.get_text() for text in energy.get_texts()]


def test_a_mode_that_never_vibrates_is_not_in_the_legend_of_a_sweep() -> None:
    sweep = flexarm.sweep(
        flexarm.example_arm("deluca-siciliano"), at={"joint2": np.linspace(0, 1, 3)}
    )
    first, *others = sweep.tracks
    decays = replace(first, eigenvalue=-np.abs(first.eigenvalue) + 0j)
    (panel,) = plot_sweep(replace(sweep, tracks=(decays, *others)), count=20).axes
    legend = panel.get_legend()
    assert legend is not None
    named = [text.get_text() for text in legend.get_texts()]
    assert named == [track.name for track in others]
    assert len(named) == len(panel.lines)
