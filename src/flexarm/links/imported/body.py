"""A flexible body with modes: mass moments, interface motions, stiffness and damping.

A mesh has N nodes at positions ``X_a``, shapes ``phi_j(a)`` and the mass matrix m. With ``W = [1,
X, phi_1 .. phi_m]``, the Gram matrix ``G = W^T m W`` contains all mass moments of a body with
positions ``X + sum q_j phi_j``, whatever its geometry and mass distribution (Shabana 2020, chapter
5).

Under load, points move by ``Phi q + 1/2 q^T X q`` with second-order displacements X. The work of a
load f on the second term is a stiffness ``K_f = -int f X`` of the amplitudes: the sum of K_sigma,
due to the stress caused by the load, and K_u, due to the displacement caused by the load. The 18
stiffness matrices per unit inertia force and tip load determine the first mass moments of X and the
values of X at the tip. To second order in the amplitudes, the equations depend on X only through
these moments and values (Wallrapp & Schwertassek 1991).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from flexarm.constants import NEGLIGIBLE, ROUNDING
from flexarm.errors import ModelError
from flexarm.linear_model import undamped
from flexarm.links.body_data import BodyData, StraightBody
from flexarm.links.imported.constants import (
    AXIS_POINTS,
    AXIS_WINDOW,
    DIGITS,
    INNER_POINTS,
    NOTE_ABOVE,
    SPIN_STIFFENING,
    SPIN_SYMMETRY,
    SURFACE_POINTS,
)
from flexarm.links.imported.data import Findings, Integers, ModalData, no_lines
from flexarm.links.integrals import Integrals
from flexarm.spatial import IDENTITY, Array, Expr, Pose, constant


@dataclass(frozen=True, eq=False)
class SecondOrder:
    """Mass moments and tip values of a body's second-order displacements X, in hub axes.

    X has one vector per pair of the body's m amplitudes.
    """

    first: Array  # ``int X dm``, (3, m, m)
    second: Array  # ``int X_a r_b dm`` at ``[a, b]``, (3, 3, m, m)
    tip: Array  # second-order displacement of the tip's origin, (3, m, m)
    tip_angle: Array  # second-order rotation of the tip, (3, m, m)

    def changed(self, transform: Array) -> "SecondOrder":
        """Return the matrices for new amplitudes, ``d = transform d_new`` with transform (m, k)."""
        return SecondOrder(
            *(transform.T @ matrices @ transform for matrices in vars(self).values())
        )

    def cleaned(self, threshold: float) -> "SecondOrder":
        """Return a copy in which small entries, relative to the largest of their array, are 0."""
        arrays = vars(self).values()
        return SecondOrder(
            *(np.where(np.abs(x) <= threshold * np.abs(x).max(), 0.0, x) for x in arrays)
        )

    @property
    def pairs(self) -> Array:
        """Moments ``int r_a X_b dm`` in the layout of `Integrals.shape_shape`, (m, m, 3, 3)."""
        return self.second.transpose(2, 3, 1, 0)

    def spin_stiffness(self, axis: int) -> Array:
        """Return the added stiffness (m, m) per squared angular velocity about a hub axis."""
        a, b = (axis + 1) % 3, (axis + 2) % 3
        return np.asarray(-(self.second[a, a] + self.second[b, b]))


def of_unit_loads(loads: Array, hub: Array) -> SecondOrder:
    """Convert stiffness per unit load, (18, m, m), to second-order displacements in hub axes.

    Parameters
    ----------
    loads
        Stiffness matrices in the axes of the data, one per unit load: acceleration and angular
        acceleration of the hub (6), products ``xx, yy, zz, yz, zx, xy`` of its angular velocities
        (6), and force and moment on the tip (6).
    hub
        Axes of the hub as columns, (3, 3).
    """
    first, angular, spin, tip, moment = np.split(loads, (3, 6, 12, 15))
    second = np.zeros((3, 3, *loads.shape[1:]))
    for a in range(3):
        b, c = (a + 1) % 3, (a + 2) % 3
        # The moments int X_a r_b enter through the squared angular velocity and the angular
        # acceleration.
        second[a, a] = (spin[a] - spin[b] - spin[c]) / 2
        second[b, c] = (spin[3 + a] - angular[a]) / 2
        second[c, b] = (spin[3 + a] + angular[a]) / 2
    second = np.einsum("ka,lb,klij->abij", hub, hub, second)
    return SecondOrder(
        np.tensordot(hub.T, first, 1), second, -np.tensordot(hub.T, tip, 1),
        -np.tensordot(hub.T, moment, 1),
    )  # fmt: skip


def examine_loads(data: ModalData, findings: Findings, *, held: bool) -> SecondOrder | None:
    """Check the stiffness matrices K_sigma and K_u; return second-order displacements.

    Return None if the data contain no K_sigma. Errors are added to the findings.
    """
    if data.k_sigma is None:
        if data.k_u is not None:
            findings.refuse(("K_u",), "is of use beside K_sigma alone. Give that too.")
        return None
    for key, matrices in (("K_sigma", data.k_sigma), ("K_u", data.k_u)):
        if matrices is None:
            continue
        asymmetry = np.abs(matrices - matrices.transpose(0, 2, 1)).max(axis=(1, 2))
        worst = int(np.argmax(asymmetry / np.maximum(np.abs(matrices).max(axis=(1, 2)), 1e-300)))
        if asymmetry[worst] > SPIN_SYMMETRY * np.abs(matrices[worst]).max():
            findings.refuse(
                (key, worst),
                "must be symmetric. Give its symmetric part, which is the stiffness of "
                "forces that have an energy.",
            )
    if not held:
        findings.refuse(
            ("K_sigma",), "needs shapes in which the hub is at rest. Hold the hub and reduce again."
        )
    loads = data.k_sigma + (0.0 if data.k_u is None else data.k_u)
    return of_unit_loads((loads + loads.transpose(0, 2, 1)) / 2, (data.hub or IDENTITY).rotation)


def check_second_order(
    findings: Findings, x: SecondOrder, i: Integrals, tip: Pose, *, complete: bool
) -> None:
    """Report how rotation changes the first frequency; add errors for implausible values.

    Parameters
    ----------
    x, i, tip
        Second-order displacements, mass integrals and tip frame of the body.
    complete
        Whether K_u is included in x.
    """
    direction = tip.position / max(float(np.linalg.norm(tip.position)), 1e-300)
    centre = i.first / i.mass
    offset = float(np.linalg.norm(np.cross(centre, direction)))
    if not complete and offset > NOTE_ABOVE * float(np.linalg.norm(tip.position)):
        findings.refuse(
            ("K_u",),
            f"is required, since the centre of mass is {offset:.3g} m off the line from hub "
            "to tip. Off the axis K_sigma alone is wrong, even in sign. Give the "
            "stiffness of the preload's displacement (K_u) too, or leave K_sigma out.",
        )
    slopes = [_slope(x, i, axis) for axis in range(3)]
    text = ", ".join(f"{axis} {slope:.3g}" for axis, slope in zip("xyz", slopes, strict=True))
    findings.fact("spin", f"changes the first squared frequency by its square times {text}")
    if max(map(abs, slopes)) > SPIN_STIFFENING:
        findings.refuse(
            ("K_sigma",),
            f"changes the first squared frequency by {max(slopes, key=abs):.3g} times "
            "the squared spin, where about 1 is usual for a link. Is it per unit load, "
            "in the units of the file?",
        )


def _slope(x: SecondOrder, i: Integrals, axis: int) -> float:
    """Return the change of the first mode's squared frequency per squared spin about an axis."""
    a, b = (axis + 1) % 3, (axis + 2) % 3
    shape = undamped(i.modal_mass, i.stiffness)[1][:, 0]
    softening = i.shape_shape[:, :, a, a] + i.shape_shape[:, :, b, b]
    return float(shape @ (x.spin_stiffness(axis) - softening) @ shape)


