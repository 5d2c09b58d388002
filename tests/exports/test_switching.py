"""Arms whose motion jumps run in units of FMI as here: free bases, friction, brakes, contacts."""

import ctypes
import math
import zipfile
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import flexarm
from flexarm.errors import ModelError
from flexarm.exports.fmu import description_2, variables, write_fmu
from flexarm.exports.plant import Plant, plant
from flexarm.io.model_file import loads
from flexarm.runs.run import Run
from tests.exports import importer, switching
from tests.exports.loaded import Unit, built, compiler, every_kind, quickly, table

__all__ = ["quickly"]
END, SAMPLES = 2.0, 100
ARMS = {"tumbler": switching.FREE, "rubs": switching.RUBS, "touches": switching.TOUCHES,
        "peaks": switching.PEAKS, "slides": switching.SLIDES,
        "sampled": switching.SAMPLED}  # fmt: skip
TOGETHER = "name"


@cache
def made(name: str) -> Plant:
    return plant(every_kind() if name == "every kind" else loads(ARMS[name]))


@cache
def closely(name: str) -> Run:
    arm = made(name).model.arm
    return flexarm.simulate(arm, t_end=END, dt=END / SAMPLES, method="dop853", rtol=1e-11)


def at_samples(run: Run) -> list[int]:
    """Find the sample after all that happens at each of the wanted times."""
    wanted = np.arange(SAMPLES + 1) * END / SAMPLES
    return [int(k) - 1 for k in np.searchsorted(run.t, wanted + 1e-9)]


KEPT: dict[str, tuple[Unit, dict[str, int]]] = {}  # units that tests share


def a_unit(name: str, folder: Path, fmi: str) -> tuple[Unit, dict[str, int]]:
    if name in KEPT:
        return KEPT[name]
    compiler()
    path = folder / "arm.fmu"
    write_fmu(made(name), path, fmi=fmi)
    described = ET.fromstring(zipfile.ZipFile(path).read("modelDescription.xml"))
    token = described.get("guid") or described.get("instantiationToken") or ""
    names = {str(each.get("name")): int(each.get("valueReference", 0))
             for each in described.iter() if each.get("valueReference")}  # fmt: skip
    KEPT[name] = (Unit(path, folder, token), names)
    return KEPT[name]


@pytest.mark.few(1)
@pytest.mark.parametrize(("name", "fmi"), [("tumbler", "3.0"), ("rubs", "2.0"), ("touches", "3.0"),
                                            ("sampled", "2.0")])  # fmt: skip
def test_what_jumps_runs_in_a_unit_as_simulate_does(name: str, fmi: str, tmp_path: Path) -> None:
    unit, names = a_unit(name, tmp_path, fmi)
    unit.begin(1e-9)
    run, seen = closely(name), []
    assert run.status == "finished"
    wanted = [*(f"tip.R{i}{j}" for i in "123" for j in "123"), *(f"tip.{k}" for k in "xyz")]
    for k in range(SAMPLES + 1):
        seen.append(unit.get([names[each] for each in wanted]))
        unit.step(k * END / SAMPLES, END / SAMPLES)
    turned, placed = np.split(np.array(seen), [9], axis=1)
    at = at_samples(run)
    np.testing.assert_allclose(turned, run.tip_rotation[at].reshape(-1, 9), rtol=0, atol=1e-9)
    np.testing.assert_allclose(placed, run.tip[at], rtol=0, atol=1e-9)
    if name == "tumbler":  # it has gone over the singularity of angles from one attitude
        assert len(np.unique(run.reference_attitudes[:, 0, 0])) > 2
        base = [names[f"base.R{i}{j}"] for i in "123" for j in "123"]
        matrix = unit.get(base).reshape(3, 3)
        np.testing.assert_allclose(matrix @ matrix.T, np.eye(3), atol=1e-13)
    if name == "rubs":
        told = " ".join(each.what for each in run.event_records)
        assert "holds" in told
        assert "begins to slip" in told
        assert "brake locked" in told


def test_derivatives_of_a_unit_keep_still_what_is_held(tmp_path: Path) -> None:
    unit, names = a_unit("rubs", tmp_path, "2.0")
    unit.begin(1e-9)
    held = 0.43  # while the first joint's friction holds, and the second's brake slips
    unit.step(0.0, held)
    states = [name for name, _ in made("rubs").states]
    rates = [names[f"der({name})"] for name in states]
    assert unit.get([names["swings.rate"], names["der(swings.rate)"]]).tolist() == [0.0, 0.0]
    before, step = unit.get([names["locked"]]), 1e-6
    found = unit.change(rates, names["locked"])
    ahead = []
    for way in (1, -1):
        unit.set([names["locked"]], before + way * step)
        ahead.append(unit.get(rates))
    np.testing.assert_allclose(found, (ahead[0] - ahead[1]) / (2 * step), rtol=0, atol=1e-6)
    assert abs(found[states.index("braked.rate")]) > 1
    assert found[states.index("swings.rate")] == pytest.approx(0, abs=1e-12)


@pytest.mark.campaign
def test_equal_steps_in_c_end_where_something_happens(tmp_path: Path) -> None:
    run = closely("rubs")
    found = table(built(made("rubs"), tmp_path), str(END), "2e-4")
    q = run.q[at_samples(run)]
    assert np.abs(found[:, 1:4] - q).max() < 1e-8


