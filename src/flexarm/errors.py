"""Exceptions and warnings that flexarm raises deliberately."""

from typing import Any


class FlexarmError(Exception):
    """Base class of all exceptions that flexarm raises deliberately."""


class ModelError(FlexarmError):
    """Error for an arm or model file that cannot be used; the message says what to change."""


class ShapeError(FlexarmError):
    """Error for shape functions that cannot be built or do not describe their link."""


class SimulationError(FlexarmError):
    """Error for a motion that cannot be continued; the message says when, why and what to try."""


class PlanRefused(FlexarmError):
    """Error for a planned motion that misses its goal, touches something or breaks a limit."""

    plan: Any = None  # the refused `flexarm.planning.Plan`; None if it cannot be simulated
    motion: Any = None  # the refused motion, as simulated in the search


class DeviceError(FlexarmError):
    """Error for a device that is missing or fails, such as a GPU."""


class LongRun(UserWarning):
    """Warning of a simulation that will take more than a minute of CPU time."""
