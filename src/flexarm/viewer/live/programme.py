"""Servos of a model file and their timed targets, as a live arm plays them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from flexarm.arm.mission import ACTIONS, Event
from flexarm.integrate.actuators import Servoed, servos
from flexarm.integrate.drivetrain import windings
from flexarm.integrate.mission.discrete import DiscreteState
from flexarm.integrate.mission.transitions import commanded
from flexarm.integrate.problem import Channel
from flexarm.links.base import Array
from flexarm.model import Model, start_state


@dataclass(frozen=True)
class ServoTargets:
    """Targets of a servo, one after the other, each from the time on that its channel begins."""

    channels: tuple[Channel, ...]

    @property
    def rows(self) -> Array:
        """Rows of all pieces, see `flexarm.model.profiles.pieces`."""
        rows = self.channels[0].pieces
        for channel in self.channels[1:]:
            new = channel.pieces.copy()
            new[0, 0] = channel.begin
            rows = np.vstack([rows[rows[:, 0] < channel.begin], new])
        return rows


@dataclass(frozen=True)
class Programme:
    """Servos of a file, and the targets that timed events set."""

    # servos, targets: those that are played, and what they follow.
    servos: tuple[Servoed, ...]
    targets: tuple[ServoTargets, ...]
    left_out: str  # what is not played, in words; empty if nothing

    @property
    def states(self) -> int:
        """Number of integral states."""
        return sum(each.state is not None for each in self.servos)

    @property
    def breaks(self) -> Array:
        """Times [s] at which a target or its rate jumps."""
        return np.unique([t for each in self.targets for t in each.rows[1:, 0]])


def programme(model: Model, *, plays: bool = True) -> Programme:
    """List what of a file can be played: no sampled servos, no motors with windings."""
    wound = {each.column for each in windings(model)}
    all_of_them, found = servos(model), list[Servoed]()
    for each in all_of_them:
        if plays and each.servo.period is None and each.column not in wound:
            states = sum(one.state is not None for one in found)
            found.append(replace(each, state=None if each.state is None else states))
    names = {each.name for each in found}
    led = {each.name for each in found if each.servo.rate is None}
    played = [event for event in model.arm.events if _is_played(event, led)]
    played.sort(key=lambda event: event.at or 0.0)
    others = [f"the servo of {each.name}" for each in all_of_them if each.name not in names]
    if all_of_them and not plays:
        others = ["its servos, which are too quick for real time"]
    others += [f"'{event.title}'" for event in model.arm.events if event not in played]
    targets = tuple(_target(model, each, played) for each in found)
    return Programme(tuple(found), targets, f"not played: {', '.join(others)}" if others else "")


def _is_played(event: Event, names: set[str]) -> bool:
    """Return whether an event sets targets of servos at a time, and does nothing else."""
    acts = {action for action in ACTIONS if getattr(event, action)}
    changes = {key for change in event.servo.values() for key in change}
    timed = event.at is not None and acts == {"servo"}
    return timed and names.issuperset(event.servo) and changes == {"target"}


def _target(model: Model, each: Servoed, events: Sequence[Event]) -> ServoTargets:
    q, name = start_state(model)[0], f"{each.name}: servo"
    channels, state = [Channel(name, each.profile(q))], DiscreteState()
    for event in events:
        if each.name in event.servo:
            k = model.arm.events.index(event)
            state = commanded(state, k, model, float(event.at or 0.0))
            found = replace(each, servo=each.servo.changed(state.servo_changes(each.name, model)))
            channels.append(Channel(name, found.profile(q), state.servos[each.name][0]))
    return ServoTargets(tuple(channels))
