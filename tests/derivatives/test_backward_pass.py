"""The backward pass over runs of `Maximal` gives what central differences of runs that are solved anew give."""

from dataclasses import replace

import numpy as np
import pytest

import leastaction as la
from benchmarks.backpropagation import pantograph
from leastaction.derivatives import gradient, parameter, with_parameters
from leastaction.dynamics.legendre import momentum_of_velocity, momentum_slopes
from leastaction.maximal.derivatives import step_tape
from leastaction.mechanism import Box, Plane, Sphere, joints
from tests.derivatives.checks import assert_linearized, assert_relative
from tests.oracles.differences import central
from tests.oracles.random_trees import random_state, random_tree

NAMES = ("q", "v", "controls")


def chain():
    """Joints of every kind without screws; hinges and slides have springs, dampers and drive inertia, the ball that."""
    b = la.MechanismBuilder("chain", gravity=(0.3, -0.5, -9.81))
    rng = np.random.default_rng(2)
    kinds = ("revolute", "spherical", "prismatic", "universal", "revolute", "cylindrical", "free")
    for i, kind in enumerate(kinds):
        b.body(f"b{i}", mass=1.0 + 0.1 * i, com=tuple(rng.uniform(-0.2, 0.2, 3)), inertia=(0.012, 0.01, 0.014))
        single = kind in ("revolute", "prismatic")
        extra = {"stiffness": 2.0, "damping": 0.1, "armature": 0.05} if single else {}
        extra |= {"armature": (0.03, 0.01, 0.02)} if kind == "spherical" else {}
        axis = {"axis": (0.6, 0.0, 0.8)} if single or kind == "cylindrical" else {}
        parent = "world" if i == 0 else f"b{max(0, i - 1 - i % 2)}"
        b.joint(f"j{i}", kind, parent, f"b{i}", position=tuple(rng.uniform(-0.3, 0.3, 3)), **axis, **extra)
    return b.build()


def servos():
    """Two links with stiff servos."""
    b = la.MechanismBuilder.from_mechanism(la.robots.pendulum(2))
    for k, name in enumerate(la.robots.pendulum(2).velocity_names):
        b.position_servo(f"servo{k}", name, kp=200.0, kv=5.0)
    return b.build()


def tied():
    """Springs between bodies, one of them with a damper, and a slack cable."""
    b = la.MechanismBuilder.from_mechanism(chain())
    b.spring("plain", ("world", (0.5, 0.1, 0.0)), ("b6", (0.1, 0.05, 0.02)), stiffness=30.0, rest_length=0.2)
    b.spring("damped", ("b0", (0.1, 0.0, 0.1)), ("b6", (0.0, 0.05, 0.02)), stiffness=20.0, rest_length=0.1, damping=0.7)
    via = [("world", (0.5, 0.1, 0.0)), ("b0", (0.1, 0.0, 0.1)), ("b4", (0.05, 0.1, 0.0))]
    b.cable("cable", via, stiffness=40.0, rest_length=0.3, damping=0.5)
    return b.build()


def stiffly_tied():
    """A spring and a cable over three links that are stiff for the step, though not so much that it is divided."""
    b = la.MechanismBuilder.from_mechanism(la.robots.pendulum(3))
    one, two, three = la.robots.pendulum(3).body_names
    b.spring("plain", ("world", (0.5, 0.1, 0.0)), (three, (0.1, 0.05, 0.02)), stiffness=600.0, rest_length=0.9)
    via = [("world", (0.3, 0.1, 0.0)), (one, (0.1, 0.0, 0.1)), (two, (0.05, 0.1, 0.0))]
    b.cable("cable", via, stiffness=800.0, rest_length=0.6, damping=0.5)
    robot = b.build()
    return robot, np.array([0.3, -0.2, 0.4]), np.array([0.5, 0.3, -0.2])


