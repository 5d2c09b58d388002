"""Interface of link bodies: kinematics of sections, inertia and elastic energy of a link."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import casadi as ca
import numpy as np

from flexarm.arm import Arm
from flexarm.arm.shapes import Tabulated
from flexarm.links import discretisation
from flexarm.links.base import DIRECTIONS, LABELS, Direction, Shapes, Span
from flexarm.links.fields import Amounts
from flexarm.links.imported.file import inspect_stations
from flexarm.mechanics.bodies.deformed import Along, Deformed
from flexarm.mechanics.bodies.material import (
    CUBIC,
    STIFFENED,
    ElementSection,
    MaterialPoints,
)
from flexarm.mechanics.constants import SHAPE_STATIONS
from flexarm.mechanics.sections import (
    Local,
    SectionMotion,
    Terms,
    no_terms,
    own_values,
    quadratic_section,
    rigid_section,
    second_rates,
    turned_section,
)
from flexarm.model import LinkModel, Model
from flexarm.spatial import Array, Expr, constant


@dataclass(frozen=True)
class LinkBody(ABC):
    """Body of a link: a span from root frame L to flexible tip T, and rigid bodies fixed in L.

    Jacobians of a section have one column per link coordinate, in the order of ``part.own``.
    """

    # model, part: model of the arm, and model of the link.
    model: Model
    part: LinkModel
    # whether Jacobian columns may refer to the combined coordinates of `basis`
    combined: bool = False

    @property
    def basis(self) -> Expr | None:
        """Matrix (k, k) from combined coordinates to the k link coordinates; None if not combined.

        With a matrix B, the link coordinates are B times the combined coordinates, and Jacobians
        have one column per combined coordinate.
        """
        return None

    def amplitudes(self, q: Expr) -> Expr:
        """Return the link's m amplitudes from all coordinates q of the arm, (m,)."""
        return q[self.part.modes.start : self.part.modes.stop]

    def amounts(self, q: Expr, v: Expr) -> Amounts:
        """Return the variables on which section angles depend linearly, with rates, at q and v."""
        return self.part.body.amounts(own_values(self.part, q), own_values(self.part, v))

    def tip(self, q: Expr) -> Local:
        """Compute pose and Jacobian of the flexible tip T in the root frame L, at coordinates q."""
        return self.tip_motion(q, 0 * q).local

    @abstractmethod
    def section(self, q: Expr, x: float) -> Local:
        """Compute pose and Jacobian of the section at x [m] < length, in the root frame L."""

    def within(self, q: Expr, x: float | str) -> Local:
        """Compute pose and Jacobian, in the root frame L, of a section that carries another link.

        At a distance x [m] <= 0 from the root, the section is on the rigid piece before the span.
        On a body of any shape, x is the name of a frame.
        """
        assert isinstance(x, float)
        return self.section(q, x) if x > 0 else rigid_section(q, x, len(self.part.own))

    def motion_within(self, q: Expr, v: Expr, x: float | str) -> SectionMotion:
        """Compute the motion of a section that carries another link, at x as in `within`.

        The section's bias accelerations are its accelerations when all coordinates have the
        constant rates v.
        """
        own, rates = (ca.SX.sym(name, len(self.part.own)) for name in ("own", "rates"))
        there = ca.SX(q)
        there[list(self.part.own)] = own
        local = self.within(there, x)
        speeds = ca.vertcat(local.angular @ rates, local.linear @ rates)
        fields = local.position, local.rotation, local.linear, local.angular
        found = ca.substitute(
            [*fields, speeds, ca.jtimes(speeds, own, rates)],
            [own, rates],
            [own_values(self.part, q), own_values(self.part, v)],
        )
        speeds, biases = found[4:]
        return SectionMotion(Local(*found[:4]), speeds[:3], speeds[3:], biases[:3], biases[3:])

    def at_fraction(self, q: Expr, fraction: float) -> Local:
        """Compute a section's pose and Jacobian in the root frame, at a fraction of the span.

        For a sliding link, the span is its exposed part.
        """
        return self.section(q, fraction * self.part.length)

    @abstractmethod
    def tip_motion(self, q: Expr, v: Expr) -> SectionMotion:
        """Compute pose, velocity and acceleration bias of the tip T relative to the root L."""

    @abstractmethod
    def terms(self, q: Expr, v: Expr, omega: Expr) -> Terms:
        """Compute the link's inertia and velocity-dependent forces, without bodies at the tip.

        Parameters
        ----------
        q, v
            All coordinates and rates of the arm, (n,) each.
        omega
            Angular velocity of the root frame L, in the axes of L, (3,) [rad/s].
        """

    def points(self, own: Expr, rates: Expr) -> list[MaterialPoints]:
        """Return the mass points of the span; an empty list for a rigid body.

        ``own`` and ``rates`` are the link coordinates and their rates, (k,) each.
        """
        return []

    def turning(self, own: Expr, rates: Expr, omega: Expr) -> Terms:
        """Compute the span's inertia terms that do not come from the translation of mass points.

        These inertia terms come from the rotary inertia of sections, and from material that passes
        the mouth of a sliding link's hub.
        """
        return no_terms(rates)

    @property
    def points_per_element(self) -> int:
        """Number of Gauss points that integrate the inertia of a finite element exactly."""
        return STIFFENED if self.model.stiffening else CUBIC

    def elements(self, own: Expr, count: int) -> list[ElementSection]:
        """Return the mass points of the span's finite elements, ``count`` points per element.

        A rigid body returns an empty list.
        """
        return []

    def turning_material(self, own: Expr) -> Terms:
        """Compute the inertia terms of masses that represent the sections' rotary inertia.

        These masses are at the ends of unit vectors fixed in the sections; translation does not
        move them. All rates are zero.
        """
        return no_terms(own)

    def cayley_angles(self, q: Expr) -> Expr:
        """Return the first-order angles (3,) from which the tip's Cayley rotation is computed.

        The angles are 0 for a rigid body and for an exact beam, which do not use a Cayley rotation.
        """
        return ca.SX(3, 1)

    def turned(self, angle: Expr, rate: Expr, bias: Expr) -> tuple[Expr, Expr, Expr, Expr]:
        """Return a section's rotation matrix, angular velocity and angular acceleration bias.

        The rotation is given by first-order angles, their rates and their bias, (3,) each, as in
        `turned_section`, which also returns the angular velocity per rate of the angles, (3, 3).
        """
        first_order = self.model.tip_rotation == "first-order"
        return turned_section(angle, rate, bias, self.model.stiffening, first_order)

    def angled(
        self, moved: tuple[Expr, Expr, Expr], angles: tuple[Expr, Expr, Expr], rates: Expr
    ) -> SectionMotion:
        """Return pose, velocity and acceleration bias of a section that first-order angles rotate.

        ``moved`` is the section's position (3,), the Jacobian of the position with respect to the
        link coordinates (3, k), and the acceleration at constant rates (3,). ``angles`` are the
        section angles, with their Jacobian and their second time derivatives at constant rates.
        ``rates`` are the rates of the link coordinates, (k,).
        """
        (place, linear, bias), (angle, by, gained) = moved, angles
        rotation, per, spin, spin_bias = self.turned(angle, by @ rates, gained)
        local = Local(place, rotation, linear, per @ by)
        return SectionMotion(local, spin, linear @ rates, spin_bias, bias)

    def tabled(
        self,
        d: Expr,
        rates: Expr,
        start: Array,
        linear: Sequence[Array],
        quadratic: Sequence[Array],
    ) -> SectionMotion:
        """Return the motion of a section from tabulated displacement and rotation per amplitude.

        ``start`` is the section's undeformed position, (3,) [m]. ``linear`` contains displacement
        and first-order rotation per amplitude, (3, m) each. ``quadratic`` contains displacement and
        first-order rotation per product of two amplitudes, (3, m, m) each.
        """
        moved, turned = (
            (*quadratic_section(d, once, twice), second_rates(twice, rates))
            for once, twice in zip(linear, quadratic, strict=True)
        )
        return self.angled((constant(start) + moved[0], *moved[1:]), turned, rates)

    def strain_energy(self, e: Amounts) -> list[Expr]:
        """Compute the terms of the elastic energy [J] that linear theory does not contain.

        For a sliding link, the k-th term of the list is proportional to the power k - 1 of the
        exposed length.
        """
        return []

    def strain_effort(self, e: Amounts) -> Expr:
        """Compute the gradient (K,) of `strain_energy` in the K section-angle variables."""
        return type(e.value)(*e.value.shape)

    def energy(self, q: Expr) -> Expr:
        """Compute the elastic energy [J] of the body at coordinates q."""
        e = self.amounts(q, 0 * q)
        stiffness, *more = (matrix for matrix, _ in self.part.body.stiffness_at(e.length))
        energy: Expr = ca.dot(e.value, sum(more, stiffness) @ e.value) / 2
        energy = sum(self.strain_energy(e), energy)
        return energy + given_energy(self.part, self.part.body.names, self.amplitudes(q))

    def effort(self, q: Expr) -> Expr:
        """Compute the gradient (k,) of the elastic energy in the k link coordinates.

        The stiffness of a sliding link changes with its length, which causes a force on the link's
        joint. Theodore & Ghosal 1995, equations 26 to 31, omit this force (erratum); here it is
        included.
        """
        e = self.amounts(q, 0 * q)
        return self.chained(e, self.strain_effort(e)) + self.given_effort(q)

    def chained(self, e: Amounts, strained: Expr) -> Expr:
        """Return the gradient of the elastic energy with respect to the k link coordinates, (k,).

        The energy is that of linear theory plus `strain_energy`, whose gradient with respect to the
        K variables of the section angles is ``strained``, (K,).
        """
        stiffness = self.part.body.stiffness_at(e.length)
        first, *rest = linear = [matrix @ e.value for matrix, _ in stiffness]
        if e.columns is None:
            return first + strained
        effort = e.columns.T @ (sum(rest, first) + strained)
        for moment, (_, powers) in zip(linear, stiffness, strict=True):
            effort[0] += ca.dot(constant(powers) * e.value, moment) / (2 * e.length)
        for k, energy in enumerate(self.strain_energy(e)):
            effort[0] += (k - 1) * energy / e.length
        return effort

    def given_effort(self, q: Expr) -> Expr:
        """Compute the gradient (k,) of the elastic energy that the model file adds to the link.

        Energies of a model file are power products of amplitudes and force tables.
        """
        link, own = self.part.link, own_values(self.part, q)
        if not (link.elastic_energy or link.elastic_force):
            return type(q)(*own.shape)
        names = self.part.body.names
        return ca.gradient(given_energy(self.part, names, own[own.shape[0] - len(names) :]), own)

    def damping(self, q: Expr) -> Expr | None:
        """Return the damping matrix of the link's amplitudes, (m, m); None without damping."""
        return self.part.body.damping_at(own_values(self.part, q))

    def deformed(self, q: Array) -> Deformed | None:
        """Return the shape functions and amplitudes of a beam at T states q, (T, n).

        Bodies other than beams return None.
        """
        return None

    def along(self, q: Array, stations: Array) -> Along:
        """Compute deflection, slope and twist at fractions of the (exposed) span, at q, (T, n)."""
        link = self.deformed(q)
        if link is None:
            none = np.zeros((len(q), len(stations), 3))
            return Along(none, none, none[:, :, 0])
        quadratic = self.part.link.quadratic_shapes
        return link.along(stations, stiffening=self.model.stiffening, extra=quadratic)

    def tip_angles(self, q: Array) -> Array:
        """Return the angle [rad] between tip tangent and root axis, (T,), at T states q, (T, n)."""
        slope = self.along(q, np.ones(1)).slope[:, 0]
        return np.asarray(np.hypot(slope[:, 1], slope[:, 2]))

    def largest_strain(self, q: Array) -> Array:
        """Return the largest strain that the body's file defines, (T,), at T states q, (T, n).

        Without such data the strain is NaN.
        """
        return np.full(len(q), np.nan)

    def drawn_amplitudes(self, q: Array) -> Array:
        """Return the amplitudes of the displayed shapes, (T, m), at T states q, (T, n)."""
        link = self.deformed(q)
        return q[:, self.part.modes] if link is None else link.amplitudes

    def traced_amplitudes(self, q: Expr) -> Expr:
        """Return the amplitudes of the displayed shapes as expressions of q, shape (m,)."""
        return q[self.part.modes]

    def slope_amounts(self, q: Expr) -> tuple[Expr, str]:
        """Return the variables (K,) on which section angles depend linearly, and a unit of length.

        Positions along the span are measured in this unit: metres, or for a sliding link its
        exposed length.
        """
        unit = "m" if self.part.body.range is None else "exposed lengths"
        return self.amounts(q, 0 * q).value, unit

    def curvature(self, q: Expr, axis: Literal["y", "z"], fraction: float) -> Expr | None:
        """Return the curvature [1/m] of a section per amplitude, (1, m); None without sections.

        The section is at a fraction of the (exposed) span; the deflection is along ``axis``.
        """
        return None

    def ratio_damping(self, q: Array, arm: Arm, index: int) -> Array:
        """Return the damping matrix at q, (m, m), by the damping of link ``index`` of ``arm``."""
        return np.zeros((0, 0))

    def mode_names(self, q: Array, strains: Array) -> list[str]:
        """Return names of k modes: the direction with most strain energy, and a number.

        ``strains`` are the fractions of each mode's strain energy per amplitude, (m, k).
        """
        shapes = self.shapes_at(q)
        assert shapes is not None
        most = [
            max(DIRECTIONS, key=lambda d: float(column[[x == d for x in shapes.directions]].sum()))
            for column in strains.T
        ]
        return [f"{LABELS[d]}{most[: k + 1].count(d)}" for k, d in enumerate(most)]

    def described(self) -> tuple[str, str]:
        """Return the name of the kind of shape functions, and a one-line description."""
        kind = self.part.link.shapes.kind
        return kind, discretisation(kind).summary

    def file_report(self) -> list[str]:
        """Return report lines on the file of the body's data; an empty list without a file."""
        shapes = self.part.link.shapes
        if not isinstance(shapes, Tabulated):
            return []
        return inspect_stations(shapes.side_file, self.part.beam.span)[0].lines()

    def directions(self, q: Array) -> list[Direction | None]:
        """Return the direction in which each amplitude mainly deforms a beam, else None."""
        span, shapes = self.span_at(q), self.shapes_at(q)
        if span is None or shapes is None:
            return [None] * len(self.part.body.names)
        sizes = shape_sizes(shapes, span)
        sizes[DIRECTIONS.index("twist")] *= span.length
        return [DIRECTIONS[k] for k in np.argmax(sizes, axis=0)]

    def shapes_at(self, q: Array) -> Shapes | None:
        """Return the body's shape functions at coordinates q, (n,), or None."""
        return None

    def span_at(self, q: Array) -> Span | None:
        """Return the flexible span, for a sliding link its exposed part; None for other bodies."""
        return None


