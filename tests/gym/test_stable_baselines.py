"""Robots as the vectorised environment of Stable-Baselines3."""

import numpy as np
import pytest

pytest.importorskip("gymnasium")
vec_env = pytest.importorskip("stable_baselines3.common.vec_env", reason="stable-baselines3 is not installed")

from leastaction.errors import ConvergenceError  # noqa: E402
from leastaction.gym import RobotVectorEnv, stable_baselines_env  # noqa: E402


def test_steps_are_those_of_the_vector_environment_and_ends_are_reported():
    envs = stable_baselines_env(3, "CartPole", max_episode_steps=4)
    assert isinstance(envs, vec_env.VecEnv)
    envs.seed(7)
    other = RobotVectorEnv(3, "CartPole", max_episode_steps=4, autoreset_mode="SameStep")
    seen, expected = envs.reset(), other.reset(seed=7)[0]
    np.testing.assert_array_equal(seen, expected)
    for k in range(4):
        seen, rewards, done, infos = envs.step(np.full((3, 1), 0.1))
        expected, others, _, cut, info = other.step(np.full((3, 1), 0.1))
        np.testing.assert_array_equal(rewards, others)
        assert done.all() == cut.all() == (k == 3)
        assert [one["TimeLimit.truncated"] for one in infos] == [k == 3] * 3
        if k < 3:
            np.testing.assert_array_equal(seen, expected)
            assert "terminal_observation" not in infos[0]
    np.testing.assert_array_equal(infos[1]["terminal_observation"], info["final_obs"][1])
    assert not np.array_equal(seen, infos[1]["terminal_observation"])  # of the next episode
    envs.close()


def test_a_step_without_a_solution_is_reported(monkeypatch):
    """It is no failure of the policy: the value of the state counts on."""
    envs = stable_baselines_env(2, "CartPole")
    envs.reset()

    def fails(*args, **options):
        raise ConvergenceError("no solution")

    monkeypatch.setattr(envs.robots.envs[1].simulator, "step", fails)
    _, _, done, infos = envs.step(np.zeros((2, 1)))
    assert done.tolist() == [False, True]
    assert infos[1]["TimeLimit.truncated"]
    assert "no solution" in infos[1]["failure"]
    envs.close()


def test_it_is_what_stable_baselines_trains_on():
    stable_baselines3 = pytest.importorskip("stable_baselines3")
    envs = vec_env.VecMonitor(stable_baselines_env(4, "CartPole"))
    model = stable_baselines3.PPO("MlpPolicy", envs, n_steps=16, batch_size=32, seed=0, device="cpu")
    model.learn(128)
    assert model.num_timesteps == 128
    envs.close()
