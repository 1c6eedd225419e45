"""Joint limits as inequalities: rigid stops."""

import dataclasses
import math

import numpy as np
import pytest

import leastaction as la
from leastaction.initial_state.start_limits import within_limits
from leastaction.mechanism import Inertia, MechanismBuilder, Pose
from tests.maximal.scenes import G


def rod(lower, upper):
    b = MechanismBuilder("stop")
    b.body("rod", mass=1.0, com=(0, 0, -0.5), inertia=(1 / 12, 1 / 12, 1e-3))
    b.revolute("pivot", "world", "rod", axis="y", limits=(lower, upper))
    return b.build()


@pytest.mark.parametrize("order", [1, 2])
def test_pendulum_hits_its_stop(order):
    """No penetration; the impact takes all of its energy, and then it swings between the stop and its mirror."""
    run = la.simulate(rod(-0.5, 2.0), [1.5], dt=0.01, duration=4.0, integrator=la.Maximal(order=order))
    assert run.q.min() == pytest.approx(-0.5, abs=1e-6)
    assert run.q.min() > -0.5 - 1e-6
    top = -0.5 * G * math.cos(0.5)
    struck = int(np.argmin(run.q))
    assert run.energy[0] - 0.5 > run.energy[struck + 2]
    np.testing.assert_allclose(run.energy[struck + 2 :], top, atol=0.1 if order == 1 else 0.01)
    assert run.q[struck:].max() == pytest.approx(0.5, abs=0.02)


def test_energy_does_not_grow_at_a_stop():
    """Of a slider under gravity, whose energy is kept exactly between impacts."""
    b = MechanismBuilder("slider")
    b.body("block", mass=1.0, inertia=0.1)
    b.prismatic("rail", "world", "block", axis="z", limits=(0.0, 1.0))
    robot = b.build()
    run = la.simulate(robot, [0.5], [6.0], dt=0.01, duration=1.5, integrator=la.Maximal())
    assert np.diff(run.energy).max() < 1e-7 * run.energy[0]
    assert run.q.min() > -1e-7
    assert run.q.max() < 1.0 + 1e-7
    assert run.q.max() > 1.0 - 1e-6
    np.testing.assert_allclose(run.q[-1], 0.0, atol=1e-7)
    np.testing.assert_allclose(run.v[-1], 0.0, atol=1e-7)


def test_what_reaches_a_stop_is_stopped_there():
    """The second phase of a step ends an impact at the node where it touches, whatever springs pull with."""
    b = MechanismBuilder("slider", gravity=(0, 0, 0))
    b.body("block", mass=1.0, inertia=0.1)
    b.prismatic("rail", "world", "block", axis="x", limits=(-0.3, 0.3), stiffness=300.0)
    run = la.simulate(b.build(), [0.0], [10.0], dt=0.005, steps=12, integrator=la.Maximal())
    reached = int(np.argmax(run.q[:, 0] > 0.3 - 1e-6))
    before = (run.q[reached, 0] - run.q[reached - 1, 0]) / 0.005
    assert before > 1.0
    assert run.v[reached, 0] == pytest.approx(0.0, abs=1e-4)


@pytest.mark.parametrize("order", [1, 2])
def test_stop_in_a_loop(order):
    """A four-bar whose crank may turn by 0.3 rad only: loops stay closed, limits are kept."""
    free = la.robots.four_bar()
    q = la.simulate(free, steps=1, integrator=la.Maximal(), project=True).q[0]
    crank = dataclasses.replace(free.joints[0], lower=(q[0] - 0.3,), upper=(q[0] + 0.3,))
    robot = free.replace(joints=(crank, *free.joints[1:]))
    v = np.zeros(robot.nv)
    v[0] = 2.0
    integrator = la.Maximal(order=order)
    run = la.simulate(robot, q, v, dt=0.01, duration=2.0, integrator=integrator, project=True)
    turned = run.q[:, 0] - q[0]
    assert np.abs(turned).max() == pytest.approx(0.3, abs=1e-6)
    assert np.abs(turned).max() < 0.3 + 1e-6
    assert run.constraint_violation.max() < 1e-10
    assert run.energy[-1] < run.energy[0]
    assert np.max(run.energy - np.minimum.accumulate(run.energy)) < 0.01 * np.ptp(run.energy)


