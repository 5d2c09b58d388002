"""Many arms stepped together from outside: inputs in, states out, some begun anew."""

import weakref
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np

from flexarm.arguments import listed, refused, require_array, require_count, require_number
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
from flexarm.loops.language import Ints
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
    changed = _mappings("parameters", parameters, count)
    arm, structures, known = validated(arm), Structures(), dict[str, Task]()
    tasks = []
    for changes in changed:
        key = repr(sorted(changes.items()))
        if key not in known:
            known[key] = _task(change_arm(arm, changes) if changes else arm, structures)
        tasks.append(known[key])
    return Batch(tasks, float(dt), device)


def _mappings(name: str, given: object, count: int) -> list[dict[str, Any]]:
    """Take one mapping per arm; none is of empty ones."""
    if given is None:
        return [{}] * count
    found = listed(given)
    if found is None or len(found) != count or not all(isinstance(e, Mapping) for e in found):
        raise refused(name, given, f"a list of {count} mappings, one per arm", SimulationError)
    return [dict(each) for each in found]


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
        if any(task.equation.model.names != first.equation.model.names for task in tasks):
            raise SimulationError("parameters: must leave all arms the same coordinates")
        self._tasks, self.dt = tasks, dt
        self.names, self.input_names = first.equation.model.names, first.equation.input_names
        distinct = {id(task): task.vibration for task in tasks}.values()
        steps = [equal_step(RK4, each, LONG, WANTED, None) for each in distinct]
        self.substeps = int(np.ceil(dt / min(*steps, dt / FEWEST)))
        self._rows = np.zeros((len(tasks), 1 + len(first.state)))
        kind = _OnGpu if device == "gpu" else _OnCores
        self._engines = [
            (mine, kind([tasks[k] for k in mine], dt / self.substeps, self.substeps))
            for mine in _alike(tasks)
        ]
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
        for mine, engine in self._engines:
            self._rows[mine] = engine.step(held[mine])
        return self.ended

    @property
    def ended(self) -> Array:
        """Which arms are where their run would end, (count,) of bool."""
        states = self._rows[:, 1 : 1 + 2 * len(self.names)]
        found = ~np.all(np.isfinite(states), axis=1)
        for task, mine in self._by_task():
            for watch in task.watches:
                with np.errstate(invalid="ignore"):
                    values = states[mine] @ watch.row
                    found[mine] |= (values < watch.low) | (values > watch.high)
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
        rows = self._chosen(which)
        given = None if starts is None else _mappings("starts", starts, len(rows))
        for k, row in enumerate(rows.tolist()):
            task = self._tasks[row]
            begun = task if given is None else started_at(task, given[k])
            if begun.groups is not task.groups:
                raise SimulationError(
                    "starts: a servo without a target holds where the model file starts: give it a "
                    "target"
                )
            self._rows[row, 0] = 0.0
            self._rows[row, 1:] = begun.state
        for mine, engine in self._engines:
            engine.take(self._rows[mine])

    def _chosen(self, which: object) -> Ints:
        """Read which arms are meant."""
        numbers = np.arange(len(self))
        if which is None:
            return numbers
        found = np.asarray(which if isinstance(which, np.ndarray) else listed(which))
        if found.shape == (len(self),) and found.dtype == bool:
            return np.flatnonzero(found)
        if found.ndim != 1 or (found.size and found.dtype.kind not in "iu"):
            raise refused("which", which, "numbers of arms, or a bool for each", SimulationError)
        if np.any((found < 0) | (found >= len(self))):
            raise SimulationError(f"which: must be from 0 to {len(self) - 1}, got {which}")
        return np.array(found, dtype=np.int64)

    def _by_task(self) -> list[tuple[Task, list[int]]]:
        """List arms by their model."""
        return [(self._tasks[mine[0]], mine) for mine in _sorted(self._tasks, id)]

    def tip(self) -> Array:
        """Give the tips' positions [m], (count, 3)."""
        places = np.zeros((len(self), 3))
        q, v = self.q, self.v
        for task, mine in self._by_task():
            places[mine] = task.equation.observe(q[mine], v[mine])[2]
        return places


def _sorted(tasks: Sequence[Task], key: Callable[[Task], Hashable]) -> list[list[int]]:
    """List the numbers of tasks by a key."""
    found: dict[Hashable, list[int]] = {}
    for k, task in enumerate(tasks):
        found.setdefault(key(task), []).append(k)
    return list(found.values())


def _alike(tasks: Sequence[Task]) -> list[list[int]]:
    """List arms that go together: of the same operations, wrenches, motions and targets."""
    said = {id(task): repr(task.groups[1:]) for task in tasks}
    return _sorted(tasks, lambda task: (id(_member(task).structure), said[id(task)]))


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
    """Steps of arms that go together, on the processor, one after the other."""

    def __init__(self, tasks: Sequence[Task], h: float, steps: int) -> None:
        stepper, self._buffers = _stepper(tasks[0], h, steps)
        self._numbers = np.array([_member(task).constants[0] for task in tasks])
        entry = len(_member(tasks[0]).inputs) - 1
        self._rank = Rank(
            stepper, len(tasks), np.zeros((len(tasks), 1 + stepper.size)), stepper.held, entry,
            self._numbers.ctypes.data, self._numbers.strides[0],
        )  # fmt: skip

    def step(self, held: Array) -> Array:
        """Step with inputs, and give times and states."""
        self._rank.held = held
        step_all(self._rank)
        return self._rank.rows

    def take(self, rows: Array) -> None:
        """Go on from times and states."""
        self._rank.rows[:] = rows


class _OnGpu:
    """Steps of arms that go together, on a GPU, an arm per thread."""

    def __init__(self, tasks: Sequence[Task], h: float, steps: int) -> None:
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
        stepper, _ = made[id(tasks[0])]
        count = len(tasks)
        image = GpuArray(interleaved(np.array([images[id(task)] for task in tasks])))
        codes = GpuArray(np.zeros(count, dtype=np.int64))
        self._rows = GpuArray(np.zeros((count, len(stepper.row))))
        self._held = GpuArray(np.zeros((count, len(stepper.held))))
        self._arrays = [codes, image, self._rows, self._held]
        for array in self._arrays:
            weakref.finalize(self, array.free)

    def step(self, held: Array) -> Array:
        """Step with inputs, and give times and states."""
        self._held.values[:] = held
        self._held.send()
        self._kernel.launch(len(held), self._arrays)
        gpu().finish()
        return self._rows.fetch()

    def take(self, rows: Array) -> None:
        """Go on from times and states."""
        self._rows.values[:] = rows
        self._rows.send()


def _member(task: Task) -> Member:
    compiled = task.motion.compiled()
    assert isinstance(compiled, Member)
    return compiled
