"""Motions of designs that differ in numbers alone, in arrays: no object for each."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from flexarm.formulations.numbers.structures import BoundKernel, Structure
from flexarm.integrate.actuators import actuators_of
from flexarm.integrate.choice.vibration import vibration
from flexarm.integrate.method import Method
from flexarm.integrate.problem import channels
from flexarm.integrate.state import FEWEST_STEPS
from flexarm.integrate.task import InitialValueProblem
from flexarm.integrate.tolerance import step_tolerance
from flexarm.links.base import Array
from flexarm.loops.rows import call_rows
from flexarm.mechanics.drives import hub_row
from flexarm.mechanics.weightless import designs_with_inertia
from flexarm.model import start_state
from flexarm.model.designs.build import ModelDesigns
from flexarm.model.designs.draw import Drawer
from flexarm.model.numbers import part_at
from flexarm.varied import by_design

Fields = dict[tuple[str, int], Array]  # by name, and entry of a table or -1
TOGETHER = 4096  # designs whose samples are evaluated at once
MOST_STEPS = 1e6  # of a run, beyond which it is looked at by itself


class NotInArrays(Exception):
    """Motions of which each needs an object of its own."""


@dataclass(frozen=True)
class DesignMotions:
    """Motions of designs from the start of the first."""

    # designs, first, method: the designs, the motion of the first, and what solves them.
    designs: ModelDesigns
    first: InitialValueProblem
    method: Method
    sound: NDArray[np.bool_]  # which of them can be computed so, (N,)
    matrices: tuple[Array, ...]  # mass, stiffness and damping at the start, (N, n, n) each
    fields: Fields  # what the method takes of each, by its place in the record of a run, (N, ...)

    def of(self, which: NDArray[np.int64]) -> Fields:
        """Give what the method takes of some designs."""
        return {place: values[which] for place, values in self.fields.items()}

    @property
    def marks(self) -> list[int]:
        """Designs that show all in which any differ, the first sound one before the others."""
        sound = np.flatnonzero(self.sound)
        found = {int(sound[0]): None}
        for values in self.of(sound).values():
            other = np.any(values != values[0], axis=1)
            if other.any():
                found[int(sound[other.argmax()])] = None
        return list(found)

    def evaluate(self, name: str, samples: Array) -> Array:
        """Evaluate a function of coordinates and rates at states, (N, T, size).

        Raises
        ------
        NotInArrays
            If designs lead to different operations.
        """
        structure, sound = _structure(self.first.equation.compiled(name)), self.sound.copy()
        numbers = _constants(self.designs, structure, sound)
        if np.any(sound != self.sound):
            raise NotInArrays
        compiled, n, times = structure.compiled(), self.first.equation.model.size, samples.shape[1]
        parts = []
        for first in range(0, len(samples), TOGETHER):
            some = slice(first, first + TOGETHER)
            rows = samples[some].reshape(-1, samples.shape[2])
            by_name = {"q": rows[:, :n], "v": rows[:, n : 2 * n]}
            given = [by_name[port.name] for port in compiled.inputs[:-1]]
            given.append(np.repeat(numbers[some], times, axis=0))
            parts.append(call_rows(compiled, len(rows), given)[0])
        found = np.concatenate(parts)
        return found.reshape(len(samples), times, *found.shape[1:])


def _structure(member: object) -> Structure:
    assert isinstance(member, BoundKernel)  # as all are whose numbers are inputs
    return member.structure


def _constants(designs: ModelDesigns, structure: Structure, sound: NDArray[np.bool_]) -> Array:
    """Give the constants of equations, (N, c); designs of other operations are not sound."""
    if any(Drawer(part_at(designs.model, path), designs.arms.count).differ
           for path in structure.read):  # fmt: skip
        raise NotInArrays
    numbers, fits = structure.pattern.values(designs.numbers.values)
    sound &= fits
    return structure.constants(numbers)


def motions_of(designs: ModelDesigns, first: InitialValueProblem, method: Method) -> DesignMotions:
    """Make ready what a method needs of designs from the start of the first.

    Raises
    ------
    NotInArrays
        If that takes an object for each.
    Differ
        If they lead to different decisions.
    """
    model, count = designs.model, designs.arms.count
    equation, actuators = first.equation, first.motion.actuators
    groups = channels(model, {}, first.q, {})
    state, given = start_state(model), (groups, actuators_of(model))
    guarded = equation.guarded or model.attitudes or model.arm.contacts
    if not method.abreast or actuators.servos or actuators.accounts or guarded:
        raise NotInArrays
    hubs = [hub_row(model, axis) for axis in model.axes]
    if Drawer((state, given, hubs), count).differ:
        raise NotInArrays
    sound = np.ones(count, dtype=bool)
    constants = _constants(designs, _structure(first.motion.compiled()), sound)
    matrices = _structure(equation.compiled("matrices"))
    rows = [first.q, first.v, _constants(designs, matrices, sound)]
    found = call_rows(matrices.compiled(), count, rows)
    mass, stiffness, damping = (each.reshape(count, model.size, -1) for each in found)
    sound &= designs_with_inertia(model, mass)
    if not sound.any():
        raise NotInArrays
    fine = np.where(sound[:, None, None], mass, mass[sound.argmax()])
    whole = replace(
        first,
        equation=replace(equation, formulation=replace(equation.formulation, model=model)),
        shaken=[vibration(model, fine, stiffness, damping, first.v)],
    )
    fields = _fields(whole, method)
    sound &= fields["largest", -1][:, 0] * MOST_STEPS > first.times[-1] - first.times[0]
    if not sound.any():
        raise NotInArrays
    fields["table", len(first.motion.compiled().inputs) - 1] = constants
    return DesignMotions(designs, first, method, sound, (mass, stiffness, damping), fields)


def _fields(whole: InitialValueProblem, method: Method) -> Fields:
    """Give what the record of a run has of each design."""
    measured, watched, count = whole.measures, whole.watches, len(whole.vibration.basis)
    duration = float(whole.times[-1] - whole.times[0])
    rows, low, high = (
        np.stack([by_design(getattr(watch, name), count) for watch in watched], axis=1)
        for name in ("row", "low", "high")
    )
    found = {
        "wish": whole.trial_step,
        "largest": np.minimum(duration / FEWEST_STEPS, whole.longest_step(method)),
        "tolerance": step_tolerance(whole, method, whole.wanted),
        "rows": measured.rows,
        "rate_rows": measured.rate_rows,
        "to_modes": measured.to_modes,
        "frequencies": measured.frequencies,
        "floor": measured.floor,
        "top_floor": measured.rate_floor,
        "pace": measured.pace,
        "energy": measured.energy_floor,
        "watch_rows": rows,
        "watch_low": low,
        "watch_high": high,
    }
    return {(name, -1): np.reshape(each, (count, -1)) for name, each in found.items()}
