"""Geometry of deformed links: deflections, slopes, section forces and strains."""

from collections.abc import Iterator
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from flexarm.arguments import refused, require_array
from flexarm.arm.section import IBeam, Rectangle, RectangularTube, Section, Tube
from flexarm.arm.shapes import Lumped
from flexarm.errors import FlexarmError
from flexarm.links.base import DIRECTIONS, Direction
from flexarm.mechanics.bodies import body_of
from flexarm.mechanics.bodies.deformed import Along, Deformed
from flexarm.mechanics.constants import BLOCK_VALUES, CURVE_STATIONS, MOST_STATIONS
from flexarm.mechanics.kinematics import tip_section
from flexarm.model import LinkModel, Model, WholeLink
from flexarm.model.curve import straight_rows
from flexarm.spatial import Array


@dataclass(frozen=True)
class SectionForces:
    """Forces of the outboard part of a link on the inboard part, at S stations and T samples.

    Force and moment components are in the axes of the section; they are NaN where the link is
    rigid.

    Attributes
    ----------
    force
        Tension, and shear forces along y and z [N], (T, S, 3).
    moment
        Torsion, and bending moments about y and z [N m], (T, S, 3).
    strain
        Largest strain in the fibres of the section, (T, S). If the model file does not give the
        section's shape, the outermost fibres are at twice the radius of gyration ``sqrt(EI/EA)``,
        as in a solid round section; without EA the strain is NaN.
    """

    force: Array
    moment: Array
    strain: Array


def flexible_links(model: Model) -> list[LinkModel]:
    """Return the flexible spans of all links; a link of several spans has one entry per span."""
    return [part for part in model.links if part.flexible]


def flexible_wholes(model: Model) -> list[WholeLink]:
    """Return the links of the model file that bend, twist or stretch."""
    return [link for link in model.whole_links if link.flexible]


