"""Every kind of joint closes a loop: a freely moving body held by a loop joint moves as one on a tree joint."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import leastaction as la
from leastaction.mechanism import Coupling, Pose, joints
from tests.minimal.helpers import assert_order, method
from tests.oracles.differences import assert_close, by_q, central
from tests.oracles.random_trees import random_inertia, random_pose, random_state, random_unit

AXIS = random_unit(np.random.default_rng(1))
SPRING = {"stiffness": 4.0, "damping": 0.3}
# name: (kind, options, number of equations)
KINDS = {
    "fixed": ("fixed", {}, 6),
    "revolute": ("revolute", {"axis": AXIS}, 5),
    "revolute, spring": ("revolute", {"axis": AXIS, "rest": 0.4, **SPRING}, 5),
    "prismatic": ("prismatic", {"axis": AXIS}, 5),
    "prismatic, spring": ("prismatic", {"axis": AXIS, "rest": 0.4, **SPRING}, 5),
    "screw": ("screw", {"axis": AXIS, "pitch": 0.2}, 5),
    "screw without pitch": ("screw", {"axis": AXIS}, 5),
    "cylindrical": ("cylindrical", {"axis": AXIS}, 4),
    "cylindrical, springs": (
        "cylindrical",
        {"axis": AXIS, "stiffness": (4.0, 1.0), "damping": (0.0, 0.3), "rest": (0.1, 1.5)},
        4,
    ),
    "universal": ("universal", {}, 4),
    "universal, oblique": ("universal", {"axis": (AXIS, "x")}, 4),
    "planar": ("planar", {"axis": AXIS}, 3),
    "planar, springs": ("planar", {"axis": AXIS, **SPRING}, 3),
    "planar_fixed_orientation": ("planar_fixed_orientation", {"axis": AXIS}, 4),
    "translational": ("translational", {**SPRING}, 3),
    "rotation_axis_free_movement": ("rotation_axis_free_movement", {"axis": AXIS}, 2),
    "spherical": ("spherical", {}, 3),
    "cylindrical_free_orientation": ("cylindrical_free_orientation", {"axis": AXIS}, 2),
    "planar_free_orientation": ("planar_free_orientation", {"axis": AXIS}, 1),
    "free": ("free", {}, 0),
    "composite": ("composite", {"parts": (joints.prismatic("x"), joints.revolute("y"))}, 4),
}


def both(kind, options):
    """(tree, loop): a hinged arm carries a body on a joint; in the second the body is free and the joint a loop."""
    rng = np.random.default_rng(7)
    made = []
    inertias = random_inertia(rng), random_inertia(rng)
    places = [random_pose(rng) for _ in range(4)]
    for loop in (False, True):
        b = la.MechanismBuilder("held" if loop else "carried")
        b.body("arm", inertia=inertias[0])
        b.body("body", inertia=inertias[1])
        b.revolute("hinge", "world", "arm", axis="y", pose=places[0], child_pose=places[1])
        b.joint(
            "joint",
            kind,
            "arm",
            "body",
            pose=places[2],
            child_pose=places[3],
            loop=loop,
            **options,
        )
        if loop:
            b.free("body")
        made.append(b.build())
    return made


def held_state(tree, loop, q, v):
    """State of the mechanism with the loop that fits (q, v) of the tree."""

    def place(q):
        pose = Pose.from_matrix(la.dynamics.body_poses(tree, q)[1])
        values = dict(zip(tree.coordinate_names, q, strict=True)) | dict(
            zip([f"body_free.{x}" for x in ("x", "y", "z", "qw", "qx", "qy", "qz")], pose_numbers(pose), strict=True)
        )
        return np.array([values[name] for name in loop.coordinate_names])

    start = place(q)
    return start, central(lambda h: loop.difference(start, place(tree.integrate(q, h * v))))


def pose_numbers(pose):
    """(x, y, z, qw, qx, qy, qz)."""
    return (*pose.position, *pose.quaternion)


@pytest.mark.parametrize("case", KINDS)
def test_a_loop_joint_does_what_a_tree_joint_does(case):
    """The two motions differ by O(dt^4) and the loop stays closed; its Jacobian is that of its equations."""
    kind, options, equations = KINDS[case]
    tree, loop = both(kind, options)
    q, v = random_state(tree, 2)
    start = held_state(tree, loop, q, v)
    h = la.dynamics.loop_jacobian(loop, start[0])[0]
    assert len(h) == equations
    assert np.abs(h).max(initial=0.0) <= 1e-14
    pull = 0.2 * np.random.default_rng(3).normal(size=loop.nv)
    for x in (start[0], loop.integrate(start[0], pull)):  # closed, and open
        A = la.dynamics.loop_jacobian(loop, x)[1]
        assert_close(A, by_q(loop, lambda x: la.dynamics.loop_jacobian(loop, x)[0], x), 1e-8)
    errors = []
    for steps in (25, 50):
        run = {"dt": 0.5 / steps, "steps": steps, "integrator": method(4)}
        carried, held = la.simulate(tree, q, v, **run), la.simulate(loop, *start, **run)
        assert held.constraint_violation.max() <= 1e-10
        ends = [la.dynamics.body_poses(r, x.q[-1]) for r, x in ((tree, carried), (loop, held))]
        errors.append(np.abs(ends[0] - ends[1]).max())
    assert errors[1] <= 2e-6, errors
    assert errors[1] <= 1e-10 or errors[0] / errors[1] >= 12.0, errors


def test_joints_that_cannot_close_a_loop():
    slides_late = {"parts": (joints.revolute("x"), joints.prismatic("y"))}
    with pytest.raises(la.MechanismError, match=r"'joint'.*slides after it has turned"):
        la.dynamics.loop_jacobian(both("composite", slides_late)[1], np.array([0.0, 0, 0, 0, 1, 0, 0, 0]))
    with pytest.raises(la.MechanismError, match=r"'joint'.*not in a universal joint"):
        la.dynamics.loop_jacobian(both("universal", SPRING)[1], np.array([0.0, 0, 0, 0, 1, 0, 0, 0]))


# ---------------------------------------------------------------- multipliers


def held_rod():
    """A rod of 2 kg and 1 m along -z, free but for a loop hinge about y at its upper end."""
    b = la.MechanismBuilder("rod")
    b.body("rod", mass=2.0, com=(0, 0, -0.5), inertia=(1 / 6, 1 / 6, 0.001))
    b.free("rod")
    b.revolute("pivot", "world", "rod", axis="y", loop=True)
    return b.build()


def test_multipliers_at_rest_carry_the_weight():
    """The first three equations hold the pivot's position along x, y and z: 0, 0 and m g."""
    robot = held_rod()
    for order in ("midpoint", 2, 4):
        run = la.simulate(robot, dt=0.01, steps=5, integrator=method(order))
        assert_close(run.stored["multipliers"][:, :3], np.tile(reaction(robot, [0, 0, 2 * 9.81]), (6, 1)), 1e-9)
        assert_close(run.stored["multipliers"][:, 3:], np.zeros((6, 2)), 1e-9)


