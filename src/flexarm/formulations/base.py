"""Interface of a formulation: an algorithm for the equation of motion of an arm.

Every formulation builds ``M(q) a + c(q, v) = B u + sum J^T f`` as CasADi expressions. The class
`flexarm.formulations.equation.Equation` compiles and evaluates these expressions.
"""

from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass, fields
from typing import ClassVar, Self

import casadi as ca

from flexarm.constants import SINGULAR
from flexarm.engine.once import once
from flexarm.errors import FlexarmError
from flexarm.mechanics.kinematics import frames
from flexarm.mechanics.loads import outer_loads, potential_energy
from flexarm.model import Model, TipRotation, build
from flexarm.spatial import Expr


@dataclass(frozen=True, eq=False)
class Formulation(ABC):
    """An algorithm for the equation of motion of an arm: metadata and CasADi expressions.

    Each subclass declares name, citation and assumptions, and implements the mass matrix and the
    inertial force. Options of a formulation are keyword-only fields.

    Attributes
    ----------
    model
        Model of the arm, changed by `paper_model` if ``paper`` is set.
    paper
        Whether the approximations of the formulation's paper are used.
    """

    name: ClassVar[str]
    citation: ClassVar[str]
    assumptions: ClassVar[str]
    # Whether the formulation covers serial chains of beams only, each mounted at the previous tip.
    along_beams: ClassVar[bool] = True

    model: Model
    _: KW_ONLY
    paper: bool = False

    def __post_init__(self) -> None:
        """Replace ``model`` by the result of `paper_model` if ``paper`` is set."""
        if self.paper:
            object.__setattr__(self, "model", self.paper_model(self.model))

    def of(self, model: Model) -> Self:
        """Return this formulation for another model, without applying `paper_model` to it."""
        copy = object.__new__(type(self))
        for field in fields(self):
            object.__setattr__(copy, field.name, getattr(self, field.name))
        object.__setattr__(copy, "model", model)
        return copy

    @classmethod
    def refusal(cls, model: Model, *, paper: bool) -> str | None:
        """Return the reason why this formulation cannot treat a model, or None if it can.

        Reasons that apply to all non-recursive formulations are included.
        """
        reason = recursions_only(model) if cls.along_beams else None
        return reason or cls.own_refusal(model, paper=paper)

    @classmethod
    def own_refusal(cls, model: Model, *, paper: bool) -> str | None:
        """Return a reason, specific to this formulation, why it cannot treat a model, or None."""
        if paper:
            return "no paper belongs to it, so there are no approximations to keep"
        if model.tip_rotation == "first-order":
            return (
                "outboard bodies are not rigid with first-order tip rotation. Build the model "
                "with tip_rotation='cayley'."
            )
        return None

    @staticmethod
    def paper_model(model: Model) -> Model:
        """Return the model with the kinematics and energies of the formulation's paper."""
        return model

    @property
    def guarded(self) -> bool:
        """Whether an approximation may make the mass matrix singular or indefinite."""
        return self.paper or self.model.tip_rotation == "first-order"

    def options(self) -> str:
        """Return all options of the formulation as a text.

        Class, model and this text together determine the expressions.
        """
        names = [field.name for field in fields(self) if field.name != "model"]
        return " ".join(f"{name}={getattr(self, name)}" for name in names)

    @abstractmethod
    def mass_expression(self, q: Expr) -> Expr:
        """Build the expression of the mass matrix M(q), (n, n)."""

    @abstractmethod
    def inertial_expression(self, q: Expr, v: Expr, a: Expr | None, *, gravity: bool) -> Expr:
        """Build the expression of the generalised inertial force at accelerations a, (n,).

        If ``a`` is None, accelerations are 0. With ``gravity``, the gravity force is included.
        """

    def touched_expression(self, q: Expr, v: Expr, a: Expr) -> tuple[Expr, Expr] | None:
        """Build inertial and gravity force minus tip contact force, (n,), and contact power [W].

        The contact dissipates this power. Return None if the formulation has no recursion that can
        include a force at the tip, or if the tip has no contact.
        """
        return None

    def forward_expression(
        self, q: Expr, v: Expr, prescribed_a: Expr, applied: Expr
    ) -> tuple[Expr, Expr]:
        """Build expressions of the accelerations and of the forces on prescribed coordinates.

        Accelerations and forces have shape (n,); forces on coordinates that are not prescribed are
        0.

        Parameters
        ----------
        q, v
            Coordinates and rates.
        prescribed_a
            Accelerations of the prescribed coordinates, in the order of ``model.prescribed``.
        applied
            Generalised force of inputs and wrenches minus elastic and dissipative forces.
        """
        force = applied - inertial_force(self, q, v)
        return solve_motion(self.model, mass_of(self, q), force, prescribed_a, guarded=self.guarded)

    def energy_expression(self, q: Expr, v: Expr) -> tuple[Expr, Expr, Expr]:
        """Build the expressions of kinetic, elastic and gravitational energy [J]."""
        kinetic = ca.dot(v, mass_of(self, q) @ v) / 2
        return kinetic, *potential_energy(self.model, q)

    def inertial_wrenches(self, q: Expr, v: Expr, a: Expr) -> list[tuple[Expr, Expr, Expr]]:
        """Build the inertial and gravity wrenches of all bodies outboard of each joint.

        Each wrench is a tuple of a point, the force, and the torque about this point, (3,) each, in
        world axes.
        """
        raise FlexarmError(
            f"formulation '{self.name}' does not compute joint wrenches. Use composite."
        )

    def joint_wrench_expression(self, q: Expr, v: Expr, a: Expr, factors: Expr) -> Expr:
        """Build the wrench that each joint transmits to its link, (6, links), force over torque.

        Each wrench is in world axes, at the joint's origin, and includes external wrenches on
        outboard links.
        """
        wrenches, columns = self.inertial_wrenches(q, v, a), []
        link_frames = frames(self.model, q)
        loads = outer_loads(self.model, q, v, link_frames, factors)
        for i, (frame, (point, force, torque)) in enumerate(
            zip(link_frames, wrenches, strict=True)
        ):
            torque = torque + ca.cross(point - frame.p_WJ, force)
            for index, position, pull, twist in loads:
                if i in self.model.path(index):
                    force = force - pull
                    torque = torque - twist - ca.cross(position - frame.p_WJ, pull)
            columns.append(ca.vertcat(force, torque))
        return ca.horzcat(*columns)


