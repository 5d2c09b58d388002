"""Contacts: closed forms of bounce, rest, sliding and rolling; distances; energy; thin walls."""

from functools import cache
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from pydantic import TypeAdapter
from scipy.optimize import brentq

import flexarm
from flexarm.arm import Arm
from flexarm.arm.forces import Obstacle
from flexarm.formulations import FORMULATIONS
from flexarm.formulations.composite import Composite
from flexarm.formulations.quantities import trace
from flexarm.io.model_file import dumps, loads
from flexarm.mechanics.point_forces import distance_from
from flexarm.model import build
from flexarm.runs.run import Run
from tests.physics.cases import campaign_if, gives_wrenches

G = 9.81
WALL = """
flexarm: 1
name: arm against a wall
links:
  - joint: {kind: revolute, axis: [0, 0, 1], input: {kind: constant, value: 12}}
    length: 0.8
    section: {mass_per_length: 1.2, EIz: 300}
    shapes: {kind: elements, bending_y: 1}
    damping: 1 %
  - joint: {kind: revolute, axis: [0, 0, 1], actuation: free, spring: {stiffness: 20}}
    length: 0.6
    section: {mass_per_length: 0.8, EIz: 100}
    shapes: {kind: elements, bending_y: 1}
payload: {mass: 0.5, inertia: [1.0e-3, 1.0e-3, 1.0e-3]}
contacts:
  - name: wall
    point: {tip: [0.02, 0.01, 0]}
    radius: 10 mm
    obstacle: {kind: plane, point: [0, 0.9, 0], normal: [0, -2, 0.1]}
    stiffness: 1.0e6
    damping: 0.2 s/m
    friction: {coefficient: 0.3}
  - name: knee
    point: {link: link1, at: [0.7, 0.03, 0]}
    obstacle: {kind: sphere, centre: [0.45, 0.7, 0], radius: 0.15}
    stiffness: 3.0e4
    exponent: 1
"""


def dropped(contact: str, start: str, *, mass: float = 0.5, gravity: float = 0.0) -> Arm:
    """A point mass that moves along z."""
    return loads(
        f"flexarm: 1\nname: mass\ngravity: [0, 0, {-gravity}]\nlinks:\n"
        f"  - joint: {{kind: prismatic, actuation: free, start: {{{start}}}}}\n"
        f"payload: {{mass: {mass}}}\ncontacts: [{{{contact}}}]\n"
    )


def rebound(v: float, damping: float) -> float:
    """Speed after a bounce at speed v.

    ``m x'' = -k x^n (1 + c x')`` is ``v dv / (1 + c v) = -(k/m) x^n dx``: what c v - ln(1 + c v)
    is at the begin, where x = 0, it is at the end too, with v = -(speed after it).
    """
    before = damping * v - np.log1p(damping * v)
    most = min(v, (1 - 1e-12) / damping)
    return float(brentq(lambda u: -damping * u - np.log1p(-damping * u) - before, 0.0, most,
                        xtol=1e-15, rtol=1e-14))  # fmt: skip


# Every two of law, tolerance and method meet (etd4 is not for 1e-9); campaigns take all three.
@pytest.mark.few(6)
@pytest.mark.parametrize(
    ("exponent", "damping", "rtol", "method"),
    [
        pytest.param(
            *law, rtol, method, marks=campaign_if((i + j + k) % 3 > 0 and (j, k) != (0, 1))
        )
        for i, law in enumerate([(1.5, 0.3), (1.0, 2.0), (2.5, 0.05)])
        for j, rtol in enumerate([1e-3, 1e-6, 1e-9])
        for k, method in enumerate(["dop853", "etd4", "rodas4"])
    ],
)
def test_a_mass_bounces_as_the_first_integral_says(
    method: str, rtol: float, exponent: float, damping: float
) -> None:
    if method == "etd4" and rtol < 1e-6:
        pytest.skip("it is not made for this tolerance")
    contact = f"obstacle: {{kind: plane}}, stiffness: 1.0e7, exponent: {exponent}"
    arm = dropped(f"{contact}, damping: {damping}", "position: 0.37, speed: -2")
    run = flexarm.simulate(arm, t_end=1, rtol=rtol, method=method)
    assert run.status == "finished"
    assert run.v[-1, 0] == pytest.approx(rebound(2.0, damping), rel=rtol)
    assert run.work_integrals[-1, 3] == pytest.approx(0.25 * (4 - run.v[-1, 0] ** 2), abs=2 * rtol)


