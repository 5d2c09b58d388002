"""Interface of bodies of links: kinematics of sections, inertia and elasticity."""

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
    """Span of a link between its root L and its flexible tip T, with the rigid bodies fixed in L.

    A final class implements the abstract methods; algorithms do not depend on the class of a body.
    Every coordinate that deforms the link has a Jacobian column, in the order of ``part.own``.
    """

    # model, part: model of the arm, and model of the link.
    model: Model
    part: LinkModel
    combined: bool = False  # whether Jacobian columns may refer to `basis`

    @property
    def basis(self) -> Expr | None:
        """Matrix (k, k) that maps combinations of link coordinates to the link coordinates.

        None if the columns of Jacobians refer to the link coordinates themselves.
        """
        return None

    def amplitudes(self, q: Expr) -> Expr:
        """Return the amplitudes from q, (m,)."""
        return q[self.part.modes.start : self.part.modes.stop]

    def amounts(self, q: Expr, v: Expr) -> Amounts:
        """Return the variables on which the section angles depend linearly, with their rates."""
        return self.part.body.amounts(own_values(self.part, q), own_values(self.part, v))

    def tip(self, q: Expr) -> Local:
        """Compute the flexible tip's pose and Jacobian in the root frame."""
        return self.tip_motion(q, 0 * q).local

    @abstractmethod
    def section(self, q: Expr, x: float) -> Local:
        """Compute a section's pose in the root frame, at x [m] < length along the axis."""

    def within(self, q: Expr, x: float) -> Local:
        """Compute the pose of a section that carries a link; the piece before the span is rigid."""
        return self.section(q, x) if x > 0 else rigid_section(q, x, len(self.part.own))

    def motion_within(self, q: Expr, v: Expr, x: float) -> SectionMotion:
        """Compute the motion of a section that carries a link, at x [m] from the root.

        The bias accelerations are the derivatives of the section's velocity along the rates v.
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
        """Compute a section's pose in the root frame, at a fraction of the (exposed) span."""
        return self.section(q, fraction * self.part.length)

    @abstractmethod
    def tip_motion(self, q: Expr, v: Expr) -> SectionMotion:
        """Compute the pose, velocity and acceleration bias of the tip relative to the root."""

    @abstractmethod
    def terms(self, q: Expr, v: Expr, omega: Expr) -> Terms:
        """Compute inertia and velocity-dependent forces, without bodies at the tip.

        Parameters
        ----------
        q, v
            All coordinates and rates, (n,) each.
        omega
            Angular velocity of L, in L, (3,).
        """

    def points(self, own: Expr, rates: Expr) -> list[MaterialPoints]:
        """Return the span's mass points at link coordinates and rates, (k,); none if rigid."""
        return []

    def turning(self, own: Expr, rates: Expr, omega: Expr) -> Terms:
        """Compute the span's inertia terms that do not come from translation of mass points.

        They come from the rotary inertia of sections, and from material that passes the mouth of a
        hub.
        """
        return no_terms(rates)

    @property
    def points_per_element(self) -> int:
        """Number of Gauss points per element that integrate the element's inertia exactly."""
        return STIFFENED if self.model.stiffening else CUBIC

    def elements(self, own: Expr, count: int) -> list[ElementSection]:
        """Return the mass points of the span's elements, ``count`` per element; none if rigid."""
        return []

    def turning_material(self, own: Expr) -> Terms:
        """Compute the inertia, at rest, of the section-fixed vectors that `points` includes.

        Masses at the ends of these vectors represent rotary inertia; they are unaffected by
        translation.
        """
        return no_terms(own)

    def cayley_angles(self, q: Expr) -> Expr:
        """Return the first-order angles (3,) from which the tip's Cayley rotation is computed.

        The angles are 0 for a rigid body and for an exact beam, whose tip rotation is no Cayley
        rotation.
        """
        return ca.SX(3, 1)

    def straight_tip(self, q: Array) -> tuple[Array, Array]:
        """Return displacement and rotation of the undeformed tip per amplitude, (3, m) each."""
        straight = self.part.body.straight(self.part.span_length(q))
        return straight.tip_shape, straight.tip_angle

    def turned(self, angle: Expr, rate: Expr, bias: Expr) -> tuple[Expr, Expr, Expr, Expr]:
        """Return a section's rotation and motion by first-order angles; see `turned_section`."""
        first_order = self.model.tip_rotation == "first-order"
        return turned_section(angle, rate, bias, self.model.stiffening, first_order)

    def angled(
        self, moved: tuple[Expr, Expr, Expr], angles: tuple[Expr, Expr, Expr], rates: Expr
    ) -> SectionMotion:
        """Return the motion of a section that is rotated by first-order angles.

        ``moved`` is the position (3,), its Jacobian by link coordinates (3, k), and its second time
        derivative at zero accelerations (3,); ``angles`` are the same for the section angles. Rates
        of the link coordinates have shape (k,).
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

        ``start`` is the undeformed position. Displacement and first-order rotation have shape
        (3, m) per amplitude, and (3, m, m) per product of two amplitudes.
        """
        moved, turned = (
            (*quadratic_section(d, once, twice), second_rates(twice, rates))
            for once, twice in zip(linear, quadratic, strict=True)
        )
        return self.angled((constant(start) + moved[0], *moved[1:]), turned, rates)

    def strain_energy(self, e: Amounts) -> list[Expr]:
        """Compute the elastic energy [J] beyond linear theory, as a list of terms.

        The k-th term scales with the power k - 1 of the exposed length of a sliding link.
        """
        return []

    def strain_effort(self, e: Amounts) -> Expr:
        """Compute the gradient (K,) of `strain_energy` in the variables of section angles."""
        return type(e.value)(*e.value.shape)

    def energy(self, q: Expr) -> Expr:
        """Compute the elastic energy [J] of the body."""
        e = self.amounts(q, 0 * q)
        stiffness, *more = (matrix for matrix, _ in self.part.body.stiffness_at(e.length))
        energy: Expr = ca.dot(e.value, sum(more, stiffness) @ e.value) / 2
        energy = sum(self.strain_energy(e), energy)
        return energy + given_energy(self.part, self.part.body.names, self.amplitudes(q))

    def effort(self, q: Expr) -> Expr:
        """Compute the gradient (k,) of the elastic energy in the link coordinates.

        Theodore & Ghosal 1995, equations 26 to 31, omit the force on the joint of a sliding link
        that is due to the change of stiffness with length (erratum). It is included here.
        """
        e = self.amounts(q, 0 * q)
        return self.chained(e, self.strain_effort(e)) + self.given_effort(q)

    def chained(self, e: Amounts, strained: Expr) -> Expr:
        """Return the gradient (k,) of linear energy plus one with gradient ``strained``, (K,)."""
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
        """Compute the gradient (k,) of the elastic energy terms in the model file."""
        link, own = self.part.link, own_values(self.part, q)
        if not (link.elastic_energy or link.elastic_force):
            return type(q)(*own.shape)
        names = self.part.body.names
        return ca.gradient(given_energy(self.part, names, own[own.shape[0] - len(names) :]), own)

    def damping(self, q: Expr) -> Expr | None:
        """Return the damping matrix of the amplitudes, (m, m), or None."""
        return self.part.body.damping_at(own_values(self.part, q))

    def deformed(self, q: Array) -> Deformed | None:
        """Return a beam's shapes and amplitudes at q, (T, n); None for other bodies."""
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
        """Return the tip's slope relative to the root axis, (T,), at coordinates q, (T, n)."""
        slope = self.along(q, np.ones(1)).slope[:, 0]
        return np.asarray(np.hypot(slope[:, 1], slope[:, 2]))

    def largest_strain(self, q: Array) -> Array:
        """Return the largest strain from the body's file, (T,), at q, (T, n); NaN without data."""
        return np.full(len(q), np.nan)

    def drawn_amplitudes(self, q: Array) -> Array:
        """Return the amplitudes of the displayed shapes, (T, m), at coordinates q, (T, n)."""
        link = self.deformed(q)
        return q[:, self.part.modes] if link is None else link.amplitudes

    def traced_amplitudes(self, q: Expr) -> Expr:
        """Return the amplitudes of the displayed shapes as expressions of q, shape (m,)."""
        return q[self.part.modes]

    def slope_amounts(self, q: Expr) -> tuple[Expr, str]:
        """Return the variables (K,) on which section angles depend linearly, and a unit of length.

        Positions along the span are in this unit: metres, or for a sliding link its exposed length.
        """
        unit = "m" if self.part.body.range is None else "exposed lengths"
        return self.amounts(q, 0 * q).value, unit

    def curvature(self, q: Expr, axis: Literal["y", "z"], fraction: float) -> Expr | None:
        """Return a section's curvature [1/m] per amplitude, (1, m); None without sections."""
        return None

    def ratio_damping(self, q: Array, arm: Arm, index: int) -> Array:
        """Return the damping matrix at q, (m, m), by the damping settings of another arm's link."""
        return np.zeros((0, 0))

    def mode_names(self, q: Array, strains: Array) -> list[str]:
        """Name k modes at q by the direction with the most strain energy, and a number.

        ``strains`` are the shares of the amplitudes in the strain energy of each mode, (m, k).
        """
        shapes = self.shapes_at(q)
        assert shapes is not None
        most = [
            max(DIRECTIONS, key=lambda d: float(column[[x == d for x in shapes.directions]].sum()))
            for column in strains.T
        ]
        return [f"{LABELS[d]}{most[: k + 1].count(d)}" for k, d in enumerate(most)]

    def described(self) -> tuple[str, str]:
        """Return the kind of the body's shape functions, and a one-line description."""
        kind = self.part.link.shapes.kind
        return kind, discretisation(kind).summary

    def file_report(self) -> list[str]:
        """Return report lines on the file that the body's data come from; empty without a file."""
        shapes = self.part.link.shapes
        if not isinstance(shapes, Tabulated):
            return []
        return inspect_stations(shapes.side_file, self.part.beam.span)[0].lines()

    def directions(self, q: Array) -> list[Direction | None]:
        """Return the main direction of each amplitude; None for bodies other than beams."""
        span, shapes = self.span_at(q), self.shapes_at(q)
        if span is None or shapes is None:
            return [None] * len(self.part.body.names)
        sizes = shape_sizes(shapes, span)
        sizes[DIRECTIONS.index("twist")] *= span.length
        return [DIRECTIONS[k] for k in np.argmax(sizes, axis=0)]

    def shapes_at(self, q: Array) -> Shapes | None:
        """Return the shape functions at coordinates q, (n,), or None without shape functions."""
        return None

    def span_at(self, q: Array) -> Span | None:
        """Return the flexible span, exposed part only of a sliding link; None for other bodies."""
        return None


def shape_sizes(shapes: Shapes, span: Span) -> Array:
    """Return the largest absolute value of m shapes along a span, by direction, (directions, m)."""
    x = np.linspace(0.0, span.length, SHAPE_STATIONS)
    return np.array([np.abs(shapes.values(d, x)).max(axis=0) for d in DIRECTIONS])


def given_energy(part: LinkModel, names: tuple[str, ...], d: Expr) -> Expr:
    """Return the elastic energy [J] of power products and force tables in the model file."""
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
    """Return the energy [J] and force of a tabulated spring, extrapolated with the end slopes."""
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
