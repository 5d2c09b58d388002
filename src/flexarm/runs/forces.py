"""What accelerations and joint wrenches a run's samples have."""

import numpy as np

from flexarm.formulations import formulation
from flexarm.links.base import Array
from flexarm.runs.data import RunData


def accelerations(run: RunData) -> Array:
    """Find the accelerations of a run's samples under its inputs, (T, n)."""
    equation = formulation("articulated", run.model)
    rows = zip(run.t, run.q, run.v, run.u, run.anchors, strict=True)
    found = [
        equation.anchored(anchor).forward_dynamics(q, v, u, float(t)) for t, q, v, u, anchor in rows
    ]
    return np.array(found)


def joint_wrenches(run: RunData) -> Array:
    """Find what each joint transmits to its link, (T, links, 6): force [N], torque [N m].

    In world axes, at the joint's origin.
    """
    equation = formulation("composite", run.model)
    rows = zip(run.t, run.q, run.v, accelerations(run), run.anchors, strict=True)
    found = [
        equation.anchored(anchor).joint_wrench(q, v, a, float(t)) for t, q, v, a, anchor in rows
    ]
    return np.array(found)
