"""Prescribed motions in both engines: driven joints, bodies whose pose is given, and surfaces that move."""

from typing import Any

import numpy as np
import pytest

import leastaction as la
from leastaction.errors import IntegratorError, MechanismError
from leastaction.mechanism import Box, Plane, Pose, Sphere, joints

G = 9.81

BOTH = pytest.mark.parametrize("engine", [la.Maximal(), la.Minimal()], ids=["maximal", "minimal"])
"""Laws of prescribed motions are one suite, of both engines."""


def arm():
    """A driven base that a link swings on."""
    b = la.MechanismBuilder("arm")
    b.body("base", mass=2.0, com=(0, 0, 0.1), inertia=0.05)
    b.revolute("turn", "world", "base", axis="y")
    b.body("link", mass=1.0, com=(0, 0, -0.5), inertia=0.02)
    b.revolute("swing", "base", "link", axis="y", position=(0.5, 0, 0))
    b.prescribe("turn")
    return b.build()


def turn(t):
    return 0.5 * np.sin(3.0 * t)


def box_on(ground, **options):
    """A box of 1 kg on a ground, with other bodies perhaps."""
    b = la.MechanismBuilder("box")
    b.add_shape("world", ground)
    b.body("box", mass=1.0, shapes=Box((0.2, 0.2, 0.2), **options))
    b.free("box")
    return b


@BOTH
def test_driven_joint_moves_what_hangs_on_it(engine):
    """The link's motion is that of a pendulum whose pivot moves as told: Lagrange's equation, integrated finely."""
    robot = arm()
    run = la.simulate(robot, {"swing": 0.3}, dt=0.005, duration=1.0, integrator=engine, motions={"turn": turn})
    assert abs(run.q[:, 0] - turn(run.t)).max() < 1e-12
    assert abs(run.v[1:-1, 0] - 1.5 * np.cos(3.0 * run.t[1:-1])).max() < 1e-3  # central differences

    def swing(t, q, v):
        a, rate, fast = turn(t), 1.5 * np.cos(3.0 * t), -4.5 * np.sin(3.0 * t)
        x = np.array(
            [-0.5 * np.cos(a) * rate**2 - 0.5 * np.sin(a) * fast, 0.5 * np.sin(a) * rate**2 - 0.5 * np.cos(a) * fast]
        )
        phi = a + q  # of the link: its COM is at 0.5 (-sin phi, -cos phi) from the pivot
        push = 0.5 * (np.cos(phi) * x[0] - np.sin(phi) * (x[1] + G))
        return push / 0.27 - fast

    q, v, h = 0.3, 0.0, 1e-3
    for k in range(1000):
        t = k * h
        k1 = v, swing(t, q, v)
        k2 = v + h / 2 * k1[1], swing(t + h / 2, q + h / 2 * k1[0], v)
        k3 = v + h / 2 * k2[1], swing(t + h / 2, q + h / 2 * k2[0], v)
        k4 = v + h * k3[1], swing(t + h, q + h * k3[0], v)
        q, v = q + h / 6 * (k1[0] + 2 * k2[0] + 2 * k3[0] + k4[0]), v + h / 6 * (k1[1] + 2 * k2[1] + 2 * k3[1] + k4[1])
    assert abs(run.q[-1, 1] - q) < 2e-4
    # What the drive puts in is what the energy gains: known up to half of the last step's.
    gain = run.energy - run.energy[0]
    assert abs(run.stored["work"] - gain).max() < 0.6 * abs(np.diff(run.stored["work"])).max()


def test_driven_joint_of_a_massless_body():
    """Its joints lend it their equations, and prescribed rates hold momenta: v is these rates all the same."""
    b = la.MechanismBuilder("composed")
    b.body("one", mass=1.0, com=(0.1, 0.0, -0.2), inertia=(0.02, 0.03, 0.025))
    b.body("two", mass=0.7, com=(0.0, 0.1, -0.1), inertia=(0.01, 0.012, 0.011))
    parts = (joints.prismatic("x"), joints.revolute("y"), joints.prismatic("z"))
    b.joint("first", "composite", "world", "one", parts=parts)
    b.revolute("second", "one", "two", axis="y", position=(0.0, 0.0, -0.3))
    b.prescribe("first.slide1", "second")
    robot, motions = b.build(), {"first.slide1": lambda t: 0.7 * t, "second": lambda t: 0.2 - 1.1 * t}
    stepper: Any = la.Maximal().prepare(robot, 0.01)
    assert stepper.model.augment.any()
    run = la.simulate(robot, [0, 0.3, 0.1, 0.2], dt=0.01, steps=30, integrator=la.Maximal(), motions=motions)
    np.testing.assert_allclose(run.v[:, [0, 3]], np.tile([0.7, -1.1], (31, 1)), atol=1e-7)


