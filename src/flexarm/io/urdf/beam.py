"""A link of a URDF as a beam: where it runs, and what of the link's mass it takes."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from pydantic import ValidationError

from flexarm.arm.section import Material, Properties, Section, shape_properties
from flexarm.errors import ModelError
from flexarm.io.source import shorten
from flexarm.io.urdf.chain import Segment
from flexarm.spatial import Array, Inertia, Pose, skew_matrix
from flexarm.units import quantity

SPREAD = 0.99  # of the mass that could be along the beam: the rest remains a body
OWN_KEYS = ("from", "to", "up", "inertia")


def beam_of(segment: Segment, given: dict[str, Any]) -> "Beam":
    """Lay a beam through a link, and take its mass out of the link's.

    Parameters
    ----------
    segment
        The link as a URDF has it.
    given
        What the side file says of it: ``section``; ``from`` and ``to`` [m], the beam's ends in the
        link's frame, its origin and the next joint's if left out; ``up``, where z of the section
        points; ``inertia``, ``urdf`` (mass, centre and inertia stay the URDF's) or ``section``.

    Notes
    -----
    Where the section has no mass, the beam takes as much of the link's as it can while what remains
    is a body, at most all of it, with the link's radius of gyration about the beam, and across it
    that of the section's shape, if it has one.  What remains stays rigid at the root.
    """
    kept = given.get("inertia")
    if kept not in (None, "urdf", "section"):
        raise ModelError(f"inertia: must be urdf or section, got {shorten(repr(kept))}")
    start = _point(given, "from", np.zeros(3))
    way = _point(given, "to", segment.end.position) - start
    length = float(np.linalg.norm(way))
    if length < 1e-6:
        raise ModelError(
            "the next joint is where it begins: say where the beam ends, 'to: [x, y, z]'"
        )
    pose = Pose(_axes(way / length, given.get("up")), start)
    section = dict(given["section"])
    if _says_mass(section):
        beam = _inertia(_validated(section), length)
    else:
        section, beam = _spread(segment, section, length, pose)
    if kept == "section":
        return Beam(pose, length, section, None)
    rest = segment.body - beam.moved(pose)
    if _least(rest) < -1e-12:
        rod = _rod(length, np.zeros(3)).moved(pose)
        raise ModelError(
            f"the section weighs {beam.mass:.4g} kg, but at most {_most(segment.body, rod):.4g} kg "
            f"of the link's {segment.body.mass:.4g} kg can be along the beam while its mass, "
            "centre and inertia stay the URDF's: leave its mass out, to take what fits, or say "
            "'inertia: section', to take the section's in place of the URDF's"
        )
    return Beam(pose, length, section, rest)


def _point(given: dict[str, Any], key: str, default: Array) -> Array:
    value = given.get(key)
    if value is None:
        return default
    if not isinstance(value, list) or len(value) != 3:
        raise ModelError(f"{key}: must be [x, y, z], got {value!r}")
    return np.array([quantity(each, "m", name=key) for each in value])


def _axes(x: Array, up: Any) -> Array:
    """Rotation from beam to link axes: x along the beam, z towards `up`."""
    if up is None:
        away = np.abs(x)
        up = np.eye(3)[2 if away[2] <= away.min() + 1e-9 else int(np.argmin(away))]
    else:
        up = _point({"up": up}, "up", x)
    z = up - x * (x @ up)
    if np.linalg.norm(z) <= 1e-6 * np.linalg.norm(up):
        raise ModelError("up: is along the beam: give a direction across it")
    z = z / np.linalg.norm(z)
    return np.array([x, np.cross(z, x), z]).T


def _says_mass(section: dict[str, Any]) -> bool:
    material = section.get("material")
    return (
        "mass_per_length" in section or "stations" in section
        or (isinstance(material, dict) and "density" in material)
    )  # fmt: skip


def _validated(section: dict[str, Any]) -> Section:
    """Check a section by itself; what is wrong with it is told of the whole arm."""
    try:
        return Section.model_validate(section)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, ("section", *first["loc"])))
        raise ModelError(f"{where}: {first['msg']}") from None


def _spread(
    segment: Segment, section: dict[str, Any], length: float, pose: Pose
) -> tuple[dict[str, Any], Inertia]:
    """Give a section without mass that of the link, as far as it fits."""
    about_x = segment.body.moved(pose.inverse()).central[0] / (segment.body.mass or 1.0)
    squared = np.array([about_x, 0.0, 0.0])
    if "material" in section or "shape" in section:
        section, squared[1:] = _by_numbers(section)
    rod = _rod(length, squared).moved(pose)
    mass = min(segment.body.mass, SPREAD * _most(segment.body, rod))
    if mass <= 1e-6 * segment.body.mass or not mass:
        raise ModelError(
            "has no mass that could be along the beam: give 'mass_per_length' and 'inertia: "
            "section'"
        )
    density = mass / length
    rotary = dict(zip(("Jx", "Jy", "Jz"), (density * squared).tolist(), strict=True))
    section = {"mass_per_length": density, **rotary, **section}
    return section, _inertia(_validated(section), length)


def _by_numbers(section: dict[str, Any]) -> tuple[dict[str, Any], Array]:
    """Give stiffnesses of a shape, and its squared radii of gyration about y and z [m^2]."""
    material = section.get("material", {})
    if not isinstance(material, dict):
        raise ModelError(
            f"section.material: must be a mapping of E and nu or G, got {shorten(repr(material))}"
        )
    found = _validated({**section, "material": {**material, "density": 1.0}})
    assert isinstance(found.material, Material)
    assert found.shape is not None
    numbers = shape_properties(
        found.material, found.shape, rotary=found.rotary_inertia, shear=found.shear
    )
    stiff = {key: getattr(numbers, key) for key in ("EIy", "EIz", "GJ", "EA", "GAy", "GAz")}
    across = np.array([numbers.Jy, numbers.Jz]) / numbers.mass_per_length
    return {key: value for key, value in stiff.items() if value is not None}, across


def _rod(length: float, squared: Array) -> Inertia:
    """Give a rod of 1 kg along x, with its section's squared radii of gyration [m^2]."""
    second = np.diag(squared + np.array([0.0, length**2 / 3, length**2 / 3]))
    return Inertia(1.0, np.array([length / 2, 0.0, 0.0]), second)


def _inertia(section: Section, length: float) -> Inertia:
    """Weigh a straight beam along x from its root: three Gauss points between stations."""
    points, weights = np.polynomial.legendre.leggauss(3)
    total = Inertia(0.0, np.zeros(3), np.zeros((3, 3)))
    pieces = _pieces(section, length)
    for (a, first), (b, second) in pairwise(pieces):
        for point, weight in zip(points, weights, strict=True):
            share, dx = (1 + point) / 2, weight * (b - a) / 2
            mass, jx, jy, jz = (first * (1 - share) + second * share) * dx
            x = a + share * (b - a)
            moment = np.diag([jx, jy + mass * x * x, jz + mass * x * x])
            total += Inertia(mass, np.array([mass * x, 0.0, 0.0]), moment)
    return total


def _pieces(section: Section, length: float) -> list[tuple[float, Array]]:
    """Mass and rotary inertia per length at places between which they are linear."""

    def numbers(each: Properties) -> Array:
        return np.array([each.mass_per_length or 0.0, each.Jx, each.Jy, each.Jz])

    if section.stations is not None:
        return [(each.at, numbers(each)) for each in section.stations]
    uniform: Properties = section
    if section.material is not None and section.shape is not None:
        uniform = shape_properties(section.material, section.shape, rotary=section.rotary_inertia)
    return [(0.0, numbers(uniform)), (length, numbers(uniform))]


def _matrix(body: Inertia) -> Array:
    """Inertia of a body against velocity and spin of its frame, (6, 6)."""
    cross = skew_matrix(body.first)
    return np.block([[body.mass * np.eye(3), -cross], [cross, body.second]])


def _least(body: Inertia) -> float:
    """Smallest eigenvalue of a body, relative to its largest: negative of what is none."""
    values = np.linalg.eigvalsh(_matrix(body))
    return float(values[0] / max(abs(values[-1]), 1e-300))


def _most(body: Inertia, rod: Inertia) -> float:
    """How often a rod can be taken out of a body so that a body remains."""
    matrix = _matrix(body)
    try:
        half = np.linalg.inv(np.linalg.cholesky(matrix))
    except np.linalg.LinAlgError:
        return 0.0
    return float(1 / np.linalg.eigvalsh(half @ _matrix(rod) @ half.T)[-1])


@dataclass(frozen=True)
class Beam:
    """A beam in a link: its root frame in the link's, its length [m], its section, what remains.

    ``rest`` is the rigid body that stays at the root, in the link's frame, or None.
    """

    pose: Pose
    length: float
    section: dict[str, Any]
    rest: Inertia | None
