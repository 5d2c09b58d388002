"""Many arms stepped together from outside: inputs in, states out, some begun anew."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np

from flexarm.arguments import refused, require_array, require_count, require_number
from flexarm.arm import Arm
from flexarm.arm.profile import Constant
from flexarm.engine.cuda import GpuArray, GpuKernel, gpu
from flexarm.errors import SimulationError
from flexarm.formulations.numbers.structures import Member, Structures
from flexarm.integrate.batch.many import refuse_alone, started_at
from flexarm.integrate.batch.stepping import Rank, Stepper, step_all, step_thread
from flexarm.integrate.methods.rk4 import RK4
from flexarm.integrate.problem import system_of
from flexarm.integrate.task import Task, equal_step, equation_of, prepare
from flexarm.io.model_file import validated
from flexarm.io.overrides import change_arm
from flexarm.links.base import Array
from flexarm.loops.desks import Desk
from flexarm.loops.ptx import ENTRY, Equations, gpu_program, interleaved
from flexarm.model import build

LONG = 1e9  # [s]: a batch has no end
WANTED = 1e-3  # error of the deflections
FEWEST = 4  # Runge-Kutta steps in a step


def batch(
    arm: Arm,
    count: int,
    *,
    dt: float,
    device: Literal["cpu", "gpu"] = "cpu",
    parameters: Sequence[Mapping[str, Any]] | None = None,
) -> "Batch":
    """Make many arms that are stepped together, for learning and for control of your own.

    Parameters
    ----------
    arm
        The arm.
    count
        How many.
    dt
        Time of a step, over which inputs are held [s]; inside it are as many equal Runge-Kutta
        steps as the fastest mode needs.
    device
        ``gpu`` steps them on the first NVIDIA GPU.
    parameters
        By arm: values by their key in the model file, such as ``{"payload.mass": 2.0}``.

    Returns
    -------
    Batch
        All at the start that the model file states.
    """
    require_count("count", count, 1, SimulationError)
    require_number("dt", dt, SimulationError)
    if not dt > 0:
        raise SimulationError(f"dt: must be > 0, got {dt}")
    if device not in get_args(Literal["cpu", "gpu"]):
        raise refused("device", device, "'cpu' or 'gpu'", SimulationError)
    if parameters is not None and len(parameters) != count:
        raise SimulationError(f"parameters: must be one mapping per arm, {count}")
    arm, structures, known = validated(arm), Structures(), dict[str, Task]()
    tasks = []
    for k in range(count):
        changes = {} if parameters is None else dict(parameters[k])
        key = repr(sorted(changes.items()))
        if key not in known:
            known[key] = _task(change_arm(arm, changes) if changes else arm, structures)
        tasks.append(known[key])
    return Batch(tasks, float(dt), device)


def _task(arm: Arm, structures: Structures) -> Task:
    """Make ready the start of an arm, or refuse one that equal steps alone do not do."""
    model = build(arm)
    refuse_alone(model)
    if model.attitudes:
        raise SimulationError(
            "arm: a batch has no free bases or spherical joints, whose angles are measured anew as "
            "they turn: use flexarm.simulate_many"
        )
    task = prepare(model, np.array([0.0, 1e-3]), equation=equation_of(model).among(structures))
    actuators = task.motion.actuators
    if actuators.lookouts or any(each.servo.period is not None for each in actuators.servos):
        raise SimulationError(
            "arm: a batch has no backlash, limits of currents in coils or sampled servos: use "
            "flexarm.simulate"
        )
    return task


class Batch:
    """Arms that are stepped together.

    Attributes
    ----------
    dt, substeps
        Time of a step [s], and the Runge-Kutta steps in it.
    names, input_names
        Coordinates and inputs, in the order of their columns.
    """

    def __init__(self, tasks: Sequence[Task], dt: float, device: str) -> None:
        first = tasks[0]
        self._tasks, self.dt = tasks, dt
        self.names, self.input_names = first.equation.model.names, first.equation.input_names
        distinct = {id(task): task.vibration for task in tasks}.values()
        steps = [equal_step(RK4, each, LONG, WANTED, None) for each in distinct]
        self.substeps = int(np.ceil(dt / min(*steps, dt / FEWEST)))
        self._rows = np.zeros((len(tasks), 1 + len(first.state)))
        kind = _OnGpu if device == "gpu" else _OnCores
        self._engine = kind(tasks, self._rows, dt / self.substeps, self.substeps)
        self.reset()

    def __len__(self) -> int:
        """Give the number of arms."""
        return len(self._tasks)

    @property
    def t(self) -> Array:
        """Times since each was begun [s], (count,)."""
        return self._rows[:, 0].copy()

    @property
    def q(self) -> Array:
        """Coordinates, (count, n)."""
        return self._rows[:, 1 : 1 + len(self.names)].copy()

    @property
    def v(self) -> Array:
        """Rates, (count, n)."""
        n = len(self.names)
        return self._rows[:, 1 + n : 1 + 2 * n].copy()

    def step(self, u: Any) -> Array:
        """Step all arms with inputs that are held.

        Parameters
        ----------
        u
            Inputs, (count, inputs), or (inputs,) for all.

        Returns
        -------
        ndarray
            Which arms are where their run would end: at a limit, bent beyond the model, or at no
            number, (count,) of bool.  They go on being stepped until they are reset.
        """
        given = require_array("u", u, SimulationError)
        shape = (len(self), len(self.input_names))
        if given.shape not in (shape, shape[1:]):
            raise SimulationError(
                f"u: must have the shape {shape} or {shape[1:]}, got {given.shape}"
            )
        held = np.zeros((len(self), max(shape[1], 1)))
        held[:, : shape[1]] = given
        self._engine.step(held)
        return self.ended

    @property
    def ended(self) -> Array:
        """Which arms are where their run would end, (count,) of bool."""
        n, task = len(self.names), self._tasks[0]
        states = self._rows[:, 1 : 1 + 2 * n]
        found = ~np.all(np.isfinite(states), axis=1)
        for watch in task.watches:
            with np.errstate(invalid="ignore"):
                values = states @ watch.row
                found |= (values < watch.low) | (values > watch.high)
        return np.asarray(found)

    def reset(self, which: Any = None, starts: Sequence[Mapping[str, float]] | None = None) -> None:
        """Begin arms anew, at time 0.

        Parameters
        ----------
        which
            Numbers of the arms, or (count,) of bool; all if None.
        starts
            By arm that is begun: coordinates by name, and rates as ``NAME.rate``, in place of the
            file's.
        """
        rows = np.arange(len(self))[slice(None) if which is None else np.asarray(which)]
        if starts is not None and len(starts) != len(rows):
            raise SimulationError(f"starts: must be one mapping per arm begun, {len(rows)}")
        for k, row in enumerate(rows.tolist()):
            task = self._tasks[row]
            self._rows[row, 0] = 0.0
            self._rows[row, 1:] = (task if starts is None else started_at(task, starts[k])).state
        self._engine.take()

    def tip(self) -> Array:
        """Give the tips' positions [m], (count, 3)."""
        places = np.zeros((len(self), 3))
        q, v = self.q, self.v
        for task in {id(task): task for task in self._tasks}.values():
            mine = [k for k, each in enumerate(self._tasks) if each is task]
            places[mine] = task.equation.observe(q[mine], v[mine])[2]
        return places


