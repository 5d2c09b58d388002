"""Curves of a page: drawn by as few lines as look like them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from flexarm.spatial import Array
from tests.engine.in_node import run_in_node

SOURCE = Path(__file__).parents[2] / "viewer/src/curves.js"
RUN = f"""
import fs from 'fs';
import {{ traceCurve }} from '{SOURCE.as_uri()}';
const {{ t, x, span, seen }} = JSON.parse(fs.readFileSync(0));
const corners = [];
const path = {{
  moveTo: (x, y) => corners.push(['move', x, y]),
  lineTo: (x, y) => corners.push(['line', x, y]),
}};
const scales = {{ x: {{ min: span[0], max: span[1] }}, y: {{ min: -2, max: 2 }} }};
const bbox = {{ left: 50, top: 8, width: 800, height: 120 }};
traceCurve({{ data: [t, x], scales, bbox, series: [{{ idxs: seen }}] }}, 1, path);
console.log(JSON.stringify({{ corners }}));
"""
LEFT, TOP, WIDTH, HEIGHT, HIGHEST = 50, 8, 800, 120, 2  # of the plot above
NEAR = 0.2 + 1e-9  # [dots]


def traced(
    folder: Path, t: Array, x: Sequence[float | None], seen: tuple[int, int] | None = None
) -> Array:
    """Trace a curve; gives its corners in dots, (corners, 2)."""
    first, last = seen or (0, len(t) - 1)
    span = [float(t[first]), float(t[last])]
    given: dict[str, Any] = {"t": t.tolist(), "x": list(x), "span": span, "seen": [first, last]}
    corners = run_in_node(RUN, given, folder)["corners"]
    assert [kind for kind, *_ in corners] == ["move", *["line"] * (len(corners) - 1)][
        : len(corners)
    ]
    return np.array([place for _, *place in corners])


def dots(t: Array, x: Array) -> Array:
    """Say where values are drawn, (values, 2)."""
    across = LEFT + WIDTH * (t - t[0]) / (t[-1] - t[0])
    return np.column_stack([across, TOP + HEIGHT * (HIGHEST - x) / (2 * HIGHEST)])


def test_a_smooth_curve_takes_few_lines_and_passes_every_value(tmp_path: Path) -> None:
    t = np.linspace(3.0, 11.0, 2000)
    x = np.sin(2 * np.pi * t / 4) * np.exp(-0.1 * t)
    corners, places = traced(tmp_path, t, x.tolist()), dots(t, x)
    drawn = np.interp(places[:, 0], *corners.T)
    assert np.abs(drawn - places[:, 1]).max() < NEAR
    np.testing.assert_allclose(corners[[0, -1]], places[[0, -1]], atol=1e-9)
    assert 10 < len(corners) < 100


def test_a_vibration_is_as_wide_as_it_is(tmp_path: Path) -> None:
    """Least and most of a bin at one instant, as a live page keeps them: no corner is lost."""
    bins = np.arange(400.0)
    t = np.column_stack([bins, bins + 1e-9]).ravel()
    x = np.column_stack([-1.5 + 0.001 * bins, 1.5 + 0 * bins]).ravel()
    corners, places = traced(tmp_path, t, x.tolist()), dots(t, x)
    assert len(corners) == len(places)
    np.testing.assert_allclose(corners, places, atol=1e-6)


def test_a_jump_at_one_instant_is_drawn_as_one(tmp_path: Path) -> None:
    t = np.array([0.0, 1.0, 2.0, 2.0, 3.0, 4.0])
    x = np.array([0.5, 0.5, 0.5, -1.0, -1.0, -1.0])
    corners = traced(tmp_path, t, x.tolist())
    np.testing.assert_allclose(corners, dots(t, x)[[0, 2, 3, 5]], atol=1e-6)


def test_gaps_are_crossed_and_what_is_seen_begins_before_it(tmp_path: Path) -> None:
    """Joined runs have no values where others have samples."""
    t = np.arange(7.0)
    values = [0.0, None, None, 1.0, None, -1.0, None]
    corners = traced(tmp_path, t, values, seen=(2, 4))
    across = LEFT + WIDTH * (np.array([0.0, 3.0, 5.0]) - 2.0) / 2.0
    down = TOP + HEIGHT * (HIGHEST - np.array([0.0, 1.0, -1.0])) / (2 * HIGHEST)
    np.testing.assert_allclose(corners, np.column_stack([across, down]), atol=1e-9)


def test_a_curve_without_values_is_no_line(tmp_path: Path) -> None:
    assert len(traced(tmp_path, np.arange(2.0), [None, None])) == 0
