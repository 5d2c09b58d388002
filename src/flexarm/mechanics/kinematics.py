"""Frames, points and Jacobians of the deformed arm as CasADi expressions.

Every coordinate has a column of kinematic influence coefficients (Graves 1989, eqs 8-12): a joint
moves everything outboard about or along its axis; an amplitude moves the sections of its own link
and everything beyond the link's tip.

Frames: W world, F section that carries the joint (tip of the previous link, or base), J joint with
its axis along z, L link root, T flexible tip.

The section of a rail at station s has position ``r(d, s)`` and rotation ``R(d, s)``, with d the
rail's amplitudes. With subscripts for partial derivatives, the section that carries the rider has
the velocity ``r_d d' + r_s s'``. At zero second derivatives of d and s, its acceleration is ``(r_d
d')_d d' + 2 s' r_sd d' + s'^2 r_ss``. The section's angles obey the same formulas.
"""

from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from flexarm.engine.once import once
from flexarm.errors import FlexarmError
from flexarm.links.fields import Amounts
from flexarm.links.rails.rail import Rail
from flexarm.mechanics.bodies import LinkBody, body_of
from flexarm.mechanics.bodies.exact.motion import AxisMotion, AxisPoint, section_motion
from flexarm.mechanics.sections import (
    Local,
    SectionMotion,
    beyond,
    own_values,
    picked,
)
from flexarm.model import LinkModel, Model, SpanFraction
from flexarm.spatial import Array, Expr, Pose, base_rotation, constant


@dataclass(frozen=True)
class RailStation:
    """Section of a rail that currently carries the carriage."""

    # Motion of the section relative to the rail's root, including that due to the station's rate.
    # Jacobian columns are those of the rail's link coordinates.
    motion: SectionMotion
    # Angular and linear velocity per rate of the station, in axes of the rail's root, (6,).
    along: Expr


def station(model: Model, index: int, q: Expr, v: Expr) -> RailStation:
    """Compute the section of a rail on which link ``index`` rides."""
    part = model.links[index]
    rail_part, rail = model.links[part.parent], part.rail
    assert rail is not None
    (s,), (rate,) = ([values[k] for k in part.coordinates] for values in (q, v))
    at = _Curves(rail, s - rail.root)
    d, rates = own_values(rail_part, q), own_values(rail_part, v)
    if rail_part.exact is None:
        return _linear(body_of(model, rail_part), at, d, rates, rate)
    return _exact(rail_part, at, d, rates, rate)


def joint_columns(model: Model, index: int, q: Expr) -> Expr:
    """Return the Jacobian (6, k) of a link's frame K with respect to its k joint coordinates.

    Frame K is the joint frame after the motion of the joint. Rows are angular and linear velocity
    in axes of K per rate of joint coordinate.
    """
    part = model.links[index]
    if part.rail is None:
        return part.motion.columns(picked(q, part.carried_by))
    return riding_columns(part, station(model, index, q, 0 * q))


def riding_columns(part: LinkModel, at: RailStation) -> Expr:
    """Return the Jacobian (6, 1) of a riding link's frame K for its station on the rail.

    Frame K is the joint frame on the carriage. Rows are angular and linear velocity in axes of K
    per rate of the station.
    """
    back = at.motion.local.rotation.T
    spin, speed = back @ at.along[:3], back @ at.along[3:]
    pose = part.pose_FJ
    speed = speed + ca.cross(spin, constant(pose.position))
    turn = constant(pose.rotation.T)
    return ca.vertcat(turn @ spin, turn @ speed)


def mount(model: Model, index: int, q: Expr) -> Local:
    """Return pose and Jacobian of the section that carries a link, in its parent's root frame."""
    part = model.links[index]
    parent = model.links[part.parent]
    if part.on_rail:
        return station(model, index, q, 0 * q).motion.local
    if part.place is None:
        return tip_section(model, parent, q)
    assert not isinstance(part.place.x, SpanFraction)
    return body_of(model, parent).within(q, part.place.x)