def soft_balls(k=1.0):
    """Ball and free joints with springs, k times as stiff, and dampers, the last with drive inertia."""
    b = la.MechanismBuilder("soft balls", gravity=(0.3, -0.5, -9.81))
    parents = ("world", "b0", "world", "b2")
    for i, (kind, parent) in enumerate(zip(("spherical", "free", "free", "spherical"), parents, strict=True)):
        b.body(f"b{i}", mass=1.0 + 0.1 * i, com=(0.1, 0.05 * i, -0.1), inertia=(0.012, 0.01, 0.014))
        stiffness, damping = np.array([1.0, 2.0, 1.5, 20.0, 30.0, 25.0]) * k, np.array([0.1, 0.0, 0.05, 0.3, 0.3, 0.3])
        n = 3 if kind == "spherical" else 6
        soft = {"stiffness": tuple(stiffness[:n]), "damping": tuple(damping[:n])}
        soft |= {"armature": (0.03, 0.01, 0.02)} if i == 3 else {}
        b.joint(f"j{i}", kind, parent, f"b{i}", position=(0.1, 0.2 * i, -0.1), **soft)
    return b.build()


def stiff_balls():
    """The same, so stiff that steps are divided, though not so finely that the run does not tell how."""
    robot = soft_balls(1.5)
    assert (la.Maximal().prepare(robot, 0.01).model.coordinates.stiffness > 0.0).any()
    return moving(robot)


def driven():
    """Two links whose first joint is prescribed, and one that hangs on a body whose pose is."""
    b = la.MechanismBuilder.from_mechanism(la.robots.pendulum(2))
    b.prescribe("joint1")
    b.body("hand", mass=0.5, com=(0.02, 0.01, 0.03), inertia=(0.01, 0.02, 0.03))
    b.free("hand")
    b.prescribe("hand")
    b.body("held", mass=1.0, com=(0.0, 0.05, -0.2), inertia=(0.01, 0.02, 0.03))
    b.revolute("wrist", "hand", "held", axis=(0.6, 0.8, 0.0), position=(0.1, 0.0, 0.0))
    return b.build()


def hand(t):
    """A pose that moves and turns."""
    half = 0.3 + 0.7 * t
    turn = (np.cos(half), 0.6 * np.sin(half), 0.0, 0.8 * np.sin(half))
    return la.mechanism.Pose((0.3 * t, 0.2 * np.sin(5.0 * t), 1.0 - t * t), turn)


def pushed_back():
    """Two links beyond limits that push back and damp."""
    b = la.MechanismBuilder("pushed back")
    for i in range(2):
        b.body(f"l{i}", mass=1.0, com=(0, 0, -0.1), inertia=(0.01, 0.01, 0.01))
        soft = {"lower": -0.3, "upper": 0.2, "limit_stiffness": 5.0, "limit_damping": 0.5}
        b.revolute(f"j{i}", "world" if i == 0 else "l0", f"l{i}", axis="xy"[i], position=(0, 0, -0.2 * i), **soft)
    return b.build()


def roped():
    """Three links with limits and dry friction, a taut rope and a stop of one joint."""
    b = la.MechanismBuilder.from_mechanism(limited())
    b.tendon("rope", via=[("world", (0.3, 0.2, 0.0)), ("l2", (0.02, 0.03, -0.1))], limits=(0.0, 0.65), rigid=True)
    b.tendon("stop", joints={"j1": 2.0}, limits=(-0.45, 0.4), rigid=True)
    return b.build()


def resisted():
    """What depends on velocities: drag, a damped tendon, servos of which one is at the end of its range."""
    b = la.MechanismBuilder.from_mechanism(la.robots.pendulum(3))
    one, two, three = la.robots.pendulum(3).velocity_names
    b.drag("air", "link3", linear=0.3, quadratic=0.2, point=(0.1, 0.05, 0.0))
    b.wrench("wind", "link1", (0.1, 0.2, 0.3, 0.4, 0.5, 0.6), point=(0.1, 0.0, 0.0))
    b.tendon("tendon", joints=[(one, 0.5), (two, -0.3)], stiffness=20.0, damping=0.5)
    b.position_servo("weak", two, kp=50.0, kv=1.0, force_limits=(-0.5, 0.5))
    b.position_servo("strong", three, kp=50.0, kv=1.0, force_limits=(-500.0, 500.0))
    b.thruster("thruster", "link2", (0.1, 0.2, 0.0, 0.3, 0.0, 1.0))
    return b.build()


def loop():
    """A four-bar linkage that moves."""
    robot = la.robots.four_bar()
    run = la.simulate(robot, v=np.ones(robot.nv), project=True, dt=1e-3, steps=1, integrator=la.Maximal())
    return robot, run.q[0], run.v[0]


