"""Runs on a GPU are those of the processor: its program, run here for one thread at a time."""

import ctypes
from typing import Any

import casadi as ca
import numpy as np
import pytest

import flexarm
from flexarm.engine.gpu.cuda import Gpu
from flexarm.errors import FlexarmError, SimulationError
from flexarm.integrate.batch import gpu
from flexarm.integrate.loop import march
from flexarm.integrate.methods import METHODS
from flexarm.integrate.solve import make_ready, new_state
from flexarm.integrate.task import prepare
from flexarm.io.model_file import loads
from flexarm.loops.language import LoopSource
from flexarm.loops.ptx import with_work_size
from flexarm.loops.threads import RecordPath, SharedValue, TableEntries, ThreadRecord
from flexarm.loops.writes import written_fields
from flexarm.model import build
from flexarm.runs.run import Run
from tests.engine.emulated_gpu import emulated_gpu

__all__ = ["emulated_gpu"]
ON_GPU = [name for name, method in METHODS.items() if method.on_gpu]


def link() -> flexarm.Arm:
    """Make the smallest arm that bends, with a load."""
    small = {"stiffening": False, "links.1.shapes": {"kind": "clamped-free", "bending_y": 1}}
    return flexarm.change_arm(flexarm.example_arm("driven-link-payload"), small)


def both(arm: flexarm.Arm, **options: Any) -> list[tuple[Run, Run]]:
    """Run on the emulated GPU and on the processor."""
    there = flexarm.simulate_many(arm, device="gpu", **options)
    return list(zip(there, flexarm.simulate_many(arm, **options), strict=True))


def require_alike(one: Run, other: Run, share: float) -> None:
    assert (one.status, one.reason, len(one.t)) == (other.status, other.reason, len(other.t))
    for name in ("t", "q", "v", "work_integrals", "reference_attitudes"):
        here, there = np.asarray(getattr(one, name)), np.asarray(getattr(other, name))
        assert np.abs(here - there).max() <= share * max(np.abs(there).max(), 1e-3), name


@pytest.mark.few(1)
@pytest.mark.usefixtures("emulated_gpu")
@pytest.mark.parametrize("method", ON_GPU)
def test_runs_are_those_of_the_processor(method: str) -> None:
    starts = [{"joint1": 0.1 * k} for k in range(3)]
    options: dict[str, Any] = {"t_end": 0.2, "dt": 0.05, "method": method}
    there = flexarm.simulate_many(link(), device="gpu", starts=starts, **options)
    for one, start in zip(there, starts, strict=True):
        # One by one: side by side the processor may take common steps.
        (other,) = flexarm.simulate_many(link(), starts=[start], **options)
        require_alike(one, other, 1e-7)
        assert one.statistics.steps == other.statistics.steps


@pytest.mark.usefixtures("emulated_gpu")
def test_numbers_inputs_and_tolerances_are_each_run_s_own() -> None:
    table = {"kind": "table", "times": [0, 0.05, 0.1, 0.3], "values": [0, 1, -1, 0]}
    wave = {"kind": "sine", "amplitude": 1, "frequency": 3}
    pairs = both(
        link(),
        t_end=0.2,
        method="etd4",
        rtol=[1e-3, 1e-4, 1e-3],
        parameters=[{"payload.mass": mass} for mass in (0.05, 0.1, 0.2)],
        inputs=[{"joint1": each} for each in (1.0, table, wave)],
    )
    for one, other in pairs:
        require_alike(one, other, 1e-6)
    assert len({run.q[-1, 0] for run, _ in pairs}) == 3


TUMBLER = """
flexarm: 1
name: tumbler
gravity: [0, 0, 0]
base: {kind: free, body: {mass: 2, inertia: [0.2, 0.3, 0.1]}}
links:
  - joint: {kind: revolute, limits: {upper: 40 deg}}
    length: 1
    section: {mass_per_length: 1, EIz: 100}
    shapes: {kind: clamped-free, bending_y: 1}
"""


@pytest.mark.campaign
@pytest.mark.usefixtures("emulated_gpu")
def test_attitudes_are_measured_anew_and_limits_end_runs_as_on_the_processor() -> None:
    starts = [{"base.ry.rate": 3.0}, {"base.ry.rate": 3.0, "joint1.rate": 8.0}]
    pairs = both(loads(TUMBLER), t_end=1.5, dt=0.1, method="etd4", starts=starts)
    for one, other in pairs:
        require_alike(one, other, 1e-6)
    (tumbles, _), (stops, _) = pairs
    assert tumbles.status == "finished"
    assert (
        len({reference_attitude.tobytes() for reference_attitude in tumbles.reference_attitudes})
        > 2
    )
    assert stops.status == "stopped"
    assert "joint1: its position reached 0.6981" in stops.reason


@pytest.mark.usefixtures("emulated_gpu")
def test_a_law_in_casadi_is_part_of_the_program() -> None:
    t, q, v = (ca.SX.sym(name, size) for name, size in (("t", 1), ("q", 2), ("v", 2)))
    law = ca.Function("law", [t, q, v], [-3 * (q[0] - ca.sin(t)) - v[0]])
    for one, other in both(link(), t_end=0.3, dt=0.1, method="etd4", control=[law, law]):
        require_alike(one, other, 1e-6)