def mount_motion(model: Model, index: int, q: Expr, v: Expr) -> SectionMotion:
    """Return the motion of the section that carries a link, relative to its parent's root frame."""
    part = model.links[index]
    if part.on_rail:
        return station(model, index, q, v).motion
    body = body_of(model, model.links[part.parent])
    if part.place is None:
        return body.tip_motion(q, v)
    assert not isinstance(part.place.x, SpanFraction)
    return body.motion_within(q, v, part.place.x)


class _Curves:
    """Legendre series of a rail's curves, evaluated at a distance x [m] from the rail's root."""

    def __init__(self, rail: Rail, x: Expr) -> None:
        self.rail, self.x = rail, x
        self.beyond = [x >= edge for edge in rail.edges[1:-1]]
        low, high = rail.edges[:-1], rail.edges[1:]
        scale = self._panel((2 / (high - low))[:, None])
        self.t = scale * x - self._panel(((high + low) / (high - low))[:, None])
        self.basis = [type(x)(1), self.t]

    def row(self, series: Array) -> Expr:
        """Return the values (1, m) at x of m series with coefficients (panels, terms, m)."""
        total = type(self.x)(1, series.shape[2])
        for k in range(series.shape[1]):
            if np.any(series[:, k]):
                total += self._polynomial(k) * self._panel(series[:, k])
        return total

    def rows(self, series: Array) -> list[Expr]:
        """Return m curves and their derivatives with respect to distance at x, (1, m) each.

        Coefficients have shape (orders of derivative, panels, terms, m).
        """
        return [self.row(coefficients) for coefficients in series]

    def _polynomial(self, k: int) -> Expr:
        while len(self.basis) <= k:
            n = len(self.basis)
            up = (2 * n - 1) / n * self.t * self.basis[-1]
            self.basis.append(up - (n - 1) / n * self.basis[-2])
        return self.basis[k]

    def _panel(self, values: Array) -> Expr:
        """Return the row of ``values`` (panels, m) for the panel that contains x, (1, m)."""
        total = type(self.x)(constant(values[:1]))
        for here, step in zip(self.beyond, values[1:] - values[:-1], strict=True):
            if np.any(step):
                total += here * constant(step[None])
        return total


def _linear(body: LinkBody, at: _Curves, d: Expr, rates: Expr, rate: Expr) -> RailStation:
    """Return the section of a linear beam that carries a carriage, with first-order angles."""
    rail, m = at.rail, d.shape[0]
    x, y, z, twist = (at.rows(series) for series in (rail.x, rail.y, rail.z, rail.twist))
    shape = [ca.vertcat(x[n], y[n], z[n]) for n in range(3)]
    turn = [ca.vertcat(twist[n], -z[n + 1], y[n + 1]) for n in range(3)]
    straight = type(d)(constant(np.array([1.0, 0.0, 0.0])))
    (speed_bias, angle_bias) = (
        2 * rate * (columns[1] @ rates) + rate**2 * (columns[2] @ d) for columns in (shape, turn)
    )
    linear = ca.horzcat(shape[0], straight + shape[1] @ d)
    place, angles = straight * at.x + shape[0] @ d, (turn[0] @ d, turn[0], turn[1] @ d)
    motion = body.angled(
        (place, linear, speed_bias),
        (angles[0], ca.horzcat(*angles[1:]), angle_bias),
        ca.vertcat(rates, rate),
    )
    local = motion.local
    rail_columns = replace(local, linear=local.linear[:, :m], angular=local.angular[:, :m])
    along = ca.vertcat(local.angular[:, m], local.linear[:, m])
    return RailStation(replace(motion, local=rail_columns), along)


