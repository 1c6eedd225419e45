"""One compiled model serves any number of robots: nothing writes it, and data of one robot are a value of their own."""

import numpy as np
import pytest

import leastaction as la
from leastaction.maximal.arrays import copied
from tests.maximal.scenes import cubes, placed


def contents(arrays):
    """Bytes of all arrays of a named tuple."""
    if isinstance(arrays, tuple):
        return [x for field in arrays for x in contents(field)]
    return [arrays.tobytes()] if isinstance(arrays, np.ndarray) else [arrays]


def arrays(bundle):
    """All arrays of a named tuple and of those in it."""
    if isinstance(bundle, tuple):
        return [x for field in bundle for x in arrays(field)]
    return [bundle] if isinstance(bundle, np.ndarray) else []


def start(robot, q, dt):
    stepper = la.Maximal().prepare(robot, dt)
    record = stepper.record(8)
    record["q"][0] = q
    return stepper, record


@pytest.mark.parametrize("name", ["pendulum", "four_bar", "cube"])
def test_nothing_writes_a_model(name):
    """Model and settings are the same to the last bit after a run."""
    robot = la.robots.get(name)
    stepper, record = start(robot, la.robots.home(robot), 0.01)
    stepper.advance(record, 0, 1, np.zeros((1, 2, robot.nu)))
    before = contents(stepper.arrays), contents(stepper.near), stepper.settings
    stepper.advance(record, 1, 8, np.zeros((7, 2, robot.nu)))
    assert before == (contents(stepper.arrays), contents(stepper.near), stepper.settings)


def test_a_run_goes_on_from_its_memory():
    """Steps with contacts from a remembered state give the same bits again, and those in between do not matter."""
    robot = cubes(1)
    stepper, record = start(robot, placed(robot, (0.0, 0.0, 0.26)), 0.01)
    u = np.zeros((8, 2, robot.nu))
    stepper.advance(record, 0, 4, u[:4])
    memory = stepper.memory()
    stepper.advance(record, 4, 8, u[4:])
    once = record["q"][5:].copy()
    stepper.restore_memory(memory)
    stepper.advance(record, 4, 8, u[4:])
    assert np.array_equal(once, record["q"][5:])


def test_copies_of_data_share_nothing():
    stepper = la.Maximal().prepare(la.robots.get("pendulum"), 0.01)
    one, two = stepper.data, copied(stepper.data)
    assert type(two) is type(one)
    for a, b in zip(arrays(one), arrays(two), strict=True):
        assert not np.shares_memory(a, b)
