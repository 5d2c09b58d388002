"""Compilation of a live arm to WebAssembly, with the gains and limits that its page needs."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property

import numpy as np
from scipy.linalg import eigvalsh

from flexarm.arm.forces import Contact
from flexarm.arm.shapes import Counted
from flexarm.engine.functions import compile_stream
from flexarm.engine.stream import Port, Stream
from flexarm.errors import FlexarmError
from flexarm.formulations import DEFAULT, formulation
from flexarm.integrate.actuators import Actuators
from flexarm.integrate.constants import INSTANT_RUN, LONGEST_RUN
from flexarm.integrate.loop import march
from flexarm.integrate.methods.explicit import RungeKuttaState, explicit_step
from flexarm.integrate.methods.rk4 import RK4, STABLE
from flexarm.integrate.problem import MISSION_PORTS, Measures, StateLimit, jumps, state_limits_of
from flexarm.integrate.state import StepLimits, start_fields
from flexarm.integrate.system import PIECE, WORKS, System, enter_pieces, rates
from flexarm.integrate.task import InitialValueProblem, prepare
from flexarm.linear_model import LinearModel, undamped
from flexarm.loops.kernel import kernel
from flexarm.loops.wasm import Memory, WasmProgram, program
from flexarm.model import LinkModel, Model, build
from flexarm.model.profiles import last_time
from flexarm.model.small_motions import mass_matrix
from flexarm.spatial import Array
from flexarm.studies.bases import of_family
from flexarm.viewer.constants import (
    COORDINATE_OPERATIONS,
    FAST_VIBRATION,
    FASTEST_SERVO,
    IMPACT_SPEED,
    INTEGRAL_RATE,
    INTEGRAL_SHARE,
    LEAST_PAYLOAD,
    LEAST_SHAPES,
    LEAST_STIFFNESS,
    LONGEST_STEP,
    MASSLESS,
    MOST_CORE_SHARE,
    MOST_DAMPING,
    OPERATION_TIME,
    PULL_DAMPING,
    PULL_RATE,
    PULL_STIFFNESS,
    SERVO_DAMPING,
    SERVO_FACTOR,
    SLOWEST_SERVO,
    STABLE_GROWTH,
    STEP_PHASE,
    STEP_SHARE,
)
from flexarm.viewer.live.equations import LiveArm

# Fields of the integrator's record that a page reads and writes, by the page's name.
SLOTS = {"t": "t", "h": "next_step", "steps": "steps", "limit_reached": "limit_reached"}


@kernel
def advance(m: RungeKuttaState, until: float, budget: int, changed: int) -> int:
    """Simulate up to a time [s] in at most ``budget`` steps; return why the simulation stopped.

    The argument ``changed`` is 1 if the page has changed inputs or state since the last call, else
    0.
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
    """Initial-value problem of a live arm, solved in equal steps without error control."""

    arm: LiveArm = field(kw_only=True)
    buffers: dict[str, Array] = field(default_factory=dict)  # arrays of the equations by name
    table: Sequence[int] = ()  # addresses of the arguments of the equations [bytes]

    @cached_property
    def measures(self) -> Measures:
        """Empty list of error scales, since no errors are estimated."""
        empty = np.zeros(0)
        return Measures(
            np.zeros((0, 0)), np.zeros((0, 0)), np.zeros((1, 0, 0)), np.zeros((1, 0)),
            np.zeros(0, dtype=np.int64), empty, empty, empty, (), np.zeros(1),
        )  # fmt: skip

    @cached_property
    def state_limits(self) -> tuple[StateLimit, ...]:
        """Bounds at which the equations become invalid and the simulation stops."""
        return live_state_limits(self)

    @property
    def breaks(self) -> Array:
        """Times [s] at which inputs, wrenches, motions or targets are discontinuous."""
        return np.union1d(jumps(self.groups[:3]), self.arm.programme.breaks)

    @property
    def state(self) -> Array:
        """Initial state y: coordinates, rates, work integrals and servo states."""
        start, more = self.start, WORKS + self.arm.programme.states
        return np.concatenate([start.q, start.v, np.zeros(more)])

    def joined(self) -> tuple[System, dict[str, Array]]:
        """Return equations and functions of time as one system, and its arrays by name."""
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

    # The module.  The kernel ``advance`` of the module takes the address of the record, a time [s],
    # a number of steps, and 1 if inputs or state were changed since the last call, else 0; it
    # returns the code of `flexarm.integrate.loop.march`.
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
        The arm and its initial-value problem.
    step
        Step size of the integration [s]; the page may change it.
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
        float(jumps(problem.groups).max(initial=0.0)),
    )


def _buffers(
    arm: LiveArm, streams: Sequence[Stream], task: InitialValueProblem
) -> dict[str, Array]:
    """Return the arrays for inputs and outputs of all equations, by name."""
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