def _exact(part: LinkModel, at: _Curves, d: Expr, rates: Expr, rate: Expr) -> RailStation:
    """Return the section of an exact beam that carries a carriage, at ``sum_g I_g(x) P_g``.

    P_g are the tangents at the rail's nodes, and I_g the integrated cardinal functions. The angles
    of the section are the rail's slope shapes times amplitudes.
    """
    rail, nodes = at.rail, part.exact
    assert rail.reach is not None and nodes is not None
    reach = [ca.vertcat(*at.rows(series)) for series in rail.reach]
    y, z, twist = (at.rows(series) for series in (rail.y, rail.z, rail.twist))
    slopes = [(y[n + 1], z[n + 1], twist[n]) for n in range(3)]
    m = AxisMotion.at(nodes, Amounts.fixed(d, rates))
    return RailStation(*section_motion(m, AxisPoint(reach, slopes, rate), rates))


@dataclass(frozen=True)
class LinkFrames:
    """Frames of a link in world axes: F, J, K (J moved by the joint), root L and flexible tip T.

    The attribute ``mount`` is the section of the parent at F; None if the joint is on the base.
    """

    R_WF: Expr
    p_WF: Expr
    R_WJ: Expr
    p_WJ: Expr
    R_WK: Expr
    p_WK: Expr
    R_WL: Expr
    p_WL: Expr
    R_WT: Expr
    p_WT: Expr
    tip: Local
    mount: Local | None


def frames(model: Model, q: Expr) -> tuple[LinkFrames, ...]:
    """Return the frames of all links in world axes at coordinates q, (n,)."""
    return once(model, "frames", (q,), lambda: _frames(model, q))


def _frames(model: Model, q: Expr) -> tuple[LinkFrames, ...]:
    result: list[LinkFrames] = []
    for index, part in enumerate(model.links):
        on = None
        if part.parent < 0:
            R_WF, p_WF = base_frame(model, q)
        else:
            parent = result[part.parent]
            at_tip = part.place is None and not part.on_rail
            on = parent.tip if at_tip else mount(model, index, q)
            R_WF, p_WF = parent.R_WT, parent.p_WT
            if not at_tip:
                R_WF, p_WF = parent.R_WL @ on.rotation, parent.p_WL + parent.R_WL @ on.position
        R_WJ, p_WJ = _place(R_WF, p_WF, part.pose_FJ)
        R_JK, p_JK = part.motion.place(picked(q, part.carried_by))
        R_WK, p_WK = R_WJ @ R_JK, p_WJ + R_WJ @ p_JK
        R_WL, p_WL = _place(R_WK, p_WK, part.pose_JL)
        tip = tip_section(model, part, q)
        R_WT, p_WT = R_WL @ tip.rotation, p_WL + R_WL @ tip.position
        result.append(
            LinkFrames(R_WF, p_WF, R_WJ, p_WJ, R_WK, p_WK, R_WL, p_WL, R_WT, p_WT, tip, on)
        )
    return tuple(result)


def base_frame(model: Model, q: Expr) -> tuple[Expr, Expr]:
    """Return rotation (3, 3) and position (3,) of the base in the world."""
    rotation, position = model.base_reference, constant(model.base_pose.position)
    if model.base_moves:
        rotation, position = rotation @ base_rotation(q[3:6]), position + q[0:3]
    return rotation, position


def end_frame(model: Model, q: Expr) -> tuple[Expr, Expr]:
    """Return rotation (3, 3) and position (3,) of the arm's tip in the world."""
    last = frames(model, q)[-1]
    return _place(last.R_WT, last.p_WT, model.end_pose)


def tip_section(model: Model, part: LinkModel, q: Expr) -> Local:
    """Return pose and Jacobian of a link's flexible tip in the link's root frame."""
    return body_of(model, part).tip(q)


def section(model: Model, part: LinkModel, q: Expr, x: float | str | SpanFraction) -> Local:
    """Return pose and Jacobian of the section at x [m] from a link's root, in its root frame.

    The distance x is along the undeformed axis; "tip" is the end of the link, another name a frame
    of a modal body. Sections at x < 0 are
    on the rigid root piece, sections beyond the span on the tip piece. For a sliding link, x is
    measured from the inner end of the whole beam; q must be numeric where x is within the span, and
    the section must be outside the hub.
    """
    body = body_of(model, part)
    if x == "tip":
        return beyond(body.tip(q), part.link.tip_length)
    if isinstance(x, str):
        return body.within(q, x)
    if isinstance(x, SpanFraction):
        return body.at_fraction(q, x.value)
    if x >= part.length:
        return beyond(body.tip(q), x - part.length)
    return body.section(q, x)


