"""Robots dropped limp on the ground in any orientation: no knee flips within a step, no joint passes its limits."""

import numpy as np
import pytest

import leastaction as la
from benchmarks.corpus.drops import start
from benchmarks.corpus.figures import beyond, depth, flips, simulated
from benchmarks.corpus.scene import Scene
from tests.maximal.scenes import gaps


@pytest.mark.parametrize(
    ("name", "seed", "dt", "order"),
    [
        ("littledog", 9, 0.01, 1),  # a knee turned by half a turn in a step
        ("littledog", 49, 0.005, 2),
        ("nao", 195, 0.01, 1),
        ("nao", 23, 0.002, 1),  # limits out of reach at the start of a step were passed at its end
        ("atlas", 60, 0.01, 2),  # and energy came from it
        ("minitaur", 165, 0.01, 1),
    ],
)
def test_dropped_robot(name, seed, dt, order):
    robot = getattr(la.robots, name)(ground=True)
    q = start(robot, np.random.default_rng(seed))
    drop, integrator = Scene(robot, q, np.zeros(robot.nv), dt, round(1.0 / dt)), la.Maximal(order=order)
    run = simulated(drop, integrator)
    assert flips(drop, run, integrator) == 0
    assert beyond(run) < 1e-6
    assert depth(run) < 1e-7
    assert gaps(run).min() > -1e-7
    assert run.energy.max() < run.energy[0] + 1e-3 * run.kinetic_energy.max()
