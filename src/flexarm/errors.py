"""The few errors that flexarm raises on purpose."""


class FlexarmError(Exception):
    """Base of every error that flexarm raises on purpose."""


class ModelError(FlexarmError):
    """An arm or model file that cannot be used, with what to change."""


class ShapeError(FlexarmError):
    """Shape functions that cannot be built or do not describe the link they are for."""


class SimulationError(FlexarmError):
    """A motion that cannot be continued: when, why and what to try."""


class DeviceError(FlexarmError):
    """A device that this machine lacks, or that fails; no fault of an arm."""


class LongRun(UserWarning):
    """A simulation that will take more than a minute of CPU: why, and what to change."""
