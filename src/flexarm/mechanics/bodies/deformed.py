"""Numerical geometry of deformed links, from shape functions and the amplitudes in a run."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from flexarm.arm.link import QuadraticShape
from flexarm.links.base import Direction, Shapes
from flexarm.links.integrals import quadratic_displacement
from flexarm.mechanics.bodies.exact.tangents import Entire
from flexarm.model import BeamData
from flexarm.spatial import Array


@dataclass(frozen=True)
class Along:
    """Deflection, slope and twist of a flexible link at S stations and T samples."""

    # Displacement from the undeformed link along x, y, z of its root frame [m], (T, S, 3).
    deflection: Array
    # derivative of the deflection with respect to the distance from the root, (T, S, 3)
    slope: Array
    twist: Array  # rotation about the axis [rad], (T, S)


@dataclass(frozen=True)
class Deformed:
    """Shape functions of a flexible link with their amplitudes at T samples."""

    beam: BeamData
    amplitudes: Array  # amplitude of each of `shapes`, (T, m)
    scale: Array  # metres per unit of s, (T,)

    @cached_property
    def shapes(self) -> Shapes:
        """Shapes as functions of s: the distance x [m], or for a sliding link xi = x/l."""
        return self.beam.parents

    def section(self, name: str, places: Array, nu: int = 0) -> Array:
        """Compute a section property, or its first x-derivative, at P positions, (T, P)."""
        table = np.stack([taper.at(name, places, nu) for taper in self.beam.tapers])
        return np.asarray(self.scale[:, None] ** (np.arange(len(table)) - nu) @ table)

    def values(self, direction: Direction, places: Array, nu: int = 0) -> Array:
        """Compute a displacement [m] or twist [rad] at P positions, (T, P).

        For nu > 0 the result is the nu-th derivative of the displacement or twist with respect to
        x.
        """
        columns = self.shapes.values(direction, places, nu)
        return np.asarray(self.amplitudes @ columns.T / self.scale[:, None] ** nu)

    def linear_energy(self, integrated: Array) -> Array:
        """Return the elastic energy of linear theory [J], (T,).

        For a sliding link this energy is ``integrated``, the integral of squared strains. Other
        links use the stiffness matrix, which is also valid for measured shapes and lumped springs,
        whose curvature is unknown or zero.
        """
        if self.beam.range is not None:
            return integrated
        d, stiffness = self.amplitudes, self.shapes.stiffness
        return np.asarray(np.einsum("ti,ij,tj->t", d, stiffness, d, optimize=True) / 2)

    def curvatures(self, places: Array, *, stiffening: bool) -> tuple[Array, Array]:
        """Compute the curvatures of sections along y and z [1/m] at P positions, (T, P) each.

        With deflections v and w along y and z, the curvature along y is
        ``v'' + v' (v' v'' + w' w'')/2`` to third order; its square is the integrand of the elastic
        energy.
        """
        if self.beam.nodes is not None:
            return self.strains(places)[:2]
        y, z = self.values("y", places, 2), self.values("z", places, 2)
        if not stiffening:
            return y, z
        slopes = self.values("y", places, 1), self.values("z", places, 1)
        half = (slopes[0] * y + slopes[1] * z) / 2
        return y + slopes[0] * half, z + slopes[1] * half

    def strains(self, places: Array) -> tuple[Array, Array, Array]:
        """Compute curvatures along y and z and torsion [1/m] of an exact beam, (T, P) each."""
        turning = self._turning(places)
        return (*turning.curvatures, turning.torsion if np.any(turning.f) else 0 * turning.f)

    def strain_rises(self, places: Array) -> tuple[Array, Array, Array]:
        """Compute the x-derivatives [1/m^2] of an exact beam's curvatures along y and z.

        Returns
        -------
        along_y, along_z, torsion
            The derivatives of the two curvatures, and the rotation of the section axes about the
            tangent per length [1/m], also for a beam without twist shapes; (T, P) each at P
            positions.
        """
        turning, df = self._turning(places), self.values("twist", places, 1)
        rises = self.values("y", places, 3), self.values("z", places, 3)
        along_y, along_z = turning.rises(*rises)
        y, z = turning.curvatures
        return along_y + df * z, along_z - df * y, turning.torsion

    def _turning(self, places: Array) -> "_Turning":
        a, b = self.values("y", places, 1), self.values("z", places, 1)
        da, db = self.values("y", places, 2), self.values("z", places, 2)
        f, df = self.values("twist", places), self.values("twist", places, 1)
        return _Turning(a, b, da, db, f, df)

    def along(self, stations: Array, *, stiffening: bool, extra: Sequence[QuadraticShape]) -> Along:
        """Compute deflection, slope and twist of the deformed axis at fractions of the span.

        ``extra`` are quadratic shapes of the link.
        """
        places = stations * self.beam.span.length
        twist = self.values("twist", places)
        if self.beam.nodes is not None:
            placed, tangents = self.axis(places)
            straight = np.outer(self.scale, places)[:, :, None] * np.array([1.0, 0.0, 0.0])
            return Along(placed - straight, tangents - np.array([1.0, 0.0, 0.0]), twist)
        moved = np.stack([self.values(d, places) for d in ("x", "y", "z")], axis=2)
        slope = np.stack([self.values(d, places, 1) for d in ("x", "y", "z")], axis=2)
        if not extra and not stiffening:
            return Along(moved, slope, twist)
        quadratic = quadratic_displacement(
            self.shapes, places, self.beam.edges, stiffening=stiffening, extra=extra
        )
        steep = quadratic_displacement(
            self.shapes, places, self.beam.edges, stiffening=False, extra=extra, derivative=1
        )
        a = self.amplitudes
        moved += np.einsum("skij,ti,tj->tsk", quadratic, a, a, optimize=True) / (
            2 * self.scale[:, None, None]
        )
        if stiffening:
            slope[:, :, 0] -= (slope[:, :, 1] ** 2 + slope[:, :, 2] ** 2) / 2
        slope += np.einsum("skij,ti,tj->tsk", steep, a, a, optimize=True) / 2
        return Along(moved, slope, twist)

    def axis(self, places: Array) -> tuple[Array, Array]:
        """Compute axis points [m] and tangents of an exact beam at P positions, (T, P, 3) each.

        The length of each tangent vector is the stretch ratio of the axis.
        """
        nodes, d = self.beam.nodes, self.amplitudes
        assert nodes is not None
        at = [d @ rows.T / self.scale[:, None] for rows in (*nodes.bend, nodes.stretch)]
        tangents = _tangents(at[0], at[1]) * (nodes.straight + at[2])[:, :, None]
        placed = np.einsum("asg,tga->tsa", nodes.reach(places), tangents, optimize=True)
        placed = placed * self.scale[:, None, None]
        here = [self.values(direction, places, 1) for direction in ("y", "z", "x")]
        return placed, _tangents(here[0], here[1]) * (1 + here[2])[:, :, None]


class _Turning:
    """Bending and twist angles of an exact beam's sections, with derivatives along the span."""

    def __init__(self, a: Array, b: Array, da: Array, db: Array, f: Array, df: Array) -> None:
        self.a, self.b, self.da, self.db, self.f = a, b, da, db, f
        entire, self.w = Entire.of(a * a + b * b), a * db - b * da
        self.G, self.G1 = entire.G, entire.G1
        self.torsion = df - self.w * entire.T

    @property
    def curvatures(self) -> tuple[Array, Array]:
        """Curvatures along y and z of the section [1/m]."""
        turn = self.G * self.w
        return self._twisted(self.da + turn * self.b, self.db - turn * self.a)

    def rises(self, dda: Array, ddb: Array) -> tuple[Array, Array]:
        """Compute the derivatives of the curvatures with respect to x at constant twist [1/m^2].

        ``dda`` and ``ddb`` are the second derivatives of the angles along y and z.
        """
        turn = self.G * self.w
        rise = self.G * (self.a * ddb - self.b * dda)
        rise += self.G1 * (self.a * self.da + self.b * self.db) * self.w
        k_a = dda + rise * self.b + turn * self.db
        return self._twisted(k_a, ddb - rise * self.a - turn * self.da)

    def _twisted(self, k_a: Array, k_b: Array) -> tuple[Array, Array]:
        cosine, sine = np.cos(self.f), np.sin(self.f)
        return cosine * k_a + sine * k_b, cosine * k_b - sine * k_a


def _tangents(a: Array, b: Array) -> Array:
    """Return unit vectors (..., 3): the x axis rotated by the rotation vectors (0, -b, a)."""
    angle = np.hypot(a, b)
    sine = np.sinc(angle / np.pi)
    return np.stack([np.cos(angle), a * sine, b * sine], axis=-1)
