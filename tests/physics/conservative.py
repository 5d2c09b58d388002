"""Arms made conservative: nothing dissipates, nothing drives, nothing is prescribed."""

import numpy as np

from flexarm.arm import AnyActuated, Arm, Joint, Moving, Spherical
from flexarm.model import Model, start_state
from flexarm.model.profiles import evaluate
from tests.physics.states import Array, amplitudes

SPEED = {"rad": 0.8, "m": 0.2}  # per second


def conservative(arm: Arm) -> Arm:
    """Take damping, friction, inputs, wrenches and prescribed motions off an arm."""
    links = tuple(
        link.model_copy(
            update={"wrenches": (), "joint": _free(link.joint)}
            | ({"damping": 0.0} if link.flexible else {})
        )
        for link in arm.links
    )
    return arm.model_copy(update={"links": links})


def kicked(model: Model, seed: int = 0) -> Array:
    """Start (q, v) as the model file says, with a speed for every joint and links a little bent.

    Nodal coordinates start at rest: displacing one alone would ring the shortest waves.
    """
    q, v = start_state(model)
    random = np.random.default_rng(seed)
    for part in model.links:
        for axis in part.axes:
            v[axis.index] = SPEED[axis.unit] * random.uniform(0.5, 1) * random.choice([-1, 1])
            if axis.motor is not None:
                v[axis.motor] = v[axis.index]
        if part.modes.stop > part.modes.start and "node" not in model.names[part.modes.start]:
            length = None if part.body.range is None else float(q[part.exposed])
            q[part.modes.start] += 0.1 * amplitudes(part, length)[0]
    if model.base_moves:
        v[:6] = random.uniform(-0.1, 0.1, 6)
    return np.concatenate([q, v])


def _free(joint: Joint) -> Joint:
    if isinstance(joint, Moving):
        return joint.model_copy(update=_undisturbed(joint))
    if isinstance(joint, Spherical):
        return joint.model_copy(update={"damping": 0.0})
    held = {label: each.model_copy(update=_undisturbed(each)) for label, each in joint.axes.items()}
    return joint.model_copy(update=held)


def _undisturbed(joint: AnyActuated) -> dict[str, object]:
    """Say what to change of what acts along an axis so that nothing disturbs it."""
    changes: dict[str, object] = {"friction": None, "input": None}
    for name in ("spring", "drive"):
        piece = getattr(joint, name)
        if piece is not None:
            changes[name] = piece.model_copy(update={"damping": None})
    if joint.actuation == "prescribed":
        first = _first(joint)
        changes |= {"actuation": "torque", "motion": None}
        changes["start"] = joint.start.model_copy(update={"position": first})
    return changes


def _first(joint: AnyActuated) -> float:
    """Where a prescribed joint's motion begins."""
    assert joint.motion is not None
    return evaluate(joint.motion, 0.0)[0]