def jacobian(
    model: Model,
    q: Expr,
    link: int,
    x: float | str | SpanFraction | None = None,
    *,
    at_end: bool = False,
) -> tuple[Expr, Expr]:
    """Compute the Jacobian of a section of a link, in world axes.

    Parameters
    ----------
    model, q
        Model of the arm and its coordinates.
    link
        Index of the link, from 0.
    x
        Distance of the section from the link's root [m]; None is the flexible tip, "tip" the end
        of the link, another name a frame of a modal body.
    at_end
        Whether to use the arm's tip frame, beyond the last link's flexible tip.

    Returns
    -------
    linear, angular
        Velocity of the section's axis point and angular velocity per rate of each coordinate, (3,
        n) each.
    """
    if at_end and link != len(model.links) - 1:
        raise FlexarmError(
            "the tip of the arm is not a point of this link, but of the last link. Use that link."
        )
    if model.tip_rotation == "first-order":
        raise FlexarmError(
            "sections have no angular velocity with first-order tip rotation. Build the model "
            "with tip_rotation='cayley'."
        )
    placed = frames(model, q)
    here = placed[link]
    local = here.tip if x is None else section(model, model.links[link], q, x)
    point = here.p_WL + here.R_WL @ local.position
    if at_end:
        point = placed[-1].p_WT + placed[-1].R_WT @ constant(model.end_pose.position)
    linear, angular = base_jacobian(model, q, point)
    path = model.path(link)
    for i, following in zip(path, [*path[1:], None], strict=True):
        part, frame = model.links[i], placed[i]
        columns = joint_columns(model, i, q)
        for k, column in enumerate(part.carried_by):
            spin = frame.R_WK @ columns[:3, k]
            angular[:, column] = spin
            linear[:, column] = frame.R_WK @ columns[3:, k] + ca.cross(spin, point - frame.p_WK)
        moved = local if following is None else placed[following].mount
        assert moved is not None
        centre = frame.p_WL + frame.R_WL @ moved.position
        for k, column in enumerate(part.own):
            spin = frame.R_WL @ moved.angular[:, k]
            angular[:, column] = spin
            linear[:, column] = frame.R_WL @ moved.linear[:, k] + ca.cross(spin, point - centre)
    return linear, angular


def end_jacobian(model: Model, q: Expr) -> tuple[Expr, Expr]:
    """Compute the Jacobian of the arm's tip in world axes: linear and angular, (3, n) each."""
    return jacobian(model, q, len(model.links) - 1, at_end=True)


def base_jacobian(model: Model, q: Expr, point: Expr) -> tuple[Expr, Expr]:
    """Compute the Jacobian of a point fixed to the base: linear and angular, (3, n) each.

    The position of the point, and the Jacobian, are in world axes.
    """
    linear, angular = type(point).zeros(3, model.size), type(point).zeros(3, model.size)
    if not model.base_moves:
        return linear, angular
    linear[:, 0:3] = type(point).eye(3)
    _, position = base_frame(model, q)
    reference = model.base_reference
    axes = [
        reference[:, 0],
        (reference @ base_rotation(ca.vertcat(q[3], 0, 0)))[:, 1],
        (reference @ base_rotation(ca.vertcat(q[3], q[4], 0)))[:, 2],
    ]
    for k, axis in enumerate(axes):
        angular[:, 3 + k] = axis
        linear[:, 3 + k] = ca.cross(axis, point - position)
    return linear, angular


def _place(rotation: Expr, position: Expr, pose: Pose) -> tuple[Expr, Expr]:
    return (rotation @ constant(pose.rotation), position + rotation @ constant(pose.position))
