"""Arms in other programs move as they do here: C, units of FMI, CasADi, MATLAB."""

import ctypes
import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import casadi as ca
import numpy as np
import pytest
from scipy.io import loadmat

import flexarm
from flexarm.cli import main
from flexarm.engine import functions
from flexarm.engine.cache import Cache
from flexarm.engine.emit.llvm import Dialect, emit_llvm
from flexarm.errors import FlexarmError, ModelError
from flexarm.exports.fmu import description_3, variables, write_fmu
from flexarm.exports.plant import Plant, plant
from flexarm.runs.run import Run
from flexarm.spatial import Array
from tests.exports.loaded import STRICT, Unit, built, compiler, every_kind, quickly, table

__all__ = ["quickly"]
END = 0.5


@pytest.fixture(scope="module")
def made() -> Plant:
    return plant(every_kind())


@pytest.fixture(scope="module")
def program(made: Plant, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(made, tmp_path_factory.mktemp("c"))


@pytest.fixture(scope="module")
def units(made: Plant, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Write units, each once."""

    @cache
    def written(fmi: str) -> Path:
        compiler()
        path = tmp_path_factory.mktemp("unit") / "arm.fmu"
        assert "compiled by" in write_fmu(made, path, fmi=fmi)
        return path

    return written


@pytest.fixture(scope="module")
def closely() -> Run:
    arm = every_kind()
    return flexarm.simulate(arm, t_end=END, dt=END / 100, method="dop853", rtol=1e-11)


def states(made: Plant, run: Run) -> Array:
    open_ = list(made.open)
    return np.hstack([run.q[:, open_], run.v[:, open_]])


def close(found: Array, wanted: Array, share: float) -> None:
    assert (np.abs(found - wanted).max(axis=0) <= share * np.abs(wanted).max(axis=0)).all()


def test_exported_c_steps_as_simulate_does(made: Plant, program: Path) -> None:
    run = flexarm.simulate(every_kind(), t_end=END, dt=END / 100, method="rk4", step=5e-4)
    found = table(program, str(END), "5e-4")
    np.testing.assert_allclose(found[:, 0], run.t, rtol=1e-14)
    close(found[:, 1 : 1 + 2 * len(made.open)], states(made, run), 1e-12)


def test_exported_c_chooses_steps_within_its_tolerance(
    made: Plant, program: Path, closely: Run
) -> None:
    close(table(program, str(END))[:, 1 : 1 + 2 * len(made.open)], states(made, closely), 1e-9)


def test_exported_equations_are_those_that_run_here_without_fused_operations(
    made: Plant, program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unfused = partial(emit_llvm, dialect=Dialect(fused=False))
    monkeypatch.setattr(functions, "emit_llvm", unfused)
    library = ctypes.CDLL(str(program.with_name("arm.so")))
    random = np.random.default_rng(0)
    size, inputs = len(made.start), len(made.inputs)
    for function, widths in (
        (made.rates(), [1, 1, size, inputs, 0]),
        (made.outputs(), [1, 1, size, 0]),
        (made.tangent(), [1, 1, size, inputs, 0, size, inputs]),
    ):
        values = [random.normal(size=width) * 0.3 for width in widths]
        here = functions.compile_function(function, level="quick", cache=Cache(tmp_path)).call(
            *values
        )
        there = [np.full(each.shape, np.nan) for each in here]
        work = np.zeros(100_000)
        arrays = [*values, *there, work]
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
        library[f"flexarm_{function.name()}"](*pointers)
        for mine, theirs in zip(here, there, strict=True):
            np.testing.assert_array_equal(theirs, mine)  # to the last bit


@pytest.mark.few(1)
@pytest.mark.parametrize("fmi", ["2.0", "3.0"])
def test_a_unit_of_fmi_runs_as_simulate_does(
    made: Plant, units: Callable[[str], Path], closely: Run, tmp_path: Path, fmi: str
) -> None:
    path = units(fmi)
    described = ET.fromstring(zipfile.ZipFile(path).read("modelDescription.xml"))
    token = described.get("guid") or described.get("instantiationToken") or ""
    names = {each.get("name"): int(each.get("valueReference", 0)) for each in described.iter()
             if each.get("valueReference") and each.get("name")}  # fmt: skip
    unit = Unit(path, tmp_path, token)
    unit.begin(1e-9)
    wanted = [names[name] for name, _ in made.states[: 2 * len(made.open)]]
    tip = [names[f"tip.{axis}"] for axis in "xyz"]
    found, seen = [unit.get(wanted)], [unit.get(tip)]
    for k in range(100):
        unit.step(k * END / 100, END / 100)
        found.append(unit.get(wanted))
        seen.append(unit.get(tip))
    close(np.array(found), states(made, closely), 1e-9)
    np.testing.assert_allclose(np.array(seen), closely.tip, atol=1e-9)
    rates = [names[f"der({name})"] for name, _ in made.states]
    x, u = unit.get([names[name] for name, _ in made.states]), np.zeros(len(made.inputs))
    step, function = 1e-6, made.rates()
    known = names["elbow"]
    unit_state = np.eye(len(x))[known - 1]
    ahead = [np.array(function(END, 0.35, x + s * step * unit_state, u, [])[0]).ravel()
             for s in (1, -1)]  # fmt: skip
    np.testing.assert_allclose(
        unit.change(rates, known), (ahead[0] - ahead[1]) / (2 * step),
        atol=1e-6 * np.abs(unit.change(rates, known)).max(),
    )  # fmt: skip
    with pytest.raises(AssertionError):
        Unit(path, tmp_path / "another", "another").begin(1e-9)


@pytest.mark.few(1)
@pytest.mark.parametrize("fmi", ["2.0", "3.0"])
def test_a_unit_runs_in_the_importer_of_casadi(
    made: Plant, units: Callable[[str], Path], tmp_path: Path, fmi: str
) -> None:
    zipfile.ZipFile(units(fmi)).extractall(tmp_path / "unit")
    described = ca.DaeBuilder("arm", str(tmp_path / "unit"))
    rate = described.create("rate", ["t", "x", "u"], ["ode"])
    names = [name for name, _ in made.states]
    order, u, h = [names.index(name) for name in described.x()], np.zeros(2), 5e-4
    x = made.start[order]
    for k in range(100):  # the classical method, in equal steps
        k1 = rate(k * h, x, u)
        k2 = rate(k * h + h / 2, x + h / 2 * k1, u)
        k3 = rate(k * h + h / 2, x + h / 2 * k2, u)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + rate(k * h + h, x + h * k3, u))
    run = flexarm.simulate(every_kind(), t_end=100 * h, dt=100 * h, method="rk4", step=h)
    found = np.array(x).ravel()[np.argsort(order)][: 2 * len(made.open)]
    close(found[None], states(made, run)[-1:], 1e-12)
    changes = described.create("changes", ["t", "x", "u"], ["jac_ode_x"])(0, x, u).full()
    t, since, symbols, given, d = made.rates().sx_in()
    rates = made.rates().call([t, since, symbols, given, d], True, False)[0]
    exact = ca.Function("exact", [symbols], [ca.substitute(
        ca.jacobian(rates, symbols), ca.vertcat(t, since, given), ca.DM.zeros(4)
    )])  # fmt: skip
    wanted = exact(np.array(x).ravel()[np.argsort(order)]).full()[np.ix_(order, order)]
    np.testing.assert_allclose(changes, wanted, rtol=0, atol=1e-12 * np.abs(wanted).max())


def test_without_a_compiler_a_unit_has_its_sources(
    made: Plant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    said = write_fmu(made, tmp_path / "arm.fmu", fmi="3.0")
    assert "no C compiler is here: sources only" in said
    listed = zipfile.ZipFile(tmp_path / "arm.fmu").namelist()
    assert not any(name.startswith("binaries") for name in listed)
    assert {"sources/fmi3.c", "sources/buildDescription.xml"} <= set(listed)
    with pytest.raises(FlexarmError, match=r"fmi: must be 2\.0 or 3\.0, got '1'"):
        write_fmu(made, tmp_path / "other.fmu", fmi="1")


def test_a_unit_is_compiled_by_the_next_compiler_where_one_is_broken(
    made: Plant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts = {"cc": "echo no tools >&2\nexit 1", "gcc": "exit 0", "clang": 'printf x > "$7"'}
    for name, script in scripts.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert write_fmu(made, tmp_path / "arm.fmu").endswith(f"compiled by {tmp_path / 'clang'}")
    (tmp_path / "clang").write_bytes(b"no program")
    said = write_fmu(made, tmp_path / "sources.fmu")
    assert f"no C compiler works here ({tmp_path / 'cc'}: no tools; " in said
    assert ": sources only; install one" in said
    listed = zipfile.ZipFile(tmp_path / "sources.fmu").namelist()
    assert not any(name.startswith("binaries") for name in listed)


def test_names_of_a_unit_differ_whatever_joints_are_called(made: Plant) -> None:
    arm = flexarm.change_arm(
        every_kind(), {"links.2.joint.name": "indicator1", "links.3.joint.name": "time"}
    )
    found = variables(plant(arm))
    names = [each.name for each in found]
    assert len(set(names)) == len(names)
    wanted = {"time", "time.rate", "indicator1", "der(indicator1)", "indicator1_", "indicator2"}
    assert wanted < set(names)
    described = description_3(made, found, "token", [])
    indicators = [each.get("valueReference") for each in described.iter("EventIndicator")]
    assert indicators == [str(k) for k in range(len(names) - len(made.bounds), len(names))]


def test_the_command_writes_casadi_and_matlab(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    casadi, matlab = tmp_path / "arm.casadi", tmp_path / "arm.mat"
    arm = "count-2-2-2"
    given = ["export", arm, "--casadi", str(casadi), "--matlab", str(matlab), "--json"]
    assert main(given) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["inputs"] == ["joint1.effort", "joint2.effort"]
    function = ca.Function.load(str(casadi))
    equation = flexarm.formulation("composite", flexarm.build(flexarm.example_arm(arm)))
    x, u = np.random.default_rng(1).normal(size=12) * 0.05, np.array([0.3, -0.2])
    rate, y = (np.array(each).ravel() for each in function(0.0, x, u))
    np.testing.assert_allclose(rate[6:], equation.forward_dynamics(x[:6], x[6:], u), rtol=1e-10)
    np.testing.assert_allclose(y[-3:], equation.tip_pose(x[:6])[1], rtol=1e-12)
    linear = flexarm.linearise(flexarm.example_arm(arm))
    np.testing.assert_array_equal(loadmat(matlab)["A"], linear.A)
    assert main(["export", arm]) == 2
    assert main(["export", arm, "--casadi", str(casadi)]) == 1
    capsys.readouterr()
    same = str(tmp_path / "sub" / ".." / "arm.casadi")
    for other in ("--fmu", "--c"):
        assert main(["export", arm, "--casadi", str(casadi), other, same, "--force"]) == 2
        assert "two outputs have this path" in capsys.readouterr().err


def test_a_folder_for_c_that_cannot_be_written_to_is_told_before_the_arm_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    (tmp_path / "equations.c").write_text("mine", encoding="utf-8")
    for folder, said in ((tmp_path / "file", "the folder cannot be made"),
                         (tmp_path, "the file exists already")):  # fmt: skip
        assert main(["export", "no-such-arm", "--c", str(folder)]) == 1
        assert said in capsys.readouterr().err
    assert main(["export", "no-such-arm", "--c", str(tmp_path / "new")]) == 3
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("change", "told"),
    [({"events": [{"name": "softer", "at": 0.1, "servo": {"elbow": {"stiffness": 3}}}]},
      r"an event that does more than brake, release or end \(softer\)"),
     ({"bodies": [{"name": "stone", "body": {"mass": 1}, "position": [1, 0, 0]}]},
      r"a body that drifts \(stone\)"),
     ({}, "only prescribed joints, which leaves no state. Change that")],
)  # fmt: skip
def test_what_another_program_cannot_do_is_refused(change: dict[str, Any], told: str) -> None:
    given = every_kind()
    given = flexarm.change_arm(given, change) if change else given.model_copy(
        update={"links": given.links[:1]}
    )  # fmt: skip
    with pytest.raises(ModelError, match=told):
        plant(given)


@pytest.mark.parametrize(
    ("name", "word"),
    [("Double", "double_arm"), ("2 links", "arm_2_links"), ("é", "arm"), ("unit", "unit_arm"),
     ("a" * 39 + " b", "a" * 39)],
)  # fmt: skip
def test_any_name_of_an_arm_is_a_word_of_c(made: Plant, name: str, word: str) -> None:
    model = replace(made.model, arm=made.model.arm.model_copy(update={"name": name}))
    formulation = replace(made.task.equation.formulation, model=model)
    equation = replace(made.task.equation, formulation=formulation)
    assert replace(made, task=replace(made.task, equation=equation)).name == word


@pytest.mark.campaign
@pytest.mark.parametrize("target", ["aarch64-linux-gnu", "x86_64-windows-gnu", "aarch64-macos"])
def test_other_machines_compile_the_exported_c(program: Path, target: str) -> None:
    pytest.importorskip("ziglang")
    folder = program.parent
    for source in folder.glob("*.c"):
        command = [sys.executable, "-m", "ziglang", "cc", "-target", target, *STRICT]
        subprocess.run([*command, "-c", str(source), "-o", str(folder / "o")], check=True)
