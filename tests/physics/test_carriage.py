"""Links that ride along a rail: moving loads, energy, stations that are held."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import flexarm
from flexarm.arm import Arm
from flexarm.errors import ModelError
from flexarm.integrate.solve import speeds_after_jump
from flexarm.io.model_file import loads
from flexarm.spatial import Array

LENGTH, MASS, EI, G = 1.2, 0.9, 60.0, 9.81
BETA = np.array(
    [
        brentq(lambda b: np.cos(b) * np.cosh(b) + 1, (k - 0.7) * np.pi, (k - 0.3) * np.pi)
        for k in (1, 2, 3)
    ]
)
SECTION = f"section: {{mass_per_length: {MASS}, EIy: {EI}}}"


def railed(shapes: str, *links: str, more: str = "stiffening: false", gravity: float = G) -> Arm:
    """Put links on a cantilever of some shapes."""
    listed = "\n".join(f"  - {{{link}}}" for link in links)
    return loads(
        f"flexarm: 1\nname: rail\ngravity: [0, 0, {-gravity}]\n{more}\nlinks:\n"
        f"  - {{joint: {{kind: fixed}}, length: {LENGTH}, {SECTION}, shapes: {{{shapes}}}}}\n"
        f"{listed}\n"
    )


def modes(x: float, nu: int = 0) -> Array:
    """Evaluate the clamped-free modes of unit mean square, or a derivative by x [m]."""
    b, z = BETA, BETA * x / LENGTH
    tilt = (np.sinh(b) - np.sin(b)) / (np.cosh(b) + np.cos(b))
    even, odd = (np.cosh(z), np.sinh(z)) if nu % 2 == 0 else (np.sinh(z), np.cosh(z))
    cosine = (np.cos(z), -np.sin(z), -np.cos(z))[nu]
    sine = (np.sin(z), np.cos(z), -np.sin(z))[nu]
    return np.asarray((even - cosine - tilt * (odd - sine)) * (b / LENGTH) ** nu)


def tip_under_load(speed: float, mass: float, force: float, t: Array) -> Array:
    """Solve for the tip of a cantilever under a mass and a force that move along it.

    ``m (w_tt + 2 v w_xt + v^2 w_xx)`` is what the mass takes at x = v t.
    """
    own, stiffness = MASS * LENGTH * np.eye(3), EI * BETA**4 / LENGTH**3
    x, w = np.polynomial.legendre.leggauss(40)
    weight = (
        MASS
        * G
        * sum(
            each * LENGTH / 2 * modes((1 + at) * LENGTH / 2) for at, each in zip(x, w, strict=True)
        )
    )

    def rates(time: float, y: Array) -> Array:
        d, d_t = np.split(y, 2)
        f, f_x, f_xx = (modes(speed * time, nu) for nu in range(3))
        moving = mass * (2 * speed * (f_x @ d_t) + speed**2 * (f_xx @ d))
        push = -stiffness * d - weight - f * (moving + mass * G + force)
        return np.concatenate([d_t, np.linalg.solve(own + mass * np.outer(f, f), push)])

    found = solve_ivp(rates, (0, t[-1]), np.zeros(6), "DOP853", t_eval=t, rtol=1e-9, atol=1e-12).y[
        :3
    ]
    return np.asarray(modes(LENGTH) @ found)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "speed", [*(pytest.param(each, marks=pytest.mark.campaign) for each in (3.0, 8.0)), 20.0]
)
@pytest.mark.parametrize(("mass", "force"), [(0.0, 3.0), (1.4, 0.0)])
def test_load_that_moves_along_a_cantilever_bends_it_as_its_modes_say(
    speed: float, mass: float, force: float
) -> None:
    arm = railed(
        "kind: clamped-free, bending_z: 3",
        f"joint: {{kind: carriage, actuation: prescribed, motion: {{kind: table, times: [0, 9],"
        f" values: [0, {9 * speed}]}}}}, body: {{mass: {mass}}},"
        f" wrenches: [{{force: [0, 0, {-force}]}}]",
    )
    end = 0.99 * LENGTH / speed
    run = flexarm.simulate(arm, t_end=end, dt=end / 20, rtol=1e-9)
    assert run.status == "finished", run.reason
    shapes = run.model.links[0].beam
    assert shapes is not None
    tip = run.q[:, run.model.links[0].modes] @ shapes.tip_shape[2]
    expected = tip_under_load(speed, mass, force, run.t)
    assert np.abs(tip - expected).max() < 1e-6 * np.abs(expected).max()


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("shapes", "stiffening"),
    [("kind: loaded, bending_z: 2", True), ("kind: elements, bending_z: 3", False)],
)
def test_energy_goes_between_rail_and_carriage_and_none_is_lost(
    shapes: str, stiffening: bool
) -> None:
    """Curvature jumps at the elements' nodes, and the carriage turns with it."""
    arm = railed(
        shapes,
        "joint: {kind: carriage, actuation: free, start: {position: 0.1, speed: 2.5}},"
        " body: {mass: 0.7, com: [0.05, 0, 0.1], inertia: [0.002, 0.03, 0.004]}",
        more=f"stiffening: {str(stiffening).lower()}",
    )
    run = flexarm.simulate(arm, t_end=0.35, rtol=1e-11, method="dop853")
    assert run.status == "finished", run.reason
    assert run.q[-1, run.model.names.index("joint2")] > 2 / 3 * LENGTH
    energy = run.energy.sum(axis=1)
    assert np.abs(np.diff(run.energy, axis=0)).sum() > 1e-2
    assert np.abs(energy - energy[0]).max() < 1e-10 * np.abs(run.energy).max()


