"""Recursive Lagrangian dynamics with 4x4 transformations (Chen, Zhang & Liu 2012, after Book 1984).

Homogeneous coordinates are ``h = (1, x, y, z)``. The paper by Chen, Zhang & Liu omits the
expressions of the terms in equations 33 to 46. In this module these expressions follow Book,
without the paper's factors 1/2 (in the moments) and 2 (before the traces), and are marked by
equation and term, such as ``(eq. 33: F~)``. The paper assumes the link transformation ``E`` to be
linear in the amplitudes; here the derivatives ``M`` are those of the exact ``E`` at the current
deflection.

paper symbol | eq. | code name
----------------------|------------|------------------------------------------------------------
A_i, U_i | 1, 33 | ``step.A``, ``step.U = dA/dq`` E_i, M_ij | 2, 3 | ``tip.value``, ``tip.columns[j]
= dE/d delta_j`` W_i, W^_i | 4 | ``W``, ``W_hat`` (root and tip of link i), with their rates
h_i(eta), x_ij, x_ijk | 5, 6 | `material`: value; ``s_f = dh/d delta_f``: its columns J_xi, T_jfk |
11, 38 | ``weight.T`` J_ri, n_i | 13, 14, 31 | ``part.rotor`` r_i, eps, kappa | 24-26 |
``weight.r``; ``weight.eps[f] = eps_f - sum delta kappa`` G_i | omitted | ``weight.G = int mu h
h^T`` H_if | 34 | ``weight.H[f] = int mu h s_f^T`` N_ifk | 38 | ``weight.N[f][k] = int mu s_k
s_f^T`` sum N_jfk delta'_k | 45 | ``flow.N[f] = int mu h' s_f^T`` sum P_jfkl delta'^2 | 45 |
``flow.P[f] = int mu h'' s_f^T`` F~_h, F_h, phi_h | 33, 35, 39 | ``F``; ``E phi``; ``phi``: inertia
outboard, at root and tip jF_h, jphi_h | 35, 36, 41 | ``pending``: carried inward with a
coordinate's column Q_j, P_j | 44 | ``Q``, ``P``: inertia force and first moment outboard
"""

from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import casadi as ca
import numpy as np

from flexarm.engine.once import once
from flexarm.formulations.base import Formulation
from flexarm.formulations.paper_arms import paper_refusal
from flexarm.formulations.transforms import (
    LinkTransform,
    Transform,
    hub_transform,
    steps,
    tip_transform,
    torque_refusal,
)
from flexarm.links.fields import Field
from flexarm.mechanics.bodies import body_of
from flexarm.mechanics.bodies.material import MaterialPoints
from flexarm.mechanics.bodies.points import (
    Moments,
    body_moments,
    congruent_trace,
    joined,
    lower_right,
    moved_moments,
    pseudo_inertia,
    span_moments,
    spread,
    trace_of,
    turning,
    without_first,
)
from flexarm.mechanics.sections import Terms
from flexarm.model import LinkModel, Model
from flexarm.spatial import Array, Expr, constant

Columns = list[tuple[int, Expr]]
PAPER = "Chen, Zhang & Liu 2012"
LACKING = ("joint", "full rotor", "quadratic shapes", "root slope", "measured mass")