def mass_of(formulation: Formulation, q: Expr) -> Expr:
    """Return the expression of the mass matrix, (n, n).

    The expression is built once; all functions that contain the mass matrix share it.
    """
    key = (type(formulation), formulation.options(), "mass")
    return once(formulation.model, key, (q,), lambda: formulation.mass_expression(q))


def inertial_force(formulation: Formulation, q: Expr, v: Expr) -> Expr:
    """Return the expression of inertial plus gravity force at zero acceleration, (n,).

    The expression is built once; all functions that contain this force share it.
    """
    key = (type(formulation), formulation.options(), "force")
    return once(
        formulation.model, key, (q, v),
        lambda: formulation.inertial_expression(q, v, None, gravity=True),
    )  # fmt: skip


def recursions_only(model: Model) -> str | None:
    """Return the reason why only recursive formulations can treat an arm; None if all can."""
    if model.orbit:
        return (
            "the base is in an orbit, and the method assumes an inertial world. Use "
            "'articulated' or 'composite'."
        )
    for index, part in enumerate(model.links):
        if part.parent != index - 1 or part.place is not None:
            return (
                f"{part.joint_name} makes a branch, and the method sums along one chain of links. "
                "Use 'articulated' or 'composite'."
            )
        if part.on_rail:
            return (
                f"{part.joint_name} is a carriage, and the method places each link at the tip "
                "of the link before it. Use 'articulated' or 'composite'."
            )
        if not part.body.sectioned:
            return (
                f"{part.name} is a body with modes, and the method sums over points of "
                "straight beams. Use 'articulated' or 'composite'."
            )
    return None


def unstiffened(model: Model, tip_rotation: TipRotation) -> Model:
    """Return a model whose links do not shorten when they bend, with a given tip rotation.

    ``tip_rotation`` is the way in which the tip's rotation is computed from its angles.
    """
    if not model.stiffening and model.tip_rotation == tip_rotation:
        return model
    rebuilt = build(model.arm, stiffening=False, tip_rotation=tip_rotation)
    return (
        rebuilt
        if model.reference_attitude is None
        else rebuilt.with_reference(model.reference_attitude)
    )


