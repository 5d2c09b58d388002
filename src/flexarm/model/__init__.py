"""Model of an arm: the coordinates and constant arrays from which its equations are built."""

from flexarm.model.build import build
from flexarm.model.elastic import link_shapes
from flexarm.model.numbers import NUMBERS
from flexarm.model.parts import (
    BASE_COORDINATES,
    Axis,
    BeamData,
    Flexible,
    LinkModel,
    LinkTheory,
    Model,
    Rotor,
    SlidingBeam,
    TipRotation,
    WholeLink,
)
from flexarm.model.points import ArmPoint, ArmPoints, SpanFraction
from flexarm.model.state import (
    fingerprint,
    prescribed_motion,
    prescribed_profiles,
    start_state,
    trace_prescribed,
    undeformed,
)

__all__ = [
    "BASE_COORDINATES",
    "NUMBERS",
    "ArmPoint",
    "ArmPoints",
    "Axis",
    "BeamData",
    "Flexible",
    "LinkModel",
    "LinkTheory",
    "Model",
    "Rotor",
    "SlidingBeam",
    "SpanFraction",
    "TipRotation",
    "WholeLink",
    "build",
    "fingerprint",
    "link_shapes",
    "prescribed_motion",
    "prescribed_profiles",
    "start_state",
    "trace_prescribed",
    "undeformed",
]
