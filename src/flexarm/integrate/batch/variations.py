"""Runs of an arm that differ in parameters, initial states, inputs, laws and tolerances.

Runs that differ only in initial states and constant inputs share one initial-value problem, their
base problem.
"""

import json
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexarm.arguments import in_unit, is_number, refused, require_mapping
from flexarm.arm.profile import Constant
from flexarm.errors import FlexarmError, SimulationError
from flexarm.integrate.constants import STATES_AT_ONCE
from flexarm.integrate.drivetrain import holders
from flexarm.integrate.problem import Channel
from flexarm.integrate.task import InitialValueProblem, refuse_outside
from flexarm.loops.language import Ints
from flexarm.model import Model
from flexarm.spatial import Array

Columns = dict[str, NDArray[Any]]
Rows = Sequence[Mapping[str, Any]] | Columns


def read_rows(name: str, rows: Any) -> Rows:
    """Return values for each run as a list of mappings, or as a mapping of arrays (count,).

    Raises
    ------
    SimulationError
        If the values are in neither form, or an array contains numbers that are not finite.
    """
    if isinstance(rows, Mapping) and rows:
        require_mapping(name, rows, "arrays by name", SimulationError)
        columns = {key: _column(f"{name}: {key}", values) for key, values in rows.items()}
        counts = sorted({len(item) for item in columns.values()})
        if len(counts) > 1:
            raise SimulationError(f"{name}: the arrays must be of one length, got {counts}")
        return columns
    if not isinstance(rows, Sequence) or not all(isinstance(row, Mapping) for row in rows):
        expected = "a list of mappings, one per run, or a mapping of arrays"
        raise refused(name, rows, expected, SimulationError)
    for k, entry in enumerate(rows):
        if not all(isinstance(key, str) for key in entry):
            require_mapping(_of(k, rows, name), entry, "by name", SimulationError)
    return rows


def _column(name: str, values: Any) -> NDArray[Any]:
    """Return the values that one name has in all runs, (count,); all must be finite."""
    array = np.asarray(values) if isinstance(values, np.ndarray | Sequence) else np.zeros(())
    if array.ndim != 1 or array.dtype.kind not in "iuf":
        raise refused(name, values, "an array of numbers, one per run", SimulationError)
    not_finite = np.flatnonzero(~np.isfinite(array))
    if len(not_finite):
        k = int(not_finite[0])
        raise refused(_of(k, array, name), float(array[k]), "a finite number", SimulationError)
    return array


def _of(k: int, rows: Any, place: str) -> str:
    return f"run {k + 1} of {len(rows)}: {place}"


def row_count(rows: Rows) -> int:
    """Return the number of runs for which values are given."""
    return len(next(iter(rows.values()))) if isinstance(rows, Mapping) else len(rows)


def row_of(rows: Rows, k: int) -> Mapping[str, Any]:
    """Return the values for one run, by name."""
    if isinstance(rows, Mapping):
        return {name: values[k].item() for name, values in rows.items()}
    return rows[k]


def columns_of(name: str, rows: Rows, units: Mapping[str, str]) -> Columns:
    """Return the values for all runs by name, (count,); NaN where a run lacks the name.

    A value given as text, such as ``5 deg``, is converted to SI; without a unit in ``units``, the
    name counts as dimensionless.
    """
    if isinstance(rows, Mapping):
        return {key: np.asarray(values, dtype=float) for key, values in rows.items()}
    columns: Columns = {}
    for k, row in enumerate(rows):
        for key, value in row.items():
            place = _of(k, rows, f"{name}: {key}")
            if isinstance(value, str):
                value = in_unit(place, value, units.get(key, "1"), SimulationError)
            if not is_number(value):
                raise refused(place, value, "a finite number", SimulationError)
            if key not in columns:
                columns[key] = np.full(len(rows), np.nan)
            columns[key][k] = value
    return columns


def constant_columns(rows: Rows) -> Columns | None:
    """Return constant inputs by joint, (count,); None if names differ or some vary in time."""
    if isinstance(rows, Mapping):
        return columns_of("inputs", rows, {})
    names = set(rows[0]) if len(rows) else set[str]()
    for row in rows:
        if set(row) != names or not all(type(value) in (int, float) for value in row.values()):
            return None
    return columns_of("inputs", rows, {})