@dataclass(frozen=True)
class Bounds:
    """Upper bounds of vibration frequencies and decay rates of a live arm.

    The bounds include servos and pull, and are valid for any posture. The bounds use that a mode x
    with eigenvalue s satisfies s^2 x*M x + s x*D x + x*K x = 0. If the mode vibrates, |s|^2 is
    therefore its modal stiffness divided by its modal mass, for any damping.

    Attributes
    ----------
    square
        Upper bound of the squared angular frequencies [rad^2/s^2], proportional to the stiffness;
        or a larger value if the step size must resolve the slowest vibration.
    decay, soft_decay
        Largest decay rates [1/s] of motions that do not vibrate: for at least the stiffness of the
        model file, and for the smallest stiffness of the slider.
    """

    square: float = 0.0
    decay: float = 0.0
    soft_decay: float = 0.0


@dataclass(frozen=True)
class Tuning:
    """Servo gains, pull stiffness and frequency bounds of a live arm."""

    servo: Array  # per input: target, stiffness, damping, (inputs, 3)
    # Integral gain of the servo of each input, effort per position error and second, (inputs,).
    integral: Array
    grip: tuple[float, float]  # stiffness [N/m] and damping [N s/m] of a pull
    laden: Bounds  # with the model file's payload or more
    unladen: Bounds  # with less than the model file's payload
    lightest: float = 0.0  # least payload that the page allows [kg]

    @property
    def step(self) -> float:
        """Step size [s] with the sliders at the values of the model file."""
        reach = STEP_SHARE * STABLE
        fastest = max(np.sqrt(self.laden.square), self.laden.decay)
        return float(reach / max(fastest, reach / LONGEST_STEP))


def tuning(arm: LiveArm, task: InitialValueProblem) -> Tuning:
    """Choose servo gains, pull stiffness and frequency bounds for an arm at its start."""
    linear = task.equation.elastic_model(task.start.q, task.start.v)
    free = [i for i in range(arm.model.size) if i not in arm.model.prescribed]
    full, reduced = linear.mass, linear.along(free)
    M, K, D = reduced.mass, reduced.stiffness, reduced.damping
    servo = np.zeros((len(arm.rows), 3))
    if not free:
        return Tuning(servo, servo[:, 0], (0.0, 0.0), Bounds(), Bounds())
    rows = arm.rows[:, free]
    fastest = max(task.vibration.fastest, FASTEST_SERVO)
    rate = _servo_rate(M, K, rows)
    servo[:, 0] = arm.rows @ task.start.q
    for k, (axis, row) in enumerate(zip(arm.driven, rows, strict=True)):
        outboard_inertia = full[axis.index, axis.index] + (
            0 if axis.motor is None else row @ M @ row
        )
        at_hub = 1 / (row @ np.linalg.solve(M, row))
        servo[k, 1:] = _gains(outboard_inertia, at_hub, rate, fastest)
    servo_matrices = rows.T @ (servo[:, 1:2] * rows), rows.T @ (servo[:, 2:] * rows)
    integral = _integral_gains(
        M, K + servo_matrices[0], D + servo_matrices[1], rows, INTEGRAL_RATE * rate * servo[:, 1]
    )
    # Either the page's servos or those of the model file act; steps are short enough for both at
    # once.
    file_stiffness, file_damping = Actuators(arm.programme.servos).stiffness(arm.model)
    total_stiffness = K + servo_matrices[0] + file_stiffness[np.ix_(free, free)]
    jacobians = hold_jacobians(arm, task)[:, :, free]
    compliance_ = _largest_mobility(M, jacobians)
    pull_stiffness = float(
        min(
            _pull_stiffness(arm.model, full, total_stiffness, jacobians[-1]),
            fastest**2 / compliance_,
        )
    )
    grip = pull_stiffness, 2 * PULL_DAMPING * float(np.sqrt(pull_stiffness / compliance_))
    total_damping = D + servo_matrices[1] + file_damping[np.ix_(free, free)]
    total_damping += MOST_DAMPING * arm.critical[np.ix_(free, free)]
    contact_jacobians = arm.contact_jacobians(task.start.q)[:, :, free]

    def bounds(mass: Array) -> Bounds:
        compliance_ = _largest_mobility(mass, jacobians)
        pull_stiffness, contact_damping = _contact_matrices(
            arm.model.arm.contacts, mass, contact_jacobians
        )
        square = (
            float(undamped(mass, total_stiffness + pull_stiffness)[0][-1]) + grip[0] * compliance_
        )
        largest_damping = total_damping + grip[1] * compliance_ * mass
        decays = (
            max(
                _decay(mass, share * K, largest_damping),
                _decay(mass, share * K + pull_stiffness, largest_damping + contact_damping),
            )
            for share in (1.0, LEAST_STIFFNESS)
        )
        resolved = (STEP_SHARE * STABLE / STEP_PHASE) ** 2 * _slowest(K, mass)
        return Bounds(max(resolved, square), *decays)

    laden = bounds(M)
    gravity, payload = arm.settings[:2].tolist()
    if not payload:
        return Tuning(servo, integral, grip, laden, laden)

    def carrying(mass: float) -> Array:
        return np.asarray(mass_matrix(arm.at(gravity, mass), task.start.q)[np.ix_(free, free)])

    # If the payload has all the mass of some motion, the equations are singular without it.
    is_massless = undamped(M, carrying(0.0))[0][0] < MASSLESS
    lightest = LEAST_PAYLOAD * payload if is_massless else 0.0
    return Tuning(servo, integral, grip, laden, bounds(carrying(lightest)), lightest)


