"""Fits to synthetic measurements: the truth, intervals that hold it, and what cannot be told."""

import math
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flexarm
from flexarm.errors import FlexarmError, LongRun
from flexarm.fitting.fit import Estimate, Fit
from flexarm.fitting.identify import _telling, _warn_of_many_shapes
from flexarm.fitting.problem import BEGINS, Begins, FitProblem, pieces
from flexarm.fitting.recording import Sensor, read_recording
from flexarm.fitting.statistics import combinations, covariance
from flexarm.io.model_file import read_value
from tests.fitting.pendulum import NOISE, OFFSET, TRUTH, noisy


@pytest.fixture(scope="module")
def fitted(file: Path, exact: dict[str, Any]) -> Callable[..., Fit]:
    arm = flexarm.load(file)

    def fit(seed: int, *, more: tuple[str, ...] = (), **options: Any) -> Fit:
        sensor = Sensor("shoulder", fit=("offset",), noise=options.pop("noise", None))
        return flexarm.identify(
            arm, noisy(exact, seed), fit=[*TRUTH, *more], inputs={"shoulder": "torque"},
            outputs={"angle": sensor}, step=0.004, **options,
        )  # fmt: skip

    return fit


@pytest.fixture(scope="module")
def fit(fitted: Callable[..., Fit]) -> Fit:
    return fitted(0)


def test_the_fit_finds_what_made_the_data(fit: Fit) -> None:
    truth = TRUTH | {"angle: offset": OFFSET}
    assert fit.converged
    assert [each.name for each in fit.estimates] == list(truth)
    for each in fit.estimates:
        assert abs(each.value - truth[each.name]) < 4 * each.error
        assert each.error < 0.05 * truth[each.name]
    assert fit.noise["angle"] == pytest.approx(NOISE, rel=0.15)
    assert not fit.correlated
    assert not fit.unclear


def test_the_fitted_arm_says_where_its_numbers_come_from(fit: Fit, tmp_path: Path) -> None:
    fit.save(tmp_path / "fitted.yaml")
    arm = flexarm.load(tmp_path / "fitted.yaml")
    assert read_value(arm, "links.1.body.mass") == fit.values["links.1.body.mass"]
    assert "Fitted by flexarm" in arm.notes
    assert "links.1.body.mass" in arm.notes


def test_numbers_that_act_alike_are_named(fitted: Callable[..., Fit]) -> None:
    fit = fitted(0, more=("links.1.joint.spring.damping",))
    assert len(fit.unclear) == 1
    assert "friction.viscous" in fit.unclear[0]
    assert "spring.damping" in fit.unclear[0]


def test_a_search_says_how_far_from_the_minimum_it_ended(
    file: Path, exact: dict[str, Any], fit: Fit
) -> None:
    lines: list[str] = []

    def again(arm: flexarm.Arm, offset: float) -> Fit:
        return flexarm.identify(
            arm, noisy(exact, 0), fit=list(TRUTH), inputs={"shoulder": "torque"}, step=0.004,
            outputs={"angle": Sensor("shoulder", fit=("offset",), offset=offset, noise=NOISE)},
            most_evaluations=1, progress=lines.append,
        )  # fmt: skip

    far = again(flexarm.load(file), 0.0)
    assert lines[0] == "making the equations ready"
    assert re.fullmatch(
        r"whole runs, search 1: run 1, residual [\d.e+]+ % of the noise", lines[1]
    )  # which was given
    assert not far.converged
    assert "stopped after 1 runs" in far.message
    assert "standard errors away" in str(far)
    # One that begins where the other ended has arrived, however soon it is stopped.
    near = again(fit.arm, fit.values["angle: offset"])
    assert near.converged
    assert "all numbers are where the errors are least" in near.message


@pytest.mark.campaign
def test_steps_err_by_less_than_the_noise(file: Path, exact: dict[str, Any]) -> None:
    def fitted(noise: float) -> Fit:
        return flexarm.identify(
            flexarm.load(file), exact, fit=list(TRUTH), inputs={"shoulder": "torque"}, step=0.02,
            outputs={"angle": Sensor("shoulder", fit=("offset",), noise=noise)},
        )  # fmt: skip

    rough, fine = fitted(1e-2), fitted(1e-7)
    assert rough.problem.runs[0].runs.finer == 1
    assert fine.problem.runs[0].runs.finer > 1
    mass = "links.1.body.mass"
    assert abs(fine.values[mass] / TRUTH[mass] - 1) < 0.1 * abs(rough.values[mass] / 1.3 - 1)


