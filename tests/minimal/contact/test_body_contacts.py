"""`Grounded`: contact between bodies and with shapes of the world that are no planes, restitution."""

import numpy as np
import pytest

import leastaction as la
from leastaction.contact.laws.compliance import DEEPEST
from leastaction.mechanism.shapes import Box, Cylinder, Plane, Sphere
from tests.minimal.contact.test_planes import assert_taken_up

G = 9.81


def boxes(*sizes, friction=0.5, ground=0.5, masses=(1.0, 2.0), restitution=0.0):
    """Free boxes over a plane."""
    builder = la.MechanismBuilder("boxes")
    for k, (size, mass) in enumerate(zip(sizes, masses, strict=True)):
        shape = Box(size, friction=friction, restitution=restitution)
        builder.body(f"box {k}", mass=mass, inertia=(0.01, 0.01, 0.012), shapes=shape)
        builder.free(f"box {k}")
    builder.add_shape("world", Plane(friction=ground, restitution=restitution))
    return builder.build()


def forces(run, first, second):
    """Force of one body on another in the last step, by their numbers; -1 is the world."""
    log = run.stored["contacts"]
    last = log[(log[:, 0] == run.steps - 1) & (log[:, 1] == first) & (log[:, 2] == second)]
    return last[:, 6:9].sum(axis=0)


def test_a_stack_stands_and_its_weight_is_borne():
    robot = boxes((0.2, 0.2, 0.1), (0.1, 0.12, 0.1))
    q = robot.neutral()
    q[2], q[7], q[9] = 0.051, 0.02, 0.153
    run = la.simulate(robot, q, dt=0.005, steps=80, integrator=la.Grounded())
    assert run.q[-1, [2, 9]] == pytest.approx([0.05, 0.15], abs=2 * DEEPEST * 0.005**2)
    assert np.diff(run.energy).max() < 3.0 * G * DEEPEST * 0.005**2  # out of the depth of the impact
    assert run.stored["contacts"][:, 9].min() > -DEEPEST * 0.005**2
    np.testing.assert_allclose(forces(run, -1, 0), [0.0, 0.0, 3.0 * G], atol=1e-6)
    np.testing.assert_allclose(forces(run, 0, 1), [0.0, 0.0, 2.0 * G], atol=1e-6)


def test_a_block_slides_on_a_plate_until_both_move_together():
    """Momentum is kept over a slippery ground; friction brings both to one speed over v^2 / (2 mu g (1 + m / M))."""
    robot = boxes((1.0, 0.4, 0.1), (0.1, 0.1, 0.1), friction=0.3, ground=0.0, masses=(4.0, 1.0))
    robot = robot.replace(ground=(Plane(friction=0.0, priority=1),))
    q, v = robot.neutral(), np.zeros(12)
    q[2], q[9], q[7], v[9] = 0.05, 0.15, -0.2, 0.8
    run = la.simulate(robot, q, v, dt=0.005, steps=80, integrator=la.Grounded())
    momentum = 4.0 * run.v[:, 3] + run.v[:, 9]
    np.testing.assert_allclose(momentum, 0.8, atol=1e-8)
    assert run.v[-1, [3, 9]] == pytest.approx([0.16, 0.16], abs=1e-7)
    slid = run.q[-1, 7] - run.q[-1, 0] - (run.q[0, 7] - run.q[0, 0])
    assert slid == pytest.approx(0.8**2 / (2.0 * 0.3 * G * 1.25), rel=1e-3)
    assert np.diff(run.energy).max() < 1e-9