class RecursiveLagrange(Formulation):
    """Lagrange's equations by recursions over 4x4 homogeneous transformations."""

    name: ClassVar[str] = "recursive-lagrange"
    citation: ClassVar[str] = f"{PAPER} (TAML 2, 063003), after Book 1984"
    assumptions: ClassVar[str] = (
        "none beyond the model's own; links that slide out of their hub are left out. "
        "paper=True: tips turn by I + skew(angles) and are not drawn in, points are, unless the "
        "model is built without stiffening; quadratic elastic energy; of the sections' rotary "
        "inertia the rate of twist alone"
    )

    @classmethod
    def own_refusal(cls, model: Model, *, paper: bool) -> str | None:
        """Return the reason why this formulation cannot treat a model, or None if it can."""
        sliding = [part.name for part in model.links if part.carried_by != part.coordinates]
        if sliding:
            return (
                f"{sliding[0]} slides out of its hub, and the transformations of Chen, "
                "Zhang & Liu have a constant length. Use 'lagrange' or 'composite'."
            )
        if paper and (reason := paper_refusal(model, PAPER, LACKING)) is not None:
            return reason
        first_order = paper or model.tip_rotation == "first-order"
        return torque_refusal(model) if first_order else None

    @staticmethod
    def paper_model(model: Model) -> Model:
        """Return the model with the kinematics and energies of Chen, Zhang & Liu.

        Notes
        -----
        In the paper, the tip rotates by ``I + skew`` and has no axial shortening (equations 2 and
        3, erratum). Points other than the tip have axial shortening if the model is built with
        stiffening (equations 5 and 6). Rotary inertia is that of the twist rate alone (equation 11,
        erratum), and the elastic energy is quadratic in the amplitudes (equation 16).
        """
        # points of the span keep their axial shortening in a model with stiffening
        shortens = model.stiffening or any(part.body.draws for part in model.links)
        bodies = (part.body.bare(stiffening=shortens, twists=True) for part in model.links)
        links = tuple(
            replace(part, body=body) for part, body in zip(model.links, bodies, strict=True)
        )
        return replace(model, links=links, stiffening=False, tip_rotation="first-order")

    def mass_expression(self, q: Expr) -> Expr:
        """Build the generalised mass matrix J of Chen, Zhang & Liu, (n, n) (equation 28)."""
        no_rates = type(q)(self.model.size, 1)
        chain = _outward(self.model, q, no_rates, None)
        return _mass_matrix(self.model, chain)

    def inertial_expression(self, q: Expr, v: Expr, a: Expr | None, *, gravity: bool) -> Expr:
        """Build the generalised inertial and gravity force, (n,).

        In equation 42 this force is -R without the forces of springs.
        """
        chain = _outward(self.model, q, v, a)
        return _forces(self.model, chain, v, a, gravity)


class Flow(NamedTuple):
    """Inertia integrals of a link with the velocities h' and accelerations h'' of its points."""

    H: Expr  # int mu h h'^T
    h: Expr  # int mu h h''^T
    N: list[Expr]  # int mu h' s_f^T
    P: list[Expr]  # int mu h'' s_f^T
    T: Expr  # sum_k T_fk delta''_k, (m,)


@dataclass(frozen=True)
class PlacedLink:
    """Link, or base, with its inertia integrals and its transformations to the world."""

    step: LinkTransform  # joint transformation
    tip: Transform  # link transformation E with its derivatives
    # Transformations to the world of the previous tip, of the root and of the tip, each with its
    # rate and its acceleration, (4, 4).
    before: tuple[Expr, Expr, Expr]
    W: tuple[Expr, Expr, Expr]
    W_hat: tuple[Expr, Expr, Expr]
    weight: Moments  # inertia integrals of the link
    flow: Flow  # inertia integrals with velocities and accelerations


def _outward(model: Model, q: Expr, v: Expr, a: Expr | None) -> list[PlacedLink]:
    """Return all links with their transformations, rates and accelerations (after eq. 4)."""
    symbols = (q, v) if a is None else (q, v, a)
    return once(model, "placed", symbols, lambda: _place_links(model, q, v, a))


