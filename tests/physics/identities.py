"""Physical identities that the equation of every arm obeys, each as a verdict at a random state.

Nothing here knows how a formulation comes to its equation: the parts of the equation are tested
against each other, against derivatives of the energies and against the arm's description.
"""

from collections.abc import Callable

import numpy as np

from flexarm.arm import Arm, Body
from flexarm.links.base import Span
from flexarm.model import LinkModel, Model
from tests.physics.states import Array, Verdict, compare
from tests.physics.traced import Traced

RESIDUE = 1e-4  # of the forces at work: below that a part of the bias is left over by rounding


def mass_matrix_is_symmetric_and_definite(arm: Traced) -> Verdict:
    """M is symmetric, and positive definite for the coordinates that are free."""
    verdict = compare(arm.mass / arm.scale, arm.mass.T / arm.scale)
    smallest = float(np.linalg.eigvalsh(arm.free_mass)[0]) if arm.free else 1.0
    return verdict if smallest > 0 else Verdict(np.inf, 0.0, f"least eigenvalue {smallest:.3g}")


def mass_matrix_is_what_accelerations_take(arm: Traced) -> Verdict:
    """Columns of M are the forces of unit accelerations from rest."""
    n = arm.model.size
    none, still = np.zeros_like(arm.state.factors), np.zeros(n)
    rest = arm.inverse(still, still, none)
    columns = [arm.inverse(still, unit, none) - rest for unit in np.eye(n)]
    scale = np.outer(arm.scale, arm.scale)
    size = np.abs(arm.mass / scale).max() + np.abs(rest / arm.scale).max()
    return compare(np.stack(columns, axis=1) / scale, arm.mass / scale, size=size)


def kinetic_energy_has_the_mass_matrix(arm: Traced) -> Verdict:
    """1/2 v^T M v is the kinetic energy and M v its derivative."""
    s = arm.state
    kinetic = arm("energy", s.q, s.v)[0]
    first = compare(s.v @ arm.mass @ s.v / 2, kinetic)
    second = compare(arm.derivatives["momentum"] / arm.scale, arm.mass @ s.v / arm.scale)
    return max(first, second, key=lambda verdict: verdict.error)


def coriolis_does_no_work(arm: Traced) -> Verdict:
    """v^T (1/2 dM/dt v - coriolis) = 0."""
    v, coriolis = arm.state.v, arm.parts["coriolis"]
    half = v @ arm.derivatives["momentum_rate"] / 2
    # A single joint has no Coriolis force but what is left by rounding of terms of this size.
    terms = v @ arm.mass @ v * np.abs(v).max()
    size = np.abs(v * coriolis).sum() + np.abs(half) + RESIDUE * terms
    return compare(half, v @ coriolis, size=size)


def coriolis_follows_from_the_kinetic_energy(arm: Traced) -> Verdict:
    """Lagrange: dM/dt v - dT/dq is the Coriolis force, row by row."""
    expected = (arm.derivatives["momentum_rate"] - arm.derivatives["kinetic"]) / arm.scale
    terms = np.abs(arm.mass @ arm.state.v / arm.scale).max() * np.abs(arm.state.v).max()
    size = np.abs(expected).max() + RESIDUE * terms
    return compare(arm.parts["coriolis"] / arm.scale, expected, size=size)


def gravity_is_a_gradient(arm: Traced) -> Verdict:
    """Gravity's force is the gradient of its energy."""
    gradient = arm.derivatives["gravitational"]
    return compare(arm.parts["gravity"] / arm.scale, gradient / arm.scale)


def elastic_force_is_a_gradient(arm: Traced) -> Verdict:
    """The elastic force is the gradient of the elastic energy."""
    return compare(arm.parts["elastic"] / arm.scale, arm.derivatives["elastic"] / arm.scale)


def damping_and_friction_only_take(arm: Traced) -> Verdict:
    """Damping and friction give power at no velocity."""
    work = arm.state.v * arm.parts["dissipative"]
    lost, size = float(work.sum()), float(np.abs(work).sum())
    return compare(min(lost, 0.0), 0.0, size=size)


def inverse_undoes_forward(arm: Traced) -> Verdict:
    """The accelerations that forces cause take these forces, and reactions where prescribed."""
    s = arm.state
    a, effort = arm.accelerations
    expected = input_columns(arm.model) @ s.u + effort
    got = arm.inverse(s.v, a, s.factors)
    inertial = np.abs(arm.mass @ a / arm.scale).max()
    return compare(got / arm.scale, expected / arm.scale, size=inertial, condition=arm.condition)


def prescribed_accelerations_are_kept(arm: Traced) -> Verdict:
    """Prescribed coordinates accelerate as told; no other has a reaction."""
    a, effort = arm.accelerations
    known = list(arm.model.prescribed)
    return compare(
        np.concatenate([a[known], effort[arm.free]]),
        np.concatenate([arm.state.given, np.zeros(len(arm.free))]),
    )


