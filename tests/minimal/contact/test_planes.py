"""`Grounded`: rigid contact on planes, limits and dry friction in joint coordinates."""

from dataclasses import replace

import numpy as np
import pytest

import leastaction as la
from leastaction.contact.solver import ncp_solver as friction
from leastaction.contact.solver.cone_kinds import DRY, LIMIT
from leastaction.mechanism import Inertia
from leastaction.mechanism.shapes import Box, Plane
from leastaction.minimal.contact.arrays import Touch
from leastaction.minimal.contact.robot_records import ROBOT_CONE

G = 9.81


def block(angle=0.0, friction=0.3, size=(0.2, 0.2, 0.1)):
    """A box that may slide on a plane inclined about y."""
    builder = la.MechanismBuilder("block")
    builder.body("box", mass=2.0, inertia=(0.01, 0.01, 0.015), shapes=Box(size=size, friction=friction))
    builder.free("box")
    tilt = (np.cos(angle / 2), 0.0, np.sin(angle / 2), 0.0)
    builder.add_shape("world", Plane(pose=(0.0, 0.0, 0.0, *tilt), friction=friction))
    return builder.build()


def resting(robot, angle=0.0, height=0.05):
    q = robot.neutral()
    q[3:7] = np.cos(angle / 2), 0.0, np.sin(angle / 2), 0.0
    q[:3] = height * np.array([np.sin(angle), 0.0, np.cos(angle)])
    return q


def slider(**options):
    """A mass on a rail along x."""
    builder = la.MechanismBuilder("slider")
    builder.body("mass", mass=2.0, inertia=0.01)
    builder.prismatic("rail", "world", "mass", axis="x", **options)
    return builder.build()


def sprung_quadruped():
    robot = la.robots.unitree_a1(ground=True)
    angles = {"hip": 0.0, "thigh": 0.8, "calf": -1.6}
    joints = [
        replace(joint, stiffness=(60.0,), damping=(2.0,), rest=(angles[joint.name.split("_")[1]],))
        if joint.nv == 1
        else joint
        for joint in robot.joints
    ]
    robot = robot.replace(joints=tuple(joints))
    q = robot.neutral()
    q[2], q[7:] = 0.3, 4 * (0.0, 0.8, -1.6)
    return robot, q


def test_a_box_that_starts_a_bit_in_the_ground_comes_out_of_it_and_is_named():
    """By a small share of gravity: nothing is shot away."""
    robot = block()
    with pytest.warns(la.LeastActionWarning, match="'box' and 'world' overlap at the start, by 0.0019 m after the"):
        run = la.simulate(robot, resting(robot, height=0.048), dt=0.005, duration=1.2, integrator=la.Grounded())
    assert run.q[-1, 2] == pytest.approx(0.05, abs=1e-9)
    assert run.kinetic_energy.max() < 0.02 * 2.0 * G * 0.002


@pytest.mark.parametrize("integrator", [la.Grounded(), la.Maximal()], ids=["Grounded", "Maximal"])
def test_a_box_that_starts_within_the_ground_starts_on_it(integrator):
    """Pushed out it would be lifted: energy from nowhere."""
    robot = block()
    told = r"'world' and 'box' overlap at the start, by 0\.04 m; .*'box_free\.vz' by 0\.04 "
    with pytest.warns(la.LeastActionWarning, match=told) as said:
        run = la.simulate(robot, resting(robot, height=0.01), dt=0.005, steps=20, integrator=integrator)
    assert len(said) == 1
    assert 0.05 <= run.q[0, 2] < 0.05 + 1e-4
    assert np.abs(run.q[:, 4:7]).max() < 1e-9  # nor was it turned
    assert run.energy.max() < run.energy[0] + 1e-9
    thin = block(size=(1.0, 1.0, 0.02))
    with pytest.warns(la.LeastActionWarning, match=r"'box' overlap at the start, by 0\.01 m; the run starts"):
        la.simulate(thin, resting(thin, height=0.0), dt=0.005, steps=1, integrator=integrator)


