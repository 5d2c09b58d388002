"""Files of a run: the same numbers back, whole files or none, and one clear line if not."""

import csv
import json
import multiprocessing
import os
import re
import shutil
import signal
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import xarray
from pydantic import ValidationError

import flexarm
from flexarm.cli import main
from flexarm.errors import FlexarmError, ModelError
from flexarm.io.model_file import dumps, load
from flexarm.runs import write
from flexarm.runs.contents import quaternions
from flexarm.runs.read import load_run
from flexarm.runs.run import Run
from flexarm.spatial import rotation_from_angles
from tests.full_disk import full_disk
from tests.integrate.mission_arms import one_joint
from tests.patience import HANGS

FREE = """
flexarm: 1
name: a boom on a floating base, driven by a table
base: {kind: free, body: {mass: 50, inertia: [4, 9, 6]}, spin: [0, 1.5, 0]}
gravity: [0, 0, 0]
links:
  - joint: {kind: revolute, input: {kind: csv, file: data/torque.csv}}
    length: 1
    section: {mass_per_length: 1, EIz: 100}
    shapes: {kind: loaded, bending_y: 1}
"""


@pytest.fixture(scope="module")
def run() -> Run:
    """Drive a flexible link for a while."""
    arm = flexarm.change_arm(flexarm.example_arm("driven-link"), {"links.1.shapes.bending_y": 1})
    return flexarm.simulate(arm, t_end=0.2, dt=0.01)


