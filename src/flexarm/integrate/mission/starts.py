"""Initial states of runs: from the model file, in equilibrium, or at the end of another run."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from typing import Any, Literal

import casadi as ca
import numpy as np

from flexarm.errors import FlexarmError, SimulationError
from flexarm.integrate.actuators import Actuators, Servoed, servos
from flexarm.integrate.constants import TARGET_CORRECTIONS, TARGET_ERROR
from flexarm.integrate.drivetrain import windings
from flexarm.integrate.laws import ServoMemory, held_of, integral_of
from flexarm.integrate.problem import channels, read_inputs
from flexarm.integrate.task import State
from flexarm.linear.balance import Push
from flexarm.linear.equilibrium import Equilibrium, settle_down
from flexarm.linear.tangent import Tangent
from flexarm.mechanics.loads import input_matrix
from flexarm.model import Model, start_state
from flexarm.model.profiles import evaluate
from flexarm.runs.data import RunData
from flexarm.spatial import Array, Inertia


def first_state(
    model: Model,
    start: RunData | Equilibrium | Literal["stated", "equilibrium"],
    inputs: Mapping[str, Any],
    *,
    law: bool,
    locked: Set[str] = frozenset(),
) -> tuple[State, Array]:
    """Return a run's initial state, and the positions (n,) that servos without target hold.

    The state comes from the model file, an equilibrium, or the end of another run.  Servos without
    a target hold the initial coordinates; for the start ``equilibrium``, the coordinates of the
    model file.

    Raises
    ------
    SimulationError
        If there is no such state.
    """
    q, v = start_state(model)
    state = State(q, v, reference_attitude=model.start_references)
    if isinstance(start, RunData):
        state = continued(model, state, start)
    elif isinstance(start, Equilibrium):
        state = state_of(model, start)
    elif start == "equilibrium":
        return steady_state(model, inputs, locked=locked, law=law), q
    return state, state.q


def state_of(model: Model, equilibrium: Equilibrium) -> State:
    """Return the initial state at an equilibrium; prescribed coordinates follow the model file."""
    if equilibrium.model.names != model.names:
        raise SimulationError(
            "start: the equilibrium has coordinates that differ from this arm's, "
            f"{', '.join(equilibrium.model.names)}. Compute an equilibrium of this arm."
        )
    q, v = start_state(model)
    prescribed = list(model.prescribed)
    point = equilibrium.point.q.copy(), equilibrium.point.v.copy()
    for value, model_value in zip(point, (q, v), strict=True):
        value[prescribed] = model_value[prescribed]
    return State(*point, reference_attitude=model.start_references)


def steady_state(model: Model, inputs: Mapping[str, Any], *, locked: Set[str], law: bool) -> State:
    """Compute the equilibrium at time 0: no acceleration, joints at the model file's speeds.

    Servos with an integral term hold their targets, and the integral balances the load.  Joints
    with another servo or an input, and free joints, move to where forces balance.  Joints that are
    locked, braked or moving, or driven without servo and input, stay at their start; under a
    control law, all driven joints do.

    Raises
    ------
    SimulationError
        If there is no such state.
    """
    if model.orbit:
        raise SimulationError(
            "start: an equilibrium cannot be computed for a base in orbit, since a base at rest "
            "need not stay there. Use 'start: stated'."
        )
    # On a free base all bodies fall together, as if there were no gravity.
    weightless = replace(model, gravity=np.zeros(3)) if model.floats else model
    q, rates = start_state(weightless)
    for part in weightless.links:
        rates[part.modes] = 0.0
    profiles = read_inputs(model, inputs)
    input_channels, _, _, target_channels = channels(model, profiles, q, {})
    acting_servos = (
        ()
        if law
        else tuple(  # sampled servos act as if in continuous time
            replace(servo, servo=servo.servo.model_copy(update={"period": None}))
            for servo in servos(model)
        )
    )
    u = np.array([evaluate(servo.profile, 0.0)[0] for servo in input_channels])
    r = np.array([evaluate(servo.profile, -servo.begin)[:2] for servo in target_channels]).reshape(
        -1, 2
    )
    for k, servo in enumerate(acting_servos):
        if servo.servo.rate is None and not servo.row @ rates:
            r[k, 1] = (
                0.0  # a target that starts to move at time 0 was at rest before, like its joint
            )
    by_name = {servo.name: servo for servo in acting_servos}
    holding = {name for name, servo in by_name.items() if servo.servo.integral_time is not None}
    free_joints = [
        axis.name
        for axis in model.axes
        if axis.name not in locked
        and not (axis.prescribed or axis.is_braked or axis.name in holding)
        and not rates[axis.index]
        and (
            not axis.driven
            or (not law and (axis.name in by_name or axis.name in profiles or axis.acts.input))
        )
    ]
    fixed = locked | {axis.name for axis in model.axes if axis.is_braked}
    goals = {
        servo.name: (servo.row, float(r[k, 0]))
        for k, servo in enumerate(acting_servos)
        if servo.name in holding - fixed and servo.servo.rate is None
    }
    forces_at = _force_function(weightless, acting_servos, u, rates, r)
    equilibrium = _at_targets(
        Tangent(weightless), goals, free_joints, lambda q: forces_at(q)[1:], rates
    )
    servo_inputs = forces_at(equilibrium.point.q)[0]
    inputs_held = servo_inputs.copy()
    for servo in acting_servos:
        if servo.name in holding:
            inputs_held[servo.column] = equilibrium.point.u[servo.column]
    _require_within_limits(model, acting_servos, inputs_held, rates, holding - fixed)
    integrals = {
        e.name: float(inputs_held[e.column] - servo_inputs[e.column]) for e in acting_servos
    }
    memory = {
        servo.name: ServoMemory(
            integral=integrals[servo.name], held=float(inputs_held[servo.column] - u[servo.column])
        )
        for servo in servos(model)
        if servo.name in by_name and servo.servo.period is not None
    }
    x = {name: integrals[name] for name in holding - set(memory)}
    x |= {} if law else _currents(model, inputs_held, rates)
    return State(
        equilibrium.point.q, rates, reference_attitude=model.start_references, x=x, memory=memory
    )


def _at_targets(
    tangent: Tangent,
    goals: Mapping[str, tuple[Array, float]],
    free_joints: Sequence[str],
    push: Push,
    rates: Array,
) -> Equilibrium:
    """Return the equilibrium in which servo measurements agree with servo targets.

    Joint positions are corrected iteratively by the difference between measured position and
    target.
    """
    joints = {name: target for name, (_, target) in goals.items()}
    try:
        for _ in range(TARGET_CORRECTIONS):
            equilibrium = settle_down(tangent, joints, {}, free_joints, push=push, rates=rates)
            offsets = {
                name: target - float(row @ equilibrium.point.q)
                for name, (row, target) in goals.items()
            }
            if all(
                abs(offsets[name]) <= TARGET_ERROR * max(1.0, abs(joints[name])) for name in offsets
            ):
                return equilibrium
            joints = {name: joints[name] + offset for name, offset in offsets.items()}
    except FlexarmError as error:
        raise SimulationError(f"start: {error}") from None
    raise SimulationError(
        f"start: no equilibrium was found with {', '.join(goals)} at the targets. Raise the "
        "stiffness of joints that sag, or use 'start: stated'."
    )


def _require_within_limits(
    model: Model, acting_servos: tuple[Servoed, ...], u: Array, v: Array, holding: Set[str]
) -> None:
    """Raise an error if holding a joint exceeds the limit of its servo or of its motor current."""
    for servo in acting_servos:
        if servo.name in holding:
            _require_within(servo.name, float(u[servo.column]), servo.limit, "its servo's limit")
    for winding in windings(model):
        limit = winding.motor.current_limit
        if winding.joint in holding and limit is not None:
            current = winding.settled(float(u[winding.column]), v)
            _require_within(winding.joint, current, limit, "its current_limit")


def _currents(model: Model, u: Array, v: Array) -> dict[str, float]:
    """Return steady-state currents [A] for inputs u at rates v, within limits, by winding."""
    currents = {}
    for winding in windings(model):
        limit = winding.motor.current_limit or np.inf
        currents[winding.name] = float(
            np.clip(winding.settled(float(u[winding.column]), v), -limit, limit)
        )
    return currents


def _require_within(name: str, value: float, limit: float, limit_name: str) -> None:
    if abs(value) > limit:
        raise SimulationError(
            f"start: the arm has no equilibrium, since {name} needs {value:.4g} to stay, and "
            f"{limit_name} is {limit:g}. Raise that limit, or reduce the load."
        )


def _force_function(
    model: Model, acting_servos: tuple[Servoed, ...], u: Array, v: Array, r: Array
) -> Any:
    """Return a function of q for inputs, generalised forces (n,), and the forces' Jacobian by q.

    The forces come from inputs u and servos, at rates v and targets r (target and rate by row).
    """
    q, actuators = ca.SX.sym("q", model.size), Actuators(acting_servos)
    targets = ca.DM(np.concatenate([r[:, 0], r[:, 1]])) if acting_servos else ca.DM(0, 1)
    servo_inputs = actuators.inputs(
        ca.SX(ca.DM(u)), q, ca.DM(v), targets, ca.SX(actuators.states, 1), ca.SX()
    )[0]
    steady_windings = [output.without_inductance() for output in windings(model)]
    empty = ca.SX(0, 1)
    effective_inputs = Actuators(windings=tuple(steady_windings)).shares(
        model, servo_inputs, q, ca.SX(ca.DM(v)), empty, empty, empty
    )[1]
    force = ca.DM(input_matrix(model)) @ effective_inputs
    outputs = [ca.densify(servo_inputs), ca.densify(force), ca.densify(ca.jacobian(force, q))]
    function = ca.Function("pushed", [q], outputs)

    def call(q: Array) -> tuple[Array, Array, Array]:
        inputs, force, slope = (np.array(output) for output in function(q))
        return inputs.ravel(), force.ravel(), slope

    return call


def continued(model: Model, state: State, run: RunData) -> State:
    """Return the final state of another run, with prescribed coordinates reset to time 0."""
    if run.model.names != model.names:
        raise SimulationError(
            "start: the run has coordinates that differ from this arm's, "
            f"{', '.join(run.model.names)}. Use the same links, joints and shapes."
        )
    tip_body = run.phases[-1].tip if run.phases else None
    if tip_body is not None and not _is_same(tip_body, model.links[-1].tip_body):
        raise SimulationError(
            "start: at the end of the run the tip holds bodies that are not the payload of this "
            "arm. Give the arm these bodies as its payload."
        )
    prescribed = list(model.prescribed)
    q, v = run.q[-1].copy(), run.v[-1].copy()
    q[prescribed], v[prescribed] = state.q[prescribed], state.v[prescribed]
    states = {} if run.drives is None else run.drives.states
    x = {name: float(values[-1]) for name, values in states.items()}
    memory = {}
    for axis in model.axes:
        integral = x.get(integral_of(axis.name), 0.0)
        x[axis.name] = integral
        if held_of(axis.name) in x:
            memory[axis.name] = ServoMemory(integral=integral, held=x[held_of(axis.name)])
    return replace(
        state, q=q, v=v, reference_attitude=run.reference_attitudes[-1], x=x, memory=memory
    )


def _is_same(first: Inertia, second: Inertia) -> bool:
    pairs = ((first.mass, second.mass), (first.first, second.first), (first.second, second.second))
    return all(np.allclose(a, b, rtol=1e-9) for a, b in pairs)
