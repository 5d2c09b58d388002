"""Notices of the errors that `simulate` would raise for an arm, found by its own checks."""

import re
from collections.abc import Iterator

import numpy as np

from flexarm.check.report import Notice, axis_place
from flexarm.errors import FlexarmError
from flexarm.integrate.constants import INSTANT_RUN
from flexarm.integrate.mission.hybrid import HybridSimulation, phase_problem
from flexarm.integrate.task import equation_of
from flexarm.model import Model

PLACE = re.compile(r"(\w+(?:\[\d+\]|\.\w+)*): ")  # at the beginning of a message: events[1].when


def refusal_notices(model: Model) -> Iterator[Notice]:
    """Yield a notice if `simulate` would refuse the arm, with its error message."""
    try:
        hybrid = HybridSimulation(model, {}, INSTANT_RUN, equation_of)
        state, times = hybrid.first(model.arm.start), np.array([0.0, INSTANT_RUN])
        phase_problem(hybrid, state, times, compiles=False)
    except FlexarmError as error:
        place, text = _placed(model, str(error))
        message, _, remedy = text.partition(". ")
        yield Notice("warning", "refused", place, f"simulate refuses the arm: {message}", remedy)


def _placed(model: Model, message: str) -> tuple[str, str]:
    """Split an error message into the path in the model file that it is about, and its text.

    The path is found at the beginning of the message, or from the name of a joint, link or body
    there.
    """
    match = PLACE.match(message)
    if match and match[1].split("[")[0].split(".")[0] in type(model.arm).model_fields:
        return match[1], message[match.end() :]
    places = {body.name: f"bodies[{k}]" for k, body in enumerate(model.arm.bodies, 1)}
    for k, part in enumerate(model.links, 1):
        places[part.name] = f"links[{k}]"
        places |= {axis.name: axis_place(axis) for axis in part.axes}
    named = [name for name in places if message.startswith((f"{name}:", f"{name} "))]
    return (places[max(named, key=len)] if named else "links"), message
