"""Samples show what moved, or the run says that they do not."""

import re

import numpy as np
import pytest

import flexarm
from flexarm.integrate.constants import DEFAULT_INTERVALS, MOST_INTERVAL_PARTS
from flexarm.io.model_file import loads
from flexarm.runs import plot
from flexarm.runs.constants import LINE_ERROR
from flexarm.runs.curves import curves_of, undersampling_note
from flexarm.runs.data import RunData
from flexarm.runs.plot import fill_in, pick, plot_run
from flexarm.spatial import Array
from flexarm.viewer.constants import PAGE_SAMPLES
from flexarm.viewer.page import page_samples, run_data
from tests.integrate.test_live import TUMBLING

# Let go under its weight, held at its root: one mode vibrates, about where it would hang.
LET_GO = """\
flexarm: 1
name: let go
gravity: [0, -9.81, 0]
stiffening: false
links:
  - joint: {kind: revolute, actuation: prescribed, motion: {kind: constant, value: 0}}
    length: 1
    section: {mass_per_length: 1, EIz: 200}
    shapes: {kind: loaded, bending_y: MODES}
"""
HZ = 3.516015 * np.sqrt(200.0) / (2 * np.pi)  # of the clamped-free link


def let_go(t_end: float, dt: float | None = None, modes: int = 1) -> RunData:
    return flexarm.simulate(loads(LET_GO.replace("MODES", str(modes))), t_end=t_end, dt=dt)


def off_lines(run: RunData, truth: RunData) -> Array:
    """Measure how far lines through samples are off, over the range of each coordinate."""
    moving = np.ptp(truth.q, axis=0) > 0
    lines = [np.interp(truth.t, run.t, column) for column in run.q.T[moving]]
    off = np.abs(np.array(lines).T - truth.q[:, moving]).max(axis=0)
    return np.asarray(off / np.ptp(truth.q[:, moving], axis=0))


@pytest.mark.parametrize(("periods", "expected"), [(10, 500), (40, 1000), (80, 2000), (160, 4000)])
def test_as_many_samples_are_kept_as_a_vibration_takes(periods: float, expected: int) -> None:
    t_end = periods / HZ
    run = let_go(t_end)
    assert len(run.t) == expected + 1
    truth = let_go(t_end, t_end / 20_000)
    assert off_lines(run, truth).max() <= 1.1 * LINE_ERROR
    if expected > DEFAULT_INTERVALS:
        half = pick(run, np.arange(0, expected + 1, 2))
        assert off_lines(half, truth).max() > LINE_ERROR
    assert run.missed == ""


def test_fast_modes_that_do_not_move_take_no_samples() -> None:
    run = let_go(10 / HZ, modes=8)
    assert len(run.t) == DEFAULT_INTERVALS + 1


@pytest.mark.parametrize("dt", [0.1, 0.03, 1 / 3000])
def test_an_interval_that_is_asked_for_is_kept_to(dt: float) -> None:
    run = let_go(1.0, dt)
    assert np.allclose(np.diff(run.t)[:-1], dt)
    assert run.t[-1] == 1.0


def test_a_curve_with_rates_needs_few_samples_and_nothing_is_said() -> None:
    run = let_go(600 / HZ)
    assert (len(run.t), run.missed) == (DEFAULT_INTERVALS * MOST_INTERVAL_PARTS + 1, "")


@pytest.mark.parametrize("periods", [1003.7, 2012.3, 20_123.4])
def test_what_is_too_fast_for_the_samples_is_said_with_its_frequency_and_a_remedy(
    periods: float,
) -> None:
    t_end = periods / HZ
    run = let_go(t_end)
    assert len(run.t) == DEFAULT_INTERVALS * MOST_INTERVAL_PARTS + 1
    said, dt = re.findall(
        r"link1 vibrates at about ([\d.e+]+) Hz.*Take a dt of (\S+) s", run.missed
    )[0]
    assert float(said) == pytest.approx(HZ, rel=0.05)
    assert let_go(min(t_end, 50 / HZ), float(dt)).missed == ""


@pytest.mark.parametrize("phase", [0.3, 1.0, 2.0])
def test_samples_in_step_with_a_vibration_do_not_hide_it(phase: float) -> None:
    run = let_go(0.1)
    t = np.arange(200) / HZ
    q, v = np.zeros((200, 2)), np.zeros((200, 2))
    angle = 2 * np.pi * HZ * t + phase
    slow = 1e-3 * np.sin(2 * np.pi * t / t[-1])
    q[:, 1], v[:, 1] = 0.01 * np.cos(angle) + slow, -0.01 * 2 * np.pi * HZ * np.sin(angle)
    assert "vibrates" in undersampling_note(run.model, t, q, v)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["driven-link", "puma-560", "telescope"])
