"""Digital controllers in a run: sampled control laws and sampled servos."""

import traceback
from abc import ABC, abstractmethod
from dataclasses import replace
from pathlib import Path

import numpy as np

from flexarm.arguments import shown
from flexarm.errors import SimulationError
from flexarm.integrate.laws import Sampled, ServoMemory, no_number, real_answer
from flexarm.integrate.state import IntegratorState
from flexarm.integrate.system import PIECE, instant, rates
from flexarm.integrate.task import InitialValueProblem
from flexarm.spatial import Array


def no_number_near(m: IntegratorState, step: float) -> str:
    """Return a message that names an input without a finite value, now or one step ahead.

    The message is empty if all inputs of the CasADi law are finite.
    """
    problem, law = m.problem, m.problem.motion.law
    if law is None:
        return ""
    for h in (0.0, step):
        y = m.y + h * m.f if h else m.y
        n = m.system.n
        if np.all(np.isfinite(y)):
            answer = np.array(law(m.t + h, y[:n], y[n : 2 * n])).ravel()
            said = no_number(answer, problem.equation.input_names, m.t + h)
            if said:
                return said
    return ""


class Sampler(ABC):
    """Digital controllers in a run: sample times, and values held from each sample on."""

    def __init__(self, problem: InitialValueProblem) -> None:
        self.problem, self.end = problem, float(problem.times[-1])
        self.memory: dict[str, ServoMemory] = {}  # of sampled servos, by joint
        self.times: list[float] = []
        self.values: list[Array] = []

    @abstractmethod
    def ask(self, m: IntegratorState) -> str:
        """Sample the controllers at the present state, and hold the results.

        Returns an error message, empty if the sample is valid.
        """

    def at(self, times: Array) -> Array | None:
        """Return the values held at given times [s], one row per time; None without samples."""
        if not self.values:
            return None
        which = np.searchsorted(np.array(self.times), times * (1 + 1e-12), side="right") - 1
        return np.array(self.values)[np.maximum(which, 0)]

    def _hold(self, m: IntegratorState, values: Array, later: float) -> None:
        """Record values that are held from now until a later time [s]."""
        self.times.append(m.t)
        self.values.append(values)
        rates(m.system, m.t, m.y, m.f)
        m.h_done = 0.0
        m.t_end = later if later < self.end - instant(self.end) else self.end


class SampledLaw(Sampler):
    """A sampled control law that holds the inputs of all driven joints."""

    def __init__(self, control: Sampled, problem: InitialValueProblem) -> None:
        super().__init__(problem)
        self.control, self.law = control, control.begin(problem.equation.model)

    def ask(self, m: IntegratorState) -> str:
        """Call the law at the present state, and hold its inputs; return an error message, or ''.

        Raises
        ------
        SimulationError
            If the first answer has the wrong type or shape, so that no run has begun.
        """
        n, names = m.system.n, self.problem.equation.input_names
        try:
            given = self.law(m.t, m.y[:n].copy(), m.y[n : 2 * n].copy())
        except Exception as error:
            return f"{_raised(error)} at t = {m.t:.6g} s. Check the law there."
        answer = real_answer(given)
        if answer is None or answer.shape != (m.system.inputs,):
            got = shown(given) if answer is None else f"an array of shape {answer.shape}"
            what = f"must return {m.system.inputs} inputs ({', '.join(names)}) as real numbers"
            said = f"the control law {what}, got {got}"
            if not self.times:
                raise SimulationError(said)
            return f"{said} at t = {m.t:.6g} s"
        said = no_number(answer, names, m.t)
        if not said:
            rows, now = m.system.pieces.reshape(-1, PIECE), m.system.current[: m.system.inputs]
            rows[now] = 0.0
            rows[now, 2] = answer
            self._hold(m, answer, (len(self.times) + 1) * self.control.period)
        return said


def _raised(error: Exception) -> str:
    """Return a one-line description of an exception that a law raised, with its place."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    try:
        text = " ".join(str(error).split())
    except Exception:
        text = ""
    what = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return f"the control law raised {what} ({Path(place.filename).name}, line {place.lineno})"


class SampledServos(Sampler):
    """Sampled servos; each record has their held inputs, then their integral terms."""

    def __init__(self, m: IntegratorState) -> None:
        super().__init__(m.problem)
        self.servos = [
            (k, each)
            for k, each in enumerate(m.problem.motion.actuators.servos)
            if each.servo.period is not None
        ]
        self.memory = dict(m.problem.start.memory)
        self.held = m.buffers["h"]
        self.times.append(m.t)
        self.values.append(self._row())

    def _row(self) -> Array:
        known = [self.memory.get(each.name, ServoMemory()).integral for _, each in self.servos]
        return np.concatenate([self.held, known])

    def ask(self, m: IntegratorState) -> str:
        """Sample the servos that are due, and hold their inputs until the next sample."""
        for place in range(len(self.servos)):
            self._tick(m, place)
        due = [self._due(place) for place in range(len(self.servos))]
        self._hold(m, self._row(), min(due))
        return ""

    def _due(self, place: int) -> float:
        _, each = self.servos[place]
        known = self.memory[each.name]
        tick = known.ticks * (each.servo.period or 0.0)
        return min([tick, *(t for t, _ in known.waiting)])

    def _tick(self, m: IntegratorState, place: int) -> None:
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

    def _measure(self, m: IntegratorState, k: int, known: ServoMemory) -> tuple[ServoMemory, float]:
        each, s = self.problem.motion.actuators.servos[k], m.system
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
