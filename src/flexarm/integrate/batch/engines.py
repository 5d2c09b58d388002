"""Steps of many arms with the same equations: in a loop on the CPU, or in GPU threads."""

import weakref
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flexarm.engine.gpu.cuda import Borrowed, GpuArray, GpuKernel, gpu
from flexarm.engine.gpu.dlpack import DeviceArray
from flexarm.formulations.numbers import BoundKernel
from flexarm.integrate.methods.rk4 import TABLEAU
from flexarm.integrate.problem import system_of
from flexarm.integrate.system import System, enter_pieces, prescribe, rates
from flexarm.integrate.task import InitialValueProblem
from flexarm.loops.kernel import kernel
from flexarm.loops.language import Array, Record
from flexarm.loops.ptx import ENTRY, CalledEquations, gpu_program, interleaved
from flexarm.loops.sums import add, clear, copy
from flexarm.loops.threads import ThreadRecord


@dataclass
class BatchSteps(Record):
    """Record of the Runge-Kutta steps of several arms."""

    system: System  # rates of an arm; inputs are set from outside, not by channels
    count: int  # number of arms
    # Per arm. size: length of the state y. inputs: number of inputs. attitude_size: length of the
    # reference attitudes.
    size: int
    inputs: int
    attitude_size: int
    h: float  # step length [s]
    steps: int  # number of steps per call
    # stages: number of stages of the method, each of which uses the rates of the previous one only.
    # a, b, c: tableau: weight of each stage in the next stage and in the new state, and its time.
    stages: int
    a: Array
    b: Array
    c: Array
    # y: state. f: rates. total: weighted sum of rates. trial: trial state.
    y: Array
    f: Array
    total: Array
    trial: Array
    reference_attitude: Array  # reference attitudes of a free base and of spherical joints
    rows: Array  # time, state, reference attitudes of each arm, (count, 1 + size + attitude_size)
    input_values: Array  # constant inputs of each arm, (count, inputs)
    # entry: index of the pointer to an arm's parameters in the equations' pointer table, or -1 if
    # all arms have equal parameters. first: address of the first arm's parameters. stride: distance
    # between the parameters of two arms [bytes].
    entry: int = -1
    first: int = 0
    stride: int = 0


@kernel
def step_arm(s: BatchSteps, row: Array, inputs: Array) -> None:
    """Advance one arm by its Runge-Kutta steps at constant inputs, in place.

    The array ``row`` contains time, state and reference attitudes of the arm. Time and state are
    overwritten.
    """
    t = row[0]
    h = s.h
    copy(s.size, row[1:], s.y)
    copy(s.attitude_size, row[1 + s.size :], s.reference_attitude)
    copy(s.inputs, inputs, s.system.u)
    for c in range(s.system.channels):
        s.system.current[c] = s.system.first[c]
    enter_pieces(s.system, t)
    # Rates are added to one sum, since separate stages of a tableau are 15 to 28 % slower on a GPU.
    for _ in range(s.steps):
        copy(s.size, s.y, s.trial)
        clear(s.size, s.total)
        for k in range(s.stages):
            rates(s.system, t + s.c[k] * h, s.trial, s.f)
            for i in range(s.size):
                s.total[i] += s.b[k] * s.f[i]
                s.trial[i] = s.y[i] + h * (s.a[k] * s.f[i])
        t += h
        add(s.size, h, s.total, s.y)
    prescribe(s.system, t, s.y)
    row[0] = t
    copy(s.size, s.y, row[1:])


@kernel
def step_all(s: BatchSteps) -> int:
    """Advance all arms by their Runge-Kutta steps, one arm after the other; return 0."""
    for k in range(s.count):
        if s.entry >= 0:
            s.system.table[s.entry] = s.first + k * s.stride
        width = 1 + s.size + s.attitude_size
        step_arm(s, s.rows[k * width :], s.input_values[k * s.inputs :])
    return 0


def member_of(task: InitialValueProblem) -> BoundKernel:
    """Return the compiled equations of motion, bound to the parameters of an arm."""
    compiled = task.motion.compiled()
    assert isinstance(compiled, BoundKernel)
    return compiled


def _steps(
    task: InitialValueProblem, h: float, steps: int, count: int = 1
) -> tuple[BatchSteps, dict[str, Array]]:
    """Build the record for the steps of several arms, and the arrays of their equations.

    The inputs of the arms are not functions of time: the caller sets their values before each step.
    """
    actuators = task.motion.actuators
    system, buffers = system_of(
        task.equation, task.motion.compiled(), task.groups,
        work_integrals=actuators.work_integrals, impulses=actuators.impulses,
    )  # fmt: skip
    inputs, system.inputs = system.inputs, 0
    system.channels -= inputs
    system.first, system.current = system.first[inputs:].copy(), system.current[inputs:].copy()
    size, attitude_size = len(task.state), len(anchor_of(task))
    y, f, total, trial = (np.zeros(size) for _ in range(4))
    reference_attitude = buffers["reference_attitude"] if attitude_size else np.zeros(1)
    rows, inputs_of_arms = (
        np.zeros((count, 1 + size + attitude_size)),
        np.zeros((count, max(inputs, 1))),
    )
    record = BatchSteps(
        system,
        count,
        size,
        inputs,
        attitude_size,
        h,
        steps,
        TABLEAU.stages,
        TABLEAU.table.diagonal(-1).copy(),
        TABLEAU.weights[0],
        TABLEAU.nodes,
        y,
        f,
        total,
        trial,
        reference_attitude,
        rows,
        inputs_of_arms,
    )
    return record, buffers