def linked(friction=0.4, restitution=0.0):
    """An arm of two links that falls on a fixed box, over a loose one."""
    builder = la.MechanismBuilder("arm")
    shape = Box((0.06, 0.06, 0.4), pose=(0.0, 0.0, -0.2), friction=friction, restitution=restitution)
    for k, name in enumerate(("upper", "lower")):
        builder.body(name, mass=1.0, com=(0.0, 0.0, -0.2), inertia=(0.014, 0.014, 0.001), shapes=shape)
        parent = "upper" if k else "world"
        pose = (0.0, 0.0, -0.45) if k else (0.0, 0.0, 1.0)
        builder.revolute(f"joint {k}", parent, name, axis="y", pose=pose, limits=(-2.5, 2.5))
    builder.body("loose", mass=0.5, inertia=0.002, shapes=Box((0.1, 0.15, 0.22), friction=friction))
    builder.free("loose")
    builder.add_shape("world", Plane(friction=friction))
    builder.add_shape(
        "world", Box((0.2, 0.4, 0.3), pose=(-0.25, 0.0, 0.15), friction=friction, restitution=restitution)
    )
    robot = builder.build()
    q = robot.home()
    q[:2] = -1.0, 0.3
    q[2:5] = 0.05, 0.02, 0.1102
    return robot, q


def test_an_arm_hits_boxes_as_with_maximal():
    """The same laws: the two rules for bodies differ in second order, the impacts by what one step makes."""
    robot, q = linked(restitution=0.0)
    own, other = (la.simulate(robot, q, dt=5e-4, steps=1000, integrator=i) for i in (la.Grounded(), la.Maximal()))
    assert np.abs(robot.difference(other.q[-1], own.q[-1])).max() < 0.02
    touched = {tuple(pair) for pair in own.stored["contacts"][:, 1:3].astype(int)}
    assert {(1, 2), (-1, 2)} <= touched
    assert touched == {tuple(pair) for pair in other.stored["contacts"][:, 1:3].astype(int)}
    assert own.stored["contacts"][:, 9].min() > -1e-6
    # At the time of an impact the velocity is the mean of those before and after, and so is what its energy is told by.
    highest = np.maximum(own.energy[1:-1], own.energy[:-2])
    assert np.all(own.energy[2:] < highest + 1e-3 * own.kinetic_energy.max())
    assert np.all(own.energy <= own.energy[0] + 1e-9)


def test_a_run_with_contacts_between_bodies_can_be_taken_up():
    assert_taken_up(*linked(), 50)


def test_many_contacts_find_room():
    """A floor of boxes that one large box falls on: more contacts than there is room for at first."""
    count = 12
    robot = boxes(*[(0.09, 0.09, 0.1)] * count, (1.2, 0.2, 0.1), masses=(*[1.0] * count, 2.0))
    q = robot.neutral()
    for k in range(count):
        q[7 * k], q[7 * k + 2] = 0.1 * (k - 0.5 * count + 0.5), 0.05
    q[7 * count + 2] = 0.151
    run = la.simulate(robot, q, dt=0.01, steps=6, integrator=la.Grounded())
    assert run.q[-1, 7 * count + 2] == pytest.approx(0.15, abs=1e-8)
    assert sum(forces(run, k, count)[2] for k in range(count)) == pytest.approx(2.0 * G, abs=1e-5)


def test_fast_things_do_not_pass_through_thin_ones():
    """A block that covers ten times the thickness of a plate in a step."""
    robot = boxes((0.01, 0.5, 0.5), (0.03, 0.03, 0.03), masses=(20.0, 0.1)).replace(ground=(), gravity=(0.0, 0.0, 0.0))
    q, v = robot.neutral(), np.zeros(12)
    q[7], v[9] = -0.6, 40.0
    run = la.simulate(robot, q, v, dt=0.01, steps=4, integrator=la.Grounded())
    assert np.all(run.q[:, 7] < run.q[:, 0])
    assert 20.0 * run.v[-1, 3] + 0.1 * run.v[-1, 9] == pytest.approx(4.0, abs=1e-6)


def test_without_self_collision_bodies_pass_through_each_other():
    robot = boxes((0.2, 0.2, 0.1), (0.2, 0.2, 0.1))
    q = robot.neutral()
    q[2], q[9] = 0.05, 0.2
    run = la.simulate(robot, q, dt=0.005, steps=60, integrator=la.Grounded(self_collision=False))
    assert run.q[-1, 9] == pytest.approx(0.05, abs=1e-8)


