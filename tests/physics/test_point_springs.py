"""Springs and dampers between two points: closed forms, momentum, energy, agreement."""

import numpy as np
import pytest

import flexarm
from flexarm.formulations import FORMULATIONS
from flexarm.io.model_file import dumps, loads
from flexarm.model import build
from tests.physics.cases import gives_wrenches

LINE = """
flexarm: 1
name: mass on a line
gravity: [0, 0, 0]
links: [{{joint: {{kind: prismatic, actuation: free, start: {{position: 0.5, speed: 1}}}}}}]
payload: {{mass: 2}}
springs: [{{name: line, between: [{{world: [0, 0, -0.3]}}, tip], {law}}}]
"""
SATELLITE = """
flexarm: 1
name: satellite
gravity: [0, 0, 0]
base: {kind: free, body: {mass: 3, inertia: [0.1, 0.2, 0.3]}, velocity: [0.1, 0, 0]}
links:
  - joint: {kind: revolute, before: {position: [0.2, 0, 0]}, actuation: free}
    length: 0.6
    section: {mass_per_length: 0.5, EIz: 6}
    shapes: {kind: elements, bending_y: 1}
  - joint: {kind: revolute, axis: [0, 1, 0], start: {position: 60 deg}, actuation: free}
    length: 0.4
    body: {mass: 0.4, com: [0.2, 0, 0], inertia: [0.01, 0.01, 0.01]}
springs:
  - name: outer
    between: [{link: base, at: [0, 0.1, 0.3]}, {tip: [0, 0.05, 0]}]
    stiffness: 30
    damping: 0.5
    length: 0.4
  - between: [{link: link1, at: [0.3, 0.05, 0]}, {link: link2, at: 0.2}]
    stiffness: 100 N/m
"""


def test_a_mass_on_a_spring_swings_about_its_length() -> None:
    run = flexarm.simulate(loads(LINE.format(law="stiffness: 50, length: 0.6")), t_end=2, rtol=1e-9)
    rate = np.sqrt(50 / 2)
    exact = 0.3 + 0.2 * np.cos(rate * run.t) + np.sin(rate * run.t) / rate
    assert run.q[:, 0] == pytest.approx(exact, abs=1e-8)
    found = run.springs().sel(spring="line")
    assert found.length.values == pytest.approx(exact + 0.3, abs=1e-8)
    assert found.force.values == pytest.approx(50 * (exact - 0.3), abs=1e-6)
    assert found.force.attrs["units"] == "N"


def test_a_damper_alone_slows_it_down() -> None:
    run = flexarm.simulate(loads(LINE.format(law="damping: 4")), t_end=2, rtol=1e-9)
    assert run.v[:, 0] == pytest.approx(np.exp(-2 * run.t), abs=1e-9)
    assert run.work_integrals[-1, 3] == pytest.approx(1 - np.exp(-8), rel=1e-8)


def test_its_force_is_the_slope_of_its_energy() -> None:
    """The energy is taken from places that the public kinematics gives."""
    with_, without = (
        flexarm.formulation("composite", build(loads(text)))
        for text in (SATELLITE, SATELLITE.partition("springs:")[0])
    )
    q, step = np.random.default_rng(7).uniform(-0.2, 0.2, with_.model.size), 1e-5

    def energy(q: np.ndarray) -> float:
        (R, p), mast = with_.tip_pose(q), q[:3] + rotation(q[3:6]) @ [0, 0.1, 0.3]
        return float(15 * (np.linalg.norm(p + R @ [0, 0.05, 0] - mast) - 0.4) ** 2)

    slopes = [(energy(q + step * e) - energy(q - step * e)) / (2 * step) for e in np.eye(len(q))]
    only_outer = SATELLITE[: SATELLITE.index("  - between")]
    outer = flexarm.formulation("composite", build(loads(only_outer)))
    found = outer.parts(q, 0 * q)["elastic"] - without.parts(q, 0 * q)["elastic"]
    assert found == pytest.approx(slopes, abs=1e-7)


def rotation(angles: np.ndarray) -> np.ndarray:
    """Turn by Rx(a) Ry(b) Rz(c)."""
    (ca, cb, cc), (sa, sb, sc) = np.cos(angles), np.sin(angles)
    x = np.array([[1, 0, 0], [0, ca, -sa], [0, sa, ca]])
    y = np.array([[cb, 0, sb], [0, 1, 0], [-sb, 0, cb]])
    z = np.array([[cc, -sc, 0], [sc, cc, 0], [0, 0, 1]])
    return np.asarray(x @ y @ z)


def test_springs_within_an_arm_change_no_momentum_and_keep_the_account() -> None:
    run = flexarm.simulate(loads(SATELLITE), t_end=0.3, rtol=1e-10, energy_audit=True)
    momenta = run.momenta()
    for each in (momenta.linear_momentum, momenta.angular_momentum):
        assert float(np.abs(each - each.isel(time=0)).max()) < 1e-8
    assert np.ptp(run.springs().force.values, axis=0).min() > 1
    assert run.energy_balance < 1e-8


@pytest.mark.few(1)
@pytest.mark.parametrize("name", FORMULATIONS)
def test_formulations_agree(name: str) -> None:
    model = build(loads(SATELLITE))
    reason = FORMULATIONS[name].refusal(model, paper=False)
    if reason is not None:
        pytest.skip(reason)
    random = np.random.default_rng(2)
    q, v = random.uniform(-0.2, 0.2, model.size), random.uniform(-1, 1, model.size)
    known, arm = flexarm.formulation("composite", model), flexarm.formulation(name, model)
    a = known.forward_dynamics(q, v, np.zeros(0))
    assert arm.forward_dynamics(q, v, np.zeros(0)) == pytest.approx(a, rel=1e-9, abs=1e-9)
    if gives_wrenches(name):
        # nothing drives the joints: they transmit no torque about their axes
        wrench, placed = arm.joint_wrench(q, v, a), arm.link_frames(q)
        assert wrench[0, 3:] @ placed.root_rotation[0][:, 2] == pytest.approx(0, abs=1e-8)
        assert wrench[1, 3:] @ placed.root_rotation[1][:, 1] == pytest.approx(0, abs=1e-8)


@pytest.mark.parametrize(
    ("law", "message"),
    [
        ("length: 1", "has no effect. Give stiffness, damping or both"),
        ("stiffness: 1 N m", "a stiffness of a sliding joint"),
        ("stiffness: -1", "must be >= 0"),
    ],
)
def test_refusals(law: str, message: str) -> None:
    with pytest.raises(flexarm.ModelError, match=message):
        loads(LINE.format(law=law))
    with pytest.raises(flexarm.ModelError, match="one end of a spring must be on the arm"):
        loads(LINE.format(law="damping: 1").replace("tip]", "{world: [0, 0, 0]}]"))


def test_springs_are_saved_with_the_arm() -> None:
    arm = loads(SATELLITE)
    assert loads(dumps(arm)) == arm
    assert arm.spring_names == ("outer", "spring2")
