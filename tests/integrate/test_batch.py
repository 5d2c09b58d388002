"""Arms that are stepped together move as they do alone, on the processor and on a GPU."""

import re
from functools import partial
from typing import Any

import numpy as np
import pytest

import flexarm
from flexarm.engine.constants import MOST_TABLED
from flexarm.engine.emit import keep, llvm, thread
from flexarm.engine.emit.keep import Moves, ThreadMemory, moves
from flexarm.engine.gpu import dlpack
from flexarm.engine.gpu.cuda import columns_in_place
from flexarm.engine.stream import Stream
from flexarm.errors import SimulationError
from flexarm.integrate.batch import engines
from flexarm.integrate.batch.batch import Batch
from flexarm.io.model_file import loads
from flexarm.loops import ptx
from flexarm.loops.translate import translate
from tests.engine.emulated_gpu import EmulatedGpu, emulated_gpu

__all__ = ["emulated_gpu"]
COMPILED = ptx.GpuProgram.ptx  # which the emulated GPU replaces
KEY, STIFF = "links.1.section.EIz", (40.0, 80.0)
ARM = """
flexarm: 1
name: link
gravity: [0, 0, 0]
stiffening: false
links:
  - joint: {kind: revolute, limits: {upper: 0.5}, hub: {outboard: {inertia: [0, 0, 0.1]}}}
    length: 1
    section: {mass_per_length: 1, EIz: 50}
    shapes: {kind: clamped-free, bending_y: 2}
    wrenches: [{force: [0, 1, 0], factor: {kind: sine, amplitude: 1, frequency: 2}}]
"""
PUSHES = ((1.0, -0.5), (-2.0, 0.5), (0.5, 0.0))


def flown(device: Any) -> Batch:
    """Step two arms of different stiffness."""
    arms = flexarm.batch(
        loads(ARM), 2, dt=0.05, device=device, parameters=[{KEY: stiff} for stiff in STIFF]
    )
    for push in PUSHES:
        assert not np.any(arms.step(np.array(push)[:, None]))
    return arms


def test_each_arm_moves_as_it_does_alone() -> None:
    arms = flown("cpu")
    assert arms.t == pytest.approx([0.15, 0.15])
    for k, stiff in enumerate(STIFF):
        values = [each[k] for each in (*PUSHES, PUSHES[-1])]
        held = {"kind": "table", "times": [0, 0.05, 0.1, 0.15], "values": values,
                "interpolation": "hold"}  # fmt: skip
        alone = flexarm.simulate(
            flexarm.change_arm(loads(ARM), {KEY: stiff}), t_end=0.15, inputs={"joint1": held},
            rtol=1e-8, method="dop853",
        )  # fmt: skip
        assert np.abs(arms.q[k] - alone.q[-1]).max() < 1e-4 * np.abs(alone.q).max()
        assert np.abs(arms.tip()[k] - alone.tip[-1]).max() < 1e-5


@pytest.mark.usefixtures("emulated_gpu")
def test_a_gpu_takes_the_same_steps() -> None:
    there, here = flown("gpu"), flown("cpu")
    assert np.abs(there.q - here.q).max() < 1e-12
    there.reset([1])
    there.step([0.0])
    assert there.t == pytest.approx([0.2, 0.05])


