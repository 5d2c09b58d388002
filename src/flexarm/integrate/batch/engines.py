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
from flexarm.loops.kernel import kernel
from flexarm.loops.kernel_text import ENTRY
from flexarm.loops.language import Array, Record
from flexarm.loops.ptx import CalledEquations, gpu_program, interleaved
from flexarm.loops.threads import ThreadRecord


@dataclass
class BatchSteps(Record):
    """Steps of arms, one arm after the other."""

    system: System  # rates of an arm; its inputs are no channels, but come from outside
    # count, size, inputs, turned: number of arms, length of the state y of one, number of its
    # inputs, and of the numbers of its reference attitudes.
    count: int
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
    anchor: Array  # attitudes that angles of a free base and of balls are relative to
    # rows, held: time, state and reference attitudes of each arm, (count, 1 + size + turned), and
    # inputs that are held, (count, inputs).
    rows: Array
    held: Array
    # entry, first, stride: the entry of the equations' table that points to an arm's numbers, where
    # those of the first are, and from one arm to the next [bytes]; entry -1 if all have the same.
    entry: int = -1
    first: int = 0
    stride: int = 0


@kernel
def step_arm(s: BatchSteps, row: Array, held: Array) -> None:
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
    for _ in range(s.steps):  # with one sum of rates: a table's stages take a GPU 15 to 28 % longer
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
def step_all(s: BatchSteps) -> int:
    """Advance all arms by their steps; return that they can go on."""
    for k in range(s.count):
        if s.entry >= 0:
            s.system.table[s.entry] = s.first + k * s.stride
        width = 1 + s.size + s.turned
        step_arm(s, s.rows[k * width :], s.held[k * s.inputs :])
    return 0


def member_of(task: InitialValueProblem) -> BoundKernel:
    """Return the machine code of a motion, with its numbers."""
    compiled = task.motion.compiled()
    assert isinstance(compiled, BoundKernel)
    return compiled


def _steps(
    task: InitialValueProblem, h: float, steps: int, count: int = 1
) -> tuple[BatchSteps, dict[str, Array]]:
    """Build the record of arms' steps; their inputs are no channels, but given from outside."""
    actuators = task.motion.actuators
    system, buffers = system_of(
        task.equation, task.motion.compiled(), task.groups,
        works=actuators.works, impulses=actuators.impulses,
    )  # fmt: skip
    inputs, system.inputs = system.inputs, 0
    system.channels -= inputs
    system.first, system.current = system.first[inputs:].copy(), system.current[inputs:].copy()
    size, turned = len(task.state), len(anchor_of(task))
    y, f, total, trial = (np.zeros(size) for _ in range(4))
    anchor = buffers["anchor"] if turned else np.zeros(1)
    rows, held = np.zeros((count, 1 + size + turned)), np.zeros((count, max(inputs, 1)))
    found = BatchSteps(
        system, count, size, inputs, turned, h, steps, y, f, total, trial, anchor, rows, held
    )
    return found, buffers


def anchor_of(task: InitialValueProblem) -> Array:
    """Return the reference attitudes of an arm's angles, (9 k,), none of an arm without any."""
    model = task.equation.model
    return model.start_anchors.ravel() if model.attitudes else np.zeros(0)


class CpuBatch:
    """Steps of arms that go together, on the processor, one after the other."""

    def __init__(self, tasks: Sequence[InitialValueProblem], h: float, steps: int) -> None:
        self._steps, self._buffers = _steps(tasks[0], h, steps, len(tasks))
        self._numbers = np.array([member_of(task).constants[0] for task in tasks])
        self._steps.entry = len(member_of(tasks[0]).inputs) - 1
        self._steps.first, self._steps.stride = self._numbers.ctypes.data, self._numbers.strides[0]

    def step(self, held: Array | None) -> None:
        """Step with inputs, or with those that are there."""
        if held is not None:
            self._steps.held[:] = held
        step_all(self._steps)

    def step_at(self, place: int) -> bool:
        """Step with inputs at an address of a GPU: not here."""
        return False

    def rows(self) -> Array:
        """Return times and states."""
        return self._steps.rows

    @property
    def columns(self) -> int:
        """Number of columns of times and states."""
        return int(self._steps.rows.shape[1])

    def view(self, first: int, last: int) -> Array:
        """Return columns of times and states, in place."""
        return self._steps.rows[:, first:last]

    def inputs(self, count: int) -> Array:
        """Return the inputs, in place."""
        return self._steps.held[:, :count]

    def take(self, rows: Array) -> None:
        """Continue from other times and states."""
        self._steps.rows[:] = rows


class GpuBatch:
    """Steps of arms that go together, on a GPU, an arm per thread."""

    def __init__(self, tasks: Sequence[InitialValueProblem], h: float, steps: int) -> None:
        gpu().enter()
        kinds = {id(task): task for task in tasks}
        made = {key: _steps(task, h, steps) for key, task in kinds.items()}
        records = {
            key: ThreadRecord(record, [*buffers.values(), *member_of(kinds[key]).constants])
            for key, (record, buffers) in made.items()
        }
        equations = CalledEquations(member_of(tasks[0]).structure.body, "table", ("anchor",))
        program = gpu_program(
            step_all, list(records.values()), {"equations": equations},
            changing=("steps",), outside=("rows", "held"), near=gpu().near,
        )  # fmt: skip
        self._kernel = GpuKernel(program.ptx(), ENTRY, program.block, program.near)
        images = {key: program.row(record) for key, record in records.items()}
        first, _ = made[id(tasks[0])]
        count = len(tasks)
        image = GpuArray(interleaved(np.array([images[id(task)] for task in tasks])))
        codes = GpuArray(np.zeros(count, dtype=np.int64))
        self._rows = GpuArray(np.zeros((count, first.rows.size)))
        self._held = GpuArray(np.zeros((count, first.held.size)))
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
