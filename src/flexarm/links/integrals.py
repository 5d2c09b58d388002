"""Mass integrals of a link's shape functions over its span, computed by Gauss quadrature.

A point of the span is at ``r(x) = x e_x + Phi(x) d + 1/2 d^T X(x) d``, with displacements linear
and quadratic in the amplitudes d; the axial shortening is quadratic. Mass integrals of low degree
in d are stored as constants. Those of higher degree, which contain products of quadratic
displacements, and the fourth-order bending energy, are computed from values at quadrature points.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt

from flexarm.arm.link import QuadraticShape
from flexarm.constants import ROUNDING
from flexarm.errors import ShapeError
from flexarm.links.base import Shapes, Span, gauss_points, union
from flexarm.links.basis import product_points
from flexarm.links.collocation import Collocation
from flexarm.links.constants import ORDERS
from flexarm.links.fields import AXES, Axis, Basis
from flexarm.spatial import Array, Expr, Inertia, axial_vectors, settled


@dataclass(frozen=True)
class Pairs:
    """Pairs (k, l), k <= l, of amplitudes for which a symmetric matrix has nonzero entries."""

    rows: npt.NDArray[np.intp]
    columns: npt.NDArray[np.intp]
    size: int

    @classmethod
    def of_form(cls, nonzero: npt.NDArray[np.bool_]) -> "Pairs":
        """Return the pairs at which a matrix (size, size) has nonzero entries."""
        rows, columns = np.nonzero(np.triu(nonzero | nonzero.T))
        return cls(rows, columns, len(nonzero))

    @classmethod
    def full(cls, size: int) -> "Pairs":
        """Return all pairs of ``size`` amplitudes."""
        return cls.of_form(np.ones((size, size), dtype=bool))

    @property
    def count(self) -> int:
        """Number of amplitude pairs."""
        return len(self.rows)

    def products(self, d: Expr, e: Expr) -> Expr:
        """Return the products ``d_k e_l + d_l e_k``, or ``d_k e_k`` for k = l, shape (count,)."""
        values = [
            d[k] * e[l] + d[l] * e[k] if k != l else d[k] * e[k]
            for k, l in zip(self.rows.tolist(), self.columns.tolist(), strict=True)
        ]
        return ca.vertcat(*values) if values else type(d)(0, 1)

    def of(self, form: Array) -> Array:
        """Return the entries of symmetric matrices (..., size, size) at the pairs, (..., count)."""
        return np.asarray(form[..., self.rows, self.columns])

    def matrix(self, entries: Expr) -> Expr:
        """Return the symmetric matrix (size, size) with ``entries`` at the pairs, else 0."""
        result = type(entries)(self.size, self.size)
        for i, (k, l) in enumerate(zip(self.rows.tolist(), self.columns.tolist(), strict=True)):
            result[k, l] = entries[i]
            result[l, k] = entries[i]
        return result


@dataclass(frozen=True)
class Points:
    """Values of mass, shapes and stiffness at g quadrature points, for m amplitudes."""

    x: Array  # distance from the span's root [m], (g,)
    mass: Array  # mass of a quadrature point [kg], (g,)
    shape: Array  # displacement columns Phi, (g, 3, m)
    quadratic: Array  # quadratic displacements X: ``1/2 d^T X[g, k] d`` along axis k, (g, 3, m, m)
    bending: Array  # bending stiffness of a quadrature point [N m^3], along y and z, (2, g)
    slope: Array  # first derivatives of the displacements along y and z, (2, g, m)
    curvature: Array  # second derivatives of these displacements, (2, g, m)

    @cached_property
    def draws(self) -> bool:
        """Whether any displacement has terms quadratic in the amplitudes."""
        return bool(np.any(self.quadratic))

    @cached_property
    def used(self) -> "Displacements":
        """Basis of the displacements that are not identically zero, with its mass integrals."""
        amplitudes, pairs = list[tuple[int, ...]](), list[Pairs]()
        functions: dict[Axis, Array] = {}
        for n, axis in enumerate(AXES):
            shape, form = self.shape[:, n], self.quadratic[:, n]
            amplitudes.append(tuple(np.flatnonzero(np.any(shape != 0, axis=0)).tolist()))
            pairs.append(Pairs.of_form(np.any(form != 0, axis=0)))
            position_row = [self.x[None]] if n == 0 else []
            rows = [*position_row, shape[:, list(amplitudes[n])].T, pairs[n].of(form).T]
            functions[axis] = np.concatenate(rows)
        return Displacements(tuple(amplitudes), tuple(pairs), Basis.of(functions, self.mass))


@dataclass(frozen=True)
class Displacements:
    """Linear and quadratic displacement functions that are not zero, per axis x, y, z."""

    moving: tuple[tuple[int, ...], ...]  # amplitudes with a linear displacement
    pairs: tuple[Pairs, ...]  # pairs of amplitudes with a quadratic displacement
    basis: Basis  # the functions x, the linear and the quadratic displacements, in that order


@dataclass(frozen=True)
class Integrals:
    """Mass integrals of a span with m amplitudes about its root.

    The attributes use the mass per length mu, the position r0 = x e_x on the straight axis, shapes
    Phi, section rotations theta and rotary inertia J.
    """

    mass: float  # int mu [kg]
    first: Array  # int mu r0 [kg m] with r0 = x e_x, (3,)
    second: Array  # int mu r0 r0^T [kg m^2], (3, 3)
    shape: Array  # int mu Phi, (3, m)
    position_shape: Array  # int mu r0 phi_j^T, (m, 3, 3)
    # int mu phi_i phi_j^T, (m, m, 3, 3); its trace is the modal mass of the translations.
    shape_shape: Array
    # Rotary inertia of the sections, with J = diag(Jx, Jy, Jz) and first-order angles theta.
    rotary: Array  # int J, (3, 3)
    rotary_shape: Array  # int J theta, (3, m)
    rotary_modal: Array  # int theta^T J theta, (m, m)
    modal_mass: Array  # int mu Phi^T Phi + theta^T J theta, or the measured modal mass, (m, m)
    stiffness: Array  # linear stiffness, (m, m)

    @property
    def inertia(self) -> Inertia:
        """Mass, first moment and inertia about the root of the undeformed span."""
        second = np.trace(self.second) * np.eye(3) - self.second + self.rotary
        return Inertia(self.mass, self.first, second)

    @property
    def momentum(self) -> Array:
        """Angular and linear momentum about the root per rate of amplitude, (6, m).

        The angular momentum comes first; the span is undeformed.
        """
        angular = axial_vectors(self.position_shape).T
        return np.concatenate([angular + self.rotary_shape, self.shape])

    @classmethod
    def none(cls) -> "Integrals":
        """Return integrals that are all zero, for a link without span and amplitudes."""
        shapes = ((3,), (3, 3), (3, 0), (0, 3, 3), (0, 0, 3, 3), (3, 3), (3, 0), (0, 0),
                  (0, 0), (0, 0))  # fmt: skip
        return cls(0.0, *(np.zeros(shape) for shape in shapes))

    @classmethod
    def of_points(
        cls, mass: Any, positions: Array, shapes: Array, inertia: Array, angles: Array
    ) -> "Integrals":
        """Compute the mass integrals of N points; the stiffness in the result is 0.

        Parameters
        ----------
        mass
            Masses of the points (N,), or their consistent mass matrix (N, N), which may be sparse.
        positions, shapes
            Positions (N, 3), and displacements per amplitude (N, 3, m).
        inertia, angles
            Rotary inertia (N, 3, 3), and rotations per amplitude (N, 3, m).
        """
        count, _, m = shapes.shape
        columns = np.hstack([np.ones((count, 1)), positions, shapes.reshape(count, 3 * m)])
        gram = np.asarray(
            columns.T @ (mass[:, None] * columns if mass.ndim == 1 else mass @ columns)
        )
        pairs = gram[4:, 4:].reshape(3, m, 3, m).transpose(1, 3, 0, 2)
        turned = inertia @ angles
        rotary_modal = angles.reshape(3 * count, m).T @ turned.reshape(3 * count, m)
        return cls(
            mass=float(gram[0, 0]),
            first=gram[0, 1:4],
            second=gram[1:4, 1:4],
            shape=gram[0, 4:].reshape(3, m),
            position_shape=gram[1:4, 4:].reshape(3, 3, m).transpose(2, 0, 1),
            shape_shape=pairs,
            rotary=inertia.sum(axis=0),
            rotary_shape=turned.sum(axis=0),
            rotary_modal=rotary_modal,
            modal_mass=np.einsum("ijaa->ij", pairs) + rotary_modal,
            stiffness=np.zeros((m, m)),
        )


def shortening(shapes: Shapes, x: Array, edges: Array) -> Array:
    """Compute the matrices ``int_0^x (y' y'^T + z' z'^T)`` of axial shortening, (len(x), m, m).

    Parameters
    ----------
    shapes
        Shape functions, m of them.
    x
        Distances from the root at which to evaluate [m].
    edges
        Panel edges [m] between which the slopes are smooth.

    Notes
    -----
    With amplitudes d and such a matrix F, the axial shortening of a bent, inextensible axis is
    ``d^T F d / 2`` (Chen, Zhang & Liu 2012, equations 5 and 6).
    """
    node, weight = gauss_points(40)
    panel = np.clip(np.searchsorted(edges, x, side="left") - 1, 0, len(edges) - 2)

    def integral(start: Array, end: Array) -> Array:
        half = (end - start) / 2
        points = (start + half)[:, None] + half[:, None] * node
        total = np.zeros((len(start), shapes.count, shapes.count))
        for direction in ("y", "z"):
            slope = shapes.values(direction, points.ravel(), 1).reshape(*points.shape, -1)
            total += np.einsum("pg,pgi,pgj->pij", half[:, None] * weight, slope, slope)
        return total

    panel_integrals = integral(edges[:-1], edges[1:])
    sums_before = np.concatenate(
        (np.zeros((1, *panel_integrals.shape[1:])), np.cumsum(panel_integrals, axis=0))
    )
    return sums_before[panel] + integral(edges[panel], x)


def quadratic_displacement(
    shapes: Shapes,
    x: Array,
    edges: Array,
    *,
    stiffening: bool,
    extra: Sequence[QuadraticShape] = (),
    derivative: int = 0,
) -> Array:
    """Compute quadratic displacements X at x, shape (len(x), 3, m, m), or their x-derivative.

    Parameters
    ----------
    shapes, x, edges
        As in `shortening`.
    stiffening
        Whether the axis is inextensible, so that bending shortens the span axially.
    extra
        Quadratic displacements in the model file (Graves 1989, equations 1 and 10).
    derivative
        0 for X; 1 for the x-derivative of ``extra`` alone, which is the rotation of sections.
    """
    m = shapes.count
    result = np.zeros((len(x), 3, m, m))
    if stiffening and m and derivative == 0:
        result[:, 0] -= shortening(shapes, x, edges)
    for shape in extra:
        from scipy.interpolate import CubicSpline

        curve = CubicSpline(shape.stations, shape.values)
        a, b = (_index(shapes, name) for name in shape.amplitudes)
        axis = "xyz".index(shape.direction)
        values = curve(x, derivative)
        result[:, axis, a, b] += values
        result[:, axis, b, a] += values
    return result


def section_tables(
    shapes: Shapes,
    x: Array,
    edges: Array,
    *,
    stiffening: bool,
    extra: Sequence[QuadraticShape] = (),
) -> tuple[Array, Array, Array, Array]:
    """Evaluate the motion of the sections at S distances x [m], to second order in m amplitudes.

    Returns
    -------
    Displacement and first-order rotation per amplitude, (S, 3, m) each, and per product of two
    amplitudes, (S, 3, m, m) each. With ``stiffening`` displacements include the axial shortening.
    """
    linear = shapes.displacement(x), shapes.rotation(x)
    quadratic = slopes = np.zeros((len(x), 3, shapes.count, shapes.count))
    if stiffening or extra:
        quadratic = quadratic_displacement(shapes, x, edges, stiffening=stiffening, extra=extra)
        slopes = quadratic_displacement(
            shapes, x, edges, stiffening=False, extra=extra, derivative=1
        )
    angles = np.stack([0 * slopes[:, 0], -slopes[:, 2], slopes[:, 1]], axis=1)
    return *linear, quadratic, angles


def integrate(
    span: Span, shapes: Shapes, *, stiffening: bool, extra: Sequence[QuadraticShape] = ()
) -> tuple[Integrals, Points]:
    """Compute the mass integrals of a span's shapes, and values at the quadrature points.

    Returns
    -------
    integrals, points
        The quadrature is accurate to 1e-13. With ``stiffening`` or ``extra`` it is so also for
        integrals of products of quadratic displacements.
    """
    if not (stiffening or extra):
        result = _at(span, shapes, product_points(shapes, span), shapes.edges)
        return cleaned(result[0]), result[1]
    edges = union(span.edges, shapes.edges)
    for shape in extra:
        edges = union(edges, np.clip(shape.stations, 0.0, span.length))
    edges = edges[np.concatenate(([True], np.diff(edges) > 1e-9 * span.length))]
    coarse = _at(span, shapes, span.quadrature(ORDERS[0], edges), edges, stiffening, extra)
    for order in ORDERS[1:]:
        fine = _at(span, shapes, span.quadrature(order, edges), edges, stiffening, extra)
        if _agree(coarse, fine):
            break
        coarse = fine
    return cleaned(coarse[0]), coarse[1]


def _at(
    span: Span,
    shapes: Shapes,
    rule: tuple[Array, Array],
    edges: Array,
    stiffening: bool = False,
    extra: Sequence[QuadraticShape] = (),
) -> tuple[Integrals, Points]:
    """Return mass integrals and point values for one quadrature rule: points and weights [m]."""
    (x, weight), angle = rule, shapes.rotation(rule[0])
    quadratic = np.zeros((len(x), 3, shapes.count, shapes.count))
    if stiffening or extra:
        quadratic = quadratic_displacement(shapes, x, edges, stiffening=stiffening, extra=extra)
    points = Points(
        x=x,
        mass=weight * span.at("mass_per_length", x),
        shape=shapes.displacement(x),
        quadratic=quadratic,
        bending=np.stack(
            [weight * span.at(n, x) if span.has(n) else 0 * x for n in ("EIz", "EIy")]
        ),
        slope=np.stack([angle[:, 2], -angle[:, 1]]),
        curvature=np.stack([shapes.values(d, x, 2) for d in ("y", "z")]),
    )
    inertia = np.stack([weight * span.at(n, x) for n in ("Jx", "Jy", "Jz")], axis=1)
    positions = np.stack([x, 0 * x, 0 * x], axis=1)
    integrals = Integrals.of_points(
        points.mass, positions, points.shape, inertia[:, :, None] * np.eye(3), angle
    )
    modal = integrals.modal_mass if shapes.mass is None else shapes.mass
    return replace(integrals, modal_mass=modal, stiffness=shapes.stiffness), points


def _agree(coarse: tuple[Integrals, Points], fine: tuple[Integrals, Points]) -> bool:
    for field in fields(Integrals):
        a, b = (np.asarray(getattr(pair[0], field.name)) for pair in (coarse, fine))
        if np.abs(a - b).max(initial=0.0) > ROUNDING * np.abs(b).max(initial=0.0):
            return False
    a, b = (_with_quadratic(points) for _, points in (coarse, fine))
    return bool(np.abs(a - b).max(initial=0.0) <= ROUNDING * np.abs(b).max(initial=0.0))


def _with_quadratic(points: Points) -> Array:
    """Return mass integrals of quadratic displacements at three fixed amplitude vectors.

    Each kind of integral is scaled to a maximum of 1, so that quadrature rules can be compared.
    """
    m = points.shape.shape[2]
    probes = np.sin(np.arange(1.0, 3 * m + 1) ** 2).reshape(3, m)  # irregular probe vectors
    linear = np.einsum("gai,pi->gpa", points.shape, probes)
    quadratic = np.einsum("gaij,pi,pj->gpa", points.quadratic, probes, probes)
    inertial = np.einsum("g,gpa,gqa->pq", points.mass, quadratic, quadratic)
    mixed = np.einsum("g,gpa,gqb->pqab", points.mass, linear, quadratic)
    bending = np.einsum("dgi,pi->dgp", points.slope, probes)
    bending = bending * np.einsum("dgi,pi->dgp", points.curvature, probes)
    elastic = np.einsum("dg,dgp,egq->depq", points.bending, bending, bending)
    means = np.einsum("kg,gpa->kpa", [points.mass, points.mass * points.x], quadratic)
    parts = (*means, inertial, mixed, elastic)
    return np.concatenate([(x / max(np.abs(x).max(initial=0.0), 1e-300)).ravel() for x in parts])


def cleaned(integrals: Integrals) -> Integrals:
    """Return mass integrals in which entries equal up to rounding are exactly equal, or 0."""
    contents = {field.name: getattr(integrals, field.name) for field in fields(Integrals)}
    arrays = {name: value for name, value in contents.items() if np.ndim(value) and np.any(value)}
    if not arrays:
        return integrals
    pairs = pair_sizes(integrals.modal_mass)
    scales = {"modal_mass": pairs, "rotary_modal": pairs}
    scales["stiffness"] = pair_sizes(integrals.stiffness)
    scales["shape_shape"] = pairs[:, :, None, None]
    for name, value in arrays.items():
        size = scales[name] if name in scales else np.abs(value).max()
        scales[name] = np.broadcast_to(size, value.shape)
    values, sizes = (
        np.concatenate([table[name].ravel() for name in arrays]) for table in (arrays, scales)
    )
    ends = np.cumsum([value.size for value in arrays.values()])
    parts = np.split(settled(values, sizes), ends[:-1])
    for name, part in zip(arrays, parts, strict=True):
        contents[name] = part.reshape(arrays[name].shape)
    for value in contents.values():
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
    return Integrals(**contents)


def settled_pairs(form: Array, whole: Array | None = None) -> Array:
    """Return a matrix (m, m) in which entries equal up to rounding are exactly equal, or 0.

    Rounding is relative to `pair_sizes` of the matrix, or of ``whole`` if the matrix is a part of
    ``whole``.
    """
    return settled(form, pair_sizes(form if whole is None else whole))


def pair_sizes(form: Array) -> Array:
    """Return the scale of rounding errors of each matrix entry, which grows with m.

    The matrix has m rows.
    """
    size = np.sqrt(np.abs(np.diag(form)))
    return max(1.0, len(size) ** 2 / 10) * np.outer(size, size)


def _index(shapes: Shapes, name: str) -> int:
    if name not in shapes.names:
        raise ShapeError(
            f"there is no amplitude '{name}'. The amplitudes of the link are "
            f"{', '.join(shapes.names)}."
        )
    return shapes.names.index(name)


@dataclass(frozen=True)
class Rotary:
    """Rotary inertia of a span's sections as constant matrices, with m amplitudes.

    The matrices couple rotations of the root (3, 3), rotations with amplitudes (3, m), and
    amplitudes with each other (m, m).
    """

    inertia: Array
    shape: Array
    modal: Array


def constant_rotary(i: Integrals, points: Points, nodes: Collocation | None) -> Rotary:
    """Compute the rotary inertia of a span's sections that is independent of the deformation.

    For an exact beam, this rotary inertia is the integral over the straight link minus the sum over
    the sections at the collocation nodes, which rotate with the deformation.
    """
    inertia, shape = i.rotary.copy(), i.rotary_shape.copy()
    root = np.sqrt(points.mass)[:, None, None] * points.shape
    root = root.reshape(-1, root.shape[2])
    modal, sizes = i.modal_mass - root.T @ root, pair_sizes(i.modal_mass)
    if nodes is not None and (np.any(nodes.rotary) or np.any(nodes.point)):
        J, angle = _sections(nodes)
        inertia -= np.diag(J.sum(axis=1))
        shape -= np.einsum("ag,agm->am", J, angle)
        # Rounding levels are those of the whole mass matrix, by Schwarz's inequality.
        rotation_scale, amplitude_scale = (
            np.sqrt(np.diag(i.inertia.second)),
            np.sqrt(np.diag(i.modal_mass)),
        )
        inertia = _snap_difference(inertia, np.outer(rotation_scale, rotation_scale))
        shape = _snap_difference(shape, np.outer(rotation_scale, amplitude_scale))
        # Same summation order as in the equations of motion, so that cancelling terms give exactly
        # 0.
        node_sum = sum(
            np.cumsum((w[:, None] * rows)[:, :, None] * rows[:, None], axis=0)[-1]
            for w, rows in zip(J, angle, strict=True)
        )
        node_sum = np.triu(node_sum) + np.triu(node_sum, 1).T
        modal = _snap_difference(modal, sizes) - node_sum
    return Rotary(inertia, shape, _snap_difference(modal, sizes))


def rotary_error(i: Integrals, nodes: Collocation, length: float = 1.0) -> float:
    """Return the largest relative error of modal mass due to the sum of rotary inertia over nodes.

    ``length`` is the exposed length [m] of a sliding link. The error of each matrix entry is
    relative to the modal masses of its two amplitudes. For deformation in one plane the error is 0,
    because a constant rotary inertia is exact.
    """
    if sum(nodes.bends) + nodes.twists < 2:
        return 0.0
    J, angle = _sections(nodes, length)
    error = i.rotary_modal - np.einsum("ag,agm,agn->mn", J, angle, angle)
    size = np.sqrt(np.diag(i.modal_mass))
    size = np.outer(size, size)
    return float(np.abs(np.divide(error, size, out=0 * error, where=size > 0)).max())


def _sections(nodes: Collocation, length: float = 1.0) -> tuple[Array, Array]:
    """Return rotary inertia (3, G) and first-order angles (3, G, m) of sections at the nodes."""
    rotary = [length**k * each.rotary for k, each in enumerate(nodes.powers)]
    return np.sum(rotary, axis=0) + np.outer([0, 1, 1], nodes.point), np.stack(
        [nodes.twist, -nodes.turn[1], nodes.turn[0]]
    )


def _snap_difference(difference: Array, size: Array) -> Array:
    """Return a difference of two sums with rounding errors, relative to ``size``, set to 0."""
    return np.where(np.abs(difference) <= 3 * ROUNDING * size, 0.0, difference)