@BOTH
def test_simulator_and_restarts_follow(engine):
    robot = arm()
    options = {"dt": 0.01, "integrator": engine}
    run = la.simulate(robot, {"swing": 0.3}, steps=20, motions={"turn": turn}, **options)
    sim = la.Simulator(robot, engine, dt=0.01)
    sim.reset(run.q[0], p=run.p[0])
    for k in range(20):
        if k == 10:
            kept = sim.state()
        sim.step(motions={"turn": turn(run.t[k + 1])})
    np.testing.assert_allclose(sim.q, run.q[-1], atol=1e-13)
    last = sim.q
    sim.set_state(kept)
    for k in range(10, 20):
        sim.step(motions={"turn": turn(run.t[k + 1])})
    assert np.array_equal(sim.q, last)
    sim.step()  # nothing is said: it stays
    assert abs(sim.q[0] - last[0]) < 1e-13
    rest = la.simulate(
        robot, run.q[10], p=run.p[10], steps=10, start=run.t[10], motions={"turn": turn(run.t[10:])}, **options
    )
    np.testing.assert_allclose(rest.q[-1], run.q[-1], atol=1e-10)
    held = la.simulate(robot, {"turn": 0.2}, steps=3, **options)
    assert abs(held.q[:, 0] - 0.2).max() < 1e-14


@BOTH
def test_box_slides_on_a_tilting_table(engine):
    """It begins to slide where the slope's tangent is the coefficient of friction."""
    b = la.MechanismBuilder("table")
    b.body("table", mass=5.0, shapes=Box((4, 2, 0.1), friction=0.4))
    b.revolute("tilt", "world", "table", axis="y")
    b.body("box", mass=1.0, shapes=Box((0.2, 0.2, 0.2)))
    b.free("box")
    b.prescribe("tilt")
    motions = {"tilt": lambda t: 0.3 + 0.1 * t}
    start = Pose.from_axis_angle((0, 1, 0), 0.3) * Pose((0, 0, 0.15))
    q = [0.3, *start.position, *start.quaternion]
    run = la.simulate(b.build(), q, dt=0.01, duration=1.2, integrator=engine, motions=motions)
    along = np.cos(run.q[:, 0]) * run.q[:, 1] - np.sin(run.q[:, 0]) * run.q[:, 3]
    slides = int(np.argmax(abs(along - along[0]) > 1e-5))
    assert abs(np.arctan(0.4) - run.q[slides, 0]) < 0.1 * 0.05  # 0.05 s to come so far


@pytest.mark.parametrize("integrator", [la.Maximal(), la.Grounded()], ids=["maximal", "grounded"])
def test_belt_carries_a_box(integrator):
    """A box that is put on a belt slips for v / (mu g), then rides."""
    robot = box_on(Plane(friction=0.4, surface_velocity=(1.0, 0, 0))).build()
    run = la.simulate(robot, {"box_free.z": 0.1}, dt=0.01, duration=0.4, integrator=integrator)
    assert abs(run.v[:, 3] - np.minimum(0.4 * G * run.t, 1.0)).max() < 1e-3
    assert abs(run.q[-1, 0] - (0.4 - 0.5 / (0.4 * G))) < 1e-3
    assert abs(run.q[:, 2] - 0.1).max() < 1e-6


def turntable():
    """A box on a table that turns as told."""
    b = la.MechanismBuilder("turntable")
    b.body("table", mass=5.0, inertia=1.0, shapes=Box((3.0, 3.0, 0.1), friction=0.8))
    b.revolute("turn", "world", "table", axis="z")
    b.prescribe("turn")
    b.body("box", mass=1.0, shapes=Box((0.2, 0.2, 0.2), friction=0.8))
    b.free("box")
    return b.build()