def ball_loop():
    """Two links on a hinge and a ball with drive inertia, the end of which slides along a line of the world."""
    b = la.MechanismBuilder("ball loop")
    b.body("one", mass=1.0, com=(0.1, 0.0, -0.2), inertia=(0.02, 0.03, 0.025))
    b.body("two", mass=0.7, com=(0.0, 0.1, -0.1), inertia=(0.01, 0.012, 0.011))
    b.revolute("hinge", "world", "one", axis="y", armature=0.05)
    b.spherical("ball", "one", "two", position=(0.0, 0.0, -0.4), armature=(0.03, 0.01, 0.02))
    ends = {"pose": (0.0, 0.0, -0.6), "child_pose": (0.0, 0.0, 0.3)}
    b.joint("line", "cylindrical_free_orientation", "world", "two", axis="x", loop=True, **ends)
    robot = b.build()
    q, v = robot.integrate(robot.neutral(), np.array([0.5, 0.1, -0.9, 0.3])), np.array([1.0, 2.0, -1.0, 3.0])
    run = la.simulate(robot, q, v, project=True, dt=1e-3, steps=1, integrator=la.Maximal())
    return robot, run.q[0], run.v[0]


def composed():
    """A joint of two motions, which a body without mass carries."""
    b = la.MechanismBuilder("composed")
    b.body("one", mass=1.0, com=(0.1, 0.0, -0.2), inertia=(0.02, 0.03, 0.025))
    b.body("two", mass=0.7, com=(0.0, 0.1, -0.1), inertia=(0.01, 0.012, 0.011))
    parts = (joints.prismatic("x"), joints.revolute("y"), joints.prismatic("z"))
    b.joint("first", "composite", "world", "one", parts=parts, stiffness=2.0, damping=0.2)
    b.revolute("second", "one", "two", axis="y", position=(0.0, 0.0, -0.3))
    return b.build()


def limited():
    """Three links with limits and dry friction."""
    b = la.MechanismBuilder("limited")
    for i in range(3):
        b.body(f"l{i}", mass=1.0, com=(0, 0, -0.1), inertia=(0.01, 0.01, 0.01))
        parent, at = ("world", 0.0) if i == 0 else (f"l{i - 1}", -0.2)
        extra = {"lower": -0.3, "upper": 0.25, "friction": 0.05 if i == 2 else 0.0}
        b.revolute(f"j{i}", parent, f"l{i}", axis="xyx"[i], position=(0, 0, at), **extra)
    return b.build()


def box(restitution=0.0):
    b = la.MechanismBuilder("box")
    b.body("box", mass=1.0, inertia=(0.004, 0.006, 0.005), shapes=Box((0.2, 0.2, 0.2), restitution=restitution))
    b.free("box")
    b.add_shape("world", Plane(friction=0.5))
    robot = b.build()
    q = robot.neutral()
    q[2] = 0.13
    return robot, robot.integrate(q, [0.1, 0.2, 0.3, 0, 0, 0]), np.array([0.3, 0.2, 0.1, 0.5, 0.3, -0.5])


def belt():
    """A box that slides on a tilted conveyor belt, and on a sphere that is fixed beside it and moves along itself."""
    robot, q, v = box()
    b = robot.edit()
    tilted = la.mechanism.Pose((0.0, 0.0, -0.13), (0.8, 0.0, 0.0, 0.6))
    b.add_shape("world", Sphere(0.15, pose=tilted, friction=0.5, surface_velocity=(0.5, 1.0, 0.3)))
    return b.build(), q, v


def pushed():
    """A box on a plane beside a ball that is moved and turned as prescribed."""
    b = box()[0].edit()
    b.body("hand", mass=0.5, inertia=(0.01, 0.02, 0.03), shapes=Sphere(0.1, friction=0.4))
    b.free("hand")
    b.prescribe("hand")
    robot = b.build()
    q = robot.neutral()
    q[2] = 0.101
    return robot, q, np.array([0.0, 0.0, 0.2, 0.3, 0.1, -0.2, 0, 0, 0, 0, 0, 0])


def beside(t):
    """A pose that comes against the box and turns."""
    return la.mechanism.Pose((-0.21 + 0.5 * t, 0.02, 0.12), (np.cos(3.0 * t), 0.0, 0.0, np.sin(3.0 * t)))


