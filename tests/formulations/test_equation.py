"""The equation as users hold it: one state or a batch, momenta, frames, the tip's motion."""

from collections.abc import Callable
from functools import cache
from typing import Any

import casadi as ca
import numpy as np
import pytest

import flexarm
from flexarm.errors import FlexarmError
from flexarm.formulations import formulation
from flexarm.formulations.equation import Equation
from flexarm.formulations.quantities import QUANTITIES
from flexarm.io.model_file import loads
from flexarm.model import Model, build
from tests.physics.cases import CORE, gives_wrenches, pairs, skip_if_refused
from tests.physics.states import Array

ROWS = 5
WHOLE = 4 + 0.8 * 0.6 + 0.3  # [kg] of the drifting arm
LIGHT = 2 * 1.5 * 0.4 + 0.5 + 0.2  # [kg] of the standing one

DRIFTING = """
flexarm: 1
name: drifting
gravity: [0, 0, -2]
base:
  kind: free
  body: {mass: 4, com: [0.05, -0.02, 0.03], inertia: [0.3, 0.5, 0.4, 0.02, -0.03, 0.01]}
  position: [0.3, -0.2, 0.1]
  rotation: [0.4, 0.7, -0.3]
links:
  - joint: {kind: revolute, axis: [1, 0, 1]}
    length: 0.6
    section: {mass_per_length: 0.8, EIz: 60, EIy: 40}
    shapes: {kind: elements, bending_y: 1, bending_z: 1}
payload: {mass: 0.3, inertia: [0.002, 0.003, 0.004]}
"""
STANDING = """
flexarm: 1
name: standing
gravity: [0.5, -9.81, 2]
base: {kind: fixed, position: [0.2, 0.1, -0.3], rotation: [0.2, -0.4, 0.3]}
links:
  - joint: {kind: revolute, axis: [0, 1, 1], hub: {outboard: {mass: 0.2, com: [0.1, 0, 0.05],
      inertia: [0.01, 0.02, 0.03]}}}
    length: 0.4
    section: {mass_per_length: 1.5, EIz: 30}
    shapes: {kind: elements, bending_y: 1}
  - joint: {kind: revolute, actuation: prescribed,
      motion: {kind: sine, amplitude: 0.3, frequency: 1}}
    length: 0.4
    section: {mass_per_length: 1.5, EIz: 30}
    shapes: {kind: elements, bending_y: 1}
    wrenches:
      - force: [1, 2, 3]
        torque: [0.1, 0.2, 0.3]
        factor: {kind: sine, amplitude: 2, frequency: 1}
payload: {mass: 0.5, inertia: [0.002, 0.003, 0.004]}
contacts:
  - {radius: 0.3, obstacle: {kind: sphere, radius: 0.5}, stiffness: 50, friction: {coefficient: 1}}
  - {point: {link: link1}, obstacle: {kind: plane, normal: [1, 0, 0]}, stiffness: 50, damping: 1}
springs: [{between: [{link: link1, at: [0.1, 0.1, 0]}, tip], stiffness: 5, damping: 1}]
"""
ARMS = {"drifting": DRIFTING, "standing": STANDING}

# By quantity: a call at coordinates, rates, accelerations, inputs and times.
CALLS: dict[str, Callable[[Equation, Array, Array, Array, Array, Any], Any]] = {
    "mass_matrix": lambda e, q, v, a, u, t: (e.mass_matrix(q), *e.partitioned(q)),
    "bias": lambda e, q, v, a, u, t: e.bias(q, v, t),
    "parts": lambda e, q, v, a, u, t: tuple(e.parts(q, v).values()),
    "gravity": lambda e, q, v, a, u, t: e.gravity(q),
    "forward_dynamics": lambda e, q, v, a, u, t: (
        e.forward_dynamics(q, v, u, t), e.reaction(q, v, u, t),
    ),
    "inverse_dynamics": lambda e, q, v, a, u, t: e.inverse_dynamics(q, v, a, t),
    "energy": lambda e, q, v, a, u, t: e.energy(q, v),
    "motion": lambda e, q, v, a, u, t: (e.motion(q, v, u, t)[0], *e.motion(q, v, u, t)[1]),
    "tip_pose": lambda e, q, v, a, u, t: e.tip_pose(q),
    "tip_jacobian": lambda e, q, v, a, u, t: e.tip_jacobian(q),
    "tip_velocity": lambda e, q, v, a, u, t: e.tip_velocity(q, v),
    "tip_acceleration": lambda e, q, v, a, u, t: e.tip_acceleration(q, v, a),
    "link_frames": lambda e, q, v, a, u, t: e.link_frames(q),
    "momentum": lambda e, q, v, a, u, t: (
        e.linear_momentum(q, v), e.angular_momentum(q, v), e.centre_of_mass(q),
        e.angular_momentum(q, v, about=[1, 2, 3]),
        e.angular_momentum(q, v, about="centre-of-mass"),
    ),
    "inertial_momentum": lambda e, q, v, a, u, t: e.inertial_momentum(q, v),
    "joint_wrench": lambda e, q, v, a, u, t: e.joint_wrench(q, v, a, t),
    "contacts": lambda e, q, v, a, u, t: e.contacts(q, v) if e.model.arm.contacts else (),
    "springs": lambda e, q, v, a, u, t: e.springs(q, v) if e.model.arm.springs else (),
}  # fmt: skip
# What integrators and stated errors take of an equation, not its methods.
INNER = {"matrices", "observation", "balance", "smooth_matrices", "nearness", "pushed_motion",
         "missing_force", "linear_model", "outer_wrench"}  # fmt: skip