@BOTH
def test_box_on_a_turntable_stays_where_it_is(engine):
    """It neither creeps outwards nor lags behind at large steps; where friction is too small it slides off."""
    robot, r = turntable(), 0.7

    def places(rate):
        start = {"box_free.x": r, "box_free.z": 0.15}, {"box_free.wz": rate, "box_free.vy": rate * r}
        way, motions = engine, {"turn": lambda t: rate * t}
        run = la.simulate(robot, *start, dt=0.04, steps=20, integrator=way, motions=motions)
        x, y = run.q[:, robot.coordinate_index("box_free.x")], run.q[:, robot.coordinate_index("box_free.y")]
        return run, np.hypot(x, y), np.unwrap(np.arctan2(y, x)) - rate * run.t

    run, radius, lag = places(2.5)
    assert abs(radius - r).max() < 1e-6  # 0.07 with velocities of the start of each step alone
    assert abs(lag).max() < 1e-6
    kept = run.energy - run.stored["work"]
    assert np.ptp(kept[1:]) < 1e-6 * kept[0]  # from the first step on the table has nothing to do
    assert places(4.0)[1][-1] > r + 0.05  # friction holds up to 3.35 rad/s


@BOTH
def test_hand_pushes_a_box(engine):
    """A body whose pose is given pushes with its velocity, and nothing moves it."""
    b = box_on(Plane(friction=0.3))
    b.body("hand", mass=1e-3, inertia=1e-6, shapes=Sphere(0.05, friction=0.0))
    b.free("hand")
    b.prescribe("hand")
    robot = b.build()

    def hand(t):
        return Pose((-0.16 + 0.5 * t, 0.0, 0.1))

    options = {"dt": 0.01, "steps": 60, "integrator": engine}
    run = la.simulate(robot, {"box_free.z": 0.1}, motions={"hand": hand}, **options)
    assert abs(run.q[:, 7] + 0.16 - 0.5 * run.t).max() < 1e-12
    assert abs(run.q[-1, 0] - (run.q[-1, 7] + 0.15)) < 1e-6  # in touch
    assert abs(run.v[-1, [3, 9]] - 0.5).max() < 1e-6
    force = run.contact_force("box", "hand")[30:, 0]
    assert abs(abs(force) - 0.3 * G).max() < 1e-4
    # Through the ground it may go: neither can be pushed.
    la.simulate(robot, {"box_free.z": 0.1, "box_free.x": 3.0}, motions={"hand": lambda t: Pose((0, 0, -t))}, **options)
    table = np.array([[-0.16 + 0.5 * t, 0, 0.1, 1, 0, 0, 0] for t in run.t])
    again = la.simulate(robot, {"box_free.z": 0.1}, motions={"hand": table}, **options)
    np.testing.assert_allclose(again.q, run.q, atol=1e-15)


def test_what_a_function_of_a_motion_raises_is_said_with_its_time():
    def broken(t):
        return 1.0 / (t - 0.02)

    with pytest.raises(IntegratorError, match=r"motion of 'turn': .*broken\(0\.02\) raised ZeroDivisionError") as found:
        la.simulate(arm(), dt=0.01, steps=3, motions={"turn": broken}, integrator=la.Maximal())
    assert isinstance(found.value.__cause__, ZeroDivisionError)


def test_refusals():
    robot = arm()
    with pytest.raises(
        IntegratorError, match=r"Galerkin cannot run the prescribed motion 'turn'; use leastaction\.Max"
    ):
        la.simulate(robot, dt=0.01, steps=1, integrator=la.Galerkin(order=2))
    with pytest.raises(IntegratorError, match="order 1 or 2"):
        la.simulate(robot, dt=0.01, steps=1, integrator=la.Maximal(order=4))
    with pytest.raises(IntegratorError, match="'swing' is not prescribed"):
        la.simulate(robot, dt=0.01, steps=1, integrator=la.Maximal(), motions={"swing": 0.0})
    for bad in ("x", np.nan, lambda t: "x", lambda: 1.0, [1.0, 2.0, 3.0]):
        with pytest.raises(IntegratorError, match="motion of 'turn'"):
            la.simulate(robot, dt=0.01, steps=1, integrator=la.Maximal(), motions={"turn": bad})
    for name, why in (("elbow", "no coordinate or body 'elbow'"), ("link", "not a revolute joint")):
        b = robot.edit()
        b.prescribe(name)
        with pytest.raises(MechanismError, match=why):
            b.build()
    belt = box_on(Plane(surface_velocity=(1.0, 0, 0))).build()
    with pytest.raises(IntegratorError, match="moving surface"):
        la.simulate(belt, dt=0.01, steps=1, integrator=la.Galerkin())
    assert isinstance(la.default_integrator(robot), la.Minimal)


