"""A compiled model is read only: any number of robots share it, one after the other, in turns or in threads."""

from threading import Thread

import numpy as np
import pytest

import leastaction as la
from leastaction.redmax.stepper import ReducedStepper
from tests.redmax.robots import ROBOTS, chain, contact, ring, start, tail

STEPS, DT = 60, 0.02

SHARED = {
    "charts of balls": (lambda: chain("spherical"), la.BDF(order=2)),
    "modes of contacts": (lambda: chain("spherical", 2, contact), la.BDF(order=2)),
    "segments of a curve": (lambda: chain("spline_curve", 1, tail, frames=ring()), la.SDIRK2(chart="exponential")),
    "multipliers of loops": (la.robots.four_bar, la.BDF(order=1)),
}


def robots(name, reduced=None):
    """(stepper, record) of two robots that start apart, with a model each or with a given one."""
    build, method = SHARED[name]
    out = []
    for seed in (0, 1):
        robot = build()
        q, v = start(name if robot.is_tree else "four bar", robot, seed)
        # Fast enough for changes of charts, segments and contacts.
        stepper = ReducedStepper(method, robot, DT, reduced)
        stepper.prepare_start(q)
        record = stepper.record(STEPS)
        record["q"][0], record["v"][0] = q, (5.0 if robot.is_tree else 1.0) * v
        out.append((stepper, record, np.zeros((STEPS, 1, robot.nu))))
    return out


def alone(name):
    runs = robots(name)
    for stepper, record, u in runs:
        assert stepper.advance(record, 0, STEPS, u) == STEPS
    return [record["q"] for _, record, _ in runs]


def contents(reduced):
    """Bytes of all arrays of a model."""

    def walk(value):
        if isinstance(value, tuple):
            return b"".join(walk(x) for x in value)
        return value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode()

    return walk(reduced.model) + reduced.tree.nodes.tobytes()


@pytest.mark.parametrize("name", SHARED)
def test_two_robots_in_turns(name):
    """Robots of one model that step in turns move as each does alone, to the last bit; the model stays as it was."""
    reduced = robots(name)[0][0].reduced
    before, expected = contents(reduced), alone(name)
    runs = robots(name, reduced)
    for k in range(STEPS):
        for stepper, record, u in runs:
            assert stepper.advance(record, k, k + 1, u[k : k + 1]) == k + 1
    for (_, record, _), q in zip(runs, expected, strict=True):
        assert np.array_equal(record["q"], q)
    assert contents(reduced) == before


@pytest.mark.parametrize("name", SHARED)
def test_two_robots_in_threads(name):
    """The same in threads of their own."""
    reduced = robots(name)[0][0].reduced
    before, expected = contents(reduced), alone(name)
    for _ in range(5):
        runs = robots(name, reduced)
        threads = [Thread(target=stepper.advance, args=(record, 0, STEPS, u)) for stepper, record, u in runs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for (_, record, _), q in zip(runs, expected, strict=True):
            assert np.array_equal(record["q"], q)
    assert contents(reduced) == before


def test_charts_change_in_these_runs():
    """Else the tests above would show little."""
    stepper, record, u = robots("charts of balls")[0]
    stepper.advance(record, 0, STEPS, u)
    assert len(np.unique(record["chart"])) > 1
    stepper, record, u = robots("segments of a curve")[0]
    stepper.advance(record, 0, STEPS, u)
    assert len(np.unique(np.floor(record["q"][:, 0]))) > 1


def test_models_of_all_joints_and_forces_stay():
    for name, build in ROBOTS.items():
        robot = build()
        q, v = start(name, robot)
        stepper = ReducedStepper(la.BDF(order=2), robot, DT)
        stepper.prepare_start(q)
        before = contents(stepper.reduced)
        record = stepper.record(3)
        record["q"][0], record["v"][0] = q, v
        stepper.advance(record, 0, 3, np.zeros((3, 1, robot.nu)))
        assert contents(stepper.reduced) == before, name
