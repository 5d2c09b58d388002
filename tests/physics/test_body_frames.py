"""Named frames of flexible bodies: links and points at them, against all nodes as point masses."""

from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

import flexarm
from flexarm.arm import Arm
from flexarm.arm.side_files import SideFiles
from flexarm.errors import ModelError
from flexarm.links.imported.craig_bampton import reduce
from flexarm.links.imported.file import inspect_body, read_body, write_body
from flexarm.model import build
from tests.links.reduced_bodies import craig_bampton, lattice, rigid
from tests.physics.test_reduced_bodies import skew, turned_about

Array = NDArray[np.float64]
MIDDLE = np.arange(8, 12)  # nodes of the section in the middle of the lattice
TURN = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
AXIS, FORCE, STIFFNESS = np.array([0.2, 1.0, 0.0]), np.array([3.0, -1.0, 2.0]), 40.0
CENTRE, MASS, WORLD = np.array([0.1, 0.02, 0.0]), 0.4, np.array([0.1, 0.5, -0.2])


def body_with_eye(fixed: int = 2) -> dict[str, Any]:
    """Make the lattice with a frame ``eye`` in its middle, whose motion is fitted here."""
    body = craig_bampton(fixed)
    origin = body["nodes"][MIDDLE].mean(axis=0)
    moved = body["shapes"][:, MIDDLE].reshape(len(body["shapes"]), -1)
    return body | {
        "frame_eye_position": origin,
        "frame_eye_rotation": TURN,
        "frame_eye_shapes": moved @ np.linalg.pinv(rigid(body["nodes"][MIDDLE], origin)).T,
    }


def arm_on(folder: Path, body: dict[str, Any], at: str = "eye", **keys: Any) -> Arm:
    """Make an arm of the body and a rigid link without inertia about its centre, at a frame."""
    np.savez(folder / "body.npz", **body)
    links = [
        {"name": "frame", "joint": {"kind": "revolute"},
         "body": {"kind": "modal", "file": "body.npz"}},
        {"parent": "frame", "at": at, "joint": {"kind": "revolute", "axis": AXIS.tolist()},
         "body": {"mass": MASS, "com": CENTRE.tolist()}},
    ]  # fmt: skip
    links[0] |= keys.pop("more", {})
    data = {"flexarm": 1, "name": "eye", "gravity": [1, 2, -9.81], "links": links, **keys}
    return Arm.model_validate(data, context={"files": SideFiles.beside(folder)})


def eye_of(body: dict[str, Any], q: Any) -> tuple[Any, Any, Any]:
    """Place the frame: hub rotation, then rotation and position of the frame in the world."""
    m = len(body["shapes"])
    R, d = turned_about(np.array([0, 0, 1.0]), q[0]), q[1 : 1 + m]
    moves = ca.DM(body["frame_eye_shapes"].T)
    cross = skew(moves[3:, :] @ d) / 2
    turned = ca.solve(ca.SX.eye(3) - cross, ca.SX.eye(3) + cross)
    place = R @ (ca.DM(body["frame_eye_position"]) + moves[:3, :] @ d)
    return R, R @ turned @ ca.DM(TURN), place


