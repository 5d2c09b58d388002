"""Export of an arm as ``x' = f(t, x, u)``, ``y = g(t, x)`` with names and units.

The state x contains the coordinates that are not prescribed, their rates, and the states of servos
and drives. The inputs u are added to the inputs of the model file. Functions of time are defined
piece by piece. The argument ``since``, the time of the last jump that the integrator has passed,
selects the piece, so that an integration step that ends at a jump uses the piece before it. All
other discontinuous quantities are in the vector d: reference attitudes, efforts of brakes and dry
friction, and outputs of sampled servos (see `flexarm.exports.switches`).
"""

import math
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import casadi as ca
import numpy as np

from flexarm.arm import Arm
from flexarm.arm.mission import Event, When
from flexarm.engine.operators import direct_operators
from flexarm.errors import FlexarmError, ModelError
from flexarm.exports.constants import IDENTIFIER_LENGTH, TYPICAL_DEFLECTION
from flexarm.exports.switches import Switches, unsupported_part
from flexarm.integrate.constants import INSTANT_RUN
from flexarm.integrate.mission.event_functions import EventArguments
from flexarm.integrate.mission.hybrid import HybridSimulation, phase_problem
from flexarm.integrate.problem import Channel, StateLimit, digit_limits, jumps, state_limits_of
from flexarm.integrate.task import InitialValueProblem, equation_of
from flexarm.io.model_file import validated
from flexarm.linear.state_space import StateSpace, linearise, start_point
from flexarm.model import Model, build
from flexarm.model.profiles import last_time
from flexarm.model.profiles import trace as trace_profile
from flexarm.spatial import Array, Expr, base_rotation, rebased

# Keywords of C up to C23, of C++ (which includes the header) and of GNU C.
KEYWORDS = """
    auto break case char const continue default do double else enum extern float for goto if inline
    int long register restrict return short signed sizeof static struct switch typedef union
    unsigned void volatile while
    alignas alignof bool constexpr false nullptr static_assert thread_local true typeof
    typeof_unqual
    and and_eq bitand bitor catch char8_t char16_t char32_t class co_await co_return co_yield compl
    concept const_cast consteval constinit decltype delete dynamic_cast explicit export friend
    mutable namespace new noexcept not not_eq operator or or_eq private protected public
    reinterpret_cast requires static_cast template this throw try typeid typename using virtual
    wchar_t xor xor_eq
    asm
"""
# Words that compilers or system headers define as macros.
MACROS = """
    cdecl complex far hpux i386 imaginary interface linux m68k math_errhandling mips near noreturn
    pascal sparc stderr stdin stdout sun unix vax
"""
# Names of C headers, which a file of the same name would hide, and of Windows devices.
FILES = """
    assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign
    stdarg stdatomic stdbit stdbool stdckdint stddef stdint stdio stdlib stdnoreturn string
    tgmath threads time uchar wchar wctype
    aux con nul prn com0 com1 com2 com3 com4 com5 com6 com7 com8 com9 lpt0 lpt1 lpt2 lpt3 lpt4 lpt5
    lpt6 lpt7 lpt8 lpt9
"""
OWN = "equations example unit fmi2 fmi3 kernel"  # names of other files, and prefix of kernels
CASADI = "null jac hess"  # names that no function of CasADi may have
TAKEN = frozenset(" ".join((KEYWORDS, MACROS, FILES, OWN, CASADI)).split())


def identifier(name: str) -> str:
    """Return an arm's name as a C identifier that is no keyword, macro, header or device name."""
    word = re.sub(r"[^A-Za-z0-9]+", "_", name).lower()[:IDENTIFIER_LENGTH].strip("_")
    word = word if word[:1].isalpha() else f"arm_{word}".strip("_")
    return f"{word}_arm" if word in TAKEN else word


OUTPUTS = (
    ("energy.kinetic", "J"), ("energy.elastic", "J"), ("energy.gravitational", "J"),
    *((f"tip.R{i}{j}", "1") for i in "123" for j in "123"),
    ("tip.x", "m"), ("tip.y", "m"), ("tip.z", "m"),
)  # fmt: skip