@dataclass(frozen=True, eq=False)
class Drawn:
    """Displayed points of a flexible body, with lines and triangles between them."""

    places: Array  # undeformed positions [m], (P, 3)
    moved: Array  # displacement per amplitude, (P, 3, m)
    lines: np.typing.NDArray[np.int64]  # pairs of points, (k, 2)
    axis: int  # number of points, the first ones, that form the axis from hub to tip
    # Indices of the three points of each of f surface triangles, (f, 3).
    faces: np.typing.NDArray[np.int64] = field(
        default_factory=lambda: np.zeros((0, 3), dtype=np.int64)
    )

    def line(self, fractions: Array) -> tuple[Array, Array]:
        """Interpolate positions (S, 3) and shapes (S, 3, m) of the displayed axis at S fractions.

        Fractions are 0 at the hub and 1 at the tip.
        """
        positions = np.linspace(0.0, 1.0, self.axis)
        weights = np.stack(
            [np.interp(fractions, positions, row) for row in np.eye(self.axis)], axis=1
        )
        shapes = np.einsum("sk,kaj->saj", weights, self.moved[: self.axis])
        return weights @ self.places[: self.axis], shapes


@dataclass(frozen=True, eq=False)
class BodyFrame:
    """Named frame of a body, in hub axes."""

    pose: Pose  # undeformed
    shape: Array  # displacement of the frame's origin per amplitude, (3, m)
    angle: Array  # first-order rotation of the frame per amplitude, (3, m)

    def changed(self, transform: Array) -> "BodyFrame":
        """Return the frame for new amplitudes, ``d = transform d_new`` with transform (m, k)."""
        return BodyFrame(self.pose, self.shape @ transform, self.angle @ transform)


