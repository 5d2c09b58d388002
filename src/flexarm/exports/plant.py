"""What other programs run: an arm as ``x' = f(t, x, u)``, ``y = g(t, x)``, all names and numbers.

The state x is the coordinates that are not prescribed, their rates, and the states of servos and
drives.  Inputs u come on top of those of the model file.  Functions of time are in pieces:
``since`` says which is in force, the last of their jumps that the motion has passed, so that a step
that ends at a jump ends before it.
"""

import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import casadi as ca
import numpy as np

from flexarm.arm import Arm
from flexarm.engine.operators import direct_operators
from flexarm.errors import FlexarmError, ModelError
from flexarm.integrate.mission.course import Course
from flexarm.integrate.problem import Channel, digit_watches, jumps, watches
from flexarm.integrate.simulate import leg_task
from flexarm.integrate.task import Task, equation_of
from flexarm.io.model_file import validated
from flexarm.linear.state_space import StateSpace, linearise, start_point
from flexarm.links.base import Array
from flexarm.model import Model, build
from flexarm.model.profiles import trace as trace_profile
from flexarm.spatial import Expr

OUTPUTS = (
    ("energy.kinetic", "J"), ("energy.elastic", "J"), ("energy.gravitational", "J"),
    *((f"tip.R{i}{j}", "1") for i in "123" for j in "123"),
    ("tip.x", "m"), ("tip.y", "m"), ("tip.z", "m"),
)  # fmt: skip
# Words of C and CasADi, and files beside the arm's.
TAKEN = frozenset({
    "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else",
    "enum", "extern", "float", "for", "goto", "if", "inline", "int", "long", "register",
    "restrict", "return", "short", "signed", "sizeof", "static", "struct", "switch", "typedef",
    "union", "unsigned", "void", "volatile", "while", "null", "jac", "hess", "equations",
    "example", "unit", "fmi2", "fmi3",
})  # fmt: skip
SHORT = 1e-3  # duration of a motion that only begins [s]
SMALL = 1e-3  # of a link's length: a usual deflection


def plant(arm: Arm) -> "Plant":
    """Make an arm ready for other programs.

    Raises
    ------
    FlexarmError
        If its motion is more than one differential equation: what events, brakes, dry friction,
        sampled servos and attitudes without a range need is flexarm's own loop.  Or none, since all
        of it is prescribed.
    """
    model = build(validated(arm))
    course = Course(model, {}, SHORT, equation_of)
    _refuse(model, course)
    state = course.first(None if arm.start == "stated" else "equilibrium", {}, law=False)
    times = np.array([0.0, SHORT])
    made = Plant(leg_task(course, state, times, inputs=None, control=None, wanted=1e-3))
    if not made.states:
        raise _refused(model, "only prescribed joints, which leave no state")
    return made


def _refuse(model: Model, course: Course) -> None:
    sampled = [
        axis.name for axis in model.axes
        if axis.acts.servo is not None and axis.acts.servo.period is not None
    ]  # fmt: skip
    reason = ""
    if model.attitudes:
        reason = "a free base or a spherical joint, whose angles are measured anew as it turns"
    elif model.arm.events or model.arm.bodies:
        reason = "events or bodies that drift"
    elif sampled:
        reason = f"a sampled servo ({sampled[0]})"
    elif not course.plain:
        reason = "a brake or dry friction, which sticks"
    if reason:
        raise _refused(model, reason)


def _refused(model: Model, reason: str) -> ModelError:
    return ModelError(
        f"export: {model.arm.name} has {reason}: another program gets one smooth differential "
        "equation; change that (--set), or run it by 'flexarm simulate'"
    )