def _place_links(model: Model, q: Expr, v: Expr, a: Expr | None) -> list[PlacedLink]:
    zeros = type(q)(4, 4)
    previous_tip = (type(q).eye(4), zeros, zeros)
    chain = []
    for step in steps(model, q):
        A, U, UU = step.A, step.U, step.UU
        W_hat, W_hat_d, W_hat_dd = previous_tip
        W, W_d, W_dd = W_hat @ A, W_hat_d @ A, W_hat_dd @ A  # (eq. 4)
        if step.coordinate is not None:
            rate = v[step.coordinate]
            W_d = W_d + W_hat @ U * rate
            W_dd = W_dd + 2 * (W_hat_d @ U) * rate + W_hat @ UU * rate**2
            if a is not None:
                W_dd = W_dd + W_hat @ U * a[step.coordinate]
        d, rates = _amplitudes_of(step.part, q), _amplitudes_of(step.part, v)
        accelerations = None if a is None else _amplitudes_of(step.part, a)
        tip = tip_transform(model, step.part, d, rates)  # (eqs. 2, 3)
        E_dd = tip.bias
        for k, M in enumerate(tip.columns):
            E_dd = E_dd + M * accelerations[k] if accelerations is not None else E_dd
        E, E_d = tip.value, tip.rate
        end = (W @ E, W_d @ E + W @ E_d, W_dd @ E + 2 * W_d @ E_d + W @ E_dd)  # (eq. 4)
        weight, flow = _inertia_integrals(model, step, d, rates, accelerations)
        chain.append(PlacedLink(step, tip, previous_tip, (W, W_d, W_dd), end, weight, flow))
        previous_tip = end
    return chain


def _mass_matrix(model: Model, chain: list[PlacedLink]) -> Expr:
    """Compute the mass matrix J, (n, n), by a recursion from tip to base (eqs. 29-41).

    The list ``pending`` contains a matrix per outboard coordinate. From these matrices, the entries
    of J in the rows of inboard coordinates are computed.
    """
    J = ca.SX(model.size, model.size)
    phi: Expr = ca.SX(4, 4)
    pending: Columns = []
    exact = model.tip_rotation == "cayley"
    for index in range(len(chain) - 1, -1, -1):
        link = chain[index]
        step, weight, W, amplitudes = link.step, link.weight, link.W[0], link.step.modes
        E, M = link.tip.value, link.tip.columns
        # add the body at the tip and the rotor of the next joint
        phi = phi + _tip_body(step.part)
        if index + 1 < len(chain):
            rotor = chain[index + 1].step.part
            phi, pending = _add_rotor(J, rotor, phi, pending, link.W_hat[0])
        outboard = [phi @ column.T for column in M]
        for f, row in enumerate(amplitudes):
            for k, X in pending:
                _set(J, row, k, trace_of(W @ M[f], X))  # (eqs. 36, 40, 41)
            for k in range(f, len(amplitudes)):
                integral = M[f] @ outboard[k] + weight.N[f][k]
                total = congruent_trace(W, integral, orthogonal=exact) + weight.T[f, k]
                _set(J, row, amplitudes[k], total)  # (eqs. 38, 39)
        # transform to the root
        pending = [(k, E @ X) for k, X in pending]
        for f, row in enumerate(amplitudes):
            pending.append((row, (E @ outboard[f] + weight.H[f]) @ W.T))  # (eqs. 34, 35)
        F = weight.G + E @ phi @ E.T  # (eq. 33: F~)
        if step.coordinate is not None:
            motion = link.before[0] @ step.U
            for k, X in pending:
                _set(J, step.coordinate, k, trace_of(motion, X))  # (eqs. 33-35)
            X = F @ motion.T  # (eq. 33)
            J[step.coordinate, step.coordinate] += trace_of(motion, X)  # (eq. 33)
            pending.append((step.coordinate, X))
        phi = step.A @ F @ step.A.T  # (eq. 39: phi)
        pending = [(k, step.A @ X) for k, X in pending]
    _add_rotor(J, chain[0].step.part, phi, pending, None)
    return J


