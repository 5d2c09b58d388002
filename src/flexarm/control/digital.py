"""A control law sampled at a fixed rate, for one arm."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

from flexarm.arguments import WithUnit, refused, require_kind, require_number, require_positive
from flexarm.integrate.laws import Sampled, Sensors
from flexarm.links.base import Array
from flexarm.model import Model


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
    """Run a law at a fixed rate: `flexarm.Sampled` with the model file's limits.

    Parameters
    ----------
    law, period, sensed, delay, noise, quantum, seed, rates
        As for `flexarm.Sampled`.
    model
        The arm.
    limits
        Largest input, one or one per driven joint; what ``limits.effort`` of the model file
        allows if None.

    Returns
    -------
    Sampled
        For ``flexarm.simulate(control=...)``.
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
