"""Results of many runs as arrays, from which single `Run` objects are built on request."""

import operator
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, overload

import numpy as np
from numpy.typing import NDArray

from flexarm.arguments import (
    Renamed,
    WithUnit,
    refused,
    require_number,
    require_path,
    require_word,
)
from flexarm.errors import FlexarmError
from flexarm.integrate.actuators import Acting
from flexarm.integrate.batch.variations import (
    Columns,
    Variations,
    coordinate_units,
    equal_groups,
)
from flexarm.integrate.constants import PORTION_MEMORY, SAMPLES_AT_ONCE, SMALL_PORTION
from flexarm.integrate.method import Method
from flexarm.integrate.mission.wrenches import record_wrenches
from flexarm.integrate.results import run_of
from flexarm.integrate.solve import Ending, Solution
from flexarm.integrate.task import InitialValueProblem
from flexarm.io.model_file import dumps, unit_of
from flexarm.io.whole_file import replacing, require_writable
from flexarm.loops.language import DOUBLE, Ints
from flexarm.mechanics.deformed import along, flexible_wholes
from flexarm.model import Model, WholeLink
from flexarm.runs.constants import SETTLING_BAND
from flexarm.runs.contents import ENERGIES, WORKS, Variable, input_units, table_columns, to_dataset
from flexarm.runs.curves import REDUCTIONS
from flexarm.runs.run import Run
from flexarm.runs.write import optional_module
from flexarm.spatial import Array

if TYPE_CHECKING:
    import xarray

TIP = tuple(f"tip {axis}" for axis in "xyz")
TOTAL = "total energy"
OBSERVED = {**{f"{name} energy": k for k, name in enumerate(ENERGIES)}, TOTAL: -1,
            **{name: 3 + k for k, name in enumerate(TIP)}}  # fmt: skip
# names of works that are part of the state
STATE_WORKS = tuple(name.replace("_", " ") for name in list(WORKS)[:-1])


def curve_units(task: InitialValueProblem, method: Method) -> dict[str, str]:
    """Return the units of all time histories that a run of the arm has, by name."""
    reference_attitude = np.array(task.equation.reference_attitude, dtype=float)
    start = Solution(task.times[:1], task.state[None], reference_attitude[None])
    return _units(run_of(task, method, start, task.rtol, ""))


def _units(run: Run) -> dict[str, str]:
    headers = [header.removesuffix("]").rpartition(" [") for header, _ in table_columns(run)]
    return {name: unit for name, _, unit in headers[1:]} | {TOTAL: "J"}


def curve(run: Run, name: str) -> Array:
    """Return a time history of a run at its T samples, (T,)."""
    if name == TOTAL:
        return np.asarray(run.energy.sum(axis=1))
    for header, values in table_columns(run):
        if header.rpartition(" [")[0] == name:
            return values
    raise FlexarmError(f"the run has no '{name}'. There are {', '.join(_units(run))}.")


def curves_of_states(
    task: InitialValueProblem, names: Sequence[str], states: Array
) -> Array | None:
    """Return time histories of runs of one arm with the same reference attitudes.

    Parameters
    ----------
    task
        Initial-value problem of the arm.
    names
        Names of the curves.
    states
        States at the sample times, (N, T, size).

    Returns
    -------
    ndarray or None
        Time histories, (N, T, names); None if one of them can only be computed from a `Run`.
    """
    model = task.equation.model
    n, shape = model.size, states.shape[:2]
    q, v = (states[:, :, part].reshape(-1, n) for part in (slice(n), slice(n, 2 * n)))
    curves = np.empty((*shape, len(names)))
    if any(name in OBSERVED for name in names):
        energy, _, tip = task.equation.observe(q, v)
        observed = np.column_stack([energy, tip, energy.sum(axis=1)])
    for k, name in enumerate(names):
        values = curve_in_states(model, name, states)
        if name in OBSERVED:
            values = observed[:, OBSERVED[name]].reshape(shape)
        elif name in tip_deflections(model):
            link, axis = tip_deflections(model)[name]
            deflections = along(model, link, q, np.array([1.0])).deflection
            values = deflections[:, 0, axis].reshape(shape)
        if values is None:
            return None
        curves[:, :, k] = values
    return curves


def tip_deflections(model: Model) -> dict[str, tuple[WholeLink, int]]:
    """Return the link and the axis of each tip deflection, by name of its time history."""
    return {
        f"{link.name} tip deflection {axis}": (link, k)
        for link in flexible_wholes(model)
        for k, axis in enumerate("xyz")
    }


