"""Modes and static shapes of a span in one direction by high-order finite elements.

Sections may be uniform, tapered or stepped, with rigid bodies at both ends of the span. The
elements of `mesh` are refined until modes are accurate to rounding.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from flexarm.arm.shapes import Normalise
from flexarm.errors import ShapeError
from flexarm.links.base import Direction, Ends, Shapes, Span, SpanCurves
from flexarm.links.basis import MOTIONS, BeamDirection, left_over, normalise
from flexarm.links.beams.mesh import PanelMesh, mesh_for
from flexarm.links.constants import (
    JUMP_SIZE,
    MOST_DENSE_UNKNOWNS,
    REFINEMENTS,
    RESOLVED_COEFFICIENT,
    SHEAR_POINTS,
)
from flexarm.links.remembered import remembered
from flexarm.spatial import Array


def sheared(shapes: Shapes, span: Span, scaling: Normalise) -> Shapes:
    """Return shapes with shear deflection in each direction that has a shear stiffness.

    Sections rotate by the slope ``psi = b'`` of the bending deflection b. The axis has the slope
    ``psi - ratio psi''``, where ``ratio`` is the bending stiffness EI over the shear stiffness,
    since the shear force is the derivative of the bending moment ``EI psi'``. As derivatives, the
    returned curves contain the section rotation and its derivatives, not those of the deflection.

    Parameters
    ----------
    shapes, span
        Shapes without shear deflection, and their span.
    scaling Scaling of the amplitudes.

    Raises
    ------
    ShapeError
        If the section varies along the span, the curvature of a shape jumps, or the modal mass is
        measured.
    """
    x, weight = span.quadrature(SHEAR_POINTS + 2 * shapes.count, shapes.edges)
    stiffness, curves = shapes.stiffness.copy(), dict(shapes.curves)
    ratios: dict[Direction, float] = {}
    for motion in MOTIONS.values():
        if motion.shear is None or not (span.has(motion.shear) and span.has(motion.stiffness)):
            continue
        _require_smooth(shapes, span, motion.direction)
        bending = float(span.table[motion.stiffness][0])
        ratio = ratios[motion.direction] = bending / float(span.table[motion.shear][0])
        third_derivative = shapes.values(motion.direction, x, 3)
        stiffness += ratio * bending * third_derivative.T @ (weight[:, None] * third_derivative)
        curve_sets = shapes.curves.get(motion.direction, ())
        curves[motion.direction] = tuple(_with_shear(curve, ratio) for curve in curve_sets)
    if shapes.mass is not None:
        raise ShapeError(
            "measured modes include shear already. Leave the shear stiffness out of the section."
        )
    return normalise(
        replace(shapes, curves=curves, stiffness=stiffness, shear=ratios), scaling, span
    )


def _with_shear(bending: SpanCurves, ratio: float) -> SpanCurves:
    """Return bending curves b plus shear deflection, ``b - ratio (b'' - b''(0))``.

    As derivatives, the returned curves contain those of b: the section rotation and its
    derivatives.
    """
    deflection, curvature = bending.series[0].copy(), bending.series[2]
    deflection[:, : curvature.shape[1]] -= ratio * curvature
    # Curvature at the root: Legendre polynomials are alternately 1 and -1 at the start of a panel.
    root = (-1.0) ** np.arange(curvature.shape[1]) @ curvature[0]
    deflection[:, 0] += ratio * root
    return replace(bending, series=(deflection, *bending.series[1:]))


def _require_smooth(shapes: Shapes, span: Span, direction: Direction) -> None:
    """Raise ShapeError if the section varies, or if a shape's slope or curvature jumps."""
    if not span.uniform:
        raise ShapeError(
            "shear needs a section that is constant along the link. Leave the "
            "shear stiffness out, or use a constant section."
        )
    inner_edges, step = shapes.edges[1:-1], 1e-9 * span.length
    for nu in (1, 2):
        size = np.abs(shapes.values(direction, shapes.edges, nu)).max(initial=0.0)
        left, right = (shapes.values(direction, inner_edges + h, nu) for h in (-step, step))
        if np.abs(right - left).max(initial=0.0) > JUMP_SIZE * size:
            raise ShapeError(
                "shear needs shapes without jumps of curvature. Replace elements and lumped "
                "springs by 'loaded' or another family of modes."
            )


Support = Literal["clamped-free", "pinned-free", "free-free", "pinned-pinned", "clamped-clamped"]


