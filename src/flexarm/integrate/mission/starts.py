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
    """Return the initial state of a run, and coordinates (n,) that servos without target hold.

    The state is that of the model file, an equilibrium, or the end of another run.  Servos without
    a target hold the initial coordinates; for the start ``equilibrium``, those of the model file.

    Raises
    ------
    SimulationError
        If there is no such state.
    """
    q, v = start_state(model)
    state = State(q, v, anchor=model.start_anchors)
    if isinstance(start, RunData):
        state = continued(model, state, start)
    elif isinstance(start, Equilibrium):
        state = state_of(model, start)
    elif start == "equilibrium":
        return steady_state(model, inputs, locked=locked, law=law), q
    return state, state.q


def state_of(model: Model, found: Equilibrium) -> State:
    """Return the initial state at an equilibrium, with prescribed coordinates of the model file."""
    if found.model.names != model.names:
        raise SimulationError(
            "start: the equilibrium has coordinates that differ from this arm's, "
            f"{', '.join(found.model.names)}. Compute an equilibrium of this arm."
        )
    q, v = start_state(model)
    known = list(model.prescribed)
    at = found.point.q.copy(), found.point.v.copy()
    for value, stated in zip(at, (q, v), strict=True):
        value[known] = stated[known]
    return State(*at, anchor=model.start_anchors)


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
    felt = replace(model, gravity=np.zeros(3)) if model.floats else model  # all falls together
    q, rates = start_state(felt)
    for part in felt.links:
        rates[part.modes] = 0.0
    read = read_inputs(model, inputs)
    driven, _, _, followed = channels(model, read, q, {})
    working = (
        ()
        if law
        else tuple(  # all of them as if they sampled all the time
            replace(each, servo=each.servo.model_copy(update={"period": None}))
            for each in servos(model)
        )
    )
    u = np.array([evaluate(each.profile, 0.0)[0] for each in driven])
    r = np.array([evaluate(each.profile, -each.begin)[:2] for each in followed]).reshape(-1, 2)
    for k, each in enumerate(working):
        if each.servo.rate is None and not each.row @ rates:
            r[k, 1] = 0.0  # a target that moves off at time 0 was at rest before, as its joint is
    by_name = {each.name: each for each in working}
    holding = {name for name, each in by_name.items() if each.servo.integral_time is not None}
    settle = [
        axis.name
        for axis in model.axes
        if axis.name not in locked
        and not (axis.prescribed or axis.is_braked or axis.name in holding)
        and not rates[axis.index]
        and (
            not axis.driven
            or (not law and (axis.name in by_name or axis.name in read or axis.acts.input))
        )
    ]
    kept = locked | {axis.name for axis in model.axes if axis.is_braked}
    goals = {
        each.name: (each.row, float(r[k, 0]))
        for k, each in enumerate(working)
        if each.name in holding - kept and each.servo.rate is None
    }
    pushed = _pushed(felt, working, u, rates, r)
    found = _brought(Tangent(felt), goals, settle, lambda q: pushed(q)[1:], rates)
    asked = pushed(found.point.q)[0]
    acting = asked.copy()
    for each in working:
        if each.name in holding:
            acting[each.column] = found.point.u[each.column]
    _require_strength(model, working, acting, rates, holding - kept)
    integrals = {e.name: float(acting[e.column] - asked[e.column]) for e in working}
    memory = {
        each.name: ServoMemory(
            integral=integrals[each.name], held=float(acting[each.column] - u[each.column])
        )
        for each in servos(model)
        if each.name in by_name and each.servo.period is not None
    }
    x = {name: integrals[name] for name in holding - set(memory)}
    x |= {} if law else _currents(model, acting, rates)
    return State(found.point.q, rates, anchor=model.start_anchors, x=x, memory=memory)


def _brought(
    tangent: Tangent,
    goals: Mapping[str, tuple[Array, float]],
    settle: Sequence[str],
    push: Push,
    rates: Array,
) -> Equilibrium:
    """Return the equilibrium in which the positions that servos measure agree with their targets.

    Joint positions are corrected iteratively by the difference between measured position and
    target.
    """
    joints = {name: wanted for name, (_, wanted) in goals.items()}
    try:
        for _ in range(TARGET_CORRECTIONS):
            found = settle_down(tangent, joints, {}, settle, push=push, rates=rates)
            off = {
                name: wanted - float(row @ found.point.q) for name, (row, wanted) in goals.items()
            }
            if all(abs(off[name]) <= TARGET_ERROR * max(1.0, abs(joints[name])) for name in off):
                return found
            joints = {name: joints[name] + each for name, each in off.items()}
    except FlexarmError as error:
        raise SimulationError(f"start: {error}") from None
    raise SimulationError(
        f"start: no equilibrium was found with {', '.join(goals)} at the targets. Raise the "
        "stiffness of joints that sag, or use 'start: stated'."
    )


