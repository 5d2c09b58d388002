"""One phase of a simulation along recorded steps, with forward and adjoint derivatives."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from flexarm.errors import SimulationError
from flexarm.formulations.numbers import BoundKernel, Nearby, directions_of
from flexarm.gradients.adjoint import Adjoint, MotionTangents, pull, push
from flexarm.gradients.events.phases import event_functions_by_index
from flexarm.gradients.plan import StepSequence, roundings
from flexarm.gradients.rates import DIRECTION, PULSE, TANGENT, WEIGHT, RateFunctions
from flexarm.gradients.start import SteadyStart
from flexarm.gradients.steps import GivenSteps, advance
from flexarm.integrate.constants import MOST_MIDDLE_ANGLE
from flexarm.integrate.method import Method, zeros
from flexarm.integrate.methods.oscillator import RESPONSES
from flexarm.integrate.problem import system_of, table_of
from flexarm.integrate.system import enter_pieces, instant, rates
from flexarm.integrate.task import InitialValueProblem
from flexarm.loops.language import Ints
from flexarm.model import Model, start_state
from flexarm.spatial import Array


@dataclass(frozen=True)
class RunGradient:
    """Derivatives of a scalar function of a simulation's samples."""

    parameters: Array  # derivatives with respect to the parameters, (k,)
    # q, v: derivatives with respect to the initial coordinates and rates, (n,) each.
    q: Array
    v: Array
    # Derivatives with respect to changes of the inputs at the samples, linear between them, (T,
    # inputs).
    inputs: Array