@pytest.mark.slow
def test_round_and_sharp_things_lie_in_a_heap():
    rng = np.random.default_rng(0)
    builder = la.MechanismBuilder("heap")
    shapes = [Cylinder(radius=0.06, length=0.1), Sphere(0.05), Box((0.1, 0.1, 0.1)), Cylinder(radius=0.04, length=0.2)]
    for k, shape in enumerate(shapes):
        builder.body(f"thing {k}", mass=1.0, inertia=0.003, shapes=shape)
        builder.free(f"thing {k}")
    builder.add_shape("world", Plane())
    robot = builder.build()
    q = robot.neutral().reshape(-1, 7)
    q[:, :2], q[:, 2] = rng.uniform(-0.03, 0.03, (4, 2)), 0.15 + 0.25 * np.arange(4)
    run = la.simulate(robot, q.ravel(), dt=0.005, duration=1.5, integrator=la.Grounded())
    assert np.diff(run.energy).max() < 2e-4 * run.kinetic_energy.max()  # momenta at impacts are those before them
    assert run.stored["contacts"][:, 9].min() > -1e-6


TUMBLER = """<mujoco><worldbody><geom type="plane" size="5 5 .1"/><body name="ball" pos="0 0 .5"><freejoint/>
<geom type="sphere" pos=".0953 0 0" size=".05"/>
<body name="arm" pos=".11767 0 -.06"><joint axis="0 1 0" damping=".02" armature=".002"/>
  <geom type="capsule" fromto="0 0 0 .11767 0 0" size=".03"/>
  <body name="hand" pos="-.03978 0 -.06"><joint axis="1 0 0" damping=".02" armature=".002"/>
    <geom type="box" pos=".0663 0 0" size=".0663 .03 .02"/></body></body>
<body name="leg" pos=".16454 0 .06"><joint axis="0 1 0" damping=".02" armature=".002"/>
  <geom type="capsule" fromto="0 0 0 .16454 0 0" size=".03"/></body></body></worldbody></mujoco>"""


@pytest.mark.parametrize("friction", [0.0, 1.0])
def test_no_step_has_energy_from_nowhere(tmp_path, friction):
    """Two capsules, nearly parallel, that turn fast: a step of 2.5 ms has a solution with ten times the energy."""
    (tmp_path / "tumbler.xml").write_text(TUMBLER)
    builder = la.load(tmp_path / "tumbler.xml").edit()
    builder.contact_pair("arm", "leg", friction=friction)
    q = np.array([0.24135, 0.00812, 0.22238, 0.52072, 0.00797, 0.85208, -0.05233, -0.66892, -1.19493, -3.85555])
    q[3:7] /= np.linalg.norm(q[3:7])
    p = [0.00277, 0.01121, 0.01988, 1.04021, 0.20468, 0.33116, -0.0304, -0.04578, 0.01037]
    run = la.simulate(builder.build(), q, p=p, dt=0.0025, steps=4, integrator=la.Grounded())
    assert np.diff(run.energy).max() < 0.0


def test_a_tower_knows_nothing_of_what_its_arrays_held():
    """Bodies of a tower in an order in which ranges of impulses that move each other overlap on one side only."""
    robot = boxes(*[(0.2, 0.2, 0.1)] * 4, masses=(1.0, 1.0, 1.0, 1.0))
    q = robot.neutral().reshape(4, 7)
    q[[0, 3, 2, 1], 2] = 0.05 + 0.1 * np.arange(4)
    runs = []
    for held in (0.0, np.nan):
        stepper = la.Grounded().prepare(robot, 0.005)
        record = stepper.record(6)
        record["q"][0] = q.ravel()
        touch = stepper.data.touch
        touch.W[:] = touch.M[:] = held
        assert stepper.advance(record, 0, 6, np.zeros((6, 1, 0))) == 6
        runs.append(record["q"][-1])
    np.testing.assert_array_equal(*runs)
    np.testing.assert_allclose(runs[0][2::7], q[:, 2], atol=1e-9)
