"""Arms in orbit: Lagrange's equations in axes that do not turn, and closed forms of the frame."""

from functools import cache
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
import pytest

import flexarm
from flexarm.arm import Arm, Body, FreeBase, Revolute
from flexarm.arm.mission import FreeBody
from flexarm.check.check import check
from flexarm.errors import FlexarmError, ModelError
from flexarm.formulations import FORMULATIONS
from flexarm.integrate.mission.bodies import FreeBodyState
from flexarm.io.model_file import loads
from flexarm.mechanics.loads import input_matrix
from flexarm.model import LinkModel, Model, build
from tests.physics.placement import E_Z, Expr, Pose, Sections, frame_pose, inertia_matrix, turn
from tests.physics.reference import Reference

Array = npt.NDArray[np.float64]
RATE = 0.2
NODES = 16  # on exact links, for 1e-10
TABLE = "mass_per_length: 1.5, EIz: 40, EIy: 30, GJ: 50"
BALL = """
  - joint: {kind: spherical}
    body: {mass: 2, com: [0.3, 0.1, 0], inertia: [0.2, 0.3, 0.4]}
payload: {mass: 3, com: [0.1, 0.2, 0.3], inertia: [0.1, 0.2, 0.25]}
"""
LINKS = {
    "exact, full rotor": f"""
  - joint: {{kind: revolute, axis: [0, 1, 1], before: {{position: [0.5, 0, 0]}},
            drive: {{rotor_inertia: 0.5, gear_ratio: 10, stiffness: 1.3e3, rotor: full}}}}
    length: 1.2
    section: {{{TABLE}}}
    shapes: {{kind: clamped-free, bending_y: 1, bending_z: 1, torsion: 0}}
payload: {{mass: 3, com: [0.1, 0.2, 0.3], inertia: [0.1, 0.2, 0.25]}}""",
    "linear, sliding": f"""
  - joint: {{kind: revolute, axis: [0, 1, 1], before: {{position: [0.5, 0, 0]}}}}
    length: 1.2
    section: {{{TABLE}, Jx: 0.2, Jy: 0.1, Jz: 0.1}}
    shapes: {{kind: clamped-free, bending_y: 1, bending_z: 1, torsion: 1}}
  - joint: {{kind: sliding, start: {{position: 0.6}}, limits: {{lower: 0.3}}}}
    length: 1.3
    section: {{{TABLE}}}
    shapes: {{kind: clamped-free, bending_y: 1, torsion: 0}}
{BALL}stiffening: false""",
    "rail": f"""
  - joint: {{kind: fixed}}
    length: 1.2
    section: {{{TABLE}}}
    shapes: {{kind: clamped-free, bending_y: 2, bending_z: 1, torsion: 0}}
    tip_piece: {{length: 0.1, body: {{mass: 0.4}}}}
  - joint: {{kind: carriage, start: {{position: 0.5}}}}
    body: {{mass: 2, com: [0.3, 0.1, 0], inertia: [0.2, 0.3, 0.4]}}
stiffening: false""",
}


@cache
def in_orbit(links: str) -> Model:
    """Build an arm whose base floats in an orbit of 31 s."""
    return build(
        loads(f"""
flexarm: 1
name: in orbit
gravity: [0, 0, 0]
base:
  kind: free
  body: {{mass: 20, com: [0.1, 0.2, -0.1], inertia: [3, 4, 5, 0.1, 0.2, -0.3]}}
  position: [1, 2, 3]
  rotation: [0.3, 0.2, 0.5]
  orbit: {{rate: {RATE}}}
links:{LINKS[links]}
"""),
        nodes=NODES,
    )