def test_slow_carriage_goes_on_beyond_a_node_with_the_same_energy_and_momenta() -> None:
    """With its own momentum kept, it would go back one way: all else turns it faster than it."""
    arm = railed(
        "kind: elements, bending_z: 2",
        "joint: {kind: carriage, actuation: free, start: {position: 0.5}},"
        " body: {mass: 0.7, inertia: [0.5, 0.5, 0.5]}",
    )
    equation = flexarm.formulation("composite", flexarm.build(arm))
    node, at = LENGTH / 2, equation.model.names.index("joint2")
    q, v = 0.05 * np.arange(1.0, 6.0), np.arange(5.0, 0.0, -1.0)
    q[at] = node
    for v[at] in (1e-3, -1e-3):
        away = np.copysign(1e-13, v[at])
        masses = [equation.mass_matrix(np.r_[q[:at], node + x]) for x in (-away, away)]
        found, given = speeds_after_jump(equation, q, v, at, node)
        momenta = [mass @ speed for mass, speed in zip(masses, (v, found), strict=True)]
        assert found[at] * v[at] > 0
        assert momenta[1][:at] == pytest.approx(momenta[0][:at], rel=1e-9)
        assert found @ momenta[1] == pytest.approx(v @ momenta[0], rel=1e-9)
        assert given == pytest.approx(0.0, abs=1e-9)


BODY = "body: {mass: 0.7, com: [0.05, 0, 0.1], inertia: [0.002, 0.5, 0.004]}"


@pytest.mark.parametrize(
    ("joint", "more"),
    [
        (
            "name: way, start: {position: 0.5, speed: 2}, brake: {closed: false}",
            "events: [{when: {quantity: way, above: 0.6}, release: [way]}]",
        ),
        ("actuation: prescribed, motion: {kind: cycloid, start: 0.4, end: 0.8, duration: 0.1}", ""),
    ],
    ids=["event at a node", "motion over a node"],
)
def test_energy_balances_where_a_node_is_passed(joint: str, more: str) -> None:
    """An event at the node's own station; a motion that is given takes the shock's work.

    That one is there when a sample is kept.
    """
    arm = railed(
        "kind: elements, bending_z: 2",
        f"joint: {{kind: carriage, {joint}}}, {BODY}",
        more=f"stiffening: false\n{more}",
    )
    run = flexarm.simulate(arm, t_end=0.1, rtol=1e-9, method="dop853")
    assert run.status == "finished", run.reason
    assert run.q[-1, -1] > 0.6
    assert run.energy_balance < 1e-8


def test_equal_steps_end_at_nodes() -> None:
    """A step over one would be of the first order: 165,600 of them kept this tolerance."""
    arm = railed(
        "kind: elements, bending_z: 2",
        "joint: {kind: carriage, actuation: prescribed, motion: {kind: cycloid, start: 0.4,"
        f" end: 0.8, duration: 0.1}}}}, {BODY}",
    )
    close = flexarm.simulate(arm, t_end=0.1, dt=1e-3, rtol=1e-10, method="dop853")
    run = flexarm.simulate(arm, t_end=0.1, dt=1e-3, rtol=1e-6, method="rk4")
    assert np.abs(run.q - close.q).max() < 1e-7 * np.ptp(close.q[:, :4])
    assert run.statistics.steps < 10_000