def modes(span: Span, motion: BeamDirection, conditions: "Conditions", count: int) -> "SpanModes":
    """Compute the elastic modes of lowest frequency; rigid-body motions are excluded.

    ``motion`` is the direction in which the span deforms, ``conditions`` its support and end
    inertia, and ``count`` the number of modes, at least 1. A ShapeError is raised if the inertia
    permits fewer modes, or if the tip inertia is impossible.

    In strain coordinates z of unit stiffness (`PanelMesh`) the kinetic energy is ``1/2 |B z_t|^2``,
    where B has rigid-body motion projected out. The singular values of B are 1/omega, so that the
    modes of lowest frequency belong to the largest singular values. Unlike an eigenproblem of ``B^T
    B``, a singular value decomposition does not square the condition number.
    """
    require_modes(span, motion, conditions, count)
    names = (motion.stiffness, motion.inertia, motion.rotary)
    section = (span.table[n].tobytes() if n and span.has(n) else b"" for n in names)
    key = (span.length, span.stations.tobytes(), *section, motion.order, conditions, count)
    return remembered(("modes", *key), lambda: _modes(span, motion, conditions, count))


def _modes(span: Span, motion: BeamDirection, conditions: "Conditions", count: int) -> "SpanModes":
    """Compute the modes on successively finer meshes until the Legendre series converge."""
    for refine in REFINEMENTS:
        mesh = mesh_for(span, motion, count + 1, refine=refine)
        problem = SpanEigenproblem(mesh, conditions)
        sigma, z = _lowest_modes(problem, count)
        last_coefficients = z.reshape(len(mesh.half), mesh.size, -1)[:, -2:]
        if np.abs(last_coefficients).max() < RESOLVED_COEFFICIENT:
            break
    span_mass = float(np.sum(mesh.weights * span.at(motion.inertia, mesh.x)))
    scale = np.sqrt(span_mass or conditions.tip_mass) / sigma * problem.sense(z)
    return SpanModes(1 / sigma, scale**2, problem, z * scale)


def constraint_shapes(span: Span, motion: BeamDirection) -> tuple[SpanCurves, Array]:
    """Compute the static shapes of a clamped span for unit tip displacement and unit tip slope.

    Returns
    -------
    curves, stiffness
        Curves for unit tip displacement at zero tip slope, and for unit tip slope at zero tip
        displacement; and their stiffness matrix, (order, order). A rod has only the tip
        displacement (order 1).
    """
    mesh = mesh_for(span, motion, 0)
    # Of all strains z with a given tip motion, the strains of least energy |z|^2 are in the row
    # space of ``tip``.
    stiffness = np.linalg.inv(mesh.tip @ mesh.tip.T)
    root = np.zeros((motion.order, motion.order))
    return mesh.curves(mesh.tip.T @ stiffness, root), (stiffness + stiffness.T) / 2


def _lowest_modes(problem: "SpanEigenproblem", count: int) -> tuple[Array, Array]:
    """Return the largest singular values of B and the right singular vectors, (p q, count)."""
    size = problem.mesh.tip.shape[1]
    if size <= MOST_DENSE_UNKNOWNS:
        _, sigma, vectors = np.linalg.svd(problem.apply(np.eye(size)), full_matrices=False)
        return sigma[:count], np.ascontiguousarray(vectors[:count].T)

    from scipy.sparse.linalg import LinearOperator, svds

    def column(product: Callable[[Array], Array]) -> Callable[[Array], Array]:
        return lambda vector: product(vector.reshape(-1, 1)).ravel()

    operator = LinearOperator(
        (problem.rigid.shape[0], size),
        matvec=column(problem.apply),
        rmatvec=column(problem.apply_transpose),
        dtype=np.float64,
    )
    _, values, rows = svds(operator, k=count, v0=np.ones(size))
    order = np.argsort(-values)
    return np.asarray(values[order], float), np.ascontiguousarray(rows[order].T, float)


def require_modes(span: Span, motion: BeamDirection, conditions: "Conditions", count: int) -> None:
    """Raise ShapeError if more modes are requested than the inertia of span and end bodies permits.

    A massless rod has at most one mode, between two end bodies.
    """
    if np.any(span.table[motion.inertia] > 0):
        return
    is_supported = conditions.support == "clamped-free" or conditions.hub > 0
    available = int(is_supported and conditions.tip_mass > 0)
    if count > available:
        raise ShapeError(
            f"{motion.key}: {count} needs inertia along the link, and {motion.inertia} is 0 in "
            f"the section. Give {motion.inertia}, or set '{motion.key}: {available}'."
        )