def test_a_search_turns_back_where_the_model_cannot_be_run(
    file: Path, exact: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    mass = "links.1.body.mass"  # of 4 kg, from where straight lines lead to less than nothing
    fit = flexarm.identify(
        flexarm.change_arm(flexarm.load(file), TRUTH | {mass: 4.0}), exact, fit={mass: (-9.0, 9.0)},
        inputs={"shoulder": "torque"}, step=0.004,
        outputs={"angle": Sensor("shoulder", offset=OFFSET, noise=1e-5)},
    )  # fmt: skip
    assert fit.values[mass] == pytest.approx(TRUTH[mass], rel=1e-4)
    assert np.isinf(fit.problem.residuals(np.array([-1.0]), np.ones(1))).all()
    astray = [replace(run, start=np.full(1, math.nan)) for run in fit.problem.runs]
    monkeypatch.setattr(
        FitProblem, "finer", lambda self, times: replace(self, runs=astray, _last={})
    )
    with pytest.raises(
        FlexarmError, match=r"step: .* the fitted arm cannot be run with half of it"
    ):
        fit.problem.step_errors(np.array([TRUTH[mass]]), np.ones(1))


def test_derivatives_without_end_are_refused(fit: Fit, monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.array([each.value for each in fit.estimates])
    (driven,) = fit.problem.at(values)
    monkeypatch.setattr(driven, "slopes", np.full((201, 1, 3), math.nan))
    with pytest.raises(FlexarmError, match=r"step: the derivatives of a run overflow"):
        fit.problem.jacobian(values, np.ones(1))


def test_combinations_count_correlation() -> None:
    rng = np.random.default_rng(6)
    walk = np.convolve(rng.normal(size=4009), np.ones(10), "valid") / np.sqrt(10)
    jacobian = np.column_stack([np.ones(4000), 2 * rng.normal(size=4000)])
    plain, counted = (
        combinations(("level", "other"), np.ones(2), jacobian, walk, [4000], white=white)
        for white in (True, False)
    )
    assert plain[0].error == pytest.approx(1 / np.sqrt(4000), rel=0.05)
    # What is constant sees ten times the variance, what changes with every sample does not.
    assert counted[0].shares["level"] == pytest.approx(1.0, abs=0.1)
    assert 5 < (counted[0].error / plain[0].error) ** 2 < 15
    assert counted[1].error == pytest.approx(plain[1].error, rel=0.2)


@pytest.mark.campaign
def test_outliers_count_less_in_a_robust_fit(file: Path, exact: dict[str, Any]) -> None:
    data = noisy(exact, 3)
    data["angle_deg"] = data["angle_deg"].copy()
    data["angle_deg"][10::20] += 60.0
    found = {
        loss: flexarm.identify(flexarm.load(file), data, fit=list(TRUTH), step=0.004,
                               inputs={"shoulder": "torque"}, loss=loss,
                               outputs={"angle": Sensor("shoulder", fit=("offset",))})
        for loss in ("linear", "soft_l1")
    }  # fmt: skip
    off = {loss: abs(fit.values["angle: offset"] - OFFSET) for loss, fit in found.items()}
    assert off["soft_l1"] < 0.005 < 0.03 < off["linear"]


def test_another_run_judges_the_model(fit: Fit, exact: dict[str, Any]) -> None:
    (judged,) = fit.predict(noisy(exact, 9))
    assert judged.rms == pytest.approx(NOISE, rel=0.15)
    assert judged.white


def test_more_excitation_is_suggested(fit: Fit) -> None:
    best, *rest = fit.excitation()
    assert best.gain > 1
    assert all(best.gain >= each.gain for each in rest)
    assert best.errors["links.1.body.mass"] < fit.estimates[0].error


@pytest.mark.parametrize("white", [True, False])
def test_errors_do_not_depend_on_the_units_of_numbers(white: bool) -> None:
    rng = np.random.default_rng(7)
    jacobian, residuals = rng.normal(size=(500, 3)), rng.normal(size=500)
    sizes = np.array([1e11, 1.0, 1e-6])
    plain = covariance(jacobian, residuals, [500], white=white)
    other = covariance(jacobian / sizes, residuals, [500], white=white)
    assert np.diag(other) / sizes**2 == pytest.approx(np.diag(plain), rel=1e-9)


def test_progress_names_what_residuals_are_relative_to(file: Path, exact: dict[str, Any]) -> None:
    lines: list[str] = []
    flexarm.identify(
        flexarm.load(file), noisy(exact, 0), fit=["links.1.body.mass"], step=0.004,
        inputs={"shoulder": "torque"}, outputs={"angle": "shoulder"}, progress=lines.append,
    )  # fmt: skip
    assert lines[1].endswith(" % of the readings' standard deviation")
    assert lines[-1].endswith(" % of the noise")  # which the search before has estimated


@pytest.mark.campaign
@pytest.mark.few(1)
@pytest.mark.parametrize("more", [(), ("links.1.body.mass",)])
def test_a_number_without_an_effect_is_unknown(
    file: Path, exact: dict[str, Any], more: tuple[str, ...]
) -> None:
    fit = flexarm.identify(
        flexarm.load(file), noisy(exact, 0), fit=["links.1.length", *more], step=0.004,
        inputs={"shoulder": "torque"}, outputs={"angle": Sensor("shoulder", offset=OFFSET)},
    )  # fmt: skip
    length, *others = fit.estimates
    assert (length.value, length.error, length.interval) == (0.5, math.inf, "unknown")
    assert all(math.isfinite(each.error) for each in others)
    assert "These numbers have no effect on the readings: links.1.length." in str(fit)
    assert any("links.1.length: known not at all" in each for each in fit.unclear)
    assert fit.excitation()


@pytest.mark.parametrize(
    "readings", [np.linspace(1e299, 1e300, 201), 1e300 * (-1.0) ** np.arange(201)]
)
@pytest.mark.filterwarnings("error")
def test_readings_whose_squares_overflow_are_refused(
    file: Path, exact: dict[str, Any], readings: Any
) -> None:
    with pytest.raises(FlexarmError, match=r"data\[0\]: has readings up to 1e\+300.*overflow"):
        flexarm.identify(
            flexarm.load(file), exact | {"angle_deg": np.degrees(readings)}, step=0.004,
            fit=["links.1.body.mass"], inputs={"shoulder": "torque"},
            outputs={"angle": "shoulder"},
        )  # fmt: skip


def test_a_fitted_value_is_printed_within_its_interval() -> None:
    near = Estimate("mass", 1.0, 1.2999949, 1e-7, 1.2999947, 1.2999951)
    low, high = near.interval.split(" to ")
    assert float(low) <= float(near.fitted) <= float(high)
    assert near.fitted != near.interval.split(" to ")[0]
    assert Estimate("gap", 0.0, 0.0, 1.0, -2.0, 2.0).fitted == "0"


def test_an_offset_is_added_to_a_profile_of_the_model_file(file: Path) -> None:
    """Driven by a sine of the file and a constant torque that the model does not know of."""
    wave = {"kind": "sine", "amplitude": 2.0, "frequency": 3.0}
    arm = flexarm.change_arm(flexarm.load(file), {"links.1.joint.input": wave})
    true = flexarm.change_arm(arm, {"links.1.joint.input": {**wave, "offset": 0.4}})
    run = flexarm.simulate(true, t_end=1.0, dt=0.05, rtol=1e-9)
    fit = flexarm.identify(
        arm, {"time": run.t, "angle": run.q[:, 0]}, fit=[], input_offsets=["shoulder"],
        outputs={"angle": Sensor("shoulder", noise=1e-7)},
    )  # fmt: skip
    assert fit.values["shoulder: input offset"] == pytest.approx(0.4, rel=1e-6)


def test_what_the_data_do_not_show_is_unknown_and_not_exact() -> None:
    jacobian = np.ones((50, 2))  # both numbers do the same
    found = covariance(jacobian, np.zeros(50), [50], white=True)
    assert np.diag(found).min() > 1e20


def test_correlated_errors_widen_intervals() -> None:
    rng = np.random.default_rng(5)
    count = 4000
    jacobian = np.ones((count, 1))
    walk = np.convolve(rng.normal(size=count + 9), np.ones(10), "valid") / np.sqrt(10)
    assert covariance(jacobian, walk, [count], white=True)[0, 0] == pytest.approx(1 / count)
    # The mean of sums over ten has ten times the variance.
    counted = covariance(jacobian, walk, [count], white=False)[0, 0] * count
    assert 5 < counted < 15


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"time_s": np.r_[0.0, 0.0, np.arange(2, 201)]}, "times must increase"),
        ({"angle_deg": np.r_[np.nan, np.zeros(200)]}, "row 1, column 'angle_deg'"),
        ({"angle_deg": np.zeros(7)}, "has 7 samples"),
        ({"time_s": None}, "must have a column called time"),
    ],
)
def test_data_that_are_no_run_are_refused(
    exact: dict[str, Any], change: dict[str, Any], message: str
) -> None:
    columns = {k: v for k, v in (exact | change).items() if v is not None}
    with pytest.raises(FlexarmError, match=message):
        read_recording(columns)


