"""Gymnasium vector environment of a batch of arms; requires the extra ``gym``."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from flexarm.arguments import (
    WithUnit,
    is_number,
    listed,
    refused,
    require_array,
    require_function,
    require_mapping,
    require_positive,
)
from flexarm.arm import Arm
from flexarm.constants import NEGLIGIBLE
from flexarm.errors import SimulationError
from flexarm.integrate.batch.batch import batch
from flexarm.spatial import Array

Reward = Callable[[Array, Array, Array], Array]


class ArmVectorEnv(gymnasium.vector.VectorEnv):  # type: ignore[misc]
    """A gymnasium vector environment of arms simulated together.

    Observations are coordinates and rates; actions are the inputs of the driven joints.

    Parameters
    ----------
    arm
        The arm; its driven joints are the actions.
    num_envs
        Number of arms.
    dt, t_end
        Duration of a step and of an episode [s].
    reward
        Function of coordinates (count, n), rates (count, n) and inputs (count, inputs) that returns
        a finite number for each arm after a step.
    limit
        Largest absolute value of each input [N m], [N].
    starts
        Ranges (low, high) of random initial coordinates by name, and of rates by ``NAME.rate``;
        other coordinates and rates start at the values of the model file.
    device
        ``cpu`` or ``gpu``.
    parameters
        One mapping per arm from keys of the model file to values, so that a policy can be trained
        on different arms.

    Notes
    -----
    An episode is terminated where a run of `flexarm.simulate` would end: at a limit, or at a
    deflection beyond the model's validity. An episode is truncated at `t_end`. The next step starts
    a new episode and ignores the action.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 (as gymnasium has it)

    def __init__(
        self,
        arm: Arm,
        num_envs: int,
        *,
        dt: WithUnit,
        t_end: WithUnit,
        reward: Reward,
        limit: float,
        starts: Mapping[str, Sequence[float]] | None = None,
        device: Literal["cpu", "gpu"] = "cpu",
        parameters: Sequence[Mapping[str, Any]] | None = None,
    ) -> None:
        require_function("reward", reward, "of coordinates, rates and inputs", SimulationError)
        largest = require_positive("limit", limit, SimulationError)
        self._t_end = require_positive("t_end", t_end, SimulationError, unit="s")
        self._arms = batch(arm, num_envs, dt=dt, device=device, parameters=parameters)
        if self._arms.dt > self._t_end * (1 + NEGLIGIBLE):
            raise SimulationError(
                f"dt: a step of {self._arms.dt:g} s is longer than an episode, t_end = "
                f"{self._t_end:g} s"
            )
        self._reward, self._starts = reward, _ranges(starts, self._arms.names)
        self._over = np.zeros(num_envs, dtype=bool)
        self.num_envs = num_envs
        modes = getattr(gymnasium.vector, "AutoresetMode", None)
        if modes is not None:
            self.metadata = {**self.metadata, "autoreset_mode": modes.NEXT_STEP}
        box, size = gymnasium.spaces.Box, len(self._arms.names)
        self.single_observation_space = box(-np.inf, np.inf, (2 * size,), np.float64)
        count = len(self._arms.input_names)
        self.single_action_space = box(-largest, largest, (count,), np.float64)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Start new episodes of all arms and return the observations."""
        self._require_open()
        super().reset(seed=seed)
        self._begin(np.ones(self.num_envs, dtype=bool))
        return self._seen(), {}

    def step(
        self, actions: Array
    ) -> tuple[Array, Array, NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Advance all arms by one time step; arms whose episode has ended start a new one.

        Raises
        ------
        SimulationError
            If the environment is closed, actions are not numeric or have a wrong shape, or the
            reward is not finite for an arm with a finite state.
        """
        self._require_open()
        low, high = self.action_space.low, self.action_space.high
        inputs = require_array("actions", actions, SimulationError)
        if inputs.size != low.size:
            raise SimulationError(f"actions: must have the shape {low.shape}, got {inputs.shape}")
        u = np.clip(inputs.reshape(low.shape), low, high)
        again = self._over
        ended = np.asarray(self._arms.step(u), dtype=bool)
        if np.any(again):
            self._begin(again)
        terminated = ended & ~again
        truncated = ~terminated & ~again & (self._arms.t >= self._t_end * (1 - NEGLIGIBLE))
        rewards = self._rewards(u, again)
        self._over = terminated | truncated
        return self._seen(), rewards, terminated, truncated, {}

    def _rewards(self, u: Array, again: NDArray[np.bool_]) -> Array:
        """Return the rewards of all arms.

        The reward is 0 for arms that start a new episode or whose state is not finite.
        """
        q, v = self._arms.q, self._arms.v
        rewards = np.asarray(self._reward(q, v, u), dtype=float)
        if rewards.shape != (self.num_envs,):
            raise SimulationError(
                f"reward: must return {self.num_envs} numbers, one for each arm, got an array of "
                f"shape {rewards.shape}"
            )
        lost = ~np.all(np.isfinite(np.hstack([q, v])), axis=1)
        bad = np.flatnonzero(~np.isfinite(rewards) & ~again & ~lost)
        if len(bad):
            k = int(bad[0])
            raise SimulationError(
                f"reward: must be a finite number where the state is finite, got {rewards[k]:g} "
                f"for arm {k} at t = {self._arms.t[k]:.4g} s"
            )
        return np.where(again | lost, 0.0, rewards)

    def _require_open(self) -> None:
        if self.closed:
            raise SimulationError("environment: has been closed. Make a new one.")

    def _seen(self) -> Array:
        return np.nan_to_num(np.hstack([self._arms.q, self._arms.v]))

    def _begin(self, which: NDArray[np.bool_]) -> None:
        """Start new episodes of the selected arms from random initial states."""
        count = int(np.sum(which))
        drawn = {
            name: self.np_random.uniform(low, high, count)
            for name, (low, high) in self._starts.items()
        }
        self._arms.reset(which, drawn or None)
        self._over = np.zeros(self.num_envs, dtype=bool)


def _ranges(starts: object, names: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Return validated ranges (low, high) of initial values, keyed by coordinate or rate."""
    stated = require_mapping("starts", starts, "ranges by name", SimulationError)
    ranges = {}
    for name, pair in stated.items():
        if name.removesuffix(".rate") not in names:
            raise SimulationError(
                f"starts: there is no coordinate '{name}'. The names are {', '.join(names)}, "
                "and NAME.rate for each."
            )
        ends = listed(pair)
        if ends is None or len(ends) != 2 or not all(is_number(end) for end in ends):
            raise refused(f"starts: {name}", pair, "a pair of numbers, low and high",
                          SimulationError)  # fmt: skip
        if ends[0] > ends[1]:
            raise refused(f"starts: {name}", pair, "a pair of numbers, low < high", SimulationError)
        ranges[name] = (float(ends[0]), float(ends[1]))
    return ranges
