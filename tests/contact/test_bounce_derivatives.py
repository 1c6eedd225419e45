"""Derivatives of runs with impacts: closed forms, and differences of steps and runs that are solved anew."""

import math

import numpy as np
import pytest

import leastaction as la
from leastaction.derivatives import parameter, with_parameters
from leastaction.mechanism import Box, MechanismBuilder, Plane, Pose, Sphere
from tests.derivatives.checks import DT, assert_gradient, assert_linearized, assert_relative

E = 0.6
RIGID = la.Maximal(tolerance=1e-12), la.Minimal(tolerance=1e-12)
ENGINES = pytest.mark.parametrize("engine", RIGID, ids=["Maximal", "Minimal"])
ORDERS = pytest.mark.parametrize(
    "engine", [la.Maximal(order=1, tolerance=1e-12), *RIGID], ids=["Maximal, order 1", "Maximal", "Minimal"]
)


def falling_ball():
    """A spinning ball that hits the ground within the step, and slides there."""
    b = MechanismBuilder("ball")
    b.body("ball", mass=0.7, shapes=Sphere(0.1, name="skin", friction=0.05, restitution=E))
    b.free("ball")
    b.add_shape("world", Plane(name="floor"))
    return b.build(), [0.02, -0.01, 0.1 + 0.01, 1, 0, 0, 0], [5.0, -9.0, 2.0, 2.0, 0.7, -2.0]


def spinning_box():
    """A tilted box whose lowest corner hits the ground."""
    b = MechanismBuilder("box")
    b.body("box", mass=1.3, com=(0.01, 0, 0.02), inertia=(0.01, 0.02, 0.025), shapes=Box((0.3, 0.4, 0.2), name="skin"))
    b.free("box")
    b.add_shape("world", Plane(friction=0.1, restitution=E, name="floor"))
    turn = Pose.from_axis_angle((1 / 3, 2 / 3, 2 / 3), 0.6)
    corners = [[x, y, z] for x in (-0.15, 0.15) for y in (-0.2, 0.2) for z in (-0.1, 0.1)]
    low = min(float((turn.rotation @ c)[2]) for c in corners)
    return b.build(), [0, 0, 0.012 - low, *turn.quaternion], [1.0, -0.5, 2.0, 1.4, -0.6, -2.5]


def two_balls():
    """Balls of two sizes that meet off-centre in the air."""
    b = MechanismBuilder("two")
    b.body("one", mass=1.0, shapes=Sphere(0.1, name="skin", friction=0.04, restitution=E))
    b.free("one")
    b.body("two", mass=0.4, shapes=Sphere(0.06, name="skin"))
    b.free("two")
    q = [0, 0, 1, 1, 0, 0, 0, 0.16, 0.05, 1.02, 1, 0, 0, 0]
    return b.build(), q, [3.0, 9.0, -14.0, 2.0, 0.1, 0.0, 5.0, 20.0, -15.0, -1.5, -0.3, 0.1]


def pendulum_on_a_wall():
    """A double pendulum whose bob hits a wall."""
    b = MechanismBuilder("pendulum")
    b.body("upper", mass=0.8, com=(0, 0, -0.25), inertia=(0.02, 0.02, 0.001))
    b.revolute("shoulder", "world", "upper", axis="y", armature=0.02)
    skin = Sphere(0.05, name="skin", friction=0.3, pose=Pose((0, 0, -0.5)))
    b.body("lower", mass=0.5, com=(0, 0, -0.3), inertia=(0.01, 0.01, 0.001), shapes=skin)
    b.revolute("elbow", "upper", "lower", axis="y", position=(0, 0, -0.5))
    b.actuator("motor", "elbow")
    # The plane's normal is its z axis: here -x.
    normal = Pose((0.2, 0, 0), (math.sqrt(0.5), 0.0, -math.sqrt(0.5), 0.0))
    b.add_shape("world", Plane(restitution=E, name="wall", pose=normal))
    reach = 0.2 - 0.05 - 0.01
    shoulder = -0.1
    return b.build(), [shoulder, -shoulder - math.asin((reach + 0.5 * math.sin(shoulder)) / 0.5)], [-1.5, -2.0]