def _forces(model: Model, chain: list[PlacedLink], v: Expr, a: Expr | None, gravity: bool) -> Expr:
    """Compute inertial and gravity forces, (n,), by inward sums Q and P (eqs. 44-46)."""
    result = ca.SX(model.size, 1)
    g = ca.vertcat(ca.SX(1, 1), constant(model.gravity)) if gravity else ca.SX(4, 1)
    Q, P = ca.SX(4, 4), ca.SX(4, 1)
    exact = model.tip_rotation == "cayley"
    for index in range(len(chain) - 1, -1, -1):
        link = chain[index]
        step, weight, flow = link.step, link.weight, link.flow
        W, W_d, W_dd = link.W
        E, M = link.tip.value, link.tip.columns
        body = _tip_body(step.part)
        Q, P = Q + body @ link.W_hat[2].T, P + body[:, 0]
        if index + 1 < len(chain):
            Q += _rotor_force(result, chain[index + 1].step.part, link.W_hat, v, a)
        for f, row in enumerate(step.modes):
            rate_integral = W_dd @ weight.H[f] + 2 * W_d @ flow.N[f]
            total = trace_of(W @ M[f], Q) + trace_of(rate_integral, W.T) + flow.T[f]
            total += congruent_trace(W, flow.P[f], orthogonal=exact)
            result[row] = total - g.T @ W @ (weight.eps[f] + M[f] @ P)  # (eqs. 45, 46)
        Q = weight.G @ W_dd.T + 2 * flow.H @ W_d.T + flow.h @ W.T + E @ Q  # (eq. 44: Q)
        P = weight.r + E @ P  # (eq. 44: P)
        if step.coordinate is not None:
            motion = link.before[0] @ step.U
            result[step.coordinate] += trace_of(motion, Q) - g.T @ motion @ P  # (eq. 44)
        Q, P = step.A @ Q, step.A @ P
    _rotor_force(result, chain[0].step.part, None, v, a)
    return result


def _inertia_integrals(
    model: Model, step: LinkTransform, d: Expr, rates: Expr, accelerations: Expr | None
) -> tuple[Moments, Flow]:
    """Return the inertia integrals of a link: of its points, its root body and its hub."""
    part, m, matrix_type = step.part, d.shape[0], type(d)
    weight = body_moments(step.body, d, m)
    zeros = [matrix_type(4, 4)] * m
    flow = Flow(matrix_type(4, 4), matrix_type(4, 4), zeros, zeros, matrix_type(m, 1))
    if part is None or not m:
        return weight, flow
    link = body_of(model, part)
    sections = link.turning(d, rates, matrix_type(3, 1))
    weight = joined(weight, span_moments(link.points(d, rates), sections))
    for points in link.points(d, rates):
        flow = _span_flow(flow, points, rates, accelerations)
    flow = _with_sections(flow, sections, rates, accelerations)
    hub = hub_transform(part, d, rates)
    if hub is not None:
        body = pseudo_inertia(part.hub_body)
        weight = joined(weight, moved_moments(body, hub.value, hub.columns))
        flow = _with_hub(flow, body, hub, accelerations)
    return weight, flow


def _span_flow(flow: Flow, points: MaterialPoints, rates: Expr, accelerations: Expr | None) -> Flow:
    """Return ``flow`` plus the inertia integrals of a span with point velocities h' and h''."""
    motion, matrix_type = points.moving, type(rates)
    h, s, h_d, h_dd = motion.value, motion.columns, motion.speed(rates), motion.bias
    if accelerations is not None:
        h_dd = h_dd + motion.speed(accelerations)

    def moment(f: Field, g: Field) -> Expr:
        first_row = ca.horzcat(matrix_type(1, 1), points.integral(g).T)
        return ca.vertcat(first_row, without_first(points.moment(f, g)))

    return Flow(
        flow.H + moment(h, h_d),
        flow.h + moment(h, h_dd),
        [
            previous + _lower_block(points.moment(h_d, f))
            for previous, f in zip(flow.N, s, strict=True)
        ],
        [
            previous + _lower_block(points.moment(h_dd, f))
            for previous, f in zip(flow.P, s, strict=True)
        ],
        flow.T,
    )


def _with_sections(flow: Flow, sections: Terms, rates: Expr, accelerations: Expr | None) -> Flow:
    """Return ``flow`` plus the rotary inertia of sections that rotate relative to the link."""
    flow = flow._replace(H=flow.H + turning(sections.angular @ rates))
    if accelerations is None:
        return flow
    return flow._replace(
        h=flow.h + turning(sections.angular @ accelerations),
        T=flow.T + sections.modal @ accelerations,
    )


