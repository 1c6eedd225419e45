"""Servos against closed forms, their stability, limits, activations and derivatives."""

from dataclasses import replace

import numpy as np
import pytest

import leastaction as la
from leastaction.errors import IntegratorError, MechanismError, ProblemError
from leastaction.mechanism import Activation, JointActuator, Plane, Servo
from leastaction.mechanism.configuration import rotation_vectors
from leastaction.mechanism.inertia import Inertia

INTEGRATORS = {
    "galerkin 4": (la.Galerkin(order=4), 4),
    "galerkin 2": (la.Galerkin(order=2), 2),
    "joints 4": (la.Galerkin(order=4, interpolation="joints"), 4),
    "midpoint": (la.Midpoint(), 2),
    "maximal": (la.Maximal(), 2),
    "bdf 2": (la.BDF(order=2), 2),
    "grounded": (la.Grounded(), 2),
}


def slider(kp=0.0, kv=0.0, gear=1.0, mass=2.0, **options):
    """A mass on a rail without gravity, with a servo."""
    b = la.MechanismBuilder("slider")
    b.body("block", inertia=Inertia(mass, moments=(0.1, 0, 0, 0.1, 0, 0.1)))
    b.joint("rail", "prismatic", "world", "block", axis="x")
    b.add(Servo("servo", "rail", gear, kp=kp, kv=kv, **options))
    return b.build().replace(gravity=(0.0, 0.0, 0.0))


def arm(kp, kv, links=2):
    """A pendulum with a servo in each joint."""
    robot = la.robots.pendulum(links=links)
    b = robot.edit()
    for name in robot.velocity_names:
        b.position_servo(f"servo of {name}", name, kp=kp, kv=kv)
    return b.build()


def step_response(t, kp, kv, mass, target):
    """Of mass x'' = kp (target - x) - kv x', from rest at zero, underdamped."""
    decay, w = kv / (2 * mass), np.sqrt(kp / mass - (kv / (2 * mass)) ** 2)
    return target * (1.0 - np.exp(-decay * t) * (np.cos(w * t) + decay / w * np.sin(w * t)))


@pytest.mark.parametrize("name", INTEGRATORS)
def test_step_response_is_that_of_a_damped_oscillator_with_the_order_of_the_integrator(name):
    integrator, order = INTEGRATORS[name]
    robot, gear = slider(50.0, 4.0, gear=1.5), 1.5
    errors = []
    for dt in (0.04, 0.02):
        run = la.simulate(robot, dt=dt, duration=1.2, integrator=integrator, controls=[0.6])
        exact = step_response(run.t, gear**2 * 50.0, gear**2 * 4.0, 2.0, 0.6 / gear)
        errors.append(np.abs(run.q[:, 0] - exact).max())
    assert errors[1] < 0.6 * 2.0 ** (-0.5 * order) * errors[0] + 1e-9
    assert errors[1] < (2e-5 if order == 4 else 2e-2)


@pytest.mark.parametrize("name", INTEGRATORS)
def test_a_stiff_servo_is_stable_at_a_large_step_and_holds_its_target(name):
    # Gains of 1e6 on links of 1 kg: frequencies times dt are about 10 and more.
    robot, target = arm(1e6, 2e3), np.array([0.5, -0.3])
    run = la.simulate(robot, dt=0.01, steps=200, integrator=INTEGRATORS[name][0], controls=target)
    assert np.abs(run.q).max() < 2.0 * np.abs(target).max()
    assert np.allclose(run.q[-1], target, atol=2e-3)
    free = la.simulate(arm(1e6, 0.0), target, dt=0.01, steps=100, integrator=INTEGRATORS[name][0], controls=target)
    assert np.abs(free.q - target).max() < 1e-3  # gravity alone moves it, by its torque / 1e6 and back