@dataclass(frozen=True)
class Conditions:
    """Boundary conditions of a span in one direction: support and inertia at both ends."""

    # Boundary conditions at root and tip. A clamped end neither moves nor rotates. A pinned end
    # does not move; at the root, the hub resists its rotation (for a rod, its twist). A free end
    # moves and rotates. Rods are not pinned at both ends.
    support: Support = "clamped-free"
    hub: float = 0.0  # inertia of the hub that rotates with a pinned root [kg m^2]
    # Mass that moves with the tip [kg]; for a rod in torsion, inertia that rotates with it [kg
    # m^2].
    tip_mass: float = 0.0
    tip_inertia: float = 0.0  # inertia that rotates with a beam's tip, about the tip [kg m^2]
    tip_offset: float = 0.0  # distance of the tip mass's centre beyond the tip [m]

    @classmethod
    def of(cls, ends: Ends, motion: BeamDirection) -> "Conditions":
        """Return the boundary conditions in one direction from the inertia at a link's ends."""
        if motion.axis is None:
            return cls(tip_mass=ends.tip_mass)
        hub = ends.root_inertia[motion.axis]
        support: Support = "clamped-free" if math.isinf(hub) else "pinned-free"
        hub = 0.0 if math.isinf(hub) else hub
        inertia = ends.tip_inertia[motion.axis]
        if motion.order == 1:
            return cls(support, hub, inertia)
        return cls(support, hub, ends.tip_mass, inertia, ends.tip_offset)

    def tip_factor(self, motion: BeamDirection) -> Array:
        """Return the factor A (order, order) of the tip inertia matrix ``A^T A``.

        The matrix refers to tip displacement and, for beams, tip slope.

        Raises
        ------
        ShapeError
            If the inertia about the tip is less than that of a point mass at the offset.
        """
        mass = math.sqrt(self.tip_mass)
        if motion.order == 1:
            return np.array([[mass]])
        lever = self.tip_mass * self.tip_offset**2
        centre = self.tip_inertia - lever
        if centre < -1e-9 * lever:
            raise ShapeError(
                f"the tip inertia {self.tip_inertia:g} kg m^2 is less than mass x offset^2 = "
                f"{lever:g} kg m^2. Give it about the tip of the link, not about the body's "
                "centre."
            )
        return np.array([[mass, mass * self.tip_offset], [0.0, math.sqrt(max(centre, 0.0))]])


@dataclass(frozen=True, eq=False)
class SpanModes:
    """Elastic modes of a span, in order of increasing frequency.

    Modes are scaled so that the modal mass, end bodies included, equals the mass of the span (for
    twist, its inertia ``int Jx dx``). For a massless rod the modal mass equals the mass or inertia
    of the tip body.
    """

    frequencies: Array  # angular frequencies [rad/s], (n,)
    stiffness: Array  # diagonal of the stiffness matrix, (n,)
    problem: "SpanEigenproblem"  # eigenproblem of the modes
    strains: Array  # modes in strain coordinates z, (p q, n)

    @cached_property
    def curves(self) -> SpanCurves:
        """Mode shapes minus the rigid motion of the root: displacement and, for beams, slope."""
        mesh = self.problem.mesh
        return mesh.curves(self.strains, np.zeros((mesh.motion.order, len(self.frequencies))))

    @cached_property
    def raw(self) -> SpanCurves:
        """Mode shapes with the displacement and slope of the root."""
        return self.problem.mesh.curves(self.strains, self.problem.root_motion(self.strains))

    @cached_property
    def rest(self) -> SpanCurves:
        """Static shapes of tip loads, orthogonal to the modes and scaled to unit stiffness.

        No shapes are returned if the static shapes are linear combinations of the modes.
        """
        mesh, unit_modes = self.problem.mesh, self.strains / np.linalg.norm(self.strains, axis=0)
        z = left_over(unit_modes, mesh.tip.T, np.eye(len(unit_modes)))
        return mesh.curves(z, np.zeros((mesh.motion.order, z.shape[1])))