def reaction(robot, force):
    """A world force on the child along the directions of the first three loop equations."""
    return robot.tree.closure.rows.n[:3] @ np.asarray(force, float)


def test_multipliers_of_a_swinging_rod():
    """They converge to the pivot's force m (a - g), with I a'' = -m g l/2 sin(a) about the pivot."""
    robot, angle, rate = held_rod(), 1.0, 0.7
    worst = []
    for dt in (0.02, 0.01):
        start = np.array([0, 0, 0, np.cos(angle / 2), 0, np.sin(angle / 2), 0])
        run = la.simulate(robot, start, [0, rate, 0, 0, 0, 0], dt=dt, duration=1.0, integrator=method(4))
        a = 2.0 * np.arctan2(run.q[:, 5], run.q[:, 3])
        w = run.v[:, 1]
        speeding = -1.5 * 9.81 * np.sin(a)
        along, across = np.array([-np.sin(a), 0 * a, -np.cos(a)]), np.array([-np.cos(a), 0 * a, np.sin(a)])
        force = 2.0 * (0.5 * (speeding * across - w**2 * along) + np.array([[0], [0], [9.81]]))
        expected = force.T @ robot.tree.closure.rows.n[:3].T
        worst.append(np.abs(run.stored["multipliers"][1:-1, :3] - expected[1:-1]).max())
    assert worst[1] <= 2e-3 * 2.0 * 9.81, worst
    assert worst[0] / worst[1] >= 3.5, worst


