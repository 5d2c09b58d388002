"""Interface of an integrator: kernels and properties."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from flexarm.integrate.choice.vibration import Vibration
from flexarm.integrate.motion import MotionFunctions
from flexarm.loops.kernel import Kernel


@dataclass(frozen=True)
class ToleranceRule:
    """Rule that computes a method's tolerance per step from the tolerance of a run."""

    # Share of the run's tolerance that the error of a step may take, at the default tolerance.
    share: float = 1.0
    # Number of vibration periods up to which errors of such steps add up to at most the run's
    # tolerance; for more periods, the share is inversely proportional to their number.
    periods: float = 50.0


@dataclass(frozen=True)
class Method:
    """An integration method: its kernels, properties and defaults.

    Attributes
    ----------
    name
        Name as users give it.
    order
        Order of the error at the end of a run.
    adaptive
        Whether step sizes are chosen by an error estimate.
    citation
        Source in the literature.
    summary
        Purpose in a few words.
    step, sample
        Kernels for one trial step, and for the state within the last step (None: steps end at
        samples).
    begin
        Builds the method's integrator state from the fields that all methods share.
    work
        Approximate operations of a trial step; loops count as operations of equal time.
    renewal
        Operations to renew data that the method reuses over many steps, None without such data
        (``renewals`` counts renewals).
    renewed_after
        Number of steps between two renewals.
    rule
        Share of a run's tolerance that the error of a step may take; its numbers are in
        `flexarm.integrate.tolerance`.
    vibration_steps
        Steps per second to follow vibrations at a tolerance of 1e-3; the second argument is whether
        vibrations decay.
    input_steps
        Steps per radian of an input or of a rotation, at a tolerance of 1e-3.
    implicit
        Whether steps solve for the state, so that stiff decaying motion does not limit the step.
    solves_vibrations
        Whether fast modes accumulate no errors, since each mode is solved exactly.
    carries_states
        Whether the method can integrate actuator states.
    abreast
        Whether several motions can share steps, each in a lane of a vector register.
    on_gpu
        Whether the kernels run on a GPU too.
    restart
        Discards stored data of the equations after these have changed (None: no such data).
    proven
        Function that recompiles the equations with full optimisation once a run is long (None: the
        equations are not recompiled).
    stable
        Largest product of step and eigenvalue magnitude at which a fixed-step method is stable for
        any damping.
    reach
        Largest product of step and eigenvalue magnitude.  The error estimate of an explicit method
        may accept steps beyond the stability limit, since it does not include states within a step.
    """

    name: str
    order: int
    adaptive: bool
    citation: str
    summary: str
    step: Kernel
    sample: Kernel | None
    begin: Callable[[dict[str, Any]], Any]
    work: Callable[["Operations"], float]
    vibration_steps: Callable[[Vibration, bool], float]
    input_steps: float = 1.5
    renewal: Callable[["Operations"], float] | None = None
    renewed_after: int = 1
    implicit: bool = False
    solves_vibrations: bool = False
    carries_states: bool = True
    abreast: bool = False
    on_gpu: bool = False
    rule: ToleranceRule = ToleranceRule()
    restart: Callable[[Any], None] | None = None
    proven: Callable[[Any], None] | None = None
    stable: float = math.inf
    reach: float = math.inf


@dataclass(frozen=True)
class Operations:
    """Operation counts of the parts of an integration step."""

    n: int  # number of coordinates
    motion: MotionFunctions  # the equations and their derivatives

    @property
    def equations(self) -> int:
        """Operations of one evaluation of the equations of motion."""
        return self.motion.compiled().operations

    @property
    def tangent(self) -> int:
        """Operations of one evaluation of the derivatives of the equations."""
        return self.motion.slopes().operations

    @property
    def matrices(self) -> int:
        """Operations of one evaluation of mass, stiffness and damping matrices."""
        return self.motion.matrices().operations


def zeros(sizes: Mapping[str, int]) -> dict[str, Any]:
    """Return arrays of zeros by name, for the fields of a record."""
    return {name: np.zeros(size) for name, size in sizes.items()}
