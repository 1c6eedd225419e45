"""Contacts that give way: a spring and a damper in the law of contact, of which rigid contact is the limit."""

import numpy as np
import pytest

import leastaction as la
from leastaction.formats import load_urdf, save_mjcf, save_urdf
from leastaction.mechanism import Box, Plane, Sphere
from leastaction.parameters.parameters import parameter, with_parameters

G, RADIUS, MASS = 9.81, 0.1, 2.0
MINIMAL = la.Minimal()


def ball(compliance, relaxation=None, ground=None, **surface):
    b = la.MechanismBuilder("ball")
    b.add_shape("world", Plane(friction=0.5, compliance=ground))
    skin = Sphere(RADIUS, compliance=compliance, relaxation_time=relaxation, **surface)
    b.body("ball", shapes=[skin], mass=MASS, inertia=0.4 * MASS * RADIUS**2)
    b.free("ball")
    return b.build()


def box(compliance, relaxation=None):
    b = la.MechanismBuilder("box")
    b.add_shape("world", Plane(friction=0.8))
    shape = Box((0.2, 0.2, 0.2), compliance=compliance, relaxation_time=relaxation, name="skin")
    b.body("box", shapes=[shape], density=500.0)
    b.free("box")
    return b.build()


def ball_on_box(compliance):
    b = la.MechanismBuilder("two")
    b.add_shape("world", Plane(friction=0.6))
    b.body("box", shapes=[Box((0.3, 0.3, 0.1))], density=300.0)
    b.body("ball", shapes=[Sphere(0.08, friction=0.4, compliance=compliance, name="skin")], density=300.0)
    b.free("box")
    b.free("ball")
    return b.build()


def height(robot, z):
    q = robot.neutral()
    q[2] = z
    return q


def thrown(seed):
    """A box that is thrown: q and v."""
    rng = np.random.default_rng(seed)
    q = np.zeros(7)
    q[2], turn = 0.13 + 0.02 * rng.random(), rng.normal(size=4) + np.array([2.0, 0, 0, 0])
    q[3:] = turn / np.linalg.norm(turn)
    return q, rng.normal(size=6) * np.array([2, 2, 2, 0.5, 0.5, 0.5])


@pytest.mark.parametrize("dt", [0.001, 0.01, 0.05])
@pytest.mark.parametrize("compliance", [1e-7, 1e-5, 1e-3])
def test_a_ball_sinks_by_compliance_times_weight(compliance, dt):
    """It comes to rest there, whatever the step, and a run that starts there stays, without a warning."""
    robot, sink = ball(compliance, 0.02), compliance * MASS * G
    run = la.simulate(robot, height(robot, RADIUS - sink), dt=dt, steps=20, integrator=MINIMAL)
    np.testing.assert_allclose(RADIUS - run.q[:, 2], sink, rtol=1e-9, atol=1e-15)
    assert np.abs(run.v).max() < 1e-12
    np.testing.assert_allclose(run.contacts.force[:, 2], MASS * G, rtol=1e-9)
    dropped = la.simulate(robot, height(robot, RADIUS + 0.01), dt=0.01, steps=300, integrator=MINIMAL)
    assert RADIUS - dropped.q[-1, 2] == pytest.approx(sink, rel=1e-3, abs=1e-12)


def test_compliances_of_both_sides_add():
    """As of springs in series, and their relaxation times are a mean."""
    one, two = ball(3e-5, 0.01, ground=1e-5), ball(4e-5, 0.01)
    a, b = (la.simulate(r, height(r, 0.12), dt=0.01, steps=60, integrator=MINIMAL) for r in (one, two))
    np.testing.assert_allclose(a.q, b.q, atol=1e-12)


def test_a_box_shares_its_load_among_its_corners():
    robot, compliance = box(1e-4), 1e-4
    weight = robot.bodies[0].inertia.mass * G
    run = la.simulate(robot, height(robot, 0.1), dt=0.01, steps=200, integrator=MINIMAL)
    assert 0.1 - run.q[-1, 2] == pytest.approx(0.25 * compliance * weight, rel=1e-6)


def bounce(t, compliance):
    """Height above the ground and speed after a time, of a ball on a spring that falls on it with 1 m/s."""
    from scipy.optimize import brentq

    w = np.sqrt(1.0 / (compliance * MASS))

    def inside(t):
        return -G / w**2 * (1.0 - np.cos(w * t)) - np.sin(w * t) / w

    leaves = brentq(inside, 0.6 * np.pi / w, 1.6 * np.pi / w)
    v, left = -G / w * np.sin(w * leaves) - np.cos(w * leaves), t - leaves
    return v * left - 0.5 * G * left**2, v - G * left


