"""Robots of the package example-robot-data against pinocchio, and made flexible, against a hand.

A campaign: `pip install pin example-robot-data` gives both; neither is needed to use flexarm.
"""

from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flexarm
from flexarm.arm import Arm
from flexarm.io.urdf.convert import import_urdf
from flexarm.links.base import Array
from flexarm.model.state import start_state
from tests.io.test_urdf import cantilever

pytestmark = pytest.mark.campaign

# file, tip, the link made flexible
ROBOTS = {
    "panda.urdf": ("panda_hand", "panda_link3"),
    "ur5_robot.urdf": (None, "upper_arm_link"),
    "ur10_robot.urdf": (None, "upper_arm_link"),
    "kinova.urdf": ("j2s6s200_end_effector", "j2s6s200_link_2"),
    "xarm7.urdf": (None, "link2"),
    "talos_left_arm.urdf": (None, "arm_left_4_link"),
    "tiago_no_hand.urdf": ("wrist_ft_tool_link", "arm_3_link"),
}


def path_of(name: str) -> Path:
    try:
        found = [each for each in files("example-robot-data") or () if each.name == name]
    except PackageNotFoundError:
        pytest.skip("example-robot-data is not installed")
    return Path(str(found[0].locate()))


def without_friction(arm: Arm) -> Arm:
    links = [
        link.model_copy(update={"joint": link.joint.model_copy(update={"friction": None})})
        if hasattr(link.joint, "friction") else link for link in arm.links
    ]  # fmt: skip
    return arm.model_copy(update={"links": tuple(links)})


def moving(arm: Arm) -> list[str]:
    names = zip(arm.joint_names, arm.links, strict=True)
    return [name for name, link in names if link.joint.kind != "fixed"]


@pytest.mark.parametrize("name", ROBOTS)
def test_a_rigid_robot_is_pinocchio_s(name: str) -> None:
    pin = pytest.importorskip("pinocchio")
    path, tip = path_of(name), ROBOTS[name][0]
    arm = without_friction(import_urdf(path, tip=tip)[0])
    peer = pin.buildModelFromUrdf(str(path))
    locked = [i for i in range(1, peer.njoints) if peer.names[i] not in moving(arm)]
    peer = pin.buildReducedModel(peer, locked, pin.neutral(peer))
    assert [peer.names[i] for i in range(1, peer.njoints)] == moving(arm)
    data, equation = peer.createData(), flexarm.formulation("articulated", flexarm.build(arm))
    random = np.random.default_rng(0)
    for _ in range(5):
        q, v, a = random.normal(size=(3, peer.nv))
        theirs = their_coordinates(peer, q)
        effort = pin.rnea(peer, data, theirs, v, a)
        mass = np.triu(pin.crba(peer, data, theirs))
        mass = mass + np.triu(mass, 1).T
        close(equation.mass_matrix(q), mass)
        close(equation.inverse_dynamics(q, v, a), effort)
        # What rounding makes of both where M is ill-conditioned, as tiago's is.
        rounding = max(1e-12, np.finfo(float).eps * np.linalg.cond(mass))
        accelerations = pin.aba(peer, data, theirs, v, effort)
        close(equation.forward_dynamics(q, v, effort), accelerations, rounding)
        if tip is not None:
            pin.framesForwardKinematics(peer, data, theirs)
            place = data.oMf[peer.getFrameId(tip)]
            close(equation.tip_pose(q)[0], place.rotation)
            close(equation.tip_pose(q)[1], place.translation)


def their_coordinates(peer: Any, q: Array) -> Array:
    """Joints without limits are cosine and sine to pinocchio."""
    pairs = [
        [value] if peer.joints[i].nq == 1 else [np.cos(value), np.sin(value)]
        for i, value in enumerate(q, 1)
    ]
    return np.concatenate(pairs)


def close(mine: Array, theirs: Array, tolerance: float = 1e-12) -> None:
    np.testing.assert_allclose(mine, theirs, rtol=0, atol=tolerance * np.abs(theirs).max())


@pytest.mark.parametrize("name", ROBOTS)
def test_a_flexible_robot_swings_as_by_hand(name: str, tmp_path: Path) -> None:
    path, (tip, link) = path_of(name), ROBOTS[name]
    side = tmp_path / "side.yaml"
    side.write_text(
        f"gravity: [0, 0, 0]\nlinks: {{{link}: {{section: {{EIy: 900, EIz: 500, GJ: 300, "
        "mass_per_length: 1.0e-6}}}"
    )
    arm = without_friction(import_urdf(path, flex=side, tip=tip)[0])
    found = flexarm.modes(flexarm.build(arm), joints="locked", straight=True).modes[0]
    assert found.frequency_hz == pytest.approx(by_hand(arm, arm.link_names.index(link)), rel=1e-6)


def by_hand(arm: Arm, index: int) -> float:
    """Take all that is outboard as one body on a beam without mass."""
    equation = flexarm.formulation("composite", flexarm.build(flexarm.rigid(arm)))
    q, _ = start_state(equation.model)
    frames = equation.link_frames(q)
    turn, tip = frames.tip_rotation[index], frames.tip_position[index]
    total = np.zeros((6, 6))
    for k, link in enumerate(arm.links[index + 1 :], index + 1):
        if link.rigid_body is None:
            continue
        across = turn.T @ frames.root_rotation[k]
        xx, yy, zz, xy, xz, yz = link.rigid_body.inertia  # type: ignore[misc]
        matrix = across @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ across.T
        place = turn.T @ (frames.root_position[k] - tip) + across @ link.rigid_body.com
        x, y, z = place
        arm_ = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        mass = link.rigid_body.mass
        total += np.block([
            [mass * np.eye(3), -mass * arm_], [mass * arm_, matrix - mass * arm_ @ arm_]
        ])  # fmt: skip
    return cantilever(arm.links[index].length, 900, 500, 300, total)