@pytest.mark.parametrize("integrator", [la.Maximal(), la.Minimal()], ids=str)
def test_a_stiff_damper_of_a_light_link_does_not_throw_it_back_and_forth(integrator):
    """Steps of twenty times what the damper needs to stop the link: it moves on with the other one.

    Until it does, it goes m v / d, with its inertia, speed and damping, and in a long step once more as far.
    """
    b = la.MechanismBuilder("light")
    b.body("arm", inertia=Inertia(1.0, (0, 0, -0.5), 0.01))
    b.revolute("shoulder", "world", "arm", axis="y", damping=0.3)
    b.body("tip", inertia=Inertia(0.05, (0, 0, -0.05), 1e-5))
    b.revolute("wrist", "arm", "tip", axis="y", position=(0, 0, -1), damping=1.0)
    robot = b.build()
    coarse, fine = (
        la.simulate(robot, [0.5, 0.8], [1.0, -5.0], dt=dt, duration=0.12, integrator=integrator) for dt in (0.01, 5e-4)
    )
    assert abs(coarse.v[1:, 1] - fine.v[20::20, 1]).max() < 0.4
    assert abs(coarse.q - fine.q[::20]).max() < 5e-4


@pytest.mark.parametrize("integrator", [la.Maximal(), la.Grounded()], ids=["maximal", "grounded"])
def test_a_walker_with_stiff_servos_lands_softly(integrator):
    """With contact: feet that come down do not make its light legs ring."""
    robot = la.robots.littledog()
    home, b = la.robots.home(robot), robot.replace(actuators=()).edit()
    b.add_shape("world", Plane())
    for motor in robot.actuators:
        b.position_servo(motor.name, motor.coordinate, kp=100.0, kv=2.0)
    dog = b.build()
    u = [home[dog.coordinate_index(servo.coordinate)] for servo in dog.actuators]
    start = home + 0.05 * (np.arange(dog.nq) == 2)
    v = [0.5, 1.0, 0.0, 0.3, *np.zeros(14)]
    run = la.simulate(dog, start, v, dt=0.01, steps=40, integrator=integrator, controls=np.tile(u, (40, 1)))
    assert abs(run.v[17:, 6:]).max() < 100.0  # [rad/s], 60 ms after it has landed
    assert abs(run.v[-5:, 6:]).max() < 1.0
    assert abs(run.q[-1, 2] - home[2]) < 5e-3


def head(kp, kv, com=(0.0, 0.0, 0.0)):
    """A ball of 0.2 kg m^2 on a ball joint, with a servo about each axis."""
    b = la.MechanismBuilder("head")
    b.body("head", inertia=Inertia(1.0, com, moments=(0.2, 0, 0, 0.2, 0, 0.2)))
    b.joint("neck", "spherical", "world", "head")
    for axis in "xyz":
        b.position_servo(axis, f"neck.w{axis}", kp=kp, kv=kv)
    return b.build()


AIM = np.array([0.3, -0.4, 0.5])


@pytest.mark.parametrize("name", [name for name in INTEGRATORS if name != "grounded"])
def test_servos_of_a_ball_turn_it_to_the_rotation_vector_of_their_targets(name):
    """About the one axis of the target, as a damped oscillator does; stiff gains hold it against gravity."""
    integrator, order = INTEGRATORS[name]
    errors = []
    for dt in (0.02, 0.01):
        run = la.simulate(head(10.0, 0.8), dt=dt, duration=1.0, integrator=integrator, controls=AIM)
        exact = step_response(run.t, 10.0, 0.8, 0.2, 1.0)[:, None] * AIM
        errors.append(np.abs(rotation_vectors(run.q) - exact).max())
    assert errors[1] < 1.2 * 2.0**-order * errors[0] + 1e-9
    assert errors[1] < (2e-8 if order == 4 else 2e-3)
    robot = head(1e5, 200.0, com=(0.0, 0.0, 0.1))
    run = la.simulate(robot, dt=0.01, steps=60, integrator=integrator, controls=AIM)
    # The frequency times dt is 7. Gravity turns it by its torque / 1e5.
    assert np.allclose(rotation_vectors(run.q[-1]), AIM, atol=2e-4)


