"""`Grounded` with springs, cables, tendons and servos with force ranges: closed forms, `Maximal`, derivatives."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import leastaction as la
from leastaction.contact.laws.compliance import DEEPEST
from leastaction.mechanism.shapes import Plane, Sphere
from tests.derivatives.checks import assert_linearized

DT = 0.01


def rails(**spring):
    """Two masses on one rail along x, tied by a spring."""
    builder = la.MechanismBuilder("rails")
    for name, mass in (("one", 2.0), ("two", 3.0)):
        builder.body(name, mass=mass, inertia=0.01)
        builder.prismatic(f"along {name}", "world", name, axis="x")
    builder.spring("spring", "one", "two", **spring)
    return builder.build()


def over_a_floor(name, **elbow):
    """Builder of two links with a ball at the end over a floor."""
    builder = la.MechanismBuilder(name)
    builder.body("a", mass=1.0, inertia=0.05, com=(0.0, 0.0, -0.25))
    builder.body("b", mass=0.5, inertia=0.02, com=(0.0, 0.0, -0.2), shapes=Sphere(0.05, pose=(0.0, 0.0, -0.4)))
    builder.revolute("shoulder", "world", "a", axis="y")
    builder.revolute("elbow", "a", "b", axis="y", pose=(0.0, 0.0, -0.5), **elbow)
    builder.add_shape("world", Plane(pose=(0.0, 0.0, -0.8)))
    return builder


def arm(kind):
    """Two links over a floor with something that pulls."""
    soft = {"limits": (-0.5, 0.55), "limit_stiffness": 30.0, "limit_damping": 2.0} if kind == "soft limits" else {}
    builder = over_a_floor("arm", **soft)
    hook, hand, joints = ("world", (0.3, 0.0, -0.2)), ("b", (0.0, 0.0, -0.3)), [("shoulder", 1.0), ("elbow", -0.7)]
    if kind == "spring":
        builder.spring("spring", hook, hand, stiffness=40.0, rest_length=0.2, damping=30.0)
    elif kind == "ranges":
        builder.position_servo("s1", "shoulder", kp=50.0, kv=2.0, force_limits=(-4.0, 4.0))
        builder.position_servo("s2", "elbow", kp=20.0, kv=1.0, force_limits=(-1.0, 1.0))
    elif kind == "isotropic":
        builder.spring("spring", hook, hand, stiffness=40.0, damping=30.0, isotropic=True)
    elif kind == "drag":
        builder.drag("water", "b", point=hand[1], linear=2.0, quadratic=8.0)
    elif kind == "fixed tendon":
        builder.tendon("tendon", joints=joints, stiffness=10.0, rest=0.3, damping=3.0)
    elif kind == "driven tendon":
        builder.tendon("tendon", joints=joints)
        builder.position_servo("servo", "tendon", kp=80.0, kv=2.0, force_limits=(-6.0, 6.0))
    elif kind == "spatial tendon":
        via = [hook, ("a", (0.05, 0.0, -0.4)), ("b", (0.05, 0.0, -0.2))]
        builder.tendon("tendon", via=via, stiffness=40.0, rest=0.2, damping=4.0)
    return builder.build()


KINDS = ("spring", "isotropic", "drag", "soft limits", "ranges", "fixed tendon", "driven tendon", "spatial tendon")


def swing(kind, dt, integrator):
    """0.5 s from above the floor, which the hand hits; controls are held."""
    robot = arm(kind)
    u = np.array([0.9, -0.5])[: robot.nu] if robot.actuators else np.zeros(robot.nu)
    steps = round(0.5 / dt)
    return la.simulate(robot, [1.0, 0.6], dt=dt, controls=np.tile(u, (steps, 1)), steps=steps, integrator=integrator)


@pytest.mark.parametrize("stiffness", [400.0, 4e6, 1.2e8])
def test_masses_on_a_spring_swing_with_the_frequency_of_the_midpoint_rule(stiffness):
    """With omega^2 = k (1/m + 1/M) it is tan(Omega dt / 2) = omega dt / 2, for any omega dt (up to 100 here); energy
    and momentum are kept."""
    robot = rails(stiffness=stiffness, rest_length=0.5)
    amplitude = 6.0 / np.sqrt(stiffness)
    run = la.simulate(robot, [0.0, 0.5 + amplitude], dt=DT, steps=100, integrator=la.Grounded())
    omega = np.sqrt(stiffness * (1.0 / 2.0 + 1.0 / 3.0))
    swing = 0.5 + amplitude * np.cos(2.0 * np.arctan(0.5 * omega * DT) * np.arange(101))
    np.testing.assert_allclose(run.q[:, 1] - run.q[:, 0], swing, atol=1e-7 * amplitude + 1e-10)
    np.testing.assert_allclose(run.p.sum(axis=1), 0.0, atol=1e-8)
    assert np.ptp(run.energy) < 1e-6 * run.energy[0]
    assert run.iterations.max() <= 10


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["spring", "tendon", "ball"])
def test_stiff_springs_of_turning_bodies_keep_energy_and_momentum(kind, seed):
    """Two bodies in flight on a spring off their centres of mass, omega dt some 10 to 20: energy to 1e-3 of its largest
    kinetic part, momenta to what Newton leaves, in a few iterations."""
    rng = np.random.default_rng(seed)
    builder = la.MechanismBuilder("pair", gravity=(0.0, 0.0, 0.0))
    for name in ("a", "b"):
        builder.body(name, mass=float(rng.uniform(0.5, 2.0)), inertia=tuple(rng.uniform(0.02, 0.03, 3)))
    builder.free("a")
    if kind == "ball":
        builder.spherical("neck", "a", "b", pose=(0.0, 0.1, 0.2), stiffness=[2e4, 3e4, 4e4])
        start = [*rng.normal(scale=0.1, size=6), *rng.normal(scale=2e-3, size=3)]
    else:
        builder.free("b")
        places = rng.uniform(-0.1, 0.1, (2, 3))
        ends = [("a", tuple(places[0])), ("b", tuple(places[1]))]
        rest = float(np.linalg.norm(places[1] - places[0] + (0.5, 0.0, 0.0))) - 1e-3
        if kind == "spring":
            builder.spring("spring", *ends, stiffness=1e6, rest_length=rest)
        else:
            builder.tendon("tendon", via=ends, stiffness=1e6, rest=rest)
        start = [*np.zeros(9), 0.5, 0.0, 0.0]
    robot = builder.build()
    q = robot.integrate(robot.neutral(), np.array(start))
    run = la.simulate(robot, q, rng.normal(size=robot.nv), dt=DT, steps=100, integrator=la.Grounded())
    assert np.abs(np.diff(run.energy)).max() <= 1.1e-3 * run.kinetic_energy.max()
    np.testing.assert_allclose(run.momentum, np.tile(run.momentum[0], (101, 1)), atol=1e-6)
    assert run.iterations.mean() < 10


@pytest.mark.parametrize("damping", [5.0, 2000.0])
def test_a_damper_between_masses_slows_them_as_the_rule_says(damping):
    """Momenta half way through the steps shrink by (1 - x) / (1 + x) with x = c dt / (2 mu), however strong it is."""
    robot = rails(damping=damping, rest_length=0.5)
    run = la.simulate(robot, [0.0, 5.0], [0.0, -1.0], dt=DT, steps=20, integrator=la.Grounded())
    x = 0.5 * damping * DT * (1.0 / 2.0 + 1.0 / 3.0)
    rate = -1.0 / (1.0 + x) * ((1.0 - x) / (1.0 + x)) ** np.arange(20)
    np.testing.assert_allclose(np.diff(run.q[:, 1] - run.q[:, 0]) / DT, rate, atol=1e-8)
    np.testing.assert_allclose(2.0 * run.q[:, 0] + 3.0 * run.q[:, 1], 15.0 - 3.0 * run.t, atol=1e-9)


def test_a_servo_beyond_its_range_pushes_with_its_limit():
    builder = la.MechanismBuilder("slider")
    builder.body("mass", mass=2.0, inertia=0.01)
    builder.prismatic("rail", "world", "mass", axis="x")
    builder.position_servo("servo", "rail", kp=1e6, kv=0.0, force_limits=(-3.0, 3.0))
    run = la.simulate(builder.build(), dt=DT, steps=50, controls=np.full((50, 1), 5.0), integrator=la.Grounded())
    np.testing.assert_allclose(run.q[:, 0], 0.5 * 3.0 / 2.0 * run.t**2, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_it_agrees_with_maximal_to_second_order(kind):
    """Both are of order 2 with the same laws of contact, but impacts, which end with the step, wherever they fall:
    half the difference, or what a part of a step makes."""
    off = []
    for dt in (0.005, 0.0025):
        one, two = swing(kind, dt, la.Grounded()), swing(kind, dt, la.Maximal(2))
        off.append(np.abs(one.q - two.q).max())
        assert one.stored["contacts"][:, 9].min(initial=0.0) > -DEEPEST * dt**2
    assert off[1] < max(0.6 * off[0], 1e-3)
    assert off[0] < 1e-2


@pytest.mark.parametrize("kind", KINDS)
def test_runs_go_on_to_the_last_bit(kind):
    robot, u = arm(kind), np.full(2, 0.3)
    sim = la.Simulator(robot, la.Grounded(), 0.005)
    sim.reset([1.0, 0.6])
    for _ in range(20):
        sim.step(u[: robot.nu])
    state, ends = sim.state(), []
    for _ in range(2):
        sim.set_state(state)
        for _ in range(20):
            sim.step(u[: robot.nu])
        ends.append(np.concatenate([sim.q, sim.v]))
    np.testing.assert_array_equal(*ends)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("row", [2, 60])
def test_steps_have_the_derivatives_of_central_differences(kind, row):
    """In flight, and where the hand touches the floor."""
    run = swing(kind, 0.005, la.Grounded())
    robot, q, p = run.mechanism, run.q[row], run.p[row]
    u = run.stored["u"][row].mean(axis=0)
    A, B = la.Grounded().prepare(robot, 0.005).linearize(q, p, u)

    def end(x):
        at = {"p": x[2:4], "controls": x[None, 4:], "integrator": la.Grounded()}
        last = la.simulate(robot, x[:2], dt=0.005, steps=1, **at)
        return np.concatenate([last.q[1], last.p[1]])

    x, d = np.concatenate([q, p, u]), 1e-7
    J = np.stack([(end(x + d * e) - end(x - d * e)) / (2.0 * d) for e in np.eye(len(x))], axis=1)
    np.testing.assert_allclose(np.hstack([A, B]), J, atol=1e-5 * np.abs(J).max())


def test_gradients_by_springs_and_servos():
    """Of where the hand is at the end, by gains, stiffness and damping, against central differences."""
    cases = {"spring": ("stiffness:spring", "damping:spring"), "ranges": ("kp:s2", "kv:s2")}

    def objective(run):
        by_q = np.zeros((run.steps + 1, 2))
        by_q[-1] = 1.0, 2.0
        return float(run.q[-1] @ (1.0, 2.0)), by_q, None

    for kind, names in cases.items():
        robot = arm(kind)
        options = {"q": [0.9, 0.04], "dt": 0.005, "steps": 50}
        _, gradient = la.adjoint(robot, la.Grounded(), objective, names, **options)
        for name in names:
            field, part = name.split(":")
            where = "springs" if kind == "spring" else "actuators"
            ends = []
            for sign in (1.0, -1.0):
                parts = tuple(
                    replace(x, **{field: getattr(x, field) * (1.0 + 1e-5 * sign)}) if x.name == part else x
                    for x in getattr(robot, where)
                )
                run = la.simulate(robot.replace(**{where: parts}), integrator=la.Grounded(), **options)
                ends.append((objective(run)[0], getattr(next(x for x in parts if x.name == part), field)))
            (one, x), (two, y) = ends
            assert float(np.ravel(gradient[name])[0]) == pytest.approx((one - two) / (x - y), rel=1e-4)


def ball_arm(kind, floor=-0.9):
    """A body on a free joint and a link on a ball joint, with drive inertias or springs and dampers, of servos too."""
    root = {"stiffness": [2.0, 3.0, 4.0, 30.0, 40.0, 50.0], "damping": [0.1, 0.2, 0.3, 1.0, 1.0, 1.0]}
    neck = {"stiffness": [1.0, 2.0, 3.0], "damping": [0.05, 0.1, 0.02]}
    if kind == "drives":
        root, neck = {"armature": [0.02, 0.03, 0.01, 0.4, 0.4, 0.4]}, {"armature": [0.05, 0.01, 0.03]}
    builder = la.MechanismBuilder("ball arm")
    builder.body("a", mass=1.0, inertia=(0.05, 0.04, 0.03), com=(0.0, 0.01, -0.2))
    builder.body("b", mass=0.5, inertia=0.02, com=(0.02, 0.0, -0.2), shapes=Sphere(0.05, pose=(0.0, 0.0, -0.4)))
    builder.free("a", **root)
    builder.spherical("neck", "a", "b", pose=(0.0, 0.0, -0.4), **neck)
    for axis, kv in zip("xyz" if kind == "servos" else "", (0.02, 0.1, 0.05), strict=False):
        builder.position_servo(f"servo {axis}", f"neck.w{axis}", kp=4.0, kv=kv)
    builder.add_shape("world", Plane(pose=(0.0, 0.0, floor)))
    robot = builder.build()
    v = np.array([0.5, -0.7, 0.3, 0.4, -0.2, 0.5, 1.0, -2.0, 0.8])
    q = robot.integrate(robot.neutral(), np.array([0.2, 0.3, -0.1, 0.05, 0.02, 0.1, 0.3, -0.2, 0.4]))
    return robot, q, v


@pytest.mark.filterwarnings("ignore:contacts do not act")
def test_drives_of_ball_joints_are_those_of_the_rule_it_builds_on():
    """In flight, without springs, `Grounded` is the body-wise rule of order 2."""
    robot, q, v = ball_arm("drives", floor=-9.0)
    one, two = (la.simulate(robot, q, v, integrator=i, dt=DT, steps=40) for i in (la.Grounded(), la.Galerkin(order=2)))
    np.testing.assert_allclose(one.q, two.q, atol=1e-8)
    np.testing.assert_allclose(one.p, two.p, atol=1e-7)


@pytest.mark.parametrize("kind", ["springs", "servos"])
@pytest.mark.filterwarnings("ignore:contacts do not act")
def test_springs_of_ball_joints_are_of_order_2(kind):
    """In flight: the distance from a fine solution falls to a quarter with half the step."""
    robot, q, v = ball_arm(kind, floor=-9.0)
    u = np.linspace(-0.5, 0.5, robot.nu)

    def end(integrator, steps):
        return la.simulate(robot, q, v, integrator=integrator, dt=0.4 / steps, steps=steps, controls=u).q[-1]

    exact = end(la.Galerkin(order=4), 400)
    coarse, fine = (np.abs(end(la.Grounded(), steps) - exact).max() for steps in (40, 80))
    assert fine < 0.3 * coarse < 1e-2


@pytest.mark.parametrize("kind", ["springs", "drives", "servos"])
def test_ball_joints_have_derivatives_in_contact(kind):
    robot, q, v = ball_arm(kind)
    run = la.simulate(robot, q, v, dt=DT, steps=40, integrator=la.Grounded())
    log = run.stored["contacts"]
    assert log[:, 9].min() > -DEEPEST * DT**2
    at = int(log[len(log) // 2, 0])
    assert_linearized(robot, la.Grounded(tolerance=1e-13), run.q[at], run.p[at], np.zeros(robot.nu), 1e-5, 1e-6)


def test_drive_inertias_of_ball_joints_in_contact():
    """Ends converge with the step, near those of `Maximal`."""
    robot, q, v = ball_arm("drives")
    ends = []
    for n in (40, 160, 640):
        run = la.simulate(robot, q, v, dt=0.4 / n, steps=n, integrator=la.Grounded())
        assert len(run.stored["contacts"]) > n // 20
        assert run.energy.max() < run.energy[0] + 1e-4 * abs(run.energy[0])
        ends.append(run.q[-1])
    far, near = (np.abs(robot.difference(a, b)).max() for a, b in pairwise(ends))
    assert near < 0.5 * far
    other = la.simulate(robot, q, v, dt=0.4 / 160, steps=160, integrator=la.Maximal())
    assert np.abs(robot.difference(ends[1], other.q[-1])).max() < 5e-3


def test_gradients_by_drive_inertias_of_ball_joints():
    robot, q, v = ball_arm("drives")
    w = np.linspace(0.5, 1.5, robot.nv)

    def objective(run):
        by_v = np.zeros(run.v.shape)
        by_v[-1] = w
        return float(run.v[-1] @ w), None, by_v

    integrator = la.Grounded(tolerance=1e-13)
    _, gradient = la.adjoint(robot, integrator, objective, ["armature:neck"], q=q, v=v, dt=DT, steps=30)
    root, neck = robot.joints
    for axis, found in zip(np.eye(3), gradient["armature:neck"], strict=True):
        ends = []
        for change in (1e-5, -1e-5):
            moved = robot.replace(joints=(root, replace(neck, armature=tuple(neck.armature + change * axis))))
            ends.append(objective(la.simulate(moved, q, v, dt=DT, steps=30, integrator=integrator))[0])
        assert found == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-4)


@pytest.mark.parametrize("sides", [(-np.inf, 0.3), (-0.3, np.inf)])
def test_damped_limits_of_tendons_may_be_on_one_side(sides):
    """A limit that is never reached is none."""
    runs = []
    for ends in (sides, tuple(np.clip(sides, -50.0, 50.0))):
        builder, joints = over_a_floor("arm"), [("shoulder", 1.0), ("elbow", -0.7)]
        builder.tendon("tendon", joints=joints, limits=ends, limit_stiffness=50.0, limit_damping=2.0)
        start = [0.9, 0.3] if sides[1] < 1.0 else [-0.9, -0.3]
        runs.append(la.simulate(builder.build(), start, dt=DT, steps=60, integrator=la.Minimal()))
    lengths = runs[0].q @ [1.0, -0.7]
    assert lengths.max() > 0.3 if sides[1] < 1.0 else lengths.min() < -0.3
    assert runs[0].q == pytest.approx(runs[1].q, abs=1e-12)


def test_a_spring_on_a_light_arm_of_a_heavy_cart_is_solved_to_the_tolerance():
    # What Newton's first update finds is the spring's impulse, which hides what it leaves of the arm's equation; and
    # residuals of the cart are a thousand times those of the arm.
    b = la.MechanismBuilder("cart")
    b.body("cart", mass=10.0, inertia=0.1)
    b.prismatic("slide", "world", "cart", axis="x")
    b.body("arm", mass=0.01, com=(0, 0, -0.3), inertia=1e-4)
    b.revolute("turn", "cart", "arm", axis="y")
    b.spring("spring", ("world", (0, 0, 2)), ("arm", (0, 0, -0.6)), stiffness=10.0, rest_length=0.5)
    robot = b.build()
    start = {"q": [0.0, 0.5], "v": [0.3, 1.0], "dt": 1e-3, "steps": 100}
    run = la.simulate(robot, **start, integrator=la.Minimal())
    exact = la.simulate(robot, **start, integrator=la.Minimal(tolerance=1e-13))
    assert abs(run.q[-1] - exact.q[-1]).max() < 1e-8