@dataclass(frozen=True)
class RecordedTrajectory:
    """One phase simulated along recorded steps, with derivatives of its samples.

    Attributes
    ----------
    task
        Initial-value problem of the phase.
    functions
        Compiled equations of motion and their derivatives.
    parameters
        Model-file keys of the parameters with respect to which derivatives are computed.
    method, plan
        Integration method, and the recorded steps.
    nodes
        Times [s] between which the inputs are interpolated linearly.
    arms
        Function that returns models in which one parameter is slightly changed, by parameter key.
    started
        Whether the phase starts at the initial state of the model file, which may depend on
        parameters.
    steady
        Start in equilibrium, which depends on parameters and inputs; None for another start.
    held
        Indices of the coordinates that brakes hold.
    like
        Another phase with the same model, whose derivatives with respect to parameters are reused.
        known Cache of derivatives with respect to parameters, shared by phases with the same model.
    """

    task: InitialValueProblem
    functions: RateFunctions
    parameters: tuple[str, ...]
    method: Method
    plan: StepSequence
    nodes: Array
    arms: Callable[[], Mapping[str, Nearby]]
    started: bool
    steady: SteadyStart | None = None
    held: tuple[int, ...] = ()
    like: "RecordedTrajectory | None" = None
    known: dict[Any, Array] = field(default_factory=dict, repr=False)

    @property
    def steps(self) -> Array:
        """Step boundaries of the phase [s], sample times included."""
        return self.plan.ends

    @property
    def t(self) -> Array:
        """Sample times of the phase [s], (T,)."""
        return self.task.times

    @cached_property
    def states(self) -> Array:
        """States at T samples, (T, size): coordinates, rates, states of servos and drives.

        Raises
        ------
        SimulationError
            If a state is not finite, or if an attitude turns so far that a simulation would change
            its reference attitude.
        """
        self._rewind()
        advance(self._steps)
        states = self._steps.samples.reshape(len(self.t), -1)
        if not np.isfinite(states).all():
            late = self.t[np.flatnonzero(~np.isfinite(states).all(axis=1))[0]]
            raise SimulationError(
                f"the motion grew without bound before t = {late:.4g} s. Use smaller steps, or "
                "check the inputs and the numbers of the arm."
            )
        for first in self.model.attitudes:
            if np.abs(states[:, first + 1]).max() > MOST_MIDDLE_ANGLE:
                raise SimulationError(
                    f"gradients: {self.model.names[first + 1]} turns by more than "
                    f"{MOST_MIDDLE_ANGLE:g} rad, where the simulation changes its reference "
                    "attitude. Use a run that turns less."
                )
        return states

    def state_sensitivities(self, inputs: int = 0, first: Array | None = None) -> Array:
        """Compute derivatives d states / d parameters at T samples, (T, size, k).

        After the columns for the parameters follow ``inputs`` columns with derivatives with respect
        to constants added to the inputs. The argument ``first`` contains the derivatives of the
        first state, then those of the poses and velocities of captured bodies, one row per element.
        If ``first`` is None, the derivatives of the initial state are computed.
        """
        self.states  # noqa: B018  raises an error if a state is not finite
        n, size, driven = self.n, self.size, len(self.task.groups[0])
        fields, buffers, matrices = self._fields
        self._rewind()
        equations, table = self._joined("pushed rates", buffers)
        if matrices:
            matrices[TANGENT] = buffers[TANGENT]
        turned, turned_table = self._joined("pushed matrices", matrices)
        along, by_matrix = self.along("pushed rates"), self.along("pushed matrices")
        count = len(self.parameters)
        columns = count + inputs
        pulses = np.zeros((columns, driven))
        pulses[count:] = np.eye(inputs, driven)
        if first is None:
            first = np.zeros((size, columns))
            first[:, :count] = self._start_slopes.T
            if inputs and self.steady is not None:
                first[:, count:] = self._start_by_inputs.T
        ways = np.concatenate([np.eye(count, columns), first[size:]])
        record = MotionTangents(
            **fields,
            columns=columns,
            numbers=len(along),
            matrix_numbers=len(by_matrix),
            equations=equations,
            table=table,
            turned=turned,
            turned_table=turned_table,
            tangent=buffers[TANGENT],
            pulse=buffers.get(PULSE, np.zeros(driven)),
            direction=buffers[DIRECTION],
            change=buffers["change"],
            matrix_direction=matrices.get(DIRECTION, np.zeros(0)),
            matrix_change=matrices.get("change", np.zeros(0)),
            directions=(along @ ways).T.ravel(),
            matrix_directions=(by_matrix @ ways).T.ravel(),
            pulses=pulses.ravel(),
            tangents=first[:size].T.ravel(),
            **zeros({
                "tangent_samples": len(self.t) * columns * size,
                "x_along": columns * n, "g_along": columns * len(fields["g"]),
                "p_along": columns * len(fields["p"]), "modal_along": 2 * n,
                "basis_along": columns * (2 * n * n + 2 * n), "more": 2 * n,
            }),
        )  # fmt: skip
        record.adopt(self._steps)
        push(record)
        return np.swapaxes(record.tangent_samples.reshape(len(self.t), columns, size), 1, 2)

    def pulled(self, seeds: Array) -> tuple[Array, Array, Array]:
        """Compute derivatives of a scalar function of the samples, by the adjoint method.

        The argument ``seeds``, (T, size), contains derivatives of the scalar function with respect
        to the states at the samples. The method returns derivatives of the function with respect to
        the parameters and the poses and velocities of captured bodies, to the first state, (size,),
        and to the inputs at the interpolation nodes, (nodes, inputs).
        """
        self.states  # noqa: B018
        size, n = self.size, self.n
        fields, buffers, matrices = self._fields
        equations, table = self._joined("pulled rates", buffers)
        turned, turned_table = self._joined("pulled matrices", matrices)
        along, by_matrix = self.along("pulled rates"), self.along("pulled matrices")
        count, inputs, last = len(along), len(self.task.groups[0]), len(self.nodes) - 2
        begins = self.steps[:-1] + roundings(self.steps[:-1])
        renewed = np.add.reduceat(self._renewed, self.plan.starts[:-1]).max()
        record = Adjoint(
            **fields,
            numbers=count,
            matrix_numbers=len(by_matrix),
            equations=equations,
            table=table,
            turned=turned,
            turned_table=turned_table,
            weight=buffers[WEIGHT],
            by_state=buffers["by_state"],
            by_input=buffers.get("by_input", np.zeros(inputs)),
            by_number=buffers["by_number"],
            matrix_weight=matrices.get(WEIGHT, np.zeros(0)),
            matrix_by_state=matrices.get("by_state", np.zeros(0)),
            matrix_by_number=matrices.get("by_number", np.zeros(0)),
            seeds=seeds.ravel(),
            nodes=self.nodes,
            interval=np.clip(np.searchsorted(self.nodes, begins, "right") - 1, 0, last),
            **zeros({
                "adjoint": size, "x_back": n, "g_back": len(fields["g"]),
                "p_back": len(fields["p"]), "basis_back": 2 * n * n + 2 * n, "share": size,
                "bases": renewed * (3 * n * n + 2 * n), "more": 2 * n,
                "modals": (fields["stages"] + 1) * 2 * n, "by_numbers": count,
                "by_matrix_numbers": len(by_matrix), "by_inputs": len(self.nodes) * inputs,
            }),
        )  # fmt: skip
        record.adopt(self._steps)
        pull(record)
        by_start, by_inputs = record.adjoint, record.by_inputs.reshape(len(self.nodes), -1)
        if self.steady is not None:
            by_inputs[0] += self._start_by_inputs @ by_start
        by_model = record.by_numbers @ along + record.by_matrix_numbers @ by_matrix
        return (
            by_model + self._start_slopes @ by_start,
            by_start.copy(),
            by_inputs,
        )

    def by(self, plan: StepSequence) -> "RecordedTrajectory":
        """Return the phase simulated along another sequence of steps."""
        return replace(self, task=replace(self.task, times=plan.times), plan=plan)

    def begun(self, y: Array) -> "RecordedTrajectory":
        """Return the phase simulated from another initial state y, (size,)."""
        q, v, x = np.split(y, [self.n, 2 * self.n])
        names = self.task.motion.actuators.state_names
        start = replace(self.task.start, q=q, v=v, x=dict(zip(names, x.tolist(), strict=True)))
        return replace(self, task=replace(self.task, start=start), started=False, steady=None)

    def rates_at(self, sample: int) -> Array:
        """Return the time derivative of the state, (size,), at the first or the last sample."""
        return self._at(sample)[0]

    def event_value(self, sample: int, event: int) -> tuple[float, Array, Array]:
        """Return an event function's value, and d value / d state, d value / d parameters.

        The argument ``sample`` is 0 for the first sample and -1 for the last one. The parameters
        are the constant inputs of the compiled function ``pulled event_values``.
        """
        _, buffers = self._at(sample)
        place = list(event_functions_by_index(self.model)).index(event)
        buffers[WEIGHT] = np.eye(len(self.functions.event_functions))[place]
        results: dict[str, Array] = {}
        for name in ("event_values", "pulled event_values"):
            member = self._member(name)
            inputs = member.inputs[: len(member.inputs) - len(member.constants)]
            values = member.call(*(buffers[port.name].reshape(port.shape) for port in inputs))
            results |= {port.name: v for port, v in zip(member.outputs, values, strict=True)}
        return float(results["event_values"][place]), results["by_state"], results["by_number"]

    def _at(self, sample: int) -> tuple[Array, dict[str, Array]]:
        """Return the state derivative at the first or last sample, and the function's arrays."""
        system, buffers = system_of(
            self.task.equation, self._member("rates"), self.task.groups, work_integrals=0
        )
        begin = self.steps[-2 if sample else 0]
        state = np.zeros(self.size)
        enter_pieces(system, begin + float(roundings(begin)))
        rates(system, self.t[sample], self.states[sample].copy(), state)
        return state, buffers

    @cached_property
    def nearby(self) -> Mapping[str, Nearby]:
        """Models in which one parameter is slightly changed, by parameter key."""
        return self.arms() if self.like is None else self.like.nearby

    @property
    def model(self) -> Model:
        """Model of the arm in this phase."""
        return self.task.equation.model

    @property
    def n(self) -> int:
        """Number of coordinates of the arm."""
        return self.model.size

    @property
    def size(self) -> int:
        """Length of the state vector: coordinates, rates, states of servos and drives."""
        return 2 * self.n + self.task.motion.actuators.states

    @cached_property
    def _steps(self) -> GivenSteps:
        return GivenSteps(**self._fields[0])

    def _rewind(self) -> None:
        """Reset the state and the functions of time to the start of the phase."""
        start, begin = self.task.start, float(self.steps[0])
        more = [start.x.get(name, 0.0) for name in self.task.motion.actuators.state_names]
        self._fields[0]["y"][:] = np.concatenate([start.q, start.v, more])
        enter_pieces(self._fields[0]["system"], begin + instant(begin))

    @property
    def _renewed(self) -> Ints:
        count = len(self.steps) - 1
        return self.plan.renewed if len(self.plan.renewed) else np.zeros(count, dtype=np.int64)

    @cached_property
    def _members(self) -> dict[str, BoundKernel]:
        return {}

    def _member(self, name: str) -> BoundKernel:
        if name not in self._members:  # pointer tables refer to its constants
            formulation = self.task.equation.formulation
            self._members[name] = self.functions.member(name, formulation, self._others)
        return self._members[name]

    def _others(self) -> list[Model]:
        return [model for pair in self.nearby.values() for model in pair.models]

    def _joined(self, name: str, buffers: dict[str, Array]) -> tuple[int, Ints]:
        """Return address and table of pointers of a compiled function, for given arrays.

        Without arrays, the address is 0 and the table of pointers is empty.
        """
        if not buffers:
            return 0, np.zeros(0, dtype=np.int64)
        member = self._member(name)
        for port in (*member.inputs, *member.outputs):
            buffers.setdefault(port.name, np.zeros(port.size))
        table, buffers_in_use = table_of(member, buffers)
        buffers[f"work of {name}"] = buffers_in_use[-1]
        return member.table_address, table

    def along(self, name: str) -> Array:
        """Return derivatives d constants / d parameters of a function's inputs, (constants, k)."""
        if "matrices" in name and not len(self.plan.renewed):
            return np.zeros((0, len(self.nearby)))
        if self.like is not None:
            return self.like.along(name)
        structure = self._member(name).structure
        if structure not in self.known:
            self.known[structure] = directions_of(structure.pattern, self.model, self.nearby)
        return self.known[structure]

    @cached_property
    def _fields(self) -> tuple[dict[str, Any], dict[str, Array], dict[str, Array]]:
        """Fields common to all records of this phase, and the arrays of compiled equations.

        The arrays for mass, stiffness and damping matrix are empty for a method without modes.
        """
        system, buffers = system_of(
            self.task.equation, self._member("rates"), self.task.groups, work_integrals=0
        )
        tableau, n, size, count = self.method.tableau, self.n, self.size, len(self.steps) - 1
        assert tableau is not None
        stages, a = tableau.stages, tableau.upper
        starts, in_modes = self.plan.starts, bool(len(self.plan.renewed))
        matrix, matrices = np.zeros(3 * n * n), dict[str, Array]()
        if in_modes:
            parts = dict(zip("MKD", np.split(matrix, 3), strict=True))
            matrices = parts | {name: buffers[name] for name in ("reference_attitude", "q", "v")}
        address, table = self._joined("matrices", matrices)
        ends = np.full(count + 1, -1, dtype=np.int64)
        order = np.argsort(self.steps, kind="stable")  # step times may decrease near events
        near = np.searchsorted(self.steps, self.t - roundings(self.t), sorter=order)
        ends[order[near]] = np.arange(len(self.t))
        every = int(np.diff(starts).max())
        fields = {
            "system": system,
            "size": size,
            "stages": stages,
            "a": a.ravel(),
            "squared": (a @ a[:-1]).ravel(),
            "slopes": tableau.forces.ravel(),
            "c": tableau.nodes,
            "count": count,
            "times": self.steps,
            "lengths": self.plan.lengths,
            "in_modes": int(in_modes),
            "renewed": self._renewed,
            "basis": np.concatenate([np.tile(np.eye(n).ravel(), 2), np.zeros(n * n + 2 * n)]),
            "matrices": address,
            "matrix_table": table,
            "matrix": matrix,
            "ends_at": ends,
            "samples": np.zeros(len(self.t) * size),
            "segments": len(starts) - 1,
            "starts": starts,
            "stays": np.array([k in self.held for k in self.model.prescribed], dtype=np.int64),
            **zeros({
                "y": size, "k": size, "trial": size, "places": 2 * every * stages * size,
                "saved": len(starts) * size, "swing": 3 * (stages + 1) * 2 * n,
                "into": 3 * (stages + 1) * stages * 2 * n, "x": n, "g": stages * n,
                "p": stages * (size - 2 * n), "modal": 2 * n, "answers": 5 * RESPONSES,
                "room": n, "square": n * n,
            }),
        }  # fmt: skip
        return fields, buffers, matrices

    @cached_property
    def _start_slopes(self) -> Array:
        """Derivatives of the initial state with respect to k parameters, (k, size)."""
        if self.steady is not None:
            return self.steady.slopes(list(self.nearby.values()), self.task.equation)
        if self.like is not None and self.like.started == self.started:
            return self.like._start_slopes
        if self.started not in self.known:
            slopes = np.zeros((len(self.nearby), self.size))
            here = np.concatenate(start_state(self.model))
            for k, nearby_arm in enumerate(self.nearby.values() if self.started else ()):
                there = np.array([np.concatenate(start_state(m)) for m in nearby_arm.models])
                slopes[k, : 2 * self.n] = nearby_arm.weights @ (there - here)
            self.known[self.started] = slopes  # stored only when complete
        return self.known[self.started]

    @cached_property
    def _start_by_inputs(self) -> Array:
        """Derivatives d state / d inputs of a start in equilibrium, for k inputs, (k, size)."""
        assert self.steady is not None
        return self.steady.slopes_by_inputs()
