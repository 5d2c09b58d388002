"""Compilation of a live arm to WebAssembly: equations, Runge-Kutta steps, initial memory."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property

import numpy as np

from flexarm.engine.stream import Port, Stream
from flexarm.formulations import DEFAULT, formulation
from flexarm.integrate.constants import INSTANT_RUN, LONGEST_RUN
from flexarm.integrate.loop import march
from flexarm.integrate.methods.explicit import RungeKuttaState, explicit_step
from flexarm.integrate.methods.rk4 import RK4
from flexarm.integrate.problem import MISSION_PORTS, Measures, StateLimit, jumps, state_limits_of
from flexarm.integrate.state import StepLimits, start_fields
from flexarm.integrate.system import PIECE, WORKS, System, enter_pieces, rates
from flexarm.integrate.task import InitialValueProblem, prepare
from flexarm.loops.kernel import kernel
from flexarm.loops.wasm import Memory, WasmProgram, program
from flexarm.model.profiles import last_time
from flexarm.spatial import Array
from flexarm.viewer.live.equations import LiveArm

# Fields of the integrator's record that a page reads and writes, by the page's name.
SLOTS = {"t": "t", "h": "next_step", "steps": "steps", "limit_reached": "limit_reached"}


@kernel
def advance(m: RungeKuttaState, until: float, budget: int, changed: int) -> int:
    """Integrate up to a time [s] in at most ``budget`` steps; return why integration ended.

    ``changed`` is 1 if inputs or state were changed since the last call, else 0.
    """
    m.t_end = until
    m.budget = budget
    if changed == 1:
        enter_pieces(m.system, m.t)
        rates(m.system, m.t, m.y, m.f)
    code: int = march(m)
    return code


@dataclass(frozen=True)
class LiveProblem(InitialValueProblem):
    """Initial-value problem of a live arm, with equal steps and without error control."""

    arm: LiveArm = field(kw_only=True)
    buffers: dict[str, Array] = field(default_factory=dict)  # arrays of the equations by name
    table: Sequence[int] = ()  # addresses of the arguments of the equations [bytes]

    @cached_property
    def measures(self) -> Measures:
        """Empty error measures, since no errors are estimated."""
        empty = np.zeros(0)
        return Measures(
            np.zeros((0, 0)), np.zeros((0, 0)), np.zeros((1, 0, 0)), np.zeros((1, 0)),
            np.zeros(0, dtype=np.int64), empty, empty, empty, (), np.zeros(1),
        )  # fmt: skip

    @cached_property
    def state_limits(self) -> tuple[StateLimit, ...]:
        """Conditions that stop the simulation: validity of the equations, not joint limits."""
        return live_state_limits(self)

    @property
    def breaks(self) -> Array:
        """Times [s] at which inputs, wrenches, motions or targets are discontinuous."""
        return np.union1d(
            jumps([channel for group in self.groups[:3] for channel in group]),
            self.arm.programme.breaks,
        )

    @property
    def state(self) -> Array:
        """Initial state y: coordinates, rates, work integrals and servo states."""
        start, more = self.start, WORKS + self.arm.programme.states
        return np.concatenate([start.q, start.v, np.zeros(more)])

    def joined(self) -> tuple[System, dict[str, Array]]:
        """Return equations and channels as one system, and its arrays by name."""
        arm, buffers, groups = self.arm, self.buffers, self.groups
        input_channels, factors, motions = groups[:3]
        rows = [channel.pieces for channel in (*input_channels, *factors, *motions)]
        rows += [target.rows for target in arm.programme.targets]
        first = np.cumsum([0, *map(len, rows)]).astype(np.int64)
        names = ("q", "v", "u", "w", "prescribed_a", "a", "power", "r", "x", "dx")
        system = System(
            n=arm.model.size,
            channels=len(rows),
            inputs=len(input_channels),
            wrenches=len(factors),
            prescribed=len(motions),
            targets=len(arm.programme.targets),
            work_integrals=WORKS,
            states=arm.programme.states,
            energies=WORKS,
            equations=0,
            table=np.array(self.table, dtype=np.int64),
            time=np.zeros(1),
            **{name: buffers[name] for name in names},
            coordinates=np.array(arm.model.prescribed, dtype=np.int64),
            pieces=np.concatenate(rows).ravel() if rows else np.zeros(PIECE),
            first=first,
            current=first[:-1].copy(),
            evaluations=0,
        )
        return system, buffers


@dataclass(frozen=True)
class LiveModule:
    """WebAssembly module of an arm, with its initial memory and the addresses of its data."""

    # The module.  Its kernel ``advance`` takes the address of the record, a time [s], a number of
    # steps, and 1 if inputs or state were changed since the last call, else 0; it returns the code
    # of `flexarm.integrate.loop.march`.
    program: WasmProgram
    memory: Memory  # initial memory
    arrays: dict[str, int]  # addresses [bytes] of arrays by name; ``y`` is the state
    sizes: dict[str, int]  # sizes of these arrays
    calls: dict[str, list[int]]  # addresses of the arguments of each function
    record: int  # address of the integrator's record
    slots: dict[str, int]  # addresses of the fields in SLOTS
    ends: float  # time at which the first table of the model file ends [s]
    lasts: float  # time of the last discontinuity of inputs and targets [s]


def live_task(arm: LiveArm) -> InitialValueProblem:
    """Return the initial-value problem of a live arm at its start."""
    return prepare(
        arm.model, np.array([0.0, INSTANT_RUN]), equation=formulation(DEFAULT, arm.model)
    )


def live_state_limits(task: InitialValueProblem) -> tuple[StateLimit, ...]:
    """Return the conditions that stop a simulation where its equations become invalid."""
    return tuple(state_limits_of(task.equation.model, task.start.q, task.rtol, limits=False))


def live_module(arm: LiveArm, task: InitialValueProblem, step: float) -> LiveModule:
    """Compile an arm to a WebAssembly module.

    Parameters
    ----------
    arm, task
        The arm, and its initial-value problem.
    step
        Step size of the integrator [s]; the page may change it.
    """
    prologue, motion = arm.motion()
    streams = [prologue, motion, arm.observation(), arm.grip, *arm.turn()]
    compiled = program(advance, streams, {"equations": motion, "step": explicit_step})
    memory = Memory(compiled.reserved)
    buffers = _buffers(arm, streams, task)
    arrays = {name: memory.array(values) for name, values in buffers.items()}
    calls = {}
    for stream in streams:
        addresses = [arrays[port.name] for port in (*stream.inputs, *stream.outputs)]
        work = memory.array(np.zeros(compiled.work_sizes[stream.name] + 1))
        calls[stream.name] = [*addresses, work]
    problem = LiveProblem(
        **{member.name: getattr(task, member.name) for member in fields(task)}
        | {"times": np.array([0.0, LONGEST_RUN])},
        arm=arm,
        buffers=buffers,
        table=calls["motion"],
    )
    record: RungeKuttaState = RK4.begin(start_fields(problem, RK4, StepLimits(1.0, step)))
    record.recorded = record.sample_count = 1  # only the present state is stored
    record.step = 0  # called by name, not by address
    record.obstacles.count = 0  # steps are too short to miss a contact
    address = memory.record(record)
    names = list(record.layout().types)
    return LiveModule(
        compiled,
        memory,
        arrays | {"y": memory.array(record.y)},
        {name: values.size for name, values in buffers.items()},
        calls,
        address,
        {key: address + 8 * names.index(name) for key, name in SLOTS.items()},
        min(
            [last_time(member.profile) for member in (*task.groups[1], *task.groups[2])],
            default=np.inf,
        ),
        float(problem.breaks.max(initial=0.0)),
    )


def _buffers(
    arm: LiveArm, streams: Sequence[Stream], task: InitialValueProblem
) -> dict[str, Array]:
    """Return the arrays of inputs and outputs of all equations, by name."""
    ports: dict[str, Port] = {}
    for stream in streams:
        ports |= {port.name: port for port in (*stream.inputs, *stream.outputs)}
    buffers = {name: np.zeros(0) for name in MISSION_PORTS}
    buffers |= {name: np.zeros(port.size) for name, port in ports.items()}
    buffers["settings"] = arm.settings.copy()
    if "reference_attitude" in buffers:
        buffers["reference_attitude"] = np.array(
            task.equation.reference_attitude, dtype=float
        ).ravel()
    return buffers
