"""Control laws in a run: what is one, and a law in Python at work."""

import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from flexarm.arguments import require_kind, shown
from flexarm.errors import SimulationError
from flexarm.integrate.march import March
from flexarm.integrate.methods.base import Beginning
from flexarm.integrate.options import MOST_SAMPLES, is_positive
from flexarm.integrate.system import PIECE, rates, rounding
from flexarm.links.base import Array
from flexarm.mechanics.loads import input_names
from flexarm.model import Model


def refuse_control(control: object, inputs: Mapping[str, Any] | None, t_end: float) -> None:
    """Refuse what is no control law, inputs beside one, and one that is asked too often."""
    if not (control is None or isinstance(control, ca.Function | Sampled)):
        raise SimulationError(
            f"control: must be a CasADi function (t, q, v) to u, or Sampled, got {shown(control)}; "
            "a Python function needs a rate: Sampled(law, period)"
        )
    if control is not None and inputs:
        raise SimulationError(
            f"inputs: cannot be had together with control, got {', '.join(inputs)}: "
            "a control law gives the inputs of all driven joints; put them into the law"
        )
    if isinstance(control, Sampled) and t_end / control.period > MOST_SAMPLES:
        raise SimulationError(
            f"Sampled: a period of {control.period:g} s makes {t_end / control.period:.3g} "
            f"calls, more than {MOST_SAMPLES:.0e}: take a longer period or a shorter run"
        )


def refuse_misfit(law: ca.Function, model: Model) -> None:
    """Refuse what is no control law in CasADi, or one whose arguments or result do not fit."""
    require_kind("law", law, ca.Function, "a CasADi function (t, q, v) to u; a Python function "
                 "goes into flexarm.Sampled(law, period)", SimulationError)  # fmt: skip
    require_kind("model", model, Model, "a Model: make one with flexarm.build(arm)")
    n, inputs = model.size, input_names(model)
    sizes = [law.numel_in(k) for k in range(law.n_in())]
    if sizes != [1, n, n]:
        raise SimulationError(
            f"the control law must take t, q and v, of 1, {n} and {n} numbers, got {sizes}"
        )
    if law.n_out() < 1 or law.numel_out(0) != len(inputs):
        found = law.numel_out(0) if law.n_out() else 0
        raise SimulationError(
            f"the control law must give {len(inputs)} inputs ({', '.join(inputs)}), got {found}"
        )


def no_number(answer: Array, names: tuple[str, ...], t: float) -> str:
    """Say for which joint a law gave no number, or nothing."""
    finite = np.isfinite(answer)
    if np.all(finite):
        return ""
    name = names[int(np.argmin(finite))]
    return f"the control law gave no number for {name} at t = {t:.6g} s: look at the law there"


def no_number_near(m: March, beginning: Beginning, step: float) -> str:
    """Say for which joint a law in CasADi gives no number at the state or a step on, or nothing."""
    law = beginning.motion.law
    if law is None:
        return ""
    for h in (0.0, step):
        y = m.y + h * m.f if h else m.y
        n = m.system.n
        if np.all(np.isfinite(y)):
            answer = np.array(law(m.t + h, y[:n], y[n : 2 * n])).ravel()
            said = no_number(answer, beginning.equation.input_names, m.t + h)
            if said:
                return said
    return ""


@dataclass(frozen=True)
class Sampled:
    """A control law in Python that is asked at a fixed rate; its inputs are held between.

    Attributes
    ----------
    law
        Takes time [s], coordinates and rates; gives the inputs in the order of the driven joints.
    period
        Time between two calls [s].
    """

    law: Callable[[float, Array, Array], Any]
    period: float

    def __post_init__(self) -> None:
        """Refuse what cannot be asked."""
        if not callable(self.law):
            raise SimulationError(
                f"Sampled: law must be a function (t, q, v) to u, got {shown(self.law)}"
            )
        if not is_positive(self.period):
            raise SimulationError(f"Sampled: period must be > 0 [s], got {shown(self.period)}")
        object.__setattr__(self, "period", float(self.period))


class Log:
    """A sampled law at work, and what it said when."""

    def __init__(self, control: Sampled | None, beginning: Beginning) -> None:
        self.control, self.end = control, float(beginning.times[-1])
        self.names = beginning.equation.input_names
        self.times: list[float] = []
        self.values: list[Array] = []

    def ask(self, m: March) -> str:
        """Ask the law at the present state and hold its answer; say why if it is no answer.

        Raises
        ------
        SimulationError
            If the first answer is not of the right kind: then there is no run to keep.
        """
        if self.control is None:
            return ""
        n = m.system.n
        try:
            given = self.control.law(m.t, m.y[:n].copy(), m.y[n : 2 * n].copy())
        except Exception as error:
            return f"{_raised(error)} at t = {m.t:.6g} s: look at the law there"
        answer = _real(given)
        if answer is None or answer.shape != (m.system.inputs,):
            got = shown(given) if answer is None else f"an array of shape {answer.shape}"
            what = f"must give {m.system.inputs} inputs ({', '.join(self.names)}) as real numbers"
            said = f"the control law {what}, got {got}"
            if not self.times:
                raise SimulationError(said)
            return f"{said} at t = {m.t:.6g} s"
        said = no_number(answer, self.names, m.t)
        if not said:
            self._hold(m, answer, self.control.period)
        return said

    def _hold(self, m: March, answer: Array, period: float) -> None:
        self.times.append(m.t)
        self.values.append(answer)
        rows = m.system.pieces.reshape(-1, PIECE)
        for k in range(m.system.inputs):
            rows[m.system.current[k]] = 0.0
            rows[m.system.current[k], 2] = answer[k]
        rates(m.system, m.t, m.y, m.f)
        m.h_done = 0.0
        later = len(self.times) * period
        m.t_end = later if later < self.end - rounding(self.end) else self.end

    def at(self, times: Array) -> Array | None:
        """Give what was held at given times."""
        if self.control is None or not self.values:
            return None
        which = np.searchsorted(np.array(self.times), times * (1 + 1e-12), side="right") - 1
        return np.array(self.values)[np.maximum(which, 0)]


def _real(given: object) -> Array | None:
    """Read an answer as an array of real numbers, None if it is none."""
    try:
        found = np.asarray(given)
        real = given is not None and found.dtype.kind in "biufO"
        return found.astype(float) if real else None
    except Exception:  # what a foreign object raises when it is converted
        return None


def _raised(error: Exception) -> str:
    """Say in a line what a law raised, and where."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    try:
        text = " ".join(str(error).split())
    except Exception:
        text = ""
    what = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return f"the control law raised {what} ({Path(place.filename).name}, line {place.lineno})"
