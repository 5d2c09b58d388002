"""Computation of the quantities of designs; failed designs get a reason instead."""

import hashlib
from collections.abc import Iterator, Sequence
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
from flexarm.runs.run import Run
from flexarm.studies.design.curves import curve, of_arm, together
from flexarm.studies.design.plan import REDUCTIONS, DesignQuantity
from flexarm.studies.design.read import ALLOWED, START, Study

Columns = dict[str, NDArray[Any]]
NO_RUN = RunOptions(t_end=1.0)  # of a study without runs, which only needs their defaults
ON_PROCESSOR = (
    "device: an arm with events, brakes or dry friction, or that starts at an "
    "equilibrium, runs on the processor. Say device 'cpu', or leave them out."
)
FINISHED, FAILED = "finished", "failed"


def row_keys(digest: str, values: Columns) -> list[str]:
    """Return an identifier per row: a hash of the study's digest and the row's parameter values."""
    lists = [column.tolist() for column in values.values()]
    return [
        hashlib.sha256(f"{digest}{row!r}".encode()).hexdigest()[:20]
        for row in zip(*lists, strict=True)
    ]


class Rows:
    """Parameter values, results and statuses of consecutive designs during their computation.

    Attributes
    ----------
    first
        Number of the first design.
    values
        Values of the parameters by name, (count,) each.
    found
        Values of the quantities by name, (count,) each; NaN until they are computed.
    status, reason
        Status of each design, ``finished`` or how the run ended otherwise, and the reason, (count,)
        each.
    """

    def __init__(self, study: Study, first: int, values: dict[str, NDArray[Any]]) -> None:
        self.first, self.count = first, len(next(iter(values.values())))
        self._axes, self.values = study.axes, values
        self.found = {name: np.full(self.count, np.nan) for name in study.plan.quantities}
        self.status = np.full(self.count, FINISHED, dtype="U11")
        self.reason = np.full(self.count, "", dtype=object)

    def design(self, k: int) -> dict[str, Any]:
        """Return the parameter values of the k-th design, keyed by parameter name."""
        return {axis.name: axis.value(self.values[axis.name][k].item()) for axis in self._axes}

    def fail(self, k: int, reason: str, status: str = FAILED) -> None:
        """Record that the k-th design has no results, with the reason and the status."""
        self.status[k], self.reason[k] = status, " ".join(reason.split())

    def columns(self, digest: str) -> Columns:
        """Return all columns of the results by name, with NaN quantities for failed designs."""
        for values in self.found.values():
            values[self.status != FINISHED] = np.nan
        index, keys = np.arange(self.first, self.first + self.count), row_keys(digest, self.values)
        ends = {"status": self.status, "reason": self.reason.astype(str)}
        return {"index": index, "key": np.array(keys), **self.values, **self.found, **ends}


