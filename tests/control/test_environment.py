"""Arms as a vector environment of gymnasium."""

import runpy
from pathlib import Path
from typing import Any

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


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"starts": {"joint2": (0, 1)}},
            "starts: there is no coordinate 'joint2'. The names are joint1, link1",
        ),
        ({"starts": {"joint1.speed": (0, 1)}}, "starts: there is no coordinate 'joint1.speed'"),
        ({"starts": {"joint1": 0.1}}, "starts: joint1: must be a pair"),
        ({"starts": {"joint1": (0.2, 0.1)}}, "starts: joint1: must be low and high"),
        ({"starts": {"joint1": (0.0, np.nan)}}, "starts: joint1: must be a pair"),
        ({"starts": [1]}, "starts: must be"),
        ({"dt": 0.3}, r"dt: a step of 0\.3 s is longer than an episode, t_end = 0\.2 s"),
    ],
)
def test_environments_that_are_none_are_refused(change: dict[str, Any], said: str) -> None:
    from flexarm.control.environment import ArmVectorEnv

    options: dict[str, Any] = {
        "dt": 0.05,
        "t_end": 0.2,
        "limit": 5.0,
        "reward": lambda q, v, u: u[:, 0],
    }
    with pytest.raises(SimulationError, match=said):
        ArmVectorEnv(link(), 3, **(options | change))


def test_rewards_and_actions_that_are_no_numbers_are_refused() -> None:
    from flexarm.control.environment import ArmVectorEnv

    told: list[Any] = [np.zeros(3)]
    env = ArmVectorEnv(
        link(), 3, dt=0.05, t_end=1.0, limit=5.0, reward=lambda q, v, u: told[0],
        starts={"joint1": (0.0, 0.1), "joint1.rate": (0.0, 0.1)},
    )  # fmt: skip
    env.reset(seed=1)
    push = np.zeros((3, 1))
    assert env.step(push)[1].tolist() == [0.0, 0.0, 0.0]
    for bad in (np.nan, np.inf):
        told[0] = np.array([0.0, bad, 0.0])
        with pytest.raises(
            SimulationError, match=r"reward: must be .*, got (nan|inf) for arm 1 at t = .* s"
        ):
            env.step(push)
    told[0] = 1.0
    with pytest.raises(SimulationError, match="reward: must return 3 numbers"):
        env.step(push)
    several: tuple[Any, ...] = (np.full((3, 1), np.nan), np.zeros((2, 1)), "left")
    for actions in several:
        with pytest.raises(SimulationError, match="actions: "):
            env.step(actions)


def test_a_closed_environment_does_not_go_on() -> None:
    from flexarm.control.environment import ArmVectorEnv

    env = ArmVectorEnv(link(), 2, dt=0.05, t_end=1.0, limit=5.0, reward=lambda q, v, u: u[:, 0])
    env.reset(seed=1)
    env.close()
    with pytest.raises(SimulationError, match="environment: has been closed"):
        env.step(np.zeros((2, 1)))
    with pytest.raises(SimulationError, match="environment: has been closed"):
        env.reset()


@pytest.mark.campaign
def test_the_example_learns_to_damp_a_link() -> None:
    runpy.run_path(str(EXAMPLE))
