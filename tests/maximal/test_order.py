"""Order of convergence, by slope: exact motions, every joint, armatures, loops and couplings."""

import numpy as np
import pytest

import leastaction as la
from leastaction.mechanism import Coupling, joints
from tests.maximal.helpers import ORDERS, assert_order, method
from tests.minimal.test_loop_joints import KINDS as LOOP_KINDS
from tests.minimal.test_loop_joints import both, geared, geared_motion, held_state
from tests.minimal.test_loops import four_bar
from tests.minimal.test_order import CASES, exact_states
from tests.oracles.differences import assert_close
from tests.oracles.random_trees import KINDS, random_inertia, random_pose, random_state, random_tree, random_unit

TIGHT = la.DOP853(rtol=1e-13, atol=1e-14)
COUNTS = {1: (100, 200), 2: (100, 200), 4: (40, 80), 6: (40, 60)}
SLIDING = ("prismatic", "screw", "cylindrical", "planar", "rotation_axis_free_movement")
GEARED = ("revolute", "universal", "spherical", *SLIDING)


def reference(robot, seed, duration=0.2, **options):
    """(q, v) at three even times."""
    run = la.simulate(robot, *random_state(robot, seed), dt=duration / 2, steps=2, integrator=TIGHT, **options)
    return run.q, run.v


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", CASES)
def test_order_against_exact_motions(name, order):
    """Errors of q, v and p at 0.2, 0.4 ... 1 s; point masses have bodies without rotational inertia."""
    build, convert, _ = CASES[name]
    assert_order(build(), order, convert(exact_states(name)), 1.0, COUNTS[order])


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", ["parallelogram", "rods"])
def test_order_of_four_bars(name, order):
    robot, states = four_bar(name)
    counts = {1: (200, 400), 2: (200, 400), 4: (100, 200), 6: (50, 100)}[order]
    assert_order(robot, order, states, 2.0, counts)


@pytest.mark.parametrize("kind", [k for k in KINDS if k not in ("fixed", "composite")])
def test_order_for_every_joint(kind):
    """Three bodies on joints of one kind with springs and dampers."""
    robot = random_tree(11, 3, (kind, kind, "revolute"), branching=0.3, armature=False, stiffness=3.0, damping=0.2)
    states = reference(robot, 3)
    for order, counts in {1: (80, 160), 2: (80, 160), 4: (16, 32)}.items():
        assert_order(robot, order, states, 0.2, counts)


@pytest.mark.parametrize("kind", GEARED)
def test_order_with_drive_inertias(kind):
    """Armatures of hinges, slides and balls, of composed joints too."""
    robot = random_tree(11, 3, (kind, kind, "revolute"), branching=0.3, damping=0.2)
    assert_order(robot, 2, reference(robot, 3), 0.2, (80, 160))


@pytest.mark.parametrize("kind", ["spherical", "free"])
def test_order_with_armatures_of_balls_on_the_world(kind):
    b = la.MechanismBuilder("wheel")
    b.body("wheel", mass=1.0, com=(0.1, 0.0, -0.2), inertia=(0.1, 0.2, 0.25))
    b.joint("joint", kind, "world", "wheel", armature=(0.1, 0.2, 0.3) + (0.7,) * (3 if kind == "free" else 0))
    assert_order(b.build(), 2, reference(b.build(), 2), 0.2, (80, 160))


COMPOSITES = {
    "hinge, slide": ((joints.revolute("x"), joints.prismatic("y")), 0.0),
    "slide, hinge, slide": ((joints.prismatic("x"), joints.revolute("y"), joints.prismatic("z")), 0.0),
    "three hinges": ((joints.revolute("z"), joints.revolute("y"), joints.revolute("x")), 0.0),
    "hinge, screw, ball": ((joints.revolute((0.6, 0.8, 0)), joints.screw("y", 0.2), joints.spherical()), 0.1),
}


