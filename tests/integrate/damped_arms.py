"""Arms whose joints damp or rub, and how far the deflections of a run are off."""

from typing import Any

import numpy as np

import flexarm
from flexarm.arm import Arm
from flexarm.integrate.task import InitialValueProblem, prepare
from flexarm.io.model_file import change_arm
from flexarm.model import build
from flexarm.runs.run import Run

FRICTION = {
    "links.1.joint.friction": {"coulomb": 3.0, "smoothing": 0.001},
    "links.2.joint.friction": {"coulomb": 1.0, "smoothing": 0.001},
    "gravity": [0, -9.81, 0],
}
LINKS = {"links.1.damping": 0.02, "links.2.damping": 0.02}
HOLDING = {"links.1.joint.spring": {"stiffness": 100.0, "damping": 5000.0}}


def changed(name: str, values: dict[str, Any]) -> Arm:
    """Change numbers of a sample."""
    return change_arm(flexarm.example_arm(name), values)


def task_of(arm: Arm) -> InitialValueProblem:
    """Make an arm ready for a second."""
    return prepare(build(arm), np.linspace(0.0, 1.0, 3))


def error(run: Run, reference: Run) -> float:
    """Give the largest error of deflections over the range of their group, where both have one."""
    measures = prepare(run.model, reference.t).measures
    deflects = np.array(measures.deflects)[measures.group]
    count = min(len(each.t) - (each.status != "finished") for each in (run, reference))
    values = reference.q[:count] @ measures.rows.T
    scale = measures.floor.copy()
    np.maximum.at(scale, measures.group, np.ptp(values, axis=0))
    apart = np.abs(run.q[:count] @ measures.rows.T - values)[:, deflects]
    return float((apart / scale[measures.group][deflects]).max(initial=0.0))
