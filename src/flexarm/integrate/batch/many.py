"""Many runs of an arm with varied parameters, initial states and inputs, in parallel."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

import casadi as ca
import numpy as np

from flexarm.arguments import (
    FormulationName,
    MethodName,
    WithUnit,
    in_unit,
    is_number,
    is_word,
    listed,
    refused,
    require_count,
    require_function,
)
from flexarm.arm import Arm
from flexarm.errors import ModelError, SimulationError
from flexarm.formulations.equation import Equation
from flexarm.integrate.actuators import Acting, actuators_of
from flexarm.integrate.batch.cores import CoreRuns
from flexarm.integrate.batch.gpu import GpuRuns
from flexarm.integrate.batch.runs import Keep, RunArrays, Runs
from flexarm.integrate.batch.variations import (
    Columns,
    Rows,
    Variations,
    columns_of,
    constant_columns,
    coordinate_units,
    distinct,
    numbered,
    read_rows,
    refuse_alone,
    row_codes,
    row_count,
    row_of,
)
from flexarm.integrate.choice.choose import (
    Effort,
    by_count,
    choose,
    consider,
    preparation,
    solution,
)
from flexarm.integrate.choice.halving import difference
from flexarm.integrate.constants import ESTIMATED_RUNS, PORTION_RUNS
from flexarm.integrate.laws import Sampled
from flexarm.integrate.method import Method
from flexarm.integrate.methods import METHODS
from flexarm.integrate.methods.etd4 import ETD4
from flexarm.integrate.mission.wrenches import StateWrench, acting_on, refuse_laws
from flexarm.integrate.options import RunOptions
from flexarm.integrate.results import run_of
from flexarm.integrate.simulate import closer_because, solve_until_kept
from flexarm.integrate.solve import Solution, new_state, solve
from flexarm.integrate.task import InitialValueProblem, equation_of, prepare, sample_times
from flexarm.io.model_file import change_arm, read_value, unit_of, validated
from flexarm.model import TipRotation, build
from flexarm.runs.run import Run
from flexarm.spatial import Array
from flexarm.threads import one_blas_thread

Device = Literal["cpu", "gpu"]


@one_blas_thread
def simulate_many(
    arm: Arm,
    *,
    t_end: WithUnit,
    dt: WithUnit | None = RunOptions.dt,
    method: MethodName | str = RunOptions.method,
    rtol: float | Sequence[float] = RunOptions.rtol,
    formulation: FormulationName | str = RunOptions.formulation,
    paper: bool = RunOptions.paper,
    tip_rotation: TipRotation = RunOptions.tip_rotation,
    nodes: int | None = RunOptions.nodes,
    parameters: Sequence[Mapping[str, Any]] | Mapping[str, Any] | None = None,
    starts: Sequence[Mapping[str, WithUnit]] | Mapping[str, Any] | None = None,
    inputs: Sequence[Mapping[str, Any]] | Mapping[str, Any] | None = None,
    control: ca.Function | Sequence[ca.Function] | None = None,
    wrenches: Sequence[StateWrench] | None = None,
    keep: Keep = "samples",
    workers: int | None = None,
    device: Device = "cpu",
    allow_long: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Runs:
    """Simulate variations of an arm in parallel.

    Parameters
    ----------
    arm
        The arm.
    t_end, dt, method, formulation, paper, tip_rotation, nodes
        As for `flexarm.simulate`; the method ``auto`` is chosen by the first run, for all runs.
    rtol
        As for `flexarm.simulate`: one value for all runs, or a list by run.
    parameters
        Values by their key in the model file: a list of mappings, such as
        ``[{"payload.mass": 2.0}, ...]``, or a mapping of arrays, ``{"payload.mass": masses}``.
    starts
        Initial coordinates by name, and rates as ``NAME.rate``, which replace the start of the
        model file: a list of mappings by run, or a mapping of arrays. For an arm with ``start:
        equilibrium``, give all coordinates of joints and links.
    inputs
        Inputs by joint, as for `flexarm.simulate`: a list of mappings by run, or a mapping of
        arrays of constant inputs.
    control
        A CasADi function as for `flexarm.simulate`, for all runs, or a list by run. A CasADi
        function that occurs several times in the list is compiled once.
    wrenches
        As for `flexarm.simulate`; all runs have equal wrenches.
    keep
        What to store of each run: ``samples``, the states every ``dt``; ``last``, the state at the
        end; or names of time histories, as for `Runs.curve`.
    workers
        Number of threads; one per core if None.
    device
        ``cpu``, or ``gpu`` for the first NVIDIA GPU, with one thread per run.  Methods on a GPU are
        rk4, dop853 and etd4; NVIDIA's driver is the only requirement.
    allow_long
        Whether to simulate even if the estimate for all runs exceeds an hour of CPU time or 4 GB.
    progress
        Function that is called with the number of finished runs.

    Returns
    -------
    Runs
        A sequence of runs in the given order, stored as arrays (run, time, coordinate): ``runs.q``,
        ``runs.tip``, ``runs.status``, ``runs.dataset()``; ``runs[k]`` is a `Run`.

    Notes
    -----
    All lists and arrays must have equal length. The fastest studies vary only starts and constant
    inputs: compiled code then computes the runs without returning to Python. Every new combination
    of parameters takes some milliseconds to build the arm. The equations are compiled once for all
    parameter values, except that they are compiled again if other parameters are 0 or 1. With
    ``dop853``, runs are integrated in groups with common steps, one run per lane of a vector
    register.
    """
    laws, tolerances = _by_run("control", control), _by_run("rtol", rtol)
    rows = {
        name: read_rows(name, values)
        for name, values in (("parameters", parameters), ("starts", starts), ("inputs", inputs))
        if values is not None
    }
    lengths = [len(values) for values in (laws, tolerances) if values is not None]
    count = _count({*map(row_count, rows.values()), *lengths})
    if workers is not None:
        require_count("workers", workers, 1, SimulationError)
    if device not in get_args(Device):
        raise refused("device", device, "'cpu' or 'gpu'", SimulationError)
    require_function("progress", progress, "of the number of runs done", SimulationError)
    shared = {"t_end": t_end, "dt": dt, "method": method, "formulation": formulation,
              "paper": paper, "allow_long": allow_long}  # fmt: skip
    given = RunArguments(rows, laws, tolerances, count)
    options = [
        RunOptions.of(
            **shared,
            rtol=rtol if tolerances is None else tolerances[k],
            control=control if laws is None else laws[k],
            inputs=given.row("inputs", k),
        )
        for k in given.firsts
    ]
    if any(isinstance(values.control, Sampled) for values in options):
        raise SimulationError(
            "control: a Sampled law is called from Python, one run at a time. Use "
            "flexarm.simulate, or write the law as a CasADi function."
        )
    _require_keep(keep)
    arm, acting = acting_on(validated(arm), wrenches)
    times = sample_times(options[0].t_end, None if keep == "last" else options[0].dt)
    if keep == "last":
        times = times[[0, -1]]
    consider([replace(preparation(arm, len(times)), memory=0.0)], allow_long=allow_long)
    bases = _bases(arm, given, options, times, acting, tip_rotation, nodes)
    units = coordinate_units(bases[0].equation.model)
    starting = columns_of("starts", rows["starts"], units) if "starts" in rows else {}
    variations = Variations(bases, given.base_of, starting, given.constant or {})
    variations.check()
    _require_memory(variations, keep, device, allow_long)
    automatic = method == "auto"
    first = variations.of_run(0) if count else bases[0]
    chosen, why = choose(first, first.rtol, audit=False) if automatic else (METHODS[method], "")
    why = why or "asked for"
    on_gpu = device == "gpu"
    if on_gpu and automatic and not chosen.on_gpu:
        chosen, why = ETD4, f"{why}; on a GPU: etd4"
    runs = Runs(variations, chosen, why, keep=keep, acting=acting, parameters=given.parameters(arm))
    if not on_gpu:
        _consider_time(variations, chosen, allow_long)
    compute(runs, device, workers=workers, progress=progress, automatic=automatic)
    return runs


class RunArguments:
    """Arguments of `simulate_many`, run by run, and the grouping of runs by equal arms.

    Attributes
    ----------
    rows
        Values run by run, for each argument name.
    constant
        Inputs as arrays (count,) by joint, if all inputs are constant; None otherwise.
    base_of, firsts
        Index of each run's arm, (count,), and index of the first run of each arm.
    """

    def __init__(
        self,
        rows: Mapping[str, Rows],
        laws: list[Any] | None,
        tolerances: list[Any] | None,
        count: int,
    ) -> None:
        self.rows, self.count = rows, count
        self.constant = constant_columns(rows["inputs"]) if "inputs" in rows else None
        separate = ["parameters"] if self.constant is not None else ["parameters", "inputs"]
        codes = {name: row_codes(rows[name]) for name in separate if name in rows}
        self.arm_of = codes.get("parameters", np.zeros(count, dtype=np.int64))
        codes_by_value = [
            distinct(map(key, values)) for values, key in ((laws, id), (tolerances, repr)) if values
        ]
        keys = [values.tolist() for values in (*codes.values(), *codes_by_value)]
        self.base_of, self.firsts = self.arm_of, [0]
        if keys and count:
            self.base_of = distinct(zip(*keys, strict=True))
            self.firsts = np.unique(self.base_of, return_index=True)[1].tolist()

    def row(self, name: str, k: int) -> Mapping[str, Any] | None:
        """Return the value of an argument for one run; None if the argument is not given."""
        return row_of(self.rows[name], k) if name in self.rows and self.count else None

    def parameters(self, arm: Arm) -> Columns:
        """Return the model-file values that vary between runs, as arrays (count,) by key."""
        rows = self.rows.get("parameters", ())
        if isinstance(rows, Mapping):
            return rows
        columns: Columns = {}
        for key in dict.fromkeys(key for row in rows for key in row):
            own = np.nan if all(key in row for row in rows) else _own(arm, key)
            values = [_number(row[key], unit_of(arm, key)) if key in row else own for row in rows]
            if None not in values:
                columns[key] = np.array(values)
        return columns


def _own(arm: Arm, key: str) -> float:
    """Return the number at a key of an arm's model file; NaN if the value is no number."""
    try:
        value = read_value(arm, key)
    except ModelError:
        return np.nan
    return float(value) if is_number(value) else np.nan


