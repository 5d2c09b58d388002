"""Quantities of an equation of motion by name, built as CasADi functions."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import casadi as ca

from flexarm.arguments import is_word, shown
from flexarm.engine.once import once
from flexarm.engine.operators import direct_operators
from flexarm.errors import FlexarmError
from flexarm.formulations.base import Formulation, inertial_force, mass_of
from flexarm.formulations.composite import (
    inertial_momentum_expression,
    momentum_expression,
    outer_wrench_expression,
)
from flexarm.mechanics.kinematics import end_frame, end_jacobian, frames
from flexarm.mechanics.loads import (
    applied_force,
    dissipative_force,
    elastic_force,
    input_matrix,
    input_names,
    wrench_force,
    wrench_list,
)
from flexarm.mechanics.point_forces import attach, lines, touches
from flexarm.model import NUMBERS, ArmPoint, Model
from flexarm.spatial import Array, Expr, Inertia, constant

LOAD = 10  # number of values that describe the body at the tip


class Power(NamedTuple):
    """Power [W] of inputs, wrenches and prescribed coordinates, and dissipated power [W]."""

    inputs: Any
    wrenches: Any
    prescribed: Any
    dissipated: Any


class Energy(NamedTuple):
    """Kinetic, elastic and gravitational energy of an arm [J]."""

    kinetic: Any
    elastic: Any
    gravitational: Any


class Contacts(NamedTuple):
    """Distances and forces of an arm's contacts, in the order of the model file.

    Distances [m] are negative in case of penetration; distances and normal forces [N] have shape
    (contacts,). Friction forces on the arm [N] are in world axes, (contacts, 3).
    """

    distance: Array
    normal: Array
    friction: Array


class PointSprings(NamedTuple):
    """Lengths [m] and tensions [N] of the springs between points, (springs,) each."""

    length: Array
    force: Array


class Frames(NamedTuple):
    """Frames of all links in the world: rotations (links, 3, 3) and positions (links, 3) [m]."""

    root_rotation: Array
    root_position: Array
    tip_rotation: Array
    tip_position: Array


class Partitioned(NamedTuple):
    """Blocks of the mass matrix for joints (r) and elastic amplitudes (f)."""

    rr: Array
    rf: Array
    ff: Array


@dataclass(frozen=True)
class Quantity:
    """Quantity of the equation of motion, with the function that builds its expression."""

    # Function of a formulation and of the inputs' symbols that builds the quantity's expression.
    expression: Callable[..., Any]
    # Names of the inputs: coordinates q, rates v, accelerations a, inputs u, wrench factors w, and
    # accelerations ``prescribed_a`` of the prescribed coordinates.
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]  # names of the outputs


@direct_operators()
def trace(formulation: Formulation, name: str) -> ca.Function:
    """Build a quantity as a CasADi function, by its name.

    The last inputs of the function are the reference attitudes and the inertia of the tip load.
    """
    if not is_word(name, QUANTITIES):
        raise FlexarmError(
            f"there is no function {shown(name)}. The functions are {', '.join(QUANTITIES)}."
        )
    quantity, model = QUANTITIES[name], formulation.model
    symbols = [symbol(model, key) for key in quantity.inputs]
    model, further_inputs = with_reference(model)
    names = [*quantity.inputs, *(["reference_attitude"] if further_inputs else [])]
    if model.load_given:
        load = once(model, "load", (), lambda: ca.SX.sym("load", LOAD))
        model = once(model, "loaded", (), lambda: model.loaded(Inertia.of_symbols(load)))
        further_inputs, names = [*further_inputs, load], [*names, "load"]
    if further_inputs:
        formulation = formulation.of(model)
    results = quantity.expression(formulation, *symbols)
    results = list(results) if isinstance(results, tuple | list) else [results]
    if model.symbols is not None:
        further_inputs, names = [*further_inputs, model.symbols], [*names, NUMBERS]
    return ca.Function(name, [*symbols, *further_inputs], results, names, list(quantity.outputs))


def trace_jacobian(formulation: Formulation, point: ArmPoint) -> ca.Function:
    """Build the Jacobian (6, n) of a point as a CasADi function of q and reference attitudes."""
    model = formulation.model
    q = symbol(model, "q")
    model, further_inputs = with_reference(model)
    names = ["q", *(["reference_attitude"] if further_inputs else [])]
    found = attach(model, q, frames(model, q), point)
    linear = found.linear
    if found.lever is not None:
        linear = linear - ca.skew(found.lever) @ found.angular
    if model.symbols is not None:
        further_inputs, names = [*further_inputs, model.symbols], [*names, NUMBERS]
    jacobian = ca.densify(ca.vertcat(linear, found.angular))
    return ca.Function("jacobian", [q, *further_inputs], [jacobian], names, ["J"])


def symbol(model: Model, key: str) -> ca.SX:
    """Return the CasADi symbols of a named input; all functions of a model share them."""
    return once(model, f"symbol {key}", (), lambda: ca.SX.sym(key, _size(model, key)))


def with_reference(model: Model) -> tuple[Model, list[ca.SX]]:
    """Return the model with symbols as reference attitudes, and a list of these symbols.

    A model without reference attitudes is returned unchanged, with an empty list.
    """
    if not model.attitudes:
        return model, []
    reference_attitude = once(
        model,
        "reference_attitude",
        (),
        lambda: ca.SX.sym("reference_attitude", *model.start_references.shape),
    )
    return once(model, "with_reference", (), lambda: model.with_reference(reference_attitude)), [
        reference_attitude
    ]


def _size(model: Model, key: str) -> int:
    sizes = {
        "u": len(input_names(model)),
        "w": len(wrench_list(model)),
        "prescribed_a": len(model.prescribed),
    }
    return sizes.get(key, model.size)


def _springs(model: Model, q: Expr, v: Expr) -> Expr:
    return elastic_force(model, q) + dissipative_force(model, q, v)


def _bias(f: Formulation, q: Expr, v: Expr) -> Expr:
    return inertial_force(f, q, v) + _springs(f.model, q, v)


def _parts(f: Formulation, q: Expr, v: Expr) -> tuple[Expr, ...]:
    coriolis = f.inertial_expression(q, v, None, gravity=False)
    if f.model.orbit:  # includes the rotation of the orbital frame
        coriolis = inertial_force(f, q, v) - _gravity(f, q)
    return (coriolis, _gravity(f, q), elastic_force(f.model, q), dissipative_force(f.model, q, v))


def _gravity(f: Formulation, q: Expr) -> Expr:
    return inertial_force(f, q, ca.SX(f.model.size, 1))


def _forward(
    f: Formulation, q: Expr, v: Expr, u: Expr, w: Expr, prescribed_a: Expr
) -> tuple[Expr, Expr]:
    return f.forward_expression(q, v, prescribed_a, applied_force(f.model, q, v, u, w))


def _inverse(f: Formulation, q: Expr, v: Expr, a: Expr, w: Expr) -> Expr:
    force = f.inertial_expression(q, v, a, gravity=True) + _springs(f.model, q, v)
    return force - wrench_force(f.model, q, w)


def _matrices(f: Formulation, q: Expr, v: Expr) -> tuple[Expr, Expr, Expr]:
    return (
        ca.densify(mass_of(f, q)),
        ca.densify(ca.jacobian(elastic_force(f.model, q), q)),
        ca.densify(ca.jacobian(dissipative_force(f.model, q, v), v)),
    )


def _linear_model(f: Formulation, q: Expr, v: Expr, a: Expr, w: Expr) -> list[Expr]:
    """Build derivatives of inverse dynamics with respect to a, q, v, without Coulomb friction."""
    smooth = elastic_force(f.model, q) + dissipative_force(f.model, q, v, coulomb=False)
    force = f.inertial_expression(q, v, a, gravity=True) + smooth - wrench_force(f.model, q, w)
    return [ca.densify(ca.jacobian(force, variable)) for variable in (a, q, v)]


def _balance(f: Formulation, q: Expr, v: Expr, w: Expr) -> tuple[Expr, Expr]:
    """Build the mass matrix, and the generalised force at zero acceleration without inputs."""
    force = _bias(f, q, v) - wrench_force(f.model, q, w)
    return ca.densify(mass_of(f, q)), ca.densify(ca.SX(force))


def _smooth_matrices(f: Formulation, q: Expr, v: Expr) -> tuple[Expr, Expr]:
    """Build elastic stiffness and damping matrix without Coulomb friction, (n, n) each."""
    smooth = dissipative_force(f.model, q, v, coulomb=False)
    stiffness = ca.jacobian(elastic_force(f.model, q), q)
    return ca.densify(stiffness), ca.densify(ca.jacobian(smooth, v))


def _motion(
    f: Formulation, q: Expr, v: Expr, u: Expr, w: Expr, prescribed_a: Expr
) -> tuple[Expr, Expr]:
    """Build accelerations, (n,), and the four powers [W] of `Power`, (4,)."""
    return _pushed_motion(f, q, v, u, w, prescribed_a)[:2]


def _pushed_motion(
    f: Formulation, q: Expr, v: Expr, u: Expr, w: Expr, prescribed_a: Expr, push: Expr | None = None
) -> tuple[Expr, Expr, Expr]:
    """Build accelerations, powers [W], and forces on prescribed coordinates.

    ``push`` is an additional generalised force, (n,).
    """
    applied, input_force, load_force, dissipation = _applied(f, q, v, u, w, push)
    a, effort = f.forward_expression(q, v, prescribed_a, applied)
    powers = (ca.dot(v, force) for force in (input_force, load_force, effort, dissipation))
    return a, ca.vertcat(*powers), effort


def _applied(
    f: Formulation, q: Expr, v: Expr, u: Expr, w: Expr, push: Expr | None, *, ends: bool = True
) -> tuple[Expr, ...]:
    """Build the sum of applied forces, and the parts due to inputs, wrenches and dissipation.

    Each result is a vector of generalised forces, (n,). Without ``ends``, contacts of the tip are
    left out.
    """
    input_force = ca.SX(constant(input_matrix(f.model))) @ u
    load_force = wrench_force(f.model, q, w)
    dissipation = dissipative_force(f.model, q, v, ends=ends)
    applied = input_force + load_force - elastic_force(f.model, q, ends=ends) - dissipation
    return applied if push is None else applied + push, input_force, load_force, dissipation


def _residual(
    f: Formulation, q: Expr, v: Expr, u: Expr, w: Expr, a: Expr, push: Expr
) -> tuple[Expr, Expr]:
    """Build the residual of the equation of motion at given accelerations, (n,), and powers [W].

    The residual is 0 at free coordinates if the accelerations satisfy the equation of motion.
    """
    tip_contact = f.touched_expression(q, v, a)
    applied, input_force, load_force, dissipation = _applied(
        f, q, v, u, w, push, ends=tip_contact is None
    )
    inertial = (
        f.inertial_expression(q, v, a, gravity=True) if tip_contact is None else tip_contact[0]
    )
    residual, effort = inertial - applied, ca.SX(f.model.size, 1)
    for k in f.model.prescribed:
        effort[k] = residual[k]
    powers = [ca.dot(v, force) for force in (input_force, load_force, effort, dissipation)]
    powers[3] += 0 if tip_contact is None else tip_contact[1]
    return residual, ca.vertcat(*powers)


def _observation(f: Formulation, q: Expr, v: Expr) -> Expr:
    """Build a vector of energies [J], the tip's rotation (row by row) and its position [m]."""
    frame_parts = (ca.vec(ca.densify(part.T)) for part in end_frame(f.model, q))
    return ca.vertcat(*f.energy_expression(q, v), *frame_parts)


