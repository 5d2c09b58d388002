"""Keys of a model file: joints by name, and keys that are taken away."""

from typing import Any

import pytest

import flexarm
from flexarm.arm.side_files import files_of
from flexarm.errors import FlexarmError, ModelError
from flexarm.formulations.numbers import parameter_keys
from flexarm.io.model_file import find_place, loads, read_change, read_value, with_changes

ARM = """
flexarm: 1
name: two joints
links:
  - joint:
      name: shoulder
      kind: revolute
      drive: {rotor_inertia: 0.1, stiffness: 900}
      friction: {viscous: 0.1}
    length: 0.5
    body: {mass: 1}
  - joint: {kind: universal, first: {friction: {viscous: 0.2}}}
    length: 0.5
    section: {EIz: 4.0, mass_per_length: 0.4}
    shapes: {kind: loaded, bending_y: 1}
"""


@pytest.fixture(scope="module")
def arm() -> flexarm.Arm:
    return loads(ARM)


@pytest.mark.parametrize(
    ("by_joint", "by_link"),
    [
        ("joints.shoulder.drive.stiffness", "links.1.joint.drive.stiffness"),
        ("joints.1.drive.stiffness", "links.1.joint.drive.stiffness"),
        ("joints[1].friction.viscous", "links.link1.joint.friction.viscous"),
        ("joints.joint2.first.friction.viscous", "links.2.joint.first.friction.viscous"),
    ],
)
def test_joints_have_keys_by_name(arm: flexarm.Arm, by_joint: str, by_link: str) -> None:
    assert find_place(arm, by_joint) == find_place(arm, by_link)
    assert read_value(arm, by_joint) == read_value(arm, by_link)
    changed = flexarm.change_arm(arm, {by_joint: 7.0})
    assert changed == flexarm.change_arm(arm, {by_link: 7.0})
    assert changed == with_changes(arm, [read_change(f"{by_joint}=7.0")], files_of(arm))
    assert parameter_keys(arm, [by_joint]) == (by_joint,)
    with pytest.raises(FlexarmError, match="each number of the arm once"):
        parameter_keys(arm, [by_joint, by_link])


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("joints.elbow.friction", "no 'elbow' in joints. There are shoulder, joint2; or 1 to 2"),
        ("joints.joint1.friction", "no 'joint1' in joints"),
        ("joints", "must name a joint, such as joints.1.friction"),
        ("joints.shoulder.drive.stifness", "unknown key"),
    ],
)
def test_keys_of_no_joint_are_refused(arm: flexarm.Arm, key: str, said: str) -> None:
    with pytest.raises(ModelError, match=said):
        flexarm.change_arm(arm, {key: 1.0})


@pytest.mark.parametrize("key", ["links.2.shapes", "joints.shoulder.friction", "joints.1.drive"])
def test_none_takes_a_key_away(arm: flexarm.Arm, key: str) -> None:
    changed = flexarm.change_arm(arm, {key: None})
    *steps, last = find_place(arm, key)
    here: Any = changed.model_dump(exclude_unset=True, mode="json")
    for step in steps:
        here = here[step]
    assert last not in here
    assert changed == with_changes(arm, [read_change(f"{key}=")], files_of(arm))


def test_a_key_that_is_not_there(arm: flexarm.Arm) -> None:
    key = "joints.shoulder.servo"
    assert read_value(flexarm.change_arm(arm, {key: None}), key) is None
    with pytest.raises(ModelError, match=r"no 'damping' in links\[1\].joint.servo"):
        flexarm.change_arm(arm, {"joints.shoulder.servo.damping": None})
    with pytest.raises(ModelError, match="no 'jont' in links"):
        flexarm.change_arm(arm, {"links.1.jont": None})


@pytest.mark.parametrize("key", ["gravity", "notes", "base", "stiffening", "links.1.shapes"])
def test_none_leaves_a_key_that_the_file_does_not_state(arm: flexarm.Arm, key: str) -> None:
    bare = flexarm.change_arm(arm, {key: None})
    assert flexarm.change_arm(bare, {key: None}) == bare