def leaning_pantograph():
    """A base on two legs with a common foot, a closed loop, that comes down on its balls while it leans."""
    robot, q, _ = pantograph()
    q[2], v = 0.273, {"hip left": 1.0, "ankle": -1.0, "hip right": 1.0}
    run = la.simulate(robot, q, v, dt=0.01, steps=1, integrator=la.Maximal(), project=True)
    return robot, run.q[0], run.v[0]


def balls(restitution):
    b = la.MechanismBuilder("balls")
    for i in range(2):
        b.body(f"b{i}", mass=1.0 + i, shapes=Sphere(0.1, friction=0.4 + 0.1 * i, restitution=restitution))
        b.free(f"b{i}")
    b.add_shape("world", Plane(restitution=restitution))
    robot = b.build()
    q = robot.neutral()
    q[2], q[7:10] = 0.11, (0.05, 0.02, 0.33)
    return robot, q, np.array([0, 0, 0.5, 0.1, 0.2, -1.0, 0, 0, 0, 0, 0.1, -1.0])


def moving(robot, seed=4):
    return robot, *random_state(robot, seed)


MOTIONS = {
    "prescribed": {"joint1": lambda t: 0.3 + np.sin(3.0 * t), "hand": hand},
    "pushed": {"hand": beside},
}
SMOOTH = la.Maximal(smoothing=1e-4)
CASES = {
    # Robot, q, v; integrator; error and step of differences.
    "chain": (moving(chain()), la.Maximal(), 1e-6, 1e-5),
    "chain, order 1": (moving(chain()), la.Maximal(order=1), 1e-6, 1e-5),
    "servos": (moving(servos()), la.Maximal(), 1e-6, 1e-5),
    "massless": (moving(composed()), la.Maximal(), 1e-6, 1e-5),
    "soft balls": (moving(soft_balls()), la.Maximal(), 1e-6, 1e-5),
    "stiff balls": (stiff_balls(), la.Maximal(), 1e-6, 1e-5),
    "stiff balls, order 1": (stiff_balls(), la.Maximal(order=1), 1e-6, 1e-5),
    "soft limits": ((pushed_back(), np.array([0.25, -0.4]), np.array([1.0, 2.0])), la.Maximal(), 1e-6, 1e-5),
    "stiff ties": (stiffly_tied(), la.Maximal(), 1e-6, 1e-5),
    "prescribed": (moving(driven()), la.Maximal(), 1e-6, 1e-5),
    "ropes": ((roped(), np.array([0.2, -0.22, 0.1]), np.array([3.0, -3.0, 1.0])), SMOOTH, 1e-6, 1e-5),
    "limits": ((limited(), np.array([0.2, -0.25, 0.1]), np.array([3.0, -3.0, 1.0])), SMOOTH, 1e-6, 1e-5),
    "tied": (moving(tied()), la.Maximal(), 1e-6, 1e-5),
    "tied, order 4": (moving(tied()), la.Maximal(order=4), 1e-6, 1e-5),
    "resisted": (moving(resisted()), la.Maximal(), 1e-6, 1e-5),
    "screws": (moving(random_tree(3, 5, ("revolute", "screw"), armature=False)), la.Maximal(), 1e-6, 1e-5),
    "loop": (loop(), la.Maximal(), 1e-6, 1e-5),
    "loop, order 4": (loop(), la.Maximal(order=4), 1e-6, 1e-5),
    "loop, geared ball": (ball_loop(), la.Maximal(), 1e-6, 1e-5),
    "box": (box(), SMOOTH, 1e-6, 1e-5),
    "box, rigid": (box(), la.Maximal(), 1e-4, 1e-5),
    "box, bouncing": (box(0.6), SMOOTH, 1e-6, 1e-5),
    "belt": (belt(), SMOOTH, 1e-6, 1e-5),
    "pushed": (pushed(), SMOOTH, 1e-6, 1e-5),
    "pushed, order 1": (pushed(), la.Maximal(order=1, smoothing=1e-4), 1e-6, 1e-5),
    "pantograph": (leaning_pantograph(), SMOOTH, 1e-6, 1e-5),
    "pantograph, rigid": (leaning_pantograph(), la.Maximal(), 1e-4, 1e-5),
    "balls": (balls(0.0), SMOOTH, 1e-6, 1e-5),
    "balls, bouncing": (balls(0.5), SMOOTH, 1e-6, 1e-5),
}