def test_files_are_read_alike_and_say_line_and_column(
    exact: dict[str, Any], tmp_path: Path
) -> None:
    np.savez(tmp_path / "run.npz", **exact)
    np.testing.assert_allclose(
        read_recording(tmp_path / "run.npz").column("angle", "rad"), np.radians(exact["angle_deg"])
    )
    text = tmp_path / "run.csv"
    text.write_text("time [s],angle [deg]\n" + "\n".join(f"{k},0" for k in range(20)) + "\n20,x\n")
    with pytest.raises(FlexarmError, match=r"run\.csv: line 22, column 'angle \[deg\]'"):
        read_recording(text)
    with pytest.raises(FlexarmError, match="a force"):
        read_recording(exact).column("angle", "N")
    with pytest.raises(FlexarmError, match=r"no column is called 'angel'.*angle_deg"):
        read_recording(exact).column("angel", "rad")


@pytest.fixture(scope="module")
def response(file: Path) -> dict[str, Any]:
    """Frequency response of the true arm by its equation of motion, not by flexarm's."""
    f = np.geomspace(0.1, 10, 40)
    s = 2j * np.pi * f
    truth = TRUTH["links.1.body.mass"]
    inertia = 0.02 + truth * 0.25**2
    damping = TRUTH["links.1.joint.friction.viscous"] + 0.2
    plain = 1 / (inertia * s**2 + damping * s + 2.0)  # gravity has no slope, the bar lies level
    read = plain * 1.5 * np.exp(-s * 0.01) / (1 + s * 0.03)
    return {"frequency_Hz": f, "response": read}


