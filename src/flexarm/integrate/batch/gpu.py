"""Many runs on a GPU: the loop that every integrator shares, a run per thread."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from flexarm.engine.gpu.cuda import GpuArray, GpuKernel, gpu
from flexarm.errors import SimulationError
from flexarm.formulations.numbers.structures import BoundKernel
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

WORK = 40_000_000  # operations of a thread in one launch, about
SHARE = 0.4  # of the free memory
DONE = -1  # code of a run that has ended


def refuse_on_gpu(method: Method, tasks: Sequence[InitialValueProblem]) -> None:
    """Refuse what a GPU does not do, by name, and a machine without one."""
    if not method.on_gpu:
        able = ", ".join(each.name for each in METHODS.values() if each.on_gpu)
        raise SimulationError(
            f"device: method '{method.name}' is not for a GPU. Use one of {able}, or device 'cpu'."
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
                    f"device: an arm that {what} is not for a GPU. Use device 'cpu'."
                )
    gpu().enter()


def solve_on_gpu(
    tasks: Sequence[InitialValueProblem],
    method: Method,
    progress: Callable[[int], None] | None = None,
) -> list[Solution]:
    """Solve motions; those whose equations have the same operations go together.

    `progress` is called with the number of motions that are done.
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


def solve_starts_on_gpu(
    task: InitialValueProblem, states: Array, method: Method
) -> tuple[Array, NDArray[np.bool_]]:
    """Solve one motion from many first states, without an object for each.

    Parameters
    ----------
    task
        The motion.
    states
        First states, (count, size).
    method
        One that keeps the tolerance itself.

    Returns
    -------
    samples, finished
        States at the task's times, (count, T, size), and which went to the end, (count,); the
        others stopped, or need the processor on their way, and have no meaning.
    """
    refuse_on_gpu(method, [task])
    return GpuRuns([GpuRun(task, method)]).solve_all(states)


def _solve(runs: Sequence["GpuRun"], progress: Callable[[int], None]) -> list[Solution]:
    """Solve motions, group by group."""
    groups: dict[tuple[int, ...], list[GpuRun]] = {}
    for run in runs:
        groups.setdefault(run.structure, []).append(run)
    done = 0
    for group in groups.values():
        together = GpuRuns(group)
        for some in together.portions():
            for ended in together.solve(some):
                progress(done + ended)
            done += len(group[some])
    return [run.solution for run in runs if run.solution is not None]


@dataclass(eq=False)
class GpuRun:
    """A run on a GPU."""

    # task, method, step: what is solved, by what, and its equal steps [s].
    task: InitialValueProblem
    method: Method
    step: float | None = None
    # m, anchors: the record of the run, made when it is needed on the processor; attitudes that a
    # free base's angles are relative to, from which sample on.
    m: IntegratorState | None = None
    anchors: list[tuple[int, Array]] = field(default_factory=list)
    solution: Solution | None = None  # when it has ended

    @property
    def equations(self) -> dict[str, tuple[BoundKernel, str]]:
        """The compiled equations that the method calls, by the field of their address."""
        motion = self.task.motion
        listed = {"equations": (motion.compiled(), "table")}
        if self.method.solves_vibrations:
            listed["matrices"] = (motion.matrices(), "matrix_table")
        return {
            key: (each, table)
            for key, (each, table) in listed.items()
            if isinstance(each, BoundKernel)  # as all are whose numbers are inputs
        }

    @property
    def structure(self) -> tuple[int, ...]:
        """Key of the compiled equations: runs go together if they share them."""
        return tuple(id(member.structure) for member, _ in self.equations.values())

    @property
    def kind(self) -> tuple[object, ...]:
        """Key of runs that differ in their first state alone."""
        task = self.task
        shared = (task.motion, task.vibration, task.groups, task.measures, task.watches)
        return (*map(id, shared), task.wanted, self.step)

    def begin(self) -> IntegratorState:
        """Build the state of the run."""
        return new_state(self.task, self.method, self.task.wanted, self.step)

    def thread(self, m: IntegratorState) -> ThreadRecord:
        """Find all that the record points to."""
        constants = [array for each, _ in self.equations.values() for array in each.constants]
        return ThreadRecord(m, [*m.buffers.values(), *constants])

    def after(self, code: int, row: Array, samples: Array, program: GpuProgram) -> bool:
        """Do what a launch has ended with; tell whether the run goes on."""
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


class GpuRuns:
    """Runs of one structure."""

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
        """Cut the runs, or so many, into portions that the GPU's memory holds."""
        each = DOUBLE.itemsize * (self.program.size + self.width)
        most = max(1, int(SHARE * gpu().free / each))
        return [slice(k, k + most) for k in range(0, count or len(self.runs), most)]

    def rows(self, some: slice) -> Array:
        """Return the numbers of a portion's runs at their start."""
        rows = self._templates[self._which[some]]
        states = np.array([run.task.state for run in self.runs[some]])
        for name in ("y", "y_old"):
            rows[:, self.program.place(name)] = states
        return np.asarray(rows)

    def solve_all(self, states: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Run from first states, (N, size): samples, (N, T, size), and which went to the end."""
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
        """Run a portion to its end; say now and then how many have ended."""
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
        """End runs, or see to what they stopped for; tell whether some go on."""
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
        """Collect a run that nothing stopped."""
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
    """Compile the loop for runs of one structure."""
    method = run.method
    bound: dict[str, LoopSource | CalledEquations] = {"step": method.step}
    bound["sample"] = method.sample or method.step  # without one, nothing calls it
    for key, (member, table) in run.equations.items():
        bound[key] = CalledEquations(member.structure.body, table, ("anchor",))
    return gpu_program(march, threads, bound, changing=("budget",), outside=("samples",))
