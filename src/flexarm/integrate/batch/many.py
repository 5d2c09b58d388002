"""Many runs of an arm with varied parameters, initial states and inputs, in parallel."""

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Literal, get_args

import casadi as ca
import numpy as np

from flexarm.arguments import (
    FormulationName,
    MethodName,
    WithUnit,
    refused,
    require_count,
    require_function,
    require_mapping,
    require_number,
)
from flexarm.arm import Arm
from flexarm.engine.compile import native_width
from flexarm.errors import FlexarmError, SimulationError
from flexarm.formulations.equation import Equation
from flexarm.formulations.numbers.structures import BoundKernel, abreast
from flexarm.integrate.actuators import Acting, actuators_of
from flexarm.integrate.batch.gpu import solve_on_gpu
from flexarm.integrate.choice.choose import choose
from flexarm.integrate.choice.effort import consider, preparation, solution
from flexarm.integrate.choice.halving import solve_in_equal_steps
from flexarm.integrate.drivetrain import holders
from flexarm.integrate.kept import run_of
from flexarm.integrate.laws import Sampled
from flexarm.integrate.method import Method
from flexarm.integrate.methods import METHODS
from flexarm.integrate.methods.etd4 import ETD4
from flexarm.integrate.mission.wrenches import StateWrench, acting_on, refuse_laws, told
from flexarm.integrate.options import RunOptions
from flexarm.integrate.problem import Channel, Measures, Watch, system_of
from flexarm.integrate.simulate import closer_because, refuse_states, solve_until_kept
from flexarm.integrate.solve import Solution, make_ready, new_state, solve
from flexarm.integrate.state import StepLimits, start_fields
from flexarm.integrate.system import System
from flexarm.integrate.task import (
    InitialValueProblem,
    equation_of,
    prepare,
    refuse_outside,
    sample_times,
)
from flexarm.integrate.tolerance import step_limits
from flexarm.io.model_file import validated
from flexarm.links.base import Array
from flexarm.model import Model, TipRotation
from flexarm.model.designs import build_designs, built
from flexarm.runs.run import Run

Device = Literal["cpu", "gpu"]


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
    parameters: Sequence[Mapping[str, Any]] | None = None,
    starts: Sequence[Mapping[str, WithUnit]] | None = None,
    inputs: Sequence[Mapping[str, Any]] | None = None,
    control: ca.Function | Sequence[ca.Function] | None = None,
    wrenches: Sequence[StateWrench] | None = None,
    workers: int | None = None,
    device: Device = "cpu",
    allow_long: bool = False,
    progress: Callable[[int], None] | None = None,
) -> list[Run]:
    """Simulate variations of an arm in parallel.

    Parameters
    ----------
    arm
        The arm.
    t_end, dt, method, formulation, paper, tip_rotation, nodes
        As for `flexarm.simulate`; ``auto`` selects one method for all runs, from the first run.
    rtol
        As for `flexarm.simulate`: one value for all runs, or a list by run.
    parameters
        By run: values by their key in the model file, such as ``{"payload.mass": 2.0}``.
    starts
        By run: initial coordinates by name, and rates as ``NAME.rate``, which replace those of the
        model file.  For an arm with ``start: equilibrium``, all coordinates of joints and links.
    inputs
        By run: inputs by joint, as for `flexarm.simulate`.
    control
        A CasADi function as for `flexarm.simulate`, for all runs, or a list by run.  A function
        that occurs several times in the list is compiled once.
    wrenches
        As for `flexarm.simulate`, the same for all runs.
    workers
        Number of threads; one per core if None.
    device
        ``cpu``, or ``gpu`` for the first NVIDIA GPU, with one thread per run.  Methods on a GPU are
        rk4, dop853 and etd4; NVIDIA's driver is the only requirement.
    allow_long
        Whether to simulate even if the estimate for all runs exceeds an hour of CPU time or 4 GB.
    progress
        Called with the number of runs that are finished.

    Returns
    -------
    list of Run
        Runs in the given order, which `flexarm.runs_dataset` combines.

    Notes
    -----
    All lists must have equal length.  Equations are traced and compiled once, because the numbers
    of an arm are inputs of the machine code; a parameter that changes which numbers are 0 or 1
    requires another trace.  With ``dop853``, runs are integrated in groups with common steps, one
    run per lane of a vector register.
    """
    laws, wanted = _each("control", control), _each("rtol", rtol)
    count = _count(parameters, starts, inputs, laws, wanted)
    laws, wanted = laws or [control] * count, wanted or [rtol] * count
    if workers is not None:
        require_count("workers", workers, 1, SimulationError)
    if device not in get_args(Device):
        raise refused("device", device, "'cpu' or 'gpu'", SimulationError)
    require_function("progress", progress, "of the number of runs done", SimulationError)
    options = [
        RunOptions.of(
            t_end=t_end, dt=dt, method=method, rtol=tolerance, formulation=formulation, paper=paper,
            inputs=None if inputs is None else inputs[k], control=law, allow_long=allow_long,
        )
        for k, (law, tolerance) in enumerate(zip(laws, wanted, strict=True))
    ]  # fmt: skip
    if any(isinstance(law, Sampled) for law in laws):
        raise SimulationError(
            "control: a Sampled law is called from Python, run by run. Use "
            "flexarm.simulate, or write the law as a CasADi function."
        )
    arm, acting = acting_on(validated(arm), wrenches)
    if not options:
        return []
    t_end = options[0].t_end
    times = sample_times(t_end, options[0].dt)
    once = preparation(arm, len(times))
    consider([once, *[replace(once, seconds=0.0)] * (count - 1)], allow_long=allow_long)

    def equation(model: Model) -> Equation:
        refuse_laws(acting, model)
        return equation_of(model, name=formulation, paper=paper)

    models = build_designs(arm, parameters or [{}], tip_rotation=tip_rotation, nodes=nodes)
    tasks = _tasks(models, times, options, equation, starts, acting)
    first = tasks[0]
    automatic = method == "auto"
    chosen, why = choose(first, first.wanted, audit=False) if automatic else (METHODS[method], "")
    why = why or "asked for"
    if device == "gpu":
        if automatic and not chosen.on_gpu:
            chosen, why = ETD4, f"{why}; on a GPU: etd4"
        solutions = solve_on_gpu(tasks, chosen, progress)
        return [
            told(run_of(task, chosen, found, task.wanted, why), acting)
            for task, found in zip(tasks, solutions, strict=True)
        ]
    efforts = [
        solution(task, chosen, task.wanted, duration=t_end, step=None, period=None, runs=count)
        for task in tasks
    ]
    consider(efforts, allow_long=allow_long)
    runs: list[Run] = []
    for found in solve_on_cores(tasks, chosen, workers):
        task = tasks[len(runs)]
        run = run_of(task, chosen, found, task.wanted, why)
        runs.append(told(_kept_momentum(task, run, found) if automatic else run, acting))
        if progress is not None:
            progress(len(runs))
    return runs


