"""Many runs on the CPU: compiled series of runs in threads, with SIMD lanes."""

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from flexarm.engine.compile import native_width
from flexarm.formulations.numbers import BoundKernel, abreast
from flexarm.integrate.batch.runs import RunArrays
from flexarm.integrate.batch.variations import Variations
from flexarm.integrate.choice.halving import solve_in_equal_steps
from flexarm.integrate.constants import (
    JOB_GROUPS,
    KERNEL_CALL_TIME,
    RECOMPILED_AFTER,
)
from flexarm.integrate.loop import FINISHED, RUNNING, march
from flexarm.integrate.method import Method
from flexarm.integrate.problem import Measures, StateLimit, system_of
from flexarm.integrate.simulate import refuse_states
from flexarm.integrate.solve import first_budget, make_ready, new_state, solve
from flexarm.integrate.state import IntegratorState, StepLimits, start_fields
from flexarm.integrate.system import PIECE, System
from flexarm.integrate.task import InitialValueProblem
from flexarm.integrate.tolerance import step_limits
from flexarm.loops.kernel import kernel
from flexarm.loops.language import DOUBLE, INTEGER, Array, Ints, Record, run_kernel
from flexarm.loops.threads import ThreadRecord

VALUE = 2  # column of a channel's pieces with the value of a constant
COUNTS = 4  # integers stored per run: return code of `march`, and three statistics


@dataclass
class RunSeries(Record):
    """Record of consecutive runs that differ only in a few initial values."""

    m: IntegratorState  # integration of the present run
    restart: int  # address of the kernel that resets the memory for a run
    march: int  # address of the kernel that integrates a run
    memory: Array  # memory of `m` and its arrays
    first: Array  # content of the memory before a run
    numbers: int  # count of values at the start of the memory that are reset for each run
    places: Ints  # indices in `memory` of the numbers that differ between runs
    given: int  # count of the numbers that differ between runs
    values: Array  # the numbers that differ between runs, (count, given)
    lanes: int  # number of runs integrated together
    size: int  # length of the state of each run
    begin: int  # index of the first sample that is stored
    rows: int  # number of samples stored per run
    samples: Array  # stored samples, (count, lanes, rows, size)
    counts: Ints  # return code, steps, rejections and evaluations, (count, COUNTS)
    run: int = 0  # index of the present run
    count: int = 0  # number of runs
    going: int = 0  # 1 within a run, else 0


@kernel
def restart(r: RunSeries) -> int:
    """Reset the memory of the integration to the start of a run; return 0."""
    for i in range(r.numbers):
        r.memory[i] = r.first[i]
    for j in range(r.given):
        r.memory[r.places[j]] = r.values[r.run * r.given + j]
    return 0


@kernel
def keep_run(r: RunSeries) -> None:
    """Copy the samples and step counts of the current run to the arrays of results."""
    row = r.run * COUNTS
    r.counts[row + 1] = r.m.steps
    r.counts[row + 2] = r.m.rejections
    r.counts[row + 3] = r.m.system.evaluations
    for lane in range(r.lanes):
        first = (r.run * r.lanes + lane) * r.rows
        for s in range(r.begin, r.m.recorded):
            for i in range(r.size):
                value = r.m.samples[(s * r.size + i) * r.lanes + lane]
                r.samples[(first + s - r.begin) * r.size + i] = value


@kernel
def march_series(r: RunSeries) -> int:
    """Integrate the remaining runs; return early if a run needs more trial steps than allowed."""
    while r.run < r.count:
        # The kernels are called by address, since the compiler does not know here that they share
        # memory.
        if r.going == 0:
            run_kernel(r.restart, r)
        code = run_kernel(r.march, r.m)
        r.going = 1 if code == RUNNING else 0
        if code == RUNNING:
            return RUNNING
        r.counts[r.run * COUNTS] = code
        keep_run(r)
        r.run += 1
    return 1


