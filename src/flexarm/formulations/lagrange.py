"""Closed-form equations by differentiation of the energies (Theodore & Ghosal 1995, appendix).

Algorithms 1 to 3 of the paper are carried out with CasADi symbols. Homogeneous coordinates are
ordered ``h = (1, x, y, z)``. The integrals over a link in step S6.3 are moments of the positions of
its points and of their derivatives.

In this module a step without an algorithm, such as S6.3, is a step of Algorithm 1.

paper symbol | eq. | code name
-----------------------|--------------|---------------------------------------------------------
q_r, q_f | S2 | ``rigid``, ``flexible``: indices of joints and amplitudes A_j, E_j | 1, 2, 8, 15 |
``step.A``, ``E`` (exact, or I + skew if first-order) T^_j, T_j | 3, 4 | ``body.T`` of what is fixed
in a link's root or tip r_j | 5, 6 | ``Moments``: ``h`` of a link's points, in its root delta_i
r_j^0 | S6.1, S6.2 | ``D[i] = dT/dq_i`` (points carried); ``s_f`` (own ones) M_ik^link, ^joint, ...
| S6.3, Alg. 2 | ``closed_mass_matrix``: all links, hubs, rotors, payload h_i | Alg. 3, S2.1 |
``closed_coriolis`` c_i (g_i) | Alg. 3, S2.2 | ``closed_gravity`` M_rr, M_rf, M_ff | 26 |
``Lagrange.partitioned`` K | 26 | elastic forces; shared by all formulations
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import casadi as ca
import numpy as np

from flexarm.engine.once import once
from flexarm.formulations.base import Formulation
from flexarm.formulations.constants import CLOSED_FORM_SIZE
from flexarm.formulations.paper_arms import paper_refusal
from flexarm.formulations.transforms import hub_transform, steps, torque_refusal
from flexarm.mechanics.bodies import body_of
from flexarm.mechanics.bodies.material import MaterialPoints
from flexarm.mechanics.bodies.points import (
    Moments,
    body_moments,
    congruent_trace,
    homogeneous,
    lower_right,
    moved_moments,
    pseudo_inertia,
    span_moments,
    spread,
    trace_of,
    turning,
)
from flexarm.mechanics.kinematics import tip_section
from flexarm.mechanics.sections import own_values
from flexarm.model import LinkModel, Model, Rotor
from flexarm.spatial import Expr, constant

Tip = Callable[[LinkModel], tuple[Expr, dict[int, Expr]]]
Points = Callable[[LinkModel], MaterialPoints | None]
PAPER = "Theodore & Ghosal 1995"
LACKING = (
    "root slope", "measured mass", "twist", "stretch", "bending on a slide", "elastic joint",
    "full rotor", "quadratic shapes",
)  # fmt: skip


class Lagrange(Formulation):
    """Closed-form equations of motion by differentiation of kinetic and potential energy."""

    name: ClassVar[str] = "lagrange"
    citation: ClassVar[str] = f"{PAPER} (IJRR 14, 91-111), Algorithms 1-3"
    assumptions: ClassVar[str] = (
        f"none beyond the model's own; at most {CLOSED_FORM_SIZE} coordinates. paper=True: links "
        "bend only, tips turn by I + skew(angles), no shortening, no rotary inertia of the sections"
    )

    @classmethod
    def own_refusal(cls, model: Model, *, paper: bool) -> str | None:
        """Return the reason why this formulation cannot treat a model, or None if it can."""
        if model.size > CLOSED_FORM_SIZE:
            return (
                f"the closed form of {model.size} coordinates is too long, the limit is "
                f"{CLOSED_FORM_SIZE}. Use 'articulated' or 'composite'."
            )
        if paper and (reason := paper_refusal(model, PAPER, LACKING)) is not None:
            return reason
        if paper or model.tip_rotation == "first-order":
            return torque_refusal(model)
        return None

    @staticmethod
    def paper_model(model: Model) -> Model:
        """Return the model with the kinematics of Theodore & Ghosal.

        Notes
        -----
        In the paper, the tip rotates by ``I + skew`` (equations 2 and 8), points move transversely
        only (equation 6), sections have no rotary inertia (equations 20 and 21), and the elastic
        energy is quadratic in the amplitudes (equation 23).
        """
        links = tuple(replace(part, body=part.body.bare()) for part in model.links)
        return replace(model, links=links, stiffening=False, tip_rotation="first-order")

    def mass_expression(self, q: Expr) -> Expr:
        """Build the expression of the mass matrix M(q), (n, n) (Algorithms 1 and 2)."""
        return self._at(self._closed.M, q, None)

    def inertial_expression(self, q: Expr, v: Expr, a: Expr | None, *, gravity: bool) -> Expr:
        """Build ``M a + h + c`` with Coriolis forces h and gravity forces c, (n,) (Algorithm 3).

        Gravity forces are included only with ``gravity``.
        """
        closed = self._closed
        total = closed.c if gravity else ca.SX(self.model.size, 1)
        if v.nnz():
            total = total + closed.h
        total = self._at(total, q, v)
        return total if a is None else total + self._at(closed.M, q, None) @ a  # (eq. 26)

    @property
    def _closed(self) -> "_Closed":
        """Mass matrix M, Coriolis forces h and gravity forces c as expressions of q and v."""
        return once(self.model, type(self), (), self._build_closed)

    def _build_closed(self) -> "_Closed":
        n = self.model.size
        q, v = ca.SX.sym("q", n), ca.SX.sym("v", n)
        bodies = bodies_of(self.model, q)  # (S4, S5)
        M = closed_mass_matrix(self.model, bodies)
        return _Closed(q, v, M, closed_coriolis(M, q, v), closed_gravity(self.model, bodies))

    def _at(self, expression: Expr, q: Expr, v: Expr | None) -> Expr:
        closed = self._closed
        symbols, values = [closed.q], [ca.densify(ca.SX(q))]
        if v is not None:
            symbols, values = [*symbols, closed.v], [*values, ca.densify(ca.SX(v))]
        return ca.substitute([expression], symbols, values)[0]


class _Closed(NamedTuple):
    q: Expr
    v: Expr
    M: Expr
    h: Expr
    c: Expr


@dataclass(frozen=True)
class LagrangeBody:
    """Body with mass: its frame, and its mass moments as functions of its own coordinates."""

    T: Expr  # transformation from the body's frame to the world, (4, 4)
    D: dict[int, Expr]  # derivatives of T with respect to the coordinates that move it, (4, 4) each
    weight: Moments  # moments of the body, functions of its own coordinates
    own: tuple[int, ...] = ()  # indices of these coordinates in q


def bodies_of(
    model: Model, q: Expr, tip: Tip | None = None, points: Points | None = None
) -> list[LagrangeBody]:
    """Return all bodies with mass (S4, S5): links, hubs, rotors and bodies at tips.

    Parameters
    ----------
    model, q
        The arm and the symbols of its coordinates.
    tip
        Function that returns the transformation E of a link and its derivatives with respect to
        link coordinates; `link_transform` if None.
    points
        Function that returns the mass points of a link's span; if None, they are computed from the
        shapes.
    """
    bodies = []
    T, D = ca.SX.eye(4), dict[int, Expr]()
    for step in steps(model, q):
        if step.part is not None and step.part.rotor is not None:
            bodies.append(LagrangeBody(T, D, *_rotor_weight(step.part.rotor, q)))
        D = {i: dT @ step.A for i, dT in D.items()}  # (S6.1)
        if step.coordinate is not None:
            D[step.coordinate] = T @ step.U  # (S6.1)
        T = T @ step.A  # (eq. 3)
        bodies.append(LagrangeBody(T, D, body_moments(step.body, q, 0)))
        if step.part is None:
            continue
        part, indices = step.part, step.part.own
        bodies += [
            LagrangeBody(T, D, weight, indices) for weight in _link_weights(model, part, q, points)
        ]
        E, columns = link_transform(model, part, q) if tip is None else tip(part)
        D = {i: dT @ E for i, dT in D.items()}  # (S6.1)
        for i, column in columns.items():
            D[i] = T @ column  # (S6.1)
        T = T @ E  # (eq. 4)
        bodies.append(LagrangeBody(T, D, body_moments(part.tip_body, q, 0)))
    return bodies


def link_transform(model: Model, part: LinkModel, q: Expr) -> tuple[Expr, dict[int, Expr]]:
    """Return the transformation E_j (4, 4) from a link's root to its tip (eqs. 2, 8).

    The derivatives of E_j with respect to the link coordinates are returned too.
    """
    local = tip_section(model, part, q)
    E = homogeneous(local.rotation, local.position)  # (eqs. 2, 8)
    indices = part.own
    if not indices:
        return E, {}
    columns = ca.jacobian(ca.vec(ca.densify(E)), ca.vertcat(*[q[i] for i in indices]))
    return E, {i: ca.sparsify(ca.reshape(columns[:, k], 4, 4)) for k, i in enumerate(indices)}


def _link_weights(model: Model, part: LinkModel, q: Expr, points: Points | None) -> list[Moments]:
    if not part.own:
        return []
    d, body = own_values(part, q), body_of(model, part)
    given_points = None if points is None else points(part)
    material = body.points(d, 0 * d) if given_points is None else [given_points]
    weights = [span_moments(material, body.turning(d, 0 * d, type(q)(3, 1)))]
    hub = hub_transform(part, d, 0 * d)
    if hub is not None:
        weights.append(moved_moments(pseudo_inertia(part.hub_body), hub.value, hub.columns))
    return weights


def _rotor_weight(rotor: Rotor, q: Expr) -> tuple[Moments, tuple[int, ...]]:
    """Return the mass moments of a rotor, and the index in q of its angle.

    A rotor with gyroscopic torque also rotates with its carrier.
    """
    matrix_type = type(q)
    spin = matrix_type(rotor.ratio**2 * rotor.inertia)
    G, H = matrix_type(4, 4), matrix_type(4, 4)
    if rotor.axis is not None:
        G = matrix_type(
            constant(lower_right(spread(rotor.inertia * np.outer(rotor.axis, rotor.axis))))
        )
        H = turning(constant(rotor.ratio * rotor.inertia * rotor.axis))
    zeros = matrix_type(4, 1)
    return Moments(G, [H], [[matrix_type(4, 4)]], spin, zeros, [zeros]), (rotor.coordinate,)


def closed_mass_matrix(model: Model, bodies: list[LagrangeBody]) -> Expr:
    """Compute M (n, n), the sum of ``int (delta_i r)^T (delta_k r) dm`` over all bodies.

    The sum follows Algorithms 1 and 2 of Theodore & Ghosal.
    """
    M = ca.SX(model.size, model.size)
    exact = model.tip_rotation == "cayley"

    def put(i: int, k: int, value: Expr) -> None:
        if value.nnz():
            M[min(i, k), max(i, k)] += value  # (S6.4; Alg. 2, S1)

    for body in bodies:
        weight, D = body.weight, body.D
        # both coordinates move the body's frame
        for i, motion in D.items():
            momentum = motion @ weight.G
            for k in D:
                if k >= i:
                    put(i, k, trace_of(momentum, D[k].T))  # (S6.3)
        # first pairs of a coordinate that moves the frame and one of the body, then two of the body
        for f, k in enumerate(body.own):
            own_momentum = weight.H[f] @ body.T.T
            for i, motion in D.items():
                put(i, k, trace_of(motion, own_momentum))  # (S6.3)
            for g, l in enumerate(body.own[: f + 1]):
                integral = congruent_trace(body.T, weight.N[f][g], orthogonal=exact)
                put(l, k, integral + weight.T[g, f])  # (S6.3)
    return ca.triu2symm(ca.triu(M))


def closed_coriolis(M: Expr, q: Expr, v: Expr) -> Expr:
    """Compute the Coriolis forces from derivatives of the mass matrix, (n,) (Algorithm 3, S2.1).

    Force i is ``sum (dM_ij/dq_k - 1/2 dM_jk/dq_i) q'_j q'_k`` over j and k.
    """
    momentum = M @ v
    return ca.jtimes(momentum, q, v) - ca.gradient(ca.dot(v, momentum), q) / 2  # (Alg. 3, S2.1)


def closed_gravity(
    model: Model, bodies: list[LagrangeBody], acceleration: Expr | None = None
) -> Expr:
    """Compute the gravity forces ``-g^T int delta_i r dm``, summed over all bodies, (n,).

    The sum follows Algorithm 3, S2.2 of Theodore & Ghosal, with the sign corrected.
    ``acceleration`` is the gravitational acceleration, (3,), as symbols that replace the model's
    numbers.
    """
    c = ca.SX(model.size, 1)
    g = ca.vertcat(ca.SX(1, 1), constant(model.gravity) if acceleration is None else acceleration)
    for body in bodies:
        for i, motion in body.D.items():
            c[i] -= g.T @ motion @ body.weight.r  # (Alg. 3, S2.2)
        for f, i in enumerate(body.own):
            c[i] -= g.T @ body.T @ body.weight.eps[f]  # (Alg. 3, S2.2)
    return c
