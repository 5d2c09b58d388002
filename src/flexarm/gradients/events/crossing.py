"""Events that a quantity brings about: when they happen, and what becomes of derivatives there.

Steps stay as they are when a number changes, but the time t of the event moves.  A run in the steps
of another goes on to it by one step more, and after the event back by one more.  Where the two runs
are one, both have no length, and a step of any method changes with its length there as the state
does with time: derivatives dy of the state become dy + (f - f') dt, with the rates f before and f'
after the event, and dt what keeps the quantity at its value; where the state jumps to g(y, t), they
become g_y dy + (g_y f + g_t - f') dt (saltation; Hiskens & Pai 2000, IEEE Trans. Circuits Syst. I
47(2), 204-220).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from flexarm.errors import SimulationError
from flexarm.gradients.events.jumps import Entry, Slopes
from flexarm.gradients.events.phases import value_of
from flexarm.gradients.plan import StepSequence
from flexarm.gradients.trajectory import RecordedTrajectory
from flexarm.integrate.mission.legs import times_of
from flexarm.integrate.system import instant
from flexarm.links.base import Array

GRAZES = 1e-9  # of a quantity's size: one that would go beyond its value by less only touches it
SETTLED = 1e-9  # of the last step: by how much the time of an event may be unsettled


@dataclass(frozen=True)
class Crossing:
    """What becomes of derivatives where an event happens.

    They are of the state, and after it of the numbers of bodies that the tip has captured.
    """

    # by_before, by_number: how what is after it follows from what is before it, and from the
    # parameters, at one time.
    by_before: Array
    by_number: Array
    # off_before, off_number, gap: derivatives of the time at which it happens by what is before it
    # and by the parameters; what that time changes after it.
    off_before: Array
    off_number: Array
    gap: Array

    @classmethod
    def between(
        cls, before: RecordedTrajectory, after: RecordedTrajectory, entry: Entry
    ) -> "Crossing | None":
        """Find what becomes of them from a leg to the next; None if they stay."""
        event, y, k = before.plan.phase.ended, before.states[-1], len(before.parameters)
        size = len(y) + len(before.plan.phase.carried)
        slopes = Slopes(np.eye(size), np.zeros((size, k)), np.zeros(size))
        if entry.jumps:
            slopes = entry.slopes(y)
        elif event < 0:
            return None
        by_before, by_number = slopes.by_state, slopes.by_parameters
        if event < 0:
            return cls(by_before, by_number, np.zeros(size), np.zeros(k), slopes.by_time)
        begin, rates = dict(after.plan.phase.events)[event], before.rates_at(-1)
        for channel in after.task.groups[3]:
            if channel.begin == begin and np.any(channel.pieces[:, 3:7]):
                raise SimulationError(
                    f"gradients: {channel.name}: its target moves from the time of an event on "
                    "that depends on the motion: give a constant one"
                )
        _, by_state, seen = before.looked(-1, event)
        off = seen @ before.along("pulled seen")
        here = value_of(before.model, event)
        for i, each in enumerate(before.nearby.values()):
            there = np.array([value_of(model, event) for model in each.models])
            off[i] -= each.weights @ (there - here)
        rate = -float(by_state @ rates)
        gap = by_before[:, : len(y)] @ rates + slopes.by_time
        gap[: len(y)] -= after.rates_at(0)
        return cls(by_before, by_number, np.append(by_state, off[k:]) / rate, off[:k] / rate, gap)

    def pushed(self, slopes: Array) -> Array:
        """Take derivatives, one column each, from before it to after it."""
        late, found = self.off_before @ slopes, self.by_before @ slopes
        count = len(self.off_number)
        late[:count] += self.off_number
        found[:, :count] += self.by_number
        return np.asarray(found + np.outer(self.gap, late))

    def pulled(self, by: Array) -> tuple[Array, Array]:
        """Take derivatives by what is after it back to before it, and give those by numbers."""
        late = float(self.gap @ by)
        return by @ self.by_before + late * self.off_before, by @ self.by_number + (
            late * self.off_number
        )


def reached(
    leg: RecordedTrajectory, plan: Callable[[float], StepSequence], t: float
) -> RecordedTrajectory:
    """End a leg where the quantity that ends it has its value, near a time [s] (Newton)."""
    event, model, moved = plan(t).phase.ended, leg.model, np.inf
    value = value_of(model, event)
    while True:
        found = leg.by(plan(t))
        off, rate = _beyond(found, -1, event, value)
        step = -off / rate if rate else np.nan
        if not abs(step) < moved / 2:
            break
        t, moved = t + step, abs(step)
    first, last = _beyond(found, 0, event, value), abs(found.t[-1] - found.t[0])
    depth = rate**2 / 2 / max(abs(rate - first[1]) / last, 1e-300)
    size = max(abs(value), abs(first[0]))
    if not moved <= SETTLED * last or depth < GRAZES * size:
        title = model.arm.events[event].title
        raise SimulationError(
            f"gradients: '{title}' happens at t = {t:.6g} s where its quantity only touches its "
            "value: when that is has no derivative there; take a value that is passed at a speed"
        )
    return found


def ended(
    leg: RecordedTrajectory, plan: StepSequence, event: int, t: float
) -> list[RecordedTrajectory]:
    """End a leg by an event near a time [s]: whole steps, and the one to where it happens."""
    ends, phase, found = plan.ends[plan.ends < t - 2 * instant(t)], plan.phase, []
    last = float(ends[-1])
    if len(ends) > 1:
        times = times_of(phase.times, float(ends[0]), last)
        whole = StepSequence(ends, replace(phase, times=times), plan.renewed[: len(ends) - 1])
        found = [leg.by(whole)]
        leg = replace(leg, like=leg.like or found[0]).begun(found[0].states[-1])

    def until(t: float) -> StepSequence:
        ends = np.array([last, t])
        return StepSequence(
            ends, replace(phase, times=ends, ended=event), np.minimum(plan.renewed[:1], 1)
        )

    return [*found, reached(leg, until, t)]


def _beyond(leg: RecordedTrajectory, sample: int, event: int, value: float) -> tuple[float, float]:
    """Give by how much a quantity is beyond its value at a sample of a leg, and its rate."""
    found, by_state, _ = leg.looked(sample, event)
    return found - value, float(by_state @ leg.rates_at(sample))
