"""Servos that are sampled: they measure at ticks, and hold what they ask for in between."""

from dataclasses import dataclass, replace

import numpy as np

from flexarm.integrate.march import March
from flexarm.integrate.methods.base import Beginning
from flexarm.integrate.system import instant, rates
from flexarm.links.base import Array


@dataclass(frozen=True)
class ServoMemory:
    """What a sampled servo knows from one tick to the next."""

    ticks: int = 0  # ticks so far, or passed while its joint was locked
    before: float | None = None  # position that it measured last
    integral: float = 0.0  # of its effort over time, as an input
    # Times [s] and inputs that are still to come after its delay.
    waiting: tuple[tuple[float, float], ...] = ()
    held: float = 0.0  # the input that it holds


def integral_of(joint: str) -> str:
    """Name the integral of a servo among what a run keeps."""
    return f"{joint}.integral"


def held_of(joint: str) -> str:
    """Name what a sampled servo holds, likewise."""
    return f"{joint}.held"


class Digital:
    """Sampled servos at work, and what they held when."""

    def __init__(self, beginning: Beginning) -> None:
        self.beginning, self.end = beginning, float(beginning.times[-1])
        self.servos = [
            (k, each)
            for k, each in enumerate(beginning.motion.actuators.servos)
            if each.servo.period is not None
        ]
        self.memory: dict[str, ServoMemory] = dict(beginning.memory)
        self.held = beginning.buffers["h"]
        self.times: list[float] = []
        self.values: list[Array] = []

    def ask(self, m: March) -> str:
        """Let servos measure whose time has come, and go on to the next time."""
        for place in range(len(self.servos)):
            self._tick(m, place)
        self.times.append(m.t)
        self.values.append(self._row())
        rates(m.system, m.t, m.y, m.f)
        m.h_done = 0.0
        due = [self._due(place) for place in range(len(self.servos))]
        later = min(due, default=self.end)
        m.t_end = later if later < self.end - instant(self.end) else self.end
        return ""

    def at(self, times: Array) -> Array:
        """Give what was held at given times, and after it the integrals, (T, 2 sampled servos)."""
        if not self.times:
            return np.tile(self._row(), (len(times), 1))
        which = np.searchsorted(np.array(self.times), times * (1 + 1e-12), side="right") - 1
        return np.array(self.values)[np.maximum(which, 0)]

    def _row(self) -> Array:
        known = [self.memory.get(each.name, ServoMemory()).integral for _, each in self.servos]
        return np.concatenate([self.held, known])

    def _due(self, place: int) -> float:
        _, each = self.servos[place]
        known = self.memory[each.name]
        tick = known.ticks * (each.servo.period or 0.0)
        return min([tick, *(t for t, _ in known.waiting)])

    def _tick(self, m: March, place: int) -> None:
        k, each = self.servos[place]
        period, delay = each.servo.period or 0.0, each.servo.delay
        now = m.t + instant(m.t)
        known = self.memory.get(each.name, ServoMemory())
        passed = int(np.ceil((m.t - instant(m.t)) / period))
        known = replace(known, ticks=max(known.ticks, passed))
        if known.ticks * period <= now:
            known, asked = self._measure(m, k, known)
            known = replace(known, waiting=(*known.waiting, (m.t + delay, asked)))
        for t, asked in known.waiting:
            if t <= now:
                self.held[place] = asked
        left = tuple((t, asked) for t, asked in known.waiting if t > now)
        self.memory[each.name] = replace(known, waiting=left, held=float(self.held[place]))

    def _measure(self, m: March, k: int, known: ServoMemory) -> tuple[ServoMemory, float]:
        each, s = self.beginning.motion.actuators.servos[k], m.system
        servo, period = each.servo, each.servo.period or 0.0
        n = s.n
        position, speed = float(each.row @ m.y[:n]), float(each.row @ m.y[n : 2 * n])
        if servo.resolution is not None:
            position = float(np.round(position / servo.resolution) * servo.resolution)
            before = position if known.before is None else known.before
            speed = (position - before) / period
        rates(s, m.t, m.y, m.f)  # the targets at this time
        target = (float(s.r[k]), float(s.r[s.targets + k]))
        fed = float(s.u[each.column])
        total, rate = each.asks(fed, position, speed, target, known.integral)
        known = replace(
            known,
            ticks=known.ticks + 1,
            before=position,
            integral=known.integral + period * float(rate),
        )
        return known, float(total) - fed
