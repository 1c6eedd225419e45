"""Distances between convex shapes as constraints: derivatives by witness points, and a plan around a box."""

import numpy as np
import pytest
from scipy.optimize import lsq_linear

import leastaction as la
from leastaction import optimize as opt
from leastaction.errors import ProblemError
from leastaction.mechanism import Box, Capsule, Cylinder, Mesh, Plane, Sphere
from leastaction.optimize.functions.motion_functions import Place
from tests.oracles.differences import assert_close, by_q

CORNERS = np.random.default_rng(5).uniform(-0.2, 0.2, (12, 3))
HULL = Mesh(vertices=CORNERS, name="hull")
SHAPES = {
    "box": Box((0.3, 0.2, 0.4)),
    "capsule": Capsule(0.1, 0.4),
    "sphere": Sphere(0.15),
    "cylinder": Cylinder(0.1, 0.3),
}


def arm(one, two, ground=None):
    """Two links with ball and hinge joints, a shape on each."""
    b = la.MechanismBuilder("arm")
    b.body("upper", mass=1.0, inertia=0.1, shapes=one)
    b.body("middle", mass=1.0, inertia=0.1)
    b.body("lower", mass=1.0, inertia=0.1, shapes=two)
    b.spherical("shoulder", "world", "upper", position=(0, 0, 1.0))
    b.revolute("elbow", "upper", "middle", axis="y", position=(0.1, 0.5, -0.4))
    b.prismatic("reach", "middle", "lower", axis=(0.0, 0.6, -0.8), position=(0.5, 0.3, 0.2))
    if ground is not None:
        b.add_shape("world", ground)
    return b.build()


def distance(robot, first, second):
    function = opt.separation(first, second).function
    function.prepare(robot, 5)

    def at(q, slopes=False):
        q = np.asarray(q)[None]
        return function.evaluate(
            Place(np.zeros(1, int), np.zeros(1), q, np.zeros((1, 0)), np.zeros((1, 0)), 0.1), slopes
        )

    return at


@pytest.mark.parametrize("one", SHAPES)
@pytest.mark.parametrize("two", SHAPES)
def test_derivatives_are_those_of_the_distance(one, two):
    robot = arm(SHAPES[one], SHAPES[two])
    at, rng = distance(robot, "upper", "lower"), np.random.default_rng(0)
    for _ in range(4):
        q = robot.integrate(robot.neutral(), rng.uniform(-0.8, 0.8, robot.nv))
        assert_close(at(q, True).q[0, 0], by_q(robot, lambda x: at(x).value[0, 0], q, 1e-5), 1e-5)


@pytest.mark.parametrize("ground", [Plane(), Box((1.0, 1.0, 0.2)), Sphere(0.3)], ids=["plane", "box", "sphere"])
def test_of_the_ground(ground):
    robot = arm(SHAPES["box"], SHAPES["capsule"], ground)
    rng = np.random.default_rng(1)
    for pair in (("lower", "world"), ("world", "lower")):
        at = distance(robot, *pair)
        q = robot.integrate(robot.neutral(), rng.uniform(-0.8, 0.8, robot.nv))
        assert_close(at(q, True).q[0, 0], by_q(robot, lambda x, at=at: at(x).value[0, 0], q, 1e-5), 1e-5)


def test_of_balls_it_is_the_distance_of_their_centres():
    robot = arm(Sphere(0.15), Sphere(0.2))
    at, q = distance(robot, "lower", "upper"), robot.neutral()
    X = la.dynamics.body_poses(robot, q)
    expected = np.linalg.norm(X[2, :3, 3] - X[0, :3, 3]) - 0.35
    assert at(q).value[0, 0] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_of_boxes_it_is_the_least_distance_of_their_points(seed):
    """By a quadratic program over both boxes."""
    robot = arm(SHAPES["box"], Box((0.2, 0.3, 0.1)))
    q = robot.integrate(robot.neutral(), np.random.default_rng(seed).uniform(-0.8, 0.8, robot.nv))
    X = la.dynamics.body_poses(robot, q)[[0, 2]]
    # x = X0 y0 and x = X1 y1 with both y within their boxes: least squares with bounds.
    A = np.concatenate([X[0, :3, :3], -X[1, :3, :3]], axis=1)
    half = 0.5 * np.array([0.3, 0.2, 0.4, 0.2, 0.3, 0.1])
    found = lsq_linear(A, X[1, :3, 3] - X[0, :3, 3], (-half, half), tol=1e-14)
    assert distance(robot, "upper", "lower")(q).value[0, 0] == pytest.approx(np.sqrt(2.0 * found.cost), abs=1e-6)


def test_a_hull_is_as_near_as_its_nearest_corner():
    robot = arm(HULL, Sphere(0.1), Plane())
    at, q = distance(robot, "upper", "world"), robot.neutral()
    assert at(q).value[0, 0] == pytest.approx(1.0 + CORNERS[:, 2].min(), abs=1e-9)


def slider():
    """A box that slides in a plane, with a box in its way."""
    b = la.MechanismBuilder("slider")
    b.body("cart")
    b.body("load", mass=1.0, inertia=0.1, shapes=Box((0.4, 0.2, 0.2)))
    b.prismatic("x", "world", "cart", axis="x")
    b.prismatic("y", "cart", "load", axis="y")
    b.add_shape("world", Box((0.6, 0.8, 1.0), pose=(1.0, 0.1, 0.0)))
    b.actuator("mx", "x")
    b.actuator("my", "y")
    return b.build()


@pytest.mark.parametrize("solver", ["horizon", "ipopt"])
def test_a_plan_around_a_box(solver):
    """Straight on it would go through; with the constraint no knot comes nearer than the margin, and it costs more."""
    robot = slider()
    problem = opt.Problem(robot, steps=24, duration=2.0).start(q=[0, 0], v=0).finish(q=[2, 0], v=0)
    problem.minimize(opt.effort())
    free = problem.solve(solver=solver)
    at = distance(robot, "load", "world")
    assert min(at(q).value[0, 0] for q in free.trajectory.q) < -0.2
    plan = problem.subject_to(opt.separation("load", "world", margin=0.05)).solve(solver=solver)
    assert plan.success
    assert min(at(q).value[0, 0] for q in plan.trajectory.q) > 0.05 - 1e-5
    assert plan.cost > free.cost


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ("load", "load", "itself"),
        ("load", "cart", "no such shape"),
        ("load", "wagon", "no body"),
        ("load/5", "world", "no such shape"),
    ],
)
def test_pairs_that_have_no_distance(first, second, words):
    problem = opt.Problem(slider(), steps=4, duration=1.0).start(q=[0, 0], v=0).minimize(opt.effort())
    with pytest.raises(ProblemError, match=words):
        problem.subject_to(opt.separation(first, second)).solve(solver="horizon")


def test_shapes_that_do_not_collide_are_named_to_choose_from():
    problem = opt.Problem(la.robots.serial_arm(dof=2), steps=4, duration=1.0)
    with pytest.raises(ProblemError, match="no shape of body 'link2' collides; name one of them, such as 'link2/0'"):
        problem.subject_to(opt.separation("link2", "link1"))
    problem.subject_to(opt.separation("link2/0", "link1/0"))