def _kept_momentum(task: InitialValueProblem, run: Run, found: Solution) -> Run:
    """Return the run, solved again in smaller tolerances if the momentum of a free base drifts."""

    def solved(tolerance: float) -> tuple[Run, Solution]:
        if tolerance == task.wanted:
            return run, found
        nearer = choose(task, tolerance, audit=False)[0]
        other = solve(new_state(task, nearer, tolerance))
        return run_of(task, nearer, other, task.wanted, run.why), other

    best, _, tolerance = solve_until_kept(task.wanted, solved)
    if best.status == "interrupted":
        raise KeyboardInterrupt(best.reason)
    return replace(best, why=best.why + closer_because(run.method, task.wanted, best, tolerance))


def solve_on_cores(
    tasks: Sequence[InitialValueProblem], chosen: Method, workers: int | None = None
) -> Iterator[Solution]:
    """Solve initial value problems on ``workers`` threads; yield the solutions in order.

    If ``workers`` is None, there is one thread per core.
    """
    for task in tasks:
        refuse_states(chosen, task)
    width = native_width() if chosen.abreast else 1
    # CasADi is not safe in threads: threads only run what is compiled here.
    for task in {id(task.motion): task for task in tasks}.values():
        make_ready(new_state(task, chosen, task.wanted))
    batches = [tasks[k : k + width] for k in range(0, len(tasks), width)]
    abreast = [compile_abreast(batch) if len(batch) == width > 1 else None for batch in batches]

    given_up = threading.Event()

    def go_on(t: float) -> None:
        if given_up.is_set():
            raise KeyboardInterrupt  # stops the present run

    def some(batch: Sequence[InitialValueProblem], lanes: BoundKernel | None) -> list[Solution]:
        if not chosen.adaptive:
            return [solve_in_equal_steps(task, chosen, task.wanted, go_on) for task in batch]
        found = None if lanes is None else solve_abreast(batch, lanes, chosen, go_on)
        return found or [solve(new_state(task, chosen, task.wanted), go_on) for task in batch]

    with ThreadPoolExecutor(workers or os.cpu_count()) as pool:
        try:
            for solutions in pool.map(some, batches, abreast):
                yield from solutions
        except BaseException:  # Ctrl-C: do not wait for the others
            given_up.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def refuse_alone(model: Model, start: Mapping[str, WithUnit] | None = None) -> None:
    """Raise SimulationError if an arm can only be simulated alone, by `flexarm.simulate`.

    Parameters
    ----------
    model
        The arm.
    start
        Initial coordinates by name, which replace the equilibrium of ``start: equilibrium``.

    Raises
    ------
    SimulationError
        If the arm has events, brakes or dry friction, or if some of its coordinates start in an
        equilibrium.
    """
    if model.arm.events or holders(model):
        raise SimulationError(
            "arm: its events, brakes and dry friction need runs one by one. Use "
            "flexarm.simulate, or leave them out (events=(), brake=None and friction of "
            "another kind)."
        )
    if model.arm.start == "stated":
        return
    if start is None:
        raise SimulationError(
            f"arm: 'start: {model.arm.start}' needs runs one by one. Use "
            "flexarm.simulate, or take 'start: stated'."
        )
    known = {*model.prescribed, *range(6 if model.floats else 0)}
    names = [name for k, name in enumerate(model.names) if k not in known]
    missing = [name for name in names if name not in start]
    if missing:
        raise SimulationError(
            "starts: must name all coordinates of an arm with 'start: "
            f"{model.arm.start}', got none for {', '.join(missing)}. Add them, or take "
            "'start: stated'."
        )