def test_the_feedback_of_a_ball_is_a_spring_that_the_energy_leaves_out():
    robot = head(10.0, 0.0, com=(0.0, 0.02, 0.05))
    run = la.simulate(robot, v=[3.0, 2.0, 1.0], dt=0.005, steps=200, integrator=la.Galerkin(order=4))
    stored = 5.0 * (rotation_vectors(run.q) ** 2).sum(axis=1)
    assert np.ptp(stored) > 1.0
    assert np.ptp(run.energy + stored) < 1e-7


@pytest.mark.parametrize("integrator", [la.Galerkin(order=4), la.Maximal(), la.BDF(order=2)], ids=repr)
def test_gradients_by_targets_and_gains_of_a_ball_are_those_of_differences(integrator):
    robot, steps, rng = head(10.0, 0.8, com=(0.0, 0.02, 0.05)), 6, np.random.default_rng(4)
    u, weights = rng.normal(size=(steps, 3)), rng.normal(size=3)
    options = {"q": robot.integrate(robot.neutral(), [0.4, 0.3, -0.6]), "dt": 0.02, "steps": steps}

    def objective(run):
        dv = np.zeros((len(run), 3))
        dv[-1] = weights
        return float(weights @ run.v[-1]), None, dv

    _value, gradient = la.adjoint(robot, integrator, objective, ["controls", "kv:y"], controls=u, **options)

    def at(controls, changed=robot):
        return weights @ la.simulate(changed, integrator=integrator, controls=controls, **options).v[-1]

    for k, i in ((0, 0), (3, 1), (4, 2)):
        more = np.zeros_like(u)
        more[k, i] = 1e-4
        assert np.isclose(gradient["controls"][k, i], (at(u + more) - at(u - more)) / 2e-4, rtol=1e-5, atol=1e-8)
    both = [at(u, la.derivatives.with_parameters(robot, {"kv:y": 0.8 + s})) for s in (1e-4, -1e-4)]
    assert np.isclose(gradient["kv:y"], (both[0] - both[1]) / 2e-4, rtol=1e-5, atol=1e-8)
    with pytest.raises(MechanismError, match="kp:y"):
        la.adjoint(robot, integrator, objective, ["kp:y"], controls=u, **options)


def test_the_table_of_stiff_springs_is_gauss_quadrature():
    from leastaction.minimal.quadrature_rules import lobatto

    for s in (1, 2, 3, 5):
        rule = lobatto(s)
        x, w = np.polynomial.legendre.leggauss(s)
        polynomials = [np.polyfit(rule.c, row, s) for row in np.eye(s + 1)]
        L = np.array([np.polyval(p, 0.5 * (x + 1.0)) for p in polynomials])
        assert np.allclose(np.diag(rule.w) - np.outer(rule.z, rule.z), (0.5 * w * L) @ L.T, atol=1e-13)


def test_a_velocity_servo_approaches_its_velocity_exponentially():
    robot = slider(kv=6.0)
    run = la.simulate(robot, dt=0.01, duration=1.0, integrator=la.Galerkin(order=4), controls=[0.8])
    assert np.allclose(run.v[:, 0], 0.8 * (1.0 - np.exp(-3.0 * run.t)), atol=1e-8)


OTHERS = {
    la.RungeKutta(order=4): 1e-6,
    la.HermiteSimpson(): 1e-6,
    la.SDIRK2(): 5e-5,
    la.LinearlyImplicitEuler(): 1e-2,
    la.MaximalEuler(): 1e-2,
}