@dataclass(frozen=True, eq=False)
class ReducedBody(BodyData):
    """Flexible body reduced to modal amplitudes, in SI units and hub axes; the hub is fixed."""

    name: str
    names: tuple[str, ...]  # names of the m amplitudes
    integrals: Integrals  # moments, modal mass and stiffness
    tip: Pose  # tip frame, undeformed
    tip_shape: Array  # displacement of the tip's origin per amplitude, (3, m)
    tip_angle: Array  # first-order rotation of the tip per amplitude, (3, m)
    # Damping matrix, (m, m); None if the damping of the link in the model file applies.
    damping: Array | None
    # Whether only K and M of the interfaces are known. The mass moments are then independent of the
    # deformation.
    first_order: bool
    drawn: Drawn
    strains: Array | None = None  # strain at P positions per amplitude, (P, m); None if unknown
    # Second-order displacements, through which loads stiffen the body; None if unknown.
    second_order: SecondOrder | None = None
    frames: Mapping[str, BodyFrame] = field(default_factory=dict)  # frames beside hub and tip

    kind = "reduced"
    sectioned = False
    measured = True

    @property
    def stiffens(self) -> bool:
        """Whether loads stiffen the body, through second-order displacements."""
        return self.second_order is not None

    @property
    def tip_slopes(self) -> Array:
        """Rotations of the tip per amplitude, (3, m)."""
        return self.tip_angle

    def straight(self, length: float) -> StraightBody:
        """Return the undeformed body; its tip is given by its file, so ``length`` has no effect."""
        return StraightBody(self.integrals, self.tip.position, self.tip_angle, self.tip_shape)

    def damping_at(self, own: Expr) -> Expr | None:
        """Return the damping matrix of the amplitudes, (m, m); None without damping."""
        damping = self.damping
        return None if damping is None or not np.any(damping) else constant(damping)

    def largest_strain(self, d: Array) -> Array:
        """Return the largest absolute strain, (T,), at amplitudes d, (T, m).

        The largest strain is NaN if the strains are unknown.
        """
        if self.strains is None or not self.strains.size:
            return np.full(len(d), np.nan)
        return np.asarray(np.abs(d @ self.strains.T).max(axis=1))

    def changed(self, transform: Array, names: tuple[str, ...] | None = None) -> "ReducedBody":
        """Return the body for new amplitudes d_new, ``d = transform d_new`` with transform (m, k).

        The names of the amplitudes are unchanged unless new ``names`` are given.
        """
        integrals_before = self.integrals
        squares = ("rotary_modal", "modal_mass", "stiffness")
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
            frames={name: frame.changed(transform) for name, frame in self.frames.items()},
        )

    def frame(self, name: str) -> BodyFrame:
        """Return the frame with a name: ``root``, the hub, or a name in the body's file.

        Raises
        ------
        ModelError
            If the body has no such frame.
        """
        none = np.zeros((3, len(self.names)))
        frames = {"root": BodyFrame(IDENTITY, none, none), **self.frames}
        if name not in frames:
            raise ModelError(
                f"there is no frame '{name}' in the body's file. The body has "
                f"{', '.join(['tip', *frames])}."
            )
        return frames[name]

    @property
    def length(self) -> float:
        """Distance from hub to tip [m]."""
        return float(np.linalg.norm(self.tip.position))


