"""Linear models against finite differences, simulated motion and other packages."""

import sys
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.io
import scipy.linalg

import flexarm
from flexarm import build, equilibrium, example_arm, linearise
from flexarm.arm import Arm
from flexarm.errors import FlexarmError
from flexarm.formulations import formulation
from flexarm.linear.state_space import StateSpace, point_of_run, start_point
from flexarm.linear.tangent import OperatingPoint
from flexarm.model import Model, start_state
from flexarm.spatial import Array
from tests.linear.linear_arms import one_link, two_links

TIPS = ["tip.x", "tip.y", "tip.ry", "tip.z.rate", "tip.rz.rate", "tip.y.acceleration"]


def moving_point(model: Model, seed: int = 3) -> OperatingPoint:
    """Choose a state in which everything moves."""
    rng = np.random.default_rng(seed)
    q, start = start_state(model)
    scale = np.array([0.3 if unit == "rad" else 0.003 for unit in model.units])
    v = start + scale * rng.standard_normal(model.size)
    for part in model.links:
        q[part.modes] += (
            1e-3 * part.length * rng.standard_normal(part.modes.stop - part.modes.start)
        )
    known = list(model.prescribed)
    v[known] = start[known]
    return OperatingPoint(
        q, v, rng.standard_normal(len(formulation("composite", model).input_names))
    )


def derivative(function, at: Array, step: float = 1e-5) -> Array:  # type: ignore[no-untyped-def]
    """Differentiate by central differences of fourth order."""
    columns = []
    for unit in np.eye(len(at)):
        near, far = (function(at + k * step * unit) - function(at - k * step * unit)
                     for k in (1, 2))  # fmt: skip
        columns.append((8 * near - far) / (12 * step))
    return np.array(columns).T


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "name",
    [
        "korayem-two-link",
        "chen-two-link",
        "telescope",
        pytest.param("graves-rms", marks=pytest.mark.campaign),
    ],
)
def test_a_and_b_are_the_derivatives_of_forward_dynamics(name: str) -> None:
    """By another formulation, the articulated recursion, at a moving state."""
    model = build(example_arm(name))
    eq, point = formulation("articulated", model), moving_point(model)
    open_ = [i for i in range(model.size) if i not in model.prescribed]
    n = len(open_)

    def rates(x: Array, u: Array) -> Array:
        q, v = point.q.copy(), point.v.copy()
        q[open_], v[open_] = x[:n], x[n:]
        return np.concatenate([v[open_], eq.forward_dynamics(q, v, u)[open_]])

    x = np.concatenate([point.q[open_], point.v[open_]])
    found = linearise(model, about=point)
    assert found.rate == pytest.approx(rates(x, point.u), rel=1e-8, abs=1e-8)
    A = derivative(lambda at: rates(at, point.u), x)
    assert np.abs((found.A - A) / np.abs(A).max(axis=1, keepdims=True)).max() < 1e-8
    if len(point.u):
        B = derivative(lambda at: rates(x, at), point.u)
        assert pytest.approx(B, rel=1e-7, abs=1e-7 * float(np.abs(B).max())) == found.B


@pytest.mark.campaign
def test_c_and_d_are_the_derivatives_of_what_the_tip_does() -> None:
    model = build(example_arm("chen-two-link-rigid-joints"))
    eq, point, n = formulation("articulated", model), moving_point(model), model.size
    turned = eq.tip_pose(point.q)[0]

    def outputs(state: Array) -> Array:
        q, v, u = state[:n], state[n : 2 * n], state[2 * n :]
        rotation, position = eq.tip_pose(q)
        rates = eq.tip_jacobian(q) @ v
        h = 1e-4
        a = eq.forward_dynamics(q, v, u)
        later, before = (eq.tip_jacobian(q + k * h * v) @ v for k in (1, -1))
        speed_up = (later - before) / (2 * h) + eq.tip_jacobian(q) @ a
        small = (rotation @ turned.T)[0, 2]
        return np.array([position[0], position[1], small, rates[2], rates[5], speed_up[1]])

    found = linearise(model, about=point, outputs=TIPS)
    exact = derivative(outputs, np.concatenate([point.q, point.v, point.u]), 1e-4)
    size = np.abs(exact).max(axis=1, keepdims=True)
    assert np.abs((np.hstack([found.C, found.D]) - exact) / size).max() < 1e-6
    assert found.output_units == ("m", "m", "rad", "m/s", "rad/s", "m/s^2")
    assert np.any(found.D[5])
    assert not np.any(found.D[:5])


def perturbed(arm: Arm, q: Array, v: Array, model: Model) -> Arm:
    """Start every link of an arm from given amplitudes."""
    links = []
    for link, part in zip(arm.links, model.links, strict=True):
        labels = [model.names[i].split(".", 1)[1] for i in range(part.modes.start, part.modes.stop)]
        start = dict(zip(labels, q[part.modes].tolist(), strict=True))
        speed = dict(zip(labels, v[part.modes].tolist(), strict=True))
        links.append(link.model_copy(update={"start": start, "start_speed": speed}))
    return arm.model_copy(update={"links": type(arm.links)(links)})