def sliding_rod():
    """A tilted rod whose end slides into the ground: with all of its restitution, friction would add energy."""
    b = MechanismBuilder("rod")
    ends = [Sphere(0.02, name=name, friction=0.9, restitution=0.9, pose=Pose((0, 0, z))) for name, z in ENDS.items()]
    b.body("rod", mass=1.2, com=(0, 0, 0.02), inertia=(0.1, 0.095, 0.012), shapes=ends)
    b.free("rod")
    b.add_shape("world", Plane(name="floor"))
    turn = Pose.from_axis_angle((0, 1, 0), 0.6)
    return b.build(), [0, 0, 0.5 * math.cos(0.6) + 0.03, *turn.quaternion], [0.3, 0.0, 0.5, 3.0, 0.1, -2.0]


ENDS = {"low": -0.5, "high": 0.5}
SCENES = {
    "rod": sliding_rod,
    "ball": falling_ball,
    "box": spinning_box,
    "two balls": two_balls,
    "pendulum": pendulum_on_a_wall,
}


def moving(scene):
    robot, q, v = SCENES[scene]()
    q = np.array(q, float)
    return robot, q, la.dynamics.mass_matrix(robot, q) @ np.array(v), np.full(robot.nu, 0.3)


def assert_bounces(robot, q, p, u, engine):
    """The step ends a substep at an impact."""
    run = la.simulate(robot, q, p=p, controls=u, dt=DT, steps=1, integrator=engine)
    assert run.stored["substeps" if "substeps" in run.stored else "divided"][1].any()


@ENGINES
def test_a_ball_goes_up_with_a_share_of_its_speed(engine):
    """Without gravity and friction d v+ / d v- = -e and d v+ / d z = 0, and the place where it turns counts for both:
    z+ = z0 - (1 + e) (z0 - r) - e v- dt, so d z+ / d z0 = -e."""
    b = MechanismBuilder("ball", gravity=(0, 0, 0))
    b.body("ball", mass=2.0, shapes=Sphere(0.1, name="skin", friction=0.0, restitution=E))
    b.free("ball")
    b.add_shape("world", Plane(name="floor", friction=0.0))
    robot, q, p = b.build(), np.array([0, 0, 0.105, 1, 0, 0, 0]), np.array([0, 0, 0, 0, 0, -6.0])
    A, _ = la.linearize(robot, engine, q, p, None, DT)
    up = 6 + 5  # momenta: wx, wy, wz, vx, vy, vz
    assert abs(A[up, up] + E) < 1e-8
    assert np.abs(np.delete(A[up], up)).max() < 1e-8
    assert abs(A[5, 5] + E) < 1e-8
    assert abs(A[5, up] + E * DT / 2.0) < 1e-8


@ENGINES
def test_an_elastic_collision_exchanges_the_balls(engine):
    """Equal balls on one line: the second goes on where and as the first would, d x2 = (1, 0) dx, d v2 = (1, 0) dv."""
    b = MechanismBuilder("two", gravity=(0, 0, 0))
    for name in ("one", "two"):
        b.body(name, mass=1.0, inertia=0.004, shapes=Sphere(0.1, restitution=1.0))
        b.prismatic(f"{name}_rail", "world", name, axis="x")
    robot, steps = b.build(), 20

    def gradient(of, by):
        def objective(run):
            dq, dv = np.zeros((2, steps + 1, 2))
            (dq if of == "q" else dv)[-1, 1] = 1.0
            return 0.0, dq, dv

        options = {"q": [0.0, 0.253], "v": [1.0, -0.1], "dt": DT, "steps": steps}
        return la.adjoint(robot, engine, objective, (by,), **options)[1][by]

    np.testing.assert_allclose(np.concatenate([gradient("q", "q"), gradient("v", "v")]), [1, 0, 1, 0], atol=1e-7)
    np.testing.assert_allclose(gradient("q", "v"), [steps * DT, 0], atol=1e-7)


@ORDERS
@pytest.mark.parametrize("scene", SCENES)
def test_step(scene, engine):
    robot, q, p, u = moving(scene)
    assert_bounces(robot, q, p, u, engine)
    assert_linearized(robot, engine, q, p, u, 2e-5, 1e-4, assert_relative)


