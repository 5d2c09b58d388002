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

# Numbers of the integrator's record that a page reads and writes, by its name for them.
SLOTS = {"t": "t", "h": "next_step", "steps": "steps", "limit_reached": "limit_reached"}


@kernel
def advance(m: RungeKuttaState, until: float, budget: int, changed: int) -> int:
    """Integrate up to a time [s], in at most ``budget`` steps; return why integration stopped.

    ``changed`` is 1 if inputs or state were changed since the last call, else 0.
    """
    m.t_end = until
    m.budget = budget
    if changed == 1:
        enter_pieces(m.system, m.t)
        rates(m.system, m.t, m.y, m.f)
    why: int = march(m)
    return why


@dataclass(frozen=True)
class LiveProblem(InitialValueProblem):
    """Initial-value problem of a live arm, with equal steps and without error control."""

    arm: LiveArm | None = None
    # The arrays of the equations by name, and the places that they take [bytes].
    buffers: dict[str, Array] = field(default_factory=dict)
    table: Sequence[int] = ()

    @cached_property
    def measures(self) -> Measures:
        """Empty error measures, since no errors are estimated."""
        nothing = np.zeros(0)
        return Measures(
            np.zeros((0, 0)), np.zeros((0, 0)), np.zeros((1, 0, 0)), np.zeros((1, 0)),
            np.zeros(0, dtype=np.int64), nothing, nothing, nothing, (), np.zeros(1),
        )  # fmt: skip

    @cached_property
    def state_limits(self) -> tuple[StateLimit, ...]:
        """Conditions that stop the simulation: validity of the equations, not joint limits."""
        return live_state_limits(self)

    @property
    def breaks(self) -> Array:
        """Times [s] at which inputs, wrenches, motions or targets are discontinuous."""
        assert self.arm is not None
        return np.union1d(
            jumps([channel for group in self.groups[:3] for channel in group]),
            self.arm.programme.breaks,
        )

    @property
    def state(self) -> Array:
        """Initial state y: coordinates, rates, work integrals and servo states."""
        assert self.arm is not None
        start, more = self.start, WORKS + self.arm.programme.states
        return np.concatenate([start.q, start.v, np.zeros(more)])

    def joined(self) -> tuple[System, dict[str, Array]]:
        """Return the system of equations, inputs, wrenches, motions and targets, and its arrays."""
        assert self.arm is not None
        arm, buffers, groups = self.arm, self.buffers, self.groups
        driven, pushed, moved = groups[:3]
        rows = [channel.pieces for channel in (*driven, *pushed, *moved)]
        rows += [followed.rows for followed in arm.programme.targets]
        first = np.cumsum([0, *map(len, rows)]).astype(np.int64)
        names = ("q", "v", "u", "w", "given", "a", "power", "r", "x", "dx")
        system = System(
            n=arm.model.size,
            channels=len(rows),
            inputs=len(driven),
            wrenches=len(pushed),
            prescribed=len(moved),
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

    # The module.  Its kernel ``advance`` takes the record's place, a time [s], a number of steps,
    # and 1 where anything but time has changed since it was called last, else 0; it returns why it
    # stopped, as `flexarm.integrate.loop.march` does.
    program: WasmProgram
    memory: Memory  # as it begins
    # arrays, sizes: places [bytes] and sizes of arrays by name; ``y`` is the state: q, v and
    # work_integrals.
    arrays: dict[str, int]
    sizes: dict[str, int]
    calls: dict[str, list[int]]  # of each of the equations, the places that it takes
    # record, slots: place of the integrator's record, and of its numbers by name.
    record: int
    slots: dict[str, int]
    # ends, lasts: when a table of the file ends [s], and when the last of what it plays changes.
    ends: float
    lasts: float


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
    made = program(advance, streams, {"equations": motion, "step": explicit_step})
    memory = Memory(made.reserved)
    buffers = _buffers(arm, streams, task)
    arrays = {name: memory.array(values) for name, values in buffers.items()}
    calls = {}
    for stream in streams:
        places = [arrays[port.name] for port in (*stream.inputs, *stream.outputs)]
        work = memory.array(np.zeros(made.work_sizes[stream.name] + 1))
        calls[stream.name] = [*places, work]
    problem = LiveProblem(
        **{each.name: getattr(task, each.name) for each in fields(task)}
        | {"times": np.array([0.0, LONGEST_RUN])},
        arm=arm,
        buffers=buffers,
        table=calls["motion"],
    )
    record: RungeKuttaState = RK4.begin(start_fields(problem, RK4, StepLimits(1.0, step)))
    record.recorded = record.sample_count = 1  # the state now is all that is kept
    record.step = 0  # called by its name
    record.obstacles.count = 0  # equal steps are short, and not looked along
    place = memory.record(record)
    names = list(record.layout().types)
    return LiveModule(
        made,
        memory,
        arrays | {"y": memory.array(record.y)},
        {name: values.size for name, values in buffers.items()},
        calls,
        place,
        {key: place + 8 * names.index(name) for key, name in SLOTS.items()},
        min(
            [last_time(each.profile) for each in (*task.groups[1], *task.groups[2])], default=np.inf
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