def _lower_block(block: Expr) -> Expr:
    """Return a 4x4 matrix with ``block`` (3, 3) at the lower right and zeros elsewhere."""
    return ca.diagcat(type(block)(1, 1), block)


def _with_hub(flow: Flow, body: Array, hub: Transform, accelerations: Expr | None) -> Flow:
    """Return ``flow`` plus the inertia of a hub that rotates with the root slopes of the shapes."""
    B, B_d, B_dd = hub.value, hub.rate, hub.bias
    for k, column in enumerate(hub.columns):
        B_dd = B_dd + column * accelerations[k] if accelerations is not None else B_dd
    products = [constant(body) @ column.T for column in hub.columns]
    return Flow(
        flow.H + B @ constant(body) @ B_d.T,
        flow.h + B @ constant(body) @ B_dd.T,
        [previous + B_d @ product for previous, product in zip(flow.N, products, strict=True)],
        [previous + B_dd @ product for previous, product in zip(flow.P, products, strict=True)],
        flow.T,
    )


def _add_rotor(
    J: Expr, part: LinkModel | None, phi: Expr, pending: Columns, W_hat: Expr | None
) -> tuple[Expr, Columns]:
    """Add a rotor's spin inertia to the mass matrix J (eqs. 13, 14, 31).

    The inertia phi and the pending columns of the rotor's carrier are returned with the rotor; they
    change only if the model file has ``rotor: full``.
    """
    rotor = None if part is None else part.rotor
    if rotor is None:
        return phi, pending
    k = rotor.coordinate
    J[k, k] += rotor.ratio**2 * rotor.inertia  # (eq. 31)
    if rotor.axis is None or W_hat is None:
        return phi, pending
    columns = dict(pending)
    spin = turning(constant(rotor.ratio * rotor.inertia * rotor.axis)) @ W_hat.T
    columns[k] = columns[k] + spin if k in columns else spin
    inertia = spread(rotor.inertia * np.outer(rotor.axis, rotor.axis))
    return phi + constant(lower_right(inertia)), list(columns.items())


def _rotor_force(
    result: Expr,
    part: LinkModel | None,
    W_hat: tuple[Expr, Expr, Expr] | None,
    v: Expr,
    a: Expr | None,
) -> Expr:
    """Add a rotor's inertia force to the entry of ``result`` for the rotor's coordinate.

    The returned matrix (4, 4) is the rotor's part of the inertia force Q on its carrier (eq. 44).
    """
    rotor = None if part is None else part.rotor
    if rotor is None:
        return ca.SX(4, 4)
    k, acceleration = rotor.coordinate, ca.SX(1, 1) if a is None else a[rotor.coordinate]
    result[k] += rotor.ratio**2 * rotor.inertia * acceleration  # (eq. 31)
    if rotor.axis is None or W_hat is None:
        return ca.SX(4, 4)
    W, W_d, W_dd = W_hat
    spin = turning(constant(rotor.ratio * rotor.inertia * rotor.axis))
    inertia = spread(rotor.inertia * np.outer(rotor.axis, rotor.axis))
    result[k] += trace_of(W_dd @ spin, W.T)
    carrier_term = constant(lower_right(inertia)) @ W_dd.T
    return carrier_term + 2 * v[k] * (spin @ W_d.T) + acceleration * (spin @ W.T)


def _tip_body(part: LinkModel | None) -> Expr:
    return ca.SX(4, 4) if part is None else ca.SX(constant(pseudo_inertia(part.tip_body)))


def _amplitudes_of(part: LinkModel | None, values: Expr) -> Expr:
    return type(values)(0, 1) if part is None else values[part.modes.start : part.modes.stop, 0]


def _set(matrix: Expr, i: int, j: int, value: Expr) -> None:
    if value.nnz():
        matrix[i, j] = value
        matrix[j, i] = value
