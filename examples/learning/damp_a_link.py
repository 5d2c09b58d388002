"""A link that was plucked is damped by its motor: a linear law, learnt by the cross-entropy method.

Sixty arms try sixty laws at once.  What is learnt takes more than nine tenths of the vibration.
"""

import numpy as np
from numpy.typing import NDArray

import flexarm
from flexarm.control.environment import ArmVectorEnv

ARMS, BEST, ROUNDS = 60, 12, 20
Array = NDArray[np.float64]


def reward(q: Array, v: Array, u: Array) -> Array:
    """Take what is bent and what turns as losses, and a little of the torque."""
    bent, torque = (q[:, 1:] ** 2).sum(axis=1), (u**2).sum(axis=1)
    return np.asarray(-100 * bent - 0.1 * q[:, 0] ** 2 - 1e-4 * torque)


arm = flexarm.change_arm(flexarm.example_arm("driven-link"), {"links.1.shapes": {
    "kind": "clamped-free", "bending_y": 1, "normalise": "tip"}})  # fmt: skip
env = ArmVectorEnv(arm, ARMS, dt=0.02, t_end=1.5, reward=reward, limit=5,
                   starts={"link1.y1": (0.02, 0.04)})  # fmt: skip


def returns(laws: Array) -> Array:
    """Let each arm follow a law for an episode, and add up its rewards."""
    seen, _ = env.reset(seed=1)
    total, going = np.zeros(ARMS), np.ones(ARMS, dtype=bool)
    while going.any():
        seen, rewards, terminated, truncated, _ = env.step(-(laws * seen).sum(axis=1)[:, None])
        total += np.where(going, np.where(terminated, -10, rewards), 0)
        going &= ~(terminated | truncated)
    return total


chance = np.random.default_rng(0)
middle, spread = np.zeros(4), np.array([10.0, 50.0, 3.0, 3.0])
still = returns(np.zeros((ARMS, 4))).mean()
for _ in range(ROUNDS):
    laws = middle + spread * chance.normal(size=(ARMS, 4))
    best = laws[np.argsort(returns(laws))[-BEST:]]
    middle, spread = best.mean(axis=0), best.std(axis=0) + 0.02
learnt = returns(np.tile(middle, (ARMS, 1))).mean()
print(f"loss {-still:.3g} without a law, {-learnt:.3g} with the law learnt {middle.round(2)}")
assert learnt > 0.25 * still
