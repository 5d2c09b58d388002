"""Two small arms with their equations of motion written out, integrated by SciPy alone."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import flexarm
from flexarm.spatial import Array

SINE = {"kind": "sine", "amplitude": 3.0, "frequency": 6.0}  # [N m], [Hz]
SQUARE = {"kind": "bang-bang", "amplitude": 2.0, "times": [0.0137, 0.2611, 0.5273, 0.8419]}
GRAVITY = 9.81  # [m/s^2]


@dataclass(frozen=True)
class OwnArm:
    """An arm of which some numbers are fitted, and its equation of motion at the true ones."""

    data: dict[str, Any]  # the model file
    truth: dict[str, float]  # by key; the model file has others
    rates: Callable[[float, Array], list[float]]  # of the state
    size: int  # of the state
    breaks: tuple[float, ...]  # times [s] at which the input jumps
    noise: float  # standard deviation of the encoder [rad]
    read: int = 0  # which number of the state is measured
    # The recorded input; None of an arm whose model file has its input.
    torque: Callable[[float], float] | None = None
    options: dict[str, Any] = field(default_factory=dict)  # of the fit

    def measured(self, dt: float, t_end: float = 1.0) -> tuple[Array, Array]:
        """Compute times [s] and angles [rad] that a perfect encoder measures."""
        t = dt * np.arange(round(t_end / dt) + 1, dtype=float)
        angle, y = np.zeros(len(t)), np.zeros(self.size)
        cuts = [0.0, *(cut for cut in self.breaks if cut < t_end), t_end]
        for begin, end in pairwise(cuts):
            inside = (t >= begin) & (t <= end)
            times = np.unique(np.append(t[inside], end))
            states = self._between(begin, end, y, times)
            angle[inside], y = states[self.read, : np.count_nonzero(inside)], states[:, -1]
        return t, angle

    def _between(self, begin: float, end: float, y: Array, times: Array) -> Array:
        """Integrate between two jumps of the input: states at some times, (size, T)."""

        def rates(t: float, x: Array) -> list[float]:
            return self.rates(min(max(t, begin + 1e-12), end - 1e-12), x)

        run: Any = solve_ivp(
            rates, (begin, end), y, method="DOP853", rtol=1e-12, atol=1e-14, max_step=2e-3,
            t_eval=times,
        )  # fmt: skip
        return np.asarray(run.y, dtype=float)

    def recording(self, dt: float) -> dict[str, Array]:
        """Compute what perfect sensors record."""
        t, angle = self.measured(dt)
        if self.torque is None:
            return {"time": t, "angle": angle}
        return {"time": t, "angle": angle, "torque": np.array([self.torque(x) for x in t])}

    @property
    def arm(self) -> flexarm.Arm:
        """The arm at its guessed numbers."""
        return flexarm.Arm.model_validate(self.data)


def sine(t: float) -> float:
    """Compute the torque of `SINE` [N m]."""
    return 3.0 * float(np.sin(2 * np.pi * 6.0 * t))


def square(t: float) -> float:
    """Compute the torque of `SQUARE` [N m]: its sign changes at the inner times."""
    a, b, c, d = (0.0137, 0.2611, 0.5273, 0.8419)
    return 2.0 * ((a <= t < b) - 1.0 * (b <= t < c) + 1.0 * (c <= t < d))


def pendulum() -> OwnArm:
    """Return a rigid bar that a sine drives against gravity, friction and a spring."""
    mass, viscous, spring, com, inertia = 1.3, 0.2, 2.0, 0.25, 0.02
    joint = {
        "name": "shoulder", "kind": "revolute", "before": {"rotation": ["90 deg", 0, 0]},
        "friction": {"viscous": 0.22}, "spring": {"stiffness": spring}, "input": SINE,
    }  # fmt: skip
    body = {"mass": 1.25, "com": [com, 0, 0], "inertia": [0, inertia, inertia]}

    def rates(t: float, y: Array) -> list[float]:
        torque = sine(t) - viscous * y[1] - spring * y[0] - mass * GRAVITY * com * np.cos(y[0])
        return [y[1], torque / (inertia + mass * com**2)]

    return OwnArm(
        {"flexarm": 1, "name": "pendulum", "gravity": [0, 0, -GRAVITY],
         "links": [{"joint": joint, "length": 0.5, "body": body}]},
        {"links.1.body.mass": mass, "links.1.joint.friction.viscous": viscous},
        rates, 2, (), 2e-5,
    )  # fmt: skip


def elastic_drive() -> OwnArm:
    """Return a rigid bar on an elastic drive, one mode of 10 Hz, whose motor's torque switches."""
    rotor, link, stiffness, damping, viscous = 0.05, 0.02 + 0.0625, 140.0, 0.3, 0.1
    joint = {
        "name": "shoulder", "kind": "revolute", "input": SQUARE,
        "drive": {"rotor_inertia": rotor, "stiffness": 135.0, "damping": 0.35,
                  "friction": {"viscous": viscous}},
    }  # fmt: skip
    body = {"mass": 1.0, "com": [0.25, 0, 0], "inertia": [0, 0.02, 0.02]}

    def rates(t: float, y: Array) -> list[float]:
        q, motor, speed, spin = y
        through = stiffness * (motor - q) + damping * (spin - speed)
        return [speed, spin, through / link, (square(t) - viscous * spin - through) / rotor]

    return OwnArm(
        {"flexarm": 1, "name": "elastic drive", "gravity": [0, 0, 0],
         "links": [{"joint": joint, "length": 0.5, "body": body}]},
        {"links.1.joint.drive.stiffness": stiffness, "links.1.joint.drive.damping": damping},
        rates, 4, (0.0137, 0.2611, 0.5273, 0.8419), 1e-4,
    )  # fmt: skip


def held_drive() -> OwnArm:
    """Return the elastic drive behind a converter that holds each torque for 2 ms, 1.3 ms late."""
    arm, hold, delay = elastic_drive(), 2e-3, 1.3e-3
    levels = np.repeat(np.random.default_rng(4).choice([-2.0, 0.5, 2.0], 26), 20)
    rotor, link, stiffness, damping, viscous = 0.05, 0.02 + 0.0625, 140.0, 0.3, 0.1

    def torque(t: float) -> float:
        return float(levels[int(t / hold + 1e-6)])

    def rates(t: float, y: Array) -> list[float]:
        q, motor, speed, spin = y
        through = stiffness * (motor - q) + damping * (spin - speed)
        driving = torque(max(t - delay, 0.0)) - viscous * spin
        return [speed, spin, through / link, (driving - through) / rotor]

    jumps = np.flatnonzero(np.diff(levels)) + 1
    data = arm.data | {"links": [dict(arm.data["links"][0])]}
    data["links"][0]["joint"] = {
        k: v for k, v in arm.data["links"][0]["joint"].items() if k != "input"
    }
    return replace(
        arm, data=data, truth=arm.truth | {"shoulder: input delay": delay}, rates=rates,
        breaks=tuple((hold * jumps + delay).tolist()), torque=torque,
        options={"inputs": {"shoulder": "torque"}, "interpolation": {"shoulder": "hold"},
                 "input_delays": ["shoulder"]},
    )  # fmt: skip


ARMS = {"pendulum": pendulum, "elastic drive": elastic_drive, "held drive": held_drive}
