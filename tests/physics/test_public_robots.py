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
from flexarm.io.urdf.document import chain_of, read_urdf
from flexarm.model import Model
from flexarm.model.state import start_state
from flexarm.spatial import Array
from tests.io.test_urdf import cantilever, stiffness

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


# Robots with branches: hands, quadrupeds, humanoids, two arms on a mobile base.
TREES = (
    "a1.urdf", "allegro_right_hand.urdf", "anymal-kinova.urdf", "b1.urdf", "centauro.urdf",
    "g1_29dof_with_hand_rev_1_0.urdf", "hyq_no_sensors.urdf", "human.urdf", "romeo_small.urdf",
    "simple_humanoid.urdf", "solo12.urdf", "talos_reduced.urdf", "tiago_no_hand.urdf",
    "tiago_dual.urdf",
)  # fmt: skip


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


@pytest.mark.parametrize("name", TREES)
def test_a_rigid_tree_is_pinocchio_s(name: str) -> None:
    pin = pytest.importorskip("pinocchio")
    arm = without_friction(import_urdf(path_of(name))[0])
    assert len(set(arm.parents)) < len(arm.parents)
    peer = pin.buildModelFromUrdf(str(path_of(name)))
    names = [peer.names[i].replace(".", "_") for i in range(peer.njoints)]
    mine = moving(arm)
    locked = [i for i in range(1, peer.njoints) if names[i] not in mine]
    kept = [names[i] for i in range(1, peer.njoints) if i not in locked]
    peer = pin.buildReducedModel(peer, locked, pin.neutral(peer))
    order = [mine.index(each) for each in kept]  # pinocchio sorts branches by name
    assert sorted(order) == list(range(peer.nv))
    data, model = peer.createData(), flexarm.build(arm)
    random = np.random.default_rng(0)
    for recursion in ("composite", "articulated"):
        equation = flexarm.formulation(recursion, model)
        q, v, a, effort = random.normal(size=(4, peer.nv))
        there = their_coordinates(peer, q[order])
        mass = np.triu(pin.crba(peer, data, there))
        close(equation.mass_matrix(q)[np.ix_(order, order)], mass + np.triu(mass, 1).T, 1e-10)
        close(
            equation.inverse_dynamics(q, v, a)[order],
            pin.rnea(peer, data, there, v[order], a[order]),
            1e-10,
        )
        accelerations = pin.aba(peer, data, there, v[order], effort[order])
        close(equation.forward_dynamics(q, v, effort)[order], accelerations, 1e-10)


def their_coordinates(peer: Any, q: Array) -> Array:
    """Joints without limits are cosine and sine to pinocchio."""
    pairs = [
        [value] if peer.joints[i].nq == 1 else [np.cos(value), np.sin(value)]
        for i, value in enumerate(q, 1)
    ]
    return np.concatenate(pairs)


def close(mine: Array, theirs: Array, tolerance: float = 1e-12) -> None:
    np.testing.assert_allclose(mine, theirs, rtol=0, atol=tolerance * np.abs(theirs).max())


EIY, EIZ, GJ = 900.0, 500.0, 300.0  # [N m^2]
WEAK = (6e-4, 3e-4, -7e-4)  # gravity [m/s^2], along no link, under which sag is linear
LONG = 0.05  # [m], from which on a link is made a beam


def flexible(path: Path, tip: str | None, link: str, share: float, folder: Path) -> Arm:
    """Make one link a beam with hardly any mass; a share of the link's own rides on its tip."""
    side = folder / "side.yaml"
    side.write_text(
        f"links: {{{link}: {{section: {{EIy: {EIY}, EIz: {EIZ}, GJ: {GJ}, mass_per_length: "
        f"1.0e-6}}, tip_share: {share}, shapes: {{kind: loaded, static: true}}}}}}\n"
        f"gravity: {list(WEAK)}"
    )
    return without_friction(import_urdf(path, flex=side, tip=tip)[0])


@pytest.mark.parametrize("name", ROBOTS)
def test_a_flexible_robot_swings_as_by_hand(name: str, tmp_path: Path) -> None:
    path, (tip, link) = path_of(name), ROBOTS[name]
    arm = flexible(path, tip, link, 0.0, tmp_path)
    index = arm.link_names.index(link)
    load, _ = on_the_tip(arm, import_urdf(path, tip=tip)[0], index, index + 1)
    expected = cantilever(arm.links[index].length, EIY, EIZ, GJ, load)
    still = arm.model_copy(update={"gravity": (0.0, 0.0, 0.0)})
    found = flexarm.modes(flexarm.build(still), joints="locked", straight=True).modes[0]
    assert found.frequency_hz == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("name", ROBOTS)
