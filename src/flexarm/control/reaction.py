"""Reaction of an arm on its free base: base attitude and exchanged angular momentum."""

from dataclasses import dataclass, replace

import numpy as np

from flexarm.arguments import require_count, require_kind
from flexarm.control.constants import MOST_INSTANTS
from flexarm.control.trajectory import Trajectory
from flexarm.errors import ModelError
from flexarm.formulations import formulation
from flexarm.formulations.equation import Equation
from flexarm.runs.contents import over_phases
from flexarm.runs.run import Run
from flexarm.spatial import Array, base_rotation_matrix


@dataclass(frozen=True)
class BaseReaction:
    """Attitude of a free base and angular momenta of base and arm at T instants.

    Attributes
    ----------
    t
        Time [s], (T,).
    rotation
        Rotation matrices from base axes to world axes, (T, 3, 3).
    base, arm
        Angular momentum of the base and of the arm on it, both about the centre of mass of base and
        arm, in world axes [kg m^2/s], (T, 3) each.
    """

    t: Array
    rotation: Array
    base: Array
    arm: Array

    @property
    def angle(self) -> Array:
        """Rotation angle of the base relative to the first instant [rad], shape (T,)."""
        turned = np.einsum("tji,jk->tik", self.rotation, self.rotation[0])
        # The cosine of a small angle has too few digits, so that the sine is used as well.
        skew = turned - turned.transpose(0, 2, 1)
        sine = np.sqrt((skew**2).sum(axis=(1, 2)) / 8)
        return np.asarray(np.arctan2(sine, (np.trace(turned, axis1=1, axis2=2) - 1) / 2))

    @property
    def exchanged(self) -> Array:
        """Change of the base's angular momentum since the first instant [kg m^2/s], (T, 3)."""
        return np.asarray(self.base - self.base[0])


def base_reaction(of: Run | Trajectory, *, points: int = 201) -> BaseReaction:
    """Return the attitude of a free base in a motion and the exchanged angular momentum.

    Parameters
    ----------
    of
        A run, evaluated at its samples; or a trajectory, evaluated without vibration.
    points
        Number of evenly spaced instants from time 0 to the end of a trajectory; unused for a run.

    Returns
    -------
    BaseReaction
        Attitude and angular momenta over time.

    Raises
    ------
    ModelError
        If the base is not free; `Equation.reaction` computes the reaction of a fixed or moving
        base.
    """
    require_kind("of", of, (Run, Trajectory), "a Run or a Trajectory")
    if not of.model.floats:
        raise ModelError(
            "the base is not free. For a fixed or moved base use Equation.reaction; "
            "run.works[:, 2] is the work of the base."
        )
    if isinstance(of, Run):
        momenta = over_phases(of, lambda equation, rows: _momenta(equation, of.q[rows], of.v[rows]))
        t, q, reference_attitudes = of.t, of.q, of.reference_attitudes[:, :3]
    else:
        require_count("points", points, 2, most=MOST_INSTANTS)
        t = np.linspace(0.0, of.end, points)
        q, v, _ = of.at(t)
        momenta = _momenta(formulation("composite", of.model), q, v)
        reference_attitudes = np.broadcast_to(of.model.base_pose.rotation, (points, 3, 3))
    turned = np.array([base_rotation_matrix(angles) for angles in q[:, 3:6]])
    return BaseReaction(t, reference_attitudes @ turned, momenta[:, :3], momenta[:, 3:])


def _momenta(equation: Equation, q: Array, v: Array) -> Array:
    """Return angular momenta of base and arm about the common centre of mass, shape (T, 6)."""
    if equation.model.orbit:  # relative to the orbiting frame, as the rates are
        free = equation.formulation.of(replace(equation.model, orbit=0.0))
        equation = replace(equation, formulation=free, _compiled={})
    whole, base, centre = equation.inertial_momentum(q, v)
    total = whole[:, 3:] - np.cross(centre, whole[:, :3])
    return np.hstack([base[:, 3:], total - base[:, 3:]])