@cache
def arm(name: str) -> Model:
    """Build one of the arms."""
    return build(loads(ARMS[name]))


def batch(model: Model, seed: int = 0) -> tuple[Array, Array, Array, Array, Array]:
    """Draw coordinates, rates, accelerations, inputs and times."""
    random = np.random.default_rng(seed)
    q, v, a = random.normal(size=(3, ROWS, model.size)) * 0.3
    for part in model.links:
        q[:, part.modes] *= 0.05
    inputs = len(formulation("composite", model).input_names)
    return q, v, a, random.normal(size=(ROWS, inputs)), random.uniform(0, 2, ROWS)


def pieces(found: Any) -> list[Array]:
    """List the arrays of an answer."""
    return [np.asarray(each) for each in (found if isinstance(found, tuple) else (found,))]


def test_every_quantity_is_called_here() -> None:
    assert {*CALLS, *INNER} == set(QUANTITIES)


# One code for all formulations: all but the default one are for campaigns.
@pytest.mark.few(1)
@pytest.mark.parametrize(("name", "which"), pairs(ARMS, light=(), core=CORE[:1]))
def test_a_batch_is_its_states_one_by_one(name: str, which: str) -> None:
    model = arm(which)
    skip_if_refused(name, model)
    equation, rows = formulation(name, model), batch(model)
    for what, call in CALLS.items():
        if what == "joint_wrench" and not gives_wrenches(name):
            continue
        together = pieces(call(equation, *rows))
        for k in range(ROWS):
            alone = pieces(call(equation, *(each[k] for each in rows)))
            for whole, one in zip(together, alone, strict=True):
                assert whole.shape == (ROWS, *one.shape), what
                assert np.array_equal(whole[k], one), what


def test_what_has_no_rows_holds_for_all_of_them() -> None:
    equation = formulation("articulated", arm("standing"))
    q, v, _, u, t = batch(equation.model)
    found = equation.forward_dynamics(q, v[0], u[0], 0.7)
    for k in range(ROWS):
        assert np.array_equal(found[k], equation.forward_dynamics(q[k], v[0], u[0], 0.7))
    listed: Any = q.tolist()
    assert np.array_equal(equation.mass_matrix(listed), equation.mass_matrix(q))
    assert equation.mass_matrix(q[:0]).shape == (0, equation.model.size, equation.model.size)
    assert equation.forward_dynamics(q[:0], v[:0], u[:0], t[:0]).shape == (0, equation.model.size)


def test_every_row_of_a_free_base_may_have_its_own_anchor() -> None:
    equation = formulation("composite", arm("drifting"))
    q, v, *_ = batch(equation.model)
    reference_attitudes = np.linalg.qr(np.random.default_rng(3).normal(size=(ROWS, 3, 3)))[0]
    reference_attitudes *= np.linalg.det(reference_attitudes)[:, None, None]
    found = equation.with_reference(reference_attitudes).angular_momentum(q, v)
    for k in range(ROWS):
        one = equation.with_reference(reference_attitudes[k]).angular_momentum(q[k], v[k])
        assert np.array_equal(found[k], one)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ((3, 4, 3), "batch: all arrays must have the same number of rows, got q 3, v 4, u 3"),
        ((3, 3, 3, 2), "t: must be one time in seconds, or one per row of the batch"),
    ],
)
def test_batches_of_unequal_length_are_refused(rows: tuple[int, ...], message: str) -> None:
    equation = formulation("articulated", arm("standing"))
    q, v, _, u, t = batch(equation.model)
    call: Any = equation.forward_dynamics
    given = [each[:count] for each, count in zip((q, v, u, t), rows, strict=False)]
    with pytest.raises(FlexarmError, match=message):
        call(*given)


