"""Points of beam elements and rigid bodies, with the Jacobians of both (eqs. 1-21).

Part of `element_jacobian`, which has the table of symbols.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from flexarm.links.base import Array
from flexarm.links.fields import AXES, evaluate
from flexarm.links.integrals import quadratic_displacement
from flexarm.links.span import gauss_points
from flexarm.mechanics.bodies.exact.tangents import Angles, angular_columns, turned
from flexarm.mechanics.bodies.growing_motion import GrowingMotion
from flexarm.mechanics.bodies.material import material
from flexarm.mechanics.kinematics import tip_section
from flexarm.mechanics.sections import Local, own_values, picked, selection
from flexarm.model import LinkModel, Model
from flexarm.spatial import Expr, Inertia, Pose, constant, skew_matrix, turn_z

ROD = np.array([0.0, 1.0, 1.0]) / 12  # inertia of a rod about its centre by mass length^2


def element_points(edges: Array, count: int) -> tuple[Array, Array]:
    """Place Gauss points with their weights on every element, (elements count,) each."""
    node, weight = gauss_points(count)
    half = np.diff(edges)[:, None] / 2
    return (edges[:-1, None] + half * (1 + node)).ravel(), (half * weight).ravel()


def constant_sections(model: Model, part: LinkModel, q: Expr, count: int) -> list["ElementSection"]:
    """See the points of a link of constant length."""
    e = part.elastic
    assert e is not None
    edges = np.union1d(e.span.edges, e.shapes.edges)
    edges = edges[np.concatenate(([True], np.diff(edges) > 1e-9 * e.span.length))]
    x, weight = element_points(edges, count)
    mass = weight * e.span.at("mass_per_length", x)
    rotary = np.stack([weight * e.span.at(name, x) for name in ("Jx", "Jy", "Jz")], axis=1)
    theta, d = e.shapes.rotation(x), own_values(part, q)
    places = (_exact_places if e.nodes is not None else _series_places)(model, part, x, edges, d)
    sections = []
    for g, (place, columns) in enumerate(places):
        angle = constant(theta[g])
        inertia = rotary[g] + (mass[g] * weight[g] ** 2 * ROD if count == 1 else 0.0)
        size = float(mass[g]), constant(inertia)
        sections.append(ElementSection(*size, place, columns, angle @ d, angle))
    return sections


def _series_places(
    model: Model, part: LinkModel, x: Array, edges: Array, d: Expr
) -> Iterator[tuple[Expr, Expr]]:
    """Place points at x + Phi d + 1/2 d^T X d, with their columns (3, m)."""
    assert part.elastic is not None
    shapes, extra = part.elastic.shapes, part.link.quadratic_shapes
    phi = shapes.displacement(x)
    drawn = quadratic_displacement(shapes, x, edges, stiffening=model.stiffening, extra=extra)
    for g in range(len(x)):
        bent = ca.vertcat(*[(constant(drawn[g, a]) @ d).T for a in range(3)])
        straight = constant(np.array([x[g], 0.0, 0.0]))
        yield straight + constant(phi[g]) @ d + bent @ d / 2, constant(phi[g]) + bent  # (eq. 2)


def _exact_places(
    model: Model, part: LinkModel, x: Array, edges: Array, d: Expr
) -> Iterator[tuple[Expr, Expr]]:
    """Place points of an exact beam, with their columns (3, m)."""
    assert part.elastic is not None and part.elastic.nodes is not None
    moving, basis = material(part.elastic, d, 0 * d)
    reach = part.elastic.nodes.reach(x)
    rest = np.zeros(len(basis.mean["x"]) - reach.shape[2])
    for g in range(len(x)):
        at = {axis: np.concatenate([reach[a, g], rest])[:, None] for a, axis in enumerate(AXES)}
        place, columns, _ = evaluate(moving, at)
        yield place, columns


def polar_lumps(frame: "LumpFrame", part: LinkModel, q: Expr) -> list["Lump"]:
    """Turn the sections' inertia about the link's x into one about their own axes."""
    nodes = None if part.elastic is None else part.elastic.nodes
    if nodes is None or nodes.polar is None:
        return []
    d, sections = own_values(part, q), nodes.polar
    select = selection(part.own, frame.J_T.shape[1])
    spin, lumps = frame.A.T @ frame.J_R, []
    for J, bend, twist in zip(
        sections.inertia.tolist(), sections.bend.transpose(1, 0, 2), sections.twist, strict=True
    ):
        rows = bend[:, None], twist[None], 0 * twist[None]
        at = turned(Angles.at(*rows, d), Angles.at(*rows, 0 * d))
        about = at.rotation[:, 0].T @ (spin + angular_columns(at, *rows[:2]) @ select)
        straight = spin[0, :] + constant(rows[1]) @ select
        for inertia, row in ((J, about), (-J, straight)):
            lumps.append(Lump(0.0, frame.r, frame.J_T, ca.SX(inertia), row))
    return lumps


def sliding_polar_lumps(model: Model, frame: "LumpFrame", part: LinkModel, q: Expr) -> list["Lump"]:
    """Turn the sections' inertia of a sliding link about its x into one about their own axes."""
    sections = None if part.grown is None else part.grown.polar
    if sections is None:
        return []
    own = own_values(part, q)
    motion = GrowingMotion.of(part, own, 0 * own)
    select = selection(part.own, frame.J_T.shape[1])
    spin, lumps = frame.A.T @ frame.J_R, []
    for J, left in zip(sections.inertia.tolist(), sections.left.tolist(), strict=True):
        at, straight = motion.section(model, 1 - left).local, motion.angles(1 - left)[1]
        rows = at.rotation[:, 0].T @ (spin + at.angular @ select), spin + straight @ select
        for inertia, row in ((J, rows[0]), (-J, rows[1][0, :])):
            lumps.append(Lump(0.0, frame.r, frame.J_T, ca.SX(inertia) * own[0], row))
    return lumps


