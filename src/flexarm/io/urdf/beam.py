"""Beam model of a URDF link: beam axis, mass per length, and rigid bodies at the beam's ends."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from flexarm.arm.section import Material, Properties, Section, shape_properties
from flexarm.constants import ACCUMULATED, NEGLIGIBLE
from flexarm.errors import ModelError
from flexarm.io.constants import BEAM_SHARE, MISPLACED_MOMENT
from flexarm.io.model_file import from_data
from flexarm.io.source import shorten
from flexarm.io.urdf.document import Segment
from flexarm.spatial import NO_INERTIA, Array, Inertia, Pose, skew_matrix
from flexarm.units import quantity


def mass_along(body: Inertia, rod: Inertia, length: float) -> float:
    """Return the mass [kg] of a URDF link that is evenly distributed along its beam.

    The link is replaced by point masses at the beam's root and tip and an even line mass between
    them, with the link's mass and its first and second moments along the beam.

    Parameters
    ----------
    body
        Inertia of the link in the frame at the beam's root, whose x axis is along the beam.
    rod
        Inertia of a beam of 1 kg in the frame at the beam's root.
    length
        Length of the beam [m].
    """
    heaviest = mass_that_fits(body, rod)
    rod_integral = mass_between(rod, length)
    even_mass = mass_between(body, length) / rod_integral if rod_integral > 0 else heaviest
    return float(
        min(body.mass, np.clip(even_mass, (1 - BEAM_SHARE) * heaviest, BEAM_SHARE * heaviest))
    )


def mass_between(body: Inertia, length: float) -> float:
    """Return the mass [kg] of a uniform rod with the same integral of x (length - x) dm as a body.

    Masses at the beam's ends do not contribute to the integral. The mass is negative if masses
    behind the root or beyond the tip dominate the integral.
    """
    moments = _axial_moments(body)
    return float(moments[0, 1] * length - moments[1, 1]) * 6 / length**2


def mass_that_fits(body: Inertia, rod: Inertia) -> float:
    """Return the mass [kg] of the heaviest rod that can be removed from a body's inertia.

    The remaining inertia must be physically possible. ``rod`` is the inertia of the rod per
    kilogram.
    """
    bounds = [largest_share(_spatial(body), _spatial(rod))]
    if np.linalg.eigvalsh(_axial_moments(body))[0] >= 0:  # negative for impossible inertias
        bounds.append(largest_share(_axial_moments(body), _axial_moments(rod)))
    return min(bounds)


def split_at_ends(body: Inertia, length: float) -> tuple[Inertia, Inertia]:
    """Split a body into a body for the beam's root and a body for its tip.

    The two bodies together have the mass, centre of mass and inertia of the original body. Along
    the beam, their centres of mass are as near to the two ends as these conditions allow.

    Parameters
    ----------
    body
        Inertia of the body in the frame at the beam's root, whose x axis is along the beam.
    length
        Length of the beam [m].
    """
    if body.mass <= 0:
        return body, NO_INERTIA
    half_length, x = length / 2, float(body.centre[0])
    central = _central(body)
    covariance = np.eye(3) * np.trace(central) / 2 - central  # integral of r r^T about the centre
    # Mean square distance between the body's centre of mass and the centres of the two new bodies;
    # ``room`` is its value for centres at the beam's ends.
    room = half_length**2 - (x - half_length) ** 2
    distance, direction, second_moment = 0.0, np.array([1.0, 0.0, 0.0]), np.zeros((3, 3))
    if min(room, covariance[0, 0] / body.mass) > ACCUMULATED * length**2:
        direction = covariance[0] / covariance[0, 0]  # line through both centres of mass
        second_moment = body.mass * (
            np.eye(3) * (direction @ direction) - np.outer(direction, direction)
        )
        distance = min(room, covariance[0, 0] / body.mass, largest_share(central, second_moment))
    offset = float(np.hypot(x - half_length, np.sqrt(distance)))
    tip_bias = (x - half_length) / offset if offset else 0.0
    parts = []
    for side in (-1, 1):
        mass = body.mass * (1 + side * tip_bias) / 2
        centre = body.centre + (half_length + side * offset - x) * direction
        cross = skew_matrix(centre)
        part_inertia = (central - distance * second_moment) * mass / body.mass
        parts.append(Inertia(mass, mass * centre, part_inertia - mass * cross @ cross))
    return parts[0], parts[1]


def distance_to_ends(root: Inertia, tip: Inertia, length: float) -> float:
    """Return the mean distance [m] of two end bodies from their ends of the beam, along it.

    The distance is weighted by mass. Both inertias are in the frame at the beam's root. For a
    centre of mass beyond its end of the beam, the distance is 0.
    """
    moments = max(0.0, root.first[0]), max(0.0, length * tip.mass - tip.first[0])
    return float(sum(moments) / (root.mass + tip.mass)) if root.mass + tip.mass else 0.0


def largest_share(matrix: Array, part: Array) -> float:
    """Return the largest factor c for which ``matrix - c * part`` is positive semidefinite."""
    values, axes = np.linalg.eigh(matrix)
    nonzero = values > ACCUMULATED * values[-1]
    null_axes = axes[:, ~nonzero]
    if np.abs(null_axes.T @ part @ null_axes).max(initial=0.0) > ACCUMULATED * np.abs(part).max():
        return 0.0
    scaled = axes[:, nonzero] / np.sqrt(values[nonzero])
    return float(1 / np.linalg.eigvalsh(scaled.T @ part @ scaled)[-1])


def is_body(remainder: Inertia, body: Inertia) -> bool:
    """Return whether an inertia is positive semidefinite up to rounding.

    Rounding errors are relative to the inertia of ``body``, of which ``remainder`` is a part.
    """
    largest = np.linalg.eigvalsh(_spatial(body))[-1]
    return bool(np.linalg.eigvalsh(_spatial(remainder))[0] >= -ACCUMULATED * largest)


def central_without_rounding(body: Inertia) -> list[float]:
    """Return a body's inertia xx, yy, zz, xy, xz, yz about its centre of mass [kg m^2].

    Negative eigenvalues of the inertia matrix that are rounding errors are replaced by 0.
    """
    matrix = _central(body)
    values, axes = np.linalg.eigh(matrix)
    if -ACCUMULATED * np.trace(body.second) <= values[0] < 0:
        matrix = (axes * np.maximum(values, 0.0)) @ axes.T
    return [float(matrix[entry]) for entry in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]


def _central(body: Inertia) -> Array:
    cross = skew_matrix(body.centre)
    return np.asarray(body.second + body.mass * cross @ cross)


def _spatial(body: Inertia) -> Array:
    """Return the spatial inertia matrix (6, 6) of a body, for velocity, then angular velocity."""
    cross = skew_matrix(body.first)
    return np.block([[body.mass * np.eye(3), -cross], [cross, body.second]])


def _axial_moments(body: Inertia) -> Array:
    """Return mass [kg], first and second moment along x of a body as a matrix, (2, 2).

    The matrix is ``[[mass, first], [first, second]]``.
    """
    second = np.trace(body.second) / 2 - body.second[0, 0]
    return np.array([[body.mass, body.first[0]], [body.first[0], second]])


# Name of a URDF's link, and its mass [kg] by its place in the arm: ``base``, ``rigid`` link, or
# ``root``, ``beam`` and ``tip`` of a flexible link. ``urdf`` is the mass that the URDF states.
MassShare = tuple[tuple[str, ...], dict[str, float]]
COLUMNS = {"urdf": "URDF", "base": "base", "rigid": "rigid", "root": "root", "beam": "beam",
           "tip": "tip"}  # fmt: skip


def table_of(shares: list[MassShare]) -> list[str]:
    """Return the lines of a table of mass shares with their sums; empty columns are omitted."""
    shares = [share for share in shares if any(share[1].values())]
    keys = [key for key in COLUMNS if any(masses.get(key) for _, masses in shares)]
    rows = [["mass [kg]", *(COLUMNS[key] for key in keys)]]
    for names, masses in shares:
        rows.append([", ".join(names), *(_cell(masses.get(key, 0.0)) for key in keys)])
    total = [sum(masses.get(key, 0.0) for _, masses in shares) for key in keys]
    rows.append(["sum", *map(_cell, total)])
    width = max(len(row[0]) for row in rows)
    return [f"{row[0]:{width}}" + "".join(f"{cell:>10}" for cell in row[1:]) for row in rows]


def _cell(value: float) -> str:
    return f"{value:.4g}" if value else "-"


OWN_KEYS = ("from", "to", "up", "inertia", "tip_share")


def beam_of(segment: Segment, keys: dict[str, Any]) -> "Beam":
    """Build a beam along a link, and divide the link's mass between the beam and its two ends.

    Parameters
    ----------
    segment
        The link as read from a URDF.
    keys
        Keys of the link in the side file. ``section`` is the beam's section. ``from`` and ``to``
        [m] are the beam's ends in the link's frame (default: the link's origin and the next joint).
        ``up`` is the direction of the section's z axis. ``inertia`` is ``urdf`` (mass, centre of
        mass and inertia are those of the URDF) or ``section`` (the section's mass replaces the
        link's own). ``tip_share`` is the fraction at the tip of the mass that is not in the beam.

    Notes
    -----
    Links that fixed joints attach at the end of the beam or beyond it are added to the body at the
    tip, links behind the root to the body at the root. The mass of the link itself and of all other
    attached links is divided. The beam gets the section's mass or, if the section has no mass, the
    mass that is evenly distributed along the beam (`mass_along`). The beam's radius of gyration
    about its axis is that of the link; the radii across the axis are those of the section's shape,
    if there is one. The remaining mass is split between root and tip by `split_at_ends`, or by
    ``tip_share``.
    """
    start = _point(keys, "from", np.zeros(3))
    axis = _point(keys, "to", segment.end.position) - start
    length = float(np.linalg.norm(axis))
    if length < 1e-6:
        raise ModelError(
            "the next joint is at the root of this beam. Give the beam's end, 'to: [x, y, z]'."
        )
    pose = Pose(_axes(axis / length, keys.get("up")), start)
    attached = _attached_ends(segment, pose, length)
    own_members = [member for member in segment.members if member.name not in attached]
    bodies = [member.body.moved(pose.inverse()) for member in own_members]
    section, beam, remainder = _beam_and_rest(bodies, keys, length)
    root, tip = _split(remainder, length, keys.get("tip_share"))
    names, mass = tuple(member.name for member in own_members), sum(body.mass for body in bodies)
    own = {"urdf": mass, "root": root.mass, "beam": beam.mass, "tip": tip.mass}
    shares: list[MassShare] = [(names, own)]
    notes = []
    if keys.get("inertia") == "section":
        notes.append(
            f"{segment.name}: its section has a mass of {beam.mass:.3g} kg, in place of "
            f"the URDF's {bodies[0].mass:.3g} kg"
        )
    distance = distance_to_ends(root, tip, length)
    if (
        keys.get("tip_share") is None
        and distance * remainder.mass > MISPLACED_MOMENT * length * mass
    ):
        notes.append(
            f"warning: {segment.name}: {tip.mass:.3g} kg are placed on the beam's tip and "
            f"{root.mass:.3g} kg on its root, {distance:.2g} m from their places in the URDF, "
            "which does not say what carries them. If you know, give 'tip_share', or a section "
            "with mass."
        )
    total = sum(bodies, NO_INERTIA)
    if not _has_mass(keys["section"]) and mass_between(total, length) < -MISPLACED_MOMENT * mass:
        notes.append(
            f"warning: {segment.name}: some of it lies behind the beam's root or beyond its tip, "
            f"so that the URDF does not determine the mass along the beam. {beam.mass:.3g} kg is a "
            "guess. If you know it, give a section with mass."
        )
    root, tip = root.moved(pose), tip.moved(pose)
    for member in segment.members:
        if end := attached.get(member.name):
            shares.append(((member.name,), {"urdf": member.body.mass, end: member.body.mass}))
        tip += member.body if end == "tip" else NO_INERTIA
        root += member.body if end == "root" else NO_INERTIA
    return Beam(pose, length, section, root, tip, tuple(shares), tuple(notes))


def _beam_and_rest(
    bodies: list[Inertia], keys: dict[str, Any], length: float
) -> tuple[dict[str, Any], Inertia, Inertia]:
    """Return a section with its mass, and the inertias of the beam and of the remaining mass.

    The first of the given bodies is the link itself. All inertias are in the frame at the beam's
    root.
    """
    source, section = keys.get("inertia"), dict(keys["section"])
    if source not in (None, "urdf", "section"):
        raise ModelError(f"inertia: must be urdf or section, got {shorten(repr(source))}")
    if source == "section":
        if not _has_mass(section):
            raise ModelError(
                "inertia: 'section' needs the mass of the section. Give "
                "mass_per_length or a density."
            )
        return section, _inertia(_validated(section), length), sum(bodies[1:], NO_INERTIA)
    body = sum(bodies, NO_INERTIA)
    if _has_mass(section):
        beam = _inertia(_validated(section), length)
    else:
        section, beam = _section_with_mass(body, section, length)
    remainder = body - beam
    if not is_body(remainder, body):
        heaviest = mass_that_fits(body, _rod(length, np.zeros(3)))
        raise ModelError(
            f"the section has a mass of {beam.mass:.4g} kg, but at most {heaviest:.4g} kg of the "
            f"link's {body.mass:.4g} kg can be along the beam without a change of the URDF's "
            "mass, centre and inertia. Leave the section's mass out to use that much. To use "
            "the section's mass instead of the URDF's, write 'inertia: section'."
        )
    # If the beam has the whole mass, the remainder consists of rounding errors.
    if abs(remainder.mass) <= ACCUMULATED * body.mass:
        remainder = Inertia(0.0, np.zeros(3), remainder.second)
    return section, beam, remainder


def _attached_ends(segment: Segment, pose: Pose, length: float) -> dict[str, str]:
    """Return, by name of each link attached to an end of the beam, ``root`` or ``tip``.

    Links fixed behind the root, at the tip or beyond it, or to such a link, count as attached to
    that end. A link fixed exactly at the root is omitted, since it may represent the inertia of the
    beam itself.
    """
    members, ends = segment.members, dict[str, str]()
    for member in members[1:]:
        assert member.carrier is not None
        distance = (pose.inverse() @ member.pose).position[0]
        if carrier := ends.get(members[member.carrier].name):
            ends[member.name] = carrier
        elif distance >= length * (1 - NEGLIGIBLE):
            ends[member.name] = "tip"
        elif distance < -length * NEGLIGIBLE:
            ends[member.name] = "root"
    return ends


def _split(remainder: Inertia, length: float, share: Any) -> tuple[Inertia, Inertia]:
    """Divide the mass that is not in the beam into bodies at the beam's root and tip.

    ``share`` is the tip's fraction of this mass; if None, `split_at_ends` determines it.
    """
    if share is None:
        return split_at_ends(remainder, length)
    value = quantity(share, "1", name="tip_share")
    if not 0 <= value <= 1:
        raise ModelError(f"tip_share: must be a fraction from 0 to 1, got {value:g}")
    tip = Inertia(value * remainder.mass, value * remainder.first, value * remainder.second)
    return remainder - tip, tip


def _point(keys: dict[str, Any], key: str, default: Array) -> Array:
    value = keys.get(key)
    if value is None:
        return default
    if not isinstance(value, list) or len(value) != 3:
        raise ModelError(f"{key}: must be [x, y, z], got {value!r}")
    return np.array([quantity(component, "m", name=key) for component in value])


def _axes(x: Array, up: Any) -> Array:
    """Return the rotation matrix (3, 3) from beam to link axes.

    The beam's x axis is along ``x``, its z axis towards ``up``.
    """
    if up is None:
        components = np.abs(x)
        up = np.eye(3)[
            2 if components[2] <= components.min() + 1e-9 else int(np.argmin(components))
        ]
    else:
        up = _point({"up": up}, "up", x)
    z = up - x * (x @ up)
    if np.linalg.norm(z) <= 1e-6 * np.linalg.norm(up):
        raise ModelError("up: must be a direction across the beam, got one along it")
    z = z / np.linalg.norm(z)
    return np.array([x, np.cross(z, x), z]).T


def _has_mass(section: dict[str, Any]) -> bool:
    material = section.get("material")
    return (
        "mass_per_length" in section or "stations" in section
        or (isinstance(material, dict) and "density" in material)
    )  # fmt: skip


def _validated(section: dict[str, Any]) -> Section:
    """Return a section built from its keys; raise an error of one line if they are invalid."""
    try:
        return from_data(Section, section)
    except ModelError as error:
        raise ModelError(f"section.{str(error).splitlines()[0]}") from None


def _section_with_mass(
    body: Inertia, section: dict[str, Any], length: float
) -> tuple[dict[str, Any], Inertia]:
    """Return a section with a uniform mass per length from the link's inertia.

    The inertia of the beam is returned too.
    """
    squared_radii = np.array([body.central[0] / (body.mass or 1.0), 0.0, 0.0])
    if "material" in section or "shape" in section:
        section, squared_radii[1:] = _stiffnesses_and_radii(section)
    mass = mass_along(body, _rod(length, squared_radii), length)
    if mass <= 0:
        raise ModelError(
            "the link has no mass in the URDF that could be along the beam. Give "
            "'mass_per_length' and 'inertia: section'."
        )
    density = mass / length
    rotary = dict(zip(("Jx", "Jy", "Jz"), (density * squared_radii).tolist(), strict=True))
    section = {"mass_per_length": density, **rotary, **section}
    return section, _inertia(_validated(section), length)


def _stiffnesses_and_radii(section: dict[str, Any]) -> tuple[dict[str, Any], Array]:
    """Return a section's stiffnesses by name, and its squared radii of gyration [m^2].

    The radii are those about y and z.
    """
    material = section.get("material", {})
    if not isinstance(material, dict):
        raise ModelError(
            f"section.material: must be a mapping of E and nu or G, got {shorten(repr(material))}"
        )
    validated = _validated({**section, "material": {**material, "density": 1.0}})
    assert isinstance(validated.material, Material)
    assert validated.shape is not None
    numbers = shape_properties(
        validated.material, validated.shape, rotary=validated.rotary_inertia, shear=validated.shear
    )
    stiffnesses = {key: getattr(numbers, key) for key in ("EIy", "EIz", "GJ", "EA", "GAy", "GAz")}
    squared_radii = np.array([numbers.Jy, numbers.Jz]) / numbers.mass_per_length
    return {key: value for key, value in stiffnesses.items() if value is not None}, squared_radii


def _rod(length: float, squared_radii: Array) -> Inertia:
    """Return the inertia of a uniform rod of 1 kg along x about its root.

    ``squared_radii`` are the squared radii of gyration [m^2] about x, y and z of its section.
    """
    second = np.diag(squared_radii + np.array([0.0, length**2 / 3, length**2 / 3]))
    return Inertia(1.0, np.array([length / 2, 0.0, 0.0]), second)


def _inertia(section: Section, length: float) -> Inertia:
    """Compute the inertia of a straight beam along x, by three Gauss points between stations."""
    points, weights = np.polynomial.legendre.leggauss(3)
    edges, values = map(np.array, zip(*_pieces(section, length), strict=True))
    places = np.stack([(1 - points) / 2, (1 + points) / 2], axis=1)
    share = weights / 2 * np.diff(edges)[:, None]
    x = np.einsum("gk,kp->pg", places, [edges[:-1], edges[1:]])
    per_length = np.einsum("gk,kpn->npg", places, [values[:-1], values[1:]])
    mass, jx, jy, jz = per_length * share
    transverse = (mass * x * x).sum()
    moment = np.diag([jx.sum(), jy.sum() + transverse, jz.sum() + transverse])
    return Inertia(float(mass.sum()), np.array([(mass * x).sum(), 0.0, 0.0]), moment)


def _pieces(section: Section, length: float) -> list[tuple[float, Array]]:
    """Return stations [m] of a section, each with mass and rotary inertias per length, (4,).

    Between stations these values are linear.
    """

    def numbers(properties: Properties) -> Array:
        return np.array(
            [properties.mass_per_length or 0.0, properties.Jx, properties.Jy, properties.Jz]
        )

    if section.stations is not None:
        return [(properties.at, numbers(properties)) for properties in section.stations]
    uniform: Properties = section
    if section.material is not None and section.shape is not None:
        uniform = shape_properties(section.material, section.shape, rotary=section.rotary_inertia)
    return [(0.0, numbers(uniform)), (length, numbers(uniform))]


@dataclass(frozen=True)
class Beam:
    """A beam along a URDF link, and the rigid bodies at its two ends."""

    pose: Pose  # root frame of the beam in the link's frame
    length: float  # length of the beam [m]
    section: dict[str, Any]  # cross section, as keys of the model file
    root: Inertia  # body at the root, in the link's frame
    tip: Inertia  # body at the tip, in the link's frame
    # Masses of the link and of all links fixed to it, by their place in the arm.
    shares: tuple[MassShare, ...]
    notes: tuple[str, ...]
