"""Properties of the arms of designs: mass and natural frequencies."""

from collections.abc import Sequence

import numpy as np

from flexarm.errors import SimulationError
from flexarm.integrate.task import InitialValueProblem
from flexarm.linear.elastic import moves
from flexarm.linear_model import LinearModel
from flexarm.mechanics.weightless import total_mass
from flexarm.model import Model
from flexarm.spatial import Array
from flexarm.studies.design.plan import DesignQuantity


def of_arm(task: InitialValueProblem, of: DesignQuantity) -> float:
    """Return the total mass [kg] or a natural frequency [Hz] of an arm, as the quantity asks."""
    model: Model = task.equation.model
    if of.mass:
        return float(total_mass(model))
    reference_attitude = (task.equation.reference_attitude,) if model.attitudes else ()
    matrices = task.equation.compiled("matrices").call(
        task.start.q, task.start.v, *reference_attitude
    )
    return _frequency(model, [m.reshape(model.size, -1) for m in matrices], of)


def _frequency(model: Model, matrices: Sequence[Array], of: DesignQuantity) -> float:
    """Return a natural frequency of the arm linearised at its initial state [Hz]."""
    mass, stiffness, damping = matrices
    locked = {axis.name for axis in model.axes} if of.joints == "locked" else set[str]()
    linear = LinearModel(mass, stiffness, damping, model.names).along(*moves(model, locked))
    frequencies = linear.elastic_modes().frequencies
    assert of.frequency is not None
    if of.frequency > len(frequencies):
        raise SimulationError(
            f"the arm has {len(frequencies)} frequencies, and no number {of.frequency}"
        )
    return float(frequencies[of.frequency - 1] / (2 * np.pi))