@pytest.mark.parametrize("integrator", OTHERS, ids=lambda x: type(x).__name__)
def test_servos_act_in_every_other_integrator(integrator):
    b = la.robots.pendulum(links=2).edit()
    b.add(Servo("first", "joint1", 1.3, kp=40.0, kv=4.0, rest=0.1))
    b.velocity_servo("second", "joint2", kv=3.0)
    robot, options = b.build(), {"q": [0.2, -0.1], "duration": 0.4, "controls": [0.6, -0.5]}
    fine = la.simulate(robot, dt=0.004, integrator=la.Galerkin(order=4), **options)
    run = la.simulate(robot, dt=0.01, integrator=integrator, **options)
    assert np.abs(run.q[-1] - fine.q[-1]).max() < OTHERS[integrator]


def test_rest_gain_and_the_springs_of_the_joint_add_up():
    b = slider(40.0, 20.0, gear=2.0, gain=10.0, rest=0.3).edit()
    b.velocity_servo("second", "rail", kv=5.0)
    robot = b.build()
    joint = robot.joints[0]
    robot = robot.replace(joints=(replace(joint, stiffness=(30.0,), rest=(0.2,)),))
    run = la.simulate(robot, dt=0.05, duration=20.0, integrator=la.BDF(order=2), controls=[0.7, 0.0])
    # 2 (10 u - 40 (2 x - 0.3)) - 30 (x - 0.2) = 0
    assert np.isclose(run.q[-1, 0], (14.0 + 24.0 + 6.0) / 190.0, atol=1e-9)
    # The energy is that of the joint's own spring.
    assert np.isclose(run.potential_energy[-1], 0.5 * 30.0 * (run.q[-1, 0] - 0.2) ** 2)


def test_controls_are_clipped_everywhere_and_gradients_beyond_the_limits_vanish():
    b = la.robots.pendulum(links=2).edit()
    for k, name in enumerate(la.robots.pendulum(links=2).velocity_names):
        b.actuator(f"motor{k}", name, limits=(-1.0, 2.0))
    robot, integrator = b.build(), la.Galerkin(order=4)
    options = {"q": [0.3, 0.1], "dt": 0.01, "steps": 10, "integrator": integrator}
    given, clipped = [5.0, -0.5], [2.0, -0.5]
    run = la.simulate(robot, controls=given, **options)
    assert (run.q == la.simulate(robot, controls=clipped, **options).q).all()
    assert (run.q == la.simulate(robot, controller=lambda t, q, v: given, **options).q).all()
    assert (run.stored["u"][0, 0] == clipped).all()
    assert (run.stored["commands"][0, 0] == given).all()
    sim = la.Simulator(robot, integrator, 0.01)
    sim.reset([0.3, 0.1])
    for _ in range(10):
        sim.step(given)
    assert (sim.q == run.q[-1]).all()
    batch = la.batch.simulate(robot, [[0.3, 0.1]], dt=0.01, steps=10, integrator=integrator, controls=given)
    assert (batch.q[0, -1] == run.q[-1]).all()
    dq = np.zeros((11, 2))
    dq[-1] = 1.0
    gradient = la.derivatives.gradient(run, dq, None)["controls"]
    assert (gradient[:, 0] == 0.0).all()
    assert (gradient[:, 1] != 0.0).all()


