"""Search for motions without inertia, for which the mass matrix is singular."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flexarm.constants import DUST, NAMED_SHARE, SINGULAR
from flexarm.errors import SimulationError
from flexarm.links.end_loads import own_inertia
from flexarm.model import Model
from flexarm.model.constants import NAMED_COORDINATES
from flexarm.spatial import Array, Inertia


def total_mass(model: Model) -> float:
    """Return the mass [kg] of an arm with its base, hubs, motors and payload."""
    links = [own_inertia(part.link).mass + part.tip_body.mass for part in model.links]
    return model.base_body.mass + sum(links)


@dataclass(frozen=True)
class Weightless:
    """Motion of the arm without inertia: entry of the model file, description and remedy."""

    place: str
    message: str
    remedy: str


def weightless(
    model: Model, mass: Array, names: Sequence[str] | None = None, *, when: str = "at the start"
) -> Weightless | None:
    """Return a motion of the arm without inertia, or None if the mass matrix is regular.

    Parameters
    ----------
    model
        Model of the arm.
    mass
        Mass matrix (k, k) of the coordinates ``names``; if ``names`` is None, the whole mass matrix
        (n, n), from which prescribed coordinates are removed.
    names
        Names of the k coordinates.
    when
        Time of the state, as text for the message.
    """
    if names is None:
        moving = [i for i in range(model.size) if i not in model.prescribed]
        names, mass = [model.names[i] for i in moving], mass[np.ix_(moving, moving)]
    if not np.all(np.isfinite(mass)):
        return Weightless(
            "links",
            f"the mass matrix overflows {when}",
            "Masses or lengths are too large. Check their units.",
        )
    least, vector = least_inertia(mass, _rounding(model, names))
    if least > SINGULAR:
        return None
    size = np.abs(vector)
    mine = [names[i] for i in np.argsort(-size) if size[i] > NAMED_SHARE * size.max()]
    which = mine[0] if len(mine) == 1 else f"a motion of {listed(mine)} together"
    return Weightless(
        place_of(model, mine[0]),
        f"{which} has no inertia {when}. The mass matrix is singular, and neither modes "
        "nor accelerations exist",
        "Give the parts that move a mass or inertia (hub, body, Jx of the section, "
        "rotor_inertia), start elsewhere, or fix the joint",
    )


def require_inertia(
    model: Model, mass: Array, names: Sequence[str] | None = None, *, when: str = "at the start"
) -> None:
    """Raise an error if a motion of the arm has no inertia.

    Raises
    ------
    SimulationError
        If a motion has no inertia, with the message of ``flexarm check``.
    """
    notice = weightless(model, mass, names, when=when)
    if notice is not None:
        raise SimulationError(f"{notice.place}: {notice.message}. {notice.remedy}")


def place_of(model: Model, coordinate: str) -> str:
    """Return the entry of the model file that defines a coordinate, such as ``links[1]``."""
    index = model.names.index(coordinate)
    for part in model.links:
        own = [k for axis in part.axes for k in (axis.motor, axis.index)]
        if index in own or part.modes.start <= index < part.modes.stop:
            return f"links[{part.number}]"
    return "base"


def listed(names: Sequence[str]) -> str:
    """Return at most six names joined by commas, and the number of the others."""
    more = f" and {len(names) - NAMED_COORDINATES} more" if len(names) > NAMED_COORDINATES else ""
    return ", ".join(names[:NAMED_COORDINATES]) + more


def _rounding(model: Model, names: Sequence[str]) -> Array:
    """Return a bound on the rounding error of the inertia [kg m^2] about each joint axis, (k,).

    Upper bounds of mass, first and second moments of all bodies that a joint carries are added up
    link by link, from the tips to the base.
    """
    roundings: dict[str, float] = {}
    # Moments outboard of each link; the last row is of the base.
    beyond = np.zeros((len(model.links) + 1, 3))
    for index in reversed(range(len(model.links))):
        part = model.links[index]
        carried = _carried(beyond[index], part.tip_body, part.length)
        root = float(np.linalg.norm(part.pose_JL.position))
        carried = _carried(carried, own_inertia(part.link), root)
        roundings |= {a.name: DUST * carried[2] for a in part.axes if a.turns}
        joint = float(np.linalg.norm(part.pose_FJ.position))
        beyond[part.parent] += _carried(carried, part.mount_body, joint)
    return np.array([roundings.get(name, 0.0) for name in names])


def _carried(moments: Array, body: Inertia, distance: float) -> Array:
    """Return bounds on mass, first and second moment of bodies plus one more, (3,).

    ``moments`` are the bounds without the body; the result is about a point farther by
    ``distance``.
    """
    turned = np.trace(body.second)
    own = np.array([body.mass, np.sqrt(body.mass * turned), turned])
    zeroth, first, second = moments + own
    return np.array(
        [zeroth, first + distance * zeroth, second + 2 * distance * first + distance**2 * zeroth]
    )


def least_inertia(mass: Array, rounding: Array | float = 0.0) -> tuple[float, Array]:
    """Compute the smallest eigenvalue of M scaled to unit diagonal, and its eigenvector.

    The eigenvalue is 0 if the inertia of a coordinate is within its rounding error ``rounding``
    (k,), and infinite if M has non-finite entries.
    """
    inertia = np.abs(np.diag(mass))
    if not len(inertia) or not np.all(np.isfinite(mass)):
        return np.inf, inertia
    none = inertia <= rounding
    if np.any(none):
        return 0.0, none.astype(float)
    size = np.sqrt(inertia)
    values, vectors = np.linalg.eigh(mass / np.outer(size, size))
    return float(values[0]), vectors[:, 0]