def assert_slopes(case, names, tolerance, h, motions=None, dt=0.01, steps=6):
    """Gradient of a random linear function of all states of a run, along one direction of each of the names.

    The error is within the tolerance of the sum of all products of the gradient's entries with that direction's.
    """
    (robot, q, v), integrator, rng = *case, np.random.default_rng(1)
    u = 0.03 * rng.normal(size=(steps, robot.nu))
    options = {"dt": dt, "steps": steps, "integrator": integrator, "motions": motions}
    run = la.simulate(robot, q, v, controls=u, **options)
    bars = rng.normal(size=(2, steps + 1, robot.nv))
    found = gradient(run, *bars, names)
    for name in names:
        d = rng.normal(size=found[name].shape)
        if name.startswith("damping"):
            d *= parameter(robot, name) > 0.0  # none is negative

        def value(s, name=name, d=d):
            at, speed, controls, other = q, v, u, robot
            if name == "q":
                at = robot.integrate(q, s * d)
            elif name == "v":
                speed = v + s * d
            elif name == "controls":
                controls = u + s * (d.sum(axis=1) if d.ndim == 3 else d)
            else:
                other = with_parameters(robot, {name: parameter(robot, name) + s * d})
            end = la.simulate(other, at, speed, controls=controls, **options)
            moved = [robot.difference(a, b) for a, b in zip(run.q, end.q, strict=True)]
            return float((bars[0] * moved).sum() + (bars[1] * (end.v - run.v)).sum())

        expected = (8.0 * (value(h) - value(-h)) - value(2.0 * h) + value(-2.0 * h)) / (12.0 * h)
        along = found[name].sum(axis=1) * d.sum(axis=1) if name == "controls" and d.ndim == 3 else found[name] * d
        assert abs(along.sum() - expected) <= tolerance * np.abs(along).sum() + 1e-12, name


@pytest.mark.parametrize("name", CASES)
def test_gradients_of_runs(name):
    case, motions = CASES[name], MOTIONS.get(name.split(",")[0])
    names = ("v", "controls") if case[0][0].loops or motions else NAMES
    assert_slopes(case[:2], names[1:] if case[0][0].loops else names, case[2], case[3], motions)


@pytest.mark.parametrize("name", [name for name in CASES if name.split(",")[0] not in ("loop", "pantograph", *MOTIONS)])
def test_jacobians_of_a_step(name):
    """From the state after six steps, where contacts push."""
    (robot, q, v), integrator, *_ = CASES[name]
    u = 0.3 * np.random.default_rng(1).normal(size=robot.nu)
    run = la.simulate(robot, q, v, dt=0.01, steps=6, integrator=integrator)
    assert_linearized(robot, integrator, run.q[-1], run.p[-1], u, 2e-6, 1e-6, assert_relative)


@pytest.mark.parametrize("order", [1, 2])
def test_divided_steps_are_compiled(order, monkeypatch):
    """As differences say, by the start and by parameters."""
    robot, integrator = la.robots.pendulum(2), la.Maximal(order=order)
    q, v, dt, steps = np.array([2.5, -1.0]), np.array([3.0, -8.0]), 0.05, 12
    run = la.simulate(robot, q, v, dt=dt, steps=steps, integrator=integrator)
    divided = run.stored["substeps"][1:, 0] != 0
    assert divided.any()
    assert not divided.all()
    bars, names = np.random.default_rng(0).normal(size=(2, steps + 1, 2)), ("q", "controls", "mass:link1", "com:link2")
    monkeypatch.setattr(step_tape, "LONGEST", 4)
    found = gradient(run, *bars, names)

    def value(d, robot=robot):
        other = la.simulate(robot, q + d, v, dt=dt, steps=steps, integrator=integrator)
        return float((bars[0] * other.q).sum() + (bars[1] * other.v).sum())

    for e, slope in zip(np.eye(2), found["q"], strict=True):
        assert abs(central(lambda s, e=e: value(s * e), 1e-6) - slope) < 1e-5 * np.abs(found["q"]).max()
    for name in names[2:]:
        d = np.random.default_rng(1).normal(size=found[name].shape)

        def changed(s, name=name, d=d):
            return value(np.zeros(2), with_parameters(robot, {name: parameter(robot, name) + s * d}))

        assert abs(central(changed, 1e-6) - (found[name] * d).sum()) < 1e-5 * np.abs(found[name] * d).sum(), name


