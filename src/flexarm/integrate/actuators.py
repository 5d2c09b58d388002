"""What drives joints beside their inputs: servos, and brakes that slip; and what is looked out for.

All of it becomes part of the compiled equations of a motion.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from flexarm.arm.profile import Constant
from flexarm.arm.servo import Servo
from flexarm.errors import SimulationError
from flexarm.formulations.base import Formulation
from flexarm.formulations.quantities import trace
from flexarm.integrate.mission.lookouts import Lookout, Seen
from flexarm.links.base import Array
from flexarm.mechanics.loads import gear_gain, hub_row, input_matrix
from flexarm.model import Axis, Model
from flexarm.model.profiles import AnyProfile
from flexarm.spatial import Expr, constant

STATE_FLOOR = 1e-2  # [rad], [m]: an integral that moves a joint by less needs no digits


@dataclass(frozen=True)
class Servoed:
    """A servo at work.

    Attributes
    ----------
    name
        Of the joint's coordinate.
    column
        Of its input in u.
    row
        What gives the position that it sees from q, (n,).
    servo
        As the model file has it.
    gain
        Effort at the joint per input.
    limit
        Largest input either way; infinite if there is none.
    state
        Place of its integral among the states, or None.
    """

    name: str
    column: int
    row: Array
    servo: Servo[float, float, float, float, float, AnyProfile, AnyProfile]
    gain: float
    limit: float
    state: int | None

    @property
    def key(self) -> str:
        """What determines its expressions, as a text."""
        gains = self.servo.model_dump_json(exclude={"target", "rate"})
        follows = "position" if self.servo.rate is None else "rate"
        limits = f"{self.gain} {self.limit}"
        return f"{self.column} {self.row.tolist()} {gains} {follows} {limits} {self.state}"

    def profile(self, q: Array) -> AnyProfile:
        """Give the target as a function of time; without one it stays where it is."""
        servo = self.servo
        if servo.rate is not None:
            return servo.rate
        return servo.target or Constant[float](kind="constant", value=float(self.row @ q))

    def answer(
        self, u: Expr, q: Expr, v: Expr, target: tuple[Expr, Expr], x: Expr
    ) -> tuple[Expr, Expr]:
        """Trace the input, u included, and rate of the integral x."""
        servo, (wanted, moving) = self.servo, target
        row = constant(self.row)
        stiffness, damping = servo.stiffness or 0.0, servo.damping or 0.0
        if servo.rate is not None:
            share = damping * (wanted - ca.dot(row, v))
        elif damping:
            rate = moving + stiffness / damping * (wanted - ca.dot(row, q))
            share = damping * (_within(rate, servo.speed or math.inf) - ca.dot(row, v))
        else:
            share = stiffness * (wanted - ca.dot(row, q))
        share = share / self.gain
        total = u + share + x
        kept = _within(total, self.limit)
        over = math.inf if servo.integral_time is None else servo.integral_time
        return kept, (share + kept - total) / over


def _within(value: Expr, limit: float) -> Expr:
    return value if math.isinf(limit) else ca.fmin(ca.fmax(value, -limit), limit)


def servos(model: Model) -> tuple[Servoed, ...]:
    """List the servos of an arm in the order of its inputs."""
    found: list[Servoed] = []
    states = 0
    for column, axis in enumerate(axis for axis in model.axes if axis.driven):
        servo, limits = axis.acts.servo, axis.acts.limits
        if servo is None:
            continue
        row = hub_row(model, axis)
        if servo.side == "motor" and axis.motor is not None:
            row = np.eye(model.size)[axis.motor]
        top = None if limits is None or limits.effort is None else limits.effort
        most = math.inf if top is None else top / abs(gear_gain(axis))
        limit = servo.effort or most
        state = None if servo.integral_time is None else states
        states += state is not None
        found.append(Servoed(axis.name, column, row, servo, gear_gain(axis), float(limit), state))
    return tuple(found)


@dataclass(frozen=True)
class Slipping:
    """A brake that can slip: column of its joint's input, and the effort at the joint of one."""

    column: int
    gain: float


def braked_coordinate(model: Model, axis: Axis) -> int:
    """Give the coordinate that a brake holds: the motor's, or the joint's.

    Raises
    ------
    SimulationError
        If a brake cannot hold it.
    """
    if axis.motor is not None:
        return axis.motor
    elastic = model.links[axis.link].elastic
    if elastic is not None and np.any(elastic.root_angle):
        raise SimulationError(
            f"{axis.name}: its brake would hold a hub that its link's pinned shapes turn: use "
            "other shapes, or give the drive a stiffness"
        )
    return axis.index


