"""Mass matrix as a sum over beam elements: ``M = sum m J_T^T J_T + J_R^T I J_R``.

The method is that of Chu et al., with the corrections that docs/papers/chu.md lists. The paper uses
one point per element, the centre of mass, with the inertia of the whole element. By default each
element has as many Gauss points as integrate its inertia exactly.

paper symbol | eq. | code name
------------------------|-----------|-------------------------------------------------- A_ij^f,
u_ij^f | 1, 2 | ``turned``; deflection in ``ElementSection.place`` Theta_(i-1)i, A_0ij | 3, 4 |
`MovingFrame.through` and its ``A`` r_0ij^r, r_0ij^f | 4, 6 | ``MovingFrame.r``; ``Lump.r``
J_ij(T)^r, J_ij(R)^r | 11 | ``J_T``, ``J_R`` of `MovingFrame` J_ij^f | 11 |
``ElementSection.columns`` omega_ij^f, J_ij(R)^f | 15, 17 | ``ElementSection.angle_columns``
J_ij(T), J_ij(R) | 20, 21 | ``Lump.J_T``, ``Lump.J_R`` m_i l_ie, I_ij | 18 | ``Lump.mass``,
``Lump.inertia`` T, M(q) | 24, 25 | ``kinetic``; `mass_expression` C q', G(q) | 7 |
`inertial_expression`
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import casadi as ca
import numpy as np

from flexarm.arm.shapes import Elements
from flexarm.constants import SINGULAR
from flexarm.engine.once import once
from flexarm.engine.operators import direct_operators
from flexarm.errors import FlexarmError
from flexarm.formulations.base import Formulation, unstiffened
from flexarm.formulations.moving_frames import MovingFrame
from flexarm.mechanics.bodies import body_of
from flexarm.mechanics.bodies.material import ElementSection
from flexarm.mechanics.kinematics import tip_section
from flexarm.mechanics.loads import potential_energy
from flexarm.mechanics.sections import Local, Terms, add, own_values, selection
from flexarm.mechanics.weightless import least_inertia
from flexarm.model import LinkModel, Model
from flexarm.spatial import Array, Expr, Inertia, Scalar, constant, skew_matrix, turn_z


def slope_tip(model: Model, part: LinkModel, q: Expr) -> Local:
    """Return a link's tip frame, rotated about z by the deflection's slope (Chu et al., eq. 1)."""
    first_order_model = replace(model, tip_rotation="first-order")
    tip = tip_section(first_order_model, part, q)
    slope = tip.rotation[1, 0]
    return replace(tip, rotation=turn_z(slope))  # (eq. 1)


@dataclass(frozen=True)
class Lump:
    """Point mass with rotary inertia, and the Jacobians of its velocity and angular velocity.

    ``inertia`` and ``J_R`` refer to the same axes: those of the frame or of the section.
    """

    mass: Scalar
    r: Expr
    J_T: Expr
    inertia: Expr
    J_R: Expr


def carry(frame: MovingFrame, body: Inertia) -> list[Lump]:
    """Return a rigid body fixed in a frame as a list of one lump; an empty list for zero mass."""
    if not body.weighs:
        return []
    centre = body.first / body.mass if body.mass else body.first
    cross = skew_matrix(centre)
    offset = frame.A @ constant(centre)
    J_T = frame.J_T - ca.skew(offset) @ frame.J_R
    inertia = ca.SX(constant(body.second + body.mass * cross @ cross))
    return [Lump(body.mass, frame.r + offset, J_T, inertia, frame.A.T @ frame.J_R)]


def weigh(
    frame: MovingFrame, s: ElementSection, indices: tuple[int, ...], *, section_turns: bool
) -> Lump:
    """Return the lump that represents one integration point of a link.

    With ``section_turns``, the rotary inertia rotates with the section.
    """
    u, J_f, J_Rf = frame.A @ s.place, s.columns, s.angle_columns
    select = selection(indices, frame.J_T.shape[1])
    J_T = frame.J_T - ca.skew(u) @ frame.J_R + frame.A @ J_f @ select  # (eqs. 10, 12, 20)
    # in link axes; in section axes if the inertia rotates with the section
    J_R = frame.A.T @ frame.J_R + J_Rf @ select  # (eqs. 16, 21)
    if section_turns:
        J_R = turn_z(s.angle[2]).T @ J_R  # (eq. 1)
    return Lump(s.mass, frame.r + u, J_T, ca.SX(ca.diag(s.inertia)), J_R)  # (eq. 6)


def turn(frame: MovingFrame, terms: Terms, indices: tuple[int, ...]) -> Lump:
    """Return a lump with the rotary inertia of sections that rotate relative to their link."""
    inertia = ca.blockcat([[terms.second, terms.angular], [terms.angular.T, terms.modal]])
    rates = ca.vertcat(frame.A.T @ frame.J_R, selection(indices, frame.J_T.shape[1]))
    return Lump(0.0, frame.r, frame.J_T, ca.SX(inertia), rates)


# Correction of equations 18 and 25, an erratum: one point per element is not enough.
# Smallest number of points per element for which every motion of the nodes moves some point.
REGULAR = 3


def _kinetic_energy(lumps: list[Lump], v: Expr) -> Expr:
    """Build the kinetic energy [J] of all elements and rigid bodies."""
    total = ca.SX(0)
    for lump in lumps:
        total += lump.mass * ca.sumsqr(lump.J_T @ v) / 2  # (eqs. 19, 24)
        if lump.inertia.nnz():
            omega = lump.J_R @ v
            total += ca.dot(omega, lump.inertia @ omega) / 2  # (eqs. 19, 24)
    return total


def _gravitational_energy(lumps: list[Lump], gravity: Array) -> Expr:
    """Build the gravitational energy [J] of all elements and rigid bodies."""
    total = ca.SX(0)
    for lump in lumps:
        total -= lump.mass * ca.dot(constant(gravity), lump.r)
    return total


def _paper_refusal(formulation_class: type["ElementJacobian"], model: Model) -> str | None:
    """Return the reason why the method of Chu et al. cannot treat an arm, or None if it can."""
    if model.base_moves:
        return "the paper's robots stand on a fixed base. Use paper=False."
    q = np.zeros(model.size)
    for index, _, high in model.sliding_ranges:
        q[index] = high
    for part in model.links:
        body = body_of(model, part)
        if set(body.directions(q)) - {"y"} or part.link.quadratic_shapes:
            return (
                f"the paper's links bend in one plane, and {part.name} moves in others. Leave "
                "bending_z, torsion, stretch and quadratic_shapes out, or use paper=False."
            )
        span = body.span_at(q)
        if span is not None and len(span.edges) > 2:
            return f"the paper's links are uniform, and {part.name} has stations. Use paper=False."
    return _singularity(formulation_class(model, paper=True))


@direct_operators()
def _singularity(equation: "ElementJacobian") -> str | None:
    """Return why the mass matrix of undeformed links is singular; None if it is not."""
    model = equation.model
    q = np.random.default_rng(0).uniform(-1.0, 1.0, model.size)
    for part in model.links:
        q[part.modes] = 0.0
    for index, low, high in model.sliding_ranges:
        q[index] = (low + high) / 2
    symbols = ca.SX.sym("q", model.size)
    function = ca.Function("M", [symbols], [ca.densify(equation.mass_expression(symbols))])
    mass = np.array(function(q))
    free = [i for i in range(model.size) if i not in model.prescribed]
    smallest, vector = least_inertia(mass[np.ix_(free, free)])
    pattern = np.zeros(model.size)
    pattern[free] = np.abs(vector)
    part = max(model.links, key=lambda p: float(pattern[p.modes].max(initial=0.0)))
    if smallest > SINGULAR or not np.any(pattern[part.modes] > SINGULAR):
        return None
    if least_inertia(mass[part.modes, part.modes])[0] > SINGULAR:
        cause = (
            f"{part.name} carries nothing at its tip and its joint moves no hub, so "
            f"{part.joint_name} and the nodes can move such that no element's centre moves or turns"
        )
        remedy = "Give the arm a payload or the joint an outboard hub"
    else:
        cause = (
            f"a pattern of {part.name}'s nodes moves and turns its tip while every element's "
            "centre rests, and it grows 9.9 times per element"
        )
        remedy = "Take fewer elements or give the arm a payload"
    return (
        "with one point per element the mass matrix is singular (least eigenvalue "
        f"{abs(smallest):.0e} when scaled to a unit diagonal). The reason is that {cause}. "
        f"{remedy}, or set paper=False, which integrates the elements exactly."
    )


def refuse_points(points: int | None) -> None:
    """Raise an error unless ``points`` is a valid number of Gauss points."""
    if points is not None and (type(points) is not int or points < 1):
        raise FlexarmError(
            f"points: must be a number of integration points per element >= 1, got {points!r}"
        )


@dataclass(frozen=True, eq=False)
class ElementJacobian(Formulation):
    """Mass matrix as a sum over points of beam elements; Coriolis forces by derivatives of M.

    Parameters
    ----------
    model
        Model of an arm whose flexible links are discretised by beam elements.
    paper
        Whether to use the paper's approximations: one point per element, with the inertia of the
        whole element, and tips rotated by their slope.
    points
        Gauss points per element. A single point has the inertia of the whole element. The default
        integrates the inertia exactly: 4 points, more if an exact beam has more than 2 nodes per
        element, or 6 for a sliding link with stiffening. With 1 or 2 points the mass matrix may be
        singular.

    Raises
    ------
    FlexarmError
        If ``points`` is not a valid number of points, or not 1 with ``paper``.
    """

    name: ClassVar[str] = "element-jacobian"
    citation: ClassVar[str] = (
        "Chu et al., A novel mathematical approach for finite element formulation"
    )
    assumptions: ClassVar[str] = (
        "flexible links in beam elements; inertia integrated by Gauss points; with paper=True: one "
        "point per element, bending in one plane, tips turned by the slope, no axial shortening"
    )

    points: int | None = None

    def __post_init__(self) -> None:
        """Raise an error if ``points`` is invalid, or with ``paper`` other than 1."""
        refuse_points(self.points)
        if self.paper and self.points not in (None, 1):
            raise FlexarmError(
                "points: the published method has one integration point per element, got "
                f"{self.points}. Leave points out, or use paper=False."
            )
        Formulation.__post_init__(self)

    @staticmethod
    def paper_model(model: Model) -> Model:
        """Return the model without axial shortening, which Chu et al. neglect."""
        return unstiffened(model, "cayley")

    @property
    def per_element(self) -> int:
        """Number of Gauss points per element of a flexible link."""
        if self.points is not None or self.paper:
            return self.points or 1
        return max(body_of(self.model, part).points_per_element for part in self.model.links)

    @property
    def guarded(self) -> bool:
        """Whether the number of Gauss points is so small that M may be singular."""
        return self.per_element < REGULAR

    @classmethod
    def own_refusal(cls, model: Model, *, paper: bool) -> str | None:
        """Return the reason why this formulation cannot treat a model, or None if it can."""
        reason = None if paper else super().own_refusal(model, paper=False)
        if reason is not None:
            return reason
        for part in model.links:
            flexible = part.flexible
            shapes = part.link.shapes
            if flexible and not (isinstance(shapes, Elements) and shapes.reduce is None):
                return (
                    f"{part.name} has shapes of kind '{shapes.kind}'"
                    + (" reduced to modes" if isinstance(shapes, Elements) else "")
                    + ", and the method sums over beam elements. Write 'shapes: {kind: elements}'"
                )
        return _paper_refusal(cls, model) if paper else None

    def mass_expression(self, q: Expr) -> Expr:
        """Build the expression of the mass matrix M(q), (n, n)."""
        matrix = ca.SX(self.model.size, self.model.size)
        for lump in self._lumps(q):
            matrix = matrix + ca.triu(lump.mass * lump.J_T.T @ lump.J_T)  # (eqs. 23, 25)
            if lump.inertia.nnz():
                matrix = matrix + ca.triu(lump.J_R.T @ lump.inertia @ lump.J_R)  # (eqs. 23, 25)
        return ca.triu2symm(matrix)

    def inertial_expression(self, q: Expr, v: Expr, a: Expr | None, *, gravity: bool) -> Expr:
        """Build the expression of the generalised inertial force at accelerations a, (n,).

        If ``a`` is None, accelerations are 0. With ``gravity``, the gravity force is included.
        """
        lumps = self._lumps(q)
        rates = ca.SX.sym("rates", self.model.size)
        kinetic = _kinetic_energy(lumps, rates)
        weight: Expr = ca.SX(0)
        momentum = ca.gradient(kinetic, rates)
        force = ca.jtimes(momentum, q, rates) - ca.gradient(kinetic, q)  # (eq. 7: C q')
        if a is not None:
            force = force + ca.jtimes(momentum, rates, a)
        if gravity:
            weight = _gravitational_energy(lumps, self.model.gravity)
        force = ca.substitute(force, rates, ca.densify(v))
        return ca.sparsify(force + ca.gradient(weight, q))  # (eq. 7: G)

    def energy_expression(self, q: Expr, v: Expr) -> tuple[Expr, Expr, Expr]:
        """Build the expressions of kinetic, elastic and gravitational energy [J].

        The kinetic and the gravitational energy are sums over the same Gauss points.
        """
        lumps = self._lumps(q)
        elastic = potential_energy(self.model, q)[0]
        return _kinetic_energy(lumps, v), elastic, _gravitational_energy(lumps, self.model.gravity)

    def _lumps(self, q: Expr) -> list[Lump]:
        """Return all point masses and rigid bodies of the arm with their Jacobians, base first."""
        key = (type(self), self.options())
        return once(self.model, key, (q,), lambda: self._trace_lumps(q))

    def _trace_lumps(self, q: Expr) -> list[Lump]:
        model = self.model
        frame = MovingFrame.of_base(model, q)
        lumps = carry(frame, model.base_body)
        for part in model.links:
            if part.rotor is not None:
                row = ca.SX(1, model.size)
                row[part.rotor.coordinate] = part.rotor.ratio
                if part.rotor.axis is not None:
                    row = row + constant(part.rotor.axis).T @ frame.A.T @ frame.J_R
                lumps.append(Lump(0.0, frame.r, frame.J_T, ca.SX(part.rotor.inertia), row))
            frame = frame.through_joint(part, q)
            lumps += carry(frame, part.root_body)
            lumps += self._elements(part, q, frame)
            tip = slope_tip(model, part, q) if self.paper else tip_section(model, part, q)
            frame = frame.through(tip, part.own)
            lumps += carry(frame, part.tip_body)
        return lumps

    def _elements(self, part: LinkModel, q: Expr, frame: MovingFrame) -> list[Lump]:
        """Return the point masses of one link's finite elements with their Jacobians."""
        body, coordinates = body_of(self.model, part), own_values(part, q)
        sections = body.elements(coordinates, self.per_element)
        lumps = [weigh(frame, s, part.own, section_turns=self.paper) for s in sections]
        if self.per_element == 1:
            return lumps
        rotary_terms = body.turning(coordinates, 0 * coordinates, ca.SX(3, 1))
        rotary_terms = add(rotary_terms, body.turning_material(coordinates))
        return [*lumps, turn(frame, rotary_terms, part.own)]