class InertialAxes(Reference):
    """The arm in axes that do not turn, in which the Hill frame has turned by a phase."""

    def __init__(self, model: Model) -> None:
        self._phase = ca.SX.sym("phase")
        self._field = RATE**2 * ca.DM(np.diag([2.0, -1.0, -1.0]))  # at phase 0
        super().__init__(model)
        force = ca.gradient(self._elastic + self._weight - self._kinetic, self._q)
        c = self._rate(self._momentum) + force
        self.c = ca.Function("c", [self._q, self._v], [ca.substitute(c, self._phase, 0)])

    def _rate(self, value: Expr) -> Expr:
        value, known = ca.SX(value), ca.vertcat(self._q, self._phase)
        change = ca.jtimes(ca.vec(value), known, ca.vertcat(self._v, RATE))
        return ca.reshape(change, value.shape)

    def _base(self, arm: Arm) -> Pose:
        start, q = frame_pose(arm.base), self._q
        x, y, z = (turn(np.eye(3)[k], q[3 + k]) for k in range(3))
        pose = Pose(start.rotation @ x @ y @ z, start.position + q[:3])
        pose = Pose(turn(E_Z, self._phase), ca.DM.zeros(3)) @ pose
        assert isinstance(arm.base, FreeBase)
        self._body(pose, arm.base.body)
        return pose

    def _body(self, pose: Pose, body: Body | None) -> None:
        super()._body(pose, body)
        if body is None:
            return
        centre, inertia = pose.position + pose.rotation @ ca.DM(body.com), inertia_matrix(body)
        spread = np.eye(3) * np.trace(inertia) / 2 - inertia  # int r r^T dm
        self._weight -= body.mass * ca.bilin(self._field, centre, centre) / 2
        self._weight -= ca.trace(self._field @ pose.rotation @ spread @ pose.rotation.T) / 2

    def _joint(self, part: LinkModel, end: Pose, before: Pose, after: Pose) -> Expr:
        joint = part.link.joint
        if isinstance(joint, Revolute) and joint.drive is not None:
            axis = np.array(joint.axis) / np.linalg.norm(joint.axis)
            along = (end.rotation @ before.rotation @ axis)[0]
            self._weight += 1.5 * RATE**2 * joint.drive.rotor_inertia * along**2
        return super()._joint(part, end, before, after)

    def _strand(
        self, root: Pose, sections: Sections, mass: Expr, rotary: Expr,
        labels: tuple[Expr, Expr] | None = None,
    ) -> None:  # fmt: skip
        super()._strand(root, sections, mass, rotary, labels)
        world = root.rotation @ sections.centre + ca.repmat(root.position, 1, mass.shape[0])
        pulled = -ca.dot(mass, ca.sum1(world * (self._field @ world)).T) / 2
        seen = RATE**2 * (3 * root.rotation[0, :].T ** 2 - 1)  # inertia in place of int r r^T dm
        pulled += ca.dot(seen, ca.sum2(rotary)) / 2
        if labels is not None:
            pulled = ca.substitute(pulled, labels[0], labels[1])
        self._weight += pulled


@pytest.mark.few(1)
@pytest.mark.parametrize("links", LINKS)
def test_every_mass_feels_the_gradient_and_the_turning_frame(links: str) -> None:
    model = in_orbit(links)
    reference = InertialAxes(model)
    rng = np.random.default_rng(3)
    start = flexarm.model.start_state(model)[0]
    q, v = start + rng.normal(size=(2, model.size)) * 0.1
    for part in model.links:
        if part.rail is not None:  # the reference is right at the start's station
            q[part.coordinates[0]] = start[part.coordinates[0]]
    c = np.array(reference.c(q, v)).ravel()
    composite = flexarm.formulation("composite", model)
    coriolis, gravity, elastic, dissipative = composite.parts(q, v).values()
    assert _near(coriolis + gravity + elastic + dissipative, c)
    still = np.array(reference.c(q, np.zeros(model.size))).ravel()
    assert _near(gravity + elastic, still)
    B = input_matrix(model)
    u = np.asarray(rng.normal(size=B.shape[1]))
    a = flexarm.formulation("articulated", model).forward_dynamics(q, v, u)
    assert np.abs(composite.mass_matrix(q) @ a + c - B @ u).max() < 1e-9 * np.abs(c).max()


def _near(found: Array, wanted: Array) -> bool:
    return bool(np.abs(found - wanted).max() <= 1e-10 * np.abs(wanted).max())


N = 0.01
ROD = f"""
flexarm: 1
name: rod
gravity: [0, 0, 0]
base:
  kind: free
  body: {{mass: 60, inertia: [1e-5, 50, 50]}}
  orbit: {{rate: {N}}}
links:
  - joint: {{kind: fixed, before: {{position: [-2, 0, 0]}}}}
    length: 4
    body: {{mass: 40, com: [2, 0, 0], inertia: [0, 50, 50]}}
"""


