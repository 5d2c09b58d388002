"""Computation of the quantities of designs, or of the reasons why designs failed."""

import hashlib
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexarm.arm import Arm
from flexarm.errors import DeviceError, FlexarmError, SimulationError
from flexarm.integrate.batch.gpu import refuse_on_gpu
from flexarm.integrate.batch.many import compute
from flexarm.integrate.batch.runs import Runs, curve
from flexarm.integrate.batch.variations import (
    Variations,
    columns_of,
    coordinate_units,
    distinct,
    equal_groups,
    refuse_alone,
)
from flexarm.integrate.choice.choose import Effort, choose, consider, solution
from flexarm.integrate.constants import NOTED_CPU_TIME
from flexarm.integrate.method import Method
from flexarm.integrate.methods import METHODS
from flexarm.integrate.methods.etd4 import ETD4
from flexarm.integrate.options import RunOptions
from flexarm.integrate.simulate import run_whole
from flexarm.integrate.task import InitialValueProblem, equation_of, prepare, sample_times
from flexarm.io.model_file import change_arm
from flexarm.linear.tangent import moves
from flexarm.loops.language import Ints
from flexarm.mechanics.weightless import total_mass
from flexarm.model import Model, build
from flexarm.runs.curves import REDUCTIONS
from flexarm.runs.run import Run
from flexarm.spatial import Array
from flexarm.studies.design.plan import DesignQuantity
from flexarm.studies.design.read import ALLOWED, START, Study


def of_arm(task: InitialValueProblem, of: DesignQuantity) -> float:
    """Return an arm's mass [kg] or a natural frequency [Hz], as the quantity specifies."""
    model: Model = task.equation.model
    if of.mass:
        return float(total_mass(model))
    locked = {axis.name for axis in model.axes} if of.joints == "locked" else set[str]()
    linear = task.equation.elastic_model(task.start.q, task.start.v)
    frequencies = linear.along(*moves(model, locked)).elastic_modes().frequencies
    assert of.frequency is not None
    if of.frequency > len(frequencies):
        raise SimulationError(
            f"the arm has {len(frequencies)} frequencies, so frequency {of.frequency} cannot be "
            "computed. Give a smaller number."
        )
    return float(frequencies[of.frequency - 1] / (2 * np.pi))