@pytest.mark.parametrize("way", [la.Maximal(smoothing=1e-5), la.Grounded(tolerance=1e-13)], ids=["maximal", "grounded"])
def test_derivatives_on_a_belt(way):
    """Of a step by its state against central differences, and of a run by its start."""
    b = la.MechanismBuilder("belt")
    slope = Pose.from_axis_angle((0.8, 0.6, 0), 0.2)
    b.add_shape("world", Plane(friction=0.4, surface_velocity=(1.0, 0.3, 0), pose=slope))
    b.body("ball", mass=1.0, shapes=Sphere(0.1))
    b.free("ball")
    robot = b.build()
    q = np.array([*(slope * Pose((0, 0, 0.1001))).position, 1, 0, 0, 0])
    run = la.simulate(robot, q, dt=0.01, steps=4, integrator=way)
    q, p = run.q[3], run.p[3]
    A, _ = la.linearize(robot, way, q, p, dt=0.01)

    def step(dx):
        end = la.simulate(robot, robot.integrate(q, dx[:6]), p=p + dx[6:], dt=0.01, steps=1, integrator=way)
        return np.concatenate([robot.difference(run.q[4], end.q[1]), end.p[1]])

    found = np.array([step(h) - step(-h) for h in 1e-6 * np.eye(12)]).T / 2e-6
    np.testing.assert_allclose(A, found, atol=1e-6 * abs(found).max())


@BOTH
def test_gripper_on_a_driven_slider(engine):
    """Fingers that motors press carry a box by friction; that they touch the ground at first does not matter."""
    b = box_on(Plane(friction=0.5))
    b.body("palm", mass=1.0)
    b.prismatic("lift", "world", "palm", axis="z", position=(0, 0, 0.25))
    for side, name in ((1, "left"), (-1, "right")):
        b.body(name, mass=0.2, shapes=Box((0.02, 0.1, 0.2), friction=0.8))
        b.prismatic(name, "palm", name, axis="x", position=(0.11 * side, 0, -0.15))
        b.actuator(f"push {name}", name)
    b.prescribe("lift")
    robot = b.build()
    motions = {"lift": lambda t: 0.05 * (1.0 - np.cos(6.0 * t))}
    options = {"dt": 0.01, "steps": 50, "integrator": engine, "motions": motions}
    run = la.simulate(robot, {"box_free.z": 0.1}, controls=[-10.0, 10.0], **options)
    z, lift = run.q[:, robot.coordinate_index("box_free.z")], run.q[:, robot.coordinate_index("lift")]
    assert lift[-1] > 0.09
    assert abs(z - 0.1 - lift).max() < 1e-3  # it creeps by what a step turns, at most
    assert run.iterations.max() < 30
    slips = la.simulate(robot, {"box_free.z": 0.1}, controls=[-5.0, 5.0], **options)
    assert 2 * 0.8 * 5.0 < G < 2 * 0.8 * 10.0
    assert slips.q[-1, robot.coordinate_index("box_free.z")] < 0.11


@BOTH
def test_no_room(engine):
    """Two fingers that close on a box, whatever it does: an error that says so."""
    b = box_on(Plane())
    for side, name in ((1, "left"), (-1, "right")):
        b.body(name, mass=0.2, shapes=Box((0.02, 0.1, 0.1)))
        b.prismatic(name, "world", name, axis="x", position=(0.12 * side, 0, 0.1))
    b.prescribe("left", "right")
    motions = {"left": lambda t: -0.5 * t, "right": lambda t: 0.5 * t}
    with pytest.raises(la.ConvergenceError, match=r"prescribed motions \(left, right\) leave room"):
        la.simulate(b.build(), {"box_free.z": 0.1}, dt=0.01, steps=10, integrator=engine, motions=motions)


def differences(f, n, h):
    return np.array([f(h * e) - f(-h * e) for e in np.eye(n)]) / (2.0 * h)


