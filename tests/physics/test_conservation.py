"""Energy and momentum stay what they are where nothing acts, at tight tolerance."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.integrate import DOP853

import flexarm
from flexarm.formulations import FORMULATIONS, formulation
from flexarm.formulations.equation import Equation
from flexarm.io.model_file import loads
from flexarm.model import build, start_state
from flexarm.spatial import base_rotation_matrix
from tests.physics.cases import CORE, campaign_if, skip_if_refused
from tests.physics.conservative import conservative, kicked
from tests.physics.states import Array
from tests.physics.stepping import free_motion, integrate

DRIFT = 1e-10  # of the largest kinetic energy, over a second
LONG_DRIFT = 1e-8  # for chain-30 and links with more than ten coordinates
# Few, as powers are compared with rates of energy on many arms: a chain, and a link that slides.
KINDS = ("korayem-two-link", "telescope")


def base_spin(angles: Array, rates: Array) -> Array:
    """Angular velocity of a moving base in its axes [rad/s], from its angles and their rates."""
    (sy, sz), (cy, cz) = np.sin(angles[1:]), np.cos(angles[1:])
    columns = np.array([[cy * cz, sz, 0.0], [-cy * sz, cz, 0.0], [sy, 0.0, 1.0]])
    return np.asarray(columns @ rates)


TUMBLER = """
flexarm: 1
name: tumbler
gravity: [0, 0, 0]
base:
  kind: free
  body: {mass: 4, com: [0.05, -0.02, 0.03], inertia: [0.3, 0.5, 0.4, 0.02, -0.03, 0.01]}
  position: [0.3, -0.2, 0.1]
  rotation: [0.4, 0.7, -0.3]
  velocity: [0.2, -0.1, 0.3]
  spin: [0.2, 6, 0.3]
links:
  - joint: {kind: revolute, axis: [1, 0, 1], start: {position: 0.4, speed: -0.7}}
    length: 0.6
    section: {mass_per_length: 0.8, EIz: 60, EIy: 40}
    shapes: {kind: loaded, bending_y: 1, bending_z: 1}
    start: {y1: 0.004}
payload: {mass: 0.3, inertia: [0.002, 0.003, 0.004]}
"""


def energies(equation: Equation, rows: Array, count: int = 100) -> Array:
    """Kinetic, elastic and gravitational energy at about so many of the rows."""
    n = equation.model.size
    chosen = rows[:: max(1, len(rows) // count)]
    return np.array([equation.energy(y[:n], y[n:]) for y in [*chosen, rows[-1]]])


def momentum(equation: Equation, y: Array) -> Array:
    """Linear momentum and angular momentum about the world's origin, in world axes, (6,)."""
    model = equation.model
    n = model.size
    q, v = y[:n], y[n:]
    pushed = equation.mass_matrix(q)[:6] @ v
    per_rate = np.stack([base_spin(q[3:6], unit) for unit in np.eye(3)], axis=1)
    attitude = equation.reference_attitude @ base_rotation_matrix(q[3:6])
    about_base = attitude @ np.linalg.solve(per_rate.T, pushed[3:])
    place = model.base_pose.position + q[:3]
    return np.concatenate([pushed[:3], about_base + np.cross(place, pushed[:3])])


def drift(values: Array) -> float:
    """Largest change of a conserved vector, relative to its size."""
    return float(np.abs(values - values[0]).max() / np.abs(values).max())


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "sample",
    [pytest.param(s, marks=campaign_if(s not in KINDS)) for s in flexarm.example_arm_names()],
)
def test_energy_of_an_undisturbed_arm_is_constant(sample: str) -> None:
    model = build(conservative(flexarm.example_arm(sample)))
    equation = formulation("articulated", model)
    _, rows = integrate(free_motion(equation), kicked(model), [0.0, 1.0], rtol=1e-10, atol=1e-12)
    found = energies(equation, rows)
    change = np.abs(found.sum(axis=1) - found[0].sum()).max() / found[:, 0].max()
    many = sample == "chain-30" or any(p.modes.stop - p.modes.start > 10 for p in model.links)
    assert change <= (LONG_DRIFT if many else DRIFT), f"{change:.2e} after {len(rows)} steps"


@pytest.mark.campaign
def test_momentum_of_a_free_base_arm_is_constant() -> None:
    model = build(conservative(flexarm.example_arm("canadarm-free-base")))
    equation = formulation("articulated", model)
    _, rows = integrate(free_motion(equation), kicked(model), [0.0, 1.0])
    found = np.array([momentum(equation, y) for y in rows[::100]])
    assert drift(found[:, :3]) <= 1e-10
    assert drift(found[:, 3:]) <= 1e-10
    q, v = np.split(rows[::100], 2, axis=1)
    told = np.hstack([equation.linear_momentum(q, v), equation.angular_momentum(q, v)])
    assert np.abs(told - found).max() <= 1e-12 * np.abs(found).max()


