"""Many runs on a GPU, one run per thread, in the integration loop that all methods share."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from flexarm.engine.gpu.cuda import GpuArray, GpuKernel, gpu
from flexarm.errors import SimulationError
from flexarm.formulations.numbers.structures import BoundKernel
from flexarm.integrate.batch.runs import RunArrays
from flexarm.integrate.batch.variations import Variations
from flexarm.integrate.choice.halving import refinement
from flexarm.integrate.loop import FINISHED, RUNNING, march
from flexarm.integrate.method import Method
from flexarm.integrate.methods import METHODS
from flexarm.integrate.solve import Solution, after_march, collect, make_ready, new_state
from flexarm.integrate.state import IntegratorState
from flexarm.integrate.task import InitialValueProblem
from flexarm.links.base import Array
from flexarm.loops.kernel_text import ENTRY
from flexarm.loops.language import DOUBLE, LoopSource
from flexarm.loops.ptx import CalledEquations, GpuProgram, gpu_program, interleaved, rows_of
from flexarm.loops.threads import ThreadRecord

WORK = 40_000_000  # approximate operations of a thread in one kernel launch
SHARE = 0.4  # fraction of the free GPU memory that a portion uses
DONE = -1  # code of a run that has ended


def refuse_on_gpu(method: Method, tasks: Sequence[InitialValueProblem]) -> None:
    """Raise an error if a GPU cannot run the method or an arm, or if there is no GPU."""
    if not method.on_gpu:
        able = ", ".join(each.name for each in METHODS.values() if each.on_gpu)
        raise SimulationError(
            f"device: method '{method.name}' cannot run on a GPU. Use one of {able}, or device "
            "'cpu'."
        )
    for motion in {id(task.motion): task.motion for task in tasks}.values():
        servos = motion.actuators.servos
        for what, there in (
            ("may touch something", bool(motion.equation.model.arm.contacts)),
            ("has drives with play or current limits", bool(motion.actuators.lookouts)),
            ("has sampled servos", any(each.servo.period is not None for each in servos)),
        ):
            if there:
                raise SimulationError(
                    f"device: an arm that {what} cannot be simulated on a GPU. Use device 'cpu'."
                )
    gpu().enter()


def solve_on_gpu(
    tasks: Sequence[InitialValueProblem],
    method: Method,
    progress: Callable[[int], None] | None = None,
) -> list[Solution]:
    """Solve initial value problems on a GPU; problems with equal operations share a kernel.

    `progress` is called with the number of problems that are solved.
    """
    refuse_on_gpu(method, tasks)
    done = progress or (lambda count: None)
    if method.adaptive:
        return _solve([GpuRun(task, method) for task in tasks], done)
    asked = [refinement(task, method, task.wanted) for task in tasks]
    steps = {k: next(each) for k, each in enumerate(asked)}
    found: dict[int, Solution] = {}
    while steps:
        runs = [GpuRun(tasks[k], method, step) for k, step in steps.items()]
        for k, solution in zip(list(steps), _solve(runs, lambda count: None), strict=True):
            try:
                steps[k] = asked[k].send(solution)
            except StopIteration as end:
                found[k] = end.value
                del steps[k]
        done(len(found))
    return [found[k] for k in range(len(tasks))]


class GpuRuns:
    """Runs of variations on a GPU."""

    def __init__(self, variations: Variations, method: Method, rows: int) -> None:
        refuse_on_gpu(method, variations.bases)
        self._variations, self._method = variations, method

    def solve(self, rows: slice, results: RunArrays) -> Iterator[int]:
        """Compute runs `rows`, of whose arrays `results` is the part; yield how many."""
        tasks = [self._variations.of_run(k) for k in range(rows.start, rows.stop)]
        for k, found in enumerate(solve_on_gpu(tasks, self._method)):
            results.keep(k, found, tasks[k].times)
        yield len(tasks)


def _solve(runs: Sequence["GpuRun"], progress: Callable[[int], None]) -> list[Solution]:
    """Run groups of equal structure one after the other; return solutions in the order of runs."""
    groups: dict[tuple[int, ...], list[GpuRun]] = {}
    for run in runs:
        groups.setdefault(run.structure, []).append(run)
    done = 0
    for group in groups.values():
        together = GpuGroup(group)
        for some in together.portions():
            for ended in together.solve(some):
                progress(done + ended)
            done += len(group[some])
    return [run.solution for run in runs if run.solution is not None]


@dataclass(eq=False)
class GpuRun:
    """One run on a GPU: its problem, its method and its solution."""

    # task, method, step: problem, integration method, and length of equal steps [s], None for an
    # adaptive method.
    task: InitialValueProblem
    method: Method
    step: float | None = None
    # m, anchors: integrator state on the CPU, built when it is needed; reference attitudes of the
    # angles, by index of the first sample.
    m: IntegratorState | None = None
    anchors: list[tuple[int, Array]] = field(default_factory=list)
    solution: Solution | None = None  # set when the run has ended

    @property
    def equations(self) -> dict[str, tuple[BoundKernel, str]]:
        """Compiled functions that the method calls, by the record field of the function's address.

        Each function is paired with the record field of its pointer table.
        """
        motion = self.task.motion
        listed = {"equations": (motion.compiled(), "table")}
        if self.method.solves_vibrations:
            listed["matrices"] = (motion.matrices(), "matrix_table")
        return {
            key: (each, table)
            for key, (each, table) in listed.items()
            if isinstance(each, BoundKernel)  # true of functions whose numbers are inputs
        }

    @property
    def structure(self) -> tuple[int, ...]:
        """Key of the compiled functions; runs with equal keys share a kernel."""
        return tuple(id(member.structure) for member, _ in self.equations.values())

    @property
    def kind(self) -> tuple[object, ...]:
        """Key that is equal for runs that differ in their initial state only."""
        task = self.task
        shared = (task.motion, task.vibration, task.groups, task.measures, task.watches)
        return (*map(id, shared), task.wanted, self.step)

    def begin(self) -> IntegratorState:
        """Build the integrator state of the run at its start."""
        return new_state(self.task, self.method, self.task.wanted, self.step)

    def thread(self, m: IntegratorState) -> ThreadRecord:
        """Return the integrator state as a thread record, with all arrays the state points to."""
        constants = [array for each, _ in self.equations.values() for array in each.constants]
        return ThreadRecord(m, [*m.buffers.values(), *constants])

    def after(self, code: int, row: Array, samples: Array, program: GpuProgram) -> bool:
        """Handle the exit code of a kernel launch; return whether the run goes on.

        ``row`` and ``samples`` are updated if the run goes on, and the solution is set if it ends.
        """
        if self.m is None:
            self.m = make_ready(self.begin())
            self.anchors = [(0, np.array(self.task.equation.anchor, dtype=float))]
        m, thread = self.m, self.thread(self.m)
        program.take(row, thread)
        m.samples[:] = samples[: len(m.samples)]
        ending = after_march(m, self.anchors, None, code)
        if ending is not None:
            self.solution = collect(m, self.anchors, ending, 0.0)
        row[:] = program.row(thread)
        samples[: len(m.samples)] = m.samples
        return ending is None


class GpuGroup:
    """Runs of equal structure, computed by one GPU kernel."""

    def __init__(self, runs: Sequence[GpuRun]) -> None:
        self.runs = runs
        firsts: dict[tuple[object, ...], GpuRun] = {}
        kinds = [run.kind for run in runs]
        for kind, run in zip(kinds, runs, strict=True):
            firsts.setdefault(kind, run)
        begun = [(run, run.begin()) for run in firsts.values()]
        budget = 20 + WORK // (runs[0].task.motion.compiled().operations + 1000)
        for _, m in begun:
            m.budget = budget
        threads = [run.thread(m) for run, m in begun]
        self.program = _program(runs[0], threads)
        program = self.program
        self.kernel = GpuKernel(program.ptx(), ENTRY, program.block, program.near)
        self.width = max(len(m.samples) for _, m in begun)
        numbers = {kind: k for k, kind in enumerate(firsts)}
        self._which = np.array([numbers[kind] for kind in kinds])
        self._templates = np.array([self.program.row(thread) for thread in threads])

    def portions(self, count: int | None = None) -> list[slice]:
        """Return slices of the runs, or of ``count`` runs, each of which fits in GPU memory."""
        each = DOUBLE.itemsize * (self.program.size + self.width)
        most = max(1, int(SHARE * gpu().free / each))
        return [slice(k, k + most) for k in range(0, count or len(self.runs), most)]

    def rows(self, some: slice) -> Array:
        """Return the record entries of the selected runs at their start, one row per run."""
        rows = self._templates[self._which[some]]
        states = np.array([run.task.state for run in self.runs[some]])
        for name in ("y", "y_old"):
            rows[:, self.program.place(name)] = states
        return np.asarray(rows)

    def solve_all(self, states: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Run from initial states, (N, size); return samples and which runs reached the end.

        The samples have shape (N, T, size), the mask of runs (N,).
        """
        rows = np.tile(self._templates[:1], (len(states), 1))
        for name in ("y", "y_old"):
            rows[:, self.program.place(name)] = states
        parts = [self._solve_rows(rows[some]) for some in self.portions(len(states))]
        samples, finished = (np.concatenate(each) for each in zip(*parts, strict=True))
        return samples.reshape(len(states), -1, states.shape[1]), finished

    def _solve_rows(self, rows: Array) -> tuple[Array, NDArray[np.bool_]]:
        codes = GpuArray(np.zeros(len(rows), dtype=np.int64))
        samples = GpuArray(np.zeros((len(rows), self.width)))
        image = GpuArray(interleaved(rows))
        try:
            while np.any(codes.values == RUNNING):
                self.kernel.launch(len(rows), [codes, image, samples])
                gpu().finish()
                codes.fetch()
            return samples.fetch(), codes.values == FINISHED
        finally:
            for array in (codes, image, samples):
                array.free()

    def solve(self, some: slice) -> Iterator[int]:
        """Run a portion to its end; yield the number of ended runs after each kernel launch."""
        runs = self.runs[some]
        count = len(runs)
        codes = GpuArray(np.zeros(count, dtype=np.int64))
        image = GpuArray(interleaved(self.rows(some)))
        samples = GpuArray(np.zeros((count, self.width)))
        spent = 0.0
        try:
            while np.any(codes.values == RUNNING):
                started = time.perf_counter()
                self.kernel.launch(count, [codes, image, samples])
                gpu().finish()
                spent += time.perf_counter() - started
                codes.fetch()
                over = (codes.values != RUNNING) & (codes.values != DONE)
                if np.any(over):
                    rows = rows_of(image.fetch(), count)
                    changed = self._settle(runs, over, codes.fetch(), rows, samples.fetch())
                    if changed:
                        image.values[:] = interleaved(rows)
                        image.send()
                        samples.send()
                    codes.send()
                yield int(np.sum(codes.values == DONE))
        finally:
            for array in (codes, image, samples):
                array.free()
        for run in runs:
            assert run.solution is not None
            run.solution.seconds = spent / count

    def _settle(
        self, runs: Sequence[GpuRun], over: Array, codes: Array, rows: Array, samples: Array
    ) -> bool:
        """Handle the runs that stopped in a kernel launch; return whether any run goes on."""
        changed = False
        for k in np.flatnonzero(over).tolist():
            run = runs[k]
            if codes[k] == FINISHED and run.m is None:
                run.solution = self._finished(run, rows[k], samples[k])
                goes_on = False
            else:
                goes_on = run.after(int(codes[k]), rows[k], samples[k], self.program)
            codes[k] = RUNNING if goes_on else DONE
            changed = changed or goes_on
        return changed

    def _finished(self, run: GpuRun, row: Array, samples: Array) -> Solution:
        """Return the solution of a run that reached its end within the kernel."""
        place, ints, task = self.program.place, row.view(np.int64), run.task
        count, size = len(task.times), len(task.state)
        anchor = np.array(task.equation.anchor, dtype=float)
        renewed = run.method.renewal is not None
        return Solution(
            times=task.times.copy(),
            states=samples[: count * size].reshape(count, size).copy(),
            anchors=np.tile(anchor, (count, 1, 1)),
            steps=int(ints[place("steps")][0]),
            rejections=int(ints[place("rejections")][0]),
            evaluations=int(ints[place("evaluations")][0]),
            renewals=int(ints[place("renewals")][0]) if renewed else 0,
        )


def _program(run: GpuRun, threads: Sequence[ThreadRecord]) -> GpuProgram:
    """Build the GPU program of the integration loop for runs of one structure."""
    method = run.method
    bound: dict[str, LoopSource | CalledEquations] = {"step": method.step}
    bound["sample"] = method.sample or method.step  # without one, nothing calls it
    for key, (member, table) in run.equations.items():
        bound[key] = CalledEquations(member.structure.body, table, ("anchor",))
    return gpu_program(march, threads, bound, changing=("budget",), outside=("samples",))
