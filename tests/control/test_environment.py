"""Arms as a vector environment of gymnasium."""

import runpy
from pathlib import Path

import numpy as np
import pytest

import flexarm
from flexarm.errors import SimulationError
from tests.studies.designs import link

gymnasium = pytest.importorskip("gymnasium")
EXAMPLE = Path(__file__).parents[2] / "examples" / "learning" / "damp_a_link.py"


def test_episodes_begin_end_and_begin_again() -> None:
    from flexarm.control.environment import ArmVectorEnv

    def environment(limit: float = 5.0) -> ArmVectorEnv:
        return ArmVectorEnv(
            link(), 3, dt=0.05, t_end=0.2, limit=limit,
            reward=lambda q, v, u: u[:, 0], starts={"joint1": (-0.2, 0.2)},
        )  # fmt: skip

    env = environment()
    assert env.observation_space.shape == (3, 6)
    assert env.action_space.shape == (3, 1)
    first, _ = env.reset(seed=4)
    again, _ = env.reset(seed=4)
    assert np.array_equal(first, again)
    assert len(set(first[:, 0].tolist())) == 3
    assert env.observation_space.contains(first)
    alone = flexarm.batch(link(), 3, dt=0.05)
    alone.reset(starts=[{"joint1": float(x)} for x in first[:, 0]])
    push = np.array([[0.1], [9.0], [-0.1]])
    seen, rewards, terminated, truncated, _ = env.step(push)
    alone.step(np.clip(push, -5, 5))
    assert np.abs(seen[:, :3] - alone.q).max() < 1e-12
    assert rewards.tolist() == [0.1, 5.0, -0.1]
    ends = np.zeros(3, dtype=int)
    for k in range(2, 5):
        seen, rewards, terminated, truncated, _ = env.step(push)
        ends[terminated | truncated] = k
    assert truncated[[0, 2]].all()
    assert ends.max() == 4
    over = terminated | truncated
    seen, rewards, terminated, truncated, _ = env.step(push)
    assert rewards[over].tolist() == [0.0] * int(over.sum())
    assert np.abs(seen[over, 0]).max() <= 0.2
    assert not (terminated | truncated)[over].any()
    with pytest.raises(SimulationError, match="limit: must be > 0"):
        environment(limit=0.0)


@pytest.mark.campaign
def test_the_example_learns_to_damp_a_link() -> None:
    runpy.run_path(str(EXAMPLE))
