"""Mass of a link of a URDF: along its beam, on the beam's root and on its tip."""

from dataclasses import dataclass

import numpy as np

from flexarm.spatial import ACCUMULATED, NO_INERTIA, Array, Inertia, skew_matrix

# The beam takes at most this share of the mass that could be along it, and at least the rest of 1,
# so that beam and remainder both stay bodies in spite of rounding.
MOST_ALONG = 0.99


def mass_along(body: Inertia, rod: Inertia, length: float) -> float:
    """Return the part of a link's mass that is spread evenly along its beam [kg].

    Mass at the root, mass at the tip and mass spread evenly between them are determined by a
    body's mass, first and second moment along the beam.  Where one of the three would be negative,
    the remainder of the body is not at the two ends alone.

    Parameters
    ----------
    body
        The link, in the frame at the beam's root, x along the beam.
    rod
        A beam of 1 kg, in the same frame.
    length
        Of the beam [m].
    """
    most = mass_that_fits(body, rod)
    between = mass_between(rod, length)
    evenly = mass_between(body, length) / between if between > 0 else most
    return float(min(body.mass, np.clip(evenly, (1 - MOST_ALONG) * most, MOST_ALONG * most)))


def mass_between(body: Inertia, length: float) -> float:
    """Return the mass of the even rod with the same integral of x (length - x) as a body [kg].

    Masses at the beam's ends do not contribute.  It is negative where masses behind the root or
    beyond the tip outweigh those between.
    """
    moments = _along(body)
    return float(moments[0, 1] * length - moments[1, 1]) * 6 / length**2


def mass_that_fits(body: Inertia, rod: Inertia) -> float:
    """Return the largest multiple of a rod of 1 kg whose removal leaves a body [kg]."""
    bounds = [largest_share(_spatial(body), _spatial(rod))]
    if smallest_eigenvalue(_along(body)) >= 0:  # negative of inertias that no body has
        bounds.append(largest_share(_along(body), _along(rod)))
    return min(bounds)


def split_at_ends(body: Inertia, length: float) -> tuple[Inertia, Inertia]:
    """Split a body into one for the beam's root and one for its tip.

    Together they have the body's mass, centre and inertia.  Along the beam, their centres are as
    near to the two ends as mass, centre and inertia allow.

    Parameters
    ----------
    body
        The body, in the frame at the beam's root, x along the beam.
    length
        Of the beam [m].
    """
    if body.mass <= 0:
        return body, NO_INERTIA
    middle, x = length / 2, float(body.centre[0])
    central = _central(body)
    second = np.eye(3) * np.trace(central) / 2 - central  # integral of r r^T about the centre
    # Mean square distance from the body's centre to those of the parts; at the ends it is `room`.
    room = middle**2 - (x - middle) ** 2
    distance, way, turning = 0.0, np.array([1.0, 0.0, 0.0]), np.zeros((3, 3))
    if min(room, second[0, 0] / body.mass) > ACCUMULATED * length**2:
        way = second[0] / second[0, 0]  # line along which the two centres lie
        turning = body.mass * (np.eye(3) * (way @ way) - np.outer(way, way))
        distance = min(room, second[0, 0] / body.mass, largest_share(central, turning))
    apart = float(np.hypot(x - middle, np.sqrt(distance)))
    towards_tip = (x - middle) / apart if apart else 0.0
    parts = []
    for side in (-1, 1):
        mass = body.mass * (1 + side * towards_tip) / 2
        cross = skew_matrix(body.centre + (middle + side * apart - x) * way)
        own = (central - distance * turning) * mass / body.mass
        parts.append(Inertia(mass, mass * _vector(cross), own - mass * cross @ cross))
    return parts[0], parts[1]


def distance_to_ends(root: Inertia, tip: Inertia, length: float) -> float:
    """Return the mean distance of masses from the beam's end that carries them [m].

    Both bodies are in the frame at the beam's root; beyond the ends is no distance.
    """
    moments = max(0.0, root.first[0]), max(0.0, length * tip.mass - tip.first[0])
    return float(sum(moments) / (root.mass + tip.mass)) if root.mass + tip.mass else 0.0