def _tasks(
    models: Sequence[Model | FlexarmError],
    times: Array,
    options: Sequence[RunOptions],
    equation: Callable[[Model], Equation],
    starts: Sequence[Mapping[str, WithUnit]] | None,
    acting: tuple[Acting, ...],
) -> list[InitialValueProblem]:
    """Return the initial value problem of every run; equations and motions are shared if equal."""
    tasks: list[InitialValueProblem] = []
    made: Equation | None = None
    base: InitialValueProblem | None = None
    for k, each in enumerate(options):
        try:
            if made is None or len(models) > 1:
                made, base = equation(built(models[k])), None
            refuse_alone(made.model, None if starts is None else starts[k])
            if (
                base is None
                or each.inputs is not None
                or base.wanted != each.rtol
                or base.motion.law is not each.control
            ):
                base = prepare(
                    made.model,
                    times,
                    inputs=each.inputs,
                    control=each.control,
                    equation=made,
                    actuators=replace(actuators_of(made.model), wrenches=acting),
                    wanted=each.rtol,
                )
            tasks.append(base if starts is None else started_at(base, starts[k]))
        except FlexarmError as error:
            raise type(error)(f"run {k + 1} of {len(options)}: {error}") from error
    return tasks


def _each(name: str, given: Any) -> list[Any] | None:
    """Return an argument given by run as a list; return None if it is given for all runs."""
    if not isinstance(given, Sequence | np.ndarray):
        return None
    if isinstance(given, str):
        raise refused(name, given, "one for all runs, or a list of them", SimulationError)
    return list(given)


def _count(
    parameters: Sequence[Any] | None,
    starts: Sequence[Any] | None,
    inputs: Sequence[Any] | None,
    *more: Sequence[Any] | None,
) -> int:
    lists = {"parameters": parameters, "starts": starts, "inputs": inputs}
    for name, given in lists.items():
        if given is None:
            continue
        if not isinstance(given, Sequence) or not all(isinstance(e, Mapping) for e in given):
            raise refused(name, given, "a list of mappings, one per run", SimulationError)
        for k, each in enumerate(given):
            require_mapping(f"run {k + 1} of {len(given)}: {name}", each, "by name",
                            SimulationError)  # fmt: skip
    lengths = {len(each) for each in (*lists.values(), *more) if each is not None}
    if len(lengths) != 1:
        raise SimulationError(
            "parameters, starts, inputs, control and rtol: at least one must be given by run, and "
            f"those given must be of one length, got {sorted(lengths) or 'none'}"
        )
    return lengths.pop()


def started_at(task: InitialValueProblem, start: Mapping[str, WithUnit]) -> InitialValueProblem:
    """Return the initial value problem with other initial coordinates and rates, by name."""
    q, v = task.start.q.copy(), task.start.v.copy()
    names = list(task.equation.model.names)
    units = {axis.name: axis.unit for axis in task.equation.model.axes}
    for name, value in start.items():
        plain = name.removesuffix(".rate")
        if plain not in names:
            raise SimulationError(f"starts: no coordinate '{plain}'. There are {', '.join(names)}.")
        rate, unit = name.endswith(".rate"), units.get(plain, "1")
        found = require_number(
            f"starts: {name}", value, SimulationError, unit=f"{unit}/s" if rate else unit
        )
        (v if rate else q)[names.index(plain)] = found
    started = replace(task, start=replace(task.start, q=q, v=v), groups=_targets(task, q))
    started.__dict__["watches"] = task.watches
    refuse_outside(task.watches, q, v)
    # Quantities in which errors are measured depend on the start of sliding links only.
    if not any(part.body.range is not None for part in task.equation.model.links):
        started.__dict__["measures"] = task.measures
    return started


