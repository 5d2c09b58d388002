"""Differentiation across events: parameters and event functions of a phase, refused events."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import casadi as ca
import numpy as np

from flexarm.arm.mission import ACTIONS, PAYLOAD, When
from flexarm.errors import SimulationError
from flexarm.formulations.base import Formulation
from flexarm.formulations.equation import Equation
from flexarm.formulations.numbers import Nearby
from flexarm.formulations.quantities import trace
from flexarm.gradients.plan import StepSequence
from flexarm.gradients.rates import pushed
from flexarm.integrate.drivetrain import holders
from flexarm.integrate.mission.discrete import DiscreteState, instants
from flexarm.integrate.mission.event_functions import EventFunction, require_quantities
from flexarm.integrate.system import instant
from flexarm.model import Model
from flexarm.spatial import Array, Inertia, Pose

QUANTITIES = ("mass_matrix", "tip_jacobian", "tip_pose")


@dataclass(frozen=True)
class ComplexKinetics:
    """Mass matrix, tip Jacobian and tip pose at complex coordinates and a complex tip load.

    Imaginary parts are derivatives along a direction, computed by compiled derivatives with respect
    to the coordinates and to the load.
    """

    equation: Equation  # equation of motion with the load as an input
    load: Array  # tangent of the load's numbers

    @classmethod
    def of(cls, equation: Equation, model: Model) -> "ComplexKinetics":
        """Build mass matrix and tip kinematics of a model whose tip load may be complex."""
        numbers = model.links[-1].tip_body.numbers
        model = replace(model.loaded(Inertia.of_numbers(numbers.real)), load_given=True)
        formulation = replace(equation.formulation, model=model)
        return cls(replace(equation, formulation=formulation, _compiled={}), numbers.imag)

    @property
    def model(self) -> Model:
        """Model of the arm whose mass matrix and tip kinematics are computed."""
        return self.equation.model

    def mass_matrix(self, q: Array) -> Array:
        """Compute the mass matrix, (n, n)."""
        return self._values(q)[0].reshape(len(q), -1).T

    def tip_jacobian(self, q: Array) -> Array:
        """Compute the Jacobian of the tip velocity in world axes, linear rows first, (6, n)."""
        return self._values(q)[1].reshape(len(q), -1).T

    def tip_pose(self, q: Array) -> tuple[Array, Array]:
        """Compute the rotation matrix (3, 3) and the position (3,) of the tip in the world."""
        rotation, position = self._values(q)[2:]
        return rotation.reshape(3, 3).T, position

    def tip_velocity(self, q: Array, v: Array) -> Array:
        """Compute velocity [m/s], then angular velocity [rad/s], of the tip in world axes, (6,)."""
        return self.tip_jacobian(q) @ v

    def _values(self, q: Array) -> list[Array]:
        """Return mass matrix, tip Jacobian, rotation and position as column-major vectors.

        The vectors are complex if the coordinates or the tip load are complex.
        """
        function, n = self.equation.compile("kinetics, pushed", _trace, level="quick"), len(q)
        results = function.call(q.real, *self.equation.common_arguments, q.imag, self.load)
        change, values = (result.ravel() for result in results)
        if np.iscomplexobj(q) or self.load.any():
            values = values + 1j * change
        return np.split(values, np.cumsum([n * n, 6 * n, 9]))


def _trace(formulation: Formulation) -> ca.Function:
    """Return a CasADi function of mass matrix, tip kinematics and their directional derivatives.

    The inputs of the function are the coordinates q, reference attitudes and tip load, followed by
    the directions of q and of the tip load.
    """
    functions = [trace(formulation, name) for name in QUANTITIES]
    symbols, names = functions[0].sx_in(), functions[0].name_in()
    values = [output for function in functions for output in function.call(symbols, True, False)]
    outputs = [f"out{k}" for k in range(len(values))]
    whole = ca.Function("kinetics", symbols, values, names, outputs)
    return pushed(whole, {"q_tangent": ("q",), "load_tangent": ("load",)}, values=True)


# actions of events that can be differentiated
DIFFERENTIATED = ("servo", "let_go", "capture", "brake", "release")


def next_stop(model: Model, t: float, end: float) -> float:
    """Return the next time after t [s] at which an event may happen, or the end of the run."""
    marks = [event.earliest for event in model.arm.events]
    stops = instants([mark for mark in marks if mark > 0], end)
    return next(event for event in stops if event - t > instant(t))


def _captured_poses(discrete: DiscreteState) -> dict[str, Pose]:
    """Return the poses, in the tip frame, of bodies that the tip has captured, by name."""
    return {name: pose for name, pose in discrete.held.items() if name != PAYLOAD}


def carried(discrete: DiscreteState) -> Array:
    """Return poses of captured bodies and states of drifting bodies as one vector.

    Each captured body contributes the 12 elements of its pose in the tip frame, and each drifting
    body the 19 elements of its state.
    """
    poses = [_lies(pose) for pose in _captured_poses(discrete).values()]
    freed = [[d.begin, *_lies(d.pose), *d.velocity, *d.spin] for d in discrete.freed.values()]
    return np.concatenate([np.zeros(0), *poses, *freed])


def carrying(discrete: DiscreteState, numbers: Array) -> DiscreteState:
    """Return a discrete state with new poses of captured bodies and states of drifting ones."""
    poses = _captured_poses(discrete)
    rows, more = np.split(numbers, [12 * len(poses)])
    rows, more = rows.reshape(-1, 12), more.reshape(-1, 19)
    held = {name: _pose(row) for name, row in zip(poses, rows, strict=True)}
    freed = {}
    for (name, body), row in zip(discrete.freed.items(), more, strict=True):
        (begin,), pose, velocity, spin = np.split(row, [1, 13, 16])
        freed[name] = replace(body, begin=begin, pose=_pose(pose), velocity=velocity, spin=spin)
    return replace(discrete, held={**discrete.held, **held}, freed=freed)


def situated(discrete: DiscreteState, model: Model) -> Model:
    """Return a model with the servo settings and the tip load of a discrete state."""
    return discrete.servoed(discrete.model(model))


def nearby_in(
    discrete: DiscreteState, model: Model, arms: Callable[[], Mapping[str, Nearby]]
) -> dict[str, Nearby]:
    """Return models of a phase, each with one parameter slightly changed, by parameter key.

    The model-file parameters are followed by the elements of the vector of `carried`, with the keys
    ``carried 0``, ``carried 1`` and so on.
    """
    arms_in_state = {
        key: replace(arm, models=tuple(situated(discrete, model) for model in arm.models))
        for key, arm in arms().items()
    }
    numbers = carried(discrete)
    # Differences over any step are exact, since the load is quadratic in the pose of a body.
    for k, step in enumerate(np.eye(len(numbers))):
        models = [situated(carrying(discrete, numbers + way), model) for way in (step, -step)]
        arms_in_state[f"carried {k}"] = Nearby(tuple(models), np.array([0.5, -0.5]))
    return arms_in_state


def bounds_in(discrete: DiscreteState, model: Model, t: float) -> tuple[Array, Array]:
    """Return lower and upper bounds of the event functions in a phase that begins at t [s].

    Event functions of inactive events have infinite bounds.
    """
    bounds = [
        look.bounds(_when(model, k)) if discrete.monitors(model, k, t) else (-np.inf, np.inf)
        for k, look in event_functions_by_index(model).items()
    ]
    low, high = np.array(bounds).reshape(-1, 2).T
    return low, high


def _lies(pose: Pose) -> Array:
    return np.concatenate([*pose.rotation, pose.position])


def _pose(numbers: Array) -> Pose:
    return Pose(numbers[:9].reshape(3, 3), numbers[9:])


def _when(model: Model, event: int) -> When:
    when = model.arm.events[event].when
    assert when is not None
    return when


def captured_repeatedly(model: Model) -> set[str]:
    """Return the names of bodies that several events capture."""
    names = [event.capture for event in model.arm.events if event.capture is not None]
    return {name for name in names if names.count(name) > 1}


def event_functions_by_index(model: Model) -> dict[int, EventFunction]:
    """Return the event functions by event index, without distances to drifting bodies."""
    return {
        k: EventFunction.of(model, event.when.quantity)
        for k, event in enumerate(model.arm.events)
        if event.when is not None and not event.when.quantity.startswith("distance.")
    }


def value_of(model: Model, event: int) -> float:
    """Return the value that an event function has when its event happens.

    If the event function is the square of a quantity, the returned value is the square of the
    threshold.
    """
    when = _when(model, event)
    low, high = EventFunction.of(model, when.quantity).bounds(when)
    return low if np.isfinite(low) else high


def refuse_events(model: Model, end: float) -> None:
    """Raise SimulationError if an event before ``end`` [s] cannot be differentiated."""
    require_quantities(model)
    for k, event in enumerate(model.arm.events):
        if event.earliest < end - instant(end):
            _refuse(model, k, event.earliest)


def _refuse(model: Model, k: int, at: float) -> None:
    event = model.arm.events[k]
    actions = [name for name in ACTIONS if getattr(event, name)]
    if any(name not in DIFFERENTIATED for name in actions):
        raise SimulationError(
            f"gradients: '{event.title}' may happen from t = {at:g} s on. Events that attach or "
            "detach the tip, or end the run at a value of a quantity, are not differentiated. "
            "End the run there (t_end), and begin another by at(q=..., v=...)."
        )
    if event.when is not None and event.when.quantity.startswith("distance."):
        raise SimulationError(
            f"gradients: '{event.title}' depends on the distance of a free body. Use a quantity "
            "of the arm, such as tip.x, or leave the event out."
        )
    if any(holder.axis.name in event.brake and holder.able for holder in holders(model).values()):
        raise SimulationError(
            f"gradients: '{event.title}' closes a brake that can slip, and stick-slip motion is "
            "not differentiated. Leave the 'effort' of the brake out."
        )


def refuse_at_start(model: Model, events: Sequence[int]) -> None:
    """Raise SimulationError if an event at the start of a run captures a body or closes a brake."""
    for event in (model.arm.events[k] for k in events):
        if event.capture or event.brake:
            raise SimulationError(
                f"gradients: '{event.title}' happens at the start of the run. Leave it out, and "
                "give the arm a payload or a closed brake instead."
            )


def refuse_passed(
    model: Model, plan: StepSequence, times: Array, there: float, here: float
) -> None:
    """Raise SimulationError if a sample or event lies between an event's times in two runs.

    The argument ``there`` is the event time [s] in the simulation whose steps are used, and
    ``here`` the event time [s] in the present simulation.
    """
    apart = instant(max(there, here))
    marks = [event.earliest for event in model.arm.events]
    low, high = min(there, here) - apart, max(there, here) + apart
    stops = np.concatenate([times, [t for t in marks if t > 0], list(plan.discrete.done.values())])
    passed = stops[(stops >= low) & (stops <= high)]
    if high - low > 4 * apart and len(passed):
        raise SimulationError(
            f"steps: '{model.arm.events[plan.ended].title}' happens at t = {here:.6g} s, and at "
            f"{there:.6g} s in the run whose steps are used. A sample or event at "
            f"{passed[0]:.6g} s lies between the two. Leave out 'steps', or use those of a more "
            "similar run."
        )


def refuse_released(
    model: Model, discrete: DiscreteState, begin: float, events_seen: Sequence[int]
) -> None:
    """Raise SimulationError if two events at one instant close and release the same brake."""
    events, passed_events = model.arm.events, discrete.done.items()
    before = [events[k] for k, t in passed_events if abs(t - begin) <= 4 * instant(begin)]
    for late, event in product((events[k] for k in events_seen), before):
        for name in sorted({*late.release} & {*event.brake}):
            raise SimulationError(
                f"gradients: '{late.title}' releases {name} at t = {begin:.6g} s, at the same "
                f"time at which '{event.title}' closes its brake. Let the release happen later "
                "('after')."
            )


def refuse_at_once(model: Model, events: Sequence[int], t: float) -> None:
    """Raise SimulationError if events with different conditions occur at the same time t [s]."""
    conditions = [
        condition
        for condition in (model.arm.events[k].when for k in events)
        if condition is not None
    ]
    if any(condition != conditions[0] for condition in conditions):
        raise SimulationError(
            f"gradients: several events reach their values at the same time t = {t:.6g} s. "
            "Their order depends on the parameters, so that there is no derivative. Change the "
            "value of one of them."
        )