@pytest.mark.parametrize("integrator", [la.Galerkin(order=4), la.BDF(order=2), la.Grounded()], ids=str)
def test_a_filter_and_an_integrator_between_control_and_target(integrator):
    b = slider(300.0, 40.0, activation=0.2).edit()
    b.body("other", inertia=Inertia(1.0, moments=(0.1, 0, 0, 0.1, 0, 0.1)))
    b.joint("second", "prismatic", "world", "other", axis="y")
    b.add(Servo("creeps", "second", 1.0, -1.0, 1.0, Activation("integrator", upper=0.2), kp=200.0, kv=30.0))
    robot = b.build()
    run = la.simulate(robot, dt=0.01, duration=1.0, integrator=integrator, controls=[0.5, 3.0])
    assert np.allclose(run.stored["activation"][:, 0], 0.5 * (1.0 - np.exp(-run.t / 0.2)), atol=1e-13)
    assert np.allclose(run.stored["activation"][:, 1], np.minimum(run.t, 0.2), atol=1e-13)
    # m x'' = kp (a(t) - x) - kv x' by a fine reference.
    fine = la.simulate(robot, dt=0.001, duration=1.0, integrator=la.Galerkin(order=4), controls=[0.5, 3.0])
    assert np.abs(run.q - fine.q[::10]).max() < 2e-3
    # A run goes on exactly from its last state and activations.
    half = la.simulate(robot, dt=0.01, steps=50, integrator=integrator, controls=[0.5, 3.0])
    sim = la.Simulator(robot, integrator, 0.01)
    sim.reset()
    for k in range(80):
        if k == 50:
            state = sim.state()
            assert (sim.activation == half.stored["activation"][-1]).all()
        sim.step([0.5, 3.0])
    assert (sim.q == run.q[80]).all()
    sim.reset()
    sim.set_state(state)
    for _ in range(30):
        sim.step([0.5, 3.0])
    assert (sim.q == run.q[80]).all()
    batch = la.batch.simulate(robot, [[0.0, 0.0]], dt=0.01, steps=100, integrator=integrator, controls=[0.5, 3.0])
    assert (batch.q[0, -1] == run.q[-1]).all()


PARAMETERS = ["kp:servo of joint1", "kv:servo of joint1", "kv:servo of joint2", "stiffness:joint1", "rest:joint1"]


@pytest.mark.parametrize(
    "integrator",
    [la.Galerkin(order=4), la.Galerkin(order=4, interpolation="joints"), la.Maximal(), la.BDF(order=2)],
    ids=["bodies", "joints", "maximal", "bdf"],
)
def test_gradients_by_controls_through_activations_and_by_gains_are_those_of_differences(integrator):
    robot = la.robots.pendulum(links=2)
    assert robot.velocity_names == ("joint1", "joint2")
    b = robot.edit()
    b.add(Servo("servo of joint1", "joint1", 1.3, activation=0.1, kp=30.0, kv=3.0, rest=0.1))
    b.velocity_servo("servo of joint2", "joint2", kv=2.0)
    robot = b.build()
    first = robot.joints[0]
    robot = robot.replace(joints=(replace(first, stiffness=(5.0,), rest=(0.4,)), robot.joints[1]))
    steps, rng = 8, np.random.default_rng(3)
    u = rng.normal(size=(steps, 2))
    options = {"q": [0.3, -0.2], "dt": 0.02, "steps": steps}
    weights = rng.normal(size=2)

    def objective(run):
        dq = np.zeros((len(run), 2))
        dq[-1] = weights
        return float(weights @ run.q[-1]), dq, None

    names = ["controls", *PARAMETERS]
    _value, gradient = la.adjoint(robot, integrator, objective, names, controls=u, **options)
    again = la.adjoint(robot, integrator, objective, names, controls=u, checkpoints=2, **options)[1]
    assert all(np.allclose(again[name], gradient[name], rtol=1e-10, atol=1e-14) for name in names)

    def at(controls, changed=robot):
        return weights @ la.simulate(changed, integrator=integrator, controls=controls, **options).q[-1]

    d = 1e-4
    for k, i in ((0, 0), (3, 0), (7, 1), (2, 1)):
        more = np.zeros_like(u)
        more[k, i] = d
        assert np.isclose(gradient["controls"][k, i], (at(u + more) - at(u - more)) / (2 * d), rtol=1e-5, atol=1e-9)
    for name in PARAMETERS:
        x = la.derivatives.parameter(robot, name)
        both = [at(u, la.derivatives.with_parameters(robot, {name: x + s * d})) for s in (1.0, -1.0)]
        assert np.isclose(np.sum(gradient[name]), (both[0] - both[1]) / (2 * d), rtol=1e-5, atol=1e-9), name


