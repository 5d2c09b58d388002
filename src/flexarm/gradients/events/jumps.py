"""Events at which rates jump: bodies that the tip captures, and brakes that close.

What an event makes of the state is taken from `flexarm.integrate.mission`, and differentiated by
differences of fourth order.  A body that was captured is held where the tip met it: how it lies in
the tip's frame depends on the state then, and is carried on as twelve numbers beside the state.  So
is how it drifts from where it is let go, if it is captured again.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from flexarm.arm.mission import Event
from flexarm.formulations.equation import Equation
from flexarm.formulations.numbers.parameters import CENTRAL, Nearby
from flexarm.gradients.events.phases import Phase, caught_again, opened, shut
from flexarm.integrate.mission.bodies import at_tip, held_at_tip, joined, require_reach
from flexarm.integrate.mission.locks import arrest
from flexarm.links.base import Array
from flexarm.model import Model
from flexarm.spatial import IDENTITY, Pose

STEP = 3e-4  # [rad], [m], [s]: errors of order and of rounding are alike


@dataclass(frozen=True)
class Slopes:
    """How state and bodies after events follow from those before, from numbers and from when."""

    by_state: Array  # (after, before), each the state and after it the bodies' numbers
    by_parameters: Array  # (after, k)
    by_time: Array  # (after,)


@dataclass(frozen=True)
class Entry:
    """What events between two phases do to rates and to what the tip holds."""

    equation: Equation  # of the arm as it was given
    model: Model  # the arm
    arms: Callable[[], Mapping[str, Nearby]]  # others that differ a little in a parameter, by key
    before: Phase
    after: Phase
    t: float  # when they happen [s]

    @property
    def jumps(self) -> bool:
        """Whether rates, or what is carried, may change at all."""
        again = caught_again(self.model)
        return any(e.capture or e.brake or e.let_go in again for e in self._events(self.model))

    def state(self, y: Array) -> tuple[Array, Phase]:
        """Give the state after the events, and the phase with the bodies that are carried then."""
        if not self.jumps:
            return y, replace(self.after, held=self.before.held, freed=self.before.freed)
        n, found = self.model.size, y.copy()
        found[n : 2 * n], after = self._entered(self.model, self.before, *self._split(y), self.t)
        return found, after

    def slopes(self, y: Array) -> Slopes:
        """Differentiate that."""
        n, size, t = self.model.size, len(y), self.t
        (q, v), held = self._split(y), self.before.carried
        known = size + len(held)

        def found(model: Model, held: Array, q: Array, v: Array, t: float) -> Array:
            rates, after = self._entered(model, self.before.carrying(held), q, v, t)
            return np.concatenate([q, rates, y[2 * n :], after.carried])

        def along(q_way: Array, v_way: Array, held_way: Array, t_way: float) -> Array:
            places, weights = CENTRAL
            rows = [
                found(self.model, held + h * held_way, q + h * q_way, v + h * v_way, t + h * t_way)
                for h in STEP * np.array(places)
            ]
            return np.asarray(weights @ np.array(rows)) / STEP

        here = found(self.model, held, q, v, t)
        by_state = np.eye(len(here), known)
        for k in [*range(2 * n), *range(size, known)]:
            way = np.eye(known)[k]
            by_state[:, k] = along(way[:n], way[n : 2 * n], way[size:], 0.0)
        changed = [
            each.weights @ (np.array([found(m, held, q, v, t) for m in each.models]) - here)
            for each in self.arms().values()
        ]
        by_parameters = np.array(changed).reshape(-1, len(here)).T
        still = np.zeros(n)
        return Slopes(by_state, by_parameters, along(still, still, np.zeros(len(held)), 1.0))

    def _split(self, y: Array) -> tuple[Array, Array]:
        n = self.model.size
        return y[:n], y[n : 2 * n]

    def _events(self, model: Model) -> list[Event]:
        new = [model.arm.events[k] for k in self.after.done if k not in self.before.done]
        return sorted(new, key=lambda event: event.title)

    def _entered(
        self, model: Model, before: Phase, q: Array, v: Array, t: float
    ) -> tuple[Array, Phase]:
        """Let the events happen, in the order of `flexarm.integrate.mission.course`."""
        start, situation = before.situation(model)
        events, held, freed = self._events(model), dict(before.held), dict(before.freed)
        situation = opened(situation, events, model)
        for event in events:
            if event.let_go is None:
                continue
            holding, situation = situation, situation.without(event.let_go)
            if event.let_go in caught_again(model):
                old = self._equation(holding.model(model, start))
                body = at_tip(old, q, v, holding.held[event.let_go], t)
                freed[event.let_go] = (body, held[event.let_go])
                situation = replace(situation, drifting={**situation.drifting, event.let_go: body})
        for event in events:
            if event.capture is None:
                continue
            described = next(body for body in model.arm.bodies if body.name == event.capture)
            body = situation.caught(event.capture, t)
            old = self._equation(situation.model(model, start))
            require_reach(old, q, body, event.capture, described.reach)
            _, lay = freed.pop(event.capture, (body, IDENTITY))
            held[event.capture] = Pose(*old.tip_pose(q)).inverse() @ body.pose @ lay
            both = {**situation.held, event.capture: held_at_tip(old, q, body)}
            situation = replace(situation, held=both)
            v = joined(old, self._equation(situation.model(model, start)), q, v, body).v
        situation = shut(situation, events, model)
        after = self._equation(situation.model(model, start))
        rates = arrest(after, q, v.copy(), situation.rigid(model))[0]
        return rates, replace(self.after, held=held, freed=freed)

    def _equation(self, model: Model) -> Equation:
        formulation = replace(self.equation.formulation, model=model)
        return replace(self.equation, formulation=formulation, _compiled={})
