"""Batches on the CPU are the runs of `simulate`; each robot for itself, wrong input refused."""

import numpy as np
import pytest

import leastaction as la

BODIES = la.Galerkin(order=2, interpolation="bodies")


def starts(robot, count, seed=0):
    rng = np.random.default_rng(seed)
    q = np.stack([robot.integrate(robot.neutral(), rng.uniform(-0.5, 0.5, robot.nv)) for _ in range(count)])
    return q, rng.normal(size=(count, robot.nv))


@pytest.mark.parametrize("integrator", [BODIES, la.Maximal(), la.BDF(order=2)], ids=lambda i: type(i).__name__)
def test_robots_run_as_they_do_alone(integrator):
    robot = la.robots.cube(friction=0.3) if isinstance(integrator, la.Maximal) else la.robots.pendulum(3)
    q, v = starts(robot, 5)
    if robot.name == "cube":
        q[:, 2] = 0.6
    batch = la.batch.simulate(robot, q, v, dt=0.01, steps=40, integrator=integrator, every=5, workers=2)
    assert batch.success
    assert batch.q.shape == (5, 9, robot.nq)
    for k in range(5):
        alone = la.simulate(robot, q[k], v[k], dt=0.01, steps=40, integrator=integrator)
        np.testing.assert_array_equal(batch.q[k], alone.q[::5])
        assert batch.iterations[k] == alone.iterations.sum()
        np.testing.assert_array_equal(batch[k].q, alone.q[::5])
    name = "p" if batch.momentum else "v"
    np.testing.assert_array_equal(batch[4].stored[name][-1], alone.stored[name][-1])


def test_long_runs_go_in_pieces(monkeypatch):
    monkeypatch.setattr("leastaction.batch.threads.PIECE", 7)
    robot = la.robots.pendulum(2)
    q, v = starts(robot, 2)
    u = np.random.default_rng(1).normal(size=(2, 20, 2))
    batch = la.batch.simulate(robot, q, v, dt=0.01, steps=20, controls=u, integrator=la.BDF(order=2))
    alone = la.simulate(robot, q[1], v[1], dt=0.01, steps=20, controls=u[1], integrator=la.BDF(order=2))
    np.testing.assert_array_equal(batch.q[1], alone.q)


@pytest.mark.parametrize("shape", [(2,), (3, 2), (10, 2), (3, 10, 2)])
def test_controls_of_all_shapes(shape):
    robot = la.robots.pendulum(2)
    u = np.random.default_rng(2).normal(size=shape)
    batch = la.batch.simulate(robot, starts(robot, 3)[0], dt=0.01, steps=10, controls=u, integrator=BODIES)
    own = u[2] if len(shape) == 3 or shape == (3, 2) else u
    alone = la.simulate(robot, starts(robot, 3)[0][2], dt=0.01, steps=10, controls=own, integrator=BODIES)
    np.testing.assert_array_equal(batch.q[2], alone.q)


def test_parameters_differ_from_robot_to_robot():
    robot = la.robots.pendulum(2)
    masses = np.array([0.5, 1.0, 2.0])
    heavier = {"mass:link2": masses}
    batch = la.batch.simulate(robot, [0.3, 0.2], dt=0.01, steps=10, parameters=heavier, integrator=BODIES)
    assert [m.bodies[1].inertia.mass for m in batch.mechanisms] == masses.tolist()
    alone = la.simulate(batch.mechanisms[2], [0.3, 0.2], dt=0.01, steps=10, integrator=BODIES)
    np.testing.assert_array_equal(batch.q[2], alone.q)
    np.testing.assert_allclose(batch.v[2], alone.v, atol=1e-15)


def test_what_does_not_act_is_told():
    with pytest.warns(la.LeastActionWarning, match="contacts do not act with Galerkin: 'cube' falls through"):
        la.batch.simulate(la.robots.cube(), dt=0.01, steps=1)


def test_a_robot_that_fails_harms_no_other():
    robot = la.robots.pendulum(2)
    wild = la.Galerkin(order=2, max_iterations=1, tolerance=1e-15)
    q, v = np.array([[0.0, 0.0], [1.0, 2.0]]), np.array([[0.0, 0.0], [60.0, -80.0]])
    batch = la.batch.simulate(robot, q, v, dt=0.5, steps=5, integrator=wild)
    assert batch.failed[0] == -1
    assert batch.failed[1] >= 0
    assert list(batch.reasons) == [1]
    assert "Newton" in batch.reasons[1]
    assert np.isfinite(batch.q[0]).all()
    assert len(batch[1]) == batch.failed[1] + 1


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"q": np.zeros((3, 4))}, r"q: expected shape \(robots, 2\)"),
        ({"q": [[0.0, np.nan], [0.0, 0.0]]}, "q: robot 0 has a number that is not finite"),
        ({"q": np.zeros((3, 2)), "v": np.zeros((4, 2))}, "do not fit together: q 3, v 4"),
        ({"q": np.zeros((0, 2))}, "at least one robot"),
        ({"q": "a"}, "q: expected numbers"),
        ({"controls": np.zeros(5)}, "controls: expected shape"),
        ({"controls": [np.inf, 0.0]}, "controls: the number at"),
        ({"device": "tpu"}, "device must be one of"),
        ({"dtype": np.float32}, "needs device='cuda'"),
        ({"every": 0}, "every must be"),
        ({"workers": 0}, "workers must be"),
        ({"integrator": 3}, "integrator must be one"),
        ({"parameters": {"mass:link9": [1.0, 2.0]}}, "link9"),
    ],
)
def test_wrong_input(options, match):
    with pytest.raises(la.LeastActionError, match=match):
        la.batch.simulate(la.robots.pendulum(2), **({"dt": 0.01, "steps": 2} | options))