@dataclass(frozen=True)
class Tumble:
    """A tumbling arm at the ends of its steps: time, angles' reference attitude and state."""

    times: Array
    reference_attitudes: list[Array]
    rows: Array

    def attitudes(self, n: int) -> Array:
        """Attitude of the base at each step, (steps, 3, 3)."""
        pairs = zip(self.reference_attitudes, self.rows, strict=True)
        return np.stack(
            [reference_attitude @ base_rotation_matrix(y[3:6]) for reference_attitude, y in pairs]
        )


def tumble(equation: Equation, t_end: float, limit: float) -> Tumble:
    """Follow a free base, measuring its angles anew where the middle one passes a limit [rad]."""
    n = equation.model.size
    y, t = np.concatenate(start_state(equation.model)), 0.0
    times, reference_attitudes, rows = [t], [equation.reference_attitude], [y]
    while t < t_end:
        solver = DOP853(free_motion(equation), t, y, t_end, rtol=1e-12, atol=1e-13)
        while solver.status == "running" and abs(solver.y[4]) <= limit:
            solver.step()
            times.append(solver.t)
            reference_attitudes.append(equation.reference_attitude)
            rows.append(solver.y.copy())
        t, y = solver.t, solver.y.copy()
        spin = base_spin(y[3:6], y[n + 3 : n + 6])
        equation = equation.with_reference(
            equation.reference_attitude @ base_rotation_matrix(y[3:6])
        )
        y[3:6], y[n + 3 : n + 6] = 0.0, spin
    return Tumble(np.array(times), reference_attitudes, np.array(rows))


# Where angles are measured from is one code for all formulations.
@pytest.mark.few(1)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=campaign_if(name not in CORE)) for name in FORMULATIONS]
)
def test_a_full_tumble_keeps_energy_and_momentum(name: str) -> None:
    model = build(loads(TUMBLER))
    skip_if_refused(name, model)
    equation, n = formulation(name, model), model.size
    run = tumble(equation, 1.3, 1.0)
    turned = np.array([base_spin(y[3:6], y[n + 3 : n + 6]) for y in run.rows])
    turns = np.trapezoid(np.abs(turned[:, 1]), run.times) / (2 * np.pi)
    assert turns > 1
    assert len({reference_attitude.tobytes() for reference_attitude in run.reference_attitudes}) > 5
    some = list(zip(run.reference_attitudes, run.rows, strict=True))[
        ::4
    ]  # steps are shorter than any change
    placed = [(equation.with_reference(reference_attitude), y) for reference_attitude, y in some]
    motion = [momentum(e, y) for e, y in placed]
    energy = [e.energy(y[:n], y[n:]) for e, y in placed]
    last, y = placed[-1]
    told = [last.linear_momentum(y[:n], y[n:]), last.angular_momentum(y[:n], y[n:])]
    assert np.abs(np.concatenate(told) - motion[-1]).max() <= 1e-12 * np.abs(motion[-1]).max()
    assert drift(np.array(motion)[:, :3]) <= 1e-9
    assert drift(np.array(motion)[:, 3:]) <= 1e-9
    total = np.array(energy).sum(axis=1)
    assert np.abs(total - total[0]).max() <= 1e-9 * np.array(energy)[:, 0].max()
    # the attitude turns by the angular velocity and by nothing else, over every step
    attitudes = run.attitudes(n)
    change = np.einsum("kji,kjl->kil", attitudes[:-1], attitudes[1:])
    angle = np.arccos(np.clip((np.trace(change, axis1=1, axis2=2) - 1) / 2, -1, 1))
    size = np.linalg.norm(turned, axis=1)
    allowed = np.maximum(size[:-1], size[1:]) * np.diff(run.times)
    assert np.all(angle <= 1.01 * allowed + 1e-7)


@pytest.mark.campaign
def test_where_angles_are_measured_from_does_not_matter() -> None:
    equation = formulation("articulated", build(loads(TUMBLER)))
    n = equation.model.size
    often, seldom = (tumble(equation, 2.5, limit) for limit in (0.3, 1.2))
    assert np.abs(often.attitudes(n)[-1] - seldom.attitudes(n)[-1]).max() <= 1e-9
    others = [i for i in range(2 * n) if i not in (3, 4, 5, n + 3, n + 4, n + 5)]
    assert np.abs(often.rows[-1][others] - seldom.rows[-1][others]).max() <= 1e-8