@pytest.mark.parametrize("rtol", [1e-3, 1e-6, 1e-9])
def test_slow_bounces_have_the_restitution_that_hunt_and_crossley_publish(rtol: float) -> None:
    """Their e = 1 - alpha v where a damping of 3/2 alpha is small: what is left falls as v^2."""
    c = 0.3
    left = []
    for v in (0.05, 0.1):
        contact = f"obstacle: {{kind: plane}}, stiffness: 1.0e6, damping: {c}"
        arm = dropped(contact, f"position: {v / 100}, speed: {-v}")
        run = flexarm.simulate(arm, t_end=0.2, rtol=rtol)
        left.append(run.v[-1, 0] / v - (1 - 2 / 3 * c * v))
    if rtol < 1e-3:
        assert left == pytest.approx([4 / 9 * (c * v) ** 2 for v in (0.05, 0.1)], rel=0.05)
    assert np.abs(left).max() < (c * 0.1) ** 2 + rtol


@pytest.mark.parametrize(("method", "rtol"), [("rk4", 1e-6), ("dop853", 1e-6)])
def test_a_hard_wall_does_not_hide_from_steps(method: str, rtol: float) -> None:
    """Order 4 is not had where a force sets in, and there dop853's own estimate may vanish."""
    contact = "obstacle: {kind: plane}, stiffness: 1.0e7, exponent: 1.5, damping: 0.3"
    arm = dropped(contact, "position: 0.37, speed: -2")
    run = flexarm.simulate(arm, t_end=0.5, dt=5e-3, rtol=rtol, method=method)
    assert run.v[-1, 0] == pytest.approx(rebound(2.0, 0.3), rel=rtol)


def test_the_deepest_point_is_that_of_the_first_integral() -> None:
    exponent, damping, stiffness, mass, v = 1.5, 0.3, 1e6, 0.5, 2.0
    contact = f"obstacle: {{kind: plane}}, stiffness: {stiffness}, damping: {damping}"
    arm = dropped(contact, f"position: 1.0e-4, speed: {-v}", mass=mass)
    run = flexarm.simulate(arm, t_end=0.01, dt=2e-6, rtol=1e-9)
    energy = mass / damping**2 * (damping * v - np.log1p(damping * v))
    deepest = ((exponent + 1) * energy / stiffness) ** (1 / (exponent + 1))
    found = run.contacts()
    assert float(found.penetration.max()) == pytest.approx(deepest, rel=1e-6)
    assert found.penetration.attrs["units"] == "m"
    assert list(found.contact.values) == ["contact1"]
    # no force before it touches, none that pulls
    assert float(found.normal_force.where(found.distance > 0).max()) == 0
    assert float(found.normal_force.min()) == 0


def test_it_never_pulls_and_what_it_keeps_then_is_accounted_for() -> None:
    """Leaving faster than 1/damping the surface lags behind: its energy is lost."""
    contact = "obstacle: {kind: plane}, stiffness: 1.0e5, damping: 0.5"
    arm = dropped(contact, "position: -0.01, speed: 3")
    run = flexarm.simulate(arm, t_end=0.02, dt=1e-5, rtol=1e-9, energy_audit=True)
    found = run.contacts().isel(contact=0)
    assert float(found.normal_force.isel(time=0)) == 0
    assert float(found.penetration.isel(time=0)) == pytest.approx(0.01)
    assert run.v[-1, 0] == pytest.approx(3.0, rel=1e-12)
    assert run.work_integrals[-1, 3] == pytest.approx(1e5 * 0.01**2.5 / 2.5, rel=1e-7)
    assert run.energy_balance < 1e-8