def test_what_a_gpu_does_not_do_is_refused_by_name() -> None:
    arm = link()
    with pytest.raises(SimulationError, match=r"'rodas4' cannot run on a GPU. Use one of .*etd4"):
        flexarm.simulate_many(arm, t_end=1, method="rodas4", starts=[{}], device="gpu")
    with pytest.raises(SimulationError, match="device: must be 'cpu' or 'gpu', got 'tpu'"):
        flexarm.simulate_many(arm, t_end=1, starts=[{}], device="tpu")  # type: ignore[arg-type]
    floor = {"obstacle": {"kind": "plane", "point": [0, -9, 0], "normal": [0, 1, 0]}}
    touching = flexarm.change_arm(arm, {"contacts": [floor | {"stiffness": 1e4}]})
    with pytest.raises(SimulationError, match="may touch something cannot be simulated on a GPU"):
        flexarm.simulate_many(touching, t_end=1, method="etd4", starts=[{}], device="gpu")
    sampled = {"links.1.joint.servo": {"stiffness": 10, "damping": 1, "period": 0.01}}
    with pytest.raises(SimulationError, match="has sampled servos cannot be simulated on a GPU"):
        flexarm.simulate_many(arm, t_end=1, method="etd4", parameters=[{}, sampled], device="gpu")


class OldDriver:
    """A driver whose functions all succeed, of an old version and without a device."""

    def __init__(self, version: int, failure: int = 0) -> None:
        self.version, self.failure = version, failure

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any) -> int:
            if name == "cuDriverGetVersion":
                arguments[0]._obj.value = self.version
            if name == "cuGetErrorString":
                arguments[1]._obj.value = b"no CUDA-capable device is detected"
            return self.failure if name == "cuInit" else 0

        return call


def test_a_machine_without_a_gpu_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise OSError(name)

    for library, said in (
        (missing, "NVIDIA driver .* Leave device at 'cpu'"),
        (lambda name: OldDriver(12000, failure=100), "does not start: no CUDA-capable device"),
        (lambda name: OldDriver(10020), "supports CUDA 10.2, and CUDA 11.0 is needed"),
        (lambda name: OldDriver(12000), "too old. A GPU of the Volta"),
    ):
        monkeypatch.setattr(ctypes, "CDLL", library)
        with pytest.raises(FlexarmError, match=f"^GPU: .*{said}"):
            Gpu()


@pytest.mark.parametrize("name", ON_GPU)
def test_what_kernels_are_found_to_write_is_all_that_changes(name: str) -> None:
    method = METHODS[name]
    problem = prepare(build(link()), np.array([0.0, 0.05, 0.1]))
    m = make_ready(new_state(problem, method, 1e-3))
    m.budget = 10**6
    bound: dict[str, LoopSource | str] = {
        "step": method.step,
        "sample": method.sample or method.step,
        "equations": "motion",
    }
    written = written_fields(march, bound)
    results = {port.name for port in problem.motion.compiled().outputs}
    desk = ThreadRecord(m, [])

    def contents() -> dict[tuple[int, str], bytes]:
        found = {}
        for r, record in enumerate(desk.records):
            for field in record.layout().types:
                value = getattr(record, field)
                found[r, field] = value.tobytes() if isinstance(value, np.ndarray) else value
        return found

    before = contents()
    assert march(m) == 1
    changed = {
        field for key, value in contents().items() if before[key] != value for field in [key[1]]
    }
    assert changed - results <= written
    assert {"y", "t", "recorded", "samples", "low"} <= changed


def test_equations_have_room_for_what_their_code_works_in() -> None:
    # It is cut otherwise than the processor's, whose array may be smaller.
    tables = {"table": TableEntries(inputs=2, changing=frozenset(), last=3)}
    parts = [SharedValue((RecordPath(0, "table", entry),), 40, True, "scratch") for entry in (2, 3)]
    assert [with_work_size(part, tables, {"table": 721}).size for part in parts] == [40, 721]


@pytest.mark.usefixtures("emulated_gpu")
@pytest.mark.parametrize("keep", ["samples", "last", ["tip y", "joint1 rate"]])
def test_arrays_of_a_gpu_are_those_of_the_processor(keep: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(gpu.GpuGroup, "most", 32)  # two portions, the second one not whole
    count = 37
    given: dict[str, Any] = {
        "starts": {"joint1": np.linspace(0, 0.3, count)},
        "inputs": {"joint1": np.linspace(-1, 1, count)},
    }
    options = {"t_end": 0.1, "dt": 0.05, "method": "etd4", "keep": keep}
    done: list[int] = []
    there = flexarm.simulate_many(link(), device="gpu", progress=done.append, **given, **options)
    here = flexarm.simulate_many(link(), **given, **options)
    assert np.ptp(here.results.samples[:, -1], axis=0)[:2].min() > 1e-3
    apart = np.abs(there.results.samples - here.results.samples).max(axis=(0, 1))
    assert np.all(apart <= 1e-7 * np.abs(here.results.samples).max(axis=(0, 1)))
    assert done == [32, 37]
    for name in ("steps", "rejections", "evaluations"):
        assert there.statistics[name].tolist() == here.statistics[name].tolist()


@pytest.mark.usefixtures("emulated_gpu")
def test_runs_that_stop_on_a_gpu_are_ended_by_python_among_many() -> None:
    arm = flexarm.change_arm(link(), {"links.1.joint.limits": {"upper": 0.5}})
    starts = {"joint1": np.full(35, 0.3), "joint1.rate": np.linspace(0, 4, 35)}
    options: dict[str, Any] = {"t_end": 0.1, "dt": 0.05, "method": "etd4", "starts": starts}
    there = flexarm.simulate_many(arm, device="gpu", **options)
    here = flexarm.simulate_many(arm, **options)
    assert {*here.status} == {"finished", "stopped"}
    assert there.reasons == here.reasons
    for k in range(35):
        require_alike(there[k], here[k], 1e-7)