@pytest.mark.usefixtures("emulated_gpu")
def test_values_that_registers_do_not_hold_wait_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few registers, so that values wait in both memories and are used after others took theirs."""
    found: list[Moves] = []

    def noted(stream: Stream, room: ThreadMemory) -> Moves:
        found.append(moves(stream, room))
        return found[-1]

    monkeypatch.setattr(ptx, "INLINED_OPERATIONS", 20)
    monkeypatch.setattr(EmulatedGpu, "near", 1)
    monkeypatch.setattr(ptx, "ThreadMemory", partial(ThreadMemory, registers=5, ahead=3))
    monkeypatch.setattr(thread, "moves", noted)
    test_a_gpu_takes_the_same_steps()
    memories = {move.memory for each in found[0].loads.values() for move in each}
    assert memories == {"near", "far", "input"}


@pytest.mark.usefixtures("emulated_gpu")
@pytest.mark.parametrize("most", [None, 2])
def test_long_equations_take_their_constants_from_a_table(
    monkeypatch: pytest.MonkeyPatch, most: int | None
) -> None:
    """Two at a time, and again where registers did not hold them; as many as it has room for."""
    codes: list[llvm.Code] = []

    def noted(stream: Stream, **options: Any) -> llvm.Code:
        codes.append(llvm.emit_llvm(stream, **options))
        return codes[-1]

    monkeypatch.setattr(ptx, "INLINED_OPERATIONS", 20)
    monkeypatch.setattr(ptx, "LONG_CODE", 20)
    monkeypatch.setattr(ptx, "emit_llvm", noted)
    monkeypatch.setattr(keep, "MOST_TABLED", most or MOST_TABLED)
    there, here = (flexarm.batch(loads(ARM), 1, dt=0.05, device=on) for on in ("gpu", "cpu"))
    for arms in (there, here):
        arms.step([1.0])
    assert np.abs(there.q - here.q).max() < 1e-12
    (code,) = codes
    assert code.table >= 4 if most is None else code.table == most
    assert 2 * code.text.count("load volatile <2 x double>") == code.table


@pytest.mark.usefixtures("emulated_gpu")
def test_all_threads_of_a_block_fill_its_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those that have no arm: else the others would wait for them, or miss some constants."""
    programs: list[ptx.GpuProgram] = []

    def noted(*given: Any, **options: Any) -> ptx.GpuProgram:
        programs.append(ptx.gpu_program(*given, **options))
        return programs[-1]

    monkeypatch.setattr(ptx, "INLINED_OPERATIONS", 20)
    monkeypatch.setattr(ptx, "LONG_CODE", 20)
    monkeypatch.setattr(engines, "gpu_program", noted)
    flexarm.batch(loads(ARM), 1, dt=0.05, device="gpu")
    *_, equations, kernel = programs[0].texts
    before, _, after = kernel.partition("br i1 %mine")
    assert after
    assert before.count("call void @flexarm_fill()") == 1
    filled, waited = equations.split("call void @llvm.nvvm.barrier0()")
    assert filled.endswith("done:\n")
    assert waited.startswith("\nret void")
    assert re.search(r"addrspace\(3\) global \[\d+ x double\] undef, align 16", equations)
    code = COMPILED(programs[0])
    assert ".target sm_70" in code
    assert ".extern .func" not in code  # a GPU has no mathematical library to link