def _largest_mobility(M: Array, jacobians: Array) -> float:
    """Return the largest acceleration per force [1/kg] of all points that can be pulled."""
    return max(float(eigvalsh(J @ np.linalg.solve(M, J.T))[-1]) for J in jacobians)


def _contact_matrices(contacts: Sequence[Contact], M: Array, jacobians: Array) -> Array:
    """Return stiffness and damping matrices of all contacts at deepest penetration, (2, n, n).

    The penetration is that of an impact at a given speed, in which the contact stores the whole
    kinetic energy. The damping of a contact removes at most the whole momentum.
    """
    result = np.zeros((2, *M.shape))
    for contact, J in zip(contacts, jacobians, strict=True):
        mobility, power = _largest_mobility(M, J[None]), float(contact.exponent)
        if mobility:
            stored = IMPACT_SPEED**2 / mobility / max(2.0, contact.damping * IMPACT_SPEED)
            deepest = ((power + 1) * stored / contact.stiffness) ** (1 / (power + 1))
            stiffness = contact.stiffness * power * deepest ** (power - 1)
            damping = contact.damping * contact.stiffness * deepest**power
            result += np.multiply.outer([stiffness, damping], J.T @ J)
    return result


def _decay(M: Array, K: Array, D: Array) -> float:
    """Return the largest decay rate [1/s] of motions that do not oscillate.

    The decay rate is largest for the least stiffness K and the largest damping D.
    """
    roots = np.linalg.eigvals(LinearModel(M, K, D, ("",) * len(M)).state_space().A)
    return float(-roots.real[np.abs(roots.imag) < 1e-6 * np.abs(roots)].min(initial=0.0))


def _gains(inertia: float, at_hub: float, rate: float, fastest: float) -> tuple[float, float]:
    """Return stiffness and damping of a page's servo, designed for all bodies it moves.

    At high frequencies a servo moves little more than the hub of its joint. The gains are therefore
    limited so that the servo's natural frequency does not exceed that of the fastest mode.
    """
    stiffness, damping = inertia * rate**2, 2 * SERVO_DAMPING * inertia * rate
    return min(stiffness, at_hub * fastest**2), min(damping, at_hub * fastest)


def _integral_gains(M: Array, K: Array, D: Array, rows: Array, gains: Array) -> Array:
    """Return stable integral gains of the servos, (inputs,), at most half of ``gains``.

    The integral gains are halved until the closed loop is stable, and then once more.
    """
    n, m = len(M), len(gains)
    loop = np.zeros((2 * n + m, 2 * n + m))
    loop[: 2 * n] = np.hstack(LinearModel(M, K, D, ("",) * n, rows.T).state_space())
    for fraction in (*0.5 ** np.arange(8), 0.0):
        loop[2 * n :, :n] = -fraction * gains[:, None] * rows
        growth = float(np.linalg.eigvals(loop).real.max())
        if growth < STABLE_GROWTH:
            break
    return np.asarray(INTEGRAL_SHARE * fraction * gains)


def _servo_rate(M: Array, K: Array, rows: Array) -> float:
    """Return the bandwidth of the servos [rad/s], from the arm's first mode with joints held."""
    elastic = np.flatnonzero(~np.any(rows, axis=0))
    if not len(elastic):
        return FASTEST_SERVO
    first = _slowest(K[np.ix_(elastic, elastic)], M[np.ix_(elastic, elastic)]) or np.inf
    return float(np.clip(SERVO_FACTOR * np.sqrt(first), SLOWEST_SERVO, FASTEST_SERVO))


def _slowest(K: Array, M: Array) -> float:
    """Return the squared angular frequency of the slowest mode [rad^2/s^2]; 0 without modes."""
    squares = undamped(M, K)[0]
    elastic = squares[squares > 1e-9 * max(float(squares[-1]), 1e-12)]
    return float(elastic[0]) if len(elastic) else 0.0