def _tip_jacobian(f: Formulation, q: Expr) -> Expr:
    return ca.vertcat(*end_jacobian(f.model, q))


def _tip_acceleration(f: Formulation, q: Expr, v: Expr, a: Expr) -> Expr:
    jacobian = _tip_jacobian(f, q)
    return jacobian @ a + ca.jtimes(jacobian @ v, q, v)


def _link_frames(f: Formulation, q: Expr) -> tuple[Expr, ...]:
    """Build the rotations and positions of link roots and tips.

    Rotations are side by side, (3, 3 links), positions (3, links), in world axes.
    """
    frames_of_links = frames(f.model, q)
    return (
        ca.horzcat(*(frame.R_WL for frame in frames_of_links)),
        ca.horzcat(*(frame.p_WL for frame in frames_of_links)),
        ca.horzcat(*(frame.R_WT for frame in frames_of_links)),
        ca.horzcat(*(frame.p_WT for frame in frames_of_links)),
    )


def _nearness(f: Formulation, q: Expr, v: Expr) -> tuple[Expr, ...]:
    """Build distances [m] of the contacts, closing rates, and sliding speeds [m/s]."""
    contact_list = touches(f.model, q, frames(f.model, q))
    speeds = [contact.velocity(v)[0] for contact in contact_list]
    closing = [
        -ca.dot(contact.normal, speed) for contact, speed in zip(contact_list, speeds, strict=True)
    ]
    return (
        ca.vertcat(*[-contact.depth for contact in contact_list]),
        ca.vertcat(*closing),
        ca.vertcat(*[ca.sqrt(ca.sumsqr(speed)) for speed in speeds]),
    )