def _stepper(task: Task, h: float, steps: int) -> tuple[Stepper, dict[str, Array]]:
    """Make what takes an arm's steps; its inputs are constants that it is given."""
    still = Constant[float](kind="constant", value=0.0)
    inputs = [replace(channel, profile=still, begin=0.0) for channel in task.groups[0]]
    accounts = len(task.motion.actuators.accounts)
    system, buffers = system_of(
        task.equation, task.motion.compiled(), (inputs, *task.groups[1:]), accounts=accounts
    )
    size = len(task.state)
    y, f, total, trial = (np.zeros(size) for _ in range(4))
    row, held = np.zeros(1 + size), np.zeros(max(len(inputs), 1))
    stepper = Stepper(system, size, len(inputs), h, steps, y, f, total, trial, row, held)
    return stepper, buffers


class _OnCores:
    """Steps on the processor, one arm after the other."""

    def __init__(self, tasks: Sequence[Task], rows: Array, h: float, steps: int) -> None:
        stepper, self._buffers = _stepper(tasks[0], h, steps)
        self._numbers = np.array([_member(task).constants[0] for task in tasks])
        entry = len(_member(tasks[0]).inputs) - 1
        self._rank = Rank(
            stepper, len(tasks), rows, np.zeros((len(tasks), max(stepper.inputs, 1))), entry,
            self._numbers.ctypes.data, self._numbers.strides[0],
        )  # fmt: skip

    def step(self, u: Array) -> None:
        self._rank.held = u
        step_all(self._rank)

    def take(self) -> None:
        """Go on from the rows as they are."""


class _OnGpu:
    """Steps on a GPU, an arm per thread."""

    def __init__(self, tasks: Sequence[Task], rows: Array, h: float, steps: int) -> None:
        gpu().enter()
        kinds = {id(task): task for task in tasks}
        made = {key: _stepper(task, h, steps) for key, task in kinds.items()}
        desks = {
            key: Desk(stepper, [*buffers.values(), *_member(kinds[key]).constants])
            for key, (stepper, buffers) in made.items()
        }
        equations = Equations(_member(tasks[0]).structure.body, "table")
        program = gpu_program(
            step_thread, list(desks.values()), {"equations": equations},
            changing=("steps",), outside=("row", "held"),
        )  # fmt: skip
        self._kernel = GpuKernel(program.ptx(), ENTRY)
        images = {key: program.row(desk) for key, desk in desks.items()}
        self._image = GpuArray(interleaved(np.array([images[id(task)] for task in tasks])))
        self._codes = GpuArray(np.zeros(len(tasks), dtype=np.int64))
        self._rows = GpuArray(rows)
        self._held = GpuArray(np.zeros((len(tasks), max(len(tasks[0].equation.input_names), 1))))

    def step(self, u: Array) -> None:
        self._held.values[:] = u
        self._held.send()
        self._kernel.launch(len(u), [self._codes, self._image, self._rows, self._held])
        gpu().finish()
        self._rows.fetch()

    def take(self) -> None:
        """Go on from the rows as they are."""
        self._rows.send()


def _member(task: Task) -> Member:
    compiled = task.motion.compiled()
    assert isinstance(compiled, Member)
    return compiled