@dataclass(frozen=True)
class Actuators:
    """What becomes part of an arm's equations of motion.

    Attributes
    ----------
    servos, slipping
        What drives joints beside their inputs.
    lookouts
        Quantities that are computed along, for what happens when one crosses a value.
    """

    servos: tuple[Servoed, ...] = ()
    slipping: tuple[Slipping, ...] = ()
    lookouts: tuple[Lookout, ...] = ()

    @property
    def states(self) -> int:
        """How many states servos have."""
        return sum(each.state is not None for each in self.servos)

    @property
    def floors(self) -> Array:
        """Least ranges that errors of the states are measured in."""
        servos = [each for each in self.servos if each.state is not None]
        return np.array([
            STATE_FLOOR * (each.servo.stiffness or each.servo.damping or 1.0) / abs(each.gain)
            for each in servos
        ])  # fmt: skip

    @property
    def key(self) -> str:
        """All of it as a text, which determines the expressions."""
        lines = [each.key for each in self.servos]
        return "; ".join([*lines, *map(repr, self.slipping), *map(repr, self.lookouts)])

    def is_in_basis(self, model: Model) -> bool:
        """Tell whether all servos act where they see, as springs and dampers would."""
        matrix = input_matrix(model)
        return all(
            np.allclose(matrix[:, each.column] / each.gain, each.row) for each in self.servos
        )

    def stiffness(self, model: Model) -> tuple[Array, Array]:
        """Give stiffness and damping that servos add where they act on what they see, (n, n)."""
        K, D = np.zeros((2, model.size, model.size))
        matrix = input_matrix(model)
        for each in self.servos:
            if np.allclose(matrix[:, each.column] / each.gain, each.row):
                sees = np.outer(each.row, each.row)
                K += (each.servo.stiffness or 0.0) * sees
                D += (each.servo.damping or 0.0) * sees
        return K, D

    def symbols(self) -> dict[str, Expr]:
        """Make symbols of targets with their rates, and of servos' states if there are any."""
        found = {"r": ca.SX.sym("r", 2 * len(self.servos))}
        return found | ({"x": ca.SX.sym("x", self.states)} if self.states else {})

    def brakes(self, efforts: Expr, u: Expr) -> Expr:
        """Give the inputs that brakes which slip are like."""
        columns = [ca.SX(0)] * u.shape[0]
        for k, each in enumerate(self.slipping):
            columns[each.column] = efforts[k] / each.gain
        return ca.vertcat(*columns)

    def looks(self, seen: Seen, a: Expr) -> dict[str, Expr]:
        """Trace what is looked out for, and its rate where accelerations give it."""
        values = ca.vertcat(*(each.trace(seen) for each in self.lookouts))
        smooth = ca.DM([each.smooth for each in self.lookouts])
        rate = ca.jtimes(values, ca.vertcat(seen.t, seen.q, seen.v), ca.vertcat(1, seen.v, a))
        return {"seen": ca.densify(values), "seen_rate": ca.densify(smooth * rate)}

    def inputs(self, u: Expr, q: Expr, v: Expr, r: Expr, x: Expr) -> tuple[Expr, Expr]:
        """Trace the inputs with what servos add, and the rates of the servos' states."""
        columns, rates = ca.vertsplit(u), []
        count = len(self.servos)
        for k, each in enumerate(self.servos):
            held = 0.0 if each.state is None else x[each.state]
            seen = columns[each.column]
            columns[each.column], rate = each.answer(seen, q, v, (r[k], r[count + k]), held)
            rates += [] if each.state is None else [rate]
        return ca.vertcat(*columns), ca.vertcat(*rates)


NO_ACTUATORS = Actuators()


def matrices_of(formulation: Formulation, actuators: Actuators) -> ca.Function:
    """Trace mass, elastic and damping matrices, servos included."""
    function = trace(formulation, "matrices")
    if not actuators.servos:
        return function
    symbols = function.sx_in()
    M, K, D = function.call(symbols, True, False)
    more = actuators.stiffness(formulation.model)
    results = [M, K + ca.DM(more[0]), D + ca.DM(more[1])]
    return ca.Function("matrices", symbols, results, function.name_in(), function.name_out())


def motion_of(
    formulation: Formulation, law: ca.Function | None, actuators: Actuators
) -> ca.Function:
    """Trace accelerations and powers of an arm under a law, servos, brakes and lookouts.

    Inputs by name, those in use: t, targets r, servos' states x, efforts b of slipping brakes, q,
    v, u, w, given, anchor.  Outputs: a, power, and in use: u of a law, dx of the states, seen and
    seen_rate.
    """
    function = trace(formulation, "motion")
    if law is None and not actuators.key:
        return function
    inputs = dict(zip(function.name_in(), function.sx_in(), strict=True))
    added: dict[str, Expr] = {"t": ca.SX.sym("t")}
    found: dict[str, Expr] = {}
    u = inputs["u"]
    if law is not None:
        u = found["u"] = ca.densify(law(added["t"], inputs["q"], inputs["v"]))
        del inputs["u"]
    if actuators.servos:
        added |= actuators.symbols()
        u, rates = actuators.inputs(
            u, inputs["q"], inputs["v"], added["r"], added.get("x", ca.SX())
        )
        found |= {"dx": ca.densify(rates)} if actuators.states else {}
    lost = ca.SX(0)
    if actuators.slipping:
        added["b"] = ca.SX.sym("b", len(actuators.slipping))
        pushed = actuators.brakes(added["b"], u)
        lost = -ca.dot(inputs["v"], constant(input_matrix(formulation.model)) @ pushed)
        u = u + pushed
    given = [u if name == "u" else inputs[name] for name in function.name_in()]
    a, power = function.call(given, True, False)[:2]
    found = {"a": a, "power": power + ca.vertcat(lost, 0, 0, lost)} | found
    if actuators.lookouts:
        effort = trace(formulation, "forward_dynamics").call(given, True, False)[1]
        model = formulation.model
        if "anchor" in inputs:
            model = model.anchored(inputs["anchor"])
        found |= actuators.looks(Seen(model, added["t"], inputs["q"], inputs["v"], effort), a)
    inputs = added | inputs
    # A law that contains the arm's own equations shares most of them with the arm.
    results = ca.cse(list(found.values()))
    return ca.Function("motion", list(inputs.values()), results, list(inputs), list(found))


def slips(model: Model, names: Sequence[str]) -> tuple[Slipping, ...]:
    """List brakes that can slip, by the names of their axes."""
    driven = [axis for axis in model.axes if axis.driven]
    found = []
    for column, axis in enumerate(driven):
        if axis.name in names:
            found.append(Slipping(column, gear_gain(axis)))
    return tuple(found)
