"""What accelerations and joint wrenches a run's samples have."""

from collections.abc import Callable, Iterator

import numpy as np

from flexarm.formulations import formulation
from flexarm.formulations.equation import Equation
from flexarm.links.base import Array
from flexarm.runs.data import RunData, RunLeg


def equation_of(run: RunData) -> Equation:
    """Make the equation of a run's arm as it is at the start, anchored at every sample."""
    return formulation(run.formulation, run.model, paper=run.paper).anchored(run.anchors)


def spans(run: RunData) -> Iterator[tuple[RunLeg, slice]]:
    """List the parts of a run, each with its samples."""
    legs = run.legs or (RunLeg(0, run.model.prescribed),)
    for leg, end in zip(legs, [*(each.first for each in legs[1:]), len(run.t)], strict=True):
        yield leg, slice(leg.first, end)


def over_legs(
    run: RunData, find: Callable[[Equation, slice], Array], name: str | None = None
) -> Array:
    """Find something at all samples by the equation of each part of a run, and put it together.

    Parameters
    ----------
    run
        The run.
    find
        Gives it from an equation, anchored at the samples, and the samples.
    name
        Of the formulation; that of the run if None.
    """
    found = []
    for leg, rows in spans(run):
        model = leg.model(run.model) if run.legs else run.model
        equation = formulation(name or run.formulation, model, paper=run.paper and name is None)
        found.append(find(equation.anchored(run.anchors[rows]), rows))
    return np.concatenate(found)


def accelerations(run: RunData) -> Array:
    """Find the accelerations of a run's samples under its inputs, (T, n)."""

    def find(equation: Equation, rows: slice) -> Array:
        q, v = run.q[rows], run.v[rows]
        found = equation.forward_dynamics(q, v, run.u[rows], run.t[rows])
        if run.drives is None:
            return found
        open_ = [i for i in range(equation.model.size) if i not in equation.model.prescribed]
        mass = equation.mass_matrix(q)[:, open_][:, :, open_]
        found[:, open_] += np.linalg.solve(mass, run.drives.push[rows][:, open_, None])[..., 0]
        return found

    return over_legs(run, find)


def joint_wrenches(run: RunData) -> Array:
    """Find what each joint transmits to its link, (T, links, 6): force [N], torque [N m].

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
