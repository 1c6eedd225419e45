"""Contact problems that are hard to solve: stiff beside light, many at once, overlapping, with no rigid solution."""

import math

import numpy as np
import pytest

import leastaction as la
from leastaction import MechanismBuilder
from leastaction.mechanism import Box, Capsule, Cylinder, HeightField, Inertia, Plane, Pose, Sphere
from tests.maximal.scenes import G, balls, cubes, gaps, placed


@pytest.mark.parametrize("seed", range(6))
def test_closed_legs_that_stick_to_the_ground(seed):
    """Minitaur dropped limp on rough ground: redundant loops, light links and stiff contacts in one matrix.

    Its legs fold through singular configurations at a hundred radians a second, where steps have to be divided.
    """
    rng = np.random.default_rng(seed)
    robot = la.robots.minitaur(ground=True, friction=1.0)
    q = robot.neutral()
    q[2] += rng.uniform(0.2, 0.5)
    q[3:7] += 0.05 * rng.normal(size=4)
    q[3:7] /= np.linalg.norm(q[3:7])
    run = la.simulate(robot, q, dt=(0.002, 0.005)[seed % 2], duration=1.0, integrator=la.Maximal())
    assert run.constraint_violation.max() < 1e-8
    assert gaps(run).min() > -1e-7
    assert run.energy[-1] < run.energy[0]


def wall():
    """Courses of boxes that touch, and a ball that flies into them at 6 m/s."""
    b, places = MechanismBuilder("wall"), []
    for row in range(4):
        for column in range(4 - row % 2):
            b.body(f"b{row}{column}", mass=1.0, shapes=Box((0.2, 0.4, 0.2)))
            b.free(f"b{row}{column}")
            places.append((0, (column + 0.5 * (row % 2)) * 0.401, 0.1 + 0.2 * row))
    b.body("ball", mass=5.0, shapes=Sphere(0.15))
    b.free("ball")
    b.add_shape("world", Plane())
    robot = b.build()
    v = np.zeros(robot.nv)
    v[-3] = 6.0
    return robot, placed(robot, *places, (-1, 0.6, 0.5)), v


@pytest.mark.parametrize("dt", [0.01, 0.004])
def test_ball_breaks_a_wall(dt):
    """Over a hundred contacts in an impact, corners and edges that meet unforeseen: nothing overlaps, all is solved."""
    robot, q, v = wall()
    run = la.simulate(robot, q, v, dt=dt, duration=0.8, integrator=la.Maximal())
    assert gaps(run).min() > -2e-6
    assert np.max(run.energy - np.minimum.accumulate(run.energy)) < 1e-3 * (run.energy[0] - run.energy[-1])
    assert run.q[-1, 0::7].max() > 0.3


def test_deep_overlap_is_left_no_faster_than_by_a_share_of_falling():
    robot = cubes(1)
    run = la.simulate(robot, placed(robot, (0, 0, 0.1)), dt=0.002, duration=1.6, integrator=la.Maximal())
    assert run.v[:, 5].max() < math.sqrt(0.03 * G * 0.15) + 0.02
    assert run.q[-1, 2] == pytest.approx(0.25, abs=1e-6)


def test_joint_slightly_beyond_its_limit_comes_back_calmly():
    b = MechanismBuilder("arm", gravity=(0, 0, 0))
    b.body("arm", mass=1.0, com=(0.5, 0, 0), inertia=0.1)
    b.revolute("hinge", "world", "arm", axis="z", lower=-1.0, upper=1.0)
    robot = b.build()
    run = la.simulate(robot, [1.0009], dt=0.002, duration=1.0, integrator=la.Maximal())
    assert run.q[-1, 0] <= 1.0 + 1e-9
    assert np.abs(run.v).max() < 0.1


def pressing_arm(gravity, friction, damping=1.0):
    """Two links whose tip is to be pressed on a wall at x = 0.8."""
    b = MechanismBuilder("press", gravity=(0, 0, -gravity))
    b.add_shape("world", Box((0.1, 2, 2), pose=(0.85, 0, 0), friction=friction))
    rod = Inertia(1.0, (0.25, 0, 0), (0.001, 0.03, 0.03))
    b.body("upper", inertia=rod)
    b.body("fore", inertia=rod, shapes=Sphere(0.05, pose=(0.5, 0, 0), friction=friction))
    b.revolute("shoulder", "world", "upper", axis="y", damping=damping)
    b.revolute("elbow", "upper", "fore", axis="y", position=(0.5, 0, 0), damping=damping)
    b.home({"shoulder": 1.2, "elbow": -2.4})
    return b