@pytest.mark.parametrize("name", COMPOSITES)
def test_order_of_composite_joints(name):
    """Parts that one joint of Table B.2 cannot hold are carried by massless bodies."""
    parts, armature = COMPOSITES[name]
    rng = np.random.default_rng(5)
    b = la.MechanismBuilder("composed", gravity=(0.3, -0.5, -9.81))
    free = sum(p.nv for p in parts)
    for k, parent in enumerate(("world", "body0")):
        b.body(f"body{k}", inertia=random_inertia(rng))
        options = {"armature": (armature,) * free} if armature else {"stiffness": 2.0}
        b.joint(
            f"joint{k}", "composite", parent, f"body{k}", parts=parts, pose=random_pose(rng),
            child_pose=random_pose(rng), damping=0.2, **options,
        )  # fmt: skip
    robot = b.build()
    states = reference(robot, 3)
    for order, counts in {1: (160, 320), 2: (80, 160), 4: (24, 48)}.items():
        assert_order(robot, order, states, 0.2, counts)


@pytest.mark.parametrize("case", LOOP_KINDS)
def test_a_loop_joint_does_what_a_tree_joint_does(case):
    """The two motions agree to O(dt^2), or to round-off: both are the same equations between bodies."""
    kind, options, _ = LOOP_KINDS[case]
    tree, loop = both(kind, options)
    q, v = random_state(tree, 2)
    start = held_state(tree, loop, q, v)
    errors = []
    for steps in (50, 100):
        run = {"dt": 0.5 / steps, "steps": steps, "integrator": method(2)}
        carried, held = la.simulate(tree, q, v, **run), la.simulate(loop, *start, **run)
        assert held.constraint_violation.max() <= 1e-10
        ends = [la.dynamics.body_poses(r, x.q[-1]) for r, x in ((tree, carried), (loop, held))]
        errors.append(np.abs(ends[0] - ends[1]).max())
    assert errors[1] <= 1e-8 or errors[0] / errors[1] >= 3.5, errors
    assert errors[1] <= 1e-2, errors


@pytest.mark.parametrize("order", [1, 2, 4])
@pytest.mark.parametrize("coefficients", [(0.3, -2.0), (0.2, 0.5, 0.3, -0.1)], ids=str)
def test_couplings_against_the_reduced_system(coefficients, order):
    f = np.polynomial.Polynomial(coefficients)
    robot, states = geared(coefficients), geared_motion(coefficients)
    assert_order(robot, order, states, 1.0, (50, 100) if order == 4 else (100, 200))
    run = la.simulate(robot, states[0][0], states[1][0], dt=0.02, steps=50, integrator=method(order))
    assert_close(run.q[:, 1], f(run.q[:, 0]), 1e-10)


def test_a_gear_between_moving_bodies():
    """Both joints hang on bodies that move; against Galerkin of order 4."""
    rng = np.random.default_rng(8)
    b = la.MechanismBuilder("gear")
    for k in range(4):
        b.body(f"body{k}", inertia=random_inertia(rng))
    b.spherical("ball", "world", "body0", pose=random_pose(rng))
    b.revolute("first", "body0", "body1", axis=random_unit(rng), pose=random_pose(rng))
    b.prismatic("second", "body0", "body2", axis=random_unit(rng), pose=random_pose(rng))
    b.revolute("third", "body2", "body3", axis=random_unit(rng), child_pose=random_pose(rng))
    b.coupling("gear", "second", "first", ratio=0.5, offset=0.1)
    b.add(Coupling("gear2", "third", "second", (0.0, 2.0, 1.0)))
    robot = b.build()
    q = robot.neutral()
    q[-3:] = 0.0, 0.1, 0.21
    start = {"q": q, "v": np.r_[1.0, -2.0, 0.5, 0, 0, 0], "project": True}
    exact = la.simulate(robot, **start, dt=0.005, steps=80, integrator=la.Galerkin(order=4, tolerance=1e-12))
    errors = []
    for every in (8, 4):
        run = la.simulate(robot, **start, dt=0.005 / 4 * every, steps=320 // every, integrator=method(2))
        assert run.constraint_violation.max() <= 1e-10
        errors.append(np.linalg.norm(robot.difference(exact.q[-1], run.q[-1])))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.15)
