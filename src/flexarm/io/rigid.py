"""The rigid twin of an arm: the same masses and joints, nothing bends."""

from typing import Any

from pydantic import ValidationError

from flexarm.arm import Arm
from flexarm.arm.side_files import files_of
from flexarm.errors import ModelError
from flexarm.io.explain import explain_data
from flexarm.io.model_file import validated
from flexarm.io.source import show_path

# What only links that bend may say.
OF_FLEXIBLE = (
    "shapes", "damping", "elastic_energy", "elastic_force", "quadratic_shapes", "start",
    "start_speed",
)  # fmt: skip


def rigid(arm: Arm) -> Arm:
    """Make the rigid twin of an arm: links that do not deform, transmissions that do not wind up.

    Parameters
    ----------
    arm
        The arm; masses, inertias, inputs, passive springs of its joints and all else stay.

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
    for link, described in zip(arm.links, data["links"], strict=True):
        _stiffen(described["joint"])
        if link.flexible:
            for key in OF_FLEXIBLE:
                described.pop(key, None)
            described["rigid"] = True
    try:
        return Arm.model_validate(data, context={"files": files_of(arm)})
    except ValidationError as error:
        problem = explain_data(error, Arm, data)[0]
    raise ModelError(f"{show_path(problem.path)}: {problem.message}")


def _stiffen(joint: dict[str, Any]) -> None:
    """Take springs and dampers out of all transmissions of a joint."""
    for key, value in joint.items():
        if key == "drive" and value is not None:
            value.pop("stiffness", None)
            value.pop("damping", None)
        elif isinstance(value, dict):
            _stiffen(value)
