"""Compute the quantities of designs, or the reason why a design has none."""

import hashlib
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexarm.errors import DeviceError, FlexarmError, SimulationError
from flexarm.integrate.batch.gpu import (
    refuse_on_gpu,
    solve_on_gpu,
    solve_starts_on_gpu,
)
from flexarm.integrate.batch.many import refuse_alone, solve_on_cores, started_at
from flexarm.integrate.choice.choose import choose
from flexarm.integrate.choice.effort import LONG, Effort, consider, solution
from flexarm.integrate.kept import run_of
from flexarm.integrate.method import Method
from flexarm.integrate.methods import METHODS
from flexarm.integrate.methods.etd4 import ETD4
from flexarm.integrate.options import RunOptions
from flexarm.integrate.simulate import run_whole
from flexarm.integrate.solve import Solution
from flexarm.integrate.task import InitialValueProblem, equation_of, prepare, sample_times
from flexarm.io.overrides import change_arm
from flexarm.links.base import Array
from flexarm.model import Model, build
from flexarm.model.designs import build_designs, built
from flexarm.studies.design.curves import curve, curves_of, of_arm, together
from flexarm.studies.design.plan import REDUCTIONS, DesignQuantity
from flexarm.studies.design.read import ALLOWED, START, Study

Columns = dict[str, NDArray[Any]]
NO_RUN = RunOptions(t_end=1.0)  # of a study without runs, which only needs their defaults
ON_PROCESSOR = (
    "device: an arm with events, brakes or dry friction, or that starts at an equilibrium, runs on "
    "the processor: say device 'cpu', or leave them out"
)
FINISHED, FAILED = "finished", "failed"


def row_keys(digest: str, values: Columns) -> list[str]:
    """Compute the key of each row from the study's digest and the values of its parameters."""
    lists = [column.tolist() for column in values.values()]
    return [
        hashlib.sha256(f"{digest}{row!r}".encode()).hexdigest()[:20]
        for row in zip(*lists, strict=True)
    ]


class Rows:
    """The rows of consecutive designs while they are computed.

    Attributes
    ----------
    first
        Number of the first design.
    values
        Values of the parameters by name, (count,) each.
    found
        Values of the quantities by name, (count,) each; NaN until they are computed.
    status, reason
        ``finished`` or how the design's run ended otherwise, and why, (count,) each.
    """

    def __init__(self, study: Study, first: int, values: dict[str, NDArray[Any]]) -> None:
        self.first, self.count = first, len(next(iter(values.values())))
        self._axes, self.values = study.axes, values
        self.found = {name: np.full(self.count, np.nan) for name in study.plan.quantities}
        self.status = np.full(self.count, FINISHED, dtype="U11")
        self.reason = np.full(self.count, "", dtype=object)

    def design(self, k: int) -> dict[str, Any]:
        """Return the values of a design by parameter."""
        return {axis.name: axis.value(self.values[axis.name][k].item()) for axis in self._axes}

    def column(self, name: str) -> list[Any]:
        """Return the values of a parameter by design."""
        axis = next(axis for axis in self._axes if axis.name == name)
        return [axis.value(each) for each in self.values[name].tolist()]

    def fail(self, k: int, reason: str, status: str = FAILED) -> None:
        """Record why a design has no numbers."""
        self.status[k], self.reason[k] = status, " ".join(reason.split())

    def columns(self, digest: str) -> Columns:
        """Return all columns, with a key by row; quantities of failed designs are NaN."""
        for values in self.found.values():
            values[self.status != FINISHED] = np.nan
        index, keys = np.arange(self.first, self.first + self.count), row_keys(digest, self.values)
        ends = {"status": self.status, "reason": self.reason.astype(str)}
        return {"index": index, "key": np.array(keys), **self.values, **self.found, **ends}


