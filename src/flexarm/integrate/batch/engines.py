"""Steps of arms that go together: one by one on the processor, one per thread on a GPU."""

import weakref
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flexarm.engine.gpu.cuda import Borrowed, GpuArray, GpuKernel, gpu
from flexarm.engine.gpu.dlpack import DeviceArray
from flexarm.formulations.numbers.structures import BoundKernel
from flexarm.integrate.problem import system_of
from flexarm.integrate.system import System, enter_pieces, prescribe, rates
from flexarm.integrate.task import InitialValueProblem
from flexarm.loops.desks import Desk
from flexarm.loops.kernel import kernel
from flexarm.loops.kernel_text import ENTRY
from flexarm.loops.language import Array, Record
from flexarm.loops.ptx import CalledEquations, gpu_program, interleaved


@dataclass
class Stepper(Record):
    """Steps of one arm."""

    system: System  # its rates; its inputs are no channels, but come from outside
    # size, inputs, turned: length of the state y, number of inputs, and of the numbers of its
    # anchors.
    size: int
    inputs: int
    turned: int
    # h, steps: step [s], and how many are taken at a time.
    h: float
    steps: int
    # y, f, total, trial: state, rates, a sum of rates, a trial state.
    y: Array
    f: Array
    total: Array
    trial: Array
    # row, held: on a GPU the arm's time, state and anchors, and the inputs that are held.
    row: Array
    held: Array
    anchor: Array  # attitudes that angles of a free base and of balls are relative to


@dataclass
class Rank(Record):
    """Arms one after the other."""

    stepper: Stepper  # takes the steps
    count: int  # number of arms
    # rows, held: time, state and anchors of each, (count, 1 + size + turned), and inputs, (count,
    # inputs).
    rows: Array
    held: Array
    # entry, first, stride: the entry of the equations' table that points to an arm's numbers, where
    # those of the first are, and from one arm to the next [bytes]; entry -1 if all have the same.
    entry: int
    first: int
    stride: int


@kernel
def take_steps(s: Stepper, row: Array, held: Array) -> None:
    """Advance an arm by its steps, from its time and state."""
    t = row[0]
    h = s.h
    for i in range(s.size):
        s.y[i] = row[1 + i]
    for i in range(s.turned):
        s.anchor[i] = row[1 + s.size + i]
    for i in range(s.inputs):
        s.system.u[i] = held[i]
    for c in range(s.system.channels):
        s.system.current[c] = s.system.first[c]
    enter_pieces(s.system, t)
    for _ in range(s.steps):
        rates(s.system, t, s.y, s.f)
        for i in range(s.size):
            s.total[i] = s.f[i]
            s.trial[i] = s.y[i] + 0.5 * h * s.f[i]
        rates(s.system, t + 0.5 * h, s.trial, s.f)
        for i in range(s.size):
            s.total[i] += 2.0 * s.f[i]
            s.trial[i] = s.y[i] + 0.5 * h * s.f[i]
        rates(s.system, t + 0.5 * h, s.trial, s.f)
        for i in range(s.size):
            s.total[i] += 2.0 * s.f[i]
            s.trial[i] = s.y[i] + h * s.f[i]
        t += h
        rates(s.system, t, s.trial, s.f)
        for i in range(s.size):
            s.y[i] += h / 6.0 * (s.total[i] + s.f[i])
    prescribe(s.system, t, s.y)
    row[0] = t
    for i in range(s.size):
        row[1 + i] = s.y[i]


@kernel
def step_all(b: Rank) -> None:
    """Advance all arms by their steps."""
    for k in range(b.count):
        if b.entry >= 0:
            b.stepper.system.table[b.entry] = b.first + k * b.stride
        width = 1 + b.stepper.size + b.stepper.turned
        take_steps(b.stepper, b.rows[k * width :], b.held[k * b.stepper.inputs :])


@kernel
def step_thread(s: Stepper) -> int:
    """Advance a thread's arm by its steps; return that it can go on."""
    take_steps(s, s.row, s.held)
    return 0


def member_of(task: InitialValueProblem) -> BoundKernel:
    """Return the machine code of a motion, with its numbers."""
    compiled = task.motion.compiled()
    assert isinstance(compiled, BoundKernel)
    return compiled