def test_each_link_of_a_robot_sags_and_swings_as_by_hand(name: str, tmp_path: Path) -> None:
    """Let the link's own mass and all that it carries hang on its tip: nothing may stay behind."""
    path, tip = path_of(name), ROBOTS[name][0]
    rigid = import_urdf(path, tip=tip)[0]
    segments = chain_of(read_urdf(path), tip).segments[1:]
    long = [k for k, each in enumerate(segments)
            if np.linalg.norm(each.end.position) > LONG and each.members[0].body.mass]  # fmt: skip
    assert len(long) >= 2
    for index in long:
        arm = flexible(path, tip, rigid.link_names[index], 1.0, tmp_path)
        model = flexarm.build(arm)
        load, turn = on_the_tip(arm, rigid, index, index)
        length = arm.links[index].length
        q = flexarm.equilibrium(model, at=held(model)).point.q
        frames = flexarm.formulation("composite", model).link_frames
        sunk = frames(q).tip_position[index] - frames(start_state(model)[0]).tip_position[index]
        weight = np.concatenate([turn.T @ WEAK, np.zeros(3)])
        expected = turn @ np.linalg.solve(stiffness(length, EIY, EIZ, GJ), load @ weight)[:3]
        np.testing.assert_allclose(sunk, expected, rtol=0, atol=1e-4 * np.abs(expected).max())
        still = flexarm.build(arm.model_copy(update={"gravity": (0.0, 0.0, 0.0)}))
        found = flexarm.modes(still, joints="locked", straight=True).modes[0]
        assert found.frequency_hz == pytest.approx(cantilever(length, EIY, EIZ, GJ, load), rel=1e-5)


@pytest.mark.parametrize("name", ROBOTS)
def test_each_link_of_a_robot_keeps_mass_centre_and_inertia(name: str, tmp_path: Path) -> None:
    """Let flexarm divide each link's mass: with straight links, M is that of the rigid robot."""
    path, tip = path_of(name), ROBOTS[name][0]
    rigid = without_friction(import_urdf(path, tip=tip)[0])
    q = start_state(flexarm.build(rigid))[0]
    expected = flexarm.formulation("composite", flexarm.build(rigid)).mass_matrix(q)
    for index, segment in enumerate(chain_of(read_urdf(path), tip).segments[1:]):
        if np.linalg.norm(segment.end.position) <= LONG or not segment.members[0].body.mass:
            continue
        side = tmp_path / "side.yaml"
        side.write_text(f"links: {{{rigid.link_names[index]}: {{section: {{EIy: {EIY}}}}}}}")
        model = flexarm.build(without_friction(import_urdf(path, flex=side, tip=tip)[0]))
        rows = [model.names.index(each) for each in moving(rigid)]
        found = flexarm.formulation("composite", model).mass_matrix(start_state(model)[0])
        close(found[np.ix_(rows, rows)], expected)


def held(model: Model) -> dict[str, float]:
    q = dict(zip(model.names, start_state(model)[0].tolist(), strict=True))
    return {name: q[name] for name in moving(model.arm)}


def on_the_tip(arm: Arm, rigid: Arm, index: int, first: int) -> tuple[Array, Array]:
    """Sum the rigid robot's links from a first one on, in the tip frame of a beam, (6, 6).

    Returns the sum and the rotation from the tip's axes to the world's.
    """
    beams = flexarm.formulation("composite", flexarm.build(flexarm.rigid(arm)))
    links = flexarm.formulation("composite", flexarm.build(rigid))
    frames = beams.link_frames(start_state(beams.model)[0])
    placed = links.link_frames(start_state(links.model)[0])
    turn, tip = frames.tip_rotation[index], frames.tip_position[index]
    total = np.zeros((6, 6))
    for k, link in enumerate(rigid.links[first:], first):
        if link.rigid_body is None:
            continue
        across = turn.T @ placed.root_rotation[k]
        xx, yy, zz, xy, xz, yz = link.rigid_body.inertia  # type: ignore[misc]
        matrix = across @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ across.T
        place = turn.T @ (placed.root_position[k] - tip) + across @ link.rigid_body.com
        x, y, z = place
        arm_ = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        mass = link.rigid_body.mass
        total += np.block([
            [mass * np.eye(3), -mass * arm_], [mass * arm_, matrix - mass * arm_ @ arm_]
        ])  # fmt: skip
    return total, turn