def test_parts_of_steps_with_stiff_springs():
    """Links that a spring throws about, so far that steps are divided."""
    b = la.MechanismBuilder.from_mechanism(la.robots.pendulum(3))
    one, _, three = la.robots.pendulum(3).body_names
    b.spring("spring", one, three, stiffness=5e3)
    robot, q = b.build(), np.array([0.3, 0.3, 0.3])
    run = la.simulate(robot, q, dt=0.005, steps=9, integrator=la.Maximal())
    assert run.stored["substeps"].min() >= 0
    assert run.stored["substeps"].max() > 0
    names = ("q", "v", "mass:link1", "stiffness:spring")
    assert_slopes(((robot, q, np.zeros(3)), la.Maximal()), names, 1e-4, 1e-6, dt=0.005, steps=9)


def test_prescribed_motions_say_how_fast_they_start():
    """So a run does not depend on the velocity that it is given there; by the other one as differences say."""
    driven = la.MechanismBuilder.from_mechanism(la.robots.pendulum(2))
    driven.prescribe("joint1")
    robot, q, v = driven.build(), np.array([0.3, 0.5]), np.array([0.2, 0.7])
    options = {"dt": 0.01, "steps": 4, "integrator": la.Maximal(), "motions": {"joint1": lambda t: 0.3 + 0.2 * t}}
    bars = np.random.default_rng(0).normal(size=(2, 5, 2))
    found = gradient(la.simulate(robot, q, v, **options), *bars, ("q", "v"))
    for name, at in (("q", 0), ("v", 1)):

        def value(s, at=at):
            other = la.simulate(robot, q + s * (at == 0) * np.eye(2)[1], v + s * at * np.eye(2)[1], **options)
            return float((bars[0] * other.q).sum() + (bars[1] * other.v).sum())

        assert found[name][0] == 0.0
        assert abs(central(value, 1e-6) - found[name][1]) < 1e-6 * abs(found[name][1])


@pytest.mark.parametrize("seed", range(3))
def test_slopes_of_momenta(seed):
    """Of w' M(q) v by q, for every kind of joint."""
    robot = random_tree(seed, 7, branching=0.4)
    q, v = random_state(robot, seed)
    w = np.random.default_rng(seed).normal(size=robot.nv)
    found = momentum_slopes(robot, q[None], v[None], w[None])[0]
    for e, slope in zip(np.eye(robot.nv), found, strict=True):

        def value(s, e=e):
            return float(w @ momentum_of_velocity(robot, robot.integrate(q, s * e)[None], v[None])[0])

        assert abs(central(value, 1e-5) - slope) < 1e-7 * np.abs(found).max()


PARAMETERS = {
    "tied": ("mass:b5", "com:b6", "inertia:b6", "position:j6", "gravity", "stiffness:damped", "damping:j4"),
    "tied, order 4": ("mass:b5", "com:b6"),
    "resisted": ("mass:link3", "position:joint3"),
    "loop": ("mass:rocker", "com:rocker", "position:rocker_joint", "gravity"),
    "loop, order 4": ("mass:rocker", "com:rocker"),
    "soft balls": ("mass:b1", "stiffness:j0", "damping:j0", "com:b2", "position:j1"),
    "stiff ties": ("mass:link2", "stiffness:cable", "damping:cable", "stiffness:plain"),
    "prescribed": ("mass:link2", "com:held", "position:wrist", "gravity"),
    "limits": ("mass:l1", "com:l2", "friction:j2"),
    "box": (
        "mass:box",
        "inertia:box",
        "friction:world/0",
        "size:box/0",
        "com:box",
        "position:box/0",
        "position:world/0",
    ),
    "balls": ("mass:b1", "friction:b0/0", "radius:b1/0"),
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_gradients_by_parameters(name, monkeypatch):
    """Of masses and the like by one evaluation beside the robot's own, of others by four."""
    monkeypatch.setattr(step_tape, "LONGEST", 4)  # so that they are kept in two pieces
    case, motions = CASES[name], MOTIONS.get(name.split(",")[0])
    integrator = replace(case[1], tolerance=1e-13)
    names = [key for key in PARAMETERS[name] if not (case[0][0].loops and key.startswith("position"))]
    assert_slopes((case[0], integrator), names, 1e-4, 1e-5, motions)