def sliding_sections(part: LinkModel, q: Expr, count: int) -> list["ElementSection"]:
    """See the points of a sliding link's exposed part, and the straight rest in the hub."""
    shapes, own = part.sliding, own_values(part, q)
    assert shapes is not None
    mu, J = shapes.mass_per_length, shapes.rotary
    motion = GrowingMotion.of(part, own, 0 * own)
    moved = motion.displacement()
    sections = []
    for xi, weight in zip(*element_points(shapes.edges, count), strict=True):
        at = np.array([xi])
        place, columns, _ = evaluate(moved, motion.displacement_functions(at))
        angle, angle_columns, _ = motion.angles(xi)
        length = own[0] * weight
        inertia = constant(J) * length
        if count == 1:
            inertia = inertia + constant(ROD) * mu * length**3
        sections.append(ElementSection(mu * length, inertia, place, columns, angle, angle_columns))
    hidden, none = part.length - own[0], ca.SX(3, own.shape[0])
    along = ca.SX(3, own.shape[0])
    along[0, 0] = 1.0
    centre = ca.vertcat(-hidden / 2, 0, 0)
    inertia = constant(J) * hidden + constant(ROD) * mu * hidden**3
    sections.append(ElementSection(mu * hidden, inertia, centre, along, ca.SX(3, 1), none))
    return sections


def slope_tip(model: Model, part: LinkModel, q: Expr) -> Local:
    """See the tip as eq. 1 has it: turned about z by the slope itself."""
    flat = replace(model, tip_rotation="first-order")
    tip = tip_section(flat, part, q)
    slope = tip.rotation[1, 0]
    return replace(tip, rotation=turn_z(slope))  # (eq. 1)


