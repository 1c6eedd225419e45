"""Tasks of one's own: what has a default, and what is refused."""

import numpy as np
import pytest

import leastaction as la

gymnasium = pytest.importorskip("gymnasium")
from leastaction.gym import RobotEnv, Task  # noqa: E402


def height(before, after, action, time):
    return -float(np.cos(after[0][0]))


def driven_pendulum(**options):
    b = la.robots.pendulum(links=1).edit()
    b.actuator("motor", "joint1", **options)
    return b.build()


def test_actions_span_the_limits_of_the_controls():
    task = Task(driven_pendulum(limits=(-1.0, 3.0)), la.Galerkin(order=2), reward=height)
    assert (task.scale, task.offset) == (2.0, 1.0)
    env = RobotEnv(task)
    env.reset(seed=0)
    seen, value, over, cut, _ = env.step([1.0])
    assert (over, cut) == (False, False)
    run = la.simulate(task.robot, dt=0.01, steps=1, controls=[3.0], integrator=la.Galerkin(order=2))
    assert np.allclose(seen, [*run.q[-1], *run.v[-1]], rtol=0, atol=1e-14)
    assert value == height(None, (run.q[-1], None), None, None)


def test_without_limits_actions_are_controls():
    task = Task(driven_pendulum(), la.Galerkin(order=2), reward=height)
    assert (task.scale, task.offset) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({}, "reward must be a function"),
        ({"reward": height, "scale": [1.0, 2.0]}, "scale: expected 1 finite numbers"),
        ({"reward": height, "offset": [np.nan]}, "offset: expected 1 finite numbers"),
        ({"reward": height, "skip": 0}, "skip"),
        ({"reward": height, "dt": -0.01}, "dt"),
    ],
)
def test_bad_tasks_are_refused_by_name(wrong, message):
    with pytest.raises(la.LeastActionError, match=message):
        Task(driven_pendulum(), la.Galerkin(order=2), **wrong)


def test_a_task_of_something_else_is_refused():
    with pytest.raises(la.MechanismError, match="expected a Mechanism"):
        Task("pendulum", reward=height)


def test_a_misspelled_name_of_the_module_is_refused_with_the_right_one():
    import leastaction.gym

    with pytest.raises(AttributeError, match="did you mean 'RobotEnv'"):
        leastaction.gym.robotenv  # noqa: B018