class Evaluator:
    """Evaluator of a study's designs, which compiles the equations of motion only where needed.

    Designs that differ only in their initial state share the compiled equations.
    """

    def __init__(self, study: Study) -> None:
        self.study = study
        quantities = study.plan.quantities
        self._of_runs = {name: each for name, each in quantities.items() if each.needs_run}
        self._of_arms = {name: each for name, each in quantities.items() if each.needs_arm}
        functions = {k: study.function(q) for k, q in quantities.items() if q.function is not None}
        self._of_run_functions = {k: f for k, f in functions.items() if k in self._of_runs}
        self._of_values = {k: f for k, f in functions.items() if k not in self._of_runs}
        self._options = study.plan.run or NO_RUN
        self._times = sample_times(self._options.t_end, self._options.dt)
        keys = [(axis.name, key) for axis in study.axes for key in axis.keys]
        self._numbers = [(name, key) for name, key in keys if not key.startswith(START)]
        self._starts = [(name, k.removeprefix(START)) for name, k in keys if k.startswith(START)]

    def require_device(self) -> None:
        """Raise an error if the study requires a GPU that is missing or cannot simulate the arm."""
        if self.study.plan.device == "gpu" and self._of_runs:
            if _runs_alone(self._base.equation.model):
                raise SimulationError(ON_PROCESSOR)
            refuse_on_gpu(self._method, [self._base])

    def chunk(self, number: int) -> Columns:
        """Compute the designs of the chunk with the given number and return the result columns."""
        first = number * self.study.chunk
        return self.rows(first, min(first + self.study.chunk, self.study.count))

    def rows(self, first: int, last: int) -> Columns:
        """Compute designs ``first`` to ``last - 1`` and return the result columns."""
        return self.computed(Rows(self.study, first, self.study.values(first, last)))

    def computed(self, rows: Rows) -> Columns:
        """Compute the quantities of the designs in ``rows`` and return the result columns."""
        for k in range(rows.count) if self._of_values else ():
            self._ask(rows, k, rows.design(k), self._of_values)
        if self.study.arm is not None and (self._of_runs or self._of_arms):
            in_arrays = self.study.plan.device == "gpu" and self._in_arrays
            rest = self._compute_in_arrays(rows) if in_arrays else range(rows.count)
            for k, run in self._runs(rows, rest):
                self._reduce(rows, k, run)
        return rows.columns(self.study.digest)

    def _ask(self, rows: Rows, k: int, argument: Any, functions: dict[str, Any]) -> None:
        """Store the values of user functions for the k-th design, or the reason of failure."""
        for name, function in functions.items():
            try:
                rows.found[name][k] = float(function(argument))
            except Exception as error:  # whatever the user's function raises
                rows.fail(k, f"{name}: {type(error).__name__}: {error}")

    def _reduce(self, rows: Rows, k: int, run: Run) -> None:
        """Store the quantities of the k-th design's run, or the reason why the run ended early."""
        if run.status != FINISHED:
            rows.fail(k, run.reason, run.status)
            return
        for name, each in self._of_runs.items():
            if each.of is not None:
                rows.found[name][k] = self._reduced(each, curve(run, each.of)[None])[0]
        self._ask(rows, k, run, self._of_run_functions)

    def _reduced(self, each: DesignQuantity, x: Array) -> Array:
        assert each.reduce is not None
        kept = self._times >= each.after
        return REDUCTIONS[each.reduce](self._times[kept], x[:, kept], each.band)

    @cached_property
    def _base(self) -> InitialValueProblem:
        """The initial-value problem of the arm with the parameter values of its model file."""
        assert self.study.arm is not None
        return self._prepared(build(self.study.arm))

    @cached_property
    def _in_arrays(self) -> bool:
        """Whether a GPU can simulate all designs as one batch without separate `Run` objects.

        This requires that designs differ only in their initial state.
        """
        model = self._base.equation.model
        plain = not (self._numbers or self._of_run_functions or _runs_alone(model))
        held = self._base.motion.actuators.servos
        return plain and self._method.adaptive and not model.attitudes and not held

    @cached_property
    def _method(self) -> Method:
        """The integration method of all designs, the same however designs are grouped."""
        name = self._options.method
        if name != "auto":
            return METHODS[name]
        chosen, _ = choose(self._base, self._base.wanted, audit=False)
        return chosen if chosen.on_gpu or self.study.plan.device == "cpu" else ETD4

    def _prepared(self, model: Model) -> InitialValueProblem:
        """Return the initial-value problem of a model with the study's run options."""
        equation = equation_of(model, name=self._options.formulation)
        return prepare(model, self._times, equation=equation, wanted=self._options.rtol)

    def _runs(self, rows: Rows, which: Sequence[int]) -> Iterator[tuple[int, Run]]:
        """Yield (index, run) of the designs ``which``, after storing quantities that need no run.

        Designs with events or friction are simulated one by one, all others in one batch; failures
        are recorded in ``rows``.
        """
        assert self.study.arm is not None
        arm, tasks = self.study.arm, dict[int, InitialValueProblem]()
        for k in which:
            design = rows.design(k)
            starts = {key: design[name] for name, key in self._starts}
            try:
                base = self._base
                if self._numbers:
                    arm = change_arm(self.study.arm, {key: design[n] for n, key in self._numbers})
                    base = self._prepared(build(arm))
                alone = bool(self._of_runs) and _runs_alone(base.equation.model)
                if alone and self.study.plan.device == "gpu":
                    raise SimulationError(ON_PROCESSOR)
                if alone and starts:
                    refuse_alone(base.equation.model)
                task = started_at(base, starts) if starts else base
                for name, each in self._of_arms.items():
                    rows.found[name][k] = of_arm(task, each)
                if alone:
                    yield k, run_whole(arm, self._options)
                elif self._of_runs:
                    tasks[k] = task
            except FlexarmError as error:
                rows.fail(k, str(error))
        self._leave_out_long(rows, tasks)
        for k, found in zip(tasks, self._solve(list(tasks.values())), strict=True):
            if isinstance(found, FlexarmError):
                rows.fail(k, str(found))
            else:
                yield k, run_of(tasks[k], self._method, found, tasks[k].wanted, "")

    def _leave_out_long(self, rows: Rows, tasks: dict[int, InitialValueProblem]) -> None:
        """Remove initial-value problems estimated at over an hour of CPU time from ``tasks``.

        The reason is recorded in ``rows``; the study option ``allow_long`` disables this.
        """
        if tasks and not self._numbers:  # they differ in their starts alone
            fastest = max(
                tasks.values(), key=lambda each: float(np.abs(each.start.v).max(initial=0.0))
            )
            if self._effort(fastest).seconds < LONG:
                return
        for k, task in list(tasks.items()):
            try:
                consider([self._effort(task)], allow_long=self._options.allow_long, remedy=ALLOWED)
            except FlexarmError as error:
                rows.fail(k, str(error))
                del tasks[k]

    def _effort(self, task: InitialValueProblem) -> Effort:
        duration = self._options.t_end
        return solution(task, self._method, task.wanted, duration=duration, step=None, period=None)

    def _solve(self, tasks: list[InitialValueProblem]) -> list[Solution | FlexarmError]:
        """Return the solution of each initial-value problem, or the error that prevented it."""
        if not tasks:
            return []
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

    def _compute_in_arrays(self, rows: Rows) -> Sequence[int]:
        """Compute designs as one batch on a GPU; return indices of those left to compute.

        These are designs whose run stopped before the end, or all if a quantity needs a `Run`.
        """
        states = self._states(rows)
        samples, finished = solve_starts_on_gpu(self._base, states, self._method)
        for name, each in self._of_runs.items():
            x = together(self._base, str(each.of), samples)
            if x is None:
                return range(rows.count)
            with np.errstate(all="ignore"):  # those of unfinished runs may not be finite
                rows.found[name][:] = self._reduced(each, x)
        for name, each in self._of_arms.items():
            rows.found[name][:] = of_arm(self._base, each)
        return np.flatnonzero(~finished).tolist()

    def _states(self, rows: Rows) -> Array:
        """Return the initial states of designs, shape (count, size), one row per design."""
        names = list(self._base.equation.model.names)
        states = np.tile(self._base.state, (rows.count, 1))
        for parameter, key in self._starts:
            plain = key.removesuffix(".rate")
            place = names.index(plain) + (len(names) if key != plain else 0)
            states[:, place] = rows.values[parameter]
        return states


def _runs_alone(model: Model) -> bool:
    try:
        refuse_alone(model)
    except SimulationError:
        return True
    return False
