"""Joint and link transformations of an arm as 4x4 matrices over ``h = (1, x, y, z)``.

The transformations are those of Chen, Zhang & Liu 2012, eqs 1-4, and Theodore & Ghosal 1995, eqs
1-4.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from flexarm.mechanics.bodies.points import homogeneous, pose_matrix
from flexarm.mechanics.kinematics import tip_section
from flexarm.mechanics.sections import picked
from flexarm.model import LinkModel, Model
from flexarm.spatial import NO_INERTIA, Expr, Inertia, Pose, constant, turn_about, turn_z

# Rotation and position of each factor of a joint motion; a factor depends on one coordinate.
Factors = list[tuple[Expr, Expr]]
Motion = tuple[Expr, Expr, Expr]  # a transformation with its first and second derivative


@dataclass(frozen=True)
class LinkTransform:
    """Transformation from a tip to the next link's root: ``A = dH HH(q) Hb``.

    The three factors are those of Chen, Zhang & Liu 2012, eq 1.
    """

    A: Expr  # the transformation, (4, 4)
    U: Expr  # first derivative with respect to the joint's coordinate, (4, 4)
    UU: Expr  # second derivative with respect to the joint's coordinate, (4, 4)
    coordinate: int | None  # index of the joint's coordinate in q; None for a fixed joint
    part: LinkModel | None  # link that follows; None for the base
    body: Inertia = NO_INERTIA  # rigid bodies fixed in the target frame, without the link's span

    @property
    def modes(self) -> range:
        """Indices in q of the amplitudes of the link that follows."""
        return range(0) if self.part is None else range(self.part.modes.start, self.part.modes.stop)


@dataclass(frozen=True)
class Transform:
    """4x4 transformation that depends on amplitudes: value, derivatives, rate and bias.

    The bias is the second time derivative at zero acceleration of the amplitudes.
    """

    value: Expr
    columns: list[Expr]
    rate: Expr
    bias: Expr


def steps(model: Model, q: Expr) -> list[LinkTransform]:
    """Return the joint transformations from base to tip; a moving base counts as six joints."""
    result: list[LinkTransform] = []
    base: Expr | None = homogeneous(model.base_reference, constant(model.base_pose.position))
    if model.base_moves:
        start = homogeneous(ca.DM.eye(3), constant(model.base_pose.position))
        reference_attitude = homogeneous(model.base_reference, ca.DM(3, 1))
        symbols, identity = ca.SX.sym("q", 6), ca.SX.eye(3)
        factors: Factors = [(identity, identity[:, k] * symbols[k]) for k in range(3)]
        factors += [(turn_about(k, symbols[3 + k]), ca.DM(3, 1)) for k in range(3)]
        for k, joint_motion in enumerate(_motions(factors, symbols, q[:6])):
            result.append(
                _step({0: start, 3: reference_attitude}.get(k), joint_motion, None, k, None)
            )
        result[-1] = replace(result[-1], body=model.base_body)
        base = None
    for part in model.links:
        joint_pose = pose_matrix(part.pose_FJ)
        left: Expr | None = joint_pose if base is None else base @ joint_pose
        base = None
        symbols = ca.SX.sym("q", len(part.carried_by))
        factors = part.motion.factors(symbols) if part.carried_by else []
        transformations = _motions(factors, symbols, picked(q, part.carried_by))
        motions: list[Motion | None] = [*transformations] or [None]
        coordinates: Sequence[int | None] = part.carried_by or [None]
        for motion, index in zip(motions[:-1], coordinates, strict=False):
            result.append(_step(left, motion, None, index, None))
            left = None
        step = _step(left, motions[-1], pose_matrix(part.pose_JL), coordinates[-1], part)
        result.append(replace(step, body=part.root_body))
    return result


def tip_transform(model: Model, part: LinkModel | None, d: Expr, rates: Expr) -> Transform:
    """Return the transformation E from a link's root to its tip at amplitudes d.

    Derivatives of E with respect to the amplitudes, and its rate and bias, are included. The link
    must have constant length.
    """

    def at(amplitudes: Expr) -> Expr:
        q = type(amplitudes)(model.size, 1)
        if part is None:
            return type(d).eye(4)
        q[part.modes.start : part.modes.stop] = amplitudes
        local = tip_section(model, part, q)
        return homogeneous(local.rotation, local.position)

    return differentiated(at, d, rates)


def hub_transform(part: LinkModel, d: Expr, rates: Expr) -> Transform | None:
    """Return the rotation of an outboard hub by the shapes' root slopes; None if they are zero."""
    if not np.any(part.body.root_turn):
        return None
    root_pose = part.pose_JL
    inverse = Pose(root_pose.rotation.T, -root_pose.rotation.T @ root_pose.position)
    row = constant((inverse.rotation[:, 2] @ part.body.root_turn)[None, :])

    def at(amplitudes: Expr) -> Expr:
        rotation = homogeneous(turn_z(row @ amplitudes), ca.DM(3, 1))
        return pose_matrix(inverse) @ rotation

    return differentiated(at, d, rates)