@ORDERS
@pytest.mark.parametrize("scene", SCENES)
def test_runs_through_a_bounce(scene, engine):
    """When the impact is depends on all that went before.

    Differences are wide: friction that slides is solved to 1e-10 of its velocities.
    """
    robot, q, p, u = moving(scene)
    v = np.linalg.solve(la.dynamics.mass_matrix(robot, q), p)
    q = robot.integrate(q, -1.3 * DT * v)
    assert_gradient(robot, engine, q, p, np.tile(u, (3, 1)), 2e-5, 1e-4)


NAMES = {
    "rod": ["radius:rod/low", "position:rod/low", "mass:rod", "inertia:rod"],
    "ball": ["restitution:ball/skin", "friction:ball/skin", "radius:ball/skin", "mass:ball", "inertia:ball", "gravity"],
    "box": ["restitution:world/floor", "size:box/skin", "position:box/skin", "mass:box", "com:box", "inertia:box"],
    "two balls": ["restitution:one/skin", "friction:one/skin", "radius:one/skin", "radius:two/skin", "mass:two"],
    "pendulum": ["restitution:world/wall", "rotation:world/wall", "position:elbow", "mass:lower"]
    + ["com:lower", "inertia:lower", "rotation:elbow", "armature:shoulder", "position:lower/skin"],
}


@ENGINES
@pytest.mark.parametrize("scene", SCENES)
def test_parameters(scene, engine):
    """Of a linear function of the end of a run with an impact, by what the impact and its time depend on."""
    robot, q, p, u = moving(scene)
    v, steps, rng = np.linalg.solve(la.dynamics.mass_matrix(robot, q), p), 3, np.random.default_rng(1)
    weights = rng.normal(size=(2, robot.nv))
    options = {"q": q, "v": v, "controls": np.tile(u, (steps, 1)), "dt": DT, "steps": steps}
    start = la.simulate(robot, integrator=engine, **options)

    def objective(run):
        dq, dv = np.zeros((2, steps + 1, robot.nv))
        dq[-1], dv[-1] = weights
        return weights[0] @ robot.difference(start.q[-1], run.q[-1]) + weights[1] @ run.v[-1], dq, dv

    found = la.adjoint(robot, engine, objective, NAMES[scene], **options)[1]
    for name in NAMES[scene]:
        value = parameter(robot, name)
        for k in range(value.size):
            h = 1e-3 * (np.abs(value).max() or 0.1)
            both = []
            for sign in (1.0, -1.0):
                other = value.copy()
                other.flat[k] += sign * h
                run = la.simulate(with_parameters(robot, {name: other}), integrator=engine, **options)
                both.append(objective(run)[0])
            slope = (both[0] - both[1]) / (2.0 * h)
            assert abs(np.ravel(found[name])[k] - slope) < 1e-4 * max(1.0, np.abs(found[name]).max()), name


def test_names_of_shapes():
    robot = moving("ball")[0]
    assert parameter(robot, "radius:ball/0") == parameter(robot, "radius:ball/skin") == 0.1
    for name, message in (
        ("radius:ball/hat", "unknown shape 'ball/hat'; there is ball/skin"),
        ("size:ball/skin", "says no size"),
        ("restitution:world/floor", "says no restitution"),
    ):
        with pytest.raises(la.MechanismError, match=message):
            parameter(robot, name)


@pytest.mark.parametrize("friction", [0.0, 0.5])
@pytest.mark.parametrize("engine", RIGID, ids=["Maximal", "Minimal"])
def test_an_elastic_collision_on_rails(engine, friction):
    """Equal balls exchange their velocities: q2' = q1 + T v1. Friction, which rails hold, moves nothing; the balls are
    out of each other's reach just before they meet, for there is no gravity."""
    b = MechanismBuilder("two balls", gravity=(0, 0, 0))
    for name, x in (("one", 0.0), ("two", 0.24)):
        b.body(name, mass=1.0, inertia=1e-3, shapes=Sphere(0.1, restitution=1.0, friction=friction))
        b.prismatic(f"{name}_rail", "world", name, axis="x", position=(x, 0, 0))
    robot = b.build()
    run = la.simulate(robot, [-0.0037, 0.0], [2.0, 0.0], dt=0.01, steps=5, integrator=engine)
    for k, by_q, by_v in ((0, [1.0, 0.0], [0.05, 0.0]), (1, [0.0, 0.0], [1.0, 0.0])):
        bars = np.zeros((2, 6, 2))
        bars[k, -1, 1] = 1.0
        found = la.derivatives.gradient(run, *bars, ("q", "v"))
        np.testing.assert_allclose(found["q"], by_q, atol=1e-7)
        np.testing.assert_allclose(found["v"], by_v, atol=1e-7)


