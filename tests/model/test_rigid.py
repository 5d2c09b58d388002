"""The rigid twin of an arm, and keys that `--set` takes away."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import flexarm
from flexarm.arm.side_files import SideFiles
from flexarm.errors import ModelError
from flexarm.io.model_file import read_change, with_changes
from flexarm.model import build, start_state
from flexarm.spatial import turn
from tests.links.reduced_bodies import craig_bampton

Array = NDArray[np.float64]

# Elastic joints and a payload; a sliding link; universal, spherical and screw joints.
SAMPLES = ("chen-two-link", "telescope", "crossed-joints")


@pytest.mark.few(2)
@pytest.mark.parametrize("name", SAMPLES)
def test_the_rigid_twin_has_the_inertia_of_the_arm_as_it_is_undeformed(name: str) -> None:
    arm = flexarm.example_arm(name)
    flexible, rigid = build(arm), build(flexarm.rigid(arm))
    assert not any(part.flexible for part in rigid.links)
    # A motor moves with its joint, shapes do not.
    along = np.array([
        [float(each.removesuffix(".motor") == other) for other in rigid.names]
        for each in flexible.names
    ])  # fmt: skip
    q = start_state(rigid)[0]
    wanted = flexarm.formulation("composite", flexible).mass_matrix(along @ q)
    found = flexarm.formulation("composite", rigid).mass_matrix(q)
    assert found == pytest.approx(along.T @ wanted @ along, rel=1e-12, abs=1e-12)


def test_a_rigid_arm_is_its_own_twin_but_for_its_name() -> None:
    arm = flexarm.example_arm("puma-560")
    twin = flexarm.rigid(arm)
    assert twin.name == f"{arm.name}, rigid"
    assert twin.links == arm.links


def test_keys_of_what_bends_and_winds_up_go_with_it() -> None:
    drive = {
        "rotor_inertia": 1e-4, "gear_ratio": 50, "stiffness": 900, "damping": 1, "backlash": 1e-3,
        "efficiency": 0.9, "hysteresis": {"effort": 1, "stiffness": 500},
        "kinematic_error": {"amplitude": 1e-4},
    }  # fmt: skip
    joint = {"kind": "revolute", "drive": drive, "start": {"motor_position": 0.1}}
    link = {
        "joint": joint, "length": 1, "section": {"mass_per_length": 1, "EIz": 50},
        "material_damping": {"time": 1e-3}, "start_curve": {"stations": [0.5, 1], "y": [0, 0.01]},
    }  # fmt: skip
    twin = flexarm.rigid(flexarm.Arm(flexarm=1, name="all", links=[link]))
    kept = twin.links[0].joint.model_dump(exclude_unset=True)["drive"]
    assert kept == {"rotor_inertia": 1e-4, "gear_ratio": 50}
    assert build(twin).names == ("joint1",)


ROTATIONS = (np.eye(3), np.array([[0.0, 0, 1], [0, 1, 0], [-1, 0, 0]]), turn(2, 2.0) @ turn(0, 0.3))


@pytest.mark.few(1)
@pytest.mark.parametrize("rotation", ROTATIONS)
def test_the_rigid_twin_of_a_body_with_modes_has_its_inertia_and_tip(
    rotation: Array, tmp_path: Path
) -> None:
    arm = body_arm(tmp_path, rotation, after={"position": [0.1, 0, 0], "rotation": [0.2, 0.3, 0.4]})
    flexible, rigid = build(arm), build(flexarm.rigid(arm))
    assert rigid.names == ("joint1", "joint2")
    q, at = np.array([0.3, -0.7]), [flexible.names.index(name) for name in rigid.names]
    full = np.zeros(len(flexible.names))
    full[at] = q
    wanted = flexarm.formulation("composite", flexible).mass_matrix(full)[np.ix_(at, at)]
    found = flexarm.formulation("composite", rigid).mass_matrix(q)
    assert found == pytest.approx(wanted, rel=1e-8)  # a body's dust of 1e-9 is set to zero


def test_a_body_whose_tip_no_dh_link_has_is_named(tmp_path: Path) -> None:
    arm = body_arm(tmp_path, np.eye(3), dh={"alpha": 0.1})
    with pytest.raises(ModelError, match=r"^rigid: link1 is a body with modes whose tip"):
        flexarm.rigid(arm)


def body_arm(folder: Path, rotation: Array, **joint: object) -> flexarm.Arm:
    """Two bodies with modes, their tips off the x axis and turned."""
    np.savez(folder / "body.npz", **craig_bampton(0) | {"tip_rotation": rotation})
    link = {"body": {"kind": "modal", "file": "body.npz"}}
    joints = [{"kind": "revolute", "axis": [0, 0, 1], **joint}, {"kind": "revolute"}]
    data = {"flexarm": 1, "name": "bodies", "links": [link | {"joint": each} for each in joints]}
    return flexarm.Arm.model_validate(data, context={"files": SideFiles(folder)})


def changed(*texts: str) -> flexarm.Arm:
    arm = flexarm.example_arm("driven-link-payload")
    return with_changes(arm, [read_change(text) for text in texts], SideFiles(Path()))


def test_an_empty_value_takes_a_key_away() -> None:
    assert changed("payload=").payload is None
    assert changed("bodies=") == flexarm.example_arm("driven-link-payload")
    assert changed("links.1.joint.input=").links[0].joint.axes[""].input is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("base.body.mass=", "there is no 'body' in base"),
        ("links.7=", "no '7' in links"),
        ("links.1.joint=", "links\\[1\\].joint"),
    ],
)
def test_a_key_that_is_not_there_or_is_needed_cannot_be_taken_away(text: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        changed(text)