def gather_memory(record: Record, arrays: Sequence[Array | Ints], last: Array) -> Array:
    """Move a record and its arrays to one block of memory; return the block.

    Parameters
    ----------
    record
        The record. The fields of the record are replaced by views of the block, and its pointer
        tables are changed to addresses in the block.
    arrays
        Arrays that the record's pointer tables refer to and that are not fields of the record.
    last
        The array that comes last in the block.
    """
    thread = ThreadRecord(record, arrays)
    by_address = {address: member for address, member in thread.by_address.items() if member.size}
    by_address[last.ctypes.data] = by_address.pop(last.ctypes.data)  # moved to the end
    slots = sum(len(member.layout().types) for member in thread.records)
    block = np.zeros(slots + sum(member.size for member in by_address.values()))
    views, end = dict[int, Array | Ints](), slots
    for address, array in by_address.items():
        view: Any = block[end : end + array.size].view(array.dtype)
        view[:], end = array.ravel(), end + array.size
        views[address] = view
    addresses = {address: view.ctypes.data for address, view in views.items()}
    end = 0
    for member in thread.records:
        layout = member.layout()
        for _, name in layout.arrays:
            array = getattr(member, name)
            setattr(member, name, views.get(array.ctypes.data, array))
        for _, name in layout.arrays:
            table = getattr(member, name)
            if table.dtype == INTEGER:
                table[:] = [addresses.get(address, address) for address in table.tolist()]
        member.move_to(block[end : end + len(layout.types)])
        end += len(layout.types)
    return block


GoOn = Callable[[float], None]


@dataclass(frozen=True)
class LaneProblem(InitialValueProblem):
    """Initial-value problems of several arms, integrated with common steps in SIMD lanes."""

    lanes: tuple[InitialValueProblem, ...] = ()
    compiled: BoundKernel | None = None  # compiled equations of all lanes

    @cached_property
    def measures(self) -> Measures:
        """Quantities that scale the integration errors, for all lanes in sequence."""
        lanes, width = [lane.measures for lane in self.lanes], len(self.lanes)
        first = np.cumsum([0, *(len(m.floor) for m in lanes)])
        return Measures(
            np.concatenate([_spread(m.rows, lane, width) for lane, m in enumerate(lanes)]),
            np.concatenate([_spread(m.rate_rows, lane, width) for lane, m in enumerate(lanes)]),
            np.concatenate([m.to_modes for m in lanes]),
            np.concatenate([m.frequencies for m in lanes]),
            np.concatenate([m.group + start for m, start in zip(lanes, first, strict=False)]),
            np.concatenate([m.floor for m in lanes]),
            np.concatenate([m.rate_floor for m in lanes]),
            np.concatenate([m.pace for m in lanes]),
            tuple(kind for m in lanes for kind in m.deflects),
            np.concatenate([m.energy_floor for m in lanes]),
        )

    @cached_property
    def state_limits(self) -> tuple[StateLimit, ...]:
        """Quantities at whose bounds a run ends, for all lanes in sequence."""
        return tuple(
            replace(limit, row=_spread(limit.row, lane, len(self.lanes)))
            for lane, problem in enumerate(self.lanes)
            for limit in problem.state_limits
        )

    @property
    def state(self) -> Array:
        """Initial states of all lanes, interleaved: each entry for lane 1, lane 2 and so on."""
        return np.stack([lane.state for lane in self.lanes], axis=1).ravel()

    def joined(self) -> tuple[System, dict[str, Array]]:
        """Return the compiled equations of all lanes as one system, and their argument arrays."""
        assert self.compiled is not None
        return system_of(self.equation, self.compiled, self.groups, lanes=len(self.lanes))


