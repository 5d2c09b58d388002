"""What accelerations and joint wrenches a run's samples have."""

from flexarm.formulations import formulation
from flexarm.formulations.equation import Equation
from flexarm.links.base import Array
from flexarm.runs.data import RunData


def equation_of(run: RunData) -> Equation:
    """Make the equation that a run was computed by, anchored at every sample."""
    equation = formulation(run.formulation, run.model, paper=run.paper)
    return equation.anchored(run.anchors)


def accelerations(run: RunData) -> Array:
    """Find the accelerations of a run's samples under its inputs, (T, n)."""
    return equation_of(run).forward_dynamics(run.q, run.v, run.u, run.t)


def joint_wrenches(run: RunData) -> Array:
    """Find what each joint transmits to its link, (T, links, 6): force [N], torque [N m].

    In world axes, at the joint's origin.
    """
    equation = formulation("composite", run.model)
    return equation.anchored(run.anchors).joint_wrench(run.q, run.v, accelerations(run), run.t)