def _contacts(f: Formulation, q: Expr, v: Expr) -> tuple[Expr, ...]:
    """Build distance, normal force, and friction vector (3, contacts) of the contacts."""
    contact_list = touches(f.model, q, frames(f.model, q))
    forces = [contact.forces(v) for contact in contact_list]
    return (
        ca.vertcat(*[-contact.depth for contact in contact_list]),
        ca.vertcat(*[normal for normal, _ in forces]),
        ca.horzcat(*[friction for _, friction in forces]),
    )


def _springs_between(f: Formulation, q: Expr, v: Expr) -> tuple[Expr, Expr]:
    """Build length [m] and tension [N] of each spring between two points, (springs,) each."""
    springs = lines(f.model, q)
    return (
        ca.vertcat(*[spring.length for spring in springs]),
        ca.vertcat(*[spring.tension + spring.drag(v) for spring in springs]),
    )


QUANTITIES: dict[str, Quantity] = {
    "mass_matrix": Quantity(mass_of, ("q",), ("M",)),
    "bias": Quantity(_bias, ("q", "v"), ("c",)),
    "parts": Quantity(_parts, ("q", "v"), ("coriolis", "gravity", "elastic", "dissipative")),
    "gravity": Quantity(_gravity, ("q",), ("g",)),
    "forward_dynamics": Quantity(_forward, ("q", "v", "u", "w", "prescribed_a"), ("a", "effort")),
    "inverse_dynamics": Quantity(_inverse, ("q", "v", "a", "w"), ("tau",)),
    "energy": Quantity(
        lambda f, q, v: f.energy_expression(q, v),
        ("q", "v"),
        ("kinetic", "elastic", "gravitational"),
    ),
    "matrices": Quantity(_matrices, ("q", "v"), ("M", "K", "D")),
    "linear_model": Quantity(_linear_model, ("q", "v", "a", "w"), ("M", "K", "D")),
    "balance": Quantity(_balance, ("q", "v", "w"), ("M", "force")),
    "smooth_matrices": Quantity(_smooth_matrices, ("q", "v"), ("K", "D")),
    "motion": Quantity(_motion, ("q", "v", "u", "w", "prescribed_a"), ("a", "power")),
    "pushed_motion": Quantity(
        _pushed_motion, ("q", "v", "u", "w", "prescribed_a", "push"), ("a", "power", "effort")
    ),
    "missing_force": Quantity(_residual, ("q", "v", "u", "w", "a", "push"), ("missing", "power")),
    "observation": Quantity(_observation, ("q", "v"), ("energies_and_tip",)),
    "tip_pose": Quantity(lambda f, q: end_frame(f.model, q), ("q",), ("R", "p")),
    "tip_jacobian": Quantity(_tip_jacobian, ("q",), ("J",)),
    "tip_velocity": Quantity(lambda f, q, v: _tip_jacobian(f, q) @ v, ("q", "v"), ("velocity",)),
    "tip_acceleration": Quantity(_tip_acceleration, ("q", "v", "a"), ("acceleration",)),
    "link_frames": Quantity(_link_frames, ("q",), ("R_root", "p_root", "R_tip", "p_tip")),
    "momentum": Quantity(
        lambda f, q, v: momentum_expression(f.model, q, v),
        ("q", "v"),
        ("linear", "angular", "centre"),
    ),
    "inertial_momentum": Quantity(
        lambda f, q, v: inertial_momentum_expression(f.model, q, v),
        ("q", "v"),
        ("whole", "base", "centre"),
    ),
    "outer_wrench": Quantity(
        lambda f, q, v, w: outer_wrench_expression(f.model, q, v, w), ("q", "v", "w"), ("wrench",)
    ),
    "nearness": Quantity(_nearness, ("q", "v"), ("distance", "closing", "speed")),
    "contacts": Quantity(_contacts, ("q", "v"), ("distance", "normal", "friction")),
    "springs": Quantity(_springs_between, ("q", "v"), ("length", "force")),
    "joint_wrench": Quantity(
        lambda f, q, v, a, w: f.joint_wrench_expression(q, v, a, w),
        ("q", "v", "a", "w"),
        ("wrench",),
    ),
}
