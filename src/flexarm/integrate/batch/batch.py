"""Batches of arms that advance together step by step, with inputs and resets from outside."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from flexarm.arguments import (
    Renamed,
    WithUnit,
    listed,
    refused,
    require_array,
    require_count,
    require_number,
)
from flexarm.arm import Arm
from flexarm.engine.gpu.dlpack import CUDA, DeviceArray, pointer_in_place
from flexarm.errors import FlexarmError, SimulationError
from flexarm.integrate.batch.engines import CpuBatch, GpuBatch, anchor_of, member_of
from flexarm.integrate.batch.variations import (
    Rows,
    Variations,
    columns_of,
    coordinate_units,
    read_rows,
    refuse_alone,
    row_codes,
    row_count,
    row_of,
)
from flexarm.integrate.constants import LEAST_SUBSTEPS, LONGEST_RUN, MOST_MIDDLE_ANGLE, RTOL
from flexarm.integrate.methods.rk4 import RK4
from flexarm.integrate.task import InitialValueProblem, equal_step, equation_of, prepare
from flexarm.io.model_file import change_arm, validated
from flexarm.loops.language import Ints
from flexarm.model import Model, build
from flexarm.spatial import Array, rebase


def batch(
    arm: Arm,
    count: int,
    *,
    dt: WithUnit,
    device: Literal["cpu", "gpu"] = "cpu",
    parameters: Sequence[Mapping[str, Any]] | Mapping[str, Any] | None = None,
) -> "Batch":
    """Build a batch of arms that advance together, for learning and for control loops of your own.

    Parameters
    ----------
    arm
        The arm.
    count
        Number of arms.
    dt
        Duration of a step [s], during which inputs are constant. Each such duration is divided into
        equal Runge-Kutta steps, short enough for the fastest mode.
    device
        ``cpu``, or ``gpu`` for the first NVIDIA GPU.
    parameters
        Values by their key in the model file: a list of mappings by arm, such as
        ``[{"payload.mass": 2.0}, ...]``, or a mapping of arrays, ``{"payload.mass": masses}``.

    Returns
    -------
    Batch
        The batch, with all arms in the initial state of the model file.
    """
    require_count("count", count, 1, SimulationError)
    dt = require_number("dt", dt, SimulationError, unit="s")
    if not dt > 0:
        raise SimulationError(f"dt: must be > 0, got {dt}")
    if device not in get_args(Literal["cpu", "gpu"]):
        raise refused("device", device, "'cpu' or 'gpu'", SimulationError)
    arm, kind_of, first_of_kind = validated(arm), np.zeros(count, dtype=np.int64), [0]
    rows: Rows = [{}]
    if parameters is not None:
        rows = _rows("parameters", parameters, count)
        kind_of = row_codes(rows)
        first_of_kind = np.unique(kind_of, return_index=True)[1].tolist()
    kinds = [_task(build(change_arm(arm, row_of(rows, k)))) for k in first_of_kind]
    return Batch(kinds, kind_of, dt, device)


def _rows(name: str, values: Any, count: int) -> Rows:
    """Return an array with one row per arm; raise SimulationError if the row count is wrong."""
    rows = read_rows(name, values)
    if row_count(rows) != count:
        expected = f"a list of {count} mappings, one per arm, or a mapping of arrays"
        raise refused(name, values, expected, SimulationError)
    return rows


def _task(model: Model) -> InitialValueProblem:
    """Return the initial value problem of an arm for a batch, or raise SimulationError.

    A batch cannot contain arms with events, brakes, dry friction, a start in an equilibrium,
    backlash, limits of coil currents, or sampled servos.
    """
    refuse_alone(model)
    task = prepare(model, np.array([0.0, 1e-3]), equation=equation_of(model))
    actuators = task.motion.actuators
    if actuators.event_functions or any(
        servo.servo.period is not None for servo in actuators.servos
    ):
        raise SimulationError(
            "arm: a batch cannot simulate backlash, current limits in coils or sampled servos. "
            "Use flexarm.simulate."
        )
    return task


@dataclass(frozen=True)
class InPlace:
    """Arrays that share memory with a batch; `from_dlpack` of other packages accepts them."""

    # t: times [s], (count, 1). q, v: coordinates and rates, (count, n). u: inputs, (count, inputs).
    t: Array | DeviceArray
    q: Array | DeviceArray
    v: Array | DeviceArray
    u: Array | DeviceArray
    # Array whose first columns are t, q and v, for JAX, which does not accept views of an array.
    rows: Array | DeviceArray


class Batch(Renamed):
    """Several arms that advance together in steps of equal duration.

    Attributes
    ----------
    dt, substeps
        Duration of a step [s], and number of Runge-Kutta steps in it.
    names, input_names
        Names of coordinates and of inputs, in the order of their columns.
    """

    _former_names: ClassVar = {"anchors": "reference_attitudes"}

    def __init__(
        self, kinds: Sequence[InitialValueProblem], kind_of: Ints, dt: float, device: str
    ) -> None:
        first = kinds[0]
        if any(task.equation.model.names != first.equation.model.names for task in kinds):
            raise SimulationError("parameters: must not change which coordinates the arms have")
        self._kinds, self._which, self.dt = kinds, kind_of, dt
        self.names, self.input_names = first.equation.model.names, first.equation.input_names
        steps = [equal_step(RK4, task.vibration, LONGEST_RUN, RTOL, None) for task in kinds]
        self.substeps = int(np.ceil(dt / min(*steps, dt / LEAST_SUBSTEPS)))
        self._size = len(first.state)
        self._starts = np.array([_row(task) for task in kinds])
        self._rows = self._starts[kind_of]
        self._stale = self._lent = False
        kind = GpuBatch if device == "gpu" else CpuBatch
        self._engines = [
            (arms, kind([kinds[k] for k in kind_of[arms]], dt / self.substeps, self.substeps))
            for arms in _groups([_structure(task) for task in kinds], kind_of)
        ]
        self._limits = [
            (arms, *_limits([kinds[k] for k in kind_of[arms]]))
            for arms in _groups([_bound_rows(task).tobytes() for task in kinds], kind_of)
        ]
        self.reset()

    def __len__(self) -> int:
        """Return the number of arms in the batch."""
        return len(self._which)

    def __repr__(self) -> str:
        """Return a one-line summary: number of arms, name, step [s] and Runge-Kutta steps."""
        name = self._kinds[0].equation.model.arm.name
        return f"Batch of {len(self)} times {name}: {self.dt:g} s in {self.substeps} steps"

    def _current_rows(self) -> Array:
        """Return times, states and reference attitudes, one row per arm."""
        if self._stale or self._lent:
            for arms, engine in self._engines:
                self._rows[arms] = engine.rows()
            self._stale = False
        return self._rows

    def in_place(self) -> "InPlace":
        """Return times, coordinates, rates and inputs as arrays that share memory with the batch.

        Returns
        -------
        InPlace
            Arrays that ``torch.from_dlpack``, ``jax.dlpack.from_dlpack``, ``cupy.from_dlpack`` and
            ``numpy.from_dlpack`` accept without a copy, in memory of the CPU or of a GPU.  Values
            written to the arrays change the batch: ``step()`` uses the inputs written there.

        Raises
        ------
        SimulationError
            If the arms have different equation structures and therefore no common array.
        """
        if len(self._engines) > 1:
            raise SimulationError(
                "in_place: is for arms with one set of equations, and these arms have several. "
                "Use q, v and step."
            )
        self._lent = True
        _, engine = self._engines[0]
        n = len(self.names)
        t, q, v = (engine.view(*ends) for ends in ((0, 1), (1, 1 + n), (1 + n, 1 + 2 * n)))
        rows = engine.view(0, engine.columns)
        return InPlace(t, q, v, engine.inputs(len(self.input_names)), rows)

    @property
    def t(self) -> Array:
        """Times since the last reset of each arm [s], shape (count,)."""
        return self._current_rows()[:, 0].copy()

    @property
    def q(self) -> Array:
        """Coordinates of all arms, shape (count, n)."""
        return self._current_rows()[:, 1 : 1 + len(self.names)].copy()

    @property
    def v(self) -> Array:
        """Rates of the coordinates of all arms, shape (count, n)."""
        n = len(self.names)
        return self._current_rows()[:, 1 + n : 1 + 2 * n].copy()

    @property
    def reference_attitudes(self) -> Array:
        """Rotation matrices relative to which attitude angles count, (count, 3 k, 3).

        An arm has k reference attitudes: that of its free base, if any, then those of its spherical
        joints. The rotation matrices (3, 3) of an arm are stacked below each other and transform
        from reference axes to world axes. A reference attitude is replaced when the angles approach
        a singularity.
        """
        return self._current_rows()[:, 1 + self._size :].reshape(len(self), -1, 3).copy()

    def step(self, u: Any = None) -> Array:
        """Advance all arms by one step with constant inputs; return which arms have ended.

        Parameters
        ----------
        u
            Inputs, as for `advance`.

        Returns
        -------
        ndarray
            Mask, shape (count,), of arms whose run would end: at a limit, bent beyond the validity
            of the model, or with a state that is not finite. An arm in the mask continues to
            advance until `reset` is called for it.
        """
        self.advance(u)
        return self.ended

    def advance(self, u: Any = None) -> None:
        """Advance all arms by one step, without checking which arms have ended.

        Parameters
        ----------
        u
            Inputs, shape (count, inputs), or (inputs,) for all arms.  An array of doubles in GPU
            memory, of torch, JAX or CuPy, is used without a copy.  None selects the inputs of
            `in_place`.

        Notes
        -----
        The states of a batch on a GPU are not copied to the CPU between steps, unless the arm has
        reference attitudes.
        """
        if u is None:
            for _, engine in self._engines:
                engine.step(None)
        elif not self._step_in_place(u):
            self._step_with(u)
        self._stale = True
        if self._rows.shape[1] > 1 + self._size:
            self._rebase_attitudes()

    def _rebase_attitudes(self) -> None:
        """Update the reference attitudes of arms whose angles approach a singularity."""
        rows, n, any_rebased = self._current_rows(), len(self.names), False
        for k, first in enumerate(self._kinds[0].equation.model.attitudes):
            start = 1 + self._size + 9 * k
            for row in map(
                rows.__getitem__, np.flatnonzero(np.abs(rows[:, 2 + first]) > MOST_MIDDLE_ANGLE)
            ):
                angles, rates = row[1 + first : 4 + first], row[1 + n + first : 4 + n + first]
                rebase(row[start : start + 9].reshape(3, 3), angles, rates)
                any_rebased = True
        for arms, engine in self._engines if any_rebased else ():
            engine.take(rows[arms])

    def _step_in_place(self, u: Any) -> bool:
        """Advance by a step with inputs from GPU memory; return whether the array was usable."""
        shape = (len(self), len(self.input_names))
        try:
            address = pointer_in_place(u, shape, CUDA)
        except FlexarmError as error:
            raise SimulationError(f"u: {error}") from None
        if address is None or len(self._engines) > 1 or not shape[1]:
            return False
        return self._engines[0][1].step_at(address)

    def _step_with(self, u: Any) -> None:
        """Advance by a step with inputs in CPU memory, shape (count, inputs) or (inputs,)."""
        values = require_array("u", u, SimulationError)
        shape = (len(self), len(self.input_names))
        if values.shape not in (shape, shape[1:]):
            raise SimulationError(
                f"u: must have the shape {shape} or {shape[1:]}, got {values.shape}"
            )
        inputs = np.zeros((len(self), max(shape[1], 1)))
        inputs[:, : shape[1]] = values
        for arms, engine in self._engines:
            engine.step(inputs[arms])

    @property
    def ended(self) -> Array:
        """Whether each arm is at a limit, bent too far or no longer finite, (count,)."""
        states = self._current_rows()[:, 1 : 1 + 2 * len(self.names)]
        ended = ~np.all(np.isfinite(states), axis=1)
        for arms, rows, low, high in self._limits:
            with np.errstate(invalid="ignore"):
                values = states[arms] @ rows.T
                ended[arms] |= np.any((values < low) | (values > high), axis=1)
        return np.asarray(ended)

    def reset(self, which: Any = None, starts: Any = None) -> None:
        """Reset arms to time 0 and to their initial states.

        Parameters
        ----------
        which
            Indices of the arms, or a mask (count,) of bool; all arms if None.
        starts
            Initial coordinates by name, and rates as ``NAME.rate``, which replace the start of the
            model file: a list of mappings by arm that is reset, or a mapping of arrays.
        """
        rows = self._selected(which)
        initial = self._starts[self._which[rows]]
        if starts is not None:
            initial[:, 1 : 1 + self._size] = self._initial_states(starts, self._which[rows])
        self._current_rows()[rows] = initial
        for arms, engine in self._engines:
            engine.take(self._rows[arms])

    def _initial_states(self, starts: Any, kinds: Ints) -> Array:
        """Return the initial states of selected arms, (arms, size), with given values replaced."""
        values = _rows("starts", starts, len(kinds))
        units = coordinate_units(self._kinds[0].equation.model)
        variations = Variations(self._kinds, kinds, columns_of("starts", values, units), {})
        variations.check()
        if np.any(variations.problem_of >= len(self._kinds)):
            raise SimulationError(
                "starts: a servo without a target holds its joint at the start in the model "
                "file. Give the servo a target."
            )
        return variations.states(slice(None))

    def _selected(self, which: object) -> Ints:
        """Return the indices of the arms that a mask or a list of indices selects; None is all."""
        numbers = np.arange(len(self))
        if which is None:
            return numbers
        indices = np.asarray(which if isinstance(which, np.ndarray) else listed(which))
        if indices.shape == (len(self),) and indices.dtype == bool:
            return np.flatnonzero(indices)
        if indices.ndim != 1 or (indices.size and indices.dtype.kind not in "iu"):
            raise refused(
                "which", which, "a list of indices of arms, or one bool per arm", SimulationError
            )
        if np.any((indices < 0) | (indices >= len(self))):
            raise SimulationError(f"which: must be indices from 0 to {len(self) - 1}, got {which}")
        return np.array(indices, dtype=np.int64)

    def tip(self) -> Array:
        """Return the tip positions [m], shape (count, 3)."""
        positions = np.zeros((len(self), 3))
        q, v = self.q, self.v
        for task, arms in zip(
            self._kinds, _groups(range(len(self._kinds)), self._which), strict=True
        ):
            equation = task.equation
            if task.equation.model.attitudes:
                equation = equation.with_reference(self.reference_attitudes[arms])
            positions[arms] = equation.observe(q[arms], v[arms])[2]
        return positions


def _row(task: InitialValueProblem) -> Array:
    """Return time 0, the initial state and the reference attitudes of an arm as one array."""
    return np.concatenate([[0.0], task.state, anchor_of(task)])


def _groups(keys: Sequence[Hashable], kind_of: Ints) -> list[slice | Ints]:
    """Return the indices of arms, grouped by equal keys.

    The argument ``kind_of`` contains, for each arm, the index of its key in ``keys``.
    """
    numbers = {key: k for k, key in enumerate(dict.fromkeys(keys))}
    if len(numbers) == 1:
        return [slice(None)]
    group = np.array([numbers[key] for key in keys])[kind_of]
    order, ends = np.argsort(group, kind="stable"), np.cumsum(np.bincount(group))
    return list(np.split(order, ends[:-1]))


def _structure(task: InitialValueProblem) -> Hashable:
    """Return a key that is equal for arms that compiled code can advance together.

    Arms with equal keys have the same operations in their equations, the same wrenches, prescribed
    motions and targets.
    """
    return id(member_of(task).structure), repr(task.groups[1:])


def _bound_rows(task: InitialValueProblem) -> Array:
    """Return coefficients of (q, v) for a quantity with limits, one row per arm, (count, 2 n)."""
    rows = [limit.row for limit in task.state_limits if limit.what]
    return np.array(rows).reshape(-1, 2 * len(task.equation.model.names))


def _limits(tasks: Sequence[InitialValueProblem]) -> tuple[Array, Array, Array]:
    """Return coefficients, lower limits and upper limits of the quantities with limits.

    For N arms, each array of coefficients has the shape (count, 2 n), and the arrays of limits have
    the shape (N, count).
    """
    bounds = [
        [(limit.low, limit.high) for limit in task.state_limits if limit.what] for task in tasks
    ]
    low, high = np.array(bounds).reshape(len(tasks), -1, 2).transpose(2, 0, 1)
    return _bound_rows(tasks[0]), low, high