def plant(arm: Arm) -> "Plant":
    """Return an arm as a differential equation for other programs.

    Raises
    ------
    FlexarmError
        If only flexarm can simulate the arm, for example because of drifting bodies or of events
        that change more than brakes, or if all coordinates are prescribed, so that there is no
        state.
    """
    model = build(validated(arm))
    hybrid = HybridSimulation(model, {}, INSTANT_RUN, equation_of)
    unsupported = unsupported_part(model, hybrid)
    if unsupported:
        raise _refused(model, unsupported, "only flexarm's own integration can handle")
    state = hybrid.first(arm.start)
    initial = hybrid.discrete
    hybrid.discrete = replace(initial, closed={})  # with all joints unlocked
    times = np.array([0.0, INSTANT_RUN])
    task = phase_problem(hybrid, state, times)
    hybrid.discrete = initial
    switches = Switches.of(hybrid, task, _ends(model, task))
    actuators = replace(task.motion.actuators, event_functions=(), slipping=switches.slipping)
    exported = Plant(replace(task, motion=replace(task.motion, actuators=actuators)), switches)
    if not exported.states:
        raise _refused(model, "only prescribed joints", "leaves no state")
    return exported


def _ends(model: Model, task: InitialValueProblem) -> list[Event]:
    """Return events that end a simulation at a fixed time: ends of tables, prescribed bounds."""
    first_table_end = min((c.begin + last_time(c.profile) for group in task.groups for c in group),
               default=math.inf)  # fmt: skip
    events = (
        [Event(name="a table ends", at=first_table_end, end=True)]
        if math.isfinite(first_table_end)
        else []
    )
    for limit in _run_bounds(model, task.start.q):
        for i in (i for i in model.prescribed if limit.row[i]):
            for key, bound in (("below", limit.low), ("above", limit.high)):
                if math.isfinite(bound):
                    when = When.model_validate({"quantity": model.names[i], key: bound})
                    events.append(Event(name=limit.what, when=when, end=True))
    return events


def _run_bounds(model: Model, q: Array) -> list[StateLimit]:
    """Return the bounds of joints and of the model's validity at which a simulation ends."""
    bounds = state_limits_of(model, q, 1e-3)[len(digit_limits(model, 1e-3)) :]
    return [limit for limit in bounds if limit.what]


def _refused(model: Model, part: str, reason: str) -> ModelError:
    return ModelError(
        f"export: {model.arm.name} has {part}, which {reason}. Change that (--set), or "
        "run it by 'flexarm simulate'."
    )