def rigid_mass(i: Integrals) -> Array:
    """Return the mass matrix of hub rotations, hub translations and amplitudes, (6 + m, 6 + m)."""
    return np.block([[i.inertia.matrix, i.momentum], [i.momentum.T, i.modal_mass]])


def orthogonal(body: ReducedBody) -> ReducedBody:
    """Return a body with exactly orthogonal modes if its modes are nearly orthogonal.

    Other bodies are returned unchanged. Equations with exactly orthogonal modes are cheaper to
    solve.
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
    """Return a body in which mass moments at rounding level are set to 0.

    Symbolic equations omit terms whose mass moment is 0. Each axis has its own rounding level, so
    that a slender body retains the inertia about its long axis.
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

    def snapped_frame(frame: BodyFrame) -> BodyFrame:
        pose = frame.pose
        return BodyFrame(
            Pose(snapped(pose.rotation, 1e-6), snapped(pose.position, body.length)),
            snapped(frame.shape, tip_sizes),
            snapped(frame.angle, tip_sizes / max(body.length, 1e-9)),
        )

    tip = snapped_frame(BodyFrame(body.tip, body.tip_shape, body.tip_angle))
    return replace(
        body, integrals=integrals, tip=tip.pose, tip_shape=tip.shape, tip_angle=tip.angle,
        frames={name: snapped_frame(frame) for name, frame in body.frames.items()},
        second_order=body.second_order and body.second_order.cleaned(NEGLIGIBLE),
    )  # fmt: skip


_TETRA = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]]
# Nodes 0 to 3 of a brick element are the corners of its bottom face; nodes 4 to 7 are above them.
RING = [(0, 1), (1, 2), (2, 3), (3, 0)]
UP = len(RING)  # difference of the numbers of a top corner and of the corner below it
_BRICK = [[0, 3, 2, 1], [a + UP for a, _ in RING], *([a, b, b + UP, a + UP] for a, b in RING)]
# Corner nodes of each face; keys are the element's number of nodes.
SOLID_CORNERS = {4: _TETRA, 10: _TETRA, 8: _BRICK, 20: _BRICK}


def drawn_points(
    positions: Array, shapes: Array, lines: Integers, faces: Integers, tip: Pose, tips: Array
) -> Drawn:
    """Select the points of a mesh to display, with their displacements per amplitude.

    The mesh has positions (N, 3) and shapes (m, N, 3); ``tips`` (m, 6) are motions of the tip
    frame. If the mesh has surface faces, and not too many, the surface is displayed. Otherwise a
    selection of nodes is displayed, with the given lines between them or the triangles of their
    convex hull.
    """
    axis, axis_shapes = _axis(positions, shapes, tip, tips)
    nodes = np.unique(faces)
    if 0 < len(nodes) <= SURFACE_POINTS:
        edges, surface = no_lines(), np.searchsorted(nodes, faces)
    else:
        nodes, edges = _selected_nodes(len(positions), lines)
        surface = no_lines(3) if len(edges) else _hull_triangles(positions[nodes])
    return Drawn(
        np.vstack([axis, positions[nodes]]),
        np.concatenate([axis_shapes, shapes[:, nodes].transpose(1, 2, 0)]),
        edges + AXIS_POINTS,
        AXIS_POINTS,
        surface + AXIS_POINTS,
    )