class Evaluator:
    """Computes designs of a study; designs share what is traced and compiled."""

    def __init__(self, study: Study) -> None:
        self.study = study
        quantities = study.plan.quantities
        self._of_runs = {name: each for name, each in quantities.items() if each.needs_run}
        self._functions = {
            name: study.function(each)
            for name, each in quantities.items()
            if each.function is not None
        }
        self._options = study.plan.run or NO_RUN
        self._times = sample_times(self._options.t_end, self._options.dt)
        self._base: InitialValueProblem | None = None
        keys = {axis.name: axis.keys for axis in study.axes}
        self._numbers = {
            name: [key for key in each if not key.startswith(START)] for name, each in keys.items()
        }
        self._starts = {
            name: [key.removeprefix(START) for key in each if key.startswith(START)]
            for name, each in keys.items()
        }
        self._fixed = not any(self._numbers.values())

    def require_device(self) -> None:
        """Raise an error if the study asks for a GPU that is missing or cannot run the arm."""
        if self.study.plan.device == "gpu" and self._of_runs:
            if self._alone:
                raise SimulationError(ON_PROCESSOR)
            refuse_on_gpu(self._method, [self._task({}, {})])

    def chunk(self, number: int) -> Columns:
        """Compute a chunk of the study."""
        first = number * self.study.chunk
        return self.rows(first, min(first + self.study.chunk, self.study.count))

    def rows(self, first: int, last: int) -> Columns:
        """Compute designs by their numbers."""
        return self.computed(Rows(self.study, first, self.study.values(first, last)))

    def computed(self, rows: Rows) -> Columns:
        """Compute designs."""
        of_values = [name for name in self._functions if name not in self._of_runs]
        for k in range(rows.count) if of_values else ():
            self._ask(rows, k, rows.design(k), of_values)
        if self.study.arm is not None and (self._of_runs or self._of_arms):
            if self._alone:
                self._one_by_one(rows, range(rows.count))
            else:
                rest = self._compute_in_arrays(rows) if self._in_arrays else range(rows.count)
                self._side_by_side(rows, rest)
        return rows.columns(self.study.digest)

    def _ask(self, rows: Rows, k: int, argument: Any, names: Sequence[str]) -> None:
        """Call the user's functions of some quantities for a design."""
        for name in names:
            try:
                rows.found[name][k] = float(self._functions[name](argument))
            except Exception as error:  # whatever the user's function raises
                rows.fail(k, f"{name}: {type(error).__name__}: {error}")

    @property
    def _of_run_functions(self) -> list[str]:
        return [name for name in self._functions if name in self._of_runs]

    @property
    def _of_arms(self) -> dict[str, DesignQuantity]:
        return {k: q for k, q in self.study.plan.quantities.items() if q.needs_arm}

    @cached_property
    def _alone(self) -> bool:
        """Whether the arm can only be simulated one run at a time, such as for its events."""
        assert self.study.arm is not None
        return _runs_alone(build(self.study.arm))

    @cached_property
    def _in_arrays(self) -> bool:
        """Whether a GPU can compute designs, which differ in their start alone, as arrays."""
        functions = any(each.function is not None for each in self._of_runs.values())
        able = self._method.adaptive and not self._task({}, {}).equation.model.attitudes
        held = self._task({}, {}).motion.actuators.servos
        gpu = self.study.plan.device == "gpu"
        return gpu and self._fixed and not functions and able and not held

    @cached_property
    def _method(self) -> Method:
        """The method of all designs, so that rows do not depend on which are computed together."""
        name = self._options.method
        if name != "auto":
            return METHODS[name]
        base = self._task({}, {})
        chosen, _ = choose(base, base.wanted, audit=False)
        return chosen if chosen.on_gpu or self.study.plan.device == "cpu" else ETD4

    def _design(self, rows: Rows, k: int) -> tuple[dict[str, Any], dict[str, float]]:
        """Return a design's values by key of the model file, and its start by coordinate."""
        design = rows.design(k)
        numbers = {key: value for name, value in design.items() for key in self._numbers[name]}
        starts = {key: value for name, value in design.items() for key in self._starts[name]}
        return numbers, starts

    def _task(
        self, numbers: dict[str, Any], starts: dict[str, float], model: Model | None = None
    ) -> InitialValueProblem:
        """Return the initial-value problem of a design, whose model may be built already."""
        assert self.study.arm is not None
        base = None if numbers else self._base
        if base is None:
            model = model or build(
                change_arm(self.study.arm, numbers) if numbers else self.study.arm
            )
            base = self._prepared(model)
            if not numbers:
                self._base = base
        return started_at(base, starts) if starts else base

    def _prepared(self, model: Model) -> InitialValueProblem:
        """Return the initial-value problem of a model."""
        equation = equation_of(model, name=self._options.formulation)
        return prepare(model, self._times, equation=equation, wanted=self._options.rtol)

    def _side_by_side(self, rows: Rows, which: Sequence[int]) -> None:
        """Compute designs, solving their motions in batches."""
        tasks: dict[int, InitialValueProblem] = {}
        alone = []
        designs = {k: self._design(rows, k) for k in which}
        models: list[Model | FlexarmError | None] = [None] * len(designs)
        if not self._fixed:
            assert self.study.arm is not None
            models = [*build_designs(self.study.arm, [numbers for numbers, _ in designs.values()])]
        for (k, (numbers, starts)), model in zip(designs.items(), models, strict=True):
            try:
                task = self._task(numbers, starts, built(model) if model is not None else None)
                if numbers and _runs_alone(task.equation.model):
                    if self.study.plan.device == "gpu" and self._of_runs:
                        raise SimulationError(ON_PROCESSOR)
                    if starts:
                        refuse_alone(task.equation.model)
                    alone.append(k)
                    continue
                for name, each in self._of_arms.items():
                    rows.found[name][k] = of_arm(task, each)
                tasks[k] = task
            except FlexarmError as error:
                rows.fail(k, str(error))
        self._one_by_one(rows, alone)
        if self._of_runs:
            self._leave_out_long(rows, tasks)
        if not self._of_runs or not tasks:
            return
        solutions = dict(zip(tasks, self._solve(list(tasks.values())), strict=True))
        for k, found in solutions.items():
            if isinstance(found, FlexarmError):
                rows.fail(k, str(found))
            elif found.ending.status != FINISHED:
                rows.fail(k, found.ending.reason, found.ending.status)
        ended = [k for k in tasks if rows.status[k] == FINISHED]
        self._reduce(rows, [tasks[k] for k in ended], [solutions[k] for k in ended], ended)  # type: ignore[misc]

    def _leave_out_long(self, rows: Rows, tasks: dict[int, InitialValueProblem]) -> None:
        """Remove designs that would take more than an hour of CPU each, and record why."""
        groups: dict[int, list[int]] = {}
        for k, task in tasks.items():
            groups.setdefault(id(task.equation), []).append(k)
        for mine in groups.values():
            fastest = max(mine, key=lambda k: float(np.abs(tasks[k].v).max(initial=0.0)))
            if len(mine) > 1 and self._effort(tasks[fastest]).seconds < LONG:
                continue
            for k in mine:
                try:
                    consider([self._effort(tasks[k])], allow_long=self._options.allow_long,
                             remedy=ALLOWED)  # fmt: skip
                except FlexarmError as error:
                    rows.fail(k, str(error))
                    del tasks[k]

    def _effort(self, task: InitialValueProblem) -> Effort:
        duration = self._options.t_end
        return solution(task, self._method, task.wanted, duration=duration, step=None, period=None)

    def _solve(self, tasks: list[InitialValueProblem]) -> list[Solution | FlexarmError]:
        """Solve motions; return the error of each that cannot be solved."""
        try:
            if self.study.plan.device == "gpu":
                return [*solve_on_gpu(tasks, self._method)]
            return [*solve_on_cores(tasks, self._method, 1)]
        except DeviceError:
            raise
        except FlexarmError as error:
            if len(tasks) == 1:
                return [error]
            return [found for task in tasks for found in self._solve([task])]

    def _reduce(
        self,
        rows: Rows,
        tasks: list[InitialValueProblem],
        solutions: list[Solution],
        which: list[int],
    ) -> None:
        """Compute the quantities of finished runs."""
        if not tasks:
            return
        for name, each in self._of_runs.items():
            if each.of is not None:
                x = curves_of(tasks, solutions, each.of, self._method)
                rows.found[name][which] = self._reduced(each, x)
        names = self._of_run_functions
        for k, task, solved in zip(which, tasks, solutions, strict=True) if names else ():
            self._ask(rows, k, run_of(task, self._method, solved, task.wanted, ""), names)

    def _reduced(self, each: DesignQuantity, x: Array) -> Array:
        assert each.reduce is not None
        kept = self._times >= each.after
        return REDUCTIONS[each.reduce](self._times[kept], x[:, kept], each.band)

    def _one_by_one(self, rows: Rows, which: Sequence[int]) -> None:
        """Compute designs one run at a time, with events, brakes, dry friction, equilibria."""
        assert self.study.arm is not None
        for k in which:
            numbers, _ = self._design(rows, k)
            try:
                arm = change_arm(self.study.arm, numbers)
                for name, each in self._of_arms.items():
                    rows.found[name][k] = of_arm(self._task(numbers, {}), each)
                if not self._of_runs:
                    continue
                run = run_whole(arm, self._options)
            except FlexarmError as error:
                rows.fail(k, str(error))
                continue
            if run.status != FINISHED:
                rows.fail(k, run.reason, run.status)
                continue
            for name, each in self._of_runs.items():
                if each.of is not None and each.reduce is not None:
                    kept = run.t >= each.after
                    x = curve(run, each.of)[None, kept]
                    rows.found[name][k] = REDUCTIONS[each.reduce](run.t[kept], x, each.band)[0]
            self._ask(rows, k, run, self._of_run_functions)

    def _compute_in_arrays(self, rows: Rows) -> Sequence[int]:
        """Compute designs in arrays; return those that could not be, or stopped before the end."""
        task, every = self._task({}, {}), range(rows.count)
        samples, finished = solve_starts_on_gpu(task, self._states(rows, task), self._method)
        for name, each in self._of_runs.items():
            x = together(task, str(each.of), samples)
            if x is None:
                return every
            self._reduce_arrays(rows, name, each, x, every)
        for name, each in self._of_arms.items():
            rows.found[name][:] = of_arm(task, each)
        return np.flatnonzero(~finished).tolist()

    def _reduce_arrays(
        self, rows: Rows, name: str, each: DesignQuantity, x: Array, which: Any
    ) -> None:
        """Reduce curves, some of which may be of unfinished runs and not finite."""
        with np.errstate(all="ignore"):
            rows.found[name][which] = self._reduced(each, x)

    def _states(self, rows: Rows, task: InitialValueProblem) -> Array:
        """Return the initial states of designs, (count, size)."""
        names, n = list(task.equation.model.names), task.equation.model.size
        states = np.tile(task.state, (rows.count, 1))
        for parameter, keys in self._starts.items():
            for key in keys:
                plain = key.removesuffix(".rate")
                states[:, names.index(plain) + (n if key != plain else 0)] = rows.values[parameter]
        return states


def _runs_alone(model: Model) -> bool:
    try:
        refuse_alone(model)
    except SimulationError:
        return True
    return False