def test_a_mass_comes_to_rest_where_the_force_is_its_weight() -> None:
    contact = "obstacle: {kind: plane}, stiffness: 2.0e4, damping: 5, exponent: 1.5"
    arm = dropped(contact, "position: 0, speed: -0.05", gravity=G)
    arm = flexarm.change_arm(arm, {"links.1.joint.friction": {"viscous": 20.0}})
    run = flexarm.simulate(arm, t_end=3, rtol=1e-9, method="rodas4")
    found = run.contacts().isel(time=-1, contact=0)
    assert float(found.normal_force) == pytest.approx(0.5 * G, rel=1e-8)
    assert float(found.penetration) == pytest.approx((0.5 * G / 2e4) ** (1 / 1.5), rel=1e-8)


PLANAR = """
flexarm: 1
name: on the floor
links:
  - joint: {{kind: prismatic, axis: [1, 0, 0], actuation: free, start: {{speed: {speed}}}}}
  - joint: {{kind: prismatic, actuation: free, start: {{position: {height}}}}}
  - joint: {{kind: {turn}}}
payload: {{mass: 0.5, inertia: [{inertia}, {inertia}, {inertia}]}}
contacts:
  - obstacle: {{kind: plane}}
    radius: {radius}
    stiffness: 1.0e6
    friction: {{coefficient: 0.2, smoothing: 1.0e-4}}
"""


def on_floor(**values: float | str) -> Run:
    radius = float(values["radius"])
    height = radius - (0.5 * G / 1e6) ** (1 / 1.5)
    text = PLANAR.format(height=height, speed=3, inertia=0.5 * 0.4 * radius**2, **values)
    return flexarm.simulate(loads(text), t_end=1.2, rtol=1e-7, method="dop853")


def test_sliding_loses_speed_by_friction_times_gravity() -> None:
    run = on_floor(radius=0.0, turn="fixed")
    assert run.v[-1, 0] == pytest.approx(3 - 0.2 * G * 1.2, rel=1e-6)
    force = run.contacts().friction_force.isel(time=-1, contact=0)
    assert force.values == pytest.approx([-0.2 * 0.5 * G, 0, 0], rel=1e-6)


def test_a_ball_that_slides_ends_up_rolling_at_five_sevenths_of_its_speed() -> None:
    run = on_floor(radius=0.1, turn="revolute, axis: [0, 1, 0], actuation: free")
    assert run.v[-1, 0] == pytest.approx(3 * 5 / 7, rel=1e-5)
    assert 0.1 * run.v[-1, 2] == pytest.approx(run.v[-1, 0], rel=1e-5)
    assert run.energy_balance < 1e-5


def obstacle(text: str) -> object:
    """Read an obstacle as a model file has it."""
    adapter: TypeAdapter[object] = TypeAdapter(Obstacle)
    return adapter.validate_python(
        loads(
            "flexarm: 1\nname: x\nlinks: [{joint: {kind: revolute}}]\n"
            f"contacts: [{{stiffness: 1, obstacle: {text}}}]\n"
        )
        .contacts[0]
        .obstacle
    )


@cache
def seen_from(text: str) -> ca.Function:
    point = ca.SX.sym("point", 3)
    found = distance_from(obstacle(text), point)  # type: ignore[arg-type]
    return ca.Function("seen", [point], [*found])


def seen(text: str, point: list[float]) -> tuple[float, np.ndarray]:
    distance, normal = seen_from(text)(point)
    return float(distance), np.array(ca.densify(normal)).ravel()