def test_an_elastic_ball_follows_the_spring_to_second_order():
    """Without damping, through touching down and leaving; its energy never rises, and is kept to second order, too."""
    compliance, t = 1e-4, 0.08
    robot = ball(compliance, 0.0)
    z, v = bounce(t, compliance)
    errors, losses, v0 = [], [], np.array([0, 0, 0, 0, 0, -1.0])
    for n in (40, 80, 160, 320, 640):
        run = la.simulate(robot, height(robot, RADIUS), v0, dt=t / n, steps=n, integrator=MINIMAL)
        errors.append(np.hypot(run.q[-1, 2] - RADIUS - z, 0.02 * (run.v[-1, 5] - v)))
        losses.append(run.energy[0] - run.energy[-1])
        assert np.diff(run.energy).max() < 1e-12
        deepest = compliance * MASS * G + np.hypot(compliance * MASS * G, np.sqrt(compliance * MASS))
        assert run.stored["elastic"].max() == pytest.approx(0.5 * deepest**2 / compliance, rel=0.02)
    orders = np.polyfit(np.log([40, 80, 160, 320, 640]), np.log(errors), 1)[0]
    assert -2.5 < orders < -1.8
    assert 0.0 <= losses[-1] < 1e-4 * run.kinetic_energy[0]


@pytest.mark.parametrize("relaxation", [0.002, 0.01])
def test_a_damped_ball_converges_to_second_order(relaxation):
    robot, v0 = ball(1e-4, relaxation), np.array([0, 0, 0, 0, 0, -1.0])

    def end(n):
        run = la.simulate(robot, height(robot, RADIUS), v0, dt=0.06 / n, steps=n, integrator=MINIMAL)
        assert np.diff(run.energy).max() < 1e-12
        return run.q[-1, 2]

    fine = end(1280)
    errors = [abs(end(n) - fine) for n in (20, 40, 80)]
    assert errors[0] / errors[2] > 9.0


def test_the_limit_of_stiff_contacts_is_the_rigid_one():
    """Linear in the compliance, also where the ball slides and rolls."""
    rigid, v = ball(None), np.array([0, 3.0, 0, 1.0, 0.2, -1.0])
    there = la.simulate(rigid, height(rigid, 0.12), v, dt=0.01, steps=60, integrator=MINIMAL)
    gaps = []
    for compliance in (1e-6, 1e-8, 1e-10):
        robot = ball(compliance, 0.01)
        run = la.simulate(robot, height(robot, 0.12), v, dt=0.01, steps=60, integrator=MINIMAL)
        gaps.append(np.abs(run.q - there.q).max())
        assert run.iterations.max() <= 5
    assert gaps[1] < 0.02 * gaps[0]
    assert gaps[2] < 2e-6


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("compliance", [1e-6, 1e-4, 1e-3])
def test_thrown_boxes_gain_nothing_and_go_on_from_their_states(compliance, seed):
    """Energy with that of the compliance; the rise that is left is that of rigid boxes that turn, of third order."""
    robot, (q, v) = box(compliance), thrown(seed)
    run = la.simulate(robot, q, v, dt=0.005, steps=120, integrator=MINIMAL)
    assert np.diff(run.energy).max() < 1e-4 * run.kinetic_energy.max()
    assert run.iterations.max() <= 10
    for k in (20, 50):
        rest = la.simulate(robot, run.q[k], p=run.p[k], dt=0.005, steps=60, integrator=MINIMAL)
        np.testing.assert_allclose(rest.q, run.q[k : k + 61], atol=1e-10)
        np.testing.assert_allclose(rest.stored["elastic"][0], run.stored["elastic"][k], rtol=1e-9, atol=1e-12)


def test_what_sticks_does_not_creep():
    """The compliance is that along the normal: a box on a slope stays where it is along it."""
    b = la.MechanismBuilder("slope", gravity=(2.0, 0.0, -9.5))
    b.add_shape("world", Plane(friction=0.8))
    b.body("box", shapes=[Box((0.2, 0.2, 0.1), compliance=1e-5)], density=500.0)
    b.free("box")
    robot = b.build()
    run = la.simulate(robot, height(robot, 0.05), dt=0.01, steps=400, integrator=MINIMAL)
    assert abs(run.q[400, 0] - run.q[200, 0]) < 1e-8
    assert np.abs(run.v[-1]).max() < 1e-8


def gradient(robot, q, v, names, steps=40, dt=0.01):
    """Gradient of a functional of the end by v and parameters, and the functional of a robot and v."""
    w = np.cos(np.arange(robot.nv) + 0.3)
    at = la.simulate(robot, q, v, dt=dt, steps=steps, integrator=MINIMAL).q[-1]

    def value(run):
        return float(w @ robot.difference(at, run.q[-1]) + 0.1 * w @ run.v[-1])

    def objective(run):
        by = np.zeros((2, steps + 1, robot.nv))
        by[0, -1], by[1, -1] = w, 0.1 * w
        return value(run), *by

    def loss(other, v):
        return value(la.simulate(other, q, v, dt=dt, steps=steps, integrator=MINIMAL))

    return la.adjoint(robot, MINIMAL, objective, names, q=q, v=v, dt=dt, steps=steps)[1], loss


def central(f, e):
    return (8.0 * (f(e) - f(-e)) - (f(2.0 * e) - f(-2.0 * e))) / (12.0 * e)


