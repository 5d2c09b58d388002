"""Interface of an integration method: compiled functions (kernels) and properties."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from flexarm.integrate.choice.vibration import Vibration
from flexarm.integrate.motion import MotionFunctions
from flexarm.integrate.tableau import Tableau
from flexarm.loops.kernel import Kernel


@dataclass(frozen=True)
class ToleranceRule:
    """Rule by which the tolerance of a step follows from the tolerance of a run."""

    # Share of the run's tolerance that the error of a step may take, at the default tolerance.
    share: float = 1.0
    # Number of vibration periods up to which errors of such steps add up to at most the run's
    # tolerance; for more periods, the share is inversely proportional to their number.
    periods: float = 50.0


@dataclass(frozen=True)
class Method:
    """An integration method: its compiled functions, properties and defaults.

    Attributes
    ----------
    name
        Name of the method as users write it.
    order
        Order of convergence: the error at the end of a run is proportional to the step size to this
        power.
    adaptive
        Whether step sizes are chosen by an error estimate.
    citation
        Publication that describes the method.
    summary
        Purpose of the method in a few words.
    step, sample
        Compiled functions (kernels) that attempt one step, and that compute the state within the
        last step. If ``sample`` is None, steps end at samples.
    begin
        Function that builds the method's integrator state from the fields common to all methods.
    tableau
        Coefficients of the stages; None for a method that no other steps than its own use.
    work
        Function that returns the approximate number of operations of a step attempt.
    renewal
        Function that returns the number of operations to recompute data reused over many steps,
        such as a modal basis; None for a method without such data.
    renewed_after
        Number of steps after which the reused data are recomputed.
    rule
        Rule by which the tolerance of a step follows from the tolerance of a run.
    vibration_steps
        Function that returns the steps per second needed to follow vibrations at a tolerance of
        1e-3; its second argument is whether vibrations decay.
    input_steps
        Number of steps per radian of an oscillating input or a joint rotation, at a tolerance of
        1e-3.
    implicit
        Whether the method is implicit, so that stiff damping does not limit the step size.
    solves_vibrations
        Whether the method solves each vibration mode exactly, so that fast modes accumulate no
        error.
    carries_states
        Whether the method can integrate the states of servos, friction and windings.
    abreast
        Whether several arms can be integrated with common steps, one per lane of a SIMD register.
    on_gpu
        Whether the method can run on a GPU.
    restart
        Function that discards stored data of the equations after the equations have changed; None
        if the method stores no such data.
    proven
        Function that recompiles the equations with full optimisation once a run is long; None for
        methods that do not recompile.
    stable
        Largest product of step size and eigenvalue magnitude at which the method with fixed steps
        is stable for any damping.
    reach
        Largest product of step size and eigenvalue magnitude that a run may use. The product is
        bounded because the error estimate of an explicit method may accept steps beyond the
        stability limit.
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
    tableau: Tableau | None = None
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
    """Numbers of arithmetic operations of the parts of an integration step."""

    n: int  # number of coordinates
    motion: MotionFunctions  # the equations and their derivatives

    @property
    def equations(self) -> int:
        """Number of operations to evaluate the equations of motion once."""
        return self.motion.compiled().operations

    @property
    def tangent(self) -> int:
        """Number of operations to evaluate the derivatives of the equations of motion once."""
        return self.motion.slopes().operations

    @property
    def matrices(self) -> int:
        """Number of operations to evaluate mass, stiffness and damping matrices once."""
        return self.motion.matrices().operations


def zeros(sizes: Mapping[str, int]) -> dict[str, Any]:
    """Return arrays of zeros by name, as initial values for fields of the integrator state."""
    return {name: np.zeros(size) for name, size in sizes.items()}