@pytest.mark.parametrize("gravity", [0.0, 1e-3])
def test_torques_press_a_tip_on_a_wall(gravity):
    """Statics, where nothing but torques acts on what rests: contacts that hold it are not taken to drive it."""
    b = pressing_arm(gravity, 0.5)
    b.actuator("one", "shoulder")
    b.actuator("two", "elbow")
    for dt in (0.005, 0.001):
        run = la.simulate(b.build(), dt=dt, duration=0.5, controls=[-5.0, 8.0], integrator=la.Maximal())
        first, both = run.q[-1, 0], run.q[-1].sum()
        elbow = 0.5 * np.array([math.cos(first), -math.sin(first)])
        arm = 0.5 * np.array([math.cos(both), -math.sin(both)]) + [0.05, 0.0]
        levers = np.array([[elbow[1] + arm[1], -elbow[0] - arm[0]], [arm[1], -arm[0]]])
        force = -np.linalg.solve(levers, [-5.0, 8.0])
        np.testing.assert_allclose(run.contact_force("fore", "world")[-50:, [0, 2]] - force, 0.0, atol=0.02)
        assert np.abs(run.v[-50:]).max() < 1e-6
        assert not run.stored["substeps"][-50:].any()


@pytest.mark.parametrize(("gravity", "damping", "kv"), [(9.81, 1.0, 20.0), (0.0, 0.0, 100.0)])
def test_stiff_servos_press_a_tip_on_a_smooth_wall(gravity, damping, kv):
    """What they push with tells what an impact is, and how large impulses may be: not gravity alone."""
    b = pressing_arm(gravity, 0.0, damping)
    b.position_servo("one", "shoulder", kp=1e4, kv=kv)
    b.position_servo("two", "elbow", kp=1e4, kv=kv)
    run = la.simulate(b.build(), dt=0.005, duration=0.5, controls=[0.1, -0.2], integrator=la.Maximal())
    forces = run.contact_force("fore", "world")[-20:, 0]
    assert forces.max() < -1000.0
    assert np.ptp(forces) < 1e-3 * abs(forces.mean())


@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_velocities_while_stiff_servos_press(friction):
    """What does not move has no velocity, whatever servos press with and however their targets jump.

    Half of the impulse of a servo alone would be 1e6 N m/rad * 0.2 rad * 2.5 ms / 0.03 kg m^2, more than 1e4 rad/s, and
    a quarter of what it changes by from step to step hundreds of rad/s. Along a smooth wall undamped servos do swing.
    """
    b = pressing_arm(9.81, friction, 0.0)
    b.position_servo("one", "shoulder", kp=1e6)
    b.position_servo("two", "elbow", kp=1e6)
    share = np.minimum(1.0, np.arange(60) / 40)[:, None]
    controls = (1.0 - share) * [1.2, -2.4] + share * [0.1, -0.2]
    run = la.simulate(b.build(), dt=0.005, steps=60, controls=controls, integrator=la.Maximal())
    force = run.contact_force("fore", "world")[:, 0]
    assert force[-20:].max() < -1e5
    closed = np.arange(np.flatnonzero(force > -1e3)[-1] + 4, 61)  # the impact takes three steps
    first, both, v = run.q[closed, 0], run.q[closed].sum(axis=1), run.v[closed]
    assert len(closed) > 30
    towards = 0.5 * (np.sin(first) * v[:, 0] + np.sin(both) * v.sum(axis=1))
    assert np.abs(towards).max() < (0.02 if friction > 0.0 else 0.1)
    if friction > 0.0:  # sticks
        assert np.abs(v).max() < 1e-2
        assert run.kinetic_energy[closed].max() < 1e-6