def solve_motion(
    model: Model, mass: Expr, force: Expr, prescribed_a: Expr, *, guarded: bool = False
) -> tuple[Expr, Expr]:
    """Solve ``M a = force`` with some accelerations prescribed.

    Return all accelerations, and the forces on prescribed coordinates, (n,) each. ``prescribed_a``
    are the accelerations of the prescribed coordinates. If ``guarded``, accelerations are infinite
    or NaN at coordinates where M is singular.
    """
    prescribed = list(model.prescribed)
    free = [i for i in range(model.size) if i not in prescribed]
    result, effort = ca.SX(model.size, 1), ca.SX(model.size, 1)
    if free:
        free_force = force[free]
        if prescribed:
            free_force = free_force - mass[free, prescribed] @ prescribed_a
        solution = ldl_solve(mass[free, free], free_force, least=SINGULAR if guarded else None)
        for k, i in enumerate(free):
            result[i] = solution[k]
    for k, i in enumerate(prescribed):
        result[i] = prescribed_a[k]
    for i in prescribed:
        effort[i] = mass[i, :] @ result - force[i]
    return result, effort


def ldl_solve(matrix: Expr, right: Expr, *, least: float | None = None) -> Expr:
    """Solve a symmetric positive definite system for all right-hand sides, (n, k).

    With ``least``, the result is infinite or NaN if a pivot is at most ``least`` times the diagonal
    entry of its row.
    """
    factors = Factors.of(matrix, least=least)
    return factors.back(factors.scaled(factors.forward(right)))


@dataclass(frozen=True)
class Factors:
    """Factors ``L D L^T`` of a symmetric positive definite matrix, without its structural zeros.

    A product ``B^T matrix^-1 B`` equals ``(L^-1 B)^T D^-1 (L^-1 B)``, which needs only `forward`
    and `scaled`.
    """

    lower: list[dict[int, Expr]]  # entries of L left of its unit diagonal, by row and column
    inverse: list[Expr]  # 1 / D
    order: list[int]  # rows of the matrix in the order of their elimination

    @classmethod
    def of(cls, matrix: Expr, *, least: float | None = None, shortest: bool = False) -> Self:
        """Factor a symmetric matrix; pivots at most ``least`` times their diagonal entry become 0.

        With ``shortest``, rows with the fewest nonzero entries are eliminated first.
        """
        n = matrix.shape[0]
        order = list(range(n))
        if shortest:
            order.sort(key=lambda i: matrix[i, :].nnz())
            matrix = matrix[order, order]
        inverse: list[Expr] = []
        lower: list[dict[int, Expr]] = [{} for _ in range(n)]
        scaled: list[dict[int, Expr]] = [{} for _ in range(n)]
        for j in range(n):
            pivot = matrix[j, j]
            for k, factor in lower[j].items():
                pivot = pivot - factor * scaled[j][k]
            if least is not None:
                pivot = ca.if_else(pivot > least * matrix[j, j], pivot, 0)
            inverse.append(1 / pivot)
            for i in range(j + 1, n):
                entry = matrix[i, j]
                for k in sorted(lower[i].keys() & lower[j].keys()):
                    entry = entry - scaled[i][k] * lower[j][k]
                if entry.nnz():
                    scaled[i][j] = entry
                    lower[i][j] = entry * inverse[j]
        return cls(lower, inverse, order)

    def forward(self, right: Expr) -> Expr:
        """Solve ``L x = right`` for all right-hand sides, (n, k)."""
        rows = [right[i, :] for i in self.order]
        for i, factors in enumerate(self.lower):
            for k, factor in factors.items():
                rows[i] = rows[i] - factor * rows[k]
        return ca.vertcat(right[:0, :], *rows)

    def scaled(self, right: Expr) -> Expr:
        """Solve ``D x = right`` for all right-hand sides, (n, k)."""
        rows = [right[i, :] * factor for i, factor in enumerate(self.inverse)]
        return ca.vertcat(right[:0, :], *rows)

    def back(self, right: Expr) -> Expr:
        """Solve ``L^T x = right`` for all right-hand sides, (n, k)."""
        rows = [right[i, :] for i in range(len(self.lower))]
        for i in range(len(rows) - 1, -1, -1):
            for k, factor in self.lower[i].items():
                rows[k] = rows[k] - factor * rows[i]
        solution = [rows[self.order.index(i)] for i in range(len(rows))]
        return ca.vertcat(right[:0, :], *solution)