@dataclass(frozen=True)
class Plant:
    """An arm as a differential equation.

    Attributes
    ----------
    task
        Its motion, which begins where the model file says.
    """

    task: Task

    @property
    def model(self) -> Model:
        """The arm's model."""
        return self.task.equation.model

    @property
    def name(self) -> str:
        """The arm's name as a word of C."""
        word = re.sub(r"[^A-Za-z0-9]+", "_", self.model.arm.name).lower()[:40].strip("_")
        word = word if word[:1].isalpha() else f"arm_{word}".strip("_")
        return f"{word}_arm" if word in TAKEN else word

    @cached_property
    def open(self) -> tuple[int, ...]:
        """Indices of the coordinates that are not prescribed."""
        return tuple(i for i in range(self.model.size) if i not in self.model.prescribed)

    @property
    def states(self) -> tuple[tuple[str, str], ...]:
        """Names and units of the states."""
        names, units = self.model.names, self.model.units
        drives = self.task.motion.actuators.state_names
        return (
            *((names[i], units[i]) for i in self.open),
            *((f"{names[i]}.rate", f"{units[i]}/s") for i in self.open),
            *((f"{name}.state", "1") for name in drives),
        )

    @property
    def inputs(self) -> tuple[tuple[str, str], ...]:
        """Names and units of the inputs."""
        driven = [axis for axis in self.model.axes if axis.driven]
        return tuple((f"{axis.name}.effort", axis.input_unit) for axis in driven)

    @property
    def start(self) -> Array:
        """The state at time 0."""
        task, open_ = self.task, list(self.open)
        return np.concatenate([task.q[open_], task.v[open_], self._drive_states])

    @property
    def _drive_states(self) -> Array:
        states = self.task.states
        return states if len(states) else np.zeros(self.task.motion.actuators.states)

    @cached_property
    def usual(self) -> Array:
        """Usual sizes of the states, below which errors are not relative."""
        sizes = np.ones(self.model.size)
        for part in self.model.links:
            sizes[part.modes.start : part.modes.stop] = SMALL * max(part.length, SMALL)
        swift = max(self.task.vibration.fastest, 1.0)
        floors = self.task.motion.actuators.floors
        return np.concatenate([sizes[list(self.open)], sizes[list(self.open)] * swift, floors])

    @property
    def largest_step(self) -> float:
        """The longest step of dop853 that is stable at any damping [s]."""
        return 6.0 / max(self.task.vibration.largest, 1e-12)

    @property
    def jumps(self) -> Array:
        """Times at which functions of time jump [s]."""
        found = jumps([channel for group in self.task.groups for channel in group])
        return np.asarray(found[found > 0], dtype=float)

    @cached_property
    def bounds(self) -> list[tuple[Array, float, str]]:
        """Bounds of what ends a run: row . x + number > 0 within, and what it is."""
        model, n = self.model, self.model.size
        columns = [*self.open, *(n + i for i in self.open)]
        found = []
        watched = watches(model, self.task.q, 1e-3)[len(digit_watches(model, 1e-3)) :]
        for watch in watched:
            row = np.concatenate([watch.row[columns], np.zeros(len(self._drive_states))])
            for sign, limit in ((1.0, -watch.low), (-1.0, watch.high)):
                if watch.what and np.isfinite(limit):
                    found.append((sign * row, float(limit), watch.what))
        return found

    def linear(self) -> StateSpace:
        """Linearise the arm about its equilibrium, or its start where it has none."""
        try:
            return linearise(self.model)
        except FlexarmError:
            return linearise(self.model, about=start_point(self.model))

    @direct_operators()
    def rates(self) -> ca.Function:
        """Trace ``(t, since, x, u) -> rate``."""
        t, since, x, u, q, v = self._symbols()
        groups = self.task.groups
        motion = replace(
            self.task.motion, actuators=replace(self.task.motion.actuators, lookouts=())
        ).trace()
        values = [self._channels(group, t, since) for group in groups]
        given = {
            "t": t, "q": q, "v": v, "u": values[0][:, 0] + u, "w": values[1][:, 0],
            "given": values[2][:, 2], "r": ca.vertcat(values[3][:, 0], values[3][:, 1]),
            "x": x[2 * len(self.open) :], "b": ca.SX(0, 1), "h": ca.SX(0, 1),
        }  # fmt: skip
        results = motion.call([given[name] for name in motion.name_in()], True, False)
        found = dict(zip(motion.name_out(), results, strict=True))
        a = found["a"]
        rate = ca.vertcat(
            *(v[i] for i in self.open), *(a[i] for i in self.open), found.get("dx", ca.SX(0, 1))
        )
        return ca.Function(
            f"{self.name}_rates", [t, since, x, u], [ca.densify(rate)],
            ["t", "since", "x", "u"], ["rate"],
        )  # fmt: skip

    @direct_operators()
    def outputs(self) -> ca.Function:
        """Trace ``(t, since, x) -> y``, of `OUTPUTS`."""
        t, since, x, _, q, v = self._symbols()
        seen = self.task.equation.function("observation").call([q, v], True, False)[0]
        return ca.Function(
            f"{self.name}_outputs", [t, since, x], [ca.densify(seen)], ["t", "since", "x"], ["y"]
        )

    def tangent(self) -> ca.Function:
        """Trace how rate and y change along changes ``dx`` and ``du``."""
        rates, outputs = self.rates(), self.outputs()
        t, since, x, u = rates.sx_in()
        dx, du = ca.SX.sym("dx", x.numel()), ca.SX.sym("du", u.numel())
        both, along = ca.vertcat(x, u), ca.vertcat(dx, du)
        f = rates.call([t, since, x, u], True, False)[0]
        y = outputs.call([t, since, x], True, False)[0]
        changes = [ca.densify(ca.jtimes(each, both, along)) for each in (f, y)]
        return ca.Function(
            f"{self.name}_tangent", [t, since, x, u, dx, du], changes,
            ["t", "since", "x", "u", "dx", "du"], ["rate", "y"],
        )  # fmt: skip

    def casadi(self) -> ca.Function:
        """Trace ``(t, x, u) -> (rate, y)``."""
        rates, outputs = self.rates(), self.outputs()
        t, _, x, u = rates.sx_in()
        return ca.Function(
            self.name, [t, x, u],
            [rates.call([t, t, x, u], True, False)[0], outputs.call([t, t, x], True, False)[0]],
            ["t", "x", "u"], ["rate", "y"],
        )  # fmt: skip

    def casadi_file(self) -> bytes:
        """Give `casadi` as the contents of a file that ``casadi.Function.load`` reads."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "function")
            self.casadi().save(str(path))
            return path.read_bytes()

    def _symbols(self) -> tuple[Expr, ...]:
        """Make symbols t, since, x, u; q and v of them, prescribed ones as functions of time."""
        m, size = len(self.open), len(self.start)
        t, since = ca.SX.sym("t"), ca.SX.sym("since")
        x, u = ca.SX.sym("x", size), ca.SX.sym("u", len(self.inputs))
        q, v = ca.SX.zeros(self.model.size, 1), ca.SX.zeros(self.model.size, 1)
        for k, i in enumerate(self.open):
            q[i], v[i] = x[k], x[m + k]
        told = self._channels(self.task.groups[2], t, since)
        for k, i in enumerate(self.model.prescribed):
            q[i], v[i] = told[k, 0], told[k, 1]
        return t, since, x, u, q, v

    def _channels(self, group: Sequence[Channel], t: Expr, since: Expr) -> Expr:
        """Trace value, rate and acceleration of functions of time, (channels, 3)."""
        rows = [
            trace_profile(each.profile, t - each.begin, since=since - each.begin).T
            for each in group
        ]
        return ca.vertcat(*rows) if rows else ca.SX(0, 3)
