"""Equations of a live arm: motion with servos and mouse pull, energies, drawn state.

The quantities that the page's sliders change are an input vector, ``settings``: gravity [m/s^2]
along a fixed direction, payload [kg], a factor of all stiffnesses, and a damping ratio. The damping
ratio belongs to the modes at the start, and is added to the damping of the model file. The shape
functions do not change with the settings. The equations of motion include the servos of the model
file, with their timed targets.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import casadi as ca
import numpy as np

from flexarm.arm.mission import ACTIONS, Event
from flexarm.engine.lower import lower
from flexarm.engine.numbers import Pattern
from flexarm.engine.split import split
from flexarm.engine.stream import Stream
from flexarm.formulations import DEFAULT, FORMULATIONS, formulation
from flexarm.formulations.base import Formulation
from flexarm.formulations.constants import OTHER_FACTOR
from flexarm.integrate.actuators import Actuators, Servoed, servos
from flexarm.integrate.drivetrain import windings
from flexarm.integrate.mission.discrete import DiscreteState
from flexarm.integrate.mission.transitions import commanded
from flexarm.integrate.problem import Channel
from flexarm.linear_model import undamped
from flexarm.links.end_loads import body_inertia, end_pose, tip_inertia
from flexarm.mechanics.bodies import body_of
from flexarm.mechanics.kinematics import base_frame, end_frame, frames, section
from flexarm.mechanics.loads import (
    dissipative_force,
    elastic_force,
    gear_gain,
    hub_row,
    potential_energy,
    wrench_force,
    wrench_list,
)
from flexarm.mechanics.point_forces import attach
from flexarm.model import Axis, LinkModel, Model, start_state
from flexarm.model.numbers import common_pattern, numbers_of, opened
from flexarm.spatial import Array, Expr, Inertia, base_rotation, constant, rebased
from flexarm.viewer.constants import DAMPED_FREQUENCY, HELD_PLACES


@dataclass(frozen=True)
class ServoTargets:
    """Targets of a servo in order of time; each applies from its own start time."""

    channels: tuple[Channel, ...]

    @property
    def rows(self) -> Array:
        """Polynomial pieces of all targets, one per row (see `flexarm.model.profiles.pieces`)."""
        rows = self.channels[0].pieces
        for channel in self.channels[1:]:
            pieces = channel.pieces.copy()
            pieces[0, 0] = channel.begin
            rows = np.vstack([rows[rows[:, 0] < channel.begin], pieces])
        return rows


@dataclass(frozen=True)
class Programme:
    """Servos that a live page simulates, with the targets that timed events set."""

    servos: tuple[Servoed, ...]  # simulated servos
    targets: tuple[ServoTargets, ...]  # target of each of these servos
    left_out: str  # note on servos and events that are not simulated; empty if there are none

    @property
    def states(self) -> int:
        """Number of servo states (integral terms)."""
        return sum(servo.state is not None for servo in self.servos)

    @property
    def breaks(self) -> Array:
        """Times [s] at which a target or its rate is discontinuous."""
        return np.unique([t for target in self.targets for t in target.rows[1:, 0]])


def programme(model: Model, *, plays: bool = True) -> Programme:
    """Return the servos and targets that a live page can simulate.

    The page leaves out sampled servos and motors with windings; if ``plays`` is false, it leaves
    out all servos.
    """
    motor_columns = {servo.column for servo in windings(model)}
    all_servos, playable = servos(model), list[Servoed]()
    for servo in all_servos:
        if plays and servo.servo.period is None and servo.column not in motor_columns:
            states = sum(earlier.state is not None for earlier in playable)
            playable.append(replace(servo, state=None if servo.state is None else states))
    names = {servo.name for servo in playable}
    position_servos = {servo.name for servo in playable if servo.servo.rate is None}
    events = [event for event in model.arm.events if _is_played(event, position_servos)]
    events.sort(key=lambda event: event.at or 0.0)
    not_played = [f"the servo of {servo.name}" for servo in all_servos if servo.name not in names]
    if all_servos and not plays:
        not_played = ["its servos, which are too fast for real time"]
    not_played += [f"'{event.title}'" for event in model.arm.events if event not in events]
    targets = tuple(_target(model, servo, events) for servo in playable)
    return Programme(
        tuple(playable), targets, f"not played: {', '.join(not_played)}" if not_played else ""
    )


def _is_played(event: Event, names: set[str]) -> bool:
    """Return whether an event only sets servo targets at a scheduled time."""
    actions = {action for action in ACTIONS if getattr(event, action)}
    changes = {key for change in event.servo.values() for key in change}
    is_timed = event.at is not None and actions == {"servo"}
    return is_timed and names.issuperset(event.servo) and changes == {"target"}


def _target(model: Model, servo: Servoed, events: Sequence[Event]) -> ServoTargets:
    q, name = start_state(model)[0], f"{servo.name}: servo"
    channels, state = [Channel(name, servo.profile(q))], DiscreteState()
    for event in events:
        if servo.name in event.servo:
            k = model.arm.events.index(event)
            state = commanded(state, k, model, float(event.at or 0.0))
            changed = replace(
                servo, servo=servo.servo.changed(state.servo_changes(servo.name, model))
            )
            channels.append(Channel(name, changed.profile(q), state.servos[servo.name][0]))
    return ServoTargets(tuple(channels))


SETTINGS = ("gravity", "payload", "stiffness", "damping")
DOWN = np.array([0.0, 0.0, -1.0])  # direction of gravity for an arm without gravity
SET = "settings"


@dataclass(frozen=True)
class LiveArm:
    """An arm whose gravity, payload, stiffness and damping sliders change while it moves."""

    model: Model  # the arm of the model file
    plays: bool = True  # whether servos of the model file are simulated

    @cached_property
    def direction(self) -> Array:
        """Unit vector of gravity in the world, (3,); downwards if the model file has no gravity."""
        size = float(np.linalg.norm(self.model.gravity))
        return self.model.gravity / size if size else DOWN

    @cached_property
    def settings(self) -> Array:
        """Gravity, payload, stiffness factor and damping ratio of the model file, (4,)."""
        payload = self.model.arm.payload
        mass = 0.0 if payload is None else float(payload.mass)
        return np.array([float(np.linalg.norm(self.model.gravity)), mass, 1.0, 0.0])

    @cached_property
    def critical(self) -> Array:
        """Damping matrix for which all modes at the start are critically damped, (n, n).

        Modes too fast to be visible are damped as if they had the highest visible frequency, since
        more damping would need smaller integration steps.
        """
        linear = formulation(DEFAULT, self.model).elastic_model(*start_state(self.model))
        n, result = self.model.size, np.zeros((self.model.size, self.model.size))
        free = [i for i in range(n) if i not in self.model.prescribed]
        block = np.ix_(free, free)
        M, K = linear.mass[block], linear.stiffness[block]
        squares, shapes = undamped(M, K) if free else (np.zeros(0), np.zeros((0, 0)))
        elastic = squares > 1e-9 * squares.max(initial=0.0)
        weighted = M @ shapes[:, elastic]
        result[block] = (
            weighted * (2 * np.sqrt(np.minimum(squares[elastic], DAMPED_FREQUENCY**2))) @ weighted.T
        )
        return np.where(np.abs(result) > 1e-12 * np.abs(result).max(initial=0.0), result, 0.0)

    @cached_property
    def mass(self) -> float:
        """Mass of all links and attached bodies, without the payload [kg]."""
        zero_rates = ca.DM.zeros(self.model.size, 1)
        q = ca.DM(start_state(self.model)[0])
        total = self._bodies[0].mass - self.model.links[-1].tip_body.mass
        for part in self.model.links:
            total += part.tip_body.mass
            total += float(body_of(self.model, part).terms(q, zero_rates, ca.DM.zeros(3, 1)).mass)
        return total

    @property
    def _some(self) -> tuple[float, float]:
        """Gravity and payload with 0 replaced by 1, so that the equations contain both terms."""
        gravity, payload = self.settings[:2].tolist()
        return gravity or 1.0, payload or 1.0

    @property
    def driven(self) -> tuple[Axis, ...]:
        """Joint axes that are driven by an input."""
        return tuple(axis for axis in self.model.axes if axis.driven)

    @cached_property
    def rows(self) -> Array:
        """Matrix that selects the driven coordinates from q, (inputs, n)."""
        unit = np.eye(self.model.size)
        rows = [
            hub_row(self.model, axis) if axis.motor is None else unit[axis.motor]
            for axis in self.driven
        ]
        return np.array(rows).reshape(-1, self.model.size)

    @cached_property
    def programme(self) -> Programme:
        """Servos and timed targets of the model file that the page simulates."""
        return programme(self.model, plays=self.plays)

    @cached_property
    def _bodies(self) -> tuple[Inertia, Inertia]:
        """Inertia at the last link's tip without payload, and inertia of a payload of 1 kg."""
        arm, last = self.model.chain, len(self.model.links) - 1
        without_payload = tip_inertia(arm.model_copy(update={"payload": None}), last)
        if arm.payload is None or not arm.payload.mass:
            body = Inertia(1.0, np.zeros(3), np.zeros((3, 3)))
        else:
            payload, mass = body_inertia(arm.payload), float(arm.payload.mass)
            body = Inertia(1.0, payload.first / mass, payload.second / mass)
        return without_payload, body.moved(end_pose(arm.links[last]))

    def at(self, gravity: float, payload: float) -> Model:
        """Return the model with other gravity [m/s^2] and payload [kg], and unchanged shapes."""
        without_payload, unit = self._bodies
        scaled = Inertia(payload, payload * unit.first, payload * unit.second)
        *others, last = self.model.links
        links = (*others, replace(last, tip_body=without_payload + scaled))
        return replace(self.model, gravity=gravity * self.direction, links=links)

    @property
    def holds(self) -> tuple[tuple[int, float], ...]:
        """Points at which the arm can be pulled: (link index, fraction of the link's length) each.

        The last point is the arm's tip, whose link index is the number of links.
        """
        points = []
        for k, part in enumerate(self.model.links):
            is_flexible = part.flexible and part.body.range is None
            points += [(k, fraction) for fraction in (HELD_PLACES if is_flexible else (0.0, 1.0))]
        return (*points, (len(self.model.links), 0.0))

    def motion(self) -> tuple[Stream, Stream]:
        """Return two functions: terms that depend on settings alone, and the accelerations.

        Both functions are lists of scalar operations. The second function computes accelerations
        (n,), powers (4,) and the derivatives dx of servo states. The inputs of the second function
        from the arm are q, v, wrench factors w, accelerations ``prescribed_a`` of prescribed
        coordinates, and the outputs of the first function. From the servos of the model file, the
        inputs of the second function are inputs u, targets r, states x, and a factor ``play`` of
        each input. From the page, its inputs are, for each driven joint, an effort ``hand`` [N m or
        N] and target, stiffness and damping of a ``servo``; and the pull ``grip``, which contains
        the Jacobian of the pulled point (3, n), the force at q = v = 0 (3,), and stiffness and
        damping of the pull.
        """
        n, inputs = self.model.size, len(self.driven)
        sizes = {
            "q": n,
            "v": n,
            "w": len(wrench_list(self.model)),
            "prescribed_a": len(self.model.prescribed),
            "u": inputs,
            "r": 2 * len(self.programme.servos),
            "x": self.programme.states,
            "play": inputs,
            "hand": inputs,
            "servo": 3 * inputs,
            "grip": 3 * n + 5,
        }
        traced = self._traced("motion", _motion, sizes, ("a", "power", "dx"))
        prologue, body = split(lower(traced), SET)
        return replace(prologue, name="prepare"), body

    def observation(self) -> Stream:
        """Return a function of energies (3,), tip position (3,) and drawn state.

        The inputs of the function are q, v and the settings of the sliders.
        """
        sizes = {"q": self.model.size, "v": self.model.size}
        return lower(self._traced("observe", _observation, sizes, ("energy", "tip", "drawn")))

    @cached_property
    def grip(self) -> Stream:
        """Function of the position of the pulled point, (3,), and its Jacobian, (3, n).

        The inputs of the function are q, and weights of the points at which the arm can be pulled.
        """
        q, weights = ca.SX.sym("q", self.model.size), ca.SX.sym("weights", len(self.holds))
        model, extra, names = _with_reference(self.model)
        link_frames = frames(model, q)
        point = ca.SX.zeros(3, 1)
        for k, (link, fraction) in enumerate(self.holds):
            if link == len(model.links):
                position = end_frame(model, q)[1]
            elif fraction == 1.0:
                position = link_frames[link].p_WT
            else:
                position = link_frames[link].p_WL
                if fraction:
                    part = model.links[link]
                    local = section(model, part, q, fraction * part.length).position
                    position = position + link_frames[link].R_WL @ local
            point = point + weights[k] * position
        rows = [ca.gradient(point[k], q).T for k in range(3)]  # takes fewer operations than columns
        outputs = [point, ca.densify(ca.vertcat(*rows))]
        return lower(
            ca.Function("hold", [q, weights, *extra], outputs, ["q", "weights", *names], ["p", "J"])
        )

    def contact_jacobians(self, q: Array) -> Array:
        """Return the Jacobians of the contact points at coordinates q, (contacts, 3, n)."""
        x, model, jacobians = ca.SX.sym("q", self.model.size), self.model, []
        if model.attitudes:
            model = model.with_reference(ca.SX(model.start_references))
        for point in model.points.contacts:
            position = attach(model, x, frames(model, x), point).position
            jacobians.append(np.array(ca.Function("J", [x], [ca.jacobian(position, x)])(q)))
        return np.array(jacobians).reshape(-1, 3, self.model.size)

    def turn(self) -> list[Stream]:
        """Return a function that replaces reference attitudes; empty if there are none.

        The function maps q, v and the k reference attitudes, (3 k, 3), to an equal state in which
        the current attitudes are the reference attitudes, so that all attitude angles are 0.
        """
        model, extra, names = _with_reference(self.model)
        if model.reference_attitude is None:
            return []
        q, v = (ca.SX.sym(name, model.size) for name in ("q", "v"))
        angles, speeds, reference_attitudes = ca.SX(q), ca.SX(v), []
        for k, first in enumerate(model.attitudes):
            rows, angle_rows = slice(3 * k, 3 * k + 3), slice(first, first + 3)
            attitude, speeds[angle_rows] = rebased(
                model.reference_attitude[rows, :], q[angle_rows], v[angle_rows]
            )
            angles[angle_rows] = 0
            reference_attitudes.append(attitude)
        outputs: list[Expr] = [angles, speeds, ca.densify(ca.vertcat(*reference_attitudes))]
        output_names = ["new_q", "new_v", "new_reference_attitude"]
        return [
            lower(ca.Function("turn", [q, v, *extra], outputs, ["q", "v", *names], output_names))
        ]

    def _traced(
        self,
        name: str,
        express: Callable[..., tuple[Expr, ...]],
        sizes: dict[str, int],
        outputs: tuple[str, ...],
    ) -> ca.Function:
        """Return a CasADi function of expressions of the model; the settings are its last input."""
        g, m = self._some
        at_settings, *varied = (
            self.at(g, m),
            self.at(OTHER_FACTOR * g, m),
            self.at(g, OTHER_FACTOR * m),
        )
        pattern = common_pattern([at_settings, *varied])
        assert pattern is not None  # the models differ in these numbers only
        symbolic, _ = opened(at_settings, pattern)
        assert symbolic.symbols is not None
        symbols = {key: ca.SX.sym(key, size) for key, size in sizes.items()}
        settings = ca.SX.sym(SET, len(SETTINGS))
        model, attitude_symbols, names = _with_reference(symbolic)
        f = FORMULATIONS[DEFAULT](model)
        results = express(self, f, settings[2], settings[3], *symbols.values())
        inputs = [*symbols.values(), *attitude_symbols]
        traced = ca.Function(name, [*inputs, settings, symbolic.symbols], results)
        numbers = self._numbers(pattern, settings)
        return ca.Function(
            name,
            [*inputs, settings],
            traced.call([*inputs, settings, numbers], True, False),
            [*symbols, *names, SET],
            list(outputs),
        )

    def _numbers(self, pattern: Pattern, settings: Expr) -> Expr:
        """Return the model's numbers as expressions, which are linear in gravity and payload."""
        g, m = self._some
        models = (self.at(g, m), self.at(2 * g, m), self.at(g, 2 * m))
        base, at_twice_gravity, at_twice_payload = (
            pattern.values(numbers_of(model).values)[0][:, 0] for model in models
        )
        result = ca.SX(base)
        slopes = ((at_twice_gravity - base) / g, (at_twice_payload - base) / m)
        for slope, setting, value in zip(slopes, (settings[0], settings[1]), (g, m), strict=True):
            for k in map(int, np.flatnonzero(slope)):
                result[k] += slope[k] * (setting - value)
        return result