def _number(value: Any, unit: str) -> float | None:
    """Return a value as a number, or text with a unit converted to SI; None for other values."""
    value = in_unit("parameters", value, unit, SimulationError) if unit else value
    return float(value) if is_number(value) else None


def _bases(
    arm: Arm,
    given: RunArguments,
    options: Sequence[RunOptions],
    times: Array,
    acting: tuple[Acting, ...],
    tip_rotation: TipRotation,
    nodes: int | None,
) -> list[InitialValueProblem]:
    """Return initial-value problems, one for all runs with equal arms."""
    bases: list[InitialValueProblem] = []
    equations: dict[int, Equation] = {}
    for k, chosen in zip(given.firsts, options, strict=True):
        with numbered(k, given.count):
            key = int(given.arm_of[k]) if given.count else 0
            if key not in equations:
                run_arm = change_arm(arm, given.row("parameters", k) or {})
                model = build(run_arm, tip_rotation=tip_rotation, nodes=nodes)
                refuse_laws(acting, model)
                equations[key] = equation_of(model, name=chosen.formulation, paper=chosen.paper)
            model = equations[key].model
            refuse_alone(model, given.row("starts", k) or ())
            bases.append(
                prepare(
                    model, times, inputs=chosen.inputs, control=chosen.control,
                    equation=equations[key],
                    actuators=replace(actuators_of(model), wrenches=acting), rtol=chosen.rtol,
                )
            )  # fmt: skip
    return bases