def test_a_quadruped_stands_as_with_maximal():
    robot, q = sprung_quadruped()
    # With longer steps its springs pull from the middle of the steps of Maximal, not at their ends as with Grounded.
    own, other = (la.simulate(robot, q, dt=0.002, steps=300, integrator=i) for i in (la.Grounded(), la.Maximal()))
    assert np.abs(robot.difference(other.q[-1], own.q[-1])).max() < 1e-5
    # Impacts end at the end of a step here, and with Maximal in the step after: until feet have settled they differ.
    calm = np.abs(own.v - other.v).max(axis=1) < 2e-3
    assert calm[:3].all()
    assert calm[150:].all()
    assert np.abs(own.energy - other.energy)[calm].max() < 1e-3
    assert own.iterations[1:].mean() < 3


@pytest.mark.parametrize("massless", [(), ("FR_calf", "RL_thigh")])
def test_in_the_air_it_is_galerkin_of_order_2(massless):
    """With weak dampers, without springs; with links, too, that have moments of inertia but no mass, as files have."""
    robot, q = sprung_quadruped()
    robot = robot.replace(
        joints=[replace(j, stiffness=(0.0,), damping=(0.5,)) if j.nv == 1 else j for j in robot.joints]
    )
    light = Inertia(0.0, (0.0, 0.0, 0.0), (0.01, 0.01, 0.01))
    robot = robot.replace(bodies=[replace(b, inertia=light) if b.name in massless else b for b in robot.bodies])
    q[2] = 5.0
    v = np.random.default_rng(0).normal(size=robot.nv)
    runs = [
        la.simulate(robot, q, v, dt=0.005, steps=20, integrator=i)
        for i in (la.Grounded(tolerance=1e-12), la.Galerkin(order=2, interpolation="bodies"))
    ]
    assert np.abs(runs[0].q - runs[1].q).max() < 1e-9
    assert np.abs(runs[0].p - runs[1].p).max() < 1e-8


def test_a_start_beyond_a_limit_goes_back_without_a_jump():
    robot = slider(limits=(-0.1, 0.2))
    run = la.simulate(robot, [0.3], dt=0.01, duration=3.0, integrator=la.Grounded())
    assert run.energy.max() < 0.01
    assert run.q[-1, 0] <= 0.2 + 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_drops_of_a_quadruped_keep_every_law(seed):
    robot = la.robots.unitree_a1(ground=True)
    rng = np.random.default_rng(seed)
    q = robot.neutral()
    turn = rng.normal(size=4)
    q[2], q[3:7] = 0.6, turn / np.linalg.norm(turn)
    free = [joint for joint in robot.joints if joint.nv == 1]
    lower, upper = (np.array([getattr(joint, name)[0] for joint in free]) for name in ("lower", "upper"))
    q[7:] = rng.uniform(np.clip(lower, -1, 1), np.clip(upper, -1, 1))
    run = la.simulate(robot, q, dt=0.005, duration=1.0, integrator=la.Grounded())
    largest = run.kinetic_energy.max()
    assert np.all(run.energy <= run.energy[0] + 1e-9 * largest)
    assert np.diff(run.energy).max() < 1e-3 * largest
    assert np.all((run.q[:, 7:] > lower - 1e-6) & (run.q[:, 7:] < upper + 1e-6))
    assert run.stored["contacts"][:, 9].min() > -1e-6


def assert_taken_up(robot, q, first):
    """A simulator set back to its state after `first` steps takes the next 30 as a whole run, which is given back."""
    whole = la.simulate(robot, q, dt=0.005, steps=first + 30, integrator=la.Grounded())
    sim = la.Simulator(robot, la.Grounded(), dt=0.005)
    sim.reset(q)
    for _ in range(first):
        sim.step()
    state = sim.state()
    for _ in range(2):
        sim.set_state(state)
        for _ in range(30):
            sim.step()
        np.testing.assert_array_equal(sim.q, whole.q[-1])
    return whole