@pytest.mark.parametrize("name", ["composite", "articulated"])
def test_a_link_and_forces_at_a_named_frame_are_those_of_point_masses(
    tmp_path: Path, name: str
) -> None:
    body = body_with_eye()
    spring = {"between": [{"link": "frame", "at": "eye"}, {"world": WORLD.tolist()}]}
    wrench = {"at": "eye", "force": FORCE.tolist(), "frame": "link"}
    arm = arm_on(
        tmp_path, body, springs=[spring | {"stiffness": STIFFNESS}], more={"wrenches": [wrench]}
    )
    equation = flexarm.formulation(name, build(arm))
    n = equation.model.size
    q, v, a = (ca.SX.sym(x, n) for x in "qva")
    R, attitude, place = eye_of(body, q)
    d = q[1 : n - 1]
    places = [
        R @ (ca.DM(body["nodes"][k]) + ca.DM(body["shapes"][:, k, :].T) @ d)
        for k in range(len(body["nodes"]))
    ]
    places.append(place + attitude @ turned_about(AXIS, q[n - 1]) @ ca.DM(CENTRE))
    masses, spots = ca.DM([*body["node_mass"], MASS]).T, ca.horzcat(*places)
    speed = ca.jtimes(spots, q, v)
    kinetic = ca.sum2(masses * ca.sum1(speed * speed)) / 2
    potential = ca.dot(d, ca.DM(body["K"]) @ d) / 2
    potential -= ca.sum2(masses * (ca.DM([1, 2, -9.81]).T @ spots))
    potential += STIFFNESS * ca.sumsqr(place - ca.DM(WORLD)) / 2
    force = ca.jtimes(ca.gradient(kinetic, v), q, v) + ca.jtimes(ca.gradient(kinetic, v), v, a)
    force += ca.gradient(potential - kinetic, q)
    force -= ca.jacobian(place, q).T @ (attitude @ ca.DM(FORCE))
    reference = ca.Function("f", [q, v, a], [ca.hessian(kinetic, v)[0], force])
    generator, scale = np.random.default_rng(3), np.array([1.0, *[0.02] * (n - 2), 1.0])
    q0, v0, a0 = (scale * generator.normal(size=n) for _ in range(3))
    mass, wanted = (np.array(x) for x in reference(q0, v0, a0))
    assert np.abs(equation.mass_matrix(q0) - mass).max() < 1e-10 * np.abs(mass).max()
    found = equation.inverse_dynamics(q0, v0, a0)
    np.testing.assert_allclose(found, wanted.ravel(), atol=1e-10 * np.abs(wanted).max())


def test_the_motion_of_a_frame_is_fitted_to_its_nodes_and_kept_in_files(tmp_path: Path) -> None:
    given = body_with_eye()
    by_nodes = {k: x for k, x in given.items() if k != "frame_eye_shapes"}
    np.savez(tmp_path / "nodes.npz", **by_nodes | {"frame_eye_nodes": MIDDLE + 1})
    np.savez(tmp_path / "shapes.npz", **given)
    fitted, stated = (read_body(tmp_path / f"{key}.npz") for key in ("nodes", "shapes"))
    write_body(tmp_path / "kept.npz", fitted)
    for body in (fitted, read_body(tmp_path / "kept.npz")):
        frame, other = body.frame("eye"), stated.frame("eye")
        np.testing.assert_allclose(frame.pose.position, other.pose.position, atol=1e-14)
        np.testing.assert_allclose(frame.pose.rotation, TURN, atol=1e-14)
        size = np.abs(other.angle).max()
        np.testing.assert_allclose(frame.shape, other.shape, atol=1e-12 * size)
        np.testing.assert_allclose(frame.angle, other.angle, atol=1e-12 * size)


def test_a_reduced_body_bends_under_loads_at_its_frame_as_the_whole_lattice_does(
    tmp_path: Path,
) -> None:
    nodes, stiffness, mass = lattice()
    ends = np.arange(4), np.arange(len(nodes) - 4, len(nodes))
    body = reduce(stiffness, mass, nodes, hub=ends[0], tip=ends[1], modes=0, frames={"eye": MIDDLE})
    assert body.names[6:] == tuple(f"eye_{way}" for way in ("x", "y", "z", "rx", "ry", "rz"))
    frame, load = body.frame("eye"), np.array([2.0, -1.0, 3.0, 0.1, 0.2, -0.3])
    rows = np.vstack([frame.shape, frame.angle])
    found = rows @ np.linalg.solve(body.integrals.stiffness, rows.T @ load)
    # All unknowns of the lattice, with the hub held and the other two faces rigid.
    inner = np.setdiff1d(np.arange(len(nodes)), np.concatenate([*ends, MIDDLE]))
    free = np.zeros((len(stiffness), 3 * len(inner) + 12))
    free[(3 * inner[:, None] + np.arange(3)).ravel(), np.arange(3 * len(inner))] = 1.0
    for k, face in enumerate((ends[1], MIDDLE)):
        at = 3 * len(inner) + 6 * k
        unknowns = (3 * face[:, None] + np.arange(3)).ravel()
        free[unknowns, at : at + 6] = rigid(nodes[face], nodes[face].mean(axis=0))
    whole = np.linalg.solve(free.T @ stiffness @ free, np.eye(free.shape[1])[:, -6:] @ load)
    np.testing.assert_allclose(found, whole[-6:], rtol=1e-8)