def _require_keep(keep: object) -> None:
    """Raise SimulationError unless ``keep`` is ``samples``, ``last`` or a list of names."""
    names = listed(keep)
    if not is_word(keep, ("samples", "last")) and not (
        names and all(isinstance(x, str) for x in names)
    ):
        expected = "'samples', 'last', or names of time histories, such as ['joint1', 'tip x']"
        raise refused("keep", keep, expected, SimulationError)


def _require_memory(variations: Variations, keep: Keep, device: Device, allow_long: bool) -> None:
    """Raise SimulationError if the arrays of results would need too much memory."""
    memory, task = Runs.memory(variations, keep, PORTION_RUNS[device]), variations.bases[0]
    rows, width = 1 if keep == "last" else len(task.times), variations.size
    width = width if isinstance(keep, str) else len(keep)
    advice = "" if keep == "last" else "a larger dt, keep='last' or names of what you need, or "
    cause = (
        f"{variations.count} runs keep {rows} samples of {width} numbers each. Use "
        f"{advice}fewer runs"
    )
    consider([Effort(0.0, memory, cause)], allow_long=allow_long, runs=variations.count)


def _consider_time(variations: Variations, method: Method, allow_long: bool) -> None:
    """Warn of a long computation, or refuse it, by the estimated CPU time of a few runs."""
    count = variations.count
    sampled_runs = np.unique(
        np.linspace(0, count - 1, min(count, ESTIMATED_RUNS)).astype(int)
    ).tolist()
    tasks = [variations.of_run(k) for k in sampled_runs]
    efforts = [
        solution(task, method, task.rtol, duration=float(task.times[-1]), step=None, period=None,
                 runs=count)
        for task in tasks
    ]  # fmt: skip
    scale = count / max(len(sampled_runs), 1)
    scaled = [replace(effort, seconds=scale * effort.seconds) for effort in efforts]
    consider(scaled, allow_long=allow_long, runs=count)