def blocks(samples: int, places: int) -> Iterator[slice]:
    """Return slices that divide the samples of a run into blocks that fit into memory."""
    size = max(BLOCK_VALUES // max(places, 1), 1)
    for start in range(0, samples, size):
        yield slice(start, min(start + size, samples))


def read_stations(stations: ArrayLike | None) -> Array:
    """Return stations as fractions of the span, from their number or from the fractions."""
    if stations is None:
        stations = CURVE_STATIONS
    if isinstance(stations, int):
        if stations < 2:
            raise FlexarmError(f"stations: must be at least 2, root and tip, got {stations}")
        _refuse_many(stations)
        return np.linspace(0.0, 1.0, stations)
    places = require_array("stations", stations)
    if places.ndim != 1 or not len(places) or not np.all((places >= 0) & (places <= 1)):
        raise FlexarmError(
            "stations: must be a number of stations, or a list of fractions of the span from 0 to 1"
        )
    _refuse_many(len(places))
    return places


def _refuse_many(stations: int) -> None:
    if stations > MOST_STATIONS:
        raise refused("stations", stations, f"at most {MOST_STATIONS:,} stations along a link")


def tip_rows(model: Model, link: WholeLink, q: Array) -> Array:
    """Return d/dq of a link's tip displacements [m] and of its tip twist times length.

    Each row has shape (n,); rows of zeros are omitted.
    """
    if not link.flexible:
        return np.zeros((0, model.size))
    if isinstance(link, LinkModel):
        straight = link.body.straight(link.span_length(q))
        own = np.vstack([straight.tip_shape, link.length * straight.tip_angle])[:4]
    else:
        tip = np.array([link.length])
        sizes = {d: link.length if d == "twist" else 1.0 for d in DIRECTIONS}
        own = np.vstack([size * straight_rows(link, d, tip) for d, size in sizes.items()])
    rows = np.zeros((4, model.size), dtype=own.dtype)
    rows[:, link.modes] = own
    return np.asarray(rows[np.any(rows != 0, axis=1)])


def deformed(model: Model, part: LinkModel, q: Array) -> Deformed:
    """Return the shape functions of a flexible link, and its amplitudes at T states q, (T, n)."""
    deformation = body_of(model, part).deformed(q)
    assert deformation is not None
    return deformation


def along(model: Model, link: WholeLink, q: Array, stations: Array) -> Along:
    """Compute the deformed axis of a link at fractions of its (exposed) span, at q, (T, n).

    Twist is the rotation about the tangent that remains after the smallest rotation of the x axis
    onto the tangent. Near slopes of pi, this smallest rotation, and with it the twist of links of
    several spans, changes abruptly.
    """
    if isinstance(link, LinkModel):
        return body_of(model, link).along(q, stations)
    deflection, slope = np.zeros((2, len(q), len(stations), 3))
    twist, axis = np.zeros((len(q), len(stations))), np.array([1.0, 0.0, 0.0])
    rotation, position = np.tile(np.eye(3), (len(q), 1, 1)), np.zeros((len(q), 1, 3))
    for span, inside, fractions in _by_span(link, stations):
        own = body_of(model, span).along(q, fractions)
        placed = own.deflection + np.outer(fractions * span.length, axis)
        placed, tangents = (position + placed @ rotation.mT, own.slope + axis)
        deflection[:, inside] = placed - np.outer(stations[inside] * link.length, axis)
        slope[:, inside] = tangents @ rotation.mT - axis
        twist[:, inside] = own.twist + _root_twist(rotation, tangents)
        tip_rotation, tip_position = _tips(model, span, q)
        position = position + tip_position @ rotation.mT
        rotation = rotation @ tip_rotation
    return Along(deflection, slope, twist)


def _root_twist(rotation: Array, tangents: Array) -> Array:
    """Return the twist (T, S) of untwisted sections that is due to their span's root rotation.

    ``rotation`` (T, 3, 3) is the rotation of the span's root in the link; ``tangents`` (T, S, 3)
    are in the frame of the span's root.
    """
    from scipy.spatial.transform import Rotation  # takes long to import

    x, y, z, w = Rotation.from_matrix(rotation).as_quat().T[:, :, None]
    # The smallest rotation from e_x to a tangent has the quaternion (cosine, 0, about_y, about_z).
    cosine = np.linalg.norm(tangents, axis=2) + tangents[..., 0]
    about_y, about_z = -tangents[..., 2], tangents[..., 1]
    turn = 2 * np.arctan2(
        x * cosine + y * about_z - z * about_y, w * cosine - y * about_y - z * about_z
    )
    return np.asarray((turn + np.pi) % (2 * np.pi) - np.pi)


def _by_span(
    link: WholeLink, stations: Array
) -> Iterator[tuple[LinkModel, NDArray[np.int_], Array]]:
    """Yield each span of a link that contains stations of the link.

    Indices of these stations, and their fractions of the span, follow the span.
    """
    scaled = stations * len(link.spans)
    numbers = np.minimum(scaled.astype(int), len(link.spans) - 1)
    for k, span in enumerate(link.spans):
        inside = np.flatnonzero(numbers == k)
        yield span, inside, scaled[inside] - k


def span_at(link: WholeLink, station: float) -> tuple[LinkModel, float]:
    """Return the span that contains a station of a link, and the station's fraction there."""
    ((span, fraction),) = [
        (span, float(fractions[0]))
        for span, inside, fractions in _by_span(link, np.array([station]))
        if len(inside)
    ]
    return span, fraction


def _tips(model: Model, span: LinkModel, q: Array) -> tuple[Array, Array]:
    """Return rotation (T, 3, 3) and position (T, 1, 3) of a span's tip in its root frame."""
    symbols = ca.SX.sym("q", model.size)
    tip = tip_section(model, span, symbols)
    function = ca.Function("tip", [symbols], [ca.vertcat(ca.vec(tip.rotation.T), tip.position)])
    rows = function(q.T).full().T
    return rows[:, :9].reshape(-1, 3, 3), rows[:, None, 9:]


def tip_deflection(model: Model, link: WholeLink, q: Array) -> Array:
    """Compute the displacement of a link's tip from the undeformed link [m], (T, 3)."""
    return along(model, link, q, np.ones(1)).deflection[:, 0]


def section_forces(model: Model, link: WholeLink, q: Array, stations: Array) -> SectionForces:
    """Compute section forces of a link at fractions of its span from stiffness times strains.

    Notes
    -----
    Moments are as accurate as second derivatives of the shapes, and shear forces as third
    derivatives; both converge more slowly than deflections. Shear forces balance the derivatives of
    the moments; rotary inertia of the sections is neglected. A reduced body of any shape has no
    sections: its section forces are NaN, and its strain at every station is the largest of all
    strains that its file defines.
    """
    if isinstance(link, LinkModel):
        return _span_forces(model, link, q, stations)
    force, moment = np.zeros((2, len(q), len(stations), 3))
    result = SectionForces(force, moment, np.zeros((len(q), len(stations))))
    for span, inside, fractions in _by_span(link, stations):
        own = _span_forces(model, span, q, fractions)
        force[:, inside], moment[:, inside] = own.force, own.moment
        result.strain[:, inside] = own.strain
    return result


def _span_forces(model: Model, part: LinkModel, q: Array, stations: Array) -> SectionForces:
    body = body_of(model, part)
    link = body.deformed(q)
    if link is None:
        strain = body.largest_strain(q)[:, None] + 0 * stations
        none = np.full((*strain.shape, 3), np.nan)
        return SectionForces(none, none, strain)
    places = stations * link.beam.span.length
    missing = np.full((len(q), len(places)), np.nan)
    force = np.stack([missing] * 3, axis=2)
    moment = force.copy()
    if isinstance(part.link.shapes, Lumped):  # rigid pieces joined by springs have no curvature
        return SectionForces(force, moment, missing)
    bends = link.curvatures(places, stiffening=model.stiffening)
    directions: tuple[tuple[Direction, str, int, float], ...] = (
        ("y", "EIz", 2, 1.0), ("z", "EIy", 1, -1.0)
    )  # fmt: skip
    for k, (direction, name, about, sign) in enumerate(directions):
        if link.shapes.moving(direction) and link.beam.span.has(name):
            stiffness = link.section(name, places)
            moment[:, :, about] = sign * stiffness * bends[k]
            if link.beam.nodes is None:
                lost = link.section(name, places, 1) * link.values(direction, places, 2)
                force[:, :, 1 + k] = -lost - stiffness * link.values(direction, places, 3)
    if link.shapes.moving("twist") and link.beam.span.has("GJ"):
        torsion = (
            link.values("twist", places, 1) if link.beam.nodes is None else link.strains(places)[2]
        )
        moment[:, :, 0] = link.section("GJ", places) * torsion
    if link.shapes.moving("x") and link.beam.span.has("EA"):
        force[:, :, 0] = link.section("EA", places) * link.values("x", places, 1)
    if link.beam.nodes is not None:
        force[:, :, 1:] = _exact_shear(link, places, moment)
    return SectionForces(force, moment, fibre_strain(part.link.section, link, places, bends))


def _exact_shear(link: Deformed, places: Array, moment: Array) -> Array:
    """Return the shear forces of an exact beam from the equilibrium of moments, (T, S, 2).

    With moment M, force N and stretch eps, the equilibrium is
    ``M' + k x M + (1 + eps) e_x x N = 0`` in the axes of the section, which rotate by k per unit
    length.
    """
    about = link.strain_rises(places)
    y, z, _ = link.strains(places)
    torque, *bending = np.moveaxis(np.nan_to_num(moment), 2, 0)
    turned = (-torque * z - about[2] * bending[0], torque * y - about[2] * bending[1])
    shear = np.full((*moment.shape[:2], 2), np.nan)
    for k, (name, bend) in enumerate((("EIz", y), ("EIy", z))):
        if link.shapes.moving("y" if k == 0 else "z") and link.beam.span.has(name):
            rise = link.section(name, places, 1) * bend + link.section(name, places) * about[k]
            shear[:, :, k] = (turned[k] - rise) / (1 + link.values("x", places, 1))
    return shear


def fibre_strain(
    section: Section | None, link: Deformed, places: Array, bends: tuple[Array, Array]
) -> Array:
    """Compute the largest strain in the fibres of a section, as in `SectionForces`, (T, S).

    ``bends`` is the pair of curvatures [1/m] along y and z, (T, S) each, at S ``places``.
    """
    bend_y, bend_z = bends
    shape, span = None if section is None else section.shape, link.beam.span
    if isinstance(shape, Tube):
        bent = np.hypot(bend_y, bend_z) * shape.diameter / 2
    elif isinstance(shape, Rectangle | RectangularTube | IBeam):
        bent = (np.abs(bend_y) * shape.width + np.abs(bend_z) * shape.height) / 2
    elif span.has("EA"):  # outermost fibres assumed as in a solid round section
        area = link.section("EA", places)
        radii = [
            np.sqrt(link.section(name, places) / area) if span.has(name) else 0.0
            for name in ("EIz", "EIy")
        ]
        bent = 2 * (np.abs(bend_y) * radii[0] + np.abs(bend_z) * radii[1])
    else:
        bent = np.full_like(bend_y, np.nan)
    return np.asarray(bent + np.abs(link.values("x", places, 1)))