def test_a_base_drifts_as_clohessy_and_wiltshire_say() -> None:
    place, speed = np.array([3.0, -2.0, 1.5]), np.array([0.02, 0.03, -0.01])
    arm = flexarm.change_arm(
        loads(ROD), {"base.position": place.tolist(), "base.velocity": speed.tolist()}
    )
    t_end = 500.0
    c, s, turned = np.cos(N * t_end), np.sin(N * t_end), N * t_end
    x, y, z = place
    u, v, w = speed
    end = np.array([
        (4 - 3 * c) * x + s / N * u + 2 / N * (1 - c) * v,
        6 * (s - turned) * x + y - 2 / N * (1 - c) * u + (4 * s - 3 * turned) / N * v,
        c * z + s / N * w,
    ])  # fmt: skip
    for rtol in (1e-3, 1e-6, 1e-9):
        run = flexarm.simulate(arm, t_end=t_end, rtol=rtol, method="dop853")
        assert np.abs(place + run.q[-1, :3] - end).max() < rtol * np.abs(end).max(), rtol
        assert run.energy_balance < rtol


def test_a_rod_librates_at_root_three_and_two_times_the_orbits_rate() -> None:
    found = np.linalg.eigvals(flexarm.linearise(loads(ROD)).A).imag / N
    for wanted in (1.0, np.sqrt(3), 2.0):  # of the orbit itself, in its plane, out of it
        assert np.abs(found - wanted).min() < 1e-6


@pytest.mark.parametrize("method", sorted(set(FORMULATIONS) - {"articulated", "composite"}))
def test_other_formulations_refuse_an_orbit(method: str) -> None:
    with pytest.raises(FlexarmError, match=r"in an orbit.*Use 'articulated' or 'composite'"):
        flexarm.formulation(method, build(loads(ROD)))


@pytest.mark.parametrize(("change", "said"), [
    ({"gravity": [0, 0, -9.81]}, "an arm in orbit falls freely"),
    ({"start": "equilibrium"}, "cannot be computed for a base in orbit"),
    ({"base.orbit": {}}, "altitude above the Earth or the rate"),
    ({"base.orbit": {"rate": 1e-3, "altitude": 4e5}}, "altitude above the Earth or the rate"),
])  # fmt: skip
def test_what_an_orbit_cannot_be_with_is_refused(change: dict[str, Any], said: str) -> None:
    with pytest.raises(ModelError, match=said):
        flexarm.change_arm(loads(ROD), change)


@pytest.mark.usefixtures("without_costs")
def test_low_orbits_take_an_hour_and_a_half() -> None:
    found = flexarm.change_arm(loads(ROD), {"base.orbit": {"altitude": "400 km"}})
    assert check(found).base == "free in an orbit of 92.56 min"


def test_a_free_body_goes_as_an_arm_of_the_same_mass_does() -> None:
    body = {"mass": 100, "com": [0.4, 0.1, 0], "inertia": [5, 30, 40, 1, 2, -3]}
    start = {"position": [3, -2, 1.5], "rotation": [0.3, 0.4, 0.5], "spin": [0.02, 0.01, 0.03]}
    base = {"kind": "free", "body": body, "velocity": [0, 0, 0], "orbit": {"rate": N}}
    links = [{"joint": {"kind": "fixed"}, "body": {"mass": 1e-12}}]
    arm = flexarm.change_arm(loads(ROD), {"base": base | start, "links": links})
    run = flexarm.simulate(arm, t_end=200, rtol=1e-10, method="dop853")
    drift = FreeBodyState.of(FreeBody(name="body", body=Body(**body), **start), run.model)
    gone = drift.at(90.0).at(200.0)
    assert gone.pose.position == pytest.approx(
        np.array(start["position"]) + run.q[-1, :3], abs=1e-7
    )
    assert gone.energy == pytest.approx(drift.energy, rel=1e-9)
    assert gone.energy == pytest.approx(float(run.energy[-1].sum()), rel=1e-7)


def test_the_distance_of_a_body_in_orbit_is_looked_out_for() -> None:
    bodies = [
        {"name": "ball", "body": {"mass": 1}, "position": [2, 0.5, 0], "velocity": [0, -0.01, 0]}
    ]
    events = [{"when": {"quantity": "distance.ball", "below": 0.4}, "end": True}]
    arm = flexarm.change_arm(loads(ROD), {"bodies": bodies, "events": events})
    run = flexarm.simulate(arm, t_end=60, rtol=1e-9, method="dop853")
    ball = FreeBodyState.of(arm.bodies[0], run.model).at(float(run.t[-1]))
    assert run.t[-1] < 60
    assert np.linalg.norm(ball.centre - run.tip[-1]) == pytest.approx(0.4, abs=1e-8)


def test_an_equilibrium_is_not_looked_for_in_an_orbit() -> None:
    with pytest.raises(FlexarmError, match="cannot be computed for a base in orbit"):
        flexarm.equilibrium(loads(ROD))