def test_stop_bears_a_load():
    """A rod pressed against its stop by a motor stays there, at rest."""
    b = MechanismBuilder.from_mechanism(rod(-0.2, 0.3))
    b.actuator("motor", "pivot")
    robot = b.build()
    run = la.simulate(robot, [0.0], dt=0.01, duration=2.0, integrator=la.Maximal(), controls=[4.0])
    np.testing.assert_allclose(run.q[-50:], 0.3, atol=1e-7)
    np.testing.assert_allclose(run.v[-50:], 0.0, atol=1e-6)


def test_other_integrators_say_when_a_limit_is_passed(recwarn):
    robot = rod(-0.5, 2.0)
    la.simulate(robot, [0.3], dt=0.01, duration=1.0, integrator=la.Galerkin())
    assert not recwarn.list
    with pytest.warns(la.LeastActionWarning, match="joint 'pivot' goes beyond its limits at t = 0"):
        la.simulate(robot, [1.5], dt=0.01, duration=2.0, integrator=la.Galerkin())


@pytest.mark.parametrize("order", [1, 2])
def test_start_beyond_a_limit_adds_no_energy(order):
    """A pendulum that hangs at rest beyond its stop: the stop does not lift it, the run starts there, and says so."""
    with pytest.warns(la.LeastActionWarning, match="beyond the limits of joint 'pivot' by 0.5 "):
        run = la.simulate(rod(0.5, 2.0), [0.0], dt=0.01, duration=0.5, integrator=la.Maximal(order=order))
    np.testing.assert_allclose(run.energy, -0.5 * G * math.cos(0.5), rtol=1e-6)
    np.testing.assert_allclose(run.q, 0.5, atol=1e-7)


def test_limits_without_room_hold_a_joint():
    """A double pendulum whose second joint has equal limits swings as one rigid body."""
    b = MechanismBuilder("rods")
    for parent, child, limits in (("world", "upper", None), ("upper", "lower", (0.4, 0.4))):
        b.body(child, mass=1.0, com=(0, 0, -0.5), inertia=(1 / 12, 1 / 12, 1e-3))
        pose = (0, 0, -1.0 if parent == "upper" else 0.0)
        b.revolute(child, parent, child, pose=pose, axis="y", limits=limits)
    robot = b.build()
    run = la.simulate(robot, [1.0, 0.4], dt=0.01, duration=1.0, integrator=la.Maximal())
    np.testing.assert_allclose(run.q[:, 1], 0.4, atol=1e-9)
    # The same as one body.
    b = MechanismBuilder("rod")
    far = Pose((0, 0, -1.0)) * Pose.from_axis_angle((0, 1, 0), 0.4)
    one = Inertia(1.0, (0, 0, -0.5), (1 / 12, 1 / 12, 1e-3))
    b.body("both", inertia=Inertia.from_parts([(one, Pose()), (one, far)]))
    b.revolute("pivot", "world", "both", axis="y")
    rigid = la.simulate(b.build(), [1.0], dt=0.01, duration=1.0, integrator=la.Maximal())
    np.testing.assert_allclose(run.q[:, 0], rigid.q[:, 0], atol=1e-4)


def test_limits_of_joints_that_follow_others():
    """Fingers that mimic a leader, all at their stops at once: what says the same twice has a solution."""
    b = MechanismBuilder("gripper")
    b.body("palm", mass=1.0, inertia=0.01)
    b.free("palm")
    for i in range(3):
        b.body(f"finger{i}", mass=0.1, com=(0.05, 0, 0), inertia=1e-4)
        b.revolute(f"knuckle{i}", "palm", f"finger{i}", pose=(0, 0.1 * i, 0), axis="y", limits=(0.0, 0.5))
    for i in (1, 2):
        b.coupling(f"mimic{i}", f"knuckle{i}", "knuckle0", ratio=1.0)
    robot = b.build()
    run = la.simulate(robot, v={"palm_free.wy": 3.0}, dt=0.005, duration=0.3, integrator=la.Maximal())
    assert run.iterations.max() < 40
    angles = run.q[:, 7:]
    assert angles.min() > -1e-8
    np.testing.assert_allclose(angles[:, 1:], angles[:, :1].repeat(2, axis=1), atol=1e-9)


