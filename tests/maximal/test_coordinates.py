"""Between joint coordinates and bodies: poses, twists and momenta there and back."""

import numpy as np
import pytest

import leastaction as la
from leastaction.dynamics.legendre import momentum_of_velocity
from leastaction.maximal.coordinates.recover import read_coordinates, read_momenta
from leastaction.maximal.step.assembly import start_rows
from leastaction.maximal.step.body_states import load_state
from leastaction.mechanism import Pose, joints
from tests.maximal.helpers import method
from tests.minimal.test_forces import flying_arm
from tests.oracles.differences import assert_close
from tests.oracles.random_trees import KINDS, random_state, random_tree


def recovered(robot, q, v):
    """(q, p, the p there was, violation) after q and v went to poses and momenta of bodies and back."""
    stepper = la.Maximal().prepare(robot, 0.01)
    record = stepper.record(0)
    record["q"][0] = q
    record["p"][0] = momentum_of_velocity(robot, q[None], v[None])[0]
    stepper.begin(record)
    model, data = stepper.arrays, stepper.data
    q2, p2 = q.copy(), np.zeros(robot.nv)
    load_state(data.bodies, record["rigid_poses"][0], record["momenta"][0])
    read_coordinates(model.coordinates, data.bodies, data.coordinates, q2, 0.01)
    start_rows(model, data)
    read_momenta(model.bodies, model.coordinates, data.bodies, data.subtrees, p2)
    worst = np.abs(data.rows.g).max(initial=0.0)
    return q2, p2, record["p"][0], worst


@pytest.mark.parametrize("kind", [k for k in KINDS if k != "fixed"])
@pytest.mark.parametrize("seed", [1, 2])
def test_there_and_back(kind, seed):
    """q and p come back to 1e-12, and the joints' equations hold, for joints of every kind."""
    ball = kind in ("spherical", "free", "composite") or kind.endswith("free_orientation")
    robot = random_tree(seed, 5, (kind, "revolute", kind), branching=0.4, armature=not ball)
    q, v = random_state(robot, seed)
    q2, p2, p, worst = recovered(robot, q, v)
    assert worst <= 1e-13
    assert np.abs(robot.difference(q, q2)).max() <= 1e-12
    assert_close(p2, p, 1e-12)


def test_angles_beyond_a_turn():
    """Hinges count turns, screws advance with them."""
    b = la.MechanismBuilder("turns", gravity=(0, 0, 0))
    b.body("a", mass=1.0, inertia=0.1)
    b.body("b", mass=1.0, inertia=0.1)
    b.revolute("hinge", "world", "a", axis="z")
    b.joint("screw", "screw", "a", "b", axis="z", pitch=0.1)
    robot = b.build()
    q2, *_ = recovered(robot, np.array([25.0, -40.0]), np.zeros(2))
    assert_close(q2, [25.0, -40.0], 1e-12)
    run = la.simulate(robot, [25.0, -40.0], [5.0, 0.0], dt=0.01, duration=4.0, integrator=method(2))
    assert run.q[-1, 0] == pytest.approx(45.0, rel=1e-3)


def test_poses_and_twists_of_named_bodies():
    """run.com_poses are those of the COM frames, of welded bodies too; run.com_twists the twists of these frames."""
    b = flying_arm().edit()
    b.body("hand", mass=0.3, com=(0.1, 0.2, 0.0), inertia=0.01)
    b.joint("weld", "fixed", "body2", "hand", pose=Pose((0.2, 0.0, 0.1), (0.5, 0.5, 0.5, -0.5)))
    b.joint(
        "late",
        "composite",
        "hand",
        b.body("tip", mass=0.2, inertia=0.01),
        parts=(joints.revolute("x"), joints.prismatic("y")),
    )
    robot = b.build()
    q, v = random_state(robot, 3)
    run = la.simulate(robot, q, v, dt=0.002, steps=50, integrator=method(2))
    n = len(robot.body_names)
    assert run.com_poses.shape == (51, n, 7)
    assert run.com_twists.shape == (51, n, 6)
    for k in (0, 25, 50):
        X = la.dynamics.body_poses(robot, run.q[k])
        for i, body in enumerate(robot.bodies):
            pose = Pose(tuple(run.com_poses[k, i, :3]), tuple(run.com_poses[k, i, 3:]))
            assert_close(pose.position, X[i, :3, :3] @ body.inertia.com + X[i, :3, 3], 1e-12)
            assert_close(pose.rotation, X[i, :3, :3], 1e-12)
    # Central differences of the poses, O(dt^2).
    for i in range(n):
        for k in (1, 25):
            R = [Pose((0, 0, 0), tuple(run.com_poses[k + s, i, 3:])).rotation for s in (-1, 0, 1)]
            W = R[1].T @ (R[2] - R[0]) / (2 * run.dt)
            spin = np.array([W[2, 1] - W[1, 2], W[0, 2] - W[2, 0], W[1, 0] - W[0, 1]]) / 2
            speed = R[1].T @ (run.com_poses[k + 1, i, :3] - run.com_poses[k - 1, i, :3]) / (2 * run.dt)
            assert np.abs(run.com_twists[k, i] - np.r_[spin, speed]).max() <= 1e-3 * max(
                1.0, np.abs(run.com_twists[k]).max()
            )


def test_poses_of_runs_in_joint_coordinates():
    """Any run has them, recovered from q and v."""
    robot = la.robots.pendulum(2)
    runs = [
        la.simulate(robot, [1.0, 0.5], dt=0.001, steps=20, integrator=x) for x in (la.Maximal(), la.Galerkin(order=2))
    ]
    assert_close(runs[0].com_poses, runs[1].com_poses, 1e-5)
    assert_close(runs[0].com_twists, runs[1].com_twists, 1e-3)