def noisy_response(response: dict[str, Any], seed: int, *, polar: bool = False) -> dict[str, Any]:
    noise = np.random.default_rng(seed).normal(size=(2, 40)) * 0.01 / np.sqrt(2)
    read = response["response"] * (1 + noise[0] + 1j * noise[1])
    columns = {"angle/torque real": read.real, "angle/torque imaginary": read.imag}
    if polar:
        angle = np.degrees(np.unwrap(np.angle(read)))
        columns = {"angle/torque magnitude": np.abs(read), "angle/torque phase [deg]": angle}
    return {"frequency_Hz": response["frequency_Hz"], **columns}


def test_a_horizon_is_for_time_histories(file: Path, response: dict[str, Any]) -> None:
    with pytest.raises(FlexarmError, match="horizon: is for time histories"):
        flexarm.identify(
            flexarm.load(file), noisy_response(response, 1, polar=True), fit=list(TRUTH),
            inputs={"shoulder": "torque"}, outputs={"angle": Sensor("shoulder")}, horizon=1.0,
        )  # fmt: skip


@pytest.mark.campaign
def test_a_frequency_response_tells_numbers_and_how_its_sensor_lags(
    file: Path, response: dict[str, Any]
) -> None:
    fit = flexarm.identify(
        flexarm.load(file), noisy_response(response, 1, polar=True), fit=list(TRUTH),
        inputs={"shoulder": "torque"},
        outputs={"angle": Sensor("shoulder", fit=("gain", "delay", "lag"))},
    )  # fmt: skip
    truth = TRUTH | {"angle: gain": 1.5, "angle: delay": 0.01, "angle: lag": 0.03}
    assert fit.converged
    assert not fit.unclear
    for each in fit.estimates:
        assert abs(each.value - truth[each.name]) < 4 * each.error, each.name
        assert each.error < 0.1 * truth[each.name], each.name
    assert fit.noise["angle response"] == pytest.approx(0.01 / np.sqrt(2), rel=0.3)
    (judged,) = fit.predict(noisy_response(response, 2))
    assert judged.error < 0.02
    assert len(fit.plot().axes) == 1