def _stepper(task: InitialValueProblem, h: float, steps: int) -> tuple[Stepper, dict[str, Array]]:
    """Build the record of an arm's steps; its inputs are no channels, but given from outside."""
    actuators = task.motion.actuators
    system, buffers = system_of(
        task.equation, task.motion.compiled(), task.groups,
        works=actuators.works, impulses=actuators.impulses,
    )  # fmt: skip
    inputs, system.inputs = system.inputs, 0
    system.channels -= inputs
    system.first, system.current = system.first[inputs:].copy(), system.current[inputs:].copy()
    size = len(task.state)
    y, f, total, trial = (np.zeros(size) for _ in range(4))
    turned = len(anchor_of(task))
    anchor = buffers["anchor"] if turned else np.zeros(1)
    row, held = np.zeros(1 + size + turned), np.zeros(max(inputs, 1))
    stepper = Stepper(system, size, inputs, turned, h, steps, y, f, total, trial, row, held, anchor)
    return stepper, buffers


def anchor_of(task: InitialValueProblem) -> Array:
    """Return the reference attitudes of an arm's angles, (9 k,), none of an arm without any."""
    model = task.equation.model
    return model.start_anchors.ravel() if model.attitudes else np.zeros(0)


class OnCores:
    """Steps of arms that go together, on the processor, one after the other."""

    def __init__(self, tasks: Sequence[InitialValueProblem], h: float, steps: int) -> None:
        stepper, self._buffers = _stepper(tasks[0], h, steps)
        self._numbers = np.array([member_of(task).constants[0] for task in tasks])
        self._held = np.zeros((len(tasks), len(stepper.held)))
        entry = len(member_of(tasks[0]).inputs) - 1
        self._rank = Rank(
            stepper, len(tasks), np.zeros((len(tasks), len(stepper.row))), stepper.held, entry,
            self._numbers.ctypes.data, self._numbers.strides[0],
        )  # fmt: skip

    def step(self, held: Array | None) -> None:
        """Step with inputs, or with those that are there."""
        if held is not None:
            self._held[:] = held
        self._rank.held = self._held
        step_all(self._rank)

    def step_at(self, place: int) -> bool:
        """Step with inputs at an address of a GPU: not here."""
        return False

    def rows(self) -> Array:
        """Return times and states."""
        return self._rank.rows

    @property
    def columns(self) -> int:
        """Number of columns of times and states."""
        return int(self._rank.rows.shape[1])

    def view(self, first: int, last: int) -> Array:
        """Return columns of times and states, in place."""
        return self._rank.rows[:, first:last]

    def inputs(self, count: int) -> Array:
        """Return the inputs, in place."""
        return self._held[:, :count]

    def take(self, rows: Array) -> None:
        """Continue from other times and states."""
        self._rank.rows[:] = rows


class OnGpu:
    """Steps of arms that go together, on a GPU, an arm per thread."""

    def __init__(self, tasks: Sequence[InitialValueProblem], h: float, steps: int) -> None:
        gpu().enter()
        kinds = {id(task): task for task in tasks}
        made = {key: _stepper(task, h, steps) for key, task in kinds.items()}
        desks = {
            key: Desk(stepper, [*buffers.values(), *member_of(kinds[key]).constants])
            for key, (stepper, buffers) in made.items()
        }
        equations = CalledEquations(member_of(tasks[0]).structure.body, "table", ("anchor",))
        program = gpu_program(
            step_thread, list(desks.values()), {"equations": equations},
            changing=("steps",), outside=("row", "held"), near=gpu().near,
        )  # fmt: skip
        self._kernel = GpuKernel(program.ptx(), ENTRY, program.block, program.near)
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

    def step(self, held: Array | None) -> None:
        """Step with inputs, or with those that are there."""
        if held is not None:
            self._held.values[:] = held
            self._held.send()
        self._launch(self._held)

    def _launch(self, held: GpuArray | Borrowed) -> None:
        gpu().enter()
        codes, image, rows, _ = self._arrays
        self._kernel.launch(len(self._rows.values), [codes, image, rows, held])
        gpu().finish()

    def step_at(self, place: int) -> bool:
        """Step with inputs at an address of the GPU."""
        self._launch(Borrowed(place))
        return True

    def rows(self) -> Array:
        """Return times and states."""
        return self._rows.fetch()

    @property
    def columns(self) -> int:
        """Number of columns of times and states."""
        return int(self._rows.values.shape[1])

    def view(self, first: int, last: int) -> DeviceArray:
        """Return columns of times and states, in place."""
        return self._rows.view(first, last, self)

    def inputs(self, count: int) -> DeviceArray:
        """Return the inputs, in place."""
        return self._held.view(0, count, self)

    def take(self, rows: Array) -> None:
        """Continue from other times and states."""
        self._rows.values[:] = rows
        self._rows.send()