@pytest.mark.parametrize("case", ["box 1e-6", "box 1e-5", "box 1e-4", "box 1e-3", "ball on box 1e-3"])
def test_gradients_by_state_compliance_and_relaxation_time(case):
    """Of boxes that tumble, rock while they stick and come to rest, against central differences."""
    compliance, name = float(case.split()[-1]), "box/skin"
    robot, (q, v) = box(compliance, 0.01), thrown(1)
    if case.startswith("ball"):
        robot, name = ball_on_box(compliance), "ball/skin"
        q, v = robot.neutral(), np.array([0, 0, 0, 0, 0, 0, 1.0, 2.0, 3.0, 0.3, 0, 0])
        q[2], q[7:10] = 0.05, (0.03, 0.02, 0.2)
    names = ["v", f"compliance:{name}"] + ([] if case.startswith("ball") else [f"relaxation_time:{name}"])
    found, loss = gradient(robot, q, v, names)
    way = np.sin(np.arange(robot.nv) + 1.0)
    assert found["v"] @ way == pytest.approx(central(lambda e: loss(robot, v + e * way), 1e-6), rel=1e-5)
    for one in names[1:]:
        own = float(parameter(robot, one))

        def change(e, one=one, own=own):
            return loss(with_parameters(robot, {one: np.array(own * (1.0 + e))}), v)

        assert float(found[one]) * own == pytest.approx(central(change, 1e-5), rel=1e-5, abs=1e-9)


def test_a_rigid_ball_bounces_while_a_soft_box_stands():
    """Impacts of others take no time: soft contacts that are closed have no part in them."""
    b = la.MechanismBuilder("both")
    b.add_shape("world", Plane())
    b.body("box", shapes=[Box((0.2, 0.2, 0.2), compliance=1e-4)], density=500.0)
    b.body("ball", shapes=[Sphere(0.05, restitution=1.0)], density=500.0)
    b.free("box")
    b.free("ball")
    robot = b.build()
    q = robot.neutral()
    q[2], q[7:10] = 0.1 - 0.25e-4 * 4.0 * G, (0.5, 0.0, 0.25)
    run = la.simulate(robot, q, dt=0.01, steps=100, integrator=MINIMAL)
    assert np.abs(run.q[:, 2] - q[2]).max() < 1e-9
    np.testing.assert_allclose(run.energy, run.energy[0], rtol=1e-9)
    assert run.q[:, 9].max() == pytest.approx(0.25, abs=1e-3)


def test_what_runs_it_and_what_does_not():
    robot = ball(1e-4)
    assert isinstance(la.default_integrator(robot), la.Minimal)
    assert isinstance(la.default_integrator(ball(None)), la.Maximal)
    for integrator in (la.Maximal(), la.Galerkin(), la.BDF(order=2)):
        with pytest.raises(la.IntegratorError, match=r"soft contact 'ball/0'; use leastaction\.Minimal"):
            la.simulate(robot, steps=1, dt=0.01, integrator=integrator)
    with pytest.raises(la.MechanismError, match="sphere 'skin': compliance"):
        Sphere(0.1, compliance=-1e-5, name="skin")
    with pytest.raises(la.MechanismError, match="restitution is of rigid contacts"):
        Sphere(0.1, compliance=1e-5, restitution=0.5)
    b = la.MechanismBuilder("points")
    b.body("ball", mass=1.0, inertia=0.1)
    with pytest.raises(la.MechanismError, match="contact point 'foot': relaxation_time"):
        b.contact("foot", "ball", compliance=1e-5, relaxation_time=-1.0)
    with pytest.raises(la.MechanismError, match="restitution is of rigid contacts"):
        b.contact_pair("ball", "world", compliance=1e-5, restitution=0.5)


def test_pairs_and_contact_points_say_it_too():
    """A compliance of a pair counts in the place of those of its shapes."""
    b = la.MechanismBuilder("pair")
    b.add_shape("world", Plane(compliance=1.0))
    b.body("ball", mass=MASS, inertia=0.01)
    b.free("ball")
    b.contact("foot", "ball", radius=RADIUS, compliance=1.0)
    b.contact_pair("world", "ball", compliance=1e-4)
    robot = b.build()
    run = la.simulate(robot, height(robot, RADIUS), dt=0.01, steps=200, integrator=MINIMAL)
    assert RADIUS - run.q[-1, 2] == pytest.approx(1e-4 * MASS * G, rel=1e-6)


def test_files_keep_it_or_say_that_they_cannot(tmp_path):
    robot = ball(1e-4, 0.02)
    save_urdf(robot, tmp_path / "ball.urdf", lossy=True)
    again = load_urdf(tmp_path / "ball.urdf")
    shapes = [shape for body in again.bodies for shape in body.shapes if shape.compliance is not None]
    assert [(shape.compliance, shape.relaxation_time) for shape in shapes] == [(1e-4, 0.02)]
    with pytest.raises(la.FormatError, match="compliances"):
        save_mjcf(robot, tmp_path / "ball.xml")
    run = la.simulate(robot, height(robot, 0.11), dt=0.01, steps=10, integrator=MINIMAL)
    run.save(tmp_path / "run.npz")
    kept = la.Trajectory.load(tmp_path / "run.npz")
    assert kept.mechanism.bodies[0].shapes == robot.bodies[0].shapes
    np.testing.assert_array_equal(kept.energy, run.energy)
