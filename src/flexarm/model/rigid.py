"""The rigid twin of an arm: the same masses and joints, nothing bends."""

from typing import Any

import numpy as np
from pydantic import ValidationError

from flexarm.arm import Arm, Link
from flexarm.arm.side_files import files_of
from flexarm.errors import ModelError
from flexarm.io.explain import explain_data
from flexarm.io.model_file import validated
from flexarm.io.source import show_path
from flexarm.links.ends import framed
from flexarm.links.imported.file import read_body
from flexarm.spatial import Pose, angles_from_rotation

# What only links that bend may say.
OF_FLEXIBLE = (
    "shapes", "damping", "material_damping", "elastic_energy", "elastic_force",
    "quadratic_shapes", "start", "start_speed", "start_curve",
)  # fmt: skip
# What only transmissions that wind up may say.
OF_ELASTIC = ("stiffness", "damping", "efficiency", "backlash", "hysteresis", "kinematic_error")


def rigid(arm: Arm) -> Arm:
    """Build the rigid twin of an arm: links and transmissions that do not deform.

    Parameters
    ----------
    arm
        The arm; masses, inertias, inputs, passive springs of its joints and all else stay.  A body
        with modes becomes a rigid one, with the tip where it was.

    Returns
    -------
    Arm
        Of the same name, with ``, rigid`` behind it.

    Raises
    ------
    ModelError
        If it is no arm, or something in it needs a link to bend.
    """
    data = validated(arm).model_dump(exclude_unset=True, mode="json")
    data["name"] = f"{arm.name[:190]}, rigid"
    for name, link, described in zip(arm.link_names, arm.links, data["links"], strict=True):
        _stiffen(described["joint"])
        if link.flexible:
            for key in OF_FLEXIBLE:
                described.pop(key, None)
        if link.modal is not None:
            _freeze(name, link, described)
        elif link.flexible:
            described["rigid"] = True
    try:
        return Arm.model_validate(data, context={"files": files_of(arm)})
    except ValidationError as error:
        problem = explain_data(error, Arm, data)[0]
    raise ModelError(f"{show_path(problem.path)}: {problem.message}")


def _stiffen(joint: dict[str, Any]) -> None:
    """Remove springs, what winds up with them, and motor coordinates from a joint."""
    for key, value in joint.items():
        if key == "drive" and value is not None:
            for name in OF_ELASTIC:
                value.pop(name, None)
        elif key == "start" and isinstance(value, dict):
            value.pop("motor_position", None)
            value.pop("motor_speed", None)
        elif isinstance(value, dict):
            _stiffen(value)


def _freeze(name: str, link: Link, described: dict[str, Any]) -> None:
    """Describe a body with modes as a rigid one, whose root lies behind its tip along x."""
    assert link.modal is not None
    body = read_body(link.modal.side_file)
    turn, tip = body.tip.rotation, body.tip.position
    length = max(float(turn[:, 0] @ tip), 0.0)
    root = Pose(turn, tip - length * turn[:, 0])
    if np.any(root.position) or np.any(turn != np.eye(3)):
        if link.joint.dh is not None:
            raise ModelError(
                f"rigid: {name} is a body with modes whose tip is not along its x axis, "
                "or turned, which a rigid link on a joint with 'dh' cannot have. Give "
                "before and after."
            )
        after = framed(link.joint.after) @ root
        described["joint"]["after"] = {
            "position": after.position.tolist(), "rotation": angles_from_rotation(after.rotation)
        }  # fmt: skip
    weighed = body.integrals.inertia.moved(root.inverse())
    described["length"] = length
    described["body"] = {
        "mass": weighed.mass, "com": weighed.centre.tolist(), "inertia": list(weighed.central),
    }  # fmt: skip