def compile_abreast(tasks: Sequence[InitialValueProblem]) -> BoundKernel | None:
    """Compile the equations of several arms for SIMD registers, one arm per lane.

    Return None if the arms cannot share compiled code: if their equations have different
    operations, or if one of them has a free base, a spherical joint, a control law, a servo or a
    contact.
    """
    for task in tasks:
        model, motion = task.equation.model, task.motion
        if motion.law is not None or motion.actuators.key or model.attitudes or model.arm.contacts:
            return None
    members = [task.motion.compiled() for task in tasks]
    return abreast([member for member in members if isinstance(member, BoundKernel)])


def lane_state(tasks: Sequence[InitialValueProblem], method: Method) -> IntegratorState | None:
    """Return the integrator state of several arms with common steps, one arm per lane.

    The step size suits the arm that needs the shortest steps. Return None if the arms cannot be
    integrated together. A single arm gets the usual integrator state, without lanes.
    """
    if len(tasks) == 1:
        return new_state(tasks[0], method, tasks[0].rtol)
    compiled = compile_abreast(tasks)
    if compiled is None:
        return None
    groups = tuple(
        [channel for channels in zip(*limit, strict=True) for channel in channels]
        for limit in zip(*(task.groups for task in tasks), strict=True)
    )
    problem = LaneProblem(
        **{limit.name: getattr(tasks[0], limit.name) for limit in fields(tasks[0])}
        | {"groups": groups, "lanes": tuple(tasks), "compiled": compiled}
    )
    limits = [step_limits(task, method, task.rtol) for task in tasks]
    strictest = StepLimits(
        min(limit.tolerance for limit in limits),
        min(limit.first for limit in limits),
        min(limit.largest for limit in limits),
    )
    state: IntegratorState = method.begin(start_fields(problem, method, strictest))
    return state


def _spread(rows: Array, lane: int, width: int) -> Array:
    wide = np.zeros((*rows.shape, width))
    wide[..., lane] = rows
    return wide.reshape(*rows.shape[:-1], -1)


class RunBlock:
    """Block of memory in which compiled code computes runs, one group of SIMD lanes at a time.

    Parameters
    ----------
    m
        Integrator state at the start of one group.
    lanes
        Number of runs of a group.
    inputs
        Indices of the channels with constant inputs that differ from run to run.
    rows
        Number of samples stored per run: all, or 1 for the last one.
    """

    def __init__(self, m: IntegratorState, lanes: int, inputs: Sequence[int], rows: int) -> None:
        self.lanes, self.size, self.rows = lanes, m.size // lanes, rows
        m.budget = first_budget(m)
        first_pieces = m.system.first
        memory = gather_memory(m, [*m.buffers.values()], m.samples)

        def offset(array: Array) -> int:
            return (array.ctypes.data - memory.ctypes.data) // DOUBLE.itemsize

        offsets = [offset(array) + np.arange(m.size) for array in (m.y, m.y_old)]
        channels = [c * lanes + lane for c in inputs for lane in range(lanes)]
        offsets.append(offset(m.system.pieces) + first_pieces[channels] * PIECE + VALUE)
        m.pack()
        self._m, self._memory = m, memory
        self._series = RunSeries(
            m=m, restart=restart.address, march=march.address, memory=memory,
            first=memory[: offset(m.samples)].copy(), numbers=offset(m.samples),
            places=np.concatenate(offsets).astype(np.int64), given=sum(map(len, offsets)),
            values=np.zeros(1), lanes=lanes, size=self.size, begin=m.sample_count - rows, rows=rows,
            samples=np.zeros(1), counts=np.zeros(1, dtype=np.int64),
        )  # fmt: skip

    def run(self, states: Array, inputs: Array, samples: Array, go_on: GoOn) -> tuple[Ints, Array]:
        """Compute groups of runs; return exit codes, step counts and times [s], one per group.

        Parameters
        ----------
        states, inputs
            Initial states, (runs, size), and constant inputs, (runs, inputs).
        samples
            Array (runs, rows, size) for the states at the samples.
        go_on
            Function that is called every few runs; an exception that it raises stops the
            computation.
        """
        r, count = self._series, len(states) // self.lanes
        y, u = (
            np.reshape(x, (count, self.lanes, -1)).transpose(0, 2, 1).reshape(count, -1)
            for x in (states, inputs)
        )
        r.values = np.concatenate([y, y, u], axis=1).ravel()
        r.samples, r.counts = samples.reshape(-1), np.zeros(count * COUNTS, dtype=np.int64)
        r.run, r.count, r.going = 0, 0, 0
        seconds = np.zeros(count)
        portion = 1
        while r.run < count:
            first_run, start_time, cpu_start = r.run, time.perf_counter(), time.thread_time()
            if r.going == 0:
                r.count = min(count, r.run + portion)
            march_series(r)
            attempts = self._m.steps + self._m.rejections
            if r.going and self._m.method.proven and attempts > RECOMPILED_AFTER - self._m.budget:
                r.run, r.going = r.run + 1, 0  # a long run, which Python finishes
            elapsed = time.perf_counter() - start_time
            cpu_time = time.thread_time() - cpu_start
            seconds[first_run : r.run + r.going] += cpu_time / (r.run + r.going - first_run)
            portion = max(1, min(2 * portion, int(portion * KERNEL_CALL_TIME / max(elapsed, 1e-6))))
            go_on(0.0)
        return r.counts.reshape(-1, COUNTS), seconds


