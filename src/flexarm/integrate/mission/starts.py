"""Initial states of runs: from the model file, in equilibrium, or at the end of another run."""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
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
from flexarm.linear.tangent import OperatingPoint, Tangent
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
    """Return the initial state of a run, and the positions (n,) that servos hold.

    The initial state comes from the model file, from an equilibrium, or from the end of another
    run. A servo without a target holds the initial position of its joint; with ``start:
    equilibrium`` it holds the position stated in the model file.

    Raises
    ------
    SimulationError
        If no initial state exists, for example because there is no equilibrium.
    """
    q, v = start_state(model)
    state = State(q, v, reference_attitude=model.start_references)
    if isinstance(start, RunData):
        state = continued(model, state, start)
    elif isinstance(start, Equilibrium):
        state = state_of(model, start)
    elif start == "equilibrium":
        return SteadyProblem.of(model, inputs, locked=locked, law=law).solve(), q
    return state, state.q


def state_of(model: Model, equilibrium: Equilibrium) -> State:
    """Return the initial state at an equilibrium, with prescribed coordinates at time 0."""
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


@dataclass(frozen=True)
class SteadyProblem:
    """Conditions of the equilibrium at time 0: no acceleration, joints at their initial speeds.

    A joint whose servo has an integral term is at the servo's target, and the integral balances the
    load. Free joints, and joints with another servo or an input, are where the forces balance. All
    other joints are at their initial positions: joints that are locked, braked or moving, joints
    driven without servo and input, and, under a control law, all driven joints.
    """

    model: Model  # the arm
    tangent: Tangent  # equation of motion of the arm, without gravity on a free base
    servos: tuple[Servoed, ...]  # servos that act, as if in continuous time
    u: Array  # inputs at time 0, (k,)
    targets: Array  # targets of the servos and their rates, (servos, 2)
    rates: Array  # initial rates, (n,)
    positions: Mapping[str, float]  # positions of joints that are held elsewhere than at the start
    goals: Mapping[str, tuple[Array, float]]  # measurement row and target of servos with integral
    integrating: Set[str]  # names of joints whose servos have an integral term
    limited: Set[str]  # joints of `integrating` that are neither locked nor braked
    settled: Sequence[str]  # joints that move to where forces balance
    law: bool  # whether a control law replaces the servos

    @classmethod
    def of(
        cls,
        model: Model,
        inputs: Mapping[str, Any],
        *,
        law: bool,
        locked: Set[str] = frozenset(),
        offsets: Array | float = 0.0,
        positions: Mapping[str, float] | None = None,
        tangent: Callable[[Model], Tangent] = Tangent,
    ) -> "SteadyProblem":
        """Collect the conditions of the equilibrium of an arm.

        Parameters
        ----------
        model, inputs, law, locked
            The arm; inputs by joint, which replace those of the model file; whether a control law
            replaces the servos; names of the locked joints.
        offsets
            Constants added to the inputs, (k,).
        positions
            Positions of joints that are held by other means, such as friction, by joint.
        tangent
            Function that returns the equation of motion of a model.

        Raises
        ------
        SimulationError
            If the base is in orbit, where no equilibrium exists.
        """
        if model.orbit:
            raise SimulationError(
                "start: an equilibrium cannot be computed for a base in orbit, since a base at "
                "rest need not stay there. Use 'start: stated'."
            )
        positions = positions or {}
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
        u = np.array([evaluate(channel.profile, 0.0)[0] for channel in input_channels]) + offsets
        targets = np.array(
            [evaluate(channel.profile, -channel.begin)[:2] for channel in target_channels]
        ).reshape(-1, 2)
        for k, servo in enumerate(acting_servos):
            if servo.servo.rate is None and not servo.row @ rates:
                # A target that starts to move at time 0 was at rest before, and so was its joint.
                targets[k, 1] = 0.0
        by_name = {servo.name: servo for servo in acting_servos}
        integrating = {name for name, servo in by_name.items() if servo.servo.integral_time}
        settled = [
            axis.name
            for axis in model.axes
            if axis.name not in {*locked, *positions}
            and not (axis.prescribed or axis.is_braked or axis.name in integrating)
            and not rates[axis.index]
            and (
                not axis.driven
                or (not law and (axis.name in by_name or axis.name in profiles or axis.acts.input))
            )
        ]
        limited = integrating - locked - {axis.name for axis in model.axes if axis.is_braked}
        goals = {
            servo.name: (servo.row, float(targets[k, 0]))
            for k, servo in enumerate(acting_servos)
            if servo.name in limited and servo.name not in positions and servo.servo.rate is None
        }
        return cls(
            model, tangent(weightless), acting_servos, u, targets, rates, positions, goals,
            integrating, limited, settled, law,
        )  # fmt: skip

    @cached_property
    def forces_at(self) -> Callable[[Array], tuple[Array, Array, Array]]:
        """Function of q that returns inputs, (k,), generalised forces, (n,), and a Jacobian.

        The Jacobian contains the derivatives of inputs and forces by q and by constants added to
        the inputs, (k + n, n + k).
        """
        return _force_function(self.tangent.model, self.servos, self.u, self.rates, self.targets)

    def solve(self) -> State:
        """Compute the state at the equilibrium.

        Raises
        ------
        SimulationError
            If no equilibrium exists within the limits of servo inputs and motor currents.
        """
        equilibrium = _at_targets(
            self.tangent, self.positions, self.goals, self.settled,
            self.push, self.rates,
        )  # fmt: skip
        state = self.state(equilibrium.point.q)
        held = self.inputs_at(state.q)
        for servo in self.servos:
            if servo.name in self.limited:
                column = servo.column
                _require_within(servo.name, float(held[column]), servo.limit, "its servo's limit")
        for winding in windings(self.model):
            limit = winding.motor.current_limit
            if winding.joint in self.limited and limit is not None:
                current = winding.settled(float(held[winding.column]), self.rates)
                _require_within(winding.joint, current, limit, "its current_limit")
        return state

    def push(self, q: Array) -> tuple[Array, Array]:
        """Return the generalised forces of the inputs, (n,), and their derivatives by q, (n, n)."""
        _, force, slopes = self.forces_at(q)
        return force, slopes[-len(q) :, : len(q)]

    def inputs_at(self, q: Array) -> Array:
        """Return the inputs at equilibrium coordinates q, with servo action and integral terms."""
        inputs, effort = self.forces_at(q)[0].copy(), self.effort(q)
        holding = np.linalg.lstsq(self.tangent.inputs, effort, rcond=None)[0]
        for servo in self.servos:
            if servo.name in self.integrating:
                inputs[servo.column] = holding[servo.column]
        return inputs

    def effort(self, q: Array) -> Array:
        """Return the generalised force that holds the arm still at coordinates q, (n,)."""
        return self.tangent.force(OperatingPoint(q, self.rates, self.u), np.zeros(len(q)))

    def state(self, q: Array) -> State:
        """Return the state at equilibrium coordinates q, with integral terms and motor currents."""
        inputs = self.inputs_at(q)
        own = self.forces_at(q)[0]
        integrals = {e.name: float(inputs[e.column] - own[e.column]) for e in self.servos}
        memory = {
            servo.name: ServoMemory(
                integral=integrals[servo.name],
                held=float(inputs[servo.column] - self.u[servo.column]),
            )
            for servo in servos(self.model)
            if servo.name in integrals and servo.servo.period is not None
        }
        x = {name: integrals[name] for name in self.integrating - set(memory)}
        x |= {} if self.law else _currents(self.model, inputs, self.rates)
        attitude = self.model.start_references
        return State(q, self.rates, reference_attitude=attitude, x=x, memory=memory)


