"""Runs that can be differentiated: from an arm, and what is asked of it."""

from collections.abc import Mapping, Sequence
from typing import Any

import casadi as ca

from flexarm.arguments import FormulationName, MethodName, WithUnit, require_kind, require_names
from flexarm.arm import Arm
from flexarm.errors import SimulationError
from flexarm.formulations.numbers.parameters import parameter_keys
from flexarm.formulations.numbers.structures import Structures
from flexarm.gradients.events.phases import looks, until_the_end
from flexarm.gradients.rates import RateFunctions
from flexarm.gradients.runs import TABLEAUS, Differentiable
from flexarm.integrate.methods import METHODS
from flexarm.integrate.options import RunOptions
from flexarm.integrate.sampling import sample_times
from flexarm.integrate.task import equation_of
from flexarm.io.model_file import validated
from flexarm.model import build


def differentiable(
    arm: Arm,
    *,
    t_end: WithUnit,
    dt: WithUnit | None = RunOptions.dt,
    parameters: Sequence[str] = (),
    method: MethodName | str = "rk4",
    rtol: float = RunOptions.rtol,
    step: WithUnit | None = RunOptions.step,
    formulation: FormulationName | str = RunOptions.formulation,
    inputs: Mapping[str, Any] | None = None,
    control: ca.Function | None = None,
) -> Differentiable:
    """Make runs of an arm that can be differentiated by its numbers, starts and inputs.

    Parameters
    ----------
    arm
        The arm.
    t_end, dt, rtol, step, formulation, inputs, control
        As for `flexarm.simulate`; a law must be a CasADi function.
    parameters
        Keys of numbers in the model file, such as ``payload.mass`` or
        ``links.1.joint.servo.damping``.
    method
        ``rk4`` in equal steps; ``dop853`` or ``etd4`` in as few steps between samples as a run by
        it takes there; ``etd4`` takes modes where that run did.

    Returns
    -------
    Differentiable
        Its ``at`` makes a run; ``gradient`` and ``sensitivities`` of that differentiate it.

    Raises
    ------
    SimulationError
        If the arm cannot be simulated, or something in a run is not differentiated: quantities
        that end it, ties of the tip, dry friction, brakes that slip, sampled servos, nodes of a
        rail.
    """
    options = RunOptions.of(
        t_end=t_end, dt=dt, method=method, rtol=rtol, step=step, formulation=formulation,
        inputs=inputs, control=control,
    )  # fmt: skip
    require_names("parameters", parameters, "keys of the model file, such as ['payload.mass']")
    if method not in TABLEAUS:
        raise SimulationError(f"method: must be one of {', '.join(TABLEAUS)} here, got '{method}'")
    if control is not None:
        require_kind("control", control, ca.Function, "a CasADi function (t, q, v) to u")
    model = build(validated(arm))
    keys = parameter_keys(arm, parameters) if parameters else ()
    equation = equation_of(model, name=formulation).among(Structures())
    times = until_the_end(model, sample_times(options.t_end, options.dt))
    for part in model.links:
        if part.rail is not None and len(part.rail.jumps):
            raise SimulationError(
                f"gradients: the speed of {part.name} jumps at the nodes of its rail: give the "
                "link before it shapes without nodes, such as 'loaded'"
            )
    return Differentiable(
        equation, keys, times, METHODS[method], options.rtol, options.step,
        dict(inputs or {}),
        RateFunctions(
            equation.structures or Structures(), control, tuple(looks(model).values())
        ),
    )  # fmt: skip