def gradients(robot, way, q, p, motions, steps):
    """Of a sum over all positions and velocities by the start and the controls: by the adjoint and by differences."""
    weights, nv = np.random.default_rng(0).normal(size=(2, steps + 1, robot.nv)), robot.nv
    options = {"dt": 0.01, "steps": steps, "motions": motions}
    middle = la.simulate(robot, q, p=p, integrator=way, **options).q

    def value(run):
        return float((weights[0] * robot.difference(middle, run.q)).sum() + (weights[1] * run.v).sum())

    def run(x):
        start, u = robot.integrate(q, x[:nv]), np.zeros((steps, robot.nu))
        u[steps // 2] = x[2 * nv :]
        return value(la.simulate(robot, start, p=p + x[nv : 2 * nv], controls=u, integrator=way, **options))

    _, found = la.adjoint(
        robot, way, lambda run: (value(run), *weights), ("q", "p", "controls"), q=q, p=p,
        controls=np.zeros((steps, robot.nu)), **options,
    )  # fmt: skip
    found = np.concatenate([found["q"], found["p"], found["controls"][steps // 2]])
    return found, differences(run, 2 * nv + robot.nu, 1e-6)


@BOTH
def test_gradients_of_driven_runs(engine):
    """What is prescribed stays as it is told: gradients by its start are zero."""
    found, expected = gradients(arm(), engine, np.array([0.0, 0.3]), np.array([0.4, 0.1]), {"turn": turn}, 4)
    np.testing.assert_allclose(found, expected, atol=1e-8 * abs(expected).max())
    assert found[0] == 0.0


RIGID_OR_SMOOTH = pytest.mark.parametrize(
    "way", [la.Maximal(smoothing=1e-5), la.Minimal(tolerance=1e-13)], ids=["maximal", "minimal"]
)
"""Differences of rigid runs of `Maximal` have the noise of what they are solved to."""


@RIGID_OR_SMOOTH
def test_gradients_on_a_turntable(way):
    robot = turntable()
    start = {"box_free.x": 0.7, "box_free.z": 0.1501}, {"box_free.wz": 3.0, "box_free.vy": 2.1}
    run = la.simulate(robot, *start, dt=0.01, steps=5, integrator=way, motions={"turn": lambda t: 3.0 * t})
    found, expected = gradients(robot, way, run.q[5], run.p[5], {"turn": lambda t: 3.0 * (t + 0.05)}, 3)
    np.testing.assert_allclose(found, expected, atol=3e-6 * abs(expected).max())


def test_gradients_of_a_push():
    b = box_on(Plane(friction=0.3))
    b.body("hand", mass=0.1, inertia=1e-4, shapes=Sphere(0.05, friction=0.2))
    b.free("hand")
    b.prescribe("hand")
    robot, way = b.build(), la.Maximal(smoothing=1e-5)

    def hand(t):
        return Pose((-0.151 + 0.5 * t, 0.01, 0.1))

    run = la.simulate(robot, {"box_free.z": 0.1}, dt=0.01, steps=5, integrator=way, motions={"hand": hand})
    found, expected = gradients(robot, way, run.q[5], run.p[5], {"hand": lambda t: hand(t + 0.05)}, 3)
    np.testing.assert_allclose(found, expected, atol=3e-6 * abs(expected).max())
    _, B = la.linearize(robot, way, run.q[5], run.p[5], dt=0.01)  # with the hand at rest
    options = {"p": run.p[5], "dt": 0.01, "steps": 1, "integrator": way}
    middle = la.simulate(robot, run.q[5], **options).q[1]

    def step(u):
        end = la.simulate(robot, run.q[5], controls=u, **options)
        return np.concatenate([robot.difference(middle, end.q[1]), end.p[1]])

    np.testing.assert_allclose(B, differences(step, 12, 1e-4).T, atol=1e-6 * abs(B).max())


def paddle(restitution=0.0):
    """A paddle that moves as given under a ball."""
    b = la.MechanismBuilder("paddle")
    b.body("paddle", mass=2.0, com=(0.3, 0, 0), inertia=0.1, shapes=Box((1.0, 1.0, 0.1), friction=0.5))
    b.revolute("turn", "world", "paddle", axis="y")
    b.prescribe("turn")
    b.body("ball", mass=0.4, shapes=Sphere(0.1, friction=0.5, restitution=restitution))
    b.free("ball")
    return b.build()


def swing(t):
    return -0.2 * np.sin(6.0 * t)


def test_engines_agree_on_a_paddle():
    """The same laws: the same motion, and the same work of the drive."""
    robot, start = paddle(), {"ball_free.x": 0.25, "ball_free.z": 0.16}
    options = {"dt": 0.002, "duration": 0.5, "motions": {"turn": swing}}
    one, two = (la.simulate(robot, start, integrator=way, **options) for way in (la.Maximal(), la.Minimal()))
    assert abs(one.q - two.q).max() < 2e-4
    work = one.stored["work"], two.stored["work"]
    assert abs(work[0] - work[1]).max() < 2e-3 * np.ptp(work[0])
    assert abs(np.diff(one.stored["work"])).max() > 0.0


def test_work_of_a_drive_is_what_the_energy_gains():
    """Where nothing is lost the energy is what the drive has put in, to the order of the step."""
    b = la.MechanismBuilder("flywheel")
    b.body("arm", mass=1.0, com=(0.3, 0.1, 0), inertia=(0.1, 0.2, 0.3))
    b.revolute("turn", "world", "arm", axis="z", pose=Pose.from_axis_angle((1, 0, 0), 0.4))
    b.body("top", mass=0.5, com=(0.05, 0, 0.1), inertia=(0.02, 0.03, 0.04))
    b.spherical("hang", "arm", "top", position=(0.5, 0, 0))
    b.prescribe("turn")
    robot, errors = b.build(), []
    for dt in (0.01, 0.005):
        options = {"dt": dt, "duration": 1.0, "motions": {"turn": lambda t: 0.6 * np.sin(4.0 * t)}}
        run = la.simulate(robot, integrator=la.Minimal(), **options)
        errors.append(abs(run.energy - run.energy[0] - run.stored["work"]).max())
    assert errors[0] < 5e-3 * np.ptp(run.stored["work"])
    assert errors[1] < 0.3 * errors[0]


@pytest.mark.parametrize("e", [0.5, 1.0])
def test_ball_leaves_a_lift_with_its_velocity_and_its_share(e):
    """A ball that meets a lift of velocity w with -v leaves it with w + e (w + v); the drive's work is its gain."""
    b = la.MechanismBuilder("lift")
    b.body("plate", mass=3.0, inertia=0.1, shapes=Box((1, 1, 0.1)))
    b.prismatic("lift", "world", "plate", axis="z")
    b.prescribe("lift")
    b.body("ball", mass=0.5, shapes=Sphere(0.1, restitution=e))
    b.free("ball")
    robot, w, v = b.build().replace(gravity=(0.0, 0.0, 0.0)), 0.8, 2.0
    start = {"ball_free.z": 0.2, "lift": 0.0}, {"ball_free.vz": -v}
    options = {"dt": 0.01, "steps": 20, "motions": {"lift": lambda t: w * t}}
    for way in (la.Maximal(), la.Minimal()):
        run = la.simulate(robot, *start, integrator=way, **options)
        after = w + e * (w + v)
        assert abs(run.v[-1, -1] - after) < 1e-6
        gain = 0.25 * (after**2 - v**2)
        lost = 0.25 * (1.0 - e**2) * (w + v) ** 2
        assert abs(run.stored["work"][-1] - gain - lost) < 1e-6
        assert abs(run.v[:, 0] - w).max() < 1e-9


@pytest.mark.parametrize("e", [0.0, 0.6])
def test_gradients_of_a_ball_on_a_paddle(e):
    """By the start, through a landing on a paddle that turns, and through bounces with their times, `Minimal`."""
    robot, way = paddle(e), la.Minimal(tolerance=1e-13)
    start = {"ball_free.x": 0.25, "ball_free.z": 0.19}, {"ball_free.vx": 0.3}
    run = la.simulate(robot, *start, dt=0.01, steps=2, integrator=way, motions={"turn": swing})
    found, expected = gradients(robot, way, run.q[2], run.p[2], {"turn": lambda t: swing(t + 0.02)}, 9)
    np.testing.assert_allclose(found, expected, atol=1e-5 * abs(expected).max())
    assert found[0] == 0.0