@dataclass(frozen=True)
class Plant:
    """An arm as a differential equation x' = f(t, x, u), with names, units and tables."""

    task: InitialValueProblem  # motion from the initial state of the model file
    switches: Switches  # discrete states and guards

    @property
    def model(self) -> Model:
        """Return the model of the arm."""
        return self.task.equation.model

    @property
    def name(self) -> str:
        """Return the arm's name as a C identifier."""
        return identifier(self.model.arm.name)

    @cached_property
    def open(self) -> tuple[int, ...]:
        """Indices of the coordinates that are integrated because they are not prescribed."""
        return tuple(i for i in range(self.model.size) if i not in self.model.prescribed)

    @property
    def states(self) -> tuple[tuple[str, str], ...]:
        """Names and units of the elements of the state x."""
        names, units = self.model.names, self.model.units
        axes = {axis.name: axis for axis in self.model.axes}
        actuators = self.task.motion.actuators
        drives = [
            *((element.name, axes[element.name].input_unit)
              for element in actuators.servos if element.state is not None),
            *(
                (element.name, axes[element.loss_channel.rpartition(":")[0]].unit)
              for element in actuators.bristles
            ),
            *((element.name, "A") for element in actuators.windings if element.has_state),
        ]  # fmt: skip
        return (
            *((names[i], units[i]) for i in self.open),
            *((f"{names[i]}.rate", f"{units[i]}/s") for i in self.open),
            *((f"{name}.state", unit) for name, unit in drives),
        )

    @property
    def inputs(self) -> tuple[tuple[str, str], ...]:
        """Names and units of the inputs u."""
        axes = [axis for axis in self.model.axes if axis.driven]
        return tuple((f"{axis.name}.effort", axis.input_unit) for axis in axes)

    @property
    def output_names(self) -> tuple[tuple[str, str], ...]:
        """Names and units of the outputs y: `OUTPUTS`, then elements of reference attitudes."""
        names = [self.model.names[k].rpartition(".")[0] for k in self.model.attitudes]
        attitude_names = ((f"{name}.R{i}{j}", "1") for name in names for i in "123" for j in "123")
        return (*OUTPUTS, *attitude_names)

    @property
    def start(self) -> Array:
        """Initial state x at time 0."""
        task, free = self.task, list(self.open)
        return np.concatenate([task.start.q[free], task.start.v[free], self._drive_states])

    @property
    def _drive_states(self) -> Array:
        x, names = self.task.start.x, self.task.motion.actuators.state_names
        return np.array([x.get(name, 0.0) for name in names])

    @cached_property
    def usual(self) -> Array:
        """Typical magnitude of each state, from which solvers derive absolute tolerances."""
        sizes = np.ones(self.model.size)
        for part in self.model.links:
            sizes[part.modes.start : part.modes.stop] = TYPICAL_DEFLECTION * max(
                part.length, TYPICAL_DEFLECTION
            )
        frequency = max(self.task.vibration.fastest, 1.0)
        floors = self.task.motion.actuators.floors
        return np.concatenate([sizes[list(self.open)], sizes[list(self.open)] * frequency, floors])

    @property
    def jumps(self) -> Array:
        """Times [s] at which a function of time jumps or an event becomes active."""
        jump_times = jumps(self.task.groups)
        times = np.unique([*jump_times, *self.switches.times])
        return np.asarray(times[times > 0], dtype=float)

    @property
    def tables(self) -> dict[str, Array]:
        """Return the initial values and parameters of the discrete states, by name."""
        m, equation = len(self.open), self.task.equation
        mass = np.diag(equation.mass_matrix(self.task.start.q))
        rate_index = {i: m + k for k, i in enumerate(self.open)}
        return self.switches.tables(equation.reference_attitude, mass, rate_index)

    @property
    def indicators(self) -> list[str]:
        """Names of the event indicators: first those of bounds, then those of switches."""
        return [
            *(f"bound: {description}" for _, _, description in self.bounds),
            *self.switches.names,
        ]

    @cached_property
    def bounds(self) -> list[tuple[Array, float, str]]:
        """Bounds that end a simulation: row, number and text; row . x + number > 0 inside."""
        model, n = self.model, self.model.size
        columns = [*self.open, *(n + i for i in self.open)]
        bounds = []
        for limit in _run_bounds(model, self.task.start.q):
            if limit.row[list(model.prescribed)].any():
                continue  # depends on time only: `_ends` returns it
            row = np.concatenate([limit.row[columns], np.zeros(len(self._drive_states))])
            for sign, bound in ((1.0, -limit.low), (-1.0, limit.high)):
                if np.isfinite(bound):
                    bounds.append((sign * row, float(bound), limit.what))
        return bounds

    def linear(self) -> StateSpace:
        """Return the arm linearised at its equilibrium, or at the start if there is none."""
        try:
            return linearise(self.model)
        except FlexarmError:
            return linearise(self.model, about=start_point(self.model))

    @direct_operators()
    def rates(self) -> ca.Function:
        """Return the CasADi function ``(t, since, x, u, d) -> (rate, event_values, event_rates)``.

        The output ``rate`` is the time derivative of x. The outputs ``event_values`` and
        ``event_rates`` contain values and time derivatives of the event functions.
        """
        t, since, x, u, d, q, v = self._symbols()
        groups, m, actuators = self.task.groups, len(self.open), self.task.motion.actuators
        motion = self.task.motion.trace(self.task.equation.formulation)
        held = d.numel() - len(self.switches.sampled)
        values = [self._channels(group, t, since) for group in groups]
        arguments = {
            "t": t, "q": q, "v": v, "u": values[0][:, 0] + u, "w": values[1][:, 0],
            "prescribed_a": values[2][:, 2], "r": ca.vertcat(values[3][:, 0], values[3][:, 1]),
            "x": x[2 * m :], "b": d[9 * len(self.model.attitudes) : held], "h": d[held:],
            "reference_attitude": self._references(d),
        }  # fmt: skip
        results = motion.call([arguments[name] for name in motion.name_in()], True, False)
        outputs = dict(zip(motion.name_out(), results, strict=True))
        a = outputs["a"]
        rate = ca.vertcat(
            *(v[i] for i in self.open), *(a[i] for i in self.open), outputs.get("dx", ca.SX(0, 1))
        )
        model = (
            self.model.with_reference(self._references(d)) if self.model.attitudes else self.model
        )
        states = {name: x[2 * m + k] for k, name in enumerate(actuators.state_names)}
        values = self.switches.event_values(EventArguments(model, t, q, v, states, ca.SX(0, 1)))
        event_values = ca.vertcat(ca.SX(0, 1), *values)
        event_rates = ca.jtimes(event_values, ca.vertcat(t, x), ca.vertcat(1, rate))
        return ca.Function(
            f"{self.name}_rates", [t, since, x, u, d],
            [ca.densify(output) for output in (rate, event_values, event_rates)],
            ["t", "since", "x", "u", "d"], ["rate", "event_values", "event_rates"],
        )  # fmt: skip

    @direct_operators()
    def outputs(self) -> ca.Function:
        """Return the CasADi function ``(t, since, x, d) -> y`` of the outputs in `output_names`."""
        t, since, x, _, d, q, v = self._symbols()
        reference_attitudes = self._references(d)
        references = [reference_attitudes] if self.model.attitudes else []
        observed = self.task.equation.function("observation").call(
            [q, v, *references], True, False
        )[0]
        attitudes = [
            ca.vec(
                (reference_attitudes[3 * k : 3 * k + 3, :] @ base_rotation(q[first : first + 3])).T
            )
            for k, first in enumerate(self.model.attitudes)
        ]
        return ca.Function(
            f"{self.name}_outputs", [t, since, x, d],
            [ca.densify(ca.vertcat(observed, *attitudes))],
            ["t", "since", "x", "d"], ["y"],
        )  # fmt: skip

    @direct_operators()
    def servos(self) -> ca.Function:
        """Return the CasADi function ``(t, since, u, m) -> (asked, rate)`` of sampled servos.

        The argument ``m`` contains position, speed and integral term of each servo. The output
        ``asked`` contains the inputs that the servos request, and ``rate`` the time derivatives of
        their integral terms.
        """
        t, since, _, u, _, _, _ = self._symbols()
        all_servos, sampled = self.task.motion.actuators.servos, self.switches.sampled
        m = ca.SX.sym("m", 3 * len(sampled))
        other_inputs = self._channels(self.task.groups[0], t, since)[:, 0] + u
        targets = self._channels(self.task.groups[3], t, since)
        requested, rates = [], []
        for k, servo in enumerate(sampled):
            row, other_input = targets[all_servos.index(servo), :], other_inputs[servo.column]
            position, speed, x = ca.vertsplit(m[3 * k : 3 * k + 3])
            total, rate = servo.raw_input(other_input, position, speed, (row[0], row[1]), x)
            requested.append(total - other_input)
            rates.append(rate)
        results = [ca.densify(ca.vertcat(*expressions)) for expressions in (requested, rates)]
        return ca.Function(f"{self.name}_servos", [t, since, u, m], results,
                           ["t", "since", "u", "m"], ["asked", "rate"])  # fmt: skip

    @direct_operators()
    def anew(self) -> ca.Function:
        """Return the CasADi function ``(x, d) -> (x, attitudes)`` that resets attitude angles.

        The current attitudes become the reference attitudes, so that the attitude angles in x
        become 0.
        """
        _, _, x, _, d, _, _ = self._symbols()
        reference_attitudes, new_state, m = self._references(d), ca.SX(x), len(self.open)
        for k, first in enumerate(self.model.attitudes):
            index = self.open.index(first)
            angles, rates = x[index : index + 3], x[m + index : m + index + 3]
            rows = slice(3 * k, 3 * k + 3)
            reference_attitudes[rows, :], spin = rebased(
                reference_attitudes[rows, :], angles, rates
            )
            new_state[index : index + 3], new_state[m + index : m + index + 3] = 0, spin
        return ca.Function(
            f"{self.name}_anew", [x, d],
            [ca.densify(new_state), ca.densify(ca.vec(reference_attitudes.T))],
            ["x", "d"], ["after", "reference_attitudes"],
        )  # fmt: skip

    def tangent(self) -> ca.Function:
        """Return the CasADi function of the derivative of (rate, y) along a direction (dx, du)."""
        rates, outputs = self.rates(), self.outputs()
        t, since, x, u, d = rates.sx_in()
        dx, du = ca.SX.sym("dx", x.numel()), ca.SX.sym("du", u.numel())
        variables, direction = ca.vertcat(x, u), ca.vertcat(dx, du)
        f = rates.call([t, since, x, u, d], True, False)[0]
        y = outputs.call([t, since, x, d], True, False)[0]
        changes = [ca.densify(ca.jtimes(function, variables, direction)) for function in (f, y)]
        return ca.Function(
            f"{self.name}_tangent", [t, since, x, u, d, dx, du], changes,
            ["t", "since", "x", "u", "d", "dx", "du"], ["rate", "y"],
        )  # fmt: skip

    def dependencies(self) -> tuple[Array, Array]:
        """Return two matrices of 0 and 1: whether state derivatives and outputs depend on t, x, u.

        The rows of the first matrix are the state derivatives, those of the second the outputs; the
        columns are t, x and u. With brakes or dry friction, all accelerations count as dependent on
        all arguments, since the force that locks a joint is.
        """

        def table(function: ca.Function, *inputs_: int) -> Array:
            return np.hstack([ca.DM(function.jac_sparsity(0, k), 1.0).full() for k in inputs_])

        rates, outputs = table(self.rates(), 0, 2, 3), table(self.outputs(), 0, 2)
        if self.switches.holders:
            rates[len(self.open) : 2 * len(self.open)] = 1.0
        return rates, np.hstack([outputs, np.zeros((len(outputs), len(self.inputs)))])

    def casadi(self) -> ca.Function:
        """Return the CasADi function ``(t, x, u) -> (rate, y)``.

        Raises
        ------
        FlexarmError
            If the arm has brakes, dry friction or other elements that are discontinuous in the
            state.
        """
        if self.switches.numbers or self.model.arm.events:
            part = (
                "a free base, a spherical joint, events, a brake, dry friction or a sampled servo"
            )
            raise _refused(self.model, part, "one smooth CasADi function cannot express")
        rates, outputs = self.rates(), self.outputs()
        t, _, x, u, d = rates.sx_in()
        return ca.Function(
            self.name, [t, x, u],
            [rates.call([t, t, x, u, d], True, False)[0],
             outputs.call([t, t, x, d], True, False)[0]],
            ["t", "x", "u"], ["rate", "y"],
        )  # fmt: skip

    def casadi_file(self) -> bytes:
        """Return the contents of a file with `casadi`, readable by ``casadi.Function.load``."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "function")
            self.casadi().save(str(path))
            return path.read_bytes()

    def _symbols(self) -> tuple[Expr, ...]:
        """Return symbols t, since, x, u and d, and coordinates q and rates v as expressions.

        Prescribed elements of q and v are expressions of t and since.
        """
        m, size = len(self.open), len(self.start)
        t, since = ca.SX.sym("t"), ca.SX.sym("since")
        x, u = ca.SX.sym("x", size), ca.SX.sym("u", len(self.inputs))
        d = ca.SX.sym("d", self.switches.numbers)
        q, v = ca.SX.zeros(self.model.size, 1), ca.SX.zeros(self.model.size, 1)
        for k, i in enumerate(self.open):
            q[i], v[i] = x[k], x[m + k]
        prescribed = self._channels(self.task.groups[2], t, since)
        for k, i in enumerate(self.model.prescribed):
            q[i], v[i] = prescribed[k, 0], prescribed[k, 1]
        return t, since, x, u, d, q, v

    def _references(self, d: Expr) -> Expr:
        """Return the N reference attitudes as stacked rotation matrices, (3 N, 3)."""
        count = 3 * len(self.model.attitudes)
        return ca.reshape(d[: 3 * count], 3, count).T

    def _channels(self, group: Sequence[Channel], t: Expr, since: Expr) -> Expr:
        """Return value, rate and acceleration of each function of time, (functions, 3)."""
        rows = [
            trace_profile(channel.profile, t - channel.begin, since=since - channel.begin).T
            for channel in group
        ]
        return ca.vertcat(*rows) if rows else ca.SX(0, 3)
