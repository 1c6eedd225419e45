"""Controls as generalised forces."""

import numpy as np

import leastaction as la


def test_wrenches_of_actuators_do_the_work_of_the_body():
    """tau = J^T F for an actuator that pushes on a body behind joints of all kinds."""
    b = la.MechanismBuilder("kinds")
    parent = "world"
    for k, kind in enumerate(("free", "revolute", "prismatic", "spherical", "universal", "screw", "cylindrical")):
        b.body(f"l{k}", mass=1.0, inertia=0.1)
        options = {"pitch": 0.2} if kind == "screw" else {}
        b.joint(f"j{k}", kind, parent, f"l{k}", position=(0.1, 0.2, -0.3), **options)
        parent = f"l{k}"
    wrench = np.array([1.0, -2.0, 0.5, 0.3, 0.7, -1.1])
    b.thruster("push", parent, tuple(wrench))
    robot = b.build()
    q = robot.random_configuration(np.random.default_rng(1))
    J = la.dynamics.body_jacobian(robot, q, parent, frame="body")
    np.testing.assert_allclose(robot.generalized_forces([2.0], q), 2.0 * J.T @ wrench, atol=1e-12)