def power_changes_the_energy(arm: Traced) -> Verdict:
    """Inputs, wrenches and reactions less what is dissipated make dE/dt."""
    s, d = arm.state, arm.derivatives
    a, effort = arm.accelerations
    loads = arm.inverse(s.v, a, 0 * s.factors) - arm.inverse(s.v, a, s.factors)
    force = input_columns(arm.model) @ s.u + loads + effort - arm.parts["dissipative"]
    slopes = d["kinetic"] + d["elastic"] + d["gravitational"]
    change = np.concatenate([slopes * s.v, d["momentum"] * a])
    size = np.abs(change).sum() + np.abs(force * s.v).sum()
    return compare(change.sum(), force @ s.v, size=size, condition=arm.condition)


def joints_transmit_their_effort(arm: Traced) -> Verdict:
    """Along its axis a joint transmits what inverse dynamics asks less springs and friction.

    Sliding joints, whose beam does not move as one body, and joints whose rotor turns with its
    carrier are left out.
    """
    s = arm.state
    effort = arm.inverse(s.v, s.a, s.factors) - arm.parts["elastic"] - arm.parts["dissipative"]
    (wrench,) = arm("joint_wrench", s.q, s.v, s.a, s.factors)
    (jacobian,) = arm("tip_jacobian", s.q)
    got, expected = [], []
    for k, part in enumerate(arm.model.links):
        if len(part.axes) != 1 or part.kind not in ("revolute", "prismatic"):
            continue
        index, own = part.axes[0].index, 0.0
        if part.rotor is not None and part.rotor.coordinate == index:
            if part.rotor.axis is not None:
                continue
            own = part.rotor.ratio**2 * part.rotor.inertia * float(s.a[index])
        rows = slice(3, 6) if part.kind == "revolute" else slice(0, 3)
        got.append(jacobian[rows, index] @ wrench[rows, k])
        expected.append(effort[index] - own)
    return compare(got, expected, size=np.append(np.abs(wrench).max(), expected))


def first_joint_carries_weight_and_momentum(arm: Traced) -> Verdict:
    """The first joint's force is all the arm's mass times (acceleration of its centre - gravity).

    Along gravity; the centre's motion is that of the gravitational energy.  Where the base moves
    it has bodies of its own: there, and without gravity, the whole arm is weighed at rest.
    """
    s, model = arm.state, arm.model
    none = np.zeros_like(s.factors)
    still = np.zeros(model.size)
    (wrench,) = arm("joint_wrench", s.q, still, still, none)
    mass = carried_mass(model.arm)
    weight = mass * np.array(model.arm.gravity)
    verdict = compare(wrench[:3, 0], -weight)
    if model.base_moves:
        return verdict
    (wrench,) = arm("joint_wrench", s.q, s.v, s.a, none)
    pull = np.array(model.arm.gravity)
    expected = -arm.weight_change - weight @ pull
    size = np.abs(wrench[:3, 0]).max() * np.abs(pull).max()
    moving = compare(wrench[:3, 0] @ pull, expected, size=size)
    return max(verdict, moving, key=lambda v: v.error)


def tip_jacobian_is_the_tip_s_velocity(arm: Traced) -> Verdict:
    """J v is what the tip's pose changes by along v."""
    s = arm.state
    (jacobian,) = arm("tip_jacobian", s.q)
    rates = rates_along(s.v, lambda ahead: arm("tip_pose", s.q + ahead))
    turning = rates[0] @ arm("tip_pose", s.q)[0].T
    spin = [turning[2, 1], turning[0, 2], turning[1, 0]]
    return compare(np.concatenate([rates[1], spin]), jacobian @ s.v)


def momentum_is_that_of_the_centre_of_mass(arm: Traced) -> Verdict:
    """The mass times the velocity of its centre; what pushes a moved base from rest makes it."""
    s, model = arm.state, arm.model
    mass = carried_mass(model.arm) + (model.base_body.mass if model.base_moves else 0.0)
    linear, _, _ = arm("momentum", s.q, s.v)
    (moved,) = rates_along(s.v, lambda ahead: arm("momentum", s.q + ahead, s.v)[2:])
    verdict = compare(mass * moved, linear, size=np.append(linear, mass * np.abs(s.v).max()))
    if not model.base_moves:
        return verdict
    pushed = compare((arm.mass @ s.v)[:3], linear)
    return max(verdict, pushed, key=lambda found: found.error)


def momentum_changes_by_what_acts_from_outside(arm: Traced) -> Verdict:
    """On a free base no other force does: those of springs, drives and joints are internal."""
    s, model = arm.state, arm.model
    if not model.floats:
        return compare(0.0, 0.0)
    a = arm.accelerations[0]
    whole, still, sped = (arm("inertial_momentum", s.q, x)[0] for x in (s.v, 0 * a, a))
    (change,) = rates_along(s.v, lambda ahead: arm("inertial_momentum", s.q + ahead, s.v)[:1])
    change = change + sped - still  # linear in the rates
    change = change.reshape(2, 3) + np.cross([0, 0, model.orbit], whole.reshape(2, 3))  # axes turn
    (outer,) = arm("outer_wrench", s.q, s.v, s.factors)
    size = np.append(outer, np.abs(arm.mass[:6]) @ np.abs(a))
    return compare(change.ravel(), outer.ravel(), size=size, condition=arm.condition)