def _targets(task: InitialValueProblem, q: Array) -> tuple[list[Channel], ...]:
    """Return the channels, with the start q as target of every servo that has no target."""
    servos = task.motion.actuators.servos
    if all(each.servo.target or each.servo.rate for each in servos):
        return task.groups
    pairs = zip(task.groups[3], servos, strict=True)
    return (*task.groups[:3], [replace(c, profile=each.profile(q)) for c, each in pairs])


def compile_abreast(tasks: Sequence[InitialValueProblem]) -> BoundKernel | None:
    """Compile the equations of several motions, one motion per lane of a vector register.

    Returned is None if the motions need separate functions: their operations differ, or an arm has
    a free base or spherical joint, a control law, a servo or a contact.
    """
    members = [task.motion.compiled() for task in tasks]
    if any(_is_alone(task) for task in tasks):
        return None
    return abreast([member for member in members if isinstance(member, BoundKernel)])


def _is_alone(task: InitialValueProblem) -> bool:
    model = task.equation.model
    driven = task.motion.law is not None or bool(task.motion.actuators.key)
    return driven or bool(model.attitudes or model.arm.contacts)


@dataclass(frozen=True)
class LaneProblem(InitialValueProblem):
    """Several motions with common steps, one motion per lane of a vector register."""

    lanes: tuple[InitialValueProblem, ...] = ()
    compiled: BoundKernel | None = None  # compiled equations of all lanes

    @cached_property
    def measures(self) -> Measures:
        """Quantities in which errors are measured, of one lane after the other."""
        return _spread_measures([each.measures for each in self.lanes])

    @cached_property
    def watches(self) -> tuple[Watch, ...]:
        """Quantities whose bounds end the run, of one lane after the other."""
        return _spread_watches([each.watches for each in self.lanes])

    @property
    def state(self) -> Array:
        """Initial states of all lanes, interleaved: the lane is the fastest index."""
        return np.stack([each.state for each in self.lanes], axis=1).ravel()

    def joined(self) -> tuple[System, dict[str, Array]]:
        """Return the rates of all lanes as one system, and buffers of the compiled equations."""
        assert self.compiled is not None
        return system_of(self.equation, self.compiled, self.groups, lanes=len(self.lanes))


def solve_abreast(
    tasks: Sequence[InitialValueProblem],
    compiled: BoundKernel,
    method: Method,
    progress: Callable[[float], None] | None = None,
) -> list[Solution] | None:
    """Solve motions in common steps, as short as the most demanding motion needs.

    Returned are the solutions by motion, or None if a motion stops before its end.
    """
    width = len(tasks)
    groups = tuple(
        [channel for channels in zip(*each, strict=True) for channel in channels]
        for each in zip(*(task.groups for task in tasks), strict=True)
    )
    together = LaneProblem(
        **{each.name: getattr(tasks[0], each.name) for each in fields(tasks[0])}
        | {"groups": groups, "lanes": tuple(tasks), "compiled": compiled}
    )
    limits = [step_limits(task, method, task.wanted) for task in tasks]
    least = StepLimits(
        min(each.tolerance for each in limits),
        min(each.first for each in limits),
        min(each.largest for each in limits),
        limits[0].strict,
    )
    found = solve(method.begin(start_fields(together, method, least)), progress)
    if found.ending.status != "finished":
        return None
    return [_lane(found, lane, width) for lane in range(width)]


def _lane(found: Solution, lane: int, width: int) -> Solution:
    states = found.states.reshape(len(found.times), -1, width)[:, :, lane]
    return replace(found, states=np.ascontiguousarray(states), seconds=found.seconds / width)


def _spread(rows: Array, lane: int, width: int) -> Array:
    wide = np.zeros((*rows.shape, width))
    wide[..., lane] = rows
    return wide.reshape(*rows.shape[:-1], -1)


def _spread_measures(each: Sequence[Measures]) -> Measures:
    width = len(each)
    groups = [len(measures.floor) for measures in each]
    first = np.concatenate([[0], np.cumsum(groups)[:-1]])
    return Measures(
        np.concatenate([_spread(m.rows, lane, width) for lane, m in enumerate(each)]),
        np.concatenate([_spread(m.rate_rows, lane, width) for lane, m in enumerate(each)]),
        np.concatenate([m.to_modes for m in each]),
        np.concatenate([m.frequencies for m in each]),
        np.concatenate([m.group + start for m, start in zip(each, first, strict=True)]),
        np.concatenate([m.floor for m in each]),
        np.concatenate([m.rate_floor for m in each]),
        np.concatenate([m.pace for m in each]),
        tuple(kind for m in each for kind in m.deflects),
        np.concatenate([m.energy_floor for m in each]),
    )


def _spread_watches(each: Sequence[Sequence[Watch]]) -> tuple[Watch, ...]:
    width = len(each)
    return tuple(
        replace(watch, row=_spread(watch.row, lane, width))
        for lane, watches in enumerate(each)
        for watch in watches
    )