def test_small_motions_about_steady_rotation_are_those_of_the_nonlinear_arm() -> None:
    spin = 6.0
    arm = one_link(
        joint="{kind: revolute, actuation: prescribed, motion: {kind: table, times: [0, 2], "
        f"values: [0, {2 * spin}], interpolation: linear}}}}",
        section="mass_per_length: 1, EIz: 4, EA: 4000",
        shapes="{kind: loaded, bending_y: 2, stretch: 1}",
        rest="    damping: 0.02\n",
    )
    model = build(arm)
    about = equilibrium(model, speeds={"joint1": spin})
    found = linearise(model, about=about)
    assert np.abs(found.rate).max() < 1e-9
    x = np.array([1e-5, -4e-6, 1e-7, 0.0, 1e-4, 0.0])
    q, v = about.point.q.copy(), about.point.v.copy()
    q[1:] += x[:3]
    v[1:] += x[3:]
    run = flexarm.simulate(perturbed(arm, q, v, model), t_end=0.5, dt=0.1, rtol=1e-10)
    for t, at in zip(run.t, run.q, strict=True):
        expected = scipy.linalg.expm(found.A * t) @ x
        assert at[1:] - about.point.q[1:] == pytest.approx(expected[:3], abs=2e-9)


def test_small_motions_about_a_trajectory_follow_the_product_of_its_linear_models() -> None:
    arm = two_links("{kind: loaded, bending_y: 1}", gravity=-9.81, more="    damping: 0.01\n")
    model = build(arm)
    base = flexarm.simulate(arm, t_end=0.05, dt=0.002, rtol=1e-9)
    moved = np.array([0.0, 1e-6, 0.0, -2e-6])
    other = flexarm.simulate(
        perturbed(arm, moved, np.zeros(4), model), t_end=0.05, dt=0.002, rtol=1e-9
    )
    x = np.concatenate([moved, np.zeros(4)])
    along = [linearise(model, about=point_of_run(base, t)).A for t in base.t]
    for first, second in pairwise(along):
        x = scipy.linalg.expm((first + second) / 2 * 0.002) @ x
    assert other.q[-1] - base.q[-1] == pytest.approx(x[:4], abs=2e-3 * float(np.abs(x[:4]).max()))


def test_prescribed_coordinates_are_no_states() -> None:
    found = linearise(example_arm("spin-up-beam"), about=start_point(example_arm("spin-up-beam")))
    assert "joint1" not in found.states
    assert found.B.shape == (10, 0)
    assert found.states[:2] == ("link1.y1", "link1.y2")
    assert found.state_units[-1] == "m/s"


def test_names_and_units_say_what_each_row_is() -> None:
    found = linearise(
        example_arm("chen-two-link"),
        outputs=["joint1.encoder", "joint1", "joint2.rate", "link1.z1"],
    )
    assert found.inputs == ("joint1", "joint2")
    assert found.input_units == ("N m", "N m")
    assert found.output_units == ("rad", "rad", "rad/s", "m")
    motor, joint = (found.states.index(name) for name in ("joint1.motor", "joint1"))
    assert found.C[0, motor] == 1
    assert found.C[1, joint] == 1
    with pytest.raises(FlexarmError, match=r"outputs: there is no output 'tip\.q'"):
        linearise(example_arm("driven-link"), outputs=["tip.q"])
    with pytest.raises(FlexarmError, match=r"about.q: must be 5 finite numbers, got shape \(2,\)"):
        linearise(
            example_arm("driven-link"), about=OperatingPoint(np.zeros(2), np.zeros(5), np.zeros(1))
        )


def damped_link() -> StateSpace:
    return linearise(one_link(shapes="{kind: loaded, bending_y: 2}", rest="    damping: 0.05\n"))


@pytest.mark.campaign  # `control` takes two seconds to import
def test_control_gets_the_same_model() -> None:
    import control  # type: ignore[import-untyped]

    found = damped_link()
    there = found.to_control()
    assert isinstance(there, control.StateSpace)
    assert there.state_labels == ["joint1", "link1_y1", "link1_y2", "joint1_rate", "link1_y1_rate",
                                  "link1_y2_rate"]  # fmt: skip
    assert there.output_labels == ["joint1", "tip_x", "tip_y", "tip_z"]
    s = 1j * 10.0
    response = found.C @ np.linalg.solve(s * np.eye(6) - found.A, found.B) + found.D
    assert there(s)[:, 0] == pytest.approx(response[:, 0], rel=1e-10)


def test_other_packages_get_the_same_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = damped_link()
    told = SimpleNamespace(ss=lambda *matrices, **names: (matrices, names))
    monkeypatch.setitem(sys.modules, "control", told)
    matrices, names = found.to_control()
    assert all(map(np.array_equal, matrices, (found.A, found.B, found.C, found.D)))
    assert (names["inputs"], names["states"][1]) == (["joint1"], "link1_y1")
    assert not names["remove_useless_states"]
    assert pytest.approx(found.A) == found.to_scipy().A
    found.to_mat(tmp_path / "arm.mat")
    read = scipy.io.loadmat(tmp_path / "arm.mat")
    assert read["A"] == pytest.approx(found.A)
    assert read["D"].shape == (4, 1)
    assert [str(cell[0]) for cell in read["states"].ravel()] == list(found.states)
    with pytest.raises(FlexarmError, match="the file exists already"):
        found.to_mat(tmp_path / "arm.mat")
