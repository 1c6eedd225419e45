"""What integrators record: the same names and shapes for all of them."""

import numpy as np
import pytest

import leastaction as la
from leastaction.integration import registry
from leastaction.integration.record import Record

INTEGRATORS = [registry.find(name)() for name in registry.names()]


def welded_pendulum():
    """Two links, and a tool that is welded to the second; centres of mass away from the frames' origins."""
    b = la.MechanismBuilder("welded")
    inertia = {"inertia": (0.02, 0.03, 0.01)}
    b.body("upper", mass=1.0, com=(0.1, 0.0, -0.4), **inertia)
    b.revolute("shoulder", "world", "upper", axis="y")
    b.body("lower", mass=0.8, com=(0.0, 0.05, -0.5), **inertia)
    b.revolute("elbow", "upper", "lower", axis="x", position=(0.0, 0.0, -1.0))
    b.body("tool", mass=0.2, com=(0.0, 0.0, -0.1), **inertia)
    b.fixed("weld", "lower", "tool", position=(0.1, 0.0, -1.0))
    return b.build()


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda x: type(x).__name__)
def test_poses_of_every_integrator(integrator):
    """COM frames of all bodies in the order of their names, close to those of the joint positions."""
    robot = welded_pendulum()
    run = la.simulate(robot, [0.4, -0.2], [0.5, 1.0], dt=1e-3, steps=5, integrator=integrator)
    assert run.com_poses.shape == (6, len(robot.bodies), 7)
    for k, q in enumerate(run.q):
        for i, X in enumerate(la.dynamics.body_poses(robot, q)):
            com = X[:3, :3] @ robot.bodies[i].inertia.com + X[:3, 3]
            np.testing.assert_allclose(run.com_poses[k, i, :3], com, atol=1e-5)  # joints of MaximalEuler drift apart
            w, x, y, z = run.com_poses[k, i, 3:]
            np.testing.assert_allclose(R_of(w, x, y, z), X[:3, :3], atol=1e-5)
    assert run.com_twists.shape == (6, len(robot.bodies), 6)


def R_of(w, x, y, z):
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def test_fields_and_extras_by_name():
    record = Record(np.zeros((3, 2)), p=np.ones((3, 2))) | {"iterations": np.arange(3)}
    assert list(record) == ["q", "p", "iterations"]
    assert record["p"] is record.p is record.second
    assert "v" not in record
    assert record.get("v") is None
    with pytest.raises(KeyError):
        record["v"]
    record["u"] = np.zeros((2, 1, 1))
    record["contacts"] = np.array([[0.0] * 10, [1.0] + [0.0] * 9])
    assert set(record.states()) == {"q", "p", "iterations"}
    held = record.held(1)
    assert {name: len(rows) for name, rows in held.items()} == {"q": 2, "p": 2, "iterations": 2, "u": 1, "contacts": 1}