def gone(name: str, folder: Path, *state: float) -> tuple[int, float]:
    """Go on for 1 s in exported C; tell if it has ended before, and when."""
    if not (folder / "arm.so").exists():
        built(made(name), folder)
    library, arm = ctypes.CDLL(str(folder / "arm.so")), np.zeros(10_000)  # t, since, x first
    at, go = ctypes.c_void_p(arm.ctypes.data), getattr(library, f"{name}_dop853")
    getattr(library, f"{name}_start")(at)
    arm[2 : 2 + len(state)] = state
    ended, t = (go(at, ctypes.c_double(1.0), ctypes.c_double(1e-8)), arm[0])
    assert (go(at, ctypes.c_double(1.0), ctypes.c_double(1e-8)), arm[0]) == (ended, t)  # it stays
    return ended, t


def test_a_motion_ends_with_its_table_and_at_bounds_of_what_is_prescribed(tmp_path: Path) -> None:
    assert gone("slides", tmp_path) == (1, 0.4)
    telescope = plant(flexarm.example_arm("telescope"))
    assert all(row @ telescope.start + number > 0 for row, number, _ in telescope.bounds)
    assert telescope.indicators == ["event: link1: its exposed length"] * 2


def test_steps_in_c_end_at_peaks_within_them_and_at_limits(tmp_path: Path) -> None:
    swift = math.sqrt(40 / 2)
    for share in (1e-1, 1e-2, 1e-3, 1e-4, 1e-5):
        ended, t = gone("peaks", tmp_path, -0.3 / (1 - share), 0.0, 0.0, 0.0)
        assert ended == 1, share
        assert t == pytest.approx((math.pi - math.acos(1 - share)) / swift, abs=1e-6)
        assert gone("peaks", tmp_path, -0.3 * (1 - share), 0.0, 0.0, 0.0) == (0, 1.0)
    ended, t = gone("peaks", tmp_path, 0.0, 0.0, 0.0, 1.6)
    assert ended == 1
    assert t == pytest.approx(0.7 / 1.6, abs=1e-13)


def test_a_single_call_in_c_passes_gimbal_lock(tmp_path: Path) -> None:
    built(made("tumbler"), tmp_path)
    library, arm = ctypes.CDLL(str(tmp_path / "arm.so")), np.zeros(10_000)  # t first
    library.tumbler_start(at := ctypes.c_void_p(arm.ctypes.data))
    assert library.tumbler_rk4(at, ctypes.c_double(END), ctypes.c_double(5e-4)) == 0
    names, seen = [name for name, _ in made("tumbler").output_names], np.zeros(100)
    library.tumbler_output(at, ctypes.c_void_p(seen.ctypes.data))
    tip = [seen[names.index(f"tip.{axis}")] for axis in "xyz"]
    np.testing.assert_allclose(tip, closely("tumbler").tip[-1], rtol=0, atol=1e-8)


def test_a_unit_tells_units_of_rates_and_which_states_jump() -> None:
    every = variables(made("every kind"))
    described = description_2(made("every kind"), every, "token", [])
    bases = {each.get("name"): dict(each[0].items()) for each in described.iter("Unit")}
    units = {each.name: each.unit for each in every}
    assert units["elbow.state"] == "N m"
    assert bases[units["der(elbow.state)"]] == {"kg": "1", "m": "2", "s": "-3"}
    assert bases[units["der(wrist.rate)"]] == {"rad": "1", "s": "-2"}
    assert not any(each.jumps for each in every)
    jump = [each.name for each in variables(made("rubs")) if "reinit" in each.numbers]
    assert jump == [name for name, _ in made("rubs").states]


def test_casadi_has_no_place_for_what_jumps() -> None:
    with pytest.raises(ModelError, match="which one smooth CasADi function cannot express"):
        made("rubs").casadi()


@pytest.mark.campaign
@pytest.mark.parametrize("fmi", ["2.0", "3.0"])
@pytest.mark.parametrize("name", ["every kind", "tumbler", "rubs", "touches", "sampled"])
def test_units_pass_the_validation_of_fmpy_and_run_there(
    name: str, fmi: str, tmp_path: Path
) -> None:
    fmpy = pytest.importorskip("fmpy")
    validation = pytest.importorskip("fmpy.validation")
    path = tmp_path / "arm.fmu"
    write_fmu(made(name), path, fmi=fmi)
    assert validation.validate_fmu(str(path)) == []
    folder, run = importer.unpacked(path, tmp_path / "unpacked"), closely(name)
    importer.use_our_solver()
    # The importer solves in model exchange, and locates events: its own errors count.
    for kind, tolerance in (("CoSimulation", 1e-9), ("ModelExchange", 1e-12)):
        given: dict[str, Any] = {
            "fmi_type": kind, "stop_time": END, "relative_tolerance": tolerance
        }  # fmt: skip
        found = fmpy.simulate_fmu(
            str(folder), output_interval=END / SAMPLES, output=["tip.x", "tip.y", "tip.z"], **given
        )
        wanted = np.arange(SAMPLES + 1) * END / SAMPLES
        kept = np.searchsorted(found["time"], wanted + 1e-9) - 1
        place = np.array([found[f"tip.{axis}"][kept] for axis in "xyz"]).T
        np.testing.assert_allclose(place, run.tip[at_samples(run)], rtol=0, atol=1e-9)