def _at_targets(
    tangent: Tangent,
    positions: Mapping[str, float],
    goals: Mapping[str, tuple[Array, float]],
    free_joints: Sequence[str],
    push: Push,
    rates: Array,
) -> Equilibrium:
    """Return the equilibrium at which the positions measured by servos equal their targets.

    Positions of these joints are corrected iteratively by the difference between the target and the
    measured position.
    """
    joints = {**positions, **{name: target for name, (_, target) in goals.items()}}
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
            joints |= {name: joints[name] + offset for name, offset in offsets.items()}
    except FlexarmError as error:
        raise SimulationError(f"start: {error}") from None
    raise SimulationError(
        f"start: no equilibrium was found with {', '.join(goals)} at the targets. Raise the "
        "stiffness of joints that sag, or use 'start: stated'."
    )


def _currents(model: Model, u: Array, v: Array) -> dict[str, float]:
    """Return steady-state motor currents [A] at inputs u and rates v, within limits."""
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
) -> Callable[[Array], tuple[Array, Array, Array]]:
    """Return the function `SteadyProblem.forces_at`.

    The forces are those of inputs u, servos, gravity and springs at rates v. The array of servo
    targets, (servos, 2), contains target and target rate.
    """
    q, actuators = ca.SX.sym("q", model.size), Actuators(acting_servos)
    targets = ca.DM(np.concatenate([r[:, 0], r[:, 1]])) if acting_servos else ca.DM(0, 1)
    symbols = ca.SX.sym("u", len(u))
    servo_inputs = actuators.inputs(
        symbols, q, ca.DM(v), targets, ca.SX(actuators.states, 1), ca.SX()
    )[0]
    steady_windings = [  # the current follows the input at once
        replace(winding, motor=winding.motor.model_copy(update={"inductance": None}))
        for winding in windings(model)
    ]
    empty = ca.SX(0, 1)
    effective_inputs = Actuators(windings=tuple(steady_windings)).shares(
        model, servo_inputs, q, ca.SX(ca.DM(v)), empty, empty, empty
    )[1]
    force = ca.DM(input_matrix(model)) @ effective_inputs
    jacobian = ca.jacobian(ca.vertcat(servo_inputs, force), ca.vertcat(q, symbols))
    outputs = [ca.densify(output) for output in (servo_inputs, force, jacobian)]
    function = ca.Function("pushed", [q, symbols], outputs)

    def call(q: Array) -> tuple[Array, Array, Array]:
        inputs, force, slopes = (np.array(output) for output in function(q, u))
        return inputs.ravel(), force.ravel(), slopes

    return call


def continued(model: Model, state: State, run: RunData) -> State:
    """Return the final state of another run, with prescribed coordinates set to time 0."""
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