def test_slow_motions_keep_500_samples_and_nothing_is_said(name: str) -> None:
    run = flexarm.simulate(flexarm.example_arm(name), t_end=1.0)
    assert (len(run.t), run.missed) == (DEFAULT_INTERVALS + 1, "")


@pytest.mark.parametrize("method", ["etd4", "dop853", "rk4"])
def test_every_method_keeps_enough(method: str) -> None:
    arm, t_end = loads(LET_GO.replace("MODES", "2")), 40 / HZ
    run = flexarm.simulate(arm, t_end=t_end, method=method)
    truth = flexarm.simulate(arm, t_end=t_end, dt=t_end / 20_000, method=method)
    assert off_lines(run, truth)[0] <= 1.1 * LINE_ERROR


@pytest.mark.parametrize("per_period", [6, 8, 12])
def test_a_curve_with_the_rates_of_samples_has_what_lines_miss(per_period: int) -> None:
    t_end = 20 / HZ
    run, truth = let_go(t_end, 1 / HZ / per_period), let_go(t_end, t_end / 20_000)
    assert off_lines(run, truth).max() > 1.5 * LINE_ERROR
    filled = fill_in(run)
    assert np.isin(run.t, filled.t).all()
    assert off_lines(filled, truth).max() < 1.2 * LINE_ERROR
    apart = np.interp(truth.t, filled.t, filled.tip[:, 1]) - truth.tip[:, 1]
    assert np.abs(apart).max() < 0.015 * np.ptp(truth.tip[:, 1])
    kept = np.searchsorted(filled.t, run.t)
    for name in ("q", "v", "u", "energy", "work_integrals"):
        assert np.array_equal(getattr(filled, name)[kept], getattr(run, name)), name
    assert np.allclose(filled.tip[kept], run.tip, atol=1e-12)
    assert np.allclose(filled.tip_rotation[kept], run.tip_rotation, atol=1e-12)


def test_a_base_that_tumbles_is_filled_in_across_its_anchors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    truth = flexarm.simulate(loads(TUMBLING), t_end=0.2, dt=1e-5, method="dop853")
    run = pick(truth, np.arange(0, 20_001, 20))
    assert len(np.unique(run.reference_attitudes, axis=0)) > 1
    monkeypatch.setattr(plot, "LINE_ERROR", 1e-9)
    filled = fill_in(run)
    assert len(filled.t) > 6 * len(run.t)
    tips = np.array([np.interp(truth.t, filled.t, x) for x in filled.tip.T]).T
    lines = np.array([np.interp(truth.t, run.t, x) for x in run.tip.T]).T
    assert np.abs(tips - truth.tip).max() < 0.2 * np.abs(lines - truth.tip).max()


def test_curves_are_in_the_order_of_their_names() -> None:
    model = flexarm.build(flexarm.example_arm("chen-two-link"))
    curves = curves_of(model, np.zeros(model.size))
    assert len(curves.names) == len(curves.rows) == len(curves.panel)
    assert {"joint1", "the drive of joint1", "the deflection of link2"} < set(curves.names)


def test_figure_and_page_say_what_is_missed() -> None:
    run = let_go(1000 / HZ, 1.7 / HZ)
    assert "vibrates" in run.missed
    (said,) = [text for text in plot_run(run).texts if "vibrates" in text.get_text()]
    assert " ".join(said.get_text().split()) == run.missed
    assert run.missed in run_data([run])
    smooth = let_go(10 / HZ)
    assert not any("vibrates" in text.get_text() for text in plot_run(smooth).texts)
    assert '"warning": ""' in run_data([smooth]) or '"warning":""' in run_data([smooth])


def test_a_page_that_leaves_samples_out_says_what_that_hides() -> None:
    count = 3 * PAGE_SAMPLES
    run = let_go(count / 24 / HZ, 1 / HZ / 24)
    assert (len(run.t), run.missed) == (count + 1, "")
    frames, missed = page_samples(run)
    assert missed == ""  # 6 samples per period are left
    assert PAGE_SAMPLES < len(frames.t) <= 2 * PAGE_SAMPLES
    long = let_go(count / 8 / HZ, 1 / HZ / 8)
    assert long.missed == ""
    assert "This page shows one of 4 samples" in page_samples(long)[1]