@dataclass(frozen=True)
class ElementSection:
    """A point of an element and how its link's own coordinates move it, in the link's axes."""

    # mass, inertia: what the point stands for [kg], and about the axes [kg m^2], (3,).
    mass: Expr
    inertia: Expr
    # place, columns: where it is (3,), and its velocity per rate of own coordinate (3, k).
    place: Expr
    columns: Expr
    # angle, angle_columns: first-order angles of the section (3,), and their rates (3, k).
    angle: Expr
    angle_columns: Expr


@dataclass(frozen=True)
class Lump:
    """A mass with its inertia, and the Jacobians of its centre and of its angular velocity.

    ``J_R`` and ``inertia`` are in the same axes, not those of the world.
    """

    mass: Expr
    r: Expr
    J_T: Expr
    inertia: Expr
    J_R: Expr


@dataclass(frozen=True)
class LumpFrame:
    """A frame in the world: axes, origin, translational and rotational Jacobian, (3, n) each."""

    A: Expr
    r: Expr
    J_T: Expr
    J_R: Expr

    def carry(self, body: Inertia) -> list[Lump]:
        """Weigh a rigid body that is fixed in the frame, if there is one."""
        if not body.weighs:
            return []
        centre = body.first / body.mass if body.mass else body.first
        cross = skew_matrix(centre)
        at = self.A @ constant(centre)
        J_T = self.J_T - ca.skew(at) @ self.J_R
        inertia = ca.SX(constant(body.second + body.mass * cross @ cross))
        return [Lump(body.mass, self.r + at, J_T, inertia, self.A.T @ self.J_R)]

    def weigh(self, s: ElementSection, own: tuple[int, ...], *, turned: bool) -> Lump:
        """Weigh a point of a link whose frame this is, its inertia turned with the section."""
        u, J_f, J_Rf = self.A @ s.place, s.columns, s.angle_columns
        select = selection(own, self.J_T.shape[1])
        J_T = self.J_T - ca.skew(u) @ self.J_R + self.A @ J_f @ select  # (eqs. 10, 12, 20)
        # in the link's axes, and in the element's if its inertia is turned
        J_R = self.A.T @ self.J_R + J_Rf @ select  # (eqs. 16, 21)
        if turned:
            J_R = turn_z(s.angle[2]).T @ J_R  # (eq. 1)
        return Lump(s.mass, self.r + u, J_T, ca.SX(ca.diag(s.inertia)), J_R)  # (eq. 6)

    def placed(self, pose: Pose) -> "LumpFrame":
        """Go to a frame that is fixed in this one."""
        offset = self.A @ constant(pose.position)
        J_T = self.J_T - ca.skew(offset) @ self.J_R
        return LumpFrame(self.A @ constant(pose.rotation), self.r + offset, J_T, self.J_R)

    def through_joint(self, part: LinkModel, q: Expr) -> "LumpFrame":
        """Go from the previous tip to a link's frame."""
        frame, own = self.placed(part.pose_FJ), picked(q, part.carried_by)
        R_JK, p_JK = part.motion.place(own)
        A, moved, columns = frame.A @ R_JK, frame.A @ p_JK, part.motion.columns(own)
        J_T, J_R = ca.SX(frame.J_T - ca.skew(moved) @ frame.J_R), ca.SX(frame.J_R)
        for k, joint in enumerate(part.carried_by):
            J_R[:, joint], J_T[:, joint] = A @ columns[:3, k], A @ columns[3:, k]  # (eq. 11)
        return LumpFrame(A, frame.r + moved, J_T, J_R).placed(part.pose_JL)  # (eq. 3)

    def through(self, tip: Local, own: tuple[int, ...]) -> "LumpFrame":
        """Go from a link's frame to its deflected tip (eqs. 3, 4)."""
        offset, select = self.A @ tip.position, selection(own, self.J_T.shape[1])
        J_T = self.J_T - ca.skew(offset) @ self.J_R + self.A @ tip.linear @ select
        # omega^f is in the link's axes
        J_R = self.J_R + self.A @ tip.angular @ select  # (eq. 14)
        return LumpFrame(self.A @ tip.rotation, self.r + offset, J_T, J_R)  # (eq. 4)