def hold_jacobians(arm: LiveArm, task: InitialValueProblem) -> Array:
    """Return the Jacobians of all points that can be pulled, at the start, (points, 3, n)."""
    reference_attitude = (task.equation.reference_attitude,) if arm.model.attitudes else ()
    hold = compile_stream(arm.grip, level="quick")
    weights = np.eye(len(arm.holds))
    return np.array(
        [hold.call(task.start.q, row, *reference_attitude)[1].reshape(3, -1) for row in weights]
    )


def _pull_stiffness(model: Model, M: Array, K: Array, J: Array) -> float:
    """Return the stiffness of the mouse pull [N/m], from the arm's stiffness or its mass."""
    masses = [
        M[axis.index, axis.index] / (model.reach**2 if axis.turns else 1.0) for axis in model.axes
    ]
    smallest = PULL_RATE**2 * max(masses, default=1.0)
    regularised = K + 1e-9 * (np.trace(K) or 1.0) * np.eye(len(K))
    compliance = float(eigvalsh(J @ np.linalg.solve(regularised, J.T))[-1])
    return max(smallest, PULL_STIFFNESS / compliance if compliance > 0 else 0.0)


COUNTS = {"y": "bending_y", "z": "bending_z", "twist": "torsion", "stretch": "stretch"}


@dataclass(frozen=True)
class Prepared:
    """A live arm with its initial-value problem, servo gains and bounds."""

    arm: LiveArm
    task: InitialValueProblem  # initial-value problem of the arm
    tuned: Tuning  # servo gains and bounds of steps
    left_out: str = ""  # note on shapes that are left out; empty if there are none


def prepare_live(model: Model, *, all_shapes: bool) -> Prepared:
    """Return a live arm; shapes too fast for real time are left out unless requested."""
    prepared = _prepared(model)
    if _core_share(prepared) > MOST_CORE_SHARE and prepared.arm.programme.servos:
        without_servos = _prepared(model, plays=False)
        prepared = (
            without_servos if _core_share(without_servos) < _core_share(prepared) / 2 else prepared
        )
    if all_shapes or _core_share(prepared) <= MOST_CORE_SHARE:
        return prepared
    try:
        reduced = _prepared(_with_fewer_shapes(prepared), plays=prepared.arm.plays)
    except FlexarmError:  # the start of the arm refers to a shape
        return prepared
    if reduced.arm.model.size == model.size:
        return prepared
    kept_coordinates = (
        f"{reduced.arm.model.size} of {model.size} coordinates: shapes of links that vibrate at"
    )
    return Prepared(
        reduced.arm,
        reduced.task,
        reduced.tuned,
        f"{kept_coordinates} more than {FAST_VIBRATION:g} Hz by themselves are left out",
    )


def _prepared(model: Model, *, plays: bool = True) -> Prepared:
    arm = LiveArm(model, plays)
    task = live_task(arm)
    return Prepared(arm, task, tuning(arm, task))


def _core_share(prepared: Prepared) -> float:
    """Return the estimated fraction of a CPU core that a simulation in real time takes."""
    return (
        4 * COORDINATE_OPERATIONS * prepared.arm.model.size * OPERATION_TIME / prepared.tuned.step
    )


def _with_fewer_shapes(prepared: Prepared) -> Model:
    """Return the model of an arm without shapes of high frequency."""
    model, task = prepared.arm.model, prepared.task
    linear = task.equation.elastic_model(task.start.q, task.start.v)
    squares = np.diag(linear.stiffness) / np.diag(linear.mass)
    is_fast = squares > (2 * np.pi * FAST_VIBRATION) ** 2
    links = []
    for whole, link in zip(model.whole_links, model.arm.links, strict=True):
        choice = link.shapes
        if of_family(link) and isinstance(choice, Counted) and not choice.static:
            of_spans = [_counts(model, span, is_fast) for span in whole.spans]
            most = {key: max(counts[key] for counts in of_spans) for key in of_spans[0]}
            fewer_shapes = choice.model_copy(update=most)
            link = link.model_copy(update={"shapes": fewer_shapes})
        links.append(link)
    arm = model.arm.model_copy(update={"links": type(model.arm.links)(links)})
    return build(
        arm, stiffening=model.stiffening, tip_rotation=model.tip_rotation, nodes=model.nodes
    )


def _counts(model: Model, part: LinkModel, fast: np.ndarray) -> dict[str, int]:
    """Return how many shapes of a link are below the frequency limit, by direction."""
    counts: dict[str, int] = {}
    for direction, key in COUNTS.items():
        are_fast = [
            bool(fast[k])
            for k in range(part.modes.start, part.modes.stop)
            if model.names[k].rpartition(".")[2].rstrip("0123456789") == direction
        ]
        fewest = LEAST_SHAPES if direction in "yz" else 0
        counts[key] = max(min(fewest, len(are_fast)), are_fast.count(False))
    return counts
