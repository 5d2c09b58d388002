"""Arms that are servoed, braked and loaded: small enough for closed forms."""

import json
from typing import Any

from flexarm.arm import Arm
from flexarm.io.model_file import loads


def parsed(data: dict[str, Any]) -> Arm:
    """Read a model file that is given as data."""
    return loads(json.dumps(data))


def one_joint(*, base: dict[str, Any] | None = None, events: Any = (), bodies: Any = (),
              **joint: Any) -> Arm:  # fmt: skip
    """Make a rigid link of 1 m and 3 kg on a joint, 1 kg m^2 about it, without gravity."""
    data: dict[str, Any] = {
        "flexarm": 1,
        "name": "one joint",
        "gravity": [0, 0, 0],
        "links": [
            {
                "joint": {"kind": "revolute", "name": "hinge"} | joint,
                "length": 1.0,
                "body": {"mass": 3.0, "com": [0.5, 0, 0], "inertia": [0.1, 0.25, 0.25]},
            }
        ],
        "events": list(events),
        "bodies": list(bodies),
    }
    return parsed(data | ({} if base is None else {"base": base}))


def flexible_arm(*, base: dict[str, Any] | None = None, events: Any = (), bodies: Any = (),
                 **joint: Any) -> Arm:  # fmt: skip
    """Make a bending, twisting link on an elastic joint, and a rigid one on a plain joint."""
    drive = {"rotor_inertia": 0.002, "gear_ratio": 20.0, "stiffness": 900.0, "damping": 2.0}
    data: dict[str, Any] = {
        "flexarm": 1,
        "name": "flexible",
        "gravity": [0, -9.81, 0] if base is None else [0, 0, 0],
        "links": [
            {
                "name": "boom",
                "joint": {"kind": "revolute", "name": "hinge", "drive": drive, **joint},
                "length": 1.0,
                "section": {"mass_per_length": 1.0, "EIy": 200.0, "EIz": 150.0, "GJ": 80.0,
                            "Jx": 1e-3},
                "shapes": {"kind": "clamped-free", "bending_y": 1, "bending_z": 1, "torsion": 1},
                "damping": 0.02,
            },
            {
                "name": "hand",
                "joint": {"kind": "fixed", "name": "wrist"},
                "length": 0.3,
                "body": {"mass": 1.0, "com": [0.15, 0.02, 0.01], "inertia": [0.001, 0.01, 0.01]},
            },
        ],
        "events": list(events),
        "bodies": list(bodies),
    }  # fmt: skip
    return parsed(data | ({} if base is None else {"base": base}))