def curve_in_states(model: Model, name: str, states: Array) -> Array | None:
    """Return a time history that is part of the state, (N, T), as a view; otherwise None."""
    n, coordinate = model.size, name.removesuffix(" rate")
    if coordinate in model.names:
        return np.asarray(
            states[:, :, model.names.index(coordinate) + (n if coordinate != name else 0)]
        )
    if name not in STATE_WORKS:
        return None
    return np.asarray(states[:, :, 2 * n + STATE_WORKS.index(name)])


Keep = Literal["samples", "last"] | Sequence[str]
FINISHED, STATUSES = "finished", ("finished", "stopped", "interrupted", "event")
COUNTED = ("steps", "rejections", "evaluations")


@dataclass
class RunArrays:
    """Arrays of states, statuses and step counts of many runs."""

    samples: Array  # states at the samples, (count, rows, size); NaN after the end of a run
    status: NDArray[np.uint8]  # index in STATUSES, (count,)
    statistics: NDArray[np.uint32]  # accepted steps, rejected steps, evaluations, (count, 3)
    seconds: NDArray[np.float32]  # CPU time [s], (count,)
    # Solutions, by number of the run, of runs that did not finish, changed reference attitudes or
    # have digital controllers.
    special: dict[int, Solution] = field(default_factory=dict)
    first: int = 0  # number of the first run

    @classmethod
    def empty(cls, count: int, rows: int, size: int) -> Self:
        """Return arrays of zeros for `count` runs with a given number of samples and values."""
        statistics = np.zeros((count, len(COUNTED)), dtype=np.uint32)
        status, seconds = np.zeros(count, dtype=np.uint8), np.zeros(count, dtype=np.float32)
        return cls(np.empty((count, rows, size)), status, statistics, seconds)

    def part(self, rows: slice, samples: Array | None = None) -> "RunArrays":
        """Return the results of consecutive runs, as views of the same memory."""
        return RunArrays(
            self.samples[rows] if samples is None else samples, self.status[rows],
            self.statistics[rows], self.seconds[rows], self.special, self.first + rows.start,
        )  # fmt: skip

    def some(self, which: slice | Ints, numbers: Ints) -> "RunArrays":
        """Return the results of selected runs, numbered from 0; a slice shares memory."""
        special = {
            j: self.special[k]
            for j, k in enumerate(numbers.tolist() if self.special else ())
            if k in self.special
        }
        return RunArrays(
            self.samples[which], self.status[which], self.statistics[which], self.seconds[which],
            special,
        )  # fmt: skip

    def keep(self, k: int, solution: Solution, times: Array) -> None:
        """Store the solution of run k at given sample times [s].

        If only one sample is stored per run, this is the last state of the solution.
        """
        rows, states = self.samples[k], solution.states
        rows[:] = np.nan
        size = states.shape[1]
        if len(rows) == 1:
            rows[0, :size] = states[-1]
        else:
            reached = np.isin(solution.times, times)
            rows[: reached.sum(), :size] = states[reached]
        counts = (solution.steps, solution.rejections, solution.evaluations)
        self.statistics[k], self.seconds[k] = counts, solution.seconds
        self.status[k] = STATUSES.index(solution.ending.status)
        reference_attitudes = solution.reference_attitudes
        changed = bool(reference_attitudes.size) and not np.array_equal(
            reference_attitudes[0], reference_attitudes[-1]
        )
        if solution.ending != Ending() or changed or solution.held is not None:
            self.special[self.first + k] = solution if len(rows) > 1 else _last(solution)

    def solution(self, k: int, task: InitialValueProblem, times: Array, states: Array) -> Solution:
        """Return the solution of a run, given its states at the sample times, (T, size)."""
        if self.first + k in self.special:
            return self.special[self.first + k]
        steps, rejections, evaluations = self.statistics[k].tolist()
        reference_attitudes = np.tile(
            np.array(task.equation.reference_attitude, dtype=float), (len(times), 1, 1)
        )
        return Solution(
            times.copy(), states[:, : len(task.state)].copy(), reference_attitudes, steps=steps,
            rejections=rejections, evaluations=evaluations, seconds=float(self.seconds[k]),
        )  # fmt: skip