# ---------------------------------------------------------------- couplings


def geared(coefficients):
    """Two rods on hinges of their own; the second follows a polynomial of the first."""
    b = la.MechanismBuilder("geared")
    for k, (mass, length) in enumerate(((1.0, 0.5), (0.6, 0.3))):
        b.body(f"rod{k}", mass=mass, com=(0, 0, -length), inertia=(0.02, 0.02, 0.001))
        b.revolute(f"hinge{k}", "world", f"rod{k}", axis="y", position=(k, 0, 0))
    b.add(Coupling("gear", "hinge1", "hinge0", coefficients))
    return b.build()


def geared_motion(coefficients):
    """(q, v) of `geared` at six even times of one second.

    By the reduced system (I0 + f'^2 I1) x'' + f' f'' I1 x'^2 = -m0 g l0 sin(x) - f' m1 g l1 sin(f).
    """
    f = np.polynomial.Polynomial(coefficients)
    d1, d2 = f.deriv(), f.deriv(2)
    I0, I1 = 0.02 + 0.25, 0.02 + 0.6 * 0.09

    def rate(_, y):
        x, w = y
        pull = -9.81 * (0.5 * np.sin(x) + d1(x) * 0.18 * np.sin(f(x)))
        return [w, (pull - d1(x) * d2(x) * I1 * w**2) / (I0 + d1(x) ** 2 * I1)]

    times = np.linspace(0.0, 1.0, 6)
    x, w = solve_ivp(rate, (0, 1), [0.8, 0.5], "DOP853", t_eval=times, rtol=1e-13, atol=1e-13).y
    return np.stack([x, f(x)], axis=-1), np.stack([w, d1(x) * w], axis=-1)


@pytest.mark.parametrize(
    ("coefficients", "order"),
    [((0.2, 0.5, 0.3, -0.1), "midpoint"), ((0.3, -2.0), 2), ((0.3, -2.0), 4), ((0.2, 0.5, 0.3, -0.1), 4)],
    ids=str,
)
def test_couplings_against_the_reduced_system(coefficients, order):
    """Order by slope."""
    f = np.polynomial.Polynomial(coefficients)
    robot, reference = geared(coefficients), geared_motion(coefficients)
    assert_order(robot, order, reference, 1.0, (20, 40) if order == 4 else (100, 200))
    run = la.simulate(robot, reference[0][0], reference[1][0], dt=0.02, steps=50, integrator=method(order))
    assert run.constraint_violation.max() <= 1e-10
    assert_close(run.q[:, 1], f(run.q[:, 0]), 1e-10)


def test_the_multiplier_of_a_gear_is_its_torque():
    """At rest on a level arm: what hinge 1 needs to hold its rod comes through the gear."""
    robot = geared((np.pi / 2, 1.0))
    # x with 0.5 sin(x) + 0.18 sin(pi/2 + x) = 0 is in balance.
    x = -np.arctan(0.18 / 0.5)
    run = la.simulate(robot, [x, np.pi / 2 + x], dt=0.01, steps=5, integrator=method(4))
    assert_close(run.q, np.tile([x, np.pi / 2 + x], (6, 1)), 1e-10)
    torque = 9.81 * 0.18 * np.sin(np.pi / 2 + x)
    assert_close(run.stored["multipliers"][:, 0], np.full(6, torque), 1e-8)
