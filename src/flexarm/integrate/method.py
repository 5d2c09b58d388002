"""The contract of an integrator: its kernels, and facts about it."""

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
    """Share of a run's tolerance that a step of a method may take."""

    # Tolerance per step of a run of some fifty vibrations, by the run's tolerance and whether
    # vibrations die away.
    per_step: Callable[[float, bool], float] = lambda wanted, damped: wanted
    # Factors of the tolerance: with a law in the equations; with dry friction, strong dampers or
    # tables of springs; with contacts or stops, whose impacts magnify errors; of that where they
    # return most energy, so that there are many; on rails.
    under_law: float = 1.0
    under_friction: float = 1.0
    under_contact: float = 1.0
    under_bounces: float = 1.0
    on_rails: float = 1.0


@dataclass(frozen=True)
class Method:
    """An integrator.

    Attributes
    ----------
    name
        As users give it.
    order
        Of the error at the end of a run.
    adaptive
        Whether it chooses its steps from an error estimate.
    citation
        Where it comes from.
    summary
        What it is for, in a few words.
    step, sample
        Kernels: one trial step; the state within the last step (None: steps end at samples).
    begin
        Makes the state of a run by it from the fields that all methods share.
    work
        Operations of a trial step, about; loops count by the time that they take.
    renewal
        Operations of a renewal of what it keeps for many steps, if it does (``renewals`` counts
        them).
    renewed_after
        Steps for which that is kept.
    rule
        Share of a run's tolerance that a step may take; its numbers stand in
        `flexarm.integrate.tolerance`.
    vibration_steps
        Steps per second that it takes to follow vibrations at a tolerance of 1e-3; whether they
        die away is the second argument.
    input_steps
        Steps that it takes per radian of an input or of a turn, likewise.
    implicit
        Whether steps solve for the state, so that what is stiff and dies away makes none smaller.
    solves_vibrations
        Whether vibrations of fast modes add up no errors, because each mode is solved exactly.
    carries_states
        Whether it can solve for states of servos too.
    abreast
        Whether several motions can go in common steps, each in its lane of a vector register.
    on_gpu
        Whether its kernels run on a GPU too.
    restart
        Forgets what it keeps of the equations, which have changed (None: nothing).
    proven
        Takes at full effort what it had compiled quickly, since the run has proven long (None:
        nothing).
    stable
        Largest product of a step and an eigenvalue's size, whatever its damping, of a method in
        equal steps.
    reach
        Largest product of a step and an eigenvalue's size.  Beyond its stability an explicit method
        goes on as long as its error estimate lets it, which does not see the states within a step.
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
    """Operations of the parts of a step."""

    n: int  # number of coordinates
    motion: MotionFunctions  # the equations and their derivatives

    @property
    def equations(self) -> int:
        """Operations of one evaluation."""
        return self.motion.compiled().operations

    @property
    def tangent(self) -> int:
        """Operations of the derivatives."""
        return self.motion.slopes().operations

    @property
    def matrices(self) -> int:
        """Operations of mass, elastic and damping matrices."""
        return self.motion.matrices().operations


def zeros(sizes: Mapping[str, int]) -> dict[str, Any]:
    """Return arrays of zeros by name, for the fields of a record."""
    return {name: np.zeros(size) for name, size in sizes.items()}