@pytest.mark.usefixtures("emulated_gpu")
def test_loops_are_unrolled_where_nothing_branches_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a kernel with branches more code is slower: whole runs of small arms by half."""
    texts: list[str] = []

    def noted(*given: Any, **options: Any) -> str:
        texts.append(translate(*given, **options))
        return texts[-1]

    monkeypatch.setattr(ptx, "translate", noted)
    ptx._loops.cache_clear()
    flown("gpu")
    flexarm.simulate_many(loads(ARM), t_end=0.01, method="dop853", starts=[{}], device="gpu")
    batch, run = texts
    assert "llvm.loop.unroll.full" in batch
    assert batch.count("distinct !{") > 5
    assert "llvm.loop" not in run


def test_arms_end_at_their_limits_and_begin_anew() -> None:
    arms = flexarm.batch(loads(ARM), 3, dt=0.1)
    arms.reset([0, 2], [{"joint1": 0.45, "joint1.rate": 2.0}, {"joint1": -0.3}])
    assert arms.step([0.0]).tolist() == [True, False, False]
    arms.reset(arms.ended)
    assert arms.t == pytest.approx([0.0, 0.1, 0.1])
    assert not np.any(arms.ended)


@pytest.mark.few(1)
@pytest.mark.usefixtures("emulated_gpu")
@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_arms_of_other_operations_wrenches_and_limits_go_their_own_way(device: Any) -> None:
    changes: tuple[dict[str, Any], ...] = (
        {},
        {"links.1.wrenches.1.force": [0, 2, 0]},  # where 1 was: other operations
        {"links.1.wrenches.1.factor.amplitude": 5.0},
        {"links.1.joint.limits.upper": 0.001},
    )
    arms = flexarm.batch(loads(ARM), 4, dt=0.1, device=device, parameters=changes)
    ended = arms.step([1.0])
    for k, change in enumerate(changes):
        alone = flexarm.batch(flexarm.change_arm(loads(ARM), change), 1, dt=0.1)
        gone = alone.step([1.0])
        assert arms.substeps == alone.substeps
        assert np.abs(arms.q[k] - alone.q[0]).max() < 1e-12
        assert ended[k] == gone[0]
    assert ended.tolist() == [False, False, False, True]
    assert len({float(value) for value in arms.q[:3, 0]}) == 3


def test_a_servo_without_a_target_is_not_begun_elsewhere() -> None:
    held = flexarm.change_arm(loads(ARM), {"links.1.joint.servo": {"stiffness": 5, "damping": 1}})
    arms = flexarm.batch(held, 1, dt=0.1)
    arms.step([0.0])
    with pytest.raises(SimulationError, match="a servo without a target"):
        arms.reset(starts=[{"joint1": 0.2}])
    assert arms.t == pytest.approx([0.1])  # and nothing was begun anew


@pytest.mark.few(1)
@pytest.mark.usefixtures("emulated_gpu")
@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_a_free_base_turns_on_and_on(device: Any) -> None:
    """Tips of tumbling arms are those of runs, however often angles are measured anew."""
    body = {"mass": 5, "inertia": [0.4, 0.5, 0.6]}
    spin = {"kind": "free", "body": body}
    arm = flexarm.change_arm(loads(ARM), {"base": spin})
    starts = [{"base.ry.rate": 2.0, "base.rx.rate": 0.3}, {"base.ry.rate": -3.0}]
    arms = flexarm.batch(arm, 2, dt=0.05, device=device)
    arms.reset(starts=starts)
    for _ in range(20):
        assert not arms.step([0.0]).any()
    runs = flexarm.simulate_many(arm, t_end=1.0, starts=starts, rtol=1e-7, method="dop853")
    assert np.abs(arms.reference_attitudes - np.eye(3)).max() > 0.5
    assert np.abs(arms.q[:, 4]).max() < 1.2
    for tip, run in zip(arms.tip(), runs, strict=True):
        assert np.abs(tip - run.tip[-1]).max() < 1e-4 * np.abs(run.tip).max()


def test_what_a_batch_does_not_do_is_refused() -> None:
    braked = flexarm.change_arm(loads(ARM), {"links.1.joint.brake": {"effort": 1}})
    with pytest.raises(SimulationError, match="cannot be simulated in a batch"):
        flexarm.batch(braked, 2, dt=0.1)


@pytest.mark.usefixtures("emulated_gpu")
@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_arrays_are_used_where_they_lie(device: Any) -> None:
    arms, alone = (flexarm.batch(loads(ARM), 3, dt=0.05, device=d) for d in (device, "cpu"))
    lent = arms.in_place()
    t, q, v, u = (np.from_dlpack(each) for each in (lent.t, lent.q, lent.v, lent.u))
    push = np.array([[0.5], [-1.0], [2.0]])
    u[...] = push
    arms.advance()
    alone.step(push)
    assert np.abs(q - alone.q).max() < 1e-12
    assert np.abs(v - alone.v).max() < 1e-10
    assert t[:, 0] == pytest.approx(0.05)
    rows = np.from_dlpack(lent.rows)
    assert rows.flags.c_contiguous
    assert np.array_equal(rows[:, : 1 + q.shape[1]], np.hstack([t, q]))
    q[1, 0] += 0.1  # what is written there counts
    arms.advance(push)
    alone.reset(
        [1], [dict(zip(_named(alone), [*alone.q[1] + [0.1, 0, 0], *alone.v[1]], strict=True))]
    )
    alone.step(push)
    assert np.abs(arms.q - alone.q)[[0, 2]].max() < 1e-12
    assert arms.q[1, 0] == pytest.approx(alone.q[1, 0], abs=1e-3)
    assert np.array_equal(q, arms.q)


def _named(arms: Batch) -> list[str]:
    return [*arms.names, *(f"{name}.rate" for name in arms.names)]


@pytest.mark.usefixtures("emulated_gpu")
def test_what_is_no_array_of_doubles_is_refused_in_words() -> None:
    arms = flexarm.batch(loads(ARM), 3, dt=0.05, device="gpu")
    for wrong in (np.zeros((3, 1), dtype=np.float32), np.zeros((3, 2)), np.zeros((2, 1))):
        with pytest.raises(SimulationError, match=r"u: must be a C-contiguous array of float64"):
            arms.step(wrong)


def test_an_array_lives_as_long_as_it_is_used() -> None:
    values, lent = np.arange(6.0).reshape(2, 3), len(dlpack._lent)
    array = columns_in_place(values, values.ctypes.data, 1, 3, dlpack.CPU, values)
    taken = np.from_dlpack(array)
    assert taken.tolist() == [[1.0, 2.0], [4.0, 5.0]]
    assert len(dlpack._lent) == lent + 1
    array.__dlpack__()  # nobody takes it
    assert len(dlpack._lent) == lent + 1
    del taken
    assert len(dlpack._lent) == lent
    with pytest.raises(BufferError, match="in place"):
        array.__dlpack__(copy=True)
    with pytest.raises(AttributeError, match="memory of a GPU"):
        _ = array.__cuda_array_interface__
    there = columns_in_place(values, 4096, 1, 3, dlpack.CUDA, values)
    described = there.__cuda_array_interface__
    assert described["data"] == (4096 + 8, False)
    assert (described["shape"], described["strides"]) == ((2, 2), (24, 8))
