"""Many runs on a GPU, one run per thread, by the integration loop used on the CPU."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from flexarm.engine.gpu.cuda import GpuArray, GpuKernel, GpuMemory, gpu
from flexarm.engine.gpu.ptx import GROUP
from flexarm.errors import SimulationError
from flexarm.formulations.numbers import BoundKernel
from flexarm.integrate.batch.cores import VALUE
from flexarm.integrate.batch.runs import COUNTED, RunArrays
from flexarm.integrate.batch.variations import Variations, distinct, equal_groups
from flexarm.integrate.choice.halving import refinement
from flexarm.integrate.constants import (
    GPU_MEMORY_SHARE,
    LAUNCH_OPERATIONS,
    PORTION_RUNS,
    UPLOADED_RUNS,
)
from flexarm.integrate.loop import FINISHED, RUNNING, march
from flexarm.integrate.method import Method
from flexarm.integrate.methods import METHODS
from flexarm.integrate.solve import Solution, after_march, collect, make_ready, new_state
from flexarm.integrate.state import IntegratorState
from flexarm.integrate.system import PIECE
from flexarm.integrate.task import InitialValueProblem
from flexarm.loops.language import DOUBLE, Ints, LoopSource
from flexarm.loops.ptx import ENTRY, CalledEquations, GpuProgram, gpu_program, interleaved
from flexarm.loops.threads import ThreadRecord
from flexarm.spatial import Array

DONE = -1  # exit code of a run that Python has ended


def refuse_on_gpu(method: Method, tasks: Sequence[InitialValueProblem]) -> None:
    """Raise an error if a GPU cannot run the method or an arm, or if there is no GPU."""
    if not method.on_gpu:
        suitable = ", ".join(item.name for item in METHODS.values() if item.on_gpu)
        raise SimulationError(
            f"device: method '{method.name}' cannot run on a GPU. Use one of {suitable}, or device "
            "'cpu'."
        )
    for motion in {id(task.motion): task.motion for task in tasks}.values():
        servos = motion.actuators.servos
        for feature, present in (
            ("may touch something", bool(motion.equation.model.arm.contacts)),
            ("has drives with play or current limits", bool(motion.actuators.event_functions)),
            ("has sampled servos", any(servo.servo.period is not None for servo in servos)),
        ):
            if present:
                raise SimulationError(
                    f"device: an arm that {feature} cannot be simulated on a GPU. Use device 'cpu'."
                )
    gpu().enter()


@dataclass(eq=False)
class GpuRun:
    """One run on a GPU: initial-value problem, method and solution."""

    # task: initial-value problem. method: integration method. step: length of equal steps [s], None
    # for an adaptive method.
    task: InitialValueProblem
    method: Method
    step: float | None = None
    # m: integrator state on the CPU, built on demand. reference_attitudes: reference attitudes of
    # the angles, with the index of the first sample of each.
    m: IntegratorState | None = None
    reference_attitudes: list[tuple[int, Array]] = field(default_factory=list)
    solution: Solution | None = None  # set when the run has ended

    @property
    def equations(self) -> dict[str, tuple[BoundKernel, str]]:
        """Compiled functions that the method calls, by name of the record field for the address.

        Each value is a pair: the compiled function, and the name of the record field that contains
        the table of pointers to the function's arguments.
        """
        motion = self.task.motion
        functions = {"equations": (motion.compiled(), "table")}
        if self.method.solves_vibrations:
            functions["matrices"] = (motion.matrices(), "matrix_table")
        return {
            key: (function, table)
            for key, (function, table) in functions.items()
            if isinstance(function, BoundKernel)  # functions whose parameters are inputs
        }

    @property
    def structure(self) -> tuple[int, ...]:
        """Key of the compiled functions; runs with equal keys use the same GPU kernel."""
        return tuple(id(member.structure) for member, _ in self.equations.values())

    def begin(self) -> IntegratorState:
        """Build the integrator state at the start of the run."""
        return new_state(self.task, self.method, self.task.rtol, self.step)

    def thread(self, m: IntegratorState) -> ThreadRecord:
        """Return the integrator state with all its arrays, as the data of one GPU thread."""
        constants = [
            array for function, _ in self.equations.values() for array in function.constants
        ]
        return ThreadRecord(m, [*m.buffers.values(), *constants])

    def after(self, code: int, row: Array, samples: Array, program: GpuProgram) -> bool:
        """Handle the exit code of a kernel launch; return whether the run goes on.

        While the run goes on, the arrays ``row`` (integrator state) and ``samples`` are updated. At
        the end of the run, its solution is stored.
        """
        if self.m is None:
            self.m = make_ready(self.begin())
            self.reference_attitudes = [
                (0, np.array(self.task.equation.reference_attitude, dtype=float))
            ]
        m, thread = self.m, self.thread(self.m)
        program.take(row, thread)
        m.samples[:] = samples[: len(m.samples)]
        ending = after_march(m, self.reference_attitudes, None, code)
        if ending is not None:
            self.solution = collect(m, self.reference_attitudes, ending, 0.0)
        row[:] = program.row(thread)
        samples[: len(m.samples)] = m.samples
        return ending is None


class GpuGroup:
    """Runs with equal equations, computed by one GPU kernel.

    Parameters
    ----------
    firsts
        Template runs: every run of the group equals one of the templates except for initial state
        and constant inputs.
    inputs
        Indices of the channels with constant inputs that differ from run to run.
    """

    def __init__(self, firsts: Sequence[GpuRun], inputs: Sequence[int] = ()) -> None:
        states = [(run, run.begin()) for run in firsts]
        budget = 20 + LAUNCH_OPERATIONS // (firsts[0].task.motion.compiled().operations + 1000)
        for _, m in states:
            m.budget = budget
        threads = [run.thread(m) for run, m in states]
        self.program = _program(firsts[0], threads, ("pieces",) if inputs else ())
        self.kernel = GpuKernel(self.program.ptx(), ENTRY, self.program.block, self.program.near)
        m = states[0][1]
        self.size, self.samples = m.size, m.sample_count
        self.templates = np.array([self.program.row(thread) for thread in threads])
        pieces = self.program.place("pieces").start
        self.inputs = [pieces + int(m.system.first[c]) * PIECE + VALUE for c in inputs]

    @property
    def most(self) -> int:
        """Number of runs whose data fit into the free GPU memory."""
        bytes_per_run = DOUBLE.itemsize * (self.program.size + self.samples * self.size)
        return max(GROUP, int(GPU_MEMORY_SHARE * gpu().free / bytes_per_run) // GROUP * GROUP)

    def solve(
        self, first_index: Ints, states: Array, inputs: Array, results: RunArrays, numbers: Ints,
        run_of: Callable[[int], GpuRun],
    ) -> Iterator[int]:  # fmt: skip
        """Compute runs in portions that fit into GPU memory; yield how many have ended.

        Parameters
        ----------
        first_index, states, inputs
            Index of each run's template, initial states, (count, size), and constant inputs,
            (count, inputs).
        results, numbers
            Arrays of the results, and the index of each run in them.
        run_of
            Function that returns a run by its index in the results, to continue the run in Python.
        """
        portion_size = self.most
        for first in range(0, len(numbers), portion_size):
            rows = slice(first, first + portion_size)
            portion = _Portion(self, results, numbers[rows], run_of)
            try:
                portion.begin(first_index[rows], states[rows], inputs[rows])
                yield from portion.march()
            finally:
                portion.free()


class _Portion:
    """Runs whose data are in GPU memory at the same time."""

    def __init__(
        self, group: GpuGroup, results: RunArrays, numbers: Ints, run_of: Callable[[int], GpuRun]
    ) -> None:
        self.group, self.results, self.numbers, self.run_of = group, results, numbers, run_of
        count, size = len(numbers), group.program.size
        self.blocks, self.stride = -(-count // GROUP), size * GROUP
        self.width = group.samples * group.size
        self.codes = GpuArray(np.zeros(count, dtype=np.int64))
        self.image = GpuMemory(self.blocks * self.stride)
        self.samples = GpuMemory(count * self.width)
        self.handled: dict[int, GpuRun] = {}  # runs that Python continues or has ended

    def free(self) -> None:
        """Free the GPU memory of the runs."""
        for array in (self.codes, self.image, self.samples):
            array.free()

    def begin(self, first_index: Ints, states: Array, inputs: Array) -> None:
        """Write the initial integrator states of all runs to the GPU."""
        group, count = self.group, len(first_index)
        if len(group.templates) == 1:
            self.image.repeat(np.repeat(group.templates[0], GROUP), self.blocks)
        for first in range(0, count if len(group.templates) > 1 else 0, UPLOADED_RUNS):
            rows = interleaved(group.templates[first_index[first : first + UPLOADED_RUNS]])
            self.image.put(rows.reshape(1, -1), first * group.program.size, rows.size)
        places = [group.program.place(name).start for name in ("y", "y_old")]
        self._put(places, states[:, : group.size])
        for place, values in zip(group.inputs, inputs.T, strict=True):
            self._put([place], values[:, None])

    def _put(self, places: Sequence[int], values: Array) -> None:
        """Write numbers (count, width) of all runs to an offset in each run's GPU memory."""
        rows = interleaved(values).reshape(self.blocks, -1)
        for place in places:
            self.image.put(rows, place * GROUP, self.stride)

    def march(self) -> Iterator[int]:
        """Integrate all runs of the portion, fetch the results, and yield how many have ended."""
        codes, elapsed, ended_before = self.codes.values, 0.0, 0
        while np.any(codes == RUNNING):
            start_time = time.perf_counter()
            self.group.kernel.launch(len(codes), [self.codes, self.image, self.samples])
            gpu().finish()
            elapsed += time.perf_counter() - start_time
            self.codes.fetch()
            returned = np.isin(codes, (RUNNING, FINISHED, DONE), invert=True)
            continued = [k for k in self.handled if codes[k] == FINISHED]
            for k in (*np.flatnonzero(returned).tolist(), *continued):
                codes[k] = RUNNING if self._continues(k, int(codes[k])) else DONE
            self.codes.send()
            ended = int(np.sum(codes != RUNNING))
            ended_before, newly_ended = ended, ended - ended_before
            yield newly_ended
        self._collect(elapsed / max(len(codes), 1))

    def _continues(self, k: int, code: int) -> bool:
        """Handle the exit code of a run in Python; return whether the run goes on."""
        run = self.handled.setdefault(k, self.run_of(int(self.numbers[k])))
        stride, offset = self.stride, k // GROUP * self.stride
        block = self.image.get(np.empty((1, stride)), offset, stride)
        row = block.reshape(-1, GROUP)[:, k % GROUP].copy()
        samples = self.samples.get(np.empty((1, self.width)), k * self.width, self.width)
        if not run.after(code, row, samples[0], self.group.program):
            return False
        block.reshape(-1, GROUP)[:, k % GROUP] = row
        self.image.put(block, offset, stride)
        self.samples.put(samples, k * self.width, self.width)
        return True

    def _collect(self, seconds: float) -> None:
        """Copy samples and step counts of all runs from GPU memory to the results."""
        results, numbers, size = self.results, self.numbers, self.group.size
        rows, count = results.samples.shape[1], len(numbers)
        first = (self.group.samples - rows) * size
        part = slice(int(numbers[0]), int(numbers[-1]) + 1)
        in_place = results.samples.shape[2] == size and part.stop - part.start == count
        samples = results.samples[part] if in_place else np.empty((count, rows, size))
        self.samples.get(samples.reshape(count, -1), first, self.width)
        if not in_place:
            results.samples[numbers, :, :size], results.samples[numbers, :, size:] = samples, np.nan
        for k, name in enumerate(COUNTED):
            offset = self.group.program.place(name).start * GROUP
            counts = self.image.get(np.empty((self.blocks, GROUP)), offset, self.stride)
            results.statistics[numbers, k] = counts.view(np.int64).ravel()[:count]
        results.seconds[numbers] = seconds
        for k, run in self.handled.items():
            assert run.solution is not None
            solution = replace(run.solution, seconds=seconds)
            results.keep(int(numbers[k]), solution, run.task.times)


