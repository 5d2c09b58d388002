"""The chains that are timed: flexible and rigid ones of flexarm, and their states."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexarm.arm import Arm
from flexarm.engine.compile import Compiled
from flexarm.formulations import formulation
from flexarm.model import Model, build
from timing import Contender, repeat_address

Array = NDArray[np.float64]

LENGTH = 0.4  # [m] of a link
MASS = 2.0  # [kg]
INERTIA = (0.002, 0.0277, 0.0277)  # [kg m^2] about the centre of mass
GRAVITY = (0.0, -9.81, 0.0)  # across the first joint's axis, so that every link feels it
PAYLOAD = {"mass": 1.0, "com": (0.05, 0.02, 0.03), "inertia": (0.003, 0.003, 0.002)}
MODES = {"bending_y": 2, "bending_z": 1}


def twist(index: int) -> float:
    """Return the angle from one joint's axis to the next [rad]: 0 and 90 degrees in turn."""
    return math.pi / 2 if index % 2 else 0.0


def flexible_chain(
    links: int, *, shapes: dict[str, Any] | None = None, payload: bool = False
) -> Arm:
    """Return a chain of flexible links, each with three modes unless told otherwise."""
    link = {
        "length": LENGTH,
        "section": {"mass_per_length": MASS / LENGTH, "EIy": 5000.0, "EIz": 5000.0},
        "shapes": shapes or {"kind": "clamped-free", **MODES},
    }
    return _chain(f"{links} flexible links", [link] * links, payload=PAYLOAD if payload else None)


def rigid_chain(links: int) -> Arm:
    """Return a chain of rigid links."""
    body = {"mass": MASS, "com": (LENGTH / 2, 0.0, 0.0), "inertia": INERTIA}
    return _chain(f"{links} rigid links", [{"length": LENGTH, "body": body}] * links)


def _chain(name: str, links: list[dict[str, Any]], *, payload: dict[str, Any] | None = None) -> Arm:
    joints = [
        {"kind": "revolute", "dh": {"convention": "modified", "alpha": twist(k)}}
        for k in range(len(links))
    ]
    content = [link | {"joint": joint} for link, joint in zip(links, joints, strict=True)]
    arm = {"flexarm": 1, "name": name, "gravity": GRAVITY, "links": content, "payload": payload}
    return Arm.model_validate(arm)


def state(model: Model) -> tuple[Array, Array, Array]:
    """Return coordinates, speeds and efforts: joints anywhere, deflections small."""
    rng = np.random.default_rng(7)
    q, v = rng.normal(size=model.size), rng.normal(size=model.size)
    for part in model.links:
        q[part.modes] *= 0.01 * LENGTH
        v[part.modes] *= 0.1 * LENGTH
    return q, v, rng.normal(size=len(formulation("articulated", model).input_names))


def contender(name: str, arm: Arm, *, stiffening: bool) -> tuple[Contender, Array]:
    """Return flexarm's forward dynamics of an arm, compiled, and the accelerations it finds."""
    model = build(arm, stiffening=stiffening)
    compiled = formulation("articulated", model).compiled("forward_dynamics", level="fast")
    arrays = _buffers(compiled, state(model))
    run = repeat_address(compiled.address, [array.ctypes.data for array in arrays])
    run(1)
    accelerations = arrays[len(compiled.inputs)]

    def keep(times: int, _arrays: list[Array] = arrays, _compiled: Compiled = compiled) -> None:
        run(times)  # the defaults keep buffers and machine code alive

    timed = Contender(name, len(arm.links), keep, operations=compiled.operations)
    return timed, accelerations.copy()


def _buffers(compiled: Compiled, given: tuple[Array, ...]) -> list[Array]:
    arrays = list(given)
    arrays += [np.zeros(max(1, port.size)) for port in compiled.inputs[len(given) :]]
    arrays += [np.zeros(max(1, port.size)) for port in compiled.outputs]
    return [*arrays, np.zeros(max(1, compiled.work_size))]