def test_responses_and_runs_are_fitted_together(
    file: Path, exact: dict[str, Any], response: dict[str, Any]
) -> None:
    fit = flexarm.identify(
        flexarm.load(file), [noisy(exact, 0), noisy_response(response, 1)], fit=list(TRUTH),
        inputs={"shoulder": "torque"}, step=0.004, most_evaluations=1,
        outputs={"angle": Sensor("shoulder", fit=("offset",))},
    )  # fmt: skip
    assert list(fit.noise) == ["angle", "angle response"]
    assert fit.noise["angle response"] > 0.1  # its sensor had a gain, which this one has not


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"frequency_Hz": np.arange(40.0)}, "frequencies must be > 0"),
        ({"frequency_Hz": np.arange(40.0, 0.0, -1.0)}, "frequencies must increase"),
        ({"angle/torque deviation": np.zeros(40)}, "deviation': all numbers must be > 0"),
        ({"angle/torque imaginary": None}, "no column is called 'angle/torque imaginary'"),
        ({"angle/torque real": None}, "columns 'angle/torque real' and '... imaginary'"),
    ],
)
def test_responses_that_are_none_are_refused(
    file: Path, response: dict[str, Any], change: dict[str, Any], message: str
) -> None:
    columns = {k: v for k, v in (noisy_response(response, 1) | change).items() if v is not None}
    with pytest.raises(FlexarmError, match=message):
        flexarm.identify(flexarm.load(file), columns, fit=list(TRUTH),
                         inputs={"shoulder": "torque"}, outputs={"angle": "shoulder"})  # fmt: skip


@pytest.mark.campaign
def test_short_pieces_lead_a_search_out_of_the_wrong_valley(file: Path) -> None:
    """A vibration of 20 periods with a stiffness of a third: over all of them, one valley each."""
    light = {"links.1.joint.friction.viscous": 0.01, "links.1.joint.spring.damping": 0.01}
    arm = flexarm.change_arm(flexarm.load(file), {**light, "links.1.joint.spring.stiffness": 20.0})
    truth = flexarm.change_arm(arm, {"links.1.joint.spring.stiffness": 60.0})
    run = flexarm.simulate(truth, t_end=4.0, dt=0.02, method="rk4", step=0.004)
    angle = run.q[:, 0] + 1e-4 * np.random.default_rng(4).normal(size=201)
    found = {
        horizon: flexarm.identify(
            arm, {"time": run.t, "angle": angle}, fit=["links.1.joint.spring.stiffness"],
            outputs={"angle": "shoulder"}, horizon=horizon, step=0.004,
        ).estimates[0]
        for horizon in (None, "0.4 s")
    }  # fmt: skip
    assert abs(found[None].value - 60.0) > 5.0
    assert abs(found["0.4 s"].value - 60.0) < 4 * found["0.4 s"].error < 1.0


def test_pieces_begin_where_the_arm_was(exact: dict[str, Any], fit: Fit) -> None:
    angle = np.radians(exact["angle_deg"])
    run = replace(fit.problem.runs[0], outputs=angle[:, None])
    cut = pieces(run, {"angle": Sensor("shoulder", offset=OFFSET)}, 0.5)
    assert len(cut) == 8
    assert sum(len(each.outputs) for each in cut) == len(angle) + 7  # ends are shared
    for each, at in zip(cut[1:], range(25, 200, 25), strict=True):
        assert each.start is not None
        assert each.rates is not None
        assert each.start[0] == pytest.approx(angle[at] - OFFSET, abs=5e-3)
        assert each.rates[0] == pytest.approx(np.gradient(angle, 0.02)[at], abs=0.1)