@pytest.mark.parametrize("gap", [0.5, 0.523], ids=["at the end of a step", "within a step"])
@ENGINES
def test_elastic_balls_swap_their_motion(engine, gap):
    """The struck one ends at x_f = v_0 T + x_1 + 2 r, wherever in a step the impact is."""
    b = MechanismBuilder("two")
    for name in ("one", "two"):
        b.body(name, mass=1.0, shapes=Sphere(0.1, restitution=1.0))
        b.free(name)
    robot, v = b.build().replace(gravity=(0.0, 0.0, 0.0)), np.zeros(12)
    v[3] = 1.0

    def last(run):
        dq = np.zeros((len(run), 12))
        dq[-1, 9] = 1.0
        return run.q[-1, 7], dq, None

    q = [0, 0, 0, 1, 0, 0, 0, 0.2 + gap, 0, 0, 1, 0, 0, 0]
    value, g = la.adjoint(robot, engine, last, ["q", "v"], q=q, v=v, dt=0.05, steps=20)
    assert value == pytest.approx(1.0 + 0.2, abs=1e-9)
    found = [g["q"][3], g["q"][9], g["v"][3], g["v"][9]]
    np.testing.assert_allclose(found, [1.0, 0.0, 1.0, 0.0], atol=1e-6)


@pytest.mark.parametrize("early", [0.0, 0.003], ids=["at the end of a step", "within a step"])
@ENGINES
def test_a_ball_that_falls_and_bounces(engine, early):
    """Height at T after a fall from rest that ends at t: z = e g t (T - t) - g (T - t)^2 / 2, by H = g t^2 / 2."""
    b = MechanismBuilder("ball")
    b.body("ball", mass=0.7, shapes=Sphere(0.1, name="skin", restitution=E))
    b.free("ball")
    b.add_shape("world", Plane(name="floor"))
    robot, g, t, T, steps = b.build(), 9.81, 4 * DT - early, 7 * DT, 7
    q = [0.0, 0.0, 0.1 + 0.5 * g * t**2, 1.0, 0, 0, 0]
    run = la.simulate(robot, q, dt=DT, steps=steps, integrator=engine)
    up = np.zeros((2, 2, steps + 1, 6))
    up[0, 0, -1, 5] = up[1, 1, -1, 5] = 1.0
    height, speed = (la.derivatives.gradient(run, *one, ["q", "v", "restitution:ball/skin", "gravity"]) for one in up)
    by_t = E * g * (T - 2 * t) + g * (T - t)
    assert height["q"][5] == pytest.approx(by_t / (g * t), rel=1e-6)
    assert height["v"][5] == pytest.approx(T - t - E * t, rel=1e-6)
    assert height["restitution:ball/skin"] == pytest.approx(g * t * (T - t), rel=1e-6)
    by_g = E * t * (T - t) - 0.5 * (T - t) ** 2 - by_t * t / (2 * g)
    assert height["gravity"][2] == pytest.approx(-by_g, rel=1e-5)
    assert speed["q"][5] == pytest.approx((1 + E) / t, rel=1e-6)
    assert speed["v"][5] == pytest.approx(1.0, rel=1e-6)
    assert speed["restitution:ball/skin"] == pytest.approx(g * t, rel=1e-6)


def rails(e=1.0):
    """Two balls on one line that touch, without gravity."""
    b = MechanismBuilder("two", gravity=(0, 0, 0))
    for name in ("one", "two"):
        b.body(name, mass=1.0, inertia=0.004, shapes=Sphere(0.1, restitution=e))
        b.prismatic(f"{name}_rail", "world", name, axis="x")
    return b.build()