def test_derivatives_while_servos_press():
    """Momenta while targets move, by controls and momenta: central differences of steps."""
    b = pressing_arm(9.81, 0.0, 0.0)
    for name, joint in (("one", "shoulder"), ("two", "elbow")):
        b.position_servo(name, joint, kp=1e4, kv=50.0)
    robot, integrator = b.build(), la.Maximal(tolerance=1e-13)
    start = math.acos(0.75) * np.array([1.0, -2.0])
    controls = start + np.arange(6)[:, None] * [-0.002, 0.006]
    run = la.simulate(robot, start, dt=0.005, controls=controls, steps=6, integrator=integrator)
    u = controls[-1] + [-0.004, 0.01]
    A, B = la.linearize(robot, integrator, run.q[-1], run.p[-1], u, 0.005)

    def after(p, u):
        ahead = la.simulate(robot, run.q[-1], p=p, dt=0.005, controls=[u], steps=1, integrator=integrator)
        return np.concatenate([ahead.q[1], ahead.p[1]])

    for exact, x, h, f in (
        (A[:, 2:], run.p[-1], 1e-3, lambda p: after(p, u)),
        (B, u, 1e-5, lambda u: after(run.p[-1], u)),
    ):
        found = np.stack([(f(x + h * e) - f(x - h * e)) / (2.0 * h) for e in np.eye(2)], axis=1)
        assert np.abs(found - exact).max() < 1e-4 * np.abs(exact).max()
        np.testing.assert_allclose(found[2:], exact[2:], rtol=1e-3, atol=1e-4 * np.abs(exact[2:]).max())


def sprung_arm():
    """Three links whose tip is on a wall, with springs that are stiff beside them and far from rest."""
    b = MechanismBuilder("sprung", gravity=(0, 0, 0))
    b.add_shape("world", Box((0.1, 2, 2), pose=(0.85, 0, 0), friction=0.5))
    for i, stiffness in enumerate((481.0, 99840.0, 73921.0)):
        skin = [Sphere(0.05, pose=(0.4, 0, 0))] if i == 2 else []
        b.body(f"l{i}", mass=1.0, com=(0.2, 0, 0), inertia=(1e-3, 2e-2, 2e-2), shapes=skin)
        spot = {"position": (0.4 if i else 0.0, 0, 0), "stiffness": stiffness, "damping": 1.0}
        b.revolute(f"j{i}", f"l{i - 1}" if i else "world", f"l{i}", axis="y", **spot)
    return b.build()


def test_stiff_springs_let_go():
    """What springs hold is 1.4e5 J; the first step would make twice that of it if links turned by 0.5 rad at once."""
    run = la.simulate(sprung_arm(), [1.2214, -1.5513, -0.6141], dt=0.005, steps=2, integrator=la.Maximal())
    assert (run.energy - run.energy[0]).max() < 0.02 * run.kinetic_energy.max()
    assert (run.stored["substeps"][1:, 0, 0] != 0.0).all()  # both steps were bisected


def folding_arm():
    """A capsule in flight with three links on hinges about y, the last of which wedges itself against the first."""
    b = MechanismBuilder("arm")
    b.add_shape("world", Plane())
    along = Pose.from_axis_angle((0, 1, 0), 0.5 * math.pi)
    for i, (length, place) in enumerate(((0.101862, 0.0), (0.233666, 0.233666), (0.0, 0.23328), (0.0, -0.034064))):
        x = 0.5 * length or (0.11664 if i == 2 else 0.056774)
        skin = Capsule(0.03, length, pose=Pose((x, 0, 0)) * along) if length else Sphere(0.05, pose=(x, 0, 0))
        b.body(f"link{i}", density=1000.0, shapes=skin)
        if i == 0:
            b.free("link0")
        else:
            b.revolute(
                f"j{i}", f"link{i - 1}", f"link{i}", axis="y", position=(place, 0, -0.06), damping=0.02, armature=0.002
            )
            b.actuator(f"m{i}", f"j{i}")
    return b.build()


