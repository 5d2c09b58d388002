"""A flexible body with modes: mass moments, interface motions, stiffness and damping.

With N nodes at positions ``X_a``, shapes ``phi_j(a)`` and the mass matrix m of the mesh,
``W = [1, X, phi_1 .. phi_m]`` and the Gram matrix ``G = W^T m W`` contain all mass moments of a
body with positions ``X + sum q_j phi_j``, for any geometry and mass distribution (Shabana 2020,
chapter 5).
"""

from dataclasses import dataclass, field, replace

import numpy as np

from flexarm.constants import NEGLIGIBLE, ROUNDING
from flexarm.links.body_data import BodyData, StraightBody
from flexarm.links.imported.constants import DIGITS
from flexarm.links.imported.second_order import SecondOrder
from flexarm.links.integrals import Integrals
from flexarm.spatial import Array, Expr, Pose, constant


@dataclass(frozen=True, eq=False)
class Drawn:
    """P points of a body for display, with lines and surface triangles between the points."""

    places: Array  # undeformed positions [m], (P, 3)
    moved: Array  # displacement per amplitude, (P, 3, m)
    lines: np.typing.NDArray[np.int64]  # pairs of points, (k, 2)
    axis: int  # number of the first points, which form the axis from hub to tip
    # Triangles of the surface, (f, 3).
    faces: np.typing.NDArray[np.int64] = field(
        default_factory=lambda: np.zeros((0, 3), dtype=np.int64)
    )

    def line(self, fractions: Array) -> tuple[Array, Array]:
        """Interpolate the axis from hub to tip at S fractions: points (S, 3), shapes (S, 3, m)."""
        positions = np.linspace(0.0, 1.0, self.axis)
        weights = np.stack(
            [np.interp(fractions, positions, row) for row in np.eye(self.axis)], axis=1
        )
        shapes = np.einsum("sk,kaj->saj", weights, self.moved[: self.axis])
        return weights @ self.places[: self.axis], shapes


@dataclass(frozen=True, eq=False)
class ReducedBody(BodyData):
    """A flexible body in SI units, in the axes of its hub frame, where the hub is at rest."""

    name: str
    names: tuple[str, ...]  # names of the m amplitudes
    integrals: Integrals  # moments, modal mass and stiffness
    tip: Pose  # tip frame, undeformed
    tip_shape: Array  # displacement of the tip's origin per amplitude, (3, m)
    tip_angle: Array  # first-order rotation of the tip per amplitude, (3, m)
    damping: Array | None  # damping matrix, (m, m); None: the link's own damping applies
    # Whether only K and M of the interfaces are known, so that the change of the moments with the
    # deformation is left out.
    first_order: bool
    drawn: Drawn
    strains: Array | None = None  # strain at P positions per amplitude, (P, m); None if unknown
    # Second-order displacements, through which loads stiffen the body; None if unknown.
    second_order: SecondOrder | None = None

    kind = "reduced"
    sectioned = False
    measured = True

    @property
    def stiffens(self) -> bool:
        """Return whether loads stiffen the body, through second-order displacements."""
        return self.second_order is not None

    @property
    def tip_slopes(self) -> Array:
        """Rotations of the tip per amplitude, (3, m)."""
        return self.tip_angle

    def straight(self, length: float) -> StraightBody:
        """Return the undeformed body, whose tip is given by its file, not by ``length``."""
        return StraightBody(self.integrals, self.tip.position, self.tip_angle, self.tip_shape)

    def damping_at(self, own: Expr) -> Expr | None:
        """Return the damping matrix of the amplitudes, (m, m), or None."""
        damping = self.damping
        return None if damping is None or not np.any(damping) else constant(damping)

    def largest_strain(self, d: Array) -> Array:
        """Return the largest absolute strain per amplitude vector, d (T, m) to (T,), or NaN.

        NaN means that the strains are unknown.
        """
        if self.strains is None or not self.strains.size:
            return np.full(len(d), np.nan)
        return np.asarray(np.abs(d @ self.strains.T).max(axis=1))

    def changed(self, transform: Array, names: tuple[str, ...] | None = None) -> "ReducedBody":
        """Return the body for new amplitudes d_new, ``d = transform d_new`` with transform (m, k).

        Names are those given, else unchanged.
        """
        integrals_before = self.integrals
        squares = ("rotary_modal", "quadratic", "position_quadratic", "modal_mass", "stiffness")
        integrals = replace(
            integrals_before,
            shape=integrals_before.shape @ transform,
            position_shape=np.einsum("jab,jk->kab", integrals_before.position_shape, transform),
            shape_shape=np.einsum(
                "ijab,ik,jl->klab",
                integrals_before.shape_shape,
                transform,
                transform,
                optimize=True,
            ),
            rotary_shape=integrals_before.rotary_shape @ transform,
            **{key: transform.T @ getattr(integrals_before, key) @ transform for key in squares},
        )
        return replace(
            self,
            names=names or self.names,
            integrals=integrals,
            tip_shape=self.tip_shape @ transform,
            tip_angle=self.tip_angle @ transform,
            damping=None if self.damping is None else transform.T @ self.damping @ transform,
            drawn=replace(self.drawn, moved=self.drawn.moved @ transform),
            strains=None if self.strains is None else self.strains @ transform,
            second_order=self.second_order and self.second_order.changed(transform),
        )

    @property
    def length(self) -> float:
        """Distance from hub to tip [m]."""
        return float(np.linalg.norm(self.tip.position))