BOX = "{kind: box, centre: [1, 0, 0], size: [2, 4, 6]}"
TURNED = "{kind: box, size: [0.4, 0.6, 1], rotation: [20 deg, -50 deg, 130 deg]}"
BALL = "{kind: sphere, centre: [0, 0, 1], radius: 0.5}"
HOLLOW = "{kind: sphere, centre: [0, 0, 1], radius: 0.5, inside: true}"
SLOPE = "{kind: plane, point: [0, 0, 1], normal: [0, 3, 4]}"


@pytest.mark.parametrize(
    ("text", "point", "distance", "normal"),
    [
        (SLOPE, [5, 1, 1], 0.6, [0, 0.6, 0.8]),
        (SLOPE, [0, 0, 0], -0.8, [0, 0.6, 0.8]),
        (BALL, [0, 2, 1], 1.5, [0, 1, 0]),
        (BALL, [0, 0, 0.9], -0.4, [0, 0, -1]),
        (HOLLOW, [0, 0, 0.9], 0.4, [0, 0, 1]),
        (HOLLOW, [0.6, 0, 1], -0.1, [-1, 0, 0]),
        (BOX, [2.5, 0.3, 0], 0.5, [1, 0, 0]),  # before a face
        (BOX, [2.3, 2.4, 0], 0.5, [0.6, 0.8, 0]),  # an edge
        (BOX, [-1, -4, 5], 3.0, [-1 / 3, -2 / 3, 2 / 3]),  # a corner
        (BOX, [1.7, 1, 1], -0.3, [1, 0, 0]),  # within, the nearest face
        (BOX, [2 + 1e-18, 1, 1], 0.0, [1, 0, 0]),  # on a face
        (BOX, [1, 2, -3 - 1e-20], 0.0, [0, 1, 0]),  # on an edge
        (BOX, [1, 1.9, -2.8], -0.1, [0, 1, 0]),
        (BOX, [1, 0, -2.95], -0.05, [0, 0, -1]),
    ],
)
def test_distances_and_normals(
    text: str, point: list[float], distance: float, normal: list[float]
) -> None:
    found, out = seen(text, point)
    assert found == pytest.approx(distance)
    assert out == pytest.approx(normal)


@pytest.mark.parametrize("text", [BOX, TURNED, BALL, HOLLOW, SLOPE])
def test_normals_are_the_gradient_of_the_distance(text: str) -> None:
    random, step = np.random.default_rng(3), 1e-6
    for point in random.uniform(-1.5, 1.5, (40, 3)):
        sides = [
            seen(text, list(point + step * e))[0] - seen(text, list(point - step * e))[0]
            for e in np.eye(3)
        ]
        assert np.array(sides) / (2 * step) == pytest.approx(seen(text, list(point))[1], abs=1e-6)


@pytest.fixture(scope="module")
def bumped() -> Run:
    return flexarm.simulate(loads(WALL), t_end=0.8, rtol=1e-9, energy_audit=True)


def test_an_arm_that_bumps_into_things_keeps_its_account(bumped: Run) -> None:
    found = bumped.contacts()
    assert bumped.status == "finished"
    assert (found.penetration.max("time") > 1e-4).all()
    assert bumped.energy_balance < 1e-8


@pytest.mark.few(2)
@pytest.mark.parametrize("name", FORMULATIONS)
def test_formulations_agree_in_contact(name: str, bumped: Run) -> None:
    reason = FORMULATIONS[name].refusal(bumped.model, paper=False)
    if reason is not None:
        pytest.skip(reason)
    known = flexarm.formulation("composite", bumped.model)
    arm = flexarm.formulation(name, bumped.model)
    normal = bumped.contacts().normal_force.values
    for k in (int(normal[:, 0].argmax()), int(normal[:, 1].argmax())):
        q, v, u = bumped.q[k], bumped.v[k], bumped.u[k]
        a = known.forward_dynamics(q, v, u)
        assert arm.forward_dynamics(q, v, u) == pytest.approx(a, rel=1e-9, abs=1e-7)
        if gives_wrenches(name):
            # what the first joint transmits about its axis is its input
            assert arm.joint_wrench(q, v, a)[0, 5] == pytest.approx(12, abs=1e-8)
    with pytest.raises(flexarm.FlexarmError, match="no paper belongs to it"):
        flexarm.formulation(name, bumped.model, paper=True)


