"""Accelerations and joint wrenches at the samples of a run."""

from collections.abc import Callable

import numpy as np

from flexarm.formulations import formulation
from flexarm.formulations.equation import Equation
from flexarm.links.base import Array
from flexarm.runs.data import RunData, RunLeg


def equation_of(run: RunData) -> Equation:
    """Return the equation of a run's arm at the start, with the samples' reference attitudes."""
    return formulation(run.formulation, run.model, paper=run.paper).anchored(run.anchors)


def over_legs(
    run: RunData, evaluate: Callable[[Equation, slice], Array], name: str | None = None
) -> Array:
    """Evaluate a function at all samples with the equation of each phase of a run.

    Parameters
    ----------
    run
        The run.
    evaluate
        Function of an equation with the reference attitudes of some samples, and these samples.
    name
        Name of the formulation; that of the run if None.
    """
    legs = run.legs or (RunLeg(0, run.model.prescribed),)
    values = []
    for leg, end in zip(legs, [*(each.first for each in legs[1:]), len(run.t)], strict=True):
        rows = slice(leg.first, end)
        model = leg.model(run.model) if run.legs else run.model
        equation = formulation(name or run.formulation, model, paper=run.paper and name is None)
        values.append(evaluate(equation.anchored(run.anchors[rows]), rows))
    return np.concatenate(values)


def accelerations(run: RunData) -> Array:
    """Compute the accelerations at a run's samples under its inputs, (T, n)."""

    def evaluate(equation: Equation, rows: slice) -> Array:
        q, v = run.q[rows], run.v[rows]
        a = equation.forward_dynamics(q, v, run.u[rows], run.t[rows])
        if run.drives is None:
            return a
        open_ = [i for i in range(equation.model.size) if i not in equation.model.prescribed]
        mass = equation.mass_matrix(q)[:, open_][:, :, open_]
        a[:, open_] += np.linalg.solve(mass, run.drives.push[rows][:, open_, None])[..., 0]
        return a

    return over_legs(run, evaluate)


def joint_wrenches(run: RunData) -> Array:
    """Compute force [N] and torque [N m] of each joint on its link, (T, links, 6).

    In world axes, at the joint's origin.
    """
    a = accelerations(run)
    return over_legs(
        run,
        lambda equation, rows: equation.joint_wrench(
            run.q[rows], run.v[rows], a[rows], run.t[rows]
        ),
        "composite",
    )