def test_links_that_wedge_each_other():
    """Friction holds a sphere on a capsule that its own joints press it on, with any force: a jam takes its time, but
    not all that there is, and no energy comes of it, though it may take most of the motion."""
    robot = folding_arm()
    q = np.array([0.295, 0.0, 0.317, 0.67, 0.0, 0.743, 0.0, -2.043, -0.87, 4.919])
    q[3:7] /= np.linalg.norm(q[3:7])
    p = [0.0, 0.4279, 0.0, 4.77, 0.0, 0.4961, 0.7903, 0.0723, -0.0543]
    run = la.simulate(robot, q, p=p, dt=0.005, steps=4, controls=[0.75, 1.91, 1.01], integrator=la.Maximal())
    assert run.iterations.max() < 4000
    assert run.stored["contacts"][:, 9].min() > -2e-5  # these numbers are rounded: links overlap at the start
    assert np.diff(run.energy).max() < 0.01 * run.kinetic_energy.max()


def test_smoothed_contact_is_felt_without_a_jump():
    """Over the height, the push of a smoothed contact fades; where it is left out it is a thousandth of the weight."""
    robot, dt = balls(1, friction=0.5), 0.01
    integrator = la.Maximal(order=1, smoothing=1e-3)
    heights = 0.1 + np.linspace(0.001, 0.3, 120)
    starts = [placed(robot, (0, 0, z)) for z in heights]
    ends = [la.simulate(robot, q, dt=dt, steps=1, integrator=integrator).q[-1, 2] for q in starts]
    push = np.array(ends) - (heights - G * dt * dt)
    assert push[0] > 1e-5
    assert np.diff(push).max() < 1e-9
    # It fades from height to height; what is cut off at last is a small part of the weight's.
    felt = (push > 0.002 * G * dt * dt) & (heights > 0.105)
    fades = push[1:][felt[:-1]] / push[:-1][felt[:-1]]
    assert len(fades) > 10
    assert fades.min() > 0.5


def test_bounce_out_of_an_overlap_is_no_faster_than_the_law_of_impact():
    """Restitution speaks of velocities: an overlap at the start does not add to the bounce."""
    b = MechanismBuilder("ball")
    b.body("ball", mass=1.0, shapes=Sphere(0.1, restitution=0.5))
    b.free("ball")
    b.add_shape("world", Plane())
    robot, v = b.build(), np.array([0, 0, 0, 0, 0, -1.0])
    run = la.simulate(robot, placed(robot, (0, 0, 0.05)), v, dt=0.01, duration=0.3, integrator=la.Maximal(order=1))
    assert 0.3 < run.v[:, 5].max() < 1.0


@pytest.mark.parametrize("seed", [0, 7, 10, 21])
def test_heavy_ball_lands_beside_a_light_stick(seed):
    """What a fast and heavy body brings along does not whirl a light one around while the step is solved."""
    b, x = MechanismBuilder("stick"), np.linspace(-2, 2, 21)
    for name, mass, shape in (("stick", 0.05, Box((0.3, 0.04, 0.04))), ("ball", 20.0, Sphere(0.1))):
        b.body(name, mass=mass, shapes=shape)
        b.free(name)
    heights = 0.15 * np.sin(3 * x[:, None]) * np.cos(2 * x) + 0.1 * (x[:, None] ** 2 + x**2)
    b.add_shape("world", HeightField(heights, 0.2, friction=0.6))
    robot, rng = b.build(), np.random.default_rng(seed)
    q = placed(robot, (*rng.uniform(-0.2, 0.2, 2), 0.15), (0.6, 0, 1.5))
    q[3:7] = rng.normal(size=4)
    v = np.zeros(robot.nv)
    v[11] = -20.0
    run = la.simulate(robot, robot.normalize(q), v, dt=0.01, duration=0.4, integrator=la.Maximal(order=1))
    assert run.iterations.max() <= 120


@pytest.mark.parametrize("seed", [5, 9])
def test_whirling_rods_gain_nothing_when_they_meet(seed):
    """Rods turn by half a radian in a step, so that the normal at its start tells little about its end."""
    b = MechanismBuilder("rods")
    for name in ("one", "two"):
        b.body(name, mass=1.0, shapes=Capsule(0.03, 0.5, friction=0.8))
        b.free(name)
    b.add_shape("world", Plane(friction=0.6))
    robot, rng = b.build(), np.random.default_rng(seed)
    q = placed(robot, (0, 0, 0.5), (0, 0.1, 0.9))
    q[3:7], q[10:14] = rng.normal(size=4), rng.normal(size=4)
    v = np.zeros(robot.nv)
    v[:3], v[6:9], v[5], v[11] = 30 * rng.normal(size=3), 30 * rng.normal(size=3), -1.0, -4.0
    run = la.simulate(robot, robot.normalize(q), v, dt=0.01, duration=0.6, integrator=la.Maximal(order=1))
    assert np.max(run.energy - np.minimum.accumulate(run.energy)) < 1e-3 * (run.energy[0] - run.energy[-1])


