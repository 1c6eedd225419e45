"""What is kept with a mechanism: made once, gone with it, neither copied nor written into."""

import copy
import gc
import pickle
import warnings
import weakref

import numpy as np
import pytest

import leastaction as la
from leastaction.derivatives.adjoint import gradient
from leastaction.mechanism.kept import kept_with_mechanism


def test_things_are_made_once_for_each_mechanism_and_its_settings():
    made = []

    @kept_with_mechanism
    def size(mechanism, factor):
        made.append(mechanism.name)
        return factor * mechanism.nv

    robot = la.robots.pendulum(3)
    assert [size(robot, 1), size(robot, 1), size(robot, 2), size(robot, 1)] == [3, 3, 6, 3]
    assert size(robot.replace(name="other"), 1) == 3
    assert made == [robot.name, robot.name, "other"]
    assert robot == la.robots.pendulum(3)


def test_things_that_are_kept_go_with_the_mechanism():
    robot = la.robots.cube()
    for integrator in (la.Minimal(), la.Maximal()):
        la.simulate(robot, steps=2, integrator=integrator)
    for twin in (copy.deepcopy(robot), pickle.loads(pickle.dumps(robot))):
        assert twin == robot
        assert "_kept" not in vars(twin)
    gone = weakref.ref(robot)
    del robot
    gc.collect()
    assert gone() is None


def test_what_passes_through_each_other_is_said_of_every_run():
    """Not only of the one for which it was found out."""
    b = la.MechanismBuilder("crossed")
    for name in ("one", "two", "three"):
        b.body(name, mass=1.0, shapes=la.mechanism.Box((0.2, 0.2, 0.2)))
    b.revolute("a", "world", "one", axis="x", position=(0, 0, 1))
    b.revolute("b", "one", "two", axis="x", position=(0.5, 0, 0))
    b.revolute("c", "two", "three", axis="x", position=(-0.45, 0, 0))
    robot = b.build()
    for _ in range(2):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            la.simulate(robot, steps=1, integrator=la.Minimal())
        assert any("pass through each other" in str(x.message) for x in said)


def _arrays(value):
    """All arrays in nested tuples."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, tuple):
        for x in value:
            yield from _arrays(x)


@pytest.mark.parametrize("name", ["cube", "unitree_a1", "minitaur"])
def test_nothing_writes_into_the_model_that_runs_share(name):
    robot = la.robots.cube() if name == "cube" else getattr(la.robots, name)(ground=True)
    stepper = la.Minimal().prepare(robot, 0.01)
    shared = stepper.model, stepper.cones
    before = [x.tobytes() for x in _arrays(shared)]
    q = la.robots.on_ground(robot, robot.home())
    run = la.simulate(robot, q, steps=3, integrator=la.Minimal())
    gradient(run, np.ones((len(run), robot.nv)), np.ones((len(run), robot.nv)))
    la.Simulator(robot, la.Minimal()).linearize()
    la.simulate(robot, q, duration=0.02, accuracy=1e-2, integrator=la.Minimal())
    again = la.Minimal().prepare(robot, 0.01)
    assert again.model is stepper.model
    assert [x.tobytes() for x in _arrays(shared)] == before
