"""A motion in recorded steps, its sensitivities and its adjoint."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from flexarm.engine.compile import real_numbers
from flexarm.errors import SimulationError
from flexarm.formulations.numbers.parameters import Nearby, directions_of
from flexarm.formulations.numbers.structures import Member
from flexarm.gradients.rates import DIRECTION, PULSE, TANGENT, WEIGHT, RateFunctions
from flexarm.gradients.steps import Adjoint, Steps, Tangents, advance, pull, push
from flexarm.integrate.methods.base import zeros
from flexarm.integrate.methods.explicit import table_of_rows
from flexarm.integrate.methods.oscillator import RESPONSES
from flexarm.integrate.problem import TURN, system_of, table_of
from flexarm.integrate.system import WORKS, rounding
from flexarm.integrate.task import Task
from flexarm.links.base import Array
from flexarm.loops.language import Ints
from flexarm.model import Model, start_state


@dataclass(frozen=True)
class Tableau:
    """An explicit method: ``a`` (stages + 1, stages), the new state last, ``c`` (stages + 1,)."""

    a: Array
    c: Array

    @property
    def stages(self) -> int:
        """How many there are."""
        return self.a.shape[1]

    @classmethod
    def of(
        cls, a: Sequence[Mapping[int, float]], b: Mapping[int, float], c: Sequence[float]
    ) -> "Tableau":
        """Take the stages of a method's table, nonzero entries by column."""
        count = max(b) + 1
        full = table_of_rows([*a[:count], b], count).reshape(count + 1, count)
        return cls(full, np.append(c[:count], 1.0))


@dataclass(frozen=True)
class Plan:
    """The steps of a run, which are held when it is differentiated.

    Attributes
    ----------
    ends
        Of the steps [s], the samples among them.
    basis
        Which modes each step is taken in, -1 if in none.
    bases
        By basis modes, their inverse, squared frequencies and damping rates, (B, 2n^2 + 2n).
    """

    ends: Array
    basis: Ints
    bases: Array

    @classmethod
    def without_modes(cls, ends: Array) -> "Plan":
        """Make the plan of a method that has no modes."""
        return cls(ends, np.full(len(ends) - 1, -1, dtype=np.int64), np.zeros((0, 0)))

    @property
    def lengths(self) -> Array:
        """Of the steps [s], alike where rounding alone tells them apart."""
        grain = 4 * float(np.spacing(self.ends[-1]))
        return np.round(np.diff(self.ends) / grain) * grain


@dataclass(frozen=True)
class RunGradient:
    """Derivatives of a function of a run's samples.

    Attributes
    ----------
    parameters
        By the numbers of the arm, (k,).
    q, v
        By the start, (n,) each.
    inputs
        By the inputs at the samples, (T, inputs), with straight lines between them.
    """

    parameters: Array
    q: Array
    v: Array
    inputs: Array