def differentiated(make: Callable[[Expr], Expr], d: Expr, rates: Expr) -> Transform:
    """Return a transformation at amplitudes d with its derivatives, rate and bias.

    ``make`` is the function that returns the transformation, (4, 4), at given amplitudes.
    """
    m = d.shape[0]
    if m == 0:
        zeros = type(d)(4, 4)
        return Transform(type(d)(make(d)), [], zeros, zeros)
    amplitudes, amplitude_rates = ca.SX.sym("d", m), ca.SX.sym("v", m)
    entries = ca.vec(ca.densify(ca.SX(make(amplitudes))))
    columns: Expr = ca.jacobian(entries, amplitudes)
    rate: Expr = columns @ amplitude_rates
    bias: Expr = ca.jtimes(rate, amplitudes, amplitude_rates)
    results = [entries, columns, rate, bias]
    value, columns, rate, bias = _substituted(results, [amplitudes, amplitude_rates], [d, rates])
    return Transform(
        _matrix(value), [_matrix(columns[:, k]) for k in range(m)], _matrix(rate), _matrix(bias)
    )


def torque_refusal(model: Model) -> str | None:
    """Return why torques on sections are refused with first-order tips, or None.

    Without torques on sections the result is None.
    """
    loads = {key: points for key, points in vars(model.points).items() if points}
    if not loads:
        return None
    return (
        f"first-order tips are no rotations, so {next(iter(loads))} have no torque "
        f"beyond them. Leave the {next(iter(loads))} out, or build the model with "
        "tip_rotation='cayley'."
    )


def _step(
    before: Expr | None,
    motion: Motion | None,
    after: Expr | None,
    coordinate: int | None,
    part: LinkModel | None,
) -> LinkTransform:
    before_joint = ca.DM.eye(4) if before is None else before
    after_joint = ca.DM.eye(4) if after is None else after
    if motion is None:
        return LinkTransform(
            ca.SX(before_joint @ after_joint), ca.SX(4, 4), ca.SX(4, 4), None, part
        )
    A, U, UU = (before_joint @ matrix @ after_joint for matrix in motion)
    return LinkTransform(A, U, UU, coordinate, part)


def _motions(factors: Factors, symbols: Expr, q: Expr) -> Iterator[Motion]:
    """Yield each coordinate's transformation with its first and second derivative.

    ``symbols`` are the coordinates in ``factors``; the results have ``q`` in their place.
    """
    for k, factor in enumerate(factors):
        value: Expr = homogeneous(*factor)
        first = ca.sparsify(ca.reshape(ca.jacobian(ca.vec(ca.densify(value)), symbols[k]), 4, 4))
        second = ca.sparsify(ca.reshape(ca.jacobian(ca.vec(ca.densify(first)), symbols[k]), 4, 4))
        results = ca.cse([value, first, second])
        A, U, UU = _substituted(results, [symbols], [q])
        yield A, U, UU


def _substituted(results: Sequence[Expr], symbols: list[Expr], values: list[Expr]) -> list[Expr]:
    """Return expressions with values in place of the given symbols; other symbols remain."""
    hashes = {sym.element_hash() for expression in symbols for sym in ca.symvar(expression)}
    all_symbols = ca.symvar(ca.vertcat(*[ca.vec(ca.densify(expression)) for expression in results]))
    remaining = ca.vertcat(*[sym for sym in all_symbols if sym.element_hash() not in hashes])
    function = ca.Function("at", [*symbols, remaining], results)
    return list(function(*values, remaining))


def _matrix(flat: Expr) -> Expr:
    return ca.sparsify(ca.reshape(flat, 4, 4))