@dataclass(eq=False)
class EqualRuns:
    """Groups of runs that one compiled program can compute in the same block of memory."""

    runs: Ints | range  # numbers of the runs, group after group
    tasks: tuple[InitialValueProblem, ...]  # problem of each lane
    blocks: list[RunBlock] | None  # memory that no thread uses now; None if runs need Python


class CoreRuns:
    """Computation of many runs of an arm by threads of the CPU.

    Parameters
    ----------
    variations
        Initial states, inputs and parameters of the runs.
    method
        Integrator of all runs.
    rows
        Number of samples stored per run: all, or 1 for the last one.
    workers
        Number of threads; one per core if None.
    """

    def __init__(
        self, variations: Variations, method: Method, rows: int, workers: int | None = None
    ) -> None:
        for task in variations.bases:
            refuse_states(method, task)
        # CasADi is not thread-safe: compile all equations before the threads start.
        for task in {id(task.motion): task for task in variations.bases}.values():
            make_ready(new_state(task, method, task.rtol))
        self.variations, self.method, self._rows = variations, method, rows
        self.width = native_width() if method.abreast else 1
        self._workers = workers or os.cpu_count() or 1
        self._inputs = variations.input_channels()
        self._cancelled = threading.Event()

    def solve(self, rows: slice, results: RunArrays) -> Iterator[int]:
        """Compute the runs `rows`, write them to `results`, and yield how many are finished.

        The index of the first run must be a multiple of the number of SIMD lanes.
        """
        jobs = (
            (equal, np.array(equal.runs[first : first + JOB_GROUPS * len(equal.tasks)]))
            for equal in self._equal_runs(rows)
            for first in range(0, len(equal.runs), JOB_GROUPS * len(equal.tasks))
        )
        futures = list[Future[int]]()
        with ThreadPoolExecutor(self._workers) as pool:
            try:
                for job in jobs:
                    futures.append(pool.submit(self._job, *job, results))
                    if len(futures) > 2 * self._workers:
                        yield futures.pop(0).result()
                for future in futures:
                    yield future.result()
            except BaseException:  # Ctrl-C: do not wait for other jobs
                self._cancelled.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _equal_runs(self, rows: slice) -> Iterator[EqualRuns]:
        """Yield groups of runs that compiled code can compute one after the other."""
        problems = self.variations.problem_of[rows]
        runs: Ints | range = range(rows.start, rows.stop)
        if np.any(problems[1:] < problems[:-1]):
            order = np.argsort(problems, kind="stable")
            problems, runs = problems[order], rows.start + order
        full = len(problems) // self.width * self.width if self.width > 1 else 0
        for begin, end, width in ((0, full, self.width), (full, len(problems), 1)):
            groups = problems[begin:end].reshape(-1, width)
            changes = np.flatnonzero(np.any(groups[1:] != groups[:-1], axis=1)) + 1
            ends = [*changes.tolist(), len(groups)] if len(groups) else []
            for first, last in zip([0, *ends], ends, strict=False):
                some = runs[begin + first * width : begin + last * width]
                yield from self._equal_runs_of(some, groups[first].tolist())

    def _equal_runs_of(self, runs: Ints | range, problems: list[int]) -> Iterator[EqualRuns]:
        """Yield groups of runs with the same arm; one run per lane if lanes can share steps."""
        problem_by_index = {k: self.variations.problem(k) for k in problems}
        tasks = tuple(problem_by_index[k] for k in problems)
        block = self._block(tasks)
        if block is not None or len(problems) == 1:
            yield EqualRuns(runs, tasks, None if block is None else [block])
        elif len(problem_by_index) == 1:
            yield from self._equal_runs_of(runs, problems[:1])
        else:
            for k in range(len(runs)):
                yield from self._equal_runs_of(runs[k : k + 1], [problems[k % len(problems)]])

    def _block(self, tasks: Sequence[InitialValueProblem]) -> RunBlock | None:
        """Return memory for runs in SIMD lanes; None if the runs need Python between steps."""
        acting = [task.motion.actuators for task in tasks]
        if not self.method.adaptive or any(x.event_functions or x.sampled for x in acting):
            return None
        m = lane_state(tasks, self.method)
        return None if m is None else RunBlock(m, len(tasks), self._inputs, self._rows)

    def _job(self, equal: EqualRuns, runs: Ints, results: RunArrays) -> int:
        """Compute part of a group of runs in one thread, and return the number of runs computed."""
        numbers = runs
        if equal.blocks is not None:
            numbers = self._in_series(equal.blocks, equal.tasks, runs, results)
            if len(numbers) and len(equal.tasks) > 1 and len({*map(id, equal.tasks)}) == 1:
                numbers = self._in_series([], equal.tasks[:1], numbers, results)
        for k in numbers.tolist():
            task = self.variations.of_run(k)
            if self.method.adaptive:
                solution = solve(new_state(task, self.method, task.rtol), self._check_cancelled)
            else:
                solution = solve_in_equal_steps(task, self.method, task.rtol, self._check_cancelled)
            results.keep(k - results.first, solution, task.times)
        return len(runs)

    def _in_series(
        self, blocks: list[RunBlock], tasks: Sequence[InitialValueProblem], runs: Ints,
        results: RunArrays,
    ) -> Ints:  # fmt: skip
        """Compute runs in compiled code; return the indices of those that Python has to finish."""
        try:
            block = blocks.pop()
        except IndexError:  # other threads use all blocks
            new_block = self._block(tasks)
            assert new_block is not None
            block = new_block
        states, rows = self.variations.states(runs)[:, : block.size], runs - results.first
        samples, part = results.samples, slice(rows[0], rows[-1] + 1)
        in_place = samples.shape[2] == block.size and bool(np.all(np.diff(rows) == 1))
        states_of_samples = (
            samples[part] if in_place else np.empty((len(runs), block.rows, block.size))
        )
        counts, seconds = block.run(
            states, self.variations.input_values(runs), states_of_samples, self._check_cancelled
        )
        if not in_place:
            samples[rows, :, : block.size], samples[rows, :, block.size :] = (
                states_of_samples,
                np.nan,
            )
        results.statistics[rows] = np.repeat(counts[:, 1:], block.lanes, axis=0)
        results.seconds[rows] = np.repeat(seconds / block.lanes, block.lanes)
        blocks.append(block)
        return np.asarray(runs[np.repeat(counts[:, 0] != FINISHED, block.lanes)])

    def _check_cancelled(self, t: float) -> None:
        if self._cancelled.is_set():
            raise KeyboardInterrupt  # stops the present run