def walls(count: int) -> list[tuple[float, float, str, float]]:
    """Draw mass, speed, contact and its damping: walls that just hold, of 1 to 30 mm."""
    random = np.random.default_rng(11)
    found: list[tuple[float, float, str, float]] = []
    while len(found) < count:
        v, thickness = random.uniform(1, 20), 10 ** random.uniform(-3, -1.5)
        mass, stiffness = 10 ** random.uniform(-2, 0.5), 10 ** random.uniform(5, 9)
        exponent, damping = random.choice([1.0, 1.5, 2.0]), random.uniform(0.01, 0.3)
        if ((exponent + 1) * mass * v**2 / 2 / stiffness) ** (1 / (exponent + 1)) < 0.3 * thickness:
            box = f"obstacle: {{kind: box, size: [1, 1, {thickness}]}}, damping: {damping}"
            law = f"stiffness: {stiffness}, exponent: {exponent}"
            found.append((mass, v, f"{box}, {law}", damping))
    return found


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("method", "rtol"), [("dop853", 1e-2), ("etd4", 1e-2), ("rodas4", 1e-2), ("dop853", 1e-3)]
)
def test_no_step_passes_through_a_thin_wall(method: str, rtol: float) -> None:
    """The longest step is 18 ms, in which these masses go 18 to 360 mm."""
    for mass, v, contact, damping in walls(6):
        arm = dropped(contact, f"position: {0.23 * v}, speed: {-v}", mass=mass)
        run = flexarm.simulate(arm, t_end=0.9, rtol=rtol, method=method)
        assert run.v[-1, 0] == pytest.approx(rebound(v, damping), rel=rtol)


@pytest.mark.parametrize("method", ["dop853", "etd4", "rodas4"])
def test_a_grazing_touch_is_seen(method: str) -> None:
    """A pendulum that swings through a floor 1 mm above its lowest point."""
    text = """
flexarm: 1
name: pendulum
links:
  - joint: {kind: revolute, axis: [0, 1, 0], actuation: free}
    length: 1
payload: {mass: 0.5}
contacts:
  - obstacle: {kind: plane, point: [0, 0, -0.999]}
    stiffness: 1.0e6
    friction: {coefficient: 0.3}
"""
    known = flexarm.simulate(loads(text), t_end=1, rtol=1e-9, method="dop853")
    assert known.work_integrals[-1, 3] > 0.05 * known.exchanged
    run = flexarm.simulate(loads(text), t_end=1, rtol=1e-3, method=method)
    assert run.v[-1] == pytest.approx(known.v[-1], abs=3e-3 * np.abs(known.v).max())


@pytest.mark.campaign
def test_many_runs_are_the_single_ones() -> None:
    arm = loads(WALL)
    values = [{"contacts.wall.stiffness": k, "contacts.2.obstacle.radius": r}
              for k, r in ((1e6, 0.15), (5e5, 0.14), (2e6, 0.16))]  # fmt: skip
    runs = flexarm.simulate_many(arm, t_end=0.4, rtol=1e-8, method="dop853", parameters=values)
    for run, changed in zip(runs, values, strict=True):
        alone = flexarm.simulate(
            flexarm.change_arm(arm, changed), t_end=0.4, rtol=1e-8, method="dop853"
        )
        assert run.q[-1] == pytest.approx(alone.q[-1], abs=1e-6)