def test_starts_beyond_limits_of_loops_start_within_them_and_closed():
    """To close the loop from the limits alone took joints beyond them again."""
    b = MechanismBuilder("bars")
    for i in range(3):
        b.body(f"bar{i}", mass=1.0, com=(0.5, 0, 0), inertia=0.1)
    b.revolute("a", "world", "bar0", axis="y", limits=(0.3, 2.0))
    b.revolute("b", "bar0", "bar1", axis="y", position=(1.0, 0, 0), limits=(-2.0, -0.2))
    b.revolute("c", "bar1", "bar2", axis="y", position=(1.0, 0, 0), limits=(-3.0, 3.0))
    b.joint("d", "spherical", "world", "bar2", position=(1.2, 0, 0), child_pose=(1.0, 0, 0), loop=True)
    robot = b.build()
    q = la.dynamics.close_loops(robot, [-0.6, 1.0, 1.0])
    with pytest.warns(la.LeastActionWarning, match="beyond the limits of joint 'a' by 0.242 rad, 'b' by 1.33 rad"):
        q = within_limits(la.Maximal().prepare(robot, 0.01), q)
    assert 0.3 - 1e-9 <= q[0] <= 2.0
    assert -2.0 <= q[1] <= -0.2 + 1e-7
    assert np.abs(la.dynamics.loop_jacobian(robot, q)[0]).max() < 1e-10


def test_tolerance_is_no_less_than_round_off():
    """Of a drive whose inertia is that of its link times 1e6, as legs of insects have them; others keep theirs."""
    for mass, expected in ((1.0, 1e-10), (1e-8, pytest.approx(1e-15 / 0.005 * 1e-6 / (1e-8 * 0.003**0.5), rel=1e-9))):
        b = MechanismBuilder("leg")
        b.body("link", mass=mass, inertia=(0.002 * mass,) * 3)
        b.revolute("hinge", "world", "link", axis="y", armature=1e-6)
        assert la.Maximal().prepare(b.build(), 0.005).settings.tolerance == expected


def test_a_link_of_no_weight_on_a_heavy_drive_leaves_other_joints_closed():
    """As things to push in MJCF files have it: a density of 1e-5 kg/m^3, an armature of 0.04 kg."""
    b = MechanismBuilder("beside")
    for name, parent in (("upper", "world"), ("lower", "upper")):
        b.body(name, mass=1.0, com=(0, 0, -0.5), inertia=(1 / 12, 1 / 12, 1e-3))
        at = Pose((0, 0, 0 if parent == "world" else -1))
        b.revolute(f"of {name}", parent, name, axis="y", pose=at, limits=(-2.0, 2.0))
    b.body("thing", mass=1e-9, inertia=(1e-12,) * 3)
    b.prismatic("slide", "world", "thing", axis="x", armature=0.04)
    run = la.simulate(b.build(), [-2.0, 2.0, 0.0], dt=0.005, steps=20, integrator=la.Maximal())
    assert run.constraint_violation.max() < 1e-9


def test_fast_links_that_hit_their_stops_leave_joints_closed():
    """Both stops are struck in a step by links of 100 rad/s, of whose speed residuals may be a share."""
    b = MechanismBuilder("fast")
    for name, parent in (("upper", "world"), ("lower", "upper")):
        b.body(name, mass=10.0, com=(0, 0, -0.5), inertia=(10 / 12, 10 / 12, 1e-2))
        at = Pose((0, 0, 0 if parent == "world" else -1))
        b.revolute(f"of {name}", parent, name, axis="y", pose=at, limits=(-2.0, 2.0))
    robot, rng = b.build(), np.random.default_rng(0)
    starts = [(rng.uniform(-1.5, 1.5, 2), rng.uniform(-300.0, 300.0, 2)) for _ in range(123)]
    run = la.simulate(robot, *starts[122], dt=0.005, steps=15, integrator=la.Maximal())
    assert run.constraint_violation.max() < 1e-9