def test_a_run_can_be_taken_up_and_stepped():
    robot, q = sprung_quadruped()
    whole = assert_taken_up(robot, q, 30)
    half = la.simulate(robot, q, dt=0.005, steps=30, integrator=la.Grounded())
    on = la.simulate(robot, half.q[-1], p=half.p[-1], dt=0.005, steps=30, integrator=la.Grounded())
    assert np.abs(robot.difference(on.q[-1], whole.q[-1])).max() < 1e-6


def test_a_batch_is_the_single_runs():
    robot, q = sprung_quadruped()
    q = np.stack([q, q])
    q[1, 2] += 0.01
    batch = la.batch.simulate(robot, q, dt=0.005, steps=20, integrator=la.Grounded())
    single = la.simulate(robot, q[1], dt=0.005, steps=20, integrator=la.Grounded())
    np.testing.assert_array_equal(batch.q[1], single.q)


def test_what_a_failed_run_tells_is_what_it_had_reached():
    """Its last momentum, too, which only the step that failed would have known to the end."""
    robot = la.robots.unitree_a1(ground=True)
    robot = robot.replace(actuators=tuple(replace(one, lower=-np.inf, upper=np.inf) for one in robot.actuators))
    q, u = robot.home(), np.zeros((6, robot.nu))
    q[2], u[4] = 0.4, 1e300
    same = {"dt": 0.005, "integrator": la.Grounded()}
    with pytest.raises(la.ConvergenceError) as found:
        la.simulate(robot, q, steps=6, controls=u, **same)
    whole, part = la.simulate(robot, q, steps=6, **same), found.value.trajectory
    assert len(part.t) == 5
    np.testing.assert_allclose(part.p, whole.p[:5], atol=1e-12)


def test_what_it_cannot_hold_is_refused():
    linkage = la.robots.four_bar()
    closing = replace(linkage.loops[0], damping=4 * (1.0,))
    with pytest.raises(la.IntegratorError, match="joints that close loops"):
        la.simulate(linkage.replace(loops=(closing,)), steps=1, integrator=la.Grounded())