def anchor_of(task: InitialValueProblem) -> Array:
    """Return the k reference attitudes of an arm at its start, flattened, (9 k,)."""
    model = task.equation.model
    return model.start_references.ravel() if model.attitudes else np.zeros(0)


class CpuBatch:
    """Steps of many arms with the same equations, one arm after the other on the CPU."""

    def __init__(self, tasks: Sequence[InitialValueProblem], h: float, steps: int) -> None:
        self._steps, self._buffers = _steps(tasks[0], h, steps, len(tasks))
        self._numbers = np.array([member_of(task).constants[0] for task in tasks])
        self._steps.entry = len(member_of(tasks[0]).inputs) - 1
        self._steps.first, self._steps.stride = self._numbers.ctypes.data, self._numbers.strides[0]

    def step(self, inputs: Array | None) -> None:
        """Advance all arms with inputs ``inputs``, (count, inputs); use stored inputs if None."""
        if inputs is not None:
            self._steps.input_values[:] = inputs
        step_all(self._steps)

    def step_at(self, address: int) -> bool:
        """Return False, since the CPU cannot read inputs at an address in GPU memory."""
        return False

    def rows(self) -> Array:
        """Return times, states and reference attitudes, one row per arm."""
        return self._steps.rows

    @property
    def columns(self) -> int:
        """Number of columns of the array of times, states and reference attitudes."""
        return int(self._steps.rows.shape[1])

    def view(self, first: int, last: int) -> Array:
        """Return columns of the array that `rows` returns, as a view (``last`` excluded)."""
        return self._steps.rows[:, first:last]

    def inputs(self, count: int) -> Array:
        """Return the first ``count`` columns of the stored inputs, as a view."""
        return self._steps.input_values[:, :count]

    def take(self, rows: Array) -> None:
        """Set times, states and reference attitudes of all arms."""
        self._steps.rows[:] = rows


class GpuBatch:
    """Steps of many arms with the same equations on a GPU, one arm per thread."""

    def __init__(self, tasks: Sequence[InitialValueProblem], h: float, steps: int) -> None:
        gpu().enter()
        distinct_tasks = {id(task): task for task in tasks}
        records_of = {key: _steps(task, h, steps) for key, task in distinct_tasks.items()}
        records = {
            key: ThreadRecord(
                record, [*buffers.values(), *member_of(distinct_tasks[key]).constants]
            )
            for key, (record, buffers) in records_of.items()
        }
        equations = CalledEquations(
            member_of(tasks[0]).structure.body, "table", ("reference_attitude",)
        )
        program = gpu_program(
            step_all, list(records.values()), {"equations": equations},
            changing=("steps",), outside=("rows", "input_values"), near=gpu().near,
        )  # fmt: skip
        self._kernel = GpuKernel(program.ptx(), ENTRY, program.block, program.near)
        images = {key: program.row(record) for key, record in records.items()}
        first, _ = records_of[id(tasks[0])]
        count = len(tasks)
        image = GpuArray(interleaved(np.array([images[id(task)] for task in tasks])))
        codes = GpuArray(np.zeros(count, dtype=np.int64))
        self._rows = GpuArray(np.zeros((count, first.rows.size)))
        self._inputs = GpuArray(np.zeros((count, first.input_values.size)))
        self._arrays = [codes, image, self._rows, self._inputs]
        for array in self._arrays:
            weakref.finalize(self, array.free)

    def step(self, inputs: Array | None) -> None:
        """Advance all arms with inputs ``inputs``, (count, inputs); use stored inputs if None."""
        if inputs is not None:
            self._inputs.values[:] = inputs
            self._inputs.send()
        self._launch(self._inputs)

    def _launch(self, inputs: GpuArray | Borrowed) -> None:
        gpu().enter()
        codes, image, rows, _ = self._arrays
        self._kernel.launch(len(self._rows.values), [codes, image, rows, inputs])
        gpu().finish()

    def step_at(self, address: int) -> bool:
        """Advance all arms with inputs at an address in GPU memory; return True."""
        self._launch(Borrowed(address))
        return True

    def rows(self) -> Array:
        """Return times, states and reference attitudes, one row per arm, copied from the GPU."""
        return self._rows.fetch()

    @property
    def columns(self) -> int:
        """Number of columns of the array of times, states and reference attitudes."""
        return int(self._rows.values.shape[1])

    def view(self, first: int, last: int) -> DeviceArray:
        """Return columns of the array that `rows` returns, as a view of GPU memory."""
        return self._rows.view(first, last, self)

    def inputs(self, count: int) -> DeviceArray:
        """Return the first ``count`` columns of the stored inputs, as a view of GPU memory."""
        return self._inputs.view(0, count, self)

    def take(self, rows: Array) -> None:
        """Set times, states and reference attitudes of all arms in GPU memory."""
        self._rows.values[:] = rows
        self._rows.send()
