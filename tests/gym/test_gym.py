"""Environments of Gymnasium."""

import importlib.util
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import leastaction as la

gymnasium = pytest.importorskip("gymnasium")
from gymnasium.utils.env_checker import check_env  # noqa: E402

from leastaction.gym import TASKS, RobotEnv, RobotVectorEnv  # noqa: E402
from leastaction.gym.ids import HORIZONS  # noqa: E402


def test_gymnasium_knows_the_ids_in_a_new_process():
    """By their module, or once it is imported; Gymnasium looks for no entry points."""
    asked = 'gymnasium.make("leastaction.gym:leastaction/CartPole-v0")'
    for words in (
        f"import gymnasium; {asked}",
        'import gymnasium, leastaction.gym; gymnasium.spec("leastaction/A1-v0")',
    ):
        done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", TASKS)
def test_gymnasium_finds_nothing_to_say(name):
    env = gymnasium.make(f"leastaction/{name}-v0")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped, skip_render_check=True)
    assert env.spec.max_episode_steps == HORIZONS[name] == TASKS[name]().horizon


@pytest.mark.parametrize("name", TASKS)
def test_robots_start_over_the_ground_and_can_act(name):
    env = RobotEnv(name)
    env.reset(seed=3)
    env.action_space.seed(0)
    for _ in range(20):
        seen, reward, over, cut, info = env.step(env.action_space.sample())
        assert np.isfinite(seen).all()
        assert np.isfinite(reward)
        assert not cut, info
        if over:
            break


def test_a_quadruped_that_does_nothing_stands():
    env = RobotEnv("A1")
    env.reset(seed=0)
    for _ in range(50):
        seen, _, over, _, _ = env.step(np.zeros(12))
        assert not over
    assert 0.25 < seen[0] < 0.32  # its height


def test_many_are_as_one():
    envs, single = RobotVectorEnv(3, "CartPole", max_episode_steps=5), RobotEnv("CartPole")
    seen, _ = envs.reset(seed=7)
    first, _ = single.reset(seed=8)
    np.testing.assert_array_equal(seen[1], first)
    actions = np.full((3, 1), 0.1)
    for k in range(5):
        seen, _, _, cut, _ = envs.step(actions)
        np.testing.assert_array_equal(seen[1], single.step(actions[1])[0])
        assert cut.all() == (k == 4)
    seen, rewards, _, cut, _ = envs.step(actions)  # starts anew
    assert not cut.any()
    assert (rewards == 0.0).all()
    envs.close()


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
def test_episodes_start_anew_as_those_of_gymnasium(mode):
    """Beside its own loop over environments: the same numbers, ends and infos."""
    options = {"autoreset_mode": gymnasium.vector.AutoresetMode(mode)}
    ours = gymnasium.make_vec("leastaction/CartPole-v0", num_envs=2, max_episode_steps=4, **options)
    same = {"vectorization_mode": "sync", "vector_kwargs": options, "max_episode_steps": 4}
    theirs = gymnasium.make_vec("leastaction/CartPole-v0", num_envs=2, **same)
    assert ours.metadata["autoreset_mode"] == theirs.metadata["autoreset_mode"]
    np.testing.assert_array_equal(ours.reset(seed=3)[0], theirs.reset(seed=3)[0])
    for _ in range(10):
        (*mine, info), (*other, told) = (envs.step(np.array([[1.0], [-0.5]])) for envs in (ours, theirs))
        for a, b in zip(mine, other, strict=True):
            np.testing.assert_array_equal(a, b)
        assert info.keys() == told.keys()
        if "final_obs" in info:
            np.testing.assert_array_equal(np.stack(info["final_obs"]), np.stack(told["final_obs"]))
        over = mine[2] | mine[3]
        if mode == "Disabled" and over.any():
            with pytest.raises(la.LeastActionError, match="environment 0 is over"):
                ours.step(np.zeros((2, 1)))
            for envs in (ours, theirs):
                envs.reset(options={"reset_mask": over})
    ours.close()
    with pytest.raises(la.LeastActionError, match="autoreset_mode"):
        RobotVectorEnv(1, autoreset_mode="never")


def test_made_by_gymnasium():
    envs = gymnasium.make_vec("leastaction/CartPole-v0", num_envs=2)
    seen, _ = envs.reset(seed=0)
    assert seen.shape == (2, 5)
    envs.close()


def test_pictures():
    env = RobotEnv("CartPole", render_mode="rgb_array")
    env.reset(seed=0)
    assert env.render().shape == (480, 640, 3)


def test_wrong_input_is_named():
    with pytest.raises(la.LeastActionError, match="CartPole, Acrobot"):
        RobotEnv("Cart")
    with pytest.raises(la.LeastActionError, match="render_mode"):
        RobotEnv("CartPole", render_mode="human")
    env = RobotEnv("CartPole")
    env.reset(seed=0)
    with pytest.raises(la.LeastActionError, match="action"):
        env.step([np.nan])
    for wrong in ({"num_envs": 0}, {"num_envs": True}, {"max_episode_steps": 0}, {"workers": -1}):
        with pytest.raises(la.LeastActionError, match=next(iter(wrong))):
            RobotVectorEnv(**wrong)


def test_a_wrong_action_moves_nobody():
    envs = RobotVectorEnv(np.int64(3), "CartPole")
    with pytest.raises(la.LeastActionError, match="reset"):
        envs.step(np.zeros((3, 1)))
    seen, _ = envs.reset(seed=0)
    with pytest.raises(la.LeastActionError, match="environment 1 is not finite"):
        envs.step([[0.5], [np.nan], [0.5]])
    for seed in ([1, 2], "a", 1.5):
        with pytest.raises(la.LeastActionError, match="seed"):
            envs.reset(seed=seed)
    nobody = {"reset_mask": np.zeros(3, bool)}
    np.testing.assert_array_equal(envs.reset(options=nobody)[0], seen)
    moved = envs.step(np.ones((3, 1)))[0]
    some, _ = envs.reset(seed=0, options={"reset_mask": np.array([True, False, True])})
    np.testing.assert_array_equal(some, np.stack([seen[0], moved[1], seen[2]]))
    with pytest.raises(la.LeastActionError, match="reset_mask"):
        envs.reset(options={"reset_mask": [0, 1, 2]})
    envs.close()


def test_the_example_learns():
    path = Path(__file__).parents[2] / "examples" / "learn_to_balance.py"
    spec = importlib.util.spec_from_file_location("learn_to_balance", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    _, history = module.learn(generations=4, episode=100)
    assert history[-1] > 2.0 * history[0]