def test_constant_wrenches_push_and_hold_up():
    """Half of the weight is held up, and wind slides the box once it is more than friction on the rest of it."""
    for wind, slides in ((2.8, False), (3.4, True)):
        builder = block().edit()
        builder.wrench("held up", "box", (0, 0, 0, 0, 0, G))
        builder.wrench("wind", "box", (0, 0, 0, wind, 0, 0), point=(0, 0, -0.05))
        robot = builder.build()
        run = la.simulate(robot, resting(robot), dt=0.005, steps=100, integrator=la.Grounded())
        contacts = run.stored["contacts"]
        last = contacts[contacts[:, 0] == contacts[-1, 0], 6:9].sum(axis=0)
        assert last[2] == pytest.approx(G, rel=1e-9)
        force = wind - 0.3 * G if slides else 0.0
        assert run.q[-1, 0] == pytest.approx(0.5 * force / 2.0 * 0.5**2, rel=1e-2, abs=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_impulses_of_random_problems_settle(seed):
    """Three contacts, a limit and dry friction over random matrices, some of them singular."""
    rng = np.random.default_rng(seed)
    m, kinds = 11, [0, 0, 0, LIMIT, DRY]
    E = rng.normal(size=(m, m if seed % 2 else 8))
    cones = np.zeros(5, ROBOT_CONE).view(np.recarray)
    cones.width, cones.dof = [3, 3, 3, 1, 1], range(5)
    cones.kind, cones.row, cones.friction = kinds, [0, 3, 6, 9, 10], [0.3, 0.8, 0.0, 0.0, 20.0]
    one, two, three, four, five = (np.zeros(5) for _ in range(5))
    w0 = rng.normal(size=m) if seed % 2 else E @ rng.normal(size=8)
    touch = Touch(
        np.ones(5, np.int64), one, two, np.ones(1), *np.zeros((3, 5)), three, four, five, np.zeros(m), w0.copy(),
            E @ E.T,
        *[np.zeros((1, 1))] * 3, *[np.zeros(1)] * 2, np.zeros((m, m)), np.zeros((m, 1)), np.zeros(m),
        np.zeros(m, np.int64), np.zeros(m), np.zeros(m, np.int64), np.ones(1), *[None] * 4,
    )  # fmt: skip
    left = friction.solve_ncp.py_func(cones, touch, 0.01, 1e-9)
    lam, w = touch.lam, w0 + E @ E.T @ touch.lam
    assert left < 1e-9
    for o, mu in ((0, 0.3), (3, 0.8), (6, 0.0)):
        assert lam[o] >= 0.0
        assert w[o] > -1e-7
        assert abs(lam[o] * w[o]) < 1e-6
        assert np.linalg.norm(lam[o + 1 : o + 3]) <= mu * lam[o] + 1e-7
        slip = np.linalg.norm(w[o + 1 : o + 3])
        if slip > 1e-2:
            np.testing.assert_allclose(lam[o + 1 : o + 3], -mu * lam[o] * w[o + 1 : o + 3] / slip, atol=1e-4)
    assert min(lam[9], w[9]) > -1e-7
    assert abs(lam[10]) <= 0.2 + 1e-9


def test_a_robot_that_cannot_move_stands_still():
    """All of it is fixed to the world, as the root link of a URDF file without joints is."""
    builder = la.MechanismBuilder("post")
    builder.body("post", mass=1.0, inertia=0.1, shapes=Box(size=(0.1, 0.1, 1.0)))
    builder.fixed("foot", "world", "post")
    builder.add_shape("world", Plane(pose=(0.0, 0.0, -2.0)))
    run = la.simulate(builder.build(), dt=0.01, steps=3, integrator=la.Grounded())
    assert run.q.shape == (4, 0)
    assert (run.energy == run.energy[0]).all()


def test_lengths_that_its_tolerances_are_not_made_for_are_named():
    """Two boxes of 1000 km that fall on each other: where it fails, as with two iterations, it says why; `Maximal` runs
    them."""
    size, b = 1e6, la.MechanismBuilder("moons")
    for k in range(2):
        b.body(f"box{k}", mass=1.0, inertia=(size * size / 6,) * 3, shapes=Box((size, size, size), friction=0.5))
        b.free(f"box{k}")
    b.add_shape("world", Plane())
    robot, v = b.build(), np.zeros(12)
    q = [0, 0, 0.6 * size, 1, 0, 0, 0, 0.1 * size, 0, 1.7 * size, 1, 0, 0, 0]
    v[0], v[9] = 1e-3, 100.0
    with pytest.raises(la.ConvergenceError, match=r"lengths of .*e\+0[56] m .*Maximal"):
        la.simulate(robot, q, v, dt=10.0, steps=60, integrator=la.Minimal(max_iterations=2))
    run = la.simulate(robot, q, v, dt=10.0, steps=60, integrator=la.Maximal())
    assert (run.energy - run.energy[0]).max() < 1e-9 * run.kinetic_energy.max()


def test_controls_that_are_read_only_need_no_kernel_of_their_own():
    """A constant control is repeated over the steps without a copy; Numba has another type for such arrays."""
    from leastaction.minimal.contact.rollout import rollout

    robot = la.robots.pendulum(2)
    runs = [
        la.simulate(robot, [0.3, 0.0], dt=0.01, steps=3, controls=controls, integrator=la.Grounded())
        for controls in ([0.5, 0.0], np.tile([0.5, 0.0], (3, 1)))
    ]
    np.testing.assert_array_equal(runs[0].q, runs[1].q)
    assert all(kinds[4].mutable for kinds in getattr(rollout, "overloads", ()))