def test_pieces_are_driven_as_at_their_time(file: Path) -> None:
    """Inputs and targets of the model file are functions of the time of the whole recording."""
    wave = {"kind": "sine", "amplitude": 2.0, "frequency": 0.7}
    servo = {"stiffness": 5.0, "damping": 0.5, "target": {"kind": "sine", "amplitude": 0.5,
                                                          "frequency": 0.4}}  # fmt: skip
    arm = flexarm.change_arm(
        flexarm.load(file), {"links.1.joint.input": wave, "links.1.joint.servo": servo}
    )
    run = flexarm.simulate(arm, t_end=2.0, dt=0.02, rtol=1e-9)
    fit = flexarm.identify(
        arm, {"time": run.t, "angle": run.q[:, 0], "rate": run.v[:, 0]},
        fit=["links.1.body.mass"], most_evaluations=1,
        outputs={"angle": Sensor("shoulder", noise=1e-3),
                 "rate": Sensor("shoulder.rate", noise=1e-2)},
    )  # fmt: skip
    cut = pieces(fit.problem.runs[0], fit.problem.sensors, 0.5)
    assert len(cut) == 4
    short = replace(fit.problem, runs=cut, _last={})
    for each in short.at(np.array([1.0])):
        assert each.readings[:, 0] == pytest.approx(each.run.outputs[:, 0], abs=2e-4)


@pytest.mark.parametrize("horizon", [0.0, 0.01])
def test_horizons_that_are_none_are_refused(fitted: Callable[..., Fit], horizon: object) -> None:
    with pytest.raises(FlexarmError, match=r"horizon"):
        fitted(0, horizon=horizon)


@pytest.mark.filterwarnings("error")
def test_a_model_that_is_far_off_is_told_without_a_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(FitProblem, "search_residuals", lambda *_: np.array([1e200, 1.0]))
    lines: list[str] = []
    told = _telling(FitProblem([], (), {}, ()), lines.append, "whole runs", "the noise")
    told(np.zeros(1), np.ones(1))
    assert lines == ["whole runs: run 1, residual inf % of the noise"]


@pytest.mark.campaign
def test_intervals_hold_the_truth_as_often_as_they_say(fitted: Callable[..., Fit]) -> None:
    truth = TRUTH | {"angle: offset": OFFSET}
    held = [
        each.low <= truth[each.name] <= each.high
        for seed in range(100, 300)
        for each in fitted(seed, noise=NOISE).estimates
    ]
    assert 0.92 <= np.mean(held) <= 0.98


def test_shapes_by_default_are_told_of_before_anything_is_computed() -> None:
    section = {"EIz": 4.0, "mass_per_length": 0.4}
    link = {"joint": {"kind": "revolute"}, "length": 0.5, "section": section}
    arm = flexarm.Arm.model_validate({"flexarm": 1, "name": "plain", "links": [link]})
    with pytest.warns(LongRun, match=r"link1: has default shapes.*bending_y: 1"):
        _warn_of_many_shapes(arm)


def test_a_recording_that_begins_at_rest_under_gravity_is_fitted_from_its_equilibrium() -> None:
    """The arm hangs bent by its weight, which depends on the fitted numbers."""
    arm = flexarm.Arm.model_validate({
        "flexarm": 1, "name": "hanging", "gravity": [0, -9.81, 0], "stiffening": False,
        "start": "equilibrium",
        "links": [{
            "joint": {"kind": "revolute", "spring": {"stiffness": 40.0},
                      "friction": {"viscous": 0.5}},
            "length": 0.8, "section": {"EIz": 20.0, "mass_per_length": 0.5},
            "shapes": {"kind": "loaded", "root": "held", "bending_y": 1, "bending_z": 0,
                       "torsion": 0},
        }],
        "payload": {"mass": 0.4},
    })  # fmt: skip
    truth = {"payload.mass": 0.5, "links.1.section.EIz": 24.0}
    t = np.linspace(0, 1.5, 151)
    torque = np.sin(2 * np.pi * 1.3 * t)
    table = {"kind": "table", "times": t.tolist(), "values": torque.tolist()}
    true_arm = flexarm.change_arm(arm, truth)
    run = flexarm.simulate(true_arm, t_end=1.5, dt=0.01, rtol=1e-7, inputs={"joint1": table})
    assert abs(run.q[0, 0]) > 0.1  # sags
    noise = 1e-4 * np.random.default_rng(3).normal(size=(2, len(t)))
    data = {"time": t, "torque": torque, "angle": run.q[:, 0] + noise[0],
            "tip": run.tip[:, 1] + noise[1]}  # fmt: skip

    def fit(start: Begins, begin: flexarm.Arm) -> Fit:
        return flexarm.identify(
            begin, data, fit=list(truth), inputs={"joint1": "torque"},
            outputs={"angle": "joint1", "tip": "tip.y"}, start=start,
        )  # fmt: skip

    for start in BEGINS:
        result = fit(start, arm)
        assert result.converged
        for each in result.estimates:
            assert each.value == pytest.approx(
                truth[each.name], rel=2e-3 if start == "model" else 2e-2
            ), start
    straight = fit("measured", flexarm.change_arm(arm, {"start": "stated"}))
    assert straight.residuals[1].error > 10 * result.residuals[1].error