def test_rows_of_the_wrong_length_and_lengths_out_of_range_are_refused() -> None:
    equation = formulation("articulated", arm("standing"))
    with pytest.raises(FlexarmError, match=r"input 'q': must have the shape \(2, 6\), got \(2, 3"):
        equation.mass_matrix(np.zeros((2, 3)))
    telescope = formulation("composite", build(flexarm.example_arm("telescope")))
    q = np.ones((3, telescope.model.size)) * 0.5
    q[:, 1:] = 0.0
    assert telescope.mass_matrix(q).shape[0] == 3
    q[2, 0] = 40.0
    with pytest.raises(FlexarmError, match=r"q\[0\]: the exposed length joint1 must be .* got 40"):
        telescope.mass_matrix(q)


def rates(equation: Equation, state: tuple[Array, ...], t: float) -> list[Array]:
    """Differentiate momenta and centre of mass exactly by time, under inputs."""
    q, v, _, u = state
    symbols = [ca.SX.sym(name, len(q)) for name in "qva"]
    extra = [ca.DM(equation.reference_attitude)] if equation.model.floats else []
    found = equation.function("momentum")(*symbols[:2], *extra)
    moved = [
        ca.jtimes(each, symbols[0], symbols[1]) + ca.jtimes(each, symbols[1], symbols[2])
        for each in found
    ]
    a = equation.forward_dynamics(q, v, u, t)
    return [np.array(each).ravel() for each in ca.Function("rates", symbols, moved)(q, v, a)]


def test_momentum_of_a_standing_arm_changes_by_its_base_its_weight_and_its_loads() -> None:
    equation = formulation("composite", arm("standing"))
    model = equation.model
    for k in range(ROWS):
        state = tuple(each[k] for each in batch(model)[:4])
        (q, v, _, u), t = state, 0.3 + 0.1 * k
        a = equation.forward_dynamics(q, v, u, t)
        force, torque = np.split(equation.joint_wrench(q, v, a, t)[0], 2)
        factor = 2 * np.sin(2 * np.pi * t)
        push, twist = factor * np.array([1.0, 2, 3]), factor * np.array([0.1, 0.2, 0.3])
        loaded = equation.link_frames(q).tip_position[1]
        weight, centre = LIGHT * model.gravity, equation.centre_of_mass(q)
        # the first joint's axis goes through the origin of the base
        joint = model.base_pose.position
        linear, angular, moved = rates(equation, state, t)
        assert linear == pytest.approx(force + push + weight, rel=1e-9, abs=1e-9)
        turning = torque + np.cross(joint, force) + twist + np.cross(loaded, push)
        assert angular == pytest.approx(turning + np.cross(centre, weight), rel=1e-9, abs=1e-9)
        assert LIGHT * moved == pytest.approx(equation.linear_momentum(q, v), rel=1e-9, abs=1e-12)


def test_momentum_of_a_drifting_arm_changes_by_its_weight_alone() -> None:
    equation = formulation("articulated", arm("drifting"))
    model = equation.model
    for k in range(ROWS):
        state = tuple(each[k] for each in batch(model)[:4])
        q, v = state[:2]
        linear, angular, moved = rates(equation, state, 0.0)
        weight, centre = WHOLE * model.gravity, equation.centre_of_mass(q)
        assert linear == pytest.approx(weight, rel=1e-9, abs=1e-9)
        assert angular == pytest.approx(np.cross(centre, weight), rel=1e-9, abs=1e-9)
        assert WHOLE * moved == pytest.approx(equation.linear_momentum(q, v), rel=1e-9, abs=1e-12)