def rigid_mass(i: Integrals) -> Array:
    """Return the mass matrix of hub rotations, hub translations and shapes, (6 + m, 6 + m)."""
    return np.block([[i.inertia.matrix, i.momentum], [i.momentum.T, i.modal_mass]])


def orthogonal(body: ReducedBody) -> ReducedBody:
    """Return a body with modes orthogonalised to rounding, if orthogonal to the digits of a file.

    Orthogonal modes are eliminated at little cost.  Modes that are not orthogonal are unchanged.
    """
    mass = body.integrals.modal_mass
    size = np.sqrt(np.diag(mass))
    scaled = mass / np.outer(size, size)
    error = float(np.abs(scaled - np.eye(len(mass))).max(initial=0.0))
    if not ROUNDING * len(mass) < error <= DIGITS:
        return body
    transform = np.linalg.inv(np.linalg.cholesky(scaled)).T / size[:, None] * size
    changed = body.changed(transform)
    modal, stiffness = changed.integrals.modal_mass, changed.integrals.stiffness
    roots = np.sqrt(np.abs(np.diag(stiffness)))
    stiffness = np.where(np.abs(stiffness) <= DIGITS * np.outer(roots, roots), 0.0, stiffness)
    integrals = replace(
        changed.integrals,
        modal_mass=np.diag(np.diag(modal)),
        stiffness=(stiffness + stiffness.T) / 2,
    )
    return replace(changed, integrals=integrals)


def cleaned(body: ReducedBody) -> ReducedBody:
    """Return a body with mass moments set to 0 that are rounding by Schwarz's inequality.

    Symbolic equations then omit these terms.  Moments along each axis, and rotary inertia about the
    axis, have separate bounds, so that a slender body retains the inertia about its long axis.
    """
    i = body.integrals
    size = np.sqrt(np.diag(i.modal_mass))
    reach = np.sqrt(np.trace(i.second) + np.trace(i.rotary) / 2)
    pairs = np.outer(size, size)
    length_scales, rotary_scales = (np.sqrt(np.abs(np.diag(x))) for x in (i.second, i.rotary))
    length_scales, rotary_scales = (
        np.where(x <= NEGLIGIBLE * reach, reach, x) for x in (length_scales, rotary_scales)
    )

    def snapped(values: Array, largest: Array | float) -> Array:
        return np.where(np.abs(values) <= NEGLIGIBLE * largest, 0.0, values)

    integrals = replace(
        i,
        first=snapped(i.first, length_scales * np.sqrt(i.mass)),
        second=snapped(i.second, np.outer(length_scales, length_scales)),
        shape=snapped(i.shape, size * np.sqrt(i.mass)),
        position_shape=snapped(i.position_shape, length_scales[:, None] * size[:, None, None]),
        shape_shape=snapped(i.shape_shape, pairs[:, :, None, None]),
        rotary=snapped(i.rotary, np.outer(rotary_scales, rotary_scales)),
        rotary_shape=snapped(i.rotary_shape, np.outer(rotary_scales, size)),
    )
    angle = np.abs(body.tip_angle).max(axis=0, initial=0.0)
    tip_sizes = np.maximum(np.abs(body.tip_shape).max(axis=0, initial=0.0), body.length * angle)
    tip_angle = snapped(body.tip_angle, tip_sizes / max(body.length, 1e-9))
    tip = Pose(snapped(body.tip.rotation, 1e-6), snapped(body.tip.position, body.length))
    return replace(
        body, integrals=integrals, tip=tip, tip_shape=snapped(body.tip_shape, tip_sizes),
        tip_angle=tip_angle,
        second_order=body.second_order and body.second_order.cleaned(NEGLIGIBLE),
    )  # fmt: skip