def _require_strength(
    model: Model, working: tuple[Servoed, ...], u: Array, v: Array, holding: Set[str]
) -> None:
    """Raise an error if holding a joint exceeds the limit of its servo or of its motor current."""
    for each in working:
        if each.name in holding:
            _require_within(each.name, float(u[each.column]), each.limit, "its servo's limit")
    for winding in windings(model):
        limit = winding.motor.current_limit
        if winding.joint in holding and limit is not None:
            current = winding.settled(float(u[winding.column]), v)
            _require_within(winding.joint, current, limit, "its current_limit")


def _currents(model: Model, u: Array, v: Array) -> dict[str, float]:
    """Return steady-state currents [A] for inputs u at rates v, within limits, by winding."""
    found = {}
    for each in windings(model):
        limit = each.motor.current_limit or np.inf
        found[each.name] = float(np.clip(each.settled(float(u[each.column]), v), -limit, limit))
    return found


def _require_within(name: str, value: float, limit: float, what: str) -> None:
    if abs(value) > limit:
        raise SimulationError(
            f"start: the arm has no equilibrium, since {name} needs {value:.4g} to stay, and "
            f"{what} is {limit:g}. Raise that limit, or reduce the load."
        )


def _pushed(model: Model, working: tuple[Servoed, ...], u: Array, v: Array, r: Array) -> Any:
    """Return a function of q for the inputs, the generalised forces (n,), and their Jacobian by q.

    The forces are those of inputs u and servos at rates v and targets r (target and rate by row).
    """
    q, at_work = ca.SX.sym("q", model.size), Actuators(working)
    targets = ca.DM(np.concatenate([r[:, 0], r[:, 1]])) if working else ca.DM(0, 1)
    given = at_work.inputs(
        ca.SX(ca.DM(u)), q, ca.DM(v), targets, ca.SX(at_work.states, 1), ca.SX()
    )[0]
    at_once = [each.without_inductance() for each in windings(model)]
    nothing = ca.SX(0, 1)
    acting = Actuators(windings=tuple(at_once)).shares(
        model, given, q, ca.SX(ca.DM(v)), nothing, nothing, nothing
    )[1]
    force = ca.DM(input_matrix(model)) @ acting
    outputs = [ca.densify(given), ca.densify(force), ca.densify(ca.jacobian(force, q))]
    function = ca.Function("pushed", [q], outputs)

    def call(q: Array) -> tuple[Array, Array, Array]:
        inputs, force, slope = (np.array(each) for each in function(q))
        return inputs.ravel(), force.ravel(), slope

    return call


def continued(model: Model, state: State, other: RunData) -> State:
    """Return the state at the end of another run, with prescribed coordinates of time 0."""
    if other.model.names != model.names:
        raise SimulationError(
            "start: the run has coordinates that differ from this arm's, "
            f"{', '.join(other.model.names)}. Use the same links, joints and shapes."
        )
    held = other.legs[-1].tip if other.legs else None
    if held is not None and not _is_same(held, model.links[-1].tip_body):
        raise SimulationError(
            "start: at the end of the run the tip holds other bodies than the payload of this "
            "arm. Give the arm a payload like these bodies."
        )
    known = list(model.prescribed)
    q, v = other.q[-1].copy(), other.v[-1].copy()
    q[known], v[known] = state.q[known], state.v[known]
    states = {} if other.drives is None else other.drives.states
    x = {name: float(values[-1]) for name, values in states.items()}
    memory = {}
    for axis in model.axes:
        integral = x.get(integral_of(axis.name), 0.0)
        x[axis.name] = integral
        if held_of(axis.name) in x:
            memory[axis.name] = ServoMemory(integral=integral, held=x[held_of(axis.name)])
    return replace(state, q=q, v=v, anchor=other.anchors[-1], x=x, memory=memory)


def _is_same(one: Inertia, other: Inertia) -> bool:
    pairs = ((one.mass, other.mass), (one.first, other.first), (one.second, other.second))
    return all(np.allclose(a, b, rtol=1e-9) for a, b in pairs)