def test_angular_momentum_about_points_differs_by_the_momentum_there() -> None:
    equation = formulation("articulated", arm("drifting"))
    q, v, *_ = batch(equation.model)
    centre, linear = equation.centre_of_mass(q), equation.linear_momentum(q, v)
    own = equation.angular_momentum(q, v, about="centre-of-mass")
    assert own == pytest.approx(equation.angular_momentum(q, v, about=centre), rel=1e-12)
    whole = own + np.cross(centre, linear)
    assert whole == pytest.approx(equation.angular_momentum(q, v), rel=1e-12)
    # about its centre of mass it does not matter how fast the arm flies
    v[:, :3] += [3.0, -2.0, 1.0]
    again = equation.angular_momentum(q, v, about="centre-of-mass")
    assert again == pytest.approx(own, rel=1e-9, abs=1e-12)
    nowhere: Any = "nowhere"
    with pytest.raises(FlexarmError, match=r"about: must be 'centre-of-mass' or a point"):
        equation.angular_momentum(q, v, about=nowhere)


def test_the_tip_moves_as_its_pose_changes() -> None:
    equation = formulation("articulated", arm("drifting"))
    q, v, a, *_ = (each[0] for each in batch(equation.model))
    step = 1e-5
    places = np.array([q - step * v + step**2 / 2 * a, q + step * v + step**2 / 2 * a])
    speeds = np.array([v - step * a, v + step * a])
    (back, on), (behind, ahead) = equation.tip_pose(places)
    velocity = equation.tip_velocity(q, v)
    assert (ahead - behind) / (2 * step) == pytest.approx(velocity[:3], abs=1e-8)
    turned = (on - back) / (2 * step) @ equation.tip_pose(q)[0].T
    assert turned == pytest.approx(-np.cross(np.eye(3), -velocity[3:]), abs=1e-8)
    change = np.diff(equation.tip_velocity(places, speeds), axis=0)[0] / (2 * step)
    assert change == pytest.approx(equation.tip_acceleration(q, v, a), abs=1e-7)


def test_the_last_links_tip_carries_the_arms() -> None:
    equation = formulation("articulated", arm("standing"))
    q = batch(equation.model)[0]
    frames = equation.link_frames(q)
    rotation, position = equation.tip_pose(q)
    assert frames.tip_position[:, -1] == pytest.approx(position, abs=1e-14)
    assert frames.tip_rotation[:, -1] == pytest.approx(rotation, abs=1e-14)
    assert frames.root_position[:, 1] == pytest.approx(frames.tip_position[:, 0], abs=1e-14)
    straight = equation.link_frames(0 * q[0])
    along = straight.tip_position - straight.root_position
    assert along == pytest.approx(0.4 * straight.root_rotation[:, :, 0], abs=1e-14)


def test_first_order_tips_have_no_momentum_in_words() -> None:
    model = build(flexarm.example_arm("korayem-two-link"), tip_rotation="first-order")
    equation = formulation("lagrange", model)
    with pytest.raises(
        FlexarmError, match="momentum: cannot be computed with first-order tip rotation"
    ):
        equation.linear_momentum(np.zeros(4), np.zeros(4))


@pytest.mark.parametrize("name", ARMS)
def test_the_jacobian_of_a_point_is_the_derivative_of_its_place(name: str) -> None:
    equation, step = formulation("composite", arm(name)), 1e-6
    q, *_ = batch(equation.model)
    assert equation.jacobian(q) == pytest.approx(equation.tip_jacobian(q), abs=1e-14)
    index, link = 0, equation.model.arm.link_names[0]

    def tip(x: Array) -> Array:
        return np.asarray(equation.link_frames(x).tip_position[index])

    ours = equation.jacobian(q[0], link=link)[:3]
    rows = [(tip(q[0] + step * e) - tip(q[0] - step * e)) / (2 * step) for e in np.eye(len(q[0]))]
    assert ours == pytest.approx(np.array(rows).T, abs=1e-8)
    # off the axis by a lever that turns with the section
    on, off = (equation.jacobian(q[0], link=link, at=x) for x in ((0.1, 0.0, 0.0), (0.1, 0.2, 0.0)))
    assert off[3:] == pytest.approx(on[3:], abs=1e-14)
    assert np.linalg.norm(off[:3] - on[:3]) > 0.1
    printed = equation.jacobian_function(link=link, at=0.1)
    assert printed.size_out(0) == (6, equation.model.size)


def test_a_jacobian_of_no_point_is_refused() -> None:
    equation = formulation("composite", arm("standing"))
    q = np.zeros(equation.model.size)
    with pytest.raises(FlexarmError, match=r"there is no link 'boom'\. The links are link1"):
        equation.jacobian(q, link="boom")
    with pytest.raises(FlexarmError, match="at"):
        equation.jacobian(q, link="link1", at=(1.0, 2.0))  # type: ignore[arg-type]