def compute(
    runs: Runs,
    device: Device,
    *,
    workers: int | None = None,
    progress: Callable[[int], None] | None = None,
    automatic: bool = False,
) -> None:
    """Compute runs on the CPU or on a GPU.

    If the method was chosen automatically, runs of an arm on a free base are repeated with smaller
    tolerances until momentum is conserved.
    """
    variations, done = runs.variations, 0
    solver: CoreRuns | GpuRuns
    if device == "gpu":
        solver = GpuRuns(variations, runs.chosen)
    else:
        solver = CoreRuns(variations, runs.chosen, len(runs.t), workers)
    floats = any(task.motion.actuators.impulses for task in variations.bases)

    def solve_part(rows: slice, results: RunArrays) -> None:
        nonlocal done
        for count in solver.solve(rows, results):
            done += count
            if progress is not None:
                progress(done)
        repeats = automatic and floats and device == "cpu"
        for k in range(rows.start, rows.stop) if repeats else ():
            _keep_momentum(runs, k, results)

    runs.solve(solve_part, PORTION_RUNS[device])


def _keep_momentum(runs: Runs, k: int, results: RunArrays) -> None:
    """Repeat a run with smaller tolerances if the momentum of its free base drifts."""
    task, row = runs.variations.of_run(k), k - results.first
    run, solution = runs.run_of(k, results.samples[row])

    def solved(tolerance: float) -> tuple[Run, Solution]:
        if tolerance == task.rtol:
            return run, solution
        tighter_method = choose(task, tolerance, audit=False)[0]
        repeated = solve(new_state(task, tighter_method, tolerance))
        return run_of(task, tighter_method, repeated, task.rtol, run.why), repeated

    best, closest, tolerance = solve_until_kept(
        task.rtol,
        solved,
        lambda first, second: difference(first, second, task),
        lambda run: by_count(task, METHODS[run.method], run.statistics.steps),
    )
    if best.status == "interrupted":
        raise KeyboardInterrupt(best.reason)
    if tolerance != task.rtol:
        results.keep(row, closest, task.times)
        why = best.why + closer_because(run.method, task.rtol, best, tolerance)
        runs.judged[k] = METHODS[best.method], why


def _by_run(name: str, value: Any) -> list[Any] | None:
    """Return an argument that is given run by run as a list; None if one value is for all runs."""
    if not isinstance(value, Sequence | np.ndarray):
        return None
    if isinstance(value, str):
        raise refused(
            name,
            value,
            "one number for all runs, or a list with one number per run",
            SimulationError,
        )
    return list(value)


def _count(lengths: set[int]) -> int:
    if len(lengths) != 1:
        raise SimulationError(
            "parameters, starts, inputs, control and rtol: at least one must be a list with one "
            "entry per run, and all lists must have the same length, got "
            f"{sorted(lengths) or 'none'}"
        )
    return lengths.pop()