MASS, VISCOUS, DAMPING = *TRUTH, "links.1.joint.spring.damping"


def test_a_number_with_a_prior_keeps_it_where_readings_tell_only_a_sum(
    fitted: Callable[..., Fit],
) -> None:
    fit = fitted(0, more=(DAMPING,), priors={DAMPING: 1e-3})
    assert fit.values[DAMPING] == pytest.approx(0.2, abs=3e-3)
    assert fit.values[VISCOUS] == pytest.approx(TRUTH[VISCOUS], abs=0.02)
    free = fitted(0, more=(DAMPING,), priors={DAMPING: None, VISCOUS: None, MASS: None})
    assert free.values[MASS] == pytest.approx(fit.values[MASS], rel=1e-3)  # told by the readings
    with pytest.raises(FlexarmError, match=r"priors: 'payload.mass' is not fitted"):
        fitted(0, priors={"payload.mass": 0.1})


def test_a_fit_at_a_bound_has_not_converged(file: Path, exact: dict[str, Any]) -> None:
    fit = flexarm.identify(
        flexarm.load(file), noisy(exact, 0), fit={MASS: (0.5, 1.2)}, inputs={"shoulder": "torque"},
        outputs={"angle": Sensor("shoulder", offset=OFFSET)}, step=0.004, starts=2,
    )  # fmt: skip
    assert fit.estimates[0].at_bound
    assert not fit.converged
    assert f"{MASS}: ended at a bound" in fit.message
    assert "best of 2 starts, 2 of which ended there" in fit.message


def test_windows_left_out_choose_what_is_fitted(fitted: Callable[..., Fit]) -> None:
    fit = fitted(0, more=(DAMPING,), windows=2)
    readings = fit.problem.runs[0].outputs.std()
    assert fit.predictions["angle"] == pytest.approx(NOISE / readings, rel=0.2)
    assert fit.kept in [(DAMPING,), (VISCOUS,)]
    before = {each.name: each.before for each in fit.estimates}
    assert fit.values[fit.kept[0]] == pytest.approx(before[fit.kept[0]], rel=1e-3)
    assert f"do not tell {fit.kept[0]}" in str(fit)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("gap", r"data\[0\]: row 52: samples are missing between t = 1 s and 1\.62 s"),
        ("constant", r"data\[0\]: column 'angle' is constant, 3 from row 1 on"),
        ("unit", r"column 'angle' varies 6\S+ times as much .* \(row \d+: .*Check the unit"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_faults_of_recordings_are_named_with_their_row(
    file: Path, exact: dict[str, Any], fault: str, said: str
) -> None:
    data = {name: np.array(values) for name, values in exact.items()}
    if fault == "gap":
        data = {name: np.delete(values, slice(51, 81)) for name, values in data.items()}
    elif fault == "constant":
        data["angle_deg"] = np.full(201, np.degrees(3.0))
    else:
        data["angle"] = 1e3 * data.pop("angle_deg")
    with pytest.raises((FlexarmError, UserWarning), match=said):
        flexarm.identify(
            flexarm.load(file), data, fit=[MASS], inputs={"shoulder": "torque"},
            outputs={"angle": "shoulder"}, step=0.004,
        )  # fmt: skip