Columns = dict[str, NDArray[Any]]
NO_RUN = RunOptions(t_end=1.0)  # options of a study without runs
ON_PROCESSOR = (
    "device: an arm with events, brakes or dry friction, or one that starts in equilibrium, "
    "cannot run on a GPU. Write 'device: cpu', or leave these parts out."
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
    """Parameter values, results and statuses of consecutive designs while they are computed.

    Attributes
    ----------
    first
        Number of the first design.
    values
        Values of the parameters by name, (count,) each.
    found
        Values of the quantities by name, (count,) each; NaN until they are computed.
    status, reason
        Status of each design (``finished``, or how the run ended otherwise) and the reason for it,
        (count,) each.
    """

    def __init__(self, study: Study, first: int, values: dict[str, NDArray[Any]]) -> None:
        self.first, self.count = first, len(next(iter(values.values())))
        self._axes, self.values = study.axes, values
        self.found = {name: np.full(self.count, np.nan) for name in study.plan.quantities}
        self.status = np.full(self.count, FINISHED, dtype="U11")
        self.reason = np.full(self.count, "", dtype=object)

    def design(self, k: int) -> dict[str, Any]:
        """Return design k's parameter values by parameter name."""
        return {axis.name: axis.value(self.values[axis.name][k].item()) for axis in self._axes}

    def fail(self, k: int, reason: str, status: str = FAILED) -> None:
        """Record that design k has no results, with the reason and the status."""
        self.status[k], self.reason[k] = status, " ".join(reason.split())

    def columns(self, digest: str) -> Columns:
        """Return all columns of the results by name, with NaN quantities for failed designs."""
        for values in self.found.values():
            values[self.status != FINISHED] = np.nan
        index, keys = np.arange(self.first, self.first + self.count), row_keys(digest, self.values)
        ends = {"status": self.status, "reason": self.reason.astype(str)}
        return {"index": index, "key": np.array(keys), **self.values, **self.found, **ends}


class Evaluator:
    """Evaluator of a study's designs, which compiles equations of motion as rarely as possible.

    Designs that differ only in their initial state share the compiled equations.
    """

    def __init__(self, study: Study) -> None:
        self.study = study
        quantities = study.plan.quantities
        self._of_runs = {
            name: quantity for name, quantity in quantities.items() if quantity.needs_run
        }
        self._of_arms = {
            name: quantity for name, quantity in quantities.items() if quantity.needs_arm
        }
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
            self._simulate(rows, self._variations(rows))
        return rows.columns(self.study.digest)

    def _ask(self, rows: Rows, k: int, argument: Any, functions: dict[str, Any]) -> None:
        """Store the values of the user's functions for design k, or why a function failed."""
        for name, function in functions.items():
            try:
                rows.found[name][k] = float(function(argument))
            except Exception as error:  # user functions may raise any error
                rows.fail(k, f"{name}: {type(error).__name__}: {error}")

    def _reduce(self, rows: Rows, k: int, run: Run) -> None:
        """Store the quantities of design k's run, or the reason why the run ended early."""
        if run.status != FINISHED:
            rows.fail(k, run.reason, run.status)
            return
        for name, quantity in self._of_runs.items():
            if quantity.of is not None:
                rows.found[name][k] = self._reduced(quantity, curve(run, quantity.of)[None])[0]
        self._ask(rows, k, run, self._of_run_functions)

    def _reduced(self, quantity: DesignQuantity, x: Array) -> Array:
        assert quantity.reduce is not None
        late = self._times >= quantity.after
        return REDUCTIONS[quantity.reduce](self._times[late], x[:, late], quantity.band)

    @cached_property
    def _base(self) -> InitialValueProblem:
        """Initial-value problem of the arm with its model file's parameter values."""
        assert self.study.arm is not None
        return self._prepared(build(self.study.arm))

    @cached_property
    def _method(self) -> Method:
        """Integration method of all designs, which does not depend on the grouping of designs."""
        name = self._options.method
        if name != "auto":
            return METHODS[name]
        chosen, _ = choose(self._base, self._base.rtol, audit=False)
        return chosen if chosen.on_gpu or self.study.plan.device == "cpu" else ETD4

    def _prepared(self, model: Model) -> InitialValueProblem:
        """Return the initial-value problem of a model with the study's run options."""
        equation = equation_of(model, name=self._options.formulation)
        return prepare(model, self._times, equation=equation, rtol=self._options.rtol)

    def _variations(self, rows: Rows) -> tuple[Variations | None, Ints]:
        """Return the initial-value problems of designs, and the indices of these designs.

        Designs with events or friction are not returned: this method simulates each of them.
        Reasons of failed designs are stored.
        """
        columns = [rows.values[name].tolist() for name, _ in self._numbers]
        numbers = distinct(zip(*columns, strict=True)) if columns else np.zeros(rows.count, int)
        bases: list[InitialValueProblem] = []
        base_of = np.full(rows.count, -1)
        for some in equal_groups(numbers):
            try:
                arm, base = self._arm(rows.design(int(some[0])))
                alone = bool(self._of_runs) and _runs_alone(base.equation.model)
                if alone and self.study.plan.device == "gpu":
                    raise SimulationError(ON_PROCESSOR)
                if alone and self._starts:
                    refuse_alone(base.equation.model)
                if alone:
                    self._simulate_alone(rows, some, arm, base)
                else:
                    base_of[some] = len(bases)
                    bases.append(base)
            except FlexarmError as error:
                for k in some.tolist():
                    rows.fail(k, str(error))
        which = np.flatnonzero(base_of >= 0)
        if not len(which):
            return None, which
        named = [
            {key: row[name] for name, key in self._starts}
            for row in map(rows.design, which.tolist())
        ]
        units = coordinate_units(bases[0].equation.model)
        starts = columns_of("starts", named, units) if self._starts else {}
        variations = Variations(bases, base_of[which], starts, {})
        faults = dict(variations.faults())
        for k, fault in faults.items():
            rows.fail(int(which[k]), str(fault))
        left = np.array([k for k in range(len(which)) if k not in faults], dtype=np.int64)
        return (variations.some(left) if len(left) else None), which[left]

    def _arm(self, design: dict[str, Any]) -> tuple[Arm, InitialValueProblem]:
        """Build the arm of a design, and its initial-value problem."""
        assert self.study.arm is not None
        if not self._numbers:
            return self.study.arm, self._base
        arm = change_arm(self.study.arm, {key: design[name] for name, key in self._numbers})
        return arm, self._prepared(build(arm))

    def _simulate_alone(self, rows: Rows, which: Ints, arm: Arm, base: InitialValueProblem) -> None:
        """Simulate designs with equal parameter values one by one, and store their quantities."""
        for k in which.tolist():
            try:
                for name, quantity in self._of_arms.items():
                    rows.found[name][k] = of_arm(base, quantity)
                self._reduce(rows, k, run_whole(arm, self._options))
            except FlexarmError as error:
                rows.fail(k, str(error))

    def _simulate(self, rows: Rows, variation_rows: tuple[Variations | None, Ints]) -> None:
        """Simulate designs together, and store their quantities."""
        variations, which = variation_rows
        if variations is None:
            return
        computable = np.ones(len(which), dtype=bool)
        for k in range(len(which)) if self._of_arms else ():
            try:
                for name, quantity in self._of_arms.items():
                    rows.found[name][which[k]] = of_arm(variations.of_run(k), quantity)
            except FlexarmError as error:
                rows.fail(int(which[k]), str(error))
                computable[k] = False
        if self._of_runs:
            for k, reason in self._too_long(variations):
                rows.fail(int(which[k]), reason)
                computable[k] = False
            self._reduce_all(rows, variations.some(np.flatnonzero(computable)), which[computable])

    def _too_long(self, variations: Variations) -> Iterator[tuple[int, str]]:
        """Yield runs that would take over an hour of CPU time, with the reason, unless allowed.

        Among runs that differ only in their initial states, the run with the highest initial rates
        is estimated first.
        """
        speeds = np.abs(variations.speeds(slice(None))).max(axis=1, initial=0.0)
        for some in equal_groups(variations.base_of):
            fastest = variations.of_run(int(some[np.argmax(speeds[some])]))
            if self._effort(fastest).seconds < NOTED_CPU_TIME:
                continue
            for k in some.tolist():
                effort = self._effort(variations.of_run(k))
                try:
                    consider([effort], allow_long=self._options.allow_long, remedy=ALLOWED)
                except FlexarmError as error:
                    yield k, str(error)

    def _effort(self, task: InitialValueProblem) -> Effort:
        duration = self._options.t_end
        return solution(task, self._method, task.rtol, duration=duration, step=None, period=None)

    def _reduce_all(self, rows: Rows, variations: Variations, which: Ints) -> None:
        """Store the quantities of the runs of designs, or the reasons why they ended early."""
        if not len(which):
            return
        runs = Runs(variations, self._method, "")
        try:
            compute(runs, self.study.plan.device, workers=1)
        except DeviceError:
            raise
        except FlexarmError as error:
            if len(which) == 1:
                rows.fail(int(which[0]), str(error))
            for k in range(len(which)) if len(which) > 1 else ():
                self._reduce_all(rows, variations.some(np.array([k])), which[k : k + 1])
            return
        for name, quantity in self._of_runs.items():
            if quantity.of is not None:
                how = {"after": quantity.after, "band": quantity.band}
                rows.found[name][which] = runs.reduce(quantity.of, str(quantity.reduce), **how)
        for k in np.flatnonzero(~runs.finished).tolist():
            rows.fail(int(which[k]), runs.reasons[k], str(runs.status[k]))
        for k in np.flatnonzero(runs.finished).tolist() if self._of_run_functions else ():
            self._ask(rows, int(which[k]), runs[k], self._of_run_functions)


def _runs_alone(model: Model) -> bool:
    try:
        refuse_alone(model)
    except SimulationError:
        return True
    return False