def rates_along(v: Array, values: Callable[[Array], tuple[Array, ...]]) -> list[Array]:
    """Differentiate values of a step ahead by time, moving at rates v."""
    step = 1e-3 / max(float(np.abs(v).max()), 1.0)
    seen = {k: values(k * step * v) for k in (-3, -2, -1, 1, 2, 3)}
    weights = {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}  # central differences of order 6
    count = len(seen[1])
    return [
        np.asarray(sum(w * (seen[k][i] - seen[-k][i]) for k, w in weights.items()) / step)
        for i in range(count)
    ]


OF_JOINT_WRENCHES = ("joints_transmit_their_effort", "first_joint_carries_weight_and_momentum")
IDENTITIES: dict[str, Callable[[Traced], Verdict]] = {
    function.__name__: function
    for function in (
        mass_matrix_is_symmetric_and_definite,
        mass_matrix_is_what_accelerations_take,
        kinetic_energy_has_the_mass_matrix,
        coriolis_does_no_work,
        coriolis_follows_from_the_kinetic_energy,
        gravity_is_a_gradient,
        elastic_force_is_a_gradient,
        damping_and_friction_only_take,
        inverse_undoes_forward,
        prescribed_accelerations_are_kept,
        power_changes_the_energy,
        joints_transmit_their_effort,
        first_joint_carries_weight_and_momentum,
        tip_jacobian_is_the_tip_s_velocity,
        momentum_is_that_of_the_centre_of_mass,
        momentum_changes_by_what_acts_from_outside,
    )
}


def agreement(arm: Traced, other: Traced) -> Verdict:
    """Two formulations give one arm the same equation: the worst of its parts.

    Mass matrix, forces at rest, of rates and of accelerations; accelerations under inputs, and
    reactions where they are prescribed.
    """
    s, known = arm.state, list(arm.model.prescribed)
    scale, both = other.scale, np.outer(other.scale, other.scale)
    (a, effort), (b, other_effort) = arm.accelerations, other.accelerations
    pull = np.abs(other.mass @ b / scale).max()
    verdicts = [
        compare(arm.mass / both, other.mass / both),
        compare(a * scale, b * scale, condition=other.condition),
        compare((effort / scale)[known], (other_effort / scale)[known],
                size=pull, condition=other.condition),
        compare(arm.inverse(s.v, s.a, s.factors) / scale,
                other.inverse(s.v, s.a, s.factors) / scale),
    ]  # fmt: skip
    for part in ("coriolis", "gravity"):
        size = np.abs(other.parts[part] / scale).max() + RESIDUE * pull
        verdicts.append(compare(arm.parts[part] / scale, other.parts[part] / scale, size=size))
    return max(verdicts, key=lambda verdict: verdict.error / max(verdict.allowed, 1e-300))


def input_columns(model: Model) -> Array:
    """Write down how inputs act: on the motor, or on the hub, which a root slope turns too."""
    columns = []
    for part in model.links:
        for axis in part.axes:
            if axis.acts.actuation != "torque":
                continue
            column = np.zeros(model.size)
            if axis.motor is not None:
                column[axis.motor] = 1.0
            else:
                column[axis.index] = 1.0
                column[part.modes] = _root_slope(part)
            if axis.acts.drive is not None and axis.acts.drive.motor_torque:
                column *= axis.acts.drive.gear_ratio
            columns.append(column)
    return np.stack(columns, axis=1) if columns else np.zeros((model.size, 0))


def carried_mass(arm: Arm) -> float:
    """Add up the mass of all that the first joint carries [kg]."""
    total = _mass(arm.payload)
    for k, link in enumerate(arm.links):
        total += _mass(link.rigid_body) + _mass(link.joint.hub.outboard)
        total += _mass(link.joint.hub.inboard) if k else 0.0
        total += sum(_mass(p.body) for p in (link.root_piece, link.tip_piece) if p is not None)
        if link.section is not None:
            span = Span.of(link.section, link.span)
            x, weight = span.quadrature(4)
            total += float(weight @ span.at("mass_per_length", x))
    return total


def _mass(body: Body | None) -> float:
    return 0.0 if body is None else body.mass


def _root_slope(part: LinkModel) -> Array:
    """Turn of the root about the joint's axis per amplitude."""
    if not part.body.one_length:
        return np.zeros(part.modes.stop - part.modes.start)
    axis = part.pose_JL.rotation.T @ np.array([0.0, 0.0, 1.0])
    return np.asarray(axis @ part.beam.shapes.rotation(np.zeros(1))[0])