def triangles(faces: Integers) -> Integers:
    """Return triangles (t, 3): each quadrangle of faces (f, 4) is divided into two triangles."""
    if faces.shape[1] == 3:
        return faces
    return np.concatenate([faces[:, [0, 1, 2]], faces[:, [0, 2, 3]]])


def outer_faces(elements: Integers) -> Integers:
    """Return the surface triangles of solid elements (E, n): faces that only one element has."""
    sides = SOLID_CORNERS[elements.shape[1]]
    all_faces = elements[:, sides].reshape(-1, len(sides[0]))
    _, first_index, count = np.unique(
        np.sort(all_faces, axis=1), axis=0, return_index=True, return_counts=True
    )
    return triangles(all_faces[first_index[count == 1]])


def _hull_triangles(positions: Array) -> Integers:
    """Return the triangles of the convex hull of points (n, 3); none if coplanar or too few."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        return np.asarray(ConvexHull(positions).simplices, dtype=np.int64)
    except (QhullError, ValueError):
        return no_lines(3)


def straight_axis(tip: Pose, tips: Array) -> Drawn:
    """Return the displayed axis of a body without nodes: a cubic curve from hub to tip."""
    s = np.linspace(0.0, 1.0, AXIS_POINTS)[:, None]
    length = float(np.linalg.norm(tip.position))
    direction = tip.position / length
    rotations = np.cross(tips[:, 3:], direction) * length
    displacement_share, slope_share = 3 * s**2 - 2 * s**3, s**3 - s**2
    shapes = [
        displacement_share * tips[j, :3] + slope_share * rotations[j] for j in range(len(tips))
    ]
    no_line = np.zeros((0, 2), dtype=np.int64)
    return Drawn(s * tip.position, np.stack(shapes, axis=2), no_line, AXIS_POINTS)


def _axis(positions: Array, shapes: Array, tip: Pose, tips: Array) -> tuple[Array, Array]:
    """Return S points on the axis from hub to tip, (S, 3), and their shapes, (S, 3, m).

    Each inner point is a weighted mean of the nodes near a cross-section.
    """
    length = float(np.linalg.norm(tip.position))
    fraction = positions @ tip.position / length**2
    points, axis_shapes = [np.zeros(3)], [np.zeros((3, len(shapes)))]
    width = AXIS_WINDOW / (AXIS_POINTS - 1)
    for s in np.linspace(0.0, 1.0, AXIS_POINTS)[1:-1]:
        weights = np.exp(-(((fraction - s) / width) ** 2)) + 1e-30
        weights = weights / weights.sum()
        points.append(weights @ positions)
        axis_shapes.append(np.einsum("n,jna->aj", weights, shapes, optimize=True))
    return np.array([*points, tip.position]), np.stack([*axis_shapes, tips[:, :3].T])


def _selected_nodes(count: int, lines: Integers) -> tuple[Integers, Integers]:
    """Return indices of at most INNER_POINTS of ``count`` nodes, and the lines between them."""
    nodes = np.linspace(0, count - 1, min(count, INNER_POINTS)).astype(np.int64)
    index = np.full(count, -1)
    index[nodes] = np.arange(len(nodes))
    pairs = index[lines] if len(lines) else np.zeros((0, 2), dtype=np.int64)
    return nodes, pairs[(pairs >= 0).all(axis=1)].astype(np.int64)