def test_a_rigid_twin_has_its_branch_where_the_frame_is(tmp_path: Path) -> None:
    arm = arm_on(tmp_path, body_with_eye())
    twin = flexarm.rigid(arm)
    q = np.array([0.3, 0.7])
    bent = np.concatenate([q[:1], np.zeros(build(arm).size - 2), q[1:]])
    poses = [flexarm.formulation("composite", build(arm)).tip_pose(bent)]
    poses.append(flexarm.formulation("composite", build(twin)).tip_pose(q))
    for one, two in zip(*poses, strict=True):
        np.testing.assert_allclose(one, two, atol=1e-12)


def test_frames_that_a_body_does_not_have_are_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"links\[2\].at: there is no frame 'ear'.*tip, root, eye"):
        build(arm_on(tmp_path, body_with_eye(), "ear"))
    wrench = {"at": "ear", "force": [1, 0, 0]}
    with pytest.raises(ModelError, match=r"links\[1\].wrenches\[1\].at: there is no frame 'ear'"):
        build(arm_on(tmp_path, body_with_eye(), more={"wrenches": [wrench]}))
    with pytest.raises(ValueError, match="its tip, its root or a frame"):
        arm_on(tmp_path, body_with_eye(), 0.5)  # type: ignore[arg-type]
    np.savez(tmp_path / "bad.npz", **craig_bampton(2), frame_tip_position=[0.0, 0.0, 0.0])
    assert "not hub, root or tip" in " ".join(inspect_body(tmp_path / "bad.npz")[0].errors)
    np.savez(tmp_path / "bad.npz", **craig_bampton(2), frame_eye_position=[0.0, 0.0, 0.0])
    assert "frame_eye_shapes are required" in " ".join(inspect_body(tmp_path / "bad.npz")[0].errors)


def test_a_branch_at_the_root_of_a_body_is_at_its_hub(tmp_path: Path) -> None:
    arm = arm_on(tmp_path, body_with_eye(), "root")
    model = build(arm)
    q = np.random.default_rng(1).normal(size=model.size) * 0.01
    position = flexarm.formulation("composite", model).tip_pose(q)[1]
    np.testing.assert_allclose(position, 0.0, atol=1e-15)


def test_jacobians_and_state_wrenches_take_the_name_of_a_frame(tmp_path: Path) -> None:
    body = body_with_eye()
    arm = arm_on(tmp_path, body)
    equation = flexarm.formulation("composite", build(arm))
    n = equation.model.size
    q = ca.SX.sym("q", n)
    expected = ca.Function("J", [q], [ca.jacobian(eye_of(body, q)[2], q)])
    x = 0.02 * np.random.default_rng(4).normal(size=n)
    found = equation.jacobian(x, link="frame", at="eye")[:3]
    np.testing.assert_allclose(found, np.array(expected(x)), atol=1e-13)
    with pytest.raises(flexarm.FlexarmError, match="The places are tip, root, eye"):
        equation.jacobian(x, link="frame", at="ear")
    with pytest.raises(flexarm.FlexarmError, match="no place 'eye'"):
        equation.jacobian(x, link="link2", at="eye")
    push = ca.Function("f", [ca.SX.sym("t"), q, ca.SX.sym("v", n)], [ca.DM([1, 0, 0, 0, 0, 0])])
    wrench = flexarm.StateWrench(push, "frame", "eye")
    run = flexarm.simulate(arm, t_end=0.02, errors="off", wrenches=[wrench])
    assert run.energy_balance < 1e-6