class GpuRuns:
    """Computation of many runs of an arm on a GPU."""

    def __init__(self, variations: Variations, method: Method) -> None:
        refuse_on_gpu(method, variations.bases)
        self._variations, self._method = variations, method
        self._groups: dict[tuple[int, ...], GpuGroup] = {}  # latest group, by its problems

    def solve(self, rows: slice, results: RunArrays) -> Iterator[int]:
        """Compute the runs `rows`, write them to `results`, and yield how many have ended.

        Runs with adaptive steps are computed in portions, since the initial states and indices of
        all runs would need more memory than the final states.
        """
        if not self._method.adaptive:
            yield from self._in_equal_steps(rows, results)
            return
        count, portion_size = rows.stop - rows.start, PORTION_RUNS["gpu"]
        for first in range(0, count, portion_size):
            part = slice(first, min(first + portion_size, count))
            yield from self._adaptive(rows.start + first, results.part(part))

    def _adaptive(self, first: int, results: RunArrays) -> Iterator[int]:
        """Compute runs with adaptive steps, from index `first` on; yield how many have ended."""
        variations = self._variations
        rows = slice(first, first + len(results.samples))
        problems, which = np.unique(variations.problem_of[rows], return_inverse=True)
        firsts = [GpuRun(variations.problem(k), self._method) for k in problems.tolist()]
        for members in equal_groups(distinct(run.structure for run in firsts)):
            numbers = np.flatnonzero(np.isin(which, members))
            key = tuple(problems[members].tolist())
            if key not in self._groups:
                group = GpuGroup([firsts[k] for k in members], variations.input_channels())
                self._groups = {key: group}
            yield from self._groups[key].solve(
                np.searchsorted(members, which[numbers]), variations.states(first + numbers),
                variations.input_values(first + numbers), results, numbers,
                lambda k: GpuRun(variations.of_run(first + k), self._method),
            )  # fmt: skip

    def _in_equal_steps(self, rows: slice, results: RunArrays) -> Iterator[int]:
        """Compute runs with a fixed step, which is shortened until the tolerance is met."""
        tasks = [self._variations.of_run(k) for k in range(rows.start, rows.stop)]
        refinements = [refinement(task, self._method, task.rtol) for task in tasks]
        steps = {k: next(generator) for k, generator in enumerate(refinements)}
        part = RunArrays.empty(len(tasks), len(tasks[0].times), self._variations.size)
        while steps:
            part.special.clear()
            runs = {k: GpuRun(tasks[k], self._method, step) for k, step in steps.items()}
            for members in equal_groups(distinct(run.structure for run in runs.values())):
                numbers = np.array(list(runs))[members]
                group = GpuGroup([runs[k] for k in numbers.tolist()])
                states = np.array([runs[k].task.state for k in numbers.tolist()])
                no_inputs = np.zeros((len(members), 0))
                for _ in group.solve(np.arange(len(members)), states, no_inputs, part, numbers,
                                     runs.__getitem__):  # fmt: skip
                    pass
            for k in list(steps):
                try:
                    solution = part.solution(k, tasks[k], tasks[k].times, part.samples[k])
                    steps[k] = refinements[k].send(solution)
                except StopIteration as end:
                    results.keep(k, end.value, tasks[k].times)
                    del steps[k]
                    yield 1


def _program(run: GpuRun, threads: Sequence[ThreadRecord], changing: tuple[str, ...]) -> GpuProgram:
    """Build the GPU program of the integration loop for runs with equal equations."""
    method = run.method
    functions: dict[str, LoopSource | CalledEquations] = {"step": method.step}
    # If the method has no sample kernel, nothing calls this function.
    functions["sample"] = method.sample or method.step
    for key, (member, table) in run.equations.items():
        functions[key] = CalledEquations(member.structure.body, table, ("reference_attitude",))
    return gpu_program(
        march, threads, functions, changing=("budget", *changing), outside=("samples",)
    )
