"""The vibrations that a motion excites: those of the arm at a posture, under its own servos."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from flexarm.errors import FlexarmError
from flexarm.integrate.actuators import servos
from flexarm.linear.at_start import Linear, moves
from flexarm.linear.eigen import eigen
from flexarm.linear.equilibrium import settle_down
from flexarm.linear.names import OSCILLATES
from flexarm.linear.tangent import Tangent
from flexarm.links.base import Array

RINGS = 0.5  # damping ratio from which on a motion is no vibration to be shaped for


@dataclass(frozen=True)
class Vibrations:
    """Vibrations of an arm whose joints are held by servos, or are where they are told."""

    # frequency, damping: natural frequencies [rad/s], slowest first, and damping ratios, (k,) each.
    frequency: Array
    damping: Array
    tip: Array  # how far the tip moves with each, for equal energies, over the largest, (k,)

    def first(self, count: int) -> list[tuple[float, float]]:
        """List the slowest ones, each a frequency [rad/s] and a damping ratio.

        Raises
        ------
        FlexarmError
            If there are fewer.
        """
        if len(self.frequency) < count:
            raise FlexarmError(
                f"modes: must be at most {len(self.frequency)}, the vibrations that the arm has "
                f"with its joints held, got {count}"
            )
        pairs = zip(self.frequency.tolist(), self.damping.tolist(), strict=True)
        return list(pairs)[:count]


def vibrations(tangent: Tangent, at: Mapping[str, float], *, reach: bool = True) -> Vibrations:
    """Find the vibrations of an arm with joints at given places [rad], [m], by name.

    Joints with a servo are held by its stiffness and damping, the others rigidly; of an elastic
    joint without a servo its motor is.  Integrals, limits and sampling of servos are left out, and
    how far the tip moves unless asked for.
    """
    model = tangent.model
    point = settle_down(tangent, at, {}).point
    served = servos(model)
    names = {each.name for each in served}
    kept, columns = moves(model, {axis.name for axis in model.axes if axis.name not in names})
    full = tangent.matrices(point, np.zeros(model.size))
    stiffness, damping = full.stiffness.copy(), full.damping.copy()
    for each in served:
        push = tangent.inputs[:, each.column] / each.gain
        stiffness += np.outer(push, each.row) * (each.servo.stiffness or 0.0)
        damping += np.outer(push, each.row) * (each.servo.damping or 0.0)
    linear = Linear(full.mass, stiffness, damping, model.names).keep(kept, columns)
    found = eigen(linear)
    ratio = -found.values.real / np.abs(found.values)
    rings = (np.abs(found.values.imag) > OSCILLATES * np.abs(found.values)) & (ratio < RINGS)
    shapes = columns @ found.vectors[:, rings]
    speed, tip = np.abs(found.values[rings]), np.zeros(int(rings.sum()))
    if reach:
        by_q = tangent.tip(point, np.zeros(model.size))[1]
        tip = np.linalg.norm(np.abs(by_q[:3] @ shapes), axis=0) / np.maximum(speed, 1e-300)
    return Vibrations(speed, np.maximum(ratio[rings], 0.0), tip / max(tip.max(initial=0), 1e-300))