@dataclass(frozen=True)
class Trajectory:
    """A motion in recorded steps.

    Attributes
    ----------
    task
        The motion.
    functions
        Its compiled rates and their derivatives.
    parameters
        Keys of the numbers that it is differentiated by.
    tableau, plan
        The method and its steps.
    started
        Whether the start is that of the model file, and moves with its numbers.
    """

    task: Task
    functions: RateFunctions
    parameters: tuple[str, ...]
    tableau: Tableau
    plan: Plan
    started: bool

    @property
    def steps(self) -> Array:
        """Ends of the steps [s], the samples among them."""
        return self.plan.ends

    @property
    def t(self) -> Array:
        """Times of the samples [s], (T,)."""
        return self.task.times

    @property
    def q(self) -> Array:
        """Coordinates at the samples, (T, n)."""
        return self.states[:, : self._n]

    @property
    def v(self) -> Array:
        """Rates at the samples, (T, n)."""
        return self.states[:, self._n : 2 * self._n]

    @cached_property
    def states(self) -> Array:
        """Coordinates, rates, and states of servos and drives at the samples, (T, size).

        Raises
        ------
        SimulationError
            If the motion grew without bound.
        """
        steps = self._advanced
        found = steps.samples.reshape(len(self.t), -1)
        if not np.isfinite(found).all():
            late = self.t[np.flatnonzero(~np.isfinite(found).all(axis=1))[0]]
            raise SimulationError(
                f"the motion grew without bound before t = {late:.4g} s: take smaller steps, or "
                "look at inputs and numbers of the arm"
            )
        for first in self._model.attitudes:
            if np.abs(found[:, first + 1]).max() > TURN:
                raise SimulationError(
                    f"{self._model.names[first + 1]}: turns by more than {TURN:g} rad, where its "
                    "angles are counted anew: gradients are of runs that turn by less"
                )
        return found

    def sensitivities(self) -> tuple[Array, Array]:
        """Differentiate all samples by the parameters, forward: of q and of v, (T, n, k) each."""
        rows = self.state_sensitivities()
        return rows[:, : self._n], rows[:, self._n : 2 * self._n]

    def state_sensitivities(self, inputs: int = 0) -> Array:
        """Differentiate the whole states at the samples by the parameters, (T, size, k).

        With ``inputs``, by what is added to each of these at all times too: so many columns more.
        """
        self.states  # noqa: B018  refuses a motion that has no end
        member, size = self._pushed, self._size
        along = directions_of(member.structure.book, self._model, self.nearby)
        count, columns = along.shape[0], along.shape[1] + inputs
        fields, buffers = self._fields(1)
        driven = len(self.task.groups[0])
        buffers |= {TANGENT: np.zeros(size), PULSE: np.zeros(driven), DIRECTION: np.zeros(count)}
        buffers["change"] = np.zeros(size - self._n)
        table, kept = table_of(member, buffers)
        directions = np.concatenate([along.T, np.zeros((inputs, count))])
        starts = np.concatenate([self._start_slopes(), np.zeros((inputs, size))])
        pulses = np.zeros((columns, driven))
        pulses[along.shape[1] :, :] = np.eye(inputs, driven)
        record = Tangents(
            **fields,
            columns=columns,
            numbers=count,
            equations=member.table_address,
            table=table,
            tangent=buffers[TANGENT],
            pulse=buffers[PULSE],
            direction=buffers[DIRECTION],
            change=buffers["change"],
            directions=directions.ravel(),
            pulses=pulses.ravel(),
            tangents=starts.ravel(),
            tangent_samples=np.zeros(len(self.t) * columns * size),
            x_along=np.zeros(columns * self._n),
            g_along=np.zeros(columns * len(fields["g"])),
            p_along=np.zeros(columns * len(fields["p"])),
        )
        push(record)
        del kept, buffers  # what compiled code points to lived as long as the call
        return np.swapaxes(record.tangent_samples.reshape(len(self.t), columns, size), 1, 2)

    def gradient(self, by_q: Array, by_v: Array | None = None) -> RunGradient:
        """Differentiate a function of the samples by all that the run depends on, backward.

        Parameters
        ----------
        by_q, by_v
            Derivatives of the function by the samples of q and v, (T, n) each; 0 if None.

        Notes
        -----
        It takes some five times as long as the run, however many parameters there are.  States are
        kept at checkpoints alone, whose number is the root of the number of steps.
        """
        shape = (len(self.t), self._n)
        seeds = np.zeros((len(self.t), self._size))
        seeds[:, : self._n] = real_numbers("by_q", by_q, shape)
        if by_v is not None:
            seeds[:, self._n : 2 * self._n] = real_numbers("by_v", by_v, shape)
        self.states  # noqa: B018
        member = self._pulled
        record, kept = self._adjoint(member, seeds)
        pull(record)
        del kept  # as above
        along = directions_of(member.structure.book, self._model, self.nearby)
        by_start = record.adjoint
        return RunGradient(
            record.by_numbers @ along + self._start_slopes() @ by_start,
            by_start[: self._n].copy(),
            by_start[self._n : 2 * self._n].copy(),
            record.by_inputs.reshape(len(self.t), -1),
        )

    def _adjoint(self, member: Member, seeds: Array) -> tuple[Adjoint, object]:
        done, ports = self._advanced, {port.name: port.size for port in member.outputs}
        fields, buffers = self._fields(done.every)
        count, inputs, size = ports["by_number"], len(self.task.groups[0]), self._size
        buffers |= {name: np.zeros(n) for name, n in ports.items()}
        buffers[WEIGHT] = np.zeros(size - self._n)
        table, kept = table_of(member, buffers)
        last = len(self.t) - 2
        record = Adjoint(
            **(fields | {"saved": done.saved}),
            numbers=count,
            equations=member.table_address,
            table=table,
            weight=buffers[WEIGHT],
            by_state=buffers["by_state"],
            by_input=buffers.get("by_input", np.zeros(inputs)),
            by_number=buffers["by_number"],
            seeds=seeds.ravel(),
            adjoint=np.zeros(size),
            x_back=np.zeros(self._n),
            g_back=np.zeros(len(fields["g"])),
            p_back=np.zeros(len(fields["p"])),
            share=np.zeros(size),
            nodes=self.t,
            interval=np.clip(np.searchsorted(self.t, self.steps[:-1], "right") - 1, 0, last),
            by_numbers=np.zeros(count),
            by_inputs=np.zeros(len(self.t) * inputs),
        )
        return record, (kept, buffers)

    @cached_property
    def nearby(self) -> dict[str, Nearby]:
        """Arms that differ a little in one parameter, by its key."""
        return {key: Nearby.of(self._model, key) for key in self.parameters}

    @property
    def _model(self) -> Model:
        return self.task.equation.model

    @property
    def _n(self) -> int:
        return self._model.size

    @property
    def _size(self) -> int:
        return 2 * self._n + self.task.motion.actuators.states

    @cached_property
    def _advanced(self) -> Steps:
        every = max(1, math.isqrt(len(self.steps)))
        fields, buffers = self._fields(every)
        record = Steps(**fields)
        advance(record)
        del buffers  # what compiled code points to lived as long as the call
        return record

    @cached_property
    def _rates(self) -> Member:
        return self.functions.rates(self.task.equation.formulation, self._others)

    @cached_property
    def _pulled(self) -> Member:
        return self.functions.pulled(self.task.equation.formulation, self._others)

    @cached_property
    def _pushed(self) -> Member:
        return self.functions.pushed(self.task.equation.formulation, self._others)

    def _others(self) -> list[Model]:
        return [model for each in self.nearby.values() for model in each.models]

    def _fields(self, every: int) -> tuple[dict[str, Any], dict[str, Array]]:
        """Give what all records have, with checkpoints after so many steps, and the buffers."""
        system, buffers = system_of(
            self.task.equation, self._rates, self.task.groups, accounts=-WORKS
        )
        n, size, stages, count = self._n, self._size, self.tableau.stages, len(self.steps) - 1
        a = self.tableau.a
        ends = np.full(count + 1, -1, dtype=np.int64)
        near = np.searchsorted(self.steps, self.t - [rounding(t) for t in self.t])
        ends[near] = np.arange(len(self.t))
        y = np.concatenate([self.task.q, self.task.v, np.zeros(size - 2 * n)])
        fields = {
            "system": system,
            "size": size,
            "stages": stages,
            "a": a.ravel(),
            "squared": (a @ a[:-1]).ravel(),
            "c": self.tableau.c,
            "count": count,
            "times": self.steps,
            "lengths": self.plan.lengths,
            "basis": self.plan.basis,
            "bases": self.plan.bases.ravel(),
            "ends_at": ends,
            "samples": np.zeros(len(self.t) * size),
            "every": every,
            "saved": np.zeros((count // every + 1) * size),
            "y": y,
            **zeros({
                "k": size, "trial": size, "places": every * stages * size,
                "swing": (stages + 1) * 2 * n, "into": (stages + 1) * stages * 2 * n,
                "x": n, "g": stages * n, "p": stages * (size - 2 * n), "modal": 2 * n,
                "half": RESPONSES,
            }),
        }  # fmt: skip
        return fields, buffers

    def _start_slopes(self) -> Array:
        """Differentiate the start by the parameters, (k, size)."""
        found = np.zeros((len(self.nearby), self._size))
        if self.started:
            here = np.concatenate(start_state(self._model))
            for k, each in enumerate(self.nearby.values()):
                there = np.array([np.concatenate(start_state(m)) for m in each.models])
                found[k, : 2 * self._n] = each.weights @ (there - here)
        return found