def _with_reference(model: Model) -> tuple[Model, list[Expr], list[str]]:
    """Return the model with symbolic reference attitudes, the symbols and their names."""
    if not model.attitudes:
        return model, [], []
    reference_attitude = ca.SX.sym("reference_attitude", *model.start_references.shape)
    return model.with_reference(reference_attitude), [reference_attitude], ["reference_attitude"]


def _motion(
    arm: LiveArm, f: Formulation, stiffness: Expr, damping: Expr, *symbols: Expr
) -> tuple[Expr, Expr, Expr]:
    """Return expressions of accelerations, powers and derivatives of the servo states.

    The four powers are those of inputs, of pull and wrenches, of prescribed coordinates, and of
    damping.
    """
    q, v, w, prescribed_a, u, r, x, play, hand, servo, grip = symbols
    rows, n = ca.SX(constant(arm.rows)), arm.model.size
    target, gain, damping_gain = (servo[k::3] for k in range(3))
    file_inputs, dx = Actuators(arm.programme.servos).inputs(u, q, v, r, x, ca.SX(0, 1))
    gears = ca.DM([gear_gain(axis) for axis in arm.driven])
    efforts = play * gears * file_inputs + hand
    joint_force = rows.T @ (efforts + gain * (target - rows @ q) - damping_gain * (rows @ v))
    J = ca.reshape(grip[: 3 * n], n, 3).T
    force = grip[3 * n : 3 * n + 3] - grip[3 * n + 3] * (J @ q) - grip[3 * n + 4] * (J @ v)
    external_force = wrench_force(f.model, q, w) + J.T @ force
    damping_force = dissipative_force(f.model, q, v) + damping * (ca.SX(constant(arm.critical)) @ v)
    applied = joint_force + external_force - stiffness * elastic_force(f.model, q) - damping_force
    a, effort = f.forward_expression(q, v, prescribed_a, applied)
    power = ca.vertcat(
        *(ca.dot(v, part) for part in (joint_force, external_force, effort, damping_force))
    )
    return a, power, ca.densify(dx)