def shape_sizes(shapes: Shapes, span: Span) -> Array:
    """Return the maxima of m shapes along a span, (4, m), for displacements y, z, x and twist."""
    x = np.linspace(0.0, span.length, SHAPE_STATIONS)
    return np.array([np.abs(shapes.values(d, x)).max(axis=0) for d in DIRECTIONS])


def given_energy(part: LinkModel, names: tuple[str, ...], d: Expr) -> Expr:
    """Return the elastic energy [J] that the model file adds to a link with amplitudes d, (m,).

    Energies of a model file are power products of amplitudes and force tables.
    """
    energy = type(d)(0)
    for term in part.link.elastic_energy:
        product = type(d)(term.coefficient)
        for name, power in term.powers.items():
            product *= d[names.index(name)] ** power
        energy += product
    for table in part.link.elastic_force:
        energy += table_spring(table.amplitude, table.force, d[names.index(table.coordinate)])[0]
    return energy


def table_spring(
    places: tuple[float, ...], efforts: tuple[float, ...], x: Expr
) -> tuple[Expr, Expr]:
    """Return energy [J] and force of a tabulated spring; the force is extrapolated linearly."""
    slopes = [
        (efforts[k + 1] - efforts[k]) / (places[k + 1] - places[k]) for k in range(len(places) - 1)
    ]
    start = efforts[0] - slopes[0] * places[0]
    energy, effort = start * x + slopes[0] * x * x / 2, start + slopes[0] * x
    for k, (before, after) in enumerate(pairwise(slopes), 1):
        beyond, at_rest = ca.fmax(x - places[k], 0), max(-places[k], 0.0)
        energy += (after - before) * (beyond * beyond - at_rest * at_rest) / 2
        effort += (after - before) * beyond
    return energy, effort