def _last(solution: Solution) -> Solution:
    """Return a solution reduced to its last sample."""
    end = slice(-1, None)
    held_values = None if solution.held is None else solution.held[end]
    times, states = solution.times[end], solution.states[end]
    return replace(
        solution,
        times=times,
        states=states,
        reference_attitudes=solution.reference_attitudes[end],
        held=held_values,
    )


class Runs(Renamed, Sequence[Run]):
    """Runs of an arm as arrays (run, time, coordinate); ``runs[k]`` builds a single `Run`.

    Attributes
    ----------
    t
        Sample times [s], (T,); with ``keep="last"`` the end, (1,).
    method, why
        Name of the integrator, and the reason for its choice.
    results
        States, statuses and statistics as arrays.
    variations, chosen
        Initial-value problems of the runs, and the integration method.
    judged
        Method and reason, by run number, for runs that were repeated with a smaller tolerance.
    """

    _former_names: ClassVar = {"works": "work_integrals"}

    def __init__(
        self,
        variations: Variations,
        method: Method,
        why: str,
        *,
        keep: Keep = "samples",
        acting: tuple[Acting, ...] = (),
        parameters: Columns | None = None,
    ) -> None:
        self.variations, self._acting, self._parameters = variations, acting, parameters or {}
        self.chosen, self.method, self.why = method, method.name, why
        self._last, self._names = keep == "last", None if isinstance(keep, str) else list(keep)
        self._times = variations.bases[0].times
        self.t = self._times[-1:] if self._last else self._times
        width = variations.size if self._names is None else len(self._names)
        self.results = RunArrays.empty(variations.count, len(self.t), width)
        self.judged: dict[int, tuple[Method, str]] = {}  # method and reason by run number
        self._require(*(self._names or ()))

    @staticmethod
    def memory(variations: Variations, keep: Keep, least_runs: int) -> int:
        """Return the memory [bytes] of the stored results, and of the states held at one time."""
        rows = 1 if keep == "last" else len(variations.bases[0].times)
        numbers = variations.count * variations.size
        if not isinstance(keep, str):
            states = Runs.portion(variations, keep, least_runs) * variations.size
            numbers = variations.count * len(keep) + states
        samples = DOUBLE.itemsize * rows * numbers
        return samples + variations.count * (4 * len(COUNTED) + 4 + 1 + variations.base_of.itemsize)

    @staticmethod
    def portion(variations: Variations, keep: Sequence[str], least_runs: int) -> int:
        """Return how many runs have their states in memory while time histories are computed.

        The states of these runs take at most a tenth of the memory of the results, or, if that
        allows fewer than ``least_runs`` runs, less than a gigabyte.
        """
        tenth = variations.count * len(keep) // (10 * variations.size)
        states_of_run = DOUBLE.itemsize * len(variations.bases[0].times) * variations.size
        few = max(int(PORTION_MEMORY / states_of_run) // SMALL_PORTION, 1) * SMALL_PORTION
        most = max(tenth // least_runs * least_runs, min(least_runs, few))
        return min(variations.count, most)

    def solve(self, solver: Callable[[slice, RunArrays], None], least_runs: int) -> None:
        """Compute all runs, in portions if only time histories are stored."""
        count, names = self.variations.count, self._names
        if names is None:
            solver(slice(0, count), self.results)
            return
        size = max(Runs.portion(self.variations, names, least_runs), 1)
        for first in range(0, count, size):
            rows = slice(first, min(first + size, count))
            states = np.empty((rows.stop - first, len(self.t), self.variations.size))
            solver(rows, self.results.part(rows, states))
            self.results.samples[rows] = self._curves(names, rows, states)

    def __len__(self) -> int:
        """Return the number of runs in the result."""
        return self.variations.count

    def __repr__(self) -> str:
        """Return a one-line summary: number of runs, arm, samples, and how many finished."""
        finished = f"{int(np.sum(self.finished))} finished"
        name = self.variations.bases[0].equation.model.arm.name
        samples = "1 sample" if len(self.t) == 1 else f"{len(self.t)} samples"
        return f"Runs: {len(self)} of {name}, {samples} each, {finished}"

    @overload
    def __getitem__(self, which: int) -> Run: ...
    @overload
    def __getitem__(self, which: slice | Sequence[int] | NDArray[Any]) -> Self: ...
    def __getitem__(self, which: Any) -> Run | Self:
        """Return the `Run` with a number, or the `Runs` of a slice, a list of numbers or a mask.

        The runs of a slice share memory with these runs.
        """
        try:
            k = range(len(self))[operator.index(which)]
        except TypeError:
            return self._some(which)
        return self.run_of(k, self._states[k])[0]

    def _some(self, which: Any) -> Self:
        """Return selected runs as `Runs`, numbered from 0."""
        expected = "a number, a slice, a list of numbers of runs, or one bool per run"
        try:
            rows: slice | Ints = (
                which
                if isinstance(which, slice)
                else np.arange(len(self))[which if isinstance(which, np.ndarray) else [*which]]
            )
            numbers = np.arange(len(self))[rows]
        except (IndexError, TypeError):
            raise refused("runs", which, expected) from None
        if numbers.ndim != 1:
            raise refused("runs", which, expected)
        selected = copy(self)
        selected.variations = self.variations.some(rows)
        selected.results = self.results.some(rows, numbers)
        selected._parameters = {name: values[rows] for name, values in self._parameters.items()}
        selected.judged = {
            j: self.judged[k]
            for j, k in enumerate(numbers.tolist() if self.judged else ())
            if k in self.judged
        }
        return selected

    def _parts(self) -> Iterator[tuple[slice, Self]]:
        """Yield consecutive runs in groups whose time histories fit into memory."""
        size = max(1, SAMPLES_AT_ONCE // len(self.t))
        for first in range(0, max(len(self), 1), size):
            rows = slice(first, min(first + size, len(self)))
            yield rows, self._some(rows)

    @cached_property
    def _units(self) -> dict[str, str]:
        """Units of the time histories, by name."""
        return curve_units(self.variations.bases[0], self.chosen)

    def _require(self, *names: str) -> None:
        """Raise an error if a name is not that of a time history of the runs."""
        for name in names:
            if name not in self._units:
                raise FlexarmError(
                    f"the runs have no '{name}'. There are {', '.join(self._units)}."
                )

    def run_of(self, k: int, states: Array) -> tuple[Run, Solution]:
        """Return the `Run` and the solution with the given states at the samples, (T, size)."""
        task = self.variations.of_run(k)
        method, why = self.judged.get(k, (self.chosen, self.why))
        solution = self.results.solution(k, task, self.t, states)
        run = run_of(task, method, solution, task.rtol, why)
        return record_wrenches(run, self._acting), solution

    @property
    def _states(self) -> Array:
        if self._names is not None:
            raise FlexarmError(
                f"runs: only {', '.join(self._names)} were kept. Use curve(name), or simulate "
                "with keep='samples' or 'last'."
            )
        return self.results.samples

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the arm's coordinates."""
        models = {task.equation.model.names for task in self.variations.bases}
        if len(models) > 1:
            raise FlexarmError(
                "runs: their arms have different coordinates. Take them one by one, as runs[k]."
            )
        return models.pop()

    @property
    def q(self) -> Array:
        """Coordinates, (count, T, n), without a copy; NaN after the end of a stopped run."""
        return self._states[:, :, : len(self.names)]

    @property
    def v(self) -> Array:
        """Rates of the coordinates, (count, T, n), without a copy."""
        n = len(self.names)
        return self._states[:, :, n : 2 * n]

    @property
    def work_integrals(self) -> Array:
        """Work of inputs, wrenches and prescribed coordinates, and dissipated energy [J].

        The array (count, T, 4) contains the integrals from time 0 to each sample, and shares memory
        with the results.
        """
        n = 2 * len(self.names)
        return self._states[:, :, n : n + len(WORKS) - 1]

    @property
    def tip(self) -> Array:
        """Positions of the tip [m], (count, T, 3), computed on request."""
        return self._curves(TIP, slice(0, len(self)), self._states)

    @property
    def energy(self) -> Array:
        """Kinetic, elastic and gravitational energies [J], (count, T, 3), computed on request."""
        names = [f"{name} energy" for name in ENERGIES]
        return self._curves(names, slice(0, len(self)), self._states)

    @property
    def status(self) -> NDArray[np.str_]:
        """``finished``, ``stopped`` or ``interrupted`` for each run, (count,)."""
        return np.array(STATUSES)[self.results.status]

    @property
    def finished(self) -> NDArray[np.bool_]:
        """Whether each run reached its end, (count,)."""
        return np.asarray(self.results.status == STATUSES.index(FINISHED))

    @property
    def reasons(self) -> dict[int, str]:
        """Reasons why runs did not finish, by number of the run."""
        solutions = self.results.special.items()
        return {
            k: solution.ending.reason for k, solution in sorted(solutions) if solution.ending.reason
        }

    @property
    def statistics(self) -> dict[str, Array]:
        """Steps, rejected steps, evaluations and CPU time [s] by name, (count,) each."""
        counts = dict(zip(COUNTED, self.results.statistics.T, strict=True))
        return {**counts, "cpu_seconds": self.results.seconds}

    def curve(self, name: str) -> Array:
        """Return a time history of all runs, (count, T), by name, such as ``tip x``.

        Parameters
        ----------
        name
            Name of the time history: a column of a run's table without its unit, such as
            ``joint1``, ``joint1 rate``, ``tip x`` or ``kinetic energy``; or ``total energy``.

        Returns
        -------
        ndarray
            Values of the time history; NaN after the end of a run that stopped. Coordinates, rates,
            and time histories stored by ``keep`` are views of the results.
        """
        if self._names is not None:
            if name not in self._names:
                raise FlexarmError(f"runs: '{name}' was not kept, only {', '.join(self._names)}")
            return self.results.samples[:, :, self._names.index(name)]
        self._require(name)
        models = [task.equation.model for task in self.variations.bases]
        if all(model.names == models[0].names for model in models):
            values = curve_in_states(models[0], name, self._states)
            if values is not None:
                return values
        return self._curves([name], slice(0, len(self)), self._states)[:, :, 0]

    def reduce(
        self, name: str, reduction: str, *, after: WithUnit = 0.0, band: WithUnit = SETTLING_BAND
    ) -> Array:
        """Reduce a time history to one number per run, (count,), without storing the history.

        Parameters
        ----------
        name
            The time history, as for `curve`.
        reduction
            ``peak`` (largest magnitude), ``max``, ``min``, ``range``, ``mean``, ``rms``,
            ``integral``, ``first``, ``last``, ``settling time`` or ``overshoot``.
        after
            Time [s]; earlier samples are ignored.
        band
            Half-width of the band that defines the settling time, relative to the largest distance
            from the last value.

        Returns
        -------
        ndarray
            The numbers; NaN for runs that did not finish.
        """
        require_word("reduction", reduction, REDUCTIONS)
        begin = require_number("after", after, least=0.0, unit="s")
        relative_band = require_number("band", band, least=0.0, largest=1.0)
        selected = self.t >= begin
        if not selected.any():
            raise FlexarmError(f"after: must be at most {self.t[-1]:g} s, got {begin:g}")
        values = np.empty(len(self))
        for rows, part in self._parts():
            x = np.ascontiguousarray(part.curve(name))  # sums must not depend on the layout
            with np.errstate(all="ignore"):  # samples of unfinished runs are NaN
                values[rows] = REDUCTIONS[reduction](
                    self.t[selected], x[:, selected], relative_band
                )
        values[~self.finished] = np.nan
        return values

    def _curves(self, names: Sequence[str], rows: slice, states: Array) -> Array:
        """Return time histories (count, T, names) of consecutive runs from their states."""
        curves = np.empty((*states.shape[:2], len(names)))
        bases = self.variations.base_of[rows]
        portion_size = max(1, SAMPLES_AT_ONCE // len(self.t))
        for members in equal_groups(bases):
            task = self.variations.bases[bases[members[0]]]
            for first in range(0, len(members), portion_size):
                part = members[first : first + portion_size]
                values = curves_of_states(task, names, states[part])
                if values is None:
                    for k in part.tolist():
                        self._fill(curves[k], names, rows.start + k, states[k])
                else:
                    curves[part] = values
        for k, solution in self.results.special.items():
            if (
                solution.reference_attitudes.size and rows.start <= k < rows.stop
            ):  # angles of some samples are relative to other axes
                self._fill(curves[k - rows.start], names, k, states[k - rows.start])
        return curves

    def _fill(self, curves: Array, names: Sequence[str], k: int, states: Array) -> None:
        """Compute time histories of one run, (T, names), from its `Run` object."""
        run, _ = self.run_of(k, states)
        reached = np.isin(run.t, self._times) if len(self.t) > 1 else np.ones(1, dtype=bool)
        curves[:] = np.nan
        for j, name in enumerate(names):
            curves[: reached.sum(), j] = curve(run, name)[reached]

    def dataset(self, *names: str) -> "xarray.Dataset":
        """Return the runs as an xarray dataset.

        Parameters
        ----------
        names
            Time histories to add to the states, as for `curve`.

        Returns
        -------
        xarray.Dataset
            Coordinates, rates and work integrals, or the time histories that were kept, over
            ``run``, ``time`` and ``coordinate``; status, statistics and varied numbers over
            ``run``.
        """
        self._require(*names)
        model, base = self.variations.bases[0].equation.model, "unit of the coordinate, see 'unit'"
        whole, rows = ("run", "time"), ("run",)
        variables = [Variable("time", ("time",), self.t, "s", "time")]
        if self._names is None:
            labels = (np.array(self.names, dtype=object), np.array(model.units, dtype=object))
            variables += [
                Variable("coordinate", ("coordinate",), labels[0], "", "names of the coordinates"),
                Variable("unit", ("coordinate",), labels[1], "", "units of the coordinates"),
                Variable("q", (*whole, "coordinate"), self.q, base, "coordinates"),
                Variable("v", (*whole, "coordinate"), self.v, f"{base}, per s", "rates"),
            ]
            for k, (name, meaning) in enumerate(list(WORKS.items())[:-1]):
                work = self.work_integrals[:, :, k]
                variables.append(Variable(name, whole, work, "J", meaning))
        for name in dict.fromkeys([*(self._names or ()), *names]):
            variables.append(Variable(name, whole, self.curve(name), self._units[name], name))
        for name, values in self.statistics.items():
            unit = "s" if name == "cpu_seconds" else "1"
            variables.append(Variable(name, rows, values, unit, name.replace("_", " ")))
        varied = [Variable(name, rows, *column, name) for name, column in self._varied().items()]
        dataset = to_dataset([*variables, *varied])
        dataset["status"] = ("run", self.status.astype(object))
        dataset.attrs = {
            "arm": model.arm.name, "method": self.method, "why": self.why,
            "model_file": dumps(model.arm),
        }  # fmt: skip
        return dataset.set_coords([x.name for x in varied])

    def _varied(self) -> dict[str, tuple[NDArray[Any], str]]:
        """Return the parameters that differ between runs, (count,), and their units, by name."""
        model = self.variations.bases[0].equation.model
        units = {f"start.{name}": unit for name, unit in coordinate_units(model).items()}
        units |= {f"input.{name}": unit for name, unit in input_units(model).items()}
        units |= {key: unit_of(model.arm, key) for key in self._parameters}
        columns = {**self._parameters, **self.variations.columns()}
        return {name: (values, units[name]) for name, values in columns.items()}

    def to_zarr(self, path: str | Path, *names: str, force: bool = False) -> None:
        """Write the dataset of `Runs.dataset` to a Zarr folder; requires the extra ``zarr``.

        Parameters
        ----------
        path
            Path of the folder.
        names
            Time histories to add to the states, as for `curve`.
        force
            Whether to overwrite an existing folder.
        """
        optional_module("zarr", "Zarr folders")
        folder = require_path("path", path)
        if folder.exists() and not force:
            raise FlexarmError(f"{path}: exists. Name another folder, or use force=True.")
        for rows, part in self._parts():
            how: dict[str, Any] = {"append_dim": "run"} if rows.start else {"mode": "w"}
            part.dataset(*names).to_zarr(folder, consolidated=False, **how)

    def to_parquet(self, path: str | Path, *names: str, force: bool = False) -> None:
        """Write a table with a row per run and sample; requires the extra ``parquet``.

        Parameters
        ----------
        path
            Path of the file.
        names
            Time histories to add to coordinates and rates, as for `curve`.
        force
            Whether to overwrite an existing file.
        """
        arrow = optional_module("pyarrow", "Parquet files")
        parquet = optional_module("pyarrow.parquet", "Parquet files")
        require_writable(path, force=force)
        columns = [x for name in self.names for x in (name, f"{name} rate")]
        columns = list(dict.fromkeys([*(self._names or columns), *names]))
        self._require(*columns)
        with replacing(path) as unfinished:
            writer = None
            for rows, part in self._parts():
                runs = np.arange(rows.start, rows.stop)
                columns_of_part = {
                    "run": np.repeat(runs, len(self.t)), "time": np.tile(self.t, len(runs)),
                    **{name: part.curve(name).ravel() for name in columns},
                }  # fmt: skip
                table = arrow.table(columns_of_part)
                writer = writer or parquet.ParquetWriter(unfinished, table.schema)
                writer.write_table(table)
            if writer is not None:
                writer.close()
