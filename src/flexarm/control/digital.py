"""Discrete-time control: a law evaluated at a fixed sampling period."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

from flexarm.arguments import WithUnit, refused, require_kind, require_number, require_positive
from flexarm.integrate.laws import Sampled, Sensors
from flexarm.model import Model
from flexarm.spatial import Array


def sampled(
    law: Callable[[float, Array, Array], Any],
    period: WithUnit,
    model: Model,
    *,
    sensed: Sensors | None = None,
    delay: WithUnit = 0.0,
    limits: float | Sequence[float] | None = None,
    noise: float | Sequence[float] = 0.0,
    quantum: float | Sequence[float] = 0.0,
    seed: int = 0,
    rates: Literal["measured", "difference"] = "measured",
) -> Sampled:
    """Return a control law evaluated at a fixed period, with the input limits of the model file.

    Parameters
    ----------
    law, period, sensed, delay, noise, quantum, seed, rates
        As for `flexarm.Sampled`.
    model
        The arm.
    limits
        Largest input, one number or one per driven joint; ``limits.effort`` of the model file if
        None.

    Returns
    -------
    Sampled
        Control law for ``flexarm.simulate(control=...)``.
    """
    if not callable(law):
        raise refused("law", law, "a function (t, q, v) to u")
    require_kind("model", model, Model, "a Model, as flexarm.build(arm) returns")
    control = Sampled(
        law, require_positive("period", period, unit="s"), sensed,
        require_number("delay", delay, unit="s"),
        "file" if limits is None else limits, noise, quantum, seed, rates,
    )  # fmt: skip
    control.begin(model)
    return control