@pytest.mark.parametrize(
    "integrator", [la.Galerkin(order=4), la.Maximal(), la.Grounded()], ids=["bodies", "maximal", "grounded"]
)
def test_the_linearized_step_of_a_stiff_servo_is_that_of_differences(integrator):
    robot = arm(3e3, 20.0)
    q, p, u, dt = np.array([0.3, -0.4]), np.array([0.2, 0.1]), np.array([0.1, 0.5]), 0.02

    def step(q, p, u):
        run = la.simulate(robot, q, p=p, dt=dt, steps=1, integrator=integrator, controls=u)
        return np.concatenate([run.q[-1], run.p[-1]])

    A, B = la.linearize(robot, integrator, q, p, u, dt)
    x = np.concatenate([q, p, u])
    D = np.array([(step(*np.split(x + e, 3)) - step(*np.split(x - e, 3))) / 2e-6 for e in 1e-6 * np.eye(6)]).T
    assert np.allclose(np.hstack([A, B]), D, rtol=1e-5, atol=2e-5 * np.abs(D).max())


def test_what_servos_cannot_drive_is_refused_by_name():
    b = la.MechanismBuilder("ball")
    b.body("bob", inertia=Inertia(1.0, moments=(0.1, 0, 0, 0.1, 0, 0.1)))
    b.joint("socket", "spherical", "world", "bob")
    b.position_servo("turner", "socket.wx", kp=1.0)
    with pytest.raises(MechanismError, match=r"'socket': servos of a ball joint need the same gear\^2 kp .* 1, 0, 0"):
        b.build()
    bob = la.robots.cube()
    with pytest.raises(MechanismError, match=r"servo 's': '.*' is part of a ball or free joint"):
        bob.replace(actuators=(Servo("s", bob.velocity_names[0], kp=1.0),))
    turned = head(1.0, 0.0)
    with pytest.raises(MechanismError, match="servo 'z' of a ball joint: neither a rest position nor force limits"):
        turned.replace(actuators=(*turned.actuators[:2], replace(turned.actuators[2], force_limits=(-1.0, 1.0))))
    neck = replace(turned.joints[0], stiffness=(1.0,) * 3, rest=(0.8, 0.6, 0.0, 0.0))
    with pytest.raises(MechanismError, match="joint 'neck': servos pull to zero"):
        turned.replace(joints=(neck,))
    with pytest.raises(MechanismError, match="servo 's': kp: must not be negative"):
        Servo("s", "j", kp=-1.0)
    with pytest.raises(MechanismError, match="servo 's': a rest position needs"):
        Servo("s", "j", kv=1.0, rest=0.1)
    with pytest.raises(MechanismError, match="activation: time_constant must be positive"):
        Activation("filter")
    with pytest.raises(MechanismError, match="actuator 'm': activation"):
        JointActuator("m", "j", activation=-1.0)
    with pytest.raises(MechanismError, match="'motor' is no servo"):
        la.derivatives.parameter(la.robots.cart_pole(), "kp:motor")
    with pytest.raises(IntegratorError, match="activation: none of the actuators"):
        la.simulate(la.robots.cart_pole(), steps=1, activation=[0.0])
    robot = slider(1.0, activation=0.1)
    with pytest.raises(IntegratorError, match="activation: expected 1 finite numbers"):
        la.simulate(robot, steps=1, activation=[np.nan])
    with pytest.raises(ProblemError, match="actuator 'servo' has an activation"):
        la.optimize.Problem(robot, steps=5, dt=0.1)


def test_servos_and_activations_survive_saving_and_editing(tmp_path):
    robot = slider(10.0, 1.0, activation=Activation("filter", 0.1, -1.0, 1.0))
    assert robot.edit().build() == robot
    run = la.simulate(robot, dt=0.01, steps=5, controls=[0.3], integrator=la.Galerkin(order=4))
    again = la.Trajectory.load(run.save(tmp_path / "run"))
    assert again.mechanism == robot
    assert (again.stored["activation"] == run.stored["activation"]).all()