def test_derivatives_by_a_number_of_the_contact_are_finite_out_of_contact() -> None:
    model = build(loads(WALL))
    arm = flexarm.formulation("articulated", model, parameters=["contacts.1.stiffness"])
    q = np.zeros(model.size)
    found = arm.by_parameters("forward_dynamics", q, q, np.zeros(1))
    assert np.abs(found["a"]).max() == 0


def test_derivatives_by_the_stiffness_in_contact_are_those_of_differences(bumped: Run) -> None:
    key, k = "contacts.wall.stiffness", int(bumped.contacts().normal_force.values[:, 0].argmax())
    arm = flexarm.formulation("articulated", bumped.model, parameters=[key])
    q, v, u = bumped.q[k], bumped.v[k], bumped.u[k]
    found = arm.by_parameters("forward_dynamics", q, v, u)["a"][:, 0]
    low, high = (arm.at([each]).forward_dynamics(q, v, u) for each in (0.9e6, 1.1e6))
    # the force is linear in it
    assert found == pytest.approx((high - low) / 2e5, rel=1e-6)
    assert np.abs(found).max() > 1e-6


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("link: link1", "link: elbow", "no link 'elbow'. The names are link1, link2 and base"),
        ("at: [0.7,", "at: [0.9,", "beyond the link's length"),
        ("link: link1", "link: base", "must be on a link, since the base"),
        ("{tip: [0.02, 0.01, 0]}", "{tip: [0, 0, 0], link: link1}", "Give one of link, tip"),
        ("{tip: [0.02, 0.01, 0]}", "{world: [0, 0, 0]}", "point of a contact must be on the arm"),
        ("[0, -2, 0.1]", "[0, 0, 0]", "must not be the zero vector"),
        ("kind: sphere", "kind: cube", "must be one of plane, sphere, box"),
        ("0.2 s/m", "0.2 N", "a damping of a contact"),
        ("name: knee", "name: wall", "the name 'wall' is used twice"),
        ("exponent: 1", "exponent: 0.5", "must be >= 1"),
    ],
)
def test_refusals(old: str, new: str, message: str) -> None:
    assert old in WALL
    with pytest.raises(flexarm.ModelError, match=message.replace("(", r"\(")):
        loads(WALL.replace(old, new))


def test_contacts_are_saved_with_the_arm_and_the_run(bumped: Run, tmp_path: Path) -> None:
    arm = loads(WALL)
    assert loads(dumps(arm)) == arm
    bumped.save(tmp_path / "bumped.nc")
    again = flexarm.load_run(tmp_path / "bumped.nc").contacts()
    assert again.equals(bumped.contacts())


def test_the_recursion_carries_contacts_of_the_tip_as_jacobians_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Deep in a ball, with friction and damping: force, powers and their slopes."""
    deep = {"kind": "sphere", "centre": [0, 0, 0], "radius": 9.0}
    arm = flexarm.change_arm(loads(WALL), {"contacts.1.obstacle": deep})
    random = np.random.default_rng(1)
    found: list[tuple[list[np.ndarray], list[np.ndarray]]] = []
    for carried in (True, False):
        if not carried:
            monkeypatch.setattr(Composite, "touched_expression", lambda *given: None)
        function = trace(Composite(build(arm)), "missing_force")
        values = function.sx_in()
        slopes = [ca.jacobian(each, ca.vertcat(*values)) for each in function(*values)]
        both = ca.Function("both", values, [*function(*values), *slopes])
        given = [random.uniform(-0.4, 0.4, both.size_in(i)) for i in range(both.n_in())]
        given = found[0][0] if found else given
        found.append((given, [np.array(each) for each in both(*given)]))
    for one, other in zip(found[0][1], found[1][1], strict=True):
        assert np.abs(one - other).max() <= 1e-12 * np.abs(other).max()


def test_an_arm_that_touches_nothing_has_no_contacts() -> None:
    plain = flexarm.simulate(flexarm.example_arm("driven-link"), t_end=0.1)
    with pytest.raises(flexarm.FlexarmError, match="has no contacts"):
        plain.contacts()