def _observation(
    arm: LiveArm, f: Formulation, stiffness: Expr, damping: Expr, q: Expr, v: Expr
) -> tuple[Expr, Expr, Expr]:
    """Return expressions of energies, tip position and drawn state.

    The drawn state is the vector that `flexarm.viewer.scene.states` returns for one sample.
    """
    zero_rates = ca.SX(f.model.size, 1)
    kinetic = ca.dot(v, f.inertial_expression(q, zero_rates, v, gravity=False)) / 2
    elastic, gravitational = potential_energy(f.model, q)
    energy = ca.vertcat(kinetic, stiffness * elastic, gravitational)
    drawn = []
    if f.model.base_moves:
        rotation, position = base_frame(f.model, q)
        drawn += [position, ca.vec(ca.densify(rotation).T)]
    for part in arm.model.links:
        drawn.append(_joint(f.model, part, q))
        drawn.append(body_of(f.model, part).traced_amplitudes(q))
    return energy, end_frame(f.model, q)[1], ca.densify(ca.vertcat(*drawn))


def _joint(model: Model, part: LinkModel, q: Expr) -> Expr:
    if not part.motion.has_reference:
        return ca.vertcat(*[q[k] for k in part.coordinates], ca.SX(0, 1))
    first = 3 * model.attitudes.index(part.coordinates[0])
    assert model.reference_attitude is not None
    reference_attitude, angles = (
        model.reference_attitude[first : first + 3, :],
        [q[k] for k in part.coordinates],
    )
    return ca.vec((reference_attitude @ base_rotation(ca.vertcat(*angles))).T)