def distinct(keys: Iterable[Hashable]) -> Ints:
    """Return a number per key, in order of first occurrence; equal keys get equal numbers."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)


def row_codes(rows: Rows) -> Ints:
    """Return a number per run; runs with equal values get equal numbers."""
    if not isinstance(rows, Mapping):
        return distinct(map(_key, rows))
    values = np.stack([np.asarray(column) for column in rows.values()], axis=1)
    _, codes = np.unique(values, axis=0, return_inverse=True)
    return distinct(codes.ravel().tolist())


def _key(row: Mapping[str, Any]) -> Hashable:
    try:
        return json.dumps(sorted(row.items())) if row else ""
    except TypeError:  # objects such as profiles: compared by identity
        return id(row)


def coordinate_units(model: Model) -> dict[str, str]:
    """Return the units of initial coordinates ``NAME`` and initial rates ``NAME.rate``."""
    axes = {axis.name: axis.unit for axis in model.axes}
    units = {name: axes.get(name, "1") for name in model.names}
    return units | {f"{name}.rate": f"{unit}/s" for name, unit in units.items()}


def refuse_alone(model: Model, start: Iterable[str] = ()) -> None:
    """Raise SimulationError if only `flexarm.simulate` can simulate the arm.

    Parameters
    ----------
    model
        The arm.
    start
        Names of initial coordinates that replace those of ``start: equilibrium``.

    Raises
    ------
    SimulationError
        If the arm has events, brakes or dry friction, or if some of its coordinates start in an
        equilibrium.
    """
    if model.arm.events or holders(model):
        raise SimulationError(
            "arm: events, brakes and dry friction cannot be simulated in a batch. Use "
            "flexarm.simulate, or leave them out (events=(), brake=None and friction of another "
            "kind)."
        )
    if model.arm.start == "stated":
        return
    if not start:
        raise SimulationError(
            f"arm: 'start: {model.arm.start}' cannot be computed in a batch. Use "
            "flexarm.simulate, or 'start: stated'."
        )
    prescribed = {*model.prescribed, *range(6 if model.floats else 0)}
    names = [name for k, name in enumerate(model.names) if k not in prescribed]
    missing = [name for name in names if name not in start]
    if missing:
        raise SimulationError(
            f"starts: must name all coordinates of an arm with 'start: {model.arm.start}', got "
            f"none for {', '.join(missing)}. Add them, or use 'start: stated'."
        )


def started_at(task: InitialValueProblem, state: Array) -> InitialValueProblem:
    """Return an initial-value problem with its initial coordinates and rates replaced."""
    q, v = state[: 2 * task.equation.model.size].reshape(2, -1).copy()
    problem = replace(task, start=replace(task.start, q=q, v=v), groups=_targets(task, q))
    vars(problem)["state_limits"] = task.state_limits
    if not _slides(task):  # only for sliding links do error scales depend on the start
        vars(problem)["measures"] = task.measures
    return problem


def _slides(task: InitialValueProblem) -> bool:
    return any(part.body.range is not None for part in task.equation.model.links)


def _holds(task: InitialValueProblem) -> bool:
    """Return whether a servo without a target holds its joint at the start of the run."""
    return not all(x.servo.target or x.servo.rate for x in task.motion.actuators.servos)


def _targets(task: InitialValueProblem, q: Array) -> tuple[list[Channel], ...]:
    """Return functions of time of an arm whose servos without a target hold coordinates q."""
    if not _holds(task):
        return task.groups
    pairs = zip(task.groups[3], task.motion.actuators.servos, strict=True)
    return (*task.groups[:3], [replace(c, profile=servo.profile(q)) for c, servo in pairs])


class Variations:
    """Initial-value problems of many runs, as a few base problems and values for each run.

    Attributes
    ----------
    count
        Number of runs.
    bases, base_of
        Initial-value problems that start as the model file states, and the index of each run's base
        problem.
    starts, inputs
        Initial coordinates and rates by name, and constant inputs by joint: arrays (count,). A
        value NaN stands for the value of the base problem.
    size
        Length of the longest state vector.
    """

    def __init__(
        self, bases: Sequence[InitialValueProblem], base_of: Ints, starts: Columns, inputs: Columns
    ) -> None:
        self.bases: Sequence[InitialValueProblem] = bases
        self.base_of, self.count = base_of, len(base_of)
        self.starts, self.inputs = starts, inputs
        firsts = [task.state for task in bases]
        self.size = max(map(len, firsts))
        self._firsts = np.zeros((len(bases), self.size))
        for row, state in zip(self._firsts, firsts, strict=True):
            row[: len(state)] = state

    @cached_property
    def _places(self) -> dict[str, Ints]:
        """Position of each varied initial value in the state vector of each base problem, or -1."""
        models = {id(task.equation.model): task.equation.model for task in self.bases}
        indices = {
            key: {name: k for k, name in enumerate(coordinate_units(model))}
            for key, model in models.items()
        }
        keys = [id(task.equation.model) for task in self.bases]
        return {
            name: np.array([indices[key].get(name, -1) for key in keys]) for name in self.starts
        }

    @cached_property
    def problem_of(self) -> Ints:
        """Index of each run's initial-value problem: a base problem, or one of its own.

        A run with varied initial state needs an initial-value problem of its own if a servo holds
        the initial position, or if a link slides.
        """
        separate = np.array([bool(self.starts) and (_holds(x) or _slides(x)) for x in self.bases])
        if not separate.any():
            return self.base_of
        numbers = len(self.bases) + np.arange(self.count)
        return np.where(separate[self.base_of], numbers, self.base_of)

    def problem(self, index: int) -> InitialValueProblem:
        """Return a problem by its index in `problem_of`."""
        return (
            self.bases[index] if index < len(self.bases) else self.of_run(index - len(self.bases))
        )

    def of_run(self, k: int) -> InitialValueProblem:
        """Return the initial-value problem of a run."""
        task = self.bases[int(self.base_of[k])]
        if self.starts:
            task = started_at(task, self.states(slice(k, k + 1))[0])
        constants = {
            name: Constant[float](kind="constant", value=float(values[k]))
            for name, values in self.inputs.items()
        }
        input_channels = [
            replace(c, profile=constants.get(c.name, c.profile)) for c in task.groups[0]
        ]
        if not constants:
            return task
        varied = replace(task, groups=(input_channels, *task.groups[1:]))
        vars(varied).update(state_limits=task.state_limits, measures=task.measures)
        return varied

    def states(self, rows: slice | Ints) -> Array:
        """Return the initial states of runs, (count, size); shorter states are padded with 0."""
        bases = self.base_of[rows]
        states = self._firsts[bases]
        for name, column in self.starts.items():
            values, places = column[rows], self._places[name][bases]
            given = np.flatnonzero(~np.isnan(values))
            states[given, places[given]] = values[given]
        return np.asarray(states)

    def speeds(self, rows: slice | Ints) -> Array:
        """Return the initial rates of the coordinates of runs, (count, n)."""
        n = self.bases[0].equation.model.size
        return self.states(rows)[:, n : 2 * n]

    def some(self, which: slice | Ints) -> "Variations":
        """Return the variations of selected runs."""
        selected = copy(self)
        vars(selected).pop("problem_of", None)  # refers to run numbers
        selected.base_of = self.base_of[which]
        selected.count = len(selected.base_of)
        selected.starts, selected.inputs = (
            {name: values[which] for name, values in columns.items()}
            for columns in (self.starts, self.inputs)
        )
        return selected

    def columns(self) -> Columns:
        """Return the varied values, (count,), as ``start.NAME`` and ``input.NAME``."""
        columns = {f"input.{name}": values for name, values in self.inputs.items()}
        for name, values in self.starts.items():
            own = self._firsts[self.base_of, self._places[name][self.base_of]]
            columns[f"start.{name}"] = np.where(np.isnan(values), own, values)
        return columns

    def input_values(self, rows: slice | Ints) -> Array:
        """Return the constant inputs of the runs, (count, inputs)."""
        values = [column[rows] for column in self.inputs.values()]
        return np.stack(values, axis=1) if values else np.zeros((len(self.base_of[rows]), 0))

    def input_channels(self) -> list[int]:
        """Return the index, among the functions of time, of each input that varies."""
        names = [channel.name for channel in self.bases[0].groups[0]]
        return [names.index(name) for name in self.inputs]

    def check(self) -> None:
        """Raise a SimulationError that names the first run whose initial state is not valid."""
        for k, error in self.faults():
            with numbered(k, self.count):
                raise error

    def faults(self) -> Iterator[tuple[int, SimulationError]]:
        """Yield the index and the error of each run whose initial state is not valid."""
        if not self.starts:
            return
        for name, places in self._places.items():
            unknown = (places[self.base_of] < 0) & ~np.isnan(self.starts[name])
            for k in np.flatnonzero(unknown).tolist():
                names = ", ".join(self.bases[self.base_of[k]].equation.model.names)
                yield (
                    k,
                    SimulationError(
                        f"starts: there is no coordinate '{name.removesuffix('.rate')}'. "
                        f"The coordinates are {names}."
                    ),
                )
        for first in range(0, self.count, STATES_AT_ONCE):
            rows = slice(first, first + STATES_AT_ONCE)
            states, bases = self.states(rows), self.base_of[rows]
            for members in equal_groups(bases):
                base = self.bases[bases[members[0]]]
                yield from self._state_faults(base, states[members], first + members)

    def _state_faults(
        self, task: InitialValueProblem, states: Array, runs: Ints
    ) -> Iterator[tuple[int, SimulationError]]:
        """Yield index and error of runs of one base problem whose initial state is not valid."""
        model = task.equation.model
        suspects = {} if model.arm.start == "stated" else dict(enumerate(runs.tolist()))
        state_limits = [limit for limit in task.state_limits if limit.what]
        if state_limits:
            values = states[:, : 2 * model.size] @ np.array([limit.row for limit in state_limits]).T
            low, high = np.array([(limit.low, limit.high) for limit in state_limits]).T
            outside = np.flatnonzero(np.any((values < low) | (values > high), axis=1))
            suspects |= {row: int(runs[row]) for row in outside.tolist()}
        for row, k in suspects.items():
            try:
                refuse_alone(model, [x for x, y in self.starts.items() if not np.isnan(y[k])])
                refuse_outside(task.state_limits, *states[row, : 2 * model.size].reshape(2, -1))
            except SimulationError as error:
                yield k, error


def equal_groups(numbers: Ints) -> list[Ints]:
    """Return index arrays, one per distinct number, of the entries equal to that number."""
    order = np.argsort(numbers, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1) if len(order) else []


@contextmanager
def numbered(k: int, count: int) -> Iterator[None]:
    """Prefix error messages raised in a ``with`` block with the number of the run."""
    try:
        yield
    except FlexarmError as error:
        raise type(error)(f"run {k + 1} of {max(count, 1)}: {error}") from error