class SpanEigenproblem:
    """Matrix B that maps strains of unit stiffness to mass-weighted displacements.

    The kinetic energy is half the squared norm of ``B z_t``, with this matrix B and the strain
    rates z_t. The rows of B are displacements and slopes at the quadrature points, then motions of
    the tip body, then motions of the hub.

    Attributes
    ----------
    roots
        Square roots of the inertia of displacement and of slope at the quadrature points.
    tip
        Factor of the tip inertia matrix over tip displacement and slope.
    tied
        Whether both ends are pinned, so that the chord between the ends does not move.
    held
        Orthonormal basis of the strain vectors that the constraints of a clamped tip exclude.
    rigid, free
        Rows of B for the rigid-body motions that the root permits, and an orthonormal basis of
        these columns, (rows, 0 to 2) each.
    """

    def __init__(self, mesh: PanelMesh, conditions: Conditions) -> None:
        self.mesh, self.conditions = mesh, conditions
        span, motion = mesh.span, mesh.motion
        inertia = [mesh.weights * span.at(motion.inertia, mesh.x)]
        if motion.rotary is not None and span.has(motion.rotary):
            inertia.append(mesh.weights * span.at(motion.rotary, mesh.x))
        self.roots = [np.sqrt(density)[..., None] for density in inertia if np.any(density)]
        self.tip = conditions.tip_factor(motion)
        self.tied = conditions.support == "pinned-pinned"
        clamped_rows = motion.order if conditions.support == "clamped-clamped" else 0
        self.held = np.linalg.qr(mesh.tip[:clamped_rows].T)[0]
        self.rigid = self._rigid()
        self.free = np.linalg.qr(self.rigid)[0]

    def _rigid(self) -> Array:
        """Return the columns of B for those rigid-body motions, 1 and x, that the root permits."""
        order, support = self.mesh.motion.order, self.conditions.support
        if support.startswith("clamped"):
            return np.zeros((sum(root.size for root in self.roots) + len(self.tip) + 1, 0))
        powers = [0] if order == 1 else [0, 1] if support == "free-free" else [1]
        x = self.mesh.x[..., None]
        fields = [x ** np.array(powers), np.array(powers) * np.ones_like(x)]
        length = self.mesh.span.length
        tip = np.array([[length**p for p in powers], [float(p) for p in powers]])
        hub = math.sqrt(self.conditions.hub) * np.array([[float(p == order - 1) for p in powers]])
        return self._stack(fields, tip[:order], hub)

    def apply(self, z: Array) -> Array:
        """Compute the product B z for k columns of strain coordinates z, (rows, k)."""
        z = z - self.held @ (self.held.T @ z)
        rows = self.loaded(z)
        if self.tied:
            return np.asarray(rows - self.rigid * (self.mesh.tip[0] @ z / self.mesh.span.length))
        return np.asarray(rows - self.free @ (self.free.T @ rows))

    def apply_transpose(self, rows: Array) -> Array:
        """Compute the product of B^T with k columns, (p q, k)."""
        if not self.tied:
            rows = rows - self.free @ (self.free.T @ rows)
        loads, start = [], 0
        for root in self.roots:
            loads.append(root * rows[start : start + root.size].reshape(*root.shape[:2], -1))
            start += root.size
        z = self.mesh.tip.T @ (self.tip.T @ rows[start : start + len(self.tip)])
        if loads:
            z = z + self.mesh.adjoint(loads)
        if self.tied:
            z = z - np.outer(self.mesh.tip[0], self.rigid[:, 0] @ rows) / self.mesh.span.length
        return np.asarray(z - self.held @ (self.held.T @ z))

    def root_motion(self, z: Array) -> Array:
        """Compute the root's displacement and, for a beam, slope in k modes z, (order, k)."""
        order = self.mesh.motion.order
        motion = np.zeros((order, z.shape[1]))
        if self.tied:
            motion[1] = -self.mesh.tip[0] @ z / self.mesh.span.length
        elif self.rigid.shape[1]:
            amplitudes = -np.linalg.lstsq(self.rigid, self.loaded(z))[0]
            motion[order - len(amplitudes) :] = amplitudes
        return motion

    def sense(self, z: Array) -> Array:
        """Return signs (k,) that make the tip displacement of each mode positive.

        If the tip is pinned, the signs make the tip slope positive; if the tip is clamped, the
        strain at the tip.
        """
        if self.conditions.support == "clamped-clamped":
            size = np.sum(self.mesh.strains(z)[-1], axis=0)
        else:
            root = self.root_motion(z)
            tip = self.mesh.tip @ z + root
            if len(root) == 2:
                tip[0] += root[1] * self.mesh.span.length
            size = tip[1 if self.tied else 0]
        return np.where(size < 0, -1.0, 1.0)

    def loaded(self, z: Array) -> Array:
        """Compute B z for a clamped root, with rigid-body motions kept, (rows, k)."""
        hub = np.zeros((1, z.shape[1]))
        return self._stack(self.mesh.fields(z), self.mesh.tip @ z, hub)

    def _stack(self, fields: list[Array], tip: Array, hub: Array) -> Array:
        parts = [
            (root * field).reshape(-1, field.shape[2])
            for root, field in zip(self.roots, fields, strict=False)
        ]
        return np.concatenate([*parts, self.tip @ tip, hub])
