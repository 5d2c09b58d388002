"""Random smooth deformations of links, scaled by their tip displacement.

Equal amplitudes of different shape functions can be very different deformations: a tip deflection
for a mode shape, a kink for a node of a fine mesh. Static deformations under distributed loads are
smooth for any shape functions.
"""

import numpy as np

from flexarm.links.base import DIRECTIONS, Direction
from flexarm.mechanics.bodies import body_of
from flexarm.model import LinkModel, Model
from flexarm.model.constants import FIT_STATIONS
from flexarm.spatial import Array


def random_deformation(model: Model, part: LinkModel, q: Array, rng: np.random.Generator) -> Array:
    """Return random amplitudes (m,) of a link, scaled to a tip deflection of the link's length.

    Parameters
    ----------
    model
        Model of the arm.
    part
        The link.
    q
        Coordinates of the arm, from which the exposed length of a sliding link is taken.
    rng
        Random number generator for the distributed loads. In each direction of the shape functions,
        the load does not change sign along the link.

    Notes
    -----
    To first order, the largest of the tip's transverse deflection, its axial displacement, and its
    twist [rad] times the link's length equals that length. If the tip hardly moves, the largest
    value along the link is used instead of the tip's. Callers scale these large deformations down.
    """
    body = body_of(model, part)
    shapes, span = body.shapes_at(q), body.span_at(q)
    if shapes is None or span is None:
        return _body_deformation(part, q, rng)
    length = span.length
    x = np.linspace(0.0, length, FIT_STATIONS)
    moved = {d: shapes.values(d, x) for d in DIRECTIONS}
    across = rng.normal(size=2) * [bool(np.any(moved[d])) for d in ("y", "z")]
    across /= np.linalg.norm(across) or 1.0
    shares = (*across, *rng.choice((-1.0, 1.0), size=2))
    total = np.zeros(len(shapes.names))
    for share, values in zip(shares, moved.values(), strict=True):
        bent = _static(shapes.stiffness, values.T @ rng.uniform(size=FIT_STATIONS))
        total += share * bent / (_size(moved, bent, length) or 1.0)
    return np.asarray(total / (_size(moved, total, length) or 1.0))


def _body_deformation(part: LinkModel, q: Array, rng: np.random.Generator) -> Array:
    """Return random amplitudes (m,) of a reduced body whose tip moves by the body's length."""
    if not part.flexible:
        return np.zeros(0)
    body = part.body.straight(part.span_length(q))
    length = float(np.linalg.norm(body.tip))
    pushed = body.tip_shape.T @ rng.normal(size=3) + body.tip_angle.T @ rng.normal(size=3)
    bent = _static(body.integrals.stiffness, pushed)
    moved = float(np.linalg.norm(body.tip_shape @ bent))
    turned = length * float(np.linalg.norm(body.tip_angle @ bent))
    return np.asarray(bent * length / (max(moved, turned) or 1.0))


def _static(stiffness: Array, load: Array) -> Array:
    """Return the static amplitudes (m,) under a load (m,).

    If the stiffness is singular, the amplitudes are those of least norm.
    """
    root = np.sqrt(np.diag(stiffness))
    scale = np.where(root > 0, root, 1.0)
    solved = np.linalg.lstsq(stiffness / np.outer(scale, scale), load / scale, rcond=None)[0]
    return np.asarray(solved / scale)


def _size(moved: dict[Direction, Array], amplitudes: Array, length: float) -> float:
    """Return the size of a deformation relative to the link's length.

    The size is the largest of transverse deflection over length, axial displacement over length,
    and twist [rad].
    """
    y, z, twist, x = (moved[d] @ amplitudes for d in DIRECTIONS)
    return max(_tip(np.hypot(y, z)), _tip(np.abs(x)), length * _tip(np.abs(twist))) / length


def _tip(along: Array) -> float:
    """Return the last value, at the tip, or the maximum along the link if that is much larger.

    The maximum is returned if it is at least twice the value at the tip.
    """
    return float(along[-1] if 2 * along[-1] > along.max() else along.max())