MINIMAL = la.Minimal(tolerance=1e-12)


def test_a_collision_at_the_start():
    """The elastic balls swap their motion from the start on: (1, 0, 1, 0), in a run and in a step."""
    robot, steps = rails(), 10

    def last(run):
        dq = np.zeros((steps + 1, 2))
        dq[-1, 1] = 1.0
        return 0.0, dq, None

    _, g = la.adjoint(robot, MINIMAL, last, ["q", "v"], q=[0.0, 0.2], v=[1.0, 0.0], dt=DT, steps=steps)
    np.testing.assert_allclose([*g["q"], *g["v"]], [1, 0, steps * DT, 0], atol=1e-9)
    A, _ = la.linearize(robot, MINIMAL, [0.0, 0.2], [1.0, 0.0], None, DT)
    np.testing.assert_allclose(A, [[0, 1, 0, DT], [1, 0, DT, 0], [0, 0, 0, 1], [0, 0, 1, 0]], atol=1e-9)


def test_a_collision_at_the_start_with_maximal_is_refused():
    with pytest.raises(la.IntegratorError, match="begins at an impact"):
        la.linearize(rails(), la.Maximal(), [0.0, 0.2], [1.0, 0.0], None, DT)


@pytest.mark.parametrize("names", [["q", "v"], ["restitution:ball/skin", "gravity"]], ids=["state", "parameters"])
def test_a_ball_that_bounces_at_the_start(names):
    """z = e w T - g T^2 / 2 for one that comes with -w, earlier and slower by a fall from higher: with d the height,
    t = d / w, z = e (w + g t) (T - t) - g (T - t)^2 / 2."""
    b = MechanismBuilder("ball")
    b.body("ball", mass=0.7, shapes=Sphere(0.1, name="skin", restitution=E))
    b.free("ball")
    b.add_shape("world", Plane(name="floor"))
    robot, g, w, steps = b.build(), 9.81, 2.0, 5
    T = steps * DT

    def height(run):
        dq = np.zeros((len(run), 6))
        dq[-1, 5] = 1.0
        return run.q[-1, 2] - 0.1, dq, None

    start = {"q": [0, 0, 0.1, 1, 0, 0, 0], "v": [0, 0, 0, 0, 0, -w], "dt": DT, "steps": steps}
    value, found = la.adjoint(robot, MINIMAL, height, names, **start)
    assert value == pytest.approx(E * w * T - 0.5 * g * T**2, abs=1e-9)
    if "q" in names:
        assert found["q"][5] == pytest.approx((-E * w + E * g * T + g * T) / w, rel=1e-7)
        assert found["v"][5] == pytest.approx(-E * T, rel=1e-7)
    else:
        assert found["restitution:ball/skin"] == pytest.approx(w * T, rel=1e-7)
        assert found["gravity"][2] == pytest.approx(0.5 * T**2, rel=1e-6)


@ENGINES
def test_checkpoints_at_impacts(engine):
    """A piece that begins at the impact at the end of a step has the gradient of the run in one piece."""
    b = MechanismBuilder("two")
    for name in ("one", "two"):
        b.body(name, mass=1.0, shapes=Sphere(0.1, restitution=1.0))
        b.free(name)
    robot, v = b.build().replace(gravity=(0.0, 0.0, 0.0)), np.zeros(12)
    v[3] = 1.0

    def last(run):
        dq = np.zeros((len(run), 12))
        dq[-1, 9] = 1.0
        return run.q[-1, 7], dq, None

    q = [0, 0, 0, 1, 0, 0, 0, 0.2 + 0.5, 0, 0, 1, 0, 0, 0]
    for piece in (5, 10):
        _, g = la.adjoint(robot, engine, last, ["q", "v"], q=q, v=v, dt=0.05, steps=20, checkpoints=piece)
        found = [g["q"][3], g["q"][9], g["v"][3], g["v"][9]]
        np.testing.assert_allclose(found, [1.0, 0.0, 1.0, 0.0], atol=1e-6)