@pytest.fixture(scope="module")
def held() -> tuple[Arm, Arm]:
    """A body that rides at the middle of a rail, and one between two halves; hardly any weight.

    Turns of the second half are of the next order in the weight.
    """
    half = f"length: {LENGTH / 2}, {SECTION}, shapes: {{kind: elements, bending_z: 2}}"
    riding = railed(
        "kind: elements, bending_z: 4",
        "joint: {kind: carriage, actuation: prescribed, motion: {kind: constant, value:"
        f" {LENGTH / 2}}}}}, body: {{mass: 0.4, com: [0, 0, 0.1], inertia: [0, 0.02, 0]}}",
        gravity=1e-5,
    )
    body = "{mass: 0.4, com: [0, 0, 0.1], inertia: [0, 0.02, 0]}"
    whole = loads(
        f"flexarm: 1\nname: whole\ngravity: [0, 0, -1e-5]\nstiffening: false\nlinks:\n"
        f"  - {{joint: {{kind: fixed}}, {half}}}\n"
        f"  - {{joint: {{kind: fixed, hub: {{outboard: {body}}}}}, {half}}}\n"
    )
    return riding, whole


def test_carriage_that_is_held_vibrates_and_sags_as_a_body_attached_there(
    held: tuple[Arm, Arm],
) -> None:
    frequencies = [
        np.array([mode.frequency_rad_s for mode in flexarm.modes(arm).modes]) for arm in held
    ]
    assert frequencies[0] == pytest.approx(frequencies[1], rel=1e-7)
    sag = [flexarm.equilibrium(arm).point.q for arm in held]
    assert sag[0][:4] == pytest.approx(sag[1][:4], rel=1e-6)


def test_rail_that_is_rigid_is_the_limit_of_a_stiff_one() -> None:
    ends = "root_piece: {length: 0.2}, tip_piece: {length: 0.1}"
    text = (
        f"flexarm: 1\nname: rail\ngravity: [0, -{G}, 1]\nstiffening: false\nlinks:\n"
        f"  - {{joint: {{kind: revolute}}, {ends}, length: 1.2,"
        " section: {mass_per_length: 2, EIz: 1e9}}\n"
        "  - {joint: {kind: carriage, start: {position: 0.7}, before: {position: [0.1, 0.2, 0.3],"
        " rotation: [0.3, -0.2, 0.5]}, after: {position: [0, 0.1, 0]}},"
        " body: {mass: 2, com: [0.1, 0.2, 0], inertia: [0.01, 0.02, 0.03]}}\n"
    )
    soft, hard = flexarm.build(loads(text)), flexarm.build(flexarm.rigid(loads(text)))
    joints = [soft.names.index(name) for name in hard.names]
    q, v = np.array([0.4, 0.7]), np.array([0.8, -1.3])
    bent, moving = np.zeros((2, soft.size))
    bent[joints], moving[joints] = q, v
    known, found = flexarm.formulation("articulated", hard), flexarm.formulation("composite", soft)
    mass = found.mass_matrix(bent)[np.ix_(joints, joints)]
    assert mass == pytest.approx(known.mass_matrix(q), abs=1e-12)
    assert found.bias(bent, moving)[joints] == pytest.approx(known.bias(q, v), abs=1e-12)


def test_run_ends_where_a_rigid_rail_does() -> None:
    arm = loads(
        "flexarm: 1\nname: rail\nlinks:\n"
        "  - {joint: {kind: fixed}, length: 1.5, body: {mass: 2}, tip_piece: {length: 0.1}}\n"
        "  - {joint: {kind: carriage, actuation: free, start: {position: 1.2, speed: 1}},"
        " body: {mass: 1}}\n"
    )
    run = flexarm.simulate(arm, t_end=1.0)
    assert run.status == "stopped"
    assert "its station reached 1.4 at t = 0.2 s. Its rail ends there" in run.reason
    assert run.q[-1, 0] == pytest.approx(1.4, rel=1e-8)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: t.replace("position: 0.5", "position: 5.0"), "must be on the flexible span"),
        (lambda t: t.replace("kind: elements", "kind: lumped"), "kinks of lumped"),
        (lambda t: t.replace("joint: {kind: fixed}", "joint: {kind: carriage}"), "rides on a beam"),
        (lambda t: t.replace("position: 0.5}", "position: 0.5}, axis: [0, 0, 1]"), "its rail"),
    ],
)
def test_what_cannot_be_a_rail_or_ride_is_refused(change: Callable[[str], str], words: str) -> None:
    text = (
        "flexarm: 1\nname: rail\nlinks:\n"
        f"  - {{joint: {{kind: fixed}}, length: {LENGTH}, {SECTION}, shapes: {{kind: elements}}}}\n"
        "  - {joint: {kind: carriage, start: {position: 0.5}}, body: {mass: 1}}\n"
    )
    with pytest.raises(ModelError, match=words):
        loads(change(text))