def smallest_eigenvalue(matrix: Array) -> float:
    """Return the smallest eigenvalue of an inertia, relative to the largest."""
    values = np.linalg.eigvalsh(matrix)
    return float(values[0] / max(abs(values[-1]), 1e-300))


def largest_share(matrix: Array, taken: Array) -> float:
    """Return the largest multiple of ``taken`` whose removal leaves no negative eigenvalue."""
    values, axes = np.linalg.eigh(matrix)
    weighs = values > ACCUMULATED * values[-1]
    without = axes[:, ~weighs]
    if np.abs(without.T @ taken @ without).max(initial=0.0) > ACCUMULATED * np.abs(taken).max():
        return 0.0
    scaled = axes[:, weighs] / np.sqrt(values[weighs])
    return float(1 / np.linalg.eigvalsh(scaled.T @ taken @ scaled)[-1])


def is_body(rest: Inertia, whole: Inertia) -> bool:
    """Return whether the rest of a body has no negative eigenvalue but for rounding."""
    largest = np.linalg.eigvalsh(_spatial(whole))[-1]
    return bool(np.linalg.eigvalsh(_spatial(rest))[0] >= -ACCUMULATED * largest)


def central_without_rounding(body: Inertia) -> list[float]:
    """Return xx, yy, zz, xy, xz, yz about the centre of mass [kg m^2]; rounding is no negative."""
    matrix = _central(body)
    values, axes = np.linalg.eigh(matrix)
    if -ACCUMULATED * np.trace(body.second) <= values[0] < 0:
        matrix = (axes * np.maximum(values, 0.0)) @ axes.T
    return [float(matrix[place]) for place in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]


def _central(body: Inertia) -> Array:
    cross = skew_matrix(body.centre)
    return np.asarray(body.second + body.mass * cross @ cross)


def _vector(cross: Array) -> Array:
    return np.array([cross[2, 1], cross[0, 2], cross[1, 0]])


def _spatial(body: Inertia) -> Array:
    """Inertia of a body against velocity and spin of its frame, (6, 6)."""
    cross = skew_matrix(body.first)
    return np.block([[body.mass * np.eye(3), -cross], [cross, body.second]])


def _along(body: Inertia) -> Array:
    """Mass [kg], first [kg m] and second moment [kg m^2] of a body along x, (2, 2)."""
    second = np.trace(body.second) / 2 - body.second[0, 0]
    return np.array([[body.mass, body.first[0]], [body.first[0], second]])


@dataclass(frozen=True)
class MassShare:
    """Division of the mass of links of a URDF among parts of the arm [kg]."""

    links: tuple[str, ...]  # names
    urdf: float  # mass in the URDF
    base: float = 0.0  # on the base
    rigid: float = 0.0  # on a rigid link
    root: float = 0.0  # on the root of a beam
    beam: float = 0.0  # along a beam
    tip: float = 0.0  # on the tip of a beam


COLUMNS = {"urdf": "URDF", "base": "base", "rigid": "rigid", "root": "root", "beam": "beam",
           "tip": "tip"}  # fmt: skip


def table_of(shares: list[MassShare]) -> list[str]:
    """Format the division of the masses, a line per share and their sum, without empty columns."""
    shares = [share for share in shares if any(getattr(share, key) for key in COLUMNS)]
    keys = [key for key in COLUMNS if any(getattr(share, key) for share in shares)]
    rows = [["mass [kg]", *(COLUMNS[key] for key in keys)]]
    for share in shares:
        rows.append([", ".join(share.links), *(_cell(getattr(share, key)) for key in keys)])
    total = [sum(getattr(share, key) for share in shares) for key in keys]
    rows.append(["sum", *map(_cell, total)])
    wide = max(len(row[0]) for row in rows)
    return [f"{row[0]:{wide}}" + "".join(f"{cell:>10}" for cell in row[1:]) for row in rows]


def _cell(value: float) -> str:
    return f"{value:.4g}" if value else "-"
