"""Rigid twin of an arm: equal masses and joints, without flexible links or transmissions."""

from typing import Any

import numpy as np
from pydantic import ValidationError

from flexarm.arm import Arm, Link
from flexarm.arm.side_files import files_of
from flexarm.errors import ModelError
from flexarm.io.explain import explain_data
from flexarm.io.model_file import validated
from flexarm.io.source import show_path
from flexarm.links.end_loads import framed
from flexarm.links.imported.file import read_body
from flexarm.spatial import Pose, angles_from_rotation

# Keys of the model file that only flexible links have.
OF_FLEXIBLE = (
    "shapes", "damping", "material_damping", "elastic_energy", "elastic_force",
    "quadratic_shapes", "start", "start_speed", "start_curve",
)  # fmt: skip
# Keys of the model file that only elastic transmissions have.
OF_ELASTIC = ("stiffness", "damping", "efficiency", "backlash", "hysteresis", "kinematic_error")


def rigid(arm: Arm) -> Arm:
    """Build the rigid twin of an arm, whose links and transmissions do not deform.

    Parameters
    ----------
    arm
        The arm. Masses, inertias, inputs and passive joint springs are unchanged. A modal body
        becomes a rigid body with the tip at its undeformed position.

    Returns
    -------
    Arm
        The rigid arm, with ``, rigid`` appended to its name.

    Raises
    ------
    ModelError
        If the argument is not a valid arm, or an entry of the arm requires a flexible link.
    """
    data = validated(arm).model_dump(exclude_unset=True, mode="json")
    data["name"] = f"{arm.name[:190]}, rigid"
    for i, parent in enumerate(arm.parents):
        if parent >= 0 and arm.links[parent].modal is not None:
            _mount_at_tip(arm, i, data["links"][i])
    for name, link, link_data in zip(arm.link_names, arm.links, data["links"], strict=True):
        _stiffen(link_data["joint"])
        if link.flexible:
            for key in OF_FLEXIBLE:
                link_data.pop(key, None)
        if link.modal is not None:
            _freeze(name, link, link_data)
        elif link.flexible:
            link_data["rigid"] = True
    try:
        return Arm.model_validate(data, context={"files": files_of(arm)})
    except ValidationError as error:
        problem = explain_data(error, Arm, data)[0]
    raise ModelError(f"{show_path(problem.path)}: {problem.message}")


def _stiffen(joint: dict[str, Any]) -> None:
    """Remove the transmission's elasticity and the motor's start values from a joint's data.

    The dictionary ``joint`` is changed in place.
    """
    for key, value in joint.items():
        if key == "drive" and value is not None:
            for name in OF_ELASTIC:
                value.pop(name, None)
        elif key == "start" and isinstance(value, dict):
            value.pop("motor_position", None)
            value.pop("motor_speed", None)
        elif isinstance(value, dict):
            _stiffen(value)


def _mount_at_tip(arm: Arm, index: int, link_data: dict[str, Any]) -> None:
    """Place the joint of a link on a frame of a modal body by the pose of the frame at the tip.

    The dictionary ``link_data`` is changed in place.
    """
    link, parent = arm.links[index], arm.links[arm.parents[index]]
    if link.at == "tip":
        return
    assert isinstance(link.at, str) and parent.modal is not None
    if link.joint.dh is not None:
        raise ModelError(
            f"rigid: {arm.link_names[index]} on a frame of a body with modes cannot have 'dh'. "
            "Give before and after instead of dh."
        )
    body = read_body(parent.modal.side_file)
    pose = body.tip.inverse() @ body.frame(link.at).pose @ framed(link.joint.before)
    link_data["at"] = "tip"
    link_data["joint"]["before"] = {
        "position": pose.position.tolist(), "rotation": angles_from_rotation(pose.rotation),
    }  # fmt: skip


def _freeze(name: str, link: Link, link_data: dict[str, Any]) -> None:
    """Replace a flexible body by a rigid body in a link's data.

    The dictionary ``link_data`` is changed in place. The root of the rigid link lies behind the
    body's tip, along the tip's x axis.
    """
    assert link.modal is not None
    body = read_body(link.modal.side_file)
    turn, tip = body.tip.rotation, body.tip.position
    length = max(float(turn[:, 0] @ tip), 0.0)
    root = Pose(turn, tip - length * turn[:, 0])
    if np.any(root.position) or np.any(turn != np.eye(3)):
        if link.joint.dh is not None:
            raise ModelError(
                f"rigid: {name} is a body with modes whose tip is turned or off its x axis, "
                "which a rigid link on a joint with 'dh' cannot have. Give before and after "
                "instead of dh."
            )
        root_pose = framed(link.joint.after) @ root
        link_data["joint"]["after"] = {
            "position": root_pose.position.tolist(),
            "rotation": angles_from_rotation(root_pose.rotation),
        }  # fmt: skip
    inertia = body.integrals.inertia.moved(root.inverse())
    link_data["length"] = length
    link_data["body"] = {
        "mass": inertia.mass, "com": inertia.centre.tolist(), "inertia": list(inertia.central),
    }  # fmt: skip
