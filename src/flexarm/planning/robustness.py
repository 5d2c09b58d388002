"""Residual vibration of planned inputs on arms with varied payload and stiffness."""

from dataclasses import dataclass
from typing import Any

from flexarm.arm import Arm
from flexarm.errors import FlexarmError
from flexarm.integrate.batch.many import simulate_many
from flexarm.io.overrides import read_value
from flexarm.planning.constants import COMPARED_RTOL, PAYLOAD_ERROR, STIFFNESS_ERROR
from flexarm.planning.problem import METHOD
from flexarm.runs.run import Run

STIFF = ("EIy", "EIz", "GJ", "EA", "E", "G")


@dataclass(frozen=True)
class Variation:
    """Residual vibration of the planned inputs with one varied parameter of the arm."""

    name: str  # name and relative change of the varied parameter
    residual: float  # vibration of the tip after the motion's end [m]


def variations(arm: Arm, run: Run, duration: float) -> tuple[Variation, ...]:
    """Return residual vibrations of the same inputs with payload and stiffness varied."""
    listed: dict[str, dict[str, Any]] = {}
    if arm.payload is not None and arm.payload.mass:
        for share in (-PAYLOAD_ERROR, PAYLOAD_ERROR):
            mass = {"payload.mass": (1 + share) * arm.payload.mass}
            listed[f"payload {share:+.0%}"] = mass
    for share in (-STIFFNESS_ERROR, STIFFNESS_ERROR):
        listed[f"stiffness {share:+.0%}"] = _stiffnesses(arm, 1 + share)
    runs = simulate_many(
        arm, t_end=float(run.t[-1]), dt=duration / 200, rtol=COMPARED_RTOL, method=METHOD,
        parameters=list(listed.values()),
    )  # fmt: skip
    pairs = zip(listed, runs, strict=True)
    return tuple(Variation(name, varied.settling(duration).swing) for name, varied in pairs)


def _stiffnesses(arm: Arm, factor: float) -> dict[str, Any]:
    """Return all stiffnesses of sections and drives times a factor, keyed by model file key."""
    changed: dict[str, Any] = {}
    for k in range(1, len(arm.links) + 1):
        places = [f"links.{k}.section.{name}" for name in STIFF]
        places += [f"links.{k}.section.material.{name}" for name in STIFF]
        for place in [*places, f"links.{k}.joint.drive.stiffness"]:
            try:
                value = read_value(arm, place)
            except FlexarmError:
                continue
            if isinstance(value, int | float):
                changed[place] = factor * value
    return changed
