"""Error of keeping rotary inertia in the axes of a link's root while it bends in space."""

import casadi as ca
import numpy as np

from flexarm.accuracy.validity import SLOPE_LINEAR
from flexarm.links.base import Array
from flexarm.mechanics.kinematics import jacobian
from flexarm.model import LinkModel, Model
from flexarm.spatial import NEGLIGIBLE

SHARE = 1e-3  # rotary inertia over mass times length squared, below which other errors prevail
UNKNOWN = (
    "sections of {link} keep their rotary inertia in the axes of its root, and it bends in space: "
    "the error of that is unknown"
)


def rotary_unknown(model: Model, slopes: dict[str, float], q: Array, free: Array) -> str:
    """Return a sentence if the error of an exact link's rotary inertia is unknown, else ''.

    The error is zero in a straight link and in planar bending.

    Parameters
    ----------
    model
        The arm.
    slopes
        Largest slope of each flexible link.
    q
        Coordinates, (T, n).
    free
        Which coordinates move, (n,) of bool.
    """
    for index, part in enumerate(model.links):
        if slopes.get(part.name, 0.0) > SLOPE_LINEAR and _share(part) > SHARE:
            bent = np.abs(q).max(axis=0) > NEGLIGIBLE
            own = np.zeros(model.size, dtype=bool)
            for each in model.links[: index + 1]:
                own[each.modes] = True
            if _in_space(model, index, q[0], free | (own & bent)):
                return UNKNOWN.format(link=part.name)
    return ""


def _share(part: LinkModel) -> float:
    """Return the rotary inertia about the root's axes over mass times length squared."""
    if part.exact is None or not part.body.one_length:
        return 0.0
    span = part.beam.span
    x, weight = span.quadrature(2)
    twists = bool(part.beam.shapes.moving("twist"))
    inertia = [float(weight @ span.at(name, x)) for name in ("Jx", "Jy", "Jz")[twists:]]
    return max(inertia) / (float(weight @ span.at("mass_per_length", x)) * span.length**2)


def _in_space(model: Model, index: int, q: Array, moved: Array) -> bool:
    """Whether coordinates turn the tip of a link about more than one axis."""
    axes = np.array(jacobian(model, ca.DM(q), index)[1])[:, moved]
    sizes = np.linalg.norm(axes, axis=0)
    axes = axes[:, sizes > 0] / sizes[sizes > 0]
    return bool(axes.size and np.linalg.svd(axes)[1][1:].max(initial=0.0) > NEGLIGIBLE)