@pytest.fixture(scope="module")
def free_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Drive a boom on a floating base, long enough for its angles to be measured anew."""
    folder = tmp_path_factory.mktemp("model")
    (folder / "data").mkdir()
    (folder / "data" / "torque.csv").write_text("time,value\n0,0\n2,3\n")
    (folder / "arm.yaml").write_text(FREE)
    found = flexarm.simulate(load(folder / "arm.yaml"), t_end=1.0, dt=0.1)
    assert (
        len({reference_attitude.tobytes() for reference_attitude in found.reference_attitudes}) > 1
    )
    return found


def assert_same(one: Run, two: Run) -> None:
    """Compare two runs field by field, numbers bit for bit."""
    for field in (each for each in fields(Run) if each.compare):
        a, b = getattr(one, field.name), getattr(two, field.name)
        if isinstance(a, np.ndarray):
            assert (a.shape, a.tobytes()) == (b.shape, np.ascontiguousarray(b).tobytes())
        elif field.name == "model":
            assert (dumps(a.arm), a.names, a.units) == (dumps(b.arm), b.names, b.units)
        else:
            assert a == b


def test_saved_run_comes_back_bit_for_bit(run: Run, tmp_path: Path) -> None:
    run.save(tmp_path / "run.nc")
    assert_same(load_run(tmp_path / "run.nc"), run)
    assert [path.name for path in tmp_path.iterdir()] == ["run.nc"]


def test_run_holds_the_files_that_its_model_file_names(free_run: Run, tmp_path: Path) -> None:
    free_run.save(tmp_path / "run.nc")
    original = free_run.model.arm.links[0].joint.input.side_file  # type: ignore[union-attr]
    kept = original.path.read_bytes()
    original.path.unlink()
    back = load_run(tmp_path / "run.nc")
    original.path.write_bytes(kept)
    assert_same(back, free_run)
    file = back.model.arm.links[0].joint.input.side_file  # type: ignore[union-attr]
    assert file.content == kept
    assert file.path == tmp_path / "run.nc" / "data" / "torque.csv"


def test_file_is_the_dataset_of_the_run(run: Run, tmp_path: Path) -> None:
    run.save(tmp_path / "run.nc")
    with xarray.open_dataset(tmp_path / "run.nc", engine="h5netcdf") as file:
        assert file.attrs.pop("checksums")
        xarray.testing.assert_identical(file.load(), run.dataset)


def test_dataset_names_everything_and_gives_its_unit(run: Run) -> None:
    data = run.dataset
    assert data.q.sel(coordinate="joint1").values.tolist() == run.q[:, 0].tolist()
    assert data.q.sel(coordinate="link1.y1").unit.item() == "m"
    assert data.u.sel(input="joint1").input_unit.item() == "N m"
    assert data.deflection.dims == ("time", "link", "station", "axis")
    for name in data.data_vars:
        assert data[name].attrs["units"]
        assert data[name].attrs["long_name"]
    assert flexarm.__version__ == data.attrs["flexarm_version"]
    wanted = {"status", "reason", "method", "why", "rtol", "steps", "energy_balance", "model_file"}
    assert wanted <= set(data.attrs)


def test_datasets_of_a_rigid_arm_have_the_form_of_a_flexible_one(run: Run, tmp_path: Path) -> None:
    """Variables, axes, units and coordinates are the same; there are 0 flexible links, 0 inputs."""
    arm = flexarm.change_arm(one_joint(), {"links.1.joint.actuation": "free"})
    rigid = flexarm.simulate(arm, t_end=0.1, dt=0.05)
    rigid.save(tmp_path / "rigid.nc")
    run.save(tmp_path / "run.nc")
    assert_same(load_run(tmp_path / "rigid.nc"), rigid)
    assert rigid.validity.links == ()
    files = [xarray.open_dataset(tmp_path / name, engine="h5netcdf").load()
             for name in ("rigid.nc", "run.nc")]  # fmt: skip
    pairs = [(rigid.dataset, run.dataset), (files[0], files[1])] + [
        (getattr(rigid, name)(), getattr(run, name)())
        for name in ("along", "section_forces", "joint_wrenches", "link_frames", "tip_motion")
    ]
    for stiff, soft in pairs:
        assert list(stiff.variables) == list(soft.variables)
        assert list(stiff.coords) == list(soft.coords)
        for name, variable in stiff.variables.items():
            assert (variable.dims, variable.attrs) == (soft[name].dims, soft[name].attrs)
    assert rigid.dataset.sizes["link"] == rigid.section_forces().sizes["link"] == 0
    assert (rigid.dataset.sizes["input"], run.dataset.sizes["input"]) == (0, 1)
    assert rigid.section_forces(5).force.shape == (3, 0, 5, 3)
    with pytest.raises(FlexarmError, match="stations: must be at least 2"):
        rigid.section_forces(1)


def test_table_has_names_units_and_the_same_numbers(run: Run, tmp_path: Path) -> None:
    run.to_csv(tmp_path / "run.csv")
    with (tmp_path / "run.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    columns = dict(zip(header, np.array(rows, dtype=float).T, strict=True))
    assert all(name.endswith("]") for name in header)
    assert columns["time [s]"].tolist() == run.t.tolist()
    assert columns["joint1 [rad]"].tolist() == run.q[:, 0].tolist()
    assert columns["link1.y1 rate [m/s]"].tolist() == run.v[:, 1].tolist()
    assert columns["joint1 input [N m]"].tolist() == run.u[:, 0].tolist()
    assert columns["dissipated [J]"].tolist() == run.work_integrals[:, 3].tolist()
    turned = columns["tip quaternion w [1]"] + 1j * columns["tip quaternion z [1]"]
    along_x = run.tip_rotation[:, 0, 0] + 1j * run.tip_rotation[:, 1, 0]
    assert turned**2 == pytest.approx(along_x, abs=1e-12)


def test_pandas_and_matlab_get_the_same_numbers(run: Run, tmp_path: Path) -> None:
    frame = run.to_pandas()
    assert frame.index.name == "time [s]"
    assert frame["joint1 [rad]"].tolist() == run.q[:, 0].tolist()
    run.export(tmp_path / "run.csv")
    run.to_csv(tmp_path / "same.csv")
    assert (tmp_path / "run.csv").read_bytes() == (tmp_path / "same.csv").read_bytes()
    run.export(tmp_path / "run.mat")
    read = scipy.io.loadmat(tmp_path / "run.mat", simplify_cells=True)
    assert read["time"].tolist() == run.t.tolist()
    assert read["q"].tolist() == run.q.tolist()
    assert list(read["coordinate"]) == list(run.model.names)
    assert read["about"]["arm"] == run.model.arm.name


@pytest.mark.parametrize(
    ("kind", "package"), [("parquet", "pyarrow"), ("xlsx", "openpyxl")], ids=["parquet", "xlsx"]
)
def test_what_a_table_needs_is_said_where_it_is_missing(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(FlexarmError, match=f"need the package {package}.*pip install {package}"):
        run.export(tmp_path / f"run.{kind}")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(FlexarmError, match="frames need the package pandas"):
        run.to_pandas()
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_is_too_much_for_a_kind_of_file_is_one_line(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_much(*_: object) -> None:
        raise ValueError("This sheet is too large!")

    monkeypatch.setitem(write.WRITERS, ".mat", too_much)
    with pytest.raises(FlexarmError, match=r"run\.mat: the run cannot be written as .mat: This"):
        run.export(tmp_path / "run.mat")
    assert list(tmp_path.iterdir()) == []


def test_quaternions_turn_as_their_rotations_and_never_jump() -> None:
    angles = np.linspace(0, 4 * np.pi, 50)
    rotations = np.array([rotation_from_angles((0.3, 0.2, float(angle))) for angle in angles])
    found = quaternions(rotations)
    assert np.linalg.norm(found, axis=1) == pytest.approx(1)
    assert np.linalg.norm(np.diff(found, axis=0), axis=1).max() < 0.2
    w, x, y, z = found.T
    first = np.stack([w * w + x * x - y * y - z * z, 2 * (x * y + w * z), 2 * (x * z - w * y)], 1)
    assert first == pytest.approx(rotations[:, :, 0], abs=1e-12)


@pytest.mark.parametrize("name", ["save", "to_csv"])
def test_nothing_is_overwritten_unless_forced(run: Run, tmp_path: Path, name: str) -> None:
    path = tmp_path / "kept"
    path.write_text("mine")
    with pytest.raises(FlexarmError, match="exists already"):
        getattr(run, name)(path)
    assert path.read_text() == "mine"
    getattr(run, name)(path, force=True)
    assert path.read_bytes() != b"mine"


def write_and_stick(run: Run, target: Path, told: Any) -> None:
    """Say that all data are in the unfinished file, and wait to be killed there."""

    def stuck(handle: int) -> None:
        told.send(os.fstat(handle).st_size)
        signal.pause()

    os.fsync = stuck  # type: ignore[assignment]
    run.save(target, force=True)


@pytest.mark.parametrize("old", [True, pytest.param(False, marks=pytest.mark.campaign)])
def test_a_killed_writer_leaves_the_old_file_or_none(run: Run, tmp_path: Path, old: bool) -> None:
    target = tmp_path / "target.nc"
    if old:
        replace(run, why="of before").save(target)
    before = target.read_bytes() if old else None
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    writer = context.Process(target=write_and_stick, args=(run, target, there))
    writer.start()
    assert here.poll(HANGS)
    assert here.recv() > 10_000
    assert writer.pid is not None
    os.kill(writer.pid, signal.SIGKILL)
    writer.join()
    assert writer.exitcode == -signal.SIGKILL
    assert (target.read_bytes() if target.exists() else None) == before


@pytest.mark.parametrize("name", ["save", "to_csv"])
def test_a_full_disk_is_one_line_and_leaves_the_old_file(
    run: Run, tmp_path: Path, name: str
) -> None:
    path = tmp_path / "kept"
    path.write_text("mine")
    with (
        full_disk(2000),
        pytest.raises(FlexarmError, match=r"kept: the file cannot be written: \w") as error,
    ):
        getattr(run, name)(path, force=True)
    assert "\n" not in str(error.value)
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("kept", "mine")]


@pytest.mark.parametrize("folder", ["missing", "file", "/proc/self"])
def test_a_folder_that_cannot_be_written_to_is_one_line(
    run: Run, tmp_path: Path, folder: str
) -> None:
    (tmp_path / "file").write_text("")
    path = tmp_path / folder / "run.nc"
    with pytest.raises(FlexarmError) as error:
        run.save(path)
    assert str(error.value).startswith(f"{path}: ")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "cannot be read as a NetCDF file"),
        (b"words", "cannot be read as a NetCDF file"),
        (None, "there is no"),
    ],
)
def test_what_is_no_run_is_refused(tmp_path: Path, content: bytes | None, said: str) -> None:
    path = tmp_path / "run.nc"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(FlexarmError, match=said):
        load_run(path)


def test_netcdf_file_of_something_else_is_refused(tmp_path: Path) -> None:
    xarray.Dataset({"x": ("t", np.zeros(2))}).to_netcdf(tmp_path / "x.nc", engine="h5netcdf")
    with pytest.raises(FlexarmError, match="is not a run of flexarm"):
        load_run(tmp_path / "x.nc")


def test_a_truncated_run_is_refused(run: Run, tmp_path: Path) -> None:
    run.save(tmp_path / "run.nc")
    whole = (tmp_path / "run.nc").read_bytes()
    (tmp_path / "run.nc").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(
        FlexarmError, match=r"cannot be read as a NetCDF file\. It is cut off, damaged"
    ):
        load_run(tmp_path / "run.nc")


def test_another_kind_of_hdf5_file_is_refused_in_a_line(tmp_path: Path) -> None:
    import h5py  # type: ignore[import-untyped]

    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["x"] = np.zeros(3)
    with pytest.raises(FlexarmError, match=r"x\.h5: is not a run of flexarm, or has") as error:
        load_run(tmp_path / "x.h5")
    assert "\n" not in str(error.value)


def test_a_run_with_a_part_missing_is_refused(run: Run, tmp_path: Path) -> None:
    import h5py

    run.save(tmp_path / "run.nc")
    with h5py.File(tmp_path / "run.nc", "a") as file:
        del file["kinetic"]
    with pytest.raises(FlexarmError, match=r"run\.nc: the entry 'kinetic' is missing"):
        load_run(tmp_path / "run.nc")


def changed(path: Path, name: str, **how: Any) -> None:
    """Change a variable of a file, or an attribute if there is no such variable."""
    import h5py

    with h5py.File(path, "a") as file:
        if name not in file:
            old = file.attrs[name]
            file.attrs[name] = f"{old}." if isinstance(old, str) else 2 * old + 1
            return
        variable, values = file[name], file[name][...]
        if how:
            said = dict(variable.attrs)
            del file[name]
            file.create_dataset(name, data=values, **how).attrs["long_name"] = said["long_name"]
            file[name].attrs.update({k: v for k, v in said.items() if k == "units"})
        elif values.dtype == object:
            variable[0] = b"?"
        else:
            values.flat[-1] = values.flat[-1] * (1 + 1e-15) + 1e-15
            variable[...] = values


@pytest.mark.few(1)
@pytest.mark.parametrize("first", range(3))
def test_a_run_that_was_changed_is_noticed_whatever_was(
    run: Run, tmp_path: Path, first: int
) -> None:
    import h5py

    good, path = tmp_path / "good.nc", tmp_path / "run.nc"
    run.save(good)
    with h5py.File(good) as file:
        names = [*json.loads(file.attrs["checksums"])["variables"], *file.attrs]
    names = [n for n in names if n not in ("checksums", "coordinates", "_NCProperties")]
    assert {"time", "q", "deflection", "unit", "station", "rtol", "reason", "phases"} <= {*names}
    for name in names[first::3]:
        shutil.copyfile(good, path)
        changed(path, name)
        with pytest.raises((FlexarmError, ModelError)) as told:
            load_run(path)
        if name not in ("coordinate", "model_file", "flexarm_run", "tip_rotation", "status"):
            assert re.search(rf"{name}.*(was changed since|must be)", str(told.value))


def test_a_run_may_be_compressed_or_get_more_but_keeps_its_checksums(
    run: Run, tmp_path: Path
) -> None:
    import h5py

    path = tmp_path / "run.nc"
    run.save(path)
    changed(path, "q", compression="gzip", shuffle=True)
    with h5py.File(path, "a") as file:
        file.attrs["note"] = "mine"
        file["mine"] = np.zeros(3)
    assert_same(load_run(path), run)
    changed(path, "kinetic")
    with pytest.raises(
        FlexarmError, match=r"run\.nc: the entry 'kinetic' was changed since the file was"
    ):
        load_run(path)
    with h5py.File(path, "a") as file:
        del file.attrs["checksums"]
    with pytest.raises(FlexarmError, match=r"run\.nc: the entry 'checksums' is missing"):
        load_run(path)


def test_a_kept_file_that_was_changed_is_noticed(free_run: Run, tmp_path: Path) -> None:
    import h5py

    free_run.save(tmp_path / "run.nc")
    with h5py.File(tmp_path / "run.nc", "a") as file:
        data = bytes(file["model_file_1"][...])
        file["model_file_1"][...] = np.frombuffer(data.replace(b"2,3", b"2,4"), np.uint8)
    with pytest.raises(
        FlexarmError, match=r"'model_file_1' was changed since the file was written"
    ):
        load_run(tmp_path / "run.nc")


def test_a_run_keeps_how_many_nodes_were_asked_for(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, arm = tmp_path / "run.nc", tmp_path / "arm.yaml"
    flexarm.save(run.model.arm, arm)
    assert main(["simulate", str(arm), "--t-end", "0.01", "--nodes", "5", "--out", str(path)]) == 0
    assert "5 more nodes than shapes" in capsys.readouterr().out
    kept = load_run(path).model.links[0].exact
    assert kept is not None
    assert kept.excess == 5


def test_file_that_names_a_file_outside_unpacks_nothing_there(
    free_run: Run, tmp_path: Path
) -> None:
    import h5netcdf  # type: ignore[import-untyped]

    free_run.save(tmp_path / "run.nc")
    outside = tmp_path / "outside.csv"
    with h5netcdf.File(tmp_path / "run.nc", "a") as file:
        file["model_file_1"].attrs["long_name"] = str(outside)
    with pytest.raises(FlexarmError, match="there is no"):
        load_run(tmp_path / "run.nc")
    assert not outside.exists()


@pytest.mark.campaign
@pytest.mark.parametrize("suffix", ["png", "pdf"])
def test_figure_is_of_the_kind_that_its_name_says(run: Run, tmp_path: Path, suffix: str) -> None:
    run.plot(tmp_path / f"run.{suffix}")
    head = (tmp_path / f"run.{suffix}").read_bytes()[:200]
    assert {"png": b"\x89PNG", "pdf": b"%PDF"}[suffix] in head


def test_drawing_overwrites_but_not_in_part(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "run.svg"
    path.write_text("mine")
    with full_disk(2000), pytest.raises(FlexarmError, match="cannot be written"):
        run.plot(path)
    assert path.read_text() == "mine"


@pytest.mark.parametrize(
    ("update", "said"),
    [
        ({"gravity": (0.0, 0.0, "down")}, r"gravity\[3\]: .*down"),
        ({"gravity": (0.0, float("nan"), 0.0)}, r"gravity\[2\]"),
        ({"gravitty": (0.0, 0.0, 0.0)}, "gravitty: unknown key; the keys here are flexarm, name"),
        ({"links": ()}, "links: must have at least 1"),
        ({"links": "none"}, "links: must be a list"),
        ({"name": ""}, "name: must have at least 1 character"),
        ({"payload": {"mass": -1.0}}, "payload.mass: must be >= 0"),
        ({"flexarm": 2}, "flexarm: must be 1"),
    ],
)
def test_a_copy_of_an_arm_that_is_not_valid_is_refused_by_all_that_take_an_arm(
    update: dict[str, object], said: str, tmp_path: Path
) -> None:
    arm = flexarm.example_arm("driven-link").model_copy(update=update)
    for use in (
        lambda: flexarm.build(arm),
        lambda: flexarm.simulate(arm, t_end=0.1),
        lambda: flexarm.simulate_many(arm, t_end=0.1, inputs=[{}]),
        lambda: flexarm.modes(arm),
        lambda: flexarm.linearise(arm),
        lambda: flexarm.equilibrium(arm),
        lambda: flexarm.sweep(arm, at={"joint1": [0.0, 1.0]}),
        lambda: flexarm.converge(arm),
        lambda: flexarm.change_arm(arm, {"stiffening": False}),
        lambda: flexarm.save(arm, tmp_path / "arm.yaml"),
    ):
        with pytest.raises(flexarm.ModelError, match=said):
            use()
    assert list(tmp_path.iterdir()) == []


def test_a_piece_of_an_arm_that_is_not_valid_is_refused_by_what_it_is_put_into() -> None:
    arm = flexarm.example_arm("driven-link")
    link = arm.links[0].model_copy(update={"length": -1.0})
    with pytest.raises(ValidationError, match="length"):
        flexarm.Arm(flexarm=1, name="shorter than nothing", links=(link,))


@pytest.mark.few(1)
@pytest.mark.parametrize("change", [{"gravity": (0.0,)}, {"name": "a\x00b"}])
def test_a_run_that_could_not_be_read_back_is_not_saved(
    run: Run, tmp_path: Path, change: dict[str, object]
) -> None:
    arm = run.model.arm.model_copy(update=change)
    with pytest.raises(flexarm.ModelError):
        replace(run, model=replace(run.model, arm=arm)).save(tmp_path / "run.nc")
    assert list(tmp_path.iterdir()) == []


def test_an_arm_with_files_of_its_own_folder_is_changed_copied_and_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the files are is not forgotten when an arm is made of another."""
    folder = tmp_path / "arms" / "data"
    folder.mkdir(parents=True)
    (folder / "torque.csv").write_text("time,value\n0,0\n1,2\n")
    path = folder.parent / "arm.yaml"
    path.write_text(FREE)
    monkeypatch.chdir(tmp_path)
    arm = flexarm.change_arm(load(path.relative_to(tmp_path)), {"links.1.length": 1.5})
    made = flexarm.simulate(arm.model_copy(update={"name": "longer"}), t_end=0.01)
    made.save(tmp_path / "run.nc")
    assert load_run(tmp_path / "run.nc").model.arm.links[0].length == 1.5