@pytest.mark.parametrize("seed", [21, 41, 77])
def test_tumbling_boxes_that_meet_with_other_corners_do_not_overlap(seed):
    """What two boxes have moved into each other within a step, with features unforeseen at its start, is undone."""
    b = MechanismBuilder("boxes")
    for k, (mass, size) in enumerate(((1.0, (0.3, 0.4, 0.3)), (0.3, (0.16, 0.12, 0.13)), (0.3, (0.16, 0.3, 0.05)))):
        b.body(f"box{k}", mass=mass, shapes=Box(size, friction=0.3))
        b.free(f"box{k}")
    b.add_shape("world", Plane(friction=0.6))
    robot, rng = b.build(), np.random.default_rng(seed)
    q = robot.neutral()
    for k, z in ((0, 0.4), (7, 0.8), (14, 1.1)):
        q[k : k + 3] = [*rng.uniform(-0.1, 0.1, 2), z]
        q[k + 3 : k + 7] = rng.normal(size=4)
    q, v = robot.normalize(q), rng.normal(size=robot.nv)
    run = la.simulate(robot, q, v, dt=0.005, duration=1.0, integrator=la.Maximal(order=1))
    assert gaps(run).min() > -1e-6


@pytest.mark.parametrize("seed", [2, 17, 37])
def test_tilting_cylinder_does_not_sink(seed):
    """It stands on some points of its rim; within a step others may become the lowest."""
    rng = np.random.default_rng(seed)
    b = MechanismBuilder("disc")
    b.body("disc", mass=1.0, shapes=Cylinder(0.1, 0.05))
    b.free("disc")
    b.add_shape("world", Plane(friction=0.8))
    robot = b.build()
    q = robot.normalize(np.r_[0, 0, 0.08 + 0.02 * rng.random(), 1, 0.1 * rng.normal(size=3)])
    v = np.r_[2.0 * rng.normal(size=3), 0.3 * rng.normal(size=2), -0.5]
    run = la.simulate(robot, q, v, dt=0.01, duration=1.0, integrator=la.Maximal(order=1))
    assert run.stored["contacts"][:, 9].min() > -1e-6


@pytest.mark.parametrize(
    ("masses", "seed"), [((60, 4e-3, 7e-3, 740, 0.012, 88), 1), ((0.01, 1900, 7e-4, 0.14, 920), 2)]
)
def test_light_links_that_snap_taut_between_heavy_ones(masses, seed):
    """Chains with masses of 1 to 1e6 that bounce: what happens in microseconds is followed in parts as short.

    In parts of 1 / 1024 of a step alone, half of such runs ended in an error.
    """
    b = MechanismBuilder("chain")
    skin = Capsule(0.03, 0.2, pose=Pose((0, 0, -0.1)), friction=0.9, restitution=1.0)
    for i, m in enumerate(masses):
        b.body(f"l{i}", mass=m, com=(0, 0, -0.1), inertia=(4e-3 * m, 4e-3 * m, 5e-4 * m), shapes=skin)
        if i == 0:
            b.free("l0")
        else:
            b.spherical(f"j{i}", f"l{i - 1}", f"l{i}", position=(0, 0, -0.2))
    b.add_shape("world", Plane())
    robot, rng = b.build(), np.random.default_rng(seed)
    q = robot.integrate(robot.neutral(), rng.uniform(-0.5, 0.5, robot.nv))
    q[:3] = 0, 0, 0.25 * len(masses) + 0.3
    run = la.simulate(robot, q, rng.normal(size=robot.nv), dt=0.01, steps=100, integrator=la.Maximal())
    assert run.constraint_violation.max() < 1e-8
    assert gaps(run).min() > -5e-6  # of masses up to a million
    assert (run.energy - run.energy[0]).max() < 0.03 * run.kinetic_energy.max()
