"""Digital controllers in a simulation: sampled control laws and sampled servos."""

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
    """Return a message that names an input which is not finite now or one step ahead, or ''."""
    problem, law = m.problem, m.problem.motion.law
    if law is None:
        return ""
    for h in (0.0, step):
        y = m.y + h * m.f if h else m.y
        n = m.system.n
        if np.all(np.isfinite(y)):
            inputs = np.array(law(m.t + h, y[:n], y[n : 2 * n])).ravel()
            message = no_number(inputs, problem.equation.input_names, m.t + h)
            if message:
                return message
    return ""


class Sampler(ABC):
    """Digital controllers in a simulation: sampling times, and values held between them."""

    def __init__(self, problem: InitialValueProblem) -> None:
        self.problem, self.end = problem, float(problem.times[-1])
        self.memory: dict[str, ServoMemory] = {}  # memory of sampled servos, by joint
        self.times: list[float] = []
        self.values: list[Array] = []

    @abstractmethod
    def ask(self, m: IntegratorState) -> str:
        """Sample the controllers at the current state, and hold the values that they return.

        The return value is an error message, or '' if the values are valid.
        """

    def at(self, times: Array) -> Array | None:
        """Return the values held at given times [s], one row per time; None before any sample."""
        if not self.values:
            return None
        rows = np.searchsorted(np.array(self.times), times * (1 + 1e-12), side="right") - 1
        return np.array(self.values)[np.maximum(rows, 0)]

    def _hold(self, m: IntegratorState, values: Array, next_time: float) -> None:
        """Record the held values from now until a later time [s]."""
        self.times.append(m.t)
        self.values.append(values)
        rates(m.system, m.t, m.y, m.f)
        m.last_step = 0.0
        m.t_end = next_time if next_time < self.end - instant(self.end) else self.end


class SampledLaw(Sampler):
    """A sampled control law that holds the inputs of all driven joints."""

    def __init__(self, control: Sampled, problem: InitialValueProblem) -> None:
        super().__init__(problem)
        self.control, self.law = control, control.begin(problem.equation.model)

    def ask(self, m: IntegratorState) -> str:
        """Call the law at the current state and hold its inputs; return an error message or ''.

        Raises
        ------
        SimulationError
            If the first result of the law has the wrong type or shape.
        """
        n, names = m.system.n, self.problem.equation.input_names
        try:
            result = self.law(m.t, m.y[:n].copy(), m.y[n : 2 * n].copy())
        except Exception as error:
            return f"{_raised(error)} at t = {m.t:.6g} s. Check the law there."
        inputs = real_answer(result)
        if inputs is None or inputs.shape != (m.system.inputs,):
            received = shown(result) if inputs is None else f"an array of shape {inputs.shape}"
            expected = f"{m.system.inputs} inputs ({', '.join(names)}) as real numbers"
            message = f"the control law must return {expected}, got {received}"
            if not self.times:
                raise SimulationError(message)
            return f"{message} at t = {m.t:.6g} s"
        message = no_number(inputs, names, m.t)
        if not message:
            pieces, rows = m.system.pieces.reshape(-1, PIECE), m.system.current[: m.system.inputs]
            pieces[rows] = 0.0
            pieces[rows, 2] = inputs
            self._hold(m, inputs, (len(self.times) + 1) * self.control.period)
        return message


def _raised(error: Exception) -> str:
    """Return a one-line description, with file and line, of an exception in a control law."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    try:
        text = " ".join(str(error).split())
    except Exception:
        text = ""
    exception = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return f"the control law raised {exception} ({Path(place.filename).name}, line {place.lineno})"


class SampledServos(Sampler):
    """Sampled servos of an arm: for each, the held input and the integral term."""

    def __init__(self, m: IntegratorState) -> None:
        super().__init__(m.problem)
        self.servos = [
            (k, servo)
            for k, servo in enumerate(m.problem.motion.actuators.servos)
            if servo.servo.period is not None
        ]
        self.memory = dict(m.problem.start.memory)
        self.held = m.buffers["h"]
        self.times.append(m.t)
        self.values.append(self._row())

    def _row(self) -> Array:
        integrals = [
            self.memory.get(servo.name, ServoMemory()).integral for _, servo in self.servos
        ]
        return np.concatenate([self.held, integrals])

    def ask(self, m: IntegratorState) -> str:
        """Sample the servos that are due, and hold their inputs until their next sample."""
        for index in range(len(self.servos)):
            self._tick(m, index)
        due_times = [self._due(index) for index in range(len(self.servos))]
        self._hold(m, self._row(), min(due_times))
        return ""

    def _due(self, index: int) -> float:
        _, servo = self.servos[index]
        memory = self.memory[servo.name]
        tick = memory.ticks * (servo.servo.period or 0.0)
        return min([tick, *(t for t, _ in memory.waiting)])

    def _tick(self, m: IntegratorState, index: int) -> None:
        k, servo = self.servos[index]
        period, delay = servo.servo.period or 0.0, servo.servo.delay
        now = m.t + instant(m.t)
        memory = self.memory.get(servo.name, ServoMemory())
        past_ticks = int(np.ceil((m.t - instant(m.t)) / period))
        memory = replace(memory, ticks=max(memory.ticks, past_ticks))
        if memory.ticks * period <= now:
            memory, input_ = self._measure(m, k, memory)
            memory = replace(memory, waiting=(*memory.waiting, (m.t + delay, input_)))
        for t, input_ in memory.waiting:
            if t <= now:
                self.held[index] = input_
        waiting = tuple((t, input_) for t, input_ in memory.waiting if t > now)
        self.memory[servo.name] = replace(memory, waiting=waiting, held=float(self.held[index]))

    def _measure(
        self, m: IntegratorState, k: int, memory: ServoMemory
    ) -> tuple[ServoMemory, float]:
        servoed, s = self.problem.motion.actuators.servos[k], m.system
        servo, period = servoed.servo, servoed.servo.period or 0.0
        n = s.n
        position, speed = float(servoed.row @ m.y[:n]), float(servoed.row @ m.y[n : 2 * n])
        if servo.resolution is not None:
            position = float(np.round(position / servo.resolution) * servo.resolution)
            previous = position if memory.before is None else memory.before
            speed = (position - previous) / period
        rates(s, m.t, m.y, m.f)  # computes the servo targets at the present time
        target = (float(s.r[k]), float(s.r[s.targets + k]))
        other_input = float(s.u[servoed.column])
        total, rate = servoed.raw_input(other_input, position, speed, target, memory.integral)
        memory = replace(
            memory,
            ticks=memory.ticks + 1,
            before=position,
            integral=memory.integral + period * float(rate),
        )
        return memory, float(total) - other_input
